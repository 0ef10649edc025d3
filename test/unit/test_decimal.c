/* test_decimal.c -- amounts that are exact. */
#include "base/decimal.h"
#include "test.h"

static struct str shown(const char *number)
{
    static char text[DECIMAL_TEXT];
    int64_t     units;
    enum err    e = decimal_read(str_c(number), &units);

    if (e) return str_c(err_name(e));
    decimal_write(units, text);
    return str_c(text);
}

TEST(one_amount_however_it_is_written)
{
    static const char *const WAYS[] = { "1000",     "1e3",  "1000.0",     "1.0e3",
                                        "10000e-1", "1E+3", "0.001000e6", "1000.000000000" };
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++) CHECK_STR(shown(WAYS[i]), "1000");
    CHECK_STR(shown("12.50"), "12.5");
    CHECK_STR(shown("-0.000001"), "-0.000001");
    CHECK_STR(shown("0e999999999"), "0");
    CHECK_STR(shown("0.1"), "0.1");
}

TEST(what_is_finer_or_larger_than_we_count_is_no_amount)
{
    CHECK_STR(shown("0.0000001"), "range");
    CHECK_STR(shown("1e-7"), "range");
    CHECK_STR(shown("9223372036854.775807"), "range");
    CHECK_STR(shown("9223372036854.775806"), "9223372036854.775806");
    CHECK_STR(shown("9223372036855"), "range");
    CHECK_STR(shown("1e13"), "range");
    CHECK_STR(shown("1e99999999999999999999"), "range");
    CHECK_STR(shown("100000000000000000000000000000"), "range");
    CHECK_STR(shown("1e-99999999999999999999"), "range");
}

TEST(what_is_no_number_is_none)
{
    static const char *const BAD[] = { "",   "-",    "01", "1.",       ".5",    "1e", "1e+",
                                       "+1", "0x10", "1 ", "Infinity", "1,000", "1_0" };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) CHECK_STR(shown(BAD[i]), "syntax");
}
