/* identify.c -- who is behind a request: `Authorization: Bearer`, or the session's cookie.
 *
 * A bearer token is sent on purpose, so it counts wherever it comes from, and alone: a bad one is
 * not made good by a cookie beside it. Tokens in addresses are not read: those end up in logs and
 * histories.
 *
 * A cookie is sent by the browser without being asked, so it counts only when the browser says that
 * our own page (or one that is listed) asked: by Origin, which the guard has checked, or by
 * Sec-Fetch-Site. SameSite=Strict keeps other sites from sending it at all; but to a browser every
 * port of one host is the same site, and any page on another port of this machine is none of ours.
 * A request without either header is not from a browser of this decade: it may read with its
 * cookie, but change nothing.
 *
 * Without sign-in everybody is "local"; the start token (starttoken.h) is shown in the same two
 * ways.
 */
#include "base/clock.h"
#include "base/log.h"
#include "door/app.h"
#include "http/http1.h"
#include "run/rules.h"

#define COOKIE "parley"
/* a browser takes this name over https only, and from no subdomain */
#define COOKIE_SECURE "__Host-parley"

/* log lines about strangers, and in which time */
enum { COMPLAINTS_MAX = 100, COMPLAINTS_MS = 10000 };

struct str identify_bearer(const struct request *q)
{
    struct str value = request_header(q, "authorization");

    if (value.len < 7 || !str_eq_nocase(str_cut(value, 7), STR("bearer "))) return STR_NONE;
    return str_trim(str_from(value, 7));
}

/* --- cookies --------------------------------------------------------------------------------- */

/* As it came, or as a proxy we believe says. */
bool identify_https(const struct app *a, const struct request *q)
{
    bool       trusted = conn_is_loopback(q->conn);
    struct str peer = conn_peer(q->conn);

    if (conn_is_secure(q->conn)) return true;

    for (size_t i = 0; !trusted && i < a->proxies.count; i++)
        trusted = str_eq_nocase(a->proxies.list[i], peer);
    /* "https, http": each proxy on the way put its own behind it. The first is what the browser
     * speaks, and it is the browser that takes a Secure cookie or not. Whoever lies about it there
     * spoils only their own cookie. */
    struct str list = request_header(q, "x-forwarded-proto"), first = STR_NONE;
    return trusted && str_split(&list, ',', &first) && str_eq_nocase(str_trim(first), STR("https"));
}

static bool is_safe(struct str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD") || str_is(method, "OPTIONS");
}

static bool cookie_counts(const struct request *q)
{
    struct str site = request_header(q, "sec-fetch-site");

    if (request_header(q, "origin").ptr) return true;
    if (site.ptr) return str_is(site, "same-origin") || str_is(site, "none");
    return is_safe(q->method) && !conn_wants_upgrade(q);
}

/* The next cookie of that name, from header `*i` on; `rest` is what is left of that header. */
static bool next_cookie(const struct request *q, const char *name, size_t *i, struct str *rest,
                        struct str *value)
{
    struct str pair;

    for (; *i < q->header_count; (*i)++, *rest = STR_NONE) {
        if (!str_eq_nocase(q->headers[*i].name, STR("cookie"))) continue;
        if (!rest->ptr) *rest = q->headers[*i].value;
        while (str_split(rest, ';', &pair)) {
            ptrdiff_t eq = str_find(pair = str_trim(pair), STR("="));
            if (eq < 0 || !str_is(str_cut(pair, (size_t)eq), name)) continue;
            *value = str_from(pair, (size_t)eq + 1);
            return true;
        }
    }
    return false;
}

struct str identify_cookie(const struct request *q, const char *name)
{
    size_t     i = 0;
    struct str rest = STR_NONE, value = STR_NONE;
    return next_cookie(q, name, &i, &rest, &value) ? value : STR_NONE;
}

static size_t session_cookies(const struct app *a, const struct request *q,
                              struct str ids[SESSION_COOKIES_MAX])
{
    const char *name = identify_https(a, q) ? COOKIE_SECURE : COOKIE;
    size_t      i = 0, count = 0;
    struct str  rest = STR_NONE, id;

    while (count < SESSION_COOKIES_MAX && next_cookie(q, name, &i, &rest, &id)) {
        if (id.len == SESSION_ID_LEN) ids[count++] = id;
        if (!rest.ptr) i++;
    }
    return count;
}

