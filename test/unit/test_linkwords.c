/* test_linkwords.c -- which language a link's page speaks. */
#include "test.h"

#include "door/linkwords.h"

static const char *chosen(const char *offered, const char *accept)
{
    struct str list[3], rest = str_c(offered);
    size_t     n = 0;
    while (n < 3 && str_split(&rest, ' ', &list[n])) n++;
    return linkwords_for(list, n, accept ? str_c(accept) : STR_NONE)->lang;
}

#define CHECK_LANGUAGE(offered, accept, want) \
    CHECK(str_eq(str_c(chosen(offered, accept)), STR(want)))

TEST(a_links_page_speaks_what_the_browser_wants_most_of_what_is_offered)
{
    CHECK_LANGUAGE("en de ja", "de", "de");
    CHECK_LANGUAGE("en de ja", "ja-JP,ja;q=0.9,en;q=0.8", "ja");
    CHECK_LANGUAGE("en de ja", "fr-FR, fr;q=0.9, DE-ch;q=0.7, en;q=0.3", "de");
    CHECK_LANGUAGE("en de ja", "en;q=0.3,de;q=0.31", "de");
    CHECK_LANGUAGE("ja de", "de,ja", "de");
    CHECK_LANGUAGE("ja de", "ja;q=0,de;q=0.001", "de");
    CHECK_LANGUAGE("en de ja", "*;q=0.1,ja;q=0.2", "ja");
}

TEST(a_links_page_speaks_the_first_language_where_none_of_them_is_wanted)
{
    CHECK_LANGUAGE("de en", NULL, "de");
    CHECK_LANGUAGE("de en", "", "de");
    CHECK_LANGUAGE("de en", "fr, it;q=0.5", "de");
    CHECK_LANGUAGE("ja", "en", "ja");
    CHECK_LANGUAGE("en de", "*", "en");
    CHECK_LANGUAGE("en de", "de;q=0", "en");
    CHECK_LANGUAGE("en de", ",;,;;q=,de;q=x,-,de;q=0.0000001", "en");
    CHECK_LANGUAGE("en de", "deutsch, d, den-DE", "en");
}

static size_t places(const char *words)
{
    size_t     n = 0;
    struct str s = str_c(words);
    for (ptrdiff_t at; (at = str_find(s, STR("{}"))) >= 0; s = str_from(s, (size_t)at + 2)) n++;
    return n;
}

/* Words go into the page as they stand: there is no markup in them, and each says the same. */
#define CHECK_WORD(name, en, de, ja)                                               \
    CHECK(places(en) == places(de) && places(en) == places(ja) && places(en) < 2); \
    CHECK(!strpbrk(en de ja, "<>&%"));                                             \
    CHECK(en[0] && de[0] && ja[0]);

TEST(a_links_words_have_no_markup_and_one_place_at_most){ LINK_WORDS(CHECK_WORD) }

TEST(a_links_words_are_filled_in)
{
    struct buf b;
    buf_init(&b, 0);
    linkwords_fill(&b, "You decide as {}.", STR("ada {}"), buf_str);
    linkwords_fill(&b, " Plain.", STR("x"), buf_str);
    CHECK(str_is(buf_view(&b), "You decide as ada {}. Plain."));
    buf_done(&b);
}
