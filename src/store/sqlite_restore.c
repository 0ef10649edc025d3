/* sqlite_restore.c -- a backup takes the store's place: all of it or nothing, and what was there is kept.
 *
 *     copy the backup to PATH.copying, check it          a cut leaves nothing but that copy
 *     rename it to PATH.restoring                        from here on it is decided
 *     PATH-wal to PATH.old-N-wal, remove PATH-shm  \
 *     PATH to PATH.old-N                            }    cut off here, the next start goes on (db_finish_restore)
 *     PATH.restoring to PATH                       /
 *
 * N is the time at which the copy was complete, so that both halves get the same name whoever moves them. The pair
 * PATH.old-N, PATH.old-N-wal is the store as it was, and can itself be restored.
 *
 * The store's own locks are held meanwhile: nothing is restored under a server that runs.
 */
#include "store/sqlite_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct name { char text[PATH_MAX + 48]; };

static struct name beside(const char *path, const char *end)
{
    struct name n;
    snprintf(n.text, sizeof n.text, "%s%s", path, end);
    return n;
}

/* --- the second half -------------------------------------------------------------- */

static struct name old_name(const char *path, const struct stat *copy, const char *end)
{
    struct name n;
    snprintf(n.text, sizeof n.text, "%s.old-%lld%03d%s", path, (long long)copy->st_mtim.tv_sec, (int)(copy->st_mtim.tv_nsec / 1000000), end);
    return n;
}

static enum err move(const char *from, const char *to, struct arena *a, struct str *why)
{
    return rename(from, to) == 0 || errno == ENOENT ? OK : db_refuse_errno(why, a, "move", from);
}

enum err db_finish_restore(const char *path, struct arena *a, struct str *why)
{
    struct name new = beside(path, ".restoring"), log = beside(path, "-wal"), index = beside(path, "-shm");
    struct stat st, old;
    enum err    e;

    if (stat(new.text, &st)) return OK;
    e = move(log.text, old_name(path, &st, "-wal").text, a, why);
    if (e) return e;
    if (unlink(index.text) && errno != ENOENT) return db_refuse_errno(why, a, "remove", index.text);
    if (stat(path, &old) == 0 && old.st_size > 0) e = move(path, old_name(path, &st, "").text, a, why);
    if (!e) e = move(new.text, path, a, why);
    if (!e) db_sync_folder_of(path);
    return e;
}

/* --- the copy --------------------------------------------------------------------- */

static enum err refuse_backup(struct str *why, struct arena *a, const char *from, const char *what)
{
    return db_refuse(why, arena_printf(a, "%s cannot be restored: %s. Nothing was changed", from, what), ERR_TYPE);
}

/* With its own log when it has one (a copy of both files); else as it lies there, maybe on a medium nobody can write to. */
static enum err open_backup(struct db *d, const char *from, struct arena *a, struct str *why)
{
    struct stat st;
    bool        log = stat(beside(from, "-wal").text, &st) == 0 && st.st_size > 0;
    struct str  uri = log ? str_c(from) : db_immutable_uri(a, from);
    int         flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE | (log ? 0 : SQLITE_OPEN_URI);

    if (stat(from, &st)) return db_refuse_errno(why, a, "read", from);
    if (!uri.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if (sqlite3_open_v2(uri.ptr, &d->sql, flags, NULL) != SQLITE_OK) return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    return OK;
}

/* Is it one of ours, that this program understands, and whole? */
static enum err check_backup(struct db *d, const char *from, struct arena *a, struct str *why)
{
    int64_t       app = 0, version = 0;
    sqlite3_stmt *st = NULL;
    struct str    said = STR_NONE;

