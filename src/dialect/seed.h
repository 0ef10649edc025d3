/* seed.h -- what the doors of the two seeds have in common: which facts they tell,
 * where a stream of one run stops for a person, and the news of running tools.
 * How each is worded is the dialect's own (typed.c, toolcalls.c).
 */
#ifndef PARLEY_SEED_H
#define PARLEY_SEED_H

#include "dialect/dialect.h"

struct seed_words {
    void (*asked)(struct encoder *e, const struct fact *f, const struct call *c);
    void (*started)(struct encoder *e, const struct fact *f, const struct call *c);
    void (*finished)(struct encoder *e, const struct fact *f, const struct call *c);
    /* Nothing moves until somebody answers. One unit. */
    void (*waits)(struct encoder *e, const struct thread *t, const struct run *r, uint64_t seq);
    void (*ended)(struct encoder *e, const struct thread *t, const struct fact *f);
    void (*progress)(struct encoder *e, const struct call *c);
};

void seed_fact(struct encoder *e, const struct thread *t, const struct fact *f,
               const struct seed_words *say);
/* At the head: the progress that was not told yet. */
void seed_progress(struct encoder *e, const struct thread *t, const struct seed_words *say);

#endif
