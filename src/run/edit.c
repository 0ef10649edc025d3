/* edit.c -- see edit.h. */
#include "run/edit.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "run/caller.h"
#include "run/intent.h"
#include "run/response.h"
#include "run/rules.h"
#include "tool/policy.h"
#include "tool/schema.h"

/* --- the difference --------------------------------------------------------------------------- */

struct compare {
    struct arena    *mem;
    const struct jv *allowed;
    struct jsonw     w;
    struct buf       path, list;
    struct str       bad;
};

static bool is_allowed(const struct jv *allowed, struct str path)
{
    JV_EACH (p, allowed) {
        struct str s = jv_str(p);
        if (!str_starts(path, s)) continue;
        if (!s.len || path.len == s.len || path.ptr[s.len] == '/') return true;
    }
    return false;
}

static void differs(struct compare *k)
{
    struct str path = buf_view(&k->path);
    jw_str(&k->w, path.ptr ? path : STR(""));
    if (!k->bad.ptr && !is_allowed(k->allowed, path))
        k->bad = arena_dup(k->mem, path.len ? path : STR("(the whole)"));
}

static void compare(struct compare *k, const struct jv *a, const struct jv *b);

/* RFC 6901: '~' and '/' in a name. */
static void below(struct compare *k, struct str name, const struct jv *a, const struct jv *b)
{
    size_t was = k->path.len;
    buf_chr(&k->path, '/');
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '~') buf_lit(&k->path, "~0");
        else if (name.ptr[i] == '/') buf_lit(&k->path, "~1");
        else buf_chr(&k->path, name.ptr[i]);
    }
    compare(k, a, b);
    if (!k->path.err) k->path.len = was;
}

static void compare_lists(struct compare *k, const struct jv *a, const struct jv *b)
{
    const struct jv *y = b->child;
    char             number[16];
    size_t           i = 0;
    JV_EACH (x, a) {
        snprintf(number, sizeof number, "%zu", i++);
        below(k, str_c(number), x, y);
        y = y->next;
    }
}

static void compare(struct compare *k, const struct jv *a, const struct jv *b)
{
    if (a && b && jv_equal(a, b)) return;
    if (jv_is(a, JSON_OBJECT) && jv_is(b, JSON_OBJECT)) {
        JV_EACH (x, a) below(k, x->key, x, jv_get_str(b, x->key));
        JV_EACH (y, b)
            if (!jv_get_str(a, y->key)) below(k, y->key, NULL, y);
    } else if (jv_is(a, JSON_ARRAY) && jv_is(b, JSON_ARRAY) && a->count == b->count)
        compare_lists(k, a, b);
    else differs(k);
}

/* The pointers at which `b` differs from `a`, as a JSON list; *bad: the first of them that is not
 * at or below one of `allowed` (in `mem`), STR_NONE: all are. An array of another length differs as
 * a whole. */
MUST_CHECK static enum err differences(struct arena *mem, const struct jv *allowed,
                                       const struct jv *a, const struct jv *b, struct str *changed,
                                       struct str *bad)
{
    struct compare k = { .mem = mem, .allowed = allowed };
    buf_init(&k.path, 0);
    buf_init(&k.list, 0);
    jsonw_init(&k.w, &k.list);
    jw_arr(&k.w);
    compare(&k, a, b);
    jw_end_arr(&k.w);
    bool ok = !k.path.err && !k.list.err;
    *changed = ok ? arena_dup(mem, buf_view(&k.list)) : STR_NONE;
    *bad = k.bad;
    buf_done(&k.path);
    buf_done(&k.list);
    return changed->ptr && !mem->failed ? OK : ERR_NOMEM;
}

/* --- judging ---------------------------------------------------------------------------------- */

static bool refuse(struct thread *t, struct command *c, int status, const char *code,
                   struct str message)
{
    command_answer(t, c, status, code,
                   message.ptr ? message.ptr : "These arguments are not possible here.");
    return true;
}

