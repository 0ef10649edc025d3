/* test_ws.c -- the WebSocket codec, by the families of RFC 6455: framing, control
 * frames, reserved bits, opcodes, fragmentation, UTF-8, close codes, limits,
 * handshake. Every stream is fed whole, byte by byte and in two pieces at every
 * place, with the same events. */
#include "base/arena.h"
#include "http/http1.h"
#include "http/ws.h"
#include "net_peer.h"

#define MESSAGE_MAX 100000

/* --- making frames ----------------------------------------------------------------- */

static struct buf wire;

static void frame_of(unsigned first, const char *payload, size_t len, size_t length_bytes)
{
    static const char key[4] = "\x37\xfa\x21\x3d";

    buf_chr(&wire, (char)first);
    buf_chr(&wire, (char)(0x80 | (length_bytes == 8 ? 127 : length_bytes == 2 ? 126 : len)));
    for (size_t i = 0; i < length_bytes; i++)
        buf_chr(&wire, (char)((uint64_t)len >> 8 * (length_bytes - 1 - i)));
    buf_add(&wire, key, 4);
    for (size_t i = 0; i < len; i++) buf_chr(&wire, (char)(payload[i] ^ key[i & 3]));
}

static void frame(unsigned first, const char *payload, size_t len)
{
    frame_of(first, payload, len, len < 126 ? 0 : len < 65536 ? 2 : 8);
}

#define FRAME(first, lit) frame((first), (lit), sizeof(lit) - 1)
enum {
    TEXT = 0x81,
    BINARY = 0x82,
    CLOSE = 0x88,
    PING = 0x89,
    PONG = 0x8a,
    TEXT_BEGIN = 0x01,
    BINARY_BEGIN = 0x02,
    MORE = 0x00,
    LAST = 0x80
};

/* --- what comes out ------------------------------------------------------------------ */

static void describe(struct buf *out, const struct ws *w, enum ws_event event, struct str data)
{
    static const char *const names[] = {
        "more", "text", "binary", "ping", "pong", "close", "fail"
    };

    buf_printf(out, "[%s", names[event]);
    if (event == WS_CLOSE || event == WS_FAIL) buf_printf(out, " %u", w->code);
    else if (data.len > 200) buf_printf(out, " %zu bytes", data.len);
    else {
        buf_chr(out, ' ');
        buf_str(out, data);
    }
    buf_chr(out, ']');
}

static bool feed_piece(struct ws *w, struct str piece, struct buf *out)
{
    /* it is unmasked in place */
    char         *copy = mem_alloc(piece.len), *at = copy;
    enum ws_event event = WS_MORE;
    struct str    data = STR("");

    if (piece.len) memcpy(copy, piece.ptr, piece.len);
    while ((event = ws_feed(w, &at, copy + piece.len, &data)) != WS_MORE) {
        describe(out, w, event, data);
        if (event == WS_CLOSE || event == WS_FAIL) break;
    }
    CHECK(event != WS_MORE || at == copy + piece.len);
    mem_free(copy);
    return event == WS_MORE;
}

static void feed_split(struct str bytes, size_t first, size_t step, struct buf *out)
{
    struct ws w;

    ws_init(&w, MESSAGE_MAX);
    bool on = feed_piece(&w, str_cut(bytes, first), out);
    for (struct str rest = str_from(bytes, first); on && rest.len; rest = str_from(rest, step))
        on = feed_piece(&w, str_cut(rest, step), out);
    if (on) CHECK(w.message.ptr == NULL || w.kind); /* between messages it owns nothing */
    ws_done(&w);
}

static struct str events(void)
{
    static struct buf whole, split;
    size_t            stride = wire.len > 2000 ? 1009 : 1;

    buf_clear(&whole);
    feed_split(buf_view(&wire), wire.len, 1, &whole);
    for (size_t at = 0; at <= wire.len; at += stride) {
        buf_clear(&split);
        feed_split(buf_view(&wire), at, wire.len, &split);
        if (str_eq(buf_view(&whole), buf_view(&split))) continue;
        printf("    split at %zu: " STR_FMT "\n", at, STR_ARG(buf_view(&split)));
        CHECK(!"the split changed the events");
        break;
    }
    buf_clear(&split);
    feed_split(buf_view(&wire), 0, 1, &split);
    CHECK(str_eq(buf_view(&whole), buf_view(&split)));
    buf_clear(&wire);
    return buf_view(&whole);
}

