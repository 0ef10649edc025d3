/* order.c -- see order.h. */
#include "base/order.h"

#include <string.h>

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

/* Unicode's classes R and AL with what stands among them. */
static bool is_of_block(uint32_t cp)
{
    static const struct span block[] = { { 0x590, 0x8ff },
                                         { 0xfb1d, 0xfdff },
                                         { 0xfe70, 0xfefe },
                                         { 0x10800, 0x10fff },
                                         { 0x1e800, 0x1efff } };
    return cp >= 0x590 && IS_WITHIN(cp, block);
}

/* Their digits run from left to right like ours. */
static bool is_back(uint32_t cp)
{
    static const struct span digits[] = {
        { 0x600, 0x605 },     { 0x660, 0x669 },     { 0x66b, 0x66c }, { 0x6dd, 0x6dd },
        { 0x6f0, 0x6f9 },     { 0x890, 0x891 },     { 0x8e2, 0x8e2 }, { 0x10d30, 0x10d39 },
        { 0x10d40, 0x10d49 }, { 0x10e60, 0x10e7e },
    };
    return is_of_block(cp) && !IS_WITHIN(cp, digits);
}

bool order_turns(struct str s)
{
    uint32_t cp;
    for (; s.len; s = str_from(s, utf8_decode(s, &cp))) {
        utf8_decode(s, &cp);
        if (is_of_block(cp)) return true;
    }
    return false;
}

/* The length of such a letter at the beginning; 0: there is another, or nothing. */
static unsigned back_letter(struct str s)
{
    uint32_t cp;
    unsigned n = s.len ? utf8_decode(s, &cp) : 0;
    return n && is_back(cp) ? n : 0;
}

/* Of one sign and one blank, either of which may be missing. */
static size_t between(struct str s)
{
    size_t n = s.len && s.ptr[0] && strchr("-,.;:!?'\"", s.ptr[0]) ? 1 : 0;
    return n + (s.len > n && s.ptr[n] == ' ');
}

size_t order_stretch(struct str s)
{
    size_t at = back_letter(s), gap;
    while (at) {
        gap = between(str_from(s, at));
        unsigned n = back_letter(str_from(s, at + gap));
        if (!n) break;
        at += gap + n;
    }
    return at;
}

size_t order_plain(struct str s)
{
    size_t   at = 0;
    uint32_t cp;
    while (at < s.len && !back_letter(str_from(s, at))) at += utf8_decode(str_from(s, at), &cp);
    return at;
}

/* What has an order of its own: letters and digits. */
static bool has_other(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
            return true;
    }
    return false;
}

static bool line_mixes(struct str s)
{
    unsigned stretches = 0;
    bool     other = false;
    while (s.len) {
        size_t plain = order_plain(s);
        other |= has_other(str_cut(s, plain));
        s = str_from(s, plain);
        stretches += s.len > 0;
        s = str_from(s, order_stretch(s));
    }
    return stretches > 1 || (stretches && other);
}

bool order_mixes(struct str s)
{
    struct str line;
    while (str_split(&s, '\n', &line))
        if (line_mixes(line)) return true;
    return false;
}
