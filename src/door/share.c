/* share.c -- a read-only link to a conversation, which can be taken back.
 *
 *     POST   /v1/threads/{T}/share    a link to it as it stands now; again: to as it stands then
 *     GET    /v1/threads/{T}/share    the link there is
 *     DELETE /v1/threads/{T}/share    it leads nowhere from now on
 *     GET    /v1/shared/{token}       what it leads to
 *
 * What is written after the sharing is not part of it. The link is a random word; whoever has it
 * and is let in (`page.share`) reads, and can do nothing else. Two rows of the store's sessions
 * hold it: by the conversation, so that its owner finds the link, and by the word's digest, so that
 * the link finds the conversation. A link is only ever there together with the first: it is written
 * before and removed after the second, so there is none that nobody can take back. A conversation
 * that was deleted and begun anew under the same name is told by the time of its first fact. */
#include "base/clock.h"
#include "base/id.h"
#include "base/json.h"
#include "dialect/uimessages.h"
#include "door/app.h"

#define TOKEN_LEN 43
#define FOR_EVER  INT64_MAX

struct share {
    struct ask   ask; /* the waiting alone; conn NULL: they left, the rest is done all the same */
    struct arena arena;
    struct store_session row;
    struct str           owner, thread, token;
    struct str           of, by;            /* the keys of the two rows */
    int64_t              seq, begun_ms;     /* how far it is shared */
    bool                 takes_back, looks; /* DELETE, GET; else POST */
};

static void share_free(struct share *k)
{
    arena_done(&k->arena);
    mem_free(k);
}

static void unavailable(struct share *k)
{
    if (k->ask.conn)
        conn_error(k->ask.conn, 503, "store_unavailable",
                   "The store cannot be reached at the moment. Try again in a moment.");
    share_free(k);
}

static void no_memory(struct conn *c)
{
    conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
}

/* "share:" + SHA-256 of `what`. STR_NONE: no memory. */
static struct str row_key(struct arena *a, const char *prefix, struct str what)
{
    char hex[65];
    return what.ptr && auth_key_digest(what, hex) ? arena_printf(a, "%s%s", prefix, hex) : STR_NONE;
}

static void ask_row(struct share *k, enum store_session_op op, struct str key, struct str body,
                    void (*done)(struct store_session *, enum err))
{
    k->row = (struct store_session){
        .op = op, .key = key, .body = body, .ends_ms = FOR_EVER, .done = done
    };
    hub_row(k->ask.app->hub, &k->row);
}

static struct share *share_of(struct store_session *x)
{
    return LIST_ITEM(x, struct share, row);
}

static void tell(struct share *k, int status)
{
    struct buf   b;
    struct jsonw w;
    if (k->ask.conn) {
        json_reply_begin(&b, &w);
        jw_key(&w, "path");
        if (k->token.ptr) buf_printf(&b, "\"/s/" STR_FMT "\"", STR_ARG(k->token));
        else jw_null(&w);
        json_reply_end(k->ask.conn, status, &b, &w);
    }
    share_free(k);
}

static void left(void *ctx)
{
    share_free(ctx);
}

/* --- making --------------------------------------------------------------------------------- */

static void on_made(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    if (e) unavailable(k);
    else tell(k, 201);
}

static void on_kept(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    struct buf    b;
    struct jsonw  w;
    if (e) {
        unavailable(k);
        return;
    }
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "owner", k->owner);
    jw_kstr(&w, "thread", k->thread);
    jw_kint(&w, "seq", k->seq);
    jw_kint(&w, "begun_ms", k->begun_ms);
    jw_kint(&w, "at_ms", clock_wall_ms());
    jw_end_obj(&w);
    struct str body = b.err ? STR_NONE : arena_dup(&k->arena, buf_view(&b));
    buf_done(&b);
    if (body.ptr) ask_row(k, SESSION_PUT, k->by, body, on_made);
    else unavailable(k);
}

static bool name_link(struct share *k, struct str token)
{
    k->token = arena_dup(&k->arena, token);
    k->by = row_key(&k->arena, "share:", k->token);
    return k->by.ptr;
}

