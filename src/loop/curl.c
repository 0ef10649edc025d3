/* curl.c -- libcurl multi-socket on libuv.
 *
 *   curl_start  -> starting list --(end of turn)--> curl_multi_add_handle -> running
 *   socket or timer fires -> curl_multi_socket_action -> finished ones -> ending list
 *   curl_cancel -> ending list
 *   ending list --(end of turn)--> curl_multi_remove_handle -> done()
 *
 * Adding and removing happens in the flush only, because libcurl refuses both
 * (CURLM_RECURSIVE_API_CALL) from inside its own callbacks, and our callers do
 * live there: a write callback that parses a message may start or stop transfers.
 */
#include "loop/curl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/oauthform.h"
#include "base/secret.h"

/* kept for reuse, per CURLM: as many as turns that follow each other at once; libcurl's default
 * never shrinks */
#define IDLE_CONNS 128L

struct watch { /* one socket libcurl wants to hear about */
    uv_poll_t          poll;
    struct curl_multi *multi;
    curl_socket_t      fd;
};

/* --- finished transfers ------------------------------------------------- */

static void end_job(struct curl_job *j, CURLcode code)
{
    if (j->ending) {
        if (code == CURLE_ABORTED_BY_CALLBACK) j->code = code;
        return;
    }
    j->ending = true;
    j->code = code;
    list_remove(&j->node);
    list_add(&j->pool->ending, &j->node);
    loop_mark(j->pool->loop, &j->pool->dirty);
}

static void collect(struct curl_multi *m)
{
    CURLMsg *msg;
    int      left;

    while ((msg = curl_multi_info_read(m->handle, &left))) {
        char    *owner = NULL;
        CURLcode code = msg->data.result;
        if (msg->msg != CURLMSG_DONE) continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &owner);
        end_job((struct curl_job *)(void *)owner, code);
    }
}

/* --- sockets and the timer ---------------------------------------------- */

static void act(struct curl_multi *m, curl_socket_t fd, int what)
{
    int still;
    curl_multi_socket_action(m->handle, fd, what, &still);
    collect(m);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct watch      *w = poll->data;
    struct curl_multi *m = w->multi;
    int                what = status < 0 ? CURL_CSELECT_ERR : 0;

    if (events & UV_READABLE) what |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE) what |= CURL_CSELECT_OUT;
    act(m, w->fd, what); /* w may be gone after this */
}

static void on_timer(struct loop_timer *t)
{
    act(LIST_ITEM(t, struct curl_multi, timer), CURL_SOCKET_TIMEOUT, 0);
}

static int want_timer(CURLM *handle, long after_ms, void *ctx)
{
    struct curl_multi *m = ctx;
    if (m->pool->closing) return 0;
    if (after_ms < 0) loop_timer_stop(&m->timer);
    else loop_timer_set(&m->timer, (uint64_t)after_ms);
    return 0;
}

static void watch_closed(uv_handle_t *h)
{
    mem_free(h->data);
}

static struct watch *watch_new(struct curl_multi *m, curl_socket_t fd)
{
    struct watch *w = mem_alloc(sizeof *w);
    if (!w) return NULL;
    w->multi = m;
    w->fd = fd;
    if (uv_poll_init_socket(&m->pool->loop->uv, &w->poll, fd) != 0) {
        mem_free(w);
        return NULL;
    }
    w->poll.data = w;
    curl_multi_assign(m->handle, fd, w);
    return w;
}

/* Returning -1 makes libcurl fail the transfers of that socket. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct curl_multi *m = ctx;
    struct watch      *w = socket_ctx;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

    if (what == CURL_POLL_REMOVE) {
        if (!w) return 0;
        curl_multi_assign(m->handle, fd, NULL);
        uv_close((uv_handle_t *)&w->poll, watch_closed);
        return 0;
    }
    if (!w && !(w = watch_new(m, fd))) return -1;
    return uv_poll_start(&w->poll, events, on_socket) == 0 ? 0 : -1;
}

/* --- the end of a turn --------------------------------------------------- */

/* Up to 64 transfers stay on the handle before, so that few of them share connections. */
static int choose(const struct curl_pool *p)
{
    unsigned best = 0;
    for (unsigned i = 1; i < p->count; i++)
        if (p->multis[i].active / 64 < p->multis[best].active / 64) best = i;
    return (int)best;
}

/* Made at its first transfer: a server that has not called anybody yet needs neither the handles
 * nor OpenSSL. */
