/* sqlite_file.c -- the store's file: where it is, that nobody else has it, and
 * the schema inside it.
 *
 * One process per file, and two locks say so for as long as the store is open. A lock on a
 * byte of the file itself, beyond those that SQLite locks: whatever name it is opened by (a link,
 * another folder), and whoever removes the lock file. And a flock on "<path>-lock": also when the
 * file at that name was taken away and another one was made. The lock file stays behind on purpose;
 * removing it would race with the next opener.
 * All files are ours alone (0600): conversations are private.
 *
 * The schema's version is PRAGMA user_version. db_upgrades[n] leads from version n
 * to n + 1; each runs in one transaction, so a cut upgrade goes on where it was (a new file gets
 * all of them in one).
 * A released step is never edited, only followed by another.
 */
#include "store/sqlite_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"

/* SQLite's own locks are on the 512 bytes before; see its "pending byte" */
#define LOCK_BYTE (0x40000000 + 1024)

const char *const db_upgrades[DB_SCHEMA] = {
    /* 0 -> 1. A fact's key is the integer of its thread: with (owner, name, seq)
     * as a clustered key appends were 2.5 times slower. */
    "CREATE TABLE thread("
    "  id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL, state "
    "TEXT NOT NULL,"
    "  seq INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX thread_by_name ON thread(owner, name);"
    "CREATE INDEX thread_by_change ON thread(owner, updated_ms, id);"
    "CREATE INDEX thread_unfinished ON thread(id) WHERE state <> 'idle';"
    "CREATE TABLE fact("
    "  thread INTEGER NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, "
    "body TEXT NOT NULL);"
    "CREATE UNIQUE INDEX fact_by_seq ON fact(thread, seq);"
    "CREATE TABLE request("
    "  owner TEXT NOT NULL, id TEXT NOT NULL, thread INTEGER NOT NULL, run TEXT, PRIMARY "
    "KEY(owner, id)) WITHOUT ROWID;"
    "CREATE INDEX request_by_thread ON request(thread);"
    "CREATE TABLE approval("
    "  num INTEGER PRIMARY KEY, owner TEXT NOT NULL, id TEXT NOT NULL, thread INTEGER NOT NULL, "
    "call TEXT NOT NULL,"
    "  tool TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL,"
    "  requested_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX approval_by_id ON approval(id, owner);"
    "CREATE INDEX approval_by_owner ON approval(owner, status, requested_ms, num);"
    "CREATE INDEX approval_by_status ON approval(status, requested_ms, num);"
    "CREATE INDEX approval_by_thread ON approval(thread);"
    "CREATE INDEX approval_due ON approval(expires_ms) WHERE status IN ('pending', 'offered') AND "
    "expires_ms > 0;"
    "CREATE TABLE tool(name TEXT PRIMARY KEY, runs INTEGER NOT NULL, failed INTEGER NOT NULL) "
    "WITHOUT ROWID;"
    "PRAGMA application_id=1886547065;",
    /* 1 -> 2. A mark that tells which write-ahead log belongs to the file (sqlite_pair.c). Facts
     * and approvals get a checksum; those that are there keep none (NULL) and are taken as they
     * are, because reading and writing all of a large file would take minutes at a start. */
    "CREATE TABLE store(one INTEGER PRIMARY KEY CHECK(one = 1), epoch INTEGER NOT NULL, base "
    "INTEGER NOT NULL);"
    "INSERT INTO store(one, epoch, base) VALUES(1, (random() & 9223372036854775807) | 1, 0);"
    "ALTER TABLE fact ADD COLUMN sum INTEGER;"
    "ALTER TABLE approval ADD COLUMN sum INTEGER;",
    /* 2 -> 3. Three letters of a title and where they are, for searches; it keeps no text. NUL
     * would end what is indexed. */
    "CREATE VIRTUAL TABLE title_gram USING fts5(title, content='', detail='none', columnsize=0, "
    "tokenize='trigram');"
    "INSERT INTO title_gram(rowid, title) SELECT id, replace(title, char(0), ' ') FROM thread;",
    /* 3 -> 4. What used to be forgotten by a restart. */
    "CREATE TABLE used("
    "  owner TEXT NOT NULL, day INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY(owner, day))"
    " WITHOUT ROWID;"
    "CREATE TABLE session(key TEXT PRIMARY KEY, body TEXT NOT NULL, ends_ms INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX session_by_end ON session(ends_ms);",
    /* 4 -> 5. Logs that are found by what was said in them, and logs that no list shows. */
    "CREATE TABLE key("
    "  owner TEXT NOT NULL, key TEXT NOT NULL, thread INTEGER NOT NULL, value TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, PRIMARY KEY(owner, key, thread)) WITHOUT ROWID;"
    "CREATE INDEX key_by_time ON key(owner, key, at_ms, thread);"
    "CREATE INDEX key_by_thread ON key(thread);"
    "ALTER TABLE thread ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;",
    /* 5 -> 6. What appends take from (store.h). `thread`: goes with that log. */
    "CREATE TABLE stock("
    "  num INTEGER PRIMARY KEY, key TEXT NOT NULL, kind TEXT NOT NULL, owner TEXT NOT NULL,"
    "  thread INTEGER, holder TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,"
    "  uses INTEGER NOT NULL, amount INTEGER NOT NULL, made_ms INTEGER NOT NULL,"
    "  until_ms INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX stock_by_key ON stock(key);"
    "CREATE INDEX stock_by_owner ON stock(kind, owner, made_ms, num);"
    "CREATE INDEX stock_by_kind ON stock(kind, made_ms, num);"
    "CREATE INDEX stock_by_thread ON stock(thread) WHERE thread IS NOT NULL;",
    /* 6 -> 7. Logs that are no conversations: which door made them, and with what they are
     * shown. */
    "ALTER TABLE thread ADD COLUMN source TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE thread ADD COLUMN grp TEXT;"
    "DROP INDEX thread_by_change;"
    "CREATE INDEX thread_by_change ON thread(owner, source, updated_ms, id);",
    /* 7 -> 8. What others are to be told of. AUTOINCREMENT: a number is never given twice. */
    "CREATE TABLE event("
    "  num INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, owner TEXT NOT NULL,"
    "  kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX event_by_time ON event(at_ms);",
    /* 8 -> 9. Calls of unknown outcome fall due, too: then somebody asks again what became of
     * them. */
    "DROP INDEX approval_due;"
    "CREATE INDEX approval_due ON approval(expires_ms)"
    "  WHERE status IN ('pending', 'offered', 'unknown') AND expires_ms > 0;",
    /* 9 -> 10. Sums have names of their own; those that were there are tokens of people. */
    "UPDATE used SET owner = 'tokens/principal/' || owner;",
    /* 10 -> 11. Facts carry a link (links.h); what a removed log leaves; what was signed. What is
     * there is not looked at. `links`: its last 32 bytes are the head, as in a database, where
     * there are more of them. */
    "ALTER TABLE thread ADD COLUMN links BLOB;"
    "ALTER TABLE fact ADD COLUMN link BLOB;"
    "CREATE TABLE stub("
    "  num INTEGER PRIMARY KEY, log TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, "
    "created_ms INTEGER NOT NULL, removed_ms INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT "
    "NULL, digests BLOB NOT NULL, head BLOB NOT NULL, body TEXT NOT NULL, noted INTEGER NOT NULL);"
    "CREATE INDEX stub_by_owner ON stub(owner);"
    "CREATE INDEX stub_unnoted ON stub(num) WHERE noted = 0;"
    "CREATE TABLE noted(thread INTEGER PRIMARY KEY, seq INTEGER NOT NULL);"
    "CREATE TABLE checkpoint("
    "  number INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, line TEXT NOT NULL, told INTEGER NOT "
    "NULL);"
    "CREATE INDEX checkpoint_untold ON checkpoint(number) WHERE told = 0;",
    /* 11 -> 12. Titles come into their index many at once: those of threads up to this one are in
     * it. */
    "ALTER TABLE store ADD COLUMN titled INTEGER NOT NULL DEFAULT 0;"
    "UPDATE store SET titled = (SELECT ifnull(max(id), 0) FROM thread);",
    /* 12 -> 13. Words go while their log stays: what a fact was, and how far a log has come. */
    "ALTER TABLE fact ADD COLUMN digest BLOB;"
    "CREATE TABLE trimmed(thread INTEGER PRIMARY KEY, seq INTEGER NOT NULL, kinds INTEGER NOT "
    "NULL);",
    /* 13 -> 14. The same letters of what was said (sqlite_said.c). Facts up to the row `said` are
     * in it, none at first: what is there comes in piece by piece while the store works. `said_at`:
     * that fact by its own name. `said_owed`: something has gone from it, and its letters are still
     * in the file. */
    "CREATE VIRTUAL TABLE said_gram USING fts5(said, content='', detail='none', columnsize=0, "
    "tokenize='trigram');"
    "ALTER TABLE store ADD COLUMN said INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE store ADD COLUMN said_at TEXT;"
    "ALTER TABLE store ADD COLUMN said_owed INTEGER NOT NULL DEFAULT 0;",
    /* 14 -> 15. The same of titles; what went before now was only noted to have gone. */
    "ALTER TABLE store ADD COLUMN title_owed INTEGER NOT NULL DEFAULT 0;"
    "UPDATE store SET title_owed = titled > 0;",
};

