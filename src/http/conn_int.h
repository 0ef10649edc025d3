/* conn_int.h -- what the files behind conn.h share; nobody else includes it.
 *
 *   server.c    accepting, limits per address, drain and close
 *   conn.c      the life of a connection: reading, requests in order, its end
 *   reply.c     what handlers call: reply, stream, headers
 *   out.c       the one way bytes leave: pull, write, keep the rest
 *   wsconn.c    a connection after it became a WebSocket
 *   tlsconn.c   what stands between the socket and the above when the server has a certificate
 *   h2conn.c    a connection that carries streams (HTTP/2), each of them a conn without a socket
 *   deadline.c  the wheel: one timer for all deadlines of all connections
 *
 * States of a connection (any of them may go to CLOSED):
 *
 *   IDLE -> HEAD -> BODY -> HANDLING -> ANSWERED -> IDLE     next request, or
 *     ^                        |   |        '-----> LINGER   said goodbye, waits for the peer's end
 *     |                        |   '-> WS ---------^
 *     '----- ANSWERED <- STREAM
 *
 * A connection of HTTP/2 is IDLE without streams, else CARRIER; a stream goes from HEAD to CLOSED.
 *
 * Rule 1: functions that a handler, a source or a peer may call only note what is
 * to be done and mark the connection; freeing, closing and calling back happen in
 * the flush, in libuv's callbacks and on the wheel. So nothing vanishes under a caller.
 * Rule 2: bytes that cannot be used now wait in `in`, and while any wait nothing
 * is read: a connection never holds more input than one read brought (and, with TLS, the record
 * that it completed).
 */
#ifndef PARLEY_CONN_INT_H
#define PARLEY_CONN_INT_H

#include <time.h>

#include "base/map.h"
#include "http/certs.h"
#include "http/conn.h"
#include "http/http1.h"
#include "http/ws.h"

enum {
    READ_MAX = 64 * 1024,                   /* one read; the shared buffer */
    READ_AHEAD = 4 * 1024,                  /* one read while nothing can be done with it */
    IN_MAX = READ_MAX + 2 * TLS_RECORD_MAX, /* see rule 2 */
    /* unread body drained after an early answer, so that the client sees it */
    LINGER_MAX = 16 * 1024 * 1024,
    LINGER_MS = 3000,
    /* connections over the cap at one time, which get 503 and vital answers; others are just
     * closed */
    REFUSED_MAX = 64,
    /* bodies and messages of all who have not said who they are */
    STRANGERS_MAX = 4 * 1024 * 1024,
    STRANGER_MESSAGE_MAX = 16 * 1024, /* one WebSocket message of one of them: a token fits */
    WHEEL_SLOTS = 64,
    WHEEL_TICK_MS = 1000, /* the coarsest tick; finer when a limit is short */
};

enum conn_state {
    CONN_IDLE,
    CONN_HEAD,
    CONN_BODY,
    CONN_HANDLING,
    CONN_STREAM,
    CONN_ANSWERED,
    CONN_WS,
    CONN_CARRIER,
    CONN_LINGER,
    CONN_CLOSED,
};

/* A request from its first byte to its answer. Streams and WebSockets let go of
 * it at the end of the turn in which they began, so they idle without it. */
struct exchange {
    struct http1      http1;
    struct request    request;
    struct arena      arena;
    struct buf        headers; /* conn_header's, as they go out */
    struct conn_hold *hold;
    size_t            counted; /* of server.bodies */
    bool              guarded; /* the guard let it pass, or answered */
    /* the guard holds it before its body: what is to be put back when it passes */
    bool              before_body, keep_alive;
    uint64_t          since_ms;
    bool              cached; /* it says itself how long it may be kept */
};

/* What the kernel did not take, until it does. */
struct blocked {
    uv_write_t   req;
    struct conn *conn;
    struct buf   bytes;
    /* with TLS `bytes` are records; these become some when those are gone, from `at` on */
    struct buf   plain;
    size_t       at;
    /* libuv's queue size when the peer was last seen taking bytes */
    size_t       seen;
};

struct wsock {
    struct ws       ws;
    struct ws_peer *peer;
    size_t          counted;     /* of server.bodies */
    uint64_t        ping_ms;     /* when the next ping is due */
    uint64_t        close_by_ms; /* closing: when we stop waiting for the peer */
    uint16_t        close_code;  /* 0: not closing */
    uint8_t         unanswered;  /* pings */
    bool            close_sent, close_seen;
    bool            pong; /* owed; the newest ping is in `text` */
    /* the source is in the middle of a text: ws_frame_part */
    bool            mid_text;
    struct buf      waiting; /* conn_ws_send's texts, until it has finished that */
    uint8_t         text_len;
    /* ping to answer or, when closing, the reason */
    char            text[WS_CONTROL_MAX];
};

