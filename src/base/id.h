/* id.h -- names that nobody can guess or repeat: 128 random bits in 22 characters of
 * [A-Za-z0-9_-]. */
#ifndef PARLEY_ID_H
#define PARLEY_ID_H

#include "base/arena.h"

#define ID_LEN 22
#define ID_MAX 160 /* the longest id we mint or accept, with prefixes */

/* prefix + 22 characters, in the arena. The system's random source failing is fatal. */
struct str id_new(struct arena *a, const char *prefix);
void       id_bytes(void *out, size_t len); /* random bytes */
/* random letters of the same kind, six bits each: for secrets of any length */
void       id_letters(char *out, size_t len);
/* [A-Za-z0-9_-]{1,max} */
bool       id_valid(struct str s, size_t max);
/* "msg_NAME_7" of prefix, separator, `of` and n (negative: none), in `out`, as much as fits: by
 * hand, because dialects make one with every delta. */
struct str id_join(char *out, size_t room, const char *prefix, char separator, struct str of,
                   int64_t n);

#endif
