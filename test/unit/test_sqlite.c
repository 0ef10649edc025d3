/* test_sqlite.c -- what is special about the SQLite store: its file, its lock, its
 * schema, group commit, and what it does when the disk or the process fails.
 *
 * A VFS laid over SQLite's own makes writes fail, counts syncs and can hold the
 * writer inside one, so that nothing here depends on timing or on being root.
 */
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
#include "store/sqlite_db.h"
#include "store_help.h"
#include "test.h"

static char path[256];

static const char *new_path(void)
{
    static int n;
    snprintf(path, sizeof path, "%s/sqlite-%d.db", test_dir(), n++);
    return path;
}

static void begin(struct fix *f)
{
    fix_init(f);
    REQUIRE(fix_open(f, new_path()) == OK);
}

static sqlite3 *open_raw(const char *sql)
{
    sqlite3 *db;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

static void run_raw(const char *sql)
{
    sqlite3_close(open_raw(sql));
}

/* --- the file ---------------------------------------------------------------------- */

TEST(the_store_s_files_are_for_their_owner_only)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    struct fix               f;
    struct stat              st;
    char                     name[300];

    begin(&f);
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
    fix_refused(test_dir(), ERR_IO, "Is a directory");
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

    begin(&f);
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

    begin(&f);
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

static void check_plan(struct fix *f, struct db *d, const char *sql, bool may_sort)
{
    struct str plan = plan_of(f, d, sql);
    bool       good = may_sort || str_find(plan, STR("TEMP B-TREE")) < 0;
    struct str rest = plan, line;

    while (str_split(&rest, ';', &line))
        if (str_starts(line, STR("SCAN")) && str_find(line, STR("USING")) < 0 &&
            str_find(line, STR("SCAN tool")) < 0 && str_find(line, STR("SCAN used")) < 0 &&
            str_find(line, STR("VIRTUAL TABLE INDEX")) < 0)
            good = false;
    CHECK(good);
    if (!good) printf("    %s\n    " STR_FMT "\n", sql, STR_ARG(plan));
}

TEST(no_list_walks_a_whole_table_or_sorts_what_an_index_has_sorted)
{
    struct fix f;
    struct db  d;
    char       sql[DB_APPROVALS_SQL_MAX];

    begin(&f);
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

/* --- a disk that fails when told to ----------------------------------------------------- */

static struct {
    sqlite3_vfs               vfs, *real;
    sqlite3_io_methods        methods[4];
    const sqlite3_io_methods *of[4];
    atomic_int                write_error; /* what writes answer; SQLITE_OK: they work */
    atomic_bool               no_space;    /* ... and that it was for want of space */
    atomic_int                syncs;
    atomic_int                bad_syncs;  /* so many more syncs fail */
    atomic_bool               hold;       /* the next sync waits until `go` */
    atomic_int                open_errno; /* files cannot be opened, for this reason */
    atomic_int                not_opened;
    uv_sem_t                  held, go;
} disk;

static const sqlite3_io_methods *real_methods(sqlite3_file *file)
{
    return disk.of[file->pMethods - disk.methods];
}

static int disk_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    int rc = atomic_load(&disk.write_error);
    return rc ? rc : real_methods(file)->xWrite(file, p, n, at);
}

static int disk_sync(sqlite3_file *file, int flags)
{
    atomic_fetch_add(&disk.syncs, 1);
    if (atomic_exchange(&disk.hold, false)) {
        uv_sem_post(&disk.held);
        uv_sem_wait(&disk.go);
    }
    if (atomic_load(&disk.bad_syncs) > 0) {
        atomic_fetch_sub(&disk.bad_syncs, 1);
        return SQLITE_IOERR_FSYNC;
    }
    return real_methods(file)->xSync(file, flags);
}

static int disk_control(sqlite3_file *file, int op, void *arg)
{
    if (op != SQLITE_FCNTL_LAST_ERRNO || !atomic_load(&disk.no_space))
        return real_methods(file)->xFileControl(file, op, arg);
    *(int *)arg = ENOSPC;
    return SQLITE_OK;
}

static int disk_open(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *out)
{
    int rc, i = 0, os = atomic_load(&disk.open_errno);

    if (os) {
        file->pMethods = NULL;
        errno = os;
        atomic_fetch_add(&disk.not_opened, 1);
        return SQLITE_CANTOPEN;
    }
    rc = disk.real->xOpen(disk.real, name, file, flags, out);
    if (rc || !file->pMethods) return rc;
    while (i < 3 && disk.of[i] && disk.of[i] != file->pMethods) i++;
    if (!disk.of[i]) {
        disk.methods[i] = *file->pMethods;
        disk.methods[i].xWrite = disk_write;
        disk.methods[i].xSync = disk_sync;
        disk.methods[i].xFileControl = disk_control;
        disk.of[i] = file->pMethods;
    }
    REQUIRE(disk.of[i] == file->pMethods);
    file->pMethods = &disk.methods[i];
    return SQLITE_OK;
}

static void disk_begin(struct fix *f)
{
    if (!disk.real) {
        disk.real = sqlite3_vfs_find(NULL);
        REQUIRE(uv_sem_init(&disk.held, 0) == 0 && uv_sem_init(&disk.go, 0) == 0);
    }
    disk.vfs = *disk.real;
    disk.vfs.zName = "test-disk";
    disk.vfs.xOpen = disk_open;
    atomic_store(&disk.write_error, SQLITE_OK);
    atomic_store(&disk.bad_syncs, 0);
    atomic_store(&disk.not_opened, 0);
    REQUIRE(sqlite3_vfs_register(&disk.vfs, 1) == SQLITE_OK);
    begin(f);
}

static void disk_end(struct fix *f)
{
    fix_done(f);
    sqlite3_vfs_unregister(&disk.vfs);
    sqlite3_vfs_register(disk.real, 1);
}

/* What was asked for is the writer's from here on. */
static void end_turn(struct fix *f)
{
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
}

/* The writer is inside a sync from here on, until release(). */
static void hold_writer(struct fix *f, struct ap *p)
{
    atomic_store(&disk.hold, true);
    ap_init(p, "zoe", "held", 0, "x");
    ap_send(f, p);
    end_turn(f);
    uv_sem_wait(&disk.held);
}

static void release(struct fix *f)
{
    end_turn(f);
    uv_sem_post(&disk.go);
}

TEST(a_full_disk_is_told_as_full_and_heals_while_reads_go_on)
{
    struct fix f;
    struct ap  p;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    atomic_store(&disk.write_error, SQLITE_FULL);
    ap_init(&p, "ann", "t", 1, "y");
    p.a.title = STR("lost");
    CHECK(ap_run(&f, &p) == ERR_FULL);
    CHECK(store_health(f.store) == ERR_FULL);
    CHECK(fix_edit(&f, "ann", "t", "lost too", false) == ERR_FULL);
    /* no write was needed to see this */
    CHECK(fix_append(&f, "ann", "t", 7, "y") == ERR_CONFLICT);
    CHECK(store_health(f.store) == ERR_FULL);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;");
    CHECK_STR(fix_list(&f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "t '' idle;");
    atomic_store(&disk.write_error, SQLITE_OK);
    CHECK(fix_append(&f, "ann", "t", 1, "z") == OK);
    CHECK(store_health(f.store) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;2 note z;");
    disk_end(&f);
}

TEST(an_i_o_error_is_told_as_such_and_as_full_when_the_system_says_no_space)
{
    struct fix f;

    disk_begin(&f);
    atomic_store(&disk.write_error, SQLITE_IOERR_WRITE);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == ERR_IO);
    CHECK(store_health(f.store) == ERR_IO);
    atomic_store(&disk.no_space, true);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == ERR_FULL);
    atomic_store(&disk.no_space, false);
    atomic_store(&disk.write_error, SQLITE_OK);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    disk_end(&f);
}

/* The file has changed, and there is nothing to look into it with. */
static void expect_not_looked(int why, enum err want)
{
    struct fix f;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    atomic_store(&disk.open_errno, why);
    REQUIRE(chmod(path, 0600) == 0); /* a change, if only of its time */
    CHECK(fix_append(&f, "ann", "t", 1, "y") == want);
    CHECK(atomic_load(&disk.not_opened) > 0);
    CHECK(store_health(f.store) != ERR_GONE);
    atomic_store(&disk.open_errno, 0);
    CHECK(fix_append(&f, "ann", "t", 1, "y") == OK);
    CHECK(store_health(f.store) == OK);
    disk_end(&f);
}

TEST(a_file_that_cannot_be_looked_at_is_not_taken_for_gone)
{
    expect_not_looked(EMFILE, ERR_NOMEM);
    expect_not_looked(EIO, ERR_IO);
}

TEST(a_store_nobody_writes_to_finds_out_by_itself_that_it_can_write_again)
{
    struct fix f;

    disk_begin(&f);
    atomic_store(&disk.write_error, SQLITE_FULL);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == ERR_FULL);
    atomic_store(&disk.write_error, SQLITE_OK);
    while (store_health(f.store) != OK) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "not_found");
    disk_end(&f);
}

