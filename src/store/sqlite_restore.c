/* sqlite_restore.c -- a backup takes the store's place: all of it or nothing, and what was there is
 * kept.
 *
 *     copy the backup to PATH.copying, check it          a cut leaves nothing but that copy
 *     rename it to PATH.restoring                        from here on it is decided
 *     PATH-wal to PATH.old-N-wal, remove PATH-shm  \
 *     PATH to PATH.old-N                            }    cut off here, the next start goes on
 *     (db_finish_restore)
 *     PATH.restoring to PATH                       /
 *
 * N is the time at which the copy was complete, so that both halves get the same name whoever moves
 * them. The pair PATH.old-N, PATH.old-N-wal is the store as it was, and can itself be restored.
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

#include "store/sum.h"

struct name {
    char text[PATH_MAX + 48];
};

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
    snprintf(n.text, sizeof n.text, "%s.old-%lld%03d%s", path, (long long)copy->st_mtim.tv_sec,
             (int)(copy->st_mtim.tv_nsec / 1000000), end);
    return n;
}

static enum err move(const char *from, const char *to, struct arena *a, struct str *why)
{
    return rename(from, to) == 0 || errno == ENOENT ? OK : db_refuse_errno(why, a, "move", from);
}

enum err db_finish_restore(const char *path, struct arena *a, struct str *why)
{
    struct name new = beside(path, ".restoring"), log = beside(path, "-wal"),
                index = beside(path, "-shm");
    struct stat st, old;
    enum err    e;

    if (stat(new.text, &st)) return OK;
    e = move(log.text, old_name(path, &st, "-wal").text, a, why);
    if (e) return e;
    if (unlink(index.text) && errno != ENOENT) return db_refuse_errno(why, a, "remove", index.text);
    if (stat(path, &old) == 0 && old.st_size > 0)
        e = move(path, old_name(path, &st, "").text, a, why);
    if (!e) e = move(new.text, path, a, why);
    if (!e) db_sync_folder_of(path);
    return e;
}

/* --- the copy --------------------------------------------------------------------- */

static enum err refuse_backup(struct str *why, struct arena *a, const char *from, const char *what)
{
    return db_refuse(why,
                     arena_printf(a, "%s cannot be restored: %s. Nothing was changed", from, what),
                     ERR_TYPE);
}

/* With its own log when it has one (a copy of both files); else as it lies there, maybe on a medium
 * nobody can write to. */
static enum err open_backup(struct db *d, const char *from, struct arena *a, struct str *why)
{
    struct stat st;
    bool        log = stat(beside(from, "-wal").text, &st) == 0 && st.st_size > 0;
    struct str  uri = log ? str_c(from) : db_immutable_uri(a, from);
    int         flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE | (log ? 0 : SQLITE_OPEN_URI);

