/* pg_read.c -- a log's facts, and the lists. Rows point into the answer: nothing is copied but by
 * searches, whose rows come from several answers.
 *
 * Paging goes by (time, number), as in every store: see rows.h.
 */
#include <stdio.h>

#include "store/pg.h"
#include "store/said.h"
#include "store/words.h"

#define THREAD_COLUMNS "owner, name, title, state, created_ms, updated_ms, id, source, grp"
#define APPROVAL_COLUMNS                                                                     \
    "a.owner, t.name, a.id, a.call, a.tool, a.status, a.body, a.requested_ms, a.expires_ms," \
    " a.num, a.sum, t.id, t.created_ms"
#define STOCK_COLUMNS                                                                         \
    "s.key, s.kind, s.owner, t.name, s.holder, s.state, s.body, s.uses, s.amount, s.made_ms," \
    " s.until_ms, s.num"
#define FROM_STOCK                                                       \
    " FROM parley_stock s LEFT JOIN parley_stock_log l ON l.key = s.key" \
    " LEFT JOIN parley_thread t ON t.id = l.thread"
#define FROM_APPROVAL " FROM parley_approval a JOIN parley_thread t ON t.id = a.thread"
/* not of a log that another living node holds ($1: this one) */
#define DUE                                                                                      \
    " WHERE a.status IN ('pending', 'offered', 'unknown') AND a.expires_ms > 0 AND (t.holder IS" \
    " NULL OR t.holder = $1 OR NOT EXISTS (SELECT FROM parley_node n WHERE n.id = t.holder AND " \
    "n.until > clock_timestamp()))"

