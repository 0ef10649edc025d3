/* agui.h -- AG-UI: what its door and its dialect (agui.c) write alike, and a thread as its
 * messages.
 *
 * A client posts and is told one segment: RUN_STARTED, what happened, exactly one terminal event.
 * Its runId names the segment; a run of ours spans as many of them as it has gates. The encoder
 * tells what the log says; what stands before it (RUN_STARTED, a snapshot, answers that came too
 * late) depends on the request and is written by the door, with these. Events are whole server-sent
 * events, appended to a buffer.
 *
 * Ids are made from the log, so that every replay has the same: msg-RUN-N and think-RUN-N for the
 * words and the reasoning of the run's Nth step, res-CALL for an outcome, act-CALL for progress.
 */
#ifndef PARLEY_AGUI_H
#define PARLEY_AGUI_H

#include "base/jsonw.h"
#include "base/map.h"
#include "run/thread.h"

/* What the client calls things. `older`: it came before protocol version 1.0 and dies of members
 * and outcomes it does not know. */
struct agui_names {
    struct str thread, segment;
    bool       older;
    struct str link; /* what the address of a question begins with; STR_NONE: nobody said */
};

void agui_started(struct buf *out, const struct agui_names *n);
void agui_error(struct buf *out, const char *code, const char *message);
/* The terminal event of a run as things stand: it waits, or is over. NULL: there is none, which is
 * a success. */
void agui_finished(struct buf *out, const struct agui_names *n, const struct thread *t,
                   const struct run *r);
/* A question was decided by somebody else meanwhile; `yours`: what this client wanted. */
void agui_resolved(struct buf *out, const struct fact *verdict, const char *yours);

/* MESSAGES_SNAPSHOT: the log's messages up to fact `seq`, and behind the message they followed
 * those of `theirs` (a request's list) that the log knows nothing of. ERR_NOMEM. */
MUST_CHECK enum err agui_snapshot(struct buf *out, const struct thread *t, uint64_t seq,
                                  const struct jv *theirs);

/* The ids that the log knows, for a list that may be long: those of its user messages, and what we
 * make of its runs and calls. Points into the fold. */
struct agui_ids {
    const struct fold *f; /* NULL: there is no log */
    struct map         messages, runs;
};
MUST_CHECK enum err agui_ids_init(struct agui_ids *k, const struct fold *f); /* ERR_NOMEM */
void                agui_ids_done(struct agui_ids *k);
bool                agui_knows(const struct agui_ids *k, struct str id);

/* --- shared by the files of this dialect ------------------------------------------------------ */

/* "msg-run_1-2" */
#define AGUI_ID_MAX 160
struct str agui_id(char out[AGUI_ID_MAX], const char *prefix, struct str of, unsigned n);
/* What a call came to, as text: content of a tool message. */
void       agui_content(struct jsonw *w, const char *key, const struct call *c);

/* What a terminal event is about. */
struct agui_ending {
    struct agui_names    names;
    const struct thread *thread;
    const struct run    *run;
    uint64_t             seq, from;
};
/* RUN_ERROR or RUN_FINISHED? `open`: the run waits; else it has ended. */
const char        *agui_ending_type(const struct agui_ending *x, bool open);
void               agui_write_ending(struct jsonw *w, const struct agui_ending *x, bool open);
/* The first members of a CUSTOM event. */
void               agui_write_custom(struct jsonw *w, const char *name);
/* The call that the client knows: what a person made of it is told under its name. */
const struct call *agui_root(const struct call *c);
/* A CUSTOM event's members: a question was decided. `yours`: what this client wanted, or NULL. */
void               agui_write_verdict(struct jsonw *w, const struct fact *f, const char *yours);

#endif
