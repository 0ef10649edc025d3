/* pg_write.c -- appends, edits, claims, sessions: what is sent and what comes back.
 *
 * One statement per batch, its columns as arrays. The fence and the compare stand in the UPDATE's
 * own WHERE, so that they hold for the row as it is when its lock is ours, not as it was when the
 * statement began. Everything else hangs on what that UPDATE (or the INSERT of a new log) gave
 * back, so an append that was refused leaves nothing.
 *
 * Statements of all nodes, and of all connections of one, meet at the rows of logs. Whichever locks
 * several locks them in one order, by owner and name, and before anything else, so nobody waits in
 * a circle: batches are sorted before they are sent (pg_unit.c), and what goes by the holder locks
 * them sorted first (HELD). Sessions that are over are left to whoever is at them already.
 */
#include "base/clock.h"
#include "store/pg.h"

/* $1: this node */
#define ALIVE "EXISTS (SELECT FROM parley_node WHERE id = $1 AND until > clock_timestamp())"

/* What a batch has none of is not in its statement: a part costs its processor time empty, too. So
 * there are four; each has all of the one before it, its parameters first. */
#define A_BATCH                                                                                \
    "WITH a AS MATERIALIZED ("                                                                 \
    "  SELECT * FROM unnest($2::bytea[], $3::bytea[], $4::int8[], $5::int8[], $6::int8[],"     \
    "    $7::int8[], $8::int8[], $9::bytea[], $10::text[], $11::bytea[], $12::bytea[],"        \
    "    $13::int8[], $14::bytea[], $15::bytea[], $16::bytea[])"                               \
    "  WITH ORDINALITY AS a(owner, name, expected, epoch, new_seq, first_ms, last_ms, title, " \
    "state,"                                                                                   \
    "    request, run, listed, source, grp, digests, i)),"                                     \
    " me AS MATERIALIZED (SELECT " ALIVE " AS alive),"
/* a request id that is known, or another log's key that wants to be alone */
#define A_TAKEN                                                                         \
    " given AS MATERIALIZED ("                                                          \
    "  SELECT * FROM unnest($41::int8[], $42::bytea[], $43::bytea[], $44::int8[])"      \
    "    AS k(i, key, value, alone)),"                                                  \
    " taken AS MATERIALIZED ("                                                          \
    "  SELECT a.i, t.name, r.run FROM a JOIN parley_request r ON r.owner = a.owner AND" \
    "    r.id = a.request JOIN parley_thread t ON t.id = r.thread"                      \
    "  UNION ALL (SELECT DISTINCT ON (g.i) g.i, t.name, NULL::bytea FROM given g"       \
    "    JOIN a USING (i) JOIN parley_key k ON k.owner = a.owner AND k.key = g.key"     \
    "    JOIN parley_thread t ON t.id = k.thread AND t.name <> a.name"                  \
    "    WHERE g.alone <> 0 AND NOT EXISTS (SELECT FROM parley_request r"               \
    "      WHERE r.owner = a.owner AND r.id = a.request)"                               \
    "    ORDER BY g.i, k.at_ms DESC, k.thread DESC)),"
#define A_UNTAKEN " AND NOT EXISTS (SELECT FROM taken WHERE taken.i = a.i)"
/* an append with takings comes alone; parley_take looks at its log, too, and has its lock */
#define A_TOOK                                                                                     \
    " took AS MATERIALIZED ("                                                                      \
    "  SELECT p.* FROM a CROSS JOIN LATERAL parley_take($1, a.owner, a.name, a.expected, a.epoch," \
    "    $50::int8, $51::int8[], $52::bytea[], $53::bytea[], $54::text[], $55::text[],"            \
    "    $56::bytea[], $57::int8[], $58::int8[], $59::int8[]) p"                                   \
    "  WHERE cardinality($51::int8[]) > 0 AND (SELECT alive FROM me)"                              \
    "    AND NOT EXISTS (SELECT FROM taken)),"
#define A_UNTOOK " AND NOT EXISTS (SELECT FROM took WHERE took.at <> 0)"
/* parley_links for one fact, which most appends have: a call less */
#define A_LINKS(before)                                                                    \
    "CASE WHEN octet_length(o.digests) = 32 THEN sha256(coalesce(parley_head(" before ")," \
    " decode(repeat('00', 32), 'hex')) || o.digests) ELSE parley_links(" before ", o.digests) END"
