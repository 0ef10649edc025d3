/* typed.c -- the typed events of /v1/chat/stream: words with markers, the intent line, tools,
 * confirmations. Every event and its members: docs/doors.md. */
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/plain.h"
#include "run/metrics.h"

#define BLANK 2u /* line ends that make a blank line */

static void status(struct encoder *e, const char *message)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "status")) return;
    jw_kstrz(&w, "message", message);
    event_end(e, &w);
}

static void open_stream(struct encoder *e, const struct thread *t)
{
    if (e->mode != STREAM_RUN) return;
    status(e, "Thinking...");
    plain_of(e)->status_seq = thread_committed(t);
}

/* --- the open step ------------------------------------------------------------------------ */

static void begin_step(struct encoder *e, const struct part *first)
{
    (void)e;
    (void)first;
}

static void part_begin(struct encoder *e, const struct part *p)
{
    if (p->type != STEP_TEXT) return;
    marker_paragraph(&plain_of(e)->weave);
    plain_of(e)->part_units = e->units;
    /* the client has the event of this place: the blank line */
    if (e->quiet && !e->skip) plain_of(e)->weave.newlines = BLANK;
}

/* An event for bytes of a part. Its id is the place after them, which the caller only counts when
 * it has returned. */
static void event_bytes(struct encoder *e, const char *type, struct str text, uint64_t place)
{
    struct jsonw w;
    uint64_t     units = e->units;
    e->units = place;
    if (event_begin_at(e, &w, type)) {
        jw_kstr(&w, "text", text);
        event_end(e, &w);
    }
    e->units = units;
}

/* How many bytes a blank line takes here. */
static size_t gap(const struct marker_weave *w)
{
    return w->any ? BLANK - w->newlines : 0;
}

static size_t words(struct encoder *e, struct str bytes, bool last)
{
    /* loop thread only; kept, so that a delta allocates nothing */
    static struct buf woven;
    bool              silent = event_silent(e);
    size_t            blank = plain_of(e)->weave.separate ? gap(&plain_of(e)->weave) : 0;
    buf_clear(&woven);
    size_t taken = marker_words(&plain_of(e)->weave, silent ? NULL : &woven, bytes, last);
    if (silent) return taken;
    if (woven.err) {
        e->out->err = woven.err;
        return taken;
    }
    if (!woven.len) return taken;
    if (blank)
        event_bytes(e, "text_delta", str_cut(buf_view(&woven), blank), plain_of(e)->part_units);
    event_bytes(e, "text_delta", str_from(buf_view(&woven), blank), e->units + taken);
    return taken;
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    if (p->type == STEP_TEXT) return words(e, b, last);
    if (p->type == STEP_REASONING && plain_of(e)->reasoning && !event_silent(e))
        event_bytes(e, "reasoning_delta", b, e->units + b.len);
    return b.len;
}

/* Said when the call is complete, before it is even decided whether somebody must be asked. */
static void say_intent(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (!event_begin_at(e, &w, "intent_confirmation")) return;
    jw_kstr(&w, "message", p->intent);
    jw_kstr(&w, "tool", p->tool);
    jw_kstr(&w, "toolName", p->tool);
    jw_kstr(&w, "tool_use_id", p->call);
    jw_kint(&w, "timestamp", p->at_ms);
    event_end(e, &w);
    metrics_intent_told(p->call);
}

static void part_end(struct encoder *e, const struct part *p)
{
    if (p->type == STEP_CALL && p->intent.ptr) say_intent(e, p);
}

/* --- facts ------------------------------------------------------------------------------------ */

static void told_confirmation(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!event_begin(e, &w, "tool_confirmation")) return;
    payload_gate(&w, "confirmation_id", NULL, c, f);
    event_end(e, &w);
}

static void told_start(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    (void)f;
    if (!event_begin(e, &w, "tool_start")) return;
    jw_kstr(&w, "tool", c->tool);
    payload_input(&w, "input", c);
    jw_kstr(&w, "tool_use_id", c->id);
    if (c->client) jw_kstrz(&w, "where", "client");
    event_end(e, &w);
}

/* One unit, whether there is something to say or not. */
static void told_text(struct encoder *e, struct str text)
{
    struct jsonw w;
    if (!text.len) event_leave_out(e);
    else if (event_begin(e, &w, "text_delta")) {
        jw_kstr(&w, "text", text);
        event_end(e, &w);
    }
}

