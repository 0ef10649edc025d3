/* walk.h -- all of a store, from its first checkpoint to its last stub: one state of it, read while
 * a server may go on working with it. For what looks at everything (audit, what a person may ask
 * for), or at one log without a server.
 *
 * Nothing is judged here: what is read is handed over with the links as they are stored, and
 * whoever walks compares (links.h). Blocks; not for the loop thread of a server. Only memory for a
 * few rows is used, however large the store is.
 */
#ifndef PARLEY_WALK_H
#define PARLEY_WALK_H

#include "store/links.h"

struct walk_log {
    struct log_name log;
    struct str      title, state;
    int64_t         created_ms, updated_ms;
    uint64_t        seq;
    struct str      head; /* STR_NONE: older than the chain */
    /* up to where the store says that checkpoints have noted it; 0: not at all */
    uint64_t        noted;
};

struct walk_stub {
    int64_t         num;
    struct str      name; /* chain_name of the log that it was */
    struct log_name log;
    int64_t         created_ms, removed_ms;
    uint64_t        seq; /* of its last fact, which is all that is left of its words */
    struct str      kind, body;
    struct str      digests, head;
    bool            noted; /* the store says that a checkpoint has this head */
};

/* Rows that belong to a log, and there is none. No server makes or reads them. */
struct walk_stray {
    bool     noted;  /* what the store says is noted of it; else its facts */
    int64_t  thread; /* by its own number: nothing else tells which log that was to be */
    uint64_t first, count;
};

/* Each may be NULL; false ends the walk. Texts are valid during the call. A log is told before its
 * facts, and its end after them.
 *
 * `fault` is a sentence about a file: what stands in it where a server does not find it, because a
 * name is a blob, or an index lacks it (sqlite_sound.c); or about what works on the tables of a
 * database. Its columns have one type, and its indexes are its own. */
struct store_walk {
    /* of this owner only, of this thread (of whomever) only; STR_NONE: of all. Checkpoints and
     * strays and faults are told when both are absent. */
    struct str owner, thread;
    bool (*checkpoint)(struct store_walk *w, uint64_t number, int64_t at_ms, struct str line);
    bool (*log)(struct store_walk *w, const struct walk_log *l);
    bool (*fact)(struct store_walk *w, const struct walk_log *l, const struct store_fact *f,
                 struct chain_mark m);
    bool (*log_end)(struct store_walk *w, const struct walk_log *l);
    bool (*stub)(struct store_walk *w, const struct walk_stub *s);
    bool (*stray)(struct store_walk *w, const struct walk_stray *s);
    bool (*fault)(struct store_walk *w, struct str sentence);
    /* What is kept beside the logs (store_session) under keys that begin with `rows`, at the
     * end. */
    struct str rows;
    bool (*row)(struct store_walk *w, struct str key, struct str body);
    uint64_t logs, stubs; /* out, before the first is told: how many there are */
};

/* On failure *why is a sentence for people: no such file, no store of parley, made by another
 * version. ERR_CLOSED: ended by one of the calls. */
MUST_CHECK enum err store_walk(struct str url, struct store_walk *w, struct arena *a,
                               struct str *why);

#endif
