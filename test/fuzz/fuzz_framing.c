/* fuzz_framing.c -- what our parser takes, every other one frames the same way.
 *
 * Request smuggling needs two parsers that disagree where a request ends. The reader below is not
 * ours: it is a literal one, made from RFC 9112 sections 2.2 and 5 to 7, with a switch for each
 * liberty that parsers in the field are known to take. Whenever ours says DONE, the strict reader,
 * the reader with each single liberty, and a choice of combinations must refuse the bytes or end at
 * the same one. dictionary: http */
#include <stdio.h>
#include <stdlib.h>

#include "http/http1.h"

enum liberty {
    BARE_LF = 1 << 0,     /* a line ends at LF, with or without CR */
    BARE_CR = 1 << 1,     /* ... or at CR alone */
    FOLDS = 1 << 2,       /* a line that begins with a blank goes on with the one before */
    FOLDS_ALONE = 1 << 3, /* ... or is a header of its own */
    BLANK_COLON = 1 << 4, /* "Name : value" */
    UNDERSCORES = 1 << 5, /* what is no letter or digit counts as a dash, as for CGI */
    NUL_ENDS = 1 << 6,    /* C strings */
    WIDE_BLANKS = 1 << 7, /* VT, FF and NUL are blanks */
    /* only the one space after the colon is: a value with others is not what it looks like */
    NARROW_BLANKS = 1 << 8,
    LENGTH_WINS = 1 << 9,     /* Content-Length before Transfer-Encoding */
    LAST_WINS = 1 << 10,      /* of repeated headers, and of lists */
    LOOSE_NUMBERS = 1 << 11,  /* strtol: sign, blanks, 0x, rest ignored */
    BAD_IS_NONE = 1 << 12,    /* a length or an encoding it does not understand is not there */
    LOOSE_CHUNKED = 1 << 13,  /* "chunked" anywhere in the value */
    ANY_CASE = 1 << 14,       /* "Chunked" */
    NO_BODY_OF_GET = 1 << 15, /* GET and HEAD have none, whatever they say */
    OLD_NO_CHUNKS = 1 << 16,  /* HTTP/1.0: Transfer-Encoding is ignored */
    HOP_BY_HOP = 1 << 17,     /* what Connection names is taken off first */
    EMPTY_LINES = 1 << 18,    /* any number before the request */
    NARROW_SIZES = 1 << 19,   /* chunk sizes in 32 bits, lengths too */
    LOOSE_DATA = 1 << 20,     /* what stands after a chunk's data is skipped unseen up to LF */
    EXT_TO_LF = 1 << 21,      /* a chunk extension may hold CR */
    NO_TRAILERS = 1 << 22,    /* after the last chunk comes an empty line, or nothing it knows */
    TWO_AFTER_DATA = 1 << 23, /* two bytes after a chunk's data are skipped, whatever they are */
    LIBERTIES = 24,
};

#define REFUSED    (-1)
#define UNFINISHED (-2) /* it waits for bytes: another end, too */

struct reader {
    struct str s;
    size_t     at;
    unsigned   may;
    bool       bad;
};

static bool can(const struct reader *r, enum liberty l)
{
    return r->may & l;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The next line without its end; false: it has not come in full, or is bad. */
static bool line_read(struct reader *r, struct str *line)
{
    for (size_t i = r->at; i < r->s.len; i++) {
        char   c = r->s.ptr[i];
        size_t n = 0;
        if (c == '\n') {
            if (!can(r, BARE_LF)) {
                r->bad = true;
                return false;
            }
            n = 1;
        } else if (c == '\r' && i + 1 < r->s.len && r->s.ptr[i + 1] == '\n') n = 2;
        else if (c == '\r' && i + 1 == r->s.len) return false;
        else if (c == '\r' && can(r, BARE_CR)) n = 1;
        else if (c == '\r') {
            r->bad = true;
            return false;
        }
        if (!n) continue;
        *line = str_n(r->s.ptr + r->at, i - r->at);
        r->at = i + n;
        return true;
    }
    return false;
}

static bool blank(const struct reader *r, char c)
{
    return c == ' ' || c == '\t' || (can(r, WIDE_BLANKS) && (c == '\v' || c == '\f' || c == 0));
}

static struct str trimmed(const struct reader *r, struct str s)
{
    if (can(r, NARROW_BLANKS)) return s.len && s.ptr[0] == ' ' ? str_from(s, 1) : s;
    while (s.len && blank(r, s.ptr[0])) s = str_from(s, 1);
    while (s.len && blank(r, s.ptr[s.len - 1])) s.len--;
    return s;
}

static struct str c_string(const struct reader *r, struct str s)
{
    const char *nul = s.len && can(r, NUL_ENDS) ? memchr(s.ptr, 0, s.len) : NULL;
    return nul ? str_n(s.ptr, (size_t)(nul - s.ptr)) : s;
}

static bool named(const struct reader *r, struct str name, const char *want)
{
    if (can(r, BLANK_COLON))
        while (name.len && blank(r, name.ptr[name.len - 1])) name.len--;
    name = c_string(r, name);
    if (name.len != strlen(want)) return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i], w = want[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (can(r, UNDERSCORES) && !letter) c = '-';
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c != w) return false;
    }
    return true;
}

