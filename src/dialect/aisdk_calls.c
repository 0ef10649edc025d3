/* aisdk_calls.c -- a tool's call in the AI SDK's stream: intent, announcement, question, outcome,
 * progress. See aisdk_int.h; what a stream of this dialect may never look like is said in aisdk.c.
 *
 * In the native form a question is a chunk beside its call. In the adk form it is a call of its own
 * (adk_request_confirmation), in a step of its own, and the call it is about is announced when it
 * was decided.
 */
#include "dialect/aisdk_int.h"
#include "dialect/payload.h"
#include "dialect/uimessages.h"
#include "run/metrics.h"

#define CONFIRMATION "adk_request_confirmation"

/* --- announced, and asked about --------------------------------------------------------------- */

/* On every chunk of a server-run tool, except where a native approval must stay answerable;
 * and on a client's call that is over, so that no browser acts on it again. */
static bool provider_executed(const struct encoder *e, const struct call *c)
{
    if (c->client) return ai_known(e, c->finished);
    return !(ai(e)->native && c->asked);
}

static void say_intent(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!c->intent.len || !ai_chunk(e, &w, "data-intent")) return;
    jw_key(&w, "data");
    jw_obj(&w);
    jw_kstr(&w, "toolCallId", c->id);
    jw_kstr(&w, "toolName", c->tool);
    jw_kstr(&w, "message", c->intent);
    jw_end_obj(&w);
    jw_kbool(&w, "transient", true);
    event_end(e, &w);
    metrics_intent_told(c->id);
}

static void announce(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    ai(e)->said_in_step = true;
    if (!ai_chunk(e, &w, "tool-input-available")) return;
    jw_kstr(&w, "toolCallId", c->id);
    jw_kstr(&w, "toolName", c->tool);
    payload_input(&w, "input", c);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

/* A question that was answered before this stream could ask it, or in the past of a replay. Where
 * answers are told, so is the question they belong to. */
static bool is_past(const struct encoder *e, const struct call *c)
{
    return ai_known(e, c->decided) && (e->quiet_gates || e->mode == STREAM_RUN) && !ai(e)->whole;
}

static void ask_native(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai(e)->in_step) ai_start_step(e);
    ai_show_step(e);
    say_intent(e, c);
    announce(e, c);
    /* there is no chunk for "it was granted": the question itself is left out */
    ai(e)->hidden = is_past(e, c);
    if (ai_chunk(e, &w, "tool-approval-request")) {
        jw_kstr(&w, "approvalId", c->asked->id);
        jw_kstr(&w, "toolCallId", c->id);
        event_end(e, &w);
    }
    ai(e)->hidden = false;
}

static void ask_adk(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai(e)->asked_in_step) ai_finish_step(e);
    ai(e)->hidden = is_past(e, c);
    if (!ai(e)->in_step) ai_start_step(e);
    ai(e)->asked_in_step = true;
    ai_show_step(e);
    say_intent(e, c);
    if (ai_chunk(e, &w, "tool-input-start")) {
        jw_kstr(&w, "toolCallId", c->asked->id);
        jw_kstrz(&w, "toolName", CONFIRMATION);
        event_end(e, &w);
    }
    if (ai_chunk(e, &w, "tool-input-available")) {
        jw_kstr(&w, "toolCallId", c->asked->id);
        jw_kstrz(&w, "toolName", CONFIRMATION);
        uimessage_confirmation_input(&w, "input", c, c->asked);
        event_end(e, &w);
    }
    ai(e)->hidden = false;
}

/* A question in the middle of a call's work: for pages that know it. */
static void ask_in_between(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!ai_chunk(e, &w, "data-question")) return;
    jw_key(&w, "data");
    jw_obj(&w);
    jw_kstr(&w, "id", f->id);
    jw_kstr(&w, "toolCallId", c->id);
    jw_kstr(&w, "message", f->ask);
    jw_kraw(&w, "schema", f->schema);
    jw_end_obj(&w);
    jw_kbool(&w, "transient", true);
    event_end(e, &w);
}

void ai_asked(struct encoder *e, const struct fact *f, const struct call *c)
{
    if (asked_by_tool(f)) ask_in_between(e, f, c);
    else if (ai(e)->native) ask_native(e, c);
    else ask_adk(e, c);
}

/* The adk form shows the call only now, and never in the step of its confirmation. */
static void announce_adk(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (ai(e)->asked_in_step) ai_finish_step(e);
    if (!ai(e)->in_step) ai_start_step(e);
    must(!ai(e)->asked_in_step);
    ai_show_step(e);
    if (ai_chunk(e, &w, "tool-input-start")) {
        jw_kstr(&w, "toolCallId", c->id);
        jw_kstr(&w, "toolName", c->tool);
        if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
        event_end(e, &w);
    }
    if (!c->asked) say_intent(e, c);
    announce(e, c);
}

static void announce_native(struct encoder *e, const struct call *c)
{
    if (!ai(e)->in_step) ai_start_step(e); /* a server action: its call is a step of its own */
    ai_show_step(e);
    say_intent(e, c);
    announce(e, c);
}

