/* test_trim.c -- words that go while their conversation stays: which, from which facts, and what is
 * left alone. */
#include "run/basis.h"
#include "run/sweep.h"
#include "run/trim.h"
#include "stage.h"
#include "store/links.h"
#include "tale.h"

/* What is left of fact `seq` when these kinds go; "": all of it. */
static const char *left(struct tale *t, struct arena *a, uint64_t seq, unsigned kinds)
{
    struct str out;
    CHECK(trim_body(a, tale_fold(t), tale_fold(t)->facts[seq - 1], kinds, &out) == OK);
    return out.ptr ? out.ptr : "";
}

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

/* A turn with everything in it: facts 1 to 7. */
static void everything(struct tale *t)
{
    tale_init(t);
    tale_fact(t, (struct fact){ .kind = FACT_MESSAGE,
                                .run = STR("run_1"),
                                .text = STR("my secret"),
                                .by = STR("ann"),
                                .files = STR("[{\"mediaType\":\"image/png\",\"url\":\"data:image/"
                                             "png;base64,AAAA\",\"filename\":\"cat.png\"}]") });
    tale_step(t, "run_1", "calls", 3, thought("they mean it"), words("Let me."),
              call("call-1", "pay", "{\"to\":\"Hanako\"}", GATE_ASK));
    tale_asked(t, "call-1");
    tale_decided(t, "call-1", WORD_APPROVED);
    tale_started(t, "call-1");
    tale_finished(t, "call-1", WORD_DONE, "paid Hanako");
    tale_ended(t, "run_1", WORD_COMPLETE);
}

TEST(each_kind_takes_its_own_words_and_no_others)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    everything(&t);
    const char *files = left(&t, &a, 1, TRIM_FILES), *said = left(&t, &a, 1, TRIM_WORDS);
    CHECK(has(files, "my secret") && has(files, "cat.png") && !has(files, "AAAA"));
    CHECK(!has(said, "my secret") && has(said, TRIM_MARK) && has(said, "AAAA") && has(said, "ann"));
    CHECK(!*left(&t, &a, 1, TRIM_TOOLS | TRIM_REASONING));
    const char *tools = left(&t, &a, 2, TRIM_TOOLS), *thoughts = left(&t, &a, 2, TRIM_REASONING);
    CHECK(!has(tools, "Hanako") && has(tools, "they mean it") && has(tools, "Let me."));
    CHECK(has(tools, "\"call\":\"call-1\"") && has(tools, "\"gate\":\"ask\""));
    CHECK(!has(thoughts, "they mean it") && has(thoughts, "Hanako") && has(thoughts, "Let me."));
    CHECK(!has(left(&t, &a, 2, TRIM_WORDS), "Let me."));
    const char *result = left(&t, &a, 6, TRIM_TOOLS);
    CHECK(!has(result, "Hanako") && has(result, "\"outcome\":\"done\""));
    arena_done(&a);
    tale_done(&t);
}

TEST(what_was_asked_and_decided_is_never_touched)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    everything(&t);
    for (uint64_t seq = 3; seq <= 5; seq++) CHECK(!*left(&t, &a, seq, 15));
    CHECK(!trim_may(STR("asked")) && !trim_may(STR("decided")) && !trim_may(STR("voted")));
    CHECK(!trim_may(STR("started")) && !trim_may(STR("settled")) && !trim_may(STR("trimmed")));
    CHECK(trim_may(STR("message")) && trim_may(STR("finished")));
    arena_done(&a);
    tale_done(&t);
}

TEST(what_is_gone_is_not_taken_twice)
{
    struct tale  t;
    struct arena a;
    struct fold  now;

    arena_init(&a, 0);
    everything(&t);
    fold_init(&now);
    for (uint64_t s = 1; s <= 7; s++) {
        const struct fact *x = tale_fold(&t)->facts[s - 1];
        const char        *body = left(&t, &a, s, 15);
        CHECK(fold_apply(&now, &(struct stored_fact){ s, x->at_ms, str_c(fact_name(x->kind)),
                                                      *body ? str_c(body) : x->body }) == OK);
    }
    for (size_t i = 0; i < now.count; i++) {
        struct str out;
        CHECK(trim_body(&a, &now, now.facts[i], 15, &out) == OK && !out.ptr);
    }
    CHECK(now.calls[0]->finished->outcome == WORD_DONE && now.calls[0]->decided);
    CHECK(strcmp(fold_state(&now), "idle") == 0);
    fold_done(&now);
    arena_done(&a);
    tale_done(&t);
}

