/* test_anthropic.c -- the Messages wire: what is sent, and what is understood. */
#include "test.h"

#include "model_trace.h"

#define START                                                                                   \
    "event: message_start\ndata: "                                                              \
    "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_9\",\"model\":\"m\",\"content\":[]," \
    "\"usage\":{\"input_tokens\":40,\"cache_read_input_tokens\":100,\"cache_creation_input_"    \
    "tokens\":null,\"output_tokens\":1}}}\n\n"
#define BLOCK(i, b) \
    "data: {\"type\":\"content_block_start\",\"index\":" #i ",\"content_block\":" b "}\n\n"
#define DELTA(i, d) "data: {\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":" d "}\n\n"
#define INPUT(i, t) DELTA(i, "{\"type\":\"input_json_delta\",\"partial_json\":\"" t "\"}")
#define STOP(i)     "data: {\"type\":\"content_block_stop\",\"index\":" #i "}\n\n"
#define END(r)                                                                                    \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" r     \
    "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":31}}\n\nevent: message_stop\ndata: " \
    "{\"type\":\"message_stop\"}\n\n"
#define PING "event: ping\ndata: {\"type\": \"ping\"}\n\n"
#define TOOL(i, id, name) \
    BLOCK(i, "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}")
#define TEXT(i, t)                                \
    BLOCK(i, "{\"type\":\"text\",\"text\":\"\"}") \
    DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" t "\"}") STOP(i)
#define U1 "usage 140 1\n"
#define U2 "usage 140 31\n"

#define TELLS(body, want) CHECK_STR(trace_of(&wire_anthropic, body), want)

TEST(anthropic_text_and_usage)
{
    TELLS(START PING TEXT(0, "H\\u00e9llo \xE2\x82\xAC\\n") END("end_turn"),
          U1 "text \"H\xC3\xA9llo \xE2\x82\xAC\\n\"\n" U2 "done end\n");
    TELLS(START BLOCK(0, "{\"type\":\"text\",\"text\":\"First\"}") STOP(0) END("max_tokens"),
          U1 "text \"First\"\n" U2 "done length\n");
    TELLS(START TEXT(0, "x") END("model_context_window_exceeded"),
          U1 "text \"x\"\n" U2 "done length\n");
    TELLS(START TEXT(0, "x") END("something_new"), U1 "text \"x\"\n" U2 "done end\n");
}

TEST(anthropic_a_call_is_complete_when_its_block_stops)
{
    TELLS(START TOOL(0, "toolu_7", "pay") INPUT(0, "") INPUT(0, "{\\\"amo") INPUT(0, "unt\\\":50}")
              STOP(0) END("tool_use"),
          U1 "call toolu_7 pay\ninput \"{\\\"amo\"\ninput \"unt\\\":50}\"\ncall_end\n" U2
             "done calls\n");
    TELLS(START TOOL(0, "t1", "a") INPUT(0, "") STOP(0) END("tool_use"),
          U1 "call t1 a\ninput \"{}\"\ncall_end\n" U2 "done calls\n");
    TELLS(START BLOCK(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"a\",\"input\":{\"x\":1}}")
              STOP(0) END("tool_use"),
          U1 "call t a\ninput \"{\\\"x\\\":1}\"\ncall_end\n" U2 "done calls\n");
}

TEST(anthropic_half_a_call_has_no_end)
{
    TELLS(START TOOL(0, "t", "pay") INPUT(0, "{\\\"amount\\\":5") STOP(0) END("tool_use"),
          U1 "call t pay\ninput \"{\\\"amount\\\":5\"\n" U2 "done calls\n");
    TELLS(START TOOL(0, "t", "pay") INPUT(0, "{}") END("tool_use"),
          U1 "call t pay\ninput \"{}\"\n" U2 "done calls\n");
    TELLS(START TOOL(0, "t", "pay") INPUT(0, "{} x") STOP(0) END("tool_use"),
          U1 "call t pay\ninput \"{} x\"\n" U2 "done calls\n");
    TELLS(START TOOL(0, "t", "pay") INPUT(0, "{}") STOP(0),
          U1 "call t pay\ninput \"{}\"\ncall_end\nfailed model_cut\n");
}

