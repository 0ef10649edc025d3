/* test_conn.c -- a real server and real sockets: requests in order, limits,
 * deadlines, ends. Streams are in test_stream.c, WebSockets in test_wsconn.c. */
#include "net_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#define HELLO "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define LATER "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define BIG   "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct peer *ask(const char *text)
{
    struct peer *p = peer_open();
    peer_say(p, text);
    return p;
}

/* --- answers ------------------------------------------------------------------------ */

TEST(a_request_is_answered_with_a_length_and_the_safe_headers)
{
    net_up(NULL);
    struct peer *p = ask(HELLO);
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
    struct peer *p = ask("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
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
    struct peer *p = ask("GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n" HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    CHECK(peer_count(p, "Content-Length") == 1);
    net_down();
}

TEST(unknown_addresses_are_404_and_unknown_methods_405_with_allow)
{
    net_up(NULL);
    struct peer *p = ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
    struct peer *p = ask("DELETE /names/caf%C3%A9?x=%41+b HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\r\n\r\ncaf\xc3\xa9"));
    CHECK(peer_has(p, "Parley-X: A b\r\n"));
    net_down();
}

TEST(the_guard_may_answer_instead)
{
    net_up(NULL);
    struct peer *p = ask("GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "\"denied\""));
    CHECK(peer_has(p, "HTTP/1.1 403 Forbidden\r\n"));
    net_down();
}

TEST(who_may_not_come_in_is_told_before_his_body_is_read)
{
    net_up(NULL);
    struct peer *p =
        ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    net_until(peer_has(p, "\"denied\""));
    CHECK(peer_has(p, "HTTP/1.1 403 Forbidden\r\n") && peer_has(p, "Connection: close\r\n") &&
          net.guarded == 1);
    peer_say(p, "the beginning of it" HELLO);
    net_until(p->eof);
    CHECK(!peer_has(p, "hi") && !peer_has(p, "100 Continue"));
    p = ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
            "100-continue\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 403 ") && !peer_has(p, "100 Continue"));
    net_down();
}

TEST(the_guard_is_asked_once_however_the_body_comes)
{
    net_up(NULL);
    struct peer *p = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
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
    struct peer *p = ask(HELLO HELLO);
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
    struct peer *p = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhe");
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
    struct peer *p = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
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
        ask("POST /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx");
    guard_goes_on(1);
    net_until(peer_has(p, "\"denied\"") && p->eof);
    CHECK(peer_has(p, "Connection: close\r\n") && net.handled == 0);
    p = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx");
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
    struct peer *p = ask(HELLO);
    net_until(net.guarded == 1);
    peer_reset(p);
    net_until(net.cancelled == 1);
    net_down();
}

