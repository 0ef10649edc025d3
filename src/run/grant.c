/* grant.c -- see grant.h. */
#include "run/grant.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "base/id.h"
#include "base/jsame.h"
#include "run/engine.h"
#include "run/people.h"
#include "run/rules.h"
#include "run/taking.h"
#include "tool/policy.h"

#define NO_LIMIT  INT64_MAX
#define ROLE_LOST "ended"   /* states of a row: its giver lost the role */
#define CHANGED   "changed" /* what it rests on is another */
#define FOR_MAX   (366 * 86400)
#define COUNT_MAX 1000000

/* --- a tool's terms --------------------------------------------------------------------------- */

struct terms {
    int64_t          for_s, count, max; /* NO_LIMIT: none */
    struct str       sum;               /* STR_NONE: no sum is kept */
    const struct jv *same;
};

static bool is_pointer(const struct jv *v)
{
    return jv_is(v, JSON_STRING) && v->str.len && v->str.ptr[0] == '/';
}

static const char *number_fault(const struct jv *v, int64_t most, const char *why)
{
    int64_t n;
    return v && (!jv_int(v, &n) || n < 1 || n > most) ? why : NULL;
}

const char *grant_terms_fault(const struct jv *g)
{
    const struct jv *sum = jv_get(g, "sum"), *max = jv_get(g, "max"), *same = jv_get(g, "same");
    int64_t          units;
    const char      *why;
    if (!jv_get(g, "for")) return "\"grant\" needs \"for\": the longest time in seconds";
    if ((why = number_fault(jv_get(g, "for"), FOR_MAX,
                            "\"for\" must be a whole number of seconds, at most a year")))
        return why;
    if ((why = number_fault(jv_get(g, "count"), COUNT_MAX,
                            "\"count\" must be a whole number from 1 to 1000000")))
        return why;
    if (sum && !is_pointer(sum)) return "\"sum\" must be a JSON pointer such as \"/amount\"";
    if ((sum != NULL) != (max != NULL))
        return "\"sum\" and \"max\" belong together: what is added up, and how far";
    if (max && (decimal_of(max, &units) != OK || units <= 0))
        return "\"max\" must be an amount above 0 with at most six places behind the point";
    if (same && !jv_is(same, JSON_ARRAY)) return "\"same\" must be a list of JSON pointers";
    JV_EACH (p, same)
        if (!is_pointer(p))
            return "\"same\" must be a list of JSON pointers such as \"/recipient\"";
    return NULL;
}

static struct terms terms_of(const struct jv *g)
{
    struct terms t = { .for_s = jv_int_at(g, "for", 0),
                       .count = jv_int_at(g, "count", NO_LIMIT),
                       .max = NO_LIMIT,
                       .sum = jv_str_at(g, "sum"),
                       .same = jv_get(g, "same") };
    if (t.sum.ptr && decimal_of(jv_get(g, "max"), &t.max) != OK) t.max = 0;
    return t;
}

/* What a call would take of a sum; false: that cannot be said, or it is nothing to take. */
static bool amount_of(struct str sum, const struct jv *args, int64_t *out)
{
    const struct jv *v = NULL;
    *out = 0;
    if (!sum.len) return true;
    /* a number, not a text that looks like one: what the tool makes of that is not known */
    return policy_find(args, sum, &v) && jv_is(v, JSON_NUMBER) && decimal_of(v, out) == OK &&
           *out >= 0;
}

/* --- offering --------------------------------------------------------------------------------- */

static void kamount(struct jsonw *w, const char *key, int64_t units)
{
    char text[DECIMAL_TEXT];
    jw_key(w, key);
    if (units == NO_LIMIT) jw_null(w);
    else {
        decimal_write(units, text);
        jw_strz(w, text);
    }
}

static void kcount(struct jsonw *w, const char *key, int64_t n)
{
    jw_key(w, key);
    if (n == NO_LIMIT) jw_null(w);
    else jw_int(w, n);
}

