/* trace.c -- see trace.h. */
#include "run/trace.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "model/provider.h"
#include "run/engine.h"
#include "run/record.h"

#define BODY_MAX (32u << 20) /* no request was longer */

struct telling {
    const struct fold *f;
    struct log_name    log;
    struct jsonw       w;
    struct str         basis;
    uint64_t           step; /* the one that is wanted; 0: all */
    uint64_t           no;   /* of the last one that was come by */
};

static void time_at(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

static void text_at(struct jsonw *w, const char *key, struct str s)
{
    if (s.len) jw_kstr(w, key, s);
}

static void int_at(struct jsonw *w, const char *key, int64_t v)
{
    if (v) jw_kint(w, key, v);
}

/* --- the request ------------------------------------------------------------------------------ */

static enum err fold_upto(struct fold *out, const struct fold *f, uint64_t upto)
{
    enum err e = OK;
    for (uint64_t i = 0; i < upto && i < f->count && !e; i++) {
        const struct fact *x = f->facts[i];
        e = fold_apply(
            out, &(struct stored_fact){ x->seq, x->at_ms, str_c(fact_name(x->kind)), x->body });
    }
    return e ? e : out->run ? OK : ERR_SYNTAX;
}

static enum err build(struct telling *k, struct arena *a, const struct fact *x,
                      const struct basis *b, const struct fold *then, struct buf *body, bool *sent)
{
    struct declared_run  d;
    struct model_request q = { 0 };
    enum err             e = declared_read(a, b->base.registry, then->run->first->declared, &d);
    if (!e) e = brief_build(a, &b->base, then, k->log, &d, &q);
    if (!e) *sent = model_sent(body, b->how, x->via, str_is(x->note, "unsigned"), &q);
    return e ? e : body->err;
}

static void write_request(struct telling *k, const struct fact *x)
{
    struct arena a;
    struct fold  then;
    struct basis b;
    struct buf   body;
    bool         sent = false;
    arena_init(&a, 0);
    fold_init(&then);
    buf_init(&body, BODY_MAX);
    enum err e = basis_read(&a, k->basis, x->basis, &b);
    /* what it was asked cannot be said any more when words of that are gone */
    if (!e && k->f->trimmed && k->f->trimmed <= (uint64_t)x->upto) e = ERR_SYNTAX;
    if (!e) e = fold_upto(&then, k->f, (uint64_t)x->upto);
    if (!e) e = build(k, &a, x, &b, &then, &body, &sent);
    jw_key(&k->w, "request");
    if (e == ERR_NOMEM) k->w.out->err = e;
    if (e) jw_null(&k->w);
    else {
        jw_obj(&k->w);
        jw_kstr(&k->w, "provider", x->provider);
        jw_kstr(&k->w, "model", x->model);
        jw_kbool(&k->w, "sent", sent);
        jw_kbuf(&k->w, "body", &body);
        jw_end_obj(&k->w);
    }
    basis_done(&b);
    buf_done(&body);
    fold_done(&then);
    arena_done(&a);
}

/* --- what came of it -------------------------------------------------------------------------- */

static void write_call(struct telling *k, const struct call *c)
{
    struct jsonw *w = &k->w;
    jw_obj(w);
    record_call(w, k->f, c, true, STR_NONE);
    jw_kstrz(w, "gate", gate_name(c->gate));
    text_at(w, "problem", c->problem);
    text_at(w, "intent", c->intent);
    if (c->finished) {
        text_at(w, "output", c->finished->text);
        if (c->finished->value.len) jw_kraw(w, "value", c->finished->value);
        text_at(w, "note", c->finished->note);
    }
    jw_end_obj(w);
}

static void write_calls(struct telling *k, const struct fact *x)
{
    jw_key(&k->w, "calls");
    jw_arr(&k->w);
    for (size_t i = 0; i < x->parts_count; i++) {
        const struct call *c =
            x->parts[i].type == STEP_CALL ? fold_call(k->f, x->parts[i].call) : NULL;
        if (c) write_call(k, c);
        if (c && c->replaced_by) write_call(k, c->replaced_by);
    }
    jw_end_arr(&k->w);
}

static void write_said(struct jsonw *w, const struct fact *x)
{
    static const char *const TYPES[] = { "text", "reasoning", "call" };
    jw_key(w, "said");
    jw_arr(w);
    for (size_t i = 0; i < x->parts_count; i++) {
        const struct part *p = &x->parts[i];
        jw_obj(w);
        jw_kstrz(w, "type", TYPES[p->type]);
        if (p->type == STEP_CALL) jw_kstr(w, "call", p->call);
        else jw_kstr(w, "text", p->text);
        jw_end_obj(w);
    }
    if (x->kind == FACT_SUMMARY) {
        jw_obj(w);
        jw_kstrz(w, "type", "summary");
        jw_kstr(w, "text", x->text);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

/* --- steps and runs --------------------------------------------------------------------------- */

static bool is_step(const struct fact *x)
{
    return x->kind == FACT_STEP || x->kind == FACT_SUMMARY ||
           (x->kind == FACT_ENDED && x->basis.len);
}

static void write_step(struct telling *k, const struct fact *x)
{
    struct jsonw *w = &k->w;
    jw_obj(w);
    jw_kint(w, "step", (int64_t)k->no);
    jw_kint(w, "seq", (int64_t)x->seq);
    time_at(w, "at", x->at_ms - (x->kind == FACT_SUMMARY ? 0 : x->ms));
    if (x->basis.len) jw_kint(w, "ms", x->ms);
    if (x->basis.len && x->kind == FACT_STEP) jw_kint(w, "first_ms", x->first_ms);
    text_at(w, "provider", x->provider);
    text_at(w, "model", x->model);
    text_at(w, "via", x->via);
    if (x->kind == FACT_ENDED) jw_kstr(w, "failed", x->code);
    else {
        text_at(w, "stop", x->stop);
        jw_kint(w, "input_tokens", x->input_tokens);
        jw_kint(w, "output_tokens", x->output_tokens);
        int_at(w, "cost", x->cost);
    }
    if (x->kind != FACT_SUMMARY) int_at(w, "facts", x->upto);
    text_at(w, "basis", x->basis);
    write_said(w, x);
    write_calls(k, x);
    if (k->step) write_request(k, x);
    jw_end_obj(w);
}

static void write_steps(struct telling *k, uint64_t from, uint64_t end)
{
    jw_key(&k->w, "steps");
    jw_arr(&k->w);
    for (uint64_t s = from; s < end; s++) {
        const struct fact *x = k->f->facts[s - 1];
        if (!is_step(x)) continue;
        k->no++;
        if (!k->step || k->step == k->no) write_step(k, x);
    }
    jw_end_arr(&k->w);
}

static void write_ended(struct jsonw *w, const struct fact *x)
{
    jw_key(w, "ended");
    jw_obj(w);
    jw_kstrz(w, "outcome", word_name(x->outcome));
    time_at(w, "at", x->at_ms);
    text_at(w, "code", x->code);
    text_at(w, "text", x->text);
    jw_end_obj(w);
}

static void write_run(struct telling *k, const struct run *r, uint64_t end)
{
    struct jsonw      *w = &k->w;
    const struct fact *x = r->first;
    jw_obj(w);
    jw_kstr(w, "run", r->id);
    time_at(w, "at", x->at_ms);
    text_at(w, "by", x->by.len ? x->by : k->log.owner);
    text_at(w, "page", x->page);
    text_at(w, "message", x->text);
    text_at(w, "action", x->action);
    if (x->kind == FACT_ACTION) write_calls(k, x);
    write_steps(k, x->seq + 1, end);
    if (r->ended) write_ended(w, r->ended);
    jw_end_obj(w);
}

static size_t steps_between(const struct fold *f, uint64_t from, uint64_t end)
{
    size_t n = 0;
    for (uint64_t s = from; s < end; s++) n += is_step(f->facts[s - 1]);
    return n;
}

static void write_runs(struct telling *k)
{
    const struct fold *f = k->f;
    for (size_t i = 0; i < f->run_count; i++) {
        uint64_t from = f->runs[i]->first->seq;
        uint64_t end = i + 1 < f->run_count ? f->runs[i + 1]->first->seq : f->count + 1;
        uint64_t steps = steps_between(f, from, end);
        bool     wanted = !k->step || (k->step > k->no && k->step <= k->no + steps);
        if (wanted) write_run(k, f->runs[i], end);
        else k->no += steps;
    }
}

const struct fact *trace_step(const struct fold *f, uint64_t step)
{
    for (size_t i = 0; i < f->count; i++)
        if (is_step(f->facts[i]) && --step == 0) return f->facts[i];
    return NULL;
}

void trace_write(struct buf *out, const struct fold *f, struct log_name log, uint64_t step,
                 struct str basis)
{
    struct telling k = { .f = f, .log = log, .basis = basis, .step = step };
    jsonw_init(&k.w, out);
    jw_obj(&k.w);
    jw_kstr(&k.w, "id", log.thread);
    jw_kstr(&k.w, "owner", log.owner);
    jw_key(&k.w, "runs");
    jw_arr(&k.w);
    write_runs(&k);
    jw_end_arr(&k.w);
    jw_end_obj(&k.w);
}

/* --- from the store --------------------------------------------------------------------------- */

/* `k` is gone when done has been called. */
static void tell(struct trace_ask *k, enum err e, struct str basis)
{
    struct buf out;
    buf_init(&out, 0);
    if (!e) trace_write(&out, &k->fold, k->log, k->step, basis);
    if (!e) e = out.err;
    fold_done(&k->fold);
    arena_done(&k->arena);
    k->done(k, e, &out);
    buf_done(&out);
}

static void on_basis(struct store_session *x, enum err e)
{
    struct trace_ask *k = LIST_ITEM(x, struct trace_ask, row);
    struct str        body = e ? STR_NONE : arena_dup(&k->arena, x->body);
    tell(k, e == ERR_NOT_FOUND ? OK : e, body);
}

static enum err fold_all(struct fold *f, const struct store_fact *facts, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; i < count && !e; i++)
        e = fold_apply(
            f, &(struct stored_fact){ facts[i].seq, facts[i].at_ms, facts[i].kind, facts[i].body });
    return e;
}

static void on_facts(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    struct trace_ask  *k = LIST_ITEM(r, struct trace_ask, read);
    const struct fact *x = NULL;
    if (!e) e = fold_all(&k->fold, facts, count);
    if (!e && k->step && !(x = trace_step(&k->fold, k->step))) e = ERR_NOT_FOUND;
    if (e || !x || !x->basis.len) {
        tell(k, e, STR_NONE);
        return;
    }
    k->row = (struct store_session){
        .op = SESSION_GET,
        .key = arena_printf(&k->arena, BASIS_KEY STR_FMT, STR_ARG(x->basis)),
        .done = on_basis,
    };
    store_session(k->store, &k->row);
}

void hub_trace(struct hub *h, struct trace_ask *k)
{
    k->store = h->setup.store;
    fold_init(&k->fold);
    arena_init(&k->arena, 0);
    k->read = (struct store_read){ .log = k->log, .done = on_facts };
    store_read(k->store, &k->read);
}
