/* sqlite_pair.c -- does this write-ahead log belong to this file?
 *
 * SQLite replays whatever log lies beside the file. After a crash it does, and if the file was
 * replaced by a backup meanwhile, pages of one are laid over pages of the other: most conversations are unreadable
 * and nothing says so. So a start looks before anything is moved.
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
 */
#include "store/sqlite_db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAL_HEADER_LEN   32            /* a log of no more than this has nothing in it */
#define HEADER_WRITES_AT 18            /* 1: with a rollback journal, 2: with a write-ahead log; https://sqlite.org/fileformat.html 1.3.3 */

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
    return db_refuse(why, arena_printf(a,
        "%s and its write-ahead log %s-wal do not belong together: the file was put there from elsewhere (a backup?), the log is of the one before. "
        "Nothing was changed. To restore a backup, put the old file back and use `parley restore BACKUP`; "
        "to go on with this file as it is, move %s-wal and %s-shm away", path, path, path, path), ERR_CONFLICT);
}

/* What cannot be read may be a checkpoint cut short: the log will complete it. */
static void read_raw(const char *path, struct arena *a, struct db_raw *raw)
{
    struct str uri = db_immutable_uri(a, path);
    struct db  d = { 0 };
    int64_t    version = 0;

    if (uri.ptr && sqlite3_open_v2(uri.ptr, &d.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, NULL) == SQLITE_OK
        && db_int(&d, "PRAGMA user_version", &version) == OK) {
        raw->version = (int)version;
        raw->known = version < 2 || db_int(&d, "SELECT epoch FROM store", &raw->epoch) == OK;
    }
    sqlite3_close(d.sql);
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
    if (st.st_size == 0)               /* SQLite would throw the log away */
        return db_refuse(why, arena_printf(a, "%s is missing or empty, but its write-ahead log %s is there. Nothing was changed. Put the file back; "
                                           "or move the log away to begin with an empty store", f->path, name), ERR_CONFLICT);
    if (pread(f->file_fd, &writes, 1, HEADER_WRITES_AT) == 1 && writes == 1) return stranger(f->path, a, why);
    read_raw(f->path, a, raw);
    return OK;
}

enum err db_pair_check(struct db *d, const struct db_raw *raw, int64_t version, const char *path, struct arena *a, struct str *why)
{
    int64_t  epoch = 0, base = 0;
    enum err e;

    if (!raw->has_log || !raw->known) return OK;
    if (version < 2) return raw->version < 2 ? OK : stranger(path, a, why);
    e = db_int(d, "SELECT epoch FROM store", &epoch);
    if (!e) e = db_int(d, "SELECT base FROM store", &base);
    if (e) return db_refuse(why, arena_printf(a, "cannot use %s: %s", path, sqlite3_errmsg(d->sql)), e);
    /* The first epoch of a file that had none has the base 0. */
    return raw->epoch == epoch || raw->epoch == base ? OK : stranger(path, a, why);
}
