/* test_store_said.c -- the index of what was said, in every store: what is in it is found, what has
 * gone is gone from it, and nothing else is looked at. */
#include <stdio.h>
#include <stdlib.h>

#include "pg_help.h"
#include "store/rows.h"
#include "store/said.h"
#include "store_suite.h"
#include "test.h"

enum { LOGS = 40, FACTS = 50, FEW = 1100 }; /* FEW: what is looked at in any case */

static struct store_list in_said(const char *owner, const char *words)
{
    return (struct store_list){ .kind = STORE_THREADS,
                                .owner = str_c(owner),
                                .search = str_c(words),
                                .said = true,
                                .limit = 7 };
}

#define FOUND(words, want) CHECK_STR(fix_list(f, in_said("ann", words), NULL), want)
#define IN_MIDDLE(line)    "old 'An old one' idle \"" line "\";"

/* `count` facts in one append. */
static void say_many(struct fix *f, const char *owner, const char *name, uint64_t expected,
                     size_t count, const char *const *bodies, int64_t at)
{
    struct store_fact facts[FACTS + 2];
    struct ap         p;

    ap_init(&p, owner, name, expected, "x");
    for (size_t i = 0; i < count; i++)
        facts[i] =
            (struct store_fact){ .at_ms = at, .kind = STR("message"), .body = str_c(bodies[i]) };
    p.a.facts = facts;
    p.a.fact_count = count;
    if (!expected) p.a.title = STR("An old one");
    CHECK(ap_run(f, &p) == OK);
}

/* One old conversation of ann with words of its own in its middle, and many of hers and of bob's
 * that are newer: more than a search looks at before it asks the index. */
static void tell(struct fix *f)
{
    const char *bodies[FACTS + 2];
    char        name[16];

    for (int i = 0; i < FACTS; i++) bodies[i] = "{\"text\":\"just some hay, and more of it\"}";
    bodies[20] = "{\"text\":\"We met a ZEBRA in Zürich.\",\"files\":[\"giraffe\"]}";
    bodies[21] = "{\"text\":\"京都の天気はどうですか\"}";
    bodies[22] = "{\"text\":\"an ox\"}";
    bodies[23] = "{\"text\":\"one two \\ud83e\\udd93 three\\u0000four\"}";
    say_many(f, "ann", "old", 0, FACTS, bodies, 1);
    bodies[20] = bodies[21] = bodies[22] = bodies[23] = bodies[0];
    for (int i = 0; i < LOGS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        say_many(f, i % 8 ? "ann" : "bob", name, 0, FACTS, bodies, 10 + i);
    }
    fix_said_indexed(f, "ann", FEW);
}

STORE_TEST(a_word_in_the_middle_of_an_old_conversation_is_found_without_a_walk_to_it)
{
    tell(f);
    FOUND("zebra IN zÜr", IN_MIDDLE("We met a ZEBRA in Zürich."));
    CHECK(f->looked <= FEW);
    FOUND("giraffe", "");
    FOUND("都の天", IN_MIDDLE("京都の天気はどうですか"));
    FOUND("o \U0001F993 THR", IN_MIDDLE("one two \U0001F993 three"));
    CHECK(f->looked <= FEW);
    CHECK_STR(fix_list(f, in_said("bob", "zebra"), NULL), "");
    CHECK(f->looked <= FEW);
    /* what an index of three letters does not know is walked to */
    FOUND("ox", IN_MIDDLE("an ox"));
    CHECK(f->looked > FEW);
    FOUND("天気", IN_MIDDLE("京都の天気はどうですか"));
}

STORE_TEST(what_was_just_said_is_found_before_it_is_in_the_index)
{
    tell(f);
    say_many(f, "ann", "old", FACTS, 1, (const char *[]){ "{\"text\":\"a late okapi\"}" }, 1);
    FOUND("okapi", IN_MIDDLE("a late okapi"));
    suite_reopen(f);
    fix_said_indexed(f, "ann", FEW);
    FOUND("okapi", IN_MIDDLE("a late okapi"));
    FOUND("zebra", IN_MIDDLE("We met a ZEBRA in Zürich."));
}

