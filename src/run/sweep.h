/* sweep.h -- conversations that go without anybody opening them: those that are too old, and all of
 * somebody who is to be erased.
 *
 * Each is deleted in its own mailbox (CMD_DELETE), so whatever is in memory or under way goes with
 * it, and leaves its stub. A few at a time; what was not reached is found again, by the next look,
 * the next start or the next call: there is nothing to resume but the same thing once more.
 */
#ifndef PARLEY_SWEEP_H
#define PARLEY_SWEEP_H

#include "run/hub.h"

/* --- by age ------------------------------------------------------------------------- */

struct sweep_rules { /* ms since the last change; 0: kept for ever */
    int64_t plain_ms;
    int64_t asked_ms; /* where somebody was asked for a decision */
};
struct sweep;
/* NULL: no memory. Looks once an hour, the first time a minute after the start. Conversations that
 * run or wait for somebody stay. */
struct sweep *sweep_start(struct hub *h, struct sweep_rules r);
/* After the hub was freed, which answers what is still under way. `done` on the loop, later; NULL for `s`
 * calls it at once. */
void          sweep_stop(struct sweep *s, void (*done)(void *ctx), void *ctx);

/* --- by person ---------------------------------------------------------------------- */

/* Deletes conversations of `name` and takes the name out of stubs: there it becomes "erased-" and
 * random letters, others in each stub, so that nothing leads back to the person and a stub still
 * tells two people apart. Other people's conversations keep who decided in them, and whose payment
 * theirs was a duplicate of. At the end goes what they spent, where they are signed in and what grants
 * they have or gave; what their payments took, and those they said yes to, stays taken, without their
 * name.
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
