/* sight.h -- what of a question somebody may read beside the request itself: approvals.context.
 *
 * The row of a question has the words that led to it (`said`). Whose conversation it is reads them
 * anyway; with "none" nobody else does, by whatever way the row reaches them: the list, an event, a
 * signed link's page, a webhook. Each of them asks here, and nowhere else is it decided.
 */
#ifndef PARLEY_SIGHT_H
#define PARLEY_SIGHT_H

#include "base/buf.h"
#include "run/hub.h"

/* May `reader` read the words that led to a question of `owner`? STR_NONE: a program that tells
 * others, who are not known. */
bool sight_words(const struct hub *h, struct str owner, struct str reader);
/* The row, as they may read it. */
void sight_row(struct buf *out, const struct hub *h, struct str owner, struct str reader,
               struct str body);

#endif
