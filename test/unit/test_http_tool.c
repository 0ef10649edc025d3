/* test_http_tool.c -- endpoints as tools, and the addresses they do not get to. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "httpd.h"
#include "test.h"
#include "tool/egress.h"
#include "tool/http.h"
#include "toolrun.h"

/* --- addresses ----------------------------------------------------------------------------- */

static bool may(const char *allow, const char *host, const char *ip)
{
    struct sockaddr_in  four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct arena        a;
    struct egress       e;
    struct jv          *v = NULL;
    struct buf          why;
    bool                yes;

    arena_init(&a, 0);
    buf_init(&why, 0);
    must(json_parse(&a, str_c(allow), &v, NULL) == OK);
    must(egress_read(&a, &e, v, &why) == OK);
    if (inet_pton(AF_INET, ip, &four.sin_addr) == 1)
        yes = egress_may(&e, str_c(host), (void *)&four);
    else {
        must(inet_pton(AF_INET6, ip, &six.sin6_addr) == 1);
        yes = egress_may(&e, str_c(host), (void *)&six);
    }
    arena_done(&a);
    buf_done(&why);
    return yes;
}

TEST(private_addresses_are_refused_in_every_disguise)
{
    static const char *const refused[] = {
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "169.254.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "::1",
        "::",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:1:2::3",
        "2001:db8::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
    };
    static const char *const open[] = { "1.1.1.1",         "8.8.8.8",
                                        "172.32.0.1",      "172.15.0.1",
                                        "100.63.255.255",  "100.128.0.1",
                                        "192.169.0.1",     "198.20.0.1",
                                        "223.255.255.255", "2606:4700:4700::1111",
                                        "::ffff:1.1.1.1",  "64:ff9b::101:101",
                                        "2002:101:101::1" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (may("[]", "x", refused[i])) test_failed(__FILE__, __LINE__, refused[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (!may("[]", "x", open[i])) test_failed(__FILE__, __LINE__, open[i]);
}

TEST(what_a_tool_lists_it_may_reach)
{
    CHECK(may("[\"10.0.0.0/8\"]", "x", "10.1.2.3"));
    CHECK(!may("[\"10.0.0.0/8\"]", "x", "11.0.0.1") == false); /* public anyway */
    CHECK(!may("[\"10.0.0.0/8\"]", "x", "127.0.0.1"));
    CHECK(may("[\"10.0.0.0/8\"]", "x", "::ffff:10.1.2.3"));
    CHECK(may("[\"127.0.0.1\"]", "x", "127.0.0.1"));
    CHECK(!may("[\"127.0.0.1\"]", "x", "127.0.0.2"));
    CHECK(may("[\"fd00::/8\"]", "x", "fd12::1"));
    CHECK(may("[\"[::1]\"]", "x", "::1"));
    CHECK(may("[\"billing.internal\"]", "Billing.Internal.", "10.0.0.9"));
    CHECK(!may("[\"billing.internal\"]", "other.internal", "10.0.0.9"));
    CHECK(!may("[\"billing.internal\"]", "evil.billing.internal", "10.0.0.9"));
    CHECK(may("[\"localhost\"]", "localhost", "::1"));
}

/* --- a server and a tool ---------------------------------------------------------------------- */

static struct toolrun *T;
static struct httpd    H;

static void answer(struct httpd *h, struct httpd_conn *c, struct str head, struct str body)
{
    if (str_has(head, "POST /json")) httpd_json(c, 200, "", "{\"paid\":true}");
    else if (str_has(head, "/echo")) {
        struct buf b;
        buf_init(&b, 0);
        buf_str(&b, body);
        buf_chr(&b, 0);
        httpd_json(c, 200, "", b.ptr);
        buf_done(&b);
    } else if (str_has(head, "/text"))
        httpd_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nplain words", true);
    else if (str_has(head, "/html"))
        httpd_say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>no</p>", true);
    else if (str_has(head, "/no-type"))
        httpd_say(c, "HTTP/1.1 200 OK\r\n\r\n{\"paid\":true}", true);
    else if (str_has(head, "/500")) httpd_json(c, 500, "", "{\"error\":\"boom\"}");
    else if (str_has(head, "/503")) httpd_json(c, 503, "", "");
    else if (str_has(head, "/cut-402"))
        httpd_say(c, "HTTP/1.1 402 No\r\nContent-Length: 100\r\n\r\nno mo", true);
    else if (str_has(head, "/bare-404"))
        httpd_say(c, "HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\n", true);
    else if (str_has(head, "/long-402")) {
        httpd_say(c, "HTTP/1.1 402 No\r\n\r\n", false);
        for (int i = 0; i < 100; i++)
            httpd_say(c, "no money no money no money no money no money ", i == 99);
    } else if (str_has(head, "/result-error"))
        httpd_say(c,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
                  "{\"result\":1}\n\ndata: {\"error\":\"no\"}\n\n",
                  true);
    else if (str_has(head, "/error-result"))
        httpd_say(c,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
                  "{\"error\":\"no\"}\n\ndata: {\"result\":1}\n\n",
                  true);
    else if (str_has(head, "/broken-json")) httpd_json(c, 200, "", "{\"paid\":");
    else if (str_has(head, "/cut"))
        httpd_say(
            c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            true);
    else if (str_has(head, "/402")) httpd_json(c, 402, "", "{\"error\":\"no money\"}");
    else if (str_has(head, "/504")) httpd_json(c, 504, "", "late");
    else if (str_has(head, "/away"))
        httpd_json(c, 302, "Location: http://127.0.0.1:1/secret\r\n", "");
    else if (str_has(head, "/empty"))
        httpd_say(c, "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", true);
    else if (str_has(head, "/hang-up")) httpd_say(c, "", true);
    else if (
        str_has(
            head,
            "/kept")) { /* answers once, then takes a request and hangs up before the first byte */
        if (httpd_mark(c, h)) httpd_say(c, "", true);
        else httpd_kept(c, "{\"paid\":true}");
    } else if (str_has(head, "/events")) {
        httpd_say(c,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
                  "data: {\"progress\":0.5,\ndata: \"message\":\"half\"}\n\n: alive\n\n",
                  false);
        httpd_say(c, "data: {\"result\":{\"id\":7}}\n\n", true);
    } else if (str_has(head, "/half-events"))
        httpd_say(c,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
                  "{\"progress\":0.5}\n\n",
                  true);
    else if (str_has(head, "/flood")) {
        httpd_say(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"", false);
        for (int i = 0; i < 100; i++)
            httpd_say(c, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                      i == 99);
    }
    /* "/never": nothing */
}

static void begin(void)
{
    T = toolrun_new();
    httpd_open(&H, &T->loop, answer);
}

static void end(void)
{
    httpd_close(&H);
    toolrun_free(T);
}

static struct tool *http_tool(const char *json, unsigned timeout_ms, struct buf *why)
{
    static unsigned n;
    struct tool    *t = registry_tool(&T->reg, arena_printf(&T->reg.arena, "http%u", n++));
    struct jv      *v = NULL;

    must(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_c(json)), &v, NULL) == OK);
    t->schema_text = STR("{}");
    t->timeout_ms = timeout_ms;
    if (http_tool_read(&T->reg, t, v, &T->pool, &T->loop, why) != OK) return NULL;
    must(registry_add(&T->reg, t) == OK);
    return t;
}

static void call(struct ran *r, const char *path, const char *more, unsigned timeout_ms)
{
    char         json[500];
    struct buf   why;
    struct tool *t;
    buf_init(&why, 0);
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d%s\",\"allow\":[\"127.0.0.1\"]%s}",
             H.port, path, more);
    t = http_tool(json, timeout_ms, &why);
    REQUIRE(t);
    ran_run(T, r, t, "{\"amount\":50}");
    buf_done(&why);
}

