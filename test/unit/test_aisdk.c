/* test_aisdk.c -- the AI SDK stream: the shapes of each situation. Made-up runs are in
 * test_aisdk_runs.c, what comes in is in test_aisdk_request.c. */
#include "aisdk_help.h"
#include "dialect/held.h"

/* The types of what a stream of the run tells that begins after `seq`. */
static struct str types_from(struct arena *a, struct tale *t, struct stream_start s, uint64_t seq,
                             bool continuation)
{
    struct ai_reader r;
    struct buf       wire = { 0 };
    ai_reader_init(&r);
    s.continuation = continuation;
    struct encoder e = aisdk_begin(t, s, seq);
    aisdk_pull_all(&e, t, &wire);
    ai_reader_take(&r, buf_view(&wire));
    struct str types = arena_dup(a, buf_view(&r.types));
    ai_reader_done(&r);
    buf_done(&wire);
    return types.ptr ? types : STR("");
}

static struct arena *scratch(void)
{
    static struct arena a;
    arena_done(&a);
    arena_init(&a, 0);
    return &a;
}

static struct part gated(const char *id, bool client)
{
    struct part p =
        call(id, client ? "get_location" : "process_payment", "{\"amount\":50}", GATE_ASK);
    p.client = client;
    return p;
}

static struct part shown(const char *id)
{
    struct part p = call(id, "get_weather", "{\"city\":\"Tokyo\"}", GATE_FREE);
    p.shown = true;
    return p;
}

static void offer(struct tale *t, const char *id)
{
    tale_fact(t, (struct fact){ .kind = FACT_STARTED, .call = str_c(id), .client = true });
}

static void at_gate(struct tale *t, struct part p)
{
    tale_init(t);
    tale_message(t, "run_1", "Pay");
    tale_step(t, "run_1", "calls", 2, words("Let me."), p);
    tale_asked(t, "call-1");
}

static void speaks(struct tale *t)
{
    tale_step(t, "run_1", "end", 1, words("Done."));
    tale_ended(t, "run_1", WORD_COMPLETE);
}

/* --- shapes ------------------------------------------------------------------------------- */

#define TEXT "start-step text-start text-delta text-end"

TEST(a_native_gate_ends_the_stream_with_the_question)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT
              " data-intent tool-input-available tool-approval-request finish-step finish");
    tale_done(&t);
}

TEST(an_adk_gate_has_a_step_of_its_own)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " finish-step start-step data-intent tool-input-start "
              "tool-input-available finish-step finish");
    tale_done(&t);
}

TEST(an_intent_is_measured_when_its_part_is_told_and_not_when_it_is_passed)
{
    for (int native = 0; native < 2; native++)
        for (int ask = 0; ask < 2; ask++) {
            struct tale t;
            unsigned    before = tale_intents();
            at_gate(&t, gated("call-1", false));
            if (!ask) {
                tale_done(&t);
                tale_init(&t);
                tale_message(&t, "run_1", "Weather?");
                tale_step(&t, "run_1", "calls", 1, shown("call-1"));
                tale_started(&t, "call-1");
            }
            metrics_intent_due(STR("call-1"));
            types_from(scratch(), &t, aisdk_view(native, STREAM_RUN, "run_1"), t.thread.committed,
                       false);
            CHECK(tale_intents() == before);
            for (int i = 0; i < 3; i++)
                types_from(scratch(), &t, aisdk_view(native, STREAM_RUN, "run_1"), 0, false);
            CHECK(tale_intents() == before + 1);
            tale_done(&t);
        }
}

TEST(a_gate_without_words_has_no_empty_step)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, gated("call-1", false));
    tale_asked(&t, "call-1");
    CHECK_STR(
        types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 0, false),
        "start start-step data-intent tool-input-start tool-input-available finish-step finish");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 0, false),
              "start start-step data-intent tool-input-available tool-approval-request finish-step "
              "finish");
    tale_done(&t);
}

