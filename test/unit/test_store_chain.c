/* test_store_chain.c -- facts are tied to each other, removed logs leave a stub, checkpoints are
 * numbered: in every store. The chain is computed here a second time, from what is read. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/links.h"
#include "store/rows.h"
#include "store_help.h"
#include "store_suite.h"
#include "test.h"

struct told {
    struct fix *f;
    uint8_t     head[CHAIN_LEN]; /* computed here */
    int64_t     created_ms, updated_ms;
    uint64_t    seq;
    enum err    e;
};

struct look {
    struct store_read r;
    struct told      *out;
};

static void on_look(struct store_read *r, enum err e, const struct store_fact *facts, size_t count)
{
    struct told *t = LIST_ITEM(r, struct look, r)->out;
    uint8_t      digest[CHAIN_LEN];

    t->e = e;
    t->f->pending--;
    t->created_ms = r->created_ms;
    t->updated_ms = r->updated_ms;
    t->seq = r->seq;
    for (size_t i = 0; i < count; i++) {
        chain_digest(r->log, &facts[i], digest);
        chain_link(t->head, digest);
    }
}

static struct told look_at(struct fix *f, const char *owner, const char *thread)
{
    struct told t = { .f = f };
    struct look l = { .out = &t, .r = { .log = { str_c(owner), str_c(thread) }, .done = on_look } };

    f->pending++;
    store_read(f->store, &l.r);
    fix_wait(f);
    return t;
}

/* Of the only log that no checkpoint has noted: the store's own. */
struct stored {
    struct store_list list;
    struct fix       *f;
    uint8_t           head[CHAIN_LEN];
};

static void on_stored(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                      struct str next)
{
    struct stored *s = LIST_ITEM(l, struct stored, list);

    (void)next;
    s->f->pending--;
    REQUIRE(!e && count == 1 && rows[0].head.len == CHAIN_LEN);
    memcpy(s->head, rows[0].head.ptr, CHAIN_LEN);
}

static struct stored stored_head(struct fix *f)
{
    struct stored s = { .f = f, .list = { .kind = STORE_HEADS, .done = on_stored } };

    f->pending++;
    store_list(f->store, &s.list);
    fix_wait(f);
    return s;
}

STORE_TEST(every_fact_is_tied_to_all_before_it)
{
    struct store_fact three[3] = { { .at_ms = 10, .kind = STR("a"), .body = STR("1") },
                                   { .at_ms = 20, .kind = STR("b"), .body = STR("") },
                                   { .at_ms = -30, .kind = STR("c"), .body = STR("3") } };
    struct ap         p;
    struct told       t;

    CHECK(fix_append(f, "ann", "t", 0, "{}") == OK);
    ap_init(&p, "ann", "t", 1, "");
    p.a.facts = three;
    p.a.fact_count = 3;
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_append(f, "ann", "t", 4, "{\"a\":1}") == OK);
    t = look_at(f, "ann", "t");
    CHECK(t.e == OK && t.seq == 5);
    CHECK(memcmp(t.head, stored_head(f).head, CHAIN_LEN) == 0);
}

STORE_TEST(the_same_words_in_another_log_have_another_head)
{
    struct store_fact one = { .at_ms = 10, .kind = STR("a"), .body = STR("1") };
    struct ap         p;
    struct told       a, b;

    for (int i = 0; i < 2; i++) {
        ap_init(&p, "ann", i ? "u" : "t", 0, "");
        p.a.facts = &one;
        CHECK(ap_run(f, &p) == OK);
    }
    a = look_at(f, "ann", "t");
    b = look_at(f, "ann", "u");
    CHECK(memcmp(a.head, b.head, CHAIN_LEN) != 0);
}

/* --- comparing ------------------------------------------------------------------------- */

#define LOG ((struct log_name){ STR("ann"), STR("t") })

/* Three facts and their links, as a store keeps them. */
static void three_links(struct store_fact facts[3], uint8_t links[3][CHAIN_LEN])
{
    uint8_t head[CHAIN_LEN] = { 0 }, digest[CHAIN_LEN];

    for (int i = 0; i < 3; i++) {
        facts[i] = (struct store_fact){ (uint64_t)i + 1, 10 * i, STR("note"), STR("words") };
        chain_digest(LOG, &facts[i], digest);
        chain_link(head, digest);
        memcpy(links[i], head, CHAIN_LEN);
    }
}

