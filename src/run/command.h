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
    CMD_CALL,    /* a program wants one tool run: a thread of its own */
    CMD_DECIDE,  /* yes or no to a confirmation */
    CMD_RESULT,  /* a client tool's result */
    CMD_CLAIM,   /* a tab wants to be the one that runs an offered client tool */
    CMD_STOP,
    CMD_SETTLE, /* how an unknown call turned out */
    CMD_HANDED, /* the program that made the thread has the outcome of its call */
    CMD_NAMED,  /* its request `request_id` is for that call, too */
    CMD_FOLLOW, /* nothing but: is the thread there? loads it */
    /* stop, cancel gates; then the log itself is removed. Answered when it is gone */
    CMD_DELETE,
    CMD_RENAME,    /* a new title */
    CMD_LABEL,     /* what the client keeps beside the conversation, in the place of what it kept */
    CMD_TRIM,      /* words of these kinds go: trim.h. 409 unless nothing goes on in it */
    CMD_UNVOTE,    /* takes back a yes to the confirmation `id` */
    CMD_REVOKE,    /* the grant `id`, which was given in this thread */
    CMD_LATE,      /* what became of a call after it was told as unknown; from another node */
    CMD_RESPOND,   /* a response without a run: words of the server itself (response.h) */
    CMD_FORGET,    /* a response's id; it is stopped if it goes on */
    CMD_EXPIRE,    /* internal from here on: the clock ran out for `id` */
    CMD_STEP_DONE, /* the model stopped speaking */
    CMD_TOOL_DONE, /* a tool has its outcome */
    CMD_TOOL_ASKS, /* a tool asks the person in the middle of its work */
    CMD_CHECKED,   /* a check has ended: callcheck.h */
};

/* AFTER: what was begun comes to its outcome, what nobody answered is cancelled, and no model
 * speaks of it; then the message has its turn */
enum when_busy { BUSY_REFUSE, BUSY_QUEUE, BUSY_INTERRUPT, BUSY_AFTER };

enum respond { RESPOND_SAY, RESPOND_TRIED, RESPOND_AGAIN }; /* notice.c */

/* 403 "token_needed", at every door: a person's answer without the start token */
#define COMMAND_TOKEN_NEEDED                                                                    \
    "This needs the token of this start: open the address that parley printed when it started " \
    "(it "                                                                                      \
    "ends in #token=...), or send that token as \"Authorization: Bearer ...\"."

/* 422 "contradiction"; 409 "args_mismatch", of somebody who was shown another call: at every
 * door */
#define COMMAND_CONTRADICTION \
    "Yes and no to the same question in one request: nothing was decided. Answer it once."
#define COMMAND_ARGS_MISMATCH "The arguments sent back are not the ones that were asked about."

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

/* The members that say what is wanted, by kind: type and name. A command may be carried to the node
 * that holds its thread (mirror.h), and what is not in these tables does not get there; so a member
 * that is not in them cannot be added. */
/* clang-format off */
#define COMMAND_FIELDS(X) /* of all kinds */                                                        \
    X(BOOL, create)       /* make the thread when it is not there */                                \
    X(BOOL, anyones)      /* without a thread: also one of other people */                          \
    X(BOOL, hold)         /* a waiting gate refuses it, whatever the configuration says */          \
    X(BOOL, may_decide)   /* DECIDE, SETTLE: the configuration lets `by` do that;                   \
                             hub_setup.token: RESULT, CLAIM, too */                                 \
    X(STR, by)            /* who */                                                                 \
    X(STR, roles)         /* and their roles, words with blanks between: rules.h */                 \
    X(STR, via)           /* and by which door: "rest", "typed", "chat", "live" ... */              \
    X(STR, request_id)    /* MESSAGE, RETRY, ACTION (what begins a run): used before: nothing       \
                             happens but that its run is told; NAMED */                             \
    X(STR, page)                                                                                    \
    X(STR, declared)      /* what the client brings for the run: declared_write() */                \
    X(STR, claims)        /* likewise; of `by`, JSON: caller.h */                                   \
    X(STR, trace)         /* what begins a run: whose part it is, spans.h */                        \
    X(INT, when_busy)     /* enum when_busy */                                                      \
    X(STR, id)            /* DECIDE: the confirmation; RESULT, CLAIM, EXPIRE, TOOL_*, LATE: the     \
                             call; SETTLE: either */                                                \
    X(STR, answer_id)     /* DECIDE, RESULT: the client's own name for its answer */                \
    X(STR, response)      /* what it does is told as this response (of several answers, the last     \
                             has it): response_wish_write() */                                      \
    X(STR, told)          /* STOP, FOLLOW: words for who follows it, on all nodes; never kept */
