/* work.c -- the effects: calling the model and running tools.
 *
 * Both end in a command to the thread's own mailbox, never in a direct change of
 * its state. A job stays attached to its call until the outcome is committed; a
 * call that is `started` without a job was left behind by a process that died.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "base/utf8.h"
#include "run/callcheck.h"
#include "run/caller.h"
#include "run/engine.h"
#include "run/history.h"
#include "run/intent.h"
#include "tool/policy.h"
#include "tool/schema.h"

/* each call may need two list rows in one append */
#define STEP_CALLS_MAX (BATCH_APPROVALS / 2)
/* a model that begins a part with every token: each follower walks them */
#define STEP_PARTS_MAX 4096
#define CLIENT_MS      60000 /* for a browser's tool that is not configured any more */

/* --- judging a call ------------------------------------------------------------------ */

/* Where a part's own texts live: with the open step, or (an action) with the batch. */
static struct arena *lasting(struct thread *t)
{
    return t->step.active ? &t->step.arena : &t->batch;
}

static void bad(struct thread *t, struct part *p, struct str why)
{
    p->gate = GATE_BAD;
    p->problem = arena_dup(lasting(t), why);
    if (!p->problem.ptr) p->problem = STR("The call could not be checked.");
}

/* `present` shows only what the page has registered, and only if it fits. */
static bool payload_fits(struct thread *t, const struct hub_page *page, struct part *p,
                         const struct jv *args, struct buf *why)
{
    struct str type = jv_str_at(args, "type");
    for (size_t i = 0; i < page->payload_count; i++) {
        if (!str_eq(page->payloads[i].type, type)) continue;
        const struct jv *data = jv_get(args, "data");
        if (!data) {
            bad(t, p, STR("\"data\" is missing."));
            return false;
        }
        if (schema_check(page->payloads[i].schema, data, &t->hub->judge, why) == OK) return true;
        struct log_about about = thread_about(t, NULL);
        log_about(LOG_WARN, &about, "payload.misfit", "type", log_str(type), "why",
                  log_str(buf_view(why)), NULL);
        bad(t, p, buf_view(why));
        return false;
    }
    struct log_about about = thread_about(t, NULL);
    log_about(LOG_WARN, &about, "payload.unregistered", "type", log_str(type), NULL);
    bad(t, p, STR("This page has no payload of that type."));
    return false;
}

static bool is_visible(const struct fact *const *v, size_t n, uint64_t seq)
{
    for (size_t i = n; i-- > 0;)
        if (v[i]->seq == seq) return true;
    return false;
}

/* By a version of the conversation that is another thread? */
static bool was_carried(const struct fold *f, const struct tool *tool, const struct jv *args)
{
    for (size_t i = 0; i < f->carried_count; i++)
        if (str_eq(f->carried[i]->tool, tool->name) && jv_equal(f->carried[i]->args, args))
            return true;
    return false;
}

/* Did the same call already do its work in a version of the conversation that was edited or tried
 * again? Whatever the policy says, running it once more is a person's to decide. */
static bool was_replaced(struct thread *t, const struct tool *tool, const struct jv *args)
{
    const struct fold  *f = &t->fold;
    const struct fact **v = NULL;
    size_t              n = 0;
    struct arena        a;
    bool                found = false;
    if (tool->idempotent) return false;
    if (was_carried(f, tool, args)) return true;
    if (!f->branched) return false;
    arena_init(&a, 0);
    for (size_t i = f->call_count; i-- > 0 && !found;) {
        const struct call *c = f->calls[i];
        if (!call_took_effect(c) || !str_eq(c->tool, tool->name) || !jv_equal(c->args, args))
            continue;
        /* when in doubt, a person is asked */
        if (c->run->retried || (!v && history_visible(&a, f, &v, &n) != OK)) found = true;
        else found = !is_visible(v, n, c->step_seq);
    }
    arena_done(&a);
    return found;
}

bool work_was_replaced(struct thread *t, const struct call *c)
{
    const struct tool *tool = work_tool(t, c);
    return tool && was_replaced(t, tool, c->args);
}

