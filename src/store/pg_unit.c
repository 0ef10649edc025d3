/* pg_unit.c -- which requests go out together, and what an answer or an error means for them.
 *
 * Appends that wait go out as one statement, claims and releases too; everything else alone, and so
 * does an append with takings. In a
 * batch each append is judged for itself (a conflict fails only that one). What cannot be judged
 * there fails the statement: a request id or a log that somebody else makes at the same moment, a
 * deadlock, a text that PostgreSQL will not take. Then nothing of the batch happened, and its
 * requests are sent once more, each alone.
 *
 * What changes something is in doubt when its answer was lost. An append is read back:
 *
 *   sent ──lost──▶ ASK ──read back: it is there──▶ OK
 *                   └──not there──▶ ASKED, sent again ──done──▶ OK
 *                                     └──refused──▶ LAST, read back: there after all──▶ OK
 *                                                     └──not there──▶ the refusal is told
 *
 * Not there may mean: not yet. The old connection's server process may still be at it when we ask.
 * It cannot happen twice (whoever comes second does not find the log at `expected`), but the second
 * one is then refused for what was our own doing; hence the last look.
 *
 * Everything else that changes something is simply sent again, because done twice it is as if done
 * once. Whoever cannot be told an outcome before their time is over is told so: ERR_UNSURE, never
 * that nothing happened.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/pg.h"

enum { SURE, ASK, ASKED, LAST };
#define TRIES_MAX 5

/* --- forming ------------------------------------------------------------------------ */

static void take_job(struct unit *u, struct store_job *job)
{
    list_remove(&job->node);
    list_add(&u->jobs, &job->node);
}

static bool is_batched(const struct store_job *job)
{
    return (job->kind == JOB_APPEND && job->doubt != ASK && job->doubt != LAST) ||
           job->kind == JOB_CLAIM || job->kind == JOB_RELEASE;
}

static size_t size_of(const struct store_job *job)
{
    const struct store_append *a = JOB_OF(job, struct store_append);
    size_t                     n = 0;

    for (size_t i = 0; job->kind == JOB_APPEND && i < a->fact_count; i++) n += a->facts[i].body.len;
    return n;
}

/* One of a log at a time: the next builds on it. */
#define SEEN (PG_BATCH_MAX * 4)
static bool add_hash(uint64_t *seen, uint64_t hash)
{
    size_t i = hash % SEEN;

    for (; seen[i]; i = (i + 1) % SEEN)
        if (seen[i] == hash) return false;
    seen[i] = hash;
    return true;
}

static bool takes(const struct store_job *job)
{
    return job->kind == JOB_APPEND && JOB_OF(job, struct store_append)->take_count;
}

/* As many of the same kind as stand at the front. */
static void take_batch(struct lane *l, struct unit *u)
{
    uint64_t seen[SEEN] = { 0 };
    int      kind = JOB_AT(l->queue.next)->kind;
    size_t   most = l->singles ? 1 : PG_BATCH_MAX, len = 0;

    if (l->singles) l->singles--;
    for (size_t n = 0; n < most && !list_empty(&l->queue); n++) {
        struct store_job *job = JOB_AT(l->queue.next);
        len += size_of(job);
        if (job->kind != kind || !is_batched(job) || (n && len > PG_BATCH_LEN) ||
            !add_hash(seen, job->hash) || (n && takes(job)))
            return;
        take_job(u, job);
        if (takes(job)) return; /* it waits for rows that others change: nobody waits with it */
    }
}

static struct log_name log_of(const struct store_job *job)
{
    if (job->kind == JOB_APPEND) return JOB_OF(job, struct store_append)->log;
    if (job->kind == JOB_CLAIM) return JOB_OF(job, struct store_claim)->log;
    return JOB_OF(job, struct release)->log;
}

static int by_name(const void *a, const void *b)
{
    struct log_name x = log_of(*(struct store_job *const *)a);
    struct log_name y = log_of(*(struct store_job *const *)b);
    int             order = str_cmp(x.owner, y.owner);

    return order ? order : str_cmp(x.thread, y.thread);
}

