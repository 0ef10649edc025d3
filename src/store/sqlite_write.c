/* sqlite_write.c -- what the writer thread does with a batch: group commit.
 *
 *     BEGIN IMMEDIATE
 *       append or edit                                    for each job
 *     COMMIT                                              one sync for all of them
 *
 * A job that fails does not hurt the others. Nearly all that fail do so before they
 * have written anything (a conflict, a request id that is taken). If one ever fails
 * later, the whole batch is rolled back and done again with a savepoint around each job;
 * not at once, because SQLite copies every page it changes inside a savepoint.
 * SQLite may answer a full disk by dropping the whole transaction, and COMMIT may
 * fail: then nothing of the batch is there and every job gets that error, or ERR_UNSURE when that
 * is not certain.
 */
#include "store/sqlite_write.h"

#include "base/clock.h"
#include "base/fault.h"
#include "store/said.h"

_Static_assert((int)W_COUNT <= DB_STMT_MAX, "room for every statement");
_Static_assert((int)W_COUNT == DB_WRITE_SQL_COUNT, "the header's figure");

#define SAID_FACTS                                                          \
    "SELECT f.rowid, f.kind, substr(f.body, 1, " SAID_BODY_SQL "), t.owner" \
    " FROM fact f CROSS JOIN thread t ON t.id = f.thread"
#define SAID_ONLY " AND f.kind IN " SAID_KINDS " AND t.source = ''"

