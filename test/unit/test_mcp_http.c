/* test_mcp_http.c -- the MCP client against servers over HTTP that behave oddly, and what becomes
 * of their calls (docs/outcomes.md). */
#include "base/fault.h"
#include "httpd.h"
#include "mcp_help.h"

static struct httpd       H;
static const char        *http_mode;
static unsigned           opened, calls, gets, answers, lists;
/* the GET stream; those of the first two calls */
static struct httpd_conn *common, *streams[2];
static struct str         call_ids[2];

static bool mode_is(const char *mode)
{
    return strcmp(http_mode, mode) == 0;
}

#define EVENTS "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define QUESTION                                                  \
    "data: "                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/" \
    "create\",\"params\":{\"message\":\"Sure?\",\"requestedSchema\":{\"type\":\"object\"}}}\n\n"

/* A call's stream is opened and kept; the question comes when `at` of them are there, on the stream
 * `on`. */
static void keep_stream(struct httpd_conn *c, struct str body, unsigned at, struct httpd_conn **on)
{
    struct jv *v;
    REQUIRE(calls <= 2 &&
            json_parse(&T->reg.arena, arena_dup(&T->reg.arena, body), &v, NULL) == OK);
    call_ids[calls - 1] = jv_get(v, "id")->raw;
    streams[calls - 1] = c;
    httpd_say(c, EVENTS, false);
    if (calls == at && *on) httpd_say(*on, QUESTION, false);
}

/* The answer to the question is the result of every call. */
static void on_answer(struct httpd_conn *c, struct str body)
{
    answers++;
    if (mode_is("pings")) return; /* taken, never answered */
    for (unsigned i = 0; i < calls && streams[i]; i++) {
        char out[300];
        snprintf(out, sizeof out,
                 "data: "
                 "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\","
                 "\"text\":\"%s\"}]}}\n\n",
                 STR_ARG(call_ids[i]), str_has(body, "accept") ? "accept" : "cancel");
        httpd_say(streams[i], out, true);
    }
    httpd_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", true);
}

static void on_get(struct httpd_conn *c)
{
    gets++;
    if (mode_is("restless"))
        httpd_say(c,
                  EVENTS
                  "retry: 0\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n",
                  true);
    else if (mode_is("asks-common") || mode_is("asks-common-no-session")) {
        common = c;
        httpd_say(c, EVENTS, false);
    } else httpd_json(c, 405, "", "");
}

static bool kept(void)
{
    return strcmp(http_mode, "kept") == 0;
}

static void reply(struct httpd_conn *c, struct str body, const char *more, const char *result)
{
    struct arena a;
    struct jv   *v;
    char         json[1000];

    arena_init(&a, 0);
    REQUIRE(json_parse(&a, body, &v, NULL) == OK);
    snprintf(json, sizeof json, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}",
             STR_ARG(jv_get(v, "id")->raw), result);
    if (kept() && !*more) httpd_kept(c, json);
    else httpd_json(c, 200, more, json);
    arena_done(&a);
}

static void on_call(struct httpd_conn *c, struct str body)
{
    calls++;
    if (mode_is("asks-own")) keep_stream(c, body, 2, &streams[0]);
    else if (mode_is("asks-common") || mode_is("asks-common-no-session"))
        keep_stream(c, body, 1, &common);
    else if (mode_is("pings")) {
        httpd_say(c, EVENTS, false);
        for (int i = 0; i < 6000; i++)
            httpd_say(c, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n", false);
    } else if (strcmp(http_mode, "cut") == 0)
        httpd_say(c,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n",
                  true);
    else if (strcmp(http_mode, "mute") == 0) return;
    else if (kept() && httpd_mark(c, c))
        httpd_say(c, "", true); /* taken, and not a byte of an answer */
    else if (strcmp(http_mode, "403") == 0 && calls == 1)
        httpd_json(c, 403, "WWW-Authenticate: Bearer scope=\"pay\"\r\n", "{}");
    else if (strcmp(http_mode, "401") == 0 && calls == 1) httpd_json(c, 401, "", "{}");
    else if (strcmp(http_mode, "gone") == 0 && calls == 1) httpd_json(c, 404, "", "{}");
    else if (strcmp(http_mode, "redirect") == 0)
        httpd_json(c, 307, "Location: http://127.0.0.1:1/\r\n", "");
    else if (strcmp(http_mode, "504") == 0) httpd_json(c, 504, "", "late");
    else if (strcmp(http_mode, "500") == 0) httpd_json(c, 500, "", "oops");
    else if (strcmp(http_mode, "400") == 0) httpd_json(c, 400, "", "oops");
    else if (strcmp(http_mode, "400-rpc") == 0)
        httpd_json(c, 400, "",
                   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":"
                   "\"because\"}}");
    else if (strcmp(http_mode, "500-rpc") == 0)
        httpd_json(c, 500, "",
                   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32601,\"message\":"
                   "\"because\"}}");
    else if (strcmp(http_mode, "202") == 0)
        httpd_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                  true);
    else if (strcmp(http_mode, "html") == 0)
        httpd_say(
            c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>paid</p>",
            true);
    else if (strcmp(http_mode, "hang-up") == 0) httpd_say(c, "", true);
    else if (mode_is("vague"))
        httpd_say(c,
                  EVENTS "data: "
                         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32602,\"message\":"
                         "\"because\"}}\n\n",
                  true);
    else reply(c, body, "", "{\"content\":[{\"type\":\"text\",\"text\":\"paid\"}]}");
}

