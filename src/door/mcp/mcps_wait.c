/* mcps_wait.c -- a response that follows its call, as a stream of events or as one answer.
 *
 * It is a follower: whenever the call's thread has something new, next_words() looks at what is
 * committed and writes what is due: progress, a question to the client's person, and last the
 * response. So a response that attaches late, to a call that is over, says the same as one that was
 * there from the beginning.
 *
 * Owned by itself: it goes when its connection has gone and nothing is on its way back to it.
 */
#include "base/clock.h"
#include "base/id.h"
#include "door/mcp/mcps_int.h"
#include "run/rules.h"

#define NOTE_MS     10000 /* between two notes that somebody is still waited for */
#define PROGRESS_MS 100

enum said { SAID_NOTHING, SAID_SOME, SAID_LAST };

/* --- life ------------------------------------------------------------------------------------- */

static void leave(struct mcps_wait *w)
{
    bool taken_back =
        !w->last && w->modern && !w->review.ptr && !w->cancelled && w->follower.thread;
    w->left = true;
    w->conn = NULL;
    thread_wants(&w->follower, false);
    if (taken_back) mcps_withdraw(w->door, w->owner, w->thread, STR_NONE);
    mcps_wait_free(w);
}

static void on_left(struct conn_hold *h)
{
    leave(LIST_ITEM(h, struct mcps_wait, hold));
}

void mcps_wait_free(struct mcps_wait *w)
{
    if (w->under_way) return; /* it comes back, and frees it then */
    thread_unfollow(&w->follower);
    list_remove(&w->node);
    buf_done(&w->held);
    arena_done(&w->arena);
    mem_free(w);
}

struct mcps_wait *mcps_wait_new(struct mcps *m, struct request *q, const struct mcprpc *rpc,
                                const struct mcps_session *s)
{
    struct mcps_wait *w = mem_alloc(sizeof *w);
    if (!w) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return NULL;
    }
    arena_init(&w->arena, 0);
    buf_init(&w->held, 0);
    w->door = m;
    w->conn = q->conn;
    w->hold.cancelled = on_left;
    w->modern = rpc->modern;
    w->sse = mcps_wants(q, "text/event-stream");
    w->can = s ? s->can : rpc->can;
    w->id = arena_dup(&w->arena, rpc->id);
    w->owner = w->by = arena_dup(&w->arena, owner_of(q));
    w->roles = arena_dup(&w->arena, q->principal->words);
    w->claims = arena_dup(&w->arena, q->principal->claims);
    w->client = arena_dup(&w->arena, s ? s->client : rpc->client);
    if (s) {
        w->session = arena_dup(&w->arena, s->id);
        w->version = arena_dup(&w->arena, s->version);
        w->tag = mcps_session_tag(&w->arena, s->id);
        w->asked_as = mcps_request_name(&w->arena, s->id, rpc->id);
    }
    w->may_decide = mcps_may_decide(m, q->principal);
    w->until_ms = clock_mono_ms() + m->setup.wait_ms;
    return w;
}

void mcps_wait_error(struct mcps_wait *w, enum rpc_code code, const char *message)
{
    if (!w->left) mcps_error(w->conn, w->id, code, message);
    mcps_wait_free(w);
}

void mcps_wait_unavailable(struct mcps_wait *w, const struct receipt *a)
{
    if (!w->left) mcps_unavailable(w->conn, w->id, a);
    mcps_wait_free(w);
}

void mcps_wait_refuse(struct mcps_wait *w, struct str sentence)
{
    struct mcp_shape shape = mcps_shape(w->door, w->modern, STR_NONE);
    struct buf       b;
    struct jsonw     j;
    if (!w->left) {
        buf_init(&b, 0);
        jsonw_init(&j, &b);
        mcprpc_result(&j, w->id);
        mcp_sentence(&j, sentence, true, &shape);
        mcps_close(w->conn, &b, &j);
    }
    mcps_wait_free(w);
}

/* --- commands on the call's thread ------------------------------------------------------------ */

struct command *mcps_command(struct mcps *m, enum command_kind kind, struct str owner,
                             struct str thread)
{
    struct command *c = command_new(kind);
    (void)m;
    if (!c) return NULL;
    c->log.owner = c->by = arena_dup(&c->arena, owner);
    c->log.thread = arena_dup(&c->arena, thread);
    c->via = STR("mcp");
    c->done = command_drop;
    return c;
}

