/* test_upgrade.c -- a store of every earlier version, with conversations in it, is opened by this
 * one: all of it is there, it goes on, and its record is as it was recorded.
 *
 * An old store is made by the steps that led to its version (which are never changed) and filled
 * with what the first version had columns for. */
#include <sqlite3.h>
#include <stdio.h>

#include "audit/verify.h"
#include "pg_help.h"
#include "store/pg.h"
#include "store/rows.h"
#include "store/sqlite_db.h"
#include "store/sum.h"
#include "store_help.h"
#include "test.h"

static char url[512];

static void run(bool pg, const char *sql)
{
    sqlite3 *db;

    if (pg) {
        pg_run(url, sql);
        return;
    }
    REQUIRE(sqlite3_open(url + strlen("sqlite:"), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

/* Two conversations of ann: one of two facts that waits for her, and one that is over. */
static void fill(bool pg)
{
    static const struct {
        int         thread;
        const char *name;
        uint64_t    seq;
        const char *body;
    } facts[] = { { 1, "waits", 1, "one" }, { 1, "waits", 2, "two" }, { 2, "over", 1, "three" } };
    struct store_approval asked = { .id = STR("conf-1"),
                                    .call = STR("c1"),
                                    .tool = STR("pay"),
                                    .status = STR("pending"),
                                    .body = STR("{}"),
                                    .requested_ms = 17,
                                    .expires_ms = 99 };
    struct log_name       waits = { STR("ann"), STR("waits") };
    char                  sql[512];

    sum_init();
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO %sthread(owner, name, title, state, seq, created_ms, updated_ms%s)"
                 " VALUES('ann', '%s', 'A title', '%s', %d, 10, 20%s)",
                 pg ? "parley_" : "", pg ? ", epoch" : "", i ? "over" : "waits",
                 i ? "idle" : "waiting", i ? 1 : 2, pg ? ", 1" : "");
        run(pg, sql);
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        struct store_fact f = { facts[i].seq, facts[i].seq == 1 ? 10 : 20, STR("note"),
                                str_c(facts[i].body) };
        long long         sum = fact_sum((struct log_name){ STR("ann"), str_c(facts[i].name) }, &f);
        if (pg)
            snprintf(sql, sizeof sql,
                     "INSERT INTO parley_fact VALUES(%d, %d, %d, 1, %lld, 'note', '%s')",
                     facts[i].thread, (int)f.seq, (int)f.at_ms, sum, facts[i].body);
        else
            snprintf(
                sql, sizeof sql,
                "INSERT INTO fact(thread, seq, at_ms, kind, body) VALUES(%d, %d, %d, 'note', '%s')",
                facts[i].thread, (int)f.seq, (int)f.at_ms, facts[i].body);
        run(pg, sql);
    }
    snprintf(sql, sizeof sql,
             "INSERT INTO %sapproval(owner, id, thread, call, tool, status, body, requested_ms,"
             " expires_ms%s) VALUES('ann', 'conf-1', 1, 'c1', 'pay', 'pending', '{}', 17, 99%s",
             pg ? "parley_" : "", pg ? ", sum" : "", pg ? ", " : ")");
    if (pg)
        snprintf(sql + strlen(sql), sizeof sql - strlen(sql), "%lld)",
                 (long long)approval_sum(waits, &asked));
    run(pg, sql);
    run(pg, pg ? "INSERT INTO parley_request VALUES('ann', 'req-1', 1, 'run-1')"
               : "INSERT INTO request VALUES('ann', 'req-1', 1, 'run-1')");
    run(pg, pg ? "INSERT INTO parley_tool VALUES('pay', 0, 3, 1)"
               : "INSERT INTO tool VALUES('pay', 3, 1)");
}

static void make(bool pg, int version)
{
    char sql[64];

    for (int i = 0; i < version; i++) run(pg, pg ? pg_upgrades[i] : db_upgrades[i]);
    snprintf(sql, sizeof sql,
             pg ? "UPDATE parley_schema SET version = %d" : "PRAGMA user_version=%d", version);
    run(pg, sql);
    fill(pg);
    if (!pg && version > 2) /* since then titles are found by their letters */
        run(pg, "INSERT INTO title_gram(rowid, title) SELECT id, title FROM thread");
}

static uint64_t problems(struct fix *f, struct verify *v)
{
    struct sign_keys none = { 0 };
    struct str       why = STR("");

    *v = (struct verify){ .keys = &none };
    REQUIRE(verify_store(v, str_c(url), &f->arena, &why) == OK);
    return v->problems;
}

static void is_all_there(struct fix *f)
{
    struct verify v;

    CHECK_STR(fix_read(f, "ann", "waits", 0), "1 note one;2 note two;");
    CHECK_STR(fix_read(f, "ann", "over", 0), "1 note three;");
    CHECK(str_find(
              fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              STR("waits")) >= 0);
    CHECK_STR(fix_list(f,
                       (struct store_list){
                           .kind = STORE_THREADS, .owner = STR("ann"), .search = STR("nowhere") },
                       NULL),
              "");
    CHECK(str_find(fix_list(f,
                            (struct store_list){ .kind = STORE_APPROVALS,
                                                 .everybody = true,
                                                 .status = STR("pending") },
                            NULL),
                   STR("conf-1")) >= 0);
    CHECK(str_find(fix_list(f, (struct store_list){ .kind = STORE_DUE, .due_ms = 1000 }, NULL),
                   STR("conf-1")) >= 0);
    CHECK(str_find(fix_list(f,
                            (struct store_list){
                                .kind = STORE_REQUEST, .owner = STR("ann"), .id = STR("req-1") },
                            NULL),
                   STR("run-1")) >= 0);
    CHECK(str_find(fix_list(f, (struct store_list){ .kind = STORE_TOOLS }, NULL), STR("pay 3 1")) >=
          0);
    CHECK(problems(f, &v) == 0 && v.logs == 2 && v.before == 3);
}

/* It is written to, deleted from and written to again. */
static void goes_on(struct fix *f)
{
    struct verify v;

    CHECK(fix_append(f, "ann", "waits", 2, "four") == OK);
    CHECK(fix_append(f, "ann", "new", 0, "five") == OK);
    CHECK_STR(fix_read(f, "ann", "waits", 0), "1 note one;2 note two;3 note four;");
    CHECK(fix_remove(f, "ann", "waits", "{\"calls\":[]}", 30) == OK);
    CHECK(fix_remove(f, "ann", "over", "{\"calls\":[]}", 31) == OK);
    CHECK(problems(f, &v) == 0 && v.logs == 1 && v.stubs == 2 && v.before == 0);
}

static void try_versions(bool pg, int newest)
{
    for (int version = 1; version < newest; version++) {
        struct fix f;

        if (pg) pg_url(url, sizeof url);
        else snprintf(url, sizeof url, "sqlite:%s/old-%d.db", test_dir(), version);
        make(pg, version);
        fix_init(&f);
        REQUIRE(fix_open(&f, url) == OK);
        is_all_there(&f);
        goes_on(&f);
        fix_done(&f);
    }
}

/* Of the version before the index of what was said: found at once by a walk, then by the index. */
static void try_said(bool pg, int version)
{
    struct store_list l = {
        .kind = STORE_THREADS, .owner = STR("ann"), .search = STR("ZEBRA"), .said = true
    };
    struct store_fact zebra = { 7, 20, STR("message"), STR("{\"text\":\"a zebra\"}") };
    struct fix        f;
    char              sql[512];

    if (pg) pg_url(url, sizeof url);
    else snprintf(url, sizeof url, "sqlite:%s/unsaid.db", test_dir());
    make(pg, version);
    snprintf(sql, sizeof sql,
             "INSERT INTO parley_fact(thread, seq, at_ms, epoch, sum, kind, body) SELECT 2, n, 20,"
             " 1, %lld, 'message', convert_to('{\"text\":\"' || CASE n WHEN 7 THEN 'a zebra' ELSE"
             " 'hay' END || '\"}', 'UTF8') FROM generate_series(2, 3000) n",
             (long long)fact_sum((struct log_name){ STR("ann"), STR("over") }, &zebra));
    run(pg, pg ? sql
               : "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
                 " INSERT INTO fact(thread, seq, at_ms, kind, body) SELECT 2, i, 20, 'message',"
                 " '{\"text\":\"' || iif(i = 7, 'a zebra', 'hay') || '\"}' FROM n");
    run(pg, pg ? "UPDATE parley_thread SET seq = 3000 WHERE id = 2"
               : "UPDATE thread SET seq = 3000 WHERE id = 2");
    fix_init(&f);
    REQUIRE(fix_open(&f, url) == OK);
    CHECK_STR(fix_list(&f, l, NULL), "over 'A title' idle \"a zebra\";");
    fix_said_indexed(&f, "ann", 1000);
    CHECK_STR(fix_list(&f, l, NULL), "over 'A title' idle \"a zebra\";");
    CHECK(f.looked <= 1000);
    fix_done(&f);
}

TEST(what_was_said_before_an_upgrade_is_found_at_once_and_gets_into_the_index)
{
    try_said(false, 13);
    try_said(true, 11);
}

static int64_t letters(void)
{
    sqlite3      *db;
    sqlite3_stmt *st;
    int64_t       n;

    REQUIRE(sqlite3_open(url + strlen("sqlite:"), &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    REQUIRE(sqlite3_prepare_v2(db,
                               "SELECT count(*) FROM title_gram_data"
                               " WHERE instr(block, x'f0908d88') > 0",
                               -1, &st, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(st) == SQLITE_ROW);
    n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
    return n;
}

/* As the version before this left it: the index says that they are gone, and has them. */
TEST(letters_of_titles_that_were_deleted_before_an_upgrade_leave_the_file)
{
    struct fix f;

    snprintf(url, sizeof url, "sqlite:%s/untitled.db", test_dir());
    make(false, 14);
    run(false, "INSERT INTO title_gram(rowid, title) VALUES(3, 'a \U00010348 title')");
    run(false, "INSERT INTO title_gram(title_gram, rowid, title)"
               " VALUES('delete', 3, 'a \U00010348 title'); UPDATE store SET titled = 3");
    CHECK(letters() > 0);
    fix_init(&f);
    REQUIRE(fix_open(&f, url) == OK);
    while (letters()) uv_sleep(20);
    CHECK(
        str_find(fix_list(&f,
                          (struct store_list){
                              .kind = STORE_THREADS, .owner = STR("ann"), .search = STR("TITLE") },
                          NULL),
                 STR("waits")) >= 0);
    fix_done(&f);
}

TEST(a_file_of_every_earlier_version_is_opened_whole_and_goes_on)
{
    try_versions(false, DB_SCHEMA);
}

TEST(a_database_of_every_earlier_version_is_opened_whole_and_goes_on)
{
    try_versions(true, PG_SCHEMA);
}

TEST(a_backup_of_every_earlier_version_is_restored)
{
    for (int version = 1; version <= DB_SCHEMA; version++) {
        struct fix            f;
        struct store_restored did = { 0 };
        char                  to[512];

        snprintf(url, sizeof url, "sqlite:%s/backup-%d.db", test_dir(), version);
        snprintf(to, sizeof to, "sqlite:%s/restored-%d.db", test_dir(), version);
        make(false, version);
        fix_init(&f);
        CHECK(store_restore(str_c(to), str_c(url + strlen("sqlite:")), false, &f.arena, &did,
                            &f.why) == OK);
        CHECK(did.threads == 2);
        if (!did.threads) printf("    %d: " STR_FMT "\n", version, STR_ARG(f.why));
        REQUIRE(fix_open(&f, to) == OK);
        CHECK_STR(fix_read(&f, "ann", "waits", 0), "1 note one;2 note two;");
        fix_done(&f);
    }
}
