/* test_json.c -- the pull reader: strict, sticky, and without allocation where it counts. */
#include "base/json.h"

#include <stdlib.h>

#include "base/clock.h"
#include "test.h"

static struct arena scratch;
static struct json  r;

static void begin(const char *text)
{
    arena_reset(&scratch);
    json_init(&r, str_c(text), &scratch);
}

static enum err skip_all(struct str text)
{
    json_init(&r, text, NULL);
    json_skip(&r);
    return json_end(&r);
}

/* Text in, decoded bytes out. */
static bool reads_as(const char *text, struct str want)
{
    begin(text);
    struct str got = json_string(&r);
    return json_end(&r) == OK && str_eq(got, want);
}

TEST(the_reader_walks_objects_and_arrays_in_order)
{
    struct str key;
    begin(" { \"a\" : [ 1 , -2 , true , null ] , \"b\" : \"x\" } ");
    CHECK(json_peek(&r) == JSON_OBJECT);
    CHECK(json_object(&r));
    REQUIRE(json_key(&r, &key));
    CHECK_STR(key, "a");
    CHECK(json_array(&r));
    CHECK(json_item(&r) && json_int(&r) == 1);
    CHECK(json_item(&r) && json_int(&r) == -2);
    CHECK(json_item(&r) && json_peek(&r) == JSON_BOOL && json_bool(&r));
    CHECK(json_item(&r));
    json_null(&r);
    CHECK(!json_item(&r));
    REQUIRE(json_key(&r, &key));
    CHECK_STR(key, "b");
    CHECK_STR(json_string(&r), "x");
    CHECK(!json_key(&r, &key));
    CHECK(json_end(&r) == OK);
}

TEST(peek_names_each_type_and_consumes_nothing)
{
    static const struct {
        const char    *text;
        enum json_type type;
    } each[] = {
        { "null", JSON_NULL }, { " true", JSON_BOOL }, { "false", JSON_BOOL },
        { "-1", JSON_NUMBER }, { "0", JSON_NUMBER },   { "\"\"", JSON_STRING },
        { "[]", JSON_ARRAY },  { "{}", JSON_OBJECT },
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        begin(each[i].text);
        CHECK(json_peek(&r) == each[i].type && json_peek(&r) == each[i].type);
        json_skip(&r);
        CHECK(json_end(&r) == OK);
    }
}

TEST(peek_at_something_that_is_no_value_is_an_error)
{
    begin("]");
    CHECK(json_peek(&r) == JSON_NULL);
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(the_first_error_sticks_and_everything_after_it_is_empty)
{
    struct str key = STR("untouched");
    begin("{\"a\":1,\"b\":\"x\"}");
    CHECK(json_object(&r));
    CHECK(json_key(&r, &key));
    CHECK(json_string(&r).len == 0);
    CHECK(r.err == ERR_TYPE);
    key = STR("untouched");
    CHECK(!json_key(&r, &key) && str_is(key, "untouched"));
    CHECK(!json_object(&r) && !json_array(&r) && !json_item(&r) && !json_bool(&r));
    CHECK(json_int(&r) == 0 && json_string(&r).ptr == NULL && json_raw(&r).ptr == NULL);
    CHECK(json_peek(&r) == JSON_NULL);
    json_null(&r);
    json_skip(&r);
    CHECK(json_end(&r) == ERR_TYPE);
    CHECK(strcmp(r.why, "expected a string") == 0);
}

TEST(another_type_than_asked_for_is_a_type_error)
{
    begin("1");
    CHECK(!json_object(&r) && json_end(&r) == ERR_TYPE);
    begin("1");
    CHECK(!json_array(&r) && json_end(&r) == ERR_TYPE);
    begin("\"true\"");
    CHECK(!json_bool(&r) && json_end(&r) == ERR_TYPE);
    begin("0");
    json_null(&r);
    CHECK(json_end(&r) == ERR_TYPE);
    begin("\"1\"");
    CHECK(json_int(&r) == 0 && json_end(&r) == ERR_TYPE);
    begin("null");
    CHECK(json_string(&r).ptr == NULL && json_end(&r) == ERR_TYPE);
}

TEST(keys_are_asked_only_inside_objects_and_items_only_inside_arrays)
{
    struct str key;
    begin("[1]");
    CHECK(json_array(&r) && !json_key(&r, &key) && json_end(&r) == ERR_TYPE);
    begin("{\"a\":1}");
    CHECK(json_object(&r) && !json_item(&r) && json_end(&r) == ERR_TYPE);
    begin("1");
    CHECK(!json_item(&r) && json_end(&r) == ERR_TYPE);
    begin("1");
    CHECK(!json_key(&r, &key) && json_end(&r) == ERR_TYPE);
}

TEST(integers_are_exact_to_64_bits)
{
    begin("9223372036854775807");
    CHECK(json_int(&r) == INT64_MAX && json_end(&r) == OK);
    begin("-9223372036854775808");
    CHECK(json_int(&r) == INT64_MIN && json_end(&r) == OK);
    begin("9007199254740993");
    CHECK(json_int(&r) == 9007199254740993 && json_end(&r) == OK);
    begin("-0");
    CHECK(json_int(&r) == 0 && json_end(&r) == OK);
}

TEST(an_integer_beyond_64_bits_is_a_range_error)
{
    static const char *const big[] = { "9223372036854775808", "-9223372036854775809",
                                       "99999999999999999999999" };
    for (size_t i = 0; i < sizeof big / sizeof *big; i++) {
        begin(big[i]);
        CHECK(json_int(&r) == 0 && json_end(&r) == ERR_RANGE);
    }
}

TEST(a_fraction_is_not_an_integer)
{
    static const char *const odd[] = { "1.0", "1.5", "1e3", "1E0", "99999999999999999999.5" };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        begin(odd[i]);
        CHECK(json_int(&r) == 0 && json_end(&r) == ERR_TYPE);
    }
}

