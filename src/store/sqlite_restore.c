/* sqlite_restore.c -- a backup is made while a server writes; a backup takes the store's place: all
 * of it or nothing, and what was there is kept.
 *
 * Making one: a reader of its own holds one state of the store while its pages are copied, so
 * nothing that is said meanwhile makes it begin anew or is half in it. The copy is named FILE.part
 * until all of it was read again and is on disk, and never takes the place of a file that is there.
 *
 * Restoring:
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

static enum err refuse_backup(struct str *why, struct arena *a, const char *from, struct str what)
{
    return db_refuse(why,
                     arena_printf(a, "%s cannot be restored: " STR_FMT ". Nothing was changed",
                                  from, STR_ARG(what)),
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

    enum err e = db_check_file("read", from, a, why);

    if (e) return e;
    if (!uri.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if (sqlite3_open_v2(uri.ptr, &d->sql, flags, NULL) != SQLITE_OK)
        return refuse_backup(why, a, from, str_c(sqlite3_errmsg(d->sql)));
    return OK;
}

/* Is it one of ours, that this program understands, and whole? `what`: why not. */
static enum err check_pages(struct db *d, struct arena *a, struct str *what)
{
    int64_t       app = 0, version = 0;
    sqlite3_stmt *st = NULL;
    struct str    said = STR_NONE;

