/* tale.h -- a thread's log in the making, for tests of what is computed from one.
 *
 *     struct tale t;
 *     tale_init(&t);
 *     tale_message(&t, "run_1", "Pay Hanako");
 *     tale_step(&t, "run_1", "calls", 2, words("Let me."), call("call-1", "pay", "{}", GATE_ASK));
 *     tale_fact(&t, (struct fact){ .kind = FACT_ASKED, .call = STR("call-1"), ... });
 *
 * Facts are numbered and timed by their place (seq * 1000 ms), and are committed at once.
 */
#ifndef PARLEY_TALE_H
#define PARLEY_TALE_H

#include "run/engine.h"
#include "test.h"

struct tale {
    struct thread thread;
};

void               tale_init(struct tale *t);
void               tale_done(struct tale *t);
const struct fact *tale_fact(struct tale *t, struct fact f);
void               tale_message(struct tale *t, const char *run, const char *text);
/* `count` parts follow. */
void               tale_step(struct tale *t, const char *run, const char *stop, size_t count, ...);
void               tale_asked(struct tale *t, const char *call);
void               tale_decided(struct tale *t, const char *call, enum word verdict);
void               tale_started(struct tale *t, const char *call);
void tale_finished(struct tale *t, const char *call, enum word outcome, const char *text);
void tale_ended(struct tale *t, const char *run, enum word outcome);

struct part words(const char *text);
struct part thought(const char *text); /* reasoning */
struct part call(const char *id, const char *tool, const char *input, enum gate gate);

struct fold *tale_fold(struct tale *t);
struct call *tale_call(struct tale *t, const char *id);
unsigned     tale_intents(void); /* how many were measured so far, in this process */
/* The first `count` facts of `from`, read again from their stored form. */
void         tale_again(struct tale *t, const struct tale *from, size_t count);

/* A payment waits, told with the code 4821. */
static inline void tale_question(struct tale *t)
{
    tale_init(t);
    tale_message(t, "run_1", "Pay");
    tale_step(t, "run_1", "calls", 1, call("call-1", "pay", "{\"amount\":50}", GATE_ASK));
    tale_fact(t, (struct fact){ .kind = FACT_ASKED,
                                .call = STR("call-1"),
                                .id = STR("confirmation-call-1"),
                                .ask = STR("Pay 50?"),
                                .digest = STR("abc") });
    tale_fact(t, (struct fact){ .kind = FACT_TOLD,
                                .call = STR("call-1"),
                                .id = STR("confirmation-call-1"),
                                .code = STR("4821"),
                                .digest = STR("abc"),
                                .text = STR("**Pay 50?**") });
}

#endif
