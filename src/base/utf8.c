/* utf8.c -- strict UTF-8, one decoder for all of it.
 *
 * decode() knows the four shapes and refuses overlong forms and what lies above
 * U+10FFFF. It lets surrogates pass, because WTF-8 text (see json.h) has them;
 * the functions that promise strictness refuse those themselves. Long plain
 * ASCII is passed over eight bytes at a time.
 */
#include "base/utf8.h"

#define REPLACEMENT 0xFFFD
#define HIGH_BITS   0x8080808080808080u

static inline bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

static inline bool surrogate(uint32_t cp)
{
    return cp >= 0xD800 && cp <= 0xDFFF;
}

/* How long a character that starts so should be; 0 when none does. */
static unsigned shape(unsigned char c)
{
    if (c < 0x80) return 1;
    if (c < 0xC2) return 0; /* a tail byte, or overlong */
    if (c < 0xE0) return 2;
    if (c < 0xF0) return 3;
    return c < 0xF5 ? 4 : 0;
}

/* The second byte decides: overlong forms and the end of Unicode show there. */
static bool second_fits(unsigned char c, unsigned char second)
{
    if (c == 0xE0) return second >= 0xA0;
    if (c == 0xF0) return second >= 0x90;
    if (c == 0xF4) return second < 0x90;
    return true;
}

unsigned utf8_decode(struct str s, uint32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    unsigned             n = shape(p[0]);
    if (n == 1) {
        *cp = p[0];
        return 1;
    }
    *cp = REPLACEMENT;
    if (n == 0 || n > s.len || !second_fits(p[0], p[1])) return 1;
    uint32_t v = p[0] & (0x7Fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if (!is_tail(p[i])) return 1;
        v = v << 6 | (p[i] & 0x3Fu);
    }
    *cp = v;
    return n;
}

unsigned utf8_encode(uint32_t cp, char out[4])
{
    if (cp > 0x10FFFF) cp = REPLACEMENT;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    unsigned n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (unsigned i = n - 1; i > 0; i--, cp >>= 6) out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)((0xF00u >> n) | cp); /* n ones and a zero, then what is left */
    return n;
}

static size_t ascii_run(struct str s, size_t at)
{
    uint64_t word;
    for (; at + 8 <= s.len; at += 8) {
        memcpy(&word, s.ptr + at, sizeof word);
        if (word & HIGH_BITS) break;
    }
    while (at < s.len && (unsigned char)s.ptr[at] < 0x80) at++;
    return at;
}

/* Could more bytes make a character of this? */
static bool unfinished(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (s.len == 0 || shape(p[0]) <= s.len) return false;
    if (s.len == 1) return true;
    if (!is_tail(p[1]) || !second_fits(p[0], p[1])) return false;
    if (p[0] == 0xED && p[1] >= 0xA0) return false; /* a surrogate */
    return s.len == 2 || is_tail(p[2]);
}

size_t utf8_prefix(struct str s, bool *cut)
{
    size_t at = 0;
    while ((at = ascii_run(s, at)) < s.len) {
        uint32_t cp;
        unsigned n = utf8_decode(str_from(s, at), &cp);
        if (n == 1 || surrogate(cp)) break;
        at += n;
    }
    if (cut) *cut = unfinished(str_from(s, at));
    return at;
}

bool utf8_valid(struct str s)
{
    return utf8_prefix(s, NULL) == s.len;
}

size_t utf8_cut(struct str s, size_t max)
{
    if (max >= s.len) return s.len;
    size_t n = max;
    /* A character has three tail bytes at most; more are not text, cut anywhere. */
    for (int i = 0; i < 4; i++, n--) {
        if (!is_tail((unsigned char)s.ptr[n])) return n;
        if (n == 0) return 0;
    }
    return max;
}

size_t utf8_take(struct str s, size_t chars)
{
    size_t   at = 0;
    uint32_t cp;
    for (; chars && at < s.len; chars--) at += utf8_decode(str_from(s, at), &cp);
    return at;
}

size_t utf8_count(struct str s)
{
    size_t   n = 0;
    uint32_t cp;
    for (size_t at = 0; at < s.len; n++) at += utf8_decode(str_from(s, at), &cp);
    return n;
}

bool utf8_is_name(struct str s, size_t max)
{
    if (s.len == 0 || s.len > max || !utf8_valid(s)) return false;
    uint32_t cp;
    for (size_t at = 0; at < s.len;) {
        at += utf8_decode(str_from(s, at), &cp);
        if (cp < ' ' || (cp >= 0x7f && cp < 0xa0)) return false;
    }
    return true;
}
