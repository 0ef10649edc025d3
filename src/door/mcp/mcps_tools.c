/* mcps_tools.c -- tools/list: those that the server runs and the page may use, by name.
 *
 * Words of servers behind us are data: what cannot be seen is taken out of them, descriptions end
 * at
 * 4 KiB. Their schemas go on as they are but for `x-mcp-header`, which is between them and us.
 */
#include <stdlib.h>

#include "base/glyph.h"
#include "base/id.h"
#include "base/utf8.h"
#include "door/mcp/mcps_int.h"

#define PAGE_TOOLS  100
#define WORDS_MAX   4096
#define CURSOR      "after."
#define LIST_TTL_MS 60000

bool mcps_offers(const struct mcps *m, const struct request *q, const struct hub_page *page,
                 const struct tool *t)
{
    struct caller who = caller_of_request(q);
    if (!caller_may_use(&who, t)) return false;
    if (t->changed_ms == TOOL_UNCHECKED) return false; /* in a moment */
    if (t->hidden || t->reply || t->where != TOOL_SERVER || !hub_page_allows(page, t)) return false;
    if (!m->setup.some_tools) return true;
    for (size_t i = 0; i < m->setup.tools.count; i++)
        if (str_eq(m->setup.tools.list[i], t->name)) return true;
    return false;
}

/* --- words of strangers ----------------------------------------------------------------------- */

static bool is_shown(uint32_t c)
{
    return c == '\n' || c == '\t' || !glyph_hidden(c);
}

static void clean(struct buf *out, struct str s, size_t max)
{
    s = str_cut(s, utf8_cut(s, max));
    for (uint32_t c; s.len;) {
        size_t n = utf8_decode(s, &c);
        if (is_shown(c)) buf_str(out, str_cut(s, n));
        s = str_from(s, n);
    }
}

static void write_words(struct jsonw *w, const char *key, struct str s)
{
    struct buf b;
    buf_init(&b, 0);
    clean(&b, s, WORDS_MAX);
    jw_kbuf(w, key, &b);
    buf_done(&b);
}

/* Below these the members' names are names of somebody's, not words of the schema. */
static bool holds_names(struct str key)
{
    return str_is(key, "properties") || str_is(key, "patternProperties") || str_is(key, "$defs") ||
           str_is(key, "definitions") || str_is(key, "dependentSchemas");
}

static void write_schema(struct jsonw *w, const struct jv *v, bool names)
{
    struct buf b;
    switch (v->type) {
    case JSON_OBJECT:
        jw_obj(w);
        JV_EACH (x, v) {
            if (!names && str_is(x->key, "x-mcp-header")) continue;
            jw_key_str(w, x->key);
            write_schema(w, x, !names && holds_names(x->key));
        }
        jw_end_obj(w);
        return;
    case JSON_ARRAY:
        jw_arr(w);
        JV_EACH (x, v) write_schema(w, x, false);
        jw_end_arr(w);
        return;
    case JSON_STRING:
        buf_init(&b, 0);
        clean(&b, v->str, v->str.len);
        jw_str(w, b.err ? STR("") : buf_view(&b));
        buf_done(&b);
        return;
    default: jw_raw(w, v->raw); return;
    }
}

/* --- the list --------------------------------------------------------------------------------- */

static void write_annotations(struct jsonw *w, const struct tool *t)
{
    bool high = str_is(t->risk, "high");
    if (!t->idempotent && !high && !t->reads) return;
    jw_key(w, "annotations");
    jw_obj(w);
    if (t->reads) jw_kbool(w, "readOnlyHint", true);
    if (high) jw_kbool(w, "destructiveHint", true);
    if (t->idempotent) jw_kbool(w, "idempotentHint", true);
    jw_end_obj(w);
}

static void write_tool(struct jsonw *w, const struct tool *t)
{
    static const char *const ASKS[] = { "never", "always", "sometimes" };
    bool                     changed = t->changed_ms != 0;
    jw_obj(w);
    jw_kstr(w, "name", t->wire_name);
    if (t->title.len) write_words(w, "title", t->title);
    write_words(w, "description", t->description);
    jw_key(w, "inputSchema");
    if (t->schema && str_starts(t->source, STR("mcp:"))) write_schema(w, t->schema, false);
    else jw_raw(w, t->schema_text);
    write_annotations(w, t);
    jw_key(w, "_meta");
    jw_obj(w);
    jw_kstrz(w, "parley/confirm", changed ? "always" : ASKS[t->confirm]);
    jw_end_obj(w);
    jw_end_obj(w);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct tool *const *)a)->wire_name,
                   (*(const struct tool *const *)b)->wire_name);
}

/* All that are offered here, in their order. NULL: no memory. */
static const struct tool **offered(struct mcps *m, struct request *q, const struct hub_page *page,
                                   size_t *count)
{
    const struct registry *r = m->app->registry;
    const struct tool    **list = arena_array(q->arena, r->count + MCPS_OWN, sizeof *list);
    if (!list) return NULL;
    for (size_t i = 0; i < r->count; i++)
        if (mcps_offers(m, q, page, r->tools[i])) list[(*count)++] = r->tools[i];
    for (size_t i = 0; i < MCPS_OWN; i++)
        if (mcps_own_tool(m, i)) list[(*count)++] = mcps_own_tool(m, i);
    qsort(list, *count, sizeof *list, by_name);
    return list;
}

/* Where the page begins. False: that cursor is not one of ours. */
static bool find_place(const struct jv *cursor, const struct tool **list, size_t count, size_t *at)
{
    struct str text = jv_str(cursor), prefix = STR(CURSOR);
    *at = 0;
    if (!cursor) return true;
    if (!str_starts(text, prefix) || !id_valid(str_from(text, prefix.len), TOOL_WIRE_MAX))
        return false;
    while (*at < count && str_cmp(list[*at]->wire_name, str_from(text, prefix.len)) <= 0) (*at)++;
    return true;
}

void mcps_list_tools(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                     const struct hub_page *page)
{
    size_t              count = 0, at;
    const struct tool **list = offered(m, q, page, &count);
    struct buf          b;
    struct jsonw        w;
    if (!list) count = 0;
    if (!find_place(jv_get(rpc->params, "cursor"), list, count, &at)) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "Unknown cursor");
        return;
    }
    size_t end = count - at > PAGE_TOOLS ? at + PAGE_TOOLS : count;
    mcps_open(&b, &w, rpc);
    jw_key(&w, "tools");
    jw_arr(&w);
    for (size_t i = at; i < end; i++) write_tool(&w, list[i]);
    jw_end_arr(&w);
    if (end < count) {
        struct str next = arena_printf(q->arena, CURSOR STR_FMT, STR_ARG(list[end - 1]->wire_name));
        jw_kstr(&w, "nextCursor", next);
    }
    if (rpc->modern) {
        jw_kint(&w, "ttlMs", LIST_TTL_MS);
        jw_kstrz(&w, "cacheScope", "private");
    }
    if (!list) b.err = ERR_NOMEM;
    mcps_close(q->conn, &b, &w);
}
