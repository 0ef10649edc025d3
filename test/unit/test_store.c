/* test_store.c -- what every store must do with logs; a new store adds a line to `stores`
 * (store_help.c) and changes nothing else here. Lists are in test_store_lists.c, claims and
 * sessions in test_store_sessions.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store_suite.h"
#include "test.h"

/* --- append and read ------------------------------------------------------------ */

STORE_TEST(a_new_log_is_made_by_its_first_append)
{
    CHECK(fix_append(f, "ann", "t", 0, "{}") == OK);
    CHECK(fix_append(f, "ann", "t", 1, "{\"a\":1}") == OK);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note {};2 note {\"a\":1};");
}

STORE_TEST(several_facts_in_one_append_are_numbered_without_holes)
{
    struct store_fact facts[3] = { { .at_ms = 10, .kind = STR("a"), .body = STR("1") },
                                   { .at_ms = 20, .kind = STR("b"), .body = STR("2") },
                                   { .at_ms = 30, .kind = STR("c"), .body = STR("3") } };
    struct ap         p;
    struct rd         d = { 0 };

    ap_init(&p, "ann", "t", 0, "");
    p.a.facts = facts;
    p.a.fact_count = 3;
    p.a.title = STR("Three");
    CHECK(ap_run(f, &p) == OK);
    CHECK(p.a.new_seq == 3);
    rd_send(f, &d, "ann", "t", 1);
    fix_wait(f);
    CHECK_STR(buf_view(&d.text), "2 b 2;3 c 3;");
    CHECK(d.r.seq == 3);
    CHECK(d.r.created_ms == 10);
    CHECK(d.r.updated_ms == 30);
    buf_done(&d.text);
}

STORE_TEST(reading_past_the_end_gives_nothing_and_no_error)
{
    struct rd d = { 0 };

    CHECK(fix_append(f, "ann", "t", 0, "{}") == OK);
    CHECK_STR(fix_read(f, "ann", "t", 1), "");
    CHECK_STR(fix_read(f, "ann", "t", UINT64_MAX), "");
    rd_send(f, &d, "ann", "t", 7);
    fix_wait(f);
    CHECK(d.e == OK);
    CHECK(d.r.seq == 1);
    buf_done(&d.text);
}

STORE_TEST(a_log_nobody_made_is_not_found)
{
    CHECK_STR(fix_read(f, "ann", "t", 0), "not_found");
    CHECK_STR(fix_read(f, "", "", 0), "not_found");
}

STORE_TEST(an_append_that_expects_another_end_conflicts_and_leaves_nothing)
{
    CHECK(fix_append(f, "ann", "t", 1, "{}") == ERR_CONFLICT);
    CHECK_STR(fix_read(f, "ann", "t", 0), "not_found");
    CHECK(fix_append(f, "ann", "t", 0, "one") == OK);
    CHECK(fix_append(f, "ann", "t", 0, "again") == ERR_CONFLICT);
    CHECK(fix_append(f, "ann", "t", 2, "ahead") == ERR_CONFLICT);
    CHECK(fix_append(f, "ann", "t", UINT64_MAX, "far") == ERR_CONFLICT);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note one;");
}

STORE_TEST(the_same_name_under_another_owner_is_another_log)
{
    CHECK(fix_append(f, "ann", "t", 0, "hers") == OK);
    CHECK(fix_append(f, "bob", "t", 0, "his") == OK);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note hers;");
    CHECK_STR(fix_read(f, "bob", "t", 0), "1 note his;");
    CHECK_STR(fix_read(f, "an", "nt", 0), "not_found");
}

static struct str big_seen;
static void       keep_big(struct rd *d)
{
    big_seen = arena_dup(&d->f->arena, buf_view(&d->text));
}

