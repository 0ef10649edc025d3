/* fuzz_adk_request.c -- any bytes as the body of /run_sse, held against a log in which a payment
 * waits, a client tool is offered, and a free call is done. dictionary: json
 *
 * Whatever comes: a refusal has a status, a code and a sentence; words and answers never come
 * together; an answer is taken only for a call that waits for one; a yes was made from the boolean
 * true.
 */
#include <stdint.h>

#include "dialect/adk_request.h"
#include "fuzz_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct refusal *why)
{
    must(why->status >= 400 && why->status < 600 && why->code[0] && why->message[0]);
}

static void check_answer(const struct fold *f, const struct ai_answer *x)
{
    struct refusal  why = { 0 };
    struct command *c = command_new(CMD_DECIDE);
    if (!c) return;
    if (x->kind == AI_RESULT) must(fold_call(f, x->id) && fold_call(f, x->id)->client);
    else must(x->kind == AI_CONFIRM && fold_confirmation(f, x->id));
    if (!ai_command(c, x, &why)) check_refusal(&why);
    else if (x->kind == AI_CONFIRM && c->decide.confirmed)
        must(str_find(x->answer->raw, STR("true")) >= 0);
    command_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fold       f;
    static struct ai_request q;
    struct refusal           why = { 0 };
    const struct jv         *body;
    struct command          *c = command_new(CMD_FOLLOW);
    if (!f.count) make_log(&f);
    if (!c) return 0;
    bool ok = request_object(c, str_n((const char *)data, size), false, &body, &why) &&
              adk_decode(c, body, &q, &why);
    if (ok) must((q.kind == AI_ANSWERS) != (str_trim(q.text).len || q.files.len));
    if (ok && q.kind == AI_ANSWERS) {
        ok = ai_check(&f, &q, &c->arena, &why);
        for (size_t i = 0; ok && i < q.answer_count; i++)
            if (q.answers[i].taken) check_answer(&f, &q.answers[i]);
    }
    if (!ok) check_refusal(&why);
    command_free(c);
    return 0;
}
