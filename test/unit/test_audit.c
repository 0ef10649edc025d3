/* test_audit.c -- what was changed behind the program's back is found: in every store, against its
 * own checkpoints, and where these were made anew as well, against one that was kept. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "audit/checkpoint.h"
#include "audit/export.h"
#include "audit/verify.h"
#include "store_help.h"
#include "store_suite.h"
#include "test.h"

/* --- keys and lines ------------------------------------------------------------------ */

static struct str new_pem(struct arena *a, bool private)
{
    EVP_PKEY  *p = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO       *out = BIO_new(BIO_s_mem());
    char      *text;
    struct str pem;

    REQUIRE(p && out);
    REQUIRE(private ? PEM_write_bio_PrivateKey(out, p, NULL, NULL, 0, NULL, NULL)
                    : PEM_write_bio_PUBKEY(out, p));
    long len = BIO_get_mem_data(out, &text);
    pem = arena_dup(a, str_n(text, (size_t)len));
    BIO_free(out);
    EVP_PKEY_free(p);
    return pem;
}

static struct sign_keys new_key(struct arena *a)
{
    struct sign_keys k = { 0 };
    const char      *why;

    REQUIRE(sign_keys_read(&k, new_pem(a, true), &why) == OK);
    return k;
}

TEST(a_line_that_was_signed_is_read_and_a_changed_one_is_not)
{
    struct arena     a;
    struct buf       line;
    struct str       payload;
    struct sign_keys k, other;

    arena_init(&a, 0);
    k = new_key(&a), other = new_key(&a);
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
    CHECK(sign_keys_read(&k, new_pem(&a, false), &why) == OK && !k.list[0].private);
    CHECK(sign_keys_read(&k, new_pem(&a, true), &why) == OK && k.list[1].private);
    sign_keys_done(&k);
    arena_done(&a);
}

/* --- a store with checkpoints --------------------------------------------------------- */

static struct sign_keys keys;
static uint64_t         number;
static struct str       last; /* the last checkpoint */

struct noting {
    struct store_list       list;
    struct store_checkpoint c;
    struct fix             *f;
    struct store_row        rows[8];
};

static void on_noted(struct store_checkpoint *c, enum err e)
{
    CHECK(e == OK);
    LIST_ITEM(c, struct noting, c)->f->pending--;
}

static void on_heads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct noting *n = LIST_ITEM(l, struct noting, list);
    struct buf     payload, line;

    (void)next;
    REQUIRE(!e && count <= 8);
    buf_init(&payload, 0);
    buf_init(&line, 0);
    checkpoint_write(&payload, ++number, 1000, last, rows, count);
    REQUIRE(sign_line(&keys, buf_view(&payload), &line) == OK);
    last = arena_dup(&n->f->arena, buf_view(&line));
    if (count) memcpy(n->rows, rows, count * sizeof *rows);
    n->c = (struct store_checkpoint){
        .number = number, .line = last, .heads = n->rows, .head_count = count, .done = on_noted
    };
    store_checkpoint(n->f->store, &n->c);
    buf_done(&payload);
    buf_done(&line);
}

static void note(struct fix *f)
{
    struct noting n = { .f = f };

    n.list = (struct store_list){ .kind = STORE_HEADS, .done = on_heads };
    f->pending++;
    store_list(f->store, &n.list);
    fix_wait(f);
}

static void say(struct fix *f, const char *thread, uint64_t seq, const char *body, int64_t at_ms)
{
    struct ap p;

    ap_init(&p, "ann", thread, seq, body);
    p.fact.at_ms = at_ms;
    CHECK(ap_run(f, &p) == OK);
}

/* Three conversations, two checkpoints; the last one is `last`. */
static void prepare(struct fix *f)
{
    keys = new_key(&f->arena);
    number = 0;
    last = STR_NONE;
    say(f, "t", 0, "one", 1);
    say(f, "t", 1, "two", 2);
    say(f, "u", 0, "other", 1);
    note(f);
    say(f, "t", 2, "three", 3);
    say(f, "v", 0, "third", 1);
    note(f);
}

static struct str said; /* of the last verify */

