/* test_audit.c -- what was changed behind the program's back is found: in every store, against its
 * own checkpoints, and where these were made anew as well, against one that was kept. */
#include <stdio.h>

#include "audit/export.h"
#include "audit_help.h"

/* --- keys and lines ------------------------------------------------------------------ */

TEST(a_line_that_was_signed_is_read_and_a_changed_one_is_not)
{
    struct arena     a;
    struct buf       line;
    struct str       payload;
    struct sign_keys k, other;

    arena_init(&a, 0);
    k = audit_key(&a), other = audit_key(&a);
    buf_init(&line, 0);
    REQUIRE(sign_line(&k, STR("{\"number\":1}"), &line) == OK);
    CHECK(sign_check(&k, buf_view(&line), &a, &payload) == OK);
    CHECK_STR(payload, "{\"number\":1}");
    CHECK(sign_check(&other, buf_view(&line), &a, &payload) == ERR_NOT_FOUND);
    for (size_t i = 0; i < line.len; i++) {
        line.ptr[i] ^= 1;
        CHECK(sign_check(&k, buf_view(&line), &a, &payload) != OK);
        line.ptr[i] ^= 1;
    }
    for (size_t n = 0; n < line.len; n++)
        CHECK(sign_check(&k, str_cut(buf_view(&line), n), &a, &payload) != OK);
    buf_done(&line);
    sign_keys_done(&k);
    sign_keys_done(&other);
    arena_done(&a);
}

TEST(only_ed25519_keys_sign_and_what_is_no_key_is_refused_in_words)
{
    struct arena     a;
    struct sign_keys k = { 0 };
    const char      *why = NULL;

    arena_init(&a, 0);
    CHECK(sign_keys_read(&k, STR("not a key"), &why) == ERR_SYNTAX && k.count == 0);
    CHECK(str_find(str_c(why), STR("openssl genpkey")) > 0);
    CHECK(sign_keys_read(&k, audit_pem(&a, false), &why) == OK && !k.list[0].private);
    CHECK(sign_keys_read(&k, audit_pem(&a, true), &why) == OK && k.list[1].private);
    sign_keys_done(&k);
    arena_done(&a);
}

/* --- a store with checkpoints --------------------------------------------------------- */