const char *const db_write_sql[W_COUNT] = {
    [W_BEGIN] = "BEGIN IMMEDIATE",
    [W_COMMIT] = "COMMIT",
    [W_ROLLBACK] = "ROLLBACK",
    [W_SAVE] = "SAVEPOINT one",
    [W_RELEASE] = "RELEASE one",
    [W_UNDO] = "ROLLBACK TO one",
    [W_THREAD] = "SELECT id, seq, links, created_ms FROM thread WHERE owner = ?1 AND name = ?2",
    [W_THREAD_NEW] = "INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms,"
                     " source, grp, links) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    /* The clock may jump back; the newest change still comes first in the list. */
    [W_THREAD_MOVE] = "UPDATE thread SET seq = ?2, updated_ms = max(updated_ms, ?3),"
                      " title = ifnull(?4, title), state = ifnull(?5, state), links = ?6 WHERE id ="
                      " ?1",
    [W_THREAD_TITLE] = "UPDATE thread SET title = ?2 WHERE id = ?1 AND title = ifnull(?3, title)",
    /* The index must be told the old title word for word to take it out. By triggers it cannot be
     * done: SQLite does not let a schema that is not trusted write to it. */
    [W_TITLE_IN] = "INSERT INTO title_gram(rowid, title)"
                   " SELECT id, replace(title, char(0), ' ') FROM thread WHERE id = ?1",
    [W_TITLE_OUT] = "INSERT INTO title_gram(title_gram, rowid, title)"
                    " SELECT 'delete', id, replace(title, char(0), ' ') FROM thread WHERE id = ?1",
    [W_TITLES_IN] = "INSERT INTO title_gram(rowid, title) SELECT id, replace(title, char(0), ' ')"
                    " FROM thread WHERE id > ?1 AND id <= ?2",
    [W_TITLED] = "UPDATE store SET titled = ?1",
    /* sqlite_said.c; less than three letters are not in it */
    [W_TITLE_OWE] = "UPDATE store SET title_owed = 1 WHERE title_owed = 0 AND EXISTS (SELECT 1 FROM"
                    " thread WHERE id = ?1 AND length(replace(title, char(0), ' ')) > 2)",
    [W_FACT] = "INSERT INTO fact(thread, seq, at_ms, kind, body, sum, link) VALUES(?1, ?2, ?3, ?4, "
               "?5, ?6, ?7)",
    [W_REQUEST] = "SELECT t.name, r.run FROM request r JOIN thread t ON t.id = r.thread"
                  " WHERE r.owner = ?1 AND r.id = ?2",
    [W_REQUEST_NEW] = "INSERT INTO request(owner, id, thread, run) VALUES(?1, ?2, ?3, ?4)",
    [W_APPROVAL] =
        "INSERT INTO approval(owner, id, thread, call, tool, status, body, requested_ms, "
        "expires_ms, sum)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        " ON CONFLICT(owner, id) DO UPDATE SET thread = ?3, call = ?4, tool = ?5, status = ?6,"
        " body = ?7, requested_ms = ?8, expires_ms = ?9, sum = ?10",
    [W_TOOL] = "INSERT INTO tool(name, runs, failed) VALUES(?1, ?2, ?3)"
               " ON CONFLICT(name) DO UPDATE SET runs = runs + ?2, failed = failed + ?3",
    [W_DROP_FACTS] = "DELETE FROM fact WHERE thread = ?1",
    [W_DROP_REQUESTS] = "DELETE FROM request WHERE thread = ?1",
    [W_DROP_APPROVALS] = "DELETE FROM approval WHERE thread = ?1",
    [W_DROP_THREAD] = "DELETE FROM thread WHERE id = ?1",
    [W_DROP_KEYS] = "DELETE FROM key WHERE thread = ?1",
    [W_KEY] = "INSERT INTO key(owner, key, thread, value, at_ms) VALUES(?1, ?2, ?3, ?4, ?5)"
              " ON CONFLICT(owner, key, thread) DO UPDATE SET value = ?4, at_ms = ?5",
    [W_KEY_DROP] = "DELETE FROM key WHERE owner = ?1 AND key = ?2 AND thread = ?3",
    [W_KEY_HAD] = "SELECT t.name FROM key k JOIN thread t ON t.id = k.thread WHERE k.owner = ?1"
                  " AND k.key = ?2 AND t.name <> ?3 ORDER BY k.at_ms DESC, k.thread DESC LIMIT 1",
    [W_HIDE] = "UPDATE thread SET hidden = ?2 WHERE id = ?1",
    [W_EPOCH] = "UPDATE store SET base = ?1, epoch = ?2",
    [W_USED] = "INSERT INTO used(owner, day, amount) VALUES(?1, ?2, ?3)"
               " ON CONFLICT(owner, day) DO UPDATE SET amount = amount + ?3",
    [W_SESSION] = "INSERT INTO session(key, body, ends_ms) VALUES(?1, ?2, ?3)"
                  " ON CONFLICT(key) DO UPDATE SET body = ?2, ends_ms = ?3",
    [W_SESSION_END] = "DELETE FROM session WHERE key = ?1 AND (?2 IS NULL OR body = ?2)",
    [W_SESSIONS_OVER] = "DELETE FROM session WHERE ends_ms < ?1",
    [W_SESSIONS_EACH] = "DELETE FROM session WHERE key IN (SELECT key FROM session"
                        " WHERE key > ?1 AND key < ?1 || '0' AND key <> ?2"
                        " ORDER BY ends_ms DESC LIMIT -1 OFFSET ?3)",
    [W_SESSION_KEEP] = "UPDATE session SET body = ?2, ends_ms = ?3 WHERE key = ?1"
                       " AND (?4 IS NULL OR body = ?4)",
    [W_STOCK] =
        "SELECT s.key, s.kind, s.owner, t.name, s.holder, s.state, s.body, s.uses, s.amount,"
        " s.made_ms, s.until_ms FROM stock s LEFT JOIN thread t ON t.id = s.thread"
        " WHERE s.key = ?1",
    [W_STOCK_OVER] = "DELETE FROM stock WHERE key = ?1 AND until_ms > 0 AND until_ms <= ?2",
    [W_STOCK_MAKE] = "INSERT OR IGNORE INTO stock(key, kind, owner, thread, holder, state, body,"
                     " uses, amount, made_ms, until_ms)"
                     " VALUES(?1, ?2, ?3, nullif(?4, 0), ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [W_STOCK_FROM] = "UPDATE stock SET uses = uses - 1, amount = amount - ?2 WHERE key = ?1 AND"
                     " state = 'open' AND uses >= 1 AND amount >= ?2 AND"
                     " (until_ms = 0 OR until_ms > ?3)",
    [W_STOCK_BACK] = "UPDATE stock SET uses = uses + 1, amount = amount + ?2 WHERE key = ?1",
    [W_STOCK_SET] = "UPDATE stock SET state = ?3, body = ifnull(?4, body)"
                    " WHERE key = ?1 AND holder = ?2",
    [W_STOCK_DROP] = "DELETE FROM stock WHERE key = ?1 AND holder = ?2",
    [W_DROP_STOCK] = "DELETE FROM stock WHERE thread = ?1",
    [W_EVENT] = "INSERT INTO event(at_ms, owner, kind, id, body) VALUES(?1, ?2, ?3, ?4, ?5)",
    [W_EVENTS_OVER] = "DELETE FROM event WHERE at_ms < ?1",
    [W_FACTS] = "SELECT seq, at_ms, kind, body, sum, link, digest FROM fact WHERE thread = ?1"
                " ORDER BY seq",
    [W_STUB] = "INSERT INTO stub(log, owner, name, created_ms, removed_ms, seq, kind, digests,"
               " head, body, noted) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0)",
    [W_DROP_NOTED] = "DELETE FROM noted WHERE thread = ?1",
    [W_CHECKPOINT] = "INSERT INTO checkpoint(number, at_ms, line, told) VALUES(?1, ?2, ?3, 0)",
    [W_NOTED] = "INSERT INTO noted(thread, seq) SELECT ?1, ?2 FROM thread WHERE id = ?1"
                " AND created_ms = ?3 ON CONFLICT(thread) DO UPDATE SET seq = ?2",
    [W_STUB_NOTED] = "UPDATE stub SET noted = 1 WHERE num = ?1 AND seq = ?2",
    [W_TOLD] = "UPDATE checkpoint SET told = 1 WHERE number = ?1",
    [W_STUB_AT] = "SELECT digests, head FROM stub WHERE num = ?1 AND seq = ?2",
    [W_STUB_ERASE] = "UPDATE stub SET owner = ?2, name = ?3, removed_ms = ?4, seq = ?5, kind = ?6,"
                     " digests = ?7, head = ?8, body = ?9, noted = 0 WHERE num = ?1",
    [W_USED_ERASE] = "DELETE FROM used WHERE owner = ?1",
    [W_EVENTS_ERASE] = "DELETE FROM event WHERE owner = ?1 OR instr(body, ?2) > 0"
                       " OR instr(body, ?3) > 0",
    [W_ROWS_ERASE] = "DELETE FROM session WHERE key >= ?1 AND key < ?1 || char(1114111)"
                     " AND length(key) >= length(?1) + length(?2)"
                     " AND substr(key, length(key) - length(?2) + 1) = ?2"
                     " AND instr(substr(key, length(?1) + 1, length(key) - length(?1) -"
                     " length(?2)), '/') = 0 AND (?3 IS NULL OR instr(body, ?3) > 0)",
    [W_STOCK_ERASE] = "DELETE FROM stock WHERE kind = ?2 AND owner = ?1"
                      " AND substr(key, 1, length(?3)) = ?3",
    [W_STOCK_RENAME] = "UPDATE stock SET owner = ?3, body = ?4 WHERE kind = ?2 AND owner = ?1",
    [W_STOCK_OTHERS] = "UPDATE stock SET body = substr(body, 1, instr(body, ?2) - 1) || ?3 ||"
                       " substr(body, instr(body, ?2) + length(?2)) WHERE kind = ?1"
                       " AND instr(body, ?2) > 0",
    [W_STOCK_NAMING] = "DELETE FROM stock WHERE kind <> ?2 AND (owner = ?1 OR instr(body, ?3) > 0)",
    [W_LAST] = "SELECT ifnull(max(number), 0) FROM checkpoint",
    [W_FACT_AT] = "SELECT seq, at_ms, kind, body, sum, link, digest FROM fact WHERE thread = ?1"
                  " AND seq = ?2",
    /* what was appended first is what the chain holds; before the chain there is nothing to hold */
    [W_FACT_TRIM] = "UPDATE fact SET body = ?3, sum = ?4,"
                    " digest = CASE WHEN link IS NULL THEN NULL ELSE ifnull(digest, ?5) END"
                    " WHERE thread = ?1 AND seq = ?2",
    [W_THREAD_TRIM] = "UPDATE thread SET seq = ?2, links = ?3 WHERE id = ?1",
    [W_TRIMMED] = "INSERT INTO trimmed(thread, seq, kinds) VALUES(?1, ?2, ?3)"
                  " ON CONFLICT(thread) DO UPDATE SET seq = ?2, kinds = ?3",
    [W_DROP_TRIMMED] = "DELETE FROM trimmed WHERE thread = ?1",
    [W_SAID] = "SELECT said, title_owed, said_owed, (SELECT ifnull(max(rowid), 0) FROM fact)"
               " FROM store",
    [W_SAID_LAST] = "SELECT rowid FROM fact WHERE rowid > ?1 ORDER BY rowid LIMIT 1 OFFSET ?2",
    /* in the order of their rows: FTS5 writes a segment for a number that is not above the last */
    [W_SAID_NEXT] =
        SAID_FACTS " WHERE f.rowid > ?1 AND f.rowid <= ?2" SAID_ONLY " ORDER BY f.rowid",
    [W_SAID_LOG] = SAID_FACTS " WHERE f.thread = ?1 AND f.rowid <= ?2" SAID_ONLY " ORDER BY f.seq",
    [W_SAID_FACT] = SAID_FACTS " WHERE f.thread = ?1 AND f.seq = ?2 AND f.rowid <="
                               " (SELECT said FROM store)" SAID_ONLY,
    [W_SAID_IN] = "INSERT INTO said_gram(rowid, said) VALUES(?1, ?2)",
    [W_SAID_OUT] = "INSERT INTO said_gram(said_gram, rowid, said) VALUES('delete', ?1, ?2)",
    /* never at a row that is gone: its number would be given again, to a fact that is not in it */
    [W_SAID_MARK] = "UPDATE store SET said = ifnull((SELECT max(rowid) FROM fact WHERE rowid <="
                    " ?1), 0), said_at = (SELECT thread || '.' || seq FROM fact WHERE rowid ="
                    " (SELECT max(rowid) FROM fact WHERE rowid <= ?1))",
    [W_SAID_OWED] = "UPDATE store SET said_owed = ?1",
    [W_SAID_MERGE] = "INSERT INTO said_gram(said_gram, rank) VALUES('merge', ?1)",
    [W_TITLE_OWED] = "UPDATE store SET title_owed = ?1",
    [W_TITLE_MERGE] = "INSERT INTO title_gram(title_gram, rank) VALUES('merge', ?1)",
};

