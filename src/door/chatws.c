/* chatws.c -- /api/chat/ws: the AI SDK 7's own WebSocket transport. Many requests
 * over one socket, each with its own stream of numbered chunks. Frames it does not
 * know kill that client, so nothing else is ever sent here.
 */
#include "dialect/dialect.h"
#include "door/chat.h"

#define REQUESTS_MAX   64 /* streams at once on one socket */
#define REQUEST_ID_CAP 200
#define ITEM_ROOM      4096 /* what a source is promised */

struct chatws;
struct stream {
    struct list      node;
    struct chatws   *ws;
    struct chat_turn turn;
    struct follower  follower;
    struct encoder   enc;
    bool             streaming, waiting, finished;
    char             id[REQUEST_ID_CAP + 1], run[64];
};

struct chatws {
    struct source      source;
    struct ws_peer     peer;
    struct app        *app;
    struct conn       *conn;
    const struct door *door;
    bool               native, may_decide;
    struct list        streams;
    struct stream     *cut; /* in the middle of a text */
    size_t             count, pending;
    unsigned           refused;
    struct str         owner, roles, claims; /* in arena */
    struct arena       arena;
};

/* --- frames ----------------------------------------------------------------------------------- */

static void frame_begin(struct encoder *e, bool with_id)
{
    struct stream *s = e->ctx;
    (void)with_id;
    buf_lit(e->out, "{\"type\":\"chunk\",\"requestId\":\"");
    jw_escape(e->out, str_c(s->id));
    buf_printf(e->out, "\",\"sequence\":%llu,\"chunk\":", (unsigned long long)e->events);
}

static void frame_end(struct encoder *e)
{
    buf_chr(e->out, '}');
}

static void put_reply(struct buf *out, const char *type, struct str id, const char *error)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_kstrz(&w, "type", type);
    jw_kstr(&w, "requestId", id);
    if (error) jw_kstrz(&w, "errorText", error);
    jw_end_obj(&w);
}

/* instead of [DONE] */
static void frame_done(struct encoder *e, struct str text)
{
    (void)text;
    put_reply(e->out, "end", str_c(((struct stream *)e->ctx)->id), NULL);
}

static void frame_restart(struct encoder *e)
{
    put_reply(e->out, "error", str_c(((struct stream *)e->ctx)->id), encoder_farewell(e));
}

static void frame_put(struct encoder *e, struct buf *out, struct str piece, bool first, bool last)
{
    ws_frame_part(&((struct stream *)e->ctx)->ws->source, out, piece, first, last);
}

static const struct carrier FRAMES = {
    .need = ITEM_ROOM,
    .around = 2048, /* the request id may be escaped */
    .head = WS_FRAME_HEAD,
    .begin = frame_begin,
    .end = frame_end,
    .raw = frame_done,
    .restart = frame_restart,
    .put = frame_put,
};

