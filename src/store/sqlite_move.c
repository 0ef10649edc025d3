/* sqlite_move.c -- a file as a side of a move. See store_move.h.
 *
 * A source is opened as a server would, with its locks. A target is the file PATH.moving until it
 * is whole; then it gets its name, if nobody took that meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/sqlite_db.h"
#include "store/store_move.h"

struct file {
    struct move_side base;
    struct db_file   file;
    struct db        db;
    struct str       path; /* of a target: as it will be called */
    bool             open;
};
#define OURS(side) LIST_ITEM(side, struct file, base)

static enum err fail(struct file *f, int rc)
{
    return move_fail(&f->base,
                     arena_printf(f->base.arena, STR_FMT ": %s", STR_ARG(f->base.shown),
                                  sqlite3_errmsg(f->db.sql)),
                     db_err(&f->db, rc));
}

static enum err exec(struct file *f, const char *sql)
{
    int rc = sqlite3_exec(f->db.sql, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? OK : fail(f, rc);
}

static void bind_row(sqlite3_stmt *st, const struct move_table *t, const struct move_row *row,
                     unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct move_value *v = &row->v[i];
        bool none = t->types[i] == 'z' ? !v->n : !move_is_number(t, i) && !v->s.ptr;
        if (none) sqlite3_bind_null(st, (int)i + 1);
        else if (move_is_number(t, i)) sqlite3_bind_int64(st, (int)i + 1, v->n);
        else if (t->types[i] == 'r')
            sqlite3_bind_blob64(st, (int)i + 1, v->s.ptr, v->s.len, SQLITE_STATIC);
        else sqlite3_bind_text64(st, (int)i + 1, v->s.ptr, v->s.len, SQLITE_STATIC, SQLITE_UTF8);
    }
}

/* --- reading ---------------------------------------------------------------------------- */

/* Rows of schema 1 have no checksum: they get the one that fits what they are. */
static void complete(struct move_batch *b, int list)
{
    struct move_value *v = b->rows[b->count].v;

    if (list == MOVE_FACTS) {
        struct store_fact f = { (uint64_t)v[1].n, v[2].n, v[3].s, v[4].s };
        v[MOVE_FACT_SUM].n =
            fact_sum((struct log_name){ v[MOVE_FACT_OWNER].s, v[MOVE_FACT_NAME].s }, &f);
    } else {
        struct store_approval p = { v[2].s, v[4].s, v[5].s, v[6].s, v[7].s, v[8].n, v[9].n };
        v[MOVE_APPROVAL_SUM].n =
            approval_sum((struct log_name){ v[1].s, v[MOVE_APPROVAL_NAME].s }, &p);
    }
}

/* How many bytes it took. */
static size_t take_row(sqlite3_stmt *st, const struct move_table *t, struct move_batch *b)
{
    int list = (int)(t - move_tables), sum = list == MOVE_FACTS ? MOVE_FACT_SUM : MOVE_APPROVAL_SUM;
    bool   summed = list == MOVE_FACTS || list == MOVE_APPROVALS;
    size_t bytes = 0;

    for (unsigned i = 0; t->types[i]; i++) {
        struct move_value v = { 0 };
        if (move_is_number(t, i)) v.n = sqlite3_column_int64(st, (int)i);
        else v.s = db_text(st, (int)i);
        bytes += v.s.len;
        move_keep(b, t, i, v);
    }
    if (summed && sqlite3_column_type(st, sum) == SQLITE_NULL) complete(b, list);
    b->count++;
    return bytes;
}

static enum err ask(struct file *f, const struct move_table *t, struct str sql,
                    const struct move_row *after, struct move_batch *b)
{
    sqlite3_stmt *st = NULL;
    size_t        bytes = 0;
    int           rc;

    if (!sql.ptr) return move_fail(&f->base, STR_NONE, ERR_NOMEM);
    rc = sqlite3_prepare_v2(f->db.sql, sql.ptr, (int)sql.len, &st, NULL);
    if (rc == SQLITE_OK && after) bind_row(st, t, after, t->key);
    while (rc == SQLITE_OK && b->count < MOVE_ROWS && bytes < MOVE_BYTES &&
           (rc = sqlite3_step(st)) == SQLITE_ROW) {
        bytes += take_row(st, t, b);
        rc = SQLITE_OK;
    }
    enum err e = rc == SQLITE_OK || rc == SQLITE_DONE ? OK : fail(f, rc);
    sqlite3_finalize(st);
    return !e && b->arena.failed ? move_fail(&f->base, STR_NONE, ERR_NOMEM) : e;
}

static enum err read_batch(struct move_side *s, const struct move_table *t,
                           const struct move_row *after, struct move_batch *b)
{
    return ask(OURS(s), t, move_select(t, "", after != NULL, &b->arena), after, b);
}

static enum err last(struct move_side *s, const struct move_table *t, struct move_batch *b)
{
    return ask(OURS(s), t, move_select_last(t, "", &b->arena), NULL, b);
}

