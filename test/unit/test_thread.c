/* A thread's mailbox: every order of commands, steps, tools and appends. The stage is in
 * stage.h. */
#include "stage.h"
#include "tool/policy.h"

/* --- tests -------------------------------------------------------------------------------- */

TEST(a_turn_is_a_message_its_steps_and_an_end)
{
    struct stage s;
    stage_up(&s);
    CHECK(say(&s, "hello").status == 200);
    UNTIL(s.speaking);
    says(&s, "Let me.");
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.job);
    CHECK(thread_committed(the_thread(&s)) == 3); /* the start was on disk before the tool ran */
    finishes(&s, TOOL_DONE);
    UNTIL(s.speaking);
    says(&s, "Done.");
    ends(&s);
    CHECK_STR(story(&s), "message step:calls started finished:done step:end ended:complete");
    CHECK(hub_runs(s.hub) == 0);
    stage_down(&s);
}

TEST(a_stop_and_the_end_of_the_step_in_one_turn_keep_the_words_once)
{
    for (int stop_first = 0; stop_first < 2; stop_first++) {
        struct stage s;
        struct said  x;
        stage_up(&s);
        say(&s, "hello");
        UNTIL(s.speaking);
        says(&s, "Some words.");
        struct thread *t = the_thread(&s);
        t->inflight = true; /* as while an append is under way */
        if (stop_first) hub_submit(s.hub, command(CMD_STOP, &x));
        stops(&s, STOP_END);
        if (!stop_first) hub_submit(s.hub, command(CMD_STOP, &x));
        t->inflight = false;
        thread_pump(t);
        UNTIL(x.done && idle(&s));
        CHECK_STR(story(&s), stop_first ? "message stop step:cancelled ended:cancelled"
                                        : "message step:end stop ended:cancelled");
        CHECK(hub_runs(s.hub) == 0);
        stage_down(&s);
    }
}

TEST(a_stop_takes_the_words_so_far_and_nothing_after_them)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    says(&s, "Half a sen");
    hub_submit(s.hub, command(CMD_STOP, &x));
    CHECK(!s.speaking); /* hung up at once */
    UNTIL(idle(&s));
    CHECK_STR(story(&s), "message stop step:cancelled ended:cancelled");
    CHECK_STR(thread_fold(the_thread(&s))->facts[2]->parts[0].text, "Half a sen");
    stage_down(&s);
}

TEST(a_model_that_fails_ends_the_run_and_keeps_its_words)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    says(&s, "Half");
    s.speaking = false;
    s.run.sink->failed(s.run.sink, &(struct model_error){ "model_error", STR("It broke."), true });
    UNTIL(idle(&s));
    CHECK_STR(story(&s), "message step:error ended:error");
    stage_down(&s);
}

TEST(a_model_that_never_stops_calling_is_closed_at_the_limit)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    for (int i = 0; i < 2; i++) {
        UNTIL(s.speaking);
        CHECK(!s.no_calls);
        calls(&s, "work", "{}");
        stops(&s, STOP_CALLS);
        UNTIL(s.job);
        finishes(&s, TOOL_DONE);
    }
    UNTIL(s.speaking);
    CHECK(s.no_calls);
    calls(&s, "work", "{}"); /* although it was told not to */
    stops(&s, STOP_CALLS);
    UNTIL(idle(&s));
    CHECK(s.asked == 3 && !s.job);
    CHECK_STR(story(&s), "message step:calls started finished:done step:calls started "
                         "finished:done step:limit finished:failed ended:complete");
    stage_down(&s);
}

TEST(a_call_at_the_length_limit_is_not_run_and_the_model_is_told)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "work", "{}");
    stops(&s, STOP_LENGTH);
    UNTIL(s.asked == 2);
    CHECK(!s.job);
    ends(&s);
    stage_down(&s);
}

TEST(a_refusal_is_the_last_word_and_its_calls_are_not_run)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "work", "{}");
    stops(&s, STOP_REFUSAL);
    UNTIL(idle(&s));
    CHECK(s.asked == 1 && !s.job);
    CHECK_STR(story(&s), "message step:refusal finished:failed ended:complete");
    stage_down(&s);
}

TEST(a_call_whose_end_was_not_seen_is_not_run)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    s.run.sink->call(s.run.sink, STR("p"), STR("work"));
    s.run.sink->input(s.run.sink, STR("{}"));
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK(!s.job);
    ends(&s);
    CHECK_STR(story(&s), "message step:calls finished:failed step:end ended:complete");
    stage_down(&s);
}