TEST(an_http_tool_posts_its_arguments_with_the_key)
{
    struct ran r;
    begin();
    call(&r, "/json", ",\"headers\":{\"Authorization\":\"Bearer hunter2\",\"X-Plain\":\"p\"}",
         5000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.value, "{\"paid\":true}");
    CHECK_STR(r.text, "{\"paid\":true}");
    struct str head = buf_view(&H.last);
    CHECK_STR(httpd_header(head, "authorization"), "Bearer hunter2");
    CHECK_STR(httpd_header(head, "x-plain"), "p");
    CHECK_STR(httpd_header(head, "idempotency-key"), "call-abcdefghijklmnopqrstuv");
    CHECK_STR(httpd_header(head, "content-type"), "application/json");
    CHECK(str_ends(head, STR("\r\n\r\n{\"amount\":50}")));
    ran_done(&r);
    end();
}

/* The lowest limit under which nothing more can be opened. */
static void use_up_files(struct rlimit *was)
{
    int next = dup(0);
    REQUIRE(next >= 0 && getrlimit(RLIMIT_NOFILE, was) == 0);
    close(next);
    struct rlimit none = { (rlim_t)next, was->rlim_max };
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
}

TEST(a_process_without_descriptors_says_so_and_blames_nobody_else)
{
    struct ran    r;
    struct rlimit was;
    begin();
    call(&r, "/json", "", 5000); /* what is opened once is open */
    ran_done(&r);
    use_up_files(&was);
    call(&r, "/json", "", 5000);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &was) == 0);
    CHECK(r.outcome == TOOL_FAILED);
    CHECK(str_has(r.text, "too many open files: raise"));
    ran_done(&r);
    end();
}

