/* oauth.c -- people's tokens: kept, wanted, refreshed.
 *
 *   want ──▶ row read ──▶ good ────────────────────────────────▶ told
 *                    └──▶ over, or refused by the server:
 *                         row read again ──▶ another is there ──▶ told
 *                                       ├──▶ another node refreshes it: once more, in a moment
 *                                       └──▶ claimed ──▶ refresh ──▶ saved ──▶ told
 *                                                             └──▶ refused: forgotten, told so
 *
 * A person is busy while one of these is under way; whoever wants their token meanwhile waits for
 * the same. Wants are told at the end of a turn, never from inside oauth_want.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/oauthform.h"
#include "base/sha256.h"
#include "tool/mcp/oauth_int.h"

static void step(struct oauth_person *p);
static void own_loaded(struct oauth *o);

/* --- people ----------------------------------------------------------------------------------- */

static void person_free(struct oauth_person *p)
{
    list_remove(&p->node);
    (void)map_remove(&p->o->by_name, p->name);
    secret_done(&p->access);
    secret_done(&p->refresh);
    secret_done(&p->source);
    buf_done(&p->row);
    buf_done(&p->scope);
    buf_done(&p->lacks);
    arena_done(&p->arena);
    mem_free(p);
}

/* Whoever wanted nothing for longest is read again when they do. */
static void make_room(struct oauth *o)
{
    if (o->by_name.count < OAUTH_PEOPLE_MAX) return;
    LIST_EACH (n, &o->people) {
        struct oauth_person *p = LIST_ITEM(n, struct oauth_person, node);
        if (p->pins || p->ready || !list_empty(&p->wants)) continue;
        person_free(p);
        return;
    }
}

struct oauth_person *oauth_person(struct oauth *o, struct str name)
{
    struct oauth_person *p = map_get(&o->by_name, name);
    char                 whose[SHA256_HEX + 1];
    if (p) {
        list_remove(&p->node);
        list_add(&o->people, &p->node);
        return p;
    }
    make_room(o);
    if (!(p = mem_alloc(sizeof *p))) return NULL;
    p->o = o;
    sha256_name(name, whose);
    list_init(&p->wants);
    arena_init(&p->arena, 0);
    buf_init(&p->row, 0);
    buf_init(&p->scope, 0);
    buf_init(&p->lacks, 0);
    p->name = arena_dup(&p->arena, name);
    p->key = arena_printf(&p->arena, "mcp/" STR_FMT "/%s", STR_ARG(o->setup.server), whose);
    list_add(&o->people, &p->node);
    if (!p->arena.failed && map_put(&o->by_name, p->name, p) == OK) return p;
    person_free(p);
    return NULL;
}

static void forget(struct oauth_person *p)
{
    secret_done(&p->access);
    secret_done(&p->refresh);
    secret_done(&p->source);
    buf_clear(&p->row);
    buf_clear(&p->scope);
    buf_clear(&p->lacks);
    p->ends_ms = p->claim_ms = 0;
    p->stale = p->reread = p->claimed = false;
    p->loaded = false; /* another node may have them again */
}

void oauth_person_row(struct oauth_person *p, struct str sealed)
{
    buf_clear(&p->row);
    buf_str(&p->row, sealed);
}

/* --- their row -------------------------------------------------------------------------------- */

void oauth_source_write(struct jsonw *w, const struct oauth_source *s)
{
    jw_kstr(w, "issuer", s->issuer);
    jw_kstr(w, "endpoint", s->token);
    jw_kstr(w, "resource", s->resource);
    jw_kstr(w, "client_id", s->client.id);
    if (s->client.secret.ptr) jw_kstr(w, "client_secret", s->client.secret);
    jw_kbool(w, "posted", s->secret_posted);
}

void oauth_source_read(struct oauth_source *s, const struct jv *v)
{
    *s = (struct oauth_source){ .issuer = jv_str_at(v, "issuer"),
                                .token = jv_str_at(v, "endpoint"),
                                .resource = jv_str_at(v, "resource"),
                                .client = { jv_str_at(v, "client_id"),
                                            jv_str_at(v, "client_secret") },
                                .secret_posted = jv_true(jv_get(v, "posted")) };
}

