/* guise.c -- see guise.h. Judged word by word; a word ends at a blank. The lists that say so are
 * those of reveal.ts, whose test reads them here. */
#include "base/guise.h"

#include "base/glyph.h"
#include "base/utf8.h"

#define DOTLESS_I 0x131

struct span {
    uint32_t from, to;
};

static bool is_within(uint32_t cp, const struct span *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cp >= list[i].from && cp <= list[i].to) return true;
    return false;
}
#define IS_WITHIN(cp, list) is_within(cp, list, sizeof(list) / sizeof *(list))

static bool is_latin(uint32_t cp)
{
    static const struct span latin[] = { { 'A', 'Z' },       { 'a', 'z' },       { 0xc0, 0xd6 },
                                         { 0xd8, 0xf6 },     { 0xf8, 0x2af },    { 0x1e00, 0x1eff },
                                         { 0x2c60, 0x2c7f }, { 0xa722, 0xa787 }, { 0xff21, 0xff3a },
                                         { 0xff41, 0xff5a } };
    return IS_WITHIN(cp, latin);
}

/* Alphabets with letters that a reader takes for Latin ones: Greek, Cyrillic, Armenian, Cherokee,
 * Coptic, Lisu. */
static bool is_cousin(uint32_t cp)
{
    static const struct span cousins[] = {
        { 0x370, 0x373 },   { 0x376, 0x377 },   { 0x37b, 0x37d },   { 0x37f, 0x37f },
        { 0x386, 0x386 },   { 0x388, 0x481 },   { 0x48a, 0x52f },   { 0x531, 0x556 },
        { 0x560, 0x588 },   { 0x13a0, 0x13fd }, { 0x1c80, 0x1c8a }, { 0x1f00, 0x1fff },
        { 0x2c80, 0x2cf3 }, { 0xa4d0, 0xa4f7 }, { 0xa640, 0xa69b }, { 0xab70, 0xabbf }
    };
    return IS_WITHIN(cp, cousins);
}

/* Those of them that cannot be told from a Latin letter: the list of reveal.ts. */
static bool is_twin(uint32_t cp)
{
    static const char TWINS[] = "аеорсухіјѕһԁԛԝґАВЕКМНОРСТУХІЈЅԌԚԜαινορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧսօոՕՍ";
    struct str        rest = str_n(TWINS, sizeof TWINS - 1);
    uint32_t          twin;
    for (; rest.len; rest = str_from(rest, utf8_decode(rest, &twin)))
        if (utf8_decode(rest, &twin) && twin == cp) return true;
    return false;
}

/* Letters of alphabets that hardly anybody writes, each of which looks like a Latin one: of Lisu
 * (with its tones), Cherokee, Coptic, Deseret, Tifinagh, Runic and more. The list of reveal.ts. */
