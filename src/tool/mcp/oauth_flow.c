/* oauth_flow.c -- connecting an account: there, and back.
 *
 *   begin ──▶ own row ──▶ discovery ──▶ their row ──▶ registration ──▶ the address, and what the
 *                          (kept for ten minutes)      (once for an issuer     browser keeps
 *                                                       and a way back)
 *   back  ──▶ is it ours, theirs, of this server, in time? ──▶ code for tokens ──▶ saved ──▶
 *                                                                              connected
 *
 * One begin at a time is worked on, so that two people who connect first do not register twice.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/oauthform.h"
#include "tool/mcp/oauth_int.h"

#define NO_MEMORY "there is not enough memory"

static void find_resource(struct oauth *o, unsigned n);
static void find_server(struct oauth *o, unsigned n);

/* --- the line of those who begin -------------------------------------------------------------- */

static struct oauth_begin *first(struct oauth *o)
{
    return LIST_ITEM(o->begins.next, struct oauth_begin, node);
}

static void answer(struct oauth *o, struct str url, struct str sealed, const char *why)
{
    struct oauth_begin *b = first(o);
    list_remove(&b->node);
    o->finding = o->looked = o->own.fresh = false;
    if (why && !o->closing)
        log_line(LOG_WARN, "mcp.connect_failed", "server", log_str(o->setup.server), "why", why,
                 NULL);
    b->done(b, url, sealed, why);
}

static void fail(struct oauth *o, const char *why)
{
    answer(o, STR_NONE, STR_NONE, why);
    oauth_pump(o);
}

bool oauth_begin(struct oauth *o, struct oauth_begin *b)
{
    unsigned waiting = 0;
    LIST_EACH (n, &o->begins) waiting++;
    if (o->closing || waiting >= OAUTH_BEGINS_MAX) return false;
    list_add(&o->begins, &b->node);
    oauth_pump(o);
    return true;
}

/* --- discovery -------------------------------------------------------------------------------- */

static bool fetch(struct oauth *o, struct str                                                  url,
                  void (*done)(struct oauth_transfer *, const struct oauth_answer *), unsigned n)
{
    struct oauth_transfer *t = oauth_transfer_new(o, url, done);
    if (!t) return false;
    t->ctx = (void *)(uintptr_t)n;
    oauth_start(t);
    return true;
}

static unsigned count_of(const struct oauth_transfer *t)
{
    return (unsigned)(uintptr_t)t->ctx;
}

static void forget_found(struct oauth *o)
{
    arena_done(&o->found);
    arena_init(&o->found, 0);
    o->as = (struct oauth_server){ 0 };
    o->scopes = o->resource = STR_NONE;
    o->found_ms = 0;
}

/* Whom the server believes is known; STR_NONE: it did not say, so it is its own, as in the first
 * version of the protocol. */
static void take_issuer(struct oauth *o, struct str issuer)
{
    const struct oauth_setup *s = &o->setup;
    if (!issuer.ptr) issuer = oauth_origin(s->url);
    if (s->issuer.ptr && !str_eq(s->issuer, issuer)) {
        fail(o, "it names another authorization server than the one that is configured (issuer)");
        return;
    }
    o->as.issuer = arena_dup(&o->found, issuer);
    find_server(o, 0);
}

static void on_resource(struct oauth_transfer *t, const struct oauth_answer *a)
{
    struct oauth         *o = t->o;
    struct oauth_resource r;
    const char           *why = a->why;

    if (!why && a->status != 200) {
        find_resource(o, count_of(t) + 1);
        return;
    }
    if (!why) why = oauth_resource_read(&o->found, a->doc, o->setup.url, &r);
    if (why) {
        fail(o, why);
        return;
    }
    o->scopes = r.scopes;
    o->resource = r.resource;
    take_issuer(o, r.issuer);
}

/* The place a server names is looked at first, if it is its own: it must not send us elsewhere. */
static void find_resource(struct oauth *o, unsigned n)
{
    struct str said = arena_dup(&o->found, buf_view(&o->metadata)), url = o->setup.url;
    bool       own = said.len && url_is_safe(said) && oauth_same_origin(said, url);

    if (said.len && !own && n == 0) {
        fail(o, "it says that its metadata is on another host than its own");
        return;
    }
    struct str at = own && n == 0 ? said : oauth_resource_place(&o->found, url, n - own);
    if (!at.ptr && !o->found.failed) take_issuer(o, STR_NONE);
    else if (!at.ptr || !fetch(o, at, on_resource, n)) fail(o, NO_MEMORY);
}

