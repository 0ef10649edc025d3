/* test_pg.c -- what only the PostgreSQL store can show: several nodes on one database, connections
 * that break in every phase of an append, and what is said about a database that will not do.
 *
 * Two nodes are two stores on one loop, so that both renew their leases whichever is waited for. A
 * node that is to die talks by way of a proxy, which is closed; its lease is ended in its row.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "pg_help.h"
#include "store/rows.h"
#include "store_suite.h"
#include "test.h"

struct pair {
    char             url[512], by_proxy[512];
    struct pg_proxy *proxy;
    struct fix       a, b; /* a: by way of the proxy */
    int              lapses;
};

static void on_lapse(void *ctx)
{
    ++*(int *)ctx;
}

static void pair_begin(struct pair *p)
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

static void pair_end(struct pair *p)
{
    fix_done(&p->b);
    fix_done(&p->a);
    pg_proxy_free(p->proxy);
}

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

static struct ap append(struct fix *f, const char *thread, uint64_t expected, const char *body,
                        struct store_hold hold)
{
    struct ap p;

    ap_init(&p, "ann", thread, expected, body);
    p.a.hold = hold;
    p.a.state = STR("running");
    ap_run(f, &p);
    return p;
}

#define NONE ((struct store_hold){ 0 })

/* --- nodes ------------------------------------------------------------------------------- */

