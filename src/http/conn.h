/* conn.h -- one connection: requests in, answers and streams out.
 *
 * The parts: http1, ws and tls are pure codecs (nghttp2 is the one of HTTP/2); conn owns the
 * socket, the buffers and the deadlines; route finds the handler; a handler answers with exactly
 * one of
 *     conn_reply()     a whole answer,
 *     conn_stream()    an answer that is pulled from a source as the socket takes it,
 *     conn_upgrade()   a WebSocket, whose output is pulled from a source too,
 * now or later (it may keep the conn and answer when the store did, see conn_hold).
 *
 * Pull, not push: output is asked for when the socket can take bytes. conn marks
 * itself dirty, and once per loop turn the source fills one shared 64 KiB scratch
 * buffer, which is written directly; only what the kernel did not take is kept,
 * so an idle connection owns no buffer and a slow one at most CONN_OUT_MAX.
 *
 * How long things live: the request, its arena and all its texts until the answer
 * is finished; but with conn_stream and conn_upgrade only until the end of the turn
 * that called them, so that thousands of idle streams cost a few hundred bytes
 * each. A source therefore must not live in the request's arena.
 *
 * Limits and deadlines come from struct net_limits: head within head_ms, body
 * within body_ms of the request's first byte in total (not per read), keep-alive
 * idle_ms, a stream that takes no bytes for write_ms is closed. All bodies in
 * flight together are capped (503 beyond), those of strangers much lower; so are all
 * whole answers that wait for slow readers. When there are too many connections, one
 * that has asked for nothing makes room; when all are busy, only routes marked
 * ROUTE_VITAL are answered on the few beyond the cap, and 503 elsewhere.
 *
 * A server with a certificate (struct certs) speaks TLS alone. The handshake is to be over within
 * head_ms; a peer that says nothing has cost nothing but its socket until then. Who speaks plain
 * HTTP there is told so, in plain words. All else is as without it.
 *
 * By TLS a client may choose HTTP/2. Each of its streams is then a conn of its own, for one
 * request: what is said here holds for both, and nobody who gets a conn need know which it is.
 * WebSockets are for HTTP/1.1.
 */
#ifndef PARLEY_CONN_H
#define PARLEY_CONN_H

#include "base/arena.h"
#include "base/buf.h"
#include "loop/loop.h"

#define CONN_OUT_MAX (64 * 1024)

struct certs;
struct conn;
struct door;
struct principal;
struct server;

/* Their defaults, and why one would change them: the table of config_keys.c. */
struct net_limits {
    size_t   head_max;
    size_t   body_max;
    size_t   bodies_max;  /* all in flight */
    size_t   answers_max; /* all whole answers beyond CONN_OUT_MAX that wait for their readers */
    size_t   message_max; /* one WebSocket message */
    unsigned head_ms, body_ms;
    unsigned idle_ms;  /* between requests */
    unsigned write_ms; /* without the peer taking a byte that waits */
    unsigned ping_ms;  /* WebSockets; only tests want another than NET_PING_MS */
    unsigned connections;
    unsigned per_address; /* not applied to loopback */
};
#define NET_PING_MS 30000

struct header {
    struct str name, value;
};

struct request {
    /* path decoded and checked: no NUL, no "..", valid UTF-8; query raw */
    struct str              method, path, query;
    /* The path has an escaped slash or escaped dots. It is as it was sent then, and leads only to a
     * route with a name in it that may hold these (route.h). Why to no other, in a sentence; NULL:
     * it has none */
    const char             *odd;
    struct header          *headers;
    size_t                  header_count;
    struct str              body;
    struct str              param[4]; /* what the route's {names} matched, in order */
    struct arena           *arena;    /* see "How long things live" */
    struct conn            *conn;
    uint64_t                began_ns;
    unsigned                access; /* the route's; 0 when there is none */
    const struct door      *door;   /* the route's; NULL when there is none */
    bool                    named;  /* the answer has a name for it already: the door's business */
    /* set by the guard; NULL where the door asks itself, or lets everybody in */
    const struct principal *principal;
};
struct str request_header(const struct request *q, const char *name); /* STR_NONE: absent */
bool request_takes(const struct request *q, struct str encoding); /* of the answer: "gzip", "br" */
struct str request_query(const struct request *q,
                         const char           *name); /* decoded into q->arena; STR_NONE: absent */