static void on_server(struct oauth_transfer *t, const struct oauth_answer *a)
{
    struct oauth       *o = t->o;
    struct oauth_server as;
    const char         *why = a->why;

    if (!why && a->status != 200) {
        find_server(o, count_of(t) + 1);
        return;
    }
    if (!why) why = oauth_server_read(&o->found, a->doc, o->as.issuer, o->near, &as);
    if (why) {
        fail(o, why);
        return;
    }
    o->as = as;
    o->found_ms = clock_mono_ms();
    o->finding = false;
    oauth_pump(o);
}

static void find_server(struct oauth *o, unsigned n)
{
    struct str at = oauth_server_place(&o->found, o->as.issuer, n);

    if (o->as.issuer.ptr &&
        (!url_is_safe(o->as.issuer) || (!o->near && url_is_loopback(o->as.issuer))))
        fail(o, "the authorization server is not reached over https");
    else if (!at.ptr && !o->found.failed) fail(o, "its authorization server has no metadata");
    else if (!at.ptr || !fetch(o, at, on_server, n)) fail(o, NO_MEMORY);
}

/* --- who we are to it ------------------------------------------------------------------------- */

static bool is_registered(const struct oauth *o, const struct oauth_begin *b)
{
    const struct oauth_own *k = &o->own;
    return k->client.id.ptr && str_eq(k->issuer, o->as.issuer) &&
           str_eq(k->redirect_uri, b->redirect_uri);
}

static void save_own(struct oauth *o, void (*done)(struct oauth_row *, enum err, const struct jv *),
                     void         *ctx)
{
    struct arena a;
    struct buf   b;
    arena_init(&a, 0);
    buf_init(&b, 0);
    oauth_own_write(o, &b);
    struct str key = oauth_own_key(o, &a);
    bool       ok = key.ptr && oauth_row_put(o, key, &b, STR_NONE, done, ctx);
    if (!ok) log_line(LOG_ERROR, "mcp.client_not_kept", "server", log_str(o->setup.server), NULL);
    buf_done(&b);
    arena_done(&a);
}

static void on_registered(struct oauth_transfer *t, const struct oauth_answer *a)
{
    struct oauth       *o = t->o;
    struct oauth_own   *k = &o->own;
    struct oauth_client c;
    const char         *why = a->why;

    if (!why && a->status != 200 && a->status != 201)
        why =
            "its authorization server does not register clients by themselves: register one there "
            "and put its id into \"oauth\".\"client_id\"";
    if (!why) why = oauth_client_read(&k->arena, a->doc, &c);
    if (why) {
        fail(o, why);
        return;
    }
    k->client = c;
    k->issuer = arena_dup(&k->arena, o->as.issuer);
    k->redirect_uri = arena_dup(&k->arena, first(o)->redirect_uri);
    save_own(o, NULL, NULL); /* lost: the next start registers again */
    o->finding = false;
    oauth_pump(o);
}

static void write_registration(struct buf *out, const struct oauth_begin *b, struct str scope)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstrz(&w, "client_name", "parley");
    /* a web client's way back is https; on this machine we are a program like any other */
    jw_kstrz(&w, "application_type", url_is_loopback(b->redirect_uri) ? "native" : "web");
    jw_kraw(&w, "grant_types", STR("[\"authorization_code\",\"refresh_token\"]"));
    jw_kraw(&w, "response_types", STR("[\"code\"]"));
    jw_kstrz(&w, "token_endpoint_auth_method", "none");
    jw_key(&w, "redirect_uris");
    jw_arr(&w);
    jw_str(&w, b->redirect_uri);
    jw_end_arr(&w);
    if (scope.len) jw_kstr(&w, "scope", scope);
    jw_end_obj(&w);
}

/* What is asked for: as configured, else what the server wanted last, else what it knows; and what
 * they had, when that did not suffice, with what was lacking. */
static void write_scope(const struct oauth *o, struct buf *out)
{
    oauth_scope_add(out, o->setup.scopes.ptr ? o->setup.scopes
                         : o->scope.len      ? buf_view(&o->scope)
                                             : o->scopes);
    oauth_scope_add(out, buf_view(&o->more));
    if (o->as.offline) oauth_scope_add(out, STR("offline_access"));
}

static void look_up(struct oauth *o, struct str scope, struct str lacks)
{
    if (!lacks.len) return;
    oauth_scope_add(&o->more, scope);
    oauth_scope_add(&o->more, lacks);
}

static void on_had(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth *o = r->o;
    if (e != OK || o->closing) {
        fail(o, "what is kept of their account cannot be read at the moment");
        return;
    }
    look_up(o, jv_str_at(v, "scope"), jv_str_at(v, "lacks"));
    o->looked = true;
    o->finding = false;
    oauth_pump(o);
}