static void judge(struct thread *t, const struct hub_page *page, struct part *p, struct tool *tool,
                  const struct jv *args, struct buf *why)
{
    if (!jv_is(args, JSON_OBJECT)) {
        bad(t, p, STR("The input is not a JSON object."));
        return;
    }
    if (json_depth(p->text) > VALUE_DEPTH_MAX) {
        bad(t, p, STR("The input is nested too deeply."));
        return;
    }
    if (schema_check(tool->schema, args, &t->hub->judge, why) != OK) {
        bad(t, p, buf_view(why));
        return;
    }
    p->client = tool->where == TOOL_CLIENT;
    bool asks = !p->declared && t->step.active && t->declared.ask;
    if (tool->reply) {
        if (tool->reply == REPLY_PRESENT && !payload_fits(t, page, p, args, why)) return;
        p->gate = GATE_REPLY;
    } else if (asks || policy_asks(tool, args, &t->hub->judge) || was_replaced(t, tool, args))
        p->gate = GATE_ASK;
    else p->gate = p->client ? GATE_CLIENT : GATE_FREE;
}

enum err work_judge(struct thread *t, const struct hub_page *page, const struct caller *who,
                    struct part *p, bool button)
{
    struct tool *tool = p->declared ? declared_find(&t->declared, p->tool)
                                    : registry_find(t->hub->setup.registry, p->tool);
    struct arena a;
    struct buf   why;
    struct jv   *args = NULL;
    (void)budget_pay(&t->hub->judge, 1 + p->text.len / 2); /* reading it */
    if (!tool || (tool->hidden && !button) || !caller_may_use(who, tool)) {
        bad(t, p, STR("There is no tool of this name."));
        return OK;
    }
    if (!p->declared && !hub_page_allows(page, tool)) {
        bad(t, p, STR("This tool is not available on this page."));
        return OK;
    }
    if (!button && !declared_allows(&t->declared, tool)) {
        bad(t, p, STR("This tool is not to be used in this turn."));
        return OK;
    }
    arena_init(&a, 0);
    buf_init(&why, 2048);
    enum err e = json_parse(&a, p->text, &args, NULL);
    if (!e) judge(t, page, p, tool, args, &why);
    else if (e != ERR_NOMEM) bad(t, p, STR("The input is not valid JSON."));
    p->at_ms = clock_wall_ms();
    if (args && p->gate != GATE_BAD && p->gate != GATE_REPLY) {
        metrics_intent_due(p->call);
        buf_clear(&why);
        intent_line(&why, tool->name, tool->intent, args,
                    tool->intent.ptr ? caller_known(&a, who, tool->schema) : NULL);
        p->intent = why.err ? STR_NONE : arena_dup(lasting(t), buf_view(&why));
        if (!p->intent.ptr) p->intent = STR("I'll help you with that...");
    }
    buf_done(&why);
    arena_done(&a);
    return e == ERR_NOMEM ? e : OK;
}

/* --- the model -------------------------------------------------------------------------- */

static struct thread *of_sink(struct model_sink *s)
{
    return LIST_ITEM(s, struct thread, sink);
}

static bool is_judging(const struct open_step *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].judging) return true;
    return false;
}

/* The model is through, and so is the judge. */
static void post_step(struct thread *t)
{
    if (!t->over || is_judging(&t->step)) return;
    t->over = false;
    t->step_done->receipt = (struct receipt){ 0 };
    thread_post(t, t->step_done);
}

void work_step_ended(struct thread *t)
{
    t->model = NULL;
    fault_hit("model.step_ended");
    t->over = true;
    post_step(t);
}

void work_fail_step(struct thread *t, const char *code, struct str message, bool retryable)
{
    t->step_failed = true;
    t->step_retryable = retryable;
    /* none of them will run */
    for (size_t i = 0; i < t->step.count; i++) t->step.parts[i].judging = false;
    t->fail_code = arena_dup(&t->step.arena, str_c(code));
    t->fail_text = arena_dup(&t->step.arena, message);
    if (!t->fail_code.ptr) t->fail_code = STR("model_error");
    if (!t->fail_text.ptr) t->fail_text = STR("The model's answer could not be kept. Try again.");
    work_step_ended(t);
}

static void out_of_memory(struct thread *t)
{
    work_hang_up(t);
    work_fail_step(t, "out_of_memory",
                   STR("The server ran out of memory for this answer. Try again in a moment."),
                   true);
}