static struct chain_mark with_link(const struct store_fact *f, const uint8_t link[CHAIN_LEN])
{
    return (struct chain_mark){ .link = str_n((const char *)link, CHAIN_LEN),
                                .summed = true,
                                .sum = fact_sum(LOG, f) };
}

TEST(a_fact_with_a_link_has_a_checksum)
{
    struct store_fact  facts[3];
    uint8_t            links[3][CHAIN_LEN];
    struct chain_check c = { 0 };
    struct chain_mark  m;

    three_links(facts, links);
    m = with_link(&facts[0], links[0]);
    m.summed = false;
    CHECK(!chain_follows(&c, LOG, &facts[0], m));
}

TEST(a_chain_that_stops_or_ends_elsewhere_is_not_what_was_appended)
{
    struct store_fact  facts[3];
    uint8_t            links[3][CHAIN_LEN];
    struct chain_check c = { 0 };

    three_links(facts, links);
    CHECK(chain_follows(&c, LOG, &facts[0], with_link(&facts[0], links[0])));
    CHECK(chain_follows(&c, LOG, &facts[1], with_link(&facts[1], links[1])));
    CHECK(!chain_ends(&c, str_n((char *)links[2], CHAIN_LEN)) && !chain_ends(&c, STR_NONE));
    CHECK(!chain_follows(&c, LOG, &facts[2], (struct chain_mark){ .summed = false }));
}

TEST(facts_from_before_the_chain_are_counted_and_only_their_checksum_speaks_for_them)
{
    struct store_fact  facts[3];
    uint8_t            links[3][CHAIN_LEN], head[CHAIN_LEN] = { 0 }, digest[CHAIN_LEN];
    struct chain_check c = { 0 };

    three_links(facts, links);
    CHECK(chain_follows(&c, LOG, &facts[0], (struct chain_mark){ .summed = false }));
    CHECK(!chain_follows(&c, LOG, &facts[1],
                         (struct chain_mark){ .summed = true, .sum = fact_sum(LOG, &facts[0]) }));
    CHECK(c.before == 2 && chain_ends(&c, STR_NONE));
    chain_digest(LOG, &facts[2], digest);
    chain_link(head, digest); /* it begins here */
    CHECK(chain_follows(&c, LOG, &facts[2], with_link(&facts[2], head)));
    CHECK(c.before == 2 && chain_ends(&c, str_n((char *)head, CHAIN_LEN)));
}

/* --- heads and checkpoints ------------------------------------------------------------ */

#define HEADS ((struct store_list){ .kind = STORE_HEADS })

static struct str name_of(struct fix *f, const char *thread)
{
    char        name[CHAIN_NAME + 1];
    struct told t = look_at(f, "ann", thread);

    chain_name((struct log_name){ STR("ann"), str_c(thread) }, t.created_ms, name);
    return arena_dup(&f->arena, str_c(name));
}

struct noting {
    struct store_list       list;
    struct store_checkpoint c;
    struct fix             *f;
    enum err                e;
    struct store_row        rows[8];
};

static void on_noted(struct store_checkpoint *c, enum err e)
{
    struct noting *n = LIST_ITEM(c, struct noting, c);
    n->e = e;
    n->f->pending--;
}

static void on_heads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct noting *n = LIST_ITEM(l, struct noting, list);

    (void)next;
    REQUIRE(!e && count <= 8);
    if (count) memcpy(n->rows, rows, count * sizeof *rows);
    n->c.heads = n->rows;
    n->c.head_count = count;
    store_checkpoint(n->f->store, &n->c);
}

/* A checkpoint over all that is not noted yet. */
static enum err note_all(struct fix *f, uint64_t number, const char *line)
{
    struct noting n = { .f = f };

    n.c = (struct store_checkpoint){ .number = number, .line = str_c(line), .done = on_noted };
    n.list = (struct store_list){ .kind = STORE_HEADS, .done = on_heads };
    f->pending++;
    store_list(f->store, &n.list);
    fix_wait(f);
    return n.e;
}