/* A modern server that refuses every call's headers. */
static void on_modern(struct httpd_conn *c, struct str head, struct str body)
{
    if (str_has(body, "server/discover")) reply(c, body, "", "{\"capabilities\":{\"tools\":{}}}");
    else if (str_has(body, "tools/list")) {
        lists++;
        reply(c, body, "", "{\"tools\":[{\"name\":\"go\",\"inputSchema\":{\"type\":\"object\"}}]}");
    } else {
        calls++;
        httpd_json(c, 400, "",
                   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32020,\"message\":"
                   "\"headers\"}}");
    }
}

static void serve(struct httpd *h, struct httpd_conn *c, struct str head, struct str body)
{
    if (strcmp(http_mode, "auth") == 0)
        httpd_json(c, 401, "WWW-Authenticate: Bearer scope=\"pay\"\r\n", "");
    else if (str_starts(head, STR("GET"))) on_get(c);
    else if (str_starts(head, STR("DELETE"))) httpd_json(c, 200, "", "");
    else if (mode_is("modern-20")) on_modern(c, head, body);
    else if (str_has(body, "server/discover"))
        httpd_json(
            c, 400, "",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\"}}");
    else if (str_has(body, "\"initialize\"")) {
        opened++;
        CHECK(!httpd_header(head, "mcp-session-id").ptr);
        reply(c, body, mode_is("asks-common-no-session") ? "" : "Mcp-Session-Id: abc\r\n",
              "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
              "\"name\":\"h\",\"version\":\"1\"}}");
    } else {
        if (mode_is("asks-common-no-session")) CHECK(!httpd_header(head, "mcp-session-id").ptr);
        else CHECK_STR(httpd_header(head, "mcp-session-id"), "abc");
        CHECK_STR(httpd_header(head, "mcp-protocol-version"), "2025-06-18");
        CHECK_STR(httpd_header(head, "accept"), "application/json, text/event-stream");
        CHECK_STR(httpd_header(head, "x-key"), "k");
        if (kept() && str_has(body, "tools/list")) httpd_mark(c, c);
        if (str_has(body, "tools/list"))
            reply(c, body, "",
                  "{\"tools\":[{\"name\":\"go\",\"inputSchema\":{\"type\":\"object\"}}]}");
        else if (str_has(body, "tools/call")) on_call(c, body);
        else if (str_has(body, "\"result\"")) on_answer(c, body);
        else
            httpd_say(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                      true);
    }
}

static void begin_http(const char *mode)
{
    char json[200];
    T = toolrun_new();
    http_mode = mode;
    opened = calls = gets = answers = lists = 0;
    common = streams[0] = streams[1] = NULL;
    httpd_open(&H, &T->loop, serve);
    snprintf(json, sizeof json,
             "{\"url\":\"http://127.0.0.1:%d/mcp\",\"headers\":{\"X-Key\":\"k\"}}", H.port);
    REQUIRE(fake_open(json));
}

static void end_http(void)
{
    fake_stopped = false;
    mcp_stop(M, fake_on_stopped);
    toolrun_wait(T, &fake_stopped, 8000);
    CHECK(fake_stopped);
    httpd_close(&H);
    toolrun_free(T);
}

