/* test_store.c -- what every store must do; a new store adds a line to `stores` (store_help.c)
 * and changes nothing else here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store_help.h"
#include "test.h"

static void reopen(struct fix *f)
{
    REQUIRE(store_close(f->store, 60000));
    f->store = NULL;
    REQUIRE(fix_open(f, store_url) == OK);
}

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

static void ap_request(struct ap *p, const char *id, const char *run)
{
    p->a.request_id = str_c(id);
    p->a.run = str_c(run);
}

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

/* --- lists ------------------------------------------------------------------------------ */

static void make_thread(struct fix *f, const char *owner, const char *name, const char *title,
                        const char *state, int64_t at)
{
    struct ap p;

    ap_init(&p, owner, name, 0, "x");
    p.fact.at_ms = at;
    p.a.title = str_c(title);
    p.a.state = str_c(state);
    CHECK(ap_run(f, &p) == OK);
}

STORE_TEST(threads_are_listed_newest_change_first)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };
    struct ap         p;

    make_thread(f, "ann", "a", "A", NULL, 100);
    make_thread(f, "ann", "b", "", "running", 200);
    make_thread(f, "bob", "c", "C", NULL, 300);
    CHECK_STR(fix_list(f, l, NULL), "b '' running;a 'A' idle;");

    ap_init(&p, "ann", "a", 1, "x"); /* STR_NONE: title and state stay */
    p.fact.at_ms = 400;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, l, NULL), "a 'A' idle;b '' running;");
    ap_init(&p, "ann", "b", 1, "x");
    p.fact.at_ms = 150; /* the clock went back; the thread does not */
    p.a.title = STR("B");
    p.a.state = STR("idle");
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, l, NULL), "a 'A' idle;b 'B' idle;");
    l.owner = STR("nobody");
    CHECK_STR(fix_list(f, l, NULL), "");
}

STORE_TEST(pages_lose_and_repeat_nothing_though_all_times_are_equal)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .limit = 3 };
    char              name[8];
    bool              seen[10] = { false };
    int               pages = 0, rows = 0;
    struct str        next = STR_NONE;

    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "t%d", i);
        make_thread(f, "ann", name, "", NULL, 500);
    }
    do {
        struct str text = fix_list(f, l, &next), row;
        while (str_split(&text, ';', &row)) {
            if (row.len < 2) continue;
            CHECK(!seen[row.ptr[1] - '0']);
            seen[row.ptr[1] - '0'] = true;
            rows++;
        }
        l.before = next;
        pages++;
        /* comes in front; later pages do not move */
        if (pages == 2) make_thread(f, "ann", "newer", "", NULL, 900);
    } while (next.ptr && pages < 20);
    CHECK(rows == 10);
    CHECK(pages == 4);
}

STORE_TEST(a_page_that_ends_exactly_at_the_end_has_no_next)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .limit = 2 };
    struct str        next = STR("?");

    make_thread(f, "ann", "a", "", NULL, 1);
    make_thread(f, "ann", "b", "", NULL, 2);
    CHECK_STR(fix_list(f, l, &next), "b '' idle;a '' idle;");
    CHECK(!next.ptr);
}

STORE_TEST(a_cursor_that_is_not_ours_is_refused)
{
    static const char *const bad[] = { "",    ".",   "1",     "1.",   ".1",
                                       "1.x", "x.1", "1.2.3", "-1.2", "99999999999999999999.1" };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STR(fix_list(f,
                           (struct store_list){ .kind = STORE_THREADS,
                                                .owner = STR("ann"),
                                                .before = str_c(bad[i]) },
                           NULL),
                  "syntax");
}

