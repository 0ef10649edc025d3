/* The demo tools: what they find, write and draw, and how they end. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "test.h"
#include "tool/demo.h"
#include "tool/demo/library.h"
#include "tool/replytools.h"

/* --- a bench with all tools, and jobs that write down what they are told ---------------------- */

struct bench {
    struct loop     loop;
    struct registry tools;
    struct arena    arena;
    char            ledger[200];
    int             running;
};

struct job {
    struct tool_job   job;
    struct bench     *bench;
    struct buf        stages, text, value, note;
    enum tool_outcome outcome;
    int               finished;
    bool              cancel_at_first_stage;
};

static void bench_init(struct bench *b, const char *ledger)
{
    static int n;
    snprintf(b->ledger, sizeof b->ledger, ledger ? "%s" : "%s/ledger-%d.jsonl",
             ledger ? ledger : test_dir(), n++);
    b->running = 0;
    REQUIRE(loop_init(&b->loop) == OK);
    arena_init(&b->arena, 0);
    registry_init(&b->tools);
    REQUIRE(demo_tools_add(&b->tools, &b->loop, str_c(b->ledger), 0) == OK);
    REQUIRE(reply_tools_add(&b->tools, REPLY_ALL) == OK);
}

static void bench_done(struct bench *b)
{
    registry_done(&b->tools);
    loop_done(&b->loop);
    arena_done(&b->arena);
}

static void on_progress(struct tool_job *j, const struct tool_progress *p)
{
    struct job *job = (struct job *)(void *)j;
    CHECK(!job->finished);
    CHECK(utf8_valid(p->message) && p->message.len > 0);
    buf_str(&job->stages, p->stage);
    buf_printf(&job->stages, " %.1f;", p->progress);
    if (job->cancel_at_first_stage) j->tool->ops->cancel(j);
}

static void on_finish(struct tool_job *j, const struct tool_result *r)
{
    struct job *job = (struct job *)(void *)j;
    job->finished++;
    job->outcome = r->outcome;
    buf_str(&job->text, r->text);
    buf_str(&job->value, r->value);
    buf_str(&job->note, r->note);
    if (--job->bench->running == 0) loop_stop(&job->bench->loop);
}

static void start_job(struct job *j, struct bench *b, const char *tool, const char *input)
{
    struct jv *args;
    static int n;
    *j = (struct job){ .bench = b, .job = { .progress = on_progress, .finish = on_finish } };
    j->job.tool = registry_find(&b->tools, str_c(tool));
    j->job.call_id = arena_printf(&b->arena, "call-%d", ++n);
    j->job.input = arena_dup(&b->arena, str_c(input));
    REQUIRE(json_parse(&b->arena, j->job.input, &args, NULL) == OK);
    j->job.args = args;
    buf_init(&j->stages, 0);
    buf_init(&j->text, 0);
    buf_init(&j->value, 0);
    buf_init(&j->note, 0);
    REQUIRE(j->job.tool->ops->start(j->job.tool, &j->job) == OK);
    CHECK(!j->finished && !j->stages.len); /* never from inside start() */
    b->running++;
}

static void run_job(struct job *j, struct bench *b, const char *tool, const char *input)
{
    start_job(j, b, tool, input);
    loop_run(&b->loop);
    CHECK(j->finished == 1);
}

static void job_done(struct job *j)
{
    buf_done(&j->stages);
    buf_done(&j->text);
    buf_done(&j->value);
    buf_done(&j->note);
}

static const struct jv *value_of(struct bench *b, struct job *j)
{
    struct jv *v = NULL;
    CHECK(json_parse(&b->arena, buf_view(&j->value), &v, NULL) == OK);
    return v;
}

static bool has(const struct buf *b, const char *what)
{
    return str_find(buf_view(b), str_c(what)) >= 0;
}

/* --- the list --------------------------------------------------------------------------------- */

static void check_described(const struct jv *schema)
{
    JV_EACH (p, jv_get(schema, "properties")) CHECK(jv_get(p, "description") || jv_get(p, "enum"));
}

