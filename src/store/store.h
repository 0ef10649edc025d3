/* store.h -- where the logs live: append-if, read-from, claims, and lists.
 *
 * A log is named by (owner, thread). Its facts are numbered 1, 2, 3 ... without
 * holes. The store knows nothing of what a fact means: kind is a word, body is a
 * JSON text. Every fact carries a checksum, so that a flipped bit on the disk is found before it is
 * believed, and a hash over itself and all before it, so that an auditor finds what somebody
 * changed (links.h). What must be found without reading logs (a person's threads, the approvals
 * that wait, a request id, how often a tool ran) is kept in small lists that an append updates in
 * the same transaction: never one without the other.
 *
 * There are two: one SQLite file, which one process opens, and a PostgreSQL database, which any
 * number of processes (nodes) share. Both keep every rule below; store_open takes which by its url.
 *
 * Every call is asynchronous and answered on the loop thread, also errors, never
 * from inside the call itself. Committed means: on disk, it survives power loss. Appends and edits
 * of one log are committed in the order of the calls; whoever builds on one waits for its answer.
 *
 * Claims and fences. A log has at most one holder, a node; only the holder appends. A node's lease
 * says whether it is alive: renewed once a second, good for STORE_LEASE_MS by the database's clock.
 * Whoever finds a log unheld, or its holder dead, may claim it; each claim has a larger epoch. The
 * first append to a new or an unheld log claims it on the way. Every append names the claim it
 * rests on (struct store_hold), and one whose claim is over changes nothing: ERR_FENCED. With
 * SQLite there is one node, always alive, and nobody to lose a claim to.
 *
 * Errors: ERR_CONFLICT (the log is not at `expected`), ERR_EXISTS (the request id
 * is taken, or a key that wants to be alone; `found_*` say by what; told rather than a conflict
 * when both hold), ERR_TAKEN (one of
 * its takings cannot be had; `taken` says which and what is there), ERR_FENCED (another
 * node holds the log, or this one's lease is over), ERR_BUSY (the file is locked by another
 * program; the database did not answer in time), ERR_FULL (disk full), ERR_GONE (the store's files
 * were removed or replaced while it was open), ERR_IO, ERR_NOMEM, ERR_CLOSED (the store was closed
 * before its turn came).
 * After any error nothing of that append or edit is there; but for ERR_UNSURE: nothing of it is
 * seen, and yet it may turn out to be there (a sync failed and the disk does not answer since; the
 * connection broke in the middle of a commit and the database cannot be asked). The same request id
 * settles it then; for an edit another claim does, behind which it cannot happen any more. The
 * store heals by itself: the next append simply tries again, and while none comes the store itself
 * looks once a second whether it can write again.
 *
 * Memory: requests are the caller's structs and must live until the answer.
 * Answers point into memory that is valid during the callback only.
 */
#ifndef PARLEY_STORE_H
#define PARLEY_STORE_H

#include "base/arena.h"
#include "loop/loop.h"

struct store;

struct log_name {
    struct str owner, thread;
};

/* A request's place in the store's queues: private, in every request. */
struct store_job {
    struct list node;
    int         kind;
    enum err    result;
    /* sent, and the answer was lost: it may have happened. See pg_unit.c */
    unsigned    doubt : 2, tries : 4;
    uint64_t    queued_ns, since_ns; /* since_ns: its time counts from then */
    uint64_t    hash;                /* of the log's name */
};

struct store_fact {
    /* when reading; an append numbers its facts expected + 1, + 2 ... */
    uint64_t   seq;
    int64_t    at_ms; /* wall clock */
    struct str kind;
    struct str body;
};

/* By which claim this node holds a log: opaque, from an answer. {0}: it has none that it knows of.
 * `life` changes when the node's lease was interrupted, `epoch` with each claim of the log. */
struct store_hold {
    uint64_t life, epoch;
};

/* --- append-if ----------------------------------------------------------- */

struct store_approval { /* one row of the approvals list, keyed by (owner, id) */
    struct str id, call, tool, status;
    struct str body;                     /* JSON object with the rest of what the list shows */
    int64_t    requested_ms, expires_ms; /* expires 0: never */
};

/* A name under which (owner) finds a log again without knowing its id: several logs may have it,
 * and a log has it once; what was given last counts. It goes with its log. */
