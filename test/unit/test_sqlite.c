/* test_sqlite.c -- what is special about the SQLite store: its file, its lock, its schema, and what
 * is left after a kill. Disks that fail: test_sqlite_disk.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "sqlite_help.h"

/* --- the file ---------------------------------------------------------------------- */

TEST(the_store_s_files_are_for_their_owner_only)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    struct fix               f;
    struct stat              st;
    char                     name[300];

    sqlite_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        REQUIRE(stat(name, &st) == 0);
        CHECK((st.st_mode & 0777) == 0600);
    }
    CHECK(str_starts(store_promise(f.store), STR("sqlite, WAL, synchronous=FULL, schema ")));
    fix_done(&f);
}

TEST(one_missing_folder_is_made_and_two_are_a_mistake)
{
    struct fix  f;
    struct stat st;
    char        url[300];

    snprintf(url, sizeof url, "sqlite:%s/fresh/parley.db", test_dir());
    fix_init(&f);
    CHECK(fix_open(&f, url) == OK);
    fix_done(&f);
    snprintf(url, sizeof url, "%s/fresh", test_dir());
    CHECK(stat(url, &st) == 0 && (st.st_mode & 0777) == 0700);
    snprintf(url, sizeof url, "%s/no/such/parley.db", test_dir());
    fix_refused(url, ERR_IO, "cannot make the folder");
}

TEST(a_path_that_cannot_be_written_is_refused_with_a_sentence)
{
    char url[300];

    fix_refused("", ERR_SYNTAX, "file name");
    fix_refused("sqlite:", ERR_SYNTAX, "file name");
    fix_refused(test_dir(), ERR_IO, "is a folder");
    snprintf(url, sizeof url, "%s/plain", test_dir());
    close(open(url, O_CREAT | O_WRONLY, 0600));
    snprintf(url, sizeof url, "%s/plain/parley.db", test_dir());
    fix_refused(url, ERR_IO, "Not a directory");
}

TEST(a_file_that_is_no_database_is_refused_and_left_alone)
{
    char got[64] = "";
    int  fd = open(new_path(), O_CREAT | O_RDWR, 0600);

    REQUIRE(write(fd, "dear diary, this is not a database at all ..........", 52) == 52);
    fix_refused(path, ERR_IO, "not a database");
    CHECK(pread(fd, got, sizeof got, 0) == 52);
    close(fd);
}

TEST(another_program_s_database_is_refused)
{
    new_path();
    run_raw("CREATE TABLE recipes(name TEXT)");
    fix_refused(path, ERR_TYPE, "another program");
}

TEST(a_second_opener_is_refused_by_name_also_through_a_link)
{
    struct fix f;
    char       link[300];

    sqlite_begin(&f);
    fix_refused(path, ERR_BUSY, path);
    fix_refused(path, ERR_BUSY, "is used by another parley");
    snprintf(link, sizeof link, "%s-link", path);
    REQUIRE(symlink(path, link) == 0);
    fix_refused(link, ERR_BUSY, "is used by another parley");
    fix_done(&f);
    fix_init(&f);
    CHECK(fix_open(&f, path) == OK);
    fix_done(&f);
}

TEST(a_temporary_store_leaves_no_file_behind)
{
    struct fix f;
    char       old[256], cmd[300];

    snprintf(old, sizeof old, "%s", getenv("TMPDIR") ? getenv("TMPDIR") : "");
    snprintf(cmd, sizeof cmd, "%s/tmp", test_dir());
    REQUIRE(mkdir(cmd, 0700) == 0);
    setenv("TMPDIR", cmd, 1);
    fix_init(&f);
    CHECK(fix_open(&f, "sqlite::memory:") == OK);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;");
    fix_done(&f);
    CHECK(rmdir(cmd) == 0); /* it is empty */
    if (*old) setenv("TMPDIR", old, 1);
    else unsetenv("TMPDIR");
}

/* --- schema ------------------------------------------------------------------------- */

