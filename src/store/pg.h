/* pg.h -- private to the PostgreSQL store: what its files share.
 *
 *   pg.c         the store itself: requests to lanes, leases, answers, closing
 *   pg_open.c    the address, the first connection, what is promised, sentences for people
 *   pg_schema.c  tables, and their upgrades under a lock
 *   pg_lane.c    one connection on the loop: connecting, sending, reading, breaking
 *   pg_unit.c    which requests go out together, and what an answer or an error means for them
 *   pg_write.c   appends, edits, claims: parameters and answers
 *   pg_erase.c   removed logs, people who are forgotten, checkpoints: likewise
 *   pg_read.c    logs and lists: likewise
 *   pg_said.c    the index of what was said
 *   pg_nodes.c   the nodes, for somebody who is none
 *   pg_move.c    the database as a side of `parley move`
 *   pg_walk.c    all of it, for whoever looks at everything
 *   pg_param.c   parameters and results in PostgreSQL's binary form
 *
 * No thread: libpq in pipeline mode, its sockets watched by the loop.
 *
 *   request ─▶ lane.queue ─▶ unit (one transaction, sent with one sync) ─▶ answer
 *
 * A log's writes always go over the same lane. A writer has one unit under way; what comes
 * meanwhile forms the next one, so that a commit takes all that waited for it. When a connection
 * breaks its units go back to the front of the queue; an append among them is in doubt, and is read
 * back before it is sent again.
 */
#ifndef PARLEY_PG_H
#define PARLEY_PG_H

#include <libpq-fe.h>

#include "base/buf.h"
#include "store/links.h"
#include "store/rows.h"
#include "store/store_ops.h"

#define PG_SCHEMA      13     /* the version this program writes */
#define PG_VERSION_MIN 130000 /* the oldest server */

/* Writers: enough that a commit of one does not keep the others waiting. */
#define PG_WRITERS 2
#define PG_READERS 2 /* the second is for searches, which ask for much */
#define PG_LANES   (1 + PG_WRITERS + PG_READERS)

/* So long a request waits for a database that is away; and so long for an answer. */
#define PG_WAIT_NS   5000000000ull
#define PG_ANSWER_NS 6000000000ull
#define PG_BACK_NS   1000000000ull /* ... at least, to find out what became of it */
#define PG_STATEMENT "5000"        /* ms: the server gives up before we do */
/* ... and so long one waits for a row that another session has: each of the others in its batch is
 * then sent alone, and they wait together for this much times those that are in the way. */
#define PG_LOCK "1000"

#define PG_UNITS_MAX 8   /* of a reader, under way at a time */
#define PG_BATCH_MAX 256 /* requests in a unit */
#define PG_BATCH_LEN (4 << 20)

/* --- parameters and results (pg_param.c) ------------------------------------------- */

#define PG_PARAMS_MAX 64

struct params {
    struct buf bytes;
    int        count;
    bool       null[PG_PARAMS_MAX];
    size_t     at[PG_PARAMS_MAX], len[PG_PARAMS_MAX];
    size_t     array_at; /* of the one being built */
    uint32_t   array_count;
};

void params_init(struct params *p);
void params_done(struct params *p);
void params_clear(struct params *p); /* keeps the memory */
void param_int(struct params *p, int64_t v);
void param_bytes(struct params *p, struct str s); /* bytea or text; STR_NONE is NULL */
void param_array(struct params *p, unsigned element_type);
void param_array_int(struct params *p, int64_t v);
void param_array_bytes(struct params *p, struct str s);
void param_array_end(struct params *p);
/* For a column that takes no NULL. */
static inline struct str or_empty(struct str s)
{
    return s.ptr ? s : STR("");
}
#define PG_BYTEA 17
#define PG_INT8  20
#define PG_TEXT  25

int64_t    res_int(const PGresult *r, int row, int col); /* NULL is 0 */
struct str res_str(const PGresult *r, int row, int col); /* NULL is STR_NONE; lives as r does */
bool       res_bool(const PGresult *r, int row, int col);

/* --- statements ----------------------------------------------------------------------- */

/* What the appends of a batch have, each with what those before it have: counters; request ids,
 * approvals, keys, events; takings. */
