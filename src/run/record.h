/* record.h -- what the record says of a call: who was asked about what, who said yes, by which way,
 * and what came of it. For audits, and for the stub that a deleted conversation leaves.
 *
 *   {"call","tool","input"*,"digest",
 *    "asked":{"id","at","digest","definition","shown"*,"risk","rule","expires_at"},
 *    "votes":[{"by","at","roles","via"}],
 *    "decided":{"outcome","at","by","roles","via","grant","definition","rule","reason"*},
 *    "started_at","grant","finished":{"outcome","at","ms"},"settled":{"outcome","at","by","note"*}}
 *
 * `digest` is that of the arguments: as they were shown, with the question; of a call without one
 * beside its tool. `definition` is that of the tool as it was then (name, schema, policy, runner):
 * the version of the policy that asked. Where nobody was asked (a grant allowed it, or it is a
 * person's edit) definition and rule stand with the decision. `votes` are the yeses of
 * others than who decided, where several were needed. Members that did not happen are left out;
 * those with a star are words, and only written when asked for. "input" is text: the bytes that
 * ran.
 */
#ifndef PARLEY_RECORD_H
#define PARLEY_RECORD_H

#include "base/jsonw.h"
#include "run/fold.h"

/* Is there anything to say: was somebody asked, or did something begin? */
bool       record_has(const struct call *c);
/* The object's members; the caller opens and closes it. `f`: the fold that the call is of. `only`,
 * unless STR_NONE: nobody else's name is told. */
void       record_call(struct jsonw *w, const struct fold *f, const struct call *c, bool words,
                       struct str only);
/* Did they have a part in what was decided of it? */
bool       record_is_by(const struct fold *f, const struct call *c, struct str who);
/* {"by","via","calls":[...]} without words: the body of the last fact, "removed". In `a`; STR_NONE:
 * no memory. A fold without facts is one that could not be read: {"unread":true}. */
struct str record_stub(struct arena *a, const struct fold *f, struct str by, struct str via);

/* A stub's body with another name wherever `name` stands as "by", and with "created_ms": without
 * its owner's name the name of the log cannot be computed any more, which held that time before. In
 * `a`; STR_NONE: no memory. One that cannot be understood becomes {"unread":true}: no name may stay
 * in it. */
struct str record_erased(struct arena *a, struct str body, struct str name, struct str other,
                         int64_t created_ms);

/* A call of a stub's body, its members: nobody's name but this one is told. */
void record_theirs(struct jsonw *w, const struct jv *call, struct str name);

/* "key":"text", as jsonw writes it: by that a body is found that has it. In `a`; STR_NONE: no
 * memory. */
struct str record_member(struct arena *a, const char *key, struct str text);

#endif
