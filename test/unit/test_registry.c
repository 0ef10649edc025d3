/* The registry: two names per tool, both unique; removed tools live on. */
#include <stdio.h>

#include "base/clock.h"
#include "test.h"
#include "tool/registry.h"
#include "tool/text.h"

static struct tool *add(struct registry *r, const char *name)
{
    struct tool *t = registry_tool(r, str_c(name));
    REQUIRE(t);
    REQUIRE(registry_add(r, t) == OK);
    return t;
}

TEST(registry_finds_a_tool_by_both_its_names)
{
    struct registry r;
    registry_init(&r);
    struct tool *t = add(&r, "browser.search");
    CHECK_STR(t->wire_name, "browser_search");
    CHECK(registry_find(&r, STR("browser.search")) == t);
    CHECK(registry_find_wire(&r, STR("browser_search")) == t);
    CHECK(registry_find(&r, STR("browser_search")) == NULL);
    CHECK(registry_find(&r, STR("")) == NULL);
    registry_done(&r);
}

TEST(registry_fills_in_the_defaults)
{
    struct registry r;
    registry_init(&r);
    struct tool *t = add(&r, "x");
    CHECK(t->timeout_ms == 60000);
    CHECK(t->expires_s == 86400);
    CHECK(t->confirm == CONFIRM_NEVER);
    CHECK_STR(t->confirm_text, "\"never\"");
    CHECK_STR(t->risk, "low");
    CHECK(jv_is(t->schema, JSON_OBJECT));
    registry_done(&r);
}

TEST(registry_makes_wire_names_unique_and_short)
{
    struct registry r;
    char            name[101];
    memset(name, 'n', 100);
    name[100] = 0;
    registry_init(&r);
    add(&r, "a.b");
    struct tool *taken = add(&r, "a_b"), *blank = add(&r, "a b");
    CHECK(str_starts(taken->wire_name, STR("a_b_")) && taken->wire_name.len == 12);
    CHECK(str_starts(blank->wire_name, STR("a_b_")) && !str_eq(blank->wire_name, taken->wire_name));
    CHECK(registry_find_wire(&r, blank->wire_name) == blank);
    CHECK_STR(add(&r, "音楽")->wire_name, "______");
    struct tool *first = add(&r, name);
    name[99] = 'm';
    struct tool *second = add(&r, name);
    CHECK(first->wire_name.len == 64 && second->wire_name.len == 64);
    CHECK(!str_eq(first->wire_name, second->wire_name));
    name[64] = 0;
    CHECK_STR(add(&r, name)->wire_name, name);
    registry_done(&r);
}

TEST(a_wire_name_begins_with_a_letter_or_an_underscore)
{
    struct registry r;
    registry_init(&r);
    CHECK_STR(add(&r, "2fa.check")->wire_name, "_2fa_check");
    CHECK_STR(add(&r, "-x")->wire_name, "_-x");
    CHECK_STR(add(&r, "_y")->wire_name, "_y");
    CHECK_STR(add(&r, ".z")->wire_name, "_z");
    CHECK_STR(registry_find(&r, STR("2fa.check"))->name, "2fa.check");
    registry_done(&r);
}

TEST(a_tool_that_is_not_listed_is_named_so_that_models_take_it)
{
    struct registry r;
    char            text[TOOL_WIRE_MAX], name[200];
    registry_init(&r);
    add(&r, "a.b");
    CHECK_STR(registry_wire(&r, STR("a.b"), text), "a_b");
    CHECK_STR(registry_wire(&r, STR("9 lives?"), text), "_9_lives_");
    CHECK_STR(registry_wire(&r, STR(""), text), "_");
    memset(name, '7', sizeof name);
    CHECK(registry_wire(&r, str_n(name, sizeof name), text).len == TOOL_WIRE_MAX);
    registry_done(&r);
}

TEST(a_long_or_taken_wire_name_does_not_depend_on_who_came_before)
{
    static const char *const names[] = {
        "pay.now", "pay now", "pay/now",
        "pay_now_and_then_and_again_and_again_and_again_and_again_and_again_1",
        "pay_now_and_then_and_again_and_again_and_again_and_again_and_again_2"
    };
    struct registry one, two;
    registry_init(&one);
    registry_init(&two);
    add(&one, "pay_now");
    add(&two, "pay_now");
    for (int i = 0; i < 5; i++) add(&one, names[i]);
    for (int i = 5; i-- > 0;) add(&two, names[i]);
    for (int i = 0; i < 5; i++)
        CHECK(str_eq(registry_find(&one, str_c(names[i]))->wire_name,
                     registry_find(&two, str_c(names[i]))->wire_name));
    registry_done(&one);
    registry_done(&two);
}

