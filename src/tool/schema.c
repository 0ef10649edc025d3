/* schema.c -- walks schema and value together; the first misfit is put into words.
 *
 * A check of an alternative (anyOf, oneOf, not) must not speak: it runs with
 * `quiet` set, or into a buffer of its own. The sentence names the place by JSON pointer, so that
 * a model can mend exactly that. `spent` is sticky: once the work or the depth
 * is used up nothing fits any more, also not under `not`.
 *
 * Both sides may be hostile, so nothing is walked that was not paid for before: pay() stands in
 * front of every loop and comparison whose length one of them chooses. The keywords of a schema are
 * gathered in one pass; references and patterns are kept for the length of the check.
 */
#include "tool/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tool/pattern.h"

#define DEPTH_MAX     300        /* JSON nests 128 deep; the rest is for $ref and anyOf */
#define SCRATCH_MAX   (4u << 20) /* compiled patterns */
#define WHY_MAX       2000       /* a sentence, not a listing */
#define NAMES_SHOWN   12
#define NAMES_TRIED   100  /* for "did you mean" */
#define NAME_SHOWN    80   /* bytes of each */
#define REF_BYTES     1000 /* a longer reference leads nowhere */
#define REFS_KEPT     64
#define PATTERNS_KEPT 8

#define TOO_COMPLEX "the input is too complex to check"
#define IN_CIRCLES \
    "the tool's schema refers to itself without end, so no input can be checked against it"

/* What we know, gathered from one schema object; in the order of their length. */
/* clang-format off */
#define KEYWORDS(X)                                                                             \
    X(NOT, "not") X(TYPE, "type") X(ENUM, "enum") X(REF, "$ref") X(CONST, "const")              \
    X(ITEMS, "items") X(ALL, "allOf") X(ANY, "anyOf") X(ONE, "oneOf") X(MINIMUM, "minimum")     \
    X(MAXIMUM, "maximum") X(PATTERN, "pattern") X(NULLABLE, "nullable")                         \
    X(MIN_ITEMS, "minItems") X(MAX_ITEMS, "maxItems") X(REQUIRED, "required")                   \
    X(MIN_LENGTH, "minLength") X(MAX_LENGTH, "maxLength") X(MULTIPLE, "multipleOf")             \
    X(PROPERTIES, "properties") X(PREFIX, "prefixItems") X(UNIQUE, "uniqueItems")               \
    X(MIN_MEMBERS, "minProperties") X(MAX_MEMBERS, "maxProperties")                             \
    X(MORE_ITEMS, "additionalItems") X(ABOVE, "exclusiveMinimum") X(BELOW, "exclusiveMaximum")  \
    X(PATTERNS, "patternProperties") X(EXTRA, "additionalProperties")
/* clang-format on */
#define AS_ENUM(id, name) KW_##id,
#define AS_NAME(id, name) { name, sizeof name - 1 },
enum keyword { KEYWORDS(AS_ENUM) KW_COUNT };
static const struct {
    const char *text;
    size_t      len;
} WORDS[] = { KEYWORDS(AS_NAME) };
#define WORD_LONGEST 20
static const uint8_t FIRST_OF[WORD_LONGEST + 1] = { [4] = KW_TYPE,
                                                    [5] = KW_CONST,
                                                    [7] = KW_MINIMUM,
                                                    [8] = KW_NULLABLE,
                                                    [9] = KW_MIN_LENGTH,
                                                    [10] = KW_MULTIPLE,
                                                    /* of each length; others: "not" */
                                                    [11] = KW_PREFIX,
                                                    [13] = KW_MIN_MEMBERS,
                                                    [15] = KW_MORE_ITEMS,
                                                    [16] = KW_ABOVE,
                                                    [17] = KW_PATTERNS,
                                                    [20] = KW_EXTRA };

/* NULL: the schema does not have it */
struct rules {
    const struct jv *of[KW_COUNT];
};

/* Where in the value we are; on the stack of the recursion. */
struct place {
    const struct place *up;
    struct str          key;   /* member name, or */
    size_t              index; /* item when key.ptr is NULL */
};

