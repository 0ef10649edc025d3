/* test_audit_removals.c -- words that went while their conversation stays, and what conversations leave
 * that went: what verify believes of it, in every store, and what it does not (run/vouch.h). */
#include "audit_help.h"
#include "run/vouch.h"
#include "store/rows.h"

#define T ((struct log_name){ STR("ann"), STR("t") })

static struct str digest_of(struct fix *f, uint64_t seq, const char *kind, const char *body)
{
    uint8_t digest[CHAIN_LEN];
    char    hex[SHA256_HEX + 1];

    chain_digest(T, &(struct store_fact){ seq, (int64_t)seq, str_c(kind), str_c(body) }, digest);
    sha256_hex(digest, CHAIN_LEN, hex);
    return arena_dup(&f->arena, str_c(hex));
}

/* How ann's conversation t loses the words of its fact 2. */
struct losing {
    const char             *kind;     /* of the fact; NULL: "message" */
    const char             *was;      /* what stood there; NULL: "two" */
    const char             *says;     /* in the place of the digest of what is left; NULL: that */
    uint64_t                expected; /* 0: 3 */
    const struct sign_keys *by;       /* who signs it; NULL: nobody, as earlier versions */
    int64_t                 created;  /* of which conversation the signature speaks; 0: this one */
    const char             *kinds;    /* that were signed; NULL: "words", as the fact says */
    const char             *left;     /* NULL: "-" */
};

static struct str sign_trim(struct fix *f, const struct losing *x, struct str data)
{
    struct buf claim, line;
    char       name[CHAIN_NAME + 1];

    chain_name(T, x->created ? x->created : 1, name);
    buf_init(&claim, 0);
    buf_init(&line, 0);
    vouch_trim_claim(&claim, name, 9, str_c(x->kinds ? x->kinds : "words"), data);
    REQUIRE(sign_line(x->by, buf_view(&claim), &line) == OK);
    struct str s = arena_dup(&f->arena, buf_view(&line));
    buf_done(&claim);
    buf_done(&line);
    return s;
}

static void loses(struct fix *f, struct losing x)
{
    const char       *kind = x.kind ? x.kind : "message", *left = x.left ? x.left : "-";
    struct store_fact now = { 2, 2, str_c(kind), str_c(left) };
    struct str        says = x.says ? str_c(x.says) : digest_of(f, 2, kind, left);
    struct str        was = digest_of(f, 2, kind, x.was ? x.was : "two");
    struct str        data = arena_printf(&f->arena, "[[2,\"%s\"]]", says.ptr), body;

    if (x.by) data = arena_printf(&f->arena, "[[2,\"%s\",\"%s\"]]", says.ptr, was.ptr);
    body = x.by ? arena_printf(&f->arena, "{\"note\":\"words\",\"data\":%s,\"jws\":\"%s\"}",
                               data.ptr, sign_trim(f, &x, data).ptr)
                : arena_printf(&f->arena, "{\"note\":\"words\",\"data\":%s}", data.ptr);
    CHECK(fix_trim(f, "ann", "t",
                   (struct store_trim){
                       .expected = x.expected ? x.expected : 3,
                       .facts = &now,
                       .count = 1,
                       .note = { .at_ms = 9, .kind = STR("trimmed"), .body = body } }) == OK);
}

/* The second fact of t is of this kind; a checkpoint has noted it. */
static void prepare_kind(struct fix *f, const char *kind)
{
    struct ap p;

    audit_begin(f);
    audit_say(f, "t", 0, "one", 1);
    ap_init(&p, "ann", "t", 1, "two");
    p.fact.at_ms = 2;
    p.fact.kind = str_c(kind);
    CHECK(ap_run(f, &p) == OK);
    audit_say(f, "t", 2, "three", 3);
    audit_note(f);
}

