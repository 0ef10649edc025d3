/* What the model is told: built from facts only, every call with its result, branches cut away. */
#include "run/history.h"
#include "tale.h"

static struct str same_name(void *ctx, struct str tool)
{
    (void)ctx;
    return str_is(tool, "browser.search") ? STR("browser_search") : tool;
}

static void render_part(struct buf *b, const struct msg_part *p)
{
    switch (p->type) {
    case PART_TEXT: buf_printf(b, " '" STR_FMT "'", STR_ARG(p->text)); break;
    case PART_REASONING: buf_printf(b, " (" STR_FMT ")", STR_ARG(p->text)); break;
    case PART_CALL:
        buf_printf(b, " " STR_FMT "=" STR_FMT STR_FMT, STR_ARG(p->id), STR_ARG(p->name),
                   STR_ARG(p->input));
        break;
    case PART_RESULT:
        buf_printf(b, " " STR_FMT "%s'" STR_FMT "'", STR_ARG(p->id), p->is_error ? "!" : ":",
                   STR_ARG(p->text));
        break;
    case PART_FILE:
        buf_printf(b, " <" STR_FMT " " STR_FMT STR_FMT ">", STR_ARG(p->media_type), STR_ARG(p->url),
                   STR_ARG(p->text));
        break;
    }
    if (p->opaque.ptr) buf_printf(b, "+" STR_FMT, STR_ARG(p->opaque));
}

static bool is_search(void *ctx, struct str tool)
{
    (void)ctx;
    return str_is(tool, "search");
}

/* "user 'hello'; assistant 'hi';" */
static struct str told_to(struct arena *a, struct tale *t, const char *provider, size_t text_max)
{
    static const char *const ROLES[] = {
        [MSG_USER] = "user", [MSG_ASSISTANT] = "assistant", [MSG_TOOLS] = "tools"
    };
    struct history_names names = { same_name, is_search, NULL };
    struct msg          *msgs;
    size_t               count;
    struct buf           b;
    REQUIRE(history_build(a, tale_fold(t), str_c(provider), text_max, &names, &msgs, &count) == OK);
    buf_init(&b, 0);
    for (size_t i = 0; i < count; i++) {
        buf_lit(&b, ROLES[msgs[i].role]);
        for (size_t k = 0; k < msgs[i].count; k++) render_part(&b, &msgs[i].parts[k]);
        buf_lit(&b, "; ");
    }
    struct str s = arena_dup(a, str_trim(buf_view(&b)));
    buf_done(&b);
    return s;
}

#define TELLS(t, provider, max, want)                                \
    do {                                                             \
        struct arena arena_;                                         \
        arena_init(&arena_, 0);                                      \
        CHECK_STR(told_to(&arena_, (t), (provider), (max)), (want)); \
        arena_done(&arena_);                                         \
    } while (0)

/* "m_2 for m_3: message step ended;" */
static struct str hidden(struct arena *a, struct tale *t)
{
    const struct version *versions;
    size_t                count;
    struct buf            b;
    REQUIRE(history_versions(a, tale_fold(t), &versions, &count) == OK);
    buf_init(&b, 0);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&b, STR_FMT " for " STR_FMT ":", STR_ARG(versions[i].facts[0]->id),
                   STR_ARG(versions[i].of));
        for (size_t k = 0; k < versions[i].count; k++)
            buf_printf(&b, " %s", fact_name(versions[i].facts[k]->kind));
        buf_lit(&b, "; ");
    }
    struct str s = arena_dup(a, str_trim(buf_view(&b)));
    buf_done(&b);
    return s;
}

#define HIDES(t, want)                           \
    do {                                         \
        struct arena arena_;                     \
        arena_init(&arena_, 0);                  \
        CHECK_STR(hidden(&arena_, (t)), (want)); \
        arena_done(&arena_);                     \
    } while (0)

