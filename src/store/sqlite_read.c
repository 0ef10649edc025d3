/* sqlite_read.c -- what the reader thread does: a log's facts, and the lists. Searches are in
 * sqlite_find.c.
 *
 * Everything is copied into the request's arena, on the reader thread; the loop
 * thread hands it out and gives the arena back.
 *
 * Paging goes by (time, number) and not by offset: a page's last row is the
 * cursor, so equal times lose nothing and rows that move up come once more at most.
 */
#include "store/sqlite_read.h"

#include <stdio.h>

#include "store/said.h"

_Static_assert((int)R_COUNT <= DB_STMT_MAX, "room for every statement");
_Static_assert((int)R_APPROVALS == DB_READ_SQL_COUNT, "the header's figure");

#define THREAD_COLUMNS "owner, name, title, state, created_ms, updated_ms, id, source, grp"
#define FOUND_COLUMNS \
    "t.owner, t.name, t.title, t.state, t.created_ms, t.updated_ms, t.id, t.source, t.grp"
#define APPROVAL_COLUMNS                                                                      \
    "a.owner, t.name, a.id, a.call, a.tool, a.status, a.body, a.requested_ms, a.expires_ms, " \
    "a.num, a.sum,"                                                                           \
    " t.id, t.created_ms"
#define STOCK_COLUMNS                                                                         \
    "s.key, s.kind, s.owner, t.name, s.holder, s.state, s.body, s.uses, s.amount, s.made_ms," \
    " s.until_ms, s.num"
#define FROM_STOCK      " FROM stock s LEFT JOIN thread t ON t.id = s.thread"
#define APPROVAL_THREAD " JOIN thread t ON t.id = a.thread"
/* Without statistics the planner would take all pending ones and sort them. */
#define FROM_DUE " FROM approval a INDEXED BY approval_due" APPROVAL_THREAD
#define IS_DUE   " WHERE a.status IN ('pending', 'offered', 'unknown') AND a.expires_ms > 0"
/* Whoever may have the letters ?1 in their title: by the index, and the newest, which are not in it
 * yet. CROSS: these first, whatever the planner thinks of it. */
#define FROM_MAYBE                                                          \
    " FROM (SELECT rowid AS id FROM title_gram WHERE title_gram MATCH ?1"   \
    " UNION SELECT id FROM thread WHERE id > (SELECT titled FROM store)) m" \
    " CROSS JOIN thread t ON t.id = m.id"