TEST(an_http_tool_understands_json_text_and_events)
{
    struct ran r;
    begin();
    call(&r, "/text", "", 5000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.text, "plain words");
    CHECK_STR(r.value, "\"plain words\"");
    ran_done(&r);
    call(&r, "/events", "", 5000);
    CHECK(r.outcome == TOOL_DONE && r.progress == 1 && r.last_progress == 0.5);
    CHECK_STR(r.value, "{\"id\":7}");
    CHECK_STR(r.last_message, "half");
    ran_done(&r);
    call(&r, "/empty", "", 5000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.value, "\"\"");
    ran_done(&r);
    end();
}

/* --- what becomes of a call: a test per row of docs/outcomes.md ------------------------ */

static void gives(const char *path, enum tool_outcome outcome, const char *words)
{
    struct ran r;
    call(&r, path, ",\"response_max\":1000", 5000);
    if (r.outcome != outcome) test_failed(__FILE__, __LINE__, path);
    if (!str_has(r.text, words)) test_check_str(__FILE__, __LINE__, r.text, str_c(words));
    CHECK((outcome == TOOL_UNKNOWN) == str_has(r.text, "Whether it had an effect is not known."));
    ran_done(&r);
}

static void row(const char *path, enum tool_outcome outcome, const char *words)
{
    begin();
    gives(path, outcome, words);
    end();
}

/* 2xx: done, in words; `note` is told on the card. */
static void done_as_text(const char *path, const char *text, const char *note)
{
    struct ran r;
    begin();
    call(&r, path, ",\"response_max\":1000", 5000);
    CHECK(r.outcome == TOOL_DONE);
    CHECK_STR(r.text, text);
    CHECK(r.value.len > 0 && r.value.ptr[0] == '"');
    if (!str_has(r.note, note)) test_check_str(__FILE__, __LINE__, r.note, str_c(note));
    ran_done(&r);
    end();
}

TEST(http_2xx_that_is_not_json_is_done_in_words)
{
    done_as_text("/html", "<p>no</p>", "not JSON");
}
TEST(http_2xx_with_broken_json_is_done_in_words)
{
    done_as_text("/broken-json", "{\"paid\":", "not JSON");
}
TEST(http_2xx_without_a_type_is_done_in_words)
{
    done_as_text("/no-type", "{\"paid\":true}", "not JSON");
}
TEST(http_2xx_that_is_empty_is_done)
{
    done_as_text("/empty", "", "");
}

TEST(http_2xx_that_is_too_long_is_done_and_cut)
{
    struct ran r;
    begin();
    call(&r, "/flood", ",\"response_max\":1000", 5000);
    CHECK(r.outcome == TOOL_DONE && r.text.len == 1000 && str_has(r.note, "longer"));
    ran_done(&r);
    end();
}

