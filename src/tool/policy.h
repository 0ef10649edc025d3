/* policy.h -- does this call need a person's yes?
 *
 * `confirm` in the configuration: "never", "always", or {"when": C} where C is a
 * condition {"pointer":"/amount","op":">","value":100} (op: == != > >= < <= in contains
 * matches-prefix exists) or a list of conditions, which means "any of them". A condition on a
 * member that is absent or of another type than it can be compared with holds (asks): when in
 * doubt, a person is asked. So does one on a member that has a twin: {"amount":50,"Amount":5000} or
 * {"AMOUNT":5000} means 5000 to a receiver that is careless about names (glyph.h says which names
 * are alike), here and at every object on the pointer's way. Numbers are compared as they are
 * written, digit by digit, never through a double.
 */
#ifndef PARLEY_POLICY_H
#define PARLEY_POLICY_H

#include "base/buf.h"
#include "tool/budget.h"
#include "tool/tool.h"

/* Checks a `confirm` value of the configuration and stores it in t; *why is a sentence on error. */
MUST_CHECK enum err policy_read(struct tool *t, const struct jv *confirm, const char **why);
/* What deciding cost is taken from `turn` (budget.h; NULL: nobody counts). Arguments too large to
 * be looked at are asked about. */
bool                policy_asks(const struct tool *t, const struct jv *args, struct budget *turn);

/* Where a pointer leads in the arguments; *out NULL: nowhere. False: in doubt, not everybody would
 * read the same there (a twin), or it is too far to look. */
MUST_CHECK bool policy_find(const struct jv *args, struct str pointer, const struct jv **out);
/* Does a condition (or one of a list, as in `confirm`) hold? In doubt it does. NULL: what is wrong
 * with one. */
bool            policy_holds(const struct jv *when, const struct jv *args, struct budget *turn);
/* Does it hold without a doubt? */
bool            policy_surely(const struct jv *when, const struct jv *args, struct budget *turn);
const char     *policy_when_fault(const struct jv *when);

/* A call was stopped by a person; `begun`: its request left, or its program ran. Appends a sentence
 * for the model. Once begun it is TOOL_UNKNOWN, and a person settles it (not of an idempotent tool:
 * run/ sees to that). */
enum tool_outcome policy_stopped(bool begun, struct buf *text);

#endif
