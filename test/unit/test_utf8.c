/* test_utf8.c -- strict UTF-8. */
#include "base/utf8.h"

#include "test.h"

TEST(every_character_encodes_and_decodes)
{
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char     bytes[4];
        uint32_t back = 0;
        unsigned n = utf8_encode(cp, bytes);
        bool     surrogate = cp >= 0xD800 && cp <= 0xDFFF;
        if (utf8_decode(str_n(bytes, n), &back) != n || back != cp ||
            utf8_valid(str_n(bytes, n)) == surrogate)
            CHECK(!"a character is not itself again");
    }
}

TEST(what_is_no_character_encodes_as_the_replacement)
{
    char bytes[4];
    CHECK(utf8_encode(0x110000, bytes) == 3 && memcmp(bytes, "\xef\xbf\xbd", 3) == 0);
}

TEST(bad_bytes_are_refused)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3\x28",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xe2\x82",
        "\xe2\x28\xa1",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x9f\x98",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xf8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[40];
        for (size_t before = 0; before < 20; before++) {
            snprintf(text, sizeof text, "%.*s%s.", (int)before, "aaaaaaaaaaaaaaaaaaaa", bad[i]);
            CHECK(!utf8_valid(str_c(text)));
            CHECK(utf8_prefix(str_c(text), NULL) == before);
        }
    }
    CHECK(utf8_valid(STR("")) && utf8_valid(STR_NONE) && utf8_valid(STR("a\0b")) &&
          utf8_valid(STR("caf\xc3\xa9 \xf0\x9f\x98\x80")));
}

static size_t prefix(struct str s, bool want_cut)
{
    bool   cut = !want_cut;
    size_t n = utf8_prefix(s, &cut);
    CHECK(cut == want_cut);
    return n;
}

TEST(an_unfinished_character_is_told_from_a_bad_one)
{
    CHECK(prefix(STR("ab"), false) == 2);
    CHECK(prefix(STR("ab\xc3"), true) == 2);
    CHECK(prefix(STR("\xe2\x82"), true) == 0 && prefix(STR("\xf0\x9f\x98"), true) == 0 &&
          prefix(STR("\xf0"), true) == 0);
    CHECK(prefix(STR("\xed\x9f"), true) == 0 && prefix(STR("\xf4\x8f\xbf"), true) == 0);
    CHECK(prefix(STR("a\xff"), false) == 1 && prefix(STR("a\x80"), false) == 1);
    CHECK(prefix(STR("\xe0\x80"), false) == 0 && prefix(STR("\xed\xa0"), false) == 0 &&
          prefix(STR("\xf4\x90"), false) == 0);
    CHECK(prefix(STR("\xf0\x9f\x28"), false) == 0 && prefix(STR("\xe2x"), false) == 0 &&
          prefix(STR("\xc3x"), false) == 0);
    CHECK(prefix(STR("\xe2\x82x"), false) == 0 && prefix(STR("\xed\xa0\x80"), false) == 0);
}

TEST(a_bad_byte_decodes_as_one_replacement)
{
    uint32_t cp;
    CHECK(utf8_decode(STR("\xff"), &cp) == 1 && cp == 0xFFFD);
    CHECK(utf8_decode(STR("\xe2\x82"), &cp) == 1 && cp == 0xFFFD);
    CHECK(utf8_decode(STR("\xc0\x80"), &cp) == 1 && cp == 0xFFFD);
    CHECK(utf8_decode(STR("\xed\xa0\x80"), &cp) == 3 && cp == 0xD800);
    CHECK(utf8_decode(STR("\0"), &cp) == 1 && cp == 0);
}

TEST(a_cut_never_splits_a_character)
{
    struct str          s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    static const size_t want[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11 };
    for (size_t max = 0; max < sizeof want / sizeof *want; max++)
        CHECK(utf8_cut(s, max) == want[max]);
    CHECK(utf8_cut(STR_NONE, 5) == 0);
}

TEST(what_is_no_text_is_cut_anywhere)
{
    CHECK(utf8_cut(STR("\x80\x80\x80\x80\x80\x80\x80\x80"), 6) == 6);
    CHECK(utf8_cut(STR("\x80\x80\x80\x80"), 2) == 0);
}

TEST(characters_are_counted_and_taken)
{
    struct str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff");
    CHECK(utf8_count(s) == 5 && utf8_count(STR("")) == 0);
    static const size_t want[] = { 0, 1, 3, 6, 10, 11, 11 };
    for (size_t n = 0; n < 7; n++) CHECK(utf8_take(s, n) == want[n]);
}
