/* glyph.c -- hidden characters, and names that some reader takes for one.
 *
 * A name is compared through fold(), character by character: what it gives 0 for is passed
 * over. Who asks wants to know whether to be careful, so a pair too many is
 * harmless and a pair too few is not.
 */
#include "base/glyph.h"

#include "base/utf8.h"

struct span { uint32_t from, to; };

static bool is_in(uint32_t cp, const struct span *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cp >= list[i].from && cp <= list[i].to) return true;
    return false;
}
#define IS_IN(cp, list) is_in(cp, list, sizeof(list) / sizeof *(list))

bool glyph_hidden(uint32_t cp)
{
    static const struct span hidden[] = {
        { 0x00, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad },                       /* controls, no-break blank, soft hyphen */
        { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },               /* joiner, Arabic mark, Hangul fillers */
        { 0x1680, 0x1680 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
        { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f },           /* blanks, zero width, lines, directions */
        { 0x2800, 0x2800 }, { 0x3164, 0x3164 }, { 0xd800, 0xdfff },           /* empty Braille, filler, half characters */
        { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb },
        { 0x13439, 0x1343f }, { 0x16fe4, 0x16fe4 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
        { 0xe0000, 0xe0fff },                                                 /* tags, more variation selectors */
    };
    if (cp >= 0x20 && cp < 0x7f) return false;
    return IS_IN(cp, hidden) || (cp & 0xfffe) == 0xfffe;
}

bool glyph_mark(uint32_t cp)
{
    static const struct span marks[] = { { 0x300, 0x36f }, { 0x483, 0x489 }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff },
                                         { 0x20d0, 0x20ff }, { 0x3099, 0x309a }, { 0xfe20, 0xfe2f } };
    return cp >= 0x300 && IS_IN(cp, marks);
}

/* --- showing -------------------------------------------------------------------- */

#define MARKS_MAX 2      /* on one character: Vietnamese needs them */

static bool show_special(struct buf *out, uint32_t cp, enum glyph_way way)
{
    bool quoted = way == GLYPH_QUOTED;
    switch (cp) {
    case '"':  if (quoted) buf_lit(out, "\\\""); return quoted;
    case '\\': if (quoted) buf_lit(out, "\\\\"); return quoted;
    case '\n': buf_lit(out, quoted ? "\\n" : way == GLYPH_TEXT ? "\n" : " "); return true;
    case '\t': buf_lit(out, quoted ? "\\t" : way == GLYPH_TEXT ? "\t" : " "); return true;
    case '\r': if (way != GLYPH_TEXT) buf_lit(out, quoted ? "\\r" : " "); return true;
    default:   return false;
    }
}

void glyph_show(struct buf *out, struct str s, enum glyph_way way)
{
    unsigned marks = MARKS_MAX, n;
    uint32_t cp;
    if (way == GLYPH_QUOTED) buf_chr(out, '"');
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        bool mark = glyph_mark(cp), lost = mark && marks >= MARKS_MAX;
        marks = mark ? marks + 1 : 0;
        if (show_special(out, cp, way)) continue;
        if (lost || glyph_hidden(cp)) buf_printf(out, "\\u{%04X}", (unsigned)cp);
        else if (cp == 0xfffd) buf_lit(out, "\xef\xbf\xbd");      /* also for a byte that is no text */
        else buf_add(out, s.ptr, n);
    }
    if (way == GLYPH_QUOTED) buf_chr(out, '"');
}

/* --- folding -------------------------------------------------------------------- */

/* U+00C0 to U+017F without case and mark; '.' stands for what is no such letter. */
static const char LATIN[] = "aaaaaaaceeeeiiiidnooooo.ouuuuypsaaaaaaaceeeeiiiidnooooo.ouuuuypy"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
                            "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
_Static_assert(sizeof LATIN == 0x180 - 0xc0 + 1, "one letter for each");

/* Upper and lower case stand side by side, the upper one even. */
static const struct span PAIRS[] = { { 0x1de, 0x1ef }, { 0x1f8, 0x21f }, { 0x222, 0x233 }, { 0x246, 0x24f }, { 0x370, 0x373 }, { 0x3d8, 0x3ef },
                                     { 0x460, 0x481 }, { 0x48a, 0x4bf }, { 0x4d0, 0x52f }, { 0x1e00, 0x1eff }, { 0xa640, 0xa69b }, { 0xa722, 0xa76f } };

