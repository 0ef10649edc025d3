/* form.c -- see form.h. */
#include "model/form.h"

#include "base/arena.h"
#include "model/tidy.h"

#define SOURCES_MAX 64           /* schemas laid together into one */
#define CHOICES_MAX 8            /* forms of one property */
#define REFS_MAX    16           /* references followed in a row */
#define TEXT_MAX    (256u << 10) /* a longer schema is not looked at: any object */
/* members looked at for names: a schema must not keep the loop busy */
#define LOOKS_MAX 500000

struct work {
    const struct form *f;
    const struct jv   *root;
    struct jsonw      *w;
    size_t             end;  /* of the output: beyond it everything is {} */
    unsigned           refs; /* replaced ones we are inside of */
    size_t             looks;
};

/* Several schemas that are to be one: those that always hold, and choices. */
struct sources {
    const struct jv *at[SOURCES_MAX];
    bool             always[SOURCES_MAX];
    size_t           count;
};

static void write_schema(struct work *k, const struct jv *v, unsigned depth);

/* --- keywords ---------------------------------------------------------------------- */

enum form_kind {
    K_ANY,
    K_TYPE,
    K_TEXT,
    K_NUMBER,
    K_COUNT,
    K_BOOL,
    K_LIST,
    K_TEXTS,
    K_SCHEMA,
    K_ITEMS,
    K_SCHEMAS,
    K_NAMED,
    K_NEVER
};

static const struct {
    const char    *name;
    enum form_kind kind;
} KEYWORD_KINDS[] = {
    { "type", K_TYPE },
    { "title", K_TEXT },
    { "description", K_TEXT },
    { "format", K_TEXT },
    { "pattern", K_TEXT },
    { "contentEncoding", K_TEXT },
    { "contentMediaType", K_TEXT },
    { "minimum", K_NUMBER },
    { "maximum", K_NUMBER },
    { "exclusiveMinimum", K_NUMBER },
    { "exclusiveMaximum", K_NUMBER },
    { "multipleOf", K_NUMBER },
    { "minLength", K_COUNT },
    { "maxLength", K_COUNT },
    { "minItems", K_COUNT },
    { "maxItems", K_COUNT },
    { "minProperties", K_COUNT },
    { "maxProperties", K_COUNT },
    { "minContains", K_COUNT },
    { "maxContains", K_COUNT },
    { "uniqueItems", K_BOOL },
    { "nullable", K_BOOL },
    { "deprecated", K_BOOL },
    { "readOnly", K_BOOL },
    { "writeOnly", K_BOOL },
    { "enum", K_LIST },
    { "examples", K_LIST },
    { "required", K_TEXTS },
    { "additionalProperties", K_SCHEMA },
    { "not", K_SCHEMA },
    { "contains", K_SCHEMA },
    { "propertyNames", K_SCHEMA },
    { "if", K_SCHEMA },
    { "then", K_SCHEMA },
    { "else", K_SCHEMA },
    { "unevaluatedItems", K_SCHEMA },
    { "unevaluatedProperties", K_SCHEMA },
    { "items", K_ITEMS },
    { "prefixItems", K_SCHEMAS },
    { "anyOf", K_SCHEMAS },
    { "oneOf", K_SCHEMAS },
    { "allOf", K_SCHEMAS },
    { "properties", K_NAMED },
    { "patternProperties", K_NAMED },
    { "dependentSchemas", K_NAMED },
    { "$defs", K_NEVER },
    { "definitions", K_NEVER },
    { "$ref", K_NEVER },
    { "$schema", K_NEVER },
    { "$id", K_NEVER },
    { "id", K_NEVER },
    { "$anchor", K_NEVER },
    { "$comment", K_NEVER },
    { "$vocabulary", K_NEVER },
    { "$dynamicRef", K_NEVER },
    { "$dynamicAnchor", K_NEVER },
    { "$recursiveRef", K_NEVER },
    { "$recursiveAnchor", K_NEVER },
    { "dependencies", K_NEVER },
    { "dependentRequired", K_NEVER },
    { "additionalItems", K_NEVER },
};

