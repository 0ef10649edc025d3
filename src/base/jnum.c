/* jnum.c -- JSON numbers: exact integers, nearest doubles, exact comparison.
 *
 * Comparison never goes through a double, which would call neighbouring large
 * integers equal. It brings both numbers to the form 0.DIGITS * 10^exp with no
 * zeros around DIGITS, and compares those.
 */
#include "base/jnum.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

/* An exponent beyond this is not added up any more: only its spelling can be compared. */
#define EXPONENT_MAX INT64_C(1000000000000000)
/* Most numbers fit; longer ones go through the heap. */
#define SHORT_MAX 128

enum err jnum_int(struct str raw, int64_t *out)
{
    bool    minus = raw.len && raw.ptr[0] == '-', over = false;
    int64_t v = 0;
    for (size_t i = minus; i < raw.len; i++) {
        int d = raw.ptr[i] - '0';
        if (d < 0 || d > 9) return ERR_TYPE;
        /* Downwards, because there is one more number below zero than above. */
        over = over || __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, d, &v);
    }
    if (over || (!minus && v == INT64_MIN)) return ERR_RANGE;
    *out = minus ? v : -v;
    return OK;
}

enum err jnum_f64(struct str raw, double *out)
{
    char  small[SHORT_MAX]; /* strtod wants a NUL, which the text does not have */
    char *z = raw.len < sizeof small ? small : mem_alloc(raw.len + 1);
    if (!z) return ERR_NOMEM;
    memcpy(z, raw.ptr, raw.len);
    z[raw.len] = 0;
    double v = strtod(z, NULL);
    if (z != small) mem_free(z);
    if (!isfinite(v)) return ERR_RANGE;
    *out = v;
    return OK;
}

struct decimal {
    /* from the first to the last digit that is not 0; a point may stand between */
    const char *at, *end;
    int64_t     exp;         /* of 0.DIGITS */
    bool        minus, huge; /* huge: exp is not exact */
};

static int64_t exponent(const char *p, const char *end, bool *huge)
{
    bool    minus = p < end && *p == '-';
    int64_t v = 0;
    for (p += p < end && (*p == '-' || *p == '+'); p < end; p++) {
        if (v < EXPONENT_MAX) v = v * 10 + (*p - '0');
        else *huge = true;
    }
    return minus ? -v : v;
}

/* Zero has no digits, no sign and no exponent. */
static struct decimal normal(struct str raw)
{
    const char    *p = raw.ptr, *end = p + raw.len, *e = p;
    struct decimal d = { .minus = *p == '-' };
    while (e < end && (*e | 0x20) != 'e') e++;
    if (e < end) d.exp = exponent(e + 1, end, &d.huge);

    const char *point = memchr(p, '.', (size_t)(e - p));
    if (!point) point = e;
    for (p += d.minus; p < e && (*p == '0' || *p == '.');) p++;
    for (; e > p && (e[-1] == '0' || e[-1] == '.');) e--;
    if (p == e) return (struct decimal){ 0 };
    d.exp += p < point ? point - p : point + 1 - p;
    d.at = p;
    d.end = e;
    return d;
}

static int next_digit(struct decimal *d)
{
    if (d->at < d->end && *d->at == '.') d->at++;
    return d->at < d->end ? *d->at++ : -1;
}

/* Of two that are not negative. A number without digits is zero, which is less than any other. */
static int compare_sizes(struct decimal x, struct decimal y)
{
    if (!x.at || !y.at) return (x.at != NULL) - (y.at != NULL);
    if (x.exp != y.exp) return x.exp < y.exp ? -1 : 1;
    for (;;) {
        /* -1 behind the last: less than any digit */
        int c = next_digit(&x), d = next_digit(&y);
        if (c != d) return c < d ? -1 : 1;
        if (c < 0) return 0;
    }
}

bool jnum_compare(struct str a, struct str b, int *out)
{
    struct decimal x = normal(a), y = normal(b);
    if (x.huge || y.huge) return false;
    if (x.minus != y.minus) *out = x.minus ? -1 : 1;
    else *out = x.minus ? compare_sizes(y, x) : compare_sizes(x, y);
    return true;
}

bool jnum_equal(struct str a, struct str b)
{
    struct decimal x = normal(a), y = normal(b);
    if (x.huge || y.huge) return str_eq(a, b);
    if (x.minus != y.minus || x.exp != y.exp) return false;
    for (;;) {
        int c = next_digit(&x), d = next_digit(&y);
        if (c != d) return false;
        if (c < 0) return true;
    }
}

bool jnum_whole(struct str raw)
{
    struct decimal d = normal(raw);
    int64_t        digits = 0;
    if (d.huge) return d.exp > 0;
    while (next_digit(&d) >= 0) digits++;
    return d.exp >= digits;
}

uint64_t jnum_hash(struct str raw)
{
    struct decimal d = normal(raw);
    char           piece[SHORT_MAX];
    size_t         n = 0;
    uint64_t       h = (uint64_t)d.exp * 2 + d.minus;
    if (d.huge) return str_hash(raw);
    for (int c; (c = next_digit(&d)) >= 0;) {
        piece[n++] = (char)c;
        if (n < sizeof piece) continue;
        h = h * 31 + str_hash(str_n(piece, n));
        n = 0;
    }
    return h * 31 + str_hash(str_n(piece, n));
}