static enum err tell(struct fix *f, uint64_t number)
{
    struct noting n = { .f = f, .c = { .number = number, .done = on_noted } };

    f->pending++;
    store_checkpoint(f->store, &n.c);
    fix_wait(f);
    return n.e;
}

STORE_TEST(a_head_is_listed_until_a_checkpoint_notes_it_and_again_when_it_moves)
{
    struct str name;

    CHECK_STR(fix_list(f, HEADS, NULL), "");
    CHECK(fix_append(f, "ann", "t", 0, "1") == OK);
    name = name_of(f, "t");
    CHECK_STR(fix_list(f, HEADS, NULL), arena_printf(&f->arena, "log 1 %s;", name.ptr).ptr);
    CHECK(note_all(f, 1, "one") == OK);
    CHECK_STR(fix_list(f, HEADS, NULL), "");
    CHECK(fix_append(f, "ann", "t", 1, "2") == OK);
    CHECK_STR(fix_list(f, HEADS, NULL), arena_printf(&f->arena, "log 2 %s;", name.ptr).ptr);
    CHECK(fix_append(f, "ann", "u", 0, "1") == OK);
    CHECK(note_all(f, 2, "two") == OK);
    CHECK_STR(fix_list(f, HEADS, NULL), "");
}

STORE_TEST(checkpoints_have_no_holes_and_a_second_one_of_a_number_is_refused)
{
    CHECK(note_all(f, 2, "early") == ERR_CONFLICT);
    CHECK(note_all(f, 1, "one") == OK);
    CHECK(fix_append(f, "ann", "t", 0, "1") == OK);
    CHECK(note_all(f, 1, "other") == ERR_CONFLICT);
    CHECK(str_starts(fix_list(f, HEADS, NULL), STR("log 1 "))); /* nothing of it is noted */
    CHECK(note_all(f, 2, "two") == OK);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_LAST }, NULL), "2 two;");
}

STORE_TEST(a_checkpoint_is_told_once_also_after_a_restart)
{
    struct store_list untold = { .kind = STORE_UNTOLD };

    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_LAST }, NULL), "");
    CHECK(note_all(f, 1, "one") == OK && note_all(f, 2, "two") == OK);
    CHECK_STR(fix_list(f, untold, NULL), "1 one;2 two;");
    CHECK(tell(f, 1) == OK);
    suite_reopen(f);
    CHECK_STR(fix_list(f, untold, NULL), "2 two;");
    CHECK(tell(f, 2) == OK);
    CHECK_STR(fix_list(f, untold, NULL), "");
}

/* --- stubs ------------------------------------------------------------------------- */

STORE_TEST(a_removed_log_leaves_its_digests_and_a_last_fact)
{
    struct log_name   log = { STR("ann"), STR("t") };
    struct store_fact last = { 3, 77, STR("removed"), STR("{\"calls\":[]}") };
    struct str        name;
    struct told       t;
    uint8_t           digest[CHAIN_LEN];
    struct stub_seen  s;

    CHECK(fix_append(f, "ann", "t", 0, "secret") == OK);
    CHECK(fix_append(f, "ann", "t", 1, "words") == OK);
    CHECK(note_all(f, 1, "one") == OK);
    name = name_of(f, "t");
    t = look_at(f, "ann", "t");
    CHECK(fix_remove(f, "ann", "t", "{\"calls\":[]}", 77) == OK);
    CHECK_STR(fix_read(f, "ann", "t", 0), "not_found");
    CHECK_STR(fix_list(f, HEADS, NULL), arena_printf(&f->arena, "stub 3 %s;", name.ptr).ptr);

    s = suite_stub(f);
    chain_digest(log, &last, digest);
    chain_link(t.head, digest);
    CHECK(s.count == 1 && s.digests_len == 3 * CHAIN_LEN);
    CHECK(memcmp(s.digests + 2 * CHAIN_LEN, digest, CHAIN_LEN) == 0);
    CHECK(memcmp(s.head, t.head, CHAIN_LEN) == 0);
    memset(t.head, 0, CHAIN_LEN);
    for (int i = 0; i < 3; i++) chain_link(t.head, s.digests + i * CHAIN_LEN);
    CHECK(memcmp(s.head, t.head, CHAIN_LEN) == 0);

    CHECK(note_all(f, 2, "two") == OK);
    CHECK_STR(fix_list(f, HEADS, NULL), "");
    CHECK(fix_append(f, "ann", "t", 0, "again") == OK); /* the name is free */
    CHECK(str_starts(fix_list(f, HEADS, NULL), STR("log 1 ")));
}

