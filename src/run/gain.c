/* gain.c -- somebody has a role again: their votes count again, and may be enough.
 *
 * Nobody votes then, so no command comes to the thread; the votes stand in the rows of the
 * questions that wait. Threads in which they have one are woken as by the clock (CMD_EXPIRE), and
 * what follows from their facts is decided there (verdict_by_votes). Each node does this when it
 * learns of it; of what another node holds it is that node's to decide. A configuration may have
 * given a role back to anybody: then all questions with votes are looked at.
 */
#include "run/engine.h"

#define PAGE 256

struct gain {
    struct store_list list;
    struct hub       *hub;
    struct arena      arena;
    struct str        name;
};

static void ask(struct gain *g, struct str before);

static void gain_free(struct gain *g)
{
    arena_done(&g->arena);
    mem_free(g);
}

static bool has_vote(const struct store_row *row, struct str name)
{
    struct arena a;
    struct jv   *body = NULL;
    bool         found = false;
    if (str_find(row->approval.body, STR("\"votes\":[{")) < 0) return false;
    arena_init(&a, 0);
    if (json_parse_own(&a, row->approval.body, &body) == OK) {
        const struct jv *votes = jv_get(body, "votes");
        JV_EACH (v, votes) found |= !name.len || str_eq(jv_str_at(v, "by"), name);
    }
    arena_done(&a);
    return found;
}

static void wake(struct hub *h, const struct store_row *row)
{
    struct command *c = command_new(CMD_EXPIRE);
    if (!c) return; /* then the next look at it, by whomever, decides */
    c->log.owner = arena_dup(&c->arena, row->owner);
    c->log.thread = arena_dup(&c->arena, row->thread);
    c->id = arena_dup(&c->arena, row->approval.id);
    c->done = command_drop;
    hub_post(h, c);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct gain *g = LIST_ITEM(l, struct gain, list);
    for (size_t i = 0; !e && i < count; i++)
        if (!rows[i].damaged && has_vote(&rows[i], g->name)) wake(g->hub, &rows[i]);
    struct str before = e || !next.ptr || g->hub->draining ? STR_NONE : arena_dup(&g->arena, next);
    if (before.ptr) ask(g, before);
    else gain_free(g);
}

static void ask(struct gain *g, struct str before)
{
    g->list = (struct store_list){ .kind = STORE_APPROVALS,
                                   .everybody = true,
                                   .status = STR("pending"),
                                   .before = before,
                                   .limit = PAGE,
                                   .done = on_rows };
    store_list(g->hub->setup.store, &g->list);
}

void hub_gained(void *hub, struct str name)
{
    struct hub  *h = hub;
    struct gain *g = h->draining ? NULL : mem_alloc(sizeof *g);
    if (!g) return;
    arena_init(&g->arena, 0);
    g->hub = h;
    g->name = arena_dup(&g->arena, name);
    if (g->name.ptr) ask(g, STR_NONE);
    else gain_free(g);
}
