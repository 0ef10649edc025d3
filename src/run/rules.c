/* rules.c -- see rules.h. */
#include "run/rules.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "run/engine.h"
#include "run/people.h"
#include "run/spend.h"
#include "tool/policy.h"

#define COUNT_MAX 20

/* --- reading the configuration ---------------------------------------------------------------- */

static bool is_role(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f || s.ptr[i] == '"') return false;
    return s.len > 0 && s.len <= 64;
}

static const char *level_fault(const struct jv *v)
{
    int64_t n;
    if (jv_is(v, JSON_STRING)) return is_role(v->str) ? NULL : "a role is a word without blanks";
    if (!jv_is(v, JSON_OBJECT))
        return "who is asked is a role, or an object {\"role\", \"count\", \"not_requester\"}";
    if (!is_role(jv_str_at(v, "role"))) return "\"role\" must be a word without blanks";
    if (jv_get(v, "count") && (!jv_int(jv_get(v, "count"), &n) || n < 1 || n > COUNT_MAX))
        return "\"count\" must be a whole number from 1 to 20";
    if (str_is(jv_str_at(v, "role"), "owner") && jv_int_at(v, "count", 1) > 1)
        return "there is only one owner: \"count\" cannot be more than 1";
    if (str_is(jv_str_at(v, "role"), "owner") && jv_true(jv_get(v, "not_requester")))
        return "the owner is who asked for it: \"not_requester\" would leave nobody";
    return NULL;
}

const char *rules_fault(const struct jv *rule, const struct jv **at)
{
    const struct jv *levels = jv_get(rule, "escalate"), *when = jv_get(rule, "when");
    const char      *why;
    int64_t          last = 0, after;
    *at = rule;
    if (!jv_str_at(rule, "tool").len) return "a rule needs \"tool\": a name, \"pay_*\" or \"*\"";
    if (when && (why = policy_when_fault(when))) return *at = when, why;
    if (!jv_get(rule, "from")) return "a rule needs \"from\": who is asked";
    if ((why = level_fault(*at = jv_get(rule, "from")))) return why;
    JV_EACH (l, levels) {
        *at = l;
        if (!jv_int(jv_get(l, "after"), &after) || after <= last)
            return "\"after\" must be a whole number of seconds, more than the step before it";
        last = after;
        if ((why = level_fault(jv_get(l, "to")))) return why;
    }
    return NULL;
}

static struct str role_of(const struct jv *level)
{
    return jv_is(level, JSON_STRING) ? level->str : jv_str_at(level, "role");
}

/* "owner" is whose conversation it is, not a word that somebody carries. */
static bool carries(struct str roles, struct str role)
{
    return !str_is(role, "owner") && roles_have(roles, role);
}

bool rules_concern(const struct jv *rules, struct str roles)
{
    JV_EACH (r, rules) {
        const struct jv *steps = jv_get(r, "escalate");
        if (carries(roles, role_of(jv_get(r, "from")))) return true;
        JV_EACH (l, steps)
            if (carries(roles, role_of(jv_get(l, "to")))) return true;
    }
    return false;
}

/* --- the rule of a call ----------------------------------------------------------------------- */

/* "*" stands for anything, as often as one likes. */
bool rules_names(struct str pattern, struct str name)
{
    size_t p = 0, n = 0, star = SIZE_MAX, mark = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            mark = n;
        } else if (p < pattern.len && pattern.ptr[p] == name.ptr[n]) p++, n++;
        else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++mark;
        } else return false;
    }
    while (p < pattern.len && pattern.ptr[p] == '*') p++;
    return p == pattern.len;
}

/* More people, then a role before the owner, then not who asked. */
static int strictness(const struct jv *rule)
{
    const struct jv *from = jv_get(rule, "from");
    return (int)jv_int_at(from, "count", 1) * 4 + !str_is(role_of(from), "owner") * 2 +
           jv_true(jv_get(from, "not_requester"));
}

/* The first that matches. Where arguments leave open whether one does ({"amount":"5000"}), it does
 * and so may the next; of those the strictest asks, so that nobody is spared by odd arguments. */
static const struct jv *first_match(const struct jv *rules, struct str tool, const struct jv *args,
                                    struct budget *turn)
{
    const struct jv *best = NULL;
    JV_EACH (r, rules) {
        const struct jv *when = jv_get(r, "when");
        if (!rules_names(jv_str_at(r, "tool"), tool) || (when && !policy_holds(when, args, turn)))
            continue;
        if (!best || strictness(r) > strictness(best)) best = r;
        if (!when || policy_surely(when, args, turn)) break;
    }
    return best;
}

/* Whether an answer may cost more is for approvals.who: a rule is about what a tool does. */
static const struct jv *rule_of(struct thread *t, const struct call *c)
{
    if (spend_is_question(c)) return NULL;
    return first_match(t->hub->setup.rules, c->tool, c->args, &t->hub->judge);
}