static void add_words(struct thread *t, enum part_type type, struct str delta)
{
    if (step_text(&t->step, type, delta) != OK) {
        out_of_memory(t);
        return;
    }
    if (t->step.count > STEP_PARTS_MAX) {
        work_hang_up(t);
        work_fail_step(t, "model_error",
                       STR("The model's answer was in more pieces than are allowed. Try again."),
                       true);
        return;
    }
    thread_wake(t);
}

static void on_text(struct model_sink *s, struct str delta)
{
    add_words(of_sink(s), STEP_TEXT, delta);
}
static void on_reasoning(struct model_sink *s, struct str delta)
{
    add_words(of_sink(s), STEP_REASONING, delta);
}

static void on_opaque(struct model_sink *s, struct str json)
{
    struct thread *t = of_sink(s);
    if (step_opaque(&t->step, json) != OK) out_of_memory(t);
}

static size_t calls_of(const struct open_step *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += s->parts[i].type == STEP_CALL;
    return n;
}

static void on_call(struct model_sink *s, struct str provider_id, struct str name)
{
    struct thread *t = of_sink(s);
    struct tool   *own = declared_find(&t->declared, name);
    struct tool   *tool = own ? own : registry_find_wire(t->hub->setup.registry, name);
    struct str     id = id_new(&t->step.arena, "call-");
    struct part *p = id.ptr ? step_call(&t->step, id, provider_id, tool ? tool->name : name) : NULL;
    if (!p) {
        out_of_memory(t);
        return;
    }
    if (tool) {
        struct caller who = caller_of(t->fold.run, t->owner);
        p->client = tool->where == TOOL_CLIENT;
        p->declared = own != NULL;
        p->shown = !tool->reply && !tool->hidden && tool->confirm == CONFIRM_NEVER &&
                   caller_may_use(&who, tool);
    }
    if (calls_of(&t->step) > STEP_CALLS_MAX) {
        work_hang_up(t);
        work_fail_step(
            t, "model_error",
            STR("The model asked for more tool calls at once than are allowed. Try again."), true);
        return;
    }
    thread_wake(t);
}

static struct part *open_call(struct thread *t)
{
    struct part *p = step_last(&t->step);
    return p && p->type == STEP_CALL && !p->complete && !p->judging ? p : NULL;
}

static void on_input(struct model_sink *s, struct str delta)
{
    struct thread *t = of_sink(s);
    if (!open_call(t)) return; /* of a call that is over already */
    if (step_text(&t->step, STEP_CALL, delta) != OK) {
        out_of_memory(t);
        return;
    }
    thread_wake(t);
}

static void on_call_end(struct model_sink *s)
{
    struct thread *t = of_sink(s);
    struct part   *p = open_call(t);
    if (!p) return;
    if (!str_trim(p->text).len && step_text(&t->step, STEP_CALL, STR("{}")) != OK) {
        out_of_memory(t);
        return;
    }
    p->judging = true;
    work_judge_on(t);
}

/* A turn of the loop has one budget for all its judging, whoever asks for it: a schema or an input
 * that takes long to check delays its own conversation, not everybody's. What is left goes on in
 * the next turn. */
void work_judge_on(struct thread *t)
{
    struct caller who = caller_of(t->fold.run, t->owner);
    for (size_t i = 0; i < t->step.count; i++) {
        struct part *p = &t->step.parts[i];
        if (!p->judging) continue;
        if (!hub_may_judge(t->hub)) {
            hub_judge_later(t->hub, t);
            break;
        }
        if (t->closing || t->declared.choice == CHOICE_NONE)
            bad(t, p, STR("No more tools may be used in this turn."));
        else if (work_judge(t, t->page, &who, p, false) != OK) {
            out_of_memory(t);
            return;
        }
        p->judging = false;
        p->complete = true;
    }
    thread_wake(t);
    post_step(t);
}

void work_used(struct thread *t, int64_t in, int64_t out)
{
    const struct model *m = t->model_of;
    t->input_tokens = in;
    t->output_tokens = out;
    t->said_by = t->model && m->ops->answering ? m->ops->answering(t->model) : m;
}

void work_usage(const struct thread *t, struct fact *f)
{
    const struct model *m = t->said_by ? t->said_by : t->model_of;
    f->provider = t->model_of->provider;
    f->model = m->model;
    f->input_tokens = t->input_tokens;
    f->output_tokens = t->output_tokens;
    f->cost = spend_cost(f->input_tokens, f->output_tokens, m->price_in, m->price_out);
}

