/* registry.c -- the list of tools, and the two names each one has.
 *
 * People and configurations say "browser.search"; models are only allowed
 * [A-Za-z0-9_-]{1,64}. The wire name is made once, when the tool is listed, and
 * both names are unique among the listed tools. Removed tools keep their struct
 * behind the listed ones, because a job or an approval may still point at it.
 */
#include "tool/registry.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/sha256.h"
#include "tool/identity.h"

#define TIMEOUT_MS 60000
#define EXPIRES_S  86400

void registry_init(struct registry *r)
{
    *r = (struct registry){ .expires_s = EXPIRES_S };
    arena_init(&r->arena, 0);
    map_init(&r->by_name);
    map_init(&r->by_wire);
    list_init(&r->sources);
    list_init(&r->lookers);
    list_init(&r->watchers);
}

void registry_done(struct registry *r)
{
    for (size_t i = 0; i < r->count + r->removed; i++) {
        struct tool *t = r->tools[i];
        if (t->ops && t->ops->free) t->ops->free(t);
    }
    mem_free(r->tools);
    map_done(&r->by_name);
    map_done(&r->by_wire);
    arena_done(&r->arena);
}

struct tool *registry_tool(struct registry *r, struct str name)
{
    struct tool *t = arena_new(&r->arena, struct tool);
    if (!t) return NULL;
    t->name = arena_dup(&r->arena, name);
    t->schema_text = STR("{\"type\":\"object\"}");
    t->risk = STR("low");
    t->timeout_ms = TIMEOUT_MS;
    t->expires_s = r->expires_s;
    t->source = STR("built in");
    return t->name.ptr ? t : NULL;
}

/* --- sums ------------------------------------------------------------------------ */

static enum err sum(const struct buf *text, char hex[SHA256_HEX + 1])
{
    uint8_t sha[SHA256_LEN];
    if (text->err) return text->err;
    sha256_of(buf_view(text), sha);
    sha256_hex(sha, sizeof sha, hex);
    return OK;
}

/* --- the wire name ------------------------------------------------------------ */

static bool wire_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

#define MARK_LEN 9 /* "_" and eight digits: one name in four thousand million */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The name with what models refuse made '_', and one before a digit or '-' (Gemini wants a letter
 * or '_' first). */
static size_t wire_write(char *out, size_t max, struct str name)
{
    size_t n = 0;
    if (!name.len || is_digit(name.ptr[0]) || name.ptr[0] == '-') out[n++] = '_';
    for (size_t i = 0; i < name.len && n < max; i++)
        out[n++] = wire_char(name.ptr[i]) ? name.ptr[i] : '_';
    return n;
}

/* The name's own mark, the same in every process and whatever else is listed. */
static enum err wire_mark(char out[MARK_LEN + 1], struct str name, unsigned attempt)
{
    char       hex[SHA256_HEX + 1];
    struct buf text;
    buf_init(&text, 0);
    buf_str(&text, name);
    if (attempt) buf_u64(&text, attempt);
    enum err e = sum(&text, hex);
    buf_done(&text);
    if (!e) snprintf(out, MARK_LEN + 1, "_%.*s", MARK_LEN - 1, hex);
    return e;
}

/* A name that is taken or too long gets its mark, instead of a number that would depend on who came
 * first. */
static enum err make_wire_name(struct registry *r, struct tool *t)
{
    char   text[TOOL_WIRE_MAX + MARK_LEN + 1];
    size_t n = wire_write(text, TOOL_WIRE_MAX + 1, t->name);
    for (unsigned attempt = 0; n > TOOL_WIRE_MAX || map_get(&r->by_wire, str_n(text, n));
         attempt++) {
        n = wire_write(text, TOOL_WIRE_MAX - MARK_LEN, t->name);
        enum err e = wire_mark(text + n, t->name, attempt);
        if (e) return e;
        n += MARK_LEN;
    }
    t->wire_name = arena_dup(&r->arena, str_n(text, n));
    return t->wire_name.ptr ? OK : ERR_NOMEM;
}

