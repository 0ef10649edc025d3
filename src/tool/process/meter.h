/* meter.h -- what the processes below one process use together.
 *
 * Rlimits count per process; sixty-four processes of one tool would have
 * sixty-four times the memory. meter_scan looks at all processes once, and what
 * is asked afterwards is about that moment. A tool can be fast between two looks: what one
 * process can have at most is the rlimit's matter, what all keep is this one's.
 *
 * The keeper's; never on the loop.
 */
#ifndef PARLEY_METER_H
#define PARLEY_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct meter_process {
    pid_t pid, parent;
};
struct meter {                 /* starts as zeros */
    struct meter_process *all; /* by pid */
    size_t                count, room;
};

bool     meter_scan(struct meter *m); /* false: no memory, no /proc */
/* Bytes of memory that only these processes have: their own and shared pages, in memory or swapped;
 * those of files are not counted. What several share is counted once, exactly when the sum is
 * beyond `limit`. */
uint64_t meter_memory(const struct meter *m, pid_t root, uint64_t limit);
/* Bytes of disk in `dir`, and in files that are deleted and still open. UINT64_MAX: too many or too
 * deep to look at. */
uint64_t meter_work(const struct meter *m, pid_t root, const char *dir, uint64_t limit);

#endif
