/* pg_lane.c -- one connection on the loop.
 *
 *   DOWN ──retry──▶ CONNECTING ──▶ UP ──broken──▶ DOWN
 *
 * libpq does the talking; the loop says when its socket has something. While it connects it may
 * close one socket and open another (the next host), maybe with the same number, so the watch is
 * given up before each of its steps and begun anew after it.
 *
 * What was sent is known to be committed when the answer to its sync is there, not before: the rows
 * of a statement come while its transaction is still open.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "store/pg.h"

#define PAUSE_FIRST_NS 50000000ull   /* between two attempts */
#define PAUSE_MAX_NS   1000000000ull /* ... doubled up to this */
#define CONNECT_NS     12000000000ull
/* Plans are made anew so often: one that was made when a table was small would not do for ever, and
 * not every database analyses by itself. */
#define PLAN_NS 30000000000ull
/* The lease must be renewed in time; a connection that does not answer is replaced before. */
#define CONTROL_NS 1500000000ull

struct lane_poll {
    uv_poll_t    uv;
    struct lane *lane; /* NULL: given up */
};

/* --- watching --------------------------------------------------------------------- */

static void poll_closed(uv_handle_t *h)
{
    mem_free(LIST_ITEM(h, struct lane_poll, uv));
}

static void unwatch(struct lane *l)
{
    struct lane_poll *p = l->poll;

    l->want = 0;
    if (!p) return;
    l->poll = NULL;
    p->lane = NULL;
    uv_close((uv_handle_t *)&p->uv, poll_closed);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct lane *l = LIST_ITEM(h, struct lane_poll, uv)->lane;

    (void)events; /* libpq finds out by itself */
    if (!l) return;
    /* After an error libuv watches no more, though there may be bytes in front of it, and libpq
     * finds the error only behind them. */
    if (status < 0) l->want = 0;
    lane_turn(l);
}

static bool watch(struct lane *l, int events)
{
    struct lane_poll *p = l->poll;

    if (p && l->want == events) return true;
    if (!p) {
        p = mem_alloc(sizeof *p);
        if (!p) return false;
        if (uv_poll_init(&l->s->base.loop->uv, &p->uv, PQsocket(l->conn))) {
            mem_free(p);
            return false;
        }
        p->lane = l;
        l->poll = p;
    }
    l->want = events;
    return uv_poll_start(&p->uv, events, on_poll) == 0;
}

/* --- life --------------------------------------------------------------------------- */

void lane_init(struct lane *l, struct pg *s, unsigned ahead)
{
    unsigned char slot;

    *l = (struct lane){ .s = s, .ahead = ahead, .pause_ns = PAUSE_FIRST_NS };
    list_init(&l->queue);
    for (int i = 0; i < PG_UNITS_MAX; i++) list_init(&l->units[i].jobs);
    id_bytes(&slot, 1);
    l->slot = slot;
}

void lane_put_back(struct lane *l, struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct list *n = jobs->prev;
        list_remove(n);
        list_push(&l->queue, n);
    }
}

void lane_break(struct lane *l, const char *why)
{
    char     words[256];
    uint64_t now = clock_mono_ns();

    pg_words(l->s->at.conninfo, why, words, sizeof words);
    if (l->state == LANE_UP) {
        l->pause_ns = PAUSE_FIRST_NS;
        log_line(LOG_INFO, "store.connection_lost", "database", l->s->at.shown, "why", words, NULL);
    } else if (l == PG_CONTROL(l->s)) {
        pg_trouble(l->s, ERR_BUSY, words); /* once; the others say the same */
    }
    unwatch(l);
    PQfinish(l->conn);
    l->conn = NULL;
    l->state = LANE_DOWN;
    l->retry_ns = now + l->pause_ns;
    l->pause_ns = l->pause_ns * 2 > PAUSE_MAX_NS ? PAUSE_MAX_NS : l->pause_ns * 2;
    memset(l->prepared, 0, sizeof l->prepared);
    for (; l->count; l->count--) { /* the newest first: each goes in front of the queue */
        struct unit *u = &l->units[(l->first + l->count - 1) % PG_UNITS_MAX];
        PQclear(u->result);
        u->result = NULL;
        unit_lost(l, u);
    }
}

void lane_close(struct lane *l)
{
    unwatch(l);
    PQfinish(l->conn);
    l->conn = NULL;
    l->state = LANE_DOWN;
}

/* --- connecting ---------------------------------------------------------------------- */

static struct unit *new_unit(struct lane *l)
{
    struct unit *u = &l->units[(l->first + l->count) % PG_UNITS_MAX];