void ai_started(struct encoder *e, const struct call *c)
{
    if (!ai(e)->native) announce_adk(e, c);
    else if (!c->asked) announce_native(e, c);
    else if (c->client) announce(e, c); /* the part is there; this lets the browser run it */
}

/* --- its outcome ------------------------------------------------------------------------------ */

static void outcome_output(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai_chunk(e, &w, "tool-output-available")) return;
    jw_kstr(&w, "toolCallId", c->id);
    payload_output(&w, "output", c);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

static void outcome_error(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai_chunk(e, &w, "tool-output-error")) return;
    jw_kstr(&w, "toolCallId", c->id);
    payload_error(&w, "errorText", c);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

/* A call that could not be run at all: input and error in one chunk. */
static void outcome_bad(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (ai(e)->asked_in_step) ai_finish_step(e);
    if (!ai(e)->in_step) ai_start_step(e);
    ai_show_step(e);
    if (!ai_chunk(e, &w, "tool-input-error")) return;
    jw_kstr(&w, "toolCallId", c->id);
    jw_kstr(&w, "toolName", c->tool);
    if (c->args) jw_kraw(&w, "input", c->input);
    else jw_kstr(&w, "input", c->input);
    jw_kstr(&w, "errorText", c->finished->text);
    jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

static void outcome_denied(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai_chunk(e, &w, "tool-output-denied")) return;
    jw_kstr(&w, "toolCallId", c->id);
    event_end(e, &w);
}

/* Every call of this step has its outcome: the step is over. */
static bool step_is_over(const struct fold *f, const struct call *c, uint64_t seq)
{
    for (size_t i = 0; i < f->call_count; i++) {
        const struct call *o = f->calls[i];
        if (o->step_seq != c->step_seq || o->run != c->run || o->gate == GATE_REPLY) continue;
        if (!o->finished || o->finished->seq > seq) return false;
    }
    return true;
}

/* A person let a question go and the run goes on without it (AG-UI's `cancelled`): an answer, as a
 * no is. What was stopped or superseded names nobody, and a program's call ends its run. */
static bool let_go(const struct fold *fold, const struct fact *decided)
{
    return decided && decided->outcome == WORD_CANCELLED && decided->by.len &&
           !fold_program_call(fold);
}

/* Stopped or left behind while it waited for a person or a browser: what follows is abort, or
 * nothing. */
static bool ends_unseen(const struct fold *fold, const struct call *c, const struct fact *f)
{
    return f->outcome == WORD_CANCELLED && (c->started ? c->client : c->asked != NULL) &&
           !let_go(fold, c->decided);
}

static void outcome(struct encoder *e, const struct fact *f, const struct call *c)
{
    if (!ai(e)->native && c->asked && !c->started) announce_adk(e, c);
    if (call_succeeded(c)) outcome_output(e, c);
    else if (f->outcome == WORD_DENIED && ai(e)->native) outcome_denied(e, c);
    else outcome_error(e, c);
}

void ai_finished(struct encoder *e, const struct fold *fold, const struct run *r,
                 const struct fact *f, const struct call *c)
{
    bool unbegun = f->outcome == WORD_CANCELLED && !c->started && !c->asked;
    if (c->gate == GATE_REPLY || ends_unseen(fold, c, f)) return;
    ai_start_turn(e, r);
    if (c->gate == GATE_BAD || unbegun) outcome_bad(e, c);
    else outcome(e, f, c);
    ai(e)->outcome_in_step |= ai(e)->in_step && !ai(e)->asked_in_step;
    if (step_is_over(fold, c, f->seq)) ai_finish_step(e);
}

/* --- answered, and under way ------------------------------------------------------------------ */

/* The answer as the confirmation's own output, so that its buttons go: in the adk form it is a tool
 * of its own. */
static void confirmation_output(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    if (!ai_chunk(e, &w, "tool-output-available")) return;
    jw_kstr(&w, "toolCallId", f->id);
    jw_key(&w, "output");
    jw_obj(&w);
    jw_kbool(&w, "confirmed", f->outcome == WORD_APPROVED);
    jw_end_obj(&w);
    event_end(e, &w);
}

void ai_decided(struct encoder *e, const struct fold *fold, const struct run *r,
                const struct fact *f)
{
    const struct fact *asked = fold_asked(fold, f->id);
    /* what a grant decided was never asked: nothing is open that it would open again */
    if ((f->outcome == WORD_CANCELLED && !let_go(fold, f)) || !f->id.len) return;
    ai_start_turn(e, r);
    if (ai(e)->whole && asked && !asked_by_tool(asked)) confirmation_output(e, f);
}

void ai_progress(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "tool-output-available")) return;
    jw_kstr(&w, "toolCallId", c->id);
    jw_key(&w, "output");
    jw_obj(&w);
    payload_progress(&w, c);
    if (c->progress_data.len) jw_kraw(&w, "data", c->progress_data);
    jw_end_obj(&w);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    jw_kbool(&w, "preliminary", true);
    event_end(e, &w);
}