/* clang-format off */
#define A_FACTS(if_free)                                                                       \
    " ok AS MATERIALIZED (SELECT a.* FROM a WHERE (SELECT alive FROM me)" if_free "),"         \
    " moved AS ("                                                                              \
    "  UPDATE parley_thread t SET seq = o.new_seq, updated_ms = greatest(t.updated_ms, o.last_ms)," \
    "    title = coalesce(o.title, t.title), state = coalesce(o.state, t.state), holder = $1," \
    "    hidden = CASE o.listed WHEN 0 THEN t.hidden ELSE o.listed = 1 END,"                   \
    "    epoch = t.epoch + CASE WHEN t.holder IS NULL THEN 1 ELSE 0 END,"                      \
    "    links = " A_LINKS("t.links")                                                          \
    "  FROM ok o WHERE t.owner = o.owner AND t.name = o.name AND t.seq = o.expected AND "      \
    FENCE("o.epoch")                                                                           \
    "  RETURNING o.i, t.id, t.epoch, o.expected, t.links),"                                    \
    " fresh AS ("                                                                              \
    "  INSERT INTO parley_thread(owner, name, title, state, seq, created_ms, updated_ms, holder," \
    "    epoch, hidden, source, grp, links)"                                                   \
    "  SELECT owner, name, coalesce(title, ''), coalesce(state, 'idle'), new_seq, first_ms,"   \
    "    last_ms, $1, 1, listed = 1, coalesce(source, ''), grp, " A_LINKS("NULL::bytea")       \
    "  FROM ok o WHERE o.expected = 0 AND NOT EXISTS (SELECT FROM parley_thread t"             \
    "    WHERE t.owner = o.owner AND t.name = o.name OFFSET 0)"                                \
    "  RETURNING id, owner, name, links),"                                                     \
    " done AS MATERIALIZED ("                                                                  \
    "  SELECT i, id, epoch, expected, links FROM moved UNION ALL"                              \
    "  SELECT o.i, f.id, 1, 0, f.links FROM fresh f JOIN ok o ON o.owner = f.owner"            \
    "    AND o.name = f.name),"                                                                \
    " facts AS ("                                                                              \
    "  INSERT INTO parley_fact(thread, seq, at_ms, epoch, sum, kind, body, link)"              \
    "  SELECT d.id, f.seq, f.at_ms, d.epoch, f.sum, f.kind, f.body,"                           \
    "    substr(d.links, (32 * (f.seq - d.expected - 1) + 1)::int, 32)"                        \
    "  FROM unnest($17::int8[], $18::int8[], $19::int8[], $20::text[], $21::bytea[], $22::int8[])" \
    "    AS f(i, seq, at_ms, kind, body, sum) JOIN done d USING (i))"
/* clang-format on */
#define A_LISTS                                                                                 \
    ", requests AS ("                                                                           \
    "  INSERT INTO parley_request(owner, id, thread, run)"                                      \
    "  SELECT o.owner, o.request, d.id, o.run FROM ok o JOIN done d USING (i)"                  \
    "    WHERE o.request IS NOT NULL),"                                                         \
    " approvals AS ("                                                                           \
    "  INSERT INTO parley_approval(owner, id, thread, call, tool, status, body, requested_ms,"  \
    "    expires_ms, sum)"                                                                      \
    "  SELECT o.owner, p.id, d.id, p.call, p.tool, p.status, p.body, p.requested_ms, "          \
    "p.expires_ms,"                                                                             \
    "    p.sum FROM unnest($32::int8[], $33::bytea[], $34::bytea[], $35::bytea[], $36::text[]," \
    "    $37::bytea[], $38::int8[], $39::int8[], $40::int8[])"                                  \
    "    AS p(i, id, call, tool, status, body, requested_ms, expires_ms, sum)"                  \
    "    JOIN done d USING (i) JOIN ok o USING (i)"                                             \
    "  ON CONFLICT (id, owner) DO UPDATE SET thread = excluded.thread, call = excluded.call,"   \
    "    tool = excluded.tool, status = excluded.status, body = excluded.body,"                 \
    "    requested_ms = excluded.requested_ms, expires_ms = excluded.expires_ms,"               \
    "    sum = excluded.sum),"                                                                  \
    " keys AS ("                                                                                \
    "  INSERT INTO parley_key(owner, key, thread, value, at_ms)"                                \
    "  SELECT o.owner, k.key, d.id, k.value, o.last_ms FROM given k"                            \
    "    JOIN done d USING (i) JOIN ok o USING (i) WHERE k.value IS NOT NULL"                   \
    "  ON CONFLICT (owner, key, thread) DO UPDATE SET value = excluded.value,"                  \
    "    at_ms = excluded.at_ms),"                                                              \
    " unkeyed AS ("                                                                             \
    "  DELETE FROM parley_key p USING given k JOIN done d USING (i) JOIN ok o USING (i)"        \
    "    WHERE k.value IS NULL AND p.owner = o.owner AND p.key = k.key AND p.thread = d.id),"   \
    " events AS ("                                                                              \
    "  INSERT INTO parley_event(tx, at_ms, owner, kind, id, body)"                              \
    "  SELECT pg_current_xact_id()::text::int8, v.at_ms, o.owner, v.kind, v.id, v.body"         \
    "    FROM unnest($45::int8[], $46::int8[], $47::text[], $48::bytea[], $49::bytea[])"        \
    "    WITH ORDINALITY AS v(i, at_ms, kind, id, body, k) JOIN done d USING (i)"               \
    "    JOIN ok o USING (i) ORDER BY v.k)"