/* --- sentences for people ------------------------------------------------------- */

enum err db_refuse(struct str *why, struct str sentence, enum err e)
{
    /* SQLite has no words of its own for that */
    if (e == ERR_NOMEM) sentence = STR_NONE;
    *why = sentence.ptr ? sentence : STR("not enough memory to open the store");
    return e;
}

static enum err refuse_words(struct str *why, struct arena *a, const char *what, const char *path,
                             const char *words)
{
    enum err e = os_no_room(errno) ? ERR_FULL : ERR_IO;
    return db_refuse(why, arena_printf(a, "cannot %s %s: %s", what, path, words), e);
}

enum err db_refuse_errno(struct str *why, struct arena *a, const char *what, const char *path)
{
    return refuse_words(why, a, what, path, os_words(errno));
}

enum err db_check_file(const char *what, const char *path, struct arena *a, struct str *why)
{
    const char *fault = file_fault(path);
    return fault ? refuse_words(why, a, what, path, fault) : OK;
}

/* --- schema --------------------------------------------------------------------- */

static enum err refuse_use(struct db *d, const char *path, struct arena *a, struct str *why,
                           enum err e)
{
    return db_refuse(why, arena_printf(a, "cannot use %s: %s", path, sqlite3_errmsg(d->sql)), e);
}

