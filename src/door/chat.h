/* chat.h -- one AI SDK turn, whatever carries it (POST or WebSocket): decode, check
 * against the log, submit, and say where to follow. */
#ifndef PARLEY_CHAT_H
#define PARLEY_CHAT_H

#include "door/app.h"
#include "run/fold.h"

struct chat_turn;
struct chat_result {
    int            status; /* >= 400: refused */
    const char    *code, *message;
    struct thread *thread;
    struct str     run;
    uint64_t       seq; /* follow after this fact */
    bool           continuation, replay;
    bool           duplicate; /* every answer was given before */
    struct str     id;        /* the first answer's confirmation or call */
    unsigned       retry_s;   /* with 429 */
};
struct chat_turn {
    struct app *app;
    /* borrowed for the call of chat_start only; the claims are the owner's */
    struct str  owner, via, claims;
    bool        interrupts; /* a new message replaces a run that streams */
    bool        may_decide;
    struct str  roles; /* as owner */
    /* the thread it is bound to is only the name for a new one: answers say themselves where they
     * belong */
    bool        unnamed;
    /* once; may come from inside chat_start */
    void (*done)(struct chat_turn *t, const struct chat_result *r);
    /* private */
    struct command    *holder; /* its arena keeps the request */
    struct ai_request *request;
    struct log_name    log;
    struct chat_result result;
    size_t             waiting;
    /* where the answers begin that are to be told; behind those that are shown */
    uint64_t           first, after;
    bool               fresh;
};
/* The turn must live until done. `thread`: STR_NONE, or the thread the carrier is bound to (then
 * the body's id is ignored). */
void chat_start(struct chat_turn *t, const struct jv *body, struct str thread);
/* The same for another wire that says what an AI SDK request can: `decode` reads the body. */
struct ai_request;
typedef bool (*chat_decoder)(struct command *c, const struct jv *body, struct ai_request *out,
                             struct refusal *why);
void chat_read(struct chat_turn *t, chat_decoder decode, const struct jv *body, struct str thread);
/* The same for a message that is nothing but words: {"text","request_id"?,"page"?}. */
void chat_say(struct chat_turn *t, const struct jv *said, struct str thread);

#endif