void oauth_person_write(const struct oauth_person *p, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "access", secret_view(&p->access));
    if (secret_is_set(&p->refresh)) jw_kstr(&w, "refresh", secret_view(&p->refresh));
    jw_kint(&w, "ends", p->ends_ms);
    jw_kint(&w, "early", p->early_ms);
    jw_kraw(&w, "source", secret_view(&p->source));
    if (p->scope.len) jw_kstr(&w, "scope", buf_view(&p->scope));
    if (p->lacks.len) jw_kstr(&w, "lacks", buf_view(&p->lacks));
    if (p->claimed) {
        jw_kstr(&w, "claim", str_n(p->o->node, OAUTH_NODE));
        jw_kint(&w, "claim_until", p->claim_ms);
    }
    jw_end_obj(&w);
}

static bool set_source(struct oauth_person *p, const struct oauth_source *s)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    oauth_source_write(&w, s);
    jw_end_obj(&w);
    bool ok = !b.err && secret_set(&p->source, buf_view(&b)) == OK;
    secret_wipe(b.ptr, b.cap);
    buf_done(&b);
    return ok;
}

bool oauth_person_take(struct oauth_person *p, const struct oauth_grant *g,
                       const struct oauth_source *s)
{
    /* without a new one the old refresh token goes on being good (RFC 6749 6) */
    if (secret_set(&p->access, g->access) != OK ||
        (g->refresh.ptr && secret_set(&p->refresh, g->refresh) != OK) || (s && !set_source(p, s))) {
        forget(p);
        return false;
    }
    p->ends_ms = g->expires_s ? clock_wall_ms() + g->expires_s * 1000 : 0;
    p->early_ms = g->expires_s * 250 < OAUTH_EARLY_MS ? g->expires_s * 250 : OAUTH_EARLY_MS;
    if (g->scope.ptr) {
        buf_clear(&p->scope);
        oauth_scope_add(&p->scope, g->scope);
    }
    p->loaded = true;
    p->claim_ms = 0;
    p->stale = p->reread = p->claimed = false;
    return true;
}

static bool take_row(struct oauth_person *p, const struct jv *v)
{
    struct str       access = jv_str_at(v, "access");
    const struct jv *source = jv_get(v, "source");

    if (!str_eq(secret_view(&p->access), access)) {
        p->stale = false;
        buf_clear(&p->lacks);
    }
    buf_clear(&p->scope);
    oauth_scope_add(&p->scope, jv_str_at(v, "scope"));
    oauth_scope_add(&p->lacks, jv_str_at(v, "lacks"));
    p->claim_ms = jv_int_at(v, "claim_until", 0);
    p->claimed = str_eq(jv_str_at(v, "claim"), str_n(p->o->node, OAUTH_NODE));
    if (secret_set(&p->access, access) != OK ||
        secret_set(&p->refresh, jv_str_at(v, "refresh")) != OK ||
        secret_set(&p->source, source ? source->raw : STR_NONE) != OK)
        return false;
    p->ends_ms = jv_int_at(v, "ends", 0);
    p->early_ms = jv_int_at(v, "early", 0);
    return true;
}

static void on_row(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth_person *p = r->ctx;

    p->pins--;
    if (p->begun != p->turn) return; /* they connected meanwhile: that is told */
    p->busy = false;
    if (e == OK && v && !take_row(p, v)) e = ERR_NOMEM;
    if (e != OK || !v) forget(p);
    else oauth_person_row(p, r->job.body);
    p->loaded = e == OK;
    if (e != OK)
        oauth_person_ready(p, "what is kept of their account cannot be read at the moment");
    else step(p);
}

static void load(struct oauth_person *p)
{
    p->begun = p->turn;
    p->busy = oauth_row_get(p->o, p->key, on_row, p);
    p->pins += p->busy;
    if (!p->busy) oauth_person_ready(p, "there is not enough memory");
}

/* --- refreshing ------------------------------------------------------------------------------- */

static void lost(struct oauth_person *p, const char *why)
{
    log_line(LOG_INFO, "mcp.disconnected", "server", log_str(p->o->setup.server), "who",
             log_str(p->name), "why", why, NULL);
    oauth_row_end(p->o, p->key, buf_view(&p->row));
    forget(p);
    oauth_person_ready(p, NULL);
}