TEST(bad_calls_get_an_error_each_and_the_model_goes_on)
{
    static const struct {
        const char *tool, *input;
    } BAD[] = { { "nothing", "{}" }, { "work", "[1]" }, { "work", "{\"a\":" }, { "work", "7" } };
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    for (size_t i = 0; i < 4; i++) calls(&s, BAD[i].tool, BAD[i].input);
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK(!s.job);
    CHECK_STR(story(&s),
              "message step:calls finished:failed finished:failed finished:failed finished:failed");
    ends(&s);
    stage_down(&s);
}

TEST(an_input_of_blanks_is_an_empty_object_and_leaves_the_words_after_it_right)
{
    static char  long_text[20000];
    struct stage s;
    memset(long_text, 'x', sizeof long_text - 1);
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    says(&s, "Before.");
    calls(&s, "work", " \n");
    says(&s, "After.");
    says(&s, long_text); /* the bytes of the step move */
    stops(&s, STOP_CALLS);
    UNTIL(s.job);
    const struct fact *step = thread_fold(the_thread(&s))->facts[1];
    CHECK_STR(step->parts[0].text, "Before.");
    CHECK_STR(str_trim(step->parts[1].text), "{}");
    CHECK(str_starts(step->parts[2].text, STR("After.xxx")) &&
          step->parts[2].text.len == 6 + sizeof long_text - 1);
    finishes(&s, TOOL_DONE);
    ends(&s);
    stage_down(&s);
}

TEST(more_calls_at_once_than_fit_end_the_run)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    for (int i = 0; i < 40 && s.speaking; i++) calls(&s, "work", "{}");
    UNTIL(idle(&s));
    CHECK(!s.job);
    CHECK_STR(story(&s), "message step:error ended:error");
    stage_down(&s);
}

TEST(a_tool_that_takes_too_long_is_told_to_stop_and_has_failed)
{
    struct stage s;
    stage_up(&s);
    registry_find(&s.registry, STR("work"))->timeout_ms = 1;
    works(&s, "work", "{}");
    UNTIL(s.cancels == 1);
    finishes(&s, TOOL_CANCELLED);
    UNTIL(s.speaking);
    CHECK_STR(story(&s), "message step:calls started finished:failed");
    ends(&s);
    stage_down(&s);
}

/* A payment on a disk that hangs: nobody can take it back from its thread, and it comes home when
 * all is told. */
TEST(a_tool_that_does_not_even_stop_is_unknown_and_may_still_come_home)
{
    struct stage s;
    stage_up(&s);
    registry_find(&s.registry, STR("work"))->timeout_ms = 1;
    works(&s, "work", "{}");
    UNTIL(s.cancels == 1);
    UNTIL(s.speaking); /* the grace is over */
    CHECK_STR(story(&s), "message step:calls started finished:unknown");
    ends(&s);
    s.job->progress(s.job, &(struct tool_progress){ .message = STR("late"), .progress = 0.5 });
    if (s.job->ask) s.job->ask(s.job, STR("May I?"), STR("{}"));
    CHECK(hub_jobs(s.hub) == 1);
    finishes(&s, TOOL_DONE);
    CHECK(hub_jobs(s.hub) == 0);
    CHECK_STR(story(&s), "message step:calls started finished:unknown step:end ended:complete");
    stage_down(&s);
}

TEST(a_browser_that_does_not_answer_in_time_has_failed)
{
    struct stage s;
    stage_up(&s);
    registry_find(&s.registry, STR("locate"))->timeout_ms = 1;
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "locate", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK_STR(story(&s), "message step:calls started finished:failed");
    ends(&s);
    stage_down(&s);
}

TEST(a_queued_message_waits_and_one_that_still_waits_at_the_end_is_told)
{
    struct stage s;
    struct said  a, b;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    struct command *q = command(CMD_MESSAGE, &a);
    q->message.text = STR("next");
    q->when_busy = BUSY_QUEUE;
    hub_submit(s.hub, q);
    CHECK(!a.done);
    stops(&s, STOP_END);
    UNTIL(a.done && s.speaking);
    CHECK(a.status == 200 && s.asked == 2);
    q = command(CMD_MESSAGE, &b);
    q->message.text = STR("and another");
    q->when_busy = BUSY_QUEUE;
    hub_submit(s.hub, q);
    hub_drain(s.hub, NULL, NULL);
    UNTIL(b.done);
    CHECK(b.status == 503 && strcmp(b.code, "restarting") == 0);
    stage_down(&s);
}

