/* The intent line: seed 000's four tests as written, and what people write besides. */
#include "base/arena.h"
#include "base/utf8.h"
#include "run/intent.h"
#include "test.h"

struct said {
    struct arena arena;
    struct buf   line;
};

static struct str say_with(struct said *s, struct str tool, struct str tmpl, const char *json)
{
    struct jv *args = NULL;
    arena_init(&s->arena, 0);
    buf_init(&s->line, 0);
    if (json) REQUIRE(json_parse(&s->arena, str_c(json), &args, NULL) == OK);
    intent_line(&s->line, tool, tmpl, args, NULL);
    return buf_view(&s->line);
}

static void unsay(struct said *s)
{
    buf_done(&s->line);
    arena_done(&s->arena);
}

#define SAYS(tool, json, want) SAYS_T(tool, STR_NONE, json, want)
#define SAYS_T(tool, tmpl, json, want)                              \
    do {                                                            \
        struct said said_;                                          \
        CHECK_STR(say_with(&said_, str_c(tool), tmpl, json), want); \
        unsay(&said_);                                              \
    } while (0)
#define BUILDS(prompt, noun) \
    SAYS("generate_artifact", "{\"prompt\":\"" prompt "\"}", "I'll build " noun " for you...")
#define PAINTS(prompt, subject)                           \
    SAYS("generate_image", "{\"prompt\":\"" prompt "\"}", \
         "I'll create an image of " subject " for you...")
#define SEARCHES(query, topic)                          \
    SAYS("browser.search", "{\"query\":\"" query "\"}", \
         "I'll search for information about " topic "...")

TEST(intent_generates_artifact_confirmation_with_extracted_noun)
{
    SAYS("generate_artifact",
         "{\"artifactType\":\"react\",\"prompt\":\"Build me a todo app with drag and drop\"}",
         "I'll build a todo app for you...");
}

TEST(intent_generates_image_confirmation_with_subject)
{
    struct said s;
    struct str  line = say_with(&s, STR("generate_image"), STR_NONE,
                                "{\"prompt\":\"A sunset over mountains with purple sky\"}");
    CHECK(str_find(line, STR("sunset over mountains")) >= 0);
    CHECK_STR(line, "I'll create an image of a sunset over mountains with purple sky for you...");
    unsay(&s);
}

TEST(intent_generates_search_confirmation_with_topic)
{
    SEARCHES("What are the latest Next.js features?", "latest Next.js features");
}

TEST(intent_handles_missing_arguments_gracefully)
{
    SAYS("generate_artifact", "{}", "I'll build a component for you...");
    SAYS("generate_artifact", NULL, "I'll build a component for you...");
}

TEST(intent_finds_the_noun_in_whole_sentences_and_in_subjects)
{
    BUILDS("Build me a todo app", "a todo app");
    BUILDS("BUILD ME A TODO APP!", "a todo app");
    BUILDS("a todo app", "a todo app");
    BUILDS("todo app", "a todo app");
    BUILDS("Please could you make me the calculator, with big keys", "a calculator");
    BUILDS("The user wants a weather dashboard for Tokyo", "a weather dashboard");
    BUILDS("Hi, build a habit tracker that counts days", "a habit tracker");
    BUILDS("charts", "charts");
    BUILDS("Build my portfolio", "my portfolio");
    SAYS("generate_artifact", "{\"artifactType\":\"dashboard\"}",
         "I'll build a dashboard for you...");
    SAYS("generate_artifact", "{\"artifactType\":\"react\"}",
         "I'll build a react component for you...");
}

TEST(intent_says_a_unicorn_and_an_hour)
{
    BUILDS("Build me a unicorn", "a unicorn");
    BUILDS("unicorn tracker", "a unicorn tracker");
    BUILDS("make an hour counter", "an hour counter");
    BUILDS("hour", "an hour");
    BUILDS("Create an honest review page", "an honest review page");
    BUILDS("a user list", "a user list");
    BUILDS("European map", "a european map");
    BUILDS("uninteresting page", "an uninteresting page");
    BUILDS("one page site", "a one page site");
    BUILDS("Make an HTML editor", "an html editor");
    BUILDS("8-ball", "an 8-ball");
    PAINTS("unicorn", "a unicorn");
    PAINTS("Unicorn", "a unicorn");
    PAINTS("Draw an hour glass", "an hour glass");
    PAINTS("hourglass", "an hourglass");
}

