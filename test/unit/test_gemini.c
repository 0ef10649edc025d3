/* test_gemini.c -- streamGenerateContent: what is sent, and what is understood. */
#include "test.h"

#include "model/gemini_args.h"
#include "model_trace.h"

#define PARTS(p)                                                                                \
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" p "]},\"index\":0}]}" \
    "\n\n"
#define FINISH(r)                                                                              \
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"" r           \
    "\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":40,\"candidatesTokenCount\":20," \
    "\"thoughtsTokenCount\":12,\"totalTokenCount\":72}}\n\n"
#define TELLS(body, want) CHECK_STR(trace_of(&wire_gemini, body), want)

TEST(gemini_text_thoughts_and_ends)
{
    TELLS(PARTS("{\"text\":\"Hm\",\"thought\":true}")
              PARTS("{\"text\":\"Hi\"},{\"text\":\" there\"}") FINISH("STOP"),
          "reasoning \"Hm\"\ntext \"Hi\"\ntext \" there\"\nusage 40 32\ndone end\n");
    TELLS(PARTS("{\"text\":\"x\"}") FINISH("MAX_TOKENS"), "text \"x\"\nusage 40 32\ndone length\n");
    TELLS(PARTS("{\"text\":\"x\"}") "data: "
                                    "{\"candidates\":[{\"finishReason\":\"SAFETY\","
                                    "\"finishMessage\":\"Blocked.\"}]}\n\n",
          "text \"x\"\ntext \"Blocked.\"\ndone refusal\n");
    TELLS(PARTS("{\"text\":\"x\"}") FINISH("SOMETHING_NEW"), "text \"x\"\nusage 40 32\ndone end\n");
    TELLS(PARTS("{\"text\":\"x\"}"), "text \"x\"\nfailed model_cut\n");
    TELLS("data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\r\n\r\n", "done refusal\n");
    TELLS("data: {\"usageMetadata\":{\"promptTokenCount\":1}}\r\rdata: "
          "{\"candidates\":[]}\r\r" FINISH("STOP"),
          "usage 1 0\nusage 40 32\ndone end\n");
}

TEST(gemini_calls_come_whole_and_end_with_stop)
{
    TELLS(PARTS("{\"functionCall\":{\"id\":\"fc1\",\"name\":\"pay\",\"args\":{\"amount\":30}},"
                "\"thoughtSignature\":\"c2ln\"},{\"functionCall\":{\"name\":\"pay\"}}")
              FINISH("STOP"),
          "call fc1 pay\ninput \"{\\\"amount\\\":30}\"\nopaque "
          "{\"id\":\"fc1\",\"thoughtSignature\":\"c2ln\"}\ncall_end\ncall - pay\ninput "
          "\"{}\"\ncall_end\nusage 40 32\ndone calls\n");
}

TEST(gemini_arguments_may_stream_as_paths)
{
    TELLS(
        PARTS("{\"functionCall\":{\"name\":\"cook\",\"willContinue\":true},\"thoughtSignature\":"
              "\"s\"}") PARTS("{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.r.s[0]\","
                              "\"stringValue\":"
                              "\"Boil\",\"willContinue\":true}],\"willContinue\":true}}")
            PARTS(
                "{\"functionCall\":{\"partialArgs\":[{\"jsonPath\":\"$.r.s[0]\",\"stringValue\":\" "
                "it\"},{\"jsonPath\":\"$.r.s[1]\",\"stringValue\":\"Eat\"},{\"jsonPath\":\"$.n\","
                "\"numberValue\":2.50},"
                "{\"jsonPath\":\"$['odd "
                "name']\",\"boolValue\":true},{\"jsonPath\":\"$.z\",\"nullValue\":null}],"
                "\"willContinue\":true}}") PARTS("{\"functionCall\":{}}") FINISH("STOP"),
        "call - cook\ninput \"{\\\"r\\\":{\\\"s\\\":[\\\"Boil "
        "it\\\",\\\"Eat\\\"]},\\\"n\\\":2.50,\\\"odd name\\\":true,\\\"z\\\":null}\"\nopaque "
        "{\"thoughtSignature\":\"s\"}\ncall_end\nusage 40 32\ndone calls\n");
    /* half: no end */
    TELLS(PARTS("{\"functionCall\":{\"name\":\"cook\",\"willContinue\":true}}") FINISH("STOP"),
          "call - cook\nusage 40 32\ndone calls\n");
    TELLS(PARTS("{\"functionCall\":{\"name\":\"cook\",\"willContinue\":true}}")
              PARTS("{\"functionCall\":{\"name\":\"cook\"}}"),
          "call - cook\nfailed model_protocol\n");
    TELLS(PARTS("{\"functionCall\":{}}") FINISH("STOP"), "usage 40 32\ndone end\n");
}