    if (db_int(d, "PRAGMA application_id", &app) || db_int(d, "PRAGMA user_version", &version))
        return db_refuse(what, arena_dup(a, str_c(sqlite3_errmsg(d->sql))), ERR_TYPE);
    if (app != DB_APPLICATION_ID)
        return db_refuse(what, STR("it is not a store of parley"), ERR_TYPE);
    if (version > DB_SCHEMA)
        return db_refuse(what, STR("it was made by a newer version of parley"), ERR_TYPE);
    if (sqlite3_prepare_v2(d->sql, "PRAGMA integrity_check(1)", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        said = arena_dup(a, db_text(st, 0));
    sqlite3_finalize(st);
    if (!said.ptr) return db_refuse(what, arena_dup(a, str_c(sqlite3_errmsg(d->sql))), ERR_TYPE);
    return str_is(said, "ok")
               ? OK
               : db_refuse(what, arena_printf(a, "it is damaged (" STR_FMT ")", STR_ARG(said)),
                           ERR_TYPE);
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
#define EVERY_FACT(marks)                                                                \
    "SELECT t.id, t.owner, t.name, t.seq, f.seq, f.at_ms, f.kind, f.body, f.sum, " marks \
    ", (SELECT max(seq) FROM fact c WHERE c.thread = t.id) FROM thread t"                \
    " LEFT JOIN fact f ON f.thread = t.id ORDER BY t.id, f.seq"
/* the schemas from which on facts have checksums, links, and digests of what they were */
enum { SUMMED = 2, LINKED = 11, TRIMMED = 13 };
#define EVERY_APPROVAL                                                                       \
    "SELECT t.id, a.owner, t.name, a.id, a.call, a.tool, a.status, a.body, a.requested_ms, " \
    "a.expires_ms, a.sum"                                                                    \
    " FROM approval a JOIN thread t ON t.id = a.thread ORDER BY t.id"

static bool fact_is_sound(sqlite3_stmt *st, uint64_t want, struct chain_check *chain)
{
    struct log_name   log = { db_text(st, 1), db_text(st, 2) };
    struct store_fact f = { (uint64_t)sqlite3_column_int64(st, 4), sqlite3_column_int64(st, 5),
                            db_text(st, 6), db_text(st, 7) };

    if (sqlite3_column_int64(st, 3) != sqlite3_column_int64(st, 11) || f.seq != want) return false;
    return chain_follows(chain, log, &f, db_mark(st, 8));
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
           sqlite3_column_int64(st, 10) == approval_sum(log, &p);
}

static enum err look_at_rows(struct db *d, const char *sql, struct damage *g, struct arena *a)
{
    sqlite3_stmt      *st = NULL;
    struct chain_check chain = { 0 };
    int64_t            thread = 0;
    uint64_t           seq = 0;
    bool               approvals = strcmp(sql, EVERY_APPROVAL) == 0;
    int                rc = sqlite3_prepare_v2(d->sql, sql, -1, &st, NULL);

    g->last = 0;
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(st, 0);
        seq = id == thread ? seq + 1 : 1;
        if (seq == 1) chain = (struct chain_check){ 0 };
        thread = id;
        if (!(approvals ? approval_is_sound(st) : fact_is_sound(st, seq, &chain)))
            note_damage(g, id, db_text(st, 2), a);
    }
    rc = sqlite3_finalize(st);
    return db_err(d, rc);
}

/* Every checksum. What versions before schema 2 made has none. `what`: in whose conversations, when
 * *damaged is not 0, or why it could not be read. */
static enum err check_sums(struct db *d, struct arena *a, uint64_t *damaged, struct str *what)
{
    struct damage facts = { .names = STR("") }, approvals = { .names = STR("") };
    int64_t       version = 0;

    sum_init();
    if (db_int(d, "PRAGMA user_version", &version))
        return db_refuse(what, arena_dup(a, str_c(sqlite3_errmsg(d->sql))), ERR_TYPE);
    if (version < SUMMED) return OK;
    const char *every = version < LINKED    ? EVERY_FACT("NULL, NULL")
                        : version < TRIMMED ? EVERY_FACT("f.link, NULL")
                                            : EVERY_FACT("f.link, f.digest");
    if (look_at_rows(d, every, &facts, a) || look_at_rows(d, EVERY_APPROVAL, &approvals, a))
        return db_refuse(what, arena_dup(a, str_c(sqlite3_errmsg(d->sql))), ERR_TYPE);
    *damaged = facts.count + approvals.count;
    if (*damaged)
        *what = arena_printf(a,
                             "%llu conversations (" STR_FMT ") and approvals of %llu (" STR_FMT
                             ") are not what was saved",
                             (unsigned long long)facts.count, STR_ARG(facts.names),
                             (unsigned long long)approvals.count, STR_ARG(approvals.names));
    return OK;
}

static enum err refuse_damaged(struct str *why, struct arena *a, const char *from, struct str what)
{
    return db_refuse(
        why,
        arena_printf(a,
                     "%s is damaged: " STR_FMT
                     ". Nothing was changed. Take another backup; if there is none better, `parley "
                     "restore --anyway` brings it with them, and they are answered as damaged",
                     from, STR_ARG(what)),
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
    struct db  in = { 0 }, out = { 0 };
    struct str what = STR_NONE;
    int        fd;
    enum err   e = open_backup(&in, from, a, why);

    if (e) goto done;
    if ((e = check_pages(&in, a, &what)) || (e = check_sums(&in, a, &did->damaged, &what)))
        refuse_backup(why, a, from, what);
    else if (did->damaged && !anyway) e = refuse_damaged(why, a, from, what);
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

enum err sqlite_restore(struct str url, struct str from, bool anyway, struct arena *a,
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

/* --- making one ------------------------------------------------------------------- */

#define BACKUP_STEP 1024 /* pages between two words about how far it is: 4 MiB */
#define BACKUP_WAIT 5000 /* ms for a server that is just starting or cutting its log */

static enum err refuse_making(struct str *why, struct arena *a, const char *from, const char *what,
                              enum err e)
{
    return db_refuse(why, arena_printf(a, "%s cannot be backed up: %s", from, what), e);
}

/* The state that `from` holds, whatever is committed meanwhile. */
static enum err copy_state(struct db *to, struct db *from, const struct store_watch *watch)
{
    int64_t         any;
    enum err        e = db_exec(from, "BEGIN");
    sqlite3_backup *b = NULL;

    if (!e) e = db_int(from, "SELECT count(*) FROM sqlite_schema", &any);
    if (!e && !(b = sqlite3_backup_init(to->sql, "main", from->sql, "main")))
        e = db_err(to, sqlite3_errcode(to->sql));
    while (!e && sqlite3_backup_step(b, BACKUP_STEP) == SQLITE_OK)
        watch->far(watch->ctx,
                   (unsigned)(sqlite3_backup_pagecount(b) - sqlite3_backup_remaining(b)),
                   (unsigned)sqlite3_backup_pagecount(b));
    return b ? db_err(to, sqlite3_backup_finish(b)) : e;
}

/* What was written, read again as a restore would. */
static enum err check_copy(const char *part, const char *from, bool anyway, struct arena *a,
                           struct store_backed_up *did, struct str *why)
{
    struct db  d = { 0 };
    struct str what = STR_NONE;
    enum err   e = open_backup(&d, part, a, why);

    if (!e && ((e = check_pages(&d, a, &what)) || (e = check_sums(&d, a, &did->damaged, &what))))
        refuse_making(why, a, from, arena_dup(a, what).ptr, e);
    else if (!e && did->damaged && !anyway)
        e = refuse_making(
            why, a, from,
            arena_printf(a,
                         STR_FMT ". `parley backup --anyway` makes one with them as they are, next "
                                 "to a better one from before",
                         STR_ARG(what))
                .ptr,
            ERR_DAMAGED);
    sqlite3_close(d.sql);
    return e;
}

static enum err write_part(const char *from, const char *part, const struct store_watch *watch,
                           struct arena *a, struct store_backed_up *did, struct str *why)
{
    struct db in = { 0 }, out = { 0 };
    int64_t   app = 0;
    enum err  e = db_err(
         &in, sqlite3_open_v2(from, &in.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE, NULL));

    if (!e) sqlite3_busy_timeout(in.sql, BACKUP_WAIT);
    if (!e) e = db_int(&in, "PRAGMA application_id", &app);
    if (e) {
        refuse_making(why, a, from, sqlite3_errmsg(in.sql), e);
        goto done;
    }
    if (app != DB_APPLICATION_ID) {
        e = refuse_making(why, a, from, "it is not a store of parley", ERR_TYPE);
        goto done;
    }
    e = db_err(
        &out, sqlite3_open_v2(part, &out.sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL));
    if (!e) e = copy_state(&out, &in, watch);
    if (!e) e = finish_copy(&out, &did->threads);
    if (e) db_refuse(why, arena_printf(a, "cannot write %s: %s", part, sqlite3_errmsg(out.sql)), e);
done:
    sqlite3_close(out.sql);
    sqlite3_close(in.sql);
    return e;
}

enum err db_name_new(const char *part, const char *to, struct arena *a, struct str *why)
{
    if (renameat2(AT_FDCWD, part, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        db_sync_folder_of(to);
        return OK;
    }
    /* a file system that cannot do it in one step */
    if (errno == EINVAL && access(to, F_OK) != 0 && rename(part, to) == 0) {
        db_sync_folder_of(to);
        return OK;
    }
    return db_refuse_errno(why, a, "make", to);
}

static enum err make_part(const char *part, struct arena *a, struct str *why)
{
    int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0) close(fd);
    if (fd >= 0) return OK;
    return errno == EEXIST
               ? db_refuse(why,
                           arena_printf(a,
                                        "%s is there: another backup is being written, or one was "
                                        "cut off; then remove it",
                                        part),
                           ERR_EXISTS)
               : db_refuse_errno(why, a, "make", part);
}

enum err sqlite_backup(struct str url, struct str to, bool anyway, const struct store_watch *watch,
                       struct arena *a, struct store_backed_up *out, struct str *why)
{
    struct str  from = arena_dup(a, str_starts(url, STR("sqlite:")) ? str_from(url, 7) : url);
    struct str  path = arena_dup(a, to), part = arena_printf(a, STR_FMT ".part", STR_ARG(to));
    struct stat st;
    enum err    e;

    *out = (struct store_backed_up){ .from = from };
    if (!from.ptr || !path.ptr || !part.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if ((e = db_check_file("read", from.ptr, a, why))) return e;
    if (str_ends(to, STR("-journal")) || str_ends(to, STR("-wal")) || str_ends(to, STR("-shm")))
        return db_refuse(
            why,
            arena_printf(a,
                         "%s would be taken for a part of another database and removed: "
                         "choose a name that does not end in -journal, -wal or -shm",
                         path.ptr),
            ERR_SYNTAX);
    if (lstat(path.ptr, &st) == 0)
        return db_refuse(
            why, arena_printf(a, "%s is there already, and a backup replaces nothing", path.ptr),
            ERR_EXISTS);
    if ((e = make_part(part.ptr, a, why))) return e;
    e = write_part(from.ptr, part.ptr, watch, a, out, why);
    if (!e) e = check_copy(part.ptr, from.ptr, anyway, a, out, why);
    if (!e && (e = sync_file(part.ptr))) db_refuse_errno(why, a, "write", part.ptr);
    if (!e && stat(part.ptr, &st) == 0) out->bytes = (uint64_t)st.st_size;
    if (!e) e = db_name_new(part.ptr, path.ptr, a, why);
    if (e) unlink(part.ptr);
    return e;
}