/* --- the digest ------------------------------------------------------------------ */

/* Sorting a large schema takes milliseconds; it does not change while the tool is listed. */
static enum err sum_schema(const struct tool *t)
{
    struct buf   text;
    struct jsonw w;
    if (t->schema_sum[0]) return OK;
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_canonical(&w, t->schema);
    enum err e = sum(&text, t->schema_sum);
    buf_done(&text);
    return e;
}

static void write_names(struct jsonw *w, const struct str *list, size_t count)
{
    jw_arr(w);
    for (size_t i = 0; i < count; i++) jw_str(w, list[i]);
    jw_end_arr(w);
}

/* For whom it runs, and what it learns of them. Left out where nothing is said, so that what was
 * asked before these existed can still be answered. */
static void write_terms(struct jsonw *w, const struct tool_terms *t)
{
    if (!t->role_count && !t->claim_count && !t->identity) return;
    write_names(w, t->roles, t->role_count);
    write_names(w, t->claims, t->claim_count);
    if (t->identity) identity_describe(t->identity, w);
}

/* Everything a person's yes relies on, in one unambiguous text. The same in every
 * process: approvals remember it across restarts. */
static void write_definition(struct buf *out, const struct tool *t)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_arr(&w);
    jw_str(&w, t->name);
    jw_str(&w, t->description);
    jw_strz(&w, t->schema_sum);
    jw_int(&w, t->where);
    jw_str(&w, t->confirm_text);
    jw_str(&w, t->risk);
    jw_bool(&w, t->idempotent);
    jw_str_or_null(&w, t->ask);
    jw_str(&w, t->source);
    jw_str_or_null(&w, t->runner);
    /* only where they are used: what waits from before must not be taken for changed */
    if (t->grant) jw_raw(&w, t->grant->raw);
    if (t->effect.len) jw_str(&w, t->effect);
    write_terms(&w, &t->terms);
    jw_end_arr(&w);
}

enum err tool_digest(const struct tool *t, char hex[TOOL_DIGEST])
{
    char       whole[SHA256_HEX + 1];
    struct buf text;
    enum err   e = sum_schema(t);
    if (e) return e;
    buf_init(&text, 0);
    write_definition(&text, t);
    e = sum(&text, whole);
    buf_done(&text);
    if (e) return e;
    memcpy(hex, whole, TOOL_DIGEST - 1);
    hex[TOOL_DIGEST - 1] = 0;
    return OK;
}

/* --- listing ----------------------------------------------------------------------- */

static enum err parse_schema(struct registry *r, struct tool *t)
{
    struct jv *schema;
    if (t->schema_text.len > TOOL_SCHEMA_MAX) return ERR_FULL;
    t->schema_text = arena_dup(&r->arena, t->schema_text);
    t->schema_sum = arena_alloc(&r->arena, SHA256_HEX + 1);
    if (!t->schema_text.ptr || !t->schema_sum) return ERR_NOMEM;
    enum err e = json_parse(&r->arena, t->schema_text, &schema, NULL);
    if (e) return e;
    if (!jv_is(schema, JSON_OBJECT)) return ERR_SYNTAX;
    t->schema = schema;
    return OK;
}

static struct str default_confirm_text(const struct tool *t)
{
    return t->confirm == CONFIRM_NEVER ? STR("\"never\"") : STR("\"always\"");
}

static enum err make_room(struct registry *r)
{
    size_t need = r->count + r->removed + 1;
    if (need <= r->cap) return OK;
    size_t        cap = r->cap ? r->cap * 2 : 16;
    struct tool **more = mem_realloc(r->tools, cap * sizeof *more);
    if (!more) return ERR_NOMEM;
    r->tools = more;
    r->cap = cap;
    return OK;
}

static enum err enter_names(struct registry *r, struct tool *t)
{
    enum err e = map_put(&r->by_name, t->name, t);
    if (e) return e;
    e = map_put(&r->by_wire, t->wire_name, t);
    if (e) map_remove(&r->by_name, t->name);
    return e;
}

