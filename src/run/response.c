/* response.c -- see response.h. */
#include "run/response.h"

#include "base/jsonw.h"
#include "base/map.h"
#include "base/utf8.h"
#include "run/chain.h"
#include "run/engine.h"

const struct fact *response_find(const struct fold *f, struct str id)
{
    for (size_t i = f->response_count; i-- > 0;)
        if (str_eq(f->responses[i]->id, id)) return f->responses[i];
    return NULL;
}

bool response_forgotten(const struct fold *f, struct str id)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->facts[i]->kind == FACT_FORGOTTEN && str_eq(f->facts[i]->id, id)) return true;
    return false;
}

bool response_left(const struct fold *f, const struct fact *response)
{
    const struct run *r = fold_run(f, response->run);
    if (!r || (r->ended && r->ended->outcome != WORD_CANCELLED)) return false;
    for (uint64_t s = response->seq + 1; s <= f->count; s++) {
        const struct fact *x = f->facts[s - 1];
        if (response_ends_at(f, response, s)) return false;
        if (x->kind == FACT_STOP && str_eq(x->run, r->id))
            return str_is(x->stop, "left") || str_is(x->stop, "calls");
    }
    return false;
}

const struct fact *response_retold(const struct fold *f, const struct fact *response)
{
    for (size_t i = 0; response && i < f->response_count; i++) {
        const struct fact *x = f->responses[i];
        const struct run  *r = x->seq > response->seq ? fold_run(f, x->run) : NULL;
        if (r && r->first->kind == FACT_RETRY && str_eq(r->first->of, response->run)) response = x;
    }
    return response;
}

const struct fact *response_after(const struct fold *f, struct str id)
{
    for (size_t i = 0; i < f->response_count; i++)
        if (str_eq(f->responses[i]->of, id)) return f->responses[i];
    return NULL;
}

/* A result of the client's: what came of it is told by the response that it began. */
static const struct fact *response_of_result(const struct fold *f, const struct call *c)
{
    for (size_t i = 0; c->finished && i < f->response_count; i++)
        if (f->responses[i]->seq > c->finished->seq && str_eq(f->responses[i]->run, c->run->id))
            return f->responses[i];
    return NULL;
}

const struct fact *response_of_call(const struct fold *f, const struct call *c)
{
    if (c->client && c->started) return response_of_result(f, c);
    uint64_t           outcome = c->finished ? c->finished->seq : f->count;
    const struct fact *decided = c->last ? c->last->verdict : c->decided;
    for (size_t i = f->response_count; decided && i-- > 0;) {
        const struct fact *r = f->responses[i];
        if (r->seq < decided->seq || !str_eq(r->run, c->run->id) || r->text.ptr) continue;
        uint64_t end = response_end(f, r, f->count);
        if (r->seq < outcome && (!end || end >= outcome)) return r;
    }
    return NULL;
}

static bool by(const struct fact *a, uint64_t seq)
{
    return a && a->seq <= seq;
}

bool response_tells(const struct fact *response, const struct fact *asked)
{
    return response->link.ptr && (!response->items || asked_by_tool(asked));
}

/* What waits at this place was told in words, too, where it is to be. */
static bool all_told(const struct fold *f, const struct fact *response, const struct run *r,
                     uint64_t seq)
{
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++) {
        const struct confirmation *k = call_open_at(f->calls[i], seq);
        if (k && response_tells(response, k->asked) && !by(k->told, seq)) return false;
    }
    return true;
}

bool response_ends_at(const struct fold *f, const struct fact *response, uint64_t seq)
{
    const struct fact *x = f->facts[seq - 1];
    const struct run  *r = fold_run(f, response->run);
    if (response->text.ptr || !r) return seq == response->seq;
    if (by(r->ended, seq)) return true;
    if (x->kind == FACT_RESPONSE && x != response) return false;
    return run_waited_at(f, r, seq) && all_told(f, response, r, seq);
}

uint64_t response_end(const struct fold *f, const struct fact *response, uint64_t horizon)
{
    for (uint64_t s = response->seq; s <= horizon; s++)
        if (response_ends_at(f, response, s)) return s;
    return 0;
}

static void step_words(struct buf *out, const struct fact *step)
{
    for (size_t i = 0; i < step->parts_count; i++) {
        if (step->parts[i].type != STEP_TEXT || !step->parts[i].text.len) continue;
        if (out->len) buf_lit(out, "\n\n");
        buf_str(out, step->parts[i].text);
    }
}