/* Somebody else ended or replaced it meanwhile: what they made of it counts. */
static void look_again(struct oauth_person *p)
{
    forget(p);
    step(p);
}

static void on_saved(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth_person *p = r->ctx;
    (void)v;
    p->pins--;
    if (p->begun != p->turn) return;
    p->busy = false;
    if (e == ERR_NOT_FOUND) {
        look_again(p);
        return;
    }
    oauth_person_row(p, r->job.body);
    /* it is good all the same; a restart asks them again if the old one was used up by this */
    if (e)
        log_line(LOG_ERROR, "mcp.token_not_kept", "server", log_str(p->o->setup.server), "why",
                 err_name(e), NULL);
    oauth_person_ready(p, NULL); /* however short it lives: it is as new as can be */
}

static void save(struct oauth_person *p)
{
    struct buf b;
    if (!p->row.len) { /* they disconnected meanwhile */
        look_again(p);
        return;
    }
    buf_init(&b, 0);
    oauth_person_write(p, &b);
    p->busy = oauth_row_put(p->o, p->key, &b, buf_view(&p->row), on_saved, p);
    p->pins += p->busy;
    buf_done(&b);
    if (!p->busy) oauth_person_ready(p, "there is not enough memory");
}

/* A no of the authorization server; anything else may be better in a moment. */
static bool is_refusal(const struct oauth_answer *a)
{
    return a->status >= 400 && a->status < 500 && a->status != 408 && a->status != 429;
}

static void on_refreshed(struct oauth_transfer *t, const struct oauth_answer *a)
{
    struct oauth_person *p = t->ctx;
    struct oauth_grant   g;
    const char          *why = a->why;

    p->pins--;
    if (p->begun != p->turn) return; /* of tokens that were replaced meanwhile */
    p->busy = false;
    if (!why && is_refusal(a)) {
        lost(p, "the refresh token was refused");
        return;
    }
    if (!why && a->status != 200) why = "its authorization server does not answer as it should";
    if (!why) why = oauth_grant_read(&t->arena, a->doc, &g);
    if (!why && !oauth_person_take(p, &g, NULL)) why = "there is not enough memory";
    if (why) {
        p->reread = false;
        oauth_person_ready(p, why);
    } else save(p);
    secret_wipe(t->body.ptr, t->body.cap);
}

static bool fill_refresh(struct oauth_transfer *t, const struct oauth_person *p,
                         const struct oauth_source *s)
{
    oauth_field(&t->form, "grant_type", STR("refresh_token"));
    oauth_field(&t->form, "refresh_token", secret_view(&p->refresh));
    oauth_field(&t->form, "resource", s->resource.ptr ? s->resource : p->o->setup.url);
    return oauth_authenticate(t, s) &&
           oauth_post(t, "Content-Type: application/x-www-form-urlencoded");
}

static void refresh(struct oauth_person *p)
{
    struct arena           a;
    struct jv             *v;
    struct oauth_source    s = { 0 };
    struct oauth_transfer *t = NULL;

    arena_init(&a, 0);
    if (json_parse(&a, secret_view(&p->source), &v, NULL) == OK) oauth_source_read(&s, v);
    s.token = arena_dup(&a, s.token);
    if (url_is_safe(s.token)) t = oauth_transfer_new(p->o, s.token, on_refreshed);
    if (t) t->ctx = p;
    if (t && fill_refresh(t, p, &s)) {
        p->busy = true;
        p->begun = p->turn;
        p->pins++;
        oauth_start(t);
    } else {
        if (t) oauth_transfer_free(t);
        oauth_person_ready(p, "there is not enough memory");
    }
    arena_done(&a);
}

/* --- whose turn it is to refresh -------------------------------------------------------------- */

static bool is_claimed(const struct oauth_person *p, bool by_us)
{
    return p->claim_ms > clock_wall_ms() && p->claimed == by_us;
}

