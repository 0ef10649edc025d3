/* ops.c -- for operators: tools with their counts, liveness, readiness, metrics. */
#include "base/clock.h"
#include "door/app.h"
#include "model/provider.h"
#include "node/link.h"
#include "run/metrics.h"
#include "run/otel.h"

/* null: everybody's */
static void write_roles(struct jsonw *w, const struct tool_terms *t)
{
    if (!t->role_count) {
        jw_null(w);
        return;
    }
    jw_arr(w);
    for (size_t i = 0; i < t->role_count; i++) jw_str(w, t->roles[i]);
    jw_end_arr(w);
}

struct
    counts { /* of all nodes, as the store has them; rows NULL: this process's are all there are */
    const struct store_row *rows;
    size_t                  count;
};

static void write_counts(struct jsonw *w, const struct tool *t, struct counts all)
{
    uint64_t runs = all.rows ? 0 : t->runs, failed = all.rows ? 0 : t->failed;

    for (size_t i = 0; all.rows && i < all.count; i++)
        if (str_eq(all.rows[i].tool, t->name)) runs = all.rows[i].runs, failed = all.rows[i].failed;
    jw_kint(w, "runs", (int64_t)runs);
    jw_kint(w, "failed", (int64_t)failed);
}

static void write_tool(struct jsonw *w, const struct tool *t, struct counts all)
{
    jw_obj(w);
    jw_kstr(w, "name", t->name);
    jw_kstr(w, "description", t->description);
    jw_kraw(w, "input_schema", t->schema_text);
    jw_kstrz(w, "where", t->where == TOOL_CLIENT ? "client" : "server");
    jw_kraw(w, "confirm", t->confirm_text.len ? t->confirm_text : STR("\"never\""));
    jw_key(w, "risk");
    jw_str_or_null(w, t->risk.len ? t->risk : STR_NONE);
    jw_kbool(w, "idempotent", t->idempotent);
    jw_kstrz(w, "shows", t->makes_artifact ? "artifact" : NULL);
    jw_kbool(w, "hidden", t->hidden);
    jw_key(w, "example");
    jw_str_or_null(w, t->example);
    jw_kstr(w, "source", t->source);
    if (t->changed_ms > 0) {
        char since[CLOCK_RFC3339_LEN + 1];
        clock_rfc3339(t->changed_ms, since);
        jw_kstrz(w, "changed_since", since);
    }
    jw_key(w, "roles");
    write_roles(w, &t->terms);
    write_counts(w, t, all);
    jw_end_obj(w);
}

/* Another node of our database; who it is shows what it says first. */
void ops_node(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    if (a->links) links_accept(a->links, q);
    else web_nothing(s, q);
}

/* What is told can be called as it is told: a tool that has not been compared yet with what its
 * server said at first comes in a moment (run/seen.c). */
static bool is_told(const struct tool *t)
{
    return !t->reply && t->changed_ms != TOOL_UNCHECKED;
}

static void tell_tools(struct request *q, struct counts counts)
{
    const struct registry *r = app_of(conn_server(q->conn))->registry;
    struct caller          who = caller_of_request(q);
    bool                   all = q->principal->roles & ROLE_ADMIN;
    struct buf             b;
    struct jsonw           w;
    json_reply_begin(&b, &w);
    jw_key(&w, "tools");
    jw_arr(&w);
    for (size_t i = 0; i < r->count; i++)
        if (is_told(r->tools[i]) && (all || caller_may_use(&who, r->tools[i])))
            write_tool(&w, r->tools[i], counts);
    jw_end_arr(&w);
    json_reply_end(q->conn, 200, &b, &w);
}

static void on_tool_counts(struct store_list *l, enum err e, const struct store_row *rows,
                           size_t count, struct str next)
{
    static const struct store_row NONE;
    struct listing               *k = LIST_ITEM(l, struct listing, list);
    (void)next;
    if (k->ask.conn && !listing_failed(k, e))
        tell_tools(conn_request(k->ask.conn), (struct counts){ count ? rows : &NONE, count });
    listing_free(k);
}

/* Where others count too, the store has the sums. */
void ops_tools(struct server *s, struct request *q)
{
    struct listing *k;
    if (!hub_shared(app_of(s)->hub)) tell_tools(q, (struct counts){ 0 });
    else if ((k = listing_new(s, q, STORE_TOOLS))) {
        k->list.done = on_tool_counts;
        listing_send(k);
    }
}

static void on_accepted(void *ctx, bool saved)
{
    struct ask *k = ctx;
    if (k->conn && saved) conn_reply(k->conn, 200, "application/json", STR("{\"accepted\":true}"));
    else if (k->conn)
        conn_error(k->conn, 503, "store_unavailable",
                   "It could not be saved, or the tool changed again; try again in a moment.");
    mem_free(k);
}

