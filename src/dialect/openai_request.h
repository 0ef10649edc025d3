/* openai_request.h -- bodies of OpenAI's shape (Responses, Chat Completions): what they want now,
 * and by which words and ids their conversation may be found.
 *
 * Such a client sends its whole copy of the conversation. Only the tail acts: what follows the last
 * thing that the assistant's side said. All before it is a hint: ids and words to find the thread
 * by, and, where there is none, context for a new one; never a result, a permission or an argument.
 * A question in it that differs from ours takes the answer its force: somebody was shown that one.
 *
 * What would change the meaning of an answer if it were ignored is refused by name; the rest of
 * what these clients send is passed over.
 */
#ifndef PARLEY_OPENAI_REQUEST_H
#define PARLEY_OPENAI_REQUEST_H

#include "base/arena.h"
#include "base/json.h"

#define OAI_ITEMS_MAX  2000
#define OAI_TOOLS_MAX  128
#define OAI_SYSTEM_MAX (256u * 1024)
#define OAI_META_MAX   16
#define OAI_META_KEY   64 /* characters */
#define OAI_META_VALUE 512
#define OAI_TEXT_MAX   (1024u * 1024)
#define OAI_REASON_MAX 4096

struct oai_refusal {
    int         status;
    const char *code, *message;
    struct str  param; /* STR_NONE: none */
};

enum oai_kind {
    OAI_USER,
    OAI_SYSTEM,
    OAI_OUTPUT,    /* of a function: `id` is the call, `text` the output */
    OAI_APPROVAL,  /* `id` is the confirmation */
    OAI_ASSISTANT, /* its words */
    OAI_OTHER,     /* of the assistant's side, or too old to matter; `id` if it has one */
};

struct oai_item {
    enum oai_kind    kind;
    struct str       type, id, text, reason;
    bool             approve;
    bool             reference; /* item_reference: it must be one of ours */
    unsigned         index;     /* in the client's list */
    /* what goes with a yes, as JSON: of docs/approvals.md, Deciding; STR_NONE: nothing */
    struct str       grant, input;
    /* a question of ours, as the client has it: what its person was shown; NULL: it is none */
    const struct jv *question;
};

struct oai_function {
    struct str name, description, parameters;
    bool       strict;
};

/* How questions are told: openai-inbound 6. */
enum oai_form { OAI_FORM_BOTH, OAI_FORM_ITEMS, OAI_FORM_EXTENSION, OAI_FORM_WORDS };

enum oai_choice { OAI_AUTO, OAI_NONE, OAI_REQUIRED, OAI_NAMED };

/* "metadata": a few texts that a client wants kept. `v` NULL or null: `out` stays. Else as JSON in
 * the arena. False: refused. */
MUST_CHECK bool oai_metadata(struct arena *a, const struct jv *v, struct str *out,
                             struct oai_refusal *why);

struct oai_request {
    bool                 chat;
    struct str           model; /* STR_NONE: the default */
    bool                 stream, usage, store, background, summary;
    struct str           previous, conversation, instructions, metadata;
    int64_t              max_tokens; /* 0: not said */
    struct oai_item     *items;
    size_t               count, tail; /* items[tail] is the first that acts */
    struct str           text, files; /* the tail's user messages as one; files STR_NONE: none */
    bool                 has_message; /* there is one */
    bool                 only_text;   /* and nothing else: it may be an answer in words */
    struct str           system;      /* instructions and system messages, in their order */
    enum oai_form        form;
    bool                 ask_always;
    struct oai_function *functions;
    size_t               function_count;
    bool                 has_tools; /* the member was there */
    enum oai_choice      choice;
    struct str           named;
    struct str          *only; /* allowed tools; NULL: all */
    size_t               only_count;
    struct str           input;      /* JSON list of the tail's items, for input_items */
    struct str           choice_raw; /* as it came; STR_NONE */
};

/* All of it lives in the arena, as `body` does. */
MUST_CHECK bool oai_decode(struct arena *a, const struct jv *body, bool chat,
                           struct oai_request *out, struct oai_refusal *why);

#endif
