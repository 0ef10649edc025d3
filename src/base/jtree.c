/* jtree.c -- the JSON tree: built by the pull reader, read through functions
 * that take NULL for "absent".
 *
 * A node is in its parent's list and dies with the arena. Building keeps its own
 * stack of open containers; the few functions that recurse (jv_equal here, the
 * writer in jsonw.c) are bounded by JSON_DEPTH_OWN, which the reader enforced.
 */
#include <stdlib.h>

#include "base/jnum.h"
#include "base/json.h"

struct builder {
    struct json   r;
    struct arena *arena;
    /* the containers around the reader; [0] is not used */
    struct jv    *open[JSON_DEPTH_OWN + 1];
    struct jv    *last[JSON_DEPTH_OWN + 1]; /* their newest child */
};

/* --- building ---------------------------------------------------------------- */

static void fill_scalar(struct json *r, struct jv *v)
{
    switch (v->type) {
    case JSON_NULL: json_null(r); return;
    case JSON_BOOL: v->boolean = json_bool(r); return;
    case JSON_STRING: v->str = json_string(r); return;
    case JSON_NUMBER:
    case JSON_ARRAY:
    case JSON_OBJECT: json_skip(r); return;
    }
}

/* Reads a scalar, or enters a container; NULL and an error in the reader when not. */
static struct jv *read_value(struct builder *b)
{
    struct json   *r = &b->r;
    enum json_type type = json_peek(r);
    struct jv     *v = r->err ? NULL : arena_new(b->arena, struct jv);
    if (!v) {
        if (!r->err) r->err = ERR_NOMEM, r->why = "no memory for the tree";
        return NULL;
    }
    v->type = type;
    const char *from = r->at;
    if (type == JSON_ARRAY) json_array(r);
    else if (type == JSON_OBJECT) json_object(r);
    else fill_scalar(r, v);
    v->raw = str_n(from, (size_t)(r->at - from)); /* of a container: so far only the bracket */
    if (!r->err && type >= JSON_ARRAY) {
        b->open[r->depth] = v;
        b->last[r->depth] = NULL;
    }
    return r->err ? NULL : v;
}

static void link_child(struct builder *b, int depth, struct jv *v)
{
    if (b->last[depth]) b->last[depth]->next = v;
    else b->open[depth]->child = v;
    b->last[depth] = v;
    b->open[depth]->count++;
}

/* The next member or item of the innermost container, or its end. */
static void read_next(struct builder *b)
{
    struct json *r = &b->r;
    int          depth = r->depth;
    struct jv   *parent = b->open[depth];
    struct str   key = STR_NONE;
    if (parent->type == JSON_OBJECT ? json_key(r, &key) : json_item(r)) {
        struct jv *v = read_value(b);
        if (!v) return;
        v->key = key;
        link_child(b, depth, v);
    } else if (!r->err) {
        parent->raw.len = (size_t)(r->at - parent->raw.ptr);
    }
}

static unsigned line_at(const char *start, const char *at, const char **line_start)
{
    unsigned line = 1;
    for (const char *p; (p = memchr(start, '\n', (size_t)(at - start))); start = p + 1) line++;
    *line_start = start;
    return line;
}

static void explain(const struct json *r, struct json_error *error)
{
    const char *line_start;
    error->pos = (size_t)(r->at - r->start);
    error->line = line_at(r->start, r->at, &line_start);
    error->column = (unsigned)(r->at - line_start) + 1;
    error->why = r->why;
}

static enum err parse(struct arena *a, struct str text, int depth_max, struct jv **out,
                      struct json_error *error)
{
    struct builder b;
    b.arena = a;
    json_init(&b.r, text, a);
    b.r.depth_max = depth_max;
    /* `count` and the columns are 32 bits wide. */
    if (text.len > UINT32_MAX) b.r.err = ERR_SYNTAX, b.r.why = "the text is too long";

