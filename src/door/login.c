/* login.c -- a browser signs in at the identity provider (auth/oidc.h) and comes back with a
 * session.
 *
 *     GET /v1/login?to=/t/…      off to the provider
 *     GET /v1/login/callback     back from it, with a code or with an error
 *
 * What must be remembered in between (state, nonce, verifier, where to go) is in a cookie of this
 * browser that scripts cannot read, good for ten minutes and for these two addresses: so it works
 * on every node, and nobody can be signed in as somebody else by a link, because the state in the
 * link must be the one in the cookie. It is SameSite=Lax, since the way back comes from another
 * site.
 *
 * Whatever goes wrong leads back to the page, which says so in the person's language; the log says
 * why.
 */
#include <openssl/crypto.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "door/app.h"

#define COOKIE    "parley-login"
#define COOKIE_S  600
#define TO_MAX    512
#define VALUE_MAX (3 * (OIDC_LETTERS + 1) + TO_MAX)

static void redirect(struct request *q, struct str where)
{
    conn_header(q->conn, "Location", where.ptr ? where : STR("/"));
    conn_header(q->conn, "Cache-Control", STR("no-store"));
    conn_reply(q->conn, 302, NULL, STR(""));
}

bool login_path(struct str to)
{
    if (to.len == 0 || to.len > TO_MAX || to.ptr[0] != '/') return false;
    for (size_t i = 0; i < to.len; i++) {
        unsigned char c = (unsigned char)to.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("/-_", c));
        if (!plain || (c == '/' && i == 1)) return false;
    }
    return true;
}

static void set_cookie(struct request *q, struct str value, unsigned seconds)
{
    bool       https = identify_https(app_of(conn_server(q->conn)), q);
    struct str v = arena_printf(
        q->arena, COOKIE "=" STR_FMT "; Path=/v1/login; Max-Age=%u; HttpOnly; SameSite=Lax%s",
        STR_ARG(value), seconds, https ? "; Secure" : "");
    if (v.ptr) conn_header(q->conn, "Set-Cookie", v);
}

/* Where the provider sends the browser back to. Host is one of ours: the guard has looked. */
static struct str callback_of(struct request *q)
{
    return arena_printf(q->arena, "%s://" STR_FMT "/v1/login/callback",
                        identify_https(app_of(conn_server(q->conn)), q) ? "https" : "http",
                        STR_ARG(request_header(q, "host")));
}

static struct str random_word(struct arena *a)
{
    char *p = arena_alloc(a, OIDC_LETTERS);
    if (p) id_letters(p, OIDC_LETTERS);
    return p ? str_n(p, OIDC_LETTERS) : STR_NONE;
}

void login_begin(struct server *s, struct request *q)
{
    struct oidc *o = auth_oidc(app_of(s)->auth);
    struct str   to = request_query(q, "to");

    if (!o) {
        web_nothing(s, q);
        return;
    }
    struct oidc_attempt t = { random_word(q->arena), random_word(q->arena), random_word(q->arena) };
    struct str          url = STR_NONE, value = STR_NONE;
    if (t.state.ptr && t.nonce.ptr && t.verifier.ptr) {
        url = oidc_address(o, q->arena, &t, callback_of(q));
        value = arena_printf(q->arena, STR_FMT "." STR_FMT "." STR_FMT "." STR_FMT,
                             STR_ARG(t.state), STR_ARG(t.nonce), STR_ARG(t.verifier),
                             STR_ARG(login_path(to) ? to : STR("/")));
    }
    if (url.ptr && value.ptr) set_cookie(q, value, COOKIE_S);
    redirect(q, url.ptr && value.ptr ? url : STR("/?signin=later"));
}

/* --- back ------------------------------------------------------------------------------------- */

struct login {
    struct ask           ask; /* the waiting alone */
    struct oidc_exchange exchange;
    struct arena         arena;
    struct str           to;
};

static void login_free(struct login *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

static void failed(struct request *q, const char *how, const char *why)
{
    identify_failed(q->conn, why, q->path);
    redirect(q, arena_printf(q->arena, "/?signin=%s", how));
}

static void on_given(void *ctx, struct conn *c, const struct principal *p)
{
    struct login *k = ctx;

    if (p) log_line(LOG_INFO, "auth.signed_in", "by", log_str(p->name), NULL);
    if (c) redirect(conn_request(c), p ? k->to : STR("/?signin=later"));
    login_free(k);
}

static void on_exchanged(struct oidc_exchange *x, const struct principal *p, const char *why)
{
    struct login *k = LIST_ITEM(x, struct login, exchange);
    struct conn  *c = k->ask.conn;

    if (c && p && session_give(k->ask.app, conn_request(c), p, on_given, k)) return;
    if (c && !p) failed(conn_request(c), "failed", why);
    else if (c) redirect(conn_request(c), STR("/?signin=later"));
    login_free(k);
}

/* The cookie's three words and the path; false: not one of ours. */
static bool take_cookie(struct arena *a, struct str value, struct oidc_attempt *t, struct str *to)
{
    struct str rest = arena_dup(a, value);
    if (value.len > VALUE_MAX || !str_split(&rest, '.', &t->state) ||
        !str_split(&rest, '.', &t->nonce) || !str_split(&rest, '.', &t->verifier))
        return false;
    *to = rest;
    return t->state.len == OIDC_LETTERS && t->nonce.len == OIDC_LETTERS &&
           t->verifier.len == OIDC_LETTERS && login_path(rest);
}

static bool is_same(struct str a, struct str b)
{
    return a.len == b.len && CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}

static struct login *login_new(struct server *s, struct request *q)
{
    struct login *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    arena_init(&k->arena, 0);
    ask_init(&k->ask, s, q);
    k->exchange.arena = &k->arena;
    k->exchange.done = on_exchanged;
    k->exchange.code = arena_dup(&k->arena, request_query(q, "code"));
    k->exchange.redirect_uri = arena_dup(&k->arena, callback_of(q));
    return k;
}

void login_back(struct server *s, struct request *q)
{
    struct oidc  *o = auth_oidc(app_of(s)->auth);
    struct login *k = o ? login_new(s, q) : NULL;
    struct str    cookie = identify_cookie(q, COOKIE);

    if (!k) {
        web_nothing(s, q);
        return;
    }
    set_cookie(q, STR(""), 0); /* good for one way back */
    if (!take_cookie(&k->arena, cookie, &k->exchange.attempt, &k->to) ||
        !is_same(request_query(q, "state"), k->exchange.attempt.state))
        failed(q, "expired", "a sign-in that did not begin in this browser");
    else if (!k->exchange.code.len) failed(q, "denied", "the provider did not let them in");
    else {
        conn_hold(q->conn, &k->ask.hold);
        if (oidc_exchange(o, &k->exchange)) return;
        redirect(q, STR("/?signin=later"));
    }
    login_free(k);
}
