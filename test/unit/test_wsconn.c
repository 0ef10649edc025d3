/* test_wsconn.c -- WebSockets over real sockets: both directions, closing from
 * either side, floods, and that source and peer are told their end once, in order. */
#include "net_peer.h"

#include <sys/socket.h>

enum { TEXT = 0x81, BINARY = 0x82, CLOSE = 0x88, PING = 0x89, PONG = 0x8a };
#define SAY(p, op, lit) peer_frame((p), (op), (lit), sizeof(lit) - 1)

static bool peer_has_bytes(const struct peer *p, struct str bytes)
{
    return str_find(buf_view(&p->got), bytes) >= 0;
}
#define HAS(p, lit) peer_has_bytes((p), STR(lit))

static void check_gone_once(void)
{
    net_until(net.socket.gone == 1);
    CHECK(net.spring.gone == 1 && net.spring.source.conn == NULL);
    net_down();
    CHECK(net.socket.gone == 1 && net.spring.gone == 1);
}

/* The server ends it with this close frame, and then the socket. */
static void check_closed_with(struct peer *p, struct str frame)
{
    net_until(p->eof);
    CHECK(str_ends(buf_view(&p->got), frame) && !p->reset);
    check_gone_once();
}

/* --- messages ------------------------------------------------------------------------- */

TEST(a_websocket_greets_and_echoes)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws/hello");
    net_until(HAS(p, "\x81\x05hello"));
    CHECK(peer_has(
        p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"));
    net.socket.echo = true;
    SAY(p, TEXT, "you there");
    net_until(HAS(p, "\x81\x09you there"));
    SAY(p, 0x01, "in ");
    SAY(p, PING, "!");
    SAY(p, 0x80, "parts");
    net_until(HAS(p, "\x8a\x01!") && HAS(p, "\x81\x08in parts"));
    CHECK_STR(buf_view(&net.socket.heard), "you there\nin parts\n");
    peer_close(p);
    check_gone_once();
}

TEST(frames_that_come_with_the_handshake_are_not_lost)
{
    net_up(NULL);
    struct peer *p = peer_open();
    net.socket.echo = true;
    peer_say(p,
             "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
             "\x81\x82\x20\x20\x20\x20HI");
    net_until(HAS(p, "\r\n\r\n\x81\x02hi"));
    net_down();
}

TEST(frames_behind_a_pipelined_handshake_wait_for_it)
{
    net_up(NULL);
    struct peer *p = peer_open();
    net.socket.echo = true;
    peer_say(p,
             "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"
             "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
             "\x81\x82\x20\x20\x20\x20HI");
    net_until(net.held);
    conn_reply(net.held, 204, NULL, STR(""));
    net_until(HAS(p, "\r\n\r\n\x81\x02hi"));
    CHECK(net_conn()->in.ptr == NULL && net_conn()->reading);
    net_down();
}

TEST(a_plain_request_for_a_websocket_is_426_and_the_connection_goes_on)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, "GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hello HTTP/1.1\r\nHost: "
                "localhost\r\n\r\n");
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(peer_has(p, "HTTP/1.1 426 Upgrade Required\r\n") &&
          peer_has(p, "Sec-WebSocket-Version: 13\r\n"));
    CHECK(net.spring.gone == 0 && net.socket.gone == 0); /* never began */
    net_down();
}

TEST(the_source_of_a_websocket_is_pulled_with_back_pressure)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    p->deaf = true;
    net.spring.endless = 20000000;
    source_wake(&net.spring.source);
    net_until(source_blocked(&net.spring.source));
    size_t given = net.spring.given;
    for (int i = 0; i < 20; i++) net_turn();
    CHECK(net.spring.given == given && net_conn()->blocked->bytes.cap <= CONN_OUT_MAX);
    p->deaf = false;
    peer_forget(p);
    /* 20,000 frames of 1000 bytes with 4 bytes of head */
    net_until(p->got.len > 20000 * 1004 - 300);
    CHECK(str_ends(buf_view(&p->got), STR("xxx")));
    net_down();
}