TEST(a_legacy_session_is_opened_used_and_ended)
{
    begin_http("plain");
    fake_state_has("ready (2025-06-18, 1 tools)");
    fake_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_server_that_wants_credentials_is_not_asked_again_and_again)
{
    unsigned n;
    begin_http("auth");
    /* nor is anybody kept waiting for its tools */
    CHECK(!mcp_ready(M) && registry_settled(&T->reg));
    fake_state_has("authorization needed: Bearer scope=\"pay\"");
    n = H.requests;
    toolrun_turn(T, 1500);
    CHECK(H.requests == n);
    end_http();
}

TEST(a_call_that_is_not_allowed_fails_alone)
{
    begin_http("403");
    fake_gives(TOOL_FAILED, "The server answered with status 403 (Bearer scope=\"pay\")");
    CHECK(mcp_ready(M));
    fake_gives(TOOL_DONE, "paid");
    end_http();
    begin_http("401");
    fake_gives(TOOL_FAILED, "The server answered with status 401");
    CHECK(mcp_ready(M));
    fake_gives(TOOL_DONE, "paid");
    CHECK(calls == 2 && opened == 1);
    end_http();
}

TEST(a_server_that_let_us_in_before_and_refuses_us_now_is_tried_again)
{
    begin_http("plain");
    fake_gives(TOOL_DONE, "paid");
    http_mode = "auth";
    fake_gives(TOOL_FAILED, "The server answered with status 401 (Bearer scope=\"pay\")");
    toolrun_while(T, mcp_ready(M));
    fake_state_has("waiting to start again: authorization needed: Bearer scope=\"pay\"");
    http_mode = "plain";
    toolrun_while(T, !mcp_ready(M));
    CHECK(opened == 2);
    fake_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_stream_that_breaks_off_is_unknown_and_the_call_is_not_repeated)
{
    struct ran r;
    begin_http("cut");
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_UNKNOWN);
    ran_done(&r);
    toolrun_turn(T, 300);
    CHECK(calls == 1);
    end_http();
}

TEST(a_call_is_sent_once_whatever_becomes_of_a_kept_connection)
{
    begin_http("kept");
    for (unsigned i = 1; i <= 3; i++) {
        fake_gives(TOOL_DONE, "paid");
        CHECK(calls == i);
    }
    end_http();
}

TEST(a_session_that_is_gone_is_opened_anew_without_repeating_the_call)
{
    begin_http("gone");
    fake_gives(TOOL_FAILED, "The server answered with status 404 (its session ended)");
    toolrun_while(T, !mcp_ready(M));
    CHECK(opened == 2 && calls == 1);
    fake_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_call_stopped_before_it_was_sent_is_cancelled_and_afterwards_unknown)
{
    struct ran r = { 0 };
    begin_http("mute");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 1000);
    CHECK(r.outcome == TOOL_CANCELLED && calls == 0);
    CHECK_STR(r.text, "It was cancelled before it began.");
    ran_done(&r);
    ran_start(T, &r, fake_tool("s__go"), "{}");
    toolrun_while(T, calls == 0);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 1000);
    CHECK(r.outcome == TOOL_UNKNOWN && calls == 1);
    ran_done(&r);
    end_http();
}

static void http_row(const char *mode, enum tool_outcome outcome, const char *text)
{
    begin_http(mode);
    fake_gives(outcome, text);
    CHECK(calls == 1);
    end_http();
}