#define A_COUNTS                                                                             \
    ", tools AS ("                                                                           \
    "  INSERT INTO parley_tool AS c(name, slot, runs, failed)"                               \
    "  SELECT n.name, $23::int8, sum(n.runs), sum(n.failed) FROM unnest($24::int8[], "       \
    "$25::bytea[],"                                                                          \
    "    $26::int8[], $27::int8[]) AS n(i, name, runs, failed) JOIN done d USING (i)"        \
    "    GROUP BY n.name ORDER BY n.name"                                                    \
    "  ON CONFLICT (name, slot) DO UPDATE SET runs = c.runs + excluded.runs,"                \
    "    failed = c.failed + excluded.failed),"                                              \
    " used AS ("                                                                             \
    "  INSERT INTO parley_used AS c(owner, day, slot, amount)"                               \
    "  SELECT n.key, n.day, $23::int8, sum(n.amount) FROM unnest($28::int8[], $29::bytea[]," \
    "    $30::int8[], $31::int8[]) AS n(i, key, day, amount) JOIN done d USING (i)"          \
    "    GROUP BY n.key, n.day ORDER BY n.key, n.day"                                        \
    "  ON CONFLICT (owner, day, slot) DO UPDATE SET amount = c.amount + excluded.amount)"
#define A_WITH_LOG                                                               \
    ", with_log AS ("                                                            \
    "  INSERT INTO parley_stock_log(key, thread) SELECT w.key, d.id FROM done d" \
    "    CROSS JOIN unnest($60::bytea[]) AS w(key) ON CONFLICT (key) DO UPDATE"  \
    "    SET thread = excluded.thread)"
/* what there is instead, when it was refused: its number, are we alive, the epoch; a request id
 * that is taken, and by what; the log; a taking that cannot be had, and what is there */
#define A_ANSWER(taken, took, from)                                                               \
    " SELECT a.i, (SELECT alive FROM me), d.epoch, " taken ", t.seq, t.holder, t.epoch, " took    \
    " FROM a LEFT JOIN done d USING (i) " from                                                    \
    "  LEFT JOIN LATERAL (SELECT t.seq, t.holder, t.epoch FROM parley_thread t WHERE d.i IS NULL" \
    "    AND t.owner = a.owner AND t.name = a.name OFFSET 0) t ON true"
#define A_JOIN_TAKEN "LEFT JOIN taken k USING (i)"

static const char *const append_sql[] = {
    [APPEND_PLAIN] =
        A_BATCH A_FACTS("") A_ANSWER("false, NULL::bytea, NULL::bytea", "NULL::int8", ""),
    [APPEND_COUNTS] =
        A_BATCH A_FACTS("") A_COUNTS A_ANSWER("false, NULL::bytea, NULL::bytea", "NULL::int8", ""),
    [APPEND_LISTS] = A_BATCH A_TAKEN A_FACTS(A_UNTAKEN)
        A_COUNTS A_LISTS A_ANSWER("k.i IS NOT NULL, k.name, k.run", "NULL::int8", A_JOIN_TAKEN),
    [APPEND_TAKES] =
        A_BATCH A_TAKEN A_TOOK A_FACTS(A_UNTAKEN A_UNTOOK) A_COUNTS A_LISTS A_WITH_LOG A_ANSWER(
            "k.i IS NOT NULL, k.name, k.run",
            "p.at, p.key, p.kind, p.owner, p.holder, p.state, p.body, p.uses, p.amount,"
            " p.made_ms, p.until_ms,"
            /* taken and not appended: that must not be kept. An error undoes it, and it is sent
                  * again. */
            " CASE WHEN p.at = 0 AND d.i IS NULL THEN 1 / (p.at::int) END",
            A_JOIN_TAKEN " LEFT JOIN took p ON true"),
};

static const char back_sql[] =
    "SELECT f.seq, f.at_ms, f.kind, f.body, f.epoch, t.holder = $1 AND t.epoch = f.epoch AND " ALIVE
    " FROM parley_thread t JOIN parley_fact f ON f.thread = t.id"
    " WHERE t.owner = $2 AND t.name = $3 AND f.seq > $4 AND f.seq <= $5 ORDER BY f.seq";

static const char title_sql[] =
    "WITH old AS (SELECT id, title FROM parley_thread WHERE owner = $2 AND name = $3),"
    " new AS (UPDATE parley_thread t SET title = coalesce($5::bytea, t.title) WHERE t.owner = $2"
    "  AND t.name = $3 AND t.title = coalesce($6::bytea, t.title) AND "
    /* clang-format off */
    FENCE("$4::int8") " RETURNING t.id)"
                      /* clang-format on */
                      " SELECT EXISTS (SELECT FROM old), EXISTS (SELECT FROM new),"
                      "  EXISTS (SELECT FROM old WHERE title <> coalesce($6::bytea, title)),"
                      "  EXISTS (SELECT FROM old WHERE title = $5::bytea)";

