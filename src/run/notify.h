/* notify.h -- webhooks: addresses that are told what is asked and decided.
 *
 * The messages are the store's events (tidings.h), which an append writes with its facts: none is
 * lost, whoever dies when. Each address has a place among them, kept in the store; from there on
 * they are sent in their order, up to NOTIFY_WINDOW at a time; each attempt reads its event anew,
 * so what was erased meanwhile is not sent any more. At least once: the id of a message
 * (webhook-id) is the same each time. One that is not taken (no 2xx) is tried again with growing
 * pauses for a day, then given up and logged. An address that is down, slow, redirects or lies
 * costs its own window and nobody else anything.
 *
 * Signed as Standard Webhooks say: webhook-signature "v1," + base64 of HMAC-SHA256 over
 * "id.timestamp.body". Where requests may go: egress.h.
 *
 * Among several nodes the one with the smallest id that is alive sends.
 */
#ifndef PARLEY_NOTIFY_H
#define PARLEY_NOTIFY_H

#include "base/json.h"
#include "loop/curl.h"
#include "run/tidings.h"
#include "store/store.h"

#define NOTIFY_WINDOW 16

struct notify_target {
    struct str       url, secret;
    const struct jv *events, *roles, *allow;
    unsigned         after_s;
};

struct notify_setup { /* borrowed */
    struct loop                *loop;
    struct store               *store;
    const struct hub           *hub; /* what may be told of a question: sight.h */
    struct curl_pool           *pool;
    struct tidings             *tidings;
    const struct notify_target *targets;
    size_t                      count;
};

struct notify;
/* Returns when the place of each address is in the store, or the store cannot tell: what is asked
 * from then on comes behind it. So it is made before anybody is served. NULL: no memory. */
struct notify *notify_new(const struct notify_setup *s);
/* Nothing is begun any more; what is under way is cut off, and sent again by whoever is next.
 * Before the pool and the store are closed. */
void           notify_stop(struct notify *n);
void           notify_free(struct notify *n); /* after them; NULL is fine */

#endif
