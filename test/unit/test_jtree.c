/* test_jtree.c -- the JSON tree: building, looking up, comparing. */
#include "base/json.h"

#include "base/buf.h"
#include "test.h"

static struct arena arena;

/* A second text at a time may be parsed with parse_more(). */
static struct jv *parse_more(const char *text)
{
    struct jv *v = NULL;
    REQUIRE(json_parse(&arena, str_c(text), &v, NULL) == OK);
    return v;
}

static struct jv *parse(const char *text)
{
    arena_reset(&arena);
    return parse_more(text);
}

TEST(the_tree_has_every_value_in_its_place)
{
    struct jv *v = parse("{\"n\":null,\"t\":true,\"f\":false,\"i\":-7,\"s\":\"a\\nb\",\"a\":[1,[2],"
                         "{}],\"o\":{\"x\":1}}");
    CHECK(jv_is(v, JSON_OBJECT) && v->count == 7);
    CHECK(jv_is(jv_get(v, "n"), JSON_NULL));
    CHECK(jv_true(jv_get(v, "t")) && !jv_true(jv_get(v, "f")));
    CHECK(jv_int_at(v, "i", 0) == -7);
    CHECK_STR(jv_str_at(v, "s"), "a\nb");
    CHECK(jv_get(v, "a")->count == 3);
    CHECK(jv_is(jv_at(jv_at(jv_get(v, "a"), 1), 0), JSON_NUMBER));
    CHECK(jv_is(jv_at(jv_get(v, "a"), 2), JSON_OBJECT));
    CHECK(jv_int_at(jv_get(v, "o"), "x", 0) == 1);
}

TEST(a_list_has_a_text_or_has_it_not)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    CHECK(json_parse(&a, STR("[\"a\",1,\"bc\",[\"d\"],null]"), &v, NULL) == OK);
    CHECK(jv_lists(v, STR("a")) && jv_lists(v, STR("bc")));
    CHECK(!jv_lists(v, STR("b")) && !jv_lists(v, STR("1")) && !jv_lists(v, STR("d")));
    CHECK(!jv_lists(v, STR("")) && !jv_lists(v, STR_NONE) && !jv_lists(NULL, STR("a")));
    arena_done(&a);
}

TEST(members_keep_their_order_and_their_decoded_keys)
{
    struct jv  *v = parse("{\"z\":1,\"\\u0061\":2,\"m\\u0000\":3}");
    const char *keys[] = { "z", "a", "m" };
    size_t      n = 0;
    JV_EACH (m, v) {
        CHECK(n < 3 && m->key.ptr[0] == keys[n][0]);
        n++;
    }
    CHECK(n == 3);
    CHECK(jv_get(v, "a") && jv_get_str(v, STR("m\0")) && !jv_get(v, "m"));
}

TEST(raw_is_each_value_as_written)
{
    struct jv *v = parse(" { \"a\" : [ 1.50 , \"x\\u0041\" ] } ");
    CHECK_STR(v->raw, "{ \"a\" : [ 1.50 , \"x\\u0041\" ] }");
    CHECK_STR(jv_get(v, "a")->raw, "[ 1.50 , \"x\\u0041\" ]");
    CHECK_STR(jv_at(jv_get(v, "a"), 0)->raw, "1.50");
    CHECK_STR(jv_at(jv_get(v, "a"), 1)->raw, "\"x\\u0041\"");
}

TEST(strings_without_escapes_point_into_the_text)
{
    const char *text = "[\"plain\"]";
    struct jv  *v = parse(text);
    CHECK(jv_at(v, 0)->str.ptr == text + 2);
}

TEST(absent_and_wrong_types_read_as_absent)
{
    struct jv *v = parse("{\"a\":1,\"s\":\"x\"}");
    int64_t    i = 77;
    double     d = 7.5;
    CHECK(!jv_get(v, "b") && !jv_get(NULL, "a") && !jv_get(jv_get(v, "a"), "a"));
    CHECK(!jv_at(v, 0) && !jv_at(NULL, 0) && !jv_at(parse_more("[1]"), 1));
    CHECK(!jv_is(NULL, JSON_NULL) && !jv_true(NULL) && !jv_true(jv_get(v, "a")));
    CHECK(jv_str(NULL).ptr == NULL && jv_str_at(v, "a").ptr == NULL &&
          jv_str_at(NULL, "a").ptr == NULL);
    CHECK(!jv_int(NULL, &i) && !jv_int(jv_get(v, "s"), &i) && i == 77);
    CHECK(!jv_f64(NULL, &d) && !jv_f64(jv_get(v, "s"), &d) && d == 7.5);
    CHECK(jv_int_at(v, "s", 5) == 5 && jv_int_at(NULL, "s", 6) == 6);
    JV_EACH (m, (const struct jv *)NULL) CHECK(!m);
}

