/* The AI SDK stream: the shapes of each situation, places that mean the same in every
 * view, and thousands of made-up runs held against a strict reader. */
#include "ai_reader.h"
#include "dialect/dialect.h"
#include "dialect/held.h"
#include "tale.h"

#define ROOM 65536

static struct stream_start view(bool native, enum stream_mode mode, const char *run)
{
    return (
        struct stream_start){ .native = native, .mode = mode, .run = run ? str_c(run) : STR_NONE };
}

static struct encoder begin(struct tale *t, struct stream_start s, uint64_t seq)
{
    struct encoder e;
    s.seq = seq;
    encoder_start(&e, &dialect_aisdk, &carrier_sse, NULL, &t->thread, &s);
    return e;
}

/* Everything there is to tell, to the head or the end. */
static enum encoded pull_all(struct encoder *e, struct tale *t, struct buf *out)
{
    enum encoded r = ENCODED_ITEM;
    for (int guard = 0; guard < 10000 && (r == ENCODED_ITEM || r == ENCODED_CUT); guard++)
        r = encode_into(e, &t->thread, out, ROOM);
    CHECK(r == ENCODED_NOTHING || r == ENCODED_END);
    return r;
}

/* The types of what a stream of the run tells that begins after `seq`. */
static struct str types_from(struct arena *a, struct tale *t, struct stream_start s, uint64_t seq,
                             bool continuation)
{
    struct ai_reader r;
    struct buf       wire = { 0 };
    ai_reader_init(&r);
    s.continuation = continuation;
    struct encoder e = begin(t, s, seq);
    pull_all(&e, t, &wire);
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT
              " data-intent tool-input-available tool-approval-request finish-step finish");
    tale_done(&t);
}

TEST(an_adk_gate_has_a_step_of_its_own)
{
    struct tale t;
    at_gate(&t, gated("call-1", false));
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 0, false),
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
            types_from(scratch(), &t, view(native, STREAM_RUN, "run_1"), t.thread.committed, false);
            CHECK(tale_intents() == before);
            for (int i = 0; i < 3; i++)
                types_from(scratch(), &t, view(native, STREAM_RUN, "run_1"), 0, false);
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
        types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 0, false),
        "start start-step data-intent tool-input-start tool-input-available finish-step finish");
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 0, false),
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
        CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 3, true), want);
        snprintf(want, sizeof want,
                 "start start-step tool-input-start tool-input-available %s finish-step " TEXT
                 " finish-step finish",
                 CASES[i].adk);
        CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 3, true), want);
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 3, true),
              "start tool-output-error " TEXT " finish-step finish");
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 3, true),
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 3, true),
              "start tool-input-available finish");
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 3, true),
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
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start data-intent tool-input-available finish-step "
              /* open: the free one still runs */
              "start-step data-intent tool-input-start tool-input-available");
    tale_finished(&t, "call-2", WORD_DONE, "warm");
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start data-intent tool-input-available finish-step "
              "start-step data-intent tool-input-start tool-input-available tool-output-available "
              "finish-step finish");
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 0, false),
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT
              " data-intent tool-input-available finish-step tool-output-available " TEXT
              " finish-step finish");
    CHECK_STR(types_from(scratch(), &t, view(false, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " finish-step start-step tool-input-start tool-input-available "
              "tool-output-available finish-step " TEXT " finish-step finish");
    tale_done(&t);
}

TEST(a_withdrawn_question_shows_nothing_more)
{
    struct tale t;
    struct buf  wire = { 0 };
    at_gate(&t, gated("call-1", false));
    struct encoder e = begin(&t, view(false, STREAM_THREAD, NULL), 0);
    pull_all(&e, &t, &wire);
    buf_clear(&wire);
    tale_decided(&t, "call-1", WORD_CANCELLED);
    tale_finished(&t, "call-1", WORD_CANCELLED, "{\"error\":\"Not decided; the user continued\"}");
    tale_fact(&t, (struct fact){ .kind = FACT_ENDED,
                                 .run = STR("run_1"),
                                 .outcome = WORD_CANCELLED,
                                 .code = STR("superseded") });
    pull_all(&e, &t, &wire);
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
    struct stream_start s = view(true, STREAM_THREAD, NULL);
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
    struct encoder e = begin(&t, view(true, STREAM_THREAD, NULL), 3);
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_decided(&t, "call-1", WORD_CANCELLED);
    tale_finished(&t, "call-1", WORD_CANCELLED, "Stopped before it was run.");
    tale_ended(&t, "run_1", WORD_CANCELLED);
    pull_all(&e, &t, &wire);
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 3, true),
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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 3, true), "start finish");
    tale_decided(&t, "call-1", WORD_APPROVED);
    offer(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "1");
    speaks(&t);
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_THREAD, NULL), 4, true),
              "start tool-input-available tool-output-available " TEXT " finish-step finish");
    tale_done(&t);
}

