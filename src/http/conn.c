/* conn.c -- the life of a connection: reading, requests in their order, its end.
 *
 * conn_int.h has the states and the two rules. Requests of one connection are
 * answered one at a time and in order: while one is being answered, bytes of the
 * next wait in `in`. flush(), once per turn, is where everything goes on.
 */
#include "http/conn_int.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/route.h"

uint64_t conn_now(const struct conn *c)
{
    return uv_now(&c->server->loop->uv);
}

void conn_mark(struct conn *c)
{
    if (c->state != CONN_CLOSED) loop_mark(c->server->loop, &c->dirty);
}

void conn_doom(struct conn *c)
{
    c->doomed = true;
    conn_mark(c);
}

void conn_set_state(struct conn *c, enum conn_state state)
{
    c->state = (uint8_t)state;
    c->since_ms = conn_now(c);
    /* a head that does not come to its end is as good as none */
    if (state != CONN_HEAD) list_remove(&c->idle);
    if (state == CONN_IDLE) list_add(&c->server->idle, &c->idle);
    deadline_update(c);
}

bool conn_count(struct conn *c, size_t *counted, size_t now)
{
    struct server *s = c->server;
    size_t        *sum = c->stranger ? &s->strangers : &s->bodies;

    bool grew = now > *counted;

    *sum = *sum - *counted + now;
    *counted = now;
    /* who did not ask for more is not to blame */
    return !grew || *sum <= (c->stranger ? STRANGERS_MAX : s->limits.bodies_max);
}

void conn_stranger(struct conn *c, bool stranger)
{
    struct server *s = c->server;
    size_t now = (c->exchange ? c->exchange->counted : 0) + (c->wsock ? c->wsock->counted : 0);

    if (c->stranger == stranger) return;
    c->stranger = stranger;
    *(stranger ? &s->bodies : &s->strangers) -= now;
    *(stranger ? &s->strangers : &s->bodies) += now;
    if (c->wsock)
        c->wsock->ws.message.max = stranger ? STRANGER_MESSAGE_MAX : s->limits.message_max;
}

/* --- exchanges -------------------------------------------------------------------- */

static struct exchange *exchange_new(struct conn *c)
{
    struct exchange *x = mem_alloc(sizeof *x);

    if (!x) return NULL;
    arena_init(&x->arena, 0);
    buf_init(&x->headers, 0);
    http1_init(&x->http1, &c->server->limits, &x->request, &x->arena);
    x->request.conn = c;
    x->request.began_ns = clock_mono_ns();
    return x;
}

void conn_release(struct conn *c)
{
    struct exchange *x = c->exchange;

    if (!x) return;
    c->exchange = NULL;
    conn_count(c, &x->counted, 0);
    http1_done(&x->http1);
    buf_done(&x->headers);
    arena_done(&x->arena);
    mem_free(x);
}

/* --- the end ------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *h)
{
    struct conn *c = (struct conn *)h;

    server_gone(c);
    h2_free(c);
    mem_free(c);
}

/* Told in this order: who waits to answer, the source, the WebSocket peer. */
static void tell_gone(struct conn *c)
{
    struct conn_hold *hold = c->exchange ? c->exchange->hold : NULL;

    if (hold) {
        c->exchange->hold = NULL;
        hold->cancelled(hold);
    }
    out_end_source(c);
    wsconn_end(c);
    h2_end(c);
}

void conn_kill(struct conn *c)
{
    if (c->state == CONN_CLOSED) return;
    must(!c->in_handler); /* rule 1 */
    if (c->state == CONN_IDLE) {
        h2_bye(c);
        tlsconn_bye(c);
    }
    c->state = CONN_CLOSED;
    list_remove(&c->idle);
    out_unhold(c);
    deadline_remove(c);
    loop_undirty(&c->dirty);
    tell_gone(c);
    conn_release(c);
    buf_done(&c->in);
    buf_done(&c->out);
    tlsconn_end(c);
    if (c->stream) h2_stream_gone(c);
    else uv_close((uv_handle_t *)&c->tcp, on_closed); /* a blocked write ends there, too */
}

/* Closing at once would make the kernel answer unread bytes with a reset, which
 * can destroy the answer before the client has read it (RFC 9112 9.6). */
