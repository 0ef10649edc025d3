/* mcp_list.c -- a server's tools in the registry.
 *
 * All pages are fetched first, then compared with what is listed: a tool whose
 * definition is byte for byte the same stays as it is, anything else is
 * listed anew (with another digest, so that old approvals do not cover it), and what is not there
 * any more is unlisted. Calls in progress keep the struct they started with. A server is asked for
 * its list at most once a second, and may take MCP_KEPT_MAX bytes with all it ever listed.
 */
#include "base/clock.h"
#include "base/log.h"
#include "tool/mcp/mcp_int.h"
#include "tool/policy.h"

#define PAGES_MAX    1000
#define TOOLS_MAX    2000
#define LIST_MAX     (16u << 20) /* bytes of all pages together */
#define NAME_MAX_LEN 128
/* lines about it for one connection; a list may come once a second, for ever */
#define SKIPPED_MAX 20

static void fetch_page(struct mcp *m);

/* --- one definition ------------------------------------------------------------------------ */

static bool hint(const struct jv *def, const char *name, bool otherwise)
{
    const struct jv *h = jv_get(jv_get(def, "annotations"), name);
    return jv_is(h, JSON_BOOL) ? jv_true(h) : otherwise;
}

static const struct jv *parse_const(struct registry *r, struct str text)
{
    struct jv *v = NULL;
    return json_parse(&r->arena, text, &v, NULL) == OK ? v : NULL;
}

/* "confirm": one policy for all, or an object from tool name to policy ("*": all others). */
static const struct jv *configured_policy(const struct mcp *m, struct str name, bool *by_name)
{
    *by_name = false;
    if (!jv_is(m->confirm, JSON_OBJECT) || jv_get(m->confirm, "when")) return m->confirm;
    const struct jv *own = jv_get_str(m->confirm, name);
    *by_name = own != NULL;
    return own ? own : jv_get(m->confirm, "*");
}

/* What the server says of itself may make us ask more, never less; unless the operator trusts
 * it. */
static enum err set_policy(struct mcp *m, struct tool *t, struct str name, const struct jv *def)
{
    bool             by_name, read_only = hint(def, "readOnlyHint", false);
    const struct jv *policy = configured_policy(m, name, &by_name);
    const char      *why = NULL;
    bool explicit = policy != NULL;

    if (!policy)
        policy = parse_const(m->host.registry,
                             m->trust && read_only ? STR("\"never\"") : STR("\"always\""));
    else if (!by_name && hint(def, "destructiveHint", false))
        policy = parse_const(m->host.registry, STR("\"always\""));
    t->risk = m->trust && read_only ? STR("low") : STR("high");
    t->reads = m->trust && read_only;
    t->idempotent = m->trust && (read_only || hint(def, "idempotentHint", false));
    if (policy && policy_read(t, policy, &why) == OK) return OK;
    if (explicit)
        log_line(LOG_ERROR, "mcp.policy", "server", log_str(m->alias), "tool", log_str(name), "why",
                 why ? why : "", NULL);
    policy = parse_const(m->host.registry, STR("\"always\""));
    return policy ? policy_read(t, policy, &why) : ERR_NOMEM;
}

/* What runs it, and what the server says of it that the policy listens to. */
static struct str runner_of(struct mcp *m, struct str name, const struct jv *def)
{
    const struct jv *annotations = jv_get(def, "annotations");
    struct buf       b;
    struct jsonw     w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_key(&w, "annotations");
    if (annotations) jw_canonical(&w, annotations);
    else jw_null(&w);
    jw_key(&w, "server");
    jw_raw(&w, m->runner);
    jw_kstr(&w, "tool", name);
    jw_kbool(&w, "trust", m->trust);
    jw_end_obj(&w);
    return buf_into(&b, &m->host.registry->arena);
}

static const struct jv *edit_of(const struct mcp *m, struct str name)
{
    const struct jv *own = jv_get_str(m->host.edit, name);
    return own ? own : jv_get(m->host.edit, "*");
}

