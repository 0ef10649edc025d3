/* scan.h -- eight bytes at a time: where a run of plain ASCII ends.
 *
 * Reading and writing JSON spend their time inside strings, and strings are
 * mostly plain. Private to base/.
 */
#ifndef PARLEY_SCAN_H
#define PARLEY_SCAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define SCAN_ONES 0x0101010101010101u
#define SCAN_HIGH 0x8080808080808080u

static inline int scan_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The high bit of each byte that is not plain. Borrows can mark a byte falsely,
 * but only above a true mark: the lowest one is right. */
static inline uint64_t scan_marks(uint64_t w)
{
    uint64_t quote = w ^ SCAN_ONES * '"', slash = w ^ SCAN_ONES * '\\';
    uint64_t below = (w - SCAN_ONES * 0x20) & ~w;
    return ((quote - SCAN_ONES) | (slash - SCAN_ONES) | below | w) & SCAN_HIGH;
}

/* The first byte in [p, end) that needs a look: quote, backslash, control or not ASCII. */
static inline const char *scan_plain(const char *p, const char *end)
{
    uint64_t w;
    for (; end - p >= 8; p += 8) {
        memcpy(&w, p, sizeof w);
        uint64_t marks = scan_marks(le64toh(w));
        if (marks) return p + (__builtin_ctzll(marks) >> 3);
    }
    while (p < end && scan_is_plain((unsigned char)*p)) p++;
    return p;
}

#endif
