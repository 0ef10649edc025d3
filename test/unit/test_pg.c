/* test_pg.c -- what only the PostgreSQL store can show: connections that break in every phase of an
 * append, and what is said about a database that will not do. Several nodes: test_pg_nodes.c.
 */
#include <unistd.h>

#include "pg_pair.h"
#include "store/rows.h"
#include "store_suite.h"
#include "test.h"

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
    struct store_hold hold = NO_HOLD;
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
    CHECK(pair_append(&p.a, "t", 0, "one", NO_HOLD).e == OK);
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
    CHECK(pair_append(&p.a, "t", 2, "well again", NO_HOLD).e == OK);
    pair_end(&p);
}

TEST(an_append_whose_fate_cannot_be_found_out_is_told_as_unsure)
{
    struct pair p;
    struct ap   x;

    pair_begin(&p);
    CHECK(pair_append(&p.a, "t", 0, "one", NO_HOLD).e == OK);
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
    x = pair_append(&p.a, "t", 0, "one", NO_HOLD);
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
    x = pair_append(&p.a, "t", 0, "started", NO_HOLD);
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
    CHECK(pair_append(&p.a, "t", 0, "one", NO_HOLD).e == OK);
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
