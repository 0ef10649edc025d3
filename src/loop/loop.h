/* loop.h -- libuv dressed for us: one loop thread, timers, wake-ups, and a dirty
 * list that is flushed once per turn.
 *
 * All state of the program belongs to the loop thread. Other threads (the store's
 * writer and reader) share nothing but queues and come back with loop_post.
 * The order of one turn is written at the top of loop.c.
 */
#ifndef PARLEY_LOOP_H
#define PARLEY_LOOP_H

#include <uv.h>

#include "base/err.h"
#include "base/list.h"

/* So long may a turn flush, and so long run posts, before the sockets are looked at again: work for
 * some dozens of connections, and nothing that a person could notice. */
#define LOOP_SHARE_NS 5000000ull

struct loop {
    uv_loop_t    uv;
    uv_prepare_t prepare; /* private: the flush before polling */
    uv_async_t   async;   /* private: wakes the loop for posts */
    uv_mutex_t   post_lock;
    struct list  posts;  /* private */
    struct list  dirty;  /* private */
    bool         behind; /* the last flush was not through with what was marked */
    /* private: clock and time spent waiting when the last turn ended */
    uint64_t     turn_ns, idle_ns;
    /* optional: how long the turn kept the loop busy */
    void (*on_turn)(void *ctx, uint64_t busy_ns);
    void *on_turn_ctx;
};

MUST_CHECK enum err loop_init(struct loop *l);
void                loop_run(struct loop *l); /* until loop_stop */
void                loop_stop(struct loop *l);
void                loop_done(struct loop *l); /* after all handles are closed */

/* Work to be done once at the end of this turn, however often it is asked for.
 * Embed one per object; loop_undirty before the object dies. */
struct loop_dirty {
    struct list node;
    void (*flush)(struct loop_dirty *d);
};
void loop_mark(struct loop *l, struct loop_dirty *d);
void loop_undirty(struct loop_dirty *d);

/* A one-shot timer without allocation; rearm at will. Embed; must be closed with loop_timer_close
 * before its owner is freed (the callback on_closed, if given, is called when the memory may
 * go). */
struct loop_timer {
    uv_timer_t uv;
    void (*fire)(struct loop_timer *t);
    void (*on_closed)(struct loop_timer *t);
};
void loop_timer_init(struct loop *l, struct loop_timer *t, void (*fire)(struct loop_timer *));
void loop_timer_set(struct loop_timer *t, uint64_t after_ms);
void loop_timer_stop(struct loop_timer *t);
void loop_timer_close(struct loop_timer *t, void (*on_closed)(struct loop_timer *));

/* From any thread: `run` is called on the loop thread, in posting order. The
 * node is the caller's memory until then. */
struct loop_post {
    struct list node;
    void (*run)(struct loop_post *p);
};
void loop_post(struct loop *l, struct loop_post *p);
/* loop thread only: it will not run; harmless when not posted */
void loop_unpost(struct loop *l, struct loop_post *p);

#endif