TEST(demo_tools_are_listed_with_schema_and_policy)
{
    struct bench b;
    bench_init(&b, NULL);
    CHECK(b.tools.count == 12);
    for (size_t i = 0; i < b.tools.count; i++) {
        const struct tool *t = b.tools.tools[i];
        CHECK(t->description.len > 20);
        CHECK(str_is(jv_str_at(t->schema, "type"), "object"));
        CHECK((t->ops == NULL) == (t->where == TOOL_CLIENT || t->reply));
        check_described(t->schema);
    }
    const struct tool *pay = registry_find(&b.tools, STR("process_payment"));
    CHECK(pay->confirm == CONFIRM_ALWAYS && !pay->idempotent && str_is(pay->risk, "high"));
    CHECK_STR(pay->intent, "I'll send {amount} {currency} to {recipient}...");
    CHECK_STR(pay->ask, "Send {amount} {currency} to {recipient}?");
    CHECK(registry_find(&b.tools, STR("change_bgm"))->confirm == CONFIRM_ALWAYS);
    CHECK(registry_find(&b.tools, STR("get_location"))->where == TOOL_CLIENT);
    CHECK(registry_find(&b.tools, STR("apply_schema"))->hidden);
    CHECK(registry_find(&b.tools, STR("generate_image"))->makes_artifact);
    CHECK_STR(registry_find(&b.tools, STR("generate_artifact"))->status,
              "Planning your interactive component...");
    CHECK_STR(registry_find(&b.tools, STR("browser.search"))->wire_name, "browser_search");
    CHECK(registry_find(&b.tools, STR("present"))->reply);
    bench_done(&b);
}

/* --- search ----------------------------------------------------------------------------------- */

TEST(demo_library_is_large_enough_and_complete)
{
    size_t n = 0, crispr = 0;
    for (const struct article *a = CORPUS; a->title; a++, n++) {
        crispr += strstr(a->title, "CRISPR") != NULL;
        CHECK(a->authors && a->year > 2000 && strlen(a->abstract) > 80 && a->keywords);
        CHECK(utf8_valid(str_c(a->abstract)));
    }
    CHECK(n >= 40);
    CHECK(crispr >= 5);
}

TEST(demo_search_finds_articles_in_three_stages)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "search_articles", "{\"query\":\"CRISPR\"}");
    CHECK(j.outcome == TOOL_DONE);
    CHECK_STR(buf_view(&j.stages), "searching 0.2;ranking 0.6;reading 0.9;");
    CHECK(str_starts(buf_view(&j.text), STR("Found 5 articles:\n1. ")));
    const struct jv *v = value_of(&b, &j);
    CHECK(jv_int_at(v, "count", 0) == 5 && jv_get(v, "articles")->count == 5);
    JV_EACH (a, jv_get(v, "articles")) {
        CHECK(jv_str_at(a, "title").len && jv_str_at(a, "authors").len &&
              jv_str_at(a, "abstract").len);
        CHECK(jv_int_at(a, "year", 0) > 2000);
    }
    job_done(&j);
    run_job(&j, &b, "search_articles", "{\"query\":\"exoplanets\",\"limit\":2}");
    CHECK(str_starts(buf_view(&j.text), STR("Found 2 articles:")));
    job_done(&j);
    run_job(&j, &b, "search_articles", "{\"query\":\"bees\"}");
    CHECK(str_starts(buf_view(&j.text), STR("Found 1 article:\n1. Bees count to four")));
    job_done(&j);
    bench_done(&b);
}

static size_t found(struct bench *b, const char *query)
{
    struct hits  h;
    struct tool *t = registry_find(&b->tools, STR("search_articles"));
    REQUIRE(library_search(((struct demo_ctx *)t->ctx)->all, str_c(query), 20, &h) == OK);
    return h.count;
}

TEST(demo_search_ranks_titles_first_and_falls_back_to_any_word)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "search_articles", "{\"query\":\"sleep and memory\"}");
    CHECK(has(&j.text, "1. Sleep and memory"));
    job_done(&j);
    CHECK(found(&b, "Protein FOLDING") >= 2);
    CHECK(found(&b, "folded proteins") >= 2);  /* by their stems */
    CHECK(found(&b, "batteries zebras") >= 3); /* any of them when not all */
    CHECK(found(&b, "zebras") == 0);
    run_job(&j, &b, "search_articles", "{\"query\":\"zebras\"}");
    CHECK_STR(buf_view(&j.text), "Found 0 articles.");
    CHECK_STR(buf_view(&j.value), "{\"count\":0,\"articles\":[]}");
    job_done(&j);
    bench_done(&b);
}

