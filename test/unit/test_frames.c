/* Items as WebSocket texts: cut anywhere they come out as the same texts, what is taken back leaves
 * nothing behind, and an item that is not the same any more is not sent on. */
#include "dialect/dialect.h"
#include "http/conn_int.h"
#include "http/frames.h"
#include "tale.h"

#define ROOM 65536

static struct wsock  wsock;
static struct conn   conn = { .wsock = &wsock };
static struct source source = { .conn = &conn };

static void frame_begin(struct encoder *e, bool with_id)
{
    (void)e;
    (void)with_id;
}
static void frame_end(struct encoder *e)
{
    (void)e;
    frames_mark();
}
static void frame_raw(struct encoder *e, struct str text)
{
    buf_str(e->out, text);
    frames_mark();
}
static void frame_left_out(struct encoder *e)
{
    (void)e;
    frames_drop();
}
static const struct framing FRAMING = { frame_begin, frame_end, frame_raw, frame_left_out };

static void text(struct buf *item, size_t len, char c)
{
    for (size_t i = 0; i < len; i++) buf_chr(item, c);
    frames_mark();
}

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

/* Encoded once: while the rest of it is kept, others use the scratch. */
TEST(a_kept_item_goes_on_where_it_was_cut_without_being_encoded_again)
{
    struct frames_cut cut = { 0 };
    struct buf        wire = { 0 }, got = { 0 };
    struct buf       *item = frames_begin();
    int               then = 0;
    text(item, 20, 'a');
    text(item, 300, 'b');
    CHECK(!frames_send(&source, &wire, 64, &cut));
    REQUIRE(frames_keep(&cut, 7) && frames_held(&cut) == 2);
    text(frames_begin(), 50, 'z');
    for (int guard = 0; cut.held && guard < 100; guard++)
        (void)frames_go_on(&source, &wire, wire.len + 64, &cut, &then);
    CHECK(then == 7 && !cut.sent && !cut.held && !wsock.mid_text);
    read_texts(&got, &wire);
    CHECK(got.len == 322 && got.ptr[20] == '\n' && got.ptr[321] == '\n' &&
          !memchr(got.ptr, 'z', got.len));
    buf_done(&wire);
    buf_done(&got);
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

TEST(texts_come_out_the_same_wherever_they_are_cut)
{
    struct buf want = { 0 };
    for (size_t i = 0; i < 300; i++)
        buf_chr(&want, i == 99 || i == 102 ? '\n' : i < 99 ? 'a' : i < 102 ? 'b' : 'c');
    buf_chr(&want, '\n');
    for (size_t room = 11; room < 340; room++) {
        struct frames_cut cut = { 0 };
        struct buf        wire = { 0 }, got = { 0 };
        bool              whole = false;
        for (int guard = 0; !whole && guard < 1000; guard++) {
            struct buf *item = frames_begin();
            text(item, 99, 'a');
            text(item, 2, 'b');
            text(item, 197, 'c');
            size_t end = wire.len + room;
            whole = frames_send(&source, &wire, end, &cut);
            CHECK(wire.len <= end);
        }
        CHECK(whole && !cut.sent && !wsock.mid_text);
        read_texts(&got, &wire);
        CHECK(str_eq(buf_view(&got), buf_view(&want)));
        buf_done(&got);
        buf_done(&wire);
    }
    buf_done(&want);
}

/* Better no bytes, and the connection ends as stuck, than the head of one message with the tail of
 * another. */
TEST(an_item_that_is_not_the_same_any_more_is_not_sent_on)
{
    for (size_t len = 0; len < 400; len++) {
        struct frames_cut cut = { 0 };
        struct buf        wire = { 0 };
        text(frames_begin(), 300, 'a');
        CHECK(!frames_send(&source, &wire, 100, &cut) && cut.sent);
        size_t      so_far = wire.len;
        struct buf *item = frames_begin();
        if (len) text(item, len, 'b');
        bool sent = frames_send(&source, &wire, 1000, &cut);
        CHECK(sent == (len == 300) && (sent || wire.len == so_far));
        wsock.mid_text = false;
        buf_done(&wire);
    }
}

TEST(a_report_that_is_left_out_leaves_no_text_behind)
{
    struct tale       t;
    struct encoder    e = { .d = &dialect_aisdk, .mode = STREAM_THREAD, .framing = &FRAMING };
    struct frames_cut cut = { 0 };
    struct buf        wire = { 0 }, data = { 0 };
    tale_init(&t);
    tale_message(&t, "run_1", "hello");
    tale_step(&t, "run_1", "calls", 1, call("call-1", "x", "{}", GATE_FREE));
    tale_started(&t, "call-1");
    while (encode_next(&e, &t.thread, frames_begin(), ROOM) == ENCODED_ITEM) {}
    struct call *c = fold_call(&t.thread.fold, STR("call-1"));
    buf_chr(&data, '"');
    for (size_t i = 0; i < ROOM; i++) buf_chr(&data, 'x');
    buf_chr(&data, '"');
    c->progress_data = buf_view(&data);
    c->progress_no = ++t.thread.progress_no;
    struct buf *item = frames_begin();
    CHECK(encode_next(&e, &t.thread, item, ROOM) == ENCODED_NOTHING);
    CHECK(item->len == 0 && frames_count() == 0);
    text(item, 300, 'z'); /* what follows it in the same item */
    CHECK(frames_count() == 1 && frames_send(&source, &wire, 2 * ROOM, &cut));
    CHECK(wire.len == 304 && !memchr(wire.ptr, 'x', wire.len));
    c->progress_data = STR("1");
    c->progress_no = ++t.thread.progress_no;
    item = frames_begin();
    CHECK(encode_next(&e, &t.thread, item, ROOM) == ENCODED_ITEM && frames_count() == 1);
    buf_done(&wire);
    buf_done(&data);
    tale_done(&t);
}
