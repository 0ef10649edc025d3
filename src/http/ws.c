/* ws.c -- the WebSocket codec; ws.h is its manual. */
#include "http/ws.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/utf8.h"
#include "http/http1.h"

static enum ws_event fail(struct ws *w, unsigned code, const char *why)
{
    w->code = (uint16_t)code;
    w->why = why;
    return WS_FAIL;
}

void ws_init(struct ws *w, size_t message_max)
{
    *w = (struct ws){ 0 };
    buf_init(&w->message, message_max);
}

void ws_done(struct ws *w)
{
    buf_done(&w->message);
}

/* --- the mask ---------------------------------------------------------------------- */

static uint64_t turn(uint64_t mask, size_t bytes)
{
    unsigned bits = (unsigned)(bytes % 8) * 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return bits ? mask >> bits | mask << (64 - bits) : mask;
#else
    return bits ? mask << bits | mask >> (64 - bits) : mask;
#endif
}

uint64_t ws_unmask(char *p, size_t n, uint64_t mask)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        v ^= mask;
        memcpy(p + i, &v, 8);
    }
    char key[8];
    memcpy(key, &mask, 8);
    for (size_t k = 0; i < n; i++, k++) p[i] ^= key[k];
    return turn(mask, n);
}

/* --- UTF-8 across pieces -------------------------------------------------------------- */

/* The first byte of a character decides how many follow and, for four of them,
 * a narrower range of the second (Unicode table 3-7). */
static bool utf8_lead(struct ws *w, unsigned char c)
{
    w->low = 0x80;
    w->high = 0xbf;
    if (c < 0x80) return true;
    if (c >= 0xc2 && c <= 0xdf) w->need = 1;
    else if (c >= 0xe0 && c <= 0xef) w->need = 2;
    else if (c >= 0xf0 && c <= 0xf4) w->need = 3;
    else return false;
    if (c == 0xe0) w->low = 0xa0;
    if (c == 0xed) w->high = 0x9f;
    if (c == 0xf0) w->low = 0x90;
    if (c == 0xf4) w->high = 0x8f;
    return true;
}

static bool utf8_next(struct ws *w, unsigned char c)
{
    if (!w->need) return utf8_lead(w, c);
    if (c < w->low || c > w->high) return false;
    w->low = 0x80;
    w->high = 0xbf;
    w->need--;
    return true;
}

