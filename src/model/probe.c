/* probe.c -- does this configuration work? One token's worth, and the answer in words.
 *
 * The result is told one turn after it is known: by then nothing of the run is left on the
 * stack, so the model that was made for the check may be freed.
 */
#include "model/provider.h"
#include "model/upstream.h"

#define TOKENS     16 /* the least some reasoning models take */
#define CONNECT_MS 5000
#define ANSWER_MS  30000

struct model_check {
    struct upstream     *up;
    struct model        *model;
    struct model_run    *run;
    struct model_sink    sink;
    struct upstream_wait wait;
    struct buf           sentence;
    bool                 ok;
    void (*done)(void *ctx, bool ok, struct str sentence);
    void *ctx;
};

static void free_check(struct model_check *k)
{
    upstream_wait_stop(&k->wait);
    if (k->model) k->model->ops->free(k->model);
    buf_done(&k->sentence);
    mem_free(k);
}

static void on_told(struct upstream_wait *w)
{
    struct model_check *k = LIST_ITEM(w, struct model_check, wait);
    k->done(k->ctx, k->ok, k->ok ? STR("It answers.") : buf_view(&k->sentence));
    free_check(k);
}

static void result(struct model_check *k, bool ok, struct str sentence)
{
    k->run = NULL;
    k->ok = ok;
    buf_str(&k->sentence, sentence);
    upstream_wait(k->up, &k->wait, 0, on_told);
}

static struct model_check *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct model_check, sink);
}

/* Anything at all is proof enough. */
static void answered(struct model_sink *s)
{
    struct model_check *k = of(s);
    k->model->ops->cancel(k->run);
    result(k, true, STR(""));
}

static void on_delta(struct model_sink *s, struct str delta)
{
    answered(s);
}
static void on_call(struct model_sink *s, struct str id, struct str name)
{
    answered(s);
}
static void on_done(struct model_sink *s, enum model_stop stop)
{
    result(of(s), true, STR(""));
}
static void on_failed(struct model_sink *s, const struct model_error *e)
{
    result(of(s), false, e->detail.len ? e->detail : e->message);
}

static bool ask(struct model_check *k)
{
    struct msg_part      part = { .type = PART_TEXT, .text = STR("Say hi.") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    k->sink = (struct model_sink){ .text = on_delta,
                                   .reasoning = on_delta,
                                   .opaque = on_delta,
                                   .call = on_call,
                                   .input = on_delta,
                                   .call_end = model_sink_quiet.call_end,
                                   .usage = model_sink_quiet.usage,
                                   .done = on_done,
                                   .failed = on_failed };
    k->run = k->model->ops->start(k->model, &q, &k->sink);
    return k->run != NULL;
}

struct model_check *model_check(struct upstream *up, const struct model_config              *c,
                                void (*done)(void *ctx, bool ok, struct str sentence), void *ctx)
{
    struct model_check *k = mem_alloc(sizeof *k);
    struct model_config quick = *c;
    struct str          why = STR("Out of memory.");
    if (!k) return NULL;
    k->up = up;
    k->done = done;
    k->ctx = ctx;
    buf_init(&k->sentence, 0);
    quick.max_tokens = TOKENS;
    quick.thinking = NULL; /* its budget would not fit into so few tokens */
    quick.retries = 0;
    quick.connect_ms = CONNECT_MS;
    quick.first_byte_ms = quick.idle_ms = quick.total_ms = ANSWER_MS;
    k->model = model_remote_new(up, &quick, &why);
    if (!k->model || !ask(k)) result(k, false, why);
    return k;
}
