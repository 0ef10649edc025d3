/* command.h -- what a person (or a client) wants of a thread, and the answer.
 *
 * A dialect decodes a request into one of these, hub_submit() takes it, `done` is
 * called exactly once: when the facts it caused are on disk, or with the reason
 * why nothing happened. The client's copy of the conversation is never part of a
 * command: only ids and answers are.
 */
#ifndef PARLEY_COMMAND_H
#define PARLEY_COMMAND_H

#include "base/arena.h"
#include "base/json.h"
#include "base/list.h"
#include "store/store.h"

enum command_kind {
    CMD_CREATE,  /* an empty thread */
    CMD_MESSAGE, /* a person wrote */
    CMD_RETRY,   /* answer the same question again (regenerate), or go on after an error */
    CMD_ACTION,  /* a suggested action with handler "server" */
    CMD_DECIDE,  /* yes or no to a confirmation */
    CMD_RESULT,  /* a client tool's result */
    CMD_CLAIM,   /* a tab wants to be the one that runs an offered client tool */
    CMD_STOP,
    CMD_SETTLE, /* how an unknown call turned out */
    CMD_FOLLOW, /* nothing but: is the thread there? loads it */
    /* stop, cancel gates; then the log itself is removed. Answered when it is gone */
    CMD_DELETE,
    CMD_RENAME,    /* a new title */
    CMD_EXPIRE,    /* internal from here on: the clock ran out for `id` */
    CMD_STEP_DONE, /* the model stopped speaking */
    CMD_TOOL_DONE, /* a tool has its outcome */
    CMD_TOOL_ASKS, /* a tool asks the person in the middle of its work */
};

enum when_busy { BUSY_REFUSE, BUSY_QUEUE, BUSY_INTERRUPT };

struct thread;
struct call;

struct receipt {
    int                status;  /* as HTTP says it: 200, 201, 404, 409 ... */
    const char        *code;    /* for >= 400: "run_active" */
    const char        *message; /* one sentence; lives in the command's arena or is static */
    struct thread     *thread;  /* where to follow; may be NULL on errors */
    struct str         run;     /* the run it started, moved or found; STR_NONE */
    struct str         id;      /* the confirmation or call it was about */
    /* the first fact it appended (follow from seq - 1), or of the run found */
    uint64_t           seq;
    bool               duplicate;
    unsigned           retry_s; /* with 429: not before so many seconds */
    const struct call *call;    /* CMD_DECIDE, CMD_RESULT, CMD_SETTLE */
};

struct command {
    enum command_kind kind;
    struct arena      arena;   /* owns every string below */
    struct log_name   log;     /* without a thread: the one that has asked for `id` (hub_submit) */
    bool              create;  /* make the thread when it is not there */
    bool              anyones; /* without a thread: also one of other people */
    /* DECIDE, SETTLE: the configuration lets `by` do that; hub_setup.token: RESULT, CLAIM, too */
    bool              may_decide;
    /* who, and by which door: "rest", "typed", "chat", "live" ... */
    struct str        by, via;

    /* MESSAGE, RETRY, ACTION: what begins a run */
    struct str     request_id; /* used before: nothing happens but that its run is told */
    struct str     page;
    enum when_busy when_busy;
    /* DECIDE: the confirmation; RESULT, CLAIM, EXPIRE, TOOL_*: the call; SETTLE: either */
    struct str     id;
    struct str     answer_id; /* DECIDE, RESULT: the client's own name for its answer */

    struct str title_was; /* RENAME: only while it is called this; STR_NONE: in any case */

    union { /* by kind */
        struct {
            struct str text, id, replaces;
            struct str files; /* JSON list of {mediaType,url,filename?} */
        } message;
        struct {
            struct str of; /* a run; STR_NONE: the last */
        } retry;
        struct {
            struct str name, data;
        } action;
        struct {
            bool             confirmed;
            struct str       reason, payload;
            /* what the client says it approved; NULL: did not say */
            struct str       echo_tool;
            const struct jv *echo_args;
        } decide;
        struct {
            struct str value, error; /* JSON, or the error's text */
        } result;
        struct {
            struct str client;
            void      *owner; /* the tab */
        } claim;
        struct {
            struct str reason;
        } stop;
        struct {
            bool       happened;
            struct str note, value;
        } settle;
        struct {
            struct str text, schema;
        } question;       /* TOOL_ASKS */
        struct str title; /* CREATE, RENAME */
        void      *job;   /* TOOL_DONE */
    };

    void (*done)(struct command *c, const struct receipt *a);
    void *ctx;

    /* private to run/ */
    struct list    node;
    struct receipt receipt;
    bool           stopped; /* a stop came after it, while it was parked */
};

/* Would this answer (CMD_DECIDE, CMD_RESULT) be refused as things stand? Sets c->receipt. For
 * carriers of several answers, which are taken all or none. */
bool command_refused(struct thread *t, struct command *c);
/* The tab that claimed offered calls with this `claim_owner` has left. */
void command_unclaim(struct thread *t, const void *claim_owner);

/* A zeroed command with its arena ready. Freed by command_free, normally at the end of `done`. */
struct command *command_new(enum command_kind kind);
void            command_free(struct command *c);
/* a `done` that only frees */
void            command_drop(struct command *c, const struct receipt *a);

#endif