TEST(demo_search_takes_any_text_without_tripping)
{
    static const char *const texts[] = {
        "",
        " ",
        "\"",
        "\"\"",
        "*",
        "a*",
        "NEAR(",
        "NOT",
        "AND OR NOT",
        "title:crispr",
        "-crispr",
        "^crispr",
        "(crispr",
        "crispr)",
        "{title}:x",
        "crispr\" OR \"x",
        "'; DROP TABLE article; --",
        "\x01\x02",
        "論文",
        "\xed\xa0\x80",
        "+",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9",
        "C++",
        "the of and"
    };
    struct bench b;
    bench_init(&b, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) found(&b, texts[i]);
    CHECK(found(&b, "crispr\" OR \"zebra") >= 5);
    CHECK(found(&b, "-crispr") == found(&b, "crispr"));
    struct job j;
    run_job(&j, &b, "search_articles", "{\"query\":\"\\u0000CRISPR\\u0000\",\"limit\":-3}");
    CHECK(str_starts(buf_view(&j.text), STR("Found 1 article:")));
    job_done(&j);
    bench_done(&b);
}

TEST(demo_browser_search_says_where_it_looked)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "browser.search", "{\"query\":\"latest React 19 features\"}");
    CHECK(j.outcome == TOOL_DONE && has(&j.text, "no internet") &&
          has(&j.text, "1. React 19 in practice"));
    CHECK(jv_int_at(value_of(&b, &j), "count", 0) >= 1);
    job_done(&j);
    bench_done(&b);
}

/* --- weather, schema -------------------------------------------------------------------------- */

TEST(demo_weather_is_the_same_every_time)
{
    struct bench b;
    struct job   one, two, other;
    bench_init(&b, NULL);
    run_job(&one, &b, "get_weather", "{\"city\":\"Tokyo\"}");
    run_job(&two, &b, "get_weather", "{\"city\":\" tokyo \"}");
    run_job(&other, &b, "get_weather", "{\"city\":\"東京\"}");
    CHECK(str_starts(buf_view(&one.text), STR("Tokyo: ")));
    CHECK(str_eq(buf_view(&one.text), buf_view(&two.text)));
    CHECK(str_starts(buf_view(&other.text), STR("東京: ")));
    CHECK(jv_get(value_of(&b, &one), "temperature_c"));
    job_done(&one);
    job_done(&two);
    job_done(&other);
    run_job(&one, &b, "get_weather", "{\"city\":\"  \"}");
    CHECK(one.outcome == TOOL_FAILED);
    job_done(&one);
    bench_done(&b);
}

TEST(demo_schema_is_applied_once)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "apply_schema", "{\"schema_id\":123,\"more\":true}");
    CHECK(has(&j.text, "Schema 123 is applied."));
    CHECK_STR(buf_view(&j.value), "{\"schema_id\":123,\"applied\":true,\"already\":false}");
    job_done(&j);
    run_job(&j, &b, "apply_schema", "{\"schema_id\":123}");
    CHECK(j.outcome == TOOL_DONE && has(&j.text, "already applied"));
    job_done(&j);
    run_job(&j, &b, "apply_schema", "{\"schema_id\":\"other\"}");
    CHECK(has(&j.text, "Schema other is applied."));
    job_done(&j);
    run_job(&j, &b, "apply_schema", "{}");
    CHECK(j.outcome == TOOL_FAILED);
    job_done(&j);
    bench_done(&b);
}

/* --- payments --------------------------------------------------------------------------------- */

static struct str read_file(struct bench *b)
{
    static char text[4096];
    FILE       *f = fopen(b->ledger, "r");
    if (!f) return STR("");
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    return str_n(text, n);
}

