/* jwks.c -- see jwks.h. One transfer at a time, in a pool of its own. */
#include "auth/jwks.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/log.h"
#include "loop/curl.h"

enum {
    FETCH_MAX = 1024 * 1024,
    FETCH_MS = 10000,
    EVERY_MS = 3600 * 1000,
    AGAIN_MS = 60 * 1000, /* after a failure, and between two that unknown names asked for */
    AGAIN_NONE_MS = 5000, /* while there are no keys nobody can come in */
};

struct jwks {
    struct loop      *loop;
    struct curl_pool  pool;
    struct curl_job   job;
    struct loop_timer timer;
    struct jwt_keys   keys;
    struct buf        body;
    uint64_t          asked_ms; /* when the latest fetch began */
    unsigned          algorithms;
    unsigned          open; /* handles to close before the memory may go */
    bool              busy, closing;
    void (*done)(void *ctx);
    void *ctx;
    char  url[];
};

static void fetch(struct jwks *j);

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct jwks *j = ctx;
    (void)size;
    buf_add(&j->body, p, n);
    return j->body.err ? 0 : n; /* less than n ends the transfer */
}

static const char *take_keys(struct jwks *j, CURLcode code)
{
    struct jwt_keys found = { 0 };
    const char     *why = NULL;
    long            status = 0;

    if (code != CURLE_OK) return j->body.err ? "it is longer than 1 MiB" : curl_words(code);
    curl_easy_getinfo(j->job.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return "the answer's status is not 200";
    if (jwt_keys_read(&found, buf_view(&j->body), j->algorithms, &why) != OK) return why;
    jwt_keys_done(&j->keys);
    j->keys = found;
    return NULL;
}

static void on_done(struct curl_job *job, CURLcode code)
{
    struct jwks *j = LIST_ITEM(job, struct jwks, job);
    const char  *why = take_keys(j, code);

    j->busy = false;
    curl_easy_cleanup(job->easy);
    buf_done(&j->body);
    if (j->closing) return;
    struct arena a;
    arena_init(&a, 0);
    const char *url = log_str(address_shown(&a, str_c(j->url)));
    if (why)
        log_line(LOG_WARN, "jwks.failed", "url", url, "why", why, "keys",
                 log_int((int64_t)j->keys.count), NULL);
    else
        log_line(LOG_INFO, "jwks.fetched", "url", url, "keys", log_int((int64_t)j->keys.count),
                 NULL);
    arena_done(&a);
    loop_timer_set(&j->timer, !why ? EVERY_MS : j->keys.count ? AGAIN_MS : AGAIN_NONE_MS);
}

static void fetch(struct jwks *j)
{
    CURL *e =
        j->busy || j->closing ? NULL : curl_easy_new(str_starts(str_c(j->url), STR("https:")));

    if (!e) {
        if (!j->busy && !j->closing) loop_timer_set(&j->timer, AGAIN_NONE_MS);
        return;
    }
    j->busy = true;
    j->asked_ms = clock_mono_ms();
    buf_init(&j->body, FETCH_MAX);
    curl_easy_setopt(e, CURLOPT_URL, &j->url[0]);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, j);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)FETCH_MS);
    j->job = (struct curl_job){ .easy = e, .done = on_done };
    curl_start(&j->pool, &j->job);
}

static void on_timer(struct loop_timer *t)
{
    fetch(LIST_ITEM(t, struct jwks, timer));
}

struct jwks *jwks_new(struct loop *l, struct str url, unsigned algorithms)
{
    struct jwks *j = mem_alloc(sizeof *j + url.len + 1);

    if (!j) return NULL;
    j->loop = l;
    j->algorithms = algorithms;
    memcpy(j->url, url.ptr, url.len);
    curl_pool_init(&j->pool, l, 1);
    loop_timer_init(l, &j->timer, on_timer);
    j->open = 2;
    fetch(j);
    return j;
}

static void gone(struct jwks *j)
{
    void (*done)(void *) = j->done;
    void *ctx = j->ctx;

    if (--j->open) return;
    jwt_keys_done(&j->keys);
    mem_free(j);
    done(ctx);
}

static void pool_closed(struct curl_pool *p)
{
    gone(LIST_ITEM(p, struct jwks, pool));
}
static void timer_closed(struct loop_timer *t)
{
    gone(LIST_ITEM(t, struct jwks, timer));
}

void jwks_free(struct jwks *j, void (*done)(void *ctx), void *ctx)
{
    if (!j) {
        done(ctx);
        return;
    }
    j->closing = true;
    j->done = done;
    j->ctx = ctx;
    loop_timer_close(&j->timer, timer_closed);
    curl_pool_close(&j->pool, pool_closed);
}

const struct jwt_keys *jwks_keys(const struct jwks *j)
{
    return &j->keys;
}

bool jwks_refresh(struct jwks *j)
{
    if (j->busy) return true;
    if (j->closing || clock_mono_ms() - j->asked_ms < (j->keys.count ? AGAIN_MS : AGAIN_NONE_MS))
        return !j->keys.count;
    fetch(j);
    return j->busy;
}
