/* When a person is asked: lists mean any, and doubt means yes. */
#include <stdio.h>

#include "test.h"
#include "tool/policy.h"

static struct arena arena;

static const struct jv *parse(const char *json)
{
    struct jv *v;
    REQUIRE(json_parse(&arena, str_c(json), &v, NULL) == OK);
    return v;
}

static bool asks(const char *confirm, const char *args)
{
    struct tool t = { 0 };
    const char *why = NULL;
    REQUIRE(policy_read(&t, parse(confirm), &why) == OK);
    return policy_asks(&t, args ? parse(args) : NULL, NULL);
}

static bool refused(const char *confirm)
{
    struct tool t = { .confirm = CONFIRM_ALWAYS };
    const char *why = NULL;
    enum err    e = policy_read(&t, parse(confirm), &why);
    return e == ERR_TYPE && why && t.confirm == CONFIRM_ALWAYS && !t.when;
}

#define WHEN(op, value) "{\"when\":{\"pointer\":\"/x\",\"op\":\"" op "\",\"value\":" value "}}"

TEST(policy_never_and_always_are_what_they_say)
{
    arena_init(&arena, 0);
    CHECK(!asks("\"never\"", "{}"));
    CHECK(!asks("\"never\"", NULL));
    CHECK(asks("\"always\"", "{}"));
    arena_done(&arena);
}

TEST(policy_compares_numbers_exactly)
{
    arena_init(&arena, 0);
    CHECK(asks(WHEN(">", "100"), "{\"x\":100.5}"));
    CHECK(!asks(WHEN(">", "100"), "{\"x\":100}"));
    CHECK(asks(WHEN(">=", "100"), "{\"x\":1e2}"));
    CHECK(asks(WHEN("<", "0"), "{\"x\":-1}"));
    CHECK(!asks(WHEN("<=", "0"), "{\"x\":1}"));
    CHECK(asks(WHEN(">", "9007199254740992"), "{\"x\":9007199254740993}"));
    CHECK(asks(WHEN(">", "9007199254740992"), "{\"x\":9007199254740993.0}"));
    CHECK(asks(WHEN(">", "9007199254740992"), "{\"x\":9007199254740992.5}"));
    CHECK(asks(WHEN(">", "9007199254740992"), "{\"x\":9.007199254740993e15}"));
    CHECK(!asks(WHEN(">", "9007199254740992"), "{\"x\":9007199254740992.0}"));
    CHECK(asks(WHEN(">", "100"), "{\"x\":100.00000000000000000001}"));
    CHECK(!asks(WHEN(">", "100"), "{\"x\":99.99999999999999999999}"));
    CHECK(!asks(WHEN(">=", "100"), "{\"x\":99.99999999999999999999}"));
    CHECK(asks(WHEN("<", "-100"), "{\"x\":-100.00000000000000000001}"));
    CHECK(!asks(WHEN("<", "-100"), "{\"x\":-99.9}"));
    CHECK(asks(WHEN(">", "18446744073709551616"), "{\"x\":18446744073709551617}"));
    CHECK(!asks(WHEN(">", "18446744073709551617"), "{\"x\":18446744073709551616}"));
    CHECK(asks(WHEN(">", "-0.1"), "{\"x\":0}"));
    CHECK(!asks(WHEN(">", "0"), "{\"x\":-0.0}"));
    CHECK(asks(WHEN(">", "1e400"), "{\"x\":1e401}"));
    CHECK(!asks(WHEN(">", "1e-400"), "{\"x\":1e-401}"));
    /* nobody can count that far */
    CHECK(asks(WHEN(">", "100"), "{\"x\":1e-99999999999999999999}"));
    CHECK(asks(WHEN("==", "1e99999999999999999999"), "{\"x\":10e99999999999999999998}"));
    CHECK(asks(WHEN("in", "[1e99999999999999999999]"), "{\"x\":10e99999999999999999998}"));
    CHECK(asks(WHEN("==", "1"), "{\"x\":1.0}"));
    CHECK(!asks(WHEN("!=", "1"), "{\"x\":1.0}"));
    arena_done(&arena);
}

TEST(policy_knows_lists_texts_and_presence)
{
    arena_init(&arena, 0);
    CHECK(asks(WHEN("in", "[\"EUR\",\"USD\"]"), "{\"x\":\"USD\"}"));
    CHECK(!asks(WHEN("in", "[\"EUR\",\"USD\"]"), "{\"x\":\"JPY\"}"));
    CHECK(asks(WHEN("contains", "\"rm\""), "{\"x\":\"sudo rm -rf\"}"));
    CHECK(!asks(WHEN("contains", "\"rm\""), "{\"x\":\"ls\"}"));
    CHECK(asks(WHEN("contains", "3"), "{\"x\":[1,2,3]}"));
    CHECK(!asks(WHEN("contains", "3"), "{\"x\":[]}"));
    CHECK(asks(WHEN("matches-prefix", "\"/etc\""), "{\"x\":\"/etc/passwd\"}"));
    CHECK(!asks(WHEN("matches-prefix", "\"/etc\""), "{\"x\":\"/tmp\"}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/a/b\",\"op\":\"exists\"}}", "{\"a\":{\"b\":null}}"));
    CHECK(!asks("{\"when\":{\"pointer\":\"/a/b\",\"op\":\"exists\"}}", "{\"a\":{}}"));
    CHECK(asks(WHEN("exists", "false"), "{}"));
    arena_done(&arena);
}

