/* Facts to JSON and back: nothing is lost, nothing is invented, strangers are refused. */
#include "run/fact.h"
#include "test.h"

static struct str written(struct arena *a, const struct fact *f)
{
    struct buf b;
    buf_init(&b, 0);
    fact_write(&b, f);
    REQUIRE(b.err == OK);
    struct str s = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}

/* Written, read, written again: the same bytes. */
static void comes_back(const struct fact *f)
{
    struct arena a;
    struct fact  read = { .seq = 9, .at_ms = 8 };
    arena_init(&a, 0);
    struct str once = written(&a, f);
    REQUIRE(fact_read(&a, str_c(fact_name(f->kind)), once, &read) == OK);
    CHECK(read.kind == f->kind && read.seq == 9 && read.at_ms == 8);
    struct str twice = written(&a, &read);
    CHECK(str_eq(once, twice));
    arena_done(&a);
}

TEST(every_kind_has_a_name_and_is_found_by_it)
{
    for (int k = 0; k < FACT_KIND_COUNT; k++) {
        enum fact_kind found;
        REQUIRE(fact_kind_of(str_c(fact_name((enum fact_kind)k)), &found) == OK);
        CHECK(found == (enum fact_kind)k);
    }
    enum fact_kind k;
    CHECK(fact_kind_of(STR("dreamt"), &k) == ERR_NOT_FOUND);
    CHECK(fact_kind_of(STR(""), &k) == ERR_NOT_FOUND);
}

TEST(every_member_comes_back)
{
    struct part parts[] = {
        { .type = STEP_REASONING,
          .text = STR("hm"),
          .opaque = STR("{\"signature\":\"x\"}"),
          .complete = true },
        { .type = STEP_TEXT, .text = STR("Hello"), .complete = true },
        { .type = STEP_CALL,
          .text = STR("{\"a\":1}"),
          .call = STR("call-1"),
          .provider_id = STR("p"),
          .tool = STR("browser.search"),
          .gate = GATE_ASK,
          .client = true,
          .complete = true,
          .intent = STR("I'll look..."),
          .at_ms = 5 },
        { .type = STEP_CALL,
          .text = STR("{"),
          .call = STR("call-2"),
          .tool = STR("x"),
          .gate = GATE_BAD,
          .problem = STR("cut off") },
    };
    struct fact f = { .kind = FACT_STEP, .parts = parts, .parts_count = 4 };
#define SET_STR(n)  f.n = STR("text of " #n);
#define SET_RAW(n)  f.n = STR("{\"raw\":[1,2.50,1e3]}");
#define SET_INT(n)  f.n = 9007199254740993;
#define SET_BOOL(n) f.n = true;
#define SET_WORD(n) f.n = WORD_UNKNOWN;
#define SET_PARTS(n)
#define X(t, n) SET_##t(n)
    FACT_FIELDS(X)
#undef X
    comes_back(&f);
    struct arena a;
    struct fact  read = { 0 };
    arena_init(&a, 0);
    REQUIRE(fact_read(&a, STR("step"), written(&a, &f), &read) == OK);
    CHECK(read.expires_ms == 9007199254740993);
    CHECK_STR(read.value, "{\"raw\":[1,2.50,1e3]}"); /* numbers as they were written */
    REQUIRE(read.parts_count == 4);
    CHECK(read.parts[2].gate == GATE_ASK && read.parts[2].client && read.parts[2].complete &&
          !read.parts[3].complete);
    CHECK_STR(read.parts[0].opaque, "{\"signature\":\"x\"}");
    arena_done(&a);
}

TEST(an_empty_fact_is_an_empty_object)
{
    struct arena a;
    arena_init(&a, 0);
    CHECK_STR(written(&a, &(struct fact){ .kind = FACT_CREATED }), "{}");
    arena_done(&a);
    comes_back(&(struct fact){ .kind = FACT_CREATED });
}

TEST(an_empty_text_is_told_from_an_absent_one)
{
    struct arena a;
    struct fact  read = { 0 };
    arena_init(&a, 0);
    struct fact f = { .kind = FACT_FINISHED, .text = STR("") };
    REQUIRE(fact_read(&a, STR("finished"), written(&a, &f), &read) == OK);
    CHECK(read.text.ptr && read.text.len == 0);
    CHECK(!read.note.ptr);
    arena_done(&a);
}

TEST(nul_bytes_quotes_and_lone_surrogates_survive)
{
    struct fact  f = { .kind = FACT_MESSAGE,
                       .text = { "a\0b\"\\\n\xed\xa0\x80\xf0\x9f\x8e\x89", 13 } };
    struct arena a;
    struct fact  read = { 0 };
    arena_init(&a, 0);
    REQUIRE(fact_read(&a, STR("message"), written(&a, &f), &read) == OK);
    CHECK(str_eq(read.text, f.text));
    arena_done(&a);
}

TEST(members_of_a_newer_version_are_passed_over)
{
    struct arena a;
    struct fact  read = { 0 };
    arena_init(&a, 0);
    REQUIRE(fact_read(&a, STR("message"), STR("{\"text\":\"hi\",\"mood\":{\"deep\":[1]}}"),
                      &read) == OK);
    CHECK_STR(read.text, "hi");
    arena_done(&a);
}

TEST(what_is_no_fact_is_refused)
{
    static const struct {
        const char *kind, *body;
        enum err    want;
    } BAD[] = {
        { "message", "{\"text\":1}", ERR_TYPE },
        { "message", "{\"text\":", ERR_SYNTAX },
        { "finished", "{\"outcome\":\"perhaps\"}", ERR_TYPE },
        { "finished", "{\"ms\":\"1\"}", ERR_TYPE },
        { "finished", "{\"ms\":1.5}", ERR_TYPE },
        { "step", "{\"parts\":{}}", ERR_TYPE },
        { "step", "{\"parts\":[{\"type\":\"song\"}]}", ERR_TYPE },
        { "step",
          "{\"parts\":[{\"type\":\"call\",\"gate\":\"open\",\"call\":\"c\",\"tool\":\"t\"}]}",
          ERR_TYPE },
        { "step", "{\"parts\":[{\"type\":\"call\",\"gate\":\"free\"}]}", ERR_TYPE },
        { "dreamt", "{}", ERR_NOT_FOUND },
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct arena a;
        struct fact  f = { .text = STR("untouched") };
        arena_init(&a, 0);
        CHECK(fact_read(&a, str_c(BAD[i].kind), str_c(BAD[i].body), &f) == BAD[i].want);
        CHECK_STR(f.text, "untouched");
        arena_done(&a);
    }
}
