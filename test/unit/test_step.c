/* The open step: parts that grow, and places in them that stay right when the step is committed. */
#include "run/step.h"
#include "test.h"

static struct parts open_parts(const struct open_step *s)
{
    return (struct parts){ s->parts, s->count, true };
}
static struct parts closed_parts(const struct open_step *s)
{
    return (struct parts){ s->parts, s->count, false };
}

static void some_step(struct open_step *s)
{
    *s = (struct open_step){ 0 };
    step_begin(s);
    REQUIRE(step_text(s, STEP_REASONING, STR("hm")) == OK);
    REQUIRE(step_text(s, STEP_TEXT, STR("Hello, ")) == OK);
    REQUIRE(step_text(s, STEP_TEXT, STR("w\xc3\xb6rld")) == OK);
    REQUIRE(step_call(s, STR("call-1"), STR("p-1"), STR("pay")) != NULL);
    REQUIRE(step_text(s, STEP_CALL, STR("{\"a\"")) == OK);
    REQUIRE(step_text(s, STEP_CALL, STR(":1}")) == OK);
    step_close_part(s);
}

TEST(deltas_of_one_kind_grow_one_part_and_another_kind_begins_the_next)
{
    struct open_step s;
    some_step(&s);
    REQUIRE(s.count == 3);
    CHECK_STR(s.parts[0].text, "hm");
    CHECK_STR(s.parts[1].text, "Hello, w\xc3\xb6rld");
    CHECK_STR(s.parts[2].text, "{\"a\":1}");
    CHECK_STR(s.parts[2].call, "call-1");
    CHECK_STR(s.parts[2].provider_id, "p-1");
    CHECK(s.parts[0].complete && s.parts[1].complete && s.parts[2].complete);
    REQUIRE(step_text(&s, STEP_TEXT, STR("")) == OK);
    CHECK(s.count == 3); /* nothing is no part */
    REQUIRE(step_text(&s, STEP_TEXT, STR("more")) == OK);
    CHECK(s.count == 4 && !s.parts[3].complete);
    step_clear(&s);
    CHECK(!s.active && s.count == 0);
}

TEST(texts_stay_right_when_the_bytes_move)
{
    struct open_step s = { 0 };
    char             word[16];
    step_begin(&s);
    for (int i = 0; i < 2000; i++) {
        snprintf(word, sizeof word, "%d ", i);
        REQUIRE(step_text(&s, i % 10 == 9 ? STEP_REASONING : STEP_TEXT, str_c(word)) == OK);
    }
    REQUIRE(s.count == 400);
    CHECK_STR(s.parts[0].text, "0 1 2 3 4 5 6 7 8 ");
    CHECK_STR(s.parts[1].text, "9 ");
    CHECK_STR(s.parts[399].text, "1999 ");
    step_clear(&s);
}

TEST(what_a_provider_keeps_for_itself_belongs_to_the_open_part)
{
    struct open_step s = { 0 };
    step_begin(&s);
    REQUIRE(step_text(&s, STEP_TEXT, STR("hi")) == OK);
    REQUIRE(step_opaque(&s, STR("{\"signature\":1}")) == OK);
    CHECK_STR(s.parts[0].opaque, "{\"signature\":1}");
    step_close_part(&s);
    REQUIRE(step_opaque(&s, STR("{\"alone\":1}")) == OK);
    REQUIRE(s.count == 2);
    CHECK(s.parts[1].type == STEP_REASONING);
    CHECK_STR(s.parts[1].opaque, "{\"alone\":1}");
    step_clear(&s);
}

TEST(every_place_of_a_step_has_one_piece_and_they_add_up)
{
    struct open_step s;
    some_step(&s);
    struct parts p = closed_parts(&s);
    uint64_t     len = parts_len(p), at = 0;
    size_t       begins = 0, ends = 0;
    char         text[64];
    size_t       n = 0;
    while (at < len) {
        struct piece piece = parts_at(p, at);
        REQUIRE(piece.what != PIECE_NONE);
        if (piece.what == PIECE_BYTES) {
            text[n++] = piece.bytes.ptr[0];
            CHECK(piece.last);
        }
        begins += piece.what == PIECE_BEGIN;
        ends += piece.what == PIECE_END;
        at++;
    }
    CHECK(begins == 3 && ends == 3);
    CHECK_STR(str_n(text, n), "hmHello, w\xc3\xb6rld{\"a\":1}");
    CHECK(parts_at(p, len).what == PIECE_NONE && parts_at(p, len + 100).what == PIECE_NONE);
    step_clear(&s);
}

TEST(a_place_in_the_open_step_means_the_same_in_the_closed_one)
{
    struct open_step s;
    some_step(&s);
    REQUIRE(step_text(&s, STEP_TEXT, STR("and so on")) == OK); /* the last part is still open */
    uint64_t len = parts_len(open_parts(&s));
    CHECK(parts_len(closed_parts(&s)) == len + 1);
    for (uint64_t at = 0; at < len; at++) {
        struct piece a = parts_at(open_parts(&s), at), b = parts_at(closed_parts(&s), at);
        CHECK(a.what == b.what && a.index == b.index && str_eq(a.bytes, b.bytes));
    }
    CHECK(parts_at(open_parts(&s), len).what == PIECE_NONE);
    CHECK(parts_at(closed_parts(&s), len).what == PIECE_END);
    CHECK(!parts_at(open_parts(&s), len - 1).last);
    step_clear(&s);
}
