/* test_str.c -- borrowed text. */
#include "base/str.h"

#include <limits.h>

#include "test.h"

TEST(texts_compare_bytewise_and_the_shorter_is_first)
{
    CHECK(str_cmp(STR("a"), STR("b")) < 0 && str_cmp(STR("b"), STR("a")) > 0 &&
          str_cmp(STR("a"), STR("a")) == 0);
    CHECK(str_cmp(STR("a"), STR("aa")) < 0 && str_cmp(STR("aa"), STR("a")) > 0);
    CHECK(str_cmp(STR("a\0b"), STR("a\0c")) < 0 && str_cmp(STR("\x7f"), STR("\x80")) < 0);
    CHECK(str_cmp(STR_NONE, STR("")) == 0 && str_cmp(STR_NONE, STR("a")) < 0);
}

TEST(equality_knows_lengths_and_nul)
{
    CHECK(str_eq(STR("a\0b"), STR("a\0b")) && !str_eq(STR("a\0b"), STR("a\0c")) &&
          !str_eq(STR("a"), STR("ab")));
    CHECK(str_eq(STR_NONE, STR("")) && str_is(STR("x"), "x") && !str_is(STR("x\0"), "x"));
}

TEST(case_is_ignored_for_ascii_letters_only)
{
    CHECK(str_eq_nocase(STR("Content-TYPE"), STR("content-type")) &&
          !str_eq_nocase(STR("a"), STR("b")));
    CHECK(!str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")) && !str_eq_nocase(STR("@"), STR("`")));
    CHECK(!str_eq_nocase(STR("["), STR("{")) && !str_eq_nocase(STR("a"), STR("aa")) &&
          str_eq_nocase(STR_NONE, STR("")));
}

TEST(trim_takes_white_space_off_both_ends)
{
    CHECK_STR(str_trim(STR(" \t\r\n\v\f a b \n")), "a b");
    CHECK_STR(str_trim(STR("ab")), "ab");
    CHECK_STR(str_trim(STR("  ")), "");
    CHECK(str_trim(STR_NONE).ptr == NULL);
}

TEST(find_gives_the_first_place_or_minus_one)
{
    CHECK(str_find(STR("abcabc"), STR("bc")) == 1 && str_find(STR("abc"), STR("x")) == -1);
    CHECK(str_find(STR("abc"), STR("")) == 0 && str_find(STR_NONE, STR("a")) == -1 &&
          str_find(STR("a"), STR("ab")) == -1);
    CHECK(str_find(STR("a\0b"), STR("\0b")) == 1);
}

static int pieces(struct str rest, struct str *last)
{
    int n = 0;
    while (str_split(&rest, ',', last)) n++;
    return n;
}

TEST(split_gives_every_piece_also_the_empty_ones)
{
    struct str rest = STR("a,,b"), piece = STR_NONE;
    CHECK(str_split(&rest, ',', &piece) && str_is(piece, "a"));
    CHECK_STR(rest, ",b");
    CHECK(str_split(&rest, ',', &piece) && str_is(piece, ""));
    CHECK(str_split(&rest, ',', &piece) && str_is(piece, "b"));
    CHECK(!str_split(&rest, ',', &piece) && str_is(piece, "b"));
    CHECK(pieces(STR("a,"), &piece) == 2 && str_is(piece, ""));
    CHECK(pieces(STR(""), &piece) == 1);
    CHECK(pieces(STR(","), &piece) == 2);
    CHECK(pieces(STR_NONE, &piece) == 0);
}

TEST(decimal_numbers_are_read_whole_or_not_at_all)
{
    uint64_t v = 7;
    CHECK(str_to_u64(STR("0"), &v) && v == 0);
    CHECK(str_to_u64(STR("18446744073709551615"), &v) && v == UINT64_MAX);
    v = 7;
    static const char *const bad[] = { "",
                                       "00",
                                       "01",
                                       "-1",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1x",
                                       "0x1",
                                       "18446744073709551616",
                                       "99999999999999999999999" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!str_to_u64(str_c(bad[i]), &v) && v == 7);
    CHECK(!str_to_u64(STR("1\0"), &v) && !str_to_u64(STR_NONE, &v));
}

TEST(a_token_is_what_http_calls_one)
{
    static const char others[] = "\"(),/:;<=>?@[\\]{}";
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        CHECK(str_is_token(str_n(&c, 1)) == (i > ' ' && i < 127 && !strchr(others, i)));
    }
    CHECK(str_is_token(STR("X-Request-Id")) && !str_is_token(STR("X-\0")) &&
          !str_is_token(STR("a b")));
    CHECK(!str_is_token(STR("")) && !str_is_token(STR_NONE));
}

TEST(the_hash_depends_on_every_byte_and_the_length)
{
    char     text[40] = { 0 };
    uint64_t seen[80];
    size_t   n = 0;
    for (size_t len = 0; len < 40; len++) seen[n++] = str_hash(str_n(text, len));
    for (size_t i = 0; i < 40; i++) {
        text[i] = 1;
        seen[n++] = str_hash(str_n(text, 40));
        text[i] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) CHECK(seen[i] != seen[j]);
    CHECK(str_hash(STR("same")) == str_hash(STR("same")) &&
          str_hash(STR_NONE) == str_hash(STR("")));
}

TEST(secrets_compare_equal_only_when_they_are)
{
    CHECK(str_eq_secret(STR("secret"), STR("secret")) && str_eq_secret(STR(""), STR_NONE));
    CHECK(!str_eq_secret(STR("secret"), STR("secreT")) &&
          !str_eq_secret(STR("xecret"), STR("secret")));
    CHECK(!str_eq_secret(STR("secret"), STR("secre")) && !str_eq_secret(STR(""), STR("a")));
}

TEST(the_edit_distance_counts_changes)
{
    CHECK(str_distance(STR("kitten"), STR("sitting")) == 3 &&
          str_distance(STR("port"), STR("port")) == 0);
    CHECK(str_distance(STR(""), STR("abc")) == 3 && str_distance(STR("abc"), STR_NONE) == 3);
    CHECK(str_distance(STR("flaw"), STR("lawn")) == 2 && str_distance(STR("ab"), STR("ba")) == 2);
}

TEST(the_edit_distance_of_long_texts_is_not_computed)
{
    char text[65];
    memset(text, 'x', sizeof text);
    CHECK(str_distance(str_n(text, 64), str_n(text, 64)) == 0);
    CHECK(str_distance(str_n(text, 65), STR("x")) == UINT_MAX &&
          str_distance(STR("x"), str_n(text, 65)) == UINT_MAX);
}

TEST(views_never_leave_their_text)
{
    CHECK_STR(str_from(STR("abc"), 1), "bc");
    CHECK_STR(str_from(STR("abc"), 9), "");
    CHECK_STR(str_cut(STR("abc"), 2), "ab");
    CHECK_STR(str_cut(STR("abc"), 9), "abc");
    CHECK(str_from(STR_NONE, 1).ptr == NULL);
    CHECK(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")) &&
          str_starts(STR_NONE, STR("")));
    CHECK(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")) &&
          str_ends(STR("a"), STR_NONE));
}
