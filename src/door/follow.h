/* follow.h -- a cursor on a thread that feeds one connection.
 *
 * When the connection can take bytes, the encoder is asked for what lies between
 * its place and the head. A slow client gets fewer and larger deltas, never a
 * growing queue.
 */
#ifndef PARLEY_FOLLOW_H
#define PARLEY_FOLLOW_H

#include "dialect/dialect.h"
#include "door/app.h"

#define FOLLOW_HEARTBEAT_MS 15000

/* Its reader went, and nobody can read it later: unless somebody else still looks, on whichever
 * node, what was begun comes to its end, and no model goes on (CMD_STOP, gently). */
void follow_leave(struct hub *h, struct thread *t, struct str owner, struct str response);

/* Answers the connection with the stream (Parley-Thread and Parley-Run set). */
void follow_stream(struct conn *c, const struct dialect *d, struct thread *t,
                   const struct stream_start *s);
/* The same as one JSON list, for clients that wait for the whole. */
void follow_list(struct conn *c, const struct dialect *d, struct thread *t,
                 const struct stream_start *s);
/* The same behind whole events that the dialect does not make; takes the buffer. */
void follow_after(struct conn *c, const struct dialect *d, struct thread *t,
                  const struct stream_start *s, struct buf *first);

#endif
