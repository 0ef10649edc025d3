/* guard.c -- who may come in: Host and Origin on every door, then the principal, their role and
 * their pace.
 *
 * A page of another origin must not drive a server on this machine: not by fetch
 * or form (Origin), not by a WebSocket (Origin again), not by a name that was made
 * to point here (Host). Requests without Origin are not from a browser's page and
 * pass; a browser always sends it where it matters, and where it says Sec-Fetch-Site
 * instead, that is believed. Origins under "cors" and "page.embed" may also read the answers.
 *
 * Every door wants somebody who is known and has one of its roles (routes.c),
 * except those marked EVERYBODY; those marked ANSWERS want the start token, too. /live lets people
 * in who have not said who they are yet (SAYS_LATER).
 */
#include "base/clock.h"
#include "base/log.h"
#include "door/app.h"

#define PREFLIGHT_S "600" /* how long a browser may remember what it was told */

/* --- Host and Origin ----------------------------------------------------------------------- */

/* "name:port" without the port; brackets of IPv6 stay. */
static struct str without_port(struct str host)
{
    if (host.len && host.ptr[0] == '[') {
        ptrdiff_t end = str_find(host, STR("]"));
        return end < 0 ? host : str_cut(host, (size_t)end + 1);
    }
    ptrdiff_t colon = str_find(host, STR(":"));
    return colon < 0 ? host : str_cut(host, (size_t)colon);
}

static bool listed(const struct strs *list, struct str what)
{
    for (size_t i = 0; i < list->count; i++)
        if (str_eq_nocase(list->list[i], what)) return true;
    return false;
}

static bool is_loopback_name(struct str name)
{
    return str_eq_nocase(name, STR("localhost")) || str_eq(name, STR("127.0.0.1")) ||
           str_eq(name, STR("[::1]"));
}

static bool host_allowed(const struct app *a, struct str host)
{
    struct str name = without_port(host);
    return is_loopback_name(name) || str_eq_nocase(name, a->host) ||
           (a->node_host.len && str_eq_nocase(name, a->node_host)) || listed(&a->hosts, name);
}

/* Pages of that origin get CORS headers. */
static bool may_read(const struct app *a, struct str origin)
{
    return listed(&a->cors, origin) || listed(&a->embed, origin);
}

/* Our own origin is the one whose host is the Host the browser used. */
static bool origin_allowed(const struct app *a, struct str origin, struct str host)
{
    if (listed(&a->origins, origin) || may_read(a, origin)) return true;
    struct str rest = origin;
    if (str_starts(origin, STR("http://"))) rest = str_from(origin, 7);
    else if (str_starts(origin, STR("https://"))) rest = str_from(origin, 8);
    else return false;
    return str_eq_nocase(rest, host);
}

/* Without Origin, a browser that says another site asks for a change is believed. */
static bool site_allowed(const struct request *q)
{
    struct str site = request_header(q, "sec-fetch-site");
    bool       reads = str_is(q->method, "GET") || str_is(q->method, "HEAD");
    return reads || !site.ptr || str_is(site, "same-origin") || str_is(site, "none");
}

/* --- refusals -------------------------------------------------------------------------------- */

const char *door_error(struct request *q, struct buf *out, int status, const char *code,
                       const char *message)
{
    const struct door *d = q ? q->door : NULL;
    if (d && d->error) return d->error(q, out, status, code, message);
    if (!d || !d->plain_errors) return NULL;
    conn_header(q->conn, "Parley-Error", str_c(code));
    buf_lit(out, message);
    return "text/plain; charset=utf-8";
}

static bool refuse(struct request *q, int status, const char *code, const char *message)
{
    conn_header(q->conn, "Parley-Error", str_c(code));
    if (q->door && q->door->refuse) q->door->refuse(q, status, code, message);
    else if (q->door && q->door->plain_errors)
        conn_reply(q->conn, status, "text/plain; charset=utf-8", str_c(message));
    else conn_error(q->conn, status, code, message);
    return false;
}

