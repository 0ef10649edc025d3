/* response.h -- what one request of OpenAI's shape is told: a run, or the part of one between two
 * gates, or a few words of the server itself.
 *
 * Such a client knows neither threads nor runs. Each request gets a response, and the response has
 * an id. It stands in the log as a fact, in the same append as what the request began or answered:
 *
 *   message, response, step, asked, told             | the run waits: this response is complete
 *   decided, response, started, finished, step, ended  the answer, and what followed from it
 *   response (with a text)                             words of the server: nothing else
 *
 * So a response is a stretch of the log: from its fact to the first one after which its run waits
 * for somebody, or is over. Nothing about it is kept elsewhere, and it is the same after a restart.
 * The members of the request that are only echoed (metadata, instructions, the form of approvals)
 * are `data`, a JSON object of the door's own.
 *
 * How a thread is found again (keys of the store, given in the same append):
 *   "r:ID"     the response
 *   "u:CHAIN"  what was said up to and with this request (chain.h)
 *   "w:CHAIN"  the same and the words of the response, once it is over
 *   "x:CHAIN"  the last exchange alone, in a conversation that a chat program has named
 * Their value is the response's id.
 *   "f:THREAD" a copy of it, or of one of its copies
 *   "a:ROOT"   it did something, or may yet: its run is not over. ROOT is the chain of the first
 *              words that its first request had of the person
 *   "a:THREAD" the same of a copy
 * So what was done is found among what was done, however many versions did nothing.
 *
 * A copy is another version of the conversation, and what the others did stays done. So it begins
 * with a `forked` that carries their effects as far as its own facts do not show them: the model is
 * told of them, and the same call asks, whatever its policy (fold.h, carried).
 */
#ifndef PARLEY_RESPONSE_H
#define PARLEY_RESPONSE_H

#include "run/fold.h"

#define RESPONSE_ID_PREFIX "resp_"

/* What a door wants to be told; command.response is its text, because a command may be carried to
 * another node. */
struct response_wish {
    struct str id;
    struct str of; /* the response that it continues; STR_NONE */
    /* what the address of a question begins with: questions are told in words. STR_NONE: not */
    struct str link;
    bool       codes; /* and may be answered so */
    bool       items; /* gates are told as items instead: only what tools at work ask is in words */
    struct str chain; /* CHAIN_LEN hex digits; STR_NONE: not known */
    /* of a request that begins a thread: the chain of the first words in it; STR_NONE: `chain` */
    struct str root;
    struct str data;
    struct str key; /* one more, of the door's own; STR_NONE */
    /* of a chat program that names its conversation: its name and the request's own words, hashed;
     * STR_NONE: it does not */
    struct str exchange;
    bool       quiet; /* if it begins the thread: not listed before something comes of it */
};

struct str response_wish_write(struct arena *a, const struct response_wish *w);
/* The facts up to `seq` as text, for command.message.copied. On no memory a->failed. */
struct str response_copy(struct arena *a, const struct fold *f, uint64_t seq);
/* What the thread's calls did, of one run or (STR_NONE) of all, and what it carries itself: a JSON
 * list, for command.message.effects. Functions of the client are its own business. On no memory
 * a->failed. */
struct str response_effects(struct arena *a, const struct fold *f, struct str run);
/* Did a call of its run do anything? */
bool       response_did(const struct fold *f, const struct fact *response);
/* The thread that its copies go back to, as it does: its own id is `thread`. */
struct str response_family(const struct fold *f, struct str thread);

/* The newest of that id; NULL: this thread has none. */
const struct fact *response_find(const struct fold *f, struct str id);
/* The one that the request with this key (response_wish) is being told; NULL: it is over, or
 * left. */
const struct fact *response_going(const struct fold *f, struct str key);
/* Its reader went away, and so it was stopped before it was whole. (Who wanted it stopped did so by
 * another way.) */
bool               response_left(const struct fold *f, const struct fact *response);
/* What was made in its place when it was asked for again, if anything was; else itself. NULL stays
 * NULL. */
const struct fact *response_retold(const struct fold *f, const struct fact *response);
/* Its id was deleted. */
bool               response_forgotten(const struct fold *f, struct str id);
/* The response that goes on from this one; NULL: none yet. */
const struct fact *response_after(const struct fold *f, struct str id);
/* The one that told what came of the call; NULL: none did. */
const struct fact *response_of_call(const struct fold *f, const struct call *c);
/* Is this question told in words there? */
bool               response_tells(const struct fact *response, const struct fact *asked);
/* Does it end with this fact? */
bool     response_ends_at(const struct fold *f, const struct fact *response, uint64_t seq);
/* The seq of its last fact, as far as `horizon`; 0: it goes on. */
uint64_t response_end(const struct fold *f, const struct fact *response, uint64_t horizon);
/* Its words up to and with fact `seq`, as clients keep them: the model's, and the server's. */
void     response_words(struct buf *out, const struct fold *f, const struct fact *response,
                        uint64_t seq);

#endif