STORE_TEST(titles_are_searched_in_any_case_and_word_for_word)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };

    make_thread(f, "ann", "a", "Sunset over 100% of Mountains", NULL, 1);
    make_thread(f, "ann", "b", "Ärger mit ПОЕЗД", NULL, 2);
    make_thread(f, "ann", "c", "花子さんに50ドル", NULL, 3);
    make_thread(f, "bob", "d", "sunset", NULL, 4);
    l.search = STR("SUNSET");
    CHECK_STR(fix_list(f, l, NULL), "a 'Sunset over 100% of Mountains' idle;");
    l.search = STR("ärGER");
    CHECK_STR(fix_list(f, l, NULL), "b 'Ärger mit ПОЕЗД' idle;");
    l.search = STR("поезд");
    CHECK_STR(fix_list(f, l, NULL), "b 'Ärger mit ПОЕЗД' idle;");
    l.search = STR("50ドル");
    CHECK_STR(fix_list(f, l, NULL), "c '花子さんに50ドル' idle;");
    l.search = STR("0%");
    CHECK_STR(fix_list(f, l, NULL), "a 'Sunset over 100% of Mountains' idle;");
    l.search = STR("s_nset"); /* no pattern language */
    CHECK_STR(fix_list(f, l, NULL), "");
    l.search = STR("%");
    CHECK_STR(fix_list(f, l, NULL), "a 'Sunset over 100% of Mountains' idle;");
    l.search = STR("");
    l.limit = 1;
    CHECK_STR(fix_list(f, l, NULL), "c '花子さんに50ドル' idle;");
}

static void say(struct fix *f, const char *owner, const char *name, uint64_t expected,
                const char *kind, const char *body)
{
    struct ap p;

    ap_init(&p, owner, name, expected, body);
    p.fact.kind = str_c(kind);
    p.fact.at_ms = (int64_t)expected + 10;
    CHECK(ap_run(f, &p) == OK);
}

STORE_TEST(what_was_said_is_found_with_its_line_and_only_in_ones_own_conversations)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .said = true };

    make_thread(f, "ann", "a", "Trains", NULL, 1);
    say(f, "ann", "a", 1, "message", "{\"text\":\"When does the Night Train to Köln leave?\"}");
    say(f, "ann", "a", 2, "step",
        "{\"parts\":[{\"type\":\"reasoning\",\"text\":\"a secret thought\"},{\"type\":\"text\","
        "\"text\":\"The night train\\nleaves at "
        "ten.\"},{\"type\":\"call\",\"text\":\"{input}\"}]}");
    make_thread(f, "ann", "b", "Night shifts", NULL, 2);
    say(f, "ann", "b", 1, "finished", "{\"text\":\"night in a tool's result\"}");
    make_thread(f, "bob", "c", "Bob", NULL, 3);
    say(f, "bob", "c", 1, "message", "{\"text\":\"night\"}");
    l.search = STR("NIGHT TRAIN");
    CHECK_STR(fix_list(f, l, NULL), "a 'Trains' idle \"The night train leaves at ten.\";");
    l.search = STR("köln");
    CHECK_STR(fix_list(f, l, NULL),
              "a 'Trains' idle \"When does the Night Train to Köln leave?\";");
    l.search = STR("night");
    CHECK_STR(fix_list(f, l, NULL),
              "a 'Trains' idle \"The night train leaves at ten.\";b 'Night shifts' idle;");
    l.search = STR("secret");
    CHECK_STR(fix_list(f, l, NULL), "");
    l.search = STR("input");
    CHECK_STR(fix_list(f, l, NULL), "");
    CHECK(fix_edit(f, "ann", "a", NULL, true) == OK);
    l.search = STR("train");
    CHECK_STR(fix_list(f, l, NULL), "");
}

STORE_TEST(a_long_search_in_what_was_said_goes_on_page_by_page)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .said = true };
    struct str        next;
    char              body[700], words[600];

    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = 0;
    for (int t = 0; t < 3; t++) {
        char name[2] = { (char)('a' + t), 0 };
        make_thread(f, "ann", name, name, NULL, t + 1);
        for (int i = 0; i < 300; i++) { /* more than one turn looks at */
            snprintf(body, sizeof body, "{\"text\":\"%s %s %d\"}", i == 7 ? "needle" : "hay", words,
                     i);
            say(f, "ann", name, (uint64_t)i + 1, i % 2 ? "message" : "note", body);
        }
    }
    l.search = STR("needle");
    l.limit = 2;
    struct str first = fix_list(f, l, &next);
    CHECK(str_starts(first, STR("c 'c' idle \"needle www")));
    CHECK(str_find(first, STR("b 'b' idle")) > 0 && str_find(first, STR("a 'a'")) < 0);
    REQUIRE(next.ptr);
    l.before = next;
    first = fix_list(f, l, &next);
    CHECK(str_starts(first, STR("a 'a' idle \"needle")) && !next.ptr);
}