TEST(a_stop_counts_for_what_waits_but_a_reader_who_leaves_only_for_what_it_read)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        struct stage    s;
        struct said     a, x;
        struct command *q, *stop;
        stage_up(&s);
        say(&s, "hello");
        UNTIL(s.speaking);
        q = command(CMD_MESSAGE, &a);
        q->message.text = STR("next");
        q->when_busy = BUSY_QUEUE;
        hub_submit(s.hub, q);
        stop = command(CMD_STOP, &x);
        stop->stop.gently = leaves;
        hub_submit(s.hub, stop);
        if (leaves) {
            UNTIL(s.asked == 2 && s.speaking);
            says(&s, "As you see.");
            ends(&s);
        } else UNTIL(a.done && idle(&s));
        CHECK(a.status == 200);
        CHECK_STR(story(&s), leaves ? "message stop ended:cancelled message step:end ended:complete"
                                    : "message stop ended:cancelled message stop ended:cancelled");
        stage_down(&s);
    }
}

TEST(a_message_that_waits_when_the_conversation_is_let_go_is_answered)
{
    struct stage    s;
    struct said     x;
    struct command *q;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    q = command(CMD_MESSAGE, &x);
    q->message.text = STR("and another");
    q->when_busy = BUSY_QUEUE;
    hub_submit(s.hub, q);
    CHECK(!x.done);
    stage_down(&s);
    CHECK(x.done && x.status == 503 && strcmp(x.code, "restarting") == 0);
}

/* It was looked at before, in a fold that was dropped with its batch. */
TEST(a_command_that_is_turned_away_tells_nothing_of_an_earlier_look)
{
    struct stage    s;
    struct said     x;
    struct command *c;
    stage_up(&s);
    stage_gate(&s);
    c = command(CMD_DECIDE, &x);
    c->receipt = (struct receipt){ .run = STR("gone"), .id = STR("gone"), .seq = 7 };
    list_add(&the_thread(&s)->parked, &c->node);
    thread_refuse(the_thread(&s), &the_thread(&s)->parked, 503, "store_unavailable", "Later.");
    CHECK(x.done && x.status == 503 && !x.run.len);
    stage_down(&s);
}

/* As if the process had died here; the next one recovers. */
static void dies(struct stage *s)
{
    UNTIL(!s->hub->expiry_busy); /* the store still has its question */
    hub_free(s->hub);
    uv_run(&s->loop.uv, UV_RUN_NOWAIT);
    s->speaking = false;
    stage_hub(s);
    hub_recover(s->hub);
}

static void on_drained(void *ctx)
{
    ((struct stage *)ctx)->drained = true;
}

/* As SIGTERM does. */
static void leaves(struct stage *s)
{
    s->drained = false;
    hub_drain(s->hub, on_drained, s);
    UNTIL(s->drained);
    dies(s);
}

TEST(a_run_that_was_cut_at_the_same_place_again_and_again_is_given_up)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    for (int i = 0; i < 4; i++) {
        UNTIL(s.speaking);
        dies(&s);
    }
    UNTIL(the_thread(&s) && idle(&s));
    CHECK_STR(story(&s), "message resumed resumed resumed ended:error");
    CHECK(s.asked == 4 && hub_runs(s.hub) == 0);
    stage_down(&s);
}

TEST(a_run_that_waits_in_line_through_many_crashes_is_not_given_up_for_that)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    s.setup.runs_max = 0;
    for (int i = 0; i < 6; i++) {
        dies(&s);
        UNTIL(the_thread(&s) && list_linked(&the_thread(&s)->line));
    }
    s.setup.runs_max = 10;
    dies(&s);
    UNTIL(s.speaking);
    ends(&s);
    CHECK_STR(story(&s), "message resumed step:end ended:complete");
    stage_down(&s);
}

/* Its model has no place for one more: nobody was asked yet. */
TEST(a_run_that_waits_for_its_model_through_many_crashes_is_not_given_up_for_that)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    s.in_line = true;
    for (int i = 0; i < 6; i++) {
        dies(&s);
        UNTIL(s.speaking && the_thread(&s)->fold.run->resumes == 0 &&
              !the_thread(&s)->inflight); /* the store still has it */
    }
    s.in_line = false;
    says(&s, "Here.");
    ends(&s);
    CHECK(str_ends(story(&s), STR(" resumed resumed step:end ended:complete")));
    stage_down(&s);
}