TEST(what_one_node_holds_another_can_read_but_not_change)
{
    struct pair p;
    struct ap   x;
    struct cl   c;

    pair_begin(&p);
    CHECK(append(&p.a, "t", 0, "one", NONE).e == OK);
    c = cl_run(&p.b, "ann", "t");
    CHECK(c.e == ERR_BUSY);
    CHECK(c.c.alive);
    CHECK_STR(store_node(p.a.store), c.node);
    x = append(&p.b, "t", 1, "not mine", NONE);
    CHECK(x.e == ERR_FENCED);
    CHECK(fix_edit(&p.b, "ann", "t", "renamed", false) == ERR_FENCED);
    CHECK(fix_edit(&p.b, "ann", "t", NULL, true) == ERR_FENCED);
    CHECK_STR(fix_read(&p.b, "ann", "t", 0), "1 note one;");
    CHECK(append(&p.a, "t", 1, "two", NONE).e == OK);
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
        CHECK(append(&p.a, name[i], 0, "x", NONE).e == OK);
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

TEST(what_was_given_back_belongs_to_who_claims_it_and_the_old_claim_is_worth_nothing)
{
    struct log_name t = { STR("ann"), STR("t") };
    struct pair     p;
    struct ap       x;
    struct cl       c;

    pair_begin(&p);
    x = append(&p.a, "t", 0, "one", NONE);
    store_release(p.a.store, t, (struct store_hold){ x.a.hold.life, x.a.hold.epoch + 7 });
    CHECK(cl_run(&p.b, "ann", "t").e == ERR_BUSY); /* not by another claim's number */
    store_release(p.a.store, t, x.a.hold);
    do c = cl_run(&p.b, "ann", "t"); /* nobody waits for a release: it comes in its own time */
    while (c.e == ERR_BUSY);
    CHECK(c.e == OK);
    CHECK(c.c.hold.epoch > x.a.hold.epoch);
    CHECK(append(&p.a, "t", 1, "late", x.a.hold).e == ERR_FENCED);
    CHECK(append(&p.b, "t", 1, "two", c.c.hold).e == OK);
    CHECK(append(&p.a, "t", 2, "late", x.a.hold).e == ERR_FENCED);
    CHECK_STR(fix_read(&p.a, "ann", "t", 0), "1 note one;2 note two;");
    CHECK(suite_chained(&p.b, p.url));
    pair_end(&p);
}

TEST(a_node_that_closes_leaves_nothing_held)
{
    struct pair p;

    pair_begin(&p);
    CHECK(append(&p.a, "t", 0, "one", NONE).e == OK);
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
    t = append(&p.a, "t", 0, "one", NONE);
    u = append(&p.a, "u", 0, "one", NONE);
    CHECK(store_lease_ok(p.a.store, t.a.hold));
    CHECK_STR(fix_list(&p.b, left, NULL), "");
    die(&p);
    c = cl_run(&p.b, "ann", "t");
    CHECK(c.e == OK);
    CHECK_STR(fix_list(&p.b, left, NULL), "ann/u running;");
    CHECK_STR(fix_list(&p.b, left, NULL), "");
    CHECK(append(&p.b, "t", 1, "went on", c.c.hold).e == OK);
    revive(&p);
    CHECK(!store_lease_ok(p.a.store, t.a.hold));
    CHECK(append(&p.a, "t", 1, "late", t.a.hold).e == ERR_FENCED);
    CHECK(append(&p.a, "u", 1, "late", u.a.hold).e == ERR_FENCED);
    CHECK(append(&p.a, "u", 1, "late", NONE).e == ERR_FENCED);
    CHECK_STR(fix_read(&p.a, "ann", "t", 0), "1 note one;2 note went on;");
    CHECK(suite_chained(&p.b, p.url));
    pair_end(&p);
}

TEST(a_lease_that_lapsed_unnoticed_costs_nothing_but_effects_that_had_not_begun)
{
    struct pair p;
    struct ap   x, y;

    pair_begin(&p);
    x = append(&p.a, "t", 0, "started", NONE);
    die(&p);
    revive(&p); /* nobody took anything */
    CHECK(!store_lease_ok(p.a.store, x.a.hold));
    y = append(&p.a, "t", 1, "outcome", x.a.hold);
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
    CHECK(append(&p.a, "t", 0, "x", NONE).e == OK);
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

/* --- connections that break ---------------------------------------------------------------- */

/* One append to "t" that counts in every list. */
static enum err pay(struct fix *f, uint64_t *seq, struct store_hold *hold, struct buf *want)
{
    struct store_tool_count n = { STR("pay"), 1, 0 };
    struct store_spent      spent = { STR("ann"), 1, 10 };
    struct ap               x;
    char                    body[32], id[32];
    enum err                e;

    snprintf(body, sizeof body, "n%d", (int)*seq);
    snprintf(id, sizeof id, "request-%d", (int)*seq);
    ap_init(&x, "ann", "t", *seq, body);
    if (*seq % 2) x.a.hold = *hold;
    x.a.request_id = str_c(id);
    x.a.tools = &n;
    x.a.tool_count = 1;
    x.a.spent = &spent;
    x.a.spent_count = 1;
    e = ap_run(f, &x);
    *hold = x.a.hold;
    *seq = x.a.new_seq;
    buf_printf(want, "%d note %s;", (int)*seq, body);
    return e;
}

TEST(an_append_happens_once_wherever_its_connection_is_cut)
{
    struct pair       p;
    struct buf        want;
    struct store_hold hold = NONE;
    uint64_t          seq = 0;
    int               cut = 0;
    char              place[32], tools[32];
    long              size[2];

    pair_begin(&p);
    buf_init(&want, 0);
    for (int i = 0; i < 24; i++) {
        bool answers = i % 2;
        snprintf(place, sizeof place, "%s %d/12", answers ? "answer" : "message", i / 2);
        test_place(place);
        /* The first after a break prepares its statement; the second is as long as the third. */
        CHECK(pay(&p.a, &seq, &hold, &want) == OK);
        pg_proxy_cut_after(p.proxy, -1, false);
        CHECK(pay(&p.a, &seq, &hold, &want) == OK);
        pg_proxy_passed(p.proxy, &size[0], &size[1]);
        pg_proxy_cut_after(p.proxy, 1 + (size[answers] - 2) * (i / 2) / 11, answers);
        CHECK(pay(&p.a, &seq, &hold, &want) == OK);
        cut += pg_proxy_has_cut(p.proxy);
        pg_proxy_cut_after(p.proxy, -1, false);
    }
    test_place(NULL);
    CHECK(cut >= 20); /* a renewal may have made the second look longer than it was */
    CHECK(str_eq(fix_read(&p.b, "ann", "t", 0), buf_view(&want)));
    snprintf(tools, sizeof tools, "pay %d 0;", (int)seq);
    CHECK_STR(fix_list(&p.b, (struct store_list){ .kind = STORE_TOOLS }, NULL), tools);
    CHECK_STR(fix_list(&p.b,
                       (struct store_list){ .kind = STORE_USED, .owner = STR("ann"), .day = 1 },
                       NULL),
              "720;");
    CHECK(suite_chained(&p.b, p.url)); /* whatever was sent twice is tied once */
    buf_done(&want);
    pair_end(&p);
}

TEST(appends_in_flight_when_the_server_ends_every_connection_happen_once)
{
    static struct ap x[300];
    static char      name[300][8];
    struct pair      p;

    pair_begin(&p);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 300; i++) {
            snprintf(name[i], sizeof name[i], "t%d", i);
            ap_init(&x[i], "ann", name[i], (uint64_t)round, "x");
            ap_send(&p.a, &x[i]);
        }
        for (int turn = 0; turn < round * 2; turn++) fix_turn(&p.a);
        pg_run(p.url, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE"
                      " pid <> pg_backend_pid() AND application_name = 'parley'");
        fix_wait(&p.a);
        for (int i = 0; i < 300; i++) CHECK(x[i].e == OK);
    }
    CHECK_STR(str_c(pg_run(p.url, "SELECT count(*) FROM parley_fact")), "900");
    /* the other node's connections were ended, too: it may still be making new ones */
    struct str read = fix_read(&p.b, "ann", "t299", 0);
    for (int i = 0; i < 100 && str_is(read, "busy"); i++) read = fix_read(&p.b, "ann", "t299", 0);
    CHECK_STR(read, "1 note x;2 note x;3 note x;");
    CHECK(suite_chained(&p.b, p.url));
    pair_end(&p);
}