struct store_key {
    struct str key, value; /* the value is the caller's; STR_NONE: the log has it no longer */
    /* Nothing of the append happens while another log of the owner has it: ERR_EXISTS. */
    bool       alone;
};

/* Is the log shown in its owner's list? */
enum store_listed { LISTED_AS_BEFORE, LISTED_NOT, LISTED_YES }; /* new: yes, unless it is said */

/* A taking: what an append needs to be so, and makes so, in its own transaction. All takings of an
 * append hold, or nothing of it happens.
 *
 * They are about rows that belong to no log (stock): a key that only one may have at a time (an
 * effect), or something of which there is only so much (a grant: uses, and a sum). The store knows
 * nothing of what they mean. Numbers are whole and exact: 64 bits, in whatever smallest unit the
 * caller counts in, because both stores compare and subtract those in one statement without
 * rounding. `now_ms` of the append is the clock they are judged by. */
enum store_take_op {
    /* The row is made: state, body, uses and amount that it begins with, until_ms (0: for ever).
     * Not while there is one under this key whose time is not over. */
    TAKE_MAKE,
    /* One use and `amount` are taken from it; not when it is not there, its state is not "open",
     * its time is over, or less than that is left. */
    TAKE_FROM,
    /* One use and `amount` are put back. A row that is gone is passed over, also by the next
     * two. */
    TAKE_BACK,
    /* Another state (and body, unless STR_NONE) of a row that `holder` has. */
    TAKE_SET,
    /* The row goes, if `holder` has it: the key is free. */
    TAKE_DROP,
};
struct store_take {
    enum store_take_op op;
    struct str         key, holder;
    struct str         kind, state, body; /* kind: of the list it stands in ("grant", "effect") */
    int64_t            uses, amount, until_ms;
    bool               with_log; /* MAKE: removing the log removes it */
};
/* A row of it, as it is. */
struct store_stock {
    struct str key, kind, owner, thread, holder, state, body; /* thread: "" unless with_log */
    int64_t    uses, amount, made_ms, until_ms;
};

/* A log that is no conversation but one thing done for a program: which door made it (`source`,
 * "mcp"), and what it is shown together with (`group`). STR_NONE: nothing of the kind. */
struct store_origin {
    struct str source, group;
};
/* Something that others are to be told of, across all logs and in one order: kept for
 * STORE_EVENT_DAYS, read with STORE_EVENTS. */
struct store_event {
    struct str kind, id, body; /* id: of the approval it is about */
};
#define STORE_EVENT_DAYS 7

struct store_append {
    struct log_name          log;
    /* Here and below: whoever asks has waited since then (mono), and the time that a database is
     * waited for counts from there; 0: from now. */
    uint64_t                 since_ns;
    /* seq of the last fact; 0: the log is new and is created by this */
    uint64_t                 expected;
    const struct store_fact *facts;
    size_t                   fact_count; /* >= 1 */
    /* The claim it rests on; out: the one that holds now. {0}: claims the log if nobody holds it,
     * rests on this node's claim if it has one. */
    struct store_hold        hold;

    /* List updates; all optional. */
    /* STR_NONE: unchanged (and must be given, maybe "", when the log is new) */
    struct str                   title;
    /* "idle" | "running" | "waiting"; STR_NONE: unchanged */
    struct str                   state;
    struct str                   request_id; /* claims it for (owner); STR_NONE: none */
    struct str                   run;        /* stored beside request_id */
    const struct store_approval *approvals;  /* inserted or replaced */
    size_t                       approval_count;
    /* added to the counters */
    const struct store_tool_count {
        struct str tool;
        unsigned   runs, failed;
    } * tools;
    size_t                  tool_count;
    const struct store_key *keys; /* inserted, replaced or removed */
    size_t                  key_count;
    enum store_listed       listed;
    struct store_origin     origin; /* of a new log; nothing: somebody's conversation */
    /* Added to sums that belong to no log, each by its name and a number of a day: STORE_USED. */
    const struct store_spent {
        struct str key;
        int64_t    day, amount;
    } * spent;
    size_t spent_count;

    const struct store_take  *takes;
    size_t                    take_count;
    const struct store_event *events;
    size_t                    event_count;
    int64_t                   now_ms; /* with takings and events */

