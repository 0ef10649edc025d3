/* test_stream.c -- answers that are pulled from a source: chunks, back-pressure,
 * heartbeats, and that a source is told its end exactly once, whichever it is. */
#include "net_peer.h"

#include <stdlib.h>
#include <sys/socket.h>

#define STREAM "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* A stream under way, with its head received. */
static struct peer *streaming(void)
{
    struct peer *p = peer_open();
    peer_say(p, STREAM);
    net_until(peer_has(p, "chunked\r\n\r\n"));
    CHECK(server_streams(net.server) == 1);
    return p;
}

static void tell(const char *text)
{
    buf_lit(&net.spring.text, text);
    source_wake(&net.spring.source);
}

/* The stream has ended for the source; the server is then closed, and that must not tell it
 * again. */
static void check_gone_once(void)
{
    net_until(net.spring.gone == 1);
    CHECK(net.spring.source.conn == NULL);
    source_wake(&net.spring.source); /* harmless afterwards */
    net_down();
    CHECK(net.spring.gone == 1);
}

/* Joins the chunks of the answer; checks their form. The size of the body. */
static size_t dechunk(const struct peer *p, bool *ended)
{
    struct str rest = buf_view(&p->got);
    size_t     body = 0;

    *ended = false;
    rest = str_from(rest, (size_t)str_find(rest, STR("\r\n\r\n")) + 4);
    while (rest.len) {
        size_t n = (size_t)strtoul(rest.ptr, NULL, 16);
        if (n == 0) {
            *ended = str_is(rest, "0\r\n\r\n");
            return body;
        }
        if (rest.len < 6 + n + 2) return body;
        CHECK(rest.ptr[4] == '\r' && rest.ptr[5] == '\n' && rest.ptr[6 + n] == '\r' &&
              rest.ptr[7 + n] == '\n');
        body += n;
        rest = str_from(rest, 6 + n + 2);
    }
    return body;
}

/* --- bytes ---------------------------------------------------------------------------- */

TEST(a_stream_comes_in_chunks_and_ends_and_the_connection_goes_on)
{
    net_up(NULL);
    struct peer *p = peer_open();
    buf_lit(&net.spring.text, "data: 1\n\n");
    peer_say(p, STREAM);
    net_until(peer_has(p, "0009\r\ndata: 1\n\n\r\n"));
    CHECK(peer_has(p, "Content-Type: text/event-stream\r\n"));
    CHECK(peer_has(p, "Cache-Control: no-cache, no-store\r\nX-Accel-Buffering: "
                      "no\r\nTransfer-Encoding: chunked\r\n\r\n"));
    net.spring.end = true;
    tell("data: 2\n\n");
    net_until(peer_has(p, "0009\r\ndata: 2\n\n\r\n0\r\n\r\n"));
    CHECK(net.spring.gone == 1);
    peer_say(p, HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    check_gone_once();
}

TEST(any_number_of_wakes_in_a_turn_is_one_pull_and_one_chunk)
{
    net_up(NULL);
    struct peer *p = streaming();
    for (int i = 0; i < 3; i++) net_turn();
    int before = net.spring.pulls;
    for (int i = 0; i < 50; i++) tell("x");
    net_until(peer_has(p, "xxx"));
    CHECK(net.spring.pulls == before + 1 && peer_has(p, "0032\r\nxxx"));
    peer_close(p);
    check_gone_once();
}

TEST(head_of_a_stream_asks_its_source_nothing)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, "HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(net.spring.pulls == 0 && peer_has(p, "chunked\r\n\r\nHTTP/1.1 200 OK"));
    check_gone_once();
}

TEST(a_fast_reader_gets_everything_in_whole_chunks)
{
    net_up(NULL);
    bool         ended;
    struct peer *p = peer_open();
    net.spring.endless = 5000000;
    net.spring.end = true;
    peer_say(p, STREAM);
    net_until(str_ends(buf_view(&p->got), STR("\r\n0\r\n\r\n")));
    CHECK(dechunk(p, &ended) == 5000000 && ended);
    check_gone_once();
}

/* --- back-pressure ------------------------------------------------------------------------ */

