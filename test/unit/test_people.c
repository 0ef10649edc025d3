/* test_people.c -- what roles somebody was seen with is committed before it counts, and before whoever
 * brought it is answered: in every store. */
#include "base/clock.h"
#include "base/fault.h"
#include "run/people.h"
#include "store_help.h"
#include "test.h"

struct bearer {
    struct people_wait w;
    struct fix        *f;
    bool               told;
    enum err           e;
};

static void on_told(struct people_wait *w, enum err e)
{
    struct bearer *b = LIST_ITEM(w, struct bearer, w);
    b->told = true;
    b->e = e;
    b->f->pending--;
}

static void waits(struct fix *f, struct people *p, struct bearer *b)
{
    *b = (struct bearer){ .f = f, .w.done = on_told };
    f->pending++;
    people_wait(p, STR("fay"), &b->w);
}

static struct people *club(struct fix *f)
{
    struct people *p = people_new();
    REQUIRE(p && people_keep(p, &f->loop, f->store) == OK);
    return p;
}

/* What a process that starts now would know of her. */
static struct str next_knows(struct fix *f, struct people **next)
{
    *next = club(f);
    return people_roles(*next, STR("fay"));
}

static enum err sees(struct people *p, const char *roles)
{
    return people_saw(p, STR("fay"), str_c(roles), roles_have(str_c(roles), STR("finance")));
}

/* Seen, and waited for. */
static void saw(struct fix *f, struct people *p, const char *roles)
{
    struct bearer b;
    CHECK(sees(p, roles) == ERR_BUSY);
    waits(f, p, &b);
    fix_wait(f);
    CHECK(b.e == OK && sees(p, roles) == OK);
}

/* After the store, as a server ends. */
static void over(struct fix *f, struct people *p, struct people *next)
{
    REQUIRE(store_close(f->store, 60000));
    f->store = NULL;
    people_free(p);
    people_free(next);
    fix_turn(f);
}

STORE_TEST(a_role_counts_once_it_is_committed)
{
    struct people *p = club(f), *next;
    struct bearer  b;

    CHECK(sees(p, "finance") == ERR_BUSY);
    CHECK(!people_roles(p, STR("fay")).ptr);
    waits(f, p, &b);
    CHECK(!b.told);
    fix_wait(f);
    CHECK(b.e == OK);
    CHECK_STR(people_roles(p, STR("fay")), "finance");
    CHECK(sees(p, "finance") == OK); /* and nobody waits any more */
    CHECK_STR(next_knows(f, &next), "finance");
    over(f, p, next);
}

STORE_TEST(a_role_that_is_gone_counts_until_that_is_committed)
{
    struct people *p = club(f), *next;
    struct bearer  b;

    saw(f, p, "finance");
    CHECK(sees(p, "user") == ERR_BUSY);
    waits(f, p, &b);
    CHECK(people_may(p, STR("fay"), STR("finance")) && !b.told);
    fix_wait(f);
    CHECK(!people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "user");
    over(f, p, next);
}

STORE_TEST(of_two_tokens_at_once_each_is_answered_by_what_it_says)
{
    struct people *p = club(f), *next;
    struct bearer  poor, rich;

    saw(f, p, "finance");
    CHECK(sees(p, "user") == ERR_BUSY);
    waits(f, p, &poor);
    CHECK(sees(p, "finance") == ERR_BUSY); /* what is known, and not what will be */
    waits(f, p, &rich);
    fix_wait(f);
    CHECK(poor.e == OK && rich.e == OK);
    CHECK(sees(p, "finance") == ERR_BUSY); /* it was the other one's turn */
    waits(f, p, &rich);
    fix_wait(f);
    CHECK(sees(p, "finance") == OK);
    CHECK_STR(next_knows(f, &next), "finance");
    over(f, p, next);
}

STORE_TEST(who_matters_to_nobody_does_not_wait)
{
    struct people *p = club(f), *next;

    if (store_shared(f->store)) saw(f, p, "user"); /* another node may know more */
    CHECK(sees(p, "user") == OK);
    CHECK_STR(people_roles(p, STR("fay")), "user");
    CHECK(!next_knows(f, &next).ptr);
    saw(f, p, "finance user");
    saw(f, p, "user"); /* from now on it does: what they lost must stay lost */
    over(f, p, next);
}

