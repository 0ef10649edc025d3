/* AG-UI: what a segment is told, the thread as messages, and what a request comes to. */
#include "dialect/agui.h"
#include "dialect/agui_request.h"
#include "dialect/dialect.h"
#include "tale.h"

#define ROOM 65536

/* The events of a stream from `seq` on, each as its type and what tells it from others. */
static struct str told(struct arena *a, struct tale *t, struct stream_start s)
{
    struct encoder e;
    struct buf     wire = { 0 }, out = { 0 };
    struct str     line;
    enum encoded   r = ENCODED_ITEM;
    s.run = STR("run_1");
    if (!s.segment.ptr) s.segment = STR("r1");
    encoder_start(&e, &dialect_agui, &carrier_sse, NULL, &t->thread, &s);
    while (r == ENCODED_ITEM) r = encode_into(&e, &t->thread, &wire, ROOM);
    CHECK(r == ENCODED_END || r == ENCODED_NOTHING);
    for (struct str rest = buf_view(&wire); str_split(&rest, '\n', &line);) {
        struct jv *v;
        if (!str_starts(line, STR("data: "))) continue;
        REQUIRE(json_parse(a, arena_dup(a, str_from(line, 6)), &v, NULL) == OK);
        struct str type = jv_str_at(v, "type"), name = jv_str_at(v, "name"),
                   delta = jv_str_at(v, "delta"), content = jv_str_at(v, "content");
        if (out.len) buf_chr(&out, ' ');
        buf_str(&out, name.len ? name : type);
        if (delta.ptr) buf_printf(&out, "(" STR_FMT ")", STR_ARG(delta));
        if (content.ptr) buf_printf(&out, "=" STR_FMT, STR_ARG(content));
        const struct jv *outcome = jv_get(v, "outcome");
        if (outcome) buf_printf(&out, ":" STR_FMT, STR_ARG(jv_str_at(outcome, "type")));
    }
    struct str s2 = arena_dup(a, buf_view(&out));
    buf_done(&wire);
    buf_done(&out);
    return s2;
}

static void a_payment(struct tale *t)
{
    tale_init(t);
    tale_message(t, "run_1", "Pay");
    tale_step(t, "run_1", "calls", 2, words("Let me."),
              call("call-1", "pay", "{\"amount\":50}", GATE_ASK));
    tale_asked(t, "call-1");
}

static void paid(struct tale *t)
{
    tale_fact(t, (struct fact){ .kind = FACT_DECIDED,
                                .id = STR("confirmation-call-1"),
                                .call = STR("call-1"),
                                .outcome = WORD_APPROVED,
                                .by = STR("ann"),
                                .via = STR("ag-ui"),
                                .answer_id = STR("r2") });
    tale_started(t, "call-1");
    tale_finished(t, "call-1", WORD_DONE, "paid");
    tale_step(t, "run_1", "end", 1, words("Done."));
    tale_ended(t, "run_1", WORD_COMPLETE);
}

#define ASKED                                                            \
    "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Let me.) TEXT_MESSAGE_END " \
    "TOOL_CALL_START TOOL_CALL_ARGS({\"amount\":50}) intent_confirmation TOOL_CALL_END"
#define PAID                                                                           \
    "tool_start TOOL_CALL_RESULT=paid TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Done.) " \
    "TEXT_MESSAGE_END RUN_FINISHED:success"

TEST(agui_a_segment_ends_at_the_question_and_the_next_begins_with_the_outcome)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_payment(&t);
    CHECK_STR(told(&a, &t, (struct stream_start){ 0 }), ASKED " RUN_FINISHED:interrupt");
    paid(&t);
    struct stream_start next = { .seq = 3, .segment = STR("r2"), .continuation = true };
    CHECK_STR(told(&a, &t, next), PAID);
    next.segment = STR("r9"); /* somebody else said yes */
    CHECK_STR(told(&a, &t, next), "approval_resolved " PAID);
    next.verdicts = 4; /* and the door has said so */
    CHECK_STR(told(&a, &t, next), PAID);
    /* the first again: the gate is past */
    CHECK_STR(told(&a, &t, (struct stream_start){ 0 }), ASKED " approval_resolved " PAID);
    arena_done(&a);
    tale_done(&t);
}

