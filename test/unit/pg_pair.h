/* pg_pair.h -- two nodes on one database: two stores on one loop, so that both renew their leases
 * whichever is waited for. One of them talks by way of a proxy, which can be closed. */
#ifndef PARLEY_PG_PAIR_H
#define PARLEY_PG_PAIR_H

#include "pg_help.h"
#include "store_help.h"

struct pair {
    char             url[512], by_proxy[512];
    struct pg_proxy *proxy;
    struct fix       a, b;   /* a: by way of the proxy */
    int              lapses; /* of a's lease */
};

void      pair_begin(struct pair *p);
void      pair_end(struct pair *p);
/* One fact, of a log of ann's that is running. */
struct ap pair_append(struct fix *f, const char *thread, uint64_t expected, const char *body,
                      struct store_hold hold);
#define NO_HOLD ((struct store_hold){ 0 })

#endif