static void ktime(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

/* {"/recipient":"Hanako"}: false when one of them is not there, or read in two ways. */
static bool write_same(struct jsonw *w, const struct jv *same, const struct jv *args)
{
    bool ok = true;
    jw_obj(w);
    JV_EACH (p, same) {
        const struct jv *v = NULL;
        if (!policy_find(args, p->str, &v) || !v) {
            ok = false;
            continue;
        }
        jw_key_str(w, p->str);
        jw_canonical(w, v);
    }
    jw_end_obj(w);
    return ok;
}

struct str grant_offer(struct arena *a, const struct tool *tool, const struct call *c)
{
    struct terms t;
    struct buf   b;
    struct jsonw w;
    int64_t      amount;
    struct str   out = STR_NONE;
    if (!tool || !tool->grant || !c->args) return STR_NONE;
    t = terms_of(tool->grant);
    if (!amount_of(t.sum, c->args, &amount) || amount > t.max) return STR_NONE;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kint(&w, "for", t.for_s);
    kcount(&w, "count", t.count);
    kamount(&w, "max", t.max);
    jw_key(&w, "sum");
    jw_str_or_null(&w, t.sum);
    kamount(&w, "amount", t.sum.ptr ? amount : NO_LIMIT);
    jw_key(&w, "same");
    bool whole = write_same(&w, t.same, c->args);
    jw_end_obj(&w);
    if (whole && !b.err) out = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

/* --- giving ----------------------------------------------------------------------------------- */

struct wish {
    bool    me; /* scope */
    int64_t for_s, count, max;
};

static bool wrong(struct grant_fault *f, const char *code, const char *why)
{
    *f = (struct grant_fault){ code, why };
    return false;
}

static bool read_number(const struct jv *v, int64_t widest, int64_t *out, struct grant_fault *f)
{
    *out = widest;
    if (!v || v->type == JSON_NULL) return true;
    if (!jv_int(v, out) || *out < 1)
        return wrong(f, "grant_invalid", "\"for\" and \"count\" are whole numbers above 0.");
    if (*out > widest)
        return wrong(f, "grant_too_wide", "The tool does not allow a grant as wide as this.");
    return true;
}

static bool read_max(const struct jv *v, const struct terms *t, int64_t *out, struct grant_fault *f)
{
    *out = t->max;
    if (!v || v->type == JSON_NULL) return true;
    if (!t->sum.ptr)
        return wrong(f, "grant_invalid", "This tool keeps no sum, so \"max\" means nothing.");
    if (decimal_of(v, out) != OK || *out <= 0)
        return wrong(f, "grant_invalid",
                     "\"max\" is an amount above 0 with at most six places behind the point.");
    if (*out > t->max)
        return wrong(f, "grant_too_wide", "The tool does not allow a grant of as much as this.");
    return true;
}

static bool read_wish(const struct jv *v, const struct terms *t, struct wish *out,
                      struct grant_fault *f)
{
    struct str scope = jv_str_at(v, "scope");
    if (!jv_is(v, JSON_OBJECT) || (!str_is(scope, "thread") && !str_is(scope, "me")))
        return wrong(f, "grant_invalid",
                     "A grant is an object with \"scope\": \"thread\" or \"me\".");
    JV_EACH (m, v)
        if (!str_is(m->key, "scope") && !str_is(m->key, "for") && !str_is(m->key, "count") &&
            !str_is(m->key, "max"))
            return wrong(
                f, "grant_invalid",
                "A grant has \"scope\", \"for\", \"count\" and \"max\", and nothing else.");
    out->me = str_is(scope, "me");
    return read_number(jv_get(v, "for"), t->for_s, &out->for_s, f) &&
           read_number(jv_get(v, "count"), t->count, &out->count, f) &&
           read_max(jv_get(v, "max"), t, &out->max, f);
}

/* By what they may decide: when they lose it, the grant ends. */
static struct str role_of_giver(struct thread *t, const struct command *c, const struct call *call)
{
    const struct fact *q = call->asked;
    struct ballot      b = { q->who, t->owner, q->at_ms, clock_wall_ms() };
    struct voter       v = { c->by, c->roles };
    if (q->who.ptr) return rules_role(&t->batch, &b, &v);
    return str_eq(c->by, t->owner) && !t->hub->setup.approvers ? STR("owner") : STR("approver");
}

/* What the row keeps beside its numbers. */
static void write_body(struct jsonw *w, struct thread *t, const struct command *c,
                       const struct call *call, const struct terms *k, const struct wish *wish)
{
    const struct hub_setup *s = &t->hub->setup;
    const struct tool      *tool = call_tool(t, call);
    char                    rules[RULES_DIGEST];
    if (rules_digest(s->rules, s->approvers, call->tool, rules) != OK) w->out->err = ERR_NOMEM;
    jw_obj(w);
    jw_kstr(w, "tool", call->tool);
    jw_kstrz(w, "scope", wish->me ? "me" : "thread");
    jw_kstr(w, "thread", t->id);
    jw_kstr(w, "by", c->by);
    jw_kstr(w, "via", c->via);
    jw_kint(w, "for", wish->for_s);
    kcount(w, "count", wish->count);
    kamount(w, "max", wish->max);
    jw_key(w, "sum");
    jw_str_or_null(w, k->sum);
    jw_key(w, "same");
    (void)write_same(w, k->same, call->args);
    jw_kstr(w, "definition", call->asked->note);
    jw_kstr(w, "source", tool ? tool->source : STR_NONE);
    jw_kstrz(w, "rules", rules);
    jw_kraw(w, "who", call->asked->who.ptr ? call->asked->who : STR("null"));
    jw_kstr(w, "role", role_of_giver(t, c, call));
    jw_end_obj(w);
}

/* As it stands with this call in it, for the card. */
static struct str shown(struct arena *a, struct str id, struct str by, int64_t given_ms,
                        const struct store_stock *row, const struct wish *k, int64_t until_ms)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "id", id);
    jw_kstr(&w, "by", by);
    ktime(&w, "at", given_ms);
    jw_kint(&w, "uses", k->count - row->uses);
    kcount(&w, "count", k->count);
    kamount(&w, "amount", k->max == NO_LIMIT ? NO_LIMIT : k->max - row->amount);
    kamount(&w, "max", k->max);
    ktime(&w, "until", until_ms);
    jw_end_obj(&w);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

static bool put_grant(struct thread *t, const struct command *c, const struct call *call,
                      const struct terms *k, const struct wish *wish, struct grant_opened *out)
{
    int64_t           now = clock_wall_ms();
    struct store_take take = { .op = TAKE_MAKE,
                               .kind = STR("grant"),
                               .state = STR("open"),
                               .uses = wish->count - 1,
                               .amount = wish->max == NO_LIMIT ? NO_LIMIT : wish->max - out->amount,
                               .until_ms = now + wish->for_s * 1000,
                               .with_log = true };
    struct buf        b;
    struct jsonw      w;
    out->id = id_new(&t->batch, "g_");
    take.holder = out->id;
    take.key = arena_printf(&t->batch, GRANT_KEY STR_FMT, STR_ARG(out->id));
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    write_body(&w, t, c, call, k, wish);
    take.body = b.err ? STR_NONE : arena_dup(&t->batch, buf_view(&b));
    buf_done(&b);
    struct store_stock left = { .uses = take.uses, .amount = take.amount };
    out->shown = shown(&t->batch, out->id, c->by, now, &left, wish, take.until_ms);
    return out->id.ptr && take.key.ptr && take.body.ptr && out->shown.ptr &&
           thread_take(t, &take) == OK;
}

/* Would the same people be asked now? A question keeps its rule when that changes; what is to hold
 * for later calls does not. */
static bool is_asked_so(struct thread *t, const struct call *call)
{
    struct str who;
    bool       single;
    return rules_for(t, call, &t->batch, &who, &single) == OK &&
           !who.ptr == !call->asked->who.ptr && str_eq(who, call->asked->who);
}

bool grant_open(struct thread *t, const struct command *c, const struct call *call,
                struct grant_opened *out, struct grant_fault *fault)
{
    const struct tool *tool = call_tool(t, call);
    struct wish        wish;
    struct terms       k;
    if (!tool || !tool->grant || !call->asked || !call->asked->offer.ptr)
        return wrong(fault, "grant_not_offered",
                     "No grant is offered with this question; answer it without one.");
    if (!is_asked_so(t, call))
        return wrong(fault, "grant_not_offered",
                     "Others are asked about such a call by now; answer it without a grant.");
    k = terms_of(tool->grant);
    if (!read_wish(c->decide.grant, &k, &wish, fault)) return false;
    if (!amount_of(k.sum, call->args, &out->amount) || out->amount > wish.max)
        return wrong(fault, "grant_invalid",
                     "This call alone takes more than the grant would allow.");
    if (put_grant(t, c, call, &k, &wish, out)) return true;
    return wrong(fault, NULL, "The server is out of memory; try again in a moment.");
}

/* --- ending ----------------------------------------------------------------------------------- */

static enum err set_state(struct thread *t, struct str id, const char *state)
{
    struct store_take k = { .op = TAKE_SET, .state = str_c(state), .holder = id };
    k.key = arena_printf(&t->batch, GRANT_KEY STR_FMT, STR_ARG(id));
    return k.key.ptr ? thread_take(t, &k) : ERR_NOMEM;
}

enum err grant_revoke(struct thread *t, struct str id)
{
    return set_state(t, id, "revoked");
}

enum err grant_end(struct thread *t, struct str id, struct str why)
{
    return set_state(t, id, str_is(why, "role") ? ROLE_LOST : CHANGED);
}

/* Is the tool another, or who is asked about it? ERR_NOMEM: that cannot be said. A server of tools
 * that is away has changed nothing; what it lists when it is back is looked at then. */
static enum err changed(const struct hub *h, const struct jv *body, bool *out)
{
    struct str         name = jv_str_at(body, "tool");
    const struct tool *tool = registry_find(h->setup.registry, name);
    char               digest[TOOL_DIGEST] = "", rules[RULES_DIGEST];
    enum err           e = rules_digest(h->setup.rules, h->setup.approvers, name, rules);
    if (!e && tool) e = tool_digest(tool, digest);
    if (e) return e;
    bool same = tool ? tool->grant && str_is(jv_str_at(body, "definition"), digest)
                     : str_starts(jv_str_at(body, "source"), STR("mcp:"));
    *out = !same || !str_is(jv_str_at(body, "rules"), rules);
    return OK;
}

static bool lost(const struct hub *h, const struct store_stock *row, const struct jv *body)
{
    return !people_kept(h->setup.people, jv_str_at(body, "by"), jv_str_at(body, "role"),
                        row->made_ms);
}

/* Why a grant gives nothing any more, whatever is left of it; *why NULL: it does. What was found
 * once stays so: it is in the row. */
static enum err ended(const struct hub *h, const struct store_stock *row, const struct jv *body,
                      const char **why)
{
    bool     other = str_is(row->state, CHANGED), role = str_is(row->state, ROLE_LOST);
    enum err e = other || role ? OK : changed(h, body, &other);
    *why = other ? "definition" : role || lost(h, row, body) ? "role" : NULL;
    if (row->until_ms <= clock_wall_ms()) *why = "time";
    return e;
}

/* For which of the reasons of grant_end it is to be ended, and was not yet; NULL: for none that is
 * known. */
static const char *why_over(const struct hub *h, const struct store_stock *row)
{
    struct arena a;
    struct jv   *body = NULL;
    const char  *why = NULL;
    arena_init(&a, 0);
    if (str_is(row->state, "open") && row->until_ms > clock_wall_ms() &&
        json_parse_own(&a, row->body, &body) == OK && ended(h, row, body, &why) != OK)
        why = NULL;
    arena_done(&a);
    return why;
}

struct command *grant_closing(const struct hub *h, const struct store_row *row)
{
    const char     *why = row->damaged ? NULL : why_over(h, &row->stock);
    struct command *c = why ? command_new(CMD_REVOKE) : NULL;
    if (!c) return NULL;
    c->log.owner = arena_dup(&c->arena, row->owner);
    c->log.thread = arena_dup(&c->arena, row->thread);
    c->id = arena_dup(&c->arena, row->stock.holder);
    c->via = str_c(why);
    c->done = command_drop;
    return c;
}

/* --- using ------------------------------------------------------------------------------------ */

static bool same_values(const struct jv *same, const struct jv *args)
{
    JV_EACH (m, same) {
        const struct jv *v = NULL;
        if (!policy_find(args, m->key, &v) || !v || !jv_spelled_same(v, m)) return false;
    }
    return true;
}

struct fit {
    const struct store_stock *row;
    const struct jv          *body;
    int64_t                   amount;
};

static bool fits(struct thread *t, const struct call *c, const struct store_stock *row,
                 struct str who, struct fit *out)
{
    struct jv  *b;
    const char *why;
    if (!str_is(row->state, "open") || row->uses < 1 || taking_refused(t, c->id, row->key))
        return false;
    if (json_parse_own(&t->batch, row->body, &b) != OK) return false;
    if (!str_eq(jv_str_at(b, "tool"), c->tool)) return false;
    if (str_is(jv_str_at(b, "scope"), "thread") && !str_eq(jv_str_at(b, "thread"), t->id))
        return false;
    if (ended(t->hub, row, b, &why) != OK || why || !same_values(jv_get(b, "same"), c->args))
        return false;
    if (!str_eq(jv_get(b, "who") ? jv_get(b, "who")->raw : STR("null"),
                who.ptr ? who : STR("null")))
        return false;
    *out = (struct fit){ row, b, 0 };
    return amount_of(jv_str_at(b, "sum"), c->args, &out->amount) && out->amount <= row->amount;
}

static enum err take_fit(struct thread *t, const struct call *c, const struct fit *k,
                         struct str who, struct fact *f)
{
    struct wish        limits = { .count = jv_int_at(k->body, "count", NO_LIMIT), .max = NO_LIMIT };
    struct store_stock left = *k->row;
    struct store_take  take = {
         .op = TAKE_FROM, .key = k->row->key, .amount = k->amount, .holder = c->id
    };
    if (jv_is(jv_get(k->body, "max"), JSON_STRING) &&
        decimal_of(jv_get(k->body, "max"), &limits.max) != OK)
        return ERR_NOT_FOUND;
    left.uses--;
    left.amount -= k->amount;
    f->via = STR("grant");
    f->by = jv_str_at(k->body, "by");
    f->roles = jv_str_at(k->body, "role"); /* by which they gave it */
    f->grant = k->row->holder;
    f->digest = approval_digest(&t->batch, c);
    f->note = jv_str_at(k->body, "definition"); /* still the tool's: a grant ends with it */
    f->who = who;
    f->amount = k->amount;
    f->granted =
        shown(&t->batch, k->row->holder, f->by, k->row->made_ms, &left, &limits, k->row->until_ms);
    return f->granted.ptr && f->digest.ptr ? thread_take(t, &take) : ERR_NOMEM;
}

/* Of many there is another time to say it. */
static enum err end_over(struct thread *t, const struct store_stock *rows, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; i < count && !e && t->take_count < BATCH_TAKES / 2; i++) {
        const char *why = why_over(t->hub, &rows[i]);
        if (why) e = grant_end(t, rows[i].holder, str_c(why));
    }
    return e;
}

