/* test_tidy.c -- whatever is in a thread: every provider gets a request it takes. */
#include "test.h"

#include "model_trace.h"

static const struct wire *const WIRES[] = { &wire_anthropic, &wire_openai, &wire_gemini };

/* The messages as they are sent; `tools`: one is listed. */
static struct str sent(const struct wire *w, struct msg *msgs, size_t count, bool tools)
{
    struct model_tool    tool = { STR("pay"), STR("Pays"),
                                  STR("{\"type\":\"object\",\"properties\":{}}") };
    struct model_request q = {
        .msgs = msgs, .msg_count = count, .tools = &tool, .tool_count = tools
    };
    struct str body =
        trace_sent(w, (struct model_config){ .model = STR("m"), .no_cache_marks = true }, NULL, &q);
    ptrdiff_t at = str_find(body, w == &wire_gemini ? STR("\"contents\":") : STR("\"messages\":"));
    REQUIRE(at > 0);
    body = str_from(body, (size_t)at + 11);
    ptrdiff_t end = w == &wire_gemini ? str_find(body, STR(",\"tools\":")) : -1;
    return end > 0 ? str_cut(body, (size_t)end) : str_cut(body, body.len - 1);
}

#define USER(...)                                                              \
    {                                                                          \
        MSG_USER, (struct msg_part[]){ __VA_ARGS__ },                          \
            sizeof(struct msg_part[]){ __VA_ARGS__ } / sizeof(struct msg_part) \
    }
#define ASSISTANT(...)                                                         \
    {                                                                          \
        MSG_ASSISTANT, (struct msg_part[]){ __VA_ARGS__ },                     \
            sizeof(struct msg_part[]){ __VA_ARGS__ } / sizeof(struct msg_part) \
    }
#define TOOLS(...)                                                             \
    {                                                                          \
        MSG_TOOLS, (struct msg_part[]){ __VA_ARGS__ },                         \
            sizeof(struct msg_part[]){ __VA_ARGS__ } / sizeof(struct msg_part) \
    }
#define TEXT(t)                           \
    {                                     \
        .type = PART_TEXT, .text = STR(t) \
    }
#define CALL(i, ...)                                                                    \
    {                                                                                   \
        .type = PART_CALL, .id = STR(i), .name = STR("pay"), .input = STR("{\"a\":1}"), \
        __VA_ARGS__                                                                     \
    }
#define RESULT(i, t)                                                          \
    {                                                                         \
        .type = PART_RESULT, .id = STR(i), .name = STR("pay"), .text = STR(t) \
    }
#define FILE_OF(n, m, t)                                                        \
    {                                                                           \
        .type = PART_FILE, .name = STR(n), .media_type = STR(m), .text = STR(t) \
    }
#define SENDS(w, msgs, tools, want) \
    CHECK_STR(sent(w, msgs, sizeof msgs / sizeof *msgs, tools), want)
#define A_USER(t) "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define O_USER(t) "{\"role\":\"user\",\"content\":\"" t "\"}"
#define G_USER(t) "{\"role\":\"user\",\"parts\":[{\"text\":\"" t "\"}]}"

TEST(blank_texts_are_not_sent_and_a_message_of_nothing_else_says_so)
{
    struct msg msgs[] = { USER(TEXT(" \n\t"), TEXT("\xE3\x80\x80\xC2\xA0\xE2\x80\x8B")),
                          ASSISTANT(TEXT("\n\n")), USER(TEXT("Hi"), TEXT("  ")) };
    SENDS(&wire_anthropic, msgs, false,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"(This message has no "
          "words.)\"},{\"type\":\"text\",\"text\":\"Hi\"}]}]");
    SENDS(&wire_openai, msgs, false,
          "[" O_USER("(This message has no words.)") "," O_USER("Hi") "]");
    SENDS(&wire_gemini, msgs, false,
          "[{\"role\":\"user\",\"parts\":[{\"text\":\"(This message has no "
          "words.)\"},{\"text\":\"Hi\"}]}]");
}

