/* The cut: items that do not fit come out the same wherever they are cut, as bytes and as texts of
 * a WebSocket, kept or encoded again; what is left out leaves nothing behind. */
#include "dialect/dialect.h"
#include "dialect/held.h"
#include "http/conn_int.h"
#include "tale.h"

#define ROOM 65536

static struct wsock  wsock;
static struct conn   conn = { .wsock = &wsock };
static struct source source = { .conn = &conn };

static void frame_begin(struct encoder *e, bool with_id)
{
    (void)with_id;
    buf_printf(e->out, "%llu ", (unsigned long long)e->events);
}
static void frame_end(struct encoder *e)
{
    (void)e;
}
static void frame_raw(struct encoder *e, struct str text)
{
    buf_str(e->out, text);
}
static void frame_put(struct encoder *e, struct buf *out, struct str piece, bool first, bool last)
{
    (void)e;
    ws_frame_part(&source, out, piece, first, last);
}
static const struct carrier FRAMES = { .around = 20,
                                       .head = WS_FRAME_HEAD,
                                       .begin = frame_begin,
                                       .end = frame_end,
                                       .raw = frame_raw,
                                       .put = frame_put };

/* The texts of the frames in `wire`, each with a line end. */
static void read_texts(struct buf *texts, const struct buf *wire)
{
    for (size_t at = 0; at < wire->len;) {
        const unsigned char *p = (const unsigned char *)wire->ptr + at;
        size_t               n = p[1], head = 2;
        REQUIRE(n != 127);
        if (n == 126) {
            n = (size_t)p[2] << 8 | p[3];
            head = 4;
        }
        buf_add(texts, wire->ptr + at + head, n);
        if (p[0] & 0x80) buf_chr(texts, '\n');
        at += head + n;
    }
}

/* A fact with a large event between small ones. */
static void a_tale(struct tale *t, const char *output)
{
    tale_init(t);
    tale_message(t, "run_1", "hello");
    tale_step(t, "run_1", "calls", 1, call("call-1", "x", "{}", GATE_FREE));
    tale_started(t, "call-1");
    tale_finished(t, "call-1", WORD_DONE, output);
    tale_ended(t, "run_1", WORD_COMPLETE);
}

static enum encoded tell(struct buf *wire, struct tale *t, struct encoder *e, size_t room)
{
    enum encoded r = ENCODED_ITEM;
    for (int guard = 0; guard < 100000 && (r == ENCODED_ITEM || r == ENCODED_CUT); guard++) {
        size_t before = wire->len;
        r = encode_into(e, &t->thread, wire, room);
        CHECK(wire->len <= before + room);
    }
    return r;
}

static void texts_of(struct buf *out, struct tale *t, size_t room)
{
    struct buf     wire = { 0 };
    struct encoder e;
    encoder_start(&e, &dialect_aisdk, &FRAMES, NULL, &t->thread,
                  &(struct stream_start){ .mode = STREAM_THREAD, .native = true });
    CHECK(tell(&wire, t, &e, room) == ENCODED_NOTHING);
    CHECK(!encoder_is_cut(&e) && !e.cut.held && !wsock.mid_text);
    read_texts(out, &wire);
    buf_done(&wire);
}

static struct held *nobody_keeps(void)
{
    char        *big = mem_alloc(HELD_MAX);
    struct held *h = big ? held_take(str_n(big, HELD_MAX - 100), NULL, 0, 0) : NULL;
    mem_free(big);
    REQUIRE(h);
    return h;
}

TEST(texts_come_out_the_same_wherever_they_are_cut_kept_or_encoded_again)
{
    char        output[700];
    struct tale t;
    struct buf  want = { 0 };
    memset(output, 'y', sizeof output - 1);
    output[sizeof output - 1] = 0;
    a_tale(&t, output);
    texts_of(&want, &t, ROOM);
    REQUIRE(str_find(buf_view(&want), STR("tool-output-available")) > 0);
    for (int again = 0; again < 2; again++) {
        struct held *full = again ? nobody_keeps() : NULL;
        for (size_t room = 11; room < 1000; room += 3) {
            struct buf got = { 0 };
            texts_of(&got, &t, room);
            CHECK(str_eq(buf_view(&got), buf_view(&want)));
            buf_done(&got);
        }
        held_free(full);
    }
    buf_done(&want);
    tale_done(&t);
}

