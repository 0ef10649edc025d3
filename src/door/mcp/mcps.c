/* mcps.c -- the address /mcp: who may come in, which era, which method. See mcps.h. */
#include "door/mcp/mcps_int.h"

#include "base/clock.h"
#include "base/log.h"

#define SERVER_INFO  "{\"name\":\"parley\",\"version\":\"" PARLEY_VERSION "\"}"
#define DISCOVER_TTL 3600000

static const char INSTRUCTIONS[] =
    "Some tools need a person's approval. Such a call may answer that it is waiting, with a link: "
    "show the link to the person, and call the same tool with exactly the same arguments to get "
    "the result. It never runs twice for one approval. If a result says that the outcome is "
    "unknown, do not call it again; a person has to settle it.";

static const char *const MODERN[] = { "server/discover",      "tools/list",
                                      "tools/call",           "tasks/get",
                                      "tasks/update",         "tasks/cancel",
                                      "subscriptions/listen", NULL };

/* --- life ------------------------------------------------------------------------------------ */

#define TICK_MS 100 /* how exactly the end of a wait is kept */

static void on_tick(struct loop_timer *t)
{
    struct mcps *m = LIST_ITEM(t, struct mcps, tick);
    bool         timed = false;
    LIST_EACH (n, &m->waits) {
        struct mcps_wait *w = LIST_ITEM(n, struct mcps_wait, node);
        if (w->last) continue;
        timed = true;
        mcps_wake(w);
    }
    if (timed && !list_empty(&m->waits)) loop_timer_set(&m->tick, TICK_MS);
}

struct mcps *mcps_new(struct app *a, struct loop *l, const struct mcps_setup *s)
{
    struct mcps *m = mem_alloc(sizeof *m);
    if (!m) return NULL;
    m->app = a;
    m->loop = l;
    m->setup = *s;
    list_init(&m->waits);
    list_init(&m->streams);
    loop_timer_init(l, &m->tick, on_tick);
    loop_timer_init(l, &m->changed, mcps_on_changed);
    m->watch = (struct registry_watch){ .changed = mcps_tools_changed, .ctx = m };
    registry_watch(a->registry, &m->watch);
    return m;
}

static void closed_one(struct mcps *m)
{
    if (--m->closing) return;
    m->done(m->done_ctx);
    mem_free(m);
}
static void tick_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct mcps, tick));
}
static void changed_closed(struct loop_timer *t)
{
    closed_one(LIST_ITEM(t, struct mcps, changed));
}

void mcps_free(struct mcps *m, void (*done)(void *ctx), void *ctx)
{
    if (!m) {
        done(ctx);
        return;
    }
    list_remove(&m->watch.node);
    m->done = done;
    m->done_ctx = ctx;
    m->closing = 2;
    loop_timer_close(&m->tick, tick_closed);
    loop_timer_close(&m->changed, changed_closed);
}

void mcps_drain(struct mcps *m)
{
    if (!m) return;
    m->draining = true;
    mcps_wake_streams(m);
    LIST_EACH (n, &m->waits) mcps_wake(LIST_ITEM(n, struct mcps_wait, node));
}

static struct mcps *mcps_of(const struct conn *c)
{
    return app_of(conn_server(c))->mcp;
}

/* --- answers ---------------------------------------------------------------------------------- */

void mcps_reply(struct conn *c, int status, struct buf *body)
{
    if (body->err)
        conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
    else conn_reply(c, status, "application/json", buf_view(body));
    buf_done(body);
}

void mcps_fault(struct conn *c, struct str id, const struct mcprpc_fault *why)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    mcprpc_error(&w, id, why);
    mcps_reply(c, why->status, &b);
}

void mcps_error(struct conn *c, struct str id, enum rpc_code code, const char *message)
{
    mcps_fault(c, id, &(struct mcprpc_fault){ 200, code, message, STR_NONE });
}

/* 429 and 503: the code says which, and the header when to come back. */
void mcps_unavailable(struct conn *c, struct str id, const struct receipt *a)
{
    char data[96];
    snprintf(data, sizeof data, "{\"code\":\"%s\"}", a->code ? a->code : "unavailable");
    retry_after(c, a->retry_s ? a->retry_s : a->status == 503 ? 1 : 0);
    mcps_fault(c, id, &(struct mcprpc_fault){ a->status, RPC_INTERNAL, a->message, str_c(data) });
}

void mcps_open(struct buf *b, struct jsonw *w, const struct mcprpc *m)
{
    buf_init(b, 0);
    jsonw_init(w, b);
    mcprpc_result(w, m->id);
    jw_obj(w);
    if (!m->modern) return;
    jw_kstrz(w, "resultType", "complete");
    mcp_meta(w);
}

void mcps_close(struct conn *c, struct buf *b, struct jsonw *w)
{
    jw_end_obj(w);
    jw_end_obj(w);
    mcps_reply(c, 200, b);
}

