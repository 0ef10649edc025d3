/* The demo model: which sentences it understands, what it says about outcomes, and how it
 * streams. */
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "model/demo/match.h"
#include "model/demo/script.h"
#include "model/model.h"
#include "test.h"

/* --- a sink that writes down what it hears ---------------------------------------- */

struct ear {
    struct model_sink sink;
    struct loop      *loop;
    struct model     *model;
    struct buf        text;  /* the words */
    struct buf        calls; /* name{input} name{input} ... */
    struct buf        ids;
    int               deltas, inputs, opened, closed, ends;
    int64_t           in, out;
    enum model_stop   stop;
    bool              failed, retryable;
    char              why[300];
    struct model_run *run;
    int               cancel_after; /* deltas; 0: never */
};

static struct ear *ear_of(struct model_sink *s)
{
    return (struct ear *)(void *)s;
}

static void on_text(struct model_sink *s, struct str d)
{
    struct ear *e = ear_of(s);
    CHECK(d.len > 0 && utf8_valid(d));
    buf_str(&e->text, d);
    e->deltas++;
    if (e->cancel_after && e->deltas == e->cancel_after) {
        e->model->ops->cancel(e->run);
        loop_stop(e->loop);
    }
}
static void on_call(struct model_sink *s, struct str id, struct str name)
{
    struct ear *e = ear_of(s);
    CHECK(e->opened == e->closed);
    e->opened++;
    if (e->calls.len) buf_chr(&e->calls, ' ');
    buf_str(&e->calls, name);
    buf_str(&e->ids, id);
    buf_chr(&e->ids, ' ');
}
static void on_input(struct model_sink *s, struct str d)
{
    CHECK(d.len > 0 && utf8_valid(d));
    buf_str(&ear_of(s)->calls, d);
    ear_of(s)->inputs++;
}
static void on_call_end(struct model_sink *s)
{
    ear_of(s)->closed++;
}
static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    ear_of(s)->in = in;
    ear_of(s)->out = out;
}
static void on_done(struct model_sink *s, enum model_stop stop)
{
    ear_of(s)->stop = stop;
    ear_of(s)->ends++;
    loop_stop(ear_of(s)->loop);
}
static void on_failed(struct model_sink *s, const struct model_error *err)
{
    struct ear *e = ear_of(s);
    e->failed = true;
    e->retryable = err->retryable;
    snprintf(e->why, sizeof e->why, "%s: " STR_FMT, err->code, STR_ARG(err->message));
    e->ends++;
    loop_stop(e->loop);
}

static void ear_init(struct ear *e, struct loop *l)
{
    *e = (struct ear){ .loop = l,
                       .sink = { .text = on_text,
                                 .call = on_call,
                                 .input = on_input,
                                 .call_end = on_call_end,
                                 .usage = on_usage,
                                 .done = on_done,
                                 .failed = on_failed } };
    buf_init(&e->text, 0);
    buf_init(&e->calls, 0);
    buf_init(&e->ids, 0);
}

static void ear_done(struct ear *e)
{
    buf_done(&e->text);
    buf_done(&e->calls);
    buf_done(&e->ids);
}

/* --- asking ----------------------------------------------------------------------------- */

static const struct model_tool *all_tools(size_t *count)
{
    static const char *const names[] = { "search_articles", "get_weather",    "process_payment",
                                         "change_bgm",      "get_location",   "generate_artifact",
                                         "generate_image",  "browser_search", "suggest_replies",
                                         "suggest_actions", "present" };
    static struct model_tool tools[11];
    for (size_t i = 0; i < 11; i++) tools[i].name = str_c(names[i]);
    *count = 11;
    return tools;
}

static void ask_request(struct ear *e, struct model_request *q, unsigned token_ms)
{
    struct loop l;
    REQUIRE(loop_init(&l) == OK);
    struct model *m = model_demo_new(&l, token_ms);
    REQUIRE(m);
    ear_init(e, &l);
    e->run = m->ops->start(m, q, &e->sink);
    REQUIRE(e->run);
    CHECK(e->deltas == 0 && e->opened == 0 && e->ends == 0); /* never from inside start() */
    loop_run(&l);
    m->ops->free(m);
    loop_done(&l);
    CHECK(e->opened == e->closed);
    CHECK(e->ends == 1);
}

