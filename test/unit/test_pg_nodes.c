/* test_pg_nodes.c -- several nodes on one database: who holds a log, rows that both want at once,
 * and nodes that close or die. One that is to die has its proxy closed; its lease is ended in its
 * row.
 */
#include "pg_pair.h"
#include "store_suite.h"
#include "test.h"

/* Nothing of it reaches the database any more, and its lease is over. */
static void die(struct pair *p)
{
    char sql[128];

    pg_proxy_open(p->proxy, false);
    snprintf(sql, sizeof sql,
             "UPDATE parley_node SET until = now() - interval '1 s' WHERE id = '%s'",
             store_node(p->a.store).ptr);
    pg_run(p->url, sql);
}

static void revive(struct pair *p)
{
    int before = p->lapses;

    pg_proxy_open(p->proxy, true);
    while (p->lapses == before) fix_turn(&p->a);
}

/* --- nodes ------------------------------------------------------------------------------- */

TEST(what_one_node_holds_another_can_read_but_not_change)
{
    struct pair p;
    struct ap   x;
    struct cl   c;

    pair_begin(&p);
    CHECK(pair_append(&p.a, "t", 0, "one", NO_HOLD).e == OK);
    c = cl_run(&p.b, "ann", "t");
    CHECK(c.e == ERR_BUSY);
    CHECK(c.c.alive);
    CHECK_STR(store_node(p.a.store), c.node);
    x = pair_append(&p.b, "t", 1, "not mine", NO_HOLD);
    CHECK(x.e == ERR_FENCED);
    CHECK(fix_edit(&p.b, "ann", "t", "renamed", false) == ERR_FENCED);
    CHECK(fix_edit(&p.b, "ann", "t", NULL, true) == ERR_FENCED);
    CHECK_STR(fix_read(&p.b, "ann", "t", 0), "1 note one;");
    CHECK(pair_append(&p.a, "t", 1, "two", NO_HOLD).e == OK);
    CHECK_STR(fix_read(&p.b, "ann", "t", 1), "2 note two;");
    pair_end(&p);
}

TEST(of_two_nodes_that_claim_a_log_at_once_one_gets_it)
{
    static struct cl a[30], b[30];
    static char      name[30][8];
    struct pair      p;

    pair_begin(&p);
    for (int i = 0; i < 30; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        CHECK(pair_append(&p.a, name[i], 0, "x", NO_HOLD).e == OK);
    }
    CHECK(fix_release_all(&p.a) == OK);
    for (int i = 0; i < 30; i++) {
        cl_send(&p.a, &a[i], "ann", name[i]);
        cl_send(&p.b, &b[i], "ann", name[29 - i]);
    }
    fix_wait(&p.a);
    fix_wait(&p.b);
    for (int i = 0; i < 30; i++) {
        CHECK((a[i].e == OK) + (b[29 - i].e == OK) == 1);
        CHECK((a[i].e == ERR_BUSY) + (b[29 - i].e == ERR_BUSY) == 1);
    }
    pair_end(&p);
}

TEST(of_two_nodes_that_make_a_log_at_once_one_does)
{
    static struct ap a[20], b[20];
    static char      name[20][8];
    struct pair      p;

    pair_begin(&p);
    for (int i = 0; i < 20; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        ap_init(&a[i], "ann", name[i], 0, "a");
        ap_init(&b[i], "ann", name[i], 0, "b");
        ap_send(&p.a, &a[i]);
        ap_send(&p.b, &b[i]);
    }
    fix_wait(&p.a);
    fix_wait(&p.b);
    for (int i = 0; i < 20; i++) {
        CHECK((a[i].e == OK) + (b[i].e == OK) == 1);
        CHECK_STR(fix_read(&p.a, "ann", name[i], 0), a[i].e == OK ? "1 note a;" : "1 note b;");
    }
    pair_end(&p);
}

/* --- rows of several logs, locked at once ---------------------------------------------------- */

