/* test_list.c -- intrusive lists. */
#include "base/list.h"

#include "test.h"

struct thing {
    int         n;
    struct list node;
};

static int spelled(const struct list *l)
{
    int v = 0;
    for (const struct list *n = l->next; n != l; n = n->next)
        v = v * 10 + LIST_ITEM(n, struct thing, node)->n;
    return v;
}

TEST(a_list_keeps_order_at_both_ends)
{
    struct list  l;
    struct thing t[] = { { .n = 1 }, { .n = 2 }, { .n = 3 } };
    list_init(&l);
    CHECK(list_empty(&l) && !list_linked(&t[0].node));
    list_add(&l, &t[1].node);
    list_add(&l, &t[2].node);
    list_push(&l, &t[0].node);
    CHECK(!list_empty(&l) && spelled(&l) == 123 && list_linked(&t[0].node));
}

TEST(removing_twice_or_what_was_never_in_is_harmless)
{
    struct list  l;
    struct thing t[] = { { .n = 1 }, { .n = 2 }, { .n = 3 } };
    list_init(&l);
    list_add(&l, &t[0].node);
    list_add(&l, &t[1].node);
    list_remove(&t[0].node);
    list_remove(&t[0].node);
    list_remove(&t[2].node);
    CHECK(spelled(&l) == 2 && !list_linked(&t[0].node));
    list_remove(&t[1].node);
    CHECK(list_empty(&l));
}

TEST(the_body_of_a_walk_may_remove_its_node)
{
    struct list  l;
    struct thing t[] = { { .n = 1 }, { .n = 2 }, { .n = 3 }, { .n = 4 } };
    list_init(&l);
    for (int i = 0; i < 4; i++) list_add(&l, &t[i].node);
    LIST_EACH (n, &l)
        if (LIST_ITEM(n, struct thing, node)->n % 2 == 0) list_remove(n);
    CHECK(spelled(&l) == 13);
}
