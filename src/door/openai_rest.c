/* openai_rest.c -- what is fetched on OpenAI's doors: responses again (also their events after a
 * number), cancelling, forgetting, their input; conversations, which are threads; models, which are
 * pages. */
#include "base/clock.h"
#include "base/id.h"
#include "dialect/responseitems.h"
#include "door/follow.h"
#include "door/openai.h"

void openai_nothing(struct server *s, struct request *q)
{
    (void)s;
    openai_name(q);
    openai_error(q->conn, 404, STR("unknown_url"), STR("There is nothing at this address."),
                 STR_NONE);
}

/* --- models ----------------------------------------------------------------------------------- */

static void put_model(struct jsonw *w, struct str id)
{
    jw_obj(w);
    jw_kstr(w, "id", id);
    jw_kstrz(w, "object", "model");
    jw_kint(w, "created", 0);
    jw_kstrz(w, "owned_by", "parley");
    jw_end_obj(w);
}

/* Every name there is, or whether there is this one. */
static bool each_model(const struct app *a, const struct request *q, struct jsonw *w,
                       struct str only)
{
    const struct hub_setup *h = hub_setup(a->hub);
    bool                    found = false;
    for (size_t i = 0; i < h->page_count + a->openai.alias_count; i++) {
        bool       alias = i >= h->page_count;
        struct str page = alias ? a->openai.aliases[i - h->page_count].page : h->pages[i].name;
        struct str name = alias ? a->openai.aliases[i - h->page_count].name
                          : i ? arena_printf(q->arena, "parley/" STR_FMT, STR_ARG(h->pages[i].name))
                              : STR("parley");
        if ((only.ptr && !str_eq(only, name)) || !page_for(q, page)) continue;
        put_model(w, name);
        found = true;
    }
    return found;
}

void openai_models(struct server *s, struct request *q)
{
    struct buf   b;
    struct jsonw w;
    json_reply_begin(&b, &w);
    jw_kstrz(&w, "object", "list");
    jw_key(&w, "data");
    jw_arr(&w);
    each_model(app_of(s), q, &w, STR_NONE);
    jw_end_arr(&w);
    json_reply_end(q->conn, 200, &b, &w);
}

void openai_model(struct server *s, struct request *q)
{
    struct buf   b = { 0 };
    struct jsonw w;
    jsonw_init(&w, &b);
    if (each_model(app_of(s), q, &w, q->param[0])) {
        json_reply(q->conn, 200, &b);
        return;
    }
    buf_done(&b);
    openai_error(q->conn, 404, STR("model_not_found"), STR("There is no such model here."),
                 STR("model"));
}

/* --- a response by its id --------------------------------------------------------------------- */

struct fetch {
    struct ask        ask;
    struct store_list list;
    struct arena      arena;
    struct str        owner, id, thread;
    bool              may_decide, stream;
    uint64_t          after;
    void (*found)(struct fetch *k, struct thread *t, const struct fact *r);
};

static void fetch_free(struct fetch *k)
{
    turnstile_leave(&k->ask.place);
    arena_done(&k->arena);
    mem_free(k);
}

static void fetch_refuse(struct fetch *k, int status, const char *code, const char *message,
                         const char *param)
{
    if (k->ask.conn) openai_error(k->ask.conn, status, str_c(code), str_c(message), str_c(param));
    fetch_free(k);
}

static void unknown(struct fetch *k)
{
    fetch_refuse(k, 404, "response_not_found", "There is no such response.", NULL);
}

static void on_thread(struct command *c, const struct receipt *a)
{
    struct fetch      *k = c->ctx;
    const struct fold *f = a->status < 400 && a->thread ? thread_fold(a->thread) : NULL;
    const struct fact *r = f ? response_find(f, k->id) : NULL;
    if (!k->ask.conn) fetch_free(k);
    else if (a->status >= 500) fetch_refuse(k, a->status, a->code, a->message, NULL);
    else if (!f || !response_kept(f, r)) unknown(k);
    else k->found(k, a->thread, r);
    command_free(c);
}

static struct command *fetch_command(struct fetch *k, enum command_kind kind,
                                     void (*done)(struct command *, const struct receipt *))
{
    struct command *c = command_new(kind);
    if (!c) return NULL;
    c->log.owner = c->by = arena_dup(&c->arena, k->owner);
    c->log.thread = arena_dup(&c->arena, k->thread);
    c->via = STR("responses");
    c->may_decide = k->may_decide;
    c->ctx = k;
    c->done = done;
    return c;
}

