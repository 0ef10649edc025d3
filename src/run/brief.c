/* brief.c -- see brief.h. */
#include "run/brief.h"

#include "run/caller.h"

/* --- names ------------------------------------------------------------------------------------ */

/* Also of a tool that is gone, or that a model made up. */
static struct str wire_name(void *ctx, struct str tool)
{
    struct brief_names *n = ctx;
    char                text[TOOL_WIRE_MAX];
    return arena_dup(n->a, registry_wire(n->registry, tool, text));
}

static bool is_idempotent(void *ctx, struct str tool)
{
    const struct tool *x = registry_find(((struct brief_names *)ctx)->registry, tool);
    return x && x->idempotent;
}

struct history_names brief_names(struct brief_names *ctx)
{
    return (struct history_names){ wire_name, is_idempotent, ctx };
}

/* --- tools ------------------------------------------------------------------------------------ */

static bool is_offered(const struct brief_base *b, const struct declared_run *d,
                       const struct model_request *q, const struct caller *who,
                       const struct tool *x)
{
    if (!caller_may_use(who, x)) return false;
    if (x->changed_ms == TOOL_UNCHECKED) return false; /* in a moment */
    if (x->hidden || !hub_page_allows(b->page, x) || !declared_allows(d, x)) return false;
    if (x->reply == REPLY_PRESENT && !b->page->payload_count) return false;
    if (x->reply && q->choice != CHOICE_AUTO) return false; /* they are no answer to that */
    return !declared_find(d, x->wire_name);
}

static bool is_listed(const struct model_request *q, struct str name)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (str_eq(q->tools[i].name, name)) return true;
    return false;
}

static enum err list_tools(struct arena *a, const struct brief_base *b, const struct run *run,
                           const struct declared_run *d, const struct caller *who,
                           struct model_request *q)
{
    const struct registry *r = b->registry;
    struct model_tool     *list = arena_array(a, r->count + d->count + 1, sizeof *list);
    char                   text[TOOL_WIRE_MAX];
    if (!list) return ERR_NOMEM;
    q->tools = list;
    declared_offer(d, !run->last_stop.ptr, list, q);
    for (size_t i = 0; i < r->count; i++) {
        const struct tool *x = r->tools[i];
        if (is_offered(b, d, q, who, x))
            list[q->tool_count++] =
                (struct model_tool){ x->wire_name, x->description, x->schema_text };
    }
    if (q->choice == CHOICE_NAMED) q->named = arena_dup(a, registry_wire(r, q->named, text));
    bool can = q->choice == CHOICE_NAMED ? is_listed(q, q->named) : q->tool_count > 0;
    if (!can) q->choice = CHOICE_AUTO;
    return OK;
}

/* --- words ------------------------------------------------------------------------------------ */

/* The operator's words come first. What a client brings is words: nothing is filled into them. */
static struct str own_words(struct arena *a, const struct hub_page *page,
                            const struct declared_run *d, const struct caller *who)
{
    struct str own = caller_prompt(a, who, page->system), more = d->system;
    if (!own.len || !more.len) return own.len ? own : more;
    return arena_printf(a, STR_FMT "\n\n" STR_FMT, STR_ARG(own), STR_ARG(more));
}

static struct str system_text(struct arena *a, const struct hub_page *page,
                              const struct declared_run *d, const struct caller *who)
{
    struct str words = own_words(a, page, d, who);
    if (!page->answer) return words;
    return arena_printf(a,
                        STR_FMT "%sYour final answer must be JSON that fits this schema, "
                                "and nothing but that: no words around it.\n" STR_FMT,
                        STR_ARG(words), words.len ? "\n\n" : "", STR_ARG(page->answer->raw));
}

enum err brief_build(struct arena *a, const struct brief_base *b, const struct fold *f,
                     struct log_name log, const struct declared_run *d, struct model_request *q)
{
    struct brief_names   ctx = { b->registry, a };
    struct history_names names = brief_names(&ctx);
    struct caller        who = caller_of(f->run, log.owner);
    struct msg          *msgs;
    enum err             e =
        history_build(a, f, b->page->model->provider, b->text_max, &names, &msgs, &q->msg_count);
    if (e) return e;
    q->msgs = msgs;
    q->system = system_text(a, b->page, d, &who);
    q->no_calls = brief_closes(b, f->run);
    q->thread = log.thread;
    q->run = f->run->id;
    q->principal = who.principal;
    if (a->failed) return ERR_NOMEM;
    return list_tools(a, b, f->run, d, &who, q);
}
