/* work.c -- calling the model: what it is asked, and what it says, into the open step.
 *
 * It ends in a command to the thread's own mailbox, never in a direct change of its state.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "run/brief.h"
#include "run/caller.h"
#include "run/codes.h"
#include "run/engine.h"
#include "run/spans.h"
#include "tool/schema.h"

/* each call may need two list rows in one append */
#define STEP_CALLS_MAX (BATCH_APPROVALS / 2)
/* a model that begins a part with every token: each follower walks them */
#define STEP_PARTS_MAX 4096
/* What a service says that one step used: beyond this it is wrong, and sums and prices must
 * hold. */
#define TOKENS_MAX 1000000000

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

/* Its first sign of life. */
static void hears(struct thread *t)
{
    if (!t->first_ms) t->first_ms = clock_mono_ms();
}

static void add_words(struct thread *t, enum part_type type, struct str delta)
{
    hears(t);
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
    hears(t);
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
            judge_bad(t, p, STR("No more tools may be used in this turn."));
        else if (judge_call(t, t->page, &who, p, false) != OK) {
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
    t->input_tokens = in < TOKENS_MAX ? in : TOKENS_MAX;
    t->output_tokens = out < TOKENS_MAX ? out : TOKENS_MAX;
    t->said_by = t->model && m->ops->answering ? m->ops->answering(t->model) : m;
    t->said_plain = t->model && m->ops->stripped && m->ops->stripped(t->model);
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

/* Of a list the model that answered is named: its name is unique, the provider's for it is not. */
void work_asked(const struct thread *t, struct fact *f)
{
    uint64_t now = clock_mono_ms();
    if (!t->asked_basis[0]) return;
    f->basis = str_c(t->asked_basis);
    f->upto = (int64_t)t->asked_upto;
    f->ms = (int64_t)(now - t->asked_ms);
    if (t->first_ms) f->first_ms = (int64_t)(t->first_ms - t->asked_ms);
    if (t->said_by && t->said_by != t->model_of) f->via = t->said_by->name;
    if (t->said_plain) f->note = STR("unsigned");
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

enum err work_model(struct thread *t)
{
    struct model_request q = { 0 };
    char                 trace[TRACEPARENT] = "";
    struct arena         a;
    struct brief_base    base = { t->hub->setup.registry, NULL, t->hub->setup.tool_text_max,
                                  t->hub->setup.max_iterations };
    t->page = hub_page(t->hub, t->fold.run->page);
    if (!t->page) t->page = &t->hub->setup.pages[0]; /* it was configured when the run began */
    struct model *m = t->page->model;
    if (!t->step_done && !(t->step_done = command_new(CMD_STEP_DONE))) return ERR_NOMEM;
    step_begin(&t->step);
    t->step_closed = false;
    base.page = t->page;
    t->closing = brief_closes(&base, t->fold.run);
    t->step_failed = t->over = false;
    t->input_tokens = t->output_tokens = 0;
    t->said_by = NULL;
    t->said_plain = false;
    strcpy(t->asked_basis, basis_of(t->hub, t->page));
    t->asked_upto = t->fold.count;
    t->asked_ms = clock_mono_ms();
    t->first_ms = 0;
    t->answer_value = t->answer_why = STR_NONE;
    t->model_of = m;
    t->sink = (struct model_sink){ on_text,     on_reasoning, on_opaque, on_call,  on_input,
                                   on_call_end, on_usage,     on_done,   on_failed };
    arena_init(&a, 0);
    struct brief_names   ctx = { base.registry, &a };
    struct history_names names = brief_names(&ctx);
    enum err e = declared_read(&t->step.arena, t->hub->setup.registry, t->fold.run->first->declared,
                               &t->declared);
    if (!e)
        e = brief_build(&a, &base, &t->fold, (struct log_name){ t->owner, t->id }, &t->declared,
                        &q);
    if (t->hub->setup.otel) spans_step(t->fold.run, t->asked_upto, trace);
    q.trace = str_c(trace);
    q.patient = t->revived;
    if (!e) e = compact_begin(t, &a, &q, &names);
    if (!e && !t->model) e = codes_blank(t, &a, &q);
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
    work_asked(t, &f);
    for (size_t i = 0; i < t->step.count; i++) {
        struct part *p = &t->step.parts[i];
        if (p->type == STEP_CALL && !p->complete)
            judge_bad(t, p, STR("The call was cut off before its end; it was not run."));
        else if (p->type == STEP_CALL && !runs && p->gate != GATE_BAD)
            judge_bad(t, p, STR("The answer was cut off or refused; the call was not run."));
        p->judging = false;
        if (!cut) p->complete = true;
    }
    t->step_closed = true;
    return thread_add(t, &f);
}
