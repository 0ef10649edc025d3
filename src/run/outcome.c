/* outcome.c -- what calls and steps came to, as browsers, jobs and other nodes tell it. */
#include "base/clock.h"
#include "base/id.h"
#include "run/callcheck.h"
#include "run/handle.h"
#include "run/response.h"

/* --- a browser's ----------------------------------------------------------------------------- */

static bool same_result(struct command *c, const struct fact *f)
{
    bool failed = c->result.error.ptr != NULL;
    if (f->outcome != (failed ? WORD_FAILED : WORD_DONE)) return false;
    return failed ? str_eq(c->result.error, f->text)
                  : command_same_value(c, c->result.value, f->value);
}

static struct str result_text(struct command *c)
{
    struct jv *v = NULL;
    if (c->result.error.ptr) return c->result.error;
    if (json_parse(&c->arena, c->result.value, &v, NULL) == OK && v->type == JSON_STRING)
        return v->str;
    return c->result.value;
}

static bool is_foreign_result(struct thread *t, struct command *c, const struct call *call)
{
    if (!call) {
        suspicious(t, c, "unknown_call");
        return refuse(t, c, 404, "unknown_call", "There is no such call here.");
    }
    c->receipt.call = call;
    c->receipt.run = call->run->id;
    if (call->client) return false;
    suspicious(t, c, "not_client_tool");
    struct str m = arena_printf(
        &c->arena, "The server runs this tool itself; answer its confirmation " STR_FMT " instead.",
        STR_ARG(call->asked ? call->asked->id : STR("(it has none)")));
    return refuse(t, c, 403, "not_client_tool",
                  m.ptr ? m.ptr : "The server runs this tool itself.");
}

/* A call takes one result. True: this one is the second. */
static bool is_second_result(struct thread *t, struct command *c, const struct call *call)
{
    const struct fact *before = call->finished ? call->finished : call->early;
    if (!before) return false;
    if (!same_result(c, before))
        return refuse(t, c, 409, "late_result", "This call already has its outcome.");
    accepted(t, c, call->run->id, before->seq);
    c->receipt.duplicate = true;
    return true;
}

bool outcome_result(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (is_foreign_result(t, c, call) || is_second_result(t, c, call)) return true;
    struct fact f = { .kind = call->state == CALL_STARTED ? FACT_FINISHED : FACT_RESULT,
                      .call = call->id,
                      .outcome = c->result.error.ptr ? WORD_FAILED : WORD_DONE,
                      .text = result_text(c),
                      .value = c->result.value,
                      .by = c->by,
                      .via = c->via,
                      .answer_id = c->answer_id };
    f.ms = call_ms(call);
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, f.seq);
    if (!*e) *e = response_add(t, c, call->run->id, STR_NONE);
    return true;
}

void outcome_refused(struct thread *t, struct command *c)
{
    struct call *call = fold_call(&t->fold, c->id);
    (void)(is_foreign_result(t, c, call) || is_second_result(t, c, call));
}

static bool is_anothers(const struct call *call, struct str client)
{
    if (call->claimed) return !str_eq(call->claimed->holder, client);
    return call->claimed_by.ptr && call->claimed_until_ms > clock_wall_ms() &&
           !str_eq(call->claimed_by, client);
}

/* Once it is told, the browser may begin, and nobody here learns of it. A tool that is gone may
 * have been one that must not run twice. */
static enum err keep_claim(struct thread *t, struct command *c, struct call *call)
{
    const struct tool *tool = call_tool(t, call);
    struct fact        f = { .kind = FACT_CLAIMED,
                             .call = call->id,
                             .holder = c->claim.client,
                             .by = c->by,
                             .via = c->via };
    if (call->claimed) return OK;
    if (!call->declared && !(tool && tool->idempotent)) return thread_add(t, &f);
    call->claimed_by = arena_dup(&t->fold.arena, c->claim.client);
    call->claimed_until_ms = clock_wall_ms() + call_client_ms(t, call);
    call->claim_owner = c->claim.owner;
    return OK;
}

bool outcome_claim(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (!call || !call->client)
        return refuse(t, c, 404, "unknown_call", "There is no such call here.");
    if (call->state != CALL_STARTED)
        return refuse(t, c, 409, "late_result", "This call is not waiting for a browser.");
    if (is_anothers(call, c->claim.client))
        return refuse(t, c, 409, "claimed", "Another tab runs this.");
    *e = keep_claim(t, c, call);
    accepted(t, c, call->run->id, 0);
    return true;
}

int64_t command_tab(void)
{
    int64_t tab;
    id_bytes((unsigned char *)&tab, sizeof tab);
    return tab | 1; /* 0 is nobody */
}

void command_unclaim(struct thread *t, int64_t tab)
{
    if (t->mirror) mirror_unclaim(t, tab);
    for (size_t i = 0; i < t->fold.call_count; i++) {
        struct call *c = t->fold.calls[i];
        if (c->claim_owner != tab) continue;
        c->claim_owner = 0;
        c->claimed_by = STR_NONE;
    }
}

