/* step.h -- the step the model is speaking now, and how a place in it is numbered.
 *
 * The open step is not durable: it grows by deltas and is replaced by the `step`
 * fact that closes it. A follower's place inside is one number, its offset, and
 * it means the same in the open step and in the fact: parts in order, each counting
 * one for its beginning, its bytes, and one for its end. So a cursor taken in the middle of a
 * word is still right when the step has long been committed.
 */
#ifndef PARLEY_STEP_H
#define PARLEY_STEP_H

#include "run/fact.h"

struct open_step {
    struct arena arena; /* ids, names, opaque texts */
    /* the text of all parts, one after the other: a delta costs a memcpy */
    struct buf   bytes;
    struct part *parts; /* text points into `bytes`; re-pointed when it moves */
    size_t       count, cap;
    bool         active;
    uint64_t     no; /* grows with every beginning and clearing: is it still the same one? */
};

void                step_begin(struct open_step *s);
void                step_clear(struct open_step *s); /* gives the memory back */
/* Appends to the open part of that type; begins one when another (or none) is open. */
MUST_CHECK enum err step_text(struct open_step *s, enum part_type type, struct str delta);
/* Begins a part of that type, still empty. NULL: no memory. */
struct part        *step_part(struct open_step *s, enum part_type type);
MUST_CHECK enum err step_opaque(struct open_step *s, struct str json);
/* A new call part, or NULL without memory. The strings are copied. It is unjudged; if another part
 * begins before its end was seen, it is bad for good. */
struct part        *step_call(struct open_step *s, struct str call, struct str provider_id,
                              struct str tool);
/* Closes the open part: its end was seen, and a call was judged. */
void                step_close_part(struct open_step *s);
struct part        *step_last(struct open_step *s); /* NULL: no parts */

/* Parts, committed or open, as a follower walks them. */
/* open: the last part may still grow */
struct parts {
    const struct part *at;
    size_t             count;
    bool               open;
};
/* all units; an open last part counts without its end unless complete */
uint64_t parts_len(struct parts p);

struct piece { /* what stands at an offset */
    enum { PIECE_NONE, PIECE_BEGIN, PIECE_BYTES, PIECE_END } what;
    const struct part *part;
    size_t             index;
    /* PIECE_BYTES: from the offset to what there is of the part */
    struct str         bytes;
    bool               last; /* PIECE_BYTES: the part is complete after these bytes */
};
struct piece parts_at(struct parts p, uint64_t offset);

#endif
