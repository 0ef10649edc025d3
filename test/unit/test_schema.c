/* test_schema.c -- what fits a schema, what does not, and the sentence said about it. */
#include <stdio.h>

#include "test.h"

#include "tool/pattern.h"
#include "tool/schema.h"

static struct arena arena;

static const struct jv *parse(const char *text)
{
    struct jv *v = NULL;
    REQUIRE(json_parse(&arena, str_c(text), &v, NULL) == OK);
    return v;
}

/* NULL: it fits; else the sentence (valid until the next call). */
static const char *misfit(const char *schema, const char *value)
{
    static char said[4096];
    struct buf  why;
    arena_init(&arena, 0);
    buf_init(&why, 0);
    enum err e = schema_check(parse(schema), parse(value), NULL, &why);
    snprintf(said, sizeof said, STR_FMT, STR_ARG(buf_view(&why)));
    buf_done(&why);
    arena_done(&arena);
    CHECK(e == OK || e == ERR_TYPE || e == ERR_RANGE);
    CHECK((e == OK) == (said[0] == '\0'));
    return e == OK ? NULL : said;
}

#define FITS(schema, value)             CHECK(misfit(schema, value) == NULL)
#define MISFIT(schema, value, sentence) CHECK_STR(str_c(misfit(schema, value)), sentence)
#define REFUSED(schema, value)          CHECK(misfit(schema, value) != NULL)

TEST(a_value_of_the_wrong_type_is_named_by_its_place)
{
    MISFIT("{\"properties\":{\"amount\":{\"type\":\"number\"}}}", "{\"amount\":\"5\"}",
           "/amount must be a number, not a string");
    MISFIT("{\"type\":\"object\"}", "[]", "the input must be an object, not an array");
    MISFIT("{\"type\":[\"string\",\"null\"]}", "4",
           "the input must be a string or null, not a number");
    MISFIT("{\"type\":\"integer\"}", "1.5",
           "the input must be an integer, not a number with a fraction");
    MISFIT("{\"items\":{\"properties\":{\"a/b\":{\"type\":\"boolean\"}}}}", "[{},{\"a/b\":null}]",
           "/1/a~1b must be a boolean, not null");
    FITS("{\"type\":\"integer\"}", "1.0");
    FITS("{\"type\":\"integer\"}", "123456789012345678901234567890");
    FITS("{\"type\":\"string\",\"nullable\":true}", "null");
    FITS("{\"type\":\"OBJECT\"}", "{}");
    FITS("true", "1");
    REFUSED("false", "1");
}

TEST(a_missing_or_unknown_member_is_told_with_a_hint)
{
    const char *s = "{\"type\":\"object\",\"properties\":{\"amount\":{},\"recipient\":{}},"
                    "\"required\":[\"amount\"],\"additionalProperties\":false}";
    MISFIT(s, "{}", "the input lacks the required member \"amount\"");
    MISFIT(s, "{\"amount\":1,\"recipent\":\"x\"}",
           "/recipent is not a member the tool knows; did you mean \"recipient\"?");
    MISFIT(s, "{\"amount\":1,\"colour\":\"x\"}",
           "/colour is not a member the tool knows; known are amount, recipient");
    FITS(s, "{\"amount\":1}");
    FITS("{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"a\":1,\"b\":\"x\"}");
    MISFIT("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"b\":1}",
           "/b must be a string, not a number");
    FITS("{\"patternProperties\":{\"^x-\":{\"type\":\"number\"}},\"additionalProperties\":false}",
         "{\"x-a\":1}");
    REFUSED(
        "{\"patternProperties\":{\"^x-\":{\"type\":\"number\"}},\"additionalProperties\":false}",
        "{\"x-a\":\"1\"}");
    REFUSED(
        "{\"patternProperties\":{\"^x-\":{\"type\":\"number\"}},\"additionalProperties\":false}",
        "{\"y\":1}");
}

