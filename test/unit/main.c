/* main.c -- runs every registered test, or those whose name or file contains one of the
 * arguments. VERBOSE=1 tells what each one took.
 *
 * Most of them wait for somebody most of the time, so several processes (JOBS=n; one where words
 * choose) take them from one list. Each has its own folder and, when a test wants one, its own
 * PostgreSQL; what a test prints comes out in one piece. One that dies takes only its own test
 * along. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
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

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

double test_worked(void)
{
    struct rusage own, theirs;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &theirs);
    return seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(theirs.ru_utime) +
           seconds(theirs.ru_stime);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* With VERBOSE=1: which it was, how long it took, and how much of that was work. */
static bool told(const struct test *t)
{
    double from = now(), work = test_worked();
    bool   good = passes(t);

    if (getenv("VERBOSE"))
        printf("%8.3f s %8.3f worked  %s\n", now() - from, test_worked() - work, t->name);
    return good;
}

#define JOBS     4
#define JOBS_MAX 64

/* What the processes share. */
static struct {
    atomic_int taken, passed, failed;
    atomic_int at[JOBS_MAX]; /* the test that each is at, from 1 on; 0: none */
} * all;

static void run_one(const struct test *t)
{
    if (told(t)) {
        all->passed++;
    } else {
        all->failed++;
        printf("FAILED: %s\n", t->name);
    }
    fflush(stdout);
}

static void run_taken(int me, int argc, char **argv)
{
    int mine = atomic_fetch_add(&all->taken, 1), i = 0;

    for (struct test *t = tests; t; t = t->next) {
        if (!wanted(t, argc, argv) || i++ != mine) continue;
        all->at[me] = i;
        run_one(t);
        all->at[me] = 0;
        mine = atomic_fetch_add(&all->taken, 1);
    }
}

static _Noreturn void work(int me, int argc, char **argv)
{
    static char piece[1 << 20];

    setvbuf(stdout, piece, _IOFBF, sizeof piece);
    run_taken(me, argc, argv);
    exit(0);
}

/* Of a process that was to end well: the test it was at is over, or all were, and then it left
 * something behind. */
static bool ended_badly(int me, int status, int argc, char **argv)
{
    int i = 0;

    if (status == 0) return false;
    all->failed++;
    printf("  a process ended with status %#x\n", (unsigned)status);
    for (struct test *t = tests; t; t = t->next)
        if (wanted(t, argc, argv) && ++i == all->at[me]) printf("FAILED: %s\n", t->name);
    return all->at[me] != 0;
}

static pid_t begin_work(int me, int argc, char **argv)
{
    fflush(stdout);
    all->at[me] = 0;
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) work(me, argc, argv);
    return pid;
}

static void run_all(int jobs, int argc, char **argv)
{
    pid_t pids[JOBS_MAX];

    for (int i = 0; i < jobs; i++) pids[i] = begin_work(i, argc, argv);
    for (int i = 0; i < jobs; i++) {
        int status = -1;
        while (waitpid(pids[i], &status, 0) > 0 && ended_badly(i, status, argc, argv))
            pids[i] = begin_work(i, argc, argv); /* the others of the list are nobody's fault */
    }
}

int main(int argc, char **argv)
{
    const char *said = getenv("JOBS");
    int         jobs = said ? atoi(said) : argc > 1 ? 1 : JOBS;
    /* tests of tools start this program again */
    if (keeper_is(argc, argv)) return keeper_main(argc, argv);
    db_faults(); /* a test that opens SQLite by itself must not be too early for the others */

    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) abort();
    if (jobs <= 1) run_taken(0, argc, argv);
    else run_all(jobs < JOBS_MAX ? jobs : JOBS_MAX, argc, argv);
    printf("%d passed, %d failed\n", all->passed, all->failed);
    return all->failed != 0 || all->passed == 0;
}
