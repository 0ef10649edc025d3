/* Calls of unknown outcome that settle themselves: what a check is asked and when, and what its
 * words may and may not do. */
#include "run/callcheck.h"
#include "stage.h"

/* --- what is said ---------------------------------------------------------------------------- */

static enum callcheck_said read_as(const char *text, struct str *result)
{
    static struct arena a;
    struct jv          *v = NULL;
    const char         *why;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, str_c(text), &v, NULL) == OK);
    enum callcheck_said said = callcheck_read(v, result, &why);
    CHECK((said == CHECK_TELLS_NOTHING) == (why != NULL));
    return said;
}

TEST(a_check_says_that_it_happened_that_it_did_not_or_nothing)
{
    struct str r;
    CHECK(read_as("{\"happened\":true,\"result\":{\"n\":1}}", &r) == CHECK_HAPPENED);
    CHECK_STR(r, "{\"n\":1}");
    CHECK(read_as("{\"happened\":true}", &r) == CHECK_HAPPENED && !r.ptr);
    CHECK(read_as("{\"happened\":false}", &r) == CHECK_DID_NOT && !r.ptr);
    CHECK(read_as("{\"unknown\":true}", &r) == CHECK_TELLS_NOTHING);
}

TEST(a_check_that_can_be_read_in_two_ways_tells_nothing)
{
    static const char *const ODD[] = {
        "{}",
        "[]",
        "true",
        "null",
        "\"happened\"",
        "{\"happened\":\"true\"}",
        "{\"happened\":1}",
        "{\"happened\":null}",
        "{\"Happened\":true}",
        "{\"unknown\":false}",
        "{\"unknown\":\"true\"}",
        "{\"happened\":true,\"unknown\":true}",
        "{\"happened\":false,\"unknown\":true}",
        "{\"happened\":false,\"result\":1}",
        "{\"happened\":true,\"error\":\"no\"}",
        "{\"result\":{\"happened\":true}}",
        "[{\"happened\":true}]",
    };
    struct str r;
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++) {
        CHECK(read_as(ODD[i], &r) == CHECK_TELLS_NOTHING);
        CHECK(!r.ptr);
    }
}

/* --- when it is asked ------------------------------------------------------------------------- */

static struct tool       checker;
static struct tool_check check;

/* The tool `work` with a check, which is played by hand like the tool itself. */
static void checked_stage(struct stage *s, unsigned tries, unsigned pause_ms)
{
    stage_up(s);
    struct tool *work = registry_find(&s->registry, STR("work"));
    checker = (struct tool){ .name = STR("work"), .ops = work->ops, .timeout_ms = 60000 };
    check = (struct tool_check){ &checker, tries, pause_ms };
    work->check = &check;
}

static void answers(struct stage *s, const char *json)
{
    struct tool_job *j = s->job;
    REQUIRE(j && j->checks);
    s->job = NULL;
    for (int i = 0; i < 8; i++)
        if (s->open[i] == j) s->open[i] = NULL;
    j->finish(j, &(struct tool_result){ .outcome = TOOL_DONE, .value = str_c(json) });
}

/* The model had the tool run, and its answer was lost. */
static void lose_answer(struct stage *s)
{
    works(s, "work", "{\"n\": 7}");
    finishes(s, TOOL_UNKNOWN);
}

#define LOST "message step:calls started finished:unknown checked"

TEST(the_model_is_told_what_the_first_check_found)
{
    struct stage s;
    checked_stage(&s, 3, 60000);
    lose_answer(&s);
    UNTIL(s.job);
    CHECK(s.job->checks && s.begun == 2);
    struct call *c = the_thread(&s)->fold.calls[0];
    CHECK(str_eq(s.job->call_id, c->id) && str_eq(jv_str_at(s.job->args, "call"), c->id));
    CHECK_STR(jv_str_at(s.job->args, "tool"), "work");
    CHECK(jv_int_at(jv_get(s.job->args, "arguments"), "n", 0) == 7);
    CHECK(jv_get(s.job->args, "started_at"));
    CHECK(!s.speaking && s.asked == 1);
    CHECK_STR(story(&s), LOST);
    answers(&s, "{\"happened\":true,\"result\":{\"paid\":7}}");
    UNTIL(s.speaking);
    CHECK_STR(story(&s), LOST " settled:done");
    const struct fact *f = the_thread(&s)->fold.calls[0]->settled;
    CHECK_STR(f->by, "check");
    CHECK_STR(f->via, "check");
    CHECK_STR(f->value, "{\"paid\":7}");
    ends(&s);
    CHECK(s.begun == 2); /* the tool once, its check once */
    stage_down(&s);
}

