/* request.h -- request bodies to commands: pure, strict, with sentences for people.
 *
 * A decoder fills in a command that command_new made. The client's copy of the
 * history is looked at only for what it asks now.
 */
#ifndef PARLEY_REQUEST_H
#define PARLEY_REQUEST_H

#include "run/command.h"

#define MESSAGE_TEXT_MAX (1024 * 1024)
#define REQUEST_ID_MAX   128

/* why a body was not taken; message lives in the command's arena or is static */
struct refusal {
    int         status;
    const char *code;
    const char *message;
};

/* What a body says beside its command. */
struct chat_request {
    bool       reasoning; /* it was asked for */
    /* where the person is: counts when the configuration has such a page */
    struct str page;
};
/* The body of the typed and the tool-calling door: a CMD_MESSAGE, CMD_ACTION or CMD_DECIDE. The
 * words of the documents' own clients are taken too: conversation_id, interaction_type with
 * action_metadata, context.current_page; and, where the door has `sessions`, sessionId. */
MUST_CHECK bool  request_chat(struct command *c, struct str body, bool sessions,
                              struct chat_request *out, struct refusal *why);
/* /v1/threads/{T}/actions: action and data stand flat. */
MUST_CHECK bool  request_action(struct command *c, struct str body, struct refusal *why);
/* {"confirmed":true,...}: the accepted spellings of an answer (doors, adk-confirmation 4). `v` is
 * the answer object or an ADK wrapper. */
MUST_CHECK bool  request_answer(struct command *c, const struct jv *v, struct refusal *why);
/* A member that is there and not null; NULL: none. */
const struct jv *request_given(const struct jv *v, const char *name);
/* Does another of the words for an answer in `v` say otherwise? Such an answer decides nothing. */
bool             request_contradicts(const struct jv *v, bool yes);
/* Is any of them there? */
bool             request_has_answer(const struct jv *v);
/* What a client that knows yes and no alone says to a tool's own form, in one of the words for an
 * answer that the form itself does not ask for. One that insists on nothing would take a no for
 * what was filled in. */
enum plain { PLAIN_NOT, PLAIN_YES, PLAIN_NO, PLAIN_ODD };
enum plain       request_plain(struct arena *a, struct str form, const struct jv *said);
/* The arguments that a client shows of a call: an object, or the text of one (empty: of none at
 * all). NULL: it sent none. A text that is no JSON stays one, and is no call's arguments. */
const struct jv *request_copied(struct arena *a, const struct jv *args);
/* {"result":...} or {"error":"..."} */
MUST_CHECK bool  request_result(struct command *c, const struct jv *v, struct refusal *why);
/* Parses a body that must be a JSON object. Empty: an empty object when `optional`. */
MUST_CHECK bool  request_object(struct command *c, struct str body, bool optional,
                                const struct jv **out, struct refusal *why);
/* An optional member that must be text of at most `max` bytes. */
MUST_CHECK bool  request_text(struct command *c, const struct jv *v, const char *key, size_t max,
                              struct str *out, struct refusal *why);

#endif
