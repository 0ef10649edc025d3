/* store_move.h -- private to the stores: a store as tables, read and filled in one order.
 *
 * Both kinds have the same tables under nearly the same names, so each of them is described once
 * (store_move.c) and a side only knows how to run a statement and what a value looks like. A table
 * is read and written in the order of its key, a batch in one transaction. So what a target holds
 * is always the beginning of the source, and where to go on is its own last row: there is no place
 * in which a position could be wrong.
 *
 * A target that is being filled is marked, with where it comes from and what that looked like.
 * Nobody works with one that is marked: a file has another name until it is whole, and a database
 * lets no node in (pg_open.c).
 */
#ifndef PARLEY_STORE_MOVE_H
#define PARLEY_STORE_MOVE_H

#include "store/store_ops.h"

struct move_side;

#define MOVE_COLUMNS 12
#define MOVE_ROWS    200       /* in a batch, at most */
#define MOVE_BYTES   (4 << 20) /* ... no more is added beyond this */

enum { MOVE_THREADS, MOVE_FACTS, MOVE_REQUESTS, MOVE_APPROVALS, MOVE_LISTS = STORE_LISTS };

/* A table. `types` has a letter per column that is read: i a number, z one
 * that is NULL instead of 0, f a yes or no (0, 1), b bytes, n bytes or NULL (both a TEXT in a
 * file), r likewise and a BLOB there, w a word (UTF-8 without NUL). The first `key` of them are its
 * key, the first `own` its own; what follows comes from the thread it belongs to. */
struct move_table {
    const char *name; /* for people: "conversations" */
    const char *types;
    unsigned    key, own;
    const char *table, *columns; /* what is written: "fact", "thread, seq, ..." */
    const char *select, *from, *key_columns, *group;
    const char *count; /* how many rows there are, quickly */
    struct {           /* where a database has it otherwise */
        unsigned    own;
        const char *columns, *select, *from;
        const char *also; /* written with it, from x(c0, c1, ...) */
    } pg;
};
/* Columns that are looked at: of facts, of approvals. */
enum {
    MOVE_FACT_SUM = 5,
    MOVE_FACT_LINK,
    MOVE_FACT_WAS,
    MOVE_FACT_OWNER,
    MOVE_FACT_NAME,
    MOVE_FACT_LAST,
    MOVE_APPROVAL_SUM = 10,
    MOVE_APPROVAL_NAME
};
extern const struct move_table move_tables[MOVE_LISTS];

static inline bool move_is_number(const struct move_table *t, unsigned column)
{
    return strchr("izf", t->types[column]) != NULL;
}

struct move_value {
    int64_t    n;
    struct str s;
};
struct move_row {
    struct move_value v[MOVE_COLUMNS];
};
struct move_batch {
    struct arena    arena;
    struct move_row rows[MOVE_ROWS];
    size_t          count;
};

/* SELECT of the batch behind `after` (NULL: of the first), the key's values as $1, $2 ... In `a`.
 * The names of tables get `prefix` before them. */
struct str move_select(const struct move_table *t, const char *prefix, bool after, struct arena *a);
struct str move_select_last(const struct move_table *t, const char *prefix, struct arena *a);
struct str move_select_count(const struct move_table *t, const char *prefix, struct arena *a);
/* Copied, and a word that is none is replaced: by one that no checksum fits. */
void       move_keep(struct move_batch *b, const struct move_table *t, unsigned column,
                     struct move_value v);

struct move_ops {
    /* `b` was emptied. ERR_NOMEM, ERR_IO ...: `why` in the side. */
    enum err (*read)(struct move_side *s, const struct move_table *t, const struct move_row *after,
                     struct move_batch *b);
    /* The last row, as a batch of one or none. */
    enum err (*last)(struct move_side *s, const struct move_table *t, struct move_batch *b);
    enum err (*count)(struct move_side *s, const struct move_table *t, uint64_t *out);
    enum err (*write)(struct move_side *s, const struct move_table *t, const struct move_batch *b);
    /* Of a target: its mark. ERR_NOT_FOUND: it has none, and is empty (ERR_EXISTS: it is not). Then
     * `mark`, also when it has one: only from there on anything is kept. */
    enum err (*marked)(struct move_side *s, struct arena *a, struct str *source, struct str *state);
    enum err (*mark)(struct move_side *s, struct str source, struct str state);
    enum err (*empty)(struct move_side *s); /* all that is in it, and the mark */
    /* Whole: the mark goes, and it may be used. */
    enum err (*finish)(struct move_side *s);
    void (*close)(struct move_side *s);
};
struct move_side {
    const struct move_ops *ops;
    struct arena          *arena; /* the caller's: for sentences */
    struct str             shown; /* for people */
    struct str             why;   /* after an error */
};

/* ERR_BUSY: somebody works with it. A source must be there. A target is made ready, not marked. */
MUST_CHECK enum err sqlite_move_open(struct str url, bool target, struct arena *a,
                                     struct move_side **out, struct str *why);
MUST_CHECK enum err pg_move_open(struct str url, bool target, struct arena *a,
                                 struct move_side **out, struct str *why);
/* Is the file at `url` one of this schema? Only then may a move open what is in its way: opening
 * an older one would upgrade it. */
bool                sqlite_move_is_current(struct str url);
enum err            move_fail(struct move_side *s, struct str sentence, enum err e);

#endif
