/* sqlite_walk.c -- walking through a file: a connection of its own, which only reads, and one
 * transaction from the first row to the last. */
#include "store/sqlite_db.h"
#include "store/walk_int.h"

#define WAIT_MS 5000 /* for a server that is just starting or cutting its log */
#define OF_LOG  " (?1 IS NULL OR t.owner = ?1) AND (?2 IS NULL OR t.name = ?2)"

enum { S_CHECKPOINTS, S_LOGS, S_STUBS, S_STRAYS, S_ROWS, S_LOG_COUNT, S_STUB_COUNT };
static const char *const sql[] = {
    [S_CHECKPOINTS] = "SELECT number, at_ms, line FROM checkpoint ORDER BY number",
    [S_LOGS] =
        "SELECT t.id, t.owner, t.name, t.title, t.state, t.created_ms, t.updated_ms, t.seq,"
        " t.links, f.seq, f.at_ms, f.kind, f.body, f.sum, f.link, f.digest, n.seq FROM thread t"
        " LEFT JOIN noted n"
        " ON n.thread = t.id LEFT JOIN fact f ON f.thread = t.id WHERE" OF_LOG
        " ORDER BY t.id, f.seq",
    [S_STUBS] = "SELECT t.num, t.log, t.owner, t.name, t.created_ms, t.removed_ms, t.seq, t.kind,"
                " t.body, t.digests, t.head, t.noted FROM stub t WHERE" OF_LOG " ORDER BY t.num",
    [S_STRAYS] = "SELECT 0, x.thread, min(x.seq), count(*) FROM fact x WHERE NOT EXISTS"
                 " (SELECT 1 FROM thread t WHERE t.id = x.thread) GROUP BY x.thread UNION ALL"
                 " SELECT 1, x.thread, x.seq, 1 FROM noted x WHERE NOT EXISTS"
                 " (SELECT 1 FROM thread t WHERE t.id = x.thread)",
    [S_ROWS] = "SELECT key, body FROM session WHERE key >= ?1 AND key < ?1 || char(1114111)",
    [S_LOG_COUNT] = "SELECT count(*) FROM thread t WHERE" OF_LOG,
    [S_STUB_COUNT] = "SELECT count(*) FROM stub t WHERE" OF_LOG,
};

static bool tell_checkpoint(struct walk_at *at, sqlite3_stmt *st)
{
    return !at->w->checkpoint || at->w->checkpoint(at->w, (uint64_t)sqlite3_column_int64(st, 0),
                                                   sqlite3_column_int64(st, 1), db_text(st, 2));
}

static bool tell_row(struct walk_at *at, sqlite3_stmt *st)
{
    struct walk_log   l = { .log = { db_text(st, 1), db_text(st, 2) },
                            .title = db_text(st, 3),
                            .state = db_text(st, 4),
                            .created_ms = sqlite3_column_int64(st, 5),
                            .updated_ms = sqlite3_column_int64(st, 6),
                            .seq = (uint64_t)sqlite3_column_int64(st, 7),
                            .head = db_head(st, 8),
                            .noted = (uint64_t)sqlite3_column_int64(st, 16) };
    struct store_fact f = { (uint64_t)sqlite3_column_int64(st, 9), sqlite3_column_int64(st, 10),
                            db_text(st, 11), db_text(st, 12) };
    bool              any = sqlite3_column_type(st, 9) != SQLITE_NULL;

    return walk_row(at, sqlite3_column_int64(st, 0), &l, any ? &f : NULL, db_mark(st, 13));
}

static bool tell_stub(struct walk_at *at, sqlite3_stmt *st)
{
    struct walk_stub s = { .num = sqlite3_column_int64(st, 0),
                           .name = db_text(st, 1),
                           .log = { db_text(st, 2), db_text(st, 3) },
                           .created_ms = sqlite3_column_int64(st, 4),
                           .removed_ms = sqlite3_column_int64(st, 5),
                           .seq = (uint64_t)sqlite3_column_int64(st, 6),
                           .kind = db_text(st, 7),
                           .body = db_text(st, 8),
                           .digests = db_blob(st, 9),
                           .head = db_blob(st, 10),
                           .noted = sqlite3_column_int64(st, 11) != 0 };
    return !at->w->stub || at->w->stub(at->w, &s);
}

static bool tell_stray(struct walk_at *at, sqlite3_stmt *st)
{
    struct walk_stray s = { .noted = sqlite3_column_int64(st, 0) != 0,
                            .thread = sqlite3_column_int64(st, 1),
                            .first = (uint64_t)sqlite3_column_int64(st, 2),
                            .count = (uint64_t)sqlite3_column_int64(st, 3) };
    return !at->w->stray || at->w->stray(at->w, &s);
}

