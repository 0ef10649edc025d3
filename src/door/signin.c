/* signin.c -- /v1/session: a browser exchanges its key or token for a cookie, asks who it is, signs
 * out.
 *
 * The cookie holds a random id (sessions.h); the key itself need not stay in the page. Without
 * auth everybody is "local" and no cookie is made, but for the start token, where one is needed.
 * What the page found in its address comes under a name of its own, and is never taken as a key.
 */
#include "base/clock.h"
#include "door/app.h"

/* Those with a meaning of their own, then the others that a key or token says. */
static void write_roles(struct jsonw *w, const struct principal *p)
{
    static const struct {
        unsigned    bit;
        const char *word;
    } OWN[] = { { ROLE_USER, "user" },
                { ROLE_APPROVER, "approver" },
                { ROLE_ADMIN, "admin" },
                { ROLE_AGENT, "agent" } };
    struct str rest = p->words, word;
    bool       told;

    jw_arr(w);
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (p->roles & OWN[i].bit) jw_strz(w, OWN[i].word);
    while (str_split(&rest, ' ', &word)) {
        told = !word.len;
        for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) told |= str_is(word, OWN[i].word);
        if (!told) jw_str(w, word);
    }
    jw_end_arr(w);
}

static void tell(struct request *q, const struct principal *p)
{
    char         time[CLOCK_RFC3339_LEN + 1];
    struct buf   b;
    struct jsonw w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "principal", p->name);
    jw_key(&w, "roles");
    write_roles(&w, p);
    if (p->until_s) clock_rfc3339(p->until_s * 1000, time);
    jw_kstrz(&w, "until", p->until_s ? time : NULL);
    jw_kstrz(&w, "decides", app_of(conn_server(q->conn))->approvers_only ? "approver" : "owner");
    jw_kstrz(&w, "context", context_name(hub_setup(app_of(conn_server(q->conn))->hub)->context));
    jw_kbool(&w, "holds", hub_setup(app_of(conn_server(q->conn))->hub)->hold);
    jw_end_obj(&w);
    json_reply(q->conn, 200, &b);
}

/* {"start_token"} in the body: what stood in an address that somebody opened. Anybody makes such a
 * link, so it signs nobody in: it is a start token, or nothing. */
static struct str from_address(struct request *q)
{
    struct jv *body;

    if (json_parse(q->arena, q->body, &body, NULL) != OK) return STR_NONE;
    return jv_str_at(body, "start_token");
}

/* The header's, or {"token"} in the body. STR_NONE: answered. */
static struct str token_of(struct request *q)
{
    struct str token = identify_bearer(q);
    struct jv *body;

    if (token.ptr) return token;
    if (json_parse(q->arena, q->body, &body, NULL) == OK) token = jv_str_at(body, "token");
    if (!token.ptr)
        conn_error(q->conn, 422, "bad_field",
                   "\"token\" is missing: send {\"token\":\"...\"}, or Authorization: Bearer.");
    return token;
}

static void no_memory(struct conn *c)
{
    conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
}

static void on_given(void *ctx, struct conn *c, const struct principal *p)
{
    (void)ctx;
    if (c && p) tell(conn_request(c), p);
    else if (c)
        conn_error(c, 503, "store_unavailable",
                   "Signing in cannot be saved at the moment. Try again in a moment.");
}

static void begin(struct app *a, struct request *q, const struct principal *p)
{
    struct str ids[SESSION_COOKIES_MAX];
    size_t     count = identify_sessions(a, q, ids);

    /* the one before is of no use any more */
    if (count) (void)session_end_all(a, q, ids, count, NULL);
    if (!session_give(a, q, p, on_given, NULL)) no_memory(q->conn);
}

/* The start token for a cookie. Without one nothing is asked for and nothing proved: they are told
 * who they are. */
static void begin_local(struct app *a, struct request *q)
{
    struct principal p = a->local;
    struct str       token = from_address(q);

    if (!a->token.needed) {
        tell(q, &p);
        return;
    }
    if (!token.ptr) token = token_of(q);
    if (!token.ptr) return;
    if (!start_token_fits(&a->token, token)) {
        identify_failed(q->conn, "not the start token", q->path);
        conn_error(q->conn, 401, "unauthorized",
                   "That is not the token of this start: open the address that parley printed when "
                   "it started.");
        return;
    }
    p.may_answer = true;
    p.proof = auth_proof(q->arena, "start", a->token.sha256);
    begin(a, q, &p);
}

void session_begin(struct server *s, struct request *q)
{
    struct app      *a = app_of(s);
    struct principal p;
    const char      *why;

    if (!auth_on(a->auth)) {
        begin_local(a, q);
        return;
    }
    if (from_address(q).ptr) {
        conn_error(q->conn, 422, "no_start_token",
                   "This server has sign-in, and no start token: an address signs nobody in. Send "
                   "{\"token\":\"...\"}, or Authorization: Bearer.");
        return;
    }
    struct str token = token_of(q);
    if (!token.ptr) return;
    switch (auth_token(a->auth, token, q->arena, &p, &why)) {
    case AUTH_GOOD:
        if (!p.user_header.len) {
            begin(a, q, &p);
            return;
        }
        why = "a key with user_header has no session of its own";
        /* fall through */
    case AUTH_BAD:
        identify_failed(q->conn, why, q->path);
        conn_header(q->conn, "WWW-Authenticate",
                    STR("Bearer realm=\"parley\", error=\"invalid_token\""));
        conn_error(q->conn, 401, "unauthorized", "That key or token is not accepted.");
        return;
    case AUTH_LATER:
        conn_header(q->conn, "Retry-After", STR("2"));
        conn_error(q->conn, 503, "keys_unavailable",
                   "The keys to check your token are being fetched; try again in a moment.");
        return;
    }
}

void session_show(struct server *s, struct request *q)
{
    (void)s;
    tell(q, q->principal);
}

static void on_ended(struct conn *c, bool over)
{
    if (!over) {
        conn_error(c, 503, "store_unavailable",
                   "Signing out cannot be saved at the moment: you are still signed in. Try again "
                   "in a moment.");
        return;
    }
    identify_set_cookie(app_of(conn_server(c)), conn_request(c), STR(""), 0);
    conn_reply(c, 204, NULL, STR(""));
}

void session_end(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    struct str  ids[SESSION_COOKIES_MAX];

    if (!auth_on(a->auth) && !a->token.needed) conn_reply(q->conn, 204, NULL, STR(""));
    else if (!session_end_all(a, q, ids, identify_sessions(a, q, ids), on_ended))
        no_memory(q->conn);
}
