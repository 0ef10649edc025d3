/* test_audit_rows.c -- every column and every row that the record is told from: changed behind the
 * program's back and judged, in every store. What is not found stands here by its name. */
#include <stdio.h>

#include "audit_help.h"

static const char *const tables[] = { "thread", "fact", "stub", "noted", "checkpoint" };
#define TABLES (sizeof tables / sizeof *tables)

/* --- every column --------------------------------------------------------------------------- */

/* What becomes of a column that somebody else changes. */
enum told {
    FOUND,    /* verify says so */
    UNTOLD,   /* neither export nor show nor verify tells anything from it */
    IDENTITY, /* the table's own number: it cannot be changed in a database, and is not told */
};
static const struct column {
    const char *table, *name, *to;
    enum told   told;
} columns[] = {
    { "thread", "id", "id + 100", IDENTITY },
    { "thread", "owner", "'eve'", FOUND },
    { "thread", "name", "'eve' || name", FOUND },
    { "thread", "title", "'evil'", UNTOLD },
    { "thread", "state", "'idle'", UNTOLD },
    { "thread", "seq", "seq + 1", FOUND },
    { "thread", "created_ms", "created_ms + 1", FOUND },
    { "thread", "updated_ms", "updated_ms + 1", UNTOLD },
    { "thread", "hidden", "NOT hidden", UNTOLD },
    { "thread", "source", "'mcp'", UNTOLD },
    { "thread", "grp", "'g'", UNTOLD },
    { "thread", "links", "NULL", FOUND },
    { "thread", "holder", "'n'", UNTOLD },
    { "thread", "epoch", "epoch + 1", UNTOLD },
    { "fact", "thread", "thread + 100", FOUND },
    { "fact", "seq", "seq + 100", FOUND },
    { "fact", "at_ms", "at_ms + 1", FOUND },
    { "fact", "kind", "'decided'", FOUND },
    { "fact", "body", "'twp'", FOUND },
    { "fact", "sum", "sum + 1", FOUND },
    { "fact", "link", "NULL", FOUND },
    { "fact", "digest", "link", FOUND },
    { "fact", "epoch", "epoch + 1", UNTOLD },
    { "stub", "num", "num + 100", IDENTITY },
    { "stub", "log", "'0123456789abcdef0123456789abcdef'", FOUND },
    { "stub", "owner", "'eve'", FOUND },
    { "stub", "name", "'eve'", FOUND },
    { "stub", "created_ms", "created_ms + 1", FOUND },
    { "stub", "removed_ms", "removed_ms + 1", FOUND },
    { "stub", "seq", "seq + 1", FOUND },
    { "stub", "kind", "'x'", FOUND },
    { "stub", "digests", "head", FOUND },
    { "stub", "head", "digests", FOUND },
    { "stub", "body", "'{}'", FOUND },
    { "stub", "noted", "NOT noted", FOUND }, /* of what is not noted; else it is noted again */
    { "noted", "thread", "thread + 100", FOUND },
    { "noted", "seq", "seq + 1", FOUND },
    { "checkpoint", "number", "number + 1", FOUND },
    { "checkpoint", "at_ms", "at_ms + 1", FOUND },
    { "checkpoint", "line", "'x'", FOUND },
    { "checkpoint", "told", "NOT told", UNTOLD },
};
#define COLUMNS (sizeof columns / sizeof *columns)

static bool is_sqlite(void)
{
    return str_starts(str_c(store_url), STR("sqlite:"));
}

/* `sqlite` and `pg` are formats that take the table, %1$s, and the column, %2$s. */
static void change(const struct column *c, const char *sqlite, const char *pg)
{
    char one[512], other[512];

    snprintf(one, sizeof one, sqlite, c->table, c->name, c->to);
    snprintf(other, sizeof other, pg, c->table, c->name, c->to);
    suite_sql(one, other);
}

static void save(const char *table)
{
    change(&(struct column){ .table = table }, "CREATE TABLE saved_%1$s AS SELECT * FROM %1$s",
           "CREATE TABLE saved_%1$s AS SELECT * FROM parley_%1$s");
    /* the last column of its table, which the database makes by itself from another */
    if (!is_sqlite())
        change(&(struct column){ .table = table }, "",
               "ALTER TABLE saved_%1$s DROP COLUMN IF EXISTS changed");
}

static void put_back(const struct column *c)
{
    change(c, "DELETE FROM %1$s; INSERT INTO %1$s SELECT * FROM saved_%1$s",
           "DELETE FROM parley_%1$s");
    if (!is_sqlite())
        change(c, "", "INSERT INTO parley_%1$s OVERRIDING SYSTEM VALUE SELECT * FROM saved_%1$s");
}

