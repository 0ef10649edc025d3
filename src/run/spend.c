/* spend.c -- see spend.h. */
#include "run/spend.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "run/caller.h"
#include "run/engine.h"

#define DAY_MS  86400000
#define MILLION 1000000
#define CENT    (MILLION / 100)

int64_t spend_day(int64_t at_ms)
{
    return at_ms / DAY_MS;
}

/* (input * price_in + output * price_out) / MILLION, upwards, in steps that fit into 64 bits:
 * prices have thousands and a rest, and so has the sum of the thousands. */
int64_t spend_cost(int64_t input, int64_t output, int64_t price_in, int64_t price_out)
{
    const int64_t most = INT64_C(1000000000); /* tokens: far above any step */
    input = input > most ? most : input;
    output = output > most ? most : output;
    int64_t thousands = input * (price_in / 1000) + output * (price_out / 1000);
    int64_t rest = input * (price_in % 1000) + output * (price_out % 1000);
    return thousands / 1000 + (thousands % 1000 * 1000 + rest + MILLION - 1) / MILLION;
}

struct str spend_key(struct arena *a, const char *what, enum spend_for of, struct str name)
{
    static const char *const WORDS[] = { "principal", "role", "thread", "all" };
    return arena_printf(a, "%s/%s/" STR_FMT, what, WORDS[of], STR_ARG(name));
}

bool spend_is_question(const struct call *c)
{
    return str_is(c->tool, SPEND_TOOL);
}

/* --- sums ------------------------------------------------------------------------------------- */

struct spend_reading *spend_reading_new(struct store *s, int64_t day)
{
    struct spend_reading *r = mem_alloc(sizeof *r);
    if (!r) return NULL;
    r->store = s;
    r->day = day;
    arena_init(&r->arena, 0);
    return r;
}

void spend_reading_free(struct spend_reading *r)
{
    arena_done(&r->arena);
    mem_free(r);
}

int spend_want(struct spend_reading *r, struct str key)
{
    for (size_t i = 0; i < r->count; i++)
        if (key.ptr && str_eq(r->sums[i].key, key)) return (int)i;
    if (!key.ptr || r->count == SPEND_SUMS_MAX) {
        r->failed = true;
        return -1;
    }
    r->sums[r->count] = (struct spend_sum){ .of = r, .key = key };
    return (int)r->count++;
}

static void on_sum(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                   struct str next)
{
    struct spend_sum     *s = LIST_ITEM(l, struct spend_sum, list);
    struct spend_reading *r = s->of;
    (void)next;
    if (e) r->failed = true;
    if (!e && count) s->amount = rows[0].amount;
    if (--r->left == 0) r->done(r);
}

void spend_read(struct spend_reading *r)
{
    must(r->count);
    r->left = r->count;
    for (size_t i = 0; i < r->count; i++) {
        r->sums[i].list = (struct store_list){
            .kind = STORE_USED, .owner = r->sums[i].key, .day = r->day, .done = on_sum
        };
        store_list(r->store, &r->sums[i].list);
    }
}

/* --- what an append adds ---------------------------------------------------------------------- */

static enum err add_row(struct thread *t, struct str key, int64_t day, int64_t amount)
{
    if (!amount) return OK;
    if (!t->spent && !(t->spent = arena_array(&t->batch, SPEND_SUMS_MAX, sizeof *t->spent)))
        return ERR_NOMEM;
    if (!key.ptr) return ERR_NOMEM;
    if (t->spent_count == SPEND_SUMS_MAX) return ERR_FULL;
    t->spent[t->spent_count++] = (struct store_spent){ key, day, amount };
    return OK;
}

static enum err add_both(struct thread *t, const struct fact *f, enum spend_for of, struct str name)
{
    int64_t  day = spend_day(f->at_ms), tokens = f->input_tokens + f->output_tokens;
    enum err e = add_row(t, spend_key(&t->batch, "tokens", of, name), day, tokens);
    return e ? e : add_row(t, spend_key(&t->batch, "cost", of, name), day, f->cost);
}