static void on_claimed(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth_person *p = r->ctx;
    (void)v;
    p->pins--;
    if (p->begun != p->turn) return;
    p->busy = false;
    if (e == OK) oauth_person_row(p, r->job.body);
    else
        p->claimed = p->loaded =
            false; /* somebody was faster, or it may have been us: the row says */
    if (e == OK || e == ERR_NOT_FOUND) step(p);
    else oauth_person_ready(p, "what is kept of their account cannot be written at the moment");
}

static void claim(struct oauth_person *p)
{
    struct buf b;
    buf_init(&b, 0);
    p->claimed = true;
    p->claim_ms = clock_wall_ms() + OAUTH_CLAIM_MS;
    p->begun = p->turn;
    oauth_person_write(p, &b);
    p->busy = oauth_row_put(p->o, p->key, &b, buf_view(&p->row), on_claimed, p);
    p->pins += p->busy;
    buf_done(&b);
    if (!p->busy) oauth_person_ready(p, "there is not enough memory");
}

static void rest(struct oauth_person *p)
{
    p->rests = true;
    loop_timer_set(&p->o->rest, OAUTH_REST_MS);
}

static void rested(struct loop_timer *t)
{
    struct oauth *o = LIST_ITEM(t, struct oauth, rest);
    LIST_EACH (n, &o->people) {
        struct oauth_person *p = LIST_ITEM(n, struct oauth_person, node);
        if (!p->rests) continue;
        p->rests = p->loaded = false;
        step(p);
    }
}

/* --- wants ------------------------------------------------------------------------------------ */

static bool is_over(const struct oauth_person *p)
{
    return p->stale || (p->ends_ms && p->ends_ms - clock_wall_ms() < p->early_ms);
}

/* The next thing that brings them to a token, or to knowing that there is none. */
static void step(struct oauth_person *p)
{
    bool has = secret_is_set(&p->access), lacks = p->lacks.len > 0;

    if (p->busy || p->rests || list_empty(&p->wants)) return;
    if (!p->loaded) load(p);
    else if (!has || (lacks && p->reread)) {
        p->loaded = has;
        oauth_person_ready(p, NULL);
    } else if (!is_over(p) && !lacks) oauth_person_ready(p, NULL);
    else if (!p->reread) {
        p->reread = true;
        load(p);
    } else if (!secret_is_set(&p->refresh))
        lost(p, "its token is over, and there is no refresh token");
    else if (is_claimed(p, false)) rest(p);
    else if (p->o->setup.vault->shared && !is_claimed(p, true)) claim(p);
    else refresh(p);
}

void oauth_person_ready(struct oauth_person *p, const char *why)
{
    if (p->o->closing) return;
    p->ready = true;
    p->why = why;
    loop_mark(p->o->setup.loop, &p->o->dirty);
}

static void tell(struct oauth_person *p)
{
    struct list waiting;
    bool        has = !p->why && secret_is_set(&p->access);

    p->ready = p->reread = false;
    list_init(&waiting);
    list_take(&waiting, &p->wants);
    while (!list_empty(&waiting)) {
        struct oauth_want *w = LIST_ITEM(waiting.next, struct oauth_want, node);
        list_remove(&w->node);
        w->principal = p->name;
        w->lacks = p->lacks.len > 0;
        w->done(w, has && (!w->lacks || w->lists) ? secret_view(&p->access) : STR_NONE, p->why);
    }
}

static struct oauth_person *next_ready(struct oauth *o)
{
    LIST_EACH (n, &o->people) {
        struct oauth_person *p = LIST_ITEM(n, struct oauth_person, node);
        if (p->ready) return p;
    }
    return NULL;
}

static void flush(struct loop_dirty *d)
{
    struct oauth        *o = LIST_ITEM(d, struct oauth, dirty);
    struct oauth_person *p;
    while ((p = next_ready(o))) tell(p);
    while (!list_empty(&o->refused)) {
        struct oauth_want *w = LIST_ITEM(o->refused.next, struct oauth_want, node);
        list_remove(&w->node);
        w->done(w, STR_NONE, "there is not enough memory");
    }
}

