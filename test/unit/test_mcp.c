/* test_mcp.c -- the MCP client against servers that behave oddly. Real servers and the conformance
 * suite: test/mcp. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "httpd.h"
#include "test.h"
#include "tool/mcp/mcp_int.h"
#include "toolrun.h"

/* --- pure parts ------------------------------------------------------------------------- */

static void said(const char *json, bool error, const char *text, const char *value)
{
    struct arena    a;
    struct jv      *v;
    struct mcp_said s = { 0 };

    arena_init(&a, 0);
    buf_init(&s.text, 0);
    buf_init(&s.value, 0);
    REQUIRE(json_parse(&a, str_c(json), &v, NULL) == OK);
    mcp_result_read(v, &s);
    CHECK(s.is_error == error);
    CHECK_STR(buf_view(&s.text), text);
    CHECK(s.has_value == (value != NULL));
    if (value) CHECK_STR(buf_view(&s.value), value);
    buf_done(&s.text);
    buf_done(&s.value);
    arena_done(&a);
}

TEST(content_of_every_kind_has_words_for_the_model)
{
    said("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\\u001b["
         "2J\"}]}",
         false, "a\nb[2J", NULL);
    said("{\"content\":[],\"structuredContent\":{\"t\":1}}", false, "{\"t\":1}", "{\"t\":1}");
    said("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":[1],\"isError\":"
         "true}",
         true, "x", "[1]");
    said("{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}", false,
         "[image image/png, 3 bytes]",
         "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}");
    said("{\"content\":[{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}]}", false,
         "[audio audio/wav, 1 bytes]",
         "{\"content\":[{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}]}");
    said(
        "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"text\":\"words\"}}]}",
        false, "words",
        "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"text\":\"words\"}}]"
        "}");
    said("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"blob\":\"AAA=\","
         "\"mimeType\":\"a/b\"}}]}",
         false, "[resource a/b, 2 bytes] x:y",
         "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"blob\":\"AAA=\","
         "\"mimeType\":\"a/b\"}}]}");
    said("{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"N\"}]}", false,
         "[link N] x:y",
         "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"N\"}]}");
    said("{\"content\":[{\"type\":\"hologram\",\"x\":1}]}", false,
         "{\"type\":\"hologram\",\"x\":1}", "{\"content\":[{\"type\":\"hologram\",\"x\":1}]}");
    said("{\"content\":\"no list\"}", false, "", NULL);
    said("{}", false, "", NULL);
}

static size_t params(const char *json, const char **why)
{
    struct arena      a;
    struct jv        *v;
    struct mcp_param *p;
    size_t            n = 0;

    arena_init(&a, 0);
    *why = NULL;
    REQUIRE(json_parse(&a, str_c(json), &v, NULL) == OK);
    if (!mcp_params_read(&a, v, &p, &n, why)) n = 99;
    arena_done(&a);
    return n;
}

TEST(header_annotations_count_only_where_their_place_is_certain)
{
    const char *why;
    CHECK(params(
              "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"type\":"
              "\"object\",\"properties\":{\"c\":{\"type\":\"integer\",\"x-mcp-header\":\"C\"}}}}}",
              &why) == 2);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A B\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{"
                 "\"type\":\"string\",\"x-mcp-header\":\"a\"}}}",
                 &why) == 99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-"
                 "mcp-header\":\"A\"}}}}",
                 &why) == 99);
    CHECK(params(
              "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}]}",
              &why) == 99);
    CHECK(params("{\"$defs\":{\"d\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", &why) == 99);
    CHECK(params("{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", &why) == 0);
    CHECK(params("{\"type\":\"object\"}", &why) == 0);
}

static void header(const char *value, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    mcp_header_value(&b, str_c(value));
    CHECK_STR(buf_view(&b), want);
    buf_done(&b);
}

TEST(header_values_that_no_header_can_hold_are_wrapped)
{
    header("us-west1", "us-west1");
    header("", "");
    header("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    header(" padded ", "=?base64?IHBhZGRlZCA=?=");
    header("a\nb", "=?base64?YQpi?=");
    header("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=");
}

/* --- servers over stdio --------------------------------------------------------------------- */

static struct toolrun *T;
static struct mcp     *M;
static bool            stopped;

static void on_stopped(struct mcp *m)
{
    stopped = true;
}

static bool open_entry(const char *json)
{
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    struct jv      *v;
    struct buf      why;
    bool            ok;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_c(json)), &v, NULL) == OK);
    ok = mcp_read(&M, &host, STR("s"), v, STR_NONE, &why) == OK;
    if (!ok) printf("  " STR_FMT "\n", STR_ARG(buf_view(&why)));
    buf_done(&why);
    if (!ok) return false;
    mcp_start(M);
    for (int i = 0;
         i < 1000 && !mcp_settled(M) && !(M->state == MCP_LISTING && strstr(json, "listless")); i++)
        toolrun_turn(T, 10);
    return true;
}