enum err spend_rows(struct thread *t, const struct fact *f)
{
    const struct hub_setup *s = &t->hub->setup;
    struct caller           who = caller_of(t->fold.run, t->owner);
    enum err                e = add_both(t, f, SPEND_PRINCIPAL, who.principal);
    bool                    all = false;
    for (size_t i = 0; i < s->budget_count && !e; i++) {
        const struct spend_rule *r = &s->budgets[i];
        bool first = true; /* of several about one role, or about all, one counts */
        for (size_t k = 0; k < i; k++)
            if (s->budgets[k].of == SPEND_ROLE && str_eq(s->budgets[k].role, r->role))
                first = false;
        if (r->of == SPEND_ROLE && first && caller_has(&who, &r->role, 1))
            e = add_both(t, f, SPEND_ROLE, r->role);
        if (r->of == SPEND_ALL && !all) e = add_both(t, f, SPEND_ALL, STR(""));
        all |= r->of == SPEND_ALL;
    }
    return e;
}

/* --- what is left ----------------------------------------------------------------------------- */

/* A look at the sums on its way, and whose it is: the thread may be gone when they come. */
struct look {
    struct hub *hub;
    struct str  owner, thread; /* in the reading's arena */
    uint64_t    seq;
    /* of each rule, in their order; -1: not needed */
    struct places {
        int tokens, cost;
    } at[];
};

static bool is_limited(const struct spend_limit *l)
{
    return l->soft || l->hard;
}

static struct places want(struct spend_reading *x, const struct spend_rule *r,
                          const struct caller *who)
{
    struct places w = { -1, -1 };
    struct str    name = r->of == SPEND_PRINCIPAL ? who->principal
                         : r->of == SPEND_ROLE    ? r->role
                                                  : STR("");
    if (r->of == SPEND_THREAD || (r->role.ptr && !caller_has(who, &r->role, 1))) return w;
    if (is_limited(&r->tokens))
        w.tokens = spend_want(x, spend_key(&x->arena, "tokens", r->of, name));
    if (is_limited(&r->cost)) w.cost = spend_want(x, spend_key(&x->arena, "cost", r->of, name));
    return w;
}

/* Notes the worst there is: beyond a hard limit, then beyond a soft one. */
static void judge(struct spending *s, const struct spend_rule *r, const struct spend_limit *l,
                  bool cost, int64_t used)
{
    enum spend_verdict v = l->hard && used >= l->hard   ? SPEND_STOP
                           : l->soft && used >= l->soft ? SPEND_ASK
                                                        : SPEND_FINE;
    if (v <= s->verdict) return;
    *s = (struct spending){ .reading = s->reading,
                            .seq = s->seq,
                            .known = s->known,
                            .verdict = v,
                            .rule = r,
                            .cost = cost,
                            .used = used,
                            .limit = v == SPEND_STOP ? l->hard : l->soft };
}

static int64_t amount(const struct spend_reading *x, int at)
{
    return at < 0 ? 0 : x->sums[at].amount;
}

static void judge_all(struct thread *t, const struct spend_reading *x, const struct look *k)
{
    const struct hub_setup *s = &t->hub->setup;
    const struct fold      *f = &t->fold;
    t->spend.verdict = SPEND_FINE;
    for (size_t i = 0; i < s->budget_count; i++) {
        const struct spend_rule *r = &s->budgets[i];
        bool                     own = r->of == SPEND_THREAD;
        judge(&t->spend, r, &r->tokens, false, own ? f->tokens : amount(x, k->at[i].tokens));
        judge(&t->spend, r, &r->cost, true, own ? f->cost : amount(x, k->at[i].cost));
    }
}

/* What could not be read is taken as nothing: a store that cannot be read cannot be written either,
 * and the append of the next step says so. */
static void on_looked(struct spend_reading *x)
{
    struct look   *k = x->ctx;
    struct thread *t = hub_find(k->hub, (struct log_name){ k->owner, k->thread });
    if (t && t->spend.reading == x) {
        t->spend.reading = NULL;
        t->spend.seq = k->seq;
        judge_all(t, x, k);
        thread_pump(t);
    }
    spend_reading_free(x);
}

