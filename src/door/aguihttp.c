/* aguihttp.c -- the AG-UI door: POST /ag-ui, and run, connect and stop of an agent (a page).
 *
 *   body -> agui_decode -> the thread is loaded -> agui_plan says what is new
 *        -> commands -> committed -> RUN_STARTED, what stood before, then the run from there
 *
 * What is wrong with the request itself is an HTTP status. What concerns the conversation is
 * RUN_ERROR on a stream, because the client shows that to people and hides a status in a rejected
 * promise. Leaving is not stopping: commands go on when the client has left.
 */
#include "dialect/agui.h"

#include "base/id.h"
#include "dialect/agui_request.h"
#include "door/follow.h"

#define VIA "ag-ui"

struct post {
    struct ask           ask;
    struct command      *holder; /* its arena keeps the request */
    struct agui_request *q;
    struct agui_plan    *plan;
    bool                 connect, may_decide, reloaded;
    /* answers under way */
    size_t               waiting;
    uint64_t             first; /* fact that they made */
    uint64_t             head;  /* of the log before them */
    struct receipt       refusal;
    struct thread       *thread;
    struct str           run;
};

static void load(struct post *p);

static void finish(struct post *p)
{
    command_free(p->holder);
    mem_free(p);
}

static void no_memory(struct post *p)
{
    if (p->ask.conn)
        conn_error(p->ask.conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
    finish(p);
}

static struct command *new_command(struct post *p, enum command_kind kind,
                                   void (*done)(struct command *, const struct receipt *))
{
    struct command *c = command_new(kind);
    if (!c) return NULL;
    c->log.owner = c->by = arena_dup(&c->arena, p->holder->by);
    c->log.thread = arena_dup(&c->arena, p->q->thread);
    c->via = STR(VIA);
    c->roles = arena_dup(&c->arena, p->holder->roles);
    c->claims = arena_dup(&c->arena, p->holder->claims);
    c->may_decide = p->may_decide;
    c->ctx = p;
    c->done = done;
    return c;
}

/* --- answering -------------------------------------------------------------------------------- */

static struct agui_names names_of(const struct post *p)
{
    return (struct agui_names){ p->q->thread, p->q->run, p->q->older, p->ask.app->public_url };
}

/* A stream that is whole already. */
static void reply(struct post *p, struct buf *b, struct str run)
{
    struct conn *c = p->ask.conn;
    conn_header(c, "Parley-Thread", p->q->thread);
    if (run.len) conn_header(c, "Parley-Run", run);
    conn_header(c, "X-Accel-Buffering", STR("no"));
    if (b->err)
        conn_error(c, 503, "out_of_memory", "The answer is too large for the memory there is.");
    else conn_reply(c, 200, "text/event-stream", buf_view(b));
    buf_done(b);
}

/* Is it about the conversation, or about the request? */
static bool is_told(int status, const char *code)
{
    return status == 403 || status == 404 || status == 409 || status == 410 ||
           !strcmp(code, "malformed_answer") || str_starts(str_c(code), STR("edit_"));
}

static void refuse(struct post *p, const struct receipt *a)
{
    struct agui_names n = names_of(p);
    struct buf        b;
    if (!p->ask.conn) return;
    if (!is_told(a->status, a->code)) {
        reply_error(p->ask.conn, a);
        return;
    }
    buf_init(&b, 0);
    agui_started(&b, &n);
    agui_error(&b, a->code, a->message);
    reply(p, &b, a->run);
}

/* How the thread stands, as a whole. */
static void show(struct post *p, const struct thread *t)
{
    struct agui_names n = names_of(p);
    const struct run *r = t ? thread_fold(t)->run : NULL;
    bool              tells = r && (!r->ended || r->ended->outcome == WORD_COMPLETE);
    struct buf        b;
    if (!p->ask.conn) return;
    buf_init(&b, 0);
    agui_started(&b, &n);
    if (t && agui_snapshot(&b, t, thread_committed(t), p->q->messages) != OK) b.err = ERR_NOMEM;
    for (size_t i = 0; i < p->plan->late_count; i++)
        agui_resolved(&b, p->plan->late[i].verdict, p->plan->late[i].yours);
    agui_finished(&b, &n, t, tells ? r : NULL);
    reply(p, &b, r ? r->id : STR_NONE);
}

/* The person's own words stand in the snapshot; what follows from them is told. */
static uint64_t before(const struct fold *f, uint64_t from)
{
    enum fact_kind k = f->facts[from - 1]->kind;
    return k == FACT_MESSAGE || k == FACT_RETRY ? from : from - 1;
}

/* The run from fact `from` on. */
static void stream(struct post *p, struct thread *t, struct str run, uint64_t from, bool snapshot)
{
    const struct fold *f = thread_fold(t);
    const struct run  *r = fold_run(f, run);
    struct agui_names  n = names_of(p);
    struct buf         b;
    if (!p->ask.conn) return;
    buf_init(&b, 0);
    agui_started(&b, &n);
    if (snapshot && agui_snapshot(&b, t, before(f, from), p->q->messages) != OK) b.err = ERR_NOMEM;
    for (size_t i = 0; i < p->plan->late_count; i++)
        agui_resolved(&b, p->plan->late[i].verdict, p->plan->late[i].yours);
    follow_after(p->ask.conn, conn_request(p->ask.conn)->door->dialect, t,
                 &(struct stream_start){ .mode = STREAM_RUN,
                                         .run = run,
                                         .seq = from - 1,
                                         .quiet_gates = true,
                                         .continuation = r && from > r->first->seq,
                                         .older = p->q->older,
                                         .segment = p->q->run,
                                         .link = p->ask.app->public_url,
                                         .verdicts = p->head },
                 &b);
}

/* --- a message or a retry --------------------------------------------------------------------- */

static void on_run(struct command *c, const struct receipt *a)
{
    struct post *p = c->ctx;
    bool         elsewhere = a->status < 400 && !a->thread;
    if (a->status >= 400) refuse(p, a);
    else if (a->thread) stream(p, a->thread, a->run, a->seq, a->duplicate);
    command_free(c);
    /* the request was taken by another process that has this thread: read again what became of
     * it */
    if (elsewhere && !p->reloaded) {
        p->reloaded = true;
        load(p);
        return;
    }
    if (elsewhere && p->ask.conn)
        conn_error(p->ask.conn, 503, "restarting", "Try again in a moment.");
    finish(p);
}

static void submit_run(struct post *p)
{
    const struct agui_plan *x = p->plan;
    struct command *c = new_command(p, x->wish == AGUI_RETRY ? CMD_RETRY : CMD_MESSAGE, on_run);
    if (!c) {
        no_memory(p);
        return;
    }
    c->when_busy = BUSY_INTERRUPT; /* the stock client stops by hanging up */
    c->hold = true;
    c->page = arena_dup(&c->arena, p->q->page);
    c->declared = arena_dup(&c->arena, p->q->declared);
    c->request_id = arena_dup(&c->arena, str_c(p->q->request_id));
    if (x->wish == AGUI_SAY) {
        c->create = true;
        c->message.text = arena_dup(&c->arena, x->text);
        c->message.files = arena_dup(&c->arena, x->files);
        c->message.id = arena_dup(&c->arena, x->message_id);
        c->message.replaces = arena_dup(&c->arena, x->replaces);
    }
    hub_submit(p->ask.app->hub, c);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void note_refusal(struct post *p, const struct receipt *a)
{
    struct str m = arena_dup(&p->holder->arena, str_c(a->message));
    if (p->refusal.status) return;
    p->refusal = (struct receipt){ .status = a->status,
                                   .code = a->code,
                                   .message = m.ptr ? m.ptr : a->code,
                                   .retry_s = a->retry_s };
}

static void on_answered(struct command *c, const struct receipt *a)
{
    struct post *p = c->ctx;
    if (a->status >= 400) note_refusal(p, a);
    else {
        p->thread = a->thread;
        p->run = arena_dup(&p->holder->arena, a->run);
        if (!p->first || a->seq < p->first) p->first = a->seq;
    }
    command_free(c);
    if (--p->waiting) return;
    if (p->plan->from && p->plan->from < p->first) p->first = p->plan->from;
    if (p->refusal.status) refuse(p, &p->refusal);
    else stream(p, p->thread, p->run, p->first, p->plan->snapshot);
    finish(p);
}

static struct command *answer_command(struct post *p, const struct agui_answer *x)
{
    struct command *c = new_command(p, x->result ? CMD_RESULT : CMD_DECIDE, on_answered);
    if (!c) return NULL;
    c->id = arena_dup(&c->arena, x->id);
    c->answer_id = arena_dup(&c->arena, p->q->run);
    if (x->result) {
        c->result.value = arena_dup(&c->arena, x->value);
        c->result.error = arena_dup(&c->arena, x->error);
    } else {
        c->decide.confirmed = x->confirmed;
        c->decide.cancelled = x->cancelled;
        c->decide.reason = arena_dup(&c->arena, x->reason);
        c->decide.payload = arena_dup(&c->arena, x->payload);
        /* the holder keeps these until all are answered */
        c->decide.grant = x->grant;
        c->decide.input = x->input;
    }
    return c;
}

/* All or none: what is refused now refuses the rest. */
static void submit_answers(struct post *p, struct thread *t)
{
    struct command *list[AGUI_ANSWERS_MAX];
    size_t          n = 0;
    bool            whole = true;
    p->head = thread_committed(t);
    for (size_t i = 0; i < p->plan->answer_count && whole; i++) {
        list[n] = answer_command(p, &p->plan->answers[i]);
        if ((whole = list[n] != NULL) && command_refused(t, list[n]))
            note_refusal(p, &list[n]->receipt);
        n += whole;
    }
    if (whole && !p->refusal.status) {
        p->waiting = n;
        hub_submit_all(p->ask.app->hub, list, n);
        return;
    }
    while (n) command_free(list[--n]);
    if (!whole) {
        no_memory(p);
        return;
    }
    refuse(p, &p->refusal);
    finish(p);
}

/* --- what is new? ----------------------------------------------------------------------------- */

static void refuse_plan(struct post *p)
{
    const struct refusal *why = &p->plan->why;
    struct receipt        a = { .status = why->status, .code = why->code, .message = why->message };
    struct str            id = p->q->resume_count ? p->q->resume[0].id : STR_NONE;
    if (is_suspicious(why)) log_refused(p->holder->by, VIA, p->q->thread, id, why->code);
    refuse(p, &a);
}

static void act(struct post *p, struct thread *t)
{
    agui_plan(p->holder, t ? thread_fold(t) : NULL, p->q, p->connect, p->plan);
    if (p->holder->arena.failed) {
        no_memory(p);
        return;
    }
    if (t) p->head = thread_committed(t);
    switch (p->plan->wish) {
    case AGUI_SAY:
    case AGUI_RETRY: submit_run(p); return;
    case AGUI_ANSWER: submit_answers(p, t); return;
    case AGUI_REFUSED: refuse_plan(p); break;
    case AGUI_ATTACH: stream(p, t, p->plan->run->id, p->plan->from, p->plan->snapshot); break;
    case AGUI_SHOW: show(p, t); break;
    }
    finish(p);
}

static void on_loaded(struct command *c, const struct receipt *a)
{
    struct post *p = c->ctx;
    if (a->status == 404) act(p, NULL);
    else if (a->status < 400) act(p, a->thread);
    else {
        if (p->ask.conn) reply_error(p->ask.conn, a);
        finish(p);
    }
    command_free(c);
}

static void load(struct post *p)
{
    struct command *c = new_command(p, CMD_FOLLOW, on_loaded);
    if (c) hub_submit(p->ask.app->hub, c);
    else no_memory(p);
}

/* --- the doors -------------------------------------------------------------------------------- */

static bool decode(struct post *p, struct request *q, struct refusal *why)
{
    const struct app *app = p->ask.app;
    struct arena     *a = &p->holder->arena;
    p->q = arena_new(a, struct agui_request);
    p->plan = arena_new(a, struct agui_plan);
    *why = (struct refusal){ 503, "out_of_memory",
                             "The server is out of memory; try again in a moment." };
    if (!p->q || !p->plan ||
        !agui_decode(p->holder, q->body, q->param[0], app->registry, p->q, why))
        return false;
    if (page_for(q, p->q->page)) return true;
    *why = (struct refusal){ 422, "unknown_page", "There is no page of this name." };
    return false;
}

static void begin(struct server *s, struct request *q, bool connect)
{
    struct refusal  why;
    struct command *holder = command_for(q, CMD_FOLLOW, VIA);
    struct post    *p = holder ? mem_alloc(sizeof *p) : NULL;
    if (!p) {
        if (holder)
            conn_error(q->conn, 503, "out_of_memory",
                       "The server is out of memory; try again in a moment.");
        command_free(holder);
        return;
    }
    ask_init(&p->ask, s, q);
    p->holder = holder;
    p->connect = connect;
    p->may_decide = holder->may_decide;
    if (!decode(p, q, &why)) {
        refusal_error(q->conn, &why);
        finish(p);
        return;
    }
    conn_hold(q->conn, &p->ask.hold);
    load(p);
}

void door_agui(struct server *s, struct request *q)
{
    begin(s, q, false);
}

void door_agui_connect(struct server *s, struct request *q)
{
    begin(s, q, true);
}