static void submit(struct fetch *k, struct command *c)
{
    if (c) hub_submit(k->ask.app->hub, c);
    else fetch_refuse(k, 503, "out_of_memory", "The server is out of memory.", NULL);
}

static void on_key(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                   struct str next)
{
    struct fetch *k = LIST_ITEM(l, struct fetch, list);
    (void)next;
    if (e) {
        fetch_refuse(k, 503, "store_unavailable", "The store cannot be read at the moment.", NULL);
        return;
    }
    if (!count) {
        unknown(k);
        return;
    }
    k->thread = arena_dup(&k->arena, rows[0].thread);
    submit(k, fetch_command(k, CMD_FOLLOW, on_thread));
}

static struct fetch *fetch_new(struct server *s, struct request *q)
{
    struct fetch *k = mem_alloc(sizeof *k);
    if (!k) {
        openai_no_memory(q->conn);
        return NULL;
    }
    ask_init(&k->ask, s, q);
    arena_init(&k->arena, 0);
    k->ask.door = q->door;
    k->owner = arena_dup(&k->arena, owner_of(q));
    k->id = arena_dup(&k->arena, str_cut(q->param[0], 64));
    k->may_decide = may_decide(k->ask.app, q->principal);
    return k;
}

static void fetch_go(struct turnstile_place *p)
{
    struct fetch *k = LIST_ITEM(p, struct fetch, ask.place);
    hub_list(k->ask.app->hub, &k->list);
}

static void fetch_drop(struct ask *k)
{
    fetch_free(LIST_ITEM(k, struct fetch, ask));
}

static void fetch(struct server *s, struct request *q, struct fetch *k,
                  void (*found)(struct fetch *, struct thread *, const struct fact *))
{
    (void)s;
    k->found = found;
    k->list = (struct store_list){ .kind = STORE_KEYS,
                                   .owner = k->owner,
                                   .id = arena_printf(&k->arena, "r:" STR_FMT, STR_ARG(k->id)),
                                   .limit = 1,
                                   .done = on_key };
    conn_hold(q->conn, &k->ask.hold);
    k->ask.drop = fetch_drop;
    k->ask.place.go = fetch_go;
    turnstile_enter(&k->ask.app->reads, &k->ask.place, k->owner);
}

/* --- the object, its events ------------------------------------------------------------------- */

static void show(struct fetch *k, struct thread *t, const struct fact *r)
{
    if (k->stream && !response_number_fits(t, r, k->after)) {
        fetch_refuse(k, 400, "invalid_value", "No event has this number: it is inside a character.",
                     "starting_after");
        return;
    }
    if (k->stream)
        follow_stream(k->ask.conn, k->ask.door->dialect, t,
                      &(struct stream_start){ .run = r->run,
                                              .seq = r->seq - 1,
                                              .replay = true,
                                              .response = r->id,
                                              .after = k->after });
    else openai_reply_response(k->ask.conn, t, r);
    fetch_free(k);
}