TEST(a_turn_with_a_tool_is_told_in_order)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Find CRISPR");
    tale_step(&t, "run_1", "calls", 2, words("Let me look."),
              call("call-1", "browser.search", "{\"query\":\"CRISPR\"}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "found 5");
    tale_step(&t, "run_1", "end", 1, words("Five."));
    TELLS(&t, "demo", 1000,
          "user 'Find CRISPR'; assistant 'Let me look.' p-1=browser_search{\"query\":\"CRISPR\"}; "
          "tools p-1:'found 5'; assistant 'Five.';");
    TELLS(
        &t, "other", 1000,
        "user 'Find CRISPR'; assistant 'Let me look.' call-1=browser_search{\"query\":\"CRISPR\"}; "
        "tools call-1:'found 5'; assistant 'Five.';");
    tale_done(&t);
}

TEST(every_call_has_a_result_even_when_nobody_decided)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{}", GATE_ASK));
    tale_asked(&t, "call-1");
    TELLS(&t, "demo", 1000,
          "user 'Pay'; assistant p-1=pay{}; tools p-1!'Not decided; the user continued.';");
    tale_decided(&t, "call-1", WORD_DENIED);
    tale_finished(&t, "call-1", WORD_DENIED, "{\"error\":\"User denied execution\"}");
    TELLS(&t, "demo", 1000,
          "user 'Pay'; assistant p-1=pay{}; tools p-1!'{\"error\":\"User denied execution\"}';");
    tale_done(&t);
}

TEST(an_unknown_outcome_is_told_and_so_is_how_it_was_settled)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "Pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{}", GATE_ASK));
    tale_finished(&t, "call-1", WORD_UNKNOWN, "Nobody knows.");
    TELLS(&t, "demo", 1000, "user 'Pay'; assistant p-1=pay{}; tools p-1!'Nobody knows.';");
    tale_fact(&t, (struct fact){ .kind = FACT_SETTLED,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .note = STR("I looked."),
                                 .value = STR("{\"ref\":7}") });
    TELLS(&t, "demo", 1000,
          "user 'Pay'; assistant p-1=pay{}; tools p-1:'The outcome was unknown at first. The "
          "person checked: it did happen. I looked. Result: {\"ref\":7}';");
    tale_done(&t);
}

TEST(an_edited_message_hides_what_came_from_the_old_one)
{
    struct tale t;
    tale_init(&t);
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_1"),
                                 .id = STR("m_1"),
                                 .text = STR("first") });
    tale_step(&t, "run_1", "end", 1, words("one"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_2"),
                                 .id = STR("m_2"),
                                 .text = STR("second") });
    tale_step(&t, "run_2", "end", 1, words("two"));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_3"),
                                 .id = STR("m_3"),
                                 .replaces = STR("m_2"),
                                 .text = STR("better") });
    TELLS(&t, "demo", 1000, "user 'first'; assistant 'one'; user 'better';");
    HIDES(&t, "m_2 for m_3: message step ended;");
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_4"),
                                 .id = STR("m_4"),
                                 .replaces = STR("m_1"),
                                 .text = STR("anew") });
    TELLS(&t, "demo", 1000, "user 'anew';");
    HIDES(&t, "m_2 for m_3: message step ended; m_1 for m_4: message step ended message;");
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_5"),
                                 .id = STR("m_5"),
                                 .replaces = STR("m_4"),
                                 .text = STR("once more") });
    HIDES(&t, "m_2 for m_3: message step ended; m_1 for m_5: message step ended message; m_4 for "
              "m_5: message;");
    tale_done(&t);
}

/* A whole turn; `replaces` and `of` may be "". */
static void version(struct tale *t, const char *n, const char *replaces, const char *of)
{
    static char names[16][16];
    static int  used;
    char       *run = names[used++ % 16], *id = names[used++ % 16];
    snprintf(run, sizeof names[0], "run_%s", n);
    snprintf(id, sizeof names[0], "m_%s", n);
    tale_fact(t, (struct fact){ .kind = FACT_MESSAGE,
                                .run = str_c(run),
                                .id = str_c(id),
                                .replaces = str_c(replaces),
                                .of = str_c(of),
                                .text = str_c(id) });
    tale_step(t, run, "end", 1, words(n));
    tale_ended(t, run, WORD_COMPLETE);
}

