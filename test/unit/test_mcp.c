/* test_mcp.c -- the MCP client against servers over stdio that behave oddly: their lists, their
 * calls, what they want of us. Their questions are in test_mcp_questions.c, what becomes of a call
 * in test_mcp_outcomes.c, HTTP in test_mcp_http.c. Real servers and the conformance suite:
 * test/mcp. */
#include <stdlib.h>

#include "base/clock.h"
#include "mcp_help.h"

TEST(every_page_of_a_list_is_fetched)
{
    fake_begin("pages", "");
    fake_state_has("ready (2024-11-05, 5 tools)");
    CHECK(registry_find(&T->reg, STR("s__t0")) && registry_find(&T->reg, STR("s__t4")));
    fake_end();
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
    uint64_t now = clock_mono_ms();
    mcp_start(M);
    CHECK(registry_expects(&T->reg, STR("s__go")) && !registry_expects(&T->reg, STR("t__go")) &&
          !registry_settled(&T->reg));
    /* at least ten seconds, whatever its timeout */
    CHECK(M->source.until_ms >= now + 10000);
    toolrun_while(T, !changes);
    CHECK(changes == 1 && listed_when_told);
    CHECK(!registry_expects(&T->reg, STR("s__nothing")) && registry_settled(&T->reg));
    buf_done(&why);
    fake_end();
}

TEST(a_server_that_does_not_list_is_not_expected_for_ever)
{
    fake_begin("listless", ""); /* settled? not yet: its list is 30 s away from being given up */
    CHECK(registry_expects(&T->reg, STR("s__go")));
    T->reg.changed = on_tools;
    changes = 0;
    M->source.until_ms = clock_mono_ms() + 50;
    mcp_rearm(M);
    toolrun_while(T, !changes);
    CHECK(changes == 1 && !listed_when_told && !registry_expects(&T->reg, STR("s__go")) &&
          registry_settled(&T->reg));
    fake_end();
}

TEST(a_server_that_dies_before_it_has_listed_is_still_expected)
{
    fake_begin("old", ""); /* the opening fails; it is tried again in a second */
    CHECK(mcp_settled(M) && !mcp_ready(M) && registry_expects(&T->reg, STR("s__go")));
    fake_end();
}

TEST(a_list_without_end_is_given_up)
{
    fake_begin("endless", "");
    CHECK(!mcp_ready(M));
    fake_state_has("does not end");
    fake_end();
}

TEST(a_server_that_is_silent_when_asked_for_its_era_is_an_old_one)
{
    fake_begin("silent", "");
    fake_state_has("ready (2024-11-05, 1 tools)");
    fake_gives(TOOL_DONE, "cancelled"); /* the question was withdrawn */
    fake_end();
}

/* Its answer comes when it was asked in the old way, too: later than any clock of ours. */
TEST(a_server_that_takes_long_to_start_speaks_what_it_says)
{
    fake_begin("modern-slow", "");
    fake_state_has("ready (2026-07-28, 1 tools)");
    fake_gives(TOOL_DONE, "done");
    fake_end();
    fake_begin("slow", ""); /* an old one, likewise */
    fake_state_has("ready (2024-11-05, 1 tools)");
    fake_gives(TOOL_DONE, "done");
    fake_end();
}

TEST(a_version_that_nobody_speaks_is_told)
{
    fake_begin("old", "");
    CHECK(!mcp_ready(M));
    fake_state_has("1999-01-01");
    fake_end();
}

TEST(a_server_that_writes_noise_is_ended)
{
    fake_begin("noise", "");
    CHECK(!mcp_ready(M));
    fake_state_has("not JSON");
    fake_end();
    fake_begin("endless-line", "");
    CHECK(!mcp_ready(M));
    fake_state_has("lines without end");
    fake_end();
}

TEST(a_program_that_is_not_there_is_told)
{
    T = toolrun_new();
    REQUIRE(fake_open("{\"command\":\"no-such-program-here\"}"));
    CHECK(!mcp_ready(M));
    fake_state_has("no-such-program-here is not installed");
    fake_end();
}

TEST(only_usable_tools_are_listed_and_annotations_only_raise)
{
    fake_begin("odd-tools", ",\"confirm\":\"never\"");
    fake_state_has("3 tools");
    CHECK_STR(fake_tool("s__good")->description, "good");
    CHECK(fake_tool("s__good")->confirm == CONFIRM_NEVER);
    CHECK(fake_tool("s__destroy")->confirm == CONFIRM_ALWAYS);
    CHECK_STR(fake_tool("s__a.b c")->wire_name, "s__a_b_c");
    fake_end();
}