    void (*done)(struct store_append *a, enum err e);
    uint64_t           new_seq; /* out: seq of the last fact now */
    /* out, with ERR_TAKEN: which of them, and the row as it stands (key STR_NONE: there is none) */
    size_t             taken_at;
    struct store_stock taken;
    /* out, with ERR_EXISTS: who has the request id; run STR_NONE: who has the key, of several the
     * newest */
    struct str         found_thread, found_run;

    struct store_job job; /* private from here on */
    struct arena     arena;
    /* the longest names of a thread and a run */
    char             found_buf[128 + 64];
};
void store_append(struct store *s, struct store_append *a);

/* --- read-from ------------------------------------------------------------ */

struct store_read {
    struct log_name log;
    uint64_t        after; /* facts with seq > after, in order */
    /* Rows are valid during the call. ERR_NOT_FOUND: no such log. ERR_DAMAGED: a fact is not what
     * was appended, or is missing; none is given, reading again will not help, the log can be
     * removed. STORE_DUE, STORE_NEXT_DUE and STORE_UNFINISHED leave out what was found damaged, so
     * that nothing goes round in circles. */
    void (*done)(struct store_read *r, enum err e, const struct store_fact *facts, size_t count);
    /* out: of the log's last fact, also when there is none after `after` */
    uint64_t           seq;
    struct str         title, state; /* out, valid during the callback */
    /* out: times of the first and of the latest fact */
    int64_t            created_ms, updated_ms;
    struct store_job   job;
    struct arena       arena; /* private */
    struct store_fact *facts;
    size_t             count;
};
void store_read(struct store *s, struct store_read *r);

/* --- lists ----------------------------------------------------------------- */

/* How many kinds of words can go by themselves (store_trim). */
#define STORE_TRIM_KINDS 4

enum store_list_kind {
    /* of `owner`, newest change first (`everybody`'s: newest made first); `before` pages. Not those
     * that are not listed; of `source` only, without it conversations */
    STORE_THREADS,
    /* of `owner` or `everybody`, newest first; filtered by `status`, `thread`, `id` when given
     * (without status and id: all but "offered", which nobody was asked about); `before` pages */
    STORE_APPROVALS,
    /* pending and offered ones of everybody with expires_ms in (0, `due_ms`], soonest first; of
     * logs that this node holds, or nobody alive */
    STORE_DUE,
    STORE_NEXT_DUE, /* the one of these that expires soonest */
    /* Logs of everybody in state "running" that nobody alive holds: what recovery looks at. This
     * node holds them from now on (`hold`), and they do not come again unless it gives them back.
     * In no order, so that nodes that look at the same time find different ones. SQLite: all that
     * run, each time; with one node that is asked at its start only (store_shared). */
    STORE_UNFINISHED,
    STORE_TOOLS,   /* counters */
    STORE_REQUEST, /* the row of (owner, request_id = `id`), if any */
    /* logs of `owner` that have the key `id`, newest first: thread, `value`, created_ms (when it
     * was given) */
    STORE_KEYS,
    /* sums (append's `spent`): that of the name `owner` on `day`, one row with `amount` or none;
     * `everybody`: all of them since `day`, a row for each name and each day, newest day first */
    STORE_USED,
    STORE_NODES, /* the nodes that are alive, and those that ended less than an hour ago */
    /* rows of kind `status`, of `owner` or `everybody`, newest first, `before` pages; or the one
     * with the key `id` */
    STORE_STOCK,
    /* events after the place `before` (STR_NONE: all that are kept), oldest first; `next` is the
     * place of the last one given. What is appended later comes after it, also by other nodes. */
    STORE_EVENTS,
    STORE_EVENT_HEAD, /* none of them, but `next`: the place after all that there is */
    /* the pending approvals of everybody: one row, how many (`amount`) and since when the oldest
     * waits (created_ms; 0: there is none) */
    STORE_WAITING,
    /* Heads of logs and of stubs that no checkpoint has noted as they are now, also of a log of
     * which the store says that more of it is noted than there is. Looks at every log: not for what
     * is asked often. */
    STORE_HEADS,
    /* Logs of everybody in state "idle" that nobody changed since `due_ms`, or, when somebody was
     * asked in them, since `day` (ms, too): 0 is never. Looks at every log, likewise. */
    STORE_OLD,
    /* Logs of everybody in state "idle" that nobody changed since dues[i], and which have not lost
     * what bit i stands for since (store_trim): in the order of their `num`, from behind `after`.
     * Looks at every log, likewise. */
    STORE_UNTRIMMED,
    STORE_LOGS, /* all of `owner`, also those that are not listed or no conversations; unordered */
    /* Stubs that are `owner`'s or have `search` in their body: owner, thread, log, seq, num,
     * created_ms, and the body as `line`. Looks at every stub. */
    STORE_STUBS,
    STORE_LAST,   /* the checkpoint with the largest number, if any */
    STORE_UNTOLD, /* checkpoints that are not told yet, in their order */
    /* rows beside the browser sessions (store_session) whose keys begin with `id` and that end
     * after `due_ms`, those that end first first: the key as `owner`, the body as `value`, the end
     * as updated_ms */
    STORE_SESSIONS,
};

