/* live.c -- /live: the WebSocket of BIDI mode. One socket, many turns of one thread.
 *
 * Down come chunks and control frames (live_frames.c). Up come messages, answers, results, claims,
 * stop, resume. An answer is the same command as over HTTP; only the carrier differs.
 *
 * A socket is bound to its thread: the one in its address, or else the one that its first message
 * names by `id` (without: the one that hello named). In parley.sse.v1 with the adk form one turn is
 * one run: that is how the documents' client reads, which closes its stream at [DONE] and opens
 * none for an answer.
 */
#include "base/clock.h"
#include "base/id.h"
#include "door/chat.h"
#include "door/knock.h"
#include "door/live_int.h"

#define BAD_JSON_MAX 3
/* commands of one socket that are not answered yet: each holds its message */
#define UNDER_WAY_MAX 64
#define PING_FREE_MS  1000 /* one that comes sooner after another counts as a message */
#define NOT_SAID      "the first message does not say who it is"

/* --- the source ------------------------------------------------------------------------------- */

static bool is_whole(const struct live *l)
{
    return !l->native && l->frames == FRAMES_SSE;
}

static void place(struct live *l, struct stream_start start)
{
    start.mode = STREAM_THREAD;
    start.native = l->native;
    start.whole = is_whole(l);
    encoder_start(&l->enc, l->door->dialect, &live_carrier, l, l->follower.thread, &start);
    source_wake(&l->source);
}

static void begin_resume(struct live *l)
{
    l->resume = false;
    place(l, (struct stream_start){ .seq = l->resume_seq, .units = l->resume_units });
}

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    struct live   *l = LIST_ITEM(s, struct live, source);
    struct thread *t = l->follower.thread;
    size_t         end = out->len + room;
    enum encoded   r = t ? ENCODED_ITEM : ENCODED_NOTHING;
    while (r == ENCODED_ITEM) {
        if (l->resume && !encoder_is_cut(&l->enc)) begin_resume(l);
        r = encode_into(&l->enc, t, out, end - out->len);
    }
    if (r == ENCODED_FAILED) conn_ws_close(l->conn, 1011, "out of memory");
    if (r == ENCODED_NOTHING && hub_draining(l->app->hub) && !(t && thread_away(t)))
        conn_ws_close(l->conn, 1012, "restarting");
    return r == ENCODED_CUT ? PULL_MORE : PULL_WAIT;
}

static void wake(struct follower *f)
{
    struct live *l = LIST_ITEM(f, struct live, follower);
    live_send_decisions(l);
    source_wake(&l->source);
}

static void over(struct follower *f)
{
    struct live *l = LIST_ITEM(f, struct live, follower);
    if (l->conn) conn_ws_close(l->conn, 4404, "the conversation was deleted");
}

static void release(struct live *l)
{
    if (l->conn || l->pending) return;
    encoder_done(&l->enc);
    arena_done(&l->arena);
    mem_free(l);
}

/* What this tab had claimed is free for another. */
static void source_gone(struct source *s)
{
    struct live *l = LIST_ITEM(s, struct live, source);
    l->left = true;
    if (l->follower.thread && l->tab) command_unclaim(l->follower.thread, l->tab);
    thread_unfollow(&l->follower);
}

static void knocked(struct live *l)
{
    knock_end(l->knock);
    l->knock = NULL;
}

static void peer_gone(struct ws_peer *p)
{
    struct live *l = LIST_ITEM(p, struct live, peer);
    knocked(l);
    l->conn = NULL;
    release(l);
}

/* --- joining a thread ------------------------------------------------------------------------- */

static void join(struct live *l, struct thread *t, uint64_t after, bool quiet_gates)
{
    if (l->left) return; /* closed while the thread was read */
    l->follower.counts = true;
    thread_follow(t, &l->follower);
    l->approvals_seq = thread_committed(t);
    place(l,
          (struct stream_start){ .seq = after, .continuation = true, .quiet_gates = quiet_gates });
}

/* A turn that is under way is told from its beginning; otherwise only what comes. At a question it
 * is under way only where one turn is one run. */
