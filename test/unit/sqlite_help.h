/* sqlite_help.h -- a store in a file of its own, and SQL behind its back. */
#ifndef PARLEY_SQLITE_HELP_H
#define PARLEY_SQLITE_HELP_H

#include "store/sqlite_db.h"
#include "store_help.h"
#include "test.h"

extern char path[256]; /* of the newest store */

const char *new_path(void);
void        sqlite_begin(struct fix *f); /* a store at a new path */
sqlite3    *open_raw(const char *sql);   /* what `path` names, after these words */
void        run_raw(const char *sql);

#endif
