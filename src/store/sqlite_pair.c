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

/* What cannot be read may be a checkpoint cut short: the log will complete it. ERR_NOMEM: nobody
 * knows, for want of memory. */
static enum err read_raw(const char *path, struct arena *a, struct db_raw *raw)
{
    struct str uri = db_immutable_uri(a, path);
    struct db  d = { 0 };
    int64_t    version = 0;
    enum err   e = ERR_NOMEM;

    if (uri.ptr)
        e = db_err(&d, sqlite3_open_v2(
                           uri.ptr, &d.sql,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL));
    if (!e) e = db_int(&d, "PRAGMA user_version", &version);
    raw->version = (int)version;
    if (!e && version >= 2) e = db_int(&d, "SELECT epoch FROM store", &raw->epoch);
    raw->known = !e;
    sqlite3_close(d.sql);
    return e == ERR_NOMEM ? e : OK;
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
    if (st.st_size == 0) /* SQLite would throw the log away */
        return db_refuse(why,
                         arena_printf(a,
                                      "%s is missing or empty, but its write-ahead log %s is "
                                      "there. Nothing was changed. Put the file back; "
                                      "or move the log away to begin with an empty store",
                                      f->path, name),
                         ERR_CONFLICT);
    if (pread(f->file_fd, &writes, 1, HEADER_WRITES_AT) == 1 && writes == 1)
        return stranger(f->path, a, why);
    return read_raw(f->path, a, raw) == OK ? OK : db_refuse(why, STR_NONE, ERR_NOMEM);
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
    uint32_t frames, pages, sum[2], salt[2];
};

/* Its length changes when somebody else commits or cuts the log, with the file after or before it:
 * then there is nothing to compare. */
static bool log_is_whole(const struct db *d)
{
    sqlite3_file              *file = NULL, *log = NULL;
    volatile struct wal_index *index = NULL;
    void volatile             *shared = NULL;
    sqlite3_int64              size = 0;
    uint32_t                   salt[2], frames, page;
    bool                       same;

    if (sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_FILE_POINTER, &file) || !file->pMethods ||
        sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ||
        !log->pMethods || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, 32768, 0, &shared) || !shared)
        return true;
    index = shared;
    frames = index->frames;
    page = index->page == 1 ? 65536 : index->page;
    if (!frames || log->pMethods->xFileSize(log, &size)) return true;
    same = size >= WAL_HEADER_LEN + (sqlite3_int64)frames * (page + WAL_FRAME_HEADER) &&
           log->pMethods->xRead(log, salt, sizeof salt, WAL_SALT_AT) == SQLITE_OK &&
           salt[0] == index->salt[0] && salt[1] == index->salt[1];
    return same || index->frames != frames;
}

static uint32_t big_endian(const uint8_t *p, int len)
{
    uint32_t v = 0;
    while (len--) v = v << 8 | *p++;
    return v;
}

/* What its header says: a file of SQLite, one with a log, and not cut. (A checkpoint that a reader
 * stops may leave it shorter than that for a while, but never makes it shorter.) */
static bool header_fits(const struct db_file *f, const struct stat *st)
{
    uint8_t  h[HEADER_LEN];
    uint32_t page;

    if (pread(f->file_fd, h, sizeof h, 0) != sizeof h || memcmp(h, "SQLite format 3", 16) ||
        h[HEADER_WRITES_AT] != 2)
        return false;
    page = big_endian(h + 16, 2);
    return st->st_size >= f->size ||
           st->st_size >= (off_t)(page == 1 ? 65536 : page) * big_endian(h + 28, 4);
}

enum err db_pair_still(struct db_file *f, const struct db *d)
{
    struct db_raw raw = { 0 };
    struct arena  a;
    struct stat   st;
    enum err      e;

    if (f->overwritten || fstat(f->file_fd, &st)) return ERR_GONE;
    f->overwritten = !log_is_whole(d);
    if (f->overwritten) return ERR_GONE;
    /* Not the time of the change alone, which cp -p sets back. */
    if (st.st_size == f->size && st.st_ctim.tv_sec == f->changed.tv_sec &&
        st.st_ctim.tv_nsec == f->changed.tv_nsec)
        return OK;
    f->overwritten = !header_fits(f, &st);
    if (f->overwritten) return ERR_GONE;
    arena_init(&a, 0);
    e = read_raw(f->path, &a, &raw);
    arena_done(&a);
    if (e) return e;
    /* looked at again the next time: it may be in the middle of being written */
    if (!raw.known) return ERR_GONE;
    f->overwritten = raw.epoch != d->epoch && raw.epoch != d->base;
    if (f->overwritten) return ERR_GONE;
    f->size = st.st_size;
    f->changed = st.st_ctim;
    return OK;
}
