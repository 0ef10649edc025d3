/* fold.h -- a thread's state as a pure fold over its facts, and the one decision
 * that follows from it.
 *
 *   fold_apply()   takes the next fact of the log; no clock, no I/O.
 *   fold_decide()  looks at the state and names the one thing to do next.
 *
 * Live running and recovery after a crash are the same code: recovery applies the
 * stored facts and asks fold_decide() again. A run that waits for a person holds
 * no thread of execution, no stack and no timer, only its place in the log.
 *
 *   call:  PROPOSED -(policy)-> ASKED -yes-> GRANTED -> STARTED -> FINISHED
 *              |                  \_ no, clock, moved on -> REFUSED _/
 *              \_ free ____________________________ STARTED
 *   run:   THINKING (the model is to speak) <-> CALLS (its calls are open) -> ENDED
 *
 * Everything lies in the fold's arena and dies with it. Dialects read it; only
 * run/ changes it.
 */
#ifndef PARLEY_FOLD_H
#define PARLEY_FOLD_H

#include "base/map.h"
#include "run/fact.h"

enum call_state {
    CALL_PROPOSED,
    CALL_ASKED,
    CALL_GRANTED,
    CALL_REFUSED,
    CALL_STARTED,
    CALL_FINISHED
};

struct run;
struct confirmation;
struct call {
    struct str         id, provider_id, tool, input;
    const struct jv   *args;     /* parsed input; NULL when it is no JSON */
    bool               client;   /* the browser runs it */
    bool               declared; /* it is the client's own function: declared.h */
    enum gate          gate;
    struct str         problem, intent;
    enum call_state    state;
    struct run        *run;
    uint64_t           step_seq; /* the fact that proposed it */
    const struct fact *asked, *decided, *started, *finished, *settled, *late;
    /* a browser may have begun it, which must not be done twice: no other gets it */
    const struct fact *claimed;
    const struct fact *handed; /* when its outcome was last given to the program that called */
    /* a client's result that came before the gate was decided */
    const struct fact *early;
    /* the last one the tool asked in the middle of its work; see call_gate */
    const struct fact *question;
    const struct fact *answered;  /* the verdict on it */
    const struct fact *continued; /* the tool was told */
    /* an edit: the call a person made of it, and the other way round; `proposed` says so */
    struct call       *replaced_by, *instead_of;
    const struct fact *proposed;
    const struct fact *checked;   /* its check was asked, or could not tell: callcheck.h */
    unsigned           checks;    /* how often it was asked */
    const struct fact *escalated; /* the last time that its question went further */
    /* how often a person was asked: names the next confirmation */
    unsigned           gates;
    const struct fact *told;  /* its gate, in words; the code is there */
    unsigned           tries; /* wrong codes while it waited */
    /* Live only; not part of the log. */
    void              *job; /* set while this process runs it */
    /* run a second time under its id, because the first told nothing */
    bool               repeated;
    /* grows with every progress report of the thread */
    uint64_t           progress_no;
    struct str         stage, message, progress_data;
    double             progress;
    /* a browser's claim of what may be begun again; any other is `claimed` */
    struct str         claimed_by;
    int64_t            claimed_until_ms;
    int64_t            claim_owner; /* command_tab() */

    struct confirmation *last; /* the newest request to a person, gate or question */
};

enum run_phase { RUN_THINKING, RUN_CALLS, RUN_ENDED };

struct run {
    struct str         id;
    const struct fact *first; /* message, action or retry */
    const struct fact *ended;
    struct str         page;
    enum run_phase     phase;
    bool               stopping;
    bool               leaving; /* nobody reads it any more: it ends with the calls that are open */
    unsigned           iterations; /* model steps whose calls were run */
    /* lives of a process that began its step over and came to no orderly end, in a row; `marked`:
     * the `resumed` by which the newest did, NULL: it put the step down */
    unsigned           resumes;
    const struct fact *marked;
    unsigned           summaries; /* made for it */
    unsigned           repairs;   /* answers that did not fit the page's schema */
    struct call      **calls;
    size_t             call_count; /* of the step that is open now */
    /* where its first call stands among the fold's; those of the next run follow its last */
    size_t             calls_from;
    bool               retried; /* somebody wanted another answer in its place */
    bool               replied; /* the last step called only reply tools */
    /* the last step ended without calls, or was cut */
    bool               no_more_calls;
    int64_t            input_tokens, output_tokens;
    struct str         replies, actions, custom;
    struct str         last_stop;
};

