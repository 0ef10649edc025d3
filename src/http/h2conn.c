/* h2conn.c -- a connection whose TLS agreed on HTTP/2 (RFC 9113), and its streams.
 *
 * Such a connection is a carrier: it has no requests of its own. A stream is a struct conn as any
 * other, without a socket, for one request: doors, guard, sources and deadlines do not know which
 * of the two they have. nghttp2 is the codec; what it gives and takes is turned here:
 *
 *   in    a head is written down as one of HTTP/1.1 and goes through the one strict parser, so
 *         every rule about heads, lengths and targets is the same; a body goes there as it comes.
 *         While the guard holds a request its body waits in `kept`, and the window stays shut.
 *   out   reply.c writes the head as ever; h2_head() turns it into fields. The body waits in the
 *         stream's `out` until the session asks for it (give()), as windows let it; the source is
 *         not asked again before that is gone: back-pressure as on a socket.
 *
 * What a peer can cost: STREAMS_MAX streams, each with what a connection may hold, and WINDOW
 * bytes of bodies that nobody has looked at; nothing is read while its socket is full. Streams
 * beside the first count as connections. A stream whose window stays shut for write_ms is cut off,
 * as is a head that does not end within head_ms. Every frame costs one, whatever it is and whether
 * nghttp2 tells of it, and what it brings pays for it: a request, bytes of a body, its end; answers
 * that go out pay for the windows that are opened for them. Who owes too much brings nothing,
 * without end: it is told to calm down and left.
 *
 * Nothing here frees a stream under a caller: one that has ended lies in `dead` until its carrier's
 * next flush. Callbacks of nghttp2 run inside h2_read and h2_pull and end no carrier.
 */
#include <nghttp2/nghttp2.h>

#include "base/log.h"
#include "http/conn_int.h"

enum {
    STREAMS_MAX = 100,
    WINDOW = 256 * 1024,
    FRAME_MAX = 9 + 16 * 1024,
    FIELDS_MAX = 64,     /* of an answer; ours have about ten */
    OWED_MAX = 500,      /* frames that brought nothing */
    OWED_RATE = 100,     /* so many of them are forgiven in a second */
    SLICE_FRAMES = 100,  /* so many are read before that is looked at */
    OPENED_BYTES = 4096, /* for so much of an answer a window may be opened once */
    PREFACE = 24,
    FRAME_HEAD = 9,
    RESET_BURST = 200,
    RESET_RATE = 20,
};

struct h2 {
    nghttp2_session *session; /* NULL: it is over */
    struct list      streams, dead;
    unsigned         count;
    /* the head that is coming; there is never more than one */
    struct buf       method, path, authority, fields, cookie;
    bool             has_length;
    uint64_t         head_ms; /* since when; 0: none is coming */
    int32_t          head_id; /* of which stream */
    uint64_t         owed_ms; /* when `owed` was reckoned */
    unsigned         owed;    /* frames that were not paid for, less what time forgave */
    bool             flooded; /* and it was told */
    /* where the next frame begins: bytes until then, and what there is of its head */
    size_t           to_frame;
    unsigned char    frame[FRAME_HEAD];
    size_t           frame_len;
};

struct stream {
    struct conn  conn; /* first: a stream is a conn */
    struct conn *carrier;
    struct list  node;
    struct buf   kept;
    size_t       at; /* of conn.out: given to the session up to here */
    int32_t      id;
    bool         counted; /* as a connection: its carrier has others */
    bool         waiting; /* bytes of conn.out wait for the session */
    bool         chunks;  /* the body's length was not said before it */
    bool         ended, told_end;
    bool         answered; /* to the last byte */
    bool         closed;   /* the session knows */
};

static struct conn *carrier_of(void *user)
{
    return user;
}

static struct stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* --- out ---------------------------------------------------------------------------------- */

/* Nothing will be added to what waits. */
static bool all_said(const struct conn *c)
{
    return c->state == CONN_ANSWERED && c->tail.len == 0;
}

static void all_given(struct stream *s)
{
    s->at = 0;
    s->waiting = false;
    buf_done(&s->conn.out);
    out_unhold(&s->conn);
    conn_mark(&s->conn); /* its source may be asked again */
}