const char *const db_read_sql[R_COUNT] = {
    [R_THREAD] = "SELECT id, seq, title, state, created_ms, updated_ms FROM thread WHERE owner = "
                 "?1 AND name = ?2",
    [R_FACTS] =
        "SELECT seq, at_ms, kind, body, sum FROM fact WHERE thread = ?1 AND seq > ?2 ORDER BY seq",
    [R_THREADS] = ("SELECT " THREAD_COLUMNS " FROM thread WHERE owner = ?1 AND source = ?5"
                   " AND (updated_ms, id) < (?2, ?3) AND hidden = 0"
                   " ORDER BY updated_ms DESC, id DESC LIMIT ?4"),
    [R_DUE] = ("SELECT " APPROVAL_COLUMNS FROM_DUE IS_DUE " AND a.expires_ms <= ?1"
               " ORDER BY a.expires_ms"),
    [R_NEXT_DUE] = ("SELECT " APPROVAL_COLUMNS FROM_DUE IS_DUE " ORDER BY a.expires_ms"),
    [R_UNFINISHED] = ("SELECT " THREAD_COLUMNS " FROM thread WHERE state <> 'idle' AND state = "
                      "'running' ORDER BY id LIMIT ?1"),
    [R_TOOLS] = "SELECT name, runs, failed FROM tool ORDER BY name LIMIT ?1",
    [R_REQUEST] = ("SELECT r.owner, t.name, r.run FROM request r JOIN thread t ON t.id = r.thread"
                   " WHERE r.owner = ?1 AND r.id = ?2"),
    /* For operators, now and then: in the order of the table itself, because no index is worth its
     * upkeep. */
    [R_ALL_THREADS] =
        ("SELECT " THREAD_COLUMNS
         " FROM thread WHERE id < ?1 AND source = ?3 AND hidden = 0 ORDER BY id DESC LIMIT ?2"),
    [R_FIND] =
        ("SELECT " FOUND_COLUMNS FROM_MAYBE " WHERE t.hidden = 0 AND t.source = ?5 AND t.owner = ?2"
         " AND (t.updated_ms, t.id) < (?3, ?4) ORDER BY t.updated_ms DESC, t.id DESC"),
    [R_FIND_ALL] = ("SELECT " FOUND_COLUMNS FROM_MAYBE
                    " WHERE t.hidden = 0 AND t.source = ?3 AND t.id < ?2 ORDER BY t.id DESC"),
    [R_USED] = "SELECT amount, day, owner FROM used WHERE owner = ?1 AND day = ?2",
    /* For operators, now and then: a month of it, and no index is worth its upkeep. */
    [R_ALL_USED] = "SELECT amount, day, owner FROM used WHERE day >= ?1 ORDER BY day DESC, owner",
    [R_KEYS] =
        ("SELECT k.owner, t.name, k.value, k.at_ms FROM key k JOIN thread t ON t.id = k.thread"
         " WHERE k.owner = ?1 AND k.key = ?2 ORDER BY k.at_ms DESC, k.thread DESC LIMIT ?3"),
    [R_SESSION] = "SELECT body, ends_ms FROM session WHERE key = ?1",
    [R_STOCK] = ("SELECT " STOCK_COLUMNS FROM_STOCK " WHERE s.kind = ?1 AND s.owner = ?2"
                 " AND (s.made_ms, s.num) < (?3, ?4) ORDER BY s.made_ms DESC, s.num DESC LIMIT ?5"),
    [R_ALL_STOCK] = ("SELECT " STOCK_COLUMNS FROM_STOCK " WHERE s.kind = ?1"
                     " AND (s.made_ms, s.num) < (?2, ?3)"
                     " ORDER BY s.made_ms DESC, s.num DESC LIMIT ?4"),
    [R_ONE_STOCK] = "SELECT " STOCK_COLUMNS FROM_STOCK " WHERE s.key = ?1",
    [R_EVENTS] = "SELECT num, at_ms, owner, kind, id, body FROM event WHERE num > ?1"
                 " ORDER BY num LIMIT ?2",
    [R_WAITING] = "SELECT count(*), ifnull(min(requested_ms), 0) FROM approval"
                  " WHERE status = 'pending'",
    [R_EVENT_HEAD] = "SELECT ifnull(max(num), 0) FROM event",
    [R_SAID] = ("SELECT " FOUND_COLUMNS ", f.rowid, f.kind, substr(f.body, 1, ?4) FROM thread t"
                " LEFT JOIN fact f ON f.thread = t.id AND f.kind IN " SAID_KINDS
                " WHERE t.owner = ?1 AND t.source = '' AND t.hidden = 0"
                " AND (t.updated_ms, t.id) < (?2, ?3)"
                " ORDER BY t.updated_ms DESC, t.id DESC, f.seq DESC"),
    [R_HEADS] =
        "SELECT t.owner, t.name, t.created_ms, t.seq, t.links, t.id, NULL, n.seq FROM thread t"
        " LEFT JOIN noted n ON n.thread = t.id WHERE t.links IS NOT NULL"
        " AND t.seq <> ifnull(n.seq, 0) UNION ALL"
        " SELECT '', '', created_ms, seq, head, num, log, 0 FROM stub WHERE noted = 0 LIMIT ?1",
    [R_OLD] = ("SELECT " THREAD_COLUMNS " FROM thread t WHERE state = 'idle' AND updated_ms <"
               " CASE WHEN EXISTS (SELECT 1 FROM approval a WHERE a.thread = t.id) THEN ?2 ELSE ?1"
               " END AND NOT EXISTS (SELECT 1 FROM approval a WHERE a.thread = t.id AND"
               " a.status = 'unknown') LIMIT ?3"),
    [R_UNTRIMMED] = ("SELECT " FOUND_COLUMNS " FROM thread t LEFT JOIN trimmed x ON x.thread = t.id"
                     " AND x.seq = t.seq WHERE t.state = 'idle' AND t.id > ?5"
                     " AND (t.updated_ms < ?1 AND ifnull(x.kinds, 0) & 1 = 0"
                     " OR t.updated_ms < ?2 AND ifnull(x.kinds, 0) & 2 = 0"
                     " OR t.updated_ms < ?3 AND ifnull(x.kinds, 0) & 4 = 0"
                     " OR t.updated_ms < ?4 AND ifnull(x.kinds, 0) & 8 = 0)"
                     " ORDER BY t.id LIMIT ?6"),
    [R_LOGS] = "SELECT " THREAD_COLUMNS " FROM thread WHERE owner = ?1 LIMIT ?2",
    [R_STUBS] = "SELECT num, log, owner, name, seq, body, created_ms FROM stub WHERE owner = ?1 OR "
                "instr(body,"
                " ?2) > 0 LIMIT ?3",
    [R_LAST] = "SELECT number, line FROM checkpoint WHERE number ="
               " (SELECT max(number) FROM checkpoint)",
    [R_UNTOLD] = "SELECT number, line FROM checkpoint WHERE told = 0 ORDER BY number LIMIT ?1",
    [R_SESSIONS] = "SELECT key, body, ends_ms FROM session INDEXED BY session_by_end WHERE"
                   " ends_ms > ?2 AND key >= ?1 AND key < ?1 || char(1114111) ORDER BY ends_ms"
                   " LIMIT ?3",
    /* As R_FIND, and whoever may have them in a fact: by its index, and the newest likewise. */
    [R_SAID_FIND] =
        ("SELECT " FOUND_COLUMNS ", m.fact FROM (SELECT f.thread AS id, f.rowid AS fact FROM"
         " said_gram g CROSS JOIN fact f ON f.rowid = g.rowid WHERE g.said_gram MATCH ?5"
         " UNION ALL SELECT thread, rowid FROM fact WHERE rowid > (SELECT said FROM store)"
         " AND kind IN " SAID_KINDS
         " UNION ALL SELECT rowid, NULL FROM title_gram WHERE title_gram MATCH ?1"
         " UNION ALL SELECT id, NULL FROM thread WHERE id > (SELECT titled FROM store)) m"
         " CROSS JOIN thread t ON t.id = m.id WHERE t.owner = ?2 AND t.source = ''"
         " AND t.hidden = 0 AND (t.updated_ms, t.id) < (?3, ?4)"
         " ORDER BY t.updated_ms DESC, t.id DESC, m.fact DESC"),
    [R_SAID_BODY] = "SELECT kind, substr(body, 1, ?2) FROM fact WHERE rowid = ?1",
    [R_SAID_FACT] = "SELECT seq, at_ms, kind, body, sum FROM fact WHERE rowid = ?1",
    [R_SAID_BEHIND] = "SELECT (SELECT ifnull(max(rowid), 0) FROM fact) - said FROM store",
};

