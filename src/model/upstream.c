/* upstream.c -- posts to model services, on a pool of curl.h.
 *
 *   transfer_start -> curl_start -> write callback -> ops->data
 *                                -> on_end (end of the turn) -> ops->done
 *
 * A transfer that is cancelled, or whose deadline has passed, lives until the
 * pool gives it back at the end of the turn; nobody hears of a cancelled one any more.
 *
 * Deadlines cost nothing per read: a read notes the time, and one timer for all
 * transfers looks at the earliest deadline, finds most of them moved on, and sleeps again.
 */
#include "model/upstream.h"

#include <stdlib.h>

#include "base/id.h"
#include "base/log.h"
#include "loop/curl.h"

#define MULTIS 8
/* libcurl's buffer per transfer: one event of a stream is far smaller, and 16 kB would save a tenth
 * of a burst but cost each stream 3 kB */
#define READ_SIZE   3072
#define TICK_MIN_MS 20 /* deadlines are not finer than this */
#define DRAIN_MS    1000
#define DRAIN_MAX   65536

struct upstream {
    struct curl_pool  pool;
    CURLSH           *share;
    struct loop_timer tick;
    uint64_t          tick_at; /* 0: not set */
    struct list       running, waits;
    struct arena      scratch;
    void (*freed)(void *ctx);
    void *freed_ctx;
};

struct transfer {
    struct list                node; /* in running, until it is cancelled or late */
    struct curl_job            job;
    struct upstream           *up;
    const struct transfer_ops *ops; /* NULL: nobody listens any more */
    void                      *ctx;
    struct transfer_head       head;
    uint64_t                   began_ms, last_ms, drain_until;
    unsigned                   first_byte_ms, idle_ms, total_ms;
    struct buf                 body;
    size_t                     received, response_max;
    enum transfer_end          end; /* why we stopped it ourselves; T_OK: we did not */
    bool                       cancelled, began;
};

static uint64_t now_ms(const struct upstream *up)
{
    return uv_now(&up->pool.loop->uv);
}

/* --- headers ------------------------------------------------------------------------- */

bool headers_add(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer) *list = longer;
    return longer != NULL;
}

void headers_free(struct curl_slist *list)
{
    for (struct curl_slist *l = list; l; l = l->next) explicit_bzero(l->data, strlen(l->data));
    curl_slist_free_all(list);
}

static bool header_is(struct str line, const char *name, struct str *value)
{
    size_t n = strlen(name);
    if (line.len <= n || line.ptr[n] != ':' || !str_eq_nocase(str_cut(line, n), str_c(name)))
        return false;
    *value = str_trim(str_from(line, n + 1));
    return true;
}

/* "12", "0.5" or an HTTP date; -1: none of them. */
static int64_t retry_after(struct str s)
{
    char   text[64], *end;
    time_t when;
    if (!s.len || s.len >= sizeof text) return -1;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    double seconds = strtod(text, &end);
    if (end != text && !*end) return seconds >= 0 && seconds < 1e7 ? (int64_t)(seconds * 1000) : -1;
    when = curl_getdate(text, NULL);
    if (when == (time_t)-1) return -1;
    int64_t left = ((int64_t)when - (int64_t)time(NULL)) * 1000;
    return left > 0 ? left : 0;
}

static void keep_id(struct transfer_head *h, struct str id)
{
    if (!id_valid(id, sizeof h->request_id - 1)) return;
    memcpy(h->request_id, id.ptr, id.len);
    h->request_id[id.len] = '\0';
}

static void take_header(struct transfer_head *h, struct str line)
{
    struct str v;
    if (header_is(line, "content-type", &v)) {
        struct str kind = STR("text/event-stream");
        h->typed = true;
        h->event_stream = str_eq_nocase(str_cut(v, kind.len), kind);
    } else if (header_is(line, "content-encoding", &v)) {
        h->coded = !str_eq_nocase(v, STR("identity"));
    } else if (header_is(line, "retry-after-ms", &v)) {
        int64_t s = retry_after(v);
        if (s >= 0) h->retry_after_ms = s / 1000;
    } else if (header_is(line, "retry-after", &v)) {
        if (h->retry_after_ms < 0) h->retry_after_ms = retry_after(v);
    } else if (header_is(line, "x-should-retry", &v)) {
        h->should_retry = str_is(v, "true") ? 1 : str_is(v, "false") ? 0 : -1;
    } else if (header_is(line, "request-id", &v) || header_is(line, "x-request-id", &v)) {
        keep_id(h, v);
    }
}