/* --- erasing, and what is old -------------------------------------------------------- */

STORE_TEST(a_stub_gets_another_name_and_its_chain_goes_on)
{
    struct store_list hers = { .kind = STORE_STUBS, .owner = STR("ann"), .search = STR("\"ann\"") };
    struct store_erase x = { .num = 1,
                             .seq = 2,
                             .owner = STR("erased-x"),
                             .thread = STR("y"),
                             .body = STR("{}"),
                             .at_ms = 99 };
    struct store_fact  last = { 3, 99, STR("erased"), STR("{}") };
    struct stub_seen   before, after;
    uint8_t            digest[CHAIN_LEN];

    CHECK(fix_append(f, "ann", "t", 0, "1") == OK);
    CHECK(fix_append(f, "bob", "u", 0, "1") == OK);
    CHECK(fix_remove(f, "ann", "t", "{\"a\":1}", 77) == OK);
    CHECK_STR(fix_list(f, hers, NULL), "ann/t 2 {\"a\":1};");
    before = suite_stub(f);
    CHECK(fix_erase(f, x) == OK);
    CHECK_STR(fix_list(f, hers, NULL), "");
    after = suite_stub(f);
    chain_digest((struct log_name){ x.owner, x.thread }, &last, digest);
    chain_link(before.head, digest);
    CHECK(memcmp(before.head, after.head, CHAIN_LEN) == 0);
    CHECK(after.digests_len == 3 * CHAIN_LEN);
    CHECK(fix_erase(f, x) == ERR_CONFLICT); /* it is further on */
    CHECK(fix_remove(f, "bob", "u", "{\"by\":\"ann\"}", 78) == OK);
    CHECK_STR(fix_list(f, hers, NULL), "bob/u 2 {\"by\":\"ann\"};");
}

STORE_TEST(what_somebody_spent_is_forgotten)
{
    struct store_list  used = { .kind = STORE_USED, .day = 3 };
    struct store_spent spent[] = { { STR("tokens/ann"), 3, 7 }, { STR("tokens/anna"), 3, 9 } };
    struct str         hers = STR("tokens/ann");
    struct ap          p;

    ap_init(&p, "ann", "t", 0, "1");
    p.a.spent = spent;
    p.a.spent_count = 2;
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_erase(
              f, (struct store_erase){ .owner = STR("ann"), .sums = &hers, .sum_count = 1 }) == OK);
    used.owner = spent[0].key;
    CHECK_STR(fix_list(f, used, NULL), "");
    used.owner = spent[1].key;
    CHECK_STR(fix_list(f, used, NULL), "9;");
}

STORE_TEST(rows_of_somebody_go_and_nobody_else_s)
{
    static const char *const kept[] = {
        "mcp/mail",   "mcp/mail/annann", "mcp/mail/b/ann", "mcp/ann", "mcp/ann/",
        "browser/01", "browser/012/x",   "tool/ann",       "share:2", "mcp"
    };
    static const char *const gone[] = { "mcp/mail/ann", "mcp/x\xc3\xa9/ann", "browser/01/x",
                                        "share:1" };
    struct store_match       rows[] = { { .begins = STR("mcp/"), .ends = STR("/ann") },
                                        { .begins = STR("browser/01/") },
                                        { .begins = STR("share:"), .holds = STR("\"owner\":\"ann\"") } };

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        fix_session(f, SESSION_PUT, kept[i], "{\"owner\":\"anna\"}", INT64_MAX);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        fix_session(f, SESSION_PUT, gone[i], "{\"owner\":\"ann\"}", INT64_MAX);
    CHECK(fix_erase(f, (struct store_erase){ .owner = STR("ann"), .rows = rows, .row_count = 3 }) ==
          OK);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        CHECK(!str_is(fix_session(f, SESSION_GET, kept[i], NULL, 0), "not_found"));
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        CHECK_STR(fix_session(f, SESSION_GET, gone[i], NULL, 0), "not_found");
}

