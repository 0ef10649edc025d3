/* follow.c -- see follow.h. */
#include "door/follow.h"

struct follow {
    struct source   source;
    struct follower follower;
    struct hub     *hub;
    struct encoder  enc;
    bool            over;    /* the thread is gone, and of its words not even the rest is given */
    bool            list;    /* of JSON, with a bracket at its end */
    struct str      leaves;  /* whose run ends with this stream; STR_NONE: nobody's */
    struct buf      first;   /* what is still to be sent before the encoder's */
    char            names[]; /* what `leaves` and the encoder point at */
};

static void wake(struct follower *f)
{
    source_wake(&LIST_ITEM(f, struct follow, follower)->source);
}

static void over(struct follower *f)
{
    struct follow *w = LIST_ITEM(f, struct follow, follower);
    w->over = true;
    source_wake(&w->source);
}

/* False: the room is used up. */
static bool send_first(struct follow *w, struct buf *out, size_t room)
{
    size_t n = w->first.len < room ? w->first.len : room;
    buf_str(out, str_cut(buf_view(&w->first), n));
    buf_eat(&w->first, n);
    if (w->first.len) return false;
    buf_done(&w->first);
    return true;
}

static enum pull pull_events(struct source *s, struct buf *out, size_t room)
{
    struct follow *w = LIST_ITEM(s, struct follow, source);
    size_t         end = out->len + room - w->list;
    enum encoded   r = ENCODED_ITEM;
    if (w->first.len && !send_first(w, out, room)) return PULL_MORE;
    while (r == ENCODED_ITEM) {
        if (w->over || !w->follower.thread) return PULL_END;
        r = encode_into(&w->enc, w->follower.thread, out, end - out->len);
    }
    w->enc.stuck = !hub_draining(w->hub) && thread_stuck(w->follower.thread);
    if (r == ENCODED_NOTHING && (hub_draining(w->hub) || w->enc.stuck) && !encoder_is_cut(&w->enc))
        r = encode_last(&w->enc, out, end - out->len, true);
    /* without memory for an event the client comes back by its place */
    return r == ENCODED_CUT ? PULL_MORE : r == ENCODED_NOTHING ? PULL_WAIT : PULL_END;
}

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    enum pull p = pull_events(s, out, room);
    if (p == PULL_END && LIST_ITEM(s, struct follow, source)->list) buf_chr(out, ']');
    return p;
}

void follow_leave(struct hub *h, struct thread *t, struct str owner, struct str response)
{
    struct command *c = t && !hub_draining(h) ? command_new(CMD_STOP) : NULL;
    if (!c) return;
    c->log.owner = c->by = arena_dup(&c->arena, owner);
    c->log.thread = arena_dup(&c->arena, thread_id(t));
    c->via = STR("responses");
    c->stop.gently = c->stop.unwatched = true;
    c->stop.response = arena_dup(&c->arena, response);
    c->done = command_drop;
    hub_submit(h, c);
}

static void gone(struct source *s)
{
    struct follow *w = LIST_ITEM(s, struct follow, source);
    thread_counts(&w->follower, false);
    if (w->leaves.len && !w->enc.ended)
        follow_leave(w->hub, w->follower.thread, w->leaves, w->enc.response);
    thread_unfollow(&w->follower);
    encoder_done(&w->enc);
    buf_done(&w->first);
    mem_free(w);
}

/* Into the room at *at, which has enough of it. */
static struct str keep(char **at, struct str s)
{
    if (!s.len) return STR_NONE;
    memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return str_n(*at - s.len, s.len);
}

static struct follow *follow_new(const struct dialect *d, struct thread *t,
                                 const struct stream_start *s, bool list)
{
    size_t              names = s->run.len + s->response.len + s->model.len + s->segment.len;
    struct follow      *w = mem_alloc(sizeof *w + names + s->leaves.len);
    struct stream_start at = *s;
    if (!w) return NULL;
    char *room = w->names;
    w->source = (struct source){ .pull = pull, .gone = gone };
    w->follower.wake = wake;
    w->follower.over = over;
    w->follower.counts = true;
    at.run = keep(&room, s->run);
    at.response = keep(&room, s->response);
    at.model = keep(&room, s->model);
    at.segment = keep(&room, s->segment);
    w->leaves = keep(&room, s->leaves);
    w->list = list;
    encoder_start(&w->enc, d, list ? &carrier_list : &carrier_sse, NULL, t, &at);
    return w;
}

/* Takes `first`. */
static void follow(struct conn *c, const struct dialect *d, struct thread *t,
                   const struct stream_start *s, struct buf *first, bool list)
{
    struct follow *w = first->err ? NULL : follow_new(d, t, s, list);
    if (!w) {
        buf_done(first);
        conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
        return;
    }
    struct app *app = app_of(conn_server(c));
    w->hub = app->hub;
    w->first = *first;
    thread_follow(t, &w->follower);
    conn_header(c, "Parley-Thread", thread_id(t));
    if (s->run.len) conn_header(c, "Parley-Run", s->run);
    if (list) conn_stream(c, 200, "application/json", &w->source, 0);
    else conn_stream(c, 200, "text/event-stream", &w->source, FOLLOW_HEARTBEAT_MS);
}

void follow_stream(struct conn *c, const struct dialect *d, struct thread *t,
                   const struct stream_start *s)
{
    follow(c, d, t, s, &(struct buf){ 0 }, false);
}

void follow_after(struct conn *c, const struct dialect *d, struct thread *t,
                  const struct stream_start *s, struct buf *first)
{
    follow(c, d, t, s, first, false);
}

void follow_list(struct conn *c, const struct dialect *d, struct thread *t,
                 const struct stream_start *s)
{
    struct buf first;
    buf_init(&first, 0);
    buf_chr(&first, '[');
    follow(c, d, t, s, &first, true);
}
