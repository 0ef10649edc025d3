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
 * Without a template: a request that is known by its words alone (response.h) may be the same one
 * sent again, in another form, while nobody knows yet what the first will do. So a call takes
 * "these words, this tool, these arguments, the how-manieth time" for half a day, or until its
 * conversation is deleted; only a person's yes goes beyond that. Of what is known when a request
 * begins the model is told, and a person is asked (judge.c): this is for those that overlap.
 *
 * What was found is in the facts of the second call; the fold never asks the store.
 *
 * A value in a key: a text without the blanks around it and without what cannot be seen in it, in
 * one spelling (nfc.h: e and U+0301 are é); a number by its value (1e3 is 1000); true and false.
 * Anything else, an absent member or one with a twin (glyph.h) makes no key, and such a call is not
 * run: when in doubt nothing is paid. Case counts.
 */
#ifndef PARLEY_EFFECT_H
#define PARLEY_EFFECT_H

#include "run/hub.h"

/* How the key of a tool begins whose effects are each person's own. */
#define EFFECT_OWN "effect/"
/* Is it the key of a tool that has an "effect"? The others, by which the same request in words is
 * carried out once, say nothing of what was done. */
bool effect_named(struct str key);

/* So long after, the same words are another request: what is done daily is no resending. */
#define EFFECT_WORDS_MS (12 * 3600 * 1000)

/* NULL, or what is wrong with a template. */
const char               *effect_template_fault(struct str tmpl);
/* The key of a call, in `a`. ERR_TYPE: its arguments make none. ERR_NOMEM. */
MUST_CHECK enum err       effect_key(struct arena *a, const struct tool *tool, struct str owner,
                                     const struct jv *args, struct str *out);
/* What stood in its way when it was to start; NULL: nothing. A person's yes to this very call
 * stands above "the same words", not above a template. */
const struct store_stock *effect_in_way(const struct thread *t, const struct call *c);
/* Takes the key of a call that is about to start; *out is for its `started` fact (STR_NONE: there
 * is none to take). ERR_TYPE as above. */
MUST_CHECK enum err       effect_take(struct thread *t, const struct call *c, struct str *out);
/* After a fact about the call was added: what becomes of its key. */
MUST_CHECK enum err effect_follow(struct thread *t, const struct call *c, const struct fact *f);
/* The key was taken by another call: how this one ends. */
MUST_CHECK enum err effect_taken(struct thread *t, struct call *c, const struct store_stock *by);

#endif
