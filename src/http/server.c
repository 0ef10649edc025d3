/* server.c -- listening, accepting, limits per address, drain and close.
 *
 * Descriptors: at start the limit of open files is raised and the connection cap
 * lowered until both fit with DESCRIPTORS_KEPT to spare, so that a flood of
 * connections never takes the files of the store: over the cap, connections that have
 * asked for nothing are closed, oldest first, then 503 is answered. Should they run out all the
 * same, libuv gives up a descriptor it keeps for that, accepts and closes what waits, and takes the
 * reserve back; so it does not spin.
 *
 * Socket options are set once on the listener; Linux hands them to every
 * connection, which saves three system calls each.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/log.h"
#include "http/conn_int.h"

enum {
    BACKLOG = 1024,
    DESCRIPTORS_KEPT = 128, /* store, logs, tools, upstream */
    /* unsent bytes in the kernel: what waits there is stale and costs memory, too */
    NOTSENT_MAX = 64 * 1024,
    COMPLAIN_MS = 1000, /* at most one log line about refusals in so long */
    LOOK_MAX = 32,      /* of the oldest idle connections, when one must go */
};

static void complain(struct server *s, const char *event, const char *value)
{
    uint64_t now = uv_now(&s->loop->uv);

    if (s->complained_ms && now - s->complained_ms < COMPLAIN_MS) return;
    s->complained_ms = now;
    log_line(LOG_WARN, event, "detail", value, NULL);
}

/* --- addresses ------------------------------------------------------------------------ */

static bool is_mapped4(const uint8_t *a)
{
    static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    return memcmp(a, prefix, sizeof prefix) == 0;
}

static void learn_peer(struct conn *c)
{
    struct sockaddr_storage name;
    int                     len = sizeof name;

    memset(&name, 0, sizeof name);
    uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&name, &len);
    if (name.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&name;
        c->ip6 = !is_mapped4(in6->sin6_addr.s6_addr);
        memcpy(c->peer, in6->sin6_addr.s6_addr + (c->ip6 ? 0 : 12), c->ip6 ? 16 : 4);
        c->loopback = c->ip6 ? IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) : c->peer[0] == 127;
    } else if (name.ss_family == AF_INET) {
        memcpy(c->peer, &((const struct sockaddr_in *)&name)->sin_addr, 4);
        c->loopback = c->peer[0] == 127;
    }
}

/* Counts the connection to its address; false when there are too many from there.
 * A whole /64 counts as one: that is what one customer gets. */
static bool address_enter(struct conn *c)
{
    struct server  *s = c->server;
    struct str      key = str_n((char *)c->peer, c->ip6 ? 8 : 4);
    struct address *a = map_get(&s->addresses, key);

    if (c->loopback) return true;
    if (!a) {
        if (!(a = mem_alloc(sizeof *a))) return false;
        memcpy(a->key, key.ptr, key.len);
        if (map_put(&s->addresses, str_n(a->key, key.len), a)) {
            mem_free(a);
            return false;
        }
    }
    a->count++;
    c->address = a;
    return a->count <= s->limits.per_address;
}

static void address_leave(struct conn *c)
{
    struct address *a = c->address;

    if (!a) return;
    c->address = NULL;
    if (--a->count) return;
    map_remove(&c->server->addresses, str_n(a->key, c->ip6 ? 8 : 4));
    mem_free(a);
}

/* --- accepting -------------------------------------------------------------------------- */

static void finish_close(struct server *s)
{
    if (!s->closing || s->connections || s->handles || !s->done) return;
    void (*done)(void *) = s->done;
    s->done = NULL;
    done(s->done_ctx);
}

static void on_connection(uv_stream_t *listener, int status);

static void on_spare_closed(uv_handle_t *h)
{
    struct server *s = h->data;

    s->handles--;
    s->spare_busy = false;
    if (s->listening && s->waiting) {
        s->waiting = false;
        on_connection((uv_stream_t *)&s->listener, 0);
    }
    finish_close(s);
}

/* libuv stops listening until somebody takes the connection; so without memory
 * for it, it is taken into a handle kept for that, and closed. */
static void turn_away(struct server *s)
{
    s->waiting = s->spare_busy;
    if (s->spare_busy) return;
    must(uv_tcp_init(&s->loop->uv, &s->spare) == 0);
    s->spare.data = s;
    s->spare_busy = true;
    s->handles++;
    uv_accept((uv_stream_t *)&s->listener, (uv_stream_t *)&s->spare);
    uv_close((uv_handle_t *)&s->spare, on_spare_closed);
}

/* Who has asked for nothing for longest; among the oldest, the one whose address has most
 * connections. */
static struct conn *who_can_go(struct server *s, const struct conn *newcomer, bool refused)
{
    struct conn *best = NULL;
    unsigned     looked = 0;

