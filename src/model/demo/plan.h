/* plan.h -- which rules of the script answer a message, clause by clause. */
#ifndef PARLEY_DEMO_PLAN_H
#define PARLEY_DEMO_PLAN_H

#include "model/demo/match.h"
#include "model/demo/script.h"

#define PLAN_MAX 8 /* clauses of one message */

struct plan_step {
    const struct demo_rule *rule;
    struct match            match;
};
struct plan {
    struct tokens    tokens; /* what the matches point at */
    struct plan_step steps[PLAN_MAX];
    size_t           count; /* at least 1 */
};

void plan_make(struct plan *p, struct str text);
/* Writes the rule's input with the slots of step i filled in; `item` is the value of rule->each. */
void plan_input(struct buf *out, const struct plan *p, size_t i, struct str item);
/* The next of the values in step i's `each` slot ("Tokyo", then "Osaka"); false: no more. Starts
 * with *at = 0. */
bool plan_each(const struct plan *p, size_t i, size_t *at, struct str *item);

#endif
