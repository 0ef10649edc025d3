/* history.h -- what the model is told: messages built from facts, and only from facts.
 *
 * An edited message hides what came from the old one on; a retry hides what the
 * old run said, from its last effect on (fact.keep). What hidden calls did stays done, so it is
 * told in words with the message that took their place. Markers, approvals and verdicts are never
 * part of it: the model sees its call and one result. Every call has a result, because providers
 * refuse a turn where one is missing.
 *
 * A run that a provider refused as a whole (it ended with model_refused or model_context) is told
 * plainly from then on: its files by name, its results cut short. After two such runs in a row that
 * holds for everything before, after three its calls are words. Nothing that is in a thread can
 * make it unusable for ever.
 */
#ifndef PARLEY_HISTORY_H
#define PARLEY_HISTORY_H

#include "model/model.h"
#include "run/fold.h"

struct history_names { /* the registry's business */
    /* what models may be told of a tool of this name */
    struct str (*wire)(void *ctx, struct str tool);
    /* running it again does no harm */
    bool (*idempotent)(void *ctx, struct str tool);
    void *ctx;
};

/* What an edit or a retry hid: the conversation from that question on, as it was. `of` is the
 * question that stands there now (or stood there when this version's own place was hidden). */
struct version {
    struct str          of;
    const struct fact **facts;
    size_t              count;
};

/* The facts that still count, in order: branches cut away. In the arena. */
MUST_CHECK enum err history_visible(struct arena *a, const struct fold *f, const struct fact ***out,
                                    size_t *count);
/* What was cut away, oldest first. In the arena. */
MUST_CHECK enum err history_versions(struct arena *a, const struct fold *f,
                                     const struct version **out, size_t *count);
/* `provider`: opaque parts and provider ids of other providers are left out. `text_max`: a result
 * is cut to this, with a note. */
MUST_CHECK enum err history_build(struct arena *a, const struct fold *f, struct str provider,
                                  size_t text_max, const struct history_names *names,
                                  struct msg **out, size_t *count);

#endif