TEST(characters_that_are_none_are_replaced)
{
    struct msg msgs[] = { USER(TEXT("a\0b\xED\xA0\x80"
                                    "c")),
                          ASSISTANT({ .type = PART_CALL,
                                      .id = STR("c1"),
                                      .name = STR("pay"),
                                      .input = STR("{\"x\":\"\\ud800\\u0000\",\"n\":1e999}") }),
                          TOOLS(RESULT("c1", "{\"r\":\"\\udc00\"}")) };
    for (size_t i = 0; i < 3; i++) {
        struct str body = sent(WIRES[i], msgs, 3, true);
        CHECK(str_find(body, STR("a\xEF\xBF\xBD"
                                 "b\xEF\xBF\xBD"
                                 "c")) > 0);
        CHECK(str_find(body, STR("\\ud800")) < 0 && str_find(body, STR("u0000")) < 0 &&
              str_find(body, STR(":1e999")) < 0);
        /* as text, not as JSON */
        if (i == 2)
            CHECK(str_find(body, STR("{\"result\":\"{\\\"r\\\":\\\"\\\\udc00\\\"}\"}")) > 0);
    }
}

/* --- files ------------------------------------------------------------------------ */

#define PNG "iVBORw0KGgo="
#define GIF "R0lGODlh"

static void file_row(struct msg_part file, const char *const want[3])
{
    static const char *const ok[] = { "\"type\":\"image\"", "\"type\":\"image_url\"",
                                      "\"inlineData\"" };
    for (size_t i = 0; i < 3; i++) {
        struct msg msgs[] = { { MSG_USER, &file, 1 } };
        struct str body = sent(WIRES[i], msgs, 1, false);
        if (str_find(body, str_c(want[i] ? want[i] : ok[i])) < 0) {
            test_failed(WIRES[i]->base_url, 0, want[i] ? want[i] : "it is sent");
            printf("    " STR_FMT "\n", STR_ARG(body));
        }
    }
}
#define NOTE(n, m, why) "[file " n " (" m ") was attached; " why "]"
#define ALL(x)            \
    (const char *const[]) \
    {                     \
        x, x, x           \
    }

TEST(a_file_is_sent_where_it_is_taken_and_named_where_not)
{
    file_row((struct msg_part)FILE_OF("a.png", "image/png", PNG), ALL(NULL));
    file_row((struct msg_part)FILE_OF("a.gif", "image/gif", GIF),
             (const char *const[]){
                 NULL, NULL, NOTE("a.gif", "image/gif", "it cannot be shown to this model") });
    /* what it is, not what it says */
    file_row((struct msg_part)FILE_OF("a.png", "image/jpeg", PNG), ALL("image/png"));
    file_row((struct msg_part)FILE_OF("a.svg", "image/svg+xml", "PHN2Zy8+"),
             ALL(NOTE("a.svg", "image/svg+xml", "it cannot be shown to this model")));
    file_row((struct msg_part)FILE_OF("report.zip", "application/zip", "UEsDBA=="),
             ALL(NOTE("report.zip", "application/zip", "it cannot be shown to this model")));
    file_row((struct msg_part)FILE_OF("b.png", "image/png", "iVBORw0KGgo"),
             ALL(NOTE("b.png", "image/png", "its content is damaged")));
    file_row((struct msg_part)FILE_OF("b.png", "image/png", "no base64!!!"),
             ALL(NOTE("b.png", "image/png", "its content is damaged")));
    file_row((struct msg_part)FILE_OF("b.png", "image/png", "dGV4dCBvbmx5"),
             ALL(NOTE("b.png", "image/png", "its content is not of that type")));
    file_row((struct msg_part){ .type = PART_FILE,
                                .name = STR("c"),
                                .media_type = STR("image/png"),
                                .url = STR("blob:http://x/1") },
             ALL(NOTE("c", "image/png", "its address cannot be reached from here")));
    file_row((struct msg_part){ .type = PART_FILE,
                                .name = STR("c"),
                                .media_type = STR("image/png"),
                                .url = STR("data:image/png,x") },
             ALL(NOTE("c", "image/png", "its address cannot be reached from here")));
    file_row((struct msg_part){ .type = PART_FILE,
                                .name = STR("x]\n[y"),
                                .media_type = STR("image/png") },
             ALL(NOTE("x___y", "image/png", "its content is left out here")));
    file_row((struct msg_part){ .type = PART_FILE,
                                .name = STR("c"),
                                .media_type = STR("image/png"),
                                .url = STR("https://x/1.png") },
             (const char *const[]){ "\"url\":\"https://x/1.png\"", "\"url\":\"https://x/1.png\"",
                                    "\"fileUri\":\"https://x/1.png\"" });
}

