/* payload.h -- what a run came to, as the plain doors tell it: the message with
 * its markers, the tool history, suggestions, usage. Shared by the dialects.
 *
 * Everything is computed from facts up to a seq, so that a replay tells the same
 * payload that was told live.
 */
#ifndef PARLEY_PAYLOAD_H
#define PARLEY_PAYLOAD_H

#include "base/jsonw.h"
#include "run/fold.h"

/* The text of the run up to and including fact `seq`. */
void payload_message(struct buf *out, const struct fold *f, const struct run *r, uint64_t seq);
/* The members of the typed door's payload, without the braces. `from`: what the client was told of
 * this run before; a place in the run makes this a continuation, which also says which words are
 * new. */
void payload_write(struct jsonw *w, const struct fold *f, const struct run *r, uint64_t seq,
                   struct str thread, uint64_t from);
/* A call's input as JSON: the object itself, or null when it is none. */
void payload_input(struct jsonw *w, const char *key, const struct call *c);
/* A call's output for people and cards: JSON value when there is one, else the text as a string. */
void payload_output(struct jsonw *w, const char *key, const struct call *c);
/* Why a call did not come to its end, in words for people; the model gets the JSON. */
void payload_error(struct jsonw *w, const char *key, const struct call *c);
/* "length" or "content-filter" of a run whose last step was cut off or refused; NULL: it ended by
 * itself, or not yet. */
const char *payload_cut(const struct run *r);
/* The member usage: the tokens of a run that is over; not to be told where nobody counted. */
bool        payload_counted(const struct run *r);
void        payload_usage(struct jsonw *w, const struct run *r);
/* Members stage, message and progress of a running call's newest report; null where it has none. */
void        payload_progress(struct jsonw *w, const struct call *c);
/* A time as RFC 3339; 0: null. */
void        payload_time(struct jsonw *w, const char *key, int64_t ms);
/* Members of tool_confirmation and of hello.pending: confirmation id under `id_key`, tool,
 * tool_use_id, input, ask, risk, expires_at. */
void payload_gate(struct jsonw *w, const char *id_key, const struct fold *f, const struct call *c,
                  const struct fact *asked);
/* {text, from, upto} of a summary fact. */
void payload_summary(struct jsonw *w, const struct fact *f);
/* suggested_values, suggested_actions; false: none */
bool payload_suggestions(struct jsonw *w, const struct run *r);
bool call_ok(const struct call *c);

#endif