STORE_TEST(of_a_body_that_is_long_or_damaged_the_beginning_is_searched)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .said = true };
    struct buf        b;

    buf_init(&b, 0);
    buf_lit(&b, "{\"text\":\"a picture of a heron\",\"files\":\"");
    for (int i = 0; i < 100000; i++) buf_chr(&b, 'x');
    buf_lit(&b, "\"}");
    buf_chr(&b, 0);
    make_thread(f, "ann", "a", "A", NULL, 1);
    say(f, "ann", "a", 1, "message", buf_view(&b).ptr);
    make_thread(f, "ann", "b", "B", NULL, 2);
    say(f, "ann", "b", 1, "message", "{\"text\":\"half a her");
    l.search = STR("heron");
    CHECK_STR(fix_list(f, l, NULL), "a 'A' idle \"a picture of a heron\";");
    buf_done(&b);
}

static void ask_approval(struct fix *f, const char *owner, const char *thread, uint64_t expected,
                         struct store_approval ap)
{
    struct ap p;

    ap_init(&p, owner, thread, expected, "x");
    p.a.approvals = &ap;
    p.a.approval_count = 1;
    CHECK(ap_run(f, &p) == OK);
}

static struct store_approval approval(const char *id, const char *status, int64_t requested,
                                      int64_t expires)
{
    return (struct store_approval){ .id = str_c(id),
                                    .call = STR("k"),
                                    .tool = STR("pay"),
                                    .status = str_c(status),
                                    .body = STR("{}"),
                                    .requested_ms = requested,
                                    .expires_ms = expires };
}

STORE_TEST(approvals_are_listed_newest_first_and_filtered)
{
    struct store_list l = { .kind = STORE_APPROVALS, .owner = STR("ann") };
    struct str        next;

    ask_approval(f, "ann", "t", 0, approval("c1", "pending", 10, 0));
    ask_approval(f, "ann", "t", 1, approval("c2", "pending", 20, 90));
    ask_approval(f, "ann", "u", 0, approval("c3", "granted", 30, 80));
    ask_approval(f, "bob", "t", 0, approval("c1", "pending", 40, 70));
    CHECK_STR(fix_list(f, l, NULL), "ann/u/c3 k pay granted {} 30 80;ann/t/c2 k pay pending {} 20 "
                                    "90;ann/t/c1 k pay pending {} 10 0;");
    l.status = STR("pending");
    CHECK_STR(fix_list(f, l, NULL),
              "ann/t/c2 k pay pending {} 20 90;ann/t/c1 k pay pending {} 10 0;");
    l.thread = STR("u");
    CHECK_STR(fix_list(f, l, NULL), "");
    l.status = STR_NONE;
    CHECK_STR(fix_list(f, l, NULL), "ann/u/c3 k pay granted {} 30 80;");
    l.thread = STR_NONE;
    l.id = STR("c1");
    CHECK_STR(fix_list(f, l, NULL), "ann/t/c1 k pay pending {} 10 0;");
    l.owner = STR_NONE;
    CHECK_STR(fix_list(f, l, NULL), "denied");
    l.everybody = true;
    CHECK_STR(fix_list(f, l, NULL),
              "bob/t/c1 k pay pending {} 40 70;ann/t/c1 k pay pending {} 10 0;");
    l = (struct store_list){
        .kind = STORE_APPROVALS, .everybody = true, .status = STR("pending"), .limit = 2
    };
    CHECK_STR(fix_list(f, l, &next),
              "bob/t/c1 k pay pending {} 40 70;ann/t/c2 k pay pending {} 20 90;");
    l.before = next;
    CHECK_STR(fix_list(f, l, &next), "ann/t/c1 k pay pending {} 10 0;");
    CHECK(!next.ptr);
}