/* --- a log's facts ------------------------------------------------------------------ */

static struct str copy(struct arena *a, sqlite3_stmt *st, int col)
{
    struct str s = db_text(st, col);

    if (!s.ptr && sqlite3_column_type(st, col) != SQLITE_NULL) a->failed = true;
    return arena_dup(a, s);
}

static void fill_meta(struct store_read *r, sqlite3_stmt *st)
{
    r->seq = (uint64_t)sqlite3_column_int64(st, 1);
    r->title = copy(&r->arena, st, 2);
    r->state = copy(&r->arena, st, 3);
    r->created_ms = sqlite3_column_int64(st, 4);
    r->updated_ms = sqlite3_column_int64(st, 5);
}

bool read_sound(sqlite3_stmt *st, int col, int64_t sum)
{
    return sqlite3_column_type(st, col) == SQLITE_NULL || sqlite3_column_int64(st, col) == sum;
}

/* --- reading ------------------------------------------------------------------------------ */

static enum err read_facts(struct db *d, struct store_read *r, int64_t id)
{
    size_t        want = r->seq > r->after ? (size_t)(r->seq - r->after) : 0;
    sqlite3_stmt *st;
    enum err      e = want ? db_ask(d, R_FACTS, &st, "ii", id, (int64_t)r->after) : OK;

