/* fallback.c -- several models that look like one: the next is asked when one
 * fails before its first delta.
 *
 * The request is valid during start() only, so it is copied for the models that
 * may still be asked; the copy goes with the first delta. Opaque parts of a step belong to the
 * provider that made it. When the models have different providers they are kept as
 * {"by":PROVIDER,"opaque":JSON}, and each model is shown its own only. A call always says whose it
 * is, if only {"by":PROVIDER}.
 */
#include "base/jsonw.h"
#include "base/log.h"
#include "model/wire.h"

struct fallback {
    struct model   model;
    struct arena   arena;
    struct model **models;
    size_t         count;
    bool           mixed;
};

struct model_run {
    struct fallback     *f;
    struct model_sink   *sink;
    struct model_sink    own;
    struct model_run    *inner; /* of models[at]; NULL: it has ended */
    size_t               at;
    struct arena         arena;
    struct model_request request; /* the copy; msgs NULL when it is gone */
    unsigned             busy;    /* frames that still use it */
    bool                 spoke, over;
    bool                 unmarked; /* the open call does not say yet whose it is */
};

/* --- copying a request ------------------------------------------------------------------------ */

static struct msg_part copy_part(struct arena *a, const struct msg_part *p)
{
    struct msg_part c = *p;
    c.text = arena_dup(a, p->text);
    c.id = arena_dup(a, p->id);
    c.name = arena_dup(a, p->name);
    c.input = arena_dup(a, p->input);
    c.opaque = arena_dup(a, p->opaque);
    c.media_type = arena_dup(a, p->media_type);
    c.url = arena_dup(a, p->url);
    return c;
}

static struct msg *copy_msgs(struct arena *a, const struct model_request *q)
{
    struct msg *msgs = arena_array(a, q->msg_count + 1, sizeof *msgs);
    for (size_t i = 0; msgs && i < q->msg_count; i++) {
        msgs[i] = q->msgs[i];
        msgs[i].parts = arena_array(a, q->msgs[i].count + 1, sizeof *msgs[i].parts);
        for (size_t k = 0; msgs[i].parts && k < msgs[i].count; k++)
            msgs[i].parts[k] = copy_part(a, &q->msgs[i].parts[k]);
    }
    return msgs;
}

static bool copy_request(struct arena *a, const struct model_request *q, struct model_request *to)
{
    struct model_tool *tools = arena_array(a, q->tool_count + 1, sizeof *tools);
    *to = *q;
    to->system = arena_dup(a, q->system);
    to->thread = arena_dup(a, q->thread);
    to->run = arena_dup(a, q->run);
    to->principal = arena_dup(a, q->principal);
    to->named = arena_dup(a, q->named);
    to->trace = arena_dup(a, q->trace);
    to->msgs = copy_msgs(a, q);
    to->tools = tools;
    for (size_t i = 0; tools && i < q->tool_count; i++) {
        tools[i].declared = q->tools[i].declared;
        tools[i].name = arena_dup(a, q->tools[i].name);
        tools[i].description = arena_dup(a, q->tools[i].description);
        tools[i].schema = arena_dup(a, q->tools[i].schema);
    }
    return !a->failed;
}

/* --- whose opaque parts ----------------------------------------------------------------------- */

static struct str own_opaque(struct arena *a, struct str opaque, struct str provider, bool *foreign)
{
    struct jv *v = NULL;
    *foreign = !opaque.len || json_parse(a, opaque, &v, NULL) != OK ||
               !str_eq(jv_str_at(v, "by"), provider);
    const struct jv *inner = *foreign ? NULL : jv_get(v, "opaque");
    return inner ? inner->raw : STR_NONE;
}