static void submit(struct mcps *m, struct command *c)
{
    if (c) hub_submit(m->app->hub, c);
}

void mcps_hand_out(struct mcps *m, struct str owner, struct str thread)
{
    submit(m, mcps_command(m, CMD_HANDED, owner, thread));
}

void mcps_withdraw(struct mcps *m, struct str owner, struct str thread, struct str words)
{
    struct command *c = mcps_command(m, CMD_STOP, owner, thread);
    if (!c) return;
    c->stop.unwanted = true;
    c->told = arena_dup(&c->arena, words);
    submit(m, c);
}

/* --- what is said ----------------------------------------------------------------------------- */

static void write_hex(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) buf_printf(out, "%02x", (unsigned char)s.ptr[i]);
}

/* Where the client goes on if this was the last it got (mcps_resume): the call, how many events,
 * the session, and the request and its progress token, because no node need remember them. */
static void write_place(struct mcps_wait *w, struct buf *out)
{
    buf_printf(out, "id: " STR_FMT ".%u", STR_ARG(w->thread), w->events++);
    if (w->id.len + w->token.len <= MCPS_PLACE_MAX) {
        buf_printf(out, "." STR_FMT ".", STR_ARG(w->tag));
        write_hex(out, w->id);
        if (w->token.ptr) buf_chr(out, '.');
        write_hex(out, w->token);
    }
    buf_chr(out, '\n');
}

/* One message, as an event or (an answer of its own) as it is. */
static void open_event(struct mcps_wait *w, struct buf *out)
{
    if (!w->sse) return;
    if (!w->modern) write_place(w, out);
    buf_lit(out, "data: ");
}

static void close_event(struct mcps_wait *w, struct buf *out)
{
    if (w->sse) buf_lit(out, "\n\n");
}

static void prime(struct mcps_wait *w, struct buf *out)
{
    write_place(w, out);
    buf_lit(out, "data: \n\n");
}

const struct call *mcps_call_of(const struct mcps_wait *w, const struct fold *f)
{
    return w->review.ptr ? fold_confirmation(f, w->review) : fold_program_call(f);
}

static bool is_theirs(const struct mcps_person *p, const struct fact *gate)
{
    struct ballot b = { gate->who, p->owner, gate->at_ms, clock_wall_ms() };
    struct voter  v = { p->name, p->roles };
    return p->may_decide && (!gate->who.ptr || rules_standing(&b, &v) == MAY_DECIDE);
}

enum mcp_ask mcps_how(const struct mcps_person *p, const struct call *c)
{
    const struct fact *gate = call_gate(c);
    bool               high = gate && str_is(gate->risk, "high");
    if (!gate) return MCP_ASK_NOT;
    if (p->can.form && is_theirs(p, gate)) {
        if (c->started) return MCP_ASK_FORM; /* the tool's own question */
        if (!high && mcp_fits_form(c)) return MCP_ASK_FORM;
    }
    return p->can.url ? MCP_ASK_URL : MCP_ASK_NOT;
}

enum mcp_ask mcps_wait_how(const struct mcps_wait *w, const struct call *c)
{
    return mcps_how(&(struct mcps_person){ w->can, w->by, w->roles, w->owner, w->may_decide }, c);
}

static void write_progress(struct mcps_wait *w, struct buf *out, double progress, bool total,
                           struct str message)
{
    struct jsonw j;
    if (progress <= w->progress) return;
    w->progress = progress;
    w->said_ms = clock_mono_ms();
    open_event(w, out);
    jsonw_init(&j, out);
    mcprpc_notice(&j, "notifications/progress");
    jw_kraw(&j, "progressToken", w->token);
    jw_key(&j, "progress");
    jw_f64(&j, progress);
    if (total) jw_kint(&j, "total", 1);
    if (message.len) jw_kstr(&j, "message", message);
    jw_end_obj(&j);
    jw_end_obj(&j);
    close_event(w, out);
}

