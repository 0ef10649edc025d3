/* sessions.h -- browsers that have proved who they are: a random id in a cookie, a row in the
 * store, and here what was read of it a moment ago.
 *
 * Why not a signed token in the cookie: an id can be taken back (sign out works), tells nothing to
 * who reads it, and there is no key to keep. Because the rest is a row, every node knows it and a
 * restart signs nobody out. A row is believed for SESSION_FRESH_MS, then read again: what was ended
 * on another node is over here within that time.
 *
 *     browser ── id ──> session_key() ──> the row's key, a hash: never the id itself
 *     sessions_begin()            a new row, to be put into the store, then learned
 *     sessions_look()             known, none, or to be read first
 *     sessions_learn(), _none()   what the store said
 *
 * Keys of one person's rows begin alike ("browser/" and some letters of a hash of the name, with
 * which the id begins, too), so that the store can count them (store_session.each). Rows
 * are looked up by SHA-256, so that the time a look-up takes says nothing about the ids there are.
 *
 * A session ends `life_s` after it was last used, SESSIONS_HOURS after it began, or when the token
 * it was made with does, whichever comes first. Its row is written again when it would end a
 * twentieth of that life too early, so other nodes may end it so much sooner.
 *
 * Pure but for the random ids: the clocks are the caller's. One owner, the loop thread.
 */
#ifndef PARLEY_SESSIONS_H
#define PARLEY_SESSIONS_H

#include "auth/principal.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"

#define SESSION_ID_LEN   43 /* sixteen that say whose, and 162 random bits */
#define SESSION_TAG_LEN  16
#define SESSION_KEY_LEN  (8 + SESSION_TAG_LEN + 1 + 64)
#define SESSION_FRESH_MS 2000
#define SESSIONS_EACH    50 /* rows of one principal; beyond, those that end first go */
#define SESSIONS_HOURS   12
/* What is remembered here: beyond, what was unused for longest is read again when it is used. */
#define SESSIONS_MAX  10000
#define SESSIONS_NONE 1000 /* keys without a row: apart, so that strangers crowd nobody out */

struct sessions {
    struct map  by_key;
    struct list used;    /* the one unused for longest first */
    struct list none;    /* keys that have no row, the oldest first */
    struct map  reading; /* rows that are being read: door/sessionrow.c */
    size_t      nones;
    unsigned    life_s;
};

struct session_row {
    struct str key, body;
    int64_t    ends_ms;
};

void sessions_init(struct sessions *s, unsigned life_s);
void sessions_done(struct sessions *s);

/* How the keys of one person's rows begin, up to the last "/", and a NUL. False: no memory. */
#define SESSION_FAMILY_LEN (8 + SESSION_TAG_LEN + 1)
MUST_CHECK bool     session_family(struct str name, char out[SESSION_FAMILY_LEN + 1]);
/* The key of that cookie's row, and a NUL; false: it is no id. */
MUST_CHECK bool     session_key(struct str id, char key[SESSION_KEY_LEN + 1]);
/* A session for `p`: its id and a NUL, and its row, in `mem`. It counts once it is in the store and
 * was learned. ERR_NOMEM. */
MUST_CHECK enum err sessions_begin(const struct sessions *s, const struct principal *p,
                                   int64_t wall_ms, char id[SESSION_ID_LEN + 1], struct arena *mem,
                                   struct session_row *row);

enum session_is { SESSION_IS_NONE, SESSION_IS_KNOWN, SESSION_IS_UNREAD };
struct session_seen {
    struct principal who;     /* borrowed until the next call */
    unsigned         fresh_s; /* so long may the browser keep its cookie; 0: it knows */
    bool             write;   /* its row is to be written again: sessions_row */
};
/* Counts as use. `now_s` by the wall clock, `now_ms` by the monotonic one. */
enum session_is sessions_look(struct sessions *s, struct str key, int64_t now_s, uint64_t now_ms,
                              struct session_seen *out);
/* The row as it should be now, in `mem`. ERR_NOT_FOUND: not known here; ERR_NOMEM. */
MUST_CHECK enum err sessions_row(const struct sessions *s, struct str key, struct arena *mem,
                                 struct session_row *row);

/* What a row says, its texts in `mem`; *told_s: what the browser was told last. False: it cannot be
 * read. */
MUST_CHECK bool     session_read(struct str body, struct arena *mem, struct principal *p,
                                 int64_t *told_s);
/* It is in the store, asked for at `asked_ms`; `p` is copied. ERR_NOMEM. */
MUST_CHECK enum err sessions_learn(struct sessions *s, const struct session_row *row,
                                   const struct principal *p, int64_t told_s, uint64_t asked_ms,
                                   uint64_t now_ms);
/* It is not there, or counts for nothing. ERR_NOMEM: it is not known here. */
enum err sessions_none(struct sessions *s, struct str key, uint64_t asked_ms, uint64_t now_ms);
size_t   sessions_count(const struct sessions *s); /* known and none */

#endif
