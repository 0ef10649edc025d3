/* out.c -- the one way bytes leave a connection.
 *
 * Once per turn: what stands in c->out (heads, whole answers, control frames)
 * and what the source gives into the server's one scratch buffer go out in one
 * write. When the kernel takes all of it, nothing is kept. Otherwise the rest
 * moves into a struct blocked, libuv waits for room, and the source is not asked
 * again before the rest is gone: that is the whole of back-pressure.
 */
#include "base/fault.h"
#include "base/log.h"
#include "http/conn_int.h"

enum {
    CHUNK_HEAD = 6, /* "1f40\r\n": of fixed width, so that it can be patched in after the pull */
    CHUNK_TAIL = 2,
    CHUNK_END = 5,       /* "0\r\n\r\n" */
    ROOM_MIN = 4 * 1024, /* what sources are promised */
    SCRATCH_ROOM = CONN_OUT_MAX - CHUNK_HEAD - CHUNK_TAIL - CHUNK_END - WS_CONTROL_MAX - 4,
};

bool out_clear(const struct conn *c)
{
    return !c->blocked && c->out.len == 0 && c->tail.len == 0;
}

void out_end_source(struct conn *c)
{
    struct source *src = c->source;

    if (!src) return;
    c->source = NULL;
    c->server->streams--;
    src->conn = NULL;
    src->gone(src);
}

/* --- whole answers that wait ---------------------------------------------------------- */

void out_unhold(struct conn *c)
{
    if (!c->held) return;
    c->server->answers -= c->held;
    c->held = 0;
    list_remove(&c->holding);
}

/* Ends the reader that has kept its answer waiting for longest, if that is long: honest ones on
 * poor lines are given a while. */
static bool end_slowest(struct server *s)
{
    struct conn *c =
        list_empty(&s->holders) ? NULL : LIST_ITEM(s->holders.next, struct conn, holding);

    if (!c || conn_now(c) - c->held_ms < s->limits.write_ms / 4) return false;
    out_unhold(c);
    conn_doom(c);
    return true;
}

bool out_hold(struct conn *c, size_t len)
{
    struct server *s = c->server;

    /* One alone is always possible, however long it is. */
    while (s->answers && s->answers + len > s->limits.answers_max)
        if (!end_slowest(s)) return false;
    c->held = len;
    c->held_ms = conn_now(c);
    s->answers += len;
    list_add(&s->holders, &c->holding);
    return true;
}

/* --- pulling ------------------------------------------------------------------------ */

static enum pull ask(struct conn *c, struct buf *out, size_t room)
{
    size_t    before = out->len;
    enum pull pulled = c->source->pull(c->source, out, room);

    must(out->len - before <= room);
    if (pulled == PULL_MORE && out->len == before) { /* it would be asked again for ever */
        log_line(LOG_ERROR, "net.stuck_source", "peer", log_str(conn_peer(c)), NULL);
        conn_doom(c);
    }
    return pulled;
}

static enum pull pull_chunk(struct conn *c, struct buf *out, size_t room)
{
    size_t head = out->len;

    buf_add(out, "0000\r\n", CHUNK_HEAD);
    enum pull pulled = ask(c, out, room);
    size_t    n = out->len - head - CHUNK_HEAD;
    if (n == 0) {
        buf_truncate(out, head); /* an empty chunk would end the body */
    } else {
        char digits[CHUNK_HEAD + 1];
        for (int i = 0; i < 4; i++) digits[i] = "0123456789abcdef"[n >> (12 - 4 * i) & 15];
        memcpy(out->ptr + head, digits, 4);
        buf_lit(out, "\r\n");
    }
    if (pulled == PULL_END) buf_lit(out, "0\r\n\r\n");
    return pulled;
}

static bool may_pull(const struct conn *c)
{
    if (!c->source) return false;
    return c->state == CONN_STREAM || (c->state == CONN_WS && !c->wsock->close_code);
}

/* A slice of an answer that is never copied as a whole. */
static enum pull pull_tail(struct conn *c, struct buf *out)
{
    struct str piece = str_cut(c->tail, SCRATCH_ROOM);

    buf_str(out, piece);
    c->tail = str_from(c->tail, piece.len);
    return c->tail.len ? PULL_MORE : PULL_WAIT;
}

static enum pull pull(struct conn *c, struct buf *out)
{
    if (c->h2) return h2_pull(c, out, SCRATCH_ROOM);
    if (c->tail.len) return pull_tail(c, out);
    if (!may_pull(c)) return PULL_WAIT;
    /* HEAD: the source is never asked */
    if (c->state == CONN_STREAM && c->no_body) return PULL_END;
    if (c->out.len + ROOM_MIN > SCRATCH_ROOM) return PULL_MORE;
    size_t room = SCRATCH_ROOM - c->out.len;
    return c->chunked ? pull_chunk(c, out, room) : ask(c, out, room);
}

/* --- writing ------------------------------------------------------------------------- */

