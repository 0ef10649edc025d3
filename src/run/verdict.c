/* verdict.c -- what people say of a call: yes, no, one yes of several, a grant, how it turned
 * out. */
#include "base/clock.h"
#include "run/edit.h"
#include "run/grant.h"
#include "run/handle.h"
#include "run/people.h"
#include "run/response.h"
#include "run/rules.h"
#include "run/spoken.h"
#include "tool/schema.h"

/* --- who may ------------------------------------------------------------------------------- */

/* Where only approvers may decide, the person whose conversation it is may not (unless they are
 * one). */
static bool not_approver(struct thread *t, struct command *c)
{
    suspicious(t, c, "not_approver");
    return refuse(t, c, 403, "not_approver", "This waits for somebody who may approve it.");
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
    if (call_is_copied(call, c->decide.echo_tool, c->decide.echo_args)) return false;
    suspicious(t, c, "args_mismatch");
    return refuse(t, c, 409, "args_mismatch", COMMAND_ARGS_MISMATCH);
}

/* --- answered before ------------------------------------------------------------------------ */

static enum word verdict_of(const struct command *c)
{
    if (c->decide.cancelled) return WORD_CANCELLED;
    return c->decide.confirmed ? WORD_APPROVED : WORD_DENIED;
}

/* A yes to other arguments, or worth more, is not the yes that is there. */
static bool is_other_answer(struct command *c, const struct call *call, const struct fact *verdict)
{
    if (c->decide.payload.len && !command_same_value(c, c->decide.payload, verdict->payload))
        return true;
    if (c->decide.input && !jv_equal(c->decide.input, call->args)) return true;
    return c->decide.grant && !verdict->grant.len;
}

/* The edit that is there, once more: what it was changed to is told again. */
static bool is_same_edit(const struct command *c, const struct call *call,
                         const struct fact *verdict)
{
    return verdict->outcome == WORD_REPLACED && c->decide.confirmed && !c->decide.grant &&
           c->decide.input && call->replaced_by &&
           jv_equal(c->decide.input, call->replaced_by->args);
}

static bool duplicate(struct thread *t, struct command *c, struct call *call,
                      const struct fact *verdict)
{
    accepted(t, c, call->run->id, verdict->seq);
    c->receipt.call = call;
    c->receipt.duplicate = true;
    return true;
}

static bool answered_before(struct thread *t, struct command *c, struct call *call,
                            const struct fact *verdict)
{
    enum word was = verdict->outcome;
    c->receipt.call = call;
    if (is_same_edit(c, call, verdict)) return duplicate(t, c, call, verdict);
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
    if (c->decide.confirmed && is_other_answer(c, call, verdict))
        return refuse(t, c, 409, "already_decided",
                      "This was already answered, with other content.");
    if ((was == WORD_APPROVED) != c->decide.confirmed)
        return refuse(t, c, 409, "already_decided",
                      was == WORD_APPROVED ? "This was already approved."
                                           : "This was already denied.");
    return duplicate(t, c, call, verdict);
}

static bool is_withdrawn(struct thread *t, struct command *c)
{
    return refuse(t, c, 409, "superseded",
                  "This question was withdrawn: the tool that asked it has ended.");
}

/* Nothing is left to decide under this id: a duplicate, or too late. */
static bool is_decided(struct thread *t, struct command *c, struct call *call)
{
    const struct fact *verdict = fold_verdict(&t->fold, c->id), *open = call_gate(call);
    if (verdict) return answered_before(t, c, call, verdict);
    return (!open || !str_eq(open->id, c->id)) && is_withdrawn(t, c);
}

/* --- a tool's own question ------------------------------------------------------------------ */

/* A form that is filled in must be the one that was asked for. What takes too long to compare is
 * the tool's to refuse. */
