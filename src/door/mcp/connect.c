/* connect.c -- a person connects their own account at an MCP server (tool/mcp/oauth.h).
 *
 *     GET    /v1/mcp/{server}/connect?to=/t/…   off to its authorization server
 *     GET    /v1/mcp/{server}/callback          back from it, a code or an error; only leads to
 *     GET    /v1/mcp/{server}/back              the same, as a page of ours asks for it
 *     DELETE /v1/mcp/{server}/connect           forgets their tokens
 *
 * What must be remembered in between is in a cookie of this browser that scripts cannot read,
 * sealed, good for ten minutes and for this server's addresses alone. It says for whom it is: the
 * way back is taken only for the person who is signed in here and began it, and once. What does not
 * answer it leaves it as it is: another site may lead a browser here at any time.
 *
 * Then the questions that wait for it (MCP_CONNECT) are answered with yes: the person's own, and
 * only theirs. The yes is worth nothing by itself, the call looks for the token; so it does no harm
 * that others may say yes, too, and a process that dies between the token and the yes has lost
 * nothing: the same address says the yes again.
 */
#include "base/log.h"
#include "base/oauthform.h"
#include "door/app.h"
#include "tool/mcp/mcp.h"
#include "tool/mcp/oauth.h"

#define COOKIE     "parley-connect"
#define COOKIE_S   600
#define COOKIE_MAX 3900 /* browsers keep 4,096 bytes with its name and attributes */
#define ASKED_MAX  200  /* questions that are answered by one connection */

/* One request, from its first look at the tokens to the answers of the questions. */
struct way {
    struct ask         ask; /* the waiting alone */
    struct arena       arena;
    struct oauth      *oauth;
    struct str         server, principal, roles, to;
    struct oauth_want  want;
    struct oauth_begin begin;
    struct oauth_back  back;
    struct store_list  list;
};

static void way_free(struct way *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void say(struct request *q, int status, struct str server, const char *why)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b,
               "Your account at " STR_FMT
               " was not connected: %s.\nGo back to the conversation and try again.\n",
               STR_ARG(server), why);
    conn_header(q->conn, "Cache-Control", STR("no-store"));
    conn_reply(q->conn, status, "text/plain; charset=utf-8", buf_view(&b));
    buf_done(&b);
}

static void redirect(struct request *q, struct str where)
{
    conn_header(q->conn, "Location", where);
    conn_header(q->conn, "Cache-Control", STR("no-store"));
    conn_header(q->conn, "Referrer-Policy", STR("no-referrer"));
    conn_reply(q->conn, 302, NULL, STR(""));
}

static struct oauth *oauth_of(const struct app *a, struct str server)
{
    for (size_t i = 0; i < a->server_count; i++)
        if (str_eq(mcp_alias(a->servers[i]), server)) return mcp_oauth(a->servers[i]);
    return NULL;
}

/* The server's, for a person of their own; NULL: answered. */
static struct oauth *look_up(struct server *s, struct request *q)
{
    struct oauth *o = oauth_of(app_of(s), q->param[0]);
    if (!o)
        conn_error(q->conn, 404, "unknown_server",
                   "There is no MCP server of that name at which people have accounts.");
    else if (q->principal->shared) {
        conn_error(q->conn, 403, "not_a_person",
                   "Only a person who is signed in can connect their account; this key is used by "
                   "several, or by a program.");
        o = NULL;
    }
    return o;
}

static struct way *way_new(struct server *s, struct request *q, struct oauth *o)
{
    struct way *k = mem_alloc(sizeof *k);
    if (k) {
        arena_init(&k->arena, 0);
        ask_init(&k->ask, s, q);
        k->oauth = o;
        k->server = arena_dup(&k->arena, q->param[0]);
        k->principal = arena_dup(&k->arena, owner_of(q));
        k->roles = arena_dup(&k->arena, q->principal->words);
    }
    if (k && !k->arena.failed) return k;
    if (k) way_free(k);
    conn_error(q->conn, 503, "out_of_memory",
               "The server is out of memory; try again in a moment.");
    return NULL;
}

/* --- addresses and the cookie ----------------------------------------------------------------- */

