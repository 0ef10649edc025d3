/* marker.c -- see marker.h. */
#include "run/marker.h"

static const struct str OPENING = { "[[tool:", 7 };

void marker_paragraph(struct marker_weave *w)
{
    w->separate = true;
}

static void put(struct buf *out, struct str s)
{
    if (out) buf_str(out, s);
}

static void blank_line(struct marker_weave *w, struct buf *out)
{
    if (w->any)
        for (; w->newlines < 2; w->newlines++) put(out, STR("\n"));
}

/* Length of the longest tail of s that is a beginning of the marker's opening. */
static size_t half_open(struct str s)
{
    for (size_t n = OPENING.len - 1; n > 0; n--)
        if (s.len >= n && memcmp(s.ptr + s.len - n, OPENING.ptr, n) == 0) return n;
    return 0;
}

static void escape(struct buf *out, struct str s)
{
    for (ptrdiff_t at; (at = str_find(s, OPENING)) >= 0; s = str_from(s, (size_t)at + 1)) {
        put(out, str_cut(s, (size_t)at + 1));
        put(out, STR("\\"));
    }
    put(out, s);
}

static void count_newlines(struct marker_weave *w, struct str s)
{
    size_t n = 0;
    while (n < s.len && s.ptr[s.len - 1 - n] == '\n') n++;
    w->newlines = n == s.len ? w->newlines + (unsigned)n : (unsigned)n;
    if (w->newlines > 2) w->newlines = 2;
}

size_t marker_words(struct marker_weave *w, struct buf *out, struct str words, bool last)
{
    size_t skipped = 0;
    if (!last) words.len -= half_open(words);
    if (w->separate || !w->any)
        while (skipped < words.len && words.ptr[skipped] == '\n') skipped++;
    struct str rest = str_from(words, skipped);
    if (!rest.len) return words.len;
    if (w->separate) blank_line(w, out);
    w->separate = false;
    w->any = true;
    escape(out, rest);
    count_newlines(w, rest);
    return words.len;
}

void marker_put(struct marker_weave *w, struct buf *out, unsigned index)
{
    blank_line(w, out);
    if (out) buf_printf(out, "[[tool:%u]]", index);
    w->any = true;
    w->newlines = 0;
    w->separate = true;
}
