/* command.c -- each command: the state and a wish become facts, or a refusal. The handlers:
 * handle.h. */
#include "base/jsonw.h"
#include "run/callcheck.h"
#include "run/handle.h"
#include "run/response.h"

bool command_same_value(struct command *c, struct str now, struct str was)
{
    struct jv *a, *b;
    struct str copy = arena_dup(&c->arena, was);
    if (str_eq(now, was)) return true;
    return was.ptr && copy.ptr && json_parse(&c->arena, now, &a, NULL) == OK &&
           json_parse(&c->arena, copy, &b, NULL) == OK && jv_equal(a, b);
}

enum err command_label(struct thread *t, struct command *c)
{
    struct str  was = t->fold.labelled ? t->fold.labelled->data : STR("{}");
    struct fact f = { .kind = FACT_LABELLED, .data = c->labels, .by = c->by, .via = c->via };
    return command_same_value(c, c->labels, was) ? OK : thread_add(t, &f);
}

/* --- small ones ------------------------------------------------------------------------------- */

/* Whoever left knows only who is left on their node; the holder knows who is on all. */
static bool is_moot(const struct thread *t, const struct command *c)
{
    const struct run  *now = t->fold.run;
    const struct fact *r = c->stop.response.len ? response_find(&t->fold, c->stop.response) : NULL;
    if ((c->stop.unwanted && t->wanting) || (c->stop.unwatched && t->watching)) return true;
    return c->stop.response.len &&
           (!r || !now || !str_eq(now->id, r->run) || response_end(&t->fold, r, t->fold.count));
}

/* It counts for everything that stood before it: messages that wait for this run to end will begin
 * theirs stopped. Unless nobody wanted it: who left was a reader of this run, and whoever sent
 * those may still be there. */
static bool handle_stop(struct thread *t, struct command *c, enum err *e)
{
    if (c->kind == CMD_STOP && is_moot(t, c)) {
        accepted(t, c, STR_NONE, 0);
        return true;
    }
    if (!(c->kind == CMD_STOP && c->stop.gently))
        LIST_EACH (n, &t->parked) LIST_ITEM(n, struct command, node)->stopped = true;
    if (!run_live(t->fold.run)) {
        accepted(t, c, STR_NONE, 0);
        return true;
    }
    accepted(t, c, t->fold.run->id, t->fold.count + 1);
    if (c->kind == CMD_STOP && c->stop.gently) {
        if (!run_asks(t->fold.run)) *e = end_left(t, c);
    } else *e = end_stopped(t, c);
    return true;
}

/* Words of the server itself; or, without any, what goes on in the run from here. */
static bool handle_respond(struct thread *t, struct command *c, enum err *e)
{
    uint64_t seq = t->fold.count + 1;
    *e = notice_respond(t, c);
    accepted(t, c, STR_NONE, seq);
    if (c->respond.what == RESPOND_TRIED) suspicious(t, c, "wrong_code");
    return true;
}

static bool handle_forget(struct thread *t, struct command *c, enum err *e)
{
    const struct fact *r = response_find(&t->fold, c->id);
    struct fact        f = { .kind = FACT_FORGOTTEN, .id = c->id, .by = c->by, .via = c->via };
    if (!r || response_forgotten(&t->fold, c->id))
        return refuse(t, c, 404, "response_not_found", "There is no such response.");
    accepted(t, c, r->run, t->fold.count + 1);
    *e = thread_add(t, &f);
    if (!*e && run_live(t->fold.run) && str_eq(t->fold.run->id, r->run) &&
        !response_end(&t->fold, r, t->fold.count))
        *e = end_stopped(t, c);
    return true;
}

/* It took an effect key, or from a grant, and is at work: only its outcome says what becomes of
 * that, and when the log is gone nobody can say it any more. */
static bool owes_an_outcome(const struct run *r)
{
    for (size_t i = 0; run_live(r) && i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_STARTED && c->job && call_takes(c) && !call_pending(c)) return true;
    }
    return false;
}

/* The run is stopped by facts like any other, then the log goes (thread.c). */
static bool handle_delete(struct thread *t, struct command *c, enum err *e)
{
    if (owes_an_outcome(t->fold.run)) {
        *e = end_answered(t, c);
        return false;
    }
    handle_stop(t, c, e);
    t->editor = c;
    return true;
}

