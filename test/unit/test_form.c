/* test_form.c -- any schema at all becomes one that each provider takes. */
#include "test.h"

#include "model/wire.h"
#include "tool/registry.h"

static struct str formed(const struct wire *w, const char *schema)
{
    static char  text[1 << 17];
    struct buf   out;
    struct jsonw jw;
    buf_init(&out, 0);
    jsonw_init(&jw, &out);
    form_schema(&jw, &w->form, str_c(schema));
    CHECK(!out.err && out.len < sizeof text);
    snprintf(text, sizeof text, STR_FMT, STR_ARG(buf_view(&out)));
    buf_done(&out);
    return str_c(text);
}

#define OBJECT(rest) "{\"type\":\"object\"" rest "}"
#define EMPTY        OBJECT(",\"properties\":{}")

/* In; out for Anthropic, OpenAI, Gemini (NULL: as the one before). */
static const char *const rows[][4] = {
    { "", EMPTY },
    { "5", EMPTY },
    { "{", EMPTY },
    { "[]", EMPTY },
    { "{}", EMPTY },
    { "{\"type\":\"object\"}", EMPTY },
    { "{\"type\":\"string\"}", EMPTY },
    { "{\"type\":\"OBJECT\",\"properties\":null,\"required\":true}", EMPTY },
    { "{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\",\"a\",\"b\",5]}",
      OBJECT(",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]") },
    { "{\"type\":[\"object\",\"null\"],\"$schema\":\"x\",\"$id\":\"y\",\"description\":\"D\","
      "\"additionalProperties\":false,\"properties\":{\"a\":true,\"b\":5,\"\":{}}}",
      OBJECT(",\"description\":\"D Further members: \\\"\\\" ({})\",\"properties\":{\"a\":{}}") },
    /* choices and references at the top */
    { "{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"k\":{"
      "\"const\":\"x\"}},\"required\":[\"a\",\"k\"]},"
      "{\"properties\":{\"b\":{\"type\":\"number\"},\"k\":{\"const\":\"y\"}},\"required\":[\"k\","
      "\"b\"]}]}",
      OBJECT(",\"properties\":{\"a\":{\"type\":\"string\"},\"k\":{\"anyOf\":[{\"const\":\"x\"},{"
             "\"const\":\"y\"}]},\"b\":{\"type\":\"number\"}},\"required\":[\"k\"]"),
      NULL,
      OBJECT(",\"properties\":{\"a\":{\"type\":\"string\"},\"k\":{\"anyOf\":[{\"enum\":[\"x\"]},{"
             "\"enum\":[\"y\"]}]},\"b\":{\"type\":\"number\"}},\"required\":[\"k\"]") },
    { "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"oneOf\":[{\"required\":[\"a\"]},{"
      "\"required\":[\"b\"]}]}",
      OBJECT(",\"properties\":{\"a\":{},\"b\":{}}") },
    { "{\"allOf\":[{\"properties\":{\"a\":{}},\"required\":[\"a\"]},{\"$ref\":\"#/$defs/"
      "B\"}],\"$defs\":{\"B\":{\"properties\":{\"b\":{}},\"required\":[\"b\"]}}}",
      OBJECT(",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"b\"],\"$defs\":{\"B\":{"
             "\"properties\":{\"b\":{}},\"required\":[\"b\"]}}"),
      NULL, OBJECT(",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"b\"]") },
    { "{\"$ref\":\"#/definitions/"
      "P\",\"definitions\":{\"P\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/"
      "definitions/N\"}}},\"N\":{\"type\":\"integer\"}}}",
      OBJECT(",\"properties\":{\"n\":{\"$ref\":\"#/definitions/"
             "N\"}},\"definitions\":{\"P\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#"
             "/definitions/N\"}}},\"N\":{\"type\":\"integer\"}}"),
      NULL, OBJECT(",\"properties\":{\"n\":{\"type\":\"integer\"}}") },
    { "{\"$ref\":\"#\"}", EMPTY },
    { "{\"$ref\":\"http://x/y\"}", EMPTY },
    { "{\"allOf\":[{\"$ref\":\"#\"}]}", EMPTY },
    { "{\"properties\":{\"a\":{\"$ref\":\"#/nowhere\"},\"b\":{\"$ref\":5}}}",
      OBJECT(",\"properties\":{\"a\":{},\"b\":{}}") },
    /* keywords of the wrong form, arrays and objects that are not whole */
    { "{\"properties\":{\"a\":{\"type\":\"any\",\"minimum\":\"1\",\"exclusiveMinimum\":true,"
      "\"minLength\":-1,\"pattern\":5,\"enum\":[],\"anyOf\":[],\"items\":5}}}",
      OBJECT(",\"properties\":{\"a\":{}}") },
    { "{\"properties\":{\"a\":{\"type\":\"array\"},\"o\":{\"type\":\"object\"},\"t\":{\"type\":"
      "\"array\",\"items\":[{\"type\":\"string\"}]}}}",
      OBJECT(",\"properties\":{\"a\":{\"type\":\"array\"},\"o\":{\"type\":\"object\"},\"t\":{"
             "\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"string\"}]}}}"),
      OBJECT(",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{}},\"o\":{\"type\":\"object\","
             "\"properties\":{}},\"t\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":"
             "\"string\"}]}}}"),
      NULL },
    /* what Gemini does not know */
    { "{\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"pattern\":\"x\",\"format\":"
      "\"uri\",\"default\":\"d\",\"x-own\":1},\"e\":{\"enum\":[\"x\",1,null,true]},\"d\":{"
      "\"format\":\"date-time\"}}}",
      OBJECT(",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":1,\"pattern\":\"x\","
             "\"format\":\"uri\",\"default\":\"d\",\"x-own\":1},\"e\":{\"enum\":[\"x\",1,null,true]"
             "},\"d\":{\"format\":\"date-time\"}}"),
      NULL,
      OBJECT(",\"properties\":{\"a\":{\"type\":\"string\"},\"e\":{},\"d\":{\"format\":\"date-"
             "time\"}}") },
    { "{\"properties\":{\"e\":{\"enum\":[\"x\",1]}}}",
      OBJECT(",\"properties\":{\"e\":{\"enum\":[\"x\",1]}}") },
    { "{\"properties\":{\"p\":{\"allOf\":[{\"properties\":{\"x\":{}}},{\"properties\":{\"y\":{}},"
      "\"required\":[\"y\"]}]}}}",
      OBJECT(",\"properties\":{\"p\":{\"allOf\":[{\"properties\":{\"x\":{}}},{\"properties\":{"
             "\"y\":{}},\"required\":[\"y\"]}]}}"),
      NULL,
      OBJECT(",\"properties\":{\"p\":{\"properties\":{\"x\":{},\"y\":{}},\"required\":[\"y\"]}}") },
    /* names that Anthropic does not take, and characters nobody does */
    { "{\"additionalProperties\":false,\"properties\":{\"$filter\":{\"type\":\"string\"},\"b\":{}},"
      "\"required\":[\"$filter\",\"b\"]}",
      OBJECT(",\"description\":\"Further members: \\\"$filter\\\" "
             "({\\\"type\\\":\\\"string\\\"})\",\"properties\":{\"b\":{}},\"required\":[\"b\"]"),
      OBJECT(",\"additionalProperties\":false,\"properties\":{\"$filter\":{\"type\":\"string\"},"
             "\"b\":{}},\"required\":[\"$filter\",\"b\"]"),
      NULL },
    { "{\"properties\":{\"a\":{\"description\":\"\\ud800\",\"default\":1e999}}}",
      OBJECT(",\"properties\":{\"a\":{}}") },
};

