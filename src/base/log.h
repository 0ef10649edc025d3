/* log.h -- one JSON object per line to stderr; plain text when stderr is a terminal.
 *
 *     log_line(LOG_WARN, "store.full", "path", path, "free", log_int(0), NULL);
 *     log_about(LOG_INFO, &about, "tool.finished", "tool", name, "ms", log_int(12), NULL);
 *
 * Event names are `module.what`. Keys and values are C strings, struct str via log_str, or numbers
 * via log_int, which are numbers in the JSON, too. Values are escaped, also for the terminal:
 * untrusted text cannot move the cursor. Never pass a secret. Any thread may log.
 */
#ifndef PARLEY_LOG_H
#define PARLEY_LOG_H

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SECURITY };

/* default LOG_INFO; LOG_SECURITY is always written */
void log_level(enum log_level least);
/* Does a line wait until whoever reads stderr has room for it? True at first, which is right for a
 * command that ends. False in a server: lines that do not fit are lost, and counted in a line
 * `log.lost`. Concerns what stderr is at this moment. */
void log_waits(bool waits);
/* Pairs of (const char *key, const char *value), ended by NULL. */
void log_line(enum log_level l, const char *event, ...) __attribute__((sentinel));
/* Of which conversation, run, person and call it is: these come first, as "thread", "run",
 * "principal" and "call". What is empty is left out. */
struct log_about {
    struct str thread, run, principal, call;
};
void log_about(enum log_level l, const struct log_about *about, const char *event, ...)
    __attribute__((sentinel));
/* A struct str as a C string for the calls above: a copy in a small rotating
 * buffer (16 slots, cut at 512 bytes on a character boundary). */
const char *log_str(struct str s);
/* A number, in a rotating buffer of its own (16 slots): that is how it is known to be one. */
const char *log_int(int64_t v);

#endif
