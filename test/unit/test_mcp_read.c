/* test_mcp_read.c -- what the MCP client reads without a server: results, header annotations,
 * entries of the configuration. */
#include <stdlib.h>

#include "base/fault.h"
#include "mcp_help.h"

static void said(const char *json, bool error, const char *text, const char *value)
{
    struct arena    a;
    struct jv      *v;
    struct mcp_said s = { 0 };

    arena_init(&a, 0);
    buf_init(&s.text, 0);
    buf_init(&s.value, 0);
    REQUIRE(json_parse(&a, str_c(json), &v, NULL) == OK);
    mcp_result_read(v, &s);
    CHECK(s.is_error == error);
    CHECK_STR(buf_view(&s.text), text);
    CHECK(s.has_value == (value != NULL));
    if (value) CHECK_STR(buf_view(&s.value), value);
    buf_done(&s.text);
    buf_done(&s.value);
    arena_done(&a);
}

TEST(content_of_every_kind_has_words_for_the_model)
{
    said("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\\u001b["
         "2J\"}]}",
         false, "a\nb[2J", NULL);
    said("{\"content\":[],\"structuredContent\":{\"t\":1}}", false, "{\"t\":1}", "{\"t\":1}");
    said("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":[1],\"isError\":"
         "true}",
         true, "x", "[1]");
    said("{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}", false,
         "[image image/png, 3 bytes]",
         "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]}");
    said("{\"content\":[{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}]}", false,
         "[audio audio/wav, 1 bytes]",
         "{\"content\":[{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}]}");
    said(
        "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"text\":\"words\"}}]}",
        false, "words",
        "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"text\":\"words\"}}]"
        "}");
    said("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"blob\":\"AAA=\","
         "\"mimeType\":\"a/b\"}}]}",
         false, "[resource a/b, 2 bytes] x:y",
         "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"blob\":\"AAA=\","
         "\"mimeType\":\"a/b\"}}]}");
    said("{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"N\"}]}", false,
         "[link N] x:y",
         "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"N\"}]}");
    said("{\"content\":[{\"type\":\"hologram\",\"x\":1}]}", false,
         "{\"type\":\"hologram\",\"x\":1}", "{\"content\":[{\"type\":\"hologram\",\"x\":1}]}");
    said("{\"content\":\"no list\"}", false, "", NULL);
    said("{}", false, "", NULL);
}

static size_t params(const char *json, const char **why)
{
    struct arena      a;
    struct jv        *v;
    struct mcp_param *p;
    size_t            n = 0;

    arena_init(&a, 0);
    *why = NULL;
    REQUIRE(json_parse(&a, str_c(json), &v, NULL) == OK);
    if (!mcp_params_read(&a, v, &p, &n, why)) n = 99;
    arena_done(&a);
    return n;
}

TEST(header_annotations_count_only_where_their_place_is_certain)
{
    const char *why;
    CHECK(params(
              "{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{\"type\":"
              "\"object\",\"properties\":{\"c\":{\"type\":\"integer\",\"x-mcp-header\":\"C\"}}}}}",
              &why) == 2);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A B\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}", &why) ==
          99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},\"b\":{"
                 "\"type\":\"string\",\"x-mcp-header\":\"a\"}}}",
                 &why) == 99);
    CHECK(params("{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-"
                 "mcp-header\":\"A\"}}}}",
                 &why) == 99);
    CHECK(params(
              "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}]}",
              &why) == 99);
    CHECK(params("{\"$defs\":{\"d\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", &why) == 99);
    CHECK(params("{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", &why) == 0);
    CHECK(params("{\"type\":\"object\"}", &why) == 0);
}

static void header(const char *value, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    mcp_header_value(&b, str_c(value));
    CHECK_STR(buf_view(&b), want);
    buf_done(&b);
}