STORE_TEST(what_nobody_touched_is_as_it_was_recorded)
{
    audit_prepare(f);
    CHECK(audit_problems(f, STR_NONE) == 0);
    CHECK(audit_problems(f, last) == 0);
    audit_say(f, "t", 3, "since", 9); /* after the last checkpoint */
    CHECK(fix_remove(f, "ann", "u", "{\"calls\":[]}", 10) == OK);
    CHECK(audit_problems(f, last) == 0);
    audit_note(f);
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

STORE_TEST(one_flipped_bit_is_found)
{
    audit_prepare(f);
    suite_sql("UPDATE fact SET body = 'twp' WHERE body = 'two'",
              "UPDATE parley_fact SET body = 'twp' WHERE body = 'two'");
    CHECK(audit_problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it is not what was appended at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(a_chain_that_stops_or_another_head_is_found)
{
    audit_prepare(f);
    suite_sql("UPDATE fact SET link = NULL WHERE body = 'two';"
              "UPDATE thread SET links = zeroblob(32) WHERE name = 'u'",
              "WITH stops AS (UPDATE parley_fact SET link = NULL WHERE body = 'two')"
              " UPDATE parley_thread SET links = decode(repeat('00', 32), 'hex') WHERE name = 'u'");
    CHECK_STR(fix_read(f, "ann", "t", 1), "2 note two;3 note three;"); /* a server looks at sums */
    CHECK(audit_problems(f, STR_NONE) == 2);
    SAYS("conversation t of ann: it is not what was appended at fact 2");
    SAYS("conversation u of ann: its head is another at fact 1");
    sign_keys_done(&keys);
}

/* As an upgrade finds them: columns without anything in them. */
STORE_TEST(facts_from_before_the_chain_are_counted_and_the_chain_begins_behind_them)
{
    struct verify v = { .keys = &keys, .found = audit_told, .ctx = f };
    struct str    why = STR("");

    audit_begin(f);
    said = STR("");
    audit_say(f, "t", 0, "one", 1);
    audit_say(f, "t", 1, "two", 2);
    audit_say(f, "u", 0, "other", 1);
    suite_sql("UPDATE fact SET link = NULL; UPDATE thread SET links = NULL",
              "WITH old AS (UPDATE parley_fact SET link = NULL)"
              " UPDATE parley_thread SET links = NULL");
    audit_note(f);
    audit_say(f, "t", 2, "three", 3);
    audit_say(f, "t", 3, "four", 4);
    audit_note(f);
    REQUIRE(verify_store(&v, str_c(store_url), &f->arena, &why) == OK);
    CHECK(v.problems == 0 && v.facts == 5 && v.before == 3 && v.heads == 1);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[]}", 10) == OK);
    CHECK(audit_problems(f, last) == 0);
    suite_sql("UPDATE fact SET body = 'otter' WHERE body = 'other'",
              "UPDATE parley_fact SET body = 'otter' WHERE body = 'other'");
    CHECK(audit_problems(f, last) == 1); /* its checksum speaks for it */
    sign_keys_done(&keys);
}

STORE_TEST(a_removed_tail_is_found_though_the_rest_fits)
{
    audit_prepare(f);
    suite_sql("DELETE FROM fact WHERE body = 'three';"
              "UPDATE thread SET seq = 2, links = (SELECT link FROM fact WHERE body = 'two')"
              " WHERE name = 't'",
              "WITH gone AS (DELETE FROM parley_fact WHERE body = 'three')"
              " UPDATE parley_thread SET seq = 2, links = (SELECT link FROM parley_fact"
              " WHERE body = 'two') WHERE name = 't'");
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note one;2 note two;"); /* the store cannot know */
    CHECK(audit_problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it ends at fact 2, and checkpoint 2 noted fact 3");
    sign_keys_done(&keys);
}

STORE_TEST(a_chain_that_was_made_anew_is_found)
{
    audit_prepare(f);
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    audit_say(f, "t", 0, "one", 1);
    audit_say(f, "t", 1, "TWO", 2);
    audit_say(f, "t", 2, "three", 3);
    CHECK(audit_problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it is not what a checkpoint noted at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(a_conversation_that_was_taken_away_is_found)
{
    audit_prepare(f);
    CHECK(fix_edit(f, "ann", "u", NULL, true) == OK); /* and leaves no stub */
    CHECK(audit_problems(f, STR_NONE) == 1);
    SAYS("is gone without a stub");
    sign_keys_done(&keys);
}

STORE_TEST(a_whole_store_that_was_made_anew_is_found_against_what_was_kept)
{
    struct str kept;

    audit_prepare(f);
    kept = last;
    suite_sql("DELETE FROM checkpoint; DELETE FROM noted",
              "WITH gone AS (DELETE FROM parley_checkpoint) DELETE FROM parley_noted");
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    audit_say(f, "t", 0, "ONE", 1);
    number = 0, last = STR_NONE;
    audit_note(f);
    audit_note(f); /* signed by the same key */
    CHECK(audit_problems(f, STR_NONE) == 0);
    CHECK(audit_problems(f, kept) >= 2);
    SAYS("checkpoint 2 of the store is not the one that was kept: it was made anew");
    SAYS("conversation t of ann: it ends at fact 1, and checkpoint 2 noted fact 3");
    sign_keys_done(&keys);
}

STORE_TEST(an_older_state_of_the_store_is_found_against_what_was_kept)
{
    struct str kept;

    audit_prepare(f);
    kept = last;
    suite_sql("DELETE FROM checkpoint WHERE number = 2; DELETE FROM noted",
              "WITH older AS (DELETE FROM parley_checkpoint WHERE number = 2)"
              " DELETE FROM parley_noted");
    CHECK(audit_problems(f, STR_NONE) == 0);
    CHECK(audit_problems(f, kept) == 1);
    SAYS("checkpoint 2 that was kept is not in the store: this is an older state of it");
    sign_keys_done(&keys);
}

STORE_TEST(checkpoints_that_were_changed_or_signed_by_others_are_found)
{
    struct sign_keys mine;

    audit_prepare(f);
    mine = keys;
    keys = audit_key(&f->arena);
    CHECK(audit_problems(f, STR_NONE) == 2);
    SAYS("checkpoint 1 of the store was signed by another key than those given");
    sign_keys_done(&keys);
    keys = mine;
    suite_sql("UPDATE checkpoint SET line = (SELECT line FROM checkpoint WHERE number = 1)",
              "UPDATE parley_checkpoint SET line = (SELECT line FROM parley_checkpoint WHERE "
              "number = 1)");
    CHECK(audit_problems(f, STR_NONE) >= 1);
    SAYS("checkpoint 1 of the store stands in the place of 2");
    CHECK(audit_problems(f, STR("rubbish\n\nmore.rubbish.\n")) >= 3);
    SAYS("a line among the checkpoints that was kept is none");
    sign_keys_done(&keys);
}

STORE_TEST(a_stub_that_was_changed_is_found)
{
    audit_prepare(f);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[1]}", 10) == OK);
    CHECK(audit_problems(f, last) == 0);
    suite_sql("UPDATE stub SET body = '{\"calls\":[2]}'",
              "UPDATE parley_stub SET body = '{\"calls\":[2]}'");
    CHECK(audit_problems(f, STR_NONE) == 1);
    SAYS("its stub is not what was left");
    suite_sql("UPDATE stub SET body = '{\"calls\":[1]}', digests = substr(digests, 33), seq = 3",
              "UPDATE parley_stub SET body = '{\"calls\":[1]}', digests = substr(digests, 33),"
              " seq = 3");
    CHECK(audit_problems(f, STR_NONE) >= 1);
    sign_keys_done(&keys);
}

#define STUB_COLUMNS                                                                           \
    "(log, owner, name, created_ms, removed_ms, seq, kind, digests, head, body, noted)"        \
    " SELECT log, owner, name, created_ms, removed_ms, seq, kind, digests, head, body, noted " \
    "FROM "

STORE_TEST(a_stub_that_is_there_twice_is_found)
{
    audit_prepare(f);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[1]}", 10) == OK);
    CHECK(fix_remove(f, "ann", "u", "{\"calls\":[2]}", 11) == OK);
    CHECK(audit_problems(f, last) == 0);
    suite_sql("INSERT INTO stub" STUB_COLUMNS "stub WHERE name = 't'",
              "INSERT INTO parley_stub" STUB_COLUMNS "parley_stub WHERE name = 't'");
    CHECK(audit_problems(f, last) == 1);
    SAYS("conversation t of ann: it is in the store twice");
    sign_keys_done(&keys);
}

/* A conversation that was deleted, put back beside what is left of it. */
STORE_TEST(a_conversation_that_stands_beside_its_own_stub_is_found)
{
    audit_prepare(f);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[1]}", 10) == OK);
    audit_say(f, "t", 0, "one", 1);
    CHECK(audit_problems(f, STR_NONE) >= 1);
    SAYS("conversation t of ann: it is in the store twice");
    sign_keys_done(&keys);
}

/* --- what belongs to nobody ------------------------------------------------------------------- */

STORE_TEST(facts_of_no_conversation_are_found)
{
    audit_prepare(f);
    suite_sql("INSERT INTO fact(thread, seq, at_ms, kind, body, sum, link, digest)"
              " SELECT 900, seq + 6, at_ms, kind, body, sum, link, digest FROM fact WHERE seq < 3"
              " AND thread = (SELECT id FROM thread WHERE name = 't')",
              "INSERT INTO parley_fact(thread, seq, at_ms, epoch, kind, body, sum, link, digest)"
              " SELECT 900, seq + 6, at_ms, epoch, kind, body, sum, link, digest FROM parley_fact"
              " WHERE seq < 3 AND thread = (SELECT id FROM parley_thread WHERE name = 't')");
    CHECK(audit_problems(f, last) == 1);
    SAYS("2 facts from fact 7 on belong to conversation number 900, and there is none");
    sign_keys_done(&keys);
}

STORE_TEST(facts_whose_conversation_was_taken_away_before_any_checkpoint_are_found)
{
    audit_prepare(f);
    audit_say(f, "w", 0, "new", 1);
    suite_sql("DELETE FROM thread WHERE name = 'w'", "DELETE FROM parley_thread WHERE name = 'w'");
    CHECK(audit_problems(f, last) == 1);
    SAYS("1 facts from fact 1 on belong to conversation number");
    sign_keys_done(&keys);
}

STORE_TEST(what_is_said_to_be_noted_of_no_conversation_is_found)
{
    audit_prepare(f);
    suite_sql("INSERT INTO noted(thread, seq) VALUES(900, 1000)",
              "INSERT INTO parley_noted(thread, seq) VALUES(900, 1000)");
    CHECK(audit_problems(f, last) == 1);
    SAYS("fact 1000 of conversation number 900 is said to be noted, and there is none");
    sign_keys_done(&keys);
}

/* It would be kept out of every checkpoint until it has so many facts. */
STORE_TEST(a_conversation_of_which_more_is_said_to_be_noted_than_there_is_comes_back)
{
    audit_prepare(f);
    suite_sql("UPDATE noted SET seq = seq + 1000", "UPDATE parley_noted SET seq = seq + 1000");
    CHECK(audit_problems(f, last) == 3);
    SAYS("conversation t of ann: no checkpoint noted what the store says is noted at fact 1003");
    audit_say(f, "t", 3, "four", 4);
    audit_note(f);
    CHECK(audit_problems(f, last) == 0);
    suite_sql("UPDATE fact SET body = 'vier' WHERE body = 'four'",
              "UPDATE parley_fact SET body = 'vier' WHERE body = 'four'");
    CHECK(audit_problems(f, last) == 1);
    sign_keys_done(&keys);
}

STORE_TEST(a_checksum_that_was_taken_away_is_found)
{
    audit_prepare(f);
    suite_sql("UPDATE fact SET sum = sum",
              "ALTER TABLE parley_fact ALTER COLUMN sum DROP NOT NULL");
    suite_sql("UPDATE fact SET sum = NULL WHERE body = 'two'",
              "UPDATE parley_fact SET sum = NULL WHERE body = 'two'");
    CHECK(audit_problems(f, last) == 1);
    SAYS("conversation t of ann: it is not what was appended at fact 2");
    sign_keys_done(&keys);
}

/* --- export ------------------------------------------------------------------------------ */

static bool count_line(void *ctx, struct str line)
{
    struct buf *b = ctx;
    struct str  type = str_from(line, str_find(line, STR(":")) + 2);

    buf_str(b, str_cut(type, (size_t)str_find(type, STR("\""))));
    buf_chr(b, ' ');
    return true;
}

STORE_TEST(an_export_tells_checkpoints_logs_facts_and_stubs_in_their_order)
{
    struct buf types;
    struct str why;
    struct export x = { .line = count_line, .ctx = &types };

    audit_prepare(f);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[]}", 10) == OK);
    buf_init(&types, 0);
    CHECK(export_store(&x, str_c(store_url), &f->arena, &why) == OK);
    CHECK_STR(buf_view(&types), "checkpoint checkpoint log fact log fact stub end ");
    buf_clear(&types);
    x.thread = STR("u");
    CHECK(export_store(&x, str_c(store_url), &f->arena, &why) == OK);
    CHECK_STR(buf_view(&types), "log fact end ");
    buf_done(&types);
    sign_keys_done(&keys);
}

TEST(a_store_that_is_not_there_is_said_so)
{
    struct arena  a;
    struct str    why = STR_NONE;
    struct verify v = { .keys = &keys };

    arena_init(&a, 0);
    CHECK(verify_store(&v, STR("/nonexistent/x.db"), &a, &why) != OK);
    CHECK(str_find(why, STR("cannot read /nonexistent/x.db")) >= 0);
    arena_done(&a);
}
