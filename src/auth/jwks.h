/* jwks.h -- an identity provider's keys from its address: fetched now and then, never waited for.
 *
 * At the start, every hour, and when somebody shows a token of a key that is not known
 * (at most once a minute, so that made-up names cannot make us a nuisance to the provider).
 * A fetch that fails changes nothing: the keys there are stay good, and it is tried again in a
 * minute; after five seconds while there are none. Redirects are not followed; https, or loopback,
 * is the configuration's rule.
 */
#ifndef PARLEY_JWKS_H
#define PARLEY_JWKS_H

#include "auth/jwt.h"
#include "loop/loop.h"

struct jwks;
/* begins to fetch; NULL: no memory */
struct jwks           *jwks_new(struct loop *l, struct str url, unsigned algorithms);
/* Ends what is being fetched; `done` is called when the memory is gone, at once for NULL. */
void                   jwks_free(struct jwks *j, void (*done)(void *ctx), void *ctx);
const struct jwt_keys *jwks_keys(const struct jwks *j); /* none yet: an empty set */
/* Newer keys are wanted. True: they are on their way. */
bool                   jwks_refresh(struct jwks *j);

#endif
