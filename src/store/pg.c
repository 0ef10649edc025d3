/* pg.c -- the PostgreSQL store: requests to lanes, the lease, closing. See pg.h. */
#include "store/pg.h"

#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sum.h"

#define TICK_MS 100
/* an answer takes its time, and clocks drift: less than this is no difference */
#define CLOCK_SLACK_MS 2000
#define RENEW_NS       1000000000ull
#define TIDY_NS        3600000000000ull
#define UNSTICK_NS     2000000000ull
/* Callbacks may ask for more while being told that the store closes. */
#define CLOSE_ROUNDS 100
/* A node that leaves says so, if the database answers at all. */
#define BYE_NS 1000000000ull

#define OURS(store) LIST_ITEM(store, struct pg, base)

/* --- requests ------------------------------------------------------------------------- */

static uint64_t hash_of(struct log_name log)
{
    struct sum s = SUM_BEGIN;

    sum_text(&s, log.owner);
    sum_text(&s, log.thread);
    return sum_end(&s) | 1; /* not 0, which is "none" */
}

static struct lane *writer_for(struct pg *s, uint64_t hash)
{
    return &s->lanes[1 + (hash >> 8) % PG_WRITERS];
}

static struct lane *reader(struct pg *s, bool searches)
{
    return &s->lanes[1 + PG_WRITERS + (searches ? 1 : 0)];
}

static struct lane *lane_of(struct pg *s, struct store_job *job)
{
    const struct store_list *l;

    switch ((enum job_kind)job->kind) {
    case JOB_APPEND: job->hash = hash_of(JOB_OF(job, struct store_append)->log); break;
    case JOB_EDIT: job->hash = hash_of(JOB_OF(job, struct store_edit)->log); break;
    case JOB_CLAIM: job->hash = hash_of(JOB_OF(job, struct store_claim)->log); break;
    case JOB_RELEASE: job->hash = hash_of(JOB_OF(job, struct release)->log); break;
    case JOB_READ: return reader(s, false);
    case JOB_LIST:
        l = JOB_OF(job, struct store_list);
        if (l->kind != STORE_UNFINISHED)
            return reader(s, l->kind == STORE_HEADS || l->kind == STORE_OLD ||
                                 l->kind == STORE_UNTRIMMED || l->kind == STORE_STUBS ||
                                 (l->kind == STORE_THREADS && l->search.len));
        return &s->lanes[1];
    case JOB_SESSION:
        if (JOB_OF(job, struct store_session)->op == SESSION_GET) return reader(s, false);
        return &s->lanes[1];
    case JOB_ERASE:
    case JOB_CHECKPOINT:
    case JOB_RELEASE_ALL: return &s->lanes[1];
    case JOB_OWN: return PG_CONTROL(s);
    }
    return writer_for(s, job->hash);
}

/* What a dead node left behind has waited long enough: before what stands in line, not behind
 * it. */
static bool is_urgent(const struct store_job *job)
{
    return job->kind == JOB_LIST && JOB_OF(job, struct store_list)->kind == STORE_UNFINISHED;
}

static void queue(struct pg *s, struct store_job *job)
{
    struct lane *l = lane_of(s, job);

    if (is_urgent(job)) list_push(&l->queue, &job->node);
    else list_add(&l->queue, &job->node);
    loop_mark(s->base.loop, &s->end_of_turn);
}

static void ask(struct store *store, struct store_job *job)
{
    struct pg *s = OURS(store);

    if (s->closing) list_add(&s->late, &job->node);
    else queue(s, job);
}

static void push_all(struct pg *s)
{
    for (int i = 0; i < PG_LANES; i++) lane_push(&s->lanes[i]);
}

static void on_end_of_turn(struct loop_dirty *d)
{
    push_all(LIST_ITEM(d, struct pg, end_of_turn));
}

void pg_answer(struct pg *s, struct store_job *job, enum err e)
{
    if (job == &s->said.job && e) said_lost(&s->said);
    if (job->kind == JOB_OWN) return;
    if (job->kind == JOB_RELEASE) {
        mem_free(JOB_OF(job, struct release));
        return;
    }
    job->result = e;
    store_tell(&s->base, job);
}