enum append_form { APPEND_PLAIN, APPEND_COUNTS, APPEND_LISTS, APPEND_TAKES };

enum pg_stmt {
    PG_APPEND,               /* four of them, one per form */
    PG_BACK = PG_APPEND + 4, /* an append in doubt is read back */
    PG_TITLE,
    PG_REMOVE,
    PG_TRIM,
    PG_CLAIM,
    PG_RELEASE,
    PG_RELEASE_ALL,
    PG_SESSION_PUT,
    PG_SESSION_GET,
    PG_SESSION_END,
    PG_SESSION_KEEP, /* these four in the order of enum store_session_op */
    PG_RENEW,
    PG_TIDY,
    PG_UNSTICK,
    PG_BYE,
    PG_READ,
    PG_THREADS,
    PG_ALL_THREADS,
    PG_DUE,
    PG_NEXT_DUE,
    PG_UNFINISHED,
    PG_TOOLS,
    PG_REQUEST,
    PG_KEYS,
    PG_USED,
    PG_NODES,
    PG_STOCK,
    PG_ALL_STOCK,
    PG_ONE_STOCK,
    PG_EVENTS,
    PG_EVENT_HEAD,
    PG_SAID,
    PG_ALL_USED,
    PG_WAITING,
    PG_CHECKPOINT,
    PG_TOLD,
    PG_ERASE,
    PG_FORGET,
    PG_HEADS,
    PG_OLD,
    PG_UNTRIMMED,
    PG_LOGS,
    PG_STUBS,
    PG_LAST,
    PG_UNTOLD,
    PG_SESSIONS,
    PG_SAID_FIND,
    PG_UNSAID,
    PG_SAID_IN,
    PG_APPROVALS, /* 16 of them, one per set of filters */
    PG_STMTS = PG_APPROVALS + 16,
    /* sent as they are, and told to nobody */
    PG_SETTINGS = PG_STMTS,
    PG_REPLAN
};
#define PG_IS_APPEND(stmt) ((stmt) < PG_BACK)
/* In `room` when it is made for the occasion. */
#define PG_SQL_ROOM 1024
const char *pg_sql(int stmt, char room[PG_SQL_ROOM]);
/* Its parts; NULL: not one of them. */
const char *pg_write_sql(int stmt);
const char *pg_erase_sql(int stmt);
const char *pg_said_sql(int stmt);
/* In SQL, of thread t: nobody's, or this node's, by the claim `epoch` if that is not 0 */
#define FENCE(epoch)                                                     \
    "((t.holder = $1 AND (" epoch " = 0 OR " epoch " = t.epoch)) OR (t." \
    "holder IS NULL AND " epoch " = 0))"

/* --- lanes (pg_lane.c) ------------------------------------------------------------------ */

struct unit {
    struct list jobs;
    int         stmt;
    bool        preparing; /* its first answer is that of PREPARE */
    PGresult   *result;    /* the answer, or the error */
    uint64_t    life;      /* of the node when it was sent */
};

enum lane_state { LANE_DOWN, LANE_CONNECTING, LANE_UP };

struct lane {
    struct pg        *s;
    PGconn           *conn;
    struct lane_poll *poll;
    enum lane_state   state;
    struct list       queue;
    struct unit       units[PG_UNITS_MAX]; /* a ring: sent, oldest first */
    unsigned          first, count, ahead; /* ahead: how many may be under way */
    unsigned          singles;    /* so many requests go alone: one of them failed a batch */
    int               want;       /* what is waited for: UV_READABLE, UV_WRITABLE */
    uint64_t          changed_ns; /* when the state or the oldest unit did */
    uint64_t          retry_ns, pause_ns;
    uint64_t          planned_ns; /* when its statements were planned */
    int64_t           slot;       /* of counters: its own rows, so that lanes do not wait */
    bool              prepared[PG_STMTS];
};

