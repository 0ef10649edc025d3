/* client.c -- see client.h. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#define LONG_LINE (100u << 20)
#define PIECE     65536

unsigned clients_open;

static void on_closed(uv_handle_t *h)
{
    struct client *c = h->data;
    list_remove(&c->paced);
    buf_done(&c->in);
    buf_done(&c->out);
    free(c);
    clients_open--;
}

void client_close(struct client *c)
{
    if (c->dead) return;
    c->dead = true;
    list_remove(&c->paced);
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

struct sending {
    uv_write_t     req;
    struct client *c;
    bool           last;
    char           data[];
};
static void more_of_long_line(struct client *c);

static void on_written(uv_write_t *req, int status)
{
    struct sending *s = (struct sending *)req;
    struct client  *c = s->c;
    bool            last = s->last;
    free(s);
    if (status < 0 || last) client_close(c);
    else if (c->long_left) more_of_long_line(c);
}

void send_bytes(struct client *c, struct str bytes, bool last)
{
    struct sending *s = malloc(sizeof *s + bytes.len);
    uv_buf_t        b;
    if (!s || c->dead) {
        free(s);
        return;
    }
    memcpy(s->data, bytes.ptr, bytes.len);
    s->c = c;
    s->last = last;
    b = uv_buf_init(s->data, (unsigned)bytes.len);
    if (uv_write(&s->req, (uv_stream_t *)&c->tcp, &b, 1, on_written)) {
        free(s);
        client_close(c);
    }
}

void send_chunk(struct client *c, struct str bytes)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "%zx\r\n", bytes.len);
    buf_str(&b, bytes);
    buf_lit(&b, "\r\n");
    send_bytes(c, buf_view(&b), false);
    buf_done(&b);
}

#define STREAM_HEAD                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: " \
    "req_1\r\nTransfer-Encoding: chunked\r\n\r\n"

void send_head(struct client *c)
{
    send_bytes(c, STR(STREAM_HEAD), false);
}
void send_last(struct client *c)
{
    send_bytes(c, STR("0\r\n\r\n"), false);
    c->answering = false;
}

void send_plain(struct client *c, const char *status, const char *headers, struct str body)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n", status, body.len, headers);
    buf_str(&b, body);
    send_bytes(c, buf_view(&b), false);
    buf_done(&b);
    c->answering = false;
}

void send_json(struct client *c, const char *status, const char *headers, const struct buf *body)
{
    char all[400];
    snprintf(all, sizeof all, "Content-Type: application/json\r\nrequest-id: req_1\r\n%s", headers);
    send_plain(c, status, all, buf_view(body));
}

void send_error(struct client *c, int status, const char *reason, const char *type,
                const char *headers, const char *extra)
{
    struct buf b;
    char       line[64];
    buf_init(&b, 0);
    snprintf(line, sizeof line, "%d %s", status, reason);
    wire_error(&b, c->wire, status, type, "sk-secret: the provider's own words", extra);
    send_json(c, line, headers, &b);
    buf_done(&b);
}

const char *pick(struct client *c, const char *a, const char *o, const char *g)
{
    return c->wire == W_ANTHROPIC ? a : c->wire == W_OPENAI ? o : g;
}

void begin(struct client *c)
{
    send_head(c);
    buf_clear(&c->out);
    c->speaker = (struct speaker){ .out = &c->out, .w = c->wire };
    speak_begin(&c->speaker);
}
void flush(struct client *c)
{
    if (c->out.len) send_chunk(c, buf_view(&c->out));
    buf_clear(&c->out);
}

static void more_of_long_line(struct client *c)
{
    static char piece[PIECE];
    size_t      n = c->long_left < PIECE ? c->long_left : PIECE;
    memset(piece, 'x', sizeof piece);
    c->long_left -= n;
    send_chunk(c, str_n(piece, n));
}

void send_long_line(struct client *c)
{
    c->long_left = LONG_LINE;
    send_chunk(c, STR("data: "));
}