/* Whose connections are counted together: an IPv4 address or an IPv6 /64. */
struct address {
    unsigned count;
    char     key[16];
};

struct conn {
    uv_tcp_t          tcp; /* first: libuv's handle is the conn */
    struct server    *server;
    /* in a slot of the server's wheel: all open connections are */
    struct list       wheel;
    /* in server.idle: no request has come whole since it was put there */
    struct list       idle;
    /* in server.holders: `held` bytes of a whole answer wait for its reader */
    struct list       holding;
    size_t            held;
    uint64_t          held_ms; /* since when */
    struct loop_dirty dirty;
    struct exchange  *exchange; /* HEAD to ANSWERED */
    struct source    *source;   /* STREAM, WS */
    struct wsock     *wsock;    /* WS, and LINGER after it */
    struct blocked   *blocked;  /* the socket is full */
    struct address   *address;  /* NULL: not counted (loopback) */
    struct tls       *tls;      /* from the peer's first byte on, if it is `secure` */
    struct h2        *h2;       /* it carries streams; NULL: it speaks HTTP/1.1 */
    struct stream    *stream;   /* it is one, and has no socket; NULL: it has one */
    struct buf        late;     /* records that came to be while the socket was full */
    /* heads, whole answers, control frames: before the source's bytes */
    struct buf        out;
    struct str        tail;     /* conn_reply_static: what is to go out yet, after `out` */
    struct buf        in;       /* see rule 2 */
    uint64_t          since_ms; /* when the state that has a deadline began */
    uint64_t          sent_ms;  /* last time the socket took bytes */
    uint64_t          until_ms; /* conn_until; 0: no end */
    uint32_t          heartbeat_ms;
    uint32_t          due;      /* the wheel's tick at which this is looked at */
    uint32_t          in_at;    /* of `in`: used up to here */
    uint32_t          drained;  /* bytes thrown away while lingering */
    uint8_t           peer[16]; /* address; IPv4 in the first four */
    uint8_t           state;    /* enum conn_state */
    bool              ip6 : 1, loopback : 1;
    bool              secure : 1;   /* what it says is TLS */
    bool              shaken : 1;   /* and the handshake is over */
    bool              refused : 1;  /* over the cap: gets vital answers and 503 */
    bool              stranger : 1; /* conn_stranger */
    bool              reading : 1, eof : 1;
    bool              close_after : 1; /* this answer is the last one */
    bool              chunked : 1, no_body : 1;
    bool              in_handler : 1; /* the request is on the stack */
    /* to be closed at the next flush: memory, or the server closes */
    bool              doomed : 1;
};

struct server {
    struct loop        *loop;
    struct net_limits   limits;
    const struct route *routes;
    bool (*guard)(struct server *s, struct request *q);
    const char *(*error)(struct request *q, struct buf *out, int status, const char *code,
                         const char *message);
    void *app;

    uv_tcp_t    listener;
    uv_tcp_t    spare; /* takes a connection there is no memory for, to close it */
    uv_timer_t  timer;
    struct list slots[WHEEL_SLOTS];
    uint64_t    tick_ms, tick, began_ms;

    unsigned    connections; /* open sockets */
    unsigned    refused;     /* of them: over the cap */
    unsigned    carried;     /* streams that count as connections */
    struct list idle;        /* connections that could make room, the oldest first */
    unsigned    streams;
    /* libuv handles of ours that are not closed yet, connections not counted */
    unsigned    handles;
    unsigned    port;
    size_t      bodies;    /* bytes of bodies and messages in flight */
    size_t      strangers; /* the same of who is not known; not in `bodies` */
    size_t      answers;   /* bytes of whole answers that wait for slow readers */
    struct list holders;   /* these readers, the slowest first */
    struct map  addresses;
    bool        draining, closing, listening;
    /* `spare` is closing; another connection waits for it */
    bool        spare_busy, waiting;
    uint64_t    complained_ms;
    void (*done)(void *ctx);
    void *done_ctx;

    struct certs *certs; /* NULL: no TLS */
    /* records on their way to the socket of one connection: empty between two calls */
    struct buf    wire;
    char         *plain; /* what a record says; TLS_RECORD_MAX */

    struct buf scratch;  /* what sources fill */
    char       text[64]; /* conn_peer's answer */
    char       date[64]; /* the Date header, of the second date_s */
    time_t     date_s;
    /* one for all: bytes are used or copied before the next read */
    char       read[READ_MAX];
};

