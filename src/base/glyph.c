/* glyph.c -- hidden characters, digits, and names that some reader takes for one.
 *
 * A name is compared through fold(), character by character: what it gives 0 for is passed
 * over. Who asks wants to know whether to be careful, so a pair too many is
 * harmless and a pair too few is not.
 */
#include "base/glyph.h"

#include "base/utf8.h"

struct span {
    uint32_t from, to;
};

static bool is_in(uint32_t cp, const struct span *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cp >= list[i].from && cp <= list[i].to) return true;
    return false;
}
#define IS_IN(cp, list) is_in(cp, list, sizeof(list) / sizeof *(list))

/* Unicode's Default_Ignorable_Code_Point, its blanks, controls and noncharacters, and what is drawn
 * as nothing though it is none of these: what reveal.ts says, whose test reads the list here. */
bool glyph_hidden(uint32_t cp)
{
    static const struct span hidden[] = {
        /* controls, no-break blank, soft hyphen */
        { 0x00, 0x1f },
        { 0x7f, 0xa0 },
        { 0xad, 0xad },
        /* joiner, Arabic and Syriac marks, Hangul fillers */
        { 0x34f, 0x34f },
        { 0x61c, 0x61c },
        { 0x70f, 0x70f },
        { 0x115f, 0x1160 },
        { 0x1680, 0x1680 },
        { 0x17b4, 0x17b5 },
        { 0x180b, 0x180f },
        /* blanks, zero width, lines, directions */
        { 0x2000, 0x200f },
        { 0x2028, 0x202f },
        { 0x205f, 0x206f },
        /* empty Braille, filler, half characters, none at all */
        { 0x2800, 0x2800 },
        { 0x3164, 0x3164 },
        { 0xd800, 0xdfff },
        { 0xfdd0, 0xfdef },
        { 0xfe00, 0xfe0f },
        { 0xfeff, 0xfeff },
        { 0xffa0, 0xffa0 },
        { 0xfff0, 0xfffb },
        /* Egyptian joints and blanks, Khitan filler, shorthand and musical controls */
        { 0x13430, 0x13442 },
        { 0x16fe4, 0x16fe4 },
        { 0x1bca0, 0x1bca3 },
        { 0x1d159, 0x1d159 },
        { 0x1d173, 0x1d17a },
        { 0xe0000, 0xe0fff }, /* tags, more variation selectors */
    };
    if (cp >= 0x20 && cp < 0x7f) return false;
    return IS_IN(cp, hidden) || (cp & 0xfffe) == 0xfffe;
}

bool glyph_mark(uint32_t cp)
{
    static const struct span marks[] = { { 0x300, 0x36f },   { 0x483, 0x489 },   { 0x1ab0, 0x1aff },
                                         { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0x3099, 0x309a },
                                         { 0xfe20, 0xfe2f } };
    return cp >= 0x300 && IS_IN(cp, marks);
}

/* --- showing -------------------------------------------------------------------- */

/* Typographers' blanks, joiners, and how a picture is to be drawn: every language and every model
 * writes them, and what is lost without them is looks. */
static bool show_plain(struct buf *out, uint32_t cp)
{
    bool blank = cp == 0xa0 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x202f || cp == 0x205f;
    bool dress = cp == 0xad || (cp >= 0x200b && cp <= 0x200d) || cp == 0x2060 ||
                 (cp >= 0xfe00 && cp <= 0xfe0f) || cp == 0xfeff || cp == '\r';
    if (blank || cp == '\n') buf_chr(out, blank ? ' ' : '\n');
    return blank || dress || cp == '\n';
}

static bool show_special(struct buf *out, uint32_t cp, enum glyph_way way)
{
    bool quoted = way == GLYPH_QUOTED;
    if (way == GLYPH_TEXT && show_plain(out, cp)) return true;
    switch (cp) {
    case '"':
        if (quoted) buf_lit(out, "\\\"");
        return quoted;
    case '\\':
        if (quoted) buf_lit(out, "\\\\");
        return quoted;
    case '\n': buf_lit(out, quoted ? "\\n" : " "); return true;
    case '\t': buf_lit(out, quoted ? "\\t" : " "); return true;
    case '\r': buf_lit(out, quoted ? "\\r" : " "); return true;
    default: return false;
    }
}

