/* command.c -- each command: the state and a wish become facts, or a refusal.
 *
 * A handler looks at the fold, adds facts with thread_add and sets the answer; it
 * never tells anybody and never acts. The answer goes out when the facts are on disk.
 */
#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/utf8.h"
#include "run/callcheck.h"
#include "run/caller.h"
#include "run/edit.h"
#include "run/engine.h"
#include "run/grant.h"
#include "run/people.h"
#include "run/response.h"
#include "run/rules.h"
#include "run/spoken.h"
#include "tool/schema.h"

static bool refuse(struct thread *t, struct command *c, int status, const char *code,
                   const char *message)
{
    command_answer(t, c, status, code, message);
    return true;
}

static void accepted(struct thread *t, struct command *c, struct str run, uint64_t seq)
{
    command_answer(t, c, 200, NULL, NULL);
    c->receipt.run = run;
    c->receipt.seq = seq;
}

static void suspicious(const struct thread *t, const struct command *c, const char *what)
{
    log_line(LOG_SECURITY, "answer.refused", "why", what, "thread", log_str(t->id), "by",
             log_str(c->by), "via", log_str(c->via), "id", log_str(c->id), NULL);
}

/* --- ending what is open ------------------------------------------------------------ */

static enum err decide_gate(struct thread *t, struct call *call, const struct command *c,
                            enum word verdict)
{
    struct fact f = {
        .kind = FACT_DECIDED, .id = call_gate(call)->id, .call = call->id, .outcome = verdict
    };
    if (c) {
        f.by = c->by;
        f.via = c->via;
        f.reason = c->decide.reason;
        f.payload = c->decide.payload;
        f.answer_id = c->answer_id;
        f.grant = c->opened.id;
        f.granted = c->opened.shown;
        f.amount = c->opened.amount;
    }
    return thread_add(t, &f);
}

static enum err finish_call(struct thread *t, struct call *call, enum word outcome, struct str text)
{
    struct fact f = { .kind = FACT_FINISHED, .call = call->id, .outcome = outcome, .text = text };
    return thread_add(t, &f);
}

/* Gates that wait get their verdict before the calls behind them are finished. Of a program's call
 * it is said who took it back. */
static enum err cancel_gates(struct thread *t, const struct command *by)
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

/* A tool that asks in the middle of its work has begun it: how far it came, nobody knows. */
static enum err leave_call(struct thread *t, struct call *c)
{
    const struct tool *tool = work_tool(t, c);
    bool begun = c->state == CALL_STARTED && !c->client && !(tool && tool->idempotent);
    if (begun)
        return finish_call(t, c, WORD_UNKNOWN,
                           STR("It waited for an answer when the user continued. It may or may not "
                               "have happened."));
    return finish_call(t, c, WORD_CANCELLED,
                       STR("{\"error\":\"Not decided; the user continued\"}"));
}

/* The person went on without answering: every open call gets a result, the run is over. */
static enum err supersede(struct thread *t)
{
    struct run *r = t->fold.run;
    enum err    e = cancel_gates(t, NULL);
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

static enum err stop_run(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    struct fact f = { .kind = FACT_STOP, .run = r->id, .by = c->by, .via = c->via };
    enum err    e = OK;
    if (c->kind == CMD_STOP) f.reason = c->stop.reason;
    if (r->stopping) return OK;
    work_hang_up(t);
    if ((e = thread_add(t, &f))) return e;
    if (t->step.active && !t->step_closed && t->step.count && (e = work_step_fact(t, "cancelled")))
        return e;
    return r->phase == RUN_CALLS ? cancel_gates(t, c) : OK;
}

/* Nobody will read on: what was begun comes to its outcome, and no model speaks of it. */
static enum err leave_run(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    struct fact f = {
        .kind = FACT_STOP, .run = r->id, .by = c->by, .via = c->via, .stop = STR("calls")
    };
    if (r->phase == RUN_THINKING) return stop_run(t, c);
    return r->leaving || r->stopping ? OK : thread_add(t, &f);
}

/* The same for a message that stands beside answers: what they did not answer is cancelled. */
static enum err leave_answered(struct thread *t, const struct command *c)
{
    struct run *r = t->fold.run;
    enum err    e = leave_run(t, c);
    if (!e && r->phase == RUN_CALLS) e = cancel_gates(t, NULL);
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *x = r->calls[i];
        if (x->state == CALL_STARTED && x->client) e = leave_call(t, x);
    }
    return e;
}

/* --- beginning a run ------------------------------------------------------------------ */

static struct run *run_of_request(const struct thread *t, struct str request_id)
{
    for (size_t i = t->fold.run_count; i-- > 0;)
        if (request_id.len && str_eq(t->fold.runs[i]->first->request_id, request_id))
            return t->fold.runs[i];
    return NULL;
}

/* And not only a browser. */
static bool asks_somebody(const struct run *r)
{
    for (size_t i = 0; i < r->call_count; i++)
        if (call_pending(r->calls[i])) return true;
    return false;
}

static const char *pending_list(struct thread *t, struct command *c)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_lit(&b, "A decision is waiting; answer it first: ");
    for (size_t i = 0, n = 0; i < t->fold.run->call_count; i++) {
        const struct call *call = t->fold.run->calls[i];
        if (!call_pending(call)) continue;
        if (n++) buf_lit(&b, ", ");
        buf_str(&b, call_gate(call)->id);
    }
    struct str s = arena_dup(&c->arena, buf_view(&b));
    buf_done(&b);
    return s.ptr ? s.ptr : "A decision is waiting; answer it first.";
}

