/* log.h -- one JSON object per line to stderr; plain text when stderr is a terminal.
 *
 *     log_line(LOG_WARN, "store.full", "path", path, "free", "0", NULL);
 *
 * Event names are `module.what`. Keys and values are C strings or struct str via
 * log_str. Values are escaped, also for the terminal: untrusted text cannot move the
 * cursor. Never pass a secret. Any thread may log.
 */
#ifndef PARLEY_LOG_H
#define PARLEY_LOG_H

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SECURITY };

/* default LOG_INFO; LOG_SECURITY is always written */
void        log_level(enum log_level least);
/* Does a line wait until whoever reads stderr has room for it? True at first, which is right for a
 * command that ends. False in a server: lines that do not fit are lost, and counted in a line
 * `log.lost`. Concerns what stderr is at this moment. */
void        log_waits(bool waits);
/* Pairs of (const char *key, const char *value), ended by NULL. */
void        log_line(enum log_level l, const char *event, ...) __attribute__((sentinel));
/* A struct str as a C string for the call above: a copy in a small rotating
 * buffer (16 slots, cut at 512 bytes on a character boundary). */
const char *log_str(struct str s);
const char *log_int(int64_t v);

#endif
