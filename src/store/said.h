/* said.h -- what was said in a fact, for searches: the person's message, or the words of the
 * model's step. Everything else of a conversation (what tools brought, what was attached) is not
 * looked at. Here, and in the statements that leave other kinds out, a store knows two kinds of
 * facts by name. Pure. */
#ifndef PARLEY_SAID_H
#define PARLEY_SAID_H

#include "base/arena.h"
#include "base/buf.h"

#define SAID_KINDS "('message', 'step')"
/* Of a longer body the beginning is looked at: what was written stands before what was attached. */
#define SAID_BODY_MAX 65536
#define SAID_BODY_SQL "65536"

/* Is `words` in it? Then *line is what stands around it, on one line, in `a`. A body that was cut,
 * or is damaged, is read as far as it goes. */
bool said_find(struct arena *a, struct str kind, struct str body, struct str words,
               struct str *line);

/* --- for an index of what was said ---------------------------------------------------------
 *
 * Both stores keep which three characters stand beside each other in a fact (a gram), in lower
 * case, and with them whose it is: so an index leads to facts of one person that may have the
 * words, and said_find tells which do. */

#define SAID_GRAM      3  /* characters; fewer are in no index */
#define SAID_GRAMS_MAX 16 /* of the words looked for; more would hardly leave out another fact */

/* Adds the words of a fact, in lower case, a part on each line, no NUL. */
void     said_words(struct buf *out, struct str kind, struct str body);
/* Adds three characters that stand for a person and in no language. */
void     said_owner(struct buf *out, struct str owner);
/* Takes the next gram off `text` (in lower case). False: it is over. */
bool     said_gram(struct str *text, struct str *gram);
/* One of 65,536 numbers, for an index of numbers. */
unsigned said_number(struct str gram);

#endif
