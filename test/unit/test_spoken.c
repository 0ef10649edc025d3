/* Answers in words: what is one, what only looks like one, and that nothing else is. */
#include "run/spoken.h"
#include "tale.h"

static enum spoken_kind kind_of(struct tale *t, const char *text, struct spoken_answer *first)
{
    static struct arena  a;
    struct spoken_answer list[SPOKEN_MAX];
    size_t               n;
    arena_done(&a);
    arena_init(&a, 0);
    enum spoken_kind k = spoken_read(&a, tale_fold(t), str_c(text), list, &n);
    if (first && n) *first = list[0];
    return k;
}

TEST(yes_or_no_with_the_code_and_nothing_else_is_an_answer)
{
    struct tale          t;
    struct spoken_answer x = { 0 };
    tale_question(&t);
    static const char *const YES[] = {
        "yes 4821",     "YES 4821.",     " Yes  4821 ",      "`yes 4821`",
        "\"yes 4821\"", "yes 4821\n",    "yes ４８２１",     "\u201cyes 4821\u201d",
        "yes\t4821",    "yes\u00a04821", "yes\u3000４８２１"
    };
    for (size_t i = 0; i < sizeof YES / sizeof *YES; i++) {
        CHECK(kind_of(&t, YES[i], &x) == SPOKEN_ANSWERS && x.yes && x.call);
        if (!x.yes) printf("    %s\n", YES[i]);
    }
    CHECK(kind_of(&t, "no 4821 too much", &x) == SPOKEN_ANSWERS && !x.yes);
    CHECK_STR(x.reason, "too much");
    CHECK(kind_of(&t, "No 4821", &x) == SPOKEN_ANSWERS && !x.yes && !x.reason.ptr);
    tale_done(&t);
}

TEST(what_looks_like_an_answer_is_none_and_everything_else_is_a_message)
{
    struct tale t;
    tale_question(&t);
    static const char *const UNCLEAR[] = { "yes",
                                           "OK",
                                           "I approve",
                                           "yes 4821 but only 20",
                                           "yes, 4821",
                                           "please confirm",
                                           "the code: 4821",
                                           "no way",
                                           "yes 48210",
                                           "approve 123456 now or never again" };
    static const char *const MESSAGE[] = { "What is the weather in Tokyo?", "Yesterday I paid 1234",
                                           "Send 50 dollars to Taro", "Nothing else, thank you" };
    for (size_t i = 0; i < sizeof UNCLEAR / sizeof *UNCLEAR; i++)
        if (kind_of(&t, UNCLEAR[i], NULL) != SPOKEN_UNCLEAR)
            test_failed(__FILE__, __LINE__, UNCLEAR[i]);
    for (size_t i = 0; i < sizeof MESSAGE / sizeof *MESSAGE; i++)
        if (kind_of(&t, MESSAGE[i], NULL) != SPOKEN_MESSAGE)
            test_failed(__FILE__, __LINE__, MESSAGE[i]);
    CHECK(kind_of(&t, "yes 4822", NULL) == SPOKEN_WRONG);
    CHECK(kind_of(&t, "yes 4821\nyes 4822", NULL) == SPOKEN_WRONG);
    tale_done(&t);
}

TEST(three_wrong_codes_close_words_and_a_question_that_is_over_takes_none)
{
    struct tale t;
    tale_question(&t);
    const struct call *c = fold_call(tale_fold(&t), STR("call-1"));
    CHECK(spoken_fit(c, STR("4821")) && !spoken_fit(c, STR("4822")) && !spoken_fit(c, STR("")));
    for (int i = 0; i < 3; i++) {
        CHECK(spoken_fit(c, STR("4821")));
        tale_fact(&t, (struct fact){ .kind = FACT_TRIED });
    }
    CHECK(!spoken_fit(c, STR("4821")));
    tale_done(&t);
    tale_question(&t);
    tale_decided(&t, "call-1", WORD_DENIED);
    CHECK(!spoken_fit(fold_call(tale_fold(&t), STR("call-1")), STR("4821")));
    CHECK(kind_of(&t, "yes", NULL) == SPOKEN_MESSAGE);
    CHECK(kind_of(&t, "yes 9999", NULL) == SPOKEN_GONE);
    CHECK(kind_of(&t, "no 9999 it is too much", NULL) == SPOKEN_GONE);
    tale_done(&t);
    tale_init(&t); /* no code was ever told here */
    tale_message(&t, "run_1", "Hello");
    CHECK(kind_of(&t, "yes 9999", NULL) == SPOKEN_GONE);
    CHECK(kind_of(&t, "no 2024 figures, please", NULL) == SPOKEN_MESSAGE);
    tale_done(&t);
}

TEST(a_yes_and_a_no_to_the_same_question_are_no_answer)
{
    struct tale t;
    tale_question(&t);
    CHECK(kind_of(&t, "yes 4821\nno 4821", NULL) == SPOKEN_UNCLEAR);
    CHECK(kind_of(&t, "no 4821 too much\nyes 4821", NULL) == SPOKEN_UNCLEAR);
    CHECK(kind_of(&t, "yes 4821\nyes 4821", NULL) == SPOKEN_ANSWERS);
    tale_done(&t);
}

TEST(codes_in_words_that_a_client_brings_are_masked)
{
    struct arena a;
    arena_init(&a, 0);
    CHECK_STR(spoken_masked(&a, STR("Reply `yes 4821` or `No 4821` by 2026, piano 1234.")),
              "Reply `yes ****` or `No ****` by 2026, piano 1234.");
    CHECK_STR(spoken_masked(&a, STR("yes ４８２１")), "yes ****");
    CHECK_STR(spoken_masked(&a, STR("２０２６年")), "２０２６年");
    /* and nothing else is another than it was */
    CHECK_STR(spoken_masked(&a, STR("à\u00a0la １２３\tyes\u00a0４821, ２０２６\u3000no 1")),
              "à\u00a0la １２３\tyes\u00a0****, ２０２６\u3000no 1");
    arena_done(&a);
}