enum err grant_use(struct thread *t, const struct call *c, const struct store_stock *rows,
                   size_t count, struct fact *f)
{
    struct str who;
    bool       single;
    struct fit k;
    enum err   e = rules_for(t, c, &t->batch, &who, &single);
    if (!e) e = end_over(t, rows, count);
    if (e || !single) return e ? e : ERR_NOT_FOUND;
    for (size_t i = count; i-- > 0;) /* the oldest first: it ends first */
        if (fits(t, c, &rows[i], who, &k)) return take_fit(t, c, &k, who, f);
    return ERR_NOT_FOUND;
}

/* --- giving back ------------------------------------------------------------------------------ */

enum err grant_follow(struct thread *t, const struct call *c, const struct fact *f)
{
    bool ends = f->kind == FACT_FINISHED || f->kind == FACT_SETTLED;
    bool happened = f->outcome == WORD_DONE || f->outcome == WORD_UNKNOWN;
    if (!ends || happened || !c->decided || !c->decided->grant.len) return OK;
    struct store_take k = { .op = TAKE_BACK, .amount = c->decided->amount, .holder = c->id };
    k.key = arena_printf(&t->batch, GRANT_KEY STR_FMT, STR_ARG(c->decided->grant));
    return k.key.ptr ? thread_take(t, &k) : ERR_NOMEM;
}