TEST(anthropic_parallel_calls_come_one_after_another_even_when_interleaved)
{
    const char *want = U1 "call t1 a\ninput \"{\\\"x\\\":\"\ninput \"1}\"\ncall_end\ncall t2 "
                          "b\ninput \"{\\\"y\\\":2}\"\ncall_end\n" U2 "done calls\n";
    TELLS(START TOOL(0, "t1", "a") INPUT(0, "{\\\"x\\\":") TOOL(1, "t2", "b")
              INPUT(1, "{\\\"y\\\":") INPUT(0, "1}") INPUT(1, "2}") STOP(1) STOP(0) END("tool_use"),
          want);
}

TEST(anthropic_thinking_keeps_its_signature)
{
    TELLS(START BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
              DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}")
                  DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}") STOP(0)
                      TEXT(1, "Hi") END("end_turn"),
          U1 "reasoning \"Hm\"\nopaque {\"signature\":\"c2ln\"}\ntext \"Hi\"\n" U2 "done end\n");
    TELLS(START BLOCK(0, "{\"type\":\"redacted_thinking\",\"data\":\"xyz\"}") STOP(0) TEXT(1, "Hi")
              END("end_turn"),
          U1 "reasoning \"\"\nopaque "
             "{\"block\":{\"type\":\"redacted_thinking\",\"data\":\"xyz\"}}\ntext \"Hi\"\n" U2
             "done end\n");
    TELLS(START BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\"}")
              DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"a\"}")
                  DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"b\"}") STOP(0)
                      END("end_turn"),
          U1 "reasoning \"\"\nopaque {\"signature\":\"b\"}\n" U2 "done end\n");
}

TEST(anthropic_unknown_blocks_are_kept_whole_or_not_at_all)
{
    TELLS(
        START BLOCK(0, "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{}}")
            INPUT(0, "{\\\"q\\\": ") INPUT(0, "1}") STOP(0) END("end_turn"),
        U1 "reasoning \"\"\nopaque "
           "{\"block\":{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{"
           "\"q\": 1}}}\n" U2 "done end\n");
    TELLS(START BLOCK(0, "{\"type\":\"compaction\"}")
              DELTA(0, "{\"type\":\"compaction_delta\",\"x\":1}") STOP(0) TEXT(1, "y")
                  END("end_turn"),
          U1 "text \"y\"\n" U2 "done end\n");
    TELLS(START BLOCK(0, "{\"type\":\"text\",\"text\":\"\"}")
              DELTA(0, "{\"type\":\"citations_delta\",\"citation\":{}}")
                  STOP(0) "data: {\"type\":\"new_event\"}\n\n" END("end_turn"),
          U1 U2 "done end\n");
}

TEST(anthropic_errors_in_the_stream)
{
    TELLS(START "event: error\ndata: "
                "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                "\"Overloaded\"}}\n\n",
          U1 "failed model_overloaded\n");
    TELLS(START
          "event: error\ndata: "
          "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}\n\n",
          U1 "failed model_rate_limit\n");
    TELLS(START "data: {\"type\":\"content_block_delta\"\n\n" START, U1 "failed model_protocol\n");
    TELLS(START DELTA(3, "{\"type\":\"text_delta\",\"text\":\"x\"}") START,
          U1 "failed model_protocol\n");
    TELLS(START "data: {\"type\":\"content_blo", U1 "failed model_cut\n");
    TELLS("", "failed model_cut\n");
    TELLS(START TEXT(0, "x") "data: {\"type\":\"message_stop\"}\n\n",
          U1 "text \"x\"\nfailed model_cut\n");
}

TEST(anthropic_a_second_start_is_an_echo_or_a_broken_stream)
{
    TELLS(START START TEXT(0, "x") END("end_turn"), U1 "text \"x\"\n" U2 "done end\n");
    TELLS(START TEXT(0, "x") START END("end_turn"), U1 "text \"x\"\nfailed model_protocol\n");
}

