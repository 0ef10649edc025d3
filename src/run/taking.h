/* taking.h -- what a batch takes (store.h), and what could not be had.
 *
 * Whoever adds a fact that rests on a taking adds the taking to the same batch. When it cannot be
 * had nothing of the batch happens; the log is read again, and who decides finds here, under the
 * call it was for, what stood in the way: then the call ends or is asked about instead of started.
 * The notes are forgotten with the next append that succeeds, and hold nothing true for longer than
 * that: a process that dies in between tries again and is refused again.
 */
#ifndef PARLEY_TAKING_H
#define PARLEY_TAKING_H

#include "run/engine.h"

/* Beyond these a batch is refused (ERR_FULL): a step has at most 32 calls, each with a few. */
#define BATCH_TAKES 160

/* Copies it and its texts into the batch. */
MUST_CHECK enum err thread_take(struct thread *t, const struct store_take *k);

/* ERR_TAKEN was told: for which call, and what is there. Without memory nothing is noted, and the
 * same is tried again. */
void taking_note(struct thread *t, struct str call, struct str key, const struct store_stock *row);
/* What stood in the way of this call under a key of this kind; NULL: nothing that is known. */
const struct store_stock *taking_found(const struct thread *t, struct str call, const char *kind);
bool                      taking_refused(const struct thread *t, struct str call, struct str key);
struct store_stock        taking_copy(struct arena *a, const struct store_stock *row);
void                      taking_forget(struct thread *t);

#endif
