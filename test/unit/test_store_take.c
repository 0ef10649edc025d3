/* test_store_take.c -- takings: what an append needs to be so, and makes so, in every store. */
#include <stdio.h>
#include <stdlib.h>

#include "store_help.h"
#include "test.h"

#define NOW 1000000

static struct store_take make(const char *key, const char *holder, int64_t uses, int64_t amount)
{
    return (struct store_take){ .op = TAKE_MAKE,
                                .key = str_c(key),
                                .kind = STR("grant"),
                                .holder = str_c(holder),
                                .state = STR("open"),
                                .body = STR("{}"),
                                .uses = uses,
                                .amount = amount };
}

static struct store_take from(const char *key, int64_t amount)
{
    return (struct store_take){ .op = TAKE_FROM, .key = str_c(key), .amount = amount };
}

static struct store_take back(const char *key, int64_t amount)
{
    return (struct store_take){ .op = TAKE_BACK, .key = str_c(key), .amount = amount };
}

static struct store_take set(const char *key, const char *holder, const char *state,
                             const char *body)
{
    return (struct store_take){ .op = TAKE_SET,
                                .key = str_c(key),
                                .holder = str_c(holder),
                                .state = str_c(state),
                                .body = body ? str_c(body) : STR_NONE };
}

static struct store_take drop(const char *key, const char *holder)
{
    return (struct store_take){ .op = TAKE_DROP, .key = str_c(key), .holder = str_c(holder) };
}

/* One fact in the log of `thread`, with takings. */
static enum err append(struct fix *f, struct ap *p, const char *thread, uint64_t expected,
                       const struct store_take *takes, size_t count)
{
    ap_init(p, "ann", thread, expected, "{}");
    p->a.takes = takes;
    p->a.take_count = count;
    p->a.now_ms = NOW;
    return ap_run(f, p);
}
#define TAKE(f, p, thread, expected, ...)                                \
    append(f, p, thread, expected, (struct store_take[]){ __VA_ARGS__ }, \
           sizeof((struct store_take[]){ __VA_ARGS__ }) / sizeof(struct store_take))

static struct str stock(struct fix *f, const char *key)
{
    return fix_list(
        f, (struct store_list){ .kind = STORE_STOCK, .everybody = true, .id = str_c(key) }, NULL);
}

static uint64_t length(struct fix *f, const char *thread)
{
    struct str all = fix_read(f, "ann", thread, 0), one;
    uint64_t   n = 0;

    if (str_is(all, "not_found")) return 0;
    while (str_split(&all, ';', &one)) n += one.len > 0;
    return n;
}

STORE_TEST(a_key_belongs_to_whoever_took_it_first_and_the_second_is_told_by_whom)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("invoice:7", "call-1", 0, 0)) == OK);
    CHECK(TAKE(f, &p, "b", 0, make("invoice:7", "call-2", 0, 0)) == ERR_TAKEN);
    CHECK(length(f, "b") == 0);
    CHECK(p.a.taken_at == 0);
    CHECK_STR(stock(f, "invoice:7"), "ann//invoice:7 call-1 open {} 0 0;");
    CHECK(TAKE(f, &p, "b", 0, make("invoice:8", "call-2", 0, 0)) == OK);
}

static char seen_room[256];

static void note_taken(struct store_append *a, enum err e)
{
    struct ap *p = LIST_ITEM(a, struct ap, a);

    snprintf(seen_room, sizeof seen_room, STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(a->taken.holder),
             STR_ARG(a->taken.state), STR_ARG(a->taken.body));
    p->e = e;
    p->done = true;
    p->f->pending--;
}

STORE_TEST(what_is_there_is_told_with_the_refusal)
{
    struct ap         p;
    struct store_take two[] = { make("free", "call-2", 0, 0), make("invoice:7", "call-2", 0, 0) };

    CHECK(TAKE(f, &p, "a", 0, make("invoice:7", "call-1", 0, 0)) == OK);
    CHECK(TAKE(f, &p, "a", 1, set("invoice:7", "call-1", "done", "{\"paid\":5}")) == OK);
    ap_init(&p, "ann", "b", 0, "{}");
    p.a.takes = two;
    p.a.take_count = 2;
    p.a.now_ms = NOW;
    p.a.done = note_taken;
    CHECK(ap_run(f, &p) == ERR_TAKEN);
    CHECK(p.a.taken_at == 1);
    CHECK(strcmp(seen_room, "call-1 done {\"paid\":5}") == 0);
    CHECK_STR(stock(f, "free"), ""); /* all of them, or none */
}

