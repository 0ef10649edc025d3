/* test_net_chaos.c -- many clients that do anything at any time, from a fixed seed.
 * Whatever they do, every source is told its end once, and nothing is left. */
#include "net_peer.h"

#include <sys/socket.h>

#define CLIENTS 40
#define STEPS   3000

static uint64_t seed;

static unsigned dice(unsigned sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % sides;
}

#define UPGRADE                                                                        \
    "GET /own/ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

static const char *const requests[] = {
    "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /own HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /own HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /own HTTP/1.0\r\n\r\n",
    "HEAD /own HTTP/1.1\r\nHost: a\r\n\r\n",
    (UPGRADE),
    "GET /own/ws HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET /page HTTP/1.1\r\nHost: a\r\n\r\n",
    "\x81\x82\x20\x20\x20\x20HI",
    "\x89\x82\x20\x20\x20\x20HI",
    "\x88\x82\x20\x20\x20\x20\x23\xc8",
    "\x01\x82\x20\x20\x20\x20HI",
    "\x80\x82\x20\x20\x20\x20HI",
};

static void client_step(struct peer **slot)
{
    struct peer *p = *slot;
    const char  *text = requests[dice(sizeof requests / sizeof *requests)];

    if (!p || p->fd < 0 || p->eof) {
        if (p) peer_close(p);
        *slot = peer_open();
        return;
    }
    switch (dice(12)) {
    case 0: peer_close(p); return;
    case 1: peer_reset(p); return;
    case 2: peer_half_close(p); return;
    case 3: p->deaf = !p->deaf; return;
    /* a torso */
    case 4: peer_try(p, text, dice((unsigned)strlen(text))); return;
    default: peer_try(p, text, strlen(text)); return;
    }
}

static void server_step(void)
{
    LIST_EACH (n, &net.owns) {
        struct own *o = LIST_ITEM(n, struct own, node);
        switch (dice(10)) {
        case 0: o->spring.end = true; break;
        case 1: o->spring.endless += dice(500000); break;
        case 2:
            if (o->ws) conn_ws_close(o->socket.conn, 1000, "enough");
            break;
        case 3:
            if (o->ws) o->spring.parts += 5000 + dice(100000);
            break;
        case 4:
            if (o->ws) conn_ws_send(o->socket.conn, STR("by the way"));
            break;
        default: continue;
        }
        source_wake(&o->spring.source);
    }
}

static void run_chaos(uint64_t from)
{
    static struct peer *clients[CLIENTS];
    struct net_limits   l = net_short();

    seed = from;
    l.connections = CLIENTS - 5; /* some are refused */
    net_up(&l);
    memset(clients, 0, sizeof clients);
    for (int i = 0; i < STEPS; i++) {
        client_step(&clients[dice(CLIENTS)]);
        if (dice(3) == 0) server_step();
        if (dice(2) == 0) net_turn();
        for (struct peer *p = net.peers; p; p = p->next) buf_clear(&p->got);
    }
    if (from % 2) server_drain(net.server);
    net_down();
    CHECK(net.begun > 10 && net.begun == net.ended);
}

TEST(whatever_the_clients_do_every_source_ends_once)
{
    for (uint64_t i = 1; i <= 4; i++) run_chaos(i);
}
