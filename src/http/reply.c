/* reply.c -- what handlers call: whole answers, streams, headers.
 *
 * Everything is written into c->out and goes out at the end of the turn (out.c).
 * A failed allocation leaves its mark in the buf; out_push then ends the connection.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "http/conn_int.h"

static const char *reason_phrase(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Answer"; /* clients ignore it (RFC 9112 4) */
    }
}

/* A value with a line end in it would let its author write headers of their own. */
static bool value_safe(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\r' || value.ptr[i] == '\n' || value.ptr[i] == '\0') return false;
    return true;
}

static void field(struct buf *out, const char *name, struct str value)
{
    must(value_safe(value));
    buf_lit(out, name);
    buf_lit(out, ": ");
    buf_str(out, value);
    buf_lit(out, "\r\n");
}

void conn_header(struct conn *c, const char *name, struct str value)
{
    must(c->exchange && c->state <= CONN_HANDLING);
    if (strcmp(name, "Cache-Control") == 0) c->exchange->cached = true;
    field(&c->exchange->headers, name, value);
}

/* "Mon, 16 Nov 2026 16:00:00 GMT" (RFC 9110 5.6.7), spelled once a second. In English, whatever the
 * locale. */
static const char *date_now(struct server *s)
{
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t    now = (time_t)(clock_wall_ms() / 1000);
    struct tm t;

    if (s->date[0] && now == s->date_s) return s->date;
    s->date_s = now;
    if (!gmtime_r(&now, &t)) memset(&t, 0, sizeof t);
    snprintf(s->date, sizeof s->date, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + 3 * t.tm_wday, t.tm_mday, months + 3 * t.tm_mon, t.tm_year + 1900, t.tm_hour,
             t.tm_min, t.tm_sec);
    return s->date;
}

static void add_headers(struct conn *c)
{
    if (c->exchange->headers.err) conn_doom(c);
    buf_str(&c->out, buf_view(&c->exchange->headers));
}

/* Status line to the last header that every answer has; the empty line is the caller's. */
static void begin_head(struct conn *c, int status, const char *type)
{
    buf_printf(&c->out, "HTTP/1.1 %d %s\r\n", status, reason_phrase(status));
    field(&c->out, "Date", str_c(date_now(c->server)));
    buf_lit(&c->out, "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n");
    if (type) field(&c->out, "Content-Type", str_c(type));
    if (c->exchange) add_headers(c);
    if (c->close_after) buf_lit(&c->out, "Connection: close\r\n");
}

static bool is_head(const struct conn *c)
{
    return c->exchange && str_is(c->exchange->request.method, "HEAD");
}

/* The handler has decided; nobody is to be told of a cancelled answer any more. */
static void answering(struct conn *c, enum conn_state state)
{
    if (c->exchange) c->exchange->hold = NULL;
    conn_set_state(c, state);
    conn_mark(c);
}

/* Its empty line. A stream's head goes to its carrier, with no more to follow unless `body`. */
static void end_head(struct conn *c, bool body)
{
    buf_lit(&c->out, "\r\n");
    if (c->stream) h2_head(c, body);
}

/* The head of a whole answer; true when the body is to follow. */
static bool reply_head(struct conn *c, int status, const char *type, size_t length)
{
    /* RFC 9110 8.6: and no length either */
    bool bodyless = status == 204 || status == 304;

    begin_head(c, status, type);
    /* people's words; the page's files say otherwise */
    if (!c->exchange || !c->exchange->cached) buf_lit(&c->out, "Cache-Control: no-store\r\n");
    if (!bodyless) buf_printf(&c->out, "Content-Length: %zu\r\n", length);
    bool body = !bodyless && !is_head(c);
    end_head(c, body && length);
    answering(c, CONN_ANSWERED);
    return body;
}

static void write_reply(struct conn *c, int status, const char *type, struct str body)
{
    if (reply_head(c, status, type, body.len)) buf_str(&c->out, body);
}

static void decide_close(struct conn *c)
{
    /* a stream is for one request */
    c->close_after = c->stream || !c->exchange->http1.keep_alive || c->server->draining;
}

void conn_reply(struct conn *c, int status, const char *type, struct str body)
{
    bool is_long = type && body.len > CONN_OUT_MAX && !is_head(c);

    must(c->state == CONN_HANDLING); /* else it has been answered already */
    decide_close(c);
    if (is_long && !out_hold(c, body.len)) {
        conn_header(c, "Retry-After", STR("1"));
        conn_error(c, 503, "busy",
                   "Too many long answers are waiting for their readers; try again.");
        return;
    }
    write_reply(c, status, type, type ? body : STR(""));
    /* For most readers that is all: nothing is kept until the end of the turn. And what is short
     * does not wait for the turn of those who want much. */
    if (is_long || c->server->loop->behind) out_direct(c);
}