static bool is_stray(uint32_t cp)
{
    static const struct span strays[] = {
        { 0x13a0, 0x13a2 },   { 0x13a5, 0x13a5 },   { 0x13a9, 0x13ac },   { 0x13b3, 0x13b3 },
        { 0x13b7, 0x13b7 },   { 0x13bb, 0x13bb },   { 0x13bd, 0x13bd },   { 0x13c0, 0x13c0 },
        { 0x13c2, 0x13c3 },   { 0x13ce, 0x13cf },   { 0x13d2, 0x13d2 },   { 0x13d4, 0x13d5 },
        { 0x13d9, 0x13da },   { 0x13de, 0x13df },   { 0x13e2, 0x13e2 },   { 0x13e6, 0x13e7 },
        { 0x13ee, 0x13ee },   { 0x13f3, 0x13f4 },   { 0x13fb, 0x13fc },   { 0x142f, 0x142f },
        { 0x144c, 0x144c },   { 0x146d, 0x146d },   { 0x146f, 0x146f },   { 0x1472, 0x1472 },
        { 0x148d, 0x148d },   { 0x14aa, 0x14aa },   { 0x1541, 0x1541 },   { 0x157c, 0x157c },
        { 0x1587, 0x1587 },   { 0x15af, 0x15af },   { 0x15b4, 0x15b4 },   { 0x15c5, 0x15c5 },
        { 0x15de, 0x15de },   { 0x15ea, 0x15ea },   { 0x15f0, 0x15f0 },   { 0x15f7, 0x15f7 },
        { 0x16a0, 0x16a0 },   { 0x16b1, 0x16b1 },   { 0x16b7, 0x16b7 },   { 0x16c1, 0x16c1 },
        { 0x16d2, 0x16d2 },   { 0x16d6, 0x16d6 },   { 0x2c80, 0x2c85 },   { 0x2c88, 0x2c89 },
        { 0x2c8c, 0x2c8f },   { 0x2c92, 0x2c95 },   { 0x2c98, 0x2c9b },   { 0x2c9e, 0x2c9f },
        { 0x2ca2, 0x2ca9 },   { 0x2cac, 0x2cad },   { 0x2cb0, 0x2cb1 },   { 0x2cbc, 0x2cbd },
        { 0x2cd0, 0x2cd1 },   { 0x2d38, 0x2d3a },   { 0x2d4f, 0x2d4f },   { 0x2d51, 0x2d51 },
        { 0x2d54, 0x2d55 },   { 0x2d5d, 0x2d5d },   { 0xa4d0, 0xa4d1 },   { 0xa4d3, 0xa4d4 },
        { 0xa4d6, 0xa4d7 },   { 0xa4d9, 0xa4da },   { 0xa4dc, 0xa4dd },   { 0xa4df, 0xa4e3 },
        { 0xa4e6, 0xa4e7 },   { 0xa4ea, 0xa4ec },   { 0xa4ee, 0xa4ee },   { 0xa4f0, 0xa4f0 },
        { 0xa4f2, 0xa4f4 },   { 0xa4f8, 0xa4fd },   { 0xab70, 0xab72 },   { 0xab75, 0xab75 },
        { 0xab79, 0xab7c },   { 0xab83, 0xab83 },   { 0xab87, 0xab87 },   { 0xab8b, 0xab8b },
        { 0xab8d, 0xab8d },   { 0xab90, 0xab90 },   { 0xab92, 0xab93 },   { 0xab9e, 0xab9f },
        { 0xaba2, 0xaba2 },   { 0xaba4, 0xaba5 },   { 0xaba9, 0xabaa },   { 0xabae, 0xabaf },
        { 0xabb2, 0xabb2 },   { 0xabb6, 0xabb7 },   { 0xabbe, 0xabbe },   { 0x10282, 0x10282 },
        { 0x10286, 0x10287 }, { 0x1028a, 0x1028a }, { 0x10290, 0x10290 }, { 0x10292, 0x10292 },
        { 0x10295, 0x10297 }, { 0x102a0, 0x102a2 }, { 0x102a5, 0x102a5 }, { 0x102ab, 0x102ab },
        { 0x102b0, 0x102b2 }, { 0x102b4, 0x102b4 }, { 0x102cf, 0x102cf }, { 0x10300, 0x10302 },
        { 0x10309, 0x10309 }, { 0x10311, 0x10311 }, { 0x10315, 0x10315 }, { 0x10317, 0x10317 },
        { 0x1031a, 0x1031a }, { 0x10404, 0x10404 }, { 0x10415, 0x10415 }, { 0x1041b, 0x1041b },
        { 0x10420, 0x10420 }, { 0x1042c, 0x1042c }, { 0x1043d, 0x1043d }, { 0x10443, 0x10443 },
        { 0x10448, 0x10448 }, { 0x104b4, 0x104b4 }, { 0x104c2, 0x104c2 }, { 0x104ce, 0x104ce },
        { 0x104ea, 0x104ea }, { 0x104f6, 0x104f6 }, { 0x10513, 0x10513 }, { 0x10516, 0x10516 },
        { 0x10518, 0x10518 }, { 0x1051c, 0x1051d }, { 0x10525, 0x10527 }, { 0x118a0, 0x118a0 },
        { 0x118a2, 0x118a4 }, { 0x118a6, 0x118a6 }, { 0x118a9, 0x118a9 }, { 0x118ae, 0x118ae },
        { 0x118b2, 0x118b2 }, { 0x118b5, 0x118b5 }, { 0x118b8, 0x118b8 }, { 0x118bc, 0x118bc },
        { 0x118c0, 0x118c4 }, { 0x118c8, 0x118c8 }, { 0x118d7, 0x118d8 }, { 0x118dc, 0x118dc },
        { 0x16f08, 0x16f08 }, { 0x16f0a, 0x16f0a }, { 0x16f16, 0x16f16 }, { 0x16f28, 0x16f28 },
        { 0x16f35, 0x16f35 }, { 0x16f3a, 0x16f3a }, { 0x16f40, 0x16f40 }, { 0x16f42, 0x16f43 }
    };
    return IS_WITHIN(cp, strays);
}

