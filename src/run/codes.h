/* codes.h -- no model is told a code by which a person may say yes (spoken.h).
 *
 * Texts come to a model by many ways: words, instructions, files, a no's reason, what a page says
 * of itself, what a button was pressed with, the functions a client declares. All of them pass here
 * on their last step (codes_blank, wherever run/ starts a model), and digits that are a code are
 * made unreadable, however they are written (spelling.h): one that was ever told in this
 * conversation, or that waits in another one of the same person.
 *
 * The hub knows which wait: of what was asked since its start, and of every conversation that was
 * read since. What brief.h builds stays a pure function of the facts; only what is sent is blanked.
 */
#ifndef PARLEY_CODES_H
#define PARLEY_CODES_H

#include "run/hub.h"

struct thread;

/* What waits in it now: after a commit, after its log was read, and when it is gone. */
void                codes_note(struct thread *t);
void                codes_done(struct hub *h);
/* In place; new texts are in the arena. ERR_NOMEM: the request must not be sent. */
MUST_CHECK enum err codes_blank(const struct thread *t, struct arena *a, struct model_request *q);

#endif