static const struct jv *ledger_line(struct bench *b, int i)
{
    struct str rest = arena_dup(&b->arena, read_file(b)), line = STR_NONE;
    struct jv *v = NULL;
    for (int k = 0; k <= i; k++)
        if (!str_split(&rest, '\n', &line)) return NULL;
    return json_parse(&b->arena, line, &v, NULL) == OK ? v : NULL;
}

TEST(demo_payment_writes_one_line_with_the_amount_as_written)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "process_payment",
            "{\"recipient\":\"花子\",\"amount\":50.10,\"currency\":\"USD\"}");
    CHECK(j.outcome == TOOL_DONE);
    CHECK_STR(buf_view(&j.text), "Sent 50.10 USD to 花子.");
    const struct jv *line = ledger_line(&b, 0);
    REQUIRE(line);
    CHECK(str_eq(jv_str_at(line, "call_id"), j.job.call_id));
    CHECK_STR(jv_str_at(line, "recipient"), "花子");
    CHECK_STR(jv_get(line, "amount")->raw, "50.10");
    CHECK_STR(jv_str_at(line, "currency"), "USD");
    CHECK(jv_str_at(line, "at").len == 24 && line->count == 5);
    CHECK(str_ends(read_file(&b), STR("}\n")));
    job_done(&j);
    bench_done(&b);
}

TEST(demo_payments_side_by_side_keep_their_lines_apart)
{
    struct bench b;
    struct job   j[12];
    bench_init(&b, NULL);
    for (int i = 0; i < 12; i++)
        start_job(&j[i], &b, "process_payment",
                  "{\"recipient\":\"a\\nb\",\"amount\":1,\"currency\":\"EUR\"}");
    loop_run(&b.loop);
    for (int i = 0; i < 12; i++) {
        CHECK(j[i].outcome == TOOL_DONE && j[i].finished == 1);
        CHECK(ledger_line(&b, i) != NULL);
        job_done(&j[i]);
    }
    CHECK(ledger_line(&b, 12) == NULL);
    bench_done(&b);
}

TEST(demo_payment_after_a_torn_line_starts_a_new_one)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    FILE *f = fopen(b.ledger, "w");
    fputs("{\"call_id\":\"cut sho", f);
    fclose(f);
    run_job(&j, &b, "process_payment", "{\"recipient\":\"a\",\"amount\":1,\"currency\":\"EUR\"}");
    CHECK(j.outcome == TOOL_DONE && ledger_line(&b, 0) == NULL && ledger_line(&b, 1) != NULL);
    job_done(&j);
    bench_done(&b);
}

TEST(demo_payment_that_cannot_be_written_is_no_payment)
{
    struct bench b;
    struct job   j;
    bench_init(&b, "/nonexistent/folder/ledger");
    run_job(&j, &b, "process_payment", "{\"recipient\":\"a\",\"amount\":1,\"currency\":\"EUR\"}");
    CHECK(j.outcome == TOOL_FAILED && has(&j.text, "no payment was made"));
    CHECK(j.note.len > 0);
    job_done(&j);
    bench_done(&b);
    if (access("/dev/full", W_OK) != 0) return;
    bench_init(&b, "/dev/full");
    run_job(&j, &b, "process_payment", "{\"recipient\":\"a\",\"amount\":1,\"currency\":\"EUR\"}");
    CHECK(j.outcome == TOOL_FAILED);
    job_done(&j);
    bench_done(&b);
}

TEST(demo_payment_refuses_an_amount_that_is_no_number)
{
    struct bench    b;
    struct tool_job job = { 0 };
    struct jv      *args;
    bench_init(&b, NULL);
    REQUIRE(json_parse(&b.arena, STR("{\"recipient\":\"a\",\"amount\":\"1\",\"currency\":\"EUR\"}"),
                       &args, NULL) == OK);
    job.args = args;
    job.tool = registry_find(&b.tools, STR("process_payment"));
    CHECK(job.tool->ops->start(job.tool, &job) == ERR_TYPE);
    bench_done(&b);
}

static uv_sem_t gate;
static void     block(uv_work_t *w)
{
    uv_sem_wait(&gate);
}
static void unblocked(uv_work_t *w, int status)
{
    (void)w;
}

