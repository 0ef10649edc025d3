/* model_streams.c -- what one model stream costs this side: memory while it is
 * under way, and CPU time per token.
 *
 *     upstream 0 & model_streams PORT [STREAMS [TOKENS [US [PROVIDER]]]]
 *
 * Opens STREAMS at once against the scripted service, TOKENS tokens each, one
 * every US microseconds; prints one JSON line. Exit status 1 when a stream failed or memory per
 * stream is over the budget of 24 kB (plain HTTP, libcurl's handles included; the kernel's socket
 * buffers are not).
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/provider.h"
#include "model/upstream.h"

#define BUDGET 24576

static struct loop       loop;
static struct loop_timer sampler;
static unsigned          streams = 1000, over, failed;
static uint64_t          tokens_seen;
static size_t            rss_before, rss_peak, heap_before, heap_peak;

static size_t rss(void)
{
    unsigned long pages = 0, resident = 0;
    FILE         *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%lu %lu", &pages, &resident) != 2) resident = 0;
        fclose(f);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void sample(struct loop_timer *t)
{
    size_t r = rss(), h = heap();
    if (r > rss_peak) rss_peak = r;
    if (h > heap_peak) heap_peak = h;
    if (over < streams) loop_timer_set(t, 100);
}

static void end(void)
{
    if (++over == streams) loop_stop(&loop);
}
static void on_text(struct model_sink *s, struct str d)
{
    tokens_seen++;
}
static void on_str(struct model_sink *s, struct str d)
{
}
static void on_call(struct model_sink *s, struct str id, struct str name)
{
}
static void on_call_end(struct model_sink *s)
{
}
static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
}
static void on_done(struct model_sink *s, enum model_stop stop)
{
    end();
}
static void on_failed(struct model_sink *s, const struct model_error *e)
{
    if (!failed++) fprintf(stderr, STR_FMT "\n", STR_ARG(e->message));
    end();
}

static double cpu_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static long arg(int argc, char **argv, int i, long otherwise)
{
    return argc > i ? atol(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    long port = arg(argc, argv, 1, 0), tokens = arg(argc, argv, 3, 100),
         us = arg(argc, argv, 4, 50000);
    const char          *provider = argc > 5 ? argv[5] : "openai";
    char                 url[80], name[80];
    struct str           why;
    struct model_sink    sink = { on_text,     on_str,   on_str,  on_call,  on_str,
                                  on_call_end, on_usage, on_done, on_failed };
    struct msg_part      part = { .type = PART_TEXT, .text = STR("hi") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg,
                               .msg_count = 1,
                               .system = STR("You are a helpful assistant.") };

    streams = (unsigned)arg(argc, argv, 2, 1000);
    snprintf(url, sizeof url, "http://127.0.0.1:%ld%s", port,
             str_is(str_c(provider), "openai")   ? "/v1"
             : str_is(str_c(provider), "gemini") ? "/v1beta"
                                                 : "");
    snprintf(name, sizeof name, "sc-pace-%ld-%ld", tokens, us);
    log_level(LOG_WARN);
    if (loop_init(&loop) != OK) return 1;
    struct upstream    *up = upstream_new(&loop);
    struct model_config c = { .provider = str_c(provider),
                              .model = str_c(name),
                              .base_url = str_c(url),
                              .concurrent = streams,
                              .retries = MODEL_RETRIES,
                              .wait_max_ms = MODEL_WAIT_S * 1000 };
    struct model       *m = up ? model_remote_new(up, &c, &why) : NULL;
    if (!m) return 1;

    rss_before = rss();
    heap_before = heap();
    double   cpu = cpu_us();
    uint64_t began = clock_mono_ms();
    for (unsigned i = 0; i < streams; i++)
        if (!m->ops->start(m, &q, &sink)) return 1;
    loop_timer_init(&loop, &sampler, sample);
    loop_timer_set(&sampler, 100);
    loop_run(&loop);
    cpu = cpu_us() - cpu;

    size_t per_stream = (rss_peak - rss_before) / streams;
    printf("{\"streams\":%u,\"failed\":%u,\"tokens\":%llu,\"seconds\":%.1f,\"rss_per_stream\":%zu,"
           "\"heap_per_stream\":%zu,\"cpu_us_per_token\":%.2f}\n",
           streams, failed, (unsigned long long)tokens_seen,
           (double)(clock_mono_ms() - began) / 1000, per_stream,
           (heap_peak - heap_before) / streams, cpu / (double)(tokens_seen ? tokens_seen : 1));
    m->ops->free(m);
    upstream_free(up, NULL, NULL);
    loop_timer_close(&sampler, NULL);
    loop_done(&loop);
    return failed || per_stream > BUDGET || tokens_seen != (uint64_t)tokens * streams;
}
