/* store_appends.c -- what the store costs: appends, cold reads, a search that finds nothing, gates
 * that are due.
 *
 *     store_appends URL [APPENDS [LOGS [THREADS]]]
 *
 * Appends one fact after the other to LOGS logs at once (each waits for its own answer, so a batch
 * is at most LOGS long), then reads the logs, then makes THREADS threads with titles and looks for
 * a word that none has, with reads of one log in between. Prints one JSON line. URL is a path that
 * does not exist yet, or postgresql://... with an empty schema (scripts/postgres fsync=on starts a
 * server); what was made is left behind. The processor time is this process's: a database has its
 * own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "store/store.h"

#define GATES       10000
#define DUE_AT_ONCE 250
#define BODY_LEN    600 /* a step of a few sentences */

struct log {
    struct store_append   a;
    struct store_fact     fact;
    struct store_approval gate;
    char                  name[24];
    uint64_t              seq;
    struct store_hold     hold;
};

static struct loop   loop;
static struct store *store;
static struct log   *logs;
static long          left, pending, failed;
static char          body[BODY_LEN + 1];
static bool          fresh; /* every append makes a log of its own */
static bool          gates; /* ... with a question whose time is over */

static double now_s(void)
{
    return (double)clock_mono_ns() / 1e9;
}

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void on_append(struct store_append *a, enum err e);

static void append_next(struct log *l)
{
    if (left-- <= 0) return;
    if (fresh) {
        snprintf(l->name, sizeof l->name, gates ? "gate-%ld" : "new-%ld", left);
        l->seq = 0;
        l->hold = (struct store_hold){ 0 };
    }
    l->fact = (struct store_fact){ .at_ms = clock_wall_ms(),
                                   .kind = STR("step"),
                                   .body = str_n(body, fresh ? 40 : BODY_LEN) };
    l->a = (struct store_append){
        .log = { STR("ann"), str_c(l->name) },
        .expected = l->seq,
        .hold = l->hold,
        .facts = &l->fact,
        .fact_count = 1,
        .title = l->seq ? STR_NONE : STR("What the weather was like in Kyoto last week"),
        .done = on_append
    };
    if (gates) {
        l->gate = (struct store_approval){ .id = str_c(l->name),
                                           .call = STR("call"),
                                           .tool = STR("pay"),
                                           .status = STR("pending"),
                                           .body = str_n(body, BODY_LEN),
                                           .requested_ms = 1,
                                           .expires_ms = 1 + left };
        l->a.approvals = &l->gate;
        l->a.approval_count = 1;
    }
    pending++;
    store_append(store, &l->a);
}

static void on_append(struct store_append *a, enum err e)
{
    struct log *l = LIST_ITEM(a, struct log, a);
    pending--;
    if (e) failed++;
    l->seq = a->new_seq;
    l->hold = a->hold;
    append_next(l);
}

static void wait_all(void)
{
    while (pending) uv_run(&loop.uv, UV_RUN_ONCE);
}

static void append_all(long count, long at_once)
{
    left = count;
    for (long i = 0; i < at_once; i++) append_next(&logs[i]);
    wait_all();
}

static bool was_read;

static void on_read(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    (void)r, (void)facts, (void)count;
    if (e) failed++;
    was_read = true;
}

static void on_list(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    (void)l, (void)rows, (void)count, (void)next;
    if (e) failed++;
    pending--;
}

static double read_log(const struct log *l)
{
    double            begin = now_s();
    struct store_read r = { .log = { STR("ann"), str_c(l->name) }, .done = on_read };

    was_read = false;
    store_read(store, &r);
    while (!was_read) uv_run(&loop.uv, UV_RUN_ONCE);
    return now_s() - begin;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? atol(argv[2]) : 50000, at_once = argc > 3 ? atol(argv[3]) : 64;
    long threads = argc > 4 ? atol(argv[4]) : 100000;
    struct store_list find[4];
    struct arena      arena;
    struct str        why;
    double            begin, wall, cpu, read, search, made, slowest = 0;

    if (argc < 2 || loop_init(&loop)) return 2;
    arena_init(&arena, 0);
    if (store_open(&loop, str_c(argv[1]), &(struct store_place){ .url = STR("") }, &arena, &store,
                   &why)) {
        fprintf(stderr, STR_FMT "\n", STR_ARG(why));
        return 1;
    }
    memset(body, 'x', BODY_LEN);
    logs = calloc((size_t)at_once, sizeof *logs);
    for (long i = 0; i < at_once; i++) snprintf(logs[i].name, sizeof logs[i].name, "log-%ld", i);
    begin = now_s(), cpu = cpu_s();
    append_all(count, at_once);
    wall = now_s() - begin, cpu = cpu_s() - cpu;
    printf("{\"appends\":%ld,\"at_once\":%ld,\"per_second\":%.0f,\"cpu_us_per_append\":%.2f", count,
           at_once, (double)count / wall, cpu * 1e6 / (double)count);
    begin = now_s();
    for (long i = 0; i < at_once; i++) read_log(&logs[i]);
    read = now_s() - begin;
    printf(",\"read_us_per_fact\":%.2f", read * 1e6 / (double)count);
    struct log *one = calloc(1, sizeof *one);
    fresh = false;
    snprintf(one->name, sizeof one->name, "small");
    left = 1;
    append_next(one);
    wait_all();
    fresh = true;
    begin = now_s();
    append_all(threads, at_once);
    made = now_s() - begin;
    printf(",\"threads\":%ld,\"made_per_second\":%.0f", threads, (double)threads / made);
    fflush(stdout);
    begin = now_s();
    for (int i = 0; i < 4; i++) {
        find[i] = (struct store_list){ .kind = STORE_THREADS,
                                       .owner = STR("ann"),
                                       .search = STR("zebra"),
                                       .limit = 50,
                                       .done = on_list };
        pending++;
        store_list(store, &find[i]);
    }
    while (pending) {
        double took = read_log(one);
        if (took > slowest) slowest = took;
    }
    search = now_s() - begin;
    gates = true;
    append_all(GATES, at_once);
    begin = now_s();
    for (int i = 0; i < GATES / DUE_AT_ONCE; i++) {
        find[0] = (struct store_list){
            .kind = STORE_DUE, .due_ms = INT64_MAX, .limit = DUE_AT_ONCE, .done = on_list
        };
        pending++;
        store_list(store, &find[0]);
        wait_all();
    }
    printf(",\"due_us_per_row\":%.2f", (now_s() - begin) * 1e6 / GATES);
    printf(",\"four_searches_ms\":%.1f,\"slowest_read_meanwhile_ms\":%.2f,\"failed\":%ld}\n",
           search * 1e3, slowest * 1e3, failed);
    (void)!store_close(store, 60000);
    return failed != 0;
}
