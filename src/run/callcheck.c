/* callcheck.c -- see callcheck.h. */
#include "run/callcheck.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "run/engine.h"
#include "tool/text.h"

#define WORD_OF_CHECK "check" /* who settled it, and by which door */
/* After its own time is over somebody ends it; a try that has still not answered by then is
 * lost. */
#define LOST_MS 15000
/* The longest pause: a day. */
#define PAUSE_MAX_MS (24 * 3600 * INT64_C(1000))
#define NOTE_MAX     300   /* bytes of a stranger's words that are kept */
#define RESULT_MAX   65536 /* bytes of a result; what happened counts without it */

/* --- what is asked and what is said ----------------------------------------------------------- */

static bool has_only(const struct jv *v, const char *a, const char *b)
{
    JV_EACH (m, v)
        if (!str_is(m->key, a) && !(b && str_is(m->key, b))) return false;
    return true;
}

enum callcheck_said callcheck_read(const struct jv *answer, struct str *result, const char **why)
{
    const struct jv *happened = jv_get(answer, "happened"), *value = jv_get(answer, "result");
    *result = STR_NONE;
    *why = NULL;
    if (jv_is(answer, JSON_OBJECT) && jv_true(jv_get(answer, "unknown")) &&
        has_only(answer, "unknown", NULL))
        *why = "It does not know yet.";
    else if (!jv_is(answer, JSON_OBJECT) || !jv_is(happened, JSON_BOOL) ||
             !has_only(answer, "happened", "result") || (value && !happened->boolean))
        *why = "Its answer is neither {\"happened\":true,\"result\":…} nor {\"happened\":false} "
               "nor {\"unknown\":true}.";
    if (*why) return CHECK_TELLS_NOTHING;
    if (value) *result = value->raw;
    return happened->boolean ? CHECK_HAPPENED : CHECK_DID_NOT;
}

enum err callcheck_question(struct arena *a, const struct call *c, struct str *out)
{
    char         time[CLOCK_RFC3339_LEN + 1];
    struct buf   b;
    struct jsonw w;
    clock_rfc3339(c->started->at_ms, time);
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "call", c->id);
    jw_kstr(&w, "tool", c->tool);
    jw_kraw(&w, "arguments", c->input);
    jw_kstrz(&w, "started_at", time);
    jw_end_obj(&w);
    struct str text = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    if (!text.ptr) return ERR_NOMEM;
    *out = text;
    return OK;
}

/* --- when ------------------------------------------------------------------------------------- */

static const struct tool_check *check_of(const struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    return tool ? tool->check : NULL;
}

/* Asked, and the answer is not in the log. */
static bool is_open(const struct call *c)
{
    return c->checked && c->checked->outcome == WORD_NONE;
}