static enum spend_verdict look(struct thread *t)
{
    const struct hub_setup *s = &t->hub->setup;
    struct caller           who = caller_of(t->fold.run, t->owner);
    struct spend_reading   *x = spend_reading_new(s->store, spend_day(clock_wall_ms()));
    struct look *k = x ? arena_alloc(&x->arena, sizeof *k + s->budget_count * sizeof *k->at) : NULL;
    if (!k) {
        if (x) spend_reading_free(x);
        return SPEND_FINE;
    }
    k->hub = t->hub;
    k->owner = arena_dup(&x->arena, t->owner);
    k->thread = arena_dup(&x->arena, t->id);
    k->seq = t->committed;
    for (size_t i = 0; i < s->budget_count; i++) k->at[i] = want(x, &s->budgets[i], &who);
    if (!x->count || x->arena.failed) { /* only the conversation's own, which is known */
        t->spend.seq = t->committed;
        judge_all(t, x, k);
        spend_reading_free(x);
        return t->spend.verdict;
    }
    x->ctx = k;
    x->done = on_looked;
    t->spend.reading = x;
    spend_read(x);
    return SPEND_WAIT;
}

/* What was answered to the question: for this run, or for this conversation today. */
static enum word answer(const struct thread *t)
{
    const struct fold *f = &t->fold;
    int64_t            today = spend_day(clock_wall_ms());
    for (size_t i = f->call_count; i-- > 0;) {
        const struct call *c = f->calls[i];
        if (!spend_is_question(c) || !c->finished) continue;
        if (c->finished->outcome == WORD_DONE)
            return spend_day(c->finished->at_ms) == today ? WORD_APPROVED : WORD_NONE;
        return c->run == f->run ? WORD_DENIED : WORD_NONE;
    }
    return WORD_NONE;
}

enum spend_verdict spend_look(struct thread *t)
{
    if (!t->hub->setup.budget_count) return SPEND_FINE;
    if (t->spend.reading) return SPEND_WAIT;
    enum spend_verdict v = t->spend.seq == t->committed ? t->spend.verdict : look(t);
    if (v != SPEND_ASK) return v;
    enum word said = answer(t);
    return said == WORD_APPROVED ? SPEND_FINE : said == WORD_DENIED ? SPEND_STOP : SPEND_ASK;
}

/* --- the limit of a person's day -------------------------------------------------------------- */

struct today {
    struct store_list list;
    struct thread    *thread;
    char              key[];
};

/* A sum that cannot be read stops nobody: what is appended then says so. */
static void on_today(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct today  *k = LIST_ITEM(l, struct today, list);
    struct thread *t = k->thread;
    (void)next;
    if (!e && count) quota_learn(t->hub->setup.quota, t->owner, rows[0].amount, l->day * DAY_MS);
    mem_free(k);
    t->inflight = false;
    t->spend.known = true;
    thread_pump(t);
}

static bool begins_run(const struct thread *t)
{
    const struct list *from = &t->queue;
    bool               free = !run_live(t->fold.run) || run_waiting(t->fold.run);
    if (list_empty(from) && free) from = &t->parked;
    if (list_empty(from)) return false;
    enum command_kind k = LIST_ITEM(from->next, struct command, node)->kind;
    return k == CMD_MESSAGE || k == CMD_RETRY || k == CMD_ACTION || k == CMD_CALL;
}

bool spend_first(struct thread *t)
{
    const struct quota *q = t->hub->setup.quota;
    if (!q || !q->limits.tokens_per_day || t->spend.known || !begins_run(t)) return false;
    struct arena  a = { 0 };
    struct str    key = spend_key(&a, "tokens", SPEND_PRINCIPAL, t->owner);
    struct today *k = key.ptr ? mem_alloc(sizeof *k + key.len) : NULL;
    if (k) {
        memcpy(k->key, key.ptr, key.len);
        k->thread = t;
        k->list = (struct store_list){ .kind = STORE_USED,
                                       .owner = str_n(k->key, key.len),
                                       .day = spend_day(clock_wall_ms()),
                                       .done = on_today };
        hub_busy(t->hub, t);
        t->inflight = true;
        store_list(t->hub->setup.store, &k->list);
    }
    arena_done(&a);
    return k != NULL;
}

/* --- in words --------------------------------------------------------------------------------- */

