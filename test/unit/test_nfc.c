/* test_nfc.c -- the one spelling of a text, against Python's unicodedata (scripts/nfc); and which
 * arguments count as the same. */
#include "base/nfc.h"

#include <stdint.h>

#include "base/jsame.h"
#include "base/nfc_table.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "nfc_wanted.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* --- all of Unicode ------------------------------------------------------------------------------ */

struct heap {
    struct sha256 sum;
    struct buf    text, out, again;
};

static void begin(struct heap *h)
{
    sha256_begin(&h->sum);
    buf_init(&h->text, 0);
    buf_init(&h->out, 0);
    buf_init(&h->again, 0);
}

static void put(struct heap *h, uint32_t cp)
{
    char bytes[4];
    buf_add(&h->text, bytes, utf8_encode(cp, bytes));
}

/* The text that was put together is whole: its form goes into the sum. */
static void whole(struct heap *h)
{
    buf_clear(&h->out);
    buf_clear(&h->again);
    nfc_add(&h->out, buf_view(&h->text));
    nfc_add(&h->again, buf_view(&h->out));
    if (!str_eq(buf_view(&h->out), buf_view(&h->again))) CHECK(!"the form of the form is the form");
    sha256_add(&h->sum, h->out.ptr, h->out.len);
    sha256_add(&h->sum, "\n", 1);
    buf_clear(&h->text);
}

static void check_sum(struct heap *h, const char *want)
{
    uint8_t bytes[SHA256_LEN];
    char    hex[SHA256_HEX + 1];
    sha256_end(&h->sum, bytes);
    sha256_hex(bytes, sizeof bytes, hex);
    CHECK_STR(str_c(hex), want);
    buf_done(&h->text);
    buf_done(&h->out);
    buf_done(&h->again);
}

static bool is_half(uint32_t cp)
{
    return cp >= 0xd800 && cp <= 0xdfff;
}

TEST(every_character_has_the_spelling_that_unicode_gives_it)
{
    struct heap h;
    begin(&h);
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        if (is_half(cp)) continue;
        put(&h, cp);
        whole(&h);
    }
    check_sum(&h, NFC_SINGLES);
}

static bool has_parts(uint32_t cp)
{
    for (size_t i = 0; i < COUNT(NFC_PARTS); i++)
        if (NFC_PARTS[i][0] == cp) return true;
    return false;
}

/* Which: 1, first parts of two; 2, second ones. In the order of their numbers. */
static size_t gather(unsigned which, uint32_t *out)
{
    static bool is[0x110000];
    size_t      n = 0;
    memset(is, 0, sizeof is);
    for (size_t i = 0; i < COUNT(NFC_PARTS); i++) {
        if (NFC_PARTS[i][2]) is[NFC_PARTS[i][which]] = true;
        if (which == 1) is[NFC_PARTS[i][0]] = true;
    }
    for (uint32_t cp = 0; cp < 0x110000; cp++)
        if (is[cp]) out[n++] = cp;
    return n;
}

TEST(every_pair_that_might_become_one_character_does_exactly_when_unicode_says_so)
{
    static uint32_t first[3 * COUNT(NFC_PARTS)], second[3 * COUNT(NFC_PARTS)];
    size_t          n = gather(1, first), m = gather(2, second);
    struct heap     h;
    begin(&h);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            put(&h, first[i]);
            put(&h, second[k]);
            whole(&h);
        }
    check_sum(&h, NFC_PAIRS);
}

TEST(hangul_is_put_together_from_its_parts)
{
    struct heap h;
    begin(&h);
    for (uint32_t a = 0x1100; a < 0x1200; a++)
        for (uint32_t b = 0x1100; b < 0x1200; b++) {
            put(&h, a);
            put(&h, b);
            whole(&h);
        }
    for (uint32_t s = 0xac00; s < 0xd7a4; s++)
        for (uint32_t t = 0x11a0; t < 0x1200; t++) {
            put(&h, s);
            put(&h, t);
            whole(&h);
        }
    check_sum(&h, NFC_HANGUL);
}

TEST(mixtures_of_letters_and_marks_come_out_as_elsewhere)
{
    static uint32_t marks[4096], pool[16384];
    size_t          m = 0, n = 0;
    uint64_t        x = 1;
    struct heap     h;
    for (size_t i = 0; i < COUNT(NFC_CLASSES); i++)
        for (uint32_t cp = NFC_CLASSES[i][0]; cp <= NFC_CLASSES[i][1]; cp++) marks[m++] = cp;
    memcpy(pool, marks, m * sizeof *pool);
    n = m;
    for (size_t i = 0; i < COUNT(NFC_PARTS); i++) pool[n++] = NFC_PARTS[i][0];
    for (uint32_t cp = 0x20; cp < 0x7f; cp++) pool[n++] = cp;
    for (uint32_t cp = 0x1100; cp < 0x1200; cp++) pool[n++] = cp;
    begin(&h);
    for (size_t i = 0; i < 200000; i++) {
        for (size_t k = 0; k < 1 + i % 12; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            put(&h, x >> 63 ? marks[(x >> 33) % m] : pool[(x >> 33) % n]);
        }
        whole(&h);
    }
    check_sum(&h, NFC_MIXTURES);
}