TEST(numbers_keep_to_their_bounds)
{
    MISFIT("{\"minimum\":1}", "0", "the input must be at least 1");
    MISFIT("{\"maximum\":10}", "10.5", "the input must be at most 10");
    MISFIT("{\"exclusiveMinimum\":0}", "0", "the input must be more than 0");
    MISFIT("{\"minimum\":0,\"exclusiveMinimum\":true}", "0", "the input must be more than 0");
    MISFIT("{\"exclusiveMaximum\":1}", "1", "the input must be less than 1");
    MISFIT("{\"multipleOf\":5}", "12", "the input must be a multiple of 5");
    FITS("{\"multipleOf\":0.1}", "0.3");
    FITS("{\"maximum\":9007199254740993}", "9007199254740993");
    REFUSED("{\"maximum\":9007199254740992}", "9007199254740993");
    FITS("{\"minimum\":5}", "\"not a number: the keyword does not speak of it\"");
}

TEST(lengths_count_characters_and_items)
{
    FITS("{\"minLength\":2,\"maxLength\":2}", "\"\xC3\xA9\xE2\x82\xAC\"");
    MISFIT("{\"maxLength\":2}", "\"abc\"", "the input must have at most 2 characters, not 3");
    MISFIT("{\"minItems\":1}", "[]", "the input must have at least 1 items, not 0");
    MISFIT("{\"maxProperties\":1}", "{\"a\":1,\"b\":2}",
           "the input must have at most 1 members, not 2");
    MISFIT("{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]",
           "the input must not repeat an item: items 1 and 2 are the same");
    FITS("{\"uniqueItems\":true}", "[1,\"1\",[1]]");
}

TEST(enum_and_const_compare_values)
{
    MISFIT("{\"enum\":[\"EUR\",\"USD\"]}", "\"GBP\"", "the input must be one of \"EUR\", \"USD\"");
    FITS("{\"enum\":[1,null,{\"a\":[1]}]}", "{\"a\":[1.0]}");
    MISFIT("{\"const\":\"yes\"}", "\"no\"", "the input must be \"yes\"");
}

TEST(items_may_be_typed_one_by_one)
{
    const char *s =
        "{\"prefixItems\":[{\"type\":\"string\"},{\"type\":\"number\"}],\"items\":false}";
    FITS(s, "[\"a\",1]");
    MISFIT(s, "[\"a\",\"b\"]", "/1 must be a number, not a string");
    MISFIT(s, "[\"a\",1,2]", "/2 is not allowed");
    REFUSED("{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]");
}

TEST(alternatives_are_explained)
{
    const char *any = "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\",\"minimum\":3}]}";
    FITS(any, "\"x\"");
    FITS(any, "3");
    MISFIT(any, "2",
           "the input fits none of the alternatives: the input must be a string, not a number; or "
           "the input must be at least 3");
    MISFIT("{\"oneOf\":[{\"type\":\"number\"},{\"minimum\":1}]}", "2",
           "the input fits more than one of the alternatives; exactly one is allowed");
    FITS("{\"oneOf\":[{\"type\":\"string\"},{\"minimum\":1}]}", "2");
    REFUSED("{\"allOf\":[{\"type\":\"number\"},{\"minimum\":3}]}", "2");
    MISFIT("{\"not\":{\"type\":\"null\"}}", "null", "the input has a form that the tool excludes");
    FITS("{\"not\":{\"type\":\"null\"}}", "1");
}

TEST(references_are_followed_inside_the_document)
{
    const char *tree =
        "{\"$defs\":{\"n/ode\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/"
        "n~1ode\"},\"v\":{\"type\":\"number\"}}}},\"$ref\":\"#/%24defs/n~1ode\"}";
    FITS(tree, "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}");
    MISFIT(tree, "{\"next\":{\"next\":{\"v\":\"x\"}}}",
           "/next/next/v must be a number, not a string");
    FITS("{\"$ref\":\"https://example.com/x\"}", "1");
    FITS("{\"$ref\":\"#/nowhere\"}", "1");
}

TEST(a_schema_that_runs_in_circles_ends)
{
    MISFIT("{\"$ref\":\"#\"}", "1",
           "the tool's schema refers to itself without end, so no input can be checked against it");
    REFUSED("{\"not\":{\"$ref\":\"#\"}}", "1");
    REFUSED("{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1");
}

