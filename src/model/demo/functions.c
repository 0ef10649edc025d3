/* functions.c -- see functions.h. */
#include "model/demo/functions.h"

#include "base/jsonw.h"

#define WORD_MIN 4 /* letters of a name that mean something in a message */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next run of letters and digits; an inner capital begins another when `camel`. */
static bool next_word(struct str *rest, bool camel, struct str *word)
{
    size_t at = 0, n = 0;
    while (at < rest->len && !is_letter(rest->ptr[at]) && !is_digit(rest->ptr[at])) at++;
    struct str s = str_from(*rest, at);
    while (n < s.len && (is_letter(s.ptr[n]) || is_digit(s.ptr[n]))) {
        if (camel && n && s.ptr[n] >= 'A' && s.ptr[n] <= 'Z' && s.ptr[n - 1] >= 'a') break;
        n++;
    }
    *word = str_cut(s, n);
    *rest = str_from(s, n);
    return n > 0;
}

static bool has_word(struct str text, struct str word)
{
    struct str x;
    while (next_word(&text, false, &x))
        if (str_eq_nocase(x, word)) return true;
    return false;
}

static bool is_meant(struct str name, struct str message)
{
    struct str word;
    while (next_word(&name, true, &word))
        if (word.len >= WORD_MIN && has_word(message, word)) return true;
    return false;
}

static const struct model_tool *listed(const struct model_request *q, struct str name)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (str_eq(q->tools[i].name, name)) return &q->tools[i];
    return NULL;
}

bool functions_declared(const struct model_request *q, struct str name)
{
    const struct model_tool *t = listed(q, name);
    return t && t->declared;
}

const struct model_tool *functions_pick(const struct model_request *q, struct str message)
{
    if (q->no_calls) return NULL;
    if (q->choice == CHOICE_NAMED) return listed(q, q->named);
    for (size_t i = 0; i < q->tool_count; i++)
        if (q->tools[i].declared && is_meant(q->tools[i].name, message)) return &q->tools[i];
    return q->choice == CHOICE_MUST && q->tool_count ? &q->tools[0] : NULL;
}

/* --- its input -------------------------------------------------------------------------------- */

/* "the weather in San Francisco?" -> "San Francisco" */
static struct str place_in(struct str message)
{
    struct str rest = message, word;
    while (next_word(&rest, false, &word))
        if (str_eq_nocase(word, STR("in"))) break;
    rest = str_trim(rest);
    while (rest.len && strchr("?!.,;", rest.ptr[rest.len - 1])) rest.len--;
    return rest.len ? str_trim(rest) : message;
}

static struct str number_in(struct str message)
{
    struct str word;
    uint64_t   n;
    while (next_word(&message, false, &word))
        if (str_to_u64(word, &n)) return word;
    return STR("1");
}

static void write_value(struct jsonw *w, const struct jv *schema, struct str message)
{
    const struct jv *among = jv_get(schema, "enum");
    struct str       type = jv_str_at(schema, "type");
    if (among && among->child) jw_raw(w, among->child->raw);
    else if (str_is(type, "number") || str_is(type, "integer")) jw_raw(w, number_in(message));
    else if (str_is(type, "boolean")) jw_bool(w, true);
    else if (str_is(type, "array")) jw_raw(w, STR("[]"));
    else if (str_is(type, "object")) jw_raw(w, STR("{}"));
    else jw_str(w, place_in(message));
}

void functions_input(struct buf *out, const struct model_tool *t, struct str message)
{
    struct arena a;
    struct jsonw w;
    struct jv   *schema = NULL;
    arena_init(&a, 0);
    if (json_parse(&a, t->schema, &schema, NULL) != OK) schema = NULL;
    jsonw_init(&w, out);
    jw_obj(&w);
    JV_EACH (name, jv_get(schema, "required")) {
        if (name->type != JSON_STRING) continue;
        jw_key_str(&w, name->str);
        write_value(&w, jv_get_str(jv_get(schema, "properties"), name->str), message);
    }
    jw_end_obj(&w);
    arena_done(&a);
}