static const struct tool_check *check_of(const struct mcp *m, struct str name)
{
    const struct tool_check *others = NULL;
    for (size_t i = 0; i < m->host.check_count; i++) {
        const struct mcp_check *c = &m->host.checks[i];
        if (str_eq(c->tool, name)) return c->check;
        if (str_is(c->tool, "*")) others = c->check;
    }
    return others;
}

static enum err fill(struct mcp *m, struct mcp_tool *x, const struct jv *def, const char **why)
{
    struct arena *a = &m->host.registry->arena;
    struct tool  *t = x->tool;
    struct jv    *copy;
    enum err      e;

    x->definition = arena_dup(a, def->raw);
    x->name = arena_dup(a, jv_str_at(def, "name"));
    if (!x->definition.ptr || !x->name.ptr) return ERR_NOMEM;
    if ((e = json_parse(a, x->definition, &copy, NULL)) != OK) return e;
    if (m->era == ERA_MODERN && m->transport == &mcp_http &&
        !mcp_params_read(a, jv_get(copy, "inputSchema"), &x->params, &x->param_count, why))
        return ERR_TYPE;
    x->output_schema = jv_get(copy, "outputSchema");
    t->definition = x->definition;
    t->title = jv_str_at(copy, "title");
    t->description = jv_str_at(copy, "description");
    if (!t->description.ptr) t->description = jv_str_at(copy, "title");
    if (!t->description.ptr) t->description = STR("");
    t->schema_text = jv_get(copy, "inputSchema")->raw;
    t->timeout_ms = (unsigned)m->call_ms;
    t->own_clock = true;
    t->source = arena_printf(a, "mcp:" STR_FMT, STR_ARG(m->alias));
    t->runner = runner_of(m, x->name, copy);
    if (!t->source.ptr || !t->runner.ptr) return ERR_NOMEM;
    t->terms = m->host.terms;
    t->edit = edit_of(m, x->name);
    t->check = check_of(m, x->name);
    t->ops = &mcp_ops;
    t->ctx = x;
    return set_policy(m, t, x->name, copy);
}

static const char *unusable(const struct jv *def)
{
    struct str name = jv_str_at(def, "name");
    if (name.len == 0 || name.len > NAME_MAX_LEN) return "it has no usable name";
    if (!jv_is(jv_get(def, "inputSchema"), JSON_OBJECT)) return "it has no input schema";
    if (str_is(jv_str_at(jv_get(def, "execution"), "taskSupport"), "required"))
        return "it runs as a task only";
    return NULL;
}

static void skip(struct mcp *m, struct str name, const char *why)
{
    if (m->skipped++ >= SKIPPED_MAX) return;
    log_line(LOG_WARN, "mcp.tool_skipped", "server", log_str(m->alias), "tool", log_str(name),
             "why", why, NULL);
}

static struct mcp_tool *find_tool(struct mcp *m, struct str name)
{
    for (size_t i = 0; i < m->tool_count; i++)
        if (m->tools[i]->listed && str_eq(m->tools[i]->name, name)) return m->tools[i];
    return NULL;
}

static bool room(struct mcp *m)
{
    struct mcp_tool **more;
    size_t            cap = m->tool_cap ? 2 * m->tool_cap : 16;
    if (m->tool_count < m->tool_cap) return true;
    if (!(more = mem_realloc(m->tools, cap * sizeof *more))) return false;
    m->tools = more;
    m->tool_cap = cap;
    return true;
}

static void unlist(struct mcp *m, struct mcp_tool *x)
{
    registry_remove(m->host.registry, x->tool);
    x->listed = false;
}

