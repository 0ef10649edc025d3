/* record.h -- what the record says of a call: who was asked about what, who said yes, by which way,
 * and what came of it. For audits, and for the stub that a deleted conversation leaves.
 *
 *   {"call","tool","input"*,
 *    "asked":{"id","at","digest","definition","shown"*,"risk","expires_at"},
 *    "decided":{"outcome","at","by","via","reason"*},
 *    "started_at","finished":{"outcome","at","ms"},"settled":{"outcome","at","by","note"*}}
 *
 * `digest` is that of the arguments that were shown, `definition` that of the tool as it was then
 * (name, schema, policy, runner): the version of the policy that asked. Members that did not happen
 * are left out; those with a star are words, and only written when asked for. "input" is text: the
 * bytes that ran.
 */
#ifndef PARLEY_RECORD_H
#define PARLEY_RECORD_H

#include "base/jsonw.h"
#include "run/fold.h"

/* Is there anything to say: was somebody asked, or did something begin? */
bool       record_has(const struct call *c);
/* The object's members; the caller opens and closes it. */
void       record_call(struct jsonw *w, const struct call *c, bool words);
/* {"by","via","calls":[...]} without words: the body of the last fact, "removed". In `a`; STR_NONE:
 * no memory. A fold without facts is one that could not be read: {"unread":true}. */
struct str record_stub(struct arena *a, const struct fold *f, struct str by, struct str via);

/* A stub's body with another name wherever `name` stands as "by". In `a`; STR_NONE: no memory. One
 * that cannot be understood becomes {"unread":true}: no name may stay in it. */
struct str record_erased(struct arena *a, struct str body, struct str name, struct str other);

/* "key":"text", as jsonw writes it: by that a body is found that has it. In `a`; STR_NONE: no
 * memory. */
struct str record_member(struct arena *a, const char *key, struct str text);

#endif
