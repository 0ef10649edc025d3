/* held.h -- the rest of an encoded item that its connection could not take at once.
 *
 * A tool's output may be megabytes, and a connection takes 64 KiB at a time. Encoding the item anew
 * for every slice would cost the square of its size, so what is left of it is kept until it is out.
 * All connections together may keep HELD_MAX; who comes when that is used up is refused and encodes
 * again, which costs time but no memory.
 */
#ifndef PARLEY_HELD_H
#define PARLEY_HELD_H

#include "base/str.h"

#define HELD_MAX (64u << 20)

struct held {
    struct str    bytes;
    /* where each text of it ends; none for a plain stream of bytes */
    const size_t *ends;
    size_t        count;
    int           then; /* the owner's: what follows when it is out */
};

/* copies; NULL: no room for it */
struct held *held_take(struct str bytes, const size_t *ends, size_t count, int then);
void         held_free(struct held *h); /* NULL is harmless */

#endif