    struct jv *root = read_value(&b);
    while (!b.r.err && b.r.depth > 0) read_next(&b);
    if (json_end(&b.r) == OK) {
        *out = root;
        return OK;
    }
    if (error) explain(&b.r, error);
    return b.r.err;
}

struct str json_complaint(struct arena *a, const char *what, const struct json_error *e)
{
    struct str s =
        e->why == JSON_TOO_DEEP
            ? arena_printf(
                  a, "%s is nested too deeply: at most %d levels are taken (line %u, column %u).",
                  what, JSON_DEPTH_MAX, e->line, e->column)
            : arena_printf(a, "%s is not valid JSON: %s (line %u, column %u).", what, e->why,
                           e->line, e->column);
    return s.ptr ? s : STR("The JSON cannot be read.");
}

enum err json_parse(struct arena *a, struct str text, struct jv **out, struct json_error *error)
{
    return parse(a, text, JSON_DEPTH_MAX, out, error);
}

enum err json_parse_own(struct arena *a, struct str text, struct jv **out)
{
    return parse(a, text, JSON_DEPTH_OWN, out, NULL);
}

int json_depth(struct str text)
{
    int  depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && ++depth > deepest) deepest = depth;
        else if (!quoted && (c == '}' || c == ']')) depth--;
    }
    return deepest;
}

unsigned json_line(struct str text, const struct jv *v)
{
    uintptr_t   at = v ? (uintptr_t)v->raw.ptr : 0, from = (uintptr_t)text.ptr;
    const char *line_start;

    if (!at || at < from || at - from > text.len) return 0;
    return line_at(text.ptr, v->raw.ptr, &line_start);
}

/* --- looking up -------------------------------------------------------------- */

bool jv_is(const struct jv *v, enum json_type t)
{
    return v && v->type == t;
}

const struct jv *jv_get_str(const struct jv *obj, struct str key)
{
    if (!jv_is(obj, JSON_OBJECT)) return NULL;
    JV_EACH (m, obj)
        if (str_eq(m->key, key)) return m;
    return NULL;
}

const struct jv *jv_get(const struct jv *obj, const char *key)
{
    return jv_get_str(obj, str_c(key));
}

const struct jv *jv_at(const struct jv *array, size_t i)
{
    if (!jv_is(array, JSON_ARRAY) || i >= array->count) return NULL;
    const struct jv *v = array->child;
    while (i--) v = v->next;
    return v;
}

bool jv_lists(const struct jv *array, struct str word)
{
    JV_EACH (v, array)
        if (jv_is(v, JSON_STRING) && str_eq(v->str, word)) return true;
    return false;
}

/* RFC 6901 section 3: ~1 is '/', ~0 is '~', another ~ is an error and matches nothing. */
static bool token_is(struct str token, struct str key)
{
    size_t at = 0;
    for (size_t i = 0; i < token.len; i++, at++) {
        char c = token.ptr[i];
        if (c == '~') {
            char next = ++i < token.len ? token.ptr[i] : 0;
            if (next != '0' && next != '1') return false;
            c = next == '0' ? '~' : '/';
        }
        if (at >= key.len || key.ptr[at] != c) return false;
    }
    return at == key.len;
}

static const struct jv *resolve(const struct jv *v, struct str token)
{
    uint64_t i;
    if (jv_is(v, JSON_ARRAY)) return str_to_u64(token, &i) ? jv_at(v, i) : NULL;
    if (!jv_is(v, JSON_OBJECT)) return NULL;
    JV_EACH (m, v)
        if (token_is(token, m->key)) return m;
    return NULL;
}

const struct jv *jv_pointer(const struct jv *v, struct str pointer)
{
    struct str token;
    if (pointer.len == 0) return v;
    if (pointer.ptr[0] != '/') return NULL;
    pointer = str_from(pointer, 1);
    while (v && str_split(&pointer, '/', &token)) v = resolve(v, token);
    return v;
}

struct str jv_str(const struct jv *v)
{
    return jv_is(v, JSON_STRING) ? v->str : STR_NONE;
}