/* No fact, but the list's own. */
static bool handle_rename(struct thread *t, struct command *c)
{
    accepted(t, c, STR_NONE, 0);
    /* somebody named it meanwhile, maybe by the same words */
    if (c->title_was.ptr && (t->named || !str_eq(c->title_was, t->title))) return true;
    if (!c->title_was.ptr) {
        t->named = true;
        title_forget(t);
    }
    t->editor = c;
    return true;
}

static bool handle_label(struct thread *t, struct command *c, enum err *e)
{
    accepted(t, c, STR_NONE, 0);
    *e = command_label(t, c);
    return true;
}

/* What goes on needs its words. */
static bool handle_trim(struct thread *t, struct command *c)
{
    if (run_live(t->fold.run))
        return refuse(t, c, 409, "run_active", "Something goes on in this conversation.");
    accepted(t, c, STR_NONE, 0);
    t->editor = c;
    return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Without sign-in, a program of ours that can reach us must not answer for the person:
 * auth/starttoken.h. */
static bool lacks_token(struct thread *t, struct command *c)
{
    bool answers = c->kind == CMD_DECIDE || c->kind == CMD_RESULT || c->kind == CMD_CLAIM ||
                   c->kind == CMD_SETTLE || c->kind == CMD_UNVOTE || c->kind == CMD_REVOKE;
    if (!answers || c->may_decide || !t->hub->setup.token) return false;
    suspicious(t, c, "token_needed");
    return refuse(t, c, 403, "token_needed", COMMAND_TOKEN_NEEDED);
}

bool command_refused(struct thread *t, struct command *c)
{
    c->receipt = (struct receipt){ 0 };
    if (lacks_token(t, c)) return true;
    if (c->kind == CMD_RESULT) outcome_refused(t, c);
    else verdict_refused(t, c);
    return c->receipt.status >= 400;
}

bool command_handle(struct thread *t, struct command *c, enum err *e)
{
    if (!t->exists && c->kind == CMD_DELETE && c->repeated) {
        accepted(t, c, STR_NONE, 0); /* it was done, and the answer lost */
        return true;
    }
    if (!t->exists && !c->create && c->kind < CMD_EXPIRE)
        return refuse(t, c, 404, "unknown_thread", "There is no such conversation.");
    bool going_on = c->kind == CMD_MESSAGE || c->kind == CMD_RETRY || c->kind == CMD_ACTION;
    if (going_on && fold_program_call(&t->fold))
        return refuse(t, c, 409, "not_a_conversation",
                      "This is one call of a program, not a conversation; begin a new one.");
    if (c->kind <= CMD_EXPIRE && (*e = end_due(t, going_on))) return true;
    if (lacks_token(t, c)) return true;
    if (c->told.ptr) thread_tell(t, c->told);
    switch (c->kind) {
    case CMD_CREATE: return begin_empty(t, c, e);
    case CMD_MESSAGE: return begin_message(t, c, e);
    case CMD_RETRY: return begin_retry(t, c, e);
    case CMD_ACTION: return begin_action(t, c, e);
    case CMD_CALL: return begin_call(t, c, e);
    case CMD_HANDED: return outcome_handed(t, c, e);
    case CMD_NAMED: return outcome_named(t, c, e);
    case CMD_DECIDE: return verdict_decide(t, c, e);
    case CMD_RESULT: return outcome_result(t, c, e);
    case CMD_CLAIM: return outcome_claim(t, c, e);
    case CMD_STOP: return handle_stop(t, c, e);
    case CMD_DELETE: return handle_delete(t, c, e);
    case CMD_RENAME: return handle_rename(t, c);
    case CMD_LABEL: return handle_label(t, c, e);
    case CMD_TRIM: return handle_trim(t, c);
    case CMD_SETTLE: return verdict_settle(t, c, e);
    case CMD_LATE: return outcome_late(t, c, e);
    case CMD_UNVOTE: return verdict_unvote(t, c, e);
    case CMD_REVOKE: return verdict_revoke(t, c, e);
    case CMD_RESPOND: return handle_respond(t, c, e);
    case CMD_FORGET: return handle_forget(t, c, e);
    case CMD_FOLLOW:
        accepted(t, c, t->fold.run ? t->fold.run->id : STR_NONE, t->fold.count);
        return true;
    case CMD_EXPIRE: return callcheck_due_now(t, c, e); /* all else has been done by now */
    case CMD_STEP_DONE: outcome_step(t, e); return true;
    case CMD_TOOL_DONE: outcome_tool(t, c, e); return true;
    case CMD_TOOL_ASKS: outcome_asks(t, c, e); return true;
    case CMD_CHECKED: callcheck_answered(t, c, e); return true;
    }
    must(!"command kind");
    return true;
}