TEST(when_the_commit_fails_every_append_of_the_batch_gets_the_error)
{
    static struct ap p[50];
    struct ap        first;
    struct fix       f;

    disk_begin(&f);
    CHECK(fix_append(&f, "zoe", "warm", 0, "x") == OK);
    hold_writer(&f, &first);
    for (int i = 0; i < 50; i++) {
        ap_init(&p[i], "ann", "t", (uint64_t)i, "x");
        ap_send(&f, &p[i]);
    }
    atomic_store(&disk.write_error, SQLITE_FULL);
    release(&f);
    fix_wait(&f);
    CHECK(first.e == OK);
    for (int i = 0; i < 50; i++) CHECK(p[i].e == ERR_FULL);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "not_found");
    atomic_store(&disk.write_error, SQLITE_OK);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    disk_end(&f);
}

/* What a kill at this moment would leave, opened again: the facts of ann's log t. */
static struct str after_a_kill(struct fix *f)
{
    struct str at = arena_printf(&f->arena, "%s.killed", path),
               cmd = arena_printf(&f->arena, "rm -f %s* && cp %s %s && cp %s-wal %s-wal", at.ptr,
                                  path, at.ptr, path, at.ptr);
    struct fix g;
    struct str text;

    REQUIRE(system(cmd.ptr) == 0);
    fix_init(&g);
    REQUIRE(fix_open(&g, at.ptr) == OK);
    text = arena_dup(&f->arena, fix_read(&g, "ann", "t", 0));
    fix_done(&g);
    return text;
}

