/* marker.h -- [[tool:N]] in the text people read.
 *
 * The text of a run is woven from the model's words and one marker per outcome, set
 * off by blank lines, none leading, none doubled. Words that look like a marker are
 * escaped ([\[tool:), so that only we can place one. Weaving works on slices of any
 * size, so that the concatenation of what was streamed equals the final message byte for byte.
 */
#ifndef PARLEY_MARKER_H
#define PARLEY_MARKER_H

#include "base/buf.h"

struct marker_weave {
    bool     any, separate;
    unsigned newlines;
};

/* The next words begin a new paragraph. */
void   marker_paragraph(struct marker_weave *w);
/* Appends words to `out` (NULL: only keeps count). Returns how many bytes were taken: unless
 * `last`, a tail that may become a marker is left for the next time. */
size_t marker_words(struct marker_weave *w, struct buf *out, struct str words, bool last);
void   marker_put(struct marker_weave *w, struct buf *out, unsigned index);

#endif
