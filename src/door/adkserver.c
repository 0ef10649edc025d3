/* adkserver.c -- the addresses of ADK's API server: /run_sse, /run, /list-apps and sessions.
 *
 * An app is a page, a session is a thread. Whose session it is says the sign-in, not the address:
 * {user} is taken as it comes. Answers and words are an AI SDK turn in other clothes
 * (door/chat.h). */
#include "base/clock.h"
#include "base/id.h"
#include "dialect/adk_request.h"
#include "door/chat.h"
#include "door/follow.h"
#include "run/history.h"

#define LIST_MAX 200

struct adk_run {
    struct ask       ask;
    struct chat_turn turn;
    bool             streaming, list;
};

static void on_turn(struct chat_turn *turn, const struct chat_result *r)
{
    struct adk_run     *p = LIST_ITEM(turn, struct adk_run, turn);
    struct conn        *c = p->ask.conn;
    struct stream_start s = { .run = r->run,
                              .seq = r->seq,
                              .continuation = r->continuation,
                              .replay = r->replay,
                              .settled = p->list || !p->streaming };
    if (c && r->status >= 400)
        reply_error(c, &(struct receipt){ .status = r->status,
                                          .code = r->code,
                                          .message = r->message,
                                          .retry_s = r->retry_s });
    else if (c && p->list) follow_list(c, conn_request(c)->door->dialect, r->thread, &s);
    else if (c) follow_stream(c, conn_request(c)->door->dialect, r->thread, &s);
    mem_free(p);
}

static bool has_app(const struct request *q)
{
    if (q->param[0].len && page_for(q, q->param[0])) return true;
    conn_error(q->conn, 404, "unknown_page",
               "There is no app of this name; GET /list-apps names them.");
    return false;
}

static void begin(struct server *s, struct request *q, bool list)
{
    struct json_error e;
    struct jv        *body;
    enum err          err = json_parse(q->arena, q->body, &body, &e);
    struct adk_run   *p = err ? NULL : mem_alloc(sizeof *p);
    if (err == ERR_SYNTAX) {
        conn_error(q->conn, 400, "bad_json", json_complaint(q->arena, "The request", &e).ptr);
        return;
    }
    if (!p) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    ask_init(&p->ask, s, q);
    p->list = list;
    p->streaming = adk_streams(body);
    p->turn = (struct chat_turn){ .app = app_of(s),
                                  .owner = owner_of(q),
                                  .roles = q->principal->words,
                                  .claims = q->principal->claims,
                                  .via = str_c(q->door->via),
                                  .interrupts = true,
                                  .may_decide = may_decide(app_of(s), q->principal),
                                  .done = on_turn };
    conn_hold(q->conn, &p->ask.hold);
    chat_read(&p->turn, adk_decode, body, STR_NONE);
}

void door_adk_stream(struct server *s, struct request *q)
{
    begin(s, q, false);
}

void door_adk_run(struct server *s, struct request *q)
{
    begin(s, q, true);
}

void door_adk_apps(struct server *s, struct request *q)
{
    const struct hub_setup *setup = hub_setup(app_of(s)->hub);
    struct buf              b;
    struct jsonw            w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < setup->page_count; i++)
        if (page_for(q, setup->pages[i].name)) jw_str(&w, setup->pages[i].name);
    jw_end_arr(&w);
    json_reply(q->conn, 200, &b);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Which facts count: what was edited or tried again since is no part of the conversation. NULL: no
 * memory. */
static const bool *shown_facts(struct arena *a, const struct fold *f)
{
    const struct fact **v;
    size_t              n;
    bool               *shown = arena_array(a, f->count + 1, sizeof *shown);
    if (!shown || history_visible(a, f, &v, &n) != OK) return NULL;
    for (size_t i = 0; i < n; i++) shown[v[i]->seq - 1] = true;
    return shown;
}

