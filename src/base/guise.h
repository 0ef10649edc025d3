/* guise.h -- words that are taken for other words, because their letters look like Latin ones.
 *
 * "pаypal" with a Cyrillic а, "рау" of Cyrillic letters alone in a text that has nothing else of
 * that alphabet, letters borrowed from mathematics, wide letters between narrow ones. The page
 * judges by the same rules (web/src/chat/reveal.ts); this is for pages without script.
 */
#ifndef PARLEY_GUISE_H
#define PARLEY_GUISE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends `s`, the letters that only look Latin spelled out: "p\u{0430}ypal". A text that is
 * written in another alphabet anyway stays as it is. */
void guise_show(struct buf *out, struct str s);

#endif
