/* begin.c -- what begins a run: a message, another try, a button, a program's call. */
#include "base/clock.h"
#include "base/id.h"
#include "run/caller.h"
#include "run/handle.h"
#include "run/response.h"
#include "run/spoken.h"

/* --- may it begin? ------------------------------------------------------------------------- */

static struct run *run_of_request(const struct thread *t, struct str request_id)
{
    for (size_t i = t->fold.run_count; i-- > 0;)
        if (request_id.len && str_eq(t->fold.runs[i]->first->request_id, request_id))
            return t->fold.runs[i];
    return NULL;
}

static const char *pending_list(struct thread *t, struct command *c)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_lit(&b, "A decision is waiting; answer it first: ");
    for (size_t i = 0, n = 0; i < t->fold.run->call_count; i++) {
        const struct call *call = t->fold.run->calls[i];
        if (!call_pending(call)) continue;
        if (n++) buf_lit(&b, ", ");
        buf_str(&b, call_gate(call)->id);
    }
    struct str s = arena_dup(&c->arena, buf_view(&b));
    buf_done(&b);
    return s.ptr ? s.ptr : "A decision is waiting; answer it first.";
}

/* Has this principal used up what is theirs? */
static bool over_quota(struct thread *t, struct command *c)
{
    unsigned           retry_s = 0;
    enum quota_verdict v = quota_admit(t->hub->setup.quota, t->owner, clock_wall_ms(), &retry_s);
    if (v == QUOTA_FINE) return false;
    log_about(LOG_SECURITY, &(struct log_about){ .thread = t->id, .principal = c->by },
              "run.limited", "why", v == QUOTA_RUNS ? "runs" : "tokens", NULL);
    c->receipt.retry_s = retry_s;
    if (v == QUOTA_RUNS)
        return refuse(
            t, c, 429, "too_many_runs",
            "You have as many answers being written as you may have at once; wait for one to end.");
    return refuse(t, c, 429, "tokens_used_up", "You have used up your tokens of today.");
}

static unsigned parked_count(const struct thread *t)
{
    unsigned n = 0;
    LIST_EACH (x, &t->parked) n++;
    return n;
}

static struct caller caller_of_command(const struct command *c)
{
    return (struct caller){
        .principal = c->by, .roles = c->roles, .claims = c->claims, .at_ms = clock_wall_ms()
    };
}

/* A page that is not for them is a page that is not there. */
static bool is_open_to(const struct thread *t, const struct command *c, struct str page)
{
    const struct hub_page *p = hub_page(t->hub, page);
    struct caller          who = caller_of_command(c);
    return p && caller_has(&who, p->roles, p->role_count);
}

/* Somebody wrote "yes 4821" where nobody reads words, or a moment too late for who does: it was no
 * message. Taken as one it would withdraw the question and show the model its code. */
static bool has_code(const struct thread *t, struct command *c)
{
    return c->kind == CMD_MESSAGE && spoken_has_code(&t->fold, c->message.text);
}

enum admit { ADMIT_YES, ADMIT_LATER, ADMIT_NO };

/* May a new run begin now? Busy threads and waiting gates are two different things. */
static enum admit admit(struct thread *t, struct command *c, enum err *e)
{
    struct run *r = t->fold.run, *same = run_of_request(t, c->request_id);
    if (same) {
        accepted(t, c, same->id, same->first->seq);
        c->receipt.duplicate = true;
        return ADMIT_NO;
    }
    if (t->hub->draining)
        return refuse(t, c, 503, "restarting", "The server is restarting; try again in a moment."),
               ADMIT_NO;
    if (!is_open_to(t, c, c->page))
        return refuse(t, c, 422, "unknown_page", "There is no page of this name."), ADMIT_NO;
    if (declared_refused(t, c)) return ADMIT_NO;
    /* also while another call of the step still runs */
    if (run_live(r) && run_asks(r) && (t->hub->setup.hold || c->hold || has_code(t, c)))
        return refuse(t, c, 409, "approval_pending", pending_list(t, c)), ADMIT_NO;
    if (run_live(r) && run_waiting(r)) {
        if (over_quota(t, c)) return ADMIT_NO;
        *e = end_superseded(t);
        return ADMIT_YES;
    }
    if (run_live(r)) {
        if (c->when_busy == BUSY_REFUSE) {
            refuse(t, c, 409, "run_active",
                   "An answer is still being written in this conversation.");
            c->receipt.run = r->id;
            return ADMIT_NO;
        }
        if (parked_count(t) >= PARKED_MAX)
            return refuse(t, c, 429, "too_many_waiting",
                          "Too many messages wait for this answer to end already; wait for it."),
                   ADMIT_NO;
        if (c->when_busy == BUSY_INTERRUPT) *e = end_stopped(t, c);
        if (c->when_busy == BUSY_AFTER) *e = end_answered(t, c);
        return ADMIT_LATER;
    }
    if (over_quota(t, c)) return ADMIT_NO;
    if (!hub_has_place(t->hub))
        return refuse(t, c, 503, "too_many_runs",
                      "The server has as many runs as it may have; try again in a moment."),
               ADMIT_NO;
    return ADMIT_YES;
}

