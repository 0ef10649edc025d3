/* sandbox_int.h -- the parts of the sandbox that have files of their own. Private to sandbox*.c. */
#ifndef PARLEY_SANDBOX_INT_H
#define PARLEY_SANDBOX_INT_H

#include "tool/sandbox.h"

/* landlock.c; 0 and -1 with errno, as the kernel does. */
int landlock_version(void);
int landlock_apply(int abi, const struct sandbox_spec *spec);

/* seccomp.c */
bool seccomp_known_arch(void);
int  seccomp_apply(bool network);

#endif
