/* turnstile.c -- see turnstile.h. */
#include "door/turnstile.h"

#include <string.h>

static void pump(struct turnstile *l);

static void on_turn(struct loop_post *p)
{
    struct turnstile *l = LIST_ITEM(p, struct turnstile, next);
    l->posted = false;
    pump(l);
}

void turnstile_init(struct turnstile *l, struct loop *loop, unsigned at_once)
{
    *l = (struct turnstile){
        .loop = loop, .at_once = at_once, .left = TURNSTILE_BYTES, .next.run = on_turn
    };
    list_init(&l->waiting);
    list_init(&l->next.node);
}

void turnstile_done(struct turnstile *l)
{
    if (!l->loop) return;
    l->at_once = 0;
    loop_unpost(l->loop, &l->next);
}

/* A turn that has just begun has all of its budget. */
static size_t left(struct turnstile *l)
{
    if (l->turn != l->loop->turn_ns) {
        l->turn = l->loop->turn_ns;
        l->left = TURNSTILE_BYTES;
    }
    return l->left;
}

void turnstile_wrote(struct turnstile *l, size_t bytes)
{
    if (!l->loop) return;
    l->left = bytes < left(l) ? l->left - bytes : 0;
}

/* The first that is not of whoever had the last turn, or else the first. */
static struct turnstile_place *choose(const struct turnstile *l)
{
    LIST_EACH (n, &l->waiting) {
        struct turnstile_place *p = LIST_ITEM(n, struct turnstile_place, node);
        if (!str_eq(str_cut(p->who, sizeof l->last_who), l->last)) return p;
    }
    return LIST_ITEM(l->waiting.next, struct turnstile_place, node);
}

static void begin(struct turnstile *l, struct turnstile_place *p)
{
    struct str who = str_cut(p->who, sizeof l->last_who);
    list_remove(&p->node);
    l->count--;
    l->begun++;
    if (who.len) memcpy(l->last_who, who.ptr, who.len);
    l->last = str_n(l->last_who, who.len);
    p->begun = true;
    l->busy++;
    p->go(p); /* it may leave before this returns */
}

static void pump(struct turnstile *l)
{
    if (l->pumping) return;
    l->pumping = true;
    while (!list_empty(&l->waiting) && l->busy < l->at_once && left(l)) begin(l, choose(l));
    l->pumping = false;
    if (list_empty(&l->waiting) || l->busy >= l->at_once || l->posted) return;
    l->posted = true;
    loop_post(l->loop, &l->next);
}

void turnstile_enter(struct turnstile *l, struct turnstile_place *p, struct str who)
{
    p->at = l;
    p->who = who;
    p->begun = false;
    list_add(&l->waiting, &p->node);
    l->count++;
    pump(l);
}

void turnstile_leave(struct turnstile_place *p)
{
    struct turnstile *l = p->at;
    if (!l) return;
    p->at = NULL;
    if (p->begun) l->busy--;
    else {
        list_remove(&p->node);
        l->count--;
    }
    pump(l);
}
