/* test_mcp_questions.c -- what an MCP server asks while a call is under way: it is put to the right
 * person, one question at a time, or to nobody. */
#include "mcp_help.h"

TEST(what_a_server_asks_is_always_answered)
{
    fake_begin("ask-all", "");
    fake_gives(TOOL_DONE, "ok -32601 -32601 -32601 -32602");
    fake_end();
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
    fake_begin("two-questions", "");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    ran_wait(T, &r, 5000);
    CHECK(r.asked == 2);
    CHECK_STR(r.text,
              "[{\"action\": \"accept\", \"content\": {\"n\": 1}}, {\"action\": \"decline\"}]");
    ran_done(&r);
    fake_end();
}

TEST(no_clock_runs_while_a_person_thinks)
{
    struct ran r = { 0 };
    fake_begin("two-questions", ",\"timeout\":4");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    toolrun_while(T, r.asked == 0);
    toolrun_turn(T, 4600);
    CHECK(!r.over && r.asked == 1);
    r.job.tool->ops->answer(&r.job, true, STR("{\"n\":1}"));
    toolrun_while(T, r.asked == 1);
    r.job.tool->ops->answer(&r.job, true, STR("{\"n\":2}"));
    ran_wait(T, &r, 3000);
    CHECK(r.outcome == TOOL_DONE);
    ran_done(&r);
    fake_end();
}

/* Two calls at once; a question comes that does not say whose it is. */
static void two_calls(const char *mode, const char *other, unsigned asked, const char *doubt,
                      const char *text)
{
    struct ran a = { .on_ask = ran_say_yes }, b = { .on_ask = ran_say_yes };

    fake_begin(mode, "");
    ran_start(T, &a, fake_tool("s__go"), "{}");
    ran_start(T, &b, fake_tool("s__go"), "{}");
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
    fake_end();
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
    struct ran   a = { .on_ask = ran_say_yes }, b = { .on_ask = ran_say_yes };
    struct tool *t;

    fake_begin("asks-late", more);
    t = fake_tool("s__go");
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
    fake_end();
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
    struct ran a = { 0 }, b = { .on_ask = ran_say_yes };

    fake_begin("asks-on", "");
    ran_start(T, &a, fake_tool("s__go"), "{}");
    toolrun_while(T, !a.asked);
    a.job.tool->ops->cancel(&a.job);
    ran_wait(T, &a, 2000);
    ran_start(T, &b, fake_tool("s__go"), "{}");
    b.job.owner = STR("bob");
    ran_wait(T, &b, 3000);
    CHECK(b.asked == 0);
    CHECK_STR(b.text, "cancel");
    ran_done(&b);
    CHECK(M->given_up_any && M->renew_ms);
    toolrun_while(T, (M->given_up_any || !mcp_ready(M)));
    CHECK(!M->given_up_any && !M->renew_ms && mcp_ready(M));
    ran_start(T, &b, fake_tool("s__go"), "{}");
    b.job.owner = STR("bob");
    ran_wait(T, &b, 3000);
    CHECK(b.asked == 1);
    CHECK_STR(b.text, "accept");
    ran_done(&a);
    ran_done(&b);
    fake_end();
}

TEST(a_cancelled_call_answers_its_open_question)
{
    struct ran r = { 0 };
    fake_begin("two-questions", "");
    fake_tool("s__go")->confirm = CONFIRM_NEVER;
    fake_tool("s__go")->risk = STR("low");
    ran_start(T, &r, fake_tool("s__go"), "{}");
    toolrun_while(T, !r.asked);
    r.job.tool->ops->cancel(&r.job);
    CHECK(!r.over); /* never from inside cancel */
    ran_wait(T, &r, 1000);
    CHECK(r.outcome == TOOL_UNKNOWN);
    ran_done(&r);
    fake_end();
}