TEST(a_continuation_tells_the_outcome_first_and_the_words_in_a_new_step)
{
    static const struct {
        enum word   verdict;
        const char *native, *adk;
    } CASES[] = {
        { WORD_APPROVED, "tool-output-available", "tool-output-available" },
        { WORD_DENIED, "tool-output-denied", "tool-output-error" },
        { WORD_EXPIRED, "tool-output-error", "tool-output-error" },
    };
    for (int i = 0; i < 3; i++) {
        struct tale t;
        char        want[256];
        at_gate(&t, gated("call-1", false));
        tale_decided(&t, "call-1", CASES[i].verdict);
        if (CASES[i].verdict == WORD_APPROVED) tale_started(&t, "call-1");
        tale_finished(&t, "call-1",
                      CASES[i].verdict == WORD_APPROVED ? WORD_DONE : CASES[i].verdict,
                      "{\"error\":\"x\"}");
        speaks(&t);
        snprintf(want, sizeof want, "start %s " TEXT " finish-step finish", CASES[i].native);
        CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 3, true), want);
        snprintf(want, sizeof want,
                 "start start-step tool-input-start tool-input-available %s finish-step " TEXT
                 " finish-step finish",
                 CASES[i].adk);
        CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 3, true), want);
        tale_done(&t);
    }
}

TEST(a_question_that_a_person_let_go_is_told_as_an_outcome_and_the_run_goes_on)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    tale_fact(&t, (struct fact){ .kind = FACT_DECIDED,
                                 .id = STR("confirmation-call-1"),
                                 .call = STR("call-1"),
                                 .outcome = WORD_CANCELLED,
                                 .by = STR("ada"),
                                 .via = STR("ag-ui") });
    tale_finished(&t, "call-1", WORD_CANCELLED, "{\"error\":\"Not decided\"}");
    speaks(&t);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 3, true),
              "start tool-output-error " TEXT " finish-step finish");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 3, true),
              "start start-step tool-input-start tool-input-available tool-output-error "
              "finish-step " TEXT " finish-step finish");
    tale_done(&t);
}

TEST(an_approved_client_call_is_announced_without_a_step_in_the_native_form)
{
    struct tale t;
    at_gate(&t, gated("call-1", true));
    tale_decided(&t, "call-1", WORD_APPROVED);
    offer(&t, "call-1");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 3, true),
              "start tool-input-available finish");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 3, true),
              "start start-step tool-input-start tool-input-available finish-step finish");
    tale_done(&t);
}

TEST(a_free_call_beside_a_gate_is_told_before_the_stream_ends)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay and tell");
    tale_step(&t, "run_1", "calls", 3, words("Let me."), gated("call-1", false), shown("call-2"));
    tale_started(&t, "call-2");
    tale_asked(&t, "call-1");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start data-intent tool-input-available finish-step "
              /* open: the free one still runs */
              "start-step data-intent tool-input-start tool-input-available");
    tale_finished(&t, "call-2", WORD_DONE, "warm");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start data-intent tool-input-available finish-step "
              "start-step data-intent tool-input-start tool-input-available tool-output-available "
              "finish-step finish");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start tool-input-delta data-intent tool-input-available "
              "data-intent tool-input-available "
              "tool-approval-request tool-output-available finish-step finish");
    tale_done(&t);
}

TEST(an_answer_that_came_before_the_question_was_told_leaves_it_out)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    speaks(&t);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT
              " data-intent tool-input-available finish-step tool-output-available " TEXT
              " finish-step finish");
    CHECK_STR(types_from(scratch(), &t, aisdk_view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " finish-step start-step tool-input-start tool-input-available "
              "tool-output-available finish-step " TEXT " finish-step finish");
    tale_done(&t);
}

