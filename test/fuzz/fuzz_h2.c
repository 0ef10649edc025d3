/* fuzz_h2.c -- frames of an HTTP/2 client, cut anywhere, against a connection without a socket.
 *
 * The first byte is the seed of the cuts, the second how often the server's own turn comes between
 * them; what follows are frames, as they stand behind the preface. Requests are answered at once,
 * later, by a stream, with what was sent, or are held by the guard.
 *   - what goes out is frames, none longer than agreed;
 *   - nobody who waits is forgotten: each is told once, by an answer or by its end;
 *   - when the connection is over nothing is left of it.
 */
#include <stdlib.h>

#include "fuzz_cut.h"
#include "http/conn_int.h"

#define PREFACE   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define ROOM      (64 * 1024)
#define FRAME_MAX (16 * 1024)
#define HEAD      9

static struct loop    loop;
static struct server *server;
static struct conn   *carrier;
static struct list    waiting; /* requests that are answered later */
static unsigned       open_streams;

static void require(bool ok)
{
    if (!ok) abort();
}

/* --- what it is asked ------------------------------------------------------------------------- */

struct later {
    struct conn_hold hold;
    struct conn     *conn;
    struct list      node;
    bool             guard;
};

static void on_left(struct conn_hold *h)
{
    struct later *k = LIST_ITEM(h, struct later, hold);
    list_remove(&k->node);
    free(k);
}

static void wait_with(struct conn *c, bool guard)
{
    struct later *k = calloc(1, sizeof *k);
    *k = (struct later){ .hold.cancelled = on_left, .conn = c, .guard = guard };
    list_add(&waiting, &k->node);
    conn_hold(c, &k->hold);
}

static bool let_in; /* every other time */

static bool guard(struct server *s, struct request *q)
{
    (void)s;
    if (!str_is(q->path, "/guarded") || (let_in = !let_in)) return true;
    wait_with(q->conn, true);
    return false;
}

static void answer_later(struct server *s, struct request *q)
{
    (void)s;
    wait_with(q->conn, false);
}

static void answer_now(struct server *s, struct request *q)
{
    (void)s;
    conn_reply(q->conn, 200, "text/plain", STR("yes"));
}

static void answer_same(struct server *s, struct request *q)
{
    (void)s;
    conn_reply(q->conn, 200, "text/plain", q->body);
}

static void answer_long(struct server *s, struct request *q)
{
    static char text[200 * 1024];
    (void)s;
    memset(text, 'x', sizeof text);
    conn_reply(q->conn, 200, "text/plain", str_n(text, sizeof text));
}

struct told {
    struct source source;
    unsigned      left;
};

static enum pull tell(struct source *s, struct buf *out, size_t room)
{
    struct told *k = LIST_ITEM(s, struct told, source);
    require(room >= 4096);
    buf_lit(out, "data: word\n\n");
    return --k->left ? PULL_MORE : PULL_END;
}

static void told_all(struct source *s)
{
    open_streams--;
    free(LIST_ITEM(s, struct told, source));
}

static void answer_stream(struct server *s, struct request *q)
{
    struct told *k = calloc(1, sizeof *k);
    (void)s;
    *k = (struct told){ .source = { .pull = tell, .gone = told_all }, .left = 40 };
    open_streams++;
    conn_stream(q->conn, 200, "text/event-stream", &k->source, 0);
}

static const struct route ROUTES[] = { { "GET", "/", answer_now },
                                       { "POST", "/same", answer_same },
                                       { "GET", "/long", answer_long },
                                       { "GET", "/later", answer_later },
                                       { "POST", "/guarded", answer_same },
                                       { "GET", "/stream", answer_stream },
                                       { NULL } };

/* --- its turns ---------------------------------------------------------------------------------- */

static struct buf out;      /* all that went out and was not looked at yet */
static bool       answered; /* later ones, in this turn */

