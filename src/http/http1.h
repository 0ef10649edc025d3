/* http1.h -- HTTP/1.1 requests: bytes in, one struct request out. Pure: no I/O, no clock.
 *
 *     http1_init(&p, &limits, &request, &arena);
 *     used = http1_feed(&p, bytes, len);         // as they come; any split gives the same result
 *     p.status: HTTP1_MORE     all bytes were taken, more are needed
 *               HTTP1_DONE     the request is whole; bytes after `used` belong to the next one
 *               HTTP1_REFUSED  p.why says what to answer; then the connection must be closed,
 *                              because nobody can say where the next request would begin
 *     http1_done(&p);
 *
 * Strict on purpose: whatever RFC 9112 lets a server refuse and two parsers might
 * frame differently is refused (request smuggling lives in such differences).
 * Every byte is looked at once, so dripped bytes cost no more than one big read.
 *
 * Ownership: the texts of the request point into the parser's `head` and `body`
 * and into the arena; they live until http1_done or the arena's reset.
 */
#ifndef PARLEY_HTTP1_H
#define PARLEY_HTTP1_H

#include "http/conn.h"

enum {
    HTTP1_TARGET_MAX = 8 * 1024,   /* 414 beyond; what browsers and proxies are known to carry */
    HTTP1_HEADERS_MAX = 100,       /* 431 beyond; a browser sends about 20 */
    HTTP1_EXT_MAX = 1024,          /* all chunk extensions of a body together: nobody uses them */
    HTTP1_TRAILERS_MAX = 4 * 1024, /* trailers are checked and dropped */
};

enum http1_status { HTTP1_MORE, HTTP1_DONE, HTTP1_REFUSED };

struct http1_refusal {
    int         status;
    const char *code, *text; /* static; text is one plain sentence */
};

struct http1 {
    enum http1_status    status;
    struct http1_refusal why;       /* with HTTP1_REFUSED */
    bool                 head_done; /* method, path and headers of the request are set */
    bool                 http10;    /* answer without chunks, then close */
    bool keep_alive; /* the client does not mind another request on this connection */
    bool expect;     /* sent `Expect: 100-continue` and has a body to come */

    /* private from here on */
    const struct net_limits *limits;
    struct request          *request;
    struct buf               head, body;
    uint64_t                 left; /* bytes of the body or chunk to come */
    /* where the current head line began; lines ended so far */
    uint32_t                 line, lines;
    uint32_t                 ext, trailers; /* bytes of them so far */
    uint8_t                  step;          /* enum step in http1.c */
    uint8_t                  digits;        /* of the chunk size */
    bool                     blank;         /* the one empty line before a request was taken */
};

/* The request is emptied; request->arena is set to `arena`. */
void       http1_init(struct http1 *p, const struct net_limits *limits, struct request *request,
                      struct arena *arena);
/* Takes bytes and says how many; nothing more once the status is not HTTP1_MORE. */
size_t     http1_feed(struct http1 *p, const char *bytes, size_t len);
void       http1_done(struct http1 *p);
/* The path of a request that was refused before its head was read to the end, as it was written:
 * good for choosing the form of the refusal, and for nothing else. STR_NONE: none came. */
struct str http1_path_so_far(const struct http1 *p);

/* Does any header `name` list `token` (comma separated, any case)? */
bool request_lists(const struct request *q, const char *name, const char *token);

#endif