TEST(a_reader_that_does_not_read_costs_64_kib_and_its_source_is_not_asked)
{
    net_up(NULL);
    bool         ended;
    struct peer *p = peer_open();
    p->deaf = true;
    net.spring.endless = 50000000;
    net.spring.end = true;
    peer_say(p, STREAM);
    net_until(source_blocked(&net.spring.source));
    int    pulls = net.spring.pulls;
    size_t given = net.spring.given;
    for (int i = 0; i < 50; i++) {
        source_wake(&net.spring.source);
        net_turn();
    }
    CHECK(net.spring.pulls == pulls && net.spring.given == given);
    CHECK(given < 12000000); /* what the kernel's buffers took */
    struct conn *c = net_conn();
    CHECK(c->blocked->bytes.cap <= CONN_OUT_MAX && c->out.cap == 0 && c->in.cap == 0);
    p->deaf = false;
    net_until(str_ends(buf_view(&p->got), STR("\r\n0\r\n\r\n")));
    CHECK(dechunk(p, &ended) == 50000000 && ended);
    CHECK(!net_conn()->blocked);
    check_gone_once();
}

TEST(a_pipelined_request_waits_until_the_stream_has_ended)
{
    net_up(NULL);
    struct peer *p = streaming();
    peer_say(p, HELLO);
    net_until(!net_conn()->reading); /* its bytes stay with the kernel from here on */
    CHECK(net.handled == 0 && net_conn()->in.len == sizeof HELLO - 1);
    tell("data");
    net_until(peer_has(p, "0004\r\ndata\r\n"));
    net.spring.end = true;
    source_wake(&net.spring.source);
    net_until(peer_has(p, "0\r\n\r\nHTTP/1.1 200 OK") && peer_has(p, "\r\n\r\nhi"));
    check_gone_once();
}

TEST(a_peer_that_floods_its_stream_with_input_is_not_read)
{
    net_up(NULL);
    struct peer *p = streaming();
    char         junk[10000];
    memset(junk, 'j', sizeof junk);
    for (int i = 0; i < 2000 && peer_try(p, junk, sizeof junk) > 0; i++) net_turn();
    CHECK(net_conn()->in.cap <= READ_MAX && !net_conn()->reading);
    tell("data");
    net_until(peer_has(p, "0004\r\ndata\r\n"));
    peer_reset(p);
    tell("data"); /* writing finds out */
    check_gone_once();
}

TEST(an_idle_stream_owns_nothing_but_its_struct)
{
    net_up(NULL);
    streaming();
    struct conn *c = net_conn();
    CHECK(c->state == CONN_STREAM && !c->exchange && !c->out.ptr && !c->in.ptr && !c->blocked &&
          !c->wsock);
    CHECK(sizeof *c <= 640);
    net_down();
}

/* --- silence -------------------------------------------------------------------------------- */

TEST(silence_is_broken_by_heartbeats)
{
    struct net_limits l = net_short();
    net_up(&l);
    net.heartbeat_ms = 30;
    struct peer *p = streaming();
    net_until(peer_count(p, "000e\r\n: keep-alive\n\n\r\n") >= 3);
    CHECK(net.spring.gone == 0); /* no idle deadline for streams */
    net_down();
}

TEST(a_stream_without_heartbeats_may_be_silent)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = streaming(), *other = peer_open();
    net_until(other->eof);
    other = peer_open();
    net_until(other->eof); /* twice the idle deadline went by */
    CHECK(!p->eof && !peer_has(p, "keep-alive"));
    net_down();
}

/* --- every end is told once ------------------------------------------------------------------- */

TEST(the_source_is_told_when_the_client_closes)
{
    net_up(NULL);
    peer_close(streaming());
    check_gone_once();
}

TEST(the_source_is_told_when_the_client_resets)
{
    net_up(NULL);
    peer_reset(streaming());
    check_gone_once();
}

TEST(the_source_is_told_when_the_client_half_closes)
{
    net_up(NULL);
    peer_half_close(streaming());
    check_gone_once();
}

TEST(the_source_is_told_when_a_blocked_client_resets)
{
    net_up(NULL);
    struct peer *p = peer_open();
    p->deaf = true;
    net.spring.endless = SIZE_MAX;
    peer_say(p, STREAM);
    net_until(source_blocked(&net.spring.source));
    peer_reset(p);
    check_gone_once();
}

TEST(the_source_is_told_when_the_client_takes_nothing_for_too_long)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = peer_open();
    p->deaf = true;
    net.spring.endless = SIZE_MAX;
    peer_say(p, STREAM);
    net_until(source_blocked(&net.spring.source));
    check_gone_once();
}