TEST(a_changed_definition_has_another_digest_and_an_unchanged_one_is_not_touched)
{
    struct ran   r;
    struct tool *same, *other;
    char         before[TOOL_DIGEST], after[TOOL_DIGEST];

    fake_begin("changing", "");
    same = fake_tool("s__same");
    other = fake_tool("s__other");
    REQUIRE(tool_digest(other, before) == OK);
    ran_run(T, &r, same, "{}");
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    toolrun_while(T, !registry_find(&T->reg, STR("s__late")));
    CHECK(fake_tool("s__same") == same);
    REQUIRE(tool_digest(fake_tool("s__other"), after) == OK);
    CHECK(fake_tool("s__other") != other && strcmp(after, before) != 0);
    CHECK(registry_find(&T->reg, STR("s__late")));
    fake_end();
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
    fake_stopped = false;
    mcp_stop(m, fake_on_stopped);
    toolrun_wait(T, &fake_stopped, 2000);
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
    fake_begin("odd-tools", "");
    struct str runner = fake_tool("s__destroy")->runner;
    CHECK(str_starts(runner, STR("{\"annotations\":{\"destructiveHint\":true},\"server\":{\"args\":"
                                 "[\"test/unit/fake_mcp.py\",\"odd-tools\"],\"base\":\"/")));
    CHECK(str_ends(runner, STR("\"command\":\"python3\"},\"tool\":\"destroy\",\"trust\":false}")));
    fake_end();
}

/* How often the restless server was asked for its tools so far; each answer says they changed. */
static unsigned lists_so_far(void)
{
    struct ran r;
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_DONE);
    unsigned n = (unsigned)strtoul(r.text.ptr, NULL, 10);
    ran_done(&r);
    return n;
}

TEST(a_server_that_keeps_changing_its_tools_is_asked_once_a_second)
{
    uint64_t from = clock_mono_ms();
    unsigned lists = 0;
    fake_begin("restless", "");
    for (int i = 0; i < 20; i++) lists = lists_so_far();
    CHECK(lists >= 1 && lists <= 1 + (clock_mono_ms() - from) / 1000);
    toolrun_while(T, lists_so_far() <= lists); /* the change was not forgotten */
    CHECK(lists_so_far() > lists);
    fake_end();
}

TEST(a_server_that_has_filled_its_share_keeps_the_tools_it_has)
{
    struct ran   r;
    struct tool *same, *other;

    fake_begin("changing", "");
    same = fake_tool("s__same");
    other = fake_tool("s__other");
    CHECK(M->kept > 0 && M->kept < M->kept_max);
    M->kept_max = M->kept;
    ran_run(T, &r, same, "{}");
    ran_done(&r);
    size_t before = T->reg.arena.used;
    toolrun_while(T, !M->full);
    CHECK(M->full && fake_tool("s__same") == same && fake_tool("s__other") == other);
    CHECK_STR(other->description, "version 1");
    CHECK(!registry_find(&T->reg, STR("s__late")));
    CHECK(T->reg.arena.used == before);
    fake_end();
}

TEST(a_call_that_gets_no_answer_is_unknown_and_cancelled)
{
    struct ran r;
    fake_begin("silent-call", ",\"timeout\":4"); /* for the second call, which is answered */
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_UNKNOWN && r.ms >= 3900);
    CHECK(str_has(r.text, "Whether it had an effect is not known"));
    ran_done(&r);
    fake_gives(TOOL_DONE, "cancelled"); /* the server was told */
    fake_end();
}

/* A line break between two parts of the arguments would let what stands behind it through as a
 * message of ours. */
TEST(arguments_with_line_breaks_are_one_message)
{
    struct ran r;
    fake_begin("count", "");
    ran_run(T, &r, fake_tool("s__go"),
            "{\"a\":\n{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/"
            "call\",\"params\":{\"name\":\"pay\",\"arguments\":{}}}\r\n}");
    CHECK_STR(r.text, "go");
    ran_done(&r);
    fake_gives(TOOL_DONE, "go go");
    fake_end();
}

/* --- servers that want too much of us --------------------------------------------------------- */

TEST(a_server_that_pings_and_does_not_read_costs_little)
{
    struct ran r = { 0 };
    size_t     most = 0;
    fake_begin("deaf", "");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    /* until it is too much, and some turns beyond */
    for (int i = 0; i < 50; i += M->rude) {
        toolrun_turn(T, 10);
        if (mcp_unsent(M) > most) most = mcp_unsent(M);
    }
    CHECK(most > 0 && most < 128 * 1024);
    r.job.tool->ops->cancel(&r.job);
    ran_wait(T, &r, 2000);
    ran_done(&r);
    fake_end();
}

TEST(a_server_that_does_not_read_its_calls_is_ended_in_words)
{
    struct ran   r[8] = { 0 };
    struct buf   big;
    struct tool *t;

    fake_begin("asleep", "");
    t = fake_tool("s__go");
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
    fake_state_has("does not read what is sent to it");
    buf_done(&big);
    fake_end();
}

TEST(a_call_stopped_at_the_server_is_unknown_whatever_its_policy)
{
    struct tool *t;

    fake_begin("mute", "");
    t = fake_tool("s__go");
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
    fake_end();
}