static void say_progress(struct mcps_wait *w, struct buf *out, const struct call *c)
{
    bool   asked = c->asked != NULL, known = c->progress >= 0;
    double now = asked ? 0.1 + 0.9 * c->progress : c->progress;
    if (!w->token.ptr || !w->sse || c->progress_no == w->seen_progress) return;
    if (clock_mono_ms() - w->said_ms < PROGRESS_MS) return; /* the tick comes back to it */
    w->seen_progress = c->progress_no;
    if (!c->progress_no) return;
    struct str words = c->message.len ? c->message : c->stage;
    if (known) write_progress(w, out, now, true, words);
    else if (asked)
        write_progress(w, out, w->progress < 0.1 ? 0.1 : w->progress + 0.0001, true, words);
    else write_progress(w, out, w->progress < 1 ? 1 : w->progress + 1, false, words);
}

/* That a person is waited for, and where they are to go. */
static void say_note(struct mcps_wait *w, struct buf *out, const struct call *c)
{
    struct mcp_shape shape = mcps_shape(w->door, w->modern, w->thread);
    struct buf       b;
    if (!w->token.ptr || !w->sse || clock_mono_ms() < w->note_ms) return;
    w->note_ms = clock_mono_ms() + NOTE_MS;
    buf_init(&b, 0);
    buf_str(&b, call_gate(c)->ask);
    buf_chr(&b, ' ');
    mcp_link(&b, c, &shape);
    write_progress(w, out, 0.001 * ++w->notes, true, b.err ? STR_NONE : buf_view(&b));
    buf_done(&b);
}

/* A request of ours on the call's own stream; its answer comes as a message of the session. */
static void say_question(struct mcps_wait *w, struct buf *out, const struct call *c,
                         enum mcp_ask ask)
{
    struct mcp_shape shape = mcps_shape(w->door, false, w->thread);
    struct jsonw     j;
    char             id[sizeof MCPS_REVIEW + ID_MAX];
    snprintf(id, sizeof id, "%s" STR_FMT, w->review.ptr ? MCPS_REVIEW : "",
             STR_ARG(call_gate(c)->id));
    if (ask == MCP_ASK_URL) w->put_url = true;
    open_event(w, out);
    jsonw_init(&j, out);
    jw_obj(&j);
    jw_kstrz(&j, "jsonrpc", "2.0");
    jw_kstrz(&j, "id", id);
    jw_kstrz(&j, "method", "elicitation/create");
    jw_key(&j, "params");
    mcp_elicit(&j, c, ask, w->version, &shape);
    jw_end_obj(&j);
    close_event(w, out);
}

/* Whoever was sent to a page need not look there any more. */
static void say_complete(struct mcps_wait *w, struct buf *out, struct str confirmation)
{
    struct jsonw j;
    open_event(w, out);
    jsonw_init(&j, out);
    mcprpc_notice(&j, "notifications/elicitation/complete");
    jw_kstr(&j, "elicitationId", confirmation);
    jw_end_obj(&j);
    jw_end_obj(&j);
    close_event(w, out);
}

/* The response: whatever `write` makes of it. */
static enum said respond(struct mcps_wait *w, struct buf *out, const struct call *c,
                         void (*write)(struct mcps_wait *, struct jsonw *, const struct call *))
{
    struct jsonw j;
    open_event(w, out);
    jsonw_init(&j, out);
    mcprpc_result(&j, w->id);
    write(w, &j, c);
    jw_end_obj(&j);
    jw_end_obj(&j);
    close_event(w, out);
    w->last = true;
    thread_wants(&w->follower, false);
    return SAID_LAST;
}

static void write_outcome(struct mcps_wait *w, struct jsonw *j, const struct call *c)
{
    struct mcp_shape shape = mcps_shape(w->door, w->modern, w->thread);
    mcp_outcome(j, c, &shape);
    w->gives = mcp_is_unclaimed(c);
}

static void write_waiting(struct mcps_wait *w, struct jsonw *j, const struct call *c)
{
    struct mcp_shape shape = mcps_shape(w->door, w->modern, w->thread);
    char             wire[TOOL_WIRE_MAX];
    shape.tool = registry_wire(w->door->app->registry, c->tool, wire);
    mcp_waiting(j, c, &shape, w->door->draining ? "The server is restarting" : NULL);
}