TEST(while_the_database_is_away_appends_wait_and_then_say_so)
{
    struct pair p;
    struct ap   x, y;

    pair_begin(&p);
    CHECK(append(&p.a, "t", 0, "one", NONE).e == OK);
    pg_proxy_open(p.proxy, false);
    ap_init(&x, "ann", "t", 1, "short");
    ap_send(&p.a, &x);
    while (store_health(p.a.store) == OK && !x.done) fix_turn(&p.a); /* it knows */
    CHECK(!x.done);
    pg_proxy_open(p.proxy, true);
    fix_wait(&p.a);
    CHECK(x.e == OK);

    pg_proxy_open(p.proxy, false);
    while (store_health(p.a.store) == OK) fix_turn(&p.a); /* it knows */
    ap_init(&y, "ann", "t", 2, "long");
    /* unsure: its own connection had not noticed yet, and took it */
    enum err e = ap_run(&p.a, &y);
    CHECK(e == ERR_BUSY || e == ERR_UNSURE);
    CHECK(store_health(p.a.store) == ERR_BUSY);
    CHECK(store_problem(p.a.store).len > 0);
    CHECK(str_find(store_problem(p.a.store), STR(PG_PASSWORD)) < 0);
    CHECK_STR(fix_read(&p.b, "ann", "t", 2), "");
    pg_proxy_open(p.proxy, true);
    while (store_health(p.a.store) != OK) fix_turn(&p.a);
    CHECK(!store_problem(p.a.store).ptr);
    CHECK(append(&p.a, "t", 2, "well again", NONE).e == OK);
    pair_end(&p);
}