TEST(intent_says_image_of_once)
{
    PAINTS("Generate an image of a sunset over mountains", "a sunset over mountains");
    PAINTS("an image of a sunset over mountains", "a sunset over mountains");
    PAINTS("a sunset over mountains", "a sunset over mountains");
    PAINTS("sunset over mountains", "a sunset over mountains");
    PAINTS("Please draw me a cat, wearing a hat.", "a cat");
    PAINTS("a beautiful photo of Mount Fuji", "Mount Fuji");
    PAINTS("Tokyo at night", "Tokyo at night");
    PAINTS("mountains at night", "mountains at night");
    PAINTS("snow", "snow");
    PAINTS("", "that");
    SAYS("generate_image", "{\"mode\":\"edit\",\"prompt\":\"make it blue\"}",
         "I'll edit that image for you...");
}

TEST(intent_finds_the_topic_of_a_search)
{
    SEARCHES("Search for the latest React 19 features", "latest React 19 features");
    SEARCHES("the latest React 19 features", "latest React 19 features");
    SEARCHES("what is WebTransport", "WebTransport");
    SEARCHES("How to cook rice?", "cook rice");
    SEARCHES("Who is Ada Lovelace?", "Ada Lovelace");
    SEARCHES("could you please look up Node.js 24", "Node.js 24");
    SEARCHES("whatever works", "whatever works");
    SEARCHES("what is", "that");
    SEARCHES("   ", "that");
}

TEST(intent_cuts_a_200_character_prompt_on_a_character_boundary)
{
    char json[1024] = "{\"prompt\":\"";
    for (int i = 0; i < 200; i++) strcat(json, "é");
    strcat(json, "\",\"query\":\"");
    for (int i = 0; i < 200; i++) strcat(json, i % 2 ? "山" : "a");
    strcat(json, "\"}");
    static const char  *tools[] = { "generate_artifact", "generate_image", "browser.search" };
    static const size_t most[] = { 70, 90, 90 };
    for (size_t i = 0; i < 3; i++) {
        struct said s;
        struct str  line = say_with(&s, str_c(tools[i]), STR_NONE, json);
        CHECK(utf8_valid(line));
        CHECK(utf8_count(line) <= most[i]);
        CHECK(str_ends(line, STR("...")));
        unsay(&s);
    }
    PAINTS("a very tall lighthouse on a very small and rocky island under a very wide sky full of "
           "stars, at the end of "
           "a long day in which nothing much happened but the wind and the waves and the birds and "
           "the long light",
           "a very tall lighthouse on a very small");
}

TEST(intent_says_an_article_once_whatever_stands_after_it)
{
    PAINTS("a.unicorn", "a unicorn");
    PAINTS("An:hour", "an hour");
    PAINTS("the!!sea by night", "the sea by night");
    char json[2100] = "{\"prompt\":\"a.";
    memset(json + strlen(json), 'x', 1500);
    strcat(json, "\"}");
    struct said s;
    CHECK(utf8_count(say_with(&s, STR("generate_image"), STR_NONE, json)) <= 90);
    unsay(&s);
}

TEST(intent_speaks_of_japanese_prompts_as_they_are)
{
    BUILDS("TODOアプリを作ってください", "todoアプリ");
    PAINTS("夕焼けの山", "夕焼けの山");
    PAINTS("夕焼けの山の絵を描いて", "夕焼けの山");
    SEARCHES("最新のReactについて調べて", "最新のReact");
    SEARCHES("東京の天気", "東京の天気");
}

TEST(intent_survives_empty_prompts_and_wrong_types)
{
    BUILDS("", "a component");
    BUILDS(" ... ", "a component");
    SAYS("generate_artifact", "{\"prompt\":42,\"artifactType\":[]}",
         "I'll build a component for you...");
    SAYS("generate_artifact", "{\"prompt\":null,\"artifactType\":{}}",
         "I'll build a component for you...");
    SAYS("generate_artifact", "[1,2]", "I'll build a component for you...");
    SAYS("generate_image", "{\"prompt\":{\"a\":1},\"mode\":7}",
         "I'll create an image of that for you...");
    SAYS("generate_image", "\"x\"", "I'll create an image of that for you...");
    SAYS("browser.search", "{\"query\":false}", "I'll search for information about that...");
    SAYS("browser.search", "null", "I'll search for information about that...");
    SAYS("anything", "{\"x\":1}", "I'll help you with that...");
}