TEST(a_run_that_waits_for_tools_through_many_crashes_is_not_given_up_for_that)
{
    struct registry_source late = { 0 };
    struct stage           s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    registry_expect(&s.registry, &late, STR("late"), UINT64_MAX);
    for (int i = 0; i < 6; i++) {
        dies(&s);
        UNTIL(the_thread(&s) && the_thread(&s)->awaiting);
    }
    registry_settle(&s.registry, &late);
    dies(&s);
    UNTIL(s.speaking);
    ends(&s);
    CHECK_STR(story(&s), "message resumed step:end ended:complete");
    stage_down(&s);
}

/* It waits for somebody, as far as its facts say, and there is room for no conversation that does;
 * but what it asked died with the process, and how it ends only its tool can say. */
TEST(a_form_that_died_with_its_process_is_not_forgotten_before_its_tool_is_known)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    works(&s, "work", "{}");
    s.job->ask(s.job, STR("Which account?"), STR("{}"));
    UNTIL(waits(&s));
    struct tool_job *lost = s.job;
    struct hub      *dead = s.hub;
    struct tool     *tool = registry_find(&s.registry, STR("work"));
    int64_t          known = tool->changed_ms;
    s.open[0] = NULL;
    tool->changed_ms = TOOL_UNCHECKED;
    s.setup.threads_max = 0;
    stage_hub(&s); /* the old one is left as a dead process leaves it */
    hub_recover(s.hub);
    UNTIL(the_thread(&s) && the_thread(&s)->awaiting);
    struct command *other = command(CMD_MESSAGE, &x);
    other->log.thread = STR("t_2");
    other->message.text = STR("hello");
    CHECK(sent(&s, other, &x).status == 200);
    UNTIL(s.speaking);
    stops(&s, STOP_END);
    struct thread *b = hub_find(s.hub, (struct log_name){ STR("ann"), STR("t_2") });
    UNTIL(thread_idle(b));
    REQUIRE(the_thread(&s));
    tool->changed_ms = known;
    registry_tell(&s.registry);
    UNTIL(s.speaking);
    ends(&s);
    lost->finish(lost, &(struct tool_result){ .outcome = TOOL_CANCELLED, .text = STR("gone") });
    UNTIL(!hub_jobs(dead));
    hub_free(dead);
    stage_down(&s);
}

TEST(restarts_in_good_order_are_not_held_against_a_step_and_crashes_still_are)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    for (int i = 0; i < 6; i++) {
        UNTIL(s.speaking);
        says(&s, "Half");
        leaves(&s);
    }
    for (int i = 0; i < 3; i++) {
        UNTIL(s.speaking);
        dies(&s);
    }
    UNTIL(the_thread(&s) && idle(&s));
    CHECK(s.asked == 9 && str_ends(story(&s), STR(" resumed resumed resumed ended:error")));
    stage_down(&s);
}

/* A stop that could not be saved cuts the step; the log is read again, and the step begins over. */
TEST(a_step_that_begins_over_in_one_life_is_not_given_up_for_that)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    for (unsigned i = 1; i <= 6; i++) {
        UNTIL(s.speaking && s.asked == i);
        struct thread *t = the_thread(&s);
        work_hang_up(t);
        step_clear(&t->step);
        thread_reread(t);
    }
    UNTIL(s.speaking);
    CHECK(the_thread(&s)->fold.run->resumes == 1); /* should it be this life's last */
    ends(&s);
    CHECK(str_ends(story(&s), STR(" step:end ended:complete")));
    stage_down(&s);
}

TEST(a_payment_that_was_running_when_the_process_died_is_unknown_and_not_run_again)
{
    struct stage s;
    stage_up(&s);
    stage_gate(&s);
    CHECK(decides(&s, gate_of(&s), true).status == 200);
    UNTIL(s.job);
    finishes(&s, TOOL_UNKNOWN);
    UNTIL(s.speaking);
    CHECK_STR(story(&s), "message step:calls asked decided:approved started finished:unknown");
    ends(&s);
    stage_down(&s);
}