struct check {
    const struct jv *root;
    struct arena     scratch;
    struct buf      *why;
    unsigned         quiet, depth;
    struct budget    work;
    const char      *spent; /* why nothing can be decided any more */
    struct {
        const struct jv *from, *to;
    } refs[REFS_KEPT];
    /* made NULL: outside what we can say */
    struct {
        struct str      source;
        struct pattern *made;
    } patterns[PATTERNS_KEPT];
    unsigned next_pattern;
};

static bool fits(struct check *c, const struct jv *schema, const struct jv *v,
                 const struct place *at);

static const char *const type_names[] = {
    [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
    [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object"
};

/* --- paying ------------------------------------------------------------------ */

static bool give_up(struct check *c, const char *why)
{
    if (!c->spent) c->spent = why;
    return false;
}

static bool pay(struct check *c, uint64_t steps)
{
    if (c->spent) return false;
    return budget_pay(&c->work, steps) || give_up(c, TOO_COMPLEX);
}

/* The member of this name, paid for. NULL: absent, or nothing can be paid any more. */
static const struct jv *get(struct check *c, const struct jv *obj, struct str name)
{
    return pay(c, 1 + (uint64_t)obj->count * (1 + name.len / 64) / 2) ? jv_get_str(obj, name)
                                                                      : NULL;
}

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
    struct str key = str_cut(at->key, utf8_cut(at->key, NAME_SHOWN));
    for (size_t i = 0; i < key.len; i++) {
        char ch = key.ptr[i];
        if (ch == '~') buf_lit(out, "~0");
        else if (ch == '/') buf_lit(out, "~1");
        else buf_chr(out, ch);
    }
}

/* Begins the sentence "PLACE ..."; NULL when nothing shall be said. */
static struct buf *say(struct check *c, const struct place *at)
{
    if (c->quiet || c->why->len || !pay(c, 50 + 10 * c->depth)) return NULL;
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

/* --- type --------------------------------------------------------------------------- */

static bool is_named_type(const struct jv *v, struct str name)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object"
    };
    /* 1.0 is an integer, says the standard; so is a huge one */
    if (str_is(name, "integer")) return jv_whole(v);
    return str_eq_nocase(name, str_c(names[v->type]));
}

static void write_type(struct buf *out, struct str name)
{
    bool vowel = name.len && strchr("aeioAEIO", name.ptr[0]);
    if (str_is(name, "null")) buf_lit(out, "null");
    else
        buf_printf(out, "%s " STR_FMT, vowel ? "an" : "a",
                   STR_ARG(str_cut(name, utf8_cut(name, NAME_SHOWN))));
}

static void write_types(struct buf *out, const struct jv *type)
{
    if (type->type == JSON_STRING) {
        write_type(out, type->str);
        return;
    }
    size_t i = 0;
    JV_EACH (t, type) {
        if (i == NAMES_SHOWN) break;
        if (i++) buf_lit(out, " or ");
        write_type(out, jv_str(t));
    }
}

static bool wants_integer(const struct jv *type)
{
    if (type->type == JSON_STRING) return str_is(type->str, "integer");
    JV_EACH (t, type)
        if (str_is(jv_str(t), "integer")) return true;
    return false;
}

static bool fits_type(struct check *c, const struct rules *r, const struct jv *v,
                      const struct place *at)
{
    const struct jv *type = r->of[KW_TYPE];
    if (!type || (v->type == JSON_NULL && jv_true(r->of[KW_NULLABLE]))) return true;
    if (v->type == JSON_NUMBER && !pay(c, v->raw.len / 4)) return false;
    if (type->type == JSON_STRING) {
        if (is_named_type(v, type->str)) return true;
    } else if (type->type == JSON_ARRAY) {
        if (!pay(c, (uint64_t)type->count * (2 + v->raw.len / 4 * (v->type == JSON_NUMBER))))
            return false;
        JV_EACH (t, type)
            if (t->type == JSON_STRING && is_named_type(v, t->str)) return true;
    } else {
        return true;
    }
    struct buf *out = say(c, at);
    if (!out) return false;
    buf_lit(out, " must be ");
    write_types(out, type);
    buf_printf(out, ", not %s%s", type_names[v->type],
               v->type == JSON_NUMBER && wants_integer(type) ? " with a fraction" : "");
    return false;
}

/* --- enum, const ------------------------------------------------------------------------ */

static bool same(struct check *c, const struct jv *a, const struct jv *b)
{
    return pay(c, budget_equal(a, b)) && jv_equal(a, b);
}

