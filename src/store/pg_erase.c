/* pg_erase.c -- what goes and what is left of it: a log that is removed, somebody who is forgotten,
 * and the checkpoints that speak for both. What is sent and what comes back, as in pg_write.c. */
#include "store/pg.h"

/* links.h in the database's words */
#define BYTES_OF(text) "int8send(octet_length(" text ")::int8) || " text
#define LOG_OF(t)      BYTES_OF(t ".owner") " || " BYTES_OF(t ".name")
#define CHAIN_NAME_OF(t) \
    "left(encode(sha256(" LOG_OF(t) " || int8send(" t ".created_ms)), 'hex'), 32)"
#define DIGEST_OF(t, seq, at, kind, body)                       \
    "sha256(" LOG_OF(t) " || int8send(" seq ") || int8send(" at \
                        ") || " BYTES_OF("convert_to(" kind ", 'UTF8')") " || " body ")"

static const char remove_sql[] =
    "WITH old AS (SELECT id FROM parley_thread WHERE owner = $2 AND name = $3),"
    " new AS (DELETE FROM parley_thread t WHERE t.owner = $2 AND t.name = $3 AND "
    /* clang-format off */
    FENCE("$4::int8") " RETURNING t.*),"
    " facts AS (DELETE FROM parley_fact WHERE thread = (SELECT id FROM new)),"
    " requests AS (DELETE FROM parley_request WHERE thread = (SELECT id FROM new)),"
    " approvals AS (DELETE FROM parley_approval WHERE thread = (SELECT id FROM new)),"
    " keys AS (DELETE FROM parley_key WHERE thread = (SELECT id FROM new)),"
    " with_log AS (DELETE FROM parley_stock_log WHERE thread = (SELECT id FROM new) RETURNING key),"
    " stock AS (DELETE FROM parley_stock WHERE key IN (SELECT key FROM with_log)),"
    " trimmed AS (DELETE FROM parley_trimmed WHERE thread = (SELECT id FROM new)),"
    " last AS MATERIALIZED (SELECT new.*, "
    DIGEST_OF("new", "new.seq + 1", "$6::int8", "'removed'", "$5::bytea") " AS digest FROM new"
    "  WHERE $5::bytea IS NOT NULL),"
    " stub AS (INSERT INTO parley_stub(log, owner, name, created_ms, removed_ms, seq, kind,"
    "   digests, head, body, noted)"
    "  SELECT " CHAIN_NAME_OF("l") ", l.owner, l.name, l.created_ms, $6::int8, l.seq + 1,"
    "   'removed', coalesce((SELECT string_agg(coalesce(f.digest, "
    DIGEST_OF("l", "f.seq", "f.at_ms", "f.kind", "f.body") "), ''::bytea ORDER BY f.seq)"
    "    FROM parley_fact f WHERE f.thread = l.id AND f.link IS NOT NULL), '') || l.digest,"
    "   parley_links(l.links, l.digest), $5::bytea, false FROM last l)"
                                                            /* clang-format on */
                                                            " SELECT EXISTS (SELECT FROM old), "
                                                            "EXISTS (SELECT FROM new)";

/* What was appended first is what the chain holds; before the chain there is nothing to hold. */
static const char trim_sql[] =
    "WITH old AS (SELECT seq FROM parley_thread WHERE owner = $2 AND name = $3),"
    " new AS (UPDATE parley_thread t SET title = coalesce($6::bytea, t.title),"
    "  seq = t.seq + CASE WHEN $7::bytea IS NULL THEN 0 ELSE 1 END,"
    "  links = CASE WHEN $7::bytea IS NULL THEN t.links ELSE parley_links(t.links, $7::bytea) END"
    "  WHERE t.owner = $2 AND t.name = $3 AND t.seq = $5::int8 AND "
    /* clang-format off */
    FENCE("$4::int8") " RETURNING t.*),"
    " facts AS (UPDATE parley_fact f SET body = u.body, sum = u.sum, digest = CASE WHEN f.link IS"
    "   NOT NULL THEN coalesce(f.digest, "
    DIGEST_OF("new", "f.seq", "f.at_ms", "f.kind", "f.body") ") END"
    "  FROM new, unnest($8::int8[], $9::bytea[], $10::int8[]) AS u(seq, body, sum)"
    "  WHERE f.thread = new.id AND f.seq = u.seq),"
                                    /* clang-format on */
                                    " note AS (INSERT INTO parley_fact(thread, seq, at_ms, epoch, "
                                    "sum, kind, body, link)"
                                    "  SELECT id, seq, $11::int8, epoch, $12::int8, $13::text, "
                                    "$14::bytea, parley_head(links)"
                                    "   FROM new WHERE $7::bytea IS NOT NULL),"
                                    " approvals AS (UPDATE parley_approval a SET status = "
                                    "p.status, body = p.body, sum = p.sum"
                                    "  FROM new, unnest($15::bytea[], $16::text[], $17::bytea[], "
                                    "$18::int8[])"
                                    "   AS p(id, status, body, sum) WHERE a.thread = new.id AND "
                                    "a.id = p.id),"
                                    " kinds AS (INSERT INTO parley_trimmed(thread, seq, kinds) "
                                    "SELECT id, seq, $19::int8 FROM new"
                                    "  WHERE $19::int8 <> 0 ON CONFLICT (thread) DO UPDATE SET seq "
                                    "= excluded.seq,"
                                    "  kinds = excluded.kinds)"
                                    " SELECT EXISTS (SELECT FROM old), EXISTS (SELECT FROM new),"
                                    "  EXISTS (SELECT FROM old WHERE seq <> $5::int8)";