/* The rows of its logs are locked in the order in which they are given. */
static void sort_batch(struct unit *u)
{
    struct store_job *jobs[PG_BATCH_MAX];
    size_t            n = 0;

    LIST_EACH (x, &u->jobs) jobs[n++] = JOB_AT(x);
    if (n < 2) return;
    qsort(jobs, n, sizeof *jobs, by_name);
    list_init(&u->jobs);
    for (size_t i = 0; i < n; i++) list_add(&u->jobs, &jobs[i]->node);
}

static int own_stmt(const struct pg *s, const struct store_job *job)
{
    if (job == &s->renew) return PG_RENEW;
    if (job == &s->tidy) return PG_TIDY;
    return job == &s->unstick ? PG_UNSTICK : PG_BYE;
}

static enum err fill_one(struct lane *l, struct unit *u, struct store_job *job, struct params *p)
{
    switch ((enum job_kind)job->kind) {
    case JOB_APPEND:
        u->stmt = PG_BACK;
        back_params(l->s, JOB_OF(job, struct store_append), p);
        return OK;
    case JOB_EDIT:
        u->stmt = JOB_OF(job, struct store_edit)->trim     ? PG_TRIM
                  : JOB_OF(job, struct store_edit)->remove ? PG_REMOVE
                                                           : PG_TITLE;
        edit_params(l->s, JOB_OF(job, struct store_edit), p);
        return OK;
    case JOB_READ:
        u->stmt = PG_READ;
        read_params(JOB_OF(job, struct store_read), p);
        return OK;
    case JOB_LIST: return list_params(l->s, JOB_OF(job, struct store_list), p, &u->stmt);
    case JOB_SESSION:
        u->stmt = PG_SESSION_PUT + (int)JOB_OF(job, struct store_session)->op;
        session_params(JOB_OF(job, struct store_session), p);
        return OK;
    case JOB_ERASE:
        u->stmt = JOB_OF(job, struct store_erase)->num ? PG_ERASE : PG_FORGET;
        erase_params(JOB_OF(job, struct store_erase), p);
        return OK;
    case JOB_CHECKPOINT:
        u->stmt = JOB_OF(job, struct store_checkpoint)->line.ptr ? PG_CHECKPOINT : PG_TOLD;
        checkpoint_params(JOB_OF(job, struct store_checkpoint), p);
        return OK;
    case JOB_RELEASE_ALL: u->stmt = PG_RELEASE_ALL; break;
    case JOB_OWN:
        if (job == &l->s->said.job) {
            u->stmt = said_params(&l->s->said, p);
            return OK;
        }
        u->stmt = own_stmt(l->s, job);
        if (u->stmt == PG_RENEW) l->s->renew_sent_ns = clock_mono_ns();
        if (u->stmt == PG_UNSTICK) return OK;
        break;
    case JOB_CLAIM:
    case JOB_RELEASE: must(!"batched");
    }
    param_bytes(p, str_c(l->s->base.node));
    if (u->stmt == PG_RENEW) {
        param_bytes(p, str_c(l->s->node_url));
        param_bytes(p, STR(PARLEY_VERSION));
        param_bytes(p, str_c(l->s->mark));
    }
    return OK;
}

static void fill_batch(struct lane *l, struct unit *u, struct params *p)
{
    enum append_form form;

    switch (JOB_AT(u->jobs.next)->kind) {
    case JOB_APPEND:
        form = append_form(&u->jobs);
        u->stmt = PG_APPEND + (int)form;
        append_params(l, &u->jobs, form, p);
        return;
    case JOB_CLAIM:
        u->stmt = PG_CLAIM;
        claim_params(l->s, &u->jobs, p);
        return;
    default: u->stmt = PG_RELEASE; release_params(l->s, &u->jobs, p);
    }
}

static void answer_all(struct lane *l, struct list *jobs, enum err e)
{
    while (!list_empty(jobs)) {
        struct store_job *job = JOB_AT(jobs->next);
        list_remove(&job->node);
        pg_answer(l->s, job, job->doubt ? ERR_UNSURE : e);
    }
}

/* Without a lease nothing of ours would pass; it is renewed in a moment. Reading back needs
 * none. */