/* --- the head --------------------------------------------------------------------------------- */

enum { HEADERS_MAX = 128 };
struct head {
    struct str method, version;
    struct {
        struct str name, value;
    } field[HEADERS_MAX];
    size_t count;
};

static void add_field(struct reader *r, struct head *h, struct str line)
{
    const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
    if (!colon) return; /* nothing it knows: passed over */
    if (h->count == HEADERS_MAX) {
        r->bad = true;
        return;
    }
    h->field[h->count].name = str_n(line.ptr, (size_t)(colon - line.ptr));
    h->field[h->count++].value = str_from(line, (size_t)(colon - line.ptr) + 1);
}

static bool head_read(struct reader *r, struct head *h)
{
    struct str line;
    do
        if (!line_read(r, &line)) return false;
    while (!line.len && (can(r, EMPTY_LINES) || r->at <= 2));
    const char *first = memchr(line.ptr, ' ', line.len);
    if (!first) {
        r->bad = true;
        return false;
    }
    h->method = str_n(line.ptr, (size_t)(first - line.ptr));
    h->version = str_from(line, line.len >= 8 ? line.len - 8 : 0);
    for (;;) {
        if (!line_read(r, &line)) return false;
        if (!line.len) return !r->bad;
        bool folded = line.ptr[0] == ' ' || line.ptr[0] == '\t';
        /* the value goes on: in these bytes it is one run up to here */
        if (folded && can(r, FOLDS)) {
            if (h->count)
                h->field[h->count - 1].value.len =
                    (size_t)(line.ptr + line.len - h->field[h->count - 1].value.ptr);
        } else if (folded && !can(r, FOLDS_ALONE)) {
            r->bad = true;
            return false;
        } else add_field(r, h, folded ? trimmed(r, line) : line);
    }
}

static bool removed(const struct reader *r, const struct head *h, const char *want)
{
    if (!can(r, HOP_BY_HOP)) return false;
    for (size_t i = 0; i < h->count; i++) {
        struct str rest = h->field[i].value, piece;
        if (!named(r, h->field[i].name, "connection")) continue;
        while (str_split(&rest, ',', &piece))
            if (str_eq_nocase(trimmed(r, piece), str_c(want))) return true;
    }
    return false;
}

/* The value that counts; STR_NONE: none. */
static struct str value_of(struct reader *r, const struct head *h, const char *want)
{
    struct str found = STR_NONE;
    size_t     n = 0;
    if (removed(r, h, want)) return found;
    for (size_t i = 0; i < h->count; i++) {
        if (!named(r, h->field[i].name, want)) continue;
        if (!n++ || can(r, LAST_WINS)) found = c_string(r, trimmed(r, h->field[i].value));
    }
    return found;
}

/* --- the body --------------------------------------------------------------------------------- */

/* A number in `base`; UINT64_MAX: it is none. */
static uint64_t number(const struct reader *r, struct str s, unsigned base)
{
    uint64_t n = 0;
    size_t   i = 0;
    bool     minus = false, any = false;
    if (can(r, LOOSE_NUMBERS)) {
        while (i < s.len && (blank(r, s.ptr[i]) || s.ptr[i] == '\r' || s.ptr[i] == '\n')) i++;
        if (i < s.len && (s.ptr[i] == '+' || s.ptr[i] == '-')) minus = s.ptr[i++] == '-';
        if (base == 16 && s.len - i > 2 && s.ptr[i] == '0' && (s.ptr[i + 1] | 32) == 'x') i += 2;
    }
    for (; i < s.len; i++) {
        char     c = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] + 32) : s.ptr[i];
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : 99;
        if (d >= base && can(r, LOOSE_NUMBERS)) break;
        if (d >= base) return UINT64_MAX;
        n = n * base + d;
        any = true;
        if (can(r, NARROW_SIZES)) n = (uint32_t)n;
        else if (n > (uint64_t)1 << 40) return UINT64_MAX;
    }
    if (!any) return UINT64_MAX;
    return minus ? 0 : n;
}

static uint64_t length_of(const struct reader *r, struct str value)
{
    struct str piece = value, rest = value;
    if (can(r, LOOSE_NUMBERS) || can(r, LAST_WINS)) {
        while (str_split(&rest, ',', &piece))
            if (!can(r, LAST_WINS)) break;
        if (can(r, LAST_WINS))
            while (piece.len && piece.ptr[0] == ' ') piece = str_from(piece, 1);
    }
    return number(r, piece, 10);
}

static bool is_chunked(const struct reader *r, struct str value)
{
    static const struct str word = { "chunked", 7 };
    struct str              piece = value, rest = value;
    if (can(r, LOOSE_CHUNKED))
        for (size_t i = 0; i + word.len <= value.len; i++)
            if (str_eq_nocase(str_cut(str_from(value, i), word.len), word)) return true;
    while (str_split(&rest, ',', &piece))
        if (!can(r, LAST_WINS)) break;
    piece = trimmed(r, piece);
    return can(r, ANY_CASE) ? str_eq_nocase(piece, word) : str_eq(piece, word);
}