/* The lock first, then the judgement of who holds it: parley_alive looks at that moment. */
static const char claim_sql[] =
    "WITH c AS MATERIALIZED ("
    "  SELECT * FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS c(owner, name, i)),"
    " old AS MATERIALIZED ("
    "  SELECT c.i, t.id, t.holder FROM c CROSS JOIN LATERAL (SELECT id, holder FROM parley_thread t"
    "    WHERE t.owner = c.owner AND t.name = c.name FOR NO KEY UPDATE) t),"
    " got AS ("
    "  UPDATE parley_thread t SET holder = $1, epoch = t.epoch + 1 FROM old o WHERE t.id = o.id"
    "    AND parley_alive($1)"
    "    AND (o.holder IS NULL OR o.holder = $1 OR NOT parley_alive(o.holder))"
    "  RETURNING o.i, t.epoch)"
    " SELECT c.i, parley_alive($1), g.epoch, o.holder, n.url,"
    "  o.holder IS NOT NULL AND parley_alive(o.holder)"
    " FROM c LEFT JOIN old o USING (i) LEFT JOIN got g USING (i)"
    "  LEFT JOIN parley_node n ON n.id = o.holder";

/* What this node holds, locked. */
#define HELD                                                                    \
    "WITH held AS MATERIALIZED (SELECT id FROM parley_thread WHERE holder = $1" \
    "  ORDER BY owner, name FOR NO KEY UPDATE)"
#define FREE "UPDATE parley_thread t SET holder = NULL FROM held h WHERE t.id = h.id"

/* With LIMIT in an inner query, because a row's lock is taken before it is counted. */
static const char unfinished_sql[] =
    "WITH dead AS ("
    "  SELECT t.id FROM parley_thread t WHERE t.state = 'running' AND (t.holder IS NULL"
    "    OR (t.holder <> $1 OR $3::int8 <> 0) AND NOT EXISTS (SELECT FROM parley_node n"
    "      WHERE n.id = t.holder AND n.id <> $1 AND n.until > clock_timestamp()))"
    "  ORDER BY random() LIMIT $2::int8 FOR NO KEY UPDATE SKIP LOCKED),"
    " got AS ("
    "  UPDATE parley_thread t SET holder = $1, epoch = t.epoch + 1 FROM dead WHERE t.id = dead.id"
    "    AND t.state = 'running' AND parley_alive($1)"
    "    AND (t.holder IS NULL OR t.holder = $1 OR NOT parley_alive(t.holder))"
    "  RETURNING t.owner, t.name, t.title, t.state, t.created_ms, t.updated_ms, t.id, t.source,"
    "    t.grp, t.epoch)"
    " SELECT * FROM got";

const char *pg_write_sql(int stmt)
{
    if (PG_IS_APPEND(stmt)) return append_sql[stmt - PG_APPEND];
    switch (stmt) {
    case PG_BACK: return back_sql;
    case PG_TITLE: return title_sql;
    case PG_CLAIM: return claim_sql;
    case PG_UNFINISHED: return unfinished_sql;
    case PG_RELEASE:
        return "UPDATE parley_thread t SET holder = NULL"
               " FROM unnest($2::bytea[], $3::bytea[], $4::int8[]) AS r(owner, name, epoch)"
               " WHERE t.owner = r.owner AND t.name = r.name AND t.holder = $1"
               " AND t.epoch = r.epoch";
    case PG_RELEASE_ALL: return HELD " " FREE;
    case PG_SESSION_PUT:
        return "WITH over AS (DELETE FROM parley_session WHERE key IN (SELECT key"
               "  FROM parley_session WHERE ends_ms < $4::int8 AND key <> $1"
               "  FOR UPDATE SKIP LOCKED)),"
               " each AS (DELETE FROM parley_session WHERE key IN (SELECT key FROM parley_session"
               "  WHERE key > $5::bytea AND key < $5::bytea || '0'::bytea AND key <> $1"
               "  AND ends_ms >= $4::int8 ORDER BY ends_ms DESC OFFSET $6::int8))"
               " INSERT INTO parley_session(key, body, ends_ms) VALUES ($1, $2, $3)"
               " ON CONFLICT (key) DO UPDATE SET body = $2, ends_ms = $3";
    case PG_SESSION_GET: return "SELECT body, ends_ms FROM parley_session WHERE key = $1";
    case PG_SESSION_END:
        return "DELETE FROM parley_session WHERE key = $1 AND ($2::bytea IS NULL OR body = $2)";
    case PG_SESSION_KEEP:
        return "UPDATE parley_session SET body = $2, ends_ms = $3 WHERE key = $1"
               " AND ($4::bytea IS NULL OR body = $4) RETURNING ends_ms";
    case PG_RENEW:
        return "WITH old AS MATERIALIZED (SELECT until > clock_timestamp() AS alive"
               "  FROM parley_node WHERE id = $1 FOR UPDATE),"
               " new AS (INSERT INTO parley_node(id, url, until, version, mark)"
               "  VALUES ($1, $2, clock_timestamp() + interval '3 seconds', $3, $4)"
               "  ON CONFLICT (id) DO UPDATE SET until = excluded.until)"
               " SELECT coalesce((SELECT alive FROM old), false),"
               "  (extract(epoch FROM clock_timestamp()) * 1000)::int8";
    case PG_TIDY: /* the parameter is there for all of them */
        return "WITH gone AS (DELETE FROM parley_node WHERE id <> $1"
               "  AND until < clock_timestamp() - interval '1 hour'),"
               " told AS (DELETE FROM parley_event WHERE at_ms <"
               "  (extract(epoch FROM clock_timestamp() - interval '7 days') * 1000)::int8)"
               " DELETE FROM parley_used WHERE day < (SELECT max(day) FROM parley_used) - 31";
    /* Locks whose owner stopped in the middle of what it sent, its machine perhaps: the server
     * would wait for the rest, without a limit of its own, and with it whoever wants those rows. */
    case PG_UNSTICK:
        return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
               " WHERE application_name = '" PG_SESSION "' AND usename = current_user"
               " AND datname = current_database() AND state = 'active'"
               " AND wait_event = 'ClientRead' AND xact_start < clock_timestamp() - interval '3 s'";
    case PG_BYE: return HELD ", free AS (" FREE ") DELETE FROM parley_node WHERE id = $1";
    }
    return pg_erase_sql(stmt);
}

