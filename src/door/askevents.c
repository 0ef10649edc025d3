/* askevents.c -- GET /v1/approvals/events: everything that is asked and decided, as it happens, for
 * pages and bots. A cursor on the store's events; what one may not see in /v1/approvals is passed
 * over. A slow reader costs one batch of rows. Who does not say from where on is answered when it
 * is known where that is: what is asked after the 200 is told. */
#include "base/clock.h"
#include "dialect/dialect.h"
#include "door/app.h"
#include "run/tidings.h"

#define BATCH        50
#define HEARTBEAT_MS 15000
#define PLACE_MAX    48

struct inbox {
    struct source     source;
    struct conn_hold  hold;
    struct conn      *conn; /* until it is answered */
    struct watcher    watcher;
    struct store_list list;
    struct app       *app;
    struct arena      arena; /* who looks */
    struct principal  who;
    bool              all;
    char              place[PLACE_MAX];
    struct buf        out; /* told, not taken yet */
    size_t            taken;
    bool              busy, again, gone;
};

static void look(struct inbox *k);

static void inbox_free(struct inbox *k)
{
    tidings_unwatch(&k->watcher);
    buf_done(&k->out);
    arena_done(&k->arena);
    mem_free(k);
}

static void keep_place(struct inbox *k, struct str place)
{
    if (place.ptr && place.len < PLACE_MAX) {
        memcpy(k->place, place.ptr, place.len);
        k->place[place.len] = '\0';
    }
}

static void write_event(struct inbox *k, const struct store_row *row)
{
    char       time[CLOCK_RFC3339_LEN + 1];
    struct buf body;
    buf_init(&body, 0);
    if (approval_show_event(&body, k->app, row, &k->who, k->all, row->created_ms)) {
        clock_rfc3339(row->created_ms, time);
        buf_printf(&k->out,
                   "id: " STR_FMT "\nevent: " STR_FMT "\ndata: {\"event\":\"" STR_FMT
                   "\",\"at\":\"%s\",\"approval\":" STR_FMT "}\n\n",
                   STR_ARG(row->place), STR_ARG(row->event.kind), STR_ARG(row->event.kind), time,
                   STR_ARG(buf_view(&body)));
    }
    if (body.err) k->out.err = body.err;
    buf_done(&body);
}

static void on_rows(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct inbox *k = LIST_ITEM(l, struct inbox, list);
    k->busy = false;
    if (k->gone) {
        inbox_free(k);
        return;
    }
    for (size_t i = 0; !e && i < count; i++) write_event(k, &rows[i]);
    if (!e) keep_place(k, next);
    k->again |= !e && count == BATCH;
    source_wake(&k->source);
}

static void ask(struct inbox *k, enum store_list_kind kind,
                void (*done)(struct store_list *, enum err, const struct store_row *, size_t,
                             struct str))
{
    k->busy = true;
    k->list = (struct store_list){ .kind = kind,
                                   .everybody = true,
                                   .before = k->place[0] ? str_c(k->place) : STR_NONE,
                                   .limit = BATCH,
                                   .done = done };
    hub_list(k->app->hub, &k->list);
}

static void look(struct inbox *k)
{
    k->again = k->busy || k->out.len > k->taken; /* then when this is read */
    if (!k->again) ask(k, STORE_EVENTS, on_rows);
}

static void wake(struct watcher *w)
{
    look(LIST_ITEM(w, struct inbox, watcher));
}

static enum pull pull(struct source *s, struct buf *out, size_t room)
{
    struct inbox *k = LIST_ITEM(s, struct inbox, source);
    size_t        left = k->out.len - k->taken, n = left < room ? left : room;
    if (k->out.err || hub_draining(k->app->hub)) return PULL_END;
    buf_add(out, k->out.ptr + k->taken, n);
    k->taken += n;
    if (n < left) return PULL_MORE;
    buf_clear(&k->out);
    k->taken = 0;
    if (k->again && !k->busy) look(k);
    return PULL_WAIT;
}

static void gone(struct source *s)
{
    struct inbox *k = LIST_ITEM(s, struct inbox, source);
    k->gone = true;
    if (!k->busy) inbox_free(k);
}

static void begin(struct inbox *k, struct conn *c)
{
    k->conn = NULL;
    tidings_watch(hub_setup(k->app->hub)->tidings, &k->watcher);
    conn_stream(c, 200, "text/event-stream", &k->source, HEARTBEAT_MS);
    look(k);
}

static void on_head(struct store_list *l, enum err e, const struct store_row *rows, size_t count,
                    struct str next)
{
    struct inbox *k = LIST_ITEM(l, struct inbox, list);
    struct conn  *c = k->conn;
    (void)rows, (void)count;
    k->busy = false;
    keep_place(k, next);
    if (c && !e) {
        begin(k, c);
        return;
    }
    if (c)
        conn_error(c, 503, "store_unavailable",
                   "The store cannot be read at the moment. Try again in a moment.");
    inbox_free(k);
}

static void on_left(struct conn_hold *h)
{
    LIST_ITEM(h, struct inbox, hold)->conn = NULL;
}

static struct inbox *inbox_new(struct app *a, struct request *q, struct str after)
{
    struct inbox *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    arena_init(&k->arena, 0);
    buf_init(&k->out, 4 << 20);
    k->app = a;
    k->source = (struct source){ .pull = pull, .gone = gone };
    k->watcher.wake = wake;
    k->who = principal_copy(&k->arena, q->principal);
    k->all = approvals_all(a, q);
    if (after.len && !str_is(after, "0")) keep_place(k, after);
    buf_lit(&k->out, ": here\n\n");
    if (!k->arena.failed && !k->out.err) return k;
    inbox_free(k);
    return NULL;
}

void door_inbox(struct server *s, struct request *q)
{
    struct app *a = app_of(s);
    uint64_t    tx, num;
    struct str  after = request_query(q, "after"), last = request_header(q, "last-event-id");
    /* what a reconnecting browser has seen beats the address it started with */
    if (last.len) after = last;
    if (after.len && !str_is(after, "0") && !place_parse(after, &tx, &num)) {
        conn_error(q->conn, 422, "bad_place", "\"after\" must be the id of one of these events.");
        return;
    }
    struct inbox *k = inbox_new(a, q, after);
    if (!k) {
        conn_error(q->conn, 503, "out_of_memory",
                   "The server is out of memory; try again in a moment.");
        return;
    }
    if (after.ptr) {
        begin(k, q->conn);
        return;
    }
    k->conn = q->conn;
    k->hold.cancelled = on_left;
    conn_hold(q->conn, &k->hold);
    ask(k, STORE_EVENT_HEAD, on_head);
}
