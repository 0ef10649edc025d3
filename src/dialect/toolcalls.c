/* toolcalls.c -- the tool-calling events of seed 000. Form: shared protocol page
 * "seed-events", rulings in "doors". One data line per event; ends with done and [DONE]. */
#include "base/clock.h"
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/seed.h"
#include "run/metrics.h"

static void open_stream(struct encoder *e, const struct thread *t) { (void)e; (void)t; }
static void begin_step(struct encoder *e, const struct part *first) { (void)e; (void)first; }
static void part_begin(struct encoder *e, const struct part *p) { (void)e; (void)p; }

static void content(struct encoder *e, struct str text)
{
    struct jsonw w;
    if (!event_begin_at(e, &w, NULL)) return;
    jw_key(&w, "choices");
    jw_arr(&w);
    jw_obj(&w);
    jw_key(&w, "delta");
    jw_obj(&w);
    jw_kstr(&w, "content", text);
    jw_end_obj(&w);
    jw_end_obj(&w);
    jw_end_arr(&w);
    event_end(e, &w);
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    struct jsonw w;
    (void)last;
    e->units += b.len;
    if (p->type == STEP_TEXT) content(e, b);
    else if (p->type == STEP_REASONING && event_begin_at(e, &w, "reasoning_status")) {
        jw_kstr(&w, "content", b);
        jw_kint(&w, "timestamp", clock_wall_ms());
        event_end(e, &w);
    }
    e->units -= b.len;
    return b.len;
}

static void part_end(struct encoder *e, const struct part *p)
{
    struct jsonw w;
    if (p->type != STEP_CALL || !p->intent.ptr || !event_begin_at(e, &w, "intent_confirmation")) return;
    jw_kstr(&w, "message", p->intent);
    jw_kstr(&w, "toolName", p->tool);
    jw_kint(&w, "timestamp", p->at_ms);
    event_end(e, &w);
    metrics_intent_told(p->call);
}

/* --- facts ---------------------------------------------------------------------------------- */

/* Places are the typed door's too, whose stream is how a client of this door
 * reconnects: a start is one unit there, so this line is none of its own. */
static void status_update(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    struct buf   text;
    if (!event_begin_live(e, &w, "status_update")) return;
    buf_init(&text, 1024);
    if (f->text.len) buf_str(&text, f->text);
    else buf_printf(&text, "Running " STR_FMT "...", STR_ARG(c->tool));
    jw_kbuf(&w, "status", &text);
    buf_done(&text);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void told_start(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    status_update(e, f, c);
    if (!event_begin(e, &w, "tool_call_start")) return;
    jw_kstr(&w, "toolName", c->tool);
    jw_kstr(&w, "toolCallId", c->id);
    payload_input(&w, "arguments", c);
    if (c->client) jw_kstrz(&w, "where", "client");
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void told_artifact(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    struct arena a;
    struct jv   *v = NULL;
    arena_init(&a, 0);
    bool is = call_ok(c) && f->value.ptr && json_parse(&a, f->value, &v, NULL) == OK && jv_is(jv_get(v, "content"), JSON_STRING)
           && jv_is(jv_get(v, "id"), JSON_STRING) && jv_is(jv_get(v, "type"), JSON_STRING);
    if (is && event_begin_live(e, &w, "artifact_complete")) {
        jw_kstr(&w, "toolName", c->tool);
        jw_key(&w, "artifact");
        jw_jv(&w, v);
        jw_kint(&w, "timestamp", f->at_ms);
        event_end(e, &w);
    }
    arena_done(&a);
}

static void told_result(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    told_artifact(e, f, c);
    event_leave_out(e);                /* an outcome, the blank line before its marker and the marker are three units on the typed door */
    event_leave_out(e);
    if (!event_begin(e, &w, "tool_result")) return;
    jw_kstr(&w, "toolName", c->tool);
    jw_kstr(&w, "toolCallId", c->id);
    jw_kbool(&w, "success", call_ok(c));
    if (call_ok(c)) payload_output(&w, "result", c);
    else payload_error(&w, "error", c);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void told_confirmation(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!event_begin(e, &w, "tool_confirmation")) return;
    payload_gate(&w, "confirmation_id", c, f);
    jw_kstr(&w, "toolName", c->tool);
    jw_kint(&w, "timestamp", f->at_ms);
    event_end(e, &w);
}

static void done(struct encoder *e, const struct run *r)
{
    struct jsonw w;
    if (!event_begin(e, &w, "done")) return;
    if (payload_cut(r)) jw_kstrz(&w, "finish_reason", payload_cut(r));
    event_end(e, &w);
}

static void told_wait(struct encoder *e, const struct thread *t, const struct run *r, uint64_t seq)
{
    (void)t; (void)seq;
    done(e, r);
}

static void told_end(struct encoder *e, const struct thread *t, const struct fact *f)
{
    struct jsonw w;
    if (f->outcome != WORD_ERROR) { done(e, fold_run(thread_fold(t), f->run)); return; }
    if (!event_begin(e, &w, "error")) return;
    jw_kstr(&w, "error", f->text);
    jw_kstr(&w, "code", f->code);
    event_end(e, &w);
}

/* --- the head ------------------------------------------------------------------------------------ */

static void progress(struct encoder *e, const struct call *c)
{
    struct jsonw w;
    if (!c->message.len && !c->stage.len) return;
    if (!event_begin_live(e, &w, "status_update")) return;
    jw_kstr(&w, "status", c->message.len ? c->message : c->stage);
    jw_kint(&w, "timestamp", clock_wall_ms());
    event_end(e, &w);
}

static const struct seed_words WORDS = { told_confirmation, told_start, told_result, told_wait, told_end, progress };

static void fact(struct encoder *e, const struct thread *t, const struct fact *f) { seed_fact(e, t, f, &WORDS); }
static void head(struct encoder *e, const struct thread *t) { seed_progress(e, t, &WORDS); }
static void reset(struct encoder *e, const struct thread *t) { (void)e; (void)t; }

static void restart(struct encoder *e)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, "error")) return;
    jw_kstrz(&w, "error", "The server is restarting; reconnect to continue.");
    jw_kstrz(&w, "code", "restarting");
    event_end(e, &w);
}

static void close_stream(struct encoder *e) { event_raw(e, STR("[DONE]")); }

const struct dialect dialect_toolcalls = { open_stream, begin_step, part_begin, bytes, part_end, fact, head, reset, restart, close_stream };