TEST(plain_text_is_told_by_its_bytes_and_never_changes)
{
    CHECK(nfc_plain(STR("")) && nfc_plain(STR("Send 50 to Ådne")) && !nfc_plain(STR("e\u0301")));
    for (uint32_t cp = 0; cp < 0x300; cp++) CHECK(!has_parts(cp) || cp >= 0xc0);
}

TEST(a_hundred_thousand_marks_on_one_letter_are_put_in_order)
{
    struct buf text, out;
    buf_init(&text, 0);
    buf_init(&out, 0);
    buf_chr(&text, 'q');
    for (int i = 0; i < 50000; i++) buf_lit(&text, "\u0301\u0323");
    nfc_add(&out, buf_view(&text));
    CHECK(out.len == text.len && !out.err);
    CHECK(str_starts(buf_view(&out), STR("q\u0323\u0323\u0323")));
    buf_done(&text);
    buf_done(&out);
}

TEST(without_memory_there_is_no_form)
{
    struct buf out;
    buf_init(&out, 0);
    mem_fail_at(0);
    nfc_add(&out, STR("\u212a"));
    mem_fail_at(-1);
    CHECK(out.err == ERR_NOMEM);
    buf_done(&out);
}

/* --- the same arguments -------------------------------------------------------------------------- */

static bool same(const char *x, const char *y)
{
    struct arena a;
    struct jv   *v, *w;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, str_c(x), &v, NULL) == OK && json_parse(&a, str_c(y), &w, NULL) == OK);
    bool one = jv_same(v, w);
    CHECK(one == jv_same(w, v));
    arena_done(&a);
    return one;
}

TEST(arguments_that_differ_in_spelling_alone_are_the_same)
{
    CHECK(same("{\"a\":\"\u212a1\"}", "{\"a\":\"K1\"}"));
    CHECK(same("\"\u212b\"", "\"\u00c5\"") && same("\"A\u030a\"", "\"\u212b\""));
    CHECK(same("\"\u304b\u3099\"", "\"\u304c\"") && same("\"\u1100\u1161\"", "\"\uac00\""));
    CHECK(same("\"\\u212a\"", "\"K\"") && same("[\"e\\u0301\"]", "[\"\u00e9\"]"));
    CHECK(same("{\"e\u0301\":1,\"f\":[2.0]}", "{\"f\":[2],\"\u00e9\":1.0}"));
    CHECK(same("{\"n\":1e3,\"t\":\"\u2126\"}", "{\"t\":\"\u03a9\",\"n\":1000}"));
}

TEST(arguments_that_look_the_same_are_the_same)
{
    CHECK(same("{\"to\":\"K\"}", "{\"to\":\" K \"}") && same("\"K\"", "\"K\\n\""));
    CHECK(same("\"K\"", "\"K\u200b\"") && same("[\"K\"]", "[\"\\ufeffK\\u00ad\"]"));
    CHECK(same("\"K 1\"", "\"\u3000K\u00a01\"") && same("\"\"", "\" \u200b\""));
    CHECK(!same("\"K 1\"", "\"K1\"") && !same("\"K  1\"", "\"K 1\""));
    CHECK(!same("\" K\"", "\" k\"") && !same("{\"a\":\" K\"}", "{\"b\":\"K\"}"));
}

TEST(what_a_yes_covers_is_told_apart_by_blanks)
{
    struct arena a;
    struct jv   *v, *w;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, STR("\"\u212a\""), &v, NULL) == OK &&
            json_parse(&a, STR("\"K\""), &w, NULL) == OK);
    CHECK(jv_spelled_same(v, w));
    REQUIRE(json_parse(&a, STR("\" K\""), &v, NULL) == OK);
    CHECK(!jv_spelled_same(v, w) && jv_same(v, w));
    REQUIRE(json_parse(&a, STR("\"K\u200b\""), &v, NULL) == OK);
    CHECK(!jv_spelled_same(v, w) && jv_same(v, w));
    arena_done(&a);
}

TEST(arguments_that_say_something_else_are_not)
{
    CHECK(!same("\"\u0430\"", "\"a\"") && !same("\"\uff21\"", "\"A\"")); /* looks, not spelling */
    CHECK(!same("\"K\"", "\"k\"") && !same("\"\u212a\"", "\"k\""));
    CHECK(!same("\"\u212a1\"", "\"K2\"") && !same("{\"\u212a\":1}", "{\"K\":2}"));
    CHECK(
        !same("{\"a\":9007199254740993,\"b\":\"\u212a\"}", "{\"a\":9007199254740992,\"b\":\"K\"}"));
    CHECK(!same("[\"\u212a\"]", "[\"K\",\"K\"]") && !same("{\"\u212a\":1}", "[1]"));
    CHECK(!jv_same(NULL, &(struct jv){ .type = JSON_NULL }) && jv_same(NULL, NULL));
}

TEST(without_memory_nothing_unequal_is_the_same)
{
    struct arena a;
    struct jv   *v, *w;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, STR("\"\u212a\""), &v, NULL) == OK &&
            json_parse(&a, STR("\"K\""), &w, NULL) == OK);
    mem_fail_at(0);
    CHECK(!jv_same(v, w));
    mem_fail_at(-1);
    CHECK(jv_same(v, w));
    arena_done(&a);
}