TEST(unknown_keywords_are_ignored)
{
    FITS("{\"format\":\"email\",\"x-foo\":[1],\"required\":\"x\"}", "{}");
}

TEST(numbers_are_compared_digit_by_digit)
{
    REFUSED("{\"maximum\":100}", "100.00000000000000000001");
    REFUSED("{\"maximum\":100}", "1e999");
    REFUSED("{\"minimum\":100}", "-1e999");
    REFUSED("{\"maximum\":100}", "1e99999999999999999999"); /* nobody can count that far */
    FITS("{\"exclusiveMaximum\":1e400}", "1e300");
    REFUSED("{\"type\":\"integer\"}", "1.00000000000000000000000000001");
    FITS("{\"type\":\"integer\"}", "1.50e1");
    FITS("{\"type\":\"integer\"}", "1e300");
}

TEST(numbers_that_no_double_holds_fit_nowhere)
{
    MISFIT("{\"type\":\"object\"}", "{\"amount\":1e999}",
           "/amount must be a number below 1.8e308, which is as far as programs count");
    MISFIT("{}", "{\"a\":[1,{\"b\":-1e400}]}",
           "/a/1/b must be a number below 1.8e308, which is as far as programs count");
    FITS("{\"type\":\"object\"}", "{\"a\":[1e308,-1e-400,\"1e999\"]}");
}

TEST(a_number_that_programs_read_as_infinity_fits_nothing)
{
    static const char *const schemas[] = { "{\"type\":\"number\"}", "{\"type\":\"integer\"}",
                                           "{\"minimum\":1}", "{\"multipleOf\":0.01}",
                                           "{\"exclusiveMaximum\":1e400}" };

    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        REFUSED(schemas[i], "1e999");
        REFUSED(schemas[i], "1E999");
        FITS(schemas[i], "1e300");
    }
    REFUSED("{\"type\":\"number\"}", "-1e999");
    FITS("{\"type\":\"number\"}", "1e-999"); /* as good as nothing, and every program says so */
}

/* --- strangers ------------------------------------------------------------------ */

/* A text that grows: for schemas and values nobody would write by hand. */
static struct buf made[2];

static void put(int which, const char *piece, int times)
{
    char text[1000];
    for (int i = 0; i < times; i++) {
        snprintf(text, sizeof text, piece, i);
        buf_lit(&made[which], text);
    }
}
#define SCHEMA(piece, times) put(0, piece, times)
#define VALUE(piece, times)  put(1, piece, times)

/* The verdict on what was put; *used: what it cost. */
static enum err verdict(uint64_t *used)
{
    struct jv    *schema, *value;
    struct buf    why;
    struct budget turn = { 100 * BUDGET_CHECK };
    arena_init(&arena, 0);
    buf_init(&why, 0);
    REQUIRE(json_parse(&arena, buf_view(&made[0]), &schema, NULL) == OK &&
            json_parse(&arena, buf_view(&made[1]), &value, NULL) == OK);
    enum err e = schema_check(schema, value, &turn, &why);
    if (e == ERR_RANGE) CHECK_STR(buf_view(&why), "the input is too complex to check");
    *used = 100 * BUDGET_CHECK - turn.left;
    buf_done(&why);
    buf_done(&made[0]);
    buf_done(&made[1]);
    arena_done(&arena);
    return e;
}

static void is_too_complex(const char *what)
{
    uint64_t used;
    enum err e = verdict(&used);
    if (e != ERR_RANGE)
        printf("    %s: %s after %llu\n", what, err_name(e), (unsigned long long)used);
    CHECK(e == ERR_RANGE && used > 0 && used <= BUDGET_CHECK);
}

