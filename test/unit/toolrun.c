/* toolrun.c -- runs a tool on a real loop and waits for its result. */
#include "toolrun.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "test.h"
#include "tool/process/exec.h"

/* Tools run with what there is here; a test of one of these means asks children_caps whether it is
 * there. */
static const struct sandbox_caps enough = {
    .landlock = 7, .seccomp = true, .pidns = PIDNS_ROOT, .own_uid = true, .nproc = true
};

static void pool_closed(struct curl_pool *p)
{
    LIST_ITEM(p, struct toolrun, pool)->has_pool = false;
}

struct toolrun *toolrun_new(void)
{
    static unsigned n;
    char            root[256];
    struct toolrun *t = mem_alloc(sizeof *t);

    must(loop_init(&t->loop) == OK);
    registry_init(&t->reg);
    snprintf(root, sizeof root, "%s/work%u", test_dir(), n++);
    chmod(test_dir(), 0711); /* tools of root are somebody else and must pass through */
    must(children_start(&t->children, &t->loop, root) == OK);
    t->exec = (struct exec_host){ .loop = &t->loop, .children = t->children, .caps = &enough };
    curl_pool_init(&t->pool, &t->loop, 1);
    t->has_pool = true;
    return t;
}

void toolrun_free(struct toolrun *t)
{
    curl_pool_close(&t->pool, pool_closed);
    children_stop(t->children);
    for (int i = 0; i < 1000 && t->has_pool; i++) toolrun_turn(t, 1);
    registry_done(&t->reg);
    loop_done(&t->loop);
    mem_free(t);
}

static void tick(uv_timer_t *h)
{
    *(bool *)h->data = true;
}
static void tick_closed(uv_handle_t *h)
{
    *(bool *)h->data = true;
}

void toolrun_wait(struct toolrun *t, const bool *until, unsigned ms)
{
    uv_timer_t timer;
    bool       late = false, closed = false;

    uv_update_time(&t->loop.uv);
    uv_timer_init(&t->loop.uv, &timer);
    timer.data = &late;
    /* again and again: one that fires before the poll would leave the loop asleep */
    uv_timer_start(&timer, tick, until ? (uint64_t)ms * TOOLRUN_PATIENCE : ms, 1);
    while (!late && !(until && *until)) uv_run(&t->loop.uv, UV_RUN_ONCE);
    timer.data = &closed;
    uv_close((uv_handle_t *)&timer, tick_closed);
    while (!closed) uv_run(&t->loop.uv, UV_RUN_NOWAIT);
}

void toolrun_turn(struct toolrun *t, unsigned ms)
{
    toolrun_wait(t, NULL, ms);
}

struct tool *toolrun_exec(struct toolrun *t, const char *exec_json, unsigned timeout_ms)
{
    static unsigned n;
    struct tool    *tool = registry_tool(&t->reg, arena_printf(&t->reg.arena, "tool%u", n++));
    struct jv      *v = NULL;
    struct buf      why;

    buf_init(&why, 0);
    must(json_parse(&t->reg.arena, arena_dup(&t->reg.arena, str_c(exec_json)), &v, NULL) == OK);
    tool->schema_text = STR("{\"type\":\"object\"}");
    tool->timeout_ms = timeout_ms;
    if (exec_tool_read(&t->reg, tool, v, &t->exec, STR_NONE, &why) != OK) {
        printf("  exec_tool_read: " STR_FMT "\n", STR_ARG(buf_view(&why)));
        test_failed(__FILE__, __LINE__, "exec_tool_read");
        longjmp(test_leave, 1);
    }
    buf_done(&why);
    must(registry_add(&t->reg, tool) == OK);
    return tool;
}

struct tool *toolrun_sh(struct toolrun *t, const char *script, const char *more,
                        unsigned timeout_ms)
{
    struct buf   b;
    struct jsonw w;
    struct tool *tool;

    buf_init(&b, 0);
    buf_lit(&b, "{\"command\":[\"/bin/bash\",\"-c\",");
    jsonw_init(&w, &b);
    jw_strz(&w, script);
    buf_lit(&b, "]");
    buf_lit(&b, more);
    buf_lit(&b, "}");
    buf_chr(&b, 0);
    tool = toolrun_exec(t, b.ptr, timeout_ms);
    buf_done(&b);
    return tool;
}

