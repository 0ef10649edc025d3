/* trim.h -- words that go while their conversation stays: retention by kind.
 *
 *     tools      what tools were given and gave (calls, results, what their programs said)
 *     files      pictures and other files; their names stay
 *     reasoning  what models thought
 *     words      what people and models wrote, and the conversation's title
 *
 * A fact that loses some is stored again without them (TRIM_MARK stands there instead), and a fact
 * "trimmed" names each of these by its place and its new digest. What was appended stays known by
 * its own digest (store_trim), so links, heads and checkpoints from before still fit.
 *
 * Whoever can write the store could do all that, too. So where there is a key (audit.key) the
 * server signs what it says: which facts of which conversation, the digest of what stood there and
 * of what is left, which kinds of words, when (vouch.h). Auditors believe nothing else
 * (audit/verify.h).
 *
 * Never touched is what somebody was asked and what was decided: a trim that names such a fact is
 * no trim (trim_may), so nobody can rewrite a decision by this way. Nor is the result of a call
 * that has an effect (effect.h). Kept, too, is what is still needed:
 * a conversation that runs or waits is left alone, and so is a call of unknown outcome until
 * somebody has settled it.
 */
#ifndef PARLEY_TRIM_H
#define PARLEY_TRIM_H

#include "run/fold.h"
#include "store/store.h"

enum trim_kind { TRIM_TOOLS = 1, TRIM_FILES = 2, TRIM_REASONING = 4, TRIM_WORDS = 8 };
#define TRIM_MARK "[removed]"

extern const char *const trim_names[STORE_TRIM_KINDS]; /* by their bits */

/* May a fact of this kind lose words? */
bool                trim_may(struct str kind);
/* The body of `x` without what is of these kinds, in `a`; STR_NONE with OK: it has nothing of
 * them. */
MUST_CHECK enum err trim_body(struct arena *a, const struct fold *f, const struct fact *x,
                              unsigned kinds, struct str *out);

struct thread;
/* All that goes of a thread, as the store takes it; in the thread's batch. ERR_NOMEM, or what a
 * fold says of facts that it cannot read: nothing may be trimmed then. */
MUST_CHECK enum err trim_thread(struct thread *t, unsigned kinds, struct store_trim *out);

#endif