static struct str path_of(struct arena *a, struct str server, const char *last)
{
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, "/v1/mcp/");
    oauth_escape(&b, server);
    buf_lit(&b, last);
    struct str path = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return path;
}

/* Where the authorization server sends the browser back to. Host is one of ours: the guard has
 * looked. */
static struct str callback_of(struct arena *a, struct request *q, struct str server)
{
    const struct app *app = app_of(conn_server(q->conn));
    struct str        path = path_of(a, server, "/callback");
    if (app->public_url.ptr)
        return arena_printf(a, STR_FMT STR_FMT, STR_ARG(app->public_url), STR_ARG(path));
    return arena_printf(a, "%s://" STR_FMT STR_FMT, identify_https(app, q) ? "https" : "http",
                        STR_ARG(request_header(q, "host")), STR_ARG(path));
}

static void set_cookie(struct request *q, struct str server, struct str value, unsigned seconds)
{
    bool       https = identify_https(app_of(conn_server(q->conn)), q);
    struct str v = arena_printf(
        q->arena, COOKIE "=" STR_FMT "; Path=" STR_FMT "; Max-Age=%u; HttpOnly; SameSite=Lax%s",
        STR_ARG(value), STR_ARG(path_of(q->arena, server, "")), seconds, https ? "; Secure" : "");
    if (v.ptr) conn_header(q->conn, "Set-Cookie", v);
}

/* --- the questions that waited for it --------------------------------------------------------- */

static bool waits_for(const struct way *k, const struct store_row *row, struct arena *a)
{
    struct jv *body;
    return !row->damaged && json_parse_own(a, row->approval.body, &body) == OK &&
           str_eq(jv_str_at(jv_get(body, "schema"), MCP_CONNECT), k->server);
}

/* As the person: that they are the one is what the way back has shown. */
static void say_yes(const struct way *k, const struct store_row *row)
{
    struct command *c = command_new(CMD_DECIDE);
    if (!c) return;
    c->log.owner = arena_dup(&c->arena, k->principal);
    c->by = c->log.owner;
    c->roles = arena_dup(&c->arena, k->roles);
    c->via = STR("connect");
    c->may_decide = true;
    c->id = arena_dup(&c->arena, row->approval.id);
    c->decide.confirmed = true;
    c->decide.payload = STR("{}");
    c->done = command_drop;
    if (c->arena.failed) command_free(c);
    else hub_submit(k->ask.app->hub, c);
}

static void on_list(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct way  *k = LIST_ITEM(l, struct way, list);
    struct arena a;
    (void)next;
    arena_init(&a, 0);
    for (size_t i = 0; i < count; i++) {
        if (waits_for(k, &rows[i], &a)) say_yes(k, &rows[i]);
        arena_reset(&a);
    }
    arena_done(&a);
    if (e)
        log_line(LOG_WARN, "mcp.questions_left", "server", log_str(k->server), "why", err_name(e),
                 NULL);
    if (k->ask.conn) redirect(conn_request(k->ask.conn), k->to);
    way_free(k);
}

static void answer_questions(struct way *k)
{
    k->list = (struct store_list){ .kind = STORE_APPROVALS,
                                   .owner = k->principal,
                                   .status = STR("pending"),
                                   .limit = ASKED_MAX,
                                   .done = on_list };
    hub_list(k->ask.app->hub, &k->list);
}

/* --- there ------------------------------------------------------------------------------------ */

static void on_begun(struct oauth_begin *b, struct str url, struct str sealed, const char *why)
{
    struct way     *k = LIST_ITEM(b, struct way, begin);
    struct request *q = k->ask.conn ? conn_request(k->ask.conn) : NULL;
    struct str      where = q ? arena_dup(q->arena, url) : STR_NONE;

    if (q && !why && sealed.len > COOKIE_MAX) why = "its addresses are too long for a cookie";
    if (q && (why || !where.ptr)) say(q, 502, k->server, why ? why : "there is not enough memory");
    else if (q) {
        set_cookie(q, k->server, sealed, COOKIE_S);
        redirect(q, where);
    }
    way_free(k);
}