static void begin(const char *mode, const char *more)
{
    char json[400];
    T = toolrun_new();
    snprintf(json, sizeof json,
             "{\"command\":\"python3\",\"args\":[\"test/unit/fake_mcp.py\",\"%s\"]%s}", mode, more);
    REQUIRE(access("test/unit/fake_mcp.py", R_OK) == 0); /* run from the project's folder */
    REQUIRE(open_entry(json));
}

static void end(void)
{
    stopped = false;
    mcp_stop(M, on_stopped);
    toolrun_wait(T, &stopped, 8000);
    CHECK(stopped);
    toolrun_free(T);
}

static void state_has(const char *part)
{
    struct buf b;
    buf_init(&b, 0);
    mcp_state_text(M, &b);
    if (!str_has(buf_view(&b), part)) test_check_str(__FILE__, __LINE__, buf_view(&b), str_c(part));
    buf_done(&b);
}

static struct tool *tool(const char *name)
{
    struct tool *t = registry_find(&T->reg, str_c(name));
    REQUIRE(t != NULL);
    return t;
}

static void call_gives(enum tool_outcome outcome, const char *text)
{
    struct ran r;
    ran_run(T, &r, tool("s__go"), "{}");
    CHECK(r.outcome == outcome);
    CHECK_STR(r.text, text);
    ran_done(&r);
}

TEST(every_page_of_a_list_is_fetched)
{
    begin("pages", "");
    state_has("ready (2024-11-05, 5 tools)");
    CHECK(registry_find(&T->reg, STR("s__t0")) && registry_find(&T->reg, STR("s__t4")));
    end();
}

static unsigned changes;
static bool     listed_when_told;
static void     on_tools(void *ctx)
{
    changes++;
    listed_when_told = registry_find(&T->reg, STR("s__go")) != NULL;
}

/* Right after a start: not listed yet is not gone. */
TEST(a_tool_is_expected_until_its_server_has_listed)
{
    struct mcp_host host;
    struct jv      *v;
    struct buf      why;

    T = toolrun_new();
    host = (struct mcp_host){ &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    T->reg.changed = on_tools;
    changes = 0;
    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena,
                       STR("{\"command\":\"python3\",\"args\":[\"test/unit/"
                           "fake_mcp.py\",\"after\"],\"timeout\":1}"),
                       &v, NULL) == OK);
    REQUIRE(mcp_read(&M, &host, STR("s"), v, STR_NONE, &why) == OK);
    CHECK(!registry_expects(&T->reg, STR("s__go"))); /* not started: nothing will come */
    mcp_start(M);
    CHECK(registry_expects(&T->reg, STR("s__go")) && !registry_expects(&T->reg, STR("t__go")) &&
          !registry_settled(&T->reg));
    /* at least ten seconds, whatever its timeout */
    CHECK(M->source.until_ms >= clock_mono_ms() + 9000);
    toolrun_while(T, !changes);
    CHECK(changes == 1 && listed_when_told);
    CHECK(!registry_expects(&T->reg, STR("s__nothing")) && registry_settled(&T->reg));
    buf_done(&why);
    end();
}

TEST(a_server_that_does_not_list_is_not_expected_for_ever)
{
    begin("listless", ""); /* settled? not yet: its list is 30 s away from being given up */
    CHECK(registry_expects(&T->reg, STR("s__go")));
    T->reg.changed = on_tools;
    changes = 0;
    M->source.until_ms = clock_mono_ms() + 50;
    mcp_rearm(M);
    toolrun_while(T, !changes);
    CHECK(changes == 1 && !listed_when_told && !registry_expects(&T->reg, STR("s__go")) &&
          registry_settled(&T->reg));
    end();
}

TEST(a_server_that_dies_before_it_has_listed_is_still_expected)
{
    begin("old", ""); /* the opening fails; it is tried again in a second */
    CHECK(mcp_settled(M) && !mcp_ready(M) && registry_expects(&T->reg, STR("s__go")));
    end();
}

TEST(a_list_without_end_is_given_up)
{
    begin("endless", "");
    CHECK(!mcp_ready(M));
    state_has("does not end");
    end();
}

TEST(a_server_that_is_silent_when_asked_for_its_era_is_an_old_one)
{
    begin("silent", "");
    state_has("ready (2024-11-05, 1 tools)");
    call_gives(TOOL_DONE, "cancelled"); /* the question was withdrawn */
    end();
}

TEST(a_version_that_nobody_speaks_is_told)
{
    begin("old", "");
    CHECK(!mcp_ready(M));
    state_has("1999-01-01");
    end();
}