/* The marker is a delta of its own, because clients compare it; and so is the blank line before
 * it. */
static void told_complete(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    struct buf   marker;
    unsigned     index = plain_of(e)->index++;
    size_t       blank = gap(&plain_of(e)->weave);
    (void)f;
    if (event_begin(e, &w, "tool_complete")) {
        jw_kstr(&w, "tool", c->tool);
        jw_kint(&w, "index", index);
        jw_kstr(&w, "tool_use_id", c->id);
        jw_kbool(&w, "ok", call_ok(c));
        jw_kstrz(&w, "outcome", word_name(c->finished->outcome));
        event_end(e, &w);
    }
    buf_init(&marker, 64);
    marker_put(&plain_of(e)->weave, &marker, index);
    told_text(e, str_cut(buf_view(&marker), blank));
    told_text(e, str_from(buf_view(&marker), blank));
    if (marker.err && e->out) e->out->err = marker.err;
    buf_done(&marker);
}

static void told_payload(struct encoder *e, const struct thread *t, const struct run *r,
                         uint64_t seq)
{
    struct jsonw w;
    uint64_t     from = plain_of(e)->told_from;
    plain_of(e)->told_from = seq;
    if (!event_begin(e, &w, "complete")) return;
    jw_key(&w, "payload");
    jw_obj(&w);
    payload_write(&w, thread_fold(t), r, seq, thread_id(t), from);
    jw_end_obj(&w);
    event_end(e, &w);
}

static void told_end(struct encoder *e, const struct thread *t, const struct fact *f)
{
    struct jsonw w;
    if (f->outcome == WORD_COMPLETE) told_payload(e, t, fold_run(thread_fold(t), f->run), f->seq);
    else if (f->outcome == WORD_CANCELLED) {
        if (event_begin(e, &w, "cancelled")) event_end(e, &w);
    } else if (event_begin(e, &w, "error")) {
        jw_kstr(&w, "message", f->text);
        jw_kstr(&w, "code", f->code);
        jw_kbool(&w, "retryable", f->retryable);
        event_end(e, &w);
    }
}

/* --- the head --------------------------------------------------------------------------------- */

static void progress(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "tool_progress")) return;
    jw_kstr(&w, "tool", c->tool);
    payload_progress(&w, c);
    jw_kraw(&w, "data", c->progress_data);
    jw_kstr(&w, "tool_use_id", c->id);
    event_end(e, &w);
}

static const struct plain_words WORDS = { told_confirmation, told_start, told_complete,
                                          told_payload,      told_end,   progress };

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    plain_fact(e, t, f, &WORDS);
}

static void head(struct encoder *e, const struct thread *t)
{
    if (thread_thinking(t) && plain_of(e)->status_seq != thread_committed(t)) {
        plain_of(e)->status_seq = thread_committed(t);
        status(e, "Thinking...");
    }
    plain_progress(e, t, &WORDS);
}

/* The text as it stood before the lost words; the client puts it in place of what it had. */
static void reset(struct encoder *e, const struct thread *t)
{
    const struct run *r = fold_run_at(thread_fold(t), e->seq);
    struct jsonw      w;
    struct buf        text;
    plain_take_back(e);
    if (!r || !event_begin_live(e, &w, "step_reset")) return;
    buf_init(&text, 0);
    payload_message(&text, thread_fold(t), r, e->seq);
    jw_kbuf(&w, "message", &text);
    event_end(e, &w);
    buf_done(&text);
}

/* An event for programs, a sentence for people. */
static void restart(struct encoder *e)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, e->stuck ? "error" : "restarting")) return;
    if (e->stuck) {
        jw_kstrz(&w, "message", encoder_farewell(e));
        jw_kstrz(&w, "code", encoder_farewell_code(e));
        jw_kbool(&w, "retryable", true);
    }
    event_end(e, &w);
    if (!e->stuck) status(e, encoder_farewell(e));
}

static void close_stream(struct encoder *e)
{
    (void)e;
}

const struct dialect dialect_typed = {
    .name = "typed",
    .ids = true,
    .start = plain_start,
    .continues = plain_continues,
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
