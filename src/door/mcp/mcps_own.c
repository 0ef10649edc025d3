/* mcps_own.c -- two tools of the door itself: list_approvals and review_approval.
 *
 * They show, they do not decide. A tool call is written by a model that has just read the very
 * arguments somebody may have planted, and hosts run tools with "always allow"; so there is no tool
 * that says yes. review_approval brings the card to the person at the client's screen, in the same
 * ways as a call that must be asked.
 */
#include "base/id.h"
#include "door/mcp/mcps_int.h"

#define LIST_DEFAULT 20
#define LIST_MAX     100

/* of a literal, in a table */
#define TEXT(lit)            \
    {                        \
        lit, sizeof(lit) - 1 \
    }
/* clang-format off */
static const struct tool OWN[MCPS_OWN] = {
    { .name = { "list_approvals", 14 }, .wire_name = { "list_approvals", 14 },
      .description = TEXT("What waits for a person's approval here, or was decided. It shows; it decides nothing."),
      .schema_text = TEXT("{\"type\":\"object\",\"properties\":{"
          "\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"approved\",\"running\",\"done\",\"failed\",\"denied\",\"expired\",\"cancelled\",\"unknown\"]},"
          "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100}},\"additionalProperties\":false}"),
      .reads = true, .idempotent = true },
    { .name = { "review_approval", 15 }, .wire_name = { "review_approval", 15 },
      .description = TEXT("Brings an open approval to the person: they see it and decide. It decides nothing by itself."),
      .schema_text = TEXT("{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}},"
          "\"required\":[\"id\"],\"additionalProperties\":false}"),
      .idempotent = true },
};
/* clang-format on */

const struct tool *mcps_own_tool(const struct mcps *m, size_t i)
{
    return registry_find_wire(m->app->registry, OWN[i].wire_name) ? NULL : &OWN[i];
}

/* Only what this door did for them, when they may see nothing else. */
bool mcps_is_agent(const struct principal *p)
{
    return !(p->roles & ROLE_ANY);
}

bool mcps_sees_all(const struct mcps *m, const struct principal *p)
{
    return m->app->approvers_only && (p->roles & ROLE_APPROVER);
}

/* --- list_approvals --------------------------------------------------------------------------- */

struct own_list {
    struct listing listing; /* first */
    struct mcprpc  rpc;
    bool           agent;
};

static void write_rows(struct buf *b, const struct own_list *k, const struct store_row *rows,
                       size_t count)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "approvals");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].damaged || (k->agent && !str_starts(rows[i].thread, STR("mcp_")))) continue;
        jw_raw(&w, rows[i].approval.body);
    }
    jw_end_arr(&w);
    jw_end_obj(&w);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct own_list *k = (struct own_list *)(void *)LIST_ITEM(l, struct listing, list);
    struct conn     *c = k->listing.ask.conn;
    struct buf       b, text;
    struct jsonw     w;
    (void)next;
    if (c && !listing_failed(&k->listing, e)) {
        buf_init(&text, 0);
        write_rows(&text, k, rows, count);
        mcps_open(&b, &w, &k->rpc);
        jw_key(&w, "content");
        jw_arr(&w);
        jw_obj(&w);
        jw_kstrz(&w, "type", "text");
        jw_kbuf(&w, "text", &text);
        jw_end_obj(&w);
        jw_end_arr(&w);
        jw_kraw(&w, "structuredContent", buf_view(&text));
        mcps_close(c, &b, &w);
        buf_done(&text);
    }
    listing_free(&k->listing);
}

static void list_approvals(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                           const struct jv *args)
{
    struct own_list *k = mem_alloc(sizeof *k);
    int64_t          limit = jv_int_at(args, "limit", LIST_DEFAULT);
    if (!k) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    struct listing *l = &k->listing;
    ask_init(&l->ask, m->app->server, q);
    arena_init(&l->arena, 0);
    k->rpc = *rpc;
    k->agent = mcps_is_agent(q->principal);
    l->list = (struct store_list){ .kind = STORE_APPROVALS,
                                   .owner = arena_dup(&l->arena, owner_of(q)),
                                   .status = arena_dup(&l->arena, jv_str_at(args, "status")),
                                   .everybody = mcps_sees_all(m, q->principal),
                                   .limit = limit < 1          ? 1
                                            : limit > LIST_MAX ? LIST_MAX
                                                               : (unsigned)limit,
                                   .done = on_rows };
    listing_send(l);
}

/* --- review_approval -------------------------------------------------------------------------- */

static void on_review(struct command *c, const struct receipt *a)
{
    struct mcps_wait *w = c->ctx;
    bool there = a->status < 400 && a->thread && mcps_call_of(w, thread_fold(a->thread));
    w->under_way--;
    if (there && w->agent && !fold_program_call(thread_fold(a->thread))) there = false;
    if (w->left) mcps_wait_free(w);
    else if (a->status >= 500) mcps_wait_unavailable(w, a);
    else if (!there) mcps_wait_refuse(w, STR("There is no such request here."));
    else {
        /* it may be somebody else's */
        w->thread = arena_dup(&w->arena, thread_id(a->thread));
        w->owner = arena_dup(&w->arena, c->log.owner);
        if (w->state.ptr) {
            w->put_approval = true;
            mcps_take_inputs(w, thread_fold(a->thread));
        }
        mcps_attach(w, a->thread);
    }
    command_free(c);
}

static void review_approval(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                            const struct mcps_session *s, const struct jv *args)
{
    struct mcps_wait *w = mcps_wait_new(m, q, rpc, s);
    const struct jv  *inputs = jv_get(rpc->params, "inputResponses");
    struct jv        *copy = NULL;
    struct command   *c = w ? command_for(q, CMD_FOLLOW, "mcp") : NULL;
    if (!c) {
        if (w) mcps_wait_free(w);
        return;
    }
    w->review = arena_dup(&w->arena, jv_str_at(args, "id"));
    w->agent = mcps_is_agent(q->principal);
    if (rpc->modern) w->state = arena_dup(&w->arena, jv_str_at(rpc->params, "requestState"));
    if (inputs && json_parse(&w->arena, arena_dup(&w->arena, inputs->raw), &copy, NULL) == OK)
        w->inputs = copy;
    conn_hold(q->conn, &w->hold);
    c->id = arena_dup(&c->arena, w->review);
    c->anyones = mcps_sees_all(m, q->principal);
    c->ctx = w;
    c->done = on_review;
    w->under_way++;
    hub_submit(m->app->hub, c);
}

/* --- both ------------------------------------------------------------------------------------- */

bool mcps_own_call(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                   const struct mcps_session *s)
{
    struct str       name = jv_str_at(rpc->params, "name");
    const struct jv *args = jv_get(rpc->params, "arguments");
    size_t           i = 0;
    while (i < MCPS_OWN && !str_eq(OWN[i].wire_name, name)) i++;
    if (i == MCPS_OWN || !mcps_own_tool(m, i)) return false;
    if (i == 0) list_approvals(m, q, rpc, args);
    else if (!jv_str_at(args, "id").len || !id_valid(jv_str_at(args, "id"), ID_MAX))
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "\"id\" must name an approval.");
    else review_approval(m, q, rpc, s, args);
    return true;
}
