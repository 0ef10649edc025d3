/* trace.h -- why it did that: a conversation's steps as they were. For each what the model was
 * asked, byte for byte; what it said; which of its calls were judged how, who was asked by which
 * rule and who decided; what tools were given and gave; how long it took and what it cost.
 *
 * Nothing of it is stored but facts: the request is built again (brief.h) from the facts that there
 * were and the basis that the step names (basis.h).
 *
 *   {"id","owner","runs":[{"run","at","by","page","message"|"action","calls"?,
 *     "steps":[{"step","seq","at","ms","first_ms","provider","model","via"?,"stop"|"failed",
 *               "input_tokens","output_tokens","cost","facts","basis",
 *               "said":[{"type","text"}|{"type":"call","call"}],
 *               "calls":[what record.h says, and "gate","problem"?,"intent"?,"output"?,"value"?,
 *                        "note"?],
 *               "request"?:{"provider","model","sent","body"}|null}],
 *     "ended":{"outcome","at","code"?,"text"?}}]}
 *
 * Steps are counted from 1 through the conversation; one that failed without a word is one, too. A
 * summary is a step without a request (its own is not rebuilt). "note" is the end of what a process
 * wrote to stderr. "request" is there when one step is asked for; null: the step is older than
 * this, its basis is gone, or words that were in it (trim.h). "sent" false: to no service, the demo
 * model has none; then it is shown in OpenAI's form. The words are strangers': whoever shows them
 * escapes them.
 */
#ifndef PARLEY_TRACE_H
#define PARLEY_TRACE_H

#include "run/fold.h"
#include "run/hub.h"

/* The fact that is this step, from 1; NULL: there is none. */
const struct fact *trace_step(const struct fold *f, uint64_t step);
/* The whole object; `step` 0: all of them, without requests. `basis`: the text that the step names;
 * STR_NONE: there is none. Errors are the buf's. */
void trace_write(struct buf *out, const struct fold *f, struct log_name log, uint64_t step,
                 struct str basis);

/* The same from the hub's store. `done` once, never from inside; ERR_NOT_FOUND: no such
 * conversation, or no such step. The text is valid during the call. */
struct trace_ask {
    struct log_name log; /* borrowed until done */
    uint64_t        step;
    void (*done)(struct trace_ask *k, enum err e, struct buf *json);
    struct store_read    read; /* private */
    struct store_session row;
    struct store        *store;
    struct fold          fold;
    struct arena         arena;
};
void hub_trace(struct hub *h, struct trace_ask *k);

#endif