/* --- the index of titles --------------------------------------------------------
 *
 * A title put into it alone costs as much as the rest of an append, many at once a tenth of that.
 * So the newest threads are not in it: a search looks at each of those itself (R_FIND). */

#define TITLES_AT_ONCE 256

static enum err title_out(struct db *d, int64_t thread)
{
    enum err e = thread <= d->titled ? db_run(d, W_TITLE_OUT, "i", thread) : OK;
    return e || thread > d->titled ? e : db_run(d, W_TITLE_OWE, "i", thread);
}

static enum err title_in(struct db *d, int64_t thread)
{
    return thread <= d->titled ? db_run(d, W_TITLE_IN, "i", thread) : OK;
}

static enum err index_titles(struct db *d)
{
    enum err e;

    if (d->newest < d->titled + TITLES_AT_ONCE) return OK;
    d->titling = d->titled + TITLES_AT_ONCE;
    e = db_run(d, W_TITLES_IN, "ii", d->titled, d->titling);
    return e ? e : db_run(d, W_TITLED, "i", d->titling);
}

/* --- append ------------------------------------------------------------------- */

static struct str keep_found(char *buf, size_t size, struct str s)
{
    if (!s.ptr) return STR_NONE;
    s = str_cut(s, size);
    memcpy(buf, s.ptr, s.len);
    return str_n(buf, s.len);
}