static void want_of(struct oauth *o, struct oauth_want *w)
{
    struct oauth_person *p = oauth_person(o, w->principal);
    if (!p) {
        list_add(&o->refused, &w->node);
        loop_mark(o->setup.loop, &o->dirty);
        return;
    }
    list_add(&p->wants, &w->node);
    if (o->setup.vault->shared && !p->busy) p->loaded = false;
    if (w->stale.len && str_eq(w->stale, secret_view(&p->access))) p->stale = true;
    if (!p->ready) step(p);
}

void oauth_want(struct oauth *o, struct oauth_want *w)
{
    if (!w->principal.ptr) {
        w->lists = true;
        if (o->setup.vault->shared || !o->own.loaded || !o->own.lister.ptr) {
            list_add(&o->listers, &w->node);
            if (!oauth_own_load(o)) own_loaded(o);
            return;
        }
        w->principal = o->own.lister.ptr ? o->own.lister : STR("");
    }
    want_of(o, w);
}

void oauth_unwant(struct oauth_want *w)
{
    if (list_linked(&w->node)) list_remove(&w->node);
}

void oauth_forget(struct oauth *o, struct str principal)
{
    struct oauth_person *p = oauth_person(o, principal);
    if (!p) return;
    oauth_row_end(o, p->key, STR_NONE);
    forget(p);
}

/* --- the server's own row --------------------------------------------------------------------- */

struct str oauth_own_key(struct oauth *o, struct arena *a)
{
    return arena_printf(a, "mcp/" STR_FMT, STR_ARG(o->setup.server));
}

void oauth_own_write(const struct oauth *o, struct buf *out)
{
    const struct oauth_own *k = &o->own;
    struct jsonw            w;
    jsonw_init(&w, out);
    jw_obj(&w);
    if (k->lister.ptr) jw_kstr(&w, "lister", k->lister);
    if (k->client.id.ptr) {
        jw_kstr(&w, "issuer", k->issuer);
        jw_kstr(&w, "redirect_uri", k->redirect_uri);
        jw_kstr(&w, "client_id", k->client.id);
        if (k->client.secret.ptr) jw_kstr(&w, "client_secret", k->client.secret);
    }
    jw_end_obj(&w);
}

static void own_loaded(struct oauth *o)
{
    struct list waiting;
    list_init(&waiting);
    list_take(&waiting, &o->listers);
    while (!list_empty(&waiting)) {
        struct oauth_want *w = LIST_ITEM(waiting.next, struct oauth_want, node);
        list_remove(&w->node);
        w->principal = o->own.lister.ptr ? o->own.lister : STR("");
        want_of(o, w);
    }
    oauth_pump(o);
}

bool oauth_own_take(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth_own *k = &r->o->own;
    struct arena     *a = &k->arena;

    k->loaded = k->fresh = e == OK;
    k->failed = e != OK;
    if (e != OK || !v || str_eq(buf_view(&k->row), r->job.body)) return false;
    buf_clear(&k->row);
    buf_str(&k->row, r->job.body);
    k->lister = arena_dup(a, jv_str_at(v, "lister"));
    k->issuer = arena_dup(a, jv_str_at(v, "issuer"));
    k->redirect_uri = arena_dup(a, jv_str_at(v, "redirect_uri"));
    k->client.id = arena_dup(a, jv_str_at(v, "client_id"));
    k->client.secret = arena_dup(a, jv_str_at(v, "client_secret"));
    return true;
}

static void on_own(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth *o = r->o;
    bool          looking = o->looking, news = oauth_own_take(r, e, v);

    if (o->closing) return;
    own_loaded(o);
    o->looking = false;
    if (news && looking) o->setup.connected(o->setup.ctx, o->own.lister);
    if (looking) o->setup.looked(o->setup.ctx);
}

bool oauth_own_load(struct oauth *o)
{
    struct arena a;
    arena_init(&a, 0);
    struct str key = oauth_own_key(o, &a);
    bool       ok = key.ptr && oauth_row_get(o, key, on_own, NULL);
    arena_done(&a);
    return ok;
}

