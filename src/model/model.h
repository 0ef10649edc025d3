/* model.h -- a language model: what is asked, and what comes back piece by piece.
 *
 * A model call has no side effect: it may be repeated after a crash. The request
 * is built from facts by run/history; adapters (demo, anthropic, gemini, openai)
 * turn it into their wire and the wire into the calls of struct model_sink.
 * Nothing here knows of threads, stores or connections.
 *
 * Everything happens on the loop thread. The request is valid during start()
 * only. No sink function is called from inside start() or after cancel(), and only usage() from
 * inside it.
 */
#ifndef PARLEY_MODEL_H
#define PARLEY_MODEL_H

#include "base/arena.h"
#include "base/json.h"
#include "loop/loop.h"

/* --- asked --------------------------------------------------------------- */

/* MSG_TOOLS: the results of the assistant message before it */
enum msg_role { MSG_USER, MSG_ASSISTANT, MSG_TOOLS };

enum msg_part_type { PART_TEXT, PART_REASONING, PART_CALL, PART_RESULT, PART_FILE };

struct msg_part {
    enum msg_part_type type;
    /* TEXT, REASONING; RESULT: what the model is told; FILE: its bytes in base64 */
    struct str         text;
    /* CALL, RESULT: the provider's own id when this provider made it, else ours */
    struct str         id;
    /* CALL, RESULT: wire name of the tool; FILE: what the person calls it */
    struct str         name;
    struct str         input; /* CALL: JSON object as text */
    /* JSON kept for this provider (signatures ...), replayed untouched; STR_NONE: none. Only set
     * when the step was made by the provider that is asked now. */
    struct str         opaque;
    struct str         media_type; /* FILE; text parts of other kinds come as TEXT */
    struct str         url;        /* FILE given by address instead of bytes */
    bool               is_error;   /* RESULT */
    bool               aside; /* TEXT of a user message: not the person's words, but beside them */
    /* CALL: not made by the provider that is asked now (another one, or a person's button) */
    bool               foreign;
};

/* `words`: its calls and results are told in words, whatever the provider: it refused them in
 * another form. */
struct msg {
    enum msg_role    role;
    struct msg_part *parts;
    size_t           count;
    bool             words;
};

/* name: [A-Za-z0-9_-]{1,64}. `declared`: by the client, with its request. */
struct model_tool {
    struct str name, description, schema;
    bool       declared;
};

/* What the answer must call: MUST: some tool, NAMED: that one. NONE: nothing. A provider that
 * cannot be made to (or not while it thinks) is left to choose. */
enum model_choice { CHOICE_AUTO, CHOICE_NONE, CHOICE_MUST, CHOICE_NAMED };

struct model_request {
    struct str               system;
    const struct msg        *msgs;
    size_t                   msg_count;
    const struct model_tool *tools;
    size_t                   tool_count;
    /* another model stands by: this one need not be waited for */
    bool                     another;
    /* nobody is there to ask again later (its run was begun by another process): it waits for its
     * turn as long as it takes */
    bool                     patient;
    /* the closing answer at the iteration limit, or CHOICE_NONE: tools are listed, not to be
     * used */
    bool                     no_calls;
    enum model_choice        choice;
    struct str               named; /* CHOICE_NAMED: one of the tools */
    /* for upstreams that want a stable user or cache key */
    struct str               thread;
    struct str               run, principal; /* whose it is, for the log */
    struct str               trace;          /* W3C Trace Context, sent along; STR_NONE: none */
    /* of the answer: it can only lower the model's own limit; 0: that */
    int64_t                  max_tokens;
};

/* The lower of what is configured (0 or less: nothing) and what is asked for. */
static inline int64_t model_max_tokens(int64_t configured, const struct model_request *q)
{
    if (configured <= 0) return q->max_tokens;
    return q->max_tokens > 0 && q->max_tokens < configured ? q->max_tokens : configured;
}

/* --- answered --------------------------------------------------------------- */

enum model_stop {
    STOP_END,     /* said all it had to say */
    STOP_CALLS,   /* wants its calls run */
    STOP_LENGTH,  /* cut by a token limit: calls are not run */
    STOP_REFUSAL, /* content filter or refusal: calls are not run */
};