TEST(old_files_make_room_for_newer_ones)
{
    static char big[(5u << 20) - 3];
    memset(big, 'A', sizeof big);
    memcpy(big, "iVBORw0KGgpA", 12);
    struct str      data = str_n(big, (5u << 20) - 4);
    struct msg_part parts[8];
    struct msg      msgs[8];
    for (int i = 0; i < 8; i++) {
        parts[i] = (struct msg_part){
            .type = PART_FILE, .name = STR("p.png"), .media_type = STR("image/png"), .text = data
        };
        msgs[i] = (struct msg){ MSG_USER, &parts[i], 1 };
    }
    for (size_t w = 0; w < 3; w++) {
        struct model_request q = { .msgs = msgs, .msg_count = 8 }, out;
        struct arena         a;
        int64_t              tokens;
        arena_init(&a, 0);
        CHECK(tidy_request(&a, &WIRES[w]->taste, &q, &out, &tokens));
        size_t files = 0;
        for (size_t i = 0; i < out.msg_count; i++) files += out.msgs[i].parts[0].type == PART_FILE;
        CHECK(files == (w == 2 ? 2 : 4) && out.msgs[7].parts[0].type == PART_FILE &&
              out.msgs[0].parts[0].type == PART_TEXT);
        CHECK(tokens >= (int64_t)files * 1000 && tokens < 6000);
        parts[7].text = str_n(big, sizeof big); /* not a whole number of groups */
        arena_done(&a);
        arena_init(&a, 0);
        CHECK(tidy_request(&a, &WIRES[w]->taste, &q, &out, &tokens));
        CHECK(out.msgs[7].parts[0].type == PART_TEXT);
        parts[7].text = data;
        arena_done(&a);
    }
}

/* --- opaque parts ------------------------------------------------------------------------ */

#define THOUGHT(o)                                                  \
    {                                                               \
        .type = PART_REASONING, .text = STR("Hm"), .opaque = STR(o) \
    }

TEST(opaque_parts_that_nobody_would_take_back_are_left_out)
{
    static const char *const bad[] = {
        "5",
        "null",
        "{",
        "{\"signature\":5}",
        "{\"signature\":\"\"}",
        "{\"block\":5}",
        "{\"block\":{\"type\":\"redacted_thinking\",\"data\":5}}",
        "{\"block\":{\"type\":\"thinking\",\"thinking\":5,\"signature\":\"x\"}}",
        "{\"block\":{}}",
        "{\"block\":{\"type\":7}}",
        "{\"part\":{\"text\":5}}",
        "{\"part\":[]}",
        "{\"part\":{\"text\":\"x\",\"thoughtSignature\":\"???\"}}",
        "{\"thoughtSignature\":5}",
        "{\"thoughtSignature\":\"no base64\"}",
        "{\"at\":\"x\"}"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct msg_part said[] = {
            { .type = PART_REASONING, .text = STR("Hm"), .opaque = str_c(bad[i]) },
            { .type = PART_TEXT, .text = STR("Yes"), .opaque = str_c(bad[i]) }
        };
        struct msg msgs[] = { USER(TEXT("a")), { MSG_ASSISTANT, said, 2 }, USER(TEXT("b")) };
        SENDS(&wire_anthropic, msgs, false,
              "[" A_USER("a") ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
                              "\"Yes\"}]}," A_USER("b") "]");
        SENDS(&wire_openai, msgs, false,
              "[" O_USER("a") ",{\"role\":\"assistant\",\"content\":\"Yes\"}," O_USER("b") "]");
        SENDS(&wire_gemini, msgs, false,
              "[" G_USER("a") ",{\"role\":\"model\",\"parts\":[{\"text\":\"Yes\"}]}," G_USER(
                  "b") "]");
    }
}

TEST(a_thought_alone_is_no_message)
{
    struct msg msgs[] = { USER(TEXT("a")), ASSISTANT(THOUGHT("{\"signature\":\"c2ln\"}")),
                          USER(TEXT("b")),
                          ASSISTANT(TEXT("Yes"), THOUGHT("{\"signature\":\"c2ln\"}")) };
    SENDS(&wire_anthropic, msgs, false,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
          "\"text\":\"b\"}]},"
          "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Yes\"}]}," A_USER(
              "(Please go on.)") "]");
    SENDS(&wire_openai, msgs, false,
          "[" O_USER("a") "," O_USER("b") ",{\"role\":\"assistant\",\"content\":\"Yes\"}," O_USER(
              "(Please go on.)") "]");
}

/* --- order --------------------------------------------------------------------------------- */

TEST(the_assistant_neither_begins_nor_ends_nor_follows_itself)
{
    struct msg msgs[] = { ASSISTANT(TEXT("x")), ASSISTANT(TEXT("y")) };
    SENDS(&wire_openai, msgs, false,
          "[" O_USER(
              "(The conversation begins here.)") ",{\"role\":\"assistant\",\"content\":\"x\"}"
                                                 "," O_USER("(Please go on.)") ",{\"role\":"
                                                                               "\"assistant\","
                                                                               "\"content\":\"y\"}"
                                                                               "," O_USER(
                                                                                   "(Please "
                                                                                   "go on.)") "]");
}