STORE_TEST(a_fact_keeps_every_byte)
{
    static const char odd[] = "\"\\ \0 '; DROP TABLE fact; -- \xe8\x8a\xb1\xed\xa0\x80";
    size_t            len = 3 << 20;
    char             *big = malloc(len);
    struct ap         p;
    struct rd         d = { .on_done = keep_big };

    REQUIRE(big);
    for (size_t i = 0; i < len; i++) big[i] = (char)(' ' + i % 90);
    ap_init(&p, "ann", "t", 0, "");
    p.fact.body = str_n(odd, sizeof odd - 1);
    CHECK(ap_run(f, &p) == OK);
    ap_init(&p, "ann", "t", 1, "");
    p.fact.body = str_n(big, len);
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_append(f, "ann", "t", 2, "") == OK);

    rd_send(f, &d, "ann", "t", 0);
    fix_wait(f);
    REQUIRE(d.text.len == 7 + sizeof odd - 1 + 1 + 7 + len + 1 + 8);
    CHECK(memcmp(big_seen.ptr + 7, odd, sizeof odd - 1) == 0);
    CHECK(memcmp(big_seen.ptr + 7 + sizeof odd - 1 + 1 + 7, big, len) == 0);
    buf_done(&d.text);
    free(big);
}

static void keep_and_free(struct rd *d)
{
    keep_big(d);
    buf_done(&d->text);
}

static void append_then_read(struct store_append *a, enum err e)
{
    static struct rd d;
    struct ap       *p = LIST_ITEM(a, struct ap, a);

    p->e = e;
    p->f->pending--;
    d.on_done = keep_and_free;
    rd_send(p->f, &d, "ann", "t", 0);
}

STORE_TEST(a_read_asked_for_when_an_append_is_answered_sees_it)
{
    struct ap p;
    char      body[16], want[32];

    for (int i = 0; i < 200; i++) {
        snprintf(body, sizeof body, "n%d", i);
        snprintf(want, sizeof want, "%d note n%d;", i + 1, i);
        ap_init(&p, "ann", "t", (uint64_t)i, body);
        p.a.done = append_then_read;
        ap_send(f, &p);
        fix_wait(f);
        CHECK(p.e == OK);
        CHECK(str_ends(big_seen, str_c(want)));
    }
}

/* --- order ------------------------------------------------------------------------ */

STORE_TEST(appends_of_one_log_are_committed_in_the_order_of_the_calls)
{
    static struct ap p[300];

    for (int i = 0; i < 300; i++) {
        ap_init(&p[i], "ann", "t", (uint64_t)i, "x");
        ap_send(f, &p[i]);
    }
    fix_wait(f);
    for (int i = 0; i < 300; i++) {
        CHECK(p[i].e == OK);
        CHECK(p[i].a.new_seq == (uint64_t)i + 1);
    }
}

STORE_TEST(a_thousand_appends_at_once_to_a_hundred_logs_keep_each_log_s_order)
{
    static struct ap p[1000];
    static char      name[100][8], body[1000][8];
    char             want[256];

    for (int i = 0; i < 100; i++) snprintf(name[i], sizeof name[i], "t%d", i);
    for (int i = 0; i < 1000; i++) {
        snprintf(body[i], sizeof body[0], "%d", i);
        ap_init(&p[i], "ann", name[i % 100], (uint64_t)i / 100, body[i]);
        ap_send(f, &p[i]);
    }
    fix_wait(f);
    for (int i = 0; i < 1000; i++) CHECK(p[i].e == OK);
    for (int t = 0; t < 100; t++) {
        size_t n = 0;
        for (int k = 0; k < 10; k++)
            n += (size_t)snprintf(want + n, sizeof want - n, "%d note %d;", k + 1, k * 100 + t);
        CHECK_STR(fix_read(f, "ann", name[t], 0), want);
    }
}

STORE_TEST(one_conflict_does_not_hurt_the_appends_around_it)
{
    struct ap p[3];

    ap_init(&p[0], "ann", "a", 0, "x");
    ap_init(&p[1], "ann", "b", 5, "x");
    ap_init(&p[2], "ann", "c", 0, "x");
    for (int i = 0; i < 3; i++) ap_send(f, &p[i]);
    fix_wait(f);
    CHECK(p[0].e == OK);
    CHECK(p[1].e == ERR_CONFLICT);
    CHECK(p[2].e == OK);
}

/* --- request ids -------------------------------------------------------------------- */

