/* knock.h -- a socket that came in without saying who it is: its first message must, and soon.
 *
 * Who that is may be known before it may be answered by it: roles that are others than they were
 * are committed first (run/people.h). What the socket says meanwhile is kept, and heard after that,
 * in its order.
 *
 * A knock belongs to its socket, which ends it.
 */
#ifndef PARLEY_KNOCK_H
#define PARLEY_KNOCK_H

#include "door/app.h"

struct knock;
struct knock_calls {
    void (*silent)(void *ctx); /* nothing was said in time */
    /* after knock_note's ERR_BUSY: they may come in; or they cannot, and why */
    void (*noted)(void *ctx, enum err e);
};

struct knock           *knock_new(struct app *a, const struct knock_calls *calls, void *ctx);
void                    knock_end(struct knock *k); /* NULL is fine */
/* They are `p`, which is copied. OK: they may come in. ERR_BUSY: `noted` is called. ERR_NOMEM. */
MUST_CHECK enum err     knock_note(struct knock *k, struct principal *p);
bool                    knock_waits(const struct knock *k); /* for that; NULL: it does not */
/* A message that came meanwhile. False: that is too much. */
bool                    knock_keep(struct knock *k, struct str text);
/* The next of them, until the next call. False: there is none. */
bool                    knock_next(struct knock *k, struct str *text);
const struct principal *knock_who(const struct knock *k);

#endif