/* ERR_EXISTS when the request id is taken; who has it goes into `a`. */
static enum err check_request(struct db *d, struct store_append *a)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, W_REQUEST, &st, "tt", a->log.owner, a->request_id);

    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? OK : e;
    a->found_thread = keep_found(a->found_buf, 128, db_text(st, 0));
    a->found_run = keep_found(a->found_buf + 128, sizeof a->found_buf - 128, db_text(st, 1));
    db_end(st);
    return ERR_EXISTS;
}

/* ERR_EXISTS when another log has a key that wants to be alone. */
static enum err check_keys(struct db *d, struct store_append *a)
{
    sqlite3_stmt *st;

    for (size_t i = 0; i < a->key_count; i++) {
        if (!a->keys[i].alone) continue;
        enum err e = db_ask(d, W_KEY_HAD, &st, "tst", a->log.owner, a->keys[i].key, a->log.thread);
        if (!e) e = db_next(d, st);
        if (e == ERR_NOT_FOUND) continue;
        if (e) return e;
        a->found_thread = keep_found(a->found_buf, 128, db_text(st, 0));
        a->found_run = STR_NONE;
        db_end(st);
        return ERR_EXISTS;
    }
    return OK;
}

/* ERR_NOT_FOUND: no such log. */
static enum err find_thread(struct db *d, struct log_name log, struct log_row *at)
{
    sqlite3_stmt *st;
    enum err      e = db_ask(d, W_THREAD, &st, "tt", log.owner, log.thread);
    struct str    head;