/* The steps from one version to another, in one transaction. */
static enum err upgrade(struct db *d, int64_t from, int64_t to, const char *path, struct arena *a,
                        struct str *why)
{
    char     version[48];
    enum err e = db_exec(d, "BEGIN IMMEDIATE");

    if (e) return refuse_use(d, path, a, why, e);
    for (int64_t step = from; step < to && !e; step++) e = db_exec(d, db_upgrades[step]);
    snprintf(version, sizeof version, "PRAGMA user_version=%d", (int)to);
    if (!e) e = db_exec(d, version);
    if (!e) e = db_exec(d, "COMMIT");
    if (!e) return OK;
    (void)refuse_use(d, path, a, why, e); /* before the words are those of the ROLLBACK */
    must(db_exec(d, "ROLLBACK") == OK || sqlite3_get_autocommit(d->sql));
    return e;
}

/* A new file gets all of them at once: one sync instead of one for each. Where there is something
 * to upgrade, what took long is not done again after a cut. */
static enum err upgrade_all(struct db *d, int64_t version, const char *path, struct arena *a,
                            struct str *why)
{
    enum err e = version ? OK : upgrade(d, 0, DB_SCHEMA, path, a, why);

    for (; version && version < DB_SCHEMA && !e; version++)
        e = upgrade(d, version, version + 1, path, a, why);
    return e;
}

static enum err use_wal(struct db *d, const char *path, struct arena *a, struct str *why)
{
    sqlite3_stmt *st;
    int           rc = sqlite3_prepare_v2(d->sql, "PRAGMA journal_mode=WAL", -1, &st, NULL);
    bool          wal;

    if (rc == SQLITE_OK) rc = sqlite3_step(st);
    wal = rc == SQLITE_ROW && str_is(db_text(st, 0), "wal");
    sqlite3_finalize(st);
    if (wal) return OK;
    if (rc == SQLITE_ROW)
        return db_refuse(
            why,
            arena_printf(a, "%s cannot have a write-ahead log: is it on a network file system?",
                         path),
            ERR_UNSUPPORTED);
    return refuse_use(d, path, a, why, db_err(d, rc));
}

