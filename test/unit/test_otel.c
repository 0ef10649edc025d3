/* test_otel.c -- what waits for a collector has a bound, and what is beyond it is counted. */
#include "base/log.h"
#include "run/otel.h"
#include "test.h"

static bool has(const struct otel *o, struct str line)
{
    struct buf b;

    buf_init(&b, 0);
    otel_metrics(o, &b);
    bool there = str_find(buf_view(&b), line) >= 0;
    buf_done(&b);
    return there;
}

TEST(spans_beyond_what_may_wait_for_the_collector_are_dropped_and_counted)
{
    static char spans[OTEL_BYTES_MAX / 4]; /* with its comma a quarter and one */
    struct loop l;

    REQUIRE(loop_init(&l) == OK);
    struct otel *o = otel_new(&(struct otel_setup){ .loop = &l, .endpoint = STR("http://x") });
    REQUIRE(o != NULL);
    log_level(LOG_ERROR); /* that they are dropped is said as a warning */
    memset(spans, ' ', sizeof spans);
    for (int i = 0; i < 3; i++) otel_add(o, str_n(spans, sizeof spans), 5);
    CHECK(has(o, STR("{result=\"dropped\"} 0\n")));
    otel_add(o, str_n(spans, sizeof spans), 5);
    CHECK(has(o, STR("{result=\"dropped\"} 5\n")));
    otel_add(o, str_n(spans, sizeof spans), 2);
    CHECK(has(o, STR("{result=\"dropped\"} 7\n")));
    otel_add(o, STR("{}"), 1); /* what fits still waits */
    CHECK(has(o, STR("{result=\"dropped\"} 7\n")));
    log_level(LOG_INFO);
    otel_free(o);
    loop_done(&l);
}