/* The next process does not know yet whether it may run the tool again: its server is not listed. */
TEST(a_form_of_a_tool_that_went_with_its_process_is_not_answered)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    works(&s, "work", "{}");
    s.job->ask(s.job, STR("Which account?"), STR("{}"));
    UNTIL(waits(&s));
    struct tool_job *lost = s.job;
    struct hub      *dead = s.hub;
    struct str       id = thread_fold(the_thread(&s))->calls[0]->question->id;
    s.open[0] = NULL;
    registry_find(&s.registry, STR("work"))->changed_ms = TOOL_UNCHECKED;
    stage_hub(&s); /* the old one is left as a dead process leaves it */
    x = decides(&s, id, true);
    CHECK(x.status == 409 && strcmp(x.code, "superseded") == 0);
    CHECK_STR(story(&s), "message step:calls started asked");
    CHECK(s.begun == 1);
    lost->finish(lost, &(struct tool_result){ .outcome = TOOL_CANCELLED, .text = STR("gone") });
    UNTIL(!hub_jobs(dead));
    hub_free(dead);
    stage_down(&s);
}

TEST(two_answers_in_one_turn_have_one_winner)
{
    struct stage s;
    struct said  yes, no;
    stage_up(&s);
    stage_gate(&s);
    struct thread *t = the_thread(&s);
    struct str     id = arena_dup(&s.arena, t->fold.calls[0]->asked->id);
    t->inflight = true;
    for (int i = 0; i < 2; i++) {
        struct command *c = command(CMD_DECIDE, i ? &yes : &no);
        c->id = id;
        c->decide.confirmed = i;
        hub_submit(s.hub, c);
    }
    t->inflight = false;
    thread_pump(t);
    UNTIL(yes.done && no.done && s.speaking);
    CHECK(no.status == 200 && yes.status == 409 && strcmp(yes.code, "already_decided") == 0);
    CHECK(!s.job);
    CHECK_STR(story(&s), "message step:calls asked decided:denied finished:denied");
    ends(&s);
    stage_down(&s);
}

/* --- a tool that cannot be started posts its end from inside the acting ----------------------- */

static struct tool_job *picky[3];
static unsigned         picky_starts, too_early;

static void look_at_the_disk(void)
{
    const struct thread *t = the_thread(on);
    too_early += t->inflight || t->committed != t->fold.count;
}
static enum err picky_start(struct tool *t, struct tool_job *j)
{
    (void)t;
    look_at_the_disk();
    picky[picky_starts++] = j;
    return str_is(j->input, "{\"n\":1}") ? ERR_BUSY : OK;
}
static const struct tool_ops PICKY = { .start = picky_start, .cancel = stage_cancel };

static void heard_on_disk(struct command *c, const struct receipt *a)
{
    look_at_the_disk();
    heard(c, a);
}

static void yes_to(struct stage *s, size_t call, struct said *x)
{
    struct command *c = command(CMD_DECIDE, x);
    c->id = arena_dup(&c->arena, the_thread(s)->fold.calls[call]->asked->id);
    c->decide.confirmed = true;
    c->done = heard_on_disk;
    hub_submit(s->hub, c);
}

TEST(a_tool_that_cannot_start_makes_nothing_begin_or_be_told_before_it_is_on_disk)
{
    struct stage s;
    struct said  x[3];
    stage_up(&s);
    picky_starts = too_early = 0;
    registry_find(&s.registry, STR("pay"))->ops = &PICKY;
    registry_find(&s.registry, STR("pay"))->timeout_ms = 60000;
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "pay", "{\"n\":1}");
    calls(&s, "pay", "{\"n\":2}");
    calls(&s, "pay", "{\"n\":3}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    struct thread *t = the_thread(&s);
    t->inflight = true;
    yes_to(&s, 0, &x[0]);
    yes_to(&s, 1, &x[1]);
    t->inflight = false;
    thread_pump(t);
    REQUIRE(t->inflight);
    yes_to(&s, 2, &x[2]); /* while the first two are being saved */
    UNTIL(x[0].done && x[1].done && x[2].done && picky_starts == 3);
    CHECK(x[0].status == 200 && x[1].status == 200 && x[2].status == 200);
    CHECK(too_early == 0);
    for (int i = 1; i < 3; i++)
        picky[i]->finish(picky[i],
                         &(struct tool_result){ .outcome = TOOL_DONE, .text = STR("paid") });
    ends(&s);
    stage_down(&s);
}

