/* client.c -- parley's MCP client on a command line, for test/mcp/run.mjs and the conformance
 * suite.
 *
 *   mcp-client URL
 *       one scenario of the conformance suite: MCP_CONFORMANCE_SCENARIO says which
 *   mcp-client ENTRY [list | state | ready | listed NAME | call NAME ARGS | decline NAME ARGS] ...
 *       ENTRY is an mcpServers entry as JSON; the commands are done one after another
 *       ready: waits until the server can be called; listed NAME: until it has that tool
 *       cancel NAME ARGS: a call that is stopped at its first progress: the server surely has it;
 *       cancel_after NAME ARGS MS: one that is stopped then, whatever came of it
 *       many NAME ARGS N: N calls at once, each of another person; every third is stopped after 50
 *       ms
 *
 * What happens is printed as JSON lines. Questions are answered with their defaults.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "tool/mcp/mcp.h"
#include "tool/process/keeper.h"

static struct loop      loop;
static struct registry  registry;
static struct children *children;
static struct curl_pool pool;
static struct mcp      *server;
static bool             stopped, pool_gone;

/* --- output ----------------------------------------------------------------------- */

static void print(const char *key, struct str json)
{
    printf("{\"%s\":" STR_FMT "}\n", key, STR_ARG(json));
    fflush(stdout);
}

static void print_str(const char *key, struct str text)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_str(&w, text);
    print(key, buf_view(&b));
    buf_done(&b);
}

static void changed(struct mcp *m, void *ctx)
{
    struct buf b;
    buf_init(&b, 0);
    mcp_state_text(m, &b);
    print_str("state", buf_view(&b));
    buf_done(&b);
}

/* --- turning the loop ---------------------------------------------------------------- */

static void tick(uv_timer_t *t)
{
    *(bool *)t->data = true;
}
static void tick_gone(uv_handle_t *t)
{
    *(bool *)t->data = true;
}

static bool turn(bool (*until)(void), unsigned ms)
{
    uv_timer_t t;
    bool       late = false, gone = false;

    uv_update_time(&loop.uv);
    uv_timer_init(&loop.uv, &t);
    t.data = &late;
    /* again and again: one that fires before the poll would leave the loop asleep */
    uv_timer_start(&t, tick, ms, 1);
    while (!late && !(until && until())) uv_run(&loop.uv, UV_RUN_ONCE);
    t.data = &gone;
    uv_close((uv_handle_t *)&t, tick_gone);
    while (!gone) uv_run(&loop.uv, UV_RUN_NOWAIT);
    return !late;
}

static bool is_settled(void)
{
    return mcp_settled(server);
}

/* --- calls ------------------------------------------------------------------------------ */

struct call {
    struct tool_job  job;
    struct arena     arena;
    bool             over, decline, ok, went_on;
    struct loop_post answer;
};
static struct call *current;
static bool         is_over(void)
{
    return current->over;
}
static bool is_over_or_at_work(void)
{
    return current->over || current->went_on;
}

static void on_progress(struct tool_job *j, const struct tool_progress *p)
{
    LIST_ITEM(j, struct call, job)->went_on = true;
    printf("{\"progress\":%g,\"message\":\"" STR_FMT "\"}\n", p->progress, STR_ARG(p->message));
    fflush(stdout);
}

static struct str example_for(struct call *c, struct str schema_text);

/* It rests until it has its answer. */
static void go_on(struct call *c, const struct tool_result *r)
{
    print_str("ask", r->text);
    c->job.resume = arena_dup(&c->arena, r->resume);
    c->job.accepted = !c->decline;
    c->job.content = c->decline ? STR_NONE : example_for(c, arena_dup(&c->arena, r->value));
    must(c->job.tool->ops->start(c->job.tool, &c->job) == OK);
}

