/* walk_int.h -- private to the stores: what both ways of walking share. */
#ifndef PARLEY_WALK_INT_H
#define PARLEY_WALK_INT_H

#include "base/buf.h"
#include "store/store_ops.h"
#include "store/walk.h"

struct walk_at {
    struct store_walk *w;
    int64_t            id; /* the log that is being told */
    bool               open;
    struct walk_log    log; /* its texts are in `names` */
    struct buf         names;
};

/* One row of logs joined with their facts, in the order of both. `f` NULL: a log without any.
 * False: ended, by the caller or by want of memory. */
bool walk_row(struct walk_at *at, int64_t id, const struct walk_log *l, const struct store_fact *f,
              struct chain_mark m);
bool walk_rows_end(struct walk_at *at);

MUST_CHECK enum err sqlite_walk(struct str url, struct walk_at *at, struct arena *a,
                                struct str *why);
MUST_CHECK enum err pg_walk(struct str url, struct walk_at *at, struct arena *a, struct str *why);

struct db;
/* Tells at->w->fault whatever keeps a server from finding what stands in its file: the schema, the
 * types of values, the indexes. Reads all of it; in the walk's transaction. */
MUST_CHECK enum err db_sound(struct db *d, struct walk_at *at);

#endif
