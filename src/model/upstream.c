/* upstream.c -- libcurl's multi interface on our loop.
 *
 *   libuv says "readable" -> curl_multi_socket_action -> write callback -> ops->data
 *                         -> finished transfers are collected -> ops->done
 *
 * libcurl must not be called back into from inside its callbacks. So transfers
 * are added at the end of the turn (flush), and one that is cancelled from inside a callback is only
 * marked, and removed as soon as libcurl has returned.
 *
 * Deadlines cost nothing per read: a read notes the time, and one timer for all
 * transfers looks at the earliest deadline, finds most of them moved on, and sleeps again.
 */
#include "model/upstream.h"

#include <signal.h>
#include <stdlib.h>

#include "base/id.h"
#include "loop/curl.h"

#define MULTIS        8
#define READ_SIZE     2048          /* libcurl's buffer per transfer; one event of a stream is far smaller */
#define TICK_MIN_MS   20            /* deadlines are not finer than this */
#define DRAIN_MS      1000
#define DRAIN_MAX     65536

struct multi {
    struct upstream  *up;
    CURLM            *curl;
    struct loop_timer timer;
    unsigned          active;
};

struct upstream {
    struct loop      *loop;
    struct multi      multis[MULTIS];
    CURLSH           *share;
    struct loop_timer tick;
    uint64_t          tick_at;        /* 0: not set */
    struct loop_dirty flush;
    struct list       starting, running, waits, cancelled;
    struct arena      scratch;
    unsigned          in_curl, active, closing;
    void            (*freed)(void *ctx);
    void             *freed_ctx;
};

struct transfer {
    struct list                node;
    struct upstream           *up;
    struct multi              *multi;       /* NULL: not added yet */
    CURL                      *easy;
    const struct transfer_ops *ops;         /* NULL: nobody listens any more */
    void                      *ctx;
    struct transfer_head       head;
    uint64_t                   began_ms, last_ms, drain_until;
    unsigned                   first_byte_ms, idle_ms, total_ms;
    struct buf                 body;
    size_t                     received, response_max;
    enum transfer_end          end;         /* why we stopped it ourselves; T_OK: we did not */
    bool                       cancelled, began;
};

struct socket {
    uv_poll_t     poll;
    struct multi *multi;
    curl_socket_t fd;
};

static uint64_t now_ms(const struct upstream *up) { return uv_now(&up->loop->uv); }

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
    if (line.len <= n || line.ptr[n] != ':' || !str_eq_nocase(str_cut(line, n), str_c(name))) return false;
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
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return;
    t->began = true;
    t->last_ms = now_ms(t->up);
    t->head.status = (int)status;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    struct str       line = str_n(p, size * n);
    if (str_starts(line, STR("HTTP/"))) t->head = (struct transfer_head){ .should_retry = -1, .retry_after_ms = -1 };
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
        return 0;                            /* anything but `size` ends the transfer */
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

/* Takes it away from libcurl, which closes its connection unless the answer was complete. */
static void detach(struct transfer *t)
{
    list_remove(&t->node);
    if (t->multi) {
        t->up->in_curl++;
        curl_multi_remove_handle(t->multi->curl, t->easy);
        t->up->in_curl--;
        t->multi->active--;
    }
    curl_easy_cleanup(t->easy);
    t->easy = NULL;
    t->up->active--;
}

static void free_transfer(struct transfer *t)
{
    buf_done(&t->body);
    mem_free(t);
}

static void finish(struct transfer *t, enum transfer_end end)
{
    const struct transfer_ops *ops = t->ops;
    detach(t);
    if (ops) ops->done(t->ctx, t, end);
    free_transfer(t);
}

/* A proxy that would not open the tunnel looks to libcurl like a connection that broke. */
static bool proxy_refused(const struct transfer *t)
{
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300;
}