static const char *const read_sql[PG_STMTS] = {
    /* The log's row first, then its facts: one statement, one state of the database. */
    [PG_READ] =
        "WITH t AS MATERIALIZED (SELECT * FROM parley_thread WHERE owner = $1 AND name = $2)"
        " SELECT seq, updated_ms, state, title, created_ms, id FROM t UNION ALL"
        " (SELECT seq, at_ms, kind, body, sum, 0 FROM parley_fact"
        " WHERE thread = (SELECT id FROM t) AND seq > $3::int8 ORDER BY seq)",
    [PG_THREADS] =
        "SELECT " THREAD_COLUMNS " FROM parley_thread WHERE owner = $1 AND NOT hidden"
        " AND source = $5 AND (changed, updated_ms, id) < ($2::int8 / 4096, $2, $3::int8)"
        " ORDER BY changed DESC, updated_ms DESC, id DESC LIMIT $4::int8",
    [PG_ALL_THREADS] =
        "SELECT " THREAD_COLUMNS " FROM parley_thread WHERE id < $1::int8 AND NOT hidden"
        " AND source = $3 ORDER BY id DESC LIMIT $2::int8",
    [PG_DUE] = "SELECT " APPROVAL_COLUMNS FROM_APPROVAL DUE " AND a.expires_ms <= $2::int8"
               " ORDER BY a.expires_ms LIMIT $3::int8",
    [PG_NEXT_DUE] =
        "SELECT " APPROVAL_COLUMNS FROM_APPROVAL DUE " ORDER BY a.expires_ms LIMIT $2::int8",
    [PG_TOOLS] = "SELECT name, sum(runs)::int8, sum(failed)::int8 FROM parley_tool GROUP BY name"
                 " ORDER BY name LIMIT $1::int8",
    [PG_REQUEST] = "SELECT r.owner, t.name, r.run FROM parley_request r"
                   " JOIN parley_thread t ON t.id = r.thread WHERE r.owner = $1 AND r.id = $2",
    [PG_KEYS] = "SELECT k.owner, t.name, k.value, k.at_ms FROM parley_key k"
                " JOIN parley_thread t ON t.id = k.thread WHERE k.owner = $1 AND k.key = $2"
                " ORDER BY k.at_ms DESC, k.thread DESC LIMIT $3::int8",
    [PG_USED] = "SELECT sum(amount)::int8, day, owner FROM parley_used WHERE owner = $1 AND day ="
                " $2::int8 GROUP BY day, owner",
    [PG_ALL_USED] = "SELECT sum(amount)::int8, day, owner FROM parley_used WHERE day >= $1::int8"
                    " GROUP BY day, owner ORDER BY day DESC, owner",
    [PG_WAITING] = "SELECT count(*), coalesce(min(requested_ms), 0) FROM parley_approval"
                   " WHERE status = 'pending'",
    /* from place ($2, $3) on, there below fact $4 */
    [PG_SAID] =
        "SELECT t.owner, t.name, t.title, t.state, t.created_ms, t.updated_ms, t.id, t.source,"
        " t.grp, f.kind, substr(f.body, 1, $5::int8::int), f.seq, f.at_ms, f.sum"
        " FROM parley_thread t"
        " LEFT JOIN parley_fact f ON f.thread = t.id AND f.kind IN " SAID_KINDS
        " WHERE t.owner = $1 AND NOT t.hidden AND t.source = ''"
        " AND (t.changed, t.updated_ms, t.id) <= ($2::int8 / 4096, $2, $3::int8)"
        " AND ((t.updated_ms, t.id) < ($2::int8, $3::int8) OR f.seq < $4::int8)"
        " ORDER BY t.changed DESC, t.updated_ms DESC, t.id DESC, f.seq DESC NULLS LAST LIMIT "
        "$6::int8",
    /* The same by the index: candidates, and what is not in it yet. So many logs that some row is
     * there of each; without bodies until it is known which rows these are. */
    [PG_SAID_FIND] =
        "WITH c AS MATERIALIZED (SELECT thread, seq FROM parley_said"
        "  WHERE grams @> $7::text::int2[]),"
        " t AS MATERIALIZED (SELECT " THREAD_COLUMNS ", changed, coalesce(n.to_seq, 0) AS said"
        "  FROM parley_thread LEFT JOIN (SELECT thread, seq AS to_seq FROM parley_said_to) n"
        "   ON n.thread = id WHERE owner = $1 AND NOT hidden AND source = ''"
        "  AND (changed, updated_ms, id) <= ($2::int8 / 4096, $2, $3::int8)"
        "  ORDER BY changed DESC, updated_ms DESC, id DESC LIMIT $6::int8 + 1),"
        " m AS MATERIALIZED (SELECT c.thread, c.seq FROM c JOIN t ON t.id = c.thread"
        "   AND c.seq <= t.said UNION ALL SELECT f.thread, f.seq FROM t JOIN parley_fact f"
        "   ON f.thread = t.id AND f.seq > t.said AND f.kind IN " SAID_KINDS "),"
        " r AS MATERIALIZED (SELECT t.*, m.seq AS at FROM t LEFT JOIN m ON m.thread = t.id"
        "  WHERE (t.updated_ms, t.id) < ($2::int8, $3::int8) OR m.seq < $4::int8"
        "  ORDER BY t.changed DESC, t.updated_ms DESC, t.id DESC, m.seq DESC NULLS LAST"
        "  LIMIT $6::int8)"
        " SELECT r.owner, r.name, r.title, r.state, r.created_ms, r.updated_ms, r.id, r.source,"
        "  r.grp, f.kind, substr(f.body, 1, $5::int8::int), r.at, f.at_ms, f.sum FROM r"
        " LEFT JOIN parley_fact f ON f.thread = r.id AND f.seq = r.at"
        " ORDER BY r.changed DESC, r.updated_ms DESC, r.id DESC, r.at DESC NULLS LAST",
    [PG_NODES] =
        "SELECT n.id, n.url, n.version,"
        " (extract(epoch FROM n.until - clock_timestamp()) * 1000)::int8,"
        " (SELECT count(*) FROM parley_thread t WHERE t.holder = n.id),"
        " (SELECT count(*) FROM parley_thread t WHERE t.holder = n.id AND t.state = 'running')"
        " FROM parley_node n WHERE n.until > clock_timestamp() - interval '1 hour' ORDER BY n.id",
    [PG_STOCK] = "SELECT " STOCK_COLUMNS     FROM_STOCK " WHERE s.kind = $1 AND s.owner = $2"
                     " AND (s.made_ms, s.num) < ($3::int8, $4::int8)"
                     " ORDER BY s.made_ms DESC, s.num DESC LIMIT $5::int8",
    [PG_ALL_STOCK] = "SELECT " STOCK_COLUMNS FROM_STOCK " WHERE s.kind = $1"
                     " AND (s.made_ms, s.num) < ($2::int8, $3::int8)"
                     " ORDER BY s.made_ms DESC, s.num DESC LIMIT $4::int8",
    [PG_ONE_STOCK] = "SELECT " STOCK_COLUMNS FROM_STOCK " WHERE s.key = $1",
    [PG_EVENTS] = "SELECT tx, num, at_ms, owner, kind, id, body FROM parley_event"
                  " WHERE (tx, num) > ($1::int8, $2::int8)"
                  " AND tx < pg_snapshot_xmin(pg_current_snapshot())::text::int8"
                  " ORDER BY tx, num LIMIT $3::int8",
    [PG_EVENT_HEAD] = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::int8 - 1",
    [PG_HEADS] =
        "SELECT t.owner, t.name, t.created_ms, t.seq, parley_head(t.links), t.id, NULL::text,"
        " coalesce(n.seq, 0) FROM parley_thread t LEFT JOIN parley_noted n ON n.thread = t.id"
        " WHERE t.links IS NOT NULL AND t.seq <> coalesce(n.seq, 0)"
        " UNION ALL SELECT ''::bytea, ''::bytea, created_ms, seq, head, num, log, 0"
        " FROM parley_stub WHERE NOT noted LIMIT $1::int8",
    [PG_OLD] = "SELECT " THREAD_COLUMNS " FROM parley_thread t WHERE state = 'idle' AND updated_ms"
               " < CASE WHEN EXISTS (SELECT FROM parley_approval a WHERE a.thread = t.id) THEN"
               " $2::int8 ELSE $1::int8 END AND NOT EXISTS (SELECT FROM parley_approval a WHERE"
               " a.thread = t.id AND a.status = 'unknown') LIMIT $3::int8",
    [PG_UNTRIMMED] =
        "SELECT " THREAD_COLUMNS " FROM (SELECT t.*, coalesce(x.kinds, 0) AS gone FROM"
        " parley_thread t LEFT JOIN parley_trimmed x ON x.thread = t.id AND x.seq = t.seq) u"
        " WHERE state = 'idle' AND id > $5::int8 AND (updated_ms < $1::int8 AND gone & 1 = 0"
        " OR updated_ms < $2::int8 AND gone & 2 = 0 OR updated_ms < $3::int8 AND gone & 4 = 0"
        " OR updated_ms < $4::int8 AND gone & 8 = 0) ORDER BY id LIMIT $6::int8",
    [PG_LOGS] = "SELECT " THREAD_COLUMNS " FROM parley_thread WHERE owner = $1 LIMIT $2::int8",
    [PG_STUBS] =
        "SELECT num, log, owner, name, seq, body, created_ms FROM parley_stub WHERE owner = $1"
        " OR position($2::bytea IN body) > 0 LIMIT $3::int8",
    [PG_LAST] = "SELECT number, line FROM parley_checkpoint WHERE number ="
                " (SELECT max(number) FROM parley_checkpoint)",
    [PG_UNTOLD] = "SELECT number, line FROM parley_checkpoint WHERE NOT told ORDER BY number"
                  " LIMIT $1::int8",
    [PG_SESSIONS] = "SELECT key, body, ends_ms FROM parley_session WHERE ends_ms > $2::int8"
                    " AND key >= $1 AND key < $1 || '\\xff'::bytea ORDER BY ends_ms LIMIT $3::int8",
};

