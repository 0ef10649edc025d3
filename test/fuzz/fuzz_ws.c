/* fuzz_ws.c -- frames of a client, cut anywhere, held against a decoder that sees them all at once.
 *
 * The first byte is the seed of the cuts and says what follows: even, bytes as they come; odd,
 * frames in short form (first byte, length, payload), which are masked here, so that the fuzzer
 * need not do that.
 *   - whole or cut, the same events come out, and no piece is read beyond;
 *   - they are what a literal reading of RFC 6455 5 finds frame by frame. Only a failure may be
 *   told
 *     earlier than that: inside a frame that has not come in full.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "fuzz_cut.h"
#include "http/ws.h"

#define MESSAGE_MAX 2000

static void require(bool ok)
{
    if (!ok) abort();
}

static void tell(struct buf *out, char what, unsigned code, struct str data)
{
    buf_printf(out, "%c %u %zu ", what, code, data.len);
    buf_str(out, data);
    buf_chr(out, '\n');
}

/* --- ours ------------------------------------------------------------------------------------- */

static bool feed(struct ws *w, struct str piece, struct buf *seen)
{
    static const char names[] = "-tbpqcf";
    char             *copy = malloc(piece.len), *at = copy;
    struct str        data = STR("");
    enum ws_event     event;

    memcpy(copy, piece.ptr, piece.len);
    while ((event = ws_feed(w, &at, copy + piece.len, &data)) != WS_MORE) {
        bool over = event == WS_CLOSE || event == WS_FAIL;
        tell(seen, names[event], over ? w->code : 0, over ? STR("") : data);
        if (event == WS_FAIL) require(w->why && w->why[0] && ws_code_valid(w->code));
        if (over) break;
    }
    require(event != WS_MORE || at == copy + piece.len);
    require(w->message.len <= MESSAGE_MAX);
    free(copy);
    return event == WS_MORE;
}

static void ours(struct str bytes, unsigned cuts, struct buf *seen)
{
    struct ws w;
    bool      on = true;

    ws_init(&w, MESSAGE_MAX);
    while (on && bytes.len) {
        size_t n = fuzz_cut(&cuts, bytes.len);
        on = feed(&w, str_cut(bytes, n), seen);
        bytes = str_from(bytes, n);
    }
    ws_done(&w);
}

/* --- the literal reading ---------------------------------------------------------------------- */

struct frame {
    bool       fin;
    unsigned   rsv, op;
    bool       masked, shortest;
    uint64_t   len;
    struct buf payload;
};

/* How long the frame is; 0: it has not come in full. */
static size_t frame_read(struct str s, struct frame *f)
{
    size_t at = 2;
    if (s.len < 2) return 0;
    unsigned char a = (unsigned char)s.ptr[0], b = (unsigned char)s.ptr[1];
    f->fin = a >> 7;
    f->rsv = a >> 4 & 7;
    f->op = a & 15;
    f->masked = b >> 7;
    f->len = b & 127;
    f->shortest = true;
    if (f->len >= 126) {
        size_t n = f->len == 126 ? 2 : 8;
        if (s.len < 2 + n) return 0;
        for (f->len = 0; at < 2 + n; at++) f->len = f->len << 8 | (unsigned char)s.ptr[at];
        f->shortest = n == 2 ? f->len >= 126 : f->len >= 65536 && !(f->len >> 63);
    }
    if (f->masked && s.len < at + 4) return 0;
    const char *key = s.ptr + at;
    if (f->masked) at += 4;
    if (s.len - at < f->len) return 0;
    for (size_t i = 0; i < f->len; i++)
        buf_chr(&f->payload, (char)(s.ptr[at + i] ^ (f->masked ? key[i % 4] : 0)));
    return at + (size_t)f->len;
}

struct reader {
    unsigned   kind;
    struct buf message;
};

/* 0, or why the frame is none that may come now. */
static unsigned fault(const struct reader *r, const struct frame *f)
{
    bool control = f->op >= 8;
    if (f->rsv || !f->masked || !f->shortest) return 1002;
    if (f->op > 10 || (f->op > 2 && f->op < 8)) return 1002;
    if (control && (!f->fin || f->len > 125)) return 1002;
    if (f->op == 0 && !r->kind) return 1002;
    if ((f->op == 1 || f->op == 2) && r->kind) return 1002;
    if (!control && r->message.len + f->len > MESSAGE_MAX) return 1009;
    return 0;
}

