/* fact.h -- what can stand in a thread's log.
 *
 * A fact is something that is on disk and will not change: a person wrote, the
 * model finished a step, a call was asked for, decided, started, finished; a run
 * ended. Everything else (what the model is to be told, which buttons a page
 * shows, whether a payment may run) is computed from facts.
 *
 * One struct for all kinds: members that a kind does not use stay empty and are
 * not stored. The two tables below generate enum, names, reading and writing.
 *
 *   a run:   message | action | retry  ->  step  ->  (asked -> decided)? -> started -> finished  ->
 *   step ... -> ended
 *   a tool's question: started -> asked -> decided -> continued -> finished
 *   a request of OpenAI's shape: response, beside what it began or answered (response.h, spoken.h)
 *   beside:  created, labelled, resumed (a step is repeated after a restart), summary (before a
 *            step), stop, result (a client's, that came before its gate was decided), claimed (by
 *            a browser), settled, late, checked (an unknown call's own check was asked:
 *            callcheck.h)
 *   a program's call: action (via "mcp", with its one call) -> as any call -> ended -> handed
 *   after everything: trimmed (words went by their age: the one thing that changes facts, trim.h)
 */
#ifndef PARLEY_FACT_H
#define PARLEY_FACT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* clang-format off */
#define FACT_KINDS(X)                                                                  \
    X(CREATED, "created")   /* the thread was made before anybody wrote */             \
    X(MESSAGE, "message")   /* a person wrote: a run begins */                         \
    X(ACTION, "action")     /* a person pressed a server action: a run begins */       \
    X(RETRY, "retry")       /* the same question once more: a run begins */            \
    X(RESUMED, "resumed")   /* the open step starts over, in the process `holder`; or, with \
                               RESUMED_PARKED, that process puts it down */            \
    X(STEP, "step")         /* the model finished speaking */                          \
    X(SUMMARY, "summary")   /* what models are told in the place of the facts up to `upto` */ \
    X(ASKED, "asked")       /* a call waits for a person's yes, or a tool for an answer; not_done: \
                               it has not begun */                                     \
    X(DECIDED, "decided")   /* approved, denied, expired, cancelled */                 \
    X(RESULT, "result")     /* a client's result, kept until its gate is decided */    \
    X(STARTED, "started")   /* committed before the tool's first instruction */        \
    X(CLAIMED, "claimed")   /* committed before a browser (`holder`) may begin what must not be \
                               begun twice */                                          \
    X(CONTINUED, "continued") /* committed before a tool that asked and rested goes on */ \
    X(FINISHED, "finished") /* the call's outcome */                                   \
    X(STOP, "stop")         /* a person wants the run to end */                        \
    X(ENDED, "ended")       /* the run is over */                                      \
    X(SETTLED, "settled")   /* a person said how an unknown call turned out */         \
    X(CHECKED, "checked")   /* a tool's check is asked; with an outcome: it could not tell */ \
    X(LATE, "late")         /* what an unknown call's own node found out afterwards */ \
    X(VOTED, "voted")       /* one of several yeses, or one that is taken back */      \
    X(ESCALATED, "escalated") /* nobody has decided in time: others are asked, too */    \
    X(PROPOSED, "proposed") /* a person's edit: a call in the place of another */      \
    X(REVOKED, "revoked")   /* a grant that was given here gives nothing any more */         \
    X(BROUGHT, "brought")   /* what a client says was said before the thread began */  \
    X(FORKED, "forked")     /* all before it is a copy of another thread's facts; `data`: what \
                               other versions of the conversation did, fold.carried; `more`: and \
                               what nobody looked at */ \
    X(RESPONSE, "response") /* a request is told what follows: response.h */           \
    X(FORGOTTEN, "forgotten") /* that response's id */                                 \
    X(TOLD, "told")         /* a question was told in words: spoken.h */                \
    X(TRIED, "tried")       /* somebody answered in words with a wrong code */ \
    X(LABELLED, "labelled") /* what a client keeps beside the conversation: `data`, texts by their \
                               names; the newest counts */                             \
    X(HANDED, "handed")     /* the program that wanted the call has its outcome */ \
    X(NAMED, "named")       /* another request of a program, `request_id`, is for its call */ \
    X(TRIMMED, "trimmed")   /* facts lost words: `data` says which, trim.h */
/* clang-format on */

/* What `stop` of a resumed says: it is put down; or it is begun, and not asked of its model yet. */
#define RESUMED_PARKED "parked"
#define RESUMED_WAITS  "waits"

enum fact_kind {
#define X(k, n) FACT_##k,
    FACT_KINDS(X)
#undef X
        FACT_KIND_COUNT
};

/* The words of outcomes and verdicts, one list for all. */
/* clang-format off */
#define FACT_WORDS(X)                                                                   \
    X(NONE, "") X(DONE, "done") X(FAILED, "failed") X(DENIED, "denied")                 \
    X(EXPIRED, "expired") X(CANCELLED, "cancelled") X(UNKNOWN, "unknown")               \
    X(APPROVED, "approved") X(COMPLETE, "complete") X(ERROR, "error") X(NOT_DONE, "not_done")     \
    X(DUPLICATE, "duplicate") X(REPLACED, "replaced")
