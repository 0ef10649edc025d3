/* test_upstream.c -- the three adapters against the scripted service: every fault has a defined
 * end, the right sentence, no hang, and no half call. Models that are away:
 * test_upstream_lists.c. */
#include <stdlib.h>
#include <unistd.h>

#include "trial.h"

/* --- faults x providers ----------------------------------------------------------------------- */

static const struct expectation {
    const char *scenario, *code; /* code NULL: done */
    bool        retryable;
    const char *text;
    unsigned    calls, ends;
} table[] = {
    { "429", "model_rate_limit", true, "", 0, 0 },
    { "429-once", NULL, false, "You said: hi", 0, 0 },
    { "429-ms-once", NULL, false, "You said: hi", 0, 0 },
    { "429-long", "model_rate_limit", true, "", 0, 0 },
    { "quota", "model_quota", false, "", 0, 0 },
    { "500", "model_error", true, "", 0, 0 },
    { "500-once", NULL, false, "You said: hi", 0, 0 },
    { "500-no", "model_error", true, "", 0, 0 },
    { "529", "model_overloaded", true, "", 0, 0 },
    { "529-once", NULL, false, "You said: hi", 0, 0 },
    { "400", "model_refused", false, "", 0, 0 },
    { "401", "model_auth", false, "", 0, 0 },
    { "404", "model_not_found", false, "", 0, 0 },
    { "redirect", "model_protocol", false, "", 0, 0 },
    { "html", "model_protocol", false, "", 0, 0 },
    { "gzip", "model_protocol", true, "", 0, 0 },
    { "silent", "model_timeout", true, "", 0, 0 },
    { "drop-once", NULL, false, "You said: hi", 0, 0 },
    { "empty-once", NULL, false, "You said: hi", 0, 0 },
    { "stall", "model_timeout", true, "", 0, 0 },
    { "stall-late", "model_timeout", true, "Half an", 0, 0 },
    { "error-early-once", NULL, false, "You said: hi", 0, 0 },
    { "badjson", "model_protocol", true, "Half an", 0, 0 },
    { "badjson-early-once", NULL, false, "You said: hi", 0, 0 },
    { "eof", "model_cut", true, "Half an", 0, 0 },
    { "cut", "model_cut", true, "Half an", 0, 0 },
    { "cut-early-once", NULL, false, "You said: hi", 0, 0 },
    { "half", NULL, false, "", 1, 0 },
    { "half-cut", "model_cut", true, "", 1, 0 },
    { "length", NULL, false, "Paying now", 1, 0 },
    { "refusal", NULL, false, "I will not", 1, 1 },
    { "longline-once", NULL, false, "You said: hi", 0, 0 },
};

static void expect(const struct expectation *x, const char *provider)
{
    struct trial        t;
    char                model[64];
    /* The waits between attempts would make this test long; where the service names none, one retry
     * is enough. */
    struct model_config tweak = { .retries = str_ends(str_c(x->scenario), STR("-once")) ||
                                                     strstr(x->scenario, "429") ||
                                                     strstr(x->scenario, "5")
                                                 ? 2
                                                 : 0 };
    snprintf(model, sizeof model, "sc-%s", x->scenario);
    trial_open(&t);
    t.model = trial_model(&t, provider, model, &tweak);
    REQUIRE(t.model);
    trial_say(&t, "hi");
    bool ok = t.trace.failed == (x->code != NULL) &&
              (!x->code || (!strcmp(x->code, t.trace.code) && t.trace.retryable == x->retryable)) &&
              str_is(buf_view(&t.trace.text), x->text) && t.trace.calls == x->calls &&
              t.trace.ends == x->ends;
    if (!ok) {
        test_failed(provider, 0, x->scenario);
        printf("%s\n" STR_FMT, t.message, STR_ARG(buf_view(&t.trace.out)));
    }
    if (getenv("TRACE")) printf("%-10s %-18s %s\n", provider, x->scenario, t.message);
    trial_close(&t);
}

TEST(upstream_every_fault_on_every_wire_has_its_end)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t p = 0; p < 3; p++) expect(&table[i], providers[p]);
}

