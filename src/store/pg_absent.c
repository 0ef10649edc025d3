/* pg_absent.c -- in the self-contained program, which has no PostgreSQL inside (meson.build says
 * why): an address of one is refused in words. */
#include "store/store_move.h"
#include "store/walk_int.h"

#define ABSENT                                                                                     \
    "this self-contained program has no PostgreSQL inside; install the package, or build it with " \
    "make build, or keep conversations in a file"

const char *pg_address_fault(const char *url)
{
    (void)url;
    return ABSENT;
}

enum err pg_nodes_of(struct str url, struct arena *a, struct store_row **rows, size_t *count,
                     struct str *why)
{
    (void)url, (void)a, (void)rows, (void)count;
    *why = STR(ABSENT);
    return ERR_UNSUPPORTED;
}

enum err pg_move_open(struct str url, bool target, struct arena *a, struct move_side **out,
                      struct str *why)
{
    (void)url, (void)target, (void)a, (void)out;
    *why = STR(ABSENT);
    return ERR_UNSUPPORTED;
}

enum err pg_open(struct loop *l, struct str url, const struct store_place *place, struct arena *a,
                 struct store **out, struct str *why)
{
    (void)l, (void)url, (void)place, (void)a, (void)out;
    *why = STR(ABSENT);
    return ERR_UNSUPPORTED;
}

enum err pg_walk(struct str url, struct walk_at *at, struct arena *a, struct str *why)
{
    (void)url, (void)at, (void)a;
    *why = STR(ABSENT);
    return ERR_UNSUPPORTED;
}
