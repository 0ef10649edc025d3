/* why.c -- GET /v1/threads/{}/trace: a conversation's steps, and with ?step=N what the model was
 * asked in that one, byte for byte (run/trace.h).
 *
 * Whose conversation it is sees the steps; an administrator also other people's (?owner=NAME). The
 * requests are an administrator's: the prompt and the tools in them are the operator's. Without a
 * sign-in that is whoever runs the program. */
#include "base/id.h"
#include "door/app.h"
#include "run/trace.h"

struct why {
    struct ask       ask;
    struct trace_ask trace;
    struct arena     arena;
};

static void refuse(struct conn *c, const struct why *k, enum err e)
{
    if (e == ERR_NOT_FOUND && k->trace.step)
        conn_error(c, 404, "unknown_step", "There is no such conversation, or no such step in it.");
    else if (e == ERR_NOT_FOUND)
        conn_error(c, 404, "unknown_thread", "There is no such conversation.");
    else if (e == ERR_DAMAGED)
        conn_error(c, 409, "damaged", "This conversation is damaged in the server's database.");
    else
        conn_error(c, 503, "store_unavailable",
                   "The conversation cannot be read at the moment. Try again in a moment.");
}

static void on_trace(struct trace_ask *x, enum err e, struct buf *json)
{
    struct why  *k = LIST_ITEM(x, struct why, trace);
    struct conn *c = k->ask.conn;
    if (c && e) refuse(c, k, e);
    else if (c) conn_reply(c, 200, "application/json", buf_view(json));
    arena_done(&k->arena);
    mem_free(k);
}

/* False: answered. */
static bool may_see(struct request *q, struct str owner, struct str step, uint64_t *no)
{
    bool admin = q->principal->roles & ROLE_ADMIN;
    *no = 0;
    if (owner.ptr && !admin)
        conn_error(q->conn, 403, "forbidden",
                   "Only an administrator sees other people's conversations.");
    else if (step.ptr && !admin)
        conn_error(q->conn, 403, "forbidden",
                   "What the model was asked holds the operator's prompt: only an administrator "
                   "sees it. Without \"step\" the steps are told.");
    else if (step.ptr && (!str_to_u64(step, no) || !*no))
        conn_error(q->conn, 422, "bad_field", "\"step\" must be the number of a step, from 1.");
    else if (!owner.ptr && !(q->principal->roles & ROLE_USER))
        conn_error(q->conn, 403, "forbidden",
                   "You have no conversations; say whose with \"owner\".");
    else if (!id_valid(q->param[0], 128))
        conn_error(q->conn, 404, "unknown_thread", "There is no such conversation.");
    else return true;
    return false;
}

void why_trace(struct server *s, struct request *q)
{
    struct str  owner = request_query(q, "owner");
    uint64_t    step;
    struct why *k;
    if (!may_see(q, owner, request_query(q, "step"), &step)) return;
    if (!(k = mem_alloc(sizeof *k))) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    ask_init(&k->ask, s, q);
    arena_init(&k->arena, 0);
    k->trace = (struct trace_ask){
        .log = { arena_dup(&k->arena, owner.ptr ? owner : owner_of(q)),
                 arena_dup(&k->arena, q->param[0]) },
        .step = step,
        .done = on_trace,
    };
    if (k->arena.failed) {
        arena_done(&k->arena);
        mem_free(k);
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    conn_hold(q->conn, &k->ask.hold);
    hub_trace(k->ask.app->hub, &k->trace);
}
