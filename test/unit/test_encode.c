/* Encoders: a seek to every place gives the tail, slices of any size the same words,
 * and what was streamed is what the payload says. */
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "door/app.h"
#include "run/metrics.h"
#include "tale.h"

#define ROOM 65536

/* Everything there is to tell, to the head or the end. */
static void tell_all(struct buf *out, struct tale *t, struct encoder *e, size_t room)
{
    enum encoded r = ENCODED_ITEM;
    for (int guard = 0; guard < 100000 && (r == ENCODED_ITEM || r == ENCODED_CUT); guard++)
        r = encode_into(e, &t->thread, out, room);
    CHECK(r == ENCODED_NOTHING || r == ENCODED_END);
}

/* Everything from `seq`.`units` on, as bytes of the wire. */
static void tell_from(struct buf *out, struct tale *t, struct encoder *e, const struct dialect *d,
                      struct stream_start s, size_t room)
{
    static struct carrier small; /* takes any room */
    small = carrier_sse;
    small.need = 0;
    encoder_start(e, d, &small, NULL, &t->thread, &s);
    e->opened = true;
    tell_all(out, t, e, room);
}

static struct str tell(struct arena *a, struct tale *t, const struct dialect *d,
                       enum stream_mode mode, const char *run, uint64_t seq, uint64_t units,
                       size_t room)
{
    struct encoder e;
    struct buf     b;
    buf_init(&b, 0);
    tell_from(&b, t, &e, d,
              (struct stream_start){
                  .mode = mode, .run = run ? str_c(run) : STR_NONE, .seq = seq, .units = units },
              room);
    struct str s = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

/* The value of "text" (or "content") of every delta, one after the other. */
static struct str words_of(struct arena *a, struct str wire)
{
    struct buf b;
    struct str block;
    buf_init(&b, 0);
    while (str_split(&wire, '\n', &block)) {
        struct jv *v;
        if (!str_starts(block, STR("data: {"))) continue;
        REQUIRE(json_parse(a, arena_dup(a, str_from(block, 6)), &v, NULL) == OK);
        if (str_is(jv_str_at(v, "type"), "text_delta")) buf_str(&b, jv_str_at(v, "text"));
        if (str_is(jv_str_at(v, "type"), "step_reset")) {
            buf_clear(&b);
            buf_str(&b, jv_str_at(v, "message"));
        }
        const struct jv *delta = jv_get(jv_at(jv_get(v, "choices"), 0), "delta");
        if (delta) buf_str(&b, jv_str_at(delta, "content"));
    }
    struct str s = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

static struct str message_of(struct arena *a, struct tale *t, const char *run)
{
    struct buf b;
    buf_init(&b, 0);
    payload_message(&b, tale_fold(t), fold_run(tale_fold(t), str_c(run)), tale_fold(t)->count);
    struct str s = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

/* Two runs: words, a gate beside a free call, a question answered, a reply tool, a second run. */
static void a_long_tale(struct tale *t)
{
    tale_init(t);
    tale_fact(t, (struct fact){ .kind = FACT_CREATED });
    tale_message(t, "run_1", "Pay and tell");
    tale_step(t, "run_1", "calls", 4, words("Let me [[tool:7]] see.\n"), words("\n\nTwo things."),
              call("call-1", "pay", "{\"amount\":50}", GATE_ASK),
              call("call-2", "weather", "{}", GATE_FREE));
    tale_started(t, "call-2");
    tale_asked(t, "call-1");
    tale_finished(t, "call-2", WORD_DONE, "warm");
    tale_fact(t, (struct fact){ .kind = FACT_SETTLED, .call = STR("call-9") });
    tale_decided(t, "call-1", WORD_APPROVED);
    tale_started(t, "call-1");
    tale_finished(t, "call-1", WORD_DONE, "paid");
    tale_step(t, "run_1", "end", 2, words("\n花子さん got 50.\n\n"),
              call("call-3", "suggest_replies", "{\"replies\":[{\"label\":\"a\",\"value\":\"b\"}]}",
                   GATE_REPLY));
    tale_finished(t, "call-3", WORD_DONE, "Shown.");
    tale_ended(t, "run_1", WORD_COMPLETE);
    tale_message(t, "run_2", "Thanks");
    tale_step(t, "run_2", "end", 1, words("You are welcome."));
    tale_ended(t, "run_2", WORD_COMPLETE);
}

/* From each id in `wire`, the rest must come again, byte for byte. */
static size_t resumes_at_every_id(struct tale *t, const struct dialect *d, enum stream_mode mode,
                                  const char *run, struct str wire)
{
    size_t      n = 0;
    const char *end = wire.ptr + wire.len;
    for (ptrdiff_t at; (at = str_find(wire, STR("id: "))) >= 0;) {
        uint64_t   seq, units;
        struct str line = str_from(wire, (size_t)at + 4);
        struct str id = str_cut(line, (size_t)str_find(line, STR("\n")));
        REQUIRE(place_parse(id, &seq, &units));
        wire = str_from(line, (size_t)str_find(line, STR("\n\n")) + 2);
        struct arena a;
        arena_init(&a, 0);
        struct str got = tell(&a, t, d, mode, run, seq, units, ROOM);
        struct str want = str_n(wire.ptr, (size_t)(end - wire.ptr));
        if (!str_eq(got, want)) {
            char why[64];
            snprintf(why, sizeof why, "the tail after " STR_FMT, STR_ARG(id));
            CHECK_STR(got, arena_printf(&a, STR_FMT, STR_ARG(want)).ptr);
            test_failed(__FILE__, __LINE__, why);
        }
        arena_done(&a);
        n++;
    }
    return n;
}

TEST(a_seek_to_every_place_gives_the_tail)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_long_tale(&t);
    CHECK(resumes_at_every_id(&t, &dialect_typed, STREAM_THREAD, NULL,
                              tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 0, 0, ROOM)) >= 15);
    CHECK(resumes_at_every_id(&t, &dialect_typed, STREAM_RUN, "run_1",
                              tell(&a, &t, &dialect_typed, STREAM_RUN, "run_1", 1, 0, ROOM)) >= 10);
    CHECK(resumes_at_every_id(&t, &dialect_typed, STREAM_RUN, "run_2",
                              tell(&a, &t, &dialect_typed, STREAM_RUN, "run_2", 13, 0, ROOM)) >= 2);
    arena_done(&a);
    tale_done(&t);
}

/* --- every dialect that a route names --------------------------------------------------------- */

static void note_begin(struct encoder *e, bool with_id)
{
    if (with_id)
        buf_printf(e->out, "@%llu.%llu ", (unsigned long long)e->seq, (unsigned long long)e->units);
}
static void note_end(struct encoder *e)
{
    buf_chr(e->out, '\n');
}
static void note_raw(struct encoder *e, struct str text)
{
    buf_str(e->out, text);
    buf_chr(e->out, '\n');
}
static const struct carrier NOTES = { .begin = note_begin, .end = note_end, .raw = note_raw };

static void note_from(struct buf *out, struct tale *t, const struct dialect *d,
                      struct stream_start s)
{
    struct encoder e;
    encoder_start(&e, d, &NOTES, NULL, &t->thread, &s);
    e.opened = true;
    tell_all(out, t, &e, ROOM);
}

/* Where two events stand at one place the first may be told twice: too much, not too little.
 * Nothing else may differ. */
static bool is_rest(struct str got, struct str want, struct str line)
{
    static const char *const FIRSTS[] = { "\"start-step\"", "\"REASONING_START\"",
                                          "\"REASONING_MESSAGE_END\"", "\"intent_confirmation\"" };
    for (size_t i = 0; i < 4; i++)
        if (str_starts(got, line) && str_find(line, str_c(FIRSTS[i])) >= 0)
            return str_eq(got, want) || str_eq(str_from(got, line.len + 1), want);
    return str_eq(got, want);
}

static size_t resumes_everywhere(struct tale *t, const struct dialect *d, struct stream_start s)
{
    struct buf all = { 0 };
    struct str line;
    size_t     n = 0;
    note_from(&all, t, d, s);
    for (struct str rest = buf_view(&all); str_split(&rest, '\n', &line);) {
        struct buf again = { 0 };
        char       why[160];
        if (!str_starts(line, STR("@"))) continue; /* it has no place */
        struct str place = str_from(line, 1);
        REQUIRE(place_parse(str_cut(place, (size_t)str_find(place, STR(" "))), &s.seq, &s.units));
        note_from(&again, t, d, s);
        snprintf(why, sizeof why, "%s, %d %d %d: the rest after " STR_FMT, d->name, s.mode,
                 s.native, s.whole, STR_ARG(str_cut(line, 90)));
        if (!is_rest(buf_view(&again), rest.ptr ? rest : STR(""), line))
            test_failed(__FILE__, __LINE__, why);
        buf_done(&again);
        n++;
    }
    buf_done(&all);
    return n;
}

/* A new door is a row in routes.c: its dialect is tried here without another word. */
TEST(every_dialect_of_every_route_can_be_taken_up_again_at_every_id)
{
    unsigned tried = 0;
    for (const struct route *r = app_routes; r->method; r++) {
        const struct dialect *d = r->door ? r->door->dialect : NULL;
        for (unsigned how = 0; d && how < 8; how++) {
            struct tale         t;
            struct stream_start s = { .mode = how & 1 ? STREAM_THREAD : STREAM_RUN,
                                      .run = how & 1 ? STR_NONE : STR("run_1"),
                                      .seq = how & 1 ? 0 : 1,
                                      .quiet_gates = !(how & 1),
                                      .reasoning = true,
                                      .native = how & 2,
                                      .whole = how & 4 };
            a_long_tale(&t);
            CHECK(resumes_everywhere(&t, d, s) >= 6);
            tale_done(&t);
            tried++;
        }
    }
    CHECK(tried >= 8 * 7);
}

/* (The tool-calling door stamps reasoning with the clock.) */
TEST(reasoning_can_be_taken_up_again_at_every_id)
{
    static const struct dialect *const ALL[] = { &dialect_typed, &dialect_aisdk, &dialect_agui };
    struct part thought = { .type = STEP_REASONING, .text = STR("Hm, well."), .complete = true };
    struct part sealed = { .type = STEP_REASONING, .complete = true };
    for (size_t i = 0; i < 3; i++) {
        struct tale t;
        tale_init(&t);
        tale_message(&t, "run_1", "hello");
        tale_step(&t, "run_1", "calls", 4, thought, words("Let me."), sealed,
                  call("call-1", "weather", "{}", GATE_FREE));
        tale_started(&t, "call-1");
        tale_finished(&t, "call-1", WORD_DONE, "warm");
        tale_step(&t, "run_1", "end", 2, sealed, words("Done."));
        tale_ended(&t, "run_1", WORD_COMPLETE);
        struct stream_start s = { .run = STR("run_1"), .reasoning = true, .native = true };
        CHECK(resumes_everywhere(&t, ALL[i], s) >= 6);
        tale_done(&t);
    }
}

TEST(what_is_streamed_is_what_the_payload_says)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_long_tale(&t);
    struct str run = tell(&a, &t, &dialect_typed, STREAM_RUN, "run_1", 1, 0, ROOM);
    CHECK(str_eq(words_of(&a, run), message_of(&a, &t, "run_1")));
    CHECK_STR(message_of(&a, &t, "run_1"),
              "Let me [\\[tool:7]] see.\n\nTwo things.\n\n[[tool:0]]\n\n[[tool:1]]\n\n花子さん got "
              "50.\n\n");
    arena_done(&a);
    tale_done(&t);
}