static void make(struct share *k)
{
    char word[TOKEN_LEN];
    id_letters(word, sizeof word);
    if (!k->token.ptr && !name_link(k, str_n(word, sizeof word))) unavailable(k);
    else ask_row(k, SESSION_PUT, k->of, k->token, on_kept);
}

/* --- taking back ------------------------------------------------------------------------------ */

static void on_taken(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    if (e) {
        unavailable(k);
        return;
    }
    if (k->ask.conn) conn_reply(k->ask.conn, 204, NULL, STR(""));
    share_free(k);
}

static void on_closed(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    if (e) unavailable(k);
    else ask_row(k, SESSION_END, k->of, STR_NONE, on_taken);
}

/* The link that there is, if any. */
static void on_found(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    if ((e && e != ERR_NOT_FOUND) || (!e && !name_link(k, x->body))) unavailable(k);
    else if (k->looks) tell(k, 200);
    else if (!k->takes_back) make(k);
    else if (e) on_taken(x, OK);
    else ask_row(k, SESSION_END, k->by, STR_NONE, on_closed);
}

/* The row by the conversation: of one that is begun anew under the same name it is another. */
static void name_conversation(struct share *k)
{
    struct buf name;
    buf_init(&name, 0);
    buf_str(&name, k->owner);
    buf_chr(&name, 0);
    buf_str(&name, k->thread);
    buf_printf(&name, " %lld", (long long)k->begun_ms);
    k->of = name.err ? STR_NONE : row_key(&k->arena, "share-of:", buf_view(&name));
    buf_done(&name);
}

/* --- the owner's three ------------------------------------------------------------------------ */

/* What a link would show is not there yet. */
static void refuse_live(struct conn *c, const struct run *r)
{
    if (run_waiting(r) && run_asks(r))
        conn_error(c, 409, "approval_pending",
                   "The conversation waits for a person's answer; share it when that is given.");
    else
        conn_error(c, 409, "run_active",
                   "An answer is being written; share the conversation when it is there.");
}

static void on_thread(struct ask *found, struct command *c, const struct receipt *a)
{
    const struct fold *f = a->status < 400 ? thread_fold(a->thread) : NULL;
    struct share      *k = found->ctx;

    if (!f || !f->count) {
        reply_error(found->conn, a);
        share_free(k);
    } else if (!k->looks && !k->takes_back && run_live(f->run)) {
        refuse_live(found->conn, f->run);
        share_free(k);
    } else {
        k->seq = (int64_t)thread_committed(a->thread);
        k->begun_ms = f->facts[0]->at_ms;
        ask_init(&k->ask, found->app->server, conn_request(found->conn));
        name_conversation(k);
        conn_hold(k->ask.conn, &k->ask.hold);
        if (k->of.ptr) ask_row(k, SESSION_GET, k->of, STR_NONE, on_found);
        else unavailable(k);
    }
    (void)c;
}

static struct share *share_new(struct server *s, struct request *q)
{
    struct share *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    arena_init(&k->arena, 0);
    ask_init(&k->ask, s, q);
    k->owner = arena_dup(&k->arena, owner_of(q));
    k->thread = arena_dup(&k->arena, q->param[0]);
    if (!k->arena.failed) return k;
    share_free(k);
    return NULL;
}

/* First whether there is such a conversation of theirs. */
static void begin(struct server *s, struct request *q, bool looks, bool takes_back)
{
    if (app_of(s)->share == SHARE_OFF || !id_valid(q->param[0], 128)) {
        web_nothing(s, q);
        return;
    }
    struct share   *k = share_new(s, q);
    struct command *c = k ? command_for(q, CMD_FOLLOW, "rest") : NULL;
    struct ask     *a = c ? ask_new(s, q, on_thread) : NULL;
    if (!a) {
        if (!k) no_memory(q->conn); /* else answered */
        else share_free(k);
        command_free(c);
        return;
    }
    k->looks = looks;
    k->takes_back = takes_back;
    a->ctx = k;
    a->left = left;
    c->follow.peek = true;
    c->log.thread = arena_dup(&c->arena, q->param[0]);
    ask_submit(a, c);
}

