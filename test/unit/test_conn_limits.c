/* test_conn_limits.c -- deadlines of connections, how many there may be, what they may hold, and a
 * server that ends or has no memory. */
#include "net_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- deadlines ---------------------------------------------------------------------------- */

/* A byte in a millisecond: as many as turns of the loop would be too long a head by then. */
static void drip(struct peer *p)
{
    static uint64_t last;
    uint64_t        now = uv_hrtime() / 1000000;
    if (now != last) peer_try(p, "x", 1);
    last = now;
}

TEST(a_head_that_drips_is_cut_off_with_408)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_ask("GET /hello HTTP/1.1\r\nX: ");
    net_until((drip(p), p->eof));
    CHECK(peer_has(p, "HTTP/1.1 408 Request Timeout\r\n"));
    net_down();
}

TEST(a_body_that_drips_is_cut_off_with_408)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
    uint64_t began = uv_hrtime();
    net_until((drip(p), p->eof));
    CHECK(peer_has(p, "HTTP/1.1 408 Request Timeout\r\n") && peer_has(p, "\"request_timeout\""));
    CHECK(uv_hrtime() - began >= 100 * 1000000u); /* body_ms, not head_ms */
    net_down();
}

TEST(an_idle_connection_is_closed_without_a_word)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *a = peer_open(), *b = peer_ask(HELLO);
    net_until(a->eof && b->eof);
    CHECK(a->got.len == 0 && peer_count(b, "HTTP/1.1") == 1);
    net_down();
}

TEST(a_held_request_has_no_deadline)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_ask(LATER), *other = NULL;
    net_until(net.held);
    for (int i = 0; i < 3; i++) {
        other = peer_open();
        net_until(other->eof); /* three times the idle deadline */
    }
    CHECK(!p->eof && net.cancelled == 0);
    conn_reply(net.held, 200, "text/plain", STR("late"));
    net_until(peer_has(p, "late"));
    net_down();
}

/* /big is 8 MiB; its reader takes nothing. */
static struct peer *deaf_reader(void)
{
    struct peer *p = peer_open();
    size_t       before = net.server->answers;
    p->deaf = true;
    peer_say(p, BIG);
    net_until(net.server->answers > before);
    return p;
}

TEST(long_answers_of_slow_readers_share_one_budget)
{
    struct net_limits l;
    net_limits_default(&l);
    l.answers_max = 20 << 20;
    net_up(&l);
    struct peer *a = deaf_reader();
    deaf_reader();
    struct peer *p = peer_ask(BIG);
    net_until(peer_has(p, "HTTP/1.1 503 "));
    CHECK(peer_has(p, "Retry-After: 1\r\n") && peer_has(p, "\"busy\"") &&
          net.server->answers == 16u << 20);
    peer_forget(p);
    peer_say(p, HELLO);
    net_until(peer_has(p, "hi")); /* short ones are none of it */
    a->deaf = false;
    net_until(a->got.len > 8u << 20 && net.server->answers == 8u << 20);
    peer_forget(p);
    peer_say(p, BIG);
    net_until(p->got.len > 8u << 20 && net.server->answers == 8u << 20);
    CHECK(peer_has(p, "HTTP/1.1 200 "));
    net_down();
    CHECK(net.cancelled == 0);
}

TEST(an_answer_longer_than_the_budget_goes_out_alone)
{
    struct net_limits l;
    net_limits_default(&l);
    l.answers_max = 1 << 20;
    net_up(&l);
    struct peer *p = peer_ask(BIG);
    net_until(p->got.len > 8u << 20);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && net.server->answers == 0);
    net_down();
}

/* Asks as long as it is told to come again, anew when it was cut off meanwhile: a process that got
 * no time for a while is a slow reader, too. */
static bool big_comes(struct peer **p)
{
    if ((*p)->got.len > 8u << 20) return true;
    if ((*p)->eof) {
        *p = peer_ask(BIG);
    } else if ((*p)->got.len && !peer_has(*p, "HTTP/1.1 200 ")) {
        peer_forget(*p);
        peer_say(*p, BIG);
    }
    return false;
}

TEST(a_reader_that_is_slow_for_long_makes_room_for_others)
{
    struct net_limits l = net_short();
    l.answers_max = 1 << 20;
    l.write_ms = 400;
    net_up(&l);
    deaf_reader();
    struct peer *p = peer_ask(BIG);
    net_until(big_comes(&p));
    net_down();
}