TEST(an_idle_websocket_owns_two_structs_and_no_buffer)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    SAY(p, 0x01, "in ");
    SAY(p, 0x80, "parts");
    net_until(net.socket.messages == 1);
    struct conn *c = net_conn();
    CHECK(c->state == CONN_WS && !c->exchange && !c->out.ptr && !c->in.ptr && !c->blocked &&
          !c->wsock->ws.message.ptr);
    CHECK(sizeof *c + sizeof *c->wsock <= 1200);
    net_down();
}

/* --- closing ----------------------------------------------------------------------------- */

TEST(a_close_by_the_peer_is_answered_with_its_code)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    SAY(p, CLOSE,
        "\x0f\xa0"
        "my reason");
    check_closed_with(p, STR("\x88\x02\x0f\xa0"));
}

TEST(an_empty_close_is_answered_with_an_empty_close)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    SAY(p, CLOSE, "");
    SAY(p, TEXT, "ignored");
    net_until(p->eof);
    CHECK(net.socket.messages == 0);
    check_closed_with(p, STR("\x88\0"));
}

TEST(our_close_waits_for_the_peers)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    conn_ws_send(net.socket.conn, STR("last words"));
    conn_ws_close(net.socket.conn, 4404, "unknown thread");
    conn_ws_send(net.socket.conn, STR("too late"));
    net_until(HAS(p, "\x81\x0alast words\x88\x10\x11\x34unknown thread"));
    net_until(net.spring.gone == 1);
    SAY(p, TEXT, "too late as well");
    for (int i = 0; i < 10; i++) net_turn();
    CHECK(!p->eof && net.socket.gone == 0 && net.socket.messages == 0);
    SAY(p, CLOSE, "\x11\x34");
    check_closed_with(p, STR("unknown thread"));
}

TEST(a_peer_that_never_answers_our_close_is_cut_off)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_upgrade("/ws");
    conn_ws_close(net.socket.conn, 1000, "");
    net_until(p->eof);
    check_gone_once();
}

TEST(the_end_of_the_source_closes_with_1000)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    buf_lit(&net.spring.text, "\x81\x03"
                              "bye");
    net.spring.end = true;
    source_wake(&net.spring.source);
    net_until(HAS(p, "\x81\x03"
                     "bye\x88\x02\x03\xe8"));
    CHECK(net.spring.gone == 1);
    SAY(p, CLOSE, "\x03\xe8");
    check_closed_with(p, STR("\x88\x02\x03\xe8"));
}

TEST(bad_frames_are_answered_with_1002)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    peer_say(p, "\x81\x05hello"); /* no mask */
    check_closed_with(p, STR("\x88\x22\x03\xea"
                             "frames of clients must be masked"));
}

TEST(bad_text_is_answered_with_1007)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    SAY(p, TEXT, "\xc3\x28");
    net_until(p->eof);
    CHECK(HAS(p, "\x03\xef") && net.socket.messages == 0);
    check_gone_once();
}

TEST(a_message_over_the_limit_is_answered_with_1009)
{
    struct net_limits l;
    net_limits_default(&l);
    l.message_max = 1000;
    net_up(&l);
    char         text[1001];
    struct peer *p = peer_upgrade("/ws");
    memset(text, 'm', sizeof text);
    peer_frame(p, TEXT, text, 1000);
    net_until(net.socket.messages == 1);
    peer_frame(p, TEXT, text, 1001);
    net_until(p->eof);
    CHECK(HAS(p, "\x03\xf1") && net.socket.messages == 1);
    check_gone_once();
}

TEST(messages_in_flight_count_with_the_bodies)
{
    struct net_limits l;
    net_limits_default(&l);
    l.bodies_max = 100000;
    net_up(&l);
    struct peer *p = peer_upgrade("/ws");
    char        *part = mem_alloc(60000);
    peer_frame(p, 0x02, part, 60000);
    net_until(net.server->bodies >= 60000);
    peer_frame(p, 0x00, part, 60000);
    net_until(HAS(p, "\x03\xf5"
                     "busy")); /* 1013 */
    SAY(p, CLOSE, "");
    mem_free(part);
    check_gone_once();
}

/* --- other ends --------------------------------------------------------------------------- */

TEST(source_and_peer_are_told_when_the_client_closes_its_socket)
{
    net_up(NULL);
    peer_close(peer_upgrade("/ws"));
    check_gone_once();
}