TEST(http_events_with_a_result_are_done)
{
    row("/events", TOOL_DONE, "{\"id\":7}");
}
TEST(http_events_with_an_error_have_failed)
{
    row("/error-result", TOOL_FAILED, "no");
}
TEST(http_a_result_is_not_unsaid_by_an_error)
{
    row("/result-error", TOOL_DONE, "1");
}
TEST(http_events_without_an_end_are_unknown)
{
    row("/half-events", TOOL_UNKNOWN, "ended without a result");
}
TEST(http_4xx_has_failed)
{
    row("/402", TOOL_FAILED, "It answered with status 402: {\"error\":\"no money\"}");
}
TEST(http_4xx_whose_body_breaks_off_has_failed)
{
    row("/cut-402", TOOL_FAILED, "status 402: no mo");
}
TEST(http_4xx_without_its_body_has_failed)
{
    row("/bare-404", TOOL_FAILED, "status 404");
}
TEST(http_4xx_that_is_too_long_has_failed)
{
    row("/long-402", TOOL_FAILED, "status 402: no money");
}
TEST(http_500_is_unknown)
{
    row("/500", TOOL_UNKNOWN, "status 500: {\"error\":\"boom\"}.");
}
TEST(http_503_is_unknown)
{
    row("/503", TOOL_UNKNOWN, "status 503.");
}
TEST(http_504_is_unknown)
{
    row("/504", TOOL_UNKNOWN, "status 504");
}
TEST(http_an_answer_that_breaks_off_is_unknown)
{
    row("/cut", TOOL_UNKNOWN, "ended before its answer");
}
TEST(http_a_connection_lost_after_sending_is_unknown)
{
    row("/hang-up", TOOL_UNKNOWN, "ended before its answer");
}

TEST(http_3xx_is_unknown_and_not_followed)
{
    begin();
    gives("/away", TOOL_UNKNOWN, "a redirect, which is not followed.");
    CHECK(H.requests == 1);
    end();
}

TEST(http_silence_after_sending_is_unknown)
{
    struct ran r;
    begin();
    call(&r, "/never", "", 300);
    CHECK(r.outcome == TOOL_UNKNOWN && str_has(r.text, "did not answer within"));
    ran_done(&r);
    end();
}

static void never_left(const char *json, const char *words)
{
    struct ran   r;
    struct buf   why;
    struct tool *t;

    begin();
    buf_init(&why, 0);
    t = http_tool(json, 3000, &why);
    REQUIRE(t);
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_FAILED && str_has(r.text, words));
    ran_done(&r);
    buf_done(&why);
    end();
}

TEST(http_a_refused_connection_has_failed)
{
    never_left("{\"url\":\"http://127.0.0.1:1/\",\"allow\":[\"127.0.0.1\"]}",
               "could not be reached");
}
TEST(http_a_name_nobody_has_has_failed)
{
    never_left("{\"url\":\"http://no-such-name.invalid/\"}", "could not be reached");
}
TEST(http_a_refused_address_has_failed)
{
    never_left("{\"url\":\"http://127.0.0.1:1/\"}", "private address");
}

/* Says something else than TLS to whoever comes. */
static void no_tls(uv_stream_t *listener, int status)
{
    static uv_tcp_t peer;
    uv_buf_t        words = uv_buf_init("no TLS here\r\n", 13);
    must(status == 0 && uv_tcp_init(listener->loop, &peer) == 0);
    must(uv_accept(listener, (uv_stream_t *)&peer) == 0);
    CHECK(uv_try_write((uv_stream_t *)&peer, &words, 1) == 13);
    uv_close((uv_handle_t *)&peer, NULL);
}