/* Letters that are signs: mathematical, circled, squared; small capitals and others of phonetics,
 * clicks, Roman numerals. The list of reveal.ts. */
static bool is_sign(uint32_t cp)
{
    static const struct span signs[] = {
        { 0x1c0, 0x1c3 },     { 0x251, 0x251 },   { 0x261, 0x262 },   { 0x26a, 0x26a },
        { 0x274, 0x274 },     { 0x280, 0x280 },   { 0x299, 0x299 },   { 0x29c, 0x29c },
        { 0x29f, 0x29f },     { 0x1d00, 0x1d2b }, { 0x2102, 0x2102 }, { 0x2107, 0x2107 },
        { 0x210a, 0x2113 },   { 0x2115, 0x2115 }, { 0x2118, 0x211d }, { 0x2124, 0x2124 },
        { 0x2128, 0x2128 },   { 0x212c, 0x2134 }, { 0x2139, 0x2139 }, { 0x2145, 0x2149 },
        { 0x2160, 0x217f },   { 0x2460, 0x24ff }, { 0xa730, 0xa731 }, { 0x1d400, 0x1d7ff },
        { 0x1f130, 0x1f189 },
    };
    return IS_WITHIN(cp, signs);
}

/* Taken for a point, a comma, a colon or a slash. The list of reveal.ts. */
static bool is_dot(uint32_t cp)
{
    static const struct span dots[] = {
        { 0x2d0, 0x2d0 },   { 0x37e, 0x37e },   { 0x589, 0x589 },   { 0x5c3, 0x5c3 },
        { 0x66b, 0x66c },   { 0x6d4, 0x6d4 },   { 0x701, 0x702 },   { 0x201a, 0x201a },
        { 0x2024, 0x2024 }, { 0x2044, 0x2044 }, { 0x2215, 0x2215 }, { 0x2236, 0x2236 },
        { 0x29f8, 0x29f8 }, { 0xa4f8, 0xa4f8 }, { 0xa4fa, 0xa4fa }, { 0xa789, 0xa789 },
    };
    return IS_WITHIN(cp, dots);
}

/* A mark that strikes a letter out or encloses it: it says something else. The list of
 * reveal.ts. */
static bool is_strike(uint32_t cp)
{
    static const struct span strikes[] = {
        { 0x334, 0x338 },   { 0x488, 0x489 },   { 0x20d2, 0x20d3 }, { 0x20d8, 0x20da },
        { 0x20dd, 0x20e2 }, { 0x20e4, 0x20e6 }, { 0x20ea, 0x20eb },
    };
    return IS_WITHIN(cp, strikes);
}

static bool is_wide(uint32_t cp)
{
    return cp >= 0xff01 && cp <= 0xff5e;
}