STORE_TEST(an_approval_given_again_replaces_the_row)
{
    ask_approval(f, "ann", "t", 0, approval("c1", "pending", 10, 50));
    ask_approval(f, "ann", "t", 1, approval("c1", "denied", 10, 50));
    CHECK_STR(
        fix_list(f, (struct store_list){ .kind = STORE_APPROVALS, .owner = STR("ann") }, NULL),
        "ann/t/c1 k pay denied {} 10 50;");
}

STORE_TEST(what_is_due_is_pending_has_an_end_and_comes_soonest_first)
{
    struct store_list due = { .kind = STORE_DUE, .due_ms = 100 }, next = { .kind = STORE_NEXT_DUE };

    CHECK_STR(fix_list(f, next, NULL), "");
    ask_approval(f, "ann", "t", 0, approval("never", "pending", 1, 0));
    CHECK_STR(fix_list(f, next, NULL), "");
    ask_approval(f, "ann", "t", 1, approval("late", "pending", 2, 101));
    ask_approval(f, "ann", "t", 2, approval("now", "pending", 3, 100));
    ask_approval(f, "bob", "t", 0, approval("over", "pending", 4, 40));
    ask_approval(f, "bob", "t", 1, approval("answered", "granted", 5, 30));
    CHECK_STR(fix_list(f, due, NULL),
              "bob/t/over k pay pending {} 4 40;ann/t/now k pay pending {} 3 100;");
    CHECK_STR(fix_list(f, next, NULL), "bob/t/over k pay pending {} 4 40;");
    due.limit = 1;
    CHECK_STR(fix_list(f, due, NULL), "bob/t/over k pay pending {} 4 40;");
}

STORE_TEST(a_call_offered_to_a_browser_is_due_too)
{
    ask_approval(f, "ann", "t", 0, approval("asked", "pending", 1, 90));
    ask_approval(f, "ann", "t", 1, approval("tab", "offered", 2, 60));
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_NEXT_DUE }, NULL),
              "ann/t/tab k pay offered {} 2 60;");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_DUE, .due_ms = 100 }, NULL),
              "ann/t/tab k pay offered {} 2 60;ann/t/asked k pay pending {} 1 90;");
}

STORE_TEST(a_call_of_unknown_outcome_is_due_when_its_check_is)
{
    ask_approval(f, "ann", "t", 0, approval("lost", "unknown", 1, 70));
    ask_approval(f, "ann", "t", 1, approval("nobody", "unknown", 2, 0));
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_NEXT_DUE }, NULL),
              "ann/t/lost k pay unknown {} 1 70;");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_DUE, .due_ms = 100 }, NULL),
              "ann/t/lost k pay unknown {} 1 70;");
}

STORE_TEST(what_a_program_had_done_is_listed_apart_from_conversations)
{
    struct store_list mine = { .kind = STORE_THREADS, .owner = STR("ann"), .limit = 10 };
    struct store_list calls = {
        .kind = STORE_THREADS, .owner = STR("ann"), .source = STR("mcp"), .limit = 10
    };
    struct ap p;

    CHECK(fix_append(f, "ann", "t", 0, "{}") == OK);
    ap_init(&p, "ann", "c", 0, "{}");
    p.a.title = STR("a call");
    p.a.origin = (struct store_origin){ STR("mcp"), STR("someone 2026-11-17") };
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, mine, NULL), "t '' idle;");
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
    mine.everybody = calls.everybody = true;
    CHECK_STR(fix_list(f, mine, NULL), "t '' idle;");
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
    mine.search = calls.search = STR("a call");
    CHECK_STR(fix_list(f, mine, NULL), "");
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
    mine.everybody = calls.everybody = false;
    CHECK_STR(fix_list(f, mine, NULL), "");
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
    reopen(f);
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
}