static bool fits_values(struct check *c, const struct rules *r, const struct jv *v,
                        const struct place *at)
{
    const struct jv *only = r->of[KW_CONST], *list = r->of[KW_ENUM];
    struct buf      *out;

    if (only && !same(c, only, v)) {
        if ((out = say(c, at)))
            buf_printf(out, " must be " STR_FMT,
                       STR_ARG(str_cut(only->raw, utf8_cut(only->raw, 200))));
        return false;
    }
    if (!jv_is(list, JSON_ARRAY)) return true;
    JV_EACH (one, list)
        if (same(c, one, v)) return true;
    if (!(out = say(c, at))) return false;
    buf_lit(out, " must be one of ");
    size_t i = 0;
    JV_EACH (one, list) {
        if (i == NAMES_SHOWN) break;
        if (i++) buf_lit(out, ", ");
        buf_str(out, str_cut(one->raw, utf8_cut(one->raw, 80)));
    }
    if (list->count > NAMES_SHOWN) buf_lit(out, " ...");
    return false;
}

/* --- numbers ------------------------------------------------------------------------------- */

/* Of two numbers, exactly. What cannot be told does not fit. */
static bool is_at_least(const struct jv *a, const struct jv *b)
{
    int o;
    return jv_compare(a, b, &o) && o >= 0;
}
static bool is_more(const struct jv *a, const struct jv *b)
{
    int o;
    return jv_compare(a, b, &o) && o > 0;
}

static bool is_multiple(const struct jv *v, const struct jv *of)
{
    int64_t i, k;
    double  x, y;
    if (jv_int(v, &i) && jv_int(of, &k) && k > 0) return i % k == 0;
    if (!jv_f64(v, &x) || !jv_f64(of, &y) || y <= 0) return true;
    double q = x / y;
    /* 0.3 is a multiple of 0.1 for everyone but doubles */
    return fabs(q - round(q)) <= 1e-9 * fmax(1, fabs(q));
}

static bool bound(struct check *c, const struct place *at, const struct jv *limit, bool ok,
                  const char *words)
{
    if (ok) return true;
    struct buf *out = say(c, at);
    if (out)
        buf_printf(out, " must be %s " STR_FMT, words, STR_ARG(str_cut(limit->raw, NAME_SHOWN)));
    return false;
}

#define PLAIN_DIGITS 300 /* so many digits without an exponent are in any double's range */

#define UNREADABLE "must be a number below 1.8e308, which is as far as programs count"

/* Can a program read it? Nearly all read numbers as doubles, and 1e999 as infinity, which no tool
 * means by an amount. */
static bool is_readable(struct check *c, const struct jv *v)
{
    double d;

    if (v->raw.len < PLAIN_DIGITS && !memchr(v->raw.ptr, 'e', v->raw.len) &&
        !memchr(v->raw.ptr, 'E', v->raw.len))
        return true;
    return pay(c, 20 + v->raw.len) && jv_f64(v, &d);
}

static bool fits_number(struct check *c, const struct rules *r, const struct jv *v,
                        const struct place *at)
{
    const struct jv *min = r->of[KW_MINIMUM], *max = r->of[KW_MAXIMUM], *above = r->of[KW_ABOVE],
                    *below = r->of[KW_BELOW];
    const struct jv *of = r->of[KW_MULTIPLE];
    const struct jv *all[] = { min, max, above, below, of };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && !pay(c, 1 + (v->raw.len + all[i]->raw.len) / 4)) return false;
    if (!is_readable(c, v)) { return misfit(c, at, UNREADABLE); }
    /* goes through doubles, which are slow to read */
    if (of && !pay(c, 20 + v->raw.len + of->raw.len)) return false;
    if (jv_true(above)) above = min; /* draft 4: a flag beside minimum */
    if (jv_true(below)) below = max;
    if (jv_is(min, JSON_NUMBER) && !bound(c, at, min, is_at_least(v, min), "at least"))
        return false;
    if (jv_is(max, JSON_NUMBER) && !bound(c, at, max, is_at_least(max, v), "at most")) return false;
    if (jv_is(above, JSON_NUMBER) && !bound(c, at, above, is_more(v, above), "more than"))
        return false;
    if (jv_is(below, JSON_NUMBER) && !bound(c, at, below, is_more(below, v), "less than"))
        return false;
    return !jv_is(of, JSON_NUMBER) || bound(c, at, of, is_multiple(v, of), "a multiple of");
}