TEST(a_reference_is_paid_for_by_all_it_walks)
{
    SCHEMA("{\"$defs\":{", 1), SCHEMA("\"d%d\":{},", 10000), SCHEMA("\"x\":{}},\"allOf\":[true", 1),
        SCHEMA(",{\"$ref\":\"#/$defs/x\"}", 2000), SCHEMA("]}", 1);
    VALUE("1", 1);
    is_too_complex("many references into many definitions");
    SCHEMA("{\"$defs\":[0", 1), SCHEMA(",{}", 10000), SCHEMA("],\"allOf\":[true", 1),
        SCHEMA(",{\"$ref\":\"#/$defs/9000\"}", 2000), SCHEMA("]}", 1);
    VALUE("1", 1);
    is_too_complex("the same into a list");
}

TEST(a_reference_is_walked_once_however_often_it_is_followed)
{
    uint64_t used;
    SCHEMA("{\"$defs\":{", 1), SCHEMA("\"d%d\":{},", 1000),
        SCHEMA("\"x\":{\"type\":\"number\"}},\"items\":{\"$ref\":\"#/$defs/x\"}}", 1);
    VALUE("[0", 1), VALUE(",%d", 10000), VALUE("]", 1);
    CHECK(verdict(&used) == OK);
}

TEST(whatever_a_stranger_multiplies_is_paid_for)
{
    SCHEMA("{\"allOf\":[true", 1), SCHEMA(",{\"uniqueItems\":true}", 1000), SCHEMA("]}", 1);
    VALUE("[-1", 1), VALUE(",%d", 1000), VALUE("]", 1);
    is_too_complex("uniqueItems");
    SCHEMA("{\"items\":{\"enum\":[0", 1), SCHEMA(",\"abc%04d\"", 1000), SCHEMA("]}}", 1);
    VALUE("[\"abc0999\"", 1), VALUE(",\"abc0999\"", 2000), VALUE("]", 1);
    is_too_complex("enum");
    SCHEMA("{\"enum\":[0", 1), SCHEMA(",{\"b\":1,\"a\":%d}", 20000), SCHEMA("]}", 1);
    VALUE("{\"a\":-1,\"b\":1}", 1);
    is_too_complex("enum of objects");
    SCHEMA("{\"properties\":{\"x\":{}", 1), SCHEMA(",\"p%d\":{}", 3000), SCHEMA("}}", 1);
    VALUE("{\"x\":0", 1), VALUE(",\"q%d\":1", 3000), VALUE("}", 1);
    is_too_complex("properties and members");
    SCHEMA("{\"required\":[\"x\"", 1), SCHEMA(",\"q%d\"", 3000), SCHEMA("]}", 1);
    VALUE("{\"x\":0", 1), VALUE(",\"q%d\":1", 3000), VALUE("}", 1);
    is_too_complex("required");
    SCHEMA("{\"patternProperties\":{\"x\":{}", 1), SCHEMA(",\"^p%d\":{}", 100), SCHEMA("}}", 1);
    VALUE("{\"x\":0", 1), VALUE(",\"q%d\":1", 3000), VALUE("}", 1);
    is_too_complex("patternProperties");
    SCHEMA("{\"allOf\":[true", 1), SCHEMA(",{\"minLength\":1}", 10000), SCHEMA("]}", 1);
    VALUE("\"", 1), VALUE("long", 2000), VALUE("\"", 1);
    is_too_complex("the length of a text");
    SCHEMA("{\"allOf\":[true", 1),
        SCHEMA(",{\"multipleOf\":0.5,\"type\":[\"string\",\"number\"]}", 10000), SCHEMA("]}", 1);
    VALUE("0.", 1), VALUE("9", 3000);
    is_too_complex("the digits of a number");
    SCHEMA("{\"items\":{\"x\":0", 1), SCHEMA(",\"unknown%d\":1", 1000), SCHEMA("}}", 1);
    VALUE("[0", 1), VALUE(",0", 1000), VALUE("]", 1);
    is_too_complex("keywords nobody knows");
    SCHEMA("{\"items\":{\"allOf\":[true", 1), SCHEMA(",1", 1000), SCHEMA("]}}", 1);
    VALUE("[0", 1), VALUE(",0", 1000), VALUE("]", 1);
    is_too_complex("schemas that are none");
    SCHEMA("{\"pattern\":\"(x+x+)+y|a{500}b\"}", 1);
    VALUE("\"", 1), VALUE("aaaaaaaaaa", 10000), VALUE("\"", 1);
    is_too_complex("a pattern");
    SCHEMA("{\"allOf\":[true", 1), SCHEMA(",{\"properties\":{}}", 2000), SCHEMA("]}", 1);
    VALUE("{\"x\":0", 1), VALUE(",\"q%d\":1", 1000), VALUE("}", 1);
    is_too_complex("members of whom nothing is said");
}