/* A message, then the outcomes of the calls it led to: {call id, tool, input, result, is error}
 * ... */
struct outcome {
    const char *tool, *input, *result;
    bool        is_error;
};

static void ask_after(struct ear *e, const char *text, const struct outcome *o, size_t n,
                      bool no_calls)
{
    struct msg_part user = { .type = PART_TEXT, .text = str_c(text) }, calls[8], results[8];
    struct msg      msgs[3] = { { MSG_USER, &user, 1 },
                                { MSG_ASSISTANT, calls, n },
                                { MSG_TOOLS, results, n } };
    static const char *const ids[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    for (size_t i = 0; i < n; i++) {
        calls[i] = (struct msg_part){ .type = PART_CALL,
                                      .id = str_c(ids[i]),
                                      .name = str_c(o[i].tool),
                                      .input = str_c(o[i].input) };
        results[i] = (struct msg_part){ .type = PART_RESULT,
                                        .id = str_c(ids[i]),
                                        .name = str_c(o[i].tool),
                                        .text = str_c(o[i].result),
                                        .is_error = o[i].is_error };
    }
    struct model_request q = { .msgs = msgs, .msg_count = n ? 3 : 1, .no_calls = no_calls };
    q.tools = all_tools(&q.tool_count);
    ask_request(e, &q, 0);
}

static void ask(struct ear *e, const char *text)
{
    ask_after(e, text, NULL, 0, false);
}

static bool has(const struct buf *b, const char *what)
{
    return str_find(buf_view(b), str_c(what)) >= 0;
}

static int words_in(struct str s)
{
    int n = 0;
    for (size_t i = 0; i < s.len; i++) n += s.ptr[i] > ' ' && (i == 0 || s.ptr[i - 1] <= ' ');
    return n;
}

#define CALLS(text, want)                           \
    do {                                            \
        struct ear e_;                              \
        ask(&e_, text);                             \
        CHECK_STR(buf_view(&e_.calls), want);       \
        CHECK(e_.stop == STOP_CALLS && !e_.failed); \
        ear_done(&e_);                              \
    } while (0)
static void suggests_only(const char *message)
{
    struct ear e;
    ask(&e, message);
    CHECK(str_starts(buf_view(&e.calls), STR("suggest_replies{\"replies\":[{\"label\":")));
    CHECK(e.opened == 1 && words_in(buf_view(&e.text)) >= 8);
    if (!str_starts(buf_view(&e.calls), STR("suggest_replies")))
        printf("    %s -> " STR_FMT "\n", message, STR_ARG(buf_view(&e.calls)));
    ear_done(&e);
}
#define PAY(amount, currency, who) \
    "process_payment{\"amount\":" amount ",\"currency\":\"" currency "\",\"recipient\":\"" who "\"}"

/* --- what it understands ---------------------------------------------------------------------- */

TEST(demo_greets_and_suggests_what_can_be_tried)
{
    static const char *const texts[] = { "hello",
                                         "Hi!",
                                         "HEY there",
                                         "Good morning.",
                                         "こんにちは",
                                         "",
                                         "   ",
                                         "qwertz uiop",
                                         "What is the meaning of life?",
                                         "Don't send 50 dollars to Hanako",
                                         "How do I send 50 dollars to Hanako?",
                                         "help",
                                         "What can you do?",
                                         "who are you?",
                                         "ok thanks",
                                         "thanks a lot!",
                                         "bye",
                                         "yes",
                                         "Send -50 dollars to Hanako",
                                         "What is the weather?",
                                         "Send 50 dollars to Hanako and Taro",
                                         "send money to Bob",
                                         "Send 50 apples to Hanako",
                                         "\x01\x02 \xe3\x80\x80 ?!" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) suggests_only(texts[i]);
}

TEST(demo_searches_articles_about_any_topic)
{
    struct ear e;
    ask(&e, "Find articles about CRISPR");
    CHECK_STR(buf_view(&e.text), "Let me search for that...");
    CHECK_STR(buf_view(&e.calls), "search_articles{\"query\":\"CRISPR\"}");
    ear_done(&e);
    CALLS("find ARTICLES about sleep and memory",
          "search_articles{\"query\":\"sleep and memory\"}");
    CALLS("Hi, could you please find me some papers on solid-state batteries, please?",
          "search_articles{\"query\":\"solid-state batteries\"}");
    CALLS("search for articles about \"Next.js\" and C++!",
          "search_articles{\"query\":\"Next.js\\\" and C++\"}");
    CALLS("Find protein folding papers", "search_articles{\"query\":\"protein folding\"}");
    CALLS("CRISPRの論文を探してください", "search_articles{\"query\":\"CRISPR\"}");
}

TEST(demo_looks_up_the_weather_of_any_city)
{
    CALLS("What is the weather in Tokyo?", "get_weather{\"city\":\"Tokyo\"}");
    CALLS("what's the weather like in New York today?", "get_weather{\"city\":\"New York\"}");
    CALLS("Hello! Please tell me the weather in São Paulo.", "get_weather{\"city\":\"São Paulo\"}");
    CALLS("weather in tokyo and osaka",
          "get_weather{\"city\":\"tokyo\"} get_weather{\"city\":\"osaka\"}");
    CALLS("What is the weather in Tokyo, Paris and Rome?",
          "get_weather{\"city\":\"Tokyo\"} get_weather{\"city\":\"Paris\"} "
          "get_weather{\"city\":\"Rome\"}");
    CALLS("東京の天気を教えてください", "get_weather{\"city\":\"東京\"}");
}

TEST(demo_pays_any_amount_in_any_currency_to_anybody)
{
    CALLS("Send 50 dollars to Hanako", PAY("50", "USD", "Hanako"));
    CALLS("SEND 50 DOLLARS TO HANAKO!!", PAY("50", "USD", "HANAKO"));
    CALLS("花子さんに50ドル送金してください", PAY("50", "USD", "花子"));
    CALLS("５０ドルを花子さんに送金して", PAY("50", "USD", "花子"));
    CALLS("はなこさんに1000円送ってください。", PAY("1000", "JPY", "はなこ"));
    CALLS("Please transfer €12.50 to Jean-Luc Picard", PAY("12.50", "EUR", "Jean-Luc Picard"));
    CALLS("could you pay Taro 20 euros please?", PAY("20", "EUR", "Taro"));
    CALLS("Hi, I'd like to send 1,000.50 yen to Mr. O'Brien, thanks",
          PAY("1000.50", "JPY", "Mr. O'Brien"));
    CALLS("wire 100 USD to bob@example.com for lunch", PAY("100", "USD", "bob@example.com"));
    CALLS("give Anna $5", PAY("5", "USD", "Anna"));
    CALLS("send twenty five pounds to Sam", PAY("25", "GBP", "Sam"));
    CALLS("send 5 thousand Canadian dollars to Sam", PAY("5000", "CAD", "Sam"));
    CALLS("send .50 dollars to Sam", PAY("0.50", "USD", "Sam"));
    CALLS("send 7 to Sam", PAY("7", "USD", "Sam"));
    CALLS("send 50XAU to Sam", PAY("50", "XAU", "Sam"));
    CALLS("Would you mind sending fifty-five euros to Sam?", PAY("55", "EUR", "Sam"));
}

TEST(demo_makes_two_payments_in_one_step)
{
    CALLS("Send 50 dollars to Hanako and 20 dollars to Taro",
          PAY("50", "USD", "Hanako") " " PAY("20", "USD", "Taro"));
    CALLS("send €5 to Ann, €6 to Ben and 7 to Cid",
          PAY("5", "EUR", "Ann") " " PAY("6", "EUR", "Ben") " " PAY("7", "EUR", "Cid"));
    CALLS("Send 50 dollars to Hanako and then send 20 dollars to Taro",
          PAY("50", "USD", "Hanako") " " PAY("20", "USD", "Taro"));
    CALLS("花子さんに50ドル、太郎さんに20ドル送金してください",
          PAY("50", "USD", "花子") " " PAY("20", "USD", "太郎"));
}

TEST(demo_does_not_pay_for_what_was_only_mentioned)
{
    suggests_only("花子さんに50ドル借りた");
}

TEST(demo_makes_a_gated_and_a_free_call_in_one_step)
{
    CALLS("Send 50 dollars to Hanako and tell me the weather in Tokyo",
          PAY("50", "USD", "Hanako") " get_weather{\"city\":\"Tokyo\"}");
    CALLS("What is the weather in Tokyo? And send 50 dollars to Hanako.",
          "get_weather{\"city\":\"Tokyo\"} " PAY("50", "USD", "Hanako"));
    CALLS("find articles about payments and send 5 dollars to Bob",
          "search_articles{\"query\":\"payments\"} " PAY("5", "USD", "Bob"));
}

TEST(demo_uses_the_browser)
{
    CALLS("Change the BGM to track 1", "change_bgm{\"track\":1}");
    CALLS("Please change the BGM to track 0", "change_bgm{\"track\":0}");
    CALLS("switch the music to jazz", "change_bgm{\"track\":\"jazz\"}");
    CALLS("BGMをトラック2に変えてください", "change_bgm{\"track\":2}");
    CALLS("Where am I?", "get_location{}");
    CALLS("where am i right now", "get_location{}");
    CALLS("what is my location?", "get_location{}");
}

TEST(demo_builds_paints_and_searches)
{
    CALLS("Build me a todo app",
          "generate_artifact{\"prompt\":\"todo app\",\"artifactType\":\"html\"}");
    CALLS("could you make a calculator with big keys please",
          "generate_artifact{\"prompt\":\"calculator with big keys\",\"artifactType\":\"html\"}");
    CALLS("Generate an image of a sunset over mountains",
          "generate_image{\"prompt\":\"a sunset over mountains\"}");
    CALLS("draw me a cat", "generate_image{\"prompt\":\"a cat\"}");
    CALLS("Search for the latest React 19 features",
          "browser_search{\"query\":\"latest React 19 features\"}");
    CALLS("search the web for vaccines", "browser_search{\"query\":\"vaccines\"}");
    CALLS("Search for information about WebTransport",
          "browser_search{\"query\":\"WebTransport\"}");
}

TEST(demo_proposes_a_schema_with_two_actions)
{
    struct ear e;
    ask(&e, "Propose a schema");
    CHECK(has(&e.calls, "present{\"type\":\"schema_proposal\",\"data\":{\"schema_id\":123"));
    CHECK(has(
        &e.calls,
        "suggest_actions{\"actions\":[ {\"label\":\"Apply Changes\",\"action\":\"apply_schema\","
        "\"handler\":\"server\",\"data\":{\"schema_id\":123},\"style\":\"primary\"}"));
    CHECK(has(&e.calls,
              "\"action\":\"close_chat\",\"handler\":\"client\",\"style\":\"secondary\"}]}"));
    CHECK(e.opened == 2 && e.stop == STOP_CALLS);
    ear_done(&e);
}

TEST(demo_tells_a_long_story_word_by_word)
{
    struct ear e;
    ask(&e, "Tell me a long story");
    CHECK(words_in(buf_view(&e.text)) >= 120);
    CHECK(e.deltas == words_in(buf_view(&e.text)));
    CHECK(e.out >= 120 && e.in > 0);
    ear_done(&e);
    ask(&e, "Say 500 words");
    CHECK(e.deltas == 500);
    ear_done(&e);
}

TEST(demo_keeps_using_tools_with_another_city_each_time)
{
    struct ear     e;
    struct outcome o[] = { { "get_weather", "{\"city\":\"Tokyo\"}", "Tokyo: 18 °C.", false },
                           { "get_weather", "{\"city\":\"Paris\"}", "Paris: 9 °C.", false } };
    CALLS("Keep using tools", "get_weather{\"city\":\"Tokyo\"}");
    ask_after(&e, "keep using tools!", o, 1, false);
    CHECK_STR(buf_view(&e.calls), "get_weather{\"city\":\"Paris\"}");
    ear_done(&e);
    ask_after(&e, "Keep using tools", o, 2, true);
    CHECK(e.opened == 0 && e.stop == STOP_END);
    CHECK(has(&e.text, "2 tool calls"));
    ear_done(&e);
}

TEST(demo_simulates_a_model_error_after_a_few_words)
{
    struct ear e;
    ask(&e, "Simulate a model error");
    CHECK(e.failed && e.retryable);
    CHECK(e.deltas >= 3);
    CHECK(strstr(e.why, "model_error: ") && strstr(e.why, "simulated"));
    ear_done(&e);
}

/* --- what it says about outcomes -------------------------------------------------------------- */

#define AFTER(text, ...)                                                                  \
    struct ear e;                                                                         \
    ask_after(&e, text, (struct outcome[]){ __VA_ARGS__ },                                \
              sizeof((struct outcome[]){ __VA_ARGS__ }) / sizeof(struct outcome), false); \
    CHECK(str_starts(buf_view(&e.calls), STR("suggest_replies")) && e.opened == 1)

TEST(demo_tells_the_titles_it_found)
{
    AFTER("Find articles about CRISPR",
          { "search_articles", "{\"query\":\"CRISPR\"}",
            "Found 2 articles:\n1. One (A, 2020)\n   3. abstract\n2. Two (B, 2021)\n   text" });
    CHECK_STR(buf_view(&e.text),
              "I found 2 relevant articles.\n\n1. One (A, 2020)\n2. Two (B, 2021)");
    ear_done(&e);
}

TEST(demo_admits_that_it_found_nothing)
{
    AFTER("Find articles about xyz",
          { "search_articles", "{\"query\":\"xyz\"}", "Found 0 articles." });
    CHECK(str_starts(buf_view(&e.text), STR("I found no relevant articles about \"xyz\".")));
    ear_done(&e);
}

#define HANAKO "{\"amount\":50,\"currency\":\"USD\",\"recipient\":\"Hanako\"}"

TEST(demo_answers_a_payment_with_at_least_12_words)
{
    AFTER("Send 50 dollars to Hanako", { "process_payment", HANAKO, "Sent 50 USD to Hanako." });
    CHECK(words_in(buf_view(&e.text)) >= 12);
    CHECK(str_starts(buf_view(&e.text), STR("Done: 50 USD went to Hanako.")));
    ear_done(&e);
}

TEST(demo_answers_a_japanese_payment_in_both_languages)
{
    AFTER("花子さんに50ドル送金してください",
          { "process_payment", "{\"amount\":50,\"currency\":\"USD\",\"recipient\":\"花子\"}",
            "Sent." });
    CHECK(has(&e.text, "花子さんに50 USDを送金しました。"));
    CHECK(words_in(buf_view(&e.text)) >= 12);
    ear_done(&e);
}

TEST(demo_is_honest_about_a_denial)
{
    AFTER("Send 50 dollars to Hanako",
          { "process_payment", HANAKO,
            "{\"error\":\"User denied execution\",\"denied\":true,\"reason\":\"too much\"}",
            true });
    CHECK(str_starts(buf_view(&e.text), STR("All right, I did not send 50 USD to Hanako.")));
    CHECK(has(&e.text, "too much"));
    CHECK(!has(&e.text, "went to"));
    ear_done(&e);
}

TEST(demo_is_honest_about_expiry_cancelling_doubt_and_failure)
{
    static const struct {
        const char *result, *says;
    } cases[] = {
        { "Approval request timed out",
          "Nobody answered in time, so I did not send 50 USD to Hanako." },
        { "{\"error\":\"The approval expired\"}", "Nobody answered in time" },
        { "Cancelled: the person moved on", "called off" },
        { "The outcome is unknown: the server died",
          "I do not know whether I managed to send 50 USD to Hanako" },
        { "It may or may not have happened", "I do not know whether" },
        { "Permission denied", "I could not send 50 USD to Hanako: Permission denied." },
        { "needs approval, which no door offers yet",
          "I could not send 50 USD to Hanako: needs approval" },
        { "", "I could not send 50 USD to Hanako" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AFTER("Send 50 dollars to Hanako", { "process_payment", HANAKO, cases[i].result, true });
        CHECK(has(&e.text, cases[i].says));
        CHECK(!has(&e.text, "Done"));
        ear_done(&e);
    }
}

TEST(demo_tells_every_outcome_of_a_step)
{
    AFTER("Send 50 dollars to Hanako and tell me the weather in Tokyo",
          { "process_payment", HANAKO, "User denied execution", true },
          { "get_weather", "{\"city\":\"Tokyo\"}", "Tokyo: 18 °C, light rain.", false });
    CHECK(has(&e.text, "I did not send 50 USD to Hanako."));
    CHECK(has(&e.text, "\n\nTokyo: 18 °C, light rain."));
    ear_done(&e);
}

TEST(demo_reads_what_the_browser_answered)
{
    AFTER("Where am I?",
          { "get_location", "{}", "{\"latitude\":35.68,\"longitude\":139.76,\"accuracy\":20}" },
          { "change_bgm", "{\"track\":1}", "{\"success\":true}" },
          { "get_location", "{}", "\"Kyoto\"" });
    CHECK(has(&e.text, "latitude 35.68, longitude 139.76, give or take 20 metres"));
    CHECK(has(&e.text, "BGM changed to track 1"));
    CHECK(has(&e.text, "Your browser says: Kyoto."));
    ear_done(&e);
}

TEST(demo_tells_outcomes_of_tools_it_does_not_know)
{
    AFTER("whatever", { "other_tool", "not json", "All fine" },
          { "other_tool", "{}", "boom", true });
    CHECK_STR(buf_view(&e.text), "All fine.\n\nI could not finish that: boom.");
    ear_done(&e);
}

TEST(demo_looks_only_at_the_last_message_and_what_came_after)
{
    struct msg_part old = { .type = PART_TEXT, .text = STR("Find articles about CRISPR") },
                    call = { .type = PART_CALL,
                             .id = STR("a"),
                             .name = STR("search_articles"),
                             .input = STR("{}") },
                    result = { .type = PART_RESULT,
                               .id = STR("a"),
                               .name = STR("search_articles"),
                               .text = STR("Found") },
                    said = { .type = PART_TEXT, .text = STR("I found ...") },
                    now[] = { { .type = PART_FILE, .text = STR("AAAA") },
                              { .type = PART_TEXT, .text = STR("Where am I?") } };
    struct msg           msgs[] = { { MSG_USER, &old, 1 },
                                    { MSG_ASSISTANT, &call, 1 },
                                    { MSG_TOOLS, &result, 1 },
                                    { MSG_ASSISTANT, &said, 1 },
                                    { MSG_USER, now, 2 } };
    struct model_request q = { .msgs = msgs, .msg_count = 5 };
    struct ear           e;
    q.tools = all_tools(&q.tool_count);
    ask_request(&e, &q, 0);
    CHECK_STR(buf_view(&e.calls), "get_location{}");
    CHECK_STR(buf_view(&e.ids), "demo-5-2 ");
    ear_done(&e);
}

TEST(demo_without_tools_or_calls_answers_in_words)
{
    struct msg_part      user = { .type = PART_TEXT, .text = STR("Send 5 dollars to Bob") };
    struct msg           msg = { MSG_USER, &user, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    struct ear           e;
    ask_request(&e, &q, 0);
    CHECK(e.opened == 0 && e.stop == STOP_END && has(&e.text, "not offered"));
    ear_done(&e);
    user.text = STR("Keep using tools");
    ask_request(&e, &q, 0);
    CHECK(e.opened == 0 && has(&e.text, "not offered") && !has(&e.text, "One more city"));
    ear_done(&e);
    q.msg_count = 0;
    ask_request(&e, &q, 0);
    CHECK(e.opened == 0 && has(&e.text, "Hello!"));
    ear_done(&e);
    ask_after(&e, "Send 5 dollars to Bob", NULL, 0, true);
    CHECK(e.opened == 0 && e.stop == STOP_END && words_in(buf_view(&e.text)) > 5);
    ear_done(&e);
    ask_after(&e, "Tell me a long story", NULL, 0, true);
    CHECK(e.opened == 0 && words_in(buf_view(&e.text)) >= 120);
    ear_done(&e);
}

/* --- how it streams --------------------------------------------------------------------------- */

TEST(demo_streams_one_word_per_tick_and_inputs_in_fragments)
{
    struct msg_part      user = { .type = PART_TEXT, .text = STR("Find articles about CRISPR") };
    struct msg           msg = { MSG_USER, &user, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    struct ear           e;
    q.tools = all_tools(&q.tool_count);
    uint64_t began = uv_hrtime();
    ask_request(&e, &q, 2);
    CHECK(uv_hrtime() - began >= 5 * 2000000ull);
    CHECK(e.deltas == 5);
    CHECK(e.inputs >= 2 && e.inputs <= 6);
    CHECK_STR(buf_view(&e.calls), "search_articles{\"query\":\"CRISPR\"}");
    ear_done(&e);
}

static void cancel_after_some_words(unsigned token_ms)
{
    struct msg_part      user = { .type = PART_TEXT, .text = STR("Tell me a long story") };
    struct msg           msg = { MSG_USER, &user, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    struct ear           e;
    struct loop          l;
    REQUIRE(loop_init(&l) == OK);
    struct model *m = model_demo_new(&l, token_ms);
    ear_init(&e, &l);
    e.cancel_after = 3;
    e.model = m;
    e.run = m->ops->start(m, &q, &e.sink);
    REQUIRE(e.run);
    loop_run(&l);
    CHECK(e.ends == 0);
    m->ops->free(m);
    loop_done(&l);
    CHECK(e.deltas == 3 && e.ends == 0);
    ear_done(&e);
}

TEST(demo_says_nothing_after_cancel_not_even_from_inside_a_word)
{
    cancel_after_some_words(0);
    cancel_after_some_words(1);
}

TEST(demo_survives_every_failing_allocation)
{
    struct msg_part      user = { .type = PART_TEXT, .text = STR("hello") };
    struct msg           msg = { MSG_USER, &user, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    size_t               failures = 0;
    q.tools = all_tools(&q.tool_count);
    for (long n = 0; n < 12; n++) {
        struct loop l;
        struct ear  e;
        REQUIRE(loop_init(&l) == OK);
        struct model *m = model_demo_new(&l, 0);
        ear_init(&e, &l);
        mem_fail_at(n);
        e.run = m->ops->start(m, &q, &e.sink);
        mem_fail_at(-1);
        if (e.run) loop_run(&l);
        else failures++;
        m->ops->free(m);
        loop_done(&l);
        ear_done(&e);
    }
    CHECK(failures > 0 && failures < 12);
}

/* A Japanese word in a pattern can only be found if the tokens are cut there. */
TEST(demo_script_uses_only_words_that_tokens_can_be)
{
    for (const struct demo_rule *r = DEMO_RULES; r->patterns[0]; r++)
        for (int i = 0; i < PATTERNS_MAX && r->patterns[i]; i++) {
            struct str rest = str_c(r->patterns[i]), e, word;
            while (str_split(&rest, ' ', &e)) {
                if (!e.len || e.ptr[0] == '<' || str_is(e, "...") || str_is(e, "~")) continue;
                if (e.ptr[0] == '[') e = str_n(e.ptr + 1, e.len - 2);
                while (str_split(&e, '|', &word)) {
                    struct tokens t;
                    tokens_read(&t, word);
                    CHECK(t.count == 1 && str_eq(t.at[0].text, word));
                    if (t.count != 1) printf("    " STR_FMT "\n", STR_ARG(word));
                }
            }
        }
}

TEST(demo_script_suggests_only_what_it_understands)
{
    for (const struct demo_rule *r = DEMO_RULES;; r++) {
        for (int i = 0; i < SUGGEST_MAX && r->suggest[i]; i++) {
            struct ear e;
            ask(&e, r->suggest[i]);
            CHECK(!has(&e.text, "not in my script"));
            ear_done(&e);
        }
        if (!r->patterns[0]) break;
    }
    for (const struct demo_outcome *o = DEMO_OUTCOMES;; o++) {
        for (int i = 0; i < SUGGEST_MAX && o->suggest[i]; i++) {
            struct ear e;
            ask(&e, o->suggest[i]);
            CHECK(!has(&e.text, "not in my script"));
            ear_done(&e);
        }
        if (!o->tool) break;
    }
}

TEST(demo_reads_long_and_strange_messages_quickly)
{
    struct buf b;
    struct ear e;
    buf_init(&b, 0);
    for (int i = 0; i < 20000; i++)
        buf_lit(&b, i % 3 ? "and send 5 to " : "送金、\xf0\x9f\x90\xb1 ");
    buf_chr(&b, 0);
    double began = test_worked();
    ask(&e, b.ptr);
    /* milliseconds, if it is right; for ever, if not */
    CHECK(test_worked() - began < 3);
    ear_done(&e);
    buf_done(&b);
}

/* --- functions of the client's ---------------------------------------------------------------- */

static void ask_with(struct ear *e, const char *text, const struct model_tool *own,
                     enum model_choice choice, const char *result)
{
    struct msg_part user[] = { { .type = PART_TEXT, .text = STR("in Paris"), .aside = true },
                               { .type = PART_TEXT, .text = str_c(text) } };
    struct msg_part call = {
        .type = PART_CALL, .id = STR("a"), .name = own->name, .input = STR("{}")
    };
    struct msg_part said = {
        .type = PART_RESULT, .id = STR("a"), .name = own->name, .text = str_c(result)
    };
    struct msg        msgs[] = { { MSG_USER, user, 2 },
                                 { MSG_ASSISTANT, &call, 1 },
                                 { MSG_TOOLS, &said, 1 } };
    struct model_tool tools[12] = { *own };
    size_t            n;
    memcpy(tools + 1, all_tools(&n), sizeof *tools * 11);
    struct model_request q = { .msgs = msgs,
                               .msg_count = result ? 3 : 1,
                               .tools = tools,
                               .tool_count = 12,
                               .choice = choice,
                               .named = own->name };
    ask_request(e, &q, 0);
}

#define OWN_CALLS(text, choice, want)                \
    do {                                             \
        struct ear e_;                               \
        ask_with(&e_, text, &WEATHER, choice, NULL); \
        CHECK_STR(buf_view(&e_.calls), want);        \
        ear_done(&e_);                               \
    } while (0)

TEST(demo_calls_a_function_the_client_declared)
{
    const struct model_tool WEATHER = {
        .name = STR("checkWeather_now"),
        .schema =
            STR("{\"properties\":{\"place\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"},"
                "\"unit\":{\"enum\":[\"C\",\"F\"]}},\"required\":[\"place\",\"days\",\"unit\"]}"),
        .declared = true
    };
    OWN_CALLS("What's the weather like in San Francisco?", CHOICE_AUTO,
              "checkWeather_now{\"place\":\"San Francisco\",\"days\":1,\"unit\":\"C\"}");
    OWN_CALLS("Weather for 3 days!", CHOICE_AUTO,
              "checkWeather_now{\"place\":\"Weather for 3 days!\",\"days\":3,\"unit\":\"C\"}");
    OWN_CALLS("hello", CHOICE_NAMED,
              "checkWeather_now{\"place\":\"hello\",\"days\":1,\"unit\":\"C\"}");
    OWN_CALLS("hello", CHOICE_MUST,
              "checkWeather_now{\"place\":\"hello\",\"days\":1,\"unit\":\"C\"}");
    OWN_CALLS("Find articles about CRISPR", CHOICE_AUTO, "search_articles{\"query\":\"CRISPR\"}");
}

TEST(demo_repeats_what_a_declared_function_said)
{
    const struct model_tool WEATHER = { .name = STR("get_weather"), .declared = true };
    struct ear              e;
    ask_with(&e, "What's the weather in Oslo?", &WEATHER, CHOICE_AUTO, "21 degrees and sunny");
    CHECK(has(&e.text, "21 degrees and sunny.") && !has(&e.text, "demo makes its weather"));
    ear_done(&e);
}
