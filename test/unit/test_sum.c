/* test_sum.c -- the rows' checksum is the published one, and no flipped bit passes it. */
#include "store/sum.h"
#include "test.h"

static uint64_t of(struct str t)
{
    struct sum s = SUM_BEGIN;
    sum_init();
    sum_bytes(&s, t.ptr, t.len);
    return sum_end(&s);
}

TEST(the_checksum_is_crc_64_xz)
{
    CHECK(of(STR("123456789")) == UINT64_C(0x995DC9BBDF1939FA));
    CHECK(of(STR("")) == 0);
}

TEST(every_single_flipped_bit_changes_the_checksum)
{
    char     text[67];
    uint64_t whole;

    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7);
    whole = of(str_n(text, sizeof text));
    for (size_t bit = 0; bit < sizeof text * 8; bit++) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        CHECK(of(str_n(text, sizeof text)) != whole);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
}

TEST(members_cannot_lend_each_other_letters)
{
    struct sum a = SUM_BEGIN, b = SUM_BEGIN;

    sum_text(&a, STR("ann")), sum_text(&a, STR("a"));
    sum_text(&b, STR("an")), sum_text(&b, STR("na"));
    CHECK(sum_end(&a) != sum_end(&b));
}
