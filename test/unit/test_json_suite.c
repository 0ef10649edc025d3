/* test_json_suite.c -- what is JSON and what is not, as one table of texts.
 *
 * The categories are those of the well-known public suites: Y must be accepted,
 * N must be refused, and the rest RFC 8259 leaves to the implementation: TAKEN
 * and REFUSED are our rulings. Every text goes through the pull reader and
 * through the tree; the writer's spelling of each accepted one must read back
 * as the same value. What is too long for a table is made in code below it.
 */
#include "base/json.h"
#include "base/jsonw.h"
#include "test.h"

enum verdict { MUST_TAKE, MUST_REFUSE, WE_TAKE, WE_REFUSE };
struct text_case {
    enum verdict verdict;
    int          line;
    const char  *bytes;
    size_t       len;
};

#define CASE(verdict, bytes)                        \
    {                                               \
        verdict, __LINE__, bytes, sizeof(bytes) - 1 \
    }
#define Y(bytes)       CASE(MUST_TAKE, bytes)
#define N(bytes)       CASE(MUST_REFUSE, bytes)
#define TAKEN(bytes)   CASE(WE_TAKE, bytes)
#define REFUSED(bytes) CASE(WE_REFUSE, bytes)

static const struct text_case cases[] = {
    /* Arrays. */
    Y("[]"),
    Y("[ ]"),
    Y("[[]]"),
    Y("[[],[]]"),
    Y("[[[[[[[[]]]]]]]]"),
    Y("[ [ ] , [ ] ]"),
    Y("[null]"),
    Y("[true]"),
    Y("[false]"),
    Y("[1]"),
    Y("[\"\"]"),
    Y("[{}]"),
    Y("[1,2,3]"),
    Y("[1,null,null,null,2]"),
    Y("[null,1,\"1\",{},[]]"),
    Y("[1\n]"),
    Y(" [1]"),
    Y("[2] "),
    Y("[\t1\r\n,\t2 ]"),
    /* Objects. */
    Y("{}"),
    Y("{ }"),
    Y("{\"a\":1}"),
    Y("{\"a\":1,\"b\":2}"),
    Y("{\"\":0}"),
    Y("{\"a\":{}}"),
    Y("{\"a\":[]}"),
    Y("{\"a\":null,\"b\":true,\"c\":false}"),
    Y("{\"a\":{\"a\":{\"a\":{}}}}"),
    Y("{\"a\" :\t1\n}"),
    Y("{\"a\\u0000b\":1}"),
    Y("{\"x\":[{\"id\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}],\"id\":\"b\"}"),
    Y("{\"\\u041f\\u043e\\u043b\\u0442\":\"\\u0437\"}"),
    Y("{\n\"a\": \"b\"\n}"),
    Y("{\"min\":-1.0e+28,\"max\":1.0e+28}"),
    Y("{\"a\":1,\"A\":2}"),
    Y("{\"a\":1,\"a \":2}"),
    Y("[{\"a\":1},{\"a\":1}]"),
    /* Numbers. */
    Y("0"),
    Y("-0"),
    Y("1"),
    Y("-1"),
    Y("10"),
    Y("42"),
    Y("-123"),
    Y("0.0"),
    Y("-0.0"),
    Y("0.1"),
    Y("-0.1"),
    Y("1.5"),
    Y("123.456"),
    Y("1e5"),
    Y("1E5"),
    Y("1e+5"),
    Y("1E+5"),
    Y("1e-5"),
    Y("1E-5"),
    Y("0e0"),
    Y("0e+1"),
    Y("0E-1"),
    Y("1e00"),
    Y("1e0007"),
    Y("20e1"),
    Y("123.456e78"),
    Y("1.5E-7"),
    Y("123e65"),
    Y("123.456789"),
    Y("[4 ]"),
    Y("[-0]"),
    Y("[ 0 ]"),
    Y("-0.000000000000000000000000000000000000000000000000000000000000000001"),
    Y("9223372036854775807"),
    Y("-9223372036854775808"),
    Y("9007199254740993"),
    Y("1.7976931348623157e308"),
    Y("5e-324"),
    /* Strings: plain, escapes, Unicode. */
    Y("\"\""),
    Y("\" \""),
    Y("\"a\""),
    Y("\"asd \""),
    Y("\"\\\"\""),
    Y("\"\\\\\""),
    Y("\"\\/\""),
    Y("\"/\""),
    Y("\"\\b\\f\\n\\r\\t\""),
    Y("\"\\u0012\""),
    Y("\"\\u0000\""),
    Y("\"\\u0022\\u005c\\u002f\""),
    Y("\"\\uFFFF\""),
    Y("\"\\uaBcD\""),
    Y("\"\\u0060\\u012a\\u12AB\""),
    Y("\"\\\\u0061\""),
    Y("\"\\\\n\""),
    Y("\"\\\\a\""),
    Y("\"a/*b*/c/*d//e\""),
    Y("\"\x7f\""),
    Y("\"a\x7f"
      "a\""),
    Y("\"new\\u000Aline\""),
    Y("\"\\u0821\""),
    Y("\"\\ud801\\udc37\""),
    Y("\"\\uD834\\uDd1e\""),
    Y("\"\\ud83d\\ude39\\ud83d\\udc8d\""),
    Y("\"\\uDBFF\\uDFFE\""),
    Y("\"\\uDBFF\\uDFFF\""),
    Y("\"\\uD800\\uDC00\""),
    Y("\"\\uFDD0\""),
    Y("\"\\uFFFE\""),
    Y("\"\\u200B\""),
    Y("\"\\u2064\""),
    Y("\"\\u00A0\""),
    Y("\"\\u0123\""),
    Y("\"\\u002c\""),
    Y("\"\xc2\x80\""),
    Y("\"\xc3\xa9\""),
    Y("\"\xdf\xbf\""),
    Y("\"\xe0\xa0\x80\""),
    Y("\"\xe2\x82\xac\""),
    Y("\"\xe2\x80\xa8\""),
    Y("\"\xe2\x80\xa9\""),
    Y("\"\xe3\x81\x82\""),
    Y("\"\xed\x9f\xbf\""),
    Y("\"\xee\x80\x80\""),
    Y("\"\xef\xbf\xbd\""),
    Y("\"\xef\xbf\xbf\""),
    Y("\"\xef\xbb\xbf\""),
    Y("\"\xf0\x90\x80\x80\""),
    Y("\"\xf0\x9d\x84\x9e\""),
    Y("\"\xf3\xa0\x81\x81\""),
    Y("\"\xf4\x8f\xbf\xbf\""),
    Y("\"\xcf\x80\xe2\x82\xac\xf0\x9f\x98\x80\""),
    Y("\"0123456789012345678901234567890123456789\""),
    Y("\"1234567\\n\""),
    Y("\"12345678\""),
    Y("\"1234567\xc3\xa9"
      "8\""),
    /* A lone scalar, and white space around it. */
    Y("null"),
    Y("true"),
    Y("false"),
    Y(" null"),
    Y("true\n"),
    Y("\t\r\n 1 \t\r\n"),
    Y("\"only a string\""),
    Y("[\"a\"]\n"),

    /* Not a value at all. */
    N(""),
    N(" "),
    N("\n\n"),
    N("\t"),
    N("a"),
    N("nul"),
    N("tru"),
    N("fals"),
    N("nulll"),
    N("truee"),
    N("True"),
    N("TRUE"),
    N("Null"),
    N("NULL"),
    N("FALSE"),
    N("undefined"),
    N("nil"),
    N("*"),
    N("&"),
    N("."),
    N(","),
    N(":"),
    N(";"),
    N("'"),
    N("\\"),
    N("<null>"),
    N("<.>"),
    N("(1)"),
    N("\0"),
    N("\x01"),
    N("\x7f"),
    N("n"),
    N("t"),
    N("f"),
    N("NaN"),
    N("Infinity"),
    N("None"),
    N("nan"),
    N("$1"),
    N("`1`"),
    N("\\u0031"),
    N("\x0c"
      "1"),
    N("\x0b"
      "1"),
    /* Something after the value. */
    N("1 2"),
    N("1,"),
    N("[]]"),
    N("[] []"),
    N("{}{}"),
    N("{}}"),
    N("[1]x"),
    N("[][]"),
    N("\"\"x"),
    N("\"a\"\"b\""),
    N("{\"a\":1}#"),
    N("{\"a\":1}//"),
    N("{\"a\":1}/**/"),
    N("true false"),
    N("null\0"),
    N("[1]\0"),
    N("1\x0c"),
    N("[],"),
    N("2@"),
    N("{},{}"),
    N("{\"a\":\"b\"}#{}"),
    N("1]"),
    N("1}"),
    N("null null"),
    N("0x"),
    N("[\"a\"],"),
    /* Arrays. */
    N("["),
    N("]"),
    N("[["),
    N("[[]"),
    N("[1"),
    N("[1,"),
    N("[,"),
    N("[,]"),
    N("[,1]"),
    N("[1,]"),
    N("[1,,2]"),
    N("[1,,]"),
    N("[\"\",]"),
    N("[\"\",,]"),
    N("[1 2]"),
    N("[1 true]"),
    N("[3[4]]"),
    N("[1:2]"),
    N("[\"a\":1]"),
    N("[}"),
    N("[1}"),
    N("[1;2]"),
    N("[\n1\n,1"),
    N("[ , \"\"]"),
    N("[   ,]"),
    N("[-]"),
    N("[*]"),
    N("[\"\""),
    N("[a"),
    N("[x"),
    N("[\x0b]"),
    N("[\"a\"\n\x0c]"),
    N("[1,\n1\n,1"),
    N("[{}"),
    N("[\"a\",\n4\n,1,"),
    N("[nul]"),
    N("[tru]"),
    N("[fals]"),
    N("[\"x\"]]"),
    N("[a\xc3\xa5]"),
    N("[\xe2\x81\xa0]"),
    N("[\"\": 1]"),
    N("[\\u000A\"\"]"),
    N("['a']"),
    N("[<x>]"),
    N("[True]"),
    N("[1\0]"),
    /* Objects. */
    N("{"),
    N("}"),
    N("{{"),
    N("{]"),
    N("{,"),
    N("{,}"),
    N("{\"a\""),
    N("{\"a\":"),
    N("{\"a\":1"),
    N("{\"a\":1,"),
    N("{\"a\":1,}"),
    N("{\"a\":1,,\"b\":2}"),
    N("{\"a\":1,,}"),
    N("{\"a\":1,,,}"),
    N("{\"a\"}"),
    N("{\"a\",1}"),
    N("{\"a\" 1}"),
    N("{\"a\"::1}"),
    N("{\"a\":1 \"b\":2}"),
    N("{\"a\":}"),
    N("{:1}"),
    N("{:\"b\"}"),
    N("{1:1}"),
    N("{1}"),
    N("{null:1}"),
    N("{a:1}"),
    N("{a: \"b\"}"),
    N("{'a':1}"),
    N("{'a':'b'}"),
    N("{[]:1}"),
    N("{{}:1}"),
    N("{\"a\":1;\"b\":2}"),
    N("{\"a\"=1}"),
    N("{\"x\", null}"),
    N("{\"x\"::\"b\"}"),
    N("{\"a\":\"a\" 123}"),
    N("{\"a\":\"b\"]"),
    N("{9999E9999:1}"),
    N("{null:null,null:null}"),
    N("{\"id\":0,,,,,}"),
    N("{\"id\":0,}"),
    N("{\"a\":\"b\"}/**//"),
    N("{\"a\":\"b\"}/"),
    N("{\"a\":/*c*/\"b\"}"),
    N("{\"a\" b}"),
    N("{\"\xb9\":\"0\",}"),
    N("{\"a\":\"b\",\"c"),
    N("{\"a\":\"b\",\"c\""),
    N("{\"a\":tru}"),
    N("{\"\\u00\":1}"),
    N("{\xf0\x9f\x87\xa8}"),
    N("{\"a\n\":1}"),
    N("{*}"),
    N("{\"a\":1}}"),
    N("{\"a\":[1}"),
    N("{\"a\":{\"b\":1}"),
    N("{\"asd\":\"asd\""),
    N("[{\"a\":1,\"b\"]"),
    /* Numbers. */
    N("-"),
    N("+1"),
    N("++1"),
    N("+"),
    N("--1"),
    N("-+1"),
    N("01"),
    N("-01"),
    N("00"),
    N("-00"),
    N("012"),
    N("-012"),
    N("1."),
    N("-1."),
    N("0."),
    N(".1"),
    N("-.1"),
    N(".-1"),
    N("2.e3"),
    N("2.e+3"),
    N("2.e-3"),
    N("1.e1"),
    N("0.e1"),
    N("1e"),
    N("1e+"),
    N("1e-"),
    N("1E"),
    N("1E+"),
    N("0e"),
    N("0e+"),
    N("0E"),
    N("0E+"),
    N("1.0e"),
    N("1.0e+"),
    N("1.0e-"),
    N("0.3e"),
    N("0.3e+"),
    N("1eE2"),
    N("1ee2"),
    N("9.e+"),
    N("1.2.3"),
    N("1..2"),
    N("1 000"),
    N("1,000.0]"),
    N("1_000"),
    N("0x1"),
    N("0x42"),
    N("0b1"),
    N("-Infinity"),
    N("+Inf"),
    N("Inf"),
    N("-NaN"),
    N("-nan"),
    N("1+2"),
    N("1-2"),
    N("1a"),
    N("-1x"),
    N("1.8011670033376514H-308"),
    N("- 1"),
    N("-foo"),
    N("1e1.5"),
    N("1e5.0"),
    N("0.1.2"),
    N("1.a"),
    N("1ea"),
    N("1f"),
    N("1L"),
    N("\xef\xbc\x91"),
    N("-2.\0"),
    N("[1e\xe5]"),
    N("[1\xe5]"),
    N("[0\xe5]"),
    N("[-123.123foo]"),
    N("[0e+-1]"),
    N("[.2e-3]"),
    N("1e 5"),
    N("1 .5"),
    N("1. 5"),
    /* Strings. */
    N("\""),
    N("\"a"),
    N("\"\\"),
    N("\"\\\""),
    N("\"\\\\\\\""),
    N("a\""),
    N("'a'"),
    N("\"\\x00\""),
    N("\"\\a\""),
    N("\"\\0\""),
    N("\"\\'\""),
    N("\"\\U0041\""),
    N("\"\\ \""),
    N("\"\\\n\""),
    N("\"\\\0\""),
    N("\"\\e\""),
    N("\"\\v\""),
    N("\"\\\xe5\""),
    N("\"\\\xf0\x9f\x8c\x80\""),
    N("\"\\u\""),
    N("\"\\u1\""),
    N("\"\\u12\""),
    N("\"\\u123\""),
    N("\"\\u123g\""),
    N("\"\\u-123\""),
    N("\"\\u+123\""),
    N("\"\\u 123\""),
    N("\"\\u12"),
    N("\"\\uD800\\\""),
    N("\"\\uD800\\u\""),
    N("\"\\uD800\\u1\""),
    N("\"\\uD800\\u1x\""),
    N("\"\\uD834\\uDd\""),
    N("\"\\u00A\""),
    N("\"\\uqqqq\""),
    N("\"\\{[\""),
    N("\"\\&\""),
    N("\"\n\""),
    N("\"\t\""),
    N("\"\r\""),
    N("\"a\0b\""),
    N("\"\x01\""),
    N("\"\x1f\""),
    N("\"0123456789\x1f\""),
    N("\"1234567\n\""),
    N("[\"a\0a\"]"),
    N("[\"new\nline\"]"),
    N("\"\\u\xe5\""),
    N("\"\\u00\xc3\xa9\""),
    N("[\"\\u\\u\"]"),
    N("[\"x\\\"]"),
    N("[\"\\uD800\\uD800\\x\"]"),
    N("abc"),
    N("[\xc3\xa9]"),
    N("[\"asd]"),
    N("[\\n]"),
    N("\"a\"b\""),
    N("\xe2\x80\x9c"
      "a\xe2\x80\x9d"),
    /* White space that is none, and comments. */
    N("[\xe2\x80\x8b]"),
    N("\xc2\xa0[]"),
    N("\xe2\x80\xa8[]"),
    N("[\x0c]"),
    N("\x0b[]"),
    N("/**/1"),
    N("//\n1"),
    N("[1/*x*/]"),
    N("#\n1"),
    N("[1,#\n2]"),
    N("\x1e[]\n"),
    N("\xef\xbf\xbe[]"),

    /* Numbers of any size stay text; only converting them can fail. */
    TAKEN("1e400"),
    TAKEN("-1e400"),
    TAKEN("123123e100000"),
    TAKEN("-123123e100000"),
    TAKEN("123e-10000000"),
    TAKEN("0.4e00669999999"),
    TAKEN("1e99999999999999999999999999"),
    TAKEN("-1e-99999999999999999999999999"),
    TAKEN("-237462374673276894279832749832423479823246327846"),
    TAKEN("100000000000000000000"),
    TAKEN("18446744073709551616"),
    TAKEN("-9223372036854775809"),
    TAKEN("0.1234567890123456789012345678901234567890123456789"),
    /* Escapes that are half of a pair: kept, and written back the same. */
    TAKEN("\"\\ud800\""),
    TAKEN("\"\\uDBFF\""),
    TAKEN("\"\\uDC00\""),
    TAKEN("\"\\uDFFF\""),
    TAKEN("\"\\uDADA\""),
    TAKEN("\"\\uD800\\n\""),
    TAKEN("\"\\uD800abc\""),
    TAKEN("\"\\uDd1e\\uD834\""),
    TAKEN("\"\\uDd1ea\""),
    TAKEN("\"\\uD800\\uD800\""),
    TAKEN("\"\\ud800\\ud800\\udc00\""),
    TAKEN("\"\\uD888\\u1234\""),
    TAKEN("{\"\\uDFAA\":0}"),
    /* Bytes that are not UTF-8. */
    REFUSED("\"\x80\""),
    REFUSED("\"\xbf\""),
    REFUSED("\"\xff\""),
    REFUSED("\"\xfe\""),
    REFUSED("\"\xc0\xaf\""),
    REFUSED("\"\xc1\xbf\""),
    REFUSED("\"\xc3\""),
    REFUSED("\"\xc3\x28\""),
    REFUSED("\"\xe0\xff\""),
    REFUSED("\"\xe0\x80\xaf\""),
    REFUSED("\"\xe0\x9f\xbf\""),
    REFUSED("\"\xe2\x82\""),
    REFUSED("\"\xe2\x28\xa1\""),
    REFUSED("\"\xed\xa0\x80\""),
    REFUSED("\"\xed\xbf\xbf\""),
    REFUSED("\"\xed\xa0\xbd\xed\xb8\x80\""),
    REFUSED("\"\xf0\x80\x80\xaf\""),
    REFUSED("\"\xf0\x8f\xbf\xbf\""),
    REFUSED("\"\xf0\x9f\x98\""),
    REFUSED("\"\xf4\x90\x80\x80\""),
    REFUSED("\"\xf4\xbf\xbf\xbf\""),
    REFUSED("\"\xf5\x80\x80\x80\""),
    REFUSED("\"\xf8\x80\x80\x80\x80\""),
    REFUSED("\"\xfc\x83\xbf\xbf\xbf\xbf\""),
    REFUSED("\"\xe9\""),
    REFUSED("\"\x81\""),
    REFUSED("\"\xe6\x97\xa5\xd1\x88\xfa\""),
    REFUSED("{\"\xff\":1}"),
    REFUSED("\"\xc3"),
    REFUSED("\"abcdefgh\xe2\x82"),
    /* Another encoding, or a mark of one. */
    REFUSED("\xef\xbb\xbf{}"),
    REFUSED("\xef\xbb\xbf"),
    REFUSED("\xff\xfe[\0]\0"),
    REFUSED("\xfe\xff\0[\0]"),
    REFUSED("[\0]\0"),
    REFUSED("\0[\0]"),
    REFUSED("\xff\xfe[\0\"\0\xe9\0\"\0]\0"),
    /* Two members of one name. */
    REFUSED("{\"a\":1,\"a\":2}"),
    REFUSED("{\"a\":1,\"a\":1}"),
    REFUSED("{\"a\":1,\"\\u0061\":1}"),
    REFUSED("{\"\":1,\"\":1}"),
    REFUSED("{\"\\u00e9\":1,\"\xc3\xa9\":1}"),
    REFUSED("{\"\\uD83D\\uDE00\":1,\"\xf0\x9f\x98\x80\":1}"),
    REFUSED("{\"\\/\":1,\"/\":1}"),
    REFUSED("[{\"x\":{\"k\":1,\"b\":2,\"k\":3}}]"),
    REFUSED("{\"a\":{\"b\":1},\"c\":2,\"a\":3}"),
    REFUSED("{\"\\u0000\":1,\"\\u0000\":2}"),
};
#define CASES (sizeof cases / sizeof *cases)

