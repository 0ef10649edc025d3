/* people.h -- which roles somebody has, as far as this process knows.
 *
 * A role comes with a key or a token, so it is known when its bearer is here. For what happens while
 * they are away (a grant they gave is used, their vote is counted, a link is made for them) the last
 * that was seen counts.
 * People with keys in the configuration are known from the start, and known for certain.
 *
 * Roles are words with blanks between them.
 */
#ifndef PARLEY_PEOPLE_H
#define PARLEY_PEOPLE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define PEOPLE_MAX 50000 /* further ones are strangers, of whom nothing is known */

struct people;

struct people *people_new(void); /* NULL: no memory */
void           people_free(struct people *p);
/* They were here with these roles; without memory they stay what they were. NULL is fine. */
void           people_saw(struct people *p, struct str name, struct str roles);
/* The configuration says so: what is seen of them later does not change it. */
void           people_know(struct people *p, struct str name, struct str roles);
/* STR_NONE: never seen. Valid until they are seen again. */
struct str     people_roles(const struct people *p, struct str name);
/* There is nobody else: whom nothing is known of has no role (any more). For servers that let people
 * in by the keys of the configuration alone. */
void           people_whole(struct people *p);
/* Which of these roles, that they had once, they still have; in `a`. Only one that is known to be
 * gone is. STR_NONE: no memory. */
struct str people_still(const struct people *p, struct arena *a, struct str name, struct str roles);
/* May what rests on `role` ("" and "owner": on none) still count for them? Only a role that is
 * known to be gone is: who was not here since the start has what they had. */
bool       people_may(const struct people *p, struct str name, struct str role);
/* Is `word` one of `roles`? */
bool       roles_have(struct str roles, struct str word);

#endif
