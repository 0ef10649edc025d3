/* store.h -- where the logs live: append-if, read-from, watch, lease, and lists.
 *
 * A log is named by (owner, thread). Its facts are numbered 1, 2, 3 ... without
 * holes. The store knows nothing of what a fact means: kind is a word, body is a
 * JSON text. Every fact carries a checksum, so that a flipped bit on the disk is found before it is
 * believed. What must be found without reading logs (a person's threads, the approvals that wait, a
 * request id, how often a tool ran) is kept in small lists that an append updates in the same
 * transaction: never one without the other.
 *
 * Every call is asynchronous and answered on the loop thread, also errors, never
 * from inside the call itself. Appends of one log are committed in the order of
 * the calls. Committed means: on disk, it survives power loss.
 *
 * Appends may be queued behind each other without waiting: if one fails, those
 * that build on it (same log, `expected` is where it would have ended) and were
 * queued before its answer fail with ERR_CONFLICT, even if the log happens to stand there.
 *
 * Errors: ERR_CONFLICT (the log is not at `expected`), ERR_EXISTS (the request id
 * is taken; `found_*` say by what; told rather than a conflict when both hold), ERR_BUSY (file
 * locked by another), ERR_FULL (disk full), ERR_GONE (the store's files were removed or replaced
 * while it was open), ERR_IO, ERR_NOMEM, ERR_CLOSED (the store was closed before its turn came).
 * After any error nothing of that append is there; but for ERR_UNSURE: nothing of it is seen, and
 * yet if the process ends before the next successful append, all of it may be there at the next
 * start (a sync failed and the disk does not answer since; the files were taken away in the
 * middle). The same request id settles it then. The store heals by itself: the next append simply
 * tries again, and while none comes the store itself looks once a second whether it can write
 * again.
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
    bool        tried; /* in this batch, so the result is its own */
    uint64_t    queued_ns;
};

struct store_fact {
    /* when reading; an append numbers its facts expected + 1, + 2 ... */
    uint64_t   seq;
    int64_t    at_ms; /* wall clock */
    struct str kind;
    struct str body;
};

/* --- append-if ----------------------------------------------------------- */

struct store_approval { /* one row of the approvals list, keyed by (owner, id) */
    struct str id, call, tool, status;
    struct str body;                     /* JSON object with the rest of what the list shows */
    int64_t    requested_ms, expires_ms; /* expires 0: never */
};

struct store_append {
    struct log_name          log;
    /* seq of the last fact; 0: the log is new and is created by this */
    uint64_t                 expected;
    const struct store_fact *facts;
    size_t                   fact_count; /* >= 1 */

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
    size_t tool_count;

    void (*done)(struct store_append *a, enum err e);
    uint64_t   new_seq; /* out: seq of the last fact now */
    /* out, with ERR_EXISTS: who has the request id */
    struct str found_thread, found_run;