static void greet(struct live *l, struct thread *t)
{
    const struct run *r = thread_fold(t)->run;
    bool              running = run_live(r) && (is_whole(l) || !run_waiting(r));
    uint64_t          after = running ? r->first->seq - 1 : thread_committed(t);
    join(l, t, after, running);
    live_send_hello(l, after);
}

static void on_join(struct command *c, const struct receipt *a)
{
    struct live *l = c->ctx;
    l->pending--;
    l->joining = false;
    if (l->conn && !l->left && a->status < 400) greet(l, a->thread);
    else if (a->status == 404 && l->turns) l->absent = l->renamed = true;
    else if (l->conn && !l->left)
        conn_ws_close(l->conn, a->status == 404 ? 4404 : 1013, a->message);
    release(l);
    command_free(c);
}

static struct command *live_command(struct live *l, enum command_kind kind,
                                    void (*done)(struct command *, const struct receipt *))
{
    struct command *c = command_new(kind);
    if (!c) {
        live_send_error(l, "out_of_memory", "The server is out of memory; try again in a moment.",
                        STR_NONE);
        return NULL;
    }
    c->log = (struct log_name){ l->owner, l->thread };
    c->by = l->owner;
    c->may_decide = l->may_decide;
    c->roles = arena_dup(&c->arena, l->roles);
    c->claims = l->claims;
    c->via = str_c(l->door->via);
    c->ctx = l;
    c->done = done;
    return c;
}

static void live_submit(struct live *l, struct command *c)
{
    l->pending++;
    hub_submit(l->app->hub, c);
}

/* A thread that was named in hello but is not there yet, or that a first message named, is joined
 * when that message was taken. */
static void ensure_joined(struct live *l, struct thread *t, uint64_t seq)
{
    if (l->follower.thread || l->joining || !t || !l->conn || l->left) return;
    if (!str_eq(l->thread, thread_id(t))) {
        /* an answer without an id found its question */
        struct str id = arena_dup(&l->arena, thread_id(t));
        if (!id.ptr) {
            conn_ws_close(l->conn, 1013, "out of memory");
            return;
        }
        l->thread = id;
        l->renamed = true;
    }
    join(l, t, seq, false);
    if (l->renamed) live_send_hello(l, seq);
    l->renamed = false;
}

/* --- messages up ------------------------------------------------------------------------------ */

struct live_turn {
    struct chat_turn chat;
    struct live     *live;
    struct str       answer_id, request_id;
    char             answer_buf[REQUEST_ID_MAX], request_buf[REQUEST_ID_MAX];
};

/* Those that are too long are refused where they are read. */
static struct str keep_id(char buf[REQUEST_ID_MAX], struct str id)
{
    size_t n = id.len <= REQUEST_ID_MAX ? id.len : 0;
    if (n) memcpy(buf, id.ptr, n);
    return str_n(buf, n);
}

static void on_turn(struct chat_turn *chat, const struct chat_result *r)
{
    struct live_turn *t = LIST_ITEM(chat, struct live_turn, chat);
    struct live      *l = t->live;
    l->turns--;
    if (r->status >= 400) {
        live_refuse_message(l, r->code, r->message, t->answer_id);
        if (l->absent && !l->turns && l->conn && !l->left)
            conn_ws_close(l->conn, 4404, "no such conversation");
    } else {
        l->absent = false;
        ensure_joined(l, r->thread, r->seq);
        if (r->continuation)
            live_send_ack(l, t->answer_id.len ? t->answer_id : r->id, "recorded", r->duplicate);
        else if (r->replay)
            live_send_ack(l, t->request_id, "recorded",
                          true); /* its run was told on this thread, or is being told */
    }
    l->pending--;
    release(l);
    mem_free(t);
}

/* The first message of a socket without ?thread= names the thread, as the body of /stream does. */
static bool bind_thread(struct live *l, struct str id)
{
    if (!l->unbound || !id.len) return true;
    if (!id_valid(id, 128)) return false;
    struct str kept = arena_dup(&l->arena, id);
    if (!kept.ptr) return false;
    l->thread = kept;
    l->renamed = true;
    return true;
}

