/* completions.h -- Chat Completions: an answer in one piece, and what both forms of it share. */
#ifndef PARLEY_COMPLETIONS_H
#define PARLEY_COMPLETIONS_H

#include "base/jsonw.h"
#include "run/response.h"

/* The whole answer of a response that is over. */
void        completion_write(struct jsonw *w, const struct fold *f, const struct fact *response,
                             struct str model, uint64_t end);
/* "stop", "tool_calls", "length", "content_filter"; NULL: it failed. */
const char *completion_reason(const struct fold *f, const struct fact *response, uint64_t end);

#endif
