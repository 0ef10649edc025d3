/* test_store_gone.c -- what was deleted leaves the file, its write-ahead log and the index of
 * titles. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_file_help.h"
#include "store_suite.h"
#include "test.h"

/* --- titles ------------------------------------------------------------------------------ */

/* More than stay out of the index because they are the newest. */
enum { OTHERS = 300 };

static void others(struct fix *f)
{
    static struct ap p[OTHERS];
    static char      names[OTHERS][8];

    for (int i = 0; i < OTHERS; i++) {
        snprintf(names[i], sizeof names[i], "o%d", i);
        ap_init(&p[i], "ann", names[i], 0, "x");
        p[i].a.title = STR("another");
        ap_send(f, &p[i]);
    }
    fix_wait(f);
    while (!suite_ask_file("SELECT titled FROM store")) fix_turn(f);
}

#define LETTERS                                                                    \
    "SELECT (SELECT count(*) FROM title_gram_data WHERE"                           \
    " instr(block, x'f0908d88') > 0) + (SELECT count(*) FROM title_gram_idx WHERE" \
    " instr(CAST(term AS BLOB), x'f0908d88') > 0)"

/* A conversation with a title of rare letters, old enough to be in the index. */
static void begin(struct fix *f)
{
    suite_new_file(f);
    suite_thread(f, "ann", "t", "a \U00010348 title", NULL, 1);
    others(f);
    CHECK(suite_ask_file(LETTERS) > 0);
}

static void expect_gone(struct fix *f, const char *words, const char *rows)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .search = str_c(words) };

    while (suite_ask_file("SELECT title_owed FROM store")) uv_sleep(20);
    CHECK(suite_ask_file(LETTERS) == 0);
    suite_sql("UPDATE thread SET updated_ms = 0 WHERE name = 't'", "");
    CHECK_STR(fix_list(f, l, NULL), rows);
    fix_done(f);
}

TEST(the_letters_of_a_deleted_title_leave_its_index)
{
    struct fix f;

    begin(&f);
    CHECK(fix_remove(&f, "ann", "t", "{}", 99) == OK);
    expect_gone(&f, "\U00010348 ti", "");
}

TEST(the_letters_of_a_title_that_was_changed_leave_its_index)
{
    struct fix f;

    begin(&f);
    CHECK(fix_edit(&f, "ann", "t", "Kyoto", false) == OK);
    expect_gone(&f, "kyoto", "t 'Kyoto' idle;");
}

TEST(the_letters_of_a_title_that_was_taken_out_by_its_age_leave_its_index)
{
    struct fix f;

    begin(&f);
    CHECK(fix_trim(&f, "ann", "t",
                   (struct store_trim){ .expected = 1, .title = STR("[removed]") }) == OK);
    expect_gone(&f, "[removed", "t '[removed]' idle;");
}

/* The first one pays for what is owed, and an hour goes by before it is done again. */
TEST(the_letters_of_the_titles_of_somebody_who_is_forgotten_leave_the_index_at_once)
{
    struct fix f;

    begin(&f);
    CHECK(fix_edit(&f, "ann", "o1", "Kyoto", false) == OK);
    while (suite_ask_file("SELECT title_owed FROM store")) uv_sleep(20);
    CHECK(fix_remove(&f, "ann", "t", "{}", 99) == OK);
    CHECK(suite_ask_file("SELECT title_owed FROM store") == 1);
    CHECK(fix_erase(&f, (struct store_erase){ .owner = STR("ann"),
                                              .by = STR("ann"),
                                              .decided_by = STR("ann") }) == OK);
    expect_gone(&f, "\U00010348 ti", "");
}

/* --- the file and its log ------------------------------------------------------------------- */

/* Do these bytes stand in it? Where it is not there, they do not. */
static bool has(const char *name, const char *words)
{
    int         fd = open(name, O_RDONLY);
    struct stat st;
    bool        found;

    if (fd < 0) return false;
    REQUIRE(fstat(fd, &st) == 0);
    char *all = malloc((size_t)st.st_size + 1);
    REQUIRE(all);
    ssize_t n = pread(fd, all, (size_t)st.st_size, 0);
    found = n > 0 && str_find(str_n(all, (size_t)n), str_c(words)) >= 0;
    free(all);
    close(fd);
    return found;
}

static bool anywhere(const char *words)
{
    return has(file_path, words) || has(file_beside("-wal"), words);
}

/* One in a page beside others, one in pages of its own, and both in conversations that stand
 * between others. */
static void tell(struct fix *f)
{
    char *body = malloc(64 << 10);

    REQUIRE(body);
    file_new();
    file_begin(f);
    CHECK(fix_append(f, "ann", "before", 0, "a heron") == OK);
    memset(body, '.', 64 << 10);
    memcpy(body, "an okapi", 8);
    memcpy(body + (64 << 10) - 10, "an okapi", 9);
    CHECK(fix_append(f, "ann", "t", 0, "an ocelot") == OK);
    CHECK(fix_append(f, "ann", "t", 1, body) == OK);
    CHECK(fix_edit(f, "ann", "t", "An Ibex", false) == OK);
    CHECK(fix_append(f, "ann", "after", 0, "a heron") == OK);
    CHECK(anywhere("an ocelot") && anywhere("an okapi") && anywhere("An Ibex"));
    free(body);
}

static sqlite3 *reader(void)
{
    sqlite3 *db;

    REQUIRE(sqlite3_open(file_path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM fact", NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

static bool any_left(void)
{
    return anywhere("an ocelot") || anywhere("an okapi") || anywhere("An Ibex");
}

TEST(what_was_deleted_leaves_the_file_and_its_log)
{
    struct fix f;

    tell(&f);
    CHECK(fix_remove(&f, "ann", "t", "{}", 99) == OK);
    while (any_left()) uv_sleep(20);
    CHECK(anywhere("a heron"));
    CHECK(fix_append(&f, "ann", "after", 1, "goes on") == OK);
    CHECK_STR(fix_read(&f, "ann", "after", 0), "1 note a heron;2 note goes on;");
    fix_done(&f);
}

TEST(words_that_somebody_still_reads_leave_the_log_when_that_ends)
{
    struct fix f;
    sqlite3   *other;

    tell(&f);
    other = reader();
    CHECK(fix_remove(&f, "ann", "t", "{}", 99) == OK);
    for (uint64_t i = 1; i < 100; i++) CHECK(fix_append(&f, "ann", "after", i, "goes on") == OK);
    CHECK(any_left());
    sqlite3_close(other);
    while (any_left()) uv_sleep(20);
    CHECK(fix_append(&f, "ann", "after", 100, "and on") == OK);
    fix_done(&f);
}

TEST(words_in_the_log_of_a_crash_leave_it_after_the_next_start)
{
    char       from[300];
    struct fix f;
    sqlite3   *other;

    tell(&f);
    other = reader(); /* or it may be cut before it is copied */
    CHECK(fix_remove(&f, "ann", "t", "{}", 99) == OK);
    strcpy(from, file_path);
    file_new();
    file_copy(from, file_path);
    strcat(from, "-wal");
    file_copy(from, file_beside("-wal"));
    sqlite3_close(other);
    fix_done(&f);
    CHECK(any_left());
    file_begin(&f);
    while (any_left()) uv_sleep(20);
    CHECK_STR(fix_read(&f, "ann", "after", 0), "1 note a heron;");
    fix_done(&f);
}