STORE_TEST(unfinished_logs_of_everybody_are_found_without_reading_logs)
{
    struct ap p;

    make_thread(f, "ann", "a", "", "running", 1);
    make_thread(f, "ann", "b", "", "idle", 1);
    make_thread(f, "bob", "c", "", "waiting", 1);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL),
              store_shared(f->store) ? "" : "ann/a running;"); /* ours already */
    CHECK(fix_release_all(f) == OK);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL), "ann/a running;");
    ap_init(&p, "ann", "a", 1, "x");
    p.a.state = STR("idle");
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_release_all(f) == OK);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL), "");
}

STORE_TEST(tool_counters_add_up)
{
    struct store_tool_count n[2] = { { STR("search"), 2, 0 }, { STR("pay"), 1, 1 } };
    struct ap               p;

    for (uint64_t i = 0; i < 3; i++) {
        ap_init(&p, "ann", "t", i, "x");
        p.a.tools = n;
        p.a.tool_count = 2;
        CHECK(ap_run(f, &p) == OK);
    }
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_TOOLS }, NULL), "pay 3 3;search 6 0;");
}

/* --- edits ----------------------------------------------------------------------------- */

STORE_TEST(a_title_can_be_changed_without_a_fact)
{
    make_thread(f, "ann", "t", "old", NULL, 1);
    CHECK(fix_edit(f, "ann", "t", "new", false) == OK);
    CHECK(fix_edit(f, "bob", "t", "new", false) == ERR_NOT_FOUND);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "t 'new' idle;");
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note x;");
}

STORE_TEST(a_title_in_the_place_of_another_does_not_take_a_third_ones)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };

    make_thread(f, "ann", "t", "old", NULL, 1);
    CHECK(fix_retitle(f, "ann", "t", "new", "other") == ERR_CONFLICT);
    CHECK_STR(fix_list(f, l, NULL), "t 'old' idle;");
    CHECK(fix_retitle(f, "ann", "t", "new", "old") == OK);
    CHECK_STR(fix_list(f, l, NULL), "t 'new' idle;");
    CHECK(fix_retitle(f, "bob", "t", "new", "old") == ERR_NOT_FOUND);
}

STORE_TEST(a_removed_log_is_gone_with_all_its_rows)
{
    struct ap p;

    ask_approval(f, "ann", "t", 0, approval("c1", "pending", 10, 50));
    ap_init(&p, "ann", "t", 1, "x");
    ap_request(&p, "req", "run");
    p.a.state = STR("running");
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_append(f, "ann", "u", 0, "stays") == OK);
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    CHECK(fix_edit(f, "ann", "t", NULL, true) == ERR_NOT_FOUND);
    CHECK_STR(fix_read(f, "ann", "t", 0), "not_found");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "u '' idle;");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_APPROVALS, .everybody = true }, NULL),
              "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_NEXT_DUE }, NULL), "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL), "");
    CHECK(fix_append(f, "ann", "t", 2, "too late") == ERR_CONFLICT);
    ap_init(&p, "ann", "t", 0, "a new life");
    ap_request(&p, "req", "run");
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note a new life;");
    CHECK_STR(fix_read(f, "ann", "u", 0), "1 note stays;");
}

/* --- claims ---------------------------------------------------------------------------------- */

STORE_TEST(a_claim_of_a_free_log_is_ours_and_appends_rest_on_it)
{
    struct cl c = cl_run(f, "ann", "t"); /* nobody made it yet */
    struct ap p;

    CHECK(c.e == OK);
    ap_init(&p, "ann", "t", 0, "x");
    p.a.hold = c.c.hold;
    CHECK(ap_run(f, &p) == OK);
    CHECK(p.a.hold.epoch > 0);
    CHECK(store_lease_ok(f->store, p.a.hold));
    CHECK(!store_lease_ok(f->store, (struct store_hold){ 0 }));
    c = cl_run(f, "ann", "t"); /* again, by the same node */
    CHECK(c.e == OK);
    CHECK(c.c.hold.epoch > p.a.hold.epoch);
    ap_init(&p, "ann", "t", 1, "y");
    p.a.hold = c.c.hold;
    CHECK(ap_run(f, &p) == OK);
    CHECK(p.a.hold.epoch == c.c.hold.epoch);
    ap_init(&p, "ann", "t", 2, "z"); /* without naming it */
    CHECK(ap_run(f, &p) == OK);
    CHECK(p.a.hold.epoch == c.c.hold.epoch || !store_shared(f->store));
}

