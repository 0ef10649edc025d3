/* What an outsider broke by playing a hostile model, a hurried client or an impatient operator:
 * each sentence was false once. */
#include <stdlib.h>

#include "stage.h"

static void begins_call(struct stage *s, const char *tool, const char *input)
{
    s->run.sink->call(s->run.sink, STR("p"), str_c(tool));
    s->run.sink->input(s->run.sink, str_c(input));
}

/* --- nobody runs what was not judged ------------------------------------------------------- */

TEST(a_guarded_call_that_the_model_left_unfinished_is_not_run)
{
    static const char *const INPUTS[] = { "{\"amount\":5000}",   "null",         "[]", "5000",
                                          "[{\"amount\":5000}]", "{\"amount\":", "" };
    for (size_t i = 0; i < sizeof INPUTS / sizeof *INPUTS; i++) {
        struct stage s;
        stage_up(&s);
        say(&s, "hello");
        UNTIL(s.speaking);
        begins_call(&s, "pay", INPUTS[i]);
        calls(&s, "locate", "{}");
        stops(&s, STOP_CALLS);
        UNTIL(waits(&s)); /* for the browser */
        CHECK(s.begun == 0);
        const struct call *c = thread_fold(the_thread(&s))->calls[0];
        CHECK(c->state == CALL_FINISHED && c->finished->outcome == WORD_FAILED && !c->started &&
              !c->asked);
        stage_down(&s);
    }
}

TEST(
    an_unknown_tool_with_rubbish_for_input_is_an_error_for_the_model_and_a_restart_finds_nothing_odd)
{
    static const char *const INPUTS[] = { "null", "[]", "{\"a\":", "7" };
    for (size_t i = 0; i < sizeof INPUTS / sizeof *INPUTS; i++) {
        struct stage s;
        stage_up(&s);
        say(&s, "hello");
        UNTIL(s.speaking);
        begins_call(&s, "nothing_like_it", INPUTS[i]);
        begins_call(&s, "work", INPUTS[i]);
        stops(&s, STOP_CALLS);
        UNTIL(s.asked == 2);
        stage_restart(&s);
        CHECK(does(&s, CMD_FOLLOW).status == 200);
        ends(&s);
        CHECK(s.begun == 0);
        stage_down(&s);
    }
}

TEST(a_model_cannot_call_what_only_a_button_may)
{
    struct stage s;
    stage_up(&s);
    stage_tool(&s, "secret_door", TOOL_SERVER, CONFIRM_NEVER)->hidden = true;
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "secret_door", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK(s.begun == 0);
    stage_down(&s);
}

TEST(judging_much_takes_several_turns_of_the_loop_and_loses_no_call)
{
    struct stage s;
    char        *big = malloc(600 * 1024);
    memset(big, 'x', 600 * 1024);
    memcpy(big, "{\"a\":\"", 6);
    memcpy(big + 600 * 1024 - 3, "\"}", 3);
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    for (int i = 0; i < 4; i++) calls(&s, "work", big);
    struct parts now = { s.hub ? the_thread(&s)->step.parts : NULL, the_thread(&s)->step.count,
                         true };
    CHECK(now.at[0].complete && now.at[3].judging && now.at[3].gate == GATE_UNJUDGED);
    CHECK(parts_at(now, parts_len(now)).what == PIECE_NONE);
    stops(&s, STOP_CALLS);
    UNTIL(s.begun == 4);
    CHECK_STR(story(&s), "message step:calls started started started started");
    finish_all(&s);
    stage_down(&s);
    free(big);
}

TEST(a_stop_while_calls_wait_for_the_judge_runs_none_of_them)
{
    struct stage s;
    char        *big = malloc(1100 * 1024);
    memset(big, ' ', 1100 * 1024);
    memcpy(big, "{", 1);
    memcpy(big + 1100 * 1024 - 2, "}", 2);
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    calls(&s, "work", big);
    calls(&s, "pay", big);
    stops(&s, STOP_CALLS);
    CHECK(does(&s, CMD_STOP).status == 200);
    UNTIL(idle(&s));
    CHECK(s.begun == 0);
    stage_down(&s);
    free(big);
}