    *at = (struct log_row){ 0 };
    if (!e) e = db_next(d, st);
    if (e) return e;
    at->id = sqlite3_column_int64(st, 0);
    at->seq = (uint64_t)sqlite3_column_int64(st, 1);
    head = db_head(st, 2);
    if (head.len == CHAIN_LEN) memcpy(at->head, head.ptr, CHAIN_LEN);
    at->created_ms = sqlite3_column_int64(st, 3);
    db_end(st);
    return OK;
}

/* Each fact's link, behind each other in d->scratch; the last one is the new head. */
static enum err link_facts(struct db *d, const struct store_append *a, uint8_t head[CHAIN_LEN])
{
    uint8_t digest[CHAIN_LEN];

    buf_clear(&d->scratch);
    for (size_t i = 0; i < a->fact_count; i++) {
        struct store_fact f = a->facts[i];
        f.seq = a->expected + 1 + i;
        chain_digest(a->log, &f, digest);
        chain_link(head, digest);
        buf_add(&d->scratch, head, CHAIN_LEN);
    }
    return d->scratch.err;
}

static enum err move_thread(struct db *d, const struct store_append *a, struct str head,
                            int64_t *id)
{
    int64_t  first_ms = a->facts[0].at_ms, last_ms = a->facts[a->fact_count - 1].at_ms;
    enum err e = *id && a->title.ptr ? title_out(d, *id) : OK;
    bool     titled = a->title.ptr || !*id;

    if (!e && *id)
        e = db_run(d, W_THREAD_MOVE, "iiittb", *id, (int64_t)a->new_seq, last_ms, a->title,
                   a->state, head);
    else if (!e) {
        e = db_run(d, W_THREAD_NEW, "ttstiiistb", a->log.owner, a->log.thread, a->title,
                   a->state.ptr ? a->state : STR("idle"), (int64_t)a->new_seq, first_ms, last_ms,
                   a->origin.source, a->origin.group, head);
        if (!e) d->newest = *id = sqlite3_last_insert_rowid(d->sql);
    }
    return e || !titled ? e : title_in(d, *id);
}

static enum err add_facts(struct db *d, const struct store_append *a, int64_t thread)
{
    enum err e = OK;

    for (size_t i = 0; i < a->fact_count && !e; i++) {
        struct store_fact f = a->facts[i];
        f.seq = a->expected + 1 + i;
        e = db_run(d, W_FACT, "iiissib", thread, (int64_t)f.seq, f.at_ms, f.kind, f.body,
                   fact_sum(a->log, &f), str_n(d->scratch.ptr + i * CHAIN_LEN, CHAIN_LEN));
    }
    return e;
}

enum err write_approvals(struct db *d, struct log_name log, int64_t thread,
                         const struct store_approval *p, size_t count)
{
    enum err e = OK;

    for (; count && !e; count--, p++)
        e = db_run(d, W_APPROVAL, "tsissssiii", log.owner, p->id, thread, p->call, p->tool,
                   p->status, p->body, p->requested_ms, p->expires_ms, approval_sum(log, p));
    return e;
}

static enum err write_key(struct db *d, const struct store_append *a, const struct store_key *k,
                          int64_t thread)
{
    if (!k->value.ptr) return db_run(d, W_KEY_DROP, "tsi", a->log.owner, k->key, thread);
    return db_run(d, W_KEY, "tsisi", a->log.owner, k->key, thread, k->value,
                  a->facts[a->fact_count - 1].at_ms);
}

static enum err update_lists(struct db *d, const struct store_append *a, int64_t thread)
{
    enum err e = OK;

    if (a->request_id.ptr)
        e = db_run(d, W_REQUEST_NEW, "ttit", a->log.owner, a->request_id, thread, a->run);
    if (!e) e = write_approvals(d, a->log, thread, a->approvals, a->approval_count);
    for (size_t i = 0; i < a->tool_count && !e; i++)
        e = db_run(d, W_TOOL, "sii", a->tools[i].tool, (int64_t)a->tools[i].runs,
                   (int64_t)a->tools[i].failed);
    for (size_t i = 0; i < a->key_count && !e; i++) e = write_key(d, a, &a->keys[i], thread);
    for (size_t i = 0; i < a->event_count && !e; i++)
        e = db_run(d, W_EVENT, "itsss", a->now_ms, a->log.owner, a->events[i].kind, a->events[i].id,
                   a->events[i].body);
    if (!e && a->event_count)
        e = db_run(d, W_EVENTS_OVER, "i", a->now_ms - STORE_EVENT_DAYS * 86400000LL);
    if (!e && a->listed) e = db_run(d, W_HIDE, "ii", thread, (int64_t)(a->listed == LISTED_NOT));
    for (size_t i = 0; i < a->spent_count && !e; i++)
        e = db_run(d, W_USED, "tii", a->spent[i].key, a->spent[i].day, a->spent[i].amount);
    return e;
}