/* --- reading --------------------------------------------------------------------------- */

void read_params(const struct store_read *r, struct params *p)
{
    param_bytes(p, r->log.owner);
    param_bytes(p, r->log.thread);
    param_int(p, r->after > INT64_MAX ? INT64_MAX : (int64_t)r->after);
}

static enum err read_facts(struct store_read *r, const PGresult *res)
{
    size_t want = r->seq > r->after ? (size_t)(r->seq - r->after) : 0;

    if ((size_t)PQntuples(res) - 1 != want) return ERR_DAMAGED; /* some are missing, or too many */
    if (!want) return OK;
    r->facts = arena_array(&r->arena, want, sizeof *r->facts);
    if (!r->facts) return ERR_NOMEM;
    for (int i = 1; i < PQntuples(res); i++) {
        struct store_fact *f = &r->facts[r->count++];
        *f = (struct store_fact){ .seq = (uint64_t)res_int(res, i, 0),
                                  .at_ms = res_int(res, i, 1),
                                  .kind = res_str(res, i, 2),
                                  .body = res_str(res, i, 3) };
        if (f->seq != r->after + r->count || res_int(res, i, 4) != fact_sum(r->log, f))
            return ERR_DAMAGED;
    }
    return OK;
}

enum err read_answer(struct pg *s, struct store_read *r, const PGresult *res)
{
    enum err e;

    if (!PQntuples(res)) return ERR_NOT_FOUND;
    r->seq = (uint64_t)res_int(res, 0, 0);
    r->updated_ms = res_int(res, 0, 1);
    r->state = res_str(res, 0, 2);
    r->title = res_str(res, 0, 3);
    r->created_ms = res_int(res, 0, 4);
    e = read_facts(r, res);
    if (e == ERR_DAMAGED) damaged_note(&s->damaged, log_key(res_int(res, 0, 5), r->created_ms));
    if (e) r->count = 0;
    return e;
}

/* --- lists: asking ------------------------------------------------------------------------ */

enum { BY_OWNER = 1, BY_STATUS = 2, BY_THREAD = 4, BY_ID = 8 };

