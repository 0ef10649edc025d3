/* test_move.c -- `parley move`: everything arrives, both ways; cut off anywhere it goes on; what
 * will not do is refused in words, without a password, and nothing is half used.
 *
 * A move that is killed runs in a process of its own and ends itself when it is so far.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pg_help.h"
#include "store_help.h"
#include "test.h"

static char file[256], url[512];

static void new_places(void)
{
    static int n;

    snprintf(file, sizeof file, "%s/move-%d.db", test_dir(), n++);
    pg_url(url, sizeof url);
}

/* --- a store with something in every list ------------------------------------------------ */

#define THREADS 260 /* more than a batch */

static const char *thread_name(int i)
{
    static char name[16];
    snprintf(name, sizeof name, "t%d", i);
    return name;
}

static void fill_lists(struct fix *f)
{
    struct store_approval   p = { .id = STR("conf-1"),
                                  .call = STR("c1"),
                                  .tool = STR("pay"),
                                  .status = STR("pending"),
                                  .body = STR("{\"amount\":5}"),
                                  .requested_ms = 17,
                                  .expires_ms = 99 };
    struct store_tool_count count = { STR("pay"), 3, 1 };
    struct store_key        key = { .key = STR("invoice"), .value = STR("42") };
    struct store_take       grant = { .op = TAKE_MAKE,
                                      .key = STR("g1"),
                                      .holder = STR("h"),
                                      .kind = STR("grant"),
                                      .state = STR("open"),
                                      .body = STR("{}"),
                                      .uses = 3,
                                      .with_log = true };
    struct store_spent      spent = { STR("ann"), 20000, 77 };
    struct ap               a;

    ap_init(&a, "ann", "gate", 0, "asked");
    a.a.takes = &grant;
    a.a.take_count = 1;
    a.a.now_ms = 5;
    a.a.keys = &key;
    a.a.key_count = 1;
    a.a.approvals = &p;
    a.a.approval_count = 1;
    a.a.tools = &count;
    a.a.tool_count = 1;
    a.a.request_id = STR("req-1");
    a.a.run = STR("run-1");
    a.a.spent = &spent;
    a.a.spent_count = 1;
    a.a.title = STR("A payment that waits");
    a.a.state = STR("waiting");
    CHECK(ap_run(f, &a) == OK);
    CHECK_STR(fix_session(f, SESSION_PUT, "hash", "{\"who\":\"ann\"}", INT64_C(9999999999999)),
              "ok");
}

static void fill(void)
{
    struct fix f;

    fix_init(&f);
    REQUIRE(fix_open(&f, file) == OK);
    for (int i = 0; i < THREADS; i++) {
        const char *owner = i % 3 ? i % 3 == 1 ? "ann" : "bob" : "";
        CHECK(fix_append(&f, owner, thread_name(i), 0, "one") == OK);
        CHECK(fix_append(&f, owner, thread_name(i), 1, "two \xc3\xa4 \x01") == OK);
    }
    /* so that a batch of facts ends in the middle of a conversation */
    CHECK(fix_append(&f, "", "t0", 2, "three") == OK);
    fill_lists(&f);
    fix_done(&f);
}

/* What a store says about itself, in one text. */
static struct str told(struct fix *f)
{
    struct str threads =
        fix_list(f, (struct store_list){ .kind = STORE_THREADS, .everybody = true }, NULL);
    struct str gates =
        fix_list(f, (struct store_list){ .kind = STORE_APPROVALS, .everybody = true }, NULL);
    struct str tools = fix_list(f, (struct store_list){ .kind = STORE_TOOLS }, NULL);
    struct str used = fix_list(
        f, (struct store_list){ .kind = STORE_USED, .owner = STR("ann"), .day = 20000 }, NULL);
    struct str request = fix_list(
        f, (struct store_list){ .kind = STORE_REQUEST, .owner = STR("ann"), .id = STR("req-1") },
        NULL);
    struct str session = fix_session(f, SESSION_GET, "hash", NULL, 0);
    struct str stock = fix_list(
        f, (struct store_list){ .kind = STORE_STOCK, .everybody = true, .status = STR("grant") },
        NULL);
    struct str log = fix_read(f, "", "t258", 0), gate = fix_read(f, "ann", "gate", 0);
    struct str found =
        fix_list(f,
                 (struct store_list){
                     .kind = STORE_THREADS, .owner = STR("ann"), .search = STR("that waits") },
                 NULL);

