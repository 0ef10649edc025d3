/* test_openai.c -- chat completions and the ways servers deviate from them. */
#include "test.h"

#include "model_trace.h"

#define CHOICE(rest)                                                                     \
    "data: "                                                                             \
    "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\"," \
    "\"choices\":[{\"index\":0," rest "}]}\n\n"
#define DELTA(d)          CHOICE("\"delta\":" d ",\"finish_reason\":null")
#define CALLS(c)          DELTA("{\"tool_calls\":[" c "]}")
#define FINISH(r)         CHOICE("\"delta\":{},\"finish_reason\":\"" r "\"")
#define USAGE             "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":9}}\n\n"
#define DONE              "data: [DONE]\n\n"
#define TELLS(body, want) CHECK_STR(trace_of(&wire_openai, body), want)

TEST(openai_text_usage_and_ends)
{
    TELLS(DELTA("{\"role\":\"assistant\",\"content\":\"\"}")
              DELTA("{\"content\":\"Hi \\ud83d\\ude00\"}") FINISH("stop") USAGE DONE,
          "text \"Hi \xF0\x9F\x98\x80\"\nusage 20 9\ndone end\n");
    TELLS(DELTA("{\"content\":\"x\"}") FINISH("length") DONE, "text \"x\"\ndone length\n");
    /* no [DONE]: several servers */
    TELLS(DELTA("{\"content\":\"x\"}") FINISH("stop"), "text \"x\"\ndone end\n");
    TELLS(DELTA("{\"content\":\"x\"}") DONE, "text \"x\"\nfailed model_cut\n"); /* no finish */
    TELLS(DELTA("{\"content\":\"x\"}"), "text \"x\"\nfailed model_cut\n");
    TELLS(DELTA("{\"content\":null}")
              CHOICE("\"delta\":{\"content\":\"last\"},\"finish_reason\":\"stop\"") DONE,
          "text \"last\"\ndone end\n");
    TELLS(": keep-alive\n\n:\n\ndata: "
          "{\"choices\":[],\"id\":\"\",\"prompt_filter_results\":[]}\n\n" DELTA(
              "{\"content\":\"x\"}") FINISH("stop") "data: [DONE]",
          "text \"x\"\ndone end\n");
}

TEST(openai_a_chunk_shaped_like_the_one_before_means_what_it_says)
{
#define SAY(text) DELTA("{\"content\":" text "}")
    TELLS(SAY("\"a\"") SAY("\"\"") SAY("\"\\u00e9\\\"\"") SAY("\"b\"") FINISH("stop") DONE,
          "text \"a\"\ntext \"é\\\"\"\ntext \"b\"\ndone end\n");
    TELLS(SAY("\"a\"") SAY("\"b\",\"refusal\":\"no\"") FINISH("stop") DONE,
          "text \"a\"\ntext \"b\"\ntext \"no\"\ndone refusal\n");
    TELLS(SAY("\"a\"") SAY("\"b\",\"content\":\"c\"") FINISH("stop") DONE,
          "text \"a\"\nfailed model_protocol\n");
    TELLS(SAY("\"a\"") SAY("\"b\\\"") FINISH("stop") DONE, "text \"a\"\nfailed model_protocol\n");
    TELLS(SAY("\"a\"") SAY("\"\xff\"") FINISH("stop") DONE, "text \"a\"\nfailed model_protocol\n");
    TELLS(SAY("\"a\"") FINISH("stop") SAY("\"late\"") DONE, "text \"a\"\ndone end\n");
    TELLS(SAY("\"a\"") "event: error\n" SAY("\"b\"") DONE, "text \"a\"\nfailed model_error\n");
}

TEST(openai_refusals)
{
    TELLS(DELTA("{\"refusal\":\"I can't\"}") FINISH("stop") DONE,
          "text \"I can't\"\ndone refusal\n");
    TELLS(DELTA("{\"content\":\"x\"}") FINISH("content_filter") DONE, "text \"x\"\ndone refusal\n");
}

TEST(openai_reasoning_under_both_names)
{
    TELLS(DELTA("{\"content\":null,\"reasoning_content\":\"Hm\"}") DELTA("{\"content\":\"x\"}")
              FINISH("stop") DONE,
          "reasoning \"Hm\"\ntext \"x\"\ndone end\n");
    TELLS(DELTA("{\"reasoning\":\"Hm\",\"reasoning_content\":\"Hm\"}") FINISH("stop") DONE,
          "reasoning \"Hm\"\ndone end\n");
    TELLS(DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":"
                "\"Hm\"}]},{\"type\":\"text\",\"text\":\"x\"}]}") FINISH("stop") DONE,
          "reasoning \"Hm\"\ntext \"x\"\ndone end\n");
}

