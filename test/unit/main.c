/* main.c -- runs every registered test, or those whose name or file contains one of the
 * arguments. */
#include <stdlib.h>
#include <unistd.h>

#include "store/sqlite_db.h"
#include "test.h"
#include "tool/process/keeper.h"

jmp_buf             test_leave;
static struct test *tests, **tail = &tests;
static bool         failed_now;
static char         dir[] = "/tmp/parley-unit-XXXXXX";
static bool         dir_made;
static const char  *place;

void test_register(struct test *t)
{
    *tail = t;
    tail = &t->next;
}

void test_place(const char *word)
{
    place = word;
}

void test_failed(const char *file, int line, const char *what)
{
    failed_now = true;
    printf("  %s:%d: %s%s%s\n", file, line, what, place ? ", in " : "", place ? place : "");
}

void test_check_str(const char *file, int line, struct str got, struct str want)
{
    if (str_eq(got, want)) return;
    test_failed(file, line, "texts differ");
    printf("    got:  " STR_FMT "\n    want: " STR_FMT "\n", STR_ARG(got), STR_ARG(want));
}

static void remove_dir(void)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    if (system(cmd) != 0) printf("note: could not remove %s\n", dir);
}

const char *test_dir(void)
{
    if (!dir_made) {
        if (!mkdtemp(dir)) abort();
        dir_made = true;
        atexit(remove_dir);
    }
    return dir;
}

static bool wanted(const struct test *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(t->name, argv[i]) || strstr(t->file, argv[i])) return true;
    return argc == 1;
}

/* Apart from main(), whose variables longjmp might otherwise forget. */
static bool passes(const struct test *t)
{
    failed_now = false;
    place = NULL;
    if (setjmp(test_leave) == 0) t->run();
    return !failed_now;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    /* tests of tools start this program again */
    if (keeper_is(argc, argv)) return keeper_main(argc, argv);
    db_faults(); /* a test that opens SQLite by itself must not be too early for the others */

    for (struct test *t = tests; t; t = t->next) {
        if (!wanted(t, argc, argv)) continue;
        if (passes(t)) {
            passed++;
        } else {
            failed++;
            printf("FAILED: %s\n", t->name);
        }
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
