/* mcps_answer.c -- what comes back from the client: decisions of its person, requests that are
 * taken back, and tasks.
 *
 * A decision that comes by a form is the principal's, judged like every answer at this moment's
 * rights. What a client declares chose only how it was asked.
 */
#include "base/id.h"
#include "dialect/request.h"
#include "door/mcp/mcps_int.h"

/* Who answers which question. */
struct reply {
    struct mcps     *door;
    struct str       by, roles, owner, thread, confirmation;
    bool             may_decide;
    enum mcp_ask     ask;
    struct str       form; /* of the tool's own question; STR_NONE: it is ours */
    const struct jv *said; /* {"action", "content"?}; NULL: an error came instead */
};

enum taken {
    TAKEN,     /* it decides, or the call is taken back */
    TAKEN_NOT, /* it decides nothing; whoever waits goes on */
    TAKEN_BACK,
    GIVEN_UP, /* nothing is decided, and nobody is at the screen */
};

static struct str form_of(const struct call *c)
{
    struct str form = call_gate(c)->schema;
    return !c->started ? STR_NONE : form.ptr ? form : STR("{}");
}

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

/* Ours wants "approve"; said to a tool's form that does not, it means what it means there. */
static enum taken fill_in(const struct reply *r, const struct jv *content)
{
    struct arena a;
    arena_init(&a, 0);
    enum plain plain = request_plain(&a, r->form, content);
    arena_done(&a);
    if (plain == PLAIN_ODD) return GIVEN_UP;
    if (plain == PLAIN_NO) decide(r, false, STR_NONE);
    else decide(r, true, jv_is(content, JSON_OBJECT) ? content->raw : STR("{}"));
    return TAKEN;
}