TEST(source_and_peer_are_told_when_the_client_resets)
{
    net_up(NULL);
    peer_reset(peer_upgrade("/ws"));
    check_gone_once();
}

TEST(source_and_peer_are_told_when_the_client_half_closes)
{
    net_up(NULL);
    peer_half_close(peer_upgrade("/ws"));
    check_gone_once();
}

TEST(source_and_peer_are_told_when_the_server_closes)
{
    net_up(NULL);
    peer_upgrade("/ws");
    net_down();
    CHECK(net.spring.gone == 1 && net.socket.gone == 1);
}

TEST(source_and_peer_are_told_when_the_client_takes_nothing)
{
    struct net_limits l = net_short();
    l.ping_ms = 30000;
    net_up(&l);
    struct peer *p = peer_upgrade("/ws");
    p->deaf = true;
    net.spring.endless = SIZE_MAX;
    source_wake(&net.spring.source);
    check_gone_once();
}

TEST(source_and_peer_are_told_when_the_client_left_before_its_upgrade_was_looked_at)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(net.held);
    peer_half_close(p);
    net_until(net_conn()->eof);
    static const char upgrade[] =
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    /* as if it had come in one read with the end */
    buf_add(&net_conn()->in, upgrade, sizeof upgrade - 1);
    conn_reply(net.held, 204, NULL, STR(""));
    check_gone_once();
}

TEST(a_peer_that_answers_no_pings_is_closed)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_upgrade("/ws");
    net_until(p->eof);
    CHECK(peer_count(p, "\x89") == 2);
    check_gone_once();
}

TEST(a_peer_that_answers_pings_stays)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_upgrade("/ws");
    for (int i = 0; i < 8; i++) {
        peer_forget(p);
        net_until(peer_count(p, "\x89") == 1);
        SAY(p, PONG, "");
    }
    CHECK(net.socket.gone == 0 && !p->eof);
    net_down();
}

TEST(without_memory_a_websocket_may_end_and_is_told_once)
{
    for (long n = 0; n < 30; n++) {
        net_up(NULL);
        struct peer *p = peer_open();
        net.socket.echo = true;
        net_until(server_connections(net.server) == 1);
        mem_fail_at(n);
        static const char text[] =
            "GET /ws/hello HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            "\x81\x82\x20\x20\x20\x20HI\x01\x82\x20\x20\x20\x20HI\x80\x82\x20\x20\x20\x20HI\x89\x80"
            "\x20\x20\x20\x20";
        peer_try(p, text, sizeof text - 1);
        for (int i = 0; i < 10; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        mem_fail_at(-1);
        net_down();
        CHECK(net.spring.gone == net.socket.gone && net.spring.gone <= 1);
    }
}

/* --- floods ---------------------------------------------------------------------------------- */

TEST(each_of_a_few_pings_is_answered)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    for (int i = 0; i < 10; i++) {
        char text[2] = { 'p', (char)('0' + i) };
        peer_frame(p, PING, text, 2);
    }
    for (int i = 0; i < 10; i++) {
        char want[5] = { '\x8a', 2, 'p', (char)('0' + i), 0 };
        net_until(peer_has(p, want));
    }
    net_down();
}

static size_t held_by(const struct conn *c)
{
    return c->out.cap + c->in.cap + c->wsock->ws.message.cap +
           (c->blocked ? c->blocked->bytes.cap : 0);
}

TEST(a_million_unread_pings_grow_nothing)
{
    net_up(NULL);
    static char  pings[131 * 1000];
    struct peer *p = peer_upgrade("/ws");
    p->deaf = true;
    for (int i = 0; i < 1000; i++) {
        char *at = pings + 131 * i;
        memcpy(at, "\x89\xfd\0\0\0\0", 6); /* a mask of zeros, 125 bytes */
        memset(at + 6, 'p', 125);
    }
    size_t most = 0;
    for (int i = 0; i < 1000; i++) {
        peer_send(p, pings, sizeof pings);
        net_turn();
        size_t now = held_by(net_conn());
        if (now > most) most = now;
    }
    CHECK(net_conn()->blocked); /* its pongs fill the socket */
    CHECK(most <= CONN_OUT_MAX + 16 * 1024);
    SAY(p, PING, "the newest");
    for (int i = 0; i < 10; i++) net_turn();
    p->deaf = false;
    net_until(HAS(p, "\x8a\x0athe newest"));
    CHECK(held_by(net_conn()) == 0);
    net_down();
}

