/* tidings.h -- who wants to know that something was asked, decided, settled: anywhere.
 *
 * The events themselves are rows that an append writes with its facts (store.h, STORE_EVENTS); a
 * watcher reads them from its own place. Here it only learns that there may be more: at once when
 * this process appended some, within a second when another node did.
 *
 *   asked voted escalated decided expired cancelled unknown settled
 */
#ifndef PARLEY_TIDINGS_H
#define PARLEY_TIDINGS_H

#include "base/list.h"
#include "store/store.h"

struct tidings;
struct watcher {
    struct list node;
    void (*wake)(struct watcher *w); /* often and for nothing; may unwatch itself */
};

struct tidings *tidings_new(struct loop *l, struct store *s); /* NULL: no memory */
/* Nobody watches any more. */
void            tidings_free(struct tidings *t);
void            tidings_watch(struct tidings *t, struct watcher *w);
void            tidings_unwatch(struct watcher *w);
void            tidings_happened(struct tidings *t); /* an append had events; NULL is fine */

#endif