TEST(an_append_whose_fate_cannot_be_found_out_is_told_as_unsure)
{
    struct pair p;
    struct ap   x;

    pair_begin(&p);
    CHECK(append(&p.a, "t", 0, "one", NONE).e == OK);
    ap_init(&x, "ann", "t", 1, "two");
    pg_proxy_cut_after(p.proxy, 5, true); /* the answer is lost */
    ap_send(&p.a, &x);
    while (!pg_proxy_has_cut(p.proxy)) uv_run(&p.a.loop.uv, UV_RUN_NOWAIT);
    pg_proxy_open(p.proxy, false); /* and nobody can be asked */
    fix_wait(&p.a);
    CHECK(x.e == ERR_UNSURE || x.e == ERR_BUSY); /* busy: another lane's bytes were cut */
    if (x.e == ERR_BUSY) CHECK_STR(fix_read(&p.b, "ann", "t", 1), "");
    pg_proxy_open(p.proxy, true);
    pair_end(&p);
}

/* Held back until whoever waits has been told, then let go: it arrives after all. */
TEST(an_edit_whose_fate_cannot_be_found_out_is_told_as_unsure)
{
    struct pair p;
    struct ap   x;

    pair_begin(&p);
    x = append(&p.a, "t", 0, "one", NONE);
    CHECK(x.e == OK);
    pg_proxy_hold(p.proxy, true);
    CHECK(fix_edit(&p.a, "ann", "t", "late", false) == ERR_UNSURE);
    CHECK(fix_edit(&p.a, "ann", "t", NULL, true) == ERR_BUSY); /* it was never sent */
    pg_proxy_hold(p.proxy, false);
    while (store_health(p.a.store) != OK) fix_turn(&p.a);
    CHECK(cl_run(&p.a, "ann", "t").e == OK);
    CHECK_STR(fix_read(&p.a, "ann", "t", 0), "1 note one;");
    pair_end(&p);
}

/* The renewal that was on its way when the network fell silent arrives when the lease is over, and
 * its answer is lost. The one behind it finds this node alive. */
TEST(a_gap_in_the_lease_is_noticed_though_a_late_renewal_hid_it)
{
    struct pair p;
    struct ap   x;

    pair_begin(&p);
    x = append(&p.a, "t", 0, "started", NONE);
    pg_proxy_hold(p.proxy, true);
    while (store_health(p.a.store) == OK) fix_turn(&p.a);
    CHECK(p.lapses == 0);
    pg_proxy_hold(p.proxy, false);
    while (store_health(p.a.store) != OK) fix_turn(&p.a);
    CHECK(p.lapses == 1);
    CHECK(!store_lease_ok(p.a.store, x.a.hold));
    pair_end(&p);
}

/* Part of an answer and a reset behind it are seen in one turn, which reads that part: the reset is
 * found by the next, not when the answer is overdue. */
TEST(a_reset_behind_part_of_an_answer_is_noticed_at_once)
{
    struct pair p;
    struct ap   x;
    int         fds[2], saved = dup(STDERR_FILENO);
    char        said[16384] = "";

    pair_begin(&p);
    CHECK(append(&p.a, "t", 0, "one", NONE).e == OK);
    REQUIRE(pipe(fds) == 0);
    dup2(fds[1], STDERR_FILENO);
    pg_proxy_resets(p.proxy);
    pg_proxy_cut_after(p.proxy, 5, true);
    ap_init(&x, "ann", "t", 1, "two");
    ap_send(&p.a, &x);
    uv_run(&p.a.loop.uv, UV_RUN_NOWAIT); /* it is sent */
    while (!pg_proxy_has_cut(p.proxy)) uv_sleep(1);
    fix_wait(&p.a);
    dup2(saved, STDERR_FILENO);
    CHECK(x.e == OK);
    CHECK(read(fds[0], said, sizeof said - 1) > 0);
    CHECK(strstr(said, "store.connection_lost") && !strstr(said, "no answer in time"));
    for (int i = 0; i < 2; i++) close(fds[i]);
    close(saved);
    pair_end(&p);
}

/* --- data ------------------------------------------------------------------------------------ */

/* A store that has never been used. */
static void open_new(struct fix *f, char url[512])
{
    pg_url(url, 512);
    fix_init(f);
    REQUIRE(fix_open(f, url) == OK);
}

