/* sse.c -- the two plain SSE doors and the thread's event stream. */
#include "base/id.h"
#include "door/follow.h"

/* --- finding the stream that an answer belongs to ---------------------------------------- */

/* A run known by its id: its stream from the beginning. */
static void follow_run(struct ask *k, struct thread *t, struct str run)
{
    const struct run *r = fold_run(thread_fold(t), run);
    if (!r) {
        conn_error(k->conn, 404, "unknown_run", "There is no such run.");
        return;
    }
    follow_stream(k->conn, k->door->dialect, t,
                  &(struct stream_start){ .mode = STREAM_RUN,
                                          .run = run,
                                          .replay = true,
                                          .seq = r->first->seq - 1,
                                          .reasoning = k->reasoning });
}

static void on_found(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) reply_error(k->conn, a);
    else follow_run(k, a->thread, k->run);
}

/* The run lives in a thread that this command did not touch: load that one. */
static void attach_elsewhere(struct ask *k, const struct receipt *a)
{
    struct request *q = conn_request(k->conn);
    struct ask     *again = ask_new(conn_server(k->conn), q, on_found);
    struct command *d = again ? command_for(q, CMD_FOLLOW, k->door->via) : NULL;
    if (!d) {
        mem_free(again);
        return;
    }
    again->door = k->door;
    again->reasoning = k->reasoning;
    d->log.thread = arena_dup(&d->arena, a->id);
    again->run = arena_dup(&d->arena, a->run);
    ask_submit(again, d);
}

static void on_chat(struct ask *k, struct command *c, const struct receipt *a)
{
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    if (a->duplicate && !a->thread) {
        attach_elsewhere(k, a);
        return;
    }
    if (a->duplicate && c->kind != CMD_DECIDE) {
        follow_run(k, a->thread, a->run);
        return;
    }
    follow_stream(k->conn, k->door->dialect, a->thread,
                  &(struct stream_start){ .mode = STREAM_RUN,
                                          .run = a->run,
                                          .seq = a->seq - 1,
                                          .reasoning = k->reasoning,
                                          .continuation = c->kind == CMD_DECIDE });
}

/* --- the doors -------------------------------------------------------------------------------- */

/* No thread named: a new one, which the server names. An answer names its confirmation. */
static bool pick_thread(struct command *c)
{
    if (c->log.thread.ptr || c->kind == CMD_DECIDE) return true; /* `create`: it may be new */
    c->create = true;
    c->log.thread = id_new(&c->arena, "t_");
    return c->log.thread.ptr != NULL;
}

static void submit_chat(struct ask *k, struct command *c)
{
    if (!pick_thread(c)) {
        conn_error(k->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        mem_free(k);
        command_free(c);
        return;
    }
    ask_submit(k, c);
}

void door_sse(struct server *s, struct request *q)
{
    struct refusal      why;
    struct chat_request said;
    struct command     *c = command_for(q, CMD_MESSAGE, q->door->via);
    struct ask         *k = c ? ask_new(s, q, on_chat) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    k->door = q->door;
    if (!request_chat(c, q->body, q->door->sessions, &said, &why)) {
        if (is_suspicious(&why)) log_refused(c->by, q->door->via, c->log.thread, c->id, why.code);
        refusal_error(q->conn, &why);
        command_free(c);
        mem_free(k);
        return;
    }
    k->reasoning = said.reasoning;
    if (!c->page.ptr && said.page.len && hub_page(k->app->hub, said.page)) c->page = said.page;
    submit_chat(k, c);
}

/* --- the event stream ------------------------------------------------------------------------- */

static void on_events(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    if (!place_fits(a->thread, k->seq, k->units)) {
        conn_error(k->conn, 422, "bad_place",
                   "\"after\" is no place in this conversation: it lies beyond its end, or inside "
                   "a character.");
        return;
    }
    follow_stream(
        k->conn, k->door->dialect, a->thread,
        &(struct stream_start){
            .mode = STREAM_THREAD, .seq = k->seq, .units = k->units, .reasoning = k->reasoning });
}

void door_events(struct server *s, struct request *q)
{
    uint64_t   seq = 0, units = 0;
    struct str after = request_query(q, "after"), last = request_header(q, "last-event-id");
    /* what a reconnecting browser has seen beats the address it started with */
    if (last.len) after = last;
    if (after.len && !place_parse(after, &seq, &units)) {
        conn_error(q->conn, 422, "bad_place",
                   "\"after\" must be a place like 41.17, as the events' ids give it.");
        return;
    }
    struct command *c = command_for(q, CMD_FOLLOW, "rest");
    struct ask     *k = c ? ask_new(s, q, on_events) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    k->door = q->door;
    k->reasoning = str_is(request_query(q, "reasoning"), "true");
    c->log.thread = arena_dup(&c->arena, q->param[0]);
    k->seq = seq;
    k->units = units;
    ask_submit(k, c);
}
