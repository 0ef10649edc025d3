/* policy.c -- does this call need a person's yes?
 *
 * policy_read refuses what it does not fully understand, so that a typing error
 * in a configuration can never turn a question off. policy_asks has no failure:
 * whatever it cannot compare, or not within its budget, it asks about. Names and values are
 * borrowed from the configuration's tree, which lives as long as the tools.
 */
#include "tool/policy.h"

#include <string.h>

#include "base/glyph.h"

#define NAME_BYTES 256 /* bytes of one name in a pointer; a longer one is always in doubt */

enum op {
    OP_EQ,
    OP_NE,
    OP_GT,
    OP_GE,
    OP_LT,
    OP_LE,
    OP_IN,
    OP_CONTAINS,
    OP_PREFIX,
    OP_EXISTS,
    OP_COUNT
};

static const char *const OP_NAMES[OP_COUNT] = {
    [OP_EQ] = "==",
    [OP_NE] = "!=",
    [OP_GT] = ">",
    [OP_GE] = ">=",
    [OP_LT] = "<",
    [OP_LE] = "<=",
    [OP_IN] = "in",
    [OP_CONTAINS] = "contains",
    [OP_PREFIX] = "matches-prefix",
    [OP_EXISTS] = "exists",
};

static enum op op_of(struct str name)
{
    enum op op = OP_EQ;
    while (op < OP_COUNT && !str_is(name, OP_NAMES[op])) op++;
    return op;
}

/* --- reading ------------------------------------------------------------------ */

static const char *unknown_member(const struct jv *c)
{
    JV_EACH (m, c) {
        if (!str_is(m->key, "pointer") && !str_is(m->key, "op") && !str_is(m->key, "value"))
            return "A condition has the members \"pointer\", \"op\" and \"value\" only.";
    }
    return NULL;
}

static const char *bad_value(enum op op, const struct jv *value)
{
    switch (op) {
    case OP_EQ:
    case OP_NE:
    case OP_CONTAINS: return value ? NULL : "This condition needs a \"value\" to compare with.";
    case OP_GT:
    case OP_GE:
    case OP_LT:
    case OP_LE:
        return jv_is(value, JSON_NUMBER) ? NULL
                                         : "The operators > >= < <= need a number as \"value\".";
    case OP_IN:
        return jv_is(value, JSON_ARRAY) ? NULL : "The operator \"in\" needs a list as \"value\".";
    case OP_PREFIX:
        return jv_is(value, JSON_STRING)
                   ? NULL
                   : "The operator \"matches-prefix\" needs a text as \"value\".";
    case OP_EXISTS:
        return !value || jv_is(value, JSON_BOOL)
                   ? NULL
                   : "The operator \"exists\" takes true or false as \"value\".";
    case OP_COUNT: break;
    }
    return "The operator must be one of == != > >= < <= in contains matches-prefix exists.";
}

/* NULL, or what is wrong with it. */
static const char *bad_condition(const struct jv *c)
{
    if (!jv_is(c, JSON_OBJECT)) return "A condition is an object {\"pointer\", \"op\", \"value\"}.";
    const char *why = unknown_member(c);
    if (why) return why;
    struct str pointer = jv_str_at(c, "pointer");
    if (!pointer.ptr || (pointer.len && pointer.ptr[0] != '/'))
        return "\"pointer\" must be a JSON pointer such as \"/amount\".";
    return bad_value(op_of(jv_str_at(c, "op")), jv_get(c, "value"));
}

static const char *bad_when(const struct jv *when)
{
    if (!jv_is(when, JSON_ARRAY)) return bad_condition(when);
    if (!when->count) return "An empty list of conditions would never ask; say \"never\" instead.";
    JV_EACH (c, when) {
        const char *why = bad_condition(c);
        if (why) return why;
    }
    return NULL;
}

static void store(struct tool *t, enum tool_confirm confirm, const struct jv *when, struct str text)
{
    t->confirm = confirm;
    t->when = when;
    t->confirm_text = text;
}

