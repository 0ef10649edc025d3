/* fuzz_json.c -- any bytes as JSON.
 *
 * What must hold whatever comes:
 *   - the tree and the pull reader take the same texts, however the pull reader is used
 *     (skipped, taken raw, or walked to the last value);
 *   - what was taken is written again as the same value, on one line, and the second writing is
 *     the first one; the canonical form of both is the same text;
 *   - any bytes written as a string are read again: the same, when they were UTF-8.
 * dictionary: json */
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/utf8.h"

static void require(bool ok)
{
    if (!ok) abort();
}

static void walk(struct json *r)
{
    struct str key;
    switch (json_peek(r)) {
    case JSON_NULL: json_null(r); return;
    case JSON_BOOL: json_bool(r); return;
    case JSON_NUMBER: json_raw(r); return;
    case JSON_STRING: json_string(r); return;
    case JSON_ARRAY:
        json_array(r);
        while (json_item(r)) walk(r);
        return;
    case JSON_OBJECT:
        json_object(r);
        while (json_key(r, &key)) walk(r);
        return;
    }
}

static bool pulled(struct str text, struct arena *a, int how)
{
    struct json r;
    json_init(&r, text, a);
    if (how == 0) json_skip(&r);
    else if (how == 1) json_raw(&r);
    else walk(&r);
    return json_end(&r) == OK;
}

/* One line, and nothing in it that ends a line anywhere. */
static void check_line(struct str s)
{
    for (size_t i = 0; i < s.len; i++) require((unsigned char)s.ptr[i] >= 0x20);
    require(str_find(s, STR("\xe2\x80\xa8")) < 0 && str_find(s, STR("\xe2\x80\xa9")) < 0 &&
            utf8_valid(s));
}

static struct str written(struct arena *a, const struct jv *v, bool canonical)
{
    struct jsonw w;
    struct buf   out;
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    if (canonical) jw_canonical(&w, v);
    else jw_jv(&w, v);
    require(out.err == OK);
    struct str s = arena_dup(a, buf_view(&out));
    buf_done(&out);
    return s;
}

static void check_value(struct arena *a, const struct jv *v)
{
    struct jv *again;
    struct str once = written(a, v, false);
    check_line(once);
    require(json_parse(a, once, &again, NULL) == OK && jv_equal(v, again));
    require(str_eq(written(a, again, false), once));
    struct str canonical = written(a, v, true);
    check_line(canonical);
    require(str_eq(written(a, again, true), canonical));
    require(json_parse(a, canonical, &again, NULL) == OK && jv_equal(v, again));
}

static void check_string(struct arena *a, struct str bytes)
{
    struct jsonw w;
    struct buf   out;
    struct jv   *v;
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    jw_str(&w, bytes);
    check_line(buf_view(&out));
    require(json_parse(a, buf_view(&out), &v, NULL) == OK && v->type == JSON_STRING);
    if (utf8_valid(bytes)) require(str_eq(v->str, bytes));
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str        text = str_n((const char *)data, size);
    struct json_error error = { 0 };
    struct arena      a;
    struct jv        *v;
    arena_init(&a, 0);
    bool taken = json_parse(&a, text, &v, &error) == OK;
    require(taken || (error.why && error.pos <= size && error.line >= 1 && error.column >= 1));
    for (int how = 0; how < 3; how++) require(pulled(text, &a, how) == taken);
    if (taken) check_value(&a, v);
    check_string(&a, text);
    arena_done(&a);
    return 0;
}
