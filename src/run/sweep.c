/* sweep.c -- see sweep.h. */
#include "run/sweep.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "run/effect.h"
#include "run/record.h"
#include "run/spend.h"

#define FIRST_MS   5000
#define EVERY_MS   3600000 /* a day is looked at 24 times */
#define LEAST_MS   10
#define AT_ONCE    50
#define ERASED_LEN 12

/* A command for the log of this row. False: no memory. */
struct order {
    enum command_kind kind;
    int64_t           kinds; /* CMD_TRIM */
    struct str        by;
    const char       *via;
    void (*done)(struct command *, const struct receipt *);
    void *ctx;
};
static bool give(struct hub *h, const struct store_row *row, struct order o)
{
    struct command *c = command_new(o.kind);

    if (!c) return false;
    if (o.kind == CMD_TRIM) c->trim.kinds = o.kinds;
    c->log =
        (struct log_name){ arena_dup(&c->arena, row->owner), arena_dup(&c->arena, row->thread) };
    c->by = arena_dup(&c->arena, o.by);
    c->via = str_c(o.via);
    c->done = o.done;
    c->ctx = o.ctx;
    if (c->arena.failed) {
        command_free(c);
        return false;
    }
    hub_submit(h, c);
    return true;
}

/* --- by age ------------------------------------------------------------------------- */

struct sweep {
    struct hub        *hub;
    struct sweep_rules rules;
    uint64_t           every_ms;
    struct loop_timer  timer;
    struct store_list  list;
    unsigned           open, gone, trimmed;
    bool               full, stopping;
    bool               asking, closed; /* the store is asked; the timer is gone */
    int64_t            after;          /* the last log whose words were looked at */
    int64_t            now;            /* by which they are too old, all the way through */
    void (*done)(void *ctx);
    void *done_ctx;
};

static int64_t before(int64_t now, int64_t age_ms)
{
    return age_ms ? now - age_ms : 0;
}

static void ask_words(struct sweep *s);

/* When it is stopped and nothing of it is under way. */
static void release(struct sweep *s)
{
    void (*done)(void *) = s->done;
    void *ctx = s->done_ctx;

    if (!s->closed || s->asking || s->open) return;
    mem_free(s);
    done(ctx);
}

static void ask(struct sweep *s)
{
    s->asking = true;
    hub_list(s->hub, &s->list);
}

static void rest(struct sweep *s)
{
    if (s->trimmed)
        log_line(LOG_INFO, "retention.trimmed", "conversations", log_int(s->trimmed), NULL);
    s->trimmed = 0;
    if (s->stopping) release(s);
    else loop_timer_set(&s->timer, s->every_ms);
}

static void one_trimmed(struct command *c, const struct receipt *a)
{
    struct sweep *s = c->ctx;

    s->trimmed += a->status < 400;
    command_free(c);
    if (--s->open == 0) ask_words(s);
}

/* What of it is too old. */
static int64_t kinds_of(const struct sweep *s, const struct store_row *row)
{
    int64_t kinds = 0;

    for (int i = 0; i < STORE_TRIM_KINDS; i++)
        if (row->updated_ms < before(s->now, s->rules.kind_ms[i])) kinds |= 1 << i;
    return kinds;
}

static void on_words(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct sweep *s = LIST_ITEM(l, struct sweep, list);

    (void)next;
    s->asking = false;
    if (e || !count || s->stopping) {
        rest(s);
        return;
    }
    s->open = 1;
    for (size_t i = 0; i < count && !s->stopping; i++) {
        struct order o = { CMD_TRIM, kinds_of(s, &rows[i]), STR("retention"),
                           "clock",  one_trimmed,           s };
        s->after = rows[i].num;
        s->open++;
        if (!give(s->hub, &rows[i], o)) s->open--;
    }
    if (--s->open == 0) ask_words(s);
}

/* One page after the other, and each log once: one that cannot be trimmed holds up nobody. */
static void ask_words(struct sweep *s)
{
    s->list = (struct store_list){
        .kind = STORE_UNTRIMMED, .after = s->after, .limit = AT_ONCE, .done = on_words
    };
    for (int i = 0; i < STORE_TRIM_KINDS; i++)
        s->list.dues[i] = before(s->now, s->rules.kind_ms[i]);
    if (s->stopping) rest(s);
    else ask(s);
}

/* The old ones of this look are gone: more of them, or then the words. */
static void next_page(struct sweep *s)
{
    if (s->gone) log_line(LOG_INFO, "retention.removed", "conversations", log_int(s->gone), NULL);
    bool more = s->full && s->gone;
    s->gone = 0;
    if (more && !s->stopping) loop_timer_set(&s->timer, 1);
    else ask_words(s);
}

static void one_gone(struct command *c, const struct receipt *a)
{
    struct sweep *s = c->ctx;

    s->gone += a->status < 400;
    command_free(c);
    if (--s->open == 0) next_page(s);
}

