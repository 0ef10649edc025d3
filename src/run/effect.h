/* effect.h -- the same effect only once.
 *
 * A tool's "effect": "invoice:{invoice}" makes a key from a call's arguments. The key is taken in
 * the append that starts the call (store.h, TAKE_MAKE), so two calls that mean the same cannot both
 * begin, in whatever conversations, processes and nodes they are. Its row says how the call stands:
 *
 *   running ──▶ done        a second call gets its result, who and when: outcome `duplicate`
 *      │  └───▶ (gone)      it certainly did not happen: the key is free, in that same append
 *      └──────▶ unknown     a second one is refused until somebody settled the first
 *
 * What was found is in the facts of the second call; the fold never asks the store.
 *
 * A value in a key: a text without the blanks around it and without what cannot be seen in it, a
 * number by its value (1e3 is 1000), true and false. Anything else, an absent member, one with a twin
 * (glyph.h), or a Latin, Greek or Cyrillic letter with its mark as a character of its own (e and
 * U+0301, which others write as one) makes no key, and such a call is not run: when in doubt nothing is paid. Case counts.
 */
#ifndef PARLEY_EFFECT_H
#define PARLEY_EFFECT_H

#include "run/hub.h"

/* How the key of a tool begins whose effects are each person's own. */
#define EFFECT_OWN "effect/"

/* NULL, or what is wrong with a template. */
const char         *effect_template_fault(struct str tmpl);
/* The key of a call, in `a`. ERR_TYPE: its arguments make none. ERR_NOMEM. */
MUST_CHECK enum err effect_key(struct arena *a, const struct tool *tool, struct str owner,
                               const struct jv *args, struct str *out);
/* Takes the key of a call that is about to start; *out is for its `started` fact (STR_NONE: the tool
 * has no effect key). ERR_TYPE as above. */
MUST_CHECK enum err effect_take(struct thread *t, const struct call *c, struct str *out);
/* After a fact about the call was added: what becomes of its key. */
MUST_CHECK enum err effect_follow(struct thread *t, const struct call *c, const struct fact *f);
/* The key was taken by another call: how this one ends. */
MUST_CHECK enum err effect_taken(struct thread *t, struct call *c, const struct store_stock *by);

#endif