static void release(struct store *store, struct log_name log, struct store_hold hold)
{
    struct release *r = mem_alloc(sizeof *r + log.owner.len + log.thread.len);

    if (!r) return; /* the end of the lease gives it back */
    if (log.owner.len) memcpy(r->text, log.owner.ptr, log.owner.len);
    if (log.thread.len) memcpy(r->text + log.owner.len, log.thread.ptr, log.thread.len);
    r->log.owner = str_n(r->text, log.owner.len);
    r->log.thread = str_n(r->text + log.owner.len, log.thread.len);
    r->epoch = hold.epoch;
    r->job = (struct store_job){ .kind = JOB_RELEASE, .since_ns = clock_mono_ns() };
    ask(store, &r->job);
}

/* --- trouble ---------------------------------------------------------------------------- */

void pg_trouble(struct pg *s, enum err e, const char *words)
{
    if (e) snprintf(s->problem, sizeof s->problem, "the database does not answer: %s", words);
    if (e == s->trouble) return;
    s->trouble = e;
    if (e)
        log_line(LOG_ERROR, "store.unavailable", "error", err_name(e), "database", s->at.shown,
                 "why", words, NULL);
    else log_line(LOG_INFO, "store.healed", "database", s->at.shown, NULL);
}

enum err pg_err(const struct pg *s, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *said = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    struct str  code = str_c(state ? state : "");

    if (str_is(code, "53100")) return ERR_FULL;
    if (str_is(code, "57014") || str_is(code, "55P03") || str_starts(code, STR("40")) ||
        str_is(code, "23505"))
        return ERR_BUSY;
    log_line(LOG_ERROR, "store.refused", "database", s->at.shown, "code", state ? state : "?",
             "why", said ? said : "?", NULL);
    return ERR_IO;
}

/* --- the lease ---------------------------------------------------------------------------- */

bool pg_must_wait(const struct pg *s)
{
    return s->fenced || clock_mono_ns() >= s->lease_ns;
}

/* A machine whose clock is wrong would let gates expire too early or too late. All nodes of a
 * database go by its clock instead; the difference is said, because it is not only ours. */
void pg_follow_clock(struct pg *s, int64_t db_ms)
{
    int64_t was = clock_offset_ms(), off = db_ms - (clock_wall_ms() - was);
    if (off - was > -CLOCK_SLACK_MS && off - was < CLOCK_SLACK_MS) return;
    clock_offset(off > -CLOCK_SLACK_MS && off < CLOCK_SLACK_MS ? 0 : off);
    log_line(LOG_WARN, "store.clock_differs", "node", s->base.node, "ms", log_int(off), "why",
             "this machine's clock is not the database's, whose time is used; set it (chrony, ntp)",
             NULL);
}

/* A renewal that was held up on its way renews a lease that was over, and nobody hears of it: the
 * next one finds this node alive. Then only our own clock knows that others may have taken over. */
static bool has_lapsed(const struct pg *s, bool was_alive)
{
    return !was_alive || clock_mono_ns() >= s->lease_ns;
}

void pg_renewed(struct pg *s, bool was_alive, int64_t db_ms)
{
    bool lapsed = has_lapsed(s, was_alive);

    if (db_ms) pg_follow_clock(s, db_ms);
    s->lease_ns = s->renew_sent_ns + STORE_LEASE_MS * 1000000ull;
    s->fenced = false;
    pg_trouble(s, OK, NULL);
    if (lapsed) {
        s->life++;
        log_line(LOG_WARN, "store.lease_lapsed", "node", s->base.node, "why",
                 "the lease was not renewed in time: other nodes may have taken over", NULL);
        if (s->base.lapsed) s->base.lapsed(s->base.lapsed_ctx);
    }
    push_all(s);
}

static bool lease_ok(const struct store *store, struct store_hold hold)
{
    const struct pg *s = OURS(store);

    return hold.life == s->life &&
           clock_mono_ns() + STORE_LEASE_MARGIN_MS * 1000000ull < s->lease_ns;
}

