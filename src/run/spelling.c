/* spelling.c -- see spelling.h. */
#include "run/spelling.h"

#include "base/glyph.h"
#include "base/utf8.h"

#define GAP_MAX 3 /* blanks and dashes between two groups: "48 - 21" */

enum mark {
    MARK_DIGIT,
    MARK_NOTHING, /* nobody sees it, or it is drawn onto what stands before it */
    MARK_GAP,
    MARK_OTHER
};

/* --- one character ---------------------------------------------------------------------------- */

static bool read_hex4(struct str s, uint32_t *out)
{
    uint32_t n = 0;
    if (s.len < 6 || s.ptr[0] != '\\' || s.ptr[1] != 'u') return false;
    for (size_t i = 2; i < 6; i++) {
        char c = s.ptr[i], letter = (char)(c | 32);
        bool is_digit = c >= '0' && c <= '9', is_letter = letter >= 'a' && letter <= 'f';
        if (!is_digit && !is_letter) return false;
        n = n << 4 | (uint32_t)(is_digit ? c - '0' : letter - 'a' + 10);
    }
    *out = n;
    return true;
}

/* Also "\u0034", and two of them for one character. Its length in bytes. */
static size_t read_char(struct str s, uint32_t *cp)
{
    uint32_t low;
    if (!read_hex4(s, cp)) return utf8_decode(s, cp);
    if (*cp < 0xd800 || *cp > 0xdbff || !read_hex4(str_from(s, 6), &low) || low < 0xdc00 ||
        low > 0xdfff)
        return 6;
    *cp = 0x10000 + ((*cp - 0xd800) << 10) + (low - 0xdc00);
    return 12;
}

bool spelling_blank(uint32_t cp)
{
    return cp == ' ' || cp == '\t' || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

static bool is_dash(uint32_t cp)
{
    return cp == '-' || cp == '_' || (cp >= 0x2010 && cp <= 0x2015) || cp == 0x2212 ||
           cp == 0xfe58 || cp == 0xfe63 || cp == 0xff0d || cp == 0xff3f;
}

static bool ends_line(uint32_t cp)
{
    return (cp >= '\n' && cp <= '\r') || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

/* The character at the beginning of `s`; its length in bytes, 0 at the end. */
static size_t look(struct str s, enum mark *kind, unsigned *digit)
{
    uint32_t cp;
    if (!s.len) return 0;
    size_t n = read_char(s, &cp);
    int    d = glyph_digit(cp);
    *digit = d < 0 ? 0 : (unsigned)d;
    if (d >= 0) *kind = MARK_DIGIT;
    else if (spelling_blank(cp) || is_dash(cp)) *kind = MARK_GAP;
    else if (!ends_line(cp) && (glyph_hidden(cp) || glyph_mark(cp))) *kind = MARK_NOTHING;
    else *kind = MARK_OTHER;
    return n;
}

/* --- groups ----------------------------------------------------------------------------------- */

struct group {
    size_t   from, to;
    unsigned digits, number;
};

/* The digits at `at`, with what nobody sees between and behind them. False: there is none. */
static bool read_group(struct str s, size_t at, struct group *g)
{
    enum mark kind;
    unsigned  digit;
    size_t    n;
    *g = (struct group){ .from = at, .to = at };
    while ((n = look(str_from(s, at), &kind, &digit)) &&
           (kind == MARK_DIGIT || (kind == MARK_NOTHING && g->digits))) {
        g->to = at += n;
        if (kind == MARK_DIGIT && ++g->digits <= SPELLING_DIGITS)
            g->number = g->number * 10 + digit;
    }
    return g->digits > 0;
}

/* The next group behind a gap that people leave between digits. */
static bool read_beside(struct str s, size_t at, struct group *g)
{
    enum mark kind = MARK_OTHER;
    unsigned  digit, gaps = 0;
    size_t    n;
    while ((n = look(str_from(s, at), &kind, &digit)) &&
           (kind == MARK_NOTHING || (kind == MARK_GAP && ++gaps <= GAP_MAX)))
        at += n;
    return n && kind == MARK_DIGIT && read_group(s, at, g);
}

/* Short groups beside each other are one. */
static void join(struct str s, struct group *g, bool *grouped)
{
    static const unsigned TENS[] = { 1, 10, 100, 1000 };
    struct group          more;
    *grouped = false;
    while (g->digits < SPELLING_DIGITS || *grouped) {
        if (!read_beside(s, g->to, &more) || more.digits >= SPELLING_DIGITS) return;
        *grouped = true;
        if (g->digits + more.digits <= SPELLING_DIGITS)
            g->number = g->number * TENS[more.digits] + more.number;
        g->digits += more.digits;
        g->to = more.to;
    }
}

/* Whether it is one or not, `to` is behind what was looked at. */
static bool read_code(struct str s, size_t from, struct spelled *out, size_t *to)
{
    struct group g;
    bool         grouped = false;
    bool         any = read_group(s, from, &g);
    if (any) join(s, &g, &grouped);
    *to = g.to;
    if (g.digits != SPELLING_DIGITS) return false;
    *out = (struct spelled){ from, g.to - from, g.number, grouped };
    return true;
}

/* What no digit begins with, without looking closer: nearly everything. */
static bool is_dull(unsigned char c)
{
    return c < 0x80 && c != '\\' && (c < '0' || c > '9');
}

bool spelling_next(struct str s, size_t from, struct spelled *out)
{
    enum mark kind;
    unsigned  digit;
    for (size_t to; from < s.len; from = to) {
        to = from + 1;
        if (is_dull((unsigned char)s.ptr[from])) continue;
        to = from + look(str_from(s, from), &kind, &digit);
        if (kind == MARK_DIGIT && read_code(s, from, out, &to)) return true;
    }
    return false;
}

bool spelling_first(struct str s, struct spelled *out)
{
    size_t to;
    return read_code(s, 0, out, &to);
}

bool spelling_plain(struct str s, unsigned *number)
{
    unsigned n = 0;
    if (s.len != SPELLING_DIGITS) return false;
    for (size_t i = 0; i < SPELLING_DIGITS; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
        n = n * 10 + (unsigned)(s.ptr[i] - '0');
    }
    *number = n;
    return true;
}