/* Does the store have it? The kinds of stores differ in a few. */
static bool is_there(struct fix *f, const struct column *c)
{
    struct str table = arena_printf(&f->arena, is_sqlite() ? "%s" : "parley_%s", c->table);
    struct str all = suite_columns(f, table.ptr);

    return str_find(all, arena_printf(&f->arena, " %s ", c->name)) >= 0;
}

/* Each column of a table by itself: changed, judged, put back. */
static void try_columns(struct fix *f, const char *table, struct str kept)
{
    save(table);
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        if (strcmp(c->table, table) != 0 || c->told == IDENTITY || !is_there(f, c)) continue;
        change(
            c, "UPDATE %1$s SET %2$s = %3$s WHERE rowid = (SELECT max(rowid) FROM %1$s)",
            "UPDATE parley_%1$s SET %2$s = %3$s WHERE ctid = (SELECT max(ctid) FROM parley_%1$s)");
        bool found = audit_problems(f, kept) > 0;
        CHECK(found == (c->told == FOUND));
        if (found != (c->told == FOUND)) printf("    %s.%s\n", c->table, c->name);
        put_back(c);
    }
    CHECK(audit_problems(f, kept) == 0);
}

static struct str stub_name(struct fix *f)
{
    char name[CHAIN_NAME + 1];

    chain_name((struct log_name){ STR("ann"), STR("w") }, 5, name);
    return arena_dup(&f->arena, str_c(name));
}

STORE_TEST(every_column_that_the_record_tells_from_is_covered_without_a_checkpoint)
{
    audit_begin(f);
    audit_say(f, "t", 0, "one", 1);
    audit_say(f, "t", 1, "two", 2);
    audit_say(f, "w", 0, "words", 5);
    CHECK(fix_remove(f, "ann", "w", "{\"calls\":[1]}", 10) == OK);
    try_columns(f, "thread", STR_NONE);
    try_columns(f, "fact", STR_NONE);
    try_columns(f, "stub", STR_NONE);
    sign_keys_done(&keys);
}

STORE_TEST(every_column_of_an_erased_conversation_is_covered)
{
    struct str name;

    audit_begin(f);
    name = stub_name(f);
    audit_say(f, "w", 0, "words", 5);
    CHECK(fix_remove(f, "ann", "w", "{\"calls\":[1]}", 10) == OK);
    CHECK(fix_erase(f, (struct store_erase){ .num = 1,
                                             .seq = 2,
                                             .owner = STR("erased-x"),
                                             .thread = name,
                                             .body = STR("{\"calls\":[1],\"created_ms\":5}"),
                                             .at_ms = 11 }) == OK);
    try_columns(f, "stub", STR_NONE);
    sign_keys_done(&keys);
}

STORE_TEST(every_column_of_checkpoints_and_of_what_they_noted_is_covered)
{
    audit_prepare(f);
    try_columns(f, "checkpoint", last);
    try_columns(f, "noted", last);
    try_columns(f, "thread", last);
    try_columns(f, "fact", last);
    sign_keys_done(&keys);
}

STORE_TEST(no_column_of_these_tables_is_forgotten_above)
{
    for (size_t t = 0; t < TABLES; t++) {
        struct str table = arena_printf(&f->arena, is_sqlite() ? "%s" : "parley_%s", tables[t]);
        struct str rest = str_from(suite_columns(f, table.ptr), 1), name;
        while (str_split(&rest, ' ', &name) && name.len) {
            bool known = false;
            for (size_t i = 0; i < COLUMNS; i++)
                known |= strcmp(columns[i].table, tables[t]) == 0 && str_is(name, columns[i].name);
            CHECK(known);
            if (!known) printf("    %s." STR_FMT "\n", tables[t], STR_ARG(name));
        }
    }
}

/* --- every type -----------------------------------------------------------------------------

 * A file takes a value of any type in any column, and a blob equals no text: what has one for a
 * name is not found by it. (A database refuses that.) */

/* The table's own number, of which the file itself sees to it that it is one. */
static bool is_number_of(struct fix *f, const char *table, struct str column)
{
    return suite_ask_file(arena_printf(&f->arena,
                                       "SELECT count(*) FROM pragma_table_info('%s') WHERE pk AND"
                                       " type = 'INTEGER' AND name = '" STR_FMT "'",
                                       table, STR_ARG(column))
                              .ptr) > 0;
}