    if (e || !want) return e;
    r->facts = arena_array(&r->arena, want, sizeof *r->facts);
    while (!(e = db_next(d, st)) && r->count < want && !r->arena.failed) {
        struct store_fact *f = &r->facts[r->count++];
        *f = (struct store_fact){
            .seq = (uint64_t)sqlite3_column_int64(st, 0),
            .at_ms = sqlite3_column_int64(st, 1),
            .kind = copy(&r->arena, st, 2),
            .body = copy(&r->arena, st, 3),
        };
        if (!r->arena.failed &&
            (f->seq != r->after + r->count || !read_sound(st, 4, fact_sum(r->log, f)))) {
            db_end(st);
            return ERR_DAMAGED;
        }
    }
    if (!e) db_end(st);
    if (r->arena.failed) return ERR_NOMEM;
    if (e == ERR_IO && (sqlite3_errcode(d->sql) & 0xff) == SQLITE_CORRUPT) return ERR_DAMAGED;
    if (e && e != ERR_NOT_FOUND) return e;
    /* else facts are missing, or there are too many */
    return e == ERR_NOT_FOUND && r->count == want ? OK : ERR_DAMAGED;
}

void db_read(struct db *d, struct store_read *r)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, R_THREAD, &st, "tt", r->log.owner, r->log.thread);

    if (!e) e = db_next(d, st);
    if (e) goto out;
    fill_meta(r, st);
    e = read_facts(d, r, sqlite3_column_int64(st, 0));
    if (e == ERR_DAMAGED)
        damaged_note(&d->damaged, log_key(sqlite3_column_int64(st, 0), r->created_ms));
    if (!e && r->arena.failed) e = ERR_NOMEM;
    /* Not earlier: an open statement keeps the snapshot, so that the thread's row and its facts
     * are of one commit. BEGIN would do too, but its COMMIT could fail and leave us in the past. */
    db_end(st);
out:
    if (e) r->count = 0;
    r->job.result = e;
}

/* --- lists ---------------------------------------------------------------------------- */

/* Each gives the key of the row's log, 0 when it has none. */
uint64_t read_thread_row(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                         struct row_place *at)
{
    row->owner = copy(a, st, 0);
    row->thread = copy(a, st, 1);
    row->title = copy(a, st, 2);
    row->state = copy(a, st, 3);
    row->created_ms = sqlite3_column_int64(st, 4);
    row->updated_ms = sqlite3_column_int64(st, 5);
    row->num = sqlite3_column_int64(st, 6);
    *at = (struct row_place){ row->updated_ms, row->num };
    if (sqlite3_column_bytes(st, 7)) row->source = copy(a, st, 7);
    row->group = copy(a, st, 8);
    return log_key(at->num, row->created_ms);
}

static uint64_t fill_approval(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                              struct row_place *at)
{
    row->owner = copy(a, st, 0);
    row->thread = copy(a, st, 1);
    row->approval = (struct store_approval){
        .id = copy(a, st, 2),
        .call = copy(a, st, 3),
        .tool = copy(a, st, 4),
        .status = copy(a, st, 5),
        .body = copy(a, st, 6),
        .requested_ms = sqlite3_column_int64(st, 7),
        .expires_ms = sqlite3_column_int64(st, 8),
    };
    *at = (struct row_place){ row->approval.requested_ms, sqlite3_column_int64(st, 9) };
    row->damaged = !read_sound(
        st, 10, approval_sum((struct log_name){ row->owner, row->thread }, &row->approval));
    return log_key(sqlite3_column_int64(st, 11), sqlite3_column_int64(st, 12));
}

static uint64_t fill_tool(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                          struct row_place *at)
{
    row->tool = copy(a, st, 0);
    row->runs = (uint64_t)sqlite3_column_int64(st, 1);
    row->failed = (uint64_t)sqlite3_column_int64(st, 2);
    return 0;
}

