/* jobs.c -- running tools: a job for every call that was started, and what became of it.
 *
 * It ends in a command to the thread's own mailbox, never in a direct change of its state. A job
 * stays attached to its call until the outcome is committed; a call that is `started` without a job
 * was left behind by a process that died.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "run/callcheck.h"
#include "run/caller.h"
#include "run/engine.h"
#include "run/spans.h"

#define CLIENT_MS 60000 /* for a browser's tool that is not configured any more */

struct job {
    struct list        node;
    struct tool_job    tool;
    struct thread     *thread;
    struct arena       arena;
    struct jv         *args;
    struct loop_timer  timer;
    bool               started, timed_out, finished;
    bool               goes_on;  /* it asked in the middle of its work, and now has the answer */
    bool               reported; /* the runner is through with it */
    /* its outcome is committed, but the runner still holds it */
    bool               orphan;
    struct command    *done;   /* preallocated; carries the result */
    struct tool_result result; /* in done->arena */
    struct buf         stage, message, data;
    /* a person's answer to its question, handed over after the commit */
    bool               answered, accepted;
    struct str         content;
};

static struct job *of_job(struct tool_job *j)
{
    return LIST_ITEM(j, struct job, tool);
}

static void free_closed(struct loop_timer *timer)
{
    struct job *j = LIST_ITEM(timer, struct job, timer);
    arena_done(&j->arena);
    buf_done(&j->stage);
    buf_done(&j->message);
    buf_done(&j->data);
    mem_free(j);
}

static void job_free(struct job *j)
{
    struct hub *h = j->thread->hub;
    list_remove(&j->node);
    loop_timer_close(&j->timer, free_closed);
    hub_job_ended(h);
}

/* The outcome is committed (or not wanted any more). */
static void job_settled(struct command *c, const struct receipt *a)
{
    struct job    *j = c->job;
    struct thread *t = j->thread;
    struct call   *call = fold_call(&t->fold, j->tool.call_id);
    if (call && call->job == j) call->job = NULL;
    fault_hit("run.tool_settled");
    if (j->reported) job_free(j);
    else
        j->orphan =
            true; /* it did not stop when told to: kept until it comes home, as tool.h promises */
    command_free(c);
    (void)a;
}

static void on_progress(struct tool_job *tj, const struct tool_progress *p)
{
    struct job  *j = of_job(tj);
    struct call *c = fold_call(&j->thread->fold, tj->call_id);
    if (!c || j->finished || tj->checks) return;
    buf_clear(&j->stage);
    buf_clear(&j->message);
    buf_clear(&j->data);
    buf_str(&j->stage, p->stage);
    buf_str(&j->message, p->message);
    buf_str(&j->data, p->data);
    c->stage = p->stage.ptr ? buf_view(&j->stage) : STR_NONE;
    c->message = p->message.ptr ? buf_view(&j->message) : STR_NONE;
    c->progress_data = p->data.ptr ? buf_view(&j->data) : STR_NONE;
    c->progress = p->progress;
    c->progress_no = ++j->thread->progress_no;
    thread_wake(j->thread);
}

static void finish_job(struct job *j, const struct tool_result *r)
{
    struct arena *a = &j->done->arena;
    if (j->finished) return;
    fault_hit("run.after_tool");
    j->finished = true;
    loop_timer_stop(&j->timer);
    j->result = *r;
    j->result.text = arena_dup(a, r->text.ptr ? r->text : STR(""));
    j->result.value = arena_dup(a, r->value);
    j->result.note = arena_dup(a, r->note);
    if (r->outcome != TOOL_ASKS && json_depth(r->value) > VALUE_DEPTH_MAX) {
        j->result.value = STR_NONE;
        j->result.note =
            STR("Its value is nested too deeply to be shown; what the model was told is the text.");
    }
    j->result.resume = arena_dup(a, r->resume);
    if (j->timed_out && r->outcome == TOOL_CANCELLED) {
        j->result.outcome = TOOL_FAILED;
        j->result.text =
            arena_printf(a, "Timed out after %g s.", j->tool.tool->timeout_ms / 1000.0);
    }
    thread_post(j->thread, j->done);
}