/* The headers are complete. Answers of the 100s announce another one. */
static void note_answer(struct transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->job.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return;
    t->began = true;
    t->last_ms = now_ms(t->up);
    t->head.status = (int)status;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    struct str       line = str_n(p, size * n);
    if (str_starts(line, STR("HTTP/")))
        t->head = (struct transfer_head){ .should_retry = -1, .retry_after_ms = -1 };
    else if (line.len <= 2 && !t->began) note_answer(t);
    else take_header(&t->head, line);
    return size * n;
}

/* --- bytes ------------------------------------------------------------------------------ */

static size_t on_bytes(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size *= n;
    if (t->cancelled) return 0;
    t->last_ms = now_ms(t->up);
    t->received += size;
    if (t->received > t->response_max) {
        t->end = T_TOO_LARGE;
        return 0; /* anything but `size` ends the transfer */
    }
    if (t->ops) t->ops->data(t->ctx, t, str_n(p, size));
    return t->cancelled ? 0 : size;
}

/* --- the life of a transfer ----------------------------------------------------------------- */

static void arm(struct upstream *up, uint64_t at)
{
    uint64_t now = now_ms(up);
    if (at < now + TICK_MIN_MS) at = now + TICK_MIN_MS;
    if (up->tick_at && up->tick_at <= at) return;
    up->tick_at = at;
    loop_timer_set(&up->tick, at - now);
}

static uint64_t deadline(const struct transfer *t)
{
    uint64_t total = t->began_ms + t->total_ms, next;
    if (t->drain_until) return t->drain_until;
    next = t->began ? t->last_ms + t->idle_ms : t->began_ms + t->first_byte_ms;
    return next < total ? next : total;
}

static enum transfer_end missed(const struct transfer *t, uint64_t now)
{
    if (now >= t->began_ms + t->total_ms) return T_TOTAL_TIMEOUT;
    return t->began ? T_IDLE_TIMEOUT : T_FIRST_BYTE_TIMEOUT;
}

/* A proxy that would not open the tunnel looks to libcurl like a connection that broke. */
static bool proxy_refused(const struct transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->job.easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300;
}

static enum transfer_end meaning(const struct transfer *t, CURLcode code)
{
    if (t->end != T_OK) return t->end;
    if (code != CURLE_OK && proxy_refused(t)) return T_PROXY;
    switch (code) {
    case CURLE_OK: return T_OK;
    case CURLE_COULDNT_RESOLVE_HOST: return T_NAME;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY: return T_PROXY;
    case CURLE_COULDNT_CONNECT: return T_CONNECT;
    /* the only deadline left to libcurl */
    case CURLE_OPERATION_TIMEDOUT: return T_CONNECT_TIMEOUT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return T_TLS;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return T_CUT;
    case CURLE_OUT_OF_MEMORY: return T_NOMEM;
    default: return T_OTHER;
    }
}

static void free_transfer(struct transfer *t)
{
    if (t->job.easy) curl_easy_cleanup(t->job.easy);
    buf_done(&t->body);
    mem_free(t);
}

static void on_end(struct curl_job *j, CURLcode code)
{
    struct transfer *t = LIST_ITEM(j, struct transfer, job);
    list_remove(&t->node);
    if (curl_no_files(code)) log_line(LOG_ERROR, "model.no_files", "why", curl_words(code), NULL);
    if (t->ops) t->ops->done(t->ctx, t, meaning(t, code));
    free_transfer(t);
}

static void configure(struct transfer *t, const struct transfer_request *q)
{
    CURL *c = t->job.easy;
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)READ_SIZE);
    /* the least it takes; used for large bodies only */
    curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
    curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)q->connect_ms);
    curl_easy_setopt(c, CURLOPT_SHARE, t->up->share);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, q->headers);
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, buf_view(&t->body).ptr);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body.len);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
}

struct transfer *transfer_start(struct upstream *up, const struct transfer_request *q,
                                struct buf *body, const struct transfer_ops *ops, void *ctx)
{
    struct transfer *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    *t = (struct transfer){ .job = { .easy = curl_easy_new(true), .done = on_end },
                            .up = up,
                            .ops = ops,
                            .ctx = ctx,
                            .head = { .should_retry = -1, .retry_after_ms = -1 },
                            .began_ms = now_ms(up),
                            .first_byte_ms = q->first_byte_ms,
                            .idle_ms = q->idle_ms,
                            .total_ms = q->total_ms,
                            .response_max = q->response_max };
    if (!t->job.easy || curl_easy_setopt(t->job.easy, CURLOPT_URL, q->url) != CURLE_OK) {
        free_transfer(t);
        return NULL;
    }
    t->body = *body;
    buf_init(body, body->max);
    configure(t, q);
    list_add(&up->running, &t->node);
    curl_start(&up->pool, &t->job);
    arm(up, deadline(t));
    return t;
}

