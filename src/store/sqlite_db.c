/* sqlite_db.c -- one SQLite connection: statements prepared once, values bound by
 * a word of letters, result codes turned into ours. */
#include "store/sqlite_db.h"

#include <errno.h>
#include <stdarg.h>

#include "store/sum.h"

/* Another program (a backup, the sqlite3 shell) may hold the lock for a moment.
 * Longer is told as ERR_BUSY: the writer must not stand still for seconds. */
#define BUSY_MS 250

/* Small caches (2 x 512 KiB): the logs are read rarely and by the kernel's cache anyway.
 * What is deleted is overwritten, whatever SQLite was built to do.
 * The write-ahead log's file is cut back to 8 MiB after a burst. */
#define PRAGMAS                          \
    "PRAGMA cache_size=-512;"            \
    "PRAGMA temp_store=MEMORY;"          \
    "PRAGMA secure_delete=ON;"           \
    "PRAGMA journal_size_limit=8388608;" \
    "PRAGMA trusted_schema=OFF;"

/* Why the system refused: SQLite notes it for the connection, but a failed
 * COMMIT only in the file it could not write, which is the write-ahead log. */
static bool no_space(const struct db *d)
{
    sqlite3_file *wal = NULL;
    int           os = sqlite3_system_errno(d->sql), os_wal = 0;

    if (sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) == SQLITE_OK &&
        wal && wal->pMethods)
        wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &os_wal);
    return os_no_room(os) || os_no_room(os_wal);
}

enum err db_err(const struct db *d, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return OK;
    case SQLITE_FULL: return ERR_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_BUSY;
    case SQLITE_NOMEM: return ERR_NOMEM;
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_NOMEM) return ERR_NOMEM;
        /* A short write is told as FULL by SQLite itself; a sync or growing the -shm file is
         * not. */
        return no_space(d) ? ERR_FULL : ERR_IO;
    }
    return ERR_IO;
}

/* --- life -------------------------------------------------------------------- */

static int on_commit(void *arg, sqlite3 *sql, const char *name, int pages)
{
    struct db *d = arg;
    d->wal_pages = pages;
    return SQLITE_OK;
}

enum err db_open(struct db *d, const char *path, const char *const *text, bool durable)
{
    int      flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    enum err e;