STORE_TEST(a_request_id_is_claimed_once_and_later_comers_hear_by_whom)
{
    struct ap p;

    ap_init(&p, "ann", "t", 0, "x");
    ap_request(&p, "req", "run-1");
    CHECK(ap_run(f, &p) == OK);
    ap_init(&p, "ann", "u", 0, "y");
    ap_request(&p, "req", "run-2");
    CHECK(ap_run(f, &p) == ERR_EXISTS);
    CHECK_STR(p.a.found_thread, "t");
    CHECK_STR(p.a.found_run, "run-1");
    CHECK_STR(fix_read(f, "ann", "u", 0), "not_found");

    ap_init(&p, "bob", "t", 0, "z"); /* another owner's ids are another space */
    ap_request(&p, "req", "run-3");
    CHECK(ap_run(f, &p) == OK);
}

STORE_TEST(a_taken_request_id_is_told_rather_than_the_conflict_it_comes_with)
{
    struct ap p;

    ap_init(&p, "ann", "t", 0, "x");
    ap_request(&p, "req", "run-1");
    CHECK(ap_run(f, &p) == OK);
    ap_init(&p, "ann", "t", 0, "x");
    ap_request(&p, "req", "run-2");
    CHECK(ap_run(f, &p) == ERR_EXISTS);
}

static struct str keyed(struct fix *f, const char *owner, const char *key)
{
    return fix_list(f,
                    (struct store_list){
                        .kind = STORE_KEYS, .owner = str_c(owner), .id = str_c(key), .limit = 8 },
                    NULL);
}

static enum err append_keyed(struct fix *f, const char *thread, uint64_t expected, int64_t at_ms,
                             const char *key, const char *value)
{
    struct store_key k = { str_c(key), str_c(value) };
    struct ap        p;

    ap_init(&p, "ann", thread, expected, "x");
    p.fact.at_ms = at_ms;
    p.a.keys = &k;
    p.a.key_count = 1;
    return ap_run(f, &p);
}

STORE_TEST(logs_are_found_by_a_key_newest_first_and_lose_it_when_they_go)
{
    CHECK(append_keyed(f, "t", 0, 100, "hello", "one") == OK);
    CHECK(append_keyed(f, "u", 0, 200, "hello", "two") == OK);
    CHECK_STR(keyed(f, "ann", "hello"), "ann/u two;ann/t one;");
    CHECK(append_keyed(f, "t", 1, 300, "hello", "three") == OK);
    CHECK_STR(keyed(f, "ann", "hello"), "ann/t three;ann/u two;");
    CHECK_STR(keyed(f, "bob", "hello"), "");
    CHECK_STR(keyed(f, "ann", "hell"), "");
    CHECK(append_keyed(f, "t", 9, 400, "other", "x") == ERR_CONFLICT);
    CHECK_STR(keyed(f, "ann", "other"), "");
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    CHECK_STR(keyed(f, "ann", "hello"), "ann/u two;");
}

STORE_TEST(a_key_given_twice_in_one_append_is_what_was_given_last)
{
    struct store_key k[] = { { STR("a"), STR("1") },
                             { STR("b"), STR("2") },
                             { STR("a"), STR("3") } };
    struct ap        p;

    ap_init(&p, "ann", "t", 0, "x");
    p.a.keys = k;
    p.a.key_count = 3;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(keyed(f, "ann", "a"), "ann/t 3;");
    CHECK_STR(keyed(f, "ann", "b"), "ann/t 2;");
}

static enum err append_alone(struct fix *f, const char *owner, const char *thread,
                             uint64_t expected, const char *request, struct ap *p)
{
    struct store_key k = { STR("call"), STR(""), .alone = true };

    ap_init(p, owner, thread, expected, "x");
    if (request) ap_request(p, request, "run-1");
    p->a.keys = &k;
    p->a.key_count = 1;
    return ap_run(f, p);
}