void transfer_cancel(struct transfer *t)
{
    t->ops = NULL;
    t->cancelled = true;
    list_remove(&t->node);
    curl_easy_setopt(t->job.easy, CURLOPT_HTTPHEADER, NULL); /* their owner may free them now */
    curl_cancel(&t->job);
}

void transfer_drain(struct transfer *t)
{
    t->ops = NULL;
    /* they may go now: the request is long sent */
    curl_easy_setopt(t->job.easy, CURLOPT_HTTPHEADER, NULL);
    t->drain_until = now_ms(t->up) + DRAIN_MS;
    t->response_max = t->received + DRAIN_MAX;
    arm(t->up, t->drain_until);
}

const struct transfer_head *transfer_head(const struct transfer *t)
{
    return &t->head;
}

void transfer_take_body(struct transfer *t, struct buf *out)
{
    *out = t->body;
    buf_init(&t->body, t->body.max);
}

bool transfer_sent(const struct transfer *t)
{
    curl_off_t sent = 0;
    curl_easy_getinfo(t->job.easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return sent > 0 && (size_t)sent >= t->body.len;
}

bool transfer_forget_body(struct transfer *t)
{
    if (!t->began || !transfer_sent(t)) return false;
    curl_easy_setopt(t->job.easy, CURLOPT_POSTFIELDS, "");
    buf_done(&t->body);
    return true;
}

/* --- deadlines and pauses --------------------------------------------------------------------- */

/* Ends it when its deadline has passed; its done() comes at the end of the turn. */
static void look_at_clock(struct transfer *t, uint64_t now, uint64_t *next)
{
    uint64_t at = deadline(t);
    if (at > now) {
        if (at < *next) *next = at;
        return;
    }
    t->end = missed(t, now);
    list_remove(&t->node);
    curl_cancel(&t->job);
}

/* Looked for anew after each, because its callback may end any other. */
static struct upstream_wait *first_due(struct upstream *up, uint64_t now, uint64_t *next)
{
    LIST_EACH (n, &up->waits) {
        struct upstream_wait *w = LIST_ITEM(n, struct upstream_wait, node);
        if (w->until_ms <= now) return w;
        if (w->until_ms < *next) *next = w->until_ms;
    }
    return NULL;
}

static void on_tick(struct loop_timer *timer)
{
    struct upstream      *up = LIST_ITEM(timer, struct upstream, tick);
    struct upstream_wait *w;
    uint64_t              now = now_ms(up), next = UINT64_MAX;

    up->tick_at = 0;
    LIST_EACH (n, &up->running) look_at_clock(LIST_ITEM(n, struct transfer, node), now, &next);
    while ((w = first_due(up, now, &next))) {
        list_remove(&w->node);
        w->fire(w);
    }
    if (next != UINT64_MAX) arm(up, next);
}

void upstream_wait(struct upstream *up, struct upstream_wait *w, uint64_t ms,
                   void (*fire)(struct upstream_wait *))
{
    w->fire = fire;
    w->until_ms = now_ms(up) + (ms ? ms : 1); /* never within this turn */
    list_add(&up->waits, &w->node);
    arm(up, w->until_ms);
}

void upstream_wait_stop(struct upstream_wait *w)
{
    list_remove(&w->node);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct upstream *upstream_new(struct loop *l)
{
    struct upstream *up = mem_alloc(sizeof *up);
    if (!up) return NULL;
    curl_pool_init(&up->pool, l, MULTIS);
    /* Looked-up names and TLS sessions serve all CURLM. Without: only slower. */
    up->share = curl_share_init();
    curl_share_setopt(up->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(up->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    list_init(&up->running);
    list_init(&up->waits);
    arena_init(&up->scratch, 0);
    loop_timer_init(l, &up->tick, on_tick);
    return up;
}

static void tick_closed(struct loop_timer *t)
{
    struct upstream *up = LIST_ITEM(t, struct upstream, tick);
    arena_done(&up->scratch);
    if (up->freed) up->freed(up->freed_ctx);
    mem_free(up);
}

static void pool_closed(struct curl_pool *p)
{
    struct upstream *up = LIST_ITEM(p, struct upstream, pool);
    curl_share_cleanup(up->share);
    loop_timer_close(&up->tick, tick_closed);
}

void upstream_free(struct upstream *up, void (*freed)(void *ctx), void *ctx)
{
    up->freed = freed;
    up->freed_ctx = ctx;
    /* only drained ones may be left */
    LIST_EACH (n, &up->running) must(!LIST_ITEM(n, struct transfer, node)->ops);
    curl_pool_close(&up->pool, pool_closed);
}

struct arena *upstream_scratch(struct upstream *up)
{
    return &up->scratch;
}
unsigned upstream_active(const struct upstream *up)
{
    return up->pool.active;
}