TEST(a_server_that_writes_noise_is_ended)
{
    begin("noise", "");
    CHECK(!mcp_ready(M));
    state_has("not JSON");
    end();
    begin("endless-line", "");
    CHECK(!mcp_ready(M));
    state_has("lines without end");
    end();
}

TEST(a_program_that_is_not_there_is_told)
{
    T = toolrun_new();
    REQUIRE(open_entry("{\"command\":\"no-such-program-here\"}"));
    CHECK(!mcp_ready(M));
    state_has("no-such-program-here is not installed");
    end();
}

TEST(only_usable_tools_are_listed_and_annotations_only_raise)
{
    begin("odd-tools", ",\"confirm\":\"never\"");
    state_has("3 tools");
    CHECK_STR(tool("s__good")->description, "good");
    CHECK(tool("s__good")->confirm == CONFIRM_NEVER);
    CHECK(tool("s__destroy")->confirm == CONFIRM_ALWAYS);
    CHECK_STR(tool("s__a.b c")->wire_name, "s__a_b_c");
    end();
}

TEST(a_changed_definition_has_another_digest_and_an_unchanged_one_is_not_touched)
{
    struct ran   r;
    struct tool *same, *other;
    char         before[TOOL_DIGEST], after[TOOL_DIGEST];

    begin("changing", "");
    same = tool("s__same");
    other = tool("s__other");
    REQUIRE(tool_digest(other, before) == OK);
    ran_run(T, &r, same, "{}");
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    toolrun_while(T, !registry_find(&T->reg, STR("s__late")));
    CHECK(tool("s__same") == same);
    REQUIRE(tool_digest(tool("s__other"), after) == OK);
    CHECK(tool("s__other") != other && strcmp(after, before) != 0);
    CHECK(registry_find(&T->reg, STR("s__late")));
    end();
}

static void runner_is(const char *entry, const char *want)
{
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    struct jv      *v;
    struct mcp     *m = NULL;
    struct buf      why;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_c(entry)), &v, NULL) == OK);
    REQUIRE(mcp_read(&m, &host, STR("s"), v, STR("/"), &why) == OK);
    CHECK_STR(m->runner, want);
    buf_done(&why);
    stopped = false;
    mcp_stop(m, on_stopped);
    toolrun_wait(T, &stopped, 2000);
}

/* A yes covers what it runs: another command, address or account is another tool. A new key is not,
 * and none is kept. */
TEST(the_runner_of_a_servers_tools_names_secrets_and_does_not_tell_them)
{
    T = toolrun_new();
    setenv("PARLEY_TEST_SECRET", "hunter2", 1);
    runner_is("{\"env\":{\"T\":\"env:PARLEY_TEST_SECRET\",\"A\":\"literal-secret\"},\"command\":"
              "\"npx\",\"args\":[\"-y\",\"s\"],\"cwd\":\"w\",\"timeout\":3}",
              "{\"args\":[\"-y\",\"s\"],\"base\":\"/"
              "\",\"command\":\"npx\",\"cwd\":\"w\",\"env\":{\"A\":null,\"T\":\"env:PARLEY_TEST_"
              "SECRET\"}}");
    runner_is(
        "{\"url\":\"https://crm.example/"
        "mcp\",\"headers\":{\"X-B\":\"k\",\"Authorization\":\"Bearer env:PARLEY_TEST_SECRET\"}}",
        "{\"headers\":{\"Authorization\":\"Bearer "
        "env:PARLEY_TEST_SECRET\",\"X-B\":null},\"url\":\"https://crm.example/mcp\"}");
    toolrun_free(T);
    begin("odd-tools", "");
    struct str runner = tool("s__destroy")->runner;
    CHECK(str_starts(runner, STR("{\"annotations\":{\"destructiveHint\":true},\"server\":{\"args\":"
                                 "[\"test/unit/fake_mcp.py\",\"odd-tools\"],\"base\":\"/")));
    CHECK(str_ends(runner, STR("\"command\":\"python3\"},\"tool\":\"destroy\",\"trust\":false}")));
    end();
}

TEST(a_server_that_keeps_changing_its_tools_is_asked_once_a_second)
{
    struct ran r;
    begin("restless", "");
    for (int i = 0; i < 20; i++) {
        ran_run(T, &r, tool("s__go"), "{}");
        CHECK(r.outcome == TOOL_DONE);
        if (i == 19) CHECK_STR(r.text, "1"); /* lists so far: the first */
        ran_done(&r);
    }
    toolrun_turn(T, 1200);
    ran_run(T, &r, tool("s__go"), "{}");
    CHECK_STR(r.text, "2"); /* the change was not forgotten */
    ran_done(&r);
    end();
}

