/* net_peer.h -- a real server on a free port in this process, and a plain client
 * beside it on the same thread.
 *
 * Nothing sleeps: net_until() turns the loop and reads the clients' sockets until
 * its condition holds, and fails the test when that does not come within a minute (what takes that
 * long on a machine that others use hangs).
 */
#ifndef PARLEY_NET_PEER_H
#define PARLEY_NET_PEER_H

#include "base/arena.h"
#include "http/conn_int.h"
#include "test.h"
#include "tls_peer.h"

struct peer { /* the client's end */
    int          fd;
    bool         eof, reset;
    bool         deaf; /* does not read */
    struct buf   got;
    SSL         *ssl; /* NULL: it speaks plainly */
    struct peer *next;
};

/* A source that gives what the test puts into `text`, or `endless` bytes. */
struct spring {
    struct source source;
    struct buf    text;    /* given as it is */
    size_t        endless; /* then so many bytes 'x' */
    bool          end;     /* then PULL_END */
    bool          ws;      /* bytes as frames of at most 1000 */
    /* first one text of so many bytes 'y', in as many parts as it takes */
    size_t        parts;
    bool          mid_text; /* some of them are out */
    bool          stuck;    /* claims to have more and gives nothing */
    bool          slow;     /* a pull takes longer than a turn has for all */
    int           pulls, gone;
    size_t        given;
};

struct socket_peer { /* the server's end of a WebSocket */
    struct ws_peer peer;
    struct buf     heard; /* every message, each followed by '\n' */
    int            messages, gone;
    bool           echo;
    struct conn   *conn;
};

/* A source (and WebSocket peer) of its own for every request to /own and /own/ws; frees itself at
 * its end. */
struct own {
    struct list        node;
    struct spring      spring;
    struct socket_peer socket;
    bool               ws;
};

struct net {
    struct loop             loop;
    struct arena            arena;
    struct server          *server;
    struct peer            *peers;
    struct spring           spring;
    struct socket_peer      socket;
    unsigned                heartbeat_ms;
    struct conn            *held; /* what /later got */
    struct conn_hold        hold;
    int                     cancelled, handled, guarded;
    int                     guard_holds; /* so many times the guard holds what comes, like /later */
    bool                    guard_tells; /* it adds a header */
    unsigned                until_ms;    /* the guard gives every connection so long; 0: no end */
    struct list             owns;        /* all struct own that have not ended */
    int                     begun, ended;
    bool                    closed;
    const char             *host; /* to listen on and to connect to; NULL: 127.0.0.1 */
    /* set before net_up: it speaks TLS with these, and so do its peers */
    const struct tls_files *tls;
    struct certs           *certs;
};
extern struct net net;

void              net_up(const struct net_limits *limits); /* NULL: defaults */
/* defaults, with deadlines of a fraction of a second */
struct net_limits net_short(void);
void net_limits_default(struct net_limits *l); /* those of a configuration that says nothing */
struct conn *net_conn(void);                   /* the server's only connection, or NULL */
void         net_down(void);                   /* closes all; checks that nothing is left */
void         net_turn(void);
void         net_rest(void); /* until there may be something to do, a millisecond at most */
#define NET_PATIENCE_NS 60000000000u
/* Turns until `cond`; fails the test when that does not come. */
#define net_until(cond)                                                     \
    do {                                                                    \
        uint64_t until_ = uv_hrtime() + NET_PATIENCE_NS;                    \
        while (!(cond) && uv_hrtime() < until_) net_rest(), net_turn();     \
        if (!(cond)) test_failed(__FILE__, __LINE__, "never came: " #cond); \
    } while (0)

#define HELLO "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define LATER "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define BIG   "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n"

struct peer *peer_open(void);
struct peer *peer_ask(const char *text); /* opens, and says it */
struct peer *peer_plain(void);           /* which speaks no TLS in any case */
void         peer_send(struct peer *p, const char *bytes, size_t len);
/* As much as goes now; negative: the line is dead. */
ssize_t      peer_try(struct peer *p, const char *bytes, size_t len);
void         peer_say(struct peer *p, const char *text);
bool         peer_has(const struct peer *p, const char *text);
size_t       peer_count(const struct peer *p, const char *text);
void         peer_forget(struct peer *p); /* what came so far */
void         peer_close(struct peer *p);
void         peer_reset(struct peer *p); /* closes with RST */
void         peer_half_close(struct peer *p);
/* One masked frame. */
void         peer_frame(struct peer *p, unsigned first_byte, const char *payload, size_t len);
struct peer *peer_upgrade(const char *path); /* opened, and 101 seen */

#endif
