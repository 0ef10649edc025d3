/* str.c -- searching, comparing, converting and hashing borrowed text.
 *
 * Everything here treats text as bytes with a length; NUL means nothing. The
 * hash is SipHash-1-3 under a key drawn when the process starts, so that nobody
 * outside can choose texts that fall into one bucket.
 */
#include "base/str.h"

#include <endian.h>
#include <limits.h>

#include "base/id.h"

/* Longer words are not typing mistakes of ours; and the row below stays small. */
#define DISTANCE_MAX 64

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int    c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* Not tolower(): that follows the locale, and header names do not. */
static unsigned char lower(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i])) return false;
    return true;
}

bool str_token_char(unsigned char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return true;
    return c && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

bool str_is_token(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!str_token_char((unsigned char)s.ptr[i])) return false;
    return s.len > 0;
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.len && blank(s.ptr[0])) s = str_from(s, 1);
    while (s.len && blank(s.ptr[s.len - 1])) s.len--;
    return s;
}

ptrdiff_t str_find(struct str s, struct str needle)
{
    if (needle.len == 0) return 0;
    if (needle.len > s.len) return -1;
    const char *at = memmem(s.ptr, s.len, needle.ptr, needle.len);
    return at ? at - s.ptr : -1;
}

/* "Used up" is ptr NULL, not len 0: so "a," has two pieces and "" has one. */
bool str_split(struct str *rest, char sep, struct str *piece)
{
    if (!rest->ptr) return false;
    const char *at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
    if (!at) {
        *piece = *rest;
        *rest = STR_NONE;
        return true;
    }
    size_t n = (size_t)(at - rest->ptr);
    *piece = str_n(rest->ptr, n);
    *rest = str_n(at + 1, rest->len - n - 1);
    return true;
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.len == 0 || (s.len > 1 && s.ptr[0] == '0')) return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned d = (unsigned char)s.ptr[i] - '0';
        if (d > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, d, &v))
            return false;
    }
    *out = v;
    return true;
}

bool str_eq_secret(struct str a, struct str b)
{
    if (a.len != b.len) return false;
    volatile unsigned char differ = 0; /* volatile: the loop must not learn to stop early */
    for (size_t i = 0; i < a.len; i++)
        differ = (unsigned char)(differ | (unsigned char)(a.ptr[i] ^ b.ptr[i]));
    return differ == 0;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* One row of the usual table: row[j] is the distance from a[0..i) to b[0..j). */
unsigned str_distance(struct str a, struct str b)
{
    unsigned row[DISTANCE_MAX + 1];
    if (a.len > DISTANCE_MAX || b.len > DISTANCE_MAX) return UINT_MAX;
    for (unsigned j = 0; j <= b.len; j++) row[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned before = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, before + (a.ptr[i - 1] != b.ptr[j - 1]));
            before = above;
        }
    }
    return row[b.len];
}

/* --- SipHash-1-3 (Aumasson, Bernstein; the variant with fewer rounds is enough for tables) --- */

static uint64_t hash_key[2];

/* Before main(), so that no thread can see half a key. */
__attribute__((constructor)) static void draw_hash_key(void)
{
    id_bytes(hash_key, sizeof hash_key);
}

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

/* The last 0..7 bytes and the length in the top byte. */
static inline uint64_t sip_tail(struct str s)
{
    uint64_t word = (uint64_t)s.len << 56;
    for (size_t i = 0; i < s.len % 8; i++)
        word |= (uint64_t)(unsigned char)s.ptr[s.len / 8 * 8 + i] << (8 * i);
    return word;
}

uint64_t str_hash(struct str s)
{
    struct sip h = { hash_key[0] ^ 0x736f6d6570736575, hash_key[1] ^ 0x646f72616e646f6d,
                     hash_key[0] ^ 0x6c7967656e657261, hash_key[1] ^ 0x7465646279746573 };
    for (size_t i = 0; i + 8 <= s.len; i += 8) {
        uint64_t word;
        memcpy(&word, s.ptr + i, sizeof word);
        sip_word(&h, le64toh(word));
    }
    sip_word(&h, sip_tail(s));
    h.c ^= 0xff;
    for (int i = 0; i < 3; i++) sip_round(&h);
    return h.a ^ h.b ^ h.c ^ h.d;
}