TEST(words_cut_to_any_room_are_the_same_words)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_long_tale(&t);
    struct str want = message_of(&a, &t, "run_1");
    for (size_t room = 1; room < 900; room += 7)
        CHECK(str_eq(words_of(&a, tell(&a, &t, &dialect_typed, STREAM_RUN, "run_1", 1, 0, room)),
                     want));
    arena_done(&a);
    tale_done(&t);
}

TEST(a_cut_at_every_byte_of_a_step_goes_on_with_the_next)
{
    struct tale       t;
    struct arena      a;
    static const char TEXT[] = "Plain words with no markers in them.";
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "end", 1, words(TEXT));
    /* one for the step's beginning, one for the part's */
    for (size_t n = 0; n <= strlen(TEXT); n++) {
        struct str got =
            words_of(&a, tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 1, 2 + n, ROOM));
        CHECK_STR(got, TEXT + n);
    }
    arena_done(&a);
    tale_done(&t);
}

TEST(a_place_taken_in_the_open_step_is_right_when_it_is_committed)
{
    static const char TEXT[] = "Some [[tool:1]] words\n\nthat come 花 bit by bit. [[too";
    struct tale       t;
    struct arena      a;
    arena_init(&a, 0);
    for (size_t first = 1; first < strlen(TEXT); first++) {
        struct encoder e;
        struct buf     told;
        if ((TEXT[first] & 0xC0) == 0x80) continue; /* models send whole characters */
        buf_init(&told, 0);
        tale_init(&t);
        tale_message(&t, "run_1", "hello");
        step_begin(&t.thread.step);
        REQUIRE(step_text(&t.thread.step, STEP_TEXT, str_n(TEXT, first)) == OK);
        tell_from(&told, &t, &e, &dialect_typed, (struct stream_start){ .mode = STREAM_THREAD },
                  ROOM);
        uint64_t seq = e.seq, units = e.units;
        step_clear(&t.thread.step);
        tale_step(&t, "run_1", "end", 1, words(TEXT));
        tale_ended(&t, "run_1", WORD_COMPLETE);
        /* a reconnect, and the one that stayed */
        struct encoder again;
        struct buf     rest = { 0 };
        size_t         so_far = told.len;
        tell_from(&rest, &t, &again, &dialect_typed,
                  (struct stream_start){ .mode = STREAM_THREAD, .seq = seq, .units = units }, ROOM);
        tell_all(&told, &t, &e, ROOM);
        struct str after = str_from(buf_view(&told), so_far);
        CHECK(str_eq(words_of(&a, after), words_of(&a, buf_view(&rest))));
        CHECK(str_eq(words_of(&a, buf_view(&told)), message_of(&a, &t, "run_1")));
        buf_done(&rest);
        buf_done(&told);
        tale_done(&t);
    }
    arena_done(&a);
}