    if (db_int(d, "PRAGMA application_id", &app) || db_int(d, "PRAGMA user_version", &version))
        return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    if (app != DB_APPLICATION_ID) return refuse_backup(why, a, from, "it is not a store of parley");
    if (version > DB_SCHEMA) return refuse_backup(why, a, from, "it was made by a newer version of parley");
    if (sqlite3_prepare_v2(d->sql, "PRAGMA integrity_check(1)", -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        said = arena_dup(a, db_text(st, 0));
    sqlite3_finalize(st);
    if (!said.ptr) return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    return str_is(said, "ok") ? OK : refuse_backup(why, a, from, arena_printf(a, "it is damaged (" STR_FMT ")", STR_ARG(said)).ptr);
}

static enum err copy_pages(struct db *to, struct db *from)
{
    sqlite3_backup *b = sqlite3_backup_init(to->sql, "main", from->sql, "main");

    if (!b) return db_err(to, sqlite3_errcode(to->sql));
    sqlite3_backup_step(b, -1);
    return db_err(to, sqlite3_backup_finish(b));
}

/* A copy is a store of its own from here on: a log of the one it was taken from must not fit it. */
static enum err finish_copy(struct db *d, uint64_t *threads)
{
    int64_t  n = 0, version = 0;
    enum err e = db_exec(d, "PRAGMA journal_mode=DELETE");

    if (!e) e = db_int(d, "PRAGMA user_version", &version);
    if (!e && version >= 2) e = db_exec(d, "UPDATE store SET epoch = (random() & 9223372036854775807) | 1, base = 0");
    if (!e) e = db_int(d, "SELECT count(*) FROM thread", &n);
    *threads = (uint64_t)n;
    return e;
}

static enum err sync_file(const char *path)
{
    int  fd = open(path, O_RDWR | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0) close(fd);
    return good ? OK : ERR_IO;
}

static enum err copy_backup(const char *from, const char *to, struct arena *a, uint64_t *threads, struct str *why)
{
    struct db in = { 0 }, out = { 0 };
    int       fd;
    enum err  e = open_backup(&in, from, a, why);

    if (!e) e = check_backup(&in, from, a, why);
    if (e) goto done;
    unlink(to);                        /* of an earlier try that was cut off */
    fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        e = db_refuse_errno(why, a, "make", to);
        goto done;
    }
    close(fd);
    e = db_err(&out, sqlite3_open_v2(to, &out.sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL));
    if (!e) e = copy_pages(&out, &in);
    if (!e) e = finish_copy(&out, threads);
    if (e) db_refuse(why, arena_printf(a, "cannot write %s: %s. Nothing was changed", to, sqlite3_errmsg(out.sql)), e);
done:
    sqlite3_close(out.sql);
    sqlite3_close(in.sql);
    if (!e && (e = sync_file(to))) db_refuse_errno(why, a, "write", to);
    if (e) unlink(to);
    return e;
}

/* --- the whole -------------------------------------------------------------------- */

/* The lock is held. */
static enum err replace(const struct db_file *f, const char *from, struct arena *a, struct store_restored *out, struct str *why)
{
    struct name copy = beside(f->path, ".copying"), new = beside(f->path, ".restoring");
    struct stat st, old, theirs;
    bool        was = fstat(f->file_fd, &old) == 0 && old.st_size > 0;
    enum err    e;

    if (stat(from, &theirs) == 0 && was && theirs.st_dev == old.st_dev && theirs.st_ino == old.st_ino)
        return db_refuse(why, arena_printf(a, "%s is the store itself, not a backup of it", from), ERR_EXISTS);
    e = copy_backup(from, copy.text, a, &out->threads, why);
    if (e) return e;
    if (stat(copy.text, &st)) return db_refuse_errno(why, a, "read", copy.text);
    e = move(copy.text, new.text, a, why);
    if (e) return e;
    db_sync_folder_of(f->path);
    e = db_finish_restore(f->path, a, why);
    out->path = arena_dup(a, str_c(f->path));
    out->kept = was ? arena_dup(a, str_c(old_name(f->path, &st, "").text)) : STR_NONE;
    return e;
}

/* Looking for the store made an empty file where there was none. */
static void remove_if_empty(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size == 0) unlink(path);
}

enum err store_restore(struct str url, struct str from, struct arena *a, struct store_restored *out, struct str *why)
{
    struct str     path = arena_dup(a, from);
    struct db_file f;
    enum err       e;

    *out = (struct store_restored){ 0 };
    if (!path.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    e = db_file_open(&f, url, a, why);
    if (e) return e;
    e = f.temporary ? db_refuse(why, STR("a store in memory cannot be restored; name a file"), ERR_UNSUPPORTED)
                    : replace(&f, path.ptr, a, out, why);
    if (e) remove_if_empty(f.path);
    db_file_close(&f);
    return e;
}
