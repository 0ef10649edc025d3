/* test_store_file.c -- the store's files and the people who handle them: locks that are removed, a
 * backup put in place by hand, files taken away from under a running server, and `parley restore`.
 *
 * A crash is a copy of file and log taken while the store is open: what is on the disk at that
 * moment.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "store/sqlite_db.h"
#include "store_help.h"
#include "test.h"

static char path[256], sql_text[600];

static const char *new_path(void)
{
    static int n;
    snprintf(path, sizeof path, "%s/file-%d.db", test_dir(), n++);
    return path;
}

static void begin(struct fix *f)
{
    fix_init(f);
    REQUIRE(fix_open(f, path) == OK);
}

/* The name of a file beside the store's; two may be used in one expression. */
static const char *beside(const char *end)
{
    static char name[4][300];
    static int  n;

    n = (n + 1) % 4;
    snprintf(name[n], sizeof name[n], "%s%s", path, end);
    return name[n];
}

static void copy(const char *from, const char *to)
{
    char    block[65536];
    ssize_t n;
    int     in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    REQUIRE(in >= 0 && out >= 0);
    while ((n = read(in, block, sizeof block)) > 0) REQUIRE(write(out, block, (size_t)n) == n);
    close(in);
    close(out);
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void run_sql(const char *file, const char *sql)
{
    sqlite3 *db;

    REQUIRE(sqlite3_open(file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

static void expect_refusal(const char *file, enum err want, const char *words)
{
    struct fix f;

    fix_init(&f);
    CHECK(fix_open(&f, file) == want);
    CHECK(f.store == NULL);
    CHECK(str_find(f.why, str_c(words)) >= 0);
    if (str_find(f.why, str_c(words)) < 0) printf("    why: " STR_FMT "\n", STR_ARG(f.why));
    fix_done(&f);
}

/* Appends "from" to "to - 1" to one log. */
static void say(struct fix *f, int from, int to)
{
    char body[16];

    for (int i = from; i < to; i++) {
        snprintf(body, sizeof body, "%d", i);
        CHECK(fix_append(f, "ann", "t", (uint64_t)i, body) == OK);
    }
}

/* Enough for the log to be moved into the file and to begin anew. */
static void fill(struct fix *f, const char *thread)
{
    char *body = malloc(256 << 10);

    REQUIRE(body);
    memset(body, 'x', (256 << 10) - 1);
    body[(256 << 10) - 1] = 0;
    for (uint64_t i = 0; i < 40; i++) CHECK(fix_append(f, "ann", thread, i, body) == OK);
    free(body);
}

/* --- one process per file ---------------------------------------------------------------- */

TEST(removing_the_lock_file_lets_nobody_in)
{
    struct fix f;

    new_path();
    begin(&f);
    REQUIRE(unlink(beside("-lock")) == 0);
    expect_refusal(path, ERR_BUSY, "is used by another parley");
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    fix_done(&f);
}

TEST(a_second_opener_is_refused_through_a_hard_link_too)
{
    struct fix f;
    char       other[300];

    new_path();
    begin(&f);
    snprintf(other, sizeof other, "%s/by-another-name.db", test_dir());
    REQUIRE(link(path, other) == 0);
    expect_refusal(other, ERR_BUSY, "is used by another parley");
    fix_done(&f);
}

/* --- file and log ------------------------------------------------------------------------- */

TEST(a_crash_leaves_file_and_log_that_belong_together)
{
    struct fix  f;
    static char crash[300];

    new_path();
    begin(&f);
    for (int round = 0; round < 4; round++) {
        char name[16];
        snprintf(name, sizeof name, "big-%d", round);
        say(&f, round * 3, round * 3 + 3);
        snprintf(crash, sizeof crash, "%s.crash-%d", path, round);
        copy(path, crash);
        copy(beside("-wal"), strcat(strcpy((char[320]){ 0 }, crash), "-wal"));
        fill(&f, name);
    }
    fix_done(&f);
    for (int round = 0; round < 4; round++) {
        snprintf(crash, sizeof crash, "%s.crash-%d", path, round);
        fix_init(&f);
        CHECK(fix_open(&f, crash) == OK);
        REQUIRE(f.store);
        CHECK(fix_append(&f, "ann", "t", (uint64_t)round * 3 + 3, "life goes on") == OK);
        fix_done(&f);
    }
}

/* Makes a store, a backup of it by `how`, more words than a log holds, and a crash; then the backup
 * is put in place by hand. */
static void put_backup_over_crash(const char *how)
{
    struct fix  f;
    static char at[256], sql[600];

    new_path();
    strcpy(at, path);
    begin(&f);
    say(&f, 0, 3);
    if (*how) {
        snprintf(sql, sizeof sql, how, beside(".backup"));
        run_sql(path, sql);
    } else {
        run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
        copy(path, beside(".backup"));
    }
    fill(&f, "big");
    say(&f, 3, 6);
    copy(path, beside(".crash"));
    copy(beside("-wal"), beside(".crash-wal"));
    fix_done(&f);
    snprintf(path, sizeof path, "%s.crash", at);
    snprintf(sql, sizeof sql, "%s.backup", at);
    copy(sql, path);
}

TEST(a_backup_made_by_vacuum_is_not_mixed_with_the_log_of_a_crash)
{
    put_backup_over_crash("VACUUM INTO '%s'");
    expect_refusal(path, ERR_CONFLICT, "do not belong together");
    expect_refusal(path, ERR_CONFLICT, "parley restore");
}

TEST(a_copied_backup_is_not_mixed_with_the_log_of_a_crash)
{
    struct fix f;

    put_backup_over_crash("");
    expect_refusal(path, ERR_CONFLICT, "do not belong together");
    CHECK(is_there(beside("-wal")));
    REQUIRE(unlink(beside("-wal")) == 0); /* as the sentence says */
    begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    fix_done(&f);
}

TEST(a_log_whose_file_is_missing_is_not_thrown_away)
{
    put_backup_over_crash("");
    REQUIRE(unlink(path) == 0);
    expect_refusal(path, ERR_CONFLICT, "is missing or empty");
    CHECK(is_there(beside("-wal")));
}

/* --- files taken away --------------------------------------------------------------------- */

static void expect_gone_and_back(const char *end)
{
    struct fix f;
    char       name[300];

    new_path();
    begin(&f);
    say(&f, 0, 1);
    snprintf(name, sizeof name, "%s", beside(end));
    REQUIRE(rename(name, beside(".away")) == 0);
    CHECK(fix_append(&f, "ann", "t", 1, "nobody would find it") == ERR_GONE);
    CHECK(store_health(f.store) == ERR_GONE);
    CHECK(str_find(store_problem(f.store), STR("removed or replaced")) >= 0);
    CHECK(fix_append(&f, "ann", "t", 2, "nor this") == ERR_GONE);
    CHECK(fix_edit(&f, "ann", "t", "nor this", false) == ERR_GONE);
    REQUIRE(rename(beside(".away"), name) == 0);
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

    new_path();
    begin(&f);
    say(&f, 0, 1);
    copy(path, beside(".copy"));
    REQUIRE(rename(beside(".copy"), path) == 0);
    while (store_health(f.store) == OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(store_health(f.store) == ERR_GONE);
    expect_refusal(path, ERR_BUSY, "is used by another parley");
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;");
    fix_done(&f);
}

/* `how` writes over a file of the open store in its place. */
static void expect_overwritten(void (*how)(void), bool refused_after)
{
    struct fix f;

    new_path();
    begin(&f);
    say(&f, 0, 3);
    snprintf(sql_text, sizeof sql_text, "VACUUM INTO '%s'", beside(".backup"));
    run_sql(path, sql_text);
    copy(path, beside(".early"));
    fill(&f, "big");
    say(&f, 3, 6);
    how();
    while (store_health(f.store) == OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(store_health(f.store) == ERR_GONE);
    CHECK(fix_append(&f, "ann", "t", 6, "nobody would find it") == ERR_GONE);
    fix_done(&f);
    CHECK(is_there(beside("-wal"))); /* nothing was moved over what is there now */
    if (refused_after) expect_refusal(path, ERR_CONFLICT, "Nothing was changed");
}

static void vacuumed_over(void)
{
    copy(beside(".backup"), path);
}
static void copied_over(void)
{
    copy(beside(".early"), path);
}
static void cut_file(void)
{
    REQUIRE(truncate(path, 0) == 0);
}
static void cut_file_short(void)
{
    REQUIRE(truncate(path, 8192) == 0);
}
static void cut_log(void)
{
    REQUIRE(truncate(beside("-wal"), 0) == 0);
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

    new_path();
    begin(&f);
    for (int i = 0; i < 12; i += 4) {
        say(&f, i, i + 2);
        run_sql(path, "PRAGMA wal_checkpoint(PASSIVE)");
        say(&f, i + 2, i + 3);
        run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
        say(&f, i + 3, i + 4);
        run_sql(path, "UPDATE thread SET title = 'by hand'");
        run_sql(path, "PRAGMA wal_checkpoint(RESTART)");
        if (i == 4) fill(&f, "big");
        if (i == 4) run_sql(path, "VACUUM");
    }
    CHECK(fix_append(&f, "ann", "t", 12, "and it goes on") == OK);
    CHECK(store_health(f.store) == OK);
    fix_done(&f);
    begin(&f);
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
    REQUIRE(sqlite3_open_v2(db_immutable_uri(&a, path).ptr, &db,
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
    new_path();
    begin(&f);
    REQUIRE(sqlite3_open(path, &reader) == SQLITE_OK);
    for (int round = 0; round < 3; round++) {
        fill(&f, round == 0 ? "a" : round == 1 ? "b" : "c");
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

    new_path();
    begin(&f);
    say(&f, 0, 200); /* more than the file has place for */
    copy(path, beside(".crash"));
    copy(beside("-wal"), beside(".crash-wal"));
    fix_done(&f);
    strcat(path, ".crash");
    /* in the midst of moving the log into the file; the index of the log takes the first eight */
    fault_order("write:11+=ENOSPC");
    begin(&f);
    CHECK(fix_append(&f, "ann", "t", 200, "no room") == ERR_FULL);
    CHECK(store_health(f.store) == ERR_FULL);
    CHECK(is_shorter_than_it_says());
    fault_order("");
    while (store_health(f.store) != OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    say(&f, 200, 202);
    fix_done(&f);
}

TEST(a_new_store_on_a_disk_that_fills_at_any_write_is_never_gone)
{
    struct fix f;
    enum err   e = ERR_FULL;
    char       order[48];
    int        opened = 0;

    for (int n = 1; e != OK && n < 2000; n++) {
        new_path();
        fix_init(&f);
        snprintf(order, sizeof order, "write:%d+=ENOSPC", n);
        fault_order(order);
        if (fix_open(&f, path) == OK) {
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

/* --- restore ------------------------------------------------------------------------------ */

static enum err restore(struct fix *f, const char *from, struct store_restored *did)
{
    return store_restore(str_c(path), str_c(from), false, &f->arena, did, &f->why);
}

/* At `path` a crashed store with six words, and beside it a backup with three. */
static const char *crashed(void)
{
    static char backup[300];
    char        whole[256];

    put_backup_over_crash("VACUUM INTO '%s'");
    strcpy(whole, path);
    whole[strlen(whole) - strlen(".crash")] = 0;
    snprintf(backup, sizeof backup, "%s.backup", whole);
    copy(whole, path); /* its own file again; closed cleanly, so the log is of the time before */
    run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    return backup;
}

TEST(a_restore_brings_the_backup_and_keeps_what_was_there)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;
    char                  kept[300];

    fix_init(&f);
    CHECK(restore(&f, backup, &did) == OK);
    CHECK(did.threads == 1);
    snprintf(kept, sizeof kept, STR_FMT, STR_ARG(did.kept));
    CHECK(is_there(kept) && !is_there(beside("-wal")) && !is_there(beside(".restoring")) &&
          !is_there(beside(".copying")));
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    CHECK(fix_append(&f, "ann", "t", 3, "goes on") == OK);
    fix_done(&f);
    fix_init(&f);
    CHECK(restore(&f, kept, &did) == OK); /* and back again */
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 3), "4 note 3;5 note 4;6 note 5;");
    fix_done(&f);
}

TEST(nothing_is_restored_under_a_store_that_is_open)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    begin(&f);
    CHECK(restore(&f, backup, &did) == ERR_BUSY);
    CHECK(str_find(f.why, STR("is used by another parley")) >= 0);
    CHECK_STR(fix_read(&f, "ann", "t", 5), "6 note 5;");
    fix_done(&f);
}

TEST(what_is_no_backup_is_refused_and_nothing_changes)
{
    struct store_restored did;
    struct fix            f;

    crashed();
    fix_init(&f);
    CHECK(restore(&f, beside(".none"), &did) == ERR_IO);
    CHECK(restore(&f, path, &did) == ERR_EXISTS);
    close(open(beside(".text"), O_CREAT | O_WRONLY, 0600));
    REQUIRE(truncate(beside(".text"), 5000) == 0);
    CHECK(restore(&f, beside(".text"), &did) == ERR_TYPE);
    run_sql(beside(".recipes"), "CREATE TABLE recipes(name TEXT)");
    CHECK(restore(&f, beside(".recipes"), &did) == ERR_TYPE);
    CHECK(str_find(f.why, STR("Nothing was changed")) >= 0);
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 5), "6 note 5;");
    fix_done(&f);
}

TEST(a_damaged_backup_is_refused_and_nothing_changes)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;
    int                   fd = open(backup, O_RDWR);

    REQUIRE(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, 4096) == 12);
    close(fd);
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == ERR_TYPE);
    CHECK(str_find(f.why, STR("Nothing was changed")) >= 0);
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 5), "6 note 5;");
    fix_done(&f);
}

TEST(a_backup_with_a_flipped_bit_in_a_fact_is_refused_unless_it_is_wanted_anyway)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    run_sql(backup, "UPDATE fact SET body = '7' WHERE seq = 2");
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == ERR_DAMAGED);
    CHECK(str_find(f.why, STR("1 conversations (t)")) >= 0 &&
          str_find(f.why, STR("Nothing was changed")) >= 0);
    CHECK(store_restore(str_c(path), str_c(backup), true, &f.arena, &did, &f.why) == OK);
    CHECK(did.threads == 1 && did.damaged == 1);
    fix_done(&f);
}

