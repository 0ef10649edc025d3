/* decide.c -- what follows from a thread's state, as facts.
 *
 * fold_decide() names the one thing to do next; here it becomes facts in the batch, a job that
 * waits for its commit, or a call of the model. Nothing is told and no tool runs from here: the
 * mailbox (thread.c) appends first. A run that calls the model holds one of the places for runs, or
 * waits in line for it.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/callcheck.h"
#include "run/caller.h"
#include "run/edit.h"
#include "run/effect.h"
#include "run/engine.h"
#include "run/grant.h"
#include "run/taking.h"
#include "tool/policy.h"

/* Only what was begun: another definition does not know the call id, and nobody said yes to it. */
static bool may_rerun(void *ctx, const struct call *c)
{
    const struct tool *tool = call_tool(ctx, c);
    char               digest[TOOL_DIGEST];
    if (!tool || !tool->idempotent || !tool->ops) return false;
    return c->started && tool_digest(tool, digest) == OK && str_is(c->started->digest, digest);
}

static enum err add_end(struct thread *t, enum word outcome)
{
    const struct run *r = t->fold.run;
    struct fact       f = { .kind = FACT_ENDED,
                            .run = r->id,
                            .outcome = outcome,
                            .replies = r->replies,
                            .actions = r->actions,
                            .custom = r->custom,
                            .input_tokens = r->input_tokens,
                            .output_tokens = r->output_tokens };
    return thread_add(t, &f);
}

/* By which claim of which node an effect is begun. Alone with its store there is only one. */
static struct str holder_name(const struct thread *t, char *out, size_t size)
{
    const struct store *s = t->hub->setup.store;
    if (!store_shared(s)) return STR_NONE;
    snprintf(out, size, STR_FMT ".%llu", STR_ARG(store_node(s)), (unsigned long long)t->hold.epoch);
    return str_c(out);
}

static enum err not_run(struct thread *t, const struct call *c, struct str why)
{
    struct fact f = { .kind = FACT_FINISHED, .call = c->id, .outcome = WORD_FAILED, .text = why };
    return thread_add(t, &f);
}

static enum err begin_call(struct thread *t, struct call *c)
{
    const struct tool        *tool = call_tool(t, c);
    const struct store_stock *taken = effect_in_way(t, c);
    char                      digest[TOOL_DIGEST] = "";
    char                      holder[80] = "";
    struct fact               f = { .kind = FACT_STARTED,
                                    .call = c->id,
                                    .client = c->client,
                                    .holder = holder_name(t, holder, sizeof holder),
                                    .text = tool ? tool->status : STR_NONE };
    if (taken) return effect_taken(t, c, taken);
    enum err e = effect_take(t, c, &f.effect);
    if (e == ERR_TYPE)
        return not_run(t, c,
                       STR("{\"error\":\"It was not run: an argument that says what it is about "
                           "is missing, or can be read in two ways\"}"));
    if (!e && !c->client) e = jobs_add(t, c);
    if (!e && tool && tool->idempotent && !(e = tool_digest(tool, digest)))
        f.digest = str_c(digest);
    if (e) return e;
    if ((e = thread_add(t, &f))) return e;
    int64_t due = c->client ? call_client_due(t, c) : 0;
    if (due) hub_due(t->hub, due);
    if (!c->client || !c->early) return OK;
    struct fact done = { .kind = FACT_FINISHED,
                         .call = c->id,
                         .outcome = c->early->outcome,
                         .text = c->early->text,
                         .value = c->early->value,
                         .via = c->early->via,
                         .answer_id = c->early->answer_id };
    return thread_add(t, &done);
}

/* It was allowed as the tool was when it asked; what it did before that stays done. */
static enum err not_continued(struct thread *t, const struct call *c)
{
    struct fact f = { .kind = FACT_FINISHED, .call = c->id, .outcome = WORD_UNKNOWN };
    f.ms = call_ms(c);
    f.text =
        STR("The tool was changed or removed since it asked, so it was not gone on with. It may "
            "or may not have happened.");
    if (call_unbegun(c)) {
        f.outcome = WORD_FAILED;
        f.text = STR("{\"error\":\"The tool was changed or removed since it asked; nothing was "
                     "run\"}");
    }
    return thread_add(t, &f);
}