    *d = (struct db){ .text = text };
    buf_init(&d->scratch, 0);
    buf_init(&d->words, 0);
    sum_init();
    e = db_err(d, sqlite3_open_v2(path, &d->sql, flags, durable ? db_wal_vfs() : NULL));
    if (!e) e = db_err(d, sqlite3_busy_timeout(d->sql, BUSY_MS));
    if (!e) e = db_exec(d, PRAGMAS);
    if (!e) e = db_exec(d, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
    /* Moving the log into the file is decided by us: not before it is known to be the file's own,
     * not when it would take too long. */
    if (!e) e = db_err(d, sqlite3_db_config(d->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
    if (!e) sqlite3_wal_hook(d->sql, on_commit, d);
    return e;
}

void db_close(struct db *d)
{
    for (int i = 0; i < DB_STMT_MAX; i++) sqlite3_finalize(d->stmt[i]);
    buf_done(&d->scratch);
    buf_done(&d->words);
    must(sqlite3_close(d->sql) == SQLITE_OK); /* else a statement was forgotten */
    *d = (struct db){ 0 };
}

void db_checkpoint(struct db *d, int least_pages)
{
    int pages = 0, moved = 0;

    if (d->wal_pages < least_pages) return;
    /* It may fail (full disk, a reader in the way): the log stays and the next commit comes here
     * again. */
    if (sqlite3_wal_checkpoint_v2(d->sql, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved) ==
            SQLITE_OK &&
        pages == moved)
        d->new_epoch = true;
}

void db_cut_log(struct db *d)
{
    /* Without waiting: whoever reads an old state now is tried again later. */
    sqlite3_busy_timeout(d->sql, 0);
    if (sqlite3_wal_checkpoint_v2(d->sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK) {
        d->wal_pages = 0;
        d->new_epoch = true;
        d->gone = false;
    }
    sqlite3_busy_timeout(d->sql, BUSY_MS);
}

void db_checkpoint_on_close(struct db *d)
{
    sqlite3_db_config(d->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
}

enum err db_exec(struct db *d, const char *sql)
{
    return db_err(d, sqlite3_exec(d->sql, sql, NULL, NULL, NULL));
}

enum err db_int(struct db *d, const char *sql, int64_t *out)
{
    sqlite3_stmt *st;
    int           rc = sqlite3_prepare_v2(d->sql, sql, -1, &st, NULL);

    if (rc) return db_err(d, rc);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ? ERR_NOT_FOUND : db_err(d, rc);
}

/* --- statements ---------------------------------------------------------------- */

static int bind_text(sqlite3_stmt *st, int i, struct str s, bool null)
{
    if (!s.ptr && null) return sqlite3_bind_null(st, i);
    return sqlite3_bind_text64(st, i, s.ptr ? s.ptr : "", s.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_bytes(sqlite3_stmt *st, int i, struct str s)
{
    if (!s.ptr) return sqlite3_bind_null(st, i);
    return sqlite3_bind_blob64(st, i, s.ptr, s.len, SQLITE_STATIC);
}

static int bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
    int rc = SQLITE_OK;

    for (int i = 1; *types && rc == SQLITE_OK; i++, types++) {
        switch (*types) {
        case 't': rc = bind_text(st, i, va_arg(ap, struct str), true); break;
        case 's': rc = bind_text(st, i, va_arg(ap, struct str), false); break;
        case 'b': rc = bind_bytes(st, i, va_arg(ap, struct str)); break;
        case 'i': rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t)); break;
        default: must(!"type letter");
        }
    }
    return rc;
}

static int prepare(struct db *d, int id)
{
    if (d->stmt[id]) return SQLITE_OK;
    return sqlite3_prepare_v3(d->sql, d->text[id], -1, SQLITE_PREPARE_PERSISTENT, &d->stmt[id],
                              NULL);
}

enum err db_prepare(struct db *d, int count)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < count && !rc; i++) rc = prepare(d, i);
    return db_err(d, rc);
}

static enum err ask(struct db *d, int id, sqlite3_stmt **out, const char *types, va_list ap)
{
    int rc = prepare(d, id);

    if (!rc) rc = bind_all(d->stmt[id], types, ap);
    if (rc) {
        db_end(d->stmt[id]);
        return db_err(d, rc);
    }
    *out = d->stmt[id];
    return OK;
}

enum err db_ask(struct db *d, int id, sqlite3_stmt **out, const char *types, ...)
{
    va_list  ap;
    enum err e;

    va_start(ap, types);
    e = ask(d, id, out, types, ap);
    va_end(ap);
    return e;
}

enum err db_next(struct db *d, sqlite3_stmt *st)
{
    int      rc = sqlite3_step(st);
    enum err e;

    if (rc == SQLITE_ROW) return OK;
    /* before the reset, which forgets the errno */
    e = rc == SQLITE_DONE ? ERR_NOT_FOUND : db_err(d, rc);
    db_end(st);
    return e;
}

void db_end(sqlite3_stmt *st)
{
    if (!st) return; /* it could not even be prepared */
    sqlite3_reset(st);
    sqlite3_clear_bindings(st); /* it must not keep pointing at the caller's texts */
}

enum err db_run(struct db *d, int id, const char *types, ...)
{
    sqlite3_stmt *st;
    va_list       ap;
    enum err      e;

    va_start(ap, types);
    e = ask(d, id, &st, types, ap);
    va_end(ap);
    while (!e) e = db_next(d, st);
    return e == ERR_NOT_FOUND ? OK : e;
}

struct str db_text(sqlite3_stmt *st, int col)
{
    const char *p = (const char *)sqlite3_column_text(st, col);
    return str_n(p, p ? (size_t)sqlite3_column_bytes(st, col) : 0);
}

struct str db_blob(sqlite3_stmt *st, int col)
{
    const void *p = sqlite3_column_blob(st, col);

    if (sqlite3_column_type(st, col) == SQLITE_NULL) return STR_NONE;
    return str_n(p ? p : "", (size_t)sqlite3_column_bytes(st, col));
}

struct chain_mark db_mark(sqlite3_stmt *st, int col)
{
    return (struct chain_mark){ .link = db_blob(st, col + 1),
                                .summed = sqlite3_column_type(st, col) != SQLITE_NULL,
                                .sum = sqlite3_column_int64(st, col),
                                .digest = db_blob(st, col + 2) };
}

struct str db_head(sqlite3_stmt *st, int col)
{
    struct str links = db_blob(st, col);
    return links.len > CHAIN_LEN ? str_from(links, links.len - CHAIN_LEN) : links;
}