size_t identify_sessions(const struct app *a, const struct request *q,
                         struct str ids[SESSION_COOKIES_MAX])
{
    return cookie_counts(q) ? session_cookies(a, q, ids) : 0;
}

/* A subdomain, or another port, can put cookies of the same name beside ours: each is tried. *id:
 * the one that is known, or that is to be read first. */
static enum session_is find_session(struct app *a, const struct request *q, struct str *id,
                                    struct session_seen *out)
{
    struct str      ids[SESSION_COOKIES_MAX];
    size_t          count = session_cookies(a, q, ids);
    enum session_is found = SESSION_IS_NONE;

    for (size_t i = 0; i < count; i++) {
        enum session_is is = session_look(a, ids[i], out);
        if (is == SESSION_IS_NONE || (is == found && is != SESSION_IS_KNOWN)) continue;
        *id = ids[i];
        found = is;
        if (is == SESSION_IS_KNOWN) break;
    }
    return found;
}

void identify_set_cookie(const struct app *a, struct request *q, struct str id, unsigned seconds)
{
    bool       https = identify_https(a, q);
    struct str v =
        arena_printf(q->arena, "%s=" STR_FMT "; Path=/; Max-Age=%u; HttpOnly; SameSite=Strict%s",
                     https ? COOKIE_SECURE : COOKIE, STR_ARG(id), seconds, https ? "; Secure" : "");
    if (v.ptr) conn_header(q->conn, "Set-Cookie", v);
}

/* --- both ------------------------------------------------------------------------------------- */

static enum identity by_token(struct app *a, struct request *q, struct str token,
                              struct principal *p, const char **why)
{
    switch (auth_token(a->auth, token, q->arena, p, why)) {
    case AUTH_GOOD: return IDENTITY_KNOWN;
    case AUTH_BAD: return IDENTITY_BAD;
    case AUTH_LATER: return IDENTITY_LATER;
    }
    return IDENTITY_BAD;
}

static enum identity by_cookie(struct app *a, struct request *q, struct principal *p,
                               const char **why)
{
    struct session_seen seen;
    struct str          id;

    switch (find_session(a, q, &id, &seen)) {
    case SESSION_IS_NONE: return IDENTITY_NONE;
    case SESSION_IS_UNREAD: session_wait(a, q, id); return IDENTITY_ASKED;
    case SESSION_IS_KNOWN: break;
    }
    if (!cookie_counts(q)) {
        *why = "a cookie that another site sent";
        return IDENTITY_FOREIGN;
    }
    *p = principal_copy(q->arena, &seen.who);
    if (seen.fresh_s) identify_set_cookie(a, q, id, seen.fresh_s);
    return q->arena->failed ? IDENTITY_NONE : IDENTITY_KNOWN;
}

/* The start token, or the session that it was exchanged for. */
static enum identity by_start_token(struct app *a, struct request *q, struct principal *p)
{
    struct principal session;
    const char      *why;

    if (start_token_fits(&a->token, identify_bearer(q))) p->may_answer = true;
    else if (!(q->access & KEYS_ONLY) && cookie_counts(q)) {
        enum identity who = by_cookie(a, q, &session, &why);
        if (who == IDENTITY_ASKED) return who;
        if (who != IDENTITY_KNOWN) return IDENTITY_KNOWN;
        p->may_answer = true;
        p->until_s = session.until_s;
    }
    return IDENTITY_KNOWN;
}

/* Without sign-in everybody is the same person; what they may answer depends on the start token,
 * where there is one. A token that is none is of no account: nobody was asked for one. */
static enum identity local(struct app *a, struct request *q)
{
    struct principal *p = a->token.needed ? arena_new(q->arena, struct principal) : NULL;

    q->principal = p ? p : &a->local;
    if (!p) return IDENTITY_KNOWN;
    *p = a->local;
    return by_start_token(a, q, p);
}

