/* budget.h -- how much judging one turn of the loop may do.
 *
 * Schemas come from strangers and arguments from a model, so whatever compares the two pays by the
 * step, some ten nanoseconds each. One check ends after BUDGET_CHECK steps with "too complex to
 * check". Many calls may be judged in one turn of the loop, so the turn has a budget of its own,
 * from which every check takes what it used:
 *
 *     struct budget turn = { BUDGET_TURN };
 *     while (calls are left && turn.left) judge the next one with &turn;      the rest: in the next
 *     turn
 *
 * A check that has begun is brought to its end whatever the turn has left: there is no half
 * verdict, and a turn does at most BUDGET_TURN + BUDGET_CHECK steps.
 */
#ifndef PARLEY_BUDGET_H
#define PARLEY_BUDGET_H

#include "base/json.h"

/* under 5 ms at the worst; 100 KB of a model's rows against their schema take some 300,000, in 1.5
 * ms */
#define BUDGET_CHECK 500000u
#define BUDGET_TURN  500000u

struct budget {
    uint64_t left;
};

/* False, and nothing is left, when that is more than there is. */
bool     budget_pay(struct budget *b, uint64_t steps);
/* The check is over: what it used is taken from the turn (NULL: nobody counts). */
void     budget_close(const struct budget *check, struct budget *turn);
/* What jv_equal(a, b) may cost. */
uint64_t budget_equal(const struct jv *a, const struct jv *b);

#endif