static void no_memory(struct live *l)
{
    live_refuse_message(l, "out_of_memory", "The server is out of memory; try again in a moment.",
                        STR_NONE);
}

/* `text`, or `messages` as the AI SDK has them. */
static void up_message(struct live *l, const struct jv *m)
{
    struct str id = jv_str_at(m, "id");
    if (!bind_thread(l, id)) {
        live_refuse_message(l, "bad_id",
                            "\"id\" may have letters, digits, - and _, and at most 128 of them.",
                            STR_NONE);
        return;
    }
    struct live_turn *t = mem_alloc(sizeof *t);
    if (!t) {
        no_memory(l);
        return;
    }
    t->live = l;
    t->answer_id = keep_id(t->answer_buf, jv_str_at(m, "answer_id"));
    t->request_id = keep_id(t->request_buf, jv_str_at(m, "request_id"));
    t->chat = (struct chat_turn){ .app = l->app,
                                  .owner = l->owner,
                                  .claims = l->claims,
                                  .via = str_c(l->door->via),
                                  .interrupts = true,
                                  .may_decide = l->may_decide,
                                  .roles = l->roles,
                                  .unnamed = l->unbound && !id.len,
                                  .done = on_turn };
    l->unbound = false;
    l->pending++;
    l->turns++;
    if (jv_str_at(m, "text").ptr) chat_say(&t->chat, m, l->thread);
    else chat_start(&t->chat, m, l->thread);
}

static void on_answer(struct command *c, const struct receipt *a)
{
    struct live *l = c->ctx;
    struct str   for_id = c->answer_id.len ? c->answer_id : c->id;
    l->pending--;
    if (a->status >= 400) live_send_error(l, a->code, a->message, for_id);
    else if (c->kind == CMD_DECIDE) {
        const struct fact *d = fold_verdict(thread_fold(a->thread), c->id);
        live_send_ack(l, for_id, d ? word_name(d->outcome) : "recorded", a->duplicate);
    } else
        live_send_ack(l, for_id.len ? for_id : a->run,
                      c->kind == CMD_CLAIM  ? "claimed"
                      : c->kind == CMD_STOP ? "stopped"
                                            : "recorded",
                      a->duplicate);
    release(l);
    command_free(c);
}

static bool copy_tree(struct command *c, const struct jv *v, const struct jv **out)
{
    struct jv *copy;
    struct str raw = arena_dup(&c->arena, v ? v->raw : STR("null"));
    if (!raw.ptr || json_parse(&c->arena, raw, &copy, NULL) != OK) return false;
    *out = copy;
    return true;
}

static void refuse(struct live *l, struct command *c, const struct refusal *why)
{
    if (is_suspicious(why)) log_refused(l->owner, l->door->via, l->thread, c->id, why->code);
    live_send_error(l, why->code, why->message, c->id);
    command_free(c);
}

/* The answer to a confirmation, or the result of a client tool: the id says which. */
static void up_result(struct live *l, const struct jv *m)
{
    const struct jv *v = NULL;
    struct refusal   why = { 422, "malformed_answer", "\"toolCallId\" is missing." };
    struct command  *c = live_command(l, CMD_RESULT, on_answer);
    if (!c) return;
    c->id = arena_dup(&c->arena, jv_str_at(m, "toolCallId"));
    c->answer_id = arena_dup(&c->arena, jv_str_at(m, "answer_id"));
    struct thread *t = l->follower.thread;
    bool           confirmation = t && c->id.len && fold_confirmation(thread_fold(t), c->id);
    bool           reserved = str_is(jv_str_at(m, "toolName"), "adk_request_confirmation");
    bool           ok = c->id.len > 0;
    if (ok && (confirmation || reserved)) {
        const struct jv *error = jv_get(m, "error");
        c->kind = CMD_DECIDE;
        why.message = "An answer is a result, not an error beside one.";
        ok = (!error || error->type == JSON_NULL) && copy_tree(c, jv_get(m, "result"), &v) &&
             request_answer(c, v, &why);
    } else if (ok) ok = copy_tree(c, m, &v) && request_result(c, v, &why);
    if (ok) live_submit(l, c);
    else refuse(l, c, &why);
}

