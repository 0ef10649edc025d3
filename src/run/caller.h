/* caller.h -- on whose behalf a run goes: the person who began it, as the log has them.
 *
 * Their name, roles and claims stand in the fact that begins the run, so a restart, another process
 * or a yes tomorrow still knows them; an approver's are never looked at. What they may not use is
 * not there for them: neither for the model nor for a button.
 *
 * Templates: {principal}, {date} (the day on which the run began, UTC: a prompt that is sent again
 * after a crash is the same) and {claim.NAME}. A claim is a stranger's text; in a system prompt it
 * stands as it is, so that is what it may be trusted with.
 */
#ifndef PARLEY_CALLER_H
#define PARLEY_CALLER_H

#include "run/fold.h"
#include "tool/identity.h"

struct caller {
    struct str principal;
    struct str roles;  /* words with blanks between */
    struct str claims; /* JSON, as auth/principal.h has them; STR_NONE: none */
    int64_t    at_ms;  /* when the run began */
};

struct caller      caller_of(const struct run *r, struct str owner);
/* One of these roles is theirs, or none is wanted. */
static inline bool caller_has(const struct caller *c, const struct str *roles, size_t count)
{
    return !count || role_fits(roles, count, c->roles);
}
static inline bool caller_may_use(const struct caller *c, const struct tool *t)
{
    return caller_has(c, t->terms.roles, t->terms.role_count);
}
/* Their claims as a tree; NULL: none. */
const struct jv *caller_claims(struct arena *a, const struct caller *c);
/* The prompt with its templates filled in; what is not known is "unknown", any other brace stays.
 * STR_NONE: no memory, or no prompt. */
struct str       caller_prompt(struct arena *a, const struct caller *c, struct str prompt);
/* What a tool's `intent` and `ask` may say beside its arguments (intent.h), for a tool whose schema
 * does not declare an argument of that name. NULL: no memory. */
const struct jv *caller_known(struct arena *a, const struct caller *c, const struct jv *schema);

#endif
