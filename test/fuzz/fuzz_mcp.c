/* fuzz_mcp.c -- lines from an MCP server that says anything, at any time. The first byte's lowest
 * bit pins the era. The transport is a stub; a call is started as soon as there is a tool, and
 * every question is answered. */
#include <stdlib.h>

#include "tool/mcp/mcp_int.h"

static struct loop loop;
static bool        ready;

static enum err stub_open(struct mcp *m)
{
    return OK;
}
static enum err stub_send(struct mcp *m, struct mcp_request *q, struct str message,
                          struct curl_slist *extra)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    /* Whatever came in, what goes out is one JSON object on one line. */
    if (memchr(message.ptr, '\n', message.len) || json_parse(&a, message, &v, NULL) != OK ||
        v->type != JSON_OBJECT)
        abort();
    arena_done(&a);
    curl_slist_free_all(extra);
    return OK;
}
static bool stub_busy(const struct mcp *m)
{
    return false;
}
static bool stub_private(const struct mcp *m)
{
    return true;
}
static void stub_release(struct mcp *m, struct mcp_request *q)
{
}
static void stub_opened(struct mcp *m)
{
}
static void stub_close(struct mcp *m)
{
    mcp_transport_closed(m);
}
static void stub_free(struct mcp *m)
{
}
static const struct mcp_transport stub = { .open = stub_open,
                                           .send = stub_send,
                                           .busy = stub_busy,
                                           .private_line = stub_private,
                                           .release = stub_release,
                                           .opened = stub_opened,
                                           .close = stub_close,
                                           .free = stub_free };

struct run {
    struct tool_job job;
    bool            started, over;
    unsigned        asked;
};

static void on_progress(struct tool_job *j, const struct tool_progress *p)
{
}
static void on_finish(struct tool_job *j, const struct tool_result *r)
{
    LIST_ITEM(j, struct run, job)->over = true;
}
static void on_ask(struct tool_job *j, struct str message, struct str schema)
{
    LIST_ITEM(j, struct run, job)->asked++;
}

static void start_call(struct run *r, struct registry *reg, struct jv *args)
{
    if (r->started || reg->count == 0) return;
    r->job = (struct tool_job){ .tool = reg->tools[0],
                                .call_id = STR("call-1"),
                                .input = STR("{\"a\":1}"),
                                .args = args,
                                .progress = on_progress,
                                .finish = on_finish,
                                .ask = on_ask };
    r->started = r->job.tool->ops->start(r->job.tool, &r->job) == OK;
}

/* The parts that need no server. */
static void pure(struct str line)
{
    struct arena      a;
    struct jv        *v;
    struct mcp_said   said = { 0 };
    struct mcp_param *params;
    struct buf        header;
    size_t            count;
    const char       *why;

    arena_init(&a, 0);
    buf_init(&said.text, 0);
    buf_init(&said.value, 0);
    buf_init(&header, 0);
    mcp_header_value(&header, line);
    for (size_t i = 0; i < header.len; i++)
        if (header.ptr[i] < 0x20 || header.ptr[i] > 0x7e) abort();
    if (json_parse(&a, line, &v, NULL) == OK) {
        mcp_result_read(v, &said);
        (void)mcp_params_read(&a, v, &params, &count, &why);
    }
    buf_done(&header);
    buf_done(&said.text);
    buf_done(&said.value);
    arena_done(&a);
}

static void stopped(struct mcp *m)
{
    ready = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool     once;
    struct registry reg;
    struct mcp_host host = { .loop = &loop, .registry = &reg };
    struct run      r = { 0 };
    struct jv      *entry, *args;
    struct mcp     *m;
    struct buf      why;
    struct str      rest, line;

    if (!once && loop_init(&loop) != OK) abort();
    once = true;
    if (size < 1) return 0;
    rest = str_n((const char *)data + 1, size - 1);
    registry_init(&reg);
    buf_init(&why, 0);
    if (json_parse(&reg.arena,
                   data[0] & 1 ? STR("{\"url\":\"https://x\",\"era\":\"legacy\"}")
                               : STR("{\"url\":\"https://x\",\"era\":\"modern\"}"),
                   &entry, NULL) != OK ||
        json_parse(&reg.arena, STR("{\"a\":1}"), &args, NULL) != OK ||
        mcp_read(&m, &host, STR("s"), entry, STR_NONE, &why) != OK)
        abort();
    m->transport->free(m);
    m->transport = &stub;
    mcp_start(m);
    while (str_split(&rest, '\n', &line)) {
        pure(line);
        mcp_receive(m, line,
                    list_empty(&m->requests)
                        ? NULL
                        : LIST_ITEM(m->requests.next, struct mcp_request, node));
        start_call(&r, &reg, args);
        if (r.started && !r.over && r.asked) {
            r.asked--;
            r.job.tool->ops->answer(&r.job, line.len & 1, STR("{\"x\":1}"));
        }
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    }
    if (r.started && !r.over && (data[0] & 2)) r.job.tool->ops->cancel(&r.job);
    ready = false;
    mcp_stop(m, stopped);
    for (int i = 0; i < 100 && !ready; i++) uv_run(&loop.uv, UV_RUN_NOWAIT);
    for (int i = 0; i < 5; i++) uv_run(&loop.uv, UV_RUN_NOWAIT);
    if (!ready || (r.started && !r.over)) abort();
    registry_done(&reg);
    buf_done(&why);
    return 0;
}