STORE_TEST(words_that_the_server_took_out_and_signed_are_accounted_for)
{
    struct sign_keys none = { 0 };
    struct verify    v = { .keys = &none, .found = audit_told, .doubt = audit_told, .ctx = f };
    struct str       why;

    prepare_kind(f, "message");
    loses(f, (struct losing){ .by = &keys });
    CHECK(audit_problems(f, last) == 0 &&
          unvouched == 0); /* also against a checkpoint from before */
    said = STR("");
    CHECK(verify_store(&v, str_c(store_url), &f->arena, &why) == OK && v.trimmed == 1);
    CHECK(v.problems == 0 && v.unvouched == 1 && !said.len); /* nobody looked at the signature */
    audit_note(f);
    CHECK(audit_problems(f, last) == 0);
    loses(f, (struct losing){ .by = &keys, .expected = 4, .was = "-", .left = "--" });
    CHECK(audit_problems(f, last) == 0 && unvouched == 0); /* one kind of words after the other */
    suite_sql("UPDATE fact SET body = '+' WHERE seq = 2",
              "UPDATE parley_fact SET body = '+' WHERE seq = 2");
    CHECK(audit_problems(f, last) > 0); /* what is left is covered as well */
    suite_sql("UPDATE fact SET body = '--' WHERE seq = 2",
              "UPDATE parley_fact SET body = '--' WHERE seq = 2");
    CHECK(audit_problems(f, last) == 0);
    CHECK(fix_remove(f, "ann", "t", "{}", 10) == OK);
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

STORE_TEST(what_was_appended_stays_covered_when_its_words_are_gone)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .by = &keys });
    suite_sql("UPDATE fact SET digest = link WHERE seq = 2",
              "UPDATE parley_fact SET digest = link WHERE seq = 2");
    CHECK(audit_problems(f, last) > 0);
    sign_keys_done(&keys);
}

STORE_TEST(a_trim_that_nobody_signed_is_told_and_not_called_rewritten_where_none_were)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ 0 });
    CHECK(audit_problems(f, last) == 0 && unvouched == 1);
    SAYS("conversation t of ann: 1 facts lost words, from fact 2 on, and nobody signed that");
    signs = true; /* another version of the server: from here on they are */
    audit_note(f);
    audit_say(f, "u", 0, "later", 1);
    audit_note(f);
    CHECK(audit_problems(f, last) == 0 && unvouched == 1);
    loses(f, (struct losing){ .by = &keys, .expected = 4, .was = "-", .left = "--" });
    CHECK(audit_problems(f, last) == 0 && unvouched == 1); /* what it went on from nobody knows */
    sign_keys_done(&keys);
}

STORE_TEST(a_trim_that_nobody_signed_is_found_where_they_are)
{
    prepare_kind(f, "message");
    signs = true;
    audit_say(f, "t", 3, "four", 4);
    audit_note(f);
    loses(f, (struct losing){ .expected = 4 });
    CHECK(audit_problems(f, last) == 1);
    SAYS("conversation t of ann: it lost words, and nobody signed that at fact 2");
    audit_note(f);
    CHECK(audit_problems(f, last) == 1); /* and a checkpoint does not make it better */
    sign_keys_done(&keys);
}

STORE_TEST(a_trim_that_somebody_else_signed_is_found)
{
    struct sign_keys other;

    prepare_kind(f, "message");
    other = audit_key(&f->arena);
    loses(f, (struct losing){ .by = &other });
    CHECK(audit_problems(f, last) == 1);
    SAYS("that words of it went was signed by another key than those given at fact 2");
    sign_keys_done(&other);
    sign_keys_done(&keys);
}

STORE_TEST(a_signed_trim_says_nothing_about_other_facts_or_other_conversations)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .by = &keys, .created = 77 });
    CHECK(audit_problems(f, last) == 1);
    SAYS("it is neither what was appended nor what was left of that at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(what_a_trim_says_is_what_was_signed)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .by = &keys, .kinds = "tools" });
    CHECK(audit_problems(f, last) == 1);
    SAYS("what is said of the words it lost is not what was signed at fact 2");
    sign_keys_done(&keys);
}

/* Somebody rewrites a fact as one that lost words, waits until the server takes words out of it,
 * and so has its signature behind theirs. */