static void try_types(struct fix *f, const char *table)
{
    struct str rest = str_from(suite_columns(f, table), 1), name;

    save(table);
    while (str_split(&rest, ' ', &name) && name.len) {
        struct column c = { .table = table, .name = arena_dup(&f->arena, name).ptr };
        if (is_number_of(f, table, name)) continue;
        change(&c,
               "UPDATE %1$s SET %2$s = CASE typeof(%2$s) WHEN 'blob' THEN 1"
               " ELSE CAST(ifnull(%2$s, '') AS BLOB) END WHERE rowid = (SELECT max(rowid) FROM"
               " %1$s)",
               "");
        bool found = audit_problems(f, last) > 0;
        CHECK(found);
        if (!found) printf("    %s.%s\n", table, c.name);
        put_back(&c);
    }
    CHECK(audit_problems(f, last) == 0);
}

STORE_TEST(a_value_of_another_type_is_found_in_every_column)
{
    if (!is_sqlite()) return;
    audit_prepare(f);
    CHECK(fix_remove(f, "ann", "u", "{\"calls\":[]}", 10) == OK);
    for (size_t t = 0; t < TABLES; t++) try_types(f, tables[t]);
    sign_keys_done(&keys);
}

/* What keeps a server from what stands in the file, how that is told, and how it is undone. */
#define BY_NAME "CREATE UNIQUE INDEX thread_by_name ON thread(owner, name)"
static const struct hiding {
    const char *what, *sql, *told, *undo;
} hidings[] = {
    { "whose it is as a blob", "UPDATE thread SET owner = CAST(owner AS BLOB) WHERE name = 't'",
      "conversation t of ann: it is in the file, and a server that asks for it does not find it;",
      "UPDATE thread SET owner = CAST(owner AS TEXT)" },
    { "how it is called as a blob", "UPDATE thread SET name = CAST(name AS BLOB) WHERE name = 't'",
      "conversation t of ann: it is in the file, and a server that asks for it does not find it;",
      "UPDATE thread SET name = CAST(name AS TEXT)" },
    { "an index that lacks it",
      "DROP INDEX thread_by_name;" BY_NAME " WHERE name <> 't';"
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '" BY_NAME "'"
      " WHERE name = 'thread_by_name'",
      "conversation t of ann: it is in the file, and a server that asks for it does not find it;",
      "DROP INDEX thread_by_name;" BY_NAME },
    { "another index that lacks it: no list has it",
      "DROP INDEX thread_by_change;"
      "CREATE INDEX thread_by_change ON thread(owner, source, updated_ms, id) WHERE name <> 't';"
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
      " 'CREATE INDEX thread_by_change ON thread(owner, source, updated_ms, id)'"
      " WHERE name = 'thread_by_change'",
      "the table thread is damaged: row 1 missing from index thread_by_change;",
      "DROP INDEX thread_by_change;"
      "CREATE INDEX thread_by_change ON thread(owner, source, updated_ms, id)" },
    { "no index", "DROP INDEX thread_by_name",
      "the index thread_by_name of the file is not as parley makes it;", BY_NAME },
    { "names that are equal to what they are not",
      "DROP INDEX thread_by_name;"
      "CREATE UNIQUE INDEX thread_by_name ON thread(owner, name COLLATE NOCASE)",
      "the index thread_by_name of the file is not as parley makes it;",
      "DROP INDEX thread_by_name;" BY_NAME },
    { "a trigger",
      "CREATE TRIGGER gone AFTER INSERT ON fact BEGIN DELETE FROM fact WHERE rowid = new.rowid;"
      " END",
      "a trigger gone works on the table fact of the file, and parley makes none;",
      "DROP TRIGGER gone" },
};

STORE_TEST(what_a_server_would_not_find_in_its_file_is_told_by_its_name)
{
    if (!is_sqlite()) return;
    audit_prepare(f);
    for (size_t i = 0; i < sizeof hidings / sizeof *hidings; i++) {
        suite_sql(hidings[i].sql, "");
        CHECK(audit_problems(f, last) > 0);
        bool told = str_find(said, str_c(hidings[i].told)) >= 0;
        CHECK(told);
        if (!told) printf("    %s: " STR_FMT "\n", hidings[i].what, STR_ARG(said));
        suite_sql(hidings[i].undo, "");
        CHECK(audit_problems(f, last) == 0);
    }
    sign_keys_done(&keys);
}

#define PASS                                                                                    \
    "CREATE OR REPLACE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; " \
    "END';"