void glyph_show(struct buf *out, struct str s, enum glyph_way way)
{
    unsigned marks = way == GLYPH_TEXT ? 0 : GLYPH_MARKS,
             n; /* a text's letter may stand before it */
    uint32_t cp;
    if (way == GLYPH_QUOTED) buf_chr(out, '"');
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        bool mark = glyph_mark(cp), lost = mark && marks >= GLYPH_MARKS;
        marks = mark ? marks + 1 : 0;
        if (show_special(out, cp, way)) continue;
        if (lost || glyph_hidden(cp)) buf_printf(out, "\\u{%04X}", (unsigned)cp);
        else if (cp == 0xfffd) buf_lit(out, "\xef\xbf\xbd"); /* also for a byte that is no text */
        else buf_add(out, s.ptr, n);
    }
    if (way == GLYPH_QUOTED) buf_chr(out, '"');
}

/* --- digits --------------------------------------------------------------------- */

int glyph_digit(uint32_t cp)
{
    /* in the order of their numbers; each counts up from `value` */
    static const struct {
        uint32_t from;
        uint8_t  value, count;
    } runs[] = { { 0xb2, 2, 2 },     { 0xb9, 1, 1 },     { 0x660, 0, 10 },   { 0x6f0, 0, 10 },
                 { 0x7c0, 0, 10 },   { 0x966, 0, 10 },   { 0x9e6, 0, 10 },   { 0xa66, 0, 10 },
                 { 0xae6, 0, 10 },   { 0xb66, 0, 10 },   { 0xbe6, 0, 10 },   { 0xc66, 0, 10 },
                 { 0xce6, 0, 10 },   { 0xd66, 0, 10 },   { 0xde6, 0, 10 },   { 0xe50, 0, 10 },
                 { 0xed0, 0, 10 },   { 0xf20, 0, 10 },   { 0x1040, 0, 10 },  { 0x1090, 0, 10 },
                 { 0x1369, 1, 9 },   { 0x17e0, 0, 10 },  { 0x1810, 0, 10 },  { 0x1946, 0, 10 },
                 { 0x19d0, 0, 10 },  { 0x19da, 1, 1 },   { 0x1a80, 0, 10 },  { 0x1a90, 0, 10 },
                 { 0x1b50, 0, 10 },  { 0x1bb0, 0, 10 },  { 0x1c40, 0, 10 },  { 0x1c50, 0, 10 },
                 { 0x2070, 0, 1 },   { 0x2074, 4, 6 },   { 0x2080, 0, 10 },  { 0x2460, 1, 9 },
                 { 0x2474, 1, 9 },   { 0x2488, 1, 9 },   { 0x24ea, 0, 1 },   { 0x24f5, 1, 9 },
                 { 0x24ff, 0, 1 },   { 0x2776, 1, 9 },   { 0x2780, 1, 9 },   { 0x278a, 1, 9 },
                 { 0xa620, 0, 10 },  { 0xa8d0, 0, 10 },  { 0xa900, 0, 10 },  { 0xa9d0, 0, 10 },
                 { 0xa9f0, 0, 10 },  { 0xaa50, 0, 10 },  { 0xabf0, 0, 10 },  { 0xff10, 0, 10 },
                 { 0x104a0, 0, 10 }, { 0x10a40, 1, 4 },  { 0x10d30, 0, 10 }, { 0x10e60, 1, 9 },
                 { 0x11052, 1, 9 },  { 0x11066, 0, 10 }, { 0x110f0, 0, 10 }, { 0x11136, 0, 10 },
                 { 0x111d0, 0, 10 }, { 0x112f0, 0, 10 }, { 0x11450, 0, 10 }, { 0x114d0, 0, 10 },
                 { 0x11650, 0, 10 }, { 0x116c0, 0, 10 }, { 0x11730, 0, 10 }, { 0x118e0, 0, 10 },
                 { 0x11950, 0, 10 }, { 0x11c50, 0, 10 }, { 0x11d50, 0, 10 }, { 0x11da0, 0, 10 },
                 { 0x11f50, 0, 10 }, { 0x16a60, 0, 10 }, { 0x16ac0, 0, 10 }, { 0x16b50, 0, 10 },
                 { 0x1ccf0, 0, 10 }, { 0x1d7ce, 0, 10 }, { 0x1d7d8, 0, 10 }, { 0x1d7e2, 0, 10 },
                 { 0x1d7ec, 0, 10 }, { 0x1d7f6, 0, 10 }, { 0x1e140, 0, 10 }, { 0x1e2f0, 0, 10 },
                 { 0x1e4d0, 0, 10 }, { 0x1e950, 0, 10 }, { 0x1f100, 0, 1 },  { 0x1f101, 0, 10 },
                 { 0x1fbf0, 0, 10 } };
    size_t low = 0, high = sizeof runs / sizeof *runs;
    if (cp < 0x80) return cp >= '0' && cp <= '9' ? (int)cp - '0' : -1;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (cp < runs[mid].from) high = mid;
        else if (cp >= runs[mid].from + runs[mid].count) low = mid + 1;
        else return (int)(runs[mid].value + (cp - runs[mid].from));
    }
    return -1;
}

