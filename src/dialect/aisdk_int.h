/* aisdk_int.h -- private to aisdk*.c: what an AI SDK stream remembers, and who tells what of it.
 *
 *     aisdk.c        the stream: turns, steps, words, ends
 *     aisdk_calls.c  a tool's call in it: intent, announcement, question, outcome, progress
 */
#ifndef PARLEY_AISDK_INT_H
#define PARLEY_AISDK_INT_H

#include "dialect/dialect.h"

struct ai {
    bool     native, whole; /* as the reader wants it: stream_start */
    /* between start and finish, start-step and finish-step, as the log has it */
    bool     in_turn, in_step;
    bool     outcome_in_step; /* a tool outcome was told in this step: no words may follow in it */
    bool     said_in_step;    /* words or a call stand in this step: the client keeps it */
    bool     reasoning_open;  /* the reasoning part at the place was begun: it has words */
    bool     asked_in_step;   /* adk: this step holds confirmations */
    bool     shown_turn, shown_step; /* the same as this stream's client has it */
    bool     hidden;                 /* a gate that is over is being passed: counted, not shown */
    unsigned texts;                  /* names the text parts */
};

static inline struct ai *ai(const struct encoder *e)
{
    _Static_assert(sizeof(struct ai) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static inline bool ai_known(const struct encoder *e, const struct fact *f)
{
    return f && f->seq <= e->horizon;
}

/* --- aisdk.c --- */
/* A chunk that counts; false: write nothing. */
bool ai_chunk(struct encoder *e, struct jsonw *w, const char *type);
void ai_start_turn(struct encoder *e, const struct run *r); /* unless it is open */
void ai_start_step(struct encoder *e);                      /* none may be open */
/* In a step whose beginning was left out or lies before this stream: it is opened now, without
 * counting. */
void ai_show_step(struct encoder *e);
void ai_finish_step(struct encoder *e); /* if one is open */

/* --- aisdk_calls.c --- */
void ai_asked(struct encoder *e, const struct fact *f, const struct call *c);
/* An answer opens the turn again; what was withdrawn or stopped does not. */
void ai_decided(struct encoder *e, const struct fold *fold, const struct run *r,
                const struct fact *f);
void ai_started(struct encoder *e, const struct call *c);
void ai_finished(struct encoder *e, const struct fold *fold, const struct run *r,
                 const struct fact *f, const struct call *c);
void ai_progress(struct encoder *e, const struct call *c);

#endif