/* "12.50 USD", "0.000480 USD", "100000 tokens" */
static struct str sum_in_words(struct arena *a, const struct thread *t, int64_t n)
{
    struct str currency = t->hub->setup.currency.len ? t->hub->setup.currency : STR("USD");
    if (!t->spend.cost) return arena_printf(a, "%lld tokens", (long long)n);
    if (n < CENT) return arena_printf(a, "0.%06lld " STR_FMT, (long long)n, STR_ARG(currency));
    return arena_printf(a, "%lld.%02lld " STR_FMT, (long long)(n / MILLION),
                        (long long)(n % MILLION / CENT), STR_ARG(currency));
}

static struct str whose(struct arena *a, const struct spend_rule *r)
{
    switch (r->of) {
    case SPEND_PRINCIPAL: return STR("one person for a day");
    case SPEND_ROLE: return arena_printf(a, "the role " STR_FMT " for a day", STR_ARG(r->role));
    case SPEND_THREAD: return STR("one conversation");
    case SPEND_ALL: return STR("everybody for a day");
    }
    return STR("");
}

enum err spend_stop(struct thread *t)
{
    const struct run *r = t->fold.run;
    struct arena     *a = &t->batch;
    bool              no = answer(t) == WORD_DENIED;
    bool              day = t->spend.rule->of != SPEND_THREAD;
    struct fact       f = { .kind = FACT_ENDED,
                            .run = r->id,
                            .outcome = WORD_ERROR,
                            .code = no ? STR("budget_denied") : STR("budget_used_up"),
                            .input_tokens = r->input_tokens,
                            .output_tokens = r->output_tokens };
    struct str        what = whose(a, t->spend.rule);
    f.text = arena_printf(a, "The budget of " STR_FMT " is used up (" STR_FMT " of " STR_FMT ")%s",
                          STR_ARG(what), STR_ARG(sum_in_words(a, t, t->spend.used)),
                          STR_ARG(sum_in_words(a, t, t->spend.limit)),
                          no    ? ", and nobody allowed more."
                          : day ? ". It begins anew at midnight (UTC)."
                                : ". A new conversation has its own.");
    if (a->failed) return ERR_NOMEM;
    struct log_about about = thread_about(t, NULL);
    log_about(LOG_SECURITY, &about, "budget.used_up", "used", log_int(t->spend.used), "limit",
              log_int(t->spend.limit), NULL);
    return thread_add(t, &f);
}

/* A step that the server makes: one call that waits for a yes. Models are not told of it. */
enum err spend_ask(struct thread *t)
{
    struct arena *a = &t->batch;
    struct buf    input;
    struct jsonw  w;
    buf_init(&input, 0);
    jsonw_init(&w, &input);
    jw_obj(&w);
    jw_kstr(&w, "budget", whose(a, t->spend.rule));
    jw_kstr(&w, "used", sum_in_words(a, t, t->spend.used));
    jw_kstr(&w, "limit", sum_in_words(a, t, t->spend.limit));
    jw_end_obj(&w);
    struct part p = { .type = STEP_CALL,
                      .tool = STR(SPEND_TOOL),
                      .call = id_new(a, "call-"),
                      .text = input.err ? STR_NONE : arena_dup(a, buf_view(&input)),
                      .intent = STR("I need somebody's yes to use more than the budget..."),
                      .gate = GATE_ASK,
                      .complete = true,
                      .at_ms = clock_wall_ms() };
    struct fact f = { .kind = FACT_STEP,
                      .run = t->fold.run->id,
                      .stop = STR("calls"),
                      .provider = STR(SPEND_PROVIDER),
                      .parts = &p,
                      .parts_count = 1 };
    buf_done(&input);
    return p.text.ptr && !a->failed ? thread_add(t, &f) : ERR_NOMEM;
}

enum err spend_tool_add(struct registry *r)
{
    struct tool *t = registry_tool(r, STR(SPEND_TOOL));
    if (!t) return ERR_NOMEM;
    t->description = STR("Goes on although a budget is used up. Only the server asks for it.");
    t->ask = STR("The budget of {budget} is used up: {used} of {limit}. Go on in this conversation "
                 "today?");
    t->hidden = true;
    t->confirm = CONFIRM_ALWAYS;
    t->confirm_text = STR("\"always\"");
    return registry_add(r, t);
}