static bool is_misfit(struct thread *t, struct command *c, const struct fact *question)
{
    struct jv *schema, *given;
    struct buf why;
    if (!c->decide.confirmed || !question->schema.len) return false;
    /* a bare yes fills in nothing */
    bool       bare = !c->decide.payload.len || str_is(c->decide.payload, "null");
    struct str form = bare ? STR("{}") : c->decide.payload;
    buf_init(&why, 2048);
    bool read = json_parse(&c->arena, question->schema, &schema, NULL) == OK &&
                json_parse(&c->arena, form, &given, NULL) == OK;
    bool empty =
        read && bare && jv_get(schema, "properties") && jv_get(schema, "properties")->count;
    bool bad = read && (empty || schema_check(schema, given, &t->hub->judge, &why) == ERR_TYPE);
    if (empty) buf_lit(&why, "it is a form, and a yes alone fills in nothing of it");
    if (bad) {
        struct str m = arena_printf(&c->arena, "This is not what was asked for: " STR_FMT,
                                    STR_ARG(buf_view(&why)));
        refuse(t, c, 422, "malformed_answer", m.ptr ? m.ptr : "This is not what was asked for.");
    }
    buf_done(&why);
    return bad;
}

/* A question a tool asked in the middle of its work: the answer goes to the tool. One that went
 * with the process it ran in hears nothing; its call is ended next. */
static bool answer_question(struct thread *t, struct command *c, struct call *call, enum err *e)
{
    if (!call->job && !call_at_rest(call)) return is_withdrawn(t, c);
    if (is_misfit(t, c, call->question)) return true;
    uint64_t seq = t->fold.count + 1;
    *e = end_gate(t, call, c, verdict_of(c));
    if (!*e) jobs_answer(call, c->decide.confirmed, c->decide.payload);
    if (!*e) *e = response_add(t, c, call->run->id, STR_NONE);
    accepted(t, c, call->run->id, seq);
    c->receipt.call = call;
    return true;
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

static struct ballot ballot_of(const struct thread *t, const struct fact *asked)
{
    return (struct ballot){ asked->who, t->owner, asked->at_ms, clock_wall_ms() };
}

/* The yeses that are there, but for `but`'s. A vote counts by the roles that its voter has had ever
 * since. */
static size_t voters(const struct thread *t, struct arena *a, const struct fact *asked,
                     struct str but, struct voter out[VOTES_MAX])
{
    const struct people *known = t->hub->setup.people;
    const struct fact   *votes[VOTES_MAX];
    size_t               n = approval_votes(&t->fold, asked, votes), k = 0;
    for (size_t i = 0; i < n; i++)
        if (!str_eq(votes[i]->by, but))
            out[k++] = (struct voter){ votes[i]->by,
                                       people_still(known, a, votes[i]->by, votes[i]->roles) };
    return k;
}

/* Would this yes, with those that are there, be enough? */
static bool completes(const struct thread *t, struct command *c, const struct fact *asked)
{
    struct voter  yes[VOTES_MAX + 1];
    struct ballot b = ballot_of(t, asked);
    size_t        n = voters(t, &c->arena, asked, c->by, yes);
    yes[n++] = (struct voter){ c->by, c->roles };
    return rules_enough(&b, yes, n);
}

/* In the name of whose yes was the last that is needed: by the clock, they did nothing now. */
static bool decide_by_votes(struct thread *t, const struct call *call, enum err *e)
{
    const struct fact *asked = call->asked;
    struct voter       yes[VOTES_MAX];
    struct ballot      b = ballot_of(t, asked);
    size_t             n = voters(t, &t->batch, asked, STR_NONE, yes);
    if (!n || !rules_enough(&b, yes, n)) return false;
    while (n > 1 && rules_enough(&b, yes, n - 1)) n--;
    struct fact f = { .kind = FACT_DECIDED,
                      .id = asked->id,
                      .call = call->id,
                      .outcome = WORD_APPROVED,
                      .by = yes[n - 1].name,
                      .roles = yes[n - 1].roles,
                      .via = STR("clock") };
    *e = thread_add(t, &f);
    return true;
}

bool verdict_by_votes(struct thread *t, enum err *e)
{
    const struct run *r = t->fold.run;
    if (!run_live(r) || r->phase != RUN_CALLS || r->stopping) return false;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->asked && c->asked->who.ptr && call_gate(c) == c->asked && decide_by_votes(t, c, e))
            return true;
    }
    return false;
}

