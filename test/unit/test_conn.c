/* test_conn.c -- a real server and real sockets: requests and their answers in order, bodies,
 * refusals, ends. Deadlines and limits are in test_conn_limits.c, streams in test_stream.c,
 * WebSockets in test_wsconn.c. */
#include "net_peer.h"

/* --- answers ------------------------------------------------------------------------ */

TEST(a_request_is_answered_with_a_length_and_the_safe_headers)
{
    net_up(NULL);
    struct peer *p = peer_ask(HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    static const char date[] = "Date: Mon, 16 Nov 2026 16:00:00 GMT\r\n";
    CHECK(peer_has(p, "HTTP/1.1 200 OK\r\nDate: "));
    CHECK_STR(str_from(buf_view(&p->got), strlen("HTTP/1.1 200 OK\r\n") + strlen(date)),
              "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
              "Content-Type: text/plain\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nhi");
    CHECK(!p->eof);
    net_down();
}

TEST(a_request_that_drips_in_byte_by_byte_is_answered)
{
    net_up(NULL);
    struct peer *p = peer_open();
    for (const char *at = HELLO; *at; at++) {
        peer_send(p, at, 1);
        net_turn();
    }
    net_until(peer_has(p, "\r\n\r\nhi"));
    net_down();
}

TEST(head_is_answered_like_get_but_without_a_body)
{
    net_up(NULL);
    struct peer *p = peer_ask("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(peer_count(p, "HTTP/1.1 200") == 2);
    CHECK(peer_has(p, "Content-Length: 2\r\n\r\nHTTP/1.1 200 OK"));
    peer_forget(p);
    peer_say(p, "HEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(peer_has(p, "Content-Length: 8000000\r\n\r\nHTTP/1.1 200 OK"));
    net_down();
}

TEST(an_answer_without_content_has_no_length)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(peer_count(p, "Content-Length") == 1);
    net_down();
}

TEST(unknown_addresses_are_404_and_unknown_methods_405_with_allow)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\r\n\r\n{\"error\":{\"code\":\"not_found\",\"message\":\"There is "
                          "nothing at this address.\"}}"));
    CHECK(peer_has(p, "HTTP/1.1 404 Not Found\r\n"));
    CHECK(net.guarded == 1);
    peer_forget(p);
    peer_say(p, "PUT /names/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\"code\":\"method_not_allowed\""));
    CHECK(peer_has(p, "HTTP/1.1 405 ") && peer_has(p, "Allow: GET, HEAD, DELETE\r\n"));
    net_down();
}

TEST(routes_have_parameters_and_handlers_may_add_headers)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("DELETE /names/caf%C3%A9?x=%41+b HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\r\n\r\ncaf\xc3\xa9"));
    CHECK(peer_has(p, "Parley-X: A b\r\n"));
    net_down();
}

TEST(the_guard_may_answer_instead)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\"denied\""));
    CHECK(peer_has(p, "HTTP/1.1 403 Forbidden\r\n"));
    net_down();
}

TEST(who_may_not_come_in_is_told_before_his_body_is_read)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    net_until(peer_has(p, "\"denied\""));
    CHECK(peer_has(p, "HTTP/1.1 403 Forbidden\r\n") && peer_has(p, "Connection: close\r\n") &&
          net.guarded == 1);
    peer_say(p, "the beginning of it" HELLO);
    net_until(p->eof);
    CHECK(!peer_has(p, "hi") && !peer_has(p, "100 Continue"));
    p = peer_ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
                 "100-continue\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 403 ") && !peer_has(p, "100 Continue"));
    net_down();
}

TEST(the_guard_is_asked_once_however_the_body_comes)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
    net_turn();
    for (const char *at = "hello"; *at; at++) {
        peer_send(p, at, 1);
        net_turn();
    }
    net_until(peer_has(p, "\r\n\r\nhello"));
    CHECK(net.guarded == 1);
    peer_say(p, HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(net.guarded == 2);
    net_down();
}

