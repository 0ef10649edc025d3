/* config_rules.c -- approvals.rules: which of them say nothing, and what the others say in words.
 *
 * A rule that can never count is refused: whoever wrote it thinks that it does. A step of an
 * escalation that adds nobody is a warning: the question is answered without it.
 */
#include "config/config_private.h"
#include "run/people.h"
#include "run/rules.h"

#define SHOWN 60 /* characters of a role or a tool */

static struct str role_of(const struct jv *level)
{
    return jv_is(level, JSON_STRING) ? level->str : jv_str_at(level, "role");
}

static int64_t count_of(const struct jv *level)
{
    return jv_int_at(level, "count", 1);
}

/* --- somebody must be able to say yes --------------------------------------------------------- */

/* How many people have it by their keys. */
static unsigned bearers(const struct auth_setup *a, struct str role)
{
    unsigned n = 0;

    for (size_t i = 0; i < a->key_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= str_eq(a->keys[k].principal, a->keys[i].principal) &&
                    roles_have(a->keys[k].words, role);
        n += !seen && roles_have(a->keys[i].words, role);
    }
    return n;
}

/* Tokens may carry any word. */
static bool has_tokens(const struct auth_setup *a)
{
    return a->jwt || a->oidc.issuer.len;
}

static bool can_be(const struct config *c, const struct jv *level)
{
    struct str role = role_of(level);

    return str_is(role, "owner") || has_tokens(&c->auth) ||
           bearers(&c->auth, role) >= count_of(level);
}

static void check_people(struct config_build *b, const struct jv *rule)
{
    const struct jv *from = jv_get(rule, "from"), *steps = jv_get(rule, "escalate");
    struct str       role = str_cut(role_of(from), SHOWN);
    bool             later = false;

    JV_EACH (l, steps) {
        struct str to = str_cut(role_of(jv_get(l, "to")), SHOWN);
        if (can_be(b->c, jv_get(l, "to"))) later = true;
        else
            cfg_warn(b, l,
                     "%lld people with the role \"" STR_FMT "\" are needed for this step, and "
                     "\"auth\".\"keys\" has %u: it adds nobody",
                     (long long)count_of(jv_get(l, "to")), STR_ARG(to), bearers(&b->c->auth, to));
    }
    if (can_be(b->c, from)) return;
    if (later)
        cfg_warn(b, from,
                 "%lld people with the role \"" STR_FMT "\" are needed, and \"auth\".\"keys\" has "
                 "%u: nothing is approved before the escalation",
                 (long long)count_of(from), STR_ARG(role), bearers(&b->c->auth, role));
    else
        cfg_bad(b, from,
                "%lld people with the role \"" STR_FMT
                "\" are needed, and \"auth\".\"keys\" has %u: nothing could ever be approved",
                (long long)count_of(from), STR_ARG(role), bearers(&b->c->auth, role));
}

static bool spares_requester(const struct jv *level)
{
    return jv_true(jv_get(level, "not_requester"));
}

/* Does the earlier level let everybody decide whom the later one does, with as few yeses? */
static bool covers(const struct jv *early, const struct jv *late)
{
    return str_eq(role_of(early), role_of(late)) && count_of(early) <= count_of(late) &&
           (!spares_requester(early) || spares_requester(late));
}

static void check_added(struct config_build *b, const struct jv *rule)
{
    const struct jv *steps = jv_get(rule, "escalate");

    JV_EACH (l, steps) {
        const struct jv *to = jv_get(l, "to");
        bool             known = covers(jv_get(rule, "from"), to);
        JV_EACH (k, steps) {
            if (k == l) break;
            known |= covers(jv_get(k, "to"), to);
        }
        if (known)
            cfg_warn(b, l,
                     "\"" STR_FMT "\" is asked before this step already, and by as few yeses: it "
                     "adds nobody",
                     STR_ARG(str_cut(role_of(to), SHOWN)));
    }
}

static void check_signed_in(struct config_build *b, const struct jv *level)
{
    struct str role = role_of(level);

    if (role.len && !str_is(role, "owner") && !config_has_auth(b->c))
        cfg_bad(b, level, "the role \"" STR_FMT "\" needs \"auth\": without it nobody has a role",
                STR_ARG(str_cut(role, SHOWN)));
}

/* --- rules and steps that never come ---------------------------------------------------------- */

/* The longest that a question of this rule waits; 0: for ever, or who knows. */
static int64_t longest(const struct config *c, const struct jv *rule)
{
    int64_t most = c->expires_s;

    if (jv_get(rule, "expires")) return jv_int_at(rule, "expires", 0);
    for (size_t i = 0; most && i < c->tool_count; i++) {
        if (!rules_names(jv_str_at(rule, "tool"), c->tools[i].name)) continue;
        int64_t own = c->tools[i].expires_s;
        if (!own || own > most) most = own;
    }
    return most;
}

