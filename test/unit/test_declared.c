/* What a client brings for one run: functions of its own, words for the model, what must be
 * called. */
#include "run/declared.h"
#include "run/history.h"
#include "stage.h"

/* What the model was asked, kept as words: the request is gone when start() returns. */
static struct {
    char                    tools[256], system[256];
    enum model_choice       choice;
    char                    named[64];
    const struct model_ops *puppet;
} seen;

static struct model_run *overhear(struct model *m, const struct model_request *q,
                                  struct model_sink *sink)
{
    size_t n = 0;
    seen.tools[0] = 0;
    for (size_t i = 0; i < q->tool_count && n < sizeof seen.tools; i++)
        n +=
            (size_t)snprintf(seen.tools + n, sizeof seen.tools - n, "%s" STR_FMT "%s", i ? " " : "",
                             STR_ARG(q->tools[i].name), q->tools[i].declared ? "*" : "");
    snprintf(seen.system, sizeof seen.system, STR_FMT, STR_ARG(q->system));
    snprintf(seen.named, sizeof seen.named, STR_FMT, STR_ARG(q->named));
    seen.choice = q->choice;
    return seen.puppet->start(m, q, sink);
}

static struct model_ops ears;

static void up(struct stage *s)
{
    stage_up(s);
    seen.puppet = s->model.ops;
    ears = *s->model.ops;
    ears.start = overhear;
    s->model.ops = &ears;
}

static struct said ask(struct stage *s, const char *text, const char *declared)
{
    struct said     x;
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = str_c(text);
    c->declared = str_c(declared);
    return sent(s, c, &x);
}

static struct said answer(struct stage *s, const char *value)
{
    struct said     x;
    struct command *c = command(CMD_RESULT, &x);
    c->id = arena_dup(&c->arena, thread_fold(the_thread(s))->calls[0]->id);
    c->result.value = str_c(value);
    return sent(s, c, &x);
}

#define PAINT                                                                               \
    "{\"tools\":[{\"name\":\"paint\",\"description\":\"Paints.\",\"parameters\":{\"type\":" \
    "\"object\",\"properties\":{\"colour\":{\"type\":\"string\"}},\"required\":[\"colour\"]}}]}"

TEST(a_declared_function_is_offered_called_and_answered_by_its_client)
{
    struct stage s;
    up(&s);
    CHECK(ask(&s, "paint it", PAINT).status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "paint* work pay locate"));
    calls(&s, "paint", "{\"colour\":\"red\"}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    CHECK_STR(story(&s), "message step:calls started");
    CHECK(answer(&s, "\"painted\"").status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "paint* work pay locate")); /* the run keeps it */
    ends(&s);
    say(&s, "and now?");
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "work pay locate")); /* the next one did not bring it */
    ends(&s);
    stage_down(&s);
}

TEST(arguments_that_do_not_fit_a_declared_function_go_back_to_the_model)
{
    struct stage s;
    up(&s);
    ask(&s, "paint it", PAINT);
    UNTIL(s.speaking);
    calls(&s, "paint", "{\"colour\":7}");
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK_STR(story(&s), "message step:calls finished:failed");
    CHECK(str_find(thread_fold(the_thread(&s))->calls[0]->finished->text, STR("/colour")) >= 0);
    ends(&s);
    stage_down(&s);
}

TEST(declared_functions_outlive_the_process_and_do_not_time_out_as_browsers_do)
{
    struct stage s;
    up(&s);
    ask(&s, "paint it", PAINT);
    UNTIL(s.speaking);
    calls(&s, "paint", "{\"colour\":\"red\"}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    const struct call *c = thread_fold(the_thread(&s))->calls[0];
    CHECK(call_client_due(the_thread(&s), c) ==
          c->started->at_ms + (int64_t)s.registry.expires_s * 1000);
    s.registry.expires_s = 0;
    CHECK(call_client_due(the_thread(&s), c) == 0);
    stage_restart(&s);
    struct said x;
    CHECK(sent(&s, command(CMD_FOLLOW, &x), &x).status == 200);
    UNTIL(waits(&s));
    CHECK(answer(&s, "\"painted\"").status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "paint* work pay locate"));
    ends(&s);
    stage_down(&s);
}

TEST(a_guarded_name_cannot_be_declared_and_a_free_one_is_replaced)
{
    struct stage s;
    up(&s);
    struct said x = ask(&s, "pay", "{\"tools\":[{\"name\":\"pay\"}]}");
    CHECK(x.status == 422 && !strcmp(x.code, "tool_name_reserved"));
    x = ask(&s, "pay", "{\"tools\":[{\"name\":\"adk_request_confirmation\"}]}");
    CHECK(x.status == 422);
    CHECK(ask(&s, "work", "{\"tools\":[{\"name\":\"work\"}]}").status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "work* pay locate"));
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    CHECK(!s.job && thread_fold(the_thread(&s))->calls[0]->declared);
    /* guarded meanwhile: from now on it is the server's again */
    registry_find(&s.registry, STR("work"))->confirm = CONFIRM_ALWAYS;
    CHECK(answer(&s, "1").status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "work pay locate"));
    ends(&s);
    stage_down(&s);
}

TEST(what_replaces_a_tool_of_the_server_counts_for_nothing_there)
{
    struct stage s;
    up(&s);
    struct tool *work = registry_find(&s.registry, STR("work"));
    ask(&s, "work", "{\"tools\":[{\"name\":\"work\"}]}");
    UNTIL(s.speaking);
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    answer(&s, "1");
    ends(&s);
    CHECK(work->runs == 0 && s.begun == 0);
    stage_down(&s);
}

