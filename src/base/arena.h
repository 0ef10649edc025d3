/* arena.h -- a bump allocator: everything in it dies together.
 *
 * One owner, one thread. Memory is zeroed. Under ASan, unused and reset space
 * is poisoned. The first allocation makes the first chunk, so an unused arena
 * costs its struct only. arena_alloc returns NULL when memory or `max` is used
 * up and remembers it in `failed`, so that a builder may check once at its end.
 */
#ifndef PARLEY_ARENA_H
#define PARLEY_ARENA_H

#include "base/err.h"
#include "base/str.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *head;
    size_t              used; /* bytes handed out since the last reset */
    size_t              max;  /* 0: no limit */
    bool                failed;
};

void       arena_init(struct arena *a, size_t max);
void       arena_reset(struct arena *a);              /* keeps the first chunk for reuse */
void       arena_done(struct arena *a);               /* gives everything back */
void      *arena_alloc(struct arena *a, size_t size); /* 16-byte aligned */
void      *arena_array(struct arena *a, size_t count, size_t size); /* overflow-checked */
/* Copies; the copy has a NUL after it for C interfaces. ptr NULL on failure, STR_NONE stays
 * STR_NONE. */
struct str arena_dup(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* All heap memory of the program goes through these, so that tests can make the
 * Nth allocation fail: mem_fail_at(n) lets n allocations pass and fails all
 * later ones until mem_fail_at(-1). */
void *mem_alloc(size_t size); /* zeroed */
void *mem_realloc(void *p, size_t size);
void  mem_free(void *p);
void  mem_fail_at(long n);
long  mem_count(void); /* allocations so far, for picking n */

#endif