TEST(policy_asks_when_in_doubt)
{
    arena_init(&arena, 0);
    CHECK(asks(WHEN(">", "100"), "{}"));
    CHECK(asks(WHEN(">", "100"), "{\"x\":\"5\"}"));
    CHECK(asks(WHEN(">", "100"), "{\"x\":null}"));
    CHECK(asks(WHEN("==", "\"a\""), "{\"x\":1}"));
    CHECK(asks(WHEN("!=", "\"a\""), "{\"x\":1}"));
    CHECK(asks(WHEN("in", "[\"a\"]"), "{\"x\":1}"));
    CHECK(asks(WHEN("in", "[\"a\"]"), "{}"));
    CHECK(asks(WHEN("contains", "\"a\""), "{\"x\":{}}"));
    CHECK(asks(WHEN("contains", "1"), "{\"x\":\"1\"}"));
    CHECK(asks(WHEN("matches-prefix", "\"a\""), "{\"x\":[\"a\"]}"));
    CHECK(asks(WHEN(">", "100"), "[5]"));
    CHECK(asks(WHEN(">", "100"), NULL));
    arena_done(&arena);
}

/* Go's encoding/json ignores case, protobuf takes "transfer_amount" for "transferAmount", Swift
 * joins marks to letters. */
TEST(policy_asks_when_a_member_has_a_twin_that_a_careless_receiver_reads_instead)
{
    static const char *const twins[] = {
        "{\"amount\":50,\"Amount\":5000}",
        "{\"Amount\":5000,\"amount\":50}",
        "{\"amount\":50,\"AMOUNT\":5000}",
        "{\"AMOUNT\":5000}",
        "{\"Amount\":50}",
        "{\"amount\":50,\"\\u0061MOUNT\":5000}",
        "{\"amount\":50,\"amo_unt\":5000}",
        "{\"amount\":50,\"amo-unt\":5000}",
        "{\"amount\":50,\"amount \":5000}",
        "{\"amount\":50,\"amo\\u200bunt\":5000}",
        "{\"amount\":50,\"amount\\ufe0f\":5000}",
        "{\"amount\":50,\"amount\\u0000\":5000}",
        "{\"amount\":50,\"ａｍｏｕｎｔ\":5000}",
        "{\"amount\":50,\"ａＭｏｕｎｔ\":5000}",
        "{\"amount\":50,\"𝐚𝐦𝐨𝐮𝐧𝐭\":5000}",
        "{\"amount\":50,\"am\\u00f6unt\":5000}",
        "{\"amount\":50,\"amo\\u0308unt\":5000}",
    };
    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        CHECK(asks("{\"when\":{\"pointer\":\"/amount\",\"op\":\">\",\"value\":100}}", twins[i]));
    CHECK(!asks("{\"when\":{\"pointer\":\"/amount\",\"op\":\">\",\"value\":100}}",
                "{\"amount\":50,\"amounts\":5000,\"\":1}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/tasks\",\"op\":\">\",\"value\":1}}",
               "{\"tasks\":1,\"tas\u212as\":5}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/tasks\",\"op\":\">\",\"value\":1}}",
               "{\"tasks\":1,\"ta\\u017fks\":5}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/сумма\",\"op\":\">\",\"value\":1}}",
               "{\"сумма\":1,\"Сумма\":5}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/ποσό\",\"op\":\">\",\"value\":1}}",
               "{\"ποσό\":1,\"ΠΟΣΌ\":5}"));
    CHECK(asks("{\"when\":{\"pointer\":\"/force\",\"op\":\"exists\"}}", "{\"Force\":true}"));
    arena_done(&arena);
}

TEST(policy_looks_for_twins_at_every_object_on_the_way)
{
    static const char deep[] =
        "{\"when\":{\"pointer\":\"/orders/1/pay~1now/amount\",\"op\":\">\",\"value\":100}}";
    arena_init(&arena, 0);
    CHECK(!asks(deep, "{\"orders\":[{\"pay/now\":{\"AMOUNT\":1}},{\"pay/"
                      "now\":{\"amount\":50},\"x\":{\"Amount\":1}}]}"));
    CHECK(asks(deep, "{\"orders\":[0,{\"pay/now\":{\"amount\":50,\"Amount\":5000}}]}"));
    CHECK(
        asks(deep, "{\"orders\":[0,{\"pay/now\":{\"amount\":50},\"Pay/Now\":{\"amount\":5000}}]}"));
    CHECK(asks(deep, "{\"orders\":[0,{\"pay/now\":{\"amount\":50}}],\"Orders\":[0,{\"pay/"
                     "now\":{\"amount\":5000}}]}"));
    arena_done(&arena);
}