bool rules_owners(const struct jv *rules, struct str tool, const struct jv *args, bool otherwise)
{
    const struct jv *rule = first_match(rules, tool, args, NULL);
    return rule ? str_is(role_of(jv_get(rule, "from")), "owner") : otherwise;
}

static void write_level(struct jsonw *w, const struct jv *level)
{
    jw_obj(w);
    jw_kstr(w, "role", role_of(level));
    jw_kint(w, "count", jv_int_at(level, "count", 1));
    jw_kbool(w, "not_requester", jv_true(jv_get(level, "not_requester")));
    jw_end_obj(w);
}

static void write_who(struct jsonw *w, const struct jv *rule)
{
    const struct jv *steps = jv_get(rule, "escalate");
    jw_obj(w);
    jw_key(w, "from");
    write_level(w, jv_get(rule, "from"));
    jw_key(w, "escalate");
    jw_arr(w);
    JV_EACH (l, steps) {
        jw_obj(w);
        jw_kint(w, "after", jv_int_at(l, "after", 0));
        jw_key(w, "to");
        write_level(w, jv_get(l, "to"));
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_end_obj(w);
}

enum err rules_for(struct thread *t, const struct call *c, struct arena *a, struct str *who,
                   bool *single)
{
    const struct jv *rule = rule_of(t, c);
    struct buf       b;
    struct jsonw     w;
    *who = STR_NONE;
    *single = true;
    if (!rule) return OK;
    *single = jv_int_at(jv_get(rule, "from"), "count", 1) == 1;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    write_who(&w, rule);
    if (!b.err) *who = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return who->ptr ? OK : ERR_NOMEM;
}

unsigned rules_expires(struct thread *t, const struct call *c, unsigned otherwise)
{
    const struct jv *rule = rule_of(t, c);
    return rule && jv_get(rule, "expires") ? (unsigned)jv_int_at(rule, "expires", otherwise)
                                           : otherwise;
}

/* `tool` stays out: another pattern that names the tool asks the same people about it. */
static bool write_rule(struct jsonw *w, const struct jv *rule)
{
    const struct jv *when = jv_get(rule, "when");
    jw_arr(w);
    if (when) jw_canonical(w, when);
    write_who(w, rule);
    jw_end_arr(w);
    return when != NULL;
}

enum err rules_digest(const struct jv *rules, bool approvers, struct str tool,
                      char hex[RULES_DIGEST])
{
    struct buf   b;
    struct jsonw w;
    uint8_t      sum[SHA256_LEN];
    bool         more = true; /* behind one that takes every call nothing counts */
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    JV_EACH (r, rules)
        if (more && rules_names(jv_str_at(r, "tool"), tool)) more = write_rule(&w, r);
    if (more) jw_bool(&w, approvers);
    jw_end_arr(&w);
    enum err e = b.err;
    if (!e) {
        sha256_of(buf_view(&b), sum);
        sha256_hex(sum, RULES_DIGEST / 2, hex);
    }
    buf_done(&b);
    return e;
}

/* --- the levels of a question ----------------------------------------------------------------- */

struct level {
    struct str role;
    unsigned   count;
    bool       not_requester;
    int64_t    from_ms; /* it counts from then on */
};
#define LEVELS_MAX 16

static struct level level_of(const struct jv *v, int64_t from_ms)
{
    return (struct level){ .role = jv_str_at(v, "role"),
                           .count = (unsigned)jv_int_at(v, "count", 1),
                           .not_requester = jv_true(jv_get(v, "not_requester")),
                           .from_ms = from_ms };
}

/* All of them, those to come too; their texts are in `a`. */
static size_t levels_of(struct arena *a, const struct ballot *b, struct level out[LEVELS_MAX])
{
    struct jv *who;
    size_t     n = 0;
    if (json_parse_own(a, b->who, &who) != OK) return 0;
    out[n++] = level_of(jv_get(who, "from"), b->asked_ms);
    const struct jv *steps = jv_get(who, "escalate");
    JV_EACH (l, steps)
        if (n < LEVELS_MAX)
            out[n++] = level_of(jv_get(l, "to"), b->asked_ms + jv_int_at(l, "after", 0) * 1000);
    return n;
}

static enum standing stands(const struct ballot *b, const struct level *l, const struct voter *v)
{
    bool requester = str_eq(v->name, b->owner);
    bool has = str_is(l->role, "owner") ? requester : roles_have(v->roles, l->role);
    return !has ? NOT_THEIRS : requester && l->not_requester ? IS_REQUESTER : MAY_DECIDE;
}

enum standing rules_standing(const struct ballot *b, const struct voter *v)
{
    struct level  l[LEVELS_MAX];
    struct arena  a;
    enum standing best = NOT_THEIRS;
    arena_init(&a, 0);
    size_t n = levels_of(&a, b, l);
    for (size_t i = 0; i < n && best != MAY_DECIDE; i++) {
        enum standing s = l[i].from_ms <= b->now_ms ? stands(b, &l[i], v) : NOT_THEIRS;
        if (s != NOT_THEIRS) best = s;
    }
    arena_done(&a);
    return best;
}

struct str rules_role(struct arena *a, const struct ballot *b, const struct voter *v)
{
    struct level l[LEVELS_MAX];
    size_t       n = levels_of(a, b, l);
    for (size_t i = 0; i < n; i++)
        if (l[i].from_ms <= b->now_ms && stands(b, &l[i], v) == MAY_DECIDE) return l[i].role;
    return STR_NONE;
}

bool rules_enough(const struct ballot *b, const struct voter *yes, size_t count)
{
    struct level l[LEVELS_MAX];
    struct arena a;
    bool         enough = false;
    arena_init(&a, 0);
    size_t n = levels_of(&a, b, l);
    for (size_t i = 0; i < n && !enough; i++) {
        unsigned have = 0;
        if (l[i].from_ms > b->now_ms) continue;
        for (size_t k = 0; k < count; k++) have += stands(b, &l[i], &yes[k]) == MAY_DECIDE;
        enough = have >= l[i].count;
    }
    arena_done(&a);
    return enough;
}

unsigned rules_needed(const struct ballot *b)
{
    struct level l[LEVELS_MAX];
    struct arena a;
    unsigned     least = 0;
    arena_init(&a, 0);
    size_t n = levels_of(&a, b, l);
    for (size_t i = 0; i < n; i++)
        if (l[i].from_ms <= b->now_ms && (!least || l[i].count < least)) least = l[i].count;
    arena_done(&a);
    return least;
}

int64_t rules_next(const struct ballot *b)
{
    struct level l[LEVELS_MAX];
    struct arena a;
    int64_t      next = 0;
    arena_init(&a, 0);
    size_t n = levels_of(&a, b, l);
    for (size_t i = 0; i < n; i++)
        if (l[i].from_ms > b->now_ms && (!next || l[i].from_ms < next)) next = l[i].from_ms;
    arena_done(&a);
    return next;
}

static void show_level(struct jsonw *w, const struct level *l)
{
    jw_obj(w);
    jw_kstr(w, "role", l->role);
    jw_kint(w, "count", l->count);
    jw_kbool(w, "not_requester", l->not_requester);
    jw_end_obj(w);
}

void rules_show(struct jsonw *w, const struct ballot *b)
{
    struct level l[LEVELS_MAX] = { 0 };
    struct arena a;
    char         time[CLOCK_RFC3339_LEN + 1];
    arena_init(&a, 0);
    size_t n = levels_of(&a, b, l);
    jw_obj(w);
    jw_key(w, "from");
    show_level(w, &l[0]);
    jw_key(w, "escalate");
    jw_arr(w);
    for (size_t i = 1; i < n; i++) {
        clock_rfc3339(l[i].from_ms, time);
        jw_obj(w);
        jw_kstrz(w, "at", time);
        jw_key(w, "to");
        show_level(w, &l[i]);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    jw_end_obj(w);
    arena_done(&a);
}

/* --- from what is shown ----------------------------------------------------------------------- */

/* Times of one form compare as texts. */
static bool has_begun(const struct jv *step, int64_t at_ms)
{
    char at[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(at_ms, at);
    return str_cmp(jv_str_at(step, "at"), str_c(at)) <= 0;
}

bool rules_shows(const struct jv *shown, const struct voter *v, int64_t at_ms)
{
    const struct jv *steps = jv_get(shown, "escalate");
    if (carries(v->roles, jv_str_at(jv_get(shown, "from"), "role"))) return true;
    JV_EACH (l, steps)
        if (has_begun(l, at_ms) && carries(v->roles, jv_str_at(jv_get(l, "to"), "role")))
            return true;
    return false;
}

static bool lets(const struct jv *level, struct str owner, const struct voter *v)
{
    struct level  l = level_of(level, 0);
    struct ballot b = { .owner = owner };
    return l.role.len && stands(&b, &l, v) == MAY_DECIDE;
}

bool rules_lets(const struct jv *shown, struct str owner, const struct voter *v, int64_t now_ms)
{
    const struct jv *steps = jv_get(shown, "escalate");
    if (lets(jv_get(shown, "from"), owner, v)) return true;
    JV_EACH (l, steps)
        if (has_begun(l, now_ms) && lets(jv_get(l, "to"), owner, v)) return true;
    return false;
}

static bool counts(const struct jv *level, struct str owner, const struct people *known,
                   struct str name)
{
    struct voter v = { name, jv_str_at(level, "role") };
    return people_may(known, name, v.roles) && lets(level, owner, &v);
}

bool rules_counts(const struct jv *shown, struct str owner, const struct people *known,
                  struct str name, int64_t now_ms)
{
    const struct jv *steps = jv_get(shown, "escalate");
    if (counts(jv_get(shown, "from"), owner, known, name)) return true;
    JV_EACH (l, steps)
        if (has_begun(l, now_ms) && counts(jv_get(l, "to"), owner, known, name)) return true;
    return false;
}