void lane_init(struct lane *l, struct pg *s, unsigned ahead);
/* Takes a connection that stands (the first one). */
void lane_adopt(struct lane *l, PGconn *conn);
void lane_connect(struct lane *l);
void lane_close(struct lane *l);
/* Sends what may be sent. */
void lane_push(struct lane *l);
/* What there is to read and to write; from the loop, and from closing, which does not turn it. */
void lane_turn(struct lane *l);
/* Once a tick: reconnects, gives up on what takes too long. */
void lane_tick(struct lane *l, uint64_t now);
/* The connection is of no use: what was under way goes back, the next one is tried. */
void lane_break(struct lane *l, const char *why);
/* Back in front of the queue, in the same order. */
void lane_put_back(struct lane *l, struct list *jobs);

/* --- units (pg_unit.c) ------------------------------------------------------------------ */

/* Takes requests off the queue into `u` and fills in the parameters. False: nothing to send (all
 * that was taken has been answered). */
bool unit_form(struct lane *l, struct unit *u, struct params *p);
/* The answer is in u->result, which stays the lane's. */
void unit_end(struct lane *l, struct unit *u);
/* The connection broke before that. */
void unit_lost(struct lane *l, struct unit *u);

/* --- requests (pg_write.c, pg_erase.c, pg_read.c) --------------------------------------------- */

enum append_form append_form(const struct list *jobs);
/* One that takes comes alone. */
void             append_params(struct lane *l, const struct list *jobs, enum append_form form,
                               struct params *p);
/* Fills in the results of the jobs; they are not told. False: the node's lease was over, and none
 * was even looked at. */
bool             append_answers(struct pg *s, struct unit *u);
void             back_params(struct pg *s, const struct store_append *a, struct params *p);
/* Is it there, as it was sent? Then its answer is filled in. */
bool             back_answer(struct pg *s, struct store_append *a, const struct unit *u);
void             trim_params(const struct store_edit *x, struct params *p); /* pg_erase.c */
void             edit_params(struct pg *s, const struct store_edit *x, struct params *p);
enum err         edit_answer(const struct store_edit *x, const PGresult *r);
void             checkpoint_params(const struct store_checkpoint *c, struct params *p);
enum err         checkpoint_answer(const struct store_checkpoint *c, const PGresult *r);
void             erase_params(const struct store_erase *x, struct params *p);
enum err         erase_answer(const struct store_erase *x, const PGresult *r);
void             session_params(const struct store_session *x, struct params *p);
enum err         session_answer(struct store_session *x, const PGresult *r);
void             claim_params(struct pg *s, const struct list *jobs, struct params *p);
bool             claim_answers(struct pg *s, struct unit *u); /* likewise */

struct release { /* made by store_release, told to nobody */
    struct store_job job;
    struct log_name  log;
    uint64_t         epoch;
    char             text[];
};
void release_params(struct pg *s, const struct list *jobs, struct params *p);

void     read_params(const struct store_read *r, struct params *p);
enum err read_answer(struct pg *s, struct store_read *r, const PGresult *res);
/* ERR_SYNTAX, ERR_DENIED: not sent at all. */
enum err list_params(struct pg *s, struct store_list *l, struct params *p, int *stmt);
/* False: a search goes on, send it again. */
bool     list_answer(struct pg *s, struct store_list *l, const struct unit *u, enum err *e);

/* All rows of an answer, for a list that was not asked for by a store. */
MUST_CHECK enum err list_rows(struct store_list *l, PGresult *r);

/* --- the index of what was said (pg_said.c) --------------------------------------------------- */

/* This node's way through all logs. What it has read and not yet written stands in `logs` and
 * `facts`, in `arena`. */
struct said_work {
    struct store_job  job;
    int64_t           after; /* the log it has come to */
    bool              whole; /* it was through all of them once: the index can be asked */
    uint64_t          spent_ns, last_ns, next_ns;
    struct arena      arena;
    struct said_log  *logs;
    struct said_fact *facts;
    size_t            log_count, fact_count;
};
/* Is it time for a piece? `busy`: others have something to do. */
bool       said_is_due(struct said_work *w, bool busy);
/* Fills in what is sent, and says which statement that is. */
int        said_params(struct said_work *w, struct params *p);
void       said_answer(struct said_work *w, const struct unit *u);
/* It failed: what was read is read again. */
void       said_lost(struct said_work *w);
/* What finds the facts of `owner` that may have the words: int2[] as text. STR_NONE: they are too
 * short for that. */
struct str said_looked_for(struct arena *a, struct str owner, struct str words);