/* --- takings ------------------------------------------------------------------- */

static struct str copy(struct arena *a, sqlite3_stmt *st, int col)
{
    return arena_dup(a, db_text(st, col));
}

/* What is there under the key that could not be had. */
static enum err show_stock(struct db *d, struct store_append *a, size_t at)
{
    struct store_stock *s = &a->taken;
    sqlite3_stmt       *st;
    enum err            e = db_ask(d, W_STOCK, &st, "s", a->takes[at].key);

    a->taken_at = at;
    *s = (struct store_stock){ 0 };
    if (!e) e = db_next(d, st);
    if (e) return e == ERR_NOT_FOUND ? ERR_TAKEN : e;
    *s = (struct store_stock){ .key = copy(&a->arena, st, 0),
                               .kind = copy(&a->arena, st, 1),
                               .owner = copy(&a->arena, st, 2),
                               .thread = copy(&a->arena, st, 3),
                               .holder = copy(&a->arena, st, 4),
                               .state = copy(&a->arena, st, 5),
                               .body = copy(&a->arena, st, 6),
                               .uses = sqlite3_column_int64(st, 7),
                               .amount = sqlite3_column_int64(st, 8),
                               .made_ms = sqlite3_column_int64(st, 9),
                               .until_ms = sqlite3_column_int64(st, 10) };
    db_end(st);
    return a->arena.failed ? ERR_NOMEM : ERR_TAKEN;
}

static enum err make_stock(struct db *d, const struct store_append *a, const struct store_take *t,
                           int64_t thread)
{
    enum err e = db_run(d, W_STOCK_OVER, "si", t->key, a->now_ms);

    return e ? e
             : db_run(d, W_STOCK_MAKE, "sssisssiiii", t->key, t->kind, a->log.owner,
                      t->with_log ? thread : 0, t->holder, t->state, t->body, t->uses, t->amount,
                      a->now_ms, t->until_ms);
}

static enum err take_one(struct db *d, struct store_append *a, size_t at, int64_t thread)
{
    const struct store_take *t = &a->takes[at];
    enum err                 e = OK;

    switch (t->op) {
    case TAKE_MAKE: e = make_stock(d, a, t, thread); break;
    case TAKE_FROM: e = db_run(d, W_STOCK_FROM, "sii", t->key, t->amount, a->now_ms); break;
    case TAKE_BACK: return db_run(d, W_STOCK_BACK, "si", t->key, t->amount);
    case TAKE_SET: return db_run(d, W_STOCK_SET, "ssst", t->key, t->holder, t->state, t->body);
    case TAKE_DROP: return db_run(d, W_STOCK_DROP, "ss", t->key, t->holder);
    }
    return e || sqlite3_changes(d->sql) ? e : show_stock(d, a, at);
}

static enum err take_all(struct db *d, struct store_append *a, int64_t thread)
{
    enum err e = OK;

    for (size_t i = 0; i < a->take_count && !e; i++) e = take_one(d, a, i, thread);
    return e;
}

/* By an earlier one of the same append: what is there now says little. */
static bool is_changed(const struct store_append *a, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq(a->takes[i].key, a->takes[at].key)) return true;
    return false;
}

static bool is_refused(const struct store_append *a, const struct store_take *t)
{
    const struct store_stock *s = &a->taken;
    bool                      there = s->key.ptr && (!s->until_ms || s->until_ms > a->now_ms);

    if (t->op == TAKE_MAKE) return there;
    return !there || !str_is(s->state, "open") || s->uses < 1 || s->amount < t->amount;
}

/* Would any of them be refused as things stand? Looked at before anything is written, so that a
 * refusal leaves nothing to undo. */
static enum err look_ahead(struct db *d, struct store_append *a)
{
    for (size_t i = 0; i < a->take_count; i++) {
        const struct store_take *t = &a->takes[i];

        if ((t->op != TAKE_MAKE && t->op != TAKE_FROM) || is_changed(a, i)) continue;
        enum err e = show_stock(d, a, i);
        if (e != ERR_TAKEN || is_refused(a, t)) return e;
        a->taken = (struct store_stock){ 0 };
    }
    return OK;
}