static bool is_ascii_letter(uint32_t cp)
{
    return (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
}

/* Of a living alphabet that has digits of its own, or of one that is written beside those. */
static bool is_other_letter(uint32_t cp)
{
    static const struct span letters[] = {
        { 0x370, 0x373 },   { 0x386, 0x481 },   { 0x48a, 0x556 },   { 0x561, 0x587 },
        { 0x5d0, 0x5ea },   { 0x620, 0x64a },   { 0x66e, 0x6d3 },   { 0x6fa, 0x6fc },
        { 0x710, 0x72f },   { 0x750, 0x7a5 },   { 0x7ca, 0x7ea },   { 0x8a0, 0x8c7 },
        { 0xe01, 0xe30 },   { 0xe81, 0xeb0 },   { 0xf40, 0xf6c },   { 0x1000, 0x102a },
        { 0x10d0, 0x10fa }, { 0x1200, 0x135a }, { 0x1780, 0x17b3 }, { 0x1820, 0x1878 },
        { 0x1b05, 0x1b33 }, { 0x3041, 0x3096 }, { 0x30a1, 0x30fa }, { 0x3400, 0x4dbf },
        { 0x4e00, 0x9fff }, { 0xa984, 0xa9b2 }, { 0xac00, 0xd7a3 }, { 0x1e900, 0x1e943 },
    };
    bool indic = cp >= 0x900 && cp < 0xe00 && (cp & 0x7f) >= 0x05 && (cp & 0x7f) <= 0x39;
    return indic || IS_WITHIN(cp, letters);
}

/* What a sign that looks like a point stands between, to be taken for one. */
static bool is_wordy(uint32_t cp)
{
    if (cp < 0x80) return is_ascii_letter(cp) || (cp >= '0' && cp <= '9');
    return is_latin(cp) || is_cousin(cp) || is_stray(cp) || is_sign(cp) || is_other_letter(cp) ||
           glyph_digit(cp) >= 0;
}

struct word {
    bool latin, cousin, stray, twins, wide, narrow; /* twins: every letter is one */
    bool ours, digits;                              /* 0 to 9; those of other scripts */
};

/* Of another script, not another dress. */
static bool is_foreign_digit(uint32_t cp)
{
    return cp >= 0x660 && glyph_digit(cp) >= 0 && !is_wide(cp) && !is_sign(cp) &&
           !(cp >= 0x2070 && cp <= 0x2793);
}

static struct word look_at_word(struct str s)
{
    struct word w = { .twins = true };
    uint32_t    cp;
    unsigned    n;
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        w.latin |= is_latin(cp);
        w.cousin |= is_cousin(cp);
        w.stray |= is_stray(cp);
        w.wide |= is_wide(cp);
        w.narrow |= cp > ' ' && cp < 0x7f;
        w.ours |= (cp >= '0' && cp <= '9') || (cp >= 0xff10 && cp <= 0xff19);
        w.digits |= is_foreign_digit(cp);
        if (is_latin(cp) || (is_cousin(cp) && !is_twin(cp) && !is_stray(cp))) w.twins = false;
    }
    return w;
}

static bool is_gap(uint32_t cp)
{
    return cp == ' ' || cp == '\t' || cp == 0x3000;
}

static bool is_blank(uint32_t cp)
{
    return is_gap(cp) || cp == '\n';
}

/* Takes off the front of `s` as long as `is` says `want`. */
static struct str cut_while(struct str *s, bool (*is)(uint32_t), bool want)
{
    size_t   at = 0;
    unsigned n;
    for (uint32_t cp; at < s->len; at += n) {
        n = utf8_decode(str_from(*s, at), &cp);
        if (is(cp) != want) break;
    }
    struct str head = str_cut(*s, at);
    *s = str_from(*s, at);
    return head;
}

/* Splits off the blanks at the beginning, and the word behind them. */
static struct str next_word(struct str *s, struct str *blanks)
{
    *blanks = cut_while(s, is_blank, true);
    return cut_while(s, is_blank, false);
}

struct text {
    bool foreign; /* some word of it has letters that nobody takes for Latin ones */
    bool other;   /* some letter is of another alphabet than Latin */
};

