/* chat.c -- see chat.h.
 *
 *   body -> ai_decode -> (thread by id, or by the confirmation it answers) -> loaded
 *        -> answers checked against the log, all of them before any is applied
 *        -> commands -> committed -> follow from the first fact they made
 */
#include "door/chat.h"

#include "base/id.h"
#include "base/log.h"
#include "dialect/aisdk_request.h"

static void finish(struct chat_turn *t)
{
    struct command *holder = t->holder;
    t->done(t, &t->result);
    command_free(holder);
}

static void refuse(struct chat_turn *t, int status, const char *code, const char *message)
{
    t->result = (struct chat_result){ .status = status, .code = code, .message = message };
}

static void refuse_now(struct chat_turn *t, const struct refusal *why)
{
    struct str id = t->request && t->request->answer_count ? t->request->answers[0].id : STR_NONE;
    if (is_suspicious(why))
        log_refused(t->log.owner, t->holder->via.ptr, t->log.thread, id, why->code);
    refuse(t, why->status, why->code, why->message);
    finish(t);
}

static void no_memory(struct chat_turn *t)
{
    refuse(t, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
}

static struct command *new_command(struct chat_turn *t, enum command_kind kind,
                                   void (*done)(struct command *, const struct receipt *))
{
    struct command *c = command_new(kind);
    if (!c) return NULL;
    c->log.owner = c->by = arena_dup(&c->arena, t->log.owner);
    c->log.thread = arena_dup(&c->arena, t->log.thread);
    c->via = arena_dup(&c->arena, t->holder->via);
    c->may_decide = t->may_decide;
    c->roles = arena_dup(&c->arena, t->roles);
    c->claims = arena_dup(&c->arena, t->claims);
    c->ctx = t;
    c->done = done;
    if (!c->arena.failed) return c;
    command_free(c);
    return NULL;
}

/* --- a message or a retry --------------------------------------------------------------------- */

static void on_run(struct command *c, const struct receipt *a);

/* A request id that is known under another thread: load that one, then follow its run. */
static void on_elsewhere(struct command *c, const struct receipt *a)
{
    struct chat_turn *t = c->ctx;
    const struct run *r = a->thread ? fold_run(thread_fold(a->thread), t->result.run) : NULL;
    if (r) {
        t->result.status = 200;
        t->result.thread = a->thread;
        t->result.seq = r->first->seq - 1;
        t->result.replay = true;
    } else refuse(t, 404, "unknown_run", "There is no such run.");
    finish(t);
    command_free(c);
}

static void on_run(struct command *c, const struct receipt *a)
{
    struct chat_turn *t = c->ctx;
    if (a->status >= 400) {
        struct str m = arena_dup(&t->holder->arena, str_c(a->message));
        refuse(t, a->status, a->code, m.ptr ? m.ptr : a->code);
        t->result.retry_s = a->retry_s;
    } else if (!a->thread) {
        t->result.run = arena_dup(&t->holder->arena, a->run);
        t->log.thread = arena_dup(&t->holder->arena, a->id);
        struct command *f = new_command(t, CMD_FOLLOW, on_elsewhere);
        command_free(c);
        if (f) {
            hub_submit(t->app->hub, f);
            return;
        }
        no_memory(t);
        finish(t);
        return;
    } else
        t->result = (struct chat_result){ .status = 200,
                                          .thread = a->thread,
                                          .run = arena_dup(&t->holder->arena, a->run),
                                          .seq = a->seq - 1,
                                          .replay = a->duplicate };
    finish(t);
    command_free(c);
}

static void submit_run(struct chat_turn *t)
{
    struct ai_request *q = t->request;
    struct command    *c = new_command(t, q->kind == AI_RETRY ? CMD_RETRY : CMD_MESSAGE, on_run);
    if (!c) {
        no_memory(t);
        finish(t);
        return;
    }
    c->when_busy = t->interrupts ? BUSY_INTERRUPT : BUSY_REFUSE;
    if (q->kind == AI_RETRY) c->retry.of = arena_dup(&c->arena, q->of);
    else {
        c->create = true;
        c->message.text = arena_dup(&c->arena, q->text);
        c->message.files = arena_dup(&c->arena, q->files);
        c->message.id = arena_dup(&c->arena, q->message_id);
        c->message.replaces = arena_dup(&c->arena, q->replaces);
        c->message.after = arena_dup(&c->arena, q->after);
    }
    c->page = arena_dup(&c->arena, q->page);
    c->request_id = arena_dup(&c->arena, q->request_id);
    hub_submit(t->app->hub, c);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const struct ai_answer *answer_of(const struct chat_turn *t, const struct command *c)
{
    for (size_t i = 0; i < t->request->answer_count; i++) {
        const struct ai_answer *x = &t->request->answers[i];
        if (x->taken && str_eq(x->id, c->id) && (x->kind == AI_RESULT) == (c->kind == CMD_RESULT))
            return x;
    }
    return NULL;
}

/* The stream begins with the first thing the client does not show: facts that these answers made,
 * or what came of earlier ones. Where all of it is shown, only the words after it follow. */
static void note_place(struct chat_turn *t, const struct command *c, const struct receipt *a)
{
    const struct ai_answer *x = answer_of(t, c);
    const struct fact      *end = a->call ? a->call->finished : NULL;
    t->fresh |= !a->duplicate;
    if (x && x->offered) end = a->call->started;
    if (a->duplicate && x && (x->shown || x->offered) && end) {
        if (end->seq + 1 > t->after) t->after = end->seq + 1;
    } else if (!t->first || a->seq < t->first) t->first = a->seq;
}

/* All was said before and nothing came of it yet: a stream would have nothing to tell. */
static bool is_empty(const struct chat_turn *t)
{
    const struct thread *at = t->result.thread;
    const struct run    *r = thread_fold(at)->run;
    return !t->first && t->after > thread_committed(at) && (!run_live(r) || run_waiting(r));
}

static void all_answered(struct chat_turn *t)
{
    struct chat_result *r = &t->result;
    if (r->status < 400 && is_empty(t))
        refuse(t, 409, "nothing_to_continue", "There is nothing to continue here.");
    else if (r->status < 400) {
        r->continuation = true;
        r->duplicate = !t->fresh;
        r->seq = (t->first ? t->first : t->after) - 1;
    }
    finish(t);
}

static void on_answered(struct command *c, const struct receipt *a)
{
    struct chat_turn *t = c->ctx;
    struct arena     *keep = &t->holder->arena;
    if (a->status >= 400 && t->result.status < 400) {
        struct str m = arena_dup(keep, str_c(a->message));
        refuse(t, a->status, a->code, m.ptr ? m.ptr : a->code);
    } else if (a->status < 400) {
        note_place(t, c, a);
        if (!t->result.status)
            t->result = (struct chat_result){ .status = 200,
                                              .thread = a->thread,
                                              .run = arena_dup(keep, a->run),
                                              .id = arena_dup(keep, c->id) };
    }
    command_free(c);
    if (--t->waiting == 0) all_answered(t);
}

/* A command for each answer that is to be applied; false: one cannot be, `why` says so. */
static bool build_answers(struct chat_turn *t, struct command **list, size_t *n,
                          struct refusal *why)
{
    for (size_t i = 0; i < t->request->answer_count; i++) {
        if (!t->request->answers[i].taken) continue;
        struct command *c = new_command(t, CMD_DECIDE, on_answered);
        if (!c) return false;
        list[(*n)++] = c;
        if (!ai_command(c, &t->request->answers[i], why)) return false;
    }
    return true;
}

/* All or none: what is refused now refuses the rest. */
static bool any_refused(struct chat_turn *t, struct thread *at, struct command **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!command_refused(at, list[i])) continue;
        const struct receipt *a = &list[i]->receipt;
        struct str            m = arena_dup(&t->holder->arena, str_c(a->message));
        refuse(t, a->status, a->code, m.ptr ? m.ptr : a->code);
        return true;
    }
    return false;
}