/* Of one or two kinds, and still among those of all kinds on the way to another node: there its
 * neighbours of the version before have them. */
#define COMMAND_PAST(X) /* MESSAGE, RESPOND to a thread that is made by it: what went before */      \
    X(STR, brought)       /* a JSON list of {"role","text"} that were said before, */                \
    X(STR, copied)        /* or facts of another thread that it goes on from: response_copy() */     \
    X(STR, family)        /* with it: the thread that its copies, and theirs, go back to */          \
    X(STR, effects)       /* what other versions of the conversation did, a JSON list of             \
                             response_effects() */                                               \
    X(BOOL, more)         /* and more than were looked at: nobody knows what they did */
#define COMMAND_LOOK(X)   X(BOOL, peek) /* FOLLOW: one look at what is saved, nothing is followed */
#define COMMAND_WAS(X)    X(STR, title_was) /* RENAME: only while it is called this; STR_NONE: always */
#define COMMAND_MESSAGE(X)                                                                          \
    X(STR, text) X(STR, id) X(STR, replaces)                                                        \
    X(STR, after)         /* goes on from this answer (a run), or question, of an earlier version;   \
                             STR_NONE: from the newest */                                           \
    X(STR, files)         /* JSON list of {mediaType,url,filename?} */
#define COMMAND_RETRY(X)  X(STR, of) /* a run; STR_NONE: the last */
#define COMMAND_ACTION(X) X(STR, name) X(STR, data)
#define COMMAND_CALL(X)                                                                             \
    X(STR, tool) X(STR, args) /* JSON of an object */                                               \
    X(STR, client)        /* what it calls itself; shown, never believed */                         \
    X(STR, about)         /* JSON: what else is to be known of it */                                \
    X(STR, group)         /* store_origin's */                                                      \
    X(STR, match)         /* the key by which the same call is found again */                          \
    X(BOOL, alone)        /* not while another call has that key: told as a duplicate of it */         \
    X(STR, asked_as)      /* the key by which the request for it is */
#define COMMAND_DECIDE(X)                                                                           \
    X(BOOL, confirmed) X(STR, reason) X(STR, payload)                                               \
    X(BOOL, cancelled)    /* neither yes nor no: the model goes on without it */                    \
    X(STR, echo_tool)     /* what the client says it approved; STR_NONE, NULL: did not say */       \
    X(JV, echo_args)                                                                                \
    X(JV, grant)          /* what the yes is to be worth beyond this call: grant.h; NULL: nothing */ \
    X(JV, input)          /* other arguments: an edit; NULL: as they are */                              \
    X(STR, code)          /* it was said in words: the code told with the question; STR_NONE: by id */
#define COMMAND_RESULT(X) X(STR, value) X(STR, error) /* JSON, or the error's text */
#define COMMAND_CLAIM(X)  X(STR, client) X(INT, owner) /* the tab; command_tab() */
#define COMMAND_STOP(X)                                                                             \
    X(STR, reason)                                                                                  \
    X(BOOL, unwanted)     /* only if nobody wants the outcome any more, on any node */                  \
    X(BOOL, unwatched)    /* only if nobody looks any more, on any node */                              \
    X(STR, response)      /* only while this one is not over; STR_NONE: whatever is */                  \
    X(BOOL, gently)       /* as BUSY_AFTER; a question stays, and so does what waits for it */