void conn_linger(struct conn *c)
{
    uv_os_fd_t fd;

    h2_bye(c);
    tlsconn_bye(c);
    if (c->eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) || shutdown(fd, SHUT_WR)) {
        conn_kill(c);
        return;
    }
    tell_gone(c);
    conn_release(c);
    buf_done(&c->in);
    c->in_at = 0;
    conn_set_state(c, CONN_LINGER);
}

/* Refused before the guard was asked: its door may have a form of its own for that, too. */
static void know_door(struct conn *c)
{
    struct exchange *x = c->exchange;

    if (!x || x->guarded || !c->server->routes) return;
    struct request asked = x->request; /* what came of it is no request yet */
    if (!asked.path.ptr) asked.path = http1_path_so_far(&x->http1);
    if (!asked.path.ptr) return;
    x->request.door = route_find(c->server->routes, &asked).door;
    if (!x->request.door) x->request.door = route_near(c->server->routes, asked.path);
}

void conn_refuse(struct conn *c, int status, const char *code, const char *text)
{
    know_door(c);
    reply_refusal(c, status, code, text);
    conn_mark(c);
}

/* --- requests --------------------------------------------------------------------------- */

static bool no_room(struct conn *c)
{
    conn_header(c, "Retry-After", STR("1"));
    conn_error(c, 503, "too_many_connections",
               "The server has no room for another connection; try again.");
    return false;
}

/* False: the guard has answered. It is asked once for each request. */
static bool guard_passes(struct conn *c, const struct route_match *m)
{
    struct server   *s = c->server;
    struct exchange *x = c->exchange;

    if (x->guarded) return true;
    x->guarded = true;
    x->request.access = m->route ? m->route->access : 0;
    x->request.door = m->door;
    if (c->refused) x->http1.keep_alive = false;
    if (c->refused && !(x->request.access & ROUTE_VITAL)) return no_room(c);
    return !s->guard || s->guard(s, &x->request);
}

/* The guard has let it pass: the body may come. Its clock still runs from the first byte. */
static void begin_body(struct conn *c)
{
    struct http1 *p = &c->exchange->http1;

    c->state = CONN_BODY;
    c->since_ms = c->exchange->since_ms;
    if (p->expect && !p->body.len && c->stream) h2_continue(c);
    else if (p->expect && !p->body.len) buf_lit(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    deadline_update(c);
}

/* The head is there and a body is to come: whoever may not come in is told now, so that strangers
 * cannot make us keep theirs. Its rest cannot be told from a next request, so the connection ends
 * with the answer. */
static void guard_before_body(struct conn *c)
{
    struct exchange *x = c->exchange;
    struct http1    *p = &x->http1;

    if (!x->before_body) x->keep_alive = p->keep_alive, x->since_ms = c->since_ms;
    p->keep_alive = false;
    x->before_body = true;
    conn_set_state(c, CONN_HANDLING);
    c->in_handler = true;
    struct route_match m = route_find(c->server->routes, &x->request);
    bool               passes = guard_passes(c, &m);
    c->in_handler = false;
    if (!passes) return;
    x->before_body = false;
    p->keep_alive = x->keep_alive && !c->refused;
    begin_body(c);
}

static void route_request(struct conn *c)
{
    struct server     *s = c->server;
    struct request    *q = &c->exchange->request;
    struct route_match m = route_find(s->routes, q);

    if (!guard_passes(c, &m)) return;
    if (m.route) m.route->run(s, q);
    else if (!m.allow.len) conn_error(c, 404, "not_found", "There is nothing at this address.");
    else {
        conn_header(c, "Allow", m.allow);
        conn_error(c, 405, "method_not_allowed", "This address does not take that method.");
    }
}

/* The answer is complete in `out`: the next request may be looked at. */
static void next_request(struct conn *c)
{
    conn_release(c);
    conn_set_state(c, CONN_IDLE);
}

static void dispatch(struct conn *c)
{
    conn_set_state(c, CONN_HANDLING);
    c->in_handler = true;
    route_request(c);
    if (c->state == CONN_HANDLING && !c->exchange->hold) {
        log_line(LOG_ERROR, "net.unanswered", "method", log_str(c->exchange->request.method),
                 "path", log_str(c->exchange->request.path), NULL);
        conn_error(c, 500, "internal", "The request was not answered.");
    }
    c->in_handler = false;
    if (c->state == CONN_ANSWERED && !c->close_after && !c->tail.len) next_request(c);
}

/* What was to be told with the answer belongs to the attempt that was given up. */
void conn_again(struct conn *c)
{
    struct exchange *x = c->exchange;

    must(c->state == CONN_HANDLING && !c->in_handler && x->hold);
    x->hold = NULL;
    x->guarded = x->cached = x->request.named = false;
    buf_clear(&x->headers);
    if (x->before_body) guard_before_body(c);
    else dispatch(c);
    conn_mark(c);
}

static bool takes_requests(const struct conn *c)
{
    return c->state <= CONN_BODY && !c->doomed && !c->blocked && c->out.len < CONN_OUT_MAX;
}

/* An address that two readers could take for different ones, and nobody's here: as bad as a head
 * that can be read in two ways. */
static bool is_odd(struct conn *c)
{
    struct request *q = &c->exchange->request;

    if (!q->odd || c->state != CONN_HEAD || !c->exchange->http1.head_done) return false;
    struct route_match m = route_find(c->server->routes, q);
    return !m.route && !m.allow.len;
}

static void after_feed(struct conn *c)
{
    struct http1 *p = &c->exchange->http1;

    if (!conn_count(c, &c->exchange->counted, p->body.cap)) {
        buf_done(&p->body);
        conn_count(c, &c->exchange->counted, 0);
        conn_header(c, "Retry-After", STR("1"));
        conn_refuse(c, 503, "busy", "Too many large requests are under way; try again.");
    } else if (p->status == HTTP1_REFUSED) {
        conn_refuse(c, p->why.status, p->why.code, p->why.text);
    } else if (is_odd(c)) {
        conn_refuse(c, 400, "bad_target", c->exchange->request.odd);
    } else if (p->status == HTTP1_DONE) {
        dispatch(c);
    } else if (p->head_done && c->state == CONN_HEAD) {
        guard_before_body(c);
    }
}

/* Uses bytes for as many requests as can be answered at once; how many bytes. */
static size_t take_requests(struct conn *c, const char *at, size_t len)
{
    size_t used = 0;

    while (used < len && takes_requests(c)) {
        if (!c->exchange) {
            if (!(c->exchange = exchange_new(c))) {
                conn_doom(c);
                break;
            }
            conn_set_state(c, CONN_HEAD);
        }
        used += http1_feed(&c->exchange->http1, at + used, len - used);
        after_feed(c);
    }
    if (c->out.len) conn_mark(c);
    return used;
}

/* --- reading ------------------------------------------------------------------------------ */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct conn *c = (struct conn *)h;
    /* else it has to be kept: no more than a little */
    bool         used = takes_requests(c) || c->state >= CONN_WS;
    *buf = uv_buf_init(c->server->read, used ? READ_MAX : READ_AHEAD);
}

