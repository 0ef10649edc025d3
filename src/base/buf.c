/* buf.c -- growable bytes with a cap and a sticky error.
 *
 * All growth goes through buf_room: it is the only place that checks the cap,
 * allocates, and sets the error.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"

#define CAP_MIN 256 /* most messages fit; the next step is 512 */
#define U64_LEN 20  /* 18446744073709551615 */

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
    mem_free(b->ptr);
    buf_init(b, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->err = OK;
}

void buf_shrink(struct buf *b, size_t keep)
{
    if (b->len || b->cap <= keep) return;
    if (keep) {
        char *p = mem_realloc(b->ptr, keep);
        if (!p) return; /* then it stays large */
        b->ptr = p;
    } else {
        mem_free(b->ptr);
        b->ptr = NULL;
    }
    b->cap = keep;
}

void buf_fit(struct buf *b)
{
    char *p = b->len && b->len < b->cap ? mem_realloc(b->ptr, b->len) : NULL;
    if (!p) return; /* then it stays large */
    b->ptr = p;
    b->cap = b->len;
}

static enum err grow(struct buf *b, size_t need)
{
    size_t cap = b->cap < CAP_MIN / 2 ? CAP_MIN : b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
    if (b->max && cap > b->max) cap = b->max;
    if (cap < need) cap = need;
    char *p = mem_realloc(b->ptr, cap);
    if (!p) return ERR_NOMEM;
    b->ptr = p;
    b->cap = cap;
    return OK;
}

char *buf_room(struct buf *b, size_t n)
{
    size_t need;
    if (b->err) return NULL;
    if (__builtin_add_overflow(b->len, n, &need) || (b->max && need > b->max)) {
        b->err = ERR_FULL;
        return NULL;
    }
    if (need > b->cap || !b->ptr) b->err = grow(b, need);
    return b->err ? NULL : b->ptr + b->len;
}

void buf_grew(struct buf *b, size_t n)
{
    must(n <= b->cap - b->len);
    b->len += n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0) return;
    char *to = buf_room(b, n);
    if (!to) return;
    memcpy(to, p, n);
    b->len += n;
}

void buf_str(struct buf *b, struct str s)
{
    buf_add(b, s.ptr, s.len);
}

void buf_lit(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

void buf_chr(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

/* Writes the digits so that they end before `end`; returns where they begin. */
static char *digits(char *end, uint64_t v)
{
    do *--end = (char)('0' + v % 10);
    while (v /= 10);
    return end;
}

void buf_u64(struct buf *b, uint64_t v)
{
    char text[U64_LEN], *end = text + sizeof text, *p = digits(end, v);
    buf_add(b, p, (size_t)(end - p));
}

void buf_i64(struct buf *b, int64_t v)
{
    /* -INT64_MIN would overflow */
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char     text[U64_LEN + 1], *end = text + sizeof text, *p = digits(end, size);
    if (v < 0) *--p = '-';
    buf_add(b, p, (size_t)(end - p)); /* in one piece: a full buf never ends in a lone sign */
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    must(n >= 0); /* only a broken format string does that */
    /* vsnprintf wants a byte for its NUL that the cap knows nothing of. */
    if (n == 0 || !buf_room(b, (size_t)n)) return;
    if (b->cap - b->len == (size_t)n && (b->err = grow(b, b->len + (size_t)n + 1)) != OK) return;
    va_start(args, fmt);
    vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, args);
    va_end(args);
    b->len += (size_t)n;
}

void buf_eat(struct buf *b, size_t n)
{
    must(n <= b->len);
    b->len -= n;
    if (n && b->len) memmove(b->ptr, b->ptr + n, b->len);
}

void buf_truncate(struct buf *b, size_t len)
{
    if (len < b->len) b->len = len;
}

struct str buf_into(struct buf *b, struct arena *a)
{
    struct str s = b->err ? STR_NONE : arena_dup(a, buf_view(b));

    buf_done(b);
    return s;
}