STORE_TEST(what_was_given_back_can_be_claimed_again)
{
    struct ap p;
    struct cl c;

    ap_init(&p, "ann", "t", 0, "x");
    CHECK(ap_run(f, &p) == OK);
    store_release(f->store, (struct log_name){ STR("ann"), STR("t") }, p.a.hold);
    c = cl_run(f, "ann", "t");
    CHECK(c.e == OK);
    CHECK(c.c.hold.epoch > p.a.hold.epoch);
    CHECK(fix_release_all(f) == OK);
    CHECK(fix_append(f, "ann", "t", 1, "y") == OK);
}

STORE_TEST(a_node_lists_itself_alive)
{
    struct str text = fix_list(f, (struct store_list){ .kind = STORE_NODES }, NULL);

    CHECK(str_starts(text, store_node(f->store)));
    CHECK(str_find(text, STR(PARLEY_VERSION " alive")) > 0);
}

/* --- sessions and what was used ---------------------------------------------------------------- */

STORE_TEST(a_session_is_there_until_it_is_ended_also_after_a_restart)
{
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "not_found");
    CHECK_STR(fix_session(f, SESSION_PUT, "key", "{\"sub\":\"ann\"}", INT64_MAX - 1), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "other", "x", INT64_MAX), "ok");
    reopen(f);
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "{\"sub\":\"ann\"} 9223372036854775806");
    CHECK_STR(fix_session(f, SESSION_PUT, "key", "later", INT64_MAX), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "later 9223372036854775807");
    CHECK_STR(fix_session(f, SESSION_END, "key", NULL, 0), "ok");
    CHECK_STR(fix_session(f, SESSION_END, "key", NULL, 0), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "not_found");
    CHECK_STR(fix_session(f, SESSION_GET, "other", NULL, 0), "x 9223372036854775807");
}

STORE_TEST(a_session_that_was_ended_is_not_brought_back_by_who_keeps_it)
{
    CHECK_STR(fix_session(f, SESSION_KEEP, "key", "x", INT64_MAX), "not_found");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "not_found");
    CHECK_STR(fix_session(f, SESSION_PUT, "key", "x", INT64_MAX - 1), "ok");
    CHECK_STR(fix_session(f, SESSION_KEEP, "key", "later", INT64_MAX), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "later 9223372036854775807");
    CHECK_STR(fix_session(f, SESSION_END, "key", NULL, 0), "ok");
    CHECK_STR(fix_session(f, SESSION_KEEP, "key", "x", INT64_MAX), "not_found");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "not_found");
}

STORE_TEST(of_a_family_of_sessions_the_ones_that_end_last_stay)
{
    static const char *const KEYS[] = { "of/ann/1", "of/ann/2", "of/ann/3", "of/ann/4" };
    int64_t                  far = INT64_MAX - 10;

    CHECK_STR(fix_session(f, SESSION_PUT, "of/anna/1", "x", far), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "of/ann", "x", far), "ok");
    for (int i = 0; i < 3; i++)
        CHECK_STR(fix_session_each(f, KEYS[i], far + (i == 0 ? 3 : i), 3), "ok");
    CHECK_STR(fix_session_each(f, KEYS[3], far, 3), "ok"); /* the new one, however soon it ends */
    CHECK_STR(fix_session(f, SESSION_GET, KEYS[1], NULL, 0), "not_found");
    for (int i = 0; i < 4; i++)
        if (i != 1) CHECK(str_starts(fix_session(f, SESSION_GET, KEYS[i], NULL, 0), STR("x ")));
    CHECK_STR(fix_session_each(f, KEYS[3], far, 3), "ok"); /* again: it is one of the three */
    CHECK(str_starts(fix_session(f, SESSION_GET, KEYS[2], NULL, 0), STR("x ")));
    CHECK(str_starts(fix_session(f, SESSION_GET, "of/anna/1", NULL, 0), STR("x ")));
    CHECK(str_starts(fix_session(f, SESSION_GET, "of/ann", NULL, 0), STR("x ")));
}

