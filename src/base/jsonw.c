/* jsonw.c -- writing JSON onto a buf.
 *
 * One bit of state: whether a comma must come before the next value. A value
 * sets it, an opening bracket and a key clear it. Strings are copied in runs;
 * only what needs another spelling is handled one character at a time.
 */
#include "base/jsonw.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/scan.h"
#include "base/utf8.h"

void jsonw_init(struct jsonw *w, struct buf *out)
{
    *w = (struct jsonw){ .out = out };
}

static void comma(struct jsonw *w)
{
    if (w->need_comma) buf_chr(w->out, ',');
    w->need_comma = true;
}

static void open(struct jsonw *w, char bracket)
{
    comma(w);
    buf_chr(w->out, bracket);
    w->need_comma = false;
}

static void close(struct jsonw *w, char bracket)
{
    buf_chr(w->out, bracket);
    w->need_comma = true;
}

void jw_obj(struct jsonw *w)
{
    open(w, '{');
}
void jw_end_obj(struct jsonw *w)
{
    close(w, '}');
}
void jw_arr(struct jsonw *w)
{
    open(w, '[');
}
void jw_end_arr(struct jsonw *w)
{
    close(w, ']');
}

/* --- strings ----------------------------------------------------------------- */

/* Characters that cannot stand in the output as they are, among the non-ASCII
 * ones: bad bytes and surrogates, and U+2028/U+2029, which end a line for
 * JavaScript and for some readers of event streams. */
static bool passes(unsigned len, uint32_t cp)
{
    return len > 1 && !(cp >= 0xD800 && cp <= 0xDFFF) && cp != 0x2028 && cp != 0x2029;
}

/* The first byte in [p, end) that must be spelled differently. */
static const char *clean_run(const char *p, const char *end)
{
    for (;;) {
        uint32_t cp;
        p = scan_plain(p, end);
        if (p == end || (unsigned char)*p < 0x80) return p;
        unsigned n = utf8_decode(str_n(p, (size_t)(end - p)), &cp);
        if (!passes(n, cp)) return p;
        p += n;
    }
}

static void escape_hex(struct buf *out, uint32_t cp)
{
    static const char hex[] = "0123456789abcdef";
    char              e[6] = {
                     '\\', 'u', hex[cp >> 12 & 15], hex[cp >> 8 & 15], hex[cp >> 4 & 15], hex[cp & 15]
    };
    buf_add(out, e, sizeof e);
}

static void escape_ascii(struct buf *out, char c)
{
    switch (c) {
    case '"': buf_lit(out, "\\\""); return;
    case '\\': buf_lit(out, "\\\\"); return;
    case '\n': buf_lit(out, "\\n"); return;
    case '\r': buf_lit(out, "\\r"); return;
    case '\t': buf_lit(out, "\\t"); return;
    case '\b': buf_lit(out, "\\b"); return;
    case '\f': buf_lit(out, "\\f"); return;
    }
    escape_hex(out, (unsigned char)c);
}

static size_t escape_one(struct buf *out, struct str s)
{
    uint32_t cp;
    unsigned n = utf8_decode(s, &cp);
    if (cp < 0x80) escape_ascii(out, (char)cp);
    else if (n == 1) buf_lit(out, "\xEF\xBF\xBD");
    else escape_hex(out, cp);
    return n;
}

void jw_escape(struct buf *out, struct str s)
{
    while (s.len) {
        size_t n = (size_t)(clean_run(s.ptr, s.ptr + s.len) - s.ptr);
        buf_add(out, s.ptr, n);
        s = str_from(s, n);
        if (s.len) s = str_from(s, escape_one(out, s));
    }
}

static void quoted(struct buf *out, struct str s)
{
    buf_chr(out, '"');
    jw_escape(out, s);
    buf_chr(out, '"');
}

/* --- keys and values ---------------------------------------------------------- */

void jw_key(struct jsonw *w, const char *key)
{
    comma(w);
    buf_chr(w->out, '"');
    buf_lit(w->out, key);
    buf_add(w->out, "\":", 2);
    w->need_comma = false;
}

void jw_key_str(struct jsonw *w, struct str key)
{
    comma(w);
    quoted(w->out, key);
    buf_chr(w->out, ':');
    w->need_comma = false;
}