/* --- appends: a column at a time ------------------------------------------------------ */

#define EACH(a, jobs)                    \
    for (struct list *n_ = (jobs)->next; \
         n_ != (jobs) && (a = JOB_OF(JOB_AT(n_), struct store_append)); n_ = n_->next)

#define COLUMN_INT(jobs, value)               \
    do {                                      \
        param_array(p, PG_INT8);              \
        EACH(a, jobs)                         \
        param_array_int(p, (int64_t)(value)); \
        param_array_end(p);                   \
    } while (0)
#define COLUMN_BYTES(type, jobs, value) \
    do {                                \
        param_array(p, type);           \
        EACH(a, jobs)                   \
        param_array_bytes(p, (value));  \
        param_array_end(p);             \
    } while (0)

/* The same for what an append has several of; `i` says whose it is. */
#define PARTS(jobs, member, total, put)                          \
    do {                                                         \
        int64_t i = 0;                                           \
        EACH(a, jobs)                                            \
        {                                                        \
            i++;                                                 \
            for (size_t k = 0; k < a->total; k++) {              \
                const __typeof__(*a->member) *x = &a->member[k]; \
                (void)x;                                         \
                put;                                             \
            }                                                    \
        }                                                        \
        param_array_end(p);                                      \
    } while (0)

static int64_t sum_of(const struct store_append *a, size_t k)
{
    struct store_fact f = a->facts[k];
    f.seq = a->expected + 1 + k;
    return fact_sum(a->log, &f);
}

/* The digests of its facts, behind each other. */
static struct str digests_of(const struct store_append *a, struct buf *room)
{
    uint8_t digest[CHAIN_LEN];

    buf_clear(room);
    for (size_t k = 0; k < a->fact_count; k++) {
        struct store_fact f = a->facts[k];
        f.seq = a->expected + 1 + k;
        chain_digest(a->log, &f, digest);
        buf_add(room, digest, CHAIN_LEN);
    }
    return buf_view(room);
}

static void digest_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;
    struct buf           room;

    buf_init(&room, 0);
    COLUMN_BYTES(PG_BYTEA, jobs, digests_of(a, &room));
    if (room.err) p->bytes.err = room.err;
    buf_done(&room);
}

/* A row that is given twice is what was given last; one statement may not write it twice. */
static bool is_replaced(const struct store_append *a, size_t k)
{
    for (size_t j = k + 1; j < a->approval_count; j++)
        if (str_eq(a->approvals[j].id, a->approvals[k].id)) return true;
    return false;
}

static void fact_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    PARTS(jobs, facts, fact_count, param_array_int(p, i));
    param_array(p, PG_INT8);
    PARTS(jobs, facts, fact_count, param_array_int(p, (int64_t)(a->expected + 1 + k)));
    param_array(p, PG_INT8);
    PARTS(jobs, facts, fact_count, param_array_int(p, x->at_ms));
    param_array(p, PG_TEXT);
    PARTS(jobs, facts, fact_count, param_array_bytes(p, or_empty(x->kind)));
    param_array(p, PG_BYTEA);
    PARTS(jobs, facts, fact_count, param_array_bytes(p, or_empty(x->body)));
    param_array(p, PG_INT8);
    PARTS(jobs, facts, fact_count, param_array_int(p, sum_of(a, k)));
}

#define APPROVALS(put) PARTS(jobs, approvals, approval_count, if (!is_replaced(a, k)) put)
static void approval_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    APPROVALS(param_array_int(p, i));
    param_array(p, PG_BYTEA);
    APPROVALS(param_array_bytes(p, or_empty(x->id)));
    param_array(p, PG_BYTEA);
    APPROVALS(param_array_bytes(p, or_empty(x->call)));
    param_array(p, PG_BYTEA);
    APPROVALS(param_array_bytes(p, or_empty(x->tool)));
    param_array(p, PG_TEXT);
    APPROVALS(param_array_bytes(p, or_empty(x->status)));
    param_array(p, PG_BYTEA);
    APPROVALS(param_array_bytes(p, or_empty(x->body)));
    param_array(p, PG_INT8);
    APPROVALS(param_array_int(p, x->requested_ms));
    param_array(p, PG_INT8);
    APPROVALS(param_array_int(p, x->expires_ms));
    param_array(p, PG_INT8);
    APPROVALS(param_array_int(p, approval_sum(a->log, x)));
}