static const struct hiding meddlings[] = {
    { "a trigger",
      PASS "CREATE TRIGGER gone BEFORE INSERT ON parley_fact FOR EACH ROW EXECUTE FUNCTION pass()",
      "the trigger gone of the table parley_fact of the database is not as parley makes it;",
      "DROP TRIGGER gone ON parley_fact" },
    { "a trigger of ours that does not fire",
      "ALTER TABLE parley_thread DISABLE TRIGGER parley_unsay",
      "the trigger parley_unsay of the table parley_thread of the database is not as parley makes "
      "it;",
      "ALTER TABLE parley_thread ENABLE TRIGGER parley_unsay" },
    { "a trigger of ours that does something else",
      PASS
      "ALTER TRIGGER parley_tie ON parley_fact RENAME TO was; ALTER TABLE parley_fact DISABLE "
      "TRIGGER was;"
      "CREATE TRIGGER parley_tie AFTER INSERT ON parley_fact FOR EACH ROW EXECUTE FUNCTION pass()",
      "the trigger parley_tie of the table parley_fact of the database is not as parley makes it;",
      "DROP TRIGGER parley_tie ON parley_fact; ALTER TRIGGER was ON parley_fact RENAME TO "
      "parley_tie;"
      "ALTER TABLE parley_fact ENABLE TRIGGER parley_tie" },
    { "a rule", "CREATE RULE gone AS ON INSERT TO parley_stub DO ALSO NOTHING",
      "a rule gone works on the table parley_stub of the database, and parley makes none;",
      "DROP RULE gone ON parley_stub" },
    { "a policy", "ALTER TABLE parley_thread ENABLE ROW LEVEL SECURITY",
      "row-level security hides rows of the table parley_thread of the database, and parley has "
      "none;",
      "ALTER TABLE parley_thread DISABLE ROW LEVEL SECURITY" },
};

STORE_TEST(what_works_on_the_tables_of_a_database_is_told_by_its_name)
{
    if (is_sqlite()) return;
    audit_prepare(f);
    for (size_t i = 0; i < sizeof meddlings / sizeof *meddlings; i++) {
        suite_sql("", meddlings[i].sql);
        CHECK(audit_problems(f, last) == 1);
        CHECK_STR(said, meddlings[i].told);
        suite_sql("", meddlings[i].undo);
        CHECK(audit_problems(f, last) == 0);
    }
    sign_keys_done(&keys);
}

