/* test_config_models.c -- which model a configuration means, in what order, and where its key comes
 * from. */
#include <stdlib.h>

#include "config_help.h"
#include "model/provider.h"

TEST(config_environment_picks_the_model)
{
    quiet_env();
    setenv("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/", 1);
    REQUIRE(config_read("{}") == OK);
    CHECK_STR(c.model.list[0]->provider, "openai");
    CHECK_STR(c.model.list[0]->base_url, "http://127.0.0.1:8080/v1");
    CHECK(!c.model.list[0]->api_key.ptr && !c.demo_model && c.demo_tools &&
          c.pages[0].payload_count == 0);
    CHECK(str_starts(c.model_why, STR("OPENAI_BASE_URL is set")));
    config_done(&c);

    setenv("ANTHROPIC_API_KEY", "sk-1", 1);
    setenv("ANTHROPIC_MODEL", "claude-x", 1);
    REQUIRE(config_read("{}") == OK);
    CHECK_STR(c.model.list[0]->provider, "anthropic");
    CHECK_STR(c.model.list[0]->model, "claude-x");
    CHECK_STR(c.model.list[0]->api_key, "sk-1");
    config_done(&c);

    REQUIRE(config_read("{\"model\":\"demo\"}") == OK); /* the file wins */
    CHECK(c.demo_model);
    config_done(&c);
}

TEST(config_describes_one_model)
{
    quiet_env();
    setenv("PARLEY_TEST_KEY", "sk-2", 1);
    REQUIRE(config_read(
                "{\"max_tokens\":99,\"model\":{\"provider\":\"anthropic\",\"model\":\"m\",\"api_"
                "key\":\"env:PARLEY_TEST_KEY\","
                "\"thinking\":{\"type\":\"adaptive\"},\"headers\":{\"X-A\":\"Bearer "
                "env:PARLEY_TEST_KEY\"},"
                "\"timeouts\":{\"idle\":1.5},\"retries\":0}}") == OK);
    const struct config_model *m = c.model.list[0];
    CHECK_STR(m->name, "default");
    CHECK_STR(m->api_key, "sk-2");
    CHECK_STR(m->headers[0].value, "Bearer sk-2");
    CHECK(m->max_tokens == 99 && m->thinking && m->idle_ms == 1500 && m->connect_ms == 10000 &&
          m->retries == 0);
    CHECK(c.warnings.count == 0);
    config_done(&c);
}

TEST(the_window_of_a_model_is_known_by_its_name_unless_it_is_said)
{
    static const struct {
        const char *model, *said;
        int64_t     room; /* without the 1000 of the answer */
    } CASES[] = {
        { "claude-x", "", 199000 },
        { "gpt-5-mini", "", 399000 },
        { "gpt-4.1", "", 1046576 },
        { "of-somebody", "", 0 },
        { "claude-x", ",\"context\":{\"limit\":50000}", 49000 },
        { "of-somebody", ",\"context\":{\"limit\":1500}", 750 }, /* half of a small one */
    };
    char text[300];

    quiet_env();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        snprintf(
            text, sizeof text,
            "{\"model\":{\"provider\":\"anthropic\",\"api_key\":\"text:k\",\"max_tokens\":1000,"
            "\"model\":\"%s\"%s}}",
            CASES[i].model, CASES[i].said);
        config_good(text);
        CHECK(c.model.list[0]->context == CASES[i].room);
        config_done(&c);
    }
}

TEST(config_fallback_list_keeps_its_order)
{
    config_good("{\"models\":{\"a\":{\"provider\":\"openai\",\"base_url\":\"http://localhost:1/"
                "v1\"},\"b\":{\"provider\":\"demo\"}},"
                "\"model\":[\"b\",\"a\"],\"pages\":{\"p\":{\"model\":\"a\"}}}");
    CHECK(c.model.count == 2 && str_is(c.model.list[0]->name, "b") &&
          str_is(c.model.list[1]->name, "a"));
    CHECK(config_page(&c, STR("p"))->models.count == 1 && c.demo_model);
    config_done(&c);
}

TEST(config_page_that_uses_the_demo_model_brings_its_tools)
{
    config_good("{\"model\":{\"provider\":\"openai\",\"base_url\":\"http://localhost:1/v1\"},"
                "\"tools\":{\"t\":{\"description\":\"d\",\"client\":true}},"
                "\"pages\":{\"tour\":{\"model\":[\"demo\"],\"tools\":[\"get_weather\",\"t\"]}}}");
    CHECK(c.demo_model && c.demo_tools && c.pages[0].payload_count == 0);
    config_done(&c);
}

