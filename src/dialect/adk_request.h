/* adk_request.h -- what a client of ADK's API server wants: the body of /run and /run_sse.
 *
 * {"appName","userId","sessionId","newMessage":{"role","parts":[…]},"streaming"?,"request_id"?};
 * names with underscores are taken too. The app is a page, the session is the thread; the user is
 * who signed in, whatever userId says. Parts are words, files (inlineData, fileData) or
 * functionResponse: an answer to adk_request_confirmation, or the result of a call that the page
 * was to run. A member by both of its names, and words in the part of an answer, are refused: one
 * of them would be lost.
 */
#ifndef PARLEY_ADK_REQUEST_H
#define PARLEY_ADK_REQUEST_H

#include "dialect/aisdk_request.h"

/* As a wish that every chat door knows. */
MUST_CHECK bool adk_decode(struct command *c, const struct jv *body, struct ai_request *out,
                           struct refusal *why);
/* "streaming":true: the words are wanted while they are spoken. */
bool            adk_streams(const struct jv *body);

#endif