static enum err count(struct move_side *s, const struct move_table *t, uint64_t *out)
{
    struct file *f = OURS(s);
    struct str   sql = move_select_count(t, "", s->arena);
    int64_t      n = 0;

    if (!sql.ptr) return move_fail(s, STR_NONE, ERR_NOMEM);
    if (db_int(&f->db, sql.ptr, &n)) return fail(f, sqlite3_errcode(f->db.sql));
    *out = (uint64_t)n;
    return OK;
}

/* --- writing ------------------------------------------------------------------------------ */

static struct str insert_sql(const struct move_table *t, struct arena *a)
{
    struct str values = STR("?");

    for (unsigned i = 1; i < t->own; i++) values = arena_printf(a, STR_FMT ", ?", STR_ARG(values));
    return arena_printf(a, "INSERT INTO %s(%s) VALUES(" STR_FMT ")", t->table, t->columns,
                        STR_ARG(values));
}

static enum err insert(struct file *f, const struct move_table *t, const struct move_batch *b,
                       struct arena *a)
{
    sqlite3_stmt *st = NULL, *title = NULL;
    struct str    sql = insert_sql(t, a);
    int           rc = SQLITE_NOMEM;

    if (sql.ptr) rc = sqlite3_prepare_v2(f->db.sql, sql.ptr, (int)sql.len, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(f->db.sql,
                                "INSERT INTO title_gram(rowid, title)"
                                " VALUES(?1, replace(?2, char(0), ' '))",
                                -1, &title, NULL);
    for (size_t i = 0; i < b->count && rc == SQLITE_OK; i++) {
        const struct move_value *v = b->rows[i].v;
        bind_row(st, t, &b->rows[i], t->own);
        if ((rc = sqlite3_step(st)) == SQLITE_DONE) rc = sqlite3_reset(st);
        if (rc != SQLITE_OK || t != &move_tables[MOVE_THREADS]) continue;
        sqlite3_bind_int64(title, 1, v[0].n);
        sqlite3_bind_text64(title, 2, v[3].s.ptr, v[3].s.len, SQLITE_STATIC, SQLITE_UTF8);
        if ((rc = sqlite3_step(title)) == SQLITE_DONE) rc = sqlite3_reset(title);
    }
    enum err e = rc == SQLITE_OK ? OK : fail(f, rc);
    sqlite3_finalize(title);
    sqlite3_finalize(st);
    if (e || t != &move_tables[MOVE_THREADS]) return e;
    return exec(f, "UPDATE store SET titled = (SELECT ifnull(max(id), 0) FROM thread)");
}

static enum err write_batch(struct move_side *s, const struct move_table *t,
                            const struct move_batch *b)
{
    struct file *f = OURS(s);
    struct arena a;
    enum err     e = exec(f, "BEGIN IMMEDIATE");

    if (e) return e;
    arena_init(&a, 0);
    e = insert(f, t, b, &a);
    arena_done(&a);
    if (!e) e = exec(f, "COMMIT");
    if (e) sqlite3_exec(f->db.sql, "ROLLBACK", NULL, NULL, NULL);
    else db_checkpoint(&f->db, 4096);
    return e;
}

/* --- the mark --------------------------------------------------------------------------------- */

static enum err marked(struct move_side *s, struct arena *a, struct str *source, struct str *state)
{
    struct file  *f = OURS(s);
    sqlite3_stmt *st = NULL;
    int64_t       there = 0;
    enum err      e = ERR_NOT_FOUND;

    if (db_int(&f->db, "SELECT count(*) FROM sqlite_schema WHERE name = 'move'", &there))
        return fail(f, sqlite3_errcode(f->db.sql));
    if (!there) return ERR_NOT_FOUND; /* PATH.moving is nobody's but ours */
    if (sqlite3_prepare_v2(f->db.sql, "SELECT source, state FROM move", -1, &st, NULL) ==
            SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW) {
        *source = arena_dup(a, db_text(st, 0));
        *state = arena_dup(a, db_text(st, 1));
        e = a->failed ? move_fail(s, STR_NONE, ERR_NOMEM) : OK;
    }
    sqlite3_finalize(st);
    return e;
}

static enum err mark(struct move_side *s, struct str source, struct str state)
{
    struct file *f = OURS(s);
    char        *sql =
        sqlite3_mprintf("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS move(source TEXT, state TEXT);"
                        " DELETE FROM move; INSERT INTO move VALUES(%Q, %Q); COMMIT",
                        source.ptr, state.ptr);
    enum err e = sql ? exec(f, sql) : move_fail(s, STR_NONE, ERR_NOMEM);

