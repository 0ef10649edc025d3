/* bench.h -- what the mock upstream and the load client agree on.
 *
 * Stamps: every token's text begins with '@' and 16 hex digits, the monotonic
 * time in nanoseconds at which the upstream wrote it. They survive whatever a
 * server wraps around a token, so a raw proxy, a re-encoder and a WebSocket are
 * measured by the same code, and "added latency" is one subtraction.
 *
 * Orders: what the upstream is to send stands in the user's own message, as
 * "[bench n=100 us=50000 b=1]", because a server that builds its own request
 * carries nothing else through. n tokens; us microseconds apart, 0 for all at once;
 * b tokens per write when all at once.
 */
#ifndef PARLEY_BENCH_H
#define PARLEY_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STAMP_MARK   '@'
#define STAMP_DIGITS 16
#define ORDER        "[bench n=%d us=%d b=%d]"
#define ORDER_BEGIN  "[bench n="

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

_Noreturn static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void *need(void *p)
{
    if (!p) die("memory");
    return p;
}

#endif
