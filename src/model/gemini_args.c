/* gemini_args.c -- a small tree of growing values.
 *
 * Nodes live in one arena; a string grows in a buf of its own, because it may
 * come in hundreds of pieces. An array takes its items in order: an index that would leave a hole
 * is refused.
 */
#include "model/gemini_args.h"

#define BYTES_MAX (4u << 20)
#define NODES_MAX 2000 /* they are searched one by one */
#define DEPTH_MAX 64

enum node_type { EMPTY, RAW, TEXT, ARRAY, OBJECT };

struct node {
    enum node_type type;
    struct str     key;
    struct str     raw; /* RAW: a number, true, false, null */
    struct buf     text;
    struct node   *child, *last, *next;
    size_t         count;
};

struct gemini_args {
    struct arena arena;
    struct node  root;
    size_t       nodes, bytes;
};

/* One step of a path: a name or an index. */
struct step {
    struct str name;
    size_t     index;
};

struct gemini_args *gemini_args_new(void)
{
    struct gemini_args *a = mem_alloc(sizeof *a);
    if (!a) return NULL;
    arena_init(&a->arena, 4 * BYTES_MAX);
    a->root.type = OBJECT;
    return a;
}

static void free_texts(struct node *n)
{
    buf_done(&n->text);
    for (struct node *c = n->child; c; c = c->next) free_texts(c);
}

void gemini_args_free(struct gemini_args *a)
{
    if (!a) return;
    free_texts(&a->root);
    arena_done(&a->arena);
    mem_free(a);
}

/* --- paths: $.name['odd name'][3] ------------------------------------------------------ */

static bool take_quoted(struct str *rest, struct step *s)
{
    char        quote = rest->ptr[1];
    const char *end = rest->len > 2 ? memchr(rest->ptr + 2, quote, rest->len - 2) : NULL;
    if (!end || end + 1 >= rest->ptr + rest->len || end[1] != ']') return false;
    s->name = str_n(rest->ptr + 2, (size_t)(end - rest->ptr - 2));
    *rest = str_from(*rest, s->name.len + 4);
    return true;
}

static bool take_index(struct str *rest, struct step *s)
{
    uint64_t    n;
    const char *end = memchr(rest->ptr, ']', rest->len);
    if (!end || !str_to_u64(str_n(rest->ptr + 1, (size_t)(end - rest->ptr - 1)), &n) ||
        n > NODES_MAX)
        return false;
    s->name = STR_NONE;
    s->index = (size_t)n;
    *rest = str_from(*rest, (size_t)(end - rest->ptr) + 1);
    return true;
}

static bool take_name(struct str *rest, struct step *s)
{
    size_t n = 1;
    while (n < rest->len && rest->ptr[n] != '.' && rest->ptr[n] != '[') n++;
    s->name = str_n(rest->ptr + 1, n - 1);
    *rest = str_from(*rest, n);
    return n > 1;
}

static bool take_step(struct str *rest, struct step *s)
{
    if (rest->ptr[0] == '.') return take_name(rest, s);
    if (rest->ptr[0] != '[' || rest->len < 3) return false;
    if (rest->ptr[1] == '\'' || rest->ptr[1] == '"') return take_quoted(rest, s);
    return take_index(rest, s);
}

/* --- the tree ----------------------------------------------------------------------------- */

static struct node *add_child(struct gemini_args *a, struct node *n, struct str key)
{
    struct node *c = a->nodes < NODES_MAX ? arena_new(&a->arena, struct node) : NULL;
    if (!c) return NULL;
    if (key.ptr) c->key = arena_dup(&a->arena, key);
    buf_init(&c->text, BYTES_MAX);
    a->nodes++;
    if (n->last) n->last->next = c;
    else n->child = c;
    n->last = c;
    n->count++;
    return c;
}

static struct node *member(const struct node *n, struct str name)
{
    struct node *c = n->child;
    while (c && !str_eq(c->key, name)) c = c->next;
    return c;
}

static struct node *item(const struct node *n, size_t index)
{
    if (index + 1 == n->count) return n->last; /* mostly it is the last one that goes on */
    struct node *c = n->child;
    while (c && index--) c = c->next;
    return c;
}

static enum err descend(struct gemini_args *a, struct node **at, const struct step *s)
{
    struct node   *n = *at, *c;
    enum node_type want = s->name.ptr ? OBJECT : ARRAY;
    if (n->type == EMPTY) n->type = want;
    if (n->type != want || (want == ARRAY && s->index > n->count)) return ERR_SYNTAX;
    c = want == OBJECT ? member(n, s->name) : item(n, s->index);
    if (!c) c = add_child(a, n, s->name);
    if (!c) return a->nodes >= NODES_MAX ? ERR_FULL : ERR_NOMEM;
    *at = c;
    return OK;
}

static enum err find(struct gemini_args *a, struct str path, struct node **out)
{
    struct node *n = &a->root;
    struct step  s = { 0 };
    enum err     e = OK;
    unsigned     depth = 0;
    if (!path.len || path.ptr[0] != '$') return ERR_SYNTAX;
    path = str_from(path, 1);
    while (path.len && !e) {
        if (++depth > DEPTH_MAX) return ERR_FULL;
        e = take_step(&path, &s) ? descend(a, &n, &s) : ERR_SYNTAX;
    }
    if (!e) *out = n;
    return e;
}

static enum err add_text(struct gemini_args *a, struct node *n, struct str text)
{
    if (n->type == EMPTY) n->type = TEXT;
    if (n->type != TEXT) return ERR_SYNTAX;
    a->bytes += text.len;
    if (a->bytes > BYTES_MAX) return ERR_FULL;
    buf_str(&n->text, text);
    return n->text.err;
}

enum err gemini_args_add(struct gemini_args *a, const struct jv *pair)
{
    struct node     *n = NULL;
    const struct jv *text = jv_get(pair, "stringValue"), *raw = jv_get(pair, "numberValue");
    if (!raw) raw = jv_get(pair, "boolValue");
    enum err e = find(a, jv_str_at(pair, "jsonPath"), &n);
    if (e) return e;
    if (n == &a->root) return text || raw ? ERR_SYNTAX : OK;
    if (jv_is(text, JSON_STRING)) return add_text(a, n, text->str);
    if (n->type != EMPTY) return ERR_SYNTAX;
    n->type = RAW;
    n->raw = STR("null"); /* nullValue, under whatever spelling */
    if (jv_is(raw, JSON_NUMBER) || jv_is(raw, JSON_BOOL)) n->raw = arena_dup(&a->arena, raw->raw);
    return n->raw.ptr ? OK : ERR_NOMEM;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_node(struct jsonw *w, const struct node *n)
{
    switch (n->type) {
    case EMPTY: jw_null(w); return;
    case RAW: jw_raw(w, n->raw); return;
    case TEXT: jw_str(w, buf_view(&n->text)); return;
    case ARRAY:
        jw_arr(w);
        for (const struct node *c = n->child; c; c = c->next) write_node(w, c);
        jw_end_arr(w);
        return;
    case OBJECT:
        jw_obj(w);
        for (const struct node *c = n->child; c; c = c->next) {
            jw_key_str(w, c->key);
            write_node(w, c);
        }
        jw_end_obj(w);
        return;
    }
}

void gemini_args_write(const struct gemini_args *a, struct buf *out)
{
    struct jsonw w;
    jsonw_init(&w, out);
    write_node(&w, &a->root);
}
