/* test_order.c -- which letters are read from right to left, and what stands beside them. */
#include "test.h"

#include "base/buf.h"
#include "base/order.h"

/* The text with each stretch in brackets. */
static bool stands(const char *text, const char *want)
{
    struct buf b;
    struct str s = str_c(text);
    buf_init(&b, 0);
    while (s.len) {
        size_t plain = order_plain(s), back = order_stretch(str_from(s, plain));
        buf_str(&b, str_cut(s, plain));
        if (back) buf_printf(&b, "[" STR_FMT "]", STR_ARG(str_n(s.ptr + plain, back)));
        s = str_from(s, plain + back);
    }
    bool same = str_is(buf_view(&b), want);
    if (!same) printf("%.*s\n", (int)b.len, b.ptr ? b.ptr : "");
    buf_done(&b);
    return same;
}

TEST(words_of_hebrew_and_arabic_are_one_stretch)
{
    CHECK(stands("דני כהן", "[דני כהן]") && stands("ש\"ח", "[ש\"ח]"));
    CHECK(stands("شكرا، يا سارة!", "[شكرا، يا سارة]!"));
    CHECK(stands("שלום, עולם", "[שלום, עולם]") && stands("plain", "plain") && stands("", ""));
}

TEST(digits_other_letters_and_what_parts_things_end_a_stretch)
{
    CHECK(stands("100א 5000", "100[א] 5000") && stands("א5ב", "[א]5[ב]"));
    CHECK(stands("[\"א\",\"ב\"]", "[\"[א]\",\"[ב]\"]") && stands("א -> ב", "[א] -> [ב]"));
    CHECK(stands("א\nב", "[א]\n[ב]") && stands("א  ב", "[א]  [ב]"));
    CHECK(stands("م ٥٠ ١٠٠", "[م] ٥٠ ١٠٠"));
    CHECK(stands("\xd7", "\xd7") && stands("א\xd7", "[א]\xd7"));
}

TEST(what_would_have_been_turned_is_known)
{
    static const char *const mixed[] = {
        "100א", "א 5", "אb", "א / ב", "א привет", "x\nא 1", "م ٥٠"
    };
    static const char *const alike[] = { "", "100 USD", "דני כהן", "א!", "12\nא", "٥٠ ١٠٠" };
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++) CHECK(order_mixes(str_c(mixed[i])));
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) CHECK(!order_mixes(str_c(alike[i])));
    CHECK(order_turns(STR("٥٠ ١٠٠")) && order_turns(STR("א")) && !order_turns(STR("Straße 東京")));
}