#define O_CALL(id)                                                           \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" id \
    "\",\"type\":\"function\",\"function\":{\"name\":\"pay\",\"arguments\":\"{\\\"a\\\":1}\"}}]}"
#define O_RESULT(id, t) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" t "\"}"

TEST(every_call_has_one_result_and_every_result_a_call)
{
    struct msg lost[] = { USER(TEXT("a")), ASSISTANT(CALL("c1")), USER(TEXT("b")) };
    SENDS(&wire_openai, lost, true,
          "[" O_USER("a") "," O_CALL("c1") "," O_RESULT(
              "c1", "Error: Nothing is known about its outcome.") "," O_USER("b") "]");
    struct msg stray[] = { USER(TEXT("a")), TOOLS(RESULT("c9", "ok")), ASSISTANT(CALL("c1")),
                           TOOLS(RESULT("c8", "other"), RESULT("c1", " ")) };
    SENDS(&wire_openai, stray, true,
          "[" O_USER("a") "," O_USER("(The tool pay was called. It answered: ok)") "," O_CALL(
              "c1") "," O_RESULT("c1", "(no output)") "," O_USER("(The tool pay was called. It "
                                                                 "answered: other)") "]");
}

TEST(ids_that_repeat_or_are_too_long_get_others_and_results_follow_in_order)
{
    struct msg msgs[] = { USER(TEXT("a")),
                          ASSISTANT(CALL("c1"), CALL("c1")),
                          TOOLS(RESULT("c1", "first"), RESULT("c1", "second")),
                          USER(TEXT("b")),
                          ASSISTANT(CALL("0123456789012345678901234567890123456789x")),
                          TOOLS(RESULT("0123456789012345678901234567890123456789x", "third")) };
    struct str body = sent(&wire_openai, msgs, 6, true);
    CHECK(str_find(body, STR(O_RESULT("c1", "first") "," O_RESULT("call_2", "second"))) > 0);
    CHECK(str_find(body, STR(O_RESULT("call_3", "third"))) > 0);
    body = sent(&wire_anthropic, msgs, 4, true);
    CHECK(str_find(
              body,
              STR("{\"type\":\"tool_result\",\"tool_use_id\":\"call_2\",\"content\":\"second\"}")) >
          0);
}

TEST(a_tool_that_is_gone_keeps_a_name_that_is_taken)
{
    struct msg_part call = {
        .type = PART_CALL, .id = STR("c1"), .name = STR("9 lives.of a/cat"), .input = STR("[5]")
    };
    struct msg msgs[] = { USER(TEXT("a")), { MSG_ASSISTANT, &call, 1 }, TOOLS(RESULT("c1", "ok")) };
    for (size_t i = 0; i < 3; i++)
        CHECK(str_find(sent(WIRES[i], msgs, 3, true), STR("\"_9_lives_of_a_cat\"")) > 0);
}

TEST(calls_of_another_maker_are_told_to_gemini_in_words_while_their_turn_goes_on)
{
    struct msg now[] = { USER(TEXT("a")),
                         ASSISTANT(TEXT("One moment."), CALL("c1", .foreign = true)),
                         TOOLS(RESULT("c1", "ok")) };
    SENDS(&wire_gemini, now, true,
          "[" G_USER("a") ",{\"role\":\"model\",\"parts\":[{\"text\":\"One moment.\"}]}," G_USER(
              "(The tool pay was called with {\\\"a\\\":1}. It answered: ok)") "]");
    struct msg older[] = { USER(TEXT("a")), ASSISTANT(CALL("c1", .foreign = true)),
                           TOOLS(RESULT("c1", "ok")), USER(TEXT("b")) };
    SENDS(&wire_gemini, older, true,
          "[" G_USER("a") ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"pay\","
                          "\"args\":{\"a\":1}}}]},"
                          "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"pay\","
                          "\"response\":{\"result\":\"ok\"}}}]}," G_USER("b") "]");
    CHECK(str_find(sent(&wire_anthropic, now, 3, true), STR("\"tool_use\"")) > 0);
}

