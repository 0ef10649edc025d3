/* plan.c -- from a message to the rules that answer it.
 *
 * A message may ask for several things: "Send 50 dollars to Hanako and tell me
 * the weather in Tokyo". It is split at "and", commas and full stops, but only
 * where what follows makes sense by itself, so that "sleep and memory" stays
 * one topic. There are few splits (SPLITS_MAX), so all ways are simply tried.
 */
#include "model/demo/plan.h"

#include "base/jsonw.h"

#define SPLITS_MAX (PLAN_MAX + 1)

struct clause {
    const struct token *t;
    size_t              n;
};

/* --- one clause ----------------------------------------------------------------- */

static struct clause without_courtesy(struct clause c)
{
    while (c.n && token_is(c.t, DEMO_BEFORE)) {
        c.t++;
        c.n--;
    }
    while (c.n && token_is(c.t + c.n - 1, DEMO_AFTER)) c.n--;
    if (c.n > 2 && token_is(c.t + c.n - 1, "me|us") && token_is(c.t + c.n - 2, "for")) c.n -= 2;
    return c;
}

static bool rule_fits(const struct demo_rule *r, struct clause c, struct match *m)
{
    for (int i = 0; i < PATTERNS_MAX && r->patterns[i]; i++)
        if (match_tokens(r->patterns[i], c.t, c.n, m)) return true;
    return false;
}

static const struct demo_rule *last_rule(void)
{
    const struct demo_rule *r = DEMO_RULES;
    while (r->patterns[0]) r++;
    return r;
}

static bool clause_fits(struct clause c, const struct demo_rule *before, struct plan_step *out)
{
    struct clause bare = without_courtesy(c);
    if (bare.n) c = bare;
    for (const struct demo_rule *r = DEMO_RULES; r->patterns[0]; r++) {
        if (r->follows && (!before || before->tool != r->tool)) continue;
        if (rule_fits(r, c, &out->match)) {
            out->rule = r;
            return true;
        }
    }
    return false;
}

/* --- several ----------------------------------------------------------------------- */

/* Split points: 0, after each connecting word or sign, and the end. */
static size_t find_splits(const struct tokens *t, size_t at[SPLITS_MAX])
{
    size_t n = 0;
    at[n++] = 0;
    for (size_t i = 1; i < t->count && n < SPLITS_MAX - 1; i++)
        if (t->at[i - 1].ends || token_is(&t->at[i], DEMO_BETWEEN)) at[n++] = i;
    at[n++] = t->count;
    return n;
}

/* Can [i, j) be one clause after a clause of rule `before`? Leading "and" is courtesy, see
 * DEMO_BEFORE. */
static bool try_clause(struct plan *p, const size_t *at, size_t i, size_t j,
                       const struct demo_rule *before, struct plan_step *out)
{
    struct clause c = { p->tokens.at + at[i], at[j] - at[i] };
    while (c.n && token_is(c.t, DEMO_BETWEEN)) {
        c.t++;
        c.n--;
    }
    return c.n && clause_fits(c, before, out);
}

/* "Hi!" before a request: nothing but courtesy, to be passed over. */
static bool only_courtesy(struct plan *p, size_t from, size_t to)
{
    return to > from && without_courtesy((struct clause){ p->tokens.at + from, to - from }).n == 0;
}

/* Fills steps from split i on; the shortest clause first, so that requests are told apart. */
static bool fill(struct plan *p, const size_t *at, size_t n, size_t i)
{
    const struct demo_rule *before = p->count ? p->steps[p->count - 1].rule : NULL;
    size_t                  had = p->count;
    if (i == n - 1) return had > 0;
    for (size_t j = i + 1; j < n; j++) {
        bool last = j == n - 1;
        if (only_courtesy(p, at[i], at[j]) && (last ? had > 0 : fill(p, at, n, j))) return true;
        if (had == PLAN_MAX || !try_clause(p, at, i, j, before, &p->steps[had])) continue;
        p->count = had + 1;
        if (fill(p, at, n, j)) return true;
        p->count = had;
    }
    return false;
}

void plan_make(struct plan *p, struct str text)
{
    size_t at[SPLITS_MAX];
    p->count = 0;
    tokens_read(&p->tokens, text);
    size_t n = find_splits(&p->tokens, at);
    if (p->tokens.count && fill(p, at, n, 0)) return;
    p->steps[0] = (struct plan_step){ .rule = last_rule() };
    p->count = 1;
}

/* --- inputs ---------------------------------------------------------------------------- */

/* The slot of this clause, or of the one before it for the same tool: "... and 20 to Taro" are
 * dollars too. */
static const struct slot *find_slot(const struct plan *p, size_t i, struct str name)
{
    const char *tool = p->steps[i].rule->tool;
    for (;; i--) {
        const struct slot *s =
            p->steps[i].rule->tool == tool ? match_slot(&p->steps[i].match, name) : NULL;
        if (s || i == 0) return s;
    }
}

static void write_slot(struct buf *out, const struct plan *p, size_t i, struct str name)
{
    const struct slot *s = find_slot(p, i, name);
    struct jsonw       w;
    jsonw_init(&w, out);
    if (!s) jw_str(&w, str_is(name, "currency") ? STR("USD") : STR(""));
    else if (str_is(name, "amount") || (str_is(name, "track") && slot_is_number(s)))
        slot_number(out, s);
    else if (str_is(name, "currency")) jw_str(&w, slot_currency(s));
    else jw_str(&w, slot_text(s));
}

void plan_input(struct buf *out, const struct plan *p, size_t i, struct str item)
{
    const struct demo_rule *r = p->steps[i].rule;
    struct str              rest = str_c(r->input), piece, name;
    struct jsonw            w;
    jsonw_init(&w, out);
    while (str_split(&rest, '<', &piece)) {
        buf_str(out, piece);
        if (!rest.ptr || !str_split(&rest, '>', &name)) break;
        if (r->each && str_is(name, r->each)) {
            jw_str(&w, item);
            w.need_comma = false;
        } else write_slot(out, p, i, name);
    }
}

bool plan_each(const struct plan *p, size_t i, size_t *at, struct str *item)
{
    const struct slot *s = match_slot(&p->steps[i].match, str_c(p->steps[i].rule->each));
    if (!s) return false;
    while (*at < s->count &&
           (token_is(s->from + *at, DEMO_BETWEEN) || token_is(s->from + *at, "in")))
        ++*at;
    if (*at >= s->count) return false;
    struct slot part = { s->name, s->from + *at, 0 };
    while (*at < s->count && !token_is(s->from + *at, DEMO_BETWEEN)) {
        part.count++;
        if (s->from[(*at)++].ends) break;
    }
    *item = slot_text(&part);
    return true;
}
