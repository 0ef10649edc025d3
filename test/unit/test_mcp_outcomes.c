/* test_mcp_outcomes.c -- what becomes of a call to an MCP server over stdio: a test per row of
 * docs/outcomes.md. Those over HTTP are in test_mcp_http.c. */
#include "mcp_help.h"

static void row(const char *mode, enum tool_outcome outcome, const char *text)
{
    fake_begin(mode, "");
    fake_gives(outcome, text);
    fake_end();
}

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
    fake_begin("misfit", "");
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == TOOL_DONE && str_has(r.note, "does not fit what it promises"));
    CHECK_STR(r.text, "paid");
    CHECK_STR(r.value, "{\"other\": 1}");
    ran_done(&r);
    fake_end();
}

/* One yes, two payments: these codes mean something in the newer era only. */
TEST(mcp_an_old_servers_own_error_is_unknown_and_never_sent_again)
{
    static const char *const modes[] = { "error:-32020", "error:-32021", "error:-32022" };
    for (int i = 0; i < 3; i++) {
        struct ran r;
        fake_begin(modes[i], "");
        int64_t before = M->next_id;
        ran_run(T, &r, fake_tool("s__go"), "{}");
        CHECK(r.outcome == TOOL_UNKNOWN);
        /* a fresh list, which used to bring the call back, is a second away */
        toolrun_turn(T, 1200);
        CHECK(M->next_id == before + 1);
        ran_done(&r);
        fake_end();
    }
}

/* Asked and answered: the server has had it, so what does not get through afterwards is not "never
 * began". */
TEST(mcp_a_call_that_asked_has_left)
{
    struct ran   r;
    struct tool *t;

    fake_begin("modern-asks", "");
    t = fake_tool("s__go");
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
    fake_end();
}

TEST(answers_of_others_are_not_taken)
{
    fake_begin("other-ids", "");
    fake_gives(TOOL_DONE, "yours");
    fake_end();
}

TEST(a_call_under_way_when_the_server_is_stopped_is_unknown)
{
    struct ran   r = { 0 };
    struct tool *t;

    fake_begin("silent-call", "");
    t = fake_tool("s__go");
    ran_start(T, &r, t, "{}");
    toolrun_turn(T, 50);
    fake_stopped = false;
    mcp_stop(M, fake_on_stopped);
    CHECK(r.over && r.outcome == TOOL_UNKNOWN);
    toolrun_wait(T, &fake_stopped, 8000);
    CHECK(!registry_find(&T->reg, STR("s__go")));
    CHECK(t->ops->start(t, &r.job) == ERR_GONE);
    ran_done(&r);
    toolrun_free(T);
}
