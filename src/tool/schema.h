/* schema.h -- does a value fit a JSON schema? The keywords tools use.
 *
 * type (also lists), properties, required, additionalProperties, enum, const, items, prefixItems,
 * minimum/maximum/exclusive*, multipleOf, minLength/maxLength (characters), minItems/maxItems,
 * uniqueItems, minProperties/maxProperties, pattern (a safe subset of ECMA regular expressions, linear time), anyOf/oneOf/allOf/not,
 * $ref inside the document ("#/$defs/x"), nullable, patternProperties. Unknown keywords are ignored, as the standard
 * says; so are patterns outside the subset and references that lead out of the document or nowhere: a
 * tool must distrust its input anyway, and one odd keyword must not make it unusable. Work
 * is bounded: a schema that recurses without consuming input ends with an error, and so does a value that
 * would take too long (some 20 million steps).
 */
#ifndef PARLEY_SCHEMA_H
#define PARLEY_SCHEMA_H

#include "base/buf.h"
#include "base/json.h"

/* OK, or ERR_TYPE with a sentence for the model in `why`: "/amount must be a number, not a string". */
MUST_CHECK enum err schema_check(const struct jv *schema, const struct jv *value, struct buf *why);

#endif
