/* taking.c -- see taking.h. */
#include "run/taking.h"

struct note {
    struct note       *next;
    struct str         call, key;
    struct store_stock row;
};

enum err thread_take(struct thread *t, const struct store_take *k)
{
    if (!t->takes && !(t->takes = arena_array(&t->batch, BATCH_TAKES, sizeof *t->takes)))
        return ERR_NOMEM;
    if (t->take_count == BATCH_TAKES) return ERR_FULL;
    struct store_take *own = &t->takes[t->take_count++];
    *own = *k; /* its texts may be gone before the store has read them */
    own->key = arena_dup(&t->batch, k->key);
    own->holder = arena_dup(&t->batch, k->holder);
    own->kind = arena_dup(&t->batch, k->kind);
    own->state = arena_dup(&t->batch, k->state);
    own->body = arena_dup(&t->batch, k->body);
    return t->batch.failed ? ERR_NOMEM : OK;
}

struct store_stock taking_copy(struct arena *a, const struct store_stock *row)
{
    struct store_stock s = *row;
    s.key = arena_dup(a, row->key);
    s.kind = arena_dup(a, row->kind);
    s.owner = arena_dup(a, row->owner);
    s.thread = arena_dup(a, row->thread);
    s.holder = arena_dup(a, row->holder);
    s.state = arena_dup(a, row->state);
    s.body = arena_dup(a, row->body);
    return s;
}

void taking_note(struct thread *t, struct str call, struct str key, const struct store_stock *row)
{
    struct note *n = arena_new(&t->notes_mem, struct note);
    if (!n) return;
    *n = (struct note){ .next = t->notes,
                        .call = arena_dup(&t->notes_mem, call),
                        .key = arena_dup(&t->notes_mem, key),
                        .row = taking_copy(&t->notes_mem, row) };
    if (!t->notes_mem.failed) t->notes = n;
    t->notes_mem.failed = false;
}

static const struct note *find(const struct thread *t, struct str call, struct str key,
                               const char *kind)
{
    for (const struct note *n = t->notes; n; n = n->next)
        if (str_eq(n->call, call) && (!key.ptr || str_eq(n->key, key)) &&
            (!kind || str_is(n->row.kind, kind)))
            return n;
    return NULL;
}

const struct store_stock *taking_found(const struct thread *t, struct str call, const char *kind)
{
    const struct note *n = find(t, call, STR_NONE, kind);
    return n ? &n->row : NULL;
}

bool taking_refused(const struct thread *t, struct str call, struct str key)
{
    return find(t, call, key, NULL) != NULL;
}

void taking_forget(struct thread *t)
{
    t->notes = NULL;
    arena_reset(&t->notes_mem);
}