/* What a stranger sends is not counted where it would keep known people out. */
TEST(strangers_have_a_small_budget_of_their_own)
{
    struct net_limits l;
    net_limits_default(&l);
    net_up(&l);
    struct peer *p = peer_upgrade("/ws/stranger");
    static char  text[STRANGER_MESSAGE_MAX];
    memset(text, 'x', sizeof text);
    peer_frame(p, 0x01, text, sizeof text / 2); /* not finished */
    net_until(net.server->strangers > 0);
    CHECK(net.server->bodies == 0);
    conn_stranger(net.socket.conn, false); /* he said who he is */
    CHECK(net.server->strangers == 0 && net.server->bodies > 0);
    static char large[3 * STRANGER_MESSAGE_MAX];
    memset(large, 'x', sizeof large);
    peer_frame(p, 0x80, large, sizeof large);
    net_until(net.socket.messages == 1);
    conn_stranger(net.socket.conn, true);
    peer_frame(p, 0x81, large, sizeof large);
    net_until(peer_has(p, "too big"));
    net_down();
}

TEST(a_reader_that_takes_nothing_is_cut_off)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_open();
    p->deaf = true;
    peer_say(p, BIG);
    net_until(net.handled == 1);
    net_until(server_connections(net.server) == 0);
    net_down();
}

/* --- how many ------------------------------------------------------------------------------- */

static struct net_limits only(unsigned connections)
{
    struct net_limits l;
    net_limits_default(&l);
    l.connections = connections;
    return l;
}

TEST(a_connection_over_the_cap_is_told_503)
{
    struct net_limits l = only(3);
    net_up(&l);
    struct peer *in[3];
    for (int i = 0; i < 3; i++) in[i] = peer_ask("GET /own HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(net.begun == 3);
    struct peer *p = peer_ask(HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 503 ") && peer_has(p, "\"too_many_connections\"") &&
          peer_has(p, "Retry-After: 1\r\n") && !p->reset);
    for (int i = 0; i < 200; i++) peer_open(); /* more than are kept */
    net_until(net.server->refused <= REFUSED_MAX &&
              server_connections(net.server) <= 3 + REFUSED_MAX);
    p = peer_ask(HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 503 ")); /* the silent ones among them made room */
    peer_close(in[1]);
    net_until(server_connections(net.server) - net.server->refused == 2);
    p = peer_ask(HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    net_down();
}

TEST(a_vital_answer_is_given_when_there_is_no_room)
{
    struct net_limits l = only(1);
    net_up(&l);
    peer_ask(LATER);
    net_until(net.held);
    for (int i = 0; i < 2 * REFUSED_MAX; i++) peer_open();
    struct peer *p = peer_ask("GET /vital HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                *post =
                    peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
    net_until(p->eof && post->eof);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && peer_has(p, "Connection: close\r\n") &&
          peer_has(p, "alive"));
    CHECK(peer_has(post, "HTTP/1.1 503 ") && net.handled == 1);
    net_down();
}

TEST(who_asks_for_nothing_makes_room_the_oldest_first)
{
    struct net_limits l = only(3);
    net_up(&l);
    struct peer *busy = peer_ask(LATER);
    net_until(net.held);
    struct peer *silent = peer_open();
    net_until(server_connections(net.server) == 2);
    struct peer *slow = peer_ask("GET /hello HTTP/1.1\r\nHost: lo");
    net_until(server_connections(net.server) == 3);
    for (int i = 0; i < 10; i++) {
        struct peer *p = peer_ask(HELLO);
        net_until(peer_has(p, "hi"));
        CHECK(silent->eof && !busy->eof && (i > 0) == slow->eof);
    }
    CHECK(silent->got.len == 0 && net.server->refused == 0);
    conn_reply(net.held, 200, "text/plain", STR("late"));
    net_until(peer_has(busy, "late"));
    net_down();
}

TEST(loopback_is_not_counted_by_address)
{
    struct net_limits l;
    net_limits_default(&l);
    l.per_address = 1;
    net_up(&l);
    struct peer *p = NULL;
    for (int i = 0; i < 5; i++) p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    CHECK(conn_is_loopback(net_conn()));
    CHECK_STR(conn_peer(net_conn()), "127.0.0.1");
    net_down();
}

/* The address of some interface of this machine that is not loopback. */
static bool outside_address(char out[64])
{
    struct ifaddrs *all, *i;
    if (getifaddrs(&all)) return false;
    for (i = all; i; i = i->ifa_next) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)i->ifa_addr;
        if (in && in->sin_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 != 127) break;
    }
    if (i)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, out,
                  64);
    freeifaddrs(all);
    return i != NULL;
}

