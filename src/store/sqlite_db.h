/* sqlite_db.h -- private to the SQLite store: what its files share.
 *
 *   sqlite.c         the store itself: the threads, their queues, the answers
 *   sqlite_file.c    the path, its locks, the schema and its upgrades
 *   sqlite_pair.c    whether the write-ahead log that is there belongs to the file
 *   sqlite_restore.c a backup is made, or takes the store's place
 *   sqlite_move.c    the file as a side of `parley move`
 *   sqlite_db.c      one connection: statements, binding, error codes
 *   sqlite_write.c   what the writer thread does with a batch
 *   sqlite_erase.c   ... of removals, of words that go, and of checkpoints
 *   sqlite_said.c    ... and when there is none: the index of what was said, and what both indexes
 *                    are to be rid of
 *   sqlite_read.c    what the reader thread does with a request
 *   sqlite_find.c    ... and the finder with a search
 *   sqlite_walk.c    all of it, for whoever looks at everything
 *   sqlite_sound.c   ... and whether a server finds it there
 *   sqlite_fault.c   in test builds: writes, syncs and memory that fail when told to
 *
 * A struct db is used by one thread at a time: opened and closed by the loop
 * thread, in between by its own worker only. So it has no lock.
 */
#ifndef PARLEY_SQLITE_DB_H
#define PARLEY_SQLITE_DB_H

#include <sqlite3.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "store/links.h"
#include "store/rows.h"
#include "store/store_ops.h"

/* --- a connection (sqlite_db.c) ----------------------------------------------- */

#define DB_STMT_MAX 80
enum { DB_TITLES, DB_SAID, DB_INDEXES }; /* of titles, of what was said */

struct db {
    sqlite3           *sql;
    const char *const *text; /* SQL of each statement; prepared when first used */
    sqlite3_stmt      *stmt[DB_STMT_MAX];
    /* length of the write-ahead log after the last commit */
    int                wal_pages;
    struct damaged     damaged; /* the reader's */
    /* all of it is in the file: the next commit begins a new epoch (sqlite_pair.c) */
    bool               new_epoch;
    /* words were deleted since it was cut: they stand in it until it is */
    bool               gone;
    /* the writer's: kept here, because the file may come to say something else */
    int64_t            epoch, base;
    /* the writer's: up to which thread titles are in the index (sqlite_write.c), the newest one of
     * the batch, and where that index will be when the batch is committed */
    int64_t            titled, newest, titling;
    struct buf         scratch; /* the writer's: links and digests of an append, of a removal */
    struct buf         words;   /* the writer's: of a fact that goes into the index or out of it */
    /* the writer's: when each index was last rid of what had gone, and whether that is going on */
    struct db_rid {
        uint64_t at_ns;
        bool     on;
    } rid[DB_INDEXES];
};

/* db_close it also when this fails; sqlite3_errmsg(d->sql) says why until then. */
MUST_CHECK enum err db_open(struct db *d, const char *path, const char *const *text, bool durable);
/* Prepares the first `count` statements now: a rollback must not depend on memory. */
MUST_CHECK enum err db_prepare(struct db *d, int count);
void                db_close(struct db *d);
/* what an SQLite result code means to us */
enum err            db_err(const struct db *d, int rc);
MUST_CHECK enum err db_exec(struct db *d, const char *sql);
/* first column of the first row */
MUST_CHECK enum err db_int(struct db *d, const char *sql, int64_t *out);
/* moves the write-ahead log into the file when it is that long */
void                db_checkpoint(struct db *d, int least_pages);
/* the same to its end, and the log's file is cut to nothing; not while anybody reads */
void                db_cut_log(struct db *d);
/* the last one to be closed does so then, and removes it */
void                db_checkpoint_on_close(struct db *d);

/* `types` has a letter per value: t (struct str, STR_NONE is NULL), s (struct
 * str, STR_NONE is ""), b (struct str: bytes, STR_NONE is NULL), i (int64_t). Texts are borrowed
 * until the statement ends. */
MUST_CHECK enum err db_run(struct db *d, int stmt, const char *types, ...); /* to its end */
MUST_CHECK enum err db_ask(struct db *d, int stmt, sqlite3_stmt **out, const char *types, ...);
/* OK: a row. ERR_NOT_FOUND: no more. After anything but a row the statement has ended by itself. */
MUST_CHECK enum err db_next(struct db *d, sqlite3_stmt *st);
void                db_end(sqlite3_stmt *st); /* when leaving before that */
/* valid until the next db_next or db_end */
struct str          db_text(sqlite3_stmt *st, int col);
struct str          db_blob(sqlite3_stmt *st, int col);
/* what stands beside a fact: in `col` its sum, behind that its link and its digest */
struct chain_mark   db_mark(sqlite3_stmt *st, int col);
/* of a log's `links`; STR_NONE: there is none */
struct str          db_head(sqlite3_stmt *st, int col);

/* --- the file (sqlite_file.c) --------------------------------------------------- */

#define DB_OWN_FILES 3 /* the file, its write-ahead log and that one's index */

struct db_file {
    char *path;      /* absolute; owned */
    int   lock_fd;   /* holds the flock on "<path>-lock" */
    int   file_fd;   /* holds the lock on the file itself */
    bool  temporary; /* "sqlite::memory:": removed when closed */
    bool  made;      /* there was none by this name */
    struct db_own {
        dev_t dev;
        ino_t ino;
    } own[DB_OWN_FILES];
    /* of the file when it was last known to be ours */
    struct timespec changed;
    off_t           size;
    /* it certainly was; for good, since some of it may be in SQLite's caches */
    bool            overwritten;
};