#define EVENTS(want) CHECK_STR(events(), want)

/* --- framing --------------------------------------------------------------------------- */

TEST(messages_of_every_length_form_come_out_whole)
{
    static const size_t sizes[] = { 0,   1,   3,   4,   7,   8,     9,     124,  125,
                                    126, 127, 128, 255, 256, 65535, 65536, 65537 };
    static char         text[70000];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char want[100];
        frame(TEXT, text, sizes[i]);
        frame(BINARY, text, sizes[i]);
        if (sizes[i] > 200) {
            snprintf(want, sizeof want, "[text %zu bytes][binary %zu bytes]", sizes[i], sizes[i]);
            EVENTS(want);
        } else {
            struct str got = events();
            CHECK(got.len == 7 + sizes[i] + 9 + sizes[i]);
        }
    }
}

TEST(unmasking_is_right_at_every_length_and_offset)
{
    const uint8_t key[4] = { 0x12, 0x34, 0x56, 0x78 };
    uint32_t      half;

    memcpy(&half, key, 4);
    for (size_t start = 0; start < 9; start++)
        for (size_t n = 0; n < 70; n++) {
            char     bytes[80] = { 0 };
            uint64_t mask = ws_unmask(bytes, start, (uint64_t)half << 32 | half);
            ws_unmask(bytes + start, n, mask);
            for (size_t i = 0; i < start + n; i++) CHECK((uint8_t)bytes[i] == key[i & 3]);
            CHECK(bytes[start + n] == 0);
        }
}

TEST(a_frame_without_a_mask_fails)
{
    buf_add(&wire, "\x81\x02hi", 4);
    EVENTS("[fail 1002]");
}

TEST(a_length_must_be_in_its_shortest_form)
{
    frame_of(TEXT, "hello", 5, 2);
    EVENTS("[fail 1002]");
    frame_of(TEXT, "hello", 5, 8);
    EVENTS("[fail 1002]");
    char text[1000] = { 0 };
    frame_of(BINARY, text, sizeof text, 8);
    EVENTS("[fail 1002]");
    /* the highest bit of the length */
    buf_add(&wire, "\x82\xff\x80\0\0\0\0\0\0\x01\0\0\0\0", 14);
    EVENTS("[fail 1002]");
}

TEST(reserved_bits_fail)
{
    for (unsigned bits = 0x10; bits <= 0x70; bits += 0x10) {
        FRAME(TEXT | bits, "hello");
        EVENTS("[fail 1002]");
        FRAME(PING | bits, "hello");
        EVENTS("[fail 1002]");
    }
}

TEST(unknown_opcodes_fail)
{
    for (unsigned op = 3; op < 16; op++) {
        if (op >= 8 && op <= 10) continue;
        FRAME(0x80 | op, "");
        EVENTS("[fail 1002]");
        FRAME(TEXT, "before");
        FRAME(0x80 | op, "x");
        EVENTS("[text before][fail 1002]");
    }
}

/* --- control frames ----------------------------------------------------------------------- */

TEST(pings_and_pongs_carry_up_to_125_bytes)
{
    char text[126];
    memset(text, 'p', sizeof text);
    FRAME(PING, "");
    FRAME(PING, "hello");
    FRAME(PONG, "\x01\xff");
    EVENTS("[ping ][ping hello][pong \x01\xff]");
    frame(PING, text, 125);
    CHECK(events().len == 125 + 7);
    frame(PING, text, 126);
    EVENTS("[fail 1002]");
    frame(PONG, text, 126);
    EVENTS("[fail 1002]");
    frame(CLOSE, text, 126);
    EVENTS("[fail 1002]");
}

TEST(control_frames_may_not_be_fragmented)
{
    FRAME(PING & 0x0f, "x");
    EVENTS("[fail 1002]");
    FRAME(PONG & 0x0f, "x");
    EVENTS("[fail 1002]");
    FRAME(CLOSE & 0x0f, "\x03\xe8");
    EVENTS("[fail 1002]");
}

TEST(control_frames_come_through_between_fragments)
{
    FRAME(TEXT_BEGIN, "a");
    FRAME(PING, "1");
    FRAME(MORE, "b");
    FRAME(PONG, "2");
    FRAME(PING, "3");
    FRAME(LAST, "c");
    EVENTS("[ping 1][pong 2][ping 3][text abc]");
}

/* --- fragmentation --------------------------------------------------------------------------- */