bool fallback_show(struct arena *a, const struct model_request *q, struct str provider,
                   struct model_request *to)
{
    struct msg *msgs = arena_array(a, q->msg_count + 1, sizeof *msgs);
    *to = *q;
    to->msgs = msgs;
    for (size_t i = 0; msgs && i < q->msg_count; i++) {
        msgs[i] = q->msgs[i];
        msgs[i].parts = arena_array(a, msgs[i].count + 1, sizeof *msgs[i].parts);
        for (size_t k = 0; msgs[i].parts && k < msgs[i].count; k++) {
            struct msg_part *p = &msgs[i].parts[k];
            *p = q->msgs[i].parts[k];
            p->opaque = own_opaque(a, p->opaque, provider, &p->foreign);
        }
    }
    return !a->failed;
}

/* --- a run ------------------------------------------------------------------------------------ */

static void release(struct model_run *r)
{
    if (!r->over || r->busy) return;
    arena_done(&r->arena);
    mem_free(r);
}

static void forget_request(struct model_run *r)
{
    arena_done(&r->arena);
    r->request.msgs = NULL;
}

static struct model_run *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct model_run, own);
}

/* The first word: there is no other model any more. */
static struct model_sink *speak(struct model_sink *s)
{
    struct model_run *r = of(s);
    if (!r->spoke) forget_request(r);
    r->spoke = true;
    return r->sink;
}

static void on_text(struct model_sink *s, struct str d)
{
    struct model_sink *to = speak(s);
    to->text(to, d);
}
static void on_reasoning(struct model_sink *s, struct str d)
{
    struct model_sink *to = speak(s);
    to->reasoning(to, d);
}
static void on_input(struct model_sink *s, struct str d)
{
    struct model_sink *to = speak(s);
    to->input(to, d);
}
static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    of(s)->sink->usage(of(s)->sink, in, out);
}

static void tell_opaque(struct model_run *r, struct str json)
{
    struct model_sink *to = r->sink;
    struct buf         marked;
    struct jsonw       w;
    if (!r->f->mixed) {
        to->opaque(to, json);
        return;
    }
    buf_init(&marked, 0);
    jsonw_init(&w, &marked);
    jw_obj(&w);
    jw_kstr(&w, "by", r->f->models[r->at]->provider);
    if (json.len) jw_kraw(&w, "opaque", json);
    jw_end_obj(&w);
    if (!marked.err) to->opaque(to, buf_view(&marked));
    buf_done(&marked);
}

static void on_opaque(struct model_sink *s, struct str json)
{
    speak(s);
    of(s)->unmarked = false;
    tell_opaque(of(s), json);
}

static void on_call(struct model_sink *s, struct str id, struct str name)
{
    struct model_sink *to = speak(s);
    of(s)->unmarked = of(s)->f->mixed;
    to->call(to, id, name);
}

static void on_call_end(struct model_sink *s)
{
    struct model_run  *r = of(s);
    struct model_sink *to = speak(s);
    r->busy++;
    if (r->unmarked) tell_opaque(r, STR_NONE);
    r->unmarked = false;
    if (!r->over) to->call_end(to); /* the run may have ended it for lack of memory */
    r->busy--;
    release(r);
}

static void on_done(struct model_sink *s, enum model_stop stop)
{
    struct model_run  *r = of(s);
    struct model_sink *to = r->sink;
    r->over = true;
    to->done(to, stop);
    release(r);
}

static bool is_away(const struct model *m)
{
    return m->ops->away_ms && m->ops->away_ms(m) > 0;
}

/* The first from `from` on that is worth asking; when none is, the first: it may have come back. */
static size_t pick(const struct fallback *f, size_t from)
{
    size_t i = from;
    while (i < f->count && is_away(f->models[i])) i++;
    return i < f->count ? i : from;
}

static void note(const struct model_run *r, const char *why, size_t next)
{
    const struct model_request *q = &r->request;
    struct log_about about = { .thread = q->thread, .run = q->run, .principal = q->principal };
    log_about(LOG_WARN, &about, "model.fallback", "model", log_str(r->f->model.name), "why", why,
              "next", log_str(r->f->models[next]->name), NULL);
}