static ssize_t give(nghttp2_session *session, int32_t id, uint8_t *to, size_t room, uint32_t *flags,
                    nghttp2_data_source *from, void *user)
{
    struct stream *s = stream_of(session, id);

    (void)from, (void)user;
    if (!s) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t left = s->conn.out.len - s->at, n = left < room ? left : room;
    if (n) memcpy(to, s->conn.out.ptr + s->at, n);
    if (n) s->conn.sent_ms = conn_now(&s->conn);
    s->at += n;
    if (n && n == left) all_given(s);
    if (n == left && all_said(&s->conn)) *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (n == 0) return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)n;
}

void h2_ready(struct conn *c)
{
    struct stream *s = c->stream;

    if (!c->out.len && !all_said(c)) return;
    if (c->out.len && !s->waiting) {
        s->waiting = true;
        c->sent_ms = conn_now(c);
        deadline_update(c);
    }
    nghttp2_session_resume_data(s->carrier->h2->session, s->id);
    conn_mark(s->carrier);
}

/* What belongs to a connection of HTTP/1.1 alone (RFC 9113 8.2.2). */
static bool is_hop(struct str name)
{
    return str_is(name, "connection") || str_is(name, "upgrade") || str_is(name, "keep-alive") ||
           str_is(name, "transfer-encoding");
}

static nghttp2_nv field_of(struct str name, struct str value)
{
    return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name.ptr,
                         .namelen = name.len,
                         .value = (uint8_t *)(uintptr_t)value.ptr,
                         .valuelen = value.len };
}

static void lower(struct str name)
{
    char *at = (char *)(uintptr_t)name.ptr; /* it lies in conn.out */

    for (size_t i = 0; i < name.len; i++)
        if (at[i] >= 'A' && at[i] <= 'Z') at[i] = (char)(at[i] + 'a' - 'A');
}

/* The fields of the head that stands in `out`; how many. */
static size_t fields_of(struct conn *c, nghttp2_nv *to)
{
    struct str rest = buf_view(&c->out), line, name;
    size_t     n = 0;

    to[n++] = field_of(STR(":status"), str_n(rest.ptr + sizeof "HTTP/1.1", 3));
    str_split(&rest, '\n', &line);
    while (str_split(&rest, '\n', &line) && line.len > 1) {
        struct str value = str_n(line.ptr, line.len - 1);
        if (!str_split(&value, ':', &name)) continue;
        lower(name);
        must(n < FIELDS_MAX);
        if (!is_hop(name)) to[n++] = field_of(name, str_from(value, 1));
    }
    return n;
}

void h2_head(struct conn *c, bool body)
{
    struct stream        *s = c->stream;
    nghttp2_session      *session = s->carrier->h2->session;
    nghttp2_nv            fields[FIELDS_MAX];
    nghttp2_data_provider from = { .read_callback = give };

    if (c->out.err || c->doomed ||
        nghttp2_submit_response(session, s->id, fields, fields_of(c, fields), body ? &from : NULL))
        conn_doom(c);
    buf_clear(&c->out);
    conn_mark(s->carrier);
}

void h2_continue(struct conn *c)
{
    struct stream *s = c->stream;
    nghttp2_nv     status = field_of(STR(":status"), STR("100"));

    if (nghttp2_submit_headers(s->carrier->h2->session, NGHTTP2_FLAG_NONE, s->id, NULL, &status, 1,
                               NULL))
        conn_doom(c);
    conn_mark(s->carrier);
}

enum pull h2_pull(struct conn *c, struct buf *out, size_t room)
{
    if (!c->h2->session) return PULL_WAIT;
    while (out->len + FRAME_MAX <= room) {
        const uint8_t *bytes;
        ssize_t        n = nghttp2_session_mem_send(c->h2->session, &bytes);
        if (n < 0) conn_doom(c);
        if (n <= 0) return PULL_WAIT;
        buf_add(out, (const char *)bytes, (size_t)n);
    }
    return PULL_MORE;
}

/* --- a body --------------------------------------------------------------------------------- */

static bool guard_holds(const struct conn *c)
{
    return c->state == CONN_HANDLING && c->exchange && c->exchange->before_body;
}

static void feed(struct stream *s, const char *at, size_t len)
{
    struct conn *c = &s->conn;

    if (c->state <= CONN_BODY && !c->doomed) conn_take(c, (char *)(uintptr_t)at, len);
    buf_done(&c->in); /* nobody wants what comes behind a request */
}