TEST(a_server_that_has_filled_its_share_keeps_the_tools_it_has)
{
    struct ran   r;
    struct tool *same, *other;

    begin("changing", "");
    same = tool("s__same");
    other = tool("s__other");
    CHECK(M->kept > 0 && M->kept < M->kept_max);
    M->kept_max = M->kept;
    ran_run(T, &r, same, "{}");
    ran_done(&r);
    size_t before = T->reg.arena.used;
    toolrun_turn(T, 1300);
    CHECK(M->full && tool("s__same") == same && tool("s__other") == other);
    CHECK_STR(other->description, "version 1");
    CHECK(!registry_find(&T->reg, STR("s__late")));
    CHECK(T->reg.arena.used == before);
    end();
}

TEST(a_call_that_gets_no_answer_is_unknown_and_cancelled)
{
    struct ran r;
    begin("silent-call", ",\"timeout\":1");
    ran_run(T, &r, tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms >= 900 && r.ms < 3000);
    CHECK(str_has(r.text, "Whether it had an effect is not known"));
    ran_done(&r);
    call_gives(TOOL_DONE, "cancelled"); /* the server was told */
    end();
}

TEST(what_a_server_asks_is_always_answered)
{
    begin("ask-all", "");
    call_gives(TOOL_DONE, "ok -32601 -32601 -32601 -32602");
    end();
}

static void answer_number(struct ran *r)
{
    char text[32];
    CHECK(str_has(r->question, r->asked == 1 ? "The server s asks: \"Question 1?\""
                                             : "The server s asks: \"Question 2?\""));
    CHECK(str_has(r->schema, "\"integer\""));
    snprintf(text, sizeof text, "{\"n\":%u}", r->asked);
    r->job.tool->ops->answer(&r->job, r->asked == 1, r->asked == 1 ? str_c(text) : STR_NONE);
}

TEST(questions_are_put_one_at_a_time)
{
    struct ran r = { .on_ask = answer_number };
    begin("two-questions", "");
    ran_start(T, &r, tool("s__go"), "{}");
    ran_wait(T, &r, 5000);
    CHECK(r.asked == 2);
    CHECK_STR(r.text,
              "[{\"action\": \"accept\", \"content\": {\"n\": 1}}, {\"action\": \"decline\"}]");
    ran_done(&r);
    end();
}

TEST(no_clock_runs_while_a_person_thinks)
{
    struct ran r = { 0 };
    begin("two-questions", ",\"timeout\":1");
    ran_start(T, &r, tool("s__go"), "{}");
    toolrun_turn(T, 1600);
    CHECK(!r.over && r.asked == 1);
    r.job.tool->ops->answer(&r.job, true, STR("{\"n\":1}"));
    toolrun_turn(T, 50);
    r.job.tool->ops->answer(&r.job, true, STR("{\"n\":2}"));
    ran_wait(T, &r, 3000);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    end();
}

static void say_yes(struct ran *r)
{
    r->job.tool->ops->answer(&r->job, true, STR("{}"));
}

/* Two calls at once; a question comes that does not say whose it is. */
static void two_calls(const char *mode, const char *other, unsigned asked, const char *doubt,
                      const char *text)
{
    struct ran a = { .on_ask = say_yes }, b = { .on_ask = say_yes };

    begin(mode, "");
    ran_start(T, &a, tool("s__go"), "{}");
    ran_start(T, &b, tool("s__go"), "{}");
    b.job.owner = str_c(other);
    ran_wait(T, &a, 3000);
    ran_wait(T, &b, 3000);
    CHECK(a.asked + b.asked == asked);
    if (doubt && !str_has(b.question, doubt))
        test_check_str(__FILE__, __LINE__, b.question, str_c(doubt));
    CHECK_STR(a.text, text);
    CHECK_STR(b.text, text);
    ran_done(&a);
    ran_done(&b);
    end();
}

TEST(a_question_that_may_be_for_another_person_is_put_to_nobody)
{
    two_calls("asks-at-two", "mallory", 0, NULL, "cancel");
    two_calls("asks-at-two", "me", 1,
              "The server s asks, and does not say for which of its calls: \"Whose?\"", "accept");
}

TEST(a_question_that_names_its_call_is_put_to_that_one)
{
    two_calls("asks-by-token", "mallory", 1, NULL, "accept");
}

/* The wrong person says yes: one's call is given up, the server asks about it later, when another's
 * is open. */
static void asked_late(const char *more, bool stop, const char *other, const char *text)
{
    struct ran   a = { .on_ask = say_yes }, b = { .on_ask = say_yes };
    struct tool *t;

    begin("asks-late", more);
    t = tool("s__go");
    ran_start(T, &a, t, "{}");
    toolrun_turn(T, 50);
    if (stop) t->ops->cancel(&a.job);
    ran_wait(T, &a, 5000);
    CHECK(a.outcome == TOOL_UNKNOWN);
    ran_start(T, &b, t, "{}");
    b.job.owner = str_c(other);
    ran_wait(T, &b, 3000);
    CHECK_STR(b.text, text);
    if (b.asked)
        CHECK(str_has(b.question,
                      "The server s asks, perhaps for a call that was stopped before: \"Pay"));
    ran_done(&a);
    ran_done(&b);
    end();
}

