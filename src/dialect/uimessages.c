/* uimessages.c -- see uimessages.h. States of tool parts: ai-sdk-ui-stream section 5. */
#include "dialect/uimessages.h"

#include "base/clock.h"
#include "dialect/payload.h"
#include "run/history.h"

void uimessage_confirmation_input(struct jsonw *w, const char *key, const struct call *c,
                                  const struct fact *a)
{
    char time[CLOCK_RFC3339_LEN + 1];
    jw_key(w, key);
    jw_obj(w);
    jw_key(w, "originalFunctionCall");
    jw_obj(w);
    jw_kstr(w, "id", c->id);
    jw_kstr(w, "name", c->tool);
    payload_input(w, "args", c);
    jw_end_obj(w);
    jw_key(w, "toolConfirmation");
    jw_obj(w);
    jw_kstr(w, "hint", a->ask);
    jw_kbool(w, "confirmed", false);
    jw_end_obj(w);
    if (a->expires_ms) {
        clock_rfc3339(a->expires_ms, time);
        jw_kstrz(w, "expiresAt", time);
    }
    jw_key(w, "risk");
    jw_str_or_null(w, a->risk);
    jw_kstr(w, "argsSha256", a->digest);
    jw_end_obj(w);
}

static void begin_part(struct jsonw *w, struct str tool, struct str id, const char *state)
{
    char type[256];
    snprintf(type, sizeof type, "tool-" STR_FMT, STR_ARG(str_cut(tool, 200)));
    jw_obj(w);
    jw_kstrz(w, "type", type);
    jw_kstr(w, "toolCallId", id);
    jw_kstrz(w, "state", state);
}

/* Only where the SDK's own validation wants it: on the question, on what was granted and has an
 * outcome, on what was denied. */
static void write_approval(struct jsonw *w, const struct call *c)
{
    const struct fact *d = c->decided;
    bool               yes = d && d->outcome == WORD_APPROVED, no = d && d->outcome == WORD_DENIED;
    if (c->state != CALL_ASKED && !no && !(yes && c->finished)) return;
    jw_key(w, "approval");
    jw_obj(w);
    jw_kstr(w, "id", c->asked->id);
    if (yes || no) jw_kbool(w, "approved", yes);
    if ((yes || no) && d->reason.len) jw_kstr(w, "reason", d->reason);
    jw_end_obj(w);
}

static const char *part_state(const struct call *c, enum approval_form form)
{
    if (!c->finished)
        return c->state == CALL_ASKED && form == FORM_NATIVE ? "approval-requested"
                                                             : "input-available";
    if (call_succeeded(c)) return "output-available";
    return c->finished->outcome == WORD_DENIED && form == FORM_NATIVE ? "output-denied"
                                                                      : "output-error";
}

static void write_outcome(struct jsonw *w, const struct call *c, const char *state)
{
    if (!c->finished || strcmp(state, "output-denied") == 0) return;
    if (call_succeeded(c)) payload_output(w, "output", c);
    else payload_error(w, "errorText", c);
}

/* The confirmation as a client tool of its own. */
static void write_confirmation(struct jsonw *w, const struct call *c)
{
    begin_part(w, STR("adk_request_confirmation"), c->asked->id, "input-available");
    uimessage_confirmation_input(w, "input", c, c->asked);
    jw_end_obj(w);
}

/* One call as a tool part (and, in the adk form while it waits, as its confirmation's part). */
static void write_tool(struct jsonw *w, const struct call *c, enum approval_form form)
{
    if (form == FORM_ADK && c->state == CALL_ASKED) {
        write_confirmation(w, c);
        return;
    }
    const char *state = part_state(c, form);
    begin_part(w, c->tool, c->id, state);
    payload_input(w, "input", c);
    write_outcome(w, c, state);
    bool native_gate = form == FORM_NATIVE && c->asked;
    if (native_gate) write_approval(w, c);
    if ((!c->client && !native_gate) || (c->client && c->finished))
        jw_kbool(w, "providerExecuted", true);
    jw_end_obj(w);
    /* what a person made of it, where others were asked about that */
    if (c->replaced_by && c->replaced_by->asked) write_tool(w, c->replaced_by, form);
}

/* --- messages ------------------------------------------------------------------------------ */

static void text_part(struct jsonw *w, const char *type, struct str text)
{
    jw_obj(w);
    jw_kstrz(w, "type", type);
    jw_kstr(w, "text", text);
    jw_kstrz(w, "state", "done");
    jw_end_obj(w);
}

