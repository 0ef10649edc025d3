/* openai_int.h -- private to the readers of OpenAI-shaped bodies (openai_request.c: members and
 * tools; openai_items.c: messages and items). */
#ifndef PARLEY_OPENAI_INT_H
#define PARLEY_OPENAI_INT_H

#include "dialect/openai_request.h"

struct oai_read {
    struct arena       *a;
    struct oai_request *out;
    struct oai_refusal *why;
};

/* Always false. `param` is copied; NULL: none. `message` is static or in the arena. */
bool oai_refuse(struct oai_read *r, int status, const char *code, const char *param,
                const char *message);
/* "messages" or "input": the items, where the tail begins, and what it says. */
bool oai_read_items(struct oai_read *r, const struct jv *body);

#endif