static bool waits_for_lease(const struct lane *l, const struct store_job *job)
{
    return pg_must_wait(l->s) &&
           ((job->kind == JOB_APPEND && is_batched(job)) || job->kind == JOB_CLAIM ||
            (job->kind == JOB_LIST && JOB_OF(job, struct store_list)->kind == STORE_UNFINISHED));
}

bool unit_form(struct lane *l, struct unit *u, struct params *p)
{
    while (!list_empty(&l->queue)) {
        struct store_job *job = JOB_AT(l->queue.next);
        enum err          e = OK;

        if (waits_for_lease(l, job)) return false;
        params_clear(p);
        if (is_batched(job)) {
            take_batch(l, u);
            sort_batch(u);
            fill_batch(l, u, p);
        } else {
            take_job(u, job);
            e = fill_one(l, u, job, p);
        }
        if (!e && p->bytes.err) e = ERR_NOMEM;
        if (!e) return true;
        answer_all(l, &u->jobs, e);
    }
    return false;
}

/* --- answers -------------------------------------------------------------------------- */

static void tell_results(struct lane *l, struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct store_job *job = JOB_AT(jobs->next);
        list_remove(&job->node);
        pg_answer(l->s, job, job->result);
    }
}

/* Refused, and yet it may be there: one more look. */
static void look_again(struct lane *l, struct list *jobs)
{
    struct list again;

    list_init(&again);
    LIST_EACH (n, jobs) {
        struct store_job *job = JOB_AT(n);
        if (job->doubt != ASKED || job->result == OK) continue;
        job->doubt = LAST;
        list_remove(n);
        list_add(&again, n);
    }
    lane_put_back(l, &again);
}

static void end_back(struct lane *l, struct unit *u, struct store_job *job)
{
    bool there = back_answer(l->s, JOB_OF(job, struct store_append), u);

    if (!there && job->doubt == ASK) {
        job->doubt = ASKED;
        lane_put_back(l, &u->jobs);
        return;
    }
    list_remove(&job->node);
    pg_answer(l->s, job, there ? OK : job->result);
}

static void end_list(struct lane *l, struct unit *u, struct store_job *job)
{
    enum err e = OK;

    if (!list_answer(l->s, JOB_OF(job, struct store_list), u, &e)) {
        list_remove(&job->node);
        list_add(&l->queue, &job->node); /* behind the others: searches take turns */
        return;
    }
    list_remove(&job->node);
    pg_answer(l->s, job, e);
}

static void end_one(struct lane *l, struct unit *u, struct store_job *job)
{
    enum err e = OK;

    switch (u->stmt) {
    case PG_BACK: end_back(l, u, job); return;
    case PG_TITLE:
    case PG_TRIM:
    case PG_REMOVE: e = edit_answer(JOB_OF(job, struct store_edit), u->result); break;
    case PG_READ: e = read_answer(l->s, JOB_OF(job, struct store_read), u->result); break;
    case PG_SESSION_PUT:
    case PG_SESSION_GET:
    case PG_SESSION_END:
    case PG_SESSION_KEEP: e = session_answer(JOB_OF(job, struct store_session), u->result); break;
    case PG_ERASE:
    case PG_FORGET: e = erase_answer(JOB_OF(job, struct store_erase), u->result); break;
    case PG_CHECKPOINT:
    case PG_TOLD: e = checkpoint_answer(JOB_OF(job, struct store_checkpoint), u->result); break;
    case PG_UNSAID:
    case PG_SAID_IN: said_answer(&l->s->said, u); break;
    case PG_UNSTICK:
        if (PQntuples(u->result))
            log_line(LOG_WARN, "store.session_ended", "database", l->s->at.shown, "count",
                     log_int(PQntuples(u->result)), "why",
                     "it kept others from rows and did not go on: its node, or the way from there",
                     NULL);
        break;
    case PG_RENEW:
        list_remove(&job->node);
        pg_renewed(l->s, PQntuples(u->result) == 1 && res_bool(u->result, 0, 0),
                   PQntuples(u->result) == 1 ? res_int(u->result, 0, 1) : 0);
        return;
    default:
        if (job->kind == JOB_LIST) {
            end_list(l, u, job);
            return;
        }
    }
    list_remove(&job->node);
    pg_answer(l->s, job, e);
}

