/* tale.c -- see tale.h. */
#include "tale.h"

#include <stdarg.h>
#include <stdlib.h>

void tale_init(struct tale *t)
{
    *t = (struct tale){ 0 };
    fold_init(&t->thread.fold);
    t->thread.id = STR("t_1");
    t->thread.owner = STR("ann");
    t->thread.loaded = true;
}

void tale_done(struct tale *t)
{
    step_clear(&t->thread.step);
    fold_done(&t->thread.fold);
}

struct fold *tale_fold(struct tale *t)
{
    return &t->thread.fold;
}
struct call *tale_call(struct tale *t, const char *id)
{
    return fold_call(&t->thread.fold, str_c(id));
}

const struct fact *tale_fact(struct tale *t, struct fact f)
{
    struct fold *fold = &t->thread.fold;
    f.seq = fold->count + 1;
    f.at_ms = (int64_t)f.seq * 1000;
    REQUIRE(fold_add(fold, &f) == OK);
    t->thread.committed = fold->count;
    return fold->facts[fold->count - 1];
}

void tale_message(struct tale *t, const char *run, const char *text)
{
    tale_fact(t,
              (struct fact){
                  .kind = FACT_MESSAGE, .run = str_c(run), .id = STR("m_1"), .text = str_c(text) });
}

void tale_step(struct tale *t, const char *run, const char *stop, size_t count, ...)
{
    struct part parts[8];
    va_list     args;
    REQUIRE(count <= 8);
    va_start(args, count);
    for (size_t i = 0; i < count; i++) parts[i] = va_arg(args, struct part);
    va_end(args);
    tale_fact(t, (struct fact){ .kind = FACT_STEP,
                                .run = str_c(run),
                                .stop = str_c(stop),
                                .provider = STR("demo"),
                                .parts = parts,
                                .parts_count = count,
                                .input_tokens = 10,
                                .output_tokens = 3 });
}

void tale_asked(struct tale *t, const char *id)
{
    char confirmation[80];
    snprintf(confirmation, sizeof confirmation, "confirmation-%s", id);
    tale_fact(t, (struct fact){ .kind = FACT_ASKED,
                                .call = str_c(id),
                                .id = str_c(confirmation),
                                .ask = STR("Pay?"),
                                .risk = STR("high") });
}

void tale_decided(struct tale *t, const char *id, enum word verdict)
{
    char confirmation[80];
    snprintf(confirmation, sizeof confirmation, "confirmation-%s", id);
    tale_fact(t, (struct fact){ .kind = FACT_DECIDED,
                                .call = str_c(id),
                                .id = str_c(confirmation),
                                .outcome = verdict });
}

void tale_started(struct tale *t, const char *id)
{
    tale_fact(t, (struct fact){ .kind = FACT_STARTED, .call = str_c(id) });
}

void tale_finished(struct tale *t, const char *id, enum word outcome, const char *text)
{
    tale_fact(
        t, (struct fact){
               .kind = FACT_FINISHED, .call = str_c(id), .outcome = outcome, .text = str_c(text) });
}

void tale_ended(struct tale *t, const char *run, enum word outcome)
{
    tale_fact(t, (struct fact){ .kind = FACT_ENDED, .run = str_c(run), .outcome = outcome });
}

struct part words(const char *text)
{
    return (struct part){ .type = STEP_TEXT, .text = str_c(text), .complete = true };
}

struct part thought(const char *text)
{
    return (struct part){ .type = STEP_REASONING,
                          .text = str_c(text),
                          .complete = true,
                          .opaque = STR("{\"signature\":\"x\"}") };
}

struct part call(const char *id, const char *tool, const char *input, enum gate gate)
{
    bool said = gate != GATE_BAD && gate != GATE_REPLY;
    return (struct part){ .type = STEP_CALL,
                          .call = str_c(id),
                          .tool = str_c(tool),
                          .text = str_c(input),
                          .gate = gate,
                          .complete = true,
                          .client = gate == GATE_CLIENT,
                          .provider_id = STR("p-1"),
                          .problem = gate == GATE_BAD ? STR("No such tool.") : STR_NONE,
                          .intent = said ? STR("I'll do it...") : STR_NONE,
                          .at_ms = 7 };
}

void tale_again(struct tale *t, const struct tale *from, size_t count)
{
    tale_init(t);
    for (size_t i = 0; i < count; i++) {
        const struct fact *f = from->thread.fold.facts[i];
        struct stored_fact stored = { f->seq, f->at_ms, str_c(fact_name(f->kind)), f->body };
        REQUIRE(fold_apply(&t->thread.fold, &stored) == OK);
    }
    t->thread.committed = count;
}

unsigned tale_intents(void)
{
    static const char name[] = "\nparley_intent_seconds_count ";
    struct buf        text;
    buf_init(&text, 0);
    metrics_write(&text, 0, 0);
    buf_chr(&text, '\0');
    const char *at = strstr(text.ptr, name);
    unsigned    n = at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
    buf_done(&text);
    return n;
}
