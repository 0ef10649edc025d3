/* The fold and the one decision that follows from it: every state of a call and of a run. */
#include "run/response.h"
#include "tale.h"

static bool never(void *ctx, const struct call *c)
{
    (void)ctx;
    (void)c;
    return false;
}
static bool always(void *ctx, const struct call *c)
{
    (void)ctx;
    (void)c;
    return true;
}

static struct next decide(struct tale *t)
{
    return fold_decide(tale_fold(t), never, NULL);
}
static bool is(struct next n, enum next_kind kind, const char *call)
{
    return n.kind == kind && (call ? n.call && str_is(n.call->id, call) : !n.call);
}

/* A run whose first step made these calls. */
static void stepped(struct tale *t, size_t count, struct part a, struct part b)
{
    tale_init(t);
    tale_message(t, "run_1", "hello");
    tale_step(t, "run_1", "calls", count, a, b);
}
#define NO_PART ((struct part){ 0 })

TEST(an_empty_thread_has_nothing_to_do)
{
    struct tale t;
    tale_init(&t);
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(strcmp(fold_state(tale_fold(&t)), "idle") == 0);
    tale_fact(&t, (struct fact){ .kind = FACT_CREATED });
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    tale_done(&t);
}

TEST(a_message_calls_the_model)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    CHECK(strcmp(fold_state(tale_fold(&t)), "running") == 0);
    tale_fact(&t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    CHECK(tale_fold(&t)->run->resumes == 1);
    tale_done(&t);
}

TEST(a_step_without_calls_ends_the_run)
{
    struct tale t;
    stepped(&t, 1, words("Hi."), NO_PART);
    struct next n = decide(&t);
    CHECK(is(n, NEXT_END, NULL) && n.outcome == WORD_COMPLETE);
    tale_ended(&t, "run_1", WORD_COMPLETE);
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(strcmp(fold_state(tale_fold(&t)), "idle") == 0);
    tale_done(&t);
}

/* What a service says of itself; with it the log was read no more, at each start. */
TEST(counts_without_room_for_their_sum_stay_at_the_most)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    for (int i = 0; i < 2; i++)
        tale_fact(&t, (struct fact){ .kind = FACT_STEP,
                                     .run = STR("run_1"),
                                     .stop = STR("end"),
                                     .input_tokens = INT64_MAX,
                                     .output_tokens = INT64_MAX,
                                     .cost = INT64_MAX });
    CHECK(tale_fold(&t)->tokens == INT64_MAX && tale_fold(&t)->cost == INT64_MAX);
    CHECK(tale_fold(&t)->run->input_tokens == INT64_MAX);
    tale_done(&t);
}

TEST(a_free_call_starts_at_once_and_the_model_hears_of_it)
{
    struct tale t;
    int         job;
    stepped(&t, 2, words("Let me."), call("call-1", "weather", "{}", GATE_FREE));
    CHECK(is(decide(&t), NEXT_START, "call-1"));
    tale_started(&t, "call-1");
    tale_call(&t, "call-1")->job = &job;
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(!run_waiting(tale_fold(&t)->run));
    tale_finished(&t, "call-1", WORD_DONE, "warm");
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    CHECK(tale_fold(&t)->run->iterations == 1);
    tale_done(&t);
}

TEST(a_payment_cut_short_is_not_started_again)
{
    struct tale t;
    stepped(&t, 1, call("call-1", "pay", "{}", GATE_ASK), NO_PART);
    tale_asked(&t, "call-1");
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    struct next n = decide(&t);
    CHECK(is(n, NEXT_FINISH, "call-1") && n.outcome == WORD_UNKNOWN && n.text.len > 0);
    tale_finished(&t, "call-1", WORD_UNKNOWN, "Nobody knows.");
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    tale_done(&t);
}

TEST(an_idempotent_call_cut_short_is_run_again)
{
    struct tale t;
    stepped(&t, 1, call("call-1", "search", "{}", GATE_FREE), NO_PART);
    tale_started(&t, "call-1");
    CHECK(is(fold_decide(tale_fold(&t), always, NULL), NEXT_RERUN, "call-1"));
    tale_done(&t);
}