TEST(mcp_http_3xx_is_unknown)
{
    http_row("redirect", TOOL_UNKNOWN,
             "There is no answer, it answered with something else." NOT_KNOWN);
}
TEST(mcp_http_4xx_has_failed)
{
    http_row("400", TOOL_FAILED, "The server answered with status 400");
}
TEST(mcp_http_4xx_with_an_error_has_failed)
{
    http_row("400-rpc", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_http_500_is_unknown)
{
    http_row("500", TOOL_UNKNOWN, "The server answered with status 500." NOT_KNOWN);
}
TEST(mcp_http_504_is_unknown)
{
    http_row("504", TOOL_UNKNOWN, "The server answered with status 504." NOT_KNOWN);
}
TEST(mcp_http_5xx_with_an_error_is_unknown)
{
    http_row("500-rpc", TOOL_UNKNOWN, "The server refused: because." NOT_KNOWN);
}
TEST(mcp_http_2xx_without_an_answer_is_unknown)
{
    http_row("202", TOOL_UNKNOWN, "There is no answer, it answered with something else." NOT_KNOWN);
}
TEST(mcp_http_2xx_that_is_no_message_is_unknown)
{
    http_row("html", TOOL_UNKNOWN,
             "There is no answer, it answered with something else." NOT_KNOWN);
}
TEST(mcp_http_an_error_about_nobody_is_unknown)
{
    http_row("vague", TOOL_UNKNOWN, "The server refused: because." NOT_KNOWN);
}
TEST(mcp_http_a_connection_lost_is_unknown)
{
    http_row("hang-up", TOOL_UNKNOWN,
             "There is no answer, Server returned nothing (no headers, no data)." NOT_KNOWN);
}

TEST(mcp_http_a_modern_servers_header_error_has_failed_and_brings_a_fresh_list)
{
    begin_http("modern-20");
    fake_gives(TOOL_FAILED, "The server refused: headers");
    toolrun_while(T, lists < 2);
    CHECK(lists == 2 && calls == 1);
    end_http();
}

/* Two people's calls; a question comes on the stream of the first one's. */
TEST(a_question_on_a_calls_own_stream_is_put_to_that_one)
{
    struct ran a = { .on_ask = ran_say_yes }, b = { .on_ask = ran_say_yes };
    begin_http("asks-own");
    ran_start(T, &a, fake_tool("s__go"), "{}");
    toolrun_while(T, calls == 0);
    ran_start(T, &b, fake_tool("s__go"), "{}");
    b.job.owner = STR("bob");
    ran_wait(T, &a, 3000);
    ran_wait(T, &b, 3000);
    CHECK(a.asked == 1 && b.asked == 0);
    CHECK_STR(a.text, "accept");
    ran_done(&a);
    ran_done(&b);
    end_http();
}

static void common_question(const char *mode, unsigned asked, const char *text)
{
    struct ran a = { .on_ask = ran_say_yes };
    begin_http(mode);
    toolrun_while(T, !common);
    ran_start(T, &a, fake_tool("s__go"), "{}");
    ran_wait(T, &a, 3000);
    CHECK(a.asked == asked);
    CHECK_STR(a.text, text);
    ran_done(&a);
    end_http();
}

TEST(a_question_on_the_common_stream_is_put_to_the_only_call_of_a_session)
{
    common_question("asks-common", 1, "accept");
    common_question("asks-common-no-session", 0, "cancel"); /* anybody's */
}

TEST(six_thousand_pings_in_one_stream_are_not_six_thousand_connections)
{
    struct ran r = { 0 };
    begin_http("pings");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    toolrun_while(T, !M->rude);
    toolrun_turn(T, 200);
    CHECK(M->rude && answers > 0 && answers <= 16);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 2000);
    ran_done(&r);
    end_http();
}

TEST(a_server_that_wants_us_back_at_once_is_not_obeyed)
{
    unsigned before;
    begin_http("restless");
    before = gets;
    toolrun_turn(T, 1000);
    CHECK(gets - before > 0 && gets - before <= 6);
    end_http();
}

TEST(mcp_http_a_server_that_is_not_there_has_failed)
{
    struct ran r;
    begin_http("plain");
    httpd_close(&H);
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_FAILED && calls == 0 && str_has(r.text, "could not be reached"));
    ran_done(&r);
    fake_stopped = false;
    mcp_stop(M, fake_on_stopped);
    toolrun_wait(T, &fake_stopped, 8000);
    CHECK(fake_stopped);
    toolrun_free(T);
}

/* An allocation fails somewhere at the start of a call: it fails then if the server never had it,
 * and never otherwise. */
TEST(mcp_http_no_memory_never_says_failed_of_a_call_that_left)
{
    unsigned went = 0, did_not = 0;

    begin_http("plain");
    for (unsigned n = 1; n <= 40; n++) {
        struct ran   r = { 0 };
        struct tool *t = fake_tool("s__go");
        unsigned     before = calls;
        char         order[20];

        ran_prepare(&r, t, "{}");
        snprintf(order, sizeof order, "mem:%u", n);
        fault_order(order);
        enum err e = t->ops->start(t, &r.job);
        fault_order("");
        if (e == OK) ran_wait(T, &r, 20000);
        else r.outcome = TOOL_FAILED;
        CHECK(calls - before <= 1);
        if (calls == before) CHECK(r.outcome != TOOL_DONE);
        else CHECK(r.outcome != TOOL_FAILED && r.outcome != TOOL_CANCELLED);
        went += calls - before;
        did_not += calls == before;
        ran_done(&r);
        toolrun_while(T, M->state != MCP_READY);
    }
    CHECK(went > 0 && did_not > 0);
    end_http();
}