void response_words(struct buf *out, const struct fold *f, const struct fact *response,
                    uint64_t seq)
{
    if (response->text.ptr) {
        buf_str(out, response->text);
        return;
    }
    for (uint64_t s = response->seq; s <= seq; s++) {
        const struct fact *x = f->facts[s - 1];
        if (x->kind == FACT_STEP) step_words(out, x);
        if (x->kind != FACT_TOLD || !response->link.ptr) continue;
        if (out->len) buf_lit(out, "\n\n");
        buf_str(out, x->text);
    }
}

/* --- in the mailbox --------------------------------------------------------------------------- */

struct str response_wish_write(struct arena *a, const struct response_wish *w)
{
    struct buf   b = { 0 };
    struct jsonw j;
    jsonw_init(&j, &b);
    jw_obj(&j);
    jw_kstr(&j, "id", w->id);
    if (w->of.len) jw_kstr(&j, "of", w->of);
    if (w->link.ptr) jw_kstr(&j, "link", w->link);
    if (w->codes) jw_kbool(&j, "codes", true);
    if (w->items) jw_kbool(&j, "items", true);
    if (w->chain.len) jw_kstr(&j, "chain", w->chain);
    if (w->root.len) jw_kstr(&j, "root", w->root);
    if (w->data.len) jw_kraw(&j, "data", w->data);
    if (w->key.len) jw_kstr(&j, "key", w->key);
    if (w->exchange.len) jw_kstr(&j, "exchange", w->exchange);
    if (w->quiet) jw_kbool(&j, "quiet", true);
    jw_end_obj(&j);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    if (!s.ptr) a->failed = true;
    buf_done(&b);
    return s;
}

enum err response_wish_read(struct arena *a, struct str text, struct response_wish *w)
{
    struct jv *v;
    enum err   e = json_parse_own(a, text, &v);
    if (e) return e == ERR_NOMEM ? e : ERR_TYPE;
    const struct jv *data = jv_get(v, "data");
    *w = (struct response_wish){ .id = jv_str_at(v, "id"),
                                 .of = jv_str_at(v, "of"),
                                 .link = jv_str_at(v, "link"),
                                 .codes = jv_true(jv_get(v, "codes")),
                                 .items = jv_true(jv_get(v, "items")),
                                 .chain = jv_str_at(v, "chain"),
                                 .root = jv_str_at(v, "root"),
                                 .data = data ? data->raw : STR_NONE,
                                 .key = jv_str_at(v, "key"),
                                 .exchange = jv_str_at(v, "exchange"),
                                 .quiet = jv_true(jv_get(v, "quiet")) };
    return OK;
}

enum err response_add(struct thread *t, struct command *c, struct str run, struct str text)
{
    struct response_wish wish, *w = &wish;
    if (!c->response.ptr) return OK;
    enum err e = response_wish_read(&t->batch, c->response, w);
    if (e) return e;
    struct fact f = { .kind = FACT_RESPONSE,
                      .id = w->id,
                      .run = run,
                      .of = w->of,
                      .text = text,
                      .link = w->link,
                      .codes = w->codes,
                      .items = w->items,
                      .chain = w->chain,
                      .root = w->root,
                      .data = w->data,
                      .note = w->exchange,
                      .digest = w->key,
                      .via = c->via,
                      .quiet = w->quiet };
    e = thread_add(t, &f);
    if (!e) e = thread_key(t, "r:", w->id, w->id);
    if (!e && w->chain.len) e = thread_key(t, "u:", w->chain, w->id);
    if (!e && w->key.len) e = thread_key(t, "", w->key, w->id);
    return e;
}

const struct fact *response_going(const struct fold *f, struct str key)
{
    for (size_t i = f->response_count; key.len && i-- > 0;) {
        const struct fact *r = f->responses[i];
        const struct run  *run = str_eq(r->digest, key) ? fold_run(f, r->run) : NULL;
        if (run && run_live(run) && !run->leaving && !run->stopping &&
            !response_end(f, r, f->count))
            return r;
    }
    return NULL;
}

/* --- copies ----------------------------------------------------------------------------------- */

