/* http_read.c -- the "http" object of a configured tool. */
#include "base/arena.h"
#include "tool/http_int.h"
#include "tool/limits.h"
#include "tool/text.h"

static enum err bad(struct buf *why, const char *sentence)
{
    buf_lit(why, sentence);
    return ERR_TYPE;
}

/* Whose call it is, is not to be configured. */
#define OURS "Parley-"

/* What the transfer itself decides. */
static bool is_ours(struct str name)
{
    static const char *const ours[] = { "Host",       "Content-Length",  "Transfer-Encoding",
                                        "Connection", "Idempotency-Key", "Content-Type",
                                        "Accept",     "Expect",          "Upgrade",
                                        NULL };
    for (int i = 0; ours[i]; i++)
        if (str_eq_nocase(name, str_c(ours[i]))) return true;
    return str_eq_nocase(str_cut(name, sizeof OURS - 1), STR(OURS));
}

const char *http_header_read(struct arena *a, struct str name, struct str value, struct buf *why)
{
    if (!str_is_token(name) || is_ours(name)) {
        buf_printf(why, "the header " STR_FMT " cannot be set here", STR_ARG(name));
        return NULL;
    }
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < 0x20 && value.ptr[i] != '\t') {
            buf_printf(why, "the value of the header " STR_FMT " contains a control character",
                       STR_ARG(name));
            return NULL;
        }
    /* libcurl sends no header at all for "Name:", and an empty one for "Name;" */
    return arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(name), value.len ? ": " : ";",
                        STR_ARG(value))
        .ptr;
}

static bool add_header(struct http_tool *x, const char *line)
{
    struct curl_slist *next = curl_slist_append(x->headers, line);
    if (next) x->headers = next;
    return next != NULL;
}

static enum err read_headers(struct arena *a, struct http_tool *x, const struct jv *v,
                             struct buf *why)
{
    static const char *const fixed[] = { "Content-Type: application/json",
                                         "Accept: application/json, text/event-stream",
                                         "Expect:", NULL };
    if (v && !jv_is(v, JSON_OBJECT)) return bad(why, "\"headers\" must be an object");
    for (int i = 0; fixed[i]; i++)
        if (!add_header(x, fixed[i])) return ERR_NOMEM;
    JV_EACH (item, v) {
        const char *line;
        if (!jv_is(item, JSON_STRING)) return bad(why, "\"headers\" must have texts as values");
        line = http_header_read(a, item->key, item->str, why);
        if (!line) return ERR_TYPE;
        if (!add_header(x, line)) return ERR_NOMEM;
    }
    return OK;
}

static enum err read_url(struct arena *a, struct http_tool *x, const struct jv *v, struct buf *why)
{
    if (!jv_is(v, JSON_STRING))
        return bad(why, "\"url\" must be an address such as \"https://billing.example/pay\"");
    x->host = egress_host(a, v->str);
    if (!x->host.ptr)
        return bad(why, "\"url\" must be an address that begins with https:// or http://");
    x->url = arena_dup(a, v->str).ptr;
    return OK;
}

static enum err read_method(struct arena *a, struct http_tool *x, const struct jv *v,
                            struct buf *why)
{
    static const char *const known[] = { "POST", "PUT", "PATCH", NULL };
    x->method = "POST";
    if (!v) return OK;
    for (int i = 0; known[i]; i++)
        if (str_is(jv_str(v), known[i])) {
            x->method = known[i];
            return OK;
        }
    return bad(why, "\"method\" must be POST, PUT or PATCH");
}

static enum err read_max(struct http_tool *x, const struct jv *v, struct buf *why)
{
    int64_t n = HTTP_RESPONSE;
    if (v && (!jv_int(v, &n) || n < 256))
        return bad(why, "\"response_max\" must be a whole number of bytes, at least 256");
    x->response_max = (size_t)n;
    return OK;
}

static enum err read_members(struct arena *a, struct http_tool *x, const struct jv *http,
                             struct buf *why)
{
    static const char *const known[] = {
        "url", "method", "headers", "allow", "response_max", NULL
    };
    enum err e;

    if (!jv_is(http, JSON_OBJECT)) return bad(why, "\"http\" must be an object with a \"url\"");
    JV_EACH (item, http) {
        int i = 0;
        while (known[i] && !str_is(item->key, known[i])) i++;
        if (known[i]) continue;
        buf_printf(why, "\"http\" has no option called " STR_FMT, STR_ARG(item->key));
        return ERR_TYPE;
    }
    if ((e = read_url(a, x, jv_get(http, "url"), why)) != OK) return e;
    if ((e = read_method(a, x, jv_get(http, "method"), why)) != OK) return e;
    if ((e = read_headers(a, x, jv_get(http, "headers"), why)) != OK) return e;
    if ((e = egress_read(a, &x->egress, jv_get(http, "allow"), why)) != OK) return e;
    return read_max(x, jv_get(http, "response_max"), why);
}

enum err http_tool_read(struct registry *r, struct tool *t, const struct jv *http,
                        struct curl_pool *pool, struct loop *l, struct buf *why)
{
    struct http_tool *x = arena_new(&r->arena, struct http_tool);
    enum err          e;

    if (!x) return ERR_NOMEM;
    x->pool = pool;
    x->loop = l;
    if ((e = read_members(&r->arena, x, http, why)) != OK) {
        curl_slist_free_all(x->headers);
        return e;
    }
    t->ctx = x;
    t->own_clock = true;
    t->ops = &http_ops;
    t->source = STR("http");
    return OK;
}
