/* turnstile.h -- long work waits in line, so that a turn of the loop does a little of it.
 *
 * A whole conversation as JSON, a search: each may take milliseconds, and one client may ask for a
 * thousand at once. What is in line has not begun: nothing is asked of the store for it, and who
 * leaves is out of it (turnstile_leave), so that no work is done for nobody. At most `at_once` are
 * under way, and once a turn has written TURNSTILE_BYTES of answers the next begins in the next
 * turn; between the two everybody else is served. One that has begun is brought to its end.
 * Different people take turns.
 *
 * How many may stand in line is bounded by the connections that one peer may have.
 */
#ifndef PARLEY_DOOR_TURNSTILE_H
#define PARLEY_DOOR_TURNSTILE_H

#include "base/str.h"
#include "loop/loop.h"

#define TURNSTILE_BYTES (256u * 1024) /* a millisecond of writing JSON, or two */

struct turnstile_place { /* in whatever waits; zeroed before */
    struct list       node;
    struct turnstile *at;  /* NULL: not in it */
    struct str        who; /* borrowed while it is in line */
    bool              begun;
    void (*go)(struct turnstile_place *p); /* its turn has come; perhaps at once */
};
struct turnstile { /* zeroed is empty */
    struct loop     *loop;
    struct list      waiting;
    unsigned         at_once, busy, count; /* count: in line */
    uint64_t         begun;                /* ever */
    struct str       last;                 /* who had the last turn; in `last_who` */
    char             last_who[64];
    uint64_t         turn; /* the turn whose budget it is */
    size_t           left;
    bool             pumping, posted;
    struct loop_post next;
};

void turnstile_init(struct turnstile *l, struct loop *loop, unsigned at_once);
void turnstile_enter(struct turnstile *l, struct turnstile_place *p, struct str who);
/* It is answered, or nobody waits for it any more; not in line: nothing. */
void turnstile_leave(struct turnstile_place *p);
/* So much was written in this turn. */
void turnstile_wrote(struct turnstile *l, size_t bytes);
/* The end is near: nothing of what is in line begins any more. */
void turnstile_done(struct turnstile *l);

static inline bool turnstile_waits(const struct turnstile_place *p)
{
    return p->at && !p->begun;
}

#endif