/* --- its first facts ----------------------------------------------------------------------- */

static void claim_request(struct thread *t, struct command *c, struct str run)
{
    if (!c->request_id.len) return;
    t->request_id = c->request_id;
    t->request_run = run;
}

/* The first words name the thread until somebody gives it a better title. */
static void title_from(struct thread *t, struct str text)
{
    char       words[TITLE_BYTES];
    struct str s = title_words(text, words);
    if (t->title.len) return;
    char *kept = mem_alloc(s.len + 1);
    if (!kept) return;
    memcpy(kept, s.ptr, s.len);
    mem_free((char *)(uintptr_t)t->title.ptr);
    t->title = str_n(kept, s.len);
    t->retitled = true;
}

static enum err begin_run(struct thread *t, struct command *c, struct fact *f)
{
    f->run = id_new(&c->arena, "run_");
    f->by = c->by;
    f->via = c->via;
    f->page = c->page;
    f->request_id = c->request_id;
    if (c->declared.ptr) f->declared = c->declared;
    f->roles = c->roles;
    f->claims = c->claims;
    if (c->trace.len) f->trace = c->trace;
    if (!f->run.ptr) return ERR_NOMEM;
    claim_request(t, c, f->run);
    enum err e = thread_add(t, f);
    thread_take_place(t);
    t->revived = false;
    accepted(t, c, f->run, f->seq);
    if (!e) e = response_add(t, c, f->run, STR_NONE);
    return e || !c->stopped ? e : end_stopped(t, c);
}

/* --- messages ------------------------------------------------------------------------------ */

static bool known_message(const struct thread *t, struct str id)
{
    for (size_t i = 0; i < t->fold.count; i++)
        if (t->fold.facts[i]->kind == FACT_MESSAGE && str_eq(t->fold.facts[i]->id, id)) return true;
    return false;
}

/* The first of the versions that this message is one of. */
static struct str first_version(const struct fold *f, struct str id)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->facts[i]->kind == FACT_MESSAGE && f->facts[i]->replaces.len &&
            str_eq(f->facts[i]->id, id))
            id = f->facts[i]->replaces;
    return id;
}

/* Of all its versions the one that counts; STR_NONE: none of them does. */
static struct str counted_version(const struct fold *f, struct str id)
{
    struct str          first = first_version(f, id), found = STR_NONE;
    const struct fact **v;
    struct arena        a;
    size_t              n;
    arena_init(&a, 0);
    if (history_visible(&a, f, &v, &n) == OK)
        for (size_t i = 0; i < n; i++)
            if (v[i]->kind == FACT_MESSAGE && str_eq(first_version(f, v[i]->id), first))
                found = v[i]->id;
    arena_done(&a);
    return found;
}

/* Clients go on calling an edited message by its first id; what is to be replaced is its newest
 * version, or the one that was gone back to. */
static struct str newest_version(const struct thread *t, struct str id)
{
    struct str counted = t->fold.returned ? counted_version(&t->fold, id) : STR_NONE;
    if (counted.len) return counted;
    for (size_t i = 0; i < t->fold.count; i++) {
        const struct fact *f = t->fold.facts[i];
        if (f->kind == FACT_MESSAGE && f->replaces.len && str_eq(f->replaces, id)) id = f->id;
    }
    return id;
}

/* The run that answers this message now: the one it began, or the last that was tried in its
 * place. */
static const struct run *run_of_message(const struct thread *t, struct str message_id)
{
    const struct run *found = NULL;
    for (size_t i = 0; i < t->fold.run_count; i++) {
        const struct run *r = t->fold.runs[i];
        bool again = found && r->first->kind == FACT_RETRY && str_eq(r->first->of, found->id);
        if (again || (r->first->kind == FACT_MESSAGE && str_eq(r->first->id, message_id)))
            found = r;
    }
    return found;
}