/* --- a guard that has to ask somebody else ------------------------------------------------ */

static void guard_goes_on(int guarded)
{
    net_until(net.guarded == guarded);
    struct conn *c = net.held;
    net.held = NULL;
    conn_again(c);
}

TEST(a_guard_may_hold_a_request_and_is_asked_again)
{
    net_up(NULL);
    net.guard_holds = 2;
    net.guard_tells = true;
    struct peer *p = peer_ask(HELLO HELLO);
    guard_goes_on(1);
    guard_goes_on(2);
    net_until(peer_count(p, "\r\n\r\nhi") == 2);
    CHECK(net.guarded == 4 && peer_count(p, "Parley-Guard: seen") == 2); /* once for each answer */
    net_down();
}

TEST(a_body_waits_while_the_guard_holds_its_request)
{
    net_up(NULL);
    net.guard_holds = 1;
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhe");
    net_until(net.guarded == 1);
    peer_say(p, "llo" HELLO);
    for (int i = 0; i < 5; i++) net_turn();
    CHECK(p->got.len == 0);
    guard_goes_on(1);
    net_until(peer_has(p, "\r\n\r\nhello") && peer_has(p, "\r\n\r\nhi"));
    CHECK(!peer_has(p, "Connection: close"));
    net_down();
}

TEST(who_waits_for_100_continue_waits_for_the_guard)
{
    net_up(NULL);
    net.guard_holds = 1;
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
                 "100-continue\r\n\r\n");
    net_until(net.guarded == 1);
    CHECK(p->got.len == 0);
    guard_goes_on(1);
    net_until(peer_has(p, "100 Continue"));
    peer_say(p, "hello");
    net_until(peer_has(p, "\r\n\r\nhello"));
    net_down();
}

TEST(a_guard_that_held_a_request_may_refuse_it_before_its_body)
{
    net_up(NULL);
    net.guard_holds = 1;
    struct peer *p =
        peer_ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx");
    guard_goes_on(1);
    net_until(peer_has(p, "\"denied\"") && p->eof);
    CHECK(peer_has(p, "Connection: close\r\n") && net.handled == 0);
    p = peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx");
    net.guard_holds = 1;
    net_until(net.guarded == 3);
    conn_error(net.held, 503, "later", "Not now.");
    net_until(peer_has(p, "Not now.") && p->eof);
    CHECK(peer_has(p, "Connection: close\r\n") && net.handled == 0);
    net_down();
}

TEST(a_guard_is_told_when_who_it_holds_is_gone)
{
    net_up(NULL);
    net.guard_holds = 1;
    struct peer *p = peer_ask(HELLO);
    net_until(net.guarded == 1);
    peer_reset(p);
    net_until(net.cancelled == 1);
    net_down();
}

TEST(a_stream_ends_when_the_proof_of_its_reader_does)
{
    net_up(NULL);
    net.until_ms = 50;
    struct peer *p = peer_ask("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && !peer_has(p, "\r\n0\r\n\r\n"));
    net_down();
}

TEST(a_handler_that_forgets_to_answer_is_a_500)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET /forgotten HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "HTTP/1.1 500 "));
    net_down();
}

TEST(http_1_0_is_answered_without_chunks_and_closed)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET /hello HTTP/1.0\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "Connection: close\r\n") && peer_has(p, "\r\n\r\nhi"));
    net.spring.end = true;
    buf_lit(&net.spring.text, "all of it");
    p = peer_ask("GET /stream HTTP/1.0\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "\r\n\r\nall of it") && !peer_has(p, "chunked"));
    net_down();
}

/* --- bodies -------------------------------------------------------------------------- */

TEST(bodies_come_with_a_length_or_in_chunks)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
    net_until(peer_has(p, "\r\n\r\nhello"));
    peer_say(p, "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    net_until(peer_has(p, "\r\n\r\nabcdefg"));
    net_down();
}