/* One append that takes the key. */
static enum err take(struct fix *f, const char *owner, const char *thread, const char *key)
{
    struct store_take k = { .op = TAKE_MAKE,
                            .key = str_c(key),
                            .kind = STR("effect"),
                            .holder = STR("call-1"),
                            .state = STR("done"),
                            .body = STR("{\"owner\":\"ann\"}") };
    struct ap         p;

    ap_init(&p, owner, thread, 0, "1");
    p.a.takes = &k;
    p.a.take_count = 1;
    return ap_run(f, &p);
}

STORE_TEST(what_somebody_s_payment_took_stays_taken_without_a_name)
{
    struct store_erase x = { .owner = STR("ann"),
                             .kind = STR("effect"),
                             .own = STR("effect/"),
                             .as = STR("erased-x"),
                             .body = STR("{}") };

    CHECK(take(f, "ann", "t", "effect:invoice 7") == OK);
    CHECK(take(f, "ann", "u", "effect/ann/hello") == OK);
    CHECK(take(f, "ben", "t", "effect/ben/hello") == OK);
    CHECK(fix_erase(f, x) == OK);
    CHECK(take(f, "ben", "u", "effect:invoice 7") == ERR_TAKEN);
    CHECK(take(f, "ben", "u", "effect/ben/hello") == ERR_TAKEN);
    CHECK(take(f, "ann", "v", "effect/ann/hello") == OK); /* their own went with them */
    CHECK(str_starts(fix_list(f,
                              (struct store_list){ .kind = STORE_STOCK,
                                                   .everybody = true,
                                                   .id = STR("effect:invoice 7") },
                              NULL),
                     STR("erased-x//effect:invoice 7 ")));
}

STORE_TEST(who_is_to_be_forgotten_has_also_logs_that_are_in_no_list)
{
    struct ap p;

    ap_init(&p, "ann", "call", 0, "1");
    p.a.origin = (struct store_origin){ STR("mcp"), STR("g") };
    CHECK(ap_run(f, &p) == OK);
    CHECK(fix_append(f, "ben", "other", 0, "1") == OK);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_THREADS, .owner = STR("ann") }, NULL),
              "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_LOGS, .owner = STR("ann") }, NULL),
              "ann/call idle;");
}

STORE_TEST(old_conversations_are_listed_by_what_happened_in_them)
{
    struct store_approval asked = { .id = STR("c"), .status = STR("done"), .body = STR("{}") };
    struct ap             p;

    for (int i = 0; i < 3; i++) {
        ap_init(&p, "ann", i == 0 ? "plain" : i == 1 ? "asked" : "running", 0, "1");
        p.fact.at_ms = 50;
        p.a.state = i == 2 ? STR("running") : STR("idle");
        if (i == 1) p.a.approvals = &asked, p.a.approval_count = 1;
        CHECK(ap_run(f, &p) == OK);
    }
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_OLD, .due_ms = 50, .day = 50 }, NULL),
              "");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_OLD, .due_ms = 51 }, NULL),
              "ann/plain idle;");
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_OLD, .day = 51 }, NULL),
              "ann/asked idle;");
}

STORE_TEST(an_old_conversation_with_a_call_that_nobody_settled_is_not_listed)
{
    struct store_approval open = { .id = STR("c"), .status = STR("unknown"), .body = STR("{}") };
    struct ap             p;

    ap_init(&p, "ann", "t", 0, "1");
    p.fact.at_ms = 50;
    p.a.state = STR("idle");
    p.a.approvals = &open, p.a.approval_count = 1;
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, (struct store_list){ .kind = STORE_OLD, .due_ms = 51, .day = 51 }, NULL),
              "");
}

/* --- words that go while their log stays ---------------------------------------------------- */

/* Of ann's log t: fact 2 says "-" from now on. */
static struct store_trim second_goes(uint64_t expected, int64_t at_ms)
{
    static struct store_fact left;

    left = (struct store_fact){ 2, at_ms, STR("note"), STR("-") };
    return (struct store_trim){ .expected = expected,
                                .facts = &left,
                                .count = 1,
                                .note = { .at_ms = 99, .kind = STR("trimmed"), .body = STR("{}") },
                                .kinds = 1 };
}