TEST(upstream_an_error_in_the_middle_keeps_what_was_said_and_is_not_repeated)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "sc-error", NULL);
        trial_say(&t, "hi");
        CHECK(t.trace.failed && t.trace.retryable);
        CHECK_STR(buf_view(&t.trace.text), "Half an");
        CHECK(!strcmp(t.trace.code, p == 1 ? "model_error" : "model_overloaded"));
        trial_close(&t);
    }
}

/* A complete call whose stop reason never came: the run sees the end of the call, but the attempt
 * failed. */
TEST(upstream_a_complete_call_without_a_stop_reason_fails)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "sc-whole-cut", NULL);
        trial_say(&t, "hi");
        CHECK(t.trace.failed && !strcmp(t.trace.code, "model_cut"));
        trial_close(&t);
    }
}

/* --- cancelling ------------------------------------------------------------------------------- */

TEST(upstream_cancel_from_inside_a_delta_closes_the_transfer)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "sc-pace-10000-1000", NULL);
        t.cancel_at = 5;
        int64_t before = service_stat("cancelled");
        trial_say(&t, "hi");
        CHECK(t.deltas == 5);
        uv_run(&t.loop.uv, UV_RUN_NOWAIT);
        CHECK(upstream_active(t.up) == 0);
        /* the service hears of it now, not when the process ends */
        for (int i = 0; i < 10000 && service_stat("cancelled") == before; i++) usleep(1000);
        CHECK(service_stat("cancelled") == before + 1);
        trial_close(&t);
    }
}

TEST(upstream_cancel_before_anything_came_is_quiet)
{
    struct trial t;
    trial_open(&t);
    t.model = trial_model(&t, "openai", "sc-silent", NULL);
    struct msg_part      part = { .type = PART_TEXT, .text = STR("hi") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg, .msg_count = 1 };
    t.run = t.model->ops->start(t.model, &q, &t.watch);
    t.model->ops->cancel(t.run); /* not even sent */
    CHECK(t.trace.out.len == 0);
    t.run = t.model->ops->start(t.model, &q, &t.watch);
    for (int i = 0; i < 5; i++) uv_run(&t.loop.uv, UV_RUN_NOWAIT);
    t.model->ops->cancel(t.run);
    uv_run(&t.loop.uv, UV_RUN_NOWAIT); /* the connection is closed at the end of the turn */
    /* what was asked is counted */
    CHECK(upstream_active(t.up) == 0 &&
          (!t.trace.out.len || str_starts(buf_view(&t.trace.out), STR("usage "))) && t.deltas == 0);
    trial_close(&t);
}

/* --- the conversations of the seeds ----------------------------------------------------------- */

TEST(upstream_parallel_calls_and_their_results_go_round)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "m", NULL);
        trial_say(&t, "{{think}}{{call process_payment "
                      "{\"amount\":30,\"recipient\":\"Al\\\"ice\"}}}{{call search {\"q\":\"x\"}}}");
        CHECK(!t.trace.failed && t.trace.calls == 2 && t.trace.ends == 2);
        CHECK(strstr(t.trace.out.ptr, "done calls") != NULL);
        trial_close(&t);
    }
}

/* As run/ would build it from facts: ids and signatures as the provider gave them. */
static void second_turn(struct trial *t, bool gemini, bool anthropic)
{
    struct msg_part user = { .type = PART_TEXT, .text = STR("pay") };
    struct msg_part said[] = {
        { .type = PART_REASONING,
          .text = STR("Let me see."),
          .opaque = anthropic ? STR("{\"signature\":\"c2lnLWE=\"}") : STR_NONE },
        { .type = PART_TEXT, .text = STR("One moment.") },
        { .type = PART_CALL,
          .id = STR("fc1"),
          .name = STR("process_payment"),
          .input = STR("{\"amount\":30}"),
          .opaque = gemini ? STR("{\"id\":\"fc1\",\"thoughtSignature\":\"c2lnLWc=\"}") : STR_NONE },
        { .type = PART_CALL,
          .id = STR("fc2"),
          .name = STR("search"),
          .input = STR("{}"),
          .opaque = gemini ? STR("{\"id\":\"fc2\"}") : STR_NONE },
    };
    struct msg_part results[] = {
        { .type = PART_RESULT,
          .id = STR("fc1"),
          .name = STR("process_payment"),
          .text = STR("The user declined."),
          .is_error = true },
        { .type = PART_RESULT, .id = STR("fc2"), .name = STR("search"), .text = STR("[1,2]") },
    };
    struct msg        msgs[] = { { MSG_USER, &user, 1 },
                                 { MSG_ASSISTANT, said, 4 },
                                 { MSG_TOOLS, results, 2 } };
    struct model_tool tool = { STR("search"), STR("Finds"), STR("{\"type\":\"object\"}") };
    trial_ask(t, &(struct model_request){ .system = STR("Be brief"),
                                          .msgs = msgs,
                                          .msg_count = 3,
                                          .tools = &tool,
                                          .tool_count = 1 });
}

