/* agui_ending.c -- how a segment of AG-UI ends: finished, interrupted by questions, cancelled,
 * failed; and the events that the door writes itself. */
#include "base/clock.h"
#include "dialect/agui.h"
#include "dialect/payload.h"
#include "run/spend.h"

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

#define APPROVED "\"approved\":{\"type\":\"boolean\"},\"reason\":{\"type\":\"string\"}"

/* A tool that lets people change its arguments takes them, too: all of them, not only those that
 * may differ. */
static void write_response_schema(struct jsonw *w, const struct fact *asked)
{
    struct str decision =
        asked->edit.ptr ? STR("{\"type\":\"object\",\"properties\":{" APPROVED
                              ",\"editedArgs\":{\"type\":\"object\"}},\"required\":[\"approved\"]}")
                        : STR("{\"type\":\"object\",\"properties\":{" APPROVED
                              "},\"required\":[\"approved\"]}");
    jw_kraw(w, "responseSchema", asked->schema.ptr ? asked->schema : decision);
}

const struct call *agui_root(const struct call *c)
{
    while (c->instead_of) c = c->instead_of;
    return c;
}

static void write_replaced(struct jsonw *w, const struct call *c)
{
    if (!c->instead_of || !c->instead_of->asked) return;
    jw_kstr(w, "replaces", c->instead_of->asked->id);
    jw_kraw(w, "editedArgs", c->input);
    jw_kraw(w, "changed", c->proposed->data.ptr ? c->proposed->data : STR("[]"));
}

/* Our page with this question, for clients that cannot show it themselves. */
static void write_link(struct jsonw *w, struct str link, struct str id)
{
    struct buf url;
    if (!link.len) return;
    buf_init(&url, 0);
    buf_str(&url, link);
    buf_lit(&url, "/a/");
    buf_str(&url, id);
    jw_kbuf(w, "link", &url);
    buf_done(&url);
}

static void write_interrupt(struct jsonw *w, const struct call *c, const struct fact *asked,
                            struct str link)
{
    jw_obj(w);
    jw_kstr(w, "id", asked->id);
    jw_kstrz(w, "reason", asked->schema.ptr ? "input_required" : "tool_call");
    jw_kstr(w, "toolCallId", agui_root(c)->id);
    jw_kstr(w, "message", asked->ask);
    if (asked->expires_ms) write_time(w, "expiresAt", asked->expires_ms);
    write_response_schema(w, asked);
    jw_key(w, "metadata");
    jw_obj(w);
    jw_key(w, "parley");
    jw_obj(w);
    jw_kstr(w, "tool", c->tool);
    if (asked->risk.len) jw_kstr(w, "risk", asked->risk);
    if (asked->digest.len) jw_kstr(w, "argsSha256", asked->digest);
    if (asked->offer.ptr) jw_kraw(w, "grant", asked->offer);
    if (asked->edit.ptr) jw_kraw(w, "edit", asked->edit);
    write_link(w, link, asked->id);
    write_replaced(w, c);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
}

static bool is_open(const struct call *c, const struct run *r, uint64_t seq)
{
    return c->run == r && c->step_seq <= seq && !(c->finished && c->finished->seq <= seq);
}

/* The question of this run that was asked first after `after`; NULL: there is none. */
static const struct call *next_question(const struct fold *f, const struct run *r, uint64_t seq,
                                        uint64_t after, const struct fact **asked)
{
    const struct call *found = NULL;
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++) {
        const struct call         *c = f->calls[i];
        const struct confirmation *k = is_open(c, r, seq) ? call_open_at(c, seq) : NULL;
        const struct fact         *a = k ? k->asked : NULL;
        if (!a || a->seq <= after || (found && a->seq >= (*asked)->seq)) continue;
        found = c;
        *asked = a;
    }
    return found;
}

/* In the order they were asked. False: nobody is. */
static bool write_interrupts(struct jsonw *w, const struct fold *f, const struct agui_ending *x)
{
    const struct fact *asked = NULL;
    const struct call *c = next_question(f, x->run, x->seq, 0, &asked);
    if (!c) return false;
    jw_kstrz(w, "type", "interrupt");
    jw_key(w, "interrupts");
    jw_arr(w);
    for (; c; c = next_question(f, x->run, x->seq, asked->seq, &asked))
        write_interrupt(w, c, asked, x->names.link);
    jw_end_arr(w);
    return true;
}

static void write_pending(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq)
{
    jw_key(w, "pendingToolCallIds");
    jw_arr(w);
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++)
        if (is_open(f->calls[i], r, seq) && f->calls[i]->client) jw_str(w, f->calls[i]->id);
    jw_end_arr(w);
}

static bool is_of(const struct fact *x, struct str provider, struct str model)
{
    return x->kind == FACT_STEP && str_eq(x->provider, provider) && str_eq(x->model, model);
}

static void write_entry(struct jsonw *w, const struct fact *step, int64_t in, int64_t out)
{
    jw_obj(w);
    if (step->provider.len) jw_kstr(w, "provider", step->provider);
    if (step->model.len) jw_kstr(w, "model", step->model);
    jw_kint(w, "inputTokens", in);
    jw_kint(w, "outputTokens", out);
    jw_kint(w, "totalTokens", in + out);
    jw_end_obj(w);
}