/* One statement per set of filters, so that each can use its index. Parameters that a set does not
 * need are sent all the same. */
static const char *approvals_sql(int by, char room[PG_SQL_ROOM])
{
    snprintf(room, PG_SQL_ROOM,
             "SELECT " APPROVAL_COLUMNS FROM_APPROVAL
             " WHERE (a.requested_ms, a.num) < ($5::int8, $6::int8)"
             " AND ($1::bytea, $2::text, $3::bytea, $4::bytea) IS NOT DISTINCT FROM"
             " ($1::bytea, $2::text, $3::bytea, $4::bytea)%s%s%s%s"
             " ORDER BY a.requested_ms DESC, a.num DESC LIMIT $7::int8",
             by & BY_OWNER ? " AND a.owner = $1" : "",
             by & BY_STATUS ? " AND a.status = $2"
             : by & BY_ID   ? ""
                            : " AND a.status <> 'offered'",
             by & BY_THREAD ? " AND t.name = $3" : "", by & BY_ID ? " AND a.id = $4" : "");
    return room;
}

const char *pg_sql(int stmt, char room[PG_SQL_ROOM])
{
    if (stmt >= PG_APPROVALS) return approvals_sql(stmt - PG_APPROVALS, room);
    return read_sql[stmt] ? read_sql[stmt] : pg_write_sql(stmt);
}

#define FIND_ROWS 1024 /* titles that are looked at in one turn */
#define SAID_ROWS 128  /* messages likewise: they are read on the loop */
#define LED_ROWS  512  /* ... titles, and messages that the index has led to */

static bool is_search(const struct store_list *l)
{
    return l->kind == STORE_THREADS && l->search.len;
}

/* How many are asked for at once. */
static int said_rows(const struct store_list *l, int stmt)
{
    return l->whole ? 1 : stmt == PG_SAID ? SAID_ROWS : LED_ROWS;
}

static void approvals_params(const struct store_list *l, struct row_place from, int64_t limit,
                             struct params *p, int *stmt)
{
    int by = (l->everybody ? 0 : BY_OWNER) | (l->status.ptr ? BY_STATUS : 0) |
             (l->thread.ptr ? BY_THREAD : 0) | (l->id.ptr ? BY_ID : 0);

    *stmt = PG_APPROVALS + by;
    param_bytes(p, l->owner);
    param_bytes(p, l->status);
    param_bytes(p, l->thread);
    param_bytes(p, l->id);
    param_int(p, from.ms);
    param_int(p, from.num);
    param_int(p, limit);
}

/* The newest are looked at, then the index leads to the rest; words that are too short for it, and
 * a database whose facts are not yet in it, are walked through. One that is read to its end is read
 * alone. */
static void find_params(struct pg *s, struct store_list *l, struct row_place from, struct params *p,
                        int *stmt)
{
    bool       lead = l->searched && s->said.whole && !l->whole;
    struct str grams = lead ? said_looked_for(&l->arena, l->owner, l->search) : STR_NONE;

    l->searched = true;
    *stmt = grams.ptr ? PG_SAID_FIND : PG_SAID;
    param_bytes(p, l->owner);
    param_int(p, from.ms);
    param_int(p, from.num);
    param_int(p, l->last_seq);
    param_int(p, l->whole ? INT32_MAX : SAID_BODY_MAX);
    param_int(p, said_rows(l, *stmt));
    if (grams.ptr) param_bytes(p, grams);
}

static void threads_params(const struct store_list *l, struct row_place from, int64_t limit,
                           struct params *p, int *stmt)
{
    *stmt = l->everybody ? PG_ALL_THREADS : PG_THREADS;
    if (!l->everybody) {
        param_bytes(p, l->owner);
        param_int(p, from.ms);
    }
    param_int(p, from.num);
    param_int(p, limit);
    param_bytes(p, l->source.ptr ? l->source : STR(""));
}

static void stock_params(const struct store_list *l, struct row_place from, int64_t limit,
                         struct params *p, int *stmt)
{
    *stmt = l->id.ptr ? PG_ONE_STOCK : l->everybody ? PG_ALL_STOCK : PG_STOCK;
    if (l->id.ptr) {
        param_bytes(p, l->id);
        return;
    }
    param_bytes(p, l->status);
    if (!l->everybody) param_bytes(p, l->owner);
    param_int(p, from.ms);
    param_int(p, from.num);
    param_int(p, limit);
}

static void events_params(const struct store_list *l, int64_t limit, struct params *p)
{
    struct row_place from = { 0, 0 };

    (void)row_place_parse(l->before, &from); /* looked at before */
    param_int(p, from.ms);
    param_int(p, from.num);
    param_int(p, limit);
}