TEST(a_backup_with_an_approval_that_is_not_what_was_stored_is_refused)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    run_sql(backup,
            "INSERT INTO approval(owner, id, thread, call, tool, status, body, requested_ms, "
            "expires_ms, sum)"
            " SELECT owner, 'a', id, 'c', 'pay', 'approved', '{}', 1, 0, 5 FROM thread LIMIT 1");
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == ERR_DAMAGED);
    CHECK(str_find(f.why, STR("approvals of 1 (t)")) >= 0);
    fix_done(&f);
}

TEST(a_restore_that_was_cut_off_is_completed_by_the_next_start)
{
    const char *backup = crashed();
    struct fix  f;

    copy(backup, beside(".restoring"));
    REQUIRE(unlink(path) == 0); /* moved aside, and then the power failed */
    begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    CHECK(!is_there(beside(".restoring")));
    fix_done(&f);
}

TEST(a_store_is_restored_where_there_was_none)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    new_path();
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == OK);
    CHECK(!did.kept.ptr);
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 2), "3 note 2;");
    fix_done(&f);
}

/* --- flipped bits --------------------------------------------------------------------------- */

/* What a disk may do to a row; the store has it open. */
static void damage(const char *set)
{
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE %s", set);
    run_sql(path, sql);
}

static void expect_damaged(const char *what)
{
    struct fix f;

    new_path();
    begin(&f);
    say(&f, 0, 3);
    CHECK(fix_append(&f, "bob", "t", 0, "whole") == OK);
    damage(what);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "damaged");
    CHECK_STR(fix_read(&f, "bob", "t", 0), "1 note whole;");
    CHECK(fix_append(&f, "bob", "t", 1, "others go on") == OK);
    CHECK(fix_edit(&f, "ann", "t", NULL, true) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "not_found");
    say(&f, 0, 1);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;");
    CHECK(store_health(f.store) == OK);
    fix_done(&f);
}