STORE_TEST(pages_of_what_the_index_has_led_to_are_whole)
{
    const char *bodies[] = { "{\"text\":\"needles, one of many\"}", "{\"text\":\"and a needle\"}" };
    char        name[16];
    struct str  next = STR_NONE, page;
    int         pages = 0, rows = 0;

    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "n%d", i);
        say_many(f, "ann", name, 0, 2, bodies, 1);
    }
    tell(f);
    do {
        struct store_list l = in_said("ann", "NEEDLE");
        l.limit = 4;
        l.before = next;
        page = fix_list(f, l, &next);
        for (struct str rest = page, row; str_split(&rest, ';', &row);) rows += row.len > 0;
    } while (next.ptr && ++pages < 9);
    CHECK(pages == 2 && rows == 10);
    CHECK(str_find(page, STR("n0 'An old one' idle \"and a needle\";")) >= 0);
}

/* A log that has more than is looked at before the index is asked. */
STORE_TEST(one_endless_conversation_is_not_walked_through_either)
{
    const char *bodies[FACTS];

    for (int i = 0; i < FACTS; i++) bodies[i] = "{\"text\":\"just some hay, and more of it\"}";
    say_many(f, "ann", "old", 0, 1, (const char *[]){ "{\"text\":\"first a zebra\"}" }, 1);
    for (int i = 0; i < LOGS; i++)
        say_many(f, "ann", "old", (uint64_t)i * FACTS + 1, FACTS, bodies, 1);
    fix_said_indexed(f, "ann", FEW);
    FOUND("zebra", IN_MIDDLE("first a zebra"));
    CHECK(f->looked <= FEW);
    FOUND("ZEB", IN_MIDDLE("first a zebra"));
}

static void trim(struct fix *f, const char *body)
{
    struct store_fact to = { 21, 1, STR("message"), str_c(body) };

    CHECK(fix_trim(f, "ann", "old",
                   (struct store_trim){
                       .expected = FACTS,
                       .facts = &to,
                       .count = 1,
                       .note = { .at_ms = 9, .kind = STR("trimmed"), .body = STR("{}") } }) == OK);
}

STORE_TEST(words_that_were_taken_out_are_not_found_and_those_that_stay_are)
{
    tell(f);
    trim(f, "{\"text\":\"We met somebody in Zürich.\"}");
    FOUND("zebra", "");
    FOUND("met somebody", IN_MIDDLE("We met somebody in Zürich."));
    suite_reopen(f);
    fix_said_indexed(f, "ann", FEW);
    FOUND("zebra", "");
    FOUND("met somebody", IN_MIDDLE("We met somebody in Zürich."));
    FOUND("京都の", IN_MIDDLE("京都の天気はどうですか"));
}

STORE_TEST(a_conversation_that_is_gone_is_not_found_nor_is_another_taken_for_it)
{
    tell(f);
    CHECK(fix_remove(f, "ann", "old", "{}", 99) == OK);
    FOUND("zebra", "");
    CHECK(fix_edit(f, "ann", "t39", NULL, true) == OK); /* with it the newest rows */
    say_many(f, "ann", "old", 0, 1, (const char *[]){ "{\"text\":\"a new tapir\"}" }, 1);
    FOUND("tapir", IN_MIDDLE("a new tapir"));
    FOUND("zebra", "");
    fix_said_indexed(f, "ann", FEW);
    FOUND("tapir", IN_MIDDLE("a new tapir"));
    FOUND("zebra", "");
}

/* --- what is damaged ------------------------------------------------------------------------ */