TEST(a_gated_call_is_asked_waits_and_starts_only_after_a_yes)
{
    struct tale t;
    stepped(&t, 1, call("call-1", "pay", "{}", GATE_ASK), NO_PART);
    CHECK(is(decide(&t), NEXT_ASK, "call-1"));
    CHECK(!run_waiting(tale_fold(&t)->run));
    tale_asked(&t, "call-1");
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(run_waiting(tale_fold(&t)->run));
    CHECK(strcmp(fold_state(tale_fold(&t)), "waiting") == 0);
    CHECK(fold_confirmation(tale_fold(&t), STR("confirmation-call-1")) == tale_call(&t, "call-1"));
    CHECK(!fold_confirmation(tale_fold(&t), STR("confirmation-call-2")));
    tale_decided(&t, "call-1", WORD_APPROVED);
    CHECK(is(decide(&t), NEXT_START, "call-1"));
    CHECK(!run_waiting(tale_fold(&t)->run));
    tale_done(&t);
}

TEST(no_verdict_but_yes_lets_a_call_start)
{
    static const enum word NO[] = { WORD_DENIED, WORD_EXPIRED, WORD_CANCELLED };
    for (size_t i = 0; i < 3; i++) {
        struct tale t;
        stepped(&t, 1, call("call-1", "pay", "{}", GATE_ASK), NO_PART);
        tale_asked(&t, "call-1");
        tale_decided(&t, "call-1", NO[i]);
        CHECK(decide(&t).kind != NEXT_START);
        tale_finished(&t, "call-1", NO[i], "no");
        CHECK(is(decide(&t), NEXT_MODEL, NULL));
        tale_done(&t);
    }
}

TEST(free_calls_start_before_questions_are_asked)
{
    struct tale t;
    int         job;
    stepped(&t, 2, call("call-1", "pay", "{}", GATE_ASK),
            call("call-2", "weather", "{}", GATE_FREE));
    CHECK(is(decide(&t), NEXT_START, "call-2"));
    tale_started(&t, "call-2");
    tale_call(&t, "call-2")->job = &job;
    CHECK(is(decide(&t), NEXT_ASK, "call-1"));
    tale_asked(&t, "call-1");
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(!run_waiting(tale_fold(&t)->run)); /* the weather is still under way */
    tale_finished(&t, "call-2", WORD_DONE, "warm");
    CHECK(run_waiting(tale_fold(&t)->run));
    CHECK(is(decide(&t), NEXT_NOTHING, NULL)); /* the model waits for all of them */
    tale_done(&t);
}

TEST(a_call_offered_to_a_browser_waits_and_is_never_uncertain)
{
    struct tale t;
    stepped(&t, 1, call("call-1", "get_location", "{}", GATE_CLIENT), NO_PART);
    CHECK(is(decide(&t), NEXT_START, "call-1"));
    tale_fact(&t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-1"), .client = true });
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    CHECK(run_waiting(tale_fold(&t)->run));
    tale_done(&t);
}

TEST(a_result_that_comes_before_the_gate_is_kept_until_then)
{
    struct tale t;
    struct part p = call("call-1", "get_location", "{}", GATE_ASK);
    p.client = true;
    stepped(&t, 1, p, NO_PART);
    tale_asked(&t, "call-1");
    tale_fact(&t, (struct fact){ .kind = FACT_RESULT,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .value = STR("{\"a\":1}") });
    CHECK(tale_call(&t, "call-1")->state == CALL_ASKED && tale_call(&t, "call-1")->early);
    CHECK(is(decide(&t), NEXT_NOTHING, NULL));
    tale_done(&t);
}

TEST(a_call_that_must_not_run_gets_its_error)
{
    struct tale t;
    stepped(&t, 1, call("call-1", "nothing", "{", GATE_BAD), NO_PART);
    struct next n = decide(&t);
    CHECK(is(n, NEXT_FINISH, "call-1") && n.outcome == WORD_FAILED);
    CHECK_STR(n.text, "No such tool.");
    CHECK(!tale_call(&t, "call-1")->args);
    tale_done(&t);
}

TEST(a_step_of_reply_tools_only_ends_the_run_and_fills_the_payload)
{
    struct tale t;
    stepped(&t, 2,
            call("call-1", "suggest_replies", "{\"replies\":[{\"label\":\"a\",\"value\":\"b\"}]}",
                 GATE_REPLY),
            call("call-2", "present", "{\"type\":\"x\",\"data\":{}}", GATE_REPLY));
    for (int i = 0; i < 2; i++) {
        struct next n = decide(&t);
        REQUIRE(n.kind == NEXT_FINISH && n.outcome == WORD_DONE);
        tale_fact(&t,
                  (struct fact){ .kind = FACT_FINISHED, .call = n.call->id, .outcome = WORD_DONE });
    }
    struct run *r = tale_fold(&t)->run;
    CHECK_STR(r->replies, "[{\"label\":\"a\",\"value\":\"b\"}]");
    CHECK_STR(r->custom, "{\"type\":\"x\",\"data\":{}}");
    CHECK(r->iterations == 0);
    CHECK(is(decide(&t), NEXT_END, NULL));
    tale_done(&t);
}

TEST(a_reply_tool_beside_another_call_is_followed_by_the_model)
{
    struct tale t;
    stepped(&t, 2, call("call-1", "suggest_replies", "{\"replies\":[]}", GATE_REPLY),
            call("call-2", "weather", "{}", GATE_FREE));
    CHECK(tale_fold(&t)->run->iterations == 1);
    tale_finished(&t, "call-1", WORD_DONE, "");
    tale_started(&t, "call-2");
    tale_finished(&t, "call-2", WORD_DONE, "");
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    tale_done(&t);
}

TEST(a_model_that_calls_tools_in_its_closing_answer_is_not_asked_again)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "limit", 2, words("Enough."), call("call-1", "weather", "{}", GATE_BAD));
    CHECK(is(decide(&t), NEXT_FINISH, "call-1"));
    tale_finished(&t, "call-1", WORD_FAILED, "No more tools may be used in this turn.");
    struct next n = decide(&t);
    CHECK(is(n, NEXT_END, NULL) && n.outcome == WORD_COMPLETE);
    tale_done(&t);
}