/* --- one turn is one run ---------------------------------------------------------------------- */

static struct stream_start whole(void)
{
    struct stream_start s = view(false, STREAM_THREAD, NULL);
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

static struct part thought(const char *text)
{
    return (struct part){ .type = STEP_REASONING,
                          .text = str_c(text),
                          .complete = true,
                          .opaque = STR("{\"signature\":\"x\"}") };
}

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
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_1"), 0, false),
              "start " TEXT " tool-input-start tool-input-delta data-intent tool-input-available "
              "tool-output-available finish-step "
              "start-step reasoning-start reasoning-delta reasoning-end finish-step finish");
    tale_message(&t, "run_2", "hello");
    tale_step(&t, "run_2", "end", 1, thought(""));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    CHECK_STR(types_from(scratch(), &t, view(true, STREAM_RUN, "run_2"), 6, false),
              "start start-step text-start text-end finish-step finish");
    tale_done(&t);
}

/* --- an item that is cut ---------------------------------------------------------------------- */

/* Nobody has room to keep the rest, so the item is encoded again for each slice of it; what happened
 * since then must not change it. */
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
            struct encoder e = begin(&t, view(form, STREAM_RUN, "run_1"), 0), f;
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

/* --- made-up runs ----------------------------------------------------------------------------- */

static uint32_t dice_state;
static unsigned dice(unsigned sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

struct world {
    struct tale t;
    char        run[16];
    unsigned    runs, calls, steps;
    char        ids[256][16];
};

/* By the call itself: its id points into a body and has no NUL. */
static void asks(struct world *w, const struct call *c)
{
    char id[64];
    snprintf(id, sizeof id, "confirmation-" STR_FMT, STR_ARG(c->id));
    tale_fact(&w->t, (struct fact){ .kind = FACT_ASKED,
                                    .call = c->id,
                                    .id = str_c(id),
                                    .ask = STR("May I?"),
                                    .risk = STR("high") });
}
static void decides(struct world *w, const struct call *c, enum word verdict)
{
    tale_fact(&w->t,
              (struct fact){
                  .kind = FACT_DECIDED, .call = c->id, .id = c->asked->id, .outcome = verdict });
}
static void finishes(struct world *w, const struct call *c, enum word outcome)
{
    tale_fact(&w->t, (struct fact){ .kind = FACT_FINISHED,
                                    .call = c->id,
                                    .outcome = outcome,
                                    .text = STR("what came of it") });
}

static bool never(void *ctx, const struct call *c)
{
    (void)ctx;
    (void)c;
    return false;
}

static struct part a_part(struct world *w)
{
    static const enum gate GATES[] = { GATE_FREE,   GATE_ASK,   GATE_ASK,
                                       GATE_CLIENT, GATE_REPLY, GATE_BAD };
    if (dice(3) == 0) return words("Some words.");
    if (dice(6) == 0) return thought(dice(2) ? "Hm." : "");
    char *id = w->ids[w->calls];
    snprintf(id, sizeof w->ids[0], "call-%u", w->calls++);
    enum gate   g = GATES[dice(6)];
    struct part p = call(id, g == GATE_REPLY ? "suggest_replies" : "tool", "{}", g);
    if (g == GATE_ASK) p.client = dice(3) == 0;
    if (g == GATE_FREE || g == GATE_CLIENT) p.shown = dice(2);
    return p;
}

static void model_speaks(struct world *w)
{
    struct part parts[4];
    size_t      n = 0, calls = 0, want = w->steps++ > 3 ? 0 : 1 + dice(4);
    for (size_t i = 0; i < want; i++) {
        parts[n] = a_part(w);
        calls += parts[n++].type == STEP_CALL;
    }
    if (!n) parts[n++] = words("The end.");
    tale_fact(&w->t, (struct fact){ .kind = FACT_STEP,
                                    .run = str_c(w->run),
                                    .stop = str_c(calls ? "calls" : "end"),
                                    .provider = STR("demo"),
                                    .parts = parts,
                                    .parts_count = n });
}

static void a_message(struct world *w)
{
    snprintf(w->run, sizeof w->run, "run_%u", ++w->runs);
    w->steps = 0;
    tale_message(&w->t, w->run, "hello");
}

static void withdraw(struct world *w)
{
    struct run *r = tale_fold(&w->t)->run;
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state == CALL_ASKED) decides(w, r->calls[i], WORD_CANCELLED);
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state != CALL_FINISHED) finishes(w, r->calls[i], WORD_CANCELLED);
    tale_fact(&w->t, (struct fact){ .kind = FACT_ENDED,
                                    .run = str_c(w->run),
                                    .outcome = WORD_CANCELLED,
                                    .code = STR("superseded") });
}