/* --- strings -------------------------------------------------------------------------------- */

/* Length, item or member count between two keywords of the schema. */
static bool counted(struct check *c, const struct rules *r, const struct place *at, size_t n,
                    enum keyword least, enum keyword most, const char *unit)
{
    int64_t     min = 0, max = INT64_MAX;
    struct buf *out;
    if (!jv_int(r->of[least], &min)) min = 0;
    if (!jv_int(r->of[most], &max)) max = INT64_MAX;
    bool few = (int64_t)n < min;
    if (!few && (int64_t)n <= max) return true;
    if ((out = say(c, at)))
        buf_printf(out, " must have at %s %lld %s, not %zu", few ? "least" : "most",
                   (long long)(few ? min : max), unit, n);
    return false;
}

/* The pattern, made or remembered; NULL: outside what we can say, or spent. */
static struct pattern *pattern_of(struct check *c, struct str source)
{
    struct pattern *made = NULL;
    for (unsigned i = 0; i < PATTERNS_KEPT; i++)
        if (c->patterns[i].source.ptr == source.ptr && c->patterns[i].source.len == source.len)
            return c->patterns[i].made;
    if (!pay(c, 300 + 16 * (uint64_t)source.len)) return NULL;
    if (c->scratch.used > SCRATCH_MAX / 2) {
        arena_reset(&c->scratch);
        memset(c->patterns, 0, sizeof c->patterns);
    }
    enum err e = pattern_compile(&c->scratch, source, &made);
    if (e == ERR_NOMEM) give_up(c, TOO_COMPLEX);
    if (e) made = NULL;
    unsigned at = c->next_pattern++ % PATTERNS_KEPT;
    c->patterns[at].source = source;
    c->patterns[at].made = made;
    return made;
}

/* 1 matches, 0 does not, -1 the pattern is outside what we can say. */
static int matches(struct check *c, struct str source, struct str text)
{
    struct pattern *p = pattern_of(c, source);
    bool            found = false;
    if (c->spent) return 0;
    if (!p) return -1;
    if (pattern_search(p, text, &c->work.left, &found) != OK) give_up(c, TOO_COMPLEX);
    return found;
}

static bool fits_string(struct check *c, const struct rules *r, const struct jv *v,
                        const struct place *at)
{
    struct str  pattern = jv_str(r->of[KW_PATTERN]);
    struct buf *out;
    if (r->of[KW_MIN_LENGTH] || r->of[KW_MAX_LENGTH]) {
        if (!pay(c, v->str.len / 2)) return false;
        if (!counted(c, r, at, utf8_count(v->str), KW_MIN_LENGTH, KW_MAX_LENGTH, "characters"))
            return false;
    }
    if (!pattern.ptr || matches(c, pattern, v->str) != 0) return true;
    if ((out = say(c, at)))
        buf_printf(out, " must match the pattern " STR_FMT,
                   STR_ARG(str_cut(pattern, utf8_cut(pattern, 300))));
    return false;
}

/* --- arrays ----------------------------------------------------------------------------------- */

struct item {
    uint64_t         hash;
    const struct jv *v;
    size_t           index;
};

static int by_hash(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The two of them that are the same, the later one as early as can be; false: all differ. */
static bool repeated(struct check *c, const struct item *all, size_t count, size_t *first,
                     size_t *second)
{
    bool found = false;
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k-- > 0 && all[k].hash == all[i].hash && !c->spent;) {
            if (!same(c, all[k].v, all[i].v)) continue;
            if (!found || all[i].index < *second) *first = all[k].index, *second = all[i].index;
            found = true;
            break;
        }
    return found;
}

/* Items that are the same have the same hash, which a stranger cannot aim at. */
static bool fits_unique(struct check *c, const struct jv *v, const struct place *at)
{
    size_t n = 0, first = 0, second = 0;
    if (v->count < 2) return true;
    if (!pay(c, v->raw.len + 12 * (uint64_t)v->count)) return false;
    struct item *all = mem_alloc(v->count * sizeof *all);
    if (!all) return give_up(c, TOO_COMPLEX);
    JV_EACH (item, v) {
        all[n] = (struct item){ jv_hash(item), item, n };
        n++;
    }
    qsort(all, n, sizeof *all, by_hash);
    bool twice = repeated(c, all, n, &first, &second);
    mem_free(all);
    if (!twice) return !c->spent;
    struct buf *out = say(c, at);
    if (out)
        buf_printf(out, " must not repeat an item: items %zu and %zu are the same", first, second);
    return false;
}