/* --- folding -------------------------------------------------------------------- */

/* U+00C0 to U+017F without case and mark; '.' stands for what is no such letter. */
static const char LATIN[] = "aaaaaaaceeeeiiiidnooooo.ouuuuypsaaaaaaaceeeeiiiidnooooo.ouuuuypy"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
                            "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
_Static_assert(sizeof LATIN == 0x180 - 0xc0 + 1, "one letter for each");

/* The same for U+0180 to U+02AF and for U+1E00 to U+1EFF: marks, hooks and strokes. */
static const char LATIN_MORE[] = "bbbb...cc.ddd....ffg...ikkl..nnooo..pp.....ttttuu.vyyzz........."
                                 ".....d..l..n.aaiioouuuuuuuuuu.aaaa..ggggkkoooo..j.d.gg..nnaa..oo"
                                 "aaaaeeeeiiiioooorrrruuuusstt..hhnd..zzaaeeooooooooyylntj..acclts"
                                 "z..b..eejj.qrryy...b.cdd.......jg.....h.i..lll...mnn........rrr."
                                 "..s.j...t..v....zz...........j..q...............";
static const char LATIN_MARKED[] =
    "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm"
    "mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv"
    "wwwwwwwwwwxxxxyyzzzzzzhtwyas....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee"
    "eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy....yy";
_Static_assert(sizeof LATIN_MORE == 0x2b0 - 0x180 + 1 && sizeof LATIN_MARKED == 0x1f00 - 0x1e00 + 1,
               "one letter for each");

/* Raised, lowered, script and double-struck letters and digits, Roman numerals of one letter: in
 * the order of their numbers. */