void jw_str(struct jsonw *w, struct str s)
{
    comma(w);
    quoted(w->out, s);
}

void jw_strz(struct jsonw *w, const char *z)
{
    jw_str_or_null(w, str_c(z));
}

void jw_str_or_null(struct jsonw *w, struct str s)
{
    if (s.ptr) jw_str(w, s);
    else jw_null(w);
}

void jw_int(struct jsonw *w, int64_t v)
{
    comma(w);
    buf_i64(w->out, v);
}

void jw_f64(struct jsonw *w, double v)
{
    if (!isfinite(v)) {
        jw_null(w);
        return;
    }
    char text[32];
    /* 15 digits are always right in decimal, 17 always read back; below DBL_MIN there are fewer. */
    for (int digits = fabs(v) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    comma(w);
    buf_lit(w->out, text);
}

void jw_bool(struct jsonw *w, bool v)
{
    comma(w);
    buf_lit(w->out, v ? "true" : "false");
}

void jw_null(struct jsonw *w)
{
    comma(w);
    buf_lit(w->out, "null");
}

/* Between the tokens of a value there may be line ends; inside them there are none, they are
 * escaped. */
static void add_on_one_line(struct buf *out, struct str json)
{
    size_t from = out->len;

    buf_str(out, json);
    if (out->err || (!memchr(json.ptr, '\n', json.len) && !memchr(json.ptr, '\r', json.len)))
        return;
    for (size_t i = from; i < out->len; i++)
        if (out->ptr[i] == '\n' || out->ptr[i] == '\r') out->ptr[i] = ' ';
}

void jw_raw(struct jsonw *w, struct str json)
{
    comma(w);
    if (json.len) add_on_one_line(w->out, json);
    else buf_lit(w->out, "null");
}

/* --- trees ---------------------------------------------------------------------- */

/* Everything but objects, which differ; `inner` writes the children. */
static void write_plain(struct jsonw *w, const struct jv *v,
                        void (*inner)(struct jsonw *, const struct jv *))
{
    switch (v->type) {
    case JSON_NULL: jw_null(w); return;
    case JSON_BOOL: jw_bool(w, v->boolean); return;
    case JSON_NUMBER: jw_raw(w, v->raw); return;
    case JSON_STRING: jw_str(w, v->str); return;
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    jw_arr(w);
    JV_EACH (item, v) inner(w, item);
    jw_end_arr(w);
}

void jw_jv(struct jsonw *w, const struct jv *v)
{
    if (!v) {
        jw_null(w);
        return;
    }
    if (v->type != JSON_OBJECT) {
        write_plain(w, v, jw_jv);
        return;
    }
    jw_obj(w);
    JV_EACH (m, v) {
        jw_key_str(w, m->key);
        jw_jv(w, m);
    }
    jw_end_obj(w);
}

static void canonical_object(struct jsonw *w, const struct jv *v)
{
    const struct jv **members = jv_sorted(v);
    if (!members) {
        if (!w->out->err) w->out->err = ERR_NOMEM;
        return;
    }
    jw_obj(w);
    for (size_t i = 0; i < v->count; i++) {
        jw_key_str(w, members[i]->key);
        jw_canonical(w, members[i]);
    }
    jw_end_obj(w);
    mem_free(members);
}

void jw_canonical(struct jsonw *w, const struct jv *v)
{
    if (!v) jw_null(w);
    else if (v->type == JSON_OBJECT) canonical_object(w, v);
    else write_plain(w, v, jw_canonical);
}

/* --- key and value ---------------------------------------------------------------- */

void jw_kstr(struct jsonw *w, const char *key, struct str s)
{
    jw_key(w, key);
    jw_str(w, s);
}
void jw_kbuf(struct jsonw *w, const char *key, const struct buf *b)
{
    jw_kstr(w, key, buf_view(b));
    if (b->err) w->out->err = b->err;
}
void jw_kstrz(struct jsonw *w, const char *key, const char *z)
{
    jw_key(w, key);
    jw_strz(w, z);
}
void jw_kint(struct jsonw *w, const char *key, int64_t v)
{
    jw_key(w, key);
    jw_int(w, v);
}
void jw_kbool(struct jsonw *w, const char *key, bool v)
{
    jw_key(w, key);
    jw_bool(w, v);
}
void jw_kraw(struct jsonw *w, const char *key, struct str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}