#define COMMAND_RESPOND(X) X(INT, what) X(STR, text) /* enum respond; RESPOND_SAY */
#define COMMAND_SETTLE(X) X(BOOL, happened) X(STR, note) X(STR, value)
#define COMMAND_LATE(X)   X(INT, outcome) X(STR, text) X(STR, value) X(STR, note)
#define COMMAND_NAMING(X) X(STR, title) /* CREATE, RENAME */
#define COMMAND_LABEL(X)  X(STR, labels) /* CREATE, LABEL: an object of texts as JSON; STR_NONE: none */
#define COMMAND_TRIM(X)   X(INT, kinds) /* bits of enum trim_kind */
/* clang-format on */

#define COMMAND_C_BOOL(n) bool n;
#define COMMAND_C_STR(n)  struct str n;
#define COMMAND_C_INT(n)  int64_t n;
#define COMMAND_C_JV(n)   const struct jv *n;
#define X(t, n)           COMMAND_C_##t(n)

struct command {
    enum command_kind kind;
    struct arena      arena; /* owns every string below */
    struct log_name   log;   /* without a thread: the one that has asked for `id` (hub_submit) */
    COMMAND_FIELDS(X)

    union { /* by kind */
        struct {
            COMMAND_MESSAGE(X)
            COMMAND_PAST(X)
        } message;
        struct {
            COMMAND_RETRY(X)
        } retry;
        struct {
            COMMAND_ACTION(X)
        } action;
        struct {
            COMMAND_CALL(X)
        } call;
        struct {
            COMMAND_DECIDE(X)
            /* private to run/: the grant that it opens (grant.h), */
            struct {
                struct str id, shown;
                int64_t    amount;
            } opened;
            /* and with other arguments: the call that it makes, the same when its batch is tried
             * again */
            struct str made;
        } decide;
        struct {
            COMMAND_RESULT(X)
        } result;
        struct {
            COMMAND_CLAIM(X)
        } claim;
        struct {
            COMMAND_STOP(X)
        } stop;
        struct {
            COMMAND_RESPOND(X)
            COMMAND_PAST(X)
        } respond;
        struct {
            COMMAND_SETTLE(X)
        } settle;
        struct {
            COMMAND_LATE(X)
        } late;
        struct {
            COMMAND_NAMING(X)
            COMMAND_WAS(X)
            COMMAND_LABEL(X)
        };
        struct {
            COMMAND_TRIM(X)
        } trim;
        struct {
            COMMAND_LOOK(X)
        } follow;
        struct {
            struct str text, schema;
        } question; /* TOOL_ASKS */
        void *job;  /* TOOL_DONE, CHECKED */
    };

    void (*done)(struct command *c, const struct receipt *a);
    void *ctx;

    /* private to run/ */
    struct list    node;
    struct receipt receipt;
    bool           stopped;   /* a stop came after it, while it was parked */
    bool           forwarded; /* from another node: if this one does not hold the thread, say so */
    bool           repeated;  /* sent before, the answer was lost: it may have happened */
    uint64_t       number;    /* on its way to another node */
    /* when it came, or stopped being parked: all that is waited for on its behalf counts from
     * then */
    uint64_t       since_ns;
};
#undef X
/* What only some kinds need stands in the union. It was 832 bytes before there was one. */
_Static_assert(sizeof(struct command) <= 584, "a member of one kind belongs into the union");

/* Would this answer (CMD_DECIDE, CMD_RESULT) be refused as things stand? Sets c->receipt. For
 * carriers of several answers, which are taken all or none. */
bool    command_refused(struct thread *t, struct command *c);
/* A name for a tab (COMMAND_CLAIM's owner) that no other has, on any node. */
int64_t command_tab(void);
/* The tab that claimed offered calls under this name has left. */
void    command_unclaim(struct thread *t, int64_t tab);

/* A zeroed command with its arena ready. Freed by command_free, normally at the end of `done`. */
struct command *command_new(enum command_kind kind);
void            command_free(struct command *c);
/* a `done` that only frees */
void            command_drop(struct command *c, const struct receipt *a);

#endif