TEST(many_texts_in_one_turn_are_no_proof_of_a_peer_that_does_not_read)
{
    net_up(NULL);
    char         text[1000];
    struct peer *p = peer_upgrade("/ws");
    memset(text, 't', sizeof text);
    for (int i = 0; i < 100; i++) conn_ws_send(net.socket.conn, str_n(text, sizeof text));
    net_until(peer_count(p, "\x81\x7e") == 100);
    CHECK(net.socket.gone == 0);
    net_down();
}

TEST(texts_for_a_peer_that_does_not_read_end_in_1008)
{
    net_up(NULL);
    char         text[1000];
    struct peer *p = peer_upgrade("/ws");
    memset(text, 't', sizeof text);
    p->deaf = true;
    size_t most = 0;
    for (int i = 0; i < 20000 && net.socket.conn && !net_conn()->wsock->close_code; i++) {
        conn_ws_send(net.socket.conn, str_n(text, sizeof text));
        if (i % 10 == 0) net_turn();
        if (net_conn() && held_by(net_conn()) > most) most = held_by(net_conn());
    }
    CHECK(most <= CONN_OUT_MAX + 32 * 1024);
    CHECK(net_conn()->wsock->close_code == WS_POLICY);
    p->deaf = false;
    net_until(HAS(p, "\x03\xf0not reading"));
    SAY(p, CLOSE, "");
    check_gone_once();
}

/* --- long texts ------------------------------------------------------------------------------- */

/* Joins the frames after the handshake into "y*3000000|t|": data messages, each followed by a
 * bar. */
static void join_messages(const struct peer *p, struct buf *out)
{
    struct str rest = buf_view(&p->got);

    while (rest.len >= 2) {
        size_t n = (unsigned char)rest.ptr[1], head = 2;
        if (n == 126) {
            n = (size_t)(unsigned char)rest.ptr[2] << 8 | (unsigned char)rest.ptr[3];
            head = 4;
        }
        if (rest.len < head + n) return;
        CHECK(((unsigned char)rest.ptr[0] & 0x0f) ==
              ((out->len && out->ptr[out->len - 1] != '|') ? 0 : 1));
        buf_str(out, str_cut(str_from(rest, head), n));
        if (rest.ptr[0] & 0x80) buf_chr(out, '|');
        rest = str_from(rest, head + n);
    }
}

TEST(a_text_too_long_for_the_room_goes_out_in_parts_and_no_other_comes_between)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    struct buf   joined;
    buf_init(&joined, 0);
    peer_forget(p);
    p->deaf = true;
    net.spring.parts = 12000000;
    source_wake(&net.spring.source);
    net_until(source_blocked(&net.spring.source));
    conn_ws_send(net.socket.conn, STR("between"));
    CHECK(held_by(net_conn()) <= CONN_OUT_MAX);
    p->deaf = false;
    net_until(net.spring.parts == 0 && peer_has(p, "between"));
    join_messages(p, &joined);
    CHECK(joined.len == 12000000 + 1 + 8);
    CHECK(str_ends(buf_view(&joined), STR("yyy|between|")));
    CHECK(net_conn()->wsock->waiting.ptr == NULL);
    buf_done(&joined);
    net_down();
}

/* --- drain ------------------------------------------------------------------------------------ */

TEST(a_quiet_websocket_is_closed_with_1012_when_the_server_drains)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws");
    server_drain(net.server);
    CHECK(!HAS(p, "\x03\xf4"));
    for (int i = 0; i < 5; i++) { /* words still come: not quiet yet */
        conn_ws_send(net.socket.conn, STR("word"));
        net_turn();
    }
    net_until(HAS(p, "\x81\x04word\x88\x0c\x03\xf4restarting"));
    SAY(p, CLOSE, "\x03\xf4");
    check_closed_with(p, STR("restarting"));
}
