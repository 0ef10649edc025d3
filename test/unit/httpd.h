/* httpd.h -- a very small HTTP server on the test's own loop: one answer per connection, unless it
 * is kept. */
#ifndef PARLEY_TEST_HTTPD_H
#define PARLEY_TEST_HTTPD_H

#include "base/buf.h"
#include "loop/loop.h"

struct httpd_conn;
struct httpd {
    struct loop *loop;
    uv_tcp_t     listener;
    int          port;
    unsigned     requests;
    struct buf   last; /* the last request, head and body */
    /* Called with a whole request; answers with httpd_say. */
    void (*on_request)(struct httpd *h, struct httpd_conn *c, struct str head, struct str body);
    void *ctx;
    bool  closed;
};

void       httpd_open(struct httpd *h, struct loop *l,
                      void (*on_request)(struct httpd *, struct httpd_conn *, struct str, struct str));
void       httpd_close(struct httpd *h); /* turn the loop afterwards */
/* raw bytes; `end` closes */
void       httpd_say(struct httpd_conn *c, const char *bytes, bool end);
/* 200 with JSON; the connection takes another request */
void       httpd_kept(struct httpd_conn *c, const char *body);
/* remembers it for this connection; returns what was there */
void      *httpd_mark(struct httpd_conn *c, void *mark);
void       httpd_json(struct httpd_conn *c, int status, const char *more_headers, const char *body);
struct str httpd_header(struct str head, const char *name); /* STR_NONE: absent */

#endif