static void up_approval(struct live *l, const struct jv *m)
{
    const struct jv *v = NULL;
    struct refusal   why = { 422, "malformed_answer", "\"id\" is missing." };
    struct command  *c = live_command(l, CMD_DECIDE, on_answer);
    if (!c) return;
    c->id = arena_dup(&c->arena, jv_str_at(m, "id"));
    if (c->id.len && copy_tree(c, m, &v) && request_answer(c, v, &why)) live_submit(l, c);
    else refuse(l, c, &why);
}

static void up_claim(struct live *l, const struct jv *m)
{
    struct refusal  why = { 422, "bad_field", "\"toolCallId\" and \"client\" must be given." };
    struct command *c = live_command(l, CMD_CLAIM, on_answer);
    if (!c) return;
    c->id = arena_dup(&c->arena, jv_str_at(m, "toolCallId"));
    c->claim.client = arena_dup(&c->arena, jv_str_at(m, "client"));
    if (!l->tab) l->tab = command_tab();
    c->claim.owner = l->tab;
    if (c->id.len && c->claim.client.len && c->claim.client.len <= 128) live_submit(l, c);
    else refuse(l, c, &why);
}

static void up_interrupt(struct live *l, const struct jv *m)
{
    struct command *c = live_command(l, CMD_STOP, on_answer);
    if (!c) return;
    c->stop.reason = arena_dup(&c->arena, jv_str_at(m, "reason"));
    live_submit(l, c);
}

static void up_resume(struct live *l, const struct jv *m)
{
    uint64_t       seq, units;
    struct thread *t = l->follower.thread;
    if (!place_parse(jv_str_at(m, "after"), &seq, &units) || (t && !place_fits(t, seq, units))) {
        live_send_error(l, "bad_place",
                        "\"after\" must be a place like 41.17 of this conversation.", STR_NONE);
        return;
    }
    if (!t) return; /* nothing was said yet */
    l->resume_seq = seq;
    l->resume_units = units;
    if (encoder_is_cut(&l->enc)) l->resume = true; /* a frame is half out */
    else begin_resume(l);
}

static void up_ping(struct live *l, const struct jv *m)
{
    const struct jv *stamp = jv_get(m, "timestamp");
    live_send_pong(l, stamp ? stamp->raw : STR("null"));
}

/* '-' and '_' are the same in types. */
static bool type_is(struct str type, const char *name)
{
    if (type.len != strlen(name)) return false;
    for (size_t i = 0; i < type.len; i++)
        if (type.ptr[i] != name[i] && !(type.ptr[i] == '-' && name[i] == '_')) return false;
    return true;
}

static void refuse_any(struct live *l, struct str type, const char *code, const char *message,
                       struct str for_id)
{
    if (type_is(type, "message")) live_refuse_message(l, code, message, for_id);
    else live_send_error(l, code, message, for_id);
}

/* A sign of life now and then. */
static bool is_heartbeat(struct live *l, struct str type)
{
    uint64_t now = clock_mono_ms();
    if (!type_is(type, "ping") || (l->pinged_ms && now < l->pinged_ms + PING_FREE_MS)) return false;
    l->pinged_ms = now;
    return true;
}

/* Whatever comes counts towards what this principal may send. */
static bool too_fast(struct live *l, struct str type)
{
    if (is_heartbeat(l, type) || may_send(l->app, l->conn, l->owner, &l->refused)) return false;
    refuse_any(l, type, "rate_limited", "Too many messages; try again in a moment.", STR_NONE);
    return true;
}

/* Messages wait while an answer is written; somebody who sends on and on must not fill the memory
 * with them. */
static bool too_many(struct live *l, struct str type, const struct jv *m)
{
    struct str id = jv_str_at(m, "answer_id");
    if (l->pending < UNDER_WAY_MAX) return false;
    if (!id.len) id = jv_str_at(m, "toolCallId");
    if (!id.len) id = jv_str_at(m, "id");
    refuse_any(
        l, type, "rate_limited",
        "Too many messages of this socket are waiting; try again when one of them is answered.",
        id.len <= REQUEST_ID_MAX ? id : STR_NONE);
    return true;
}