TEST(alternatives_that_double_at_every_step_end)
{
    SCHEMA("{\"$defs\":{\"d60\":false", 1);
    for (int i = 0; i < 60; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 ",\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", i,
                 i + 1, i + 1);
        buf_lit(&made[0], text);
    }
    SCHEMA("},\"$ref\":\"#/$defs/d0\"}", 1);
    VALUE("1", 1);
    is_too_complex("anyOf");
}

TEST(honest_inputs_of_many_items_are_checked)
{
    uint64_t used;
    SCHEMA("{\"uniqueItems\":true,\"items\":{\"type\":\"integer\"}}", 1), VALUE("[-1", 1),
        VALUE(",%d", 10000), VALUE("]", 1);
    CHECK(verdict(&used) == OK);
    SCHEMA("{\"uniqueItems\":true}", 1), VALUE("[-1", 1), VALUE(",%d", 10000), VALUE(",5000.0]", 1);
    CHECK(verdict(&used) == ERR_TYPE);
    SCHEMA("{\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"},\"name\":"
           "{\"type\":\"string\",\"maxLength\":80}},\"required\":[\"id\"],\"additionalProperties\":"
           "false}}",
           1);
    VALUE("[{\"id\":0}", 1), VALUE(",{\"id\":%d,\"name\":\"Hanako Yamada\"}", 3000), VALUE("]", 1);
    CHECK(verdict(&used) == OK);
    SCHEMA("{\"properties\":{\"content\":{\"type\":\"string\"}}}", 1), VALUE("{\"content\":\"", 1),
        VALUE("a word and ", 100000), VALUE("\"}", 1);
    CHECK(verdict(&used) == OK && used < 100);
}

TEST(a_turn_pays_for_its_checks_and_a_check_that_began_ends)
{
    struct budget turn = { 100 };
    struct buf    why;
    arena_init(&arena, 0);
    buf_init(&why, 0);
    const struct jv *schema = parse("{\"items\":{\"type\":\"number\"}}"), *few = parse("[1,2]"),
                    *more = parse("[1,2,3,4,5,6,7,8,9,10,\"x\"]");
    CHECK(schema_check(schema, few, &turn, &why) == OK);
    CHECK(turn.left > 0 && turn.left < 100);
    turn.left = 1;
    CHECK(schema_check(schema, more, &turn, &why) == ERR_TYPE);
    CHECK_STR(buf_view(&why), "/10 must be a number, not a string");
    CHECK(turn.left == 0);
    buf_done(&why);
    arena_done(&arena);
}

/* --- patterns ------------------------------------------------------------------- */

static enum err search(const char *pattern, struct str text, bool *found)
{
    struct pattern *p;
    uint64_t        work = 50000000;
    arena_init(&arena, 0);
    enum err e = pattern_compile(&arena, str_c(pattern), &p);
    if (!e) e = pattern_search(p, text, &work, found);
    arena_done(&arena);
    return e;
}

static bool hit(const char *pattern, const char *text)
{
    bool found = false;
    CHECK(search(pattern, str_c(text), &found) == OK);
    return found;
}