TEST(config_takes_every_provider_there_is_and_tells_them_all)
{
    char text[200];

    for (size_t i = 0; i < provider_count(); i++) {
        snprintf(text, sizeof text, "{\"model\":{\"provider\":\"%s\",\"api_key\":\"k\"}}",
                 provider_at(i)->name);
        config_good(text);
        CHECK_STR(c.models[0].model, provider_at(i)->usual);
        config_done(&c);
        CHECK(config_refused("{\"model\":{\"provider\":\"zzzzzzzz\"}}", 1, provider_at(i)->name));
        CHECK(config_refused("{\"model\":{\"model\":\"x\"}}", 1, provider_at(i)->name));
        quiet_env();
        config_good("{}");
        CHECK(!provider_at(i)->key || str_find(c.model_why, str_c(provider_at(i)->key)) >= 0);
        config_done(&c);
    }
}

TEST(config_refuses_models_that_lead_nowhere)
{
    CHECK(config_refused("{\"model\":\"x\"}", 1, "no model is called \"x\""));
    CHECK(config_refused("{\"model\":{\"model\":\"x\"}}", 1, "has no provider"));
    CHECK(
        config_refused("{\"model\":{\"provider\":\"antropic\"}}", 1, "did you mean \"anthropic\""));
    CHECK(config_refused("{\"model\":{\"provider\":\"anthropic\"}}", 1, "set ANTHROPIC_API_KEY"));
    CHECK(config_refused("{\"model\":[]}", 1, "empty"));
    CHECK(config_refused("{\"model\":[\"demo\",\"demo\"]}", 1, "twice"));
    CHECK(
        config_refused("{\"models\":{\"a\":{\"provider\":\"demo\"},\"b\":{\"provider\":\"demo\"}}}",
                       1, "has several"));
    CHECK(config_refused("{\"model\":{\"provider\":\"openai\",\"base_url\":\"localhost\"}}", 1,
                         "http://"));
    CHECK(config_refused("{\"model\":{\"provider\":\"openai\",\"base_url\":\"http://u:p@h/\"}}", 1,
                         "password"));
    CHECK(config_refused("{\"model\":{\"provider\":\"demo\",\"headers\":{\"A B\":\"c\"}}}", 1,
                         "header's name"));
    CHECK(config_refused("{\"model\":{\"provider\":\"demo\",\"headers\":{\"A\":\"c\\r\\nd\"}}}", 1,
                         "line break"));
}

TEST(config_secret_references_must_lead_somewhere)
{
    CHECK(config_refused(
        "{\n\"model\":{\"provider\":\"openai\",\n\"api_key\":\"env:PARLEY_TEST_KEY\"}}", 3,
        "PARLEY_TEST_KEY is not set"));
    CHECK(
        config_refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"env:\"}}", 1, "not set"));
    CHECK(config_refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:/nowhere/key\"}}",
                         1, "/nowhere/key"));
    CHECK(config_refused("{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:/\"}}", 1,
                         "folder"));
}

TEST(config_key_comes_from_a_file_without_its_newline)
{
    char text[500];

    snprintf(text, sizeof text, "{\"model\":{\"provider\":\"openai\",\"api_key\":\"file:%s\"}}",
             config_file("key", "sk-3\n"));
    config_good(text);
    CHECK_STR(c.model.list[0]->api_key, "sk-3");
    config_done(&c);
    config_file("key", "\n");
    CHECK(config_refused(text, 1, "empty"));
}

TEST(config_warns_of_a_key_in_the_file)
{
    config_good("{\"model\":{\"provider\":\"openai\",\"api_key\":\"sk-4\",\"base_url\":\"http://"
                "example.org/v1\"}}");
    CHECK(config_warns("stands in the file") && config_warns("unencrypted"));
    CHECK(!config_warns("sk-4"));
    config_done(&c);
}

TEST(config_sends_no_environment_key_to_an_address_of_the_file)
{
    quiet_env();
    setenv("OPENAI_API_KEY", "sk-5", 1);
    REQUIRE(config_read(
                "{\"model\":{\"provider\":\"openai\",\"base_url\":\"https://example.org/v1\"}}") ==
            OK);
    CHECK(!c.model.list[0]->api_key.ptr);
    config_done(&c);
}
