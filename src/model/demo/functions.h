/* functions.h -- how the demo model uses functions that a client declared with its request.
 *
 * It knows nothing of them but their names and schemas: it calls one when the request names it, or
 * when the message has a word of more than three letters of its name ("weather" calls get_weather).
 * A required text is what follows "in" in the message, else the message; a number is the first one
 * in it.
 */
#ifndef PARLEY_DEMO_FUNCTIONS_H
#define PARLEY_DEMO_FUNCTIONS_H

#include "base/buf.h"
#include "model/model.h"

/* The one to be called for this message; NULL: none. */
const struct model_tool *functions_pick(const struct model_request *q, struct str message);
/* Its input, as a JSON object. */
void functions_input(struct buf *out, const struct model_tool *t, struct str message);
/* Was it declared by the client? */
bool functions_declared(const struct model_request *q, struct str name);

#endif
