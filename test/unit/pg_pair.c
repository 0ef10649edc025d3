/* pg_pair.c -- see pg_pair.h. */
#include "pg_pair.h"

#include "test.h"

static void on_lapse(void *ctx)
{
    ++*(int *)ctx;
}

void pair_begin(struct pair *p)
{
    *p = (struct pair){ 0 };
    pg_url(p->url, sizeof p->url);
    p->proxy = pg_proxy_new();
    pg_url_by(p->by_proxy, sizeof p->by_proxy, p->url, pg_proxy_port(p->proxy), "open%20sesame");
    fix_init(&p->a);
    fix_init(&p->b);
    p->b.host = &p->a;
    REQUIRE(fix_open_node(&p->a, p->by_proxy, "http://a:1") == OK);
    REQUIRE(fix_open_node(&p->b, p->url, "http://b:1") == OK);
    store_on_lapse(p->a.store, on_lapse, &p->lapses);
}

void pair_end(struct pair *p)
{
    fix_done(&p->b);
    fix_done(&p->a);
    pg_proxy_free(p->proxy);
}

struct ap pair_append(struct fix *f, const char *thread, uint64_t expected, const char *body,
                      struct store_hold hold)
{
    struct ap p;

    ap_init(&p, "ann", thread, expected, body);
    p.a.hold = hold;
    p.a.state = STR("running");
    ap_run(f, &p);
    return p;
}
