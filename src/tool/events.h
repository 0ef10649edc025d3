/* events.h -- server-sent events from bytes, with ids and retry times. Pure; bytes may be cut anywhere.
 *
 * Lines end with LF, CRLF or CR; data lines join with LF; an event without data
 * is not told, but its id counts (MCP primes streams with one). An event that
 * lacks its blank line at the end of the body is told too.
 */
#ifndef PARLEY_EVENTS_H
#define PARLEY_EVENTS_H

#include "base/buf.h"

struct events {
    void (*event)(struct events *e, struct str name, struct str data);   /* valid during the call */
    struct buf last_id;         /* of the last event that had one; empty: none */
    bool       has_id;
    long       retry_ms;        /* -1: never said */
    /* private */
    struct buf line, data, name, id;
    bool       has_data, skip_lf, id_seen, started;
};

void events_init(struct events *e, size_t event_max, void (*event)(struct events *, struct str, struct str));
void events_done(struct events *e);
MUST_CHECK enum err events_feed(struct events *e, struct str bytes);     /* ERR_FULL, ERR_NOMEM */
MUST_CHECK enum err events_end(struct events *e);

#endif