void openai_response(struct server *s, struct request *q)
{
    struct str    after = request_query(q, "starting_after");
    uint64_t      n = 0;
    struct fetch *k = fetch_new(s, q);
    if (!k) return;
    k->stream = str_is(request_query(q, "stream"), "true");
    if (after.ptr && !str_to_u64(after, &n)) {
        fetch_refuse(k, 400, "invalid_value", "It must be the sequence_number of an event.",
                     "starting_after");
        return;
    }
    k->after = after.ptr ? n + 1 : 0;
    fetch(s, q, k, show);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static void on_stopped(struct command *c, const struct receipt *a)
{
    struct fetch      *k = c->ctx;
    const struct fact *r =
        a->status < 400 && a->thread ? response_find(thread_fold(a->thread), k->id) : NULL;
    if (k->ask.conn && r) openai_reply_response(k->ask.conn, a->thread, r);
    else if (k->ask.conn)
        openai_error(k->ask.conn, a->status >= 400 ? a->status : 404,
                     a->code ? str_c(a->code) : STR("response_not_found"),
                     a->message ? str_c(a->message) : STR("There is no such response."), STR_NONE);
    fetch_free(k);
    command_free(c);
}

static void cancel(struct fetch *k, struct thread *t, const struct fact *r)
{
    const struct fold *f = thread_fold(t);
    uint64_t           end = response_end(f, r, f->count);
    if (end && strcmp(response_status(f, r, end), "cancelled") == 0) {
        openai_reply_response(k->ask.conn, t, r);
        fetch_free(k);
        return;
    }
    if (end) {
        fetch_refuse(k, 400, "not_cancellable", "This response has ended already.", NULL);
        return;
    }
    submit(k, fetch_command(k, CMD_STOP, on_stopped));
}

void openai_cancel(struct server *s, struct request *q)
{
    struct fetch *k = fetch_new(s, q);
    if (k) fetch(s, q, k, cancel);
}

/* --- forgetting ------------------------------------------------------------------------------- */

static void reply_deleted(struct conn *c, struct str id, const char *object)
{
    struct buf   b;
    struct jsonw w;
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", id);
    jw_kstrz(&w, "object", object);
    jw_kbool(&w, "deleted", true);
    json_reply_end(c, 200, &b, &w);
}

static void on_forgotten(struct command *c, const struct receipt *a)
{
    struct fetch *k = c->ctx;
    if (k->ask.conn && a->status < 400) reply_deleted(k->ask.conn, k->id, "response");
    else if (k->ask.conn)
        openai_error(k->ask.conn, a->status, str_c(a->code), str_c(a->message), STR_NONE);
    fetch_free(k);
    command_free(c);
}

static void forget(struct fetch *k, struct thread *t, const struct fact *r)
{
    struct command *c = fetch_command(k, CMD_FORGET, on_forgotten);
    (void)t;
    (void)r;
    if (c) c->id = arena_dup(&c->arena, k->id);
    submit(k, c);
}

void openai_delete(struct server *s, struct request *q)
{
    struct fetch *k = fetch_new(s, q);
    if (k) fetch(s, q, k, forget);
}

/* --- what it was asked ------------------------------------------------------------------------ */

static void put_input(struct jsonw *w, const struct jv *x, struct str id)
{
    const struct jv *content = jv_get(x, "content");
    jw_obj(w);
    jw_kstr(w, "id", jv_str_at(x, "id").len ? jv_str_at(x, "id") : id);
    if (!jv_get(x, "type")) jw_kstrz(w, "type", "message");
    JV_EACH (m, x) {
        if (str_is(m->key, "id") || (m == content && m->type == JSON_STRING)) continue;
        jw_key_str(w, m->key);
        jw_raw(w, m->raw);
    }
    if (jv_is(content, JSON_STRING)) {
        jw_key(w, "content");
        jw_arr(w);
        jw_obj(w);
        jw_kstrz(w, "type", "input_text");
        jw_kstr(w, "text", content->str);
        jw_end_obj(w);
        jw_end_arr(w);
    }
    jw_end_obj(w);
}

static void show_input(struct fetch *k, struct thread *t, const struct fact *r)
{
    struct response_data d;
    struct jv           *list = NULL;
    struct buf           b;
    struct jsonw         w;
    struct str           first = STR_NONE, last = STR_NONE;
    unsigned             i = 0;
    (void)t;
    response_data(&k->arena, r, &d);
    if (!d.input.len || json_parse_own(&k->arena, d.input, &list) != OK) list = NULL;
    json_reply_begin(&b, &w);
    jw_kstrz(&w, "object", "list");
    jw_key(&w, "data");
    jw_arr(&w);
    JV_EACH (x, list) {
        char       room[ITEM_ID_MAX];
        struct str id = arena_dup(&k->arena, item_id(room, "in", r->id, i++));
        put_input(&w, x, id);
        last = jv_str_at(x, "id").len ? jv_str_at(x, "id") : id;
        if (!first.ptr) first = last;
    }
    jw_end_arr(&w);
    jw_key(&w, "first_id");
    jw_str_or_null(&w, first);
    jw_key(&w, "last_id");
    jw_str_or_null(&w, last);
    jw_kbool(&w, "has_more", false);
    json_reply_end(k->ask.conn, 200, &b, &w);
    fetch_free(k);
}

void openai_input(struct server *s, struct request *q)
{
    struct fetch *k = fetch_new(s, q);
    if (k) fetch(s, q, k, show_input);
}

/* --- conversations ---------------------------------------------------------------------------- */

/* `labels`: as the request wanted them (others may have come since); STR_NONE: as they are. */
static void reply_conversation(struct conn *c, struct str id, const struct fold *f,
                               struct str labels)
{
    struct buf   b;
    struct jsonw w;
    if (!labels.ptr) labels = f && f->labelled ? f->labelled->data : STR("{}");
    json_reply_begin(&b, &w);
    jw_kstr(&w, "id", id);
    jw_kstrz(&w, "object", "conversation");
    jw_kint(&w, "created_at", (f && f->count ? f->facts[0]->at_ms : clock_wall_ms()) / 1000);
    jw_kraw(&w, "metadata", labels);
    json_reply_end(c, 200, &b, &w);
}

static void on_conversation(struct ask *k, struct command *c, const struct receipt *a)
{
    if (a->status >= 400) {
        openai_error(k->conn, a->status, str_c(a->code), str_c(a->message), STR_NONE);
        return;
    }
    conn_header(k->conn, "Parley-Thread", c->log.thread);
    if (c->kind == CMD_DELETE) reply_deleted(k->conn, c->log.thread, "conversation.deleted");
    else
        reply_conversation(k->conn, c->log.thread, a->thread ? thread_fold(a->thread) : NULL,
                           c->kind == CMD_FOLLOW ? STR_NONE : c->labels);
}

/* `labels`: of CREATE and LABEL. */
static void conversation(struct server *s, struct request *q, enum command_kind kind, struct str id,
                         struct str labels)
{
    struct command *c = command_for(q, kind, "responses");
    struct ask     *k = c ? ask_new(s, q, on_conversation) : NULL;
    if (!k) {
        command_free(c);
        return;
    }
    if (kind == CMD_CREATE) {
        c->create = true;
        c->log.thread = id_new(&c->arena, "t_");
        c->title = STR("");
    } else c->log.thread = arena_dup(&c->arena, id);
    if (labels.ptr) c->labels = arena_dup(&c->arena, labels);
    ask_submit(k, c);
}

static bool is_given(const struct jv *v)
{
    return v && v->type != JSON_NULL;
}

static bool refuse_body(struct request *q, const char *code, const char *param, const char *message)
{
    openai_error(q->conn, 400, str_c(code), str_c(message), str_c(param));
    return false;
}

static bool read_body(struct request *q, struct jv **body)
{
    struct json_error e;
    enum err          err = json_parse(q->arena, q->body, body, &e);

    if (err == OK && jv_is(*body, JSON_OBJECT)) return true;
    return refuse_body(q, "bad_json", NULL,
                       err == ERR_SYNTAX ? json_complaint(q->arena, "The body", &e).ptr
                                         : "The body is not a JSON object.");
}

static bool read_labels(struct request *q, const struct jv *body, struct str *labels)
{
    struct oai_refusal why;
    bool               fits = oai_metadata(q->arena, jv_get(body, "metadata"), labels, &why);
    if (!fits) openai_error(q->conn, why.status, str_c(why.code), str_c(why.message), why.param);
    else if (q->arena->failed) openai_no_memory(q->conn);
    else return true;
    return false;
}

/* Words that it would begin with belong to its first request; to pass over them would be to lose
 * them. */
static bool is_empty(struct request *q, const struct jv *body)
{
    const struct jv *items = jv_get(body, "items");
    if (!is_given(items) || (items->type == JSON_ARRAY && !items->count)) return true;
    return refuse_body(q, "unsupported_parameter", "items",
                       "A conversation begins empty; send these as the input of its first "
                       "response.");
}

void openai_conversation_new(struct server *s, struct request *q)
{
    struct jv *body = NULL;
    struct str labels = STR_NONE;
    if (str_trim(q->body).len &&
        (!read_body(q, &body) || !is_empty(q, body) || !read_labels(q, body, &labels)))
        return;
    conversation(s, q, CMD_CREATE, STR_NONE, labels);
}

static bool is_name(struct request *q)
{
    if (id_valid(q->param[0], 128)) return true;
    openai_error(q->conn, 404, STR("conversation_not_found"), STR("There is no such conversation."),
                 STR_NONE);
    return false;
}

void openai_conversation(struct server *s, struct request *q)
{
    if (is_name(q)) conversation(s, q, CMD_FOLLOW, q->param[0], STR_NONE);
}

/* All of them anew, as OpenAI has it; null: none. */
void openai_conversation_label(struct server *s, struct request *q)
{
    struct jv *body = NULL;
    struct str labels = STR("{}");
    if (!is_name(q) || !read_body(q, &body)) return;
    if (!jv_get(body, "metadata"))
        refuse_body(q, "missing_required_parameter", "metadata", "\"metadata\" is missing.");
    else if (read_labels(q, body, &labels)) conversation(s, q, CMD_LABEL, q->param[0], labels);
}

void openai_conversation_delete(struct server *s, struct request *q)
{
    if (is_name(q)) conversation(s, q, CMD_DELETE, q->param[0], STR_NONE);
}
