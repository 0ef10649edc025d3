/* lease.c -- see lease.h. One allocation per lease: the struct, its key, its holder. */
#include "store/lease.h"

#include "base/clock.h"

/* Two per new lease: more leave than come, and no call ever walks the whole table. */
#define SWEEP_PER_TAKE 2

struct lease {
    struct list node;
    struct str  key, holder; /* into `text` */
    uint64_t    until_ms;
    char        text[];
};

/* "5:alice" + thread: no owner can spell another's key. */
static struct str key_of(struct log_name log, struct buf *b)
{
    buf_u64(b, log.owner.len);
    buf_chr(b, ':');
    buf_str(b, log.owner);
    buf_str(b, log.thread);
    return buf_view(b);
}

static void drop(struct leases *m, struct lease *x)
{
    map_remove(&m->by_log, x->key);
    list_remove(&x->node);
    mem_free(x);
}

static void sweep(struct leases *m, uint64_t now)
{
    for (int i = 0; i < SWEEP_PER_TAKE && !list_empty(&m->all); i++) {
        struct lease *x = LIST_ITEM(m->all.next, struct lease, node);
        list_remove(&x->node);
        list_add(&m->all, &x->node); /* to the end: the next sweep looks at others */
        if (x->until_ms <= now) drop(m, x);
    }
}

static enum err add(struct leases *m, struct str key, struct str holder, uint64_t until_ms)
{
    struct lease *x = mem_alloc(sizeof *x + key.len + holder.len);

    if (!x) return ERR_NOMEM;
    memcpy(x->text, key.ptr, key.len);
    if (holder.len) memcpy(x->text + key.len, holder.ptr, holder.len);
    x->key = str_n(x->text, key.len);
    x->holder = str_n(x->text + key.len, holder.len);
    x->until_ms = until_ms;
    if (map_put(&m->by_log, x->key, x)) {
        mem_free(x);
        return ERR_NOMEM;
    }
    list_add(&m->all, &x->node);
    return OK;
}

void leases_init(struct leases *m)
{
    map_init(&m->by_log);
    list_init(&m->all);
}

void leases_done(struct leases *m)
{
    while (!list_empty(&m->all)) drop(m, LIST_ITEM(m->all.next, struct lease, node));
    map_done(&m->by_log);
}

enum err leases_take(struct leases *m, struct log_name log, struct str holder, uint64_t ttl_ms)
{
    uint64_t      now = clock_mono_ms();
    struct lease *x;
    struct buf    b;
    struct str    key;
    enum err      e;

    buf_init(&b, 0);
    key = key_of(log, &b);
    e = b.err ? ERR_NOMEM : OK;
    if (e) goto out;
    sweep(m, now);
    x = map_get(&m->by_log, key);
    if (x && str_eq(x->holder, holder)) {
        x->until_ms = now + ttl_ms;
    } else if (x && x->until_ms > now) {
        e = ERR_BUSY;
    } else {
        if (x) drop(m, x);
        e = add(m, key, holder, now + ttl_ms);
    }
out:
    buf_done(&b);
    return e;
}

void leases_give(struct leases *m, struct log_name log, struct str holder)
{
    struct lease *x;
    struct buf    b;
    struct str    key;

    buf_init(&b, 0);
    key = key_of(log, &b);
    x = b.err ? NULL : map_get(&m->by_log, key); /* without memory it ends by its time */
    if (x && str_eq(x->holder, holder)) drop(m, x);
    buf_done(&b);
}