/* --- nothing runs twice ----------------------------------------------------------------------- */

TEST(the_same_message_delivered_twice_has_one_run)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    struct str runs[3];
    for (int i = 0; i < 3; i++) {
        struct command *c = command(CMD_MESSAGE, &x);
        c->message.text = STR("Pay 50");
        c->message.id = STR("msg-1");
        c->when_busy = BUSY_INTERRUPT;
        if (i == 2) stops(&s, STOP_END); /* the third comes when all is over */
        if (i == 2) UNTIL(idle(&s));
        sent(&s, c, &x);
        CHECK(x.status == 200 && x.duplicate == (i > 0));
        runs[i] = x.run;
        UNTIL(s.speaking || i == 2);
    }
    CHECK(str_eq(runs[0], runs[1]) && str_eq(runs[0], runs[2]));
    CHECK(s.asked == 1);
    CHECK_STR(story(&s), "message step:end ended:complete");
    /* other words under the same id are an edit */
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("Pay 60");
    c->message.id = STR("msg-1");
    CHECK(sent(&s, c, &x).status == 200 && !x.duplicate);
    stage_down(&s);
}

TEST(a_request_id_names_its_own_run_also_when_the_message_was_answered_again)
{
    struct stage s;
    struct said  first, again;
    stage_up(&s);
    for (int i = 0; i < 2; i++) {
        struct said    *x = i ? &again : &first;
        struct command *c = command(CMD_MESSAGE, x);
        c->message.text = STR("Hello");
        c->message.id = STR("msg-1");
        c->request_id = STR("r-1");
        if (i) CHECK(does(&s, CMD_RETRY).status == 200);
        sent(&s, c, x);
        ends(&s);
    }
    CHECK(again.status == 200 && again.duplicate && str_eq(again.run, first.run));
    stage_down(&s);
}

TEST(another_answer_begins_after_the_last_effect_and_the_same_call_is_asked_about)
{
    struct stage s;
    stage_up(&s);
    turn_with(&s, "work", "{\"amount\":50}");
    CHECK(does(&s, CMD_RETRY).status == 200);
    UNTIL(s.speaking);
    calls(&s, "work", "{\"amount\":50.0}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    CHECK(s.begun == 1);
    CHECK(thread_fold(the_thread(&s))->run->first->keep == 4);
    stage_down(&s);
}

TEST(what_an_edited_version_did_is_asked_about_before_it_is_done_again)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    turn_with(&s, "work", "{\"amount\":50}");
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("do it, please");
    c->message.replaces = thread_fold(the_thread(&s))->facts[0]->id;
    CHECK(sent(&s, c, &x).status == 200);
    UNTIL(s.speaking);
    calls(&s, "work", "{\"amount\":50}");
    calls(&s, "work", "{\"amount\":51}");
    stops(&s, STOP_CALLS);
    UNTIL(s.begun == 2); /* the other amount is another call */
    CHECK(gate_of(&s).len > 0);
    finish_all(&s);
    stage_down(&s);
}

/* The run of a question that was only answered. */
static struct str first_answer(struct stage *s)
{
    CHECK(say(s, "hello").status == 200);
    ends(s);
    return arena_dup(&s->arena, thread_fold(the_thread(s))->run->id);
}

/* ann goes on from the first answer, and the model has spoken. */
static struct said goes_back(struct stage *s, struct str first)
{
    struct said     x;
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("from here");
    c->message.after = first;
    x = sent(s, c, &x);
    if (x.status != 200) return x;
    UNTIL(s->speaking);
    says(s, "yes");
    ends(s);
    return x;
}

TEST(what_a_version_did_that_was_left_is_asked_about_before_it_is_done_again)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    struct str first = first_answer(&s);
    turn_with(&s, "work", "{\"amount\":50}");
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("do it, please");
    c->message.after = first;
    CHECK(sent(&s, c, &x).status == 200);
    UNTIL(s.speaking);
    calls(&s, "work", "{\"amount\":50}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    CHECK(s.begun == 1 && gate_of(&s).len > 0);
    stage_down(&s);
}