/* Has this principal used up what is theirs? */
static bool over_quota(struct thread *t, struct command *c)
{
    unsigned           retry_s = 0;
    enum quota_verdict v = quota_admit(t->hub->setup.quota, t->owner, clock_wall_ms(), &retry_s);
    if (v == QUOTA_FINE) return false;
    log_about(LOG_SECURITY, &(struct log_about){ .thread = t->id, .principal = c->by },
              "run.limited", "why", v == QUOTA_RUNS ? "runs" : "tokens", NULL);
    c->receipt.retry_s = retry_s;
    if (v == QUOTA_RUNS)
        return refuse(
            t, c, 429, "too_many_runs",
            "You have as many answers being written as you may have at once; wait for one to end.");
    return refuse(t, c, 429, "tokens_used_up", "You have used up your tokens of today.");
}

/* Where only approvers may decide, the person whose conversation it is may not (unless they are
 * one). */
static bool not_approver(struct thread *t, struct command *c)
{
    suspicious(t, c, "not_approver");
    return refuse(t, c, 403, "not_approver", "This waits for somebody who may approve it.");
}

/* Without sign-in, a program of ours that can reach us must not answer for the person:
 * auth/starttoken.h. */
static bool lacks_token(struct thread *t, struct command *c)
{
    bool answers = c->kind == CMD_DECIDE || c->kind == CMD_RESULT || c->kind == CMD_CLAIM ||
                   c->kind == CMD_SETTLE || c->kind == CMD_UNVOTE || c->kind == CMD_REVOKE;
    if (!answers || c->may_decide || !t->hub->setup.token) return false;
    suspicious(t, c, "token_needed");
    return refuse(
        t, c, 403, "token_needed",
        "This needs the token of this start: open the address that parley printed when it started "
        "(it ends in #token=...), or send that token as \"Authorization: Bearer ...\".");
}

static unsigned parked_count(const struct thread *t)
{
    unsigned n = 0;
    LIST_EACH (x, &t->parked) n++;
    return n;
}

static struct caller caller_of_command(const struct command *c)
{
    return (struct caller){
        .principal = c->by, .roles = c->roles, .claims = c->claims, .at_ms = clock_wall_ms()
    };
}

/* A page that is not for them is a page that is not there. */
static bool is_open_to(const struct thread *t, const struct command *c, struct str page)
{
    const struct hub_page *p = hub_page(t->hub, page);
    struct caller          who = caller_of_command(c);
    return p && caller_has(&who, p->roles, p->role_count);
}

enum admit { ADMIT_YES, ADMIT_LATER, ADMIT_NO };

/* May a new run begin now? Busy threads and waiting gates are two different things. */
static enum admit admit(struct thread *t, struct command *c, enum err *e)
{
    struct run *r = t->fold.run, *same = run_of_request(t, c->request_id);
    if (same) {
        accepted(t, c, same->id, same->first->seq);
        c->receipt.duplicate = true;
        return ADMIT_NO;
    }
    if (t->hub->draining)
        return refuse(t, c, 503, "restarting", "The server is restarting; try again in a moment."),
               ADMIT_NO;
    if (!is_open_to(t, c, c->page))
        return refuse(t, c, 422, "unknown_page", "There is no page of this name."), ADMIT_NO;
    if (declared_refused(t, c)) return ADMIT_NO;
    /* also while another call of the step still runs */
    if (run_live(r) && (t->hub->setup.hold || c->hold) && asks_somebody(r))
        return refuse(t, c, 409, "approval_pending", pending_list(t, c)), ADMIT_NO;
    if (run_live(r) && run_waiting(r)) {
        if (over_quota(t, c)) return ADMIT_NO;
        *e = supersede(t);
        return ADMIT_YES;
    }
    if (run_live(r)) {
        if (c->when_busy == BUSY_REFUSE) {
            refuse(t, c, 409, "run_active",
                   "An answer is still being written in this conversation.");
            c->receipt.run = r->id;
            return ADMIT_NO;
        }
        if (parked_count(t) >= PARKED_MAX)
            return refuse(t, c, 429, "too_many_waiting",
                          "Too many messages wait for this answer to end already; wait for it."),
                   ADMIT_NO;
        if (c->when_busy == BUSY_INTERRUPT) *e = stop_run(t, c);
        if (c->when_busy == BUSY_AFTER) *e = leave_answered(t, c);
        return ADMIT_LATER;
    }
    if (over_quota(t, c)) return ADMIT_NO;
    if (!hub_has_place(t->hub))
        return refuse(t, c, 503, "too_many_runs",
                      "The server has as many runs as it may have; try again in a moment."),
               ADMIT_NO;
    return ADMIT_YES;
}

static void claim_request(struct thread *t, struct command *c, struct str run)
{
    if (!c->request_id.len) return;
    t->request_id = c->request_id;
    t->request_run = run;
}

/* The first words name the thread until somebody gives it a better title. */
static void title_from(struct thread *t, struct str text)
{
    char       words[TITLE_BYTES];
    struct str s = title_words(text, words);
    if (t->title.len) return;
    char *kept = mem_alloc(s.len + 1);
    if (!kept) return;
    memcpy(kept, s.ptr, s.len);
    mem_free((char *)(uintptr_t)t->title.ptr);
    t->title = str_n(kept, s.len);
    t->retitled = true;
}