static const char erase_sql[] =
    "WITH x AS (SELECT $3::bytea AS owner, $4::bytea AS name),"
    /* clang-format off */
    " d AS MATERIALIZED (SELECT "
    DIGEST_OF("x", "$2::int8 + 1", "$6::int8", "'erased'", "$5::bytea") " AS digest FROM x)"
                     /* clang-format on */
                     " UPDATE parley_stub s SET owner = $3, name = $4, removed_ms = $6, seq = "
                     "s.seq + 1,"
                     "  kind = 'erased', digests = s.digests || d.digest, head = "
                     "parley_links(s.head, d.digest),"
                     "  body = $5, noted = false FROM d WHERE s.num = $1::int8 AND s.seq = $2::int8"
                     " RETURNING s.num";

/* All that names somebody beside logs and stubs: struct store_erase. */
static const char forget_sql[] =
    "WITH events AS (DELETE FROM parley_event WHERE owner = $1::bytea"
    "  OR position($10::bytea IN body) > 0 OR position($12::bytea IN body) > 0),"
    " sums AS (DELETE FROM parley_used WHERE owner = ANY($2::bytea[])),"
    " rows AS (DELETE FROM parley_session s USING unnest($3::bytea[], $4::bytea[], $5::bytea[])"
    "   AS m(begins, ends, holds)"
    "  WHERE s.key >= m.begins AND s.key < m.begins || '\\xff'::bytea"
    "   AND octet_length(s.key) >= octet_length(m.begins) + octet_length(m.ends)"
    "   AND substr(s.key, octet_length(s.key) - octet_length(m.ends) + 1) = m.ends"
    "   AND position('/'::bytea IN substr(s.key, octet_length(m.begins) + 1, greatest(0,"
    "    octet_length(s.key) - octet_length(m.begins) - octet_length(m.ends)))) = 0"
    "   AND (m.holds IS NULL OR position(m.holds IN s.body) > 0)),"
    " own AS (DELETE FROM parley_stock WHERE kind = $6::text AND owner = $1::bytea"
    "  AND substr(key, 1, octet_length($7::bytea)) = $7::bytea),"
    " naming AS (DELETE FROM parley_stock WHERE $6::text <> '' AND kind <> $6::text"
    "  AND (owner = $1::bytea OR position($10::bytea IN body) > 0)),"
    " others AS (UPDATE parley_stock SET body = overlay(body PLACING $11::bytea"
    "   FROM position($10::bytea IN body) FOR octet_length($10::bytea))"
    "  WHERE kind = $6::text AND owner <> $1::bytea AND position($10::bytea IN body) > 0)"
    " UPDATE parley_stock SET owner = $8::bytea, body = $9::bytea WHERE kind = $6::text"
    "  AND owner = $1::bytea AND substr(key, 1, octet_length($7::bytea)) <> $7::bytea";

static const char checkpoint_sql[] =
    "WITH made AS (INSERT INTO parley_checkpoint(number, at_ms, line, told)"
    "  SELECT $1::int8, $2::int8, $3::bytea, false"
    "  WHERE $1::int8 = coalesce((SELECT max(number) FROM parley_checkpoint), 0) + 1"
    "  RETURNING number),"
    " logs AS (INSERT INTO parley_noted(thread, seq)"
    "  SELECT u.num, u.seq FROM unnest($4::int8[], $5::int8[]) AS u(num, seq)"
    /* one that is being removed has its stub in the next; waiting for it could be waiting for us */
    "   JOIN parley_thread t ON t.id = u.num WHERE EXISTS (SELECT FROM made) ORDER BY u.num"
    "   FOR KEY SHARE OF t SKIP LOCKED"
    "  ON CONFLICT (thread) DO UPDATE SET seq = excluded.seq),"
    " stubs AS (UPDATE parley_stub s SET noted = true FROM unnest($6::int8[], $7::int8[])"
    "   AS u(num, seq) WHERE s.num = u.num AND s.seq = u.seq AND EXISTS (SELECT FROM made))"
    /* sent twice, and the first one did it */
    " SELECT EXISTS (SELECT FROM made) OR EXISTS (SELECT FROM parley_checkpoint"
    "  WHERE number = $1::int8 AND line = $3::bytea)";

