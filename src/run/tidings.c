/* tidings.c -- see tidings.h. */
#include "run/tidings.h"

#define POLL_MS 1000

struct tidings {
    struct list       watchers;
    struct loop_timer poll;
    bool              shared;
};

void tidings_happened(struct tidings *t)
{
    if (!t) return;
    LIST_EACH (n, &t->watchers) {
        struct watcher *w = LIST_ITEM(n, struct watcher, node);
        w->wake(w);
    }
}

static void on_poll(struct loop_timer *timer)
{
    struct tidings *t = LIST_ITEM(timer, struct tidings, poll);
    tidings_happened(t);
    if (!list_empty(&t->watchers)) loop_timer_set(&t->poll, POLL_MS);
}

struct tidings *tidings_new(struct loop *l, struct store *s)
{
    struct tidings *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    list_init(&t->watchers);
    loop_timer_init(l, &t->poll, on_poll);
    t->shared = store_shared(s);
    return t;
}

static void closed(struct loop_timer *timer)
{
    mem_free(LIST_ITEM(timer, struct tidings, poll));
}

void tidings_free(struct tidings *t)
{
    if (t) loop_timer_close(&t->poll, closed);
}

void tidings_watch(struct tidings *t, struct watcher *w)
{
    list_add(&t->watchers, &w->node);
    if (t->shared) loop_timer_set(&t->poll, POLL_MS);
}

void tidings_unwatch(struct watcher *w)
{
    list_remove(&w->node);
}
