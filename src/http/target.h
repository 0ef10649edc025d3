/* target.h -- the address of a request: target, Host and query. Pure.
 *
 * What comes out of target_parse can be compared segment by segment: escapes are
 * decoded once, and whatever two readers could take for different paths ("..",
 * control characters, bad UTF-8) is refused. With an escaped slash or escaped dots in
 * it (q->odd) the path stays as it was sent, and whoever takes it splits it first.
 */
#ifndef PARLEY_TARGET_H
#define PARLEY_TARGET_H

#include "http/conn.h"

/* Sets q->path and q->query from the request target; the headers must be there,
 * because an absolute target is taken only when its host is the one in Host.
 * ERR_SYNTAX with a plain sentence in *why, ERR_NOMEM. */
MUST_CHECK enum err target_parse(struct request *q, struct str target, const char **why);
/* name, IPv4 or [IPv6], and perhaps :port. */
bool                target_host_valid(struct str host);
/* %XX of a path or of one segment; bad escapes stay as they are. STR_NONE: no memory. */
struct str          target_decode(struct arena *a, struct str s);
/* "." or "..": elsewhere, for whoever follows it. */
bool                target_is_dots(struct str segment);
/* %XX and '+' as forms write them; bad escapes stay as they are. STR_NONE: no memory. */
struct str          target_decode_form(struct arena *a, struct str s);
int                 hex_value(char c); /* -1: not a hexadecimal digit */

#endif