TEST(an_append_whose_sync_failed_is_certainly_not_there_once_the_disk_answers_again)
{
    struct fix f;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    atomic_store(&disk.bad_syncs, 1);
    CHECK(fix_append(&f, "ann", "t", 1, "refused") == ERR_IO);
    CHECK_STR(after_a_kill(&f), "1 note x;");
    CHECK(fix_append(&f, "ann", "t", 1, "y") == OK);
    CHECK(store_health(f.store) == OK);
    CHECK_STR(after_a_kill(&f), "1 note x;2 note y;");
    disk_end(&f);
}

TEST(an_append_whose_sync_failed_on_a_disk_that_stays_bad_is_told_as_unsure)
{
    struct fix f;
    struct ap  p;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    atomic_store(&disk.bad_syncs, 1000000);
    ap_init(&p, "ann", "t", 1, "maybe");
    p.a.request_id = STR("r-1");
    CHECK(ap_run(&f, &p) == ERR_UNSURE);
    CHECK(store_health(f.store) == ERR_IO);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;"); /* it is not seen */
    atomic_store(&disk.bad_syncs, 0);
    ap_init(&p, "ann", "t", 1, "maybe");
    p.a.request_id = STR("r-1");
    CHECK(ap_run(&f, &p) == OK); /* the same request settles it: once */
    CHECK_STR(after_a_kill(&f), "1 note x;2 note maybe;");
    disk_end(&f);
}

TEST(what_is_refused_for_want_of_room_is_never_unsure)
{
    struct fix f;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    atomic_store(&disk.write_error, SQLITE_FULL);
    CHECK(fix_append(&f, "ann", "t", 1, "refused") == ERR_FULL);
    CHECK_STR(after_a_kill(&f), "1 note x;");
    atomic_store(&disk.write_error, SQLITE_OK);
    disk_end(&f);
}

TEST(closing_does_not_wait_for_a_disk_that_does_not_answer)
{
    struct ap  first;
    struct fix f;

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    hold_writer(&f, &first);
    CHECK(!store_close(f.store, 50));
    CHECK(!first.done);
    uv_sem_post(&disk.go);
    disk_end(&f);
    CHECK(first.e == OK);
}