void share_make(struct server *s, struct request *q)
{
    begin(s, q, false, false);
}
void share_show(struct server *s, struct request *q)
{
    begin(s, q, true, false);
}
void share_take_back(struct server *s, struct request *q)
{
    begin(s, q, false, true);
}

/* --- whoever has the link --------------------------------------------------------------------- */

static void no_link(struct conn *c)
{
    conn_error(c, 404, "unknown_link", "This link leads nowhere: it was taken back, or never was.");
}

static void on_shared(struct ask *k, struct command *c, const struct receipt *a)
{
    const struct fold *f = a->status < 400 ? thread_fold(a->thread) : NULL;
    struct share      *x = k->ctx;
    struct uipage      page = { .upto = (uint64_t)x->seq };
    struct buf         b;
    struct jsonw       w;

    if (!f && a->status != 404) reply_error(k->conn, a);
    else if (!f || !f->count || f->facts[0]->at_ms != x->begun_ms) no_link(k->conn);
    else {
        json_reply_begin(&b, &w);
        jw_kstr(&w, "title", thread_title(a->thread));
        jw_kstr(&w, "owner", x->owner);
        jw_key(&w, "messages");
        enum err e = uimessages_write(&w, a->thread, FORM_NATIVE, &page);
        if (e) b.err = e;
        json_reply_end(k->conn, 200, &b, &w);
    }
    share_free(x);
    (void)c;
}

static void on_link(struct store_session *x, enum err e)
{
    struct share *k = share_of(x);
    struct jv    *v = NULL;
    struct conn  *conn = k->ask.conn;

    if (!conn || e) {
        if (conn && e == ERR_NOT_FOUND) no_link(conn);
        else if (conn) {
            unavailable(k);
            return;
        }
        share_free(k);
        return;
    }
    struct str      body = arena_dup(&k->arena, x->body);
    bool            good = body.ptr && json_parse(&k->arena, body, &v, NULL) == OK;
    struct command *c = good ? command_new(CMD_FOLLOW) : NULL;
    if (!c) {
        unavailable(k);
        return;
    }
    struct ask *a = ask_new(k->ask.app->server, conn_request(conn), on_shared);
    if (!a) { /* answered */
        command_free(c);
        share_free(k);
        return;
    }
    k->owner = jv_str_at(v, "owner");
    k->seq = jv_int_at(v, "seq", 0);
    k->begun_ms = jv_int_at(v, "begun_ms", 0);
    a->ctx = k;
    a->left = left;
    c->follow.peek = true;
    c->via = STR("rest");
    c->log.owner = c->by = arena_dup(&c->arena, k->owner);
    c->log.thread = arena_dup(&c->arena, jv_str_at(v, "thread"));
    ask_submit_long(a, c);
}

void share_read(struct server *s, struct request *q)
{
    struct app   *app = app_of(s);
    const char   *why;
    bool          let_in = app->share == SHARE_ANYONE || !auth_on(app->auth);
    struct share *k;

    if (app->share == SHARE_OFF || q->param[0].len != TOKEN_LEN) {
        no_link(q->conn);
        return;
    }
    enum identity who = let_in ? IDENTITY_KNOWN : identify(app, q, &why);
    if (who == IDENTITY_ASKED) return;
    if (who != IDENTITY_KNOWN) {
        conn_error(q->conn, 401, "unauthorized", "Sign in first.");
        return;
    }
    k = mem_alloc(sizeof *k);
    if (!k) {
        no_memory(q->conn);
        return;
    }
    arena_init(&k->arena, 0);
    ask_init(&k->ask, s, q);
    k->by = row_key(&k->arena, "share:", q->param[0]);
    if (!k->by.ptr) {
        unavailable(k);
        return;
    }
    conn_hold(q->conn, &k->ask.hold);
    ask_row(k, SESSION_GET, k->by, STR_NONE, on_link);
}