static void reply(struct chatws *c, const char *type, struct str id, const char *error)
{
    struct buf b;
    if (!c->conn) return;
    buf_init(&b, 0);
    put_reply(&b, type, id, error);
    if (!b.err) conn_ws_send(c->conn, buf_view(&b));
    buf_done(&b);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void release(struct chatws *c)
{
    if (c->conn || c->pending || c->count) return;
    arena_done(&c->arena);
    mem_free(c);
}

static void stream_free(struct stream *s)
{
    struct chatws *c = s->ws;
    if (c->cut == s) c->cut = NULL;
    thread_unfollow(&s->follower);
    encoder_done(&s->enc);
    list_remove(&s->node);
    c->count--;
    mem_free(s);
    release(c);
}

static void wake(struct follower *f)
{
    struct stream *s = LIST_ITEM(f, struct stream, follower);
    s->waiting = false;
    source_wake(&s->ws->source);
}

/* Of a text that is half out the rest is gone with the conversation, and nothing may be said in the
 * middle of it. */
static void over(struct follower *f)
{
    struct stream *s = LIST_ITEM(f, struct stream, follower);
    s->finished = true;
    s->waiting = false;
    if (encoder_is_cut(&s->enc)) conn_ws_close(s->ws->conn, 4404, "the conversation was deleted");
    else source_wake(&s->ws->source);
}

static void follow(struct stream *s, struct thread *t, struct stream_start start)
{
    size_t n = start.run.len <= sizeof s->run ? start.run.len : 0;
    if (n) memcpy(s->run, start.run.ptr, n);
    start.run = str_n(s->run, n);
    start.native = s->ws->native;
    encoder_start(&s->enc, s->ws->door->dialect, &FRAMES, s, t, &start);
    s->follower.wake = wake;
    s->follower.over = over;
    s->follower.counts = true;
    s->streaming = true;
    thread_follow(t, &s->follower);
    source_wake(&s->ws->source);
}

/* Who leaves in the middle of an item gets the rest of it: a text that is begun must be ended for
 * the others to be heard. */
static bool is_over(const struct stream *s)
{
    return !s->follower.thread || (s->finished && !encoder_is_cut(&s->enc));
}

/* One item of one stream, with its `end` or `error` when it was the last; the stream may be gone
 * then. False: nobody else may speak before this text is whole. */
static bool pull_item(struct stream *s, struct buf *out, size_t room)
{
    size_t       from = out->len;
    enum encoded r = is_over(s) ? encode_last(&s->enc, out, room, false)
                                : encode_into(&s->enc, s->follower.thread, out, room);
    bool         draining = hub_draining(s->ws->app->hub);
    s->enc.stuck = !draining && s->follower.thread && thread_stuck(s->follower.thread);
    if (r == ENCODED_NOTHING && (draining || s->enc.stuck) && !encoder_is_cut(&s->enc))
        r = encode_last(&s->enc, out, room - (out->len - from), true);
    s->ws->cut = encoder_is_cut(&s->enc) ? s : NULL;
    if (r == ENCODED_CUT) return false;
    s->waiting = r == ENCODED_NOTHING;
    if (r == ENCODED_FAILED) { /* it comes back by its cursor */
        conn_ws_close(s->ws->conn, 1011, "out of memory");
        s->waiting = true;
    } else if (r == ENCODED_END || (s->finished && !encoder_is_cut(&s->enc))) stream_free(s);
    return true;
}

/* One item of each stream, round and round, until there is no room or nothing more to say. */
static enum pull pull(struct source *source, struct buf *out, size_t room)
{
    struct chatws *c = LIST_ITEM(source, struct chatws, source);
    size_t         end = out->len + room;
    if (c->cut && !pull_item(c->cut, out, room)) return PULL_MORE;
    if (c->cut) return PULL_WAIT; /* its thread is being read */
    for (bool any = true; any;) {
        any = false;
        LIST_EACH (n, &c->streams) {
            struct stream *s = LIST_ITEM(n, struct stream, node);
            if (!s->streaming || s->waiting) continue;
            if (end - out->len < ITEM_ROOM || !pull_item(s, out, end - out->len)) return PULL_MORE;
            any = true;
        }
    }
    if (hub_draining(c->app->hub)) conn_ws_close(c->conn, 1012, "restarting");
    return PULL_WAIT;
}

/* --- requests --------------------------------------------------------------------------------- */

static struct stream *find(struct chatws *c, struct str id)
{
    LIST_EACH (n, &c->streams) {
        struct stream *s = LIST_ITEM(n, struct stream, node);
        if (str_is(id, s->id)) return s;
    }
    return NULL;
}

static struct stream *stream_new(struct chatws *c, struct str id)
{
    if (!id.len || id.len > REQUEST_ID_CAP || find(c, id)) {
        reply(c, "error", id, "\"requestId\" is missing, too long or in use.");
        return NULL;
    }
    struct stream *s = c->count < REQUESTS_MAX ? mem_alloc(sizeof *s) : NULL;
    if (!s) {
        reply(c, "error", id, "Too many requests at once on this socket.");
        return NULL;
    }
    s->ws = c;
    memcpy(s->id, id.ptr, id.len);
    list_add(&c->streams, &s->node);
    c->count++;
    return s;
}

static void on_turn(struct chat_turn *turn, const struct chat_result *r)
{
    struct stream *s = LIST_ITEM(turn, struct stream, turn);
    struct chatws *c = s->ws;
    c->pending--;
    if (c->conn && r->status < 400 && !s->finished) {
        follow(s, r->thread,
               (struct stream_start){ .run = r->run,
                                      .seq = r->seq,
                                      .continuation = r->continuation,
                                      .replay = r->replay });
        return;
    }
    if (r->status >= 400) reply(c, "error", str_c(s->id), r->message);
    stream_free(s);
}

static void up_send(struct chatws *c, const struct jv *m)
{
    struct stream *s = stream_new(c, jv_str_at(m, "requestId"));
    if (!s) return;
    c->pending++;
    s->turn = (struct chat_turn){ .app = c->app,
                                  .owner = c->owner,
                                  .claims = c->claims,
                                  .via = str_c(c->door->via),
                                  .interrupts = true,
                                  .may_decide = c->may_decide,
                                  .roles = c->roles,
                                  .done = on_turn };
    chat_start(&s->turn, m, STR_NONE);
}

static void on_resume(struct command *k, const struct receipt *a)
{
    struct stream    *s = k->ctx;
    struct chatws    *c = s->ws;
    const struct run *r = a->status < 400 ? thread_fold(a->thread)->run : NULL;
    c->pending--;
    if (c->conn && run_live(r) && !run_waiting(r) && !s->finished) {
        reply(c, "start", str_c(s->id), NULL);
        follow(s, a->thread,
               (struct stream_start){ .run = r->id, .seq = r->first->seq - 1, .replay = true });
    } else {
        if (a->status >= 500) reply(c, "error", str_c(s->id), a->message);
        else reply(c, "no-active", str_c(s->id), NULL);
        stream_free(s);
    }
    command_free(k);
}

static void up_resume(struct chatws *c, const struct jv *m)
{
    struct stream  *s = stream_new(c, jv_str_at(m, "requestId"));
    struct command *k = s ? command_new(CMD_FOLLOW) : NULL;
    if (!k) {
        if (s) stream_free(s);
        return;
    }
    k->log.owner = arena_dup(&k->arena, c->owner);
    k->log.thread = arena_dup(&k->arena, jv_str_at(m, "id").ptr ? jv_str_at(m, "id") : STR("-"));
    k->ctx = s;
    k->done = on_resume;
    c->pending++;
    hub_submit(c->app->hub, k);
}

/* Like closing the response: this reader leaves, the run goes on. */
static void up_abort(struct chatws *c, const struct jv *m)
{
    struct stream *s = find(c, jv_str_at(m, "requestId"));
    if (!s) return;
    if (s->streaming && c->cut != s) stream_free(s);
    else s->finished = true;
}

/* All of them count as requests do. Who sends too many may still leave. */
static void dispatch(struct chatws *c, struct str type, const struct jv *m)
{
    bool may = may_send(c->app, c->conn, c->owner, &c->refused);
    if (str_is(type, "abort")) up_abort(c, m);
    else if (!may)
        reply(c, "error", jv_str_at(m, "requestId"), "Too many requests; try again in a moment.");
    else if (str_is(type, "send")) up_send(c, m);
    else if (str_is(type, "resume")) up_resume(c, m);
    else reply(c, "error", jv_str_at(m, "requestId"), "This type of message is not known here.");
}

static void on_message(struct ws_peer *p, struct str text, bool binary)
{
    struct chatws *c = LIST_ITEM(p, struct chatws, peer);
    struct arena   a;
    struct jv     *m;
    arena_init(&a, 0);
    if (binary || json_parse(&a, text, &m, NULL) != OK || m->type != JSON_OBJECT)
        conn_ws_close(c->conn, 1007, "a frame must be a JSON object");
    else dispatch(c, jv_str_at(m, "type"), m);
    arena_done(&a);
}

/* --- the door --------------------------------------------------------------------------------- */

static void source_gone(struct source *s)
{
    struct chatws *c = LIST_ITEM(s, struct chatws, source);
    LIST_EACH (n, &c->streams) {
        struct stream *x = LIST_ITEM(n, struct stream, node);
        if (x->streaming) stream_free(x);
        else x->finished = true;
    }
}

static void peer_gone(struct ws_peer *p)
{
    struct chatws *c = LIST_ITEM(p, struct chatws, peer);
    c->conn = NULL;
    release(c);
}

void door_chat_ws(struct server *s, struct request *q)
{
    struct chatws *c = mem_alloc(sizeof *c);
    if (!c) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    arena_init(&c->arena, 0);
    list_init(&c->streams);
    c->app = app_of(s);
    c->conn = q->conn;
    c->door = q->door;
    c->native = !str_is(request_query(q, "approval"), "adk");
    c->owner = arena_dup(&c->arena, owner_of(q));
    c->claims = arena_dup(&c->arena, q->principal->claims);
    c->may_decide = may_decide(c->app, q->principal);
    c->roles = arena_dup(&c->arena, q->principal->words);
    c->source = (struct source){ .pull = pull, .gone = source_gone };
    c->peer = (struct ws_peer){ .message = on_message, .gone = peer_gone };
    if (conn_upgrade(q->conn, STR_NONE, &c->source, &c->peer)) return;
    c->conn = NULL;
    release(c);
}
