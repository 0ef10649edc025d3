/* payload.c -- see payload.h. */
#include "dialect/payload.h"

#include "base/clock.h"
#include "run/approval.h"
#include "run/marker.h"

bool call_ok(const struct call *c)
{
    return call_succeeded(c);
}

static bool is_card(const struct fact *f, const struct call *c)
{
    return f->kind == FACT_FINISHED && c && c->gate != GATE_REPLY && !call_is_inner(c);
}

static void weave_step(struct marker_weave *w, struct buf *out, const struct fact *f)
{
    for (size_t i = 0; i < f->parts_count; i++) {
        if (f->parts[i].type != STEP_TEXT) continue;
        marker_paragraph(w);
        marker_words(w, out, f->parts[i].text, true);
    }
}

void payload_message(struct buf *out, const struct fold *f, const struct run *r, uint64_t seq)
{
    struct marker_weave w = { 0 };
    unsigned            index = 0;
    for (uint64_t s = r->first->seq; s <= seq && s <= f->count; s++) {
        const struct fact *x = f->facts[s - 1];
        if (s > r->first->seq && x->run.ptr && !str_eq(x->run, r->id)) break;
        if (x->kind == FACT_STEP) weave_step(&w, out, x);
        if (x->kind == FACT_FINISHED && is_card(x, fold_call(f, x->call)))
            marker_put(&w, out, index++);
    }
}

void payload_input(struct jsonw *w, const char *key, const struct call *c)
{
    jw_kraw(w, key, c->args ? c->input : STR("null"));
}

void payload_output(struct jsonw *w, const char *key, const struct call *c)
{
    if (c->finished->value.ptr) jw_kraw(w, key, c->finished->value);
    else jw_kstr(w, key, c->finished->text);
}

/* What went wrong, in words for people: a JSON {"error":...} gives its sentence. */
static struct str error_text(struct arena *a, const struct call *c)
{
    struct jv *v;
    struct str text = c->finished->text, inner;
    if (c->finished->outcome == WORD_DENIED) return STR("User denied execution");
    if (c->finished->outcome == WORD_EXPIRED) return STR("Approval request timed out");
    if (text.len && text.ptr[0] == '{' && json_parse(a, text, &v, NULL) == OK &&
        (inner = jv_str_at(v, "error")).len)
        text = inner;
    return text.len ? text : STR("It failed.");
}

void payload_error(struct jsonw *w, const char *key, const struct call *c)
{
    struct arena a;
    arena_init(&a, 0);
    jw_kstr(w, key, error_text(&a, c));
    arena_done(&a);
}

const char *payload_cut(const struct run *r)
{
    if (!r->ended || r->ended->outcome != WORD_COMPLETE) return NULL;
    return str_is(r->last_stop, "length")    ? "length"
           : str_is(r->last_stop, "refusal") ? "content-filter"
                                             : NULL;
}

void payload_progress(struct jsonw *w, const struct call *c)
{
    jw_key(w, "stage");
    jw_str_or_null(w, c->stage);
    jw_key(w, "message");
    jw_str_or_null(w, c->message);
    jw_key(w, "progress");
    if (c->progress < 0) jw_null(w);
    else jw_f64(w, c->progress);
}

void payload_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    jw_key(w, key);
    if (!ms) {
        jw_null(w);
        return;
    }
    clock_rfc3339(ms, text);
    jw_strz(w, text);
}

void payload_gate(struct jsonw *w, const char *id_key, const struct fold *f, const struct call *c,
                  const struct fact *a)
{
    jw_kstr(w, id_key, a->id);
    jw_kstr(w, "tool", c->tool);
    jw_kstr(w, "tool_use_id", c->id);
    payload_input(w, "input", c);
    jw_kstr(w, "ask", a->ask);
    jw_key(w, "risk");
    jw_str_or_null(w, a->risk);
    payload_time(w, "expires_at", a->expires_ms);
    if (a->schema.ptr) jw_kraw(w, "schema", a->schema);
    approval_write_terms(w, f, a);
}