static bool utf8_feed(struct ws *w, const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t eight;
        if (!w->need && n - i >= 8 &&
            (memcpy(&eight, p + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        if (!utf8_next(w, (unsigned char)p[i++])) return false;
    }
    return true;
}

/* --- frame heads ------------------------------------------------------------------------ */

static size_t head_size(const struct ws *w)
{
    if (w->head_len < 2) return 2;
    unsigned len = w->head[1] & 0x7f;
    return 2 + (len == 127 ? 8 : len == 126 ? 2 : 0) + (w->of_server ? 0 : 4);
}

/* What the first two bytes already prove. */
static enum ws_event check_start(struct ws *w)
{
    unsigned len = w->head[1] & 0x7f;
    bool     control = w->opcode >= 8;

    if (w->head[0] & 0x70) return fail(w, WS_PROTOCOL, "reserved bits are set");
    if (!(w->head[1] & 0x80) && !w->of_server)
        return fail(w, WS_PROTOCOL, "frames of clients must be masked");
    if ((w->head[1] & 0x80) && w->of_server)
        return fail(w, WS_PROTOCOL, "frames of servers must not be masked");
    if ((w->opcode > 2 && w->opcode < 8) || w->opcode > 10)
        return fail(w, WS_PROTOCOL, "unknown opcode");
    if (control && !w->final) return fail(w, WS_PROTOCOL, "control frames must not be fragmented");
    if (control && len > WS_CONTROL_MAX)
        return fail(w, WS_PROTOCOL, "control frames must be short");
    if (w->opcode == WS_OP_MORE && !w->kind) return fail(w, WS_PROTOCOL, "nothing to continue");
    if ((w->opcode == WS_OP_TEXT || w->opcode == WS_OP_BINARY) && w->kind)
        return fail(w, WS_PROTOCOL, "the message before is not finished");
    return WS_MORE;
}

static uint64_t big_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    while (n--) v = v << 8 | *p++;
    return v;
}

/* The head is whole: its length, and the limit before a byte of payload is taken. */
static enum ws_event begin_payload(struct ws *w)
{
    unsigned len = w->head[1] & 0x7f;

    w->left = len < 126 ? len : big_endian(w->head + 2, len == 126 ? 2 : 8);
    if ((len == 126 && w->left < 126) || (len == 127 && (w->left < 65536 || w->left >> 63)))
        return fail(w, WS_PROTOCOL, "the length is not in its shortest form");
    if (w->opcode < 8 && w->left > w->message.max - w->message.len)
        return fail(w, WS_TOO_BIG, "the message is too big");
    uint32_t key = 0;
    if (!w->of_server) memcpy(&key, w->head + head_size(w) - 4, 4);
    w->mask = (uint64_t)key << 32 | key;
    if (w->opcode == WS_OP_TEXT || w->opcode == WS_OP_BINARY) w->kind = w->opcode;
    w->in_payload = true;
    w->control_len = 0;
    return WS_MORE;
}

static enum ws_event feed_head(struct ws *w, char **at, char *end)
{
    while (*at < end && w->head_len < head_size(w)) {
        w->head[w->head_len++] = (uint8_t) * (*at)++;
        if (w->head_len != 2) continue;
        w->final = w->head[0] & 0x80;
        w->opcode = w->head[0] & 0x0f;
        if (check_start(w) == WS_FAIL) return WS_FAIL;
    }
    return w->head_len == head_size(w) ? begin_payload(w) : WS_MORE;
}

static void end_frame(struct ws *w)
{
    w->in_payload = false;
    w->head_len = 0;
}

/* --- payloads -------------------------------------------------------------------------- */

bool ws_code_valid(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static enum ws_event end_close(struct ws *w)
{
    w->code = WS_NO_CODE;
    if (w->control_len == 0) return WS_CLOSE;
    if (w->control_len == 1) return fail(w, WS_PROTOCOL, "half a close code");
    unsigned code = (unsigned)big_endian((uint8_t *)w->control, 2);
    if (!ws_code_valid(code)) return fail(w, WS_PROTOCOL, "no such close code");
    if (!utf8_valid(str_n(w->control + 2, w->control_len - 2u)))
        return fail(w, WS_NOT_UTF8, "the close reason is not UTF-8");
    w->code = (uint16_t)code;
    return WS_CLOSE;
}

static enum ws_event feed_control(struct ws *w, const char *p, size_t n, struct str *data)
{
    if (n) memcpy(w->control + w->control_len, p, n); /* check_start saw that it fits */
    w->control_len = (uint8_t)(w->control_len + n);
    if (w->left) return WS_MORE;
    end_frame(w);
    *data = str_n(w->control, w->control_len);
    return w->opcode == WS_OP_PING ? WS_PING : w->opcode == WS_OP_PONG ? WS_PONG : end_close(w);
}

/* The message is whole: `last` is its end, or all of it when nothing was gathered. */
static enum ws_event hand_out(struct ws *w, struct str last, struct str *data)
{
    enum ws_event event = w->kind == WS_OP_TEXT ? WS_TEXT : WS_BINARY;

    if (w->need) return fail(w, WS_NOT_UTF8, "the text ends inside a character");
    w->kind = 0;
    w->handed = true;
    *data = w->message.len ? buf_view(&w->message) : last;
    return event;
}

static enum ws_event feed_data(struct ws *w, const char *p, size_t n, struct str *data)
{
    if (w->kind == WS_OP_TEXT && !utf8_feed(w, p, n))
        return fail(w, WS_NOT_UTF8, "the text is not UTF-8");
    bool whole = !w->left && w->final;
    if (!whole || w->message.len) buf_add(&w->message, p, n);
    if (w->message.err) return fail(w, WS_TRY_LATER, "no memory for the message");
    if (!w->left) end_frame(w);
    return whole ? hand_out(w, str_n(p, n), data) : WS_MORE;
}

static enum ws_event feed_payload(struct ws *w, char **at, char *end, struct str *data)
{
    char  *p = *at;
    size_t n = (size_t)(end - p) < w->left ? (size_t)(end - p) : (size_t)w->left;

    *at += n;
    w->left -= n;
    w->mask = ws_unmask(p, n, w->mask);
    return w->opcode >= 8 ? feed_control(w, p, n, data) : feed_data(w, p, n, data);
}

enum ws_event ws_feed(struct ws *w, char **at, char *end, struct str *data)
{
    enum ws_event event = WS_MORE;

    if (w->handed) {
        buf_done(&w->message);
        w->handed = false;
    }
    /* An empty payload needs no further byte, hence the second condition. */
    while (event == WS_MORE && (*at < end || (w->in_payload && !w->left)))
        event = w->in_payload ? feed_payload(w, at, end, data) : feed_head(w, at, end);
    return event;
}

/* --- frames out ---------------------------------------------------------------------------- */

static void put_frame(struct buf *out, unsigned first, bool masked, struct str payload)
{
    uint8_t head[14] = { (uint8_t)first };
    size_t  n = 2;

    if (payload.len < 126) head[1] = (uint8_t)payload.len;
    else {
        size_t bytes = payload.len < 65536 ? 2 : 8;
        head[1] = bytes == 2 ? 126 : 127;
        for (size_t i = 0; i < bytes; i++)
            head[n++] = (uint8_t)((uint64_t)payload.len >> 8 * (bytes - 1 - i));
    }
    if (masked) head[1] |= 0x80, n += 4;
    /* One reservation for both, so that a full buf never holds a head without its payload. */
    if (!buf_room(out, n + payload.len)) return;
    buf_add(out, head, n);
    buf_str(out, payload);
}

void ws_fragment(struct buf *out, enum ws_opcode op, bool final, struct str payload)
{
    put_frame(out, (final ? 0x80u : 0u) | op, false, payload);
}
void ws_frame_masked(struct buf *out, enum ws_opcode op, struct str payload)
{
    put_frame(out, 0x80u | op, true, payload);
}
void ws_frame(struct buf *out, enum ws_opcode op, struct str payload)
{
    ws_fragment(out, op, true, payload);
}
void ws_frame_text(struct buf *out, struct str text)
{
    ws_frame(out, WS_OP_TEXT, text);
}

void ws_frame_close(struct buf *out, int code, struct str reason)
{
    char   payload[WS_CONTROL_MAX] = { (char)(code >> 8), (char)code };
    size_t n = utf8_cut(reason, WS_CONTROL_MAX - 2);

    if (code == WS_NO_CODE) {
        ws_frame(out, WS_OP_CLOSE, STR(""));
        return;
    }
    if (n) memcpy(payload + 2, reason.ptr, n);
    ws_frame(out, WS_OP_CLOSE, str_n(payload, n + 2));
}

/* --- handshake ----------------------------------------------------------------------------- */

static bool valid_key(struct str key) /* 16 bytes in base64 */
{
    if (key.len != 24 || key.ptr[22] != '=' || key.ptr[23] != '=') return false;
    for (size_t i = 0; i < 22; i++) {
        char c = key.ptr[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && c != '+' && c != '/') return false;
    }
    return true;
}

static void accept_key(struct str key, char accept[WS_ACCEPT_LEN + 1])
{
    char          text[24 + 36 + 1];
    unsigned char hash[SHA_DIGEST_LENGTH];

    memcpy(text, key.ptr, 24);
    memcpy(text + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36 + 1);
    must(EVP_Digest(text, 24 + 36, hash, NULL, EVP_sha1(), NULL) == 1);
    EVP_EncodeBlock((unsigned char *)accept, hash, SHA_DIGEST_LENGTH);
}

bool conn_wants_upgrade(const struct request *q)
{
    return request_lists(q, "Upgrade", "websocket");
}

int ws_handshake(const struct request *q, bool http10, char accept[WS_ACCEPT_LEN + 1],
                 const char **why)
{
    struct str key = request_header(q, "Sec-WebSocket-Key");

    *why = "This address speaks WebSocket only.";
    if (!conn_wants_upgrade(q)) return 426;
    *why = "This server speaks version 13 of the WebSocket protocol.";
    if (!str_is(request_header(q, "Sec-WebSocket-Version"), "13")) return 426;
    *why = "A WebSocket begins with a GET request of HTTP/1.1 without a body.";
    if (!str_is(q->method, "GET") || http10 || q->body.len) return 400;
    *why = "The Connection header does not name Upgrade.";
    if (!request_lists(q, "Connection", "upgrade")) return 400;
    *why = "Sec-WebSocket-Key is not 16 bytes in base64.";
    if (!key.ptr || !valid_key(key)) return 400;
    accept_key(key, accept);
    return 0;
}