TEST(agui_what_the_page_brought_itself_is_not_told_to_it)
{
    struct tale  t;
    struct arena a;
    struct part  p = call("call-1", "paint", "{}", GATE_CLIENT);
    p.client = p.declared = true;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Paint");
    tale_step(&t, "run_1", "calls", 1, p);
    tale_fact(&t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-1"), .client = true });
    CHECK_STR(told(&a, &t, (struct stream_start){ 0 }),
              "TOOL_CALL_START TOOL_CALL_ARGS({}) intent_confirmation TOOL_CALL_END "
              "RUN_FINISHED:success");
    tale_fact(&t, (struct fact){ .kind = FACT_FINISHED,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .text = STR("red"),
                                 .via = STR("ag-ui"),
                                 .answer_id = STR("r2") });
    tale_step(&t, "run_1", "end", 1, words("Red."));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    struct stream_start next = { .seq = 3, .segment = STR("r2") };
    CHECK_STR(told(&a, &t, next), "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT(Red.) TEXT_MESSAGE_END "
                                  "RUN_FINISHED:success");
    next.segment = STR("another-tab");
    CHECK(str_starts(told(&a, &t, next), STR("TOOL_CALL_RESULT=red ")));
    arena_done(&a);
    tale_done(&t);
}

TEST(agui_a_cut_step_leaves_no_call_without_an_outcome)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_fact(&t, (struct fact){ .kind = FACT_STOP, .run = STR("run_1") });
    tale_step(&t, "run_1", "cancelled", 2, words("Half"), call("call-1", "x", "{", GATE_BAD));
    tale_ended(&t, "run_1", WORD_CANCELLED);
    struct str now = told(&a, &t, (struct stream_start){ 0 });
    CHECK(str_find(now, STR("TOOL_CALL_END TOOL_CALL_RESULT={\"error\":")) > 0);
    CHECK(str_ends(now, STR("RUN_FINISHED:cancelled")));
    CHECK(str_ends(told(&a, &t, (struct stream_start){ .older = true }), STR(" RUN_ERROR")));
    arena_done(&a);
    tale_done(&t);
}

TEST(agui_two_texts_of_a_step_are_one_message_with_a_blank_line)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "end", 2, words("One."), words("Two."));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    CHECK(str_find(told(&a, &t, (struct stream_start){ 0 }), STR("CONTENT(\n\nTwo.)")) > 0);
    struct buf b = { 0 };
    REQUIRE(agui_snapshot(&b, &t.thread, 9, NULL) == OK);
    CHECK(str_find(buf_view(&b), STR("{\"id\":\"msg-run_1-1\",\"role\":\"assistant\",\"content\":"
                                     "\"One.\\n\\nTwo.\"}")) > 0);
    buf_done(&b);
    arena_done(&a);
    tale_done(&t);
}

/* --- snapshots -------------------------------------------------------------------------------- */

static struct str ids(struct arena *a, struct tale *t, uint64_t seq, const char *theirs)
{
    struct buf b = { 0 }, out = { 0 };
    struct jv *list, *v;
    REQUIRE(json_parse(a, str_c(theirs), &list, NULL) == OK);
    REQUIRE(agui_snapshot(&b, &t->thread, seq, list) == OK);
    REQUIRE(json_parse(a, arena_dup(a, str_trim(str_from(buf_view(&b), 6))), &v, NULL) == OK);
    JV_EACH (m, jv_get(v, "messages")) {
        if (out.len) buf_chr(&out, ' ');
        buf_str(&out, jv_str_at(m, "id"));
    }
    struct str s = arena_dup(a, buf_view(&out));
    buf_done(&b);
    buf_done(&out);
    return s;
}