/* What the first of the line has and lacks, as far as any node knows. */
static void look(struct oauth *o)
{
    struct oauth_person *p = oauth_person(o, first(o)->principal);
    buf_clear(&o->more);
    if (p) look_up(o, buf_view(&p->scope), buf_view(&p->lacks));
    if (!p || !oauth_row_get(o, p->key, on_had, NULL)) fail(o, NO_MEMORY);
}

static void enlist(struct oauth *o)
{
    struct oauth_transfer *t = oauth_transfer_new(o, o->as.registration, on_registered);
    struct buf             scope;

    if (!o->as.registration.ptr) {
        fail(o, "it needs \"oauth\".\"client_id\": its authorization server does not register "
                "clients by themselves");
        return;
    }
    buf_init(&scope, 0);
    write_scope(o, &scope);
    if (t) write_registration(&t->form, first(o), buf_view(&scope));
    if (t && !scope.err && oauth_post(t, "Content-Type: application/json")) oauth_start(t);
    else {
        if (t) oauth_transfer_free(t);
        fail(o, NO_MEMORY);
    }
    buf_done(&scope);
}

/* --- there ------------------------------------------------------------------------------------ */

static struct oauth_source source_of(const struct oauth *o)
{
    bool configured = o->setup.client_id.ptr != NULL;
    return (struct oauth_source){
        .issuer = o->as.issuer,
        .token = o->as.token,
        .resource = o->resource.ptr ? o->resource : o->setup.url,
        .client = configured ? (struct oauth_client){ o->setup.client_id, o->setup.client_secret }
                             : o->own.client,
        .secret_posted = o->as.secret_posted,
    };
}

/* What the browser keeps: everything the way back needs, and for whom it is. */
static bool write_try(const struct oauth *o, const struct oauth_begin *b, struct str state,
                      struct str verifier, struct str scope, struct buf *sealed)
{
    struct oauth_source s = source_of(o);
    struct buf          plain;
    struct jsonw        w;

    buf_init(&plain, 0);
    jsonw_init(&w, &plain);
    jw_obj(&w);
    jw_kstr(&w, "server", o->setup.server);
    jw_kstr(&w, "principal", b->principal);
    jw_kstr(&w, "state", state);
    jw_kstr(&w, "verifier", verifier);
    jw_kstr(&w, "redirect_uri", b->redirect_uri);
    jw_kstr(&w, "to", b->to);
    jw_kint(&w, "until", clock_wall_ms() + OAUTH_TRY_MS);
    jw_kbool(&w, "says_issuer", o->as.says_issuer);
    jw_kstr(&w, "scope", scope);
    oauth_source_write(&w, &s);
    jw_end_obj(&w);
    bool ok = !plain.err && seal(o->setup.key, STR("mcp try"), buf_view(&plain), sealed) == OK;
    secret_wipe(plain.ptr, plain.cap);
    buf_done(&plain);
    return ok && !sealed->err;
}

static bool write_address(const struct oauth *o, const struct oauth_begin *b, struct str state,
                          struct str verifier, struct str scope, struct buf *out)
{
    char       challenge[PKCE_LETTERS + 1];
    struct buf q;

    if (!pkce_challenge(verifier, challenge)) return false;
    buf_init(&q, 0);
    oauth_field(&q, "response_type", STR("code"));
    oauth_field(&q, "client_id", source_of(o).client.id);
    oauth_field(&q, "redirect_uri", b->redirect_uri);
    oauth_field(&q, "state", state);
    oauth_field(&q, "code_challenge", str_c(challenge));
    oauth_field(&q, "code_challenge_method", STR("S256"));
    oauth_field(&q, "resource", source_of(o).resource);
    if (scope.len) oauth_field(&q, "scope", scope);
    /* a refresh token is given to whoever was asked for it */
    if (o->as.offline) oauth_field(&q, "prompt", STR("consent"));
    buf_str(out, o->as.authorize);
    buf_chr(out, str_find(o->as.authorize, STR("?")) >= 0 ? '&' : '?');
    buf_str(out, buf_view(&q));
    bool ok = !q.err && !out->err;
    buf_done(&q);
    return ok;
}

