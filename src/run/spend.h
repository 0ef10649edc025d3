/* spend.h -- what models cost, and how much of it somebody may use.
 *
 * A step's tokens, and what they come to by the prices of the model that said it, stand in its
 * fact, and what they add to stands in the same append: per principal and day, per role and day,
 * for all together. What a conversation has cost is the sum of its facts. Money is counted in
 * millionths of the currency, as whole numbers; a part of one counts as one.
 *
 * Budgets are looked at before each call of a model, from the store: what another process has used
 * meanwhile counts too, and a restart forgets nothing. A day is a day in UTC. Beyond a hard limit
 * the run ends in words. Beyond a soft one somebody is asked: an approval like any other, of a
 * built-in tool that does nothing. A yes is good for this conversation until the day is over; a no
 * ends the run. A step that began below a limit is finished, so a limit may be passed by as much as
 * what speaks at that moment.
 */
#ifndef PARLEY_SPEND_H
#define PARLEY_SPEND_H

#include "store/store.h"

/* The tool that stands for "may it go on?", and who makes its steps. */
#define SPEND_TOOL     "exceed_budget"
#define SPEND_PROVIDER "parley"

struct call;

enum spend_for { SPEND_PRINCIPAL, SPEND_ROLE, SPEND_THREAD, SPEND_ALL };

struct spend_limit { /* 0: none */
    int64_t soft, hard;
};

struct spend_rule {
    enum spend_for     of;
    /* SPEND_ROLE: all who have it, together; SPEND_PRINCIPAL: each who has it (STR_NONE:
     * everybody) */
    struct str         role;
    struct spend_limit tokens, cost; /* cost in millionths */
};

/* How a sum is called in the store, with the day as its number: `what` is "tokens" or "cost". */
struct str spend_key(struct arena *a, const char *what, enum spend_for of, struct str name);
int64_t    spend_day(int64_t at_ms);
/* What so many tokens cost, by prices per million of them. */
int64_t    spend_cost(int64_t input, int64_t output, int64_t price_in, int64_t price_out);
bool       spend_is_question(const struct call *c);

/* Lists SPEND_TOOL. */
struct registry;
MUST_CHECK enum err spend_tool_add(struct registry *r);

/* --- sums, read from the store ---------------------------------------------------------------- */

#define SPEND_SUMS_MAX 32
struct spend_reading {
    struct store *store;
    struct arena  arena; /* for the keys */
    int64_t       day;
    size_t        count, left;
    bool          failed;
    struct spend_sum {
        struct spend_reading *of;
        struct store_list     list;
        struct str            key;
        int64_t               amount;
    } sums[SPEND_SUMS_MAX];
    void (*done)(struct spend_reading *r); /* frees it by spend_reading_free */
    void *ctx;
};
/* NULL: no memory */
struct spend_reading *spend_reading_new(struct store *s, int64_t day);
/* The place of the sum that is to be read; the same key is read once. -1: no memory, or too
 * many. */
int                   spend_want(struct spend_reading *r, struct str key);
/* At least one is wanted. `done` comes later. */
void                  spend_read(struct spend_reading *r);
void                  spend_reading_free(struct spend_reading *r);

#endif
