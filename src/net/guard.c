/* guard.c -- who may come in: Host and Origin on every door, then the principal.
 *
 * A page of another origin must not drive a server on this machine: not by fetch
 * or form (Origin), not by a WebSocket (Origin again), not by a name that was made
 * to point here (Host). Requests without Origin are not from a browser's page and
 * pass; a browser always sends it where it matters.
 */
#include "base/log.h"
#include "net/app.h"

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

static bool listed(const struct str *list, size_t count, struct str what)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(list[i], what)) return true;
    return false;
}

static bool is_loopback_name(struct str name)
{
    return str_eq_nocase(name, STR("localhost")) || str_eq(name, STR("127.0.0.1")) || str_eq(name, STR("[::1]"));
}

static bool host_allowed(const struct app *a, struct str host)
{
    struct str name = without_port(host);
    return is_loopback_name(name) || listed(a->hosts, a->host_count, name);
}

/* Our own origin is the one whose host is the Host the browser used. */
static bool origin_allowed(const struct app *a, struct str origin, struct str host)
{
    if (listed(a->origins, a->origin_count, origin)) return true;
    struct str rest = origin;
    if (str_starts(origin, STR("http://"))) rest = str_from(origin, 7);
    else if (str_starts(origin, STR("https://"))) rest = str_from(origin, 8);
    else return false;
    return str_eq_nocase(rest, host);
}

static bool refuse(struct request *q, int status, const char *code, const char *message, struct str what)
{
    log_line(LOG_SECURITY, "request.refused", "why", code, "what", log_str(what), "peer", log_str(conn_peer(q->conn)),
             "path", log_str(q->path), NULL);
    conn_error(q->conn, status, code, message);
    return false;
}

bool guard_check(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    struct str  host = request_header(q, "host"), origin = request_header(q, "origin");
    q->principal = &a->local;
    if (host.ptr && !host_allowed(a, host))
        return refuse(q, 421, "unknown_host", "This server does not answer to that name; list it under \"hosts\" in the configuration.", host);
    if (origin.ptr && !origin_allowed(a, origin, host))
        return refuse(q, 403, "foreign_origin", "Pages of that origin may not use this server; list it under \"origins\" in the configuration.", origin);
    return true;
}