static void stop(struct world *w)
{
    struct run *r = tale_fold(&w->t)->run;
    tale_fact(&w->t, (struct fact){ .kind = FACT_STOP, .run = str_c(w->run) });
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state == CALL_ASKED) decides(w, r->calls[i], WORD_CANCELLED);
}

/* Something from outside: an answer, a result, an outcome, a person who has enough. */
static void happens(struct world *w)
{
    static const enum word OUTCOMES[] = { WORD_DONE, WORD_DONE, WORD_FAILED, WORD_UNKNOWN };
    static const enum word VERDICTS[] = { WORD_APPROVED, WORD_APPROVED, WORD_DENIED, WORD_EXPIRED };
    struct run            *r = tale_fold(&w->t)->run;
    unsigned               luck = dice(12);
    if (luck == 0 && run_waiting(r)) {
        withdraw(w);
        a_message(w);
        return;
    }
    if (luck == 1 && !r->stopping) {
        stop(w);
        return;
    }
    struct call *c = NULL;
    for (size_t i = 0, from = dice((unsigned)r->call_count); i < r->call_count && !c; i++) {
        struct call *x = r->calls[(from + i) % r->call_count];
        if (x->state == CALL_ASKED || x->state == CALL_STARTED) c = x;
    }
    if (!c) return;
    if (c->state == CALL_ASKED && c->client && !c->early && dice(3) == 0)
        tale_fact(&w->t, (struct fact){ .kind = FACT_RESULT,
                                        .call = c->id,
                                        .outcome = WORD_DONE,
                                        .value = STR("1") });
    else if (c->state == CALL_ASKED) decides(w, c, VERDICTS[dice(4)]);
    else finishes(w, c, c->client ? WORD_DONE : OUTCOMES[dice(4)]);
}

static void start(struct world *w, struct call *c)
{
    tale_fact(&w->t, (struct fact){ .kind = FACT_STARTED, .call = c->id, .client = c->client });
    if (!c->client) c->job = w;
    else if (c->early) finishes(w, c, WORD_DONE);
}

/* The next thing that a server would append, or that happens to it. False: there is nothing
 * more. */