static void drop_answers(struct command **list, size_t n)
{
    while (n) command_free(list[--n]);
}

static void submit_answers(struct chat_turn *t, struct thread *at)
{
    struct command *list[AI_ANSWERS_MAX];
    size_t          n = 0;
    struct refusal  why = { 503, "out_of_memory",
                            "The server is out of memory; try again in a moment." };
    if (!ai_check(thread_fold(at), t->request, &t->holder->arena, &why) ||
        !build_answers(t, list, &n, &why)) {
        /* it may live in one of these */
        struct str m = arena_dup(&t->holder->arena, str_c(why.message));
        why.message = m.ptr ? m.ptr : "refused";
        drop_answers(list, n);
        refuse_now(t, &why);
        return;
    }
    if (any_refused(t, at, list, n)) {
        drop_answers(list, n);
        finish(t);
        return;
    }
    t->waiting = n;
    hub_submit_all(t->app->hub, list, n);
}

static void on_loaded(struct command *c, const struct receipt *a)
{
    struct chat_turn *t = c->ctx;
    if (a->status == 404) {
        struct refusal why = { 404, "unknown_confirmation",
                               "There is no such request in this conversation." };
        refuse_now(t, &why);
    } else if (a->status >= 400) {
        refuse(t, a->status, a->code, a->message);
        finish(t);
    } else {
        t->log.thread = arena_dup(&t->holder->arena, thread_id(a->thread));
        submit_answers(t, a->thread);
    }
    command_free(c);
}