static void on_found(void *ctx, struct str sentence)
{
    struct fix *f = ctx;
    said = arena_printf(&f->arena, STR_FMT STR_FMT ";", STR_ARG(said), STR_ARG(sentence));
}

static uint64_t problems(struct fix *f, struct str kept)
{
    struct verify v = { .keys = &keys, .kept = kept, .found = on_found, .ctx = f };
    struct str    why = STR("");

    said = STR("");
    REQUIRE(verify_store(&v, str_c(store_url), &f->arena, &why) == OK);
    return v.problems;
}

#define SAYS(words)                                                                     \
    do {                                                                                \
        CHECK(str_find(said, STR(words)) >= 0);                                         \
        if (str_find(said, STR(words)) < 0) printf("    " STR_FMT "\n", STR_ARG(said)); \
    } while (0)

STORE_TEST(what_nobody_touched_is_as_it_was_recorded)
{
    prepare(f);
    CHECK(problems(f, STR_NONE) == 0);
    CHECK(problems(f, last) == 0);
    say(f, "t", 3, "since", 9); /* after the last checkpoint */
    CHECK(fix_remove(f, "ann", "u", "{\"calls\":[]}", 10) == OK);
    CHECK(problems(f, last) == 0);
    note(f);
    CHECK(problems(f, last) == 0);
    sign_keys_done(&keys);
}

