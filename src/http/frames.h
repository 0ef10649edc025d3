/* frames.h -- the events of one encoded item as WebSocket texts, sent as far as
 * the room goes.
 *
 * An item (one fact, one slice) may be several texts, and one of them larger than the
 * room. The item is encoded into the scratch buffer, the framing marks where each text ends,
 * and frames_send sends as far as the room goes. What is left is kept in the cut (held.h) and goes
 * out with frames_go_on; where there is no room to keep it, the caller encodes the same item again.
 * So only what can be encoded again may be cut. Facts can; what is true at the head of the log
 * (progress) is told whole or not at all, see encode_next(). Loop thread only: there is one
 * scratch.
 */
#ifndef PARLEY_FRAMES_H
#define PARLEY_FRAMES_H

#include "http/conn.h"
#include "http/held.h"

/* Where the item at the cursor was cut: bytes of it that are out (0: none), how many it has, and
 * itself if it is kept. */
struct frames_cut {
    size_t       sent, whole;
    struct held *held;
};

struct buf *frames_begin(void); /* an empty scratch for the next item */
void        frames_mark(void);  /* a text ends here */
/* the scratch was truncated to the end of a text: forget those behind it */
void        frames_drop(void);
size_t      frames_count(void); /* texts of this item so far */
/* True: all is out and cut->sent is 0 again. False: the room is used up; or nothing was given
 * because the item is not the one that was cut, which ends the connection (a source that says
 * "more" and gives none). out->len never passes `end`. */
bool        frames_send(struct source *s, struct buf *out, size_t end, struct frames_cut *cut);
/* Keeps the item that frames_send could not finish; `then` is given back by frames_go_on. False:
 * encode it again. */
bool        frames_keep(struct frames_cut *cut, int then);
/* The same as frames_send, for a cut that holds its item: true when the last of it is out, which
 * frees it. */
bool frames_go_on(struct source *s, struct buf *out, size_t end, struct frames_cut *cut, int *then);
size_t frames_held(const struct frames_cut *cut); /* texts of the item it holds */
void   frames_forget(struct frames_cut *cut);     /* whoever owns the cut goes */

#endif
