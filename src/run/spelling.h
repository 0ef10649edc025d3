/* spelling.h -- how the code of a question may be written (spoken.h).
 *
 * A code is four digits. People, and whoever wants to slip one past us, write them in many ways:
 *
 *     4821   ４８２１   ٤٨٢١   4️⃣8️⃣2️⃣1️⃣        digits of any script and dress
 *     48<zero width>21                     with anything between them that nobody sees
 *     4 8 2 1   48-21   4_8_2_1            in groups, with blanks, dashes or underscores between
 *     \u0034821                            as JSON escapes them
 *
 * One function finds them all, and it is the only one: what a person's answer is read with is what
 * finds the codes that no model is told (codes.h), so that there is no spelling that counts as a
 * yes and is passed on.
 *
 * Where it ends: a group of five digits or more is another number, and so are groups beside each
 * other that have not four digits together. A group of four is a code whatever stands beside it.
 */
#ifndef PARLEY_SPELLING_H
#define PARLEY_SPELLING_H

#include "base/str.h"

#define SPELLING_DIGITS 4
#define SPELLING_COUNT  10000  /* codes that there are */
#define SPELLING_BLANK  "****" /* what stands in its place */

struct spelled {
    size_t   at, len; /* in bytes */
    unsigned number;
    bool     grouped; /* not four digits in a row */
};

/* The next one at or behind `from`, which is 0 or the end of the one before. False: there is
 * none. */
bool spelling_next(struct str s, size_t from, struct spelled *out);
/* One that stands at the very beginning. */
bool spelling_first(struct str s, struct spelled *out);
/* Exactly four plain digits, as we write them. */
bool spelling_plain(struct str s, unsigned *number);
/* What people take for a blank; no end of a line. */
bool spelling_blank(uint32_t cp);

#endif