/* What a node looks for to do next. Some rows may be damaged and passed over, so a few more than
 * asked for are read. */
static void work_params(const struct store_list *l, struct str me, struct params *p, int *stmt)
{
    param_bytes(p, me);
    if (l->kind == STORE_DUE) {
        *stmt = PG_DUE;
        param_int(p, l->due_ms);
        param_int(p, l->limit ? (int64_t)l->limit + DAMAGED_MAX : INT64_MAX);
    } else if (l->kind == STORE_NEXT_DUE) {
        *stmt = PG_NEXT_DUE;
        param_int(p, 1 + DAMAGED_MAX);
    } else {
        *stmt = PG_UNFINISHED;
        param_int(p, l->limit ? l->limit : INT64_MAX);
        param_int(p, l->job.tries);
    }
}

static void used_params(const struct store_list *l, struct params *p, int *stmt)
{
    *stmt = l->everybody ? PG_ALL_USED : PG_USED;
    if (!l->everybody) param_bytes(p, l->owner);
    param_int(p, l->day);
}

/* What a walk through the store reads: deletions by age, stubs, the ends of chains. */
static void walk_params(const struct store_list *l, int64_t limit, struct params *p, int *stmt)
{
    *stmt = l->kind == STORE_LOGS        ? PG_LOGS
            : l->kind == STORE_OLD       ? PG_OLD
            : l->kind == STORE_UNTRIMMED ? PG_UNTRIMMED
            : l->kind == STORE_STUBS     ? PG_STUBS
            : l->kind == STORE_HEADS     ? PG_HEADS
                                         : PG_UNTOLD;
    if (l->kind == STORE_LOGS || l->kind == STORE_STUBS) param_bytes(p, l->owner);
    if (l->kind == STORE_STUBS) param_bytes(p, l->search);
    if (l->kind == STORE_OLD) {
        param_int(p, l->due_ms);
        param_int(p, l->day);
    }
    for (int i = 0; l->kind == STORE_UNTRIMMED && i < STORE_TRIM_KINDS; i++)
        param_int(p, l->dues[i]);
    if (l->kind == STORE_UNTRIMMED) param_int(p, l->after);
    param_int(p, limit);
}

static void key_params(const struct store_list *l, int64_t limit, struct params *p, int *stmt)
{
    *stmt = l->kind == STORE_KEYS ? PG_KEYS : PG_REQUEST;
    param_bytes(p, l->owner);
    param_bytes(p, l->id);
    if (l->kind == STORE_KEYS) param_int(p, limit);
}

static void sessions_params(const struct store_list *l, int64_t limit, struct params *p, int *stmt)
{
    *stmt = PG_SESSIONS;
    param_bytes(p, l->id);
    param_int(p, l->due_ms);
    param_int(p, limit);
}

enum err list_params(struct pg *s, struct store_list *l, struct params *p, int *stmt)
{
    struct row_place from = { INT64_MAX, INT64_MAX };
    /* one row more than asked for tells whether there is another page */
    int64_t          limit = l->limit ? (int64_t)l->limit + 1 : INT64_MAX;

    if (!row_place_parse(l->before, &from)) return ERR_SYNTAX;
    if (list_pages(l) && !l->owner.ptr && !l->everybody) return ERR_DENIED;
    if (l->kind == STORE_THREADS && is_search(l) && l->said && l->everybody) return ERR_DENIED;
    switch (l->kind) {
    case STORE_THREADS:
        if (is_search(l) && l->said) find_params(s, l, from, p, stmt);
        else threads_params(l, from, is_search(l) ? FIND_ROWS : limit, p, stmt);
        return OK;
    case STORE_APPROVALS: approvals_params(l, from, limit, p, stmt); return OK;
    case STORE_DUE:
    case STORE_NEXT_DUE:
    case STORE_UNFINISHED: work_params(l, str_c(s->base.node), p, stmt); return OK;
    case STORE_TOOLS:
        *stmt = PG_TOOLS;
        param_int(p, limit);
        return OK;
    case STORE_REQUEST:
    case STORE_KEYS: key_params(l, limit, p, stmt); return OK;
    case STORE_USED: used_params(l, p, stmt); return OK;
    case STORE_NODES: *stmt = PG_NODES; return OK;
    case STORE_STOCK: stock_params(l, from, limit, p, stmt); return OK;
    case STORE_EVENTS:
        *stmt = PG_EVENTS;
        events_params(l, l->limit ? l->limit : INT64_MAX, p);
        return OK;
    case STORE_EVENT_HEAD: *stmt = PG_EVENT_HEAD; return OK;
    case STORE_WAITING: *stmt = PG_WAITING; return OK;
    case STORE_LAST: *stmt = PG_LAST; return OK;
    case STORE_LOGS:
    case STORE_OLD:
    case STORE_UNTRIMMED:
    case STORE_STUBS:
    case STORE_HEADS:
    case STORE_UNTOLD: walk_params(l, limit, p, stmt); return OK;
    case STORE_SESSIONS: sessions_params(l, limit, p, stmt); return OK;
    }
    must(!"list kind");
    return ERR_UNSUPPORTED;
}

