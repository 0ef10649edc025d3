/* schema.h -- does a value fit a JSON schema? The keywords tools use.
 *
 * type (also lists), properties, required, additionalProperties, enum, const, items, prefixItems,
 * minimum/maximum/exclusive*, multipleOf, minLength/maxLength (characters), minItems/maxItems,
 * uniqueItems, minProperties/maxProperties, pattern (a safe subset of ECMA regular expressions,
 * linear time), anyOf/oneOf/allOf/not, $ref inside the document ("#/$defs/x"), nullable,
 * patternProperties. Unknown keywords are ignored, as the standard says; so are patterns outside
 * the subset and references that lead out of the document or nowhere: a tool must distrust its
 * input anyway, and one odd keyword must not make it unusable. Work is bounded, whoever wrote the
 * schema and the value: every step is paid for (budget.h).
 */
#ifndef PARLEY_SCHEMA_H
#define PARLEY_SCHEMA_H

#include "base/buf.h"
#include "tool/budget.h"

/* OK, or a sentence for the model in `why`. ERR_TYPE: it does not fit ("/amount must be a number,
 * not a string"). ERR_RANGE: nobody can tell, because the check would take too long or the schema
 * runs in circles; that is no fit either. What it cost is taken from `turn`; NULL when nobody
 * counts. */
MUST_CHECK enum err schema_check(const struct jv *schema, const struct jv *value,
                                 struct budget *turn, struct buf *why);

#endif
