/* aisdk.c -- the AI SDK UI message stream for major 6 and 7 clients, in both
 * approval forms: native (tool-approval-request) and adk (adk_request_confirmation
 * as a client tool of its own). Only the baseline chunk set, no extra members.
 *
 * Shapes that make real clients loop or stall are impossible here, and asserted:
 *   - every model call is a step; words never follow a tool outcome in one step;
 *   - a stream that waits for somebody ends: finish-step, finish, [DONE];
 *   - a confirmation (adk) stands in a step without its original call;
 *   - a turn does not end on a bare completed tool step: an empty text closes it;
 *   - no stream is empty: it opens with start, and ends with an outcome, words or a question.
 *
 *   turn:  start ( start-step ... finish-step )* finish | abort | error  [DONE]
 * A turn that was finished at a gate begins again with the same message id. Where one turn is one
 * run (`whole`: the documents' BIDI client closes its stream at [DONE] and opens none for the
 * answer) that finish and the second start are left out, and the answer is told as the
 * confirmation's own output.
 *
 * Two things are kept apart. What the log tells (in_turn, in_step) is the same for
 * every reader and is what places count. What this stream's client has seen
 * (shown_turn, shown_step) may be less: a replay, or an answer that came before the
 * question could be told, passes over gates that are over as one message, without
 * the finish and the second start. Such chunks are counted and left out.
 */
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/uimessages.h"
#include "run/metrics.h"

#define CONFIRMATION "adk_request_confirmation"

struct ai {
    bool     native, whole; /* as the reader wants it: stream_start */
    /* between start and finish, start-step and finish-step, as the log has it */
    bool     in_turn, in_step;
    bool     outcome_in_step; /* a tool outcome was told in this step: no words may follow in it */
    bool     said_in_step;    /* words or a call stand in this step: the client keeps it */
    bool     reasoning_open;  /* the reasoning part at the place was begun: it has words */
    bool     asked_in_step;   /* adk: this step holds confirmations */
    bool     shown_turn, shown_step; /* the same as this stream's client has it */
    bool     hidden;                 /* a gate that is over is being passed: counted, not shown */
    unsigned texts;                  /* names the text parts */
};

