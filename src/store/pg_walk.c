/* pg_walk.c -- walking through a database: a connection of its own, one transaction that only
 * reads, and a cursor, so that the answer never has to fit into memory. */
#include "store/pg.h"
#include "store/walk_int.h"

#define OF_LOG " ($1::bytea IS NULL OR t.owner = $1) AND ($2::bytea IS NULL OR t.name = $2)"

static const char checkpoints[] = "DECLARE walk CURSOR FOR SELECT number, at_ms, line FROM"
                                  " parley_checkpoint ORDER BY number";
static const char logs[] =
    "DECLARE walk CURSOR FOR SELECT t.id, t.owner, t.name, t.title, t.state, t.created_ms,"
    " t.updated_ms, t.seq, parley_head(t.links), f.seq, f.at_ms, f.kind, f.body, f.sum, f.link,"
    " n.seq, f.digest FROM parley_thread t LEFT JOIN parley_noted n ON n.thread = t.id"
    " LEFT JOIN parley_fact f ON f.thread = t.id WHERE" OF_LOG " ORDER BY t.id, f.seq";
static const char stubs[] =
    "DECLARE walk CURSOR FOR SELECT t.num, t.log, t.owner, t.name, t.created_ms, t.removed_ms,"
    " t.seq, t.kind, t.body, t.digests, t.head, t.noted FROM parley_stub t WHERE" OF_LOG
    " ORDER BY t.num";
static const char strays[] =
    "DECLARE walk CURSOR FOR SELECT false, x.thread, min(x.seq), count(*) FROM parley_fact x"
    " WHERE NOT EXISTS (SELECT FROM parley_thread t WHERE t.id = x.thread) GROUP BY x.thread"
    " UNION ALL SELECT true, x.thread, x.seq, 1 FROM parley_noted x"
    " WHERE NOT EXISTS (SELECT FROM parley_thread t WHERE t.id = x.thread)";
static const char rows[] = "DECLARE walk CURSOR FOR SELECT key, body FROM parley_session WHERE"
                           " substr(key, 1, length($1::bytea)) = $1";
/* What changes or hides rows between the server and its tables. A trigger that does not fire is
 * none. */
static const char faults[] =
    "DECLARE walk CURSOR FOR WITH tables AS (SELECT oid, relname::text AS name, relrowsecurity"
    "  FROM pg_class WHERE relname LIKE 'parley\\_%' AND relkind = 'r' AND"
    "  pg_table_is_visible(oid)),"
    " made(name, tab) AS (VALUES ('parley_tie', 'parley_fact'), ('parley_unsay', 'parley_fact'),"
    "  ('parley_unsay', 'parley_thread'), ('parley_unnote', 'parley_thread')),"
    " there AS (SELECT g.tgname::text AS name, t.name AS tab, p.proname::text AS does"
    "  FROM pg_trigger g JOIN tables t ON t.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid"
    "  WHERE NOT g.tgisinternal AND g.tgenabled IN ('O', 'A'))"
    " SELECT 'the trigger ' || coalesce(there.name, made.name) || ' of the table ' ||"
    "  coalesce(there.tab, made.tab) || ' of the database is not as parley makes it'"
    "  FROM there FULL JOIN made ON made.name = there.name AND made.tab = there.tab AND"
    "   made.name = there.does WHERE made.name IS NULL OR there.name IS NULL"
    " UNION SELECT 'a rule ' || r.rulename || ' works on the table ' || t.name ||"
    "  ' of the database, and parley makes none' FROM pg_rewrite r JOIN tables t ON"
    "  t.oid = r.ev_class"
    " UNION SELECT 'row-level security hides rows of the table ' || name || ' of the database, and"
    " parley has none' FROM tables WHERE relrowsecurity ORDER BY 1";
static const char counts[] =
    "DECLARE walk CURSOR FOR SELECT (SELECT count(*) FROM parley_thread t WHERE" OF_LOG
    "), (SELECT count(*) FROM parley_stub t WHERE" OF_LOG ")";

static bool tell_counts(struct walk_at *at, const PGresult *r, int i)
{
    at->w->logs = (uint64_t)res_int(r, i, 0);
    at->w->stubs = (uint64_t)res_int(r, i, 1);
    return true;
}

static bool tell_checkpoint(struct walk_at *at, const PGresult *r, int i)
{
    return !at->w->checkpoint ||
           at->w->checkpoint(at->w, (uint64_t)res_int(r, i, 0), res_int(r, i, 1), res_str(r, i, 2));
}

static bool tell_row(struct walk_at *at, const PGresult *r, int i)
{
    struct walk_log   l = { .log = { res_str(r, i, 1), res_str(r, i, 2) },
                            .title = res_str(r, i, 3),
                            .state = res_str(r, i, 4),
                            .created_ms = res_int(r, i, 5),
                            .updated_ms = res_int(r, i, 6),
                            .seq = (uint64_t)res_int(r, i, 7),
                            .head = res_str(r, i, 8),
                            .noted = (uint64_t)res_int(r, i, 15) };
    struct store_fact f = { (uint64_t)res_int(r, i, 9), res_int(r, i, 10), res_str(r, i, 11),
                            res_str(r, i, 12) };
    struct chain_mark m = { .link = res_str(r, i, 14),
                            .summed = !PQgetisnull(r, i, 13),
                            .sum = res_int(r, i, 13),
                            .digest = res_str(r, i, 16) };

    return walk_row(at, res_int(r, i, 0), &l, PQgetisnull(r, i, 9) ? NULL : &f, m);
}