static enum transfer_end meaning(const struct transfer *t, CURLcode code)
{
    if (t->end != T_OK) return t->end;
    if (code != CURLE_OK && proxy_refused(t)) return T_PROXY;
    switch (code) {
    case CURLE_OK:                      return T_OK;
    case CURLE_COULDNT_RESOLVE_HOST:    return T_NAME;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:                   return T_PROXY;
    case CURLE_COULDNT_CONNECT:         return T_CONNECT;
    case CURLE_OPERATION_TIMEDOUT:      return T_CONNECT_TIMEOUT;     /* the only deadline left to libcurl */
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:        return T_TLS;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:            return T_CUT;
    case CURLE_OUT_OF_MEMORY:           return T_NOMEM;
    default:                            return T_OTHER;
    }
}

static void drop_cancelled(struct upstream *up)
{
    LIST_EACH(n, &up->cancelled) {
        struct transfer *t = LIST_ITEM(n, struct transfer, node);
        detach(t);
        free_transfer(t);
    }
}

/* After every call into libcurl: who has ended? */
static void collect(struct multi *m)
{
    CURLMsg *msg;
    int      left;
    drop_cancelled(m->up);
    while ((msg = curl_multi_info_read(m->curl, &left))) {
        struct transfer *t = NULL;
        CURLcode         code = msg->data.result;
        if (msg->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        finish(t, meaning(t, code));
    }
}

static void act(struct multi *m, curl_socket_t fd, int flags)
{
    int running;
    m->up->in_curl++;
    curl_multi_socket_action(m->curl, fd, flags, &running);
    m->up->in_curl--;
    collect(m);
}

static bool add(struct transfer *t)
{
    struct multi *m = &t->up->multis[0];
    for (size_t i = 1; i < MULTIS; i++)
        if (t->up->multis[i].active < m->active) m = &t->up->multis[i];
    t->up->in_curl++;
    CURLMcode code = curl_multi_add_handle(m->curl, t->easy);
    t->up->in_curl--;
    if (code != CURLM_OK) return false;
    t->multi = m;
    m->active++;
    return true;
}

static void on_flush(struct loop_dirty *d)
{
    struct upstream *up = LIST_ITEM(d, struct upstream, flush);
    drop_cancelled(up);
    while (!list_empty(&up->starting)) {
        struct transfer *t = LIST_ITEM(up->starting.next, struct transfer, node);
        list_remove(&t->node);
        list_add(&up->running, &t->node);
        t->began_ms = t->last_ms = now_ms(up);
        if (!add(t)) finish(t, T_NOMEM);
        else arm(up, deadline(t));
    }
}

static void configure(struct transfer *t, const struct transfer_request *q)
{
    CURL *c = t->easy;
    curl_easy_setopt(c, CURLOPT_PRIVATE, t);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)READ_SIZE);
    curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);          /* the least it takes; used for large bodies only */
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

struct transfer *transfer_start(struct upstream *up, const struct transfer_request *q, struct buf *body,
                                const struct transfer_ops *ops, void *ctx)
{
    struct transfer *t = mem_alloc(sizeof *t);
    if (!t) return NULL;
    t->up = up;
    t->ops = ops;
    t->ctx = ctx;
    t->easy = curl_easy_new(true);
    if (!t->easy || curl_easy_setopt(t->easy, CURLOPT_URL, q->url) != CURLE_OK) {
        if (t->easy) curl_easy_cleanup(t->easy);
        mem_free(t);
        return NULL;
    }
    t->first_byte_ms = q->first_byte_ms;
    t->idle_ms = q->idle_ms;
    t->total_ms = q->total_ms;
    t->response_max = q->response_max;
    t->body = *body;
    buf_init(body, body->max);
    t->head = (struct transfer_head){ .should_retry = -1, .retry_after_ms = -1 };
    configure(t, q);
    list_add(&up->starting, &t->node);
    up->active++;
    loop_mark(up->loop, &up->flush);
    return t;
}