TEST(a_text_that_the_database_will_not_take_fails_alone)
{
    struct fix f;
    char       url[512];
    struct ap  x[3];

    open_new(&f, url);
    for (int i = 0; i < 3; i++) ap_init(&x[i], "ann", i == 0 ? "a" : i == 1 ? "b" : "c", 0, "x");
    x[1].fact.kind = STR("\xff\xfe");
    for (int i = 0; i < 3; i++) ap_send(&f, &x[i]);
    fix_wait(&f);
    CHECK(x[0].e == OK);
    CHECK(x[1].e == ERR_IO);
    CHECK(x[2].e == OK);
    CHECK_STR(fix_read(&f, "ann", "b", 0), "not_found");
    fix_done(&f);
}

/* As a node of the version before appends: two facts, and no links. */
static void append_as_before(const char *url, uint64_t expected)
{
    struct log_name   log = { STR("ann"), STR("t") };
    struct store_fact one = { expected + 1, 5, STR("note"), STR("old") }, two = one;
    char              sql[1024];

    two.seq++;
    snprintf(sql, sizeof sql,
             "WITH t AS (UPDATE parley_thread SET seq = %d WHERE name = 't' RETURNING id)"
             " INSERT INTO parley_fact(thread, seq, at_ms, epoch, sum, kind, body)"
             " SELECT id, v.seq, 5, 1, v.sum, 'note', 'old' FROM t CROSS JOIN"
             " (VALUES (%d, %lld::int8), (%d, %lld::int8)) AS v(seq, sum)",
             (int)two.seq, (int)two.seq, (long long)fact_sum(log, &two), (int)one.seq,
             (long long)fact_sum(log, &one));
    pg_run(url, sql);
}

TEST(what_nodes_of_the_version_before_append_is_tied_by_the_database)
{
    struct fix f;
    char       url[512];

    open_new(&f, url);
    CHECK(fix_append(&f, "ann", "t", 0, "1") == OK);
    append_as_before(url, 1);
    CHECK(suite_chained(&f, url));
    CHECK(fix_append(&f, "ann", "t", 3, "4") == OK);
    CHECK(suite_chained(&f, url));
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 1;2 note old;3 note old;4 note 4;");
    /* a chain that has not begun is not begun by them */
    pg_run(url, "UPDATE parley_fact SET link = NULL");
    pg_run(url, "UPDATE parley_thread SET links = NULL");
    append_as_before(url, 4);
    CHECK_STR(str_c(pg_run(url, "SELECT count(link) FROM parley_fact")), "0");
    CHECK_STR(str_c(pg_run(url, "SELECT count(links) FROM parley_thread")), "0");
    fix_done(&f);
}

/* Else every append writes into all indexes of the table; and a planner that knows no figures yet
 * takes any index that begins with the owner, and goes through everything they have. */
TEST(an_append_changes_what_is_in_no_index_and_finds_its_log_by_one)
{
    struct fix f;
    char       url[512];

    open_new(&f, url);
    CHECK_STR(str_c(pg_run(url, "SELECT count(*) FROM pg_index i JOIN pg_attribute a ON"
                                " a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
                                " WHERE i.indrelid = 'parley_thread'::regclass"
                                " AND a.attname IN ('seq', 'updated_ms', 'links')")),
              "0");
    CHECK_STR(str_c(pg_run(url, "SELECT string_agg(i.indexrelid::regclass::text, ' ') FROM pg_index"
                                " i JOIN pg_attribute a ON a.attrelid = i.indrelid AND"
                                " a.attnum = i.indkey[0] WHERE i.indrelid ="
                                " 'parley_thread'::regclass AND a.attname = 'owner'")),
              "parley_thread_by_name");
    fix_done(&f);
}

TEST(a_fact_that_was_changed_in_the_database_is_found)
{
    struct fix f;
    char       url[512];

    open_new(&f, url);
    CHECK(fix_append(&f, "ann", "t", 0, "true") == OK);
    CHECK(fix_append(&f, "ann", "t", 1, "true") == OK);
    pg_run(url, "UPDATE parley_fact SET body = 'false' WHERE seq = 1");
    CHECK_STR(fix_read(&f, "ann", "t", 0), "damaged");
    CHECK_STR(fix_read(&f, "ann", "t", 1), "2 note true;");
    pg_run(url, "DELETE FROM parley_fact WHERE seq = 2");
    CHECK_STR(fix_read(&f, "ann", "t", 1), "damaged");
    fix_done(&f);
}