/* --- lists: rows ---------------------------------------------------------------------------- */

/* Each gives the key of the row's log, 0 when it has none. */
static uint64_t fill_thread(const PGresult *r, int i, struct store_row *row, struct row_place *at)
{
    row->owner = res_str(r, i, 0);
    row->thread = res_str(r, i, 1);
    row->title = res_str(r, i, 2);
    row->state = res_str(r, i, 3);
    row->created_ms = res_int(r, i, 4);
    row->updated_ms = res_int(r, i, 5);
    row->num = res_int(r, i, 6);
    *at = (struct row_place){ row->updated_ms, row->num };
    if (PQgetlength(r, i, 7)) row->source = res_str(r, i, 7);
    if (!PQgetisnull(r, i, 8)) row->group = res_str(r, i, 8);
    return log_key(at->num, row->created_ms);
}

static uint64_t fill_approval(const PGresult *r, int i, struct store_row *row, struct row_place *at)
{
    row->owner = res_str(r, i, 0);
    row->thread = res_str(r, i, 1);
    row->approval = (struct store_approval){
        .id = res_str(r, i, 2),
        .call = res_str(r, i, 3),
        .tool = res_str(r, i, 4),
        .status = res_str(r, i, 5),
        .body = res_str(r, i, 6),
        .requested_ms = res_int(r, i, 7),
        .expires_ms = res_int(r, i, 8),
    };
    *at = (struct row_place){ row->approval.requested_ms, res_int(r, i, 9) };
    row->damaged = res_int(r, i, 10) !=
                   approval_sum((struct log_name){ row->owner, row->thread }, &row->approval);
    return log_key(res_int(r, i, 11), res_int(r, i, 12));
}

static uint64_t fill_stock(const PGresult *r, int i, struct store_row *row, struct row_place *at)
{
    row->owner = res_str(r, i, 2);
    row->thread = res_str(r, i, 3);
    row->stock = (struct store_stock){ .key = res_str(r, i, 0),
                                       .kind = res_str(r, i, 1),
                                       .owner = row->owner,
                                       .thread = row->thread,
                                       .holder = res_str(r, i, 4),
                                       .state = res_str(r, i, 5),
                                       .body = res_str(r, i, 6),
                                       .uses = res_int(r, i, 7),
                                       .amount = res_int(r, i, 8),
                                       .made_ms = res_int(r, i, 9),
                                       .until_ms = res_int(r, i, 10) };
    *at = (struct row_place){ row->stock.made_ms, res_int(r, i, 11) };
    return 0;
}

static uint64_t fill_event(struct store_list *l, const PGresult *r, int i, struct store_row *row,
                           struct row_place *at)
{
    *at = (struct row_place){ res_int(r, i, 0), res_int(r, i, 1) };
    row->created_ms = res_int(r, i, 2);
    row->owner = res_str(r, i, 3);
    row->event = (struct store_event){ res_str(r, i, 4), res_str(r, i, 5), res_str(r, i, 6) };
    row->place = row_place_cursor(&l->arena, *at);
    return 0;
}

static uint64_t fill_node(const PGresult *r, int i, struct store_row *row)
{
    row->node = res_str(r, i, 0);
    row->url = res_str(r, i, 1);
    row->version = res_str(r, i, 2);
    row->lease_ms = res_int(r, i, 3);
    row->held = (uint64_t)res_int(r, i, 4);
    row->running = (uint64_t)res_int(r, i, 5);
    return 0;
}

static uint64_t fill_head(const PGresult *r, int i, struct store_row *row)
{
    struct log_name log = { res_str(r, i, 0), res_str(r, i, 1) };
    struct str      name = res_str(r, i, 6);

    row->created_ms = res_int(r, i, 2);
    row->seq = (uint64_t)res_int(r, i, 3);
    row->head = res_str(r, i, 4);
    row->num = res_int(r, i, 5);
    row->noted = (uint64_t)res_int(r, i, 7);
    row->stub = name.ptr != NULL;
    if (row->stub) snprintf(row->log, sizeof row->log, STR_FMT, STR_ARG(name));
    else chain_name(log, row->created_ms, row->log);
    return 0;
}

