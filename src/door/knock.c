/* knock.c -- see knock.h. */
#include "door/knock.h"

#define SILENT_MS 5000          /* a socket that nobody knows may stay silent so long */
#define EARLY_MAX (1024 * 1024) /* bytes of what it says before it is let in */

struct knock {
    struct loop_timer         timer;
    struct people_wait        wait;
    struct app               *app;
    const struct knock_calls *calls;
    void                     *ctx;
    struct principal          who;
    struct arena              arena;
    bool                      waits;
    struct buf                early; /* each text with its length, a size_t, before it */
    size_t                    heard; /* bytes of it */
};

static void on_timer(struct loop_timer *t)
{
    struct knock *k = LIST_ITEM(t, struct knock, timer);
    k->calls->silent(k->ctx);
}

struct knock *knock_new(struct app *a, const struct knock_calls *calls, void *ctx)
{
    struct knock *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    k->app = a;
    k->calls = calls;
    k->ctx = ctx;
    arena_init(&k->arena, 0);
    buf_init(&k->early, EARLY_MAX);
    loop_timer_init(hub_setup(a->hub)->loop, &k->timer, on_timer);
    loop_timer_set(&k->timer, SILENT_MS);
    return k;
}

static void on_closed(struct loop_timer *t)
{
    mem_free(LIST_ITEM(t, struct knock, timer));
}

void knock_end(struct knock *k)
{
    if (!k) return;
    list_remove(&k->wait.node);
    buf_done(&k->early);
    arena_done(&k->arena);
    loop_timer_close(&k->timer, on_closed);
}

/* Another token of theirs may have been written: then it is this one's turn. */
static void on_noted(struct people_wait *w, enum err e)
{
    struct knock *k = LIST_ITEM(w, struct knock, wait);
    if (!e && (e = knock_note(k, &k->who)) == ERR_BUSY) return;
    k->waits = false;
    k->calls->noted(k->ctx, e);
}

enum err knock_note(struct knock *k, struct principal *p)
{
    enum err e = identify_roles(k->app, p);
    loop_timer_stop(&k->timer);
    if (p != &k->who) k->who = principal_copy(&k->arena, p);
    if (k->arena.failed) return ERR_NOMEM;
    if (e != ERR_BUSY) return e;
    k->waits = true;
    k->wait.done = on_noted;
    people_wait(hub_setup(k->app->hub)->people, k->who.name, &k->wait);
    return e;
}

bool knock_waits(const struct knock *k)
{
    return k && k->waits;
}

bool knock_keep(struct knock *k, struct str text)
{
    buf_add(&k->early, &text.len, sizeof text.len);
    buf_str(&k->early, text);
    return !k->early.err;
}

bool knock_next(struct knock *k, struct str *text)
{
    size_t len;
    if (k->heard == k->early.len) return false;
    memcpy(&len, k->early.ptr + k->heard, sizeof len);
    k->heard += sizeof len;
    *text = str_n(k->early.ptr + k->heard, len);
    k->heard += len;
    return true;
}

const struct principal *knock_who(const struct knock *k)
{
    return &k->who;
}