TEST(a_stop_before_the_first_word_ends_the_run)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    struct next n = decide(&t);
    CHECK(is(n, NEXT_END, NULL) && n.outcome == WORD_CANCELLED);
    tale_done(&t);
}

TEST(a_stop_keeps_the_words_but_none_of_the_calls_of_the_cut_step)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_step(&t, "run_1", "cancelled", 2, words("I was say"),
              call("call-1", "pay", "{}", GATE_BAD));
    CHECK(!tale_call(&t, "call-1"));
    CHECK(is(decide(&t), NEXT_END, NULL));
    tale_done(&t);
}

TEST(a_stop_gives_every_open_call_its_outcome_first)
{
    struct tale t;
    int         job;
    stepped(&t, 2, call("call-1", "weather", "{}", GATE_FREE),
            call("call-2", "pay", "{}", GATE_ASK));
    tale_started(&t, "call-1");
    tale_call(&t, "call-1")->job = &job;
    tale_asked(&t, "call-2");
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_decided(&t, "call-2", WORD_CANCELLED);
    struct next n = decide(&t);
    CHECK(is(n, NEXT_FINISH, "call-2") && n.outcome == WORD_CANCELLED);
    tale_finished(&t, "call-2", WORD_CANCELLED, "Stopped.");
    CHECK(is(decide(&t), NEXT_NOTHING, NULL)); /* the running one reports itself */
    tale_call(&t, "call-1")->job = NULL;       /* ... unless its process is gone */
    n = decide(&t);
    CHECK(is(n, NEXT_FINISH, "call-1") && n.outcome == WORD_UNKNOWN);
    tale_finished(&t, "call-1", WORD_UNKNOWN, "?");
    n = decide(&t);
    CHECK(is(n, NEXT_END, NULL) && n.outcome == WORD_CANCELLED);
    tale_done(&t);
}

TEST(a_tool_that_asks_in_the_middle_of_its_work_waits_for_the_answer)
{
    struct tale t;
    int         job;
    stepped(&t, 1, call("call-1", "deploy", "{}", GATE_FREE), NO_PART);
    tale_started(&t, "call-1");
    tale_call(&t, "call-1")->job = &job;
    tale_asked(&t, "call-1");
    CHECK(tale_call(&t, "call-1")->state == CALL_STARTED && call_pending(tale_call(&t, "call-1")));
    CHECK(run_waiting(tale_fold(&t)->run));
    tale_decided(&t, "call-1", WORD_APPROVED);
    CHECK(!call_pending(tale_call(&t, "call-1")) && !run_waiting(tale_fold(&t)->run));
    CHECK(tale_call(&t, "call-1")->gates == 1);
    tale_done(&t);
}

TEST(a_server_action_is_one_call_and_then_the_model)
{
    struct tale t;
    struct part p = call("call-1", "apply_schema", "{\"schema_id\":1}", GATE_FREE);
    tale_init(&t);
    tale_fact(&t, (struct fact){ .kind = FACT_ACTION,
                                 .run = STR("run_1"),
                                 .action = STR("apply"),
                                 .parts = &p,
                                 .parts_count = 1 });
    CHECK(is(decide(&t), NEXT_START, "call-1"));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "applied");
    CHECK(is(decide(&t), NEXT_MODEL, NULL));
    tale_done(&t);
}