enum err policy_read(struct tool *t, const struct jv *confirm, const char **why)
{
    if (str_is(jv_str(confirm), "never")) {
        store(t, CONFIRM_NEVER, NULL, STR("\"never\""));
        return OK;
    }
    if (str_is(jv_str(confirm), "always")) {
        store(t, CONFIRM_ALWAYS, NULL, STR("\"always\""));
        return OK;
    }
    const struct jv *when = jv_get(confirm, "when");
    const char      *bad = !when || confirm->count != 1
                               ? "\"confirm\" must be \"never\", \"always\" or {\"when\": condition}."
                               : bad_when(when);
    if (bad) {
        *why = bad;
        return ERR_TYPE;
    }
    store(t, CONFIRM_WHEN, when, confirm->raw);
    return OK;
}

/* --- finding ------------------------------------------------------------------- */

/* One name of a pointer as it is meant (RFC 6901: ~1 is '/', ~0 is '~'). False: it cannot be
 * said. */
static bool name_of(struct str token, char out[NAME_BYTES], struct str *name)
{
    size_t n = 0;
    for (size_t i = 0; i < token.len && n < NAME_BYTES; i++) {
        char c = token.ptr[i];
        if (c == '~') {
            if (++i == token.len || (token.ptr[i] != '0' && token.ptr[i] != '1')) return false;
            c = token.ptr[i] == '0' ? '~' : '/';
        }
        out[n++] = c;
    }
    *name = str_n(out, n);
    return n < NAME_BYTES;
}

/* The member of this name; NULL: absent. False: there is another that some receiver would read in
 * its place. */
static bool only_member(const struct jv *obj, struct str name, struct budget *b,
                        const struct jv **out)
{
    *out = NULL;
    JV_EACH (m, obj) {
        if (!budget_pay(b, 1 + m->key.len)) return false;
        if (str_eq(m->key, name)) {
            if (*out) return false;
            *out = m;
        } else if (glyph_alike(m->key, name)) return false;
    }
    return true;
}

/* Where the pointer leads; NULL: nowhere. False: not everybody would go the same way, or it is too
 * far. */
static bool find(const struct jv *v, struct str pointer, struct budget *b, const struct jv **out)
{
    char       text[NAME_BYTES];
    struct str token, name;
    uint64_t   i;
    pointer = pointer.len ? str_from(pointer, 1) : STR_NONE;
    while (v && str_split(&pointer, '/', &token)) {
        if (jv_is(v, JSON_OBJECT)) {
            if (!name_of(token, text, &name) || !only_member(v, name, b, &v)) return false;
        } else if (!budget_pay(b, v->count)) return false;
        else v = str_to_u64(token, &i) ? jv_at(v, i) : NULL;
    }
    *out = v;
    return true;
}

/* --- deciding ------------------------------------------------------------------- */

static bool ordered(enum op op, const struct jv *arg, const struct jv *value)
{
    int c;
    if (!jv_compare(arg, value, &c)) return true; /* in doubt */
    switch (op) {
    case OP_GT: return c > 0;
    case OP_GE: return c >= 0;
    case OP_LT: return c < 0;
    case OP_LE: return c <= 0;
    default: return true;
    }
}

/* Numbers that nobody can compare count as the same, and so does what is too large: then somebody
 * is asked. */
static bool same(const struct jv *a, const struct jv *b, struct budget *left)
{
    int c = 0;
    if (!budget_pay(left, budget_equal(a, b))) return true;
    if (jv_is(a, JSON_NUMBER) && jv_is(b, JSON_NUMBER)) return !jv_compare(a, b, &c) || c == 0;
    return jv_equal(a, b);
}

static bool listed(const struct jv *list, const struct jv *v, struct budget *left)
{
    JV_EACH (item, list)
        if (same(item, v, left)) return true;
    return false;
}

static bool contains(const struct jv *arg, const struct jv *value, struct budget *left)
{
    if (jv_is(arg, JSON_ARRAY)) return listed(arg, value, left);
    if (jv_is(arg, JSON_STRING) && jv_is(value, JSON_STRING))
        return str_find(arg->str, value->str) >= 0;
    return true; /* in doubt */
}

/* `in` decides only between values of a type the list has; anything else is in doubt. */
static bool in_list(const struct jv *list, const struct jv *arg, struct budget *left)
{
    bool comparable = false;
    JV_EACH (item, list) comparable |= item->type == arg->type;
    return !comparable || listed(list, arg, left);
}