static void look_at_frames(void)
{
    size_t at = 0;
    if (!out.len) return;
    while (out.len - at >= HEAD) {
        const unsigned char *h = (const unsigned char *)out.ptr + at;
        size_t               len = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
        require(len <= FRAME_MAX && h[3] <= 9);
        if (out.len - at < HEAD + len) break;
        at += HEAD + len;
    }
    memmove(out.ptr, out.ptr + at, out.len - at);
    buf_truncate(&out, out.len - at);
}

static void answer_one(void)
{
    struct later *k = list_empty(&waiting) ? NULL : LIST_ITEM(waiting.next, struct later, node);
    if (!k) return;
    struct conn *c = k->conn;
    bool         again = k->guard;
    list_remove(&k->node);
    free(k);
    if (again) conn_again(c);
    else conn_reply(c, 200, "text/plain", STR("at last"));
    answered = true;
}

static void flush_carrier(void)
{
    struct buf piece;
    h2_bury(carrier);
    if (carrier->doomed) return;
    buf_init(&piece, 0);
    (void)h2_pull(carrier, &piece, ROOM);
    buf_str(&out, buf_view(&piece));
    buf_done(&piece);
    look_at_frames();
}

static void turn(void)
{
    answer_one();
    for (int pass = 0; pass < 8 && !list_empty(&loop.dirty); pass++) {
        struct list now;
        list_init(&now);
        list_take(&now, &loop.dirty);
        while (!list_empty(&now)) {
            struct loop_dirty *d = LIST_ITEM(now.next, struct loop_dirty, node);
            list_remove(&d->node);
            if (d == &carrier->dirty) flush_carrier();
            else d->flush(d);
        }
    }
}

/* --- its life ------------------------------------------------------------------------------------ */

static void begin(void)
{
    static bool         made;
    struct arena        a;
    struct str          why;
    struct server_setup setup = { .loop = &loop,
                                  .limits = { .head_max = 4096,
                                              .body_max = 20000,
                                              .bodies_max = 100000,
                                              .answers_max = 1 << 20,
                                              .message_max = 1000,
                                              .head_ms = 1000,
                                              .body_ms = 1000,
                                              .idle_ms = 1000,
                                              .write_ms = 1000,
                                              .ping_ms = 1000,
                                              .connections = 1000,
                                              .per_address = 1000 },
                                  .routes = ROUTES,
                                  .guard = guard };
    if (!made) {
        arena_init(&a, 0);
        list_init(&waiting);
        require(loop_init(&loop) == OK &&
                server_start(&setup, STR("127.0.0.1"), 0, &server, &why, &a) == OK);
        arena_done(&a);
        made = true;
    }
    require((carrier = conn_new(server)) != NULL);
    carrier->loopback = carrier->shaken = true;
    let_in = false;
    buf_init(&out, 0);
    h2_begin(carrier);
    h2_read(carrier, PREFACE, sizeof PREFACE - 1);
}

static void end(void)
{
    h2_end(carrier);
    require(list_empty(&waiting) && open_streams == 0 && server->bodies == 0);
    list_remove(&carrier->idle);
    list_remove(&carrier->wheel);
    loop_undirty(&carrier->dirty);
    require(list_empty(&loop.dirty));
    h2_free(carrier);
    buf_done(&carrier->out);
    mem_free(carrier);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    unsigned   seed = data[0], every = 1 + data[1] % 8, n = 0;
    struct str bytes = str_n((const char *)data + 2, size - 2);
    begin();
    turn();
    while (bytes.len && !carrier->doomed && !h2_over(carrier)) {
        size_t len = fuzz_cut(&seed, bytes.len);
        char  *copy = malloc(len); /* so that a byte too far is noticed */
        memcpy(copy, bytes.ptr, len);
        h2_read(carrier, copy, len);
        free(copy);
        bytes = str_from(bytes, len);
        if (++n % every == 0) turn();
    }
    do {
        answered = false;
        turn();
    } while (answered && !carrier->doomed);
    end();
    return 0;
}