TEST(a_call_of_unknown_outcome_keeps_its_words_until_it_is_settled)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    tale_init(&t);
    tale_message(&t, "run_1", "pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{\"to\":\"Hanako\"}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_UNKNOWN, "cut off at Hanako");
    tale_ended(&t, "run_1", WORD_COMPLETE);
    CHECK(!*left(&t, &a, 2, TRIM_TOOLS) && !*left(&t, &a, 4, TRIM_TOOLS));
    tale_fact(&t,
              (struct fact){ .kind = FACT_SETTLED, .call = STR("call-1"), .outcome = WORD_DONE });
    CHECK(*left(&t, &a, 2, TRIM_TOOLS) && *left(&t, &a, 4, TRIM_TOOLS));
    arena_done(&a);
    tale_done(&t);
}

/* Paid, under this key. */
static void paid_under(struct tale *t, const char *key)
{
    tale_init(t);
    tale_message(t, "run_1", "pay");
    tale_step(t, "run_1", "calls", 1, call("call-1", "pay", "{\"to\":\"Hanako\"}", GATE_ASK));
    tale_asked(t, "call-1");
    tale_decided(t, "call-1", WORD_APPROVED);
    tale_fact(t,
              (struct fact){ .kind = FACT_STARTED, .call = STR("call-1"), .effect = str_c(key) });
    tale_finished(t, "call-1", WORD_DONE, "receipt 42");
    tale_ended(t, "run_1", WORD_COMPLETE);
}

TEST(what_a_call_with_an_effect_came_to_stays_and_so_does_its_key)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    paid_under(&t, "effect:invoice 7");
    CHECK(!*left(&t, &a, 5, 15) && !*left(&t, &a, 6, 15)); /* started, finished */
    CHECK(!has(left(&t, &a, 2, TRIM_TOOLS), "Hanako"));    /* what it was given goes */
    tale_done(&t);
    paid_under(&t, "effect/ann/hello");
    CHECK(!*left(&t, &a, 6, 15));
    tale_done(&t);
    paid_under(&t,
               "effect/ann/words:0123:1:pay:0:abcd"); /* no tool's: the same request only once */
    CHECK(!*left(&t, &a, 5, 15) && !has(left(&t, &a, 6, TRIM_TOOLS), "receipt"));
    tale_done(&t);
    arena_done(&a);
}

TEST(what_was_brought_and_what_other_versions_did_goes_too)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    tale_init(&t);
    tale_fact(&t, (struct fact){ .kind = FACT_BROUGHT,
                                 .data = STR("[{\"role\":\"user\",\"text\":\"a secret\"}]") });
    tale_fact(&t, (struct fact){ .kind = FACT_FORKED,
                                 .data = STR("[{\"call\":\"c\",\"tool\":\"pay\",\"text\":\"paid "
                                             "Hanako\",\"outcome\":\"done\",\"data\":{\"to\":"
                                             "\"Hanako\"}}]") });
    CHECK(!has(left(&t, &a, 1, TRIM_WORDS), "secret") && has(left(&t, &a, 1, TRIM_WORDS), "user"));
    CHECK(!*left(&t, &a, 1, TRIM_TOOLS) && !*left(&t, &a, 2, TRIM_WORDS));
    const char *did = left(&t, &a, 2, TRIM_TOOLS);
    CHECK(!has(did, "Hanako") && has(did, "\"tool\":\"pay\"") && has(did, "\"outcome\":\"done\""));
    arena_done(&a);
    tale_done(&t);
}

/* A fact "response" whose request said so; what is left of it. */
static const char *requested(struct tale *t, struct arena *a, const char *input, unsigned kinds)
{
    tale_init(t);
    tale_fact(t, (struct fact){ .kind = FACT_RESPONSE,
                                .id = STR("resp_1"),
                                .data = arena_printf(a,
                                                     "{\"form\":\"items\",\"store\":true,"
                                                     "\"instructions\":\"for Ann\",\"metadata\":"
                                                     "{\"of\":\"Bea\"},\"tools\":[{\"name\":"
                                                     "\"cleo\"}],\"input\":[%s],\"tell\":[]}",
                                                     input) });
    const char *rest = left(t, a, 1, kinds);
    tale_done(t);
    return rest;
}

TEST(what_a_request_said_goes_with_the_kinds_of_its_words)
{
    const char *plain =
        "{\"role\":\"user\",\"content\":\"Hanako\"},{\"type\":\"message\",\"content\":"
        "[{\"type\":\"input_text\",\"text\":\"Taro\"}]}";
    const char *picture =
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"},"
        "{\"type\":\"input_image\",\"image_url\":\"data:Hanako\"}]}";
    const char *output =
        "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"Hanako\"}";
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    const char *rest = requested(&t, &a, plain, TRIM_WORDS);
    CHECK(has(rest, "\"form\":\"items\"") && has(rest, "\"store\":true") && has(rest, "resp_1"));
    CHECK(!has(rest, "Ann") && !has(rest, "Bea") && !has(rest, "cleo") && !has(rest, "Hanako"));
    CHECK(!*requested(&t, &a, plain, TRIM_TOOLS | TRIM_FILES | TRIM_REASONING));
    const unsigned kinds[] = { TRIM_TOOLS, TRIM_FILES };
    for (size_t i = 0; i < 2; i++) {
        const char *seen = requested(&t, &a, picture, kinds[i]);
        CHECK(*seen && !has(seen, "Hanako") && has(seen, "for Ann"));
        const char *came = requested(&t, &a, output, kinds[i]);
        CHECK(*came && !has(came, "Hanako") && has(came, "for Ann"));
    }
    CHECK(!*requested(&t, &a, picture, TRIM_REASONING));
    arena_done(&a);
}