TEST(an_earlier_version_is_gone_on_with_and_the_newer_one_is_kept)
{
    struct tale t;
    tale_init(&t);
    version(&t, "1", "", "");
    version(&t, "2", "", "");
    version(&t, "3", "m_1", ""); /* an edit of the first question */
    TELLS(&t, "demo", 1000, "user 'm_3'; assistant '3';");
    HIDES(&t, "m_1 for m_3: message step ended message step ended;");
    version(&t, "4", "", "run_2");
    TELLS(&t, "demo", 1000,
          "user 'm_1'; assistant '1'; user 'm_2'; assistant '2'; user 'm_4'; assistant '4';");
    HIDES(&t, "m_3 for m_1: message step ended;");
    version(&t, "5", "", "run_3"); /* and back again */
    TELLS(&t, "demo", 1000, "user 'm_3'; assistant '3'; user 'm_5'; assistant '5';");
    HIDES(&t, "m_1 for m_3: message step ended message step ended message step ended;");
    version(&t, "6", "m_5", ""); /* what counts now can be edited */
    version(&t, "7", "", "run_4");
    version(&t, "8", "", "run_5"); /* a version within a version */
    TELLS(&t, "demo", 1000,
          "user 'm_3'; assistant '3'; user 'm_5'; assistant '5'; user 'm_8'; assistant '8';");
    HIDES(&t, "m_3 for m_3: message step ended message step ended; m_1 for m_3: message step ended "
              "message step ended message step ended message step ended;");
    tale_done(&t);
}

TEST(an_answer_in_the_middle_is_gone_on_from_and_what_followed_it_is_kept)
{
    struct tale t;
    tale_init(&t);
    version(&t, "1", "", "");
    version(&t, "2", "", "");
    version(&t, "3", "", "run_1");
    TELLS(&t, "demo", 1000, "user 'm_1'; assistant '1'; user 'm_3'; assistant '3';");
    HIDES(&t, "m_2 for m_3: message step ended;");
    version(&t, "4", "", "run_9"); /* which there is not */
    TELLS(&t, "demo", 1000,
          "user 'm_1'; assistant '1'; user 'm_3'; assistant '3'; user 'm_4'; assistant '4';");
    tale_done(&t);
}

TEST(the_answer_that_was_tried_again_is_gone_on_from)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "end", 1, words("old"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_RETRY, .run = STR("run_2"), .of = STR("run_1") });
    tale_step(&t, "run_2", "end", 1, words("new"));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    version(&t, "3", "", "run_1");
    TELLS(&t, "demo", 1000, "user 'hello'; assistant 'old'; user 'm_3'; assistant '3';");
    HIDES(&t, "m_1 for m_1: message retry step ended;");
    tale_done(&t);
}

TEST(a_retry_hides_the_old_answer_and_one_from_the_end_keeps_it)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "end", 1, words("old"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_RETRY, .run = STR("run_2"), .of = STR("run_1") });
    TELLS(&t, "demo", 1000, "user 'hello';");
    tale_step(&t, "run_2", "end", 1, words("new"));
    tale_ended(&t, "run_2", WORD_ERROR);
    tale_fact(&t,
              (struct fact){
                  .kind = FACT_RETRY, .run = STR("run_3"), .of = STR("run_2"), .from_end = true });
    TELLS(&t, "demo", 1000, "user 'hello'; assistant 'new';");
    HIDES(&t, "m_1 for m_1: message step ended;");
    tale_fact(&t, (struct fact){ .kind = FACT_RETRY, .run = STR("run_4"), .of = STR("run_2") });
    HIDES(&t, "m_1 for m_1: message step ended; m_1 for m_1: message retry step ended retry;");
    tale_done(&t);
}