static void on_old(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                   struct str next)
{
    struct sweep *s = LIST_ITEM(l, struct sweep, list);

    (void)next;
    s->asking = false;
    s->full = !e && count == AT_ONCE;
    s->open = 1; /* ours, so that the last of them does not end it too early */
    for (size_t i = 0; !e && i < count && !s->stopping; i++) {
        struct order o = { CMD_DELETE, 0, STR("retention"), "clock", one_gone, s };
        s->open++;
        if (!give(s->hub, &rows[i], o)) s->open--;
    }
    if (--s->open == 0) next_page(s);
}

static void on_timer(struct loop_timer *t)
{
    struct sweep *s = LIST_ITEM(t, struct sweep, timer);

    s->now = clock_wall_ms();
    s->after = 0;
    s->list = (struct store_list){ .kind = STORE_OLD,
                                   .due_ms = before(s->now, s->rules.plain_ms),
                                   .day = before(s->now, s->rules.asked_ms),
                                   .limit = AT_ONCE,
                                   .done = on_old };
    ask(s);
}

static void take_less(int64_t *least, int64_t age_ms)
{
    if (age_ms && (!*least || age_ms < *least)) *least = age_ms;
}

static uint64_t every(struct sweep_rules r)
{
    int64_t least = r.plain_ms;

    take_less(&least, r.asked_ms);
    for (int i = 0; i < STORE_TRIM_KINDS; i++) take_less(&least, r.kind_ms[i]);
    return least / 24 > EVERY_MS   ? EVERY_MS
           : least / 24 < LEAST_MS ? LEAST_MS
                                   : (uint64_t)least / 24;
}

struct sweep *sweep_start(struct hub *h, struct sweep_rules r)
{
    struct sweep *s = mem_alloc(sizeof *s);

    if (!s) return NULL;
    s->hub = h;
    s->rules = r;
    loop_timer_init(hub_setup(h)->loop, &s->timer, on_timer);
    s->every_ms = every(r);
    loop_timer_set(&s->timer, s->every_ms < FIRST_MS ? s->every_ms : FIRST_MS);
    return s;
}

static void on_closed(struct loop_timer *t)
{
    struct sweep *s = LIST_ITEM(t, struct sweep, timer);

    s->closed = true;
    release(s);
}

void sweep_stop(struct sweep *s, void (*done)(void *ctx), void *ctx)
{
    if (!s) {
        done(ctx);
        return;
    }
    s->stopping = true;
    s->done = done;
    s->done_ctx = ctx;
    loop_timer_close(&s->timer, on_closed);
}

/* --- by person ---------------------------------------------------------------------- */

static void ask_logs(struct erase *x);
static void ask_stubs(struct erase *x);
static void next_stub(struct erase *x);

/* Another each time: nothing leads from one to the next. */
#define ERASED_SIZE (sizeof "erased-" + ERASED_LEN)
static void erased_name(char out[ERASED_SIZE])
{
    memcpy(out, "erased-", sizeof "erased-" - 1);
    id_letters(out + sizeof "erased-" - 1, ERASED_LEN);
    out[ERASED_SIZE - 1] = 0;
}

static void over(struct erase *x, enum err e)
{
    arena_done(&x->arena);
    if (!e)
        log_line(LOG_SECURITY, "people.erased", "by", log_str(x->by), "conversations",
                 log_int(x->logs), "stubs", log_int(x->stubs), NULL);
    x->done(x, e);
}

static void on_forgotten(struct store_erase *op, enum err e)
{
    over(LIST_ITEM(op, struct erase, op), e);
}

/* Whose a payment was: one word for everybody. Its row names the call, and so does the stub; a name
 * of each person's own would tie their stubs together. */
#define ERASED "erased"
/* What they spent, where they are signed in, the grants they have or gave, and what their payments
 * took: that stays taken, without their name; only what was taken from themselves alone is free. */
static void forget(struct erase *x)
{
    x->sums[0] = spend_key(&x->arena, "tokens", SPEND_PRINCIPAL, x->name);
    x->sums[1] = spend_key(&x->arena, "cost", SPEND_PRINCIPAL, x->name);
    x->op = (struct store_erase){ .owner = x->name,
                                  .sums = x->sums,
                                  .sum_count = 2,
                                  .rows = x->matches,
                                  .row_count = x->match_count,
                                  .by = record_member(&x->arena, "by", x->name),
                                  .by_as = record_member(&x->arena, "by", STR(ERASED)),
                                  .decided_by = record_member(&x->arena, "decided_by", x->name),
                                  .kind = STR("effect"),
                                  .own = STR(EFFECT_OWN),
                                  .as = STR(ERASED),
                                  .body = STR("{\"owner\":\"" ERASED "\",\"by\":\"" ERASED "\"}"),
                                  .done = on_forgotten };
    if (x->arena.failed || !x->op.by.ptr || !x->op.by_as.ptr || !x->op.decided_by.ptr)
        over(x, ERR_NOMEM);
    else store_erase(hub_setup(x->hub)->store, &x->op);
}

