/* net_peer.c -- the server and the client of the connection tests; see net_peer.h. */
#include "net_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "config/config_private.h"

struct net net;

/* --- what the server does ---------------------------------------------------------- */

static enum pull spring_pull(struct source *src, struct buf *out, size_t room)
{
    struct spring *s = LIST_ITEM(src, struct spring, source);
    size_t         before = out->len;

    s->pulls++;
    for (uint64_t until = uv_hrtime() + LOOP_SHARE_NS; s->slow && uv_hrtime() < until;) {}
    if (s->stuck) return PULL_MORE;
    if (s->parts) {
        char ys[3000];
        memset(ys, 'y', sizeof ys);
        while (s->parts && out->len - before + sizeof ys + 10 <= room) {
            size_t n = s->parts < sizeof ys ? s->parts : sizeof ys;
            s->parts -= n;
            ws_frame_part(src, out, str_n(ys, n), !s->mid_text, s->parts == 0);
            s->mid_text = s->parts > 0;
        }
    }
    if (s->text.len) {
        buf_str(out, str_cut(buf_view(&s->text), room));
        buf_eat(&s->text, out->len - before);
    }
    while (s->endless && out->len - before + 1010 <= room) {
        char   xs[1000];
        size_t n = s->endless < sizeof xs ? s->endless : sizeof xs;
        memset(xs, 'x', sizeof xs);
        if (s->ws) ws_frame_text(out, str_n(xs, n));
        else buf_add(out, xs, n);
        s->endless -= n;
    }
    s->given += out->len - before;
    if (s->parts || s->endless || s->text.len) return PULL_MORE;
    return s->end ? PULL_END : PULL_WAIT;
}

static void spring_gone(struct source *src)
{
    LIST_ITEM(src, struct spring, source)->gone++;
}

static void socket_message(struct ws_peer *p, struct str text, bool binary)
{
    struct socket_peer *s = LIST_ITEM(p, struct socket_peer, peer);

    s->messages++;
    if (text.len < 4096) {
        buf_str(&s->heard, text);
        buf_chr(&s->heard, '\n');
    }
    if (s->echo) conn_ws_send(s->conn, text);
}

static void socket_gone(struct ws_peer *p)
{
    struct socket_peer *s = LIST_ITEM(p, struct socket_peer, peer);
    CHECK(net.spring.gone == 1); /* the source is told first */
    s->gone++;
    s->conn = NULL;
}

static void on_cancelled(struct conn_hold *h)
{
    net.cancelled++;
    net.held = NULL;
}

static void get_hello(struct server *s, struct request *q)
{
    net.handled++;
    conn_reply(q->conn, 200, "text/plain", STR("hi"));
}

static void post_echo(struct server *s, struct request *q)
{
    net.handled++;
    conn_reply(q->conn, 200, "application/octet-stream", q->body);
}

static void get_vital(struct server *s, struct request *q)
{
    net.handled++;
    conn_reply(q->conn, 200, "text/plain", STR("alive"));
}

static void get_name(struct server *s, struct request *q)
{
    struct str x = request_query(q, "x");
    conn_header(q->conn, "Parley-X", x.ptr ? x : STR("none"));
    conn_reply(q->conn, 200, "text/plain", q->param[0]);
}

static void get_later(struct server *s, struct request *q)
{
    net.held = q->conn;
    net.hold.cancelled = on_cancelled;
    conn_hold(q->conn, &net.hold);
}

static void get_forgotten(struct server *s, struct request *q)
{
    net.handled++;
}

static void get_big(struct server *s, struct request *q)
{
    size_t n = 8 * 1024 * 1024;
    char  *p = arena_alloc(q->arena, n);
    memset(p, 'b', n);
    net.handled++;
    conn_reply(q->conn, 200, "text/plain", str_n(p, n));
}

static char page[8000000];

static void get_page(struct server *s, struct request *q)
{
    memset(page, 'p', sizeof page);
    conn_reply_static(q->conn, 200, "text/html", str_n(page, sizeof page));
}

