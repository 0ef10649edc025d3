/* ask.c -- a request that waits for a command's answer, and the answers' common forms. */
#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"
#include "door/app.h"
#include "http/ws.h"
#include "run/spans.h"

#define REFUSED_MAX 64 /* messages in a row that one socket may send too many */

struct str owner_of(const struct request *q)
{
    return q->principal->name;
}

struct caller caller_of_request(const struct request *q)
{
    const struct principal *p = q->principal;
    return (struct caller){ .principal = p->name, .roles = p->words, .claims = p->claims };
}

const struct hub_page *page_for(const struct request *q, struct str name)
{
    const struct hub_page *page = hub_page(app_of(conn_server(q->conn))->hub, name);
    struct caller          who = caller_of_request(q);
    return page && caller_has(&who, page->roles, page->role_count) ? page : NULL;
}

bool may_decide(const struct app *a, const struct principal *p)
{
    return p->may_answer && (!a->approvers_only || (p->roles & ROLE_APPROVER));
}

bool may_send(struct app *a, struct conn *c, struct str who, unsigned *refused)
{
    unsigned retry_s;
    if (quota_request(a->quota, who, clock_mono_ms(), &retry_s)) {
        *refused = 0;
        return true;
    }
    log_line(LOG_SECURITY, "request.limited", "by", log_str(who), "path", "(socket)", NULL);
    if (++*refused >= REFUSED_MAX) conn_ws_close(c, WS_POLICY, "too many messages");
    return false;
}

static void set_trace(struct command *c, const struct request *q)
{
    struct str parent = request_header(q, "traceparent");
    if (spans_valid(parent)) c->trace = arena_dup(&c->arena, parent);
}

struct command *command_for(struct request *q, enum command_kind kind, const char *via)
{
    struct command *c = command_new(kind);
    if (c) {
        c->log.owner = arena_dup(&c->arena, owner_of(q));
        c->by = c->log.owner;
        c->via = str_c(via);
        c->roles = arena_dup(&c->arena, q->principal->words);
        c->may_decide = may_decide(app_of(conn_server(q->conn)), q->principal);
        c->claims = arena_dup(&c->arena, q->principal->claims);
        if (hub_setup(app_of(conn_server(q->conn))->hub)->otel) set_trace(c, q);
    }
    if (c && !c->arena.failed) return c;
    command_free(c);
    conn_error(q->conn, 503, "out_of_memory",
               "The server is out of memory; try again in a moment.");
    return NULL;
}

static void client_left(struct conn_hold *h)
{
    struct ask *k = LIST_ITEM(h, struct ask, hold);
    k->conn = NULL;
    if (turnstile_waits(&k->place)) k->drop(k);
}

static void no_memory(struct conn *c)
{
    conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
}

void ask_init(struct ask *k, struct server *s, struct request *q)
{
    *k = (struct ask){ .app = app_of(s), .conn = q->conn, .hold.cancelled = client_left };
}

struct ask *ask_new(struct server *s, struct request *q,
                    void (*answered)(struct ask *, struct command *, const struct receipt *))
{
    struct ask *k = mem_alloc(sizeof *k);
    if (!k) {
        no_memory(q->conn);
        return NULL;
    }
    ask_init(k, s, q);
    k->answered = answered;
    return k;
}

static void on_answer(struct command *c, const struct receipt *a)
{
    struct ask *k = c->ctx;
    if (k->conn) k->answered(k, c, a);
    else if (k->left) k->left(k->ctx);
    turnstile_leave(&k->place);
    mem_free(k);
    command_free(c);
}

void ask_submit(struct ask *k, struct command *c)
{
    conn_hold(k->conn, &k->hold);
    c->ctx = k;
    c->done = on_answer;
    hub_submit(k->app->hub, c);
}

static void ask_go(struct turnstile_place *p)
{
    struct ask *k = LIST_ITEM(p, struct ask, place);
    hub_submit(k->app->hub, k->command);
}

static void ask_drop(struct ask *k)
{
    struct command *c = k->command;
    if (k->left) k->left(k->ctx);
    turnstile_leave(&k->place);
    mem_free(k);
    command_free(c);
}

void ask_submit_long(struct ask *k, struct command *c)
{
    conn_hold(k->conn, &k->hold);
    c->ctx = k;
    c->done = on_answer;
    k->command = c;
    k->drop = ask_drop;
    k->place.go = ask_go;
    turnstile_enter(&k->app->reads, &k->place, c->log.owner);
}

/* --- lists ----------------------------------------------------------------------------------- */