STORE_TEST(an_append_that_wants_its_key_alone_is_refused_while_another_log_has_it)
{
    struct store_key gone = { STR("call"), STR_NONE };
    struct ap        p;

    CHECK(append_alone(f, "ann", "t", 0, NULL, &p) == OK);
    CHECK(append_alone(f, "ann", "t", 1, NULL, &p) == OK); /* its own is no other's */
    CHECK(append_alone(f, "bob", "t", 0, NULL, &p) == OK); /* nor is somebody else's */
    CHECK(append_alone(f, "ann", "u", 0, NULL, &p) == ERR_EXISTS);
    CHECK_STR(p.a.found_thread, "t");
    CHECK(!p.a.found_run.ptr && str_is(fix_read(f, "ann", "u", 0), "not_found"));
    /* of two that have it the newer is told; a request id that is taken is told rather */
    CHECK(append_keyed(f, "v", 0, 1LL << 50, "call", "") == OK);
    CHECK(append_alone(f, "ann", "u", 0, "req", &p) == ERR_EXISTS);
    CHECK_STR(p.a.found_thread, "v");
    ap_init(&p, "ann", "w", 0, "x");
    ap_request(&p, "req", "run-1");
    CHECK(ap_run(f, &p) == OK);
    CHECK(append_alone(f, "ann", "u", 0, "req", &p) == ERR_EXISTS);
    CHECK_STR(p.a.found_thread, "w");
    CHECK_STR(p.a.found_run, "run-1");
    /* who loses it makes room */
    for (int i = 0; i < 2; i++) {
        ap_init(&p, "ann", i ? "v" : "t", i ? 1 : 2, "x");
        p.a.keys = &gone;
        p.a.key_count = 1;
        CHECK(ap_run(f, &p) == OK);
    }
    CHECK_STR(keyed(f, "ann", "call"), "");
    CHECK_STR(keyed(f, "bob", "call"), "bob/t ;");
    CHECK(append_alone(f, "ann", "u", 0, NULL, &p) == OK);
    CHECK_STR(keyed(f, "ann", "call"), "ann/u ;");
}

static struct str listed(struct fix *f, const char *search)
{
    return fix_list(f,
                    (struct store_list){ .kind = STORE_THREADS,
                                         .owner = STR("ann"),
                                         .search = search ? str_c(search) : STR_NONE },
                    NULL);
}

STORE_TEST(a_log_that_is_not_listed_is_not_found_by_its_title_until_it_is)
{
    struct ap p;

    ap_init(&p, "ann", "t", 0, "x");
    p.a.title = STR("a quiet one");
    p.a.listed = LISTED_NOT;
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_append(f, "ann", "t", 1, "y") == OK);
    CHECK_STR(listed(f, NULL), "");
    CHECK_STR(listed(f, "quiet"), "");
    ap_init(&p, "ann", "t", 2, "z");
    p.a.listed = LISTED_YES;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(listed(f, NULL), "t 'a quiet one' idle;");
    CHECK_STR(listed(f, "quiet"), "t 'a quiet one' idle;");
}

STORE_TEST(an_append_that_conflicts_claims_nothing_and_counts_nothing)
{
    struct store_tool_count n = { STR("pay"), 1, 0 };
    struct store_approval   ap = { .id = STR("c"), .status = STR("pending") };
    struct ap               p;

    ap_init(&p, "ann", "t", 9, "x");
    ap_request(&p, "req", "run-1");
    p.a.tools = &n;
    p.a.tool_count = 1;
    p.a.approvals = &ap;
    p.a.approval_count = 1;
    CHECK(ap_run(f, &p) == ERR_CONFLICT);
    CHECK_STR(
        fix_list(
            f, (struct store_list){ .kind = STORE_REQUEST, .owner = STR("ann"), .id = STR("req") },
            NULL),
        "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_TOOLS }, NULL), "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_APPROVALS, .everybody = true }, NULL),
              "");
    p.done = false;
    p.a.expected = 0;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(
        fix_list(
            f, (struct store_list){ .kind = STORE_REQUEST, .owner = STR("ann"), .id = STR("req") },
            NULL),
        "ann/t run-1;");
    CHECK_STR(
        fix_list(
            f, (struct store_list){ .kind = STORE_REQUEST, .owner = STR("bob"), .id = STR("req") },
            NULL),
        "");
}

