/* route.h -- method and path to handler, by one table. Pure.
 *
 * A pattern is matched segment by segment: "{}" (or "{name}") takes one segment
 * that is not empty, a last "*" takes the rest. What they took stands in
 * q->param, in order. "{*}" takes one whatever its name is, also "a/b" or ".." that came escaped;
 * an address with such an escape (q->odd) fits nowhere else. The first entry that fits wins; a lone
 * star is asked only about addresses that no other entry has, for any method. The method "*" is
 * every one. HEAD is answered by the GET entry (conn leaves the body out); OPTIONS is an entry like
 * any other.
 */
#ifndef PARLEY_ROUTE_H
#define PARLEY_ROUTE_H

#include "http/conn.h"

struct route_match {
    const struct route *route; /* NULL: 404, or 405 when `allow` has something */
    /* the methods that this path takes, for the Allow header; in q->arena */
    struct str          allow;
    /* the route's; of a path that does not take this method, that of another one there. NULL:
     * none */
    const struct door  *door;
};

struct route_match route_find(const struct route *routes, struct request *q);
/* Whose clients ask for such an address, though there is nothing at it: the door of the route of
 * whose pattern most plain segments stand at its beginning. NULL: nobody's. */
const struct door *route_near(const struct route *routes, struct str path);
/* `odd`: the path has such an escape, and what it stands for goes here; NULL: it has none. */
bool route_matches(const char *pattern, struct str path, struct arena *odd, struct str param[4]);

#endif