TEST(a_cursor_into_lost_words_is_told_to_begin_the_step_again)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 2, words("Before."), call("call-1", "x", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "ok");
    tale_fact(&t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    tale_step(&t, "run_1", "end", 1, words("After."));
    struct str lost = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 4, 9, ROOM);
    CHECK(str_find(lost,
                   STR("{\"type\":\"step_reset\",\"message\":\"Before.\\n\\n[[tool:0]]\"}")) >= 0);
    CHECK_STR(words_of(&a, lost), "Before.\n\n[[tool:0]]\n\nAfter.");
    struct str whole = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 4, 0, ROOM);
    /* nothing of the step was told: nothing to take back */
    CHECK(str_find(whole, STR("step_reset")) < 0);
    CHECK_STR(words_of(&a, whole), "\n\nAfter.");
    arena_done(&a);
    tale_done(&t);
}

TEST(a_cursor_into_the_lost_words_of_a_step_that_was_given_up_is_told_so_and_then_the_end)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 2, words("Before."), call("call-1", "x", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "ok");
    tale_fact(&t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    tale_fact(&t, (struct fact){ .kind = FACT_ENDED,
                                 .run = STR("run_1"),
                                 .outcome = WORD_ERROR,
                                 .code = STR("interrupted"),
                                 .text = STR("Given up.") });
    tale_message(&t, "run_2", "again");
    tale_step(&t, "run_2", "end", 1, words("Next."));
    /* of the last try; of the one before */
    static const uint64_t PLACES[][2] = { { 5, 9 }, { 4, 9 } };
    for (int i = 0; i < 2; i++) {
        struct str lost =
            tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, PLACES[i][0], PLACES[i][1], ROOM);
        ptrdiff_t reset = str_find(
            lost, STR("{\"type\":\"step_reset\",\"message\":\"Before.\\n\\n[[tool:0]]\"}"));
        CHECK(reset >= 0 && str_find(lost, STR("Given up.")) > reset);
        CHECK_STR(words_of(&a, lost), "Before.\n\n[[tool:0]]Next.");
    }
    /* the end itself was told */
    struct str told = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 5, 1, ROOM);
    CHECK(str_find(told, STR("step_reset")) < 0 && str_find(told, STR("Given up.")) < 0);
    struct encoder e;
    struct buf     wire = { 0 };
    tell_from(&wire, &t, &e, &dialect_aisdk,
              (struct stream_start){ .mode = STREAM_THREAD, .seq = 5, .units = 9 }, ROOM);
    CHECK(str_starts(buf_view(&wire), STR("data: {\"type\":\"start\"")) &&
          str_find(buf_view(&wire), STR("Given up.")) > 0);
    buf_done(&wire);
    arena_done(&a);
    tale_done(&t);
}