TEST(agui_a_snapshot_has_what_the_log_has_and_what_only_the_page_knows)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    a_payment(&t);
    paid(&t);
    CHECK_STR(ids(&a, &t, 99, "[]"), "m_1 msg-run_1-1 res-call-1 msg-run_1-2");
    CHECK_STR(ids(&a, &t, 3, "[]"), "m_1 msg-run_1-1");
    CHECK_STR(ids(&a, &t, 1, "[]"), "m_1");
    CHECK_STR(
        ids(&a, &t, 3,
            "[{\"id\":\"sys\",\"role\":\"system\"},{\"id\":\"m_1\",\"role\":\"user\"},"
            "{\"id\":\"note\",\"role\":\"assistant\"},{\"id\":\"msg-run_1-1\",\"role\":"
            "\"assistant\"},{\"id\":\"msg-run_1-2\",\"role\":\"assistant\"},{\"id\":\"th\","
            "\"role\":\"reasoning\"},{\"id\":\"own\",\"role\":\"tool\",\"toolCallId\":\"c9\"}]"),
        "sys m_1 note msg-run_1-1 own");
    /* the page's own copy of an outcome that is in the log */
    CHECK_STR(ids(&a, &t, 99, "[{\"id\":\"own\",\"role\":\"tool\",\"toolCallId\":\"call-1\"}]"),
              "m_1 msg-run_1-1 res-call-1 msg-run_1-2");
    /* and what a page put in its place before there was one */
    CHECK_STR(ids(&a, &t, 3, "[{\"id\":\"own\",\"role\":\"tool\",\"toolCallId\":\"call-1\"}]"),
              "m_1 msg-run_1-1");
    arena_done(&a);
    tale_done(&t);
}

/* --- requests --------------------------------------------------------------------------------- */

static struct {
    struct command     *c;
    struct registry     r;
    struct agui_request q;
    struct agui_plan    p;
    struct refusal      why;
} ask;

static void plan_begin(void)
{
    ask.c = command_new(CMD_FOLLOW);
    registry_init(&ask.r);
}
static void plan_end(void)
{
    registry_done(&ask.r);
    command_free(ask.c);
}

static const char *decoded(const char *body)
{
    return agui_decode(ask.c, str_c(body), STR_NONE, &ask.r, &ask.q, &ask.why) ? "" : ask.why.code;
}

/* {"threadId":"t_1","runId":"r9",...} and what it comes to. */
static const char *wish(struct tale *t, const char *rest)
{
    static const char *const WORDS[] = { "refused", "say", "retry", "answer", "attach", "show" };
    char                     body[2048];
    snprintf(body, sizeof body,
             "{\"threadId\":\"t_1\",\"runId\":\"r9\",\"protocolVersion\":\"1.0\",%s}", rest);
    if (*decoded(body)) return ask.why.code;
    agui_plan(ask.c, t ? tale_fold(t) : NULL, &ask.q, false, &ask.p);
    return ask.p.wish == AGUI_REFUSED ? ask.p.why.code : WORDS[ask.p.wish];
}
#define WISH(t, rest, want) CHECK_STR(str_c(wish(t, rest)), want)
#define RESUME(payload) \
    "\"messages\":[],\"resume\":[{\"interruptId\":\"confirmation-call-1\"," payload "}]"

TEST(agui_bodies_that_are_none)
{
    static const char *const ROWS[][2] = {
        { "{", "bad_json" },
        { "[]", "bad_field" },
        { "{\"runId\":\"r\",\"messages\":[]}", "bad_id" },
        { "{\"threadId\":\"a b\",\"runId\":\"r\",\"messages\":[]}", "bad_id" },
        { "{\"threadId\":\"t\",\"messages\":[]}", "bad_id" },
        { "{\"threadId\":\"t\",\"runId\":\"a b\",\"messages\":[]}", "bad_id" },
        { "{\"threadId\":\"t\",\"runId\":7,\"messages\":[]}", "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\"}", "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"tools\":{}}", "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"tools\":[{\"name\":\"a b\"}]}",
          "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"resume\":{}}", "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"context\":7}", "bad_field" },
        { "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"tools\":null,\"context\":null,"
          "\"resume\":null,\"state\":null,\"forwardedProps\":null,\"more\":1}",
          "" },
    };
    plan_begin();
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        CHECK_STR(str_c(decoded(ROWS[i][0])), ROWS[i][1]);
    CHECK(ask.q.older && !strncmp(ask.q.request_id, "agui-", 5) && strlen(ask.q.request_id) == 27);
    plan_end();
}

TEST(agui_a_name_of_the_servers_is_left_to_the_server)
{
    plan_begin();
    struct tool *t = registry_tool(&ask.r, STR("work"));
    REQUIRE(registry_add(&ask.r, t) == OK);
    CHECK_STR(
        str_c(decoded("{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"tools\":[{\"name\":"
                      "\"work\"},{\"name\":\"paint\"}],\"context\":[{\"description\":\"d\","
                      "\"value\":\"v\"}]}")),
        "");
    CHECK_STR(ask.q.declared,
              "{\"tools\":[{\"name\":\"paint\"}],\"context\":[{\"description\":\"d\","
              "\"value\":\"v\"}]}");
    plan_end();
}