TEST(demo_payment_cancelled_while_it_waits_never_happens)
{
    /* more than libuv's pool has, whatever UV_THREADPOOL_SIZE says here */
    enum { THREADS = 64 };
    static uv_work_t busy[THREADS];
    struct bench     b;
    struct job       j;
    bench_init(&b, NULL);
    REQUIRE(uv_sem_init(&gate, 0) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(uv_queue_work(&b.loop.uv, &busy[i], block, unblocked) == 0);
    start_job(&j, &b, "process_payment", "{\"recipient\":\"a\",\"amount\":1,\"currency\":\"EUR\"}");
    j.job.tool->ops->cancel(&j.job);
    CHECK(!j.finished);
    for (int i = 0; i < THREADS; i++) uv_sem_post(&gate);
    loop_run(&b.loop);
    CHECK(j.outcome == TOOL_CANCELLED && j.finished == 1);
    CHECK_STR(read_file(&b), "");
    job_done(&j);
    while (uv_run(&b.loop.uv, UV_RUN_NOWAIT) && uv_loop_alive(&b.loop.uv) &&
           b.loop.uv.active_reqs.count) {}
    bench_done(&b);
    uv_sem_destroy(&gate);
}

TEST(demo_tool_cancelled_on_the_way_says_so_once)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    start_job(&j, &b, "search_articles", "{\"query\":\"CRISPR\"}");
    j.cancel_at_first_stage = true;
    loop_run(&b.loop);
    CHECK(j.outcome == TOOL_CANCELLED && j.finished == 1);
    CHECK_STR(buf_view(&j.stages), "searching 0.2;");
    job_done(&j);
    start_job(&j, &b, "get_weather", "{\"city\":\"Oslo\"}");
    j.job.tool->ops->cancel(&j.job);
    CHECK(!j.finished);
    loop_run(&b.loop);
    CHECK(j.outcome == TOOL_CANCELLED && j.finished == 1);
    job_done(&j);
    bench_done(&b);
}

/* --- things made ------------------------------------------------------------------------------ */

static struct str content(struct bench *b, struct job *j)
{
    return jv_str_at(value_of(b, j), "content");
}

TEST(demo_artifact_is_a_page_chosen_by_the_prompt)
{
    static const struct {
        const char *input, *title, *part;
    } cases[] = {
        { "{\"prompt\":\"a todo app with drag and drop\"}", "Todo app", "What needs doing?" },
        { "{\"prompt\":\"Calculator\"}", "Calculator", "class=\"keys\"" },
        { "{\"prompt\":\"pomodoro timer\",\"title\":\"Tea\"}", "Tea", "role=\"timer\"" },
        { "{\"prompt\":\"dice\"}", "Dice", "Roll" },
        { "{\"prompt\":\"notes\"}", "Notes", "textarea" },
        { "{\"prompt\":\"a <b>spaceship</b> & more\"}", "Page",
          "a &lt;b&gt;spaceship&lt;/b&gt; &amp; more" },
        { "{}", "Page", "a simple page" },
        { "{\"prompt\":5}", "Page", "a simple page" },
    };
    struct bench b;
    bench_init(&b, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j;
        run_job(&j, &b, "generate_artifact", cases[i].input);
        const struct jv *v = value_of(&b, &j);
        CHECK(j.outcome == TOOL_DONE);
        CHECK_STR(jv_str_at(v, "title"), cases[i].title);
        CHECK_STR(jv_str_at(v, "type"), "html");
        CHECK(str_starts(jv_str_at(v, "id"), STR("artifact-call-")));
        CHECK(str_find(content(&b, &j), str_c(cases[i].part)) > 0);
        CHECK(str_starts(content(&b, &j), STR("<!doctype html>")) &&
              str_ends(content(&b, &j), STR("</html>\n")));
        CHECK(str_find(content(&b, &j), STR("http")) < 0); /* needs nothing from outside */
        job_done(&j);
    }
    bench_done(&b);
}