TEST(a_conversation_is_gone_back_in_only_so_often)
{
    struct stage s;
    struct said  x = { .status = 200 };
    unsigned     times = 0;
    stage_up(&s);
    struct str first = first_answer(&s);
    turn_with(&s, "work", "{}");
    while (times < 300 && (x = goes_back(&s, first)).status == 200) times++;
    CHECK(times == 200 && x.status == 422 && strcmp(x.code, "too_many_versions") == 0);
    stage_down(&s);
}

TEST(a_yes_while_the_server_stops_is_saved_and_the_next_process_acts_on_it_once)
{
    struct stage s;
    stage_up(&s);
    stage_gate(&s);
    hub_drain(s.hub, NULL, NULL);
    CHECK(decides(&s, gate_of(&s), true).status == 200);
    CHECK(s.begun == 0);
    CHECK_STR(story(&s), "message step:calls asked decided:approved");
    stage_restart(&s);
    hub_recover(s.hub);
    UNTIL(s.begun == 1);
    finishes(&s, TOOL_DONE);
    UNTIL(s.speaking);
    CHECK(s.begun == 1);
    stage_down(&s);
}

TEST(a_yes_is_not_acted_on_by_a_process_whose_tool_is_another_one)
{
    struct stage s;
    stage_up(&s);
    stage_gate(&s);
    hub_drain(s.hub, NULL, NULL);
    CHECK(decides(&s, gate_of(&s), true).status == 200);
    registry_find(&s.registry, STR("pay"))->idempotent = true; /* another definition */
    stage_restart(&s);
    hub_recover(s.hub);
    UNTIL(s.speaking);
    CHECK(s.begun == 0);
    CHECK_STR(story(&s), "message step:calls asked decided:approved finished:failed");
    stage_down(&s);
}

static void begin_idempotent(struct stage *s)
{
    stage_up(s);
    stage_tool(s, "store_it", TOOL_SERVER, CONFIRM_NEVER)->idempotent = true;
    works(s, "store_it", "{}");
}

TEST(an_idempotent_call_that_told_nothing_is_run_once_more_under_its_id_and_then_it_is_unknown)
{
    struct stage s;
    begin_idempotent(&s);
    struct str id = arena_dup(&s.arena, s.job->call_id);
    finishes(&s, TOOL_UNKNOWN);
    UNTIL(s.begun == 2 && s.job);
    CHECK(str_eq(s.job->call_id, id));
    finishes(&s, TOOL_UNKNOWN);
    UNTIL(s.speaking);
    CHECK(s.begun == 2);
    CHECK_STR(story(&s), "message step:calls started finished:unknown");
    stage_down(&s);
}

TEST(an_idempotent_call_is_not_run_again_by_a_process_whose_tool_is_another_one)
{
    for (int changed = 0; changed < 2; changed++) {
        struct stage s;
        begin_idempotent(&s);
        struct tool_job *lost = s.job;
        s.open[0] = NULL;
        struct hub *dead = s.hub;
        (void)lost;
        if (changed) registry_find(&s.registry, STR("store_it"))->runner = STR("[\"elsewhere\"]");
        stage_hub(&s); /* the old one is left as a dead process leaves it */
        s.job = NULL;
        hub_recover(s.hub);
        if (changed) UNTIL(s.speaking);
        else UNTIL(s.begun == 2);
        CHECK(s.begun == (changed ? 1u : 2u));
        if (!changed) finish_all(&s);
        lost->finish(lost, &(struct tool_result){ .outcome = TOOL_CANCELLED, .text = STR("gone") });
        UNTIL(!hub_jobs(dead));
        hub_free(dead);
        stage_down(&s);
    }
}

/* A server whose tools are listed some time after the start. */
static void later(struct stage *s, struct registry_source *source)
{
    registry_remove(&s->registry, registry_find(&s->registry, STR("pay")));
    registry_expect(&s->registry, source, STR("pa"), clock_mono_ms() + 60000);
    stage_restart(s);
    hub_recover(s->hub);
}

