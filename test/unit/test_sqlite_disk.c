/* test_sqlite_disk.c -- the SQLite store on a disk that fails when told to, and group commit.
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
#include "sqlite_help.h"

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
    sqlite_begin(f);
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
    sqlite_begin(&f);
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