static void write_user(struct jsonw *w, const struct fact *f)
{
    char         time[CLOCK_RFC3339_LEN + 1];
    struct arena a;
    struct jv   *files = NULL;
    arena_init(&a, 0);
    clock_rfc3339(f->at_ms, time);
    jw_obj(w);
    jw_kstr(w, "id", f->id);
    jw_kstrz(w, "role", "user");
    jw_key(w, "metadata");
    jw_obj(w);
    jw_kstrz(w, "createdAt", time);
    jw_end_obj(w);
    jw_key(w, "parts");
    jw_arr(w);
    if (f->files.ptr && json_parse(&a, f->files, &files, NULL) == OK) {
        JV_EACH (v, files) jw_jv(w, v);
    }
    jw_obj(w);
    jw_kstrz(w, "type", "text");
    jw_kstr(w, "text", f->text);
    jw_end_obj(w);
    jw_end_arr(w);
    jw_end_obj(w);
    arena_done(&a);
}

static void step_start(struct jsonw *w)
{
    jw_obj(w);
    jw_kstrz(w, "type", "step-start");
    jw_end_obj(w);
}

static void write_part(struct jsonw *w, const struct part *p, const struct call *c,
                       enum approval_form form)
{
    if (p->type == STEP_TEXT && p->text.len) text_part(w, "text", p->text);
    if (p->type == STEP_REASONING && p->text.len) text_part(w, "reasoning", p->text);
    if (c && c->gate != GATE_REPLY) write_tool(w, c, form);
}

/* In the adk form the questions stand in a step of their own, after what needed none: as they were
 * streamed. */
static void write_step(struct jsonw *w, const struct fold *fold, const struct fact *f,
                       enum approval_form form)
{
    for (int questions = 0; questions < 2; questions++) {
        bool begun = false;
        for (size_t i = 0; i < f->parts_count; i++) {
            const struct part *p = &f->parts[i];
            const struct call *c = p->type == STEP_CALL ? fold_call(fold, p->call) : NULL;
            bool               question = form == FORM_ADK && c && c->state == CALL_ASKED;
            if (question != (questions == 1) || (c && c->gate == GATE_REPLY)) continue;
            if (!begun) step_start(w);
            begun = true;
            write_part(w, p, c, form);
        }
    }
}

static void write_summary(struct jsonw *w, const struct fact *f)
{
    jw_obj(w);
    jw_kstrz(w, "type", "data-summary");
    jw_key(w, "data");
    payload_summary(w, f);
    jw_end_obj(w);
}

static void write_payload(struct jsonw *w, const struct run *r)
{
    if (!r->replies.ptr && !r->actions.ptr && !r->custom.ptr) return;
    jw_obj(w);
    jw_kstrz(w, "type", "data-payload");
    jw_key(w, "data");
    jw_obj(w);
    payload_suggestions(w, r);
    if (r->custom.ptr) jw_kraw(w, "custom_payload", r->custom);
    jw_end_obj(w);
    jw_end_obj(w);
}

/* How long each call took, by its id: who comes later cannot measure it. */
static void write_durations(struct jsonw *w, const struct fold *f, const struct run *r)
{
    jw_key(w, "toolMs");
    jw_obj(w);
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++) {
        const struct call *c = f->calls[i];
        if (!c->finished || !(c->started || c->replaced_by)) continue;
        jw_key_str(w, c->id);
        jw_int(w, c->finished->ms);
    }
    jw_end_obj(w);
}

static void write_metadata(struct jsonw *w, const struct fold *fold, const struct run *r)
{
    char time[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(r->first->at_ms, time);
    jw_key(w, "metadata");
    jw_obj(w);
    jw_kstr(w, "run", r->id);
    jw_kstrz(w, "createdAt", time);
    jw_kstrz(w, "outcome", r->ended ? word_name(r->ended->outcome) : "waiting");
    if (r->ended && r->ended->outcome == WORD_ERROR) {
        jw_key(w, "error");
        jw_obj(w);
        jw_kstr(w, "message", r->ended->text);
        jw_kstr(w, "code", r->ended->code);
        jw_kbool(w, "retryable", r->ended->retryable);
        jw_end_obj(w);
    }
    if (r->ended && payload_counted(r)) payload_usage(w, r);
    if (payload_cut(r)) jw_kstrz(w, "finishReason", payload_cut(r));
    if (r->ended && r->ended->code.len && r->ended->outcome == WORD_CANCELLED)
        jw_kstr(w, "reason", r->ended->code);
    write_durations(w, fold, r);
    jw_end_obj(w);
}

static void write_assistant(struct jsonw *w, const struct fold *fold, const struct run *r,
                            const struct fact **v, size_t n, enum approval_form form)
{
    jw_obj(w);
    jw_kstr(w, "id", r->id);
    jw_kstrz(w, "role", "assistant");
    write_metadata(w, fold, r);
    jw_key(w, "parts");
    jw_arr(w);
    if (r->first->kind == FACT_ACTION) write_step(w, fold, r->first, form);
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(v[i]->run, r->id)) continue;
        if (v[i]->kind == FACT_STEP) write_step(w, fold, v[i], form);
        if (v[i]->kind == FACT_SUMMARY) write_summary(w, v[i]);
    }
    if (r->ended) write_payload(w, r);
    jw_end_arr(w);
    jw_end_obj(w);
}