TEST(a_withdrawn_question_shows_nothing_more)
{
    struct tale t;
    struct buf  wire = { 0 };
    at_gate(&t, gated("call-1", false));
    struct encoder e = aisdk_begin(&t, aisdk_view(false, STREAM_THREAD, NULL), 0);
    aisdk_pull_all(&e, &t, &wire);
    buf_clear(&wire);
    tale_decided(&t, "call-1", WORD_CANCELLED);
    tale_finished(&t, "call-1", WORD_CANCELLED, "{\"error\":\"Not decided; the user continued\"}");
    tale_fact(&t, (struct fact){ .kind = FACT_ENDED,
                                 .run = STR("run_1"),
                                 .outcome = WORD_CANCELLED,
                                 .code = STR("superseded") });
    aisdk_pull_all(&e, &t, &wire);
    CHECK(wire.len == 0);
    buf_done(&wire);
    tale_done(&t);
}

TEST(what_happened_before_a_question_was_withdrawn_is_still_told_to_who_comes_later)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay twice");
    tale_step(&t, "run_1", "calls", 1, gated("call-1", false));
    tale_asked(&t, "call-1");
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_step(&t, "run_1", "calls", 1, gated("call-2", false));
    tale_asked(&t, "call-2");
    tale_decided(&t, "call-2", WORD_CANCELLED);
    tale_finished(&t, "call-2", WORD_CANCELLED, "{}");
    tale_fact(&t, (struct fact){ .kind = FACT_ENDED,
                                 .run = STR("run_1"),
                                 .outcome = WORD_CANCELLED,
                                 .code = STR("superseded") });
    struct stream_start s = aisdk_view(true, STREAM_THREAD, NULL);
    s.quiet_gates = true;
    CHECK_STR(types_from(scratch(), &t, s, 0, false),
              "start start-step data-intent tool-input-available finish-step tool-output-available "
              "start-step data-intent tool-input-available finish-step");
    tale_done(&t);
}

TEST(stop_at_a_gate_is_abort_and_nothing_else)
{
    struct tale t;
    struct buf  wire = { 0 };
    at_gate(&t, gated("call-1", false));
    struct encoder e = aisdk_begin(&t, aisdk_view(true, STREAM_THREAD, NULL), 3);
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_decided(&t, "call-1", WORD_CANCELLED);
    tale_finished(&t, "call-1", WORD_CANCELLED, "Stopped before it was run.");
    tale_ended(&t, "run_1", WORD_CANCELLED);
    aisdk_pull_all(&e, &t, &wire);
    CHECK_STR(buf_view(&wire), "data: {\"type\":\"abort\"}\n\ndata: [DONE]\n\n");
    buf_done(&wire);
    tale_done(&t);
}

TEST(a_turn_never_ends_on_a_bare_tool_step)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_ended(&t, "run_1", WORD_CANCELLED);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 3, true),
              "start tool-output-available start-step text-start text-end finish-step abort");
    tale_done(&t);
}

TEST(a_result_kept_for_later_ends_its_stream_at_once)
{
    struct tale t;
    at_gate(&t, gated("call-1", true));
    tale_fact(&t, (struct fact){ .kind = FACT_RESULT,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .value = STR("1") });
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 3, true),
              "start finish");
    tale_decided(&t, "call-1", WORD_APPROVED);
    offer(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "1");
    speaks(&t);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_THREAD, NULL), 4, true),
              "start tool-input-available tool-output-available " TEXT " finish-step finish");
    tale_done(&t);
}

/* --- one turn is one run ---------------------------------------------------------------------- */

static struct stream_start whole(void)
{
    struct stream_start s = aisdk_view(false, STREAM_THREAD, NULL);
    s.whole = true;
    return s;
}