struct store_row { /* which members are filled depends on the list */
    struct str            owner, thread, title, state, run, value;
    struct str            source, group; /* of a thread; STR_NONE: a conversation */
    int64_t               created_ms, updated_ms;
    struct store_hold     hold;
    struct store_approval approval;
    struct store_stock    stock;
    struct store_event    event;
    struct str            place; /* of the event */
    struct str            tool;
    uint64_t              runs, failed;
    int64_t               amount, day;
    /* a search with `said`: what was found, in its line; STR_NONE: the title has it */
    struct str            line;
    /* a node: its id, how others reach it ("": they cannot), its program's version, how long its
     * lease is still good (below 0: it is dead), logs it holds, those of them that run */
    struct str            node, url, version;
    int64_t               lease_ms;
    uint64_t              held, running;
    /* a head: of which log (chain_name), at which seq; `num` is for the checkpoint that notes it,
     * and also a log's own number */
    char                  log[32 + 1];
    uint64_t              seq;
    struct str            head;
    int64_t               num;
    bool                  stub;
    /* up to where the store says that checkpoints have it: behind `seq` nobody of ours says so */
    uint64_t              noted;
    /* a checkpoint: its number; what was signed is its `line` */
    uint64_t              number;
    /* an approval that is not what was stored: nothing of it may be told as true */
    bool                  damaged;
};

struct store_list {
    enum store_list_kind kind;
    uint64_t             since_ns;
    struct str           owner, thread, status, id;
    /* said, never meant by leaving `owner` out: a name that could not be copied is nobody's
     * (ERR_DENIED) */
    bool                 everybody;
    /* STORE_THREADS: title contains this (any case); STR_NONE: all */
    struct str           search, source;
    /* ... or one of its messages or answers does: the newest that does is told, none that is
     * damaged */
    bool                 said;
    int64_t              due_ms, day;
    int64_t              dues[STORE_TRIM_KINDS], after; /* STORE_UNTRIMMED; 0: never */
    /* opaque, from `next`; STR_NONE: from the start; ERR_SYNTAX: not one of ours */
    struct str           before;
    unsigned             limit; /* 0: no limit (internal use) */
    /* `next` is STR_NONE when there is no more. */
    void (*done)(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                 struct str next);
    struct store_job  job;
    struct arena      arena; /* private */
    struct store_row *rows;
    size_t            count, room;
    struct str        next;
    int64_t           last_num;
    int64_t           last_seq; /* of the facts of log `last_log` that were looked at */
    int64_t           last_log;
    bool              searched; /* the newest titles: the others are looked up */
    uint64_t          looked;   /* ... in what was said: rows that were compared with the words */
    bool              whole;    /* ... of the next one all is read, and not the beginning alone */
};
void store_list(struct store *s, struct store_list *l);

/* Words that go while their log stays. Each of `facts` has another body from now on; what was
 * appended there stays known by its digest, so that the chain still holds (links.h). One more fact,
 * `note`, says so, and must name what stands there now: nobody else can tell that it is what should
 * (audit/verify.h). The log does not count as changed by it: its time stays. */