TEST(anthropic_a_refusal_is_shown)
{
    TELLS(START "data: "
                "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_"
                "details\":{\"explanation\":\"No.\"}},\"usage\":{\"output_tokens\":31}}\n\n"
                "data: {\"type\":\"message_stop\"}\n\n",
          U1 U2 "text \"No.\"\ndone refusal\n");
}

/* --- requests ------------------------------------------------------------------------ */

TEST(anthropic_request_with_results_signatures_and_marks)
{
    struct msg_part user[] = {
        { .type = PART_TEXT, .text = STR("Pay") },
        { .type = PART_TEXT, .text = STR("") },
        { .type = PART_FILE, .media_type = STR("image/png"), .text = STR("iVBORw0KGgo=") }
    };
    struct msg_part said[] = {
        { .type = PART_REASONING, .text = STR("Hm"), .opaque = STR("{\"signature\":\"c2\\/ln\"}") },
        { .type = PART_REASONING,
          .opaque = STR("{\"block\":{\"type\":\"redacted_thinking\",\"data\":\"x\"}}") },
        { .type = PART_REASONING, .text = STR("unsigned") },
        { .type = PART_CALL, .id = STR("toolu_7"), .name = STR("pay"), .input = STR("{\"a\":1}") },
        { .type = PART_CALL, .id = STR("call:8"), .name = STR("pay"), .input = STR("{\"a\":") }
    };
    struct msg_part results[] = {
        { .type = PART_RESULT,
          .id = STR("toolu_7"),
          .name = STR("pay"),
          .text = STR("no"),
          .is_error = true },
        { .type = PART_RESULT, .id = STR("call:8"), .name = STR("pay"), .text = STR("") }
    };
    struct msg_part      next = { .type = PART_TEXT, .text = STR("Well?") };
    struct msg           msgs[] = { { MSG_USER, user, 3 },
                                    { MSG_ASSISTANT, said, 5 },
                                    { MSG_TOOLS, results, 2 },
                                    { MSG_USER, &next, 1 } };
    struct model_tool    tool = { STR("pay"), STR("Send \"money\""), STR("{\"type\":\"object\"}") };
    struct model_request q = { .system = STR("Be kind"),
                               .msgs = msgs,
                               .msg_count = 4,
                               .tools = &tool,
                               .tool_count = 1,
                               .no_calls = true };
    CHECK_STR(
        trace_sent(&wire_anthropic, (struct model_config){ .model = STR("m-1"), .max_tokens = 99 },
                   "{\"type\":\"adaptive\"}", &q),
        "{\"model\":\"m-1\",\"max_tokens\":99,\"stream\":true,\"thinking\":{\"type\":\"adaptive\"},"
        "\"tools\":[{\"name\":\"pay\",\"description\":\"Send "
        "\\\"money\\\"\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}}],\"tool_"
        "choice\":{\"type\":\"none\"},"
        "\"system\":[{\"type\":\"text\",\"text\":\"Be "
        "kind\",\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Pay\"},{"
        "\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
        "png\",\"data\":\"iVBORw0KGgo=\"}}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm\","
        "\"signature\":\"c2\\/ln\"},{\"type\":\"redacted_thinking\",\"data\":\"x\"},"
        "{\"type\":\"tool_use\",\"id\":\"toolu_7\",\"name\":\"pay\",\"input\":{\"a\":1}},{\"type\":"
        "\"tool_use\",\"id\":\"call_2\",\"name\":\"pay\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_7\","
        "\"content\":\"no\",\"is_error\":true},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"call_2\",\"content\":\"(no "
        "output)\"},{\"type\":\"text\",\"text\":\"Well?\",\"cache_control\":{\"type\":"
        "\"ephemeral\"}}]}]}");
}