TEST(the_clients_words_stand_behind_the_operators_and_its_choice_holds_once)
{
    struct stage s;
    up(&s);
    s.page.system = STR("Be kind.");
    ask(&s, "go", "{\"system\":\"Be brief.\",\"choice\":\"required\"}");
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.system, "Be kind.\n\nBe brief.") && seen.choice == CHOICE_MUST);
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.job);
    finishes(&s, TOOL_DONE);
    UNTIL(s.speaking);
    CHECK(seen.choice == CHOICE_AUTO && !strcmp(seen.system, "Be kind.\n\nBe brief."));
    ends(&s);
    ask(&s, "go", "{\"named\":\"work\"}");
    UNTIL(s.speaking);
    CHECK(seen.choice == CHOICE_NAMED && !strcmp(seen.named, "work"));
    ends(&s);
    ask(&s, "go", "{\"named\":\"nothing_of_that_name\"}");
    UNTIL(s.speaking);
    CHECK(seen.choice == CHOICE_AUTO);
    ends(&s);
    stage_down(&s);
}

TEST(a_client_can_narrow_and_raise_the_policy_and_nothing_else)
{
    struct stage s;
    up(&s);
    ask(&s, "go", "{\"only\":[\"work\"],\"ask\":true}");
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "work"));
    calls(&s, "locate", "{}");
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(waits(&s));
    CHECK_STR(story(&s), "message step:calls finished:failed asked");
    stage_down(&s);
    up(&s);
    ask(&s, "go", "{\"choice\":\"none\"}");
    UNTIL(s.speaking);
    CHECK(s.no_calls);
    calls(&s, "work", "{}");
    stops(&s, STOP_CALLS);
    UNTIL(s.asked == 2);
    CHECK(!s.job);
    ends(&s);
    stage_down(&s);
}

TEST(a_retry_that_brings_nothing_keeps_what_was_declared)
{
    struct stage s;
    struct said  x;
    up(&s);
    ask(&s, "paint it", PAINT);
    ends(&s);
    CHECK(sent(&s, command(CMD_RETRY, &x), &x).status == 200);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "paint* work pay locate"));
    ends(&s);
    struct command *c = command(CMD_RETRY, &x);
    c->declared = STR("{\"tools\":[{\"name\":\"draw\"}]}");
    sent(&s, c, &x);
    UNTIL(s.speaking);
    CHECK(!strcmp(seen.tools, "draw* work pay locate"));
    ends(&s);
    stage_down(&s);
}

/* --- the pure parts --------------------------------------------------------------------------- */

static const char *problem(struct declared_tool *tools, size_t n)
{
    size_t      which;
    const char *why =
        declared_bad(&(struct declared){ .tools = tools, .tool_count = n }, 3, &which);
    return why ? why : "";
}

TEST(functions_have_names_and_schemas_within_limits)
{
    static char big[DECLARED_SCHEMA_MAX + 1], deep[600];
    memset(big, ' ', sizeof big);
    memset(deep, '[', 300), memset(deep + 300, ']', 300);
    struct declared_tool good = { .name = STR("a-B_9"), .parameters = STR("{}") };
    struct declared_tool many[4] = { good, { .name = STR("b") }, { .name = STR("c") }, good };
    struct declared_tool two[2] = { good, good };
    CHECK(!*problem(many, 3));
    CHECK(strstr(problem(many, 4), "more functions"));
    CHECK(strstr(problem(two, 2), "same name"));
    CHECK(strstr(problem(&(struct declared_tool){ .name = STR("a b") }, 1), "letters"));
    CHECK(strstr(problem(&(struct declared_tool){ .name = STR("") }, 1), "letters"));
    CHECK(strstr(problem(&(struct declared_tool){ .name = STR("a"), .parameters = STR("[]") }, 1),
                 "JSON object"));
    CHECK(strstr(
        problem(&(struct declared_tool){ .name = STR("a"), .parameters = str_n(big, sizeof big) },
                1),
        "64 KiB"));
    CHECK(*problem(&(struct declared_tool){ .name = STR("a"), .parameters = str_n(deep, 600) }, 1));
}

TEST(what_is_written_is_what_is_read)
{
    struct registry      r;
    struct arena         a;
    struct declared_run  d;
    struct declared_tool t[] = { { STR("1st"), STR("Says \"1\"."), STR("{\"type\":\"object\"}") },
                                 { .name = STR("_1st") } };
    struct str           only[] = { STR("x") };
    registry_init(&r);
    arena_init(&a, 0);
    CHECK(!declared_write(&a, &(struct declared){ 0 }).ptr && !a.failed);
    struct str text =
        declared_write(&a, &(struct declared){ .tools = t,
                                               .tool_count = 2,
                                               .system = STR("S"),
                                               .context = STR("[{\"description\":\"d\"}]"),
                                               .choice = CHOICE_NAMED,
                                               .named = STR("1st"),
                                               .only = only,
                                               .only_count = 1,
                                               .ask = true });
    REQUIRE(declared_read(&a, &r, text, &d) == OK);
    CHECK(d.count == 1); /* both would be called _1st */
    CHECK_STR(d.tools[0].wire_name, "_1st");
    CHECK_STR(d.tools[0].description, "Says \"1\".");
    CHECK_STR(d.system, "S");
    CHECK(d.choice == CHOICE_NAMED && d.ask && d.only->count == 1);
    CHECK(str_find(declared_context(&a, text), STR("[{\"description\":\"d\"}]")) > 0);
    CHECK(!declared_context(&a, STR("{}")).ptr && !declared_context(&a, STR_NONE).ptr);
    REQUIRE(declared_read(&a, &r, STR("nonsense"), &d) == OK && d.count == 0);
    arena_done(&a);
    registry_done(&r);
}