static void keep_input(struct conn *c, const char *at, size_t len)
{
    buf_add(&c->in, at, len);
    if (c->in.err) conn_doom(c);
}

static void drain(struct conn *c, size_t len)
{
    c->drained += (uint32_t)len;
    if (c->drained > LINGER_MAX) conn_kill(c);
}

void conn_take(struct conn *c, char *at, size_t len)
{
    if (c->state == CONN_WS || c->h2) {
        if (c->h2) h2_read(c, at, len);
        else wsconn_read(c, at, len);
        return;
    }
    size_t used = take_requests(c, at, len);
    if (used < len && c->state != CONN_WS) keep_input(c, at + used, len - used);
    else if (used < len) wsconn_read(c, at + used, len - used);
}

static bool is_left(const struct conn *c)
{
    const struct conn_hold *hold = c->exchange ? c->exchange->hold : NULL;
    return c->eof && c->state == CONN_HANDLING && hold && hold->leaves;
}

/* For a stream and a WebSocket this is the peer's end. For a request being
 * answered it may be a half-close: the answer still goes out, unless its hold says otherwise. */
void conn_ended(struct conn *c)
{
    c->eof = true;
    if ((c->state >= CONN_STREAM && c->state != CONN_ANSWERED) || is_left(c)) conn_kill(c);
    else conn_mark(c);
}

static void take_bytes(struct conn *c, char *at, size_t len)
{
    if (c->state == CONN_LINGER) drain(c, len);
    else if (c->secure) tlsconn_read(c, at, len);
    else conn_take(c, at, len);
}

static void update_reading(struct conn *c);

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = (struct conn *)h;

    if (n == 0) return;
    if (n == UV_EOF) conn_ended(c);
    else if (n < 0) conn_kill(c);
    else take_bytes(c, buf->base, (size_t)n);
    if (c->state != CONN_CLOSED) update_reading(c);
}