static uint64_t fill_request(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                             struct row_place *at)
{
    row->owner = copy(a, st, 0);
    row->thread = copy(a, st, 1);
    row->run = copy(a, st, 2);
    return 0;
}

static uint64_t fill_key(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                         struct row_place *at)
{
    row->owner = copy(a, st, 0);
    row->thread = copy(a, st, 1);
    row->value = copy(a, st, 2);
    row->created_ms = sqlite3_column_int64(st, 3);
    return 0;
}

static uint64_t fill_used(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                          struct row_place *at)
{
    row->amount = sqlite3_column_int64(st, 0);
    row->day = sqlite3_column_int64(st, 1);
    row->owner = copy(a, st, 2);
    return 0;
}

static uint64_t fill_waiting(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                             struct row_place *at)
{
    row->amount = sqlite3_column_int64(st, 0);
    row->created_ms = sqlite3_column_int64(st, 1);
    return 0;
}

static uint64_t fill_stock(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                           struct row_place *at)
{
    row->owner = copy(a, st, 2);
    row->thread = copy(a, st, 3);
    row->stock = (struct store_stock){
        .key = copy(a, st, 0),
        .kind = copy(a, st, 1),
        .owner = row->owner,
        .thread = row->thread,
        .holder = copy(a, st, 4),
        .state = copy(a, st, 5),
        .body = copy(a, st, 6),
        .uses = sqlite3_column_int64(st, 7),
        .amount = sqlite3_column_int64(st, 8),
        .made_ms = sqlite3_column_int64(st, 9),
        .until_ms = sqlite3_column_int64(st, 10),
    };
    *at = (struct row_place){ row->stock.made_ms, sqlite3_column_int64(st, 11) };
    return 0;
}

static uint64_t fill_event(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                           struct row_place *at)
{
    *at = (struct row_place){ 0, sqlite3_column_int64(st, 0) };
    row->created_ms = sqlite3_column_int64(st, 1);
    row->owner = copy(a, st, 2);
    row->event = (struct store_event){ copy(a, st, 3), copy(a, st, 4), copy(a, st, 5) };
    row->place = row_place_cursor(a, *at);
    return 0;
}

static uint64_t fill_head(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                          struct row_place *at)
{
    *at = (struct row_place){ 0, sqlite3_column_int64(st, 0) };
    row->place = row_place_cursor(a, *at);
    return 0;
}

static enum err ask_stock(struct db *d, const struct store_list *l, struct row_place from,
                          int64_t limit, sqlite3_stmt **out)
{
    if (l->id.ptr) return db_ask(d, R_ONE_STOCK, out, "t", l->id);
    if (l->everybody)
        return db_ask(d, R_ALL_STOCK, out, "tiii", l->status, from.ms, from.num, limit);
    return db_ask(d, R_STOCK, out, "ttiii", l->status, l->owner, from.ms, from.num, limit);
}

static uint64_t fill_log_head(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                              struct row_place *at)
{
    struct log_name log = { db_text(st, 0), db_text(st, 1) };
    struct str      name = db_text(st, 6);

    (void)at;
    row->created_ms = sqlite3_column_int64(st, 2);
    row->seq = (uint64_t)sqlite3_column_int64(st, 3);
    row->head = arena_dup(a, db_head(st, 4));
    row->num = sqlite3_column_int64(st, 5);
    row->noted = (uint64_t)sqlite3_column_int64(st, 7);
    row->stub = name.ptr != NULL;
    if (row->stub) snprintf(row->log, sizeof row->log, STR_FMT, STR_ARG(name));
    else chain_name(log, row->created_ms, row->log);
    return 0;
}

static uint64_t fill_stub(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                          struct row_place *at)
{
    (void)at;
    row->num = sqlite3_column_int64(st, 0);
    snprintf(row->log, sizeof row->log, STR_FMT, STR_ARG(db_text(st, 1)));
    row->owner = copy(a, st, 2);
    row->thread = copy(a, st, 3);
    row->seq = (uint64_t)sqlite3_column_int64(st, 4);
    row->line = copy(a, st, 5);
    row->created_ms = sqlite3_column_int64(st, 6);
    return 0;
}