/* Where a database is, and how it is reached. */
struct pg_place {
    char *conninfo;   /* the url; wiped when freed */
    char  shown[256]; /* "host:port/database" */
};

/* --- the store (pg.c) ---------------------------------------------------------------------- */

struct pg {
    struct store       base;
    struct pg_place    at;
    char               node_url[512], mark[40];
    struct lane        lanes[PG_LANES]; /* control, writers, readers */
    struct loop_dirty  end_of_turn;
    struct loop_timer *tick;    /* its own memory: it outlives us by a turn of the loop */
    bool               leaving; /* the node says good-bye: no more renewals */
    bool               closing;
    struct list        late;   /* asked for while closing */
    struct params      params; /* of the unit being sent */
    struct damaged     damaged;
    uint64_t           life;
    uint64_t           lease_ns; /* good until then; mono */
    bool               fenced;   /* the database said that it is over: wait for the renewal */
    uint64_t           renew_sent_ns, tidied_ns, unstuck_ns;
    struct store_job   renew, tidy, unstick, bye;
    struct said_work   said;
    enum err           trouble;
    char               problem[320];
    char               promise[160];
};
#define PG_CONTROL(s) (&(s)->lanes[0])

/* Tells the job its result; it may be gone afterwards. */
void     pg_answer(struct pg *s, struct store_job *job, enum err e);
/* Are writes to be held back until the lease is renewed? */
bool     pg_must_wait(const struct pg *s);
/* `was_alive`: the database says that the lease went on without a gap. */
void     pg_renewed(struct pg *s, bool was_alive, int64_t db_ms);
void     pg_follow_clock(struct pg *s, int64_t db_ms);
void     pg_trouble(struct pg *s, enum err e, const char *words);
/* What a failed statement means; said on the log when it is a fault of ours. */
enum err pg_err(const struct pg *s, const PGresult *r);

/* --- opening (pg_open.c, pg_schema.c) ------------------------------------------------------- */

/* Keywords and values for libpq, `last` NULL; they point into static text and `conninfo`. */
struct pg_keywords {
    const char *keys[20], *values[20];
};
void pg_keywords(const char *conninfo, struct pg_keywords *out);
/* libpq would print the server's notices ("terminating connection ...") among the lines of the log;
 * what matters of them is an error, too. */
void pg_quiet(PGconn *c);
/* The first line of a message, without the password if it should be in it. */
void pg_words(const char *conninfo, const char *message, char *out, size_t size);
/* How every session is set up. */
#define PG_SETTINGS_SQL                                                                      \
    "SELECT set_config('statement_timeout', '" PG_STATEMENT "', false),"                     \
    " set_config('lock_timeout', '" PG_LOCK "', false),"                                     \
    " set_config('client_min_messages', 'error', false), set_config('jit', 'off', false),"   \
    " set_config('max_parallel_workers_per_gather', '0', false),"                            \
    " set_config('enable_seqscan', 'off', false), set_config('cpu_tuple_cost', '1', false)," \
    " set_config('plan_cache_mode', 'force_generic_plan', false),"                           \
    " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN"   \
    " ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false)"
/* The name of a node's sessions in the database: PG_UNSTICK finds them by it. */
#define PG_SESSION "parley node"
/* A connection that is set up, to a database that will do; becomes no node and makes no tables.
 * `at` is zeroed before, and pg_place_done also when this fails. */
MUST_CHECK enum err pg_reach(struct pg_place *at, struct str url, struct arena *a, PGconn **out,
                             struct str *why);
void                pg_place_done(struct pg_place *at);
/* The same, for a node of the cluster. */
MUST_CHECK enum err pg_connect(struct pg *s, struct str url, struct arena *a, PGconn **out,
                               struct str *why);
/* 0: there are no tables yet. */
MUST_CHECK enum err pg_schema_version(PGconn *c, int *out, struct arena *a, struct str *why);
/* From version n to n + 1; what was once released is never changed. */
extern const char *const pg_upgrades[PG_SCHEMA];
MUST_CHECK enum err      pg_schema(PGconn *c, struct arena *a, struct str *why);
enum err                 pg_refuse(struct str *why, struct str sentence, enum err e);

#endif
