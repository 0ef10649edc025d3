/* spans.c -- see spans.h. */
#include "run/spans.h"

#include <stdio.h>

#include "base/jsonw.h"
#include "base/sha256.h"

enum { TRACE_AT = 3, TRACE_LEN = 32, SPAN_AT = 36, SPAN_LEN = 16, FLAGS_AT = 53 };
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

/* --- ids -------------------------------------------------------------------------------------- */

static bool is_hex(struct str s, bool *zeros)
{
    *zeros = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
        if (c != '0') *zeros = false;
    }
    return true;
}

bool spans_valid(struct str t)
{
    bool no_trace, no_span, any;
    return t.len == TRACEPARENT - 1 && str_starts(t, STR("00-")) && t.ptr[SPAN_AT - 1] == '-' &&
           t.ptr[FLAGS_AT - 1] == '-' && is_hex(str_n(t.ptr + TRACE_AT, TRACE_LEN), &no_trace) &&
           is_hex(str_n(t.ptr + SPAN_AT, SPAN_LEN), &no_span) &&
           is_hex(str_n(t.ptr + FLAGS_AT, 2), &any) && !no_trace && !no_span;
}

/* So many digits that depend on all of this. */
static void digits(char *out, size_t len, const char *kind, struct str run, struct str what)
{
    struct sha256 h;
    uint8_t       sum[SHA256_LEN];
    sha256_begin(&h);
    sha256_text(&h, str_c(kind));
    sha256_text(&h, run);
    sha256_text(&h, what);
    sha256_end(&h, sum);
    sha256_hex(sum, len / 2, out);
}

static void trace_id(const struct run *r, char out[TRACE_LEN + 1])
{
    struct str from = r->first->trace;
    if (!spans_valid(from)) {
        digits(out, TRACE_LEN, "trace", r->id, STR_NONE);
        return;
    }
    memcpy(out, from.ptr + TRACE_AT, TRACE_LEN);
    out[TRACE_LEN] = '\0';
}

static const char *flags(const struct run *r)
{
    struct str from = r->first->trace;
    bool       wanted = !spans_valid(from) || strchr("13579bdf", from.ptr[FLAGS_AT + 1]);
    return wanted ? "01" : "00";
}

static void step_id(const struct run *r, uint64_t upto, char out[SPAN_LEN + 1])
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)upto);
    digits(out, SPAN_LEN, "step", r->id, str_c(text));
}

static void parent(const struct run *r, const char *span, char out[TRACEPARENT])
{
    char trace[TRACE_LEN + 1];
    trace_id(r, trace);
    snprintf(out, TRACEPARENT, "00-%s-%s-%s", trace, span, flags(r));
}

void spans_step(const struct run *r, uint64_t upto, char out[TRACEPARENT])
{
    char span[SPAN_LEN + 1];
    step_id(r, upto, span);
    parent(r, span, out);
}

void spans_call(const struct run *r, struct str call, char out[TRACEPARENT])
{
    char span[SPAN_LEN + 1];
    digits(span, SPAN_LEN, "call", r->id, call);
    parent(r, span, out);
}

/* --- one span --------------------------------------------------------------------------------- */

struct writing {
    struct jsonw      w;
    const struct run *run;
    struct log_name   log;
    char              trace[TRACE_LEN + 1], root[SPAN_LEN + 1];
    unsigned          count;
};

/* {"key":KEY,"value":{ ... }} */
static void begin_value(struct jsonw *w, const char *key)
{
    jw_obj(w);
    jw_kstrz(w, "key", key);
    jw_key(w, "value");
    jw_obj(w);
}
static void end_value(struct jsonw *w)
{
    jw_end_obj(w);
    jw_end_obj(w);
}

static void put_text(struct jsonw *w, const char *key, struct str v)
{
    if (!v.len) return;
    begin_value(w, key);
    jw_kstr(w, "stringValue", v);
    end_value(w);
}

/* A list with one member, where the conventions have a list. */
static void put_list(struct jsonw *w, const char *key, struct str v)
{
    if (!v.len) return;
    begin_value(w, key);
    jw_key(w, "arrayValue");
    jw_obj(w);
    jw_key(w, "values");
    jw_arr(w);
    jw_obj(w);
    jw_kstr(w, "stringValue", v);
    jw_end_obj(w);
    jw_end_arr(w);
    jw_end_obj(w);
    end_value(w);
}

/* 64 bits are text in OTLP's JSON. */
static void put_int(struct jsonw *w, const char *key, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    begin_value(w, key);
    jw_kstrz(w, "intValue", text);
    end_value(w);
}

static void put_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[32];
    snprintf(text, sizeof text, "%lld000000", (long long)(ms > 0 ? ms : 0));
    jw_kstrz(w, key, text);
}

struct span {
    const char    *id, *operation;
    struct str     parent, subject;
    enum span_kind kind;
    int64_t        from_ms, to_ms;
};