static bool is_forbidden(struct thread *t, struct command *c, struct call *call,
                         struct str *changed, enum err *e)
{
    struct jv *allowed = NULL;
    struct str bad;
    if (call->asked->edit.ptr && json_parse_own(&c->arena, call->asked->edit, &allowed) != OK)
        return *e = ERR_NOMEM, true;
    if ((*e = differences(&c->arena, allowed, call->args, c->decide.input, changed, &bad)))
        return true;
    if (!bad.ptr) return false;
    log_line(LOG_SECURITY, "answer.refused", "why", "edit_not_allowed", "thread", log_str(t->id),
             "by", log_str(c->by), "via", log_str(c->via), "id", log_str(c->id), NULL);
    return refuse(t, c, 422, "edit_not_allowed",
                  arena_printf(&c->arena,
                               "\"" STR_FMT
                               "\" may not be changed here; deny with a reason instead.",
                               STR_ARG(bad)));
}

static bool is_invalid(struct thread *t, struct command *c, const struct tool *tool)
{
    struct buf why;
    buf_init(&why, 2048);
    bool bad = json_depth(c->decide.input->raw) > VALUE_DEPTH_MAX ||
               schema_check(tool->schema, c->decide.input, &t->hub->judge, &why) != OK;
    if (bad)
        refuse(t, c, 422, "edit_invalid",
               why.len ? arena_dup(&c->arena, buf_view(&why)) : STR_NONE);
    buf_done(&why);
    return bad;
}

/* A condition of the policy holds now that did not for the arguments that were shown: a ladder of
 * conditions asks for another look at each rung. */
static bool is_steeper(struct thread *t, const struct tool *tool, const struct jv *old,
                       const struct jv *now)
{
    if (tool->confirm != CONFIRM_WHEN || !tool->when) return false;
    if (!jv_is(tool->when, JSON_ARRAY))
        return policy_holds(tool->when, now, &t->hub->judge) &&
               !policy_holds(tool->when, old, &t->hub->judge);
    JV_EACH (w, tool->when)
        if (policy_holds(w, now, &t->hub->judge) && !policy_holds(w, old, &t->hub->judge))
            return true;
    return false;
}

/* May this person alone say yes to the new call? */
static enum err may_alone(struct thread *t, const struct command *c, const struct call *new,
                          bool *may)
{
    struct str who;
    bool       single;
    int64_t    now = clock_wall_ms();
    enum err   e = rules_for(t, new, &t->batch, &who, &single);
    *may = !e && !who.ptr;
    if (e || !who.ptr) return e;
    struct ballot b = { who, t->owner, now, now };
    struct voter  v = { c->by, c->roles };
    *may = rules_enough(&b, &v, 1);
    return OK;
}

/* --- the facts -------------------------------------------------------------------------------- */

static enum err propose(struct thread *t, struct command *c, struct call *old, struct str changed,
                        struct part *p)
{
    struct buf         line;
    struct fact        f = { .kind = FACT_PROPOSED,
                             .call = p->call,
                             .of = old->id,
                             .by = c->by,
                             .via = c->via,
                             .data = changed,
                             .parts = p,
                             .parts_count = 1 };
    const struct tool *tool = call_tool(t, old);
    struct caller      who = caller_of(old->run, t->owner); /* for them, whoever edits */
    struct str         words = tool ? tool->intent : STR_NONE;
    buf_init(&line, 4096);
    intent_line(&line, old->tool, words, c->decide.input,
                words.ptr ? caller_known(&c->arena, &who, tool->schema) : NULL);
    p->intent = line.err ? STR("I'll help you with that...") : buf_view(&line);
    p->at_ms = clock_wall_ms();
    enum err e = thread_add(t, &f);
    buf_done(&line);
    return e;
}

static enum err replace(struct thread *t, struct command *c, struct call *old, struct str new_id)
{
    struct fact f = { .kind = FACT_DECIDED,
                      .id = c->id,
                      .call = old->id,
                      .outcome = WORD_REPLACED,
                      .by = c->by,
                      .roles = c->roles,
                      .via = c->via,
                      .reason = c->decide.reason,
                      .answer_id = c->answer_id,
                      .of = arena_printf(&c->arena, "confirmation-" STR_FMT, STR_ARG(new_id)) };
    return f.of.ptr ? thread_add(t, &f) : ERR_NOMEM;
}

