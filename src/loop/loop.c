/* loop.c -- libuv dressed for us.
 *
 * The order of one turn:
 *
 *   1. sleep until something happens (epoll_wait; its timeout is the next timer)
 *   2. callbacks of sockets and processes; posts of other threads, in posting order
 *   3. close callbacks, timers that are due (libuv before 1.45 runs them at the
 *      start of the next turn; either way before 4)
 *   4. flush: every object marked since the last flush, once            (uv_prepare)
 *   5. the turn is over: its busy time is told, and back to 1
 *
 * So whatever marks an object during 2 and 3, however often, costs one flush,
 * and nothing marked is ever left behind while the loop sleeps. A flush may mark
 * again; that is flushed too, but only FLUSH_PASSES times: after that the sockets
 * get their turn first and the loop comes back without sleeping. The same when a
 * flush, or the posts, take longer than LOOP_SHARE_NS: what is left keeps its place
 * and goes on in the next turn. So no turn is longer than what the sockets brought,
 * two such shares and the one piece of work that was under way, however many
 * connections want however much.
 *
 * Busy time is the time between two ends of a turn minus what libuv spent waiting
 * in the kernel. libuv runs the callbacks of 2 inside its poll, so a pair of
 * prepare and check handles could not see them.
 */
#include "loop/loop.h"

#include "base/clock.h"

/* Deep enough for a flush that wakes one that wakes one; two objects that mark
 * each other for ever must not keep the sockets waiting. */
#define FLUSH_PASSES 8

/* At the end a name lookup in libuv's thread pool may still be under way. */
#define DONE_WAIT_MS 1000

/* False: the share is used up, and there may be more. */
static bool flush_pass(struct loop *l, uint64_t until_ns)
{
    struct list now;
    bool        in_time = true;

    list_init(&now);
    list_take(&now, &l->dirty);
    while (!list_empty(&now) && in_time) {
        struct loop_dirty *d = LIST_ITEM(now.next, struct loop_dirty, node);
        list_remove(&d->node); /* first: the flush may mark it again, or free it */
        d->flush(d);
        in_time = clock_mono_ns() < until_ns;
    }
    list_put_back(&l->dirty, &now); /* before what was marked meanwhile */
    return in_time;
}

static void end_turn(struct loop *l)
{
    uint64_t now = clock_mono_ns(), idle = uv_metrics_idle_time(&l->uv);
    uint64_t all = now - l->turn_ns, waited = idle - l->idle_ns;
    uint64_t busy = all > waited ? all - waited : 0;

    l->turn_ns = now;
    l->idle_ns = idle;
    if (l->on_turn) l->on_turn(l->on_turn_ctx, busy);
}

static void flush_all(struct loop *l, uint64_t until_ns)
{
    bool in_time = true;

    for (int pass = 0; pass < FLUSH_PASSES && in_time && !list_empty(&l->dirty); pass++)
        in_time = flush_pass(l, until_ns);
    l->behind = !list_empty(&l->dirty);
}

static void before_poll(uv_prepare_t *h)
{
    struct loop *l = h->data;

    flush_all(l, clock_mono_ns() + LOOP_SHARE_NS);
    if (l->behind) uv_async_send(&l->async); /* do not sleep on it */
    end_turn(l);
}

static void run_posts(uv_async_t *h)
{
    struct loop *l = h->data;
    struct list  now;
    uint64_t     until_ns = clock_mono_ns() + LOOP_SHARE_NS;
    bool         in_time = true;

    list_init(&now);
    uv_mutex_lock(&l->post_lock);
    list_take(&now, &l->posts);
    uv_mutex_unlock(&l->post_lock);
    while (!list_empty(&now) && in_time) {
        struct loop_post *p = LIST_ITEM(now.next, struct loop_post, node);
        list_remove(&p->node);
        p->run(p);
        in_time = clock_mono_ns() < until_ns;
    }
    if (list_empty(&now)) return;
    uv_mutex_lock(&l->post_lock);
    list_put_back(&l->posts, &now);
    uv_async_send(&l->async);
    uv_mutex_unlock(&l->post_lock);
}

