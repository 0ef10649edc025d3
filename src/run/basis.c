/* basis.c -- see basis.h. */
#include "run/basis.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/sha256.h"
#include "run/engine.h"

#define FOR_EVER (INT64_MAX / 2) /* as an end that never comes */
/* A server whose list of tools is another one each time would fill the store with them: those that
 * were used last stay. */
#define BASES_MAX 1000
/* With an age: so many times within it what is in use is noted again. */
#define BASIS_FADES 8

/* Of one page: the digest, and what it was made of. It outlives the hub while a row is under
 * way. */
struct basis_kept {
    uint64_t             tools; /* registry.version */
    struct str           system;
    size_t               text_max;
    unsigned             iterations;
    char                 digest[BASIS_DIGEST];
    struct str           text, key;
    struct arena         arena;
    struct store_session row;
    int64_t              kept_ms; /* wall clock */
    bool                 made, busy, orphan;
};

/* --- writing ---------------------------------------------------------------------------------- */

static void write_tool(struct jsonw *w, const struct hub_page *p, const struct tool *t)
{
    bool shown = !t->hidden && hub_page_allows(p, t) && t->changed_ms != TOOL_UNCHECKED &&
                 (t->reply != REPLY_PRESENT || p->payload_count);
    jw_obj(w);
    jw_kstr(w, "name", t->name);
    jw_kstr(w, "wire", t->wire_name);
    jw_kstr(w, "description", t->description);
    jw_kraw(w, "schema", t->schema_text);
    if (shown) jw_kbool(w, "offered", true);
    if (t->idempotent) jw_kbool(w, "idempotent", true);
    if (t->confirm != CONFIRM_NEVER) jw_kbool(w, "asks", true);
    if (t->risk.len) jw_kstr(w, "risk", t->risk);
    if (t->reply) jw_kint(w, "reply", t->reply);
    if (t->terms.role_count) {
        jw_key(w, "roles");
        jw_arr(w);
        for (size_t i = 0; i < t->terms.role_count; i++) jw_str(w, t->terms.roles[i]);
        jw_end_arr(w);
    }
    jw_end_obj(w);
}

static void write_basis(struct buf *out, const struct hub_setup *s, const struct hub_page *p)
{
    const struct registry *r = s->registry;
    struct jsonw           w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstr(&w, "page", p->name);
    jw_kstr(&w, "system", p->system);
    if (p->answer) jw_kraw(&w, "answer", p->answer->raw);
    jw_kint(&w, "text_max", (int64_t)s->tool_text_max);
    jw_kint(&w, "iterations", s->max_iterations);
    jw_kstr(&w, "provider", p->model->provider);
    if (p->model->how.len) jw_kraw(&w, "how", p->model->how);
    jw_key(&w, "tools");
    jw_arr(&w);
    for (size_t i = 0; i < r->count; i++) write_tool(&w, p, r->tools[i]);
    jw_end_arr(&w);
    jw_end_obj(&w);
}

