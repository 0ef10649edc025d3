/* model_trace.c -- recordings in, lines out. */
#include "model_trace.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

#define SMALL 6000 /* up to here a recording is cut at every byte */
/* Pieces of these sizes, long and short ones, from every place on: so every byte is once the first
 * of a piece, without a replay for each. */
static const size_t STRIDES[] = { 509, 61 };

/* --- the sink ------------------------------------------------------------------------ */

static struct trace *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct trace, sink);
}

static void line(struct trace *t, const char *what, struct str a)
{
    struct jsonw w;
    CHECK(!t->over);
    buf_lit(&t->out, what);
    if (a.ptr) {
        buf_chr(&t->out, ' ');
        jsonw_init(&w, &t->out);
        jw_str(&w, a);
    }
    buf_chr(&t->out, '\n');
}

static void on_text(struct model_sink *s, struct str d)
{
    line(of(s), "text", d);
    buf_str(&of(s)->text, d);
}
static void on_reasoning(struct model_sink *s, struct str d)
{
    line(of(s), "reasoning", d);
}
static void on_opaque(struct model_sink *s, struct str json)
{
    buf_lit(&of(s)->out, "opaque ");
    buf_str(&of(s)->out, json);
    buf_chr(&of(s)->out, '\n');
}
static void on_call(struct model_sink *s, struct str id, struct str name)
{
    of(s)->calls++;
    buf_printf(&of(s)->out, "call " STR_FMT " " STR_FMT "\n", STR_ARG(id.ptr ? id : STR("-")),
               STR_ARG(name));
}
static void on_input(struct model_sink *s, struct str d)
{
    line(of(s), "input", d);
}
static void on_call_end(struct model_sink *s)
{
    of(s)->ends++;
    line(of(s), "call_end", STR_NONE);
}
static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    buf_printf(&of(s)->out, "usage %lld %lld\n", (long long)in, (long long)out);
}
static void on_done(struct model_sink *s, enum model_stop stop)
{
    static const char *const names[] = { "done end", "done calls", "done length", "done refusal" };
    line(of(s), names[stop], STR_NONE);
    of(s)->over = true;
}
static void on_failed(struct model_sink *s, const struct model_error *e)
{
    struct trace *t = of(s);
    buf_printf(&t->out, "failed %s\n", e->code);
    CHECK(!t->over);
    t->over = t->failed = true;
    t->retryable = e->retryable;
    snprintf(t->code, sizeof t->code, "%s", e->code);
}

void trace_init(struct trace *t)
{
    *t = (struct trace){ .sink = { on_text, on_reasoning, on_opaque, on_call, on_input, on_call_end,
                                   on_usage, on_done, on_failed } };
    buf_init(&t->out, 0);
    buf_init(&t->text, 0);
}

void trace_done(struct trace *t)
{
    buf_done(&t->out);
    buf_done(&t->text);
}

/* --- replaying --------------------------------------------------------------------------- */

static void tell_end(struct trace *t, const struct decoder *d)
{
    if (d->trouble.kind == FAIL_NONE) {
        t->sink.done(&t->sink, d->stop);
        return;
    }
    struct model_error e = { .code = fail_code(d->trouble.kind),
                             .retryable = fail_retryable(d->trouble.kind) };
    t->sink.failed(&t->sink, &e);
}

/* Each piece is fed from a block of exactly its size, so that ASan sees a read past it. */
static void feed(struct reader *r, struct str piece)
{
    char *copy = malloc(piece.len ? piece.len : 1);
    memcpy(copy, piece.ptr, piece.len);
    reader_feed(r, str_n(copy, piece.len));
    free(copy);
}

void trace_replay(struct trace *t, const struct wire *w, struct str body,
                  size_t (*next)(void *, size_t), void *ctx)
{
    struct reader r;
    struct arena  scratch;
    arena_init(&scratch, 0);
    reader_init(&r, w, &scratch, &t->sink);
    while (body.len) {
        size_t n = next ? next(ctx, body.len) : body.len;
        if (n > body.len) n = body.len;
        feed(&r, str_cut(body, n));
        body = str_from(body, n);
    }
    reader_end(&r);
    CHECK(r.dec.ended != (r.dec.trouble.kind != FAIL_NONE));
    tell_end(t, &r.dec);
    reader_done(&r);
    arena_done(&scratch);
}