/* What an MCP server says of a tool now is what is wanted. */
void ops_accept(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    struct ask *k = NULL;
    if (!(k = ask_new(s, q, NULL))) return;
    if (hub_accept_tool(a->hub, q->param[0], on_accepted, k)) conn_hold(q->conn, &k->hold);
    else {
        mem_free(k);
        conn_error(q->conn, 404, "unknown_tool", "No MCP server has a tool of this name.");
    }
}

void ops_health(struct server *s, struct request *q)
{
    (void)s;
    conn_reply(q->conn, 200, "application/json", STR("{\"status\":\"ok\"}"));
}

void ops_ready(struct server *s, struct request *q)
{
    struct app      *a = app_of(s);
    struct hub_store store = hub_store(a->hub);
    enum err         e = store.health;
    bool             ready = e == OK && !hub_draining(a->hub);
    struct buf       b;
    struct jsonw     w;
    json_reply_begin(&b, &w);
    jw_kbool(&w, "ready", ready);
    jw_kstr(&w, "store", store.promise);
    jw_key(&w, "problem");
    jw_strz(&w, e ? err_name(e) : hub_draining(a->hub) ? "restarting" : NULL);
    jw_key(&w, "message");
    jw_str_or_null(&w, store.problem);
    jw_kint(&w, "runs", hub_runs(a->hub));
    json_reply_end(q->conn, ready ? 200 : 503, &b, &w);
}

static void put_metric(struct buf *out, const char *name, const char *type, const char *help,
                       uint64_t v)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
               (unsigned long long)v);
}

/* Only where there are others. */
static void node_metrics(const struct app *a, struct buf *out)
{
    struct hub_counts c = hub_counts(a->hub);
    if (!a->links) return;
    put_metric(out, "parley_threads_held", "gauge", "Conversations this node holds", c.held);
    put_metric(out, "parley_threads_mirrored", "gauge",
               "Conversations this node shows and another holds", c.mirrored);
    put_metric(out, "parley_claims_total", "counter", "Conversations asked for", c.claims);
    put_metric(out, "parley_forwards_total", "counter", "Commands sent on to the node that holds",
               c.forwards);
    put_metric(out, "parley_lease_lapses_total", "counter", "Leases that were interrupted",
               c.lapses);
    put_metric(out, "parley_links_dialled", "gauge", "Links to other nodes",
               a->links->dialled_count);
    put_metric(out, "parley_links_accepted", "gauge", "Links of other nodes to this one",
               a->links->accepted_count);
}

static void turnstile_metrics(const struct app *a, struct buf *out)
{
    put_metric(out, "parley_reads_total", "counter", "Whole conversations read", a->reads.begun);
    put_metric(out, "parley_reads_waiting", "gauge", "Readers of these that wait for their turn",
               a->reads.count);
    put_metric(out, "parley_searches_total", "counter", "Searches begun", a->searches.begun);
    put_metric(out, "parley_searches_waiting", "gauge", "Searches that wait for their turn",
               a->searches.count);
}

/* Of all nodes together, by each of them. */
static void write_waiting(struct buf *out, const struct store_row *r)
{
    int64_t age_ms = r->created_ms ? clock_wall_ms() - r->created_ms : 0;
    put_metric(out, "parley_approvals_pending", "gauge", "Questions that wait for a person",
               (uint64_t)r->amount);
    put_metric(out, "parley_approvals_oldest_seconds", "gauge", "How long the oldest waits",
               age_ms > 0 ? (uint64_t)age_ms / 1000 : 0);
}

/* A store that cannot be read is no reason to tell nothing: that is when they are looked at. */
static void on_waiting(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct app     *a = k->ask.app;
    struct buf      b;
    (void)next;
    if (k->ask.conn) {
        buf_init(&b, 0);
        metrics_write(&b, server_connections(a->server), server_streams(a->server));
        put_metric(&b, "parley_store_log_bytes", "gauge", "The store's write-ahead log",
                   hub_store(a->hub).log_bytes);
        if (!e && count) write_waiting(&b, &rows[0]);
        turnstile_metrics(a, &b);
        node_metrics(a, &b);
        model_metrics(&b);
        otel_metrics(hub_setup(a->hub)->otel, &b);
        conn_reply(k->ask.conn, 200, "text/plain; version=0.0.4", buf_view(&b));
        buf_done(&b);
    }
    listing_free(k);
}

void ops_metrics(struct server *s, struct request *q)
{
    struct listing *k = listing_new(s, q, STORE_WAITING);
    if (!k) return;
    k->list.everybody = true;
    k->list.done = on_waiting;
    listing_send(k);
}