TEST(header_values_that_no_header_can_hold_are_wrapped)
{
    header("us-west1", "us-west1");
    header("", "");
    header("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    header(" padded ", "=?base64?IHBhZGRlZCA=?=");
    header("a\nb", "=?base64?YQpi?=");
    header("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=");
}

/* --- configuration ---------------------------------------------------------------------------- */

static void refused_as(const char *alias, const char *json, const char *because)
{
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    struct jv      *v;
    struct mcp     *m;
    struct buf      why;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, str_c(json), &v, NULL) == OK);
    CHECK(mcp_read(&m, &host, str_c(alias), v, STR_NONE, &why) != OK);
    if (!str_has(buf_view(&why), because))
        test_check_str(__FILE__, __LINE__, buf_view(&why), str_c(because));
    buf_done(&why);
}

static void refused(const char *json, const char *because)
{
    refused_as("s", json, because);
}

/* "a" with a tool "b__pay" and "a__b" with a tool "pay" would both be a__b__pay, under whichever
 * policy comes first. */
TEST(no_two_servers_can_mean_the_same_tool)
{
    static const char *const bad[] = { "a__b", "a_", "__a", "a__", "_", "", "a/b", "a\"b" };
    T = toolrun_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused_as(bad[i], "{\"command\":\"x\"}", "its name must be");
    toolrun_free(T);
}

/* An argument that is missing would be another command: there is a whole server or none. */
TEST(no_memory_for_an_argument_is_no_server)
{
    struct mcp_host host;
    struct jv      *v;
    struct buf      b;
    unsigned        refused_until = 0, good = 0;

    T = toolrun_new();
    host = (struct mcp_host){ &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    buf_init(&b, 0);
    buf_lit(&b, "{\"command\":\"rm\",\"env\":{\"A\":\"b\"},\"args\":[\"-i\"");
    for (int i = 0; i < 400; i++)
        buf_printf(
            &b, ",\"a-name-that-takes-some-room-%d-0123456789012345678901234567890123456789\"", i);
    buf_lit(&b, "],\"cwd\":\"/");
    /* an allocation of its own, after those of the arguments */
    for (int i = 0; i < 10000; i++) buf_lit(&b, "long/");
    buf_lit(&b, "\"}");
    REQUIRE(json_parse(&T->reg.arena, buf_view(&b), &v, NULL) == OK);
    for (unsigned n = 1; n < 60; n++) {
        struct mcp *m = NULL;
        struct buf  why;
        char        order[20];
        snprintf(order, sizeof order, "mem:%u", n);
        buf_init(&why, 0);
        fault_order(order);
        enum err e = mcp_read(&m, &host, STR("s"), v, STR_NONE, &why);
        fault_order("");
        buf_done(&why);
        if (e != OK) {
            refused_until = n;
            CHECK(good == 0); /* as many allocations as it takes: each of them was needed */
            continue;
        }
        good++;
        fake_stopped = false;
        mcp_stop(m, fake_on_stopped);
        toolrun_wait(T, &fake_stopped, 2000);
    }
    CHECK(refused_until > 3 && good > 3);
    buf_done(&b);
    toolrun_free(T);
}

TEST(a_wrong_entry_of_mcp_servers_is_told_in_a_sentence)
{
    T = toolrun_new();
    unsetenv("PARLEY_NOT_SET");
    refused("[]", "must be an object");
    refused("{}", "either a \"command\" or a \"url\"");
    refused("{\"command\":\"x\",\"url\":\"https://x\"}", "either a \"command\" or a \"url\"");
    refused("{\"command\":7}", "must be a text");
    refused("{\"command\":\"x\",\"args\":\"y\"}", "\"args\" a list");
    refused("{\"command\":\"x\",\"args\":[1]}", "list of texts");
    refused("{\"url\":\"http://example.com/mcp\"}",
            "plain http is for servers on this machine only");
    refused("{\"url\":\"gopher://x\"}", "begins with https");
    refused("{\"url\":\"https://x\",\"type\":\"sse\"}", "not supported");
    refused("{\"url\":\"https://x\",\"era\":\"new\"}", "\"era\" must be");
    refused("{\"url\":\"https://x\",\"confirm\":\"sometimes\"}", "\"confirm\":");
    refused("{\"url\":\"https://x\",\"confirm\":{\"echo\":\"sometimes\"}}", "\"confirm\":");
    refused("{\"url\":\"https://x\",\"trust_annotations\":\"yes\"}", "true or false");
    refused("{\"url\":\"https://x\",\"timeout\":0}", "number of seconds");
    toolrun_free(T);
}