void transfer_cancel(struct transfer *t)
{
    struct upstream *up = t->up;
    t->ops = NULL;
    t->cancelled = true;
    list_remove(&t->node);
    list_add(&up->cancelled, &t->node);
    if (up->in_curl) loop_mark(up->loop, &up->flush);
    else drop_cancelled(up);
}

void transfer_drain(struct transfer *t)
{
    t->ops = NULL;
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, NULL);       /* they may go now: the request is long sent */
    t->drain_until = now_ms(t->up) + DRAIN_MS;
    t->response_max = t->received + DRAIN_MAX;
    arm(t->up, t->drain_until);
}

const struct transfer_head *transfer_head(const struct transfer *t) { return &t->head; }

void transfer_take_body(struct transfer *t, struct buf *out)
{
    *out = t->body;
    buf_init(&t->body, t->body.max);
}

static bool is_sent(const struct transfer *t)
{
    curl_off_t sent = 0;
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return t->began && (size_t)sent >= t->body.len;
}

bool transfer_forget_body(struct transfer *t)
{
    if (!is_sent(t)) return false;
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, "");
    buf_done(&t->body);
    return true;
}

/* --- deadlines and pauses ----------------------------------------------------------------------- */

/* The first transfer whose deadline has passed; else NULL, and *next is the earliest one to come. Looked for
 * anew after each, because its callback may end any other. */
static struct transfer *first_late(struct upstream *up, uint64_t now, uint64_t *next)
{
    LIST_EACH(n, &up->running) {
        struct transfer *t = LIST_ITEM(n, struct transfer, node);
        uint64_t         at = deadline(t);
        if (at <= now) return t;
        if (at < *next) *next = at;
    }
    return NULL;
}

static struct upstream_wait *first_due(struct upstream *up, uint64_t now, uint64_t *next)
{
    LIST_EACH(n, &up->waits) {
        struct upstream_wait *w = LIST_ITEM(n, struct upstream_wait, node);
        if (w->until_ms <= now) return w;
        if (w->until_ms < *next) *next = w->until_ms;
    }
    return NULL;
}

static void on_tick(struct loop_timer *timer)
{
    struct upstream      *up = LIST_ITEM(timer, struct upstream, tick);
    struct transfer      *t;
    struct upstream_wait *w;
    uint64_t now = now_ms(up), next = UINT64_MAX;

    up->tick_at = 0;
    while ((t = first_late(up, now, &next))) finish(t, missed(t, now));
    while ((w = first_due(up, now, &next))) {
        list_remove(&w->node);
        w->fire(w);
    }
    if (next != UINT64_MAX) arm(up, next);
}

void upstream_wait(struct upstream *up, struct upstream_wait *w, uint64_t ms, void (*fire)(struct upstream_wait *))
{
    w->fire = fire;
    w->until_ms = now_ms(up) + (ms ? ms : 1);      /* never within this turn */
    list_add(&up->waits, &w->node);
    arm(up, w->until_ms);
}

void upstream_wait_stop(struct upstream_wait *w) { list_remove(&w->node); }

/* --- libcurl's sockets and timers on libuv ---------------------------------------------------------- */

static void one_closed(struct upstream *up)
{
    if (--up->closing || !up->tick.on_closed) return;
    arena_done(&up->scratch);
    if (up->freed) up->freed(up->freed_ctx);
    mem_free(up);
}

static void on_ready(uv_poll_t *h, int status, int events)
{
    struct socket *s = h->data;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE) flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE) flags |= CURL_CSELECT_OUT;
    act(s->multi, s->fd, flags);
}

static void socket_closed(uv_handle_t *h)
{
    struct socket *s = h->data;
    one_closed(s->multi->up);
    mem_free(s);
}