TEST(a_yes_for_a_tool_that_is_not_listed_yet_is_kept_until_it_is)
{
    struct stage           s;
    struct registry_source source = { 0 };
    stage_up(&s);
    stage_gate(&s);
    struct str gate = arena_dup(&s.arena, gate_of(&s));
    later(&s, &source);
    CHECK(decides(&s, gate, true).status == 200);
    CHECK(s.begun == 0);
    stage_tool(&s, "pay", TOOL_SERVER, CONFIRM_ALWAYS);
    registry_settle(&s.registry, &source);
    registry_tell(&s.registry);
    UNTIL(s.begun == 1);
    finish_all(&s);
    stage_down(&s);
}

TEST(a_yes_for_a_tool_that_is_never_listed_again_runs_nothing_and_says_so)
{
    struct stage           s;
    struct registry_source source = { 0 };
    stage_up(&s);
    stage_gate(&s);
    struct str gate = arena_dup(&s.arena, gate_of(&s));
    later(&s, &source);
    CHECK(decides(&s, gate, true).status == 200);
    registry_settle(&s.registry, &source);
    registry_tell(&s.registry);
    UNTIL(s.speaking);
    CHECK(s.begun == 0);
    CHECK_STR(story(&s), "message step:calls asked decided:approved finished:failed");
    stage_down(&s);
}

TEST(a_run_that_was_cut_by_a_restart_is_not_shown_half_of_the_tools)
{
    struct stage           s;
    struct registry_source source = { 0 };
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    later(&s, &source);
    CHECK(does(&s, CMD_FOLLOW).status == 200);
    UNTIL(the_thread(&s)->awaiting);
    CHECK(s.asked == 1);
    registry_settle(&s.registry, &source);
    registry_tell(&s.registry);
    UNTIL(s.speaking && s.asked == 2);
    stage_down(&s);
}

/* --- stopped, superseded, held ---------------------------------------------------------------- */

TEST(a_tool_that_rests_on_a_question_has_begun_so_going_on_without_answering_leaves_it_unknown)
{
    for (int stop = 0; stop < 2; stop++) {
        struct stage s;
        stage_up(&s);
        works(&s, "work", "{}");
        s.job->finish(s.job, &(struct tool_result){ .outcome = TOOL_ASKS,
                                                    .text = STR("Which account?"),
                                                    .value = STR("{}"),
                                                    .resume = STR("{\"at\":1}") });
        UNTIL(waits(&s));
        if (stop) CHECK(does(&s, CMD_STOP).status == 200);
        else CHECK(say(&s, "something else").status == 200);
        UNTIL(thread_fold(the_thread(&s))->calls[0]->state == CALL_FINISHED);
        CHECK(thread_fold(the_thread(&s))->calls[0]->finished->outcome == WORD_UNKNOWN);
        stage_down(&s);
    }
}

/* It rests on a question; meanwhile the tool is removed, or another one has its name. */
static enum word answered_after(struct stage *s, bool unbegun, bool changed)
{
    stage_up(s);
    works(s, "work", "{}");
    s->job->finish(s->job, &(struct tool_result){ .outcome = TOOL_ASKS,
                                                  .text = STR("Which account?"),
                                                  .value = STR("{}"),
                                                  .resume = STR("{\"at\":1}"),
                                                  .unbegun = unbegun });
    UNTIL(waits(s));
    registry_remove(&s->registry, registry_find(&s->registry, STR("work")));
    stage_restart(s);
    if (changed) stage_tool(s, "work", TOOL_SERVER, CONFIRM_NEVER)->runner = STR("elsewhere");
    CHECK(does(s, CMD_FOLLOW).status == 200);
    CHECK(decides(s, thread_fold(the_thread(s))->calls[0]->question->id, true).status == 200);
    UNTIL(thread_fold(the_thread(s))->calls[0]->state == CALL_FINISHED);
    CHECK(s->begun == 1);
    return thread_fold(the_thread(s))->calls[0]->finished->outcome;
}

