/* pg_move.c -- a database as a side of a move. See store_move.h.
 *
 * A source is read in one transaction: one state of it; its table of nodes is locked meanwhile, so
 * that none comes in. A target is marked by a table, parley_move, which a node looks for when it
 * registers; the table of nodes is locked while the mark is made, so that a node is either seen by
 * the move or sees the mark.
 */
#include <stdio.h>

#include "store/pg.h"
#include "store/store_move.h"

/* One move at a time into a database; any number that nobody else in it uses. */
#define ONE_MOVE "SELECT pg_try_advisory_lock(7233962)"
/* five seconds: longer than a batch takes */
#define LOCK_TRIES    50
#define LOCK_PAUSE_MS 100
/* A move may take long; a lock must not. */
#define SETTINGS "SET statement_timeout = 0; SET lock_timeout = '5s'"
#define PREFIX   "parley_"

struct database {
    struct move_side base;
    struct pg_place  at;
    PGconn          *conn;
    struct params    params;
};
#define OURS(side) LIST_ITEM(side, struct database, base)

/* --- asking ------------------------------------------------------------------------------ */

static enum err fail(struct database *d)
{
    char words[320];

    pg_words(d->at.conninfo, PQerrorMessage(d->conn), words, sizeof words);
    return move_fail(&d->base,
                     arena_printf(d->base.arena, "%s: %s", d->at.shown,
                                  *words ? words : "the connection was lost"),
                     ERR_IO);
}

static bool is_good(const PGresult *r)
{
    return PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK;
}

static enum err exec(struct database *d, const char *sql)
{
    PGresult *r = PQexec(d->conn, sql);
    enum err  e = is_good(r) ? OK : fail(d);

    PQclear(r);
    return e;
}

/* With d->params; in binary. */
static enum err ask(struct database *d, struct str sql, PGresult **out)
{
    const char *values[PG_PARAMS_MAX];
    int         lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
    PGresult   *r;

    if (!sql.ptr || d->params.bytes.err) return move_fail(&d->base, STR_NONE, ERR_NOMEM);
    for (int i = 0; i < d->params.count; i++) {
        values[i] = d->params.null[i] ? NULL : d->params.bytes.ptr + d->params.at[i];
        lengths[i] = (int)d->params.len[i];
        formats[i] = 1;
    }
    r = PQexecParams(d->conn, sql.ptr, d->params.count, NULL, values, lengths, formats, 1);
    if (is_good(r)) {
        *out = r;
        return OK;
    }
    PQclear(r);
    return fail(d);
}

/* The first value of the first row; 0 when there is none. */
static enum err number(struct database *d, struct str sql, int64_t *out)
{
    PGresult *r;
    enum err  e;

    params_clear(&d->params);
    e = ask(d, sql, &r);
    if (e) return e;
    *out = PQntuples(r) ? res_int(r, 0, 0) : 0;
    PQclear(r);
    return OK;
}

/* --- reading ------------------------------------------------------------------------------- */

static enum err take(struct database *d, const struct move_table *t, struct str sql,
                     struct move_batch *b)
{
    PGresult *r;
    enum err  e = ask(d, sql, &r);

    if (e) return e;
    for (int row = 0; row < PQntuples(r); row++, b->count++)
        for (unsigned i = 0; t->types[i]; i++) {
            struct move_value v = { 0 };
            if (move_is_number(t, i)) v.n = res_int(r, row, (int)i);
            else v.s = res_str(r, row, (int)i);
            move_keep(b, t, i, v);
        }
    PQclear(r);
    return b->arena.failed ? move_fail(&d->base, STR_NONE, ERR_NOMEM) : OK;
}

static enum err read_batch(struct move_side *s, const struct move_table *t,
                           const struct move_row *after, struct move_batch *b)
{
    struct database *d = OURS(s);

    params_clear(&d->params);
    for (unsigned i = 0; after && i < t->key; i++) {
        if (move_is_number(t, i)) param_int(&d->params, after->v[i].n);
        else param_bytes(&d->params, after->v[i].s);
    }
    return take(d, t, move_select(t, PREFIX, after != NULL, &b->arena), b);
}

static enum err last(struct move_side *s, const struct move_table *t, struct move_batch *b)
{
    params_clear(&OURS(s)->params);
    return take(OURS(s), t, move_select_last(t, PREFIX, &b->arena), b);
}

static enum err count(struct move_side *s, const struct move_table *t, uint64_t *out)
{
    int64_t  n = 0;
    enum err e = number(OURS(s), move_select_count(t, PREFIX, s->arena), &n);

    *out = (uint64_t)n;
    return e;
}

/* --- writing --------------------------------------------------------------------------------- */