static bool refuse_and_log(struct request *q, int status, const char *code, const char *message,
                           struct str what)
{
    if (may_complain(app_of(conn_server(q->conn))))
        log_line(LOG_SECURITY, "request.refused", "why", code, "what", log_str(what), "peer",
                 log_str(conn_peer(q->conn)), "path", log_str(q->path), NULL);
    return refuse(q, status, code, message);
}

static bool refuse_later(struct request *q, int status, const char *code, const char *message,
                         unsigned seconds)
{
    struct str s = arena_printf(q->arena, "%u", seconds);
    if (s.ptr) conn_header(q->conn, "Retry-After", s);
    return refuse(q, status, code, message);
}

void guard_unavailable(struct request *q)
{
    refuse_later(q, 503, "store_unavailable",
                 "Your sign-in cannot be looked up, because the store does not answer at the "
                 "moment. You are still signed in; try again in a moment.",
                 2);
}

void guard_unnoted(struct request *q)
{
    refuse_later(q, 503, "store_unavailable",
                 "Your roles have changed, and that cannot be written down, because the store does "
                 "not answer at the moment. Try again in a moment.",
                 2);
}

static bool unauthorized(struct request *q, bool tried, const char *why)
{
    /* Who shows nothing is sent to sign in; who shows something bad is a security event. */
    if (tried) identify_failed(q->conn, why, q->path);
    if (q->door && q->door->challenge) q->door->challenge(q, tried ? "invalid_token" : NULL);
    else
        conn_header(q->conn, "WWW-Authenticate",
                    tried ? STR("Bearer realm=\"parley\", error=\"invalid_token\"")
                          : STR("Bearer realm=\"parley\""));
    return refuse(q, 401, "unauthorized",
                  tried ? "That key or token is not accepted; sign in again." : "Sign in first.");
}

/* --- CORS ------------------------------------------------------------------------------------- */

static void share(struct request *q, struct str origin)
{
    conn_header(q->conn, "Access-Control-Allow-Origin", origin);
    conn_header(q->conn, "Access-Control-Allow-Credentials", STR("true"));
    conn_header(q->conn, "Access-Control-Expose-Headers",
                STR("Parley-Thread, Parley-Run, Parley-Error, Retry-After, WWW-Authenticate, "
                    "x-request-id"));
    conn_header(q->conn, "Vary", STR("Origin"));
}

/* What stock clients send beside the usual: SDKs have headers of their own, by the dozen. */
static bool is_sdk_header(struct str name)
{
    return str_starts(name, STR("x-stainless-")) || str_starts(name, STR("openai-")) ||
           str_is(name, "idempotency-key");
}

static struct str allowed_headers(struct request *q)
{
    struct str asked = request_header(q, "access-control-request-headers"), name;
    struct buf b = { 0 };
    buf_lit(&b, "authorization, content-type, last-event-id, x-api-key, apikey, x-client-info");
    while (str_split(&asked, ',', &name)) {
        name = str_trim(name);
        if (!is_sdk_header(name) || !str_is_token(name) || b.len > 4096) continue;
        buf_lit(&b, ", ");
        buf_str(&b, name);
    }
    struct str s = arena_dup(q->arena, buf_view(&b));
    buf_done(&b);
    return s.ptr ? s : STR("authorization, content-type");
}

static bool preflight(struct request *q)
{
    conn_header(q->conn, "Access-Control-Allow-Methods", STR("GET, POST, PATCH, DELETE"));
    conn_header(q->conn, "Access-Control-Allow-Headers", allowed_headers(q));
    conn_header(q->conn, "Access-Control-Max-Age", STR(PREFLIGHT_S));
    conn_reply(q->conn, 204, NULL, STR(""));
    return false;
}