static enum form_kind kind_of(struct str key)
{
    for (size_t i = 0; i < sizeof KEYWORD_KINDS / sizeof *KEYWORD_KINDS; i++)
        if (str_is(key, KEYWORD_KINDS[i].name)) return KEYWORD_KINDS[i].kind;
    return K_ANY;
}

static bool is_schema(const struct jv *v)
{
    return v->type == JSON_OBJECT || v->type == JSON_BOOL;
}

static bool all_schemas(const struct jv *list)
{
    JV_EACH (v, list)
        if (!is_schema(v)) return false;
    return list->count > 0;
}

/* The type's name as the standard spells it; STR_NONE: there is none like it. */
static struct str type_name(const struct jv *v)
{
    static const char *const names[] = { "object",  "array",   "string", "number",
                                         "integer", "boolean", "null" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (jv_is(v, JSON_STRING) && str_eq_nocase(v->str, str_c(names[i]))) return str_c(names[i]);
    return STR_NONE;
}

static bool has_type(const struct jv *schema, const char *name)
{
    const struct jv *t = jv_get(schema, "type");
    if (jv_is(t, JSON_ARRAY)) {
        JV_EACH (one, t)
            if (str_is(type_name(one), name)) return true;
        return false;
    }
    return t && str_is(type_name(t), name);
}

static bool has_form(const struct jv *v, enum form_kind kind)
{
    int64_t n;
    switch (kind) {
    case K_ANY: return tidy_sound(v);
    case K_TYPE: return v->type == JSON_STRING ? type_name(v).len > 0 : v->type == JSON_ARRAY;
    case K_TEXT: return v->type == JSON_STRING && tidy_sound(v);
    case K_NUMBER: return v->type == JSON_NUMBER && tidy_sound(v);
    case K_COUNT: return jv_int(v, &n) && n >= 0;
    case K_BOOL: return v->type == JSON_BOOL;
    case K_LIST: return v->type == JSON_ARRAY && v->count && tidy_sound(v);
    case K_TEXTS: return v->type == JSON_ARRAY;
    case K_SCHEMA: return is_schema(v);
    case K_ITEMS: return is_schema(v) || v->type == JSON_ARRAY;
    case K_SCHEMAS: return v->type == JSON_ARRAY && all_schemas(v);
    case K_NAMED: return v->type == JSON_OBJECT;
    case K_NEVER: return false;
    }
    return false;
}

static bool is_known(const struct work *k, struct str key)
{
    const char *const *known = k->f->keywords;
    if (!known) return true;
    while (*known && !str_is(key, *known)) known++;
    return *known != NULL;
}

/* --- references ------------------------------------------------------------------------ */

static bool is_tired(const struct work *k)
{
    return k->looks > LOOKS_MAX;
}

static const struct jv *target(struct work *k, struct str ref)
{
    const struct jv *defs = jv_get(k->root, "$defs"), *older = jv_get(k->root, "definitions");
    k->looks += k->root->count + (defs ? defs->count : 0) + (older ? older->count : 0);
    if (is_tired(k)) return NULL;
    if (str_is(ref, "#")) return k->root;
    return str_starts(ref, STR("#/")) ? jv_pointer(k->root, str_from(ref, 1)) : NULL;
}

/* Through references to what they mean; NULL: to nothing. */
static const struct jv *resolve(struct work *k, const struct jv *v)
{
    for (unsigned i = 0; jv_is(v, JSON_OBJECT) && jv_get(v, "$ref"); i++) {
        if (i == REFS_MAX) return NULL;
        v = target(k, jv_str_at(v, "$ref"));
    }
    return v && is_schema(v) ? v : NULL;
}

/* One that may stay: its definition goes out too. */
static bool may_stay(struct work *k, struct str ref)
{
    return !k->f->no_refs &&
           (str_starts(ref, STR("#/$defs/")) || str_starts(ref, STR("#/definitions/"))) &&
           target(k, ref);
}

static void write_ref(struct work *k, const struct jv *ref, unsigned depth)
{
    const struct jv *t = target(k, jv_str(ref));
    if (may_stay(k, jv_str(ref)) && tidy_sound(ref)) {
        jw_obj(k->w);
        jw_kraw(k->w, "$ref", ref->raw);
        jw_end_obj(k->w);
    } else if (t && is_schema(t) && k->refs < REFS_MAX) {
        k->refs++;
        write_schema(k, t, depth + 1);
        k->refs--;
    } else {
        jw_raw(k->w, STR("{}"));
    }
}

/* --- laying schemas together --------------------------------------------------------------- */

static void collect(struct work *k, struct sources *s, const struct jv *v, bool always,
                    bool choices, unsigned depth)
{
    if (s->count == SOURCES_MAX || depth > REFS_MAX) return;
    v = resolve(k, v);
    if (!jv_is(v, JSON_OBJECT)) return;
    s->always[s->count] = always;
    s->at[s->count++] = v;
    JV_EACH (m, v) {
        bool all = str_is(m->key, "allOf"),
             any = choices && (str_is(m->key, "anyOf") || str_is(m->key, "oneOf"));
        if ((all || any) && m->type == JSON_ARRAY)
            JV_EACH (one, m) collect(k, s, one, always && all, choices, depth + 1);
    }
}

/* NULL: there is none, or it is no schema. */
static const struct jv *property(struct work *k, const struct jv *schema, struct str key)
{
    const struct jv *list = jv_get(schema, "properties");
    if (!jv_is(list, JSON_OBJECT)) return NULL;
    k->looks += list->count;
    const struct jv *p = jv_get_str(list, key);
    return p && is_schema(p) ? p : NULL;
}

static bool good_key(const struct work *k, struct str key)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (!key.len || tidy_blank(key)) return false;
    if (k->f->plain_keys && key.len > 64) return false;
    for (size_t i = 0; i < key.len; i++)
        if (!key.ptr[i] || (k->f->plain_keys && !strchr(plain, key.ptr[i]))) return false;
    return true;
}