#define MANY 20
static char      many[MANY][8];
static struct ap of_a[MANY], of_b[MANY];
static struct cl by_a[MANY], by_b[MANY];

static struct ap *one_more(struct ap *p, int i)
{
    ap_init(p, "ann", many[i], 1, "y");
    return p;
}

static void a_appends(struct pair *p)
{
    for (int i = 0; i < MANY; i++) ap_send(&p->a, one_more(&of_a[i], i));
}

static void b_appends(struct pair *p)
{
    for (int i = MANY - 1; i >= 0; i--) ap_send(&p->b, one_more(&of_b[i], i));
}

static void a_claims(struct pair *p)
{
    for (int i = 0; i < MANY; i++) cl_send(&p->a, &by_a[i], "ann", many[i]);
}

static void b_claims(struct pair *p)
{
    for (int i = MANY - 1; i >= 0; i--) cl_send(&p->b, &by_b[i], "ann", many[i]);
}

static void a_gives_back(struct pair *p)
{
    for (int i = 0; i < MANY; i++)
        store_release(p->a.store, (struct log_name){ STR("ann"), str_c(many[i]) }, of_a[i].a.hold);
}

static void a_gives_back_all(struct pair *p)
{
    (void)fix_release_all(&p->a);
}

static void a_leaves(struct pair *p)
{
    /* what b wants has come to its end; from here a alone is turned */
    while (pg_waiting() < 1) fix_turn(&p->a);
    REQUIRE(store_close(p->a.store, 60000));
    REQUIRE(fix_open_node(&p->a, p->by_proxy, "http://a:1") == OK);
}

/* b wants all logs backwards, a wants them forwards, and somebody has a row in the middle for which
 * both wait: whoever is let go on first, neither waits for what the other one has. */
static void meet(bool held, void (*backwards)(struct pair *), void (*forwards)(struct pair *))
{
    long            before = pg_deadlocks();
    struct pair     p;
    struct pg_lock *l;

    pair_begin(&p);
    for (int i = 0; i < MANY; i++) {
        snprintf(many[i], sizeof many[i], "t%02d", i);
        ap_init(&of_a[i], "ann", many[i], 0, "x");
        CHECK(ap_run(&p.a, &of_a[i]) == OK);
    }
    if (!held) CHECK(fix_release_all(&p.a) == OK);
    for (int i = 0; i < MANY; i++) cl_send(&p.b, &by_b[i], "bob", many[i]); /* it is connected */
    fix_wait(&p.b);
    l = pg_lock_new(p.url, "SELECT FROM parley_thread WHERE name = 't10'", 2);
    backwards(&p);
    forwards(&p);
    fix_wait(&p.a);
    fix_wait(&p.b);
    pg_lock_free(l);
    pair_end(&p);
    CHECK(pg_deadlocks() == before);
}

TEST(claims_of_the_same_logs_do_not_wait_for_each_other)
{
    meet(false, b_claims, a_claims);
}

TEST(appends_to_the_same_logs_do_not_wait_for_each_other)
{
    meet(false, b_appends, a_appends);
}

TEST(appends_and_claims_do_not_wait_for_each_other)
{
    meet(true, b_claims, a_appends);
}

TEST(who_gives_logs_back_and_who_claims_them_do_not_wait_for_each_other)
{
    meet(true, b_claims, a_gives_back);
    meet(true, b_claims, a_gives_back_all);
    meet(true, b_claims, a_leaves);
}