TEST(an_empty_file_is_brought_to_the_newest_schema)
{
    struct fix f;

    new_path();
    run_raw("PRAGMA user_version=0");
    fix_init(&f);
    CHECK(fix_open(&f, path) == OK);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    fix_done(&f);
    fix_init(&f); /* and once more: nothing left to upgrade */
    CHECK(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;");
    fix_done(&f);
}

TEST(a_file_of_a_newer_version_is_refused_and_left_alone)
{
    struct fix f;
    char       words[120], back[40];

    sqlite_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    fix_done(&f);
    run_raw("PRAGMA user_version=900");
    snprintf(words, sizeof words,
             "made by a newer version of parley (its schema is 900, this program knows %d)",
             DB_SCHEMA);
    fix_refused(path, ERR_UNSUPPORTED, words);
    snprintf(back, sizeof back, "PRAGMA user_version=%d", DB_SCHEMA);
    run_raw(back);
    fix_init(&f);
    REQUIRE(fix_open(&f, path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;");
    fix_done(&f);
}

TEST(a_step_of_an_upgrade_that_fails_says_what_failed)
{
    static const struct {
        int         version;
        const char *words;
    } tampered[] = {
        { 1, ": table store already exists" },
        { 5, ": table stock already exists" },
        { 10, ": duplicate column name: links" },
        { 12, ": duplicate column name: digest" },
    };
    struct fix f;
    char       sql[40];

    sqlite_begin(&f);
    fix_done(&f);
    for (size_t i = 0; i < sizeof tampered / sizeof *tampered; i++) {
        snprintf(sql, sizeof sql, "PRAGMA user_version=%d", tampered[i].version);
        run_raw(sql);
        fix_refused(path, ERR_IO, tampered[i].words);
    }
}

/* How SQLite means to run `sql`: "SEARCH ...;" lines. */
static struct str plan_of(struct fix *f, struct db *d, const char *sql)
{
    struct str    plan = STR(""), explain = arena_printf(&f->arena, "EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *st;

    REQUIRE(sqlite3_prepare_v2(d->sql, explain.ptr, -1, &st, NULL) == SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        plan = arena_printf(&f->arena, STR_FMT "%s;", STR_ARG(plan),
                            (const char *)sqlite3_column_text(st, 3));
    sqlite3_finalize(st);
    return plan;
}

/* Small tables, one row (store), what an index has found (m). */
static bool may_walk(struct str line)
{
    return str_is(line, "SCAN store") || str_is(line, "SCAN m") ||
           str_find(line, STR("USING")) >= 0 || str_find(line, STR("SCAN tool")) >= 0 ||
           str_find(line, STR("SCAN used")) >= 0 || str_find(line, STR("VIRTUAL TABLE INDEX")) >= 0;
}

static void check_plan(struct fix *f, struct db *d, const char *sql, bool may_sort)
{
    struct str plan = plan_of(f, d, sql);
    bool       good = may_sort || str_find(plan, STR("TEMP B-TREE")) < 0;
    struct str rest = plan, line;

    while (str_split(&rest, ';', &line))
        if (str_starts(line, STR("SCAN")) && !may_walk(line)) good = false;
    CHECK(good);
    if (!good) printf("    %s\n    " STR_FMT "\n", sql, STR_ARG(plan));
}

TEST(no_list_walks_a_whole_table_or_sorts_what_an_index_has_sorted)
{
    struct fix f;
    struct db  d;
    char       sql[DB_APPROVALS_SQL_MAX];

    sqlite_begin(&f);
    REQUIRE(db_open(&d, path, db_read_sql, true) == OK);
    for (int i = 0; i < DB_READ_SQL_COUNT; i++) {
        /* the index of titles knows nothing of time, and is asked for what is rare */
        bool found = str_find(str_c(db_read_sql[i]), STR("title_gram")) >= 0 ||
                     str_find(str_c(db_read_sql[i]), STR("FROM used WHERE day")) >= 0;
        /* asked every few minutes, on the finder's thread, and no append pays for an index */
        if (str_find(str_c(db_read_sql[i]), STR("noted")) >= 0) continue;
        /* once an hour, and when somebody is erased: likewise */
        if (str_find(str_c(db_read_sql[i]), STR("state = 'idle' AND updated_ms")) >= 0 ||
            str_find(str_c(db_read_sql[i]), STR("FROM stub WHERE owner")) >= 0)
            continue;
        check_plan(&f, &d, db_read_sql[i], found);
    }
    for (int by = BY_OWNER; by <= BY_ALL; by++) {
        /* everybody's, old ones too: nobody asks often */
        if (!(by & (BY_OWNER | BY_STATUS))) continue;
        db_approvals_sql(by, sql);
        check_plan(&f, &d, sql, !(by & BY_STATUS) || by & (BY_THREAD | BY_ID));
    }
    db_close(&d);
    fix_done(&f);
}

/* --- a locked file -------------------------------------------------------------------------- */

TEST(a_file_locked_by_another_program_is_busy_and_heals_while_reads_go_on)
{
    struct fix f;
    sqlite3   *other;

    sqlite_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    other = open_raw("BEGIN EXCLUSIVE");
    CHECK(fix_append(&f, "ann", "t", 1, "y") == ERR_BUSY);
    CHECK(store_health(f.store) == ERR_BUSY);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;");
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    CHECK(fix_append(&f, "ann", "t", 1, "z") == OK);
    CHECK(store_health(f.store) == OK);
    fix_done(&f);
}

TEST(the_write_ahead_log_does_not_grow_without_end)
{
    struct fix  f;
    struct stat st;
    char       *body = malloc(64 << 10), name[300];

    REQUIRE(body);
    memset(body, 'x', (64 << 10) - 1);
    body[(64 << 10) - 1] = 0;
    sqlite_begin(&f);
    /* 25 MB */
    for (uint64_t i = 0; i < 400; i++) CHECK(fix_append(&f, "ann", "t", i, body) == OK);
    snprintf(name, sizeof name, "%s-wal", path);
    REQUIRE(stat(name, &st) == 0);
    CHECK(st.st_size < 10 << 20);
    fix_done(&f);
    free(body);
}

/* --- kill -9 ---------------------------------------------------------------------------------- */

static int answers_fd;

static void child_done(struct store_append *a, enum err e)
{
    struct ap *p = LIST_ITEM(a, struct ap, a);

    p->f->pending--;
    if (e == OK && write(answers_fd, "!", 1) != 1) _exit(3);
}

/* Appends `count` facts to one log, eight at a time, and says "!" for each answer. */
static void child(const char *fault, int fd, int count)
{
    static struct ap p[8];
    struct fix       f;

    answers_fd = fd;
    if (fault) fault_order(fault);
    fix_init(&f);
    if (fix_open(&f, path) != OK) _exit(2);
    for (int i = 0; i < count; i += 8) {
        for (int k = 0; k < 8; k++) {
            ap_init(&p[k], "ann", "t", (uint64_t)(i + k), "x");
            p[k].a.done = child_done;
            ap_send(&f, &p[k]);
        }
        fix_wait(&f);
    }
    if (write(fd, ".", 1) != 1) _exit(3);
    pause();
}

/* Runs a child until it dies (or, after `kill_after` answers, is killed), opens
 * the file again and compares what was answered with what is there. */
static void die_and_look(const char *fault, int kill_after, uint64_t at_least)
{
    int        fds[2], status, answered = 0;
    char       c;
    pid_t      pid;
    struct fix f;
    struct rd  d = { 0 };

    new_path();
    REQUIRE(pipe(fds) == 0);
    fflush(stdout);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) child(fault, fds[1], 1000);
    close(fds[1]);
    while (read(fds[0], &c, 1) == 1) {
        if (c == '!') answered++;
        if (c == '.' || (kill_after && answered == kill_after)) kill(pid, SIGKILL);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(fds[0]);

    fix_init(&f);
    REQUIRE(fix_open(&f, path) == OK);
    rd_send(&f, &d, "ann", "t", 0);
    fix_wait(&f);
    CHECK(d.e == OK || answered == 0);
    CHECK(d.r.seq >= (uint64_t)answered);
    CHECK(d.r.seq >= at_least);
    CHECK(d.r.seq <= (uint64_t)answered + 8);
    CHECK(fix_append(&f, "ann", "t", d.r.seq, "life goes on") == OK);
    buf_done(&d.text);
    fix_done(&f);
}

TEST(kill_9_before_a_commit_loses_nothing_that_was_answered)
{
    die_and_look("store.before_commit:3", 0, 0);
}

/* After the commit and before its answer: the fact is there, though nobody was told. */
TEST(kill_9_after_a_commit_keeps_what_was_committed)
{
    die_and_look("store.after_commit:1", 0, 1);
}

TEST(kill_9_at_any_moment_loses_nothing_that_was_answered)
{
    for (int n = 1; n < 400; n += 37) die_and_look(NULL, n, 0);
}