static void write_task(struct mcps_wait *w, struct jsonw *j, const struct call *c)
{
    struct mcp_shape shape = mcps_shape(w->door, true, w->thread);
    struct thread   *t = w->follower.thread;
    jw_obj(j);
    jw_kstrz(j, "resultType", "task");
    mcp_meta(j);
    mcp_task(j, thread_fold(t), thread_committed(t), mcps_wait_how(w, c), false, &shape);
}

static void write_inputs(struct mcps_wait *w, struct jsonw *j, const struct call *c)
{
    struct mcp_shape shape = mcps_shape(w->door, true, w->thread);
    jw_obj(j);
    jw_kstrz(j, "resultType", "input_required");
    mcp_meta(j);
    mcp_inputs(j, c, mcps_wait_how(w, c), &shape);
    jw_kstr(j, "requestState", w->review.ptr ? w->review : w->thread);
}

/* How it stands with an approval that was to be reviewed. */
static void write_review(struct mcps_wait *w, struct jsonw *j, const struct call *c)
{
    struct mcp_shape   shape = mcps_shape(w->door, w->modern, w->thread);
    const struct fold *f = thread_fold(w->follower.thread);
    const struct fact *asked = fold_asked(f, w->review), *d = fold_verdict(f, w->review);
    struct buf         b;
    buf_init(&b, 0);
    buf_str(&b, asked->ask);
    if (d) {
        buf_printf(&b, "\n%s", word_name(d->outcome));
        if (d->by.len) buf_printf(&b, " by " STR_FMT, STR_ARG(d->by));
    } else if (c->finished) buf_lit(&b, "\nIt is not open any more.");
    else {
        buf_lit(&b, "\nA person has to decide it: ");
        mcp_link(&b, c, &shape);
    }
    mcp_sentence(j, b.err ? STR("It waits for a decision.") : buf_view(&b), false, &shape);
    buf_done(&b);
}

/* Somebody is to answer, and has not. */
static enum said say_asked(struct mcps_wait *w, struct buf *out, const struct call *c)
{
    bool        *put = c->started ? &w->put_question : &w->put_approval;
    enum mcp_ask ask = mcps_wait_how(w, c);
    bool         over = w->give_up || w->door->draining || clock_mono_ms() >= w->until_ms;
    if (w->modern && w->can.tasks && !w->state.ptr && !w->review.ptr)
        return respond(w, out, c, write_task);
    if (w->modern && ask != MCP_ASK_NOT && !*put && !w->give_up)
        return respond(w, out, c, write_inputs);
    if (!w->modern && w->sse && ask != MCP_ASK_NOT && !*put) {
        *put = true;
        say_question(w, out, c, ask);
    }
    if (w->review.ptr && (over || ask == MCP_ASK_NOT)) return respond(w, out, c, write_review);
    if (over) return respond(w, out, c, write_waiting);
    say_note(w, out, c);
    return out->len ? SAID_SOME : SAID_NOTHING;
}

static enum said say_over(struct mcps_wait *w, struct buf *out, const struct call *c)
{
    if (!w->modern && w->sse && w->put_approval && w->put_url && c->asked)
        say_complete(w, out, c->asked->id);
    return respond(w, out, c, write_outcome);
}

/* Appends what is due to `out`. */
static enum said next_words(struct mcps_wait *w, struct buf *out)
{
    struct thread *t = w->follower.thread;
    if (w->cancelled || !t) return SAID_LAST;
    if (w->sse && !w->modern && !w->events) prime(w, out);
    if (thread_away(t)) return SAID_NOTHING;
    const struct call *c = mcps_call_of(w, thread_fold(t));
    enum mcp_stage     stage = mcp_stage_of(c, thread_committed(t));
    bool               open = stage == MCP_ASKED || stage == MCP_QUESTION;
    if (w->review.ptr && (!open || !str_eq(call_gate(c)->id, w->review)))
        return respond(w, out, c, write_review);
    switch (stage) {
    case MCP_STARTING: break;
    case MCP_ASKED:
    case MCP_QUESTION: return say_asked(w, out, c);
    case MCP_RUNNING: say_progress(w, out, c); break;
    case MCP_OVER: return say_over(w, out, c);
    }
    return out->len ? SAID_SOME : SAID_NOTHING;
}