struct str response_copy(struct arena *a, const struct fold *f, uint64_t seq)
{
    struct buf   b = { 0 };
    struct jsonw w;
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (uint64_t i = 0; i < seq; i++) {
        jw_arr(&w);
        jw_strz(&w, fact_name(f->facts[i]->kind));
        jw_int(&w, f->facts[i]->at_ms);
        jw_str(&w, f->facts[i]->body);
        jw_end_arr(&w);
    }
    jw_end_arr(&w);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    if (!s.ptr) a->failed = true;
    buf_done(&b);
    return s;
}

enum err response_paste(struct thread *t, struct str copied)
{
    struct jv *list;
    int64_t    at_ms = 0;
    enum err   e = json_parse(&t->batch, copied, &list, NULL);
    JV_EACH (x, e ? NULL : list) {
        (void)jv_int(jv_at(x, 1), &at_ms);
        if ((e = fold_apply(&t->fold,
                            &(struct stored_fact){ t->fold.count + 1, at_ms, jv_str(jv_at(x, 0)),
                                                   jv_str(jv_at(x, 2)) })))
            return e;
    }
    if (!e) t->batch_from = 1;
    return e;
}

/* --- what other versions did ------------------------------------------------------------------ */

#define EFFECT_TEXT_MAX 500 /* of an outcome; no model is told more */

/* As the body of a `finished`, with the arguments; without an outcome while it runs. */
static void put_effect(struct jsonw *w, const struct call *c)
{
    const struct fact *end = c->settled ? c->settled : c->finished;
    struct str         text = c->finished ? c->finished->text : STR_NONE;
    struct fact        x = { .kind = FACT_FINISHED,
                             .call = c->id,
                             .tool = c->tool,
                             .data = c->input,
                             .outcome = end ? end->outcome : WORD_NONE,
                             .text = str_cut(text, utf8_cut(text, EFFECT_TEXT_MAX)) };
    struct buf         b = { 0 };
    fact_write(&b, &x);
    if (b.err) w->out->err = b.err;
    else jw_raw(w, buf_view(&b));
    buf_done(&b);
}

static bool is_effect(const struct call *c, struct str run)
{
    return (!run.ptr || str_eq(c->run->id, run)) && call_took_effect(c) && c->args && !c->declared;
}

bool response_did(const struct fold *f, const struct fact *response)
{
    for (size_t i = f->call_count; i-- > 0;)
        if (is_effect(f->calls[i], response->run)) return true;
    return false;
}

struct str response_effects(struct arena *a, const struct fold *f, struct str run)
{
    struct buf   b = { 0 };
    struct jsonw w;
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < f->carried_count; i++) put_effect(&w, f->carried[i]);
    for (size_t i = 0; i < f->call_count; i++)
        if (is_effect(f->calls[i], run)) put_effect(&w, f->calls[i]);
    jw_end_arr(&w);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    if (!s.ptr) a->failed = true;
    buf_done(&b);
    return s;
}

struct str response_family(const struct fold *f, struct str thread)
{
    struct str of = f->copied ? f->facts[f->copied - 1]->of : STR_NONE;
    return of.len ? of : thread;
}

/* Does the thread show it already, or is it nothing that must not be repeated? */
static bool is_shown(const struct thread *t, const struct jv *effect)
{
    const struct fold *f = &t->fold;
    struct str         id = jv_str_at(effect, "call");
    const struct call *c = fold_call(f, id);
    const struct tool *tool = registry_find(t->hub->setup.registry, jv_str_at(effect, "tool"));
    for (size_t i = 0; i < f->carried_count; i++)
        if (str_eq(f->carried[i]->id, id)) return true;
    return (c && call_took_effect(c)) || (tool && tool->idempotent);
}

static enum err put_effects(struct buf *b, const struct thread *t, const struct jv *lists)
{
    struct jsonw w;
    struct map   seen;
    enum err     e = OK;
    map_init(&seen);
    jsonw_init(&w, b);
    jw_arr(&w);
    JV_EACH (list, lists)
        JV_EACH (x, e ? NULL : list) {
            struct str id = jv_str_at(x, "call");
            if (is_shown(t, x) || map_get(&seen, id)) continue;
            jw_raw(&w, x->raw);
            if ((e = map_put(&seen, id, b))) break;
        }
    jw_end_arr(&w);
    map_done(&seen);
    return e ? e : b->err;
}

