/* openai_tell.c -- the answer to a request of OpenAI's shape: a stream of its response, the whole
 * object when the response is over, or at once if it goes on in the background.
 *
 * What can be fetched again goes on without its connection; what cannot (Chat Completions, store
 * false) ends with it: closing is how these clients stop.
 */
#include "dialect/completions.h"
#include "dialect/responseitems.h"
#include "door/follow.h"
#include "door/openai.h"

/* A connection that waits for the end of a response. */
struct waiter {
    struct follower  follower;
    struct conn_hold hold;
    struct conn     *conn;
    struct hub      *hub;
    bool             chat, leaves;
    char             response[64], model[128], owner[PRINCIPAL_MAX];
    struct str       id, name, whose;
};

static struct str keep(char *room, size_t size, struct str s)
{
    s = str_cut(s, size);
    if (s.len) memcpy(room, s.ptr, s.len);
    return str_n(room, s.len);
}

static void place(struct conn *c, const struct thread *t, const struct fact *r)
{
    conn_header(c, "Parley-Thread", thread_id(t));
    if (r->run.len) conn_header(c, "Parley-Run", r->run);
}

static void reply_completion(struct conn *c, const struct thread *t, const struct fact *r,
                             struct str model, uint64_t end)
{
    struct buf         b = { 0 };
    struct jsonw       w;
    const struct fold *f = thread_fold(t);
    const struct run  *run = fold_run(f, r->run);
    place(c, t, r);
    if (!completion_reason(f, r, end)) {
        openai_error(c, 502, run->ended->code.len ? run->ended->code : STR("model_error"),
                     run->ended->text, STR_NONE);
        return;
    }
    jsonw_init(&w, &b);
    completion_write(&w, f, r, model, end);
    json_reply(c, 200, &b);
}

void openai_reply_response(struct conn *c, const struct thread *t, const struct fact *r)
{
    struct buf   b = { 0 };
    struct jsonw w;
    place(c, t, r);
    jsonw_init(&w, &b);
    response_write(&w, thread_fold(t), thread_id(t), r, thread_committed(t), false);
    json_reply(c, 200, &b);
}

static void waiter_free(struct waiter *k)
{
    thread_unfollow(&k->follower);
    mem_free(k);
}

/* It is over: the whole of it. */
static bool reply_if_over(struct waiter *k)
{
    const struct thread *t = k->follower.thread;
    if (thread_away(t)) return false;
    const struct fold *f = thread_fold(t);
    const struct fact *r = response_find(f, k->id);
    uint64_t           end = r ? response_end(f, r, thread_committed(t)) : 0;
    if (r && !end) return false;
    if (!r)
        openai_error(k->conn, 404, STR("response_not_found"), STR("There is no such response."),
                     STR_NONE);
    else if (k->chat) reply_completion(k->conn, t, r, k->name, end);
    else openai_reply_response(k->conn, t, r);
    return true;
}

static void on_wake(struct follower *f)
{
    struct waiter *k = LIST_ITEM(f, struct waiter, follower);
    if (hub_draining(k->hub)) {
        openai_error(k->conn, 503, STR("restarting"), STR("The server is restarting; try again."),
                     STR_NONE);
        waiter_free(k);
    } else if (thread_stuck(f->thread)) {
        openai_error(k->conn, 503, STR("store_unavailable"),
                     STR("Nothing can be saved at the moment; the operator must bring the server's "
                         "store back."),
                     STR_NONE);
        waiter_free(k);
    } else if (reply_if_over(k)) waiter_free(k);
}

static void on_over(struct follower *f)
{
    struct waiter *k = LIST_ITEM(f, struct waiter, follower);
    openai_error(k->conn, 404, STR("response_not_found"), STR("The conversation was deleted."),
                 STR_NONE);
    waiter_free(k);
}

static void on_left(struct conn_hold *h)
{
    struct waiter *k = LIST_ITEM(h, struct waiter, hold);
    thread_counts(&k->follower, false);
    if (k->leaves) follow_leave(k->hub, k->follower.thread, k->whose, k->id);
    waiter_free(k);
}

static void wait_for(struct openai_turn *t, struct thread *at, const struct fact *r)
{
    struct waiter *k = mem_alloc(sizeof *k);
    if (!k) {
        openai_no_memory(t->ask.conn);
        return;
    }
    k->hub = t->ask.app->hub;
    k->conn = t->ask.conn;
    k->chat = t->q.chat;
    k->leaves = !t->q.store;
    k->id = keep(k->response, sizeof k->response, r->id);
    k->name = keep(k->model, sizeof k->model, t->q.model);
    k->whose = keep(k->owner, sizeof k->owner, t->owner);
    k->follower.wake = on_wake;
    k->follower.over = on_over;
    k->follower.counts = true;
    k->hold = (struct conn_hold){ .cancelled = on_left, .leaves = k->leaves };
    thread_follow(at, &k->follower);
    if (reply_if_over(k)) {
        waiter_free(k);
        return;
    }
    conn_hold(k->conn, &k->hold);
}

void turn_tell(struct openai_turn *t, struct thread *at, const struct fact *r)
{
    struct conn *c = t->ask.conn;
    while (t->twins) {
        struct openai_turn *twin = t->twins;
        t->twins = twin->next;
        turn_tell(twin, at, r);
    }
    if (!c) {
        if (!t->q.store) follow_leave(t->ask.app->hub, at, t->owner, r->id);
    } else if (t->q.stream)
        follow_stream(c, t->ask.door->dialect, at,
                      &(struct stream_start){ .run = r->run,
                                              .seq = r->seq - 1,
                                              .replay = true,
                                              .response = r->id,
                                              .model = t->q.model,
                                              .usage = t->q.usage,
                                              .leaves = !t->q.store ? t->owner : STR_NONE });
    else if (t->q.background) openai_reply_response(c, at, r);
    else wait_for(t, at, r);
    turn_free(t);
}
