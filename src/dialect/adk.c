/* adk.c -- the events of ADK's API server (/run_sse, /run, a session's events).
 *
 * An event is whole: the model's step is one, with its words, thoughts and calls; an outcome is
 * one; a question is a call of adk_request_confirmation, with the original call named in
 * actions.requestedToolConfirmations. While the model speaks its words are told as `partial`
 * events, and once more, whole, when the step is over; a reader that wants only what is settled
 * gets no partial ones. Nothing is told at the end of a run or at a question: the stream ends. In a
 * session's events (STREAM_THREAD) the person's words are events of author "user".
 *
 * A call that the page runs is a long running one. One that a person must allow first is announced
 * when it is proposed, and once more as long running when it may run.
 */
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/uimessages.h"

#define AUTHOR "parley"

struct adk {
    bool settled;
};

static struct adk *adk(const struct encoder *e)
{
    _Static_assert(sizeof(struct adk) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static void start(struct encoder *e, const struct stream_start *s)
{
    adk(e)->settled = s->settled;
}

static void open_stream(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

/* --- the frame of an event -------------------------------------------------------------------- */

static void begin_content(struct jsonw *w, const char *role)
{
    jw_key(w, "content");
    jw_obj(w);
    jw_kstrz(w, "role", role);
    jw_key(w, "parts");
    jw_arr(w);
}

static void end_content(struct jsonw *w)
{
    jw_end_arr(w);
    jw_end_obj(w);
}

static void write_actions(struct jsonw *w, const struct call *asked, const struct fact *f)
{
    jw_key(w, "actions");
    jw_obj(w);
    jw_kraw(w, "stateDelta", STR("{}"));
    jw_kraw(w, "artifactDelta", STR("{}"));
    jw_kraw(w, "requestedAuthConfigs", STR("{}"));
    jw_key(w, "requestedToolConfirmations");
    jw_obj(w);
    if (asked) {
        jw_key_str(w, asked->id);
        jw_obj(w);
        jw_kstr(w, "hint", f->ask);
        jw_kbool(w, "confirmed", false);
        jw_end_obj(w);
    }
    jw_end_obj(w);
    jw_end_obj(w);
}

/* Its id is its place, so that a replay has the same. */
static void finish_event(struct encoder *e, struct jsonw *w, struct str run, const char *author,
                         const struct fact *f)
{
    char id[48];
    snprintf(id, sizeof id, "%llu.%llu", (unsigned long long)e->seq, (unsigned long long)e->units);
    jw_kstr(w, "invocationId", run);
    jw_kstrz(w, "author", author);
    jw_kstrz(w, "id", id);
    if (f) {
        jw_key(w, "timestamp");
        jw_f64(w, (double)f->at_ms / 1000);
    }
    event_end(e, w);
}

static void write_text(struct jsonw *w, struct str text, bool thought)
{
    jw_obj(w);
    jw_kstr(w, "text", text);
    if (thought) jw_kbool(w, "thought", true);
    jw_end_obj(w);
}

static void write_call(struct jsonw *w, struct str id, struct str name, struct str args)
{
    jw_obj(w);
    jw_key(w, "functionCall");
    jw_obj(w);
    jw_kstr(w, "id", id);
    jw_kstr(w, "name", name);
    jw_kraw(w, "args", args);
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_long(struct jsonw *w, struct str id)
{
    jw_key(w, "longRunningToolIds");
    jw_arr(w);
    jw_str(w, id);
    jw_end_arr(w);
}

/* --- the step being spoken -------------------------------------------------------------------- */

static void begin_step(struct encoder *e, const struct part *first)
{
    (void)e;
    (void)first;
}

static void part_edge(struct encoder *e, const struct part *p)
{
    (void)e;
    (void)p;
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    struct jsonw w;
    (void)last;
    if (p->type == STEP_CALL || adk(e)->settled) return b.len;
    e->units += b.len;
    if (event_begin_at(e, &w, NULL)) {
        begin_content(&w, "model");
        write_text(&w, b, p->type == STEP_REASONING);
        end_content(&w);
        jw_kbool(&w, "partial", true);
        finish_event(e, &w, e->run, AUTHOR, NULL);
    }
    e->units -= b.len;
    return b.len;
}

/* --- facts ------------------------------------------------------------------------------------ */

static bool is_shown(const struct part *p)
{
    if (p->type == STEP_CALL) return !call_replies(p->tool);
    return p->text.len > 0;
}

static struct str args_of(const struct fold *f, const struct part *p)
{
    const struct call *c = fold_call(f, p->call);
    return c && jv_is(c->args, JSON_OBJECT) ? p->text : STR("{}");
}

static void write_parts(struct jsonw *w, const struct fold *f, const struct fact *x)
{
    begin_content(w, "model");
    for (size_t i = 0; i < x->parts_count; i++) {
        const struct part *p = &x->parts[i];
        if (!is_shown(p)) continue;
        if (p->type == STEP_CALL) write_call(w, p->call, p->tool, args_of(f, p));
        else write_text(w, p->text, p->type == STEP_REASONING);
    }
    end_content(w);
}

/* Those that the page is to run without anybody's yes. */
static void write_offered(struct jsonw *w, const struct fact *x)
{
    jw_key(w, "longRunningToolIds");
    jw_arr(w);
    for (size_t i = 0; i < x->parts_count; i++)
        if (x->parts[i].type == STEP_CALL && x->parts[i].gate == GATE_CLIENT)
            jw_str(w, x->parts[i].call);
    jw_end_arr(w);
}

static void write_usage(struct jsonw *w, const struct fact *x)
{
    if (!x->input_tokens && !x->output_tokens) return;
    jw_key(w, "usageMetadata");
    jw_obj(w);
    jw_kint(w, "promptTokenCount", x->input_tokens);
    jw_kint(w, "candidatesTokenCount", x->output_tokens);
    jw_kint(w, "totalTokenCount", x->input_tokens + x->output_tokens);
    jw_end_obj(w);
}

static void told_step(struct encoder *e, const struct fold *f, const struct fact *x)
{
    struct jsonw w;
    bool         any = false;
    for (size_t i = 0; i < x->parts_count; i++) any |= is_shown(&x->parts[i]);
    if (!any) {
        event_leave_out(e);
        return;
    }
    if (!event_begin(e, &w, NULL)) return;
    write_parts(&w, f, x);
    write_usage(&w, x);
    write_offered(&w, x);
    write_actions(&w, NULL, NULL);
    finish_event(e, &w, x->run, AUTHOR, x);
}

static void told_question(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!event_begin(e, &w, NULL)) return;
    begin_content(&w, "user");
    jw_obj(&w);
    jw_key(&w, "functionCall");
    jw_obj(&w);
    jw_kstr(&w, "id", f->id);
    jw_kstrz(&w, "name", "adk_request_confirmation");
    uimessage_confirmation_input(&w, "args", c, f);
    jw_end_obj(&w);
    jw_end_obj(&w);
    end_content(&w);
    write_long(&w, f->id);
    write_actions(&w, c, f);
    finish_event(e, &w, c->run->id, AUTHOR, f);
}

/* As the answer that it was, so that a page which reads the session again knows it. The client of
 * this stream knows its own; what was withdrawn is told by what comes of it. */
static void told_decided(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    bool         own = e->mode == STREAM_RUN && str_is(f->via, "adk");
    if (own || !f->id.len) { /* what a grant decided was never asked */
        event_leave_out(e);
        return;
    }
    if (!event_begin(e, &w, NULL)) return;
    begin_content(&w, "user");
    jw_obj(&w);
    jw_key(&w, "functionResponse");
    jw_obj(&w);
    jw_kstr(&w, "id", f->id);
    jw_kstrz(&w, "name", "adk_request_confirmation");
    jw_key(&w, "response");
    jw_obj(&w);
    jw_kbool(&w, "confirmed", f->outcome == WORD_APPROVED);
    if (f->reason.len) jw_kstr(&w, "reason", f->reason);
    jw_end_obj(&w);
    jw_end_obj(&w);
    jw_end_obj(&w);
    end_content(&w);
    write_actions(&w, NULL, NULL);
    finish_event(e, &w, c->run->id, "user", f);
}

/* After the yes it is the page's to run. */
static void told_offer(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    if (!c->client || !c->asked || !event_begin(e, &w, NULL)) return;
    begin_content(&w, "model");
    write_call(&w, c->id, c->tool, jv_is(c->args, JSON_OBJECT) ? c->input : STR("{}"));
    end_content(&w);
    write_long(&w, c->id);
    write_actions(&w, NULL, NULL);
    finish_event(e, &w, c->run->id, AUTHOR, f);
}

/* An object, whatever the tool said. */
static void write_response(struct jsonw *w, const struct call *c)
{
    struct str value = c->finished->value;
    bool       denied = c->finished->outcome == WORD_DENIED;
    bool       said = call_ok(c) || c->finished->outcome == WORD_DUPLICATE;
    jw_key(w, "response");
    if (said && value.len && value.ptr[0] == '{') {
        jw_raw(w, value);
        return;
    }
    jw_obj(w);
    if (said) payload_output(w, "result", c);
    else payload_error(w, "error", c);
    if (denied) jw_kbool(w, "denied", true);
    if (denied && c->decided && c->decided->reason.len) jw_kstr(w, "reason", c->decided->reason);
    jw_end_obj(w);
}

/* What this door's own client brought it need not be told, but for a session's events. */
static void told_outcome(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct jsonw w;
    bool         own = e->mode == STREAM_RUN && c->client && str_is(f->via, "adk");
    if (call_replies(c->tool)) return;
    if (own) {
        event_leave_out(e);
        return;
    }
    if (!event_begin(e, &w, NULL)) return;
    begin_content(&w, "user");
    jw_obj(&w);
    jw_key(&w, "functionResponse");
    jw_obj(&w);
    jw_kstr(&w, "id", c->id);
    jw_kstr(&w, "name", c->tool);
    write_response(&w, c);
    jw_end_obj(&w);
    jw_end_obj(&w);
    end_content(&w);
    write_actions(&w, NULL, NULL);
    finish_event(e, &w, c->run->id, AUTHOR, f);
}

static void told_user(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    struct arena a;
    struct jv   *files = NULL;
    if (e->mode == STREAM_RUN || !event_begin(e, &w, NULL)) return;
    arena_init(&a, 0);
    begin_content(&w, "user");
    if (f->files.ptr && json_parse(&a, f->files, &files, NULL) != OK) files = NULL;
    JV_EACH (v, files) {
        jw_obj(&w);
        jw_key(&w, "fileData");
        jw_obj(&w);
        jw_kstr(&w, "fileUri", jv_str_at(v, "url"));
        if (jv_str_at(v, "mediaType").len) jw_kstr(&w, "mimeType", jv_str_at(v, "mediaType"));
        jw_end_obj(&w);
        jw_end_obj(&w);
    }
    if (f->text.len) write_text(&w, f->text, false);
    end_content(&w);
    write_actions(&w, NULL, NULL);
    finish_event(e, &w, f->run, "user", f);
    arena_done(&a);
}

static void failed(struct encoder *e, struct jsonw *w, struct str message)
{
    jw_kstr(w, "error", message);
    event_end(e, w);
}

static void told_end(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    if (f->outcome == WORD_ERROR && event_begin(e, &w, NULL)) failed(e, &w, f->text);
    if (f->outcome == WORD_CANCELLED && event_begin(e, &w, NULL)) {
        jw_kbool(&w, "interrupted", true);
        write_actions(&w, NULL, NULL);
        finish_event(e, &w, f->run, AUTHOR, f);
    }
    if (e->mode == STREAM_RUN && !event_silent(e)) e->ended = true;
}

static bool went_on(const struct encoder *e, const struct fold *f, uint64_t seq)
{
    for (uint64_t s = seq + 1; s <= e->horizon; s++)
        if (!fact_is_aside(f->facts[s - 1])) return true;
    return false;
}

static void at_gate(struct encoder *e, const struct fold *f, const struct run *r,
                    const struct fact *x)
{
    if (e->mode != STREAM_RUN || event_silent(e) || !r || !run_waited_at(f, r, x->seq)) return;
    if (!went_on(e, f, x->seq)) e->ended = true;
}

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct fold *fold = thread_fold(t);
    const struct call *c = f->call.ptr ? fold_call(fold, f->call) : NULL;
    switch (f->kind) {
    case FACT_MESSAGE: told_user(e, f); return;
    case FACT_ACTION:
    case FACT_STEP: told_step(e, fold, f); return;
    case FACT_ASKED:
        if (c) told_question(e, f, c);
        break;
    case FACT_DECIDED:
        if (c) told_decided(e, f, c);
        return;
    case FACT_STARTED:
        if (c) told_offer(e, f, c);
        break;
    case FACT_FINISHED:
        if (c) told_outcome(e, f, c);
        break;
    case FACT_ENDED: told_end(e, f); return;
    case FACT_RETRY:
    case FACT_RESUMED:
    case FACT_PROPOSED:
    case FACT_RESPONSE:
    case FACT_TOLD:
    case FACT_SUMMARY:
    UNTOLD_FACTS:
        return;
    }
    at_gate(e, fold, fold_run_at(fold, f->seq), f);
}

/* --- the head --------------------------------------------------------------------------------- */

/* An answer that moved nothing: no stream may hang on a person. */
static void head(struct encoder *e, const struct thread *t)
{
    const struct fold *f = thread_fold(t);
    if (e->mode != STREAM_RUN || event_silent(e) || !run_live(f->run) || !e->horizon ||
        e->seq != thread_committed(t) || !str_eq(f->run->id, e->run))
        return;
    if (run_waited_at(f, f->run, e->horizon)) e->ended = true;
}

static void told_trouble(struct encoder *e, struct str message)
{
    struct jsonw w;
    if (event_begin_live(e, &w, NULL)) failed(e, &w, message);
}

/* Partial words that were lost cannot be taken back. */
static void reset(struct encoder *e, const struct thread *t)
{
    (void)t;
    if (adk(e)->settled) return;
    told_trouble(e, STR("Some words were lost; read the session again."));
    e->ended = true;
}

static void restart(struct encoder *e)
{
    told_trouble(e, str_c(encoder_farewell(e)));
}

static void close_stream(struct encoder *e)
{
    (void)e;
}

const struct dialect dialect_adk = {
    .name = "adk",
    .start = start,
    .open = open_stream,
    .step_begin = begin_step,
    .part_begin = part_edge,
    .bytes = bytes,
    .part_end = part_edge,
    .fact = fact,
    .head = head,
    .reset = reset,
    .restart = restart,
    .close = close_stream,
};
