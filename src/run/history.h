/* history.h -- what the model is told: messages built from facts, and only from facts.
 *
 * An edited message hides what came from the old one on; a retry hides what the
 * old run said, from its last effect on (fact.keep). A message that goes on from an earlier answer
 * (fact.of, a run) shows what counted when that was the newest, and hides what came instead. What
 * hidden calls did stays done, so it is told in words with the message that took their place.
 * Markers, approvals and verdicts are never part of it: the model sees its call and one result.
 * Every call has a result, because providers
 * refuse a turn where one is missing.
 *
 * A summary fact takes the place of what it stands for, in the first message. It counts as long as
 * all of that still counts: after an edit or a retry inside of it the conversation is told as it
 * is. The newest one that counts is the one that is told; it was made from the one before it.
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

/* What an edit, a retry or a return hid: the conversation from that question on, as it was. `of` is
 * the question that stands there now (or stood there when this version's own place was hidden). */
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
/* What a summary stands for, or would: the facts that count with from <= seq <= upto, `covers` of
 * them, but for the runs in `open` (a JSON list), which are told as they are: somebody has yet to
 * say how a call of theirs turned out. upto 0: nothing. */
struct history_range {
    uint64_t   from, upto;
    size_t     covers;
    struct str open;  /* in the arena; STR_NONE: none */
    size_t     bytes; /* of the log, roughly */
};
/* The range that the next summary would stand for: whole turns, the oldest first, not the newest
 * `keep` (at least one), at most `max` bytes but at least one turn. Runs that are not over are
 * among the newest. */
MUST_CHECK enum err history_range(struct arena *a, const struct fold *f, unsigned keep, size_t max,
                                  struct history_range *out);
/* What is to be summarised, in words, with room for one more message. */
MUST_CHECK enum err history_part(struct arena *a, const struct fold *f,
                                 const struct history_range *r, const struct history_names *names,
                                 struct msg **out, size_t *count);
/* `provider`: opaque parts and provider ids of other providers are left out. `text_max`: a result
 * is cut to this, with a note. */
MUST_CHECK enum err history_build(struct arena *a, const struct fold *f, struct str provider,
                                  size_t text_max, const struct history_names *names,
                                  struct msg **out, size_t *count);

#endif
