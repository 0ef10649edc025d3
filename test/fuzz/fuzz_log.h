/* fuzz_log.h -- the log that request decoders are held against: a payment waits, a client tool is
 * offered, a free call is done. */
#ifndef PARLEY_FUZZ_LOG_H
#define PARLEY_FUZZ_LOG_H

#include "run/fold.h"

static void add(struct fold *f, struct fact x)
{
    x.seq = f->count + 1;
    must(fold_add(f, &x) == OK);
}

static void make_log(struct fold *f)
{
    struct part parts[] = {
        { .type = STEP_CALL,
          .call = STR("call-1"),
          .tool = STR("pay"),
          .text = STR("{\"amount\":50}"),
          .gate = GATE_ASK,
          .complete = true },
        { .type = STEP_CALL,
          .call = STR("call-2"),
          .tool = STR("where"),
          .text = STR("{}"),
          .gate = GATE_CLIENT,
          .client = true,
          .complete = true },
        { .type = STEP_CALL,
          .call = STR("call-3"),
          .tool = STR("weather"),
          .text = STR("{}"),
          .gate = GATE_FREE,
          .complete = true },
    };
    fold_init(f);
    add(f, (struct fact){
               .kind = FACT_MESSAGE, .run = STR("run_1"), .id = STR("m_1"), .text = STR("Pay") });
    add(f, (struct fact){ .kind = FACT_STEP,
                          .run = STR("run_1"),
                          .stop = STR("calls"),
                          .parts = parts,
                          .parts_count = 3 });
    add(f, (struct fact){ .kind = FACT_STARTED, .call = STR("call-2"), .client = true });
    add(f, (struct fact){ .kind = FACT_STARTED, .call = STR("call-3") });
    add(f, (struct fact){ .kind = FACT_ASKED,
                          .call = STR("call-1"),
                          .id = STR("confirmation-call-1"),
                          .ask = STR("Pay?") });
    add(f, (struct fact){ .kind = FACT_FINISHED,
                          .call = STR("call-3"),
                          .outcome = WORD_DONE,
                          .text = STR("warm") });
}

#endif
