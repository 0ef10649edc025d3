/* The history as UIMessages: the states of tool parts, in both forms. */
#include "dialect/uimessages.h"
#include "tale.h"

static struct str shown(struct arena *a, struct tale *t, enum approval_form form)
{
    struct buf   b = { 0 };
    struct jsonw w;
    jsonw_init(&w, &b);
    CHECK(uimessages_write(&w, &t->thread, form, &(struct uipage){ 0 }) == OK);
    struct str s = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

static const struct jv *messages(struct arena *a, struct tale *t, enum approval_form form)
{
    struct jv *v;
    REQUIRE(json_parse(a, shown(a, t, form), &v, NULL) == OK);
    return v;
}

static const struct jv *part(const struct jv *list, size_t message, const char *type)
{
    JV_EACH (p, jv_get(jv_at(list, message), "parts"))
        if (str_is(jv_str_at(p, "type"), type)) return p;
    return NULL;
}

static void at_gate(struct tale *t, bool client)
{
    struct part p = call("call-1", "pay", "{\"amount\":50}", GATE_ASK);
    p.client = client;
    tale_init(t);
    tale_message(t, "run_1", "Pay");
    tale_step(t, "run_1", "calls", 2, words("Let me."), p);
    tale_asked(t, "call-1");
}

static void ends(struct tale *t)
{
    tale_step(t, "run_1", "end", 1, words("Well."));
    tale_ended(t, "run_1", WORD_COMPLETE);
}

TEST(a_waiting_question_is_in_the_history_so_that_a_reloaded_page_has_its_buttons)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    at_gate(&t, false);
    const struct jv *p = part(messages(&a, &t, FORM_NATIVE), 1, "tool-pay");
    CHECK_STR(jv_str_at(p, "state"), "approval-requested");
    CHECK_STR(jv_get(p, "approval")->raw, "{\"id\":\"confirmation-call-1\"}");
    CHECK(!jv_get(p, "providerExecuted"));
    const struct jv *adk = messages(&a, &t, FORM_ADK);
    p = part(adk, 1, "tool-adk_request_confirmation");
    CHECK_STR(jv_str_at(p, "state"), "input-available");
    CHECK_STR(jv_str_at(p, "toolCallId"), "confirmation-call-1");
    CHECK(!part(adk, 1, "tool-pay"));
    /* in a step of its own */
    CHECK_STR(jv_str_at(jv_at(jv_get(jv_at(adk, 1), "parts"), 2), "type"), "step-start");
    arena_done(&a);
    tale_done(&t);
}

TEST(an_answer_that_is_being_written_is_left_out)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    at_gate(&t, false);
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    CHECK(messages(&a, &t, FORM_NATIVE)->count == 1);
    arena_done(&a);
    tale_done(&t);
}