TEST(registry_refuses_a_taken_name_and_a_bad_schema)
{
    struct registry r;
    registry_init(&r);
    add(&r, "x");
    CHECK(registry_add(&r, registry_tool(&r, STR("x"))) == ERR_EXISTS);
    CHECK(registry_add(&r, registry_tool(&r, STR(""))) == ERR_RANGE);
    struct tool *t = registry_tool(&r, STR("y"));
    t->schema_text = STR("[1]");
    CHECK(registry_add(&r, t) == ERR_SYNTAX);
    t->schema_text = STR("{\"type\":");
    CHECK(registry_add(&r, t) == ERR_SYNTAX);
    CHECK(r.count == 1);
    CHECK(registry_find(&r, STR("y")) == NULL);
    registry_done(&r);
}

TEST(registry_refuses_a_schema_that_nobody_could_have_meant)
{
    static char     text[TOOL_SCHEMA_MAX + 20];
    struct registry r;
    registry_init(&r);
    struct tool *t = registry_tool(&r, STR("y"));
    memset(text, ' ', sizeof text - 1);
    text[0] = '{';
    text[TOOL_SCHEMA_MAX - 1] = '}';
    t->schema_text = str_n(text, TOOL_SCHEMA_MAX + 1);
    CHECK(registry_add(&r, t) == ERR_FULL);
    t->schema_text = str_n(text, TOOL_SCHEMA_MAX);
    CHECK(registry_add(&r, t) == OK);
    registry_done(&r);
}

TEST(registry_digest_changes_with_the_definition_only)
{
    struct registry r, other;
    registry_init(&r);
    registry_init(&other);
    struct tool *a = registry_tool(&r, STR("pay")), *b = registry_tool(&other, STR("pay"));
    a->schema_text = STR("{\"type\":\"object\",\"required\":[\"x\"]}");
    b->schema_text = STR("{ \"required\": [\"x\"], \"type\": \"object\" }");
    a->runs = 7;
    REQUIRE(registry_add(&r, a) == OK && registry_add(&other, b) == OK);
    char of_a[TOOL_DIGEST], of_b[TOOL_DIGEST], of_c[TOOL_DIGEST];
    REQUIRE(tool_digest(a, of_a) == OK && tool_digest(b, of_b) == OK);
    CHECK_STR(str_c(of_a), of_b);
    registry_remove(&other, b);
    struct tool *c = registry_tool(&other, STR("pay"));
    c->description = STR("something else");
    REQUIRE(registry_add(&other, c) == OK);
    REQUIRE(tool_digest(c, of_c) == OK);
    CHECK(strcmp(of_c, of_a) != 0);
    registry_done(&other);
    registry_done(&r);
}

/* What a yes covers, when the tool of the answer is the one that was asked about. */
static struct str digest_of(const char *runner)
{
    static char     hex[4][TOOL_DIGEST];
    static unsigned n;
    struct registry r;
    registry_init(&r);
    struct tool *t = registry_tool(&r, STR("pay"));
    t->runner = runner ? str_c(runner) : STR_NONE;
    REQUIRE(registry_add(&r, t) == OK);
    char *out = hex[n++ % 4];
    REQUIRE(tool_digest(t, out) == OK);
    registry_done(&r);
    return str_c(out);
}

TEST(registry_digest_changes_with_what_runs_the_tool)
{
    CHECK(digest_of(NULL).len == TOOL_DIGEST - 1);
    CHECK(!str_eq(digest_of(NULL), digest_of("{\"url\":\"https://a.example\"}")));
    CHECK(!str_eq(digest_of("{\"url\":\"https://a.example\"}"),
                  digest_of("{\"url\":\"https://b.example\"}")));
    CHECK_STR(digest_of("{\"url\":\"https://a.example\"}"),
              digest_of("{\"url\":\"https://a.example\"}").ptr);
}

static struct str runner_of(struct arena *a, const char *json, const char *base)
{
    struct jv *v;
    REQUIRE(json_parse(a, str_c(json), &v, NULL) == OK);
    return text_runner(a, v, base ? str_c(base) : STR_NONE);
}

