/* plain.h -- what the two doors of plain typed events have in common: their memory, which facts
 * they tell, where a stream of one run stops for a person, and the news of running tools. How each
 * is worded is the dialect's own (typed.c, toolcalls.c).
 *
 * Places are the same on both: a client of the one may come back on the other's event stream.
 */
#ifndef PARLEY_PLAIN_H
#define PARLEY_PLAIN_H

#include "dialect/dialect.h"

struct plain {
    /* now; and at the last fact, for words that are lost */
    struct marker_weave weave, weave_before;
    /* the place right after the beginning of the text at hand: the blank line before its words has
     * it */
    uint64_t            part_units;
    uint64_t            gate_told; /* seq of the gate this stream ended at */
    /* the last `complete`, or where a continuation's stream began: what is told since then is
     * new */
    uint64_t            told_from;
    uint64_t            status_seq; /* the head for which "Thinking..." was told */
    unsigned            index;      /* outcomes told in this run */
    bool                reasoning;  /* it was asked for */
};
static inline struct plain *plain_of(const struct encoder *e)
{
    _Static_assert(sizeof(struct plain) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

struct plain_words {
    void (*asked)(struct encoder *e, const struct fact *f, const struct call *c);
    void (*started)(struct encoder *e, const struct fact *f, const struct call *c);
    void (*finished)(struct encoder *e, const struct fact *f, const struct call *c);
    /* Nothing moves until somebody answers. One unit. */
    void (*waits)(struct encoder *e, const struct thread *t, const struct run *r, uint64_t seq);
    void (*ended)(struct encoder *e, const struct thread *t, const struct fact *f);
    void (*progress)(struct encoder *e, const struct call *c);
};

void plain_start(struct encoder *e, const struct stream_start *s);
void plain_continues(struct encoder *e);
/* The words since the last fact are lost: the next begin as if they had not been said. */
void plain_take_back(struct encoder *e);
void plain_fact(struct encoder *e, const struct thread *t, const struct fact *f,
                const struct plain_words *say);
/* At the head: the progress that was not told yet. */
void plain_progress(struct encoder *e, const struct thread *t, const struct plain_words *say);

#endif