/* Everything that was told in this conversation, as it stands now. */
static void write_events(struct jsonw *w, const struct dialect *d, const struct thread *t)
{
    struct encoder      e;
    struct stream_start s = { .mode = STREAM_THREAD, .settled = true };
    struct buf          b;
    struct arena        a;
    enum encoded        r = ENCODED_ITEM;
    arena_init(&a, 0);
    buf_init(&b, 0);
    buf_chr(&b, '[');
    encoder_start(&e, d, &carrier_list, NULL, t, &s);
    e.shown = shown_facts(&a, thread_fold(t));
    while (e.shown && r == ENCODED_ITEM) r = encode_into(&e, t, &b, SIZE_MAX / 2);
    encoder_done(&e);
    buf_chr(&b, ']');
    jw_kraw(w, "events", buf_view(&b));
    if (b.err || !e.shown || r == ENCODED_FAILED) w->out->err = ERR_NOMEM;
    buf_done(&b);
    arena_done(&a);
}

static void write_session(struct jsonw *w, struct str id, const struct request *q, int64_t at_ms)
{
    jw_kstr(w, "id", id);
    jw_kstr(w, "appName", q->param[0]);
    jw_kstr(w, "userId", q->param[1]);
    jw_kraw(w, "state", STR("{}"));
    jw_key(w, "lastUpdateTime");
    jw_f64(w, (double)at_ms / 1000);
}

static void on_session(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    const struct fold *f = thread_fold(a->thread);
    reply_place(k->conn, a);
    json_reply_begin(&b, &w);
    write_session(&w, thread_id(a->thread), conn_request(k->conn),
                  f->count ? f->facts[f->count - 1]->at_ms : clock_wall_ms());
    write_events(&w, conn_request(k->conn)->door->dialect, a->thread);
    json_reply_end(k->conn, 200, &b, &w);
}

static void on_deleted(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) reply_error(k->conn, a);
    else conn_reply(k->conn, 200, "application/json", STR("null"));
}

/* A command on the session in the path. NULL: answered. */
static struct command *session_command(struct server *s, struct request *q, enum command_kind kind)
{
    if (!has_app(q)) return NULL;
    if (!id_valid(q->param[2], 128)) {
        conn_error(q->conn, kind == CMD_CREATE ? 422 : 404,
                   kind == CMD_CREATE ? "bad_id" : "unknown_thread",
                   kind == CMD_CREATE ? "An id may have letters, digits, - and _, and at most 128 "
                                        "of them."
                                      : "There is no such session.");
        return NULL;
    }
    struct command *c = command_for(q, kind, "adk");
    if (c) c->log.thread = arena_dup(&c->arena, q->param[2]);
    return c;
}

static void submit(struct server *s, struct request *q, struct command *c,
                   void (*answered)(struct ask *, struct command *, const struct receipt *))
{
    struct ask *k = c ? ask_new(s, q, answered) : NULL;
    if (k) ask_submit(k, c);
    else command_free(c);
}

void door_adk_session(struct server *s, struct request *q)
{
    struct command *c = session_command(s, q, CMD_FOLLOW);
    struct ask     *k = c ? ask_new(s, q, on_session) : NULL;
    if (k) ask_submit_long(k, c);
    else command_free(c);
}

void door_adk_session_delete(struct server *s, struct request *q)
{
    submit(s, q, session_command(s, q, CMD_DELETE), on_deleted);
}

/* With an id of the client's own, or one that we make. State and events of the body are not taken:
 * the log begins empty. */
void door_adk_session_new(struct server *s, struct request *q)
{
    if (!q->param[2].ptr) q->param[2] = id_new(q->arena, "t_");
    struct command *c = session_command(s, q, CMD_CREATE);
    if (c) c->create = true;
    submit(s, q, c, on_session);
}

static void on_sessions(struct store_list *l, enum err e, const struct store_row *rows,
                        size_t count, struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    struct buf      b;
    struct jsonw    w;
    (void)next;
    if (k->ask.conn && !listing_failed(k, e)) {
        buf_init(&b, 0);
        jsonw_init(&w, &b);
        jw_arr(&w);
        for (size_t i = 0; i < count; i++) {
            jw_obj(&w);
            write_session(&w, rows[i].thread, conn_request(k->ask.conn), rows[i].updated_ms);
            jw_kraw(&w, "events", STR("[]"));
            jw_end_obj(&w);
        }
        jw_end_arr(&w);
        json_reply(k->ask.conn, 200, &b);
    }
    listing_free(k);
}

void door_adk_sessions(struct server *s, struct request *q)
{
    if (!has_app(q)) return;
    struct listing *k = listing_new(s, q, STORE_THREADS);
    if (!k) return;
    k->list.limit = LIST_MAX;
    k->list.done = on_sessions;
    listing_send(k);
}
