/* sqlite_pair.c -- does this write-ahead log belong to this file?
 *
 * SQLite replays whatever log lies beside the file. After a crash it does, and if the file was
 * replaced by a backup meanwhile, pages of one are laid over pages of the other: most conversations
 * are unreadable and nothing says so. So a start looks before anything is moved.
 *
 * A log's life is an epoch: when all of it is in the file, the next commit begins a new one in row
 * `store`: epoch is a new random number, base the one before. Then the file itself says
 *
 *     base    nothing of this epoch was moved into it yet, or
 *     epoch   some of it was (a checkpoint, maybe cut short);
 *
 * anything else is a file from another time. A copy of the file that was made within the
 * epoch fits, and rightly so: every page that changed since is in the log.
 * A file made by VACUUM INTO has its pages elsewhere, but it also says in its header that it has no
 * log, which ours never does.
 *
 * The same marks tell while the server runs that somebody wrote over the file in its place (cp
 * keeps the inode): each time it has changed, by our own checkpoint or not, it is looked at. A
 * checkpoint by another program leaves marks that fit.
 */
#include "store/sqlite_db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAL_HEADER_LEN   32 /* a log of no more than this has nothing in it */
#define WAL_SALT_AT      16
#define WAL_FRAME_HEADER 24
#define HEADER_LEN       32
/* 1: with a rollback journal, 2: with a write-ahead log; https://sqlite.org/fileformat.html
 * 1.3.3 */
#define HEADER_WRITES_AT 18

struct str db_immutable_uri(struct arena *a, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t            len = strlen(path);
    char             *out = arena_alloc(a, len * 3 + sizeof "file:?immutable=1"), *p = out;

    if (!out) return STR_NONE;
    memcpy(p, "file:", 5);
    p += 5;
    for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
        if (strchr("%?#", *c)) *p++ = '%', *p++ = hex[*c >> 4], *p++ = hex[*c & 15];
        else *p++ = (char)*c;
    }
    memcpy(p, "?immutable=1", 13);
    return str_n(out, (size_t)(p - out) + 12);
}

static enum err stranger(const char *path, struct arena *a, struct str *why)
{
    return db_refuse(
        why,
        arena_printf(a,
                     "%s and its write-ahead log %s-wal do not belong together: the file was put "
                     "there from elsewhere (a backup?), the log is of the one before. "
                     "Nothing was changed. To restore a backup, put the old file back and use "
                     "`parley restore BACKUP`; "
                     "to go on with this file as it is, move %s-wal and %s-shm away",
                     path, path, path, path),
        ERR_CONFLICT);
}

/* Why nothing could be read. OK: because of what is in the file. */
static enum err unread(sqlite3 *sql)
{
    int rc = sqlite3_extended_errcode(sql), os = sqlite3_system_errno(sql);

    if (rc == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM) return ERR_NOMEM;
    if ((rc & 0xff) == SQLITE_CANTOPEN && (os == EMFILE || os == ENFILE || os == ENOMEM))
        return ERR_NOMEM;
    return (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_IOERR ? ERR_IO : OK;
}

/* Not known: a checkpoint cut short, which the log will complete, or no file of ours. Else nobody
 * could look: ERR_NOMEM for want of memory or descriptors, ERR_IO. */
static enum err read_raw(const char *path, struct arena *a, struct db_raw *raw)
{
    struct str uri = db_immutable_uri(a, path);
    struct db  d = { 0 };
    int64_t    version = 0;
    enum err   e;

    if (!uri.ptr) return ERR_NOMEM;
    e = db_err(&d, sqlite3_open_v2(uri.ptr, &d.sql,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE,
                                   NULL));
    /* Else it refuses a file that is shorter than its header says, as half a checkpoint leaves
     * it. */
    if (!e) e = db_err(&d, sqlite3_db_config(d.sql, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL));
    if (!e) e = db_int(&d, "PRAGMA user_version", &version);
    raw->version = (int)version;
    if (!e && version >= 2) e = db_int(&d, "SELECT epoch FROM store", &raw->epoch);
    raw->known = !e;
    if (e) e = unread(d.sql);
    sqlite3_close(d.sql);
    return e;
}

enum err db_pair_look(const struct db_file *f, struct db_raw *raw, struct arena *a, struct str *why)
{
    char        name[PATH_MAX + 8];
    struct stat st;
    uint8_t     writes = 0;

    *raw = (struct db_raw){ 0 };
    snprintf(name, sizeof name, "%s-wal", f->path);
    if (stat(name, &st) || st.st_size <= WAL_HEADER_LEN) return OK;
    raw->has_log = true;
    if (fstat(f->file_fd, &st)) return db_refuse_errno(why, a, "read", f->path);
    if (st.st_size == 0) {            /* SQLite would throw the log away */
        if (f->made) unlink(f->path); /* both locks are ours: nobody has it */
        return db_refuse(why,
                         arena_printf(a,
                                      "%s is missing or empty, but its write-ahead log %s is "
                                      "there. Nothing was changed. Put the file back; "
                                      "or move the log away to begin with an empty store",
                                      f->path, name),
                         ERR_CONFLICT);
    }
    if (pread(f->file_fd, &writes, 1, HEADER_WRITES_AT) == 1 && writes == 1)
        return stranger(f->path, a, why);
    return read_raw(f->path, a, raw) == ERR_NOMEM ? db_refuse(why, STR_NONE, ERR_NOMEM) : OK;
}

enum err db_pair_check(struct db *d, const struct db_raw *raw, int64_t version, const char *path,
                       struct arena *a, struct str *why)
{
    int64_t  epoch = 0, base = 0;
    enum err e;

