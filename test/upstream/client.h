/* client.h -- somebody who asks the scripted service, and how an answer is sent. */
#ifndef UPSTREAM_CLIENT_H
#define UPSTREAM_CLIENT_H

#include <uv.h>

#include "base/buf.h"
#include "base/list.h"
#include "wires.h"

struct client {
    uv_tcp_t       tcp;
    struct list    paced; /* linked while it has tokens to send */
    struct buf     in, out;
    enum wire      wire;
    struct speaker speaker;
    unsigned       tokens, sent, every_us;
    uint64_t       began_us;
    size_t         long_left; /* of the 100 MB line */
    bool           answering, dead, held;
};

extern unsigned clients_open;

void client_close(struct client *c);
/* As they are; after the last ones the connection ends. */
void send_bytes(struct client *c, struct str bytes, bool last);
/* An answer in one piece. */
void send_plain(struct client *c, const char *status, const char *headers, struct str body);
void send_json(struct client *c, const char *status, const char *headers, const struct buf *body);
/* One name per wire: Anthropic, OpenAI, Gemini. */
const char *pick(struct client *c, const char *a, const char *o, const char *g);
/* An error in the wire's own words. */
void        send_error(struct client *c, int status, const char *reason, const char *type,
                       const char *headers, const char *extra);
/* A stream: its head, chunks, and the last one, which has nothing in it. */
void        send_head(struct client *c);
void        send_chunk(struct client *c, struct str bytes);
void        send_last(struct client *c);
/* A stream in the wire's own words: c->speaker fills c->out, which is sent with flush(). */
void        begin(struct client *c);
void        flush(struct client *c);
/* A line of 100 MB, of which its client never sees the end. */
void        send_long_line(struct client *c);

#endif
