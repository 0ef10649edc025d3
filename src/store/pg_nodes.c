/* pg_nodes.c -- the nodes of a database, for somebody who is none: `parley nodes`. */
#include <stdio.h>

#include "store/pg.h"

static enum err refuse(const struct pg_place *at, PGconn *c, struct arena *a, struct str *why)
{
    char words[256];

    pg_words(at->conninfo, PQerrorMessage(c), words, sizeof words);
    return pg_refuse(why, arena_printf(a, "the nodes of %s cannot be listed: %s", at->shown, words),
                     ERR_IO);
}

/* The answer's texts go with it: what is kept is copied. */
static enum err keep(struct store_list *l, struct arena *a, struct store_row **rows, size_t *count)
{
    *rows = arena_array(a, l->count ? l->count : 1, sizeof **rows);
    if (!*rows) return ERR_NOMEM;
    for (size_t i = 0; i < l->count; i++) {
        struct store_row *row = &(*rows)[i];
        *row = l->rows[i];
        row->node = arena_dup(a, row->node);
        row->url = arena_dup(a, row->url);
        row->version = arena_dup(a, row->version);
    }
    *count = l->count;
    return a->failed ? ERR_NOMEM : OK;
}

/* A node of this version that looks here has none beside it, or cannot start. */
static enum err check_schema(const struct pg_place *at, PGconn *c, struct arena *a, struct str *why)
{
    int      version;
    enum err e = pg_schema_version(c, &version, a, why);

    if (e || version == PG_SCHEMA) return e;
    return pg_refuse(
        why,
        arena_printf(a, "no node of %s is alive; its schema is %d, this program's is %d: %s",
                     at->shown, version, PG_SCHEMA,
                     version > PG_SCHEMA
                         ? "start a program of the version that made it, or a newer one"
                         : "`parley serve` of this version upgrades it when it starts"),
        ERR_UNSUPPORTED);
}

static enum err list(const struct pg_place *at, PGconn *c, struct arena *a, struct store_row **rows,
                     size_t *count, struct str *why)
{
    char              room[PG_SQL_ROOM];
    struct store_list l = { .kind = STORE_NODES };
    PGresult         *r = PQexec(c, "SELECT to_regclass('parley_node') IS NOT NULL");
    bool              made = PQresultStatus(r) == PGRES_TUPLES_OK && PQgetvalue(r, 0, 0)[0] == 't';
    enum err          e;

    PQclear(r);
    if (!made)
        return pg_refuse(
            why,
            arena_printf(a,
                         "%s has no tables of parley; the first node that starts makes "
                         "them",
                         at->shown),
            ERR_NOT_FOUND);
    r = PQexecParams(c, pg_sql(PG_NODES, room), 0, NULL, NULL, NULL, NULL, 1);
    arena_init(&l.arena, 0);
    e = PQresultStatus(r) == PGRES_TUPLES_OK ? OK : refuse(at, c, a, why);
    if (!e) e = list_rows(&l, r);
    if (!e && !l.count) e = check_schema(at, c, a, why);
    if (!e) e = keep(&l, a, rows, count);
    arena_done(&l.arena);
    PQclear(r);
    return e;
}

enum err pg_nodes_of(struct str url, struct arena *a, struct store_row **rows, size_t *count,
                     struct str *why)
{
    struct pg_place at = { 0 };
    PGconn         *c = NULL;
    enum err        e = pg_reach(&at, url, a, &c, why);

    if (!e) {
        e = list(&at, c, a, rows, count, why);
        PQfinish(c);
    }
    pg_place_done(&at);
    return e;
}