static void on_finish(struct tool_job *j, const struct tool_result *r)
{
    if (r->outcome == TOOL_ASKS) {
        go_on(LIST_ITEM(j, struct call, job), r);
        return;
    }
    static const char *const names[] = { "done", "failed", "cancelled", "unknown" };
    struct call             *c = LIST_ITEM(j, struct call, job);
    struct buf               b;
    struct jsonw             w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstrz(&w, "outcome", names[r->outcome]);
    jw_kstr(&w, "text", r->text);
    if (r->value.ptr) jw_kraw(&w, "value", r->value);
    jw_end_obj(&w);
    print("result", buf_view(&b));
    buf_done(&b);
    c->ok = r->outcome == TOOL_DONE;
    c->over = true;
}

/* A value for a property: its default, else something of its type. */
static void example(struct jsonw *w, const struct jv *p)
{
    struct str       type = jv_str_at(p, "type");
    const struct jv *options = jv_get(p, "enum");

    if (jv_get(p, "default")) jw_raw(w, jv_get(p, "default")->raw);
    else if (options && options->child) jw_raw(w, options->child->raw);
    else if (str_is(type, "integer")) jw_int(w, 1);
    else if (str_is(type, "number")) jw_f64(w, 1.5);
    else if (str_is(type, "boolean")) jw_bool(w, true);
    else if (str_is(type, "array")) jw_raw(w, STR("[]"));
    else if (str_is(type, "object")) jw_raw(w, STR("{}"));
    else jw_strz(w, "test");
}