static void own(struct lane *l, struct store_job *job)
{
    if (list_linked(&job->node)) return;
    *job = (struct store_job){ .kind = JOB_OWN };
    list_add(&l->queue, &job->node);
}

static bool is_idle(const struct lane *l)
{
    return !l->count && list_empty(&l->queue);
}

/* Where searches go. */
static void catch_up(struct pg *s)
{
    struct lane *l = reader(s, true);
    bool         busy = !is_idle(l);

    for (int i = 1; i <= PG_WRITERS; i++) busy = busy || !is_idle(&s->lanes[i]);
    if (l->state == LANE_UP && said_is_due(&s->said, busy)) own(l, &s->said.job);
}

static void tick(struct pg *s)
{
    uint64_t now = clock_mono_ns();

    if (!s->leaving && now >= s->renew_sent_ns + RENEW_NS) own(PG_CONTROL(s), &s->renew);
    if (now >= s->tidied_ns + TIDY_NS) {
        s->tidied_ns = now;
        own(PG_CONTROL(s), &s->tidy);
    }
    if (!s->leaving && now >= s->unstuck_ns + UNSTICK_NS) {
        s->unstuck_ns = now;
        own(PG_CONTROL(s), &s->unstick);
    }
    if (!s->closing) catch_up(s);
    for (int i = 0; i < PG_LANES; i++) lane_tick(&s->lanes[i], now);
    push_all(s);
}

static void on_tick(struct loop_timer *t)
{
    tick(*(struct pg **)(void *)(t + 1));
    loop_timer_set(t, TICK_MS);
}

/* --- what it says -------------------------------------------------------------------------- */

static enum err health(const struct store *store)
{
    const struct pg *s = OURS(store);
    return s->trouble ? s->trouble : pg_must_wait(s) ? ERR_BUSY : OK;
}

static struct str problem(const struct store *store)
{
    const struct pg *s = OURS(store);
    if (s->trouble) return str_c(s->problem);
    return pg_must_wait(s) ? STR("the database has not renewed this node's lease") : STR_NONE;
}

static uint64_t log_bytes(const struct store *store)
{
    (void)store;
    return 0;
}

static struct str promise(const struct store *store)
{
    const struct pg *s = OURS(store);
    return str_c(s->promise);
}

/* --- life ---------------------------------------------------------------------------------- */

static void timer_closed(struct loop_timer *t)
{
    mem_free(t);
}

static void free_pg(struct pg *s)
{
    for (int i = 0; i < PG_LANES; i++) lane_close(&s->lanes[i]);
    if (s->tick) loop_timer_close(s->tick, timer_closed);
    loop_undirty(&s->end_of_turn);
    params_done(&s->params);
    said_lost(&s->said);
    pg_place_done(&s->at);
    mem_free(s);
}

static const struct store_ops ops;

static struct pg *new_pg(struct loop *loop, const struct store_place *place)
{
    struct pg *s = mem_alloc(sizeof *s);

    if (!s) return NULL;
    store_init(&s->base, &ops, loop);
    sum_init();
    s->life = 1;
    s->end_of_turn.flush = on_end_of_turn;
    list_init(&s->late);
    params_init(&s->params);
    snprintf(s->node_url, sizeof s->node_url, STR_FMT, STR_ARG(place->url));
    snprintf(s->mark, sizeof s->mark, STR_FMT, STR_ARG(place->mark));
    for (int i = 0; i < PG_LANES; i++)
        lane_init(&s->lanes[i], s, i > PG_WRITERS ? PG_UNITS_MAX : 1);
    return s;
}

/* The timer and where it leads; the store may be gone before the timer is. */
static bool start_ticking(struct pg *s)
{
    s->tick = mem_alloc(sizeof *s->tick + sizeof(struct pg *));
    if (!s->tick) return false;
    loop_timer_init(s->base.loop, s->tick, on_tick);
    *(struct pg **)(void *)(s->tick + 1) = s;
    loop_timer_set(s->tick, TICK_MS);
    return true;
}