static void dispatch(struct live *l, struct str type, const struct jv *m)
{
    if (too_fast(l, type)) return;
    if (type_is(type, "resume")) up_resume(l, m);
    else if (type_is(type, "ping")) up_ping(l, m);
    else if (type_is(type, "auth")) return; /* it is known already */
    else if (type_is(type, "audio_control") || type_is(type, "audio_chunk"))
        live_send_error(l, "unsupported", "Audio is not built yet.", STR_NONE);
    else if (too_many(l, type, m)) return;
    else if (type_is(type, "message")) up_message(l, m);
    else if (type_is(type, "tool_result")) up_result(l, m);
    else if (type_is(type, "approval")) up_approval(l, m);
    else if (type_is(type, "claim")) up_claim(l, m);
    else if (type_is(type, "interrupt")) up_interrupt(l, m);
    else live_send_error(l, "unknown_type", "This type of message is not known here.", STR_NONE);
}

static void join_thread(struct live *l);

static void unauthorized(struct live *l, const char *why)
{
    identify_failed(l->conn, why, STR("/live"));
    knocked(l);
    conn_ws_close(l->conn, WS_UNAUTHORIZED, "sign in");
}

static void on_silence(void *live)
{
    unauthorized(live, "no first message");
}

static void know(struct live *l, const struct principal *p)
{
    l->owner = arena_dup(&l->arena, p->name);
    l->roles = arena_dup(&l->arena, p->words);
    l->claims = arena_dup(&l->arena, p->claims);
    l->may_decide = may_decide(l->app, p);
}

static void turn_away(struct live *l, int code, const char *why)
{
    knocked(l);
    conn_ws_close(l->conn, code, why);
}

static void on_message(struct ws_peer *p, struct str text, bool binary);

/* It is known who they are, and they may be answered. What they said meanwhile comes now. */
static void let_in(void *live, enum err e)
{
    struct live  *l = live;
    struct knock *k = l->knock;
    struct str    text;
    l->knock = NULL;
    if (!e) know(l, knock_who(k));
    if (e || l->arena.failed) conn_ws_close(l->conn, 1013, "your roles cannot be written down now");
    else join_thread(l);
    while (!conn_ws_closing(l->conn) && knock_next(k, &text)) on_message(&l->peer, text, false);
    knock_end(k);
}

/* The first message of a socket that is not known: {"type":"auth","token":...} and nothing else. */
static void come_in(struct live *l, struct arena *a, struct str type, const struct jv *m)
{
    struct principal  p;
    const char       *why = NOT_SAID;
    enum auth_verdict v = type_is(type, "auth")
                              ? auth_token(l->app->auth, jv_str_at(m, "token"), a, &p, &why)
                              : AUTH_BAD;
    /* the key of a chat program is nobody's by itself: whom it asks for stands in a header */
    if (v == AUTH_GOOD && p.user_header.len) {
        v = AUTH_BAD;
        why = "a key with user_header must come with the handshake";
    }
    if (v == AUTH_BAD) unauthorized(l, why);
    else if (v == AUTH_LATER) turn_away(l, 1013, "the keys are being fetched");
    else if (!(p.roles & ROLE_USER)) turn_away(l, 1008, "your role has no conversations");
    else {
        enum err e = knock_note(l->knock, &p);
        identify_until(l->conn, &p);
        if (e != ERR_BUSY) let_in(l, e);
    }
}

/* What stands beside the "data" of an answer is said of something else, or otherwise. */
static bool differs(struct str type, const struct jv *m, const struct jv *data)
{
    static const char *const NAMES[] = { "id", "toolCallId" };
    if (m == data) return false;
    if (!type_is(type, "approval") && !type_is(type, "tool_result") && !type_is(type, "claim"))
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct jv *beside = request_given(m, NAMES[i]),
                        *within = request_given(data, NAMES[i]);
        if (beside && within && !str_eq(beside->raw, within->raw)) return true;
    }
    return request_has_answer(m) || request_given(m, "result") || request_given(m, "error");
}