static void tool_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    PARTS(jobs, tools, tool_count, param_array_int(p, i));
    param_array(p, PG_BYTEA);
    PARTS(jobs, tools, tool_count, param_array_bytes(p, or_empty(x->tool)));
    param_array(p, PG_INT8);
    PARTS(jobs, tools, tool_count, param_array_int(p, x->runs));
    param_array(p, PG_INT8);
    PARTS(jobs, tools, tool_count, param_array_int(p, x->failed));
}

/* The same of keys. */
static bool is_given_again(const struct store_append *a, size_t k)
{
    for (size_t j = k + 1; j < a->key_count; j++)
        if (str_eq(a->keys[j].key, a->keys[k].key)) return true;
    return false;
}

#define KEYS(put) PARTS(jobs, keys, key_count, if (!is_given_again(a, k)) put)
static void key_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    KEYS(param_array_int(p, i));
    param_array(p, PG_BYTEA);
    KEYS(param_array_bytes(p, or_empty(x->key)));
    param_array(p, PG_BYTEA);
    KEYS(param_array_bytes(p, x->value));
    param_array(p, PG_INT8);
    KEYS(param_array_int(p, x->alone));
}

#define TAKES(type, put)                               \
    do {                                               \
        param_array(p, type);                          \
        for (size_t k = 0; k < a->take_count; k++) {   \
            const struct store_take *x = &a->takes[k]; \
            put;                                       \
        }                                              \
        param_array_end(p);                            \
    } while (0)
static void take_params(const struct store_append *a, struct params *p)
{
    param_int(p, a->now_ms);
    TAKES(PG_INT8, param_array_int(p, x->op));
    TAKES(PG_BYTEA, param_array_bytes(p, or_empty(x->key)));
    TAKES(PG_BYTEA, param_array_bytes(p, or_empty(x->holder)));
    TAKES(PG_TEXT, param_array_bytes(p, or_empty(x->kind)));
    TAKES(PG_TEXT, param_array_bytes(p, or_empty(x->state)));
    TAKES(PG_BYTEA, param_array_bytes(p, x->body));
    TAKES(PG_INT8, param_array_int(p, x->uses));
    TAKES(PG_INT8, param_array_int(p, x->amount));
    TAKES(PG_INT8, param_array_int(p, x->until_ms));
    TAKES(PG_BYTEA, if (x->op == TAKE_MAKE && x->with_log) param_array_bytes(p, or_empty(x->key)));
}

static void event_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    PARTS(jobs, events, event_count, param_array_int(p, i));
    param_array(p, PG_INT8);
    PARTS(jobs, events, event_count, param_array_int(p, a->now_ms));
    param_array(p, PG_TEXT);
    PARTS(jobs, events, event_count, param_array_bytes(p, or_empty(x->kind)));
    param_array(p, PG_BYTEA);
    PARTS(jobs, events, event_count, param_array_bytes(p, or_empty(x->id)));
    param_array(p, PG_BYTEA);
    PARTS(jobs, events, event_count, param_array_bytes(p, or_empty(x->body)));
}

static enum append_form form_of(const struct store_append *a)
{
    if (a->take_count) return APPEND_TAKES;
    if (a->request_id.ptr || a->approval_count || a->key_count || a->event_count)
        return APPEND_LISTS;
    return a->tool_count || a->spent_count ? APPEND_COUNTS : APPEND_PLAIN;
}

enum append_form append_form(const struct list *jobs)
{
    struct store_append *a;
    enum append_form     form = APPEND_PLAIN;

    EACH(a, jobs)
    if (form_of(a) > form) form = form_of(a);
    return form;
}

static void log_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    COLUMN_BYTES(PG_BYTEA, jobs, or_empty(a->log.owner));
    COLUMN_BYTES(PG_BYTEA, jobs, or_empty(a->log.thread));
    COLUMN_INT(jobs, a->expected > INT64_MAX ? INT64_MAX : a->expected);
    COLUMN_INT(jobs, a->hold.epoch);
    COLUMN_INT(jobs, a->expected + a->fact_count);
    COLUMN_INT(jobs, a->facts[0].at_ms);
    COLUMN_INT(jobs, a->facts[a->fact_count - 1].at_ms);
    COLUMN_BYTES(PG_BYTEA, jobs, a->title);
    COLUMN_BYTES(PG_TEXT, jobs, a->state);
    COLUMN_BYTES(PG_BYTEA, jobs, a->request_id);
    COLUMN_BYTES(PG_BYTEA, jobs, a->run);
    COLUMN_INT(jobs, a->listed);
    COLUMN_BYTES(PG_BYTEA, jobs, a->origin.source);
    COLUMN_BYTES(PG_BYTEA, jobs, a->origin.group);
    digest_params(jobs, p);
}

static void spent_params(const struct list *jobs, struct params *p)
{
    struct store_append *a;

    param_array(p, PG_INT8);
    PARTS(jobs, spent, spent_count, param_array_int(p, i));
    param_array(p, PG_BYTEA);
    PARTS(jobs, spent, spent_count, param_array_bytes(p, or_empty(x->key)));
    param_array(p, PG_INT8);
    PARTS(jobs, spent, spent_count, param_array_int(p, x->day));
    param_array(p, PG_INT8);
    PARTS(jobs, spent, spent_count, param_array_int(p, x->amount));
}