    if (!l->count) l->changed_ns = clock_mono_ns();
    l->count++;
    u->preparing = false;
    u->result = NULL;
    u->life = l->s->life;
    return u;
}

/* One of the lane's own: no parameters, no jobs. */
static bool send_own(struct lane *l, int stmt, const char *sql)
{
    new_unit(l)->stmt = stmt;
    return PQsendQueryParams(l->conn, sql, 0, NULL, NULL, NULL, NULL, 1) && PQpipelineSync(l->conn);
}

static bool begin_talking(struct lane *l)
{
    PQsetErrorVerbosity(l->conn, PQERRORS_TERSE);
    l->state = LANE_UP;
    l->planned_ns = clock_mono_ns();
    return !PQsetnonblocking(l->conn, 1) && PQenterPipelineMode(l->conn) &&
           send_own(l, PG_SETTINGS,
                    PG_SETTINGS_SQL ", set_config('application_name', '" PG_SESSION "', false)");
}

void lane_adopt(struct lane *l, PGconn *conn)
{
    l->conn = conn;
    if (begin_talking(l)) lane_turn(l);
    else lane_break(l, PQerrorMessage(conn));
}

void lane_connect(struct lane *l)
{
    struct pg_keywords k;

    pg_keywords(l->s->at.conninfo, &k);
    l->state = LANE_CONNECTING;
    l->changed_ns = clock_mono_ns();
    l->conn = PQconnectStartParams(k.keys, k.values, 1);
    if (l->conn) pg_quiet(l->conn);
    if (!l->conn || PQstatus(l->conn) == CONNECTION_BAD || !watch(l, UV_WRITABLE))
        lane_break(l, l->conn ? PQerrorMessage(l->conn) : "out of memory");
}

static void connect_step(struct lane *l)
{
    bool good = true;

    unwatch(l);
    switch (PQconnectPoll(l->conn)) {
    case PGRES_POLLING_READING: good = watch(l, UV_READABLE); break;
    case PGRES_POLLING_WRITING: good = watch(l, UV_WRITABLE); break;
    case PGRES_POLLING_OK:
        good = begin_talking(l);
        if (good) {
            lane_turn(l);
            return;
        }
        break;
    default: good = false;
    }
    if (!good) lane_break(l, PQerrorMessage(l->conn));
}

/* --- sending ------------------------------------------------------------------------- */

static bool send_unit(struct lane *l, struct unit *u, const struct params *p)
{
    const char *values[PG_PARAMS_MAX];
    int         lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
    char        name[16], room[PG_SQL_ROOM];

    for (int i = 0; i < p->count; i++) {
        values[i] = p->null[i] ? NULL : buf_view(&p->bytes).ptr + p->at[i];
        lengths[i] = (int)p->len[i];
        formats[i] = 1;
    }
    snprintf(name, sizeof name, "p%d", u->stmt);
    u->preparing = !l->prepared[u->stmt];
    l->prepared[u->stmt] = true; /* those sent behind it count on it */
    if (u->preparing && !PQsendPrepare(l->conn, name, pg_sql(u->stmt, room), 0, NULL)) return false;
    return PQsendQueryPrepared(l->conn, name, p->count, values, lengths, formats, 1) &&
           PQpipelineSync(l->conn);
}

static bool send_next(struct lane *l)
{
    struct unit   *u = &l->units[(l->first + l->count) % PG_UNITS_MAX];
    struct params *p = &l->s->params;

    if (!unit_form(l, u, p)) return false;
    fault_hit("store.before_commit");
    new_unit(l);
    if (!send_unit(l, u, p)) lane_break(l, PQerrorMessage(l->conn));
    return l->state == LANE_UP;
}

static bool replan(struct lane *l)
{
    if (l->count || clock_mono_ns() - l->planned_ns < PLAN_NS) return true;
    l->planned_ns = clock_mono_ns();
    return send_own(l, PG_REPLAN, "DISCARD PLANS");
}

static void flush(struct lane *l)
{
    int left = PQflush(l->conn);

    if (left < 0 || !watch(l, left ? UV_READABLE | UV_WRITABLE : UV_READABLE))
        lane_break(l, PQerrorMessage(l->conn));
}

void lane_push(struct lane *l)
{
    if (l->state != LANE_UP || list_empty(&l->queue) || l->count >= l->ahead) return;
    if (!replan(l)) {
        lane_break(l, PQerrorMessage(l->conn));
        return;
    }
    while (l->state == LANE_UP && l->count < l->ahead && send_next(l)) {}
    if (l->state == LANE_UP) flush(l);
}

