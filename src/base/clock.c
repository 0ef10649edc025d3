/* clock.c -- the system's clocks; in test builds the wall clock can be shifted.
 *
 * PARLEY_CLOCK_SHIFT_MS is added as it stood at first use. PARLEY_CLOCK_FILE
 * names a file with a number of milliseconds that is added as well, and is
 * looked at every time: so a test can let a day pass.
 */
#include "base/clock.h"

#include <string.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Four-digit years only: 0000-01-01 and the last millisecond of 9999. */
#define WALL_MIN_MS INT64_C(-62167219200000)
#define WALL_MAX_MS INT64_C(253402300799999)

static struct timespec now(clockid_t which)
{
    struct timespec t;
    must(clock_gettime(which, &t) == 0);
    return t;
}

uint64_t clock_mono_ns(void)
{
    struct timespec t = now(CLOCK_MONOTONIC);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_ns() / 1000000u;
}

#ifdef PARLEY_TEST
static int64_t number_in(const char *path)
{
    char  text[32] = "";
    FILE *f = path ? fopen(path, "re") : NULL;
    if (!f) return 0;
    if (!fgets(text, sizeof text, f)) text[0] = 0;
    fclose(f);
    return strtoll(text, NULL, 10);
}

static int64_t shift_ms(void)
{
    static _Atomic int64_t fixed = INT64_MIN; /* INT64_MIN: not read yet */
    if (fixed == INT64_MIN) {
        const char *env = getenv("PARLEY_CLOCK_SHIFT_MS");
        fixed = env ? strtoll(env, NULL, 10) : 0;
    }
    /* at once, so that a test need not wait */
    return fixed + number_in(getenv("PARLEY_CLOCK_FILE"));
}
#else
static int64_t shift_ms(void)
{
    return 0;
}
#endif

static _Atomic int64_t offset;

void clock_offset(int64_t ms)
{
    offset = ms;
}
int64_t clock_offset_ms(void)
{
    return offset;
}

int64_t clock_wall_ms(void)
{
    struct timespec t = now(CLOCK_REALTIME);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + shift_ms() + offset;
}

static void digits(char *out, int count, int value)
{
    for (; count; value /= 10) out[--count] = (char)('0' + value % 10);
}

void clock_rfc3339(int64_t wall_ms, char out[CLOCK_RFC3339_LEN + 1])
{
    if (wall_ms < WALL_MIN_MS) wall_ms = WALL_MIN_MS;
    if (wall_ms > WALL_MAX_MS) wall_ms = WALL_MAX_MS;
    int       ms = (int)((wall_ms % 1000 + 1000) % 1000); /* before 1970 too */
    time_t    seconds = (time_t)((wall_ms - ms) / 1000);
    struct tm t;
    must(gmtime_r(&seconds, &t));
    memcpy(out, "0000-00-00T00:00:00.000Z", CLOCK_RFC3339_LEN + 1);
    digits(out, 4, t.tm_year + 1900);
    digits(out + 5, 2, t.tm_mon + 1);
    digits(out + 8, 2, t.tm_mday);
    digits(out + 11, 2, t.tm_hour);
    digits(out + 14, 2, t.tm_min);
    digits(out + 17, 2, t.tm_sec);
    digits(out + 20, 3, ms);
}

bool clock_parse_rfc3339(struct str text, int64_t *ms)
{
    char      z[32];
    struct tm tm = { 0 };
    int       used = 0, milli = 0;

    if (text.len < 20 || text.len >= sizeof z || text.ptr[text.len - 1] != 'Z') return false;
    memcpy(z, text.ptr, text.len);
    z[text.len] = '\0';
    if (sscanf(z, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &used) != 6 ||
        used != 19)
        return false;
    if (z[19] == '.') {
        int scale = 100, i = 20;
        for (; z[i] >= '0' && z[i] <= '9'; i++, scale /= 10) milli += (z[i] - '0') * scale;
        used = i > 20 ? i : -1;
    }
    if (used < 0 || strcmp(z + used, "Z") != 0 || tm.tm_mon < 1 || tm.tm_mon > 12 ||
        tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ms = (int64_t)timegm(&tm) * 1000 + milli;
    return true;
}
