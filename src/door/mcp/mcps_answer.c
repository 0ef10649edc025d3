/* mcps_answer.c -- what comes back from the client: decisions of its person, requests that are
 * taken back, and tasks.
 *
 * A decision that comes by a form is the principal's, judged like every answer at this moment's
 * rights. What a client declares chose only how it was asked.
 */
#include "base/id.h"
#include "door/mcp/mcps_int.h"

/* Who answers which question. */
struct reply {
    struct mcps     *door;
    struct str       by, roles, owner, thread, confirmation;
    bool             may_decide;
    enum mcp_ask     ask;
    bool             tools; /* the tool's own question */
    const struct jv *said;  /* {"action", "content"?}; NULL: an error came instead */
};

enum taken {
    TAKEN,     /* it decides, or the call is taken back */
    TAKEN_NOT, /* it decides nothing; whoever waits goes on */
    TAKEN_BACK,
    GIVEN_UP, /* nothing is decided, and nobody is at the screen */
};

static void decide(const struct reply *r, bool confirmed, struct str payload)
{
    struct command *c = mcps_command(r->door, CMD_DECIDE, r->owner, r->thread);
    if (!c) return;
    c->by = arena_dup(&c->arena, r->by);
    c->roles = arena_dup(&c->arena, r->roles);
    c->id = arena_dup(&c->arena, r->confirmation);
    c->may_decide = r->may_decide;
    c->decide.confirmed = confirmed;
    c->decide.payload = arena_dup(&c->arena, payload);
    hub_submit(r->door->app->hub, c);
}

static enum taken take_form(const struct reply *r, struct str action)
{
    const struct jv *content = jv_get(r->said, "content"), *yes = jv_get(content, "approve");
    if (str_is(action, "decline")) {
        decide(r, false, STR_NONE);
        return TAKEN;
    }
    if (!str_is(action, "accept")) return GIVEN_UP;
    if (r->tools) {
        decide(r, true, jv_is(content, JSON_OBJECT) ? content->raw : STR("{}"));
        return TAKEN;
    }
    if (!jv_is(yes, JSON_BOOL)) return GIVEN_UP;
    decide(r, yes->boolean, STR_NONE);
    return TAKEN;
}

static enum taken take(const struct reply *r)
{
    struct str action = jv_str_at(r->said, "action");
    if (r->ask == MCP_ASK_FORM) return take_form(r, action);
    if (r->ask != MCP_ASK_URL) return TAKEN_NOT;
    if (str_is(action, "accept")) return TAKEN_NOT; /* the page was opened, no more */
    return str_is(action, "decline") ? TAKEN_BACK : GIVEN_UP;
}

/* --- legacy: an answer to a question on a call's stream --------------------------------------- */

static struct mcps_wait *wait_of(struct mcps *m, struct str session, struct str thread)
{
    LIST_EACH (n, &m->waits) {
        struct mcps_wait *w = LIST_ITEM(n, struct mcps_wait, node);
        if (!w->last && str_eq(w->session, session) && str_eq(w->thread, thread)) return w;
    }
    return NULL;
}

void mcps_take_answer(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      struct mcps_session *s)
{
    struct mcps_record *k = mcps_recall(&s->questions, rpc->id, STR_NONE);
    conn_reply(q->conn, 202, NULL, STR(""));
    if (!k) return;
    struct mcps_wait *w = wait_of(m, s->id, k->thread);
    struct reply      r = { .door = m,
                            .by = s->owner,
                            .roles = q->principal->words,
                            .owner = k->owner,
                            .thread = k->thread,
                            .confirmation = str_n(k->id.ptr + 1, k->id.len - 2),
                            .may_decide = mcps_may_decide(m, q->principal),
                            .ask = k->ask,
                            .tools = k->tools,
                            .said = rpc->result };
    switch (take(&r)) {
    case TAKEN:
    case TAKEN_NOT: return;
    case TAKEN_BACK:
        if (!w || !w->review.ptr) mcps_withdraw(m, k->owner, k->thread, w);
        return;
    case GIVEN_UP:
        if (!w) return;
        w->give_up = true;
        mcps_wake(w);
        return;
    }
}

/* --- legacy: a request that is taken back ----------------------------------------------------- */

static void cancel(struct mcps *m, struct mcps_session *s, const struct jv *id)
{
    struct mcps_record *k = id ? mcps_recall(&s->calls, id->raw, STR_NONE) : NULL;
    struct mcps_wait   *w = NULL;
    if (!k) return;
    LIST_EACH (n, &m->waits) {
        struct mcps_wait *x = LIST_ITEM(n, struct mcps_wait, node);
        if (!x->last && str_eq(x->session, s->id) && str_eq(x->id, id->raw)) w = x;
    }
    mcps_withdraw(m, s->owner, k->thread, w);
    if (!w) return;
    w->cancelled = true;
    mcps_wake(w);
}

void mcps_take_notice(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      struct mcps_session *s)
{
    if (str_is(rpc->method, "notifications/cancelled"))
        cancel(m, s, jv_get(rpc->params, "requestId"));
    conn_reply(q->conn, 202, NULL, STR(""));
}