static enum err pull(struct str text)
{
    struct json r;
    json_init(&r, text, NULL); /* skipping decodes nothing */
    json_skip(&r);
    return json_end(&r);
}

static void wrong(const struct text_case *c, const char *what)
{
    test_failed(__FILE__, c->line, what);
    printf("    text: " STR_FMT "\n", STR_ARG(str_n(c->bytes, c->len)));
}

/* A copy of just the right size, so that the sanitizer sees a read past the end. */
static struct str exact(struct str s)
{
    char *p = mem_alloc(s.len);
    if (s.len) memcpy(p, s.ptr, s.len);
    return str_n(p, s.len);
}

static bool survives_writing(struct arena *a, const struct jv *v)
{
    struct buf   out;
    struct jsonw w;
    struct jv   *again = NULL;
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    jw_jv(&w, v);
    bool same = !out.err && json_parse(a, buf_view(&out), &again, NULL) == OK && jv_equal(v, again);
    buf_done(&out);
    return same;
}

static void judge(const struct text_case *c)
{
    bool         take = c->verdict == MUST_TAKE || c->verdict == WE_TAKE;
    struct str   text = exact(str_n(c->bytes, c->len));
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    if ((pull(text) == OK) != take)
        wrong(c, take ? "the reader refuses it" : "the reader takes it");
    enum err e = json_parse(&a, text, &v, NULL);
    if (e != (take ? OK : ERR_SYNTAX)) wrong(c, take ? "the tree refuses it" : "the tree takes it");
    if (e != OK && v) wrong(c, "an error, but the result was touched");
    if (e == OK && !survives_writing(&a, v))
        wrong(c, "written and read again, it is another value");
    arena_done(&a);
    mem_free((void *)text.ptr);
}