/* --- a job's --------------------------------------------------------------------------------- */

static enum err close_step(struct thread *t, const char *stop)
{
    enum err e = answer_read(t);
    if (e) return e;
    bool failed = answer_failed(t);
    if (failed) t->answer_why = STR_NONE; /* it is not asked for once more */
    if ((e = work_step_fact(t, stop))) return e;
    return failed ? answer_give_up(t) : OK;
}

void outcome_step(struct thread *t, enum err *e)
{
    static const char *const STOPS[] = { "end", "calls", "length", "refusal" };
    struct run              *r = t->fold.run;
    if (!t->step.active || !run_live(r) || r->stopping) return; /* a stop took what there was */
    if (compact_ended(t, e) || compact_again(t)) return;
    if (!t->step_failed) {
        *e = close_step(t, t->closing ? "limit" : STOPS[t->stop]);
        return;
    }
    if (t->step.count && (*e = work_step_fact(t, "error"))) return;
    struct fact f = { .kind = FACT_ENDED,
                      .run = r->id,
                      .outcome = WORD_ERROR,
                      .code = t->fail_code,
                      .text = t->fail_text,
                      .retryable = t->step_retryable,
                      .input_tokens = r->input_tokens,
                      .output_tokens = r->output_tokens };
    if (!t->step.count) work_asked(t, &f);
    *e = thread_add(t, &f);
}

/* A tool's own, in the middle of its work. */
static enum err add_question(struct thread *t, struct command *c, struct call *call,
                             struct fact *asked)
{
    enum err e = approval_fact(t, call, asked, &c->arena);
    if (e) return e;
    if (asked->expires_ms) hub_due(t->hub, asked->expires_ms);
    return thread_add(t, asked);
}

/* Somebody else had to say that it is not known how the call ended, and now its own node tells. It
 * changes nothing that was settled; it helps whoever has to. */
static enum err add_late(struct thread *t, const struct call *call, const struct command *late)
{
    bool open = call && call->started && call->started->holder.len && call->finished &&
                call->finished->outcome == WORD_UNKNOWN && !call->late;
    if (!open || (late->late.outcome != WORD_DONE && late->late.outcome != WORD_FAILED)) return OK;
    struct fact f = { .kind = FACT_LATE,
                      .call = call->id,
                      .outcome = (enum word)late->late.outcome,
                      .text = late->late.text,
                      .value = late->late.value,
                      .note = late->late.note };
    return thread_add(t, &f);
}

bool outcome_late(struct thread *t, struct command *c, enum err *e)
{
    if (c->late.outcome <= WORD_NONE || c->late.outcome >= WORD_COUNT)
        return refuse(t, c, 422, "bad_field", "This is no outcome.");
    accepted(t, c, STR_NONE, 0);
    *e = add_late(t, fold_call(&t->fold, c->id), c);
    return true;
}

/* The thread was another node's for a while. */
static enum err outcome_after_all(struct thread *t, struct command *c, const struct call *call)
{
    struct command late = { 0 };
    arena_init(&late.arena, 0);
    jobs_late(c, &late);
    enum err e = late.arena.failed ? ERR_NOMEM : add_late(t, call, &late);
    arena_done(&late.arena);
    return e;
}

void outcome_tool(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (!call) return;
    if (call->state == CALL_FINISHED) {
        *e = outcome_after_all(t, c, call);
        return;
    }
    if (jobs_once_more(c, call)) return;
    struct fact f = { .call = call->id };
    jobs_outcome(c, call, &f);
    if (f.kind == FACT_ASKED) {
        *e = add_question(t, c, call, &f);
        return;
    }
    f.ms = call_ms(call);
    *e = thread_add(t, &f);
}

void outcome_asks(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (!call || call->state != CALL_STARTED || call_pending(call)) return;
    *e = add_question(t, c, call,
                      &(struct fact){ .kind = FACT_ASKED,
                                      .call = call->id,
                                      .ask = c->question.text,
                                      .schema = c->question.schema });
}

/* --- a program's ------------------------------------------------------------------------------ */

bool outcome_handed(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_program_call(&t->fold);
    if (!call || call->state != CALL_FINISHED)
        return refuse(t, c, 409, "not_finished", "The call has no outcome yet.");
    struct fact f = { .kind = FACT_HANDED, .call = call->id, .via = c->via };
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, f.seq);
    return true;
}

bool outcome_named(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_program_call(&t->fold);
    if (!call || !c->request_id.len)
        return refuse(t, c, 404, "unknown_call", "This is no call of a program.");
    struct fact f = {
        .kind = FACT_NAMED, .call = call->id, .request_id = c->request_id, .via = c->via
    };
    accepted(t, c, call->run->id, call->run->first->seq);
    if (str_eq(call->run->first->request_id, c->request_id)) return true;
    t->request_id = c->request_id;
    t->request_run = call->run->id;
    *e = thread_add(t, &f);
    return true;
}
