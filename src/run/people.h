/* people.h -- which roles somebody has, as far as is known.
 *
 * A role comes with a key or a token, so it is known when its bearer is here. For what happens
 * while they are away (a grant they gave is used, their vote is counted, a link is made for them)
 * the last that was seen counts.
 * People with keys in the configuration are known from the start, and known for certain.
 *
 * What was seen of somebody whose roles can matter to others (a rule names one, or they approve),
 * and of everybody with a key, is kept in the store, a row each, and stays kept when they lose
 * them: a role that was seen to be gone is gone for the next process, too, and within a second for
 * the other nodes; so is a key's when the key is no longer in the configuration at a start. It
 * counts, here as well, once it is committed; until then whoever brought it waits.
 *
 * A row's key is a digest of the name, not the name: that somebody who was erased has no role stays
 * known without saying who they were.
 *
 * Roles are words with blanks between them.
 */
#ifndef PARLEY_PEOPLE_H
#define PARLEY_PEOPLE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

#define PEOPLE_MAX 50000 /* further ones who matter to nobody are strangers */

struct people;

struct people      *people_new(void); /* NULL: no memory */
/* With the loop's next turns when they are kept; the store has answered everything. */
void                people_free(struct people *p);
/* Reads what is kept, writes what the configuration changed, and keeps from now on what is seen.
 * Waits: after people_know, before there is anybody to see. ERR_*: that cannot be done, and the
 * server must not go on without it. */
MUST_CHECK enum err people_keep(struct people *p, struct loop *l, struct store *s);
/* Told when somebody has a role that they had not: here, or as another node saw it ("": who that is
 * cannot be told). */
void people_on_gain(struct people *p, void (*gained)(void *ctx, struct str name), void *ctx);
/* They are here with these roles; `matters`: one of them is a role by which others' calls are
 * decided. NULL is fine. OK: that is what is known of them (of whom nothing is kept it need not be,
 * without memory). ERR_BUSY: it is being written, and nobody may be answered as if it were known:
 * people_wait, at once. ERR_NOMEM: it cannot be written now. */
MUST_CHECK enum err people_saw(struct people *p, struct str name, struct str roles, bool matters);
/* `done` is told once a row of theirs was written; they are to be seen again then, it may have been
 * another. With an error it could not be: what was known before counts; what they lost is tried
 * again, what they gained is to be brought again.
 * list_remove(&w->node) ends the waiting. */
struct people_wait {
    struct list node;
    void (*done)(struct people_wait *w, enum err e);
};
void                people_wait(struct people *p, struct str name, struct people_wait *w);
/* They are erased: they have no role until they are here with one again. As people_saw; to be asked
 * again when the waiting is over. */
MUST_CHECK enum err people_forget(struct people *p, struct str name);
/* The configuration says so: what is seen of them later does not change it. */
void                people_know(struct people *p, struct str name, struct str roles);
/* STR_NONE: never seen. Valid until they are seen again. */
struct str          people_roles(const struct people *p, struct str name);
/* There is nobody else: whom nothing is known of has no role (any more). For servers that let
 * people in by the keys of the configuration alone. */
void                people_whole(struct people *p);
/* Which of these roles, that they had once, they still have; in `a`. Only one that is known to be
 * gone is. STR_NONE: no memory. */
struct str people_still(const struct people *p, struct arena *a, struct str name, struct str roles);
/* May what rests on `role` ("" and "owner": on none) still count for them? Only a role that is
 * known to be gone is: who was never seen has what they had. */
bool       people_may(const struct people *p, struct str name, struct str role);
/* ... and without having lost it since that time (wall)? One that they lost and have again is
 * another. */
bool       people_kept(const struct people *p, struct str name, struct str role, int64_t since_ms);
/* Is `word` one of `roles`? */
bool       roles_have(struct str roles, struct str word);

#endif