enum err db_upgrade(struct db *d, const struct db_raw *raw, const char *path, struct arena *a,
                    struct str *why)
{
    int64_t  version = 0, app = 0, tables = 0;
    enum err e = db_int(d, "PRAGMA user_version", &version);

    if (!e) e = db_int(d, "PRAGMA application_id", &app);
    if (!e) e = db_int(d, "SELECT count(*) FROM sqlite_schema", &tables);
    if (e) return refuse_use(d, path, a, why, e);
    if (tables > 0 && app != DB_APPLICATION_ID)
        return db_refuse(why, arena_printf(a, "%s is a database of another program", path),
                         ERR_TYPE);
    if (version < 0 || version > DB_SCHEMA)
        return db_refuse(why,
                         arena_printf(a,
                                      "%s was made by a newer version of parley (its schema is %d, "
                                      "this program knows %d)",
                                      path, (int)version, DB_SCHEMA),
                         ERR_UNSUPPORTED);
    e = db_pair_check(d, raw, version, path, a, why);
    if (!e) e = use_wal(d, path, a, why);
    return e ? e : upgrade_all(d, version, path, a, why);
}

/* --- the file --------------------------------------------------------------------- */

void db_sync_folder_of(const char *path)
{
    char       *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    const char *folder = !slash ? "." : slash == copy ? "/" : (*slash = 0, copy);
    int         fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(copy);
}

/* Makes the folder of `path` if it is missing; one level, so that a typing error makes no tree. */
static enum err make_folder(struct arena *a, const char *path, struct str *why)
{
    const char *slash = strrchr(path, '/');
    struct str  folder;

    if (!slash || slash == path) return OK;
    folder = arena_dup(a, str_n(path, (size_t)(slash - path)));
    if (!folder.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if (mkdir(folder.ptr, 0700) == 0) db_sync_folder_of(folder.ptr);
    else if (errno != EEXIST) return db_refuse_errno(why, a, "make the folder", folder.ptr);
    return OK;
}

static enum err make_file(struct db_file *f, const char *path, struct arena *a, struct str *why)
{
    const char *fault;
    struct stat st;
    bool        none = stat(path, &st) && errno == ENOENT;
    int         fd = file_open(path, O_RDWR | O_CREAT, &fault);

    if (fd < 0) return refuse_words(why, a, "open", path, fault);
    f->made = none;
    close(fd); /* before SQLite opens it: a close would drop its POSIX locks */
    db_sync_folder_of(path);
    /* One name per file, else two openers through two links would take two locks. */
    f->path = realpath(path, NULL);
    return f->path ? OK : db_refuse_errno(why, a, "open", path);
}

static enum err make_temporary(struct db_file *f, struct arena *a, struct str *why)
{
    const char *folder = getenv("TMPDIR");
    struct str  path = arena_printf(a, "%s/parley-XXXXXX", folder && *folder ? folder : "/tmp");
    int         fd;

    if (!path.ptr || !(f->path = strdup(path.ptr))) return db_refuse(why, STR_NONE, ERR_NOMEM);
    fd = mkstemp(f->path);
    if (fd < 0) return db_refuse_errno(why, a, "make", f->path);
    close(fd);
    f->temporary = true;
    return OK;
}

/* The name. */
static enum err lock_name(struct db_file *f, struct arena *a, struct str *why)
{
    struct str path = arena_printf(a, "%s-lock", f->path);
    char       pid[16] = "";

