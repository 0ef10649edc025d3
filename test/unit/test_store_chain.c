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
    int64_t     created_ms;
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

static struct chain_mark with_link(const uint8_t link[CHAIN_LEN])
{
    return (struct chain_mark){ .link = str_n((const char *)link, CHAIN_LEN) };
}

TEST(a_chain_that_stops_or_ends_elsewhere_is_not_what_was_appended)
{
    struct store_fact  facts[3];
    uint8_t            links[3][CHAIN_LEN];
    struct chain_check c = { 0 };

    three_links(facts, links);
    CHECK(chain_follows(&c, LOG, &facts[0], with_link(links[0])));
    CHECK(chain_follows(&c, LOG, &facts[1], with_link(links[1])));
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
    CHECK(chain_follows(&c, LOG, &facts[2], with_link(head)));
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