static struct text look_at_text(struct str s)
{
    struct text t = { 0 };
    struct str  blanks;
    uint32_t    cp;
    for (struct str rest = s; rest.len; rest = str_from(rest, utf8_decode(rest, &cp))) {
        utf8_decode(rest, &cp);
        t.other |= is_other_letter(cp);
    }
    while (s.len) {
        struct word w = look_at_word(next_word(&s, &blanks));
        t.foreign |= w.cousin && !w.twins && !w.latin;
    }
    return t;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What is spelled out and may come again: it is counted, not written again. */
struct pen {
    struct buf *out;
    bool        name; /* ends of lines, and blanks behind them, are spelled out, too */
    uint32_t    cp;
    size_t      times;
};

static void flush(struct pen *p)
{
    if (p->times == 1) buf_printf(p->out, "\\u{%04X}", (unsigned)p->cp);
    if (p->times > 1) buf_printf(p->out, "\\u{%04X × %zu}", (unsigned)p->cp, p->times);
    p->times = 0;
}

static void spell(struct pen *p, uint32_t cp)
{
    if (p->times && p->cp != cp) flush(p);
    p->cp = cp;
    p->times++;
}

static void spell_once(struct pen *p, uint32_t cp)
{
    flush(p);
    spell(p, cp);
    flush(p);
}

static void put_plain(struct pen *p, struct str s, uint32_t cp)
{
    flush(p);
    if (cp == 0xfffd) buf_lit(p->out, "\xef\xbf\xbd"); /* also for a byte that is no text */
    else buf_str(p->out, s);
}

/* Do they push what follows out of sight, or hang over at an end? Lines may be indented. */
static bool is_push(struct str blanks, bool ends)
{
    size_t   count = 0, wide = 0, tabs = 0, n;
    uint32_t cp;
    for (; blanks.len; blanks = str_from(blanks, n), count++) {
        n = utf8_decode(blanks, &cp);
        wide += cp == 0x3000;
        tabs += cp == '\t';
    }
    return ends || count >= 3 || wide >= 2 || tabs;
}

/* `s` is what stands between two words; first, last: at an end of the text. */
static void show_blanks(struct pen *p, struct str s, bool first, bool last)
{
    for (bool indent = false; s.len; indent = !p->name) {
        struct str gap = cut_while(&s, is_gap, true);
        bool       ends = (first && !indent) || (last && !s.len);
        bool       named = gap.len && is_push(gap, ends) && (ends || !indent);
        uint32_t   cp;
        unsigned   n;
        for (; gap.len; gap = str_from(gap, n)) {
            n = utf8_decode(gap, &cp);
            if (named) spell(p, cp);
            else put_plain(p, str_cut(gap, n), cp);
        }
        for (; s.len && s.ptr[0] == '\n'; s = str_from(s, 1))
            if (p->name) spell(p, '\n');
            else put_plain(p, STR("\n"), '\n');
    }
}

/* Letters that stand together, as far as a dotless i among them is judged: where they are else
 * those of English it is spelled out. Turkish has words like that, and they are rarer than
 * "ınvoice" is dangerous. */
struct letters {
    size_t left; /* bytes of them that are still to come */
    bool   english;
};

static struct letters look_at_letters(struct str s)
{
    struct letters l = { 0 };
    bool           ascii = false, others = false;
    uint32_t       cp;
    unsigned       n;
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        if (cp < 0x80 && !is_ascii_letter(cp)) break;
        ascii |= cp < 0x80;
        others |= cp >= 0x80 && cp != DOTLESS_I;
        l.left += n;
    }
    l.english = ascii && !others;
    return l;
}

/* Does a sign that looks like a point, with others like it, stand before something of a word? */
static bool is_inside(struct str s)
{
    uint32_t cp = 0;
    while (s.len && utf8_decode(s, &cp) && is_dot(cp)) s = str_from(s, utf8_decode(s, &cp));
    return s.len && (is_wordy(cp) || cp == '/');
}

static void show_word(struct pen *p, struct str s, const struct text *t)
{
    struct word    w = look_at_word(s);
    struct letters letters = { 0 };
    bool           mixed = (w.cousin || w.stray) && w.latin;
    bool           twins = w.twins && (w.stray || (w.cousin && !t->foreign));
    bool           digits = w.digits && (w.ours || w.latin || !t->other);
    bool           wordy = false, dots = false, point = false;
    unsigned       marks = GLYPH_MARKS, n;
    uint32_t       cp;
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        bool mark = glyph_mark(cp), lost = mark && (marks >= GLYPH_MARKS || is_strike(cp));
        marks = mark ? marks + 1 : 0;
        if (is_dot(cp) && !dots) point = wordy && is_inside(s); /* once for all of them */
        dots = is_dot(cp);
        if (!letters.left) letters = look_at_letters(s);
        bool guise = ((mixed || twins) && (is_cousin(cp) || is_stray(cp))) || is_sign(cp) ||
                     (dots && point) || (w.wide && w.narrow && is_wide(cp)) ||
                     (digits && is_foreign_digit(cp)) || (letters.english && cp == DOTLESS_I);
        if (lost || glyph_hidden(cp)) spell(p, cp);
        else if (guise) spell_once(p, cp);
        else put_plain(p, str_cut(s, n), cp);
        letters.left -= letters.left ? n : 0;
        if (!mark) wordy = is_wordy(cp) || cp == '/' || cp == ':';
    }
}

static void show(struct pen p, struct str s)
{
    struct text t = look_at_text(s);
    struct str  blanks;
    for (bool first = true; s.len; first = false) {
        struct str word = next_word(&s, &blanks);
        show_blanks(&p, blanks, first, !word.len);
        show_word(&p, word, &t);
    }
    flush(&p);
}

void guise_show(struct buf *out, struct str s)
{
    show((struct pen){ .out = out }, s);
}

void guise_name(struct buf *out, struct str s)
{
    show((struct pen){ .out = out, .name = true }, s);
}