static bool is_described(struct work *k, const struct sources *s, struct str key)
{
    for (size_t i = 0; i < s->count; i++)
        if (property(k, s->at[i], key)) return good_key(k, key);
    return false;
}

/* A property with all the forms that the sources from `first` on give it. */
static void write_property(struct work *k, const struct sources *s, size_t first, struct str key,
                           unsigned depth)
{
    const struct jv *forms[CHOICES_MAX + 1];
    size_t           n = 0;
    for (size_t i = first; i < s->count && n <= CHOICES_MAX; i++) {
        const struct jv *p = property(k, s->at[i], key);
        bool             known = !p;
        for (size_t j = 0; j < n && !known; j++) known = str_eq(forms[j]->raw, p->raw);
        if (!known) forms[n++] = p;
    }
    jw_key_str(k->w, key);
    if (n == 1) {
        write_schema(k, forms[0], depth + 1);
        return;
    }
    if (n > CHOICES_MAX) {
        jw_raw(k->w, STR("{}"));
        return;
    }
    jw_obj(k->w);
    jw_key(k->w, "anyOf");
    jw_arr(k->w);
    for (size_t i = 0; i < n; i++) write_schema(k, forms[i], depth + 1);
    jw_end_arr(k->w);
    jw_end_obj(k->w);
}

