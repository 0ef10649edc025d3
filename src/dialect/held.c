/* held.c -- see held.h. Loop thread only. */
#include "dialect/held.h"

#include "base/arena.h"

static size_t all;

static size_t size_of(size_t bytes, size_t count)
{
    return sizeof(struct held) + count * sizeof(size_t) + bytes;
}

struct held *held_take(struct str bytes, const size_t *ends, size_t count, int then)
{
    size_t       size = size_of(bytes.len, count);
    struct held *h = size <= HELD_MAX - all ? mem_alloc(size) : NULL;
    if (!h) return NULL;
    size_t *to = (size_t *)(void *)(h + 1);
    char   *text = (char *)(to + count);
    if (count) memcpy(to, ends, count * sizeof *to);
    memcpy(text, bytes.ptr, bytes.len);
    *h = (struct held){ { text, bytes.len }, to, count, then };
    all += size;
    return h;
}

void held_free(struct held *h)
{
    if (!h) return;
    all -= size_of(h->bytes.len, h->count);
    mem_free(h);
}