/* --- as a stream ------------------------------------------------------------------------------ */

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    struct mcps_wait *w = LIST_ITEM(s, struct mcps_wait, source);
    if (w->held_at == w->held.len) {
        buf_clear(&w->held);
        w->held_at = 0;
        if (w->last || next_words(w, &w->held) == SAID_LAST) w->last = true;
        if (w->held.err) return PULL_END; /* no memory: the client asks again */
    }
    struct str rest = str_cut(str_from(buf_view(&w->held), w->held_at), room);
    buf_str(out, rest);
    w->held_at += rest.len;
    if (w->held_at < w->held.len) return PULL_MORE;
    return w->last ? PULL_END : PULL_WAIT;
}

static void gone(struct source *s)
{
    struct mcps_wait *w = LIST_ITEM(s, struct mcps_wait, source);
    if (w->last && w->gives && w->held_at == w->held.len)
        mcps_hand_out(w->door, w->owner, w->thread);
    leave(w);
}

/* --- as one answer ---------------------------------------------------------------------------- */

static void answer(struct mcps_wait *w)
{
    struct buf b;
    buf_init(&b, 0);
    enum said said = next_words(w, &b);
    if (said != SAID_LAST) {
        buf_done(&b);
        return;
    }
    struct conn *c = w->conn;
    bool         gives = w->gives && !b.err;
    w->conn = NULL;
    w->last = true;
    if (w->cancelled || !b.len) {
        conn_reply(c, 202, NULL, STR(""));
        buf_done(&b);
    } else mcps_reply(c, 200, &b);
    if (gives) mcps_hand_out(w->door, w->owner, w->thread);
    mcps_wait_free(w);
}

/* --- both ------------------------------------------------------------------------------------- */

void mcps_wake(struct mcps_wait *w)
{
    if (w->streaming) source_wake(&w->source);
    else if (w->conn) answer(w);
}

static void wake(struct follower *f)
{
    mcps_wake(LIST_ITEM(f, struct mcps_wait, follower));
}

/* The thread was deleted. */
static void over(struct follower *f)
{
    struct mcps_wait *w = LIST_ITEM(f, struct mcps_wait, follower);
    w->cancelled = true;
    mcps_wake(w);
}

/* Not wanted here any more: whoever holds it stops it, if nobody else wants it. */
static void give_away(struct mcps_wait *w)
{
    thread_wants(&w->follower, false);
    mcps_withdraw(w->door, w->owner, w->thread, STR_NONE);
}

/* A message of the session that came to another connection, maybe of another node. */
static void told(struct follower *f, struct str words)
{
    struct mcps_wait *w = LIST_ITEM(f, struct mcps_wait, follower);
    struct str        verb = STR_NONE;
    if (w->last || w->modern || !str_split(&words, ' ', &verb)) return;
    if (str_is(verb, "cancelled") && str_eq(words, w->asked_as)) {
        w->cancelled = true;
        give_away(w);
    } else if (str_is(verb, "declined") && str_eq(words, w->tag) && !w->review.ptr) give_away(w);
    else if (str_is(verb, "shut") && str_eq(words, w->tag)) w->give_up = true;
    else return;
    mcps_wake(w);
}

void mcps_attach(struct mcps_wait *w, struct thread *t)
{
    if (w->left) {
        mcps_wait_free(w);
        return;
    }
    w->follower.wake = wake;
    w->follower.over = over;
    w->follower.told = told;
    w->follower.wants = !w->review.ptr && !w->unwanted;
    thread_follow(t, &w->follower);
    list_add(&w->door->waits, &w->node);
    if (!uv_is_active((uv_handle_t *)&w->door->tick.uv)) loop_timer_set(&w->door->tick, 100);
    conn_header(w->conn, "Parley-Thread", w->thread);
    if (!w->sse) {
        answer(w);
        return;
    }
    struct conn *c = w->conn;
    w->conn = NULL;
    w->streaming = true;
    w->source = (struct source){ .pull = pull, .gone = gone };
    conn_stream(c, 200, "text/event-stream", &w->source, MCPS_HEARTBEAT_MS);
}
