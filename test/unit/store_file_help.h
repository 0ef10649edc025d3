/* store_file_help.h -- a store in a file of its own, and what can be done to that file behind its
 * back. */
#ifndef PARLEY_STORE_FILE_HELP_H
#define PARLEY_STORE_FILE_HELP_H

#include "store/sqlite_db.h"
#include "store_help.h"
#include "test.h"

extern char file_path[256]; /* of the file that this test is about */

const char *file_new(void); /* another path, with nothing there */
void        file_begin(struct fix *f);
/* The name of a file beside the store's; two may be used in one expression. */
const char *file_beside(const char *end);
void        file_copy(const char *from, const char *to);
bool        file_there(const char *name);
void        file_sql(const char *file, const char *sql);
/* What a disk may do to a row; the store has it open. */
void        file_damage(const char *set);
/* Makes a store, a backup of it by `how`, more words than a log holds, and a crash; then the backup
 * is put in place by hand. */
void        file_backup_over_crash(const char *how);
/* A store as the version before made it: the same tables without what came since. */
void        file_old(void);

/* Appends "from" to "to - 1" to one log. */
void       file_say(struct fix *f, int from, int to);
/* Enough for the log to be moved into the file and to begin anew. */
void       file_fill(struct fix *f, const char *thread);
/* A log that waits for a person until then; and the first one that is due. */
void       file_ask(struct fix *f, const char *thread, const char *id, int64_t expires_ms);
struct str file_due(struct fix *f);

#endif
