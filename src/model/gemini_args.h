/* gemini_args.h -- arguments that Gemini streams as (path, value) pairs.
 *
 *     {"jsonPath":"$.recipe.steps[1]","stringValue":"Cook","willContinue":true}
 *
 * Values at the same path go on (strings are appended). The pairs build a tree that is
 * written out as JSON once the call is complete. Bounded in depth, members and bytes.
 */
#ifndef PARLEY_GEMINI_ARGS_H
#define PARLEY_GEMINI_ARGS_H

#include "base/jsonw.h"

struct gemini_args;

struct gemini_args *gemini_args_new(void); /* NULL: no memory */
void                gemini_args_free(struct gemini_args *a);
/* One entry of `partialArgs`. ERR_SYNTAX: a path or value we do not understand; ERR_FULL,
 * ERR_NOMEM. */
MUST_CHECK enum err gemini_args_add(struct gemini_args *a, const struct jv *pair);
void                gemini_args_write(const struct gemini_args *a, struct buf *out);

#endif