struct listing *listing_new(struct server *s, struct request *q, enum store_list_kind kind)
{
    struct listing *k = mem_alloc(sizeof *k);
    if (!k) {
        no_memory(q->conn);
        return NULL;
    }
    ask_init(&k->ask, s, q);
    arena_init(&k->arena, 0);
    k->list = (struct store_list){ .kind = kind, .owner = arena_dup(&k->arena, owner_of(q)) };
    return k;
}

void listing_free(struct listing *k)
{
    turnstile_leave(&k->ask.place);
    arena_done(&k->arena);
    mem_free(k);
}

static void listing_go(struct turnstile_place *p)
{
    struct listing *k = LIST_ITEM(p, struct listing, ask.place);
    hub_list(k->ask.app->hub, &k->list);
}

static void listing_drop(struct ask *k)
{
    listing_free(LIST_ITEM(k, struct listing, ask));
}

void listing_send(struct listing *k)
{
    struct app *a = k->ask.app;
    if (k->arena.failed) { /* a filter that got lost would show more, not less */
        no_memory(k->ask.conn);
        listing_free(k);
        return;
    }
    conn_hold(k->ask.conn, &k->ask.hold);
    k->ask.drop = listing_drop;
    k->ask.place.go = listing_go;
    turnstile_enter(k->list.search.len ? &a->searches : &a->lists, &k->ask.place, k->list.owner);
}

bool listing_failed(struct listing *k, enum err e)
{
    if (!e || !k->ask.conn) return false;
    if (e == ERR_SYNTAX)
        conn_error(k->ask.conn, 422, "bad_field",
                   "\"before\" must be the \"next\" of an earlier answer.");
    else
        conn_error(k->ask.conn, 503, "store_unavailable",
                   "The store cannot be read at the moment. Try again in a moment.");
    return true;
}

/* --- answers' common forms ------------------------------------------------------------------- */

void log_refused(struct str by, const char *via, struct str thread, struct str id, const char *why)
{
    log_line(LOG_SECURITY, "answer.refused", "why", why, "thread", log_str(thread), "by",
             log_str(by), "via", via, "id", log_str(id), NULL);
}

bool is_suspicious(const struct refusal *r)
{
    return r->status == 403 || r->status == 404 || strcmp(r->code, "malformed_answer") == 0 ||
           strcmp(r->code, "args_mismatch") == 0;
}

void reply_place(struct conn *c, const struct receipt *a)
{
    /* a request id may be known from another */
    conn_header(c, "Parley-Thread", a->thread ? thread_id(a->thread) : a->id);
    if (a->run.len) conn_header(c, "Parley-Run", a->run);
}

void json_reply_begin(struct buf *body, struct jsonw *w)
{
    buf_init(body, 0);
    jsonw_init(w, body);
    jw_obj(w);
}

void json_reply_end(struct conn *c, int status, struct buf *body, struct jsonw *w)
{
    jw_end_obj(w);
    json_reply(c, status, body);
}

/* Only what is read: where something is made or decided, an answer may carry a secret beside words
 * of others, and how well it packs would tell of it. What takes the loop longer than a millisecond
 * or two goes out as it is; pages are smaller. */
#define PACK_MIN 1024
#define PACK_MAX (256 << 10)

static bool is_packed(struct conn *c, struct str body, struct buf *packed)
{
    const struct request *q = conn_request(c);
    if (body.len < PACK_MIN || body.len > PACK_MAX || !str_is(q->method, "GET") ||
        !request_takes(q, STR("gzip")))
        return false;
    return gzip_pack(packed, body);
}

void json_reply(struct conn *c, int status, struct buf *body)
{
    struct buf packed;
    buf_init(&packed, 0);
    turnstile_wrote(&app_of(conn_server(c))->reads, body->len);
    if (body->err)
        conn_error(c, 503, "out_of_memory", "The answer is too large for the memory there is.");
    else if (is_packed(c, buf_view(body), &packed)) {
        conn_header(c, "Content-Encoding", STR("gzip"));
        conn_reply(c, status, "application/json", buf_view(&packed));
    } else conn_reply(c, status, "application/json", buf_view(body));
    buf_done(&packed);
    buf_done(body);
}

void retry_after(struct conn *c, unsigned seconds)
{
    char text[12];
    snprintf(text, sizeof text, "%u", seconds);
    if (seconds) conn_header(c, "Retry-After", str_c(text));
}

void reply_error(struct conn *c, const struct receipt *a)
{
    struct buf   b;
    struct jsonw w;
    retry_after(c, a->retry_s);
    json_reply_begin(&b, &w);
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstrz(&w, "code", a->code);
    jw_kstrz(&w, "message", a->message);
    if (a->run.len) jw_kstr(&w, "run_id", a->run);
    jw_end_obj(&w);
    json_reply_end(c, a->status, &b, &w);
}

void refusal_error(struct conn *c, const struct refusal *r)
{
    conn_error(c, r->status, r->code, r->message);
}
