/* follow.h -- a cursor on a thread that feeds one connection.
 *
 * When the connection can take bytes, the encoder is asked for what lies between
 * its place and the head. A slow client gets fewer and larger deltas, never a
 * growing queue. An event larger than the room is sent in slices (held.h).
 */
#ifndef PARLEY_FOLLOW_H
#define PARLEY_FOLLOW_H

#include "dialect/dialect.h"
#include "door/app.h"

#define FOLLOW_HEARTBEAT_MS 15000

struct follow_start {
    const struct dialect *dialect;
    enum stream_mode      mode;
    struct str            run;        /* STREAM_RUN */
    uint64_t              seq, units; /* from here */
    bool                  replay;     /* a known run again: no opening, past gates quiet */
    bool                  reasoning;
    bool                  native; /* AI SDK doors: native approval form */
    /* /live, adk form, parley.sse.v1: one turn is one run */
    bool                  whole;
    /* of a run that was told up to here by another stream */
    bool                  continuation;
};
/* Answers the connection with the stream (Parley-Thread and Parley-Run set). */
void follow_stream(struct conn *c, struct thread *t, const struct follow_start *s);

/* Only the cursor: puts an encoder where a stream is to begin. */
void follow_place(struct encoder *e, const struct thread *t, const struct follow_start *s);

#endif