TEST(each_provider_gets_a_schema_it_takes)
{
    static const struct wire *const wires[] = { &wire_anthropic, &wire_openai, &wire_gemini };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *want = NULL;
        for (size_t w = 0; w < 3; w++) {
            if (rows[i][w + 1]) want = rows[i][w + 1];
            struct str got = formed(wires[w], rows[i][0]);
            if (!str_is(got, want)) printf("  row %zu, %s\n", i, wires[w]->base_url);
            CHECK_STR(got, want);
        }
    }
}

TEST(a_schema_that_means_itself_is_cut)
{
    struct str s = formed(&wire_gemini, "{\"properties\":{\"next\":{\"$ref\":\"#\"}}}");
    CHECK(s.len > 100 && s.len < 4000 && str_find(s, STR("$ref")) < 0);
    s = formed(&wire_gemini,
               "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/"
               "A\"}},\"$defs\":{\"A\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/"
               "A\"},\"y\":{\"$ref\":\"#/$defs/A\"},\"z\":{\"$ref\":\"#/$defs/A\"}}}}}");
    CHECK(s.len < 2 * FORM_BYTES);
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    CHECK(json_parse(&a, s, &v, NULL) == OK);
    arena_done(&a);
}

TEST(a_huge_schema_is_cut_and_stays_json)
{
    struct buf   b, out;
    struct jsonw w;
    struct arena a;
    struct jv   *v;
    buf_init(&b, 0);
    buf_lit(&b, "{\"properties\":{\"p\":{}");
    for (int i = 0; i < 4000; i++)
        buf_printf(&b, ",\"p%d\":{\"type\":\"string\",\"description\":\"number %d\"}", i, i);
    buf_lit(&b, "}}");
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    form_schema(&w, &wire_openai.form, buf_view(&b));
    arena_init(&a, 0);
    CHECK(out.len < 2 * FORM_BYTES && json_parse(&a, buf_view(&out), &v, NULL) == OK);
    arena_done(&a);
    buf_done(&out);
    buf_done(&b);
}