TEST(fragments_are_joined)
{
    FRAME(TEXT_BEGIN, "one ");
    FRAME(MORE, "two ");
    FRAME(MORE, "");
    FRAME(LAST, "three");
    FRAME(BINARY_BEGIN, "x");
    FRAME(LAST, "");
    FRAME(TEXT_BEGIN, "");
    FRAME(MORE, "");
    FRAME(LAST, "");
    FRAME(TEXT, "whole");
    EVENTS("[text one two three][binary x][text ][text whole]");
}

TEST(a_continuation_needs_a_beginning)
{
    FRAME(LAST, "x");
    EVENTS("[fail 1002]");
    FRAME(MORE, "x");
    EVENTS("[fail 1002]");
    FRAME(TEXT, "whole");
    FRAME(LAST, "x");
    EVENTS("[text whole][fail 1002]");
}

TEST(a_new_message_may_not_begin_inside_another)
{
    FRAME(TEXT_BEGIN, "x");
    FRAME(TEXT, "y");
    EVENTS("[fail 1002]");
    FRAME(TEXT_BEGIN, "x");
    FRAME(BINARY_BEGIN, "y");
    EVENTS("[fail 1002]");
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

static const char *const good_utf8[] = {
    "Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!",
    "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5",
    "\x7f",
    "\xc2\x80",
    "\xdf\xbf",
    "\xe0\xa0\x80",
    "\xed\x9f\xbf",
    "\xee\x80\x80",
    "\xef\xbf\xbd",
    "\xef\xbf\xbf",
    "\xf0\x90\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "12345678\xe8\x8a\xb1",
    "1234567\xe8\x8a\xb1--345678901234567890",
    "\xf0\x9f\xa6\x84",
};
/* The valid beginning and the first byte that cannot follow it. */
static const struct {
    const char *start, *wrong;
} bad_utf8[] = {
    { "", "\x80" },
    { "", "\xbf" },
    { "", "\xc0" },
    { "", "\xc1" },
    { "", "\xf5" },
    { "", "\xfe" },
    { "", "\xff" },
    { "\xc2", "A" },
    { "\xc2", "\xc2" },
    { "\xe0", "\x9f" },
    { "\xe0\xa0", "A" },
    { "\xed", "\xa0" },
    { "\xed", "\xbf" },
    { "\xe4\xbd", "\xe5" },
    { "\xf0", "\x8f" },
    { "\xf0\x90", "\x00" },
    { "\xf0\x90\x80", "a" },
    { "\xf4", "\x90" },
    { "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4", "\x90" },
    { "12345678", "\x80" },
    { "1234567\xc3\xa4", "\x80" },
};

TEST(valid_text_is_taken_in_one_frame_and_in_a_frame_per_byte)
{
    for (size_t i = 0; i < sizeof good_utf8 / sizeof *good_utf8; i++) {
        const char *s = good_utf8[i];
        size_t      n = strlen(s);
        char        want[100];
        snprintf(want, sizeof want, "[text %s]", s);
        frame(TEXT, s, n);
        EVENTS(want);
        frame(TEXT_BEGIN, s, 1);
        for (size_t k = 1; k < n; k++) frame(MORE, s + k, 1);
        frame(LAST, "", 0);
        EVENTS(want);
    }
}

TEST(bad_text_fails_at_its_first_bad_byte_before_the_frame_is_whole)
{
    for (size_t i = 0; i < sizeof bad_utf8 / sizeof *bad_utf8; i++) {
        char   text[100] = { 0 };
        size_t n = strlen(bad_utf8[i].start);
        memcpy(text, bad_utf8[i].start, n);
        frame(TEXT_BEGIN, text, n); /* alone it is fine */
        EVENTS("");
        text[n] = bad_utf8[i].wrong[0];
        frame(TEXT, text, 100);         /* announced 100 bytes, ... */
        buf_truncate(&wire, 6 + n + 1); /* ... but only the bad one has come */
        EVENTS("[fail 1007]");
        frame(TEXT_BEGIN, text, n);
        frame(MORE, text + n, 1);
        EVENTS("[fail 1007]");
    }
}

TEST(text_that_ends_inside_a_character_fails)
{
    FRAME(TEXT, "\xe4\xbd");
    EVENTS("[fail 1007]");
    FRAME(TEXT_BEGIN, "\xe4");
    FRAME(LAST, "\xbd");
    EVENTS("[fail 1007]");
}

TEST(a_character_may_be_split_by_a_ping)
{
    FRAME(TEXT_BEGIN, "\xe4");
    FRAME(PING, "\xff");
    FRAME(LAST, "\xbd\xa0");
    EVENTS("[ping \xff][text \xe4\xbd\xa0]");
}

TEST(binary_messages_may_be_any_bytes)
{
    FRAME(BINARY, "\xff\xfe\x80");
    EVENTS("[binary \xff\xfe\x80]");
}

/* --- close ------------------------------------------------------------------------------------ */

TEST(a_close_frame_may_be_empty_or_have_a_code_and_a_reason)
{
    FRAME(CLOSE, "");
    EVENTS("[close 1005]");
    FRAME(CLOSE, "\x03\xe8");
    EVENTS("[close 1000]");
    FRAME(CLOSE, "\x03\xe9"
                 "good bye \xe2\x98\x83");
    EVENTS("[close 1001]");
    FRAME(CLOSE, "\x03");
    EVENTS("[fail 1002]");
    FRAME(CLOSE, "\x03\xe8\xff");
    EVENTS("[fail 1007]");
    FRAME(CLOSE, "\x03\xe8\xe2\x98");
    EVENTS("[fail 1007]");
}

TEST(only_close_codes_that_may_be_on_the_wire_are_taken)
{
    static const unsigned good[] = { 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010,
                                     1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999 };
    static const unsigned bad[] = { 0,    1,    999,  1004, 1005, 1006, 1015,
                                    1016, 1100, 2000, 2999, 5000, 65535 };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char want[32], code[2] = { (char)(good[i] >> 8), (char)good[i] };
        snprintf(want, sizeof want, "[close %u]", good[i]);
        frame(CLOSE, code, 2);
        EVENTS(want);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char code[2] = { (char)(bad[i] >> 8), (char)bad[i] };
        frame(CLOSE, code, 2);
        EVENTS("[fail 1002]");
    }
}

