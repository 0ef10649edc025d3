/* test_guise.c -- words that look like other words are spelled out, ordinary ones are left alone. */
#include "test.h"

#include "base/guise.h"

static bool shows(const char *text, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    guise_show(&b, str_c(text));
    bool same = str_is(buf_view(&b), want);
    if (!same) printf("%.*s\n", (int)b.len, b.ptr ? b.ptr : "");
    buf_done(&b);
    return same;
}

static bool names(const char *text, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    guise_name(&b, str_c(text));
    bool same = str_is(buf_view(&b), want);
    if (!same) printf("%.*s\n", (int)b.len, b.ptr ? b.ptr : "");
    buf_done(&b);
    return same;
}

TEST(ordinary_text_of_many_languages_is_no_guise)
{
    static const char *const texts[] = { "",
                                         "Send 50 USD to Hanako?",
                                         "Straße 5",
                                         "привет, как дела?",
                                         "он и она",
                                         "東京都 港区",
                                         "مرحبا",
                                         "naïve café",
                                         "α, β und γ",
                                         "ＡＢＣ",
                                         "two  blanks\n",
                                         "{\n    \"a\": 1,\n\t\t\"b\": 2\n}",
                                         "東京\u3000太郎",
                                         "Việt Nam",
                                         "Işık",
                                         "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
                                         "ⲙⲛ̄ⲧϭⲟⲙ",
                                         "المبلغ \u0665\u0660",
                                         "7:30",
                                         "1/2",
                                         "m²" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CHECK(shows(texts[i], texts[i]));
}

TEST(letters_that_only_look_latin_are_spelled_out)
{
    CHECK(shows("to p\u0430ypal now", "to p\\u{0430}ypal now"));
    CHECK(shows("\u0440\u0430\u0443", "\\u{0440}\\u{0430}\\u{0443}"));
    CHECK(shows("Send to \u0410BC?", "Send to \\u{0410}BC?"));
    CHECK(shows("\u039f5", "\\u{039F}5"));
    CHECK(shows("\U0001d407\U0001d41an", "\\u{1D407}\\u{1D41A}n"));
    CHECK(shows("\uff22ob", "\\u{FF22}ob"));
    CHECK(shows("g\u03bfogle.com", "g\\u{03BF}ogle.com"));
}

TEST(words_wholly_of_letters_that_look_latin_are_spelled_out)
{
    CHECK(shows("\ua4e7\ua4ee", "\\u{A4E7}\\u{A4EE}"));
    CHECK(shows("\u13da\u13bb\u13ac", "\\u{13DA}\\u{13BB}\\u{13AC}"));
    CHECK(shows("\u2c9f\u2ca3", "\\u{2C9F}\\u{2CA3}"));
    CHECK(shows("\u2d54x", "\\u{2D54}x"));
    CHECK(shows("\U00010404", "\\u{10404}"));
    CHECK(shows("привет \u13da\u13bb", "привет \\u{13DA}\\u{13BB}"));
    CHECK(shows("\u0131nvoice Mar\u0131a", "\\u{0131}nvoice Mar\\u{0131}a"));
    CHECK(shows("{\"a\":\"Işık\",\"b\":\"\u0131n\"}", "{\"a\":\"Işık\",\"b\":\"\\u{0131}n\"}"));
    CHECK(shows("Hanako\u01c3", "Hanako\\u{01C3}"));
}

TEST(signs_points_strokes_and_digits_are_spelled_out)
{
    CHECK(shows("H\u0251nako \u0261oogle paypa\u217c",
                "H\\u{0251}nako \\u{0261}oogle paypa\\u{217C}"));
    CHECK(shows("5\u0335000 5\u03360\u0336", "5\\u{0335}000 5\\u{0336}0\\u{0336}"));
    CHECK(shows("bank.com\u2044evil a\u2024b a\u0589b",
                "bank.com\\u{2044}evil a\\u{2024}b a\\u{0589}b"));
    CHECK(shows("https:\u2215\u2215b", "https:\\u{2215}\\u{2215}b"));
    CHECK(shows("a\u2024\u2024 \u201aso\u2018", "a\u2024\u2024 \u201aso\u2018"));
    CHECK(shows("\u0660\u0665 \u09ea4", "\\u{0660}\\u{0665} \\u{09EA}4"));
    CHECK(shows("\u0966\u0967", "\\u{0966}\\u{0967}"));
}

TEST(ends_of_lines_and_tabs_in_a_name_are_spelled_out)
{
    CHECK(names("recipient\n\namount", "recipient\\u{000A × 2}amount"));
    CHECK(names("a\r\n\tb\n c", "a\\u{000D}\\u{000A}\\u{0009}b\\u{000A} c"));
    CHECK(names("a\n    b\n", "a\\u{000A}\\u{0020 × 4}b\\u{000A}"));
    CHECK(names("first name, \u6771\u4eac\u3000\u592a\u90ce p\u0430y",
                "first name, \u6771\u4eac\u3000\u592a\u90ce p\\u{0430}y"));
    CHECK(names("", ""));
}

TEST(blanks_that_push_what_follows_away_are_counted)
{
    char text[512];
    snprintf(text, sizeof text, "Hanako%400sMallory", "");
    CHECK(shows(text, "Hanako\\u{0020 × 400}Mallory"));
    CHECK(shows("amount ", "amount\\u{0020}") && shows("  a", "\\u{0020 × 2}a"));
    CHECK(shows(" ", "\\u{0020}") && shows("a\t\tb", "a\\u{0009 × 2}b"));
    CHECK(shows("a\u3000\u3000b", "a\\u{3000 × 2}b") && shows("a\n   \nb", "a\n   \nb"));
    CHECK(shows("a\u200b\u200bb", "a\\u{200B × 2}b") &&
          shows("a\u0301\u0302\u0303", "a\u0301\u0302\\u{0303}"));
    CHECK(shows("\xff", "\ufffd") && shows("a\r\nb", "a\\u{000D}\nb"));
}