/* Every name looked for in every other: a loop that does it all would take minutes. */
TEST(a_hostile_schema_costs_no_more_than_others)
{
    struct buf   b, out;
    struct jsonw w;
    buf_init(&b, 0);
    buf_lit(&b, "{\"allOf\":[");
    for (int s = 0; s < 50; s++) {
        buf_printf(&b, "%s{\"properties\":{\"p\":{}", s ? "," : "");
        for (int i = 0; i < 150; i++) buf_printf(&b, ",\"p%d\":{}", i);
        buf_lit(&b, "},\"required\":[\"p\"");
        for (int i = 0; i < 150; i++) buf_printf(&b, ",\"q%d\"", i);
        buf_lit(&b, "]}");
    }
    buf_lit(&b, "],\"properties\":{\"r\":{\"$ref\":\"#/$defs/d2999\"}");
    for (int i = 0; i < 2000; i++) buf_printf(&b, ",\"r%d\":{\"$ref\":\"#/$defs/d999\"}", i);
    buf_lit(&b, "},\"$defs\":{\"d\":{}");
    for (int i = 0; i < 1000; i++) buf_printf(&b, ",\"d%d\":{}", i);
    buf_lit(&b, "}}");
    REQUIRE(b.len < 256u << 10);
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    for (int i = 0; i < 100; i++) {
        buf_clear(&out);
        form_schema(&w, &wire_gemini.form, buf_view(&b));
    }
    CHECK(!out.err && out.len < 2 * FORM_BYTES);
    buf_done(&out);
    buf_done(&b);
}

TEST(a_wire_name_begins_as_every_provider_wants_it)
{
    static const char *const names[][2] = { { "3d.render", "_3d_render" },
                                            { "-x", "_-x" },
                                            { "browser.search", "browser_search" } };
    struct registry          r;
    registry_init(&r);
    for (size_t i = 0; i < 3; i++) {
        struct tool *t = registry_tool(&r, str_c(names[i][0]));
        REQUIRE(t && registry_add(&r, t) == OK);
        CHECK_STR(t->wire_name, names[i][1]);
        CHECK(registry_find_wire(&r, str_c(names[i][1])) == t);
    }
    registry_done(&r);
}
