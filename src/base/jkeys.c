/* jkeys.c -- which keys the open objects have so far.
 *
 * Keys are kept as pointers to where they stand in the text, with a hash
 * of what they mean: "a" and "\u0061" are one key. Both stores are stacks, for
 * objects end in the reverse order of their beginning, and a depth names one
 * open object. The first 32 keys stand in the reader itself, so that ordinary
 * messages allocate nothing; the others go to the heap, with an index by keyed hash, so that
 * an object of 100000 keys is not compared key by key. Those in the reader leave it
 * last, so while it has room the heap is empty.
 *
 * The index needs no tombstones: entries leave it last in, first out, so no
 * entry that is still there was ever placed by stepping over one that has left.
 */
#include "base/jkeys.h"

#include "base/utf8.h"

#define INLINE_MAX (sizeof((struct json *)0)->key_hash / sizeof(uint32_t))
#define STACK_MIN  64 /* entries; the index has twice as many places */
#define STACK_MAX  (1u << 30)
#define SHORT_MAX  256 /* keys with escapes up to here are decoded on the C stack */

struct entry {
    uint64_t    hash;
    const char *at;
    int         depth;
};

struct json_keys {
    struct entry *stack;
    uint32_t     *index;      /* place in the stack, from 1; 0 is empty */
    uint32_t      count, cap; /* cap is a power of two */
};

/* --- what a spelling means ------------------------------------------------ */

static unsigned hex4(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        v = v << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

/* One \u escape, or two when they are a pair; *p moves behind. */
static unsigned unescape_unicode(const char **p, char out[4])
{
    uint32_t cp = hex4(*p + 2);
    *p += 6;
    /* The text was checked: after a backslash there is another byte, after \u four. */
    if (cp >= 0xD800 && cp < 0xDC00 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        uint32_t low = hex4(*p + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
            *p += 6;
        }
    }
    return utf8_encode(cp, out);
}

static unsigned unescape_one(const char **p, char out[4])
{
    char c = (*p)[1];
    if (c == 'u') return unescape_unicode(p, out);
    *p += 2;
    switch (c) {
    case 'b': out[0] = '\b'; break;
    case 'f': out[0] = '\f'; break;
    case 'n': out[0] = '\n'; break;
    case 'r': out[0] = '\r'; break;
    case 't': out[0] = '\t'; break;
    default: out[0] = c; /* quote, slash, backslash */
    }
    return 1;
}

size_t jkeys_unescape(struct str raw, char *out)
{
    const char *p = raw.ptr, *end = p + raw.len;
    char       *to = out, piece[4];
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t      n = (size_t)((slash ? slash : end) - p);
        memcpy(to, p, n);
        to += n;
        if (!slash) break;
        p = slash;
        n = unescape_one(&p, piece);
        memcpy(to, piece, n);
        to += n;
    }
    return (size_t)(to - out);
}

struct walk {
    const char *at;
    char        piece[4];
    unsigned    have, given;
};

/* The next byte of what is meant, -1 at the closing quote. */
static int step(struct walk *w)
{
    if (w->given == w->have) {
        if (*w->at == '"') return -1;
        if (*w->at != '\\') return (unsigned char)*w->at++;
        w->have = unescape_one(&w->at, w->piece);
        w->given = 0;
    }
    return (unsigned char)w->piece[w->given++];
}

/* Only asked when the hashes agree, so nearly always the answer is yes. */
static bool same(const char *a, const char *b)
{
    struct walk x = { .at = a }, y = { .at = b };
    for (;;) {
        int c = step(&x), d = step(&y);
        if (c != d) return false;
        if (c < 0) return true;
    }
}

/* For the keys in the reader: quick, and no matter when somebody makes many alike, for they are
 * few. */
static uint64_t quick_hash(struct str s)
{
    uint64_t head = 0, tail = 0;
    size_t   n = s.len < sizeof head ? s.len : sizeof head;
    if (n) {
        memcpy(&head, s.ptr, n);
        memcpy(&tail, s.ptr + s.len - n, n);
    }
    return ((head ^ s.len) * 0x9E3779B97F4A7C15u ^ tail) * 0xD6E8FEB86659FD93u >> 32;
}

