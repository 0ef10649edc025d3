/* context.c -- what whoever decides may read of the conversation that led to a request, beside the
 * request itself: nothing, the words that led to it (they stand in the request's row: sight.h), or
 * the conversation's last lines. `approvals.context` says which; whose conversation it is reads all
 * of it anyway.
 *
 * Only words: what tools brought and what was attached is none of the approver's business, and a
 * model's thoughts are nobody's. */
#include "base/clock.h"
#include "base/utf8.h"
#include "door/app.h"
#include "run/history.h"
#include "run/rules.h"

enum { LINES_MAX = 8, LINE_CHARS = 600 };

const char *context_name(enum context c)
{
    static const char *const NAMES[] = { "none", "question", "conversation" };
    return NAMES[c];
}

struct line {
    const char *role;
    struct str  text;
};

struct lines {
    struct line list[LINES_MAX]; /* the newest: line n stands at n % LINES_MAX */
    size_t      count;
};

static void add_line(struct lines *l, const char *role, struct str text)
{
    if (str_trim(text).len) l->list[l->count++ % LINES_MAX] = (struct line){ role, str_trim(text) };
}

static void add_fact(struct lines *l, const struct fact *f)
{
    if (f->kind == FACT_MESSAGE) add_line(l, "user", f->text);
    for (size_t i = 0; f->kind == FACT_STEP && i < f->parts_count; i++)
        if (f->parts[i].type == STEP_TEXT) add_line(l, "assistant", f->parts[i].text);
}

/* What was said up to the step that proposed the call. */
static enum err collect(struct arena *a, const struct fold *f, const struct call *c,
                        struct lines *out)
{
    const struct fact **facts;
    size_t              count;
    enum err            e = history_visible(a, f, &facts, &count);
    for (size_t i = 0; !e && i < count && facts[i]->seq <= c->step_seq; i++)
        add_fact(out, facts[i]);
    return e;
}

static void write_lines(struct jsonw *w, const struct lines *l)
{
    size_t shown = l->count < LINES_MAX ? l->count : LINES_MAX;
    jw_key(w, "lines");
    jw_arr(w);
    for (size_t i = l->count - shown; i < l->count; i++) {
        const struct line *x = &l->list[i % LINES_MAX];
        size_t             len = utf8_take(x->text, LINE_CHARS);
        jw_obj(w);
        jw_kstrz(w, "role", x->role);
        jw_kstr(w, "text", str_cut(x->text, len));
        jw_kbool(w, "cut", len < x->text.len);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

/* Whose it is, an approver of everything, or who a rule asks (or asked, before it was decided). */
static bool may_read(const struct app *a, const struct principal *p, const struct command *c,
                     const struct fold *f)
{
    const struct fact *asked = fold_asked(f, c->id), *decided = fold_verdict(f, c->id);
    struct voter       v = { p->name, p->words };
    if (str_eq(c->log.owner, p->name)) return true;
    if (a->approvers_only && (p->roles & ROLE_APPROVER)) return true;
    if (!asked || !asked->who.ptr) return false;
    struct ballot b = { asked->who, c->log.owner, asked->at_ms,
                        decided ? decided->at_ms : clock_wall_ms() };
    return rules_standing(&b, &v) != NOT_THEIRS;
}

static void on_found(struct ask *k, struct command *c, const struct receipt *a)
{
    struct lines       lines = { .count = 0 };
    struct arena       mem;
    struct buf         b;
    struct jsonw       w;
    const struct fold *f = a->status < 400 ? thread_fold(a->thread) : NULL;
    const struct call *call = f ? fold_confirmation(f, c->id) : NULL;

    if (!f) {
        reply_error(k->conn, a);
        return;
    }
    arena_init(&mem, 0);
    if (!call || !may_read(k->app, conn_request(k->conn)->principal, c, f)) {
        conn_error(k->conn, 404, "unknown_confirmation", "There is no such request here.");
        arena_done(&mem);
        return;
    }
    enum err e = collect(&mem, f, call, &lines);
    json_reply_begin(&b, &w);
    write_lines(&w, &lines);
    if (e) b.err = e;
    json_reply_end(k->conn, 200, &b, &w);
    arena_done(&mem);
}

void rest_context(struct server *s, struct request *q)
{
    const struct app *a = app_of(s);
    bool              all = (a->approvers_only && (q->principal->roles & ROLE_APPROVER)) ||
               rules_concern(hub_setup(a->hub)->rules, q->principal->words);
    if (all && hub_setup(a->hub)->context != CONTEXT_CONVERSATION) {
        conn_error(q->conn, 403, "no_context",
                   "Approvers do not read conversations here (approvals.context).");
        return;
    }
    struct command *c = command_for(q, CMD_FOLLOW, "rest");
    struct ask     *k = c ? ask_new(s, q, on_found) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    c->id = arena_dup(&c->arena, q->param[0]);
    c->anyones = all;
    c->follow.peek = true;
    ask_submit(k, c);
}