static void send_there(struct oauth *o)
{
    char       state[PKCE_LETTERS], verifier[PKCE_LETTERS];
    struct buf url, sealed, scope;

    id_letters(state, sizeof state);
    id_letters(verifier, sizeof verifier);
    struct str s = str_n(state, sizeof state), v = str_n(verifier, sizeof verifier);
    buf_init(&url, 0);
    buf_init(&sealed, 0);
    buf_init(&scope, 0);
    write_scope(o, &scope);
    bool ok = !scope.err && write_try(o, first(o), s, v, buf_view(&scope), &sealed) &&
              write_address(o, first(o), s, v, buf_view(&scope), &url);
    if (ok) answer(o, buf_view(&url), buf_view(&sealed), NULL);
    else answer(o, STR_NONE, STR_NONE, NO_MEMORY);
    secret_wipe(verifier, sizeof verifier);
    buf_done(&url);
    buf_done(&sealed);
    buf_done(&scope);
}

static bool found_lately(const struct oauth *o)
{
    return o->found_ms && clock_mono_ms() - o->found_ms < OAUTH_FOUND_MS;
}

void oauth_pump(struct oauth *o)
{
    while (!list_empty(&o->begins) && !o->finding) {
        o->finding = true;
        if (o->closing) answer(o, STR_NONE, STR_NONE, "the server is being stopped");
        else if (!o->own.loaded || (o->setup.vault->shared && !o->own.fresh)) {
            bool failed = o->own.failed;
            o->finding = o->own.failed = false;
            if (!failed && oauth_own_load(o)) return;
            answer(o, STR_NONE, STR_NONE, "what is kept of it cannot be read at the moment");
        } else if (!found_lately(o)) {
            forget_found(o);
            find_resource(o, 0);
        } else if (!o->looked) look(o);
        else if (!o->setup.client_id.ptr && !is_registered(o, first(o))) enlist(o);
        else send_there(o);
    }
}

/* --- back ------------------------------------------------------------------------------------- */

struct way_back {
    struct oauth        *o;
    struct oauth_back   *back;
    struct arena         arena; /* what the browser kept */
    struct str           plain, to, principal, verifier, redirect_uri, scope;
    struct oauth_source  source;
    struct oauth_person *person;
};

static void came_back(struct way_back *k, const char *why)
{
    struct oauth      *o = k->o;
    struct oauth_back *b = k->back;
    struct str         to = k->to;

    if (why && !o->closing)
        log_line(LOG_WARN, "mcp.connect_failed", "server", log_str(o->setup.server), "who",
                 log_str(b->principal), "why", why, NULL);
    else if (!o->closing)
        log_line(LOG_INFO, "mcp.connected", "server", log_str(o->setup.server), "who",
                 log_str(b->principal), NULL);
    if (!why && o->setup.connected) o->setup.connected(o->setup.ctx, b->principal);
    b->done(b, to, why);
    if (k->plain.ptr) secret_wipe((void *)(uintptr_t)k->plain.ptr, k->plain.len);
    arena_done(&k->arena);
    mem_free(k);
}

static void on_lister(struct oauth_row *r, enum err e, const struct jv *v)
{
    (void)e;
    (void)v;
    came_back(r->ctx, NULL); /* theirs is saved: that is what counts */
}

/* Written as it is now but for them: another node may have registered us meanwhile. */
static void on_current(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct way_back *k = r->ctx;
    struct oauth    *o = k->o;
    struct arena     a;
    struct buf       b;

    (void)oauth_own_take(r, e, v);
    arena_init(&a, 0);
    buf_init(&b, 0);
    if (!str_eq(o->own.lister, k->back->principal))
        o->own.lister = arena_dup(&o->own.arena, k->back->principal);
    oauth_own_write(o, &b);
    if (!o->own.loaded || !oauth_row_put(o, oauth_own_key(o, &a), &b, STR_NONE, on_lister, k))
        came_back(k, NULL);
    buf_done(&b);
    arena_done(&a);
}

static void on_kept(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct way_back *k = r->ctx;
    struct oauth    *o = k->o;

    (void)v;
    k->person->busy = false;
    k->person->pins--;
    oauth_person_row(k->person, r->job.body);
    if (e != OK) {
        oauth_forget(o, k->person->name);
        came_back(k, "it could not be saved");
        return;
    }
    oauth_person_ready(k->person, NULL);
    struct arena a;
    arena_init(&a, 0);
    if (!oauth_row_get(o, oauth_own_key(o, &a), on_current, k)) came_back(k, NULL);
    arena_done(&a);
}