static void on_finish(struct tool_job *tj, const struct tool_result *r)
{
    struct job    *j = of_job(tj);
    struct thread *t = j->thread;
    j->reported = true;
    if (!j->orphan) finish_job(j, r);
    else {
        job_free(j);
        if (thread_idle(t)) hub_idle(t->hub, t);
    }
}

static void on_ask(struct tool_job *tj, struct str message, struct str schema)
{
    struct job     *j = of_job(tj);
    struct command *c = j->finished ? NULL : command_new(CMD_TOOL_ASKS);
    if (!c) {
        /* nobody can be asked */
        if (tj->tool->ops->answer) tj->tool->ops->answer(tj, false, STR_NONE);
        return;
    }
    c->id = arena_dup(&c->arena, tj->call_id);
    c->question.text = arena_dup(&c->arena, message);
    c->question.schema = arena_dup(&c->arena, schema);
    c->done = command_drop;
    thread_post(j->thread, c);
}

static void on_timeout(struct loop_timer *timer)
{
    struct job *j = LIST_ITEM(timer, struct job, timer);
    if (j->orphan) return;
    if (j->timed_out) { /* it did not even stop when told to */
        finish_job(j,
                   &(struct tool_result){
                       .outcome = TOOL_UNKNOWN,
                       .text = STR("It did not stop in time; it may or may not have happened.") });
        return;
    }
    j->timed_out = true;
    loop_timer_set(&j->timer, j->thread->hub->setup.cancel_grace_ms);
    if (j->tool.tool->ops->cancel) j->tool.tool->ops->cancel(&j->tool);
}

static enum err fill_job(struct job *j, struct call *c)
{
    struct thread *t = j->thread;
    struct arena  *a = &j->arena;
    j->tool.call_id = arena_dup(a, c->id);
    j->tool.thread = t->id;
    j->tool.owner = t->owner;
    struct caller who = caller_of(c->run, t->owner);
    j->tool.run = arena_dup(a, c->run->id);
    j->tool.principal = arena_dup(a, who.principal);
    who.claims = arena_dup(a, who.claims);
    j->tool.claims = caller_claims(a, &who);
    if (t->hub->setup.otel) {
        char trace[TRACEPARENT];
        spans_call(c->run, c->id, trace);
        j->tool.trace = arena_dup(a, str_c(trace));
    }
    j->tool.input = arena_dup(a, c->input);
    if (!j->tool.input.ptr || json_parse(a, j->tool.input, &j->args, NULL) != OK) return ERR_NOMEM;
    j->tool.args = j->args;
    if (c->decided) j->tool.payload = arena_dup(a, c->decided->payload);
    if (call_at_rest(c)) {
        j->goes_on = !call_unbegun(c);
        j->tool.resume = arena_dup(a, c->question->data);
        j->tool.accepted = c->answered->outcome == WORD_APPROVED;
        j->tool.content = j->tool.accepted ? arena_dup(a, c->answered->payload) : STR_NONE;
    }
    j->tool.progress = on_progress;
    j->tool.finish = on_finish;
    j->tool.ask = on_ask;
    return a->failed ? ERR_NOMEM : OK;
}

/* What is asked instead of the arguments. */
static enum err fill_check(struct job *j, struct call *c)
{
    enum err e = fill_job(j, c);
    j->tool.payload = j->tool.resume = STR_NONE;
    j->goes_on = false;
    if (!e) e = callcheck_question(&j->arena, c, &j->tool.input);
    if (e || json_parse(&j->arena, j->tool.input, &j->args, NULL) != OK) return ERR_NOMEM;
    j->tool.args = j->args;
    return OK;
}