    if (stat(from, &st)) return db_refuse_errno(why, a, "read", from);
    if (!uri.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if (sqlite3_open_v2(uri.ptr, &d->sql, flags, NULL) != SQLITE_OK)
        return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
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
    if (version > DB_SCHEMA)
        return refuse_backup(why, a, from, "it was made by a newer version of parley");
    if (sqlite3_prepare_v2(d->sql, "PRAGMA integrity_check(1)", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        said = arena_dup(a, db_text(st, 0));
    sqlite3_finalize(st);
    if (!said.ptr) return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    return str_is(said, "ok")
               ? OK
               : refuse_backup(why, a, from,
                               arena_printf(a, "it is damaged (" STR_FMT ")", STR_ARG(said)).ptr);
}

/* Conversations of which something is not what was saved, and the names of the first few. */
struct damage {
    uint64_t   count;
    int64_t    last;
    struct str names;
};
#define DAMAGE_NAMED 5

static void note_damage(struct damage *g, int64_t thread, struct str name, struct arena *a)
{
    if (g->last == thread) return;
    g->last = thread;
    if (g->count++ < DAMAGE_NAMED)
        g->names = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(g->names),
                                g->count > 1 ? ", " : "", STR_ARG(name));
    else if (g->count == DAMAGE_NAMED + 1)
        g->names = arena_printf(a, STR_FMT " and others", STR_ARG(g->names));
}

/* Row by row, those of one conversation behind each other. Its facts are 1, 2 ... to the thread's
 * own seq. */
#define EVERY_ROW                                                                             \
    "SELECT t.id, t.owner, t.name, t.seq, f.seq, f.at_ms, f.kind, f.body, f.sum,"             \
    " (SELECT max(seq) FROM fact c WHERE c.thread = t.id) FROM thread t LEFT JOIN fact f ON " \
    "f.thread = t.id ORDER BY t.id, f.seq"
#define EVERY_APPROVAL                                                                       \
    "SELECT t.id, a.owner, t.name, a.id, a.call, a.tool, a.status, a.body, a.requested_ms, " \
    "a.expires_ms, a.sum"                                                                    \
    " FROM approval a JOIN thread t ON t.id = a.thread ORDER BY t.id"

static bool fact_is_sound(sqlite3_stmt *st, uint64_t want)
{
    struct log_name   log = { db_text(st, 1), db_text(st, 2) };
    struct store_fact f = { (uint64_t)sqlite3_column_int64(st, 4), sqlite3_column_int64(st, 5),
                            db_text(st, 6), db_text(st, 7) };

    if (sqlite3_column_int64(st, 3) != sqlite3_column_int64(st, 9) || f.seq != want) return false;
    return sqlite3_column_type(st, 8) == SQLITE_NULL ||
           sqlite3_column_int64(st, 8) == db_fact_sum(log, &f);
}

static bool approval_is_sound(sqlite3_stmt *st)
{
    struct log_name       log = { db_text(st, 1), db_text(st, 2) };
    struct store_approval p = { .id = db_text(st, 3),
                                .call = db_text(st, 4),
                                .tool = db_text(st, 5),
                                .status = db_text(st, 6),
                                .body = db_text(st, 7),
                                .requested_ms = sqlite3_column_int64(st, 8),
                                .expires_ms = sqlite3_column_int64(st, 9) };

    return sqlite3_column_type(st, 10) == SQLITE_NULL ||
           sqlite3_column_int64(st, 10) == db_approval_sum(log, &p);
}

static enum err look_at_rows(struct db *d, bool approvals, struct damage *g, struct arena *a)
{
    sqlite3_stmt *st = NULL;
    int64_t       thread = 0;
    uint64_t      seq = 0;
    int rc = sqlite3_prepare_v2(d->sql, approvals ? EVERY_APPROVAL : EVERY_ROW, -1, &st, NULL);

    g->last = 0;
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(st, 0);
        seq = id == thread ? seq + 1 : 1;
        thread = id;
        if (!(approvals ? approval_is_sound(st) : fact_is_sound(st, seq)))
            note_damage(g, id, db_text(st, 2), a);
    }
    rc = sqlite3_finalize(st);
    return db_err(d, rc);
}

/* Every checksum. What versions before schema 2 made has none. */
static enum err check_sums(struct db *d, const char *from, bool anyway, struct arena *a,
                           uint64_t *damaged, struct str *why)
{
    struct damage facts = { .names = STR("") }, approvals = { .names = STR("") };
    int64_t       version = 0;

    sum_init();
    if (db_int(d, "PRAGMA user_version", &version))
        return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    if (version < 2) return OK;
    if (look_at_rows(d, false, &facts, a) || look_at_rows(d, true, &approvals, a))
        return refuse_backup(why, a, from, sqlite3_errmsg(d->sql));
    *damaged = facts.count + approvals.count;
    if (anyway || !*damaged) return OK;
    return db_refuse(
        why,
        arena_printf(a,
                     "%s is damaged: %llu conversations (" STR_FMT
                     ") and approvals of %llu (" STR_FMT ") are not what was saved. "
                     "Nothing was changed. Take another backup; if there is none better, `parley "
                     "restore --anyway` brings it with them, and they are answered as damaged",
                     from, (unsigned long long)facts.count, STR_ARG(facts.names),
                     (unsigned long long)approvals.count, STR_ARG(approvals.names)),
        ERR_DAMAGED);
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
    if (!e && version >= 2)
        e = db_exec(d, "UPDATE store SET epoch = (random() & 9223372036854775807) | 1, base = 0");
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

static enum err copy_backup(const char *from, const char *to, bool anyway, struct arena *a,
                            struct store_restored *did, struct str *why)
{
    struct db in = { 0 }, out = { 0 };
    int       fd;
    enum err  e = open_backup(&in, from, a, why);

    if (!e) e = check_backup(&in, from, a, why);
    if (!e) e = check_sums(&in, from, anyway, a, &did->damaged, why);
    if (e) goto done;
    unlink(to); /* of an earlier try that was cut off */
    fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        e = db_refuse_errno(why, a, "make", to);
        goto done;
    }
    close(fd);
    e = db_err(&out,
               sqlite3_open_v2(to, &out.sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL));
    if (!e) e = copy_pages(&out, &in);
    if (!e) e = finish_copy(&out, &did->threads);
    if (e)
        db_refuse(why,
                  arena_printf(a, "cannot write %s: %s. Nothing was changed", to,
                               sqlite3_errmsg(out.sql)),
                  e);
done:
    sqlite3_close(out.sql);
    sqlite3_close(in.sql);
    if (!e && (e = sync_file(to))) db_refuse_errno(why, a, "write", to);
    if (e) unlink(to);
    return e;
}

/* --- the whole -------------------------------------------------------------------- */

/* The lock is held. */
static enum err replace(const struct db_file *f, const char *from, bool anyway, struct arena *a,
                        struct store_restored *out, struct str *why)
{
    struct name copy = beside(f->path, ".copying"), new = beside(f->path, ".restoring");
    struct stat st, old, theirs;
    bool        was = fstat(f->file_fd, &old) == 0 && old.st_size > 0;
    enum err    e;

    if (stat(from, &theirs) == 0 && was && theirs.st_dev == old.st_dev &&
        theirs.st_ino == old.st_ino)
        return db_refuse(why, arena_printf(a, "%s is the store itself, not a backup of it", from),
                         ERR_EXISTS);
    e = copy_backup(from, copy.text, anyway, a, out, why);
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

enum err store_restore(struct str url, struct str from, bool anyway, struct arena *a,
                       struct store_restored *out, struct str *why)
{
    struct str     path = arena_dup(a, from);
    struct db_file f;
    enum err       e;

    *out = (struct store_restored){ 0 };
    if (!path.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    e = db_file_open(&f, url, a, why);
    if (e) return e;
    e = f.temporary ? db_refuse(why, STR("a store in memory cannot be restored; name a file"),
                                ERR_UNSUPPORTED)
                    : replace(&f, path.ptr, anyway, a, out, why);
    if (e) remove_if_empty(f.path);
    db_file_close(&f);
    return e;
}