TEST(a_retry_keeps_what_was_done_and_makes_only_the_words_anew)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_step(&t, "run_1", "end", 1, words("Old words."));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){
                      .kind = FACT_RETRY, .run = STR("run_2"), .of = STR("run_1"), .keep = 4 });
    TELLS(&t, "demo", 1000, "user 'pay'; assistant p-1=pay{}; tools p-1:'paid';");
    tale_done(&t);
}

TEST(what_a_replaced_version_did_is_told_with_the_message_that_took_its_place)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "pay");
    tale_step(&t, "run_1", "calls", 2, call("call-1", "pay", "{\"amount\":50}", GATE_FREE),
              call("call-2", "search", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_started(&t, "call-2");
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_finished(&t, "call-2", WORD_DONE, "found");
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_2"),
                                 .id = STR("m_2"),
                                 .replaces = STR("m_1"),
                                 .text = STR("pay, please") });
    TELLS(&t, "demo", 1000,
          "user 'pay, please' '(A version of this conversation that was replaced has already run "
          "these tools. What they did stays done; "
          "do not do it again unless asked to:\npay {\"amount\":50} -> done: paid)';");
    tale_done(&t);
}

TEST(what_a_version_in_another_thread_did_is_told_with_the_first_message_after_the_fork)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hi");
    tale_step(&t, "run_1", "end", 1, words("hello"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    tale_fact(
        &t, (struct fact){ .kind = FACT_FORKED,
                           .of = STR("t_1"),
                           .data = STR("[{\"call\":\"call-1\",\"tool\":\"pay\",\"text\":\"paid\","
                                       "\"outcome\":\"done\",\"data\":{\"amount\":50}},"
                                       "{\"call\":\"call-2\",\"tool\":\"pay\",\"data\":"
                                       "{\"amount\":7}},"
                                       "{\"call\":\"call-3\",\"tool\":\"search\",\"data\":{}}]") });
    tale_message(&t, "run_2", "pay");
    tale_step(&t, "run_2", "end", 1, words("it is done"));
    tale_ended(&t, "run_2", WORD_COMPLETE);
    tale_message(&t, "run_3", "thanks");
    TELLS(&t, "demo", 1000,
          "user 'hi'; assistant 'hello'; "
          "user 'pay' '(A version of this conversation that was replaced has already run "
          "these tools. What they did stays done; "
          "do not do it again unless asked to:\npay {\"amount\":50} -> done: paid\n"
          "pay {\"amount\":7} -> started: still running)'; assistant 'it is done'; "
          "user 'thanks';");
    tale_done(&t);
}

TEST(a_step_cut_by_an_error_is_not_told_one_that_was_stopped_is)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "error", 1, words("half a"));
    tale_ended(&t, "run_1", WORD_ERROR);
    TELLS(&t, "demo", 1000, "user 'hello';");
    tale_message(&t, "run_2", "again");
    tale_step(&t, "run_2", "cancelled", 2, words("I was say"),
              call("call-1", "pay", "{", GATE_BAD));
    tale_ended(&t, "run_2", WORD_CANCELLED);
    TELLS(&t, "demo", 1000, "user 'hello'; user 'again'; assistant 'I was say';");
    tale_done(&t);
}

TEST(reasoning_and_opaque_parts_go_back_to_their_own_provider_only)
{
    struct tale t;
    struct part think = {
        .type = STEP_REASONING, .text = STR("hm"), .opaque = STR("{\"sig\":1}"), .complete = true
    };
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "end", 2, think, words("Hi."));
    TELLS(&t, "demo", 1000, "user 'hello'; assistant (hm)+{\"sig\":1} 'Hi.';");
    TELLS(&t, "other", 1000, "user 'hello'; assistant 'Hi.';");
    tale_done(&t);
}

TEST(a_long_result_is_cut_on_a_character_and_says_so)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "x", "{}", GATE_FREE));
    tale_finished(&t, "call-1", WORD_DONE, "\xe8\x8a\xb1\xe5\xad\x90");
    TELLS(&t, "demo", 4,
          "user 'hello'; assistant p-1=x{}; tools p-1:'\xe8\x8a\xb1\n[cut: 3 of 6 bytes shown]';");
    TELLS(&t, "demo", 6, "user 'hello'; assistant p-1=x{}; tools p-1:'\xe8\x8a\xb1\xe5\xad\x90';");
    tale_done(&t);
}