/* The thread, or without one the thread that has asked for this confirmation. */
static void load(struct chat_turn *t, struct str confirmation)
{
    struct command *c = new_command(t, CMD_FOLLOW, on_loaded);
    if (c) {
        c->id = arena_dup(&c->arena, confirmation);
        hub_submit(t->app->hub, c);
        return;
    }
    no_memory(t);
    finish(t);
}

/* --- which thread ----------------------------------------------------------------------------- */

static void find_thread(struct chat_turn *t)
{
    struct refusal why = { 409, "nothing_to_continue", "There is nothing to continue here." };
    struct str     id = STR_NONE;
    for (size_t i = 0; i < t->request->answer_count; i++)
        if (t->request->answers[i].kind != AI_RESULT) id = t->request->answers[i].id;
    if (!id.len) {
        refuse_now(t, &why);
        return;
    }
    t->log.thread = STR_NONE;
    load(t, id);
}

static void route(struct chat_turn *t, struct str bound)
{
    struct ai_request *q = t->request;
    struct refusal     why = { 422, "bad_id",
                               "\"id\" may have letters, digits, - and _, and at most 128 of them." };
    t->log.thread = bound.ptr ? bound : q->id;
    if (t->log.thread.ptr && !id_valid(t->log.thread, 128)) {
        refuse_now(t, &why);
        return;
    }
    if (q->kind == AI_ANSWERS) {
        if (t->log.thread.ptr && !t->unnamed) load(t, STR_NONE);
        else find_thread(t);
        return;
    }
    if (!t->log.thread.ptr) t->log.thread = id_new(&t->holder->arena, "t_");
    submit_run(t);
}

static const struct refusal NO_MEMORY = { 503, "out_of_memory",
                                          "The server is out of memory; try again in a moment." };

/* Everything the turn needs lives in the holder's arena: the answer comes later than the request
 * may live. False: refused. */
static bool begin(struct chat_turn *t)
{
    t->holder = command_new(CMD_FOLLOW);
    if (!t->holder) {
        no_memory(t);
        t->done(t, &t->result);
        return false;
    }
    struct arena *a = &t->holder->arena;
    t->holder->via = arena_dup(a, t->via);
    t->log.owner = arena_dup(a, t->owner);
    t->roles = arena_dup(a, t->roles);
    t->claims = arena_dup(a, t->claims);
    t->request = arena_new(a, struct ai_request);
    if (t->request && !a->failed) return true;
    refuse_now(t, &NO_MEMORY);
    return false;
}

void chat_start(struct chat_turn *t, const struct jv *body, struct str thread)
{
    chat_read(t, ai_decode, body, thread);
}

void chat_read(struct chat_turn *t, chat_decoder decode, const struct jv *body, struct str thread)
{
    struct refusal why = NO_MEMORY;
    if (!begin(t)) return;
    struct arena *a = &t->holder->arena;
    struct str    raw = arena_dup(a, body->raw);
    struct jv    *copy = NULL;
    if (!raw.ptr || json_parse(a, raw, &copy, NULL) != OK ||
        !decode(t->holder, copy, t->request, &why))
        refuse_now(t, &why);
    else route(t, arena_dup(a, thread));
}

void chat_say(struct chat_turn *t, const struct jv *said, struct str thread)
{
    struct refusal why = NO_MEMORY;
    if (!begin(t)) return;
    struct arena *a = &t->holder->arena;
    if (!ai_said(t->holder, said, t->request, &why)) refuse_now(t, &why);
    else route(t, arena_dup(a, thread));
}