/* Encoded once: while the rest of it is kept, others use the scratch. */
TEST(a_kept_item_goes_on_while_another_stream_speaks)
{
    char           output[700];
    struct tale    t;
    struct buf     one = { 0 }, other = { 0 }, want = { 0 };
    struct encoder a, b;
    enum encoded   r = ENCODED_ITEM;
    memset(output, 'y', sizeof output - 1);
    output[sizeof output - 1] = 0;
    a_tale(&t, output);
    struct carrier any = carrier_sse;
    any.need = 0;
    struct stream_start s = { .mode = STREAM_THREAD };
    encoder_start(&b, &dialect_typed, &any, NULL, &t.thread, &s);
    tell(&want, &t, &b, ROOM);
    encoder_start(&a, &dialect_typed, &any, NULL, &t.thread, &s);
    for (int guard = 0; guard < 10000 && r != ENCODED_NOTHING; guard++) {
        r = encode_into(&a, &t.thread, &one, 13);
        encoder_start(&b, &dialect_aisdk, &any, NULL, &t.thread, &s);
        (void)encode_into(&b, &t.thread, &other, ROOM);
    }
    CHECK(str_eq(buf_view(&one), buf_view(&want)));
    buf_done(&one);
    buf_done(&other);
    buf_done(&want);
    tale_done(&t);
}

/* What all keep together has an end; beyond it nothing is kept, and nothing breaks. */
TEST(what_connections_keep_is_bounded_for_all_of_them_together)
{
    char        *big = mem_alloc(8 << 20);
    struct held *h[9];
    int          kept = 0;
    REQUIRE(big);
    for (int i = 0; i < 9; i++) kept += (h[i] = held_take(str_n(big, 8 << 20), NULL, 0, i)) != NULL;
    CHECK(kept == 7);
    for (int i = 0; i < 9; i++) held_free(h[i]);
    struct held *again = held_take(str_n(big, 8 << 20), NULL, 0, 0);
    CHECK(again);
    held_free(again);
    mem_free(big);
}

/* Half a text is out and the log is another one now: nothing of the wrong text is sent on. */
TEST(an_item_that_is_not_the_same_any_more_is_not_sent_on)
{
    char         output[700];
    struct tale  t, u;
    struct buf   wire = { 0 };
    struct held *full = nobody_keeps();
    memset(output, 'y', sizeof output - 1);
    output[sizeof output - 1] = 0;
    a_tale(&t, output);
    a_tale(&u, "short");
    struct encoder e;
    encoder_start(&e, &dialect_aisdk, &FRAMES, NULL, &t.thread,
                  &(struct stream_start){ .mode = STREAM_THREAD, .native = true });
    enum encoded r = ENCODED_ITEM;
    for (int guard = 0; guard < 1000 && !(r == ENCODED_CUT && e.cut.sent > 200); guard++)
        r = encode_into(&e, &t.thread, &wire, 300);
    REQUIRE(encoder_is_cut(&e));
    size_t so_far = wire.len;
    CHECK(encode_into(&e, &u.thread, &wire, 300) == ENCODED_FAILED && wire.len == so_far);
    wsock.mid_text = false;
    held_free(full);
    buf_done(&wire);
    tale_done(&t);
    tale_done(&u);
}

TEST(a_report_that_is_left_out_leaves_no_text_behind)
{
    struct tale    t;
    struct encoder e;
    struct buf     wire = { 0 }, data = { 0 }, texts = { 0 };
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "x", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    encoder_start(&e, &dialect_aisdk, &FRAMES, NULL, &t.thread,
                  &(struct stream_start){ .mode = STREAM_THREAD });
    CHECK(tell(&wire, &t, &e, ROOM) == ENCODED_NOTHING);
    uint64_t     events = e.events;
    struct call *c = fold_call(&t.thread.fold, STR("call-1"));
    buf_chr(&data, '"');
    for (size_t i = 0; i < ROOM; i++) buf_chr(&data, 'x');
    buf_chr(&data, '"');
    c->progress_data = buf_view(&data);
    c->progress_no = ++t.thread.progress_no;
    buf_clear(&wire);
    CHECK(encode_into(&e, &t.thread, &wire, ROOM) == ENCODED_NOTHING);
    CHECK(wire.len == 0 && e.events == events && !encoder_is_cut(&e));
    c->progress_data = STR("1");
    c->progress_no = ++t.thread.progress_no;
    CHECK(encode_into(&e, &t.thread, &wire, ROOM) == ENCODED_ITEM && e.events == events + 1);
    read_texts(&texts, &wire);
    CHECK(str_find(buf_view(&texts), STR("\"data\":1")) > 0);
    buf_done(&wire);
    buf_done(&data);
    buf_done(&texts);
    tale_done(&t);
}