TEST(an_action_is_told_as_a_button_the_person_pressed)
{
    struct tale t;
    struct part p = call("call-1", "apply_schema", "{\"schema_id\":1}", GATE_FREE);
    tale_init(&t);
    p.provider_id = STR_NONE;
    tale_fact(&t, (struct fact){ .kind = FACT_ACTION,
                                 .run = STR("run_1"),
                                 .action = STR("apply_schema"),
                                 .parts = &p,
                                 .parts_count = 1 });
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "applied");
    TELLS(&t, "demo", 1000,
          "user '(The person pressed the button \"apply_schema\".)'; assistant "
          "call-1=apply_schema{\"schema_id\":1}; tools call-1:'applied';");
    tale_done(&t);
}

TEST(files_of_a_message_are_told_before_its_words)
{
    struct tale t;
    tale_init(&t);
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_1"),
                                 .text = STR("what is this?"),
                                 .files = STR("[{\"mediaType\":\"image/png\",\"url\":\"data:image/"
                                              "png;base64,AAAA\"},{\"url\":\"https://x/"
                                              "y.pdf\",\"mediaType\":\"application/pdf\"}]") });
    TELLS(&t, "demo", 1000,
          "user <image/png AAAA> <application/pdf https://x/y.pdf> 'what is this?';");
    tale_done(&t);
}

TEST(a_call_whose_input_is_no_object_is_told_as_an_empty_one)
{
    struct tale t;
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "x", "{\"a\":", GATE_BAD));
    tale_finished(&t, "call-1", WORD_FAILED, "The input is not valid JSON.");
    TELLS(&t, "demo", 1000,
          "user 'hello'; assistant p-1=x{}; tools p-1!'The input is not valid JSON.';");
    tale_done(&t);
}

/* --- what a provider refused ------------------------------------------------------ */

#define PICTURE                                                                                    \
    "[{\"type\":\"file\",\"filename\":\"a.png\",\"mediaType\":\"image/png\",\"url\":\"data:image/" \
    "png;base64,eA==\"}]"
#define SORRY                                                                                     \
    " '(This turn was refused as a whole; what of it was meant is not known. Its files are only " \
    "named here.)'"

static void ask_with_picture(struct tale *t, const char *run, const char *text)
{
    tale_fact(t, (struct fact){ .kind = FACT_MESSAGE,
                                .run = str_c(run),
                                .id = str_c(run),
                                .text = str_c(text),
                                .files = STR(PICTURE) });
}

static void refuse(struct tale *t, const char *run)
{
    tale_fact(t, (struct fact){ .kind = FACT_ENDED,
                                .run = str_c(run),
                                .outcome = WORD_ERROR,
                                .code = STR("model_refused") });
}

TEST(a_turn_that_was_refused_is_told_plainly_from_then_on)
{
    struct tale t;
    tale_init(&t);
    ask_with_picture(&t, "run_1", "before");
    tale_step(&t, "run_1", "end", 1, words("nice"));
    tale_ended(&t, "run_1", WORD_COMPLETE);
    ask_with_picture(&t, "run_2", "look");
    refuse(&t, "run_2");
    tale_message(&t, "run_3", "hello?");
#define BEFORE "user <image/png eA==> 'before'; assistant 'nice'; "
    TELLS(&t, "demo", 1000, BEFORE "user <image/png > 'look'" SORRY "; user 'hello?';");
    tale_step(&t, "run_3", "end", 1, words("yes"));
    tale_ended(&t, "run_3", WORD_COMPLETE);
    TELLS(&t, "demo", 1000,
          BEFORE "user <image/png > 'look'" SORRY "; user 'hello?'; assistant 'yes';");
    tale_fact(&t, (struct fact){ .kind = FACT_RETRY, .run = STR("run_4"), .of = STR("run_2") });
    TELLS(&t, "demo", 1000, BEFORE "user <image/png > 'look'" SORRY ";");
    tale_done(&t);
}