static void add(struct mcp *m, const struct jv *def)
{
    struct registry *r = m->host.registry;
    struct str       name = jv_str_at(def, "name");
    struct mcp_tool *x = arena_new(&r->arena, struct mcp_tool);
    const char      *why = NULL;
    enum err         e = ERR_NOMEM;

    if (x && room(m)) {
        x->m = m;
        x->tool = registry_tool(
            r, arena_printf(&r->arena, STR_FMT STR_FMT, STR_ARG(m->prefix), STR_ARG(name)));
        if (x->tool) e = fill(m, x, def, &why);
    }
    if (e == OK) e = registry_add(r, x->tool);
    if (e != OK) {
        skip(m, name, why ? why : err_name(e));
        return;
    }
    x->listed = x->seen = true;
    m->tools[m->tool_count++] = x;
}

/* What was listed once stays in memory, because a call or an approval may still mean it. So there
 * is an end to it. */
static bool is_full(struct mcp *m)
{
    if (m->kept < m->kept_max) return false;
    if (!m->full)
        log_line(LOG_ERROR, "mcp.full", "server", log_str(m->alias), "why",
                 "its tools changed so often that no more changes are taken before the next start",
                 NULL);
    return m->full = true;
}

static void take(struct mcp *m, const struct jv *def)
{
    const char      *why = unusable(def);
    struct mcp_tool *old;

    if (why) {
        skip(m, jv_str_at(def, "name"), why);
        return;
    }
    old = find_tool(m, jv_str_at(def, "name"));
    if (old && old->seen) return; /* named twice: the first one counts */
    if (old && str_eq(old->definition, def->raw)) {
        old->seen = true;
        return;
    }
    if (is_full(m)) {
        if (old) old->seen = true;
        return;
    }
    if (old) unlist(m, old);
    size_t before = m->host.registry->arena.used;
    add(m, def);
    m->kept += m->host.registry->arena.used - before;
}

/* --- the whole list --------------------------------------------------------------------------- */

/* Entries of tools that are gone are dropped; their structs live on in the registry's arena for
 * calls that use them. */
static void drop_unlisted(struct mcp *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->tool_count; i++)
        if (m->tools[i]->listed) m->tools[n++] = m->tools[i];
    m->tool_count = n;
}

static void apply(struct mcp *m)
{
    for (size_t i = 0; i < m->tool_count; i++) m->tools[i]->seen = false;
    for (size_t i = 0; i < m->found_count; i++) take(m, m->found[i]);
    for (size_t i = 0; i < m->tool_count; i++)
        if (m->tools[i]->listed && !m->tools[i]->seen) unlist(m, m->tools[i]);
    drop_unlisted(m);
}

static void forget_pages(struct mcp *m)
{
    m->found = NULL;
    m->found_count = m->found_cap = m->page_count = 0;
    m->cursor = STR_NONE;
    arena_done(&m->pages);
    arena_init(&m->pages, LIST_MAX * 4);
}

static void finished(struct mcp *m)
{
    apply(m);
    forget_pages(m);
    m->state = MCP_READY;
    m->settled = m->listed = m->welcomed = true;
    if (!m->ready_ms) m->ready_ms = clock_mono_ms();
    mcp_changed(m);
    mcp_settle(m);
    if (m->list_again) mcp_list_soon(m);
}

static bool collect(struct mcp *m, const struct jv *def)
{
    if (m->found_count == TOOLS_MAX) return false;
    if (m->found_count == m->found_cap) {
        size_t            cap = m->found_cap ? 2 * m->found_cap : 64;
        const struct jv **more = arena_array(&m->pages, cap, sizeof *more);
        if (!more) return false;
        if (m->found_count) memcpy(more, m->found, m->found_count * sizeof *more);
        m->found = more;
        m->found_cap = cap;
    }
    m->found[m->found_count++] = def;
    return true;
}

