/* mcp_line.c -- servers at which people have accounts of their own: a connection for each person.
 *
 * The server itself (struct mcp, as configured) lists the tools, with the token of whoever
 * connected last; no call goes over it. A line is a struct mcp, too, of one person: their token,
 * their session, their questions. It is opened by the first call, never lists, is not opened again
 * by itself, and is left when nobody used it for a while, or when there are too many. So a token is
 * never sent in a session that another one opened, and what a server asks on a line is asked of its
 * person.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/oauthform.h"
#include "base/secret.h"
#include "tool/mcp/mcp_int.h"
#include "tool/policy.h"

#define LINES_MAX    256
#define LINE_IDLE_MS (5 * 60 * 1000)
#define CONNECT_NAME "connect_account"
#define SCOPES_BYTES 2048
#define MEMBER_BYTES 1024
#define BLOT         "[token]"
#define LOOK_MS      1000

/* --- configuration ---------------------------------------------------------------------------- */

static enum err bad(struct buf *why, const char *sentence)
{
    buf_lit(why, sentence);
    return ERR_TYPE;
}

static bool good_text(const struct jv *v, size_t max)
{
    return !v || (jv_is(v, JSON_STRING) && v->str.len > 0 && v->str.len <= max);
}

enum err mcp_account_read(struct mcp *m, const struct jv *entry, struct buf *why)
{
    const struct jv *o = jv_get(entry, "oauth"), *scopes = jv_get(o, "scopes"),
                    *headers = jv_get(entry, "headers");
    struct buf all;

    if (!o) return OK;
    if (!jv_is(o, JSON_OBJECT) || m->transport != &mcp_http)
        return bad(why, "\"oauth\" must be an object, and is for servers with a \"url\"");
    JV_EACH (h, headers)
        if (str_eq_nocase(h->key, STR("Authorization")))
            return bad(why, "\"oauth\" and an \"Authorization\" header do not go together");
    if (!good_text(jv_get(o, "client_id"), MEMBER_BYTES) ||
        !good_text(jv_get(o, "client_secret"), MEMBER_BYTES) ||
        !good_text(jv_get(o, "issuer"), SCOPES_BYTES))
        return bad(why,
                   "\"client_id\", \"client_secret\" and \"issuer\" of \"oauth\" must be texts");
    if (jv_get(o, "client_secret") && !jv_get(o, "client_id"))
        return bad(why, "\"oauth\" has a \"client_secret\" without a \"client_id\"");
    if (scopes && !jv_is(scopes, JSON_ARRAY)) return bad(why, "\"scopes\" must be a list of texts");
    buf_init(&all, SCOPES_BYTES);
    JV_EACH (s, scopes) {
        if (all.len) buf_chr(&all, ' ');
        buf_str(&all, jv_str(s));
    }
    m->account = (struct oauth_setup){
        .server = m->alias,
        .client_id = arena_dup(&m->config, jv_str_at(o, "client_id")),
        .client_secret = arena_dup(&m->config, jv_str_at(o, "client_secret")),
        .issuer = arena_dup(&m->config, jv_str_at(o, "issuer")),
        .scopes = all.len ? arena_dup(&m->config, buf_view(&all)) : STR_NONE,
        .url = arena_dup(&m->config, jv_str_at(entry, "url")),
    };
    enum err e = all.err;
    buf_done(&all);
    return e ? bad(why, "\"scopes\" are too long") : OK;
}

/* --- the account of whoever asks -------------------------------------------------------------- */

struct oauth *mcp_oauth(const struct mcp *m)
{
    return m->oauth;
}

void mcp_connect_path(struct buf *out, struct str alias)
{
    buf_lit(out, "/v1/mcp/");
    oauth_escape(out, alias);
    buf_lit(out, "/connect");
}

/* Now somebody's token can list the tools, if nobody's could before. */
static void on_connected(void *ctx, struct str principal)
{
    struct mcp *m = ctx;
    (void)principal;
    m->renewed = false;
    if (m->state != MCP_AUTH && m->state != MCP_DOWN) return;
    if (!m->welcomed) mcp_expect(m); /* a call may wait for just that */
    mcp_open_now(m);
}

/* --- accounts of other nodes ------------------------------------------------------------------ */

static void on_looked(void *ctx)
{
    struct mcp *m = ctx;
    bool        again = m->look_again;
    m->looking = m->look_again = false;
    if (m->state != MCP_AUTH) return;
    if (again) {
        mcp_look(m);
        return;
    }
    if (list_linked(&m->source.node)) mcp_settle(m);
    m->look_ms = clock_mono_ms() + LOOK_MS;
    mcp_rearm(m);
}

void mcp_look(struct mcp *m)
{
    m->look_ms = 0;
    if (!m->oauth || m->server || !m->host.vault->shared || m->state != MCP_AUTH) return;
    if (m->looking) m->look_again = true; /* that one may have read already */
    else if (oauth_look(m->oauth)) m->looking = true;
    else m->look_ms = clock_mono_ms() + LOOK_MS;
    mcp_rearm(m);
}

/* Something needs one of its tools, which is not listed. */
static void look_for(struct registry_source *s)
{
    struct mcp *m = LIST_ITEM(s, struct mcp, source);
    if (m->state != MCP_AUTH || m->welcomed) return;
    mcp_expect(m);
    mcp_look(m);
}

static struct tool *connect_tool(struct mcp *m)
{
    struct registry *r = m->host.registry;
    struct arena    *a = &r->arena;
    struct tool *t = registry_tool(r, arena_printf(a, STR_FMT CONNECT_NAME, STR_ARG(m->prefix)));
    struct jv   *never;
    const char  *why;