TEST(http_tls_that_fails_has_failed)
{
    struct sockaddr_in at;
    uv_tcp_t           listener;
    struct ran         r;
    struct buf         why;
    char               json[200];

    begin();
    buf_init(&why, 0);
    REQUIRE(uv_tcp_init(&T->loop.uv, &listener) == 0);
    REQUIRE(uv_ip4_addr("127.0.0.1", 0, &at) == 0);
    REQUIRE(uv_tcp_bind(&listener, (struct sockaddr *)&at, 0) == 0);
    REQUIRE(uv_listen((uv_stream_t *)&listener, 8, no_tls) == 0);
    REQUIRE(uv_tcp_getsockname(&listener, (struct sockaddr *)&at, &(int){ sizeof at }) == 0);
    snprintf(json, sizeof json, "{\"url\":\"https://127.0.0.1:%d/\",\"allow\":[\"127.0.0.1\"]}",
             ntohs(at.sin_port));
    struct tool *t = http_tool(json, 3000, &why);
    REQUIRE(t);
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_FAILED && str_has(r.text, "could not be reached"));
    ran_done(&r);
    buf_done(&why);
    uv_close((uv_handle_t *)&listener, NULL);
    end();
}

/* A listener that takes nobody and whose queue is full: the kernel lets whoever comes wait. */
TEST(http_no_connection_in_time_has_failed)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t          len = sizeof at;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fillers[4];
    struct ran         r;
    struct buf         why;
    char               json[200];

    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 0) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    for (size_t i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        REQUIRE(fillers[i] >= 0);
        (void)connect(fillers[i], (struct sockaddr *)&at, sizeof at);
    }
    begin();
    buf_init(&why, 0);
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d/\",\"allow\":[\"127.0.0.1\"]}",
             ntohs(at.sin_port));
    struct tool *t = http_tool(json, 300, &why);
    REQUIRE(t);
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_FAILED);
    ran_done(&r);
    buf_done(&why);
    end();
    for (size_t i = 0; i < 4; i++) close(fillers[i]);
    close(fd);
}

TEST(a_request_that_acts_is_sent_once_whatever_becomes_of_a_kept_connection)
{
    struct ran r;
    begin();
    for (unsigned i = 1; i <= 3; i++) {
        call(&r, "/kept", "", 5000);
        /* each on a connection of its own: none is there to die under it */
        CHECK(r.outcome == TOOL_DONE);
        CHECK(H.requests == i);
        ran_done(&r);
    }
    end();
}

TEST(an_http_tool_can_be_cancelled)
{
    struct ran r = { 0 };
    struct buf why;
    char       json[200];
    begin();
    buf_init(&why, 0);
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d/never\",\"allow\":[\"127.0.0.1\"]}",
             H.port);
    ran_start(T, &r, http_tool(json, 30000, &why), "{}");
    toolrun_while(T, H.requests == 0);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 2000);
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms < 25000);
    ran_done(&r);
    buf_done(&why);
    end();
}

static void stopped_gives(struct tool *t, bool sent, enum tool_outcome outcome, const char *text)
{
    struct ran r = { 0 };
    unsigned   before = H.requests;
    ran_start(T, &r, t, "{}");
    for (int i = 0; sent && i < 200 && H.requests == before; i++) toolrun_turn(T, 10);
    CHECK(H.requests == before + sent);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 2000);
    CHECK(r.outcome == outcome);
    CHECK_STR(r.text, text);
    ran_done(&r);
}

TEST(a_request_that_was_sent_and_stopped_is_unknown_whatever_its_policy)
{
    struct buf   why;
    char         json[200];
    struct tool *t;

    begin();
    buf_init(&why, 0);
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d/never\",\"allow\":[\"127.0.0.1\"]}",
             H.port);
    t = http_tool(json, 30000, &why);
    REQUIRE(t);
    t->confirm = CONFIRM_ALWAYS;
    stopped_gives(t, true, TOOL_UNKNOWN,
                  "It was stopped after it had begun. Whether it had an effect is not known.");
    stopped_gives(t, false, TOOL_CANCELLED, "It was cancelled before it began.");
    t->confirm = CONFIRM_NEVER;
    stopped_gives(t, true, TOOL_UNKNOWN,
                  "It was stopped after it had begun. Whether it had an effect is not known.");
    t->risk = STR("high");
    stopped_gives(t, true, TOOL_UNKNOWN,
                  "It was stopped after it had begun. Whether it had an effect is not known.");
    t->idempotent = true;
    stopped_gives(t, true, TOOL_UNKNOWN,
                  "It was stopped after it had begun. Whether it had an effect is not known.");
    buf_done(&why);
    end();
}