TEST(a_string_without_escapes_is_a_view_of_the_text)
{
    const char *text = "\"plain \xc3\xa9 text\"";
    json_init(&r, str_c(text), NULL);
    struct str s = json_string(&r);
    CHECK(s.ptr == text + 1);
    CHECK_STR(s, "plain \xc3\xa9 text");
    CHECK(json_end(&r) == OK);
}

TEST(every_escape_is_decoded)
{
    CHECK(reads_as("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", STR("\"\\/\b\f\n\r\t")));
    CHECK(reads_as("\"a\\u0041\\u00e9\\u20AC\\ud83d\\ude00z\"",
                   STR("aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z")));
}

TEST(an_escaped_nul_is_a_byte_inside_the_string)
{
    CHECK(reads_as("\"a\\u0000b\"", STR("a\0b")));
}

TEST(a_lone_surrogate_escape_becomes_its_three_wtf8_bytes)
{
    CHECK(reads_as("\"\\ud800\"", STR("\xed\xa0\x80")));
    CHECK(reads_as("\"\\udfff!\"", STR("\xed\xbf\xbf!")));
    CHECK(reads_as("\"\\ud800\\ud83d\\ude00\"", STR("\xed\xa0\x80\xf0\x9f\x98\x80")));
    CHECK(reads_as("\"\\udc00\\ud800\"", STR("\xed\xb0\x80\xed\xa0\x80")));
    CHECK(reads_as("\"\\ud800\\u0041\"", STR("\xed\xa0\x80"
                                             "A")));
}

TEST(an_escape_without_scratch_is_an_error_not_a_crash)
{
    json_init(&r, STR("\"\\n\""), NULL);
    CHECK(json_string(&r).ptr == NULL);
    CHECK(json_end(&r) == ERR_NOMEM);
}

TEST(an_escape_that_does_not_fit_the_scratch_is_an_error)
{
    struct arena small;
    arena_init(&small, 16);
    json_init(&r, STR("\"\\n2345678901234567890\""), &small);
    CHECK(json_string(&r).ptr == NULL);
    CHECK(json_end(&r) == ERR_NOMEM);
    arena_done(&small);
}