struct str jv_str_at(const struct jv *obj, const char *key)
{
    return jv_str(jv_get(obj, key));
}

bool jv_int(const struct jv *v, int64_t *out)
{
    return jv_is(v, JSON_NUMBER) && jnum_int(v->raw, out) == OK;
}

int64_t jv_int_at(const struct jv *obj, const char *key, int64_t otherwise)
{
    int64_t v;
    return jv_int(jv_get(obj, key), &v) ? v : otherwise;
}

bool jv_f64(const struct jv *v, double *out)
{
    return jv_is(v, JSON_NUMBER) && jnum_f64(v->raw, out) == OK;
}

bool jv_whole(const struct jv *v)
{
    return jv_is(v, JSON_NUMBER) && jnum_whole(v->raw);
}

bool jv_true(const struct jv *v)
{
    return jv_is(v, JSON_BOOL) && v->boolean;
}

/* --- comparing --------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return str_cmp((*(const struct jv *const *)a)->key, (*(const struct jv *const *)b)->key);
}

const struct jv **jv_sorted(const struct jv *obj)
{
    const struct jv **all = mem_alloc(obj->count * sizeof *all);
    size_t            n = 0;
    if (!all) return NULL;
    JV_EACH (m, obj) all[n++] = m;
    qsort(all, n, sizeof *all, by_key);
    return all;
}

static bool same_order(const struct jv *a, const struct jv *b)
{
    const struct jv *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!str_eq(x->key, y->key)) return false;
    return true;
}

static bool equal_in_order(const struct jv *a, const struct jv *b)
{
    const struct jv *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!jv_equal(x, y)) return false;
    return true;
}

/* Without memory for sorting: slower, but not wrong. Keys are unique. */
static bool equal_by_search(const struct jv *a, const struct jv *b)
{
    JV_EACH (m, a)
        if (!jv_equal(m, jv_get_str(b, m->key))) return false;
    return true;
}

static bool equal_sorted(const struct jv *a, const struct jv *b)
{
    const struct jv **x = jv_sorted(a), **y = jv_sorted(b);
    bool              same = true;
    if (!x || !y) same = equal_by_search(a, b);
    else
        for (size_t i = 0; same && i < a->count; i++)
            same = str_eq(x[i]->key, y[i]->key) && jv_equal(x[i], y[i]);
    mem_free(x);
    mem_free(y);
    return same;
}

bool jv_compare(const struct jv *a, const struct jv *b, int *out)
{
    return jv_is(a, JSON_NUMBER) && jv_is(b, JSON_NUMBER) && jnum_compare(a->raw, b->raw, out);
}

bool jv_equal(const struct jv *a, const struct jv *b)
{
    if (!a || !b) return a == b;
    if (a->type != b->type) return false;
    switch (a->type) {
    case JSON_NULL: return true;
    case JSON_BOOL: return a->boolean == b->boolean;
    case JSON_NUMBER: return jnum_equal(a->raw, b->raw);
    case JSON_STRING: return str_eq(a->str, b->str);
    case JSON_ARRAY: return a->count == b->count && equal_in_order(a, b);
    case JSON_OBJECT: break;
    }
    if (a->count != b->count) return false;
    return same_order(a, b) ? equal_in_order(a, b) : equal_sorted(a, b);
}

/* The order of members does not count, so theirs are added up. */
uint64_t jv_hash(const struct jv *v)
{
    uint64_t h = (uint64_t)v->type + 1;
    switch (v->type) {
    case JSON_NULL: return h;
    case JSON_BOOL: return h * 31 + v->boolean;
    case JSON_NUMBER: return jnum_hash(v->raw);
    case JSON_STRING: return str_hash(v->str);
    case JSON_ARRAY:
        JV_EACH (item, v) h = h * 0x9E3779B97F4A7C15u + jv_hash(item);
        return h;
    case JSON_OBJECT: break;
    }
    JV_EACH (m, v) h += (str_hash(m->key) ^ jv_hash(m) * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return h;
}