TEST(what_a_client_kept_beside_the_conversation_goes_with_the_words)
{
    struct tale  t;
    struct arena a;

    arena_init(&a, 0);
    tale_init(&t);
    tale_fact(&t, (struct fact){ .kind = FACT_LABELLED, .data = STR("{\"of\":\"Hanako\"}") });
    CHECK(!*left(&t, &a, 1, TRIM_TOOLS | TRIM_FILES | TRIM_REASONING));
    const char *rest = left(&t, &a, 1, TRIM_WORDS);
    CHECK(*rest && !has(rest, "Hanako"));
    arena_done(&a);
    tale_done(&t);
}

/* --- in a thread ------------------------------------------------------------------------- */

static void stopped(void *ctx)
{
    *(bool *)ctx = true;
}

struct rows {
    struct store_list l;
    struct str        body;
    struct arena     *a;
    bool              done;
};

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct rows *r = LIST_ITEM(l, struct rows, l);
    (void)next;
    CHECK(e == OK && count == 1);
    r->body = count ? arena_dup(r->a, rows[0].approval.body) : STR("");
    r->done = true;
}

static struct str approval(struct stage *s)
{
    struct rows r = { .a = &s->arena };
    r.l = (struct store_list){ .kind = STORE_APPROVALS, .owner = STR("ann"), .done = on_rows };
    store_list(s->store, &r.l);
    UNTIL(r.done);
    return r.body;
}

static bool is_trimmed(struct stage *s)
{
    return str_ends(story(s), STR("trimmed"));
}

/* Ann's payment, approved and done. */
static void paid(struct stage *s)
{
    stage_gate(s);
    CHECK(decides(s, gate_of(s), true).status == 200);
    UNTIL(s->job);
    finishes(s, TOOL_DONE);
    UNTIL(s->speaking);
    says(s, "It is done.");
    ends(s);
}

TEST(words_go_by_their_age_and_the_conversation_goes_on)
{
    struct stage  s;
    bool          done = false;
    struct sweep *w;

    stage_up(&s);
    paid(&s);
    struct str was = story(&s), row = approval(&s);
    CHECK(str_find(row, STR("\"status\":\"done\"")) > 0 ||
          str_find(row, STR("\"status\":\"approved\"")) > 0);
    w = sweep_start(s.hub, (struct sweep_rules){ .kind_ms = { 1, 0, 0, 1 } });
    UNTIL(is_trimmed(&s));
    UNTIL(!thread_away(the_thread(&s)));
    struct fold *f = &the_thread(&s)->fold;
    CHECK(str_starts(story(&s), was));
    CHECK_STR(f->facts[0]->text, TRIM_MARK);
    CHECK_STR(f->calls[0]->input, "{}");
    CHECK(f->calls[0]->decided && f->calls[0]->finished->outcome == WORD_DONE);
    CHECK_STR(thread_title(the_thread(&s)), TRIM_MARK);
    row = approval(&s);
    CHECK(str_find(row, STR("\"input\":{}")) > 0);
    CHECK(str_find(row, STR("\"said\":\"" TRIM_MARK "\"")) > 0);
    sweep_stop(w, stopped, &done);
    UNTIL(done);

    say(&s, "and now?");
    UNTIL(s.speaking);
    says(&s, "Goes on.");
    ends(&s);
    CHECK(str_ends(story(&s), STR("ended:complete")));
    stage_down(&s);
}

/* What is signed is told as it is. */
static enum err sign_plainly(void *ctx, struct str payload, struct buf *out)
{
    ++*(unsigned *)ctx;
    buf_str(out, payload);
    return out->err;
}

/* Its last fact, "trimmed". */
static const struct fact *last_trim(struct stage *s)
{
    const struct fold *f = &the_thread(s)->fold;
    CHECK(f->facts[f->count - 1]->kind == FACT_TRIMMED);
    return f->facts[f->count - 1];
}