static uint64_t fill_stub(const PGresult *r, int i, struct store_row *row)
{
    row->num = res_int(r, i, 0);
    snprintf(row->log, sizeof row->log, STR_FMT, STR_ARG(res_str(r, i, 1)));
    row->owner = res_str(r, i, 2);
    row->thread = res_str(r, i, 3);
    row->seq = (uint64_t)res_int(r, i, 4);
    row->line = res_str(r, i, 5);
    row->created_ms = res_int(r, i, 6);
    return 0;
}

static uint64_t fill_checkpoint(const PGresult *r, int i, struct store_row *row)
{
    row->number = (uint64_t)res_int(r, i, 0);
    row->line = res_str(r, i, 1);
    return 0;
}

static uint64_t fill_tool(const PGresult *r, int i, struct store_row *row)
{
    row->tool = res_str(r, i, 0);
    row->runs = (uint64_t)res_int(r, i, 1);
    row->failed = (uint64_t)res_int(r, i, 2);
    return 0;
}

static uint64_t fill_request(const PGresult *r, int i, struct store_row *row)
{
    row->owner = res_str(r, i, 0);
    row->thread = res_str(r, i, 1);
    row->run = res_str(r, i, 2);
    return 0;
}

static uint64_t fill_key(const PGresult *r, int i, struct store_row *row)
{
    row->owner = res_str(r, i, 0);
    row->thread = res_str(r, i, 1);
    row->value = res_str(r, i, 2);
    row->created_ms = res_int(r, i, 3);
    return 0;
}

static uint64_t fill_used(const PGresult *r, int i, struct store_row *row)
{
    row->amount = res_int(r, i, 0);
    row->day = res_int(r, i, 1);
    row->owner = res_str(r, i, 2);
    return 0;
}

static uint64_t fill_session(const PGresult *r, int i, struct store_row *row)
{
    row->owner = res_str(r, i, 0);
    row->value = res_str(r, i, 1);
    row->updated_ms = res_int(r, i, 2);
    return 0;
}

static uint64_t fill(struct store_list *l, const struct unit *u, int i, struct store_row *row,
                     struct row_place *at)
{
    const PGresult *r = u->result;
    uint64_t        key;

    switch (l->kind) {
    case STORE_THREADS:
    case STORE_LOGS:
    case STORE_UNTRIMMED:
    case STORE_OLD: return fill_thread(r, i, row, at);
    case STORE_UNFINISHED:
        key = fill_thread(r, i, row, at);
        row->hold = (struct store_hold){ u->life, (uint64_t)res_int(r, i, 9) };
        return key;
    case STORE_APPROVALS:
    case STORE_DUE:
    case STORE_NEXT_DUE: return fill_approval(r, i, row, at);
    case STORE_TOOLS: return fill_tool(r, i, row);
    case STORE_REQUEST: return fill_request(r, i, row);
    case STORE_KEYS: return fill_key(r, i, row);
    case STORE_USED: return fill_used(r, i, row);
    case STORE_NODES: return fill_node(r, i, row);
    case STORE_STOCK: return fill_stock(r, i, row, at);
    case STORE_EVENTS: return fill_event(l, r, i, row, at);
    case STORE_EVENT_HEAD: /* behind everything of that transaction */
        *at = (struct row_place){ res_int(r, i, 0), INT64_MAX };
        row->place = row_place_cursor(&l->arena, *at);
        return 0;
    case STORE_WAITING:
        row->amount = res_int(r, i, 0);
        row->created_ms = res_int(r, i, 1);
        return 0;
    case STORE_HEADS: return fill_head(r, i, row);
    case STORE_STUBS: return fill_stub(r, i, row);
    case STORE_LAST:
    case STORE_UNTOLD: return fill_checkpoint(r, i, row);
    case STORE_SESSIONS: return fill_session(r, i, row);
    }
    must(!"list kind");
    return 0;
}

static struct store_row *keep_row(struct store_list *l, const PGresult *r, int i,
                                  struct row_place *at)
{
    struct store_row *row = row_new(l);

    if (!row) return NULL;
    fill_thread(r, i, row, at);
    row->owner = arena_dup(&l->arena, row->owner);
    row->thread = arena_dup(&l->arena, row->thread);
    row->title = arena_dup(&l->arena, row->title);
    row->state = arena_dup(&l->arena, row->state);
    row->source = arena_dup(&l->arena, row->source);
    row->group = arena_dup(&l->arena, row->group);
    return l->arena.failed ? NULL : row;
}

/* The page is full, and there is another row for it. */
static void end_page(struct store_list *l)
{
    l->next = row_place_cursor(&l->arena,
                               (struct row_place){ l->rows[l->count - 1].updated_ms, l->last_num });
}

