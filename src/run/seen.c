/* seen.c -- tools of MCP servers are what they were when they were first seen, or they are asked
 * about.
 *
 * A server may list a harmless tool, be given the policy "never", and say something else a month
 * later under the same name. So the digest of each definition (its names, words, schema and
 * annotations, as the server says them) is kept in the store when it is first seen. When it
 * differs, `never` and conditions of the configuration no longer hold and every call is asked
 * about, with "(changed since DATE)" in the question, until somebody who may says that the new one
 * is what they want (hub_accept_tool).
 *
 * The store answers a moment after a list came. Until then a tool counts as changed, and what the
 * last process left waits for it (decide.c).
 */
#include <openssl/evp.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "run/engine.h"

#define FOR_EVER (INT64_MAX / 2) /* as an end that never comes */

struct seen {
    struct store_session row;
    struct hub          *hub;
    struct arena         arena;
    struct str           name, digest, body;
    int64_t              since_ms; /* of a change that is being noted */
    void (*done)(void *ctx, bool saved);
    void *ctx;
};

/* Of the definition, however its members are ordered. */
static bool digest_of(const struct tool *t, char hex[65])
{
    unsigned char hash[32];
    struct arena  a;
    struct buf    text;
    struct jsonw  w;
    struct jv    *v;
    arena_init(&a, 0);
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    bool ok = json_parse(&a, t->definition, &v, NULL) == OK;
    if (ok) jw_canonical(&w, v);
    ok = ok && !text.err && EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) == 1;
    for (int i = 0; ok && i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    buf_done(&text);
    arena_done(&a);
    return ok;
}

static struct seen *seen_new(struct hub *h, const struct tool *t)
{
    char         hex[65];
    struct seen *k = digest_of(t, hex) ? mem_alloc(sizeof *k) : NULL;
    if (!k) return NULL;
    k->hub = h;
    arena_init(&k->arena, 0);
    k->name = arena_dup(&k->arena, t->name);
    k->digest = arena_dup(&k->arena, str_n(hex, 64));
    k->row.key = arena_printf(&k->arena, "tool/" STR_FMT, STR_ARG(t->name));
    return k;
}

static void seen_free(struct seen *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

/* The tool that was asked about, if it still says the same. */
static struct tool *tool_of(const struct seen *k)
{
    char         hex[65];
    struct tool *t = registry_find(k->hub->setup.registry, k->name);
    return t && t->definition.ptr && digest_of(t, hex) && str_is(k->digest, hex) ? t : NULL;
}

/* Whoever waited may go on, and whoever shows the list shows another. */
static void judged(struct hub *h)
{
    struct thread *t;
    registry_tell_watchers(h->setup.registry);
    for (size_t i = 0; (t = map_each(&h->threads, &i));)
        if (t->awaiting) hub_wait_place(h, t);
    hub_place_free(h);
}

/* --- keeping --------------------------------------------------------------------------------- */

static void on_kept(struct store_session *x, enum err e)
{
    struct seen *k = LIST_ITEM(x, struct seen, row);
    struct hub  *h = k->hub;
    struct tool *t = e ? NULL : tool_of(k);
    if (e) log_line(LOG_ERROR, "tool.not_kept", "tool", log_str(k->name), "why", err_name(e), NULL);
    if (t) t->changed_ms = k->since_ms;
    h->setup.registry->version++;
    if (k->done) k->done(k->ctx, t != NULL);
    seen_free(k);
    judged(h);
}

/* {"digest": the first, "since"?: when another was first seen} */
static void keep(struct seen *k, struct str first)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "digest", first);
    if (k->since_ms) jw_kint(&w, "since", k->since_ms);
    jw_end_obj(&w);
    struct str body = arena_dup(&k->arena, buf_view(&b)), key = k->row.key;
    buf_done(&b);
    k->row = (struct store_session){
        .op = SESSION_PUT, .key = key, .body = body, .ends_ms = FOR_EVER, .done = on_kept
    };
    store_session(k->hub->setup.store, &k->row);
}

/* --- comparing -------------------------------------------------------------------------------- */

static void on_known(struct store_session *x, enum err e)
{
    struct seen *k = LIST_ITEM(x, struct seen, row);
    struct hub  *h = k->hub;
    struct jv   *v = NULL;
    struct tool *t = tool_of(k);
    if (!e && json_parse(&k->arena, arena_dup(&k->arena, x->body), &v, NULL) != OK) e = ERR_DAMAGED;
    if (e == ERR_NOT_FOUND) {
        keep(k, k->digest);
        return;
    }
    bool    same = !e && str_eq(jv_str_at(v, "digest"), k->digest);
    int64_t since = e ? 0 : jv_int_at(v, "since", 0);
    if (!e && !same && !since && t) {
        k->since_ms = clock_wall_ms();
        log_line(LOG_SECURITY, "tool.changed", "tool", log_str(k->name), NULL);
        keep(k, arena_dup(&k->arena, jv_str_at(v, "digest")));
        return;
    }
    /* what cannot be compared is asked about */
    if (t) t->changed_ms = same ? 0 : since ? since : clock_wall_ms();
    h->setup.registry->version++;
    seen_free(k);
    judged(h);
}

static void compare(struct hub *h, struct tool *t)
{
    struct seen *k = seen_new(h, t);
    t->changed_ms = TOOL_UNCHECKED;
    h->setup.registry->version++;
    if (!k) return; /* no memory: asked about until the next list */
    k->row.op = SESSION_GET;
    k->row.done = on_known;
    store_session(h->setup.store, &k->row);
}

void seen_check(struct hub *h)
{
    struct registry *r = h->setup.registry;
    for (size_t i = 0; i < r->count; i++) {
        struct tool *t = r->tools[i];
        if (!t->definition.ptr || t->compared) continue;
        t->compared = true;
        compare(h, t);
    }
}

bool hub_accept_tool(struct hub *h, struct str name, void (*done)(void *ctx, bool saved), void *ctx)
{
    struct tool *t = registry_find(h->setup.registry, name);
    struct seen *k = t && t->definition.ptr ? seen_new(h, t) : NULL;
    if (!k) return false;
    k->done = done;
    k->ctx = ctx;
    log_line(LOG_SECURITY, "tool.accepted", "tool", log_str(name), NULL);
    keep(k, k->digest);
    return true;
}
