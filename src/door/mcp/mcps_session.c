/* mcps_session.c -- what legacy clients open with `initialize` and name in a header since.
 *
 * A session is a row of the store: which version was agreed on, what its client can do and what it
 * calls itself. Every node finds it, and a restart ends none. It is looked up for each message and
 * kept nowhere else, so that one that was ended is over everywhere at that moment.
 *
 * Its id is no credential: the row's key has the principal in it, so for anybody else there is no
 * such row. An hour without use ends it.
 *
 * What else a message of a session may be about, it says itself, or the log knows:
 *
 *     Last-Event-ID           names the call, the session and the request
 *     notifications/cancelled names a request: a key of the store, given when the call began
 *     an answer               names the confirmation that was asked about
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/sha256.h"
#include "door/mcp/mcps_int.h"

#define IDLE_MS   (3600 * 1000)
#define KEEP_MS   (IDLE_MS / 20) /* a row is written again when it would end so much too early */
#define EACH_MAX  100            /* sessions of one principal */
#define OWNER_LEN 8              /* bytes of a hash */

bool mcps_rows_of(struct arena *a, struct str owner, struct str *begins)
{
    uint8_t hash[SHA256_LEN];
    char    hex[2 * OWNER_LEN + 1];
    sha256_of(owner, hash);
    sha256_hex(hash, OWNER_LEN, hex);
    *begins = arena_printf(a, MCPS_ROWS "%s/", hex);
    return begins->ptr != NULL;
}

static struct str key_of(struct arena *a, struct str owner, struct str id)
{
    char       hex[SHA256_HEX + 1];
    struct str begins;
    sha256_name(id, hex);
    if (!mcps_rows_of(a, owner, &begins)) return STR_NONE;
    return arena_printf(a, STR_FMT "%s", STR_ARG(begins), hex);
}

static struct str body_of(struct arena *a, const struct mcps_session *s)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "version", s->version);
    if (s->client.len) jw_kstr(&w, "client", s->client);
    jw_kbool(&w, "form", s->can.form);
    jw_kbool(&w, "url", s->can.url);
    jw_end_obj(&w);
    struct str body = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return body;
}

static bool read_body(struct arena *a, struct str body, struct mcps_session *s)
{
    struct jv *v;
    if (json_parse(a, arena_dup(a, body), &v, NULL) != OK) return false;
    s->version = jv_str_at(v, "version");
    s->client = jv_str_at(v, "client");
    s->can = (struct mcp_abilities){ .form = jv_true(jv_get(v, "form")),
                                     .url = jv_true(jv_get(v, "url")) };
    return s->version.len > 0;
}

static void unavailable(struct conn *c, struct str id)
{
    mcps_unavailable(c, id,
                     &(struct receipt){ .status = 503,
                                        .code = "store_unavailable",
                                        .message = "The store cannot be reached at the moment. Try "
                                                   "again in a moment." });
}

static void no_memory(struct conn *c, struct str id)
{
    mcps_unavailable(c, id,
                     &(struct receipt){ .status = 503,
                                        .code = "out_of_memory",
                                        .message = "The server is out of memory; try again in a "
                                                   "moment." });
}

/* --- one row, and whoever waits for it -------------------------------------------------------- */

struct visit {
    struct ask           ask; /* the waiting alone */
    struct store_session row;
    struct mcps         *door;
    struct arena         arena;
    struct mcprpc        rpc; /* in the request's memory, which lasts until the answer */
    struct mcps_session  session;
    mcps_session_then    then;
};

static struct visit *visit_new(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                               mcps_session_then then)
{
    struct visit *v = mem_alloc(sizeof *v);
    if (!v) {
        no_memory(q->conn, rpc->id);
        return NULL;
    }
    ask_init(&v->ask, conn_server(q->conn), q);
    arena_init(&v->arena, 0);
    v->door = m;
    v->rpc = *rpc;
    v->then = then;
    v->session.owner = owner_of(q);
    return v;
}

static void visit_free(struct visit *v)
{
    arena_done(&v->arena);
    mem_free(v);
}