TEST(an_empty_string_is_not_absent)
{
    CHECK(jv_str(parse("\"\"")).ptr != NULL);
}

TEST(only_exact_integers_are_integers)
{
    int64_t i = 0;
    CHECK(jv_int(parse("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(!jv_int(parse("9223372036854775808"), &i) && !jv_int(parse("1e3"), &i) &&
          !jv_int(parse("1.0"), &i));
    CHECK(i == INT64_MIN);
}

TEST(a_number_too_large_for_a_double_is_not_one)
{
    double d = 1;
    CHECK(jv_f64(parse("2.5"), &d) && d == 2.5);
    CHECK(jv_f64(parse("0.1"), &d) && d == 0.1);
    CHECK(jv_f64(parse("5e-324"), &d) && d == 5e-324);
    CHECK(jv_f64(parse("1e-999"), &d) && d == 0);
    CHECK(!jv_f64(parse("1e999"), &d));
    CHECK(jv_f64(parse("12345678901234567890"), &d) && d == 12345678901234567890.0);
    CHECK(!jv_f64(parse("1e400"), &d) && d == 12345678901234567890.0);
}

TEST(a_number_longer_than_any_buffer_converts)
{
    char   text[400] = "0.";
    double d = 0;
    memset(text + 2, '3', 390);
    CHECK(jv_f64(parse(text), &d) && d == 1.0 / 3);
}

/* --- errors ---------------------------------------------------------------------- */

TEST(an_error_tells_the_place_and_the_reason)
{
    struct json_error e;
    struct jv        *v = NULL;
    arena_reset(&arena);
    CHECK(json_parse(&arena, STR("{\n \"a\": 1,\n \"b\": tru\n}"), &v, &e) == ERR_SYNTAX);
    CHECK(e.pos == 17 && e.line == 3 && e.column == 7);
    CHECK(strcmp(e.why, "expected a value") == 0);
    CHECK(!v);
    CHECK(json_parse(&arena, STR("["), &v, &e) == ERR_SYNTAX);
    CHECK(e.pos == 1 && e.line == 1 && e.column == 2 && e.why);
    CHECK(json_parse(&arena, STR_NONE, &v, &e) == ERR_SYNTAX);
    CHECK(e.pos == 0 && e.line == 1 && e.column == 1 && e.why);
}

TEST(the_line_of_a_value_is_known)
{
    const char *text = "{\n\n \"a\": 1,\n \"b\": [\n  2]}";
    struct jv  *v = parse(text);
    CHECK(json_line(str_c(text), v) == 1);
    CHECK(json_line(str_c(text), jv_get(v, "a")) == 3);
    CHECK(json_line(str_c(text), jv_at(jv_get(v, "b"), 0)) == 5);
}

TEST(a_value_that_was_not_read_from_a_text_has_no_line_in_it)
{
    const char *text = "{\n\"a\": 1}";
    struct jv  *v = parse("{\n\"a\": 1}\n");
    struct jv   bare = { .type = JSON_STRING, .str = STR("x") };
    struct jv   made = { .type = JSON_STRING, .str = STR("x"), .raw = STR("\"x\"") };

    CHECK(json_line(str_c(text), &bare) == 0);
    CHECK(json_line(str_c(text), &made) == 0);
    CHECK(json_line(str_c(text), jv_get(v, "a")) == 0);
    CHECK(json_line(STR_NONE, &made) == 0);
    CHECK(json_line(str_c(text), NULL) == 0);
}

TEST(without_memory_parsing_fails_cleanly_at_every_point)
{
    struct buf b = { 0 };
    buf_chr(&b, '{');
    for (int i = 0; i < 100; i++) buf_printf(&b, "\"k\\u%04x\":[%d,\"\\n\"],", i + 0x100, i);
    buf_lit(&b, "\"z\":1}");
    enum err e = ERR_NOMEM;
    for (long n = 0; e == ERR_NOMEM && n < 100; n++) {
        struct arena a;
        struct jv   *v = NULL;
        arena_init(&a, 0);
        mem_fail_at(n);
        e = json_parse(&a, buf_view(&b), &v, NULL);
        mem_fail_at(-1);
        CHECK((e == OK) == (v != NULL));
        arena_done(&a);
    }
    CHECK(e == OK);
    buf_done(&b);
}

TEST(a_tree_that_outgrows_its_arena_is_refused)
{
    struct arena small;
    struct jv   *v = NULL;
    arena_init(&small, 256);
    CHECK(json_parse(&small, STR("[1,2,3,4,5,6]"), &v, NULL) == ERR_NOMEM);
    CHECK(!v);
    arena_done(&small);
}

/* --- pointers ---------------------------------------------------------------------- */

TEST(pointers_resolve_as_rfc_6901_says)
{
    /* The document and the pointers of section 5. */
    struct jv *v =
        parse("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
              "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}");
    static const char *const numbered[] = { "/",     "/a~1b", "/c%d", "/e^f", "/g|h",
                                            "/i\\j", "/k\"l", "/ ",   "/m~0n" };
    for (int i = 0; i < 9; i++) {
        int64_t got = -1;
        CHECK(jv_int(jv_pointer(v, str_c(numbered[i])), &got) && got == i);
    }
    CHECK(jv_pointer(v, STR("")) == v);
    CHECK(jv_is(jv_pointer(v, STR("/foo")), JSON_ARRAY));
    CHECK_STR(jv_str(jv_pointer(v, STR("/foo/0"))), "bar");
    CHECK_STR(jv_str(jv_pointer(v, STR("/foo/1"))), "baz");
}

TEST(a_pointer_to_nothing_is_absent)
{
    struct jv               *v = parse("{\"a\":[1,{\"b\":2}],\"~\":3,\"x\":{\"\":{\"\":4}}}");
    static const char *const nothing[] = { "a",
                                           "/b",
                                           "/a/2",
                                           "/a/-",
                                           "/a/01",
                                           "/a/+1",
                                           "/a/",
                                           "/a/0/0",
                                           "/a/1/c",
                                           "/~",
                                           "/~2",
                                           "/a/1/b/",
                                           "/a/99999999999999999999" };
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        CHECK(!jv_pointer(v, str_c(nothing[i])));
    CHECK(jv_pointer(v, STR("/~0")) && jv_pointer(v, STR("/a/1/b")) && jv_pointer(v, STR("/x//")));
    CHECK(!jv_pointer(NULL, STR("")) && !jv_pointer(NULL, STR("/a")));
}

/* --- equality ------------------------------------------------------------------------- */

static bool equal(const char *a, const char *b)
{
    struct jv *x = parse(a), *y = parse_more(b);
    CHECK(jv_equal(x, y) == jv_equal(y, x));
    return jv_equal(x, y);
}

TEST(numbers_are_compared_by_value)
{
    CHECK(equal("1.0", "1") && equal("1e3", "1000") && equal("-0", "0") && equal("0e5", "0.000"));
    CHECK(equal("10e-1", "1") && equal("0.001", "1e-3") && equal("1.50", "15E-1") &&
          equal("-2.50e2", "-250"));
    CHECK(equal("100", "1e+2") && equal("123.456e3", "123456") && equal("1e400", "10e399"));
    CHECK(!equal("1", "-1") && !equal("1", "10") && !equal("1", "1.0000000000000000000001"));
    CHECK(!equal("9007199254740993", "9007199254740992") && !equal("1e400", "1e401") &&
          !equal("0.1", "1"));
}

TEST(exponents_beyond_counting_are_equal_only_as_written)
{
    CHECK(equal("1e99999999999999999999", "1e99999999999999999999"));
    CHECK(!equal("1e99999999999999999999", "1e99999999999999999998"));
}

TEST(objects_are_equal_in_any_order_and_arrays_are_not)
{
    CHECK(equal("{\"a\":1,\"b\":{\"c\":[1],\"d\":2}}", "{\"b\":{\"d\":2.0,\"c\":[1]},\"a\":1}"));
    CHECK(!equal("[1,2]", "[2,1]") && equal("[1,2]", " [ 1 , 2 ] "));
    CHECK(!equal("{\"a\":1}", "{\"a\":2}") && !equal("{\"a\":1}", "{\"b\":1}") &&
          !equal("{\"a\":1}", "{\"a\":1,\"b\":1}"));
    CHECK(!equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}") && !equal("[1]", "[1,1]") &&
          !equal("[]", "{}"));
}

TEST(strings_are_equal_by_what_they_mean)
{
    CHECK(equal("\"\\u0041\"", "\"A\"") && equal("{\"\\u0041\":1}", "{\"A\":1}"));
    CHECK(!equal("\"1\"", "1") && !equal("\"a\"", "\"A\"") && !equal("null", "false") &&
          !equal("true", "false"));
}

TEST(nothing_equals_only_nothing)
{
    struct jv *v = parse("null");
    CHECK(jv_equal(NULL, NULL) && !jv_equal(v, NULL) && !jv_equal(NULL, v) && jv_equal(v, v));
}

TEST(equality_does_not_depend_on_memory)
{
    struct jv *x = parse("{\"a\":1,\"b\":[2],\"c\":3}"),
              *y = parse_more("{\"c\":3,\"a\":1,\"b\":[2]}");
    struct jv *z = parse_more("{\"c\":3,\"a\":1,\"d\":[2]}");
    for (long n = 0; n < 2; n++) {
        mem_fail_at(n);
        bool same = jv_equal(x, y), other = jv_equal(x, z);
        mem_fail_at(-1);
        CHECK(same && !other);
    }
}

TEST(large_objects_in_another_order_compare_quickly)
{
    struct buf a = { 0 }, b = { 0 };
    struct jv *x = NULL, *y = NULL;
    enum { COUNT = 50000 };
    for (int i = 0; i < COUNT; i++) {
        buf_printf(&a, "%c\"k%d\":%d", i ? ',' : '{', i, i);
        buf_printf(&b, "%c\"k%d\":%d", i ? ',' : '{', COUNT - 1 - i, COUNT - 1 - i);
    }
    buf_chr(&a, '}');
    buf_chr(&b, '}');
    arena_reset(&arena);
    double from = test_worked();
    REQUIRE(json_parse(&arena, buf_view(&a), &x, NULL) == OK &&
            json_parse(&arena, buf_view(&b), &y, NULL) == OK);
    CHECK(jv_equal(x, y));
    CHECK(test_worked() - from < 5); /* about 0.05; quadratic would be minutes */
    arena_reset(&arena);
    buf_done(&a);
    buf_done(&b);
}

TEST(values_that_are_equal_have_the_same_hash)
{
    static const char *const same[][2] = { { "1", "1.0" },
                                           { "1e2", "100" },
                                           { "-0", "0" },
                                           { "0.1e1", "10e-1" },
                                           { "\"a\"", "\"\\u0061\"" },
                                           { "{\"a\":1,\"b\":[2]}", "{ \"b\": [2.0], \"a\": 1 }" },
                                           { "[]", "[ ]" },
                                           { "1e99999999999999999999", "1e99999999999999999999" } };
    static const char *const other[][2] = { { "1", "-1" },
                                            { "1", "10" },
                                            { "12", "21" },
                                            { "1", "\"1\"" },
                                            { "[1,2]", "[2,1]" },
                                            { "[[1],2]", "[1,[2]]" },
                                            { "{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}" },
                                            { "null", "false" },
                                            { "{}", "[]" },
                                            { "9007199254740992", "9007199254740993" } };
    struct arena             a;
    struct jv               *x, *y;
    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        REQUIRE(json_parse(&a, str_c(same[i][0]), &x, NULL) == OK &&
                json_parse(&a, str_c(same[i][1]), &y, NULL) == OK);
        CHECK(jv_equal(x, y) && jv_hash(x) == jv_hash(y));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        REQUIRE(json_parse(&a, str_c(other[i][0]), &x, NULL) == OK &&
                json_parse(&a, str_c(other[i][1]), &y, NULL) == OK);
        CHECK(!jv_equal(x, y) && jv_hash(x) != jv_hash(y));
    }
    arena_done(&a);
}