TEST(special_bytes_are_found_at_every_place_of_a_word)
{
    char text[64];
    for (size_t at = 0; at < 24; at++) {
        memset(text, 'x', sizeof text);
        text[0] = '"';
        text[1 + at] = '"';
        CHECK(skip_all(str_n(text, at + 2)) == OK);
        CHECK(skip_all(str_n(text, at + 1)) == ERR_SYNTAX);
        text[40] = '"';
        text[1 + at] = '\x1f';
        CHECK(skip_all(str_n(text, 41)) == ERR_SYNTAX);
        CHECK(r.at == text + 1 + at);
        text[1 + at] = '\xff';
        CHECK(skip_all(str_n(text, 41)) == ERR_SYNTAX);
        CHECK(r.at == text + 1 + at);
        text[1 + at] = '\\';
        text[2 + at] = 'n';
        CHECK(skip_all(str_n(text, 41)) == OK);
    }
}

TEST(raw_gives_any_value_as_it_was_written)
{
    static const char *const values[] = { "1.50E+01",        "-0",   "\"a\\u0041\"", "[ 1 , {} ]",
                                          "{ \"a\" : [ ] }", "null", "true" };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[64];
        snprintf(text, sizeof text, " [ %s ] ", values[i]);
        begin(text);
        CHECK(json_array(&r) && json_item(&r));
        CHECK_STR(json_raw(&r), values[i]);
        CHECK(!json_item(&r) && json_end(&r) == OK);
    }
}