    struct buf all;
    buf_init(&all, 0);
    const struct str parts[] = { threads, gates, tools, used,  request,
                                 session, log,   gate,  found, stock };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_str(&all, parts[i]);
        buf_lit(&all, "|");
    }
    struct str text = arena_dup(&f->arena, buf_view(&all));
    buf_done(&all);
    return text;
}

static void check_same(const char *a, const char *b)
{
    struct fix x, y;
    struct str said;

    fix_init(&x);
    REQUIRE(fix_open(&x, a) == OK);
    said = told(&x);
    fix_init(&y);
    REQUIRE(fix_open(&y, b) == OK);
    CHECK(said.len > 2000);
    CHECK_STR(told(&y), said.ptr);
    /* and it goes on there, numbered behind what came */
    CHECK(fix_append(&y, "ann", "new", 0, "first") == OK);
    CHECK(fix_append(&y, "ann", "gate", 1, "second") == OK);
    fix_done(&y);
    fix_done(&x);
}

static void run_sql(const char *sql)
{
    sqlite3 *db;

    REQUIRE(sqlite3_open(file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

/* --- moving --------------------------------------------------------------------------------- */

struct moved {
    struct store_moved did;
    enum err           e;
    char               why[600];
};

static struct moved move(struct store_move asked)
{
    struct moved m = { 0 };
    struct arena a;
    struct str   why = STR_NONE;

    arena_init(&a, 0);
    m.e = store_move(&asked, &a, &m.did, &why);
    snprintf(m.why, sizeof m.why, STR_FMT, STR_ARG(why));
    CHECK(!strstr(m.why, "sesame"));
    arena_done(&a);
    return m;
}

static struct moved move_to(const char *from, const char *to)
{
    return move((struct store_move){ .from = str_c(from), .to = str_c(to) });
}

static void expect(struct moved m, enum err want, const char *words)
{
    CHECK(m.e == want);
    if (!strstr(m.why, words)) test_check_str(__FILE__, __LINE__, str_c(m.why), str_c(words));
}

/* A table or a column that a move does not know would be left behind in silence. */
TEST(a_move_knows_every_column_there_is)
{
    new_places();
    fill();
    REQUIRE(move_to(file, url).e == OK);
    CHECK_STR(
        str_c(pg_run(url, "SELECT string_agg(table_name || '.' || column_name, ' ' ORDER BY"
                          " table_name, ordinal_position) FROM information_schema.columns"
                          /* what the database makes of other columns it makes again */
                          " WHERE table_schema = current_schema() AND is_generated = 'NEVER'"
                          " AND table_name NOT IN ('parley_node', 'parley_schema',"
                          /* places among events, and what was noted of logs, are a store's own;
                           * which words are gone, the next look finds out; what was said gets into
                           * the index there */
                          " 'parley_event', 'parley_noted', 'parley_trimmed', 'parley_said',"
                          " 'parley_said_to')")),
        "parley_approval.num parley_approval.owner parley_approval.id parley_approval.thread "
        "parley_approval.call parley_approval.tool parley_approval.status "
        "parley_approval.body parley_approval.requested_ms parley_approval.expires_ms "
        "parley_approval.sum parley_checkpoint.number parley_checkpoint.at_ms "
        "parley_checkpoint.line parley_checkpoint.told "
        "parley_fact.thread parley_fact.seq parley_fact.at_ms "
        "parley_fact.epoch parley_fact.sum parley_fact.kind parley_fact.body "
        "parley_fact.link parley_fact.digest parley_key.owner parley_key.key parley_key.thread "
        "parley_key.value "
        "parley_key.at_ms parley_request.owner parley_request.id parley_request.thread "
        "parley_request.run parley_session.key parley_session.body parley_session.ends_ms "
        "parley_stock.num parley_stock.key parley_stock.kind parley_stock.owner "
        "parley_stock.holder parley_stock.state parley_stock.body parley_stock.uses "
        "parley_stock.amount parley_stock.made_ms parley_stock.until_ms "
        "parley_stock_log.key parley_stock_log.thread "
        "parley_stub.num parley_stub.log parley_stub.owner parley_stub.name "
        "parley_stub.created_ms parley_stub.removed_ms parley_stub.seq parley_stub.kind "
        "parley_stub.digests parley_stub.head parley_stub.body parley_stub.noted "
        "parley_thread.id parley_thread.owner parley_thread.name parley_thread.title "
        "parley_thread.state parley_thread.seq parley_thread.created_ms "
        "parley_thread.updated_ms parley_thread.holder parley_thread.epoch "
        "parley_thread.hidden parley_thread.source parley_thread.grp parley_thread.links "
        "parley_tool.name parley_tool.slot parley_tool.runs "
        "parley_tool.failed parley_used.owner parley_used.day parley_used.slot "
        "parley_used.amount");
}

static int64_t ask_file(const char *path, const char *sql)
{
    sqlite3      *db;
    sqlite3_stmt *st;

    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_step(st) == SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
    return n;
}

TEST(a_move_brings_every_log_and_list_there_and_back)
{
    struct moved m, back;
    char         home[300];

    new_places();
    fill();
    m = move_to(file, url);
    expect(m, OK, "");
    CHECK(m.did.lists[0].rows == THREADS + 1 && m.did.lists[1].rows == 2 * THREADS + 2);
    for (int i = 2; i < 8; i++) CHECK(m.did.lists[i].rows == 1);
    CHECK(!m.did.resumed && !m.did.damaged && strlen(m.did.digest) == 32);
    snprintf(home, sizeof home, "%s.home", file);
    back = move_to(url, home);
    expect(back, OK, "");
    CHECK(strcmp(m.did.digest, back.did.digest) == 0);
    CHECK(ask_file(home, "SELECT count(*) FROM fact WHERE typeof(link) = 'blob'") > 0);
    CHECK(ask_file(home, "SELECT count(*) FROM fact WHERE typeof(link) = 'text'") == 0);
    CHECK(ask_file(home, "SELECT count(*) FROM thread WHERE typeof(links) = 'text'") == 0);
    check_same(file, url);
    check_same(file, home);
}

/* --- killed ----------------------------------------------------------------------------------- */

struct bomb {
    int left;
};

static void tick(void *ctx, const char *what, uint64_t done, uint64_t all)
{
    struct bomb *b = ctx;
    (void)what, (void)done, (void)all;
    if (--b->left == 0) kill(getpid(), SIGKILL);
}

/* True: it came to its end before. */
static bool move_and_die(const char *from, const char *to, int after)
{
    pid_t pid = fork();
    int   status = 0;

    REQUIRE(pid >= 0);
    if (pid == 0) {
        struct bomb  b = { after };
        struct moved m = move(
            (struct store_move){ .from = str_c(from), .to = str_c(to), .far = tick, .ctx = &b });
        if (m.e) printf("  the move failed: %s\n", m.why);
        fflush(stdout);
        _exit(m.e == OK ? 0 : 1);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status)) return false;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return true;
}

static void die_everywhere(const char *from, const char *to)
{
    int n = 1;

    while (n < 100 && !move_and_die(from, to, n)) n++;
    CHECK(n > 5 && n < 100);
}

TEST(a_move_that_is_killed_again_and_again_goes_on_and_comes_to_its_end)
{
    char home[300];

    new_places();
    pg_server(); /* ours, not the child's */
    fill();
    die_everywhere(file, url);
    snprintf(home, sizeof home, "%s.home", file);
    die_everywhere(url, home);
    check_same(file, url);
    check_same(file, home);
}

/* Killed behind its last commit it cannot say so any more: the next call does. */
static void expect_done(const char *from, const char *to)
{
    struct moved m = move_to(from, to), again = move_to(from, to);
    struct fix   f;

    expect(m, OK, "");
    expect(again, OK, "");
    CHECK(!m.did.before && again.did.before && !again.did.resumed);
    CHECK(again.did.lists[0].rows == THREADS + 1);
    CHECK(strcmp(m.did.digest, again.did.digest) == 0);
    check_same(from, to); /* and works with it */
    CHECK(move_to(from, to).e == ERR_EXISTS);
    /* as many rows, but others */
    fix_init(&f);
    REQUIRE(fix_open(&f, from) == OK);
    CHECK(fix_append(&f, "ann", "new", 0, "not the same") == OK);
    CHECK(fix_append(&f, "ann", "gate", 1, "second") == OK);
    fix_done(&f);
    CHECK(move_to(from, to).e == ERR_EXISTS);
}

TEST(a_move_that_is_done_is_done_when_it_is_called_again)
{
    char home[300];

    new_places();
    fill();
    expect_done(file, url);
    new_places();
    fill();
    snprintf(home, sizeof home, "%s.home", file);
    expect_done(file, home);
}

/* Looking whether a move made it must not change it. */
TEST(a_file_of_an_older_version_that_is_in_the_way_stays_as_it_is)
{
    char from[256], home[300];

    new_places();
    fill();
    snprintf(from, sizeof from, "%s", file);
    snprintf(home, sizeof home, "%s.home", file);
    expect(move_to(from, home), OK, "");
    snprintf(file, sizeof file, "%s.home", from);
    run_sql("ALTER TABLE fact DROP COLUMN digest; DROP TABLE trimmed; PRAGMA user_version=12");
    expect(move_to(from, home), ERR_EXISTS, "is there already");
    run_sql("ALTER TABLE fact ADD COLUMN digest BLOB"); /* it still has none */
}

TEST(nobody_works_with_a_database_that_is_half_moved)
{
    struct fix f;

    new_places();
    pg_server();
    fill();
    CHECK(!move_and_die(file, url, 3));
    fix_init(&f);
    CHECK(fix_open(&f, url) == ERR_BUSY);
    CHECK(str_find(f.why, STR("call the same `parley move` again")) >= 0);
    fix_done(&f);
    CHECK(move_to(file, url).did.resumed);
    check_same(file, url);
}

TEST(a_move_whose_source_changed_meanwhile_is_begun_anew_and_not_mixed)
{
    struct fix   f;
    struct moved m;

    new_places();
    pg_server();
    fill();
    CHECK(!move_and_die(file, url, 4));
    fix_init(&f);
    REQUIRE(fix_open(&f, file) == OK);
    CHECK(fix_append(&f, "ann", "later", 0, "x") == OK);
    fix_done(&f);
    expect(move_to(file, url), ERR_CONFLICT, "was worked with since; --anew");
    m = move((struct store_move){ .from = str_c(file), .to = str_c(url), .anew = true });
    expect(m, OK, "");
    CHECK(m.did.lists[0].rows == THREADS + 2);
    check_same(file, url);
}

/* --- refused ---------------------------------------------------------------------------------- */

TEST(a_move_waits_for_nobody_who_works_with_either_side)
{
    struct fix f;

    new_places();
    fill();
    fix_init(&f);
    REQUIRE(fix_open(&f, file) == OK);
    expect(move_to(file, url), ERR_BUSY, "is used by another parley");
    fix_done(&f);
    fix_init(&f);
    REQUIRE(fix_open_node(&f, url, "http://a:1") == OK);
    expect(move_to(file, url), ERR_BUSY, "1 nodes work with");
    expect(move_to(url, "/nonexistent.db"), ERR_BUSY, "stop them first");
    fix_done(&f);
}

TEST(a_move_adds_to_nothing_that_is_there)
{
    struct fix f;

    new_places();
    fill();
    fix_init(&f);
    REQUIRE(fix_open(&f, url) == OK);
    CHECK(fix_append(&f, "eve", "hers", 0, "x") == OK);
    fix_done(&f);
    expect(move_to(file, url), ERR_EXISTS, "is not empty (conversations: 1)");
    expect(move_to(file, file), ERR_EXISTS, "is there already");
    expect(move((struct store_move){ .from = str_c(file), .to = str_c(url), .anew = true }),
           ERR_EXISTS, "is not empty");
    expect(move_to(url, file), ERR_EXISTS, "is there already");
}

static void expect_damage(const char *sql, const char *words, uint64_t damaged)
{
    struct moved m;

    new_places();
    fill();
    run_sql(sql);
    expect(move_to(file, url), ERR_DAMAGED, words);
    m = move((struct store_move){ .from = str_c(file), .to = str_c(url), .anyway = true });
    expect(m, OK, "");
    CHECK(m.did.damaged == damaged);
}

TEST(a_damaged_source_is_named_and_moved_as_it_is_only_when_that_is_wanted)
{
    struct fix f;

    expect_damage("UPDATE fact SET body = 'other' WHERE thread = 7 AND seq = 2",
                  "the conversation t6 is not what was saved", 1);
    fix_init(&f);
    REQUIRE(fix_open(&f, url) == OK);
    CHECK_STR(fix_read(&f, "", "t6", 0), "damaged");
    CHECK_STR(fix_read(&f, "ann", "t7", 1), "2 note two \xc3\xa4 \x01;");
    fix_done(&f);
    expect_damage("UPDATE fact SET kind = x'ff00' WHERE thread = 7 AND seq = 2",
                  "the conversation t6 is not what was saved", 1);
    expect_damage("DELETE FROM fact WHERE thread = 7 AND seq = 1",
                  "the conversation t6 is not what was saved", 2);
    expect_damage("UPDATE approval SET status = 'approved'",
                  "the conversation gate is not what was saved", 1);
}

TEST(a_move_between_places_that_will_not_do_says_what_to_do)
{
    char bad[512];

    new_places();
    fill();
    pg_url_by(bad, sizeof bad, url, pg_port(), "open%20sesame2");
    expect(move_to(file, bad), ERR_DENIED, "refuses the password of parley: check it");
    expect(move_to(bad, "x.db"), ERR_DENIED, "refuses the password of parley: check it");
    expect(move_to("nowhere/none.db", url), ERR_IO, "cannot open nowhere/none.db");
    expect(move_to("sqlite::memory:", url), ERR_SYNTAX, "needs the name of a file");
    pg_url(bad, sizeof bad);
    expect(move_to(bad, "x.db"), ERR_NOT_FOUND, "has no tables of parley");
    expect(move_to(file, url), OK, "");
    pg_run(url, "UPDATE parley_schema SET version = 99");
    expect(move_to(url, "x.db"), ERR_UNSUPPORTED, "newer version of parley");
    expect(move_to(file, url), ERR_UNSUPPORTED, "newer version of parley");
    CHECK(access("x.db", F_OK) != 0 && access("x.db.moving", F_OK) != 0);
}

TEST(a_file_of_an_older_version_is_moved_with_checksums_of_its_own)
{
    struct moved m;

    new_places();
    fill();
    run_sql("UPDATE fact SET sum = NULL; UPDATE approval SET sum = NULL");
    m = move_to(file, url);
    expect(m, OK, "");
    CHECK(m.did.damaged == 0);
    check_same(file, url);
}

/* --- the nodes, for somebody who is none ------------------------------------------------------ */

TEST(nodes_are_listed_for_somebody_who_is_none)
{
    struct fix        f;
    struct arena      a;
    struct store_row *rows = NULL;
    size_t            count = 0;
    struct str        why;

    new_places();
    arena_init(&a, 0);
    CHECK(store_nodes_of(str_c(file), &a, &rows, &count, &why) == ERR_UNSUPPORTED);
    CHECK(str_find(why, STR("is a file")) >= 0);
    CHECK(store_nodes_of(str_c(url), &a, &rows, &count, &why) == ERR_NOT_FOUND);
    fix_init(&f);
    REQUIRE(fix_open_node(&f, url, "http://a:1") == OK);
    CHECK(fix_append(&f, "ann", "t", 0, "one") == OK);
    REQUIRE(store_nodes_of(str_c(url), &a, &rows, &count, &why) == OK);
    REQUIRE(count == 1);
    CHECK_STR(rows[0].node, store_node(f.store).ptr);
    CHECK_STR(rows[0].url, "http://a:1");
    CHECK(rows[0].lease_ms > 0 && rows[0].held == 1 && rows[0].running == 0);
    CHECK(atoi(pg_run(url, "SELECT count(*) FROM parley_node")) == 1);
    fix_done(&f);
    CHECK(store_nodes_of(str_c(url), &a, &rows, &count, &why) == OK && count == 0);
    pg_run(url, "UPDATE parley_schema SET version = version + 1");
    CHECK(store_nodes_of(str_c(url), &a, &rows, &count, &why) == ERR_UNSUPPORTED);
    CHECK(str_find(why, STR("start a program of the version that made it")) >= 0);
    pg_run(url, "UPDATE parley_schema SET version = version - 2");
    CHECK(store_nodes_of(str_c(url), &a, &rows, &count, &why) == ERR_UNSUPPORTED);
    CHECK(str_find(why, STR("upgrades it when it starts")) >= 0);
    arena_done(&a);
}