STORE_TEST(a_signature_that_goes_on_from_something_forged_is_none)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .left = "forged" });
    suite_sql("DELETE FROM fact WHERE kind = 'trimmed'; UPDATE thread SET seq = 3,"
              " links = (SELECT link FROM fact WHERE seq = 3)",
              "WITH gone AS (DELETE FROM parley_fact WHERE kind = 'trimmed') UPDATE parley_thread"
              " SET seq = 3, links = (SELECT link FROM parley_fact WHERE seq = 3)");
    loses(f, (struct losing){ .by = &keys, .was = "forged" });
    CHECK(audit_problems(f, last) == 1);
    SAYS("it is neither what was appended nor what was left of that at fact 2");
    sign_keys_done(&keys);
}

/* As they were appended, with their checksum. */
static void put_words_back(struct fix *f)
{
    struct store_fact was = { 2, 2, STR("message"), STR("two") };
    long long         sum = (long long)fact_sum(T, &was);

    suite_sql(arena_printf(&f->arena,
                           "UPDATE fact SET body = 'two', digest = NULL, sum = %lld WHERE seq = 2",
                           sum)
                  .ptr,
              arena_printf(&f->arena,
                           "UPDATE parley_fact SET body = 'two', digest = NULL, sum = %lld"
                           " WHERE seq = 2",
                           sum)
                  .ptr);
}

