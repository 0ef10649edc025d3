/* mcp_help.c -- see mcp_help.h. */
#include "mcp_help.h"

#include <unistd.h>

struct toolrun *T;
struct mcp     *M;
bool            fake_stopped;

void fake_on_stopped(struct mcp *m)
{
    fake_stopped = true;
}

bool fake_open(const char *json)
{
    struct mcp_host host = { &T->loop, &T->reg, T->children, &T->pool, NULL, NULL };
    struct jv      *v;
    struct buf      why;
    bool            ok;

    buf_init(&why, 0);
    REQUIRE(json_parse(&T->reg.arena, arena_dup(&T->reg.arena, str_c(json)), &v, NULL) == OK);
    ok = mcp_read(&M, &host, STR("s"), v, STR_NONE, &why) == OK;
    if (!ok) printf("  " STR_FMT "\n", STR_ARG(buf_view(&why)));
    buf_done(&why);
    if (!ok) return false;
    mcp_start(M);
    for (int i = 0;
         i < 1000 && !mcp_settled(M) && !(M->state == MCP_LISTING && strstr(json, "listless")); i++)
        toolrun_turn(T, 10);
    return true;
}

void fake_begin(const char *mode, const char *more)
{
    char json[400];
    T = toolrun_new();
    snprintf(json, sizeof json,
             "{\"command\":\"python3\",\"args\":[\"test/unit/fake_mcp.py\",\"%s\"]%s}", mode, more);
    REQUIRE(access("test/unit/fake_mcp.py", R_OK) == 0); /* run from the project's folder */
    REQUIRE(fake_open(json));
}

void fake_end(void)
{
    fake_stopped = false;
    mcp_stop(M, fake_on_stopped);
    toolrun_wait(T, &fake_stopped, 8000);
    CHECK(fake_stopped);
    toolrun_free(T);
}

void fake_state_has(const char *part)
{
    struct buf b;
    buf_init(&b, 0);
    mcp_state_text(M, &b);
    if (!str_has(buf_view(&b), part)) test_check_str(__FILE__, __LINE__, buf_view(&b), str_c(part));
    buf_done(&b);
}

struct tool *fake_tool(const char *name)
{
    struct tool *t = registry_find(&T->reg, str_c(name));
    REQUIRE(t != NULL);
    return t;
}

void fake_gives(enum tool_outcome outcome, const char *text)
{
    struct ran r;
    ran_run(T, &r, fake_tool("s__go"), "{}");
    CHECK(r.outcome == outcome);
    CHECK_STR(r.text, text);
    ran_done(&r);
}

void ran_say_yes(struct ran *r)
{
    r->job.tool->ops->answer(&r->job, true, STR("{}"));
}
