/* dial.c -- the end of a link that we dial. See link.h.
 *
 *   RESOLVING -> CONNECTING -> UPGRADING (HTTP) -> PROVING (hello) -> UP -> over
 *
 * Whatever goes wrong ends it the same way: the mirrors ask the store again, and dial again if the
 * same node still holds their threads. Written once per turn of the loop.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "http/ws.h"
#include "node/node_int.h"
#include "run/metrics.h"

#define HEAD_MAX    8192
#define READ_MAX    (64 * 1024)
#define COMPLAIN_MS 2000

enum state { RESOLVING, CONNECTING, UPGRADING, PROVING, UP, OVER };

struct dialled {
    struct peer       peer; /* what run/ knows of it */
    struct list       node;
    struct links     *links;
    enum state        state;
    uv_tcp_t          tcp;
    uv_connect_t      connect;
    uv_getaddrinfo_t  resolve;
    uv_write_t        write;
    struct loop_timer timer;
    struct loop_dirty dirty;
    struct ws         ws;
    struct buf        head;         /* the answer to the upgrade, until it is whole */
    struct buf        out, writing; /* to be written, and being written */
    uint64_t          heard_ms, began_ms;
    uint64_t          pinged_ns; /* 0: no answer is due */
    unsigned          open;      /* handles and requests that libuv has */
    bool              tcp_open;
    char              nonce[LINK_NONCE_LEN + 1];
    char              theirs[LINK_NONCE_LEN + 1];
    char              host[256], id[64];
    unsigned          port;
};

