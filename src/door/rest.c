/* rest.c -- threads over REST: make, show, rename, delete, stop, actions, results. Their list is in
 * threadlist.c. */
#include "base/id.h"
#include "dialect/payload.h"
#include "dialect/uimessages.h"
#include "door/app.h"

#define TITLE_MAX 200

/* --- one thread ------------------------------------------------------------------------------- */

/* A command on the thread in the path. NULL: answered. */
static struct command *thread_command(struct request *q, enum command_kind kind)
{
    if (!id_valid(q->param[0], 128)) {
        conn_error(q->conn, 404, "unknown_thread", "There is no such conversation.");
        return NULL;
    }
    struct command *c = command_for(q, kind, "rest");
    if (c) c->log.thread = arena_dup(&c->arena, q->param[0]);
    return c;
}

static void submit(struct server *s, struct request *q, struct command *c,
                   void (*answered)(struct ask *, struct command *, const struct receipt *))
{
    struct ask *k = c ? ask_new(s, q, answered) : NULL;
    if (k) ask_submit(k, c);
    else command_free(c);
}

static void refused(struct request *q, struct command *c, const struct refusal *why)
{
    if (is_suspicious(why)) log_refused(c->by, "rest", c->log.thread, c->id, why->code);
    refusal_error(q->conn, why);
    command_free(c);
}

static void write_pending(struct jsonw *w, const struct fold *f)
{
    jw_key(w, "pending");
    jw_arr(w);
    for (size_t i = 0; run_live(f->run) && i < f->run->call_count; i++) {
        const struct fact *gate = call_gate(f->run->calls[i]);
        if (!gate) continue;
        jw_obj(w);
        payload_gate(w, "id", f, f->run->calls[i], gate);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static void on_thread(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf         b;
    struct jsonw       w;
    struct uipage      page = { .before = k->before, .limit = k->limit };
    enum approval_form form = k->native ? FORM_NATIVE : FORM_ADK;
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", thread_id(a->thread));
    jw_kstr(&w, "title", thread_title(a->thread));
    jw_kstrz(&w, "state", thread_state(a->thread));
    jw_kint(&w, "seq", (int64_t)thread_committed(a->thread));
    jw_key(&w, "messages");
    enum err e = uimessages_write(&w, a->thread, form, &page);
    if (e == ERR_NOT_FOUND) {
        buf_done(&b);
        conn_error(k->conn, 422, "bad_field",
                   "\"before\" must be the \"earlier\" of an answer about this conversation as it "
                   "is now.");
        return;
    }
    jw_key(&w, "earlier");
    jw_str_or_null(&w, page.earlier);
    jw_key(&w, "versions");
    if (!e) e = uimessages_versions(&w, a->thread, form, &page);
    write_pending(&w, thread_fold(a->thread));
    if (e) b.err = e;
    json_reply_end(k->conn, 200, &b, &w);
}

void rest_thread(struct server *s, struct request *q)
{
    uint64_t        limit = 0;
    struct command *c = rest_limit(q, &limit) ? thread_command(q, CMD_FOLLOW) : NULL;
    struct ask     *k = c ? ask_new(s, q, on_thread) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    k->native = !str_is(request_query(q, "approval"), "adk");
    k->before = arena_dup(&c->arena, request_query(q, "before"));
    k->limit = (size_t)limit;
    c->follow.peek = true;
    ask_submit_long(k, c);
}

static void on_created(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf b;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    buf_init(&b, 0);
    buf_printf(&b, "{\"id\":\"" STR_FMT "\"}", STR_ARG(c->log.thread));
    conn_header(k->conn, "Parley-Thread", c->log.thread);
    json_reply(k->conn, 201, &b);
}

void rest_thread_new(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why;
    struct command  *c = command_for(q, CMD_CREATE, "rest");
    if (!c) return;
    c->create = true;
    c->log.thread = id_new(&c->arena, "t_");
    if (!request_object(c, q->body, true, &v, &why) ||
        !request_text(c, v, "title", TITLE_MAX, &c->title, &why))
        refused(q, c, &why);
    else submit(s, q, c, on_created);
}

/* --- title and removal ------------------------------------------------------------------------ */

static void on_renamed(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", c->log.thread);
    jw_kstr(&w, "title", c->title);
    json_reply_end(k->conn, 200, &b, &w);
}

void rest_thread_edit(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why = { 422, "bad_field", "\"title\" is missing." };
    struct command  *c = thread_command(q, CMD_RENAME);
    if (!c) return;
    if (!request_object(c, q->body, false, &v, &why) ||
        !request_text(c, v, "title", TITLE_MAX, &c->title, &why) || !c->title.ptr)
        refused(q, c, &why);
    else submit(s, q, c, on_renamed);
}

static void on_deleted(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) reply_error(k->conn, a);
    else conn_reply(k->conn, 204, NULL, STR(""));
}

void rest_thread_delete(struct server *s, struct request *q)
{
    submit(s, q, thread_command(q, CMD_DELETE), on_deleted);
}

/* --- stop, actions, results ------------------------------------------------------------------- */

static void on_stopped(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    json_reply_begin(&b, &w);
    jw_kbool(&w, "stopped", a->run.len > 0);
    jw_key(&w, "run_id");
    jw_str_or_null(&w, a->run.len ? a->run : STR_NONE);
    json_reply_end(k->conn, 200, &b, &w);
}

void rest_stop(struct server *s, struct request *q)
{
    submit(s, q, thread_command(q, CMD_STOP), on_stopped);
}

static void on_action(struct ask *k, struct command *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    json_reply_begin(&b, &w);
    jw_kstr(&w, "run_id", a->run);
    json_reply_end(k->conn, 202, &b, &w);
}

void rest_action(struct server *s, struct request *q)
{
    struct refusal  why;
    struct command *c = thread_command(q, CMD_ACTION);
    if (!c) return;
    c->via = STR("action");
    if (!request_action(c, q->body, &why)) refused(q, c, &why);
    else submit(s, q, c, on_action);
}

static void on_result(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    conn_reply(k->conn, 200, "application/json",
               a->duplicate ? STR("{\"accepted\":true,\"duplicate\":true}")
                            : STR("{\"accepted\":true,\"duplicate\":false}"));
}

void rest_result(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why;
    struct command  *c = thread_command(q, CMD_RESULT);
    if (!c) return;
    c->id = arena_dup(&c->arena, q->param[1]);
    if (!request_object(c, q->body, false, &v, &why) || !request_result(c, v, &why))
        refused(q, c, &why);
    else submit(s, q, c, on_result);
}

static void on_claim(struct ask *k, struct command *c, const struct receipt *a)
{
    (void)c;
    if (a->status >= 400) {
        reply_error(k->conn, a);
        return;
    }
    reply_place(k->conn, a);
    conn_reply(k->conn, 200, "application/json", STR("{\"claimed\":true}"));
}

void rest_claim(struct server *s, struct request *q)
{
    const struct jv *v;
    struct refusal   why = { 422, "bad_field", "\"client\" must name the tab." };
    struct command  *c = thread_command(q, CMD_CLAIM);
    if (!c) return;
    c->id = arena_dup(&c->arena, q->param[1]);
    if (!request_object(c, q->body, false, &v, &why) ||
        !request_text(c, v, "client", 128, &c->claim.client, &why) || !c->claim.client.len)
        refused(q, c, &why);
    else submit(s, q, c, on_claim);
}
