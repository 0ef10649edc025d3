/* chathttp.c -- the AI SDK doors: POST /api/chat (native approval), POST /stream (adk
 * form), and the GETs that resume them. Errors are one plain sentence, because
 * the client shows the body to people; the code stands in Parley-Error. */
#include "base/id.h"
#include "door/chat.h"
#include "door/follow.h"

struct post {
    struct ask       ask;
    struct chat_turn turn;
};

static void sentence(struct conn *c, int status, const char *code, const char *message)
{
    conn_header(c, "Parley-Error", str_c(code));
    conn_reply(c, status, "text/plain; charset=utf-8", str_c(message));
}

static void stream(struct ask *k, struct thread *t, const struct stream_start *s)
{
    conn_header(k->conn, "x-vercel-ai-ui-message-stream", STR("v1"));
    follow_stream(k->conn, k->door->dialect, t, s);
}

static void on_turn(struct chat_turn *turn, const struct chat_result *r)
{
    struct post *p = LIST_ITEM(turn, struct post, turn);
    struct conn *c = p->ask.conn;
    if (c && r->status >= 400) {
        retry_after(c, r->retry_s);
        sentence(c, r->status, r->code, r->message);
    } else if (c)
        stream(&p->ask, r->thread,
               &(struct stream_start){ .run = r->run,
                                       .seq = r->seq,
                                       .native = p->ask.native,
                                       .continuation = r->continuation,
                                       .replay = r->replay });
    mem_free(p);
}

/* ?approval=native|adk overrides the door's own form. */
static bool is_native(const struct request *q)
{
    struct str form = request_query(q, "approval");
    return form.len ? str_is(form, "native") : q->door->native;
}

void door_chat(struct server *s, struct request *q)
{
    struct json_error e;
    struct jv        *body;
    enum err          err = json_parse(q->arena, q->body, &body, &e);
    if (err == ERR_SYNTAX) {
        sentence(q->conn, 400, "bad_json", json_complaint(q->arena, "The request", &e).ptr);
        return;
    }
    struct post *p = err ? NULL : mem_alloc(sizeof *p);
    if (!p) {
        sentence(q->conn, 503, "out_of_memory",
                 "The server is out of memory; try again in a moment.");
        return;
    }
    if (body->type != JSON_OBJECT) {
        mem_free(p);
        sentence(q->conn, 422, "bad_field", "The request must be a JSON object.");
        return;
    }
    ask_init(&p->ask, s, q);
    p->ask.door = q->door;
    p->ask.native = is_native(q);
    p->turn = (struct chat_turn){ .app = app_of(s),
                                  .owner = owner_of(q),
                                  .claims = q->principal->claims,
                                  .via = str_c(q->door->via),
                                  .interrupts = true,
                                  .may_decide = may_decide(app_of(s), q->principal),
                                  .roles = q->principal->words,
                                  .done = on_turn };
    conn_hold(q->conn, &p->ask.hold);
    chat_start(&p->turn, body, STR_NONE);
}

/* --- resuming --------------------------------------------------------------------------------- */

static void on_resume(struct ask *k, struct command *c, const struct receipt *a)
{
    const struct run *r = a->status < 400 ? thread_fold(a->thread)->run : NULL;
    (void)c;
    if (a->status >= 500) {
        sentence(k->conn, a->status, a->code, a->message);
        return;
    }
    if (!run_live(r) || run_waiting(r)) {
        conn_reply(k->conn, 204, NULL, STR(""));
        return;
    }
    stream(k, a->thread,
           &(struct stream_start){
               .run = r->id, .seq = r->first->seq - 1, .native = k->native, .replay = true });
}

void door_chat_resume(struct server *s, struct request *q)
{
    if (!id_valid(q->param[0], 128)) {
        conn_reply(q->conn, 204, NULL, STR(""));
        return;
    }
    struct command *c = command_for(q, CMD_FOLLOW, q->door->via);
    struct ask     *k = c ? ask_new(s, q, on_resume) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    k->door = q->door;
    k->native = is_native(q);
    c->log.thread = arena_dup(&c->arena, q->param[0]);
    ask_submit(k, c);
}