/* `wrote`: set before the first change, so that a failure without it leaves nothing to undo. */
static enum err append(struct db *d, struct store_append *a, bool *wrote)
{
    struct log_row at;
    enum err       e = a->request_id.ptr ? check_request(d, a) : OK;

    if (!e) e = check_keys(d, a);
    if (e) return e;
    e = find_thread(d, a->log, &at);
    if (e && e != ERR_NOT_FOUND) return e;
    if (at.seq != a->expected) return ERR_CONFLICT;
    if (a->take_count && (e = look_ahead(d, a))) return e;
    if ((e = link_facts(d, a, at.head))) return e;
    a->new_seq = at.seq + a->fact_count;
    *wrote = true;
    e = move_thread(d, a, str_n((char *)at.head, CHAIN_LEN), &at.id);
    if (!e && a->take_count) e = take_all(d, a, at.id);
    if (!e) e = add_facts(d, a, at.id);
    if (!e) e = update_lists(d, a, at.id);
    return e;
}

/* --- edit --------------------------------------------------------------------- */

enum err write_title(struct db *d, const struct store_edit *x, int64_t id, bool *wrote)
{
    enum err e = title_out(d, id);

    if (!e) e = db_run(d, W_THREAD_TITLE, "itt", id, x->title, x->title_was);
    bool changed = !e && sqlite3_changes(d->sql) > 0;
    if (!e) e = title_in(d, id);
    *wrote = e || changed;
    return !e && !changed ? ERR_CONFLICT : e;
}

static enum err edit(struct db *d, const struct store_edit *x, bool *wrote)
{
    struct log_row   at;
    enum err         e = find_thread(d, x->log, &at);
    static const int drops[] = { W_DROP_FACTS, W_DROP_REQUESTS, W_DROP_APPROVALS, W_DROP_KEYS,
                                 W_DROP_STOCK, W_DROP_NOTED,    W_DROP_TRIMMED,   W_DROP_THREAD };

    if (e) return e;
    d->gone = true;
    if (x->trim) return write_trim(d, x, &at, wrote);
    *wrote = true;
    if (!x->remove) return x->title.ptr ? write_title(d, x, at.id, wrote) : OK;
    if (x->stub.ptr) e = write_stub(d, x, &at);
    if (!e) e = title_out(d, at.id);
    if (!e) e = said_drop(d, at.id);
    for (size_t i = 0; i < sizeof drops / sizeof *drops && !e; i++)
        e = db_run(d, drops[i], "i", at.id);
    return e ? e : said_dropped(d);
}

/* --- the batch ------------------------------------------------------------------ */

static enum err session_put(struct db *d, const struct store_session *x)
{
    enum err e = db_run(d, W_SESSIONS_OVER, "i", clock_wall_ms());
    if (!e && x->each)
        e = db_run(d, W_SESSIONS_EACH, "tti", store_session_family(x), x->key,
                   (int64_t)x->each - 1);
    return e ? e : db_run(d, W_SESSION, "tsi", x->key, x->body, x->ends_ms);
}

static enum err session(struct db *d, const struct store_session *x, bool *wrote)
{
    *wrote = true;
    if (x->op == SESSION_END) return db_run(d, W_SESSION_END, "tt", x->key, x->was);
    if (x->op == SESSION_PUT) return session_put(d, x);
    enum err e = db_run(d, W_SESSION_KEEP, "tsit", x->key, x->body, x->ends_ms, x->was);
    if (e || sqlite3_changes(d->sql)) return e;
    *wrote = false;
    return ERR_NOT_FOUND;
}

static enum err attempt(struct db *d, struct store_job *job, bool *wrote)
{
    switch ((enum job_kind)job->kind) {
    case JOB_APPEND: return job->result = append(d, JOB_OF(job, struct store_append), wrote);
    case JOB_EDIT: return job->result = edit(d, JOB_OF(job, struct store_edit), wrote);
    case JOB_SESSION: return job->result = session(d, JOB_OF(job, struct store_session), wrote);
    case JOB_ERASE: return job->result = write_erase(d, JOB_OF(job, struct store_erase), wrote);
    case JOB_CHECKPOINT:
        return job->result = write_checkpoint(d, JOB_OF(job, struct store_checkpoint), wrote);
    default: must(!"job kind");
    }
    return ERR_UNSUPPORTED;
}

/* An error here is one of the whole batch; the job's own is in its result. Without memory SQLite
 * may drop the transaction, also when only reading: what came after that would be committed word by
 * word. */