/* Every way to write the test server's own address. None may reach it. */
TEST(forty_spellings_of_a_private_address_reach_nobody)
{
    static const char *const hosts[] = {
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "127.0.0.01",
        "0177.0.0.1",
        "0177.0.0.01",
        "0x7f.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "0X7F000001",
        "2130706433",
        "017700000001",
        "0x7f.0x0.0x0.0x1",
        "127.0x1",
        "127.000.000.001",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "LocalHost.",
        "0.0.0.0",
        "0",
        "0x0",
        "00.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2002:7f00:0001::1]",
        "[fe80::1]",
        "[fc00::1]",
        "127.255.255.255",
        "127.0.0.2",
        "127.%30.0.1",
        "%6c%6f%63alhost",
        "user@127.0.0.1",
        "1.1.1.1@127.0.0.1",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "ip6-localhost",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
    };
    struct ran r;
    size_t     tried = 0;

    begin();
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char         json[300];
        struct buf   why;
        struct tool *t;
        buf_init(&why, 0);
        snprintf(json, sizeof json, "{\"url\":\"http://%s:%d/json\"}", hosts[i], H.port);
        t = http_tool(json, 3000, &why);
        buf_done(&why);
        tried++;
        if (!t) continue; /* not even an address */
        ran_run(T, &r, t, "{}");
        if (r.outcome != TOOL_FAILED) test_failed(__FILE__, __LINE__, hosts[i]);
        ran_done(&r);
    }
    CHECK(tried >= 40);
    CHECK(H.requests == 0);
    end();
}

/* A pooled connection that one tool may use is not another's way in. */
TEST(a_connection_of_a_tool_that_may_is_not_reused_by_one_that_may_not)
{
    struct ran r;
    struct buf why;
    char       json[200];
    begin();
    buf_init(&why, 0);
    call(&r, "/json", "", 3000);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d/json\"}", H.port);
    ran_run(T, &r, http_tool(json, 3000, &why), "{}");
    CHECK(r.outcome == TOOL_FAILED && str_has(r.text, "private address") && H.requests == 1);
    ran_done(&r);
    buf_done(&why);
    end();
}

static void refused(const char *json, const char *because)
{
    struct buf why;
    buf_init(&why, 0);
    CHECK(!http_tool(json, 1000, &why));
    if (!str_has(buf_view(&why), because))
        test_check_str(__FILE__, __LINE__, buf_view(&why), str_c(because));
    buf_done(&why);
}

TEST(a_wrong_http_configuration_is_told_in_a_sentence)
{
    begin();
    refused("[]", "must be an object");
    refused("{}", "\"url\" must be");
    refused("{\"url\":\"ftp://x/\"}", "begins with https");
    refused("{\"url\":\"file:///etc/passwd\"}", "begins with https");
    refused("{\"url\":\"not a url\"}", "begins with https");
    refused("{\"url\":\"http://x\",\"method\":\"GET\"}", "POST, PUT or PATCH");
    refused("{\"url\":\"http://x\",\"headers\":{\"Host\":\"y\"}}", "Host cannot be set");
    refused("{\"url\":\"http://x\",\"headers\":{\"A\":\"b\\r\\nC: d\"}}", "control character");
    refused("{\"url\":\"http://x\",\"headers\":{\"A B\":\"c\"}}", "cannot be set");
    refused("{\"url\":\"http://x\",\"allow\":[\"10.0.0.0/33\"]}", "neither a host");
    refused("{\"url\":\"http://x\",\"allow\":\"all\"}", "must be a list");
    refused("{\"url\":\"http://x\",\"allow\":[\"*\"]}", "neither a host");
    refused("{\"url\":\"http://x\",\"response_max\":1}", "at least 256");
    refused("{\"url\":\"http://x\",\"retries\":3}", "no option called retries");
    end();
}
