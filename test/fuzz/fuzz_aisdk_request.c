/* fuzz_aisdk_request.c -- any bytes as the body of an AI SDK request, held against a log in which
 * a payment waits, a client tool is offered, and a free call is done.
 *
 * Whatever comes: a refusal has a status, a code and a sentence; an answer is taken only for a call
 * that waits for one; a command that says yes was made from the boolean true.
 */
#include <stdint.h>

#include "dialect/aisdk_request.h"
#include "run/fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(struct fold *f, struct fact x)
{
    x.seq = f->count + 1;
    must(fold_add(f, &x) == OK);
}

static const struct fold *the_log(void)
{
    static struct fold f;
    if (f.count) return &f;
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
    fold_init(&f);
    add(&f, (struct fact){
                .kind = FACT_MESSAGE, .run = STR("run_1"), .id = STR("m_1"), .text = STR("Pay") });
    add(&f, (struct fact){ .kind = FACT_STEP,
                           .run = STR("run_1"),
                           .stop = STR("calls"),
                           .parts = parts,
                           .parts_count = 3 });
    add(&f, (struct fact){ .kind = FACT_STARTED, .call = STR("call-2"), .client = true });
    add(&f, (struct fact){ .kind = FACT_STARTED, .call = STR("call-3") });
    add(&f, (struct fact){ .kind = FACT_ASKED,
                           .call = STR("call-1"),
                           .id = STR("confirmation-call-1"),
                           .ask = STR("Pay?") });
    add(&f, (struct fact){ .kind = FACT_FINISHED,
                           .call = STR("call-3"),
                           .outcome = WORD_DONE,
                           .text = STR("warm") });
    return &f;
}

static void check_refusal(const struct refusal *why)
{
    must(why->status >= 400 && why->status < 600 && why->code && why->code[0] && why->message &&
         why->message[0]);
}

static void check_answer(const struct fold *f, const struct ai_answer *x)
{
    struct refusal  why = { 0 };
    struct command *c = command_new(CMD_DECIDE);
    if (!c) return;
    if (x->kind == AI_RESULT) must(fold_call(f, x->id) && fold_call(f, x->id)->client);
    else must(x->kind != AI_RESERVED && fold_confirmation(f, x->id));
    if (!ai_command(c, x, &why)) check_refusal(&why);
    else if (x->kind != AI_RESULT && c->confirmed) must(str_find(x->answer->raw, STR("true")) >= 0);
    command_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fold *f = the_log();
    struct refusal     why = { 0 };
    struct ai_request  q;
    const struct jv   *body;
    struct command    *c = command_new(CMD_FOLLOW);
    if (!c) return 0;
    bool ok = request_object(c, str_n((const char *)data, size), false, &body, &why) &&
              ai_decode(c, body, &q, &why);
    if (ok && q.kind == AI_ANSWERS) {
        ok = ai_check(f, &q, &c->arena, &why);
        for (size_t i = 0; ok && i < q.answer_count; i++)
            if (q.answers[i].taken) check_answer(f, &q.answers[i]);
    }
    if (!ok) check_refusal(&why);
    command_free(c);
    return 0;
}