static size_t write_properties(struct work *k, const struct sources *s, unsigned depth)
{
    size_t n = 0;
    jw_key(k->w, "properties");
    jw_obj(k->w);
    for (size_t i = 0; i < s->count; i++) {
        const struct jv *list = jv_get(s->at[i], "properties");
        if (!jv_is(list, JSON_OBJECT)) continue;
        JV_EACH (p, list) {
            bool told = !is_schema(p) || !good_key(k, p->key);
            for (size_t j = 0; j < i && !told; j++) told = property(k, s->at[j], p->key) != NULL;
            if (k->w->out->len > k->end || is_tired(k)) break;
            if (told) continue;
            write_property(k, s, i, p->key, depth);
            n++;
        }
    }
    jw_end_obj(k->w);
    return n;
}

static bool requires(struct work *k, const struct jv *schema, struct str name)
{
    const struct jv *list = jv_get(schema, "required");
    k->looks += list ? list->count : 0;
    if (jv_is(list, JSON_ARRAY))
        JV_EACH (v, list)
            if (jv_is(v, JSON_STRING) && str_eq(v->str, name)) return true;
    return false;
}

/* By one that always holds, or by every choice. */
static bool is_required(struct work *k, const struct sources *s, struct str name)
{
    size_t choices = 0, votes = 0;
    for (size_t i = 0; i < s->count; i++) {
        bool yes = requires(k, s->at[i], name);
        if (yes && s->always[i]) return true;
        if (!s->always[i]) choices++, votes += yes;
    }
    return choices && votes == choices;
}

/* `required` of source i that no earlier one named. */
static bool is_first(struct work *k, const struct sources *s, size_t i, const struct jv *name)
{
    for (size_t j = 0; j < i; j++)
        if (requires(k, s->at[j], name->str)) return false;
    k->looks += jv_get(s->at[i], "required")->count;
    for (const struct jv *v = jv_get(s->at[i], "required")->child; v != name; v = v->next)
        if (jv_is(v, JSON_STRING) && str_eq(v->str, name->str)) return false;
    return true;
}

static void write_required(struct work *k, const struct sources *s)
{
    bool open = false;
    for (size_t i = 0; i < s->count; i++) {
        const struct jv *list = jv_get(s->at[i], "required");
        if (!jv_is(list, JSON_ARRAY)) continue;
        JV_EACH (v, list) {
            if (is_tired(k)) break;
            if (!jv_is(v, JSON_STRING) || !is_first(k, s, i, v) || !is_required(k, s, v->str) ||
                !is_described(k, s, v->str))
                continue;
            if (!open) jw_key(k->w, "required"), jw_arr(k->w);
            open = true;
            jw_str(k->w, v->str);
        }
    }
    if (open) jw_end_arr(k->w);
}

/* --- any schema ------------------------------------------------------------------------------- */

static void write_types(struct work *k, const struct jv *v)
{
    size_t n = 0;
    JV_EACH (t, v) n += type_name(t).len > 0;
    if (v->type == JSON_STRING) jw_kstr(k->w, "type", type_name(v));
    if (v->type == JSON_STRING || !n) return;
    jw_key(k->w, "type");
    if (n > 1) jw_arr(k->w);
    JV_EACH (t, v)
        if (type_name(t).len) jw_str(k->w, type_name(t));
    if (n > 1) jw_end_arr(k->w);
}

static bool is_simple(const struct jv *v)
{
    return v->type == JSON_STRING || v->type == JSON_NUMBER;
}

/* Providers with a list of keywords take words and numbers here, and nothing else: a list with
 * others would forbid those. */
static void write_choices(struct work *k, const struct jv *list)
{
    bool simple = true;
    JV_EACH (v, list) simple &= is_simple(v);
    if (simple || !k->f->keywords) jw_kraw(k->w, "enum", list->raw);
}

static void write_schemas(struct work *k, const struct jv *list, unsigned depth)
{
    jw_arr(k->w);
    JV_EACH (v, list)
        if (is_schema(v)) write_schema(k, v, depth + 1);
    jw_end_arr(k->w);
}