/* The index knows nothing of it. */
#define OTHER_WORDS(there, to)                                                      \
    suite_sql("UPDATE fact SET body = replace(body, '" there "', '" to "')",        \
              "ALTER TABLE parley_fact DISABLE TRIGGER parley_unsay;"               \
              "UPDATE parley_fact SET body = convert_to(replace(convert_from(body," \
              " 'UTF8'), '" there "', '" to "'), 'UTF8');"                          \
              "ALTER TABLE parley_fact ENABLE TRIGGER parley_unsay")

/* Found by the walk, as it is among the newest. */
STORE_TEST(words_of_a_fact_that_is_damaged_are_not_told)
{
    say_many(f, "ann", "old", 0, 3,
             (const char *[]){ "{\"text\":\"one cat\"}", "{\"text\":\"two dogs\"}",
                               "{\"text\":\"three dogs\"}" },
             1);
    OTHER_WORDS("three dogs", "three cats");
    CHECK_STR(fix_read(f, "ann", "old", 0), "damaged");
    FOUND("cats", "");
    FOUND("cat", IN_MIDDLE("one cat"));
    FOUND("two", IN_MIDDLE("two dogs"));
    FOUND("An old", "old 'An old one' idle;");
}

STORE_TEST(words_of_a_damaged_fact_that_the_index_has_led_to_are_not_told)
{
    tell(f);
    FOUND("zebra", IN_MIDDLE("We met a ZEBRA in Zürich."));
    OTHER_WORDS("京都の天気", "京都の人々");
    OTHER_WORDS("We met a ZEBRA", "We ate a ZEBRA");
    FOUND("zebra", "");
    CHECK(f->looked <= FEW);
    FOUND("an ox", IN_MIDDLE("an ox"));
    FOUND("京都の", "");
}

/* Its words are found in its beginning, and what is damaged stands behind that. */
STORE_TEST(words_of_a_long_fact_are_told_if_all_of_it_is_what_was_stored)
{
    enum { LONG = 3 * SAID_BODY_MAX };
    char *body = malloc(LONG + 1);

    REQUIRE(body);
    int at = snprintf(body, LONG, "{\"text\":\"a heron\",\"files\":[\"");
    memset(body + at, 'x', (size_t)(LONG - at));
    strcpy(body + LONG - 9, "tail\"]}");
    say_many(f, "ann", "old", 0, 3,
             (const char *[]){ "{\"text\":\"one heron\"}", body, "{\"text\":\"an emu\"}" }, 1);
    say_many(f, "ann", "new", 0, 2, (const char *[]){ "{\"text\":\"no bird\"}", body }, 2);
    FOUND("heron", "new 'An old one' idle \"a heron\";" IN_MIDDLE("a heron"));
    FOUND("emu", IN_MIDDLE("an emu"));
    OTHER_WORDS("tail", "tall");
    FOUND("a heron", "");
    FOUND("heron", IN_MIDDLE("one heron"));
    FOUND("no bird", "new 'An old one' idle \"no bird\";");
    FOUND("emu", IN_MIDDLE("an emu"));
    free(body);
}

/* --- a file ------------------------------------------------------------------------------ */

#define LETTERS "SELECT count(*) FROM said_gram_data WHERE instr(block, x'f0908d88') > 0"

TEST(the_letters_of_somebody_who_is_forgotten_leave_the_file)
{
    struct fix f0, *f = &f0;

    suite_new_file(f);
    say_many(f, "ann", "gone", 0, 1, (const char *[]){ "{\"text\":\"a \U00010348 letter\"}" }, 1);
    tell(f);
    CHECK(suite_ask_file(LETTERS) > 0);
    CHECK(fix_remove(f, "ann", "gone", "{}", 99) == OK);
    CHECK(suite_ask_file("SELECT said_owed FROM store") == 1);
    CHECK(fix_erase(f, (struct store_erase){ .owner = STR("ann"),
                                             .by = STR("ann"),
                                             .decided_by = STR("ann") }) == OK);
    while (suite_ask_file("SELECT said_owed FROM store")) uv_sleep(20);
    CHECK(suite_ask_file(LETTERS) == 0);
    fix_done(f);
}

