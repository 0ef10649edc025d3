/* sweep.h -- what goes without anybody opening it: conversations that are too old, words in them
 * that are, and all of somebody who is to be erased.
 *
 * Each is deleted in its own mailbox (CMD_DELETE), so whatever is in memory or under way goes with
 * it, and leaves its stub. A few at a time; what was not reached is found again, by the next look,
 * the next start or the next call: there is nothing to resume but the same thing once more.
 */
#ifndef PARLEY_SWEEP_H
#define PARLEY_SWEEP_H

#include "run/hub.h"

/* --- by age ------------------------------------------------------------------------- */

struct sweep_rules { /* ms since the conversation's last change; 0: kept for ever */
    int64_t plain_ms;
    int64_t asked_ms;                  /* where somebody was asked for a decision */
    int64_t kind_ms[STORE_TRIM_KINDS]; /* words that go while the rest stays, by trim.h's bits */
};
struct sweep;
/* NULL: no memory. Looks once an hour, the first time seconds after the start. Conversations that
 * run or wait for somebody stay as they are; none is deleted with a call that nobody settled. */
struct sweep *sweep_start(struct hub *h, struct sweep_rules r);
/* Begins nothing any more. `done` on the loop, when nothing of it is under way; NULL for `s` calls
 * it at once. */
void          sweep_stop(struct sweep *s, void (*done)(void *ctx), void *ctx);

/* --- by person ---------------------------------------------------------------------- */

/* Deletes conversations of `name` and takes the name out of stubs: there it becomes "erased-" and
 * random letters, others in each stub, so that nothing leads back to the person and a stub still
 * tells two people apart. Other people's conversations keep who decided in them, and whose payment
 * theirs was a duplicate of. At the end goes what they spent, where they are signed in and what
 * grants they have or gave; what their payments took, and those they said yes to, stays taken,
 * as "erased", which is the same for everybody.
 * At most SWEEP_MOST of each in one call: `left` says that there is more, and the same call again
 * goes on. */
#define SWEEP_MOST 200
struct erase {
    struct str                name, by; /* who; who wants it */
    const struct store_match *matches;  /* rows of theirs beside the conversations: they go, too */
    size_t                    match_count;
    void (*done)(struct erase *x, enum err e);
    unsigned           logs, stubs; /* out */
    bool               left;
    /* private */
    struct hub        *hub;
    struct store_list  list;
    struct store_erase op;
    struct arena       arena;
    struct str         sums[2];
    struct store_row  *rows;
    size_t             count, next;
    unsigned           open;
    enum err           failed;
};
/* Lives until `done`, which comes once and never from inside. */
void erase_begin(struct erase *x, struct hub *h);

#endif
