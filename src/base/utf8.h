/* utf8.h -- strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef PARLEY_UTF8_H
#define PARLEY_UTF8_H

#include "base/str.h"

bool     utf8_valid(struct str s);
/* Length of the longest valid prefix. *cut tells whether what follows is only an unfinished
 * character. */
size_t   utf8_prefix(struct str s, bool *cut);
/* Decodes one character of valid or WTF-8 text at s.ptr; returns its length, 1 and U+FFFD for a bad
 * byte. s.len > 0. */
unsigned utf8_decode(struct str s, uint32_t *cp);
unsigned utf8_encode(uint32_t cp, char out[4]); /* surrogates give their WTF-8 bytes */
/* The largest n <= max such that the first n bytes end on a character boundary. */
size_t   utf8_cut(struct str s, size_t max);
/* Number of characters; and the byte length of the first `chars` of them. */
size_t   utf8_count(struct str s);
size_t   utf8_take(struct str s, size_t chars);
/* Not empty, at most `max` bytes, and no control characters: a name that may stand in a header, in
 * a program's environment and in a log line. */
bool     utf8_is_name(struct str s, size_t max);

#endif
