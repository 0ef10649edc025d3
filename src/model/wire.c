/* wire.c -- what the three wires share. */
#include "model/wire.h"

#define EVENT_MAX (16u << 20) /* what the providers' contract allows one event */

/* --- decoding ------------------------------------------------------------------- */

static void decoder_init(struct decoder *d, const struct wire *w, struct arena *scratch,
                         struct model_sink *sink)
{
    *d = (struct decoder){ .wire = w, .scratch = scratch };
    blocks_init(&d->blocks, sink);
    trouble_init(&d->trouble);
    if (w->begin) w->begin(d);
}

static void decoder_done(struct decoder *d)
{
    if (d->wire && d->wire->done) d->wire->done(d);
    blocks_done(&d->blocks);
}

void decoder_fail(struct decoder *d, enum fail kind)
{
    if (d->trouble.kind == FAIL_NONE) trouble_set(&d->trouble, kind);
}

void decoder_stop(struct decoder *d, enum model_stop stop)
{
    if (stop == STOP_END && d->blocks.calls) stop = STOP_CALLS;
    if (stop == STOP_CALLS && !d->blocks.calls) stop = STOP_END;
    d->stop = stop;
    d->stopped = true;
}

static bool is_over(const struct decoder *d)
{
    return d->ended || d->trouble.kind != FAIL_NONE || d->blocks.dead;
}

/* Feeds one event. `last`: the body ended without the blank line; a payload that is cut then is
 * FAIL_CUT. */
static void decoder_event(struct decoder *d, struct str name, struct str data, bool last)
{
    if (is_over(d)) return;
    arena_reset(d->scratch);
    d->scratch->failed = false;
    d->wire->event(d, name, data);
    if (d->blocks.err == ERR_NOMEM || d->scratch->failed) decoder_fail(d, FAIL_NOMEM);
    else if (d->blocks.err) decoder_fail(d, FAIL_PROTOCOL);
    if (last && d->trouble.kind == FAIL_PROTOCOL) trouble_set(&d->trouble, FAIL_CUT);
}

void decoder_finish(struct decoder *d)
{
    if (is_over(d)) return;
    if (d->wire->finish) d->wire->finish(d);
    if (d->stopped) {
        blocks_abandon(&d->blocks);
        if (d->blocks.err) decoder_fail(d, d->blocks.err == ERR_NOMEM ? FAIL_NOMEM : FAIL_PROTOCOL);
        else d->ended = true;
    } else decoder_fail(d, FAIL_CUT);
}

/* --- framing and decoder together -------------------------------------------------- */

static void on_event(struct sse_in *s, struct str name, struct str data)
{
    struct reader *r = LIST_ITEM(s, struct reader, sse);
    decoder_event(&r->dec, name, data, r->last);
    if (is_over(&r->dec)) sse_in_stop(s);
}

void reader_init(struct reader *r, const struct wire *w, struct arena *scratch,
                 struct model_sink *sink)
{
    r->last = false;
    sse_in_init(&r->sse, EVENT_MAX, on_event);
    r->sse.error_field = true; /* llama.cpp builds of 2025 write one */
    decoder_init(&r->dec, w, scratch, sink);
}

void reader_done(struct reader *r)
{
    sse_in_done(&r->sse);
    decoder_done(&r->dec);
}

void reader_mute(struct reader *r)
{
    r->dec.blocks.dead = true;
    sse_in_stop(&r->sse);
}

static void framing(struct reader *r, enum err e)
{
    if (e) decoder_fail(&r->dec, e == ERR_NOMEM ? FAIL_NOMEM : FAIL_PROTOCOL);
}

void reader_feed(struct reader *r, struct str bytes)
{
    framing(r, sse_in_feed(&r->sse, bytes));
}

void reader_end(struct reader *r)
{
    r->last = true;
    framing(r, sse_in_end(&r->sse));
    decoder_finish(&r->dec);
}

/* --- errors ------------------------------------------------------------------------- */

int wire_status(const struct jv *v)
{
    int64_t  n = 0;
    uint64_t u = 0;
    if (jv_is(v, JSON_STRING) && str_to_u64(v->str, &u) && u < 1000) n = (int64_t)u;
    else if (!jv_int(v, &n)) return 0;
    return n >= 400 && n < 600 ? (int)n : 0;
}

void wire_http_error(const struct wire *w, struct arena *scratch, int status, struct str body,
                     struct trouble *t)
{
    struct jv *v = NULL;
    arena_reset(scratch);
    trouble_status(t, status);
    /* HTML, or nothing at all */
    if (!body.len || json_parse(scratch, body, &v, NULL) != OK) return;
    if (jv_is(v, JSON_ARRAY)) v = v->child; /* Gemini wraps some */
    if (jv_is(v, JSON_OBJECT)) w->error(t, v);
}

/* --- requests ------------------------------------------------------------------------ */

void wire_body(const struct wire *w, struct buf *out, const struct model_config *c,
               const struct model_request *q, int64_t *tokens)
{
    struct arena         a;
    struct model_request tidy;
    arena_init(&a, 0);
    if (tidy_request(&a, &w->taste, q, &tidy, tokens)) w->body(out, c, &tidy);
    else out->err = ERR_NOMEM;
    arena_done(&a);
}

bool wire_says_error(struct str text)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    bool says = json_parse(&a, text, &v, NULL) == OK && jv_is(v, JSON_OBJECT) && jv_get(v, "error");
    arena_done(&a);
    return says;
}

void wire_extra(struct jsonw *w, const struct jv *extra, const char *const *taken)
{
    if (!jv_is(extra, JSON_OBJECT)) return;
    JV_EACH (m, extra) {
        const char *const *t = taken;
        while (*t && !str_is(m->key, *t)) t++;
        if (*t) continue;
        jw_key_str(w, m->key);
        jw_jv(w, m);
    }
}

bool wire_thinking_off(const struct jv *thinking)
{
    int64_t n;
    return (jv_is(thinking, JSON_BOOL) && !thinking->boolean) || (jv_int(thinking, &n) && n <= 0);
}

/* The steps between budgets are ours: there is no rule for them. */
struct str wire_effort(const struct jv *thinking)
{
    int64_t n;
    if (!thinking || thinking->type == JSON_OBJECT) return STR_NONE;
    if (wire_thinking_off(thinking)) return STR("none");
    if (thinking->type == JSON_STRING) return thinking->str;
    if (jv_int(thinking, &n))
        return n < 4096 ? STR("low") : n < 16384 ? STR("medium") : STR("high");
    return STR("medium");
}