TEST(a_log_with_another_body_is_damaged_and_can_be_deleted)
{
    expect_damaged("fact SET body = '7' WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_another_kind_is_damaged)
{
    expect_damaged("fact SET kind = 'nota' WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_another_time_is_damaged)
{
    expect_damaged("fact SET at_ms = at_ms + 8 WHERE thread = 1 AND seq = 3");
}
TEST(a_log_with_a_hole_is_damaged)
{
    expect_damaged("fact SET thread = 9 WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_a_fact_of_another_log_is_damaged)
{
    expect_damaged("fact SET body = (SELECT body FROM fact WHERE thread = 2), kind = (SELECT kind "
                   "FROM fact WHERE thread = 2),"
                   " at_ms = (SELECT at_ms FROM fact WHERE thread = 2), sum = (SELECT sum FROM "
                   "fact WHERE thread = 2) WHERE thread = 1 AND seq = 1");
}
TEST(a_log_that_says_it_is_shorter_is_damaged)
{
    expect_damaged("thread SET seq = 2 WHERE id = 1");
}

static void ask(struct fix *f, const char *thread, const char *id, int64_t expires_ms)
{
    struct ap             p;
    struct store_approval a = { .id = str_c(id),
                                .call = STR("call"),
                                .tool = STR("pay"),
                                .status = STR("pending"),
                                .body = STR("{\"amount\":50}"),
                                .requested_ms = 5,
                                .expires_ms = expires_ms };

    ap_init(&p, "ann", thread, 0, "x");
    p.a.state = STR("running");
    p.a.approvals = &a;
    p.a.approval_count = 1;
    CHECK(ap_run(f, &p) == OK);
}

static struct str due(struct fix *f)
{
    return fix_list(f, (struct store_list){ .kind = STORE_DUE, .due_ms = 100, .limit = 1 }, NULL);
}

TEST(a_damaged_log_stops_neither_the_expiry_nor_the_recovery_of_others)
{
    struct fix f;

    new_path();
    begin(&f);
    ask(&f, "bad", "c1", 10);
    ask(&f, "good", "c2", 20);
    damage("fact SET body = 'y' WHERE thread = 1");
    CHECK(str_starts(due(&f), STR("ann/bad/c1"))); /* nobody has looked yet */
    CHECK_STR(fix_read(&f, "ann", "bad", 0), "damaged");
    CHECK(str_starts(due(&f), STR("ann/good/c2")));
    CHECK(str_starts(fix_list(&f, (struct store_list){ .kind = STORE_NEXT_DUE }, NULL),
                     STR("ann/good/c2")));
    CHECK_STR(fix_list(&f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL),
              "ann/good running;");
    CHECK(fix_edit(&f, "ann", "bad", NULL, true) == OK);
    ask(&f, "bad", "c1", 10); /* a new one of the same name */
    CHECK(str_starts(due(&f), STR("ann/bad/c1")));
    fix_done(&f);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    (void)next;
    CHECK(e == OK && count == 2);
    for (size_t i = 0; i < count; i++) CHECK(rows[i].damaged == str_is(rows[i].approval.id, "c1"));
    l->limit = 0;
}

TEST(an_approval_that_is_not_what_was_stored_says_so)
{
    struct store_list l = {
        .kind = STORE_APPROVALS, .owner = STR("ann"), .limit = 10, .done = on_rows
    };
    struct fix f;

    new_path();
    begin(&f);
    ask(&f, "t", "c1", 10);
    ask(&f, "u", "c2", 20);
    damage("approval SET body = '{\"amount\":70}' WHERE id = 'c1'");
    store_list(f.store, &l);
    while (l.limit) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(str_starts(due(&f), STR("ann/u/c2")));
    fix_done(&f);
}

/* As the version before made it: the same tables without what came since. */
static void make_old(void)
{
    struct fix f;

    begin(&f);
    ask(&f, "t", "c1", 10);
    CHECK(fix_append(&f, "ann", "t", 1, "old") == OK);
    fix_done(&f);
    run_sql(path, "DROP TABLE title_gram; DROP TABLE used; DROP TABLE session; DROP TABLE store;"
                  "DROP TABLE key; ALTER TABLE thread DROP COLUMN hidden;"
                  "DROP TABLE stock; DROP TABLE event;"
                  "DROP TABLE stub; DROP TABLE noted; DROP TABLE checkpoint;"
                  "ALTER TABLE fact DROP COLUMN sum; ALTER TABLE approval DROP COLUMN sum;"
                  "DROP INDEX thread_by_change;"
                  "ALTER TABLE thread DROP COLUMN source; ALTER TABLE thread DROP COLUMN grp;"
                  "CREATE INDEX thread_by_change ON thread(owner, updated_ms, id);"
                  "ALTER TABLE fact DROP COLUMN link; ALTER TABLE thread DROP COLUMN links;"
                  "PRAGMA user_version=1");
}

TEST(a_store_of_the_version_before_is_upgraded_and_goes_on)
{
    struct fix f;

    new_path();
    make_old();
    begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;2 note old;");
    CHECK(str_starts(due(&f), STR("ann/t/c1")));
    CHECK(fix_append(&f, "ann", "t", 2, "new") == OK);
    damage("fact SET body = 'nev' WHERE seq = 3");
    CHECK_STR(fix_read(&f, "ann", "t", 0), "damaged");
    CHECK(str_starts(store_promise(f.store), STR("sqlite, WAL, synchronous=FULL, schema ")));
    fix_done(&f);
}

TEST(an_upgrade_that_was_cut_off_is_done_at_the_next_start)
{
    struct fix f;

    new_path();
    make_old();
    fix_init(&f);
    for (int n = 1; !f.store; n++) {
        char order[32];
        snprintf(order, sizeof order, "write:%d=ENOSPC", n);
        fault_order(order);
        (void)!fix_open(&f, path);
        fault_order("");
        REQUIRE(n < 100);
    }
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;2 note old;");
    fix_done(&f);
}

/* --- memory that runs out ------------------------------------------------------------------- */

static size_t facts_of(struct fix *f, const char *thread)
{
    struct str rest = fix_read(f, "ann", thread, 0), row;
    size_t     n = 0;
    while (str_split(&rest, ';', &row)) n += row.len > 0;
    return n;
}

/* Each allocation of an append fails once, SQLite's own included; and that one and all after it. */
TEST(an_append_that_memory_refused_is_not_there)
{
    static const char *const orders[] = { "mem:%d", "mem:%d+" };
    struct fix               f;

    new_path();
    begin(&f);
    for (int k = 0; k < 2; k++) {
        const char *log[] = { k ? "c" : "a", k ? "d" : "b" };
        size_t      seq[] = { 1, 1 }, refused = 0;
        for (int i = 0; i < 2; i++) CHECK(fix_append(&f, "ann", log[i], 0, "x") == OK);
        for (int n = 1, fine = 0; fine < 30; n++, fine++) {
            char      order[32];
            struct ap p[2];
            REQUIRE(n < 3000);
            snprintf(order, sizeof order, orders[k], n);
            fault_order(order);
            for (int i = 0; i < 2; i++) { /* in one batch */
                ap_init(&p[i], "ann", log[i], seq[i], "x");
                ap_send(&f, &p[i]);
            }
            fix_wait(&f);
            fault_order("");
            for (int i = 0; i < 2; i++) {
                size_t now = facts_of(&f, log[i]);
                CHECK(p[i].e == OK || p[i].e == ERR_NOMEM || p[i].e == ERR_UNSURE);
                if (p[i].e != ERR_UNSURE) CHECK(now == seq[i] + !p[i].e);
                if (p[i].e) fine = 0, refused++;
                seq[i] = now;
            }
        }
        if (k) CHECK(refused > 0); /* a single one is made up for */
    }
    fix_done(&f);
}

/* --- searches ------------------------------------------------------------------------------- */

static int finished;

struct found {
    struct store_list l;
    int               place;
    size_t            count;
    struct str        next;
};

static void on_found(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct found *x = LIST_ITEM(l, struct found, l);
    CHECK(e == OK);
    (void)rows;
    x->place = ++finished;
    x->count = count;
    x->next = next;
}

/* A statement that makes threads behind the store's back, and their titles in its index. */
#define INDEXED(name) \
    ";INSERT INTO title_gram(rowid, title) SELECT id, title FROM thread WHERE name GLOB '" name "'"

static void many_threads(void)
{
    run_sql(path, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                  " INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms)"
                  " SELECT 'ann', 't' || i, iif(i % 1000 = 0, 'A ZEBRA in Zürich', iif(i = 19999, "
                  "'lately', 'nothing')), 'idle', 0, i, i FROM n" INDEXED("t[0-9]*"));
}

TEST(a_long_search_does_not_keep_a_short_one_waiting)
{
    struct found all = { .l = { .kind = STORE_THREADS,
                                .owner = STR("ann"),
                                .search = STR("not there"),
                                .limit = 1,
                                .done = on_found } };
    struct found one = { .l = { .kind = STORE_THREADS,
                                .owner = STR("ann"),
                                .search = STR("nothing"),
                                .limit = 1,
                                .done = on_found } };
    struct fix   f;

    new_path();
    begin(&f);
    many_threads();
    finished = 0;
    store_list(f.store, &all.l);
    store_list(f.store, &one.l);
    while (finished < 2) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(one.place == 1 && one.count == 1);
    CHECK(all.place == 2 && all.count == 0);
    fix_done(&f);
}

TEST(a_search_through_many_titles_finds_each_once_page_by_page)
{
    struct fix f;
    struct str next = STR_NONE, page = STR_NONE;
    int        pages = 0, names = 0;

    new_path();
    begin(&f);
    many_threads();
    do {
        page = fix_list(&f,
                        (struct store_list){ .kind = STORE_THREADS,
                                             .owner = STR("ann"),
                                             .search = STR("zebra IN zÜr"),
                                             .limit = 7,
                                             .before = next },
                        &next);
        for (struct str rest = page, row; str_split(&rest, ';', &row);) names += row.len > 0;
        if (!pages++) CHECK(str_starts(page, STR("t20000 'A ZEBRA in Zürich' idle;t19000 ")));
    } while (next.ptr && pages < 9);
    CHECK(pages == 3 && names == 20);
    CHECK(str_find(page, STR("t1000 ")) >= 0);
    page = fix_list(
        &f,
        (struct store_list){
            .kind = STORE_THREADS, .everybody = true, .search = STR("LATELY"), .limit = 7 },
        &next);
    CHECK_STR(page, "t19999 'lately' idle;");
    CHECK(!next.ptr);
    fix_done(&f);
}

static struct str search(struct fix *f, struct str words)
{
    return fix_list(f,
                    (struct store_list){
                        .kind = STORE_THREADS, .owner = STR("ann"), .search = words, .limit = 7 },
                    NULL);
}

/* Older than those that every search looks at: only the index leads there. */
static void old_thread(const char *title)
{
    char sql[512];
    sqlite3_snprintf(sizeof sql, sql,
                     "INSERT INTO thread(owner, name, title, state, seq, created_ms, updated_ms)"
                     " VALUES('ann', 'old', %Q, 'idle', 0, 0, 0)" INDEXED("old"),
                     title);
    run_sql(path, sql);
}

TEST(an_old_title_is_found_by_any_three_letters_in_any_case)
{
    /* of each script with two cases, and what a query of the index would take for its own */
    static const char *const said[][2] = {
        { "Zebras, \"quoted\" AND (50%)", "S, \"QUO" },
        { "Zebras, \"quoted\" AND (50%)", "and (50%)" },
        { "a* NOT b OR c^", "A* not B or" },
        { "ÀÉÖØÞ ĀĲĹŊŸŹ ẀẤ Ｚ", "àéöøþ āĳĺŋÿź ẁấ ｚ" },
        { "ΆΈΌΎ ΑΡΣΫ λόγος", "άέόύ αρσϋ ΛΌΓΟΣ" },
        { "ЀЏ АЯ Ѡ Ҋ Ӂ Ӑ Ԧ ԱՖ", "ѐџ ая ѡ ҋ ӂ ӑ ԧ աֆ" },
        { "Ԩ one letter of the two", "Ԩ one" },
        { "京都の天気", "都の天" },
        { "tail", "ail" },
    };
    struct fix f;

    new_path();
    begin(&f);
    many_threads();
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct str title = str_c(said[i][0]), found;
        old_thread(said[i][0]);
        found = search(&f, str_c(said[i][1]));
        CHECK(str_find(found, title) >= 0);
        CHECK(str_find(search(&f, title), title) >= 0);
        CHECK(fix_edit(&f, "ann", "old", NULL, true) == OK);
        CHECK_STR(search(&f, title), "");
    }
    old_thread("no \"");
    CHECK_STR(search(&f, STR("o \"")), "old 'no \"' idle;");
    CHECK_STR(search(&f, STR("o\"")), "");
    CHECK_STR(search(&f, STR("\"")), "old 'no \"' idle;"); /* too short for the index */
    fix_done(&f);
}

TEST(the_index_of_titles_follows_a_new_title_and_a_removal)
{
    struct fix f;

    new_path();
    begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    many_threads();
    CHECK(fix_edit(&f, "ann", "t", "Kyoto", false) == OK);
    run_sql(path, "UPDATE thread SET updated_ms = 0 WHERE name = 't'");
    CHECK_STR(search(&f, STR("kyoto")), "t 'Kyoto' idle;");
    CHECK(fix_edit(&f, "ann", "t", "Nara", false) == OK);
    CHECK_STR(search(&f, STR("kyoto")), "");
    CHECK_STR(search(&f, STR("nara")), "t 'Nara' idle;");
    CHECK(fix_edit(&f, "ann", "t", NULL, true) == OK);
    CHECK_STR(search(&f, STR("nara")), "");
    fix_done(&f);
}

TEST(old_titles_of_the_version_before_are_found)
{
    struct fix f;

    new_path();
    make_old();
    run_sql(path, "UPDATE thread SET updated_ms = 0, title = 'Kyoto'");
    begin(&f);
    many_threads();
    CHECK_STR(search(&f, STR("yot")), "t 'Kyoto' running;");
    fix_done(&f);
}
