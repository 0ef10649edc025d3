/* sandbox_int.h -- the parts of the sandbox that have files of their own. Private to sandbox*.c. */
#ifndef PARLEY_SANDBOX_INT_H
#define PARLEY_SANDBOX_INT_H

#include "tool/process/sandbox.h"

/* landlock.c; 0 and -1 with errno, as the kernel does. */
int landlock_version(void);
int landlock_apply(int abi, const struct sandbox_spec *spec);

const char *const *landlock_system(void); /* what every tool may read; NULL-ended */

/* seccomp.c. The filters fit what else there is; false: the kernel takes none. */
bool seccomp_build(const struct sandbox_caps *caps);
int  seccomp_install(bool network);

#endif
