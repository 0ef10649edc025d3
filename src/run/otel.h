/* otel.h -- spans (spans.h) to a collector: OTLP over HTTP in its JSON form, POST
 * ENDPOINT/v1/traces.
 *
 * Never in the way: what is to be told waits in one buffer of OTEL_BYTES_MAX and goes out once a
 * second, one request at a time. A collector that is away is tried three times with growing pauses;
 * then, or when the buffer is full, spans are dropped and counted (parley_otel_spans_total).
 * Nothing is kept over a restart.
 */
#ifndef PARLEY_OTEL_H
#define PARLEY_OTEL_H

#include "base/buf.h"
#include "loop/curl.h"

#define OTEL_BYTES_MAX (4u << 20)

struct otel_header {
    struct str name, value; /* the value may be a secret */
};
struct otel_setup { /* read by otel_new only, but for the first two */
    struct loop              *loop;
    struct curl_pool         *pool;
    struct str                endpoint;
    const struct otel_header *headers;
    size_t                    header_count;
};

struct otel;
struct otel *otel_new(const struct otel_setup *s); /* NULL: no memory */
/* `count` spans, with commas between. */
void         otel_add(struct otel *o, struct str spans, unsigned count);
void         otel_metrics(const struct otel *o, struct buf *out); /* NULL: nothing */
/* Before the pool is closed, or after it; NULL is fine. */
void         otel_free(struct otel *o);

#endif
