/* ADK's API server form: what a run and a session are told as, and what a body comes to. */
#include "dialect/adk_request.h"
#include "dialect/dialect.h"
#include "tale.h"

/* The events of a stream, each as what stands in its parts: t text, p partial, c call, r
 * response. */
static struct str told(struct arena *a, struct tale *t, struct stream_start s)
{
    struct encoder e;
    struct buf     wire = { 0 }, out = { 0 };
    struct jv     *list;
    enum encoded   r = ENCODED_ITEM;
    buf_chr(&wire, '[');
    encoder_start(&e, &dialect_adk, &carrier_list, NULL, &t->thread, &s);
    while (r == ENCODED_ITEM) r = encode_into(&e, &t->thread, &wire, 65536);
    CHECK(r == ENCODED_END || r == ENCODED_NOTHING);
    buf_chr(&wire, ']');
    REQUIRE(json_parse(a, arena_dup(a, buf_view(&wire)), &list, NULL) == OK);
    JV_EACH (v, list) {
        buf_printf(&out, "%s%s", out.len ? " " : "", jv_true(jv_get(v, "partial")) ? "~" : "");
        if (str_is(jv_str_at(v, "author"), "user")) buf_lit(&out, "user:");
        JV_EACH (p, jv_get(jv_get(v, "content"), "parts")) {
            const struct jv *call = jv_get(p, "functionCall"),
                            *said = jv_get(p, "functionResponse");
            struct str text = jv_str_at(p, "text");
            if (call) buf_printf(&out, "[" STR_FMT "]", STR_ARG(jv_str_at(call, "name")));
            if (said) buf_printf(&out, "<" STR_FMT ">", STR_ARG(jv_str_at(said, "name")));
            if (text.ptr) buf_str(&out, text);
        }
        if (jv_get(v, "error")) buf_lit(&out, "error");
        if (jv_get(v, "interrupted")) buf_lit(&out, "interrupted");
    }
    struct str x = arena_dup(a, buf_view(&out));
    buf_done(&wire);
    buf_done(&out);
    return x;
}

TEST(adk_a_run_ends_at_its_question_and_goes_on_with_the_outcome)
{
    struct tale         t;
    struct arena        a;
    struct stream_start s = { .run = STR("run_1") };
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 2, words("Let me."),
              call("call-1", "pay", "{\"amount\":50}", GATE_ASK));
    tale_asked(&t, "call-1");
    CHECK_STR(told(&a, &t, s), "~Let me. Let me.[pay] [adk_request_confirmation]");
    s.settled = true;
    CHECK_STR(told(&a, &t, s), "Let me.[pay] [adk_request_confirmation]");
    tale_decided(&t, "call-1", WORD_APPROVED);
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_step(&t, "run_1", "end", 2, words("Done."),
              call("call-2", "suggest_replies", "{}", GATE_REPLY));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    s.seq = 3;
    CHECK_STR(told(&a, &t, s), "user:<adk_request_confirmation> <pay> Done.");
    /* the whole session: with the person's words and their answer */
    CHECK_STR(told(&a, &t, (struct stream_start){ .mode = STREAM_THREAD, .settled = true }),
              "user:Pay Let me.[pay] [adk_request_confirmation] user:<adk_request_confirmation> "
              "<pay> Done.");
    arena_done(&a);
    tale_done(&t);
}

TEST(adk_stops_and_failures_are_told)
{
    for (int failed = 0; failed < 2; failed++) {
        struct tale  t;
        struct arena a;
        arena_init(&a, 0);
        tale_init(&t);
        tale_message(&t, "run_1", "Hi");
        tale_step(&t, "run_1", failed ? "error" : "cancelled", 1, words("Half"));
        tale_ended(&t, "run_1", failed ? WORD_ERROR : WORD_CANCELLED);
        CHECK_STR(told(&a, &t, (struct stream_start){ .run = STR("run_1"), .settled = true }),
                  failed ? "Half error" : "Half interrupted");
        arena_done(&a);
        tale_done(&t);
    }
}

static const char *decoded(const char *parts, struct ai_request *q)
{
    static struct refusal why;
    struct command       *c = command_new(CMD_FOLLOW);
    const struct jv      *body;
    char                  text[1024];
    snprintf(text, sizeof text,
             "{\"appName\":\"default\",\"userId\":\"u\",\"sessionId\":\"s\",\"newMessage\":{"
             "\"parts\":%s}}",
             parts);
    bool ok = request_object(c, str_c(text), false, &body, &why) && adk_decode(c, body, q, &why);
    command_free(c);
    return ok ? "" : why.code;
}

TEST(adk_a_message_is_words_or_answers_and_never_both)
{
    struct ai_request q;
    CHECK_STR(str_c(decoded("[{\"text\":\"a\"},{\"text\":\"b\"}]", &q)), "");
    CHECK(q.kind == AI_MESSAGE);
    CHECK_STR(str_c(decoded("[{\"functionResponse\":{\"id\":\"x\",\"name\":\"adk_request_"
                            "confirmation\",\"response\":{\"confirmed\":true}}},{"
                            "\"function_response\":{\"id\":\"y\",\"name\":\"t\",\"response\":1}}]",
                            &q)),
              "");
    CHECK(q.kind == AI_ANSWERS && q.answer_count == 2 && q.answers[0].kind == AI_CONFIRM &&
          q.answers[1].kind == AI_RESULT);
    CHECK_STR(str_c(decoded("[{\"text\":\"a\"},{\"functionResponse\":{\"id\":\"x\",\"name\":\"t\","
                            "\"response\":1}}]",
                            &q)),
              "bad_field");
    CHECK_STR(str_c(decoded("[{\"functionResponse\":{\"name\":\"t\",\"response\":1}}]", &q)),
              "malformed_answer");
    CHECK_STR(str_c(decoded("[{\"text\":\" \"}]", &q)), "malformed_message");
    CHECK_STR(str_c(decoded("[{\"videoMetadata\":{}}]", &q)), "bad_field");
    CHECK_STR(str_c(decoded("7", &q)), "bad_field");
}
