/* mcps_listen.c -- streams of notices: GET /mcp (legacy), subscriptions/listen (modern).
 *
 * A notice is no queue: a stream remembers which change it has told, and when it can take bytes it
 * says what is new since. A slow reader gets fewer notices, and the newest state in each.
 */
#include "base/clock.h"
#include "base/id.h"
#include "door/mcp/mcps_int.h"

#define CHANGED_MS 1000 /* tools may change often; clients are told once a second */
#define TASKS_MAX  32   /* of one stream */

struct watched {
    struct follower follower;
    struct stream  *stream;
    struct str      thread;
    uint64_t        told; /* facts of it that were told */
};

struct stream {
    struct list          node;
    struct mcps         *door;
    struct source        source;
    struct arena         arena;
    struct str           owner, roles, id; /* id: of the listen request; STR_NONE: a GET */
    struct mcp_abilities can;
    bool                 may_decide;
    bool                 tools, changed, opened, over;
    struct watched      *tasks;
    size_t               task_count, found;
    struct buf           held;
    size_t               held_at;
    struct conn_hold     hold;
    struct conn         *conn;
    unsigned             under_way;
    bool                 left, streaming;
};

/* --- events ----------------------------------------------------------------------------------- */

static void write_subscription(struct stream *s, struct jsonw *w)
{
    if (!s->id.ptr) return;
    jw_key(w, "_meta");
    jw_obj(w);
    jw_kraw(w, MCP_META("subscriptionId"), s->id);
    jw_end_obj(w);
}

static void end_notice(struct jsonw *w, struct buf *out)
{
    jw_end_obj(w);
    jw_end_obj(w);
    buf_lit(out, "\n\n");
}

static void say_acknowledged(struct stream *s, struct buf *out)
{
    struct jsonw w;
    if (!s->id.ptr) return;
    buf_lit(out, "data: ");
    jsonw_init(&w, out);
    mcprpc_notice(&w, "notifications/subscriptions/acknowledged");
    jw_key(&w, "notifications");
    jw_obj(&w);
    if (s->tools) jw_kbool(&w, "toolsListChanged", true);
    if (s->task_count) {
        jw_key(&w, "taskIds");
        jw_arr(&w);
        for (size_t i = 0; i < s->task_count; i++)
            if (s->tasks[i].follower.thread) jw_str(&w, s->tasks[i].thread);
        jw_end_arr(&w);
    }
    jw_end_obj(&w);
    write_subscription(s, &w);
    end_notice(&w, out);
}

static void say_changed(struct stream *s, struct buf *out)
{
    struct jsonw w;
    s->changed = false;
    buf_lit(out, "data: ");
    jsonw_init(&w, out);
    mcprpc_notice(&w, "notifications/tools/list_changed");
    write_subscription(s, &w);
    end_notice(&w, out);
}

static void say_task(struct watched *k, struct buf *out)
{
    struct stream     *s = k->stream;
    struct thread     *t = k->follower.thread;
    const struct call *c = t ? fold_program_call(thread_fold(t)) : NULL;
    struct mcp_shape   shape = mcps_shape(s->door, true, k->thread);
    struct jsonw       w;
    if (!c || thread_away(t) || thread_committed(t) <= k->told) return;
    k->told = thread_committed(t);
    buf_lit(out, "data: ");
    jsonw_init(&w, out);
    mcprpc_notice(&w, "notifications/tasks");
    struct mcps_person p = { s->can, s->owner, s->roles, s->owner, s->may_decide };
    mcp_task(&w, thread_fold(t), thread_committed(t), mcps_how(&p, c), true, &shape);
    write_subscription(s, &w);
    end_notice(&w, out);
}

static void say_end(struct stream *s, struct buf *out)
{
    struct jsonw w;
    s->over = true;
    if (!s->id.ptr) return;
    buf_lit(out, "data: ");
    jsonw_init(&w, out);
    mcprpc_result(&w, s->id);
    jw_obj(&w);
    jw_kstrz(&w, "resultType", "complete");
    write_subscription(s, &w);
    end_notice(&w, out);
}

static void next_words(struct stream *s, struct buf *out)
{
    if (!s->opened) say_acknowledged(s, out);
    s->opened = true;
    if (s->changed && s->tools) say_changed(s, out);
    for (size_t i = 0; i < s->task_count; i++) say_task(&s->tasks[i], out);
    if (s->door->draining && !s->over) say_end(s, out);
}

static enum pull pull(struct source *src, struct buf *out, size_t room)
{
    struct stream *s = LIST_ITEM(src, struct stream, source);
    if (s->held_at == s->held.len) {
        buf_clear(&s->held);
        s->held_at = 0;
        if (!s->over) next_words(s, &s->held);
        if (s->held.err) return PULL_END;
    }
    struct str rest = str_cut(str_from(buf_view(&s->held), s->held_at), room);
    buf_str(out, rest);
    s->held_at += rest.len;
    if (s->held_at < s->held.len) return PULL_MORE;
    return s->over ? PULL_END : PULL_WAIT;
}

/* --- life ------------------------------------------------------------------------------------- */

static void stream_free(struct stream *s)
{
    if (s->under_way) return;
    for (size_t i = 0; i < s->task_count; i++) thread_unfollow(&s->tasks[i].follower);
    list_remove(&s->node);
    buf_done(&s->held);
    arena_done(&s->arena);
    mem_free(s);
}

static void gone(struct source *src)
{
    stream_free(LIST_ITEM(src, struct stream, source));
}

static void on_left(struct conn_hold *h)
{
    struct stream *s = LIST_ITEM(h, struct stream, hold);
    s->left = true;
    stream_free(s);
}