static void update_reading(struct conn *c)
{
    /* who does not read what streams have to say need not ask for more */
    bool want = !c->eof && !c->doomed && c->in.len == 0 && !(c->h2 && c->blocked);

    if (want == c->reading) return;
    c->reading = want;
    if (!want) uv_read_stop((uv_stream_t *)&c->tcp);
    else if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read)) conn_doom(c);
}

/* --- once per turn --------------------------------------------------------------------------- */

static void use_kept_input(struct conn *c)
{
    size_t left = c->in.len - c->in_at;

    if (c->state == CONN_WS) {
        c->in_at = (uint32_t)c->in.len;
        wsconn_read(c, c->in.ptr + c->in.len - left, left);
    } else {
        c->in_at += (uint32_t)take_requests(c, c->in.ptr + c->in_at, left);
    }
    if (c->in_at == c->in.len) {
        buf_done(&c->in);
        c->in_at = 0;
    }
}

/* Everything written: what comes next. */
static void settle(struct conn *c)
{
    if (c->h2 && h2_over(c)) {
        conn_linger(c);
        return;
    }
    if (c->state == CONN_ANSWERED && c->close_after) {
        conn_linger(c);
        return;
    }
    if (c->state == CONN_ANSWERED) next_request(c);
    if (c->state == CONN_WS) wsconn_settle(c);
    if (c->in.len && c->state != CONN_CLOSED) use_kept_input(c);
    if (c->in.len || !out_clear(c)) return;
    if (c->state <= CONN_BODY && c->eof) conn_kill(c);
    else if (c->state == CONN_IDLE && c->server->draining) conn_linger(c);
}

static void flush(struct loop_dirty *d)
{
    struct conn *c = LIST_ITEM(d, struct conn, dirty);

    if (c->stream) {
        h2_flush(c);
        return;
    }
    if (c->h2) h2_bury(c);
    if (!c->doomed && !c->blocked) out_push(c);
    if (c->doomed) {
        conn_kill(c);
        return;
    }
    if (c->state == CONN_STREAM || c->state == CONN_WS) {
        conn_release(c);
        if (c->eof) {
            conn_kill(c);
            return;
        } /* it left before the stream began */
    }
    if (!c->blocked && out_clear(c)) settle(c);
    if (c->doomed) conn_kill(c);
    if (c->state != CONN_CLOSED) update_reading(c);
}

/* --- beginning ------------------------------------------------------------------------------- */

void conn_init(struct conn *c, struct server *s)
{
    c->server = s;
    c->dirty.flush = flush;
    list_init(&c->wheel);
    list_init(&c->idle);
    list_init(&c->holding);
    list_init(&c->dirty.node);
    buf_init(&c->out, 0);
    buf_init(&c->in, IN_MAX);
    buf_init(&c->late, TLS_RECORD_MAX);
    c->secure = s->certs != NULL;
}

struct conn *conn_new(struct server *s)
{
    struct conn *c = mem_alloc(sizeof *c);

    if (c) conn_init(c, s);
    return c;
}

void conn_begin(struct conn *c)
{
    c->since_ms = c->sent_ms = conn_now(c);
    list_add(&c->server->idle, &c->idle);
    deadline_add(c);
    update_reading(c);
}

/* --- small questions -------------------------------------------------------------------------- */

void conn_until(struct conn *c, uint64_t in_ms)
{
    c->until_ms = in_ms ? conn_now(c) + in_ms : 0;
    deadline_update(c);
}

bool conn_is_loopback(const struct conn *c)
{
    return c->loopback;
}

bool conn_is_secure(const struct conn *c)
{
    return c->secure;
}

struct str conn_peer(const struct conn *c)
{
    struct server *s = c->server;
    if (!inet_ntop(c->ip6 ? AF_INET6 : AF_INET, c->peer, s->text, sizeof s->text))
        return STR("unknown");
    return str_c(s->text);
}

struct request *conn_request(struct conn *c)
{
    return c->exchange ? &c->exchange->request : NULL;
}
struct server *conn_server(const struct conn *c)
{
    return c->server;
}

void conn_hold(struct conn *c, struct conn_hold *h)
{
    must(c->state == CONN_HANDLING);
    c->exchange->hold = h;
    if (is_left(c)) conn_doom(c); /* it did so before anybody held it */
}