static bool tell_stub(struct walk_at *at, const PGresult *r, int i)
{
    struct walk_stub s = { .num = res_int(r, i, 0),
                           .name = res_str(r, i, 1),
                           .log = { res_str(r, i, 2), res_str(r, i, 3) },
                           .created_ms = res_int(r, i, 4),
                           .removed_ms = res_int(r, i, 5),
                           .seq = (uint64_t)res_int(r, i, 6),
                           .kind = res_str(r, i, 7),
                           .body = res_str(r, i, 8),
                           .digests = res_str(r, i, 9),
                           .head = res_str(r, i, 10),
                           .noted = res_bool(r, i, 11) };
    return !at->w->stub || at->w->stub(at->w, &s);
}

static bool tell_stray(struct walk_at *at, const PGresult *r, int i)
{
    struct walk_stray s = { .noted = res_bool(r, i, 0),
                            .thread = res_int(r, i, 1),
                            .first = (uint64_t)res_int(r, i, 2),
                            .count = (uint64_t)res_int(r, i, 3) };
    return !at->w->stray || at->w->stray(at->w, &s);
}

static bool tell_kept(struct walk_at *at, const PGresult *r, int i)
{
    return at->w->row(at->w, res_str(r, i, 0), res_str(r, i, 1));
}

static bool tell_fault(struct walk_at *at, const PGresult *r, int i)
{
    return at->w->fault(at->w, res_str(r, i, 0));
}

static enum err refuse(PGconn *c, struct arena *a, struct str *why)
{
    return pg_refuse(why, arena_printf(a, "the database could not be read: %s", PQerrorMessage(c)),
                     ERR_IO);
}

static bool is_good(PGresult *r)
{
    ExecStatusType t = PQresultStatus(r);
    return t == PGRES_TUPLES_OK || t == PGRES_COMMAND_OK;
}

static bool run(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    bool      good = is_good(r);
    PQclear(r);
    return good;
}

static bool declare(PGconn *c, const char *sql, const struct store_walk *w)
{
    struct str  first = sql == rows ? w->rows : w->owner;
    const char *values[2] = { first.ptr, w->thread.ptr };
    int         lens[2] = { (int)first.len, (int)w->thread.len }, forms[2] = { 1, 1 };
    bool        whole = sql == checkpoints || sql == strays || sql == faults;
    int         count = whole ? 0 : sql == rows ? 1 : 2;
    PGresult   *r = PQexecParams(c, sql, count, NULL, values, lens, forms, 1);
    bool        good = is_good(r);
    PQclear(r);
    return good;
}

static enum err each(PGconn *c, const char *sql, struct walk_at *at,
                     bool (*tell)(struct walk_at *, const PGresult *, int), struct arena *a,
                     struct str *why)
{
    bool more = true;

    if (!declare(c, sql, at->w)) return refuse(c, a, why);
    while (more) {
        PGresult *r = PQexecParams(c, "FETCH 200 FROM walk", 0, NULL, NULL, NULL, NULL, 1);
        if (!is_good(r)) {
            PQclear(r);
            return refuse(c, a, why);
        }
        more = PQntuples(r) > 0;
        for (int i = 0; i < PQntuples(r); i++)
            if (!tell(at, r, i)) {
                PQclear(r);
                return ERR_CLOSED;
            }
        PQclear(r);
    }
    return run(c, "CLOSE walk") ? OK : refuse(c, a, why);
}

static enum err walk(PGconn *c, struct walk_at *at, struct arena *a, struct str *why)
{
    bool     all = !at->w->owner.ptr && !at->w->thread.ptr;
    enum err e;

    if (!run(c, "SET statement_timeout = 0") || !run(c, "SET enable_seqscan = on") ||
        !run(c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        return refuse(c, a, why);
    e = each(c, counts, at, tell_counts, a, why);
    if (!e && all) e = each(c, checkpoints, at, tell_checkpoint, a, why);
    if (!e) e = each(c, logs, at, tell_row, a, why);
    if (!e && !walk_rows_end(at)) e = ERR_CLOSED;
    if (!e) e = each(c, stubs, at, tell_stub, a, why);
    if (!e && all && at->w->stray) e = each(c, strays, at, tell_stray, a, why);
    if (!e && at->w->row) e = each(c, rows, at, tell_kept, a, why);
    if (!e && all && at->w->fault) e = each(c, faults, at, tell_fault, a, why);
    return e;
}

static enum err check_version(PGconn *c, struct arena *a, struct str *why)
{
    int      version;
    enum err e = pg_schema_version(c, &version, a, why);

    if (e || version == PG_SCHEMA) return e;
    return pg_refuse(why,
                     version > PG_SCHEMA
                         ? STR("the database was made by a newer version of parley")
                         : STR("the database has no tables of this version of parley; `parley "
                               "serve` makes them when it starts"),
                     ERR_UNSUPPORTED);
}

enum err pg_walk(struct str url, struct walk_at *at, struct arena *a, struct str *why)
{
    struct pg_place place = { 0 };
    PGconn         *c = NULL;
    enum err        e = pg_reach(&place, url, a, &c, why);

    if (!e) e = check_version(c, a, why);
    if (!e) e = walk(c, at, a, why);
    PQfinish(c);
    pg_place_done(&place);
    return e;
}
