/* judge.c -- which gate a call goes through: it runs, a person is asked, or it is bad. */
#include "base/clock.h"
#include "base/jsame.h"
#include "base/log.h"
#include "run/caller.h"
#include "run/engine.h"
#include "run/history.h"
#include "run/intent.h"
#include "tool/policy.h"
#include "tool/schema.h"

/* Where a part's own texts live: with the open step, or (an action) with the batch. */
static struct arena *lasting(struct thread *t)
{
    return t->step.active ? &t->step.arena : &t->batch;
}

void judge_bad(struct thread *t, struct part *p, struct str why)
{
    p->gate = GATE_BAD;
    p->problem = arena_dup(lasting(t), why);
    if (!p->problem.ptr) p->problem = STR("The call could not be checked.");
}

/* `present` shows only what the page has registered, and only if it fits. */
static bool payload_fits(struct thread *t, const struct hub_page *page, struct part *p,
                         const struct jv *args, struct buf *why)
{
    struct str type = jv_str_at(args, "type");
    for (size_t i = 0; i < page->payload_count; i++) {
        if (!str_eq(page->payloads[i].type, type)) continue;
        const struct jv *data = jv_get(args, "data");
        if (!data) {
            judge_bad(t, p, STR("\"data\" is missing."));
            return false;
        }
        if (schema_check(page->payloads[i].schema, data, &t->hub->judge, why) == OK) return true;
        struct log_about about = thread_about(t, NULL);
        log_about(LOG_WARN, &about, "payload.misfit", "type", log_str(type), "why",
                  log_str(buf_view(why)), NULL);
        judge_bad(t, p, buf_view(why));
        return false;
    }
    struct log_about about = thread_about(t, NULL);
    log_about(LOG_WARN, &about, "payload.unregistered", "type", log_str(type), NULL);
    judge_bad(t, p, STR("This page has no payload of that type."));
    return false;
}

static bool is_visible(const struct fact *const *v, size_t n, uint64_t seq)
{
    for (size_t i = n; i-- > 0;)
        if (v[i]->seq == seq) return true;
    return false;
}

/* What it was given may be gone (trim.h), and then it may have been anything. */
static bool was_given(const struct fold *f, const struct call *c, const struct jv *args)
{
    bool lost = f->trimmed && c->step_seq >= f->trimmed && !(c->args && c->args->count);
    return lost || jv_same(c->args, args);
}

/* By a version of the conversation that is another thread? */
static bool was_carried(const struct fold *f, const struct tool *tool, const struct jv *args)
{
    for (size_t i = 0; i < f->carried_count; i++)
        if (str_eq(f->carried[i]->tool, tool->name) && was_given(f, f->carried[i], args))
            return true;
    return false;
}

/* Did the same call already do its work in a version of the conversation that was edited or tried
 * again? Whatever the policy says, running it once more is a person's to decide. */
static bool was_replaced(struct thread *t, const struct tool *tool, const struct jv *args)
{
    const struct fold  *f = &t->fold;
    const struct fact **v = NULL;
    size_t              n = 0;
    struct arena        a;
    bool                found = false;
    if (tool->idempotent) return false;
    if (was_carried(f, tool, args)) return true;
    if (!f->branched) return false;
    arena_init(&a, 0);
    for (size_t i = f->call_count; i-- > 0 && !found;) {
        const struct call *c = f->calls[i];
        if (!call_took_effect(c) || !str_eq(c->tool, tool->name) || !was_given(f, c, args))
            continue;
        /* when in doubt, a person is asked */
        if (c->run->retried || (!v && history_visible(&a, f, &v, &n) != OK)) found = true;
        else found = !is_visible(v, n, c->step_seq);
    }
    arena_done(&a);
    return found;
}

/* There are versions at which nobody looked. (Functions of the client are not in them.) */
static bool may_be_carried(const struct fold *f, const struct tool *tool)
{
    return f->carried_more && !tool->idempotent;
}

bool judge_replaced(struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    return tool && (may_be_carried(&t->fold, tool) || was_replaced(t, tool, c->args));
}

static void judge(struct thread *t, const struct hub_page *page, struct part *p, struct tool *tool,
                  const struct jv *args, struct buf *why)
{
    if (!jv_is(args, JSON_OBJECT)) {
        judge_bad(t, p, STR("The input is not a JSON object."));
        return;
    }
    if (json_depth(p->text) > VALUE_DEPTH_MAX) {
        judge_bad(t, p, STR("The input is nested too deeply."));
        return;
    }
    if (schema_check(tool->schema, args, &t->hub->judge, why) != OK) {
        judge_bad(t, p, buf_view(why));
        return;
    }
    p->client = tool->where == TOOL_CLIENT;
    bool asks = !p->declared && t->step.active && t->declared.ask;
    if (tool->reply) {
        if (tool->reply == REPLY_PRESENT && !payload_fits(t, page, p, args, why)) return;
        p->gate = GATE_REPLY;
    } else if (asks || policy_asks(tool, args, &t->hub->judge) ||
               (!p->declared && may_be_carried(&t->fold, tool)) || was_replaced(t, tool, args))
        p->gate = GATE_ASK;
    else p->gate = p->client ? GATE_CLIENT : GATE_FREE;
}

enum err judge_call(struct thread *t, const struct hub_page *page, const struct caller *who,
                    struct part *p, bool button)
{
    struct tool *tool = p->declared ? declared_find(&t->declared, p->tool)
                                    : registry_find(t->hub->setup.registry, p->tool);
    struct arena a;
    struct buf   why;
    struct jv   *args = NULL;
    (void)budget_pay(&t->hub->judge, 1 + p->text.len / 2); /* reading it */
    if (!tool || (tool->hidden && !button) || !caller_may_use(who, tool)) {
        judge_bad(t, p, STR("There is no tool of this name."));
        return OK;
    }
    if (!p->declared && !hub_page_allows(page, tool)) {
        judge_bad(t, p, STR("This tool is not available on this page."));
        return OK;
    }
    if (!button && !declared_allows(&t->declared, tool)) {
        judge_bad(t, p, STR("This tool is not to be used in this turn."));
        return OK;
    }
    arena_init(&a, 0);
    buf_init(&why, 2048);
    enum err e = json_parse(&a, p->text, &args, NULL);
    if (!e) judge(t, page, p, tool, args, &why);
    else if (e != ERR_NOMEM) judge_bad(t, p, STR("The input is not valid JSON."));
    p->at_ms = clock_wall_ms();
    if (args && p->gate != GATE_BAD && p->gate != GATE_REPLY) {
        metrics_intent_due(p->call);
        buf_clear(&why);
        intent_line(&why, tool->name, tool->intent, args,
                    tool->intent.ptr ? caller_known(&a, who, tool->schema) : NULL);
        p->intent = why.err ? STR_NONE : arena_dup(lasting(t), buf_view(&why));
        if (!p->intent.ptr) p->intent = STR("I'll help you with that...");
    }
    buf_done(&why);
    arena_done(&a);
    return e == ERR_NOMEM ? e : OK;
}
