/* brief.h -- what a model is asked: a pure function of the facts so far and of what they do not
 * have (struct brief_base: prompt, tools, limits).
 *
 * Asking (work.c) and telling afterwards what was asked (trace.h) are the same code.
 */
#ifndef PARLEY_BRIEF_H
#define PARLEY_BRIEF_H

#include "run/declared.h"
#include "run/history.h"
#include "run/hub.h"

struct brief_base {
    const struct registry *registry;
    const struct hub_page *page;
    size_t                 text_max; /* of a result that is told */
    unsigned               max_iterations;
};

/* What tools are called, for history.h; texts go into the arena. */
struct brief_names {
    const struct registry *registry;
    struct arena          *a;
};
struct history_names brief_names(struct brief_names *ctx);

/* The run has used up its iterations: an answer without calls is wanted. */
static inline bool brief_closes(const struct brief_base *b, const struct run *r)
{
    return r->iterations >= b->max_iterations;
}
/* The request that the newest run of `f` makes next. Everything is in the arena or borrowed.
 * ERR_NOMEM. */
MUST_CHECK enum err brief_build(struct arena *a, const struct brief_base *b, const struct fold *f,
                                struct log_name log, const struct declared_run *d,
                                struct model_request *q);

#endif