/* A chat program asks for one of its people: KEYPRINCIPAL/VALUE. Without a name it is nobody. */
static enum identity on_behalf(const struct app *a, const struct request *q, struct principal *p,
                               const char **why)
{
    struct str value = STR_NONE;
    unsigned   times = 0;
    for (size_t i = 0; i < q->header_count; i++)
        if (str_eq_nocase(q->headers[i].name, p->user_header)) {
            value = q->headers[i].value;
            times++;
        }
    *why = "the header that names the person came more than once";
    if (times > 1) return IDENTITY_BAD;
    value = auth_user(a->auth, q->arena, p, str_trim(value), why);
    if (!value.ptr) return IDENTITY_BAD;
    *why = "the header that names the person is missing, or no name";
    if (!value.len || p->name.len + 1 + value.len > PRINCIPAL_MAX) return IDENTITY_BAD;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] <= ' ' || value.ptr[i] == '/' ||
            (unsigned char)value.ptr[i] >= 127)
            return IDENTITY_BAD;
    p->name = arena_printf(q->arena, STR_FMT "/" STR_FMT, STR_ARG(p->name), STR_ARG(value));
    p->shared = false;
    p->claims = STR_NONE; /* they are the key's principal's */
    return p->name.ptr ? IDENTITY_KNOWN : IDENTITY_NONE;
}

/* In the request's arena, as a waiter of sessionrow.c. */
struct noting {
    struct conn_hold   hold;
    struct people_wait wait;
    struct conn       *conn;
};

static void on_noted(struct people_wait *w, enum err e)
{
    struct noting *n = LIST_ITEM(w, struct noting, wait);
    if (e) guard_unnoted(conn_request(n->conn));
    else conn_again(n->conn);
}

static void noting_left(struct conn_hold *h)
{
    list_remove(&LIST_ITEM(h, struct noting, hold)->wait.node);
}

/* Roles that are others than they were are committed before anybody is answered by them. */
static enum identity note_roles(struct app *a, struct request *q, struct principal *p)
{
    enum err       e = identify_roles(a, p);
    struct noting *n = e == ERR_BUSY ? arena_new(q->arena, struct noting) : NULL;
    if (!e) return IDENTITY_KNOWN;
    if (!n) {
        guard_unnoted(q);
        return IDENTITY_ASKED;
    }
    *n = (struct noting){ .hold.cancelled = noting_left, .wait.done = on_noted, .conn = q->conn };
    people_wait(hub_setup(a->hub)->people, p->name, &n->wait);
    conn_hold(q->conn, &n->hold);
    return IDENTITY_ASKED;
}

enum identity identify(struct app *a, struct request *q, const char **why)
{
    struct str token;

    *why = "no credentials";
    q->principal = NULL;
    conn_until(q->conn, 0);
    if (!auth_on(a->auth)) return local(a, q);
    struct principal *p = arena_new(q->arena, struct principal);
    if (!p) return IDENTITY_NONE;
    token = identify_bearer(q);
    enum identity who = IDENTITY_NONE;
    if (token.ptr) who = by_token(a, q, token, p, why);
    else if (!(q->access & KEYS_ONLY)) who = by_cookie(a, q, p, why);
    if (who == IDENTITY_KNOWN && p->user_header.len) who = on_behalf(a, q, p, why);
    if (who == IDENTITY_KNOWN) who = note_roles(a, q, p);
    if (who != IDENTITY_KNOWN) return who;
    q->principal = p;
    identify_until(q->conn, p);
    return IDENTITY_KNOWN;
}

enum err identify_roles(struct app *a, struct principal *p)
{
    const struct hub_setup *s = hub_setup(a->hub);

    bool named = rules_concern(s->rules, p->words);

    if (named || roles_have(p->words, STR("notifier"))) p->roles |= ROLE_NAMED;
    return people_saw(s->people, p->name, p->words, named || roles_have(p->words, STR("approver")));
}

void identify_until(struct conn *c, const struct principal *p)
{
    int64_t left = p->until_s * 1000 - clock_wall_ms();
    conn_stranger(c, false);
    conn_until(c, !p->until_s ? 0 : left < 1 ? 1 : (uint64_t)left);
}

/* Strangers must not be able to fill the disk with what is said about them. */
bool may_complain(struct app *a)
{
    uint64_t now = clock_mono_ms();

    if (now - a->complaints.since_ms >= COMPLAINTS_MS) {
        if (a->complaints.dropped)
            log_line(LOG_SECURITY, "security.dropped", "lines", log_int(a->complaints.dropped),
                     NULL);
        a->complaints.since_ms = now;
        a->complaints.lines = a->complaints.dropped = 0;
    }
    if (a->complaints.lines++ < COMPLAINTS_MAX) return true;
    a->complaints.dropped++;
    return false;
}

void identify_failed(const struct conn *c, const char *why, struct str path)
{
    if (!may_complain(app_of(conn_server(c)))) return;
    log_line(LOG_SECURITY, "auth.failed", "why", why, "peer", log_str(conn_peer(c)), "path",
             log_str(path), NULL);
}