TEST(a_call_that_asked_does_not_go_on_with_another_tool_and_is_failed_only_if_it_had_not_begun)
{
    for (int changed = 0; changed < 2; changed++) {
        struct stage s;
        CHECK(answered_after(&s, false, changed) == WORD_UNKNOWN);
        stage_down(&s);
        CHECK(answered_after(&s, true, changed) == WORD_FAILED);
        stage_down(&s);
    }
}

TEST(a_form_that_is_filled_in_with_something_else_than_was_asked_for_is_no_answer)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    works(&s, "work", "{}");
    s.job->finish(s.job, &(struct tool_result){
                             .outcome = TOOL_ASKS,
                             .text = STR("Which account?"),
                             .value = STR("{\"type\":\"object\",\"properties\":{\"account\":"
                                          "{\"enum\":[\"a\",\"b\"]}}}"),
                             .resume = STR("{\"at\":1}") });
    UNTIL(waits(&s));
    const struct call *call = thread_fold(the_thread(&s))->calls[0];
    for (int i = 0; i < 2; i++) {
        struct command *c = command(CMD_DECIDE, &x);
        c->id = arena_dup(&c->arena, call->question->id);
        c->decide.confirmed = true;
        c->decide.payload = i ? STR("{\"account\":\"b\"}") : STR("{\"account\":\"theirs\"}");
        sent(&s, c, &x);
        if (i) CHECK(x.status == 200);
        else CHECK(x.status == 422 && strcmp(x.code, "malformed_answer") == 0 && waits(&s));
    }
    UNTIL(s.begun == 2);
    finishes(&s, TOOL_DONE);
    ends(&s);
    stage_down(&s);
}

TEST(hold_keeps_the_question_while_another_call_of_the_step_still_runs)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    hub_free(s.hub);
    s.setup.hold = true;
    stage_hub(&s);
    say(&s, "both");
    UNTIL(s.speaking);
    calls(&s, "work", "{}");
    calls(&s, "pay", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.job && gate_of(&s).len);
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("hello?");
    c->when_busy = BUSY_INTERRUPT;
    sent(&s, c, &x);
    CHECK(x.status == 409 && strcmp(x.code, "approval_pending") == 0);
    CHECK(gate_of(&s).len > 0);
    finish_all(&s);
    stage_down(&s);
}

/* --- threads that live ------------------------------------------------------------------------ */

TEST(a_refused_message_does_not_make_an_empty_thread_of_one_that_is_on_disk)
{
    struct stage s;
    struct said  x;
    stage_up(&s);
    stage_gate(&s);
    struct str gate = arena_dup(&s.arena, gate_of(&s));
    stage_restart(&s);
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = STR("hi");
    c->page = STR("no such page");
    CHECK(sent(&s, c, &x).status == 422);
    CHECK(does(&s, CMD_FOLLOW).status == 200);
    CHECK(decides(&s, gate, true).status == 200);
    UNTIL(s.begun == 1);
    finish_all(&s);
    stage_down(&s);
}

TEST(a_deleted_conversation_is_gone_for_everybody_who_waits_in_it)
{
    struct stage s;
    struct said  x[4];
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    says(&s, "Secret words");
    for (int i = 0; i < 4; i++) {
        struct command *c = command(i == 2 ? CMD_DELETE : CMD_MESSAGE, &x[i]);
        c->message.text = STR("more");
        c->when_busy = BUSY_QUEUE;
        hub_submit(s.hub, c);
    }
    UNTIL(x[0].done && x[1].done && x[2].done && x[3].done);
    /* the run that it stopped */
    CHECK(x[0].status == 404 && x[1].status == 404 && x[2].status == 200 && x[2].run.len > 0);
    CHECK(x[3].status == 200); /* came after it: a new conversation of that name */
    UNTIL(s.speaking);
    CHECK_STR(story(&s), "message");
    CHECK(thread_step(the_thread(&s))->count == 0);
    ends(&s);
    CHECK(hub_runs(s.hub) == 0);
    stage_down(&s);
}

