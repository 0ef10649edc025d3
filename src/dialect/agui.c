/* agui.c -- the AG-UI events of one segment. Every event and its members: docs/doors.md.
 *
 *   words      TEXT_MESSAGE_START CONTENT* END, one message id per step; a second text of the same
 *              step opens it again, after a blank line
 *   reasoning  REASONING_START MESSAGE_START CONTENT* MESSAGE_END END, begun by its first words
 *   calls      TOOL_CALL_START ARGS* (CUSTOM intent) END: proposed, not running; CUSTOM tool_start
 *              says that; TOOL_CALL_RESULT is the outcome
 *   the end    RUN_FINISHED (success, interrupt, cancelled) or RUN_ERROR, once
 *
 * Where two events stand at one place the first carries the place before it: a reader cut between
 * them is told too much and not too little. (Stock clients come back by their runId, and are given
 * a snapshot first.)
 */
#include "dialect/agui.h"

#include "base/id.h"
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "run/metrics.h"

struct agui {
    struct str segment;    /* the client's runId */
    uint64_t   verdicts;   /* those up to here were told before this stream */
    uint64_t   from;       /* model calls after this fact are told in this segment */
    uint64_t   status_seq; /* the head for which "Thinking..." was told */
    unsigned   step;       /* of the run, from 1: names its messages */
    unsigned   index;      /* outcomes told in this run */
    bool       older;
    bool       said;      /* words of this step were begun */
    bool       separate;  /* a blank line is due before the next of them */
    bool       reasoning; /* the reasoning at the place was begun: it has words */
};

