/* sqlite_wal.c -- the write-ahead log is written by the commit, not by the page.
 *
 * SQLite writes each page of a commit with two calls of the system, 24 bytes and 4096, a dozen
 * pages for a small append; that was half of what an append cost. They lie behind each other: here
 * they are gathered and go out in one call, right before the sync.
 *
 *     xWrite  behind what is gathered: gathered too; anywhere else, or too much: written out first
 *     xSync, and everything else that looks at the file or changes it: written out first
 *
 * That loses nothing. With synchronous=FULL, and only then is this used, a commit is told to other
 * connections after its sync, and what is gathered before is nobody's yet: it goes with the process
 * as it would have gone with the transaction. A write that fails is told by the sync instead, with
 * the same code, and the commit fails as it would have.
 *
 * Only the log's file is ours; all others are as the system's own layer below
 * (sqlite3_vfs_find(NULL)) opens them.
 */
#include <string.h>

#include "store/sqlite_db.h"

#define GATHER_MAX (64 * 1024)

struct wal {
    sqlite3_file  base; /* first: it is what SQLite sees */
    sqlite3_file *file; /* the real one */
    char         *bytes;
    int           len;
    sqlite3_int64 at; /* where they belong */
};

static struct wal *wal_of(sqlite3_file *f)
{
    return (struct wal *)(void *)f;
}

/* Whatever comes of it, nothing is gathered any more. */
static int write_out(struct wal *w)
{
    int n = w->len;
    w->len = 0;
    return n ? w->file->pMethods->xWrite(w->file, w->bytes, n, w->at) : SQLITE_OK;
}

static int wal_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(f);

    if (w->len && (at != w->at + w->len || n > GATHER_MAX - w->len)) {
        int rc = write_out(w);
        if (rc) return rc;
    }
    if (!w->bytes) w->bytes = sqlite3_malloc(GATHER_MAX);
    if (!w->bytes || n > GATHER_MAX) return w->file->pMethods->xWrite(w->file, p, n, at);
    if (!w->len) w->at = at;
    memcpy(w->bytes + w->len, p, (size_t)n);
    w->len += n;
    return SQLITE_OK;
}

static int wal_sync(sqlite3_file *f, int flags)
{
    struct wal *w = wal_of(f);
    int         rc = write_out(w);
    return rc ? rc : w->file->pMethods->xSync(w->file, flags);
}

static int wal_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(f);
    int         rc = write_out(w);
    return rc ? rc : w->file->pMethods->xRead(w->file, p, n, at);
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct wal *w = wal_of(f);
    int         rc = write_out(w);
    return rc ? rc : w->file->pMethods->xTruncate(w->file, size);
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *size)
{
    struct wal *w = wal_of(f);
    int         rc = write_out(w);
    return rc ? rc : w->file->pMethods->xFileSize(w->file, size);
}

static int wal_close(sqlite3_file *f)
{
    struct wal *w = wal_of(f);
    int         rc = w->file->pMethods->xClose(w->file); /* what is gathered was not committed */
    sqlite3_free(w->file);
    sqlite3_free(w->bytes);
    return rc;
}

static int wal_lock(sqlite3_file *f, int level)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xLock(r, level);
}
static int wal_unlock(sqlite3_file *f, int level)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xUnlock(r, level);
}
static int wal_locked(sqlite3_file *f, int *out)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xCheckReservedLock(r, out);
}
static int wal_control(sqlite3_file *f, int op, void *arg)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xFileControl(r, op, arg);
}
static int wal_sector(sqlite3_file *f)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xSectorSize(r);
}
static int wal_character(sqlite3_file *f)
{
    sqlite3_file *r = wal_of(f)->file;
    return r->pMethods->xDeviceCharacteristics(r);
}

static const sqlite3_io_methods METHODS = { .iVersion = 1,
                                            .xClose = wal_close,
                                            .xRead = wal_read,
                                            .xWrite = wal_write,
                                            .xTruncate = wal_truncate,
                                            .xSync = wal_sync,
                                            .xFileSize = wal_size,
                                            .xLock = wal_lock,
                                            .xUnlock = wal_unlock,
                                            .xCheckReservedLock = wal_locked,
                                            .xFileControl = wal_control,
                                            .xSectorSize = wal_sector,
                                            .xDeviceCharacteristics = wal_character };

/* --- the layer ---------------------------------------------------------------------------- */

static sqlite3_vfs  ours;
static sqlite3_vfs *real;

static int open_log(const char *name, struct wal *w, int flags, int *out)
{
    *w = (struct wal){ .file = sqlite3_malloc(real->szOsFile) };
    if (!w->file) return SQLITE_NOMEM;
    memset(w->file, 0, (size_t)real->szOsFile);
    int rc = real->xOpen(real, name, w->file, flags, out);
    if (rc) {
        if (w->file->pMethods) w->file->pMethods->xClose(w->file);
        sqlite3_free(w->file);
        return rc;
    }
    w->base.pMethods = &METHODS;
    return SQLITE_OK;
}

static int open_file(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
    (void)v;
    if (flags & SQLITE_OPEN_WAL) return open_log(name, wal_of(f), flags, out);
    return real->xOpen(real, name, f, flags, out);
}

const char *db_wal_vfs(void)
{
    sqlite3_vfs *now = sqlite3_vfs_find(NULL); /* tests lay their own over the system's */

    if (!now || now == real) return now ? ours.zName : NULL;
    sqlite3_vfs_unregister(&ours);
    ours = *now;
    ours.zName = "parley";
    ours.xOpen = open_file;
    if (ours.szOsFile < (int)sizeof(struct wal)) ours.szOsFile = (int)sizeof(struct wal);
    if (sqlite3_vfs_register(&ours, 0) != SQLITE_OK) return NULL;
    real = now;
    return ours.zName;
}
