/* tidy.h -- a conversation in the form the asked provider takes.
 *
 * A thread holds whatever people, tools and other models put into it, and is sent
 * whole with every request: one thing that a provider answers 400 to would make the
 * thread unusable for ever. So every request goes through here first. Afterwards:
 *
 *   - no text is blank; texts, names and inputs have no NUL and no half characters
 *   - every call has a good and unique id, a good name, an object as input, and
 *     exactly one result, which stands right behind its message, in the same order
 *   - a file is one the provider takes, of the type its bytes say, within the
 *     provider's sizes (the newest ones win); any other is a text that names it
 *   - an opaque part is one that its wire knows how to send back
 *   - the first and the last message are the person's (or results), and two of the
 *     assistant never follow each other
 *
 * What cannot be sent in its own form is told in words or left out. Pure: the result
 * shares texts with the request and lives in the arena. The stored conversation is
 * not touched.
 */
#ifndef PARLEY_TIDY_H
#define PARLEY_TIDY_H

#include "base/arena.h"
#include "model/model.h"

/* What a provider takes. */
struct taste {
    const char *const *files;     /* media types, ended by NULL */
    const char *const *schemes;   /* of addresses it fetches itself, ended by NULL */
    size_t             file_max;  /* one file, as base64 */
    size_t             files_max; /* all files of a request */
    unsigned           file_count;
    size_t             id_max;          /* of a call's id */
    size_t             tools_max;       /* listed at once */
    size_t             description_max; /* of a tool, in characters */
    /* calls in a history are refused when no tool is listed */
    bool               calls_need_tools;
    /* calls of the current turn must be this provider's own */
    bool               calls_need_origin;
    /* reasoning must not be the last part of a message */
    bool               ends_in_words;
    bool               bare_reasoning; /* reasoning is sent as its text alone */
    /* The part's opaque JSON if the wire can send it back, else STR_NONE. */
    struct str (*opaque)(struct arena *a, const struct msg_part *p);
};

/* `tokens`: about how many the request will be counted as. False: no memory. */
MUST_CHECK bool tidy_request(struct arena *a, const struct taste *t, const struct model_request *q,
                             struct model_request *out, int64_t *tokens);

/* of JSON that goes out: protocol buffers end at 100, with what stands around it */
#define TIDY_DEPTH 60
/* no NUL, no half characters, no number beyond a double */
bool tidy_sound(const struct jv *v);
/* Nothing in it but white space, or nothing that can be seen at all. */
bool tidy_blank(struct str s);
/* The whole is base64 with its padding, in the usual alphabet. */
bool tidy_base64(struct str s);

#endif