void append_params(struct lane *l, const struct list *jobs, enum append_form form, struct params *p)
{
    param_bytes(p, str_c(l->s->base.node));
    log_params(jobs, p);
    fact_params(jobs, p);
    if (form < APPEND_COUNTS) return;
    param_int(p, l->slot);
    tool_params(jobs, p);
    spent_params(jobs, p);
    if (form < APPEND_LISTS) return;
    approval_params(jobs, p);
    key_params(jobs, p);
    event_params(jobs, p);
    if (form < APPEND_TAKES) return;
    take_params(JOB_OF(JOB_AT(jobs->next), struct store_append), p);
}

static struct str keep(char *buf, size_t size, struct str s)
{
    if (!s.ptr) return STR_NONE;
    s = str_cut(s, size);
    memcpy(buf, s.ptr, s.len);
    return str_n(buf, s.len);
}

static void succeed(struct store_append *a, uint64_t life, uint64_t epoch)
{
    a->new_seq = a->expected + a->fact_count;
    a->hold = (struct store_hold){ life, epoch };
}

static struct str copy(struct store_append *a, const PGresult *r, int row, int col)
{
    return arena_dup(&a->arena, res_str(r, row, col));
}

/* A taking could not be had: which, and what is there. Copied: it may be told after a last look. */
static enum err show_stock(struct store_append *a, const PGresult *r, int row)
{
    a->taken_at = (size_t)res_int(r, row, 9) - 1;
    a->taken = (struct store_stock){ .key = copy(a, r, row, 10),
                                     .kind = copy(a, r, row, 11),
                                     .owner = copy(a, r, row, 12),
                                     .holder = copy(a, r, row, 13),
                                     .state = copy(a, r, row, 14),
                                     .body = copy(a, r, row, 15),
                                     .uses = res_int(r, row, 16),
                                     .amount = res_int(r, row, 17),
                                     .made_ms = res_int(r, row, 18),
                                     .until_ms = res_int(r, row, 19) };
    return a->arena.failed ? ERR_NOMEM : ERR_TAKEN;
}

/* Which of the refusals it was; `r` has the log as it was when the statement began. */
static enum err refusal(struct pg *s, struct store_append *a, const PGresult *r, int row)
{
    bool     there = !PQgetisnull(r, row, 6), held = !PQgetisnull(r, row, 7);
    bool     ours = held && str_is(res_str(r, row, 7), s->base.node);
    uint64_t epoch = (uint64_t)res_int(r, row, 8);

    if (res_bool(r, row, 3)) {
        a->found_thread = keep(a->found_buf, 128, res_str(r, row, 4));
        a->found_run = keep(a->found_buf + 128, sizeof a->found_buf - 128, res_str(r, row, 5));
        return ERR_EXISTS;
    }
    if (res_int(r, row, 9) > 0) return show_stock(a, r, row);
    if (!there) return ERR_CONFLICT;
    if (held && !ours) return ERR_FENCED;
    if (!a->hold.epoch) return ERR_CONFLICT;
    if (!ours || epoch != a->hold.epoch) return ERR_FENCED;
    /* all fits: then somebody took it while the statement waited */
    return (uint64_t)res_int(r, row, 6) == a->expected ? ERR_FENCED : ERR_CONFLICT;
}

bool append_answers(struct pg *s, struct unit *u)
{
    struct store_append *a, *by_number[PG_BATCH_MAX];
    const PGresult      *r = u->result;
    int                  n = 0;

    EACH(a, &u->jobs)
    by_number[n++] = a;
    must(PQntuples(r) == n);
    if (!res_bool(r, 0, 1)) return false;
    for (int row = 0; row < n; row++) {
        int64_t i = res_int(r, row, 0);
        must(i >= 1 && i <= n);
        a = by_number[i - 1];
        a->job.result = OK;
        if (PQgetisnull(r, row, 2)) a->job.result = refusal(s, a, r, row);
        else succeed(a, u->life, (uint64_t)res_int(r, row, 2));
    }
    return true;
}

/* --- an append in doubt -------------------------------------------------------------------- */

void back_params(struct pg *s, const struct store_append *a, struct params *p)
{
    param_bytes(p, str_c(s->base.node));
    param_bytes(p, a->log.owner);
    param_bytes(p, a->log.thread);
    param_int(p, (int64_t)a->expected);
    param_int(p, (int64_t)(a->expected + a->fact_count));
}

bool back_answer(struct pg *s, struct store_append *a, const struct unit *u)
{
    const PGresult *r = u->result;
    uint64_t        epoch;

    if ((size_t)PQntuples(r) != a->fact_count) return false;
    epoch = (uint64_t)res_int(r, 0, 4);
    if (a->hold.epoch && epoch != a->hold.epoch) return false;
    for (int i = 0; i < PQntuples(r); i++) {
        const struct store_fact *f = &a->facts[i];
        if (res_int(r, i, 1) != f->at_ms || !str_eq(res_str(r, i, 2), f->kind) ||
            !str_eq(res_str(r, i, 3), f->body))
            return false;
    }
    /* it is not ours any more: then no effect may rest on it */
    succeed(a, res_bool(r, 0, 5) ? u->life : 0, epoch);
    return true;
}