    LIST_EACH (n, &s->idle) {
        struct conn *c = LIST_ITEM(n, struct conn, idle);
        if (looked++ == LOOK_MAX) break;
        if (c == newcomer || c->refused != refused || !out_clear(c) || c->in.len) continue;
        if (!best || (c->address && c->address->count > (best->address ? best->address->count : 0)))
            best = c;
    }
    return best;
}

/* There are too many. Whoever sits there without a request makes room; when all are busy, this one
 * is let in beyond the cap, for what is vital and to be told 503; and of those, too, the silent
 * ones make room. */
static void squeeze_in(struct conn *c)
{
    struct server *s = c->server;
    struct conn   *other = who_can_go(s, c, false);

    if (other) {
        conn_kill(other);
        return;
    }
    complain(s, "net.refused", "too_many_connections");
    c->refused = true;
    if (++s->refused <= REFUSED_MAX) return;
    other = who_can_go(s, c, true);
    conn_kill(other ? other : c);
}

static void refuse_connection(struct conn *c, int status, const char *code, const char *text)
{
    struct server *s = c->server;

    complain(s, "net.refused", code);
    c->refused = true;
    /* by TLS it could be told only after a handshake: that is the expensive part */
    if (++s->refused > REFUSED_MAX || c->secure) conn_kill(c);
    else conn_refuse(c, status, code, text);
}

static void admit(struct conn *c)
{
    struct server *s = c->server;
    bool           known = address_enter(c);

    conn_begin(c);
    if (!known)
        refuse_connection(c, 429, "too_many_connections",
                          "There are too many connections from this address.");
    else if (s->connections - s->refused > s->limits.connections) squeeze_in(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *s = listener->data;
    struct conn   *c;

    if (status < 0) {
        complain(s, "net.accept", os_words(-status));
        return;
    }
    if (!(c = conn_new(s))) {
        turn_away(s);
        return;
    }
    must(uv_tcp_init(&s->loop->uv, &c->tcp) == 0);
    s->connections++;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp)) {
        conn_kill(c);
        return;
    }
    learn_peer(c);
    admit(c);
}

void server_gone(struct conn *c)
{
    struct server *s = c->server;

    address_leave(c);
    s->connections--;
    s->refused -= c->refused;
    finish_close(s);
}

/* When all are busy it is answered as a connection beyond the cap is. */
bool server_carries(struct conn *c)
{
    struct server *s = c->server;

    s->carried++;
    if (s->connections + s->carried > s->limits.connections) c->refused = true;
    return address_enter(c);
}

void server_carried(struct conn *c)
{
    address_leave(c);
    c->server->carried--;
}

/* --- starting ------------------------------------------------------------------------------ */

/* As many connections as there can be descriptors, with some to spare. */
static void fit_descriptors(struct server *s)
{
    struct rlimit r;
    rlim_t        want = (rlim_t)s->limits.connections + REFUSED_MAX + DESCRIPTORS_KEPT;

    if (getrlimit(RLIMIT_NOFILE, &r)) return;
    if (r.rlim_cur < want) {
        rlim_t old = r.rlim_cur;
        r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &r)) r.rlim_cur = old;
    }
    if (r.rlim_cur >= want) return;
    rlim_t kept = REFUSED_MAX + DESCRIPTORS_KEPT;
    s->limits.connections =
        r.rlim_cur > kept * 2 ? (unsigned)(r.rlim_cur - kept) : (unsigned)(r.rlim_cur / 2);
    log_line(LOG_WARN, "net.descriptors", "limit", log_int((int64_t)r.rlim_cur), "connections",
             log_int(s->limits.connections), NULL);
}

static int resolve(struct loop *l, const char *host, unsigned port, struct sockaddr_storage *out)
{
    uv_getaddrinfo_t req;
    struct addrinfo  hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    char             service[8];

    snprintf(service, sizeof service, "%u", port);
    if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)out) == 0) return 0;
    if (uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)out) == 0) return 0;
    int e = uv_getaddrinfo(&l->uv, &req, NULL, host, service, &hints);
    if (e) return e;
    memcpy(out, req.addrinfo->ai_addr, req.addrinfo->ai_addrlen);
    uv_freeaddrinfo(req.addrinfo);
    return 0;
}

