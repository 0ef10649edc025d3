/* test_config_tools.c -- tools, their schemas and MCP servers as a configuration describes them. */
#include <stdlib.h>

#include "config_help.h"

TEST(config_keeps_tools_for_their_runners)
{
    quiet_env();
    setenv("PARLEY_TEST_KEY", "sk-6", 1);
    REQUIRE(
        config_read("{\"tools\":{\"pay\":{\"description\":\"Pays\",\"input_schema\":{\"type\":"
                    "\"object\"},\"confirm\":\"always\",\"risk\":\"high\","
                    "\"timeout\":5,\"expires\":60,\"intent\":\"I'll pay "
                    "{x}\",\"exec\":{\"command\":[\"pay\"],\"env\":{\"K\":\"env:PARLEY_TEST_KEY\","
                    "\"U\":\"text:file:x\"}}},"
                    "\"look.up\":{\"description\":\"Looks\",\"http\":{\"url\":\"https://e.org/"
                    "x\",\"headers\":{\"Authorization\":\"Bearer env:PARLEY_TEST_KEY\"}}},"
                    "\"beep\":{\"description\":\"Beeps\",\"client\":true}},\"actions\":{\"go\":{"
                    "\"tool\":\"pay\"}}}") == OK);
    REQUIRE(c.tool_count == 3);
    const struct config_tool *t = &c.tools[0];
    CHECK(t->runner == RUNNER_EXEC && t->timeout_ms == 5000 && t->expires_s == 60 &&
          !t->idempotent);
    CHECK_STR(jv_str(jv_get(jv_get(t->run, "env"), "K")), "sk-6");
    CHECK_STR(jv_get(jv_get(t->run, "env"), "K")->raw, "\"env:PARLEY_TEST_KEY\"");
    CHECK_STR(jv_str(jv_get(jv_get(t->run, "env"), "U")), "file:x");
    CHECK_STR(jv_str(jv_get(jv_get(c.tools[1].run, "headers"), "Authorization")), "Bearer sk-6");
    CHECK(c.tools[1].timeout_ms == 60000 && c.tools[2].runner == RUNNER_CLIENT && !c.tools[2].run);
    CHECK(c.demo_tools); /* the demo model needs them */
    CHECK_STR(config_action(&c, STR("go"))->tool, "pay");
    config_done(&c);
}

TEST(config_refuses_tools_that_cannot_run)
{
    CHECK(config_refused("{\"tools\":{\"t\":{\"description\":\"d\"}}}", 1, "exactly one of"));
    CHECK(
        config_refused("{\"tools\":{\"t\":{\"description\":\"d\",\"client\":true,\"http\":{\"url\":"
                       "\"http://localhost\"}}}}",
                       1, "exactly one of"));
    CHECK(config_refused("{\"tools\":{\"t\":{\"client\":false}}}", 1, "only be true"));
    CHECK(config_refused("{\"tools\":{\"t\":{\"exec\":{}}}}", 1, "command"));
    CHECK(config_refused("{\"tools\":{\"t\":{\"exec\":{\"command\":\"ls -l\"}}}}", 1,
                         "must be a list of text"));
    CHECK(config_refused("{\"tools\":{\"t\":{\"http\":{}}}}", 1, "url"));
    CHECK(config_refused("{\"tools\":{\"a b\":{\"client\":true}}}", 1, "tool's name"));
    CHECK(config_refused("{\"tools\":{\"present\":{\"client\":true}}}", 1, "built-in"));
    CHECK(config_refused("{\"tools\":{\"get_weather\":{\"client\":true}}}", 1, "demo tool"));
    CHECK(config_refused(
        "{\"tools\":{\"t\":{\"client\":true,\"input_schema\":{\"type\":\"string\"}}}}", 1,
        "\"type\": \"object\""));
    CHECK(config_refused("{\"tools\":{\"t\":{\"client\":true,\"confirm\":\"sometimes\"}}}", 1,
                         "\"confirm\""));
    CHECK(config_refused("{\"actions\":{\"a\":{\"tool\":\"get_wether\"}}}", 1,
                         "did you mean \"get_weather\""));
    CHECK(config_refused("{\"actions\":{\"a\":{}}}", 1, "needs \"tool\""));
}

#define CLIENT(name, more) \
    "{\"tools\":{\"" name "\":{\"description\":\"d\",\"client\":true" more "}}}"

/* Clients take it for our question to a person. */
TEST(config_refuses_names_that_mean_something_else_to_clients)
{
    CHECK(config_refused(CLIENT("adk_request_confirmation", ""), 1, "reserved"));
    CHECK(config_refused(CLIENT("adk.request_confirmation", ""), 1, "reserved"));
    CHECK(config_refused("{\"actions\":{\n\"approve\":{\"tool\":\"get_weather\"}}}", 2,
                         "never be reached"));
    CHECK(config_refused("{\"actions\":{\"deny\":{\"tool\":\"get_weather\"}}}", 1,
                         "never be reached"));
    CHECK(config_refused("{\"actions\":{\"retry\":{\"tool\":\"get_weather\"}}}", 1,
                         "never be reached"));
}

