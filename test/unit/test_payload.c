/* The payload of a run: entry N is marker N, what waits is listed with its buttons, the sum is the
 * run's. */
#include "dialect/payload.h"
#include "tale.h"

static struct jv *payload(struct arena *a, struct tale *t, const char *run, uint64_t seq)
{
    struct buf   b;
    struct jsonw w;
    struct jv   *v;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    payload_write(&w, tale_fold(t), fold_run(tale_fold(t), str_c(run)), seq, STR("t_1"), 0);
    jw_end_obj(&w);
    REQUIRE(!b.err);
    struct str text = arena_dup(a, buf_view(&b));
    buf_done(&b);
    REQUIRE(json_parse(a, text, &v, NULL) == OK);
    return v;
}

/* Two calls that end in the other order than they were made, one of them refused. */
static void two_calls(struct tale *t)
{
    tale_init(t);
    tale_message(t, "run_1", "Pay and tell");
    tale_step(t, "run_1", "calls", 3, words("Two."),
              call("call-1", "pay", "{\"amount\":50}", GATE_ASK),
              call("call-2", "weather", "{}", GATE_FREE));
    tale_started(t, "call-2");
    tale_asked(t, "call-1");
    tale_fact(t, (struct fact){ .kind = FACT_FINISHED,
                                .call = STR("call-2"),
                                .outcome = WORD_DONE,
                                .text = STR("warm"),
                                .value = STR("{\"c\":20}"),
                                .ms = 7 });
    tale_decided(t, "call-1", WORD_DENIED);
    tale_finished(t, "call-1", WORD_DENIED, "no");
    tale_step(t, "run_1", "end", 1, words("Well."));
    tale_ended(t, "run_1", WORD_COMPLETE);
}

TEST(the_history_is_in_the_order_of_the_outcomes)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    two_calls(&t);
    struct jv       *p = payload(&a, &t, "run_1", tale_fold(&t)->count);
    const struct jv *h = jv_get(p, "tool_history");
    REQUIRE(h && h->count == 2);
    CHECK_STR(jv_str_at(p, "message"), "Two.\n\n[[tool:0]]\n\n[[tool:1]]\n\nWell.");
    CHECK_STR(jv_at(h, 0)->raw,
              "{\"tool_name\":\"weather\",\"input\":{},\"output\":\"warm\",\"tool_use_id\":\"call-"
              "2\",\"ok\":true,\"ms\":7,\"outcome\":\"done\",\"value\":{\"c\":20}}");
    CHECK_STR(jv_str_at(jv_at(h, 1), "tool_name"), "pay");
    CHECK(!jv_true(jv_get(jv_at(h, 1), "ok")));
    CHECK(jv_equal(jv_get(jv_get(p, "custom_payload"), "data"), h));
    CHECK_STR(jv_str_at(jv_get(p, "custom_payload"), "type"), "tool_history");
    CHECK_STR(jv_get(p, "usage")->raw, "{\"input_tokens\":20,\"output_tokens\":6}");
    CHECK(!jv_get(p, "awaiting") && !jv_get(p, "suggested_values") &&
          !jv_get(p, "suggested_actions"));
    arena_done(&a);
    tale_done(&t);
}

TEST(a_payload_of_an_earlier_place_is_what_it_was_then)
{
    struct tale  whole;
    struct arena a;
    arena_init(&a, 0);
    two_calls(&whole);
    for (size_t n = 2; n <= tale_fold(&whole)->count; n++) {
        struct tale then;
        tale_again(&then, &whole, n);
        CHECK(jv_equal(payload(&a, &whole, "run_1", n), payload(&a, &then, "run_1", n)));
        tale_done(&then);
    }
    arena_done(&a);
    tale_done(&whole);
}

TEST(what_waits_is_listed_with_two_buttons_each)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    two_calls(&t);
    struct jv *p = payload(&a, &t, "run_1", 5);
    CHECK_STR(jv_get(p, "awaiting")->raw, "[\"confirmation-call-1\"]");
    const struct jv *actions = jv_get(p, "suggested_actions");
    REQUIRE(actions && actions->count == 2);
    CHECK_STR(jv_str_at(jv_at(actions, 0), "action"), "approve");
    CHECK_STR(jv_str_at(jv_at(actions, 1), "action"), "deny");
    CHECK_STR(jv_get(jv_at(actions, 1), "data")->raw,
              "{\"confirmation_id\":\"confirmation-call-1\"}");
    arena_done(&a);
    tale_done(&t);
}

TEST(what_the_model_presented_takes_the_place_of_the_history)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Propose");
    tale_step(
        &t, "run_1", "calls", 3, words("Here."),
        call("call-1", "present", "{\"type\":\"schema_proposal\",\"data\":{\"id\":1}}", GATE_REPLY),
        call("call-2", "suggest_actions", "{\"actions\":[{\"label\":\"Go\"}]}", GATE_REPLY));
    tale_finished(&t, "call-1", WORD_DONE, "Shown.");
    tale_finished(&t, "call-2", WORD_DONE, "Shown.");
    tale_ended(&t, "run_1", WORD_COMPLETE);
    struct jv *p = payload(&a, &t, "run_1", tale_fold(&t)->count);
    CHECK_STR(jv_str_at(p, "message"), "Here.");
    CHECK_STR(jv_get(p, "custom_payload")->raw,
              "{\"type\":\"schema_proposal\",\"data\":{\"id\":1}}");
    CHECK_STR(jv_get(p, "suggested_actions")->raw, "[{\"label\":\"Go\"}]");
    CHECK(!jv_get(p, "tool_history"));
    arena_done(&a);
    tale_done(&t);
}

TEST(a_run_does_not_speak_for_another)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    two_calls(&t);
    tale_message(&t, "run_2", "Thanks");
    tale_step(&t, "run_2", "end", 1, words("Welcome."));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    struct jv *p = payload(&a, &t, "run_2", tale_fold(&t)->count);
    CHECK_STR(jv_str_at(p, "message"), "Welcome.");
    CHECK(!jv_get(p, "tool_history") && !jv_get(p, "custom_payload"));
    CHECK_STR(jv_get(p, "usage")->raw, "{\"input_tokens\":10,\"output_tokens\":3}");
    CHECK_STR(jv_str_at(payload(&a, &t, "run_1", tale_fold(&t)->count), "message"),
              "Two.\n\n[[tool:0]]\n\n[[tool:1]]\n\nWell.");
    arena_done(&a);
    tale_done(&t);
}
