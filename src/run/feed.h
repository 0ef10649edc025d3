/* feed.h -- threads that this node holds, as another node asks for them.
 *
 * One `feeds` for each link that another node has opened to us. Texts come in (feeds_message), and
 * texts go out when the link can take them (feeds_next): what is asked for is made at that moment
 * from the threads as they are, so a link that is slow gets fewer and larger pieces, never a queue.
 * nodewords.h has the texts; mirror.h is the other end.
 *
 * A feed is a follower of its thread like any other. What a command was answered waits until the
 * facts before it went out, so that whoever reads the answer has them.
 */
#ifndef PARLEY_FEED_H
#define PARLEY_FEED_H

#include "base/buf.h"
#include "run/hub.h"

struct feeds;

/* `wake`: there is something to be asked for; cheap, any number of times. NULL: no memory. */
struct feeds *feeds_new(struct hub *h, void (*wake)(void *ctx), void *ctx);
/* The link is over. Commands that it brought go on, their answers are dropped. */
void          feeds_free(struct feeds *f);
/* False: that is no message of ours, or there is no memory for it: the link is of no use. */
bool          feeds_message(struct feeds *f, struct str text);
/* The next message into `text`, which is cleared first. False: nothing now. text->err: no memory,
 * the link is of no use. */
bool          feeds_next(struct feeds *f, struct buf *text);

#endif