TEST(who_signs_in_does_not_wait_for_a_row_that_is_over_and_in_other_hands)
{
    struct pair     p;
    struct pg_lock *l;

    pair_begin(&p);
    CHECK_STR(fix_session(&p.a, SESSION_PUT, "over", "x", 1000), "ok");
    l = pg_lock_new(p.url, "SELECT FROM parley_session WHERE key = 'over'", 1);
    CHECK_STR(fix_session(&p.a, SESSION_PUT, "new", "y", INT64_MAX), "ok");
    CHECK_STR(fix_session(&p.a, SESSION_GET, "over", NULL, 0), "x 1000");
    CHECK_STR(fix_session(&p.a, SESSION_KEEP, "over", "z", 2000), "ok"); /* waits, and ends it */
    pg_lock_free(l);
    CHECK_STR(fix_session(&p.a, SESSION_PUT, "new", "y", INT64_MAX), "ok");
    CHECK_STR(fix_session(&p.a, SESSION_GET, "over", NULL, 0), "not_found");
    pair_end(&p);
}

/* --- nodes that leave, die and come back ---------------------------------------------- */

TEST(what_was_given_back_belongs_to_who_claims_it_and_the_old_claim_is_worth_nothing)
{
    struct log_name t = { STR("ann"), STR("t") };
    struct pair     p;
    struct ap       x;
    struct cl       c;

    pair_begin(&p);
    x = pair_append(&p.a, "t", 0, "one", NO_HOLD);
    store_release(p.a.store, t, (struct store_hold){ x.a.hold.life, x.a.hold.epoch + 7 });
    CHECK(cl_run(&p.b, "ann", "t").e == ERR_BUSY); /* not by another claim's number */
    store_release(p.a.store, t, x.a.hold);
    do c = cl_run(&p.b, "ann", "t"); /* nobody waits for a release: it comes in its own time */
    while (c.e == ERR_BUSY);
    CHECK(c.e == OK);
    CHECK(c.c.hold.epoch > x.a.hold.epoch);
    CHECK(pair_append(&p.a, "t", 1, "late", x.a.hold).e == ERR_FENCED);
    CHECK(pair_append(&p.b, "t", 1, "two", c.c.hold).e == OK);
    CHECK(pair_append(&p.a, "t", 2, "late", x.a.hold).e == ERR_FENCED);
    CHECK_STR(fix_read(&p.a, "ann", "t", 0), "1 note one;2 note two;");
    CHECK(suite_chained(&p.b, p.url));
    pair_end(&p);
}

TEST(a_node_that_closes_leaves_nothing_held)
{
    struct pair p;

    pair_begin(&p);
    CHECK(pair_append(&p.a, "t", 0, "one", NO_HOLD).e == OK);
    REQUIRE(store_close(p.a.store, 60000));
    p.a.store = NULL;
    CHECK(cl_run(&p.b, "ann", "t").e == OK);
    CHECK_STR(str_c(pg_run(p.url, "SELECT count(*) FROM parley_node")), "1");
    pair_end(&p);
}

TEST(a_dead_node_s_logs_are_taken_over_and_it_hears_of_it_when_it_comes_back)
{
    struct store_list left = { .kind = STORE_UNFINISHED, .limit = 100 };
    struct pair       p;
    struct ap         t, u;
    struct cl         c;

    pair_begin(&p);
    t = pair_append(&p.a, "t", 0, "one", NO_HOLD);
    u = pair_append(&p.a, "u", 0, "one", NO_HOLD);
    CHECK(store_lease_ok(p.a.store, t.a.hold));
    CHECK_STR(fix_list(&p.b, left, NULL), "");
    die(&p);
    c = cl_run(&p.b, "ann", "t");
    CHECK(c.e == OK);
    CHECK_STR(fix_list(&p.b, left, NULL), "ann/u running;");
    CHECK_STR(fix_list(&p.b, left, NULL), "");
    CHECK(pair_append(&p.b, "t", 1, "went on", c.c.hold).e == OK);
    revive(&p);
    CHECK(!store_lease_ok(p.a.store, t.a.hold));
    CHECK(pair_append(&p.a, "t", 1, "late", t.a.hold).e == ERR_FENCED);
    CHECK(pair_append(&p.a, "u", 1, "late", u.a.hold).e == ERR_FENCED);
    CHECK(pair_append(&p.a, "u", 1, "late", NO_HOLD).e == ERR_FENCED);
    CHECK_STR(fix_read(&p.a, "ann", "t", 0), "1 note one;2 note went on;");
    CHECK(suite_chained(&p.b, p.url));
    pair_end(&p);
}

