/* fuzz_agui.c -- any bytes as RunAgentInput, held against a log in which a payment waits, a client
 * tool is offered, and a free call is done. dictionary: json
 *
 * Whatever comes: a refusal has a status, a code and a sentence; a yes was made from the boolean
 * true; a result is taken only for a call that was offered; nothing is said while a question waits;
 * and the snapshot is one line of JSON, whatever list it was given. The same bytes as the body of
 * stop.
 */
#include <stdint.h>

#include "dialect/agui.h"
#include "dialect/agui_request.h"
#include "fuzz_log.h"
#include "run/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct thread   thread = { .id = { "t_1", 3 }, .loaded = true };
static struct registry tools;

static void check_answer(const struct agui_request *q, const struct agui_answer *x)
{
    const struct fold *f = &thread.fold;
    if (x->result) {
        const struct call *c = fold_call(f, x->id);
        must(c && c->client && c->state == CALL_STARTED && (x->value.len || x->error.len));
        return;
    }
    must(fold_confirmation(f, x->id) && !fold_verdict(f, x->id));
    for (size_t i = 0; x->confirmed && i < q->resume_count; i++)
        if (str_eq(q->resume[i].id, x->id)) must(jv_true(jv_get(q->resume[i].payload, "approved")));
}

static void check_snapshot(const struct agui_request *q, uint64_t seq)
{
    struct buf   b;
    struct arena a;
    struct jv   *v;
    buf_init(&b, 0);
    arena_init(&a, 0);
    must(agui_snapshot(&b, &thread, seq, q->messages) == OK);
    struct str line = str_trim(buf_view(&b));
    must(str_starts(line, STR("data: {")) && str_find(line, STR("\n")) < 0);
    must(json_parse_own(&a, str_from(line, 6), &v) == OK);
    arena_done(&a);
    buf_done(&b);
}

static void check_why(const struct refusal *why)
{
    if (why->status)
        must(why->status >= 400 && why->status < 600 && why->code[0] && why->message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct agui_plan plan;
    struct agui_request     q;
    struct refusal          why = { 0 };
    struct command         *c = command_new(CMD_FOLLOW);
    if (!thread.fold.count) {
        make_log(&thread.fold);
        thread.committed = thread.fold.count;
        registry_init(&tools);
    }
    if (!c) return 0;
    if (agui_decode(c, str_n((const char *)data, size), STR_NONE, &tools, &q, &why)) {
        agui_plan(c, &thread.fold, &q, false, &plan);
        must(plan.wish != AGUI_SAY && plan.wish != AGUI_RETRY); /* a question waits */
        if (plan.wish == AGUI_REFUSED) why = plan.why;
        for (size_t i = 0; plan.wish == AGUI_ANSWER && i < plan.answer_count; i++)
            check_answer(&q, &plan.answers[i]);
        for (uint64_t seq = 0; seq <= thread.committed; seq += 3) check_snapshot(&q, seq);
        agui_plan(c, NULL, &q, true, &plan);
        must(plan.wish == AGUI_SHOW);
    } else must(why.status);
    check_why(&why);
    why = (struct refusal){ 0 };
    must(agui_stop(c, str_n((const char *)data, size), &q, &why) == !why.status);
    check_why(&why);
    command_free(c);
    return 0;
}