static enum err begin_run(struct thread *t, struct command *c, struct fact *f)
{
    f->run = id_new(&c->arena, "run_");
    f->by = c->by;
    f->via = c->via;
    f->page = c->page;
    f->request_id = c->request_id;
    if (c->declared.ptr) f->declared = c->declared;
    f->roles = c->roles;
    f->claims = c->claims;
    if (!f->run.ptr) return ERR_NOMEM;
    claim_request(t, c, f->run);
    enum err e = thread_add(t, f);
    thread_take_place(t);
    t->revived = false;
    accepted(t, c, f->run, f->seq);
    if (!e) e = response_add(t, c, f->run, STR_NONE);
    return e || !c->stopped ? e : stop_run(t, c);
}

static bool known_message(const struct thread *t, struct str id)
{
    for (size_t i = 0; i < t->fold.count; i++)
        if (t->fold.facts[i]->kind == FACT_MESSAGE && str_eq(t->fold.facts[i]->id, id)) return true;
    return false;
}

/* Clients go on calling an edited message by its first id; what is to be replaced is its newest
 * version. */
static struct str newest_version(const struct thread *t, struct str id)
{
    for (size_t i = 0; i < t->fold.count; i++) {
        const struct fact *f = t->fold.facts[i];
        if (f->kind == FACT_MESSAGE && f->replaces.len && str_eq(f->replaces, id)) id = f->id;
    }
    return id;
}

/* The run that answers this message now: the one it began, or the last that was tried in its
 * place. */
static const struct run *run_of_message(const struct thread *t, struct str message_id)
{
    const struct run *found = NULL;
    for (size_t i = 0; i < t->fold.run_count; i++) {
        const struct run *r = t->fold.runs[i];
        bool again = found && r->first->kind == FACT_RETRY && str_eq(r->first->of, found->id);
        if (again || (r->first->kind == FACT_MESSAGE && str_eq(r->first->id, message_id)))
            found = r;
    }
    return found;
}

/* The same request delivered twice (a proxy's, a browser's second try): same id, same words and
 * files, and nobody said that it is an edit. It has its run already. */
static bool is_same_message(struct thread *t, struct command *c)
{
    struct str        id = c->message.id.len ? newest_version(t, c->message.id) : STR_NONE;
    const struct run *r = id.len && !c->message.replaces.len ? run_of_message(t, id) : NULL;
    if (!r || run_of_request(t, c->request_id)) return false; /* a request's id says more */
    for (size_t i = 0; i < t->fold.run_count; i++) {
        const struct fact *f = t->fold.runs[i]->first;
        if (f->kind != FACT_MESSAGE || !str_eq(f->id, id)) continue;
        if (!str_eq(f->text, c->message.text) || !str_eq(f->files, c->message.files)) return false;
    }
    accepted(t, c, r->id, r->first->seq);
    c->receipt.duplicate = true;
    return true;
}

/* What a new thread begins with, beside the message. Of another one's past: the same facts, then
 * what was open there is left. */
static enum err begin_thread(struct thread *t, const struct command *c)
{
    if (t->fold.count) return OK;
    enum err e = c->copied.len ? response_paste(t, c->copied) : OK;
    if (!e) e = response_fork(t, c);
    if (e || c->copied.len) return e || !run_live(t->fold.run) ? e : supersede(t);
    struct fact f = { .kind = FACT_BROUGHT, .data = c->brought, .via = c->via };
    return c->brought.len ? thread_add(t, &f) : OK;
}

static bool handle_message(struct thread *t, struct command *c, enum err *e)
{
    if (is_same_message(t, c)) return true;
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = begin_thread(t, c))) return true;
    struct fact f = { .kind = FACT_MESSAGE,
                      .text = c->message.text,
                      .files = c->message.files,
                      .id = c->message.id };
    if (!f.id.len || known_message(t, f.id)) {
        /* the same id again is an edit of that message */
        if (f.id.len) f.replaces = newest_version(t, f.id);
        if (!(f.id = id_new(&c->arena, "m_")).ptr) return *e = ERR_NOMEM, true;
    }
    if (c->message.replaces.len && known_message(t, c->message.replaces))
        f.replaces = newest_version(t, c->message.replaces);
    title_from(t, c->message.text);
    *e = begin_run(t, c, &f);
    return true;
}

static bool has_effect(const struct thread *t, const struct call *c)
{
    const struct tool *tool = work_tool(t, c);
    return call_took_effect(c) && !(tool && tool->idempotent);
}

/* What a run did cannot be made undone by asking for other words: they begin after the outcomes of
 * its last step that did something. The seq of the last of these; 0: it did nothing, all of it is
 * made anew. */
static int64_t last_effect(const struct thread *t, const struct run *r)
{
    const struct fold *f = &t->fold;
    uint64_t           step = 0, last = 0;
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++)
        if (has_effect(t, f->calls[i])) step = f->calls[i]->step_seq;
    for (size_t i = r->calls_from; step && i < f->call_count && f->calls[i]->run == r; i++)
        if (f->calls[i]->step_seq == step && f->calls[i]->finished &&
            f->calls[i]->finished->seq > last)
            last = f->calls[i]->finished->seq;
    return (int64_t)last;
}

