/* callcheck.h -- an unknown call that settles itself.
 *
 * A tool may name a check: "check": {"exec": … | "http": …, "timeout": 10, "tries": 8, "pause": 5}.
 * It is asked what became of a call whose outcome is unknown (a lost answer, a server that went
 * away). It gets one JSON object
 *
 *   {"call":"call-…","tool":"pay","arguments":{…},"started_at":"…"}
 *
 * and says one of
 *
 *   {"happened":true,"result":…}   the call is settled as done, with that result
 *   {"happened":false}             it is settled as not done: keys and grants are given back
 *   {"unknown":true}               not yet known: it is asked again later
 *
 * Anything else, an error or silence tells nothing. The call itself is never run again from here.
 *
 *   finished: unknown ─▶ checked ─▶ settled (by and via "check")
 *                          ▲  └───▶ checked: unknown, why ──pause──┐
 *                          └───────────────────────────────────────┘  at most `tries` times
 *
 * `checked` is committed before the check is asked, so that a check that takes the server with it
 * is not asked for ever. One that was under way when its process died is asked again by the next.
 * While the first is under way the model is not called: it is told what is known then. A person may
 * settle the call at any time; whoever is first in the log has settled it.
 *
 * When the next one is due stands in the call's row of the approvals list, as expiry does: it
 * survives restarts, and only the node that holds the thread asks.
 *
 * A check must not act; it runs in the sandbox and under the egress rules of its kind.
 */
#ifndef PARLEY_CALLCHECK_H
#define PARLEY_CALLCHECK_H

#include "base/jsonw.h"
#include "run/hub.h"

struct next;

enum callcheck_said { CHECK_TELLS_NOTHING, CHECK_HAPPENED, CHECK_DID_NOT };
/* Reads an answer. *result: its JSON, STR_NONE: none; *why: a sentence when it tells nothing. */
enum callcheck_said callcheck_read(const struct jv *answer, struct str *result, const char **why);
/* What it is asked, in `a`. */
MUST_CHECK enum err callcheck_question(struct arena *a, const struct call *c, struct str *out);
/* When the next one is due, for the row; 0: none is. */
int64_t             callcheck_due(const struct thread *t, const struct call *c);

/* Puts the check of a call that is due into the batch. True: there may be more. */
bool callcheck_begin(struct thread *t, enum err *e);
/* Is what comes next to wait for a check that is under way? */
bool callcheck_holds(const struct thread *t, const struct next *n);
/* Was it waiting for one when the log was left? Then no model was cut off. */
bool callcheck_open(const struct thread *t);
/* CMD_EXPIRE: what is due and will never be asked again (the tool or its check is gone) falls due
 * no more. */
bool callcheck_due_now(struct thread *t, struct command *c, enum err *e);
void callcheck_answered(struct thread *t, struct command *c, enum err *e); /* CMD_CHECKED */

/* "check" of the row of an unsettled call: {"tries","at","note","next"}; nothing when it was never
 * asked. */
void callcheck_write(struct jsonw *w, const struct thread *t, const struct call *c);

#endif