/* conn.c */
struct conn *conn_new(struct server *s);                  /* NULL: no memory */
void         conn_init(struct conn *c, struct server *s); /* the memory is zeroed */
void         conn_begin(struct conn *c);                  /* accepted: starts to read */
void         conn_kill(struct conn *c);                   /* ends it now; frees it later */
void         conn_doom(struct conn *c);                   /* ends it at the next flush */
void         conn_mark(struct conn *c);
/* what the peer says; and that it says no more */
void         conn_take(struct conn *c, char *at, size_t len);
void         conn_ended(struct conn *c);
/* everything is said: half-close and wait for the peer's end */
void         conn_linger(struct conn *c);
void         conn_refuse(struct conn *c, int status, const char *code, const char *text);
/* and restarts its deadline */
void         conn_set_state(struct conn *c, enum conn_state state);
void         conn_release(struct conn *c); /* lets go of the exchange */
uint64_t     conn_now(const struct conn *c);
/* Counts bytes held for this connection; false when all together hold too much. */
bool         conn_count(struct conn *c, size_t *counted, size_t now);

/* out.c */
void                out_push(struct conn *c);   /* pulls once and writes; may set doomed */
void                out_direct(struct conn *c); /* writes `out` alone, without asking the source */
bool                out_clear(const struct conn *c); /* nothing waits to be written */
void                out_end_source(struct conn *c);  /* calls gone, once */
/* a whole answer of so many bytes may wait for its reader; false: too many do */
bool                out_hold(struct conn *c, size_t len);
void                out_unhold(struct conn *c); /* it is gone */
/* How many bytes the socket takes now; negative: it is broken. */
int                 out_try(struct conn *c, const uv_buf_t *bufs, unsigned count);
/* Moves the bytes in, from `skip` on: they go out as the socket takes them. */
MUST_CHECK enum err out_wait(struct conn *c, struct buf *bytes, size_t skip);

/* wsconn.c */
void     wsconn_read(struct conn *c, char *at, size_t len);
void     wsconn_before_pull(struct conn *c); /* owed pong */
/* close frame, when it is time */
void     wsconn_after_pull(struct conn *c, struct buf *out, enum pull pulled);
void     wsconn_settle(struct conn *c); /* after a push: go on, or say goodbye */
void     wsconn_close(struct conn *c, int code, struct str reason);
void     wsconn_end(struct conn *c); /* frees; calls the peer's gone */
uint64_t wsconn_deadline(const struct conn *c);
void     wsconn_check(struct conn *c, uint64_t now);
/* closes it when it is quiet, or sees to it that this is looked at */
void     wsconn_drain(struct conn *c);

/* tlsconn.c */
/* False: no memory. */
MUST_CHECK bool tlsconn_init(struct server *s, struct certs *certs);
void            tlsconn_done(struct server *s);
void            tlsconn_read(struct conn *c, char *at, size_t len);
/* out.c's write_all, with records */
void            tlsconn_write(struct conn *c, const struct buf *more);
/* The socket took all of c->blocked; true: there was more to go, and it is on its way. */
bool            tlsconn_goes_on(struct conn *c);
void            tlsconn_bye(struct conn *c); /* nothing more is said */
void            tlsconn_end(struct conn *c); /* frees */

/* h2conn.c, of carriers */
void      h2_begin(struct conn *c); /* TLS agreed on it */
void      h2_read(struct conn *c, const char *at, size_t len);
/* what is to go onto the wire, as a source gives it */
enum pull h2_pull(struct conn *c, struct buf *out, size_t room);
bool      h2_over(const struct conn *c); /* one of both sides has ended it */
uint64_t  h2_deadline(const struct conn *c);
void      h2_drain(struct conn *c); /* no further streams */
void      h2_bye(struct conn *c);   /* says so, unless its socket is full; any conn */
void      h2_end(struct conn *c);   /* ends its streams; any conn */
void      h2_bury(struct conn *c);  /* the memory of streams that have ended goes */
void      h2_free(struct conn *c);  /* any conn */
/* of streams */
void      h2_head(struct conn *c, bool body); /* `out` has a head and nothing else */
void      h2_continue(struct conn *c);
void      h2_ready(struct conn *c);       /* `out` has bytes, or all is said */
void      h2_flush(struct conn *c);       /* its flush */
bool      h2_waits(const struct conn *c); /* bytes that are not out yet */
bool      h2_stuck(struct conn *c, uint64_t now);
void      h2_stream_gone(struct conn *c); /* it is closed: its memory goes later */

/* reply.c */
/* in plain words, to who speaks no TLS */
void reply_words(struct conn *c, int status, const char *text);
/* also before a request is there */
void reply_refusal(struct conn *c, int status, const char *code, const char *text);

/* deadline.c */
void deadline_init(struct server *s);
/* into the wheel; starts its timer with the first one */
void deadline_add(struct conn *c);
/* after anything that may have brought a deadline nearer */
void deadline_update(struct conn *c);
void deadline_remove(struct conn *c);

/* server.c */
void server_gone(struct conn *c); /* a connection's memory is about to go */
/* A stream counts as a connection. False: there are too many from its address. */
bool server_carries(struct conn *c);
void server_carried(struct conn *c); /* no more */

#endif