/* A type of the Accept header; without one everything is taken. */
bool mcps_wants(const struct request *q, const char *type)
{
    struct str rest = request_header(q, "accept"), one, name;
    if (!rest.ptr) return true;
    while (str_split(&rest, ',', &one)) {
        if (!str_split(&one, ';', &name)) continue;
        name = str_trim(name);
        if (str_eq_nocase(name, str_c(type)) || str_is(name, "*/*")) return true;
    }
    return false;
}

struct mcp_shape mcps_shape(const struct mcps *m, bool modern, struct str thread)
{
    return (struct mcp_shape){ modern, m->setup.text_max, m->setup.link, thread };
}

bool mcps_may_decide(const struct mcps *m, const struct principal *p)
{
    return (p->roles & (ROLE_USER | ROLE_APPROVER)) && may_decide(m->app, p);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void write_capabilities(struct jsonw *w, bool modern)
{
    jw_kraw(w, "capabilities",
            modern ? STR("{\"tools\":{\"listChanged\":true},\"extensions\":{\"" MCP_META(
                         "tasks") "\":{}}}")
                   : STR("{\"tools\":{\"listChanged\":true}}"));
    jw_kstrz(w, "instructions", INSTRUCTIONS);
}

static void discover(struct request *q, const struct mcprpc *rpc)
{
    struct buf   b;
    struct jsonw w;
    mcps_open(&b, &w, rpc);
    jw_kraw(&w, "supportedVersions",
            STR("[\"" MCP_MODERN "\",\"" MCP_NEWEST_LEGACY "\",\"" MCP_OLDEST_LEGACY "\"]"));
    write_capabilities(&w, true);
    jw_kint(&w, "ttlMs", DISCOVER_TTL);
    jw_kstrz(&w, "cacheScope", "private");
    mcps_close(q->conn, &b, &w);
}

static void opened(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                   const struct mcps_session *s)
{
    struct buf   b;
    struct jsonw w;
    (void)m;
    conn_header(q->conn, "Mcp-Session-Id", s->id);
    mcps_open(&b, &w, rpc);
    jw_kstr(&w, "protocolVersion", s->version);
    write_capabilities(&w, false);
    jw_kraw(&w, "serverInfo", STR(SERVER_INFO));
    mcps_close(q->conn, &b, &w);
}

static void initialize(struct mcps *m, struct request *q, const struct mcprpc *rpc)
{
    struct str asked = jv_str_at(rpc->params, "protocolVersion");
    if (!asked.ptr) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "\"protocolVersion\" is missing.");
        return;
    }
    mcps_session_open(m, q, rpc, str_is(asked, MCP_OLDEST_LEGACY) ? asked : STR(MCP_NEWEST_LEGACY),
                      opened);
}

/* --- the address ------------------------------------------------------------------------------ */

/* False: answered. */
static bool is_served(struct mcps *m, struct request *q)
{
    if (m && m->setup.serve) return true;
    web_nothing(app_of(conn_server(q->conn))->server, q);
    return false;
}

static const struct hub_page *page_of(struct mcps *m, struct request *q)
{
    struct str             name = request_query(q, "page");
    const struct hub_page *page = page_for(q, name);
    if (!page) conn_error(q->conn, 404, "unknown_page", "There is no page of this name.");
    return page;
}

static bool is_json(const struct request *q)
{
    struct str type = request_header(q, "content-type"), name = STR_NONE;
    return type.ptr && str_split(&type, ';', &name) &&
           str_eq_nocase(str_trim(name), STR("application/json"));
}

/* False: answered. */
static bool is_acceptable(struct request *q)
{
    if (!is_json(q)) {
        conn_error(q->conn, 415, "bad_type", "Content-Type must be application/json.");
        return false;
    }
    if (mcps_wants(q, "application/json") || mcps_wants(q, "text/event-stream")) return true;
    conn_error(q->conn, 406, "not_acceptable",
               "Accept must have application/json or text/event-stream.");
    return false;
}

static void modern(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                   const struct hub_page *page)
{
    if (rpc->kind != RPC_REQUEST) conn_reply(q->conn, 202, NULL, STR(""));
    else if (str_is(rpc->method, "server/discover")) discover(q, rpc);
    else if (str_is(rpc->method, "tools/list")) mcps_list_tools(m, q, rpc, page);
    else if (str_is(rpc->method, "tools/call")) mcps_call(m, q, rpc, NULL, page);
    else if (str_is(rpc->method, "subscriptions/listen")) mcps_listen(m, q, rpc);
    else mcps_task(m, q, rpc);
}

static void legacy_request(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                           const struct mcps_session *s)
{
    const struct hub_page *page = page_of(m, q);
    struct buf             b;
    struct jsonw           w;
    if (!page) return;
    if (str_is(rpc->method, "ping")) {
        mcps_open(&b, &w, rpc);
        mcps_close(q->conn, &b, &w);
    } else if (str_is(rpc->method, "tools/list")) mcps_list_tools(m, q, rpc, page);
    else if (str_is(rpc->method, "tools/call")) mcps_call(m, q, rpc, s, page);
    else mcps_error(q->conn, rpc->id, RPC_NO_METHOD, "Method not found");
}