/* False: answered. */
static bool check_origin(struct app *a, struct request *q)
{
    struct str host = request_header(q, "host"), origin = request_header(q, "origin");

    if (host.ptr && !host_allowed(a, host))
        return refuse_and_log(q, 421, "unknown_host",
                              "This server does not answer to that name; list it under \"hosts\" "
                              "in the configuration.",
                              host);
    if (!origin.ptr && !site_allowed(q))
        return refuse_and_log(q, 403, "foreign_origin", "Another site may not do this.",
                              request_header(q, "sec-fetch-site"));
    if (!origin.ptr) return true;
    if (!origin_allowed(a, origin, host))
        return refuse_and_log(q, 403, "foreign_origin",
                              "Pages of that origin may not use this server; list it under "
                              "\"origins\" in the configuration, or under \"page.embed\" if the "
                              "assistant is to be shown there.",
                              origin);
    if (!may_read(a, origin)) return true;
    share(q, origin);
    return !str_is(q->method, "OPTIONS") || preflight(q);
}

/* --- the principal ---------------------------------------------------------------------------- */

static bool check_role(struct app *a, struct request *q)
{
    unsigned want = q->access & (ROLE_ANY | ROLE_AGENT);
    unsigned retry_s;
    bool     here = q->door && q->door->challenge;

    if (!(q->principal->roles & (want ? want : ROLE_USER)) || (q->principal->mcp_only && !here)) {
        if (here) q->door->challenge(q, "insufficient_scope");
        return refuse_and_log(q, 403, "forbidden", "Your role does not let you do this.",
                              q->principal->name);
    }
    if ((q->access & ANSWERS) && !q->principal->may_answer)
        return refuse_and_log(q, 403, "token_needed", COMMAND_TOKEN_NEEDED, q->principal->name);
    if (quota_request(a->quota, q->principal->name, clock_mono_ms(), &retry_s)) return true;
    log_line(LOG_SECURITY, "request.limited", "by", log_str(q->principal->name), "path",
             log_str(q->path), NULL);
    return refuse_later(q, 429, "rate_limited", "Too many requests; try again in a moment.",
                        retry_s);
}

/* Doors that are open to strangers take no more from them than a token is long. */
static bool check_stranger(struct app *a, struct request *q)
{
    uint64_t   len = 0;
    struct str length = request_header(q, "content-length");

    conn_until(q->conn, 0);
    q->principal = &a->local;
    if (!auth_on(a->auth)) return true;
    q->principal = NULL;
    conn_stranger(q->conn, true);
    if (!request_header(q, "transfer-encoding").ptr &&
        (!length.ptr || (str_to_u64(length, &len) && len <= 2 * JWT_MAX)))
        return true;
    return refuse(q, 413, "too_large", "That is more than a token.");
}

static bool check_principal(struct app *a, struct request *q)
{
    const char *why;

    if (q->access & EVERYBODY) return check_stranger(a, q);
    enum identity who = identify(a, q, &why);
    bool later = (q->access & SAYS_LATER) && conn_wants_upgrade(q) && !identify_bearer(q).ptr;
    if (who == IDENTITY_KNOWN) return check_role(a, q);
    if (who == IDENTITY_ASKED) return false;
    if (later) {
        conn_stranger(q->conn, true);
        return true;
    }
    switch (who) {
    case IDENTITY_FOREIGN:
        return refuse_and_log(q, 403, "foreign_origin", "Another site may not use your sign-in.",
                              request_header(q, "sec-fetch-site"));
    case IDENTITY_LATER:
        return refuse_later(
            q, 503, "keys_unavailable",
            "The keys to check your token are being fetched; try again in a moment.", 2);
    case IDENTITY_BAD: return unauthorized(q, true, why);
    case IDENTITY_NONE:
    case IDENTITY_ASKED:
    case IDENTITY_KNOWN: break;
    }
    return unauthorized(q, false, why);
}

bool guard_check(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    if (q->door && q->door->enter) q->door->enter(q);
    return check_origin(a, q) && check_principal(a, q);
}