TEST(agui_what_a_post_comes_to_in_an_empty_thread)
{
    plan_begin();
    WISH(NULL, "\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"content\":\"Hi\"}]", "say");
    CHECK_STR(ask.p.text, "Hi");
    WISH(
        NULL,
        "\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"content\":\"One\"},{\"id\":\"v\",\"role\":"
        "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Two\"},{\"type\":\"image\",\"source\":"
        "{"
        "\"type\":\"data\",\"value\":\"AA==\",\"mimeType\":\"image/png\"}}]}]",
        "say");
    CHECK_STR(ask.p.text, "One\n\nTwo");
    CHECK_STR(ask.p.message_id, "v");
    CHECK_STR(ask.p.files, "[{\"type\":\"file\",\"mediaType\":\"image/png\",\"url\":\"data:image/"
                           "png;base64,AA==\"}]");
    WISH(NULL, "\"messages\":[]", "show");
    WISH(NULL, "\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"content\":\" \"}]",
         "malformed_message");
    WISH(NULL,
         "\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"content\":[{\"type\":\"image\","
         "\"source\":{"
         "\"type\":\"file\",\"value\":\"x\"}}]}]",
         "bad_field");
    WISH(NULL,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"c\",\"content\":\"\"}]",
         "unknown_call");
    WISH(NULL, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true}"),
         "unknown_confirmation");
    plan_end();
}

TEST(agui_only_a_json_true_is_a_yes)
{
    struct tale t;
    a_payment(&t);
    plan_begin();
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true}"), "answer");
    CHECK(ask.p.answers[0].confirmed && !ask.p.answers[0].cancelled);
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":false,\"reason\":\"no\"}"),
         "answer");
    CHECK(!ask.p.answers[0].confirmed && str_is(ask.p.answers[0].reason, "no"));
    WISH(&t, RESUME("\"status\":\"cancelled\""), "answer");
    CHECK(ask.p.answers[0].cancelled);
    WISH(&t,
         RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true,\"editedArgs\":{\"amount\""
                ":50.0}}"),
         "answer"); /* as it was */
    CHECK(!ask.p.answers[0].input);
    static const char *const BAD[] = {
        RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":\"true\"}"),
        RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":1}"),
        RESUME("\"status\":\"resolved\",\"payload\":{}"),
        RESUME("\"status\":\"resolved\",\"payload\":true"),
        RESUME("\"status\":\"resolved\""),
        RESUME("\"status\":\"yes\",\"payload\":{\"approved\":true}"),
        RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true,\"editedArgs\":[]}"),
        "\"messages\":[],\"resume\":[7]",
        "\"messages\":[],\"resume\":[{\"interruptId\":\"confirmation-call-1\",\"status\":"
        "\"cancelled\"},{\"interruptId\":\"confirmation-call-1\",\"status\":\"cancelled\"}]",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) WISH(&t, BAD[i], "malformed_answer");
    WISH(&t,
         RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true,\"editedArgs\":{\"amount\""
                ":5}}"),
         "answer"); /* whether it may be changed is looked at with the answer */
    CHECK(ask.p.answers[0].input && str_is(ask.p.answers[0].input->raw, "{\"amount\":5}"));
    plan_end();
    tale_done(&t);
}

TEST(agui_while_a_question_waits)
{
    struct tale t;
    a_payment(&t);
    plan_begin();
    WISH(&t, "\"messages\":[{\"id\":\"u2\",\"role\":\"user\",\"content\":\"And?\"}]",
         "approval_pending");
    CHECK(strstr(ask.p.why.message, "confirmation-call-1"));
    WISH(&t,
         "\"messages\":[{\"id\":\"u2\",\"role\":\"user\",\"content\":\"And?\"}],\"resume\":[{"
         "\"interruptId\":\"confirmation-call-1\",\"status\":\"cancelled\"}]",
         "message_with_resume");
    WISH(&t, "\"messages\":[{\"id\":\"m_1\",\"role\":\"user\",\"content\":\"Pay\"}]", "show");
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-1\",\"content\":"
         "\"{}\"}]",
         "show"); /* a result for the server's tool is not looked at */
    CHECK(ask.p.answer_count == 0);
    tale_step(&t, "run_1", "calls", 1, call("call-2", "pay", "{}", GATE_ASK));
    tale_asked(&t, "call-2");
    WISH(&t, RESUME("\"status\":\"cancelled\""), "incomplete_resume");
    plan_end();
    tale_done(&t);
}