static void take_body(struct stream *s, const char *at, size_t len)
{
    char size[24];

    if (s->chunks) feed(s, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", len));
    feed(s, at, len);
    if (s->chunks) feed(s, "\r\n", 2);
    nghttp2_session_consume(s->carrier->h2->session, s->id, len);
}

/* What was kept while the guard held the request, and its end, when it has come. */
static void go_on(struct stream *s)
{
    if (guard_holds(&s->conn)) return;
    if (s->kept.len) {
        struct buf kept = s->kept;
        buf_init(&s->kept, WINDOW);
        take_body(s, kept.ptr, kept.len);
        buf_done(&kept);
        conn_mark(s->carrier); /* the window opens */
    }
    if (!s->ended || s->told_end) return;
    s->told_end = true;
    if (s->chunks) feed(s, "0\r\n\r\n", 5);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *at,
                   size_t len, void *user)
{
    struct stream *s = stream_of(session, id);

    (void)flags, (void)user;
    if (!s) nghttp2_session_consume(session, id, len);
    else if (guard_holds(&s->conn) || s->kept.len) buf_add(&s->kept, (const char *)at, len);
    else if (len) take_body(s, (const char *)at, len);
    if (s && s->kept.err) conn_doom(&s->conn);
    if (s && s->answered && (s->conn.drained += (uint32_t)len) > LINGER_MAX) conn_kill(&s->conn);
    return 0;
}

static void body_ends(struct stream *s)
{
    s->ended = true;
    go_on(s);
}

/* --- a head --------------------------------------------------------------------------------- */

static void forget_head(struct h2 *h)
{
    struct buf *all[] = { &h->method, &h->path, &h->authority, &h->fields, &h->cookie };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_done(all[i]);
    h->has_length = false;
    h->head_ms = 0;
}

static int on_head_begins(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    struct conn *c = carrier_of(user);

    (void)session;
    forget_head(c->h2);
    if (f->hd.type != NGHTTP2_HEADERS) return 0;
    c->h2->head_ms = conn_now(c);
    c->h2->head_id = f->hd.stream_id;
    deadline_update(c);
    return 0;
}

static void keep_field(struct h2 *h, struct str name, struct str value)
{
    if (str_is(name, ":method")) buf_str(&h->method, value);
    else if (str_is(name, ":path")) buf_str(&h->path, value);
    else if (str_is(name, ":authority")) buf_str(&h->authority, value);
    else if (str_is(name, "cookie")) { /* may come in pieces (RFC 9113 8.2.3) */
        if (h->cookie.len) buf_lit(&h->cookie, "; ");
        buf_str(&h->cookie, value);
    } else if (name.len && name.ptr[0] != ':') {
        if (str_is(name, "host") && str_eq(value, buf_view(&h->authority))) return;
        if (str_is(name, "content-length")) h->has_length = true;
        buf_str(&h->fields, name);
        buf_lit(&h->fields, ": ");
        buf_str(&h->fields, value);
        buf_lit(&h->fields, "\r\n");
    }
}

/* Beyond what the parser takes nothing is kept: what is there is enough to be refused. */
static int on_field(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                    void *user)
{
    struct conn *c = carrier_of(user);
    struct h2   *h = c->h2;
    size_t       max = c->server->limits.head_max;

    (void)session, (void)flags;
    if (f->hd.type != NGHTTP2_HEADERS || f->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (h->method.len + h->path.len + h->authority.len + h->fields.len + h->cookie.len > max)
        return 0;
    keep_field(h, str_n((const char *)name, name_len), str_n((const char *)value, value_len));
    return 0;
}

/* As malformed as a request can be (RFC 9113 8.1.1); nghttp2 would leave the field out. */
static int on_bad_field(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name,
                        size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                        void *user)
{
    (void)name, (void)name_len, (void)value, (void)value_len, (void)flags, (void)user;
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_PROTOCOL_ERROR);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void add_field(struct buf *out, const char *name, const struct buf *value)
{
    if (!value->len) return;
    buf_lit(out, name);
    buf_str(out, buf_view(value));
    buf_lit(out, "\r\n");
}

/* As HTTP/1.1 would say it. A body whose length is not said comes in chunks there. */
static void write_head(struct h2 *h, struct buf *out, bool ended)
{
    buf_str(out, buf_view(&h->method));
    buf_lit(out, " ");
    buf_str(out, buf_view(&h->path));
    buf_lit(out, " HTTP/1.1\r\n");
    add_field(out, "host: ", &h->authority);
    buf_str(out, buf_view(&h->fields));
    add_field(out, "cookie: ", &h->cookie);
    if (!h->has_length && !ended) buf_lit(out, "transfer-encoding: chunked\r\n");
    buf_lit(out, "\r\n");
}

/* --- a stream's life ------------------------------------------------------------------------ */

static struct stream *stream_new(struct conn *carrier, int32_t id)
{
    struct stream *s = mem_alloc(sizeof *s);
    struct conn   *c = (struct conn *)s;

    if (!s) return NULL;
    conn_init(c, carrier->server);
    memcpy(c->peer, carrier->peer, sizeof c->peer);
    c->ip6 = carrier->ip6;
    c->loopback = carrier->loopback;
    c->secure = carrier->secure;
    c->refused = carrier->refused;
    c->stream = s;
    s->carrier = carrier;
    s->id = id;
    list_init(&s->node);
    buf_init(&s->kept, WINDOW);
    return s;
}

/* False: there are too many from there. The first stream is what its carrier's socket counts as. */
static bool admit(struct stream *s, struct h2 *h)
{
    s->counted = h->count > 1;
    return !s->counted || server_carries(&s->conn);
}

static struct stream *stream_open(struct conn *carrier, int32_t id)
{
    struct h2     *h = carrier->h2;
    struct stream *s = stream_new(carrier, id);

    if (!s) return NULL;
    nghttp2_session_set_stream_user_data(h->session, id, s);
    list_add(&h->streams, &s->node);
    if (h->count++ == 0) conn_set_state(carrier, CONN_CARRIER);
    s->conn.state = CONN_HEAD;
    s->conn.since_ms = s->conn.sent_ms = conn_now(carrier);
    deadline_add(&s->conn);
    return s;
}

static void take_head(struct conn *carrier, int32_t id, bool ended)
{
    struct h2     *h = carrier->h2;
    struct stream *s = stream_open(carrier, id);
    struct buf     head = { 0 };

    if (!s) {
        nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    s->chunks = !ended && !h->has_length;
    write_head(h, &head, ended);
    if (head.err || h->fields.err || h->cookie.err || h->path.err) conn_doom(&s->conn);
    else if (!admit(s, h))
        conn_refuse(&s->conn, 429, "too_many_connections",
                    "There are too many connections from this address.");
    else feed(s, head.ptr, head.len);
    buf_done(&head);
}

void h2_stream_gone(struct conn *c)
{
    struct stream   *s = c->stream;
    struct h2       *h = s->carrier->h2;
    nghttp2_session *session = h->session;

    nghttp2_session_set_stream_user_data(session, s->id, NULL);
    nghttp2_session_consume_connection(session, s->kept.len);
    if (!s->closed)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id,
                                  s->answered ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
    buf_done(&s->kept);
    if (s->counted) server_carried(c);
    list_remove(&s->node);
    list_add(&h->dead, &s->node);
    if (--h->count == 0 && s->carrier->state == CONN_CARRIER) conn_set_state(s->carrier, CONN_IDLE);
    conn_mark(s->carrier);
}

static int on_closed(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct stream *s = stream_of(session, id);
    struct h2     *h = carrier_of(user)->h2;

    (void)code;
    if (id == h->head_id) h->head_ms = 0; /* a malformed one; its frame is told to nobody */
    if (!s) return 0;
    s->closed = true;
    conn_kill(&s->conn);
    return 0;
}

void h2_bury(struct conn *c)
{
    struct list *dead = &c->h2->dead;

    while (!list_empty(dead)) {
        struct stream *s = LIST_ITEM(dead->next, struct stream, node);
        list_remove(&s->node);
        mem_free(s);
    }
}

void h2_flush(struct conn *c)
{
    struct stream *s = c->stream;

    go_on(s);
    if (!c->doomed) out_push(c);
    if (c->doomed) conn_kill(c);
    else if (c->state == CONN_STREAM) conn_release(c);
}

bool h2_waits(const struct conn *c)
{
    return c->stream->waiting;
}

/* The peer lets nothing through. When it is others' bytes that go first it is not to blame. */
bool h2_stuck(struct conn *c, uint64_t now)
{
    struct stream   *s = c->stream;
    nghttp2_session *session = s->carrier->h2->session;

    if (nghttp2_session_get_stream_remote_window_size(session, s->id) > 0 &&
        nghttp2_session_get_remote_window_size(session) > 0)
        c->sent_ms = now;
    return now - c->sent_ms >= c->server->limits.write_ms;
}

/* --- frames --------------------------------------------------------------------------------- */

static void charge(struct conn *c, unsigned frames)
{
    struct h2 *h = c->h2;
    uint64_t   now = conn_now(c), forgiven = (now - h->owed_ms) * OWED_RATE / 1000;

    if (forgiven) {
        h->owed = forgiven < h->owed ? h->owed - (unsigned)forgiven : 0;
        h->owed_ms = now;
    }
    h->owed += frames;
}

static void pay(struct h2 *h, unsigned frames)
{
    h->owed = frames < h->owed ? h->owed - frames : 0;
}

static void calm_down(struct conn *c)
{
    if (c->h2->owed <= OWED_MAX || c->h2->flooded) return;
    c->h2->flooded = true;
    log_line(LOG_WARN, "net.flood", "peer", log_str(conn_peer(c)), NULL);
    nghttp2_session_terminate_session(c->h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* How many bytes to read now: all, or up to the beginning of a frame when there are that many. What
 * they are is the codec's business. */
static size_t slice(struct h2 *h, const char *at, size_t len, unsigned *frames)
{
    size_t i = 0;

    for (*frames = 0; i < len;) {
        size_t skip = h->to_frame < len - i ? h->to_frame : len - i;
        i += skip;
        h->to_frame -= skip;
        if (i == len || h->to_frame) break;
        if (!h->frame_len && *frames == SLICE_FRAMES) break;
        h->frame[h->frame_len++] = (unsigned char)at[i++];
        if (h->frame_len < FRAME_HEAD) continue;
        h->frame_len = 0;
        h->to_frame = (size_t)h->frame[0] << 16 | (size_t)h->frame[1] << 8 | h->frame[2];
        ++*frames;
    }
    return i;
}

/* Padding is nothing, and neither is what comes for a stream that is over. */
static bool brings_something(const nghttp2_frame *f, const struct stream *s)
{
    bool ended = f->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (f->hd.type == NGHTTP2_HEADERS) return s != NULL;
    return f->hd.type == NGHTTP2_DATA && s && (ended || f->hd.length > f->data.padlen);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    struct conn *c = carrier_of(user);
    bool         ended = f->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST) {
        take_head(c, f->hd.stream_id, ended);
        forget_head(c->h2);
    } else if (f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS) return 0;
    if (brings_something(f, stream_of(session, f->hd.stream_id))) pay(c->h2, 1);
    struct stream *s = ended ? stream_of(session, f->hd.stream_id) : NULL;
    if (s) body_ends(s);
    if (f->hd.type == NGHTTP2_HEADERS) c->h2->head_ms = 0; /* trailers are dropped */
    return 0;
}

/* Who makes us reset streams (a window beyond all bounds, a body of another length than was said)
 * costs as much as who resets them: the work that was begun. */
static bool is_their_fault(uint32_t code)
{
    return code != NGHTTP2_NO_ERROR && code != NGHTTP2_CANCEL && code != NGHTTP2_REFUSED_STREAM;
}

/* All was said before the peer had said all. To tell it at once that it need not go on (RFC 9113
 * 8.1) makes some clients forget the answer: its rest is dropped for a while, as on a socket. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *f, void *user)
{
    struct stream *s = stream_of(session, f->hd.stream_id);

    if (f->hd.type == NGHTTP2_RST_STREAM && is_their_fault(f->rst_stream.error_code)) {
        charge(carrier_of(user), 1);
        calm_down(carrier_of(user));
    }
    if (f->hd.type == NGHTTP2_DATA && f->hd.length)
        pay(carrier_of(user)->h2, 2 + (unsigned)(f->hd.length / OPENED_BYTES));
    if ((f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS) ||
        !(f->hd.flags & NGHTTP2_FLAG_END_STREAM) || !s)
        return 0;
    s->answered = true;
    if (nghttp2_session_get_stream_remote_close(session, s->id) == 0)
        conn_set_state(&s->conn, CONN_LINGER);
    return 0;
}

/* --- a carrier's life ------------------------------------------------------------------------- */

static void *take_memory(size_t size, void *user)
{
    (void)user;
    return mem_alloc(size);
}
static void *take_array(size_t n, size_t size, void *user)
{
    (void)user;
    return mem_alloc(n * size);
}
static void *change_memory(void *p, size_t size, void *user)
{
    (void)user;
    return mem_realloc(p, size);
}
static void give_memory(void *p, void *user)
{
    (void)user;
    mem_free(p);
}

/* One for all; made at the first connection and kept. */
static nghttp2_session_callbacks *callbacks(void)
{
    static nghttp2_session_callbacks *all;

    if (all || nghttp2_session_callbacks_new(&all)) return all;
    nghttp2_session_callbacks_set_on_begin_headers_callback(all, on_head_begins);
    nghttp2_session_callbacks_set_on_header_callback(all, on_field);
    nghttp2_session_callbacks_set_on_invalid_header_callback(all, on_bad_field);
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(all, on_closed);
    nghttp2_session_callbacks_set_on_frame_send_callback(all, on_sent);
    return all;
}

static nghttp2_option *options(void)
{
    static nghttp2_option *all;

    if (all || nghttp2_option_new(&all)) return all;
    nghttp2_option_set_no_auto_window_update(all, 1); /* a window opens when bytes were used */
    nghttp2_option_set_no_closed_streams(all, 1);     /* they would be remembered for priorities */
    nghttp2_option_set_stream_reset_rate_limit(all, RESET_BURST, RESET_RATE);
    return all;
}

static bool greet(struct conn *c, nghttp2_session *session)
{
    nghttp2_settings_entry ours[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)c->server->limits.head_max },
        { NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 }, /* browsers have given them up */
    };

    return !nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, ours, sizeof ours / sizeof *ours) &&
           !nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, WINDOW);
}