static void get_none(struct server *s, struct request *q)
{
    conn_reply(q->conn, 204, NULL, STR(""));
}

static void get_stream(struct server *s, struct request *q)
{
    conn_stream(q->conn, 200, "text/event-stream", &net.spring.source, net.heartbeat_ms);
}

static void get_ws(struct server *s, struct request *q)
{
    net.spring.ws = true;
    if (conn_upgrade(q->conn, STR_NONE, &net.spring.source, &net.socket.peer))
        net.socket.conn = q->conn;
}

static void get_ws_stranger(struct server *s, struct request *q)
{
    conn_stranger(q->conn, true);
    get_ws(s, q);
}

static void get_ws_hello(struct server *s, struct request *q)
{
    get_ws(s, q);
    if (net.socket.conn) conn_ws_send(net.socket.conn, STR("hello"));
}

static void own_end(struct own *o)
{
    list_remove(&o->node);
    net.ended++;
    mem_free(o);
}

static void own_gone(struct source *src)
{
    struct own *o = LIST_ITEM(src, struct own, spring.source);
    CHECK(o->spring.gone++ == 0);
    if (!o->ws) own_end(o);
}

static void own_socket_gone(struct ws_peer *p)
{
    struct own *o = LIST_ITEM(p, struct own, socket.peer);
    CHECK(o->spring.gone == 1);
    own_end(o);
}

static void own_message(struct ws_peer *p, struct str text, bool binary)
{
    struct own *o = LIST_ITEM(p, struct own, socket.peer);
    conn_ws_send(o->socket.conn, text);
}

static void get_own(struct server *s, struct request *q)
{
    struct own *o = mem_alloc(sizeof *o);

    o->ws = str_is(q->path, "/own/ws");
    o->spring.ws = o->ws;
    o->spring.source.pull = spring_pull;
    o->spring.source.gone = own_gone;
    o->socket.peer = (struct ws_peer){ own_message, own_socket_gone };
    o->socket.conn = q->conn;
    if (o->ws && !conn_upgrade(q->conn, STR_NONE, &o->spring.source, &o->socket.peer)) {
        mem_free(o);
        return;
    }
    if (!o->ws) conn_stream(q->conn, 200, "text/event-stream", &o->spring.source, 20);
    list_add(&net.owns, &o->node);
    net.begun++;
}

static bool guard(struct server *s, struct request *q)
{
    net.guarded++;
    conn_until(q->conn, net.until_ms);
    if (net.guard_tells) conn_header(q->conn, "Parley-Guard", STR("seen"));
    if (net.guard_holds) {
        get_later(s, q);
        net.guard_holds--;
        return false;
    }
    if (!str_is(q->path, "/secret")) return true;
    conn_error(q->conn, 403, "denied", "Not for you.");
    return false;
}

static const struct route routes[] = {
    { "GET", "/vital", get_vital, ROUTE_VITAL },
    { "GET", "/ws/stranger", get_ws_stranger },
    { "GET", "/hello", get_hello },
    { "POST", "/echo", post_echo },
    { "GET", "/names/{name}", get_name },
    { "DELETE", "/names/{}", get_name },
    { "GET", "/later", get_later },
    { "GET", "/forgotten", get_forgotten },
    { "GET", "/big", get_big },
    { "GET", "/stream", get_stream },
    { "POST", "/stream", get_stream },
    { "GET", "/ws", get_ws },
    { "GET", "/ws/hello", get_ws_hello },
    { "GET", "/page", get_page },
    { "GET", "/none", get_none },
    { "GET", "/own", get_own },
    { "GET", "/own/ws", get_own },
    { NULL },
};

/* --- up and down -------------------------------------------------------------------- */

static const struct tls_files *secured(void)
{
    static struct tls_files files;

    if (net.tls || !getenv("PARLEY_TLS")) return net.tls;
    if (!files.cert[0]) files = tls_files_make("peers", "localhost", 30);
    return &files;
}