/* After an error the run goes on where it failed, so that no tool is run again; an answer that was
 * merely unwanted, or after which the conversation went on, is made anew from its last effect, or
 * from the question. */
static bool handle_retry(struct thread *t, struct command *c, enum err *e)
{
    struct run *old = c->retry.of.len ? fold_run(&t->fold, c->retry.of) : t->fold.run;
    if (!old)
        return refuse(t, c, 409, "nothing_to_continue",
                      "There is no answer here that could be tried again.");
    /* one that was configured when its run began may be gone: then it is made on the first page */
    if (!c->page.len && hub_page(t->hub, old->page)) c->page = arena_dup(&c->arena, old->page);
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    struct fact f = { .kind = FACT_RETRY,
                      .of = old->id,
                      .keep = last_effect(t, old),
                      .from_end =
                          old == t->fold.run && old->ended && old->ended->outcome == WORD_ERROR };
    f.declared = old->first->declared; /* unless it brings its own */
    *e = begin_run(t, c, &f);
    return true;
}

/* The one call of an action. */
static enum err judged_part(struct thread *t, struct command *c, struct str tool, struct str input,
                            bool button, struct part *p)
{
    *p = (struct part){ .type = STEP_CALL,
                        .tool = tool,
                        .call = id_new(&c->arena, "call-"),
                        .complete = true,
                        .text = input.len && input.ptr[0] == '{' ? input : STR("{}") };
    struct caller who = caller_of_command(c);
    return p->call.ptr ? work_judge(t, hub_page(t->hub, c->page), &who, p, button) : ERR_NOMEM;
}

static bool handle_action(struct thread *t, struct command *c, enum err *e)
{
    const struct hub_setup *s = &t->hub->setup;
    struct str              tool = STR_NONE;
    struct part             p;
    for (size_t i = 0; i < s->action_count; i++)
        if (str_eq(s->actions[i].name, c->action.name)) tool = s->actions[i].tool;
    if (!tool.ptr)
        return refuse(t, c, 404, "unknown_action", "There is no server action of this name.");
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = judged_part(t, c, tool, c->action.data, true, &p))) return *e = ERR_NOMEM, true;
    struct fact f = { .kind = FACT_ACTION,
                      .action = c->action.name,
                      .data = c->action.data,
                      .parts = &p,
                      .parts_count = 1 };
    title_from(t, c->action.name);
    *e = begin_run(t, c, &f);
    return true;
}

/* A program's call begins a thread. One that is there already is the same call, sent twice at the
 * same moment: whoever came second follows the first. What cannot be run is not logged. */
static bool handle_call(struct thread *t, struct command *c, enum err *e)
{
    struct part p;
    if (fold_program_call(&t->fold)) {
        accepted(t, c, t->fold.run->id, t->fold.run->first->seq);
        c->receipt.duplicate = true;
        return true;
    }
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = judged_part(t, c, c->call.tool, c->call.args, false, &p)))
        return *e = ERR_NOMEM, true;
    if (p.gate == GATE_BAD) {
        struct str why = arena_dup(&c->arena, p.problem);
        return refuse(t, c, 422, "bad_call", why.ptr ? why.ptr : "The call could not be checked.");
    }
    struct fact f = { .kind = FACT_ACTION,
                      .action = c->call.tool,
                      .text = c->call.client,
                      .data = c->call.about,
                      .parts = &p,
                      .parts_count = 1 };
    title_from(t, c->call.tool);
    t->origin = (struct store_origin){ c->via, c->call.group };
    *e = begin_run(t, c, &f);
    if (!*e && c->call.match.ptr) *e = thread_key(t, "", c->call.match, STR(""));
    return true;
}

static bool handle_handed(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_program_call(&t->fold);
    if (!call || call->state != CALL_FINISHED)
        return refuse(t, c, 409, "not_finished", "The call has no outcome yet.");
    struct fact f = { .kind = FACT_HANDED, .call = call->id, .via = c->via };
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, f.seq);
    return true;
}

static bool handle_create(struct thread *t, struct command *c, enum err *e)
{
    struct fact f = { .kind = FACT_CREATED, .by = c->by };
    if (t->exists && c->repeated) {
        accepted(t, c, STR_NONE, 1);
        c->receipt.status = 201;
        return true;
    }
    if (t->exists) return refuse(t, c, 409, "exists", "This conversation exists already.");
    title_from(t, c->title);
    *e = thread_add(t, &f);
    accepted(t, c, STR_NONE, f.seq);
    c->receipt.status = 201;
    return true;
}

/* --- answers ---------------------------------------------------------------------------- */

/* The same value, however it was spelled. */
static bool same_value_as(struct command *c, struct str now, struct str was)
{
    struct jv *a, *b;
    struct str copy = arena_dup(&c->arena, was);
    if (str_eq(now, was)) return true;
    return was.ptr && copy.ptr && json_parse(&c->arena, now, &a, NULL) == OK &&
           json_parse(&c->arena, copy, &b, NULL) == OK && jv_equal(a, b);
}

static enum word verdict_of(const struct command *c)
{
    if (c->decide.cancelled) return WORD_CANCELLED;
    return c->decide.confirmed ? WORD_APPROVED : WORD_DENIED;
}

