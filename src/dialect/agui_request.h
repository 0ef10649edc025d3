/* agui_request.h -- what an AG-UI client wants: RunAgentInput to a wish, in the light of the log.
 *
 * The list of messages is the client's copy, for display. Read of it are results of page tools that
 * are offered now, and user messages at its end that the log does not know; the rest is never
 * executed and never told to the model. (A call in it that differs from ours was shown to somebody:
 * their answer to its question is refused.) Nothing here changes anything: agui_plan() says what is
 * to be done, the door does it.
 */
#ifndef PARLEY_AGUI_REQUEST_H
#define PARLEY_AGUI_REQUEST_H

#include "dialect/request.h"
#include "run/fold.h"

struct registry;

#define AGUI_ANSWERS_MAX 64
#define AGUI_TOOLS_MAX   64

struct agui_entry { /* of resume[] */
    struct str       id;
    bool             cancelled;
    const struct jv *payload; /* NULL: none */
};

struct agui_request {
    struct str        thread, run; /* their threadId and runId */
    struct str        page;        /* STR_NONE: the default */
    struct str        declared;    /* declared_write() of tools and context */
    bool              older;       /* no protocolVersion */
    const struct jv  *messages;
    struct agui_entry resume[AGUI_ANSWERS_MAX];
    size_t            resume_count;
    bool              malformed; /* an entry is not what an entry is */
    /* runId as the name of the request that begins a run: unique for the thread */
    char              request_id[32];
};

/* `c` lends its arena. `page`: of the path; STR_NONE: the body's own counts. Names that a tool of
 * the server has are left to the server. */
MUST_CHECK bool agui_decode(struct command *c, struct str body, struct str page,
                            const struct registry *r, struct agui_request *out,
                            struct refusal *why);

struct agui_answer {
    bool             result; /* of a page tool; else a decision */
    struct str       id;
    bool             confirmed, cancelled;
    struct str       reason, payload; /* of a decision */
    const struct jv *grant;           /* what the yes is worth beyond this call; NULL: nothing */
    const struct jv *input;           /* other arguments: an edit; NULL: as they are */
    struct str       value, error;    /* of a result */
};

enum agui_wish {
    AGUI_REFUSED, /* `why`: told as RUN_ERROR */
    AGUI_SAY,     /* a message, or an edit of one */
    AGUI_RETRY,
    AGUI_ANSWER, /* `answers`, all or none */
    AGUI_ATTACH, /* nothing is done: the run is told from `from` on */
    AGUI_SHOW    /* nothing is done: the thread and how its newest run stands */
};

struct agui_plan {
    enum agui_wish     wish;
    struct refusal     why;
    struct str         text, files, message_id, replaces; /* AGUI_SAY */
    struct agui_answer answers[AGUI_ANSWERS_MAX];
    size_t             answer_count;
    const struct run  *run; /* AGUI_ATTACH */
    /* the first fact that belongs to the segment, as far as it is in the log; 0: none does */
    uint64_t           from;
    bool               snapshot; /* what came before it is told, too */
    /* entries of resume[] that somebody else decided meanwhile */
    struct {
        const struct fact *verdict;
        const char        *yours;
    } late[AGUI_ANSWERS_MAX];
    size_t late_count;
};

/* `f`: NULL when there is no such thread. `connect`: nothing is begun and nothing answered. */
void agui_plan(struct command *c, const struct fold *f, const struct agui_request *q, bool connect,
               struct agui_plan *out);
/* Is this their name for a segment of that run? */
bool agui_segment(const struct fold *f, const struct run *r, const struct agui_request *q);
/* {"runId"} or nothing: the body of stop. */
MUST_CHECK bool agui_stop(struct command *c, struct str body, struct agui_request *out,
                          struct refusal *why);

#endif
