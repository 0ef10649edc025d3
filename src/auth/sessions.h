/* sessions.h -- browsers that have proved who they are: a random id in a cookie, the rest in
 * memory.
 *
 * Why not a signed token in the cookie: an id can be taken back (sign out works at once), tells
 * nothing to who reads it, and there is no key to keep. The price is that a restart signs
 * everybody out; the page then asks again.
 *
 * The table is looked up by the id's SHA-256, so that the time a look-up takes says nothing about
 * the ids there are. A session ends `life_s` after it was last used, SESSIONS_HOURS after it began,
 * or when the token it was made with does, whichever comes first.
 *
 * Pure but for the random ids: the clock is the caller's. One owner, the loop thread.
 */
#ifndef PARLEY_SESSIONS_H
#define PARLEY_SESSIONS_H

#include "auth/principal.h"
#include "base/list.h"
#include "base/map.h"

#define SESSION_ID_LEN 43     /* 256 bits in base64url */
#define SESSIONS_MAX   100000 /* beyond, the one unused for longest goes */
#define SESSIONS_EACH  50     /* of one principal; beyond, their own unused for longest goes */
#define SESSIONS_HOURS 12

struct sessions {
    struct map  by_digest;
    struct list used; /* the one unused for longest first */
    unsigned    life_s;
};

void                sessions_init(struct sessions *s, unsigned life_s);
void                sessions_done(struct sessions *s);
/* Begins one for `p` (copied); writes the id and a NUL. ERR_NOMEM. */
MUST_CHECK enum err sessions_begin(struct sessions *s, const struct principal *p, int64_t now_s,
                                   char id[SESSION_ID_LEN + 1]);
/* Whose it is; counts as use. *out is borrowed until the next call. *fresh_s: how long the browser
 * may keep the cookie from now on, 0 when it knows that well enough. False: not one of ours, or
 * over. */
bool   sessions_find(struct sessions *s, struct str id, int64_t now_s, struct principal *out,
                     unsigned *fresh_s);
void   sessions_end(struct sessions *s, struct str id);
size_t sessions_count(const struct sessions *s);

#endif
