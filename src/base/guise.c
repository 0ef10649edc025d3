/* guise.c -- see guise.h. Judged word by word; a word ends at a blank. */
#include "base/guise.h"

#include "base/utf8.h"

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

/* Letters that are signs: mathematical, circled, squared. */
static bool is_sign(uint32_t cp)
{
    static const struct span signs[] = { { 0x2460, 0x24ff },
                                         { 0x1d400, 0x1d7ff },
                                         { 0x1f130, 0x1f189 } };
    return IS_WITHIN(cp, signs);
}

struct word {
    bool latin, cousin, twins, wide, narrow; /* twins: every letter is one */
};

static struct word look_at_word(struct str s)
{
    struct word w = { .twins = true };
    uint32_t    cp;
    unsigned    n;
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        w.latin |= is_latin(cp);
        w.cousin |= is_cousin(cp);
        w.wide |= cp >= 0xff01 && cp <= 0xff5e;
        w.narrow |= cp > ' ' && cp < 0x7f;
        if (is_latin(cp) || (is_cousin(cp) && !is_twin(cp))) w.twins = false;
    }
    return w;
}

/* Splits off the blanks at the beginning, and the word behind them. */
static struct str next_word(struct str *s, struct str *blanks)
{
    size_t at = 0, end;
    while (at < s->len && (s->ptr[at] == ' ' || s->ptr[at] == '\t' || s->ptr[at] == '\n')) at++;
    for (end = at; end < s->len; end++)
        if (s->ptr[end] == ' ' || s->ptr[end] == '\t' || s->ptr[end] == '\n') break;
    struct str word = str_n(s->ptr + at, end - at);
    *blanks = str_cut(*s, at);
    *s = str_from(*s, end);
    return word;
}

/* Some word of it has letters that nobody takes for Latin ones. */
static bool is_foreign(struct str s)
{
    struct str blanks;
    while (s.len) {
        struct word w = look_at_word(next_word(&s, &blanks));
        if (w.cousin && !w.twins && !w.latin) return true;
    }
    return false;
}

static void show_word(struct buf *out, struct str s, bool foreign)
{
    struct word w = look_at_word(s);
    bool        mixed = w.cousin && (w.latin || (w.twins && !foreign)), widths = w.wide && w.narrow;
    uint32_t    cp;
    unsigned    n;
    for (; s.len; s = str_from(s, n)) {
        n = utf8_decode(s, &cp);
        bool guise =
            (mixed && is_cousin(cp)) || is_sign(cp) || (widths && cp >= 0xff01 && cp <= 0xff5e);
        if (guise) buf_printf(out, "\\u{%04X}", (unsigned)cp);
        else buf_add(out, s.ptr, n);
    }
}

void guise_show(struct buf *out, struct str s)
{
    bool       foreign = is_foreign(s);
    struct str blanks;
    while (s.len) {
        struct str word = next_word(&s, &blanks);
        buf_str(out, blanks);
        show_word(out, word, foreign);
    }
}
