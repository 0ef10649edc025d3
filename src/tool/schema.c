/* schema.c -- walks schema and value together; the first misfit is put into words.
 *
 * A check of an alternative (anyOf, oneOf, not) must not speak: it runs with
 * `quiet` set, or into a buffer of its own. The sentence names the place by JSON pointer, so that
 * a model can mend exactly that. `spent` is sticky: once the work or the depth
 * is used up nothing fits any more, also not under `not`.
 */
#include "tool/schema.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "tool/pattern.h"

#define WORK_MAX    20000000u   /* under half a second */
#define DEPTH_MAX   300         /* JSON nests 128 deep; the rest is for $ref and anyOf */
#define SCRATCH_MAX (4u << 20)  /* compiled patterns */
#define WHY_MAX     2000        /* a sentence, not a listing */
#define NAMES_SHOWN 12

/* Where in the value we are; on the stack of the recursion. */
struct place {
    const struct place *up;
    struct str          key;      /* member name, or */
    size_t              index;    /* item when key.ptr is NULL */
};

struct check {
    const struct jv *root;
    struct arena     scratch;
    struct buf      *why;
    unsigned         quiet, depth;
    uint64_t         work;
    const char      *spent;       /* why nothing can be decided any more */
};

static bool fits(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at);

static const char *const type_names[] = { [JSON_NULL] = "null", [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
    [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object" };

/* --- the sentence --------------------------------------------------------------- */

static void write_place(struct buf *out, const struct place *at)
{
    if (!at->up) return;
    write_place(out, at->up);
    buf_chr(out, '/');
    if (!at->key.ptr) {
        buf_u64(out, at->index);
        return;
    }
    for (size_t i = 0; i < at->key.len; i++) {
        char ch = at->key.ptr[i];
        if (ch == '~') buf_lit(out, "~0");
        else if (ch == '/') buf_lit(out, "~1");
        else buf_chr(out, ch);
    }
}

/* Begins the sentence "PLACE ..."; NULL when nothing shall be said. */
static struct buf *say(struct check *c, const struct place *at)
{
    if (c->quiet || c->why->len) return NULL;
    if (at->up) write_place(c->why, at);
    else buf_lit(c->why, "the input");
    return c->why;
}

static bool misfit(struct check *c, const struct place *at, const char *rest)
{
    struct buf *out = say(c, at);
    if (out) buf_printf(out, " %s", rest);
    return false;
}

static bool give_up(struct check *c, const char *why)
{
    if (!c->spent) c->spent = why;
    return false;
}

static bool pay(struct check *c, uint64_t steps)
{
    if (c->spent) return false;
    if (steps > c->work) return give_up(c, "the input is too large to be checked against the tool's schema");
    c->work -= steps;
    return true;
}

/* --- type --------------------------------------------------------------------------- */

static bool is_integer(const struct jv *v)
{
    int64_t n;
    double  d;
    if (jv_int(v, &n)) return true;
    if (!jv_f64(v, &d)) return false;
    return floor(d) == d;            /* 1.0 is an integer, says the standard; so is a huge one */
}

static bool is_named_type(const struct jv *v, struct str name)
{
    static const char *const names[] = { [JSON_NULL] = "null", [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array", [JSON_OBJECT] = "object" };
    if (str_is(name, "integer")) return v->type == JSON_NUMBER && is_integer(v);
    return str_eq_nocase(name, str_c(names[v->type]));
}

static void write_type(struct buf *out, struct str name)
{
    bool vowel = name.len && strchr("aeioAEIO", name.ptr[0]);
    if (str_is(name, "null")) buf_lit(out, "null");
    else buf_printf(out, "%s " STR_FMT, vowel ? "an" : "a", STR_ARG(name));
}

static void write_types(struct buf *out, const struct jv *type)
{
    if (type->type == JSON_STRING) {
        write_type(out, type->str);
        return;
    }
    size_t i = 0;
    JV_EACH(t, type) {
        if (i++) buf_lit(out, " or ");
        write_type(out, jv_str(t));
    }
}

static bool wants_integer(const struct jv *type)
{
    if (type->type == JSON_STRING) return str_is(type->str, "integer");
    JV_EACH(t, type) if (str_is(jv_str(t), "integer")) return true;
    return false;
}

static bool fits_type(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *type = jv_get(schema, "type");
    if (v->type == JSON_NULL && jv_true(jv_get(schema, "nullable"))) return true;
    if (jv_is(type, JSON_STRING)) {
        if (is_named_type(v, type->str)) return true;
    } else if (jv_is(type, JSON_ARRAY)) {
        JV_EACH(t, type) if (t->type == JSON_STRING && is_named_type(v, t->str)) return true;
    } else {
        return true;
    }
    struct buf *out = say(c, at);
    if (!out) return false;
    buf_lit(out, " must be ");
    write_types(out, type);
    buf_printf(out, ", not %s%s", type_names[v->type], v->type == JSON_NUMBER && wants_integer(type) ? " with a fraction" : "");
    return false;
}

/* --- enum, const ------------------------------------------------------------------------ */

static bool same(struct check *c, const struct jv *a, const struct jv *b)
{
    return pay(c, 1 + (a->raw.len < b->raw.len ? a->raw.len : b->raw.len)) && jv_equal(a, b);
}

static bool fits_values(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *only = jv_get(schema, "const"), *list = jv_get(schema, "enum");
    struct buf *out;

    if (only && !same(c, only, v)) {
        if ((out = say(c, at))) buf_printf(out, " must be " STR_FMT, STR_ARG(str_cut(only->raw, utf8_cut(only->raw, 200))));
        return false;
    }
    if (!jv_is(list, JSON_ARRAY)) return true;
    JV_EACH(one, list) if (same(c, one, v)) return true;
    if (!(out = say(c, at))) return false;
    buf_lit(out, " must be one of ");
    size_t i = 0;
    JV_EACH(one, list) {
        if (i == NAMES_SHOWN) break;
        if (i++) buf_lit(out, ", ");
        buf_str(out, str_cut(one->raw, utf8_cut(one->raw, 80)));
    }
    if (list->count > NAMES_SHOWN) buf_lit(out, " ...");
    return false;
}

/* --- numbers ------------------------------------------------------------------------------- */

/* -1, 0, 1; exact for 64-bit integers. */
static int compare(const struct jv *a, const struct jv *b)
{
    int64_t i, k;
    double  x = 0, y = 0;
    if (jv_int(a, &i) && jv_int(b, &k)) return i < k ? -1 : i > k;
    if (!jv_f64(a, &x) || !jv_f64(b, &y)) return 0;
    return x < y ? -1 : x > y;
}

static bool is_multiple(const struct jv *v, const struct jv *of)
{
    int64_t i, k;
    double  x, y;
    if (jv_int(v, &i) && jv_int(of, &k) && k > 0) return i % k == 0;
    if (!jv_f64(v, &x) || !jv_f64(of, &y) || y <= 0) return true;
    double q = x / y;
    return fabs(q - round(q)) <= 1e-9 * fmax(1, fabs(q));   /* 0.3 is a multiple of 0.1 for everyone but doubles */
}

static bool bound(struct check *c, const struct place *at, const struct jv *limit, bool ok, const char *words)
{
    if (ok) return true;
    struct buf *out = say(c, at);
    if (out) buf_printf(out, " must be %s " STR_FMT, words, STR_ARG(limit->raw));
    return false;
}

static bool fits_number(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *min = jv_get(schema, "minimum"), *max = jv_get(schema, "maximum");
    const struct jv *above = jv_get(schema, "exclusiveMinimum"), *below = jv_get(schema, "exclusiveMaximum");
    const struct jv *of = jv_get(schema, "multipleOf");

    if (jv_true(above)) above = min;      /* draft 4: a flag beside minimum */
    if (jv_true(below)) below = max;
    if (jv_is(min, JSON_NUMBER) && !bound(c, at, min, compare(v, min) >= 0, "at least")) return false;
    if (jv_is(max, JSON_NUMBER) && !bound(c, at, max, compare(v, max) <= 0, "at most")) return false;
    if (jv_is(above, JSON_NUMBER) && !bound(c, at, above, compare(v, above) > 0, "more than")) return false;
    if (jv_is(below, JSON_NUMBER) && !bound(c, at, below, compare(v, below) < 0, "less than")) return false;
    return !jv_is(of, JSON_NUMBER) || bound(c, at, of, is_multiple(v, of), "a multiple of");
}

/* --- strings -------------------------------------------------------------------------------- */

/* Length, item or member count between two keywords of the schema. */
static bool counted(struct check *c, const struct jv *schema, const struct place *at, size_t n,
                    const char *min_key, const char *max_key, const char *unit)
{
    int64_t     min = jv_int_at(schema, min_key, 0), max = jv_int_at(schema, max_key, INT64_MAX);
    bool        few = (int64_t)n < min;
    struct buf *out;
    if (!few && (int64_t)n <= max) return true;
    if ((out = say(c, at)))
        buf_printf(out, " must have at %s %lld %s, not %zu", few ? "least" : "most", (long long)(few ? min : max), unit, n);
    return false;
}

/* 1 matches, 0 does not, -1 the pattern is outside what we can say. */
static int matches(struct check *c, struct str pattern, struct str text)
{
    struct pattern *p;
    bool found = false;
    if (!pay(c, 1000 + 16 * pattern.len)) return 0;
    arena_reset(&c->scratch);                /* nothing in it outlives one question */
    if (pattern_compile(&c->scratch, pattern, &p) != OK) return -1;
    if (pattern_search(p, text, &c->work, &found) != OK) {
        give_up(c, "the input is too large to be checked against the tool's schema");
        return 0;
    }
    return found;
}

static bool fits_string(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    struct str  pattern = jv_str_at(schema, "pattern");
    struct buf *out;
    if (!pay(c, v->str.len / 8) || !counted(c, schema, at, utf8_count(v->str), "minLength", "maxLength", "characters")) return false;
    if (!pattern.ptr || matches(c, pattern, v->str) != 0) return true;
    if ((out = say(c, at))) buf_printf(out, " must match the pattern " STR_FMT, STR_ARG(str_cut(pattern, utf8_cut(pattern, 300))));
    return false;
}

/* --- arrays ----------------------------------------------------------------------------------- */

static bool fits_unique(struct check *c, const struct jv *v, const struct place *at)
{
    size_t i = 0;
    JV_EACH(a, v) {
        size_t k = 0;
        JV_EACH(b, v) {
            if (b == a) break;
            if (same(c, a, b)) {
                struct buf *out = say(c, at);
                if (out) buf_printf(out, " must not repeat an item: items %zu and %zu are the same", k, i);
                return false;
            }
            k++;
        }
        if (c->spent) return false;
        i++;
    }
    return true;
}

static bool fits_array(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *items = jv_get(schema, "items"), *prefix = jv_get(schema, "prefixItems");
    if (jv_is(items, JSON_ARRAY)) {           /* the older spelling of prefixItems */
        prefix = items;
        items = jv_get(schema, "additionalItems");
    }
    if (!counted(c, schema, at, v->count, "minItems", "maxItems", "items")) return false;
    if (jv_true(jv_get(schema, "uniqueItems")) && !fits_unique(c, v, at)) return false;

    struct place     here = { .up = at };
    const struct jv *own = jv_is(prefix, JSON_ARRAY) ? prefix->child : NULL;
    JV_EACH(item, v) {
        const struct jv *s = own ? own : items;
        if (s && !fits(c, s, item, &here)) return false;
        if (own) own = own->next;
        here.index++;
    }
    return true;
}

/* --- objects ------------------------------------------------------------------------------------ */

static bool fits_required(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *required = jv_get(schema, "required");
    if (!jv_is(required, JSON_ARRAY)) return true;
    JV_EACH(name, required) {
        if (name->type != JSON_STRING) continue;
        if (!pay(c, 1 + v->count)) return false;
        if (jv_get_str(v, name->str)) continue;
        struct buf *out = say(c, at);
        if (out) buf_printf(out, " lacks the required member \"" STR_FMT "\"", STR_ARG(str_cut(name->str, utf8_cut(name->str, 200))));
        return false;
    }
    return true;
}

static void write_known(struct buf *out, const struct jv *properties, struct str wrong)
{
    size_t shown = 0;
    JV_EACH(p, properties) {
        if (wrong.len > 64 || p->key.len > 64 || str_distance(p->key, wrong) > 2) continue;
        buf_printf(out, "; did you mean \"" STR_FMT "\"?", STR_ARG(p->key));
        return;
    }
    JV_EACH(p, properties) {
        if (shown == NAMES_SHOWN) break;
        buf_lit(out, shown++ ? ", " : "; known are ");
        buf_str(out, str_cut(p->key, utf8_cut(p->key, 80)));
    }
}

static bool fits_extra(struct check *c, const struct jv *schema, const struct jv *member, const struct place *here)
{
    const struct jv *extra = jv_get(schema, "additionalProperties");
    if (!extra) return true;
    if (extra->type != JSON_BOOL || extra->boolean) return fits(c, extra, member, here);
    struct buf *out = say(c, here);
    if (!out) return false;
    buf_lit(out, " is not a member the tool knows");
    write_known(out, jv_get(schema, "properties"), member->key);
    return false;
}

static bool fits_member(struct check *c, const struct jv *schema, const struct jv *member, const struct place *at)
{
    const struct jv *properties = jv_get(schema, "properties"), *patterns = jv_get(schema, "patternProperties");
    struct place here = { .up = at, .key = member->key };
    bool         known = false;

    if (jv_is(properties, JSON_OBJECT)) {
        if (!pay(c, 1 + properties->count)) return false;
        const struct jv *own = jv_get_str(properties, member->key);
        if (own && !fits(c, own, member, &here)) return false;
        known = own != NULL;
    }
    if (jv_is(patterns, JSON_OBJECT)) {
        JV_EACH(p, patterns) {
            int hit = matches(c, p->key, member->key);
            if (hit) known = true;                   /* a pattern we cannot read might have allowed it */
            if (hit == 1 && !fits(c, p, member, &here)) return false;
        }
    }
    return known || fits_extra(c, schema, member, &here);
}

static bool fits_object(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    if (!counted(c, schema, at, v->count, "minProperties", "maxProperties", "members")) return false;
    if (!fits_required(c, schema, v, at)) return false;
    JV_EACH(member, v) if (!fits_member(c, schema, member, at)) return false;
    return true;
}

/* --- combinations ------------------------------------------------------------------------------------ */

static bool fits_quietly(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    c->quiet++;
    bool ok = fits(c, schema, v, at);
    c->quiet--;
    return ok;
}

/* None of the alternatives: says what each of the first few wants. */
static bool none_fits(struct check *c, const struct jv *list, const struct jv *v, const struct place *at)
{
    struct buf *out = say(c, at), each, *saved = c->why;
    if (!out) return false;
    buf_lit(out, " fits none of the alternatives");
    size_t i = 0;
    JV_EACH(one, list) {
        if (i++ == 4) break;
        buf_init(&each, WHY_MAX);
        c->why = &each;
        bool again = fits(c, one, v, at);
        c->why = saved;
        if (!again && each.len && out->len + each.len < WHY_MAX) {
            buf_lit(out, i == 1 ? ": " : "; or ");
            buf_str(out, buf_view(&each));
        }
        buf_done(&each);
    }
    return false;
}

static bool fits_combined(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    const struct jv *all = jv_get(schema, "allOf"), *any = jv_get(schema, "anyOf"), *one = jv_get(schema, "oneOf");
    const struct jv *not = jv_get(schema, "not");
    size_t hits = 0;

    if (jv_is(all, JSON_ARRAY)) JV_EACH(s, all) if (!fits(c, s, v, at)) return false;
    if (jv_is(any, JSON_ARRAY)) {
        JV_EACH(s, any) if (fits_quietly(c, s, v, at)) { hits = 1; break; }
        if (!hits) return none_fits(c, any, v, at);
    }
    if (jv_is(one, JSON_ARRAY)) {
        hits = 0;
        JV_EACH(s, one) hits += fits_quietly(c, s, v, at);
        if (!hits) return none_fits(c, one, v, at);
        if (hits > 1) return misfit(c, at, "fits more than one of the alternatives; exactly one is allowed");
    }
    if (not && fits_quietly(c, not, v, at)) return misfit(c, at, "has a form that the tool excludes");
    return true;
}

/* --- $ref -------------------------------------------------------------------------------------------- */

static int hex(char ch)
{
    if (ch >= '0' && ch <= '9') return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* A reference is a URI fragment: "%24defs" is "$defs". */
static struct str unpercent(struct arena *a, struct str s)
{
    if (!s.len || !memchr(s.ptr, '%', s.len)) return s;
    char *out = arena_alloc(a, s.len);
    size_t n = 0;
    for (size_t i = 0; out && i < s.len; i++) {
        bool coded = s.ptr[i] == '%' && i + 2 < s.len && hex(s.ptr[i + 1]) >= 0 && hex(s.ptr[i + 2]) >= 0;
        out[n++] = coded ? (char)(hex(s.ptr[i + 1]) * 16 + hex(s.ptr[i + 2])) : s.ptr[i];
        if (coded) i += 2;
    }
    return out ? str_n(out, n) : STR_NONE;
}

static bool fits_ref(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    struct str ref = jv_str_at(schema, "$ref");
    if (!ref.ptr || !str_starts(ref, STR("#"))) return true;
    if (!pay(c, 1 + ref.len)) return false;
    const struct jv *there = jv_pointer(c->root, unpercent(&c->scratch, str_from(ref, 1)));
    return !there || fits(c, there, v, at);
}

/* --- one schema on one value ------------------------------------------------------------------------------ */

static bool fits_kind(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    switch (v->type) {
    case JSON_NUMBER: return fits_number(c, schema, v, at);
    case JSON_STRING: return fits_string(c, schema, v, at);
    case JSON_ARRAY:  return fits_array(c, schema, v, at);
    case JSON_OBJECT: return fits_object(c, schema, v, at);
    case JSON_NULL: case JSON_BOOL: return true;
    }
    must(!"json type");
    return false;
}

static bool fits(struct check *c, const struct jv *schema, const struct jv *v, const struct place *at)
{
    if (schema->type == JSON_BOOL) return schema->boolean || misfit(c, at, "is not allowed");
    if (schema->type != JSON_OBJECT) return true;
    if (!pay(c, 20 + schema->count)) return false;
    if (c->depth >= DEPTH_MAX) return give_up(c, "the tool's schema refers to itself without end, so no input can be checked against it");
    c->depth++;
    bool ok = fits_ref(c, schema, v, at)
           && fits_type(c, schema, v, at)
           && fits_values(c, schema, v, at)
           && fits_kind(c, schema, v, at)
           && fits_combined(c, schema, v, at);
    c->depth--;
    return ok && !c->spent;
}

enum err schema_check(const struct jv *schema, const struct jv *value, struct buf *why)
{
    struct buf   sentence;
    struct check c = { .root = schema, .why = &sentence, .work = WORK_MAX };
    struct place top = { 0 };

    if (!schema || !value) return OK;
    buf_init(&sentence, 0);
    arena_init(&c.scratch, SCRATCH_MAX);
    bool ok = fits(&c, schema, value, &top);
    arena_done(&c.scratch);
    if (!ok && c.spent) {
        buf_clear(&sentence);
        buf_lit(&sentence, c.spent);
    }
    if (!ok && why) buf_str(why, str_cut(buf_view(&sentence), utf8_cut(buf_view(&sentence), WHY_MAX)));
    buf_done(&sentence);
    return ok ? OK : ERR_TYPE;
}