bool oauth_look(struct oauth *o)
{
    o->looking = oauth_own_load(o);
    return o->looking;
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_lack_kept(struct oauth_row *r, enum err e, const struct jv *v)
{
    struct oauth_person *p = r->ctx;
    (void)v;
    p->pins--;
    if (p->begun != p->turn) return;
    p->busy = false;
    if (e == OK) oauth_person_row(p, r->job.body);
    else if (e == ERR_NOT_FOUND) p->loaded = false;
    step(p);
}

/* Kept with the row, because they may connect at another node; known here in any case. */
static void keep_lack(struct oauth_person *p)
{
    struct buf b;
    if (!p->loaded || p->busy || !p->row.len) return;
    buf_init(&b, 0);
    oauth_person_write(p, &b);
    p->begun = p->turn;
    p->busy = oauth_row_put(p->o, p->key, &b, buf_view(&p->row), on_lack_kept, p);
    p->pins += p->busy;
    buf_done(&b);
}

/* What they allowed already would not be more the second time. */
static bool note_lack(struct oauth *o, struct str principal, struct str scope)
{
    struct oauth_person *p = principal.ptr ? oauth_person(o, principal) : NULL;
    if (!p || !oauth_scope_lacks(buf_view(&p->scope), scope)) return false;
    oauth_scope_add(&p->lacks, scope);
    keep_lack(p);
    return p->lacks.len > 0;
}

bool oauth_challenged(struct oauth *o, struct str header, struct str principal)
{
    struct oauth_challenge c;
    struct arena           a;
    bool                   good = true;

    arena_init(&a, 0);
    oauth_challenge_read(&a, header, &c);
    buf_clear(&o->metadata);
    if (c.metadata.ptr) buf_str(&o->metadata, c.metadata);
    if (str_is(c.error, "insufficient_scope"))
        good = note_lack(o, principal.ptr ? principal : o->own.lister, c.scope);
    else {
        buf_clear(&o->scope);
        if (c.scope.ptr) buf_str(&o->scope, c.scope);
        if (!o->finding) o->found_ms = 0; /* it may believe another authorization server now */
    }
    arena_done(&a);
    return good;
}

struct oauth *oauth_new(const struct oauth_setup *s)
{
    struct oauth *o = mem_alloc(sizeof *o);
    if (!o) return NULL;
    o->setup = *s;
    o->open = 1;
    o->near = url_is_loopback(s->url);
    o->dirty.flush = flush;
    loop_timer_init(s->loop, &o->rest, rested);
    id_letters(o->node, sizeof o->node);
    buf_init(&o->more, 0);
    arena_init(&o->arena, 0);
    arena_init(&o->own.arena, 0);
    buf_init(&o->own.row, 0);
    arena_init(&o->found, 0);
    buf_init(&o->metadata, OAUTH_URL_MAX);
    buf_init(&o->scope, OAUTH_SCOPE_MAX);
    list_init(&o->people);
    list_init(&o->listers);
    list_init(&o->refused);
    list_init(&o->begins);
    list_init(&o->transfers);
    map_init(&o->by_name);
    return o;
}

static void timer_closed(struct loop_timer *t)
{
    struct oauth *o = LIST_ITEM(t, struct oauth, rest);
    void (*done)(void *) = o->done;
    void *ctx = o->ctx;
    mem_free(o);
    done(ctx);
}

void oauth_close(struct oauth *o)
{
    if (--o->open) return;
    while (!list_empty(&o->people))
        person_free(LIST_ITEM(o->people.next, struct oauth_person, node));
    map_done(&o->by_name);
    arena_done(&o->own.arena);
    buf_done(&o->own.row);
    arena_done(&o->found);
    arena_done(&o->arena);
    buf_done(&o->metadata);
    buf_done(&o->scope);
    buf_done(&o->more);
    loop_timer_close(&o->rest, timer_closed);
}

void oauth_free(struct oauth *o, void (*done)(void *ctx), void *ctx)
{
    o->closing = true;
    o->done = done;
    o->ctx = ctx;
    loop_undirty(&o->dirty);
    LIST_EACH (n, &o->people) {
        struct oauth_person *p = LIST_ITEM(n, struct oauth_person, node);
        p->why = "the server is being stopped";
        tell(p);
    }
    LIST_EACH (n, &o->transfers) curl_cancel(&LIST_ITEM(n, struct oauth_transfer, node)->job);
    oauth_pump(o);
    oauth_close(o);
}