struct store_trim {
    uint64_t                     expected; /* as in an append; else ERR_CONFLICT */
    const struct store_fact     *facts;    /* by their seq, with the new bodies */
    size_t                       count; /* 0: nothing is there to go, and `note` is not appended */
    struct store_fact            note;
    struct str                   title; /* STR_NONE: unchanged */
    const struct store_approval *approvals;
    size_t                       approval_count;
    /* Which kinds are gone now, bits of the caller's; until the log changes STORE_UNTRIMMED knows.
     * 0: there is more to do. */
    int64_t                      kinds;
};
/* Changes to a log that are no append: of its entry in the list, its end, or of words in it. */
struct store_edit {
    struct log_name          log;
    uint64_t                 since_ns;
    /* as in an append; an edit claims nothing */
    struct store_hold        hold;
    struct str               title; /* STR_NONE: unchanged */
    /* the new title only in this one's place, else ERR_CONFLICT; STR_NONE: in any case */
    struct str               title_was;
    /* The log, its rows and its request ids are gone for good. What stays is a stub: the digests of
     * its facts (links.h) and behind them one more fact, "removed", with this body and time. Body
     * STR_NONE: nothing stays. */
    bool                     remove;
    struct str               stub;
    int64_t                  at_ms;
    const struct store_trim *trim;                    /* NULL: nothing of the kind */
    void (*done)(struct store_edit *e, enum err err); /* ERR_NOT_FOUND */
    struct store_job job;                             /* private */
};
void store_edit(struct store *s, struct store_edit *e);

/* --- claims ------------------------------------------------------------------- */

#define STORE_LEASE_MS 3000
/* So much before its end a node begins no effect any more. */
#define STORE_LEASE_MARGIN_MS 500

/* OK: this node holds the log by `hold`, whoever held it before. A log that is not there yet is
 * free: its first append makes and claims it. ERR_BUSY: `node` holds it; or, without a name there,
 * the database did not answer. */
struct store_claim {
    struct log_name log;
    uint64_t        since_ns;
    void (*done)(struct store_claim *c, enum err e);
    struct store_hold hold;      /* out */
    struct str        node, url; /* out, with ERR_BUSY: who, and how they are reached ("": not) */
    bool              alive;     /* out: false: their lease ended just now; claiming again helps */
    struct store_job  job;       /* private */
};
void store_claim(struct store *s, struct store_claim *c);
/* Gives one back, if it is still held by `hold`. Not answered, nobody waits for it; the names are
 * copied. What is lost on the way is given back by the end of the lease. */
void store_release(struct store *s, struct log_name log, struct store_hold hold);
/* Gives all back that this node holds, in one statement: others may claim them when it is
 * answered. */
struct store_release_all {
    void (*done)(struct store_release_all *r, enum err e);
    struct store_job job; /* private */
};
void store_release_all(struct store *s, struct store_release_all *r);

/* May this node begin an effect now that rests on `hold`? Ask after the append that says so was
 * answered, right before the effect's first instruction. False: the lease is over, or so nearly
 * that others may take the log meanwhile; or it was interrupted since, and they may have. The lease
 * is counted by the monotonic clock from before its renewal was sent. */
bool       store_lease_ok(const struct store *s, struct store_hold hold);
/* Told when the lease was interrupted and stands again: others may have claimed any log that this
 * node holds. Claim again what somebody looks at, and what runs. */
void       store_on_lapse(struct store *s, void (*lapsed)(void *ctx), void *ctx);
struct str store_node(const struct store *s); /* this node's id; each start has another */
/* Can there be other nodes? False: nothing needs to be swept after the start. */
bool       store_shared(const struct store *s);

/* --- browser sessions ------------------------------------------------------------ */

/* Rows by a key (the hash of what the browser has; never the thing itself). What ended before the
 * last put is forgotten. Other things that are no logs are kept here, too, under keys with a "/" in
 * them: "tool/NAME" (run/seen.c), "mcp/SERVER/WHO" (tool/mcp/oauth.h), "person/DIGEST"
 * (run/people.h), "mcp-session/WHO/ID" (door/mcp/mcps_session.c). KEEP is a put that makes no
 * row: one that somebody ended meanwhile stays ended. */
