/* spans.h -- runs as OpenTelemetry sees them: a span for the run, one for each time the model was
 * asked and one for each call, also one that was denied; with the names of the GenAI conventions.
 *
 * Made from facts when a run has ended, so nothing is remembered meanwhile. The ids are computed
 * from those of the run, the step and the call: whoever is called learns its parent (traceparent,
 * W3C Trace Context) before the span is told of. No words of the conversation, no arguments, no
 * names of people are in a span.
 */
#ifndef PARLEY_SPANS_H
#define PARLEY_SPANS_H

#include "run/fold.h"
#include "store/store.h"

/* "00-" trace "-" span "-" flags, and a NUL */
#define TRACEPARENT 56

/* Is it one that can be followed: version 00, lower case, neither id all zeros? */
bool spans_valid(struct str traceparent);
/* What is sent along with a request to the model that is made from the first `upto` facts, and with
 * a call. */
void spans_step(const struct run *r, uint64_t upto, char out[TRACEPARENT]);
void spans_call(const struct run *r, struct str call, char out[TRACEPARENT]);

/* The spans of a run that has ended, with commas between; how many. 0: whoever began it does not
 * want it followed. */
unsigned spans_write(struct buf *out, const struct fold *f, const struct run *r,
                     struct log_name log);

#endif
