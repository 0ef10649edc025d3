/* decimal.c -- see decimal.h. */
#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>

#define PLACES       6
#define EXPONENT_MAX 400 /* beyond it nothing but zero fits */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digits at *s, up to the first that is none. */
static struct str digits(struct str *s)
{
    size_t     n = 0;
    struct str d;

    while (n < s->len && is_digit(s->ptr[n])) n++;
    d = str_cut(*s, n);
    *s = str_from(*s, n);
    return d;
}

static bool eat(struct str *s, char c)
{
    if (!s->len || s->ptr[0] != c) return false;
    *s = str_from(*s, 1);
    return true;
}

/* e+12, E-3; false: not well formed. Long ones stop at EXPONENT_MAX. */
static bool read_exponent(struct str *s, int *out)
{
    bool       minus;
    struct str d;

    *out = 0;
    if (!eat(s, 'e') && !eat(s, 'E')) return true;
    minus = eat(s, '-');
    if (!minus) eat(s, '+');
    d = digits(s);
    for (size_t i = 0; i < d.len && *out < EXPONENT_MAX; i++) *out = *out * 10 + (d.ptr[i] - '0');
    if (minus) *out = -*out;
    return d.len > 0;
}

/* One more digit; the place of the last one that counts is -PLACES. */
static bool push(int64_t *units, char digit)
{
    return !__builtin_mul_overflow(*units, 10, units) &&
           !__builtin_add_overflow(*units, digit - '0', units);
}

/* whole.fraction shifted by `exponent` places, in millionths. */
static enum err assemble(struct str whole, struct str fraction, int exponent, int64_t *out)
{
    int64_t units = 0;
    int     last = exponent + PLACES; /* so many digits behind the point belong to it */

    for (size_t i = 0; i < whole.len + fraction.len; i++) {
        char digit = i < whole.len ? whole.ptr[i] : fraction.ptr[i - whole.len];
        bool counts = (long)i < (long)whole.len + last;
        if (!counts && digit != '0') return ERR_RANGE; /* finer than we count */
        if (counts && !push(&units, digit)) return ERR_RANGE;
    }
    for (int i = (int)fraction.len; i < last && units; i++)
        if (!push(&units, '0')) return ERR_RANGE;
    if (units == DECIMAL_MAX) return ERR_RANGE;
    *out = units;
    return OK;
}

enum err decimal_read(struct str s, int64_t *out)
{
    bool       minus = eat(&s, '-');
    struct str whole = digits(&s), fraction = STR_NONE;
    int        exponent;
    enum err   e;

    if (!whole.len || (whole.len > 1 && whole.ptr[0] == '0')) return ERR_SYNTAX;
    if (eat(&s, '.') && !(fraction = digits(&s)).len) return ERR_SYNTAX;
    if (!read_exponent(&s, &exponent) || s.len) return ERR_SYNTAX;
    e = assemble(whole, fraction, exponent, out);
    if (!e && minus) *out = -*out;
    return e;
}

enum err decimal_of(const struct jv *v, int64_t *out)
{
    if (jv_is(v, JSON_NUMBER)) return decimal_read(v->raw, out);
    if (!jv_is(v, JSON_STRING)) return ERR_TYPE;
    return decimal_read(v->str, out) == ERR_SYNTAX ? ERR_TYPE : decimal_read(v->str, out);
}

void decimal_write(int64_t units, char out[DECIMAL_TEXT])
{
    uint64_t abs = units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
    int      n = snprintf(out, DECIMAL_TEXT, "%s%" PRIu64, units < 0 ? "-" : "", abs / DECIMAL_ONE);

    if (abs % DECIMAL_ONE == 0) return;
    n += snprintf(out + n, DECIMAL_TEXT - (size_t)n, ".%06" PRIu64, abs % DECIMAL_ONE);
    while (out[n - 1] == '0') out[--n] = '\0';
}
