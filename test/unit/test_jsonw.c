/* test_jsonw.c -- the JSON writer: always valid, always one line. */
#include "base/jsonw.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

static struct buf   out;
static struct jsonw w;

static void begin(void)
{
    buf_done(&out);
    buf_init(&out, 0);
    jsonw_init(&w, &out);
}

static struct str written(struct str s)
{
    begin();
    jw_str(&w, s);
    return buf_view(&out);
}

TEST(commas_are_put_by_the_writer)
{
    begin();
    jw_obj(&w);
    jw_kint(&w, "a", 1);
    jw_key(&w, "b");
    jw_arr(&w);
    jw_int(&w, -1);
    jw_arr(&w);
    jw_end_arr(&w);
    jw_obj(&w);
    jw_end_obj(&w);
    jw_null(&w);
    jw_end_arr(&w);
    jw_kstr(&w, "c", STR("x"));
    jw_kstrz(&w, "d", "y");
    jw_kstrz(&w, "e", NULL);
    jw_kbool(&w, "f", true);
    jw_kraw(&w, "g", STR("[1]"));
    jw_key_str(&w, STR("h\""));
    jw_bool(&w, false);
    jw_end_obj(&w);
    CHECK_STR(buf_view(&out),
              "{\"a\":1,\"b\":[-1,[],{},null],\"c\":\"x\",\"d\":\"y\",\"e\":null,\"f\":true,"
              "\"g\":[1],\"h\\\"\":false}");
}

TEST(control_characters_quotes_and_backslashes_are_escaped)
{
    CHECK_STR(written(STR("\"\\\b\f\n\r\t\x01\x1f\x7f/")),
              "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/\"");
    CHECK_STR(written(STR("a\0b")), "\"a\\u0000b\"");
}

TEST(line_separators_of_javascript_are_escaped)
{
    CHECK_STR(written(STR("a\xe2\x80\xa8"
                          "b\xe2\x80\xa9"
                          "c\xe2\x80\xa7")),
              "\"a\\u2028b\\u2029c\xe2\x80\xa7\"");
}

TEST(valid_text_is_written_as_it_is)
{
    CHECK_STR(written(STR("plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80")),
              "\"plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    CHECK_STR(written(STR("")), "\"\"");
    CHECK_STR(written(STR_NONE), "\"\"");
}

TEST(bytes_that_are_no_text_become_replacement_characters)
{
    CHECK_STR(written(STR("a\xff"
                          "b")),
              "\"a\xef\xbf\xbd"
              "b\"");
    CHECK_STR(written(STR("\xc3")), "\"\xef\xbf\xbd\"");
    CHECK_STR(written(STR("\xc0\xaf")), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    CHECK_STR(written(STR("\xef\xbf\xbd")), "\"\xef\xbf\xbd\"");
}

TEST(whatever_the_bytes_the_output_is_valid_and_on_one_line)
{
    char     bytes[40];
    unsigned seed = 7;
    for (int round = 0; round < 5000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1103515245u + 12345u;
            bytes[i] = (char)(seed >> 16);
        }
        struct str  text = written(str_n(bytes, (size_t)round % sizeof bytes));
        struct json r;
        json_init(&r, text, NULL);
        json_skip(&r);
        CHECK(json_end(&r) == OK);
        CHECK(!memchr(text.ptr, '\n', text.len) && !memchr(text.ptr, '\r', text.len));
    }
}

TEST(a_lone_surrogate_survives_the_round_trip)
{
    struct arena a;
    struct json  r;
    const char  *texts[] = { "\"\\ud800\"", "\"x\\udfff y\"", "\"\\udc00\\ud800\"" };
    arena_init(&a, 0);
    for (size_t i = 0; i < 3; i++) {
        json_init(&r, str_c(texts[i]), &a);
        struct str s = json_string(&r);
        CHECK(json_end(&r) == OK);
        CHECK_STR(written(s), texts[i]);
    }
    arena_done(&a);
}

TEST(a_surrogate_pair_in_two_slices_is_one_character_again)
{
    begin();
    jw_escape(&out, STR("\xed\xa0\xbd"));
    jw_escape(&out, STR("\xed\xb8\x80"));
    CHECK_STR(buf_view(&out), "\\ud83d\\ude00");
}

TEST(slices_are_escaped_without_quotes)
{
    begin();
    jw_escape(&out, STR("say \"hi\""));
    jw_escape(&out, STR("\n"));
    jw_escape(&out, STR_NONE);
    CHECK_STR(buf_view(&out), "say \\\"hi\\\"\\n");
}

TEST(absent_is_null_and_empty_is_empty)
{
    begin();
    jw_arr(&w);
    jw_str_or_null(&w, STR_NONE);
    jw_str_or_null(&w, STR(""));
    jw_strz(&w, NULL);
    jw_strz(&w, "");
    jw_raw(&w, STR(""));
    jw_raw(&w, STR_NONE);
    jw_raw(&w, STR("{\"a\":1}"));
    jw_jv(&w, NULL);
    jw_canonical(&w, NULL);
    jw_end_arr(&w);
    CHECK_STR(buf_view(&out), "[null,\"\",null,\"\",null,null,{\"a\":1},null,null]");
}