TEST(gemini_bad_paths_are_refused)
{
    static const char *const bad[] = { "",     "x",      "$",    "$.",   "$[",
                                       "$[x]", "$.a[7]", "$['a", "$..a", "$.a.b" };
    struct arena             a;
    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gemini_args *args = gemini_args_new();
        struct jv          *v;
        char                text[100];
        REQUIRE(json_parse(&a, STR("{\"jsonPath\":\"$.a\",\"stringValue\":\"x\"}"), &v, NULL) ==
                OK);
        CHECK(gemini_args_add(args, v) == OK);
        snprintf(text, sizeof text, "{\"jsonPath\":\"%s\",\"stringValue\":\"x\"}", bad[i]);
        REQUIRE(json_parse(&a, str_c(text), &v, NULL) == OK);
        CHECK(gemini_args_add(args, v) != OK);
        gemini_args_free(args);
        arena_reset(&a);
    }
    arena_done(&a);
}

TEST(gemini_signatures_stay_with_their_part)
{
    TELLS(PARTS("{\"text\":\"abc\"}") PARTS("{\"text\":\"\",\"thoughtSignature\":\"s\"}")
              FINISH("STOP"),
          "text \"abc\"\nopaque {\"at\":3,\"thoughtSignature\":\"s\"}\nusage 40 32\ndone end\n");
    TELLS(PARTS("{\"text\":\"abc\"},{\"text\":\"d\",\"thoughtSignature\":\"s\"},{\"text\":\"e\"}")
              FINISH("STOP"),
          "text \"abc\"\ntext \"d\"\nopaque {\"at\":3,\"thoughtSignature\":\"s\"}\ntext "
          "\"e\"\nusage 40 32\ndone end\n");
    TELLS(PARTS("{\"text\":\"\",\"thoughtSignature\":\"s\"}") FINISH("STOP"),
          "reasoning \"\"\nopaque {\"part\":{\"text\":\"\",\"thoughtSignature\":\"s\"}}\nusage 40 "
          "32\ndone end\n");
    TELLS(PARTS("{\"text\":\"x\"},{\"executableCode\":{\"code\":\"1\"}}") FINISH("STOP"),
          "text \"x\"\nreasoning \"\"\nopaque "
          "{\"part\":{\"executableCode\":{\"code\":\"1\"}}}\nusage 40 32\ndone end\n");
}

TEST(gemini_errors_in_the_stream)
{
    TELLS(PARTS("{\"text\":\"x\"}") "data: "
                                    "{\"error\":{\"code\":503,\"message\":\"m\",\"status\":"
                                    "\"UNAVAILABLE\"}}\n\n",
          "text \"x\"\nfailed model_overloaded\n");
    TELLS("data: "
          "[{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\","
          "\"details\":[{\"retryDelay\":\"17s\"}]}}]\n\n",
          "failed model_rate_limit\n");
    TELLS(PARTS("{\"text\":\"x\"}") FINISH("MALFORMED_FUNCTION_CALL"),
          "text \"x\"\nusage 40 32\nfailed model_error\n");
    TELLS("data: {\"candidates\":\n\n" FINISH("STOP"), "failed model_protocol\n");
    TELLS("data: {\"candidates\":[{\"conte", "failed model_cut\n");
}

/* --- requests ----------------------------------------------------------------------- */

TEST(gemini_request_with_signatures_and_results)
{
    struct msg_part user[] = {
        { .type = PART_TEXT, .text = STR("Pay") },
        { .type = PART_FILE, .media_type = STR("image/png"), .text = STR("iVBORw0KGgo=") }
    };
    struct msg_part said[] = {
        { .type = PART_REASONING, .text = STR("summary") },
        { .type = PART_TEXT,
          .text = STR("abcd"),
          .opaque = STR("{\"at\":3,\"thoughtSignature\":\"dA==\"}") },
        { .type = PART_REASONING,
          .opaque = STR("{\"part\":{\"executableCode\":{\"code\":\"1\"}}}") },
        { .type = PART_CALL,
          .id = STR("fc1"),
          .name = STR("pay"),
          .input = STR("{\"amount\":30}"),
          .opaque = STR("{\"id\":\"fc1\",\"thoughtSignature\":\"c2ln\"}") },
        { .type = PART_CALL, .id = STR("ours"), .name = STR("find"), .input = STR("{}") },
        { .type = PART_CALL, .id = STR("ours2"), .name = STR("find"), .input = STR("{}") }
    };
    struct msg_part results[] = {
        { .type = PART_RESULT,
          .id = STR("fc1"),
          .name = STR("pay"),
          .text = STR("User denied"),
          .is_error = true },
        { .type = PART_RESULT, .id = STR("ours"), .name = STR("find"), .text = STR("[1, 2]") },
        { .type = PART_RESULT, .id = STR("ours2"), .name = STR("find"), .text = STR("plain") }
    };
    struct msg_part      next = { .type = PART_TEXT, .text = STR("Well?") };
    struct msg           msgs[] = { { MSG_USER, user, 2 },
                                    { MSG_ASSISTANT, said, 6 },
                                    { MSG_TOOLS, results, 3 },
                                    { MSG_USER, &next, 1 } };
    struct model_tool    tool = { STR("pay"), STR("Send"), STR("{\"type\":\"object\"}") };
    struct model_request q = { .system = STR("Be kind"),
                               .msgs = msgs,
                               .msg_count = 4,
                               .tools = &tool,
                               .tool_count = 1,
                               .no_calls = true };
    CHECK_STR(
        trace_sent(&wire_gemini, (struct model_config){ .model = STR("m"), .max_tokens = 7 },
                   "{\"includeThoughts\":true}", &q),
        "{\"systemInstruction\":{\"role\":\"user\",\"parts\":[{\"text\":\"Be "
        "kind\"}]},\"contents\":["
        "{\"role\":\"user\",\"parts\":[{\"text\":\"Pay\"},{\"inlineData\":{\"mimeType\":\"image/"
        "png\",\"data\":\"iVBORw0KGgo=\"}}]},"
        "{\"role\":\"model\",\"parts\":[{\"text\":\"abc\"},{\"text\":\"d\",\"thoughtSignature\":"
        "\"dA==\"},{\"executableCode\":{\"code\":\"1\"}},"
        "{\"functionCall\":{\"id\":\"fc1\",\"name\":\"pay\",\"args\":{\"amount\":30}},"
        "\"thoughtSignature\":\"c2ln\"},{\"functionCall\":{\"name\":\"find\",\"args\":{}}},{"
        "\"functionCall\":{\"name\":\"find\",\"args\":{}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"fc1\",\"name\":\"pay\","
        "\"response\":{\"error\":\"User denied\"}}},"
        "{\"functionResponse\":{\"name\":\"find\",\"response\":{\"results\":[1, "
        "2]}}},{\"functionResponse\":{\"name\":\"find\",\"response\":{\"result\":\"plain\"}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"text\":\"Well?\"}]}],"
        "\"tools\":[{\"functionDeclarations\":[{\"name\":\"pay\",\"description\":\"Send\"}]}],"
        "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"NONE\"}},\"generationConfig\":{"
        "\"maxOutputTokens\":7,\"thinkingConfig\":{\"includeThoughts\":true}}}");
}

