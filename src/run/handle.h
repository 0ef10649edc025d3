/* handle.h -- private to run/: the handlers of commands.
 *
 *   command.c   which handler, and what has none of its own
 *   begin.c     what begins a run: a message, another try, a button, a program's call
 *   verdict.c   what people say of a call: yes and no, votes, grants, how it turned out
 *   outcome.c   what calls and steps came to, as browsers, jobs and other nodes tell it
 *   end.c       how what is open ends
 *
 * A handler looks at the fold, adds facts with thread_add and sets the answer; it never tells
 * anybody and never acts. The answer goes out when the facts are on disk. It returns false when the
 * command has to wait for the run to end, and sets *e when the batch is to be dropped.
 */
#ifndef PARLEY_HANDLE_H
#define PARLEY_HANDLE_H

#include "run/engine.h"

/* --- the answer --- */

static inline bool refuse(struct thread *t, struct command *c, int status, const char *code,
                          const char *message)
{
    command_answer(t, c, status, code, message);
    return true;
}

static inline void accepted(struct thread *t, struct command *c, struct str run, uint64_t seq)
{
    command_answer(t, c, 200, NULL, NULL);
    c->receipt.run = run;
    c->receipt.seq = seq;
}

static inline void suspicious(const struct thread *t, const struct command *c, const char *what)
{
    log_line(LOG_SECURITY, "answer.refused", "why", what, "thread", log_str(t->id), "by",
             log_str(c->by), "via", log_str(c->via), "id", log_str(c->id), NULL);
}

/* The same value, however it was spelled. */
bool                command_same_value(struct command *c, struct str now, struct str was);
/* CREATE, LABEL: c->labels from now on, if they are others than those that are there. */
MUST_CHECK enum err command_label(struct thread *t, struct command *c);

/* --- begin.c --- */
bool begin_message(struct thread *t, struct command *c, enum err *e);
bool begin_retry(struct thread *t, struct command *c, enum err *e);
bool begin_action(struct thread *t, struct command *c, enum err *e);
bool begin_call(struct thread *t, struct command *c, enum err *e);
bool begin_empty(struct thread *t, struct command *c, enum err *e); /* CMD_CREATE */

/* --- verdict.c --- */
bool verdict_decide(struct thread *t, struct command *c, enum err *e);
bool verdict_unvote(struct thread *t, struct command *c, enum err *e);
bool verdict_revoke(struct thread *t, struct command *c, enum err *e);
bool verdict_settle(struct thread *t, struct command *c, enum err *e);
/* Sets the answer if the state would refuse this yes or no; adds nothing. */
void verdict_refused(struct thread *t, struct command *c);

/* --- outcome.c --- */
bool outcome_result(struct thread *t, struct command *c, enum err *e);
void outcome_refused(struct thread *t, struct command *c); /* as verdict_refused, of a result */
bool outcome_claim(struct thread *t, struct command *c, enum err *e);
bool outcome_handed(struct thread *t, struct command *c, enum err *e);
bool outcome_named(struct thread *t, struct command *c, enum err *e);
bool outcome_late(struct thread *t, struct command *c, enum err *e);
void outcome_step(struct thread *t, enum err *e);
void outcome_tool(struct thread *t, struct command *c, enum err *e);
void outcome_asks(struct thread *t, struct command *c, enum err *e);

/* --- end.c --- */
/* The open question of a call. `c` NULL: nobody answered. */
MUST_CHECK enum err end_gate(struct thread *t, struct call *call, const struct command *c,
                             enum word verdict);
MUST_CHECK enum err end_call(struct thread *t, struct call *call, enum word outcome,
                             struct str text);
/* The person went on without answering: every open call gets a result, the run is over. */
MUST_CHECK enum err end_superseded(struct thread *t);
MUST_CHECK enum err end_stopped(struct thread *t, const struct command *c);
/* Nobody will read on: what was begun comes to its outcome, and no model speaks of it. */
MUST_CHECK enum err end_left(struct thread *t, const struct command *c);
/* The same for a message that stands beside answers: what they did not answer is cancelled. */
MUST_CHECK enum err end_answered(struct thread *t, const struct command *c);
/* Everything that is overdue. `going_on`: the person goes on, and need not be waited for. */
MUST_CHECK enum err end_due(struct thread *t, bool going_on);

#endif
