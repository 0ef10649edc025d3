/* store_ops.h -- private to the stores: what a store is, and what both do in the same way.
 *
 *   store.c     store.h's calls: what is the same for all, then the store's own
 *   rows.[ch]   list rows, cursors, checksums of rows, damaged logs
 *   links.[ch]  the hash that ties a fact to those before it
 *   words.[ch]  does a title contain these words?
 *   store_move.[ch]  from one store into another
 *   said.[ch]   was this said in a fact?
 *   sqlite*.c   one file (sqlite_db.h)
 *   pg*.c       a PostgreSQL database (pg.h)
 *
 * A store's struct begins with a struct store. Loop thread only, unless said otherwise.
 */
#ifndef PARLEY_STORE_OPS_H
#define PARLEY_STORE_OPS_H

#include "base/id.h"
#include "store/store.h"

enum job_kind {
    JOB_APPEND,
    JOB_EDIT,
    JOB_READ,
    JOB_LIST,
    JOB_CLAIM,
    JOB_RELEASE_ALL,
    JOB_SESSION,
    JOB_CHECKPOINT,
    JOB_ERASE,
    JOB_RELEASE, /* store_release: told to nobody */
    JOB_OWN,     /* of the store itself, told to nobody */
};

#define JOB_OF(j, type) LIST_ITEM(j, type, job)
#define JOB_AT(n)       LIST_ITEM(n, struct store_job, node)

struct store {
    const struct store_ops *ops;
    struct loop            *loop;
    char                    node[2 + ID_LEN + 1];
    void (*seen)(void *ctx, uint64_t ns);
    void *seen_ctx;
    void (*lapsed)(void *ctx);
    void *lapsed_ctx;
};

struct store_ops {
    /* Takes a request whose job was made ready (kind, queued_ns, since_ns). */
    void (*ask)(struct store *s, struct store_job *job);
    void (*release)(struct store *s, struct log_name log, struct store_hold hold);
    bool (*lease_ok)(const struct store *s, struct store_hold hold);
    enum err (*health)(const struct store *s);
    struct str (*problem)(const struct store *s);
    uint64_t (*log_bytes)(const struct store *s);
    struct str (*promise)(const struct store *s);
    bool (*close)(struct store *s, uint64_t within_ms);
    bool shared;
};

void       store_init(struct store *s, const struct store_ops *ops, struct loop *l);
/* Calls the request's `done`; it may be freed by it. */
void       store_tell(struct store *s, struct store_job *job);
/* What the keys of the rows that `each` counts begin with, without the "/"; "": it counts none. */
struct str store_session_family(const struct store_session *x);

MUST_CHECK enum err sqlite_open(struct loop *l, struct str url, struct arena *a, struct store **out,
                                struct str *why);
MUST_CHECK enum err pg_open(struct loop *l, struct str url, const struct store_place *place,
                            struct arena *a, struct store **out, struct str *why);
const char         *pg_address_fault(const char *url);
MUST_CHECK enum err pg_nodes_of(struct str url, struct arena *a, struct store_row **rows,
                                size_t *count, struct str *why);
MUST_CHECK enum err sqlite_backup(struct str url, struct str to, bool anyway,
                                  const struct store_watch *watch, struct arena *a,
                                  struct store_backed_up *out, struct str *why);
MUST_CHECK enum err sqlite_restore(struct str url, struct str from, bool anyway, struct arena *a,
                                   struct store_restored *out, struct str *why);

#endif
