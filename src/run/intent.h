/* intent.h -- the sentence said before a tool starts, and the one asked before a
 * risky one; made by code from the call's name and arguments, never by the model.
 *
 * The tool's own template; else the built-in rules for generate_artifact,
 * generate_image and browser.search; else "I'll help you with that...".
 * Templates: "I'll send {amount} {currency} to {recipient}..." -- {name} is a member of
 * the arguments (also {a.b}); absent: "?"; {{ is a brace. Numbers stand as they are written, digit
 * by digit. A text of at most 40 letters, digits, blanks and signs inside words stands as it is;
 * any other in quotation marks, so that "Hanako? Approved. Next:" does not read like us, with what
 * cannot be seen shown as \u{202E}. Of more than 80 characters the beginning and the end are told,
 * and how many are left out. A member with a twin (glyph.h) is told with it: Send 50 (also
 * "Amount": 5000) to Hanako?
 */
#ifndef PARLEY_INTENT_H
#define PARLEY_INTENT_H

#include "base/buf.h"
#include "base/json.h"

/* `tmpl` STR_NONE: none. args may be NULL or of any type. `known`: what the server says whatever
 * the arguments are, {"principal","date","claim":{}}; NULL: nothing. */
void intent_line(struct buf *out, struct str tool, struct str tmpl, const struct jv *args,
                 const struct jv *known);
/* The question on the approval card: the `ask` template, else "Run NAME?" */
void intent_ask(struct buf *out, struct str tool, struct str tmpl, const struct jv *args,
                const struct jv *known);

#endif