void conn_reply_static(struct conn *c, int status, const char *type, struct str body)
{
    must(c->state == CONN_HANDLING);
    decide_close(c);
    if (reply_head(c, status, type, body.len)) c->tail = body;
}

/* Its type. */
static const char *error_body(struct conn *c, struct buf *b, int status, const char *code,
                              const char *message)
{
    struct server *s = c->server;
    const char    *type = s->error ? s->error(conn_request(c), b, status, code, message) : NULL;
    struct jsonw   w;

    if (type) return type;
    jsonw_init(&w, b);
    jw_obj(&w);
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstrz(&w, "code", code);
    jw_kstrz(&w, "message", message);
    jw_end_obj(&w);
    jw_end_obj(&w);
    return "application/json";
}

void conn_error(struct conn *c, int status, const char *code, const char *message)
{
    struct buf b;

    buf_init(&b, 0);
    const char *type = error_body(c, &b, status, code, message);
    if (b.err) conn_doom(c);
    conn_reply(c, status, type, buf_view(&b));
    buf_done(&b);
}

void reply_refusal(struct conn *c, int status, const char *code, const char *text)
{
    struct buf b;

    buf_init(&b, 0);
    const char *type = error_body(c, &b, status, code, text);
    if (b.err) conn_doom(c);
    c->close_after = true;
    write_reply(c, status, type, buf_view(&b));
    buf_done(&b);
}

void reply_words(struct conn *c, int status, const char *text)
{
    c->close_after = true;
    write_reply(c, status, "text/plain; charset=utf-8", str_c(text));
}

/* --- streams -------------------------------------------------------------------------- */

static void adopt(struct conn *c, struct source *src)
{
    c->source = src;
    src->conn = c;
    c->server->streams++;
}

void conn_stream(struct conn *c, int status, const char *type, struct source *src,
                 unsigned heartbeat_ms)
{
    must(c->state == CONN_HANDLING);
    decide_close(c);
    c->no_body = is_head(c);
    c->chunked = !c->exchange->http1.http10 && !c->stream;
    c->heartbeat_ms = heartbeat_ms;
    c->sent_ms = conn_now(c);
    begin_head(c, status, type);
    if (type && str_starts(str_c(type), STR("text/event-stream")))
        buf_lit(&c->out, "Cache-Control: no-cache, no-store\r\nX-Accel-Buffering: no\r\n");
    if (c->chunked) buf_lit(&c->out, "Transfer-Encoding: chunked\r\n");
    end_head(c, !c->no_body);
    adopt(c, src);
    answering(c, CONN_STREAM);
}

void source_wake(struct source *s)
{
    if (s->conn) conn_mark(s->conn);
}

bool source_blocked(const struct source *s)
{
    const struct conn *c = s->conn;
    return c && (c->blocked || (c->stream && h2_waits(c)));
}

/* --- WebSockets ------------------------------------------------------------------------ */

static bool refuse_upgrade(struct conn *c, int status, const char *why)
{
    if (status == 426) {
        conn_header(c, "Upgrade", STR("websocket"));
        conn_header(c, "Connection", STR("Upgrade"));
        conn_header(c, "Sec-WebSocket-Version", STR("13"));
    }
    conn_error(c, status, "bad_upgrade", why);
    return false;
}

static struct wsock *wsock_new(struct conn *c, struct ws_peer *peer)
{
    struct wsock *w = mem_alloc(sizeof *w);

    if (!w) return NULL;
    ws_init(&w->ws, c->stranger ? STRANGER_MESSAGE_MAX : c->server->limits.message_max);
    w->peer = peer;
    w->ping_ms = conn_now(c) + c->server->limits.ping_ms;
    return w;
}

bool conn_upgrade(struct conn *c, struct str protocol, struct source *src, struct ws_peer *peer)
{
    char        accept[WS_ACCEPT_LEN + 1];
    const char *why;

    must(c->state == CONN_HANDLING);
    int status = ws_handshake(&c->exchange->request, c->exchange->http1.http10, accept, &why);
    if (status) return refuse_upgrade(c, status, why);
    if (!(c->wsock = wsock_new(c, peer))) {
        conn_error(c, 503, "out_of_memory", "The server has no memory for this request now.");
        return false;
    }
    buf_printf(&c->out,
               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n",
               accept);
    if (protocol.ptr) field(&c->out, "Sec-WebSocket-Protocol", protocol);
    add_headers(c);
    buf_lit(&c->out, "\r\n");
    c->chunked = false;
    c->sent_ms = conn_now(c);
    adopt(c, src);
    answering(c, CONN_WS);
    return true;
}
