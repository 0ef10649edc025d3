/* forget.c -- erasing somebody: every conversation of theirs, and their name where it stays. */
#include "auth/sessions.h"
#include "base/sha256.h"
#include "door/app.h"
#include "run/people.h"
#include "run/record.h"
#include "run/sweep.h"

struct erasing {
    struct erase       x;
    struct ask         ask;
    struct people_wait wait;
    struct arena       arena;
    struct store_match rows[4];
};

static void on_erased(struct erase *x, enum err e)
{
    struct erasing *k = LIST_ITEM(x, struct erasing, x);
    struct buf      b;
    struct jsonw    w;

    if (k->ask.conn && e)
        conn_error(
            k->ask.conn, 503, "store_unavailable",
            "Not everything could be erased at the moment. What is gone stays gone; the same "
            "request again goes on.");
    else if (k->ask.conn) {
        json_reply_begin(&b, &w);
        jw_kint(&w, "conversations", x->logs);
        jw_kint(&w, "stubs", x->stubs);
        jw_kbool(&w, "done", !x->left);
        json_reply_end(k->ask.conn, 200, &b, &w);
    }
    arena_done(&k->arena);
    mem_free(k);
}

/* Their sign-ins (sessions.h), their tokens at MCP servers (tool/mcp/oauth.h), the links by which
 * others read what they wrote (share.c), and the sessions of their MCP clients. False: no
 * memory. */
static bool find_rows(struct erasing *k)
{
    char family[SESSION_FAMILY_LEN + 1], whose[SHA256_HEX + 1];

    sha256_name(k->x.name, whose);
    if (!session_family(k->x.name, family)) return false;
    k->rows[0] = (struct store_match){ .begins = arena_dup(&k->arena, str_c(family)) };
    k->rows[1] = (struct store_match){ .begins = STR("mcp/"),
                                       .ends = arena_printf(&k->arena, "/%s", whose) };
    k->rows[2] = (struct store_match){ .begins = STR("share:"),
                                       .holds = record_member(&k->arena, "owner", k->x.name) };
    k->rows[3] = (struct store_match){ 0 };
    if (!mcps_rows_of(&k->arena, k->x.name, &k->rows[3].begins)) return false;
    k->x.matches = k->rows;
    k->x.match_count = sizeof k->rows / sizeof *k->rows;
    return !k->arena.failed && k->rows[2].holds.ptr; /* without it all links would be theirs */
}

/* First their roles: votes of theirs that stay must not count again because nobody knows them. */
static void begin(struct erasing *k)
{
    struct hub    *h = k->ask.app->hub;
    struct people *p = hub_setup(h)->people;
    enum err       e = people_forget(p, k->x.name);

    if (e == ERR_BUSY) people_wait(p, k->x.name, &k->wait);
    else if (e) on_erased(&k->x, e);
    else erase_begin(&k->x, h);
}

static void on_roles_gone(struct people_wait *w, enum err e)
{
    struct erasing *k = LIST_ITEM(w, struct erasing, wait);

    if (e) on_erased(&k->x, e);
    else begin(k);
}

void people_erase(struct server *s, struct request *q)
{
    struct erasing *k;

    if (!q->param[0].len || q->param[0].len > PRINCIPAL_MAX) {
        conn_error(q->conn, 404, "unknown_person", "Nobody can be called that.");
        return;
    }
    k = mem_alloc(sizeof *k);
    if (k) {
        ask_init(&k->ask, s, q);
        arena_init(&k->arena, 0);
        k->wait.done = on_roles_gone;
        k->x = (struct erase){ .name = arena_dup(&k->arena, q->param[0]),
                               .by = arena_dup(&k->arena, owner_of(q)),
                               .done = on_erased };
    }
    if (!k || k->arena.failed || !find_rows(k)) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        if (k) arena_done(&k->arena);
        mem_free(k);
        return;
    }
    connect_forget(app_of(s), k->x.name);
    conn_hold(q->conn, &k->ask.hold);
    begin(k);
}