static struct str example_object(struct arena *a, const struct jv *schema)
{
    struct buf   b;
    struct jsonw w;
    struct str   out;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    JV_EACH (p, jv_get(schema, "properties")) {
        jw_key_str(&w, p->key);
        example(&w, p);
    }
    jw_end_obj(&w);
    out = arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static struct str example_for(struct call *c, struct str schema_text)
{
    struct jv *schema = NULL;
    must(json_parse(&c->arena, schema_text, &schema, NULL) == OK);
    return example_object(&c->arena, schema);
}

static struct str pending_schema;

static void give_answer(struct loop_post *p)
{
    struct call *c = LIST_ITEM(p, struct call, answer);
    if (c->over) return;
    c->job.tool->ops->answer(&c->job, !c->decline,
                             c->decline ? STR_NONE : example_for(c, pending_schema));
}

static void on_ask(struct tool_job *j, struct str message, struct str schema)
{
    struct call *c = LIST_ITEM(j, struct call, job);
    print_str("ask", message);
    pending_schema = arena_dup(&c->arena, schema);
    c->answer = (struct loop_post){ .run = give_answer };
    loop_post(&loop, &c->answer);
}

#define PATIENCE_MS 60000

/* When a call is stopped. */
struct stop {
    bool (*when)(void); /* NULL: never */
    unsigned at_most_ms;
};
static const struct stop never = { 0 };

static bool call(struct tool *t, struct str args, struct stop stop, bool decline)
{
    struct call c = { .decline = decline };
    struct jv  *v = NULL;

    arena_init(&c.arena, 0);
    if (json_parse(&c.arena, args, &v, NULL) != OK) return false;
    c.job = (struct tool_job){ .tool = t,
                               .call_id = STR("call-test"),
                               .input = args,
                               .args = v,
                               .payload = STR_NONE,
                               .progress = on_progress,
                               .finish = on_finish,
                               .ask = on_ask };
    current = &c;
    if (t->ops->start(t, &c.job) != OK) return false;
    if (stop.when) {
        turn(stop.when, stop.at_most_ms);
        if (!c.over) t->ops->cancel(&c.job);
    }
    turn(is_over, PATIENCE_MS);
    arena_done(&c.arena);
    return c.ok;
}

#define MANY_MAX 64
static struct call crowd[MANY_MAX];
static unsigned    crowd_count;

static bool are_over(void)
{
    for (unsigned i = 0; i < crowd_count; i++)
        if (!crowd[i].over) return false;
    return true;
}

static void many(struct tool *t, struct str args, unsigned n)
{
    crowd_count = n < MANY_MAX ? n : MANY_MAX;
    for (unsigned i = 0; i < crowd_count; i++) {
        struct jv *v = NULL;
        crowd[i] = (struct call){ .decline = i % 2 };
        arena_init(&crowd[i].arena, 0);
        must(json_parse(&crowd[i].arena, args, &v, NULL) == OK);
        crowd[i].job = (struct tool_job){ .tool = t,
                                          .call_id = STR("call-test"),
                                          .input = args,
                                          .args = v,
                                          .payload = STR_NONE,
                                          .owner = arena_printf(&crowd[i].arena, "person %u", i),
                                          .progress = on_progress,
                                          .finish = on_finish,
                                          .ask = on_ask };
        if (t->ops->start(t, &crowd[i].job) != OK) crowd[i].over = true;
    }
    turn(are_over, 50);
    for (unsigned i = 0; i < crowd_count; i += 3)
        if (!crowd[i].over) t->ops->cancel(&crowd[i].job);
    must(turn(are_over, PATIENCE_MS));
    for (unsigned i = 0; i < crowd_count; i++) arena_done(&crowd[i].arena);
}

static struct str full_name(struct str name)
{
    return arena_printf(&registry.arena, "test__" STR_FMT, STR_ARG(name));
}

static struct tool *find(struct str name)
{
    struct tool *t = registry_find(&registry, full_name(name));
    if (!t) print_str("no_such_tool", name);
    return t;
}

/* --- the conformance suite -------------------------------------------------------------------- */

static bool call_every_tool(void)
{
    size_t       n = registry.count;
    struct tool *all[256];

    if (n > 256) n = 256;
    memcpy(all, registry.tools, n * sizeof *all);
    for (size_t i = 0; i < n; i++)
        call(all[i], example_object(&registry.arena, all[i]->schema), never, false);
    return true;
}

static bool calls_of_context(void)
{
    const char *text = getenv("MCP_CONFORMANCE_CONTEXT");
    struct jv  *v = NULL;

    if (!text || json_parse(&registry.arena, str_c(text), &v, NULL) != OK) return false;
    JV_EACH (c, jv_get(v, "toolCalls")) {
        struct tool *t = find(jv_str_at(c, "name"));
        if (t) call(t, jv_get(c, "arguments")->raw, never, false);
    }
    return true;
}

static bool echo_schema(void)
{
    struct tool *t = find(STR("json_schema_2020_12_tool")), *echo = find(STR("json_schema_echo"));
    return t && echo &&
           call(echo,
                arena_printf(&registry.arena, "{\"schema\":" STR_FMT "}", STR_ARG(t->schema_text)),
                never, false);
}

static bool scenario(const char *name)
{
    struct tool *t;

    if (strcmp(name, "tools_call") == 0)
        return (t = find(STR("add_numbers"))) && call(t, STR("{\"a\":2,\"b\":3}"), never, false);
    if (strcmp(name, "http-custom-headers") == 0) return calls_of_context();
    if (strcmp(name, "json-schema-2020-12-preservation") == 0) return echo_schema();
    if (strcmp(name, "initialize") == 0 || strcmp(name, "json-schema-ref-no-deref") == 0 ||
        strcmp(name, "request-metadata") == 0)
        return true;
    return call_every_tool();
}

static int conformance(void)
{
    const char *name = getenv("MCP_CONFORMANCE_SCENARIO");
    turn(is_settled, 20000);
    if (!mcp_ready(server)) return 1;
    return scenario(name ? name : "") ? 0 : 1;
}

/* --- commands --------------------------------------------------------------------------------- */

static void list(void)
{
    struct buf   b;
    struct jsonw w;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < registry.count; i++) {
        struct tool *t = registry.tools[i];
        jw_obj(&w);
        jw_kstr(&w, "name", t->name);
        jw_kstr(&w, "wire", t->wire_name);
        jw_kraw(&w, "confirm", t->confirm_text);
        jw_kstr(&w, "risk", t->risk);
        jw_kbool(&w, "idempotent", t->idempotent);
        jw_kstr(&w, "source", t->source);
        jw_kraw(&w, "schema", t->schema_text);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    print("tools", buf_view(&b));
    buf_done(&b);
}

static struct str awaited;

static bool is_listed(void)
{
    return registry_find(&registry, awaited) != NULL;
}
static bool is_ready(void)
{
    return mcp_ready(server);
}

/* One that needs no tool: how many words it took, 0 when it is another one. */
static int simple_command(int left, char **word)
{
    if (strcmp(word[0], "list") == 0) return list(), 1;
    if (strcmp(word[0], "state") == 0) return changed(server, NULL), 1;
    if (strcmp(word[0], "ready") == 0) return turn(is_ready, PATIENCE_MS), 1;
    if (left < 2 || strcmp(word[0], "listed") != 0) return 0;
    awaited = full_name(str_c(word[1]));
    return turn(is_listed, PATIENCE_MS), 2;
}

static int tool_command(int left, char **word)
{
    struct tool *t = left < 3 ? NULL : find(str_c(word[1]));
    bool timed = strcmp(word[0], "cancel_after") == 0, at_once = strcmp(word[0], "many") == 0;
    struct stop stop = { 0 };

    if (!t || ((timed || at_once) && left < 4)) return 0;
    if (at_once) return many(t, str_c(word[2]), (unsigned)atoi(word[3])), 4;
    if (timed) stop = (struct stop){ is_over, (unsigned)atoi(word[3]) };
    if (strcmp(word[0], "cancel") == 0) stop = (struct stop){ is_over_or_at_work, PATIENCE_MS };
    call(t, str_c(word[2]), stop, strcmp(word[0], "decline") == 0);
    return timed ? 4 : 3;
}

static int commands(int argc, char **argv)
{
    turn(is_settled, 20000);
    for (int i = 2, n; i < argc; i += n) {
        n = simple_command(argc - i, argv + i);
        if (!n) n = tool_command(argc - i, argv + i);
        if (!n) return 2;
    }
    return 0;
}

/* --- main ------------------------------------------------------------------------------------- */

static void on_stopped(struct mcp *m)
{
    stopped = true;
}
static void on_pool(struct curl_pool *p)
{
    pool_gone = true;
}
static bool is_stopped(void)
{
    return stopped;
}
static bool is_pool_gone(void)
{
    return pool_gone;
}

static struct str entry_of_url(const char *url)
{
    const char *version = getenv("MCP_CONFORMANCE_PROTOCOL_VERSION");
    const char *era = !version                             ? ""
                      : strcmp(version, "2026-07-28") >= 0 ? ",\"era\":\"modern\""
                                                           : ",\"era\":\"legacy\"";
    return arena_printf(&registry.arena, "{\"url\":\"%s\"%s}", url, era);
}

int main(int argc, char **argv)
{
    char            root[] = "/tmp/parley-mcp-XXXXXX";
    struct mcp_host host = {
        .loop = &loop, .registry = &registry, .pool = &pool, .changed = changed
    };
    struct jv *entry = NULL;
    struct buf why;
    bool       suite;
    int        status;

    if (keeper_is(argc, argv)) return keeper_main(argc, argv);
    if (argc < 2 || !mkdtemp(root)) return 2;
    log_level(LOG_WARN);
    registry_init(&registry);
    must(loop_init(&loop) == OK);
    curl_pool_init(&pool, &loop, 1);
    must(children_start(&children, &loop, root) == OK);
    host.children = children;
    suite = argv[1][0] != '{';
    must(json_parse(&registry.arena, suite ? entry_of_url(argv[1]) : str_c(argv[1]), &entry,
                    NULL) == OK);
    buf_init(&why, 0);
    if (mcp_read(&server, &host, STR("test"), entry, STR_NONE, &why) != OK) {
        print_str("error", buf_view(&why));
        return 2;
    }
    mcp_start(server);
    status = suite ? conformance() : commands(argc, argv);
    mcp_stop(server, on_stopped);
    turn(is_stopped, 10000);
    curl_pool_close(&pool, on_pool);
    turn(is_pool_gone, 5000);
    children_stop(children);
    registry_done(&registry);
    loop_done(&loop);
    buf_done(&why);
    rmdir(root);
    return status;
}