TEST(pattern_literals_classes_and_anchors)
{
    CHECK(hit("b", "abc") && !hit("^b", "abc") && hit("c$", "abc") && !hit("^abc$", "abcd"));
    CHECK(hit("^[a-z]+$", "abc") && !hit("^[a-z]+$", "aBc") && hit("^[^0-9]*$", "abc") &&
          !hit("^[^0-9]*$", "a1"));
    CHECK(hit("^\\d{4}-\\d{2}$", "2026-11") && !hit("^\\d{4}-\\d{2}$", "2026-1"));
    CHECK(hit("^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$", "a.b-c@example.org") &&
          !hit("^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$", "a@b.c"));
    CHECK(hit("^.$", "\xE2\x82\xAC") && hit("^[\\u20ac-\\u20ad]$", "\xE2\x82\xAC") &&
          hit("\\u{1F600}", "\xF0\x9F\x98\x80"));
    CHECK(hit("^\\ud83d\\ude00$", "\xF0\x9F\x98\x80") && hit("^\\S+$", "x") &&
          !hit("^\\S+$", "x y") && hit("^[\\D]$", "x"));
    CHECK(hit("\\bcat\\b", "a cat sat") && !hit("\\bcat\\b", "concat") && hit("^[a-]$", "-") &&
          hit("^[\\]]$", "]"));
    CHECK(!hit("^.$", "\n") && hit("", "x") && hit("^$", "") && !hit("[]", "a") && hit("[^]", "a"));
}

TEST(pattern_groups_and_repetition)
{
    CHECK(hit("^(foo|bar)+$", "foobar") && !hit("^(?:foo|bar)+$", "foob") &&
          hit("^(?<y>a)b?$", "a"));
    CHECK(hit("^a{2,3}$", "aaa") && !hit("^a{2,3}$", "aaaa") && hit("^a{2,}$", "aaaaa") &&
          hit("^a{0}b$", "b") && hit("^a{,2}$", "a{,2}"));
    CHECK(hit("^(a*)*$", "aaaa") && hit("^(a|)+$", "") && hit("^x*?y+?$", "xxy") &&
          hit("^(|a){3}$", "aa"));
    CHECK(hit("^((a{1,3}){1,3}){1,3}$", "aaaaaaa") && !hit("^(a(b(c)))$", "ab"));
}

TEST(patterns_outside_the_subset_say_so)
{
    bool f;
    CHECK(search("(?=a)", STR(""), &f) == ERR_UNSUPPORTED &&
          search("(?<!a)", STR(""), &f) == ERR_UNSUPPORTED);
    CHECK(search("(a)\\1", STR(""), &f) == ERR_UNSUPPORTED &&
          search("\\p{L}", STR(""), &f) == ERR_UNSUPPORTED);
    CHECK(search("a{1000}{1000}", STR(""), &f) == ERR_SYNTAX &&
          search("(a{1000}){1000}", STR(""), &f) == ERR_UNSUPPORTED);
    CHECK(search("(", STR(""), &f) == ERR_SYNTAX && search(")", STR(""), &f) == ERR_SYNTAX &&
          search("[a", STR(""), &f) == ERR_SYNTAX);
    CHECK(search("a**", STR(""), &f) == ERR_SYNTAX && search("[b-a]", STR(""), &f) == ERR_SYNTAX &&
          search("\\", STR(""), &f) == ERR_SYNTAX);
    FITS("{\"pattern\":\"(?=x)\"}", "\"y\"");
}

TEST(a_pattern_of_nothing_repeated_is_not_written_out)
{
    char text[8000] = "(";
    bool f;
    for (int i = 0; i < 3000; i++) strcat(text, "()");
    strcat(text, "x){1000}");
    CHECK(search(text, STR("x"), &f) == ERR_UNSUPPORTED);
}

TEST(an_evil_pattern_stays_linear)
{
    static char text[200001];
    bool        f = true;
    memset(text, 'a', sizeof text - 1);
    CHECK(search("^(a+)+$", str_n(text, 100000), &f) == OK && f);
    text[200000] = '!';
    CHECK(search("^(a|aa)+$", str_n(text, 200001), &f) == OK && !f);
    CHECK(search("(x+x+)+y|a{500}b", str_n(text, 200000), &f) == ERR_RANGE);
    MISFIT("{\"pattern\":\"^[a-z]+$\"}", "\"ab1\"", "the input must match the pattern ^[a-z]+$");
}