/* The same request delivered twice (a proxy's, a browser's second try): same id, same words and
 * files, and nobody said that it is an edit. It has its run already. */
static bool is_same_message(struct thread *t, struct command *c)
{
    struct str        id = c->message.id.len ? newest_version(t, c->message.id) : STR_NONE;
    const struct run *r = id.len && !c->message.replaces.len ? run_of_message(t, id) : NULL;
    if (!r || run_of_request(t, c->request_id)) return false; /* a request's id says more */
    for (size_t i = 0; i < t->fold.run_count; i++) {
        const struct fact *f = t->fold.runs[i]->first;
        if (f->kind != FACT_MESSAGE || !str_eq(f->id, id)) continue;
        if (!str_eq(f->text, c->message.text) || !str_eq(f->files, c->message.files)) return false;
    }
    accepted(t, c, r->id, r->first->seq);
    c->receipt.duplicate = true;
    return true;
}

/* What a new thread begins with, beside the message. Of another one's past: the same facts, then
 * what was open there is left. */
static enum err begin_thread(struct thread *t, const struct command *c)
{
    if (t->fold.count) return OK;
    enum err e = c->message.copied.len ? response_paste(t, c->message.copied) : OK;
    if (!e) e = response_fork(t, c);
    if (e || c->message.copied.len) return e || !run_live(t->fold.run) ? e : end_superseded(t);
    struct fact f = { .kind = FACT_BROUGHT, .data = c->message.brought, .via = c->via };
    return c->message.brought.len ? thread_add(t, &f) : OK;
}

/* Each return costs every later request a walk over what counted then. */
#define RETURNS_MAX 200

/* The run that a message goes on from, if that is not the newest anyway. false: there is none. */
static bool find_place(const struct thread *t, struct str after, struct str *of)
{
    const struct run *r = fold_run(&t->fold, after);
    if (!r) r = run_of_message(t, after);
    if (r && r != t->fold.run) *of = r->id;
    return r != NULL;
}

bool begin_message(struct thread *t, struct command *c, enum err *e)
{
    struct str of = STR_NONE;
    if (is_same_message(t, c)) return true;
    if (c->message.after.len && !find_place(t, c->message.after, &of))
        return refuse(t, c, 422, "unknown_message",
                      "There is no such answer here that could be gone on from.");
    if (of.len && t->fold.returned >= RETURNS_MAX)
        return refuse(t, c, 422, "too_many_versions",
                      "This conversation was gone back in too often. Go on from its newest answer, "
                      "or begin another one.");
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = begin_thread(t, c))) return true;
    struct fact f = { .kind = FACT_MESSAGE,
                      .text = c->message.text,
                      .files = c->message.files,
                      .id = c->message.id,
                      .of = of };
    if (!f.id.len || known_message(t, f.id)) {
        /* the same id again is an edit of that message */
        if (f.id.len) f.replaces = newest_version(t, f.id);
        if (!(f.id = id_new(&c->arena, "m_")).ptr) return *e = ERR_NOMEM, true;
    }
    if (c->message.replaces.len && known_message(t, c->message.replaces))
        f.replaces = newest_version(t, c->message.replaces);
    title_from(t, c->message.text);
    *e = begin_run(t, c, &f);
    return true;
}

/* --- another try --------------------------------------------------------------------------- */

static bool has_effect(const struct thread *t, const struct call *c)
{
    const struct tool *tool = call_tool(t, c);
    return call_took_effect(c) && !(tool && tool->idempotent);
}

/* What a run did cannot be made undone by asking for other words: they begin after the outcomes of
 * its last step that did something. The seq of the last of these; 0: it did nothing, all of it is
 * made anew. */
static int64_t last_effect(const struct thread *t, const struct run *r)
{
    const struct fold *f = &t->fold;
    uint64_t           step = 0, last = 0;
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++)
        if (has_effect(t, f->calls[i])) step = f->calls[i]->step_seq;
    for (size_t i = r->calls_from; step && i < f->call_count && f->calls[i]->run == r; i++)
        if (f->calls[i]->step_seq == step && f->calls[i]->finished &&
            f->calls[i]->finished->seq > last)
            last = f->calls[i]->finished->seq;
    return (int64_t)last;
}

/* After an error the run goes on where it failed, so that no tool is run again; an answer that was
 * merely unwanted, or after which the conversation went on, is made anew from its last effect, or
 * from the question. */
