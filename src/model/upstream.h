/* upstream.h -- requests to model services on our loop: deadlines, headers that
 * matter and cancelling, over a pool of loop/curl.h.
 *
 * One upstream per loop. A transfer is one POST and its answer. Its callbacks
 * come on the loop thread, never from inside transfer_start, and never after transfer_cancel, which
 * closes the connection at the end of the turn (also from inside a callback). `done` is the last
 * one and the transfer is gone when it returns.
 *
 * Socket events go straight to libcurl, one read per event; the bytes are handed on where they
 * lie. Certificates are verified, redirects are not followed, proxies come from
 * the environment, and no compression is asked for (a stream of small events
 * gains nothing from it and may be held back by it).
 */
#ifndef PARLEY_UPSTREAM_H
#define PARLEY_UPSTREAM_H

#include "base/arena.h"
#include "base/buf.h"
#include "loop/loop.h"

struct upstream;
struct transfer;
struct curl_slist;

/* NULL: no memory, or no libcurl to speak of */
struct upstream *upstream_new(struct loop *l);
/* All transfers must be over or cancelled. `freed` (may be NULL) is called when the loop has closed
 * what belonged to it. */
void             upstream_free(struct upstream *up, void (*freed)(void *ctx), void *ctx);
/* For what is parsed and dropped within one callback; shared by all readers on the loop. */
struct arena    *upstream_scratch(struct upstream *up);
unsigned         upstream_active(const struct upstream *up); /* transfers under way */

/* A list of headers for transfer_start, owned by the caller and borrowed by the transfer. Lines
 * that hold a secret are wiped when the list is freed. false: no memory, and the list is as
 * before. */
bool headers_add(struct curl_slist **list, const char *line);
void headers_free(struct curl_slist *list);

struct transfer_request {
    const char              *url; /* copied */
    /* borrowed until the end, or until it is drained */
    const struct curl_slist *headers;
    unsigned                 connect_ms, first_byte_ms, idle_ms, total_ms;
    size_t                   response_max;
};

/* What the answer's headers say; valid from the first data() on. */
struct transfer_head {
    int     status; /* 0: no answer came */
    /* Content-Type says so; an encoding we did not ask for */
    bool    event_stream, coded;
    bool    typed;          /* there was a Content-Type */
    int     should_retry;   /* x-should-retry: 1 true, 0 false, -1 absent */
    int64_t retry_after_ms; /* retry-after-ms, retry-after; -1 absent */
    char    request_id[64]; /* request-id, x-request-id: plain characters only */
};

enum transfer_end {
    T_OK,
    T_NAME,
    T_CONNECT,
    T_PROXY,
    T_TLS,
    T_CONNECT_TIMEOUT,
    T_FIRST_BYTE_TIMEOUT,
    T_IDLE_TIMEOUT,
    T_TOTAL_TIMEOUT,
    T_CUT,
    T_TOO_LARGE,
    T_NOMEM,
    T_OTHER,
};

struct transfer_ops {
    void (*data)(void *ctx, struct transfer *t, struct str bytes);
    void (*done)(void *ctx, struct transfer *t, enum transfer_end end);
};

/* The body moves into the transfer (when it does not return NULL): libcurl may read it until the
 * very end, also of a transfer that was cancelled from inside a callback. */
struct transfer *transfer_start(struct upstream *up, const struct transfer_request *q,
                                struct buf *body, const struct transfer_ops *ops, void *ctx);
/* Moves it back, for another attempt; only from this transfer's own callbacks, which must end it.
 * Empty when it was forgotten. */
void             transfer_take_body(struct transfer *t, struct buf *out);
/* frees it, if the server has all of it: did it? */
bool             transfer_forget_body(struct transfer *t);
bool             transfer_sent(const struct transfer *t); /* the server has all of the body */
void             transfer_cancel(struct transfer *t);
/* No more callbacks, but the rest of the answer is read (briefly) so that the connection can be
 * used again. */
void             transfer_drain(struct transfer *t);
const struct transfer_head *transfer_head(const struct transfer *t);

/* A pause on the same loop, e.g. between two attempts; embed. */
struct upstream_wait {
    struct list node;
    uint64_t    until_ms;
    void (*fire)(struct upstream_wait *w);
};
void upstream_wait(struct upstream *up, struct upstream_wait *w, uint64_t ms,
                   void (*fire)(struct upstream_wait *));
void upstream_wait_stop(struct upstream_wait *w);

#endif