static enum taken take_form(const struct reply *r, struct str action)
{
    const struct jv *content = jv_get(r->said, "content"), *yes = jv_get(content, "approve");
    if (str_is(action, "decline")) {
        decide(r, false, STR_NONE);
        return TAKEN;
    }
    if (!str_is(action, "accept")) return GIVEN_UP;
    if (r->form.ptr) return fill_in(r, content);
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

/* What a message of a session says about a call, while the call is looked for. */
struct remark {
    struct mcps         *door;
    struct arena         arena;
    struct store_list    list;
    struct str           by, roles, tag, name;
    struct mcp_abilities can;
    bool                 may_decide, agent, review;
    const struct jv     *said;
};

static struct remark *remark_new(struct mcps *m, struct request *q, const struct mcps_session *s)
{
    struct remark *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    arena_init(&k->arena, 0);
    k->door = m;
    k->by = arena_dup(&k->arena, s->owner);
    k->roles = arena_dup(&k->arena, q->principal->words);
    k->tag = mcps_session_tag(&k->arena, s->id);
    k->can = s->can;
    k->may_decide = mcps_may_decide(m, q->principal);
    k->agent = mcps_is_agent(q->principal);
    return k;
}

static void remark_free(struct remark *k)
{
    if (!k) return;
    arena_done(&k->arena);
    mem_free(k);
}

/* Nothing is decided, and nobody is at the screen: who waits for that need not. */
static void give_up(struct remark *k, struct str owner, struct str thread)
{
    struct command *c = mcps_command(k->door, CMD_FOLLOW, owner, thread);
    if (!c) return;
    c->told = arena_printf(&c->arena, MCPS_SHUT STR_FMT, STR_ARG(k->tag));
    hub_submit(k->door->app->hub, c);
}

/* The call that the question is about, if this client may have been asked it. */
static const struct call *asked_call(const struct remark *k, const struct fold *f, struct str id)
{
    const struct call *c = k->review ? fold_confirmation(f, id) : fold_program_call(f);
    const struct fact *gate = c ? call_gate(c) : NULL;
    if (!gate || !str_eq(gate->id, id)) return NULL;
    return k->agent && !fold_program_call(f) ? NULL : c;
}

static void answer_question(struct remark *k, struct command *cmd, const struct fold *f)
{
    const struct call *c = asked_call(k, f, cmd->id);
    if (!c) return;
    struct mcps_person p = { k->can, k->by, k->roles, cmd->log.owner, k->may_decide };
    struct reply       r = { .door = k->door,
                             .by = k->by,
                             .roles = k->roles,
                             .owner = cmd->log.owner,
                             .thread = cmd->log.thread,
                             .confirmation = cmd->id,
                             .may_decide = k->may_decide,
                             .ask = mcps_how(&p, c),
                             .form = form_of(c),
                             .said = k->said };
    switch (take(&r)) {
    case TAKEN:
    case TAKEN_NOT: return;
    case TAKEN_BACK:
        if (!k->review)
            mcps_withdraw(k->door, r.owner, r.thread,
                          arena_printf(&k->arena, MCPS_DECLINED STR_FMT, STR_ARG(k->tag)));
        return;
    case GIVEN_UP: give_up(k, r.owner, r.thread); return;
    }
}

static void on_question(struct command *c, const struct receipt *a)
{
    struct remark *k = c->ctx;
    if (a->status < 400 && a->thread && !k->arena.failed)
        answer_question(k, c, thread_fold(a->thread));
    remark_free(k);
    command_free(c);
}

void mcps_take_answer(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      const struct mcps_session *s)
{
    struct remark  *k = remark_new(m, q, s);
    struct command *c = k ? mcps_command(m, CMD_FOLLOW, s->owner, STR_NONE) : NULL;
    struct jv      *id = NULL, *said = NULL;
    bool good = c && json_parse(&k->arena, arena_dup(&k->arena, rpc->id), &id, NULL) == OK &&
                id->str.len > 0;
    if (good && rpc->result)
        good = json_parse(&k->arena, arena_dup(&k->arena, rpc->result->raw), &said, NULL) == OK;
    if (good) {
        struct str name = id->str;
        k->said = said;
        k->review = str_starts(name, STR(MCPS_REVIEW));
        if (k->review) name = str_from(name, sizeof MCPS_REVIEW - 1);
        c->id = arena_dup(&c->arena, name);
        c->anyones = k->review && mcps_sees_all(m, q->principal);
        c->ctx = k;
        c->done = on_question;
    }
    conn_reply(q->conn, 202, NULL, STR(""));
    if (good) hub_submit(m->app->hub, c);
    else {
        command_free(c);
        remark_free(k);
    }
}

/* --- legacy: a request that is taken back ----------------------------------------------------- */

static void take_back(struct remark *k, struct str thread)
{
    mcps_withdraw(k->door, k->by, thread,
                  arena_printf(&k->arena, MCPS_CANCELLED STR_FMT, STR_ARG(k->name)));
    remark_free(k);
}

static void on_named(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                     struct str next)
{
    struct remark *k = LIST_ITEM(l, struct remark, list);
    (void)next;
    if (!e && count) take_back(k, rows[0].thread);
    else remark_free(k);
}

/* Who waits here knows its call; else the call knows the request that began it. */
static void cancel(struct mcps *m, struct request *q, const struct mcps_session *s,
                   const struct jv *id)
{
    struct remark *k = id ? remark_new(m, q, s) : NULL;
    if (!k) return;
    k->name = mcps_request_name(&k->arena, s->id, id->raw);
    LIST_EACH (n, &m->waits) {
        struct mcps_wait *w = LIST_ITEM(n, struct mcps_wait, node);
        if (w->last || !str_eq(w->asked_as, k->name)) continue;
        take_back(k, w->thread);
        return;
    }
    k->list = (struct store_list){
        .kind = STORE_KEYS, .owner = k->by, .id = k->name, .limit = 1, .done = on_named
    };
    if (k->arena.failed) remark_free(k);
    else hub_list(m->app->hub, &k->list);
}

void mcps_take_notice(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                      const struct mcps_session *s)
{
    if (str_is(rpc->method, "notifications/cancelled"))
        cancel(m, q, s, jv_get(rpc->params, "requestId"));
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
                       .ask = mcps_wait_how(w, c),
                       .form = form_of(c),
                       .said = said };
    switch (take(&r)) {
    case TAKEN:
    case TAKEN_NOT: return;
    case TAKEN_BACK:
        if (w->review.ptr) return;
        w->unwanted = true;
        mcps_withdraw(w->door, w->owner, w->thread, STR_NONE);
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

/* A task is its own person's. */
static struct mcps_person person_of(const struct task_ask *k, const struct command *c)
{
    return (struct mcps_person){ k->rpc.can, c->log.owner, c->roles, c->log.owner, k->may_decide };
}

static void tell_task(struct mcps *m, struct task_ask *k, struct command *cmd, struct thread *t)
{
    struct mcp_shape   shape = mcps_shape(m, true, thread_id(t));
    const struct call *c = fold_program_call(thread_fold(t));
    struct mcps_person p = person_of(k, cmd);
    struct buf         b;
    struct jsonw       w;
    mcps_open(&b, &w, &k->rpc);
    mcp_task(&w, thread_fold(t), thread_committed(t), mcps_how(&p, c), true, &shape);
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
        struct mcps_person p = person_of(k, c);
        struct reply       r = { .door = m,
                                 .by = c->log.owner,
                                 .roles = c->roles,
                                 .owner = c->log.owner,
                                 .thread = c->log.thread,
                                 .confirmation = gate->id,
                                 .may_decide = k->may_decide,
                                 .ask = mcps_how(&p, call),
                                 .form = form_of(call),
                                 .said = said };
        if (take(&r) == TAKEN_BACK) mcps_withdraw(m, c->log.owner, c->log.thread, STR_NONE);
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
        mcps_withdraw(m, c->log.owner, c->log.thread, STR_NONE);
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