struct model_error {
    /* "model_overloaded", "model_auth", "model_rate_limit", "model_unreachable", "model_protocol",
     * "model_error" ... */
    const char *code;
    /* one sentence for people: what happened and whether trying again helps. Never a raw body, a
     * key or a host */
    struct str  message;
    bool        retryable;
    /* the sentence for operators, with the host; STR_NONE: there is no more to say */
    struct str  detail;
};

/* Parts come one after another: a new text, reasoning or call closes the one
 * before it. Adapters whose wire interleaves parallel calls hold the later ones back.
 * No delta is empty, but for one case: an empty reasoning delta opens a part that will have no
 * words at all, and the next call is its opaque(): JSON that the provider wants back, such as a
 * thought it keeps to itself. There is nothing of it to show. A call's input is what the model
 * sent, whatever that is. */
struct model_sink {
    void (*text)(struct model_sink *s, struct str delta);
    void (*reasoning)(struct model_sink *s, struct str delta);
    /* JSON to keep with the part that is open now (or, with none open, a new reasoning part). At
     * most one for each part: text or reasoning that comes after it belongs to a new part. */
    void (*opaque)(struct model_sink *s, struct str json);
    /* a call begins; STR_NONE: the provider gave it no id */
    void (*call)(struct model_sink *s, struct str provider_id, struct str name);
    /* JSON text of the open call */
    void (*input)(struct model_sink *s, struct str delta);
    /* The open call is complete; without this it is never run, also not when STOP_CALLS follows
     * (half an input): it gets an error result. */
    void (*call_end)(struct model_sink *s);
    /* Totals; a later one replaces. Told before the end in any case: what the provider did not say
     * is estimated. Also the one function that is called from inside cancel(), because an answer
     * that is stopped was still paid for. */
    void (*usage)(struct model_sink *s, int64_t input_tokens, int64_t output_tokens);
    /* Exactly one of these two ends it. */
    void (*done)(struct model_sink *s, enum model_stop stop);
    void (*failed)(struct model_sink *s, const struct model_error *e);
};

/* Hears everything and does nothing: for who wants only some of it. It is copied, and what is
 * wanted is set; the two ends always are. */
extern const struct model_sink model_sink_quiet;

/* --- a model ------------------------------------------------------------------- */

struct model;
struct model_run; /* one call in flight; the adapter's own */

struct model_ops {
    /* NULL: no memory. */
    struct model_run *(*start)(struct model *m, const struct model_request *q,
                               struct model_sink *sink);
    /* closes the transfer at once, frees r */
    void (*cancel)(struct model_run *r);
    void (*free)(struct model *m);
    /* For so long it is not worth asking (it said so, or it failed); 0: ask. NULL: always worth
     * it. */
    uint64_t (*away_ms)(const struct model *m);
    /* Of several models that look like one: the one that answers. NULL: it is itself. */
    const struct model *(*answering)(const struct model_run *r);
    /* Was it asked once more without the signatures in its request? NULL: never. */
    bool (*stripped)(const struct model_run *r);
    /* Does it stand in line behind others, and was not asked yet? NULL: never. */
    bool (*waits)(const struct model_run *r);
};

struct model {
    const struct model_ops *ops;
    struct str              name; /* the configuration's name for it */
    /* "demo", "anthropic" ...: which opaque parts it understands */
    struct str              provider;
    struct str              model; /* the provider's name for it */
    /* tokens that a request to it may have, its answer not counted; 0: nobody knows */
    int64_t                 context;
    /* of a million tokens that it reads, and writes, in millionths of the currency */
    int64_t                 price_in, price_out;
    /* what a request to it depends on beside struct model_request, for model_sent(): no keys in it.
     * STR_NONE: nothing is sent anywhere */
    struct str              how;
};

/* The scripted model compiled in: no key, no network. `token_ms` between words; 0: as fast as the
 * loop turns. */
struct model *model_demo_new(struct loop *l, unsigned token_ms);

#endif
