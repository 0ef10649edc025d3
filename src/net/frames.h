/* frames.h -- the events of one encoded item as WebSocket texts, sent as far as
 * the room goes.
 *
 * An item (one fact, one slice) may be several texts, and one of them larger than the
 * room. The item is encoded into the scratch buffer, the framing marks where each text ends,
 * and frames_send sends from where it was cut; the caller keeps only `sent` and
 * encodes the same item again next time. Loop thread only: there is one scratch.
 */
#ifndef PARLEY_FRAMES_H
#define PARLEY_FRAMES_H

#include "net/conn.h"

struct buf *frames_begin(void);            /* an empty scratch for the next item */
void frames_mark(void);                    /* a text ends here */
/* True: all is out and *sent is 0 again. False: the room is used up. out->len never passes `end`. */
bool frames_send(struct source *s, struct buf *out, size_t end, size_t *sent);

#endif