/* Starts models[from] or a later one. */
static bool start_next(struct model_run *r, const struct model_request *q, size_t from)
{
    r->inner = NULL;
    for (size_t i = pick(r->f, from); i < r->f->count && !r->inner; i++) {
        struct model        *m = r->f->models[i];
        struct model_request shown = *q;
        struct arena         a;
        arena_init(&a, 0);
        r->at = i;
        bool ready = !r->f->mixed || fallback_show(&a, q, m->provider, &shown);
        shown.another = i + 1 < r->f->count;
        if (ready) r->inner = m->ops->start(m, &shown, &r->own);
        arena_done(&a);
    }
    return r->inner != NULL;
}

static void on_failed(struct model_sink *s, const struct model_error *e)
{
    struct model_run  *r = of(s);
    struct model_sink *to = r->sink;
    r->inner = NULL;
    if (!r->spoke && r->request.msgs && r->at + 1 < r->f->count) {
        note(r, e->code, pick(r->f, r->at + 1));
        if (start_next(r, &r->request, r->at + 1)) return;
    }
    r->over = true;
    to->failed(to, e);
    release(r);
}

static struct model_run *start(struct model *model, const struct model_request *q,
                               struct model_sink *sink)
{
    struct fallback  *f = LIST_ITEM(model, struct fallback, model);
    struct model_run *r = mem_alloc(sizeof *r);
    if (!r) return NULL;
    r->f = f;
    r->sink = sink;
    r->own = (struct model_sink){ on_text,     on_reasoning, on_opaque, on_call,  on_input,
                                  on_call_end, on_usage,     on_done,   on_failed };
    arena_init(&r->arena, 0);
    if ((f->count == 1 || copy_request(&r->arena, q, &r->request)) && start_next(r, q, 0)) {
        if (r->at) note(r, "model_away", r->at);
        return r;
    }
    arena_done(&r->arena);
    mem_free(r);
    return NULL;
}

static void cancel(struct model_run *r)
{
    r->over = true;
    if (r->inner) r->f->models[r->at]->ops->cancel(r->inner);
    r->inner = NULL;
    release(r);
}

static const struct model *answering(const struct model_run *r)
{
    return r->f->models[r->at];
}

static bool stripped(const struct model_run *r)
{
    const struct model_ops *ops = r->f->models[r->at]->ops;
    return r->inner && ops->stripped && ops->stripped(r->inner);
}

static bool waits(const struct model_run *r)
{
    const struct model_ops *ops = r->f->models[r->at]->ops;
    return r->inner && ops->waits && ops->waits(r->inner);
}

static void free_model(struct model *model)
{
    struct fallback *f = LIST_ITEM(model, struct fallback, model);
    arena_done(&f->arena);
    mem_free(f);
}

/* "[a]" and "[b]" are "[a,b]". */
static struct str all_how(struct fallback *f)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < f->count; i++) {
        struct str how = f->models[i]->how;
        if (how.len < 2) continue;
        buf_chr(&b, b.len ? ',' : '[');
        buf_str(&b, str_n(how.ptr + 1, how.len - 2));
    }
    if (b.len) buf_chr(&b, ']');
    return buf_into(&b, &f->arena);
}

struct model *model_fallback_new(struct str name, struct model *const *models, size_t count)
{
    static const struct model_ops ops = { start,     cancel,   free_model, NULL,
                                          answering, stripped, waits };
    struct fallback              *f = count ? mem_alloc(sizeof *f) : NULL;
    if (!f) return NULL;
    arena_init(&f->arena, 0);
    f->models = arena_array(&f->arena, count, sizeof *f->models);
    f->count = count;
    f->model = (struct model){ &ops, arena_dup(&f->arena, name), STR_NONE, models[0]->model };
    if (f->arena.failed) {
        free_model(&f->model);
        return NULL;
    }
    memcpy(f->models, models, count * sizeof *models);
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(models[i]->provider, models[0]->provider)) f->mixed = true;
        /* any of them may be the one that is asked */
        if (models[i]->context && (!f->model.context || models[i]->context < f->model.context))
            f->model.context = models[i]->context;
    }
    f->model.how = all_how(f);
    f->model.provider = f->mixed ? STR("fallback") : models[0]->provider;
    return &f->model;
}
