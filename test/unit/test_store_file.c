/* test_store_file.c -- the store's files and the people who handle them: locks that are removed, a
 * backup put in place by hand, files taken away from under a running server. `parley restore` is in
 * test_store_restore.c, flipped bits are in test_store_damage.c.
 *
 * A crash is a copy of file and log taken while the store is open: what is on the disk at that
 * moment.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/fault.h"
#include "store_file_help.h"

/* --- one process per file ---------------------------------------------------------------- */

TEST(removing_the_lock_file_lets_nobody_in)
{
    struct fix f;

    file_new();
    file_begin(&f);
    REQUIRE(unlink(file_beside("-lock")) == 0);
    fix_refused(file_path, ERR_BUSY, "is used by another parley");
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    fix_done(&f);
}

TEST(a_second_opener_is_refused_through_a_hard_link_too)
{
    struct fix f;
    char       other[300];

    file_new();
    file_begin(&f);
    snprintf(other, sizeof other, "%s/by-another-name.db", test_dir());
    REQUIRE(link(file_path, other) == 0);
    fix_refused(other, ERR_BUSY, "is used by another parley");
    fix_done(&f);
}

/* --- file and log ------------------------------------------------------------------------- */

TEST(a_crash_leaves_file_and_log_that_belong_together)
{
    struct fix  f;
    static char crash[300];

    file_new();
    file_begin(&f);
    for (int round = 0; round < 4; round++) {
        char name[16];
        snprintf(name, sizeof name, "big-%d", round);
        file_say(&f, round * 3, round * 3 + 3);
        snprintf(crash, sizeof crash, "%s.crash-%d", file_path, round);
        file_copy(file_path, crash);
        file_copy(file_beside("-wal"), strcat(strcpy((char[320]){ 0 }, crash), "-wal"));
        file_fill(&f, name);
    }
    fix_done(&f);
    for (int round = 0; round < 4; round++) {
        snprintf(crash, sizeof crash, "%s.crash-%d", file_path, round);
        fix_init(&f);
        CHECK(fix_open(&f, crash) == OK);
        REQUIRE(f.store);
        CHECK(fix_append(&f, "ann", "t", (uint64_t)round * 3 + 3, "life goes on") == OK);
        fix_done(&f);
    }
}

TEST(a_backup_made_by_vacuum_is_not_mixed_with_the_log_of_a_crash)
{
    file_backup_over_crash("VACUUM INTO '%s'");
    fix_refused(file_path, ERR_CONFLICT, "do not belong together");
    fix_refused(file_path, ERR_CONFLICT, "parley restore");
}

TEST(a_copied_backup_is_not_mixed_with_the_log_of_a_crash)
{
    struct fix f;

    file_backup_over_crash("");
    fix_refused(file_path, ERR_CONFLICT, "do not belong together");
    CHECK(file_there(file_beside("-wal")));
    REQUIRE(unlink(file_beside("-wal")) == 0); /* as the sentence says */
    file_begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    fix_done(&f);
}

TEST(a_log_whose_file_is_missing_is_not_thrown_away)
{
    file_backup_over_crash("");
    REQUIRE(unlink(file_path) == 0);
    fix_refused(file_path, ERR_CONFLICT, "is missing or empty");
    CHECK(file_there(file_beside("-wal")));
    CHECK(!file_there(file_path));
}

/* --- files taken away --------------------------------------------------------------------- */

