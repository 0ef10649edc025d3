/* sse_in.h -- server-sent events from bytes: pure, any split, bounded.
 *
 * Bytes may be cut anywhere: inside a character, between CR and LF, inside
 * "data:". Lines end with LF, CRLF or CR. Several data lines join with LF. An
 * event without data is not told, but its id counts (MCP primes streams with one).
 *
 * An event that lies whole in one read is handed out where it lies: nothing is
 * copied or allocated for it. The struct costs nothing else while no event is
 * cut in two and no ids are sent.
 */
#ifndef PARLEY_SSE_IN_H
#define PARLEY_SSE_IN_H

#include "base/buf.h"

#define SSE_NAME_MAX 40

struct sse_in {
    /* both valid during the call only */
    void (*event)(struct sse_in *s, struct str name, struct str data);
    /* set after init: a field called `error` is data of an event named "error" */
    bool       error_field;
    /* of the last event that had one, to go on from; empty: none */
    struct buf last_id;
    int        retry_ms;           /* how long to wait before going on; -1: never said */
    struct buf line;               /* private: the unfinished line of earlier reads */
    struct buf data;               /* private: the unfinished event's data */
    struct buf id;                 /* private: the unfinished event's id */
    struct str view;               /* private: the event's data while it can stay where it lies */
    char       name[SSE_NAME_MAX]; /* private: cut when longer; no name we know is */
    uint8_t    name_len, bom;
    bool       has_data, has_id, after_cr, stopped;
};

void                sse_in_init(struct sse_in *s, size_t event_max,
                                void (*event)(struct sse_in *, struct str, struct str));
void                sse_in_done(struct sse_in *s);
/* ERR_FULL: a line or event over the limit. ERR_NOMEM. After an error, or after sse_in_stop,
 * nothing more is handed out. */
MUST_CHECK enum err sse_in_feed(struct sse_in *s, struct str bytes);
/* The body has ended: an event that lacks its blank line counts too. */
MUST_CHECK enum err sse_in_end(struct sse_in *s);
/* May be called from event(). */
void                sse_in_stop(struct sse_in *s);
/* Another body follows, e.g. from last_id on: what was unfinished is forgotten, last_id and
 * retry_ms stay. */
void                sse_in_again(struct sse_in *s);

#endif