static bool goes_on(struct world *w)
{
    const struct fold *f = tale_fold(&w->t);
    struct next        n = fold_decide(f, never, NULL);
    switch (n.kind) {
    case NEXT_NOTHING:
        if (!run_live(f->run)) {
            if (w->runs > 2) return false;
            a_message(w);
        } else happens(w);
        return true;
    case NEXT_MODEL:
        if (dice(15) == 0)
            tale_fact(&w->t, (struct fact){ .kind = FACT_ENDED,
                                            .run = str_c(w->run),
                                            .outcome = WORD_ERROR,
                                            .text = STR("It broke.") });
        else model_speaks(w);
        return true;
    case NEXT_ASK: asks(w, n.call); return true;
    case NEXT_START: start(w, n.call); return true;
    case NEXT_FINISH: finishes(w, n.call, n.outcome); return true;
    case NEXT_END: tale_ended(&w->t, w->run, n.outcome); return true;
    case NEXT_CONTINUE:
    case NEXT_RERUN: break;
    }
    must(!"next");
    return false;
}

/* One browser that follows a run over POST: a stream, its end at a gate, and a new one with the
 * answer. */
struct browser {
    struct encoder   e;
    struct ai_reader r;
    bool             streaming, native;
    char             run[16];
};

static void check_reader(struct ai_reader *r, const char *who, uint32_t seed)
{
    if (!r->trouble[0]) return;
    char why[400];
    snprintf(why, sizeof why, "%s, seed %u: %.300s", who, seed, r->trouble);
    test_failed(__FILE__, __LINE__, why);
    longjmp(test_leave, 1);
}

static void stream_ended(struct browser *b, uint32_t seed)
{
    /* superseded: nothing more is said */
    bool withdrawn = !b->r.finished && !b->r.aborted && !b->r.failed;
    b->streaming = false;
    if (!withdrawn) ai_reader_end(&b->r);
    check_reader(&b->r, "stream", seed);
    if (!withdrawn && ai_reader_would_send(&b->r)) {
        char why[400];
        snprintf(why, sizeof why, "seed %u: the client would send for ever after: %.300s", seed,
                 b->r.types.ptr);
        test_failed(__FILE__, __LINE__, why);
        longjmp(test_leave, 1);
    }
}

static void browse(struct browser *b, struct world *w, uint64_t first_new, uint32_t seed)
{
    const struct run *r = tale_fold(&w->t)->run;
    struct buf        wire = { 0 };
    if (!b->streaming) {
        bool     same = str_is(r->id, b->run);
        uint64_t told = b->e.seq;
        if (!same && r->first->seq < first_new) return;
        if (same && run_waiting(r)) return;
        snprintf(b->run, sizeof b->run, "%s", w->run);
        struct stream_start s = view(b->native, STREAM_RUN, b->run);
        s.continuation = true;
        b->e = begin(&w->t, s, same ? told : r->first->seq - 1);
        ai_reader_stream(&b->r, same);
        b->streaming = true;
    }
    enum encoded end = pull_all(&b->e, &w->t, &wire);
    ai_reader_take(&b->r, buf_view(&wire));
    buf_done(&wire);
    check_reader(&b->r, b->native ? "native" : "adk", seed);
    if (end == ENCODED_END) stream_ended(b, seed);
}

static void live_through(uint32_t seed)
{
    struct world   w = { 0 };
    struct browser b[2] = { { .native = true }, { .native = false } };
    dice_state = seed * 2654435761u;
    tale_init(&w.t);
    a_message(&w);
    for (int guard = 0; guard < 300; guard++) {
        uint64_t first_new = tale_fold(&w.t)->count + 1;
        bool     more = goes_on(&w);
        while (more && dice(3) == 0) more = goes_on(&w); /* several facts in one commit */
        for (int i = 0; i < 2; i++) browse(&b[i], &w, guard ? first_new : 1, seed);
        if (!more) break;
    }
    ai_reader_done(&b[0].r);
    ai_reader_done(&b[1].r);
    tale_done(&w.t);
}