struct str trace_of(const struct wire *w, const char *body)
{
    static char  text[65536];
    struct trace t;
    trace_init(&t);
    trace_replay(&t, w, str_c(body), NULL, NULL);
    snprintf(text, sizeof text, STR_FMT, STR_ARG(buf_view(&t.out)));
    CHECK(trace_all_cuts(w, str_c(body), buf_view(&t.out), 50) > 0);
    trace_done(&t);
    return str_c(text);
}

struct str trace_sent(const struct wire *w, struct model_config c, const char *thinking,
                      const struct model_request *q)
{
    static char  text[65536];
    struct arena a;
    struct jv   *v = NULL;
    struct buf   out;
    int64_t      tokens;
    arena_init(&a, 0);
    buf_init(&out, 0);
    CHECK(!thinking || json_parse(&a, str_c(thinking), &v, NULL) == OK);
    c.thinking = v;
    wire_body(w, &out, &c, q, &tokens);
    snprintf(text, sizeof text, STR_FMT, STR_ARG(buf_view(&out)));
    buf_done(&out);
    arena_done(&a);
    return str_c(text);
}

struct cut {
    size_t   at, stride;
    bool     cut;
    unsigned seed;
};

/* The first piece ends at `at`, the others have the length of the stride. */
static size_t strides(void *ctx, size_t left)
{
    struct cut *c = ctx;
    size_t      n = c->cut ? c->stride : c->at;
    (void)left;
    c->cut = true;
    return n;
}

static size_t one(void *ctx, size_t left)
{
    return 1;
}

static size_t somewhere(void *ctx, size_t left)
{
    struct cut *c = ctx;
    c->seed = c->seed * 1103515245u + 12345u;
    return 1 + (c->seed >> 16) % ((c->seed & 0x40) ? 7 : 900);
}

static bool same(const struct wire *w, struct str body, struct str whole,
                 size_t (*next)(void *, size_t), struct cut *c)
{
    struct trace t;
    trace_init(&t);
    trace_replay(&t, w, body, next, c);
    bool ok = str_eq(buf_view(&t.out), whole);
    trace_done(&t);
    return ok;
}

static unsigned cut_everywhere(const struct wire *w, struct str body, struct str whole,
                               size_t stride)
{
    unsigned n = 0;
    for (size_t at = 1; at <= stride && at < body.len; at++, n++)
        if (!same(w, body, whole, strides, &(struct cut){ .at = at, .stride = stride })) return 0;
    return n;
}

unsigned trace_all_cuts(const struct wire *w, struct str body, struct str whole, unsigned rounds)
{
    unsigned n = 1;
    if (!same(w, body, whole, one, NULL)) return 0;
    for (size_t i = 0; i < sizeof STRIDES / sizeof *STRIDES && body.len <= SMALL; i++) {
        unsigned more = cut_everywhere(w, body, whole, STRIDES[i]);
        if (!more && body.len > 1) return 0;
        n += more;
    }
    for (unsigned i = 0; i < rounds && body.len > SMALL; i++, n++)
        if (!same(w, body, whole, somewhere, &(struct cut){ .seed = i * 7919 + 1 })) return 0;
    return n;
}

/* --- framing ------------------------------------------------------------------------------- */

static struct str type_of(struct str payload)
{
    static char  type[64];
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    type[0] = '\0';
    if (json_parse(&a, payload, &v, NULL) == OK)
        snprintf(type, sizeof type, STR_FMT, STR_ARG(jv_str_at(v, "type")));
    arena_done(&a);
    return str_c(type);
}

void trace_frame(struct buf *out, const struct wire *w, struct str lines, const char *eol)
{
    struct str one_line;
    while (str_split(&lines, '\n', &one_line)) {
        if (!str_trim(one_line).len) continue;
        if (w == &wire_anthropic)
            buf_printf(out, "event: " STR_FMT "%s", STR_ARG(type_of(one_line)), eol);
        buf_lit(out, "data: ");
        buf_str(out, one_line);
        buf_printf(out, "%s%s", eol, eol);
    }
    if (w == &wire_openai) buf_printf(out, "data: [DONE]%s%s", eol, eol);
}