TEST(demo_artifact_text_cannot_become_script)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "generate_artifact",
            "{\"title\":\"</title><script>alert(1)</script>\",\"prompt\":\"' onload=alert(1) "
            "{title}\"}");
    CHECK(str_find(content(&b, &j), STR("<script>alert")) < 0);
    CHECK(str_find(content(&b, &j), STR("' onload")) < 0);
    job_done(&j);
    bench_done(&b);
}

TEST(demo_image_shows_what_the_prompt_names)
{
    static const struct {
        const char *input, *seen;
    } cases[] = {
        { "{\"prompt\":\"a sunset over mountains\"}", "a sunset sky, mountains." },
        { "{\"prompt\":\"A Cat in a city at night\"}", "a night sky, a city, a cat." },
        { "{\"prompt\":\"a boat on the sea, birds\"}", "a bright sky, the sea, a boat, birds." },
        { "{\"prompt\":\"a unicorn in the snow\"}", "a bright sky, a meadow, a unicorn, snow." },
        { "{\"prompt\":\"category theory\"}", "circles" },
        { "{\"mode\":\"edit\"}", "a sunset sky, mountains." },
        { "{\"prompt\":\"house dog flowers forest rain clouds\"}",
          "clouds, a meadow, a forest, a house, flowers, a dog, rain." },
    };
    struct bench b;
    bench_init(&b, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j, again;
        run_job(&j, &b, "generate_image", cases[i].input);
        run_job(&again, &b, "generate_image", cases[i].input);
        CHECK(j.outcome == TOOL_DONE && has(&j.text, cases[i].seen));
        CHECK(str_starts(content(&b, &j), STR("<svg xmlns=")) &&
              str_ends(content(&b, &j), STR("</svg>\n")));
        CHECK(str_eq(content(&b, &j), content(&b, &again)));
        CHECK_STR(jv_str_at(value_of(&b, &j), "type"), "svg");
        job_done(&j);
        job_done(&again);
    }
    bench_done(&b);
}

TEST(demo_image_text_cannot_become_markup)
{
    struct bench b;
    struct job   j;
    bench_init(&b, NULL);
    run_job(&j, &b, "generate_image", "{\"prompt\":\"</title><script>alert(1)</script> & cat\"}");
    CHECK(str_find(content(&b, &j), STR("<script")) < 0);
    CHECK(str_find(content(&b, &j), STR(" &amp; cat</title>")) > 0);
    job_done(&j);
    bench_done(&b);
}

/* --- no memory -------------------------------------------------------------------------------- */

TEST(demo_tools_survive_every_failing_allocation_at_the_start)
{
    for (long n = 0; n < 60; n++) {
        struct loop     l;
        struct registry r;
        REQUIRE(loop_init(&l) == OK);
        registry_init(&r);
        mem_fail_at(n);
        enum err e = demo_tools_add(&r, &l, STR("/tmp/x"), 0);
        if (!e) e = reply_tools_add(&r, REPLY_ALL);
        mem_fail_at(-1);
        CHECK(e == OK || e == ERR_NOMEM);
        registry_done(&r);
        loop_done(&l);
    }
}

TEST(demo_tools_survive_every_failing_allocation_at_work)
{
    static const struct {
        const char *tool, *input;
    } calls[] = {
        { "generate_image", "{\"prompt\":\"a cat\"}" },
        { "generate_artifact", "{\"prompt\":\"todo\"}" },
        { "search_articles", "{\"query\":\"CRISPR\"}" },
        { "apply_schema", "{\"schema_id\":1}" },
        { "get_weather", "{\"city\":\"Oslo\"}" },
        { "process_payment", "{\"recipient\":\"a\",\"amount\":1,\"currency\":\"EUR\"}" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (long n = 0; n < 24; n++) {
            struct bench b;
            struct job   j;
            bench_init(&b, NULL);
            start_job(&j, &b, calls[i].tool, calls[i].input);
            buf_room(&j.text, 8192);
            buf_room(&j.value, 65536);
            buf_room(&j.stages, 512);
            mem_fail_at(n);
            loop_run(&b.loop);
            mem_fail_at(-1);
            CHECK(j.finished == 1 && (j.outcome == TOOL_DONE || j.outcome == TOOL_FAILED));
            job_done(&j);
            bench_done(&b);
        }
}