static bool fits_array(struct check *c, const struct rules *r, const struct jv *v,
                       const struct place *at)
{
    const struct jv *items = r->of[KW_ITEMS], *prefix = r->of[KW_PREFIX];
    if (jv_is(items, JSON_ARRAY)) { /* the older spelling of prefixItems */
        prefix = items;
        items = r->of[KW_MORE_ITEMS];
    }
    if (!counted(c, r, at, v->count, KW_MIN_ITEMS, KW_MAX_ITEMS, "items")) return false;
    if (jv_true(r->of[KW_UNIQUE]) && !fits_unique(c, v, at)) return false;

    struct place     here = { .up = at };
    const struct jv *own = jv_is(prefix, JSON_ARRAY) ? prefix->child : NULL;
    JV_EACH (item, v) {
        const struct jv *s = own ? own : items;
        if (!s) break; /* nothing is said of this one and those behind it */
        if (!fits(c, s, item, &here)) return false;
        if (own) own = own->next;
        here.index++;
    }
    return true;
}

/* --- objects ---------------------------------------------------------------------------------- */

static bool fits_required(struct check *c, const struct jv *required, const struct jv *v,
                          const struct place *at)
{
    if (!jv_is(required, JSON_ARRAY)) return true;
    JV_EACH (name, required) {
        if (!pay(c, 1)) return false;
        if (name->type != JSON_STRING || get(c, v, name->str)) continue;
        struct buf *out = say(c, at);
        if (out)
            buf_printf(out, " lacks the required member \"" STR_FMT "\"",
                       STR_ARG(str_cut(name->str, utf8_cut(name->str, 200))));
        return false;
    }
    return true;
}

/* Help with a name, as far as it can be paid. */
static void write_known(struct check *c, struct buf *out, const struct jv *properties,
                        struct str wrong)
{
    size_t shown = 0, tried = 0;
    JV_EACH (p, properties) {
        if (wrong.len > 64 || tried++ == NAMES_TRIED) break;
        if (p->key.len > 64 || !pay(c, p->key.len * wrong.len / 4) ||
            str_distance(p->key, wrong) > 2)
            continue;
        buf_printf(out, "; did you mean \"" STR_FMT "\"?", STR_ARG(p->key));
        return;
    }
    JV_EACH (p, properties) {
        if (shown == NAMES_SHOWN) break;
        buf_lit(out, shown++ ? ", " : "; known are ");
        buf_str(out, str_cut(p->key, utf8_cut(p->key, NAME_SHOWN)));
    }
}

static bool fits_extra(struct check *c, const struct rules *r, const struct jv *member,
                       const struct place *here)
{
    const struct jv *extra = r->of[KW_EXTRA];
    if (!extra) return true;
    if (extra->type != JSON_BOOL || extra->boolean) return fits(c, extra, member, here);
    struct buf *out = say(c, here);
    if (!out) return false;
    buf_lit(out, " is not a member the tool knows");
    if (jv_is(r->of[KW_PROPERTIES], JSON_OBJECT))
        write_known(c, out, r->of[KW_PROPERTIES], member->key);
    return false;
}

static bool fits_member(struct check *c, const struct rules *r, const struct jv *member,
                        const struct place *at)
{
    const struct jv *properties = r->of[KW_PROPERTIES], *patterns = r->of[KW_PATTERNS];
    struct place     here = { .up = at, .key = member->key };
    bool             known = false;

    if (jv_is(properties, JSON_OBJECT)) {
        const struct jv *own = get(c, properties, member->key);
        if (own && !fits(c, own, member, &here)) return false;
        known = own != NULL;
    }
    if (jv_is(patterns, JSON_OBJECT)) {
        JV_EACH (p, patterns) {
            if (!pay(c, 1)) return false;
            int hit = matches(c, p->key, member->key);
            if (hit) known = true; /* a pattern we cannot read might have allowed it */
            if (hit == 1 && !fits(c, p, member, &here)) return false;
        }
    }
    return !c->spent && (known || fits_extra(c, r, member, &here));
}

