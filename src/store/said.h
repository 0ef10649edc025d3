/* said.h -- what was said in a fact, for searches: the person's message, or the words of the
 * model's step. Everything else of a conversation (what tools brought, what was attached) is not
 * looked at. Here, and in the statements that leave other kinds out, a store knows two kinds of
 * facts by name. Pure. */
#ifndef PARLEY_SAID_H
#define PARLEY_SAID_H

#include "base/arena.h"

#define SAID_KINDS "('message', 'step')"
/* Of a longer body the beginning is looked at: what was written stands before what was attached. */
#define SAID_BODY_MAX 65536

/* Is `words` in it? Then *line is what stands around it, on one line, in `a`. A body that was cut,
 * or is damaged, is read as far as it goes. */
bool said_find(struct arena *a, struct str kind, struct str body, struct str words,
               struct str *line);

#endif
