/* fault.h -- faults that a test orders: an end at a named point, memory that is
 * refused, a disk that says no.
 *
 *     PARLEY_FAULT="store.before_commit:3"   ends the process at the third passage of that point,
 *     as kill -9 would
 *     PARLEY_FAULT="mem:100"                 the 100th allocation fails
 *     PARLEY_FAULT="mem:100+"                that one and all after it
 *     PARLEY_FAULT="write:2=ENOSPC"          the second write to the store's files fails with this
 *     (EIO without a word)
 *     PARLEY_FAULT="fsync:1+=EIO"            syncs fail from the first on, those of the payment
 *     ledger too
 *     PARLEY_FAULT="fsync:1+=SLOW"           each takes two seconds and then goes well
 *     PARLEY_FAULT="fsync:20=STALL"          the 20th never comes back
 *
 * Passages count from the order on. A process takes its first order from its
 * environment, later ones from the file that PARLEY_FAULT_FILE names, whenever it
 * gets SIGUSR2; an empty one takes the last back. At each change it says on
 * stderr how the last one went: {"level":"info","event":"fault.order","passed":17,"hit":true}.
 *
 * The points are wherever fault_hit("...") stands in src/; the tests in test/fault find
 * them there and visit each, so a new one needs nothing but its line. They belong
 * where responsibility changes hands: wish, fact, commit, act, tell.
 * Allocations are those of mem_alloc, mem_realloc and of SQLite (store/sqlite_fault.c).
 *
 * Only in builds with -Dtests=true; elsewhere all of this is nothing at all.
 */
#ifndef PARLEY_FAULT_H
#define PARLEY_FAULT_H

#ifdef PARLEY_TEST
#include <stdbool.h>

void fault_hit(const char *point); /* from any thread */
/* the same for things that can fail: true, and errno is set */
bool fault_fails(const char *what);
void fault_order(const char *order); /* as in the environment; "" for none */
#else
#define fault_hit(point)  ((void)0)
#define fault_fails(what) false
#endif

#endif
