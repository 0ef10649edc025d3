/* arena.c -- the bump allocator, and the one door to the heap.
 *
 * Chunks form a list from the newest to the first. Only the newest is handed
 * out from; what is left over in an older one is lost until the reset. All
 * unused bytes of a chunk are zero: fresh chunks come zeroed, and a reset
 * clears what was used. Under ASan everything not handed out is poisoned, with
 * a gap after each piece, so that a write past its end is seen at once.
 */
#include "base/arena.h"

#include "base/fault.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define poison(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#define GAP            16
#else
#define poison(p, n)   ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
#define GAP            0
#endif

#define ALIGN 16
/* with its header half a KiB: most arenas are those of idle conversations and sockets */
#define CHUNK_MIN 480
#define CHUNK_MAX (256 * 1024) /* larger ones waste more than they save */

struct arena_chunk {
    struct arena_chunk *older;
    size_t              cap, used;
    _Alignas(ALIGN) char data[];
};

/* --- the heap ------------------------------------------------------------ */

static atomic_long allocations;
static atomic_long fail_after = -1; /* allocations that may still pass; -1: all */

static bool may_pass(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    if (fault_fails("mem")) return false;
    long left = atomic_load_explicit(&fail_after, memory_order_relaxed);
    if (left < 0) return true;
    if (left == 0) return false;
    atomic_store_explicit(&fail_after, left - 1, memory_order_relaxed);
    return true;
}

void *mem_alloc(size_t size)
{
    return may_pass() ? calloc(1, size ? size : 1) : NULL;
}

void *mem_realloc(void *p, size_t size)
{
    return may_pass() ? realloc(p, size ? size : 1) : NULL;
}

void mem_free(void *p)
{
    free(p);
}

void mem_fail_at(long n)
{
    atomic_store(&fail_after, n);
}

long mem_count(void)
{
    return atomic_load(&allocations);
}

/* --- the arena ----------------------------------------------------------- */

void arena_init(struct arena *a, size_t max)
{
    *a = (struct arena){ .max = max };
}

static void chunk_free(struct arena_chunk *c)
{
    unpoison(c->data, c->cap);
    mem_free(c);
}

void arena_reset(struct arena *a)
{
    while (a->head && a->head->older) {
        struct arena_chunk *c = a->head;
        a->head = c->older;
        chunk_free(c);
    }
    if (a->head) {
        unpoison(a->head->data, a->head->used);
        memset(a->head->data, 0, a->head->used);
        poison(a->head->data, a->head->cap);
        a->head->used = 0;
    }
    a->used = 0;
    a->failed = false;
}

void arena_done(struct arena *a)
{
    for (struct arena_chunk *c = a->head, *older; c; c = older) {
        older = c->older;
        chunk_free(c);
    }
    arena_init(a, a->max);
}

/* Half as much again as is in use: the number of chunks grows with the logarithm, and of what an
 * idle conversation holds a third at most is room. */
static size_t chunk_size(const struct arena *a, size_t need)
{
    size_t half = a->used / 2;
    size_t n = half < CHUNK_MIN ? CHUNK_MIN : half > CHUNK_MAX ? CHUNK_MAX : half / ALIGN * ALIGN;
    return n < need ? need : n;
}

static bool add_chunk(struct arena *a, size_t need)
{
    size_t cap = chunk_size(a, need), total;
    if (__builtin_add_overflow(cap, sizeof(struct arena_chunk), &total)) return false;
    struct arena_chunk *c = mem_alloc(total);
    if (!c) return false;
    c->older = a->head;
    c->cap = cap;
    poison(c->data, cap);
    a->head = c;
    return true;
}

static bool room_for(struct arena *a, size_t need)
{
    if (a->head && a->head->cap - a->head->used >= need) return true;
    return add_chunk(a, need);
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t padded = (size ? size : 1) + (ALIGN - 1), used;
    if (padded < size) goto failed;
    padded -= padded % ALIGN;
    if (__builtin_add_overflow(a->used, padded, &used) || (a->max && used > a->max)) goto failed;
    if (padded + GAP < padded || !room_for(a, padded + GAP)) goto failed;

    void *p = a->head->data + a->head->used;
    a->head->used += padded + GAP;
    a->used = used;
    unpoison(p, size);
    return p;
failed:
    a->failed = true;
    return NULL;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;
    if (!__builtin_mul_overflow(count, size, &total)) return arena_alloc(a, total);
    a->failed = true;
    return NULL;
}

struct str arena_dup(struct arena *a, struct str s)
{
    if (!s.ptr) return STR_NONE;
    char *p = s.len < SIZE_MAX ? arena_alloc(a, s.len + 1) : NULL;
    if (!p) return STR_NONE;
    memcpy(p, s.ptr, s.len); /* the NUL is there: arena memory is zero */
    return str_n(p, s.len);
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = n >= 0 ? arena_alloc(a, (size_t)n + 1) : NULL;
    if (!p) {
        a->failed = true;
        return STR_NONE;
    }
    va_start(args, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
    return str_n(p, (size_t)n);
}