static void judge_all(enum verdict verdict)
{
    for (size_t i = 0; i < CASES; i++)
        if (cases[i].verdict == verdict) judge(&cases[i]);
}

TEST(the_suite_has_not_shrunk)
{
    CHECK(CASES >= 450);
}
TEST(every_text_that_is_json_is_accepted)
{
    judge_all(MUST_TAKE);
}
TEST(every_text_that_is_not_json_is_refused)
{
    judge_all(MUST_REFUSE);
}
TEST(odd_numbers_and_half_pairs_are_accepted)
{
    judge_all(WE_TAKE);
}
TEST(bad_bytes_and_repeated_keys_are_refused)
{
    judge_all(WE_REFUSE);
}

/* Every prefix of a text is another text; none may crash, and none but the whole is JSON. */
TEST(a_text_cut_anywhere_is_refused)
{
    struct str whole =
        STR("{\"k\":[1.5e+3,\"\\ud83d\\ude00 \xe2\x82\xac\\n\",true,null,{\"x\":{}}],\"l\":false}");
    for (size_t n = 0; n <= whole.len; n++) {
        struct str text = exact(str_cut(whole, n));
        CHECK((pull(text) == OK) == (n == whole.len));
        mem_free((void *)text.ptr);
    }
}

/* Every byte replaced by every other: whatever comes of it, both readers agree. */
TEST(both_readers_agree_on_every_damaged_byte)
{
    struct str   whole = STR("{\"k\":[1.5e+3,\"\\ud83d\\ude00\xe2\x82\xac\\n\",true],\"l\":{}}");
    char         text[80];
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    for (size_t i = 0; i < whole.len; i++)
        for (int c = 0; c < 256; c++) {
            memcpy(text, whole.ptr, whole.len);
            text[i] = (char)c;
            bool tree = json_parse(&a, str_n(text, whole.len), &v, NULL) == OK;
            CHECK(tree == (pull(str_n(text, whole.len)) == OK));
            if (tree) CHECK(survives_writing(&a, v));
            arena_reset(&a);
        }
    arena_done(&a);
}