/* A yes of somebody who was shown another call is none to ours. */
TEST(agui_an_answer_beside_another_call_than_was_asked_about_is_refused)
{
#define SHOWN(calls)                                                                    \
    "\"messages\":[{\"id\":\"a\",\"role\":\"assistant\",\"toolCalls\":[" calls          \
    "]}],\"resume\":[{\"interruptId\":\"confirmation-call-1\",\"status\":\"resolved\"," \
    "\"payload\":{\"approved\":true}}]"
#define CALL(id, name, args) \
    "{\"id\":\"" id "\",\"function\":{\"name\":\"" name "\",\"arguments\":" args "}}"
    static const char *const WRONG[] = {
        SHOWN(CALL("call-1", "pay", "\"{\\\"amount\\\":5}\"")),
        SHOWN(CALL("call-1", "pay", "\"{}\"")),
        SHOWN(CALL("call-1", "pay", "\"\"")),
        SHOWN(CALL("call-1", "", "{\"amount\":50}")),
        SHOWN(CALL("call-1", "pay", "\"{\\\"amount\\\":50\"")),
        SHOWN(CALL("call-1", "refund", "\"{\\\"amount\\\":50}\"")),
        SHOWN(CALL("call-1", "pay", "\"{\\\"amount\\\":50}\"") "," CALL("call-1", "pay",
                                                                        "\"{\\\"amount\\\":51}\"")),
    };
    static const char *const FINE[] = {
        SHOWN(CALL("call-1", "pay", "\"{ \\\"amount\\\" : 50.0 }\"")),
        SHOWN(CALL("call-1", "pay", "{\"amount\":50}")),
        SHOWN(CALL("call-1", "pay", "null")),
        SHOWN(CALL("call-7", "pay", "\"{\\\"amount\\\":5}\"")),
        SHOWN("{\"id\":\"call-1\"}"),
        SHOWN("7"),
    };
    struct tale t;
    a_payment(&t);
    plan_begin();
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) WISH(&t, WRONG[i], "args_mismatch");
    for (size_t i = 0; i < sizeof FINE / sizeof *FINE; i++) WISH(&t, FINE[i], "answer");
    paid(&t); /* now there is nothing left to be said yes to */
    WISH(&t, WRONG[0], "attach");
    plan_end();
    tale_done(&t);
}

TEST(agui_a_page_that_put_its_answer_in_the_place_of_the_result_is_told_what_stood_there)
{
    struct tale t;
    a_payment(&t);
    plan_begin();
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":true}"), "answer");
    CHECK(!ask.p.snapshot);
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-1\",\"content\":"
         "\"{}\"}],\"resume\":[{\"interruptId\":\"confirmation-call-1\",\"status\":\"resolved\","
         "\"payload\":{\"approved\":true}}]",
         "answer");
    CHECK(ask.p.snapshot && ask.p.answer_count == 1 && !ask.p.answers[0].result);
    plan_end();
    tale_done(&t);
}

TEST(agui_when_it_was_decided_meanwhile_the_log_wins_and_it_is_no_error)
{
    struct tale t;
    a_payment(&t);
    paid(&t);
    plan_begin();
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":false}"), "attach");
    CHECK(ask.p.late_count == 1 && ask.p.from == 4 && ask.p.snapshot);
    CHECK(!strcmp(ask.p.late[0].yours, "denied"));
    /* a result of the server's own call, and one of nothing */
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-1\",\"content\":"
         "\"{}\"}]",
         "not_client_tool");
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-7\",\"content\":"
         "\"{}\"}]",
         "unknown_call");
    WISH(&t,
         "\"messages\":[{\"id\":\"res-call-1\",\"role\":\"tool\",\"toolCallId\":\"call-1\","
         "\"content\":\"{}\"}]",
         "show"); /* our own */
    WISH(&t, "\"messages\":[{\"id\":\"m_1\",\"role\":\"user\",\"content\":\"Pay\"}]", "retry");
    WISH(&t, "\"messages\":[{\"id\":\"m_1\",\"role\":\"user\",\"content\":\"Pay more\"}]", "say");
    CHECK_STR(ask.p.replaces, "m_1");
    plan_end();
    tale_done(&t);
}