/* --- edits, sessions ------------------------------------------------------------------------ */

void edit_params(struct pg *s, const struct store_edit *x, struct params *p)
{
    param_bytes(p, str_c(s->base.node));
    param_bytes(p, x->log.owner);
    param_bytes(p, x->log.thread);
    param_int(p, (int64_t)x->hold.epoch);
    if (x->trim) {
        trim_params(x, p);
        return;
    }
    if (x->remove) {
        param_bytes(p, x->stub);
        param_int(p, x->at_ms);
        return;
    }
    param_bytes(p, x->title);
    param_bytes(p, x->title_was);
}

enum err edit_answer(const struct store_edit *x, const PGresult *r)
{
    bool renames = !x->remove && !x->trim;

    if (res_bool(r, 0, 1)) return OK;
    /* sent twice, and the first one did it */
    if (x->job.doubt && renames && res_bool(r, 0, 3)) return OK;
    if (!x->remove && res_bool(r, 0, 2)) return ERR_CONFLICT;
    if (res_bool(r, 0, 0)) return ERR_FENCED;
    return x->remove && x->job.doubt ? OK : ERR_NOT_FOUND;
}

void session_params(const struct store_session *x, struct params *p)
{
    param_bytes(p, x->key);
    if (x->op == SESSION_END) param_bytes(p, x->was);
    if (x->op == SESSION_GET || x->op == SESSION_END) return;
    param_bytes(p, or_empty(x->body));
    param_int(p, x->ends_ms);
    if (x->op == SESSION_KEEP) param_bytes(p, x->was);
    if (x->op == SESSION_KEEP) return;
    param_int(p, clock_wall_ms());
    param_bytes(p, store_session_family(x));
    param_int(p, x->each ? (int64_t)x->each - 1 : INT64_MAX);
}

enum err session_answer(struct store_session *x, const PGresult *r)
{
    if (x->op == SESSION_PUT || x->op == SESSION_END) return OK;
    if (!PQntuples(r)) return ERR_NOT_FOUND;
    if (x->op == SESSION_KEEP) return OK;
    x->body = res_str(r, 0, 0);
    x->ends_ms = res_int(r, 0, 1);
    return OK;
}

/* --- claims --------------------------------------------------------------------------------- */

void claim_params(struct pg *s, const struct list *jobs, struct params *p)
{
    param_bytes(p, str_c(s->base.node));
    param_array(p, PG_BYTEA);
    for (struct list *n = jobs->next; n != jobs; n = n->next)
        param_array_bytes(p, JOB_OF(JOB_AT(n), struct store_claim)->log.owner);
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (struct list *n = jobs->next; n != jobs; n = n->next)
        param_array_bytes(p, JOB_OF(JOB_AT(n), struct store_claim)->log.thread);
    param_array_end(p);
}

static void fill_claim(struct store_claim *c, const struct unit *u, int row)
{
    const PGresult *r = u->result;

    c->job.result = OK;
    c->hold = (struct store_hold){ u->life, (uint64_t)res_int(r, row, 2) };
    /* no row of it: free, there is nothing to hold yet */
    if (c->hold.epoch || PQgetisnull(r, row, 3)) return;
    c->hold = (struct store_hold){ 0 };
    c->node = res_str(r, row, 3);
    c->url = or_empty(res_str(r, row, 4));
    c->alive = res_bool(r, row, 5);
    c->job.result = ERR_BUSY;
}

bool claim_answers(struct pg *s, struct unit *u)
{
    struct store_claim *by_number[PG_BATCH_MAX];
    int                 n = 0;

    (void)s;
    for (struct list *x = u->jobs.next; x != &u->jobs; x = x->next)
        by_number[n++] = JOB_OF(JOB_AT(x), struct store_claim);
    must(PQntuples(u->result) == n);
    if (!res_bool(u->result, 0, 1)) return false;
    for (int row = 0; row < n; row++) {
        int64_t i = res_int(u->result, row, 0);
        must(i >= 1 && i <= n);
        fill_claim(by_number[i - 1], u, row);
    }
    return true;
}

void release_params(struct pg *s, const struct list *jobs, struct params *p)
{
    param_bytes(p, str_c(s->base.node));
    param_array(p, PG_BYTEA);
    for (struct list *n = jobs->next; n != jobs; n = n->next)
        param_array_bytes(p, JOB_OF(JOB_AT(n), struct release)->log.owner);
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (struct list *n = jobs->next; n != jobs; n = n->next)
        param_array_bytes(p, JOB_OF(JOB_AT(n), struct release)->log.thread);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (struct list *n = jobs->next; n != jobs; n = n->next)
        param_array_int(p, (int64_t)JOB_OF(JOB_AT(n), struct release)->epoch);
    param_array_end(p);
}
