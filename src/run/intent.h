/* intent.h -- the sentence said before a tool starts, and the one asked before a
 * risky one; made by code from the call's name and arguments, never by the model.
 *
 * The tool's own template; else the built-in rules for generate_artifact,
 * generate_image and browser.search (seed 000); else "I'll help you with that...".
 * Templates: "I'll send {amount} {currency} to {recipient}..." -- {name} is a member of
 * the arguments (also {a.b}); text is put in with control characters and newlines
 * made blanks and cut at 80 characters, numbers as written; absent: "?"; {{ is a brace.
 */
#ifndef PARLEY_INTENT_H
#define PARLEY_INTENT_H

#include "base/buf.h"
#include "base/json.h"

/* `tmpl` STR_NONE: none. args may be NULL or of any type. */
void intent_line(struct buf *out, struct str tool, struct str tmpl, const struct jv *args);
/* The question on the approval card: the `ask` template, else "Run NAME?" */
void intent_ask(struct buf *out, struct str tool, struct str tmpl, const struct jv *args);

#endif
