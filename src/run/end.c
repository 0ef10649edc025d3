/* end.c -- how what is open ends: answered, left, superseded, stopped, expired. */
#include "base/clock.h"
#include "run/handle.h"
#include "run/rules.h"

enum err end_gate(struct thread *t, struct call *call, const struct command *c, enum word verdict)
{
    struct fact f = {
        .kind = FACT_DECIDED, .id = call_gate(call)->id, .call = call->id, .outcome = verdict
    };
    if (c) {
        f.by = c->by;
        f.roles = c->roles;
        f.via = c->via;
        f.reason = c->decide.reason;
        f.payload = c->decide.payload;
        f.answer_id = c->answer_id;
        f.grant = c->decide.opened.id;
        f.granted = c->decide.opened.shown;
        f.amount = c->decide.opened.amount;
    }
    return thread_add(t, &f);
}

enum err end_call(struct thread *t, struct call *call, enum word outcome, struct str text)
{
    struct fact f = { .kind = FACT_FINISHED, .call = call->id, .outcome = outcome, .text = text };
    return thread_add(t, &f);
}

/* Gates that wait get their verdict before the calls behind them are finished. Of a program's call
 * it is said who took it back. */
static enum err end_gates(struct thread *t, const struct command *by)
{
    struct run *r = t->fold.run;
    enum err    e = OK;
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *c = r->calls[i];
        if (c->state != CALL_ASKED) continue;
        struct fact f = {
            .kind = FACT_DECIDED, .id = c->asked->id, .call = c->id, .outcome = WORD_CANCELLED
        };
        if (by && fold_program_call(&t->fold)) {
            f.by = by->by;
            f.via = by->via;
        }
        e = thread_add(t, &f);
    }
    return e;
}

/* A tool that asks in the middle of its work has begun it: how far it came, nobody knows. One that
 * asks for an account has not. */
static enum err leave_call(struct thread *t, struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    bool               begun = c->state == CALL_STARTED &&
                 (c->client ? c->claimed != NULL : !call_unbegun(c) && !(tool && tool->idempotent));
    if (begun)
        return end_call(t, c, WORD_UNKNOWN,
                        STR("It waited for an answer when the user continued. It may or may not "
                            "have happened."));
    return end_call(t, c, WORD_CANCELLED, STR("{\"error\":\"Not decided; the user continued\"}"));
}

enum err end_superseded(struct thread *t)
{
    struct run *r = t->fold.run;
    enum err    e = end_gates(t, NULL);
    for (size_t i = 0; i < r->call_count && !e; i++)
        if (r->calls[i]->state != CALL_FINISHED) e = leave_call(t, r->calls[i]);
    if (e) return e;
    struct fact f = { .kind = FACT_ENDED,
                      .run = r->id,
                      .outcome = WORD_CANCELLED,
                      .code = STR("superseded"),
                      .input_tokens = r->input_tokens,
                      .output_tokens = r->output_tokens };
    return thread_add(t, &f);
}

enum err end_stopped(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    struct fact f = { .kind = FACT_STOP, .run = r->id, .by = c->by, .via = c->via };
    enum err    e = OK;
    if (c->kind == CMD_STOP) f.reason = c->stop.reason;
    if (c->kind == CMD_STOP && c->stop.gently) f.stop = STR("left"); /* nobody wanted it to */
    if (r->stopping) return OK;
    work_hang_up(t);
    if ((e = thread_add(t, &f))) return e;
    if (t->step.active && !t->step_closed && t->step.count && (e = work_step_fact(t, "cancelled")))
        return e;
    return r->phase == RUN_CALLS ? end_gates(t, c) : OK;
}

static bool all_finished(const struct run *r)
{
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state != CALL_FINISHED) return false;
    return true;
}

/* Without an open call it is the model's turn: that speaks, or is about to. */
enum err end_left(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    struct fact f = {
        .kind = FACT_STOP, .run = r->id, .by = c->by, .via = c->via, .stop = STR("calls")
    };
    if (all_finished(r)) return end_stopped(t, c);
    return r->leaving || r->stopping ? OK : thread_add(t, &f);
}

enum err end_answered(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    enum err    e = end_left(t, c);
    if (!e && r->phase == RUN_CALLS) e = end_gates(t, NULL);
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *x = r->calls[i];
        if (x->state == CALL_STARTED && x->client) e = leave_call(t, x);
    }
    return e;
}

/* --- the clock ------------------------------------------------------------------------------- */

/* Nobody looks, or the person goes on: the outcome is shown at the next visit and told to the model
 * with the next message. */
static enum err end_expired(struct thread *t)
{
    const struct run *r = t->fold.run;
    struct fact       f = { .kind = FACT_ENDED,
                            .run = r->id,
                            .outcome = WORD_CANCELLED,
                            .code = STR("expired"),
                            .input_tokens = r->input_tokens,
                            .output_tokens = r->output_tokens };
    return thread_add(t, &f);
}

static bool is_overdue(const struct thread *t, const struct call *c, int64_t now)
{
    const struct fact *gate = call_gate(c);
    if (gate) return gate->expires_ms && gate->expires_ms <= now;
    int64_t due = c->state == CALL_STARTED && c->client ? call_client_due(t, c) : 0;
    return due && due <= now;
}

/* Nobody has decided in time: from now on others are asked, too. The clock alone says who may; the
 * fact is for those who are to be told. */
static enum err escalate(struct thread *t, struct call *c, int64_t now)
{
    const struct fact *asked = call_gate(c);
    if (!asked || asked != c->asked || !asked->who.ptr) return OK;
    struct ballot b = { asked->who, t->owner, asked->at_ms,
                        c->escalated ? c->escalated->at_ms : asked->at_ms };
    int64_t       next = rules_next(&b);
    if (!next || next > now) return OK;
    struct fact f = { .kind = FACT_ESCALATED, .id = asked->id, .call = c->id };
    return thread_add(t, &f);
}

/* Lets everything expire that is overdue: all verdicts first, then the outcomes. */
enum err end_due(struct thread *t, bool going_on)
{
    struct run *r = t->fold.run;
    int64_t     now = clock_wall_ms();
    enum err    e = OK;
    bool        gates = false;
    if (!run_live(r) || r->phase != RUN_CALLS || r->stopping) return OK;
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *c = r->calls[i];
        if (call_pending(c) && !is_overdue(t, c, now)) e = escalate(t, c, now);
        if (e || !call_pending(c) || !is_overdue(t, c, now)) continue;
        e = end_gate(t, c, NULL, WORD_EXPIRED);
        /* the tool goes on without an answer */
        if (c->state == CALL_STARTED) jobs_answer(c, false, STR_NONE);
        else gates = true;
    }
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *c = r->calls[i];
        if (call_lives_on(c)) continue;
        if (c->state == CALL_REFUSED)
            e = end_call(t, c, c->decided->outcome, approval_refusal(&t->batch, c));
        else if (is_overdue(t, c, now) && c->claimed)
            e = end_call(
                t, c, WORD_UNKNOWN,
                STR("A browser began it and did not say in time how it ended. It may or may "
                    "not have happened."));
        else if (is_overdue(t, c, now))
            e = end_call(t, c, WORD_FAILED,
                         c->declared ? STR("No answer from the page.")
                                     : STR("No browser answered in time."));
    }
    if (e || !gates || !all_finished(r)) return e;
    return t->watching && !going_on ? OK : end_expired(t);
}