TEST(a_marker_is_a_delta_of_its_own_and_so_are_the_blank_lines_around_it)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 2, words("Before."), call("call-1", "x", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "ok");
    tale_step(&t, "run_1", "end", 1, words("\n\nAfter."));
    struct str wire = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 0, 0, ROOM), line;
    struct buf deltas = { 0 };
    for (struct str rest = wire; str_split(&rest, '\n', &line);)
        if (str_find(line, STR("text_delta")) >= 0) {
            buf_str(&deltas, str_from(line, 34));
            buf_chr(&deltas, ' ');
        }
    CHECK_STR(buf_view(&deltas),
              "\"Before.\"} \"\\n\\n\"} \"[[tool:0]]\"} \"\\n\\n\"} \"After.\"} ");
    buf_done(&deltas);
    arena_done(&a);
    tale_done(&t);
}

TEST(a_stream_that_lives_through_a_lost_step_weaves_as_if_it_had_not_been)
{
    struct tale    t;
    struct arena   a;
    struct buf     told = { 0 };
    struct encoder e;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    step_begin(&t.thread.step);
    REQUIRE(step_text(&t.thread.step, STEP_TEXT, STR("Lost words")) == OK);
    tell_from(&told, &t, &e, &dialect_typed, (struct stream_start){ .mode = STREAM_THREAD }, ROOM);
    step_clear(&t.thread.step);
    tale_fact(&t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    tale_step(&t, "run_1", "end", 1, words("Found words"));
    tell_all(&told, &t, &e, ROOM);
    CHECK_STR(words_of(&a, buf_view(&told)), "Found words");
    buf_done(&told);
    arena_done(&a);
    tale_done(&t);
}

TEST(a_stream_of_one_message_says_its_start_again_when_words_were_lost)
{
    static const struct stream_start RUN = { .mode = STREAM_RUN, .run = { "run_1", 5 } };
    struct tale                      t;
    struct buf                       told = { 0 };
    struct encoder                   e;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    step_begin(&t.thread.step);
    REQUIRE(step_text(&t.thread.step, STEP_TEXT, STR("Lost words")) == OK);
    tell_from(&told, &t, &e, &dialect_aisdk, RUN, ROOM);
    size_t before = told.len;
    step_clear(&t.thread.step);
    tale_fact(&t, (struct fact){ .kind = FACT_RESUMED, .run = STR("run_1") });
    tale_step(&t, "run_1", "end", 1, words("Found words"));
    tell_all(&told, &t, &e, ROOM);
    struct str after = str_from(buf_view(&told), before);
    CHECK(str_starts(after, STR("data: {\"type\":\"start\",\"messageId\":\"run_1\"}")));
    CHECK(str_find(after, STR("Found words")) > 0 && str_find(after, STR("Lost words")) < 0);
    buf_done(&told);
    tale_done(&t);
}

TEST(a_place_beyond_its_fact_does_not_eat_the_next)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_long_tale(&t);
    /* fact 4 is a start: one unit */
    struct str got = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, 3, 99, ROOM);
    CHECK(str_find(got, STR("tool_confirmation")) >= 0);
    /* only the later one */
    CHECK(str_find(got, STR("tool_start")) > str_find(got, STR("tool_confirmation")));
    arena_done(&a);
    tale_done(&t);
}