enum err pg_open(struct loop *l, struct str url, const struct store_place *place, struct arena *a,
                 struct store **out, struct str *why)
{
    struct pg *s = new_pg(l, place);
    PGconn    *first = NULL;
    enum err   e = ERR_NOMEM;

    if (!s) return e;
    e = pg_connect(s, url, a, &first, why);
    if (!e && !start_ticking(s)) e = pg_refuse(why, STR_NONE, ERR_NOMEM);
    if (e) {
        PQfinish(first);
        free_pg(s);
        return e;
    }
    s->lease_ns = s->renew_sent_ns + STORE_LEASE_MS * 1000000ull;
    s->tidied_ns = clock_mono_ns();
    own(PG_CONTROL(s), &s->tidy);
    lane_adopt(PG_CONTROL(s), first);
    for (int i = 1; i < PG_LANES; i++) lane_connect(&s->lanes[i]);
    *out = &s->base;
    return OK;
}

/* --- closing ------------------------------------------------------------------------------- */

static bool is_busy(const struct pg *s, bool sent_only)
{
    for (int i = 0; i < PG_LANES; i++) {
        if (i > 0 && s->lanes[i].count) return true; /* the control lane's are nobody's */
        if (sent_only) continue;
        LIST_EACH (n, &s->lanes[i].queue)
            if (JOB_AT(n)->kind != JOB_OWN) return true;
    }
    return false;
}

/* The loop is not turned: callbacks of others must not run from inside a call. */
static void turn_lanes(struct pg *s)
{
    struct pollfd p[PG_LANES];
    struct lane  *lanes[PG_LANES];
    nfds_t        n = 0;

    for (int i = 0; i < PG_LANES; i++) {
        struct lane *l = &s->lanes[i];
        if (!l->conn || PQsocket(l->conn) < 0) continue;
        p[n] = (struct pollfd){ .fd = PQsocket(l->conn),
                                .events = (short)((l->want & UV_READABLE ? POLLIN : 0) |
                                                  (l->want & UV_WRITABLE ? POLLOUT : 0)) };
        lanes[n++] = l;
    }
    if (poll(p, n, TICK_MS / 2) > 0)
        for (nfds_t i = 0; i < n; i++)
            if (p[i].revents && lanes[i]->conn) lane_turn(lanes[i]);
    tick(s);
}

/* Threads and node given back, so that others need not wait for the end of the lease. */
static void say_bye(struct pg *s)
{
    uint64_t until = clock_mono_ns() + BYE_NS;

    if (PG_CONTROL(s)->state != LANE_UP) return;
    s->leaving = true;
    own(PG_CONTROL(s), &s->bye);
    push_all(s);
    while ((list_linked(&s->bye.node) || PG_CONTROL(s)->count) && PG_CONTROL(s)->state == LANE_UP &&
           clock_mono_ns() < until)
        turn_lanes(s);
}

static void answer_closed(struct pg *s, struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct store_job *job = JOB_AT(jobs->next);
        list_remove(&job->node);
        pg_answer(s, job, job->doubt ? ERR_UNSURE : ERR_CLOSED);
    }
}

static bool close_store(struct store *store, uint64_t within_ms)
{
    struct pg *s = OURS(store);
    uint64_t   until = clock_mono_ns() + within_ms * 1000000;

    s->closing = true;
    push_all(s);
    while (is_busy(s, false) && clock_mono_ns() < until) turn_lanes(s);
    if (is_busy(s, true)) return false;
    say_bye(s);
    for (int i = 0; i < PG_LANES; i++) lane_close(&s->lanes[i]);
    for (int round = 0; round < CLOSE_ROUNDS; round++) {
        struct list all;
        list_init(&all);
        for (int i = 0; i < PG_LANES; i++) list_take(&all, &s->lanes[i].queue);
        list_take(&all, &s->late);
        if (list_empty(&all)) break;
        answer_closed(s, &all);
    }
    free_pg(s);
    return true;
}

static const struct store_ops ops = {
    .ask = ask,
    .release = release,
    .lease_ok = lease_ok,
    .health = health,
    .problem = problem,
    .log_bytes = log_bytes,
    .promise = promise,
    .close = close_store,
    .shared = true,
};