/* What schema_check would pass over in silence. */
TEST(config_refuses_schemas_that_would_check_nothing)
{
#define SCHEMA(text) CLIENT("t", ",\n\"input_schema\":{" text "}")
    CHECK(config_refused(SCHEMA("\"required\":\"a\""), 2,
                         "\"required\" of a JSON schema must be a list of text"));
    CHECK(config_refused(SCHEMA("\"required\":[1]"), 2, "a list of text"));
    CHECK(
        config_refused(SCHEMA("\"properties\":{\"a\":{\n\"pattern\":\"(\"}}"), 3, "pattern \"(\""));
    CHECK(config_refused(SCHEMA("\"properties\":{\"a\":{\"type\":\"strng\"}}"), 2, "\"strng\""));
    CHECK(config_refused(SCHEMA("\"properties\":{\"a\":3}"), 2, "an object of schemas"));
    CHECK(config_refused(SCHEMA("\"properties\":{\"a\":{\"minimum\":\"1\"}}"), 2, "a number"));
    CHECK(config_refused(SCHEMA("\"properties\":{\"a\":{\"maxLength\":-1}}"), 2,
                         "a whole number from 0"));
    CHECK(config_refused(SCHEMA("\"properties\":{\"a\":{\"enum\":\"x\"}}"), 2, "a list"));
    CHECK(config_refused(SCHEMA("\"patternProperties\":{\"[\":{}}"), 2, "pattern \"[\""));
    CHECK(config_refused(SCHEMA("\"anyOf\":{}"), 2, "a list of schemas"));
    CHECK(config_refused("{\"pages\":{\"p\":{\"payloads\":{\"x\":{\"required\":\"a\"}}}}}", 1,
                         "a list of text"));
    config_good(SCHEMA(
        "\"type\":\"object\",\"required\":[\"a\"],\"title\":\"x\",\"x-own\":1,\"$defs\":{\"n\":{"
        "\"type\":[\"string\",\"null\"]}},"
        "\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
        "n\"},\"pattern\":{\"pattern\":\"^a+$\"},\"required\":true,\"e\":{\"enum\":[1,{\"type\":3}]"
        ",\"default\":{\"type\":7}},"
        "\"l\":{\"items\":{\"type\":\"integer\"},\"minItems\":1}},\"additionalProperties\":false"));
    config_done(&c);
    /* Good in ECMA, but outside what is checked here. */
    config_good(SCHEMA("\"properties\":{\"a\":{\"pattern\":\"(?=a)b\"}}"));
    CHECK(config_warns("is not checked"));
    config_done(&c);
}

/* A name there is compared with the address's host alone: another one would be written in vain. */
TEST(config_refuses_an_allowed_host_that_is_never_asked_for)
{
#define ALLOW(list)                                                                         \
    "{\"tools\":{\"t\":{\"description\":\"d\",\"http\":{\"url\":\"https://billing.example/" \
    "x\",\n\"allow\":[" list "]}}}}"
    CHECK(config_refused(ALLOW("\"zz\""), 2, "\"zz\" in \"allow\""));
    CHECK(config_refused(ALLOW("\"10.0.0.0/99\""), 2, "10.0.0.0/99"));
    config_good(ALLOW("\"10.0.0.0/8\",\"127.0.0.1\",\"fd00::1\",\"Billing.example\""));
    config_done(&c);
}

TEST(config_takes_mcp_servers_as_other_clients_write_them)
{
    config_good(
        "{\"mcpServers\":{\"fs\":{\"command\":\"npx\",\"args\":[\"-y\",\"x\"],\"autoApprove\":[],"
        "\"confirm\":{\"read\":\"never\"}},"
        "\"web\":{\"type\":\"http\",\"url\":\"https://e.org/mcp\",\"timeout\":30},"
        "\"off\":{\"command\":\"x\",\"env\":{\"K\":\"env:PARLEY_TEST_KEY\"},\"disabled\":true}},"
        "\"pages\":{\"p\":{\"tools\":[\"fs__read\"]}}}");
    REQUIRE(c.mcp_count == 2);
    CHECK(!c.mcp[0].http && c.mcp[0].timeout_ms == 60000 && c.mcp[1].http &&
          c.mcp[1].timeout_ms == 30000);
    CHECK(config_warns("autoApprove"));
    config_done(&c);
}

TEST(config_refuses_mcp_servers_that_cannot_be_reached)
{
    CHECK(config_refused("{\"mcpServers\":{\"a\":{}}}", 1, "either \"command\" or \"url\""));
    CHECK(
        config_refused("{\"mcpServers\":{\"a\":{\"comand\":\"x\",\"url\":\"http://localhost/\"}}}",
                       1, "did you mean \"command\""));
    CHECK(config_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"type\":\"http\"}}}", 1,
                         "does not fit"));
    CHECK(config_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"timeout\":60000}}}", 1,
                         "1800 seconds"));
    CHECK(config_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"confirm\":{\"t\":\"no\"}}}}",
                         1, "\"confirm\""));
    CHECK(config_refused(
        "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"K\":\"env:PARLEY_TEST_KEY\"}}}}", 1,
        "not set"));
}
