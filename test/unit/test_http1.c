/* test_http1.c -- what the request parser takes, what it refuses, and that it
 * does not matter how the bytes were split: every text here is fed whole, byte by
 * byte, and in two pieces at every place, with one and the same result. */
#include "base/arena.h"
#include "http/http1.h"
#include "net_peer.h"

/* --- feeding -------------------------------------------------------------------- */

struct parsed {
    struct http1   http1;
    struct request request;
    struct arena   arena;
    size_t         used;
};

static struct net_limits limits;

static void begin(struct parsed *p)
{
    net_limits_default(&limits);
    limits.body_max = 100000;
    arena_init(&p->arena, 0);
    http1_init(&p->http1, &limits, &p->request, &p->arena);
    p->used = 0;
}

static void feed(struct parsed *p, struct str s)
{
    /* From a copy of its own, so that ASan sees a look beyond the piece, and a kept pointer into
     * it. */
    char *copy = mem_alloc(s.len);
    if (s.len) memcpy(copy, s.ptr, s.len);
    p->used += http1_feed(&p->http1, copy, s.len);
    mem_free(copy);
}

static void end(struct parsed *p)
{
    http1_done(&p->http1);
    arena_done(&p->arena);
}

/* Everything that came out, as text. */
static void describe(struct parsed *p, size_t all, struct buf *out)
{
    struct http1 *h = &p->http1;

    if (h->status == HTTP1_REFUSED) {
        buf_printf(out, "%d %s", h->why.status, h->why.code);
        return;
    }
    buf_lit(out, h->status == HTTP1_DONE ? "done " : "more ");
    if (p->used < all) buf_printf(out, "(%zu left) ", all - p->used);
    if (!h->head_done) return;
    buf_str(out, p->request.method);
    buf_chr(out, ' ');
    buf_str(out, p->request.path);
    buf_chr(out, '?');
    buf_str(out, p->request.query);
    buf_printf(out, " %d%d%d", h->http10, h->keep_alive, h->expect);
    for (size_t i = 0; i < p->request.header_count; i++) {
        buf_chr(out, '|');
        buf_str(out, p->request.headers[i].name);
        buf_chr(out, '=');
        buf_str(out, p->request.headers[i].value);
    }
    buf_lit(out, " body ");
    buf_str(out, p->request.body);
}

static void feed_split(struct str text, size_t at, size_t step, struct buf *out)
{
    struct parsed p;

    begin(&p);
    feed(&p, str_cut(text, at));
    for (struct str rest = str_from(text, p.used); rest.len && p.http1.status == HTTP1_MORE;
         rest = str_from(text, p.used))
        feed(&p, str_cut(rest, step));
    describe(&p, text.len, out);
    end(&p);
}

/* The outcome of the whole text; checks that every split has the same. */
static struct str outcome(struct str text)
{
    static struct buf whole, split;
    size_t            stride = text.len > 3000 ? 997 : 1;

    buf_clear(&whole);
    feed_split(text, text.len, 1, &whole);
    for (size_t at = 0; at <= text.len; at += stride) {
        buf_clear(&split);
        feed_split(text, at, text.len, &split);
        if (!str_eq(buf_view(&whole), buf_view(&split))) {
            printf("    split at %zu\n", at);
            CHECK(!"the split changed the outcome");
            return buf_view(&split);
        }
    }
    buf_clear(&split);
    feed_split(text, 0, 1, &split);
    CHECK(str_eq(buf_view(&whole), buf_view(&split)));
    return buf_view(&whole);
}

static bool refused_as(struct str text, const char *want)
{
    struct str got = outcome(text);
    if (str_is(got, want)) return true;
    printf("    want %s, got " STR_FMT " for:\n" STR_FMT "\n", want, STR_ARG(got),
           STR_ARG(str_cut(text, 200)));
    return false;
}

#define REFUSED(text, want) CHECK(refused_as(STR(text), want))
#define TAKEN(text, want)   CHECK_STR(outcome(STR(text)), want)

#define GET(more)     "GET / HTTP/1.1\r\nHost: a\r\n" more "\r\n"
#define POST(more)    "POST / HTTP/1.1\r\nHost: a\r\n" more "\r\n"
#define CHUNKED(body) POST("Transfer-Encoding: chunked\r\n") body