/* --- answers ---------------------------------------------------------------- */

/* Headers to add, before answering: Parley-Thread and the like. Whole answers without a
 * Cache-Control are not to be stored. CR, LF and NUL in values are a bug (must). */
void conn_header(struct conn *c, const char *name, struct str value);
/* A whole answer. `type` NULL: no body. The bytes are copied. A long one (CONN_OUT_MAX) becomes 503
 * while answers_max are held for slow readers, unless one that was slow for long can be ended. */
void conn_reply(struct conn *c, int status, const char *type, struct str body);
/* The same for bytes that live for ever (the embedded UI): not copied, so a slow reader of a large
 * file costs no more than any other. */
void conn_reply_static(struct conn *c, int status, const char *type, struct str body);
/* {"error":{"code","message"}} */
void conn_error(struct conn *c, int status, const char *code, const char *message);

enum pull {
    PULL_WAIT, /* nothing (more) now; source_wake() will say when */
    PULL_MORE, /* room was used up (so some bytes were given); ask again when there is room */
    PULL_END,  /* that was all: end the body (or close the WebSocket with conn_ws_close's code) */
};
struct source {
    /* Appends at most `room` bytes to `out` (room >= 4 KiB). WebSocket sources write whole frames,
     * with ws_frame_part(). Must not free itself. */
    enum pull (*pull)(struct source *s, struct buf *out, size_t room);
    /* The connection is over, for whatever reason, or the stream ended: the last call. */
    void (*gone)(struct source *s);
    struct conn *conn; /* set by conn_stream and conn_upgrade; NULL after gone */
};
/* Starts an answer with the headers collected so far; chunked. Heartbeats: with heartbeat_ms > 0,
 * `: keep-alive\n\n` after so much silence (to within a second), so only for text/event-stream,
 * which also gets Cache-Control: no-cache, no-store and X-Accel-Buffering: no. The source is pulled
 * for the first time at the end of this turn. For HEAD it is never pulled. */
void conn_stream(struct conn *c, int status, const char *type, struct source *src,
                 unsigned heartbeat_ms);
void source_wake(struct source *s);          /* cheap; any number of times per turn */
bool source_blocked(const struct source *s); /* the socket is full right now */

struct ws_peer {
    /* whole, text is valid UTF-8; gone after the call */
    void (*message)(struct ws_peer *p, struct str text, bool binary);
    void (*gone)(struct ws_peer *p); /* after source.gone */
};
/* Answers 101 when the request is a proper upgrade, else 400/426 and returns false.
 * `protocol`: the chosen subprotocol or STR_NONE. Pings every 30 s, closed after two unanswered. */
bool conn_upgrade(struct conn *c, struct str protocol, struct source *src, struct ws_peer *peer);
bool conn_wants_upgrade(const struct request *q);
/* At the end of this turn: what a pull of this turn gave still goes out, then the close frame;
 * nothing is pulled or delivered any more. Called inside pull(), return PULL_END or not, as you
 * like. */
void conn_ws_close(struct conn *c, int code, const char *reason);
bool conn_ws_closing(const struct conn *c); /* that was said, or the peer did */
/* One complete frame, 2 to 10 bytes longer than the text. Server frames are not masked. */
void ws_frame_text(struct buf *out, struct str text);
/* For pull(): a whole text, or one that is too long for the room piece by piece, over as many pulls
 * as it takes, cut anywhere. Meanwhile conn_ws_send's texts wait, so do not wait yourself before
 * the last piece. At most WS_FRAME_HEAD longer than the piece. */
#define WS_FRAME_HEAD 10
void ws_frame_part(struct source *s, struct buf *out, struct str piece, bool first, bool last);
/* How long a message of this peer may be, instead of message_max. */
void conn_ws_limit(struct conn *c, size_t message_max);
/* Small control texts (ack, error, pong of the application): queued before the source's bytes, at
 * most 16 KiB unsent; beyond that the peer is not reading and is closed (1008). */