void net_up(const struct net_limits *limits)
{
    struct server_setup setup = { .loop = &net.loop, .routes = routes, .guard = guard };
    struct str          why = STR_NONE;

    net = (struct net){ .host = net.host ? net.host : "127.0.0.1", .tls = secured() };
    REQUIRE(loop_init(&net.loop) == OK);
    arena_init(&net.arena, 0);
    list_init(&net.owns);
    net.spring.source.pull = spring_pull;
    net.spring.source.gone = spring_gone;
    net.socket.peer.message = socket_message;
    net.socket.peer.gone = socket_gone;
    if (net.tls) {
        struct tls_facts facts;
        REQUIRE(certs_new(&net.loop, net.tls->cert, net.tls->key, &facts, &net.certs) == OK);
        setup.certs = net.certs;
    }
    if (limits) setup.limits = *limits;
    else net_limits_default(&setup.limits);
    REQUIRE(server_start(&setup, str_c(net.host), 0, &net.server, &why, &net.arena) == OK);
}

static void on_server_closed(void *ctx)
{
    net.closed = true;
}

static void on_certs_closed(void *ctx)
{
    net.certs = NULL;
}

void net_down(void)
{
    server_close(net.server, on_server_closed, NULL);
    net_until(net.closed);
    CHECK(server_streams(net.server) == 0);
    CHECK(net.server->bodies == 0 && net.server->strangers == 0 && net.server->answers == 0);
    server_free(net.server);
    certs_free(net.certs, on_certs_closed, NULL);
    net_until(!net.certs);
    while (net.peers) {
        struct peer *p = net.peers;
        net.peers = p->next;
        peer_close(p);
        SSL_free(p->ssl);
        buf_done(&p->got);
        mem_free(p);
    }
    buf_done(&net.spring.text);
    buf_done(&net.socket.heard);
    arena_done(&net.arena);
    loop_done(&net.loop);
    net.host = NULL;
    net.tls = NULL;
}

void net_limits_default(struct net_limits *l)
{
    struct config c = { 0 };
    cfg_defaults(&c);
    *l = c.limits;
}

struct net_limits net_short(void)
{
    struct net_limits l;
    net_limits_default(&l);
    /* a handshake takes turns of both sides, on a busy machine, too */
    l.head_ms = secured() ? 1500 : 60;
    l.body_ms = 120;
    l.idle_ms = 80;
    l.write_ms = 100;
    l.ping_ms = 50;
    return l;
}

struct conn *net_conn(void)
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        if (!list_empty(&net.server->slots[i]))
            return LIST_ITEM(net.server->slots[i].next, struct conn, wheel);
    return NULL;
}

static void peer_decrypt(struct peer *p)
{
    char bytes[16384];
    int  n;

    ERR_clear_error();
    while ((n = SSL_read(p->ssl, bytes, sizeof bytes)) > 0) buf_add(&p->got, bytes, (size_t)n);
    int why = SSL_get_error(p->ssl, n);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) p->eof = true;
    if (why == SSL_ERROR_SYSCALL && errno == ECONNRESET) p->reset = true;
}

static void peer_read(struct peer *p)
{
    char    bytes[65536];
    ssize_t n;

    if (p->fd < 0 || p->deaf || p->eof) return;
    if (p->ssl) {
        peer_decrypt(p);
        return;
    }
    while ((n = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        buf_add(&p->got, bytes, (size_t)n);
    if (n == 0) p->eof = true;
    if (n < 0 && errno == ECONNRESET) p->eof = p->reset = true;
}

void net_turn(void)
{
    uv_run(&net.loop.uv, UV_RUN_NOWAIT);
    for (struct peer *p = net.peers; p; p = p->next) peer_read(p);
}

/* A turn that finds nothing to do would only take the machine from others. */
void net_rest(void)
{
    struct pollfd fds[64];
    nfds_t        n = 1;

    fds[0] = (struct pollfd){ .fd = uv_backend_fd(&net.loop.uv), .events = POLLIN };
    for (struct peer *p = net.peers; p; p = p->next) {
        if (p->deaf || p->eof || p->reset) continue;
        if (n == sizeof fds / sizeof *fds) return;
        fds[n++] = (struct pollfd){ .fd = p->fd, .events = POLLIN };
    }
    if (uv_backend_timeout(&net.loop.uv) != 0) poll(fds, n, 1);
}

/* --- the client ----------------------------------------------------------------------- */

struct peer *peer_plain(void)
{
    struct peer       *p = mem_alloc(sizeof *p);
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server_port(net.server)) };

    CHECK(inet_pton(AF_INET, net.host, &to.sin_addr) == 1);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    p->next = net.peers;
    net.peers = p;
    /* the kernel's backlog takes it at once */
    CHECK(connect(p->fd, (struct sockaddr *)&to, sizeof to) == 0);
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    return p;
}