TEST(an_index_whose_rows_were_numbered_anew_is_made_anew)
{
    struct fix f0, *f = &f0;

    suite_new_file(f);
    tell(f);
    fix_done(f);
    suite_sql("UPDATE fact SET rowid = rowid + 1000000; UPDATE fact SET rowid = rowid - 999995;"
              " VACUUM",
              "");
    fix_init(f);
    REQUIRE(fix_open(f, store_url) == OK);
    fix_said_indexed(f, "ann", FEW);
    FOUND("zebra", IN_MIDDLE("We met a ZEBRA in Zürich."));
    FOUND("京都の", IN_MIDDLE("京都の天気はどうですか"));
    fix_done(f);
}

/* --- a database --------------------------------------------------------------------------- */

/* A node of the version before knows nothing of the index, and does all this. */
TEST(what_a_node_of_the_version_before_writes_is_found_and_what_it_removes_is_not)
{
    static const char okapi[] = "{\"text\":\"an older okapi\"}";
    struct store_fact fact = { FACTS + 1, 1, STR("message"), str_c(okapi) };
    struct fix        f0, *f = &f0;
    char              sql[512];

    pg_url(store_url, sizeof store_url);
    fix_init(f);
    REQUIRE(fix_open(f, store_url) == OK);
    tell(f);
    snprintf(sql, sizeof sql,
             "WITH t AS (UPDATE parley_thread SET seq = seq + 1 WHERE name = 'old' RETURNING id,"
             " seq) INSERT INTO parley_fact(thread, seq, at_ms, epoch, sum, kind, body) SELECT id,"
             " seq, 1, 1, %lld, 'message', '%s' FROM t",
             (long long)fact_sum((struct log_name){ STR("ann"), STR("old") }, &fact), okapi);
    pg_run(store_url, sql);
    FOUND("okapi", IN_MIDDLE("an older okapi"));
    while (strcmp(pg_run(store_url, "SELECT count(*) FROM parley_said s JOIN parley_thread t ON"
                                    " t.id = s.thread WHERE t.name = 'old' AND s.seq = 51"),
                  "1"))
        fix_turn(f);
    FOUND("okapi", IN_MIDDLE("an older okapi"));
    pg_run(store_url, "WITH t AS (DELETE FROM parley_thread WHERE name = 'old' RETURNING id)"
                      " DELETE FROM parley_fact WHERE thread IN (SELECT id FROM t)");
    CHECK_STR(str_c(pg_run(store_url, "SELECT count(*) FROM parley_said WHERE NOT EXISTS (SELECT"
                                      " FROM parley_thread t WHERE t.id = thread)")),
              "0");
    FOUND("okapi", "");
    fix_done(f);
}

TEST(a_cut_text_is_searched_as_far_as_it_goes)
{
    struct arena a;
    struct buf   b;
    struct str   line = STR_NONE;

    /* wherever the cut falls: in a character, an escape, a pair of them */
    for (int shift = 0; shift < 14; shift++) {
        arena_init(&a, 0);
        buf_init(&b, 0);
        buf_lit(&b, "{\"text\":\"");
        for (int i = 0; i < shift; i++) buf_chr(&b, 'x');
        buf_lit(&b, "a heron");
        while (b.len < SAID_BODY_MAX) buf_lit(&b, "\u00fc\\ud83e\\udd93\\\\");
        struct str cut = str_n(buf_view(&b).ptr, SAID_BODY_MAX);
        CHECK(said_find(&a, STR("message"), cut, STR("HERON"), &line));
        CHECK(!said_find(&a, STR("message"), cut, STR("hippo"), &line));
        buf_done(&b);
        arena_done(&a);
    }
}