static long skip(struct reader *r, uint64_t n)
{
    if (n > r->s.len - r->at) return UNFINISHED;
    r->at += (size_t)n;
    return (long)r->at;
}

static long trailers(struct reader *r)
{
    struct str line;
    do {
        if (!line_read(r, &line)) return r->bad ? REFUSED : UNFINISHED;
        if (line.len && can(r, NO_TRAILERS)) return REFUSED;
    } while (line.len);
    return (long)r->at;
}

/* What stands between the data and the next size. */
static bool data_end(struct reader *r)
{
    struct str line;
    if (can(r, TWO_AFTER_DATA)) return skip(r, 2) >= 0;
    if (!can(r, LOOSE_DATA)) return line_read(r, &line) && !line.len;
    while (r->at < r->s.len && r->s.ptr[r->at] != '\n') r->at++;
    if (r->at == r->s.len) return false;
    r->at++;
    return true;
}

static bool size_line(struct reader *r, struct str *line)
{
    if (!can(r, EXT_TO_LF)) return line_read(r, line);
    const char *lf = r->at < r->s.len ? memchr(r->s.ptr + r->at, '\n', r->s.len - r->at) : NULL;
    if (!lf) return false;
    *line = str_n(r->s.ptr + r->at, (size_t)(lf - (r->s.ptr + r->at)));
    r->at += line->len + 1;
    if (line->len && line->ptr[line->len - 1] == '\r') line->len--;
    return true;
}

static long chunks(struct reader *r)
{
    for (;;) {
        struct str line, size;
        if (!size_line(r, &line)) return r->bad ? REFUSED : UNFINISHED;
        str_split(&line, ';', &size);
        uint64_t n = number(r, trimmed(r, size), 16);
        if (n == UINT64_MAX) return REFUSED;
        if (n == 0) return trailers(r);
        if (skip(r, n) < 0) return UNFINISHED;
        if (!data_end(r)) return r->bad || r->at < r->s.len ? REFUSED : UNFINISHED;
    }
}

/* Where the first request of `s` ends. */
static long request_end(struct str s, unsigned may)
{
    struct reader r = { .s = s, .may = may };
    struct head   h = { 0 };
    if (!head_read(&r, &h)) return r.bad ? REFUSED : UNFINISHED;
    if (can(&r, NO_BODY_OF_GET) && (str_is(h.method, "GET") || str_is(h.method, "HEAD")))
        return (long)r.at;
    struct str length = value_of(&r, &h, "content-length"),
               encoding = value_of(&r, &h, "transfer-encoding");
    if (can(&r, OLD_NO_CHUNKS) && str_is(h.version, "HTTP/1.0")) encoding = STR_NONE;
    if (encoding.ptr && !is_chunked(&r, encoding)) {
        if (!can(&r, BAD_IS_NONE)) return REFUSED;
        encoding = STR_NONE;
    }
    uint64_t n = length.ptr ? length_of(&r, length) : 0;
    if (n == UINT64_MAX) {
        if (!can(&r, BAD_IS_NONE)) return REFUSED;
        n = 0;
        length = STR_NONE;
    }
    if (encoding.ptr && !(length.ptr && can(&r, LENGTH_WINS))) return chunks(&r);
    return skip(&r, n);
}

/* --- both ------------------------------------------------------------------------------------- */

static size_t ours(struct str s, bool *done)
{
    static const struct net_limits limits = { .head_max = 16 << 10, .body_max = 8 << 20 };
    struct arena                   a;
    struct http1                   p;
    struct request                 q;
    arena_init(&a, 0);
    http1_init(&p, &limits, &q, &a);
    size_t used = http1_feed(&p, s.ptr, s.len);
    *done = p.status == HTTP1_DONE;
    http1_done(&p);
    arena_done(&a);
    return used;
}

static void agree(struct str s, size_t used, unsigned may)
{
    long end = request_end(s, may);
    if (end == REFUSED || end == (long)used) return;
    fprintf(stderr, "ours ends at %zu, the reader with liberties %#x at %ld\n", used, may, end);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = str_n((const char *)data, size);
    bool       done;
    for (;;) {
        size_t used = ours(s, &done);
        if (!done) return 0;
        agree(s, used, 0);
        agree(s, used, (1u << LIBERTIES) - 1);
        for (unsigned i = 0; i < LIBERTIES; i++) agree(s, used, 1u << i);
        for (unsigned i = 0, mix = 1; i < 40; i++) {
            mix = mix * 1664525u + 1013904223u;
            agree(s, used, mix >> 9 & (i & 1 ? mix >> 3 : ~0u) & ((1u << LIBERTIES) - 1));
        }
        s = str_from(s, used); /* what is left is the next request of the connection */
        if (!s.len) return 0;
    }
}