static enum err add_continued(struct thread *t, struct call *c)
{
    struct fact f = { .kind = FACT_CONTINUED, .call = c->id };
    bool        same = true;
    enum err    e = approval_same_tool(t, c, &same);
    if (!e && !same) return not_continued(t, c);
    if (!e) e = jobs_add(t, c);
    return e ? e : thread_add(t, &f);
}

static enum err add_asked(struct thread *t, struct call *c)
{
    struct fact f = { .kind = FACT_ASKED, .call = c->id };
    enum err    e = approval_fact(t, c, &f, &t->batch);
    if (e) return e;
    if (f.expires_ms) hub_due(t->hub, f.expires_ms);
    return thread_add(t, &f);
}

/* A grant that somebody gave allows it: decided and started in one append. */
static enum err start_by_grant(struct thread *t, struct call *c, struct fact *f)
{
    enum err e = thread_add(t, f);
    return e ? e : begin_call(t, c);
}

/* A person is to be asked; or it is done already, or allowed already. False: that is not known
 * yet, or not to be begun here any more. */
static bool ask(struct thread *t, struct call *c, enum err *e)
{
    const struct tool        *tool = call_tool(t, c);
    const struct store_stock *taken = effect_in_way(t, c);
    struct stock_found        found;
    struct fact               f = { .kind = FACT_DECIDED, .call = c->id, .outcome = WORD_APPROVED };
    if (approval_refused_before(t, c)) {
        *e = approval_refuse_again(t, c);
        return true;
    }
    if (tool && tool->grant && t->hub->draining) return false; /* the next process looks */
    if (!lookup_stock(t, c, &found)) return false;
    if (!taken && found.effect.key.ptr) taken = &found.effect;
    if (taken) {
        *e = effect_taken(t, c, taken);
        return true;
    }
    *e = ERR_NOT_FOUND;
    if (tool && tool->grant && !judge_replaced(t, c))
        *e = grant_use(t, c, found.grants, found.grant_count, &f);
    lookup_done(t);
    if (*e == OK) *e = start_by_grant(t, c, &f);
    else if (*e == ERR_NOT_FOUND) *e = add_asked(t, c);
    return true;
}

static enum err add_finish(struct thread *t, const struct next *n)
{
    struct fact f = {
        .kind = FACT_FINISHED, .call = n->call->id, .outcome = n->outcome, .text = n->text
    };
    if (!f.text.ptr && n->outcome == WORD_REPLACED) {
        f.text = f.value = edit_result(&t->batch, n->call);
        f.ms = n->call->replaced_by->finished->ms;
        return f.text.ptr ? thread_add(t, &f) : ERR_NOMEM;
    }
    if (!f.text.ptr) f.text = approval_refusal(&t->batch, n->call);
    f.ms = call_ms(n->call);
    return thread_add(t, &f);
}

/* The last process proposed it and did not begin: what its policy says now is what counts. */
static bool asks_now(const struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    return c->state == CALL_PROPOSED && c->step_seq <= t->committed && tool &&
           policy_asks(tool, c->args, NULL);
}

/* The last process proposed it, and it is not for them any more. */
static bool is_withdrawn(const struct thread *t, const struct call *c)
{
    const struct tool *tool = registry_find(t->hub->setup.registry, c->tool);
    struct caller      who = caller_of(c->run, t->owner);
    return tool && !caller_may_use(&who, tool);
}

