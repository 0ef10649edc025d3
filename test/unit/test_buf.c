/* test_buf.c -- growable bytes with a cap and a sticky error. */
#include "base/buf.h"

#include "base/arena.h"
#include "test.h"

TEST(a_buf_collects_what_is_added)
{
    struct buf b;
    buf_init(&b, 0);
    buf_add(&b, "a\0b", 3);
    buf_str(&b, STR("-"));
    buf_str(&b, STR_NONE);
    buf_lit(&b, "lit");
    buf_chr(&b, '=');
    buf_u64(&b, 0);
    buf_chr(&b, ',');
    buf_u64(&b, UINT64_MAX);
    buf_chr(&b, ',');
    buf_i64(&b, INT64_MIN);
    buf_i64(&b, 7);
    buf_printf(&b, "[%s:%03d]", "x", 5);
    buf_printf(&b, "%s", "");
    CHECK(
        str_eq(buf_view(&b), STR("a\0b-lit=0,18446744073709551615,-92233720368547758087[x:005]")));
    buf_done(&b);
}

TEST(an_empty_buf_is_an_empty_text)
{
    struct buf b;
    buf_init(&b, 0);
    CHECK(buf_view(&b).ptr != NULL && buf_view(&b).len == 0);
    buf_done(&b);
}

TEST(a_full_buf_takes_nothing_more_not_even_what_would_fit)
{
    struct buf b;
    buf_init(&b, 5);
    buf_lit(&b, "abc");
    buf_lit(&b, "def");
    CHECK(b.err == ERR_FULL);
    buf_chr(&b, 'x');
    buf_u64(&b, 1);
    buf_printf(&b, "%d", 1);
    CHECK(!buf_room(&b, 1));
    CHECK_STR(buf_view(&b), "abc");
    buf_clear(&b);
    CHECK(b.err == OK && b.len == 0);
    buf_lit(&b, "12345");
    CHECK(b.err == OK);
    CHECK_STR(buf_view(&b), "12345");
    buf_done(&b);
}

TEST(a_buf_can_be_filled_to_the_last_byte_by_printing)
{
    struct buf b;
    buf_init(&b, 300);
    buf_printf(&b, "%300d", 1);
    CHECK(b.err == OK && b.len == 300);
    buf_printf(&b, "%s", "");
    CHECK(b.err == OK);
    buf_printf(&b, "1");
    CHECK(b.err == ERR_FULL && b.len == 300);
    buf_done(&b);
}

TEST(a_number_is_added_whole_or_not_at_all)
{
    struct buf b;
    buf_init(&b, 3);
    buf_i64(&b, -123);
    CHECK(b.err == ERR_FULL && b.len == 0);
    buf_done(&b);
}

TEST(no_memory_is_a_sticky_error_and_keeps_what_was_there)
{
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, "kept");
    mem_fail_at(0);
    buf_room(&b, 100000);
    mem_fail_at(-1);
    CHECK(b.err == ERR_NOMEM);
    buf_lit(&b, "more");
    CHECK_STR(buf_view(&b), "kept");
    buf_done(&b);
}

TEST(an_impossible_length_is_refused)
{
    struct buf b;
    buf_init(&b, 0);
    buf_chr(&b, 'x');
    CHECK(!buf_room(&b, SIZE_MAX) && b.err == ERR_FULL);
    buf_done(&b);
}

TEST(room_can_be_filled_from_outside)
{
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, "ab");
    char *p = buf_room(&b, 1000);
    REQUIRE(p);
    memcpy(p, "cd", 2);
    buf_grew(&b, 2);
    CHECK_STR(buf_view(&b), "abcd");
    buf_done(&b);
}

TEST(bytes_can_leave_at_the_front_and_at_the_end)
{
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, "abcdef");
    buf_eat(&b, 2);
    CHECK_STR(buf_view(&b), "cdef");
    buf_truncate(&b, 3);
    CHECK_STR(buf_view(&b), "cde");
    buf_truncate(&b, 10);
    CHECK_STR(buf_view(&b), "cde");
    buf_eat(&b, 0);
    buf_eat(&b, 3);
    CHECK(b.len == 0);
    buf_done(&b);
}

TEST(clearing_keeps_memory_and_shrinking_gives_it_back)
{
    struct buf b;
    buf_init(&b, 0);
    buf_room(&b, 10000);
    buf_chr(&b, 'x');
    buf_shrink(&b, 100);
    CHECK(b.cap >= 10000); /* not empty */
    buf_clear(&b);
    CHECK(b.cap >= 10000);
    buf_shrink(&b, 100);
    CHECK(b.cap == 100);
    buf_lit(&b, "ok");
    CHECK_STR(buf_view(&b), "ok");
    buf_clear(&b);
    buf_shrink(&b, 0);
    CHECK(b.cap == 0 && !b.ptr);
    buf_lit(&b, "again");
    CHECK_STR(buf_view(&b), "again");
    buf_done(&b);
}

TEST(growing_by_single_bytes_allocates_rarely)
{
    struct buf b;
    long       before = mem_count();
    buf_init(&b, 0);
    for (int i = 0; i < 1000000; i++) buf_chr(&b, (char)i);
    CHECK(b.len == 1000000 && mem_count() - before < 20);
    buf_done(&b);
}

TEST(a_fitted_buffer_keeps_its_bytes_and_may_still_grow)
{
    struct buf b;
    buf_init(&b, 0);
    buf_fit(&b); /* empty: nothing to do */
    for (int i = 0; i < 1000; i++) buf_lit(&b, "abc");
    buf_fit(&b);
    CHECK(b.cap == 3000 && b.len == 3000 && !b.err);
    buf_lit(&b, "d");
    CHECK(b.len == 3001 && b.ptr[0] == 'a' && b.ptr[3000] == 'd');
    buf_done(&b);
}

TEST(what_was_built_moves_into_an_arena_whole_or_not_at_all)
{
    struct arena a;
    struct buf   b;

    arena_init(&a, 0);
    buf_init(&b, 0);
    buf_lit(&b, "whole");
    CHECK_STR(buf_into(&b, &a), "whole");
    buf_init(&b, 4);
    buf_lit(&b, "too long");
    CHECK(!buf_into(&b, &a).ptr);
    arena_done(&a);
}