static bool holds(const struct jv *c, const struct jv *args, struct budget *left)
{
    const struct jv *arg, *value = jv_get(c, "value");
    enum op          op = op_of(jv_str_at(c, "op"));
    if (!find(args, jv_str_at(c, "pointer"), left, &arg)) return true; /* in doubt */
    if (op == OP_EXISTS) return (arg != NULL) == (!value || jv_true(value));
    if (!arg || !budget_pay(left, 1 + arg->raw.len / 2)) return true; /* in doubt */
    switch (op) {
    case OP_EQ: return arg->type != value->type || same(arg, value, left);
    case OP_NE: return !budget_pay(left, budget_equal(arg, value)) || !jv_equal(arg, value);
    case OP_GT:
    case OP_GE:
    case OP_LT:
    case OP_LE: return ordered(op, arg, value);
    case OP_IN: return in_list(value, arg, left);
    case OP_CONTAINS: return contains(arg, value, left);
    case OP_PREFIX: return !jv_is(arg, JSON_STRING) || str_starts(arg->str, value->str);
    case OP_EXISTS:
    case OP_COUNT: break;
    }
    return true;
}

/* The pointer is read differently by others, leads nowhere, or to what cannot be compared. */
static bool in_doubt(const struct jv *c, const struct jv *args, struct budget *left)
{
    const struct jv *arg, *value = jv_get(c, "value");
    enum op          op = op_of(jv_str_at(c, "op"));
    bool             comparable = false;
    int              order;
    if (!find(args, jv_str_at(c, "pointer"), left, &arg)) return true;
    if (op == OP_EXISTS) return false;
    if (!arg || !budget_pay(left, 1 + arg->raw.len / 2)) return true;
    switch (op) {
    case OP_GT:
    case OP_GE:
    case OP_LT:
    case OP_LE: return !jv_compare(arg, value, &order);
    case OP_IN:
        JV_EACH (item, value) comparable |= item->type == arg->type;
        return !comparable;
    case OP_CONTAINS:
        return !jv_is(arg, JSON_ARRAY) && !(jv_is(arg, JSON_STRING) && jv_is(value, JSON_STRING));
    case OP_EQ:
    case OP_NE:
    case OP_PREFIX: return arg->type != value->type;
    case OP_EXISTS:
    case OP_COUNT: break;
    }
    return true;
}

static bool any_holds(const struct jv *when, const struct jv *args, struct budget *left)
{
    if (!jv_is(when, JSON_ARRAY)) return holds(when, args, left);
    JV_EACH (c, when)
        if (holds(c, args, left)) return true;
    return false;
}

bool policy_asks(const struct tool *t, const struct jv *args, struct budget *turn)
{
    struct budget left = { BUDGET_CHECK };
    if (t->changed_ms) return true; /* the policy was made for another definition */
    if (t->confirm != CONFIRM_WHEN) return t->confirm != CONFIRM_NEVER;
    if (!t->when || !jv_is(args, JSON_OBJECT)) return true;
    bool asks = any_holds(t->when, args, &left);
    budget_close(&left, turn);
    return asks;
}

bool policy_find(const struct jv *args, struct str pointer, const struct jv **out)
{
    struct budget left = { BUDGET_CHECK };
    return find(args, pointer, &left, out);
}

bool policy_holds(const struct jv *when, const struct jv *args, struct budget *turn)
{
    struct budget left = { BUDGET_CHECK };
    if (!jv_is(args, JSON_OBJECT)) return true;
    bool yes = any_holds(when, args, &left);
    budget_close(&left, turn);
    return yes;
}

static bool surely(const struct jv *c, const struct jv *args, struct budget *left)
{
    return holds(c, args, left) && !in_doubt(c, args, left);
}

bool policy_surely(const struct jv *when, const struct jv *args, struct budget *turn)
{
    struct budget left = { BUDGET_CHECK };
    bool          yes = false;
    if (!jv_is(args, JSON_OBJECT)) return false;
    if (!jv_is(when, JSON_ARRAY)) yes = surely(when, args, &left);
    else
        JV_EACH (c, when) yes = yes || surely(c, args, &left);
    budget_close(&left, turn);
    return yes;
}

const char *policy_when_fault(const struct jv *when)
{
    return bad_when(when);
}

enum tool_outcome policy_stopped(bool begun, struct buf *text)
{
    if (begun)
        buf_lit(text, "It was stopped after it had begun. Whether it had an effect is not known.");
    else buf_lit(text, "It was cancelled before it began.");
    return begun ? TOOL_UNKNOWN : TOOL_CANCELLED;
}
