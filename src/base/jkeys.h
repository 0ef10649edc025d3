/* jkeys.h -- the duplicate check of the JSON reader. Private to base/. */
#ifndef PARLEY_JKEYS_H
#define PARLEY_JKEYS_H

#include "base/json.h"

/* Decodes a checked string (raw: what stands between the quotes) into `out`,
 * which has room for raw.len bytes; returns the decoded length. */
size_t jkeys_unescape(struct str raw, char *out);

/* Notes a key of the innermost open object. ERR_EXISTS when it has it already. */
MUST_CHECK enum err jkeys_add(struct json *r, struct str raw, bool escaped);
void                jkeys_leave(struct json *r); /* the innermost object ends: forgets its keys */
void                jkeys_done(struct json *r);

#endif
