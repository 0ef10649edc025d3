/* test_store_restore.c -- `parley restore`: a backup is brought whole or nothing changes. */
#include "store_file_help.h"

static enum err restore(struct fix *f, const char *from, struct store_restored *did)
{
    return store_restore(str_c(file_path), str_c(from), false, &f->arena, did, &f->why);
}

/* At `path` a crashed store with six words, and beside it a backup with three. */
static const char *crashed(void)
{
    static char backup[300];
    char        whole[256];

    file_backup_over_crash("VACUUM INTO '%s'");
    strcpy(whole, file_path);
    whole[strlen(whole) - strlen(".crash")] = 0;
    snprintf(backup, sizeof backup, "%s.backup", whole);
    file_copy(whole,
              file_path); /* its own file again; closed cleanly, so the log is of the time before */
    file_sql(file_path, "PRAGMA wal_checkpoint(TRUNCATE)");
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
    CHECK(file_there(kept) && !file_there(file_beside("-wal")) &&
          !file_there(file_beside(".restoring")) && !file_there(file_beside(".copying")));
    REQUIRE(fix_open(&f, file_path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    CHECK(fix_append(&f, "ann", "t", 3, "goes on") == OK);
    fix_done(&f);
    fix_init(&f);
    CHECK(restore(&f, kept, &did) == OK); /* and back again */
    REQUIRE(fix_open(&f, file_path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 3), "4 note 3;5 note 4;6 note 5;");
    fix_done(&f);
}

TEST(nothing_is_restored_under_a_store_that_is_open)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    file_begin(&f);
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
    CHECK(restore(&f, file_beside(".none"), &did) == ERR_IO);
    CHECK(restore(&f, file_path, &did) == ERR_EXISTS);
    close(open(file_beside(".text"), O_CREAT | O_WRONLY, 0600));
    REQUIRE(truncate(file_beside(".text"), 5000) == 0);
    CHECK(restore(&f, file_beside(".text"), &did) == ERR_TYPE);
    file_sql(file_beside(".recipes"), "CREATE TABLE recipes(name TEXT)");
    CHECK(restore(&f, file_beside(".recipes"), &did) == ERR_TYPE);
    CHECK(str_find(f.why, STR("Nothing was changed")) >= 0);
    REQUIRE(fix_open(&f, file_path) == OK);
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
    REQUIRE(fix_open(&f, file_path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 5), "6 note 5;");
    fix_done(&f);
}

TEST(a_backup_with_a_flipped_bit_in_a_fact_is_refused_unless_it_is_wanted_anyway)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    file_sql(backup, "UPDATE fact SET body = '7' WHERE seq = 2");
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == ERR_DAMAGED);
    CHECK(str_find(f.why, STR("1 conversations (t)")) >= 0 &&
          str_find(f.why, STR("Nothing was changed")) >= 0);
    CHECK(store_restore(str_c(file_path), str_c(backup), true, &f.arena, &did, &f.why) == OK);
    CHECK(did.threads == 1 && did.damaged == 1);
    fix_done(&f);
}

TEST(a_backup_with_an_approval_that_is_not_what_was_stored_is_refused)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    file_sql(backup,
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

    file_copy(backup, file_beside(".restoring"));
    REQUIRE(unlink(file_path) == 0); /* moved aside, and then the power failed */
    file_begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;2 note 1;3 note 2;");
    CHECK(!file_there(file_beside(".restoring")));
    fix_done(&f);
}

TEST(a_store_is_restored_where_there_was_none)
{
    const char           *backup = crashed();
    struct store_restored did;
    struct fix            f;

    file_new();
    fix_init(&f);
    CHECK(restore(&f, backup, &did) == OK);
    CHECK(!did.kept.ptr);
    REQUIRE(fix_open(&f, file_path) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 2), "3 note 2;");
    fix_done(&f);
}