static void expect_gone_and_back(const char *end)
{
    struct fix f;
    char       name[300];

    file_new();
    file_begin(&f);
    file_say(&f, 0, 1);
    snprintf(name, sizeof name, "%s", file_beside(end));
    REQUIRE(rename(name, file_beside(".away")) == 0);
    CHECK(fix_append(&f, "ann", "t", 1, "nobody would find it") == ERR_GONE);
    CHECK(store_health(f.store) == ERR_GONE);
    CHECK(str_find(store_problem(f.store), STR("removed or replaced")) >= 0);
    CHECK(fix_append(&f, "ann", "t", 2, "nor this") == ERR_GONE);
    CHECK(fix_edit(&f, "ann", "t", "nor this", false) == ERR_GONE);
    REQUIRE(rename(file_beside(".away"), name) == 0);
    while (store_health(f.store) != OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(fix_append(&f, "ann", "new", 0, "and it goes on") == OK);
    fix_done(&f);
}

TEST(a_store_whose_file_was_taken_away_saves_nothing_until_it_is_back)
{
    expect_gone_and_back("");
}
TEST(a_store_whose_log_was_taken_away_saves_nothing_until_it_is_back)
{
    expect_gone_and_back("-wal");
}

TEST(a_store_whose_file_was_replaced_notices_also_when_nobody_writes)
{
    struct fix f;

    file_new();
    file_begin(&f);
    file_say(&f, 0, 1);
    file_copy(file_path, file_beside(".copy"));
    REQUIRE(rename(file_beside(".copy"), file_path) == 0);
    while (store_health(f.store) == OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(store_health(f.store) == ERR_GONE);
    fix_refused(file_path, ERR_BUSY, "is used by another parley");
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;");
    fix_done(&f);
}

static char sql_text[600];

/* `how` writes over a file of the open store in its place. */
static void expect_overwritten(void (*how)(void), bool refused_after)
{
    struct fix f;

    file_new();
    file_begin(&f);
    file_say(&f, 0, 3);
    snprintf(sql_text, sizeof sql_text, "VACUUM INTO '%s'", file_beside(".backup"));
    file_sql(file_path, sql_text);
    file_copy(file_path, file_beside(".early"));
    file_fill(&f, "big");
    file_say(&f, 3, 6);
    how();
    while (store_health(f.store) == OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(store_health(f.store) == ERR_GONE);
    CHECK(fix_append(&f, "ann", "t", 6, "nobody would find it") == ERR_GONE);
    fix_done(&f);
    CHECK(file_there(file_beside("-wal"))); /* nothing was moved over what is there now */
    if (refused_after) fix_refused(file_path, ERR_CONFLICT, "Nothing was changed");
}

static void vacuumed_over(void)
{
    file_copy(file_beside(".backup"), file_path);
}
static void copied_over(void)
{
    file_copy(file_beside(".early"), file_path);
}
static void cut_file(void)
{
    REQUIRE(truncate(file_path, 0) == 0);
}
static void cut_file_short(void)
{
    REQUIRE(truncate(file_path, 8192) == 0);
}
static void cut_log(void)
{
    REQUIRE(truncate(file_beside("-wal"), 0) == 0);
}

TEST(a_backup_written_over_the_open_file_is_noticed_and_not_mixed_with_its_log)
{
    expect_overwritten(vacuumed_over, true);
}
TEST(an_old_copy_written_over_the_open_file_is_noticed_and_not_mixed_with_its_log)
{
    expect_overwritten(copied_over, true);
}
TEST(an_open_file_that_was_cut_to_nothing_is_noticed)
{
    expect_overwritten(cut_file, true);
}
TEST(an_open_file_that_was_cut_short_is_noticed)
{
    expect_overwritten(cut_file_short, false);
}
TEST(a_log_that_was_cut_while_it_was_open_is_noticed)
{
    expect_overwritten(cut_log, false);
}

TEST(checkpoints_and_changes_by_another_program_are_no_overwriting)
{
    struct fix f;

    file_new();
    file_begin(&f);
    for (int i = 0; i < 12; i += 4) {
        file_say(&f, i, i + 2);
        file_sql(file_path, "PRAGMA wal_checkpoint(PASSIVE)");
        file_say(&f, i + 2, i + 3);
        file_sql(file_path, "PRAGMA wal_checkpoint(TRUNCATE)");
        file_say(&f, i + 3, i + 4);
        file_sql(file_path, "UPDATE thread SET title = 'by hand'");
        file_sql(file_path, "PRAGMA wal_checkpoint(RESTART)");
        if (i == 4) file_fill(&f, "big");
        if (i == 4) file_sql(file_path, "VACUUM");
    }
    CHECK(fix_append(&f, "ann", "t", 12, "and it goes on") == OK);
    CHECK(store_health(f.store) == OK);
    fix_done(&f);
    file_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 13, "after a restart too") == OK);
    fix_done(&f);
}

/* --- a checkpoint that comes to half --------------------------------------------------------- */

/* SQLite's own word: without the log, this file says more pages than it has. */
static bool is_shorter_than_it_says(void)
{
    struct arena  a;
    sqlite3      *db;
    sqlite3_stmt *st = NULL;
    bool          refused;

    arena_init(&a, 0);
    REQUIRE(sqlite3_open_v2(db_immutable_uri(&a, file_path).ptr, &db,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK);
    refused = sqlite3_prepare_v2(db, "SELECT * FROM store", -1, &st, NULL) == SQLITE_CORRUPT;
    sqlite3_finalize(st);
    sqlite3_close(db);
    arena_done(&a);
    return refused;
}

/* The newest state at this moment is read from here on. */
static void read_on(sqlite3 *reader)
{
    sqlite3_exec(reader, "ROLLBACK", NULL, NULL, NULL);
    REQUIRE(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM thread", NULL, NULL, NULL) ==
            SQLITE_OK);
}

TEST(a_checkpoint_that_readers_stop_again_and_again_is_no_overwriting)
{
    struct fix f;
    sqlite3   *reader;
    int        short_ones = 0, n = 0;
    char       words[301];

    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = 0;
    file_new();
    file_begin(&f);
    REQUIRE(sqlite3_open(file_path, &reader) == SQLITE_OK);
    for (int round = 0; round < 3; round++) {
        file_fill(&f, round == 0 ? "a" : round == 1 ? "b" : "c");
        read_on(reader);
        for (int i = 0; i < 120; i++, n++) {
            REQUIRE(fix_append(&f, "ann", "t", (uint64_t)n, words) == OK);
            short_ones += is_shorter_than_it_says();
            if (i % 2) read_on(reader);
        }
        CHECK(store_health(f.store) == OK);
        sqlite3_exec(reader, "ROLLBACK", NULL, NULL, NULL);
    }
    CHECK(short_ones > 0); /* else this test has tried nothing */
    sqlite3_close(reader);
    CHECK(fix_append(&f, "ann", "t", (uint64_t)n, "and it goes on") == OK);
    fix_done(&f);
}

TEST(a_start_on_a_full_disk_is_told_as_full_and_heals)
{
    struct fix f;

    file_new();
    file_begin(&f);
    file_say(&f, 0, 200); /* more than the file has place for */
    file_copy(file_path, file_beside(".crash"));
    file_copy(file_beside("-wal"), file_beside(".crash-wal"));
    fix_done(&f);
    strcat(file_path, ".crash");
    /* in the midst of moving the log into the file; the index of the log takes the first eight */
    fault_order("write:11+=ENOSPC");
    file_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 200, "no room") == ERR_FULL);
    CHECK(store_health(f.store) == ERR_FULL);
    CHECK(is_shorter_than_it_says());
    fault_order("");
    while (store_health(f.store) != OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    file_say(&f, 200, 202);
    fix_done(&f);
}

TEST(a_new_store_on_a_disk_that_fills_at_any_write_is_never_gone)
{
    struct fix f;
    enum err   e = ERR_FULL;
    char       order[48];
    int        opened = 0;

    for (int n = 1; e != OK && n < 2000; n++) {
        file_new();
        fix_init(&f);
        snprintf(order, sizeof order, "write:%d+=ENOSPC", n);
        fault_order(order);
        if (fix_open(&f, file_path) == OK) {
            e = fix_append(&f, "ann", "t", 0, "0");
            CHECK(e == OK || e == ERR_FULL);
            opened++;
            fault_order("");
            CHECK(fix_append(&f, "ann", "t", e ? 0 : 1, "there is room again") == OK);
            CHECK(store_health(f.store) == OK);
        }
        fault_order("");
        fix_done(&f);
    }
    CHECK(e == OK && opened > 10); /* it came to its end, through the checkpoint of the start */
}