static void on_progress(struct tool_job *job, const struct tool_progress *p)
{
    struct ran *r = LIST_ITEM(job, struct ran, job);
    r->progress++;
    r->last_progress = p->progress;
    r->last_message = arena_dup(&r->arena, p->message);
    if (r->on_progress) r->on_progress(r);
}

static void on_finish(struct tool_job *job, const struct tool_result *x)
{
    struct ran *r = LIST_ITEM(job, struct ran, job);
    CHECK(!r->over);
    r->over = true;
    r->outcome = x->outcome;
    r->text = arena_dup(&r->arena, x->text);
    r->value = arena_dup(&r->arena, x->value);
    r->note = arena_dup(&r->arena, x->note);
    r->resume = arena_dup(&r->arena, x->resume);
    r->ms = clock_mono_ms() - r->began_ms;
}

static void on_ask(struct tool_job *job, struct str message, struct str schema)
{
    struct ran *r = LIST_ITEM(job, struct ran, job);
    r->asked++;
    r->question = arena_dup(&r->arena, message);
    r->schema = arena_dup(&r->arena, schema);
    if (r->on_ask) r->on_ask(r);
}

void ran_start(struct toolrun *t, struct ran *r, struct tool *tool, const char *input)
{
    ran_start_with(t, r, tool, input, STR_NONE);
}

void ran_prepare(struct ran *r, struct tool *tool, const char *input)
{
    struct jv *v = NULL;
    void (*ask)(struct ran *) = r->on_ask;
    void (*progress)(struct ran *) = r->on_progress;

    *r = (struct ran){ .on_ask = ask, .on_progress = progress };
    arena_init(&r->arena, 0);
    must(json_parse(&r->arena, str_c(input), &v, NULL) == OK);
    r->job = (struct tool_job){
        .tool = tool,
        .call_id = STR("call-abcdefghijklmnopqrstuv"),
        .thread = STR("t_1"),
        .owner = STR("me"),
        .input = str_c(input),
        .args = v,
        .payload = STR_NONE,
        .resume = STR_NONE,
        .content = STR_NONE,
        .progress = on_progress,
        .finish = on_finish,
        .ask = on_ask,
    };
    r->began_ms = clock_mono_ms();
}

void ran_start_with(struct toolrun *t, struct ran *r, struct tool *tool, const char *input,
                    struct str resume)
{
    ran_prepare(r, tool, input);
    r->job.resume = resume;
    r->job.accepted = resume.ptr != NULL;
    if (resume.ptr) r->job.content = STR("{}");
    must(tool->ops->start(tool, &r->job) == OK);
    CHECK(!r->over);
}

void ran_wait(struct toolrun *t, struct ran *r, unsigned ms)
{
    toolrun_wait(t, &r->over, ms);
    if (!r->over) {
        test_failed(__FILE__, __LINE__, "the tool did not finish");
        r->job.tool->ops->cancel(&r->job);
        toolrun_wait(t, &r->over, 10000);
    }
}

void ran_run(struct toolrun *t, struct ran *r, struct tool *tool, const char *input)
{
    *r = (struct ran){ 0 };
    ran_start(t, r, tool, input);
    ran_wait(t, r, 20000);
}

void ran_done(struct ran *r)
{
    arena_done(&r->arena);
}

bool str_has(struct str s, const char *part)
{
    return s.ptr && str_find(s, str_c(part)) >= 0;
}

/* `what`: cmdline or environ. */
static bool proc_has(const char *pid, const char *what, const char *mark)
{
    char    path[300], text[4096];
    int     fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%s/%s", pid, what);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) return false;
    n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && memmem(text, (size_t)n, mark, strlen(mark));
}

/* Ours are known by the work directory in their environment: the same test may be running
 * elsewhere. */
unsigned processes_with(const char *mark)
{
    DIR           *d = opendir("/proc");
    struct dirent *e;
    unsigned       n = 0;
    while (d && (e = readdir(d)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && atoi(e->d_name) != getpid() &&
            proc_has(e->d_name, "cmdline", mark) && proc_has(e->d_name, "environ", test_dir()))
            n++;
    if (d) closedir(d);
    return n;
}

unsigned open_descriptors(void)
{
    DIR     *d = opendir("/proc/self/fd");
    unsigned n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}