TEST(raw_of_a_broken_value_is_nothing)
{
    begin("[1,}");
    CHECK(json_raw(&r).ptr == NULL);
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(a_skipped_value_is_still_checked_fully)
{
    CHECK(skip_all(STR("{\"a\":[1,2,{\"b\":tru}]}")) == ERR_SYNTAX);
    CHECK(skip_all(STR("{\"a\":{\"b\":1,\"b\":2}}")) == ERR_SYNTAX);
    CHECK(skip_all(STR("[\"\\x\"]")) == ERR_SYNTAX);
}

TEST(a_second_value_after_the_first_is_refused)
{
    begin("1 2");
    CHECK(json_int(&r) == 1 && json_int(&r) == 0);
    CHECK(json_end(&r) == ERR_SYNTAX);
    begin("[] []");
    CHECK(json_array(&r) && !json_item(&r) && !json_array(&r));
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(a_value_that_was_not_read_to_its_end_is_an_error)
{
    begin("[1]");
    CHECK(json_array(&r));
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(an_empty_text_is_an_error_even_if_nobody_read)
{
    json_init(&r, STR_NONE, NULL);
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(a_member_that_was_forgotten_is_an_error)
{
    struct str key;
    begin("{\"a\":1,\"b\":2}");
    CHECK(json_object(&r) && json_key(&r, &key) && !json_key(&r, &key));
    CHECK(json_end(&r) == ERR_SYNTAX);
}

TEST(the_error_stands_where_it_was_found)
{
    begin("{\"a\":1,\"b\":2,\"a\":3}");
    json_skip(&r);
    CHECK(json_end(&r) == ERR_SYNTAX);
    CHECK(strcmp(r.why, "duplicate key") == 0);
    CHECK(r.at - r.start == 13);
    begin("[1 2]");
    json_skip(&r);
    CHECK(json_end(&r) == ERR_SYNTAX && r.at - r.start == 3);
}

/* --- duplicate keys ------------------------------------------------------------ */

/* {"k0":0,"k1":1,...,<last>} */
static struct str many_keys(struct buf *b, int count, const char *last)
{
    buf_clear(b);
    buf_chr(b, '{');
    for (int i = 0; i < count; i++) buf_printf(b, "\"k%d\":{\"k%d\":%d},", i, i, i);
    buf_lit(b, last);
    buf_chr(b, '}');
    return buf_view(b);
}

TEST(a_duplicate_is_found_however_many_keys_stand_between)
{
    struct buf b = { 0 };
    for (int n = 28; n < 80; n++) {
        char last[32];
        CHECK(skip_all(many_keys(&b, n, "\"x\":1")) == OK);
        for (int i = 0; i < n; i += 9) {
            snprintf(last, sizeof last, "\"k%d\":1", i);
            CHECK(skip_all(many_keys(&b, n, last)) == ERR_SYNTAX);
            snprintf(last, sizeof last, "\"\\u006b%d\":1", i);
            CHECK(skip_all(many_keys(&b, n, last)) == ERR_SYNTAX);
        }
    }
    buf_done(&b);
}

TEST(the_same_key_may_stand_at_every_depth)
{
    struct buf b = { 0 };
    for (int i = 0; i < JSON_DEPTH_MAX; i++) buf_lit(&b, "{\"z\":0,\"a\":");
    buf_lit(&b, "1");
    for (int i = 0; i < JSON_DEPTH_MAX; i++) buf_lit(&b, "}");
    CHECK(skip_all(buf_view(&b)) == OK);
    buf_truncate(&b, b.len - 1);
    buf_lit(&b, ",\"z\":1}");
    CHECK(skip_all(buf_view(&b)) == ERR_SYNTAX);
    buf_done(&b);
}

TEST(keys_of_an_ended_object_are_forgotten)
{
    struct buf b = { 0 };
    buf_chr(&b, '[');
    for (int i = 0; i < 40; i++) {
        buf_lit(&b, "{");
        for (int k = 0; k < 60; k++) buf_printf(&b, "\"key%d\":{\"inner\":1},", k);
        buf_lit(&b, "\"end\":0},");
    }
    buf_lit(&b, "0]");
    CHECK(skip_all(buf_view(&b)) == OK);
    buf_done(&b);
}

TEST(long_keys_with_escapes_are_compared_by_their_meaning)
{
    struct buf b = { 0 };
    for (int half = 0; half < 2; half++) {
        buf_lit(&b, half ? ",\"" : "{\"");
        for (int i = 0; i < 300; i++) buf_lit(&b, half ? "\\u00e9" : "\xc3\xa9");
        buf_lit(&b, "\":1");
    }
    buf_lit(&b, "}");
    CHECK(skip_all(buf_view(&b)) == ERR_SYNTAX);
    CHECK(strcmp(r.why, "duplicate key") == 0);
    buf_done(&b);
}

TEST(an_object_of_a_hundred_thousand_keys_takes_no_quadratic_time)
{
    struct buf b = { 0 };
    buf_chr(&b, '{');
    for (int i = 0; i < 100000; i++) buf_printf(&b, "\"key%d\":%d,", i, i);
    buf_lit(&b, "\"z\":1}");
    double from = test_worked();
    CHECK(skip_all(buf_view(&b)) == OK);
    CHECK(test_worked() - from < 5); /* about 0.02; quadratic would be minutes */
    buf_done(&b);
}

TEST(the_duplicate_check_out_of_memory_is_an_error_and_leaks_nothing)
{
    struct buf b = { 0 };
    many_keys(&b, 200, "\"\\u006cong key with escapes and so on\":1");
    for (long n = 0; n < 8; n++) {
        mem_fail_at(n);
        enum err e = skip_all(buf_view(&b));
        mem_fail_at(-1);
        CHECK(e == (n < 7 ? ERR_NOMEM : OK));
        if (e == OK) break;
    }
    buf_done(&b);
}

/* --- speed ------------------------------------------------------------------------ */

static struct str text_of_delta(struct str event)
{
    struct str key, inner, got = STR_NONE;
    json_init(&r, event, NULL);
    json_object(&r);
    while (json_key(&r, &key)) {
        if (!str_is(key, "delta")) {
            json_skip(&r);
            continue;
        }
        json_object(&r);
        while (json_key(&r, &inner))
            if (str_is(inner, "text")) got = json_string(&r);
            else json_skip(&r);
    }
    return json_end(&r) == OK ? got : STR_NONE;
}

TEST(a_stream_delta_is_read_without_allocation_and_fast)
{
    struct str event = STR("{\"type\":\"content_block_delta\",\"index\":0,"
                           "\"delta\":{\"type\":\"text_delta\",\"text\":\" hello\"}}");
    long       before = mem_count();
    uint64_t   best = UINT64_MAX;
    int        right = 0;
    for (int round = 0; round < 50; round++) {
        uint64_t from = clock_mono_ns();
        for (int i = 0; i < 1000; i++) right += str_is(text_of_delta(event), " hello");
        uint64_t took = clock_mono_ns() - from;
        if (took < best) best = took;
    }
    CHECK(right == 50 * 1000);
    CHECK(mem_count() == before);
    /* About 250 ns here; the bound has room for sanitizers and busy machines. */
    CHECK(best / 1000 < 5000);
    if (getenv("PARLEY_BENCH"))
        printf("note: one delta in %llu ns\n", (unsigned long long)best / 1000);
}
