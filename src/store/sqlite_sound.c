/* sqlite_sound.c -- whether a server finds in its file what stands there.
 *
 * A walk goes from row to row; a server asks for an owner and a name, through an index. Somebody
 * who can write the file could leave a row for the one and hide it from the other: a name that is a
 * blob equals no text, and what an index lacks is not there. So the file is compared with what this
 * program makes and writes: its schema with that of an empty store in memory, each value with the
 * type of its column there, the indexes with their tables. A table or a column that a later step
 * adds (db_upgrades) is compared from then on without a word here. Tables and indexes that an
 * operator added are left alone. */
#include <stdio.h>

#include "store/sqlite_db.h"
#include "store/walk_int.h"

struct sounding {
    struct db      *d;    /* the file */
    struct db       made; /* what an empty one looks like */
    struct walk_at *at;
    const char     *table; /* that is looked at */
    bool            other; /* the file's schema is not that */
    struct arena    scratch;
};

/* Tables of ours; those of the indexes for searches keep no words and are made anew. */
#define TABLES                                                                                 \
    " FROM sqlite_schema s JOIN pragma_table_list l ON l.schema = 'main' AND l.type = 'table'" \
    " AND l.name = s.tbl_name"

static const char schema[] = "SELECT s.type, s.name, s.tbl_name, s.sql" TABLES;
static const char triggers[] = "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger'";

/* A query per table, which counts in each column the values of another type. A TEXT in a column for
 * a BLOB is none: it is read by its bytes and never compared, and earlier versions of `parley move`
 * wrote it. */
static const char types[] =
    "SELECT 'SELECT ' || group_concat('sum(typeof(t.\"' || c.name || '\") NOT IN (''' ||"
    " replace(lower(c.type), 'blob', 'blob'', ''text') || iif(c.\"notnull\", ''')) AS \"', ''', "
    "''null'')) AS \"') || c.name || '\"')"
    " || ' FROM \"' || s.name || '\" t NOT INDEXED', s.name" TABLES
    " JOIN pragma_table_info(s.name) c WHERE s.type = 'table' AND c.type <> '' GROUP BY s.name";

/* As the server asks (sqlite_write.c, W_THREAD). */
static const char unfound[] =
    "SELECT t.owner, t.name FROM thread t NOT INDEXED WHERE t.id IS NOT (SELECT x.id FROM thread x"
    " INDEXED BY thread_by_name WHERE x.owner = CAST(t.owner AS TEXT)"
    " AND x.name = CAST(t.name AS TEXT))";

static enum err tell(struct sounding *s, struct str sentence)
{
    bool on = sentence.ptr && s->at->w->fault(s->at->w, sentence);

    arena_reset(&s->scratch);
    return on ? OK : ERR_CLOSED;
}

static enum err each(struct sounding *s, struct db *d, const char *sql,
                     enum err (*row)(struct sounding *, sqlite3_stmt *))
{
    sqlite3_stmt *st = NULL;
    int           rc = sqlite3_prepare_v2(d->sql, sql, -1, &st, NULL);
    enum err      e = OK;

    while (!rc && !e && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        e = row(s, st);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    return e ? e : db_err(d, rc);
}

/* --- the schema ---------------------------------------------------------------------------- */

static enum err make(struct sounding *s)
{
    enum err e = db_err(&s->made, sqlite3_open(":memory:", &s->made.sql));

    for (int i = 0; i < DB_SCHEMA && !e; i++) e = db_exec(&s->made, db_upgrades[i]);
    return e;
}

static enum err on_made(struct sounding *s, sqlite3_stmt *made)
{
    struct str    type = db_text(made, 0), name = db_text(made, 1);
    sqlite3_stmt *st = NULL;
    int           rc = sqlite3_prepare_v2(s->d->sql,
                                          "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2"
                                                    " AND tbl_name = ?3 AND sql IS ?4",
                                          -1, &st, NULL);

    for (int i = 0; i < 4 && !rc; i++)
        rc = sqlite3_bind_value(st, i + 1, sqlite3_column_value(made, i));
    if (!rc) rc = sqlite3_step(st);
    sqlite3_finalize(st);
    if (rc != SQLITE_DONE) return db_err(s->d, rc);
    s->other = true;
    return tell(s, arena_printf(&s->scratch,
                                "the " STR_FMT " " STR_FMT " of the file is not as parley makes it",
                                STR_ARG(type), STR_ARG(name)));
}

static enum err on_trigger(struct sounding *s, sqlite3_stmt *st)
{
    struct str name = db_text(st, 0), table = db_text(st, 1);

    return tell(s, arena_printf(&s->scratch,
                                "a trigger " STR_FMT " works on the table " STR_FMT
                                " of the file, and parley makes none",
                                STR_ARG(name), STR_ARG(table)));
}

/* --- what stands there ----------------------------------------------------------------------- */

/* The columns are named in the query's answer. */
static enum err on_counts(struct sounding *s, sqlite3_stmt *st)
{
    enum err e = OK;

    for (int i = 0; i < sqlite3_column_count(st) && !e; i++) {
        int64_t n = sqlite3_column_int64(st, i);
        if (n)
            e = tell(s, arena_printf(&s->scratch,
                                     "the table %s has %lld values in %s that are of another type "
                                     "than parley writes: a server does not find what they name",
                                     s->table, (long long)n, sqlite3_column_name(st, i)));
    }
    return e;
}

static enum err on_page(struct sounding *s, sqlite3_stmt *st)
{
    struct str said = db_text(st, 0);

    if (str_is(said, "ok")) return OK;
    return tell(
        s, arena_printf(&s->scratch, "the table %s is damaged: " STR_FMT, s->table, STR_ARG(said)));
}

static enum err on_table(struct sounding *s, sqlite3_stmt *made)
{
    const char *query = db_text(made, 0).ptr;
    char        pages[128];

    s->table = db_text(made, 1).ptr;
    must(query && s->table); /* made of our own schema */
    snprintf(pages, sizeof pages, "PRAGMA integrity_check(\"%s\")", s->table);
    enum err e = each(s, s->d, query, on_counts);
    return e ? e : each(s, s->d, pages, on_page);
}

static enum err on_unfound(struct sounding *s, sqlite3_stmt *st)
{
    struct str owner = db_text(st, 0), name = db_text(st, 1);

    return tell(s, arena_printf(&s->scratch,
                                "conversation " STR_FMT " of " STR_FMT
                                ": it is in the file, and a server that asks for it does not find "
                                "it",
                                STR_ARG(name), STR_ARG(owner)));
}

enum err db_sound(struct db *d, struct walk_at *at)
{
    struct sounding s = { .d = d, .at = at };
    enum err        e;

    arena_init(&s.scratch, 0);
    e = make(&s);
    if (!e) e = each(&s, &s.made, schema, on_made);
    if (!e) e = each(&s, d, triggers, on_trigger);
    if (!e) e = each(&s, &s.made, types, on_table);
    /* it could not be asked otherwise, and that was told */
    if (!e && !s.other) e = each(&s, d, unfound, on_unfound);
    db_close(&s.made);
    arena_done(&s.scratch);
    return e;
}