bool begin_retry(struct thread *t, struct command *c, enum err *e)
{
    struct run *old = c->retry.of.len ? fold_run(&t->fold, c->retry.of) : t->fold.run;
    if (!old)
        return refuse(t, c, 409, "nothing_to_continue",
                      "There is no answer here that could be tried again.");
    /* one that was configured when its run began may be gone: then it is made on the first page */
    if (!c->page.len && hub_page(t->hub, old->page)) c->page = arena_dup(&c->arena, old->page);
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    struct fact f = { .kind = FACT_RETRY,
                      .of = old->id,
                      .keep = last_effect(t, old),
                      .from_end =
                          old == t->fold.run && old->ended && old->ended->outcome == WORD_ERROR };
    f.declared = old->first->declared; /* unless it brings its own */
    *e = begin_run(t, c, &f);
    return true;
}

/* --- one call, without a model -------------------------------------------------------------- */

/* The one call of an action. */
static enum err judged_part(struct thread *t, struct command *c, struct str tool, struct str input,
                            bool button, struct part *p)
{
    *p = (struct part){ .type = STEP_CALL,
                        .tool = tool,
                        .call = id_new(&c->arena, "call-"),
                        .complete = true,
                        .text = input.len && input.ptr[0] == '{' ? input : STR("{}") };
    struct caller who = caller_of_command(c);
    return p->call.ptr ? judge_call(t, hub_page(t->hub, c->page), &who, p, button) : ERR_NOMEM;
}

bool begin_action(struct thread *t, struct command *c, enum err *e)
{
    const struct hub_setup *s = &t->hub->setup;
    struct str              tool = STR_NONE;
    struct part             p;
    for (size_t i = 0; i < s->action_count; i++)
        if (str_eq(s->actions[i].name, c->action.name)) tool = s->actions[i].tool;
    if (!tool.ptr)
        return refuse(t, c, 404, "unknown_action", "There is no server action of this name.");
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = judged_part(t, c, tool, c->action.data, true, &p))) return *e = ERR_NOMEM, true;
    struct fact f = { .kind = FACT_ACTION,
                      .action = c->action.name,
                      .data = c->action.data,
                      .parts = &p,
                      .parts_count = 1 };
    title_from(t, c->action.name);
    *e = begin_run(t, c, &f);
    return true;
}

/* A program's call begins a thread. One that is there already is the same call, sent twice at the
 * same moment: whoever came second follows the first. What cannot be run is not logged. */
bool begin_call(struct thread *t, struct command *c, enum err *e)
{
    struct part p;
    if (fold_program_call(&t->fold)) {
        accepted(t, c, t->fold.run->id, t->fold.run->first->seq);
        c->receipt.duplicate = true;
        return true;
    }
    enum admit a = admit(t, c, e);
    if (a != ADMIT_YES || *e) return a != ADMIT_LATER;
    if ((*e = judged_part(t, c, c->call.tool, c->call.args, false, &p)))
        return *e = ERR_NOMEM, true;
    if (p.gate == GATE_BAD) {
        struct str why = arena_dup(&c->arena, p.problem);
        return refuse(t, c, 422, "bad_call", why.ptr ? why.ptr : "The call could not be checked.");
    }
    struct fact f = { .kind = FACT_ACTION,
                      .action = c->call.tool,
                      .text = c->call.client,
                      .data = c->call.about,
                      .parts = &p,
                      .parts_count = 1 };
    title_from(t, c->call.tool);
    t->origin = (struct store_origin){ c->via, c->call.group };
    *e = begin_run(t, c, &f);
    if (!*e && c->call.match.ptr) *e = thread_match(t, c->call.match, c->call.alone);
    if (!*e && c->call.asked_as.ptr) *e = thread_key(t, "", c->call.asked_as, STR(""));
    return true;
}

bool begin_empty(struct thread *t, struct command *c, enum err *e)
{
    struct fact f = { .kind = FACT_CREATED, .by = c->by };
    if (t->exists && c->repeated) {
        accepted(t, c, STR_NONE, 1);
        c->receipt.status = 201;
        return true;
    }
    if (t->exists) return refuse(t, c, 409, "exists", "This conversation exists already.");
    title_from(t, c->title);
    *e = thread_add(t, &f);
    if (!*e && c->labels.ptr) *e = command_label(t, c);
    accepted(t, c, STR_NONE, f.seq);
    c->receipt.status = 201;
    return true;
}
