/* test_arena.c -- the bump allocator and the door to the heap. */
#include "base/arena.h"

#include "test.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

static bool all_zero(const char *p, size_t n)
{
    while (n--)
        if (*p++) return false;
    return true;
}

TEST(arena_memory_is_aligned_and_zero_also_after_a_reset)
{
    struct arena a;
    arena_init(&a, 0);
    for (int round = 0; round < 3; round++) {
        for (size_t n = 0; n < 300; n += 7) {
            char *p = arena_alloc(&a, n);
            REQUIRE(p);
            CHECK((uintptr_t)p % 16 == 0 && all_zero(p, n));
            memset(p, 0xAA, n);
        }
        arena_reset(&a);
        CHECK(a.used == 0);
    }
    arena_done(&a);
}

TEST(pieces_do_not_overlap)
{
    struct arena a;
    char        *p[200];
    arena_init(&a, 0);
    for (int i = 0; i < 200; i++) memset(p[i] = arena_alloc(&a, 100), i, 100);
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < 100; k++) CHECK((unsigned char)p[i][k] == i);
    arena_done(&a);
}

TEST(an_unused_arena_allocates_nothing)
{
    long         before = mem_count();
    struct arena a;
    arena_init(&a, 0);
    arena_reset(&a);
    arena_done(&a);
    CHECK(mem_count() == before);
}

TEST(a_reset_arena_is_used_again_without_allocating)
{
    struct arena a;
    arena_init(&a, 0);
    arena_alloc(&a, 100);
    arena_reset(&a);
    long before = mem_count();
    arena_alloc(&a, 100);
    CHECK(mem_count() == before);
    arena_done(&a);
}

TEST(an_arena_stops_at_its_limit_and_remembers)
{
    struct arena a;
    arena_init(&a, 64);
    CHECK(arena_alloc(&a, 64) && !a.failed);
    CHECK(!arena_alloc(&a, 1) && a.failed);
    arena_reset(&a);
    CHECK(!a.failed && arena_alloc(&a, 16));
    CHECK(!arena_alloc(&a, 49) && arena_alloc(&a, 48) && a.failed);
    arena_done(&a);
}

TEST(a_large_piece_gets_a_chunk_of_its_own)
{
    struct arena a;
    arena_init(&a, 0);
    char *p = arena_alloc(&a, 1), *big = arena_alloc(&a, 3000000), *q = arena_alloc(&a, 1);
    REQUIRE(p && big && q);
    memset(big, 1, 3000000);
    CHECK(*q == 0);
    arena_done(&a);
}

TEST(impossible_sizes_fail_instead_of_wrapping)
{
    struct arena a;
    arena_init(&a, 0);
    CHECK(!arena_alloc(&a, SIZE_MAX) && !arena_alloc(&a, SIZE_MAX - 15) &&
          !arena_alloc(&a, SIZE_MAX - 40));
    CHECK(a.failed);
    arena_reset(&a);
    CHECK(!arena_array(&a, SIZE_MAX / 2, 3) && a.failed);
    arena_reset(&a);
    CHECK(arena_array(&a, 3, 5) && !a.failed);
    CHECK(arena_dup(&a, str_n("x", SIZE_MAX)).ptr == NULL);
    arena_done(&a);
}

TEST(a_copy_ends_with_a_nul_and_absent_stays_absent)
{
    struct arena a;
    arena_init(&a, 0);
    struct str s = arena_dup(&a, STR("a\0b"));
    CHECK(s.len == 3 && memcmp(s.ptr, "a\0b", 4) == 0);
    CHECK(arena_dup(&a, STR_NONE).ptr == NULL && !a.failed);
    CHECK(arena_dup(&a, STR("")).ptr != NULL);
    arena_done(&a);
}

TEST(printing_into_an_arena_gives_the_whole_text)
{
    struct arena a;
    arena_init(&a, 0);
    struct str s = arena_printf(&a, "%s-%d", "run", 42);
    CHECK_STR(s, "run-42");
    CHECK(s.ptr[s.len] == 0);
    s = arena_printf(&a, "%5000d", 1);
    CHECK(s.len == 5000);
    arena_done(&a);
}

TEST(a_failed_copy_is_absent_and_remembered)
{
    struct arena a;
    arena_init(&a, 16);
    CHECK(arena_dup(&a, STR("0123456789abcdef")).ptr == NULL && a.failed);
    arena_reset(&a);
    CHECK(arena_printf(&a, "%s", "0123456789abcdef").ptr == NULL && a.failed);
    arena_done(&a);
}

TEST(the_nth_allocation_can_be_made_to_fail)
{
    mem_fail_at(2);
    void *a = mem_alloc(1), *b = mem_realloc(NULL, 1), *c = mem_alloc(1), *d = mem_realloc(NULL, 1);
    mem_fail_at(-1);
    void *e = mem_alloc(1);
    CHECK(a && b && !c && !d && e);
    mem_free(a);
    mem_free(b);
    mem_free(e);
    mem_free(NULL);
}

TEST(an_arena_without_memory_fails_and_recovers)
{
    struct arena a;
    arena_init(&a, 0);
    mem_fail_at(0);
    CHECK(!arena_alloc(&a, 1));
    mem_fail_at(-1);
    CHECK(a.failed && arena_alloc(&a, 1));
    arena_done(&a);
}

TEST(allocations_are_counted_and_zeroed)
{
    long  before = mem_count();
    char *p = mem_alloc(64), *q = mem_alloc(0);
    CHECK(mem_count() == before + 2 && p && q && all_zero(p, 64));
    p = mem_realloc(p, 0);
    CHECK(p && mem_count() == before + 3);
    mem_free(p);
    mem_free(q);
}

#ifdef HAVE_ASAN
TEST(the_sanitizer_sees_reads_past_a_piece_and_after_a_reset)
{
    struct arena a;
    arena_init(&a, 0);
    char *p = arena_alloc(&a, 16), *q = arena_alloc(&a, 5);
    CHECK(!__asan_address_is_poisoned(p + 15) && __asan_address_is_poisoned(p + 16));
    CHECK(!__asan_address_is_poisoned(q + 4) && __asan_address_is_poisoned(q + 5));
    arena_reset(&a);
    CHECK(__asan_address_is_poisoned(p) && __asan_address_is_poisoned(q));
    arena_done(&a);
}
#endif
