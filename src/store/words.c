/* words.c -- see words.h. */
#include "store/words.h"

#include "base/utf8.h"

/* Letters of the scripts that have two cases, to the lower one. SQLite's LIKE knows ASCII
 * only. Within a range every `step`-th character has its partner `add` further. */
static const struct {
    uint16_t first, last, step;
    int16_t  add;
} cases[] = {
    { 'A', 'Z', 1, 32 },
    { 0xC0, 0xD6, 1, 32 },
    { 0xD8, 0xDE, 1, 32 }, /* Latin */
    { 0x100, 0x12E, 2, 1 },
    { 0x132, 0x136, 2, 1 },
    { 0x139, 0x147, 2, 1 },
    { 0x14A, 0x176, 2, 1 },
    { 0x178, 0x178, 1, -121 },
    { 0x179, 0x17D, 2, 1 },
    { 0x1E00, 0x1E94, 2, 1 },
    { 0x1EA0, 0x1EFE, 2, 1 },
    { 0xFF21, 0xFF3A, 1, 32 },
    /* Greek */
    { 0x386, 0x386, 1, 38 },
    { 0x388, 0x38A, 1, 37 },
    { 0x38C, 0x38C, 1, 64 },
    { 0x38E, 0x38F, 1, 63 },
    { 0x391, 0x3A1, 1, 32 },
    { 0x3A3, 0x3AB, 1, 32 },
    { 0x3C2, 0x3C2, 1, 1 },
    /* Cyrillic */
    { 0x400, 0x40F, 1, 80 },
    { 0x410, 0x42F, 1, 32 },
    { 0x460, 0x480, 2, 1 },
    { 0x48A, 0x4BE, 2, 1 },
    { 0x4C1, 0x4CD, 2, 1 },
    { 0x4D0, 0x526, 2, 1 },  /* those after it are not one letter to SQLite's index */
    { 0x531, 0x556, 1, 48 }, /* Armenian */
};

static uint32_t lower(uint32_t c)
{
    if (c < 128) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (c >= cases[i].first && c <= cases[i].last && (c - cases[i].first) % cases[i].step == 0)
            return (uint32_t)((int32_t)c + cases[i].add);
    return c;
}

/* Takes the first character off `s`, in lower case. */
static uint32_t take_lower(struct str *s)
{
    uint32_t c = (uint8_t)*s->ptr;

    if (c < 128) s->ptr++, s->len--;
    else *s = str_from(*s, utf8_decode(*s, &c));
    return lower(c);
}

static bool begins_with(struct str text, struct str words)
{
    while (words.len)
        if (!text.len || take_lower(&text) != take_lower(&words)) return false;
    return true;
}

ptrdiff_t words_at(struct str text, struct str words)
{
    const char *start = text.ptr, *at;
    uint32_t    first = take_lower(&words);

    while (text.len) {
        at = text.ptr;
        if (take_lower(&text) == first && begins_with(text, words)) return at - start;
    }
    return -1;
}

bool words_in(struct str text, struct str words)
{
    return words_at(text, words) >= 0;
}

void words_lower(struct buf *out, struct str text)
{
    char c[4];

    while (text.len) {
        uint32_t low = take_lower(&text);
        if (low < 128) buf_chr(out, low ? (char)low : ' ');
        else buf_add(out, c, utf8_encode(low, c));
    }
}