static struct str number(double v)
{
    begin();
    jw_f64(&w, v);
    return buf_view(&out);
}

TEST(a_double_is_written_in_its_shortest_form_that_reads_back)
{
    CHECK_STR(number(0), "0");
    CHECK_STR(number(0.1), "0.1");
    CHECK_STR(number(-2.5), "-2.5");
    CHECK_STR(number(100000), "100000");
    CHECK_STR(number(1.0 / 3), "0.3333333333333333");
    CHECK_STR(number(0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(number(5e-324), "5e-324");
    CHECK_STR(number(1e300), "1e+300");
    CHECK_STR(number(NAN), "null");
    CHECK_STR(number(INFINITY), "null");
    CHECK_STR(number(-INFINITY), "null");
}

TEST(every_double_reads_back)
{
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double v;
        char   text[40] = "";
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        struct str s = number(v);
        memcpy(text, s.ptr, s.len);
        CHECK(strtod(text, NULL) == v);
    }
}

TEST(the_limits_of_integers_are_written_exactly)
{
    begin();
    jw_arr(&w);
    jw_int(&w, INT64_MIN);
    jw_int(&w, INT64_MAX);
    jw_int(&w, 0);
    jw_end_arr(&w);
    CHECK_STR(buf_view(&out), "[-9223372036854775808,9223372036854775807,0]");
}

/* --- trees ---------------------------------------------------------------------- */

static struct str rewritten(const char *text, void (*write)(struct jsonw *, const struct jv *))
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, str_c(text), &v, NULL) == OK);
    begin();
    write(&w, v);
    arena_done(&a);
    return buf_view(&out);
}

TEST(a_tree_is_written_in_its_order_with_numbers_as_written)
{
    CHECK_STR(
        rewritten(
            " { \"z\" : 1.50 , \"a\" : [ 1E+2 , -0 , true , false , null , \"\\u0041\" , { } ] } ",
            jw_jv),
        "{\"z\":1.50,\"a\":[1E+2,-0,true,false,null,\"A\",{}]}");
    CHECK_STR(rewritten("123456789012345678901234567890", jw_jv), "123456789012345678901234567890");
}

TEST(canonical_form_sorts_by_bytes_and_spells_one_way)
{
    CHECK_STR(rewritten("{ \"b\":1, \"a\":{\"\\u007a\":1,\"y\":[{\"d\":1,\"c\":2}]}, "
                        "\"B\":\"\\u000a\", \"\":0, \"aa\":3, \"\xc3\xa9\":4 }",
                        jw_canonical),
              "{\"\":0,\"B\":\"\\n\",\"a\":{\"y\":[{\"c\":2,\"d\":1}],\"z\":1},\"aa\":3,\"b\":1,"
              "\"\xc3\xa9\":4}");
}

TEST(a_value_taken_as_it_is_stays_on_one_line)
{
    begin();
    jw_arr(&w);
    jw_raw(&w, STR("{\r\n\t\"a b\": [\n\n1,\r2]\r}\n"));
    jw_raw(&w, STR("\n7\r"));
    jw_raw(&w, STR("\"\\n\""));
    jw_end_arr(&w);
    CHECK_STR(buf_view(&out), "[{  \t\"a b\": [  1, 2] } , 7 ,\"\\n\"]");
}

TEST(two_spellings_of_one_object_have_one_canonical_form)
{
    char       first[128];
    struct str s = rewritten("{\"x\":\"\\u00e9\\/\",\"y\":[1,2]}", jw_canonical);
    snprintf(first, sizeof first, STR_FMT, STR_ARG(s));
    CHECK_STR(rewritten("{ \"y\" : [ 1, 2 ], \"\\u0078\" : \"\xc3\xa9/\" }", jw_canonical), first);
}

TEST(a_writer_without_room_leaves_the_error_in_the_buf)
{
    buf_done(&out);
    buf_init(&out, 8);
    jsonw_init(&w, &out);
    jw_obj(&w);
    jw_kstr(&w, "key", STR("a value that is too long"));
    jw_end_obj(&w);
    CHECK(out.err == ERR_FULL && out.len <= 8);
    buf_init(&out, (mem_free(out.ptr), 0));
}

TEST(a_text_that_could_not_be_built_is_an_error_of_what_it_is_written_into)
{
    struct buf text;
    begin();
    buf_room(&out, 100);
    buf_init(&text, 4);
    buf_lit(&text, "too long");
    jw_kbuf(&w, "text", &text);
    CHECK(out.err == ERR_FULL);
    buf_done(&text);
}

TEST(canonical_form_without_memory_is_an_error_of_the_buf)
{
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, STR("[{\"a\":1}]"), &v, NULL) == OK);
    begin();
    buf_room(&out, 100);
    mem_fail_at(0);
    jw_canonical(&w, v);
    mem_fail_at(-1);
    CHECK(out.err == ERR_NOMEM);
    arena_done(&a);
}