TEST(calls_are_words_where_no_tool_is_listed_or_the_form_was_refused)
{
    struct msg msgs[] = { USER(TEXT("a")), ASSISTANT(CALL("c1")), TOOLS(RESULT("c1", "ok")) };
    SENDS(&wire_anthropic, msgs, false,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
          "\"text\":\"(The tool pay was called with {\\\"a\\\":1}. It answered: ok)\"}]}]");
    msgs[1].words = true;
    for (size_t i = 0; i < 3; i++)
        CHECK(str_find(sent(WIRES[i], msgs, 3, true),
                       STR("(The tool pay was called with {\\\"a\\\":1}. It answered: ok)")) > 0);
}

TEST(a_body_without_signatures_tells_its_calls_in_words)
{
    struct arena a;
    struct jv   *v;
    struct buf   out;
    arena_init(&a, 0);
    buf_init(&out, 0);
    REQUIRE(json_parse(
                &a,
                STR("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]},{\"role\":"
                    "\"model\",\"parts\":[{\"text\":\"h\",\"thought\":true,\"thoughtSignature\":"
                    "\"s\"},{\"text\":\"x\",\"thoughtSignature\":\"s\"},"
                    "{\"functionCall\":{\"name\":\"pay\",\"args\":{\"a\":1}},\"thoughtSignature\":"
                    "\"s\"},{\"functionCall\":{\"name\":\"find\",\"args\":{}}}]},"
                    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"pay\","
                    "\"response\":{\"r\":1}}},{\"functionResponse\":{\"name\":\"find\","
                    "\"response\":{}}}]}],\"tools\":[]}"),
                &v, NULL) == OK);
    wire_gemini.unsigned_body(&out, v);
    CHECK_STR(buf_view(&out), "{\"contents\":[" G_USER(
                                  "a") ",{\"role\":\"model\",\"parts\":[{\"text\":\"x\"}]},{"
                                       "\"role\":\"user\",\"parts\":[{\"text\":\"(The tool pay was "
                                       "called with {\\\"a\\\":1}. It answered: {\\\"r\\\":1})\"},"
                                       "{\"text\":\"(The tool find was called with {}. It "
                                       "answered: {})\"}]}],\"tools\":[]}");
    buf_done(&out);
    arena_done(&a);
}

/* Any order of any parts: what is sent has a form, and lack of memory is an error, not a half
 * request. */
TEST(any_conversation_at_all_can_be_sent)
{
    static const char *const texts[] = { "", " ", "x", "\xED\xA0\x80", "{\"a\":1}", "[1]", "\\" };
    unsigned                 seed = 7;
#define ANY(n) ((seed = seed * 1103515245u + 12345u) >> 16) % (n)
    for (int round = 0; round < 3000; round++) {
        struct msg_part parts[8][4];
        struct msg      msgs[8];
        size_t          count = ANY(8);
        for (size_t i = 0; i < count; i++) {
            msgs[i] = (struct msg){
                .role = ANY(3), .parts = parts[i], .count = ANY(5), .words = ANY(8) == 0
            };
            for (size_t k = 0; k < msgs[i].count; k++)
                parts[i][k] = (struct msg_part){ .type = ANY(5),
                                                 .text = str_c(texts[ANY(7)]),
                                                 .id = str_c(texts[ANY(7)]),
                                                 .name = str_c(texts[ANY(7)]),
                                                 .input = str_c(texts[ANY(7)]),
                                                 .opaque = str_c(texts[ANY(7)]),
                                                 .media_type = STR("image/png"),
                                                 .is_error = ANY(2),
                                                 .foreign = ANY(2) };
        }
        for (size_t w = 0; w < 3; w++) {
            struct model_request q = { .msgs = msgs, .msg_count = count }, out;
            struct arena         a;
            int64_t              tokens;
            arena_init(&a, 0);
            CHECK(tidy_request(&a, &WIRES[w]->taste, &q, &out, &tokens));
            for (size_t i = 0; i < out.msg_count; i++) {
                const struct msg *m = &out.msgs[i];
                size_t            calls = 0, results = 0;
                for (size_t k = 0; k < m->count; k++)
                    calls += m->parts[k].type == PART_CALL,
                        results += m->parts[k].type == PART_RESULT;
                CHECK(m->count > 0 && (m->role == MSG_ASSISTANT || !calls) &&
                      (m->role == MSG_TOOLS ? results == m->count : !results));
                CHECK(m->role != MSG_ASSISTANT ||
                      (i && i + 1 < out.msg_count && out.msgs[i - 1].role != MSG_ASSISTANT));
                CHECK(!calls ||
                      (out.msgs[i + 1].role == MSG_TOOLS && out.msgs[i + 1].count == calls));
            }
            arena_done(&a);
            if (count) sent(WIRES[w], msgs, count, ANY(2));
        }
    }
}