struct store_session {
    enum store_session_op { SESSION_PUT, SESSION_GET, SESSION_END, SESSION_KEEP } op;
    struct str key;
    struct str body;    /* in: put, keep; out: get */
    int64_t    ends_ms; /* likewise; wall clock, judged by nobody here */
    /* keep, end: only while the row's body is this one; STR_NONE: whatever it is. A keep that was
     * sent to a database and whose answer was lost may have been done and say ERR_NOT_FOUND. */
    struct str was;
    /* put: of the rows whose keys are the same up to the last "/" so many stay, this one and those
     * that end last; 0: all. Puts at the same moment may leave a few more, until the next. */
    unsigned   each;
    void (*done)(struct store_session *x, enum err e); /* get, keep: ERR_NOT_FOUND */
    struct store_job job;                              /* private from here on */
    struct arena     arena;
};
void store_session(struct store *s, struct store_session *x);

/* --- checkpoints ------------------------------------------------------------------- */

/* What was signed about the heads of logs (audit/checkpoint.h), kept and numbered 1, 2, 3 ... here
 * before anybody is told. */
struct store_checkpoint {
    /* one more than the last: else ERR_CONFLICT, and nothing is kept */
    uint64_t                number;
    /* STR_NONE: no new one, but the checkpoint of that number was told */
    struct str              line;
    int64_t                 at_ms;
    /* as STORE_HEADS gave them: noted at that seq from now on */
    const struct store_row *heads;
    size_t                  head_count;
    void (*done)(struct store_checkpoint *c, enum err e);
    struct store_job job; /* private */
};
void store_checkpoint(struct store *s, struct store_checkpoint *c);

/* Session rows (above) by their key: `begins`, then anything without a "/", then `ends`; `holds`,
 * unless STR_NONE, stands in their body. */
struct store_match {
    struct str begins, ends, holds;
};
/* What names somebody beside the logs. A stub gets another owner, another name and one more fact,
 * "erased", with this body, in place of the one it has; ERR_CONFLICT: it is not at `seq` any
 * more. */
struct store_erase {
    int64_t                   num;
    uint64_t                  seq;
    struct str                owner, thread, body;
    int64_t                   at_ms;
    /* `num` 0: all else there is about `owner`. Events of their logs go, and those whose body has
     * `by` or `decided_by`, by which others' rows name them; these sums and rows go. Their stock of
     * `kind` goes when its key begins with `own`, else it stays under the owner `as` with this
     * body: what was taken by it is not free again; others' stays with `by_as` in place of `by`.
     * Stock of any other kind goes, theirs and what names them. */
    struct str                by, by_as, decided_by;
    const struct str         *sums;
    size_t                    sum_count;
    const struct store_match *rows;
    size_t                    row_count;
    struct str                kind, own, as;
    void (*done)(struct store_erase *x, enum err e);
    struct store_job job; /* private */
};
void store_erase(struct store *s, struct store_erase *x);

/* --- life ---------------------------------------------------------------------- */

/* What a node is to the others of its database. */
#define STORE_ALONE "the only one"
struct store_place {
    struct str url;  /* how they reach it; STORE_ALONE: they cannot, and there may be none */
    struct str mark; /* the same for nodes that have the same cluster key; "": none */
};
/* `url`: "sqlite:PATH" or a bare path; "sqlite::memory:" for tests of other parts;
 * "postgresql://USER:PASSWORD@HOST/DATABASE" as libpq takes it. On failure *why is a sentence for
 * people (static or in `a`), never with the password: path not writable, made by a newer version,
 * used by another process. */
MUST_CHECK enum err store_open(struct loop *l, struct str url, const struct store_place *place,
                               struct arena *a, struct store **out, struct str *why);
/* Why no database can be reached by this address, also before one is asked for: a sentence without
 * a word of it. NULL: nothing is wrong with it, or it is a file's. */
const char         *store_address_fault(const char *url);
/* Gives back what is held, waits for what is queued, answers it from inside this call (ERR_CLOSED:
 * what its time did not suffice for), closes; no callbacks come afterwards. False: the disk did not
 * answer within that time. Then nothing was closed or answered, and requests are still being worked
 * on: call again, or end the process without freeing anything. */