/* --- reading ------------------------------------------------------------------------- */

/* All of the oldest unit is there, its sync too. */
static void end_unit(struct lane *l)
{
    struct unit u = l->units[l->first];
    struct list jobs;

    list_init(&jobs);
    list_take(&jobs, &l->units[l->first].jobs);
    list_init(&u.jobs);
    list_take(&u.jobs, &jobs);
    l->units[l->first].result = NULL;
    l->first = (l->first + 1) % PG_UNITS_MAX;
    l->count--;
    l->changed_ns = clock_mono_ns();
    fault_hit("store.after_commit");
    unit_end(l, &u);
    PQclear(u.result);
}

static void take_result(struct lane *l, PGresult *r)
{
    struct unit *u = &l->units[l->first];

    switch (PQresultStatus(r)) {
    case PGRES_PIPELINE_SYNC:
        PQclear(r);
        end_unit(l);
        return;
    case PGRES_PIPELINE_ABORTED: PQclear(r); return;
    case PGRES_COMMAND_OK:
        if (u->preparing) {
            u->preparing = false;
            PQclear(r);
            return;
        }
        break;
    default:
        if (u->preparing) l->prepared[u->stmt] = false;
    }
    PQclear(u->result); /* an error at the commit comes after the rows */
    u->result = r;
}

static void read_results(struct lane *l)
{
    PGresult *r;

    while (l->state == LANE_UP && l->count && !PQisBusy(l->conn)) {
        r = PQgetResult(l->conn);
        if (PQstatus(l->conn) == CONNECTION_BAD) {
            PQclear(r);
            lane_break(l, PQerrorMessage(l->conn));
        } else if (r) {
            take_result(l, r);
        }
    }
}

void lane_turn(struct lane *l)
{
    if (l->state == LANE_CONNECTING) {
        connect_step(l);
    } else if (l->state == LANE_UP) {
        if (!PQconsumeInput(l->conn)) {
            /* what came before the end may still be an answer */
            read_results(l);
            if (l->state == LANE_UP) lane_break(l, PQerrorMessage(l->conn));
            return;
        }
        read_results(l);
        if (l->state == LANE_UP) flush(l);
        lane_push(l);
    }
}

/* --- time ----------------------------------------------------------------------------- */

static bool is_overdue(const struct store_job *job, uint64_t now)
{
    return job->kind != JOB_OWN && now >= job->since_ns + PG_WAIT_NS;
}

/* The lease is not renewed either, so it is not this connection alone; and whoever waits for what
 * was sent over it has waited long enough. */
static bool is_useless(const struct lane *l, uint64_t now)
{
    if (!pg_must_wait(l->s)) return false;
    for (unsigned i = 0; i < l->count; i++)
        LIST_EACH (n, &l->units[(l->first + i) % PG_UNITS_MAX].jobs)
            if (is_overdue(JOB_AT(n), now)) return true;
    return false;
}

static bool is_writer(const struct lane *l)
{
    return l > PG_CONTROL(l->s) && l <= PG_CONTROL(l->s) + PG_WRITERS;
}

/* Nobody waits for ever: what could not be sent in time is told so. Searches take their time, over
 * a connection that does what it should. */
static void give_up_waiting(struct lane *l, uint64_t now)
{
    struct list over;

    if (l->state == LANE_UP && !is_writer(l) && !pg_must_wait(l->s)) return;
    list_init(&over);
    LIST_EACH (n, &l->queue) {
        struct store_job *job = JOB_AT(n);
        if (!is_overdue(job, now)) continue;
        list_remove(n);
        list_add(&over, n);
    }
    while (!list_empty(&over)) {
        struct store_job *job = JOB_AT(over.next);
        list_remove(&job->node);
        pg_answer(l->s, job, job->doubt ? ERR_UNSURE : ERR_BUSY);
    }
}

void lane_tick(struct lane *l, uint64_t now)
{
    uint64_t patience = l->state == LANE_CONNECTING ? CONNECT_NS
                        : l == PG_CONTROL(l->s)     ? CONTROL_NS
                                                    : PG_ANSWER_NS;
    bool     waits = l->state == LANE_CONNECTING || (l->state == LANE_UP && l->count);

    if (waits && (now > l->changed_ns + patience || is_useless(l, now)))
        lane_break(l, "no answer in time");
    if (l->state == LANE_DOWN && now >= l->retry_ns) lane_connect(l);
    give_up_waiting(l, now);
}