STORE_TEST(a_fact_that_lost_words_keeps_its_place_in_the_chain)
{
    struct log_name   log = { STR("ann"), STR("t") };
    struct store_fact was = { 2, 0, STR("note"), STR("secret") };
    struct stored     before;
    struct stub_seen  s;
    uint8_t           digest[CHAIN_LEN], note[CHAIN_LEN];

    CHECK(fix_append(f, "ann", "t", 0, "one") == OK);
    CHECK(fix_append(f, "ann", "t", 1, "secret") == OK);
    before = stored_head(f);
    was.at_ms = look_at(f, "ann", "t").updated_ms;
    CHECK(fix_trim(f, "ann", "t", second_goes(2, was.at_ms)) == OK);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note one;2 note -;3 trimmed {};");
    CHECK(look_at(f, "ann", "t").updated_ms == was.at_ms); /* nobody changed it */
    chain_digest(log, &(struct store_fact){ 3, 99, STR("trimmed"), STR("{}") }, note);
    chain_link(before.head, note);
    CHECK(memcmp(before.head, stored_head(f).head, CHAIN_LEN) == 0);

    /* once more: what it was stays known */
    CHECK(fix_trim(f, "ann", "t", second_goes(3, was.at_ms)) == OK);
    CHECK(fix_remove(f, "ann", "t", "{}", 100) == OK);
    s = suite_stub(f);
    chain_digest(log, &was, digest);
    CHECK(s.digests_len == 5 * CHAIN_LEN);
    CHECK(memcmp(s.digests + CHAIN_LEN, digest, CHAIN_LEN) == 0);
    CHECK(memcmp(s.digests + 2 * CHAIN_LEN, note, CHAIN_LEN) == 0);
}

STORE_TEST(words_go_only_from_a_log_as_it_was_seen)
{
    CHECK(fix_append(f, "ann", "t", 0, "one") == OK);
    CHECK(fix_append(f, "ann", "t", 1, "two") == OK);
    CHECK(fix_trim(f, "ann", "t", second_goes(1, 0)) == ERR_CONFLICT);
    CHECK(fix_trim(f, "ann", "u", second_goes(1, 0)) == ERR_NOT_FOUND);
    CHECK_STR(fix_read(f, "ann", "t", 0), "1 note one;2 note two;");
}

STORE_TEST(a_log_is_listed_until_its_words_are_gone_and_again_when_it_changes)
{
    struct store_list due = { .kind = STORE_UNTRIMMED, .dues = { INT64_MAX, 0, 0, 0 } };
    struct store_trim nothing = { .expected = 2, .kinds = 1 };
    struct ap         p;

    CHECK(fix_append(f, "ann", "t", 0, "one") == OK);
    CHECK(fix_append(f, "ann", "t", 1, "two") == OK);
    ap_init(&p, "ann", "running", 0, "1");
    p.a.state = STR("running");
    CHECK(ap_run(f, &p) == OK);
    CHECK_STR(fix_list(f, due, NULL), "ann/t idle;");
    due.after = INT64_MAX - 1;
    CHECK_STR(fix_list(f, due, NULL), "");
    due.after = 0;
    CHECK(fix_trim(f, "ann", "t", nothing) == OK); /* there was nothing: no fact says so */
    CHECK_STR(fix_read(f, "ann", "t", 1), "2 note two;");
    CHECK_STR(fix_list(f, due, NULL), "");
    due.dues[3] = INT64_MAX; /* another kind falls due */
    CHECK_STR(fix_list(f, due, NULL), "ann/t idle;");
    due.dues[3] = 0;
    CHECK(fix_append(f, "ann", "t", 2, "three") == OK);
    CHECK_STR(fix_list(f, due, NULL), "ann/t idle;");
    CHECK(fix_trim(f, "ann", "t", second_goes(3, 0)) == OK);
    CHECK_STR(fix_list(f, due, NULL), "");
    CHECK(fix_append(f, "ann", "t", 4, "five") == OK);
    due.dues[0] = 1; /* none is as old as that */
    CHECK_STR(fix_list(f, due, NULL), "");
}
