/* buf.h -- growable bytes with a cap and a sticky error.
 *
 * Build the whole message, check `err` once. After the first failure (ERR_FULL
 * at `max`, ERR_NOMEM) further appends do nothing, so a half-built message is
 * never sent by accident. buf_clear resets the error as well.
 */
#ifndef PARLEY_BUF_H
#define PARLEY_BUF_H

#include "base/err.h"
#include "base/str.h"

struct arena;

struct buf {
    char    *ptr;
    size_t   len, cap;
    size_t   max; /* 0: no limit */
    enum err err;
};

void                     buf_init(struct buf *b, size_t max);
void                     buf_done(struct buf *b);
void                     buf_clear(struct buf *b); /* keeps the memory */
/* gives memory above `keep` back when empty */
void                     buf_shrink(struct buf *b, size_t keep);
/* gives back what is not used; for one that is kept as it is */
void                     buf_fit(struct buf *b);
void                     buf_add(struct buf *b, const void *p, size_t n);
void                     buf_str(struct buf *b, struct str s);
void                     buf_lit(struct buf *b, const char *z);
void                     buf_chr(struct buf *b, char c);
void                     buf_u64(struct buf *b, uint64_t v); /* decimal */
void                     buf_i64(struct buf *b, int64_t v);
void                     buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Room for n more bytes at ptr + len; NULL (and err) when there is none. Then buf_grew(n). */
char                    *buf_room(struct buf *b, size_t n);
void                     buf_grew(struct buf *b, size_t n);
void                     buf_eat(struct buf *b, size_t n); /* drops n bytes from the front */
void                     buf_truncate(struct buf *b, size_t len);
/* What was built, in `a`; the buf is done. STR_NONE: it could not be built, or not be kept. */
struct str               buf_into(struct buf *b, struct arena *a);
static inline struct str buf_view(const struct buf *b)
{
    return (struct str){ b->ptr ? b->ptr : "", b->len };
}

#endif
