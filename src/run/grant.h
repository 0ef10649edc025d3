/* grant.h -- a yes that is worth more than one call.
 *
 * A tool opts in with the widest limits: "grant": {"for", "count", "sum", "max", "same"}. A person
 * who says yes may choose within them. Then a later call that fits runs without a question: same
 * tool and definition, same rule of who is asked, the same values at the pointers of `same`, an
 * amount (the number at `sum`) that is left.
 *
 * A grant is a row of the store's stock (kind "grant", key "grant:ID"): uses and amount that are
 * left, the rest as JSON. Count and sum are taken in the append that starts the call, wherever it
 * is; when nothing is left the append does not happen and the call is asked about. The call the
 * grant was given with counts. A call that certainly did not happen gives back what it took, one
 * whose outcome is unknown does not.
 *
 * It ends with its time, with its revocation, with the conversation it was given in being deleted,
 * and for what is only found: the tool's definition or policy is another, the rules that name the
 * tool are (rules_digest), its giver lost the role that let them decide (people.h). What is found
 * is written into the row, so an ended one does not open again: by a start, a reload and a list of
 * tools that came (lapse.c), by a call that the grant might have allowed, by somebody who looks at
 * it.
 */
#ifndef PARLEY_GRANT_H
#define PARLEY_GRANT_H

#include "base/jsonw.h"
#include "run/hub.h"

#define GRANT_KEY "grant:"

/* NULL, or what is wrong with a tool's "grant". */
const char *grant_terms_fault(const struct jv *grant);
/* What may be chosen for this call, as JSON for its question; STR_NONE: no grant is offered. */
struct str  grant_offer(struct arena *a, const struct tool *tool, const struct call *c);

/* What a yes opens, filled in by grant_open; for the `decided` fact. */
struct grant_opened {
    struct str id, shown;
    int64_t    amount;
};
/* Judges the wish {"scope","for","count","max"} that came with a yes and puts the grant into the
 * batch. False: `code` and `why` say what is wrong, nothing was added. */
struct grant_fault {
    const char *code, *why;
};
MUST_CHECK bool grant_open(struct thread *t, const struct command *c, const struct call *call,
                           struct grant_opened *out, struct grant_fault *fault);

/* Does one of these rows allow the call? Then what it takes is put into the batch and `f`, a
 * `decided` fact, says which. ERR_NOT_FOUND: none does. */
MUST_CHECK enum err grant_use(struct thread *t, const struct call *c,
                              const struct store_stock *rows, size_t count, struct fact *f);
/* After a fact about the call was added: what it gives back. */
MUST_CHECK enum err grant_follow(struct thread *t, const struct call *c, const struct fact *f);
MUST_CHECK enum err grant_revoke(struct thread *t, struct str id);
/* It gives nothing any more, whatever comes back. `why`: "role", "definition". */
MUST_CHECK enum err grant_end(struct thread *t, struct str id, struct str why);
/* The command that does it where it is due, to be posted; NULL: it stands, or there is no
 * memory. */
struct command     *grant_closing(const struct hub *h, const struct store_row *row);

/* One of GET /v1/grants. */
void       grant_write(struct jsonw *w, const struct hub *h, const struct store_stock *row);
/* Who gave it; in `a`. */
struct str grant_giver(struct arena *a, const struct store_stock *row);

#endif