TEST(each_outcome_has_its_state_and_only_the_approval_that_the_sdk_allows_there)
{
    static const struct {
        enum word   verdict, outcome;
        const char *native, *adk, *approval;
    } CASES[] = {
        { WORD_APPROVED, WORD_DONE, "output-available", "output-available",
          "{\"id\":\"confirmation-call-1\",\"approved\":true}" },
        { WORD_APPROVED, WORD_FAILED, "output-error", "output-error",
          "{\"id\":\"confirmation-call-1\",\"approved\":true}" },
        { WORD_APPROVED, WORD_UNKNOWN, "output-error", "output-error",
          "{\"id\":\"confirmation-call-1\",\"approved\":true}" },
        { WORD_DENIED, WORD_DENIED, "output-denied", "output-error",
          "{\"id\":\"confirmation-call-1\",\"approved\":false}" },
        { WORD_EXPIRED, WORD_EXPIRED, "output-error", "output-error", NULL },
        { WORD_CANCELLED, WORD_CANCELLED, "output-error", "output-error", NULL },
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct tale  t;
        struct arena a;
        arena_init(&a, 0);
        at_gate(&t, false);
        tale_decided(&t, "call-1", CASES[i].verdict);
        if (CASES[i].verdict == WORD_APPROVED) tale_started(&t, "call-1");
        tale_finished(&t, "call-1", CASES[i].outcome, "{\"error\":\"why\"}");
        ends(&t);
        const struct jv *p = part(messages(&a, &t, FORM_NATIVE), 1, "tool-pay"),
                        *approval = jv_get(p, "approval");
        CHECK_STR(jv_str_at(p, "state"), CASES[i].native);
        CHECK(!approval == !CASES[i].approval);
        if (approval && CASES[i].approval) CHECK_STR(approval->raw, CASES[i].approval);
        CHECK(!!jv_get(p, "errorText") == (strcmp(CASES[i].native, "output-error") == 0));
        p = part(messages(&a, &t, FORM_ADK), 1, "tool-pay");
        CHECK_STR(jv_str_at(p, "state"), CASES[i].adk);
        CHECK(!jv_get(p, "approval") && jv_true(jv_get(p, "providerExecuted")));
        arena_done(&a);
        tale_done(&t);
    }
}

TEST(an_offered_client_call_may_be_run_and_a_finished_one_may_not)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    at_gate(&t, true);
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_fact(&t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-1"), .client = true });
    const struct jv *p = part(messages(&a, &t, FORM_NATIVE), 1, "tool-pay");
    CHECK_STR(jv_str_at(p, "state"), "input-available");
    CHECK(!jv_get(p, "providerExecuted") && !jv_get(p, "approval"));
    tale_finished(&t, "call-1", WORD_DONE, "here");
    ends(&t);
    p = part(messages(&a, &t, FORM_NATIVE), 1, "tool-pay");
    CHECK(jv_true(jv_get(p, "providerExecuted")));
    CHECK_STR(jv_str_at(p, "output"), "here");
    arena_done(&a);
    tale_done(&t);
}

TEST(how_long_a_call_took_is_in_the_history_and_of_what_never_ran_nothing_is_said)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 2, call("call-1", "pay", "{}", GATE_FREE),
              call("call-2", "pay", "{}", GATE_ASK));
    tale_asked(&t, "call-2");
    tale_decided(&t, "call-2", WORD_DENIED);
    tale_finished(&t, "call-2", WORD_DENIED, "no");
    tale_started(&t, "call-1");
    tale_fact(&t, (struct fact){ .kind = FACT_FINISHED,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .text = STR("paid"),
                                 .ms = 142 });
    ends(&t);
    const struct jv *m = jv_get(jv_at(messages(&a, &t, FORM_NATIVE), 1), "metadata");
    CHECK_STR(jv_get(m, "toolMs")->raw, "{\"call-1\":142}");
    arena_done(&a);
    tale_done(&t);
}

TEST(an_edit_and_a_retry_show_only_the_branch_that_counts)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "first");
    tale_step(&t, "run_1", "end", 1, words("one"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_RETRY, .run = STR("run_2"), .of = STR("run_1") });
    tale_step(&t, "run_2", "end", 1, words("two"));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    const struct jv *list = messages(&a, &t, FORM_NATIVE);
    CHECK(list->count == 2);
    CHECK_STR(jv_str_at(jv_at(list, 1), "id"), "run_2");
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_3"),
                                 .id = STR("m_2"),
                                 .replaces = STR("m_1"),
                                 .text = STR("other") });
    tale_step(&t, "run_3", "end", 1, words("three"));
    tale_ended(&t, "run_3", WORD_COMPLETE);
    list = messages(&a, &t, FORM_NATIVE);
    CHECK(list->count == 2);
    CHECK_STR(jv_str_at(jv_at(list, 0), "id"), "m_2");
    CHECK_STR(jv_str_at(jv_at(list, 1), "id"), "run_3");
    arena_done(&a);
    tale_done(&t);
}