TEST(what_goes_is_signed_with_what_was_there_and_what_is_left)
{
    struct stage  s;
    unsigned      signatures = 0;
    bool          done = false;
    char          name[CHAIN_NAME + 1], hex[SHA256_HEX + 1];
    uint8_t       digest[CHAIN_LEN];
    struct sweep *w;
    struct buf    claim;

    stage_up(&s);
    s.hub->setup.vouch = (struct vouch){ .sign = sign_plainly, .ctx = &signatures };
    paid(&s);
    struct log_name    log = { STR("ann"), STR("t_1") };
    const struct fact *said = the_thread(&s)->fold.facts[0];
    chain_name(log, said->at_ms, name);
    chain_digest(log, &(struct store_fact){ said->seq, said->at_ms, STR("message"), said->body },
                 digest);
    sha256_hex(digest, CHAIN_LEN, hex);
    w = sweep_start(s.hub, (struct sweep_rules){ .kind_ms = { 1, 0, 0, 1 } });
    UNTIL(is_trimmed(&s));
    UNTIL(!thread_away(the_thread(&s)));
    const struct fact *t = last_trim(&s);
    buf_init(&claim, 0);
    vouch_trim_claim(&claim, name, t->at_ms, STR("tools words"), t->data);
    CHECK(signatures == 1 && str_eq(t->jws, buf_view(&claim)));
    CHECK(str_starts(t->data, STR("[[1,\"")));
    CHECK(str_find(t->data, str_c(hex)) > 0); /* of what the message was */
    buf_done(&claim);
    sweep_stop(w, stopped, &done);
    UNTIL(done);
    stage_down(&s);
}

/* Nobody knows any more whether it is the same. */
TEST(a_call_whose_arguments_are_gone_is_asked_about_before_its_tool_runs_again)
{
    struct stage  s;
    struct said   x;
    bool          done = false;
    struct sweep *w;

    stage_up(&s);
    turn_with(&s, "work", "{\"amount\":50}");
    w = sweep_start(s.hub, (struct sweep_rules){ .kind_ms = { 1, 0, 0, 0 } });
    UNTIL(is_trimmed(&s));
    UNTIL(!thread_away(the_thread(&s)));
    sweep_stop(w, stopped, &done);
    UNTIL(done);

    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("do it, please");
    c->message.replaces = thread_fold(the_thread(&s))->facts[0]->id;
    CHECK(sent(&s, c, &x).status == 200);
    UNTIL(s.speaking);
    calls(&s, "work", "{\"amount\":50}");
    stops(&s, STOP_CALLS);
    UNTIL(s.begun == 2 || !str_is(str_c(thread_state(the_thread(&s))), "running"));
    CHECK(s.begun == 1);
    stage_down(&s);
}

TEST(nothing_goes_from_a_conversation_that_waits_for_somebody)
{
    struct stage    s;
    struct said     x;
    struct command *c;

    stage_up(&s);
    stage_gate(&s);
    c = command(CMD_TRIM, &x);
    c->trim.kinds = 15;
    CHECK(sent(&s, c, &x).status == 409);
    CHECK(waits(&s) && !is_trimmed(&s));
    stage_down(&s);
}

/* --- prompts ------------------------------------------------------------------------------ */

struct getting {
    struct store_session x;
    bool                 done;
    enum err             e;
};

static void on_got(struct store_session *x, enum err e)
{
    struct getting *g = LIST_ITEM(x, struct getting, x);
    g->e = e;
    g->done = true;
}

static bool is_kept(struct stage *s, struct str basis)
{
    struct getting g = { .x = { .op = SESSION_GET, .done = on_got } };
    g.x.key = arena_printf(&s->arena, BASIS_KEY STR_FMT, STR_ARG(basis));
    store_session(s->store, &g.x);
    UNTIL(g.done);
    return g.e == OK;
}

/* One turn; what its step rested on. */
static struct str asked_with(struct stage *s)
{
    say(s, "hello");
    UNTIL(s->speaking);
    says(s, "Done.");
    ends(s);
    struct fold *f = &the_thread(s)->fold;
    for (size_t i = f->count; i-- > 0;)
        if (f->facts[i]->kind == FACT_STEP) return arena_dup(&s->arena, f->facts[i]->basis);
    return STR_NONE;
}

static void try_prompts(int64_t basis_ms, bool stays)
{
    struct stage s;

    stage_up(&s);
    s.hub->setup.basis_ms = basis_ms;
    struct str first = asked_with(&s);
    int64_t    then = clock_wall_ms();
    UNTIL(clock_wall_ms() > then + basis_ms + 1 && (basis_ms || is_kept(&s, first)));
    s.hub->setup.pages[0].system = STR("another prompt");
    struct str second = asked_with(&s);
    CHECK(first.len && !str_eq(first, second));
    UNTIL(is_kept(&s, first) == stays);
    stage_down(&s);
}

TEST(a_prompt_is_forgotten_when_nobody_used_it_for_its_age)
{
    try_prompts(1, false);
}

TEST(without_an_age_prompts_stay)
{
    try_prompts(0, true);
}