static const struct {
    uint32_t from;
    char     to;
} STYLED[] = {
    { 0xb2, '2' },    { 0xb3, '3' },    { 0xb9, '1' },    { 0x2b0, 'h' },   { 0x2b2, 'j' },
    { 0x2b3, 'r' },   { 0x2b7, 'w' },   { 0x2b8, 'y' },   { 0x2e1, 'l' },   { 0x2e2, 's' },
    { 0x2e3, 'x' },   { 0x1d2c, 'a' },  { 0x1d2e, 'b' },  { 0x1d30, 'd' },  { 0x1d31, 'e' },
    { 0x1d33, 'g' },  { 0x1d34, 'h' },  { 0x1d35, 'i' },  { 0x1d36, 'j' },  { 0x1d37, 'k' },
    { 0x1d38, 'l' },  { 0x1d39, 'm' },  { 0x1d3a, 'n' },  { 0x1d3c, 'o' },  { 0x1d3e, 'p' },
    { 0x1d3f, 'r' },  { 0x1d40, 't' },  { 0x1d41, 'u' },  { 0x1d42, 'w' },  { 0x1d43, 'a' },
    { 0x1d47, 'b' },  { 0x1d48, 'd' },  { 0x1d49, 'e' },  { 0x1d4d, 'g' },  { 0x1d4f, 'k' },
    { 0x1d50, 'm' },  { 0x1d52, 'o' },  { 0x1d56, 'p' },  { 0x1d57, 't' },  { 0x1d58, 'u' },
    { 0x1d5b, 'v' },  { 0x1d62, 'i' },  { 0x1d63, 'r' },  { 0x1d64, 'u' },  { 0x1d65, 'v' },
    { 0x1d6c, 'b' },  { 0x1d6d, 'd' },  { 0x1d6e, 'f' },  { 0x1d6f, 'm' },  { 0x1d70, 'n' },
    { 0x1d71, 'p' },  { 0x1d72, 'r' },  { 0x1d73, 'r' },  { 0x1d74, 's' },  { 0x1d75, 't' },
    { 0x1d76, 'z' },  { 0x1d7d, 'p' },  { 0x1d80, 'b' },  { 0x1d81, 'd' },  { 0x1d82, 'f' },
    { 0x1d83, 'g' },  { 0x1d84, 'k' },  { 0x1d85, 'l' },  { 0x1d86, 'm' },  { 0x1d87, 'n' },
    { 0x1d88, 'p' },  { 0x1d89, 'r' },  { 0x1d8a, 's' },  { 0x1d8c, 'v' },  { 0x1d8d, 'x' },
    { 0x1d8e, 'z' },  { 0x1d8f, 'a' },  { 0x1d91, 'd' },  { 0x1d92, 'e' },  { 0x1d96, 'i' },
    { 0x1d99, 'u' },  { 0x1d9c, 'c' },  { 0x1da0, 'f' },  { 0x1dbb, 'z' },  { 0x2070, '0' },
    { 0x2071, 'i' },  { 0x2074, '4' },  { 0x2075, '5' },  { 0x2076, '6' },  { 0x2077, '7' },
    { 0x2078, '8' },  { 0x2079, '9' },  { 0x207f, 'n' },  { 0x2080, '0' },  { 0x2081, '1' },
    { 0x2082, '2' },  { 0x2083, '3' },  { 0x2084, '4' },  { 0x2085, '5' },  { 0x2086, '6' },
    { 0x2087, '7' },  { 0x2088, '8' },  { 0x2089, '9' },  { 0x2090, 'a' },  { 0x2091, 'e' },
    { 0x2092, 'o' },  { 0x2093, 'x' },  { 0x2095, 'h' },  { 0x2096, 'k' },  { 0x2097, 'l' },
    { 0x2098, 'm' },  { 0x2099, 'n' },  { 0x209a, 'p' },  { 0x209b, 's' },  { 0x209c, 't' },
    { 0x2102, 'c' },  { 0x210a, 'g' },  { 0x210b, 'h' },  { 0x210c, 'h' },  { 0x210d, 'h' },
    { 0x210e, 'h' },  { 0x2110, 'i' },  { 0x2111, 'i' },  { 0x2112, 'l' },  { 0x2113, 'l' },
    { 0x2115, 'n' },  { 0x2119, 'p' },  { 0x211a, 'q' },  { 0x211b, 'r' },  { 0x211c, 'r' },
    { 0x211d, 'r' },  { 0x2124, 'z' },  { 0x2128, 'z' },  { 0x212c, 'b' },  { 0x212d, 'c' },
    { 0x212f, 'e' },  { 0x2130, 'e' },  { 0x2131, 'f' },  { 0x2133, 'm' },  { 0x2134, 'o' },
    { 0x2139, 'i' },  { 0x2145, 'd' },  { 0x2146, 'd' },  { 0x2147, 'e' },  { 0x2148, 'i' },
    { 0x2149, 'j' },  { 0x2160, 'i' },  { 0x2164, 'v' },  { 0x2169, 'x' },  { 0x216c, 'l' },
    { 0x216d, 'c' },  { 0x216e, 'd' },  { 0x216f, 'm' },  { 0x2170, 'i' },  { 0x2174, 'v' },
    { 0x2179, 'x' },  { 0x217c, 'l' },  { 0x217d, 'c' },  { 0x217e, 'd' },  { 0x217f, 'm' },
    { 0x2c60, 'l' },  { 0x2c61, 'l' },  { 0x2c62, 'l' },  { 0x2c63, 'p' },  { 0x2c64, 'r' },
    { 0x2c65, 'a' },  { 0x2c66, 't' },  { 0x2c67, 'h' },  { 0x2c68, 'h' },  { 0x2c69, 'k' },
    { 0x2c6a, 'k' },  { 0x2c6b, 'z' },  { 0x2c6c, 'z' },  { 0x2c6e, 'm' },  { 0x2c71, 'v' },
    { 0x2c72, 'w' },  { 0x2c73, 'w' },  { 0x2c74, 'v' },  { 0x2c78, 'e' },  { 0x2c7a, 'o' },
    { 0x2c7c, 'j' },  { 0x2c7d, 'v' },  { 0x2c7e, 's' },  { 0x2c7f, 'z' },  { 0xa740, 'k' },
    { 0xa741, 'k' },  { 0xa742, 'k' },  { 0xa743, 'k' },  { 0xa744, 'k' },  { 0xa745, 'k' },
    { 0xa748, 'l' },  { 0xa749, 'l' },  { 0xa74a, 'o' },  { 0xa74b, 'o' },  { 0xa74c, 'o' },
    { 0xa74d, 'o' },  { 0xa750, 'p' },  { 0xa751, 'p' },  { 0xa752, 'p' },  { 0xa753, 'p' },
    { 0xa754, 'p' },  { 0xa755, 'p' },  { 0xa756, 'q' },  { 0xa757, 'q' },  { 0xa758, 'q' },
    { 0xa759, 'q' },  { 0xa75e, 'v' },  { 0xa75f, 'v' },  { 0xa78e, 'l' },  { 0xa790, 'n' },
    { 0xa791, 'n' },  { 0xa792, 'c' },  { 0xa793, 'c' },  { 0xa794, 'c' },  { 0xa795, 'h' },
    { 0xa796, 'b' },  { 0xa797, 'b' },  { 0xa798, 'f' },  { 0xa799, 'f' },  { 0xa7a0, 'g' },
    { 0xa7a1, 'g' },  { 0xa7a2, 'k' },  { 0xa7a3, 'k' },  { 0xa7a4, 'n' },  { 0xa7a5, 'n' },
    { 0xa7a6, 'r' },  { 0xa7a7, 'r' },  { 0xa7a8, 's' },  { 0xa7a9, 's' },  { 0xa7aa, 'h' },
    { 0xa7ad, 'l' },  { 0xa7b2, 'j' },  { 0xa7b8, 'u' },  { 0xa7b9, 'u' },  { 0xa7c4, 'c' },
    { 0xa7c5, 's' },  { 0xa7c6, 'z' },  { 0xa7c7, 'd' },  { 0xa7c8, 'd' },  { 0xa7c9, 's' },
    { 0xa7ca, 's' },  { 0xa7f2, 'c' },  { 0xa7f3, 'f' },  { 0xa7f4, 'q' },  { 0xab34, 'e' },
    { 0xab37, 'l' },  { 0xab38, 'l' },  { 0xab39, 'l' },  { 0xab3a, 'm' },  { 0xab3b, 'n' },
    { 0xab49, 'r' },  { 0xab4e, 'u' },  { 0xab52, 'u' },  { 0xab56, 'x' },  { 0xab57, 'x' },
    { 0xab58, 'x' },  { 0xab59, 'x' },  { 0xab5a, 'y' },  { 0x1f12b, 'c' }, { 0x1f12c, 'r' },
    { 0x1f130, 'a' }, { 0x1f131, 'b' }, { 0x1f132, 'c' }, { 0x1f133, 'd' }, { 0x1f134, 'e' },
    { 0x1f135, 'f' }, { 0x1f136, 'g' }, { 0x1f137, 'h' }, { 0x1f138, 'i' }, { 0x1f139, 'j' },
    { 0x1f13a, 'k' }, { 0x1f13b, 'l' }, { 0x1f13c, 'm' }, { 0x1f13d, 'n' }, { 0x1f13e, 'o' },
    { 0x1f13f, 'p' }, { 0x1f140, 'q' }, { 0x1f141, 'r' }, { 0x1f142, 's' }, { 0x1f143, 't' },
    { 0x1f144, 'u' }, { 0x1f145, 'v' }, { 0x1f146, 'w' }, { 0x1f147, 'x' }, { 0x1f148, 'y' },
    { 0x1f149, 'z' }
};