static void on_usage(struct model_sink *s, int64_t in, int64_t out)
{
    work_used(of_sink(s), in, out);
}

static void on_done(struct model_sink *s, enum model_stop stop)
{
    struct thread *t = of_sink(s);
    t->stop = stop;
    work_step_ended(t);
}

static void on_failed(struct model_sink *s, const struct model_error *e)
{
    work_fail_step(of_sink(s), e->code, e->message, e->retryable);
}

struct names {
    const struct registry *registry;
    struct arena          *a;
};

/* Also of a tool that is gone, or that a model made up. */
static struct str wire_name(void *ctx, struct str tool)
{
    struct names *n = ctx;
    char          text[TOOL_WIRE_MAX];
    return arena_dup(n->a, registry_wire(n->registry, tool, text));
}

static bool is_idempotent(void *ctx, struct str tool)
{
    const struct tool *x = registry_find(((struct names *)ctx)->registry, tool);
    return x && x->idempotent;
}

static bool is_offered(const struct thread *t, const struct model_request *q,
                       const struct caller *who, const struct tool *x)
{
    if (!caller_may_use(who, x)) return false;
    if (x->changed_ms == TOOL_UNCHECKED) return false; /* in a moment */
    if (x->hidden || !hub_page_allows(t->page, x) || !declared_allows(&t->declared, x))
        return false;
    if (x->reply == REPLY_PRESENT && !t->page->payload_count) return false;
    if (x->reply && q->choice != CHOICE_AUTO) return false; /* they are no answer to that */
    return !declared_find(&t->declared, x->wire_name);
}

static bool is_listed(const struct model_request *q, struct str name)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (str_eq(q->tools[i].name, name)) return true;
    return false;
}

static enum err list_tools(struct thread *t, struct arena *a, const struct caller *who,
                           struct model_request *q)
{
    const struct registry *r = t->hub->setup.registry;
    struct model_tool     *list = arena_array(a, r->count + t->declared.count + 1, sizeof *list);
    char                   text[TOOL_WIRE_MAX];
    if (!list) return ERR_NOMEM;
    q->tools = list;
    declared_offer(&t->declared, !t->fold.run->last_stop.ptr, list, q);
    for (size_t i = 0; i < r->count; i++) {
        const struct tool *x = r->tools[i];
        if (is_offered(t, q, who, x))
            list[q->tool_count++] =
                (struct model_tool){ x->wire_name, x->description, x->schema_text };
    }
    if (q->choice == CHOICE_NAMED) q->named = arena_dup(a, registry_wire(r, q->named, text));
    bool can = q->choice == CHOICE_NAMED ? is_listed(q, q->named) : q->tool_count > 0;
    if (!can) q->choice = CHOICE_AUTO;
    return OK;
}

/* The operator's words come first. What a client brings is words: nothing is filled into them. */
static struct str system_text(const struct thread *t, struct arena *a, const struct caller *who)
{
    struct str own = caller_prompt(a, who, t->page->system), more = t->declared.system;
    if (!own.len || !more.len) return own.len ? own : more;
    return arena_printf(a, STR_FMT "\n\n" STR_FMT, STR_ARG(own), STR_ARG(more));
}

static enum err build_request(struct thread *t, struct arena *a, const struct history_names *names,
                              struct model_request *q)
{
    const struct hub_setup *s = &t->hub->setup;
    const struct hub_page  *page = t->page;
    struct msg             *msgs;
    enum err e = history_build(a, &t->fold, page->model->provider, s->tool_text_max, names, &msgs,
                               &q->msg_count);
    if (e) return e;
    struct caller who = caller_of(t->fold.run, t->owner);
    q->msgs = msgs;
    q->system = system_text(t, a, &who);
    if (page->answer)
        q->system = arena_printf(a,
                                 STR_FMT "%sYour final answer must be JSON that fits this schema, "
                                         "and nothing but that: no words around it.\n" STR_FMT,
                                 STR_ARG(q->system), q->system.len ? "\n\n" : "",
                                 STR_ARG(page->answer->raw));
    q->no_calls = t->closing;
    q->thread = t->id;
    q->run = t->fold.run->id;
    q->principal = who.principal;
    if (a->failed) return ERR_NOMEM;
    return list_tools(t, a, &who, q);
}