static void on_message(struct ws_peer *p, struct str text, bool binary)
{
    struct live      *l = LIST_ITEM(p, struct live, peer);
    struct arena      a;
    struct jv        *m;
    struct json_error e;
    if (knock_waits(l->knock) && !binary) {
        if (!knock_keep(l->knock, text)) turn_away(l, 1013, "too much before you are let in");
        return;
    }
    if (l->knock && (binary || text.len > 2 * JWT_MAX)) {
        unauthorized(l, NOT_SAID);
        return;
    }
    if (binary) {
        if (!too_fast(l, STR("")))
            live_send_error(l, "unsupported", "Audio is not built yet.", STR_NONE);
        return;
    }
    arena_init(&a, 0);
    enum err err = json_parse(&a, text, &m, &e);
    if (err != OK || m->type != JSON_OBJECT) {
        bool deep = err == ERR_SYNTAX && e.why == JSON_TOO_DEEP;
        if (l->knock) unauthorized(l, NOT_SAID);
        else
            live_send_error(l, "bad_json",
                            deep ? json_complaint(&a, "The message", &e).ptr
                                 : "A message must be a JSON object.",
                            STR_NONE);
        if (++l->bad_json >= BAD_JSON_MAX) conn_ws_close(l->conn, 1007, "bad JSON again and again");
    } else {
        /* flat or nested: both are in use, but not both at once */
        const struct jv *data = jv_get(m, "data");
        if (!jv_is(data, JSON_OBJECT)) data = m;
        struct str type = jv_str_at(m, "type");
        if (l->knock) come_in(l, &a, type, data);
        else if (!differs(type, m, data)) dispatch(l, type, data);
        else if (!too_fast(l, type))
            live_send_error(l, "contradiction", COMMAND_CONTRADICTION, STR_NONE);
    }
    arena_done(&a);
}

/* --- the door --------------------------------------------------------------------------------- */

static const struct knock_calls CALLS = { on_silence, let_in };

static bool offers(const struct request *q, const char *protocol)
{
    struct str list = request_header(q, "sec-websocket-protocol"), item;
    while (str_split(&list, ',', &item))
        if (str_is(str_trim(item), protocol)) return true;
    return false;
}

static void join_thread(struct live *l)
{
    if (l->unbound) {
        live_send_hello(l, 0);
        return;
    }
    if (!id_valid(l->thread, 128)) {
        conn_ws_close(l->conn, 4404, "no such conversation");
        return;
    }
    struct command *c = live_command(l, CMD_FOLLOW, on_join);
    l->joining = c != NULL;
    if (c) live_submit(l, c);
    else conn_ws_close(l->conn, 1013, "out of memory");
}

void door_live(struct server *s, struct request *q)
{
    struct live *l = mem_alloc(sizeof *l);
    struct str   thread = request_query(q, "thread"), protocol = STR_NONE;
    if (!l) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    arena_init(&l->arena, 0);
    l->app = app_of(s);
    l->conn = q->conn;
    l->door = q->door;
    l->source = (struct source){ .pull = pull, .gone = source_gone };
    l->peer = (struct ws_peer){ .message = on_message, .gone = peer_gone };
    l->follower.wake = wake;
    l->follower.over = over;
    l->native = str_is(request_query(q, "approval"), "native");
    l->frames = offers(q, "parley.json.v1") ? FRAMES_JSON : FRAMES_SSE;
    if (l->frames == FRAMES_JSON) protocol = STR("parley.json.v1");
    else if (offers(q, "parley.sse.v1")) protocol = STR("parley.sse.v1");
    if (q->principal) know(l, q->principal);
    l->unbound = !thread.len;
    l->thread = thread.len ? arena_dup(&l->arena, thread) : id_new(&l->arena, "t_");
    if (!conn_upgrade(q->conn, protocol, &l->source, &l->peer)) {
        l->conn = NULL;
        release(l);
        return;
    }
    if (q->principal) join_thread(l);
    else if (!(l->knock = knock_new(l->app, &CALLS, l)))
        conn_ws_close(l->conn, 1013, "out of memory");
}