#define DB_SCHEMA         15         /* the version this program writes */
#define DB_APPLICATION_ID 1886547065 /* "prly": tells our files from other programs' */

/* Sentences for people: *why is the sentence, or that memory ran out; returns e. */
enum err db_refuse(struct str *why, struct str sentence, enum err e);
enum err db_refuse_errno(struct str *why, struct arena *a, const char *what, const char *path);
/* Before SQLite opens it, which would wait at a pipe: is it an ordinary file? */
MUST_CHECK enum err db_check_file(const char *what, const char *path, struct arena *a,
                                  struct str *why);

MUST_CHECK enum err db_file_open(struct db_file *f, struct str url, struct arena *a,
                                 struct str *why);
void                db_file_close(struct db_file *f);
/* Is there less room than anybody should count on? See DB_RESERVE. From any thread. */
bool                db_file_low(const struct db_file *f);
/* Below this, and below a twentieth of the file system, a disk counts as full: enough for the log
 * to be moved into the file once. */
#define DB_RESERVE (16 << 20)
/* Remembers which files SQLite has open (all three are there after its first read). ERR_GONE: not
 * the ones we locked. */
MUST_CHECK enum err db_file_note(struct db_file *f);
/* ERR_GONE: one of them was removed, another stands in its place, or other bytes were put into it;
 * what is committed now, nobody will find. What could not be looked at is not gone: ERR_NOMEM
 * (memory, descriptors), ERR_IO. `d`: the writer, on its thread. A few calls to the system, and a
 * look into the file when it has changed since the last time. */
MUST_CHECK enum err db_file_check(struct db_file *f, const struct db *d);
/* a new name survives power loss only when its folder is synced too */
void                db_sync_folder_of(const char *path);

/* --- file and log belong together (sqlite_pair.c) -------------------------------- */

struct db_raw {      /* the file without its write-ahead log */
    bool    has_log; /* there is one, and it is not empty */
    bool    known;   /* the rest could be read */
    int     version;
    int64_t epoch;
};

/* Before SQLite opens the file. ERR_CONFLICT: certainly not its log. */
MUST_CHECK enum err db_pair_look(const struct db_file *f, struct db_raw *raw, struct arena *a,
                                 struct str *why);
/* Is what lies there now still the writer's file, and its log as long as it must be? ERR_GONE:
 * not. A file that is half moved (readers or a full disk stop a checkpoint) still is. Else as
 * db_file_check. */
MUST_CHECK enum err db_pair_still(struct db_file *f, const struct db *d);
/* With the log in view, before anything of it is moved into the file. ERR_CONFLICT as above. */
MUST_CHECK enum err db_pair_check(struct db *d, const struct db_raw *raw, int64_t version,
                                  const char *path, struct arena *a, struct str *why);
/* "file:..." for opening what is at `path` as it lies there, without a log and without leaving a
 * trace; in `a`. */
struct str          db_immutable_uri(struct arena *a, const char *path);

/* From version n to n + 1; what was once released is never changed. */
extern const char *const db_upgrades[DB_SCHEMA];
/* Brings the schema to DB_SCHEMA, one transaction per step. */
MUST_CHECK enum err      db_upgrade(struct db *d, const struct db_raw *raw, const char *path,
                                    struct arena *a, struct str *why);

/* Completes a restore that was cut off (sqlite_restore.c); nothing to do most times. Under the
 * name's lock. */
MUST_CHECK enum err db_finish_restore(const char *path, struct arena *a, struct str *why);

/* A file that is whole gets its name, unless that has been taken meanwhile. */
MUST_CHECK enum err db_name_new(const char *part, const char *to, struct arena *a, struct str *why);

/* --- sqlite_wal.c --- */
/* The name of a layer over the system's that writes a commit's pages in one call. For connections
 * with synchronous=FULL alone. NULL: there is only the system's. */
const char *db_wal_vfs(void);

#ifdef PARLEY_TEST
void db_faults(void); /* before the first use of SQLite */
#endif

/* --- work (sqlite_write.c, sqlite_read.c, sqlite_find.c) ---------------------------- */

extern const char *const db_write_sql[], *const db_read_sql[];
#define DB_WRITE_SQL_COUNT 80
#define DB_READ_SQL_COUNT  34 /* of the fixed ones; the approvals' come after them */

/* One transaction for the whole batch (appends, edits, sessions); afterwards every job has its
 * result. */
void                db_commit(struct db *d, struct list *batch);
/* Can we write? Commits one page. */
MUST_CHECK enum err db_probe(struct db *d);
/* The index of what was said, brought forward by a piece, or one of both rid of a piece of what has
 * gone, in a transaction of its own; when there is nothing else to do. *more: there is another
 * piece. */
MUST_CHECK enum err db_index(struct db *d, bool *more);
/* After opening: is the index that of these facts? Else it begins anew. */
MUST_CHECK enum err db_index_check(struct db *d);

/* Fill in the request and its job's result; texts are copied into its arena. */
void db_read(struct db *d, struct store_read *r);
void db_list(struct db *d, struct store_list *l);
void db_session_get(struct db *d, struct store_session *x);
/* STORE_THREADS with `search`: a part of the work. False: not done yet, call again. */
bool db_find(struct db *d, struct store_list *l);
#define DB_APPROVALS_SQL_MAX 640
enum { BY_OWNER = 1, BY_STATUS = 2, BY_THREAD = 4, BY_ID = 8, BY_ALL = 15 };
/* the approvals list with that set of filters */
void db_approvals_sql(int by, char out[DB_APPROVALS_SQL_MAX]);

#endif
