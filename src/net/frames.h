/* frames.h -- the events of one encoded item as WebSocket texts, sent as far as
 * the room goes.
 *
 * An item (one fact, one slice) may be several texts, and one of them larger than the
 * room. The item is encoded into the scratch buffer, the framing marks where each text ends,
 * and frames_send sends from where it was cut; the caller keeps only the cut and
 * encodes the same item again next time: an output of megabytes costs a slow reader nothing.
 * So only what can be encoded again may be cut. Facts can; what is true at the head of the log
 * (progress) is told whole or not at all, see encode_next(). Loop thread only: there is one scratch.
 */
#ifndef PARLEY_FRAMES_H
#define PARLEY_FRAMES_H

#include "net/conn.h"

/* Where the item at the cursor was cut: bytes of it that are out (0: none), and how many it has. */
struct frames_cut { size_t sent, whole; };

struct buf *frames_begin(void);            /* an empty scratch for the next item */
void frames_mark(void);                    /* a text ends here */
void frames_drop(void);                    /* the scratch was truncated to the end of a text: forget those behind it */
size_t frames_count(void);                 /* texts of this item so far */
/* True: all is out and cut->sent is 0 again. False: the room is used up; or nothing was given because the item is
 * not the one that was cut, which ends the connection (a source that says "more" and gives none). out->len never passes `end`. */
bool frames_send(struct source *s, struct buf *out, size_t end, struct frames_cut *cut);

#endif