/* --- modern: answers beside the request, again ------------------------------------------------ */

static const struct jv *input_of(const struct jv *inputs, const struct call *c)
{
    return jv_get(inputs, c->started ? "question" : "approval");
}

void mcps_take_inputs(struct mcps_wait *w, const struct fold *f)
{
    const struct call *c = mcps_call_of(w, f);
    const struct fact *gate = c ? call_gate(c) : NULL;
    const struct jv   *said = gate ? input_of(w->inputs, c) : NULL;
    if (!said) return;
    if (c->started) w->put_question = true;
    struct reply r = { .door = w->door,
                       .by = w->by,
                       .roles = w->roles,
                       .owner = w->owner,
                       .thread = w->thread,
                       .confirmation = gate->id,
                       .may_decide = w->may_decide,
                       .ask = mcps_how(w->can, w->may_decide, c),
                       .tools = c->started != NULL,
                       .said = said };
    switch (take(&r)) {
    case TAKEN:
    case TAKEN_NOT: return;
    case TAKEN_BACK:
        if (!w->review.ptr) mcps_withdraw(w->door, w->owner, w->thread, w);
        return;
    case GIVEN_UP: w->give_up = true; return;
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

struct task_ask {
    struct ask    ask; /* first: it is freed as one */
    struct mcprpc rpc; /* in the request's memory, which lasts until the answer */
    bool          may_decide;
};

static void tell_task(struct mcps *m, struct task_ask *k, struct command *cmd, struct thread *t)
{
    struct mcp_shape   shape = mcps_shape(m, true, thread_id(t));
    const struct call *c = fold_program_call(thread_fold(t));
    struct buf         b;
    struct jsonw       w;
    mcps_open(&b, &w, &k->rpc);
    mcp_task(&w, thread_fold(t), thread_committed(t), mcps_how(k->rpc.can, k->may_decide, c), true,
             &shape);
    bool gives = !b.err && mcp_is_unclaimed(c);
    mcps_close(k->ask.conn, &b, &w);
    if (gives) mcps_hand_out(m, cmd->log.owner, cmd->log.thread);
}

static void tell_nothing(struct task_ask *k)
{
    struct buf   b;
    struct jsonw w;
    mcps_open(&b, &w, &k->rpc);
    mcps_close(k->ask.conn, &b, &w);
}

static void update_task(struct mcps *m, struct task_ask *k, struct command *c, struct thread *t)
{
    const struct call *call = fold_program_call(thread_fold(t));
    const struct fact *gate = call_gate(call);
    const struct jv   *said = input_of(jv_get(k->rpc.params, "inputResponses"), call);
    if (gate && said) {
        struct reply r = { .door = m,
                           .by = c->log.owner,
                           .roles = c->roles,
                           .owner = c->log.owner,
                           .thread = c->log.thread,
                           .confirmation = gate->id,
                           .may_decide = k->may_decide,
                           .ask = mcps_how(k->rpc.can, k->may_decide, call),
                           .tools = call->started != NULL,
                           .said = said };
        if (take(&r) == TAKEN_BACK) mcps_withdraw(m, c->log.owner, c->log.thread, NULL);
    }
    tell_nothing(k);
}

static void on_task(struct ask *ask, struct command *c, const struct receipt *a)
{
    struct task_ask *k = (struct task_ask *)(void *)ask;
    struct mcps     *m = ask->app->mcp;
    bool there = a->status < 400 && a->thread && fold_program_call(thread_fold(a->thread));
    if (a->status >= 500) mcps_unavailable(ask->conn, k->rpc.id, a);
    else if (!there) mcps_error(ask->conn, k->rpc.id, RPC_PARAMS, "Unknown task");
    else if (str_is(k->rpc.method, "tasks/get")) tell_task(m, k, c, a->thread);
    else if (str_is(k->rpc.method, "tasks/update")) update_task(m, k, c, a->thread);
    else {
        mcps_withdraw(m, c->log.owner, c->log.thread, NULL);
        tell_nothing(k);
    }
}

void mcps_task(struct mcps *m, struct request *q, const struct mcprpc *rpc)
{
    struct str id = jv_str_at(rpc->params, "taskId");
    if (!rpc->can.tasks) {
        mcps_fault(q->conn, rpc->id,
                   &(struct mcprpc_fault){ 400, RPC_CAPABILITY, "This needs the tasks extension.",
                                           STR(MCPS_NEEDS_TASKS) });
        return;
    }
    if (!id_valid(id, 128)) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "Unknown task");
        return;
    }
    struct command  *c = mcps_command(m, CMD_FOLLOW, owner_of(q), id);
    struct task_ask *k = c ? mem_alloc(sizeof *k) : NULL;
    if (!k) {
        command_free(c);
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    ask_init(&k->ask, m->app->server, q);
    k->ask.answered = on_task;
    k->rpc = *rpc;
    k->may_decide = mcps_may_decide(m, q->principal);
    c->roles = arena_dup(&c->arena, q->principal->words);
    ask_submit(&k->ask, c);
}