TEST(thousands_of_made_up_runs_give_only_streams_that_a_client_can_read_and_never_make_it_loop)
{
    for (uint32_t seed = 1; seed <= 1000; seed++) live_through(seed);
}

/* --- places ----------------------------------------------------------------------------------- */

static void note_begin(struct encoder *e, bool with_id)
{
    (void)with_id;
    buf_printf(e->out, "@%llu.%llu ", (unsigned long long)e->seq, (unsigned long long)e->units);
}
static void note_end(struct encoder *e)
{
    buf_chr(e->out, '\n');
}
static void note_raw(struct encoder *e, struct str text)
{
    (void)e;
    (void)text;
}
static const struct carrier NOTES = { .begin = note_begin, .end = note_end, .raw = note_raw };

static void notes(struct buf *out, struct world *w, bool native, bool quiet, uint64_t seq,
                  uint64_t units)
{
    struct encoder      e;
    struct stream_start s = view(native, STREAM_THREAD, NULL);
    s.quiet_gates = quiet;
    s.seq = seq;
    s.units = units;
    encoder_start(&e, &dialect_aisdk, &NOTES, NULL, &w->t.thread, &s);
    pull_all(&e, &w->t, out);
}

/* Takes up at every place of the notes; the rest must be the rest. A step that is opened in the
 * middle of a model's step may be opened twice: too much, not too little. */
static void resumes(struct world *w, bool native, struct str all, uint32_t seed)
{
    struct str rest = all, line;
    while (str_split(&rest, '\n', &line)) {
        uint64_t   seq, units;
        struct buf again = { 0 };
        struct str place = str_from(line, 1);
        if (!line.len || str_find(line, STR("\"preliminary\"")) >= 0) continue;
        REQUIRE(place_parse(str_cut(place, (size_t)str_find(place, STR(" "))), &seq, &units));
        notes(&again, w, native, false, seq, units);
        struct str got = buf_view(&again);
        if (str_starts(got, line) && str_find(line, STR("\"start-step\"")) >= 0)
            got = str_from(got, line.len + 1);
        if (!str_eq(got, rest.ptr ? rest : STR(""))) {
            char why[200];
            snprintf(why, sizeof why, "seed %u, %s: the rest after " STR_FMT, seed,
                     native ? "native" : "adk", STR_ARG(str_cut(line, 100)));
            test_failed(__FILE__, __LINE__, why);
            buf_done(&again);
            longjmp(test_leave, 1);
        }
        buf_done(&again);
    }
}

/* What a quiet view shows has the same places as the whole: it is the whole with lines left out
 * (and steps opened later). */
static void is_part_of(struct str some, struct str all, uint32_t seed)
{
    struct str line;
    while (str_split(&some, '\n', &line)) {
        if (!line.len || str_find(line, STR("\"start-step\"")) >= 0) continue;
        ptrdiff_t space = str_find(line, STR(" "));
        if (str_find(all, str_cut(line, (size_t)space + 1)) >= 0) continue;
        char why[160];
        snprintf(why, sizeof why, "seed %u: a place of its own: " STR_FMT, seed,
                 STR_ARG(str_cut(line, 100)));
        test_failed(__FILE__, __LINE__, why);
        longjmp(test_leave, 1);
    }
}

TEST(every_place_of_made_up_runs_can_be_taken_up_again_and_means_the_same_in_every_view)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct world w = { 0 };
        dice_state = seed * 2654435761u;
        tale_init(&w.t);
        a_message(&w);
        for (int guard = 0; guard < 300 && goes_on(&w); guard++) {}
        for (int form = 0; form < 2; form++) {
            struct buf all = { 0 }, quiet = { 0 };
            notes(&all, &w, form, false, 0, 0);
            notes(&quiet, &w, form, true, 0, 0);
            resumes(&w, form, buf_view(&all), seed);
            is_part_of(buf_view(&quiet), buf_view(&all), seed);
            buf_done(&all);
            buf_done(&quiet);
        }
        tale_done(&w.t);
    }
}