struct peer *peer_open(void)
{
    struct peer *p = peer_plain();
    if (net.tls) p->ssl = tls_client(p->fd);
    return p;
}

ssize_t peer_try(struct peer *p, const char *bytes, size_t len)
{
    ssize_t n;

    if (!p->ssl) {
        n = send(p->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        return n < 0 && errno == EAGAIN ? 0 : n;
    }
    ERR_clear_error();
    n = SSL_write(p->ssl, bytes, (int)(len < 16384 ? len : 16384));
    int why = SSL_get_error(p->ssl, (int)n);
    if (n > 0) return n;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

void peer_send(struct peer *p, const char *bytes, size_t len)
{
    uint64_t until = uv_hrtime() + NET_PATIENCE_NS;

    while (len && uv_hrtime() < until) {
        ssize_t n = peer_try(p, bytes, len);
        if (n < 0) return; /* the test looks at what the server did */
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
        if (len) net_turn();
    }
    CHECK(len == 0);
}

void peer_say(struct peer *p, const char *text)
{
    peer_send(p, text, strlen(text));
}

struct peer *peer_ask(const char *text)
{
    struct peer *p = peer_open();
    peer_say(p, text);
    return p;
}

bool peer_has(const struct peer *p, const char *text)
{
    return str_find(buf_view(&p->got), str_c(text)) >= 0;
}

size_t peer_count(const struct peer *p, const char *text)
{
    struct str rest = buf_view(&p->got), want = str_c(text);
    size_t     count = 0;
    ptrdiff_t  at;

    while ((at = str_find(rest, want)) >= 0) {
        count++;
        rest = str_from(rest, (size_t)at + want.len);
    }
    return count;
}

void peer_forget(struct peer *p)
{
    buf_clear(&p->got);
}

void peer_close(struct peer *p)
{
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
}

void peer_reset(struct peer *p)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    peer_close(p);
}

void peer_half_close(struct peer *p)
{
    if (p->ssl) SSL_shutdown(p->ssl);
    shutdown(p->fd, SHUT_WR);
}

void peer_frame(struct peer *p, unsigned first_byte, const char *payload, size_t len)
{
    struct buf b;
    uint8_t    head[14] = { (uint8_t)first_byte };
    size_t     n = 2;

    if (len < 126) head[1] = (uint8_t)(0x80 | len);
    else {
        size_t bytes = len < 65536 ? 2 : 8;
        head[1] = bytes == 2 ? 0xfe : 0xff;
        for (size_t i = 0; i < bytes; i++)
            head[n++] = (uint8_t)((uint64_t)len >> 8 * (bytes - 1 - i));
    }
    memcpy(head + n, "\x11\x22\x33\x44", 4);
    buf_init(&b, 0);
    buf_add(&b, head, n + 4);
    for (size_t i = 0; i < len; i++) buf_chr(&b, (char)(payload[i] ^ "\x11\x22\x33\x44"[i & 3]));
    peer_send(p, b.ptr, b.len);
    buf_done(&b);
}

struct peer *peer_upgrade(const char *path)
{
    struct peer *p = peer_open();
    char         text[512];

    snprintf(text, sizeof text,
             "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, "
             "Upgrade\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
             path);
    peer_say(p, text);
    net_until(peer_has(p, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    return p;
}