/* One request to a person, under its confirmation id: a call's gate, or one of the questions its
 * tool asked. */
struct confirmation {
    struct call         *call;
    /* verdict NULL: none, maybe because the call ended first; told: in words, the first time */
    const struct fact   *asked, *verdict, *told;
    struct confirmation *before; /* the one that the same call had before */
};

struct fold {
    struct arena        arena;
    const struct fact **facts;
    size_t              count, cap; /* facts[i] has seq i + 1 */
    struct call       **calls;
    size_t              call_count, call_cap;
    struct run        **runs;
    size_t              run_count, run_cap;
    struct run         *run;          /* the newest, or NULL */
    int64_t             tokens, cost; /* of all its steps, whatever became of them */
    const struct fact **responses;    /* in their order */
    size_t              response_count, response_cap;
    size_t              unsettled; /* calls of unknown outcome that nobody settled */
    uint64_t            copied;    /* facts up to here are another thread's; 0: none */
    const struct fact  *labelled;  /* the newest; NULL: nobody did */
    bool                quiet;     /* it was begun by a request that may be no conversation */
    /* Calls that took effect in other versions of the conversation, which are other threads: known
     * for what they did, and nothing else is theirs (no run; step_seq: the `forked` that tells). */
    struct call       **carried;
    size_t              carried_count, carried_cap;
    bool                carried_more; /* and others, of which nobody knows what they were */
    /* from here on facts lost words (trim.h): what was said by then cannot be told any more; 0:
     * none did */
    uint64_t            trimmed;
    /* something was edited or tried again: not all facts count any more */
    bool                branched;
    /* and so often an earlier version was gone on with: what counts is not only ever cut */
    unsigned            returned;
    /* a long conversation is not searched for each of its facts */
    struct map          by_call, by_confirmation, by_provider;
};

void fold_init(struct fold *f);
void fold_done(struct fold *f);
/* The next fact, as it stands in the log; it is copied. Live facts and loaded ones come this way,
 * so that they are the same thing. ERR_NOMEM, ERR_SYNTAX, ERR_TYPE: the fold is unusable and must
 * be rebuilt. */
struct stored_fact {
    uint64_t   seq;
    int64_t    at_ms;
    struct str kind, body;
};
MUST_CHECK enum err fold_apply(struct fold *f, const struct stored_fact *in);
/* The same for a fact that is being made: it is written once, here. */
MUST_CHECK enum err fold_add(struct fold *f, const struct fact *in);

struct call           *fold_call(const struct fold *f, struct str call_id);
/* The question of that id, and its answer. NULL: there is none. */
const struct fact     *fold_asked(const struct fold *f, struct str confirmation_id);
const struct fact     *fold_verdict(const struct fold *f, struct str confirmation_id);
struct call           *fold_confirmation(const struct fold *f, struct str confirmation_id);
struct run            *fold_run(const struct fold *f, struct str run_id);
/* the run that a fact belongs to; NULL before the first */
struct run            *fold_run_at(const struct fold *f, uint64_t seq);
static inline uint64_t fold_seq(const struct fold *f)
{
    return f->count;
}
static inline bool run_live(const struct run *r)
{
    return r && r->phase != RUN_ENDED;
}
/* What a person is to answer now: the gate before the call, or the tool's question. NULL:
 * nothing. */
const struct fact *call_gate(const struct call *c);
static inline bool call_pending(const struct call *c)
{
    return call_gate(c) != NULL;
}
/* The same, as it was right after the fact with this seq. */
const struct confirmation *call_open_at(const struct call *c, uint64_t seq);
/* Is that the question of a tool at work, rather than the gate before it? It wants more than a yes:
 * a form filled in, or an account connected. */