TEST(a_check_may_say_that_it_did_not_happen)
{
    struct stage s;
    checked_stage(&s, 3, 60000);
    lose_answer(&s);
    UNTIL(s.job);
    answers(&s, "{\"happened\":false}");
    UNTIL(s.speaking);
    CHECK_STR(story(&s), LOST " settled:not_done");
    ends(&s);
    stage_down(&s);
}

TEST(a_check_that_tells_nothing_is_asked_so_often_and_then_a_person_has_to)
{
    static const char *const NOTHING[] = { "{\"unknown\":true}", "\"words\"", "{\"happened\":1}" };
    struct stage             s;
    checked_stage(&s, 3, 1);
    lose_answer(&s);
    for (int i = 0; i < 3; i++) {
        UNTIL(s.job);
        answers(&s, NOTHING[i]);
    }
    UNTIL(s.speaking); /* the run goes on with what is known */
    ends(&s);
    struct call *c = the_thread(&s)->fold.calls[0];
    CHECK(c->checks == 3 && c->checked->outcome == WORD_UNKNOWN && !c->settled);
    CHECK(callcheck_due(the_thread(&s), c) == 0);
    struct said     x;
    struct command *k = command(CMD_SETTLE, &x);
    k->id = arena_dup(&k->arena, c->id);
    k->settle.happened = true;
    CHECK(sent(&s, k, &x).status == 200);
    CHECK(s.begun == 4);
    stage_down(&s);
}

TEST(a_person_who_is_faster_than_the_check_has_settled_it)
{
    struct stage s;
    checked_stage(&s, 3, 60000);
    lose_answer(&s);
    UNTIL(s.job);
    struct said     x;
    struct command *k = command(CMD_SETTLE, &x);
    k->id = arena_dup(&k->arena, the_thread(&s)->fold.calls[0]->id);
    CHECK(sent(&s, k, &x).status == 200);
    answers(&s, "{\"happened\":true}");
    UNTIL(s.speaking && !hub_jobs(s.hub));
    CHECK_STR(story(&s), LOST " settled:not_done");
    CHECK_STR(the_thread(&s)->fold.calls[0]->settled->by, "ann");
    ends(&s);
    stage_down(&s);
}

TEST(what_falls_due_and_has_no_check_any_more_does_so_once)
{
    struct stage s;
    checked_stage(&s, 3, 50);
    lose_answer(&s);
    UNTIL(s.job);
    answers(&s, "{\"unknown\":true}");
    registry_find(&s.registry, STR("work"))->check = NULL;
    ends(&s);
    UNTIL(the_thread(&s) && str_is(the_thread(&s)->fold.calls[0]->checked->code, "over"));
    CHECK(s.begun == 2 && !hub_jobs(s.hub));
    stage_down(&s);
}

/* The server goes down while a check is under way; the next one goes on with what is there. */
static void go_down(struct stage *s)
{
    UNTIL(s->job);
    hub_drain(s->hub, NULL, NULL);
    s->job->finish(s->job, &(struct tool_result){ .outcome = TOOL_CANCELLED, .text = STR("x") });
    UNTIL(!hub_jobs(s->hub) && !s->hub->expiry_busy && !s->hub->recover.busy);
    stage_restart(s);
    hub_recover(s->hub);
}

TEST(a_server_that_goes_down_hangs_up_and_the_next_one_asks)
{
    struct stage s;
    checked_stage(&s, 3, 60000);
    lose_answer(&s);
    go_down(&s);
    CHECK(s.cancels == 1);
    UNTIL(s.job);
    CHECK(s.job->checks && s.asked == 1);
    answers(&s, "{\"happened\":false}");
    UNTIL(s.speaking);
    CHECK_STR(story(&s), LOST " checked settled:not_done");
    ends(&s);
    stage_down(&s);
}

TEST(a_check_that_never_comes_to_its_end_is_not_asked_for_ever)
{
    struct stage s;
    checked_stage(&s, 3, 60000);
    lose_answer(&s);
    for (int i = 0; i < 3; i++) go_down(&s);
    UNTIL(s.speaking);
    CHECK_STR(story(&s), LOST " checked checked checked:unknown");
    CHECK(s.begun == 4);
    ends(&s);
    stage_down(&s);
}