/* One yes of several: it is taken, and more are needed. */
static bool is_vote(struct thread *t, struct command *c, struct call *call, enum err *e)
{
    const struct fact *asked = fold_asked(&t->fold, c->id);
    if (!c->decide.confirmed || !asked->who.ptr || completes(t, c, asked)) return false;
    if (c->decide.grant) {
        suspicious(t, c, "grant_not_offered");
        return refuse(t, c, 422, "grant_not_offered",
                      "No grant is offered where several people have to say yes.");
    }
    if (!has_voted(t, asked, c->by)) return add_vote(t, c, call, WORD_APPROVED, e);
    suspicious(t, c, "voted_before");
    accepted(t, c, call->run->id, asked->seq);
    c->receipt.duplicate = true;
    c->receipt.call = call;
    return true;
}

/* One's own vote is one's own, also when one may not give it any more. */
bool verdict_unvote(struct thread *t, struct command *c, enum err *e)
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
    c->decide.opened.id = open.id;
    c->decide.opened.shown = open.shown;
    c->decide.opened.amount = open.amount;
    return false;
}

/* Who may was looked at where the grant was found; by nobody: it ended by itself, `via` says
 * why. */
bool verdict_revoke(struct thread *t, struct command *c, enum err *e)
{
    struct fact f = { .kind = FACT_REVOKED, .grant = c->id, .by = c->by, .via = c->via };
    uint64_t    seq = t->fold.count + 1;
    *e = c->by.len ? grant_revoke(t, c->id) : grant_end(t, c->id, c->via);
    if (!*e) *e = thread_add(t, &f);
    accepted(t, c, STR_NONE, seq);
    return true;
}

/* --- yes or no ------------------------------------------------------------------------------- */

/* Its server has not listed it yet since the start. The yes is saved; whether it still holds is
 * looked at before the start. */
static bool is_expected(const struct thread *t, const struct call *call)
{
    struct registry *r = t->hub->setup.registry;
    if (registry_find(r, call->tool)) return false;
    registry_look(r, call->tool);
    return registry_expects(r, call->tool);
}

/* Said in words, and the code is not (any more) the one. */
static bool wrong_words(struct thread *t, struct command *c, const struct call *call)
{
    if (!c->decide.code.ptr || spoken_fit(call, c->decide.code)) return false;
    suspicious(t, c, "wrong_code");
    return refuse(t, c, 409, "wrong_code", "That code does not decide this question.");
}

bool verdict_decide(struct thread *t, struct command *c, enum err *e)
{
    struct call *call = fold_confirmation(&t->fold, c->id);
    c->decide.opened.id = c->decide.opened.shown = STR_NONE;
    if (is_forged(t, c, call)) return true;
    if (is_decided(t, c, call)) return true;
    if (wrong_words(t, c, call)) return true;
    if (call_questioned(call, c->id)) return answer_question(t, c, call, e);
    uint64_t seq = t->fold.count + 1;
    bool     holds = true;
    if (c->decide.confirmed && !is_expected(t, call) && (*e = approval_holds(t, call, &holds)))
        return true;
    if (!holds) {
        if (!(*e = end_gate(t, call, c, WORD_CANCELLED)))
            *e = end_call(
                t, call, WORD_FAILED,
                STR("{\"error\":\"The tool was changed or removed since it was asked for\"}"));
        return refuse(t, c, 410, "tool_gone",
                      "The tool was changed or removed since this was asked. Nothing was run.");
    }
    if (c->decide.input && c->decide.confirmed && edit_handle(t, c, call, e)) return true;
    if (is_vote(t, c, call, e) || is_overgranted(t, c, call)) return true;
    *e = end_gate(t, call, c, verdict_of(c));
    accepted(t, c, call->run->id, seq);
    if (!*e) *e = response_add(t, c, call->run->id, STR_NONE);
    return true;
}

void verdict_refused(struct thread *t, struct command *c)
{
    struct call *call = fold_confirmation(&t->fold, c->id);
    if (!is_forged(t, c, call) && !is_decided(t, c, call) && c->decide.confirmed && c->decide.input)
        (void)edit_refused(t, c, call);
}

/* --- how it turned out ------------------------------------------------------------------------ */

/* Who may say how it turned out is who may have it run: of what ran by a grant the giver, and
 * whoever a rule would ask. A requester who says "it did not happen" would have the grant back. */
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

bool verdict_settle(struct thread *t, struct command *c, enum err *e)
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
