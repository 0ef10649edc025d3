/* edit.h -- an edit is a new proposal, and its author is the person.
 *
 * What was asked about is what runs; so other arguments are another call. A tool lists the JSON
 * pointers at or below which a person may change them ("edit": ["/amount"]; [""]: all). In this
 * order, and every refusal leaves the question open with nothing recorded:
 *
 *   not an object             malformed_answer; the same value as before: a plain yes
 *   the tool is another       tool_gone
 *   a difference elsewhere    edit_not_allowed, naming the pointer
 *   the schema does not hold  edit_invalid
 *
 * Then one append: the old call is `decided: replaced`, the new one `proposed` with the difference;
 * and, if this person alone may decide it and no condition of the tool's policy holds now that did
 * not before, decided and started. Else it is asked, as any call is.
 *
 * The old call ends when the new one does. The model is told under its own call's id what the
 * person made of it and what came of that.
 */
#ifndef PARLEY_EDIT_H
#define PARLEY_EDIT_H

#include "run/engine.h"

/* A yes with other arguments (c->decide.input) to a question that is open. False: they are the
 * same, it is a plain yes. */
bool       edit_handle(struct thread *t, struct command *c, struct call *call, enum err *e);
/* Would edit_handle refuse it as things stand? Sets the receipt; nothing is recorded. */
bool       edit_refused(struct thread *t, struct command *c, struct call *call);
/* The replaced call's result: {"edited":{"by","arguments","changed"},"result":…} or "error". */
struct str edit_result(struct arena *a, const struct call *c);

#endif