TEST(a_late_question_of_a_stopped_call_is_put_to_nobody)
{
    asked_late("", true, "bob", "cancel");
}
TEST(a_late_question_of_a_call_given_up_is_put_to_nobody)
{
    asked_late(",\"timeout\":0.5", false, "bob", "cancel");
}
TEST(a_late_question_of_ones_own_call_says_so)
{
    asked_late("", true, "me", "accept");
}

/* ... and once it is at rest the connection is made anew, on which questions can be told apart
 * again. */
TEST(after_a_question_of_nobody_the_connection_is_made_anew)
{
    struct ran a = { 0 }, b = { .on_ask = say_yes };

    begin("asks-on", "");
    ran_start(T, &a, tool("s__go"), "{}");
    toolrun_while(T, !a.asked);
    a.job.tool->ops->cancel(&a.job);
    ran_wait(T, &a, 2000);
    ran_start(T, &b, tool("s__go"), "{}");
    b.job.owner = STR("bob");
    ran_wait(T, &b, 3000);
    CHECK(b.asked == 0);
    CHECK_STR(b.text, "cancel");
    ran_done(&b);
    CHECK(M->given_up_any && M->renew_ms);
    toolrun_while(T, (M->given_up_any || !mcp_ready(M)));
    CHECK(!M->given_up_any && !M->renew_ms && mcp_ready(M));
    ran_start(T, &b, tool("s__go"), "{}");
    b.job.owner = STR("bob");
    ran_wait(T, &b, 3000);
    CHECK(b.asked == 1);
    CHECK_STR(b.text, "accept");
    ran_done(&a);
    ran_done(&b);
    end();
}

/* A line break between two parts of the arguments would let what stands behind it through as a
 * message of ours. */
TEST(arguments_with_line_breaks_are_one_message)
{
    struct ran r;
    begin("count", "");
    ran_run(T, &r, tool("s__go"),
            "{\"a\":\n{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/"
            "call\",\"params\":{\"name\":\"pay\",\"arguments\":{}}}\r\n}");
    CHECK_STR(r.text, "go");
    ran_done(&r);
    call_gives(TOOL_DONE, "go go");
    end();
}

/* --- servers that want too much of us --------------------------------------------------------- */

TEST(a_server_that_pings_and_does_not_read_costs_little)
{
    struct ran r = { 0 };
    size_t     most = 0;
    begin("deaf", "");
    ran_start(T, &r, tool("s__go"), "{}");
    for (int i = 0; i < 100; i++) {
        toolrun_turn(T, 10);
        if (mcp_unsent(M) > most) most = mcp_unsent(M);
    }
    CHECK(M->rude && most > 0 && most < 128 * 1024);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 2000);
    ran_done(&r);
    end();
}

TEST(a_server_that_does_not_read_its_calls_is_ended_in_words)
{
    struct ran   r[8] = { 0 };
    struct buf   big;
    struct tool *t;

    begin("asleep", "");
    t = tool("s__go");
    buf_init(&big, 0);
    buf_lit(&big, "{\"a\":\"");
    for (int i = 0; i < (4 << 20) / 16; i++) buf_lit(&big, "0123456789abcdef");
    buf_lit(&big, "\"}");
    buf_chr(&big, 0);
    for (int i = 0; i < 8; i++) ran_start(T, &r[i], t, big.ptr);
    CHECK(mcp_unsent(M) <= 16u << 20);
    for (int i = 0; i < 8; i++) {
        ran_wait(T, &r[i], 5000);
        CHECK(r[i].outcome == TOOL_UNKNOWN);
        ran_done(&r[i]);
    }
    state_has("does not read what is sent to it");
    buf_done(&big);
    end();
}

TEST(a_call_stopped_at_the_server_is_unknown_whatever_its_policy)
{
    struct tool *t;

    begin("mute", "");
    t = tool("s__go");
    for (int i = 0; i < 3; i++) {
        struct ran r = { 0 };
        /* the risk is still high: nobody vouches for the server */
        if (i > 0) t->confirm = CONFIRM_NEVER;
        if (i > 1) t->risk = STR("low");
        ran_start(T, &r, t, "{}");
        toolrun_turn(T, 50);
        r.job.tool->ops->cancel(&r.job);
        ran_wait(T, &r, 1000);
        CHECK(r.outcome == TOOL_UNKNOWN);
        CHECK(str_has(r.text, "after it had begun"));
        ran_done(&r);
    }
    end();
}

