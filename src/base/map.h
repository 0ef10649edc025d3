/* map.h -- a hash table from borrowed text to a pointer.
 *
 * The key's bytes must live as long as the entry (usually they are inside the
 * value). Hashing is keyed per process, so strangers cannot aim at one bucket.
 */
#ifndef PARLEY_MAP_H
#define PARLEY_MAP_H

#include "base/err.h"
#include "base/str.h"

struct map_slot {
    struct str key;
    void      *value;
    uint64_t   hash;
};
struct map {
    struct map_slot *slots;
    size_t           cap, count;
};

void                map_init(struct map *m);
void                map_done(struct map *m);
void               *map_get(const struct map *m, struct str key); /* NULL: not there */
/* replaces; value not NULL */
MUST_CHECK enum err map_put(struct map *m, struct str key, void *value);
void               *map_remove(struct map *m, struct str key); /* what was there, or NULL */
/* for (size_t i = 0; (v = map_each(m, &i)); ) -- no changes to the map meanwhile. */
void               *map_each(const struct map *m, size_t *i);

#endif