void h2_begin(struct conn *c)
{
    nghttp2_mem memory = { NULL, take_memory, give_memory, take_array, change_memory };
    struct h2  *h = mem_alloc(sizeof *h);

    if (!h || !callbacks() || !options() ||
        nghttp2_session_server_new3(&h->session, callbacks(), c, options(), &memory)) {
        mem_free(h);
        conn_doom(c);
        return;
    }
    list_init(&h->streams);
    list_init(&h->dead);
    h->owed_ms = conn_now(c);
    h->to_frame = PREFACE;
    c->h2 = h;
    if (!greet(c, h->session)) conn_doom(c);
    conn_mark(c);
}

void h2_read(struct conn *c, const char *at, size_t len)
{
    while (len && !c->doomed) {
        unsigned frames;
        size_t   n = slice(c->h2, at, len, &frames);
        charge(c, frames);
        if (nghttp2_session_mem_recv(c->h2->session, (const uint8_t *)at, n) < 0) conn_doom(c);
        calm_down(c);
        at += n;
        len -= n;
    }
    conn_mark(c); /* what it has to answer */
}

bool h2_over(const struct conn *c)
{
    nghttp2_session *session = c->h2->session;
    return session && !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
}

uint64_t h2_deadline(const struct conn *c)
{
    return c->h2->head_ms ? c->h2->head_ms + c->server->limits.head_ms : UINT64_MAX;
}

void h2_drain(struct conn *c)
{
    nghttp2_session *session = c->h2->session;

    nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, NULL,
                          0);
    conn_mark(c);
}

void h2_bye(struct conn *c)
{
    if (!c->h2 || !c->h2->session || c->blocked || !c->tls || c->doomed) return;
    nghttp2_session_terminate_session(c->h2->session, NGHTTP2_NO_ERROR);
    out_push(c);
}

void h2_end(struct conn *c)
{
    struct h2 *h = c->h2;

    if (!h || !h->session) return;
    LIST_EACH (n, &h->streams) {
        struct stream *s = LIST_ITEM(n, struct stream, node);
        s->closed = true;
        conn_kill(&s->conn);
    }
    forget_head(h);
    nghttp2_session_del(h->session);
    h->session = NULL;
}

void h2_free(struct conn *c)
{
    if (!c->h2) return;
    h2_bury(c);
    mem_free(c->h2);
}