TEST(a_large_body_arrives_whole_and_is_given_back)
{
    net_up(NULL);
    size_t       n = 3 * 1000 * 1000;
    char        *body = mem_alloc(n);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n");
    for (size_t i = 0; i < n; i++) body[i] = (char)('a' + i % 26);
    peer_send(p, body, n);
    net_until(p->got.len > n);
    net_until(peer_has(p, "\r\n\r\nabc"));
    CHECK(str_ends(buf_view(&p->got), str_n(body, n)));
    mem_free(body);
    net_down();
}

TEST(expect_100_continue_is_answered_before_the_body)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
                 "100-continue\r\n\r\n");
    net_until(peer_has(p, "HTTP/1.1 100 Continue\r\n\r\n"));
    peer_say(p, "hello");
    net_until(peer_has(p, "\r\n\r\nhello"));
    net_down();
}

TEST(all_bodies_together_are_capped)
{
    struct net_limits l;
    net_limits_default(&l);
    l.bodies_max = 300000;
    net_up(&l);
    char *bytes = mem_alloc(200000);
    memset(bytes, 'x', 200000);
    struct peer *a =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200001\r\n\r\n");
    peer_send(a, bytes, 200000);
    net_until(net.server->bodies >= 200000);
    struct peer *b =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200001\r\n\r\n");
    peer_send(b, bytes, 200000);
    net_until(b->eof);
    CHECK(peer_has(b, "HTTP/1.1 503 ") && peer_has(b, "Retry-After: 1\r\n") &&
          peer_has(b, "\"busy\""));
    peer_say(a, "y");
    net_until(peer_has(a, "xy"));
    CHECK(net.server->bodies == 0);
    mem_free(bytes);
    net_down();
}

/* --- refusals ------------------------------------------------------------------------- */

TEST(a_refused_request_is_told_why_and_closed)
{
    net_up(NULL);
    struct peer *p = peer_ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 400 Bad Request\r\n") && peer_has(p, "Connection: close\r\n"));
    CHECK(peer_has(p, "{\"error\":{\"code\":\"bad_host\",\"message\":\"A request needs exactly one "
                      "Host header.\"}}"));
    CHECK(net.handled == 0 && !p->reset);
    net_down();
}

/* A client that writes its whole body before it reads must still see the answer:
 * a close with unread bytes would be a reset. */
TEST(an_early_refusal_survives_the_body_that_follows)
{
    net_up(NULL);
    size_t       n = 9 * 1000 * 1000;
    char        *body = mem_alloc(n);
    struct peer *p =
        peer_ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n");
    p->deaf = true;
    peer_send(p, body, n);
    p->deaf = false;
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 413 Content Too Large\r\n") && !p->reset);
    mem_free(body);
    net_down();
}

TEST(a_refused_peer_that_goes_on_for_ever_is_cut_off)
{
    net_up(NULL);
    char        *junk = mem_alloc(1 << 20);
    struct peer *p = peer_ask("nonsense\r\n\r\n");
    for (int i = 0; i < 64 && server_connections(net.server); i++) {
        peer_send(p, junk, 1 << 20);
        net_turn();
    }
    net_until(server_connections(net.server) == 0);
    mem_free(junk);
    net_down();
}

/* --- order ---------------------------------------------------------------------------- */

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

TEST(a_request_behind_one_that_is_held_waits_for_it)
{
    net_up(NULL);
    struct peer *p = peer_ask(HELLO LATER HELLO);
    net_until(net.held);
    for (int i = 0; i < 5; i++) net_turn();
    CHECK(net.handled == 1 && peer_count(p, "HTTP/1.1") == 1);
    conn_reply(net.held, 200, "text/plain", STR("late"));
    net_until(peer_count(p, "HTTP/1.1") == 3);
    CHECK(peer_has(p, "\r\n\r\nlateHTTP/1.1 200 OK"));
    CHECK(net.cancelled == 0);
    net_down();
}