#define WEATHER "call call_a get_weather\ninput \"{\\\"city\\\":\\\"Oslo\\\"}\"\ncall_end\n"
#define TIME    "call call_b get_time\ninput \"{}\"\ncall_end\n"

TEST(openai_interleaved_parallel_calls_come_one_after_another)
{
    TELLS(
        CALLS("{\"index\":0,\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"get_"
              "weather\",\"arguments\":\"\"}}")
            CALLS("{\"index\":1,\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":"
                  "\"get_time\",\"arguments\":\"{}\"}}")
                CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}}")
                    FINISH("tool_calls") USAGE DONE,
        WEATHER                                TIME "usage 20 9\ndone calls\n");
}

TEST(openai_ollama_numbers_every_call_zero_and_says_stop)
{
    TELLS(CALLS("{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"get_weather\","
                "\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}}")
              CALLS("{\"index\":0,\"id\":\"call_b\",\"function\":{\"name\":\"get_time\","
                    "\"arguments\":\"{}\"}}") FINISH("stop") DONE,
          WEATHER TIME "done calls\n");
    TELLS(CALLS("{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}},{\"function\":{\"name\":"
                "\"a\",\"arguments\":\"{\\\"x\\\":1}\"}}") FINISH("stop") DONE,
          "call - a\ninput \"{}\"\ncall_end\ncall - a\ninput \"{\\\"x\\\":1}\"\ncall_end\ndone "
          "calls\n");
}

TEST(openai_mistral_sends_calls_without_index_beside_the_finish)
{
    TELLS(CHOICE("\"delta\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"call_a\",\"function\":{"
                 "\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}},"
                 "{\"id\":\"call_b\",\"function\":{\"name\":\"get_time\",\"arguments\":\"{}\"}}]},"
                 "\"finish_reason\":\"tool_calls\"") DONE,
          WEATHER TIME "done calls\n");
}

TEST(openai_qwen_repeats_an_empty_id)
{
    TELLS(CALLS("{\"index\":0,\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"get_"
                "time\",\"arguments\":\"\"}}")
              CALLS("{\"index\":0,\"id\":\"\",\"type\":\"function\",\"function\":{\"name\":null,"
                    "\"arguments\":\"{\"}}") CALLS("{\"index\":0,\"id\":\"\",\"type\":\"function\","
                                                   "\"function\":{\"arguments\":\"}\"}}")
                  FINISH("tool_calls") DONE,
          "call call_b get_time\ninput \"{\"\ninput \"}\"\ncall_end\ndone calls\n");
}

TEST(openai_llama_cpp_sends_the_name_without_arguments_and_may_add_nothing)
{
    TELLS(CALLS("{\"index\":0,\"id\":\"call_b\",\"function\":{\"name\":\"get_time\"}}")
              FINISH("tool_calls") DONE,
          TIME "done calls\n");
    TELLS(
        CALLS(
            "{\"index\":0,\"id\":\"call_b\",\"function\":{\"name\":\"get_time\",\"arguments\":{}}}")
            FINISH("tool_calls") DONE,
        TIME "done calls\n");
}

TEST(openai_half_a_call_has_no_end)
{
    TELLS(CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"{"
                "\\\"amount\\\":5\"}}") FINISH("tool_calls") DONE,
          "call c pay\ninput \"{\\\"amount\\\":5\"\ndone calls\n");
    TELLS(CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"{"
                "\\\"amount\\\":5}\"}}"),
          "call c pay\ninput \"{\\\"amount\\\":5}\"\nfailed model_cut\n");
    TELLS(CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"pay\",\"arguments\":\"[1]\"}}")
              FINISH("tool_calls") DONE,
          "call c pay\ninput \"[1]\"\ndone calls\n");
    /* never named */
    TELLS(CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"arguments\":\"{}\"}}")
              FINISH("tool_calls") DONE,
          "done end\n");
}

