/* fuzz_wire.h -- one fuzz target per wire; defines LLVMFuzzerTestOneInput.
 *
 * The first byte chooses: odd, the rest is payloads, one per line, to be
 * framed; even, it is the body as it comes. It is read whole and cut, and the
 * two must tell the same. What must hold whatever comes:
 *   - an end is reached, as done or as a failure;
 *   - call_end comes only while a call is open, and its input has balanced brackets;
 *   - opaque JSON is JSON, because it is stored and sent back.
 * The same bytes are then read as the body of an HTTP error.
 */
#include <stdlib.h>

#include "model/wire.h"

struct fuzz_sink {
    struct model_sink sink;
    struct buf        told, input;
    bool              in_call;
};

static struct fuzz_sink *fuzz_of(struct model_sink *s)
{
    return LIST_ITEM(s, struct fuzz_sink, sink);
}

static void fuzz_line(struct model_sink *s, char what, struct str text)
{
    buf_chr(&fuzz_of(s)->told, what);
    buf_str(&fuzz_of(s)->told, text);
    buf_chr(&fuzz_of(s)->told, '\n');
}
static void fuzz_close(struct model_sink *s)
{
    fuzz_of(s)->in_call = false;
    buf_clear(&fuzz_of(s)->input);
}
static void fuzz_text(struct model_sink *s, struct str d)
{
    fuzz_close(s);
    fuzz_line(s, 't', d);
}
static void fuzz_reasoning(struct model_sink *s, struct str d)
{
    fuzz_close(s);
    fuzz_line(s, 'r', d);
}
static void fuzz_opaque(struct model_sink *s, struct str json)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    if (json_parse(&a, json, &v, NULL) != OK) abort();
    arena_done(&a);
    fuzz_line(s, 'o', json);
}
static void fuzz_call(struct model_sink *s, struct str id, struct str name)
{
    if (!name.len) abort();
    fuzz_close(s);
    fuzz_of(s)->in_call = true;
    fuzz_line(s, 'c', id);
    fuzz_line(s, 'n', name);
}
static void fuzz_input(struct model_sink *s, struct str d)
{
    if (!fuzz_of(s)->in_call) abort();
    buf_str(&fuzz_of(s)->input, d);
    fuzz_line(s, 'i', d);
}
static void fuzz_call_end(struct model_sink *s)
{
    struct shape shape = { 0 };
    if (!fuzz_of(s)->in_call) abort();
    shape_feed(&shape, buf_view(&fuzz_of(s)->input));
    if (!shape.complete || shape.broken) abort();
    fuzz_close(s);
    fuzz_line(s, 'e', STR(""));
}
static void fuzz_usage(struct model_sink *s, int64_t in, int64_t out)
{
    buf_printf(&fuzz_of(s)->told, "u%lld %lld\n", (long long)in, (long long)out);
}
/* remote.c's business */
static void fuzz_done(struct model_sink *s, enum model_stop stop)
{
    abort();
}
static void fuzz_failed(struct model_sink *s, const struct model_error *e)
{
    abort();
}

static void fuzz_read(const struct wire *w, struct str body, unsigned cuts, struct buf *told)
{
    struct fuzz_sink f = { .sink = { fuzz_text, fuzz_reasoning, fuzz_opaque, fuzz_call, fuzz_input,
                                     fuzz_call_end, fuzz_usage, fuzz_done, fuzz_failed } };
    struct arena     scratch;
    struct reader    r;
    arena_init(&scratch, 0);
    reader_init(&r, w, &scratch, &f.sink);
    while (body.len) {
        size_t n = body.len;
        if (cuts) {
            cuts = cuts * 1103515245u + 12345u;
            n = 1 + (cuts >> 16) % 23;
            if (n > body.len) n = body.len;
        }
        reader_feed(&r, str_cut(body, n));
        body = str_from(body, n);
    }
    reader_end(&r);
    if (r.dec.ended == (r.dec.trouble.kind != FAIL_NONE)) abort();
    buf_printf(&f.told, "end %d %d\n", (int)r.dec.stop, (int)r.dec.trouble.kind);
    reader_done(&r);
    arena_done(&scratch);
    buf_done(&f.input);
    *told = f.told;
}

static void fuzz_frame(struct buf *out, struct str lines)
{
    struct str line;
    while (str_split(&lines, '\n', &line)) {
        buf_lit(out, "data: ");
        buf_str(out, line);
        buf_lit(out, "\n\n");
    }
}

static void fuzz_error(const struct wire *w, struct str body)
{
    struct arena   scratch;
    struct trouble t;
    struct buf     sentence;
    arena_init(&scratch, 0);
    buf_init(&sentence, 0);
    trouble_init(&t);
    wire_http_error(w, &scratch, 400, body, &t);
    fail_sentence(&sentence, &t, STR("m"), STR("h"));
    if (!sentence.len || t.word[sizeof t.word - 1]) abort();
    buf_done(&sentence);
    arena_done(&scratch);
}

static int fuzz_wire(const struct wire *w, const uint8_t *data, size_t size)
{
    struct buf body, whole, cut;
    struct str rest = str_from(str_n((const char *)data, size), 1);
    if (!size) return 0;
    buf_init(&body, 0);
    if (data[0] & 1) fuzz_frame(&body, rest);
    else buf_str(&body, rest);
    fuzz_read(w, buf_view(&body), 0, &whole);
    fuzz_read(w, buf_view(&body), 1u + data[0], &cut);
    if (!str_eq(buf_view(&whole), buf_view(&cut))) abort();
    fuzz_error(w, rest);
    buf_done(&whole);
    buf_done(&cut);
    buf_done(&body);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