static bool fits_object(struct check *c, const struct rules *r, const struct jv *v,
                        const struct place *at)
{
    if (!counted(c, r, at, v->count, KW_MIN_MEMBERS, KW_MAX_MEMBERS, "members")) return false;
    if (!fits_required(c, r->of[KW_REQUIRED], v, at)) return false;
    if (!r->of[KW_PROPERTIES] && !r->of[KW_PATTERNS] && !r->of[KW_EXTRA]) return true;
    if (!pay(c, v->count)) return false;
    JV_EACH (member, v)
        if (!fits_member(c, r, member, at)) return false;
    return true;
}

/* --- combinations ----------------------------------------------------------------------------- */

static bool fits_quietly(struct check *c, const struct jv *schema, const struct jv *v,
                         const struct place *at)
{
    c->quiet++;
    bool ok = fits(c, schema, v, at);
    c->quiet--;
    return ok;
}

/* None of the alternatives: says what each of the first few wants. */
static bool none_fits(struct check *c, const struct jv *list, const struct jv *v,
                      const struct place *at)
{
    struct buf *out = say(c, at), each, *saved = c->why;
    if (!out) return false;
    buf_lit(out, " fits none of the alternatives");
    size_t i = 0;
    JV_EACH (one, list) {
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

static bool fits_combined(struct check *c, const struct rules *r, const struct jv *v,
                          const struct place *at)
{
    const struct jv *all = r->of[KW_ALL], *any = r->of[KW_ANY], *one = r->of[KW_ONE],
                    *not = r->of[KW_NOT];
    size_t hits = 0;

    if (jv_is(all, JSON_ARRAY))
        JV_EACH (s, all)
            if (!fits(c, s, v, at)) return false;
    if (jv_is(any, JSON_ARRAY)) {
        JV_EACH (s, any)
            if (fits_quietly(c, s, v, at)) {
                hits = 1;
                break;
            }
        if (!hits) return none_fits(c, any, v, at);
    }
    if (jv_is(one, JSON_ARRAY)) {
        hits = 0;
        JV_EACH (s, one) hits += fits_quietly(c, s, v, at);
        if (!hits) return none_fits(c, one, v, at);
        if (hits > 1)
            return misfit(c, at, "fits more than one of the alternatives; exactly one is allowed");
    }
    if (not &&fits_quietly(c, not, v, at))
        return misfit(c, at, "has a form that the tool excludes");
    return true;
}

/* --- $ref ------------------------------------------------------------------------------------- */

static int hex(char ch)
{
    if (ch >= '0' && ch <= '9') return ch - '0';
    ch |= 0x20;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* A reference is a URI fragment: "%24defs" is "$defs". */
static struct str unpercent(char out[REF_BYTES], struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        bool coded =
            s.ptr[i] == '%' && i + 2 < s.len && hex(s.ptr[i + 1]) >= 0 && hex(s.ptr[i + 2]) >= 0;
        out[n++] = coded ? (char)(hex(s.ptr[i + 1]) * 16 + hex(s.ptr[i + 2])) : s.ptr[i];
        if (coded) i += 2;
    }
    return str_n(out, n);
}

/* One name of a JSON pointer, in its place: ~1 is '/', ~0 is '~'. */
static struct str untilde(char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        bool coded = text[i] == '~' && i + 1 < len && (text[i + 1] == '0' || text[i + 1] == '1');
        text[n++] = coded ? (text[i + 1] == '0' ? '~' : '/') : text[i];
        i += coded;
    }
    return str_n(text, n);
}

/* NULL: it leads nowhere, or nothing can be paid any more. */
static const struct jv *follow(struct check *c, struct str ref)
{
    char             text[REF_BYTES];
    const struct jv *at = c->root;
    struct str       rest, token;
    uint64_t         i;

    if (ref.len > REF_BYTES || !pay(c, 1 + ref.len)) return NULL;
    rest = unpercent(text, str_from(ref, 1));
    if (!rest.len) return at;
    if (rest.ptr[0] != '/') return NULL;
    rest = str_from(rest, 1);
    while (at && str_split(&rest, '/', &token)) {
        token = untilde(text + (token.ptr - text), token.len);
        if (at->type == JSON_OBJECT) at = get(c, at, token);
        else if (at->type == JSON_ARRAY)
            at = str_to_u64(token, &i) && pay(c, 1 + at->count / 2) ? jv_at(at, i) : NULL;
        else at = NULL;
    }
    return at;
}

static bool fits_ref(struct check *c, const struct jv *from, const struct jv *v,
                     const struct place *at)
{
    size_t slot = ((uintptr_t)from >> 4) % REFS_KEPT;
    if (!jv_is(from, JSON_STRING) || !str_starts(from->str, STR("#"))) return true;
    if (c->refs[slot].from != from) {
        const struct jv *to = follow(c, from->str);
        if (c->spent) return false;
        c->refs[slot].from = from;
        c->refs[slot].to = to;
    }
    return !c->refs[slot].to || fits(c, c->refs[slot].to, v, at);
}

/* --- one schema on one value ------------------------------------------------------------------ */

static void gather(struct rules *r, const struct jv *schema)
{
    *r = (struct rules){ 0 };
    JV_EACH (m, schema) {
        if (m->key.len > WORD_LONGEST) continue;
        for (unsigned i = FIRST_OF[m->key.len]; i < KW_COUNT && WORDS[i].len == m->key.len; i++)
            if (memcmp(m->key.ptr, WORDS[i].text, m->key.len) == 0) r->of[i] = m;
    }
}

static bool fits_kind(struct check *c, const struct rules *r, const struct jv *v,
                      const struct place *at)
{
    switch (v->type) {
    case JSON_NUMBER: return fits_number(c, r, v, at);
    case JSON_STRING: return fits_string(c, r, v, at);
    case JSON_ARRAY: return fits_array(c, r, v, at);
    case JSON_OBJECT: return fits_object(c, r, v, at);
    case JSON_NULL:
    case JSON_BOOL: return true;
    }
    must(!"json type");
    return false;
}

static bool fits(struct check *c, const struct jv *schema, const struct jv *v,
                 const struct place *at)
{
    struct rules r;
    if (!pay(c, 1)) return false;
    if (schema->type == JSON_BOOL) return schema->boolean || misfit(c, at, "is not allowed");
    if (schema->type != JSON_OBJECT) return true;
    if (!pay(c, 5 + 2 * (uint64_t)schema->count)) return false;
    if (c->depth >= DEPTH_MAX) return give_up(c, IN_CIRCLES);
    gather(&r, schema);
    c->depth++;
    bool ok = fits_ref(c, r.of[KW_REF], v, at) && fits_type(c, &r, v, at) &&
              fits_values(c, &r, v, at) && fits_kind(c, &r, v, at) && fits_combined(c, &r, v, at);
    c->depth--;
    return ok && !c->spent;
}

static bool is_countable(struct check *c, const struct jv *v, const struct place *at)
{
    size_t n = 0;

    if (v->type == JSON_NUMBER && !is_readable(c, v)) return misfit(c, at, UNREADABLE);
    JV_EACH (m, v) {
        struct place below = { at, v->type == JSON_OBJECT ? m->key : STR_NONE, n++ };
        if (!is_countable(c, m, &below)) return false;
    }
    return true;
}

enum err schema_check(const struct jv *schema, const struct jv *value, struct budget *turn,
                      struct buf *why)
{
    struct buf   sentence;
    struct check c = { .root = schema, .why = &sentence, .work = { BUDGET_CHECK } };
    struct place top = { 0 };

    if (!schema || !value) return OK;
    buf_init(&sentence, 4 * WHY_MAX);
    arena_init(&c.scratch, SCRATCH_MAX);
    /* also where the schema says nothing of it */
    bool ok = fits(&c, schema, value, &top) && is_countable(&c, value, &top) && !c.spent;
    arena_done(&c.scratch);
    budget_close(&c.work, turn);
    if (!ok && c.spent) {
        buf_clear(&sentence);
        buf_lit(&sentence, c.spent);
    }
    if (!ok && why)
        buf_str(why, str_cut(buf_view(&sentence), utf8_cut(buf_view(&sentence), WHY_MAX)));
    buf_done(&sentence);
    return ok ? OK : c.spent ? ERR_RANGE : ERR_TYPE;
}
