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

TEST(ordinary_text_of_many_languages_is_no_guise)
{
    static const char *const texts[] = { "",
                                         " ",
                                         "Send 50 USD to Hanako?",
                                         "Straße 5",
                                         "привет, как дела?",
                                         "он и она",
                                         "東京都 港区",
                                         "مرحبا",
                                         "naïve café",
                                         "α, β und γ",
                                         "ＡＢＣ",
                                         "  two  blanks\n",
                                         "\xff\xfe" };
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
