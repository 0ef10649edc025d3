/* config_help.h -- reads configurations that stand in a test, and looks at what is said about
 * them. */
#ifndef PARLEY_CONFIG_HELP_H
#define PARLEY_CONFIG_HELP_H

#include "base/buf.h"
#include "config/config.h"
#include "test.h"

extern struct config       c; /* what was read last, until config_done */
extern struct config_error e; /* and what was said about it */

/* No key of the machine the tests run on may decide them. */
void        quiet_env(void);
enum err    config_read(const char *text);
/* Is there an error at `line` (0: any) that says `part`? */
bool        config_says(unsigned line, const char *part);
bool        config_warns(const char *part);
/* Refused, once, at that line and with those words. */
bool        config_refused(const char *text, unsigned line, const char *part);
void        config_good(const char *text); /* ends the test when it is not */
/* A path in the tests' folder; the newest call wins. */
const char *config_path(const char *name);
/* A file with that text in the tests' folder. */
const char *config_file(const char *name, const char *text);

/* The key "foo", and a configuration's member with which somebody signs in. */
#define FOO       "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
#define SIGNED_IN "\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\",\"principal\":\"ada\"}]}"

#endif