static enum err add_start(struct thread *t, struct call *c)
{
    bool holds = true;
    if (is_withdrawn(t, c))
        return add_finish(t, &(struct next){ .call = c,
                                             .outcome = WORD_FAILED,
                                             .text = STR("There is no tool of this name.") });
    if (asks_now(t, c)) {
        c->gate = GATE_ASK;
        return OK;
    }
    if (c->state == CALL_GRANTED && (c->asked || c->decided->note.len)) {
        enum err e = approval_holds(t, c, &holds);
        if (e) return e;
    }
    if (!holds)
        return add_finish(
            t, &(struct next){ .call = c,
                               .outcome = WORD_FAILED,
                               .text = STR("{\"error\":\"The tool was changed or removed since it "
                                           "was approved; nothing was run\"}") });
    if (spend_is_question(c)) /* the yes is all there is to it */
        return add_finish(
            t, &(struct next){ .call = c, .outcome = WORD_DONE, .text = STR("It may go on.") });
    must(c->state == CALL_GRANTED ||
         (c->state == CALL_PROPOSED && (c->gate == GATE_FREE || c->gate == GATE_CLIENT)));
    return begin_call(t, c);
}

/* --- a step that is begun over ---------------------------------------------------------------- */

/* A step whose words were lost with the process that heard them is begun over, and the log says so
 * first: cursors into the lost words are recognised by that, and a step that keeps killing the
 * server is not tried for ever. So it is said right before the model is called, by the process that
 * does, and taken back by the same process if it puts the step down. What it waited for until then
 * (its place, tools, a restart in between) is no fault of the step's. */
static enum err add_resumed(struct thread *t, const char *stop)
{
    struct fact f = { .kind = FACT_RESUMED,
                      .run = t->fold.run->id,
                      .holder = str_c(t->hub->life),
                      .stop = str_c(stop) };
    return thread_add(t, &f);
}

static bool began_over_here(const struct thread *t)
{
    const struct run *r = t->fold.run;
    return run_live(r) && r->marked && str_is(r->marked->holder, t->hub->life);
}

bool decide_parks(const struct thread *t)
{
    bool told = t->step_done && list_linked(&t->step_done->node); /* it ends by itself */
    return t->hub->draining && !told && began_over_here(t);
}

enum err decide_park(struct thread *t)
{
    return add_resumed(t, RESUMED_PARKED);
}

static enum err give_up(struct thread *t)
{
    struct fact f = { .kind = FACT_ENDED,
                      .run = t->fold.run->id,
                      .outcome = WORD_ERROR,
                      .code = STR("interrupted"),
                      .text =
                          STR("The server was interrupted several times at this point. Try again."),
                      .retryable = true };
    return thread_add(t, &f);
}

/* --- a place among the runs ------------------------------------------------------------------- */

void thread_take_place(struct thread *t)
{
    list_remove(&t->line);
    if (t->placed) return;
    t->placed = true;
    t->hub->runs++;
    quota_run(t->hub->setup.quota, t->owner, 1);
}

/* A run that goes on after a yes, or after a crash, needs a place like one that begins; but nobody
 * is there to be told to come back later, so it waits in line. */
static bool has_place(struct thread *t)
{
    unsigned retry_s;
    if (t->placed) return true;
    if (hub_has_place(t->hub) &&
        quota_admit(t->hub->setup.quota, t->owner, clock_wall_ms(), &retry_s) != QUOTA_RUNS) {
        thread_take_place(t);
        return true;
    }
    hub_wait_place(t->hub, t);
    return false;
}

/* Given back when the run is over, and while it waits for somebody. */
void thread_leave_place(struct thread *t)
{
    if (!run_live(t->fold.run) || run_waiting(t->fold.run)) thread_quit_place(t);
}

void thread_quit_place(struct thread *t)
{
    list_remove(&t->line);
    if (!t->placed) return;
    t->placed = false;
    t->hub->runs--;
    quota_run(t->hub->setup.quota, t->owner, -1);
    hub_place_free(t->hub);
}

/* Right after a start an MCP server may not have listed its tools yet: what the last process left
 * behind must not be judged without them, nor the model be shown a part of them. The registry says
 * when there is more to know. */
