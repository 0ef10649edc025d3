/* model_trace.h -- a sink that writes down what it is told, and recordings
 * replayed through a wire with any cut. For the tests of the model adapters.
 */
#ifndef PARLEY_MODEL_TRACE_H
#define PARLEY_MODEL_TRACE_H

#include "model/wire.h"

struct trace {
    struct model_sink sink;
    struct buf        out;  /* one line per call of the sink */
    bool              over; /* done or failed was told */
    struct buf        text; /* all text together */
    unsigned          calls, ends;
    bool              failed, retryable;
    char              code[40];
};

void trace_init(struct trace *t);
void trace_done(struct trace *t);

/* Feeds the whole of `body`, cut where `next` says (bytes of the next piece; NULL: all at once),
 * and writes the end ("done calls", "failed model_cut") as remote.c would tell it. */
void trace_replay(struct trace *t, const struct wire *w, struct str body,
                  size_t (*next)(void *ctx, size_t left), void *ctx);

/* The lines of `whole` must be the same from replays in which every byte is once the first of a
 * piece, or, when it is long, from `rounds` random ones. Returns the number of replays, 0 when one
 * differed. */
unsigned trace_all_cuts(const struct wire *w, struct str body, struct str whole, unsigned rounds);

/* Lines of JSON payloads -> one SSE body. Anthropic: with event names; OpenAI: with [DONE]. */
void trace_frame(struct buf *out, const struct wire *w, struct str lines, const char *eol);

/* Replays every recording of a folder of the shared fixtures (see there); says "skipped: ..." when
 * it is not there. */
void trace_fixtures(const struct wire *w, const char *folder);

/* A body given inline; the trace as text (valid until the next call). */
struct str trace_of(const struct wire *w, const char *body);

/* The body a wire sends; `thinking` is the configuration's JSON, or NULL (valid until the next
 * call). */
struct str trace_sent(const struct wire *w, struct model_config c, const char *thinking,
                      const struct model_request *q);

/* The body when a tool "pay" is offered and the model is told what to call. */
struct str trace_chosen(const struct wire *w, enum model_choice choice, const char *thinking);

/* What an answer with this status and body means. */
struct error_row {
    int         status;
    const char *body, *code;
    bool        again;
};
void trace_errors(const struct wire *w, const struct error_row *rows, size_t count);

#endif