/* What a database's row has beside a file's: the claim's epoch, the counter's slot. */
static const char *const more[MOVE_LISTS][2] = {
    { ", epoch", ", 0" }, { ", epoch", ", 0" }, { "", "" }, { "", "" },
    { ", slot", ", 0" },  { ", slot", ", 0" },  { "", "" }, { "", "" },
    { "", "" },           { "", "" },           { "", "" },
};

static const char *type_of(char letter)
{
    return strchr("izf", letter) ? "int8" : letter == 'w' ? "text" : "bytea";
}

static struct str insert_sql(const struct move_table *t, struct arena *a)
{
    const char *const *extra = more[t - move_tables];
    struct str         arrays = STR(""), names = STR(""), values = STR("");
    unsigned           own = t->pg.own ? t->pg.own : t->own;

    for (unsigned i = 0; i < t->own; i++) {
        const char *comma = i ? ", " : "";
        arrays = arena_printf(a, STR_FMT "%s$%u::%s[]", STR_ARG(arrays), comma, i + 1,
                              type_of(t->types[i]));
        names = arena_printf(a, STR_FMT "%sc%u", STR_ARG(names), comma, i);
        if (i < own)
            values = arena_printf(a, STR_FMT "%sc%u%s", STR_ARG(values), comma, i,
                                  t->types[i] == 'f' ? " <> 0" : "");
    }
    return arena_printf(a,
                        "WITH x AS (SELECT * FROM unnest(" STR_FMT ") AS u(" STR_FMT
                        ")), main AS (INSERT INTO " PREFIX
                        "%s(%s%s) OVERRIDING SYSTEM VALUE SELECT " STR_FMT "%s FROM x) %s",
                        STR_ARG(arrays), STR_ARG(names), t->table,
                        t->pg.columns ? t->pg.columns : t->columns, extra[0], STR_ARG(values),
                        extra[1], t->pg.also ? t->pg.also : "SELECT 1");
}

static void column(struct params *p, const struct move_table *t, const struct move_batch *b,
                   unsigned i)
{
    char letter = t->types[i];

    param_array(p, move_is_number(t, i) ? PG_INT8 : letter == 'w' ? PG_TEXT : PG_BYTEA);
    for (size_t row = 0; row < b->count; row++) {
        if (move_is_number(t, i)) param_array_int(p, b->rows[row].v[i].n);
        else param_array_bytes(p, b->rows[row].v[i].s);
    }
    param_array_end(p);
}

static enum err write_batch(struct move_side *s, const struct move_table *t,
                            const struct move_batch *b)
{
    struct database *d = OURS(s);
    struct arena     a;
    PGresult        *r = NULL;
    enum err         e;

    arena_init(&a, 0);
    params_clear(&d->params);
    for (unsigned i = 0; i < t->own; i++) column(&d->params, t, b, i);
    e = ask(d, insert_sql(t, &a), &r);
    PQclear(r);
    arena_done(&a);
    return e;
}

/* --- the mark --------------------------------------------------------------------------------- */

static enum err nobody_there(struct database *d)
{
    PGresult *r =
        PQexec(d->conn, "SELECT id, url FROM parley_node WHERE until > clock_timestamp()");
    enum err e = is_good(r) ? OK : fail(d);

    if (!e && PQntuples(r))
        e = move_fail(
            &d->base,
            arena_printf(d->base.arena,
                         "%d nodes work with %s (%s %s); stop them first, a node that was "
                         "killed counts for three seconds more",
                         PQntuples(r), d->at.shown, PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1)),
            ERR_BUSY);
    PQclear(r);
    return e;
}

static enum err is_empty(struct database *d)
{
    for (int i = 0; i < MOVE_LISTS; i++) {
        uint64_t n = 0;
        enum err e = count(&d->base, &move_tables[i], &n);
        if (e) return e;
        if (n)
            return move_fail(&d->base,
                             arena_printf(d->base.arena,
                                          "%s is not empty (%s: %llu), and a move adds to nothing "
                                          "that is there: name an empty database",
                                          d->at.shown, move_tables[i].name, (unsigned long long)n),
                             ERR_EXISTS);
    }
    return ERR_NOT_FOUND;
}

static enum err marked(struct move_side *s, struct arena *a, struct str *source, struct str *state)
{
    struct database *d = OURS(s);
    int64_t          there = 0;
    PGresult        *r;
    enum err         e =
        number(d, STR("SELECT (to_regclass('parley_move') IS NOT NULL)::int::int8"), &there);

    if (e) return e;
    if (!there) return is_empty(d);
    r = PQexec(d->conn, "SELECT source, state FROM parley_move");
    e = is_good(r) && PQntuples(r) == 1 ? OK : fail(d);
    if (!e) {
        *source = arena_dup(a, str_c(PQgetvalue(r, 0, 0)));
        *state = arena_dup(a, str_c(PQgetvalue(r, 0, 1)));
        if (a->failed) e = move_fail(s, STR_NONE, ERR_NOMEM);
    }
    PQclear(r);
    return e;
}

