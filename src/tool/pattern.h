/* pattern.h -- the `pattern` of a JSON schema: a subset of ECMA regular
 * expressions that is matched in time linear in the text.
 *
 * Known: literals, ., classes with ranges, \d \w \s and their opposites, \b \B,
 * ^ $, groups (capturing or not; nothing is captured), |, * + ? {n,m} greedy or
 * lazy, \t \n \r \f \v \0 \xHH \uHHHH \u{H...}, and escaped punctuation. Texts are
 * matched by character, not by byte. Not known: look-around, back references,
 * \p{...}. Schemas come from strangers (MCP servers), hence no backtracking: a pattern is compiled
 * into a small program and all its ways are followed at once.
 */
#ifndef PARLEY_PATTERN_H
#define PARLEY_PATTERN_H

#include "base/arena.h"

struct pattern;

/* The pattern in the arena. ERR_UNSUPPORTED: outside the subset, or too large
 * once its repetitions are written out. ERR_SYNTAX, ERR_NOMEM. */
MUST_CHECK enum err pattern_compile(struct arena *a, struct str source, struct pattern **out);

/* Is there a match anywhere in `text`? Every step is taken from *work; ERR_RANGE
 * when that is used up. ERR_NOMEM. */
MUST_CHECK enum err pattern_search(struct pattern *p, struct str text, uint64_t *work, bool *found);

#endif
