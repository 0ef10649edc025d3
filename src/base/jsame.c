/* jsame.c -- see jsame.h. */
#include "base/jsame.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/glyph.h"
#include "base/jnum.h"
#include "base/nfc.h"
#include "base/utf8.h"

/* --- texts ------------------------------------------------------------------------------------ */

/* Unicode's White_Space, without the controls that glyph_hidden passes over. */
static bool is_blank(uint32_t cp)
{
    return cp == ' ' || cp == '\t' || cp == '\n' || cp == '\r' || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x3000;
}

void same_text(struct buf *out, struct str s)
{
    struct buf seen;
    uint32_t   cp;
    unsigned   n;
    buf_init(&seen, 0);
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        if (is_blank(cp)) buf_chr(&seen, ' ');
        else if (!glyph_hidden(cp)) buf_add(&seen, s.ptr, n);
    }
    nfc_add(out, str_trim(buf_view(&seen)));
    if (seen.err) out->err = seen.err;
    buf_done(&seen);
}

/* Letters, digits and signs of ASCII, and blanks between them: it is what it looks like. */
static bool is_plain_text(struct str s)
{
    if (s.len && (s.ptr[0] == ' ' || s.ptr[s.len - 1] == ' ')) return false;
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] > '~') return false;
    return true;
}

/* How closely two texts are looked at. */
enum look { AS_SEEN, AS_SPELLED };

static void write_text(struct jsonw *w, struct str s, enum look look)
{
    struct buf one;
    if (look == AS_SEEN ? is_plain_text(s) : nfc_plain(s)) {
        jw_str(w, s);
        return;
    }
    buf_init(&one, 0);
    if (look == AS_SEEN) same_text(&one, s);
    else nfc_add(&one, s);
    jw_str(w, buf_view(&one));
    if (one.err) w->out->err = one.err;
    buf_done(&one);
}

/* As the nearest double is written, where that is the same number. */
static void write_number(struct jsonw *w, const struct jv *v)
{
    struct buf   text;
    struct jsonw one;
    double       d;
    buf_init(&text, 64);
    jsonw_init(&one, &text);
    if (jv_f64(v, &d)) jw_f64(&one, d);
    bool good = text.len && !text.err && jnum_equal(buf_view(&text), v->raw);
    jw_raw(w, good ? buf_view(&text) : v->raw);
    buf_done(&text);
}

/* --- members, by the one spelling of their names ---------------------------------------------- */

struct member {
    struct str       key;
    const struct jv *value;
};

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static struct str one_spelling(struct arena *a, struct str name)
{
    struct buf b;
    if (nfc_plain(name)) return name;
    buf_init(&b, 0);
    nfc_add(&b, name);
    if (b.err) a->failed = true;
    return buf_into(&b, a);
}

static void write_value(struct jsonw *w, const struct jv *v, enum look look);

static void write_members(struct jsonw *w, const struct jv *v, struct member *all, struct arena *a,
                          enum look look)
{
    size_t n = 0;
    JV_EACH (m, v) all[n++] = (struct member){ one_spelling(a, m->key), m };
    if (a->failed) w->out->err = ERR_NOMEM;
    else qsort(all, n, sizeof *all, by_key);
    for (size_t i = 0; i < n && !w->out->err; i++) {
        jw_key_str(w, all[i].key);
        write_value(w, all[i].value, look);
    }
}

static void write_object(struct jsonw *w, const struct jv *v, enum look look)
{
    struct arena   a;
    struct member *all;
    arena_init(&a, 0);
    if (!(all = arena_array(&a, v->count + 1, sizeof *all))) w->out->err = ERR_NOMEM;
    jw_obj(w);
    if (all) write_members(w, v, all, &a, look);
    jw_end_obj(w);
    arena_done(&a);
}

static void write_value(struct jsonw *w, const struct jv *v, enum look look)
{
    if (!v) {
        jw_null(w);
        return;
    }
    switch (v->type) {
    case JSON_NULL: jw_null(w); return;
    case JSON_BOOL: jw_bool(w, v->boolean); return;
    case JSON_NUMBER: write_number(w, v); return;
    case JSON_STRING: write_text(w, v->str, look); return;
    case JSON_OBJECT: write_object(w, v, look); return;
    case JSON_ARRAY: break;
    }
    jw_arr(w);
    JV_EACH (item, v) write_value(w, item, look);
    jw_end_arr(w);
}

void jw_same(struct jsonw *w, const struct jv *v)
{
    write_value(w, v, AS_SEEN);
}

/* --- comparing -------------------------------------------------------------------------------- */

/* Is all of it what it looks like? Then it is the same as another such only if it is equal. */
static bool is_plain(const struct jv *v)
{
    if (!is_plain_text(v->key)) return false;
    if (v->type == JSON_STRING) return is_plain_text(v->str);
    JV_EACH (item, v)
        if (!is_plain(item)) return false;
    return true;
}

static bool looks_same(const struct jv *a, const struct jv *b, enum look look)
{
    struct buf   x, y;
    struct jsonw w;
    if (jv_equal(a, b)) return true;
    if (!a || !b || a->type != b->type || (is_plain(a) && is_plain(b))) return false;
    buf_init(&x, 0);
    buf_init(&y, 0);
    jsonw_init(&w, &x);
    write_value(&w, a, look);
    jsonw_init(&w, &y);
    write_value(&w, b, look);
    bool same = !x.err && !y.err && str_eq(buf_view(&x), buf_view(&y));
    buf_done(&x);
    buf_done(&y);
    return same;
}

bool jv_same(const struct jv *a, const struct jv *b)
{
    return looks_same(a, b, AS_SEEN);
}

bool jv_spelled_same(const struct jv *a, const struct jv *b)
{
    return looks_same(a, b, AS_SPELLED);
}