/* NULL: answered. */
static struct stream *stream_new(struct mcps *m, struct request *q, struct str id)
{
    unsigned       theirs = 0;
    struct stream *s = NULL;
    LIST_EACH (n, &m->streams) {
        struct stream *o = LIST_ITEM(n, struct stream, node);
        theirs += !o->id.ptr == !id.ptr && str_eq(o->owner, owner_of(q));
    }
    if (theirs < MCPS_STREAMS_MAX) s = mem_alloc(sizeof *s);
    if (!s) {
        mcps_unavailable(q->conn, id,
                         &(struct receipt){ .status = 429,
                                            .code = "rate_limited",
                                            .retry_s = 5,
                                            .message = "Too many streams; close one of them." });
        return NULL;
    }
    arena_init(&s->arena, 0);
    buf_init(&s->held, 0);
    s->door = m;
    s->owner = arena_dup(&s->arena, owner_of(q));
    s->roles = arena_dup(&s->arena, q->principal->words);
    s->id = arena_dup(&s->arena, id);
    s->conn = q->conn;
    s->source = (struct source){ .pull = pull, .gone = gone };
    list_add(&m->streams, &s->node);
    return s;
}

static void begin(struct stream *s)
{
    struct conn *c = s->conn;
    s->conn = NULL;
    s->streaming = true;
    conn_stream(c, 200, "text/event-stream", &s->source, MCPS_HEARTBEAT_MS);
}

void mcps_notices(struct mcps *m, struct request *q)
{
    struct stream *s = stream_new(m, q, STR_NONE);
    if (!s) return;
    s->tools = true;
    begin(s);
}

/* --- listening to tasks ----------------------------------------------------------------------- */

static void on_wake(struct follower *f)
{
    struct stream *s = LIST_ITEM(f, struct watched, follower)->stream;
    if (s->streaming) source_wake(&s->source);
}

static void found_all(struct stream *s)
{
    if (s->left || s->arena.failed) stream_free(s);
    else begin(s);
}

static void on_found(struct command *c, const struct receipt *a)
{
    struct watched *k = c->ctx;
    struct stream  *s = k->stream;
    bool ours = a->status < 400 && a->thread && fold_program_call(thread_fold(a->thread));
    s->under_way--;
    if (ours && !s->left) {
        k->follower.wake = on_wake;
        k->told = thread_committed(a->thread);
        thread_follow(a->thread, &k->follower);
    }
    command_free(c);
    if (!s->under_way) found_all(s);
}

static void look_for(struct stream *s, struct watched *k, struct str id)
{
    k->stream = s;
    k->thread = arena_dup(&s->arena, id);
    struct command *c = mcps_command(s->door, CMD_FOLLOW, s->owner, id);
    if (!c) return;
    c->ctx = k;
    c->done = on_found;
    s->under_way++;
    hub_submit(s->door->app->hub, c);
}

static void listen_to(struct stream *s, struct request *q, const struct jv *ids)
{
    s->tasks = arena_array(&s->arena, TASKS_MAX, sizeof *s->tasks);
    conn_hold(q->conn, &s->hold);
    s->hold.cancelled = on_left;
    s->under_way++; /* held by this loop */
    JV_EACH (v, ids) {
        if (!s->tasks || s->task_count == TASKS_MAX || !id_valid(jv_str(v), 128)) continue;
        look_for(s, &s->tasks[s->task_count++], jv_str(v));
    }
    if (!--s->under_way) found_all(s);
}

void mcps_listen(struct mcps *m, struct request *q, const struct mcprpc *rpc)
{
    const struct jv *wanted = jv_get(rpc->params, "notifications"),
                    *ids = jv_get(wanted, "taskIds");
    if (!jv_is(wanted, JSON_OBJECT)) {
        mcps_error(q->conn, rpc->id, RPC_PARAMS, "\"notifications\" must be an object.");
        return;
    }
    if (ids && !rpc->can.tasks) {
        mcps_fault(q->conn, rpc->id,
                   &(struct mcprpc_fault){ 400, RPC_CAPABILITY, "This needs the tasks extension.",
                                           STR(MCPS_NEEDS_TASKS) });
        return;
    }
    struct stream *s = stream_new(m, q, rpc->id);
    if (!s) return;
    s->tools = jv_true(jv_get(wanted, "toolsListChanged"));
    s->can = rpc->can;
    s->may_decide = mcps_may_decide(m, q->principal);
    if (jv_is(ids, JSON_ARRAY) && ids->count) listen_to(s, q, ids);
    else begin(s);
}

/* --- the tools changed ------------------------------------------------------------------------ */

void mcps_wake_streams(struct mcps *m)
{
    LIST_EACH (n, &m->streams) {
        struct stream *s = LIST_ITEM(n, struct stream, node);
        if (s->streaming) source_wake(&s->source);
    }
}

void mcps_on_changed(struct loop_timer *t)
{
    struct mcps *m = LIST_ITEM(t, struct mcps, changed);
    m->told_ms = clock_mono_ms();
    LIST_EACH (n, &m->streams) LIST_ITEM(n, struct stream, node)->changed = true;
    mcps_wake_streams(m);
}

void mcps_tools_changed(void *ctx)
{
    struct mcps *m = ctx;
    uint64_t     since = clock_mono_ms() - m->told_ms;
    if (uv_is_active((uv_handle_t *)&m->changed.uv)) return;
    loop_timer_set(&m->changed, m->told_ms && since < CHANGED_MS ? CHANGED_MS - since : 1);
}
