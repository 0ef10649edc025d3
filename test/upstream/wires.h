/* wires.h -- the three providers' wires from the other side: what a request
 * says, whether the real service would take it, and how an answer is spelled.
 */
#ifndef UPSTREAM_WIRES_H
#define UPSTREAM_WIRES_H

#include "base/buf.h"
#include "base/json.h"

enum wire { W_ANTHROPIC, W_OPENAI, W_GEMINI };

/* --- the request --- */

struct asked {
    struct str text;    /* the last user message */
    struct str results; /* what the tools said, when results come last */
    /* the user's last words, also when results stand behind them */
    struct str question;
    bool       has_results, may_call;
};
void        wire_asked(enum wire w, const struct jv *body, struct arena *a, struct asked *out);
/* NULL, or what the real service would answer 400 to. */
const char *wire_refuses(enum wire w, const struct jv *body);
void wire_error(struct buf *out, enum wire w, int status, const char *type, const char *message,
                const char *extra);

/* --- the answer: each call appends whole server-sent events --- */

enum stop { S_END, S_CALLS, S_LENGTH, S_REFUSAL };

struct speaker {
    struct buf *out;
    enum wire   w;
    int         block, call;
    bool        signed_call;
};
void speak_begin(struct speaker *s);
void speak_text(struct speaker *s, struct str text); /* word by word */
/* signed where the wire has signatures */
void speak_thought(struct speaker *s, struct str text);
/* `upto` bytes of the input only (the call is not closed then). */
void speak_call(struct speaker *s, struct str id, struct str name, struct str input, size_t upto);
void speak_end(struct speaker *s, enum stop stop);
void speak_error(struct speaker *s);             /* an error event in the middle of the stream */
void speak_token(struct speaker *s, unsigned n); /* one small delta, for load */

#endif