const char *pg_erase_sql(int stmt)
{
    switch (stmt) {
    case PG_REMOVE: return remove_sql;
    case PG_TRIM: return trim_sql;
    case PG_CHECKPOINT: return checkpoint_sql;
    case PG_ERASE: return erase_sql;
    case PG_FORGET: return forget_sql;
    case PG_TOLD: return "UPDATE parley_checkpoint SET told = true WHERE number = $1::int8";
    }
    return pg_said_sql(stmt);
}

/* --- words that go ------------------------------------------------------------------------ */

static void trim_facts(const struct store_edit *x, struct params *p)
{
    const struct store_trim *t = x->trim;

    param_array(p, PG_INT8);
    for (size_t i = 0; i < t->count; i++) param_array_int(p, (int64_t)t->facts[i].seq);
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < t->count; i++) param_array_bytes(p, t->facts[i].body);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < t->count; i++) param_array_int(p, fact_sum(x->log, &t->facts[i]));
    param_array_end(p);
}

static void trim_approvals(const struct store_edit *x, struct params *p)
{
    const struct store_approval *a = x->trim->approvals;
    size_t                       count = x->trim->approval_count;

    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < count; i++) param_array_bytes(p, a[i].id);
    param_array_end(p);
    param_array(p, PG_TEXT);
    for (size_t i = 0; i < count; i++) param_array_bytes(p, a[i].status);
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < count; i++) param_array_bytes(p, a[i].body);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < count; i++) param_array_int(p, approval_sum(x->log, &a[i]));
    param_array_end(p);
}

void trim_params(const struct store_edit *x, struct params *p)
{
    const struct store_trim *t = x->trim;
    struct store_fact        note = t->note;
    uint8_t                  digest[CHAIN_LEN];

    note.seq = t->expected + 1;
    chain_digest(x->log, &note, digest);
    param_int(p, (int64_t)t->expected);
    param_bytes(p, t->title);
    param_bytes(p, t->count ? str_n((char *)digest, CHAIN_LEN) : STR_NONE);
    trim_facts(x, p);
    param_int(p, note.at_ms);
    param_int(p, fact_sum(x->log, &note));
    param_bytes(p, note.kind);
    param_bytes(p, or_empty(note.body));
    trim_approvals(x, p);
    param_int(p, t->kinds);
}

/* --- checkpoints ------------------------------------------------------------------------- */

static void head_params(const struct store_checkpoint *c, bool stubs, struct params *p)
{
    param_array(p, PG_INT8);
    for (size_t i = 0; i < c->head_count; i++)
        if (c->heads[i].stub == stubs) param_array_int(p, c->heads[i].num);
    param_array_end(p);
    param_array(p, PG_INT8);
    for (size_t i = 0; i < c->head_count; i++)
        if (c->heads[i].stub == stubs) param_array_int(p, (int64_t)c->heads[i].seq);
    param_array_end(p);
}

void checkpoint_params(const struct store_checkpoint *c, struct params *p)
{
    param_int(p, (int64_t)c->number);
    if (!c->line.ptr) return;
    param_int(p, c->at_ms);
    param_bytes(p, c->line);
    head_params(c, false, p);
    head_params(c, true, p);
}

enum err checkpoint_answer(const struct store_checkpoint *c, const PGresult *r)
{
    return !c->line.ptr || res_bool(r, 0, 0) ? OK : ERR_CONFLICT;
}

/* --- erasing ---------------------------------------------------------------------------- */

static void forget_params(const struct store_erase *x, struct params *p)
{
    param_bytes(p, x->owner);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < x->sum_count; i++) param_array_bytes(p, x->sums[i]);
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < x->row_count; i++) param_array_bytes(p, or_empty(x->rows[i].begins));
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < x->row_count; i++) param_array_bytes(p, or_empty(x->rows[i].ends));
    param_array_end(p);
    param_array(p, PG_BYTEA);
    for (size_t i = 0; i < x->row_count; i++) param_array_bytes(p, x->rows[i].holds);
    param_array_end(p);
    param_bytes(p, or_empty(x->kind));
    param_bytes(p, or_empty(x->own));
    param_bytes(p, or_empty(x->as));
    param_bytes(p, or_empty(x->body));
    param_bytes(p, x->by);
    param_bytes(p, or_empty(x->by_as));
    param_bytes(p, x->decided_by);
}

void erase_params(const struct store_erase *x, struct params *p)
{
    if (!x->num) {
        forget_params(x, p);
        return;
    }
    param_int(p, x->num);
    param_int(p, (int64_t)x->seq);
    param_bytes(p, x->owner);
    param_bytes(p, x->thread);
    param_bytes(p, x->body);
    param_int(p, x->at_ms);
}

enum err erase_answer(const struct store_erase *x, const PGresult *r)
{
    return !x->num || PQntuples(r) ? OK : ERR_CONFLICT;
}