    struct store_job job; /* private from here on */
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

enum store_list_kind {
    /* of `owner`, newest change first (`everybody`'s: newest made first); `before` pages */
    STORE_THREADS,
    STORE_APPROVALS, /* of `owner` or `everybody`, newest first; filtered by `status`, `thread`, `id` when given
                           * (without status and id: all but "offered", which nobody was asked
                           * about); `before` pages */
    /* pending and offered ones of everybody with expires_ms in (0, `due_ms`], soonest first */
    STORE_DUE,
    STORE_NEXT_DUE,   /* the one of these that expires soonest */
    STORE_UNFINISHED, /* logs of everybody whose state is not "idle": what recovery looks at */
    STORE_TOOLS,      /* counters */
    STORE_REQUEST,    /* the row of (owner, request_id = `id`), if any */
};

struct store_row { /* which members are filled depends on the list */
    struct str            owner, thread, title, state, run;
    int64_t               created_ms, updated_ms;
    struct store_approval approval;
    struct str            tool;
    uint64_t              runs, failed;
    /* an approval that is not what was stored: nothing of it may be told as true */
    bool                  damaged;
};

struct store_list {
    enum store_list_kind kind;
    struct str           owner, thread, status, id;
    /* said, never meant by leaving `owner` out: a name that could not be copied is nobody's
     * (ERR_DENIED) */
    bool                 everybody;
    /* STORE_THREADS: title contains this (any case); STR_NONE: all */
    struct str           search;
    int64_t              due_ms;
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
    bool              searched; /* the newest titles: the others are looked up */
};
void store_list(struct store *s, struct store_list *l);

/* Changes to a log's entry in the list that are no facts. */
struct store_edit {
    struct log_name log;
    struct str      title; /* STR_NONE: unchanged */
    /* the new title only in this one's place, else ERR_CONFLICT; STR_NONE: in any case */
    struct str      title_was;
    /* the log, its rows and its request ids are gone for good */
    bool            remove;
    void (*done)(struct store_edit *e, enum err err); /* ERR_NOT_FOUND */
    struct store_job job;                             /* private */
};
void store_edit(struct store *s, struct store_edit *e);

/* --- watch and lease --------------------------------------------------------- */

/* Called after each commit, whoever made it, with the log's new last seq; the
 * caller's own appends come here before their `done`. One watcher per store. */
void store_watch(struct store *s, void (*changed)(void *ctx, struct log_name log, uint64_t seq),
                 void         *ctx);

/* Only the holder of a log's lease may drive its runs. Taking it again renews it.
 * ERR_BUSY: somebody else has it. A store that only one process can open
 * (SQLite: the file is locked at open) answers from memory. */
/* ERR_BUSY, ERR_NOMEM */
MUST_CHECK enum err store_lease(struct store *s, struct log_name log, struct str holder,
                                uint64_t ttl_ms);
void                store_unlease(struct store *s, struct log_name log, struct str holder);

/* --- life ---------------------------------------------------------------------- */

/* `url`: "sqlite:PATH" or a bare path; "sqlite::memory:" for tests of other parts. On failure *why
 * is a sentence for people (static or in `a`): path not writable, made by a newer version, used by
 * another process. */
MUST_CHECK enum err store_open(struct loop *l, struct str url, struct arena *a, struct store **out,
                               struct str *why);
/* Waits for what is queued, answers it from inside this call (ERR_CLOSED: what its time did not
 * suffice for), closes; no callbacks come afterwards. False: the disk did not answer within that
 * time. Then nothing was closed or answered, and requests are still being worked on: call again, or
 * end the process without freeing anything. */
MUST_CHECK bool     store_close(struct store *s, uint64_t within_ms);
/* OK, or why new work is refused at the moment (the last append failed with ERR_FULL, ERR_BUSY,
 * ERR_IO) or better goes elsewhere. Seen within a second also when nothing is appended: ERR_GONE,
 * and ERR_FULL when less than 16 MiB and less than a twentieth of the file system are free. */
enum err            store_health(const struct store *s);
struct str          store_problem(
             const struct store *s); /* the same in words for an operator, also about what is no reason
                                                          * to refuse work (a log that another
                                                          * program lets grow); STR_NONE: all is
                                                          * well */
uint64_t   store_log_bytes(const struct store *s); /* how long the write-ahead log is */
/* What the store promises, for /readyz: "sqlite, WAL, synchronous=FULL, schema 2". */
struct str store_promise(const struct store *s);
/* Puts the backup in the file `from` in the place of the store at `url`, which nobody has open
 * (ERR_BUSY). All or nothing, also when the power fails; what was there is kept beside it. On
 * failure *why is a sentence for people. Not for the loop thread of a server. */
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
/* Optional: told how long each successful append took (call to answer). */
void store_on_commit(struct store *s, void (*seen)(void *ctx, uint64_t ns), void *ctx);

#endif