MUST_CHECK bool     store_close(struct store *s, uint64_t within_ms);
/* OK, or why new work is refused at the moment (the last append failed with ERR_FULL, ERR_BUSY,
 * ERR_IO) or better goes elsewhere. Seen within a second also when nothing is appended: ERR_GONE,
 * and ERR_FULL when less than 16 MiB and less than a twentieth of the file system are free. */
enum err            store_health(const struct store *s);
/* The same in words for an operator, also about what is no reason to refuse work (a log that
 * another program lets grow); STR_NONE: all is well. */
struct str          store_problem(const struct store *s);
/* how long the write-ahead log is; 0: not ours to look after */
uint64_t            store_log_bytes(const struct store *s);
/* What the store promises, for /readyz: "sqlite, WAL, synchronous=FULL, schema 7". */
struct str          store_promise(const struct store *s);
/* Puts the backup in the file `from` in the place of the store at `url`, which nobody has open
 * (ERR_BUSY). All or nothing, also when the power fails; what was there is kept beside it. Files
 * only: a database has its own backups (ERR_UNSUPPORTED). On failure *why is a sentence for people.
 * Not for the loop thread of a server. */
/* in `a`; kept STR_NONE: there was nothing */
struct store_restored {
    uint64_t   threads, damaged;
    struct str path, kept;
};
/* `anyway`: also a backup in which the checksums of some conversations do not fit (else
 * ERR_DAMAGED, and *why names them). */
MUST_CHECK enum err store_restore(struct str url, struct str from, bool anyway, struct arena *a,
                                  struct store_restored *out, struct str *why);
/* Copies the store at `url` to the new file `to`, also while a server has it open: one state of it,
 * read again and its checksums compared before it gets that name. What is there already is not
 * replaced (ERR_EXISTS); ERR_DAMAGED unless `anyway`. On failure *why is a sentence for people and
 * nothing is left. Not for the loop thread of a server. */
struct store_backed_up { /* in `a` */
    uint64_t   threads, damaged, bytes;
    struct str from;
};
struct store_watch { /* told every few MiB: pages copied, and all */
    void (*far)(void *ctx, unsigned done, unsigned all);
    void *ctx;
};
MUST_CHECK enum err store_backup(struct str url, struct str to, bool anyway,
                                 const struct store_watch *watch, struct arena *a,
                                 struct store_backed_up *out, struct str *why);
/* The nodes of the database at `url`, as STORE_NODES lists them, without becoming one. Rows and
 * their texts are in `a`. A file has none: ERR_UNSUPPORTED. Waits; not for the loop thread of a
 * server. */
MUST_CHECK enum err store_nodes_of(struct str url, struct arena *a, struct store_row **rows,
                                   size_t *count, struct str *why);

/* Copies every log and list of one store into another that is empty, whichever kinds they are.
 * Nobody may work with either meanwhile (ERR_BUSY), and nobody can with the target before all of it
 * is there and was read again and compared. Cut off at any point, the same call goes on where it
 * was, also when all was done: a target that holds what the source does is compared and left as it
 * is, any other that is not empty is ERR_EXISTS. What was begun from another source, or from this
 * one before it changed, is ERR_CONFLICT unless `anew`. The source stays as it is. Waits; not for
 * the loop thread of a server. */
#define STORE_LISTS 11
struct store_move {
    struct str from, to; /* as store_open takes them */
    bool       anew;     /* forget what an unfinished move left in `to` */
    bool       anyway;   /* also conversations that are damaged, as they are; else ERR_DAMAGED */
    /* `what` is "copied" or "compared": rows of all lists, as far as it is and in all */
    void (*far)(void *ctx, const char *what, uint64_t done, uint64_t all);
    void *ctx;
};
struct store_moved {     /* in `a` */
    struct str from, to; /* without a password */
    struct {
        const char *name;
        uint64_t    rows;
    } lists[STORE_LISTS];
    uint64_t damaged; /* facts and approvals that are not what was stored */
    bool     resumed;
    bool     before;     /* an earlier call had done it all, and nothing was written now */
    char     digest[33]; /* of both */
};
MUST_CHECK enum err store_move(const struct store_move *m, struct arena *a, struct store_moved *out,
                               struct str *why);
/* Optional: told how long each successful append took (call to answer). */
void store_on_commit(struct store *s, void (*seen)(void *ctx, uint64_t ns), void *ctx);

#endif