STORE_TEST(what_an_operator_or_a_move_made_of_the_file_is_no_problem)
{
    if (!is_sqlite()) return;
    audit_prepare(f);
    suite_sql("CREATE TABLE mine(x); INSERT INTO mine VALUES(1), ('a'), (x'00');"
              /* as earlier versions of `parley move` wrote them */
              "UPDATE fact SET link = CAST(link AS TEXT);"
              "UPDATE thread SET links = CAST(links AS TEXT);"
              "CREATE INDEX fact_by_time ON fact(at_ms); CREATE VIEW titles AS SELECT title FROM"
              " thread; ANALYZE",
              "");
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

/* --- every row ------------------------------------------------------------------------------ */

/* What somebody who can write the store does to whole rows; what is found against the store's own
 * checkpoints and the newest of them that was kept. */
static const struct deed {
    const char *what;
    bool        found;
    const char *sqlite, *pg;
} deeds[] = {
    { "a checkpoint renumbered", true, "UPDATE checkpoint SET number = 7 WHERE number = 2",
      "UPDATE parley_checkpoint SET number = 7 WHERE number = 2" },
    { "the first checkpoint taken away", true, "DELETE FROM checkpoint WHERE number = 1",
      "DELETE FROM parley_checkpoint WHERE number = 1" },
    { "the last checkpoint taken away", true, "DELETE FROM checkpoint WHERE number = 3",
      "DELETE FROM parley_checkpoint WHERE number = 3" },
    { "the one in the middle taken away", true,
      "DELETE FROM checkpoint WHERE number = 2; UPDATE checkpoint SET number = 2 WHERE number = 3",
      "WITH x AS (DELETE FROM parley_checkpoint WHERE number = 2)"
      " UPDATE parley_checkpoint SET number = 9 WHERE number = 3" },
    { "two checkpoints swapped", true,
      "UPDATE checkpoint SET line = (SELECT c.line FROM checkpoint c WHERE c.number = 3 -"
      " checkpoint.number) WHERE number < 3",
      "UPDATE parley_checkpoint x SET line = (SELECT c.line FROM parley_checkpoint c WHERE"
      " c.number = 3 - x.number) WHERE number < 3" },
    { "the last checkpoint there twice", true,
      "INSERT INTO checkpoint SELECT 4, at_ms, line, told FROM checkpoint WHERE number = 3",
      "INSERT INTO parley_checkpoint SELECT 4, at_ms, line, told FROM parley_checkpoint WHERE"
      " number = 3" },
    { "a conversation's row taken away", true, "DELETE FROM thread WHERE name = 't'",
      "DELETE FROM parley_thread WHERE name = 't'" },
    { "a conversation's row there twice", true,
      "INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms, links)"
      " SELECT owner, name || '2', title, state, seq, created_ms, updated_ms, links FROM thread"
      " WHERE name = 't'",
      "INSERT INTO parley_thread(owner, name, title, state, seq, created_ms, updated_ms, links,"
      " holder, epoch) SELECT owner, name || '2'::bytea, title, state, seq, created_ms, updated_ms,"
      " links, holder, epoch FROM parley_thread WHERE name = 't'" },
    { "the facts of two conversations swapped", true,
      "UPDATE fact SET thread = -thread; UPDATE fact SET thread = (SELECT sum(id) FROM thread WHERE"
      " name IN ('v', 'x')) + thread WHERE -thread IN (SELECT id FROM thread WHERE name IN ('v',"
      " 'x')); UPDATE fact SET thread = -thread WHERE thread < 0",
      "UPDATE parley_fact x SET body = y.body, sum = y.sum, link = y.link FROM parley_fact y WHERE"
      " x.body IN ('third', 'fourth') AND y.body IN ('third', 'fourth') AND x.thread <> y.thread" },
    { "the first fact taken away", true, "DELETE FROM fact WHERE body = 'one'",
      "DELETE FROM parley_fact WHERE body = 'one'" },
    { "a fact in the middle taken away", true, "DELETE FROM fact WHERE body = 'two'",
      "DELETE FROM parley_fact WHERE body = 'two'" },
    { "the last fact taken away", true, "DELETE FROM fact WHERE body = 'three'",
      "DELETE FROM parley_fact WHERE body = 'three'" },
    { "the last fact there twice", true,
      "INSERT INTO fact(thread, seq, at_ms, kind, body, sum, link) SELECT thread, 4, at_ms, kind,"
      " body, sum, link FROM fact WHERE body = 'three'",
      "INSERT INTO parley_fact(thread, seq, at_ms, epoch, kind, body, sum, link) SELECT thread, 4,"
      " at_ms, epoch, kind, body, sum, link FROM parley_fact WHERE body = 'three'" },
    { "a fact before the first", true,
      "INSERT INTO fact(thread, seq, at_ms, kind, body, sum, link) SELECT thread, 0, at_ms, kind,"
      " body, sum, link FROM fact WHERE body = 'one'",
      "INSERT INTO parley_fact(thread, seq, at_ms, epoch, kind, body, sum, link) SELECT thread, 0,"
      " at_ms, epoch, kind, body, sum, link FROM parley_fact WHERE body = 'one'" },
    { "two facts swapped", true,
      "UPDATE fact SET seq = -seq WHERE body IN ('one', 'two');"
      "UPDATE fact SET seq = 3 + seq WHERE seq < 0",
      "UPDATE parley_fact SET body = CASE body WHEN 'one' THEN 'two'::bytea ELSE 'one' END, sum ="
      " (SELECT y.sum FROM parley_fact y WHERE y.body IN ('one', 'two') AND y.seq ="
      " 3 - parley_fact.seq) WHERE body IN ('one', 'two')" },
    { "a stub taken away", true, "DELETE FROM stub", "DELETE FROM parley_stub" },
    { "a note taken away: it is noted again", false, "DELETE FROM noted",
      "DELETE FROM parley_noted" },
};

STORE_TEST(whatever_is_done_to_whole_rows_is_found)
{
    audit_prepare(f);
    audit_say(f, "x", 0, "fourth", 1);
    CHECK(fix_remove(f, "ann", "u", "{\"calls\":[]}", 10) == OK);
    audit_note(f);
    for (size_t t = 0; t < TABLES; t++) save(tables[t]);
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        suite_sql(deeds[i].sqlite, deeds[i].pg);
        bool found = audit_problems(f, last) > 0;
        CHECK(found == deeds[i].found);
        if (found != deeds[i].found) printf("    %s\n", deeds[i].what);
        for (size_t t = 0; t < TABLES; t++) put_back(&(struct column){ .table = tables[t] });
    }
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}
