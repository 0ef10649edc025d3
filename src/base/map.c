/* map.c -- a hash table from borrowed text to a pointer.
 *
 * Open addressing, linear probing, at most three quarters full. A slot is empty
 * when its value is NULL. Removing moves the followers of the gap back instead
 * of leaving a tombstone, so a map that lives for weeks stays as fast as a new one.
 */
#include "base/map.h"

#include "base/arena.h"

#define CAP_MIN 16

void map_init(struct map *m)
{
    *m = (struct map){ 0 };
}

void map_done(struct map *m)
{
    mem_free(m->slots);
    map_init(m);
}

/* The slot of the key, or the empty one where it would go. cap > 0. */
static struct map_slot *seek(const struct map *m, struct str key, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);
    while (m->slots[i].value && (m->slots[i].hash != hash || !str_eq(m->slots[i].key, key)))
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

void *map_get(const struct map *m, struct str key)
{
    return m->count ? seek(m, key, str_hash(key))->value : NULL;
}

static enum err grow(struct map *m)
{
    struct map bigger = { .cap = m->cap ? m->cap * 2 : CAP_MIN, .count = m->count };
    size_t     bytes;
    if (__builtin_mul_overflow(bigger.cap, sizeof *m->slots, &bytes)) return ERR_NOMEM;
    bigger.slots = mem_alloc(bytes);
    if (!bigger.slots) return ERR_NOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].value) *seek(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
    mem_free(m->slots);
    *m = bigger;
    return OK;
}

enum err map_put(struct map *m, struct str key, void *value)
{
    must(value);
    if (m->count >= m->cap / 4 * 3 && grow(m) != OK) return ERR_NOMEM;
    uint64_t         hash = str_hash(key);
    struct map_slot *s = seek(m, key, hash);
    if (!s->value) m->count++;
    /* The key too: the old one usually lives inside the old value. */
    *s = (struct map_slot){ key, value, hash };
    return OK;
}

/* Fills the gap at i with the next slot that may stand there, and so on. */
static void close_gap(struct map *m, size_t i)
{
    size_t mask = m->cap - 1;
    for (size_t j = (i + 1) & mask; m->slots[j].value; j = (j + 1) & mask) {
        size_t home = m->slots[j].hash & mask;
        /* it would stand before its home */
        if (((j - home) & mask) < ((j - i) & mask)) continue;
        m->slots[i] = m->slots[j];
        i = j;
    }
    m->slots[i] = (struct map_slot){ 0 };
}

void *map_remove(struct map *m, struct str key)
{
    if (m->count == 0) return NULL;
    struct map_slot *s = seek(m, key, str_hash(key));
    void            *value = s->value;
    if (!value) return NULL;
    close_gap(m, (size_t)(s - m->slots));
    m->count--;
    return value;
}

void *map_each(const struct map *m, size_t *i)
{
    while (*i < m->cap) {
        void *value = m->slots[(*i)++].value;
        if (value) return value;
    }
    return NULL;
}