/* --- taken ------------------------------------------------------------------------ */

TEST(a_get_has_method_path_query_and_headers)
{
    TAKEN("GET /a/b?x=1&y=%20 HTTP/1.1\r\nHost: example.org:8000\r\nAccept:  text/html "
          "\t\r\nX-Empty:\r\n\r\nNEXT",
          "done (4 left) GET /a/b?x=1&y=%20 010|Host=example.org:8000|Accept=text/html|X-Empty= "
          "body ");
}

TEST(a_post_has_its_body_and_no_byte_of_the_next_request)
{
    TAKEN(POST("Content-Length: 5\r\n") "helloGET /",
          "done (5 left) POST /? 010|Host=a|Content-Length=5 body hello");
    TAKEN(POST("Content-Length: 0\r\n") "GET /",
          "done (5 left) POST /? 010|Host=a|Content-Length=0 body ");
    TAKEN(POST("") "GET /", "done (5 left) POST /? 010|Host=a body ");
}

TEST(chunks_are_joined_and_extensions_and_trailers_dropped)
{
    TAKEN(CHUNKED("5\r\nhello\r\n6;a=b;c=\"d\"\r\n world\r\n000\r\nX-Sum: 1\r\nY:\r\n\r\nNEXT"),
          "done (4 left) POST /? 010|Host=a|Transfer-Encoding=chunked body hello world");
    TAKEN(CHUNKED("0\r\n\r\n"), "done POST /? 010|Host=a|Transfer-Encoding=chunked body ");
    TAKEN(CHUNKED("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
          "done POST /? 010|Host=a|Transfer-Encoding=chunked body 01234567890123456789");
}

TEST(blanks_around_a_header_value_are_not_part_of_it)
{
    TAKEN(POST("X: \t 5 \t\r\nY:z\r\n"), "done POST /? 010|Host=a|X=5|Y=z body ");
    TAKEN(POST("Content-Length:5\r\n") "hello",
          "done POST /? 010|Host=a|Content-Length=5 body hello");
}

TEST(a_body_that_has_not_come_is_waited_for)
{
    TAKEN(POST("Content-Length: 5\r\n") "hell", "more POST /? 010|Host=a|Content-Length=5 body ");
    TAKEN(CHUNKED("5\r\nhello\r\n0\r\n"),
          "more POST /? 010|Host=a|Transfer-Encoding=chunked body ");
    TAKEN("GET / HTTP/1.1\r\nHost: a\r\n\r", "more ");
}

TEST(one_empty_line_before_a_request_is_forgiven_but_not_two)
{
    TAKEN("\r\n" GET(""), "done GET /? 010|Host=a body ");
    REFUSED("\r\n\r\n" GET(""), "400 bad_request_line");
}

TEST(connection_close_and_http_1_0_end_the_connection)
{
    TAKEN(GET("Connection: close\r\n"), "done GET /? 000|Host=a|Connection=close body ");
    TAKEN(GET("Connection: x, ClOsE\r\n"), "done GET /? 000|Host=a|Connection=x, ClOsE body ");
    TAKEN("GET / HTTP/1.0\r\n\r\n", "done GET /? 100 body ");
    TAKEN("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
          "done GET /? 100|Connection=keep-alive body ");
}

TEST(the_path_is_decoded_and_the_query_is_not)
{
    TAKEN("GET /caf%C3%A9/a%20b?q=%41 HTTP/1.1\r\nHost: a\r\n\r\n",
          "done GET /caf\xc3\xa9/a b?q=%41 010|Host=a body ");
    TAKEN("GET /a..b/...?.. HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /a..b/...?.. 010|Host=a body ");
    TAKEN("GET /%7B%2E5%7D?{|} HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /{.5}?{|} 010|Host=a body ");
}

TEST(an_absolute_target_is_taken_for_the_same_host_only)
{
    TAKEN("GET http://A:80/x?y HTTP/1.1\r\nHost: a:80\r\n\r\n",
          "done GET /x?y 010|Host=a:80 body ");
    TAKEN("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /? 010|Host=a body ");
    TAKEN("GET https://a?b HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /?b 010|Host=a body ");
    REFUSED("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target");
    REFUSED("GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target");
    REFUSED("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n", "400 bad_target");
    REFUSED("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target");
    REFUSED("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target");
    REFUSED("GET http://a/ HTTP/1.0\r\n\r\n", "400 bad_target");
}

TEST(the_asterisk_is_for_options_and_connect_for_proxies)
{
    TAKEN("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "done OPTIONS *? 010|Host=a body ");
    REFUSED("GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 bad_target");
    REFUSED("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "501 not_a_proxy");
}

TEST(expect_100_continue_is_seen_when_a_body_will_come)
{
    TAKEN(POST("Content-Length: 5\r\nExpect: 100-Continue\r\n"),
          "more POST /? 011|Host=a|Content-Length=5|Expect=100-Continue body ");
    TAKEN(POST("Expect: 100-continue\r\n"), "done POST /? 010|Host=a|Expect=100-continue body ");
    REFUSED(POST("Content-Length: 5\r\nExpect: 200-ok\r\n"), "417 expectation_failed");
    TAKEN("POST / HTTP/1.0\r\nContent-Length: 5\r\nExpect: what\r\n\r\n",
          "more POST /? 100|Content-Length=5|Expect=what body ");
}

TEST(hosts_may_be_names_addresses_and_have_ports)
{
    TAKEN("GET / HTTP/1.1\r\nHost: my_host-1.example.:65535\r\n\r\n",
          "done GET /? 010|Host=my_host-1.example.:65535 body ");
    TAKEN("GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n",
          "done GET /? 010|Host=[2001:db8::1]:80 body ");
}

TEST(query_members_are_decoded_when_asked_for)
{
    struct parsed p;
    begin(&p);
    feed(&p, STR("GET /?a=1&b=x+y%21&c&a=2&%64=z&e=%00 HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK_STR(request_query(&p.request, "a"), "1");
    CHECK_STR(request_query(&p.request, "b"), "x y!");
    CHECK(request_query(&p.request, "c").ptr && request_query(&p.request, "c").len == 0);
    CHECK_STR(request_query(&p.request, "d"), "z");
    CHECK(request_query(&p.request, "e").len == 1);
    CHECK(!request_query(&p.request, "nope").ptr);
    end(&p);
}

TEST(headers_are_found_in_any_case_and_lists_are_searched)
{
    struct parsed p;
    begin(&p);
    feed(&p, STR(GET("X-One: 1\r\nConnection: a,\tUpgrade ,b\r\nCONNECTION: close\r\n")));
    CHECK_STR(request_header(&p.request, "x-oNE"), "1");
    CHECK(!request_header(&p.request, "X-On").ptr);
    CHECK(request_lists(&p.request, "connection", "upgrade"));
    CHECK(request_lists(&p.request, "Connection", "close"));
    CHECK(!request_lists(&p.request, "Connection", "a,"));
    CHECK(!p.http1.keep_alive);
    end(&p);
}

/* --- refused: what two servers could frame differently -------------------------------- */

#define RAW(text)              \
    {                          \
        text, sizeof(text) - 1 \
    } /* as STR, for constant tables */
static const struct {
    struct str  text;
    const char *want;
} smuggling[] = {
    /* two lengths, or a length that is not one plain number */
    { RAW(POST("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n"),
      "400 bad_framing" },
    { RAW(POST("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") "0\r\n\r\n"),
      "400 bad_framing" },
    { RAW(POST("Transfer-Encoding: x\r\nContent-Length: 5\r\n") "hello"), "400 bad_framing" },
    { RAW(POST("Content-Length: 5\r\nContent-Length: 5\r\n") "hello"), "400 repeated_header" },
    { RAW(POST("Content-Length: 5\r\ncontent-length: 6\r\n") "hello!"), "400 repeated_header" },
    { RAW(POST("Content-Length: 5, 5\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 5,6\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: +5\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: -5\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: -0\r\n")), "400 bad_length" },
    { RAW(POST("Content-Length: 0x5\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 5 5\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 5\t6\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length:\r\n")), "400 bad_length" },
    { RAW(POST("Content-Length: 05\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 00\r\n")), "400 bad_length" },
    { RAW(POST("Content-Length: 5;\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 5.0\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 1e1\r\n") "helloworld"), "400 bad_length" },
    { RAW(POST("Content-Length: \"5\"\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: five\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: \xef\xbc\x95\r\n") "hello"), "400 bad_length" },
    { RAW(POST("Content-Length: 18446744073709551621\r\n") "hello"), "413 body_too_large" },
    { RAW(POST("Content-Length: 99999999999999999999999999\r\n") "hello"), "413 body_too_large" },
    /* a framing header that only some see */
    { RAW(POST("Content-Length : 5\r\n") "hello"), "400 bad_header" },
    { RAW(POST("Content-Length\t: 5\r\n") "hello"), "400 bad_header" },
    { RAW(POST(" Content-Length: 5\r\n") "hello"), "400 folded_header" },
    { RAW("POST / HTTP/1.1\r\n Host: a\r\n\r\n"), "400 folded_header" },
    { RAW(POST("Content-Length: 5\r\n X: y\r\n") "hello"), "400 folded_header" },
    { RAW(POST("Content-Length:\r\n 5\r\n") "hello"), "400 folded_header" },
    { RAW(POST("X: y\r\n\tContent-Length: 5\r\n") "hello"), "400 folded_header" },
    { RAW(POST("Content-Length: \x0b"
               "5\r\n") "hello"),
      "400 control_character" },
    { RAW(POST("Content-Length: 5\0\r\n") "hello"), "400 control_character" },
    { RAW(POST("Content\0-Length: 5\r\n") "hello"), "400 control_character" },
    { RAW(POST("Content-Length: 5\x7f\r\n") "hello"), "400 control_character" },
    { RAW(POST("Content Length: 5\r\n") "hello"), "400 bad_header" },
    { RAW(POST("Content-Length 5\r\n") "hello"), "400 bad_header" },
    { RAW(POST(": 5\r\n")), "400 bad_header" },
    { RAW(POST("X: y\nContent-Length: 5\r\n") "hello"), "400 bare_newline" },
    { RAW(POST("X: y\rContent-Length: 5\r\n") "hello"), "400 bare_newline" },
    { RAW(POST("X: y\r\rContent-Length: 5\r\n") "hello"), "400 bare_newline" },
    { RAW("POST / HTTP/1.1\r\nHost: a\r\nX: y\n\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n"),
      "400 bare_newline" },
    { RAW("POST / HTTP/1.1\r\nHost: a\r\n\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n"),
      "400 bare_newline" },
    { RAW("POST / HTTP/1.1\nHost: a\n\n"), "400 bare_newline" },
    /* an encoding that only some undo */
    { RAW(POST("Transfer-Encoding: identity\r\n")), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chunked, chunked\r\n") "0\r\n\r\n"),
      "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chunked, identity\r\n") "0\r\n\r\n"),
      "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: identity, chunked\r\n") "0\r\n\r\n"),
      "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: gzip, chunked\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: xchunked\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: \"chunked\"\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chunked;q=1\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: Chunked\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chun ked\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: ,chunked\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chunked,\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: \xff"
               "chunked\r\n") "0\r\n\r\n"),
      "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding:\r\n") "0\r\n\r\n"), "501 unsupported_encoding" },
    { RAW(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n"),
      "400 repeated_header" },
    { RAW(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n") "0\r\n\r\n"),
      "400 repeated_header" },
    { RAW(POST("Transfer-Encoding : chunked\r\n") "0\r\n\r\n"), "400 bad_header" },
    { RAW(POST("Transfer-Encoding\r\n : chunked\r\n") "0\r\n\r\n"), "400 bad_header" },
    { RAW(POST("Transfer-Encoding:\r\n chunked\r\n") "0\r\n\r\n"), "400 folded_header" },
    { RAW(POST("Transfer\x85-Encoding: chunked\r\n") "0\r\n\r\n"), "400 bad_header" },
    { RAW(POST("Transfer-Encoding: \x0b"
               "chunked\r\n") "0\r\n\r\n"),
      "400 control_character" },
    { RAW(POST("X: y\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n"), "400 bare_newline" },
    { RAW("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      "400 bad_framing" },
    /* blanks that not everybody takes off, where what is left decides about the framing */
    { RAW(POST("Transfer-Encoding: chunked \r\n") "0\r\n\r\n"), "400 bad_framing" },
    { RAW(POST("Transfer-Encoding: chunked\t\r\n") "0\r\n\r\n"), "400 bad_framing" },
    { RAW(POST("Transfer-Encoding:\tchunked\r\n") "0\r\n\r\n"), "400 bad_framing" },
    { RAW(POST("Transfer-Encoding:  chunked\r\n") "0\r\n\r\n"), "400 bad_framing" },
    { RAW(POST("Content-Length:\t5\r\n") "hello"), "400 bad_framing" },
    { RAW(POST("Content-Length: 5 \r\n") "hello"), "400 bad_framing" },
    { RAW(POST("Content-Length: \t 5 \t\r\n") "hello"), "400 bad_framing" },
    /* names that become a framing header where every odd letter is made a dash */
    { RAW(POST("Content_Length: 5\r\n") "hello"), "400 bad_framing" },
    { RAW(POST("content.length: 5\r\n") "hello"), "400 bad_framing" },
    { RAW(POST("Transfer_Encoding: chunked\r\n") "0\r\n\r\n"), "400 bad_framing" },
    { RAW(POST("Transfer'Encoding: chunked\r\nContent-Length: 5\r\n") "hello"), "400 bad_framing" },
    /* what Connection names, a proxy takes off */
    { RAW(POST("Connection: Content-Length\r\nContent-Length: 5\r\n") "hello"), "400 bad_framing" },
    { RAW(POST("Content-Length: 5\r\nConnection: close, content-length\r\n") "hello"),
      "400 bad_framing" },
    { RAW(POST(
          "Connection: keep-alive,Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r"
                                                                                        "\n"),
      "400 bad_framing" },
    /* a body that many do not look for */
    { RAW(GET("Content-Length: 5\r\n") "hello"), "400 unexpected_body" },
    { RAW(GET("Transfer-Encoding: chunked\r\n") "0\r\n\r\n"), "400 unexpected_body" },
    { RAW("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"), "400 unexpected_body" },
    /* chunks */
    { RAW(CHUNKED("5\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\rhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\r\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\r\nhello0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\r\nhelloXX0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\r\nhello\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5\r\nhello\rX0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("0x5\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("+5\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("-5\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED(" 5\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5 \r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5 ;a\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("\r\n5\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED(";a\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("g\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5_0\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("000000005\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("fffffffffffffffb\r\nhello\r\n0\r\n\r\n")), "413 body_too_large" },
    { RAW(CHUNKED("100000005\r\nhello\r\n0\r\n\r\n")), "413 body_too_large" },
    { RAW(CHUNKED("5;a\nb\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5;a\rb\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5;\0\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("5;\xff\r\nhello\r\n0\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("0\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("0\r\n\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\n\rX")), "400 bad_chunk" },
    { RAW(CHUNKED("0\r\nX : y\r\n\r\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\nX\r\n\r\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\n X: y\r\n\r\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\nX: y\r\n z\r\n\r\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\nX: y\n\r\n")), "400 bad_trailer" },
    { RAW(CHUNKED("0\r\nX: y\rz\r\n\r\n")), "400 bad_chunk" },
    { RAW(CHUNKED("0\r\nGET /evil HTTP/1.1\r\n\r\n")), "400 bad_trailer" },
    /* request lines */
    { RAW("POST  / HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST /  HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / HTTP/1.1 \r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST /\tHTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST\t/ HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW(" POST / HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_method" },
    { RAW("POST /\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / http/1.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / HTTP/1.1x\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / HTTP/01.1\r\nHost: a\r\n\r\n"), "400 bad_request_line" },
    { RAW("POST / HTTP/1.2\r\nHost: a\r\n\r\n"), "505 unsupported_version" },
    { RAW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505 unsupported_version" },
    { RAW("P(ST / HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_method" },
    { RAW("\"POST\" / HTTP/1.1\r\nHost: a\r\n\r\n"), "400 bad_method" },
    { RAW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), "400 control_character" },
    /* hosts */
    { RAW("GET / HTTP/1.1\r\n\r\n"), "400 bad_host" },
    { RAW(GET("Host: b\r\n")), "400 bad_host" },
    { RAW(GET("host: a\r\n")), "400 bad_host" },
    { RAW("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), "400 bad_header" },
    { RAW("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a#b\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a%00\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a:\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: :80\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: []\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n"), "400 bad_host" },
    { RAW("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n"), "400 bad_host" },
};

TEST(nothing_that_could_be_framed_in_two_ways_is_taken)
{
    CHECK(sizeof smuggling / sizeof *smuggling >= 60);
    for (size_t i = 0; i < sizeof smuggling / sizeof *smuggling; i++)
        CHECK(refused_as(smuggling[i].text, smuggling[i].want));
}

TEST(a_length_of_nothing_is_no_body)
{
    TAKEN(GET("Content-Length: 0\r\n"), "done GET /? 010|Host=a|Content-Length=0 body ");
    TAKEN("DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
          "done DELETE /? 010|Host=a|Content-Length=2 body {}");
}

TEST(headers_that_decide_who_you_are_may_come_once)
{
    REFUSED(GET("Authorization: a\r\nAuthorization: b\r\n"), "400 repeated_header");
    REFUSED(GET("Origin: a\r\nOrigin: b\r\n"), "400 repeated_header");
    REFUSED(GET("Sec-WebSocket-Key: a\r\nSec-WebSocket-Key: b\r\n"), "400 repeated_header");
    REFUSED(GET("Content-Type: a\r\nContent-Type: b\r\n"), "400 repeated_header");
}

TEST(addresses_that_could_be_read_in_two_ways_are_refused)
{
    static const char *const bad[] = {
        "x",     "",         "/%",        "/%4",       "/%zz",         "/%4g",
        "/?%",   "/?a=%1",   "/..",       "/../x",     "/a/../b",      "/a/..",
        "/.",    "/a/./b",   "/../a%2Fb", "/./%2e%2e", "/a%2Fb%00",    "/a%2fb%ff",
        "/%00",  "/a%0d%0a", "/%7f",      "/%ff",      "/%c0%af",      "/%ed%a0%80",
        "/a\\b", "/a#b",     "/<x>",      "/\"",       "/caf\xc3\xa9", "?x",
        "//",    "http:/x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        int  n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", bad[i]);
        if (strcmp(bad[i], "//") == 0)
            CHECK_STR(outcome(str_n(text, (size_t)n)), "done GET //? 010|Host=a body ");
        else CHECK(refused_as(str_n(text, (size_t)n), "400 bad_target"));
    }
}

/* Whether anybody takes them is the router's to say (route.h). */
TEST(an_escaped_slash_or_escaped_dots_leave_the_path_as_it_was_sent)
{
    TAKEN("GET /a%2Fb%20c HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /a%2Fb%20c? 010|Host=a body ");
    TAKEN("GET /%2e%2e/x HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /%2e%2e/x? 010|Host=a body ");
    TAKEN("GET /.%2E HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /.%2E? 010|Host=a body ");
    TAKEN("GET /a%252Fb HTTP/1.1\r\nHost: a\r\n\r\n", "done GET /a%2Fb? 010|Host=a body ");
}

/* --- limits ------------------------------------------------------------------------------ */

static struct buf big;

static struct str filled(const char *before, char c, size_t n, const char *after)
{
    buf_clear(&big);
    buf_lit(&big, before);
    while (n--) buf_chr(&big, c);
    buf_lit(&big, after);
    return buf_view(&big);
}

TEST(a_long_address_is_414_and_a_long_head_431)
{
    CHECK(str_starts(outcome(filled("GET /", 'a', 8191, " HTTP/1.1\r\nHost: a\r\n\r\n")),
                     STR("done")));
    CHECK(
        refused_as(filled("GET /", 'a', 8192, " HTTP/1.1\r\nHost: a\r\n\r\n"), "414 uri_too_long"));
    CHECK(refused_as(filled("GET /", 'a', 20000, ""), "414 uri_too_long"));
    CHECK(refused_as(filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'a', 20000, "\r\n\r\n"),
                     "431 head_too_large"));
    CHECK(
        str_starts(outcome(filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'a', 16384 - 32, "\r\n\r\n")),
                   STR("done ")));
    CHECK(refused_as(filled("GET / HTTP/1.1\r\nHost: a\r\nX: ", 'a', 16384 - 31, "\r\n\r\n"),
                     "431 head_too_large"));
}

TEST(the_hundred_and_first_header_is_too_many)
{
    buf_clear(&big);
    buf_lit(&big, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 99; i++) buf_lit(&big, "a: b\r\n");
    size_t hundred = big.len;
    buf_lit(&big, "\r\n");
    CHECK(str_starts(outcome(buf_view(&big)), STR("done")));
    buf_truncate(&big, hundred);
    buf_lit(&big, "a: b\r\n");
    CHECK(refused_as(buf_view(&big), "431 too_many_headers"));
}

TEST(a_body_over_the_limit_is_413_before_it_comes)
{
    CHECK(str_starts(outcome(STR(POST("Content-Length: 100000\r\n"))), STR("more")));
    REFUSED(POST("Content-Length: 100001\r\n"), "413 body_too_large");
    REFUSED(CHUNKED("186a1\r\n"), "413 body_too_large");
    REFUSED(CHUNKED("1\r\nx\r\n186a0\r\n"), "413 body_too_large");
    CHECK(str_starts(outcome(STR(CHUNKED("1\r\nx\r\n1869f\r\n"))), STR("more")));
}

TEST(chunk_extensions_and_trailers_are_bounded)
{
    CHECK(str_starts(outcome(filled(CHUNKED("1;"), 'e', 1023, "\r\nx\r\n0\r\n\r\n")), STR("done")));
    CHECK(
        refused_as(filled(CHUNKED("1;"), 'e', 1024, "\r\nx\r\n0\r\n\r\n"), "400 chunk_extensions"));
    buf_clear(&big);
    buf_lit(&big, CHUNKED(""));
    for (int i = 0; i < 200; i++) buf_lit(&big, "1;abcdef\r\nx\r\n");
    CHECK(refused_as(buf_view(&big), "400 chunk_extensions"));
    CHECK(str_starts(outcome(filled(CHUNKED("0\r\nX: "), 't', 4000, "\r\n\r\n")), STR("done")));
    CHECK(refused_as(filled(CHUNKED("0\r\nX: "), 't', 4096, "\r\n\r\n"), "431 trailers_too_large"));
}

TEST(every_refusal_is_a_status_a_code_and_a_sentence)
{
    for (size_t i = 0; i < sizeof smuggling / sizeof *smuggling; i++) {
        struct parsed p;
        begin(&p);
        feed(&p, smuggling[i].text);
        CHECK(p.http1.why.status >= 400 && p.http1.why.code[0]);
        CHECK(p.http1.why.text[0] >= 'A' && p.http1.why.text[0] <= 'Z' &&
              str_ends(str_c(p.http1.why.text), STR(".")));
        /* and nothing more is taken */
        CHECK(http1_feed(&p.http1, "GET / HTTP/1.1\r\n", 16) == 0);
        end(&p);
    }
}

/* A quadratic parser would take 4 GB of work for this; a linear one a moment. */
TEST(dripped_bytes_cost_no_more_than_one_read)
{
    struct parsed p;
    begin(&p);
    limits.body_max = p.http1.body.max = 4 << 20;
    struct str head = STR(POST("Content-Length: 4194304\r\n"));
    for (size_t i = 0; i < head.len; i++) feed(&p, str_n(head.ptr + i, 1));
    for (int i = 0; i < 4 << 20; i++) http1_feed(&p.http1, "x", 1);
    CHECK(p.http1.status == HTTP1_DONE && p.request.body.len == 4 << 20);
    end(&p);
}

TEST(without_memory_a_request_is_refused_and_nothing_leaks)
{
    static const char text[] = CHUNKED("5\r\nhello\r\n0\r\n\r\n");
    for (long n = 0; n < 10; n++) {
        struct parsed p;
        begin(&p);
        mem_fail_at(n);
        http1_feed(&p.http1, text, sizeof text - 1);
        mem_fail_at(-1);
        CHECK(p.http1.status == HTTP1_DONE || p.http1.why.status == 503);
        end(&p);
    }
}
