/* test_clock.c -- two clocks, and how a time is written. */
#include "base/clock.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static const char *written(int64_t ms)
{
    static char out[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, out);
    return out;
}

TEST(a_time_is_written_as_rfc_3339)
{
    CHECK(strcmp(written(0), "1970-01-01T00:00:00.000Z") == 0);
    CHECK(strcmp(written(1794773845123), "2026-11-15T20:17:25.123Z") == 0);
    CHECK(strcmp(written(951782400999), "2000-02-29T00:00:00.999Z") == 0);
    CHECK(strcmp(written(-1), "1969-12-31T23:59:59.999Z") == 0);
}

TEST(a_time_beyond_the_calendar_is_its_edge)
{
    CHECK(strcmp(written(INT64_MAX), "9999-12-31T23:59:59.999Z") == 0);
    CHECK(strcmp(written(INT64_MIN), "0000-01-01T00:00:00.000Z") == 0);
}

TEST(the_monotonic_clock_never_goes_back)
{
    uint64_t last = clock_mono_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_mono_ns();
        CHECK(now >= last);
        last = now;
    }
    CHECK(clock_mono_ms() >= last / 1000000);
}

static int64_t system_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The clock is that of the system and `ms` more. */
static bool shifted_by(int64_t ms)
{
    int64_t before = system_ms(), got = clock_wall_ms() - ms;
    return got >= before && got <= system_ms();
}

TEST(the_wall_clock_is_the_systems)
{
    CHECK(shifted_by(0));
}

static void write_number(const char *path, long long n)
{
    FILE *f = fopen(path, "w");
    if (!f) _exit(9);
    fprintf(f, "%lld\n", n);
    fclose(f);
}

/* In a child, so that the other tests keep their time. */
static void shifted_child(const char *path)
{
    setenv("PARLEY_CLOCK_FILE", path, 1);
    if (!shifted_by(3600000)) _exit(1);
    write_number(path, 7200000);
    if (!shifted_by(7200000)) _exit(2);
    _exit(0);
}

TEST(a_test_can_shift_the_wall_clock_while_it_runs)
{
    char path[128];
    int  status = -1;
    snprintf(path, sizeof path, "%s/clock", test_dir());
    write_number(path, 3600000);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) shifted_child(path);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* This shift is read once, so the test runs itself again in a new process that has it. */
TEST(the_environment_shifts_the_wall_clock)
{
    char self[400], command[600];
    if (getenv("PARLEY_CLOCK_SHIFT_MS")) {
        CHECK(shifted_by(atoll(getenv("PARLEY_CLOCK_SHIFT_MS"))));
        return;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    REQUIRE(n > 0);
    self[n] = 0;
    snprintf(command, sizeof command,
             "PARLEY_CLOCK_SHIFT_MS=-86400000 '%s' environment_shifts > /dev/null", self);
    CHECK(system(command) == 0);
}