TEST(a_lease_that_lapsed_unnoticed_costs_nothing_but_effects_that_had_not_begun)
{
    struct pair p;
    struct ap   x, y;

    pair_begin(&p);
    x = pair_append(&p.a, "t", 0, "started", NO_HOLD);
    die(&p);
    revive(&p); /* nobody took anything */
    CHECK(!store_lease_ok(p.a.store, x.a.hold));
    y = pair_append(&p.a, "t", 1, "outcome", x.a.hold);
    CHECK(y.e == OK);
    CHECK(y.a.hold.epoch == x.a.hold.epoch);
    CHECK(store_lease_ok(p.a.store, y.a.hold));
    pair_end(&p);
}

TEST(nodes_that_sweep_at_once_find_different_logs)
{
    static struct ap  x[120];
    static char       name[120][8];
    struct store_list left = { .kind = STORE_UNFINISHED, .limit = 50 };
    struct pair       p;
    struct fix        c;
    struct str        one, two, row;
    int               found = 0;

    pair_begin(&p);
    for (int i = 0; i < 120; i++) {
        snprintf(name[i], sizeof name[i], "t%03d", i);
        ap_init(&x[i], "ann", name[i], 0, "x");
        x[i].a.state = STR("running");
        ap_send(&p.a, &x[i]);
    }
    fix_wait(&p.a);
    fix_init(&c);
    c.host = &p.a;
    REQUIRE(fix_open(&c, p.url) == OK);
    die(&p);
    one = fix_list(&p.b, left, NULL);
    two = fix_list(&c, left, NULL);
    for (struct str rest = two; str_split(&rest, ';', &row) && row.len; found++)
        CHECK(str_find(one, row) < 0);
    for (struct str rest = one; str_split(&rest, ';', &row) && row.len;) found++;
    CHECK(found == 100);
    fix_done(&c);
    pair_end(&p);
}

TEST(what_is_due_is_told_to_the_holder_and_to_everybody_when_it_died)
{
    struct store_list     due = { .kind = STORE_DUE, .due_ms = 1000 };
    struct store_approval gate = {
        .id = STR("c"), .status = STR("pending"), .requested_ms = 1, .expires_ms = 10
    };
    struct pair p;
    struct ap   x;

    pair_begin(&p);
    ap_init(&x, "ann", "t", 0, "asked");
    x.a.approvals = &gate;
    x.a.approval_count = 1;
    CHECK(ap_run(&p.a, &x) == OK);
    CHECK_STR(fix_list(&p.b, due, NULL), "");
    CHECK(str_starts(fix_list(&p.a, due, NULL), STR("ann/t/c")));
    die(&p);
    CHECK(str_starts(fix_list(&p.b, due, NULL), STR("ann/t/c")));
    pair_end(&p);
}

TEST(nodes_are_listed_with_what_they_hold)
{
    struct pair p;
    char        want[128];

    pair_begin(&p);
    CHECK(pair_append(&p.a, "t", 0, "x", NO_HOLD).e == OK);
    CHECK(fix_append(&p.a, "ann", "u", 0, "idle") == OK);
    snprintf(want, sizeof want, "%s 'http://a:1' " PARLEY_VERSION " alive 2 1;",
             store_node(p.a.store).ptr);
    CHECK(str_find(fix_list(&p.b, (struct store_list){ .kind = STORE_NODES }, NULL), str_c(want)) >=
          0);
    die(&p);
    snprintf(want, sizeof want, "%s 'http://a:1' " PARLEY_VERSION " dead 2 1;",
             store_node(p.a.store).ptr);
    CHECK(str_find(fix_list(&p.b, (struct store_list){ .kind = STORE_NODES }, NULL), str_c(want)) >=
          0);
    pair_end(&p);
}
