/* openai.h -- one request of OpenAI's shape, from its body to what it is told.
 *
 *   openai_turn.c   the request: decoded, its thread found, its commands sent
 *   openai_find.c   which thread: by id, by words
 *   openai_act.c    what the tail wants of it: answers, words, a message, a fork
 *   openai_past.c   a thread that it begins: what other versions of the conversation did
 *   openai_tell.c   the answer: a stream, or a whole object when the response is over
 *   openai_error.c  refusals in their shape
 *   openai_rest.c   what is fetched, cancelled, deleted; conversations; models
 *
 * The turn lives from the request to its answer; everything of it is in its holder's arena. A
 * client that leaves meanwhile loses the answer and nothing else.
 */
#ifndef PARLEY_DOOR_OPENAI_H
#define PARLEY_DOOR_OPENAI_H

#include "dialect/openai_request.h"
#include "door/app.h"
#include "run/response.h"

/* The request up to and with words of the person, at one place of it. */
struct openai_beginning {
    struct str chain, exchange; /* STR_NONE: the program names no conversation */
};

struct openai_turn {
    struct ask         ask;
    struct command    *holder; /* its arena keeps everything */
    struct oai_request q;
    struct str owner, roles, claims, page, link, key; /* key: of the body, for an SDK's retry */
    struct str chat; /* what the client's program calls this conversation; STR_NONE */
    bool       retry, may_decide, shared;
    struct store_list list; /* a look-up under way */
    void (*listed)(struct openai_turn *t, const struct store_row *rows, size_t count);
    /* the place: a thread, and the response in it that is continued */
    struct str       thread, response;
    bool             forks; /* if that one is continued already */
    unsigned         rule;  /* of openai_find.c: the next one to be tried */
    struct log_name *candidates;
    struct str      *candidate_responses;
    size_t           candidate_count, candidate;
    bool   again; /* looking for one that these words were said to before, and something was done */
    size_t waiting;                 /* commands without an answer */
    struct receipt           first; /* the first refusal of these */
    struct str               told;  /* the response to tell */
    /* openai_past.c: the command that begins a thread, and whose effects it is to carry */
    struct command          *begins;
    struct str              *past; /* threads */
    size_t                   past_count, past_next;
    struct follower          rest; /* of the next one, while it is still being answered */
    /* openai_find.c: the whole of it first, then what is shorter */
    struct openai_beginning *beginnings;
    size_t                   beginning_count;
    struct str               effects; /* found so far: lists, with commas between */
    struct str               seen;    /* the newest of those; STR_NONE: there was none */
    struct str               tried;   /* the request id that was taken */
    /* app.turns: the one after it; the same request, sent again before this one has its response */
    struct openai_turn      *next, *twins;
    bool                     listed_turn;
};

static inline struct arena *turn_arena(struct openai_turn *t)
{
    return &t->holder->arena;
}
/* Ends the turn with a refusal; `param` may be STR_NONE. */
void turn_refuse(struct openai_turn *t, int status, const char *code, const char *message,
                 struct str param);
void turn_no_memory(struct openai_turn *t);
void turn_free(struct openai_turn *t);
/* From the beginning: what it would have begun, another has begun. */
void turn_anew(struct openai_turn *t);
/* True: the same request is on its way already; this one will be told what that one is. */
bool turn_is_second(struct openai_turn *t);
/* A command of the turn, for its thread; NULL: no memory. */
struct command *turn_command(struct openai_turn *t, enum command_kind kind,
                             void (*done)(struct command *, const struct receipt *));
/* Asks the store for a key; `listed` gets the newest rows, at most so many. */
void turn_lookup(struct openai_turn *t, const char *kind, struct str name, unsigned limit,
                 void (*listed)(struct openai_turn *, const struct store_row *, size_t));

/* --- openai_find.c --- */
void       turn_find(struct openai_turn *t);
/* Up to and with the request's own words; STR_NONE: not known. `f`, `of`: what it continues. */
struct str turn_chain(struct openai_turn *t, const struct fold *f, const struct fact *of);

/* The request's own words, in the conversation that its program names; STR_NONE: it names none. */
struct str turn_exchange(struct openai_turn *t);
/* False: no memory. None of a request that names what it continues. */
bool       turn_beginnings(struct openai_turn *t);
/* The chain of the first words that the person has in it: what began the same has the same.
 * STR_NONE: none. */
struct str turn_root(struct openai_turn *t);

/* --- openai_act.c --- */
/* The same request again: its response was left before it was whole. It is made anew, after what
 * the run did. */
void turn_again(struct openai_turn *t, struct thread *at, const struct fact *left);
/* `at` NULL: a new thread. */
void turn_act(struct openai_turn *t, struct thread *at);
/* NULL, or one without memory: refused. */
void turn_submit(struct openai_turn *t, struct command *c);

/* --- openai_past.c --- */
/* Does the request say what this one answered, from the beginning, and shortly after it? It may go
 * on from there. */
bool turn_repeats(struct openai_turn *t, const struct fact *response);
/* Submit a command that begins a thread, with what other versions of the conversation did: one that
 * forks from `source`; one whose words nobody continued. */
void turn_fork(struct openai_turn *t, struct command *c, struct str source);
void turn_begin(struct openai_turn *t, struct command *c);

/* --- openai_tell.c --- */
/* Tells the response, which is in this thread; ends the turn and its twins. */
void turn_tell(struct openai_turn *t, struct thread *at, const struct fact *response);
void openai_reply_response(struct conn *c, const struct thread *t, const struct fact *response);

/* --- openai_error.c --- */
/* Texts, because some of them stand in the log and end in nothing. `param` may be STR_NONE. */
void openai_error(struct conn *c, int status, struct str code, struct str message,
                  struct str param);
void openai_no_memory(struct conn *c);

#endif