/* The tokens are the person's from now on; nothing is told before they are saved. */
static const char *keep(struct way_back *k, const struct oauth_grant *g)
{
    struct oauth_person *p = oauth_person(k->o, k->back->principal);
    struct buf           b;

    if (!p) return NO_MEMORY;
    secret_done(&p->refresh); /* of another grant */
    buf_clear(&p->lacks);
    buf_clear(&p->scope);
    oauth_scope_add(&p->scope, k->scope); /* unless they say otherwise */
    if (!oauth_person_take(p, g, &k->source)) return NO_MEMORY;
    k->person = p;
    buf_init(&b, 0);
    oauth_person_write(p, &b);
    p->turn++;
    p->busy = oauth_row_put(k->o, p->key, &b, STR_NONE, on_kept, k);
    p->pins += p->busy;
    buf_done(&b);
    return p->busy ? NULL : NO_MEMORY;
}

static void on_grant(struct oauth_transfer *t, const struct oauth_answer *a)
{
    struct way_back   *k = t->ctx;
    struct oauth_grant g;
    const char        *why = a->why;

    if (!why && a->status != 200) why = "its authorization server does not take the code";
    if (!why) why = oauth_grant_read(&t->arena, a->doc, &g);
    if (!why) why = keep(k, &g);
    if (why) came_back(k, why);
}

static const char *exchange(struct way_back *k)
{
    struct oauth_transfer *t = oauth_transfer_new(k->o, k->source.token, on_grant);
    if (!t) return NO_MEMORY;
    t->ctx = k;
    oauth_field(&t->form, "grant_type", STR("authorization_code"));
    oauth_field(&t->form, "code", k->back->code);
    oauth_field(&t->form, "redirect_uri", k->redirect_uri);
    oauth_field(&t->form, "code_verifier", k->verifier);
    oauth_field(&t->form, "resource", k->source.resource);
    if (oauth_authenticate(t, &k->source) &&
        oauth_post(t, "Content-Type: application/x-www-form-urlencoded")) {
        oauth_start(t);
        return NULL;
    }
    oauth_transfer_free(t);
    return NO_MEMORY;
}

/* A code goes out once. Authorization servers do not take it again either, but some take back what
 * they gave for it the first time. */
static bool first_time(struct oauth *o, struct str state)
{
    uint8_t digest[SHA256_LEN];
    sha256_of(state, digest);
    for (size_t i = 0; i < OAUTH_USED_MAX; i++)
        if (memcmp(o->used[i], digest, sizeof digest) == 0) return false;
    memcpy(o->used[o->used_next++ % OAUTH_USED_MAX], digest, sizeof digest);
    return true;
}

/* NULL: it is what this browser was given, for this person and this server, and the answer is of
 * whom it was asked of. */
static const char *check_try(struct way_back *k, const struct jv *v)
{
    struct oauth_back *b = k->back;

    if (!str_eq(jv_str_at(v, "server"), k->o->setup.server))
        return "the connection was begun for another server";
    if (!str_eq(jv_str_at(v, "principal"), b->principal))
        return "the connection was begun by somebody else";
    if (!b->state.ptr || !str_eq_secret(jv_str_at(v, "state"), b->state))
        return "the connection was not begun in this browser, or begun again since";
    b->spent = true;
    if (jv_int_at(v, "until", 0) < clock_wall_ms()) return "the connection took too long";
    if (b->issuer.ptr ? !str_eq(b->issuer, k->source.issuer) : jv_true(jv_get(v, "says_issuer")))
        return "the answer is of another authorization server";
    if (b->error.ptr) return "the connection was cancelled or refused there";
    if (!b->code.len) return "the answer has no code";
    return first_time(k->o, b->state) ? NULL : "the answer was used before";
}

static const char *open_try(struct way_back *k)
{
    struct jv *v;

    if (!k->back->sealed.len ||
        unseal(k->o->setup.key, STR("mcp try"), k->back->sealed, &k->arena, &k->plain) != OK ||
        json_parse(&k->arena, k->plain, &v, NULL) != OK)
        return "the connection was not begun in this browser";
    oauth_source_read(&k->source, v);
    k->source.token = arena_dup(&k->arena, k->source.token);
    k->verifier = jv_str_at(v, "verifier");
    k->redirect_uri = jv_str_at(v, "redirect_uri");
    k->scope = jv_str_at(v, "scope");
    const char *why = check_try(k, v);
    k->to = arena_dup(&k->arena, jv_str_at(v, "to"));
    return why;
}

bool oauth_back(struct oauth *o, struct oauth_back *b)
{
    struct way_back *k = o->closing ? NULL : mem_alloc(sizeof *k);
    const char      *why;
    if (!k) return false;
    k->o = o;
    k->back = b;
    arena_init(&k->arena, 0);
    why = open_try(k);
    if (!why) why = exchange(k);
    if (why) came_back(k, why);
    return true;
}