TEST(agui_the_same_run_id_again_is_told_from_where_it_began)
{
    struct tale t;
    a_payment(&t);
    paid(&t);
    plan_begin();
    CHECK_STR(str_c(decoded("{\"threadId\":\"t_1\",\"runId\":\"r2\",\"messages\":[{\"id\":\"u9\","
                            "\"role\":\"user\",\"content\":\"New\"}]}")),
              "");
    agui_plan(ask.c, tale_fold(&t), &ask.q, false, &ask.p);
    CHECK(ask.p.wish == AGUI_ATTACH && ask.p.from == 4 && ask.p.snapshot);
    CHECK(agui_segment(tale_fold(&t), tale_fold(&t)->run, &ask.q));
    tale_message(&t, "run_2", "More");
    agui_plan(ask.c, tale_fold(&t), &ask.q, false, &ask.p);
    CHECK(ask.p.wish == AGUI_ATTACH && ask.p.from == tale_fold(&t)->run->first->seq); /* speaking */
    tale_ended(&t, "run_2", WORD_COMPLETE);
    agui_plan(ask.c, tale_fold(&t), &ask.q, false, &ask.p);
    CHECK(ask.p.wish == AGUI_SHOW);
    CHECK(!agui_segment(tale_fold(&t), tale_fold(&t)->run, &ask.q));
    plan_end();
    tale_done(&t);
}

/* Under the name that its own yes has in paid(). */
#define NAMED(resume) "{\"threadId\":\"t_1\",\"runId\":\"r2\"," resume "}"

TEST(agui_an_answer_under_the_name_of_a_segment_before_it_is_an_answer_while_its_question_waits)
{
    struct tale t;
    a_payment(&t);
    plan_begin();
    tale_fact(&t, (struct fact){ .kind = FACT_DECIDED,
                                 .id = STR("confirmation-call-1"),
                                 .call = STR("call-1"),
                                 .outcome = WORD_APPROVED,
                                 .by = STR("ann"),
                                 .via = STR("ag-ui"),
                                 .answer_id = STR("r2") });
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_step(&t, "run_1", "calls", 1, call("call-2", "pay", "{}", GATE_ASK));
    tale_asked(&t, "call-2");
    CHECK_STR(str_c(decoded(NAMED("\"messages\":[],\"resume\":[{\"interruptId\":"
                                  "\"confirmation-call-2\",\"status\":\"resolved\","
                                  "\"payload\":{\"approved\":true}}]"))),
              "");
    agui_plan(ask.c, tale_fold(&t), &ask.q, false, &ask.p);
    CHECK(ask.p.wish == AGUI_ANSWER && ask.p.answer_count == 1 && ask.p.answers[0].confirmed);
    /* the one before is decided: that is its segment once more, whatever it says */
    CHECK_STR(str_c(decoded(NAMED(RESUME("\"status\":\"resolved\",\"payload\":7")))), "");
    agui_plan(ask.c, tale_fold(&t), &ask.q, false, &ask.p);
    CHECK(ask.p.wish == AGUI_ATTACH && ask.p.from == 4 && ask.p.snapshot);
    plan_end();
    tale_done(&t);
}

/* --- the rarer ends --------------------------------------------------------------------------- */

