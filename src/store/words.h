/* words.h -- does a text contain these words, in any case? Databases know the case of ASCII only,
 * or as their locale has it; stores ask here. Pure. */
#ifndef PARLEY_WORDS_H
#define PARLEY_WORDS_H

#include "base/buf.h"

/* Where they begin first; -1: nowhere. `words` has at least one character. */
ptrdiff_t words_at(struct str text, struct str words);
bool      words_in(struct str text, struct str words);
/* Adds it in lower case: texts that have the same words in any case become the same. NUL, which
 * ends a text elsewhere, is a space. */
void      words_lower(struct buf *out, struct str text);

#endif