TEST(a_tool_that_ends_after_its_conversation_was_deleted_ends_for_nobody)
{
    for (int late = 0; late < 2; late++) {
        struct stage s;
        struct said  x;
        stage_up(&s);
        works(&s, "work", "{}");
        struct tool_job *job = s.job;
        hub_submit(s.hub, command(CMD_DELETE, &x));
        if (!late)
            job->finish(job, &(struct tool_result){ .outcome = TOOL_DONE, .text = STR("secret") });
        UNTIL(x.done);
        CHECK(x.status == 200);
        if (late)
            job->finish(job, &(struct tool_result){ .outcome = TOOL_DONE, .text = STR("secret") });
        CHECK(does(&s, CMD_FOLLOW).status == 404);
        UNTIL(hub_jobs(s.hub) == 0);
        CHECK(hub_runs(s.hub) == 0);
        stage_down(&s);
    }
}

/* --- within limits ---------------------------------------------------------------------------- */

static struct said in_thread(struct stage *s, enum command_kind kind, const char *thread,
                             struct str id)
{
    struct said     x;
    struct command *c = command(kind, &x);
    c->log.thread = str_c(thread);
    c->id = arena_dup(&c->arena, id);
    if (kind == CMD_DECIDE) c->decide.confirmed = true;
    else c->message.text = STR("pay");
    return sent(s, c, &x);
}

TEST(runs_that_waited_for_a_yes_go_on_within_the_limit)
{
    static const char *const THREADS[] = { "t_1", "t_2", "t_3" };
    struct stage             s;
    struct str               gates[3];
    stage_up(&s);
    hub_free(s.hub);
    s.setup.runs_max = 1;
    stage_hub(&s);
    for (int i = 0; i < 3; i++) {
        CHECK(in_thread(&s, CMD_MESSAGE, THREADS[i], STR_NONE).status == 200);
        UNTIL(s.speaking);
        calls(&s, "pay", "{}");
        stops(&s, STOP_CALLS);
        struct thread *t = hub_find(s.hub, (struct log_name){ STR("ann"), str_c(THREADS[i]) });
        UNTIL(!t->inflight && run_waiting(t->fold.run));
        gates[i] = arena_dup(&s.arena, t->fold.run->calls[0]->asked->id);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(in_thread(&s, CMD_DECIDE, THREADS[i], gates[i]).status == 200);
        UNTIL(s.job);
        finishes(&s, TOOL_DONE);
    }
    for (unsigned i = 0; i < 3; i++) { /* one at a time, in their order */
        UNTIL(s.speaking);
        CHECK(s.asked == 4 + i && hub_runs(s.hub) == 1);
        stops(&s, STOP_END);
    }
    UNTIL(hub_runs(s.hub) == 0);
    stage_down(&s);
}

TEST(idle_conversations_are_kept_by_what_they_hold)
{
    struct stage s;
    char         name[8], *big = calloc(1, 300 * 1024 + 1);
    memset(big, 'x', 300 * 1024);
    stage_up(&s);
    for (int i = 0; i < 6; i++) {
        struct said     x;
        struct command *c = command(CMD_CREATE, &x);
        snprintf(name, sizeof name, "t_%d", i);
        c->kind = CMD_MESSAGE;
        c->create = true;
        c->log.thread = str_c(name);
        c->message.text = str_c(big);
        CHECK(sent(&s, c, &x).status == 200);
        UNTIL(s.speaking);
        stops(&s, STOP_END);
        struct thread *t = hub_find(s.hub, (struct log_name){ STR("ann"), str_c(name) });
        UNTIL(!run_live(t->fold.run) && !t->inflight);
    }
    CHECK(s.hub->idle_bytes <= s.setup.idle_bytes_max && s.hub->idle_count < 6);
    CHECK(!hub_find(s.hub, (struct log_name){ STR("ann"), STR("t_0") }));
    stage_down(&s);
    free(big);
}

