/* test_store_lists.c -- what every store lists: conversations, what was said in them, approvals,
 * what is due, counters; and what an edit or a removal does to these rows. */
#include <stdio.h>
#include <stdlib.h>

#include "store_suite.h"
#include "test.h"

/* --- lists ------------------------------------------------------------------------------ */

STORE_TEST(threads_are_listed_newest_change_first)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };
    struct ap         p;

    suite_thread(f, "ann", "a", "A", NULL, 100);
    suite_thread(f, "ann", "b", "", "running", 200);
    suite_thread(f, "bob", "c", "C", NULL, 300);
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
        suite_thread(f, "ann", name, "", NULL, 500);
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
        if (pages == 2) suite_thread(f, "ann", "newer", "", NULL, 900);
    } while (next.ptr && pages < 20);
    CHECK(rows == 10);
    CHECK(pages == 4);
}

STORE_TEST(a_page_that_ends_exactly_at_the_end_has_no_next)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann"), .limit = 2 };
    struct str        next = STR("?");

    suite_thread(f, "ann", "a", "", NULL, 1);
    suite_thread(f, "ann", "b", "", NULL, 2);
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

    suite_thread(f, "ann", "a", "Sunset over 100% of Mountains", NULL, 1);
    suite_thread(f, "ann", "b", "Ärger mit ПОЕЗД", NULL, 2);
    suite_thread(f, "ann", "c", "花子さんに50ドル", NULL, 3);
    suite_thread(f, "bob", "d", "sunset", NULL, 4);
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

    suite_thread(f, "ann", "a", "Trains", NULL, 1);
    say(f, "ann", "a", 1, "message", "{\"text\":\"When does the Night Train to Köln leave?\"}");
    say(f, "ann", "a", 2, "step",
        "{\"parts\":[{\"type\":\"reasoning\",\"text\":\"a secret thought\"},{\"type\":\"text\","
        "\"text\":\"The night train\\nleaves at "
        "ten.\"},{\"type\":\"call\",\"text\":\"{input}\"}]}");
    suite_thread(f, "ann", "b", "Night shifts", NULL, 2);
    say(f, "ann", "b", 1, "finished", "{\"text\":\"night in a tool's result\"}");
    suite_thread(f, "bob", "c", "Bob", NULL, 3);
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
        suite_thread(f, "ann", name, name, NULL, t + 1);
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
    suite_thread(f, "ann", "a", "A", NULL, 1);
    say(f, "ann", "a", 1, "message", buf_view(&b).ptr);
    suite_thread(f, "ann", "b", "B", NULL, 2);
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
    suite_reopen(f);
    CHECK_STR(fix_list(f, calls, NULL), "c 'a call' idle of mcp, someone 2026-11-17;");
}

STORE_TEST(unfinished_logs_of_everybody_are_found_without_reading_logs)
{
    struct ap p;

    suite_thread(f, "ann", "a", "", "running", 1);
    suite_thread(f, "ann", "b", "", "idle", 1);
    suite_thread(f, "bob", "c", "", "waiting", 1);
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
    suite_thread(f, "ann", "t", "old", NULL, 1);
    CHECK(fix_edit(f, "ann", "t", "new", false) == OK);
    CHECK(fix_edit(f, "bob", "t", "new", false) == ERR_NOT_FOUND);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "t 'new' idle;");
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note x;");
}

STORE_TEST(a_title_in_the_place_of_another_does_not_take_a_third_ones)
{
    struct store_list l = { .kind = STORE_THREADS, .owner = STR("ann") };

    suite_thread(f, "ann", "t", "old", NULL, 1);
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