STORE_TEST(a_grant_gives_what_it_has_and_not_more)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("g", "g", 2, 500)) == OK);
    CHECK(TAKE(f, &p, "a", 1, from("g", 501)) == ERR_TAKEN);
    CHECK(TAKE(f, &p, "a", 1, from("g", 200)) == OK);
    CHECK(TAKE(f, &p, "a", 2, from("g", 300)) == OK);
    CHECK_STR(stock(f, "g"), "ann//g g open {} 0 0;");
    CHECK(TAKE(f, &p, "a", 3, from("g", 0)) == ERR_TAKEN);
    CHECK(TAKE(f, &p, "a", 3, back("g", 300)) == OK);
    CHECK(TAKE(f, &p, "a", 4, from("g", 300)) == OK);
    CHECK(TAKE(f, &p, "a", 5, from("nobody", 0)) == ERR_TAKEN);
    CHECK(length(f, "a") == 5);
}

STORE_TEST(two_takings_of_one_append_are_counted_together)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("g", "g", 3, 500)) == OK);
    CHECK(TAKE(f, &p, "b", 0, from("g", 300), from("g", 300)) == ERR_TAKEN);
    CHECK_STR(stock(f, "g"), "ann//g g open {} 3 500;");
    CHECK(length(f, "b") == 0);
    CHECK(TAKE(f, &p, "b", 0, from("g", 300), from("g", 200)) == OK);
    CHECK_STR(stock(f, "g"), "ann//g g open {} 1 0;");
}

STORE_TEST(an_append_that_conflicts_takes_nothing)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("g", "g", 3, 500)) == OK);
    CHECK(TAKE(f, &p, "a", 7, from("g", 100)) == ERR_CONFLICT);
    CHECK(TAKE(f, &p, "new", 1, from("g", 100)) == ERR_CONFLICT);
    CHECK_STR(stock(f, "g"), "ann//g g open {} 3 500;");
}

STORE_TEST(a_key_that_is_dropped_is_free_in_the_same_append)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("k", "call-1", 0, 0)) == OK);
    CHECK(TAKE(f, &p, "a", 1, drop("k", "call-9")) == OK); /* not theirs: nothing */
    CHECK(TAKE(f, &p, "a", 2, drop("k", "call-1"), make("k", "call-2", 0, 0)) == OK);
    CHECK_STR(stock(f, "k"), "ann//k call-2 open {} 0 0;");
    CHECK(TAKE(f, &p, "a", 3, set("k", "call-1", "done", NULL)) == OK);
    CHECK_STR(stock(f, "k"), "ann//k call-2 open {} 0 0;");
}

STORE_TEST(what_is_over_by_the_clock_can_be_had_again_but_gives_nothing)
{
    struct ap         p;
    struct store_take old = make("k", "call-1", 5, 5), grant = make("g", "g", 5, 5);

    old.until_ms = grant.until_ms = NOW;
    CHECK(append(f, &p, "a", 0, &old, 1) == OK);
    CHECK(append(f, &p, "a", 1, &grant, 1) == OK);
    CHECK(TAKE(f, &p, "a", 2, from("g", 1)) == ERR_TAKEN);
    CHECK(TAKE(f, &p, "a", 2, make("k", "call-2", 0, 0)) == OK);
    CHECK_STR(stock(f, "k"), "ann//k call-2 open {} 0 0;");
}

STORE_TEST(what_is_not_open_gives_nothing)
{
    struct ap p;

    CHECK(TAKE(f, &p, "a", 0, make("g", "g", 5, 5)) == OK);
    CHECK(TAKE(f, &p, "a", 1, set("g", "g", "revoked", NULL)) == OK);
    CHECK(TAKE(f, &p, "b", 0, from("g", 1)) == ERR_TAKEN);
    CHECK_STR(stock(f, "g"), "ann//g g revoked {} 5 5;");
}

STORE_TEST(what_goes_with_its_log_is_gone_when_the_log_is)
{
    struct ap         p;
    struct store_take g = make("g", "g", 5, 5);

    g.with_log = true;
    CHECK(append(f, &p, "a", 0, &g, 1) == OK);
    CHECK(TAKE(f, &p, "a", 1, make("k", "call-1", 0, 0)) == OK);
    CHECK_STR(stock(f, "g"), "ann/a/g g open {} 5 5;");
    CHECK(fix_edit(f, "ann", "a", NULL, true) == OK);
    CHECK_STR(stock(f, "g"), "");
    CHECK_STR(stock(f, "k"), "ann//k call-1 open {} 0 0;");
}