static int64_t pause_after(const struct tool_check *k, unsigned tries)
{
    int64_t ms = k->pause_ms;
    for (unsigned i = 1; i < tries && ms < PAUSE_MAX_MS; i++) ms *= 4;
    return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

int64_t callcheck_due(const struct thread *t, const struct call *c)
{
    const struct tool_check *k = check_of(t, c);
    if (!k || !call_unsettled(c) || !c->started) return 0;
    if (!c->checked) return c->finished->at_ms;
    if (is_open(c)) return c->checked->at_ms + k->tool->timeout_ms + LOST_MS;
    return c->checks < k->tries ? c->checked->at_ms + pause_after(k, c->checks) : 0;
}

/* A copy's calls are the business of the conversation they were copied from. */
static bool is_ready(const struct thread *t, const struct call *c, int64_t now)
{
    if (c->job || !c->args || c->step_seq < t->fold.copied) return false;
    int64_t due = callcheck_due(t, c);
    return due && (is_open(c) || due <= now); /* one that is open and has no job died */
}

static enum err add_checked(struct thread *t, const struct call *c, struct str why,
                            const char *code)
{
    struct fact f = { .kind = FACT_CHECKED,
                      .call = c->id,
                      .outcome = WORD_UNKNOWN,
                      .note = why,
                      .code = code ? str_c(code) : STR_NONE };
    return thread_add(t, &f);
}

static enum err begin(struct thread *t, struct call *c)
{
    const struct tool_check *k = check_of(t, c);
    struct fact              f = { .kind = FACT_CHECKED, .call = c->id };
    if (c->checks >= k->tries)
        return add_checked(t, c, STR("The server stopped while it was asked."), NULL);
    enum err e = jobs_check(t, c, k->tool);
    return e ? e : thread_add(t, &f);
}

bool callcheck_begin(struct thread *t, enum err *e)
{
    int64_t now = clock_wall_ms();
    if (!t->fold.unsettled || t->hub->draining) return false;
    for (size_t i = 0; i < t->fold.call_count; i++) {
        struct call *c = t->fold.calls[i];
        if (!call_unsettled(c) || !is_ready(t, c, now)) continue;
        *e = begin(t, c);
        return true;
    }
    return false;
}

bool callcheck_holds(const struct thread *t, const struct next *n)
{
    const struct run *r = t->fold.run;
    bool goes_on = n->kind == NEXT_MODEL || (n->kind == NEXT_END && n->outcome == WORD_COMPLETE);
    if (!t->fold.unsettled || !goes_on) return false;
    for (size_t i = 0; i < r->call_count; i++)
        if (call_unsettled(r->calls[i]) && r->calls[i]->job) return true;
    return false;
}

bool callcheck_open(const struct thread *t)
{
    const struct run *r = t->fold.run;
    for (size_t i = 0; t->fold.unsettled && i < r->call_count; i++)
        if (call_unsettled(r->calls[i]) && is_open(r->calls[i])) return true;
    return false;
}

/* --- the clock -------------------------------------------------------------------------------- */

static bool is_over(const struct call *c)
{
    return c->checked && str_is(c->checked->code, "over");
}

bool callcheck_due_now(struct thread *t, struct command *c, enum err *e)
{
    const struct registry *r = t->hub->setup.registry;
    for (size_t i = 0; t->fold.unsettled && i < t->fold.call_count && !*e; i++) {
        const struct call *call = t->fold.calls[i];
        if (!call_unsettled(call) || call->job || is_over(call) || callcheck_due(t, call)) continue;
        if (!call_tool(t, call) && registry_expects(r, call->tool))
            command_answer(t, c, 503, "tools_unknown", "Its tool is not listed yet.");
        else *e = add_checked(t, call, STR_NONE, "over");
    }
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static struct str words(struct arena *a, struct str s)
{
    struct buf b;
    buf_init(&b, 0);
    text_clean(&b, str_trim(s), utf8_cut(str_trim(s), NOTE_MAX));
    struct str out = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static enum err settle(struct thread *t, const struct call *c, bool happened, struct str result)
{
    bool        large = result.len > RESULT_MAX || json_depth(result) > VALUE_DEPTH_MAX;
    struct fact f = { .kind = FACT_SETTLED,
                      .call = c->id,
                      .by = STR(WORD_OF_CHECK),
                      .via = STR(WORD_OF_CHECK),
                      .outcome = happened ? WORD_DONE : WORD_NOT_DONE,
                      .value = large ? STR_NONE : result,
                      .note = large ? STR("Its result was too large to be kept.") : STR_NONE };
    log_line(LOG_INFO, "call.settled", "call", log_str(c->id), "tool", log_str(c->tool), "by",
             WORD_OF_CHECK, "happened", happened ? "true" : "false", NULL);
    return thread_add(t, &f);
}

/* A process that goes down hung up: the next one asks again. */
void callcheck_answered(struct thread *t, struct command *c, enum err *e)
{
    const struct tool_result *r = jobs_checked(c);
    const struct call        *call = fold_call(&t->fold, c->id);
    enum callcheck_said       said = CHECK_TELLS_NOTHING;
    struct jv                *v = NULL;
    struct str                result;
    const char               *why = NULL;
    if (!call || !call_unsettled(call)) return; /* somebody was faster */
    if (r->outcome == TOOL_DONE && r->value.ptr && !json_parse(&t->batch, r->value, &v, NULL))
        said = callcheck_read(v, &result, &why);
    if (said != CHECK_TELLS_NOTHING) *e = settle(t, call, said == CHECK_HAPPENED, result);
    else if (!t->hub->draining)
        *e = add_checked(t, call, why ? str_c(why) : words(&t->batch, r->text), NULL);
}

/* --- the row ---------------------------------------------------------------------------------- */

void callcheck_write(struct jsonw *w, const struct thread *t, const struct call *c)
{
    if (!c->checks || c->settled) return;
    jw_key(w, "check");
    jw_obj(w);
    jw_kint(w, "tries", (int64_t)c->checks);
    approval_time(w, "at", c->checked->at_ms);
    jw_key(w, "note");
    jw_str_or_null(w, c->checked->note.len ? c->checked->note : STR_NONE);
    approval_time(w, "next", is_open(c) ? 0 : callcheck_due(t, c));
    jw_end_obj(w);
}
