/* test_glyph.c -- what shows nothing, and which names are taken for one. */
#include "base/glyph.h"

#include "test.h"

TEST(characters_that_show_nothing_are_hidden)
{
    static const uint32_t hidden[] = {
        0,      '\t',    '\n',    0x7f,    0x85,    0xa0,    0xad,    0x34f,   0x61c,
        0x115f, 0x1160,  0x180e,  0x200b,  0x200d,  0x200e,  0x200f,  0x2028,  0x2029,
        0x202a, 0x202e,  0x2060,  0x2066,  0x2069,  0x206f,  0x2800,  0x3164,  0xd800,
        0xfe0f, 0xfeff,  0xffa0,  0xfff9,  0xffff,  0xe0001, 0xe0041, 0xe01ef, 0x70f,
        0xfdd0, 0x13441, 0x16fe4, 0x1bca0, 0x1d159, 0xe0fff
    };
    static const uint32_t shown[] = { ' ',   '!',   'a',    '~',    0xa1,   0xe9,
                                      0x391, 0x5d0, 0x3000, 0x6c34, 0xfffd, 0x1f600 };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) CHECK(glyph_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) CHECK(!glyph_hidden(shown[i]));
}

TEST(digits_of_every_script_and_dress_are_digits)
{
    static const struct {
        uint32_t cp;
        int      value;
    } table[] = { { '0', 0 },     { '9', 9 },      { 0xb2, 2 },     { 0xb9, 1 },     { 0x661, 1 },
                  { 0x6f9, 9 },   { 0x966, 0 },    { 0xe53, 3 },    { 0x2074, 4 },   { 0x2089, 9 },
                  { 0x2460, 1 },  { 0x24ea, 0 },   { 0xff15, 5 },   { 0x1d7d8, 0 },  { 0x1d7ff, 9 },
                  { 0x1fbf9, 9 }, { '/', -1 },     { ':', -1 },     { 'a', -1 },     { 0xb1, -1 },
                  { 0xb4, -1 },   { 0x66a, -1 },   { 0x2469, -1 },  { 0x4e00, -1 },  { 0x200b, -1 },
                  { 0xff1a, -1 }, { 0x1d800, -1 }, { 0x1fbfa, -1 }, { 0x10ffff, -1 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CHECK(glyph_digit(table[i].cp) == table[i].value);
}

static bool alike(const char *a, const char *b)
{
    bool one = glyph_alike(str_c(a), str_c(b));
    CHECK(one == glyph_alike(str_c(b), str_c(a)));
    return one;
}

TEST(names_that_differ_in_case_marks_width_or_gaps_are_alike)
{
    CHECK(alike("amount", "AMOUNT") && alike("transferAmount", "transfer_amount") &&
          alike("transfer-amount", "Transfer Amount"));
    CHECK(alike("kind", "\u212aind") && alike("sum", "\u017fum") && alike("id", "\u0130D") &&
          alike("id", "\u0131d"));
    CHECK(alike("café", "CAFE\u0301") && alike("ångström", "\u212bngstrom") &&
          alike("straße", "STRA\u1e9eE"));
    CHECK(alike("сумма", "СУММА") && alike("ёлка", "Ёлка") && alike("ποσός", "ΠΟΣΌΣ") &&
          alike("գին", "Գին") && alike("ǆ", "ǆ"));
    CHECK(alike("ａｂ１", "AB1") && alike("𝔸𝒷", "ab") && alike("ⓐ", "a") && alike("µ", "Μ") &&
          alike("ḋ", "Ḋ") && alike("ǎ", "Ǎ") && alike("ɏ", "Ɏ"));
    CHECK(alike("amount", "amo\u01d4nt") && alike("to", "t\u1ecd") &&
          alike("amount", "a\u1e3fount") && alike("to", "t\u2134") && alike("to", "\u1d57o") &&
          alike("m1", "\u217f\u00b9"));
    CHECK(alike("pay_to", "pay\u203fto") && alike("pay_to", "pay\ufe63to") &&
          alike("z", "\u01b6") && alike("b", "\u0253"));
    CHECK(alike("", "_") && alike("\u200b", "") && alike("金額", "金額"));
}

TEST(other_names_are_not_alike)
{
    CHECK(!alike("amount", "amounts") && !alike("a", "") && !alike("a", "b") &&
          !alike("a1", "a2") && !alike("a.b", "ab") && !alike("金額", "金"));
    CHECK(!alike("а", "a")); /* Cyrillic and Latin: no program takes one for the other */
}

static bool shows(const char *text, enum glyph_way way, const char *want)
{
    struct buf b;
    buf_init(&b, 0);
    glyph_show(&b, str_c(text), way);
    bool same = str_is(buf_view(&b), want);
    if (!same) printf("%.*s\n", (int)b.len, b.ptr ? b.ptr : "");
    buf_done(&b);
    return same;
}

TEST(a_text_keeps_its_lines_and_does_nothing_to_a_terminal)
{
    CHECK(shows("one\r\ntwo\tthree\n", GLYPH_TEXT, "one\ntwo three\n"));
    CHECK(shows("\x1b[2J\x07\xc2\x9b", GLYPH_TEXT, "\\u{001B}[2J\\u{0007}\\u{009B}"));
    CHECK(shows("\u202eabc\u2066", GLYPH_TEXT, "\\u{202E}abc\\u{2066}"));
    CHECK(shows("12\u202f000\u00a0\u20ac \u2764\ufe0f co\u00adop", GLYPH_TEXT,
                "12 000 \u20ac \u2764 coop"));
    CHECK(shows("\u0301e", GLYPH_TEXT, "\u0301e") && shows("\u0301e", GLYPH_LINE, "\\u{0301}e"));
    CHECK(shows("a\nb", GLYPH_LINE, "a b") && shows("a\"\n", GLYPH_QUOTED, "\"a\\\"\\n\""));
}