TEST(a_runner_is_told_by_command_and_names_and_its_secrets_by_reference)
{
    struct arena a;
    arena_init(&a, 0);
    CHECK_STR(runner_of(&a,
                        "{\"network\":true,\"env\":{\"KEY\":\"env:PAY_KEY\",\"B\":\"hunter2\","
                        "\"A\":\"x\"},\"command\":[\"python3\",\"pay.py\"]}",
                        "/srv"),
              "[\"/"
              "srv\",{\"command\":[\"python3\",\"pay.py\"],\"env\":{\"A\":null,\"B\":null,\"KEY\":"
              "\"env:PAY_KEY\"},\"network\":true}]");
    CHECK_STR(runner_of(&a,
                        "{\"url\":\"https://a.example/"
                        "pay\",\"method\":\"PUT\",\"headers\":{\"X-Key\":\"hunter2\","
                        "\"Authorization\":\"Bearer env:SHOP\"}}",
                        NULL),
              "[null,{\"headers\":{\"Authorization\":\"env:SHOP\",\"X-Key\":null},\"method\":"
              "\"PUT\",\"url\":\"https://a.example/pay\"}]");
    arena_done(&a);
}

static int  freed;
static void count_free(struct tool *t)
{
    freed++;
}

TEST(registry_removes_and_lists_again_and_frees_each_tool_once)
{
    static const struct tool_ops ops = { .free = count_free };
    struct registry              r;
    struct tool                 *t[40];
    registry_init(&r);
    freed = 0;
    for (int i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", i);
        t[i] = add(&r, name);
        t[i]->ops = &ops;
        if (i % 3 == 0) registry_remove(&r, t[i]);
    }
    registry_remove(&r, t[0]); /* twice is harmless */
    CHECK(r.count == 26 && r.removed == 14);
    CHECK(registry_find(&r, STR("t3")) == NULL);
    CHECK(registry_find(&r, STR("t4")) == t[4]);
    CHECK(r.tools[0] == t[1] && r.tools[1] == t[2] && r.tools[2] == t[4] && r.tools[25] == t[38]);
    struct tool *again = add(&r, "t3");
    CHECK_STR(again->wire_name, "t3");
    CHECK(r.tools[26] == again);
    registry_done(&r);
    CHECK(freed == 40);
}

TEST(registry_survives_every_failing_allocation)
{
    for (long n = 0; n < 12; n++) {
        struct registry r;
        registry_init(&r);
        mem_fail_at(n);
        struct tool *t = registry_tool(&r, STR("x"));
        enum err     e = t ? registry_add(&r, t) : ERR_NOMEM;
        mem_fail_at(-1);
        CHECK(e == OK || e == ERR_NOMEM);
        CHECK((registry_find(&r, STR("x")) != NULL) == (e == OK));
        registry_done(&r);
    }
}

/* --- tools that are not there yet ------------------------------------------------------ */

static unsigned told;
static void     on_changed(void *ctx)
{
    told += ctx == &told;
}

TEST(a_name_is_expected_while_a_source_may_still_list_it)
{
    struct registry        r;
    struct registry_source files = { 0 }, crm = { 0 };

    registry_init(&r);
    CHECK(registry_settled(&r) && !registry_expects(&r, STR("files__read")));
    registry_expect(&r, &files, STR("files__"), clock_mono_ms() + 60000);
    registry_expect(&r, &crm, STR("crm__"), clock_mono_ms() + 60000);
    CHECK(registry_expects(&r, STR("files__read")) && registry_expects(&r, STR("crm__pay")));
    CHECK(!registry_expects(&r, STR("filesystem")) && !registry_expects(&r, STR("pay")) &&
          !registry_settled(&r));
    registry_settle(&r, &files);
    registry_settle(&r, &files);
    CHECK(!registry_expects(&r, STR("files__read")) && registry_expects(&r, STR("crm__pay")) &&
          !registry_settled(&r));
    registry_settle(&r, &crm);
    CHECK(registry_settled(&r));
    registry_done(&r);
}

TEST(nobody_is_expected_for_ever)
{
    struct registry        r;
    struct registry_source late = { 0 };

    registry_init(&r);
    registry_expect(&r, &late, STR("late__"), clock_mono_ms()); /* its time is over now */
    CHECK(!registry_expects(&r, STR("late__pay")) && registry_settled(&r));
    /* again: a new wait, not two */
    registry_expect(&r, &late, STR("late__"), clock_mono_ms() + 60000);
    CHECK(registry_expects(&r, STR("late__pay")));
    registry_settle(&r, &late);
    CHECK(registry_settled(&r));
    registry_done(&r);
}

TEST(whoever_waits_for_a_tool_is_told)
{
    struct registry r;
    registry_init(&r);
    registry_tell(&r); /* nobody waits */
    told = 0;
    r.changed = on_changed;
    r.changed_ctx = &told;
    registry_tell(&r);
    CHECK(told == 1);
    registry_done(&r);
}
