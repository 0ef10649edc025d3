/* test_config_page.c -- what a configuration says about the look and the words of the page. */
#include "base/jsonw.h"
#include "config_help.h"

#define SVG "<svg xmlns='http://www.w3.org/2000/svg'/>"

static const char *look_with(const char *key, const char *value)
{
    static char text[600];
    snprintf(text, sizeof text, "{\n\"page\": {\"%s\": %s}}", key, value);
    return text;
}

static struct str look_told(void)
{
    static struct buf b;
    struct jsonw      w;
    buf_done(&b);
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    config_look_write(&c, &w);
    REQUIRE(!b.err);
    return buf_view(&b);
}

TEST(config_page_is_parley_in_three_languages_when_nothing_is_said)
{
    config_good("{}");
    CHECK(str_is(look_told(), "{\"name\":\"parley\",\"logo\":false,\"model\":\"demo\","
                              "\"languages\":[\"en\",\"de\",\"ja\"]}"));
    config_done(&c);
}

TEST(config_page_is_told_as_it_was_written)
{
    char text[900];
    snprintf(text, sizeof text,
             "{\"page\":{\"name\":\" Acme \",\"logo\":\"%s\",\"accent\":\"#0b6e4f\",\"languages\":"
             "[\"de\"],\"greeting\":{\"de\":\"Hallo\"},\"starters\":[\"Eins\",{\"de\":\"Zwei\"}],"
             "\"footer\":\"Acme Ltd.\"}}",
             config_file("logo.svg", SVG));
    config_good(text);
    CHECK(str_is(look_told(),
                 "{\"name\":\"Acme\",\"logo\":true,\"accent\":[\"#0b6e4f\",\"#4c957e\"],"
                 "\"model\":\"demo\",\"languages\":[\"de\"],\"greeting\":{\"de\":\"Hallo\"},"
                 "\"footer\":\"Acme Ltd.\","
                 "\"starters\":[\"Eins\",{\"de\":\"Zwei\"}]}"));
    CHECK(str_is(c.look.logo, SVG) && strcmp(c.look.logo_type, "image/svg+xml") == 0);
    config_done(&c);
}

TEST(config_a_logo_is_known_by_its_content)
{
    config_good(look_with("logo", "\"data:image/png;base64,iVBORw0KGgoAAA==\""));
    CHECK(strcmp(c.look.logo_type, "image/png") == 0 && c.look.logo.len == 10);
    config_done(&c);
    CHECK(config_refused(look_with("logo", "\"data:image/png;base64,SGVsbG8=\""), 2,
                         "is no picture"));
    CHECK(config_refused(look_with("logo", "\"data:image/png;base64,***=\""), 2, "not base64"));
    CHECK(config_refused(look_with("logo", "\"data:image/png,x\""), 2, "or the path of a file"));
    CHECK(config_refused(look_with("logo", "\"/nowhere/logo.svg\""), 2, "/nowhere/logo.svg: "));
    CHECK(config_refused(look_with("logo", "\"/tmp\""), 2, "folder"));
}

TEST(config_a_colour_that_cannot_be_read_is_refused_with_one_that_can)
{
    CHECK(config_refused(
        look_with("accent", "\"#ffcc00\""), 2,
        "cannot be read on a light page (contrast 1.4:1, 4.5:1 is needed); the nearest "
        "that can is \"#"));
    CHECK(config_refused(look_with("accent", "\"tomato\""), 2, "is no colour; write \"#1f5eff\""));
    CHECK(config_refused(look_with("accent", "\"#12345g\""), 2, "is no colour"));
    config_good(look_with("accent", "\"#000000\""));
    CHECK(c.look.accent == 0 && c.look.accent_dark > 0x707070);
    config_done(&c);
}

TEST(config_the_page_says_everything_in_every_language_it_speaks)
{
    CHECK(config_refused(look_with("languages", "[\"en\", \"fr\"]"), 2,
                         "does not speak \"fr\"; it speaks en, de and ja"));
    CHECK(config_refused(look_with("languages", "[]"), 2, "list at least one"));
    CHECK(config_refused(look_with("languages", "[\"en\", \"en\"]"), 2, "twice"));
    CHECK(config_refused(look_with("greeting", "{\"en\": \"Hi\", \"de\": \"Hallo\"}"), 2,
                         "says nothing in \"ja\"; add it, or take that language out"));
    CHECK(config_refused(
        look_with("greeting", "{\"en\": \"Hi\", \"de\": \"Hallo\", \"ja\": \"x\", \"fr\": \"y\"}"),
        2, "\"fr\" is none of the page's languages"));
    CHECK(config_refused(look_with("footer", "\" \""), 2, "is empty"));
    CHECK(config_refused(look_with("footer", "7"), 2,
                         "must be text, or an object with one per language"));
    CHECK(config_refused(look_with("starters", "[7]"), 2, "write each as text"));
    CHECK(config_refused(look_with("starters", "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"]"), 2,
                         "are a list, not a start"));
    CHECK(config_refused(look_with("name", "\"\""), 2, "1 to 60 characters"));
}

TEST(config_the_page_is_told_what_its_model_costs)
{
    config_good(
        "{\"model\":{\"provider\":\"openai\",\"model\":\"m-1\",\"api_key\":\"k\",\"prices\":{"
        "\"input\":2.5,\"output\":10,\"currency\":\"EUR\"}}}");
    CHECK(str_find(look_told(), STR("\"model\":\"m-1\",\"prices\":{\"input\":2.5,\"output\":10,"
                                    "\"currency\":\"EUR\"}")) > 0);
    config_done(&c);
    CHECK(config_refused("{\"model\":{\"provider\":\"demo\",\"prices\":{\"input\":-1}}}", 1,
                         "must be between 0 and 1000000, not -1"));
    CHECK(config_refused("{\"model\":{\"provider\":\"demo\",\"prices\":{\"currency\":\"euro\"}}}",
                         1, "its three letters, such as \"EUR\""));
}