TEST(a_stream_of_a_run_ends_at_its_gate_and_a_replay_passes_over_it)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{}", GATE_ASK));
    tale_asked(&t, "call-1");
    struct str wire = tell(&a, &t, &dialect_typed, STREAM_RUN, "run_1", 0, 0, ROOM);
    CHECK(str_find(wire, STR("\"awaiting\":[\"confirmation-call-1\"]")) >= 0);
    CHECK(str_find(tell(&a, &t, &dialect_toolcalls, STREAM_RUN, "run_1", 0, 0, ROOM),
                   STR("{\"type\":\"done\"}\n\ndata: [DONE]")) >= 0);
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_step(&t, "run_1", "end", 1, words("Paid."));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    wire = tell(&a, &t, &dialect_typed, STREAM_RUN, "run_1", 0, 0, ROOM);
    CHECK(str_find(wire, STR("awaiting")) < 0);
    CHECK(str_find(wire, STR("\"type\":\"complete\"")) >= 0);
    CHECK(resumes_at_every_id(&t, &dialect_typed, STREAM_RUN, "run_1", wire) >= 6);
    arena_done(&a);
    tale_done(&t);
}

TEST(the_two_doors_give_the_same_places_to_the_same_facts)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_long_tale(&t);
    struct str wire = tell(&a, &t, &dialect_toolcalls, STREAM_RUN, "run_1", 1, 0, ROOM), line;
    while (str_split(&wire, '\n', &line)) {
        uint64_t seq, units;
        if (!str_starts(line, STR("id: "))) continue;
        REQUIRE(place_parse(str_from(line, 4), &seq, &units));
        struct str typed = tell(&a, &t, &dialect_typed, STREAM_THREAD, NULL, seq, units, ROOM),
                   event;
        REQUIRE(str_split(&wire, '\n', &event));
        /* Whatever was told here as started or over is not told again there. */
        bool start = str_find(event, STR("tool_call_start")) >= 0,
             over = str_find(event, STR("tool_result")) >= 0;
        bool first = str_find(event, STR("call-2")) >= 0;
        if (start && first)
            CHECK(str_find(typed, STR("\"type\":\"tool_start\",\"tool\":\"weather\"")) < 0);
        if (over && first)
            CHECK(str_find(typed, STR("\"type\":\"tool_complete\",\"tool\":\"weather\"")) < 0 &&
                  str_find(typed, STR("\"type\":\"tool_complete\",\"tool\":\"pay\"")) >= 0);
    }
    arena_done(&a);
    tale_done(&t);
}