static unsigned close_fault(struct str p, unsigned *code)
{
    *code = 1005;
    if (!p.len) return 0;
    if (p.len == 1) return 1002;
    *code = (unsigned)(unsigned char)p.ptr[0] << 8 | (unsigned char)p.ptr[1];
    bool known =
        (*code >= 1000 && *code <= 1014 && *code != 1004 && *code != 1005 && *code != 1006) ||
        (*code >= 3000 && *code <= 4999);
    if (!known) return 1002;
    return utf8_valid(str_from(p, 2)) ? 0 : 1007;
}

/* The text so far may end inside a character only if more comes. */
static bool text_ok(struct str s, bool whole)
{
    bool   cut = false;
    size_t n = utf8_prefix(s, &cut);
    return n == s.len || (!whole && cut);
}

/* False: the connection is over. */
static bool frame_take(struct reader *r, const struct frame *f, struct buf *seen)
{
    struct str p = buf_view(&f->payload);
    unsigned   code, bad = fault(r, f);
    if (bad) {
        tell(seen, 'f', bad, STR(""));
        return false;
    }
    if (f->op == 9 || f->op == 10) {
        tell(seen, f->op == 9 ? 'p' : 'q', 0, p);
        return true;
    }
    if (f->op == 8) {
        bad = close_fault(p, &code);
        tell(seen, bad ? 'f' : 'c', bad ? bad : code, STR(""));
        return false;
    }
    if (f->op) r->kind = f->op;
    buf_str(&r->message, p);
    if (r->kind == 1 && !text_ok(buf_view(&r->message), f->fin)) {
        tell(seen, 'f', 1007, STR(""));
        return false;
    }
    if (!f->fin) return true;
    tell(seen, r->kind == 1 ? 't' : 'b', 0, buf_view(&r->message));
    r->kind = 0;
    buf_clear(&r->message);
    return true;
}

/* True: a whole number of frames, or an end. False: the last frame has not come in full. */
static bool literal(struct str bytes, struct buf *seen)
{
    struct reader r = { 0 };
    bool          on = true, whole = true;
    while (on && bytes.len) {
        struct frame f = { 0 };
        size_t       n = frame_read(bytes, &f);
        if (n) on = frame_take(&r, &f, seen);
        else on = whole = false;
        buf_done(&f.payload);
        bytes = str_from(bytes, n);
    }
    buf_done(&r.message);
    return whole;
}

/* --- both ------------------------------------------------------------------------------------- */

static void mask_all(struct buf *out, struct str s)
{
    static const char key[4] = { 0x11, (char)0xe7, 0, 0x5a };
    while (s.len >= 2) {
        /* 250 and more: many bytes of one kind */
        size_t want = (unsigned char)s.ptr[1];
        char   first = s.ptr[0];
        bool   many = want >= 250 && s.len > 2;
        char   fill = many ? s.ptr[2] : 0;
        s = str_from(s, many ? 3 : 2);
        size_t len = many ? (want - 249) * 120 : want < s.len ? want : s.len;
        buf_chr(out, first);
        buf_chr(out, (char)(0x80 | (len < 126 ? len : 126)));
        if (len >= 126) {
            buf_chr(out, (char)(len >> 8));
            buf_chr(out, (char)len);
        }
        buf_add(out, key, 4);
        for (size_t i = 0; i < len; i++)
            buf_chr(out, (char)((many ? fill : s.ptr[i]) ^ key[i % 4]));
        if (!many) s = str_from(s, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf wire, whole, cut, want;
    if (!size) return 0;
    struct str rest = str_from(str_n((const char *)data, size), 1);
    buf_init(&wire, 0);
    buf_init(&whole, 0);
    buf_init(&cut, 0);
    buf_init(&want, 0);
    if (data[0] & 1) mask_all(&wire, rest);
    else buf_str(&wire, rest);
    ours(buf_view(&wire), 0, &whole);
    ours(buf_view(&wire), data[0] + 1u, &cut);
    require(str_eq(buf_view(&whole), buf_view(&cut)));
    bool       full = literal(buf_view(&wire), &want);
    struct str more = str_from(buf_view(&whole), want.len);
    require(str_starts(buf_view(&whole), buf_view(&want)));
    require(!more.len ||
            (!full && more.ptr[0] == 'f' && str_find(more, STR("\n")) == (ptrdiff_t)more.len - 1));
    buf_done(&wire);
    buf_done(&whole);
    buf_done(&cut);
    buf_done(&want);
    return 0;
}