/* The card says why, with the person's own words where there are some. */
static void write_why(struct jsonw *w, const struct call *c)
{
    struct str reason = c->decided ? c->decided->reason : STR_NONE;
    struct buf b;
    if (call_ok(c)) {
        jw_kstr(w, "output", c->finished->text);
        return;
    }
    if (c->finished->outcome != WORD_DENIED || !reason.len) {
        payload_error(w, "output", c);
        return;
    }
    buf_init(&b, 0);
    buf_lit(&b, "User denied execution: ");
    buf_str(&b, reason);
    jw_kbuf(w, "output", &b);
    buf_done(&b);
}

static void write_history_entry(struct jsonw *w, const struct call *c)
{
    jw_obj(w);
    jw_kstr(w, "tool_name", c->tool);
    payload_input(w, "input", c);
    write_why(w, c);
    jw_kstr(w, "tool_use_id", c->id);
    jw_kbool(w, "ok", call_ok(c));
    jw_kint(w, "ms", c->finished->ms);
    jw_kstrz(w, "outcome", word_name(c->finished->outcome));
    if (c->finished->value.ptr) jw_kraw(w, "value", c->finished->value);
    if (c->finished->note.len) jw_kstr(w, "note", c->finished->note);
    jw_end_obj(w);
}

/* The outcomes of the run in the order they were told: entry N is marker N. */
static size_t write_history(struct jsonw *w, const struct fold *f, const struct run *r,
                            uint64_t seq)
{
    size_t n = 0;
    jw_arr(w);
    for (uint64_t s = r->first->seq; s <= seq && s <= f->count; s++) {
        const struct fact *x = f->facts[s - 1];
        const struct call *c = x->kind == FACT_FINISHED ? fold_call(f, x->call) : NULL;
        if (!c || c->run != r || !is_card(x, c)) continue;
        write_history_entry(w, c);
        n++;
    }
    jw_end_arr(w);
    return n;
}

static bool has_history(const struct fold *f, const struct run *r, uint64_t seq)
{
    for (size_t i = f->call_count; i-- > 0;) {
        const struct call *c = f->calls[i];
        if (c->run == r && c->gate != GATE_REPLY && c->finished && c->finished->seq <= seq)
            return true;
    }
    return false;
}

void payload_summary(struct jsonw *w, const struct fact *f)
{
    jw_obj(w);
    jw_kstr(w, "text", f->text);
    jw_kint(w, "from", f->from);
    jw_kint(w, "upto", f->upto);
    jw_end_obj(w);
}

bool payload_suggestions(struct jsonw *w, const struct run *r)
{
    bool values = r->replies.ptr && r->replies.len > 2,
         actions = r->actions.ptr && r->actions.len > 2;
    if (values) jw_kraw(w, "suggested_values", r->replies);
    if (actions) jw_kraw(w, "suggested_actions", r->actions);
    return values || actions;
}

/* The button says what is answered: a client may show nothing else of the question. */
static void write_action(struct jsonw *w, const char *verb, const char *action,
                         const struct fact *asked, const char *style)
{
    struct buf label;
    buf_init(&label, 0);
    buf_printf(&label, "%s: ", verb);
    buf_str(&label, asked->ask);
    jw_obj(w);
    jw_kbuf(w, "label", &label);
    buf_done(&label);
    jw_kstrz(w, "action", action);
    jw_kstrz(w, "handler", "server");
    jw_key(w, "data");
    jw_obj(w);
    jw_kstr(w, "confirmation_id", asked->id);
    jw_end_obj(w);
    jw_kstrz(w, "style", style);
    jw_end_obj(w);
}

/* A call that a person made another of is over as far as anybody waits for it: the other one is
 * waited for, from when it was proposed. */