static enum err add_job(struct thread *t, struct call *c, struct tool *tool, bool checks)
{
    struct job *j = mem_alloc(sizeof *j);
    if (!j) return ERR_NOMEM;
    j->thread = t;
    j->tool.tool = tool;
    j->tool.checks = checks;
    arena_init(&j->arena, 0);
    buf_init(&j->stage, 1024);
    buf_init(&j->message, 4096);
    buf_init(&j->data, 64 * 1024);
    j->done = command_new(checks ? CMD_CHECKED : CMD_TOOL_DONE);
    if (!j->done || (checks ? fill_check(j, c) : fill_job(j, c)) != OK) {
        command_free(j->done);
        arena_done(&j->arena);
        mem_free(j);
        return ERR_NOMEM;
    }
    j->done->job = j;
    j->done->id = j->tool.call_id;
    j->done->done = job_settled;
    loop_timer_init(t->hub->setup.loop, &j->timer, on_timeout);
    list_add(&t->jobs, &j->node);
    t->hub->jobs++;
    c->job = j;
    return OK;
}

enum err jobs_add(struct thread *t, struct call *c)
{
    return add_job(t, c, registry_find(t->hub->setup.registry, c->tool), false);
}

enum err jobs_check(struct thread *t, struct call *c, struct tool *check)
{
    return add_job(t, c, check, true);
}

const struct tool_result *jobs_checked(const struct command *c)
{
    const struct job *j = c->job;
    return &j->result;
}

/* The last moment to see that others may have taken the thread since `started` was saved. Alone
 * with its store a process needs no claim. */
static bool may_begin(const struct thread *t)
{
    const struct store *s = t->hub->setup.store;
    return !store_shared(s) || store_lease_ok(s, t->hold);
}

/* It is not begun. What was done of it before it asked is done: how far it came, nobody knows. */
static void cannot_start(struct job *j, const char *why)
{
    struct str more = STR(" It had asked a question before, so it may or may not have happened.");
    struct str text =
        j->goes_on ? arena_printf(&j->arena, "%s" STR_FMT, why, STR_ARG(more)) : str_c(why);
    on_finish(&j->tool, &(struct tool_result){ .outcome = j->goes_on ? TOOL_UNKNOWN : TOOL_FAILED,
                                               .text = text.ptr ? text : str_c(why) });
}

static void start_job(struct job *j)
{
    struct tool *tool = j->tool.tool;
    j->started = true;
    if (!may_begin(j->thread)) {
        cannot_start(j, "It was not begun: this node was cut off from the database.");
        return;
    }
    if (tool && tool->timeout_ms && !tool->own_clock) loop_timer_set(&j->timer, tool->timeout_ms);
    fault_hit("run.before_tool");
    enum err e = tool && tool->ops ? tool->ops->start(tool, &j->tool) : ERR_NOT_FOUND;
    fault_hit("run.in_tool");
    if (e) cannot_start(j, "The tool could not be started.");
}

static void hand_answer(struct job *j)
{
    j->answered = false;
    if (!j->finished && j->tool.tool->ops->answer)
        j->tool.tool->ops->answer(&j->tool, j->accepted, j->content);
}

void jobs_start(struct thread *t)
{
    must(t->committed == fold_seq(&t->fold)); /* nothing is begun that a crash could forget */
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (!j->started) start_job(j);
        else if (j->answered) hand_answer(j);
    }
}

/* Wanted are those whose call is open in a run that is not being stopped. */
static bool is_wanted(const struct thread *t, const struct job *j)
{
    const struct call *c = fold_call(&t->fold, j->tool.call_id);
    if (j->tool.checks) return c && call_unsettled(c);
    return c && c->state != CALL_FINISHED && !c->run->stopping;
}

void jobs_cancel(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (!j->started || j->finished || is_wanted(t, j)) continue;
        if (j->tool.tool->ops->cancel) j->tool.tool->ops->cancel(&j->tool);
    }
}

void jobs_cancel_checks(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (!j->tool.checks || !j->started || j->finished) continue;
        if (j->tool.tool->ops->cancel) j->tool.tool->ops->cancel(&j->tool);
    }
}

