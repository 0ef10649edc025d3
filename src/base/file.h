/* file.h -- files that an operator named.
 *
 * A name may lead to a pipe, a device, a socket or a folder. open() of a pipe waits for whoever
 * comes to its other end, which may be nobody: done on the loop, that is the end of everybody's
 * conversation. So what a configuration or a command line names is opened here, as an ordinary
 * file or not at all; nothing but the disk is ever waited for.
 */
#ifndef PARLEY_FILE_H
#define PARLEY_FILE_H

#include "base/buf.h"

/* open(2) with O_CLOEXEC; what O_CREAT makes is its owner's alone. -1: *why says it in words, and
 * errno is that of open, EISDIR of a folder, or EINVAL of anything else that is no file. */
int         file_open(const char *path, int flags, const char **why);
/* The whole of it, behind what `into` holds, whose cap is the most. NULL, or why not (errno as
 * above; 0: it is too long, or there is no memory). */
const char *file_read(const char *path, struct buf *into);
/* For whoever hands the name to a library, which will open it itself: NULL, or why not (errno
 * likewise). */
const char *file_fault(const char *path);

#endif
