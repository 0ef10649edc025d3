/* test_id.c -- random names. */
#include "base/id.h"
#include "test.h"

TEST(an_id_is_its_prefix_and_22_safe_characters)
{
    struct arena a;
    arena_init(&a, 0);
    struct str s = id_new(&a, "run_");
    CHECK(s.len == 4 + ID_LEN);
    CHECK(str_starts(s, STR("run_")));
    CHECK(id_valid(s, ID_MAX));
    arena_done(&a);
}