/* The model calls after `from`, one entry for each model. */
static void write_usage(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t from,
                        uint64_t seq)
{
    uint64_t begin = from > r->first->seq ? from : r->first->seq;
    bool     any = false;
    for (uint64_t s = begin + 1; s <= seq && s <= f->count; s++) {
        const struct fact *x = f->facts[s - 1];
        int64_t            in = 0, out = 0;
        bool               seen = x->kind != FACT_STEP || str_is(x->provider, SPEND_PROVIDER);
        for (uint64_t k = begin + 1; k < s && !seen; k++)
            seen = is_of(f->facts[k - 1], x->provider, x->model);
        if (seen) continue;
        for (uint64_t k = s; k <= seq; k++) {
            if (!is_of(f->facts[k - 1], x->provider, x->model)) continue;
            in += f->facts[k - 1]->input_tokens;
            out += f->facts[k - 1]->output_tokens;
        }
        if (!any) jw_key(w, "usage"), jw_arr(w);
        any = true;
        write_entry(w, x, in, out);
    }
    if (any) jw_end_arr(w);
}

static void write_place(struct jsonw *w, const struct agui_ending *x)
{
    jw_kstr(w, "threadId", x->names.thread);
    jw_kstr(w, "runId", x->names.segment);
}

static void write_result(struct jsonw *w, const struct agui_ending *x)
{
    jw_key(w, "result");
    jw_obj(w);
    payload_write(w, thread_fold(x->thread), x->run, x->seq, thread_id(x->thread), 0);
    jw_end_obj(w);
}

/* The members of RUN_FINISHED where the run waits (`open`) or has come to its end. */
static void write_finished(struct jsonw *w, const struct agui_ending *x, bool open)
{
    const struct fold *f = thread_fold(x->thread);
    write_place(w, x);
    write_result(w, x);
    jw_key(w, "outcome");
    jw_obj(w);
    if (!open || !write_interrupts(w, f, x)) {
        jw_kstrz(w, "type", "success");
        if (open && !x->names.older) write_pending(w, f, x->run, x->seq);
    }
    jw_end_obj(w);
    write_usage(w, f, x->run, x->from, x->seq);
}

static void write_cancelled(struct jsonw *w, const struct agui_ending *x)
{
    if (x->names.older) {
        jw_kstrz(w, "message", "The answer was stopped.");
        jw_kstrz(w, "code", "cancelled");
    } else {
        write_place(w, x);
        jw_kraw(w, "outcome", STR("{\"type\":\"cancelled\"}"));
    }
    write_usage(w, thread_fold(x->thread), x->run, x->from, x->seq);
}

static void write_failed(struct jsonw *w, const struct agui_ending *x)
{
    jw_kstr(w, "message", x->run->ended->text);
    jw_kstr(w, "code", x->run->ended->code);
    write_usage(w, thread_fold(x->thread), x->run, x->from, x->seq);
}

const char *agui_ending_type(const struct agui_ending *x, bool open)
{
    enum word how = open ? WORD_COMPLETE : x->run->ended->outcome;
    if (how == WORD_ERROR || (how == WORD_CANCELLED && x->names.older)) return "RUN_ERROR";
    return "RUN_FINISHED";
}

void agui_write_ending(struct jsonw *w, const struct agui_ending *x, bool open)
{
    if (open || x->run->ended->outcome == WORD_COMPLETE) write_finished(w, x, open);
    else if (x->run->ended->outcome == WORD_CANCELLED) write_cancelled(w, x);
    else write_failed(w, x);
}

/* --- for the door ----------------------------------------------------------------------------- */

void agui_write_verdict(struct jsonw *w, const struct fact *f, const char *yours)
{
    agui_write_custom(w, "approval_resolved");
    jw_kstr(w, "interruptId", f->id);
    jw_kstrz(w, "decision", word_name(f->outcome));
    if (f->by.len) jw_kstr(w, "by", f->by);
    if (yours) jw_kstrz(w, "yours", yours);
    jw_end_obj(w);
}

static void begin_event(struct buf *out, struct jsonw *w, const char *type)
{
    buf_lit(out, "data: ");
    jsonw_init(w, out);
    jw_obj(w);
    jw_kstrz(w, "type", type);
}

static void end_event(struct buf *out, struct jsonw *w)
{
    jw_end_obj(w);
    buf_lit(out, "\n\n");
}

void agui_started(struct buf *out, const struct agui_names *n)
{
    struct jsonw w;
    begin_event(out, &w, "RUN_STARTED");
    jw_kstr(&w, "threadId", n->thread);
    jw_kstr(&w, "runId", n->segment);
    if (!n->older) jw_kstrz(&w, "protocolVersion", "1.0");
    end_event(out, &w);
}

void agui_error(struct buf *out, const char *code, const char *message)
{
    struct jsonw w;
    begin_event(out, &w, "RUN_ERROR");
    jw_kstrz(&w, "message", message);
    jw_kstrz(&w, "code", code);
    end_event(out, &w);
}

void agui_resolved(struct buf *out, const struct fact *verdict, const char *yours)
{
    struct jsonw w;
    begin_event(out, &w, "CUSTOM");
    agui_write_verdict(&w, verdict, yours);
    end_event(out, &w);
}

void agui_finished(struct buf *out, const struct agui_names *n, const struct thread *t,
                   const struct run *r)
{
    struct jsonw       w;
    uint64_t           head = t ? thread_committed(t) : 0;
    struct agui_ending x = { *n, t, r, head, head }; /* no model call is told here */
    if (!r) {
        begin_event(out, &w, "RUN_FINISHED");
        write_place(&w, &x);
        jw_kraw(&w, "outcome", STR("{\"type\":\"success\"}"));
    } else {
        begin_event(out, &w, agui_ending_type(&x, !r->ended));
        agui_write_ending(&w, &x, !r->ended);
    }
    end_event(out, &w);
}