TEST(after_several_refusals_in_a_row_all_that_came_before_is_told_plainly_then_in_words)
{
    struct tale t;
    tale_init(&t);
    ask_with_picture(&t, "run_1", "pay");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "pay", "{}", GATE_FREE));
    tale_finished(&t, "call-1", WORD_DONE, "paid");
    tale_ended(&t, "run_1", WORD_COMPLETE);
    for (int i = 2; i < 5; i++) {
        char run[8];
        snprintf(run, sizeof run, "run_%d", i);
        tale_message(&t, run, "hello?");
        refuse(&t, run);
        struct arena         a;
        struct msg          *msgs;
        size_t               count;
        struct history_names names = { same_name, is_search, NULL };
        arena_init(&a, 0);
        REQUIRE(history_build(&a, tale_fold(&t), STR("demo"), 1000, &names, &msgs, &count) == OK);
        CHECK((msgs[0].parts[0].text.len > 0) == (i == 2)); /* the picture */
        CHECK(msgs[1].parts[0].foreign == (i > 2));
        CHECK(msgs[1].words == (i == 4) && msgs[2].words == (i == 4));
        CHECK_STR(msgs[2].parts[0].text, "paid");
        arena_done(&a);
    }
    tale_done(&t);
}

/* --- summaries -------------------------------------------------------------------------------- */

/* The message's id is its run's. */
static void says(struct tale *t, const char *run, const char *text)
{
    tale_fact(t,
              (struct fact){
                  .kind = FACT_MESSAGE, .run = str_c(run), .id = str_c(run), .text = str_c(text) });
}

static void turn(struct tale *t, const char *run, const char *asked, const char *hears)
{
    says(t, run, asked);
    tale_step(t, run, "end", 1, words(hears));
    tale_ended(t, run, WORD_COMPLETE);
}

/* Makes the summary that would be made now; its range as "1-6/6". */
static struct str summarise(struct arena *a, struct tale *t, unsigned keep, const char *text)
{
    struct history_range r;
    REQUIRE(history_range(a, tale_fold(t), keep, SIZE_MAX, &r) == OK);
    if (r.upto)
        tale_fact(t, (struct fact){ .kind = FACT_SUMMARY,
                                    .run = tale_fold(t)->run->id,
                                    .text = str_c(text),
                                    .from = (int64_t)r.from,
                                    .upto = (int64_t)r.upto,
                                    .covers = (int64_t)r.covers,
                                    .data = r.open });
    return arena_printf(a, "%d-%d/%d", (int)r.from, (int)r.upto, (int)r.covers);
}

#define BEGINNING "user '(The beginning of this conversation, summarised:)\n"

TEST(a_summary_takes_the_place_of_the_turns_it_stands_for)
{
    struct tale  t;
    struct arena a;
    tale_init(&t);
    arena_init(&a, 0);
    turn(&t, "run_1", "one", "1");
    turn(&t, "run_2", "two", "2");
    tale_message(&t, "run_3", "three");
    CHECK_STR(summarise(&a, &t, 3, "-"), "0-0/0");
    CHECK_STR(summarise(&a, &t, 2, "first"), "1-3/3");
    TELLS(&t, "p", 100, BEGINNING "first'; user 'two'; assistant '2'; user 'three';");
    tale_step(&t, "run_3", "end", 1, words("3"));
    tale_ended(&t, "run_3", WORD_COMPLETE);
    tale_message(&t, "run_4", "four");
    CHECK_STR(summarise(&a, &t, 1, "second"), "1-10/10");
    TELLS(&t, "p", 100, BEGINNING "second'; user 'four';");
    arena_done(&a);
    tale_done(&t);
}