static void begin(struct way *k)
{
    struct request *q = k->ask.conn ? conn_request(k->ask.conn) : NULL;
    if (!q) {
        way_free(k);
        return;
    }
    k->begin = (struct oauth_begin){ .principal = k->principal,
                                     .redirect_uri = callback_of(&k->arena, q, k->server),
                                     .to = k->to,
                                     .done = on_begun };
    if (!k->arena.failed && oauth_begin(k->oauth, &k->begin)) return;
    say(q, 503, k->server, "too many people connect at the moment");
    way_free(k);
}

/* Who is connected already need not go there: only the yes is missing. */
static void on_token(struct oauth_want *w, struct str token, const char *why)
{
    struct way *k = LIST_ITEM(w, struct way, want);
    if (why && k->ask.conn) say(conn_request(k->ask.conn), 502, k->server, why);
    if (why) way_free(k);
    else if (token.ptr) answer_questions(k);
    else begin(k);
}

void connect_begin(struct server *s, struct request *q)
{
    struct oauth *o = look_up(s, q);
    struct way   *k = o ? way_new(s, q, o) : NULL;
    struct str    to = request_query(q, "to");

    if (!k) return;
    k->to = login_path(to) ? arena_dup(&k->arena, to) : STR("/inbox");
    conn_hold(q->conn, &k->ask.hold);
    if (str_is(request_query(q, "again"), "true")) {
        begin(k);
        return;
    }
    k->want = (struct oauth_want){ .principal = k->principal, .done = on_token };
    oauth_want(o, &k->want);
}

/* --- back ------------------------------------------------------------------------------------- */

static void on_back(struct oauth_back *b, struct str to, const char *why)
{
    struct way *k = LIST_ITEM(b, struct way, back);

    if (b->spent && k->ask.conn) set_cookie(conn_request(k->ask.conn), k->server, STR(""), 0);
    if (!why) {
        k->to = login_path(to) ? arena_dup(&k->arena, to) : STR("/inbox");
        answer_questions(k);
        return;
    }
    if (k->ask.conn) say(conn_request(k->ask.conn), 400, k->server, why);
    way_free(k);
}

/* What another site leads to comes without the cookie of the sign-in (SameSite=Strict), and the
 * guard would not take it. A refresh is asked for by the page that it stands in, which is ours; a
 * redirect would still be the other site's. Who comes back, and with what, is looked at there. */
void connect_hop(struct server *s, struct request *q)
{
    struct str path = path_of(q->arena, q->param[0], "/back");
    struct str to =
        arena_printf(q->arena, "0; url=" STR_FMT "?" STR_FMT, STR_ARG(path), STR_ARG(q->query));
    (void)s;
    if (!path.ptr || !to.ptr) {
        say(q, 503, q->param[0], "there is not enough memory");
        return;
    }
    conn_header(q->conn, "Refresh", to);
    conn_header(q->conn, "Cache-Control", STR("no-store"));
    conn_header(q->conn, "Referrer-Policy", STR("no-referrer"));
    conn_reply(q->conn, 200, "text/plain; charset=utf-8", STR("Back to the conversation.\n"));
}

void connect_back(struct server *s, struct request *q)
{
    struct oauth *o = look_up(s, q);
    struct way   *k = o ? way_new(s, q, o) : NULL;

    if (!k) return;
    k->back = (struct oauth_back){ .principal = k->principal,
                                   .sealed = arena_dup(&k->arena, identify_cookie(q, COOKIE)),
                                   .state = arena_dup(&k->arena, request_query(q, "state")),
                                   .code = arena_dup(&k->arena, request_query(q, "code")),
                                   .issuer = arena_dup(&k->arena, request_query(q, "iss")),
                                   .error = arena_dup(&k->arena, request_query(q, "error")),
                                   .done = on_back };
    conn_hold(q->conn, &k->ask.hold);
    if (!k->arena.failed && oauth_back(o, &k->back)) return;
    say(q, 503, k->server, "there is not enough memory");
    way_free(k);
}

void connect_end(struct server *s, struct request *q)
{
    struct oauth *o = look_up(s, q);
    if (!o) return;
    oauth_forget(o, owner_of(q));
    conn_reply(q->conn, 204, NULL, STR(""));
}

void connect_forget(struct app *a, struct str principal)
{
    for (size_t i = 0; i < a->server_count; i++) {
        struct oauth *o = mcp_oauth(a->servers[i]);
        if (o) oauth_forget(o, principal);
    }
}