STORE_TEST(words_that_went_and_are_there_again_are_found)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .by = &keys });
    put_words_back(f);
    CHECK(audit_problems(f, last) == 1);
    SAYS("words that went are there again at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(what_is_left_of_a_fact_must_be_what_a_later_fact_says)
{
    prepare_kind(f, "message");
    loses(f, (struct losing){ .says = "00" });
    CHECK(audit_problems(f, last) == 1);
    SAYS("it is neither what was appended nor what was left of that at fact 2");
    sign_keys_done(&keys);
}

STORE_TEST(a_decision_cannot_be_rewritten_as_one_that_lost_words)
{
    prepare_kind(f, "decided");
    loses(f, (struct losing){ .kind = "decided", .by = &keys });
    CHECK(audit_problems(f, last) == 1);
    SAYS("words are gone where none may go at fact 2");
    sign_keys_done(&keys);
}

/* --- what a removed conversation leaves ---------------------------------------------------- */

static enum err sign_by(void *ctx, struct str payload, struct buf *out)
{
    return sign_line(ctx, payload, out);
}

static enum err check_by(void *ctx, struct str jws, struct arena *a, struct str *payload)
{
    return sign_check(ctx, jws, a, payload);
}

#define BY(keys) ((struct vouch){ sign_by, check_by, keys })

static const char *name_of_t(int64_t created_ms)
{
    static char name[CHAIN_NAME + 1];

    chain_name(T, created_ms, name);
    return name;
}

/* Ann's conversation t is removed at 10, and that is signed by `by`; NULL: by nobody. */
static void goes(struct fix *f, struct sign_keys *by, int64_t created_ms)
{
    struct vouch v = by ? BY(by) : (struct vouch){ 0 };
    struct str   body =
        vouch_stub(&v, &f->arena, name_of_t(created_ms), 10, STR("{\"calls\":[1]}"), 0);

    CHECK(fix_remove(f, "ann", "t", body.ptr, 10) == OK);
}

/* One conversation, t, noted; removals are signed from then on, or not yet. */
static void prepare_log(struct fix *f, bool by_now)
{
    prepare_kind(f, "message");
    signs = by_now;
    audit_say(f, "t", 3, "four", 4);
    audit_note(f);
}

STORE_TEST(a_stub_that_the_server_signed_is_believed)
{
    prepare_log(f, true);
    goes(f, &keys, 1);
    CHECK(audit_problems(f, last) == 0);
    audit_note(f);
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

/* Somebody puts a conversation away, and says that nothing was decided in it. */
STORE_TEST(a_stub_that_nobody_signed_is_found_where_they_are_signed)
{
    prepare_log(f, true);
    goes(f, NULL, 1);
    CHECK(audit_problems(f, last) == 1);
    SAYS("nobody signed its stub");
    audit_note(f);
    CHECK(audit_problems(f, last) == 1);
    sign_keys_done(&keys);
}

STORE_TEST(a_stub_from_before_they_were_signed_is_as_it_was)
{
    prepare_log(f, false);
    goes(f, NULL, 1);
    CHECK(audit_problems(f, last) == 0);
    signs = true;
    audit_note(f);
    audit_say(f, "u", 0, "later", 1);
    audit_note(f);
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

STORE_TEST(a_stub_that_was_signed_for_another_or_by_another_is_found)
{
    struct sign_keys other;

    prepare_log(f, true);
    goes(f, &keys, 77);
    CHECK(audit_problems(f, last) == 1);
    SAYS("its stub is not what was signed");
    other = audit_key(&f->arena);
    audit_say(f, "t", 0, "again", 2);
    goes(f, &other, 2);
    CHECK(audit_problems(f, STR_NONE) == 2);
    SAYS("its stub was signed by another key than those given");
    sign_keys_done(&other);
    sign_keys_done(&keys);
}

/* The stub there is loses a name, as sweep.c does it. */
static void is_erased(struct fix *f, uint64_t seq, struct str body)
{
    struct vouch v = BY(&keys);
    struct str   bare;
    uint64_t     from;

    REQUIRE(vouch_since(&v, &f->arena, name_of_t(1), seq, body, &bare, &from) == OK);
    body =
        vouch_stub(&v, &f->arena, name_of_t(1), 11, STR("{\"calls\":[1],\"created_ms\":1}"), from);
    CHECK(fix_erase(f, (struct store_erase){ .num = 1,
                                             .seq = seq,
                                             .owner = STR("erased-x"),
                                             .thread = arena_dup(&f->arena, str_c(name_of_t(1))),
                                             .body = body,
                                             .at_ms = 11 }) == OK);
}

static struct str signed_body(struct fix *f)
{
    struct vouch v = BY(&keys);
    return vouch_stub(&v, &f->arena, name_of_t(1), 10, STR("{\"calls\":[1]}"), 0);
}

STORE_TEST(who_is_erased_from_a_stub_leaves_it_signed_as_far_as_it_was)
{
    prepare_log(f, true);
    goes(f, &keys, 1);
    is_erased(f, 5, signed_body(f));
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

STORE_TEST(erasing_does_not_vouch_for_a_stub_that_nobody_signed)
{
    prepare_log(f, true);
    goes(f, NULL, 1);
    is_erased(f, 5, STR("{\"calls\":[1]}"));
    CHECK(audit_problems(f, last) == 1);
    SAYS("nobody had signed its stub");
    sign_keys_done(&keys);
}

STORE_TEST(a_stub_from_before_may_be_erased_after)
{
    prepare_log(f, false);
    goes(f, NULL, 1);
    signs = true;
    audit_note(f);
    is_erased(f, 5, STR("{\"calls\":[1]}"));
    CHECK(audit_problems(f, last) == 0);
    sign_keys_done(&keys);
}

TEST(a_signature_is_the_last_member_of_a_body_and_nothing_else_is)
{
    static const char *const none[] = { "",
                                        "{}",
                                        "{\"jws\":\"a\"}",
                                        "{\"a\":1,\"jws\":\"a b\"}",
                                        "{\"a\":1,\"jws\":\"\"}",
                                        "{\"a\":1,\"jws\":\"a\" }",
                                        "{\"a\":\",\\\"jws\\\":\\\"x\"}" };
    struct arena             a;
    struct str               bare, jws;

    arena_init(&a, 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(vouch_open(&a, str_c(none[i]), &bare, &jws) == OK && !jws.ptr);
        CHECK_STR(bare, none[i]);
    }
    CHECK(vouch_open(&a, STR("{\"a\":1,\"jws\":\"x.y-_\"}"), &bare, &jws) == OK);
    CHECK_STR(bare, "{\"a\":1}");
    CHECK_STR(jws, "x.y-_");
    arena_done(&a);
}
