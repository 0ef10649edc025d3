/* test_spend.c -- what models cost: exact, in millionths. */
#include "run/spend.h"
#include "test.h"

TEST(a_part_of_a_millionth_counts_as_one_and_nothing_is_lost_in_between)
{
    /* 3 and 15 dollars a million */
    CHECK(spend_cost(1000000, 1000000, 3000000, 15000000) == 18000000);
    CHECK(spend_cost(20, 12, 3000000, 15000000) == 240);
    CHECK(spend_cost(1, 0, 1, 0) == 1);
    CHECK(spend_cost(1000000, 0, 1, 0) == 1);
    CHECK(spend_cost(1000001, 0, 1, 0) == 2);
    CHECK(spend_cost(1, 1, 75000, 300000) == 1);     /* 0.375 of one */
    CHECK(spend_cost(7, 3, 1234567, 7654321) == 32); /* 31.604932 */
    CHECK(spend_cost(0, 0, 3000000, 15000000) == 0);
    CHECK(spend_cost(123, 456, 0, 0) == 0);
}

TEST(the_dearest_price_and_the_longest_step_have_room)
{
    int64_t dearest = INT64_C(1000000000000); /* a million for a million tokens */
    CHECK(spend_cost(1000000000, 1000000000, dearest, dearest) == INT64_C(2000000000000000));
    CHECK(spend_cost(INT64_MAX, INT64_MAX, dearest, dearest) == INT64_C(2000000000000000));
}

TEST(a_day_ends_at_midnight)
{
    CHECK(spend_day(86399999) == 0 && spend_day(86400000) == 1);
}
