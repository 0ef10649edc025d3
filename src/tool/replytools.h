/* replytools.h -- the reply tools: built in, there unless they are switched off, and not for the
 * demo only.
 *
 * A model calls them together with its last words to fill what stands under an answer: buttons with
 * ready answers, buttons that do something, structured data. They have no runner and no card: the
 * fold keeps their arguments, and a step that calls nothing else ends the run.
 */
#ifndef PARLEY_REPLYTOOLS_H
#define PARLEY_REPLYTOOLS_H

#include "tool/registry.h"

/* REPLY_NONE: it is another tool. */
enum reply_tool reply_tool_of(struct str name);
#define REPLY_ALL (~0u)
/* `which`: bits by enum reply_tool. */
MUST_CHECK enum err reply_tools_add(struct registry *r, unsigned which);

#endif