static bool open_at(const struct call *c, const struct run *r, uint64_t seq)
{
    uint64_t since = c->proposed ? c->proposed->seq : c->step_seq;
    return c->run == r && since <= seq && !(c->finished && c->finished->seq <= seq) &&
           !(c->replaced_by && c->decided && c->decided->seq <= seq);
}

/* What the run waits for, and the buttons that answer it. */
static void write_awaiting(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq)
{
    size_t gates = 0;
    jw_key(w, "awaiting");
    jw_arr(w);
    for (size_t i = 0; i < f->call_count; i++) {
        if (!open_at(f->calls[i], r, seq)) continue;
        const struct confirmation *k = call_open_at(f->calls[i], seq);
        jw_str(w, k ? k->asked->id : f->calls[i]->id);
        gates += k != NULL;
    }
    jw_end_arr(w);
    if (!gates) return;
    jw_key(w, "suggested_actions");
    jw_arr(w);
    for (size_t i = 0; i < f->call_count; i++) {
        const struct confirmation *k =
            open_at(f->calls[i], r, seq) ? call_open_at(f->calls[i], seq) : NULL;
        if (!k) continue;
        write_action(w, "Approve", "approve", k->asked, "primary");
        write_action(w, "Deny", "deny", k->asked, "secondary");
    }
    jw_end_arr(w);
}

static void write_custom(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq)
{
    if (r->custom.ptr && r->ended && r->ended->seq <= seq) {
        jw_kraw(w, "custom_payload", r->custom);
        return;
    }
    if (!has_history(f, r, seq)) return;
    jw_key(w, "custom_payload");
    jw_obj(w);
    jw_kstrz(w, "type", "tool_history");
    jw_key(w, "data");
    write_history(w, f, r, seq);
    jw_end_obj(w);
}

static void put_usage(struct jsonw *w, int64_t in, int64_t out)
{
    jw_key(w, "usage");
    jw_obj(w);
    jw_kint(w, "input_tokens", in);
    jw_kint(w, "output_tokens", out);
    jw_end_obj(w);
}

bool payload_counted(const struct run *r)
{
    return r->input_tokens + r->output_tokens > 0;
}

void payload_usage(struct jsonw *w, const struct run *r)
{
    put_usage(w, r->input_tokens, r->output_tokens);
}

static void write_usage(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq)
{
    int64_t in = 0, out = 0;
    for (uint64_t s = r->first->seq; s <= seq && s <= f->count; s++) {
        const struct fact *x = f->facts[s - 1];
        if (x->kind != FACT_STEP || !str_eq(x->run, r->id)) continue;
        in += x->input_tokens;
        out += x->output_tokens;
    }
    put_usage(w, in, out);
}

/* Words are only ever added: what was told before is the beginning of the whole. */
static void write_message(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq,
                          uint64_t from)
{
    struct buf all, before;
    buf_init(&all, 0);
    buf_init(&before, 0);
    payload_message(&all, f, r, seq);
    jw_kbuf(w, "message", &all);
    if (from >= r->first->seq) {
        payload_message(&before, f, r, from);
        jw_kbool(w, "continues", true);
        jw_kstr(w, "new_message", str_from(buf_view(&all), before.len));
    }
    buf_done(&all);
    buf_done(&before);
}

void payload_write(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq,
                   struct str thread, uint64_t from)
{
    write_message(w, f, r, seq, from);
    jw_kstr(w, "thread_id", thread);
    jw_kstr(w, "conversation_id", thread);
    jw_kstr(w, "run_id", r->id);
    if (has_history(f, r, seq)) {
        jw_key(w, "tool_history");
        write_history(w, f, r, seq);
    }
    if (!r->ended || r->ended->seq > seq) write_awaiting(w, f, r, seq);
    else {
        payload_suggestions(w, r);
        if (payload_cut(r)) jw_kstrz(w, "finish_reason", payload_cut(r));
    }
    write_custom(w, f, r, seq);
    write_usage(w, f, r, seq);
}
