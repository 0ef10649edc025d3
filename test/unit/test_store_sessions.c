/* test_store_sessions.c -- who has what of a store: claims of logs, sessions of people, what was
 * used and spent. */
#include <stdio.h>
#include <stdlib.h>

#include "store_suite.h"
#include "test.h"

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

/* --- sessions and what was used --------------------------------------------------------------- */

STORE_TEST(a_session_is_there_until_it_is_ended_also_after_a_restart)
{
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "not_found");
    CHECK_STR(fix_session(f, SESSION_PUT, "key", "{\"sub\":\"ann\"}", INT64_MAX - 1), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "other", "x", INT64_MAX), "ok");
    suite_reopen(f);
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

STORE_TEST(a_session_that_is_another_than_it_was_is_neither_kept_nor_ended)
{
    CHECK_STR(fix_session_was(f, SESSION_KEEP, "x", "a"), "not_found");
    CHECK_STR(fix_session(f, SESSION_PUT, "key", "a", INT64_MAX), "ok");
    CHECK_STR(fix_session_was(f, SESSION_KEEP, "b", "a"), "ok");
    CHECK_STR(fix_session_was(f, SESSION_KEEP, "c", "a"), "not_found"); /* two: one of them */
    CHECK_STR(fix_session_was(f, SESSION_END, NULL, "a"), "ok");
    CHECK_STR(fix_session(f, SESSION_GET, "key", NULL, 0), "b 9223372036854775807");
    CHECK_STR(fix_session_was(f, SESSION_END, NULL, "b"), "ok");
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

STORE_TEST(rows_beside_the_sessions_are_listed_by_how_their_keys_begin_and_when_they_end)
{
    int64_t           far = INT64_MAX - 10;
    struct store_list l = { .kind = STORE_SESSIONS, .id = STR("p/"), .due_ms = far };

    CHECK_STR(fix_session(f, SESSION_PUT, "p/ann", "x y", far + 3), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "p/\u00e9/b", "", far + 2), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "p/early", "x", far), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "p", "x", far + 4), "ok");
    CHECK_STR(fix_session(f, SESSION_PUT, "q/ann", "x", far + 4), "ok");
    suite_reopen(f);
    CHECK_STR(fix_list(f, l, NULL),
              "p/\u00e9/b  9223372036854775799;p/ann x y 9223372036854775800;");
    l.limit = 1;
    CHECK_STR(fix_list(f, l, NULL), "p/\u00e9/b  9223372036854775799;");
    l.id = STR("none/");
    CHECK_STR(fix_list(f, l, NULL), "");
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
    suite_reopen(f);
    CHECK_STR(fix_list(f, l, NULL), "21;");
}