static void set_options(struct server *s)
{
    uv_os_fd_t fd;
    int        on = 1, unsent = NOTSENT_MAX, timeout = (int)s->limits.write_ms;

    if (uv_fileno((uv_handle_t *)&s->listener, &fd)) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    /* A peer that vanished without a word: heartbeats go unacknowledged. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

static void learn_port(struct server *s)
{
    struct sockaddr_storage name;
    int                     len = sizeof name;

    if (uv_tcp_getsockname(&s->listener, (struct sockaddr *)&name, &len)) return;
    s->port = ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                               : ((struct sockaddr_in *)&name)->sin_port);
}

static int listen_at(struct server *s, const char *host, unsigned port)
{
    struct sockaddr_storage where;
    int                     e = resolve(s->loop, host, port, &where);

    if (!e) e = uv_tcp_bind(&s->listener, (struct sockaddr *)&where, 0);
    if (!e) set_options(s);
    if (!e) e = uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
    if (!e) learn_port(s);
    return e;
}

static struct server *server_new(const struct server_setup *setup)
{
    struct server *s = mem_alloc(sizeof *s);

    if (!s) return NULL;
    s->loop = setup->loop;
    s->limits = setup->limits;
    s->routes = setup->routes;
    s->guard = setup->guard;
    s->error = setup->error;
    s->app = setup->app;
    map_init(&s->addresses);
    list_init(&s->idle);
    list_init(&s->holders);
    buf_init(&s->scratch, 0);
    if (!buf_room(&s->scratch, CONN_OUT_MAX) || !tlsconn_init(s, setup->certs)) {
        tlsconn_done(s);
        buf_done(&s->scratch);
        mem_free(s);
        return NULL;
    }
    must(uv_tcp_init(&s->loop->uv, &s->listener) == 0);
    s->listener.data = s;
    uv_update_time(&s->loop->uv);
    deadline_init(s);
    s->handles = 2; /* listener and timer */
    s->listening = true;
    return s;
}

enum err server_start(const struct server_setup *setup, struct str host, unsigned port,
                      struct server **out, struct str *why, struct arena *a)
{
    struct str     name = arena_dup(a, host);
    struct server *s = name.ptr ? server_new(setup) : NULL;

    if (!s) {
        *why = STR("no memory");
        return ERR_NOMEM;
    }
    /* libuv writes without MSG_NOSIGNAL; a reset peer must not end us */
    signal(SIGPIPE, SIG_IGN);
    fit_descriptors(s);
    int e = listen_at(s, name.ptr, port);
    if (!e) {
        *out = s;
        return OK;
    }
    *why = arena_printf(a, "cannot listen on " STR_FMT ":%u: %s", STR_ARG(host), port,
                        e == UV_EMFILE || e == UV_ENFILE ? os_words(-e) : uv_strerror(e));
    server_close(s, NULL, NULL);
    while (s->handles) uv_run(&s->loop->uv, UV_RUN_NOWAIT);
    server_free(s);
    return e == UV_EADDRINUSE ? ERR_BUSY : ERR_IO;
}

/* --- asking --------------------------------------------------------------------------------- */

void *server_app(const struct server *s)
{
    return s->app;
}
unsigned server_port(const struct server *s)
{
    return s->port;
}
unsigned server_connections(const struct server *s)
{
    return s->connections;
}
unsigned server_streams(const struct server *s)
{
    return s->streams;
}

void server_limits(struct server *s, const struct net_limits *l)
{
    unsigned connections = s->limits.connections;

    s->limits = *l;
    s->limits.connections = connections;
}

/* --- stopping ------------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *h)
{
    struct server *s = h->data;

    s->handles--;
    finish_close(s);
}

static void stop_listening(struct server *s)
{
    if (!s->listening) return;
    s->listening = false;
    uv_close((uv_handle_t *)&s->listener, on_handle_closed);
}

static void each_conn(struct server *s, void (*run)(struct conn *c))
{
    for (size_t i = 0; i < WHEEL_SLOTS; i++)
        LIST_EACH (n, &s->slots[i]) run(LIST_ITEM(n, struct conn, wheel));
}

static void drain_conn(struct conn *c)
{
    if (c->state == CONN_CARRIER) h2_drain(c);
    else if (c->state == CONN_IDLE && out_clear(c)) conn_doom(c);
    else if (c->state == CONN_WS) {
        wsconn_drain(c);
        conn_mark(c); /* its source may have a last word, or close at once */
    }
}

void server_drain(struct server *s)
{
    s->draining = true;
    stop_listening(s);
    each_conn(s, drain_conn);
}

void server_close(struct server *s, void (*done)(void *ctx), void *ctx)
{
    must(!s->closing);
    s->closing = true;
    s->done = done;
    s->done_ctx = ctx;
    stop_listening(s);
    uv_close((uv_handle_t *)&s->timer, on_handle_closed);
    each_conn(s, conn_doom);
}

void server_free(struct server *s)
{
    must(s->connections == 0 && s->handles == 0);
    map_done(&s->addresses);
    buf_done(&s->scratch);
    tlsconn_done(s);
    mem_free(s);
}
