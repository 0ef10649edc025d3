/* otel.c -- see otel.h. */
#include "run/otel.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/measure.h"
#include "base/secret.h"

#define EVERY_MS   1000
#define ATTEMPT_MS 10000L
#define TRIES      3

static const char HEAD[] =
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
    "\"stringValue\":\"parley\"}},{\"key\":\"service.version\",\"value\":{\"stringValue\":"
    "\"" PARLEY_VERSION "\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"parley\"},\"spans\":[";
static const char TAIL[] = "]}]}]}";

struct otel {
    struct otel_setup  setup;
    struct loop_timer  timer;
    struct curl_job    job;
    struct curl_slist *headers;
    struct buf         url, waiting, body;
    unsigned           waiting_count, body_count, tries;
    uint64_t           sent, dropped;
    bool               sending, armed, stopped, complained;
    bool               orphan; /* freed, while the last request was still being cut off */
};

static void on_time(struct loop_timer *t);

static void arm(struct otel *o, uint64_t ms)
{
    if (o->armed || o->sending || o->stopped) return;
    o->armed = true;
    loop_timer_set(&o->timer, ms);
}

static void drop(struct otel *o, unsigned count, const char *why)
{
    o->dropped += count;
    if (!o->complained)
        log_line(LOG_WARN, "otel.dropped", "spans", log_int(count), "why", why, NULL);
    o->complained = true; /* until it works again: the metric goes on counting */
}

static void through(struct otel *o)
{
    buf_clear(&o->body);
    o->body_count = o->tries = 0;
}

/* --- one request ------------------------------------------------------------------------------ */

static size_t ignore(char *data, size_t one, size_t n, void *ctx)
{
    (void)data, (void)ctx;
    return one * n;
}

static void failed(struct otel *o, CURLcode code, long status)
{
    bool again = code != CURLE_OK || status == 429 || status >= 500;
    char why[40];
    snprintf(why, sizeof why, "status %ld", status);
    if (again && ++o->tries < TRIES) return;
    drop(o, o->body_count, code != CURLE_OK ? curl_words(code) : why);
    through(o);
}

static void on_sent(struct curl_job *j, CURLcode code)
{
    struct otel *o = LIST_ITEM(j, struct otel, job);
    long         status = 0;
    curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(j->easy);
    j->easy = NULL;
    o->sending = false;
    if (o->stopped) {
        if (o->orphan) otel_free(o);
        return;
    }
    if (code == CURLE_OK && status >= 200 && status < 300) {
        o->sent += o->body_count;
        o->complained = false;
        through(o);
    } else failed(o, code, status);
    if (o->body_count || o->waiting_count) arm(o, (uint64_t)EVERY_MS << (2 * o->tries));
}

static void post(struct otel *o)
{
    CURL *easy = curl_easy_new(false);
    if (!easy) {
        arm(o, EVERY_MS);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_URL, o->url.ptr);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, o->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, o->body.ptr);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body.len);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE, 1L << 20);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ATTEMPT_MS);
    o->job = (struct curl_job){ .easy = easy, .done = on_sent };
    o->sending = true;
    curl_start(o->setup.pool, &o->job);
}

/* What waits becomes the next request, unless one is still to be sent again. */
static void take_waiting(struct otel *o)
{
    if (o->body_count || !o->waiting_count) return;
    buf_clear(&o->body);
    buf_lit(&o->body, HEAD);
    buf_str(&o->body, buf_view(&o->waiting));
    buf_lit(&o->body, TAIL);
    o->body_count = o->waiting_count;
    buf_clear(&o->waiting);
    o->waiting_count = 0;
    if (!o->body.err) return;
    drop(o, o->body_count, "out of memory");
    buf_done(&o->body);
    buf_init(&o->body, 0);
    through(o);
}

static void on_time(struct loop_timer *t)
{
    struct otel *o = LIST_ITEM(t, struct otel, timer);
    o->armed = false;
    if (o->sending || o->stopped) return;
    take_waiting(o);
    if (o->body_count) post(o);
}

/* --- for others ------------------------------------------------------------------------------- */

static bool add_header(struct otel *o, struct str name, struct str value)
{
    struct buf line;
    buf_init(&line, 16384);
    buf_room(&line, name.len + value.len + 4); /* at once: growing would leave copies behind */
    buf_printf(&line, STR_FMT ": ", STR_ARG(name));
    buf_str(&line, value);
    buf_chr(&line, '\0');
    struct curl_slist *more = line.err ? NULL : curl_slist_append(o->headers, line.ptr);
    if (more) o->headers = more;
    secret_wipe(line.ptr, line.cap);
    buf_done(&line);
    return more != NULL;
}

struct otel *otel_new(const struct otel_setup *s)
{
    struct otel *o = mem_alloc(sizeof *o);
    if (!o) return NULL;
    o->setup = *s;
    buf_init(&o->url, 0);
    buf_init(&o->waiting, OTEL_BYTES_MAX);
    buf_init(&o->body, 0);
    loop_timer_init(s->loop, &o->timer, on_time);
    buf_printf(&o->url, STR_FMT "/v1/traces", STR_ARG(s->endpoint));
    buf_chr(&o->url, '\0');
    bool ok = add_header(o, STR("Content-Type"), STR("application/json")) &&
              add_header(o, STR("Expect"), STR(""));
    for (size_t i = 0; i < s->header_count; i++)
        ok = ok && add_header(o, s->headers[i].name, s->headers[i].value);
    if (ok && !o->url.err) return o;
    otel_free(o);
    return NULL;
}

void otel_add(struct otel *o, struct str spans, unsigned count)
{
    if (!count || o->stopped) return;
    if (o->waiting.len + spans.len + 1 > OTEL_BYTES_MAX) {
        drop(o, count, "the collector is too slow");
        return;
    }
    if (o->waiting_count) buf_chr(&o->waiting, ',');
    buf_str(&o->waiting, spans);
    if (o->waiting.err) {
        drop(o, count + o->waiting_count, "out of memory");
        buf_done(&o->waiting);
        buf_init(&o->waiting, OTEL_BYTES_MAX);
        o->waiting_count = 0;
        return;
    }
    o->waiting_count += count;
    arm(o, EVERY_MS);
}

void otel_metrics(const struct otel *o, struct buf *out)
{
    if (!o) return;
    measure_head(out, "parley_otel_spans_total", "counter",
                 "Spans that the collector has, and that were dropped");
    buf_printf(out,
               "parley_otel_spans_total{result=\"sent\"} %llu\n"
               "parley_otel_spans_total{result=\"dropped\"} %llu\n",
               (unsigned long long)o->sent, (unsigned long long)o->dropped);
}

static void stop(struct otel *o)
{
    if (!o || o->stopped) return;
    o->stopped = true;
    loop_timer_stop(&o->timer);
    if (o->sending) curl_cancel(&o->job);
}

static void on_closed(struct loop_timer *t)
{
    mem_free(LIST_ITEM(t, struct otel, timer));
}

void otel_free(struct otel *o)
{
    if (!o) return;
    stop(o);
    o->orphan = o->sending;
    if (o->orphan) return;
    for (struct curl_slist *h = o->headers; h; h = h->next) secret_wipe(h->data, strlen(h->data));
    curl_slist_free_all(o->headers);
    buf_done(&o->url);
    buf_done(&o->waiting);
    buf_done(&o->body);
    loop_timer_close(&o->timer, on_closed);
}
