/* test_id.c -- random names. */
#include "base/id.h"

#include "base/map.h"
#include "test.h"

TEST(an_id_is_its_prefix_and_22_safe_characters)
{
    struct arena a;
    arena_init(&a, 0);
    struct str s = id_new(&a, "run_");
    CHECK(s.len == 4 + ID_LEN && str_starts(s, STR("run_")) && id_valid(s, ID_MAX));
    CHECK(s.ptr[s.len] == 0);
    CHECK(id_new(&a, "").len == ID_LEN);
    arena_done(&a);
}

TEST(ids_do_not_repeat_and_use_every_letter)
{
    struct arena a;
    struct map   seen;
    int          used[256] = { 0 }, letters = 0;
    arena_init(&a, 0);
    map_init(&seen);
    for (int i = 0; i < 2000; i++) {
        struct str s = id_new(&a, "");
        CHECK(!map_get(&seen, s));
        REQUIRE(map_put(&seen, s, &seen) == OK);
        for (size_t k = 0; k < s.len; k++) used[(unsigned char)s.ptr[k]] = 1;
    }
    for (int i = 0; i < 256; i++) letters += used[i];
    CHECK(letters == 64);
    map_done(&seen);
    arena_done(&a);
}

TEST(an_id_without_memory_is_absent)
{
    struct arena a;
    arena_init(&a, 16);
    CHECK(id_new(&a, "x").ptr == NULL);
    arena_done(&a);
}

TEST(only_letters_digits_dash_and_underscore_are_valid)
{
    CHECK(id_valid(STR("aZ09_-"), 6) && !id_valid(STR("aZ09_-"), 5) && !id_valid(STR(""), 5) &&
          !id_valid(STR_NONE, 5));
    for (int c = 0; c < 256; c++) {
        char z = (char)c;
        bool want = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_';
        CHECK(id_valid(str_n(&z, 1), 8) == want);
    }
}

TEST(random_bytes_fill_exactly_what_was_asked)
{
    unsigned char b[66] = { 0 };
    unsigned      any = 0;
    id_bytes(b + 1, 64);
    for (int i = 1; i < 65; i++) any |= b[i];
    CHECK(b[0] == 0 && b[65] == 0 && any != 0);
}

TEST(random_letters_fill_exactly_what_was_asked)
{
    char text[102] = { 0 };
    id_letters(text + 1, 100);
    CHECK(text[0] == 0 && text[101] == 0 && id_valid(str_n(text + 1, 100), 100));
}

TEST(an_id_is_joined_from_its_parts_as_far_as_there_is_room)
{
    char out[16];
    CHECK_STR(id_join(out, sizeof out, "msg", '_', STR("AbC"), 0), "msg_AbC_0");
    CHECK_STR(id_join(out, sizeof out, "msg", '_', STR("AbC"), 1234567), "msg_AbC_1234567");
    CHECK_STR(id_join(out, sizeof out, "run", '-', STR("7"), -1), "run-7");
    CHECK_STR(id_join(out, 8, "run", '-', STR("123456"), 9), "run-1234");
    CHECK_STR(id_join(out, 6, "longer", '-', STR("x"), 9), "longer");
    CHECK_STR(id_join(out, sizeof out, "m", '-', STR_NONE, 9), "m--9");
}