/* One turn of a search. False: there is more to look at; it goes on from l->before. */
static bool find_some(struct store_list *l, const PGresult *r)
{
    struct row_place at;
    int              n = PQntuples(r);

    for (int i = 0; i < n; i++) {
        if (!words_in(res_str(r, i, 2), l->search)) continue;
        /* one more than asked for: there is another page */
        if (l->limit && l->count == l->limit) {
            end_page(l);
            return true;
        }
        if (!keep_row(l, r, i, &at)) return true;
        l->last_num = at.num;
        l->count++;
    }
    if (n < FIND_ROWS) return true;
    at = (struct row_place){ res_int(r, n - 1, 5), res_int(r, n - 1, 6) };
    l->before = row_place_cursor(&l->arena, at);
    return l->arena.failed;
}

/* Does this row have the words, in its title or in what was said? */
static bool said_here(struct store_list *l, const PGresult *r, int i, struct str *line)
{
    *line = STR_NONE;
    l->looked++;
    if (words_in(res_str(r, i, 2), l->search)) return true;
    return said_find(&l->arena, res_str(r, i, 9), res_str(r, i, 10), l->search, line);
}

/* Is the fact of this row, of which all was read, what was stored? */
static bool said_sound(const PGresult *r, int i)
{
    struct log_name   log = { res_str(r, i, 0), res_str(r, i, 1) };
    struct store_fact f = { (uint64_t)res_int(r, i, 11), res_int(r, i, 12), res_str(r, i, 9),
                            res_str(r, i, 10) };

    return res_int(r, i, 13) == fact_sum(log, &f);
}

/* The search goes on with the fact at `seq` of the log of row i, or with what comes after that. */
static void go_on_at(struct store_list *l, const PGresult *r, int i, int64_t seq)
{
    struct row_place at = { res_int(r, i, 5), res_int(r, i, 6) };

    l->last_seq = seq + 1;
    l->before = row_place_cursor(&l->arena, at);
}

/* One turn of a search in what was said, conversation by conversation; see find_some. `most`: that
 * many were asked for. */
static bool said_some(struct store_list *l, const PGresult *r, int most)
{
    struct row_place  at;
    struct store_row *row;
    struct str        line;
    bool              whole = l->whole;
    int               n = PQntuples(r);

    l->whole = false;
    for (int i = 0; i < n; i++) {
        /* once is enough: last_log had it already */
        if (res_int(r, i, 6) == l->last_log || !said_here(l, r, i, &line)) continue;
        if (line.ptr && !whole && PQgetlength(r, i, 10) >= SAID_BODY_MAX) {
            l->whole = true;
            go_on_at(l, r, i, res_int(r, i, 11));
            return l->arena.failed;
        }
        if (line.ptr && !said_sound(r, i)) continue;
        if (l->limit && l->count == l->limit) {
            end_page(l);
            return true;
        }
        if (!(row = keep_row(l, r, i, &at))) return true;
        row->line = line;
        l->last_num = l->last_log = at.num;
        l->count++;
    }
    if (n < most) return true;
    go_on_at(l, r, n - 1, res_int(r, n - 1, 11) - 1);
    return l->arena.failed;
}

static void take_rows(struct pg *s, struct store_list *l, const struct unit *u)
{
    struct row_place last = { 0 };
    unsigned         limit = l->kind == STORE_NEXT_DUE ? 1 : l->limit;

    for (int i = 0; i < PQntuples(u->result); i++) {
        struct store_row *row;
        uint64_t          key;
        if (limit && l->count == limit) {
            if (list_pages(l)) l->next = row_place_cursor(&l->arena, last);
            return;
        }
        row = row_new(l);
        if (!row) return;
        key = fill(l, u, i, row, &last);
        if (!row_passed_over(&s->damaged, l, row, key)) l->count++;
    }
}

enum err list_rows(struct store_list *l, PGresult *r)
{
    struct row_place at;

    for (int i = 0; i < PQntuples(r); i++, l->count++) {
        struct store_row *row = row_new(l);
        if (!row) return ERR_NOMEM;
        fill(l, &(struct unit){ .result = r }, i, row, &at);
    }
    return OK;
}

bool list_answer(struct pg *s, struct store_list *l, const struct unit *u, enum err *e)
{
    if (!is_search(l)) take_rows(s, l, u);
    else if (l->said) {
        if (!said_some(l, u->result, said_rows(l, u->stmt))) return false;
    } else if (!find_some(l, u->result)) return false;
    list_place(l);
    if (l->arena.failed) {
        *e = ERR_NOMEM;
        l->next = STR_NONE;
    }
    return true;
}
