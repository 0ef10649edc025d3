/* follow.c -- see follow.h. */
#include "door/follow.h"

#include "http/held.h"

#define ITEM_ROOM 2048 /* no new item is begun with less room than this */

struct follow {
    struct source   source;
    struct follower follower;
    struct hub     *hub;
    struct encoder  enc;
    size_t          sent; /* bytes of the item at the cursor that are out already */
    /* that item, if there was room to keep it; else it is encoded again */
    struct held    *held;
    bool            over; /* the thread is gone */
    char            run[64];
};

static struct buf scratch; /* loop thread only */

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

static enum encoded next_item(struct follow *w, size_t room)
{
    struct thread *t = w->follower.thread;
    buf_clear(&scratch);
    if (w->over || !t) return ENCODED_END;
    enum encoded r = thread_away(t) ? ENCODED_NOTHING : encode_next(&w->enc, t, &scratch, room);
    if (r != ENCODED_NOTHING || !hub_draining(w->hub)) return r;
    encode_restart(&w->enc, &scratch);
    return ENCODED_END;
}

/* Gives what fits of the item that was encoded last; false: the rest of it waits for the next
 * pull. */
static bool give(struct follow *w, struct buf *out, size_t left, struct str item)
{
    struct str rest = str_from(item, w->sent);
    buf_str(out, str_cut(rest, left));
    w->sent = rest.len > left ? w->sent + left : 0;
    return !w->sent;
}

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    struct follow *w = LIST_ITEM(s, struct follow, source);
    size_t         end = out->len + room;
    if (w->held && w->over) return PULL_END; /* of words that were deleted not even the rest */
    if (w->held) {
        int r = w->held->then;
        if (!give(w, out, room, w->held->bytes)) return PULL_MORE;
        held_free(w->held);
        w->held = NULL;
        if (r == ENCODED_END) return PULL_END;
    }
    /* the rest of an item */
    if (w->sent && !w->over && w->follower.thread && thread_away(w->follower.thread))
        return PULL_WAIT;
    while (w->sent || end - out->len >= ITEM_ROOM) {
        struct encoder before = w->enc;
        size_t         left = end - out->len;
        enum encoded   r = next_item(w, left);
        /* no memory for one event: the client comes back by its cursor */
        if (scratch.err) return PULL_END;
        if (!give(w, out, left, buf_view(&scratch))) {
            w->held = held_take(buf_view(&scratch), NULL, 0, r);
            if (w->held) {
                w->enc.again = false;
                return PULL_MORE;
            }
            before.horizon = w->enc.horizon;
            w->enc = before;
            w->enc.again = true;
            return PULL_MORE;
        }
        w->enc.again = false;
        if (r == ENCODED_END) return PULL_END;
        if (r == ENCODED_NOTHING) return PULL_WAIT;
    }
    return PULL_MORE;
}

static void gone(struct source *s)
{
    struct follow *w = LIST_ITEM(s, struct follow, source);
    thread_unfollow(&w->follower);
    held_free(w->held);
    mem_free(w);
}

void follow_place(struct encoder *e, const struct thread *t, const struct follow_start *s)
{
    e->ai.native = s->native;
    e->ai.whole = s->whole;
    encoder_seek(e, t, s->seq, s->units);
    e->opened = s->replay;
    if (!s->continuation) return; /* else: a new stream, whatever the one before it saw */
    e->ai.shown_turn = e->ai.shown_step = false;
    e->told_from = e->seq;
}

static struct follow *follow_new(struct thread *t, const struct follow_start *s)
{
    struct follow *w = mem_alloc(sizeof *w);
    if (!w) return NULL;
    w->source = (struct source){ .pull = pull, .gone = gone };
    w->follower.wake = wake;
    w->follower.over = over;
    w->follower.counts = true;
    size_t n = s->run.len < sizeof w->run ? s->run.len : 0;
    memcpy(w->run, s->run.ptr ? s->run.ptr : "", n);
    w->enc = (struct encoder){
        .d = s->dialect, .mode = s->mode, .reasoning = s->reasoning, .quiet_gates = s->replay
    };
    if (n) w->enc.run = str_n(w->run, n);
    follow_place(&w->enc, t, s);
    return w;
}

void follow_stream(struct conn *c, struct thread *t, const struct follow_start *s)
{
    struct follow *w = follow_new(t, s);
    if (!w) {
        conn_error(c, 503, "out_of_memory", "The server is out of memory; try again in a moment.");
        return;
    }
    struct app *app = app_of(conn_server(c));
    w->hub = app->hub;
    thread_follow(t, &w->follower);
    conn_header(c, "Parley-Thread", thread_id(t));
    if (s->run.len) conn_header(c, "Parley-Run", s->run);
    conn_stream(c, 200, "text/event-stream", &w->source, FOLLOW_HEARTBEAT_MS);
}