static bool answered_before(struct thread *t, struct command *c, struct call *call,
                            const struct fact *verdict)
{
    enum word was = verdict->outcome;
    c->receipt.call = call;
    if (was != verdict_of(c)) suspicious(t, c, "answered_before");
    if (was == WORD_REPLACED)
        return refuse(t, c, 409, "already_decided",
                      "Somebody changed this and answered it so; the changed request has an id of "
                      "its own.");
    if (was == WORD_EXPIRED)
        return refuse(t, c, 409, "expired", "This request expired before it was answered.");
    if (was == WORD_CANCELLED)
        return refuse(
            t, c, 409, "superseded",
            "This request was withdrawn: the answer was stopped, or the conversation went on.");
    if (c->decide.confirmed && c->decide.payload.len &&
        !same_value_as(c, c->decide.payload, verdict->payload))
        return refuse(t, c, 409, "already_decided",
                      "This was already answered, with other content.");
    if ((was == WORD_APPROVED) != c->decide.confirmed)
        return refuse(t, c, 409, "already_decided",
                      was == WORD_APPROVED ? "This was already approved."
                                           : "This was already denied.");
    accepted(t, c, call->run->id, verdict->seq);
    c->receipt.duplicate = true;
    return true;
}

/* Nothing is left to decide under this id: a duplicate, or too late. */
static bool is_decided(struct thread *t, struct command *c, struct call *call)
{
    const struct fact *verdict = fold_verdict(&t->fold, c->id), *open = call_gate(call);
    if (verdict) return answered_before(t, c, call, verdict);
    if (open && str_eq(open->id, c->id)) return false;
    return refuse(t, c, 409, "superseded",
                  "This question was withdrawn: the tool that asked it has ended.");
}

static bool echo_differs(const struct command *c, const struct call *call)
{
    if (c->decide.echo_tool.ptr && !str_eq(c->decide.echo_tool, call->tool)) return true;
    return c->decide.echo_args && !jv_equal(c->decide.echo_args, call->args);
}

/* A form that is filled in must be the one that was asked for. What takes too long to compare is
 * the tool's to refuse. */
static bool is_misfit(struct thread *t, struct command *c, const struct fact *question)
{
    struct jv *schema, *given;
    struct buf why;
    if (!c->decide.confirmed || !c->decide.payload.len || !question->schema.len) return false;
    buf_init(&why, 2048);
    bool bad = json_parse(&c->arena, question->schema, &schema, NULL) == OK &&
               json_parse(&c->arena, c->decide.payload, &given, NULL) == OK &&
               schema_check(schema, given, &t->hub->judge, &why) == ERR_TYPE;
    if (bad) {
        struct str m = arena_printf(&c->arena, "This is not what was asked for: " STR_FMT,
                                    STR_ARG(buf_view(&why)));
        refuse(t, c, 422, "malformed_answer", m.ptr ? m.ptr : "This is not what was asked for.");
    }
    buf_done(&why);
    return bad;
}

/* A question a tool asked in the middle of its work: the answer goes to the tool. */
static bool answer_question(struct thread *t, struct command *c, struct call *call, enum err *e)
{
    if (is_misfit(t, c, call->question)) return true;
    uint64_t seq = t->fold.count + 1;
    *e = decide_gate(t, call, c, verdict_of(c));
    if (!*e) work_answer_job(call, c->decide.confirmed, c->decide.payload);
    accepted(t, c, call->run->id, seq);
    c->receipt.call = call;
    return true;
}

static bool is_unknown(struct thread *t, struct command *c)
{
    suspicious(t, c, "unknown_confirmation");
    return refuse(t, c, 404, "unknown_confirmation", "There is no such request here.");
}

/* May they answer this question? Where a rule asked it, the rule says; else approvals.who. */
static bool is_barred(struct thread *t, struct command *c, const struct fact *asked)
{
    if (!asked || !asked->who.ptr) {
        /* not their own: it was found because some rule concerns them, and this one does not */
        if (!str_eq(c->by, t->owner) && !t->hub->setup.approvers) return is_unknown(t, c);
        return !c->may_decide && not_approver(t, c);
    }
    struct ballot b = { asked->who, t->owner, asked->at_ms, clock_wall_ms() };
    struct voter  v = { c->by, c->roles };
    switch (rules_standing(&b, &v)) {
    case MAY_DECIDE: return false;
    case IS_REQUESTER:
        suspicious(t, c, "requester");
        return refuse(t, c, 403, "requester",
                      "Whoever asks for this may not approve it; somebody else has to.");
    case NOT_THEIRS: break;
    }
    return str_eq(c->by, t->owner) ? not_approver(t, c) : is_unknown(t, c);
}

/* Refuses what no state of the gate can make right. */
static bool is_forged(struct thread *t, struct command *c, const struct call *call)
{
    if (!call) return is_unknown(t, c);
    if (is_barred(t, c, fold_asked(&t->fold, c->id))) return true;
    c->receipt.call = call;
    c->receipt.id = call->id;
    if (!echo_differs(c, call)) return false;
    suspicious(t, c, "args_mismatch");
    return refuse(t, c, 409, "args_mismatch",
                  "The arguments sent back are not the ones that were asked about.");
}

/* Its server has not listed it yet since the start. The yes is saved; whether it still holds is
 * looked at before the start. */
static bool is_expected(const struct thread *t, const struct call *call)
{
    const struct registry *r = t->hub->setup.registry;
    return !registry_find(r, call->tool) && registry_expects(r, call->tool);
}

/* --- several yeses ------------------------------------------------------------------------- */