STORE_TEST(who_leaves_is_not_told)
{
    struct people *p = club(f);
    struct bearer  left, stays;

    CHECK(sees(p, "finance") == ERR_BUSY);
    waits(f, p, &left);
    waits(f, p, &stays);
    list_remove(&left.w.node);
    f->pending--;
    fix_wait(f);
    CHECK(!left.told && stays.told);
    over(f, p, NULL);
}

/* Asked for until it is done. */
static void forgotten(struct fix *f, struct people *p)
{
    struct bearer b;
    enum err      e;
    while ((e = people_forget(p, STR("fay"))) == ERR_BUSY) {
        waits(f, p, &b);
        fix_wait(f);
    }
    CHECK(e == OK);
}

STORE_TEST(who_is_forgotten_while_their_row_is_written_has_no_role)
{
    struct people *p = club(f), *next;
    struct bearer  b;

    CHECK(sees(p, "finance") == ERR_BUSY);
    waits(f, p, &b);
    forgotten(f, p);
    CHECK(b.told && !people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "");
    saw(f, p, "finance"); /* they come back */
    over(f, p, next);
}

STORE_TEST(a_role_that_was_lost_stays_lost_when_its_bearer_is_forgotten)
{
    struct people *p = club(f), *next;

    saw(f, p, "finance");
    saw(f, p, "user");
    forgotten(f, p);
    CHECK(!people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "");
    over(f, p, next);
}

STORE_TEST(who_was_never_here_is_forgotten_without_a_row)
{
    struct people *p = club(f), *next;

    forgotten(f, p);
    CHECK(!next_knows(f, &next).ptr);
    over(f, p, next);
}

/* As a server with this key of hers starts. */
static struct people *club_of(struct fix *f, const char *roles)
{
    struct people *p = people_new();
    REQUIRE(p);
    people_know(p, STR("fay"), str_c(roles));
    REQUIRE(people_keep(p, &f->loop, f->store) == OK);
    return p;
}

STORE_TEST(a_key_that_is_gone_leaves_no_role)
{
    struct people *p = club_of(f, "finance"), *next;

    CHECK(sees(p, "user") == OK); /* the configuration says it better */
    CHECK(people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "");
    CHECK(!people_may(next, STR("fay"), STR("finance")));
    over(f, p, next);
}

STORE_TEST(a_role_of_a_key_that_was_away_is_another)
{
    struct people *p = club_of(f, "finance"), *without, *with;

    CHECK(people_kept(p, STR("fay"), STR("finance"), 1));
    without = club_of(f, "user");
    CHECK(!people_kept(without, STR("fay"), STR("finance"), 1));
    with = club_of(f, "finance user");
    CHECK(!people_kept(with, STR("fay"), STR("finance"), 1));
    CHECK(people_kept(with, STR("fay"), STR("user"), 1) == false); /* new as well */
    CHECK(people_kept(with, STR("fay"), STR("finance"), clock_wall_ms()));
    people_free(without);
    over(f, p, with);
}

STORE_TEST(a_role_that_was_lost_and_came_back_is_another)
{
    struct people *p = club(f), *next;

    saw(f, p, "finance user");
    CHECK(people_kept(p, STR("fay"), STR("finance"), 1));
    saw(f, p, "user");
    CHECK(!people_kept(p, STR("fay"), STR("finance"), clock_wall_ms()));
    saw(f, p, "finance user");
    CHECK(people_may(p, STR("fay"), STR("finance")));
    CHECK(!people_kept(p, STR("fay"), STR("finance"), 1));
    CHECK(people_kept(p, STR("fay"), STR("user"), 1));
    CHECK(people_kept(p, STR("fay"), STR("finance"), clock_wall_ms()));
    next_knows(f, &next);
    CHECK(!people_kept(next, STR("fay"), STR("finance"), 1));
    CHECK(people_kept(next, STR("fay"), STR("owner"), 1) &&
          people_kept(next, STR("eve"), STR("x"), 1));
    over(f, p, next);
}