static void digest_of(struct str text, char out[BASIS_DIGEST])
{
    uint8_t sum[SHA256_LEN];
    sha256_of(text, sum);
    sha256_hex(sum, BASIS_DIGEST / 2, out);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void kept_free(struct basis_kept *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

/* What could not be kept is tried again with the next step. */
static void on_kept(struct store_session *x, enum err e)
{
    struct basis_kept *k = LIST_ITEM(x, struct basis_kept, row);
    k->busy = false;
    if (e) k->made = false;
    if (k->orphan) kept_free(k);
}

static void keep(struct hub *h, struct basis_kept *k)
{
    int64_t for_ms = h->setup.basis_ms ? h->setup.basis_ms : FOR_EVER;
    if (!k->key.ptr) return;
    k->kept_ms = clock_wall_ms();
    k->row = (struct store_session){ .op = SESSION_PUT,
                                     .key = k->key,
                                     .body = k->text,
                                     .ends_ms = for_ms + k->kept_ms,
                                     .each = BASES_MAX,
                                     .done = on_kept };
    k->busy = true;
    store_session(h->setup.store, &k->row);
}

static bool is_current(const struct basis_kept *k, const struct hub_setup *s,
                       const struct hub_page *p)
{
    return k->made && k->tools == s->registry->version && k->system.ptr == p->system.ptr &&
           k->system.len == p->system.len && k->text_max == s->tool_text_max &&
           k->iterations == s->max_iterations;
}

/* It is used, and was last noted as such a while ago. */
static bool fades(const struct hub *h, const struct basis_kept *k)
{
    return h->setup.basis_ms && !k->busy &&
           clock_wall_ms() - k->kept_ms > h->setup.basis_ms / BASIS_FADES;
}

static void let_go(struct basis_kept *k)
{
    if (!k) return;
    if (k->busy) k->orphan = true;
    else kept_free(k);
}

static struct basis_kept *make(struct hub *h, const struct hub_page *p)
{
    struct basis_kept *k = mem_alloc(sizeof *k);
    struct buf         b;
    if (!k) return NULL;
    arena_init(&k->arena, 0);
    buf_init(&b, 0);
    write_basis(&b, &h->setup, p);
    k->text = buf_into(&b, &k->arena);
    if (!k->text.ptr) {
        kept_free(k);
        return NULL;
    }
    digest_of(k->text, k->digest);
    k->key = arena_printf(&k->arena, BASIS_KEY "%s", k->digest);
    k->tools = h->setup.registry->version;
    k->system = p->system;
    k->text_max = h->setup.tool_text_max;
    k->iterations = h->setup.max_iterations;
    k->made = true;
    keep(h, k);
    return k;
}

const char *basis_of(struct hub *h, const struct hub_page *page)
{
    size_t at = (size_t)(page - h->setup.pages);
    if (!h->bases && !(h->bases = mem_alloc(h->setup.page_count * sizeof *h->bases))) return "";
    struct basis_kept **k = &h->bases[at];
    if (!*k || !is_current(*k, &h->setup, page)) {
        let_go(*k);
        *k = make(h, page);
    } else if (fades(h, *k)) keep(h, *k);
    return *k ? (*k)->digest : "";
}

void basis_free(struct hub *h)
{
    for (size_t i = 0; h->bases && i < h->setup.page_count; i++) let_go(h->bases[i]);
    mem_free(h->bases);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct str *read_roles(struct arena *a, const struct jv *list, size_t *count)
{
    struct str *roles = list ? arena_array(a, list->count + 1, sizeof *roles) : NULL;
    JV_EACH (v, list)
        if (roles) roles[(*count)++] = jv_str(v);
    return roles;
}

static enum err read_tool(struct arena *a, struct registry *r, const struct jv *v)
{
    struct tool     *t = registry_tool(r, jv_str_at(v, "name"));
    const struct jv *schema = jv_get(v, "schema");
    if (!t) return ERR_NOMEM;
    t->wire_name = jv_str_at(v, "wire");
    t->description = jv_str_at(v, "description");
    if (schema) t->schema_text = schema->raw;
    t->hidden = !jv_true(jv_get(v, "offered"));
    t->idempotent = jv_true(jv_get(v, "idempotent"));
    t->confirm = jv_true(jv_get(v, "asks")) ? CONFIRM_ALWAYS : CONFIRM_NEVER;
    t->risk = jv_str_at(v, "risk");
    t->reply = (enum reply_tool)jv_int_at(v, "reply", 0);
    t->terms.roles = read_roles(a, jv_get(v, "roles"), &t->terms.role_count);
    return registry_add(r, t);
}

enum err basis_read(struct arena *a, struct str text, struct str digest, struct basis *out)
{
    char       sum[BASIS_DIGEST];
    struct jv *v = NULL;
    *out = (struct basis){ 0 };
    registry_init(&out->registry);
    digest_of(text, sum);
    if (!str_is(digest, sum)) return ERR_SYNTAX;
    enum err e = json_parse_own(a, text, &v);
    JV_EACH (t, jv_get(v, "tools"))
        if (!e) e = read_tool(a, &out->registry, t);
    if (e) return e == ERR_NOMEM ? e : ERR_SYNTAX;
    out->how = jv_get(v, "how");
    out->model = (struct model){ .provider = jv_str_at(v, "provider") };
    /* what the page leaves out is hidden here */
    out->page = (struct hub_page){ .name = jv_str_at(v, "page"),
                                   .system = jv_str_at(v, "system"),
                                   .answer = jv_get(v, "answer"),
                                   .all_tools = true,
                                   .payload_count = 1,
                                   .model = &out->model };
    out->base =
        (struct brief_base){ &out->registry, &out->page, (size_t)jv_int_at(v, "text_max", 0),
                             (unsigned)jv_int_at(v, "iterations", 0) };
    return a->failed ? ERR_NOMEM : OK;
}

void basis_done(struct basis *b)
{
    registry_done(&b->registry);
}