static bool add_vote(struct thread *t, struct command *c, struct call *call, enum word w,
                     enum err *e)
{
    struct fact f = { .kind = FACT_VOTED,
                      .id = c->id,
                      .call = call->id,
                      .outcome = w,
                      .by = c->by,
                      .roles = c->roles,
                      .via = c->via,
                      .reason = c->kind == CMD_DECIDE ? c->decide.reason : STR_NONE };
    uint64_t    seq = t->fold.count + 1;
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, seq);
    c->receipt.call = call;
    if (!*e)
        *e = response_add(t, c, STR_NONE,
                          STR("Your yes is counted. It happens when the others who are asked have "
                              "said yes, too."));
    return true;
}

static bool has_voted(const struct thread *t, const struct fact *asked, struct str name)
{
    const struct fact *votes[VOTES_MAX];
    size_t             n = approval_votes(&t->fold, asked, votes);
    for (size_t i = 0; i < n; i++)
        if (str_eq(votes[i]->by, name)) return true;
    return false;
}

/* Would this yes, with those that are there, be enough? A vote counts by the roles that its voter
 * has had ever since. */
static bool completes(const struct thread *t, struct command *c, const struct fact *asked)
{
    const struct people *known = t->hub->setup.people;
    const struct fact   *votes[VOTES_MAX];
    struct voter         yes[VOTES_MAX + 1];
    struct ballot        b = { asked->who, t->owner, asked->at_ms, clock_wall_ms() };
    size_t               n = approval_votes(&t->fold, asked, votes), k = 0;
    for (size_t i = 0; i < n; i++)
        if (!str_eq(votes[i]->by, c->by))
            yes[k++] = (struct voter){ votes[i]->by, people_still(known, &c->arena, votes[i]->by,
                                                                  votes[i]->roles) };
    yes[k++] = (struct voter){ c->by, c->roles };
    return rules_enough(&b, yes, k);
}

/* One yes of several: it is taken, and more are needed. */
static bool is_vote(struct thread *t, struct command *c, struct call *call, enum err *e)
{
    const struct fact *asked = fold_asked(&t->fold, c->id);
    if (!c->decide.confirmed || !asked->who.ptr || completes(t, c, asked)) return false;
    if (c->decide.grant)
        return refuse(t, c, 422, "grant_not_offered",
                      "No grant is offered where several people have to say yes.");
    if (!has_voted(t, asked, c->by)) return add_vote(t, c, call, WORD_APPROVED, e);
    accepted(t, c, call->run->id, asked->seq);
    c->receipt.duplicate = true;
    c->receipt.call = call;
    return true;
}

/* One's own vote is one's own, also when one may not give it any more. */
static bool handle_unvote(struct thread *t, struct command *c, enum err *e)
{
    struct call       *call = fold_confirmation(&t->fold, c->id);
    const struct fact *asked = fold_asked(&t->fold, c->id);
    bool               voted = asked && has_voted(t, asked, c->by);
    bool               stranger = !voted && !c->may_decide && !str_eq(c->by, t->owner);
    if (!call || (stranger && !(asked && asked->who.ptr))) return is_unknown(t, c);
    if (!voted && is_barred(t, c, asked)) return true;
    if (fold_verdict(&t->fold, c->id) || !call_gate(call) || !str_eq(call_gate(call)->id, c->id))
        return refuse(t, c, 409, "already_decided", "This is decided; nothing can be taken back.");
    if (!voted)
        return refuse(t, c, 404, "no_vote", "You have no vote here that could be taken back.");
    return add_vote(t, c, call, WORD_CANCELLED, e);
}

/* --- grants ----------------------------------------------------------------------------------- */

/* What the yes is to be worth beyond this call. True: it is not to be had. */
static bool is_overgranted(struct thread *t, struct command *c, const struct call *call)
{
    struct grant_opened open = { 0 };
    struct grant_fault  why;
    if (!c->decide.grant || !c->decide.confirmed) return false;
    if (!grant_open(t, c, call, &open, &why)) {
        if (!why.code) return refuse(t, c, 503, "out_of_memory", why.why);
        suspicious(t, c, why.code);
        return refuse(t, c, 422, why.code, why.why);
    }
    c->opened.id = open.id;
    c->opened.shown = open.shown;
    c->opened.amount = open.amount;
    return false;
}

/* Who may was looked at where the grant was found; by nobody: its giver has lost the role. */
static bool handle_revoke(struct thread *t, struct command *c, enum err *e)
{
    struct fact f = { .kind = FACT_REVOKED, .grant = c->id, .by = c->by, .via = c->via };
    uint64_t    seq = t->fold.count + 1;
    *e = c->by.len ? grant_revoke(t, c->id) : grant_end(t, c->id);
    if (!*e) *e = thread_add(t, &f);
    accepted(t, c, STR_NONE, seq);
    return true;
}

/* Said in words, and the code is not (any more) the one. */
static bool wrong_words(struct thread *t, struct command *c, const struct call *call)
{
    if (!c->decide.code.ptr || spoken_fit(call, c->decide.code)) return false;
    suspicious(t, c, "wrong_code");
    return refuse(t, c, 409, "wrong_code", "That code does not decide this question.");
}