static bool tell_kept(struct walk_at *at, sqlite3_stmt *st)
{
    return at->w->row(at->w, db_text(st, 0), db_text(st, 1));
}

/* `filtered`: the statement takes owner and thread. */
static enum err each(struct db *d, int id, struct walk_at *at,
                     bool (*tell)(struct walk_at *, sqlite3_stmt *))
{
    sqlite3_stmt *st;
    bool          filtered = id != S_CHECKPOINTS && id != S_STRAYS;
    enum err      e = id == S_ROWS ? db_ask(d, id, &st, "t", at->w->rows)
                      : filtered   ? db_ask(d, id, &st, "tt", at->w->owner, at->w->thread)
                                   : db_ask(d, id, &st, "");

    if (e) return e;
    while (!(e = db_next(d, st)))
        if (!tell(at, st)) {
            db_end(st);
            return ERR_CLOSED;
        }
    return e == ERR_NOT_FOUND ? OK : e;
}

static bool count_logs(struct walk_at *at, sqlite3_stmt *st)
{
    at->w->logs = (uint64_t)sqlite3_column_int64(st, 0);
    return true;
}
static bool count_stubs(struct walk_at *at, sqlite3_stmt *st)
{
    at->w->stubs = (uint64_t)sqlite3_column_int64(st, 0);
    return true;
}

static enum err walk(struct db *d, struct walk_at *at)
{
    bool     all = !at->w->owner.ptr && !at->w->thread.ptr;
    enum err e = db_exec(d, "BEGIN");

    if (!e) e = each(d, S_LOG_COUNT, at, count_logs);
    if (!e) e = each(d, S_STUB_COUNT, at, count_stubs);
    if (!e && all) e = each(d, S_CHECKPOINTS, at, tell_checkpoint);
    if (!e) e = each(d, S_LOGS, at, tell_row);
    if (!e && !walk_rows_end(at)) e = ERR_CLOSED;
    if (!e) e = each(d, S_STUBS, at, tell_stub);
    if (!e && all && at->w->stray) e = each(d, S_STRAYS, at, tell_stray);
    if (!e && at->w->row) e = each(d, S_ROWS, at, tell_kept);
    if (!e && all && at->w->fault) e = db_sound(d, at);
    return e;
}

static enum err check(struct db *d, const char *path, struct arena *a, struct str *why)
{
    int64_t  app = 0, version = 0;
    enum err e = db_int(d, "PRAGMA application_id", &app);

    if (!e) e = db_int(d, "PRAGMA user_version", &version);
    if (e)
        return db_refuse(why, arena_printf(a, "cannot read %s: %s", path, sqlite3_errmsg(d->sql)),
                         e);
    if (app != DB_APPLICATION_ID)
        return db_refuse(why, arena_printf(a, "%s is not a store of parley", path), ERR_TYPE);
    if (version > DB_SCHEMA)
        return db_refuse(why, arena_printf(a, "%s was made by a newer version of parley", path),
                         ERR_UNSUPPORTED);
    if (version < DB_SCHEMA)
        return db_refuse(why,
                         arena_printf(a,
                                      "%s was made by an older version of parley; `parley serve` "
                                      "brings it up to date when it starts",
                                      path),
                         ERR_UNSUPPORTED);
    return OK;
}

enum err sqlite_walk(struct str url, struct walk_at *at, struct arena *a, struct str *why)
{
    struct str path = arena_dup(a, str_starts(url, STR("sqlite:")) ? str_from(url, 7) : url);
    struct db  d = { .text = sql };
    enum err   e;

    if (!path.ptr) return db_refuse(why, STR_NONE, ERR_NOMEM);
    if ((e = db_check_file("read", path.ptr, a, why))) return e;
    buf_init(&d.scratch, 0);
    e = db_err(
        &d, sqlite3_open_v2(path.ptr, &d.sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE, NULL));
    if (!e) sqlite3_busy_timeout(d.sql, WAIT_MS);
    if (e)
        db_refuse(why, arena_printf(a, "cannot open %s: %s", path.ptr, sqlite3_errmsg(d.sql)), e);
    else if (!(e = check(&d, path.ptr, a, why)) && (e = walk(&d, at)) && e != ERR_CLOSED)
        db_refuse(why, arena_printf(a, "cannot read %s: %s", path.ptr, sqlite3_errmsg(d.sql)), e);
    db_close(&d);
    return e;
}
