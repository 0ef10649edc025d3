/* list.h -- intrusive doubly linked lists. A node is in one list or in none. */
#ifndef PARLEY_LIST_H
#define PARLEY_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev, *next;
};

static inline void list_init(struct list *l)
{
    l->prev = l->next = l;
}
static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}
static inline bool list_linked(const struct list *n)
{
    return n->next && n->next != n;
}
static inline void list_add(struct list *l, struct list *n) /* at the end */
{
    n->prev = l->prev;
    n->next = l;
    l->prev->next = n;
    l->prev = n;
}
static inline void list_push(struct list *l, struct list *n) /* at the front */
{
    list_add(l->next, n);
}
static inline void list_remove(struct list *n) /* twice is harmless */
{
    if (!n->next) return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = n;
}
/* all of `from`, to the end; none is left there */
static inline void list_take(struct list *to, struct list *from)
{
    if (list_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}
static inline void list_put_back(struct list *to, struct list *from) /* the same, to the front */
{
    list_take(from, to);
    list_take(to, from);
}
#define LIST_ITEM(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))
/* The body may remove `n` itself. */
#define LIST_EACH(n, l)                                             \
    for (struct list *n = (l)->next, *n##_next = n->next; n != (l); \
         n = n##_next, n##_next = n->next)

#endif