static void check_steps(struct config_build *b, const struct jv *rule)
{
    const struct jv *steps = jv_get(rule, "escalate");
    int64_t          end = longest(b->c, rule);

    JV_EACH (l, steps) {
        int64_t after = jv_int_at(l, "after", 0);
        if (!end || after < end) continue;
        if (jv_get(rule, "expires"))
            cfg_bad(b, l,
                    "this step never comes: it is %lld seconds after the question, which is over "
                    "after %lld (\"expires\")",
                    (long long)after, (long long)end);
        else
            cfg_warn(b, l,
                     "this step comes %lld seconds after a question that waits %lld: give the rule "
                     "an \"expires\" that is longer",
                     (long long)after, (long long)end);
    }
}

/* The number of a rule before this one that takes every call it could; 0: there is none. */
static unsigned taken_by(const struct jv *rules, const struct jv *rule)
{
    unsigned n = 1;

    JV_EACH (r, rules) {
        if (r == rule) return 0;
        /* stars of the one stand in the other as letters, which only a star matches */
        if (!jv_get(r, "when") && rules_names(jv_str_at(r, "tool"), jv_str_at(rule, "tool")))
            return n;
        n++;
    }
    return 0;
}

void cfg_check_rules(struct config_build *b, const struct jv *rules)
{
    JV_EACH (r, rules) {
        const struct jv *steps = jv_get(r, "escalate"), *at;
        const char      *why = rules_fault(r, &at);
        if (why) {
            cfg_bad(b, at, "%s", why);
            continue;
        }
        check_signed_in(b, jv_get(r, "from"));
        JV_EACH (l, steps) check_signed_in(b, jv_get(l, "to"));
        if (config_has_auth(b->c)) check_people(b, r);
        check_added(b, r);
        check_steps(b, r);
        unsigned first = taken_by(rules, r);
        if (first)
            cfg_bad(b, r,
                    "this rule never counts: rule %u before it takes every call of \"" STR_FMT "\"",
                    first, STR_ARG(str_cut(jv_str_at(r, "tool"), SHOWN)));
    }
}

/* --- in words --------------------------------------------------------------------------------- */

static void put_time(FILE *out, int64_t s)
{
    if (s % 3600 == 0) fprintf(out, "%lld hour%s", (long long)(s / 3600), s == 3600 ? "" : "s");
    else if (s % 60 == 0) fprintf(out, "%lld minute%s", (long long)(s / 60), s == 60 ? "" : "s");
    else fprintf(out, "%lld seconds", (long long)s);
}

static void put_level(FILE *out, const struct config *c, const struct jv *level)
{
    struct str role = role_of(level);

    if (str_is(role, "owner")) {
        fputs("whoever asked for it", out);
        return;
    }
    fprintf(out, "%lld of " STR_FMT, (long long)count_of(level), STR_ARG(str_cut(role, SHOWN)));
    if (jv_true(jv_get(level, "not_requester"))) fputs(", not who asked for it", out);
    unsigned n = bearers(&c->auth, role);
    fprintf(out, " (%u by key%s)", n, has_tokens(&c->auth) ? ", others by token" : "");
}

static void explain_rule(const struct config *c, const struct jv *rule, unsigned n, FILE *out)
{
    const struct jv *when = jv_get(rule, "when"), *steps = jv_get(rule, "escalate");

    fprintf(out, "%-10s %u. ", n == 1 ? "rules" : "", n);
    cfg_put(out, jv_str_at(rule, "tool"), SHOWN);
    if (when) {
        fputs(" when ", out);
        cfg_put(out, when->raw, 120);
    }
    fputs(": ", out);
    put_level(out, c, jv_get(rule, "from"));
    JV_EACH (l, steps) {
        fputs("; after ", out);
        put_time(out, jv_int_at(l, "after", 0));
        fputs(" also ", out);
        put_level(out, c, jv_get(l, "to"));
    }
    if (jv_int_at(rule, "expires", 0)) {
        fputs("; over after ", out);
        put_time(out, jv_int_at(rule, "expires", 0));
    }
    fputc('\n', out);
}

void cfg_explain_rules(const struct config *c, FILE *out)
{
    unsigned n = 0;

    JV_EACH (r, c->rules) explain_rule(c, r, ++n, out);
    if (n)
        fprintf(out, "%-10s a call that none of them names: %s\n", "",
                c->approvers ? "an approver" : "whoever asked for it");
}