    if (!path.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    f->lock_fd = open(path.ptr, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (f->lock_fd < 0) return db_refuse_errno(why, a, "open", path.ptr);
    if (flock(f->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        /* For the sentence below only; the lock itself is what counts. */
        if (ftruncate(f->lock_fd, 0) == 0) dprintf(f->lock_fd, "%d", (int)getpid());
        return OK;
    }
    if (errno != EWOULDBLOCK) return db_refuse_errno(why, a, "lock", path.ptr);
    if (pread(f->lock_fd, pid, sizeof pid - 1, 0) <= 0) strcpy(pid, "?");
    return db_refuse(
        why, arena_printf(a, "%s is used by another parley (process %d)", f->path, atoi(pid)),
        ERR_BUSY);
}

/* The file itself. The descriptor is opened before SQLite's and closed after them: closing any one
 * of a file drops a process's POSIX locks on it, which are what SQLite uses. */
static enum err lock_file(struct db_file *f, struct arena *a, struct str *why)
{
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1
    };

    f->file_fd = open(f->path, O_RDWR | O_CLOEXEC);
    if (f->file_fd < 0) return db_refuse_errno(why, a, "open", f->path);
    if (fcntl(f->file_fd, F_OFD_SETLK, &byte) == 0) return OK;
    if (errno != EAGAIN && errno != EACCES) return db_refuse_errno(why, a, "lock", f->path);
    return db_refuse(
        why,
        arena_printf(a,
                     "%s is used by another parley (by another name, or its lock file was removed)",
                     f->path),
        ERR_BUSY);
}

static enum err find_file(struct db_file *f, struct str url, struct arena *a, struct str *why)
{
    struct str path = str_starts(url, STR("sqlite:")) ? str_from(url, 7) : url;
    enum err   e;

    if (str_is(path, ":memory:")) return make_temporary(f, a, why);
    if (path.len == 0 || memchr(path.ptr, 0, path.len))
        return db_refuse(why, STR("the store needs a file name, as in sqlite:parley.db"),
                         ERR_SYNTAX);
    path = arena_dup(a, path);
    if (!path.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    e = make_folder(a, path.ptr, why);
    return e ? e : make_file(f, path.ptr, a, why);
}

enum err db_file_open(struct db_file *f, struct str url, struct arena *a, struct str *why)
{
    enum err e;

    *f = (struct db_file){ .lock_fd = -1, .file_fd = -1 };
    e = find_file(f, url, a, why);
    if (!e) e = lock_name(f, a, why);
    if (!e) e = db_finish_restore(f->path, a, why);
    if (!e) e = lock_file(f, a, why);
    if (e) db_file_close(f);
    return e;
}

/* --- is it still there? ------------------------------------------------------------- */

static const char *const OWN_ENDS[DB_OWN_FILES] = { "", "-wal", "-shm" };

static bool stat_own(const struct db_file *f, int i, struct stat *st)
{
    char   name[PATH_MAX + 8];
    size_t len = strnlen(f->path, PATH_MAX);

    /* by hand: it is done a dozen times for each commit */
    memcpy(name, f->path, len);
    memcpy(name + len, OWN_ENDS[i], strlen(OWN_ENDS[i]) + 1);
    return stat(name, st) == 0;
}

enum err db_file_note(struct db_file *f)
{
    struct stat st;

    for (int i = 0; i < DB_OWN_FILES; i++) {
        if (!stat_own(f, i, &st)) return ERR_IO;
        f->own[i] = (struct db_own){ st.st_dev, st.st_ino };
    }
    /* What SQLite opened by its name is what was locked. */
    return fstat(f->file_fd, &st) == 0 && st.st_dev == f->own[0].dev && st.st_ino == f->own[0].ino
               ? OK
               : ERR_GONE;
}

/* Only a name that leads nowhere is a file that was taken away. */
static enum err check_own(const struct db_file *f, int i)
{
    struct stat st;

    if (stat_own(f, i, &st))
        return st.st_dev == f->own[i].dev && st.st_ino == f->own[i].ino ? OK : ERR_GONE;
    if (errno == ENOMEM) return ERR_NOMEM;
    return errno == EACCES || errno == EIO ? ERR_IO : ERR_GONE;
}

enum err db_file_check(struct db_file *f, const struct db *d)
{
    enum err e = OK;

    for (int i = 0; i < DB_OWN_FILES && !e; i++) e = check_own(f, i);
    return e ? e : db_pair_still(f, d);
}

bool db_file_low(const struct db_file *f)
{
    struct statvfs st;

    if (fstatvfs(f->file_fd, &st)) return false;
    uint64_t room = (uint64_t)st.f_bavail * st.f_frsize, all = (uint64_t)st.f_blocks * st.f_frsize;
    return room < DB_RESERVE && room < all / 20;
}

/* --- closing ------------------------------------------------------------------------ */

static void remove_all(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    char                     name[4096];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

void db_file_close(struct db_file *f)
{
    if (f->temporary) remove_all(f->path);
    if (f->file_fd >= 0) close(f->file_fd);
    if (f->lock_fd >= 0) close(f->lock_fd);
    free(f->path);
    *f = (struct db_file){ .lock_fd = -1, .file_fd = -1 };
}