static bool awaits_tools(struct thread *t, const struct next *n)
{
    struct registry *r = t->hub->setup.registry;
    bool about_call = n->kind == NEXT_ASK || n->kind == NEXT_START || n->kind == NEXT_CONTINUE ||
                      n->kind == NEXT_RERUN ||
                      (n->kind == NEXT_FINISH && n->call->state == CALL_STARTED);
    if (t->fold.run && t->fold.run->stopping) return false;
    if (n->kind == NEXT_MODEL) return t->revived && !registry_settled(r);
    if (!about_call || n->call->client) return false;
    const struct tool *tool = registry_find(r, n->call->tool);
    if (tool) return tool->changed_ms == TOOL_UNCHECKED;
    if (t->looked != n->call) { /* another node may know of it */
        t->looked = n->call;
        registry_look(r, n->call->tool);
    }
    return registry_expects(r, n->call->tool);
}

/* The model is asked. Behind others it is not yet, and what ends the process meanwhile is not this
 * step: that it was begun over is taken back. */
static bool ask_model(struct thread *t, enum err *e)
{
    *e = work_model(t);
    if (*e || !t->model || !began_over_here(t)) return false;
    if (!t->model_of->ops->waits || !t->model_of->ops->waits(t->model)) return false;
    *e = add_resumed(t, RESUMED_WAITS);
    return true;
}

/* The model speaks, unless a budget is used up. */
static bool begin_step(struct thread *t, enum err *e)
{
    bool over = t->cut == t->fold.run->first->seq;
    switch (spend_look(t)) {
    case SPEND_FINE:
        t->cut = 0;
        if (!over) return ask_model(t, e);
        *e = add_resumed(t, "");
        return true;
    case SPEND_ASK: *e = spend_ask(t); return true;
    case SPEND_STOP: *e = spend_stop(t); return true;
    case SPEND_WAIT: return false;
    }
    must(!"verdict");
    return false;
}

/* Adds the facts that follow from the state; true while there may be more. While the server drains
 * nothing is begun any more: what was said is saved, and the next process begins it. */
bool decide_once(struct thread *t, enum err *e)
{
    if (decide_parks(t)) {
        *e = decide_park(t);
        return true;
    }
    if (callcheck_begin(t, e) || verdict_by_votes(t, e)) return true;
    struct next n = fold_decide(&t->fold, may_rerun, t);
    bool        begins = n.kind == NEXT_START || n.kind == NEXT_CONTINUE || n.kind == NEXT_RERUN ||
                  n.kind == NEXT_MODEL;
    if (callcheck_holds(t, &n)) return false;
    if ((begins && t->hub->draining) || (t->awaiting = awaits_tools(t, &n))) return false;
    switch (n.kind) {
    case NEXT_NOTHING: return notice_tell(t, e);
    case NEXT_ASK: return ask(t, n.call, e);
    case NEXT_START: *e = add_start(t, n.call); return true;
    case NEXT_FINISH: *e = add_finish(t, &n); return true;
    case NEXT_END: *e = add_end(t, n.outcome); return true;
    case NEXT_CONTINUE: *e = add_continued(t, n.call); return true;
    case NEXT_RERUN: *e = jobs_add(t, n.call); return true;
    case NEXT_MODEL:
        if (t->model || t->step.active || t->batch_from || !has_place(t)) return false;
        return begin_step(t, e);
    }
    must(!"next");
    return false;
}

/* The first look at a log that was left while the model was to speak. Somebody may have been told
 * words of that step. */
enum err decide_fresh(struct thread *t)
{
    const struct run *r = t->fold.run;
    if (!t->fresh || t->hub->draining) return OK;
    t->fresh = false;
    t->cut = 0;
    if (fold_decide(&t->fold, may_rerun, t).kind != NEXT_MODEL || callcheck_open(t)) return OK;
    t->cut = r->first->seq;
    if (began_over_here(t)) return decide_park(t); /* it lives: only the log was read again */
    return r->resumes >= RESUMES_MAX ? give_up(t) : OK;
}