STORE_TEST(one_flipped_bit_is_found)
{
    prepare(f);
    suite_sql("UPDATE fact SET body = 'twp' WHERE body = 'two'",
              "UPDATE parley_fact SET body = 'twp' WHERE body = 'two'");
    CHECK(problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it is not what was appended at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(a_chain_that_stops_or_another_head_is_found)
{
    prepare(f);
    suite_sql("UPDATE fact SET link = NULL WHERE body = 'two';"
              "UPDATE thread SET links = zeroblob(32) WHERE name = 'u'",
              "WITH stops AS (UPDATE parley_fact SET link = NULL WHERE body = 'two')"
              " UPDATE parley_thread SET links = decode(repeat('00', 32), 'hex') WHERE name = 'u'");
    CHECK_STR(fix_read(f, "ann", "t", 1), "2 note two;3 note three;"); /* a server looks at sums */
    CHECK(problems(f, STR_NONE) == 2);
    SAYS("conversation t of ann: it is not what was appended at fact 2");
    SAYS("conversation u of ann: its head is another at fact 1");
    sign_keys_done(&keys);
}

/* As an upgrade finds them: columns without anything in them. */
STORE_TEST(facts_from_before_the_chain_are_counted_and_the_chain_begins_behind_them)
{
    struct verify v = { .keys = &keys, .found = on_found, .ctx = f };
    struct str    why = STR("");

    keys = new_key(&f->arena);
    number = 0, last = STR_NONE, said = STR("");
    say(f, "t", 0, "one", 1);
    say(f, "t", 1, "two", 2);
    say(f, "u", 0, "other", 1);
    suite_sql("UPDATE fact SET link = NULL; UPDATE thread SET links = NULL",
              "WITH old AS (UPDATE parley_fact SET link = NULL)"
              " UPDATE parley_thread SET links = NULL");
    note(f);
    say(f, "t", 2, "three", 3);
    say(f, "t", 3, "four", 4);
    note(f);
    REQUIRE(verify_store(&v, str_c(store_url), &f->arena, &why) == OK);
    CHECK(v.problems == 0 && v.facts == 5 && v.before == 3 && v.heads == 1);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[]}", 10) == OK);
    CHECK(problems(f, last) == 0);
    suite_sql("UPDATE fact SET body = 'otter' WHERE body = 'other'",
              "UPDATE parley_fact SET body = 'otter' WHERE body = 'other'");
    CHECK(problems(f, last) == 1); /* its checksum speaks for it */
    sign_keys_done(&keys);
}

STORE_TEST(a_removed_tail_is_found_though_the_rest_fits)
{
    prepare(f);
    suite_sql("DELETE FROM fact WHERE body = 'three';"
              "UPDATE thread SET seq = 2, links = (SELECT link FROM fact WHERE body = 'two')"
              " WHERE name = 't'",
              "WITH gone AS (DELETE FROM parley_fact WHERE body = 'three')"
              " UPDATE parley_thread SET seq = 2, links = (SELECT link FROM parley_fact"
              " WHERE body = 'two') WHERE name = 't'");
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note one;2 note two;"); /* the store cannot know */
    CHECK(problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it ends at fact 2, and checkpoint 2 noted fact 3");
    sign_keys_done(&keys);
}

STORE_TEST(a_chain_that_was_made_anew_is_found)
{
    prepare(f);
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    say(f, "t", 0, "one", 1);
    say(f, "t", 1, "TWO", 2);
    say(f, "t", 2, "three", 3);
    CHECK(problems(f, STR_NONE) == 1);
    SAYS("conversation t of ann: it is not what a checkpoint noted at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(a_conversation_that_was_taken_away_is_found)
{
    prepare(f);
    CHECK(fix_edit(f, "ann", "u", NULL, true) == OK); /* and leaves no stub */
    CHECK(problems(f, STR_NONE) == 1);
    SAYS("is gone without a stub");
    sign_keys_done(&keys);
}

STORE_TEST(a_whole_store_that_was_made_anew_is_found_against_what_was_kept)
{
    struct str kept;

    prepare(f);
    kept = last;
    suite_sql("DELETE FROM checkpoint; DELETE FROM noted",
              "WITH gone AS (DELETE FROM parley_checkpoint) DELETE FROM parley_noted");
    CHECK(fix_edit(f, "ann", "t", NULL, true) == OK);
    say(f, "t", 0, "ONE", 1);
    number = 0, last = STR_NONE;
    note(f);
    note(f); /* signed by the same key */
    CHECK(problems(f, STR_NONE) == 0);
    CHECK(problems(f, kept) >= 2);
    SAYS("checkpoint 2 of the store is not the one that was kept: it was made anew");
    SAYS("conversation t of ann: it ends at fact 1, and checkpoint 2 noted fact 3");
    sign_keys_done(&keys);
}

STORE_TEST(an_older_state_of_the_store_is_found_against_what_was_kept)
{
    struct str kept;

    prepare(f);
    kept = last;
    suite_sql("DELETE FROM checkpoint WHERE number = 2",
              "DELETE FROM parley_checkpoint WHERE number = 2");
    CHECK(problems(f, STR_NONE) == 0);
    CHECK(problems(f, kept) == 1);
    SAYS("checkpoint 2 that was kept is not in the store: this is an older state of it");
    sign_keys_done(&keys);
}

STORE_TEST(checkpoints_that_were_changed_or_signed_by_others_are_found)
{
    struct sign_keys mine;

    prepare(f);
    mine = keys;
    keys = new_key(&f->arena);
    CHECK(problems(f, STR_NONE) == 2);
    SAYS("checkpoint 1 of the store was signed by another key than those given");
    sign_keys_done(&keys);
    keys = mine;
    suite_sql("UPDATE checkpoint SET line = (SELECT line FROM checkpoint WHERE number = 1)",
              "UPDATE parley_checkpoint SET line = (SELECT line FROM parley_checkpoint WHERE "
              "number = 1)");
    CHECK(problems(f, STR_NONE) >= 1);
    SAYS("checkpoint 1 of the store stands in the place of 2");
    CHECK(problems(f, STR("rubbish\n\nmore.rubbish.\n")) >= 3);
    SAYS("a line among the checkpoints that was kept is none");
    sign_keys_done(&keys);
}

STORE_TEST(a_stub_that_was_changed_is_found)
{
    prepare(f);
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[1]}", 10) == OK);
    CHECK(problems(f, last) == 0);
    suite_sql("UPDATE stub SET body = '{\"calls\":[2]}'",
              "UPDATE parley_stub SET body = '{\"calls\":[2]}'");
    CHECK(problems(f, STR_NONE) == 1);
    SAYS("its stub is not what was left");
    suite_sql("UPDATE stub SET body = '{\"calls\":[1]}', digests = substr(digests, 33), seq = 3",
              "UPDATE parley_stub SET body = '{\"calls\":[1]}', digests = substr(digests, 33),"
              " seq = 3");
    CHECK(problems(f, STR_NONE) >= 1);
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

    prepare(f);
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