TEST(facts_about_calls_nobody_knows_change_nothing)
{
    struct tale t;
    stepped(&t, 1, words("Hi."), NO_PART);
    tale_finished(&t, "call-9", WORD_DONE, "from a newer version");
    CHECK(is(decide(&t), NEXT_END, NULL));
    tale_done(&t);
}

TEST(runs_are_found_by_id_and_by_place)
{
    struct tale t;
    stepped(&t, 1, words("Hi."), NO_PART);
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_message(&t, "run_2", "again");
    struct fold *f = tale_fold(&t);
    CHECK(fold_run(f, STR("run_1")) == f->runs[0] && fold_run(f, STR("run_2")) == f->run &&
          !fold_run(f, STR("run_3")));
    CHECK(!fold_run_at(f, 0));
    CHECK(fold_run_at(f, 1) == f->runs[0] && fold_run_at(f, 3) == f->runs[0] &&
          fold_run_at(f, 4) == f->runs[1]);
    tale_done(&t);
}

/* A long log with everything in it. */
static void a_full_log(struct tale *t)
{
    struct part action = call("call-4", "apply", "{}", GATE_FREE);
    stepped(t, 2, call("call-1", "pay", "{\"amount\":50}", GATE_ASK),
            call("call-2", "weather", "{}", GATE_FREE));
    tale_started(t, "call-2");
    tale_asked(t, "call-1");
    tale_finished(t, "call-2", WORD_DONE, "warm");
    tale_decided(t, "call-1", WORD_APPROVED);
    tale_started(t, "call-1");
    tale_finished(t, "call-1", WORD_UNKNOWN, "?");
    tale_fact(t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    tale_step(t, "run_1", "calls", 1, call("call-3", "get_location", "{}", GATE_CLIENT));
    tale_fact(t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-3"), .client = true });
    tale_finished(t, "call-3", WORD_DONE, "here");
    tale_step(t, "run_1", "end", 1, words("Done."));
    tale_ended(t, "run_1", WORD_COMPLETE);
    tale_fact(t,
              (struct fact){ .kind = FACT_SETTLED, .call = STR("call-1"), .outcome = WORD_DONE });
    tale_fact(t,
              (struct fact){
                  .kind = FACT_ACTION, .run = STR("run_2"), .parts = &action, .parts_count = 1 });
    tale_fact(t, (struct fact){ .kind = FACT_STOP, .run = STR("run_2") });
    tale_finished(t, "call-4", WORD_CANCELLED, "Stopped.");
    tale_ended(t, "run_2", WORD_CANCELLED);
}

TEST(a_log_read_back_decides_as_it_did_live_at_every_length)
{
    struct tale whole, live;
    a_full_log(&whole);
    tale_init(&live);
    for (size_t n = 1; n <= tale_fold(&whole)->count; n++) {
        struct tale again;
        struct fact f = *tale_fold(&whole)->facts[n - 1];
        tale_again(&again, &whole, n);
        tale_fact(&live, f);
        struct next a = decide(&again), b = decide(&live);
        CHECK(a.kind == b.kind && a.outcome == b.outcome);
        CHECK((a.call != NULL) == (b.call != NULL) && (!a.call || str_eq(a.call->id, b.call->id)));
        CHECK(strcmp(fold_state(tale_fold(&again)), fold_state(tale_fold(&live))) == 0);
        tale_done(&again);
    }
    tale_done(&live);
    tale_done(&whole);
}

TEST(where_a_run_waited_is_known_afterwards)
{
    struct tale whole;
    a_full_log(&whole);
    for (size_t n = 1; n <= tale_fold(&whole)->count; n++) {
        struct tale then;
        tale_again(&then, &whole, n);
        const struct run *r = fold_run_at(tale_fold(&whole), n);
        CHECK(run_waited_at(tale_fold(&whole), r, n) == run_waiting(tale_fold(&then)->run));
        tale_done(&then);
    }
    tale_done(&whole);
}

TEST(every_question_of_a_call_keeps_its_own_verdict)
{
    struct tale              t;
    static const char *const ids[] = { "confirmation-call-1", "confirmation-call-1-2",
                                       "confirmation-call-1-3" };
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "crm__pay", "{}", GATE_ASK));
    tale_asked(&t, "call-1");
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    for (int i = 1; i < 3; i++) {
        tale_fact(&t, (struct fact){ .kind = FACT_ASKED,
                                     .call = STR("call-1"),
                                     .id = str_c(ids[i]),
                                     .ask = STR("Well?"),
                                     .data = STR("{}") });
        CHECK(fold_verdict(tale_fold(&t), str_c(ids[i])) == NULL &&
              str_is(call_gate(tale_call(&t, "call-1"))->id, ids[i]));
        tale_fact(&t, (struct fact){ .kind = FACT_DECIDED,
                                     .call = STR("call-1"),
                                     .id = str_c(ids[i]),
                                     .outcome = WORD_DENIED });
        tale_fact(&t, (struct fact){ .kind = FACT_CONTINUED, .call = STR("call-1") });
    }
    for (int i = 0; i < 3; i++) {
        CHECK(fold_confirmation(tale_fold(&t), str_c(ids[i])) == tale_call(&t, "call-1"));
        CHECK(str_is(fold_asked(tale_fold(&t), str_c(ids[i]))->id, ids[i]));
        CHECK(fold_verdict(tale_fold(&t), str_c(ids[i]))->outcome ==
              (i ? WORD_DENIED : WORD_APPROVED));
    }
    CHECK(!fold_confirmation(tale_fold(&t), STR("confirmation-call-1-4")) &&
          !fold_confirmation(tale_fold(&t), STR("")) && !fold_verdict(tale_fold(&t), STR_NONE));
    tale_done(&t);
}