TEST(a_place_is_two_numbers)
{
    static const char *const GOOD[] = { "0.0", "41.17", "18446744073709551615.0" };
    static const char *const BAD[] = { "",     ".",     "x",    "1.x",
                                       "-1.0", "1.2.3", "01.0", "18446744073709551616.0",
                                       " 1.0" };
    uint64_t                 seq, units;
    for (size_t i = 0; i < 3; i++) CHECK(place_parse(str_c(GOOD[i]), &seq, &units));
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK(!place_parse(str_c(BAD[i]), &seq, &units));
    CHECK(place_parse(STR("41.17"), &seq, &units) && seq == 41 && units == 17);
    CHECK(place_parse(STR("41"), &seq, &units) && seq == 41 && units == 0);
}

TEST(a_place_inside_a_character_or_beyond_the_head_is_none)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Hi");
    tale_step(&t, "run_1", "end", 2, words("a\xe8\x8a\xb1z"), words("\xc3\xa9"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    /* Units of the step: its beginning, the part's, five bytes, the part's end, then the second
     * part. */
    static const bool fits[] = { true, true, true, true,  false, false, true,
                                 true, true, true, false, true,  true };
    for (uint64_t units = 0; units < sizeof fits; units++)
        CHECK(place_fits(&t.thread, 1, units) == fits[units]);
    CHECK(place_fits(&t.thread, 1, 1000) && place_fits(&t.thread, 0, 7) &&
          place_fits(&t.thread, 3, 0));
    CHECK(!place_fits(&t.thread, 4, 0));
    tale_done(&t);
}

TEST(an_intent_is_measured_once_however_many_are_told)
{
    struct tale t;
    struct part p = call("call-1", "weather", "{}", GATE_FREE);
    unsigned    before = tale_intents();
    tale_init(&t);
    tale_message(&t, "run_1", "Hi");
    metrics_intent_due(p.call);
    t.thread.step.active = true;
    t.thread.step.parts = &p;
    t.thread.step.count = 1;
    for (int i = 0; i < 4; i++) {
        struct arena a;
        arena_init(&a, 0);
        struct str wire = tell(&a, &t, i & 1 ? &dialect_toolcalls : &dialect_typed, STREAM_THREAD,
                               NULL, 0, 0, ROOM);
        CHECK(str_find(wire, STR("intent_confirmation")) >= 0);
        arena_done(&a);
        CHECK(tale_intents() == before + 1);
    }
    t.thread.step = (struct open_step){ 0 };
    tale_done(&t);
}
