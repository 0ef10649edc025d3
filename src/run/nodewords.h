/* nodewords.h -- what nodes say to each other, as JSON texts. Pure: no link, no thread.
 *
 * A link carries many threads; `k` is the number the asking node gave to one of them. "up" is
 * towards the holder, "down" towards the mirror:
 *
 *   up    follow   {k, owner, thread, seq, watch, want}  tell me this thread from after `seq` on
 *         watch    {k, watch, want}  somebody looks at it here, or wants it, or nobody any more
 *         leave    {k}             enough
 *         commands {k, list: [{n, kind, ...}]}  in this order, all or none between others
 *         unclaim  {k, tab}        that tab has left
 *   down  facts    {k, title?, head, facts: [{seq, at, kind, body}]}   `head`: that is all for now
 *         step     {k, no, active, thinking, pieces: [...]}   what is being spoken; another `no`:
 *                                  from its beginning
 *         progress {k, no, call, ...}
 *         told     {k, words}      what somebody sent to all who follow it
 *         answer   {k, n, ...}     a command's; the facts it caused went before it
 *         moved    {k}             not held here (any more): ask the store who does
 *         gone     {k}             deleted
 *   both  sweep    {}              a node gives its threads back: look what runs and is nobody's
 *
 * A piece of a step is the beginning of a part, bytes of it, or its end, as step.h counts them.
 */
#ifndef PARLEY_NODEWORDS_H
#define PARLEY_NODEWORDS_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "run/command.h"
#include "run/step.h"

/* Begins a message: {"m":WORD,"k":K. Then jw_..., and node_end. */
void node_begin(struct jsonw *w, struct buf *out, const char *word, uint64_t k);
void node_end(struct jsonw *w);
/* A message without members of its own. */
void node_word(struct buf *out, const char *word, uint64_t k);

/* One command as an object; `n` comes back with its answer. */
void            node_write_command(struct jsonw *w, const struct command *c);
/* NULL: no memory, or it is not one. `done` and the log are the caller's. */
struct command *node_read_command(const struct jv *v);
/* The members of an answer, without thread and call. */
void            node_write_receipt(struct jsonw *w, const struct receipt *a);
/* Texts go into `a`. */
void            node_read_receipt(struct arena *a, const struct jv *v, struct receipt *out);

void                node_write_piece(struct jsonw *w, const struct piece *p);
/* Adds it to the step. ERR_NOMEM, ERR_SYNTAX. */
MUST_CHECK enum err node_read_piece(struct open_step *s, const struct jv *v);

#endif
