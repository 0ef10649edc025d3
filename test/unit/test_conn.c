/* test_conn.c -- a real server and real sockets: order, limits, deadlines, ends. */
#include "net_peer.h"

#define HELLO "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"

TEST(a_request_is_answered_with_a_length_and_the_safe_headers)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK_STR(buf_view(&p->got),
              "HTTP/1.1 200 OK\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
              "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi");
    CHECK(!p->eof);
    net_down();
}

TEST(pipelined_requests_are_answered_in_order)
{
    net_up(NULL);
    struct peer *p = peer_open();
    for (int i = 0; i < 100; i++) {
        char text[100];
        snprintf(text, sizeof text, "GET /names/n%d. HTTP/1.1\r\nHost: localhost\r\n\r\n", i);
        peer_say(p, text);
    }
    net_until(peer_has(p, "n99."));
    struct str rest = buf_view(&p->got);
    for (int i = 0; i < 100; i++) {
        char want[20];
        snprintf(want, sizeof want, "\r\n\r\nn%d.", i);
        ptrdiff_t at = str_find(rest, str_c(want));
        REQUIRE(at >= 0);
        rest = str_from(rest, (size_t)at);
    }
    net_down();
}

TEST(a_stream_comes_in_chunks_and_ends_and_the_connection_goes_on)
{
    net_up(NULL);
    struct peer *p = peer_open();
    buf_lit(&net.spring.text, "data: 1\n\n");
    peer_say(p, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "0009\r\ndata: 1\n\n\r\n"));
    CHECK(peer_has(p, "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n"));
    CHECK(server_streams(net.server) == 1);
    buf_lit(&net.spring.text, "data: 2\n\n");
    net.spring.end = true;
    source_wake(&net.spring.source);
    net_until(peer_has(p, "0009\r\ndata: 2\n\n\r\n0\r\n\r\n"));
    CHECK(net.spring.gone == 1);
    CHECK(net.spring.source.conn == NULL);
    peer_say(p, HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    net_down();
    CHECK(net.spring.gone == 1);
}

TEST(a_websocket_greets_and_echoes)
{
    net_up(NULL);
    struct peer *p = peer_upgrade("/ws/hello");
    net_until(peer_has(p, "\x81\x05hello"));
    net.socket.echo = true;
    peer_frame(p, 0x81, "you there", 9);
    net_until(peer_has(p, "\x81\x09you there"));
    peer_frame(p, 0x88, "\x03\xe8", 2);
    net_until(peer_has(p, "\x88\x02\x03\xe8"));
    net_until(p->eof);
    CHECK(net.spring.gone == 1 && net.socket.gone == 1);
    net_down();
}