static uint64_t fill_checkpoint(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                                struct row_place *at)
{
    (void)at;
    row->number = (uint64_t)sqlite3_column_int64(st, 0);
    row->line = copy(a, st, 1);
    return 0;
}

static uint64_t fill_session(struct arena *a, sqlite3_stmt *st, struct store_row *row,
                             struct row_place *at)
{
    (void)at;
    row->owner = copy(a, st, 0);
    row->value = copy(a, st, 1);
    row->updated_ms = sqlite3_column_int64(st, 2);
    return 0;
}

/* A client tool that is offered and that nobody was asked about is no approval; it is there for
 * whoever asks for just that, or by its id. */
#define NOT_OFFERED(by) ((by)&BY_ID ? "" : " AND a.status <> 'offered'")

void db_approvals_sql(int by, char out[DB_APPROVALS_SQL_MAX])
{
    sqlite3_snprintf(DB_APPROVALS_SQL_MAX, out,
                     "SELECT " APPROVAL_COLUMNS " FROM approval a" APPROVAL_THREAD
                     " WHERE (a.requested_ms, a.num) < (?5, ?6)%s%s%s%s"
                     " ORDER BY a.requested_ms DESC, a.num DESC LIMIT ?7",
                     by & BY_OWNER ? " AND a.owner = ?1" : "",
                     by & BY_STATUS ? " AND a.status = ?2" : NOT_OFFERED(by),
                     by & BY_THREAD ? " AND t.name = ?3" : "", by & BY_ID ? " AND a.id = ?4" : "");
}

/* One statement per set of filters, so that each can use its index. */
static enum err ask_approvals(struct db *d, const struct store_list *l, struct row_place from,
                              int64_t limit, sqlite3_stmt **out)
{
    int by = (l->everybody ? 0 : BY_OWNER) | (l->status.ptr ? BY_STATUS : 0) |
             (l->thread.ptr ? BY_THREAD : 0) | (l->id.ptr ? BY_ID : 0);

    if (!d->stmt[R_APPROVALS + by]) {
        char sql[DB_APPROVALS_SQL_MAX];
        int  rc;
        db_approvals_sql(by, sql);
        rc = sqlite3_prepare_v3(d->sql, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                &d->stmt[R_APPROVALS + by], NULL);
        if (rc) return db_err(d, rc);
    }
    return db_ask(d, R_APPROVALS + by, out, "ttttiii", l->owner, l->status, l->thread, l->id,
                  from.ms, from.num, limit);
}

enum err read_ask(struct db *d, const struct store_list *l, int64_t limit, sqlite3_stmt **out)
{
    struct row_place from = { INT64_MAX, INT64_MAX };

    if (l->kind == STORE_EVENTS) from = (struct row_place){ 0, 0 };
    if (!row_place_parse(l->before, &from)) return ERR_SYNTAX;
    if (list_pages(l) && !l->owner.ptr && !l->everybody) return ERR_DENIED;
    switch (l->kind) {
    case STORE_THREADS:
        if (l->everybody) return db_ask(d, R_ALL_THREADS, out, "iis", from.num, limit, l->source);
        return db_ask(d, R_THREADS, out, "tiiis", l->owner, from.ms, from.num, limit, l->source);
    case STORE_APPROVALS: return ask_approvals(d, l, from, limit, out);
    case STORE_DUE: return db_ask(d, R_DUE, out, "i", l->due_ms);
    case STORE_NEXT_DUE: return db_ask(d, R_NEXT_DUE, out, "");
    case STORE_UNFINISHED: return db_ask(d, R_UNFINISHED, out, "i", limit);
    case STORE_TOOLS: return db_ask(d, R_TOOLS, out, "i", limit);
    case STORE_REQUEST: return db_ask(d, R_REQUEST, out, "tt", l->owner, l->id);
    case STORE_KEYS: return db_ask(d, R_KEYS, out, "tti", l->owner, l->id, limit);
    case STORE_USED:
        if (l->everybody) return db_ask(d, R_ALL_USED, out, "i", l->day);
        return db_ask(d, R_USED, out, "ti", l->owner, l->day);
    case STORE_STOCK: return ask_stock(d, l, from, limit, out);
    case STORE_EVENTS: return db_ask(d, R_EVENTS, out, "ii", from.num, limit);
    case STORE_EVENT_HEAD: return db_ask(d, R_EVENT_HEAD, out, "");
    case STORE_WAITING: return db_ask(d, R_WAITING, out, "");
    case STORE_HEADS: return db_ask(d, R_HEADS, out, "i", limit);
    case STORE_OLD: return db_ask(d, R_OLD, out, "iii", l->due_ms, l->day, limit);
    case STORE_UNTRIMMED:
        return db_ask(d, R_UNTRIMMED, out, "iiiiii", l->dues[0], l->dues[1], l->dues[2], l->dues[3],
                      l->after, limit);
    case STORE_LOGS: return db_ask(d, R_LOGS, out, "ti", l->owner, limit);
    case STORE_STUBS: return db_ask(d, R_STUBS, out, "tti", l->owner, l->search, limit);
    case STORE_LAST: return db_ask(d, R_LAST, out, "");
    case STORE_UNTOLD: return db_ask(d, R_UNTOLD, out, "i", limit);
    case STORE_SESSIONS: return db_ask(d, R_SESSIONS, out, "tii", l->id, l->due_ms, limit);
    case STORE_NODES: break; /* known without asking the file */
    }
    must(!"list kind");
    return ERR_UNSUPPORTED;
}