/* --- in the order in which they were said --------------------------------------------------------
 */

static struct command *asking(struct said *x, const char *thread, const char *request)
{
    struct command *c = command(CMD_MESSAGE, x);
    c->create = true;
    c->log.thread = str_c(thread);
    c->message.text = STR("hello");
    c->request_id = str_c(request);
    return c;
}

TEST(promise_a_stop_right_after_a_message_stops_that_message)
{
    struct stage s;
    struct said  a, b;
    stage_up(&s);
    hub_submit(s.hub, asking(&a, "t_1", "r-1"));
    hub_submit(s.hub, command(CMD_STOP, &b));
    UNTIL(a.done && b.done && idle(&s));
    CHECK(a.status == 200 && b.status == 200 && str_eq(a.run, b.run));
    CHECK_STR(story(&s), "message stop ended:cancelled");
    stage_down(&s);
}

TEST(promise_a_stop_counts_also_for_the_messages_that_wait_before_it)
{
    struct stage s;
    struct said  a, b;
    stage_up(&s);
    say(&s, "hello");
    UNTIL(s.speaking);
    struct command *next = command(CMD_MESSAGE, &a);
    next->message.text = STR("and then?");
    next->when_busy = BUSY_QUEUE;
    hub_submit(s.hub, next);
    hub_submit(s.hub, command(CMD_STOP, &b));
    UNTIL(a.done && b.done && idle(&s));
    CHECK(a.status == 200 && s.asked == 1); /* its words are saved, and nobody answers them */
    CHECK_STR(story(&s), "message stop ended:cancelled message stop ended:cancelled");
    stage_down(&s);
}

TEST(promise_a_request_id_that_was_used_in_another_conversation_names_its_run)
{
    struct stage s;
    struct said  first, again, refused;
    stage_up(&s);
    hub_submit(s.hub, asking(&first, "t_1", "r-1"));
    UNTIL(first.done && s.speaking);
    hub_submit(s.hub, asking(&again, "t_2", "r-1"));
    UNTIL(again.done);
    CHECK(again.status == 200 && again.duplicate && str_eq(again.run, first.run) && s.asked == 1);
    /* a conversation in which it would be refused does not hide that it was done */
    struct command *c = asking(&refused, "t_3", "r-1");
    c->create = false;
    hub_submit(s.hub, c);
    UNTIL(refused.done);
    CHECK(refused.status == 200 && refused.duplicate && str_eq(refused.run, first.run));
    c = asking(&refused, "t_3", "r-2");
    c->create = false;
    hub_submit(s.hub, c);
    UNTIL(refused.done);
    CHECK(refused.status == 404);
    stage_down(&s);
}

TEST(promise_an_answer_finds_its_conversation_by_the_confirmation)
{
    struct stage s;
    struct said  yes, other, forged;
    stage_up(&s);
    stage_gate(&s);
    struct str      id = call_gate(thread_fold(the_thread(&s))->calls[0])->id;
    struct command *c = command(CMD_DECIDE, &other);
    c->log = (struct log_name){ STR("bob"), STR_NONE };
    c->by = STR("bob");
    c->id = arena_dup(&c->arena, id);
    c->decide.confirmed = true;
    hub_submit(s.hub, c);
    UNTIL(other.done);
    CHECK(other.status == 404 && !s.begun); /* nobody else's */
    c = command(CMD_DECIDE, &forged);
    c->log.thread = STR_NONE;
    c->id = STR("confirmation-call-nobody");
    c->decide.confirmed = true;
    hub_submit(s.hub, c);
    UNTIL(forged.done);
    CHECK(forged.status == 404 && strcmp(forged.code, "unknown_confirmation") == 0);
    c = command(CMD_DECIDE, &yes);
    c->log.thread = STR_NONE;
    c->id = arena_dup(&c->arena, id);
    c->decide.confirmed = true;
    hub_submit(s.hub, c);
    UNTIL(yes.done && s.job);
    CHECK(yes.status == 200 && s.begun == 1);
    finish_all(&s);
    stage_down(&s);
}