/* --- what is said ---------------------------------------------------------------------------- */

static void expect_refusal(const char *url, const char *node_url, enum err want, const char *words)
{
    struct fix f;

    fix_init(&f);
    CHECK(fix_open_node(&f, url, node_url) == want);
    if (str_find(f.why, str_c(words)) < 0) test_check_str(__FILE__, __LINE__, f.why, str_c(words));
    CHECK(str_find(f.why, STR("sesame")) < 0);
    fix_done(&f);
}

TEST(a_database_that_will_not_do_is_refused_with_what_to_do_and_without_the_password)
{
    char     url[512], good[400];
    unsigned port = pg_port();

    pg_url(good, sizeof good);
    pg_url_by(url, sizeof url, good, port, "wrong%20sesame");
    expect_refusal(url, NULL, ERR_DENIED, "refuses the password of parley: check it");
    snprintf(url, sizeof url, "postgresql://parley:open%%20sesame@127.0.0.1:%u/nobody", port);
    expect_refusal(url, NULL, ERR_NOT_FOUND, "there is no database \"nobody\"");
    snprintf(url, sizeof url, "postgresql://parley:open%%20sesame@127.0.0.1:1/parley");
    expect_refusal(url, NULL, ERR_IO, "cannot reach the database");
    snprintf(url, sizeof url, "%s%%20-cdefault_transaction_read_only%%3Don", good);
    expect_refusal(url, NULL, ERR_UNSUPPORTED, "can only be read: name the primary");
    /* passwords that were not escaped */
    expect_refusal("postgresql://parley:open/sesame@127.0.0.1/parley", NULL, ERR_SYNTAX,
                   "%2F for /");
    expect_refusal("postgresql://parley:open@sesame@127.0.0.1/parley", NULL, ERR_SYNTAX,
                   "%40 for @");
    expect_refusal("postgresql://parley:12/sesame@host/parley", NULL, ERR_SYNTAX, "%2F for /");
    expect_refusal("postgresql://parley:open%sesame@127.0.0.1/parley", NULL, ERR_SYNTAX,
                   "cannot be");
}

TEST(a_database_of_a_newer_version_is_refused_and_left_alone)
{
    struct fix f;
    char       url[512];

    open_new(&f, url);
    CHECK(str_find(store_promise(f.store), STR(", schema ")) > 0);
    fix_done(&f);
    pg_run(url, "UPDATE parley_schema SET version = 700");
    expect_refusal(url, NULL, ERR_UNSUPPORTED,
                   "made by a newer version of parley (its schema is 700");
    CHECK_STR(str_c(pg_run(url, "SELECT version FROM parley_schema")), "700");
    CHECK_STR(str_c(pg_run(url, "SELECT count(*) FROM parley_node")), "0");
}

TEST(two_nodes_cannot_have_one_url_but_a_killed_one_gets_its_own_back)
{
    struct pair p;
    struct fix  f;

    pair_begin(&p);
    /* its row as a killed process leaves it, and as one that renews */
    pg_run(p.url, "INSERT INTO parley_node VALUES ('n_killed', 'http://c:1',"
                  " clock_timestamp() + interval '500 ms', '0')");
    fix_init(&f);
    f.host = &p.a;
    CHECK(fix_open_node(&f, p.url, "http://c:1") == OK);
    fix_done(&f);
    pg_run(p.url, "INSERT INTO parley_node VALUES ('n_other', 'http://d:1',"
                  " clock_timestamp() + interval '1 hour', '0')");
    expect_refusal(p.url, "http://d:1", ERR_EXISTS,
                   "another node with the url http://d:1 is alive");
    pair_end(&p);
}