static void write_messages(struct jsonw *w, const struct fold *fold, const struct fact **v,
                           size_t n, enum approval_form form)
{
    jw_arr(w);
    for (size_t i = 0; i < n; i++) {
        const struct run *r;
        if (v[i]->kind == FACT_MESSAGE) write_user(w, v[i]);
        else if (v[i]->kind != FACT_ACTION && v[i]->kind != FACT_RETRY) continue;
        if (!(r = fold_run(fold, v[i]->run))) continue;
        /* its words were cut away */
        bool replaced = i + 1 < n && v[i + 1]->kind == FACT_RETRY && !v[i + 1]->from_end;
        if (!replaced && (!run_live(r) || run_waiting(r))) write_assistant(w, fold, r, v, n, form);
    }
    jw_end_arr(w);
}

/* --- pages --------------------------------------------------------------------------------- */

struct visible {
    const struct fact **v;
    size_t              n, from, to;
};

static size_t messages_of(const struct fact *f)
{
    return f->kind == FACT_MESSAGE ? 2 : f->kind == FACT_ACTION || f->kind == FACT_RETRY;
}

static size_t find_question(const struct visible *s, struct str id)
{
    size_t i = 0;
    while (i < s->n && !(s->v[i]->kind == FACT_MESSAGE && str_eq(s->v[i]->id, id))) i++;
    return i;
}

static enum err find_page(struct arena *a, const struct thread *t, const struct uipage *p,
                          struct visible *s)
{
    size_t   count = 0;
    enum err e = history_visible(a, thread_fold(t), &s->v, &s->n);
    if (e) return e;
    while (p->upto && s->n && s->v[s->n - 1]->seq > p->upto) s->n--;
    s->from = 0;
    s->to = p->before.ptr ? find_question(s, p->before) : s->n;
    if (p->before.ptr && s->to == s->n) return ERR_NOT_FOUND;
    for (size_t i = s->to; p->limit && i-- > 0;) {
        count += messages_of(s->v[i]);
        if (count < p->limit || s->v[i]->kind != FACT_MESSAGE) continue;
        s->from = i;
        break;
    }
    return OK;
}

enum err uimessages_write(struct jsonw *w, const struct thread *t, enum approval_form form,
                          struct uipage *p)
{
    struct visible s = { 0 };
    struct arena   a;
    arena_init(&a, 0);
    enum err e = find_page(&a, t, p, &s);
    write_messages(w, thread_fold(t), e ? NULL : s.v + s.from, e ? 0 : s.to - s.from, form);
    p->earlier = STR_NONE;
    for (size_t i = 0; !e && i < s.from && !p->earlier.ptr; i++)
        if (messages_of(s.v[i])) p->earlier = s.v[s.from]->id;
    arena_done(&a);
    return e;
}

static bool on_page(const struct visible *s, struct str question)
{
    size_t i = find_question(s, question);
    return i == s->n ? s->to == s->n : i >= s->from && i < s->to;
}

enum err uimessages_versions(struct jsonw *w, const struct thread *t, enum approval_form form,
                             const struct uipage *p)
{
    const struct version *versions;
    struct visible        s = { 0 };
    struct arena          a;
    size_t                n;
    arena_init(&a, 0);
    enum err e = find_page(&a, t, p, &s);
    if (!e) e = history_versions(&a, thread_fold(t), &versions, &n);
    jw_arr(w);
    for (size_t i = 0; !e && i < n; i++) {
        if (!on_page(&s, versions[i].of)) continue;
        jw_obj(w);
        jw_kstr(w, "of", versions[i].of);
        jw_key(w, "messages");
        write_messages(w, thread_fold(t), versions[i].facts, versions[i].count, form);
        jw_end_obj(w);
    }
    jw_end_arr(w);
    arena_done(&a);
    return e;
}