STORE_TEST(stock_is_listed_by_kind_and_owner_newest_first)
{
    struct ap         p;
    struct str        next;
    struct store_list all = {
        .kind = STORE_STOCK, .owner = STR("ann"), .status = STR("grant"), .limit = 2
    };
    struct store_take other = make("x", "x", 0, 0);

    other.kind = STR("effect");
    CHECK(TAKE(f, &p, "a", 0, make("g1", "h", 1, 1), make("g2", "h", 2, 2), other) == OK);
    CHECK(TAKE(f, &p, "a", 1, make("g3", "h", 3, 3)) == OK);
    CHECK_STR(fix_list(f, all, &next), "ann//g3 h open {} 3 3;ann//g2 h open {} 2 2;");
    all.before = next;
    CHECK_STR(fix_list(f, all, &next), "ann//g1 h open {} 1 1;");
    all.before = STR_NONE;
    all.owner = STR("bob");
    CHECK_STR(fix_list(f, all, &next), "");
    all.owner = STR_NONE;
    CHECK_STR(fix_list(f, all, &next), "denied");
    all.everybody = true;
    all.limit = 0;
    CHECK_STR(fix_list(f, all, &next),
              "ann//g3 h open {} 3 3;ann//g2 h open {} 2 2;ann//g1 h open {} 1 1;");
}

/* As many as the store takes at once, from as many logs: exactly what there is is given. */
STORE_TEST(a_crowd_takes_exactly_what_there_is)
{
    const int  n = getenv("LONG") ? 10000 : 400;
    const int  count = 100;
    struct ap *all = calloc((size_t)n, sizeof *all), p;
    char(*names)[16] = calloc((size_t)n, sizeof *names);
    /* three in a hundred of the smallest unit each, and 500.00 in all: 100 by count */
    struct store_take take = from("g", 500);
    int               ok = 0;

    REQUIRE(all && names);
    CHECK(TAKE(f, &p, "first", 0, make("g", "g", count, 50000)) == OK);
    for (int i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        ap_init(&all[i], "ann", names[i], 0, "{}");
        all[i].a.takes = &take;
        all[i].a.take_count = 1;
        all[i].a.now_ms = NOW;
        ap_send(f, &all[i]);
    }
    fix_wait(f);
    for (int i = 0; i < n; i++) {
        ok += all[i].e == OK;
        CHECK(all[i].e == OK || all[i].e == ERR_TAKEN);
        if (i % 50 == 0) CHECK((length(f, names[i]) == 1) == (all[i].e == OK));
    }
    CHECK(ok == count);
    CHECK_STR(stock(f, "g"), "ann//g g open {} 0 0;");
    free(all);
    free(names);
}

/* --- events ----------------------------------------------------------------------------------- */

static enum err tell(struct fix *f, const char *thread, uint64_t expected, const char *kind)
{
    struct store_event v[] = { { str_c(kind), STR("c1"), STR("{}") },
                               { STR("too"), STR("c2"), STR("{\"a\":1}") } };
    struct ap          p;

    ap_init(&p, "ann", thread, expected, "{}");
    p.a.events = v;
    p.a.event_count = 2;
    p.a.now_ms = NOW;
    return ap_run(f, &p);
}

STORE_TEST(events_of_all_logs_stand_in_one_order_and_are_read_from_a_place)
{
    struct store_list l = { .kind = STORE_EVENTS, .everybody = true, .limit = 3 };
    struct str        next, head;

    CHECK_STR(fix_list(f, l, &next), "");
    CHECK(tell(f, "a", 0, "one") == OK);
    CHECK(tell(f, "a", 7, "never") == ERR_CONFLICT);
    CHECK(tell(f, "b", 0, "two") == OK);
    CHECK_STR(fix_list(f, l, &next), "ann one c1 {};ann too c2 {\"a\":1};ann two c1 {};");
    l.before = next;
    CHECK_STR(fix_list(f, l, &next), "ann too c2 {\"a\":1};");
    l.before = next;
    CHECK_STR(fix_list(f, l, &next), "");
    CHECK_STR(next, l.before.ptr);
    fix_list(f, (struct store_list){ .kind = STORE_EVENT_HEAD, .everybody = true, .limit = 1 },
             &head);
    CHECK(tell(f, "a", 1, "three") == OK);
    l.before = head;
    CHECK_STR(fix_list(f, l, &next), "ann three c1 {};ann too c2 {\"a\":1};");
    l.before = STR("nonsense");
    CHECK_STR(fix_list(f, l, &next), "syntax");
}