TEST(a_tool_that_asked_and_rests_needs_nobody_until_it_is_answered_and_goes_on_once)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "crm__pay", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_fact(&t, (struct fact){ .kind = FACT_ASKED,
                                 .call = STR("call-1"),
                                 .id = STR("confirmation-call-1"),
                                 .ask = STR("From where?"),
                                 .data = STR("{}") });
    CHECK(decide(&t).kind == NEXT_NOTHING); /* also after a restart: it is not unknown */
    tale_fact(&t, (struct fact){ .kind = FACT_DECIDED,
                                 .call = STR("call-1"),
                                 .id = STR("confirmation-call-1"),
                                 .outcome = WORD_APPROVED });
    CHECK(is(decide(&t), NEXT_CONTINUE, "call-1"));
    tale_fact(&t, (struct fact){ .kind = FACT_CONTINUED, .call = STR("call-1") });
    struct next n = decide(&t);
    /* a process that is gone may have sent it */
    CHECK(n.kind == NEXT_FINISH && n.outcome == WORD_UNKNOWN);
    tale_done(&t);
}

static void forked(struct tale *t, struct str effects)
{
    tale_fact(t, (struct fact){ .kind = FACT_FORKED, .of = STR("t_1"), .data = effects });
}

TEST(a_fork_carries_what_another_thread_did_as_calls_of_nobody_and_hands_it_on)
{
    struct tale  t, again;
    struct arena a;
    arena_init(&a, 0);
    stepped(&t, 2, call("call-1", "pay", "{\"amount\":50}", GATE_FREE),
            call("call-2", "pay", "{\"amount\":7}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_started(&t, "call-2");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    struct str did = response_effects(&a, tale_fold(&t), STR_NONE);
    CHECK_STR(response_effects(&a, tale_fold(&t), STR("run_2")), "[]");
    CHECK_STR(response_family(tale_fold(&t), STR("t_9")), "t_9");
    tale_init(&again);
    forked(&again, did);
    const struct fold *f = tale_fold(&again);
    REQUIRE(f->carried_count == 2 && f->copied == 1);
    CHECK(!f->call_count && !fold_call(f, STR("call-1")) && is(decide(&again), NEXT_NOTHING, NULL));
    CHECK(call_took_effect(f->carried[0]) && call_took_effect(f->carried[1]));
    CHECK_STR(f->carried[0]->finished->text, "paid");
    CHECK(!f->carried[1]->finished && !f->unsettled);
    CHECK(jv_equal(f->carried[1]->args, tale_call(&t, "call-2")->args));
    CHECK_STR(response_effects(&a, f, STR_NONE), arena_dup(&a, did).ptr);
    CHECK_STR(response_family(f, STR("t_9")), "t_1");
    tale_done(&again);
    tale_done(&t);
    arena_done(&a);
}

TEST(what_certainly_did_not_happen_is_not_carried)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    stepped(&t, 2, call("call-1", "pay", "{\"amount\":50}", GATE_FREE),
            call("call-2", "pay", "{\"amount\":7}", GATE_ASK));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_FAILED, "no money");
    CHECK_STR(response_effects(&a, tale_fold(&t), STR_NONE), "[]");
    tale_done(&t);
    arena_done(&a);
}