/* --- showing ---------------------------------------------------------------------------------- */

struct str grant_giver(struct arena *a, const struct store_stock *row)
{
    struct jv *b;
    return json_parse_own(a, row->body, &b) == OK ? jv_str_at(b, "by") : STR_NONE;
}

static void write_numbers(struct jsonw *w, const struct store_stock *row, const struct jv *b,
                          bool *used_up)
{
    int64_t count = jv_int_at(b, "count", NO_LIMIT), max = NO_LIMIT;
    if (jv_is(jv_get(b, "max"), JSON_STRING) && decimal_of(jv_get(b, "max"), &max) != OK) max = 0;
    kcount(w, "count", count);
    jw_kint(w, "uses", count - row->uses);
    kamount(w, "max", max);
    kamount(w, "amount", max == NO_LIMIT ? NO_LIMIT : max - row->amount);
    *used_up = row->uses < 1 || (max != NO_LIMIT && row->amount < 1);
}

void grant_write(struct jsonw *w, const struct hub *h, const struct store_stock *row)
{
    static const char *const MEMBERS[] = { "tool", "scope", "by", "via" };
    struct arena             a;
    struct jv               *b = NULL;
    bool                     used_up = false, me;
    arena_init(&a, 0);
    if (json_parse_own(&a, row->body, &b) != OK) b = NULL;
    const char *why = NULL;
    if (ended(h, row, b, &why) != OK) why = NULL; /* no memory: somebody who looks again sees it */
    me = str_is(jv_str_at(b, "scope"), "me");
    jw_obj(w);
    jw_kstr(w, "id", row->holder);
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
        jw_kstr(w, MEMBERS[i], jv_str_at(b, MEMBERS[i]));
    jw_key(w, "thread");
    jw_str_or_null(w, me ? STR_NONE : jv_str_at(b, "thread"));
    jw_kstr(w, "owner", row->owner);
    ktime(w, "given_at", row->made_ms);
    ktime(w, "until", row->until_ms);
    write_numbers(w, row, b, &used_up);
    jw_key(w, "sum");
    jw_str_or_null(w, jv_str_at(b, "sum"));
    jw_kraw(w, "same", jv_get(b, "same") ? jv_get(b, "same")->raw : STR("{}"));
    bool revoked = str_is(row->state, "revoked");
    jw_kstrz(w, "status", revoked ? "revoked" : why ? "ended" : used_up ? "used_up" : "open");
    jw_key(w, "why");
    jw_strz(w, revoked ? NULL : why);
    jw_end_obj(w);
    arena_done(&a);
}
