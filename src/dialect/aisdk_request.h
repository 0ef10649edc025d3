/* aisdk_request.h -- what an AI SDK client wants: a body to a wish.
 *
 * The client sends its whole copy of the conversation. Of that only this is taken:
 * the chat id, the words of a new user message, and from the message being continued the
 * answers it carries (approvals, confirmations, results of client tools). Names,
 * arguments, order and state come from the log; what the client echoes of them is
 * only compared, and a difference refuses the answer.
 */
#ifndef PARLEY_AISDK_REQUEST_H
#define PARLEY_AISDK_REQUEST_H

#include "dialect/request.h"
#include "run/fold.h"

#define AI_ANSWERS_MAX 64

struct ai_answer {
    /* native, adk, client tool, a confirmation call that is no answer */
    enum { AI_DECIDE, AI_CONFIRM, AI_RESULT, AI_RESERVED } kind;
    struct str       id;    /* approval or confirmation id, or call id */
    struct str       tool;  /* as the client names it */
    const struct jv *input; /* what the client says it approved; NULL: did not say */
    /* AI_DECIDE: the approval object; AI_CONFIRM: the output */
    const struct jv *answer;
    struct str       value, error; /* AI_RESULT */
    bool             taken;        /* by ai_check: this one is to be applied */
    /* was answered before: applying it is a duplicate, or is refused */
    bool             over;
    bool             shown; /* the message shows the outcome already */
    /* it shows that the call is the browser's to run, which it still is */
    bool             offered;
};

struct ai_request {
    enum { AI_MESSAGE, AI_RETRY, AI_ANSWERS } kind;
    struct str       id; /* chat id; STR_NONE: none given */
    struct str       text, files, message_id, replaces, after, of, request_id, page;
    const struct jv *message; /* the one being continued */
    struct ai_answer answers[AI_ANSWERS_MAX];
    size_t           answer_count;
};

/* `c` lends its arena for the tree and the sentences. */
MUST_CHECK bool ai_decode(struct command *c, const struct jv *body, struct ai_request *out,
                          struct refusal *why);
/* The same for a message that is nothing but words: {"text","request_id"?,"page"?}. All of it is
 * copied. */
MUST_CHECK bool ai_said(struct command *c, const struct jv *said, struct ai_request *out,
                        struct refusal *why);
/* Looks at the answers in the light of the log: history that comes back is left alone, forgeries
 * are refused. False: refuse the whole request; nothing may be applied. */
MUST_CHECK bool ai_check(const struct fold *f, struct ai_request *q, struct arena *a,
                         struct refusal *why);
/* A command for one answer that was taken. */
MUST_CHECK bool ai_command(struct command *c, const struct ai_answer *x, struct refusal *why);

#endif
