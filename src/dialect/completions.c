/* completions.c -- Chat Completions: chunks, and the answer in one piece. See docs/doors.md.
 *
 * Own tools are told as lines of reasoning, because a client of this shape would run what it is
 * told as a tool call. Questions are words (run/spoken.h). There are no places to come back to: a
 * client that leaves has stopped.
 */
#include "dialect/completions.h"

#include "base/id.h"
#include "dialect/dialect.h"
#include "dialect/payload.h"
#include "dialect/responseitems.h"

struct cc {
    int64_t  created;
    unsigned calls; /* told so far */
    bool     begun, said, usage, words;
};

static struct cc *cc(const struct encoder *e)
{
    _Static_assert(sizeof(struct cc) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static void start(struct encoder *e, const struct stream_start *s)
{
    cc(e)->usage = s->usage;
}

/* --- chunks ----------------------------------------------------------------------------------- */

static void put_head(struct jsonw *w, struct str response, const char *object, int64_t created,
                     struct str model)
{
    char       id[16 + ID_LEN + 1];
    struct str name = response.len > ID_LEN ? str_from(response, response.len - ID_LEN) : response;
    jw_kstr(w, "id", id_join(id, sizeof id, "chatcmpl", '-', name, -1));
    jw_kstrz(w, "object", object);
    jw_kint(w, "created", created);
    jw_kstr(w, "model", model.len ? model : STR("parley"));
}

/* Up to the brace of `delta`; chunk_end() is the rest. */
static void chunk_begin(struct encoder *e, struct jsonw *w)
{
    put_head(w, e->response, "chat.completion.chunk", cc(e)->created, e->model);
    jw_key(w, "choices");
    jw_arr(w);
    jw_obj(w);
    jw_kint(w, "index", 0);
    jw_key(w, "delta");
    jw_obj(w);
}

static void chunk_end(struct encoder *e, struct jsonw *w, const char *reason)
{
    jw_end_obj(w);
    jw_kstrz(w, "finish_reason", reason);
    jw_end_obj(w);
    jw_end_arr(w);
    if (cc(e)->usage) {
        jw_key(w, "usage");
        jw_null(w);
    }
    event_end(e, w);
}

/* As the place is: for pieces of a step. */
static void text_at(struct encoder *e, const char *member, struct str text)
{
    struct jsonw w;
    if (!event_begin_at(e, &w, NULL)) return;
    chunk_begin(e, &w);
    jw_kstr(&w, member, text);
    chunk_end(e, &w, NULL);
}

/* Notes may stand in the middle of a step, whose units they must not count. */
static bool of_fact(struct encoder *e, struct jsonw *w, const struct fact *f)
{
    return fact_is_aside(f) ? event_begin_live(e, w, NULL) : event_begin(e, w, NULL);
}

static void text_of(struct encoder *e, const struct fact *f, const char *member, struct str text)
{
    struct jsonw w;
    if (!of_fact(e, &w, f)) return;
    chunk_begin(e, &w);
    jw_kstr(&w, member, text);
    chunk_end(e, &w, NULL);
}

/* --- words ------------------------------------------------------------------------------------ */

static void begin_step(struct encoder *e, const struct part *first)
{
    (void)e;
    (void)first;
}

static void part_begin(struct encoder *e, const struct part *p)
{
    if (p->type != STEP_TEXT) return;
    if (cc(e)->said) text_at(e, "content", STR("\n\n"));
    cc(e)->said = true;
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool last)
{
    (void)last;
    e->units += b.len;
    if (p->type == STEP_TEXT) text_at(e, "content", b);
    if (p->type == STEP_REASONING) text_at(e, "reasoning_content", b);
    e->units -= b.len;
    return b.len;
}

static void part_end(struct encoder *e, const struct part *p)
{
    (void)e;
    (void)p;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void line(struct buf *out, const struct call *c, const struct fact *f)
{
    if (f->kind == FACT_STARTED) {
        buf_str(out, c->intent.len ? c->intent : c->tool);
        buf_chr(out, '\n');
    } else buf_printf(out, STR_FMT ": %s\n", STR_ARG(c->tool), word_name(f->outcome));
}

static void told_line(struct encoder *e, const struct fact *f, const struct call *c)
{
    struct buf b = { 0 };
    line(&b, c, f);
    text_of(e, f, "reasoning_content", buf_view(&b));
    buf_done(&b);
}

static void put_call(struct jsonw *w, const struct call *c, bool head, bool arguments)
{
    if (head) {
        jw_kstr(w, "id", c->id);
        jw_kstrz(w, "type", "function");
    }
    jw_key(w, "function");
    jw_obj(w);
    if (head) jw_kstr(w, "name", c->tool);
    jw_kstr(w, "arguments", arguments ? c->input : STR(""));
    jw_end_obj(w);
}

static void told_function(struct encoder *e, const struct fact *f, const struct call *c)
{
    unsigned index = cc(e)->calls++;
    for (int i = 0; i < 2; i++) { /* its name, then its arguments */
        struct jsonw w;
        if (!of_fact(e, &w, f)) continue;
        chunk_begin(e, &w);
        jw_key(&w, "tool_calls");
        jw_arr(&w);
        jw_obj(&w);
        jw_kint(&w, "index", index);
        put_call(&w, c, !i, i);
        jw_end_obj(&w);
        jw_end_arr(&w);
        chunk_end(e, &w, NULL);
    }
}

/* Words of the server, after a blank line. */
static void told_words(struct encoder *e, const struct fact *f, struct str text)
{
    struct buf b = { 0 };
    if (!text.len) return;
    if (cc(e)->said) buf_lit(&b, "\n\n");
    buf_str(&b, text);
    cc(e)->said = true;
    text_of(e, f, "content", buf_view(&b));
    buf_done(&b);
}

static void begin(struct encoder *e, const struct thread *t, const struct fact *f)
{
    struct response_data d;
    struct arena         a;
    struct jsonw         w;
    arena_init(&a, 0);
    response_data(&a, f, &d);
    *cc(e) = (struct cc){ .created = f->at_ms / 1000,
                          .begun = true,
                          .usage = cc(e)->usage,
                          .words = f->link.ptr != NULL };
    if (of_fact(e, &w, f)) {
        chunk_begin(e, &w);
        jw_kstrz(&w, "role", "assistant");
        jw_kstrz(&w, "content", "");
        chunk_end(e, &w, NULL);
    }
    JV_EACH (id, d.tell) {
        const struct call *c = fold_call(thread_fold(t), jv_str(id));
        struct buf         b = { 0 };
        if (!c || !c->finished) continue;
        line(&b, c, c->finished);
        text_of(e, f, "reasoning_content", buf_view(&b));
        buf_done(&b);
    }
    told_words(e, f, f->text);
    arena_done(&a);
}

/* --- its end ---------------------------------------------------------------------------------- */

/* A call that the client is to run now. */
static bool is_offered(const struct call *c, uint64_t seq)
{
    return c->client && c->started && c->started->seq <= seq &&
           !(c->finished && c->finished->seq <= seq);
}

const char *completion_reason(const struct fold *f, const struct fact *response, uint64_t end)
{
    const struct run *r = fold_run(f, response->run);
    const char       *status = response_status(f, response, end), *cut = r ? payload_cut(r) : NULL;
    if (strcmp(status, "failed") == 0) return NULL;
    if (strcmp(status, "incomplete") == 0)
        return cut && strcmp(cut, "length") == 0 ? "length" : "content_filter";
    for (size_t i = r ? r->calls_from : 0; r && i < f->call_count && f->calls[i]->run == r; i++)
        if (is_offered(f->calls[i], end)) return "tool_calls";
    return "stop";
}

static void put_usage(struct jsonw *w, const struct fold *f, const struct fact *response,
                      uint64_t end)
{
    int64_t in, out;
    response_usage(f, response, end, &in, &out);
    jw_key(w, "usage");
    jw_obj(w);
    jw_kint(w, "prompt_tokens", in);
    jw_kint(w, "completion_tokens", out);
    jw_kint(w, "total_tokens", in + out);
    jw_end_obj(w);
}

static void told_failure(struct encoder *e, const struct fact *f)
{
    struct jsonw w;
    if (!of_fact(e, &w, f)) return;
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstr(&w, "message", f->text);
    jw_kstrz(&w, "type", "server_error");
    jw_key(&w, "param");
    jw_null(&w);
    jw_kstr(&w, "code", f->code);
    jw_end_obj(&w);
    event_end(e, &w);
}

static void finish(struct encoder *e, const struct thread *t, const struct fact *response,
                   const struct fact *f)
{
    const char  *reason = completion_reason(thread_fold(t), response, f->seq);
    struct jsonw w;
    if (!reason) told_failure(e, f);
    else if (of_fact(e, &w, f)) {
        chunk_begin(e, &w);
        chunk_end(e, &w, reason);
    }
    if (reason && cc(e)->usage && of_fact(e, &w, f)) {
        put_head(&w, e->response, "chat.completion.chunk", cc(e)->created, e->model);
        jw_kraw(&w, "choices", STR("[]"));
        put_usage(&w, thread_fold(t), response, f->seq);
        event_end(e, &w);
    }
    if (e->mode == STREAM_RUN && !event_silent(e)) e->ended = true;
}

static void tell_fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct call *c = f->call.ptr ? fold_call(thread_fold(t), f->call) : NULL;
    switch (f->kind) {
    case FACT_RESPONSE:
        if (str_eq(f->id, e->response)) begin(e, t, f);
        return;
    case FACT_TOLD:
        if (cc(e)->words) told_words(e, f, f->text);
        return;
    case FACT_STARTED:
        if (!c || c->gate == GATE_REPLY) return;
        if (c->client) told_function(e, f, c);
        else told_line(e, f, c);
        return;
    case FACT_FINISHED:
        if (c && c->gate != GATE_REPLY && !c->client) told_line(e, f, c);
        return;
    case FACT_MESSAGE:
    case FACT_ACTION:
    case FACT_RETRY:
    case FACT_RESUMED:
    case FACT_STEP:
    case FACT_ASKED:
    case FACT_DECIDED:
    case FACT_ENDED:
    case FACT_PROPOSED:
    case FACT_SUMMARY:
    UNTOLD_FACTS:
        return;
    }
}

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct fact *response =
        e->response.len ? response_find(thread_fold(t), e->response) : NULL;
    tell_fact(e, t, f);
    if (response && f->seq >= response->seq && response_ends_at(thread_fold(t), response, f->seq))
        finish(e, t, response, f);
    else if (!response && f->kind == FACT_ENDED && e->mode == STREAM_RUN && !event_silent(e))
        e->ended = true;
}

/* --- the stream ------------------------------------------------------------------------------- */

static void open_stream(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

static void head(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

static void reset(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

static void restart(struct encoder *e)
{
    struct jsonw w;
    if (!event_begin_live(e, &w, NULL)) return;
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstrz(&w, "message",
             e->stuck ? encoder_farewell(e) : "The server is restarting; send the request again.");
    jw_kstrz(&w, "type", "server_error");
    jw_kraw(&w, "param", STR("null"));
    jw_kstrz(&w, "code", encoder_farewell_code(e));
    jw_end_obj(&w);
    event_end(e, &w);
}

static void close_stream(struct encoder *e)
{
    event_raw(e, STR("[DONE]"));
}

const struct dialect dialect_completions = {
    .name = "completions",
    .start = start,
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

/* --- in one piece ----------------------------------------------------------------------------- */

static void collect(struct buf *thoughts, const struct fold *f, const struct fact *response,
                    const struct response_data *d, uint64_t end)
{
    JV_EACH (id, d->tell) {
        const struct call *c = fold_call(f, jv_str(id));
        if (c && c->finished) line(thoughts, c, c->finished);
    }
    for (uint64_t s = response->seq + 1; s <= end && !response->text.ptr; s++) {
        const struct fact *x = f->facts[s - 1];
        const struct call *c = x->call.ptr ? fold_call(f, x->call) : NULL;
        for (size_t i = 0; x->kind == FACT_STEP && i < x->parts_count; i++)
            if (x->parts[i].type == STEP_REASONING) buf_str(thoughts, x->parts[i].text);
        if (c && c->gate != GATE_REPLY && !c->client &&
            (x->kind == FACT_STARTED || x->kind == FACT_FINISHED))
            line(thoughts, c, x);
    }
}

static void put_calls(struct jsonw *w, const struct fold *f, const struct fact *response,
                      uint64_t end)
{
    bool any = false;
    for (uint64_t s = response->seq + 1; s <= end; s++) {
        const struct fact *x = f->facts[s - 1];
        const struct call *c = x->kind == FACT_STARTED ? fold_call(f, x->call) : NULL;
        if (!c || !c->client || !is_offered(c, end)) continue;
        if (!any) {
            jw_key(w, "tool_calls");
            jw_arr(w);
        }
        any = true;
        jw_obj(w);
        put_call(w, c, true, true);
        jw_end_obj(w);
    }
    if (any) jw_end_arr(w);
}

void completion_write(struct jsonw *w, const struct fold *f, const struct fact *response,
                      struct str model, uint64_t end)
{
    struct buf           text = { 0 }, thoughts = { 0 };
    struct response_data d;
    struct arena         a;
    arena_init(&a, 0);
    response_data(&a, response, &d);
    response_words(&text, f, response, end);
    collect(&thoughts, f, response, &d, end);
    jw_obj(w);
    put_head(w, response->id, "chat.completion", response->at_ms / 1000, model);
    jw_key(w, "choices");
    jw_arr(w);
    jw_obj(w);
    jw_kint(w, "index", 0);
    jw_key(w, "message");
    jw_obj(w);
    jw_kstrz(w, "role", "assistant");
    jw_kbuf(w, "content", &text);
    jw_key(w, "refusal");
    jw_null(w);
    if (thoughts.len) jw_kbuf(w, "reasoning_content", &thoughts);
    put_calls(w, f, response, end);
    jw_end_obj(w);
    jw_key(w, "logprobs");
    jw_null(w);
    jw_kstrz(w, "finish_reason", completion_reason(f, response, end));
    jw_end_obj(w);
    jw_end_arr(w);
    put_usage(w, f, response, end);
    jw_end_obj(w);
    buf_done(&text);
    buf_done(&thoughts);
    arena_done(&a);
}