static struct socket *socket_new(struct multi *m, curl_socket_t fd)
{
    struct socket *s = mem_alloc(sizeof *s);
    if (!s) return NULL;
    if (uv_poll_init_socket(&m->up->loop->uv, &s->poll, fd)) {
        mem_free(s);
        return NULL;
    }
    s->poll.data = s;
    s->multi = m;
    s->fd = fd;
    m->up->closing++;
    curl_multi_assign(m->curl, fd, s);
    return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct multi  *m = ctx;
    struct socket *s = socket_ctx;
    if (what == CURL_POLL_REMOVE) {
        if (!s) return 0;
        uv_poll_stop(&s->poll);
        uv_close((uv_handle_t *)&s->poll, socket_closed);
        curl_multi_assign(m->curl, fd, NULL);
        return 0;
    }
    if (!s && !(s = socket_new(m, fd))) return -1;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&s->poll, events, on_ready) ? -1 : 0;
}

static void on_timer(struct loop_timer *timer)
{
    act(LIST_ITEM(timer, struct multi, timer), CURL_SOCKET_TIMEOUT, 0);
}

static int on_set_timer(CURLM *curl, long ms, void *ctx)
{
    struct multi *m = ctx;
    if (ms < 0) loop_timer_stop(&m->timer);
    else loop_timer_set(&m->timer, (uint64_t)ms);
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static bool multi_init(struct multi *m, struct upstream *up)
{
    m->up = up;
    m->curl = curl_multi_init();
    if (!m->curl) return false;
    curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
    curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_set_timer);
    curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
    return true;
}

static bool curl_parts(struct upstream *up)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return false;
    up->share = curl_share_init();
    if (!up->share) return false;
    curl_share_setopt(up->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(up->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    for (size_t i = 0; i < MULTIS; i++)
        if (!multi_init(&up->multis[i], up)) return false;
    return true;
}

static void curl_parts_done(struct upstream *up)
{
    for (size_t i = 0; i < MULTIS; i++)
        if (up->multis[i].curl) curl_multi_cleanup(up->multis[i].curl);
    if (up->share) curl_share_cleanup(up->share);
}

struct upstream *upstream_new(struct loop *l)
{
    struct upstream *up = mem_alloc(sizeof *up);
    if (!up) return NULL;
    if (!curl_parts(up)) {
        curl_parts_done(up);
        mem_free(up);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);            /* OpenSSL writes without MSG_NOSIGNAL */
    up->loop = l;
    up->flush.flush = on_flush;
    list_init(&up->starting);
    list_init(&up->running);
    list_init(&up->waits);
    list_init(&up->cancelled);
    arena_init(&up->scratch, 0);
    loop_timer_init(l, &up->tick, on_tick);
    for (size_t i = 0; i < MULTIS; i++) loop_timer_init(l, &up->multis[i].timer, on_timer);
    up->closing = MULTIS + 1;
    return up;
}

static void multi_closed(struct loop_timer *t) { one_closed(LIST_ITEM(t, struct multi, timer)->up); }
static void tick_closed(struct loop_timer *t) { one_closed(LIST_ITEM(t, struct upstream, tick)); }

static void drop_all(struct list *l)
{
    while (!list_empty(l)) {
        struct transfer *t = LIST_ITEM(l->next, struct transfer, node);
        must(!t->ops);                   /* only drained ones may be left */
        detach(t);
        free_transfer(t);
    }
}

void upstream_free(struct upstream *up, void (*freed)(void *ctx), void *ctx)
{
    up->freed = freed;
    up->freed_ctx = ctx;
    loop_undirty(&up->flush);
    drop_all(&up->starting);
    drop_all(&up->running);
    drop_all(&up->cancelled);
    curl_parts_done(up);
    for (size_t i = 0; i < MULTIS; i++) loop_timer_close(&up->multis[i].timer, multi_closed);
    loop_timer_close(&up->tick, tick_closed);
}

struct loop  *upstream_loop(struct upstream *up) { return up->loop; }
struct arena *upstream_scratch(struct upstream *up) { return &up->scratch; }
unsigned      upstream_active(const struct upstream *up) { return up->active; }