static uint32_t styled(uint32_t cp)
{
    size_t low = 0, high = sizeof STYLED / sizeof *STYLED;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (STYLED[mid].from == cp) return (uint32_t)STYLED[mid].to;
        if (STYLED[mid].from < cp) low = mid + 1;
        else high = mid;
    }
    return cp;
}

/* Upper and lower case stand side by side, the upper one even. */
static const struct span PAIRS[] = { { 0x1de, 0x1ef },   { 0x1f8, 0x21f },   { 0x222, 0x233 },
                                     { 0x246, 0x24f },   { 0x370, 0x373 },   { 0x3d8, 0x3ef },
                                     { 0x460, 0x481 },   { 0x48a, 0x4bf },   { 0x4d0, 0x52f },
                                     { 0x1e00, 0x1eff }, { 0xa640, 0xa69b }, { 0xa722, 0xa76f } };

/* Forms that show a plain letter or digit. */
static uint32_t plain(uint32_t cp)
{
    if (cp >= 0xff01 && cp <= 0xff5e) return cp - 0xff01 + '!';           /* wide */
    if (cp >= 0x24b6 && cp <= 0x24e9) return 'a' + (cp - 0x24b6) % 26;    /* circled */
    if (cp >= 0x1d400 && cp <= 0x1d6a3) return 'a' + (cp - 0x1d400) % 26; /* mathematical */
    if (cp >= 0x1d7ce && cp <= 0x1d7ff) return '0' + (cp - 0x1d7ce) % 10;
    if (cp == 0x212a) return 'k'; /* Kelvin */
    if (cp == 0x212b) return 'a'; /* Angstrom */
    return cp;
}