static struct agui *agui(const struct encoder *e)
{
    _Static_assert(sizeof(struct agui) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static void start(struct encoder *e, const struct stream_start *s)
{
    agui(e)->segment = s->segment;
    agui(e)->older = s->older;
    agui(e)->verdicts = s->verdicts;
}

static void continues(struct encoder *e)
{
    agui(e)->from = e->seq;
}

/* The door says RUN_STARTED: it knows what else stands there. */
static void open_stream(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

/* --- names and values ------------------------------------------------------------------------- */

struct str agui_id(char out[AGUI_ID_MAX], const char *prefix, struct str of, unsigned n)
{
    return id_join(out, AGUI_ID_MAX, prefix, '-', of, n ? (int64_t)n : -1);
}

static void put_id(struct jsonw *w, const char *key, const char *prefix, struct str of, unsigned n)
{
    char id[AGUI_ID_MAX];
    jw_kstr(w, key, agui_id(id, prefix, of, n));
}

/* Of the step's words, or of its reasoning. */
static void message_id(const struct encoder *e, struct jsonw *w, const struct part *p)
{
    put_id(w, "messageId", p->type == STEP_REASONING ? "think" : "msg", e->run, agui(e)->step);
}

static void write_failure(struct jsonw *w, const struct call *c)
{
    bool       denied = c->finished->outcome == WORD_DENIED;
    struct str reason = c->decided ? c->decided->reason : STR_NONE;
    jw_obj(w);
    payload_error(w, "error", c);
    if (denied) jw_kbool(w, "denied", true);
    if (denied && reason.len) jw_kstr(w, "reason", reason);
    jw_end_obj(w);
}

void agui_content(struct jsonw *w, const char *key, const struct call *c)
{
    struct buf   text;
    struct jsonw inner;
    if (call_ok(c) || c->finished->outcome == WORD_DUPLICATE) {
        jw_kstr(w, key, c->finished->value.ptr ? c->finished->value : c->finished->text);
        return;
    }
    buf_init(&text, 0);
    jsonw_init(&inner, &text);
    write_failure(&inner, c);
    jw_kbuf(w, key, &text);
    buf_done(&text);
}

/* --- the step being spoken -------------------------------------------------------------------- */

/* An event that stands at the place with one more behind it. */
static bool begin_before(struct encoder *e, struct jsonw *w, const char *type)
{
    e->units--;
    bool told = event_begin_at(e, w, type);
    e->units++;
    return told;
}

static bool is_hidden(const struct part *p)
{
    return p->type == STEP_CALL && call_replies(p->tool);
}

static void begin_step(struct encoder *e, const struct part *first)
{
    (void)first;
    agui(e)->step++;
    agui(e)->said = agui(e)->separate = false;
}

static void begin_text(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    agui(e)->separate = agui(e)->said;
    agui(e)->said = true;
    if (!event_begin_at(e, &w, "TEXT_MESSAGE_START")) return;
    message_id(e, &w, p);
    jw_kstrz(&w, "role", "assistant");
    event_end(e, &w);
}

static void write_call(const struct encoder *e, struct jsonw *w, const struct part *p)
{
    jw_kstr(w, "toolCallId", p->call);
    jw_kstr(w, "toolCallName", p->tool);
    put_id(w, "parentMessageId", "msg", e->run, agui(e)->step);
}

static void part_begin(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    switch (p->type) {
    case STEP_TEXT: begin_text(e, p); return;
    /* Often nothing but a provider's signature: its first words begin it. Only a client that was
     * told of a beginning has the place right behind it. */
    case STEP_REASONING: agui(e)->reasoning = e->quiet && !e->skip; return;
    case STEP_CALL:
        if (is_hidden(p) || !event_begin_at(e, &w, "TOOL_CALL_START")) return;
        write_call(e, &w, p);
        event_end(e, &w);
        return;
    }
}

static void begin_reasoning(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (agui(e)->reasoning) return;
    agui(e)->reasoning = true;
    if (begin_before(e, &w, "REASONING_START")) {
        message_id(e, &w, p);
        event_end(e, &w);
    }
    if (!event_begin_at(e, &w, "REASONING_MESSAGE_START")) return;
    message_id(e, &w, p);
    jw_kstrz(&w, "role", "reasoning");
    event_end(e, &w);
}

/* Its id is the place after the bytes, which the caller only counts when this has returned. */
static void delta(struct encoder *e, const struct part *p, struct str text, size_t len)
{
    static const char *const TYPES[] = { "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT",
                                         "TOOL_CALL_ARGS" };
    struct jsonw             w;
    e->units += len;
    if (event_begin_at(e, &w, TYPES[p->type])) {
        if (p->type == STEP_CALL) jw_kstr(&w, "toolCallId", p->call);
        else message_id(e, &w, p);
        jw_kstr(&w, "delta", text);
        event_end(e, &w);
    }
    e->units -= len;
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    static struct buf spaced; /* loop thread only; kept */
    (void)last;
    if (is_hidden(p) || !b.len) return b.len;
    if (p->type == STEP_REASONING) begin_reasoning(e, p);
    bool blank = p->type == STEP_TEXT && agui(e)->separate;
    if (p->type == STEP_TEXT) agui(e)->separate = false;
    if (!blank || event_silent(e)) {
        delta(e, p, b, b.len);
        return b.len;
    }
    buf_clear(&spaced);
    buf_lit(&spaced, "\n\n");
    buf_str(&spaced, b);
    if (spaced.err) e->out->err = spaced.err;
    else delta(e, p, buf_view(&spaced), b.len);
    return b.len;
}

void agui_write_custom(struct jsonw *w, const char *name)
{
    jw_kstrz(w, "name", name);
    jw_key(w, "value");
    jw_obj(w);
}

static void end_custom(struct encoder *e, struct jsonw *w)
{
    jw_end_obj(w);
    event_end(e, w);
}

static void write_intent(struct encoder *e, struct jsonw *w, const struct part *p)
{
    agui_write_custom(w, "intent_confirmation");
    jw_kstr(w, "message", p->intent);
    jw_kstr(w, "toolName", p->tool);
    jw_kstr(w, "toolCallId", p->call);
    end_custom(e, w);
    metrics_intent_told(p->call);
}

static void end_call(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (is_hidden(p)) return;
    if (p->intent.ptr && begin_before(e, &w, "CUSTOM")) write_intent(e, &w, p);
    if (!event_begin_at(e, &w, "TOOL_CALL_END")) return;
    jw_kstr(&w, "toolCallId", p->call);
    event_end(e, &w);
}

static void end_reasoning(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (!agui(e)->reasoning) return;
    agui(e)->reasoning = false;
    if (begin_before(e, &w, "REASONING_MESSAGE_END")) {
        message_id(e, &w, p);
        event_end(e, &w);
    }
    if (!event_begin_at(e, &w, "REASONING_END")) return;
    message_id(e, &w, p);
    event_end(e, &w);
}

static void part_end(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    switch (p->type) {
    case STEP_CALL: end_call(e, p); return;
    case STEP_REASONING: end_reasoning(e, p); return;
    case STEP_TEXT:
        if (!event_begin_at(e, &w, "TEXT_MESSAGE_END")) return;
        message_id(e, &w, p);
        event_end(e, &w);
        return;
    }
}

/* --- facts ------------------------------------------------------------------------------------ */

static struct agui_ending ending_at(const struct encoder *e, const struct thread *t,
                                    const struct run *r, uint64_t seq)
{
    return (
        struct agui_ending){ .names = { thread_id(t), agui(e)->segment, agui(e)->older, e->link },
                             .thread = t,
                             .run = r,
                             .seq = seq,
                             .from = agui(e)->from };
}

static bool by(const struct fact *a, uint64_t seq)
{
    return a && a->seq <= seq;
}

/* Something happened that the gate had waited for. */
static bool went_on(const struct encoder *e, const struct fold *f, uint64_t seq)
{
    for (uint64_t s = seq + 1; s <= e->horizon; s++)
        if (!fact_is_aside(f->facts[s - 1])) return true;
    return false;
}

static void at_gate(struct encoder *e, const struct thread *t, const struct run *r,
                    const struct fact *f)
{
    struct jsonw       w;
    struct agui_ending x = ending_at(e, t, r, f->seq);
    if (!r || !run_waited_at(thread_fold(t), r, f->seq)) return;
    if (e->mode == STREAM_RUN && went_on(e, thread_fold(t), f->seq)) {
        event_leave_out(e); /* a unit all the same, so that places stay the same */
        return;
    }
    if (!event_begin(e, &w, "RUN_FINISHED")) return;
    agui_write_ending(&w, &x, true);
    event_end(e, &w);
    e->ended = e->mode == STREAM_RUN;
}

static void told_call(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (event_begin(e, &w, "TOOL_CALL_START")) {
        write_call(e, &w, p);
        event_end(e, &w);
    }
    if (event_begin(e, &w, "TOOL_CALL_ARGS")) {
        jw_kstr(&w, "toolCallId", p->call);
        jw_kstr(&w, "delta", p->text);
        event_end(e, &w);
    }
    if (p->intent.ptr && event_begin(e, &w, "CUSTOM")) write_intent(e, &w, p);
    if (event_begin(e, &w, "TOOL_CALL_END")) {
        jw_kstr(&w, "toolCallId", p->call);
        event_end(e, &w);
    }
}

/* A server action is a call without a step. */
static void begin_run(struct encoder *e, const struct fact *f)
{
    agui(e)->index = agui(e)->step = 0;
    for (size_t i = 0; i < f->parts_count; i++) told_call(e, &f->parts[i]);
}

static void told_result(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    unsigned     index = agui(e)->index++;
    if (!event_begin(e, &w, "TOOL_CALL_RESULT")) return;
    put_id(&w, "messageId", "res", c->id, 0);
    jw_kstr(&w, "toolCallId", c->id);
    jw_kstrz(&w, "role", "tool");
    agui_content(&w, "content", c);
    jw_key(&w, "metadata");
    jw_obj(&w);
    jw_key(&w, "parley");
    jw_obj(&w);
    jw_kint(&w, "index", index);
    jw_kstrz(&w, "outcome", word_name(c->finished->outcome));
    jw_kbool(&w, "ok", call_ok(c));
    jw_end_obj(&w);
    jw_end_obj(&w);
    event_end(e, &w);
}

/* The step was stopped or failed: its calls came to nothing, and say so; a client would take them
 * for its own to run. */
static void told_cut(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    bool         cut = str_is(f->stop, "cancelled") || str_is(f->stop, "error");
    for (size_t i = 0; cut && i < f->parts_count; i++) {
        const struct part *p = &f->parts[i];
        if (p->type != STEP_CALL || is_hidden(p) || !event_begin(e, &w, "TOOL_CALL_RESULT"))
            continue;
        put_id(&w, "messageId", "res", p->call, 0);
        jw_kstr(&w, "toolCallId", p->call);
        jw_kstrz(&w, "role", "tool");
        jw_kstrz(&w, "content", "{\"error\":\"The answer was cut off; the call was not run.\"}");
        event_end(e, &w);
    }
}

/* This client's own answer it knows; one that was withdrawn is told by what comes of it. */
static void told_decided(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    bool         own = str_is(f->via, "ag-ui") && str_eq(f->answer_id, agui(e)->segment);
    /* what a grant decided was never asked */
    bool         quiet = !f->id.len || (f->outcome == WORD_CANCELLED && !f->by.len);
    if (own || quiet || f->seq <= agui(e)->verdicts) {
        event_leave_out(e);
        return;
    }
    if (!event_begin(e, &w, "CUSTOM")) return;
    agui_write_verdict(&w, f, NULL);
    event_end(e, &w);
}

static void told_started(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (c->client || !event_begin(e, &w, "CUSTOM")) return;
    agui_write_custom(&w, "tool_start");
    jw_kstr(&w, "toolCallId", agui_root(c)->id);
    end_custom(e, &w);
}

/* What a person made of a call, before what came of it. */
static void told_proposed(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!c->instead_of || !event_begin(e, &w, "CUSTOM")) return;
    agui_write_custom(&w, "call_replaced");
    jw_kstr(&w, "toolCallId", agui_root(c)->id);
    jw_kstr(&w, "by", f->by);
    jw_kraw(&w, "arguments", c->input);
    jw_kraw(&w, "changed", f->data.ptr ? f->data : STR("[]"));
    end_custom(e, &w);
}

/* What the page itself brought with this segment stands in its list already. */
static void told_finished(struct encoder *e, const struct fact *f, const struct call *c)
{
    bool own = str_is(f->via, "ag-ui") && str_eq(f->answer_id, agui(e)->segment);
    /* that of an edit is told with the call it stands for */
    if (call_replies(c->tool) || c->instead_of) return;
    if (!own) {
        told_result(e, c);
        return;
    }
    agui(e)->index++;
    event_leave_out(e);
}

static void told_suggestions(struct encoder *e, const struct run *r)
{
    struct jsonw w;
    if (!r->replies.ptr && !r->actions.ptr && !r->custom.ptr) return;
    if (!event_begin(e, &w, "CUSTOM")) return;
    agui_write_custom(&w, "suggestions");
    payload_suggestions(&w, r);
    if (r->custom.ptr) jw_kraw(&w, "custom_payload", r->custom);
    end_custom(e, &w);
}

static void told_end(struct encoder *e, const struct thread *t, const struct run *r,
                     const struct fact *f)
{
    struct jsonw       w;
    struct agui_ending x = ending_at(e, t, r, f->seq);
    if (f->outcome == WORD_COMPLETE) told_suggestions(e, r);
    if (!event_begin(e, &w, agui_ending_type(&x, false))) return;
    agui_write_ending(&w, &x, false);
    event_end(e, &w);
    e->ended = e->mode == STREAM_RUN;
}

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct call *c = f->call.ptr ? fold_call(thread_fold(t), f->call) : NULL;
    const struct run  *r = fold_run_at(thread_fold(t), f->seq);
    switch (f->kind) {
    case FACT_MESSAGE:
    case FACT_RETRY:
    case FACT_ACTION: begin_run(e, f); return;
    case FACT_STEP: told_cut(e, f); return;
    case FACT_DECIDED:
        if (c) told_decided(e, f);
        return;
    case FACT_STARTED:
        if (c) told_started(e, c);
        break;
    case FACT_FINISHED:
        if (c) told_finished(e, f, c);
        break;
    case FACT_ENDED:
        if (r) told_end(e, t, r, f);
        return;
    case FACT_PROPOSED:
        if (c) told_proposed(e, f, c);
        return;
    case FACT_ASKED: break;
    case FACT_RESUMED:
    case FACT_RESPONSE:
    case FACT_TOLD:
    case FACT_SUMMARY:
    UNTOLD_FACTS:
        return;
    }
    if (c) at_gate(e, t, r, f);
}

/* --- the head --------------------------------------------------------------------------------- */

static void status(struct encoder *e, const struct thread *t)
{
    struct jsonw w;
    if (!thread_thinking(t) || agui(e)->status_seq == thread_committed(t)) return;
    agui(e)->status_seq = thread_committed(t);
    if (!event_begin_live(e, &w, "CUSTOM")) return;
    agui_write_custom(&w, "status");
    jw_kstrz(&w, "message", "Thinking...");
    end_custom(e, &w);
}

static void progress(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "ACTIVITY_SNAPSHOT")) return;
    put_id(&w, "messageId", "act", c->id, 0);
    jw_kstrz(&w, "activityType", "tool_progress");
    jw_key(&w, "content");
    jw_obj(&w);
    jw_kstr(&w, "toolCallId", c->id);
    payload_progress(&w, c);
    if (c->progress_data.len) jw_kraw(&w, "data", c->progress_data);
    jw_end_obj(&w);
    event_end(e, &w);
}