enum err response_fork(struct thread *t, const struct command *c)
{
    struct fact f = { .kind = FACT_FORKED,
                      .of = c->message.family,
                      .by = c->by,
                      .via = c->via,
                      .more = c->message.more };
    struct jv  *lists = NULL;
    struct buf  b = { 0 };
    enum err    e =
        c->message.effects.len ? json_parse(&t->batch, c->message.effects, &lists, NULL) : OK;
    if (!e && lists) e = put_effects(&b, t, lists);
    if (b.len > 2) f.data = buf_view(&b);
    if (!e && (f.data.len || f.more || c->message.copied.len)) e = thread_add(t, &f);
    if (!e && c->message.family.len) e = thread_key(t, "f:", c->message.family, t->id);
    buf_done(&b);
    return e;
}

/* --- that something was done here ------------------------------------------------------------- */

static bool may_have_done(const struct thread *t)
{
    const struct fold *f = &t->fold;
    for (size_t i = f->call_count; i-- > 0;) {
        const struct call *c = f->calls[i];
        const struct tool *tool = registry_find(t->hub->setup.registry, c->tool);
        if (is_effect(c, STR_NONE) && !(tool && tool->idempotent)) return true;
    }
    return run_live(f->run);
}

static bool is_touched(const struct thread *t)
{
    const struct fold *f = &t->fold;
    for (uint64_t s = t->batch_from; s <= f->count; s++) switch ((int)f->facts[s - 1]->kind) {
        case FACT_RESPONSE:
        case FACT_STARTED:
        case FACT_ENDED:
        case FACT_SETTLED: return true;
        }
    return false;
}

static struct str root_of(const struct fold *f)
{
    const struct fact *first = f->responses[0];
    return first->root.len ? first->root : first->chain;
}

/* Given before anything can be done, taken back when nothing was. */
static enum err trace_keys(struct thread *t)
{
    const struct fold *f = &t->fold;
    if (!f->response_count || !is_touched(t)) return OK;
    struct str root = root_of(f), family = response_family(f, STR_NONE);
    struct str value = may_have_done(t) ? t->id : STR_NONE;
    enum err   e = root.len ? thread_key(t, "a:", root, value) : OK;
    if (!e && family.len) e = thread_key(t, "a:", family, value);
    return e;
}

/* --- their ends ------------------------------------------------------------------------------- */

/* The words of a response that ends in this batch are known now. */
static enum err close_chain(struct thread *t, const struct fact *r, struct str from,
                            const char *kind, struct str words)
{
    struct chain c;
    char         hash[CHAIN_LEN];
    if (from.len != CHAIN_LEN) return OK;
    chain_init(&c);
    chain_resume(&c, from, CHAIN_USER);
    chain_add(&c, CHAIN_ASSISTANT, words);
    bool ok = chain_hash(&c, hash);
    chain_done(&c);
    return ok ? thread_key(t, kind, str_n(hash, CHAIN_LEN), r->id) : ERR_NOMEM;
}

static enum err close_response(struct thread *t, const struct fact *r, uint64_t end)
{
    struct buf words = { 0 };
    response_words(&words, &t->fold, r, end);
    enum err e = words.err ? ERR_NOMEM : close_chain(t, r, r->chain, "w:", buf_view(&words));
    if (!e) e = close_chain(t, r, r->note, "x:", buf_view(&words));
    buf_done(&words);
    return e;
}

enum err response_close(struct thread *t)
{
    const struct fold *f = &t->fold;
    enum err           e = trace_keys(t);
    for (size_t i = f->response_count; !e && i-- > 0;) {
        const struct fact *r = f->responses[i];
        uint64_t           end = response_end(f, r, f->count);
        if (end && end < t->batch_from) break; /* so are those before it */
        if (end && r->seq >= f->copied) e = close_response(t, r, end);
    }
    return e;
}

enum store_listed response_listed(const struct thread *t)
{
    const struct fold *f = &t->fold;
    bool               asked = false;
    if (!f->quiet) return LISTED_AS_BEFORE;
    for (size_t i = 0; i < f->call_count; i++) asked |= f->calls[i]->asked != NULL;
    /* its request may have begun none, and then the first is somebody's who came by another door */
    for (size_t i = 0; i < f->run_count; i++)
        asked |= !str_eq(f->runs[i]->id, f->responses[0]->run);
    return asked || f->response_count > 1 ? LISTED_YES : LISTED_NOT;
}