static bool handle_decide(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_confirmation(&t->fold, c->id);
    c->opened.id = c->opened.shown = STR_NONE;
    if (is_forged(t, c, call)) return true;
    if (is_decided(t, c, call)) return true;
    if (wrong_words(t, c, call)) return true;
    if (call_questioned(call, c->id)) return answer_question(t, c, call, e);
    uint64_t seq = t->fold.count + 1;
    bool     holds = true;
    if (c->decide.confirmed && !is_expected(t, call) && (*e = approval_holds(t, call, &holds)))
        return true;
    if (!holds) {
        if (!(*e = decide_gate(t, call, c, WORD_CANCELLED)))
            *e = finish_call(
                t, call, WORD_FAILED,
                STR("{\"error\":\"The tool was changed or removed since it was asked for\"}"));
        return refuse(t, c, 410, "tool_gone",
                      "The tool was changed or removed since this was asked. Nothing was run.");
    }
    if (c->decide.input && c->decide.confirmed && edit_handle(t, c, call, e)) return true;
    if (is_vote(t, c, call, e) || is_overgranted(t, c, call)) return true;
    *e = decide_gate(t, call, c, verdict_of(c));
    accepted(t, c, call->run->id, seq);
    if (!*e) *e = response_add(t, c, call->run->id, STR_NONE);
    return true;
}

static bool same_result(struct command *c, const struct fact *f)
{
    bool failed = c->result.error.ptr != NULL;
    if (f->outcome != (failed ? WORD_FAILED : WORD_DONE)) return false;
    return failed ? str_eq(c->result.error, f->text) : same_value_as(c, c->result.value, f->value);
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

static bool handle_result(struct thread *t, struct command *c, enum err *e)
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
    f.ms = work_ms(call);
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, f.seq);
    if (!*e) *e = response_add(t, c, call->run->id, STR_NONE);
    return true;
}

bool command_refused(struct thread *t, struct command *c)
{
    struct call *call =
        c->kind == CMD_RESULT ? fold_call(&t->fold, c->id) : fold_confirmation(&t->fold, c->id);
    c->receipt = (struct receipt){ 0 };
    if (lacks_token(t, c)) return true;
    if (c->kind == CMD_RESULT)
        (void)(is_foreign_result(t, c, call) || is_second_result(t, c, call));
    else if (!is_forged(t, c, call) && !is_decided(t, c, call) && c->decide.confirmed &&
             c->decide.input)
        (void)edit_refused(t, c, call);
    return c->receipt.status >= 400;
}

static bool handle_claim(struct thread *t, struct command *c)
{
    struct call *call = fold_call(&t->fold, c->id);
    int64_t      now = clock_wall_ms();
    if (!call || !call->client)
        return refuse(t, c, 404, "unknown_call", "There is no such call here.");
    if (call->state != CALL_STARTED)
        return refuse(t, c, 409, "late_result", "This call is not waiting for a browser.");
    if (call->claimed_by.ptr && call->claimed_until_ms > now &&
        !str_eq(call->claimed_by, c->claim.client))
        return refuse(t, c, 409, "claimed", "Another tab runs this.");
    call->claimed_by = arena_dup(&t->fold.arena, c->claim.client);
    call->claimed_until_ms = now + work_client_ms(t, call);
    call->claim_owner = c->claim.owner;
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

/* Who may say how it turned out is who may have it run: of what ran by a grant the giver, and whoever
 * a rule would ask. A requester who says "it did not happen" would have the grant back. */
static bool is_barred_from(struct thread *t, struct command *c, const struct call *call)
{
    const struct fact *d = call->decided;
    bool               single;
    if (call->asked || !d || !d->grant.len) return is_barred(t, c, call->asked);
    if (str_eq(d->by, c->by) && c->may_decide) return false;
    struct fact asked = { .at_ms = d->at_ms, .who = d->who };
    if (!asked.who.ptr && rules_for(t, call, &c->arena, &asked.who, &single) != OK)
        return refuse(t, c, 503, "busy", "This could not be looked at; try again in a moment.");
    if (asked.who.ptr || t->hub->setup.approvers) return is_barred(t, c, &asked);
    return not_approver(t, c);
}

static bool handle_settle(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_confirmation(&t->fold, c->id);
    if (!call) { /* calls without a gate are listed under the name their gate would have had */
        struct str prefix = STR("confirmation-");
        call = fold_call(&t->fold, str_starts(c->id, prefix) ? str_from(c->id, prefix.len) : c->id);
    }
    if (!call) return refuse(t, c, 404, "unknown_confirmation", "There is no such request here.");
    if (is_barred_from(t, c, call)) return true;
    c->receipt.call = call;
    if (call->settled && c->repeated && str_eq(call->settled->by, c->by) &&
        (call->settled->outcome == WORD_DONE) == c->settle.happened) {
        accepted(t, c, call->run->id, call->settled->seq);
        return true;
    }
    if (call->settled)
        return refuse(t, c, 409, "already_settled", "Somebody already said how this turned out.");
    if (!call->finished || call->finished->outcome != WORD_UNKNOWN)
        return refuse(t, c, 409, "not_unknown", "The outcome of this call is known.");
    struct fact f = { .kind = FACT_SETTLED,
                      .call = call->id,
                      .by = c->by,
                      .via = c->via,
                      .note = c->settle.note,
                      .value = c->settle.value,
                      .outcome = c->settle.happened ? WORD_DONE : WORD_NOT_DONE };
    *e = thread_add(t, &f);
    accepted(t, c, call->run->id, f.seq);
    return true;
}

/* It counts for everything that stood before it: messages that wait for this run to end will begin
 * theirs stopped. */
static bool handle_stop(struct thread *t, struct command *c, enum err *e)
{
    LIST_EACH (n, &t->parked) LIST_ITEM(n, struct command, node)->stopped = true;
    if (!run_live(t->fold.run)) {
        accepted(t, c, STR_NONE, 0);
        return true;
    }
    accepted(t, c, t->fold.run->id, t->fold.count + 1);
    if (c->kind == CMD_STOP && c->stop.gently) {
        if (!asks_somebody(t->fold.run)) *e = leave_run(t, c);
    } else *e = stop_run(t, c);
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
        *e = stop_run(t, c);
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
        *e = leave_answered(t, c);
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

/* --- the clock ------------------------------------------------------------------------------- */

static bool all_finished(const struct run *r)
{
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state != CALL_FINISHED) return false;
    return true;
}

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
    int64_t due = c->state == CALL_STARTED && c->client ? work_client_due(t, c) : 0;
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
static enum err expire_due(struct thread *t, bool going_on)
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
        e = decide_gate(t, c, NULL, WORD_EXPIRED);
        /* the tool goes on without an answer */
        if (c->state == CALL_STARTED) work_answer_job(c, false, STR_NONE);
        else gates = true;
    }
    for (size_t i = 0; i < r->call_count && !e; i++) {
        struct call *c = r->calls[i];
        if (call_lives_on(c)) continue;
        if (c->state == CALL_REFUSED)
            e = finish_call(t, c, c->decided->outcome, approval_refusal(&t->batch, c));
        else if (is_overdue(t, c, now))
            e = finish_call(t, c, WORD_FAILED,
                            c->declared ? STR("No answer from the page.")
                                        : STR("No browser answered in time."));
    }
    if (e || !gates || !all_finished(r)) return e;
    return t->watching && !going_on ? OK : end_expired(t);
}