TEST(while_a_request_is_held_at_most_one_read_is_kept)
{
    net_up(NULL);
    struct peer *p = peer_ask(LATER);
    net_until(net.held);
    for (int i = 0; i < 20000; i++) {
        /* the kernel's buffers are full */
        if (peer_try(p, HELLO, sizeof HELLO - 1) <= 0) break;
        if (i % 100 == 0) net_turn();
    }
    for (int i = 0; i < 10; i++) net_turn();
    CHECK(net.handled == 0);
    CHECK(net_conn()->in.len > 0 && net_conn()->in.len <= READ_MAX && !net_conn()->reading);
    conn_reply(net.held, 204, NULL, STR(""));
    net_until(peer_count(p, "\r\n\r\nhi") >= 1000);
    net_down();
}

TEST(a_slow_reader_of_large_answers_gets_one_at_a_time)
{
    net_up(NULL);
    struct peer *p = peer_open();
    p->deaf = true;
    peer_say(p, BIG BIG BIG BIG);
    net_until(net.handled && net_conn()->blocked);
    for (int i = 0; i < 20; i++) net_turn();
    CHECK(net.handled == 1);
    p->deaf = false;
    net_until(p->got.len > 4 * 8 * 1024 * 1024u);
    CHECK(net.handled == 4);
    net_down();
}

TEST(a_static_answer_is_not_copied_for_a_slow_reader)
{
    net_up(NULL);
    struct peer *p = peer_open();
    p->deaf = true;
    peer_say(p, "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(net_conn() && net_conn()->blocked);
    for (int i = 0; i < 20; i++) net_turn();
    CHECK(net_conn()->blocked->bytes.cap <= CONN_OUT_MAX && net_conn()->out.len == 0 &&
          net.handled == 0);
    p->deaf = false;
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(peer_has(p, "Content-Length: 8000000\r\n\r\nppp") && peer_has(p, "pppHTTP/1.1 200 OK"));
    net_down();
}

/* --- ends ------------------------------------------------------------------------------- */

TEST(connection_close_is_heeded)
{
    net_up(NULL);
    struct peer *p =
        peer_ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" HELLO);
    net_until(p->eof);
    CHECK(peer_count(p, "HTTP/1.1 200") == 1 && peer_has(p, "Connection: close\r\n") && !p->reset);
    peer_close(p);
    net_until(server_connections(net.server) == 0);
    net_down();
}

TEST(a_client_that_half_closes_still_gets_its_answers)
{
    net_up(NULL);
    struct peer *p = peer_ask(HELLO LATER HELLO);
    peer_half_close(p);
    net_until(net.held);
    for (int i = 0; i < 5; i++) net_turn();
    conn_reply(net.held, 200, "text/plain", STR("late"));
    net_until(p->eof);
    CHECK(peer_count(p, "HTTP/1.1 200") == 3 && net.cancelled == 0);
    net_until(server_connections(net.server) == 0);
    net_down();
}

TEST(whoever_waits_to_answer_is_told_when_the_connection_dies)
{
    net_up(NULL);
    struct peer *p = peer_ask(LATER);
    net_until(net.held);
    peer_reset(p);
    net_until(net.cancelled == 1);
    net_until(server_connections(net.server) == 0);
    p = peer_ask(LATER);
    net_until(net.held);
    net_down(); /* and when the server closes */
    CHECK(net.cancelled == 2);
}

TEST(a_client_that_leaves_in_the_middle_of_a_request_leaves_nothing_behind)
{
    static const char text[] =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhell";
    net_up(NULL);
    for (size_t n = 0; n < sizeof text; n += 7) {
        struct peer *p = peer_open();
        peer_send(p, text, n);
        net_turn();
        if (n % 2) peer_close(p);
        else peer_reset(p);
    }
    net_until(server_connections(net.server) == 0);
    CHECK(net.server->bodies == 0 && net.handled == 0);
    net_down();
}