/* Copies the page: the message it came in is about to go. */
static const char *take_page(struct mcp *m, const struct jv *result)
{
    struct str text = arena_dup(&m->pages, result->raw);
    struct jv *page;

    if (!text.ptr || json_parse(&m->pages, text, &page, NULL) != OK)
        return "its list of tools is too long";
    if (!jv_is(jv_get(page, "tools"), JSON_ARRAY)) return "its list of tools cannot be read";
    JV_EACH (def, jv_get(page, "tools"))
        if (!collect(m, def)) return "it has too many tools";
    if (++m->page_count > PAGES_MAX) return "its list of tools does not end";
    struct str next = jv_str_at(page, "nextCursor");
    if (next.ptr && m->cursor.ptr && str_eq(next, m->cursor))
        return "its list of tools does not end";
    m->cursor = next;
    int64_t ttl = jv_int_at(page, "ttlMs", 0);
    m->list_expires_ms = ttl > 0 ? clock_mono_ms() + (uint64_t)ttl : 0;
    return NULL;
}

static void on_page(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp *m = q->m;
    const char *why = NULL;

    if (r->lost && m->state != MCP_LISTING) {
        forget_pages(m);
        return;
    }
    if (r->code == MCP_NO_METHOD && m->page_count == 0) { /* a server without tools */
        finished(m);
        return;
    }
    if (!r->result) why = r->lost ? r->lost : "it does not list its tools";
    else why = take_page(m, r->result);
    if (!why && m->cursor.ptr) fetch_page(m);
    else if (!why) finished(m);
    else {
        forget_pages(m);
        buf_clear(&m->trouble);
        buf_lit(&m->trouble, why);
        m->transport->close(m);
        mcp_lost(m, why);
    }
}

static void fetch_page(struct mcp *m)
{
    struct mcp_send s = { .method = "tools/list", .timeout_ms = MCP_LIST_MS, .done = on_page };
    struct buf      b;
    struct jsonw    w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    if (m->cursor.ptr) {
        buf_lit(&b, "\"cursor\":");
        jw_str(&w, m->cursor);
    }
    s.params = buf_view(&b);
    if (b.err || !mcp_request(m, &s)) mcp_lost(m, "there is not enough memory");
    buf_done(&b);
}

void mcp_list(struct mcp *m)
{
    m->list_again = false;
    m->relist_ms = 0;
    m->list_began_ms = clock_mono_ms();
    m->state = MCP_LISTING;
    forget_pages(m);
    fetch_page(m);
}

void mcp_list_soon(struct mcp *m)
{
    if (m->server) m = m->server; /* a line does not list */
    uint64_t next = m->list_began_ms + MCP_RELIST_MS;

    if (m->state != MCP_READY) m->list_again = true; /* when this list is complete */
    else if (next <= clock_mono_ms()) mcp_list(m);
    else {
        m->relist_ms = next;
        mcp_rearm(m);
    }
}

void mcp_list_done(struct mcp *m)
{
    for (size_t i = 0; i < m->tool_count; i++) {
        unlist(m, m->tools[i]);
        m->tools[i]->m = NULL;
    }
    m->tool_count = 0;
    if (m->connect && m->connect->tool) registry_remove(m->host.registry, m->connect->tool);
    if (m->connect) m->connect->m = NULL;
}

/* --- notices of changes, modern --------------------------------------------------------------- */

/* The stream is over: opened again after a while, with a fresh list, because a notice may have been
 * missed. */
static void on_listen_end(struct mcp_request *q, const struct mcp_reply *r)
{
    struct mcp *m = q->m;

    m->listening = false;
    /* not offered, or all is over */
    if (r->code || m->state == MCP_DOWN || m->state == MCP_STOPPING) return;
    m->listen_ms = clock_mono_ms() + mcp_backoff(m->listen_failures++);
    mcp_rearm(m);
}

void mcp_listen(struct mcp *m)
{
    struct mcp_send s = { .method = "subscriptions/listen",
                          .done = on_listen_end,
                          .params = STR("\"notifications\":{\"toolsListChanged\":true}") };
    if (!m->listening) m->listening = mcp_request(m, &s) != NULL;
}
