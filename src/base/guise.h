/* guise.h -- text as it is, on a page without script: nothing hidden, nothing in disguise.
 *
 * "pаypal" with a Cyrillic а, "рау" of Cyrillic letters alone in a text that has nothing else of
 * that alphabet, words wholly of Lisu or Cherokee letters that look Latin, letters borrowed from
 * mathematics or phonetics, wide letters between narrow ones, digits of other scripts beside ours,
 * what is taken for a point or a slash; what cannot be seen or strikes out; blanks that push what
 * follows out of sight. The page judges by the same rules and lists (web/src/chat/reveal.ts).
 */
#ifndef PARLEY_GUISE_H
#define PARLEY_GUISE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends `s`, what is not what it seems spelled out: "p\u{0430}ypal", and counted where it comes
 * again: "5\u{0020 × 300}000". Ends of lines stay ends of lines. A text that is written in another
 * alphabet anyway stays as it is. The result is always valid UTF-8. */
void guise_show(struct buf *out, struct str s);
/* The same for what something is called by, which stands in one line: with lines of its own it
 * would pass for several. Ends of lines and tabs are spelled out like all that is hidden. */
void guise_name(struct buf *out, struct str s);

#endif
