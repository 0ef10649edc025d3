/* grants.c -- /v1/grants: what was allowed beyond one call, and taking it back.
 *
 * Everybody sees the grants for their own calls; an administrator all of them (?all=true). Taken
 * back by whose calls it allows, by who gave it, and by an administrator. The revocation is a fact
 * of the conversation in which the grant was given: what is in the log before it ran, every later
 * call asks. */
#include "base/clock.h"
#include "door/app.h"
#include "run/grant.h"

#define LIST_MAX 200
#define SHOWN_MS (24 * 3600 * 1000LL) /* what ended longer ago is left out */

static void write_list(struct buf *b, const struct hub *h, const struct store_row *rows,
                       size_t count, struct str next)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "grants");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++)
        if (rows[i].stock.until_ms > clock_wall_ms() - SHOWN_MS) grant_write(&w, h, &rows[i].stock);
    jw_end_arr(&w);
    jw_key(&w, "next");
    jw_str_or_null(&w, next.len ? next : STR_NONE);
    jw_end_obj(&w);
}

/* What is shown as ended is to stay so. */
static void end_over(struct hub *h, const struct store_row *row)
{
    struct command *c = grant_closing(h, row);
    if (c) hub_submit(h, c);
}

static void on_list(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct buf      b;
    if (k->ask.conn && !listing_failed(k, e)) {
        buf_init(&b, 0);
        write_list(&b, k->ask.app->hub, rows, count, next);
        json_reply(k->ask.conn, 200, &b);
        for (size_t i = 0; i < count; i++) end_over(k->ask.app->hub, &rows[i]);
    }
    listing_free(k);
}

void rest_grants(struct server *s, struct request *q)
{
    bool all = (q->principal->roles & ROLE_ADMIN) && str_is(request_query(q, "all"), "true");
    struct listing *k = listing_new(s, q, STORE_STOCK);
    if (!k) return;
    k->list.status = STR("grant");
    k->list.before = arena_dup(&k->arena, request_query(q, "before"));
    k->list.limit = LIST_MAX;
    k->list.everybody = all;
    k->list.done = on_list;
    listing_send(k);
}

/* --- taking back ------------------------------------------------------------------------------ */

static void unknown(struct conn *c)
{
    conn_error(c, 404, "unknown_grant", "There is no such grant here.");
}

static void show(struct conn *c, const struct hub *h, const struct store_stock *row)
{
    struct store_stock now = *row;
    struct buf         b;
    struct jsonw       w;
    now.state = STR("revoked");
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    grant_write(&w, h, &now);
    json_reply(c, 200, &b);
}

static bool may_revoke(struct listing *k, const struct request *q, const struct store_stock *row)
{
    return str_eq(row->owner, owner_of(q)) || (q->principal->roles & ROLE_ADMIN) ||
           str_eq(grant_giver(&k->arena, row), owner_of(q));
}

static void on_shown(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    (void)next;
    if (k->ask.conn && !listing_failed(k, e)) {
        if (!count) unknown(k->ask.conn);
        else show(k->ask.conn, k->ask.app->hub, &rows[0].stock);
    }
    listing_free(k);
}

static struct listing *listing_one(struct server *s, struct request *q)
{
    struct listing *k = listing_new(s, q, STORE_STOCK);
    if (!k) return NULL;
    k->list.id = arena_printf(&k->arena, GRANT_KEY STR_FMT, STR_ARG(str_cut(q->param[0], 200)));
    k->list.everybody = true;
    k->list.limit = 1;
    return k;
}

/* As it stands after the fact: what others took meanwhile is in it. */
static void on_revoked(struct ask *a, struct command *c, const struct receipt *r)
{
    (void)c;
    if (r->status >= 400) {
        reply_error(a->conn, r);
        return;
    }
    struct listing *k = listing_one(a->app->server, conn_request(a->conn));
    if (!k) return;
    k->list.done = on_shown;
    listing_send(k);
}

static void send_revocation(struct listing *k, struct request *q, const struct store_row *row)
{
    struct command *c = command_for(q, CMD_REVOKE, "rest");
    if (!c) return;
    c->log.owner = arena_dup(&c->arena, row->owner);
    c->log.thread = arena_dup(&c->arena, row->thread);
    c->id = arena_dup(&c->arena, row->stock.holder);
    struct ask *a = c->arena.failed ? NULL : ask_new(k->ask.app->server, q, on_revoked);
    if (a) ask_submit(a, c);
    else command_free(c);
}

static void on_found(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct conn    *c = k->ask.conn;
    (void)next;
    if (c && !listing_failed(k, e)) {
        struct request *q = conn_request(c);
        if (!count || !may_revoke(k, q, &rows[0].stock)) {
            log_refused(owner_of(q), "rest", STR_NONE, q->param[0], "unknown_grant");
            unknown(c);
        } else if (str_is(rows[0].stock.state, "revoked")) show(c, k->ask.app->hub, &rows[0].stock);
        else send_revocation(k, q, &rows[0]);
    }
    listing_free(k);
}

void rest_grant_revoke(struct server *s, struct request *q)
{
    struct listing *k = listing_one(s, q);
    if (!k) return;
    k->list.done = on_found;
    listing_send(k);
}
