/* config_approvals.c -- who is asked, what a yes may be worth, what may be changed before it.
 *
 * As with a tool's policy: what is not fully understood is refused, so that a typing error can never
 * let somebody decide who may not, or make a grant wider than it was meant.
 */
#include "config/config_private.h"
#include "run/effect.h"
#include "run/grant.h"
#include "run/rules.h"

static bool is_pointer(struct str s)
{
    return !s.len || s.ptr[0] == '/';
}

void cfg_check_terms(struct config_build *b, const struct jv *tool, bool client)
{
    const struct jv *grant = jv_get(tool, "grant"), *edit = jv_get(tool, "edit"),
                    *effect = jv_get(tool, "effect");
    const char *why = jv_is(grant, JSON_OBJECT) ? grant_terms_fault(grant) : NULL;

    if (why) cfg_bad(b, grant, "tool \"" STR_FMT "\": %s", STR_ARG(tool->key), why);
    JV_EACH (p, edit)
        if (p->type == JSON_STRING && !is_pointer(p->str))
            cfg_bad(b, p, "\"edit\" is a list of JSON pointers such as \"/amount\"");
    why = jv_is(effect, JSON_STRING) ? effect_template_fault(effect->str) : NULL;
    if (why) cfg_bad(b, effect, "tool \"" STR_FMT "\": %s", STR_ARG(tool->key), why);
    if (effect && client)
        cfg_bad(b, effect,
                "\"effect\" is for tools that the server runs; a browser may do a thing "
                "twice whatever it is told");
    if (!effect && (jv_get(tool, "effect_scope") || jv_get(tool, "effect_days")))
        cfg_bad(b, tool,
                "tool \"" STR_FMT "\" has \"effect_scope\" or \"effect_days\" but no "
                "\"effect\"",
                STR_ARG(tool->key));
}

/* Somebody must be able to say yes: else it would be found out when it is too late. */
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

static void check_bearers(struct config_build *b, const struct jv *level)
{
    struct str role = jv_is(level, JSON_STRING) ? level->str : jv_str_at(level, "role");
    int64_t    want = jv_int_at(level, "count", 1);

    if (!role.len || str_is(role, "owner")) return;
    if (!config_has_auth(b->c))
        cfg_bad(b, level, "the role \"" STR_FMT "\" needs \"auth\": without it nobody has a role",
                STR_ARG(str_cut(role, 60)));
    else if (!b->c->auth.jwt && bearers(&b->c->auth, role) < want)
        cfg_bad(b, level,
                "%lld people with the role \"" STR_FMT
                "\" are needed, and \"auth\".\"keys\" has %u: nothing could ever be approved",
                (long long)want, STR_ARG(str_cut(role, 60)), bearers(&b->c->auth, role));
}

void cfg_read_approvals(struct config_build *b)
{
    const struct jv *rules = jv_get(jv_get(b->root, "approvals"), "rules"), *at;

    if (!jv_is(rules, JSON_ARRAY)) return;
    JV_EACH (r, rules) {
        const struct jv *steps = jv_get(r, "escalate");
        const char      *why = rules_fault(r, &at);
        if (why) cfg_bad(b, at, "%s", why);
        if (why) continue;
        check_bearers(b, jv_get(r, "from"));
        JV_EACH (l, steps) check_bearers(b, jv_get(l, "to"));
    }
    if (rules->count) b->c->rules = rules;
}
