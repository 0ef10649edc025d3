/* ws.h -- WebSocket frames (RFC 6455): bytes in, messages out. Pure: no I/O, no clock.
 *
 *     ws_init(&w, message_max);
 *     while ((event = ws_feed(&w, &at, end, &data)) != WS_MORE) ...   // until the bytes are used
 *     up
 *     ws_done(&w);
 *
 * Frames of clients: one without a mask is a failure; or, where `of_server` is set, of servers: one
 * with a mask is. No extensions. A
 * failure is found at the first byte that proves it, also inside a frame that has
 * not come in full (1002 protocol, 1007 not UTF-8, 1009 too big); after WS_FAIL
 * or WS_CLOSE nothing more may be fed.
 *
 * The bytes are unmasked in place. A message that came in one frame and one read
 * is handed out where it lies; anything else is gathered in `message`, which is
 * given back by the next call of ws_feed, so an idle ws owns no buffer.
 */
#ifndef PARLEY_WS_H
#define PARLEY_WS_H

#include "http/conn.h"

#define WS_CONTROL_MAX 125

enum ws_code { /* RFC 6455 7.4.1 and the IANA registry */
               WS_NORMAL = 1000,
               WS_GOING_AWAY = 1001,
               WS_PROTOCOL = 1002,
               WS_NO_CODE = 1005,
               WS_NOT_UTF8 = 1007,
               WS_POLICY = 1008,
               WS_TOO_BIG = 1009,
               WS_RESTART = 1012,
               WS_TRY_LATER = 1013,
               WS_UNAUTHORIZED = 4401,
};
enum ws_opcode {
    WS_OP_MORE = 0,
    WS_OP_TEXT = 1,
    WS_OP_BINARY = 2,
    WS_OP_CLOSE = 8,
    WS_OP_PING = 9,
    WS_OP_PONG = 10
};

enum ws_event {
    WS_MORE, /* all bytes taken */
    WS_TEXT, /* data: the whole message, valid UTF-8 */
    WS_BINARY,
    WS_PING,
    WS_PONG,  /* data: the payload, at most WS_CONTROL_MAX */
    WS_CLOSE, /* w->code is what to answer (WS_NO_CODE: an empty close frame) */
    WS_FAIL,  /* close with w->code and w->why */
};

struct ws {
    uint16_t    code;      /* with WS_CLOSE and WS_FAIL */
    const char *why;       /* with WS_FAIL: static text */
    struct buf  message;   /* what has come of a message in pieces */
    bool        of_server; /* set before the first byte is fed */

    /* private from here on */
    uint64_t left; /* payload bytes of this frame to come */
    uint64_t mask; /* the key, twice, turned so that it fits the next byte */
    uint8_t  head[14], head_len;
    uint8_t  opcode, kind; /* of this frame; of the open message, 0: none */
    bool     final, in_payload, handed;
    /* UTF-8: bytes to come in this character, and the range of the next one */
    uint8_t  need, low, high;
    uint8_t  control_len;
    char     control[WS_CONTROL_MAX];
};

void          ws_init(struct ws *w, size_t message_max);
void          ws_done(struct ws *w);
/* Takes bytes from *at, up to the first event. `data` lives until the next call. */
enum ws_event ws_feed(struct ws *w, char **at, char *end, struct str *data);

/* One frame, final, not masked. Control payloads at most WS_CONTROL_MAX. */
void ws_frame(struct buf *out, enum ws_opcode op, struct str payload);
/* The same from a client. The mask is zero: it hides nothing from anybody, and what it is against,
 * old caches on the way, does not stand between our own programs. */
void ws_frame_masked(struct buf *out, enum ws_opcode op, struct str payload);
void ws_fragment(struct buf *out, enum ws_opcode op, bool final, struct str payload);
/* WS_NO_CODE: empty payload. The reason is cut on a character boundary to what fits. */
void ws_frame_close(struct buf *out, int code, struct str reason);
/* May the code stand in a close frame on the wire? */
bool ws_code_valid(unsigned code);

/* --- handshake ------------------------------------------------------------------- */

#define WS_ACCEPT_LEN 28
/* 0: fine, and `accept` is what Sec-WebSocket-Accept must say. Else the HTTP status
 * (400, 426) with a plain sentence in *why. A 426 must carry Upgrade and Sec-WebSocket-Version. */
int ws_handshake(const struct request *q, bool http10, char accept[WS_ACCEPT_LEN + 1],
                 const char **why);

/* XORs with the key and turns it; exposed for the tests. */
uint64_t ws_unmask(char *p, size_t n, uint64_t mask);

#endif
