/* wsconn.c -- a connection after it became a WebSocket.
 *
 * Closing has two halves (RFC 6455 7): our close frame goes out after what the
 * source had given, the peer's is waited for, but not for long; then the socket
 * lingers like any other. From our close frame on nothing is delivered or pulled.
 * A ping is answered at once while the socket takes bytes; of pings that come
 * while it does not, only the newest is remembered (5.5.3 allows that), so a flood
 * of pings costs no memory.
 */
#include "http/conn_int.h"

#include "base/utf8.h"

enum {
    PONG_ROOM = 4 * 1024, /* pongs queued in one turn at most */
    SEND_MAX = 16 * 1024, /* conn_ws_send: unsent texts of a peer that does not read */
    CLOSE_WAIT_MS = 3000,
    QUIET_MS = 1000, /* draining: a WebSocket silent for so long is idle */
};

void wsconn_close(struct conn *c, int code, struct str reason)
{
    struct wsock *w = c->wsock;

    if (c->state != CONN_WS || w->close_code) return;
    w->close_code = (uint16_t)code;
    w->text_len = (uint8_t)utf8_cut(reason, WS_CONTROL_MAX - 2);
    if (w->text_len) memcpy(w->text, reason.ptr, w->text_len);
    w->pong = false;
    unsigned patience =
        c->server->limits.write_ms < CLOSE_WAIT_MS ? c->server->limits.write_ms : CLOSE_WAIT_MS;
    w->close_by_ms = conn_now(c) + patience;
    deadline_update(c);
    conn_mark(c);
}

void conn_ws_close(struct conn *c, int code, const char *reason)
{
    must(ws_code_valid((unsigned)code));
    wsconn_close(c, code, str_c(reason));
}

bool conn_ws_closing(const struct conn *c)
{
    return c->state != CONN_WS || c->wsock->close_code;
}

void conn_ws_send(struct conn *c, struct str text)
{
    struct wsock *w = c->wsock;

    if (c->state != CONN_WS || w->close_code) return;
    struct buf *to = w->mid_text ? &w->waiting : &c->out;
    /* Too much for one turn is no proof of a peer that does not read; a full socket is. */
    if (to == &c->out && to->len + text.len > SEND_MAX) out_direct(c);
    if ((c->blocked || w->mid_text) && to->len + text.len > SEND_MAX) {
        wsconn_close(c, WS_POLICY, STR("not reading"));
        return;
    }
    ws_frame_text(to, text);
    conn_mark(c);
}

void conn_ws_limit(struct conn *c, size_t message_max)
{
    if (c->wsock) c->wsock->ws.message.max = message_max;
}

void ws_frame_part(struct source *s, struct buf *out, struct str piece, bool first, bool last)
{
    struct wsock *w = s->conn->wsock;

    must(first == !w->mid_text);
    if (first && last) ws_frame_text(out, piece);
    else ws_fragment(out, first ? WS_OP_TEXT : WS_OP_MORE, last, piece);
    w->mid_text = !last;
}

/* --- in ------------------------------------------------------------------------------- */

static void on_ping(struct conn *c, struct str data)
{
    struct wsock *w = c->wsock;

    if (w->close_code) return;
    if (!c->blocked && c->out.len < PONG_ROOM) {
        ws_frame(&c->out, WS_OP_PONG, data);
    } else {
        w->pong = true;
        w->text_len = (uint8_t)data.len;
        if (data.len) memcpy(w->text, data.ptr, data.len);
    }
    conn_mark(c);
}

static void on_event(struct conn *c, enum ws_event event, struct str data)
{
    struct wsock *w = c->wsock;

    switch (event) {
    case WS_TEXT:
    case WS_BINARY:
        if (!w->close_code) w->peer->message(w->peer, data, event == WS_BINARY);
        return;
    case WS_PING: on_ping(c, data); return;
    case WS_PONG: return; /* any byte counts as a sign of life */
    case WS_CLOSE:
        w->close_seen = true;
        wsconn_close(c, w->ws.code, STR(""));
        conn_mark(c);
        return;
    case WS_FAIL:
        w->close_seen = true; /* what follows cannot be framed: nothing to wait for */
        wsconn_close(c, w->ws.code, str_c(w->ws.why));
        conn_mark(c);
        return;
    case WS_MORE: return;
    }
}

void wsconn_read(struct conn *c, char *at, size_t len)
{
    struct wsock *w = c->wsock;
    char         *end = at + len;
    enum ws_event event;
    struct str    data = STR("");

    w->unanswered = 0;
    /* After the peer's close frame or a failure the rest means nothing. */
    while (!w->close_seen && (event = ws_feed(&w->ws, &at, end, &data)) != WS_MORE)
        on_event(c, event, data);
    if (!conn_count(c, &w->counted, w->ws.message.cap)) wsconn_close(c, WS_TRY_LATER, STR("busy"));
}

/* --- out ------------------------------------------------------------------------------- */

void wsconn_before_pull(struct conn *c)
{
    struct wsock *w = c->wsock;

    if (!w->pong || w->close_code) return;
    w->pong = false;
    ws_frame(&c->out, WS_OP_PONG, str_n(w->text, w->text_len));
}

void wsconn_after_pull(struct conn *c, struct buf *out, enum pull pulled)
{
    struct wsock *w = c->wsock;

    if (w->waiting.err) conn_doom(c);
    if (!w->mid_text && w->waiting.len) {
        buf_str(out, buf_view(&w->waiting));
        buf_done(&w->waiting);
    }
    if (pulled == PULL_END) wsconn_close(c, WS_NORMAL, STR(""));
    if (!w->close_code || w->close_sent) return;
    w->close_sent = true;
    ws_frame_close(out, w->close_code, str_n(w->text, w->text_len));
}

void wsconn_settle(struct conn *c)
{
    struct wsock *w = c->wsock;

    if (!w->close_sent) return;
    out_end_source(c);
    if (w->close_seen) conn_linger(c);
}

void wsconn_end(struct conn *c)
{
    struct wsock *w = c->wsock;

    if (!w) return;
    c->wsock = NULL;
    conn_count(c, &w->counted, 0);
    ws_done(&w->ws);
    buf_done(&w->waiting);
    w->peer->gone(w->peer);
    mem_free(w);
}

/* --- time -------------------------------------------------------------------------------- */

uint64_t wsconn_deadline(const struct conn *c)
{
    const struct wsock *w = c->wsock;

    if (w->close_code) return w->close_by_ms;
    if (c->server->draining && c->sent_ms + QUIET_MS < w->ping_ms) return c->sent_ms + QUIET_MS;
    return w->ping_ms;
}

void wsconn_drain(struct conn *c)
{
    if (out_clear(c) && conn_now(c) >= c->sent_ms + QUIET_MS)
        wsconn_close(c, WS_RESTART, STR("restarting"));
    else deadline_update(c);
}

void wsconn_check(struct conn *c, uint64_t now)
{
    struct wsock *w = c->wsock;

    if (c->server->draining && !w->close_code) wsconn_drain(c);
    if (now < wsconn_deadline(c)) return;
    if (w->close_code || w->unanswered >= 2) {
        conn_kill(c);
        return;
    }
    if (now < w->ping_ms) return;
    w->ping_ms = now + c->server->limits.ping_ms;
    if (c->blocked) return; /* it would wait behind other bytes; write_ms watches over those */
    w->unanswered++;
    ws_frame(&c->out, WS_OP_PING, STR(""));
    conn_mark(c);
}