static uint64_t (*filler(enum store_list_kind kind))(struct arena *, sqlite3_stmt *,
                                                     struct store_row *, struct row_place *)
{
    switch (kind) {
    case STORE_THREADS:
    case STORE_OLD:
    case STORE_UNTRIMMED:
    case STORE_LOGS:
    case STORE_UNFINISHED: return read_thread_row;
    case STORE_APPROVALS:
    case STORE_DUE:
    case STORE_NEXT_DUE: return fill_approval;
    case STORE_TOOLS: return fill_tool;
    case STORE_REQUEST: return fill_request;
    case STORE_KEYS: return fill_key;
    case STORE_USED: return fill_used;
    case STORE_STOCK: return fill_stock;
    case STORE_EVENTS: return fill_event;
    case STORE_EVENT_HEAD: return fill_head;
    case STORE_WAITING: return fill_waiting;
    case STORE_HEADS: return fill_log_head;
    case STORE_STUBS: return fill_stub;
    case STORE_LAST:
    case STORE_UNTOLD: return fill_checkpoint;
    case STORE_SESSIONS: return fill_session;
    case STORE_NODES: break;
    }
    must(!"list kind");
    return NULL;
}

void db_list(struct db *d, struct store_list *l)
{
    sqlite3_stmt    *st;
    struct row_place last = { 0 };
    unsigned         limit = l->kind == STORE_NEXT_DUE ? 1 : l->limit;
    uint64_t         key;
    enum err         e = read_ask(d, l, l->limit ? (int64_t)l->limit + 1 : -1, &st);

    if (e) goto out;
    while (!(e = db_next(d, st))) {
        struct store_row *row;
        if (limit && l->count == limit) {
            if (list_pages(l)) l->next = row_place_cursor(&l->arena, last);
            break;
        }
        row = row_new(l);
        if (!row) break;
        key = filler(l->kind)(&l->arena, st, row, &last);
        if (!row_passed_over(&d->damaged, l, row, key)) l->count++;
    }
    if (!e) db_end(st);
    if (e == ERR_NOT_FOUND) e = OK;
    if (!e && l->arena.failed) e = ERR_NOMEM;
    if (!e) list_place(l);
out:
    if (e) l->count = 0, l->next = STR_NONE;
    l->job.result = e;
}

void db_session_get(struct db *d, struct store_session *x)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, R_SESSION, &st, "t", x->key);

    if (!e) e = db_next(d, st);
    if (!e) {
        x->body = copy(&x->arena, st, 0);
        x->ends_ms = sqlite3_column_int64(st, 1);
        db_end(st);
    }
    x->job.result = !e && x->arena.failed ? ERR_NOMEM : e;
}