static enum err ask_anew(struct thread *t, struct call *new)
{
    struct fact f = { .kind = FACT_ASKED, .call = new->id };
    enum err    e = approval_fact(t, new, &f, &t->batch);
    if (!e && f.expires_ms) hub_due(t->hub, f.expires_ms);
    return e ? e : thread_add(t, &f);
}

/* Their yes to what they made of it; it starts in the same append. */
static enum err approve(struct thread *t, const struct command *c, const struct call *old,
                        const struct call *new)
{
    struct fact f = { .kind = FACT_DECIDED,
                      .call = new->id,
                      .outcome = WORD_APPROVED,
                      .by = c->by,
                      .roles = c->roles,
                      .via = c->via,
                      .reason = c->decide.reason,
                      .digest = approval_digest(&t->batch, new),
                      .note = old->asked->note };
    return f.digest.ptr ? thread_add(t, &f) : ERR_NOMEM;
}

/* True: refused, or *e. */
static bool is_refused(struct thread *t, struct command *c, struct call *call,
                       const struct tool *tool, struct str *changed, enum err *e)
{
    if (!tool || is_forbidden(t, c, call, changed, e) || is_invalid(t, c, tool)) return true;
    return c->decide.grant &&
           refuse(t, c, 422, "grant_not_offered",
                  STR("A changed call cannot carry a grant; answer it without one."));
}

bool edit_refused(struct thread *t, struct command *c, struct call *call)
{
    const struct tool *tool = call_tool(t, call);
    struct str         changed;
    enum err           e = OK;
    /* a tool that is gone, and memory that is short, are told when it is handled */
    if (!tool || !call->asked || !jv_is(c->decide.input, JSON_OBJECT)) return false;
    return !jv_equal(c->decide.input, call->args) && is_refused(t, c, call, tool, &changed, &e) &&
           !e;
}

bool edit_handle(struct thread *t, struct command *c, struct call *call, enum err *e)
{
    const struct tool *tool = call_tool(t, call);
    struct part        p = { .type = STEP_CALL,
                             .tool = call->tool,
                             .gate = GATE_ASK,
                             .client = call->client,
                             .complete = true };
    struct str         changed;
    bool               alone;
    if (!jv_is(c->decide.input, JSON_OBJECT))
        return refuse(t, c, 422, "malformed_answer", STR("\"input\" must be an object."));
    if (jv_equal(c->decide.input, call->args)) return false;
    if (is_refused(t, c, call, tool, &changed, e)) return true;
    if (!c->decide.made.ptr) c->decide.made = id_new(&c->arena, "call-");
    p.call = c->decide.made;
    p.text = c->decide.input->raw;
    uint64_t seq = t->fold.count + 1;
    if (!p.call.ptr) return *e = ERR_NOMEM, true;
    if ((*e = replace(t, c, call, p.call)) || (*e = propose(t, c, call, changed, &p))) return true;
    struct call *new = fold_call(&t->fold, p.call);
    if ((*e = may_alone(t, c, new, &alone))) return true;
    alone &= !is_steeper(t, tool, call->args, new->args);
    /* before what it tells: the new call, or the question about it */
    if ((*e = response_add(t, c, call->run->id, STR_NONE))) return true;
    *e = alone ? approve(t, c, call, new) : ask_anew(t, new);
    command_answer(t, c, 200, NULL, NULL);
    c->receipt.run = call->run->id;
    c->receipt.seq = seq;
    c->receipt.call = call;
    return true;
}

/* --- what came of it -------------------------------------------------------------------------- */

struct str edit_result(struct arena *a, const struct call *c)
{
    const struct call *new = c->replaced_by;
    const struct fact *done = new->finished;
    struct buf         b;
    struct jsonw       w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_key(&w, "edited");
    jw_obj(&w);
    jw_kstr(&w, "by", new->proposed->by);
    jw_kraw(&w, "arguments", new->input);
    jw_kraw(&w, "changed", new->proposed->data.ptr ? new->proposed->data : STR("[]"));
    jw_end_obj(&w);
    if (call_succeeded(new)) {
        jw_key(&w, "result");
        if (done->value.ptr) jw_raw(&w, done->value);
        else jw_str(&w, done->text);
    } else {
        jw_kstrz(&w, "outcome", word_name(done->outcome));
        jw_kstr(&w, "error", done->text);
    }
    jw_end_obj(&w);
    struct str s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}