/* --- errors ----------------------------------------------------------------------------- */

static bool has_state(const PGresult *r, const char *prefix)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    return state && str_starts(str_c(state), str_c(prefix));
}

/* Somebody was in the way at this moment: another try may go well. */
static bool is_passing(const PGresult *r)
{
    return has_state(r, "23505") || has_state(r, "40") || has_state(r, "21000") ||
           has_state(r, "26000"); /* what it counted on could not be prepared */
}

static void fail_unit(struct lane *l, struct unit *u)
{
    struct store_job *job = JOB_AT(u->jobs.next);

    /* The server goes away, or is no primary any more. The statement failed for certain, unless it
     * had ended and the commit was under way. */
    if (has_state(u->result, "57P") || has_state(u->result, "08")) {
        const char *why = PQresultErrorField(u->result, PG_DIAG_MESSAGE_PRIMARY);
        char        words[128];
        pg_words(l->s->at.conninfo, why ? why : "?", words, sizeof words);
        unit_lost(l, u);
        lane_break(l, words);
        return;
    }
    if (has_state(u->result, "25006")) {
        lane_put_back(l, &u->jobs);
        lane_break(l, "the database can only be read: it is no primary any more");
        return;
    }
    if (job->node.next != &u->jobs) { /* more than one */
        LIST_EACH (n, &u->jobs) l->singles++;
        lane_put_back(l, &u->jobs);
        return;
    }
    if (is_passing(u->result) && job->tries < TRIES_MAX) {
        job->tries++;
        l->singles++;
        lane_put_back(l, &u->jobs);
        return;
    }
    answer_all(l, &u->jobs, pg_err(l->s, u->result));
}

void unit_end(struct lane *l, struct unit *u)
{
    ExecStatusType t = PQresultStatus(u->result);

    if (u->stmt >= PG_STMTS) {
        if (t != PGRES_TUPLES_OK && t != PGRES_COMMAND_OK)
            lane_break(l, PQresultErrorMessage(u->result));
        return;
    }
    if (t != PGRES_TUPLES_OK && t != PGRES_COMMAND_OK) {
        fail_unit(l, u);
    } else if (PG_IS_APPEND(u->stmt) || u->stmt == PG_CLAIM) {
        bool alive = PG_IS_APPEND(u->stmt) ? append_answers(l->s, u) : claim_answers(l->s, u);
        if (!alive) {
            l->s->fenced = true;
            lane_put_back(l, &u->jobs);
            return;
        }
        look_again(l, &u->jobs);
        tell_results(l, &u->jobs);
    } else if (u->stmt == PG_RELEASE) {
        answer_all(l, &u->jobs, OK);
    } else {
        end_one(l, u, JOB_AT(u->jobs.next));
    }
}

static bool changes(const struct store_job *job)
{
    if (job->kind == JOB_SESSION) return JOB_OF(job, struct store_session)->op != SESSION_GET;
    return job->kind == JOB_EDIT || job->kind == JOB_ERASE || job->kind == JOB_CHECKPOINT;
}

/* However long it has waited: only this connection is lost, and another may soon tell. */
static void allow(struct store_job *job, uint64_t ns)
{
    uint64_t latest = clock_mono_ns() + ns - PG_WAIT_NS;
    if (job->since_ns < latest) job->since_ns = latest;
}

void unit_lost(struct lane *l, struct unit *u)
{
    LIST_EACH (n, &u->jobs) {
        struct store_job *job = JOB_AT(n);
        if (job->kind == JOB_APPEND && PG_IS_APPEND(u->stmt)) {
            job->doubt = ASK;
        } else if (changes(job)) job->doubt = ASKED;
        if (job->doubt && !pg_must_wait(l->s)) allow(job, PG_BACK_NS);
        /* what a lost sweep has claimed is ours, and only we can find it */
        if (job->kind == JOB_LIST || job->kind == JOB_EDIT || job->kind == JOB_CHECKPOINT)
            job->tries = 1;
    }
    lane_put_back(l, &u->jobs);
}
