/* covers.h -- would somebody who may read this file or folder also read that file?
 *
 * Paths are names, and a file can have several: by links, and by the same folder
 * being mounted in two places. So folders are compared by what they are
 * (device and inode), with those in which the secret lies, and so is every mount below.
 */
#ifndef PARLEY_COVERS_H
#define PARLEY_COVERS_H

#include <stdbool.h>

/* `readable`: a file or folder. Both are absolute and need not exist (yet). What begins
 * with the secret's name beside it counts as the secret: the store's log, its ledger, its work
 * directory. When in doubt (no memory, a path that cannot be looked at) it is covered. */
bool covers(const char *readable, const char *secret);

#endif