/* A list of them is how older standards spell a tuple. */
static void write_items(struct work *k, const struct jv *v, unsigned depth)
{
    jw_key(k->w, "items");
    if (v->type != JSON_ARRAY) {
        write_schema(k, v, depth + 1);
    } else if (!all_schemas(v)) {
        jw_raw(k->w, STR("{}"));
    } else {
        jw_obj(k->w);
        jw_key(k->w, "anyOf");
        write_schemas(k, v, depth);
        jw_end_obj(k->w);
    }
}

static void write_named(struct work *k, const struct jv *v, unsigned depth)
{
    jw_key_str(k->w, v->key);
    jw_obj(k->w);
    JV_EACH (m, v) {
        if (!is_schema(m) || !tidy_sound(m)) continue;
        jw_key_str(k->w, m->key);
        write_schema(k, m, depth + 1);
    }
    jw_end_obj(k->w);
}

static bool format_is_known(const struct work *k, struct str format)
{
    static const char *const known[] = { "date-time", "enum", "int32", "int64", "float", "double" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(format, known[i])) return true;
    return !k->f->keywords;
}

static void write_member(struct work *k, const struct jv *m, unsigned depth)
{
    enum form_kind kind = kind_of(m->key);
    switch (kind) {
    case K_TYPE: write_types(k, m); return;
    case K_LIST:
        if (str_is(m->key, "enum")) {
            write_choices(k, m);
            return;
        }
        break;
    case K_ITEMS: write_items(k, m, depth); return;
    case K_NAMED: write_named(k, m, depth); return;
    case K_SCHEMAS:
        jw_key_str(k->w, m->key);
        write_schemas(k, m, depth);
        return;
    case K_SCHEMA:
        jw_key_str(k->w, m->key);
        if (m->type == JSON_BOOL && !k->f->no_refs) jw_raw(k->w, m->raw);
        else if (m->type == JSON_BOOL) jw_bool(k->w, m->boolean);
        else write_schema(k, m, depth + 1);
        return;
    case K_TEXT:
        if (str_is(m->key, "format") && !format_is_known(k, m->str)) return;
        break;
    case K_ANY:
    case K_NUMBER:
    case K_COUNT:
    case K_BOOL:
    case K_TEXTS:
    case K_NEVER: break;
    }
    jw_key_str(k->w, m->key);
    jw_raw(k->w, m->raw);
}

/* Members that are written apart: they need more than one look. */
static bool is_apart(struct str key)
{
    return str_is(key, "properties") || str_is(key, "required");
}

static void write_const(struct work *k, const struct jv *v)
{
    const struct jv *value = jv_get(v, "const");
    if (!value || !k->f->keywords || jv_get(v, "enum") || !is_simple(value) || !tidy_sound(value))
        return;
    jw_key(k->w, "enum");
    jw_arr(k->w);
    jw_raw(k->w, value->raw);
    jw_end_arr(k->w);
}

static void write_members(struct work *k, const struct jv *v, unsigned depth)
{
    JV_EACH (m, v)
        if (!is_apart(m->key) && is_known(k, m->key) && has_form(m, kind_of(m->key)) &&
            tidy_sound(m))
            write_member(k, m, depth);
    write_const(k, v);
}

static void write_schema(struct work *k, const struct jv *v, unsigned depth)
{
    struct sources s = { 0 };
    if (v->type != JSON_OBJECT || depth > FORM_DEPTH || k->w->out->len > k->end) {
        jw_raw(k->w, STR("{}"));
        return;
    }
    if (jv_get(v, "$ref")) {
        write_ref(k, jv_get(v, "$ref"), depth);
        return;
    }
    if (is_known(k, STR("allOf"))) s = (struct sources){ { v }, { true }, 1 };
    else collect(k, &s, v, true, false, 0);
    jw_obj(k->w);
    write_members(k, v, depth);
    bool object = false;
    for (size_t i = 0; i < s.count; i++)
        object |= jv_is(jv_get(s.at[i], "properties"), JSON_OBJECT);
    if (object || (k->f->whole && has_type(v, "object"))) write_properties(k, &s, depth);
    write_required(k, &s);
    if (k->f->whole && has_type(v, "array") &&
        !(jv_get(v, "items") && has_form(jv_get(v, "items"), K_ITEMS)))
        jw_kraw(k->w, "items", STR("{}"));
    jw_end_obj(k->w);
}