static inline bool         asked_by_tool(const struct fact *asked)
{
    return asked->schema.ptr != NULL;
}
/* The tool asked and is gone: from the answer its work goes on, whoever runs it then. */
static inline bool call_at_rest(const struct call *c)
{
    return c->question && c->question->data.len &&
           !(c->continued && c->continued->seq > c->question->seq);
}
/* And it was asked before anything was done of it: by a tool that lacks its person's account. */
static inline bool call_unbegun(const struct call *c)
{
    return call_at_rest(c) && c->question->outcome == WORD_NOT_DONE;
}
/* Begun, and neither certainly failed nor stopped before it did anything: what it did stays done,
 * whatever becomes of the words around it. (Of an idempotent tool that does not matter; whoever
 * asks knows the tool.) */
bool               call_took_effect(const struct call *c);
/* Nobody knows what became of it, and nobody has said so yet. */
static inline bool call_unsettled(const struct call *c)
{
    return c->finished && c->finished->outcome == WORD_UNKNOWN && !c->settled;
}
/* It did what it was to do: also by a call that a person made of it, or one before it. */
static inline bool call_succeeded(const struct call *c)
{
    const struct fact *f = c->finished;
    if (f && f->outcome == WORD_REPLACED && c->replaced_by) return call_succeeded(c->replaced_by);
    return f && (f->outcome == WORD_DONE || f->outcome == WORD_DUPLICATE);
}
/* Is that this call, as somebody says they saw it? STR_NONE, NULL: they do not say. */
bool               call_is_copied(const struct call *c, struct str tool, const struct jv *args);
/* A person's edit that ran at once: what it did is told with the call it stands for. */
static inline bool call_is_inner(const struct call *c)
{
    return c->instead_of && !c->asked;
}
/* It ends when the call that a person made of it does. */
static inline bool call_lives_on(const struct call *c)
{
    return c->state == CALL_REFUSED && c->decided->outcome == WORD_REPLACED && c->replaced_by;
}
/* It took from a grant, or an effect key: given back only when it certainly did not happen. */
static inline bool call_takes(const struct call *c)
{
    return (c->started && c->started->effect.len) || (c->decided && c->decided->grant.len);
}
/* Is it the name of a reply tool? Its calls are no cards, whatever became of them. */
bool               call_replies(struct str tool);
static inline bool call_questioned(const struct call *c, struct str id)
{
    return c->question && str_eq(c->question->id, id);
}
/* Every open call waits for a person or a browser: nothing moves until somebody answers. */
bool         run_waiting(const struct run *r);
/* The same, as it was right after the fact with this seq (for encoders that replay). */
bool         run_waited_at(const struct fold *f, const struct run *r, uint64_t seq);
bool         run_asks(const struct run *r); /* a person, and not only a browser */
/* The one call of a thread that a program made instead of a conversation (an MCP client's). NULL:
 * it is none. */
struct call *fold_program_call(const struct fold *f);
const char  *fold_state(const struct fold *f); /* "idle" | "running" | "waiting" */
/* The same as the store is told it: "running" also while a tool at work waits for an answer. Its
 * work ends with the process, so whoever comes next has to look at it. */
const char  *fold_kept_state(const struct fold *f);

enum next_kind {
    NEXT_NOTHING,  /* no run, or it waits for something under way */
    NEXT_MODEL,    /* call the model */
    NEXT_ASK,      /* append `asked` for call */
    NEXT_START,    /* append `started` for call, then run it (or offer it) */
    NEXT_CONTINUE, /* append `continued` for call, then run it from where it asked */
    /* started by a process that is gone, idempotent: run it again under the same id */
    NEXT_RERUN,
    NEXT_FINISH, /* append `finished` for call with outcome and text */
    NEXT_END,    /* append `ended` with outcome */
};
struct next {
    enum next_kind kind;
    struct call   *call;
    enum word      outcome;
    struct str     text;
};
/* `idempotent` tells of a call whether it may be run again. */
struct next fold_decide(const struct fold *f, bool (*idempotent)(void *ctx, const struct call *c),
                        void              *ctx);

#endif