void jobs_drop_unstarted(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        j->answered = false;
        if (j->started) continue;
        command_free(j->done);
        job_free(j);
    }
}

/* Their conversation is gone. One that has reported is on its way through the mailbox and ends
 * there. */
void jobs_orphan(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (j->finished || j->orphan) continue;
        j->orphan = j->finished = true;
        command_free(j->done);
        j->done = NULL;
    }
}

void jobs_adopt(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job  *j = LIST_ITEM(n, struct job, node);
        struct call *c = fold_call(&t->fold, j->tool.call_id);
        bool         open = c && (j->tool.checks ? call_unsettled(c) : c->state == CALL_STARTED);
        if (open && !j->orphan) c->job = j;
    }
}

void jobs_answer(struct call *c, bool accepted, struct str content)
{
    struct job *j = c ? c->job : NULL;
    if (!j) return;
    j->answered = true;
    j->accepted = accepted;
    j->content = arena_dup(&j->arena, content);
}

struct tool *call_tool(const struct thread *t, const struct call *c)
{
    return c->declared ? NULL : registry_find(t->hub->setup.registry, c->tool);
}

int64_t call_client_ms(const struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    return tool && tool->timeout_ms ? tool->timeout_ms : CLIENT_MS;
}

/* People are asked through declared functions: they wait as long as questions do. */
int64_t call_client_due(const struct thread *t, const struct call *c)
{
    int64_t asked_ms = (int64_t)t->hub->setup.registry->expires_s * 1000;
    if (c->declared && !asked_ms) return 0;
    return c->started->at_ms + (c->declared ? asked_ms : call_client_ms(t, c));
}

int64_t call_ms(const struct call *c)
{
    int64_t ms = c->started ? clock_wall_ms() - c->started->at_ms : 0;
    return ms > 0 ? ms : 0;
}

/* Of a tool that may be run again nobody needs to find out how far it came when a person stopped
 * it. */
static enum word outcome_of(const struct job *j, const struct call *c)
{
    static const enum word WORDS[] = { WORD_DONE, WORD_FAILED, WORD_CANCELLED, WORD_UNKNOWN };
    enum word              w = WORDS[j->result.outcome];
    /* what was taken for it is given back only when it certainly did not happen */
    bool                   again = j->tool.tool && j->tool.tool->idempotent && !call_takes(c);
    return w == WORD_UNKNOWN && again && c->run->stopping ? WORD_CANCELLED : w;
}

bool jobs_once_more(const struct command *c, struct call *call)
{
    const struct job *j = c->job;
    if (j->result.outcome != TOOL_UNKNOWN || !j->tool.tool || !j->tool.tool->idempotent ||
        call->repeated || call->run->stopping || j->thread->hub->draining)
        return false;
    call->repeated = true;
    call->job = NULL;
    return true;
}

void jobs_late(const struct command *c, struct command *late)
{
    static const enum word    WORDS[] = { WORD_DONE, WORD_FAILED, WORD_CANCELLED, WORD_UNKNOWN };
    const struct job         *j = c->job;
    const struct tool_result *r = &j->result;
    late->late.outcome = r->outcome == TOOL_ASKS ? WORD_UNKNOWN : WORDS[r->outcome];
    late->late.text = arena_dup(&late->arena, r->text);
    late->late.value = arena_dup(&late->arena, r->value);
    late->late.note = arena_dup(&late->arena, r->note);
}

void jobs_outcome(const struct command *c, const struct call *call, struct fact *f)
{
    const struct job         *j = c->job;
    const struct tool_result *r = &j->result;
    if (r->outcome == TOOL_ASKS) {
        f->kind = FACT_ASKED;
        f->ask = r->text;
        f->schema = r->value;
        f->data = r->resume;
        f->outcome = r->unbegun ? WORD_NOT_DONE : WORD_NONE;
        return;
    }
    f->kind = FACT_FINISHED;
    f->outcome = outcome_of(j, call);
    f->text = r->text;
    f->value = r->value;
    f->note = r->note;
}