TEST(a_summary_whose_turns_were_edited_away_counts_no_more)
{
    struct tale  t;
    struct arena a;
    tale_init(&t);
    arena_init(&a, 0);
    turn(&t, "run_1", "one", "1");
    turn(&t, "run_2", "two", "2");
    says(&t, "run_3", "three");
    summarise(&a, &t, 1, "both");
    TELLS(&t, "p", 100, BEGINNING "both'; user 'three';");
    /* the question after it: what it stands for is the same */
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_4"),
                                 .id = STR("m_4"),
                                 .replaces = tale_fold(&t)->runs[2]->first->id,
                                 .text = STR("three!") });
    TELLS(&t, "p", 100, BEGINNING "both'; user 'three!';");
    tale_fact(&t, (struct fact){ .kind = FACT_MESSAGE,
                                 .run = STR("run_5"),
                                 .id = STR("m_5"),
                                 .replaces = tale_fold(&t)->runs[1]->first->id,
                                 .text = STR("two!") });
    TELLS(&t, "p", 100, "user 'one'; assistant '1'; user 'two!';");
    arena_done(&a);
    tale_done(&t);
}

TEST(a_call_nobody_knows_the_outcome_of_is_never_inside_a_summary)
{
    struct tale  t;
    struct arena a;
    tale_init(&t);
    arena_init(&a, 0);
    turn(&t, "run_1", "one", "1");
    tale_message(&t, "run_2", "pay");
    tale_step(&t, "run_2", "calls", 1, call("call-1", "pay", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_UNKNOWN, "It may have happened.");
    tale_ended(&t, "run_2", WORD_CANCELLED);
    turn(&t, "run_3", "three", "3");
    tale_message(&t, "run_4", "four");
    summarise(&a, &t, 1, "sum");
    TELLS(&t, "p", 100,
          BEGINNING "sum'; user 'pay'; assistant call-1=pay{}; tools call-1!'It may have "
                    "happened.'; user 'four';");
    /* once it is settled the next one may have it */
    tale_fact(&t, (struct fact){ .kind = FACT_SETTLED,
                                 .call = STR("call-1"),
                                 .outcome = WORD_DONE,
                                 .by = STR("ann") });
    TELLS(&t, "p", 100,
          BEGINNING "sum'; user 'pay'; assistant call-1=pay{}; tools call-1:'The outcome was "
                    "unknown at first. The person checked: it did happen.'; user 'four';");
    tale_step(&t, "run_4", "end", 1, words("4"));
    tale_ended(&t, "run_4", WORD_COMPLETE);
    tale_message(&t, "run_5", "five");
    summarise(&a, &t, 1, "all");
    TELLS(&t, "p", 100, BEGINNING "all'; user 'five';");
    arena_done(&a);
    tale_done(&t);
}

TEST(what_is_summarised_is_told_in_words_and_begins_with_the_summary_before)
{
    struct tale          t;
    struct arena         a;
    struct history_range r;
    struct history_names names = { same_name, is_search, NULL };
    struct msg          *msgs;
    size_t               count;
    tale_init(&t);
    arena_init(&a, 0);
    turn(&t, "run_1", "one", "1");
    tale_message(&t, "run_2", "look");
    summarise(&a, &t, 1, "first");
    tale_step(&t, "run_2", "calls", 1, call("call-1", "search", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    tale_finished(&t, "call-1", WORD_DONE, "found");
    tale_ended(&t, "run_2", WORD_COMPLETE);
    turn(&t, "run_3", "three", "3");
    tale_message(&t, "run_4", "four");
    REQUIRE(history_range(&a, tale_fold(&t), 2, SIZE_MAX, &r) == OK);
    REQUIRE(history_part(&a, tale_fold(&t), &r, &names, &msgs, &count) == OK);
    CHECK(count == 4 && msgs[0].role == MSG_USER && msgs[2].words && msgs[3].words);
    CHECK(str_ends(msgs[0].parts[0].text, STR("first")));
    CHECK_STR(msgs[1].parts[0].text, "look");
    /* few bytes at once: at least one turn */
    REQUIRE(history_range(&a, tale_fold(&t), 1, 1, &r) == OK);
    CHECK(r.upto == 9);
    arena_done(&a);
    tale_done(&t);
}
