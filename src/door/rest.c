/* rest.c -- threads over REST: list, make, show, rename, delete, stop, actions, results. */
#include "base/clock.h"
#include "base/id.h"
#include "dialect/payload.h"
#include "dialect/uimessages.h"
#include "door/app.h"

#define LIST_DEFAULT 50
#define LIST_MAX     200
#define TITLE_MAX    200

static void write_time(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

/* `?limit=`; absent leaves it as it is. False: answered. */
static bool limit_of(struct request *q, uint64_t *limit)
{
    struct str text = request_query(q, "limit");
    if (!text.ptr || (str_to_u64(text, limit) && *limit >= 1 && *limit <= LIST_MAX)) return true;
    conn_error(q->conn, 422, "bad_field", "\"limit\" must be a number from 1 to 200.");
    return false;
}

/* --- the list -------------------------------------------------------------------------------- */

/* `owners`: they are of several people. `lines`: with what was found in them. */
static void write_threads(struct buf *b, const struct store_row *rows, size_t count,
                          struct str next, bool owners, bool lines)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "threads");
    jw_arr(&w);
    for (size_t i = 0; i < count; i++) {
        jw_obj(&w);
        jw_kstr(&w, "id", rows[i].thread);
        jw_kstr(&w, "title", rows[i].title);
        if (owners) jw_kstr(&w, "owner", rows[i].owner);
        write_time(&w, "created_at", rows[i].created_ms);
        write_time(&w, "updated_at", rows[i].updated_ms);
        jw_kstr(&w, "state", rows[i].state);
        if (rows[i].source.ptr) {
            jw_kstr(&w, "source", rows[i].source);
            jw_key(&w, "group");
            jw_str_or_null(&w, rows[i].group);
        }
        if (lines) {
            jw_key(&w, "line");
            jw_str_or_null(&w, rows[i].line);
        }
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    jw_key(&w, "next");
    jw_str_or_null(&w, next.len ? next : STR_NONE);
    jw_end_obj(&w);
}

static void on_threads(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                       struct str next)
{
    struct listing *k = LIST_ITEM(l, struct listing, list);
    if (k->ask.conn && !listing_failed(k, e)) {
        struct buf b;
        buf_init(&b, 0);
        write_threads(&b, rows, count, next, l->everybody, l->said);
        json_reply(k->ask.conn, 200, &b);
    }
    listing_free(k);
}

void rest_threads(struct server *s, struct request *q)
{
    uint64_t   limit = LIST_DEFAULT;
    struct str before = request_query(q, "before"), search = request_query(q, "search");
    bool       all = str_is(request_query(q, "all"), "true");
    if (!(q->principal->roles & (all ? ROLE_ADMIN : ROLE_USER))) {
        conn_error(q->conn, 403, "forbidden",
                   all ? "Only an administrator sees everybody's conversations."
                       : "You have no conversations; ?all=true lists everybody's.");
        return;
    }
    bool said = str_is(request_query(q, "in"), "all") && str_trim(search).len;
    if (said && all) {
        conn_error(q->conn, 403, "forbidden",
                   "What others said is not searched: leave out \"in=all\" or \"all=true\".");
        return;
    }
    if (!limit_of(q, &limit)) return;
    struct listing *k = listing_new(s, q, STORE_THREADS);
    if (!k) return;
    k->list.said = said;
    k->list.limit = (unsigned)limit;
    k->list.before = arena_dup(&k->arena, before);
    k->list.search = arena_dup(&k->arena, search);
    k->list.source = arena_dup(&k->arena, request_query(q, "source"));
    k->list.everybody = all;
    k->list.done = on_threads;
    listing_send(k);
}

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
    struct command *c = limit_of(q, &limit) ? thread_command(q, CMD_FOLLOW) : NULL;
    struct ask     *k = c ? ask_new(s, q, on_thread) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    k->native = !str_is(request_query(q, "approval"), "adk");
    k->before = arena_dup(&c->arena, request_query(q, "before"));
    k->limit = (size_t)limit;
    c->peek = true;
    ask_submit(k, c);
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