/* --- from inside --------------------------------------------------------------------------- */

static enum err close_step(struct thread *t, const char *stop)
{
    enum err e = answer_read(t);
    if (e) return e;
    bool failed = answer_failed(t);
    if (failed) t->answer_why = STR_NONE; /* it is not asked for once more */
    if ((e = work_step_fact(t, stop))) return e;
    return failed ? answer_give_up(t) : OK;
}

static void handle_step_done(struct thread *t, enum err *e)
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

static bool handle_late(struct thread *t, struct command *c, enum err *e)
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
    work_late(c, &late);
    enum err e = late.arena.failed ? ERR_NOMEM : add_late(t, call, &late);
    arena_done(&late.arena);
    return e;
}

static void handle_tool_done(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (!call) return;
    if (call->state == CALL_FINISHED) {
        *e = outcome_after_all(t, c, call);
        return;
    }
    if (work_once_more(c, call)) return;
    struct fact f = { .call = call->id };
    work_outcome_fact(c, call, &f);
    if (f.kind == FACT_ASKED) {
        *e = add_question(t, c, call, &f);
        return;
    }
    f.ms = work_ms(call);
    *e = thread_add(t, &f);
}

static void handle_tool_asks(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_call(&t->fold, c->id);
    if (!call || call->state != CALL_STARTED || call_pending(call)) return;
    *e = add_question(t, c, call,
                      &(struct fact){ .kind = FACT_ASKED,
                                      .call = call->id,
                                      .ask = c->question.text,
                                      .schema = c->question.schema });
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
    if (c->kind <= CMD_EXPIRE && (*e = expire_due(t, going_on))) return true;
    if (lacks_token(t, c)) return true;
    switch (c->kind) {
    case CMD_CREATE: return handle_create(t, c, e);
    case CMD_MESSAGE: return handle_message(t, c, e);
    case CMD_RETRY: return handle_retry(t, c, e);
    case CMD_ACTION: return handle_action(t, c, e);
    case CMD_CALL: return handle_call(t, c, e);
    case CMD_HANDED: return handle_handed(t, c, e);
    case CMD_DECIDE: return handle_decide(t, c, e);
    case CMD_RESULT: return handle_result(t, c, e);
    case CMD_CLAIM: return handle_claim(t, c);
    case CMD_STOP: return handle_stop(t, c, e);
    case CMD_DELETE: return handle_delete(t, c, e);
    case CMD_RENAME: return handle_rename(t, c);
    case CMD_SETTLE: return handle_settle(t, c, e);
    case CMD_LATE: return handle_late(t, c, e);
    case CMD_UNVOTE: return handle_unvote(t, c, e);
    case CMD_REVOKE: return handle_revoke(t, c, e);
    case CMD_RESPOND: return handle_respond(t, c, e);
    case CMD_FORGET: return handle_forget(t, c, e);
    case CMD_FOLLOW:
        accepted(t, c, t->fold.run ? t->fold.run->id : STR_NONE, t->fold.count);
        return true;
    case CMD_EXPIRE: return callcheck_due_now(t, c, e); /* all else has been done by now */
    case CMD_STEP_DONE: handle_step_done(t, e); return true;
    case CMD_TOOL_DONE: handle_tool_done(t, c, e); return true;
    case CMD_TOOL_ASKS: handle_tool_asks(t, c, e); return true;
    case CMD_CHECKED: callcheck_answered(t, c, e); return true;
    }
    must(!"command kind");
    return true;
}
