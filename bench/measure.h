/* measure.h -- what is counted: times in a histogram, and what processes use, from /proc. */
#ifndef PARLEY_BENCH_MEASURE_H
#define PARLEY_BENCH_MEASURE_H

#include <string.h>
#include <unistd.h>

#include "bench.h"

/* --- times -------------------------------------------------------------------------- */

/* 64 steps per power of two: a quantile is right to within 1.6 %, however many are counted. */
#define HIST_STEPS 64
#define HIST_SIZE  (64 * HIST_STEPS)

struct hist {
    uint64_t count, at[HIST_SIZE];
};

static inline void hist_add(struct hist *h, uint64_t ns)
{
    /* shift that leaves 6 bits */
    unsigned top = ns >= HIST_STEPS ? 63u - (unsigned)__builtin_clzll(ns) - 5u : 0;
    h->at[top ? (top << 6) + ((ns >> (top - 1)) & (HIST_STEPS - 1)) : ns]++;
    h->count++;
}

static inline uint64_t hist_value(unsigned i)
{
    unsigned top = i >> 6;
    return top ? ((uint64_t)(HIST_STEPS + (i & (HIST_STEPS - 1)))) << (top - 1) : i;
}

static inline double hist_us(const struct hist *h, double quantile)
{
    uint64_t before = 0, want = (uint64_t)(quantile * (double)(h->count ? h->count - 1 : 0));
    for (unsigned i = 0; i < HIST_SIZE && h->count; i++)
        if ((before += h->at[i]) > want) return (double)hist_value(i) / 1000;
    return 0;
}

/* --- processes ------------------------------------------------------------------------ */

struct pids {
    int at[64];
    int count;
};

static inline double pids_cpu_s(const struct pids *p)
{
    unsigned long ticks = 0;
    for (int i = 0; i < p->count; i++) {
        char          name[64], line[1024];
        unsigned long user = 0, kernel = 0;
        snprintf(name, sizeof name, "/proc/%d/stat", p->at[i]);
        FILE *f = fopen(name, "r");
        if (!f) continue;
        /* the name before it may hold anything */
        char *end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        if (end)
            sscanf(end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
        ticks += user + kernel;
        fclose(f);
    }
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* "VmRSS:" or "RssAnon:" (the memory that is the process's own), in kB. */
static inline long pids_kb(const struct pids *p, const char *what)
{
    long sum = 0;
    for (int i = 0; i < p->count; i++) {
        char name[64], line[256];
        snprintf(name, sizeof name, "/proc/%d/status", p->at[i]);
        FILE *f = fopen(name, "r");
        while (f && fgets(line, sizeof line, f))
            if (!strncmp(line, what, strlen(what))) sum += atol(line + strlen(what));
        if (f) fclose(f);
    }
    return sum;
}

#endif
