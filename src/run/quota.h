/* quota.h -- what one principal may use: requests per minute, runs at once, tokens per day.
 *
 * Guards against loops and greed, not an account book (that is spend.h). Requests and runs are kept
 * in memory: a restart forgets them, and each node counts its own. Requests fill a bucket that
 * holds a minute's worth and leaks evenly, so a burst is fine and a flood is not. Tokens count per
 * day in UTC, as the models report them; their sum is the store's, for all nodes, and is told here
 * before a turn begins (spend_first). A turn that began below the limit is finished, the next one
 * waits for the next day.
 *
 * Pure: the clocks are the caller's. A NULL quota limits nobody. When there is no memory to
 * remember somebody, they are let through: the process has worse troubles then.
 */
#ifndef PARLEY_QUOTA_H
#define PARLEY_QUOTA_H

#include "base/map.h"

/* Where the configuration says nothing and people sign in; without sign-in there is no limit, as
 * nobody needs a guard against themselves. Tokens are not limited at all. */
#define QUOTA_USUAL_REQUESTS 1200 /* per minute */
#define QUOTA_USUAL_RUNS     50   /* at once */

struct quota_limits { /* 0: no limit */
    unsigned requests_per_minute;
    unsigned runs;
    int64_t  tokens_per_day;
};

struct quota {
    struct quota_limits limits;
    struct map          people;
    /* private */
    size_t              sweep_at; /* so many people, and the idle ones are forgotten */
    int64_t             today;    /* the latest day seen */
};

void quota_init(struct quota *q, const struct quota_limits *l);
void quota_done(struct quota *q);

/* One more request now? False: not before *retry_s seconds (at least 1). */
bool quota_request(struct quota *q, struct str who, uint64_t mono_ms, unsigned *retry_s);

enum quota_verdict { QUOTA_FINE, QUOTA_RUNS, QUOTA_TOKENS };
/* One more run? *retry_s as above. */
enum quota_verdict quota_admit(struct quota *q, struct str who, int64_t wall_ms, unsigned *retry_s);
/* +1: it runs, -1: it does not any more */
void               quota_run(struct quota *q, struct str who, int change);
/* What they have used today, by all nodes together. */
void               quota_learn(struct quota *q, struct str who, int64_t tokens, int64_t wall_ms);
/* Tokens that are in no sum of the store's: of a title. */
void               quota_tokens(struct quota *q, struct str who, int64_t tokens, int64_t wall_ms);

#endif