TEST(openai_a_call_that_was_closed_does_not_come_back)
{
#define AB                                                                                        \
    CALLS("{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"get_weather\",\"arguments\":"  \
          "\"{\\\"city\\\":\\\"Oslo\\\"}\"}}")                                                    \
    CALLS("{\"index\":1,\"id\":\"call_b\",\"function\":{\"name\":\"get_time\",\"arguments\":\"{}" \
          "\"}}")
    TELLS(AB      CALLS("{\"index\":0,\"id\":\"call_a\",\"function\":{\"name\":\"get_weather\","
                             "\"arguments\":\"\"}}") FINISH("tool_calls") DONE,
          WEATHER TIME "done calls\n");
    TELLS(AB CALLS("{\"index\":0,\"function\":{\"arguments\":\" \"}}") FINISH("tool_calls") DONE,
          WEATHER TIME "done calls\n");
    TELLS(AB CALLS("{\"index\":0,\"function\":{\"arguments\":\"{}\"}}") FINISH("tool_calls") DONE,
          "call call_a get_weather\ninput \"{\\\"city\\\":\\\"Oslo\\\"}\"\ncall_end\ncall call_b "
          "get_time\ninput \"{}\"\nfailed model_protocol\n");
}

TEST(openai_text_after_a_call_is_a_part_of_its_own)
{
    TELLS(DELTA("{\"content\":\"a\"}") CALLS("{\"index\":0,\"id\":\"call_b\",\"function\":{"
                                             "\"name\":\"get_time\",\"arguments\":\"{}\"}}")
              DELTA("{\"content\":\"b\"}") FINISH("tool_calls") DONE,
          "text \"a\"\n" TIME "text \"b\"\ndone calls\n");
}

TEST(openai_errors_in_the_stream)
{
    TELLS(DELTA("{\"content\":\"x\"}") "data: "
                                       "{\"error\":{\"code\":500,\"message\":\"m\",\"type\":"
                                       "\"server_error\"}}\n\n",
          "text \"x\"\nfailed model_error\n");
    TELLS("data: {\"error\":{\"code\":429,\"message\":\"m\"}}\n\n" DONE,
          "failed model_rate_limit\n");
    TELLS("data: {\"error\":\"just text\",\"choices\":[]}\n\n", "failed model_error\n");
    TELLS("data: {\"object\":\"error\",\"message\":\"m\",\"code\":400}\n\n",
          "failed model_refused\n");
    TELLS("error: {\"code\":503,\"message\":\"loading\",\"type\":\"unavailable_error\"}\n\n",
          "failed model_overloaded\n");
    TELLS(DELTA("{\"content\":\"x\"}") FINISH("error") DONE, "text \"x\"\nfailed model_error\n");
    TELLS("data: {\"choices\":[{\"delta\":{\"content\":\"never told\"}}]\n\n" DONE,
          "failed model_protocol\n");
    TELLS("data: hello\n\n" DONE, "failed model_protocol\n");
}

TEST(openai_groq_hides_its_usage)
{
    TELLS(DELTA("{\"content\":\"x\"}") "data: "
                                       "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
                                       "\"stop\"}],\"x_groq\":{\"id\":\"r\",\"usage\":{\"prompt_"
                                       "tokens\":3,\"completion_tokens\":4}}}\n\n" DONE,
          "text \"x\"\nusage 3 4\ndone end\n");
}

/* --- requests --------------------------------------------------------------------------- */