/* Forms that show a plain letter or digit. */
static uint32_t plain(uint32_t cp)
{
    if (cp >= 0xff01 && cp <= 0xff5e) return cp - 0xff01 + '!';               /* wide */
    if (cp >= 0x24b6 && cp <= 0x24e9) return 'a' + (cp - 0x24b6) % 26;        /* circled */
    if (cp >= 0x1d400 && cp <= 0x1d6a3) return 'a' + (cp - 0x1d400) % 26;     /* mathematical */
    if (cp >= 0x1d7ce && cp <= 0x1d7ff) return '0' + (cp - 0x1d7ce) % 10;
    if (cp == 0x212a) return 'k';                                             /* Kelvin */
    if (cp == 0x212b) return 'a';                                             /* Angstrom */
    return cp;
}

static uint32_t fold_greek(uint32_t cp)
{
    static const struct { uint16_t from, to; } odd[] = { { 0x386, 0x3b1 }, { 0x3ac, 0x3b1 }, { 0x388, 0x3b5 }, { 0x3ad, 0x3b5 }, { 0x389, 0x3b7 },
        { 0x3ae, 0x3b7 }, { 0x38a, 0x3b9 }, { 0x3af, 0x3b9 }, { 0x390, 0x3b9 }, { 0x3aa, 0x3b9 }, { 0x3ca, 0x3b9 }, { 0x38c, 0x3bf }, { 0x3cc, 0x3bf },
        { 0x38e, 0x3c5 }, { 0x3cd, 0x3c5 }, { 0x3ab, 0x3c5 }, { 0x3cb, 0x3c5 }, { 0x3b0, 0x3c5 }, { 0x38f, 0x3c9 }, { 0x3ce, 0x3c9 }, { 0x3c2, 0x3c3 },
        { 0x3d0, 0x3b2 }, { 0x3d1, 0x3b8 }, { 0x3d5, 0x3c6 }, { 0x3d6, 0x3c0 }, { 0x3f0, 0x3ba }, { 0x3f1, 0x3c1 }, { 0x3f5, 0x3b5 } };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (cp == odd[i].from) return odd[i].to;
    return cp >= 0x391 && cp <= 0x3a9 ? cp + 0x20 : cp;
}

/* The character that stands for it in a comparison; 0: it is passed over. */
static uint32_t fold(uint32_t cp)
{
    cp = plain(cp);
    if (cp >= 'A' && cp <= 'Z') return cp + 32;
    if (cp == '_' || cp == '-' || cp == ' ') return 0;
    if (cp < 0x7f && cp >= 0x20) return cp;
    if (glyph_hidden(cp) || glyph_mark(cp) || cp == 0x3000 || (cp >= 0x2010 && cp <= 0x2015) || cp == 0x2212) return 0;
    if (cp == 0xaa) return 'a';
    if (cp == 0xba) return 'o';
    if (cp == 0xb5) return 0x3bc;                                             /* micro: the Greek letter */
    if (cp >= 0xc0 && cp < 0x180) return LATIN[cp - 0xc0] == '.' ? cp : (uint32_t)LATIN[cp - 0xc0];
    if (cp >= 0x1cd && cp <= 0x1dc) return (cp + 1) & ~1u;                    /* pairs the other way round */
    if (cp == 0x1e9e) return 's';                                             /* the capital sharp s */
    if (IS_IN(cp, PAIRS)) return cp | 1;
    if (cp >= 0x386 && cp <= 0x3f5) return fold_greek(cp);
    if (cp >= 0x400 && cp <= 0x40f) return cp + 0x50;
    if (cp >= 0x410 && cp <= 0x42f) return cp + 0x20;
    if (cp >= 0x4c1 && cp <= 0x4ce) return (cp + 1) & ~1u;
    if (cp >= 0x531 && cp <= 0x556) return cp + 0x30;
    return cp;
}

/* 0 at the end. */
static uint32_t next_folded(struct str *s)
{
    uint32_t cp = 0;
    while (s->len) {
        *s = str_from(*s, utf8_decode(*s, &cp));
        if ((cp = fold(cp))) return cp;
    }
    return 0;
}

bool glyph_alike(struct str a, struct str b)
{
    for (;;) {
        uint32_t x = next_folded(&a), y = next_folded(&b);
        if (x != y) return false;
        if (!x) return true;
    }
}
