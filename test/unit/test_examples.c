/* test_examples.c -- the tools of examples/ do what they say. Run from the project's folder. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "tool/http.h"
#include "tool/mcp/mcp.h"
#include "tool/policy.h"
#include "tool/process/exec.h"
#include "toolrun.h"

static struct toolrun *T;
static struct jv      *config;

static bool begin(void)
{
    static char text[20000];
    FILE       *f = fopen("examples/tools.json", "r");
    size_t      n = f ? fread(text, 1, sizeof text, f) : 0;

    if (!f) {
        printf("skipped: examples/ is not here\n");
        return false;
    }
    fclose(f);
    T = toolrun_new();
    REQUIRE(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_n(text, n)), &config, NULL) ==
            OK);
    return true;
}

static void end(void)
{
    toolrun_free(T);
}

static struct tool *example(const char *name)
{
    const struct jv *entry = jv_get(jv_get(config, "tools"), name);
    struct tool     *t = registry_tool(&T->reg, str_c(name));
    const char      *bad = NULL;
    struct buf       why;

    buf_init(&why, 0);
    REQUIRE(entry != NULL);
    t->schema_text = jv_get(entry, "input_schema")->raw;
    if (jv_get(entry, "confirm")) CHECK(policy_read(t, jv_get(entry, "confirm"), &bad) == OK);
    if (exec_tool_read(&T->reg, t, jv_get(entry, "exec"), &T->exec, STR("examples"), &why) != OK)
        printf("  " STR_FMT "\n", STR_ARG(buf_view(&why)));
    REQUIRE(t->ops != NULL);
    REQUIRE(registry_add(&T->reg, t) == OK);
    buf_done(&why);
    return t;
}

static void gives(struct tool *t, const char *input, enum tool_outcome outcome, const char *text)
{
    struct ran r;
    ran_run(T, &r, t, input);
    CHECK(r.outcome == outcome);
    CHECK_STR(r.text, text);
    if (r.outcome != outcome && r.note.ptr) printf("    %s\n", r.note.ptr);
    ran_done(&r);
}

TEST(the_shell_example_counts_words)
{
    if (!begin()) return;
    struct tool *t = example("word_count");
    gives(t, "{\"text\":\"never a word lost\"}", TOOL_DONE, "{\"words\":4}");
    gives(t, "{\"text\":\"\"}", TOOL_DONE, "{\"words\":0}");
    gives(t, "{\n  \"text\" : \"never a word lost\"\n}\n", TOOL_DONE, "{\"words\":4}");
    end();
}

TEST(the_python_example_splits_a_bill)
{
    if (!begin()) return;
    struct tool *t = example("split_bill");
    gives(t, "{\"total\":100,\"people\":[\"Ada\",\"Bob\",\"Cyd\"]}", TOOL_DONE,
          "{\"Ada\": 33.34, \"Bob\": 33.33, \"Cyd\": 33.33}");
    gives(t, "{\"total\":10,\"people\":[]}", TOOL_FAILED, "Nobody is there to pay.");
    end();
}

TEST(the_node_example_makes_slugs)
{
    struct ran r;
    if (!begin()) return;
    struct tool *t = example("slugify");
    ran_run(T, &r, t, "{\"title\":\"Déjà vu: a Unicorn!\"}");
    CHECK_STR(r.text, "deja-vu-a-unicorn");
    CHECK(str_has(r.note, "call call-"));
    ran_done(&r);
    end();
}

TEST(the_c_example_counts_primes)
{
    if (!begin()) return;
    if (system("cc -O2 -o examples/tools/primes examples/tools/primes.c 2>/dev/null") != 0) {
        printf("skipped: there is no C compiler to build examples/tools/primes.c\n");
        end();
        return;
    }
    struct tool *t = example("primes");
    gives(t, "{\"below\":1000}", TOOL_DONE, "{\"below\":1000,\"primes\":168}");
    gives(t, "{\n\"below\"\n:\n10}", TOOL_DONE, "{\"below\":10,\"primes\":4}");
    gives(t, "{}", TOOL_FAILED, "The argument \"below\" is missing.");
    end();
}

/* --- the HTTP example: its server is a child here ------------------------------------------- */

struct server {
    struct child child;
    struct buf   out;
    bool         up, gone;
};

static void on_out(struct child *c, struct str bytes)
{
    struct server *s = LIST_ITEM(c, struct server, child);
    buf_str(&s->out, bytes);
    s->up = memchr(s->out.ptr, '\n', s->out.len) != NULL;
}
static void on_err(struct child *c, struct str bytes)
{
}
static void on_gone(struct child *c, int status)
{
    LIST_ITEM(c, struct server, child)->gone = true;
}

TEST(the_http_example_gives_the_same_quote_for_the_same_call)
{
    struct server s = { .child = { .on_out = on_out, .on_err = on_err, .on_exit = on_gone } };
    const char   *argv[] = { "node", "examples/tools/quote_server.mjs", NULL },
               *envp[] = { "PORT=0", NULL };
    struct child_spec spec = { .argv = argv, .envp = envp };
    struct tool      *t;
    struct jv        *http;
    struct buf        why;

    if (!begin()) return;
    buf_init(&s.out, 0);
    buf_init(&why, 0);
    spec.program = child_find(&T->reg.arena, STR("node"), NULL).ptr;
    REQUIRE(spec.program && child_start(T->children, &s.child, &spec) == OK);
    toolrun_wait(T, &s.up, 10000);
    REQUIRE(s.up);
    t = registry_tool(&T->reg, STR("quote"));
    struct str json = arena_printf(
        &T->reg.arena, "{\"url\":\"http://127.0.0.1:%d/quote\",\"allow\":[\"127.0.0.1\"]}",
        atoi(s.out.ptr + 13));
    REQUIRE(json_parse(&T->reg.arena, json, &http, NULL) == OK);
    REQUIRE(http_tool_read(&T->reg, t, http, &T->pool, &T->loop, &why) == OK &&
            registry_add(&T->reg, t) == OK);
    gives(t, "{\"item\":\"lamp\",\"quantity\":3}", TOOL_DONE,
          "{\"quote\":1,\"item\":\"lamp\",\"quantity\":3,\"total\":12}");
    gives(t, "{\"item\":\"lamp\",\"quantity\":3}", TOOL_DONE,
          "{\"quote\":1,\"item\":\"lamp\",\"quantity\":3,\"total\":12}");
    gives(t, "{}", TOOL_FAILED,
          "It answered with status 422: {\"error\":\"What should be quoted?\"}");
    child_kill(&s.child);
    toolrun_wait(T, &s.gone, 5000);
    CHECK(s.gone);
    buf_done(&s.out);
    buf_done(&why);
    end();
}

TEST(every_example_of_the_configuration_is_accepted)
{
    struct buf why;

    if (!begin()) return;
    buf_init(&why, 0);
    struct tool *t = registry_tool(&T->reg, STR("quote"));
    CHECK(http_tool_read(&T->reg, t, jv_get(jv_get(jv_get(config, "tools"), "quote"), "http"),
                         &T->pool, &T->loop, &why) == OK);
    if (t->ops) t->ops->free(t);
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    JV_EACH (entry, jv_get(config, "mcpServers")) {
        struct mcp *m = NULL;
        CHECK(mcp_read(&m, &host, entry->key, entry, STR("examples"), &why) == OK);
        if (m) mcp_stop(m, NULL);
    }
    CHECK(why.len == 0);
    buf_done(&why);
    toolrun_turn(T, 20);
    end();
}