/* Ends the transaction that began with the lock (open_target). */
static enum err mark(struct move_side *s, struct str source, struct str state)
{
    struct database *d = OURS(s);
    PGresult        *r = NULL;
    enum err         e = exec(d, "CREATE TABLE IF NOT EXISTS parley_move(source text, state text);"
                                         " DELETE FROM parley_move");

    if (e) return e;
    params_clear(&d->params);
    param_bytes(&d->params, source);
    param_bytes(&d->params, state);
    e = ask(d, STR("INSERT INTO parley_move VALUES ($1::text, $2::text)"), &r);
    PQclear(r);
    return e ? e : exec(d, "COMMIT");
}

static enum err empty(struct move_side *s)
{
    return exec(OURS(s), "DROP TABLE parley_move; TRUNCATE parley_thread, parley_fact,"
                         " parley_request, parley_approval, parley_tool, parley_used,"
                         " parley_key, parley_stock, parley_stock_log, parley_session, parley_stub,"
                         " parley_checkpoint, parley_noted, parley_trimmed, parley_said,"
                         " parley_said_to");
}

/* New rows are numbered behind those that came. */
static enum err finish(struct move_side *s)
{
    return exec(OURS(s), "BEGIN;"
                         " SELECT setval(pg_get_serial_sequence('parley_thread', 'id'),"
                         "  (SELECT coalesce(max(id), 0) + 1 FROM parley_thread), false);"
                         " SELECT setval(pg_get_serial_sequence('parley_approval', 'num'),"
                         "  (SELECT coalesce(max(num), 0) + 1 FROM parley_approval), false);"
                         " SELECT setval(pg_get_serial_sequence('parley_stock', 'num'),"
                         "  (SELECT coalesce(max(num), 0) + 1 FROM parley_stock), false);"
                         " SELECT setval(pg_get_serial_sequence('parley_stub', 'num'),"
                         "  (SELECT coalesce(max(num), 0) + 1 FROM parley_stub), false);"
                         " DROP TABLE parley_move; COMMIT");
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void close_side(struct move_side *s)
{
    struct database *d = OURS(s);

    PQfinish(d->conn);
    pg_place_done(&d->at);
    params_done(&d->params);
    mem_free(d);
}

static enum err open_source(struct database *d)
{
    int64_t  version = 0;
    enum err e =
        number(d, STR("SELECT (to_regclass('parley_schema') IS NOT NULL)::int::int8"), &version);

    if (!e && !version)
        return move_fail(&d->base,
                         arena_printf(d->base.arena, "%s has no tables of parley", d->at.shown),
                         ERR_NOT_FOUND);
    if (!e) e = pg_schema(d->conn, d->base.arena, &d->base.why);
    if (!e) e = exec(d, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    if (!e) e = exec(d, "LOCK TABLE parley_node IN SHARE MODE");
    return e ? e : nobody_there(d);
}

/* A move that was killed a moment ago keeps its lock until the server has noticed, which takes as
 * long as the statement it was at: calling it again at once must not be told of "another move". */
static bool is_only_move(struct database *d)
{
    for (int tries = 0;; tries++) {
        PGresult *r = PQexec(d->conn, ONE_MOVE);
        bool      good = is_good(r), mine = good && PQgetvalue(r, 0, 0)[0] == 't';

        PQclear(r);
        if (mine || !good || tries == LOCK_TRIES) return mine;
        uv_sleep(LOCK_PAUSE_MS);
    }
}

static enum err open_target(struct database *d)
{
    enum err e = pg_schema(d->conn, d->base.arena, &d->base.why);

    if (e) return e;
    if (!is_only_move(d))
        return move_fail(
            &d->base, arena_printf(d->base.arena, "another move into %s is going on", d->at.shown),
            ERR_BUSY);
    e = exec(d, "BEGIN; LOCK TABLE parley_node IN SHARE ROW EXCLUSIVE MODE");
    return e ? e : nobody_there(d);
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

enum err pg_move_open(struct str url, bool target, struct arena *a, struct move_side **out,
                      struct str *why)
{
    struct database *d = mem_alloc(sizeof *d);
    enum err         e;

    if (!d) return ERR_NOMEM;
    d->base = (struct move_side){ .ops = &ops, .arena = a };
    params_init(&d->params);
    e = pg_reach(&d->at, url, a, &d->conn, &d->base.why);
    if (!e) e = exec(d, SETTINGS);
    if (!e) e = target ? open_target(d) : open_source(d);
    if (e) {
        *why = d->base.why;
        close_side(&d->base);
        return e;
    }
    d->base.shown = arena_dup(a, str_c(d->at.shown));
    *out = &d->base;
    return OK;
}