TEST(connections_of_one_address_are_capped)
{
    struct net_limits l;
    char              host[64];
    net_limits_default(&l);
    l.per_address = 2;
    if (!outside_address(host)) {
        printf("note: no address but loopback here\n");
        return;
    }
    net.host = host;
    net_up(&l);
    struct peer *a = peer_ask(HELLO), *b = peer_ask(HELLO);
    net_until(peer_has(a, "hi") && peer_has(b, "hi"));
    CHECK(!conn_is_loopback(net_conn()));
    struct peer *c = peer_ask(HELLO);
    net_until(c->eof);
    CHECK(net.tls || peer_has(c, "HTTP/1.1 429 ")); /* a handshake is not done to say that */
    peer_close(a);
    peer_close(c);
    net_until(server_connections(net.server) == 1);
    c = peer_ask(HELLO);
    net_until(peer_has(c, "hi"));
    net_down();
}

/* With no descriptor left the kernel keeps offering the connection; a server that
 * only fails to accept it would spin. */
TEST(without_descriptors_connections_are_turned_away_and_the_loop_sleeps)
{
    static int    hoard[4096];
    struct rlimit old, few;
    size_t        n = 0;

    net_up(NULL);
    struct peer *in = peer_ask(HELLO);
    net_until(peer_has(in, "hi"));
    struct peer *out = peer_open();
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    while (n < 4096 && (hoard[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
    net_until(out->eof);
    int turns = 0;
    for (uint64_t until = uv_hrtime() + 30 * 1000000u; uv_hrtime() < until; turns++)
        uv_run(&net.loop.uv, UV_RUN_ONCE);
    CHECK(turns < 100); /* it slept between them */
    peer_say(in, HELLO);
    net_until(peer_count(in, "hi") == 2);
    while (n) close(hoard[--n]);
    setrlimit(RLIMIT_NOFILE, &old);
    out = peer_ask(HELLO);
    net_until(peer_has(out, "hi"));
    net_down();
}

TEST(connections_have_nodelay_from_their_listener)
{
    net_up(NULL);
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    int       on = 0, unsent = 0, fd;
    socklen_t len = sizeof on;
    CHECK(uv_fileno((uv_handle_t *)&net_conn()->tcp, &fd) == 0);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len) == 0 && on);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, &len) == 0 && unsent == 65536);
    net_down();
}

/* --- the server ----------------------------------------------------------------------------- */

TEST(an_idle_connection_owns_nothing_but_its_struct)
{
    net_up(NULL);
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    struct conn *c = net_conn();
    CHECK(c->state == CONN_IDLE && !c->exchange && !c->out.ptr && !c->in.ptr && !c->blocked &&
          !c->wsock);
    CHECK(sizeof *c <= 640);
    net_down();
}

TEST(a_port_in_use_is_said_so)
{
    struct server_setup setup = { .loop = &net.loop };
    struct server      *second = NULL;
    struct str          why = STR_NONE;

    net_up(NULL);
    net_limits_default(&setup.limits);
    CHECK(server_start(&setup, STR("127.0.0.1"), server_port(net.server), &second, &why,
                       &net.arena) == ERR_BUSY);
    CHECK(str_find(why, STR("address already in use")) >= 0 && second == NULL);
    CHECK(server_start(&setup, STR("no.such.host.invalid"), 0, &second, &why, &net.arena) ==
          ERR_IO);
    net_down();
}

TEST(a_draining_server_finishes_what_it_began_and_takes_nothing_new)
{
    net_up(NULL);
    struct peer *idle = peer_ask(HELLO), *held = peer_ask(LATER);
    net_until(peer_has(idle, "hi") && net.held);
    server_drain(net.server);
    net_until(idle->eof);
    CHECK(!held->eof);
    conn_reply(net.held, 200, "text/plain", STR("late"));
    net_until(held->eof);
    CHECK(peer_has(held, "late") && peer_has(held, "Connection: close\r\n"));
    peer_close(held);
    net_until(server_connections(net.server) == 0);
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server_port(net.server)) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) != 0);
    close(fd);
    net_down();
}

/* Every allocation of a conversation fails once: the worst that may happen is that
 * this connection ends. */
TEST(without_memory_a_connection_may_end_but_never_the_server)
{
    net_up(NULL);
    for (long n = 0; n < 40; n++) {
        struct peer *p = peer_open();
        net.spring.end = true;
        buf_lit(&net.spring.text, "data");
        mem_fail_at(n);
        peer_try(p, HELLO LATER, sizeof(HELLO LATER) - 1);
        for (int i = 0; i < 6; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        if (net.held) conn_reply(net.held, 200, "text/plain", STR("late"));
        net.held = NULL;
        peer_try(p, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", 33);
        for (int i = 0; i < 6; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        mem_fail_at(-1);
        peer_close(p);
        net_until(server_connections(net.server) == 0);
        buf_clear(&net.spring.text);
    }
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "hi"));
    net_down();
}