TEST(gemini_thinking_in_its_forms)
{
    static const char *const rows[][2] = {
        { "true", "{\"includeThoughts\":true}" },
        { "false", "{\"thinkingBudget\":0}" },
        { "500", "{\"includeThoughts\":true,\"thinkingBudget\":500}" },
        { "\"low\"", "{\"includeThoughts\":true,\"thinkingLevel\":\"low\"}" },
        { "{\"x\":1}", "{\"x\":1}" }
    };
    for (size_t i = 0; i < 5; i++) {
        char want[200];
        snprintf(want, sizeof want,
                 "{\"contents\":[],\"generationConfig\":{\"thinkingConfig\":%s}}", rows[i][1]);
        CHECK_STR(trace_sent(&wire_gemini, (struct model_config){ .model = STR("m") }, rows[i][0],
                             &(struct model_request){ 0 }),
                  want);
    }
}

TEST(gemini_addresses)
{
    struct buf out;
    buf_init(&out, 0);
    wire_gemini.url(&out, STR("https://h/v1beta"), STR("models/gemini 3?x"));
    CHECK_STR(buf_view(&out),
              "https://h/v1beta/models/gemini%203%3Fx:streamGenerateContent?alt=sse");
    buf_done(&out);
}

TEST(gemini_error_bodies)
{
    struct arena   a;
    struct trouble t;
    arena_init(&a, 0);
    trouble_init(&t);
    wire_http_error(&wire_gemini, &a, 429,
                    STR("[{\"error\":{\"code\":429,\"message\":\"m\",\"status\":\"RESOURCE_"
                        "EXHAUSTED\",\"details\":[{\"@type\":\"x\"},{\"retryDelay\":\"1.5s\"}]}}]"),
                    &t);
    CHECK(t.kind == FAIL_RATE && t.again && t.after_ms == 1500);
    trouble_init(&t);
    wire_http_error(&wire_gemini, &a, 400,
                    STR("{\"error\":{\"code\":400,\"message\":\"API key not "
                        "valid.\",\"status\":\"INVALID_ARGUMENT\",\"details\":[{\"reason\":\"API_"
                        "KEY_INVALID\"}]}}"),
                    &t);
    CHECK(t.kind == FAIL_AUTH && !t.again);
    trouble_init(&t);
    wire_http_error(&wire_gemini, &a, 400,
                    STR("{\"error\":{\"code\":400,\"message\":\"Corrupted thought "
                        "signature.\",\"status\":\"INVALID_ARGUMENT\"}}"),
                    &t);
    CHECK(t.kind == FAIL_SIGNATURE);
    arena_done(&a);
}

TEST(gemini_recordings_replay_the_same_with_every_cut)
{
    trace_fixtures(&wire_gemini, "google");
}

TEST(gemini_can_be_told_what_to_call)
{
    CHECK(str_find(trace_chosen(&wire_gemini, CHOICE_MUST, NULL), STR("{\"mode\":\"ANY\"}")) > 0);
    CHECK(str_find(trace_chosen(&wire_gemini, CHOICE_NAMED, NULL),
                   STR("{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"pay\"]}")) > 0);
    CHECK(str_find(trace_chosen(&wire_gemini, CHOICE_AUTO, NULL), STR("{\"mode\":\"AUTO\"}")) > 0);
}