    sqlite3_free(sql);
    return e;
}

static enum err empty(struct move_side *s)
{
    return exec(OURS(s),
                "BEGIN IMMEDIATE; DROP TABLE move; DELETE FROM thread; DELETE FROM fact;"
                " DELETE FROM request; DELETE FROM approval; DELETE FROM tool;"
                " DELETE FROM used; DELETE FROM key; DELETE FROM stock; DELETE FROM session;"
                " DELETE FROM stub; DELETE FROM checkpoint; DELETE FROM noted; DELETE FROM trimmed;"
                " UPDATE store SET titled = 0, title_owed = 0, said = 0, said_at = NULL,"
                " said_owed = 0;"
                " INSERT INTO title_gram(title_gram) VALUES('delete-all');"
                " INSERT INTO said_gram(said_gram) VALUES('delete-all'); COMMIT");
}

/* --- opening and closing ---------------------------------------------------------------------- */

static enum err open_file(struct file *f, struct str path, struct str *why)
{
    struct arena *a = f->base.arena;
    struct db_raw raw;
    enum err      e = db_file_open(&f->file, path, a, why);

    if (e) return e;
    f->open = true;
    f->base.shown = arena_dup(a, str_c(f->file.path));
    e = db_pair_look(&f->file, &raw, a, why);
    if (e) return e;
    e = db_open(&f->db, f->file.path, db_write_sql, true);
    if (e)
        return db_refuse(
            why, arena_printf(a, "cannot open %s: %s", f->file.path, sqlite3_errmsg(f->db.sql)), e);
    return db_upgrade(&f->db, &raw, f->file.path, a, why);
}

static void close_file(struct file *f)
{
    if (f->db.sql) {
        db_cut_log(&f->db);
        db_checkpoint_on_close(&f->db);
        db_close(&f->db);
    }
    if (f->open) db_file_close(&f->file);
    f->open = false;
}

static void close_side(struct move_side *s)
{
    close_file(OURS(s));
    mem_free(OURS(s));
}

static enum err finish(struct move_side *s)
{
    struct file *f = OURS(s);
    struct str   part = arena_dup(s->arena, str_c(f->file.path)), lock;
    enum err     e = exec(f, "DROP TABLE move");

    if (e) return e;
    lock = arena_printf(s->arena, STR_FMT "-lock", STR_ARG(part));
    if (!part.ptr || !lock.ptr) return move_fail(s, STR_NONE, ERR_NOMEM);
    close_file(f);
    e = db_name_new(part.ptr, f->path.ptr, s->arena, &s->why);
    if (!e) unlink(lock.ptr);
    return e;
}

static const struct move_ops ops = {
    .read = read_batch,
    .last = last,
    .count = count,
    .write = write_batch,
    .marked = marked,
    .mark = mark,
    .empty = empty,
    .finish = finish,
    .close = close_side,
};

/* A target's name must be free; a source must be there. */
static enum err check_name(struct str path, bool target, struct arena *a, struct str *why)
{
    struct stat st;

    if (!path.len || str_is(path, ":memory:"))
        return db_refuse(why, STR("a move needs the name of a file, as in sqlite:parley.db"),
                         ERR_SYNTAX);
    if (stat(path.ptr, &st) == 0)
        return target ? db_refuse(why,
                                  arena_printf(a,
                                               "%s is there already, and a move replaces nothing: "
                                               "name another file",
                                               path.ptr),
                                  ERR_EXISTS)
                      : db_check_file("open", path.ptr, a, why);
    return target && errno == ENOENT ? OK : db_refuse_errno(why, a, "open", path.ptr);
}

static uint32_t header_number(const uint8_t *header, int at)
{
    return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 |
           (uint32_t)header[at + 2] << 8 | header[at + 3];
}

bool sqlite_move_is_current(struct str url)
{
    enum { VERSION_AT = 60, APPLICATION_AT = 68, LEN = 72 }; /* SQLite's "database header" */
    char    path[PATH_MAX];
    uint8_t header[LEN];
    bool    whole;

    if (str_starts(url, STR("sqlite:"))) url = str_from(url, 7);
    snprintf(path, sizeof path, STR_FMT, STR_ARG(url));
    const char *why;
    int         fd = file_open(path, O_RDONLY, &why);
    if (fd < 0) return false;
    whole = pread(fd, header, LEN, 0) == LEN;
    close(fd);
    return whole && header_number(header, VERSION_AT) == DB_SCHEMA &&
           header_number(header, APPLICATION_AT) == DB_APPLICATION_ID;
}

enum err sqlite_move_open(struct str url, bool target, struct arena *a, struct move_side **out,
                          struct str *why)
{
    struct str   path = arena_dup(a, str_starts(url, STR("sqlite:")) ? str_from(url, 7) : url);
    struct str   part = target ? arena_printf(a, STR_FMT ".moving", STR_ARG(path)) : path;
    struct file *f = mem_alloc(sizeof *f);
    enum err     e = ERR_NOMEM;

    if (f && path.ptr && part.ptr) {
        f->base = (struct move_side){ .ops = &ops, .arena = a };
        f->path = path;
        e = check_name(path, target, a, why);
        if (!e) e = open_file(f, part, why);
    }
    if (e && f) close_side(&f->base);
    if (e) return e;
    if (target) f->base.shown = path;
    *out = &f->base;
    return OK;
}