TEST(a_cancelled_call_answers_its_open_question)
{
    struct ran r = { 0 };
    begin("two-questions", "");
    tool("s__go")->confirm = CONFIRM_NEVER;
    tool("s__go")->risk = STR("low");
    ran_start(T, &r, tool("s__go"), "{}");
    toolrun_while(T, !r.asked);
    r.job.tool->ops->cancel(&r.job);
    CHECK(!r.over); /* never from inside cancel */
    ran_wait(T, &r, 1000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    ran_done(&r);
    end();
}

/* --- what becomes of a call: a test per row of docs/outcomes.md --------------------- */

static void row(const char *mode, enum tool_outcome outcome, const char *text)
{
    begin(mode, "");
    call_gives(outcome, text);
    end();
}

#define NOT_KNOWN " Whether it had an effect is not known."

TEST(mcp_a_result_is_done)
{
    row("after", TOOL_DONE, "done");
}
TEST(mcp_a_result_that_is_an_error_has_failed)
{
    row("is-error", TOOL_FAILED, "no money");
}
TEST(mcp_a_result_that_is_no_object_is_done)
{
    row("result:5", TOOL_DONE, "5");
}
TEST(mcp_a_result_is_not_unsaid_by_an_error)
{
    row("result-error", TOOL_DONE, "paid");
}
TEST(mcp_an_error_is_not_unsaid_by_a_result)
{
    row("error-result", TOOL_FAILED, "The server refused: not paid");
}
TEST(mcp_a_result_and_an_error_at_once_are_unknown)
{
    row("both", TOOL_UNKNOWN,
        "The server refused: it answered with a result and an error at once." NOT_KNOWN);
}
TEST(mcp_a_strange_kind_of_result_is_unknown)
{
    row("strange-result", TOOL_UNKNOWN,
        "It answered with a kind of result that is not known here: mystery." NOT_KNOWN);
}
TEST(mcp_errors_are_told_in_clean_words)
{
    row("error", TOOL_FAILED, "The server refused: out of [31mpaper");
}
TEST(mcp_a_message_it_could_not_read_has_failed)
{
    row("error:-32700", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_an_invalid_request_has_failed)
{
    row("error:-32600", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_a_method_it_does_not_have_has_failed)
{
    row("error:-32601", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_wrong_parameters_have_failed)
{
    row("error:-32602", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_an_address_that_is_wanted_first_has_failed)
{
    row("error:-32042", TOOL_FAILED, "The server refused: because");
}
TEST(mcp_an_internal_error_is_unknown)
{
    row("error:-32603", TOOL_UNKNOWN, "The server refused: because." NOT_KNOWN);
}
TEST(mcp_an_error_of_its_own_is_unknown)
{
    row("error:-32000", TOOL_UNKNOWN, "The server refused: because." NOT_KNOWN);
}
TEST(mcp_an_error_without_a_code_is_unknown)
{
    row("error:0", TOOL_UNKNOWN, "The server refused: because." NOT_KNOWN);
}
TEST(mcp_a_server_that_dies_is_unknown)
{
    row("dies", TOOL_UNKNOWN, "There is no answer, its process ended." NOT_KNOWN);
}
TEST(mcp_input_that_nobody_can_give_is_unknown)
{
    row("modern-wants", TOOL_UNKNOWN,
        "It asks for something that this client cannot give: sampling/createMessage." NOT_KNOWN);
}

TEST(mcp_a_result_that_misfits_its_schema_is_done_and_noted)
{
    struct ran r;
    begin("misfit", "");
    ran_run(T, &r, tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_DONE && str_has(r.note, "does not fit what it promises"));
    CHECK_STR(r.text, "paid");
    CHECK_STR(r.value, "{\"other\": 1}");
    ran_done(&r);
    end();
}

/* One yes, two payments: these codes mean something in the newer era only. */
TEST(mcp_an_old_servers_own_error_is_unknown_and_never_sent_again)
{
    static const char *const modes[] = { "error:-32020", "error:-32021", "error:-32022" };
    for (int i = 0; i < 3; i++) {
        struct ran r;
        begin(modes[i], "");
        int64_t before = M->next_id;
        ran_run(T, &r, tool("s__go"), "{}");
        CHECK(r.outcome == TOOL_UNKNOWN);
        /* a fresh list, which used to bring the call back, is a second away */
        toolrun_turn(T, 1200);
        CHECK(M->next_id == before + 1);
        ran_done(&r);
        end();
    }
}

/* Asked and answered: the server has had it, so what does not get through afterwards is not "never
 * began". */
TEST(mcp_a_call_that_asked_has_left)
{
    struct ran   r;
    struct tool *t;

    begin("modern-asks", "");
    t = tool("s__go");
    ran_run(T, &r, t, "{}");
    CHECK(r.outcome == TOOL_ASKS);
    struct str resume = arena_dup(&T->reg.arena, r.resume);
    ran_done(&r);
    M->state = MCP_DOWN; /* away, when the answer comes */
    r = (struct ran){ 0 };
    ran_start_with(T, &r, t, "{}", resume);
    ran_wait(T, &r, 2000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    ran_done(&r);
    M->state = MCP_READY;
    end();
}

TEST(answers_of_others_are_not_taken)
{
    begin("other-ids", "");
    call_gives(TOOL_DONE, "yours");
    end();
}

TEST(a_call_under_way_when_the_server_is_stopped_is_unknown)
{
    struct ran   r = { 0 };
    struct tool *t;

    begin("silent-call", "");
    t = tool("s__go");
    ran_start(T, &r, t, "{}");
    toolrun_turn(T, 50);
    stopped = false;
    mcp_stop(M, on_stopped);
    CHECK(r.over && r.outcome == TOOL_UNKNOWN);
    toolrun_wait(T, &stopped, 8000);
    CHECK(!registry_find(&T->reg, STR("s__go")));
    CHECK(t->ops->start(t, &r.job) == ERR_GONE);
    ran_done(&r);
    toolrun_free(T);
}

/* --- servers over HTTP ----------------------------------------------------------------------- */

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
    REQUIRE(open_entry(json));
}

static void end_http(void)
{
    stopped = false;
    mcp_stop(M, on_stopped);
    toolrun_wait(T, &stopped, 8000);
    CHECK(stopped);
    httpd_close(&H);
    toolrun_free(T);
}

TEST(a_legacy_session_is_opened_used_and_ended)
{
    begin_http("plain");
    state_has("ready (2025-06-18, 1 tools)");
    call_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_server_that_wants_credentials_is_not_asked_again_and_again)
{
    unsigned n;
    begin_http("auth");
    /* nor is anybody kept waiting for its tools */
    CHECK(!mcp_ready(M) && registry_settled(&T->reg));
    state_has("authorization needed: Bearer scope=\"pay\"");
    n = H.requests;
    toolrun_turn(T, 1500);
    CHECK(H.requests == n);
    end_http();
}

TEST(a_call_that_is_not_allowed_fails_alone)
{
    begin_http("403");
    call_gives(TOOL_FAILED, "The server answered with status 403 (Bearer scope=\"pay\")");
    CHECK(mcp_ready(M));
    call_gives(TOOL_DONE, "paid");
    end_http();
    begin_http("401");
    call_gives(TOOL_FAILED, "The server answered with status 401");
    CHECK(mcp_ready(M));
    call_gives(TOOL_DONE, "paid");
    CHECK(calls == 2 && opened == 1);
    end_http();
}

TEST(a_server_that_let_us_in_before_and_refuses_us_now_is_tried_again)
{
    begin_http("plain");
    call_gives(TOOL_DONE, "paid");
    http_mode = "auth";
    call_gives(TOOL_FAILED, "The server answered with status 401 (Bearer scope=\"pay\")");
    toolrun_while(T, mcp_ready(M));
    state_has("waiting to start again: authorization needed: Bearer scope=\"pay\"");
    http_mode = "plain";
    toolrun_while(T, !mcp_ready(M));
    CHECK(opened == 2);
    call_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_stream_that_breaks_off_is_unknown_and_the_call_is_not_repeated)
{
    struct ran r;
    begin_http("cut");
    ran_run(T, &r, tool("s__go"), "{}");
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
        call_gives(TOOL_DONE, "paid");
        CHECK(calls == i);
    }
    end_http();
}

TEST(a_session_that_is_gone_is_opened_anew_without_repeating_the_call)
{
    begin_http("gone");
    call_gives(TOOL_FAILED, "The server answered with status 404 (its session ended)");
    toolrun_while(T, !mcp_ready(M));
    CHECK(opened == 2 && calls == 1);
    call_gives(TOOL_DONE, "paid");
    end_http();
}

TEST(a_call_stopped_before_it_was_sent_is_cancelled_and_afterwards_unknown)
{
    struct ran r = { 0 };
    begin_http("mute");
    ran_start(T, &r, tool("s__go"), "{}");
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 1000);
    CHECK(r.outcome == TOOL_CANCELLED && calls == 0);
    CHECK_STR(r.text, "It was cancelled before it began.");
    ran_done(&r);
    ran_start(T, &r, tool("s__go"), "{}");
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
    call_gives(outcome, text);
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
    call_gives(TOOL_FAILED, "The server refused: headers");
    toolrun_while(T, lists < 2);
    CHECK(lists == 2 && calls == 1);
    end_http();
}

/* Two people's calls; a question comes on the stream of the first one's. */
TEST(a_question_on_a_calls_own_stream_is_put_to_that_one)
{
    struct ran a = { .on_ask = say_yes }, b = { .on_ask = say_yes };
    begin_http("asks-own");
    ran_start(T, &a, tool("s__go"), "{}");
    toolrun_while(T, calls == 0);
    ran_start(T, &b, tool("s__go"), "{}");
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
    struct ran a = { .on_ask = say_yes };
    begin_http(mode);
    toolrun_while(T, !common);
    ran_start(T, &a, tool("s__go"), "{}");
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
    ran_start(T, &r, tool("s__go"), "{}");
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
    ran_run(T, &r, tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_FAILED && calls == 0 && str_has(r.text, "could not be reached"));
    ran_done(&r);
    stopped = false;
    mcp_stop(M, on_stopped);
    toolrun_wait(T, &stopped, 8000);
    CHECK(stopped);
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
        struct tool *t = tool("s__go");
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

/* --- configuration ---------------------------------------------------------------------------- */

static void refused_as(const char *alias, const char *json, const char *because)
{
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    struct jv      *v;
    struct mcp     *m;
    struct buf      why;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, str_c(json), &v, NULL) == OK);
    CHECK(mcp_read(&m, &host, str_c(alias), v, STR_NONE, &why) != OK);
    if (!str_has(buf_view(&why), because))
        test_check_str(__FILE__, __LINE__, buf_view(&why), str_c(because));
    buf_done(&why);
}

static void refused(const char *json, const char *because)
{
    refused_as("s", json, because);
}

/* "a" with a tool "b__pay" and "a__b" with a tool "pay" would both be a__b__pay, under whichever
 * policy comes first. */
TEST(no_two_servers_can_mean_the_same_tool)
{
    static const char *const bad[] = { "a__b", "a_", "__a", "a__", "_", "", "a/b", "a\"b" };
    T = toolrun_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused_as(bad[i], "{\"command\":\"x\"}", "its name must be");
    toolrun_free(T);
}

/* An argument that is missing would be another command: there is a whole server or none. */
TEST(no_memory_for_an_argument_is_no_server)
{
    struct mcp_host host;
    struct jv      *v;
    struct buf      b;
    unsigned        refused_until = 0, good = 0;

    T = toolrun_new();
    host = (struct mcp_host){ &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    buf_init(&b, 0);
    buf_lit(&b, "{\"command\":\"rm\",\"env\":{\"A\":\"b\"},\"args\":[\"-i\"");
    for (int i = 0; i < 400; i++)
        buf_printf(
            &b, ",\"a-name-that-takes-some-room-%d-0123456789012345678901234567890123456789\"", i);
    buf_lit(&b, "],\"cwd\":\"/");
    /* an allocation of its own, after those of the arguments */
    for (int i = 0; i < 10000; i++) buf_lit(&b, "long/");
    buf_lit(&b, "\"}");
    REQUIRE(json_parse(&T->reg.arena, buf_view(&b), &v, NULL) == OK);
    for (unsigned n = 1; n < 60; n++) {
        struct mcp *m = NULL;
        struct buf  why;
        char        order[20];
        snprintf(order, sizeof order, "mem:%u", n);
        buf_init(&why, 0);
        fault_order(order);
        enum err e = mcp_read(&m, &host, STR("s"), v, STR_NONE, &why);
        fault_order("");
        buf_done(&why);
        if (e != OK) {
            refused_until = n;
            CHECK(good == 0); /* as many allocations as it takes: each of them was needed */
            continue;
        }
        good++;
        stopped = false;
        mcp_stop(m, on_stopped);
        toolrun_wait(T, &stopped, 2000);
    }
    CHECK(refused_until > 3 && good > 3);
    buf_done(&b);
    toolrun_free(T);
}

TEST(a_wrong_entry_of_mcp_servers_is_told_in_a_sentence)
{
    T = toolrun_new();
    unsetenv("PARLEY_NOT_SET");
    refused("[]", "must be an object");
    refused("{}", "either a \"command\" or a \"url\"");
    refused("{\"command\":\"x\",\"url\":\"https://x\"}", "either a \"command\" or a \"url\"");
    refused("{\"command\":7}", "must be a text");
    refused("{\"command\":\"x\",\"args\":\"y\"}", "\"args\" a list");
    refused("{\"command\":\"x\",\"args\":[1]}", "list of texts");
    refused("{\"url\":\"http://example.com/mcp\"}",
            "plain http is for servers on this machine only");
    refused("{\"url\":\"gopher://x\"}", "begins with https");
    refused("{\"url\":\"https://x\",\"type\":\"sse\"}", "not supported");
    refused("{\"url\":\"https://x\",\"era\":\"new\"}", "\"era\" must be");
    refused("{\"url\":\"https://x\",\"confirm\":\"sometimes\"}", "\"confirm\":");
    refused("{\"url\":\"https://x\",\"confirm\":{\"echo\":\"sometimes\"}}", "\"confirm\":");
    refused("{\"url\":\"https://x\",\"trust_annotations\":\"yes\"}", "true or false");
    refused("{\"url\":\"https://x\",\"timeout\":0}", "number of seconds");
    toolrun_free(T);
}