/* One less to wait for. */
static void all_gone(struct erase *x)
{
    if (--x->open) return;
    x->left = !x->failed && x->logs >= SWEEP_MOST;
    if (x->failed || x->left) over(x, x->failed);
    else ask_logs(x);
}

static void log_gone(struct command *c, const struct receipt *a)
{
    struct erase *x = c->ctx;

    /* gone already is as good */
    if (a->status < 400) x->logs++;
    else if (a->status != 404) x->failed = ERR_BUSY;
    command_free(c);
    all_gone(x);
}

static void on_logs(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct erase *x = LIST_ITEM(l, struct erase, list);

    (void)next;
    if (e) {
        over(x, e);
        return;
    }
    if (!count) {
        ask_stubs(x);
        return;
    }
    x->open = 1; /* ours, as above */
    for (size_t i = 0; i < count; i++) {
        x->open++;
        if (!give(x->hub, &rows[i], (struct order){ CMD_DELETE, 0, x->by, "erase", log_gone, x })) {
            x->open--;
            x->failed = ERR_NOMEM;
        }
    }
    all_gone(x);
}

static void ask_logs(struct erase *x)
{
    x->list = (struct store_list){
        .kind = STORE_LOGS, .owner = x->name, .limit = AT_ONCE, .done = on_logs
    };
    hub_list(x->hub, &x->list);
}

static void on_stub(struct store_erase *op, enum err e)
{
    struct erase *x = LIST_ITEM(op, struct erase, op);

    if (e && e != ERR_CONFLICT) { /* changed by somebody else: it comes again */
        over(x, e);
        return;
    }
    x->stubs += !e;
    next_stub(x);
}

/* Signed anew, as far as it was signed. STR_NONE: no memory. */
static struct str erased_body(struct erase *x, const struct store_row *row, struct str as,
                              int64_t now)
{
    const struct vouch *v = &hub_setup(x->hub)->vouch;
    struct str          bare;
    uint64_t            from;

    if (vouch_since(v, &x->arena, row->log, row->seq, row->line, &bare, &from)) return STR_NONE;
    bare = record_erased(&x->arena, bare, x->name, as, row->created_ms);
    return vouch_stub(v, &x->arena, row->log, now, bare, from);
}

static void next_stub(struct erase *x)
{
    const struct store_row *row = &x->rows[x->next];
    char                    other[ERASED_SIZE];

    if (x->next == x->count) {
        arena_reset(&x->arena);
        ask_stubs(x);
        return;
    }
    x->next++;
    erased_name(other);
    bool       own = str_eq(row->owner, x->name);
    struct str as = arena_dup(&x->arena, str_c(other));
    int64_t    now = clock_wall_ms();
    x->op = (struct store_erase){ .num = row->num,
                                  .seq = row->seq,
                                  .owner = own ? as : row->owner,
                                  /* people choose the names of conversations, too */
                                  .thread = own ? str_c(row->log) : row->thread,
                                  .body = erased_body(x, row, as, now),
                                  .at_ms = now,
                                  .done = on_stub };
    if (x->op.body.ptr && as.ptr) store_erase(hub_setup(x->hub)->store, &x->op);
    else over(x, ERR_NOMEM);
}

static void on_stubs(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct erase *x = LIST_ITEM(l, struct erase, list);

    (void)next;
    x->left = x->stubs >= SWEEP_MOST && count > 0;
    if (e || x->left || !count) {
        if (e || x->left) over(x, e);
        else forget(x);
        return;
    }
    x->rows = arena_array(&x->arena, count, sizeof *x->rows);
    x->count = x->rows ? count : 0;
    x->next = 0;
    for (size_t i = 0; i < x->count; i++) {
        x->rows[i] = rows[i];
        x->rows[i].owner = arena_dup(&x->arena, rows[i].owner);
        x->rows[i].thread = arena_dup(&x->arena, rows[i].thread);
        x->rows[i].line = arena_dup(&x->arena, rows[i].line);
    }
    if (x->arena.failed) over(x, ERR_NOMEM);
    else next_stub(x);
}

static void ask_stubs(struct erase *x)
{
    x->list = (struct store_list){ .kind = STORE_STUBS,
                                   .owner = x->name,
                                   .search = record_member(&x->arena, "by", x->name),
                                   .limit = AT_ONCE,
                                   .done = on_stubs };
    if (x->list.search.ptr) hub_list(x->hub, &x->list);
    else over(x, ERR_NOMEM);
}

void erase_begin(struct erase *x, struct hub *h)
{
    x->hub = h;
    x->logs = x->stubs = x->open = 0;
    x->left = false;
    x->failed = OK;
    arena_init(&x->arena, 0);
    ask_logs(x);
}
