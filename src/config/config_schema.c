/* config_schema.c -- the JSON schemas of a configuration: is every keyword of the form the standard
 * gives it?
 *
 * tool/schema.c passes over what it cannot read, because schemas come from strangers too. In
 * one's own file that is a slip, and a check one relies on would silently not be made. Keywords
 * that schema.c does not know are left alone here as well.
 */
#include "config/config_private.h"
#include "tool/pattern.h"

/* Every schema stands at its own depth of the file, which the reader has bounded: no endless
 * recursion. */

enum form {
    F_TYPE,
    F_NUMBER,
    F_COUNT,
    F_BOOL,
    F_TEXT,
    F_TEXTS,
    F_LIST,
    F_PATTERN,
    F_SCHEMA,
    F_SCHEMAS,
    F_ITEMS,
    F_NAMED,
    F_PATTERNS
};

static const char *const FORMS[] = {
    [F_TYPE] = "a type's name or a list of them",
    [F_NUMBER] = "a number",
    [F_COUNT] = "a whole number from 0",
    [F_BOOL] = "true or false",
    [F_TEXT] = "text",
    [F_TEXTS] = "a list of text",
    [F_LIST] = "a list of values",
    [F_PATTERN] = "text",
    [F_SCHEMA] = "a schema: an object, true or false",
    [F_SCHEMAS] = "a list of schemas with at least one",
    [F_ITEMS] = "a schema, or a list of schemas",
    [F_NAMED] = "an object of schemas",
    [F_PATTERNS] = "an object of schemas",
};

static const struct {
    const char *name;
    enum form   form;
} KEYWORDS[] = {
    { "type", F_TYPE },
    { "properties", F_NAMED },
    { "required", F_TEXTS },
    { "additionalProperties", F_SCHEMA },
    { "patternProperties", F_PATTERNS },
    { "enum", F_LIST },
    { "items", F_ITEMS },
    { "prefixItems", F_SCHEMAS },
    { "minimum", F_NUMBER },
    { "maximum", F_NUMBER },
    { "multipleOf", F_NUMBER },
    { "minLength", F_COUNT },
    { "maxLength", F_COUNT },
    { "minItems", F_COUNT },
    { "maxItems", F_COUNT },
    { "minProperties", F_COUNT },
    { "maxProperties", F_COUNT },
    { "uniqueItems", F_BOOL },
    { "nullable", F_BOOL },
    { "pattern", F_PATTERN },
    { "anyOf", F_SCHEMAS },
    { "oneOf", F_SCHEMAS },
    { "allOf", F_SCHEMAS },
    { "not", F_SCHEMA },
    { "$ref", F_TEXT },
    { "$defs", F_NAMED },
    { "definitions", F_NAMED },
};

static bool is_schema(const struct jv *v)
{
    return v->type == JSON_OBJECT || v->type == JSON_BOOL;
}
static bool is_text(const struct jv *v)
{
    return v->type == JSON_STRING;
}

static bool all(const struct jv *parent, bool (*fits)(const struct jv *v))
{
    JV_EACH (v, parent)
        if (!fits(v)) return false;
    return true;
}

static bool fits(const struct jv *v, enum form form)
{
    int64_t n;

    switch (form) {
    case F_TYPE: return is_text(v) || (v->type == JSON_ARRAY && v->count && all(v, is_text));
    case F_NUMBER: return v->type == JSON_NUMBER;
    case F_COUNT: return jv_int(v, &n) && n >= 0;
    case F_BOOL: return v->type == JSON_BOOL;
    case F_TEXT:
    case F_PATTERN: return is_text(v);
    case F_TEXTS: return v->type == JSON_ARRAY && all(v, is_text);
    case F_LIST: return v->type == JSON_ARRAY;
    case F_SCHEMA: return is_schema(v);
    case F_SCHEMAS: return v->type == JSON_ARRAY && v->count && all(v, is_schema);
    /* a list: the older prefixItems */
    case F_ITEMS: return is_schema(v) || (v->type == JSON_ARRAY && all(v, is_schema));
    case F_NAMED:
    case F_PATTERNS: return v->type == JSON_OBJECT && all(v, is_schema);
    }
    must(!"form");
    return false;
}

static void check_type(struct config_build *b, const struct jv *v)
{
    static const char *const TYPES[] = { "object",  "array",   "string", "number",
                                         "integer", "boolean", "null" };
    struct cfg_guess         g = { .want = v->str };

    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (str_is(v->str, TYPES[i])) return;
        cfg_guess_add(&g, str_c(TYPES[i]));
    }
    cfg_bad(b, v,
            "\"" STR_FMT "\" is no type of a JSON schema%s; those are object, array, string, "
            "number, integer, boolean, null",
            STR_ARG(str_cut(v->str, 40)), cfg_guess_text(b, &g));
}

static void check_pattern(struct config_build *b, const struct jv *at, struct str source)
{
    struct pattern *p;
    struct arena    scratch;

    arena_init(&scratch, 0);
    enum err e = pattern_compile(&scratch, source, &p);
    arena_done(&scratch);
    if (e == ERR_NOMEM) b->c->arena.failed = true; /* told as such, not passed over */
    if (e == ERR_SYNTAX)
        cfg_bad(b, at, "the pattern \"" STR_FMT "\" is no regular expression; is a bracket open?",
                STR_ARG(str_cut(source, 80)));
    if (e == ERR_UNSUPPORTED)
        cfg_warn(b, at,
                 "the pattern \"" STR_FMT "\" is not checked: look-around, back references, \\p{} "
                 "and very long repetitions are not understood",
                 STR_ARG(str_cut(source, 80)));
}

static void check_inside(struct config_build *b, const struct jv *v, enum form form)
{
    if (form == F_TYPE && is_text(v)) check_type(b, v);
    else if (form == F_TYPE) {
        JV_EACH (t, v) check_type(b, t);
    } else if (form == F_PATTERN) check_pattern(b, v, v->str);
    else if (form == F_SCHEMA || (form == F_ITEMS && is_schema(v))) cfg_check_schema(b, v);
    else if (form == F_SCHEMAS || form == F_ITEMS || form == F_NAMED || form == F_PATTERNS) {
        JV_EACH (s, v) {
            if (form == F_PATTERNS) check_pattern(b, s, s->key);
            cfg_check_schema(b, s);
        }
    }
}

static void check_keyword(struct config_build *b, const struct jv *v, enum form form)
{
    if (fits(v, form)) check_inside(b, v, form);
    else cfg_bad(b, v, "\"" STR_FMT "\" of a JSON schema must be %s", STR_ARG(v->key), FORMS[form]);
}

void cfg_check_schema(struct config_build *b, const struct jv *schema)
{
    if (schema->type != JSON_OBJECT) return;
    JV_EACH (v, schema)
        for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
            if (str_is(v->key, KEYWORDS[i].name)) check_keyword(b, v, KEYWORDS[i].form);
}