    if (!raw->has_log || !raw->known) return OK;
    if (version < 2) return raw->version < 2 ? OK : stranger(path, a, why);
    e = db_int(d, "SELECT epoch FROM store", &epoch);
    if (!e) e = db_int(d, "SELECT base FROM store", &base);
    if (e)
        return db_refuse(why, arena_printf(a, "cannot use %s: %s", path, sqlite3_errmsg(d->sql)),
                         e);
    /* The first epoch of a file that had none has the base 0. */
    return raw->epoch == epoch || raw->epoch == base ? OK : stranger(path, a, why);
}

/* --- while it is open ----------------------------------------------------------- */

/* The log's index, https://sqlite.org/walformat.html 2.1: in memory that all who have the file open
 * share. */
struct wal_index {
    uint32_t version, unused, change;
    uint8_t  init, big_endian;
    uint16_t page;
    uint32_t frames, pages, sum[2], salt[2], sum_of_all[2];
    uint32_t again[12]; /* a second copy of all the above */
    uint32_t moved, marks[5];
    uint8_t  locks[8];
    uint32_t to_move; /* how far the last checkpoint meant to come; said before it writes */
};

static volatile struct wal_index *index_of(const struct db *d)
{
    sqlite3_file  *file = NULL;
    void volatile *shared = NULL;

    if (sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_FILE_POINTER, &file) || !file->pMethods ||
        file->pMethods->iVersion < 2 || file->pMethods->xShmMap(file, 0, 32768, 0, &shared))
        return NULL;
    return shared;
}

/* Its length changes when somebody else commits or cuts the log, with the file after or before it:
 * then there is nothing to compare. */
static bool log_is_whole(const struct db *d)
{
    volatile struct wal_index *index = index_of(d);
    sqlite3_file              *log = NULL;
    sqlite3_int64              size = 0;
    uint32_t                   salt[2], frames, page;
    int                        rc;

    if (!index || sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ||
        !log->pMethods)
        return true;
    frames = index->frames;
    page = index->page == 1 ? 65536 : index->page;
    if (!frames || log->pMethods->xFileSize(log, &size)) return true;
    rc = log->pMethods->xRead(log, salt, sizeof salt, WAL_SALT_AT);
    if (rc && rc != SQLITE_IOERR_SHORT_READ) return true; /* nobody knows */
    return (!rc && size >= WAL_HEADER_LEN + (sqlite3_int64)frames * (page + WAL_FRAME_HEADER) &&
            salt[0] == index->salt[0] && salt[1] == index->salt[1]) ||
           index->frames != frames;
}

/* May the file alone be of several moments at once? A checkpoint that a reader or a full disk stops
 * leaves some pages as they were, others newer: a header that counts pages which are not there, a
 * table without its leaves. All of it is in the log. */
static bool in_pieces(const struct db *d)
{
    volatile struct wal_index *index = index_of(d);
    return !index || (index->to_move && index->moved < index->frames);
}

static uint32_t big_endian(const uint8_t *p, int len)
{
    uint32_t v = 0;
    while (len--) v = v << 8 | *p++;
    return v;
}

/* What its header says: a file of SQLite, one with a log, and not cut. (A checkpoint that a reader
 * stops may leave it shorter than that for a while, but never makes it shorter.) ERR_IO: nobody
 * knows. */
static enum err header_fits(const struct db_file *f, const struct stat *st)
{
    uint8_t  h[HEADER_LEN];
    uint32_t page;
    ssize_t  n = pread(f->file_fd, h, sizeof h, 0);

    if (n < 0) return ERR_IO;
    if (n != sizeof h || memcmp(h, "SQLite format 3", 16) || h[HEADER_WRITES_AT] != 2)
        return ERR_GONE;
    page = big_endian(h + 16, 2);
    return st->st_size >= f->size ||
                   st->st_size >= (off_t)(page == 1 ? 65536 : page) * big_endian(h + 28, 4)
               ? OK
               : ERR_GONE;
}

/* The marks in the file; `raw` is not known when it is looked at again the next time. */
static enum err marks_fit(const struct db_file *f, const struct db *d, struct db_raw *raw)
{
    struct arena a;
    enum err     e;

    arena_init(&a, 0);
    e = read_raw(f->path, &a, raw);
    arena_done(&a);
    if (e || (raw->known && (raw->epoch == d->epoch || raw->epoch == d->base))) return e;
    return !raw->known && in_pieces(d) ? OK : ERR_GONE;
}

enum err db_pair_still(struct db_file *f, const struct db *d)
{
    struct db_raw raw = { 0 };
    struct stat   st;
    enum err      e;

    if (f->overwritten) return ERR_GONE;
    if (fstat(f->file_fd, &st)) return ERR_IO;
    f->overwritten = !log_is_whole(d);
    if (f->overwritten) return ERR_GONE;
    /* Not the time of the change alone, which cp -p sets back. */
    if (st.st_size == f->size && st.st_ctim.tv_sec == f->changed.tv_sec &&
        st.st_ctim.tv_nsec == f->changed.tv_nsec)
        return OK;
    e = header_fits(f, &st);
    f->overwritten = e == ERR_GONE;
    if (!e) e = marks_fit(f, d, &raw);
    if (raw.known) f->overwritten = e == ERR_GONE;
    if (e || !raw.known) return e; /* unknown: it may be in the middle of being written */
    f->size = st.st_size;
    f->changed = st.st_ctim;
    return OK;
}
