/* test_upstream.c -- the three adapters against the scripted service: every
 * fault has a defined end, the right sentence, no hang, and no half call.
 *
 * The service is the program `upstream` beside this one; it is started once.
 */
#include "test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/upstream.h"
#include "model_trace.h"

#define PATIENCE_MS 20000 /* a test that takes longer hangs */

static pid_t service;
static int   port;

static void stop_service(void)
{
    if (service > 0) kill(service, SIGKILL);
}

static void start_service(void)
{
    char    path[4096], line[32] = "";
    int     out[2];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (service) return;
    REQUIRE(n > 0 && pipe(out) == 0);
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/upstream");
    fflush(stdout);
    service = fork();
    if (service == 0) {
        dup2(out[1], 1);
        if (!getenv("TRACE")) REQUIRE(freopen("/dev/null", "w", stderr) != NULL);
        execl(path, path, "0", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    atexit(stop_service);
    REQUIRE(read(out[0], line, sizeof line - 1) > 0);
    close(out[0]);
    port = atoi(line);
    REQUIRE(port > 0);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

/* What the service says at `path`; the body only. */
static void service_get(const char *path, struct buf *out)
{
    char               piece[4096];
    ssize_t            n;
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    n = snprintf(piece, sizeof piece, "%s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    REQUIRE(write(fd, piece, (size_t)n) == n);
    shutdown(fd, SHUT_WR);
    while ((n = read(fd, piece, sizeof piece)) > 0) buf_add(out, piece, (size_t)n);
    close(fd);
    ptrdiff_t head = str_find(buf_view(out), STR("\r\n\r\n"));
    REQUIRE(head > 0);
    buf_eat(out, (size_t)head + 4);
}

static int64_t service_stat(const char *name)
{
    struct buf   b;
    struct arena a;
    struct jv   *v = NULL;
    buf_init(&b, 0);
    arena_init(&a, 0);
    service_get("GET /stats", &b);
    REQUIRE(json_parse(&a, buf_view(&b), &v, NULL) == OK);
    int64_t n = jv_int_at(v, name, -1);
    arena_done(&a);
    buf_done(&b);
    return n;
}

/* --- one run ------------------------------------------------------------------------------- */

struct trial {
    struct trace      trace;
    /* in front of the trace: stops the loop at the end, cancels on demand */
    struct model_sink watch;
    struct loop       loop;
    struct upstream  *up;
    struct model     *model;
    struct model_run *run;
    struct loop_timer patience;
    char              message[600];
    unsigned          deltas, cancel_at;
    bool              hung;
};

static struct trial *of(struct model_sink *s)
{
    return LIST_ITEM(s, struct trial, watch);
}

static void count(struct trial *t)
{
    if (++t->deltas != t->cancel_at) return;
    t->model->ops->cancel(t->run);
    t->trace.over = true;
    loop_stop(&t->loop);
}
static void w_text(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.text(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_reasoning(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.reasoning(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_opaque(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.opaque(&of(s)->trace.sink, d);
}
static void w_call(struct model_sink *s, struct str id, struct str name)
{
    of(s)->trace.sink.call(&of(s)->trace.sink, id, name);
    count(of(s));
}
static void w_input(struct model_sink *s, struct str d)
{
    of(s)->trace.sink.input(&of(s)->trace.sink, d);
    count(of(s));
}
static void w_call_end(struct model_sink *s)
{
    of(s)->trace.sink.call_end(&of(s)->trace.sink);
}
static void w_usage(struct model_sink *s, int64_t in, int64_t out)
{
    of(s)->trace.sink.usage(&of(s)->trace.sink, in, out);
}
static void w_done(struct model_sink *s, enum model_stop stop)
{
    of(s)->trace.sink.done(&of(s)->trace.sink, stop);
    loop_stop(&of(s)->loop);
}
static void w_failed(struct model_sink *s, const struct model_error *e)
{
    struct trial *t = of(s);
    t->trace.sink.failed(&t->trace.sink, e);
    snprintf(t->message, sizeof t->message, STR_FMT, STR_ARG(e->message));
    loop_stop(&t->loop);
}

static void on_patience(struct loop_timer *timer)
{
    struct trial *t = LIST_ITEM(timer, struct trial, patience);
    t->hung = true;
    loop_stop(&t->loop);
}

static void trial_open(struct trial *t)
{
    start_service();
    *t = (struct trial){ .watch = { w_text, w_reasoning, w_opaque, w_call, w_input, w_call_end,
                                    w_usage, w_done, w_failed } };
    trace_init(&t->trace);
    REQUIRE(loop_init(&t->loop) == OK);
    t->up = upstream_new(&t->loop);
    REQUIRE(t->up);
    loop_timer_init(&t->loop, &t->patience, on_patience);
}

static void trial_close(struct trial *t)
{
    if (t->model) t->model->ops->free(t->model);
    upstream_free(t->up, NULL, NULL);
    loop_timer_close(&t->patience, NULL);
    loop_done(&t->loop);
    trace_done(&t->trace);
}

static const char *const providers[] = { "anthropic", "openai", "gemini" };

static void base_url(char *out, size_t size, const char *provider)
{
    static const char *const tails[] = { "", "/v1", "/v1beta" };
    size_t                   i = 0;
    while (i < 2 && strcmp(providers[i], provider)) i++;
    snprintf(out, size, "http://127.0.0.1:%d%s", port, tails[i]);
}

static struct model *make(struct trial *t, const char *provider, const char *model,
                          const struct model_config *tweak)
{
    char                url[100];
    struct str          why = STR("");
    struct model_config c = tweak ? *tweak : (struct model_config){ .retries = 2 };
    base_url(url, sizeof url, provider);
    c.provider = str_c(provider);
    c.model = str_c(model);
    c.api_key = STR("sk-secret");
    c.wait_max_ms = 60000;
    if (!c.base_url.len) c.base_url = str_c(url);
    if (!c.idle_ms) c.idle_ms = 400;
    if (!c.first_byte_ms) c.first_byte_ms = 400;
    struct model *m = model_remote_new(t->up, &c, &why);
    if (!m) printf("    " STR_FMT "\n", STR_ARG(why));
    return m;
}

static void ask(struct trial *t, const struct model_request *q)
{
    t->run = t->model->ops->start(t->model, q, &t->watch);
    REQUIRE(t->run);
    loop_timer_set(&t->patience, PATIENCE_MS);
    loop_run(&t->loop);
    CHECK(!t->hung);
    CHECK(t->trace.over);
    CHECK(strstr(t->message, "sk-secret") == NULL && strstr(t->message, "own words") == NULL);
}

static void ask_text(struct trial *t, const char *text)
{
    struct msg_part part = { .type = PART_TEXT, .text = str_c(text) };
    struct msg      msg = { MSG_USER, &part, 1 };
    ask(t, &(struct model_request){ .msgs = &msg, .msg_count = 1 });
}

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
    t.model = make(&t, provider, model, &tweak);
    REQUIRE(t.model);
    ask_text(&t, "hi");
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
        t.model = make(&t, providers[p], "sc-error", NULL);
        ask_text(&t, "hi");
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
        t.model = make(&t, providers[p], "sc-whole-cut", NULL);
        ask_text(&t, "hi");
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
        t.model = make(&t, providers[p], "sc-pace-10000-1000", NULL);
        t.cancel_at = 5;
        int64_t before = service_stat("cancelled");
        ask_text(&t, "hi");
        CHECK(t.deltas == 5);
        uv_run(&t.loop.uv, UV_RUN_NOWAIT);
        CHECK(upstream_active(t.up) == 0);
        usleep(50000); /* the service hears of it at once, not when the process ends */
        CHECK(service_stat("cancelled") == before + 1);
        trial_close(&t);
    }
}

TEST(upstream_cancel_before_anything_came_is_quiet)
{
    struct trial t;
    trial_open(&t);
    t.model = make(&t, "openai", "sc-silent", NULL);
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
        t.model = make(&t, providers[p], "m", NULL);
        ask_text(&t, "{{think}}{{call process_payment "
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
    ask(t, &(struct model_request){ .system = STR("Be brief"),
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
        t.model = make(&t, providers[p], "m", NULL);
        second_turn(&t, p == 2, p == 0);
        CHECK(!t.trace.failed);
        CHECK(str_find(buf_view(&t.trace.text), STR("The user declined.")) >= 0);
        trial_close(&t);
    }
}

static void again(struct trial *t)
{
    t->trace.over = t->trace.failed = false;
    buf_clear(&t->trace.text);
}

TEST(upstream_a_connection_is_used_again_after_an_answer)
{
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = make(&t, providers[p], "m", NULL);
        int64_t before = service_stat("open");
        for (int i = 0; i < 20; i++) {
            ask_text(&t, "hi");
            CHECK(!t.trace.failed);
            again(&t);
            for (int k = 0; k < 50 && upstream_active(t.up); k++)
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
        t.model = make(&t, providers[p], "m", &(struct model_config){ .first_byte_ms = 5000 });
        ask_text(&t, text);
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
        t.model = make(&t, providers[p], "m", NULL);
        ask_text(&t, "hi");
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
        t.model = make(&t, providers[n % 3], "m", &(struct model_config){ .retries = 0 });
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
    t.model = make(&t, "gemini", "sc-signature", NULL);
    second_turn(&t, true, false);
    CHECK(!t.trace.failed);
    trial_close(&t);
}

/* --- unreachable, fallback, check ------------------------------------------------------------- */

TEST(upstream_a_service_that_is_not_there_is_told_as_such)
{
    struct trial t;
    trial_open(&t);
    t.model =
        make(&t, "openai", "m",
             &(struct model_config){ .base_url = STR("http://127.0.0.1:1/v1"), .retries = 0 });
    ask_text(&t, "hi");
    CHECK_STR(str_c(t.message), "There is no connection to the model's service. Trying again helps "
                                "once it can be reached.");
    trial_close(&t);
}

TEST(upstream_a_service_without_tls_is_told_as_such)
{
    struct trial t;
    char         url[64];
    trial_open(&t);
    snprintf(url, sizeof url, "https://127.0.0.1:%d/v1", port);
    t.model =
        make(&t, "openai", "m",
             &(struct model_config){ .base_url = str_c(url), .retries = 0, .first_byte_ms = 5000 });
    ask_text(&t, "hi");
    CHECK(!strcmp(t.trace.code, "model_tls") && !t.trace.retryable);
    trial_close(&t);
}

TEST(upstream_the_next_model_is_asked_when_the_first_fails_before_a_word)
{
    struct trial  t;
    struct model *list[3];
    trial_open(&t);
    struct model_config quick = { .retries = 0 };
    list[0] = make(&t, "anthropic", "sc-401", &quick);
    list[1] = make(&t, "gemini", "sc-500", &quick);
    list[2] = make(&t, "openai", "m", &quick);
    t.model = model_fallback_new(STR("all"), list, 3);
    ask_text(&t, "hi");
    CHECK_STR(buf_view(&t.trace.text), "You said: hi");
    CHECK_STR(t.model->provider, "fallback");
    t.model->ops->free(t.model);

    t.trace.over = false;
    buf_clear(&t.trace.text);
    list[1]->ops->free(list[1]);
    /* fails after it has spoken: that is the end */
    list[1] = make(&t, "anthropic", "sc-error", &quick);
    t.model = model_fallback_new(STR("two"), (struct model *[]){ list[0], list[1], list[2] }, 3);
    ask_text(&t, "hi");
    CHECK(t.trace.failed);
    CHECK_STR(buf_view(&t.trace.text), "Half an");
    for (int i = 0; i < 3; i++) list[i]->ops->free(list[i]);
    trial_close(&t);
}

TEST(upstream_a_fallback_keeps_signatures_apart)
{
    struct trial  t;
    struct model *list[2];
    trial_open(&t);
    list[0] = make(&t, "anthropic", "m", NULL);
    list[1] = make(&t, "gemini", "m", NULL);
    t.model = model_fallback_new(STR("two"), list, 2);
    ask_text(&t, "{{think}}x");
    CHECK(str_find(buf_view(&t.trace.out),
                   STR("opaque {\"by\":\"anthropic\",\"opaque\":{\"signature\":\"c2lnLWE=\"}}")) >=
          0);
    for (int i = 0; i < 2; i++) list[i]->ops->free(list[i]);
    trial_close(&t);
}

/* --- what is counted when the provider does not count ----------------------------------------- */

static bool told(struct trial *t, const char *line)
{
    return str_find(buf_view(&t->trace.out), str_c(line)) >= 0;
}

TEST(upstream_an_answer_that_is_stopped_or_breaks_is_counted_by_what_was_sent)
{
    /* 40 bytes: 10 tokens */
    static const char        text[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    /* "Half an": 7 bytes; OpenAI has not counted at all */
    static const char *const cut[] = { "usage 20 2\n", "usage 10 2\n", "usage 20 2\n" };
    /* five of "000001 " */
    static const char *const stopped[] = { "usage 20 9\n", "usage 10 9\n", "usage 20 9\n" };
    for (size_t p = 0; p < 3; p++) {
        struct trial t;
        trial_open(&t);
        t.model = make(&t, providers[p], "sc-cut", NULL);
        ask_text(&t, text);
        CHECK(t.trace.failed && told(&t, cut[p]));
        trial_close(&t);
        trial_open(&t);
        t.model = make(&t, providers[p], "sc-pace-10000-1000", NULL);
        t.cancel_at = 5;
        ask_text(&t, text);
        CHECK(told(&t, stopped[p]));
        trial_close(&t);
        trial_open(&t);
        t.model = make(&t, providers[p], "sc-401", NULL);
        ask_text(&t, text);
        CHECK(!told(&t, "usage")); /* nobody pays for a refusal */
        trial_close(&t);
    }
}

/* --- one model, many calls -------------------------------------------------------------------- */

struct crowd {
    struct trial trial;
    struct {
        struct model_sink sink;
        struct crowd     *all;
        struct model_run *run;
        bool              over, failed, spoke;
        char              code[32];
    } member[8];
    unsigned count, over, speaking, most;
    unsigned order[8], spoken;
    bool     hold; /* nobody stops the loop before all are over */
};

#define MEMBER(s) ((__typeof__(&((struct crowd *)0)->member[0]))(void *)(s))
static void c_text(struct model_sink *s, struct str d)
{
    struct crowd *c = MEMBER(s)->all;
    if (MEMBER(s)->spoke) return;
    MEMBER(s)->spoke = true;
    c->order[c->spoken++] = (unsigned)(MEMBER(s) - c->member);
    if (++c->speaking > c->most) c->most = c->speaking;
}
static void c_str(struct model_sink *s, struct str d)
{
}
static void c_call(struct model_sink *s, struct str id, struct str name)
{
}
static void c_call_end(struct model_sink *s)
{
}
static void c_usage(struct model_sink *s, int64_t in, int64_t out)
{
}
static void c_over(struct crowd *c)
{
    if (++c->over == c->count) loop_stop(&c->trial.loop);
}
static void c_done(struct model_sink *s, enum model_stop stop)
{
    MEMBER(s)->over = true;
    if (MEMBER(s)->spoke) MEMBER(s)->all->speaking--;
    c_over(MEMBER(s)->all);
}
static void c_failed(struct model_sink *s, const struct model_error *e)
{
    MEMBER(s)->over = MEMBER(s)->failed = true;
    snprintf(MEMBER(s)->code, sizeof MEMBER(s)->code, "%s", e->code);
    c_over(MEMBER(s)->all);
}

static void crowd_ask(struct crowd *c, unsigned count)
{
    struct msg_part part = { .type = PART_TEXT, .text = STR("hi") };
    struct msg      msg = { MSG_USER, &part, 1 };
    c->count = count;
    for (unsigned i = 0; i < count; i++) {
        c->member[i].sink = (struct model_sink){ c_text,     c_str,   c_str,  c_call,  c_str,
                                                 c_call_end, c_usage, c_done, c_failed };
        c->member[i].all = c;
        c->member[i].run = c->trial.model->ops->start(
            c->trial.model, &(struct model_request){ .msgs = &msg, .msg_count = 1 },
            &c->member[i].sink);
        REQUIRE(c->member[i].run);
    }
}

static void crowd_wait(struct crowd *c)
{
    loop_timer_set(&c->trial.patience, PATIENCE_MS);
    loop_run(&c->trial.loop);
    CHECK(!c->trial.hung);
}

static int64_t gauge(const char *name)
{
    struct buf b;
    buf_init(&b, 0);
    model_metrics(&b);
    ptrdiff_t at = str_find(buf_view(&b), str_c(name));
    int64_t   n = at < 0 ? -1 : atoll(b.ptr + at + strlen(name));
    buf_done(&b);
    return n;
}

/* Those who begin together may end in any order; who had to wait ends after them. */
TEST(upstream_calls_beyond_the_limit_wait_for_their_turn_and_are_all_answered)
{
    static struct crowd c;
    memset(&c, 0, sizeof c);
    trial_open(&c.trial);
    c.trial.model = make(&c.trial, "openai", "sc-pace-20-1000",
                         &(struct model_config){ .concurrent = 3, .first_byte_ms = 10000 });
    crowd_ask(&c, 6);
    CHECK(gauge("parley_model_calls{model=\"sc-pace-20-1000\"} ") == 3 &&
          gauge("parley_model_calls_waiting{model=\"sc-pace-20-1000\"} ") == 3);
    crowd_wait(&c);
    for (unsigned i = 0; i < 6; i++) CHECK(!c.member[i].failed);
    CHECK(c.order[0] < 3);
    CHECK(c.most <= 3 && gauge("parley_model_calls{model=\"sc-pace-20-1000\"} ") == 0);
    trial_close(&c.trial);
}

TEST(upstream_a_hanging_model_turns_away_whom_it_has_no_room_for_and_a_place_that_is_left_is_taken)
{
    static struct crowd c;
    memset(&c, 0, sizeof c);
    trial_open(&c.trial);
    c.trial.model = make(&c.trial, "openai", "sc-silent",
                         &(struct model_config){ .concurrent = 2, .first_byte_ms = 10000 });
    crowd_ask(&c, 5); /* 2 are asked, 2 wait, 1 is told so */
    c.over = 4;
    crowd_wait(&c);
    CHECK(c.member[4].failed && !strcmp(c.member[4].code, "model_busy") && !c.member[3].over);
    c.trial.model->ops->cancel(c.member[0].run);
    c.trial.model->ops->cancel(c.member[3].run);
    CHECK(gauge("parley_model_calls{model=\"sc-silent\"} ") == 2 &&
          gauge("parley_model_calls_waiting{model=\"sc-silent\"} ") == 0);
    c.trial.model->ops->cancel(c.member[1].run);
    c.trial.model->ops->cancel(c.member[2].run);
    CHECK(gauge("parley_model_calls{model=\"sc-silent\"} ") == 0);
    trial_close(&c.trial);

    memset(&c, 0, sizeof c);
    trial_open(&c.trial);
    c.trial.model =
        make(&c.trial, "openai", "sc-silent",
             &(struct model_config){ .concurrent = 1, .first_byte_ms = 300, .retries = 0 });
    crowd_ask(&c, 2); /* nobody waits for ever */
    crowd_wait(&c);
    CHECK(c.member[0].failed && c.member[1].failed);
    trial_close(&c.trial);
}

/* --- a list passes over what is away ---------------------------------------------------------- */

static unsigned asked(const char *what)
{
    struct buf b;
    unsigned   n = 0;
    buf_init(&b, 0);
    service_get("GET /requests", &b);
    for (struct str rest = buf_view(&b); str_find(rest, str_c(what)) >= 0; n++)
        rest = str_from(rest, (size_t)str_find(rest, str_c(what)) + strlen(what));
    buf_done(&b);
    return n;
}

TEST(upstream_a_model_that_asked_for_a_pause_is_not_waited_for_when_there_is_another)
{
    struct trial  t;
    struct model *list[2];
    struct buf    b;
    trial_open(&t);
    buf_init(&b, 0);
    service_get("DELETE /requests", &b);
    buf_done(&b);
    struct model_config patient = { .retries = 2, .first_byte_ms = 5000 };
    list[0] = make(&t, "anthropic", "sc-429-pause", &patient); /* retry-after: 20 */
    list[1] = make(&t, "gemini", "m", &patient);
    t.model = model_fallback_new(STR("two"), list, 2);
    for (int i = 0; i < 3; i++) {
        ask_text(&t, "hi");
        CHECK(!t.trace.failed);
        again(&t);
    }
    CHECK(asked("sc-429-pause") == 1 && asked("models/m:") == 3);
    uint64_t away = list[0]->ops->away_ms(list[0]);
    CHECK(away > 10000 && away <= 20000 && list[1]->ops->away_ms(list[1]) == 0);
    t.model->ops->free(t.model);
    t.model = NULL;
    for (int i = 0; i < 2; i++) list[i]->ops->free(list[i]);
    trial_close(&t);
}

static struct {
    bool told, ok;
    char sentence[400];
} checked;

static void on_checked(void *ctx, bool ok, struct str sentence)
{
    checked.told = true;
    checked.ok = ok;
    snprintf(checked.sentence, sizeof checked.sentence, STR_FMT, STR_ARG(sentence));
    loop_stop(ctx);
}

static void check_one(const char *provider, const char *model, const char *url)
{
    struct trial t;
    char         own[100];
    trial_open(&t);
    base_url(own, sizeof own, provider);
    struct model_config c = { .provider = str_c(provider),
                              .model = str_c(model),
                              .base_url = str_c(url ? url : own),
                              .api_key = STR("sk-secret") };
    memset(&checked, 0, sizeof checked);
    REQUIRE(model_check(t.up, &c, on_checked, &t.loop));
    CHECK(!checked.told);
    loop_timer_set(&t.patience, PATIENCE_MS);
    loop_run(&t.loop);
    CHECK(checked.told && !strstr(checked.sentence, "sk-secret"));
    trial_close(&t);
}

TEST(upstream_a_check_explains_itself)
{
    for (size_t p = 0; p < 3; p++) {
        check_one(providers[p], "m", NULL);
        CHECK(checked.ok);
        check_one(providers[p], "sc-401", NULL);
        CHECK(!checked.ok && strstr(checked.sentence, "did not accept the API key"));
        check_one(providers[p], "sc-404", NULL);
        CHECK(!checked.ok && strstr(checked.sentence, "does not know the model sc-404"));
    }
    check_one("openai", "m", "ftp://x");
    CHECK(!checked.ok && strstr(checked.sentence, "base_url must begin"));
    check_one("nobody", "m", "http://127.0.0.1:1");
    CHECK(!checked.ok);
}