STORE_TEST(the_same_request_id_twenty_times_at_once_wins_once)
{
    static struct ap p[20];
    static char      name[20][8];
    int              won = 0, told = 0;
    const char      *winner = "";

    for (int i = 0; i < 20; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        ap_init(&p[i], "ann", name[i], 0, "x");
        ap_request(&p[i], "req", "run");
        ap_send(f, &p[i]);
    }
    fix_wait(f);
    for (int i = 0; i < 20; i++) {
        won += p[i].e == OK;
        if (p[i].e == OK) winner = name[i];
    }
    for (int i = 0; i < 20; i++)
        told += p[i].e == ERR_EXISTS && str_is(p[i].a.found_thread, winner);
    CHECK(won == 1);
    CHECK(told == 19);
}

/* --- life ------------------------------------------------------------------------------------- */

static void count_commit(void *ctx, uint64_t ns)
{
    ++*(int *)ctx;
}

STORE_TEST(each_commit_is_told_once)
{
    int commits = 0;

    store_on_commit(f->store, count_commit, &commits);
    CHECK(fix_append(f, "ann", "t", 0, "x") == OK);
    CHECK(fix_append(f, "ann", "t", 0, "x") == ERR_CONFLICT);
    CHECK(commits == 1);
}

STORE_TEST(what_was_answered_is_there_after_reopening)
{
    suite_thread(f, "ann", "t", "Title", "waiting", 1);
    CHECK(fix_append(f, "ann", "t", 1, "y") == OK);
    suite_reopen(f);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note x;2 note y;");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "t 'Title' waiting;");
    CHECK(fix_append(f, "ann", "t", 2, "z") == OK);
}

STORE_TEST(closing_answers_all_that_was_queued)
{
    static struct ap p[100];
    struct rd        d = { 0 };
    char             want[16];

    for (int i = 0; i < 100; i++) {
        ap_init(&p[i], "ann", "t", (uint64_t)i, "x");
        ap_send(f, &p[i]);
    }
    rd_send(f, &d, "ann", "u", 0);
    REQUIRE(store_close(f->store, 60000));
    f->store = NULL;
    CHECK(f->pending == 0);
    CHECK(d.done);
    buf_done(&d.text);
    for (int i = 0; i < 100; i++) CHECK(p[i].done && p[i].e == OK);
    REQUIRE(fix_open(f, store_url) == OK);
    snprintf(want, sizeof want, "100 note x;");
    CHECK_STR(fix_read(f, "ann", "t", 99), want);
}

static void ask_for_more(struct store_append *a, enum err e)
{
    static struct ap second;
    struct ap       *p = LIST_ITEM(a, struct ap, a);

    p->f->pending--;
    p->e = e;
    ap_init(&second, "ann", "t", 1, "y");
    ap_send(p->f, &second);
    p->f = (void *)&second;
}

STORE_TEST(a_request_made_while_closing_is_told_so)
{
    struct ap p, *second;

    ap_init(&p, "ann", "t", 0, "x");
    p.a.done = ask_for_more;
    ap_send(f, &p);
    REQUIRE(store_close(f->store, 60000));
    f->store = NULL;
    second = (struct ap *)(void *)p.f;
    CHECK(p.e == OK);
    CHECK(f->pending == 0);
    CHECK(second->done);
    CHECK(second->e == ERR_CLOSED);
}

STORE_TEST(a_read_or_list_without_memory_says_so_and_the_next_one_works)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };
    int               failed = 0, worked = 0;

    suite_thread(f, "ann", "t", "Title", NULL, 1);
    for (long n = 0; n < 8; n++) {
        struct rd d = { 0 };
        rd_send(f, &d, "ann", "nobody", 0); /* the worker sleeps when memory is taken away */
        fix_wait(f);
        buf_done(&d.text);
        mem_fail_at(n);
        d = (struct rd){ 0 };
        rd_send(f, &d, "ann", "t", 0);
        fix_wait(f);
        mem_fail_at(-1);
        CHECK(d.e == OK || d.e == ERR_NOMEM);
        if (d.e) failed++;
        else worked++;
        buf_done(&d.text);
    }
    CHECK(failed > 0);
    CHECK(worked > 0);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note x;");
    CHECK_STR(fix_list(f, l, NULL), "t 'Title' idle;");
}

STORE_TEST(a_store_says_what_it_promises_and_that_it_is_well)
{
    CHECK(store_promise(f->store).len > 0);
    CHECK(store_health(f->store) == OK);
}