TEST(a_stream_ends_when_the_proof_of_its_reader_does)
{
    net_up(NULL);
    net.until_ms = 50;
    struct peer *p = ask("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && !peer_has(p, "\r\n0\r\n\r\n"));
    net_down();
}

TEST(a_handler_that_forgets_to_answer_is_a_500)
{
    net_up(NULL);
    struct peer *p = ask("GET /forgotten HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(peer_has(p, "HTTP/1.1 500 "));
    net_down();
}

TEST(http_1_0_is_answered_without_chunks_and_closed)
{
    net_up(NULL);
    struct peer *p = ask("GET /hello HTTP/1.0\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "Connection: close\r\n") && peer_has(p, "\r\n\r\nhi"));
    net.spring.end = true;
    buf_lit(&net.spring.text, "all of it");
    p = ask("GET /stream HTTP/1.0\r\n\r\n");
    net_until(p->eof);
    CHECK(peer_has(p, "\r\n\r\nall of it") && !peer_has(p, "chunked"));
    net_down();
}

/* --- bodies -------------------------------------------------------------------------- */

TEST(bodies_come_with_a_length_or_in_chunks)
{
    net_up(NULL);
    struct peer *p =
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
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
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n");
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
    struct peer *p = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: "
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
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200001\r\n\r\n");
    peer_send(a, bytes, 200000);
    net_until(net.server->bodies >= 200000);
    struct peer *b =
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200001\r\n\r\n");
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
    struct peer *p = ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" HELLO);
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
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n");
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
    struct peer *p = ask("nonsense\r\n\r\n");
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
    struct peer *p = ask(HELLO LATER HELLO);
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
    struct peer *p = ask(LATER);
    net_until(net.held);
    for (int i = 0; i < 20000; i++) {
        /* the kernel's buffers are full */
        if (send(p->fd, HELLO, sizeof HELLO - 1, MSG_DONTWAIT) < 0) break;
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
        ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" HELLO);
    net_until(p->eof);
    CHECK(peer_count(p, "HTTP/1.1 200") == 1 && peer_has(p, "Connection: close\r\n") && !p->reset);
    peer_close(p);
    net_until(server_connections(net.server) == 0);
    net_down();
}

TEST(a_client_that_half_closes_still_gets_its_answers)
{
    net_up(NULL);
    struct peer *p = ask(HELLO LATER HELLO);
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
    struct peer *p = ask(LATER);
    net_until(net.held);
    peer_reset(p);
    net_until(net.cancelled == 1);
    net_until(server_connections(net.server) == 0);
    p = ask(LATER);
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

/* --- deadlines ---------------------------------------------------------------------------- */

TEST(a_head_that_drips_is_cut_off_with_408)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = ask("GET /hello HTTP/1.1\r\nX: ");
    net_until((send(p->fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), p->eof));
    CHECK(peer_has(p, "HTTP/1.1 408 Request Timeout\r\n"));
    net_down();
}

TEST(a_body_that_drips_is_cut_off_with_408)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p =
        ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
    uint64_t began = uv_hrtime();
    net_until((send(p->fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), p->eof));
    CHECK(peer_has(p, "HTTP/1.1 408 Request Timeout\r\n") && peer_has(p, "\"request_timeout\""));
    CHECK(uv_hrtime() - began >= 100 * 1000000u); /* body_ms, not head_ms */
    net_down();
}

TEST(an_idle_connection_is_closed_without_a_word)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *a = peer_open(), *b = ask(HELLO);
    net_until(a->eof && b->eof);
    CHECK(a->got.len == 0 && peer_count(b, "HTTP/1.1") == 1);
    net_down();
}

TEST(a_held_request_has_no_deadline)
{
    struct net_limits l = net_short();
    net_up(&l);
    struct peer *p = ask(LATER), *other = NULL;
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
    struct peer *p = ask(BIG);
    net_until(peer_has(p, "HTTP/1.1 503 "));
    CHECK(peer_has(p, "Retry-After: 1\r\n") && peer_has(p, "\"busy\"") &&
          net.server->answers == 16u << 20);
    peer_forget(p);
    peer_say(p, HELLO);
    net_until(peer_has(p, "hi")); /* short ones are none of it */
    a->deaf = false;
    net_until(a->got.len > 8u << 20);
    CHECK(net.server->answers == 8u << 20);
    peer_forget(p);
    peer_say(p, BIG);
    net_until(p->got.len > 8u << 20);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && net.server->answers == 8u << 20);
    net_down();
    CHECK(net.cancelled == 0);
}

TEST(an_answer_longer_than_the_budget_goes_out_alone)
{
    struct net_limits l;
    net_limits_default(&l);
    l.answers_max = 1 << 20;
    net_up(&l);
    struct peer *p = ask(BIG);
    net_until(p->got.len > 8u << 20);
    CHECK(peer_has(p, "HTTP/1.1 200 ") && net.server->answers == 0);
    net_down();
}

/* Asks as long as it is told to come again, anew when it was cut off meanwhile: a process that got no
 * time for a while is a slow reader, too. */
static bool big_comes(struct peer **p)
{
    if ((*p)->got.len > 8u << 20) return true;
    if ((*p)->eof) {
        *p = ask(BIG);
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
    struct peer *p = ask(BIG);
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
    for (int i = 0; i < 3; i++) in[i] = ask("GET /own HTTP/1.1\r\nHost: localhost\r\n\r\n");
    net_until(net.begun == 3);
    struct peer *p = ask(HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 503 ") && peer_has(p, "\"too_many_connections\"") &&
          peer_has(p, "Retry-After: 1\r\n") && !p->reset);
    for (int i = 0; i < 200; i++) peer_open(); /* more than are kept */
    net_until(net.server->refused <= REFUSED_MAX &&
              server_connections(net.server) <= 3 + REFUSED_MAX);
    p = ask(HELLO);
    net_until(p->eof);
    CHECK(peer_has(p, "HTTP/1.1 503 ")); /* the silent ones among them made room */
    peer_close(in[1]);
    net_until(server_connections(net.server) - net.server->refused == 2);
    p = ask(HELLO);
    net_until(peer_has(p, "\r\n\r\nhi"));
    net_down();
}

TEST(a_vital_answer_is_given_when_there_is_no_room)
{
    struct net_limits l = only(1);
    net_up(&l);
    ask(LATER);
    net_until(net.held);
    for (int i = 0; i < 2 * REFUSED_MAX; i++) peer_open();
    struct peer *p = ask("GET /vital HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                *post = ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n");
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
    struct peer *busy = ask(LATER);
    net_until(net.held);
    struct peer *silent = peer_open();
    net_until(server_connections(net.server) == 2);
    struct peer *slow = ask("GET /hello HTTP/1.1\r\nHost: lo");
    net_until(server_connections(net.server) == 3);
    for (int i = 0; i < 10; i++) {
        struct peer *p = ask(HELLO);
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
    for (int i = 0; i < 5; i++) p = ask(HELLO);
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
    struct peer *a = ask(HELLO), *b = ask(HELLO);
    net_until(peer_has(a, "hi") && peer_has(b, "hi"));
    CHECK(!conn_is_loopback(net_conn()));
    struct peer *c = ask(HELLO);
    net_until(c->eof);
    CHECK(peer_has(c, "HTTP/1.1 429 "));
    peer_close(a);
    peer_close(c);
    net_until(server_connections(net.server) == 1);
    c = ask(HELLO);
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
    struct peer *in = ask(HELLO);
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
    out = ask(HELLO);
    net_until(peer_has(out, "hi"));
    net_down();
}

TEST(connections_have_nodelay_from_their_listener)
{
    net_up(NULL);
    struct peer *p = ask(HELLO);
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
    struct peer *p = ask(HELLO);
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
    struct peer *idle = ask(HELLO), *held = ask(LATER);
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
        send(p->fd, HELLO LATER, sizeof(HELLO LATER) - 1, 0);
        for (int i = 0; i < 6; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        if (net.held) conn_reply(net.held, 200, "text/plain", STR("late"));
        net.held = NULL;
        send(p->fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", 33, MSG_NOSIGNAL);
        for (int i = 0; i < 6; i++) uv_run(&net.loop.uv, UV_RUN_NOWAIT);
        mem_fail_at(-1);
        peer_close(p);
        net_until(server_connections(net.server) == 0);
        buf_clear(&net.spring.text);
    }
    struct peer *p = ask(HELLO);
    net_until(peer_has(p, "hi"));
    net_down();
}