enum err work_model(struct thread *t)
{
    struct model_request q = { 0 };
    struct arena         a;
    t->page = hub_page(t->hub, t->fold.run->page);
    if (!t->page) t->page = &t->hub->setup.pages[0]; /* it was configured when the run began */
    struct model *m = t->page->model;
    if (!t->step_done && !(t->step_done = command_new(CMD_STEP_DONE))) return ERR_NOMEM;
    step_begin(&t->step);
    t->step_closed = false;
    t->closing = t->fold.run->iterations >= t->hub->setup.max_iterations;
    t->step_failed = t->over = false;
    t->input_tokens = t->output_tokens = 0;
    t->said_by = NULL;
    t->answer_value = t->answer_why = STR_NONE;
    t->model_of = m;
    t->sink = (struct model_sink){ on_text,     on_reasoning, on_opaque, on_call,  on_input,
                                   on_call_end, on_usage,     on_done,   on_failed };
    arena_init(&a, 0);
    struct names         ctx = { t->hub->setup.registry, &a };
    struct history_names names = { wire_name, is_idempotent, &ctx };
    enum err e = declared_read(&t->step.arena, t->hub->setup.registry, t->fold.run->first->declared,
                               &t->declared);
    if (!e) e = build_request(t, &a, &names, &q);
    if (!e) e = compact_begin(t, &a, &q, &names);
    if (!e && !t->model && !(t->model = m->ops->start(m, &q, &t->sink))) e = ERR_NOMEM;
    arena_done(&a);
    fault_hit("model.started");
    if (e) step_clear(&t->step);
    else thread_wake(t);
    return e;
}

void work_hang_up(struct thread *t)
{
    if (t->model) t->model_of->ops->cancel(t->model);
    t->model = NULL;
    t->compact.on = t->compact.refused = false;
    /* whoever hangs up takes what there is: nobody waits for the judge any more */
    t->over = false;
}

enum err work_step_fact(struct thread *t, const char *stop)
{
    bool        runs = strcmp(stop, "end") == 0 || strcmp(stop, "calls") == 0;
    bool        cut = strcmp(stop, "cancelled") == 0 || strcmp(stop, "error") == 0;
    struct fact f = { .kind = FACT_STEP,
                      .run = t->fold.run->id,
                      .parts = t->step.parts,
                      .parts_count = t->step.count,
                      .stop = str_c(stop) };
    if (!cut) {
        f.custom = t->answer_value;
        f.reason = t->answer_why;
    }
    work_usage(t, &f);
    for (size_t i = 0; i < t->step.count; i++) {
        struct part *p = &t->step.parts[i];
        if (p->type == STEP_CALL && !p->complete)
            bad(t, p, STR("The call was cut off before its end; it was not run."));
        else if (p->type == STEP_CALL && !runs && p->gate != GATE_BAD)
            bad(t, p, STR("The answer was cut off or refused; the call was not run."));
        p->judging = false;
        if (!cut) p->complete = true;
    }
    t->step_closed = true;
    return thread_add(t, &f);
}

/* --- tools ---------------------------------------------------------------------------------- */

struct job {
    struct list        node;
    struct tool_job    tool;
    struct thread     *thread;
    struct arena       arena;
    struct jv         *args;
    struct loop_timer  timer;
    bool               started, timed_out, finished;
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
    j->tool.input = arena_dup(a, c->input);
    if (!j->tool.input.ptr || json_parse(a, j->tool.input, &j->args, NULL) != OK) return ERR_NOMEM;
    j->tool.args = j->args;
    if (c->decided) j->tool.payload = arena_dup(a, c->decided->payload);
    if (call_at_rest(c)) {
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

enum err work_job(struct thread *t, struct call *c)
{
    return add_job(t, c, registry_find(t->hub->setup.registry, c->tool), false);
}

enum err work_check(struct thread *t, struct call *c, struct tool *check)
{
    return add_job(t, c, check, true);
}

const struct tool_result *work_checked(const struct command *c)
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

static void start_job(struct job *j)
{
    struct tool *tool = j->tool.tool;
    j->started = true;
    if (!may_begin(j->thread)) {
        on_finish(&j->tool, &(struct tool_result){
                                .outcome = TOOL_FAILED,
                                .text = STR("It was not begun: this node was cut off from the "
                                            "database.") });
        return;
    }
    if (tool && tool->timeout_ms && !tool->own_clock) loop_timer_set(&j->timer, tool->timeout_ms);
    fault_hit("run.before_tool");
    enum err e = tool && tool->ops ? tool->ops->start(tool, &j->tool) : ERR_NOT_FOUND;
    fault_hit("run.in_tool");
    if (e)
        on_finish(&j->tool, &(struct tool_result){ .outcome = TOOL_FAILED,
                                                   .text = STR("The tool could not be started.") });
}

static void hand_answer(struct job *j)
{
    j->answered = false;
    if (!j->finished && j->tool.tool->ops->answer)
        j->tool.tool->ops->answer(&j->tool, j->accepted, j->content);
}

void work_start_jobs(struct thread *t)
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

void work_cancel_jobs(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (!j->started || j->finished || is_wanted(t, j)) continue;
        if (j->tool.tool->ops->cancel) j->tool.tool->ops->cancel(&j->tool);
    }
}

void work_cancel_checks(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (!j->tool.checks || !j->started || j->finished) continue;
        if (j->tool.tool->ops->cancel) j->tool.tool->ops->cancel(&j->tool);
    }
}