TEST(a_log_that_another_program_keeps_long_is_said_and_cut_when_that_ends)
{
    struct fix f;
    sqlite3   *other;
    char      *body = malloc(1 << 20);

    REQUIRE(body);
    memset(body, 'x', (1 << 20) - 1);
    body[(1 << 20) - 1] = 0;
    begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    other = open_raw("BEGIN; SELECT count(*) FROM fact");
    for (uint64_t i = 1; i < 66; i++) CHECK(fix_append(&f, "ann", "t", i, body) == OK);
    while (!store_problem(f.store).ptr) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(str_find(store_problem(f.store), STR("write-ahead log")) >= 0);
    CHECK(store_health(f.store) == OK);
    CHECK(store_log_bytes(f.store) > 64 << 20);
    sqlite3_close(other);
    while (store_problem(f.store).ptr) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(store_log_bytes(f.store) < 8 << 20);
    fix_done(&f);
    free(body);
}

TEST(what_gathers_while_the_disk_works_is_committed_with_one_sync)
{
    static struct ap p[400];
    static char      name[400][8];
    struct ap        first;
    struct fix       f;
    int              before;

    disk_begin(&f);
    CHECK(fix_append(&f, "zoe", "warm", 0, "x") == OK);
    hold_writer(&f, &first);
    before = atomic_load(&disk.syncs);
    for (int i = 0; i < 400; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        ap_init(&p[i], "ann", name[i], 0, "x");
        ap_send(&f, &p[i]);
    }
    release(&f);
    fix_wait(&f);
    for (int i = 0; i < 400; i++) CHECK(p[i].e == OK);
    CHECK(atomic_load(&disk.syncs) - before == 1);
    disk_end(&f);
}

TEST(reads_do_not_wait_for_the_writer)
{
    struct ap  first;
    struct fix f;
    struct rd  d = { 0 };

    disk_begin(&f);
    CHECK(fix_append(&f, "ann", "t", 0, "x") == OK);
    hold_writer(&f, &first);
    rd_send(&f, &d, "ann", "t", 0);
    while (!d.done) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK_STR(buf_view(&d.text), "1 note x;");
    CHECK(!first.done);
    release(&f);
    fix_wait(&f);
    buf_done(&d.text);
    disk_end(&f);
}

TEST(nothing_is_answered_before_it_is_on_the_disk)
{
    struct ap  first;
    struct fix f;

    disk_begin(&f);
    hold_writer(&f, &first);
    for (int i = 0; i < 20; i++) uv_run(&f.loop.uv, UV_RUN_NOWAIT);
    CHECK(!first.done);
    release(&f);
    fix_wait(&f);
    CHECK(first.e == OK);
    disk_end(&f);
}

TEST(an_append_too_large_for_memory_fails_alone)
{
    size_t     len = 4 << 20;
    char      *body = malloc(len + 1);
    struct ap  held, big, small;
    struct fix f;

    REQUIRE(body);
    memset(body, 'x', len);
    body[len] = 0;
    disk_begin(&f);
    hold_writer(&f, &held);
    ap_init(&big, "ann", "big", 0, body);
    ap_init(&small, "ann", "small", 0, "x");
    ap_send(&f, &big);
    ap_send(&f, &small);
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + (2 << 20));
    release(&f);
    fix_wait(&f);
    sqlite3_hard_heap_limit64(0);
    CHECK(big.e == ERR_NOMEM);
    /* SQLite may drop the whole transaction, but not the process */
    CHECK(small.e == OK || small.e == ERR_NOMEM);
    CHECK(store_health(f.store) == OK);
    CHECK_STR(fix_read(&f, "ann", "big", 0), "not_found");
    CHECK(fix_append(&f, "ann", "big", 0, body) == OK);
    disk_end(&f);
    free(body);
}

TEST(opening_without_memory_is_refused_and_leaves_nothing_behind)
{
    struct fix f;
    enum err   e = ERR_NOMEM;
    long       n;

    fix_init(&f);
    new_path();
    for (n = 0; n < 100 && e; n++) {
        mem_fail_at(n);
        e = fix_open(&f, path);
        mem_fail_at(-1);
        CHECK(e == OK || (e == ERR_NOMEM && f.why.len > 0 && !f.store));
    }
    CHECK(e == OK);
    CHECK(n > 1);
    fix_done(&f);
}

/* --- a locked file -------------------------------------------------------------------------- */

TEST(a_file_locked_by_another_program_is_busy_and_heals_while_reads_go_on)
{
    struct fix f;
    sqlite3   *other;

    begin(&f);
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
    begin(&f);
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