/* Its attributes are open afterwards. */
static void begin(struct writing *k, const struct span *s)
{
    struct jsonw *w = &k->w;
    char          name[200];
    snprintf(name, sizeof name, "%s " STR_FMT, s->operation, STR_ARG(str_cut(s->subject, 150)));
    if (k->count++) buf_chr(w->out, ',');
    jsonw_init(w, w->out);
    jw_obj(w);
    jw_kstrz(w, "traceId", k->trace);
    jw_kstrz(w, "spanId", s->id);
    if (s->parent.len) jw_kstr(w, "parentSpanId", s->parent);
    jw_kstrz(w, "name", name);
    jw_kint(w, "kind", s->kind);
    put_time(w, "startTimeUnixNano", s->from_ms);
    put_time(w, "endTimeUnixNano", s->to_ms > s->from_ms ? s->to_ms : s->from_ms);
    jw_key(w, "attributes");
    jw_arr(w);
    put_text(w, "gen_ai.operation.name", str_c(s->operation));
    put_text(w, "gen_ai.conversation.id", k->log.thread);
    put_text(w, "parley.run", k->run->id);
}

static void end(struct writing *k, struct str error)
{
    struct jsonw *w = &k->w;
    put_text(w, "error.type", error);
    jw_end_arr(w);
    if (error.len) {
        jw_key(w, "status");
        jw_obj(w);
        jw_kint(w, "code", 2);
        jw_kstr(w, "message", error);
        jw_end_obj(w);
    }
    jw_end_obj(w);
}

/* --- the spans of a run ----------------------------------------------------------------------- */

static void write_root(struct writing *k)
{
    const struct run  *r = k->run;
    const struct fact *e = r->ended;
    struct str         from = r->first->trace;
    bool               known = spans_valid(from);
    struct str         above = known ? str_n(from.ptr + SPAN_AT, SPAN_LEN) : STR_NONE;
    begin(k, &(struct span){ k->root, "invoke_agent", above, r->page.len ? r->page : STR("parley"),
                             SPAN_SERVER, r->first->at_ms, e->at_ms });
    put_text(&k->w, "gen_ai.agent.name", r->page.len ? r->page : STR("parley"));
    put_text(&k->w, "parley.outcome", str_c(word_name(e->outcome)));
    put_int(&k->w, "gen_ai.usage.input_tokens", e->input_tokens);
    put_int(&k->w, "gen_ai.usage.output_tokens", e->output_tokens);
    end(k, e->outcome == WORD_ERROR ? e->code.len ? e->code : STR("error") : STR_NONE);
}

static void write_step(struct writing *k, const struct fact *x)
{
    char id[SPAN_LEN + 1];
    bool failed = x->kind == FACT_ENDED || str_is(x->stop, "error");
    step_id(k->run, (uint64_t)x->upto, id);
    begin(k, &(struct span){ id, "chat", str_c(k->root), x->model, SPAN_CLIENT, x->at_ms - x->ms,
                             x->at_ms });
    put_text(&k->w, "gen_ai.provider.name", x->provider);
    put_text(&k->w, "gen_ai.request.model", x->model);
    if (x->kind == FACT_STEP) {
        put_list(&k->w, "gen_ai.response.finish_reasons", x->stop);
        put_int(&k->w, "gen_ai.usage.input_tokens", x->input_tokens);
        put_int(&k->w, "gen_ai.usage.output_tokens", x->output_tokens);
        put_int(&k->w, "parley.first_ms", x->first_ms);
    }
    end(k, !failed ? STR_NONE : x->code.len ? x->code : STR("model_error"));
}

/* What ran, or would have: who was asked said no, or nobody did in time. */
static void write_call(struct writing *k, const struct call *c)
{
    const struct fact *from = c->started ? c->started : c->asked;
    const struct fact *over = c->finished ? c->finished : k->run->ended;
    enum word          outcome = c->finished ? c->finished->outcome : WORD_UNKNOWN;
    char               id[SPAN_LEN + 1];
    if (!from) return;
    digits(id, SPAN_LEN, "call", k->run->id, c->id);
    begin(k, &(struct span){ id, "execute_tool", str_c(k->root), c->tool, SPAN_INTERNAL,
                             from->at_ms, over->at_ms });
    put_text(&k->w, "gen_ai.tool.name", c->tool);
    put_text(&k->w, "gen_ai.tool.call.id", c->id);
    put_text(&k->w, "parley.outcome", str_c(word_name(outcome)));
    if (c->decided) put_text(&k->w, "parley.decision", str_c(word_name(c->decided->outcome)));
    if (c->asked && c->decided)
        put_int(&k->w, "parley.waited_ms", c->decided->at_ms - c->asked->at_ms);
    end(k, outcome == WORD_DONE || outcome == WORD_DUPLICATE || outcome == WORD_REPLACED
               ? STR_NONE
               : str_c(word_name(outcome)));
}

unsigned spans_write(struct buf *out, const struct fold *f, const struct run *r,
                     struct log_name log)
{
    struct writing k = { .run = r, .log = log };
    if (!r->ended || strcmp(flags(r), "01") != 0) return 0;
    jsonw_init(&k.w, out);
    trace_id(r, k.trace);
    digits(k.root, SPAN_LEN, "run", r->id, STR_NONE);
    write_root(&k);
    for (uint64_t s = r->first->seq; s < r->ended->seq; s++) {
        const struct fact *x = f->facts[s - 1];
        if (x->kind == FACT_STEP && x->basis.len) write_step(&k, x);
    }
    if (r->ended->basis.len) write_step(&k, r->ended);
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++)
        if (f->calls[i]->gate != GATE_REPLY) write_call(&k, f->calls[i]);
    return out->err ? 0 : k.count;
}
