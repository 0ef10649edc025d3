/* test_store_damage.c -- flipped bits in a store's file, files of the version before, memory that
 * runs out in the middle of an append. */
#include <stdlib.h>

#include "base/fault.h"
#include "store_file_help.h"

/* --- flipped bits --------------------------------------------------------------------------- */

static void expect_damaged(const char *what)
{
    struct fix f;

    file_new();
    file_begin(&f);
    file_say(&f, 0, 3);
    CHECK(fix_append(&f, "bob", "t", 0, "whole") == OK);
    file_damage(what);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "damaged");
    CHECK_STR(fix_read(&f, "bob", "t", 0), "1 note whole;");
    CHECK(fix_append(&f, "bob", "t", 1, "others go on") == OK);
    CHECK(fix_edit(&f, "ann", "t", NULL, true) == OK);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "not_found");
    file_say(&f, 0, 1);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note 0;");
    CHECK(store_health(f.store) == OK);
    fix_done(&f);
}

TEST(a_log_with_another_body_is_damaged_and_can_be_deleted)
{
    expect_damaged("fact SET body = '7' WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_another_kind_is_damaged)
{
    expect_damaged("fact SET kind = 'nota' WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_another_time_is_damaged)
{
    expect_damaged("fact SET at_ms = at_ms + 8 WHERE thread = 1 AND seq = 3");
}
TEST(a_log_with_a_hole_is_damaged)
{
    expect_damaged("fact SET thread = 9 WHERE thread = 1 AND seq = 2");
}
TEST(a_log_with_a_fact_of_another_log_is_damaged)
{
    expect_damaged("fact SET body = (SELECT body FROM fact WHERE thread = 2), kind = (SELECT kind "
                   "FROM fact WHERE thread = 2),"
                   " at_ms = (SELECT at_ms FROM fact WHERE thread = 2), sum = (SELECT sum FROM "
                   "fact WHERE thread = 2) WHERE thread = 1 AND seq = 1");
}
TEST(a_log_that_says_it_is_shorter_is_damaged)
{
    expect_damaged("thread SET seq = 2 WHERE id = 1");
}

TEST(a_damaged_log_stops_neither_the_expiry_nor_the_recovery_of_others)
{
    struct fix f;

    file_new();
    file_begin(&f);
    file_ask(&f, "bad", "c1", 10);
    file_ask(&f, "good", "c2", 20);
    file_damage("fact SET body = 'y' WHERE thread = 1");
    CHECK(str_starts(file_due(&f), STR("ann/bad/c1"))); /* nobody has looked yet */
    CHECK_STR(fix_read(&f, "ann", "bad", 0), "damaged");
    CHECK(str_starts(file_due(&f), STR("ann/good/c2")));
    CHECK(str_starts(fix_list(&f, (struct store_list){ .kind = STORE_NEXT_DUE }, NULL),
                     STR("ann/good/c2")));
    CHECK_STR(fix_list(&f, (struct store_list){ .kind = STORE_UNFINISHED }, NULL),
              "ann/good running;");
    CHECK(fix_edit(&f, "ann", "bad", NULL, true) == OK);
    file_ask(&f, "bad", "c1", 10); /* a new one of the same name */
    CHECK(str_starts(file_due(&f), STR("ann/bad/c1")));
    fix_done(&f);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    (void)next;
    CHECK(e == OK && count == 2);
    for (size_t i = 0; i < count; i++) CHECK(rows[i].damaged == str_is(rows[i].approval.id, "c1"));
    l->limit = 0;
}

TEST(an_approval_that_is_not_what_was_stored_says_so)
{
    struct store_list l = {
        .kind = STORE_APPROVALS, .owner = STR("ann"), .limit = 10, .done = on_rows
    };
    struct fix f;

    file_new();
    file_begin(&f);
    file_ask(&f, "t", "c1", 10);
    file_ask(&f, "u", "c2", 20);
    file_damage("approval SET body = '{\"amount\":70}' WHERE id = 'c1'");
    store_list(f.store, &l);
    while (l.limit) uv_run(&f.loop.uv, UV_RUN_ONCE);
    CHECK(str_starts(file_due(&f), STR("ann/u/c2")));
    fix_done(&f);
}

TEST(a_store_of_the_version_before_is_upgraded_and_goes_on)
{
    struct fix f;

    file_new();
    file_old();
    file_begin(&f);
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;2 note old;");
    CHECK(str_starts(file_due(&f), STR("ann/t/c1")));
    CHECK(fix_append(&f, "ann", "t", 2, "new") == OK);
    file_damage("fact SET body = 'nev' WHERE seq = 3");
    CHECK_STR(fix_read(&f, "ann", "t", 0), "damaged");
    CHECK(str_starts(store_promise(f.store), STR("sqlite, WAL, synchronous=FULL, schema ")));
    fix_done(&f);
}

TEST(an_upgrade_that_was_cut_off_is_done_at_the_next_start)
{
    struct fix f;

    file_new();
    file_old();
    fix_init(&f);
    for (int n = 1; !f.store; n++) {
        char order[32];
        snprintf(order, sizeof order, "write:%d=ENOSPC", n);
        fault_order(order);
        (void)!fix_open(&f, file_path);
        fault_order("");
        REQUIRE(n < 100);
    }
    CHECK_STR(fix_read(&f, "ann", "t", 0), "1 note x;2 note old;");
    fix_done(&f);
}

/* --- memory that runs out ------------------------------------------------------------------- */

static size_t facts_of(struct fix *f, const char *thread)
{
    struct str rest = fix_read(f, "ann", thread, 0), row;
    size_t     n = 0;
    while (str_split(&rest, ';', &row)) n += row.len > 0;
    return n;
}

/* Each allocation of an append fails once, SQLite's own included; and that one and all after it. */
TEST(an_append_that_memory_refused_is_not_there)
{
    static const char *const orders[] = { "mem:%d", "mem:%d+" };
    struct fix               f;

    file_new();
    file_begin(&f);
    for (int k = 0; k < 2; k++) {
        const char *log[] = { k ? "c" : "a", k ? "d" : "b" };
        size_t      seq[] = { 1, 1 }, refused = 0;
        for (int i = 0; i < 2; i++) CHECK(fix_append(&f, "ann", log[i], 0, "x") == OK);
        for (int n = 1, fine = 0; fine < 30; n++, fine++) {
            char      order[32];
            struct ap p[2];
            REQUIRE(n < 3000);
            snprintf(order, sizeof order, orders[k], n);
            fault_order(order);
            for (int i = 0; i < 2; i++) { /* in one batch */
                ap_init(&p[i], "ann", log[i], seq[i], "x");
                ap_send(&f, &p[i]);
            }
            fix_wait(&f);
            fault_order("");
            for (int i = 0; i < 2; i++) {
                size_t now = facts_of(&f, log[i]);
                CHECK(p[i].e == OK || p[i].e == ERR_NOMEM || p[i].e == ERR_UNSURE);
                if (p[i].e != ERR_UNSURE) CHECK(now == seq[i] + !p[i].e);
                if (p[i].e) fine = 0, refused++;
                seq[i] = now;
            }
        }
        if (k) CHECK(refused > 0); /* a single one is made up for */
    }
    fix_done(&f);
}