TEST(a_close_inside_a_fragmented_message_is_a_close)
{
    FRAME(TEXT_BEGIN, "x");
    FRAME(CLOSE, "\x03\xe8");
    FRAME(LAST, "y");
    EVENTS("[close 1000]");
}

/* --- limits ----------------------------------------------------------------------------------- */

TEST(a_message_over_the_limit_fails_before_its_payload_comes)
{
    static char bytes[MESSAGE_MAX + 1];
    frame(BINARY, bytes, MESSAGE_MAX);
    EVENTS("[binary 100000 bytes]");
    frame(BINARY, bytes, MESSAGE_MAX + 1);
    buf_truncate(&wire, 14);
    EVENTS("[fail 1009]");
    frame(BINARY_BEGIN, bytes, 60000);
    frame(MORE, bytes, 40000);
    FRAME(LAST, "");
    EVENTS("[binary 100000 bytes]");
    frame(BINARY_BEGIN, bytes, 60000);
    frame(LAST, bytes, 40001);
    buf_truncate(&wire, 60000 + 8 + 8);
    EVENTS("[fail 1009]");
    buf_add(&wire, "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14);
    EVENTS("[fail 1009]");
}

TEST(a_million_empty_fragments_cost_no_memory)
{
    struct ws  w;
    struct str data;
    ws_init(&w, MESSAGE_MAX);
    FRAME(TEXT_BEGIN, "");
    CHECK(feed_piece(&w, buf_view(&wire), &wire));
    for (int i = 0; i < 1000000; i++) {
        char more[6] = "\x00\x80", *at = more;
        CHECK(ws_feed(&w, &at, more + 6, &data) == WS_MORE);
    }
    CHECK(w.message.cap == 0);
    ws_done(&w);
    buf_clear(&wire);
}

TEST(without_memory_a_message_fails_and_nothing_leaks)
{
    static char bytes[5000];
    for (long n = 0; n < 4; n++) {
        struct ws  w;
        struct str data;
        ws_init(&w, MESSAGE_MAX);
        frame(BINARY_BEGIN, bytes, 2000);
        frame(LAST, bytes, 3000);
        char *at = wire.ptr;
        mem_fail_at(n);
        enum ws_event event = ws_feed(&w, &at, wire.ptr + wire.len, &data);
        mem_fail_at(-1);
        CHECK(event == WS_BINARY || (event == WS_FAIL && w.code == WS_TRY_LATER));
        ws_done(&w);
        buf_clear(&wire);
    }
}

/* --- frames out ------------------------------------------------------------------------------- */

TEST(our_frames_have_the_shortest_length_and_no_mask)
{
    static char text[65536];
    struct buf  b;
    buf_init(&b, 0);
    ws_frame_text(&b, STR("hi"));
    CHECK_STR(buf_view(&b), "\x81\x02hi");
    buf_clear(&b);
    ws_frame_text(&b, str_n(text, 126));
    CHECK(b.len == 130 && !memcmp(b.ptr, "\x81\x7e\0\x7e", 4));
    buf_clear(&b);
    ws_frame_text(&b, str_n(text, 65536));
    CHECK(b.len == 65546 && !memcmp(b.ptr, "\x81\x7f\0\0\0\0\0\1\0\0", 10));
    buf_clear(&b);
    ws_frame_close(&b, 1000, STR("bye"));
    CHECK(b.len == 7 && !memcmp(b.ptr,
                                "\x88\x05\x03\xe8"
                                "bye",
                                7));
    buf_clear(&b);
    ws_frame_close(&b, WS_NO_CODE, STR(""));
    CHECK(b.len == 2 && !memcmp(b.ptr, "\x88\0", 2));
    buf_done(&b);
}

TEST(a_close_reason_is_cut_between_characters)
{
    struct buf b, reason;
    buf_init(&b, 0);
    buf_init(&reason, 0);
    for (int i = 0; i < 100; i++) buf_lit(&reason, "\xe8\x8a\xb1");
    ws_frame_close(&b, 1008, buf_view(&reason));
    CHECK(b.len == 2 + 2 + 123);
    buf_clear(&b);
    buf_clear(&reason);
    buf_lit(&reason, "xx"); /* now the last one that would fit lies across the end */
    for (int i = 0; i < 100; i++) buf_lit(&reason, "\xe8\x8a\xb1");
    ws_frame_close(&b, 1008, buf_view(&reason));
    CHECK(b.len == 2 + 2 + 122);
    buf_done(&b);
    buf_done(&reason);
}

/* --- handshake -------------------------------------------------------------------------------- */

static int handshake(const char *line, const char *headers, char accept[WS_ACCEPT_LEN + 1])
{
    struct net_limits limits;
    struct http1      p;
    struct request    q;
    struct arena      a;
    char              text[1000];
    const char       *why;

    net_limits_default(&limits);
    arena_init(&a, 0);
    http1_init(&p, &limits, &q, &a);
    int n = snprintf(text, sizeof text, "%s\r\nHost: a\r\n%s\r\n", line, headers);
    http1_feed(&p, text, (size_t)n);
    int status = p.status == HTTP1_DONE ? ws_handshake(&q, p.http10, accept, &why) : p.why.status;
    http1_done(&p);
    arena_done(&a);
    return status;
}

#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define V13     "Sec-WebSocket-Version: 13\r\n"

TEST(the_handshake_of_the_rfc_gives_the_accept_of_the_rfc)
{
    char accept[WS_ACCEPT_LEN + 1] = "";
    CHECK(handshake("GET / HTTP/1.1", UPGRADE KEY V13, accept) == 0);
    CHECK_STR(str_c(accept), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK(handshake("GET / HTTP/1.1",
                    "upgrade: h2c, WebSocket\r\nconnection: keep-alive,UPGRADE\r\n" KEY V13,
                    accept) == 0);
}

TEST(handshakes_that_are_not_quite_right_are_refused)
{
    char accept[WS_ACCEPT_LEN + 1];
    CHECK(handshake("GET / HTTP/1.1", "", accept) == 426);
    CHECK(handshake("GET / HTTP/1.1", "Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY V13, accept) ==
          426);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE KEY, accept) == 426);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE KEY "Sec-WebSocket-Version: 8\r\n", accept) == 426);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE KEY "Sec-WebSocket-Version: 13, 8\r\n", accept) ==
          426);
    CHECK(handshake("GET / HTTP/1.1", "Upgrade: websocket\r\n" KEY V13, accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", "Upgrade: websocket\r\nConnection: close\r\n" KEY V13,
                    accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE V13, accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE V13 "Sec-WebSocket-Key:\r\n", accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE V13 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n",
                    accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE V13 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n",
                    accept) == 400);
    CHECK(handshake("GET / HTTP/1.1", UPGRADE KEY KEY V13, accept) == 400);
    CHECK(handshake("POST / HTTP/1.1", UPGRADE KEY V13, accept) == 400);
    CHECK(handshake("GET / HTTP/1.0", UPGRADE KEY V13, accept) == 400);
}