TEST(upstream_results_are_accepted_by_a_service_that_checks_them)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "m", NULL);
        second_turn(&t, p == 2, p == 0);
        CHECK(!t.trace.failed);
        CHECK(str_find(buf_view(&t.trace.text), STR("The user declined.")) >= 0);
        trial_close(&t);
    }
}

TEST(upstream_a_connection_is_used_again_after_an_answer)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "m", NULL);
        int64_t before = service_stat("open");
        for (int i = 0; i < 20; i++) {
            trial_say(&t, "hi");
            CHECK(!t.trace.failed);
            trial_again(&t);
            for (int k = 0; k < 10000 && upstream_active(t.up); k++)
                usleep(1000), uv_run(&t.loop.uv, UV_RUN_NOWAIT);
        }
        CHECK(service_stat("open") <= before + 8); /* at most one for each CURLM */
        trial_close(&t);
    }
}

TEST(upstream_a_large_conversation_arrives_whole)
{
    static char  text[3000001];
    struct trial t;
    memset(text, 'x', sizeof text - 1);
    for (size_t p = 0; p < 3; p++) {
        trial_open(&t);
        t.model =
            trial_model(&t, providers[p], "m", &(struct model_config){ .first_byte_ms = 5000 });
        trial_say(&t, text);
        CHECK(!t.trace.failed && t.trace.text.len == strlen(text) + strlen("You said: "));
        trial_close(&t);
    }
}

TEST(upstream_keys_go_into_the_header_of_the_provider)
{
    static const char *const want[] = { "\"sk-secret\"", "\"Bearer sk-secret\"", "\"sk-secret\"" };
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        struct buf   b;
        trial_open(&t);
        buf_init(&b, 0);
        service_get("DELETE /requests", &b);
        buf_clear(&b);
        t.model = trial_model(&t, providers[p], "m", NULL);
        trial_say(&t, "hi");
        service_get("GET /requests", &b);
        CHECK(str_find(buf_view(&b), str_c(want[p])) > 0);
        buf_done(&b);
        trial_close(&t);
    }
}

TEST(upstream_lack_of_memory_fails_the_run_and_nothing_else)
{
    for (long n = 0; n < 40; n++) {
        struct trial t;
        trial_open(&t);
        t.model = trial_model(&t, providers[n % 3], "m", &(struct model_config){ .retries = 0 });
        struct msg_part      part = { .type = PART_TEXT,
                                      .text = STR("{{think}}{{call pay {\"a\":1}}}") };
        struct msg           msg = { MSG_USER, &part, 1 };
        struct model_request q = { .msgs = &msg, .msg_count = 1 };
        buf_room(&t.trace.out, 4096);
        buf_room(&t.trace.text, 4096);
        mem_fail_at(n);
        t.run = t.model->ops->start(t.model, &q, &t.watch);
        if (t.run) {
            loop_timer_set(&t.patience, PATIENCE_MS);
            loop_run(&t.loop);
        }
        mem_fail_at(-1);
        CHECK(!t.hung && (!t.run || t.trace.over));
        trial_close(&t);
    }
}

TEST(upstream_signatures_gemini_refuses_are_dropped_once)
{
    struct trial t;
    trial_open(&t);
    t.model = trial_model(&t, "gemini", "sc-signature", NULL);
    second_turn(&t, true, false);
    CHECK(!t.trace.failed);
    trial_close(&t);
}
