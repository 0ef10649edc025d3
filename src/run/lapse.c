/* lapse.c -- what grants rest on may be another: those whose tool or rules changed end.
 *
 * A start, a reload and a list of tools that came may each have changed it. Whoever calls or looks
 * would find it, too (grant.h); but a configuration that was put back before anybody did must not
 * open again what another one had ended. So all open ones are looked at, and each that ended is
 * closed by a command to the conversation it was given in. One page of them at a time: the next is
 * read when the commands of the one before are through.
 */
#include "run/engine.h"
#include "run/grant.h"

#define PAGE 200

struct lapse {
    struct store_list list;
    struct hub       *hub;
    struct arena      arena; /* where the next page begins */
    struct str        before;
    size_t            busy;
    bool              again; /* something changed while they were read */
};

static void read_page(struct lapse *k);

static void page_ended(struct lapse *k)
{
    struct hub *h = k->hub;
    if (k->busy) return;
    if (k->before.ptr && !h->draining) {
        read_page(k);
        return;
    }
    bool again = k->again;
    h->lapse = NULL;
    arena_done(&k->arena);
    mem_free(k);
    if (again) hub_lapse(h);
}

static void on_closed(struct command *c, const struct receipt *r)
{
    struct lapse *k = c->ctx;
    (void)r; /* not closed: whoever looks finds it */
    command_free(c);
    k->busy--;
    page_ended(k);
}

static void close_one(struct lapse *k, const struct store_row *row)
{
    struct command *c = grant_closing(k->hub, row);
    if (!c) return;
    c->done = on_closed;
    c->ctx = k;
    k->busy++;
    hub_post(k->hub, c);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct lapse *k = LIST_ITEM(l, struct lapse, list);
    arena_reset(&k->arena);
    k->before = e || !next.len ? STR_NONE : arena_dup(&k->arena, next);
    k->busy = 1; /* this one: a command may be through before the next is posted */
    for (size_t i = 0; !e && i < count; i++) close_one(k, &rows[i]);
    k->busy--;
    page_ended(k);
}

static void read_page(struct lapse *k)
{
    k->list = (struct store_list){ .kind = STORE_STOCK,
                                   .everybody = true,
                                   .status = STR("grant"),
                                   .before = k->before,
                                   .limit = PAGE,
                                   .done = on_rows };
    store_list(k->hub->setup.store, &k->list);
}

void hub_lapse(struct hub *h)
{
    if (h->draining) return;
    if (h->lapse) {
        h->lapse->again = true;
        return;
    }
    if (!(h->lapse = mem_alloc(sizeof *h->lapse))) return;
    h->lapse->hub = h;
    arena_init(&h->lapse->arena, 0);
    read_page(h->lapse);
}