TEST(a_value_as_deep_as_json_may_be_does_not_hold_the_conversation)
{
    char         deep[2 * JSON_DEPTH_MAX];
    struct stage s;
    stage_up(&s);
    for (int i = 0; i < JSON_DEPTH_MAX; i++) {
        deep[i] = '[';
        deep[sizeof deep - 1 - (size_t)i] = ']';
    }
    works(&s, "work", "{}");
    s.job->finish(s.job, &(struct tool_result){ .outcome = TOOL_DONE,
                                                .text = STR("ok"),
                                                .value = str_n(deep, sizeof deep) });
    UNTIL(s.speaking);
    const struct fact *end = the_thread(&s)->fold.calls[0]->finished;
    CHECK(end->outcome == WORD_DONE && str_is(end->text, "ok") && !end->value.ptr && end->note.len);
    ends(&s);
    stage_down(&s);
}

TEST(an_action_is_judged_by_its_own_page_not_by_that_of_the_run_before)
{
    static struct hub_action acts[] = { { { "go", 2 }, { "work", 4 } } };
    struct hub_page          pages[2];
    struct stage             s;
    struct said              x;
    stage_up(&s);
    hub_free(s.hub);
    pages[0] = s.page;
    pages[1] = (struct hub_page){ .name = STR("narrow"), .model = &s.model };
    s.hub = hub_new(&(struct hub_setup){ .loop = &s.loop,
                                         .store = s.store,
                                         .registry = &s.registry,
                                         .pages = pages,
                                         .page_count = 2,
                                         .actions = acts,
                                         .action_count = 1,
                                         .max_iterations = 2,
                                         .tool_text_max = 1000,
                                         .runs_max = 10,
                                         .threads_max = 100,
                                         .cancel_grace_ms = 100 });
    for (int narrow = 1; narrow >= 0; narrow--) {
        struct command *c = command(CMD_MESSAGE, &x);
        c->message.text = STR("hi");
        c->page = narrow ? STR("narrow") : STR("");
        hub_submit(s.hub, c);
        ends(&s);
        c = command(CMD_ACTION, &x);
        c->action.name = STR("go");
        c->page = narrow ? STR("") : STR("narrow");
        hub_submit(s.hub, c);
        UNTIL(x.done && (s.job || s.speaking));
        CHECK(narrow ? s.job != NULL : s.speaking);
        if (s.job) finishes(&s, TOOL_DONE);
        ends(&s);
    }
    stage_down(&s);
}

TEST(thoughts_and_words_are_not_counted_as_calls)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    for (int i = 0; i < 40; i++) {
        s.run.sink->reasoning(s.run.sink, STR("hm"));
        says(&s, "word ");
    }
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.job);
    finishes(&s, TOOL_DONE);
    ends(&s);
    stage_down(&s);
}

TEST(only_so_many_messages_wait_for_one_answer)
{
    struct stage s;
    struct said  x[PARKED_MAX + 1];
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    for (int i = 0; i <= PARKED_MAX; i++) {
        struct command *c = command(CMD_MESSAGE, &x[i]);
        c->message.text = STR("and then?");
        c->when_busy = BUSY_QUEUE;
        hub_submit(s.hub, c);
    }
    UNTIL(x[PARKED_MAX].done);
    CHECK(x[PARKED_MAX].status == 429 && strcmp(x[PARKED_MAX].code, "too_many_waiting") == 0);
    CHECK(!x[0].done && !x[PARKED_MAX - 1].done);
    hub_drain(s.hub, NULL, NULL);
    UNTIL(x[PARKED_MAX - 1].done);
    stage_down(&s);
}

static bool spoiled;
static void on_spoiled(struct store_append *a, enum err e)
{
    (void)a;
    spoiled = e == OK;
}

TEST(a_log_that_cannot_be_read_is_told_and_read_again_only_when_somebody_asks)
{
    struct stage s;
    stage_up(&s);
    say(&s, "hello");
    ends(&s);
    struct log_name     log = { STR("ann"), STR("t_1") };
    struct store_fact   bad = { thread_committed(the_thread(&s)) + 1, 1, STR("ended"),
                                STR("{\"outcome\":\"a word of a newer version\"}") };
    struct store_append a = { .log = log,
                              .expected = bad.seq - 1,
                              .facts = &bad,
                              .fact_count = 1,
                              .state = STR("idle"),
                              .done = on_spoiled };
    spoiled = false;
    store_append(s.store, &a);
    UNTIL(spoiled);
    stage_restart(&s);
    struct said x = say(&s, "again");
    CHECK(x.status == 503 && strcmp(x.code, "store_unavailable") == 0);
    CHECK(!the_thread(&s)->stalled && !the_thread(&s)->loading);
    CHECK(say(&s, "and again").status == 503);
    stage_down(&s);
}