static bool is_open(struct curl_multi *m)
{
    if (m->handle) return true;
    if (!(m->handle = curl_multi_init())) return false;
    curl_multi_setopt(m->handle, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(m->handle, CURLMOPT_SOCKETDATA, m);
    curl_multi_setopt(m->handle, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(m->handle, CURLMOPT_TIMERDATA, m);
    curl_multi_setopt(m->handle, CURLMOPT_MAXCONNECTS, IDLE_CONNS);
    return true;
}

static void add(struct curl_pool *p, struct curl_job *j)
{
    int i = choose(p);
    list_remove(&j->node);
    list_add(&p->running, &j->node);
    curl_easy_setopt(j->easy, CURLOPT_PRIVATE, (void *)j);
    if (!is_open(&p->multis[i]) ||
        curl_multi_add_handle(p->multis[i].handle, j->easy) != CURLM_OK) {
        end_job(j, CURLE_OUT_OF_MEMORY);
        return;
    }
    j->multi = i;
    p->multis[i].active++;
}

static void finish(struct curl_pool *p, struct curl_job *j)
{
    list_remove(&j->node);
    if (j->multi >= 0) {
        curl_multi_remove_handle(p->multis[j->multi].handle, j->easy);
        p->multis[j->multi].active--;
    }
    j->multi = -1;
    j->ending = false;
    p->active--;
    j->done(j, j->code);
}

static void close_handles(struct curl_pool *p);

static void flush(struct loop_dirty *d)
{
    struct curl_pool *p = LIST_ITEM(d, struct curl_pool, dirty);

    while (!list_empty(&p->starting)) add(p, LIST_ITEM(p->starting.next, struct curl_job, node));
    while (!list_empty(&p->ending)) finish(p, LIST_ITEM(p->ending.next, struct curl_job, node));
    if (p->closing && p->active == 0) close_handles(p);
    else if (!list_empty(&p->starting)) loop_mark(p->loop, &p->dirty);
}

/* --- interface ------------------------------------------------------------ */

void curl_start(struct curl_pool *p, struct curl_job *j)
{
    j->pool = p;
    j->multi = -1;
    j->ending = false;
    j->code = CURLE_OK;
    j->node = (struct list){ NULL, NULL };
    list_add(&p->starting, &j->node);
    p->active++;
    if (p->closing) end_job(j, CURLE_ABORTED_BY_CALLBACK);
    loop_mark(p->loop, &p->dirty);
}

void curl_cancel(struct curl_job *j)
{
    end_job(j, CURLE_ABORTED_BY_CALLBACK);
}

/* libcurl keeps no errno of a socket that could not be made, and its resolver's thread none at all:
 * whether there is a descriptor to be had is found by asking for one. */
static bool files_used_up(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) close(fd);
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

bool curl_no_files(CURLcode code)
{
    return (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
            code == CURLE_COULDNT_RESOLVE_PROXY) &&
           files_used_up();
}

const char *curl_words(CURLcode code)
{
    return curl_no_files(code) ? os_words(EMFILE) : curl_easy_strerror(code);
}

void curl_pool_init(struct curl_pool *p, struct loop *l, unsigned multis)
{
    must(multis > 0 && multis <= CURL_MULTIS_MAX);
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    *p = (struct curl_pool){ .loop = l, .count = multis, .dirty.flush = flush };
    list_init(&p->starting);
    list_init(&p->ending);
    list_init(&p->running);
    for (unsigned i = 0; i < multis; i++) {
        p->multis[i].pool = p;
        loop_timer_init(l, &p->multis[i].timer, on_timer);
    }
}

static void timer_closed(struct loop_timer *t)
{
    struct curl_pool *p = LIST_ITEM(t, struct curl_multi, timer)->pool;
    if (--p->open_handles == 0 && p->on_closed) p->on_closed(p);
}

static void close_handles(struct curl_pool *p)
{
    p->open_handles = p->count;
    for (unsigned i = 0; i < p->count; i++) {
        if (p->multis[i].handle) curl_multi_cleanup(p->multis[i].handle);
        p->multis[i].handle = NULL;
    }
    loop_undirty(&p->dirty);
    for (unsigned i = 0; i < p->count; i++) loop_timer_close(&p->multis[i].timer, timer_closed);
}

void curl_pool_close(struct curl_pool *p, void (*on_closed)(struct curl_pool *p))
{
    must(!p->closing);
    p->closing = true;
    p->on_closed = on_closed;
    LIST_EACH (n, &p->starting) curl_cancel(LIST_ITEM(n, struct curl_job, node));
    LIST_EACH (n, &p->running) curl_cancel(LIST_ITEM(n, struct curl_job, node));
    loop_mark(p->loop, &p->dirty);
}

/* The same variables as the curl program, which the library alone does not read: without them a
 * company's own CA could only be added to the whole system. */
static void trust(CURL *e)
{
    const char *file = getenv("CURL_CA_BUNDLE"), *dir = getenv("SSL_CERT_DIR");
    if (!file || !*file) file = getenv("SSL_CERT_FILE");
    if (file && *file) curl_easy_setopt(e, CURLOPT_CAINFO, file);
    if (dir && *dir) curl_easy_setopt(e, CURLOPT_CAPATH, dir);
}

CURL *curl_easy_new(bool env_proxy)
{
    CURL *e = curl_easy_init(); /* the first one sets up libcurl and OpenSSL */
    if (!e) return NULL;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    /* A name is looked up in a thread of libcurl's. Without this, removing the transfer waits for
     * it: a name server that is silent would stop the loop for as long as the resolver is patient.
     * The thread cleans up after itself. */
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* Without this libcurl waits a second for "100 Continue" before larger bodies. */
    curl_easy_setopt(e, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    if (!env_proxy) curl_easy_setopt(e, CURLOPT_PROXY, "");
    trust(e);
    return e;
}

bool curl_client(CURL *easy, struct str id, struct str secret)
{
    struct buf b;
    buf_init(&b, 0);
    oauth_escape(&b, id);
    buf_chr(&b, ':');
    oauth_escape(&b, secret);
    buf_chr(&b, 0);
    bool ok = !b.err && curl_easy_setopt(easy, CURLOPT_USERPWD, b.ptr) == CURLE_OK;
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    secret_wipe(b.ptr, b.cap);
    buf_done(&b);
    return ok;
}

void curl_once(CURL *e)
{
    curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
}