TEST(policy_asks_about_amounts_that_are_no_plain_number)
{
    static const char *const odd[] = { "\"5000\"",
                                       "\"5\"",
                                       "null",
                                       "true",
                                       "[5]",
                                       "[]",
                                       "{}",
                                       "{\"amount\":5}",
                                       "1e999",
                                       "1e99999999999999999999",
                                       "-1e99999999999999999999",
                                       "1e-99999999999999999999",
                                       "\"NaN\"",
                                       "\"\"" };
    char                     args[64];
    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        snprintf(args, sizeof args, "{\"x\":%s}", odd[i]);
        CHECK(asks(WHEN(">", "100"), args));
        CHECK(asks(WHEN("!=", "100"), args));
    }
    arena_done(&arena);
}

TEST(policy_asks_about_what_is_too_large_to_be_looked_at)
{
    struct buf    args;
    struct jv    *v, *c;
    struct tool   t = { 0 };
    struct budget turn = { 2 * BUDGET_CHECK };
    const char   *why;
    char          member[40];
    arena_init(&arena, 0);
    buf_init(&args, 0);
    buf_lit(&args, "{\"x\":1");
    for (int i = 0; i < 100000; i++) {
        snprintf(member, sizeof member, ",\"member%d\":1", i);
        buf_lit(&args, member);
    }
    buf_lit(&args, "}");
    REQUIRE(json_parse(&arena, buf_view(&args), &v, NULL) == OK &&
            json_parse(&arena, STR(WHEN(">", "100")), &c, NULL) == OK);
    REQUIRE(policy_read(&t, c, &why) == OK);
    CHECK(policy_asks(&t, v, &turn));
    CHECK(turn.left == BUDGET_CHECK);
    buf_done(&args);
    arena_done(&arena);
}

TEST(policy_list_means_any_of_them)
{
    arena_init(&arena, 0);
    static const char both[] = "{\"when\":[{\"pointer\":\"/amount\",\"op\":\">\",\"value\":100},"
                               "{\"pointer\":\"/currency\",\"op\":\"!=\",\"value\":\"USD\"}]}";
    CHECK(!asks(both, "{\"amount\":5,\"currency\":\"USD\"}"));
    CHECK(asks(both, "{\"amount\":500,\"currency\":\"USD\"}"));
    CHECK(asks(both, "{\"amount\":5,\"currency\":\"EUR\"}"));
    CHECK(asks(both, "{\"amount\":5}"));
    arena_done(&arena);
}

TEST(policy_refuses_what_it_does_not_fully_understand)
{
    arena_init(&arena, 0);
    CHECK(refused("\"sometimes\""));
    CHECK(refused("true"));
    CHECK(refused("null"));
    CHECK(refused("{}"));
    CHECK(refused("{\"when\":[]}"));
    CHECK(refused("{\"when\":\"always\"}"));
    CHECK(refused("{\"when\":{\"pointer\":\"/x\",\"op\":\"exists\"},\"unless\":1}"));
    CHECK(refused("{\"when\":{\"pointer\":\"/x\",\"op\":\"exists\",\"not\":true}}"));
    CHECK(refused("{\"when\":{\"pointer\":\"x\",\"op\":\"exists\"}}"));
    CHECK(refused("{\"when\":{\"op\":\"exists\"}}"));
    CHECK(refused(WHEN("=>", "1")));
    CHECK(refused(WHEN(">", "\"1\"")));
    CHECK(refused(WHEN("in", "1")));
    CHECK(refused(WHEN("matches-prefix", "1")));
    CHECK(refused("{\"when\":{\"pointer\":\"/x\",\"op\":\"==\"}}"));
    CHECK(refused("{\"when\":[{\"pointer\":\"/x\",\"op\":\"exists\"},7]}"));
    arena_done(&arena);
}

TEST(policy_keeps_its_own_words_for_the_tool_list)
{
    struct tool t = { 0 };
    const char *why;
    arena_init(&arena, 0);
    REQUIRE(policy_read(&t, parse("{ \"when\" : {\"pointer\":\"/x\",\"op\":\"exists\"} }"), &why) ==
            OK);
    CHECK_STR(t.confirm_text, "{ \"when\" : {\"pointer\":\"/x\",\"op\":\"exists\"} }");
    CHECK(t.confirm == CONFIRM_WHEN);
    arena_done(&arena);
}