static uint32_t fold_greek(uint32_t cp)
{
    static const struct {
        uint16_t from, to;
    } odd[] = { { 0x386, 0x3b1 }, { 0x3ac, 0x3b1 }, { 0x388, 0x3b5 }, { 0x3ad, 0x3b5 },
                { 0x389, 0x3b7 }, { 0x3ae, 0x3b7 }, { 0x38a, 0x3b9 }, { 0x3af, 0x3b9 },
                { 0x390, 0x3b9 }, { 0x3aa, 0x3b9 }, { 0x3ca, 0x3b9 }, { 0x38c, 0x3bf },
                { 0x3cc, 0x3bf }, { 0x38e, 0x3c5 }, { 0x3cd, 0x3c5 }, { 0x3ab, 0x3c5 },
                { 0x3cb, 0x3c5 }, { 0x3b0, 0x3c5 }, { 0x38f, 0x3c9 }, { 0x3ce, 0x3c9 },
                { 0x3c2, 0x3c3 }, { 0x3d0, 0x3b2 }, { 0x3d1, 0x3b8 }, { 0x3d5, 0x3c6 },
                { 0x3d6, 0x3c0 }, { 0x3f0, 0x3ba }, { 0x3f1, 0x3c1 }, { 0x3f5, 0x3b5 } };
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
    if (glyph_hidden(cp) || glyph_mark(cp) || cp == 0x3000 || (cp >= 0x2010 && cp <= 0x2015) ||
        cp == 0x2212 || cp == 0x203f || cp == 0x2040 || cp == 0x2054 ||
        (cp >= 0xfe33 && cp <= 0xfe34) || (cp >= 0xfe4d && cp <= 0xfe4f) || cp == 0xfe58 ||
        cp == 0xfe63)
        return 0;
    if (cp == 0xaa) return 'a';
    if (cp == 0xba) return 'o';
    if (cp == 0xb5) return 0x3bc; /* micro: the Greek letter */
    if (cp >= 0xc0 && cp < 0x180) return LATIN[cp - 0xc0] == '.' ? cp : (uint32_t)LATIN[cp - 0xc0];
    if (cp >= 0x180 && cp < 0x2b0 && LATIN_MORE[cp - 0x180] != '.')
        return (uint32_t)LATIN_MORE[cp - 0x180];
    if (cp >= 0x1e00 && cp < 0x1f00 && LATIN_MARKED[cp - 0x1e00] != '.')
        return (uint32_t)LATIN_MARKED[cp - 0x1e00];
    if (styled(cp) != cp) return styled(cp);
    if (cp >= 0x1cd && cp <= 0x1dc) return (cp + 1) & ~1u; /* pairs the other way round */
    if (cp == 0x1e9e) return 's';                          /* the capital sharp s */
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
