/* config_budget.c -- what may be used: "budgets", and the prices they are counted by.
 *
 * Money is kept in millionths of the currency, as whole numbers, so that sums are exact.
 */
#include <math.h>

#include "config/config_private.h"
#include "model/provider.h"

#define BUDGETS_MAX 12 /* each may need two sums before every call of a model */
#define MILLION     1e6

int64_t cfg_micro(const struct jv *v)
{
    double d;
    return jv_f64(v, &d) && d > 0 ? (int64_t)llround(d * MILLION) : 0;
}

static void read_limit(struct config_build *b, const struct jv *v, bool money,
                       struct spend_limit *out)
{
    const struct jv *soft = jv_get(v, "soft"), *hard = jv_get(v, "hard");

    out->soft = money ? cfg_micro(soft) : jv_int_at(v, "soft", 0);
    out->hard = money ? cfg_micro(hard) : jv_int_at(v, "hard", 0);
    if (out->soft && out->hard && out->soft >= out->hard)
        cfg_bad(b, soft, "\"soft\" is not below \"hard\": nobody would ever be asked; lower it");
}

static enum spend_for scope(struct str word)
{
    if (str_is(word, "role")) return SPEND_ROLE;
    if (str_is(word, "thread")) return SPEND_THREAD;
    return str_is(word, "everybody") ? SPEND_ALL : SPEND_PRINCIPAL;
}

static void read_budget(struct config_build *b, const struct jv *v, struct spend_rule *r)
{
    const struct jv *role = jv_get(v, "role");

    *r = (struct spend_rule){ .of = scope(jv_str_at(v, "for")), .role = jv_str(role) };
    read_limit(b, jv_get(v, "tokens"), false, &r->tokens);
    read_limit(b, jv_get(v, "cost"), true, &r->cost);
    if (!jv_get(v, "for"))
        cfg_bad(b, v, "a budget needs \"for\": principal, role, thread or everybody");
    if (r->of == SPEND_ROLE && !role) cfg_bad(b, v, "a budget for a role needs \"role\": its name");
    if (role && (r->of == SPEND_THREAD || r->of == SPEND_ALL))
        cfg_bad(b, role,
                "\"role\" goes with \"for\": \"role\" (all of them together) or "
                "\"principal\" (each of them)");
    if (!r->tokens.soft && !r->tokens.hard && !r->cost.soft && !r->cost.hard)
        cfg_bad(b, v, "a budget needs \"tokens\" or \"cost\", with \"soft\", \"hard\" or both");
    cfg_read_role(b, role);
}

/* Sums of dollars and euros would be neither. `at`: the budgets that are in money; NULL: there are
 * none, and what is not in one currency has no name. */
static void check_prices(struct config_build *b, const struct jv *at)
{
    struct config *c = b->c;
    bool           mixed = false;

    for (size_t i = 0; i < c->model_count; i++) {
        const struct config_model *m = &c->models[i];
        struct str                 own = jv_str_at(m->prices, "currency");
        if (provider_is_demo(m->provider)) continue;
        if (!own.ptr) own = STR("USD");
        if (m->prices && c->currency.ptr && !str_eq(c->currency, own)) mixed = true;
        if (m->prices && !mixed) c->currency = own;
        if (m->prices && mixed && at)
            cfg_bad(b, m->prices,
                    "budgets in money need all prices in one currency; there are " STR_FMT
                    " and " STR_FMT,
                    STR_ARG(c->currency), STR_ARG(own));
        if (!m->prices && at)
            cfg_warn(b, at, "model \"" STR_FMT "\" has no prices: for budgets in money it is free",
                     STR_ARG(m->name));
    }
    if (mixed) c->currency = STR_NONE;
}

static bool read_budgets(struct config_build *b, const struct jv *list)
{
    struct config *c = b->c;
    bool           money = false;

    if (list->count > BUDGETS_MAX)
        cfg_bad(b, list, "\"budgets\" has %u; at most %d are looked at", list->count, BUDGETS_MAX);
    if (!(c->budgets = cfg_array(b, list->count, sizeof *c->budgets))) return false;
    JV_EACH (v, list) {
        if (v->type != JSON_OBJECT || c->budget_count == BUDGETS_MAX) continue;
        struct spend_rule *r = &c->budgets[c->budget_count++];
        read_budget(b, v, r);
        money |= r->cost.soft || r->cost.hard;
    }
    return money;
}

void cfg_read_budgets(struct config_build *b)
{
    const struct jv *list = jv_get(b->root, "budgets");
    bool             money = jv_is(list, JSON_ARRAY) && read_budgets(b, list);

    check_prices(b, money ? list : NULL);
}