enum err registry_add(struct registry *r, struct tool *t)
{
    enum err e;
    if (!t->name.len) return ERR_RANGE;
    if (map_get(&r->by_name, t->name)) return ERR_EXISTS;
    if (!t->confirm_text.ptr) t->confirm_text = default_confirm_text(t);
    if ((e = parse_schema(r, t))) return e;
    if (!t->wire_name.len && (e = make_wire_name(r, t))) return e;
    if ((e = make_room(r))) return e;
    if ((e = enter_names(r, t))) return e;
    r->tools[r->count + r->removed] = r->tools[r->count]; /* the first removed one makes place */
    r->tools[r->count++] = t;
    r->version++;
    return OK;
}

void registry_remove(struct registry *r, struct tool *t)
{
    size_t i = 0;
    while (i < r->count && r->tools[i] != t) i++;
    if (i == r->count) return;
    map_remove(&r->by_name, t->name);
    map_remove(&r->by_wire, t->wire_name);
    memmove(r->tools + i, r->tools + i + 1, (r->count - i - 1) * sizeof *r->tools);
    r->tools[--r->count] = t;
    r->removed++;
    r->version++;
}

enum err registry_keep(struct registry *r, struct tool *t)
{
    enum err e = make_room(r);
    if (!e) r->tools[r->count + r->removed++] = t;
    return e;
}

struct tool *registry_find(const struct registry *r, struct str name)
{
    return map_get(&r->by_name, name);
}
struct tool *registry_find_wire(const struct registry *r, struct str wire)
{
    return map_get(&r->by_wire, wire);
}

struct str registry_wire(const struct registry *r, struct str name, char out[TOOL_WIRE_MAX])
{
    const struct tool *t = registry_find(r, name);
    return t ? t->wire_name : str_n(out, wire_write(out, TOOL_WIRE_MAX, name));
}

/* --- sources ------------------------------------------------------------------------ */

void registry_expect(struct registry *r, struct registry_source *s, struct str prefix,
                     uint64_t until_ms)
{
    registry_settle(r, s);
    s->prefix = prefix;
    s->until_ms = until_ms;
    list_add(&r->sources, &s->node);
}

void registry_settle(struct registry *r, struct registry_source *s)
{
    list_remove(&s->node);
}

void registry_can_look(struct registry *r, struct registry_source *s, struct str prefix,
                       void (*look)(struct registry_source *s))
{
    s->prefix = prefix;
    s->look = look;
    list_add(&r->lookers, &s->look_node);
}

void registry_look(struct registry *r, struct str tool_name)
{
    LIST_EACH (n, &r->lookers) {
        struct registry_source *s = LIST_ITEM(n, struct registry_source, look_node);
        if (str_starts(tool_name, s->prefix)) s->look(s);
    }
}

bool registry_expects(const struct registry *r, struct str tool_name)
{
    uint64_t now = clock_mono_ms();
    LIST_EACH (n, &r->sources) {
        const struct registry_source *s = LIST_ITEM(n, struct registry_source, node);
        if (now < s->until_ms && str_starts(tool_name, s->prefix)) return true;
    }
    return false;
}

bool registry_settled(const struct registry *r)
{
    uint64_t now = clock_mono_ms();
    LIST_EACH (n, &r->sources)
        if (now < LIST_ITEM(n, struct registry_source, node)->until_ms) return false;
    return true;
}

void registry_tell(struct registry *r)
{
    if (r->changed) r->changed(r->changed_ctx);
    registry_tell_watchers(r);
}

void registry_tell_watchers(struct registry *r)
{
    LIST_EACH (n, &r->watchers) {
        struct registry_watch *w = LIST_ITEM(n, struct registry_watch, node);
        w->changed(w->ctx);
    }
}

void registry_watch(struct registry *r, struct registry_watch *w)
{
    list_add(&r->watchers, &w->node);
}