TEST(openai_request_with_calls_and_results)
{
    struct msg_part user[] = {
        { .type = PART_TEXT, .text = STR("Look") },
        { .type = PART_FILE, .media_type = STR("image/png"), .text = STR("iVBORw0KGgo=") },
        { .type = PART_FILE, .media_type = STR("application/zip"), .text = STR("eA==") }
    };
    struct msg_part said[] = {
        { .type = PART_REASONING, .text = STR("Hm") },
        { .type = PART_CALL,
          .id = STR("call_1"),
          .name = STR("pay"),
          .input = STR("{\"a\":\"\\\"\"}") },
        { .type = PART_CALL, .id = STR("call_2"), .name = STR("pay"), .input = STR("{") }
    };
    struct msg_part results[] = {
        { .type = PART_RESULT, .id = STR("call_1"), .text = STR("refused"), .is_error = true },
        { .type = PART_RESULT, .id = STR("call_2"), .text = STR("ok") }
    };
    struct msg_part      again = { .type = PART_TEXT, .text = STR("Well?") };
    struct msg           msgs[] = { { MSG_USER, user, 3 },
                                    { MSG_ASSISTANT, said, 3 },
                                    { MSG_TOOLS, results, 2 },
                                    { MSG_USER, &again, 1 } };
    struct model_tool    tool = { STR("pay"), STR("Send"), STR("{\"type\":\"object\"}") };
    struct model_request q = { .system = STR("Be kind"),
                               .msgs = msgs,
                               .msg_count = 4,
                               .tools = &tool,
                               .tool_count = 1,
                               .no_calls = true,
                               .thread = STR("th_1") };
#define MESSAGES                                                                                 \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"pay\",\"description\":\"Send\"," \
    "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}],\"tool_choice\":\"none\","        \
    "\"messages\":[{\"role\":\"system\",\"content\":\"Be kind\"},"                               \
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"},{\"type\":\"image_"   \
    "url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\"}},"                     \
    "{\"type\":\"text\",\"text\":\"[file (application/zip) was attached; it cannot be shown to " \
    "this model]\"}]},"
#define REST                                                                                     \
    "\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"pay\","   \
    "\"arguments\":\"{\\\"a\\\":\\\"\\\\\\\"\\\"}\"}},"                                          \
    "{\"id\":\"call_2\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"{}" \
    "\"}}]},"                                                                                    \
    "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"Error: "                       \
    "refused\"},{\"role\":\"tool\",\"tool_call_id\":\"call_2\",\"content\":\"ok\"},"             \
    "{\"role\":\"user\",\"content\":\"Well?\"}]}"
    CHECK_STR(
        trace_sent(&wire_openai, (struct model_config){ .model = STR("gpt"), .max_tokens = 5 },
                   "\"low\"", &q),
        "{\"model\":\"gpt\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_"
        "completion_tokens\":5,\"reasoning_effort\":\"low\",\"prompt_cache_key\":\"th_1\"," MESSAGES
        "{\"role\":\"assistant\",\"content\":null," REST);
    CHECK_STR(trace_sent(&wire_openai,
                         (struct model_config){ .model = STR("qwen"),
                                                .base_url = STR("http://127.0.0.1:8080/v1"),
                                                .max_tokens = 5,
                                                .replay_reasoning = true },
                         NULL, &q),
              "{\"model\":\"qwen\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
              "\"max_tokens\":5," MESSAGES
              "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"Hm\"," REST);
}

TEST(openai_thinking_in_its_forms)
{
    struct msg_part      part = { .type = PART_TEXT, .text = STR("x") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
#define MIND(json, more)                                                                           \
    CHECK_STR(trace_sent(&wire_openai, (struct model_config){ .model = STR("m") }, json, &q),      \
              "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}," more \
              "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}")
    MIND("true", "\"reasoning_effort\":\"medium\",");
    MIND("false", "\"reasoning_effort\":\"none\",");
    MIND("20000", "\"reasoning_effort\":\"high\",");
    MIND("{\"enable_thinking\":false,\"model\":\"other\"}", "\"enable_thinking\":false,");
}

TEST(openai_error_bodies)
{
    static const struct error_row rows[] = {
        { 401,
          "{\"error\":{\"message\":\"Incorrect API key provided: "
          "sk-x\",\"type\":\"invalid_request_error\",\"code\":\"invalid_api_key\"}}",
          "model_auth", false },
        { 400,
          "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"code\":\"context_"
          "length_exceeded\"}}",
          "model_context", false },
        { 400,
          "{\"error\":{\"code\":400,\"message\":\"m\",\"type\":\"exceed_context_size_error\"}}",
          "model_context", false },
        { 429,
          "{\"error\":{\"message\":\"m\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_"
          "quota\"}}",
          "model_quota", false },
        { 429,
          "{\"error\":{\"message\":\"m\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
          "model_rate_limit", true },
        { 404, "{\"error\":\"model 'x' not found\"}", "model_not_found", false },
        { 503, "{\"error\":{\"code\":503,\"type\":\"unavailable_error\"}}", "model_overloaded",
          true },
        { 500, "", "model_error", true },
        { 301, "<html>", "model_protocol", false },
        { 422, "{\"detail\":[{\"msg\":\"x\"}]}", "model_refused", false },
    };
    trace_errors(&wire_openai, rows, sizeof rows / sizeof *rows);
}

TEST(openai_recordings_replay_the_same_with_every_cut)
{
    trace_fixtures(&wire_openai, "openai-chat");
}

TEST(openai_can_be_told_what_to_call)
{
    CHECK(str_find(trace_chosen(&wire_openai, CHOICE_MUST, NULL),
                   STR("\"tool_choice\":\"required\"")) > 0);
    CHECK(str_find(trace_chosen(&wire_openai, CHOICE_NAMED, NULL),
                   STR("\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"pay\"}}")) >
          0);
    CHECK(str_find(trace_chosen(&wire_openai, CHOICE_AUTO, NULL), STR("tool_choice")) < 0);
}