/* --- the top ---------------------------------------------------------------------------------- */

/* What no provider takes there, what is written apart, and what only holds for one of several. */
static bool is_topmost(struct str key, bool alone)
{
    static const char *const never[] = { "type",        "properties",  "required",
                                         "anyOf",       "oneOf",       "allOf",
                                         "not",         "enum",        "const",
                                         "if",          "then",        "else",
                                         "items",       "prefixItems", "dependentSchemas",
                                         "description", NULL };
    for (size_t i = 0; never[i]; i++)
        if (str_is(key, never[i])) return false;
    return alone || str_is(key, "title");
}

/* Properties whose names the provider refuses are named in words: it may still send them. */
static size_t write_description(struct work *k, const struct sources *s)
{
    struct buf text;
    size_t     odd = 0;
    buf_init(&text, FORM_BYTES);
    for (size_t i = 0; i < s->count && !text.len; i++) {
        const struct jv *d = jv_get(s->at[i], "description");
        if (jv_is(d, JSON_STRING) && tidy_sound(d)) buf_str(&text, str_cut(d->str, FORM_BYTES / 4));
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct jv *list = jv_get(s->at[i], "properties");
        if (!jv_is(list, JSON_OBJECT)) continue;
        JV_EACH (p, list) {
            if (!is_schema(p) || good_key(k, p->key) || !tidy_sound(p) || ++odd > 20) continue;
            buf_lit(&text, odd == 1 ? text.len ? " Further members: " : "Further members: " : ", ");
            buf_printf(&text, "\"" STR_FMT "\" (" STR_FMT ")", STR_ARG(str_cut(p->key, 200)),
                       STR_ARG(str_cut(p->raw, 400)));
        }
    }
    if (text.len && !text.err) jw_kstr(k->w, "description", buf_view(&text));
    buf_done(&text);
    return odd;
}

static void write_definitions(struct work *k)
{
    static const char *const names[] = { "$defs", "definitions" };
    for (size_t i = 0; i < 2 && !k->f->no_refs; i++) {
        const struct jv *d = jv_get(k->root, names[i]);
        if (jv_is(d, JSON_OBJECT) && d->count) write_named(k, d, 0);
    }
}

static size_t write_top(struct work *k)
{
    struct sources s = { 0 };
    collect(k, &s, k->root, true, true, 0);
    jw_obj(k->w);
    jw_kstrz(k->w, "type", "object");
    size_t odd = write_description(k, &s);
    if (s.count)
        JV_EACH (m, s.at[0]) {
            bool closed = str_is(m->key, "additionalProperties") && odd;
            if (!closed && is_topmost(m->key, s.count == 1) && is_known(k, m->key) &&
                has_form(m, kind_of(m->key)) && tidy_sound(m))
                write_member(k, m, 0);
        }
    size_t n = write_properties(k, &s, 0);
    write_required(k, &s);
    write_definitions(k);
    jw_end_obj(k->w);
    return n;
}

size_t form_schema(struct jsonw *w, const struct form *f, struct str schema)
{
    static const struct jv nothing = { .type = JSON_OBJECT };
    struct arena           a;
    struct jv             *v = NULL;
    arena_init(&a, 0);
    if (!schema.len || schema.len > TEXT_MAX || json_parse(&a, schema, &v, NULL) != OK ||
        v->type != JSON_OBJECT)
        v = NULL;
    struct work k = { .f = f, .root = v ? v : &nothing, .w = w, .end = w->out->len + FORM_BYTES };
    size_t      n = write_top(&k);
    if (a.failed && !w->out->err) w->out->err = ERR_NOMEM;
    arena_done(&a);
    return n;
}
