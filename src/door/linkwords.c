/* linkwords.c -- see linkwords.h. */
#include "door/linkwords.h"

#define ONE_EN(name, en, de, ja) en,
#define ONE_DE(name, en, de, ja) de,
#define ONE_JA(name, en, de, ja) ja,

static const struct linkwords LANGUAGES[] = { { "en", LINK_WORDS(ONE_EN) },
                                              { "de", LINK_WORDS(ONE_DE) },
                                              { "ja", LINK_WORDS(ONE_JA) } };

#define WHOLE 1000 /* q=1: weights have three digits at most (RFC 9110 section 12.4.2) */

/* "q=0.8" is 800; without one it is all; what cannot be read is nothing. */
static unsigned weight_of(struct str q)
{
    unsigned n = 0, digit = WHOLE;
    q = str_trim(q);
    if (!q.len) return WHOLE;
    if (!str_eq_nocase(str_cut(q, 2), STR("q="))) return 0;
    q = str_from(q, 2);
    for (size_t i = 0; i < q.len && digit; i++) {
        if (i == 1 && q.ptr[i] == '.') continue;
        if (q.ptr[i] < '0' || q.ptr[i] > '9') return 0;
        n += (unsigned)(q.ptr[i] - '0') * digit;
        digit /= 10;
    }
    return n > WHOLE ? WHOLE : n;
}

static const struct linkwords *named(struct str language)
{
    for (size_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; i++)
        if (str_is(language, LANGUAGES[i].lang)) return &LANGUAGES[i];
    return &LANGUAGES[0];
}

/* Which of the offered a range is about: "de" and "de-CH" about "de", "*" about the first. */
static bool is_about(struct str range, const struct str *offered, size_t at)
{
    struct str base;
    range = str_trim(range);
    return (at == 0 && str_is(range, "*")) ||
           (str_split(&range, '-', &base) && str_eq_nocase(base, offered[at]));
}

/* Of those that are wanted as much the one that stands first in the header. */
const struct linkwords *linkwords_for(const struct str *offered, size_t count,
                                      struct str accept_language)
{
    unsigned   most = 0;
    size_t     best = 0;
    struct str item, range;
    while (str_split(&accept_language, ',', &item)) {
        if (!str_split(&item, ';', &range)) continue;
        unsigned weight = weight_of(item);
        for (size_t i = 0; i < count; i++)
            if (weight > most && is_about(range, offered, i)) {
                most = weight;
                best = i;
            }
    }
    return named(count ? offered[best] : STR("en"));
}

void linkwords_fill(struct buf *out, const char *words, struct str value,
                    void (*put)(struct buf *, struct str))
{
    struct str s = str_c(words);
    ptrdiff_t  at = str_find(s, STR("{}"));
    buf_str(out, at < 0 ? s : str_cut(s, (size_t)at));
    if (at < 0) return;
    put(out, value);
    buf_str(out, str_from(s, (size_t)at + 2));
}