TEST(agui_some_of_several_page_tools_answered_are_kept_and_the_rest_is_told_as_pending)
{
    struct tale  t;
    struct arena a;
    struct part  one = call("call-1", "paint", "{}", GATE_CLIENT),
                two = call("call-2", "draw", "{}", GATE_CLIENT);
    one.client = two.client = one.declared = two.declared = true;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Paint and draw");
    tale_step(&t, "run_1", "calls", 2, one, two);
    tale_fact(&t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-1"), .client = true });
    tale_fact(&t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-2"), .client = true });
    plan_begin();
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-1\",\"content\":"
         "\"red\"}"
         ",{\"id\":\"y\",\"role\":\"tool\",\"toolCallId\":\"call-9\",\"content\":\"?\"}]",
         "answer");
    CHECK(ask.p.answer_count == 1 && ask.p.answers[0].result);
    CHECK_STR(ask.p.answers[0].value, "\"red\"");
    WISH(&t,
         "\"messages\":[{\"id\":\"x\",\"role\":\"tool\",\"toolCallId\":\"call-1\",\"content\":\"{}"
         "\","
         "\"error\":\"no\"}]",
         "answer");
    CHECK_STR(ask.p.answers[0].error, "no");
    plan_end();
    tale_fact(&t, (struct fact){ .kind = FACT_FINISHED,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .text = STR("red"),
                                 .via = STR("ag-ui"),
                                 .answer_id = STR("r2") });
    CHECK_STR(told(&a, &t, (struct stream_start){ .seq = 4, .segment = STR("r2") }),
              "RUN_FINISHED:success");
    struct buf b = { 0 };
    agui_finished(&b, &(struct agui_names){ STR("t_1"), STR("r3"), false }, &t.thread,
                  tale_fold(&t)->run);
    CHECK(str_find(buf_view(&b), STR("\"pendingToolCallIds\":[\"call-2\"]")) > 0);
    buf_clear(&b);
    agui_finished(&b, &(struct agui_names){ STR("t_1"), STR("r3"), true }, &t.thread,
                  tale_fold(&t)->run);
    CHECK(str_find(buf_view(&b), STR("pendingToolCallIds")) < 0); /* fatal to older clients */
    buf_done(&b);
    arena_done(&a);
    tale_done(&t);
}

TEST(agui_a_tools_own_question_ends_the_segment_and_takes_any_payload)
{
    struct tale  t;
    struct arena a;
    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "Book");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "book", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_fact(&t, (struct fact){ .kind = FACT_ASKED,
                                 .call = STR("call-1"),
                                 .id = STR("confirmation-call-1"),
                                 .ask = STR("Which room?"),
                                 .schema = STR("{\"type\":\"object\"}") });
    CHECK(str_ends(told(&a, &t, (struct stream_start){ 0 }),
                   STR("tool_start RUN_FINISHED:interrupt")));
    struct buf b = { 0 };
    agui_finished(&b, &(struct agui_names){ STR("t_1"), STR("r3"), false }, &t.thread,
                  tale_fold(&t)->run);
    CHECK(str_find(buf_view(&b), STR("\"reason\":\"input_required\"")) > 0);
    CHECK(str_find(buf_view(&b), STR("\"responseSchema\":{\"type\":\"object\"}")) > 0);
    buf_done(&b);
    plan_begin();
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"room\":7}"), "answer");
    CHECK(ask.p.answers[0].confirmed);
    CHECK_STR(ask.p.answers[0].payload, "{\"room\":7}");
    /* A no stays a no where the form has no such member. */
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":false}"), "answer");
    CHECK(!ask.p.answers[0].confirmed && !ask.p.answers[0].payload.ptr);
    WISH(&t, RESUME("\"status\":\"resolved\",\"payload\":{\"approved\":\"true\"}"),
         "malformed_answer");
    WISH(&t, RESUME("\"status\":\"resolved\""), "malformed_answer");
    WISH(&t, RESUME("\"status\":\"cancelled\""), "answer");
    plan_end();
    arena_done(&a);
    tale_done(&t);
}

TEST(agui_context_and_page_tools_have_limits)
{
    struct buf b = { 0 };
    plan_begin();
    for (int tools = 0; tools < 2; tools++)
        for (int n = tools ? 64 : 32, more = 0; more < 2; more++) {
            buf_clear(&b);
            buf_printf(&b, "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"%s\":[",
                       tools ? "tools" : "context");
            for (int i = 0; i < n + more; i++)
                buf_printf(&b,
                           tools ? "%s{\"name\":\"f%d\"}"
                                 : "%s{\"description\":\"d\",\"value\":\"%d\"}",
                           i ? "," : "", i);
            buf_lit(&b, "]}");
            buf_chr(&b, '\0');
            CHECK_STR(str_c(decoded(b.ptr)), !more ? "" : tools ? "bad_field" : "too_long");
        }
    buf_done(&b);
    plan_end();
}