TEST(intent_is_one_line_whatever_the_prompt_holds)
{
    SEARCHES("two\\nlines\\u0000and\\u202e more", "two lines and more");
    BUILDS("Build me a todo\\r\\n\\tapp", "a todo app");
    SEARCHES("zero\\u200bwidth \\u061cand\\ufe0f tags\\udb40\\udc41", "zerowidth and tags");
}

TEST(intent_fills_templates_from_the_arguments)
{
    struct str pay = STR("I'll send {amount} {currency} to {recipient}...");
    SAYS_T("process_payment", pay, "{\"amount\":50.10,\"currency\":\"USD\",\"recipient\":\"花子\"}",
           "I'll send 50.10 USD to 花子...");
    SAYS_T("process_payment", pay, "{\"amount\":1e2}", "I'll send 1e2 ? to ?...");
    SAYS_T("process_payment", pay, NULL, "I'll send ? ? to ?...");
    SAYS_T("x", STR("{a.b} {{x} {a} {c"), "{\"a\":{\"b\":true},\"c\":1}",
           "true {x} {\"b\":true} {c");
    SAYS_T("x", STR("To {to}."), "{\"to\":\"Bob\\n\\u001b[2J  (approved)\"}",
           "To \"Bob\\n\\u{001B}[2J  (approved)\".");
}

#define ASKS(json, want) SAYS_T("pay", STR("Send {amount} {currency} to {recipient}?"), json, want)
#define TO(recipient, shown)                                                     \
    ASKS("{\"amount\":50,\"currency\":\"USD\",\"recipient\":\"" recipient "\"}", \
         "Send 50 USD to " shown "?")

TEST(intent_leaves_plain_words_as_they_are)
{
    TO("Hanako", "Hanako");
    TO("花子", "花子");
    TO("Hanako Yamada", "Hanako Yamada");
    TO("Zoë O'Brien-Smith", "Zoë O'Brien-Smith");
    TO("Иван", "Иван");
    TO("acct#12/3_4", "acct#12/3_4");
    TO("ada@example.org", "ada@example.org");
    ASKS("{\"amount\":1.50e3,\"currency\":\"¥\",\"recipient\":true}", "Send 1.50e3 \"¥\" to true?");
}

TEST(intent_quotes_a_value_that_could_read_like_words_of_ours)
{
    TO("Hanako? Approved. Next:", "\"Hanako? Approved. Next:\"");
    TO("Hanako. Nothing else", "\"Hanako. Nothing else\"");
    TO("Hanako\\\"? You said yes to \\\"Taro", "\"Hanako\\\"? You said yes to \\\"Taro\"");
    TO("C:\\\\pay", "\"C:\\\\pay\"");
    TO("Hanako  and  Taro", "\"Hanako  and  Taro\"");
    TO(" Hanako", "\" Hanako\"");
    TO("Hanako ", "\"Hanako \"");
    TO("", "\"\"");
    TO("?", "\"?\"");
    TO("花子。承認済み", "\"花子。承認済み\"");
    TO("Hanako and then whoever else is on that long list",
       "\"Hanako and then whoever else is on that long list\"");
}