static enum err do_one(struct db *d, struct store_job *job)
{
    bool wrote = false;
    return attempt(d, job, &wrote) && (wrote || sqlite3_get_autocommit(d->sql)) ? job->result : OK;
}

static enum err do_one_saved(struct db *d, struct store_job *job)
{
    bool     wrote;
    enum err e = db_run(d, W_SAVE, "");

    if (e) return e;
    if (attempt(d, job, &wrote)) {
        /* SQLite dropped the transaction */
        if (sqlite3_get_autocommit(d->sql)) return job->result;
        e = db_run(d, W_UNDO, "");
    }
    return e ? e : db_run(d, W_RELEASE, "");
}

/* All jobs of the batch, in order. */
static enum err do_all(struct db *d, struct list *batch,
                       enum err (*one)(struct db *, struct store_job *))
{
    enum err e = OK;

    LIST_EACH (n, batch)
        if (!e) e = one(d, JOB_AT(n));
    return e;
}

static void roll_back(struct db *d)
{
    if (sqlite3_get_autocommit(d->sql)) return;
    /* A failed rollback leaves a transaction open that the next batch would
     * silently join. That is not survivable; a restart is. */
    must(db_run(d, W_ROLLBACK, "") == OK || sqlite3_get_autocommit(d->sql));
}

/* One job failed halfway: once more, so that only that one does. */
static enum err do_again(struct db *d, struct list *batch)
{
    enum err e;

    roll_back(d);
    LIST_EACH (n, batch) JOB_AT(n)->result = OK;
    e = db_run(d, W_BEGIN, "");
    return e ? e : do_all(d, batch, do_one_saved);
}

/* Did COMMIT fail so late that all of it may be in the log's file? Then nobody sees it now, but the
 * next start would find it and take it for committed. A refused lock or a refused write leaves no
 * whole transaction; a failed sync, or no room in the log's index, do. */
static bool is_unsure(const struct db *d)
{
    int rc = sqlite3_extended_errcode(d->sql);
    return (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_FULL && rc != SQLITE_IOERR_WRITE;
}

/* A commit failed and may be there. What comes next is written over its place: once that is on the
 * disk, it is certainly gone. (Reading the log again instead would find it, and build upon pages
 * that the kernel may have dropped after the failed sync without writing them.) */
static enum err settle(struct db *d, enum err e)
{
    return db_probe(d) == OK ? e : ERR_UNSURE;
}

static int64_t new_epoch(void)
{
    uint64_t n;
    sqlite3_randomness(sizeof n, &n);
    return (int64_t)(n & INT64_MAX) | 1;
}

/* What `own` writes, or the batch's jobs, or both: in one transaction, to its end. */
static enum err transact(struct db *d, struct list *batch, enum err (*own)(struct db *d))
{
    bool     unsure, committing;
    int64_t  epoch = d->new_epoch ? new_epoch() : 0;
    enum err e = db_run(d, W_BEGIN, "");

    d->newest = 0;
    d->titling = d->titled;
    if (!e && do_all(d, batch, do_one) != OK) e = do_again(d, batch);
    if (!e) e = index_titles(d);
    if (!e && own) e = own(d);
    if (!e && d->new_epoch) e = db_run(d, W_EPOCH, "ii", d->epoch, epoch);
    fault_hit("store.before_commit");
    committing = !e;
    if (!e) e = db_run(d, W_COMMIT, "");
    fault_hit("store.after_commit");
    if (!e) {
        d->titled = d->titling;
        if (d->new_epoch) d->base = d->epoch, d->epoch = epoch;
        d->new_epoch = false;
        return OK;
    }
    unsure = committing && is_unsure(d); /* before the rollback, which succeeds */
    roll_back(d);
    return unsure ? settle(d, e) : e;
}

void db_commit(struct db *d, struct list *batch)
{
    enum err e = transact(d, batch, NULL);

    if (!e) return;
    LIST_EACH (n, batch) JOB_AT(n)->result = e;
}

enum err write_own(struct db *d, enum err (*own)(struct db *d))
{
    struct list none;

    list_init(&none);
    return transact(d, &none, own);
}

enum err db_probe(struct db *d)
{
    int64_t  version;
    char     sql[48];
    enum err e = db_run(d, W_BEGIN, "");

    if (e) return e;
    e = db_int(d, "PRAGMA user_version", &version);
    if (!e) {
        sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version=%lld", (long long)version);
        e = db_exec(d, sql); /* the same value, but a page is written */
    }
    if (!e) e = db_run(d, W_COMMIT, "");
    if (e) roll_back(d);
    return e;
}