static struct dialled *of_peer(struct peer *p)
{
    return LIST_ITEM(p, struct dialled, peer);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void let_go(struct dialled *d)
{
    struct links *l = d->links;
    if (--d->open) return;
    buf_done(&d->head);
    buf_done(&d->out);
    buf_done(&d->writing);
    ws_done(&d->ws);
    mem_free(d);
    l->dialled_count--;
    links_check_closed(l);
}

static void on_tcp_closed(uv_handle_t *h)
{
    let_go(h->data);
}

static void on_timer_closed(struct loop_timer *t)
{
    let_go(LIST_ITEM(t, struct dialled, timer));
}

/* While a node is away it is tried four times a second for each thread; that is said once a
 * while. */
static bool may_complain(struct links *l)
{
    uint64_t now = clock_mono_ms();
    if (l->complained_ms && now - l->complained_ms < COMPLAIN_MS) return false;
    l->complained_ms = now;
    return true;
}

static void end(struct dialled *d, const char *why)
{
    if (d->state == OVER) return;
    if (!d->links->closing && (d->state == UP || may_complain(d->links)))
        log_line(d->state == UP ? LOG_INFO : LOG_WARN, "node.unlinked", "node", d->id, "host",
                 d->host, "why", why, NULL);
    if (d->state == RESOLVING) uv_cancel((uv_req_t *)&d->resolve);
    d->state = OVER;
    list_remove(&d->node);
    loop_undirty(&d->dirty);
    d->open++; /* while run/ is told */
    peer_down(&d->peer);
    map_done(&d->peer.mirrors);
    loop_timer_close(&d->timer, on_timer_closed);
    if (d->tcp_open) uv_close((uv_handle_t *)&d->tcp, on_tcp_closed);
    let_go(d);
}

/* --- out -------------------------------------------------------------------------------------- */

static void on_written(uv_write_t *w, int status)
{
    struct dialled *d = w->data;
    buf_shrink(&d->writing, 0);
    buf_clear(&d->writing);
    if (status < 0) end(d, uv_strerror(status));
    else if (d->state != OVER && d->out.len) loop_mark(d->links->loop, &d->dirty);
    let_go(d);
}

static void flush(struct loop_dirty *dirty)
{
    struct dialled *d = LIST_ITEM(dirty, struct dialled, dirty);
    if (d->state < UPGRADING || d->state == OVER || d->writing.len || !d->out.len) return;
    if (d->out.err || d->out.len > LINK_OUT_MAX) {
        end(d, "they do not read");
        return;
    }
    uv_buf_t bytes = uv_buf_init(d->out.ptr, (unsigned)d->out.len);
    int      n = uv_try_write((uv_stream_t *)&d->tcp, &bytes, 1);
    if (n > 0) buf_eat(&d->out, (size_t)n);
    if (n < 0 && n != UV_EAGAIN) {
        end(d, uv_strerror(n));
        return;
    }
    if (!d->out.len) return;
    struct buf swap = d->writing;
    d->writing = d->out;
    d->out = swap;
    bytes = uv_buf_init(d->writing.ptr, (unsigned)d->writing.len);
    d->write.data = d;
    d->open++;
    if (uv_write(&d->write, (uv_stream_t *)&d->tcp, &bytes, 1, on_written) < 0) {
        buf_clear(&d->writing);
        end(d, "cannot write");
        let_go(d);
    }
}

static void put(struct dialled *d, enum ws_opcode op, struct str text)
{
    ws_frame_masked(&d->out, op, text);
    loop_mark(d->links->loop, &d->dirty);
}

void dial_send(struct peer *p, struct str text)
{
    struct dialled *d = of_peer(p);
    if (d->state == UP) put(d, WS_OP_TEXT, text);
}

/* --- proving ---------------------------------------------------------------------------------- */

static void keep(char *out, size_t size, struct str s)
{
    snprintf(out, size, STR_FMT, STR_ARG(s));
}

static bool on_hello(struct dialled *d, const struct jv *v)
{
    char         proof[LINK_PROOF_LEN + 1];
    struct str   node = jv_str_at(v, "node");
    struct buf   text;
    struct jsonw w;

    if (!str_is(node, d->id)) {
        end(d, "another node answers at this address: has every node its own cluster.url?");
        return false;
    }
    keep(d->theirs, sizeof d->theirs, jv_str_at(v, "nonce"));
    id_letters(d->nonce, LINK_NONCE_LEN);
    link_proof(&d->links->key, "dial", d->links->self, node, str_c(d->theirs), str_c(d->nonce),
               proof);
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_obj(&w);
    jw_kstrz(&w, "m", "hello");
    jw_kstr(&w, "node", d->links->self);
    jw_kstrz(&w, "nonce", d->nonce);
    jw_kstrz(&w, "proof", proof);
    jw_end_obj(&w);
    put(d, WS_OP_TEXT, buf_view(&text));
    buf_done(&text);
    return true;
}

static bool on_welcome(struct dialled *d, const struct jv *v)
{
    char want[LINK_PROOF_LEN + 1];
    link_proof(&d->links->key, "accept", d->links->self, str_c(d->id), str_c(d->theirs),
               str_c(d->nonce), want);
    if (!d->theirs[0] || !str_eq_secret(jv_str_at(v, "proof"), str_c(want))) {
        end(d, "the cluster key differs");
        return false;
    }
    d->state = UP;
    log_line(LOG_INFO, "node.linked", "node", d->id, "by", "us", NULL);
    peer_up(&d->peer);
    return true;
}

/* False: it is over. */
static bool on_proof(struct dialled *d, struct str text)
{
    struct arena a;
    struct jv   *v = NULL;
    bool         good = false;
    arena_init(&a, 0);
    if (json_parse(&a, text, &v, NULL) != OK) end(d, "that is no node");
    else if (str_is(jv_str_at(v, "m"), "hello")) good = on_hello(d, v);
    else if (str_is(jv_str_at(v, "m"), "welcome")) good = on_welcome(d, v);
    else end(d, "that is no node");
    arena_done(&a);
    return good;
}

/* --- in --------------------------------------------------------------------------------------- */

static bool on_event(struct dialled *d, enum ws_event event, struct str data)
{
    switch (event) {
    case WS_TEXT:
        if (d->state == PROVING) return on_proof(d, data);
        if (!peer_message(&d->peer, data)) end(d, "they said what is not understood");
        return d->state == UP;
    case WS_PING: put(d, WS_OP_PONG, data); return true;
    case WS_PONG:
        if (d->pinged_ns) metrics_observe(METRIC_LINK, clock_mono_ns() - d->pinged_ns);
        d->pinged_ns = 0;
        return true;
    case WS_CLOSE: end(d, data.len ? "they hung up" : "they went away"); return false;
    default: end(d, "that is no node"); return false;
    }
}

static void read_frames(struct dialled *d, char *at, size_t len)
{
    char         *stop = at + len;
    struct str    data = STR("");
    enum ws_event event;
    while ((event = ws_feed(&d->ws, &at, stop, &data)) != WS_MORE)
        if (!on_event(d, event, data)) return;
}

/* The rest of what came with the head is frames already. */
static void read_head(struct dialled *d, const char *bytes, size_t len)
{
    buf_add(&d->head, bytes, len);
    ptrdiff_t head = str_find(buf_view(&d->head), STR("\r\n\r\n"));
    if (d->head.err || (head < 0 && d->head.len > HEAD_MAX)) {
        end(d, "that is no node");
        return;
    }
    if (head < 0) return;
    if (!str_starts(buf_view(&d->head), STR("HTTP/1.1 101 "))) {
        end(d, "they refused the link");
        return;
    }
    d->state = PROVING;
    buf_eat(&d->head, (size_t)head + 4);
    struct buf rest = d->head;
    buf_init(&d->head, 0);
    read_frames(d, rest.ptr, rest.len);
    buf_done(&rest);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *out)
{
    static char bytes[READ_MAX]; /* loop thread only; read before the next */
    (void)h;
    (void)hint;
    *out = uv_buf_init(bytes, sizeof bytes);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct dialled *d = s->data;
    if (d->state == OVER || n == 0) return;
    if (n < 0) {
        end(d, n == UV_EOF ? "they went away" : uv_strerror((int)n));
        return;
    }
    d->heard_ms = clock_mono_ms();
    d->open++; /* while it is looked at */
    if (d->state == UPGRADING) read_head(d, b->base, (size_t)n);
    else read_frames(d, b->base, (size_t)n);
    let_go(d);
}

/* --- connecting ------------------------------------------------------------------------------- */

static void on_timer(struct loop_timer *t)
{
    struct dialled *d = LIST_ITEM(t, struct dialled, timer);
    uint64_t        now = clock_mono_ms();
    if (d->state == OVER) return;
    if (d->state != UP && now - d->began_ms >= LINK_DIAL_MS) {
        end(d, "no answer in time");
        return;
    }
    if (d->state != UP) {
        peer_waits(&d->peer);
        if (d->state == OVER) return;
    }
    if (d->state == UP && now - d->heard_ms >= LINK_SILENT_MS) {
        end(d, "no sign of life");
        return;
    }
    if (d->state == UP && !d->pinged_ns) {
        d->pinged_ns = clock_mono_ns();
        put(d, WS_OP_PING, STR(""));
    }
    loop_timer_set(&d->timer, LINK_PING_MS / 2);
}

static void on_connect(uv_connect_t *r, int status)
{
    struct dialled *d = r->data;
    if (status < 0) end(d, uv_strerror(status));
    else if (d->state == CONNECTING) {
        d->state = UPGRADING;
        uv_tcp_nodelay(&d->tcp, 1);
        bool v6 = strchr(d->host, ':') != NULL;
        buf_printf(&d->out,
                   "GET /node HTTP/1.1\r\nHost: %s%s%s:%u\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
                   v6 ? "[" : "", d->host, v6 ? "]" : "", d->port);
        if (uv_read_start((uv_stream_t *)&d->tcp, on_alloc, on_read) < 0) end(d, "cannot read");
        else loop_mark(d->links->loop, &d->dirty);
    }
    let_go(d);
}

static void on_resolved(uv_getaddrinfo_t *r, int status, struct addrinfo *found)
{
    struct dialled *d = r->data;
    if (d->state == OVER) {
        /* nobody waits for it */
    } else if (status < 0) end(d, uv_strerror(status));
    else if (uv_tcp_init(&d->links->loop->uv, &d->tcp) < 0) end(d, "cannot make a socket");
    else {
        d->tcp_open = true;
        d->open++;
        d->tcp.data = d->connect.data = d;
        d->state = CONNECTING;
        d->open++;
        int e = uv_tcp_connect(&d->connect, &d->tcp, found->ai_addr, on_connect);
        if (e < 0) {
            d->open--;
            end(d, uv_strerror(e));
        }
    }
    uv_freeaddrinfo(found);
    let_go(d);
}

static struct dialled *dial(struct links *l, struct str node, struct str host, unsigned port)
{
    struct dialled *d = mem_alloc(sizeof *d);
    char            service[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    if (!d) return NULL;
    d->links = l;
    d->port = port;
    keep(d->id, sizeof d->id, node);
    keep(d->host, sizeof d->host, host);
    peer_init(&d->peer, l->hub);
    ws_init(&d->ws, LINK_MESSAGE_MAX);
    d->ws.of_server = true;
    d->dirty.flush = flush;
    d->began_ms = clock_mono_ms();
    snprintf(service, sizeof service, "%u", port);
    d->resolve.data = d;
    if (uv_getaddrinfo(&l->loop->uv, &d->resolve, on_resolved, d->host, service, &hints) < 0) {
        ws_done(&d->ws);
        mem_free(d);
        return NULL;
    }
    d->open = 2; /* that, and the timer */
    loop_timer_init(l->loop, &d->timer, on_timer);
    loop_timer_set(&d->timer, LINK_PING_MS / 2);
    list_add(&l->dialled, &d->node);
    l->dialled_count++;
    return d;
}

struct peer *dial_reach(struct nodes *n, struct str node, struct str url)
{
    struct links   *l = LIST_ITEM(n, struct links, nodes);
    struct str      host;
    unsigned        port;
    const char     *why;
    struct dialled *d;
    LIST_EACH (x, &l->dialled) {
        d = LIST_ITEM(x, struct dialled, node);
        if (str_is(node, d->id)) return &d->peer;
    }
    if (l->closing || !link_url_parse(url, &host, &port, &why)) return NULL;
    d = dial(l, node, host, port);
    return d ? &d->peer : NULL;
}

void dial_hang_up(struct links *l)
{
    while (!list_empty(&l->dialled))
        end(LIST_ITEM(l->dialled.next, struct dialled, node), "this node goes");
}