static void news(struct encoder *e, const struct thread *t, const struct run *r)
{
    if (e->progress_told == thread_progress_no(t)) return;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_STARTED && by(c->started, e->horizon) &&
            c->progress_no > e->progress_told)
            progress(e, c);
    }
    e->progress_told = thread_progress_no(t);
}

/* Everything is told and the run still waits: an answer that moved nothing. No stream may hang on a
 * person. */
static void end_at_gate(struct encoder *e, const struct thread *t, const struct run *r)
{
    const struct fold *f = thread_fold(t);
    struct jsonw       w;
    struct agui_ending x = ending_at(e, t, r, e->horizon);
    if (e->mode != STREAM_RUN || event_silent(e) || !str_eq(r->id, e->run) || !e->horizon ||
        !run_waited_at(f, r, e->horizon))
        return;
    if (!event_begin_live(e, &w, "RUN_FINISHED")) return;
    agui_write_ending(&w, &x, true);
    event_end(e, &w);
    e->ended = true;
}

static void head(struct encoder *e, const struct thread *t)
{
    const struct run *r = thread_fold(t)->run;
    if (!run_live(r)) return;
    status(e, t);
    news(e, t, r);
    if (e->seq == thread_committed(t)) end_at_gate(e, t, r);
}

/* Words that were told cannot be taken back without a snapshot, which is the door's: the client
 * comes back with its runId and is given one. */
static void failed(struct encoder *e, const char *message, const char *code)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "RUN_ERROR")) return;
    jw_kstrz(&w, "message", message);
    jw_kstrz(&w, "code", code);
    event_end(e, &w);
}

static void reset(struct encoder *e, const struct thread *t)
{
    (void)t;
    failed(e, "Some words were lost; reconnect to have them told again.", "restarting");
    e->ended = true;
}

static void restart(struct encoder *e)
{
    failed(e, encoder_farewell(e), encoder_farewell_code(e));
}

static void close_stream(struct encoder *e)
{
    (void)e;
}

const struct dialect dialect_agui = {
    .name = "agui",
    .ids = true,
    .start = start,
    .continues = continues,
    .open = open_stream,
    .step_begin = begin_step,
    .part_begin = part_begin,
    .bytes = bytes,
    .part_end = part_end,
    .fact = fact,
    .head = head,
    .reset = reset,
    .restart = restart,
    .close = close_stream,
};
