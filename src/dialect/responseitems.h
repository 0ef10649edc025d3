/* responseitems.h -- the object that a response is, and its items, as OpenAI's Responses have them:
 * made from the log alone, so that what is fetched is what was streamed.
 *
 * Items come in the order in which the stream adds them: the calls that were decided elsewhere,
 * then what the facts bring. An item's id is the response's 22 characters and its number, so an id
 * finds its response without a table; a question's id is the confirmation, and a call has its call
 * id.
 */
#ifndef PARLEY_RESPONSEITEMS_H
#define PARLEY_RESPONSEITEMS_H

#include "base/jsonw.h"
#include "run/response.h"
#include "run/thread.h"

/* What the door keeps with a response (its `data`), read again. */
struct response_data {
    struct str form; /* "both", "items", "extension", "words" */
    bool       store, background, summary, usage;
    struct str model, instructions, metadata, tools, tool_choice,
        input; /* raw JSON from `metadata` on */
    int64_t          max_output_tokens;
    struct str       link; /* what the address of a question begins with */
    const struct jv *tell; /* calls that are told first: a list of their ids */
};
/* In the arena; empty where nothing is said. */
void response_data(struct arena *a, const struct fact *response, struct response_data *out);
/* Can it be had by its id? Not stored is as good as forgotten, from the start. */
bool response_kept(const struct fold *f, const struct fact *response);

enum item_kind {
    ITEM_MESSAGE,
    ITEM_REASONING,
    ITEM_CALL,     /* of our own tools */
    ITEM_FUNCTION, /* the client runs it */
    ITEM_QUESTION,
};
struct response_item {
    enum item_kind     kind;
    unsigned           index;
    struct str         text;     /* of words */
    bool               complete; /* they came to their end */
    const struct call *call;
    const struct fact *asked; /* ITEM_QUESTION */
    uint64_t           seq;   /* the fact that added it */
    bool               left;  /* its response is over, and its call may not be: the tool asks */
};
/* Does a later response than the one which told of its beginning tell how the call ended? */
bool               response_ends_call(const struct fact *response, const struct call *c);
/* What is told of a call with that id: what a person made of it, if it ran in its place. */
const struct call *response_call(const struct fold *f, struct str id);
/* It is another call that is told: what a person made of this one. */
static inline bool call_gave_way(const struct call *c)
{
    return c->finished && c->finished->outcome == WORD_REPLACED && c->replaced_by;
}
/* Each item that facts up to `seq` added. Return false to stop. */
void response_items(const struct fold *f, const struct fact *response,
                    const struct response_data *d, uint64_t                       seq,
                    bool (*each)(void *ctx, const struct response_item *x), void *ctx);

/* "msg_" + 22 + "_" + index, and so on. */
#define ITEM_ID_MAX 48
struct str  item_id(char out[ITEM_ID_MAX], const char *prefix, struct str response, unsigned index);
/* One item, whole. `seq`: what is known; `open`: as it is added, before anything is known of it. */
void        item_write(struct jsonw *w, struct str response, const struct response_item *x,
                       const struct response_data *d, uint64_t seq, bool open);
/* The response; `seq`: as far as that. `empty`: without its output, in progress. */
void        response_write(struct jsonw *w, const struct fold *f, struct str thread,
                           const struct fact *response, uint64_t seq, bool empty);
/* "completed", "failed", ...; `end`: where it ends, 0: nowhere yet. */
const char *response_status(const struct fold *f, const struct fact *response, uint64_t end);
/* Can a reader have been told everything below `after` (responses.c)? Not the half of a
 * character. */
bool response_number_fits(const struct thread *t, const struct fact *response, uint64_t after);
/* Tokens of the model calls in it. */
void response_usage(const struct fold *f, const struct fact *response, uint64_t seq, int64_t *in,
                    int64_t *out);

#endif
