/* order.h -- text of others stands in the order in which it is stored, from left to right.
 *
 * Letters that are written from right to left turn around what stands beside and between them:
 * "100א 5000" is seen as another number. So where somebody decides by a text nothing turns anything
 * (an override), and only a stretch of such letters, isolated, is read from right to left: words of
 * Hebrew and Arabic stay words, a text wholly of them is as it was written, and every digit and
 * every Latin letter stands where it is stored. The page does the same (web/src/chat/order.ts,
 * whose test compares the lists).
 */
#ifndef PARLEY_ORDER_H
#define PARLEY_ORDER_H

#include "base/str.h"

/* Is its order to be looked after at all? */
bool   order_turns(struct str s);
/* How many bytes at its beginning are a stretch of letters that are read from right to left: words
 * with at most one sign and one blank between them. 0: it begins with something else. */
size_t order_stretch(struct str s);
/* Where the first of them begins; s.len: there is none. */
size_t order_plain(struct str s);
/* Does in one of its lines something stand beside such letters that they would have turned? */
bool   order_mixes(struct str s);

#endif