void work_drop_unstarted(struct thread *t)
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
void work_orphan_jobs(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job *j = LIST_ITEM(n, struct job, node);
        if (j->finished || j->orphan) continue;
        j->orphan = j->finished = true;
        command_free(j->done);
        j->done = NULL;
    }
}

void work_adopt_jobs(struct thread *t)
{
    LIST_EACH (n, &t->jobs) {
        struct job  *j = LIST_ITEM(n, struct job, node);
        struct call *c = fold_call(&t->fold, j->tool.call_id);
        bool         open = c && (j->tool.checks ? call_unsettled(c) : c->state == CALL_STARTED);
        if (open && !j->orphan) c->job = j;
    }
}

void work_answer_job(struct call *c, bool accepted, struct str content)
{
    struct job *j = c ? c->job : NULL;
    if (!j) return;
    j->answered = true;
    j->accepted = accepted;
    j->content = arena_dup(&j->arena, content);
}

struct tool *work_tool(const struct thread *t, const struct call *c)
{
    return c->declared ? NULL : registry_find(t->hub->setup.registry, c->tool);
}

int64_t work_client_ms(const struct thread *t, const struct call *c)
{
    const struct tool *tool = work_tool(t, c);
    return tool && tool->timeout_ms ? tool->timeout_ms : CLIENT_MS;
}

/* People are asked through declared functions: they wait as long as questions do. */
int64_t work_client_due(const struct thread *t, const struct call *c)
{
    int64_t asked_ms = (int64_t)t->hub->setup.registry->expires_s * 1000;
    if (c->declared && !asked_ms) return 0;
    return c->started->at_ms + (c->declared ? asked_ms : work_client_ms(t, c));
}

int64_t work_ms(const struct call *c)
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

bool work_once_more(const struct command *c, struct call *call)
{
    const struct job *j = c->job;
    if (j->result.outcome != TOOL_UNKNOWN || !j->tool.tool->idempotent || call->repeated ||
        call->run->stopping || j->thread->hub->draining)
        return false;
    call->repeated = true;
    call->job = NULL;
    return true;
}

void work_late(const struct command *c, struct command *late)
{
    static const enum word    WORDS[] = { WORD_DONE, WORD_FAILED, WORD_CANCELLED, WORD_UNKNOWN };
    const struct job         *j = c->job;
    const struct tool_result *r = &j->result;
    late->late.outcome = r->outcome == TOOL_ASKS ? WORD_UNKNOWN : WORDS[r->outcome];
    late->late.text = arena_dup(&late->arena, r->text);
    late->late.value = arena_dup(&late->arena, r->value);
    late->late.note = arena_dup(&late->arena, r->note);
}

void work_outcome_fact(const struct command *c, const struct call *call, struct fact *f)
{
    const struct job         *j = c->job;
    const struct tool_result *r = &j->result;
    if (r->outcome == TOOL_ASKS) {
        f->kind = FACT_ASKED;
        f->ask = r->text;
        f->schema = r->value;
        f->data = r->resume;
        return;
    }
    f->kind = FACT_FINISHED;
    f->outcome = outcome_of(j, call);
    f->text = r->text;
    f->value = r->value;
    f->note = r->note;
}