static enum err hash_key(struct str raw, bool escaped, uint64_t (*hash)(struct str), uint64_t *out)
{
    char  small[SHORT_MAX];
    char *text = small;
    if (!escaped) {
        *out = hash(raw);
        return OK;
    }
    if (raw.len > sizeof small && !(text = mem_alloc(raw.len))) return ERR_NOMEM;
    *out = hash(str_n(text, jkeys_unescape(raw, text)));
    if (text != small) mem_free(text);
    return OK;
}

/* --- the keys on the heap ------------------------------------------------- */

/* Where (hash, depth) would first be looked for: one key repeated at every
 * depth must not make one long chain. */
static uint32_t home(const struct json_keys *k, uint64_t hash, int depth)
{
    return (uint32_t)(hash + (uint64_t)depth * 0x9E3779B97F4A7C15u) & (k->cap * 2 - 1);
}

static void index_top(struct json_keys *k)
{
    const struct entry *e = &k->stack[k->count - 1];
    uint32_t            i = home(k, e->hash, e->depth);
    while (k->index[i]) i = (i + 1) & (k->cap * 2 - 1);
    k->index[i] = k->count;
}

static bool on_heap(const struct json_keys *k, const struct entry *e)
{
    if (!k || k->count == 0) return false;
    for (uint32_t i = home(k, e->hash, e->depth); k->index[i]; i = (i + 1) & (k->cap * 2 - 1)) {
        const struct entry *o = &k->stack[k->index[i] - 1];
        if (o->hash == e->hash && o->depth == e->depth && same(o->at, e->at)) return true;
    }
    return false;
}

static enum err grow(struct json_keys *k)
{
    uint32_t cap = k->cap ? k->cap * 2 : STACK_MIN, count = k->count;
    if (cap > STACK_MAX) return ERR_NOMEM;
    struct entry *stack = mem_realloc(k->stack, cap * sizeof *stack);
    if (!stack) return ERR_NOMEM;
    k->stack = stack;
    uint32_t *index = mem_alloc((size_t)cap * 2 * sizeof *index);
    if (!index) return ERR_NOMEM;
    mem_free(k->index);
    k->index = index;
    k->cap = cap;
    for (k->count = 0; k->count < count;) { /* in their order: see the top of the file */
        k->count++;
        index_top(k);
    }
    return OK;
}

static enum err push(struct json *r, struct entry e)
{
    if (!r->keys) r->keys = mem_alloc(sizeof *r->keys);
    struct json_keys *k = r->keys;
    if (!k || (k->count == k->cap && grow(k) != OK)) return ERR_NOMEM;
    k->stack[k->count++] = e;
    index_top(k);
    return OK;
}

static void pop(struct json_keys *k)
{
    const struct entry *e = &k->stack[k->count - 1];
    uint32_t            i = home(k, e->hash, e->depth);
    while (k->index[i] != k->count) i = (i + 1) & (k->cap * 2 - 1);
    k->index[i] = 0;
    k->count--;
}

/* --- both together -------------------------------------------------------- */

static bool in_reader(const struct json *r, const struct entry *e)
{
    for (unsigned i = r->key_count; i > 0 && r->key_depth[i - 1] == e->depth; i--)
        if (r->key_hash[i - 1] == (uint32_t)e->hash && same(r->key_at[i - 1], e->at)) return true;
    return false;
}

enum err jkeys_add(struct json *r, struct str raw, bool escaped)
{
    struct entry e = { .at = raw.ptr, .depth = r->depth };
    if (hash_key(raw, escaped, quick_hash, &e.hash) != OK) return ERR_NOMEM;
    if (in_reader(r, &e)) return ERR_EXISTS;
    if (r->key_count == INLINE_MAX) {
        if (hash_key(raw, escaped, str_hash, &e.hash) != OK) return ERR_NOMEM;
        return on_heap(r->keys, &e) ? ERR_EXISTS : push(r, e);
    }
    r->key_at[r->key_count] = e.at;
    r->key_hash[r->key_count] = (uint32_t)e.hash;
    r->key_depth[r->key_count++] = (uint8_t)e.depth;
    return OK;
}

void jkeys_leave(struct json *r)
{
    struct json_keys *k = r->keys;
    while (k && k->count && k->stack[k->count - 1].depth == r->depth) pop(k);
    while (r->key_count && r->key_depth[r->key_count - 1] == r->depth) r->key_count--;
}

void jkeys_done(struct json *r)
{
    if (!r->keys) return;
    mem_free(r->keys->stack);
    mem_free(r->keys->index);
    mem_free(r->keys);
    r->keys = NULL;
}