static struct ai *ai(const struct encoder *e)
{
    _Static_assert(sizeof(struct ai) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static void start(struct encoder *e, const struct stream_start *s)
{
    ai(e)->native = s->native;
    ai(e)->whole = s->whole;
}

/* A new stream, whatever the one before it showed. */
static void continues(struct encoder *e)
{
    ai(e)->shown_turn = ai(e)->shown_step = false;
}

/* --- turns and steps ----------------------------------------------------------------------- */

/* A chunk that counts; false: write nothing. */
static bool chunk(struct encoder *e, struct jsonw *w, const char *type)
{
    if (!ai(e)->hidden) return event_begin(e, w, type);
    event_leave_out(e);
    return false;
}

/* One without members, when the client is to see it. */
static void edge(struct encoder *e, const char *type, bool shown)
{
    struct jsonw w;
    if (!shown) event_leave_out(e);
    else if (event_begin(e, &w, type)) event_end(e, &w);
}

static void start_turn(struct encoder *e, const struct run *r)
{
    struct jsonw w;
    if (ai(e)->in_turn || !r) return;
    ai(e)->in_turn = true;
    if (ai(e)->shown_turn) {
        event_leave_out(e);
        return;
    }
    ai(e)->shown_turn = true;
    if (!event_begin(e, &w, "start")) return;
    jw_kstr(&w, "messageId", r->id);
    event_end(e, &w);
}

static void note_step(struct encoder *e)
{
    must(ai(e)->in_turn && !ai(e)->in_step);
    ai(e)->in_step = true;
    ai(e)->outcome_in_step = ai(e)->asked_in_step = ai(e)->said_in_step = false;
}

static void start_step(struct encoder *e)
{
    note_step(e);
    edge(e, "start-step", !ai(e)->hidden);
    if (!ai(e)->hidden) ai(e)->shown_step = true;
}

/* In a step whose beginning was left out or lies before this stream: it is opened now, without
 * counting. */
static void show_step(struct encoder *e)
{
    struct jsonw w;
    if (!ai(e)->in_step || ai(e)->shown_step || ai(e)->hidden) return;
    ai(e)->shown_step = true;
    if (event_begin_live(e, &w, "start-step")) event_end(e, &w);
}

static void finish_step(struct encoder *e)
{
    if (!ai(e)->in_step) return;
    ai(e)->in_step = false;
    edge(e, "finish-step", ai(e)->shown_step);
    ai(e)->shown_step = false;
}

/* `r`: it is over, and what it took is told with it; NULL: it only waits. */
static void finish_turn(struct encoder *e, const struct run *r, const char *reason)
{
    struct jsonw w;
    must(!ai(e)->in_step && !ai(e)->shown_step);
    ai(e)->in_turn = false;
    if (ai(e)->hidden) {
        event_leave_out(e);
        return;
    }
    ai(e)->shown_turn = false;
    if (!event_begin(e, &w, "finish")) return;
    jw_kstrz(&w, "finishReason", reason);
    if (r && payload_counted(r)) {
        jw_key(&w, "messageMetadata");
        jw_obj(&w);
        payload_usage(&w, r);
        jw_end_obj(&w);
    }
    event_end(e, &w);
}

/* The end of a turn on its carrier. A stream of one run is over; a thread's goes on. */
static void end_of_turn(struct encoder *e)
{
    if (event_silent(e)) return;
    if (e->mode == STREAM_RUN) e->ended = true;
    else event_raw(e, STR("[DONE]"));
}

/* A stream of one run opens with start, wherever in the run it begins. */
static void open_stream(struct encoder *e, const struct thread *t)
{
    struct jsonw w;
    (void)t;
    if (e->mode != STREAM_RUN || ai(e)->shown_turn || !event_begin_live(e, &w, "start")) return;
    ai(e)->shown_turn = true;
    jw_kstr(&w, "messageId", e->run);
    event_end(e, &w);
}

/* --- the step being spoken ----------------------------------------------------------------- */

/* The input is shown while it grows only where no gate can come, and not in the adk form, where the
 * call is announced later. */
static bool is_streamed(const struct encoder *e, const struct part *p)
{
    return p->type != STEP_CALL || (p->shown && ai(e)->native);
}

/* A step that begins with a call which is told by its facts is opened by them. */
static void begin_step(struct encoder *e, const struct part *first)
{
    struct jsonw w;
    if (!first || !is_streamed(e, first)) return;
    note_step(e);
    ai(e)->shown_step = true;
    if (event_begin_at(e, &w, "start-step")) event_end(e, &w);
}

/* Words, or an input that is shown, after such a call: the step is opened by them. It carries the
 * place before them, so that a client cut between the two is told too much and not too little. */
static void ensure_step(struct encoder *e)
{
    struct jsonw w;
    if (!ai(e)->in_step) note_step(e);
    if (ai(e)->shown_step) return;
    ai(e)->shown_step = true;
    e->units--;
    if (event_begin_at(e, &w, "start-step")) event_end(e, &w);
    e->units++;
}

/* "t1", "r2": by hand, because every delta carries it. */
static void text_id(const struct encoder *e, const struct part *p, struct jsonw *w)
{
    char     id[12], *at = id + sizeof id;
    unsigned n = ai(e)->texts;
    do *--at = (char)('0' + n % 10);
    while (n /= 10);
    *--at = p->type == STEP_TEXT ? 't' : 'r';
    jw_kstr(w, "id", str_n(at, (size_t)(id + sizeof id - at)));
}

static void text_edge(struct encoder *e, const struct part *p, const char *text,
                      const char *reasoning)
{
    struct jsonw w;
    if (!event_begin_at(e, &w, p->type == STEP_TEXT ? text : reasoning)) return;
    text_id(e, p, &w);
    event_end(e, &w);
}

static void begin_call(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (!is_streamed(e, p)) return;
    ensure_step(e);
    ai(e)->said_in_step = true;
    if (!event_begin_at(e, &w, "tool-input-start")) return;
    jw_kstr(&w, "toolCallId", p->call);
    jw_kstr(&w, "toolName", p->tool);
    if (!p->client) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

static void begin_words(struct encoder *e, const struct part *p)
{
    ai(e)->said_in_step = true;
    text_edge(e, p, "text-start", "reasoning-start");
}

/* Reasoning is often nothing but a provider's signature: it is begun by its first words. Only a
 * client that was told of a beginning has the place right behind it. */
static void part_begin(struct encoder *e, const struct part *p)
{
    if (p->type == STEP_CALL) {
        begin_call(e, p);
        return;
    }
    ensure_step(e);
    must(!ai(e)->outcome_in_step && !ai(e)->asked_in_step);
    ai(e)->texts++;
    ai(e)->reasoning_open = p->type == STEP_REASONING && e->quiet && !e->skip;
    ai(e)->said_in_step |= ai(e)->reasoning_open;
    if (p->type == STEP_TEXT) begin_words(e, p);
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    struct jsonw w;
    (void)last;
    if (!is_streamed(e, p)) return b.len;
    if (p->type == STEP_REASONING && b.len && !ai(e)->reasoning_open) {
        ai(e)->reasoning_open = true;
        begin_words(e, p);
    }
    static const char *const TYPES[] = { "text-delta", "reasoning-delta", "tool-input-delta" };
    e->units += b.len;
    if (event_begin_at(e, &w, TYPES[p->type])) {
        if (p->type == STEP_CALL) {
            jw_kstr(&w, "toolCallId", p->call);
            jw_kstr(&w, "inputTextDelta", b);
        } else {
            text_id(e, p, &w);
            jw_kstr(&w, "delta", b);
        }
        event_end(e, &w);
    }
    e->units -= b.len;
    return b.len;
}

static void part_end(struct encoder *e, const struct part *p)
{
    if (p->type == STEP_TEXT || (p->type == STEP_REASONING && ai(e)->reasoning_open))
        text_edge(e, p, "text-end", "reasoning-end");
    ai(e)->reasoning_open = false;
}

/* --- calls ------------------------------------------------------------------------------------ */

static bool known(const struct encoder *e, const struct fact *f)
{
    return f && f->seq <= e->horizon;
}

/* On every chunk of a server-run tool, except where a native approval must stay answerable;
 * and on a client's call that is over, so that no browser acts on it again. */
static bool provider_executed(const struct encoder *e, const struct call *c)
{
    if (c->client) return known(e, c->finished);
    return !(ai(e)->native && c->asked);
}

static void say_intent(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!c->intent.len || !chunk(e, &w, "data-intent")) return;
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
    if (!chunk(e, &w, "tool-input-available")) return;
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
    return known(e, c->decided) && (e->quiet_gates || e->mode == STREAM_RUN) && !ai(e)->whole;
}

static void ask_native(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai(e)->in_step) start_step(e);
    show_step(e);
    say_intent(e, c);
    announce(e, c);
    /* there is no chunk for "it was granted": the question itself is left out */
    ai(e)->hidden = is_past(e, c);
    if (chunk(e, &w, "tool-approval-request")) {
        jw_kstr(&w, "approvalId", c->asked->id);
        jw_kstr(&w, "toolCallId", c->id);
        event_end(e, &w);
    }
    ai(e)->hidden = false;
}

static void ask_adk(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!ai(e)->asked_in_step) finish_step(e);
    ai(e)->hidden = is_past(e, c);
    if (!ai(e)->in_step) start_step(e);
    ai(e)->asked_in_step = true;
    show_step(e);
    say_intent(e, c);
    if (chunk(e, &w, "tool-input-start")) {
        jw_kstr(&w, "toolCallId", c->asked->id);
        jw_kstrz(&w, "toolName", CONFIRMATION);
        event_end(e, &w);
    }
    if (chunk(e, &w, "tool-input-available")) {
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
    if (!chunk(e, &w, "data-question")) return;
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

static void told_asked(struct encoder *e, const struct fact *f, const struct call *c)
{
    if (asked_by_tool(f)) ask_in_between(e, f, c);
    else if (ai(e)->native) ask_native(e, c);
    else ask_adk(e, c);
}

/* The adk form shows the call only now, and never in the step of its confirmation. */
static void announce_adk(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (ai(e)->asked_in_step) finish_step(e);
    if (!ai(e)->in_step) start_step(e);
    must(!ai(e)->asked_in_step);
    show_step(e);
    if (chunk(e, &w, "tool-input-start")) {
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
    if (!ai(e)->in_step) start_step(e); /* a server action: its call is a step of its own */
    show_step(e);
    say_intent(e, c);
    announce(e, c);
}

static void told_started(struct encoder *e, const struct call *c)
{
    if (!ai(e)->native) announce_adk(e, c);
    else if (!c->asked) announce_native(e, c);
    else if (c->client) announce(e, c); /* the part is there; this lets the browser run it */
}

static void outcome_output(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!chunk(e, &w, "tool-output-available")) return;
    jw_kstr(&w, "toolCallId", c->id);
    payload_output(&w, "output", c);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

static void outcome_error(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!chunk(e, &w, "tool-output-error")) return;
    jw_kstr(&w, "toolCallId", c->id);
    payload_error(&w, "errorText", c);
    if (provider_executed(e, c)) jw_kbool(&w, "providerExecuted", true);
    event_end(e, &w);
}

/* A call that could not be run at all: input and error in one chunk. */
static void outcome_bad(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (ai(e)->asked_in_step) finish_step(e);
    if (!ai(e)->in_step) start_step(e);
    show_step(e);
    if (!chunk(e, &w, "tool-input-error")) return;
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
    if (!chunk(e, &w, "tool-output-denied")) return;
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

static void told_finished(struct encoder *e, const struct fold *fold, const struct run *r,
                          const struct fact *f, const struct call *c)
{
    bool unbegun = f->outcome == WORD_CANCELLED && !c->started && !c->asked;
    if (c->gate == GATE_REPLY || ends_unseen(fold, c, f)) return;
    start_turn(e, r);
    if (c->gate == GATE_BAD || unbegun) outcome_bad(e, c);
    else outcome(e, f, c);
    ai(e)->outcome_in_step |= ai(e)->in_step && !ai(e)->asked_in_step;
    if (step_is_over(fold, c, f->seq)) finish_step(e);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Something happened after this fact that the gate had waited for. */
static bool went_on(const struct encoder *e, const struct fold *f, uint64_t seq)
{
    for (uint64_t s = seq + 1; s <= e->horizon; s++) {
        enum fact_kind k = f->facts[s - 1]->kind;
        if (k != FACT_RESULT && k != FACT_SETTLED && k != FACT_LATE && k != FACT_HANDED &&
            k != FACT_CREATED && !fact_is_note(k))
            return true;
    }
    return false;
}

/* A text part with nothing in it: enough for the client to see that the turn went on after the
 * tool. */
static void empty_text(struct encoder *e)
{
    struct jsonw w;
    char         id[24];
    snprintf(id, sizeof id, "t%u", ++ai(e)->texts);
    if (chunk(e, &w, "text-start")) {
        jw_kstrz(&w, "id", id);
        event_end(e, &w);
    }
    if (chunk(e, &w, "text-end")) {
        jw_kstrz(&w, "id", id);
        event_end(e, &w);
    }
}

/* Everybody who is waited for is asked by a tool at work: nothing in the message is theirs to
 * answer. */
static bool only_tools_ask(const struct fold *f, const struct run *r, uint64_t seq)
{
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++) {
        const struct call         *c = f->calls[i];
        const struct confirmation *k = c->step_seq <= seq ? call_open_at(c, seq) : NULL;
        bool                       offered = c->client && c->started && c->started->seq <= seq &&
                       !(c->finished && c->finished->seq <= seq);
        if (offered || (k && !asked_by_tool(k->asked))) return false;
    }
    return true;
}

/* A client that sends by itself when the last step has all its answers would do so for ever: its
 * call was granted, and has no outcome. */
static void leave_step(struct encoder *e)
{
    start_step(e);
    empty_text(e);
    finish_step(e);
}

/* The run waits for somebody: the turn is over until the answer. A gate that is over when it is
 * told is passed, where the stream goes on as one message. */
static void at_gate(struct encoder *e, const struct fold *fold, const struct run *r,
                    const struct fact *f)
{
    if (!r || !run_waited_at(fold, r, f->seq)) return;
    finish_step(e);
    ai(e)->hidden =
        ai(e)->whole || ((e->quiet_gates || e->mode == STREAM_RUN) && went_on(e, fold, f->seq));
    if (ai(e)->in_turn && only_tools_ask(fold, r, f->seq)) leave_step(e);
    finish_turn(e, NULL, "tool-calls");
    if (!ai(e)->hidden) end_of_turn(e);
    ai(e)->hidden = false;
}

static void payload_part(struct encoder *e, const struct run *r)
{
    struct jsonw w;
    if (!event_begin(e, &w, "data-payload")) return;
    jw_key(&w, "data");
    jw_obj(&w);
    payload_suggestions(&w, r);
    if (r->custom.ptr) jw_kraw(&w, "custom_payload", r->custom);
    jw_end_obj(&w);
    event_end(e, &w);
}

/* Leaves the last step so that no client sends by itself again. */
static void close_steps(struct encoder *e, const struct run *r, bool payload)
{
    bool bare = !ai(e)->in_step || ai(e)->outcome_in_step || ai(e)->asked_in_step;
    if (bare) {
        finish_step(e);
        start_step(e);
    }
    show_step(e);
    if (!ai(e)->said_in_step) empty_text(e);
    must(!ai(e)->outcome_in_step && !ai(e)->asked_in_step);
    if (payload) payload_part(e, r);
    finish_step(e);
}

/* The turn is cut off: nothing is left open, nothing is finished. */
static void drop_turn(struct encoder *e)
{
    ai(e)->in_step = ai(e)->in_turn = ai(e)->shown_step = ai(e)->shown_turn = false;
}

static void told_error(struct encoder *e, struct str text)
{
    struct jsonw w;
    drop_turn(e);
    if (!event_begin(e, &w, "error")) return;
    jw_kstr(&w, "errorText", text);
    event_end(e, &w);
}

static void told_abort(struct encoder *e, const struct run *r)
{
    if (ai(e)->in_turn) close_steps(e, r, false);
    drop_turn(e);
    edge(e, "abort", true);
}

static void told_end(struct encoder *e, const struct run *r, const struct fact *f)
{
    if (str_is(f->code, "superseded")) { /* nothing more is shown of it */
        drop_turn(e);
        if (e->mode == STREAM_RUN && !event_silent(e)) e->ended = true;
        return;
    }
    if (f->outcome == WORD_ERROR) told_error(e, f->text);
    else if (f->outcome == WORD_CANCELLED) told_abort(e, r);
    else {
        start_turn(e, r);
        close_steps(e, r, r->replies.ptr || r->actions.ptr || r->custom.ptr);
        finish_turn(e, r, payload_cut(r) ? payload_cut(r) : "stop");
    }
    end_of_turn(e);
}

/* A stream that was opened has said start; a thread's begins anew. */
static void begin_run(struct encoder *e, const struct run *r)
{
    bool shown = ai(e)->shown_turn && e->mode == STREAM_RUN;
    drop_turn(e);
    ai(e)->shown_turn = shown;
    ai(e)->texts = 0;
    start_turn(e, r);
}

/* The answer as the confirmation's own output, so that its buttons go: in the adk form it is a tool
 * of its own. */
static void confirmation_output(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    if (!chunk(e, &w, "tool-output-available")) return;
    jw_kstr(&w, "toolCallId", f->id);
    jw_key(&w, "output");
    jw_obj(&w);
    jw_kbool(&w, "confirmed", f->outcome == WORD_APPROVED);
    jw_end_obj(&w);
    event_end(e, &w);
}

/* An answer opens the turn again; what was withdrawn or stopped does not. */
static void told_decided(struct encoder *e, const struct fold *fold, const struct run *r,
                         const struct fact *f)
{
    const struct fact *asked = fold_asked(fold, f->id);
    /* what a grant decided was never asked: nothing is open that it would open again */
    if ((f->outcome == WORD_CANCELLED && !let_go(fold, f)) || !f->id.len) return;
    start_turn(e, r);
    if (ai(e)->whole && asked && !asked_by_tool(asked)) confirmation_output(e, f);
}

/* For pages that show where older messages were summarised; other clients pass over it. */
static void told_summary(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    if (!event_begin(e, &w, "data-summary")) return;
    jw_key(&w, "data");
    payload_summary(&w, f);
    event_end(e, &w);
}

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct fold *fold = thread_fold(t);
    const struct call *c = f->call.ptr ? fold_call(fold, f->call) : NULL;
    const struct run  *r = fold_run_at(fold, f->seq);
    if (c && call_is_inner(c)) return;
    switch (f->kind) {
    case FACT_MESSAGE:
    case FACT_RETRY:
    case FACT_ACTION: begin_run(e, r); return;
    case FACT_ASKED:
        if (c) told_asked(e, f, c);
        break;
    case FACT_DECIDED: told_decided(e, fold, r, f); return;
    case FACT_STARTED:
        if (c) told_started(e, c);
        break;
    case FACT_FINISHED:
        if (c) told_finished(e, fold, r, f, c);
        break;
    case FACT_ENDED:
        if (r) told_end(e, r, f);
        return;
    case FACT_SUMMARY: told_summary(e, f); return;
    case FACT_RESUMED:
    case FACT_STEP:
    case FACT_PROPOSED:
    case FACT_RESPONSE:
    case FACT_TOLD:
    UNTOLD_FACTS:
        return;
    }
    at_gate(e, fold, r, f);
}

/* --- the head --------------------------------------------------------------------------------- */

static void progress(struct encoder *e, const struct call *c)
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

/* Everything is told and the run still waits: an answer that moved nothing (a result kept for
 * later). No stream may hang on a person. */
static void end_at_gate(struct encoder *e, const struct thread *t, const struct run *r)
{
    struct jsonw w;
    if (e->mode != STREAM_RUN || event_silent(e) || r->stopping ||
        !run_waited_at(thread_fold(t), r, e->horizon))
        return;
    if (event_begin_live(e, &w, "finish")) {
        jw_kstrz(&w, "finishReason", "tool-calls");
        event_end(e, &w);
    }
    e->ended = true;
}

static void head(struct encoder *e, const struct thread *t)
{
    const struct run *r = thread_fold(t)->run;
    if (!run_live(r)) return;
    if (ai(e)->shown_turn && e->progress_told != thread_progress_no(t)) {
        for (size_t i = 0; i < r->call_count; i++) {
            const struct call *c = r->calls[i];
            if (c->state == CALL_STARTED && known(e, c->started) &&
                c->progress_no > e->progress_told)
                progress(e, c);
        }
        e->progress_told = thread_progress_no(t);
    }
    if (e->seq == thread_committed(t)) end_at_gate(e, t, r);
}

/* The words of the lost step cannot be taken back in this dialect: the message is told again from
 * its start, also where this stream has said it; a reader that knows puts it in place of what it
 * had. */
static void reset(struct encoder *e, const struct thread *t)
{
    const struct run *r = fold_run_at(thread_fold(t), e->seq);
    if (!r) return;
    ai(e)->shown_turn = false;
    e->seq = r->first->seq - 1;
    e->rewound = true;
    e->quiet_gates = true;
}

/* A part for programs, a sentence for people. */
static void restart(struct encoder *e)
{
    struct jsonw w;
    if (!e->stuck && event_begin_live(e, &w, "data-restarting")) {
        jw_key(&w, "data");
        jw_obj(&w);
        jw_end_obj(&w);
        jw_kbool(&w, "transient", true);
        event_end(e, &w);
    }
    if (!event_begin_live(e, &w, "error")) return;
    jw_kstrz(&w, "errorText", encoder_farewell(e));
    event_end(e, &w);
}

static void close_stream(struct encoder *e)
{
    event_raw(e, STR("[DONE]"));
}

/* No ids: that client never sends Last-Event-ID. */
const struct dialect dialect_aisdk = {
    .name = "aisdk",
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