/* --- texts too long for the table ------------------------------------------- */

static struct str repeat(struct buf *b, const char *open, const char *inside, const char *close,
                         int times)
{
    buf_clear(b);
    for (int i = 0; i < times; i++) buf_lit(b, open);
    buf_lit(b, inside);
    for (int i = 0; i < times; i++) buf_lit(b, close);
    return buf_view(b);
}

static enum err tree(struct str text)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    enum err e = json_parse(&a, text, &v, NULL);
    arena_done(&a);
    return e;
}

static bool both(struct str text, enum err want)
{
    return pull(text) == want && tree(text) == want;
}

TEST(nesting_is_accepted_to_128_and_refused_beyond)
{
    struct buf b = { 0 };
    CHECK(both(repeat(&b, "[", "", "]", 128), OK));
    CHECK(both(repeat(&b, "[", "", "]", 129), ERR_SYNTAX));
    CHECK(both(repeat(&b, "[", "1", "]", 128), OK));
    CHECK(both(repeat(&b, "{\"a\":", "1", "}", 128), OK));
    CHECK(both(repeat(&b, "{\"a\":", "1", "}", 129), ERR_SYNTAX));
    CHECK(both(repeat(&b, "[{\"a\":", "1", "}]", 64), OK));
    CHECK(both(repeat(&b, "[{\"a\":", "{}", "}]", 64), ERR_SYNTAX));
    buf_done(&b);
}

TEST(endless_nesting_is_a_clean_error)
{
    struct buf b = { 0 };
    CHECK(both(repeat(&b, "[", "", "", 100000), ERR_SYNTAX));
    CHECK(both(repeat(&b, "[", "", "]", 100000), ERR_SYNTAX));
    CHECK(both(repeat(&b, "[{\"\":", "", "", 50000), ERR_SYNTAX));
    CHECK(both(repeat(&b, "{\"a\":", "1", "}", 100000), ERR_SYNTAX));
    buf_done(&b);
}

TEST(a_number_of_a_million_digits_is_a_number)
{
    struct buf b = { 0 };
    CHECK(both(repeat(&b, "7", ".", "5", 1000000), OK));
    CHECK(both(repeat(&b, "7", ".", "", 1000000), ERR_SYNTAX));
    buf_done(&b);
}

TEST(a_string_of_a_million_escapes_is_a_string)
{
    struct buf b = { 0 };
    buf_lit(&b, "\"");
    for (int i = 0; i < 1000000; i++) buf_lit(&b, "\\u00e9");
    CHECK(pull(buf_view(&b)) == ERR_SYNTAX);
    buf_lit(&b, "\"");
    CHECK(both(buf_view(&b), OK));
    buf_done(&b);
}