STORE_TEST(a_session_that_is_over_is_forgotten_when_another_begins)
{
    CHECK_STR(fix_session(f, SESSION_PUT, "over", "x", 1000), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "over", NULL, 0), "x 1000");
    CHECK_STR(fix_session(f, SESSION_PUT, "new", "y", INT64_MAX), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "over", NULL, 0), "not_found");
}

STORE_TEST(how_many_wait_for_a_person_and_since_when)
{
    struct store_list     l = { .kind = STORE_WAITING, .everybody = true };
    struct store_approval rows[] = {
        { STR("a"), STR("c1"), STR("pay"), STR("pending"), STR("{}"), 500, 0 },
        { STR("b"), STR("c2"), STR("pay"), STR("pending"), STR("{}"), 300, 0 },
        { STR("c"), STR("c3"), STR("pay"), STR("approved"), STR("{}"), 100, 0 },
    };
    struct ap p;

    CHECK_STR(fix_list(f, l, NULL), "0 since 0;");
    ap_init(&p, "ann", "t", 0, "x");
    p.a.approvals = rows;
    p.a.approval_count = 3;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, l, NULL), "2 since 300;");
}

STORE_TEST(what_everybody_used_is_told_by_day_and_person_newest_first)
{
    static const struct {
        const char *who;
        int64_t     day, amount;
    } used[] = {
        { "bob", 20000, 5 }, { "ann", 20000, 7 }, { "ann", 20001, 1 }, { "ann", 19990, 9 }
    };
    struct store_list l = { .kind = STORE_USED, .everybody = true, .day = 19991 };
    struct ap         p;

    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        char name[2] = { (char)('a' + i), 0 };
        ap_init(&p, used[i].who, name, 0, "x");
        struct store_spent spent = { str_c(used[i].who), used[i].day, used[i].amount };
        p.a.spent = &spent;
        p.a.spent_count = 1;
        CHECK(ap_run(f, &p) == OK);
    }
    CHECK_STR(fix_list(f, l, NULL), "1;7;5;");
}

STORE_TEST(what_an_append_spent_is_added_to_each_sum_or_to_none)
{
    struct store_list  l = { .kind = STORE_USED, .owner = STR("tokens/role/support"), .day = 3 };
    struct store_spent spent[] = { { STR("tokens/role/support"), 3, 10 },
                                   { STR("cost/principal/ann"), 3, 7 },
                                   { STR("tokens/role/support"), 4, 1 } };
    struct ap          p;

    for (uint64_t i = 0; i < 3; i++) {
        ap_init(&p, "ann", "t", i, "x");
        p.a.spent = spent;
        p.a.spent_count = 3;
        CHECK(ap_run(f, &p) == OK);
    }
    ap_init(&p, "ann", "t", 1, "conflicts");
    p.a.spent = spent;
    p.a.spent_count = 3;
    CHECK(ap_run(f, &p) == ERR_CONFLICT);
    CHECK_STR(fix_list(f, l, NULL), "30;");
    l.day = 4;
    CHECK_STR(fix_list(f, l, NULL), "3;");
    l.owner = STR("cost/principal/ann");
    CHECK_STR(fix_list(f, l, NULL), "");
    l.day = 3;
    reopen(f);
    CHECK_STR(fix_list(f, l, NULL), "21;");
}

/* --- life --------------------------------------------------------------------------------------- */

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
    make_thread(f, "ann", "t", "Title", "waiting", 1);
    CHECK(fix_append(f, "ann", "t", 1, "y") == OK);
    reopen(f);
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

    make_thread(f, "ann", "t", "Title", NULL, 1);
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