TEST(intent_shows_what_cannot_be_seen)
{
    TO("Hana\\u061cko", "\"Hana\\u{061C}ko\"");
    TO("Hana\\u200bko", "\"Hana\\u{200B}ko\"");
    TO("\\u202eokanaH", "\"\\u{202E}okanaH\"");
    TO("Hanako\\u2066\\u2069", "\"Hanako\\u{2066}\\u{2069}\"");
    TO("Hanako\\n\\nApproved", "\"Hanako\\n\\nApproved\"");
    TO("Hanako\\u2028Approved", "\"Hanako\\u{2028}Approved\"");
    TO("Hanako\\u0000\\u007f\\u0085", "\"Hanako\\u{0000}\\u{007F}\\u{0085}\"");
    TO("Hanako\\u3164\\u115f\\u2800\\u00a0", "\"Hanako\\u{3164}\\u{115F}\\u{2800}\\u{00A0}\"");
    TO("Hanako\\ufe0f", "\"Hanako\\u{FE0F}\"");
    TO("Hanako\\udb40\\udc41", "\"Hanako\\u{E0041}\"");
    TO("Hanako\\ud800", "\"Hanako\\u{D800}\"");
    TO("\\u0338Hanako", "\"\\u{0338}Hanako\"");
    TO("He\\u0301la\\u0336\\u0336\\u0336\\u0336ne",
       "\"He\u0301la\u0336\u0336\\u{0336}\\u{0336}ne\"");
    ASKS("{\"amount\":[1,\n2],\"currency\":{\"a\":\"\u202e\"},\"recipient\":null}",
         "Send [1, 2] {\"a\":\"\\u{202E}\"} to ??");
}

TEST(intent_tells_a_member_together_with_its_twin)
{
    ASKS("{\"amount\":50,\"Amount\":5000,\"currency\":\"USD\",\"recipient\":\"Hanako\"}",
         "Send 50 (also \"Amount\": 5000) USD to Hanako?");
    ASKS("{\"AMOUNT\":5000,\"currency\":\"USD\",\"recipient\":\"Hanako\"}",
         "Send ? (also \"AMOUNT\": 5000) USD to Hanako?");
    SAYS_T("x", STR("To {a.b}."), "{\"a\":{\"b\":1,\"B\":\"x\"}}", "To 1 (also \"B\": x).");
}

TEST(intent_cuts_long_values_in_the_middle_and_counts_what_is_left_out)
{
    char json[512] = "{\"a\":\"", want[512] = "\"";
    for (int i = 0; i < 100; i++) strcat(json, "ö");
    strcat(json, "\",\"n\":");
    for (int i = 0; i < 100; i++) strcat(json, i ? "0" : "5");
    strcat(json, "}");
    for (int i = 0; i < 50; i++) strcat(want, "ö");
    strcat(want, "\" … 25 more characters … \"");
    for (int i = 0; i < 25; i++) strcat(want, "ö");
    strcat(want, "\"");
    SAYS_T("x", STR("{a}"), json, want);
    SAYS_T("x", STR("{n}"), json,
           "50000000000000000000000000000000000000000000000000 … 25 more characters … "
           "0000000000000000000000000");
    SAYS_T(
        "x", STR("{n}"),
        "{\"n\":12345678901234567890123456789012345678901234567890123456789012345678901234567890}",
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890");
}

TEST(intent_asks_by_template_or_by_name)
{
    struct said s;
    struct jv  *args;
    arena_init(&s.arena, 0);
    buf_init(&s.line, 0);
    REQUIRE(json_parse(&s.arena, STR("{\"amount\":50,\"to\":\"Taro\"}"), &args, NULL) == OK);
    intent_ask(&s.line, STR("pay"), STR("Send {amount} to {to}?"), args, NULL);
    CHECK_STR(buf_view(&s.line), "Send 50 to Taro?");
    buf_clear(&s.line);
    intent_ask(&s.line, STR("pay"), STR_NONE, args, NULL);
    CHECK_STR(buf_view(&s.line), "Run pay?");
    buf_clear(&s.line);
    intent_ask(&s.line, STR("shop__pay.now"), STR_NONE, args, NULL);
    CHECK_STR(buf_view(&s.line), "Run shop__pay.now?");
    buf_clear(&s.line);
    intent_ask(&s.line, STR("look\u202e? It is harmless"), STR_NONE, args, NULL);
    CHECK_STR(buf_view(&s.line), "Run \"look\\u{202E}? It is harmless\"?");
    char bytes[100];
    memset(bytes, 0xb2, sizeof bytes); /* no text at all */
    buf_clear(&s.line);
    intent_ask(&s.line, str_n(bytes, sizeof bytes), STR_NONE, args, NULL);
    CHECK(utf8_valid(buf_view(&s.line)) && str_find(buf_view(&s.line), STR("\" … ")) > 0);
    unsay(&s);
}
