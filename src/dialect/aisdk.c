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
#include "dialect/aisdk_int.h"
#include "dialect/payload.h"

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

bool ai_chunk(struct encoder *e, struct jsonw *w, const char *type)
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

void ai_start_turn(struct encoder *e, const struct run *r)
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

void ai_start_step(struct encoder *e)
{
    note_step(e);
    edge(e, "start-step", !ai(e)->hidden);
    if (!ai(e)->hidden) ai(e)->shown_step = true;
}

void ai_show_step(struct encoder *e)
{
    struct jsonw w;
    if (!ai(e)->in_step || ai(e)->shown_step || ai(e)->hidden) return;
    ai(e)->shown_step = true;
    if (event_begin_live(e, &w, "start-step")) event_end(e, &w);
}

void ai_finish_step(struct encoder *e)
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
    if (ai_chunk(e, &w, "text-start")) {
        jw_kstrz(&w, "id", id);
        event_end(e, &w);
    }
    if (ai_chunk(e, &w, "text-end")) {
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
    ai_start_step(e);
    empty_text(e);
    ai_finish_step(e);
}

/* The run waits for somebody: the turn is over until the answer. A gate that is over when it is
 * told is passed, where the stream goes on as one message. */
static void at_gate(struct encoder *e, const struct fold *fold, const struct run *r,
                    const struct fact *f)
{
    if (!r || !run_waited_at(fold, r, f->seq)) return;
    ai_finish_step(e);
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
        ai_finish_step(e);
        ai_start_step(e);
    }
    ai_show_step(e);
    if (!ai(e)->said_in_step) empty_text(e);
    must(!ai(e)->outcome_in_step && !ai(e)->asked_in_step);
    if (payload) payload_part(e, r);
    ai_finish_step(e);
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
        ai_start_turn(e, r);
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
    ai_start_turn(e, r);
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
        if (c) ai_asked(e, f, c);
        break;
    case FACT_DECIDED: ai_decided(e, fold, r, f); return;
    case FACT_STARTED:
        if (c) ai_started(e, c);
        break;
    case FACT_FINISHED:
        if (c) ai_finished(e, fold, r, f, c);
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
            if (c->state == CALL_STARTED && ai_known(e, c->started) &&
                c->progress_no > e->progress_told)
                ai_progress(e, c);
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
