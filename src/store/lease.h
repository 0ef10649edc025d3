/* lease.h -- leases kept in memory, for a store that only one process can open.
 *
 * Owned by its store, loop thread only. A lease ends by itself after its time;
 * what nobody gives back is swept while others are taken.
 */
#ifndef PARLEY_LEASE_H
#define PARLEY_LEASE_H

#include "base/list.h"
#include "base/map.h"
#include "store/store.h"

struct leases {
    struct map  by_log;
    struct list all;
};

void                leases_init(struct leases *m);
void                leases_done(struct leases *m);
/* OK: `holder` has it for ttl_ms from now. ERR_BUSY: somebody else has. ERR_NOMEM. */
MUST_CHECK enum err leases_take(struct leases *m, struct log_name log, struct str holder,
                                uint64_t ttl_ms);
/* only the holder's own */
void                leases_give(struct leases *m, struct log_name log, struct str holder);

#endif
