/* mirror.h -- threads that another node holds, as this node shows them.
 *
 * A thread has at most one holder among the nodes of a database. Whoever needs one in memory claims
 * it; whoever finds it claimed mirrors it: the same struct thread, whose fold and open step are
 * filled by the holder over a link. Followers pull from it and do not know the difference. Commands
 * go to the holder; it answers when their facts are on disk, and the facts are here before the
 * answer is.
 *
 *   unheld ──claim──▶ held ──forgotten, drained──▶ unheld
 *      └──somebody has it──▶ mirror ──link down, "moved"──▶ asks the store again ──▶ held | mirror
 *
 * A command that was sent and not answered when the link broke is sent again to whoever holds the
 * thread then. Its request id, made here if it has none, lets it happen once.
 *
 * This file knows no sockets. node/ has the links: it makes a struct peer for each node that is to
 * be reached, tells it what comes in, and sends what it is given.
 */
#ifndef PARLEY_MIRROR_H
#define PARLEY_MIRROR_H

#include "base/list.h"
#include "base/map.h"
#include "run/thread.h"

/* Another node. Embedded in what node/ knows of it. */
struct peer {
    struct hub *hub;
    struct map  mirrors; /* by their number */
    uint64_t    last;    /* number given */
    bool        up;
    bool        sweep; /* it is to be told to look, once it is up */
};
/* `p` is zeroed. */
void peer_init(struct peer *p, struct hub *h);
/* The link stands: what waits for it is sent. */
void peer_up(struct peer *p);
/* False: not a message of ours, or no memory for it: the link is of no use. */
bool peer_message(struct peer *p, struct str text);
/* The link is still being made: who has waited long enough for that is told. */
void peer_waits(struct peer *p);
/* The link is over, or was never made. Its mirrors ask the store again; none is left here. */
void peer_down(struct peer *p);

/* How the hub reaches other nodes: a part of its setup. */
struct nodes {
    /* Who answers at `url` must be this node. Begins to connect; NULL: no memory. */
    struct peer *(*reach)(struct nodes *n, struct str node, struct str url);
    /* One message; p is up. It is copied. */
    void (*send)(struct peer *p, struct str text);
    /* We go, and what was ours is anybody's: tells every node that it should look. */
    void (*farewell)(struct nodes *n);
};

/* --- for run/ ---------------------------------------------------------------- */

/* Somebody else holds it, this node at this url: mirror it from now on. */
void mirror_begin(struct thread *t, struct str node, struct str url);
/* It is not mirrored any more: claimed by us, or forgotten. Commands that were sent are back in the
 * mailbox. */
void mirror_end(struct thread *t);
/* Sends on what is in the mailbox. */
void mirror_forward(struct thread *t);
/* Somebody began or ceased to look at it here. */
void mirror_watch(struct thread *t);
void mirror_unclaim(struct thread *t, int64_t tab);
bool mirror_thinking(const struct thread *t);
/* Nothing sent is unanswered. */
bool mirror_quiet(const struct thread *t);

#endif