void conn_ws_send(struct conn *c, struct str text);

/* The handler returns without having answered and will answer later; `cancelled` is
 * called instead if the connection dies first; the latest hold counts. Without one, returning
 * unanswered is a bug (500 and a log line). */
struct conn_hold {
    void (*cancelled)(struct conn_hold *h);
    /* Leaving means something here: the peer's end of sending is its end, as it is for a stream.
     * Otherwise that may be a half-close, and the answer still goes out. */
    bool leaves;
};
void conn_hold(struct conn *c, struct conn_hold *h);
/* Whoever holds it has what it waited for: the request is begun anew, with its guard, as if nobody
 * had looked at it yet. Not inside a handler. */
void conn_again(struct conn *c);

/* A stream or a WebSocket must end in so many ms (to within a second), because the proof of who its
 * reader is ends then: a stream is cut off, a WebSocket closed with 4401. 0: it need not. Counts
 * from the latest request. */
void            conn_until(struct conn *c, uint64_t in_ms);
/* Nobody knows (any more) who this is: what it sends counts towards a small budget of all
 * strangers, and a WebSocket message of it must be short. Counts until it is said otherwise. */
void            conn_stranger(struct conn *c, bool stranger);
bool            conn_is_loopback(const struct conn *c);
bool            conn_is_secure(const struct conn *c); /* what it says comes by TLS */
/* address as text, for logs; until the next call */
struct str      conn_peer(const struct conn *c);
/* the one being answered; NULL once its memory went */
struct request *conn_request(struct conn *c);
struct server  *conn_server(const struct conn *c);

/* --- the server ------------------------------------------------------------------ */

typedef void (*handler)(struct server *s, struct request *q);
/* in `access`: answered also while there is no room for connections */
enum { ROUTE_VITAL = 1 << 16 };
/* "/v1/threads/{}/events": {} is one segment; a last "*" takes the rest. `access` and `door` are
 * the guard's and the handler's business. */
struct route {
    const char        *method, *pattern;
    handler            run;
    unsigned           access;
    const struct door *door;
};

struct server_setup {
    struct loop        *loop;
    struct net_limits   limits;
    const struct route *routes; /* ended by { NULL } */
    /* Once for every request, before its handler (or 404, 405), and before its body when that has
     * not come yet, so q->body is not to be looked at. False when it has answered already (401,
     * 403, 421 ...), or holds the connection (conn_hold) until conn_again asks it once more; the
     * body waits for it. */
    bool (*guard)(struct server *s, struct request *q);
    /* The body of an error, and its type, where its door has a form of its own; NULL: it has none,
     * or none has. `q` may be NULL: what was sent was no request. */
    const char *(*error)(struct request *q, struct buf *out, int status, const char *code,
                         const char *message);
    void         *app; /* for the handlers: server_app() */
    /* NULL: plain HTTP. Outlives the server. */
    struct certs *certs;
};
/* ERR_BUSY: the port is in use; ERR_IO; ERR_NOMEM; `why` is a sentence for people. Also makes the
 * process ignore SIGPIPE and raises its limit of open files as far as `connections` needs and the
 * system lets it. */
MUST_CHECK enum err server_start(const struct server_setup *setup, struct str host, unsigned port,
                                 struct server **out, struct str *why, struct arena *a);
void               *server_app(const struct server *s);
unsigned            server_port(const struct server *s); /* the real one, when 0 was asked for */
unsigned server_connections(const struct server *s), server_streams(const struct server *s);
/* From now on these hold, except `connections`: that is what there are descriptors for. A deadline
 * is kept as exactly as those of the start asked for. */
void     server_limits(struct server *s, const struct net_limits *l);
/* Stops accepting; answers in flight go on and are their connection's last. Idle connections are
 * closed, WebSockets with 1012 once nothing was sent on them for a second. */
void     server_drain(struct server *s);
/* Closes every connection; `done` is called when the last one is gone. */
void     server_close(struct server *s, void (*done)(void *ctx), void *ctx);
void     server_free(struct server *s);

#endif