/* clang-format on */
enum word {
#define X(k, n) WORD_##k,
    FACT_WORDS(X)
#undef X
        WORD_COUNT
};
const char *word_name(enum word w);

/* How a call of a step is to be treated: said once, by judge_call, when the call's end was seen.
 * Nothing else may raise it, and a call that nobody judged is never begun: that is the zero of this
 * enum. */
enum gate {
    GATE_UNJUDGED, /* not run: its end was not seen, or the judge has not spoken yet */
    GATE_FREE,     /* runs at once on the server */
    GATE_ASK,      /* a person is asked first (server or client tool) */
    GATE_CLIENT,   /* offered to the browser at once */
    GATE_REPLY,    /* a reply tool: fills the payload */
    GATE_BAD,      /* not run: `problem` is the error the model gets */
    GATE_COUNT
};

enum part_type { STEP_TEXT, STEP_REASONING, STEP_CALL };

struct part {
    enum part_type type;
    /* text, reasoning, or the call's input as the model wrote it */
    struct str     text;
    struct str     opaque;   /* the provider's JSON for this part */
    bool           complete; /* its end was seen, and if it is a call it was judged */
    /* calls only */
    /* our id, the provider's id, the tool's name */
    struct str     call, provider_id, tool;
    enum gate      gate;
    bool           client; /* a browser runs it */
    /* a function the client declared for this run (declared.h), no tool of the server */
    bool           declared;
    struct str     problem;
    /* its end was seen, the judge comes to it in a later turn of the loop: followers wait before
     * its end */
    bool           judging;
    /* its input may be shown while it is being spelled out: no gate can come before it */
    bool           shown;
    /* what is said before it starts; STR_NONE: nothing (not run, reply tool) */
    struct str     intent;
    int64_t        at_ms; /* when the call was complete */
};

enum field_type { FIELD_STR, FIELD_RAW, FIELD_INT, FIELD_BOOL, FIELD_WORD, FIELD_PARTS };

/* Every member of a fact: type, name in C and in JSON. RAW is JSON text. */
/* clang-format off */
#define FACT_FIELDS(X)                                                                                   \
    X(STR, run) X(STR, id) X(STR, call) X(STR, tool) X(STR, text) X(WORD, outcome)                       \
    X(RAW, value) X(STR, note) X(STR, reason) X(STR, by) X(STR, via) X(STR, answer_id)                   \
    X(STR, ask) X(STR, risk) X(STR, digest) X(INT, expires_ms) X(RAW, payload) X(RAW, schema)            \
    X(RAW, files) X(STR, page) X(STR, request_id) X(STR, replaces) X(STR, of)                            \
    X(STR, action) X(RAW, data) X(PARTS, parts) X(STR, stop) X(STR, provider)                            \
    X(INT, input_tokens) X(INT, output_tokens) X(INT, ms) X(BOOL, client) X(BOOL, from_end) X(INT, keep) \
    X(STR, code) X(BOOL, retryable) X(RAW, replies) X(RAW, actions) X(RAW, custom) X(STR, holder)        \
    X(RAW, declared)                                                                                     \
    X(STR, effect) X(STR, grant) X(INT, amount) X(RAW, granted) X(RAW, offer) X(RAW, edit)               \
    X(RAW, who) X(STR, roles) X(RAW, claims) X(STR, model)                                               \
    X(STR, link) X(BOOL, codes) X(BOOL, items) X(STR, chain) X(BOOL, quiet)                              \
    X(INT, from) X(INT, upto) X(INT, covers) X(INT, cost)                                                \
    X(STR, basis) X(INT, first_ms) X(STR, trace) X(STR, jws) X(STR, root) X(BOOL, more)
/* clang-format on */

#define FIELD_C_STR(n)  struct str n;
#define FIELD_C_RAW(n)  struct str n;
#define FIELD_C_INT(n)  int64_t n;
#define FIELD_C_BOOL(n) bool n;
#define FIELD_C_WORD(n) enum word n;
#define FIELD_C_PARTS(n) \
    struct part *n;      \
    size_t       n##_count;

struct fact {
    enum fact_kind kind;
    uint64_t       seq;
    int64_t        at_ms;
    struct str     body; /* its stored form, once the fold has it */
#define X(t, n) FIELD_C_##t(n)
    FACT_FIELDS(X)
#undef X
};

/* Is it about what somebody was told or brought, and moves nothing in a run? */
bool                fact_is_note(enum fact_kind k);
/* Are the words of the open step gone? */
bool                fact_restarts(const struct fact *f);
const char         *gate_name(enum gate g);
const char         *fact_name(enum fact_kind k);
MUST_CHECK enum err fact_kind_of(struct str name, enum fact_kind *out);
/* The JSON body; members that are empty are left out. */
void                fact_write(struct buf *out, const struct fact *f);
/* Reads a body into `f`, which points into `body` and the arena. ERR_SYNTAX, ERR_TYPE,
 * ERR_NOMEM. */
MUST_CHECK enum err fact_read(struct arena *a, struct str kind, struct str body, struct fact *f);

#endif