TEST(where_one_turn_is_one_run_a_question_does_not_end_it_and_its_answer_is_told_first)
{
    static const char ASKED[] =
        "start " TEXT
        " finish-step start-step data-intent tool-input-start tool-input-available finish-step";
    static const char PAID[] =
        " tool-output-available start-step tool-input-start tool-input-available "
        "tool-output-available finish-step " TEXT " finish-step finish";
    struct tale t;
    char        all[1024];
    at_gate(&t, gated("call-1", false));
    CHECK_STR(types_from(scratch(), &t, whole(), 0, false), ASKED);
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    speaks(&t);
    snprintf(all, sizeof all, "%s%s", ASKED, PAID);
    /* who comes later is told the same */
    CHECK_STR(types_from(scratch(), &t, whole(), 0, false), all);
    snprintf(all, sizeof all, "start%s", PAID);
    /* a new stream for the answer */
    CHECK_STR(types_from(scratch(), &t, whole(), 3, true), all);
    tale_done(&t);
}

TEST(where_one_turn_is_one_run_an_offered_call_does_not_end_it)
{
    struct tale t;
    at_gate(&t, gated("call-1", true));
    tale_decided(&t, "call-1", WORD_APPROVED);
    offer(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "1");
    speaks(&t);
    CHECK_STR(types_from(scratch(), &t, whole(), 3, true),
              "start tool-output-available start-step tool-input-start tool-input-available "
              "finish-step tool-output-available " TEXT " finish-step finish");
    tale_done(&t);
}

/* --- reasoning -------------------------------------------------------------------------------- */

TEST(reasoning_without_words_is_not_told_and_leaves_no_empty_step_behind)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 3, thought(""), words("Let me."), shown("call-1"));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "warm");
    tale_step(&t, "run_1", "end", 2, thought("Well."), thought(""));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start tool-input-delta data-intent tool-input-available "
              "tool-output-available finish-step "
              "start-step reasoning-start reasoning-delta reasoning-end finish-step finish");
    tale_message(&t, "run_2", "hello");
    tale_step(&t, "run_2", "end", 1, thought(""));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    CHECK_STR(types_from(scratch(), &t, aisdk_view(true, STREAM_RUN, "run_2"), 6, false),
              "start start-step text-start text-end finish-step finish");
    tale_done(&t);
}

/* --- an item that is cut ---------------------------------------------------------------------- */

/* Nobody has room to keep the rest, so the item is encoded again for each slice of it; what
 * happened since then must not change it. */
TEST(an_item_that_was_cut_comes_out_the_same_whatever_happened_meanwhile)
{
    char        *big = mem_alloc(HELD_MAX);
    struct held *full = NULL;
    REQUIRE(big);
    for (int again = 0; again < 2; again++) {
        for (int form = 0; form < 2; form++) {
            struct tale t;
            struct buf  once = { 0 }, twice = { 0 };
            at_gate(&t, gated("call-1", false));
            struct encoder e = aisdk_begin(&t, aisdk_view(form, STREAM_RUN, "run_1"), 0), f;
            do {
                f = e;
                buf_clear(&once);
            } while (encode_into(&e, &t.thread, &once, ROOM) == ENCODED_ITEM);
            /* the last item is the question with the end */
            struct carrier any = carrier_sse;
            any.need = 0;
            f.carrier = &any;
            CHECK(encode_into(&f, &t.thread, &twice, 70) == ENCODED_CUT && twice.len == 70);
            CHECK(encoder_is_cut(&f) && (f.cut.held == NULL) == again);
            tale_decided(&t, "call-1", WORD_APPROVED);
            tale_started(&t, "call-1");
            enum encoded r = ENCODED_CUT;
            while (r == ENCODED_CUT) r = encode_into(&f, &t.thread, &twice, 70);
            CHECK(r == ENCODED_END && !encoder_is_cut(&f) && !f.cut.held);
            CHECK(once.len > 100 && str_eq(buf_view(&once), buf_view(&twice)));
            buf_done(&once);
            buf_done(&twice);
            tale_done(&t);
        }
        if (!again) full = held_take(str_n(big, HELD_MAX - 100), NULL, 0, 0);
        REQUIRE(full);
    }
    held_free(full);
    mem_free(big);
}