    if (!t || json_parse(a, STR("\"never\""), &never, NULL) != OK) return NULL;
    t->description =
        arena_printf(a,
                     "Connects the person's own account at " STR_FMT
                     ", which its tools need. Use it when they ask for something that " STR_FMT
                     " could do and none of its tools is listed, or when they want to connect.",
                     STR_ARG(m->alias), STR_ARG(m->alias));
    t->schema_text = STR("{\"type\":\"object\",\"properties\":{}}");
    t->source = arena_printf(a, "mcp:" STR_FMT, STR_ARG(m->alias));
    t->runner = m->runner;
    t->own_clock = true;
    t->idempotent = true;
    t->risk = STR("low");
    t->terms = m->host.terms;
    t->ops = &mcp_ops;
    return policy_read(t, never, &why) == OK && t->description.ptr && t->source.ptr ? t : NULL;
}

enum err mcp_account_start(struct mcp *m)
{
    if (!m->account.url.ptr || m->oauth || !m->host.vault || !m->host.seal) return OK;
    m->account.loop = m->host.loop;
    m->account.pool = m->host.pool;
    m->account.vault = m->host.vault;
    m->account.key = m->host.seal;
    m->account.connected = on_connected;
    m->account.looked = on_looked;
    if (m->host.vault->shared) registry_can_look(m->host.registry, &m->source, m->prefix, look_for);
    m->account.ctx = m;
    m->connect = arena_new(&m->host.registry->arena, struct mcp_tool);
    if (!m->connect || !(m->oauth = oauth_new(&m->account))) return ERR_NOMEM;
    m->connect->m = m;
    m->connect->name = STR(CONNECT_NAME);
    m->connect->connects = true;
    if (!(m->connect->tool = connect_tool(m))) return ERR_NOMEM;
    m->connect->tool->ctx = m->connect;
    return registry_add(m->host.registry, m->connect->tool);
}

bool mcp_set_bearer(struct mcp *m, struct str token)
{
    if (str_eq(buf_view(&m->bearer), token)) return true;
    secret_wipe(m->bearer.ptr, m->bearer.cap);
    buf_clear(&m->bearer);
    buf_str(&m->bearer, token);
    return !m->bearer.err;
}

struct str mcp_blot(const struct mcp *m, struct arena *a, struct str text)
{
    struct str token = buf_view(&m->bearer), rest = text;
    struct buf out;
    ptrdiff_t  at;

    if (!token.len || str_find(text, token) < 0) return text;
    buf_init(&out, 0);
    while ((at = str_find(rest, token)) >= 0) {
        buf_str(&out, str_cut(rest, (size_t)at));
        buf_lit(&out, BLOT);
        rest = str_from(rest, (size_t)at + token.len);
    }
    buf_str(&out, rest);
    struct str clean = out.err ? STR("") : arena_dup(a, buf_view(&out));
    buf_done(&out);
    return clean.ptr ? clean : STR("");
}

/* --- lines ------------------------------------------------------------------------------------ */

static struct mcp *find_line(struct mcp *server, struct str person)
{
    LIST_EACH (n, &server->lines) {
        struct mcp *line = LIST_ITEM(n, struct mcp, line_node);
        if (str_eq(line->person, person) && line->state != MCP_STOPPING) return line;
    }
    return NULL;
}

static void line_closed(struct mcp *line)
{
    struct mcp *server = line->server;
    list_remove(&line->line_node);
    server->line_count--;
    mcp_maybe_closed(server);
}

static void leave(struct mcp *line)
{
    if (line->state != MCP_STOPPING) mcp_stop(line, line_closed);
}

static void make_room(struct mcp *server)
{
    if (server->line_count < LINES_MAX) return;
    LIST_EACH (n, &server->lines) {
        struct mcp *line = LIST_ITEM(n, struct mcp, line_node);
        if (line->state == MCP_STOPPING || !list_empty(&line->calls)) continue;
        leave(line);
        return;
    }
}

static struct mcp *line_new(struct mcp *server, struct str person)
{
    struct mcp *line = mem_alloc(sizeof *line);
    if (!line) return NULL;
    line->host = server->host;
    line->host.changed = NULL;
    mcp_init(line);
    line->server = server;
    line->oauth = server->oauth;
    line->alias = server->alias;
    line->prefix = server->prefix;
    line->url_host = server->url_host;
    line->call_ms = server->call_ms;
    line->pinned = server->pinned;
    line->era = server->era;
    line->person = arena_dup(&line->config, person);
    if (!line->person.ptr || mcp_http_copy(line, server) != OK) {
        mcp_undo(line);
        return NULL;
    }
    loop_timer_init(line->host.loop, &line->tick, mcp_tick);
    list_add(&server->lines, &line->line_node);
    server->line_count++;
    return line;
}

struct mcp *mcp_line(struct mcp *server, struct str person, struct str token)
{
    struct mcp *line = find_line(server, person);
    if (!line) {
        make_room(server);
        line = server->line_count < LINES_MAX ? line_new(server, person) : NULL;
    }
    if (!line || !mcp_set_bearer(line, token)) return NULL;
    if (line->state == MCP_DOWN || line->state == MCP_AUTH) mcp_open_now(line);
    return line;
}

void mcp_line_used(struct mcp *line)
{
    line->leave_ms = 0;
}

void mcp_line_unused(struct mcp *line)
{
    if (!line->server || !list_empty(&line->calls) || line->state == MCP_STOPPING) return;
    line->leave_ms = clock_mono_ms() + LINE_IDLE_MS;
    mcp_rearm(line);
}

void mcp_line_leave(struct mcp *line)
{
    line->leave_ms = 0;
    if (list_empty(&line->calls)) leave(line);
}

void mcp_lines_stop(struct mcp *server)
{
    LIST_EACH (n, &server->lines) leave(LIST_ITEM(n, struct mcp, line_node));
}