/* --- the shared fixtures ---------------------------------------------------------------------- */

static bool read_file(const char *path, struct buf *out)
{
    char   piece[4096];
    size_t n;
    FILE  *f = fopen(path, "rb");
    if (!f) return false;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) buf_add(out, piece, n);
    fclose(f);
    return true;
}

/* Some files hold several answers: split where the next begins (Anthropic only, see their
 * README). */
static struct str next_answer(const struct wire *w, struct str *rest)
{
    struct str mark = STR("\n{\"type\":\"message_start\""), all = *rest;
    ptrdiff_t  at = w == &wire_anthropic ? str_find(str_from(all, 1), mark) : -1;
    struct str head = at < 0 ? all : str_cut(all, (size_t)at + 2);
    /* A second one with the same id right away is the regression of a doubled start, not another
     * answer. */
    if (at >= 0 && str_find(head, STR("content_block")) < 0) head = all;
    *rest = str_from(all, head.len);
    return head;
}

static unsigned replay_answer(const struct wire *w, const char *name, struct str lines)
{
    static const char *const eols[] = { "\n", "\r\n", "\r" };
    struct trace             t;
    unsigned                 n = 0;
    struct buf               body;
    for (size_t i = 0; i < 3; i++) {
        buf_init(&body, 0);
        trace_init(&t);
        trace_frame(&body, w, lines, eols[i]);
        trace_replay(&t, w, buf_view(&body), NULL, NULL);
        unsigned cuts = trace_all_cuts(w, buf_view(&body), buf_view(&t.out), 20);
        if (t.failed || !cuts || t.calls != t.ends) {
            test_failed(name, 0,
                        t.failed ? "the recording fails"
                        : cuts   ? "a call has no end"
                                 : "a cut changes what is told");
            printf(STR_FMT, STR_ARG(buf_view(&t.out)));
        }
        if (getenv("TRACE") && i == 0) printf("--- %s\n" STR_FMT, name, STR_ARG(buf_view(&t.out)));
        n += cuts + 1;
        buf_done(&body);
        trace_done(&t);
    }
    return n;
}

static unsigned replay_file(const struct wire *w, const char *path)
{
    struct buf file;
    unsigned   n = 0;
    buf_init(&file, 0);
    CHECK(read_file(path, &file));
    for (struct str rest = buf_view(&file); rest.len;)
        n += replay_answer(w, path, next_answer(w, &rest));
    buf_done(&file);
    return n;
}

void trace_fixtures(const struct wire *w, const char *folder)
{
    char        dir[512], path[1024];
    const char *shared = getenv("PARLEY_SHARED");
    unsigned    files = 0, replays = 0;
    snprintf(dir, sizeof dir, "%s/fixtures/providers/%s", shared ? shared : "../shared", folder);
    DIR *d = opendir(dir);
    if (!d) {
        printf("skipped: recordings of %s are not here (../shared or PARLEY_SHARED)\n", folder);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (!str_ends(str_c(e->d_name), STR(".chunks.txt"))) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        replays += replay_file(w, path);
        files++;
    }
    closedir(d);
    CHECK(files > 0);
    printf("note: %s: %u recordings, %u replays\n", folder, files, replays);
}

struct str trace_chosen(const struct wire *w, enum model_choice choice, const char *thinking)
{
    struct msg_part      part = { .type = PART_TEXT, .text = STR("Pay") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_tool    tool = { STR("pay"), STR("Send"), STR("{\"type\":\"object\"}") };
    struct model_request q = { .msgs = &msg,
                               .msg_count = 1,
                               .tools = &tool,
                               .tool_count = 1,
                               .choice = choice,
                               .named = STR("pay") };
    return trace_sent(w, (struct model_config){ .model = STR("m") }, thinking, &q);
}

void trace_errors(const struct wire *w, const struct error_row *rows, size_t count)
{
    struct arena a;

    arena_init(&a, 0);
    for (size_t i = 0; i < count; i++) {
        struct trouble t;
        trouble_init(&t);
        wire_http_error(w, &a, rows[i].status, str_c(rows[i].body), &t);
        CHECK_STR(str_c(fail_code(t.kind)), rows[i].code);
        CHECK(t.again == rows[i].again);
    }
    arena_done(&a);
}