static void legacy(struct mcps *m, struct request *q, const struct mcprpc *rpc)
{
    if (rpc->kind == RPC_REQUEST && str_is(rpc->method, "initialize")) initialize(m, q, rpc);
    else
        mcps_session_enter(m, q, rpc,
                           rpc->kind == RPC_REQUEST  ? legacy_request
                           : rpc->kind == RPC_NOTICE ? mcps_take_notice
                                                     : mcps_take_answer);
}

void mcp_post(struct server *s, struct request *q)
{
    struct mcps           *m = app_of(s)->mcp;
    const struct hub_page *page;
    struct mcprpc          rpc;
    struct mcprpc_fault    why;
    struct mcprpc_heads    heads = { request_header(q, "mcp-protocol-version"),
                                     request_header(q, "mcp-method"), request_header(q, "mcp-name") };
    if (!is_served(m, q) || !is_acceptable(q) || !(page = page_of(m, q))) return;
    if (!mcprpc_read(q->arena, q->body, &heads, MODERN, &rpc, &why))
        mcps_fault(q->conn, rpc.id, &why);
    else if (rpc.modern) modern(m, q, &rpc, page);
    else legacy(m, q, &rpc);
}

static void take_up(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                    const struct mcps_session *s)
{
    struct str last = request_header(q, "last-event-id");
    (void)rpc;
    if (last.len) mcps_resume(m, q, s, last);
    else mcps_notices(m, q);
}

void mcp_get(struct server *s, struct request *q)
{
    struct mcps *m = app_of(s)->mcp;
    if (!is_served(m, q)) return;
    if (!request_header(q, "accept").ptr || !mcps_wants(q, "text/event-stream")) {
        conn_error(q->conn, 406, "not_acceptable", "Accept must have text/event-stream.");
        return;
    }
    mcps_session_enter(m, q, &(struct mcprpc){ 0 }, take_up);
}

void mcp_delete(struct server *s, struct request *q)
{
    struct mcps *m = app_of(s)->mcp;
    if (is_served(m, q)) mcps_session_enter(m, q, &(struct mcprpc){ 0 }, mcps_session_end);
}

/* What came could not be read, or asks for what is not here: it is no request to answer. */
const char *mcp_error_body(struct request *q, struct buf *out, int status, const char *code,
                           const char *message)
{
    struct str    data = arena_printf(q->arena, "{\"code\":\"%s\"}", code);
    enum rpc_code rpc = status < 500 ? RPC_INVALID : RPC_INTERNAL;
    struct jsonw  w;
    jsonw_init(&w, out);
    mcprpc_error(&w, STR_NONE, &(struct mcprpc_fault){ status, rpc, message, data });
    return "application/json";
}

void mcp_refuse(struct request *q, int status, const char *code, const char *message)
{
    struct str data = arena_printf(q->arena, "{\"code\":\"%s\"}", code);
    mcps_fault(q->conn, STR_NONE, &(struct mcprpc_fault){ status, RPC_INTERNAL, message, data });
}

void mcp_challenge(struct request *q, const char *error)
{
    const struct mcps *m = mcps_of(q->conn);
    struct buf         b;
    buf_init(&b, 4096);
    buf_lit(&b, "Bearer");
    if (m && m->setup.issuer.len)
        buf_printf(&b,
                   " resource_metadata=\"" STR_FMT "/.well-known/oauth-protected-resource/mcp\"",
                   STR_ARG(m->setup.link));
    if (error) buf_printf(&b, "%s error=\"%s\"", b.len > 6 ? "," : "", error);
    conn_header(q->conn, "WWW-Authenticate", b.err ? STR("Bearer") : buf_view(&b));
    buf_done(&b);
}

/* Where a client finds out who gives it tokens for us (RFC 9728). */
void mcp_metadata(struct server *s, struct request *q)
{
    struct mcps *m = app_of(s)->mcp;
    struct buf   b;
    struct jsonw w;
    if (!is_served(m, q)) return;
    if (!m->setup.issuer.len) {
        web_nothing(s, q);
        return;
    }
    json_reply_begin(&b, &w);
    struct str resource = arena_printf(q->arena, STR_FMT "/mcp", STR_ARG(m->setup.link));
    jw_kstr(&w, "resource", resource);
    jw_key(&w, "authorization_servers");
    jw_arr(&w);
    jw_str(&w, m->setup.issuer);
    jw_end_arr(&w);
    jw_kraw(&w, "bearer_methods_supported", STR("[\"header\"]"));
    jw_kstrz(&w, "resource_name", "parley");
    json_reply_end(q->conn, 200, &b, &w);
}