static void on_written(uv_write_t *req, int status)
{
    struct blocked *b = (struct blocked *)req;
    struct conn    *c = b->conn;

    c->sent_ms = conn_now(c);
    if (status == 0 && c->state != CONN_CLOSED && tlsconn_goes_on(c)) return;
    c->blocked = NULL;
    buf_done(&b->bytes);
    buf_done(&b->plain);
    mem_free(b);
    out_unhold(c);
    if (c->state == CONN_CLOSED) return;
    if (status < 0) {
        conn_kill(c);
        return;
    }
    /* its time for the next request begins now */
    if (c->state == CONN_IDLE) c->since_ms = c->sent_ms;
    conn_mark(c);
}

/* A new wait, or the next one of a connection that waits already. */
enum err out_wait(struct conn *c, struct buf *bytes, size_t skip)
{
    struct blocked *b = c->blocked ? c->blocked : mem_alloc(sizeof *b);
    uv_buf_t        rest = uv_buf_init(bytes->ptr + skip, (unsigned)(bytes->len - skip));

    if (!b || bytes->err || uv_write(&b->req, (uv_stream_t *)&c->tcp, &rest, 1, on_written)) {
        if (!c->blocked) mem_free(b);
        buf_done(bytes);
        return ERR_NOMEM;
    }
    b->conn = c;
    buf_done(&b->bytes);
    b->bytes = *bytes;
    buf_init(bytes, bytes->max);
    b->seen = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);
    c->blocked = b;
    deadline_update(c);
    return OK;
}

/* The kernel took `taken` bytes of `out` followed by `more`; keeps the rest. */
static enum err keep_rest(struct conn *c, size_t taken, const struct buf *more)
{
    struct buf rest = { 0 };

    if (taken < c->out.len) { /* `out` itself is kept, large answers are not copied again */
        buf_str(&c->out, buf_view(more));
        return out_wait(c, &c->out, taken);
    }
    taken -= c->out.len;
    buf_done(&c->out);
    buf_add(&rest, more->ptr + taken, more->len - taken);
    return out_wait(c, &rest, 0);
}

int out_try(struct conn *c, const uv_buf_t *bufs, unsigned count)
{
    fault_hit("net.before_write");
    int n = uv_try_write((uv_stream_t *)&c->tcp, bufs, count);
    fault_hit("net.after_write");
    if (n > 0) c->sent_ms = conn_now(c);
    return n == UV_EAGAIN ? 0 : n;
}

/* Writes `out` and `more` (may be NULL) with one system call. */
static void write_all(struct conn *c, const struct buf *more)
{
    static const struct buf nothing;
    if (!more) more = &nothing;

    size_t   all = c->out.len + more->len;
    uv_buf_t bufs[2] = { uv_buf_init(c->out.ptr, (unsigned)c->out.len),
                         uv_buf_init(more->ptr, (unsigned)more->len) };
    bool     first = c->out.len > 0;

    if (c->out.err || more->err) {
        conn_doom(c);
        return;
    }
    if (all == 0) return;
    if (c->secure) {
        tlsconn_write(c, more);
        return;
    }
    int n = out_try(c, first ? bufs : bufs + 1, first && more->len ? 2 : 1);
    if (n < 0) {
        conn_doom(c);
    } else if ((size_t)n == all) {
        buf_done(&c->out);
        out_unhold(c);
    } else if (keep_rest(c, (size_t)n, more)) conn_doom(c);
}

void out_direct(struct conn *c)
{
    if (!c->blocked && !c->stream) write_all(c, NULL);
}

static void after_pull(struct conn *c, enum pull pulled)
{
    if (pulled == PULL_END) out_end_source(c);
    if (pulled == PULL_END && c->state == CONN_STREAM) conn_set_state(c, CONN_ANSWERED);
}

/* A stream's bytes wait in `out` until its carrier takes them. */
static void push_to_carrier(struct conn *c)
{
    struct buf *scratch = &c->server->scratch;

    if (!c->out.len) {
        buf_clear(scratch);
        enum pull pulled = pull(c, scratch);
        buf_str(&c->out, buf_view(scratch));
        after_pull(c, pulled);
    }
    if (c->out.err) conn_doom(c);
    else h2_ready(c);
}

void out_push(struct conn *c)
{
    struct buf *scratch = &c->server->scratch;

    if (c->stream) {
        push_to_carrier(c);
        return;
    }

    buf_clear(scratch);
    if (c->state == CONN_WS) wsconn_before_pull(c);
    enum pull pulled = pull(c, scratch);
    if (c->state == CONN_WS) wsconn_after_pull(c, scratch, pulled);
    /* the pull itself filled the socket: conn_ws_send */
    if (c->blocked) buf_str(&c->out, buf_view(scratch));
    else write_all(c, scratch);
    after_pull(c, pulled);
    if (pulled == PULL_MORE && !c->blocked) conn_mark(c);
}