TEST(anthropic_sampling_is_sent_to_the_old_version_only)
{
    struct arena a;
    struct jv   *extra;
    arena_init(&a, 0);
    REQUIRE(json_parse(
                &a,
                STR("{\"temperature\":0.5,\"model\":\"other\",\"metadata\":{\"user_id\":\"u\"}}"),
                &extra, NULL) == OK);
    struct msg_part      part = { .type = PART_TEXT, .text = STR("x") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
#define TAIL "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}"
    CHECK_STR(trace_sent(&wire_anthropic,
                         (struct model_config){
                             .model = STR("m"), .extra = extra, .no_cache_marks = true },
                         NULL, &q),
              "{\"model\":\"m\",\"max_tokens\":8192,\"stream\":true,\"metadata\":{\"user_id\":"
              "\"u\"}," TAIL);
    CHECK_STR(trace_sent(&wire_anthropic,
                         (struct model_config){ .model = STR("m"),
                                                .extra = extra,
                                                .no_cache_marks = true,
                                                .version = STR("2023-06-01") },
                         NULL, &q),
              "{\"model\":\"m\",\"max_tokens\":8192,\"stream\":true,\"temperature\":0.5,"
              "\"metadata\":{\"user_id\":\"u\"}," TAIL);
    arena_done(&a);
}

TEST(anthropic_thinking_in_its_forms)
{
    struct msg_part      part = { .type = PART_TEXT, .text = STR("x") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
#define MIND(json, head)                                                                          \
    CHECK_STR(                                                                                    \
        trace_sent(&wire_anthropic,                                                               \
                   (struct model_config){ .model = STR("m"), .no_cache_marks = true }, json, &q), \
        "{\"model\":\"m\",\"max_tokens\":" head                                                   \
        ",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}")
    MIND("true", "8192,\"stream\":true,\"thinking\":{\"type\":\"adaptive\"}");
    MIND("false", "8192,\"stream\":true,\"thinking\":{\"type\":\"disabled\"}");
    MIND("0", "8192,\"stream\":true,\"thinking\":{\"type\":\"disabled\"}");
    MIND("2000",
         "10192,\"stream\":true,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}");
    MIND("5", "9216,\"stream\":true,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}");
    MIND("\"high\"", "8192,\"stream\":true,\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{"
                     "\"effort\":\"high\"}");
}

TEST(anthropic_error_bodies)
{
    static const struct error_row rows[] = {
        { 401,
          "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid "
          "x-api-key\"}}",
          "model_auth", false },
        { 400,
          "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt "
          "is too long: 1 > 0\"}}",
          "model_context", false },
        { 429,
          "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\","
          "\"details\":{\"error_code\":\"enforced_spend_limit_reached\"}}}",
          "model_quota", false },
        { 529, "<html>", "model_overloaded", true },
        { 413, "", "model_context", false },
        { 502, "bad gateway", "model_error", true },
        { 409, "{}", "model_error", true },
        { 408, "[]", "model_timeout", true },
        { 404, "null", "model_not_found", false },
    };
    trace_errors(&wire_anthropic, rows, sizeof rows / sizeof *rows);
}

TEST(anthropic_recordings_replay_the_same_with_every_cut)
{
    trace_fixtures(&wire_anthropic, "anthropic");
}

TEST(anthropic_can_be_told_what_to_call)
{
    CHECK(str_find(trace_chosen(&wire_anthropic, CHOICE_MUST, NULL),
                   STR("\"tool_choice\":{\"type\":\"any\"}")) > 0);
    CHECK(str_find(trace_chosen(&wire_anthropic, CHOICE_NAMED, NULL),
                   STR("\"tool_choice\":{\"type\":\"tool\",\"name\":\"pay\"}")) > 0);
    CHECK(str_find(trace_chosen(&wire_anthropic, CHOICE_AUTO, NULL), STR("tool_choice")) < 0);
    /* it refuses to be forced while it thinks */
    CHECK(str_find(trace_chosen(&wire_anthropic, CHOICE_MUST, "true"), STR("tool_choice")) < 0);
    CHECK(str_find(trace_chosen(&wire_anthropic, CHOICE_MUST, "false"), STR("tool_choice")) > 0);
}
