/* mcp_header.c -- x-mcp-header: arguments that a modern HTTP server wants to see in headers as
 * well.
 *
 * The annotation counts only where the argument's place is certain: reached
 * through `properties` alone. Anywhere else, or when it is wrong in itself, the
 * tool is not listed: a server that routes or authorises by a header must not get a call without
 * it.
 */
#include <openssl/evp.h>

#include "tool/mcp/mcp_int.h"

#define PARAMS_MAX 64
#define DEPTH_MAX  32

static const char ANNOTATION[] = "x-mcp-header";

struct finder {
    struct arena     *arena;
    struct mcp_param *params;
    size_t            count;
    const char       *why;
};

static bool is_plain_type(const struct jv *schema)
{
    struct str t = jv_str_at(schema, "type");
    return str_is(t, "string") || str_is(t, "integer") || str_is(t, "boolean");
}

static void fail(struct finder *f, const char *why)
{
    if (!f->why) f->why = why;
}

static void add(struct finder *f, const struct jv *schema, const struct jv *mark,
                struct str pointer)
{
    struct str name = jv_str(mark);

    if (!name.ptr || !str_is_token(name)) fail(f, "x-mcp-header is not a header name");
    else if (!is_plain_type(schema))
        fail(f, "x-mcp-header is on something that is not a string, integer or boolean");
    else if (f->count == PARAMS_MAX) fail(f, "too many x-mcp-header");
    for (size_t i = 0; !f->why && i < f->count; i++)
        if (str_eq_nocase(f->params[i].header, name))
            fail(f, "x-mcp-header is used twice for one name");
    if (f->why) return;
    f->params[f->count++] =
        (struct mcp_param){ arena_dup(f->arena, pointer), arena_dup(f->arena, name) };
}

/* Anywhere below a place that `properties` alone does not lead to. */
static void forbid(struct finder *f, const struct jv *v, int depth)
{
    if (depth > DEPTH_MAX) fail(f, "its schema is too deep");
    if (f->why || !v || (v->type != JSON_OBJECT && v->type != JSON_ARRAY)) return;
    if (v->type == JSON_OBJECT && jv_get(v, ANNOTATION)) {
        fail(f, "x-mcp-header is in a place that is not certain");
        return;
    }
    JV_EACH (item, v) forbid(f, item, depth + 1);
}

static struct str step(struct finder *f, struct str pointer, struct str key)
{
    struct buf b;
    struct str out;
    buf_init(&b, 0);
    buf_str(&b, pointer);
    buf_chr(&b, '/');
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '~') buf_lit(&b, "~0");
        else if (key.ptr[i] == '/') buf_lit(&b, "~1");
        else buf_chr(&b, key.ptr[i]);
    }
    out = arena_dup(f->arena, buf_view(&b));
    buf_done(&b);
    return out;
}

static void walk(struct finder *f, const struct jv *schema, struct str pointer, int depth)
{
    const struct jv *mark = jv_get(schema, ANNOTATION);

    if (depth > DEPTH_MAX) fail(f, "its schema is too deep");
    if (f->why || !jv_is(schema, JSON_OBJECT)) return;
    if (mark) {
        if (depth == 0) fail(f, "x-mcp-header is on the whole input");
        else add(f, schema, mark, pointer);
    }
    JV_EACH (member, schema) {
        if (str_is(member->key, "properties") && jv_is(member, JSON_OBJECT)) {
            JV_EACH (p, member) walk(f, p, step(f, pointer, p->key), depth + 1);
        } else if (!str_is(member->key, "default") && !str_is(member->key, "examples") &&
                   !str_is(member->key, "const") && !str_is(member->key, "enum"))
            forbid(f, member, depth);
    }
}

bool mcp_params_read(struct arena *a, const struct jv *schema, struct mcp_param **out,
                     size_t *count, const char **why)
{
    struct finder f = { .arena = a,
                        .params = arena_array(a, PARAMS_MAX, sizeof(struct mcp_param)) };

    if (!f.params) return false;
    walk(&f, schema, STR(""), 0);
    *why = f.why;
    if (f.why) return false;
    *out = f.params;
    *count = f.count;
    return true;
}

/* --- values ------------------------------------------------------------------------------- */

static bool is_wrapped(struct str v)
{
    return str_starts(v, STR("=?base64?")) && str_ends(v, STR("?="));
}

static bool is_plain(struct str v)
{
    for (size_t i = 0; i < v.len; i++)
        if ((unsigned char)v.ptr[i] < 0x20 || (unsigned char)v.ptr[i] > 0x7e) return false;
    if (v.len && (v.ptr[0] == ' ' || v.ptr[v.len - 1] == ' ')) return false;
    return !is_wrapped(v);
}

void mcp_header_value(struct buf *out, struct str value)
{
    char *room;

    if (is_plain(value)) {
        buf_str(out, value);
        return;
    }
    buf_lit(out, "=?base64?");
    room = buf_room(out, 4 * (value.len / 3 + 1) + 1);
    if (!room) return;
    buf_grew(out, (size_t)EVP_EncodeBlock((unsigned char *)room, (const unsigned char *)value.ptr,
                                          (int)value.len));
    buf_lit(out, "?=");
}

static struct curl_slist *append(struct curl_slist *all, const char *prefix, struct str name,
                                 struct str value)
{
    struct buf         b;
    struct curl_slist *next;

    buf_init(&b, 0);
    buf_printf(&b, "%s" STR_FMT "%s", prefix, STR_ARG(name), value.len ? ": " : ";");
    mcp_header_value(&b, value);
    buf_chr(&b, 0);
    next = b.err ? NULL : curl_slist_append(all, b.ptr);
    buf_done(&b);
    if (!next) curl_slist_free_all(all);
    return next;
}

struct curl_slist *mcp_call_headers(const struct mcp_tool *t, const struct jv *args)
{
    struct curl_slist *all = append(NULL, "Mcp-Name", STR(""), t->name);

    for (size_t i = 0; all && i < t->param_count; i++) {
        const struct jv *v = jv_pointer(args, t->params[i].pointer);
        if (!v || v->type == JSON_NULL || v->type == JSON_OBJECT || v->type == JSON_ARRAY) continue;
        all = append(all, "Mcp-Param-", t->params[i].header,
                     v->type == JSON_STRING ? v->str : v->raw);
    }
    return all;
}
