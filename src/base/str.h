/* str.h -- borrowed text: a pointer and a length, never NUL-dependent.
 *
 * A struct str owns nothing. Whoever hands one out says how long it lives; the
 * default is "until the arena or buffer it points into is reset".
 */
#ifndef PARLEY_STR_H
#define PARLEY_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t      len;
};

#define STR(lit)   ((struct str){ "" lit, sizeof(lit) - 1 }) /* literals only */
#define STR_NONE   ((struct str){ NULL, 0 })                 /* "absent", told from "" by ptr */
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct str str_c(const char *z)
{
    return (struct str){ z, z ? strlen(z) : 0 };
}
static inline struct str str_n(const char *p, size_t n)
{
    return (struct str){ p, n };
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_c(z));
}
static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
static inline bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}
/* From `at` to the end, or empty when `at` is past it. */
static inline struct str str_from(struct str s, size_t at)
{
    return at >= s.len ? (struct str){ s.ptr ? s.ptr + s.len : NULL, 0 }
                       : (struct str){ s.ptr + at, s.len - at };
}
static inline struct str str_cut(struct str s, size_t len)
{
    return (struct str){ s.ptr, len < s.len ? len : s.len };
}

int        str_cmp(struct str a, struct str b);       /* bytewise, as memcmp */
bool       str_eq_nocase(struct str a, struct str b); /* ASCII letters only */
struct str str_trim(struct str s);                    /* ASCII white space off both ends */
ptrdiff_t  str_find(struct str s, struct str needle); /* -1: not there */
/* Splits off what stands before `sep`; false when `rest` is used up.
 * "a," has two pieces, "" has one, STR_NONE has none. */
bool       str_split(struct str *rest, char sep, struct str *piece);
/* Whole string is one decimal number without sign, leading zeros or blanks. */
bool       str_to_u64(struct str s, uint64_t *out);
/* A word as HTTP knows it (RFC 9110 section 5.6.2): a method, the name of a header. */
bool       str_is_token(struct str s);
bool       str_token_char(unsigned char c);
/* keyed per process: safe for tables fed by strangers */
uint64_t   str_hash(struct str s);
/* Constant time in the bytes, for secrets. */
bool       str_eq_secret(struct str a, struct str b);
/* Edit distance (Levenshtein, bytes, both <= 64; else UINT_MAX): "did you mean". */
unsigned   str_distance(struct str a, struct str b);

#endif
