/* test_sqlite_wal.c -- the log written by the commit: the same bytes as SQLite would have written. */
#include <stdio.h>
#include <stdlib.h>

#include "store/sqlite_db.h"
#include "test.h"

static void run(sqlite3 *sql, const char *text)
{
    char *why = NULL;
    if (sqlite3_exec(sql, text, NULL, NULL, &why) != SQLITE_OK)
        test_failed(__FILE__, __LINE__, why ? why : "sqlite3_exec");
    sqlite3_free(why);
}

static sqlite3 *open_db(const char *path, const char *vfs)
{
    sqlite3 *sql = NULL;
    REQUIRE(sqlite3_open_v2(path, &sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs) ==
            SQLITE_OK);
    run(sql, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=8;"
             "PRAGMA wal_autocheckpoint=0");
    return sql;
}

static int64_t number(sqlite3 *sql, const char *text)
{
    sqlite3_stmt *st = NULL;
    REQUIRE(sqlite3_prepare_v2(sql, text, -1, &st, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(st) == SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

/* Small commits, one that is larger than the cache and so is written before it is committed, one that
 * is taken back, and a log that begins anew. */
static void work(sqlite3 *sql)
{
    run(sql, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT); CREATE INDEX i ON t(a)");
    for (int i = 0; i < 20; i++) run(sql, "INSERT INTO t(a, b) VALUES(hex(randomblob(9)), 'x')");
    run(sql, "BEGIN; WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 3000)"
             " INSERT INTO t(a, b) SELECT 'k' || k, hex(zeroblob(200)) FROM n");
    CHECK(number(sql, "SELECT count(*) FROM t WHERE a LIKE 'k%'") == 3000);
    run(sql, "UPDATE t SET b = 'y' WHERE id % 7 = 0; COMMIT");
    run(sql, "BEGIN; DELETE FROM t WHERE id % 2 = 0; ROLLBACK");
    run(sql, "PRAGMA wal_checkpoint(RESTART)");
    run(sql, "UPDATE t SET b = 'z' WHERE id % 11 = 0");
}

TEST(a_file_written_by_the_commit_is_whole_for_every_other_reader_at_once)
{
    char path[512];
    snprintf(path, sizeof path, "%s/wal.db", test_dir());
    sqlite3 *writer = open_db(path, db_wal_vfs()), *reader = open_db(path, NULL);
    work(writer);
    for (int i = 0; i < 50; i++) {
        run(writer, "INSERT INTO t(a, b) VALUES('last', 'one')");
        CHECK(number(reader, "SELECT count(*) FROM t WHERE a = 'last'") == i + 1);
    }
    CHECK(number(reader, "SELECT count(*) FROM t") == 3070);
    CHECK(number(reader, "SELECT count(*) FROM pragma_integrity_check WHERE"
                         " integrity_check = 'ok'") == 1);
    sqlite3_close(reader);
    sqlite3_close(writer);
}

/* What the disk has is what was committed: a copy of the files at any moment is a crash. */
TEST(a_crash_at_any_commit_finds_all_that_was_told_and_nothing_else)
{
    char path[512], command[2048], copy[512];
    snprintf(path, sizeof path, "%s/crash.db", test_dir());
    snprintf(copy, sizeof copy, "%s/crashed.db", test_dir());
    sqlite3 *writer = open_db(path, db_wal_vfs());
    run(writer, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)");
    for (int i = 1; i <= 12; i++) {
        run(writer, "INSERT INTO t(a) VALUES('told')");
        run(writer,
            "BEGIN; WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k <"
            " 2000) INSERT INTO t(a) SELECT hex(zeroblob(40)) || k FROM n");
        snprintf(command, sizeof command, "cp %s %s && cp %s-wal %s-wal && rm -f %s-shm", path,
                 copy, path, copy, copy);
        REQUIRE(system(command) == 0);
        run(writer, "ROLLBACK");
        sqlite3 *after = open_db(copy, NULL);
        CHECK(number(after, "SELECT count(*) FROM t") == i);
        sqlite3_close(after);
    }
    sqlite3_close(writer);
}