static void visit_send(struct visit *v, struct store_session row)
{
    struct conn *c = v->ask.conn;
    v->row = row;
    v->row.key = key_of(&v->arena, v->session.owner, v->session.id);
    if (!v->row.key.ptr || v->arena.failed) {
        no_memory(c, v->rpc.id);
        visit_free(v);
        return;
    }
    conn_hold(c, &v->ask.hold);
    hub_row(v->door->app->hub, &v->row);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void on_opened(struct store_session *x, enum err e)
{
    struct visit *v = LIST_ITEM(x, struct visit, row);
    struct conn  *c = v->ask.conn;
    if (c && e) unavailable(c, v->rpc.id);
    else if (c) v->then(v->door, conn_request(c), &v->rpc, &v->session);
    visit_free(v);
}

void mcps_session_open(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                       struct str version, mcps_session_then then)
{
    struct visit *v = visit_new(m, q, rpc, then);
    if (!v) return;
    struct mcps_session *s = &v->session;
    s->id = id_new(&v->arena, "");
    s->version = arena_dup(&v->arena, version);
    s->client = mcprpc_client(&v->arena, jv_get(rpc->params, "clientInfo"));
    s->can = mcprpc_abilities(jv_get(rpc->params, "capabilities"));
    s->can.tasks = false; /* those of this era were another thing */
    if (str_is(version, MCP_OLDEST_LEGACY)) s->can.url = false;
    visit_send(v, (struct store_session){ .op = SESSION_PUT,
                                          .body = body_of(&v->arena, s),
                                          .ends_ms = clock_wall_ms() + IDLE_MS,
                                          .each = EACH_MAX,
                                          .done = on_opened });
}

/* --- coming back ------------------------------------------------------------------------------ */

static void on_kept(struct store_session *x, enum err e)
{
    struct visit *v = LIST_ITEM(x, struct visit, row);
    if (e && e != ERR_NOT_FOUND)
        log_line(LOG_WARN, "session.not_written", "what", "it is used", "why", err_name(e), NULL);
    visit_free(v);
}

/* It is used: written again when it would end too early. Takes the visit. */
static void keep(struct visit *v)
{
    int64_t ends = clock_wall_ms() + IDLE_MS;
    if (ends - v->row.ends_ms < KEEP_MS) {
        visit_free(v);
        return;
    }
    struct str body = arena_dup(&v->arena, v->row.body), key = v->row.key;
    v->row = (struct store_session){
        .op = SESSION_KEEP, .key = key, .body = body, .ends_ms = ends, .done = on_kept
    };
    if (body.ptr) hub_row(v->door->app->hub, &v->row);
    else visit_free(v);
}

static void come_in(struct visit *v, struct conn *c, bool there)
{
    struct request     *q = conn_request(c);
    struct str          version = request_header(q, "mcp-protocol-version");
    struct mcprpc_fault why = { 400, RPC_INVALID, NULL, STR_NONE };
    if (!there) {
        why.status = 404;
        why.message = "There is no such session; send initialize again.";
    } else if (version.ptr && !str_eq(version, v->session.version))
        why.message = "MCP-Protocol-Version is not the one that was agreed on.";
    if (why.message) mcps_fault(c, v->rpc.id, &why);
    else v->then(v->door, q, &v->rpc, &v->session);
}

static void on_found(struct store_session *x, enum err e)
{
    struct visit *v = LIST_ITEM(x, struct visit, row);
    struct conn  *c = v->ask.conn;
    bool there = !e && x->ends_ms > clock_wall_ms() && read_body(&v->arena, x->body, &v->session);
    if (c && e && e != ERR_NOT_FOUND) unavailable(c, v->rpc.id);
    else if (c) come_in(v, c, there);
    if (there) keep(v);
    else visit_free(v);
}

void mcps_session_enter(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                        mcps_session_then then)
{
    struct str    name = request_header(q, "mcp-session-id");
    struct visit *v;
    if (!name.len) {
        mcps_fault(q->conn, rpc->id,
                   &(struct mcprpc_fault){
                       400, RPC_INVALID,
                       "The header Mcp-Session-Id is missing; send initialize first.", STR_NONE });
        return;
    }
    if (!(v = visit_new(m, q, rpc, then))) return;
    v->session.id = arena_dup(&v->arena, name);
    visit_send(v, (struct store_session){ .op = SESSION_GET, .done = on_found });
}

/* --- ending ----------------------------------------------------------------------------------- */

static void on_ended(struct store_session *x, enum err e)
{
    struct visit *v = LIST_ITEM(x, struct visit, row);
    struct conn  *c = v->ask.conn;
    if (c && e) unavailable(c, v->rpc.id);
    else if (c) conn_reply(c, 204, NULL, STR(""));
    visit_free(v);
}

void mcps_session_end(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      const struct mcps_session *s)
{
    struct visit *v = visit_new(m, q, rpc, NULL);
    if (!v) return;
    v->session.id = arena_dup(&v->arena, s->id);
    visit_send(v, (struct store_session){ .op = SESSION_END, .done = on_ended });
}

/* --- requests of a session -------------------------------------------------------------------- */

struct str mcps_session_tag(struct arena *a, struct str session)
{
    uint8_t hash[SHA256_LEN];
    char    hex[9];
    sha256_of(session, hash);
    sha256_hex(hash, 4, hex);
    return arena_dup(a, str_c(hex));
}

struct str mcps_request_name(struct arena *a, struct str session, struct str request)
{
    struct sha256 h;
    uint8_t       hash[SHA256_LEN];
    char          hex[SHA256_HEX + 1];
    sha256_begin(&h);
    sha256_text(&h, session);
    sha256_text(&h, request);
    sha256_end(&h, hash);
    sha256_hex(hash, SHA256_LEN, hex);
    return arena_printf(a, "mcp-request/%.32s", hex);
}
