/* oidc.c -- see oidc.h. Transfers go through one pool; each has its buffer, and ends by itself. */
#include "auth/oidc.h"

#include "auth/auth.h"
#include "auth/jwks.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/oauthform.h"
#include "base/secret.h"
#include "loop/curl.h"

enum {
    ANSWER_MAX = 256 * 1024,
    FETCH_MS = 10000,
    EVERY_MS = 3600 * 1000,
    AGAIN_MS = 5000, /* while nobody can sign in */
};

struct oidc {
    struct loop             *loop;
    const struct oidc_setup *setup;
    struct curl_pool         pool;
    struct loop_timer        timer;
    struct jwks             *keys; /* NULL: not discovered yet */
    /* of the last discovery; owned */
    struct arena             found;
    struct str               authorize, token, jwks_url;
    unsigned                 open; /* handles to close before the memory may go */
    bool                     closing;
    void (*done)(void *ctx);
    void *ctx;
};

/* A transfer under way: the discovery document, or a code's exchange. */
struct transfer {
    struct curl_job       job;
    struct oidc          *oidc;
    struct oidc_exchange *exchange; /* NULL: discovery */
    struct buf            body, form;
    struct curl_slist    *headers;
};

/* --- transfers -------------------------------------------------------------------------------- */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    (void)size;
    buf_add(&t->body, p, n);
    return t->body.err ? 0 : n; /* less than n ends the transfer */
}

static void transfer_free(struct transfer *t)
{
    if (t->job.easy) curl_easy_cleanup(t->job.easy);
    curl_slist_free_all(t->headers);
    secret_wipe(t->form.ptr, t->form.cap);
    secret_wipe(t->body.ptr, t->body.cap);
    buf_done(&t->form);
    buf_done(&t->body);
    mem_free(t);
}

static struct transfer *transfer_new(struct oidc *o, struct str url,
                                     void (*done)(struct curl_job *, CURLcode))
{
    struct transfer *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    t->oidc = o;
    buf_init(&t->body, ANSWER_MAX);
    buf_init(&t->form, 0);
    t->job =
        (struct curl_job){ .easy = curl_easy_new(str_starts(url, STR("https:"))), .done = done };
    if (!t->job.easy) {
        transfer_free(t);
        return NULL;
    }
    curl_easy_setopt(t->job.easy, CURLOPT_URL, url.ptr); /* copied by libcurl */
    curl_easy_setopt(t->job.easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->job.easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->job.easy, CURLOPT_TIMEOUT_MS, (long)FETCH_MS);
    return t;
}