/* The other has not looked since. */
STORE_TEST(a_loss_is_written_by_a_node_that_never_heard_of_the_role)
{
    struct people *p = club(f), *other = club(f), *next;

    if (store_shared(f->store)) {
        saw(f, p, "finance");
        saw(f, other, "user");
        CHECK_STR(next_knows(f, &next), "user");
        people_free(next);
        saw(f, p, "finance user"); /* as it were seen at both: the store has the word */
        next_knows(f, &next);
        CHECK(!people_kept(next, STR("fay"), STR("finance"), 1));
        people_free(next);
    }
    people_free(other);
    over(f, p, NULL);
}

/* Until a look of theirs is over that began after this. */
static void looks(struct fix *f, struct people *p, struct people *at, const char *who)
{
    CHECK(people_saw(at, str_c(who), STR("finance"), true) == ERR_BUSY);
    while (!people_roles(p, str_c(who)).ptr) fix_turn(f);
}

/* Its clock is ahead, by less than is set right. */
STORE_TEST(a_node_that_remembers_a_role_does_not_bring_it_back)
{
    if (!store_shared(f->store)) return;
    struct people *p = club(f), *other = club(f), *next;

    clock_offset(1500);
    saw(f, p, "finance user");
    clock_offset(0);
    saw(f, other, "user");
    looks(f, p, other, "eve");
    looks(f, p, other, "ann"); /* what that look made it write is written */
    CHECK(!people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "user");
    people_free(other);
    over(f, p, next);
}

STORE_TEST(a_loss_that_a_node_saw_after_others_saw_the_role_is_written)
{
    if (!store_shared(f->store)) return;
    struct people *p = club(f), *other = club(f), *next;

    saw(f, p, "user");
    saw(f, other, "finance user");
    clock_offset(1500);
    CHECK(sees(p, "user") == OK); /* as it knows them */
    clock_offset(0);
    looks(f, p, other, "eve");
    looks(f, p, other, "ann");
    CHECK_STR(next_knows(f, &next), "user");
    people_free(other);
    over(f, p, next);
}

/* Whoever brought it was told that it cannot be written, and has to come again. */
STORE_TEST(a_role_that_could_not_be_written_is_not_written_later)
{
    struct people *p = club(f), *other, *next;

    saw(f, p, "finance user");
    saw(f, p, "user");
    fault_order("mem:2+");
    CHECK(sees(p, "finance user") == ERR_NOMEM);
    fault_order("");
    other = club(f);
    saw(f, other, "user finance");
    saw(f, other, "user");
    while (people_saw(p, STR("eve"), STR("finance"), true) == ERR_BUSY) fix_turn(f);
    fault_order("mem:2+");
    CHECK(people_saw(p, STR("eve"), STR("user"), false) == ERR_NOMEM);
    fault_order("");
    while (people_may(p, STR("eve"), STR("finance"))) fix_turn(f); /* a loss is */
    CHECK(people_saw(p, STR("ann"), STR("finance"), true) == ERR_BUSY);
    while (!people_roles(p, STR("ann")).ptr) fix_turn(f);
    CHECK(!people_may(p, STR("fay"), STR("finance")));
    CHECK_STR(next_knows(f, &next), "user");
    people_free(other);
    over(f, p, next);
}

STORE_TEST(a_row_that_cannot_be_written_is_told_and_changes_nothing)
{
    struct people *p = club(f);
    struct bearer  b;

    saw(f, p, "finance");
    fault_order("mem:1+");
    CHECK(sees(p, "user") == ERR_NOMEM);
    fault_order("");
    CHECK(people_may(p, STR("fay"), STR("finance")));
    CHECK(sees(p, "user") == ERR_BUSY);
    waits(f, p, &b);
    list_remove(&b.w.node);
    f->pending--;
    over(f, p, NULL);
}

static unsigned gains;
static void     on_gain(void *ctx, struct str name)
{
    CHECK(people_may(ctx, name, STR("finance")));
    gains++;
}

STORE_TEST(a_role_that_came_back_is_told_once_it_counts)
{
    struct people *p = club(f);
    struct bearer  b;

    gains = 0;
    people_on_gain(p, on_gain, p);
    saw(f, p, "finance");
    saw(f, p, "");
    CHECK(sees(p, "finance") == ERR_BUSY && !gains);
    waits(f, p, &b);
    fix_wait(f);
    CHECK(gains == 1);
    over(f, p, NULL);
}
