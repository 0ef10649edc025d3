/* test_upstream_lists.c -- models that are away: what is said of them, which one of a list is asked
 * instead, how many calls one model gets at once, what is counted, and the check of the command. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "trial.h"

/* --- unreachable, fallback, check ------------------------------------------------------------- */

TEST(upstream_a_service_that_is_not_there_is_told_as_such)
{
    struct trial t;
    trial_open(&t);
    t.model = trial_model(
        &t, "openai", "m",
        &(struct model_config){ .base_url = STR("http://127.0.0.1:1/v1"), .retries = 0 });
    trial_say(&t, "hi");
    CHECK_STR(str_c(t.message), "There is no connection to the model's service. Trying again helps "
                                "once it can be reached.");
    trial_close(&t);
}

TEST(upstream_a_service_without_tls_is_told_as_such)
{
    struct trial t;
    char         url[64];
    trial_open(&t);
    snprintf(url, sizeof url, "https://127.0.0.1:%d/v1", service_port);
    t.model = trial_model(
        &t, "openai", "m",
        &(struct model_config){ .base_url = str_c(url), .retries = 0, .first_byte_ms = 5000 });
    trial_say(&t, "hi");
    CHECK(!strcmp(t.trace.code, "model_tls") && !t.trace.retryable);
    trial_close(&t);
}

TEST(upstream_the_next_model_is_asked_when_the_first_fails_before_a_word)
{
    struct trial  t;
    struct model *list[3];
    trial_open(&t);
    struct model_config quick = { .retries = 0 };
    list[0] = trial_model(&t, "anthropic", "sc-401", &quick);
    list[1] = trial_model(&t, "gemini", "sc-500", &quick);
    list[2] = trial_model(&t, "openai", "m", &quick);
    t.model = model_fallback_new(STR("all"), list, 3);
    trial_say(&t, "hi");
    CHECK_STR(buf_view(&t.trace.text), "You said: hi");
    CHECK_STR(t.model->provider, "fallback");
    t.model->ops->free(t.model);

    t.trace.over = false;
    buf_clear(&t.trace.text);
    list[1]->ops->free(list[1]);
    /* fails after it has spoken: that is the end */
    list[1] = trial_model(&t, "anthropic", "sc-error", &quick);
    t.model = model_fallback_new(STR("two"), (struct model *[]){ list[0], list[1], list[2] }, 3);
    trial_say(&t, "hi");
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
    list[0] = trial_model(&t, "anthropic", "m", NULL);
    list[1] = trial_model(&t, "gemini", "m", NULL);
    t.model = model_fallback_new(STR("two"), list, 2);
    trial_say(&t, "{{think}}x");
    CHECK(str_find(buf_view(&t.trace.out),
                   STR("opaque {\"by\":\"anthropic\",\"opaque\":{\"signature\":\"c2lnLWE=\"}}")) >=
          0);
    for (int i = 0; i < 2; i++) list[i]->ops->free(list[i]);
    trial_close(&t);
}

/* The request is the caller's only while it is started. */
TEST(upstream_the_next_model_is_asked_for_the_tool_that_was_chosen)
{
    struct model_tool    tool = { STR("look"), STR("Looks."), STR("{\"type\":\"object\"}") };
    struct trial         t;
    struct model        *list[2];
    char                 name[] = "look";
    struct msg_part      part = { .type = PART_TEXT, .text = STR("hi") };
    struct msg           msg = { MSG_USER, &part, 1 };
    struct model_request q = { .msgs = &msg,
                               .msg_count = 1,
                               .tools = &tool,
                               .tool_count = 1,
                               .choice = CHOICE_NAMED,
                               .named = str_n(name, 4) };
    struct buf           seen;
    trial_open(&t);
    list[0] = trial_model(&t, "openai", "sc-500", &(struct model_config){ .retries = 0 });
    list[1] = trial_model(&t, "openai", "named", NULL);
    t.model = model_fallback_new(STR("two"), list, 2);
    t.run = t.model->ops->start(t.model, &q, &t.watch);
    REQUIRE(t.run);
    memset(name, 'x', 4);
    loop_timer_set(&t.patience, PATIENCE_MS);
    loop_run(&t.loop);
    buf_init(&seen, 0);
    service_get("GET /requests", &seen);
    ptrdiff_t at = str_find(buf_view(&seen), STR("\"model\":\"named\""));
    REQUIRE(at > 0);
    struct str body = str_from(buf_view(&seen), (size_t)at);
    CHECK(str_find(body, STR("\"tool_choice\":{")) > 0 && str_find(body, STR("xxxx")) < 0);
    buf_done(&seen);
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
        t.model = trial_model(&t, providers[p], "sc-cut", NULL);
        trial_say(&t, text);
        CHECK(t.trace.failed && told(&t, cut[p]));
        trial_close(&t);
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "sc-pace-10000-1000", NULL);
        t.cancel_at = 5;
        trial_say(&t, text);
        CHECK(told(&t, stopped[p]));
        trial_close(&t);
        trial_open(&t);
        t.model = trial_model(&t, providers[p], "sc-401", NULL);
        trial_say(&t, text);
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
        c->member[i].sink = model_sink_quiet;
        c->member[i].sink.text = c_text;
        c->member[i].sink.done = c_done;
        c->member[i].sink.failed = c_failed;
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
    c.trial.model = trial_model(&c.trial, "openai", "sc-pace-20-1000",
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
    c.trial.model = trial_model(&c.trial, "openai", "sc-silent",
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
        trial_model(&c.trial, "openai", "sc-silent",
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
    list[0] = trial_model(&t, "anthropic", "sc-429-pause", &patient); /* retry-after: 20 */
    list[1] = trial_model(&t, "gemini", "m", &patient);
    t.model = model_fallback_new(STR("two"), list, 2);
    for (int i = 0; i < 3; i++) {
        trial_say(&t, "hi");
        CHECK(!t.trace.failed);
        trial_again(&t);
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
    trial_url(own, sizeof own, provider);
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