/* NULL: a JSON object with status 200 came, in *out. Else why not. */
static const char *answer_of(struct transfer *t, CURLcode code, struct arena *a, struct jv **out)
{
    long status = 0;
    if (code != CURLE_OK) return t->body.err ? "its answer is too long" : curl_easy_strerror(code);
    curl_easy_getinfo(t->job.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return "its answer's status is not 200";
    if (json_parse(a, buf_view(&t->body), out, NULL) != OK || !jv_is(*out, JSON_OBJECT))
        return "its answer is no JSON object";
    return NULL;
}

/* --- discovery -------------------------------------------------------------------------------- */

static struct str address_at(const struct jv *doc, const char *key)
{
    struct str url = jv_str_at(doc, key);
    return url_is_safe(url) ? url : STR_NONE;
}

static const char *take_document(struct oidc *o, const struct jv *doc)
{
    struct str   authorize = address_at(doc, "authorization_endpoint");
    struct str   token = address_at(doc, "token_endpoint"), keys = address_at(doc, "jwks_uri");
    struct arena next;

    if (!str_eq(jv_str_at(doc, "issuer"), o->setup->issuer)) return "it is of another issuer";
    if (!authorize.ptr || !token.ptr || !keys.ptr)
        return "it lacks an address (authorization_endpoint, token_endpoint, jwks_uri) that is "
               "https";
    arena_init(&next, 0);
    authorize = arena_dup(&next, authorize), token = arena_dup(&next, token);
    struct str url = arena_dup(&next, keys);
    if (!o->keys && !next.failed) o->keys = jwks_new(o->loop, url, ALG_RS256 | ALG_ES256);
    if (next.failed || !o->keys) {
        arena_done(&next);
        return "out of memory";
    }
    arena_done(&o->found);
    o->found = next, o->authorize = authorize, o->token = token, o->jwks_url = url;
    return NULL;
}

static void on_document(struct curl_job *job, CURLcode code)
{
    struct transfer *t = LIST_ITEM(job, struct transfer, job);
    struct oidc     *o = t->oidc;
    struct arena     a;
    struct jv       *doc;

    arena_init(&a, 0);
    const char *why = answer_of(t, code, &a, &doc);
    if (!why && !o->closing) why = take_document(o, doc);
    if (!o->closing) {
        log_line(why ? LOG_WARN : LOG_INFO, why ? "oidc.failed" : "oidc.found", "issuer",
                 log_str(address_shown(&a, o->setup->issuer)), "why", why ? why : "", NULL);
        loop_timer_set(&o->timer, why ? AGAIN_MS : EVERY_MS);
    }
    arena_done(&a);
    transfer_free(t);
}

static void discover(struct oidc *o)
{
    struct arena     a;
    struct str       base = o->setup->issuer;
    struct transfer *t = NULL;

    arena_init(&a, 0);
    if (str_ends(base, STR("/"))) base.len--;
    struct str url = arena_printf(&a, STR_FMT "/.well-known/openid-configuration", STR_ARG(base));
    if (url.ptr) t = transfer_new(o, url, on_document);
    arena_done(&a);
    if (t) curl_start(&o->pool, &t->job);
    else loop_timer_set(&o->timer, AGAIN_MS);
}

static void on_timer(struct loop_timer *t)
{
    discover(LIST_ITEM(t, struct oidc, timer));
}

/* --- life ------------------------------------------------------------------------------------- */

struct oidc *oidc_new(struct loop *l, const struct oidc_setup *s)
{
    struct oidc *o = mem_alloc(sizeof *o);
    if (!o) return NULL;
    o->loop = l;
    o->setup = s;
    arena_init(&o->found, 0);
    curl_pool_init(&o->pool, l, 1);
    loop_timer_init(l, &o->timer, on_timer);
    o->open = 3;
    discover(o);
    return o;
}

static void gone(struct oidc *o)
{
    void (*done)(void *) = o->done;
    void *ctx = o->ctx;
    if (--o->open) return;
    arena_done(&o->found);
    mem_free(o);
    done(ctx);
}

static void pool_closed(struct curl_pool *p)
{
    gone(LIST_ITEM(p, struct oidc, pool));
}
static void timer_closed(struct loop_timer *t)
{
    gone(LIST_ITEM(t, struct oidc, timer));
}
static void keys_gone(void *ctx)
{
    gone(ctx);
}

void oidc_free(struct oidc *o, void (*done)(void *ctx), void *ctx)
{
    if (!o) {
        done(ctx);
        return;
    }
    o->closing = true;
    o->done = done;
    o->ctx = ctx;
    loop_timer_close(&o->timer, timer_closed);
    curl_pool_close(&o->pool, pool_closed);
    jwks_free(o->keys, keys_gone, o);
}

/* --- the browser's way there ------------------------------------------------------------------ */

struct str oidc_address(const struct oidc *o, struct arena *a, const struct oidc_attempt *t,
                        struct str redirect_uri)
{
    char       challenge[PKCE_LETTERS + 1];
    struct buf q;
    struct str url;

    if (!o->authorize.ptr || !pkce_challenge(t->verifier, challenge)) return STR_NONE;
    buf_init(&q, 0);
    oauth_field(&q, "response_type", STR("code"));
    oauth_field(&q, "client_id", o->setup->client_id);
    oauth_field(&q, "redirect_uri", redirect_uri);
    oauth_field(&q, "scope", o->setup->scope);
    oauth_field(&q, "state", t->state);
    oauth_field(&q, "nonce", t->nonce);
    oauth_field(&q, "code_challenge", str_c(challenge));
    oauth_field(&q, "code_challenge_method", STR("S256"));
    url = q.err ? STR_NONE
                : arena_printf(a, STR_FMT "%c" STR_FMT, STR_ARG(o->authorize),
                               str_find(o->authorize, STR("?")) >= 0 ? '&' : '?',
                               STR_ARG(buf_view(&q)));
    buf_done(&q);
    return url;
}

/* --- a code for a principal ------------------------------------------------------------------- */

struct str oidc_proof(const struct oidc *o, struct arena *a)
{
    return arena_printf(a, "oidc " STR_FMT " " STR_FMT, STR_ARG(o->setup->issuer),
                        STR_ARG(o->setup->client_id));
}

/* NULL: it is good. */
static const char *take_token(struct oidc *o, struct oidc_exchange *x, const struct jv *answer,
                              struct principal *p)
{
    struct jwt_rules  rules = { ALG_RS256 | ALG_ES256, o->setup->issuer, o->setup->client_id,
                                o->setup->roles_claim };
    struct jwt_claims c;
    const char       *why = "no id_token";
    struct str        token = jv_str_at(answer, "id_token");

    if (!token.len || !o->keys) return why;
    switch (
        jwt_check(jwks_keys(o->keys), &rules, token, clock_wall_ms() / 1000, x->arena, &c, &why)) {
    case JWT_GOOD: break;
    case JWT_NO_KEY: (void)jwks_refresh(o->keys); return "signed with a key that is not known yet";
    case JWT_BAD: return why;
    }
    if (!str_eq(c.nonce, x->attempt.nonce)) return "of another sign-in (its nonce differs)";
    /* What ends is the sign-in at the provider; the session has its own end (sessions.h). */
    *p = (struct principal){ .name = arena_dup(x->arena, c.subject),
                             .roles = auth_roles(c.roles),
                             .may_answer = true,
                             .words = auth_words(x->arena, c.roles),
                             .claims = auth_claims_of(x->arena, o->setup->claims,
                                                      o->setup->claim_count, c.all),
                             .proof = oidc_proof(o, x->arena) };
    return x->arena->failed ? "out of memory" : NULL;
}

static void on_token(struct curl_job *job, CURLcode code)
{
    struct transfer      *t = LIST_ITEM(job, struct transfer, job);
    struct oidc_exchange *x = t->exchange;
    struct principal      p;
    struct jv            *answer;

    const char *why = answer_of(t, code, x->arena, &answer);
    if (!why) why = take_token(t->oidc, x, answer, &p);
    transfer_free(t);
    x->done(x, why ? NULL : &p, why);
}

static bool fill(struct transfer *t, const struct oidc_exchange *x)
{
    const struct oidc_setup *s = t->oidc->setup;
    oauth_field(&t->form, "grant_type", STR("authorization_code"));
    oauth_field(&t->form, "code", x->code);
    oauth_field(&t->form, "redirect_uri", x->redirect_uri);
    oauth_field(&t->form, "client_id", s->client_id);
    oauth_field(&t->form, "code_verifier", x->attempt.verifier);
    t->headers = curl_slist_append(NULL, "Expect:");
    if (t->form.err || !t->headers ||
        (s->client_secret.ptr && !curl_client(t->job.easy, s->client_id, s->client_secret)))
        return false;
    curl_easy_setopt(t->job.easy, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(t->job.easy, CURLOPT_POSTFIELDSIZE, (long)t->form.len);
    curl_easy_setopt(t->job.easy, CURLOPT_POSTFIELDS, t->form.ptr);
    curl_once(t->job.easy); /* a code is good once */
    return true;
}

bool oidc_exchange(struct oidc *o, struct oidc_exchange *x)
{
    struct transfer *t = o->token.ptr ? transfer_new(o, o->token, on_token) : NULL;
    if (!t) return false;
    t->exchange = x;
    if (!fill(t, x)) {
        transfer_free(t);
        return false;
    }
    curl_start(&o->pool, &t->job);
    return true;
}
