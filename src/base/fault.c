/* fault.c -- see fault.h. The environment is read at every passage, so that a
 * forked child may choose its own point; passages count from then on. */
#include "base/fault.h"

#ifdef PARLEY_TEST
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_hit(const char *point)
{
    static atomic_long passed;
    const char        *want = getenv("PARLEY_FAULT");
    size_t             len = strlen(point);

    if (!want || strncmp(want, point, len) != 0 || want[len] != ':') return;
    if (atomic_fetch_add(&passed, 1) + 1 == strtol(want + len + 1, NULL, 10)) kill(getpid(), SIGKILL);
}
#else
typedef int fault_is_empty;            /* ISO C wants something in every file */
#endif
