/* sqlite_db.h -- private to the SQLite store: what its files share.
 *
 *   sqlite.c         store.h itself: the two threads, their queues, the answers
 *   sqlite_file.c    the path, its lock, the schema and its upgrades
 *   sqlite_db.c      one connection: statements, binding, error codes
 *   sqlite_write.c   what the writer thread does with a batch
 *   sqlite_read.c    what the reader thread does with a request
 *   sqlite_fault.c   in test builds: writes, syncs and memory that fail when told to
 *
 * A struct db is used by one thread at a time: opened and closed by the loop
 * thread, in between by its own worker only. So it has no lock.
 */
#ifndef PARLEY_SQLITE_DB_H
#define PARLEY_SQLITE_DB_H

#include <sqlite3.h>

#include "store/store.h"

/* --- a connection (sqlite_db.c) ----------------------------------------------- */

#define DB_STMT_MAX 32

struct db {
    sqlite3           *sql;
    const char *const *text;                 /* SQL of each statement; prepared when first used */
    sqlite3_stmt      *stmt[DB_STMT_MAX];
    int                wal_pages;            /* length of the write-ahead log after the last commit */
};

/* db_close it also when this fails; sqlite3_errmsg(d->sql) says why until then. */
MUST_CHECK enum err db_open(struct db *d, const char *path, const char *const *text, bool durable);
/* Prepares the first `count` statements now: a rollback must not depend on memory. */
MUST_CHECK enum err db_prepare(struct db *d, int count);
void db_close(struct db *d);
enum err db_err(const struct db *d, int rc);                      /* what an SQLite result code means to us */
MUST_CHECK enum err db_exec(struct db *d, const char *sql);
MUST_CHECK enum err db_int(struct db *d, const char *sql, int64_t *out);   /* first column of the first row */
void db_checkpoint(struct db *d);            /* moves the write-ahead log into the file when it is long */

/* `types` has a letter per value: t (struct str, STR_NONE is NULL), s (struct
 * str, STR_NONE is ""), i (int64_t). Texts are borrowed until the statement ends. */
MUST_CHECK enum err db_run(struct db *d, int stmt, const char *types, ...);       /* to its end */
MUST_CHECK enum err db_ask(struct db *d, int stmt, sqlite3_stmt **out, const char *types, ...);
/* OK: a row. ERR_NOT_FOUND: no more. After anything but a row the statement has ended by itself. */
MUST_CHECK enum err db_next(struct db *d, sqlite3_stmt *st);
void db_end(sqlite3_stmt *st);               /* when leaving before that */
struct str db_text(sqlite3_stmt *st, int col);                    /* valid until the next db_next or db_end */

/* --- the file (sqlite_file.c) --------------------------------------------------- */

struct db_file {
    char *path;                              /* absolute; owned */
    int   lock_fd;                           /* holds the flock on "<path>-lock" */
    bool  temporary;                         /* "sqlite::memory:": removed when closed */
};

#define DB_SCHEMA 1                          /* the version this program writes */

MUST_CHECK enum err db_file_open(struct db_file *f, struct str url, struct arena *a, struct str *why);
void db_file_close(struct db_file *f);
/* Brings the schema to DB_SCHEMA, one transaction per step. */
MUST_CHECK enum err db_upgrade(struct db *d, const char *path, struct arena *a, struct str *why);

#ifdef PARLEY_TEST
void db_faults(void);                        /* before the first use of SQLite */
#endif

/* --- work (sqlite_write.c, sqlite_read.c) ------------------------------------------ */

enum job_kind { JOB_APPEND, JOB_EDIT, JOB_READ, JOB_LIST, JOB_HEALED };

#define JOB_OF(j, type)   LIST_ITEM(j, type, job)
#define JOB_AT(n)         LIST_ITEM(n, struct store_job, node)

extern const char *const db_write_sql[], *const db_read_sql[];
#define DB_WRITE_SQL_COUNT 19
#define DB_READ_SQL_COUNT 9                                       /* of the fixed ones; the approvals' come after them */

/* One transaction for the whole batch (appends and edits); afterwards every job has its result. */
void db_commit(struct db *d, struct list *batch);
/* Fails those of `jobs` that build on `failed` (see store.h). */
void db_doom(struct list *jobs, struct store_job *failed);
/* Can we write? Commits one page. */
MUST_CHECK enum err db_probe(struct db *d);

/* Fill in the request and its job's result; texts are copied into its arena. */
void db_read(struct db *d, struct store_read *r);
void db_list(struct db *d, struct store_list *l);
MUST_CHECK enum err db_add_functions(struct db *d);               /* for db_list */
#define DB_APPROVALS_SQL_MAX 640
enum { BY_OWNER = 1, BY_STATUS = 2, BY_THREAD = 4, BY_ID = 8, BY_ALL = 15 };
void db_approvals_sql(int by, char out[DB_APPROVALS_SQL_MAX]);    /* the approvals list with that set of filters */

#endif
