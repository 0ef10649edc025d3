/* pg_absent.c -- in the self-contained program, which has no PostgreSQL inside (meson.build says
 * why): an address of one is refused in words. */
#include "store/store_ops.h"

bool pg_is_url(struct str url)
{
    return str_starts(url, STR("postgresql://")) || str_starts(url, STR("postgres://"));
}

enum err pg_open(struct loop *l, struct str url, const struct store_place *place, struct arena *a,
                 struct store **out, struct str *why)
{
    (void)l, (void)url, (void)place, (void)a, (void)out;
    *why =
        STR("this self-contained program has no PostgreSQL inside; install the package, or build "
            "it with make build, or keep conversations in a file");
    return ERR_UNSUPPORTED;
}