TEST(a_client_that_takes_a_little_now_and_then_is_not_cut_off)
{
    struct net_limits l = net_short();
    l.write_ms = 1500; /* a busy machine may keep this test from reading for a while */
    net_up(&l);
    char         bytes[300000];
    struct peer *p = peer_open();
    p->deaf = true;
    net.spring.endless = SIZE_MAX;
    peer_say(p, STREAM);
    net_until(source_blocked(&net.spring.source));
    /* more than twice as long */
    for (uint64_t until = uv_hrtime() + 3200 * 1000000ull; uv_hrtime() < until;) {
        uint64_t pause = uv_hrtime() + 20 * 1000000u;
        recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        while (uv_hrtime() < pause) net_turn();
    }
    CHECK(net.spring.gone == 0);
    net_down();
}

TEST(the_source_is_told_when_the_server_closes)
{
    net_up(NULL);
    streaming();
    net_down();
    CHECK(net.spring.gone == 1);
}

TEST(the_source_is_told_when_a_held_request_of_a_client_that_left_becomes_a_stream)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(net.held);
    peer_half_close(p);
    net_until(net_conn()->eof);
    conn_stream(net.held, 200, "text/event-stream", &net.spring.source, 0);
    check_gone_once();
}

TEST(a_held_request_may_become_a_stream)
{
    net_up(NULL);
    struct peer *p = peer_open();
    peer_say(p, "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(net.held);
    conn_stream(net.held, 200, "text/event-stream", &net.spring.source, 0);
    CHECK_STR(conn_request(net.held)->path, "/later"); /* until the end of this turn */
    tell("data: x\n\n");
    net_until(peer_has(p, "data: x\n\n"));
    CHECK(conn_request(net.held) == NULL);
    CHECK(net.cancelled == 0);
    peer_close(p);
    check_gone_once();
    CHECK(net.cancelled == 0);
}

TEST(without_memory_a_stream_ends_and_its_source_is_told_once)
{
    for (long n = 0; n < 30; n++) {
        net_up(NULL);
        struct peer *p = peer_open();
        p->deaf = true;
        net.spring.endless = SIZE_MAX;
        net_until(server_connections(net.server) == 1);
        peer_try(p, STREAM, sizeof STREAM - 1);
        mem_fail_at(n);
        for (int i = 0; i < 200; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        mem_fail_at(-1);
        bool began = net.spring.pulls > 0;
        net_down();
        CHECK(net.spring.gone == (began ? 1 : net.spring.gone) && net.spring.gone <= 1);
    }
}

TEST(a_source_that_promises_more_and_gives_nothing_loses_its_connection)
{
    net_up(NULL);
    struct peer *p = streaming();
    net.spring.stuck = true;
    source_wake(&net.spring.source);
    net_until(p->eof);
    check_gone_once();
}

TEST(streams_go_on_while_the_server_drains)
{
    net_up(NULL);
    struct peer *p = streaming();
    server_drain(net.server);
    tell("data: 1\n\n");
    net_until(peer_has(p, "data: 1\n\n"));
    net.spring.end = true;
    tell("data: 2\n\n");
    net_until(p->eof);
    CHECK(peer_has(p, "data: 2\n\n\r\n0\r\n\r\n") && !p->reset);
    check_gone_once();
}

#define OWN "GET /own HTTP/1.1\r\nHost: localhost\r\n\r\n"

TEST(a_short_answer_does_not_wait_for_streams_that_have_much_to_say)
{
    enum { STREAMS = 8 };
    int pulls = 0;

    net_up(NULL);
    struct peer *quick = peer_ask(HELLO);
    net_until(peer_has(quick, "\r\n\r\nhi"));
    peer_forget(quick);
    for (int i = 0; i < STREAMS; i++) peer_ask(OWN);
    net_until(net.begun == STREAMS);
    net_until(!net.loop.behind && list_empty(&net.loop.dirty));
    LIST_EACH (n, &net.owns) {
        struct spring *s = &LIST_ITEM(n, struct own, node)->spring;
        s->endless = 200000;
        s->slow = true;
        s->pulls = 0;
        source_wake(&s->source);
    }
    peer_say(quick, HELLO);
    net_until(peer_has(quick, "\r\n\r\nhi"));
    LIST_EACH (n, &net.owns) pulls += LIST_ITEM(n, struct own, node)->spring.pulls;
    CHECK(pulls < STREAMS); /* and not four for each, or one */
    LIST_EACH (n, &net.owns) LIST_ITEM(n, struct own, node)->spring.slow = false;
    net_down();
}