enum err loop_init(struct loop *l)
{
    *l = (struct loop){ 0 };
    list_init(&l->posts);
    list_init(&l->dirty);
    if (uv_mutex_init(&l->post_lock)) return ERR_NOMEM;
    if (uv_loop_init(&l->uv)) goto no_loop;
    if (uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME)) goto no_async;
    if (uv_async_init(&l->uv, &l->async, run_posts)) goto no_async;
    must(uv_prepare_init(&l->uv, &l->prepare) == 0 &&
         uv_prepare_start(&l->prepare, before_poll) == 0);
    l->async.data = l->prepare.data = l;
    l->turn_ns = clock_mono_ns();
    return OK;

no_async:
    must(uv_loop_close(&l->uv) == 0);
no_loop:
    uv_mutex_destroy(&l->post_lock);
    return ERR_IO;
}

void loop_run(struct loop *l)
{
    l->turn_ns = clock_mono_ns(); /* what happened before is no turn */
    l->idle_ns = uv_metrics_idle_time(&l->uv);
    uv_run(&l->uv, UV_RUN_DEFAULT); /* the async handle keeps it alive until loop_stop */
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

void loop_done(struct loop *l)
{
    uint64_t until = clock_mono_ms() + DONE_WAIT_MS;

    flush_all(l, UINT64_MAX); /* closing may have been left to the flush */
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->async, NULL);
    while (uv_run(&l->uv, UV_RUN_NOWAIT) && clock_mono_ms() < until) uv_sleep(1);
    /* else a handle is still open, and its memory is about to go */
    must(uv_loop_close(&l->uv) == 0);
    uv_mutex_destroy(&l->post_lock);
}

/* --- dirty ------------------------------------------------------------------ */

void loop_mark(struct loop *l, struct loop_dirty *d)
{
    if (!list_linked(&d->node)) list_add(&l->dirty, &d->node);
}

void loop_undirty(struct loop_dirty *d)
{
    list_remove(&d->node);
}

/* --- timers ----------------------------------------------------------------- */

static void timer_fired(uv_timer_t *h)
{
    struct loop_timer *t = h->data;
    t->fire(t);
}

static void timer_closed(uv_handle_t *h)
{
    struct loop_timer *t = h->data;
    if (t->on_closed) t->on_closed(t);
}

void loop_timer_init(struct loop *l, struct loop_timer *t, void (*fire)(struct loop_timer *))
{
    *t = (struct loop_timer){ .fire = fire };
    must(uv_timer_init(&l->uv, &t->uv) == 0);
    t->uv.data = t;
}

void loop_timer_set(struct loop_timer *t, uint64_t after_ms)
{
    /* libuv counts from the start of the turn; after a long turn that would fire early. */
    uv_update_time(t->uv.loop);
    must(uv_timer_start(&t->uv, timer_fired, after_ms, 0) == 0);
}

void loop_timer_stop(struct loop_timer *t)
{
    uv_timer_stop(&t->uv);
}

void loop_timer_close(struct loop_timer *t, void (*on_closed)(struct loop_timer *))
{
    t->on_closed = on_closed;
    uv_close((uv_handle_t *)&t->uv, timer_closed);
}

/* --- posts ------------------------------------------------------------------ */

void loop_post(struct loop *l, struct loop_post *p)
{
    uv_mutex_lock(&l->post_lock);
    list_add(&l->posts, &p->node);
    uv_async_send(&l->async); /* under the lock: once it is free, the loop may run p and end */
    uv_mutex_unlock(&l->post_lock);
}

void loop_unpost(struct loop *l, struct loop_post *p)
{
    uv_mutex_lock(&l->post_lock);
    list_remove(&p->node);
    uv_mutex_unlock(&l->post_lock);
}
