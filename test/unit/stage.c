/* stage.c -- see stage.h. */
#include "stage.h"

struct stage *on;

void stage_tick(uv_timer_t *t)
{
    (void)t;
}

static struct model_run *puppet_start(struct model *m, const struct model_request *q,
                                      struct model_sink *sink)
{
    (void)m;
    on->run.sink = sink;
    on->speaking = true;
    on->asked++;
    on->no_calls = q->no_calls;
    return &on->run;
}
static void puppet_cancel(struct model_run *r)
{
    (void)r;
    on->speaking = false;
}
static void puppet_free(struct model *m)
{
    (void)m;
}
static bool puppet_waits(const struct model_run *r)
{
    (void)r;
    return on->in_line;
}
static const struct model_ops PUPPET = {
    .start = puppet_start, .cancel = puppet_cancel, .waits = puppet_waits, .free = puppet_free
};

static enum err tool_start(struct tool *t, struct tool_job *j)
{
    (void)t;
    on->job = j;
    on->open[on->begun++ % 8] = j;
    return OK;
}
void stage_cancel(struct tool_job *j)
{
    (void)j;
    on->cancels++;
}
static const struct tool_ops TOOL = { .start = tool_start, .cancel = stage_cancel };

struct tool *stage_tool(struct stage *s, const char *name, enum tool_where where,
                        enum tool_confirm confirm)
{
    struct tool *t = registry_tool(&s->registry, str_c(name));
    t->schema_text = STR("{\"type\":\"object\"}");
    t->where = where;
    t->confirm = confirm;
    t->ops = where == TOOL_SERVER ? &TOOL : NULL;
    t->timeout_ms = 60000;
    t->expires_s = 3600;
    REQUIRE(registry_add(&s->registry, t) == OK);
    return t;
}

void stage_hub(struct stage *s)
{
    s->hub = hub_new(&s->setup);
    REQUIRE(s->hub);
}

void stage_restart(struct stage *s)
{
    hub_free(s->hub);
    s->job = NULL;
    s->speaking = false;
    stage_hub(s);
}

void stage_up(struct stage *s)
{
    struct str why;
    *s = (struct stage){ .model = { .ops = &PUPPET, .provider = STR("puppet") } };
    s->page = (struct hub_page){ .all_tools = true, .model = &s->model };
    on = s;
    arena_init(&s->arena, 0);
    REQUIRE(loop_init(&s->loop) == OK);
    REQUIRE(store_open(&s->loop, STR("sqlite::memory:"), NULL, &s->arena, &s->store, &why) == OK);
    registry_init(&s->registry);
    (void)stage_tool(s, "work", TOOL_SERVER, CONFIRM_NEVER);
    (void)stage_tool(s, "pay", TOOL_SERVER, CONFIRM_ALWAYS);
    (void)stage_tool(s, "locate", TOOL_CLIENT, CONFIRM_NEVER);
    s->setup = (struct hub_setup){ .loop = &s->loop,
                                   .store = s->store,
                                   .registry = &s->registry,
                                   .pages = &s->page,
                                   .page_count = 1,
                                   .max_iterations = 2,
                                   .tool_text_max = 1000,
                                   .runs_max = 10,
                                   .threads_max = 100,
                                   .idle_bytes_max = 1 << 20,
                                   .cancel_grace_ms = 100 };
    stage_hub(s);
}

void stage_down(struct stage *s)
{
    REQUIRE(store_close(s->store, 60000));
    hub_free(s->hub);
    registry_done(&s->registry);
    loop_done(&s->loop);
    arena_done(&s->arena);
}

/* --- commands ---------------------------------------------------------------------------- */

void heard(struct command *c, const struct receipt *a)
{
    struct said *x = c->ctx;
    x->done = true;
    x->status = a->status;
    x->duplicate = a->duplicate;
    x->run = arena_dup(&on->arena, a->run);
    snprintf(x->code, sizeof x->code, "%s", a->code ? a->code : "");
    command_free(c);
}

struct command *command(enum command_kind kind, struct said *x)
{
    struct command *c = command_new(kind);
    REQUIRE(c);
    *x = (struct said){ 0 };
    c->log = (struct log_name){ STR("ann"), STR("t_1") };
    c->by = STR("ann");
    c->via = STR("rest");
    c->create = kind == CMD_MESSAGE;
    c->may_decide = true;
    c->done = heard;
    c->ctx = x;
    return c;
}

struct said say(struct stage *s, const char *text)
{
    struct said     x;
    struct command *c = command(CMD_MESSAGE, &x);
    c->message.text = str_c(text);
    hub_submit(s->hub, c);
    UNTIL(x.done);
    return x;
}

struct said sent(struct stage *s, struct command *c, struct said *x)
{
    hub_submit(s->hub, c);
    UNTIL(x->done);
    return *x;
}

struct thread *the_thread(struct stage *s)
{
    return hub_find(s->hub, (struct log_name){ STR("ann"), STR("t_1") });
}

struct str story(struct stage *s)
{
    const struct fold *f = thread_fold(the_thread(s));
    struct buf         b;
    buf_init(&b, 0);
    for (size_t i = 0; i < f->count; i++) {
        const struct fact *x = f->facts[i];
        buf_printf(&b, "%s%s", i ? " " : "", fact_name(x->kind));
        if (x->kind == FACT_STEP) buf_printf(&b, ":" STR_FMT, STR_ARG(x->stop));
        else if (x->outcome) buf_printf(&b, ":%s", word_name(x->outcome));
    }
    struct str r = arena_dup(&s->arena, buf_view(&b));
    buf_done(&b);
    return r;
}

bool idle(struct stage *s)
{
    struct thread *t = the_thread(s);
    return t && t->loaded && !t->inflight && !run_live(t->fold.run);
}
bool waits(struct stage *s)
{
    struct thread *t = the_thread(s);
    return t && t->loaded && !t->inflight && run_waiting(t->fold.run);
}

void says(struct stage *s, const char *text)
{
    s->run.sink->text(s->run.sink, str_c(text));
}
void calls(struct stage *s, const char *tool, const char *input)
{
    s->run.sink->call(s->run.sink, STR("p"), str_c(tool));
    s->run.sink->input(s->run.sink, str_c(input));
    s->run.sink->call_end(s->run.sink);
}
void stops(struct stage *s, enum model_stop how)
{
    s->speaking = false;
    s->run.sink->done(s->run.sink, how);
}
void stage_gate(struct stage *s)
{
    say(s, "pay");
    UNTIL(s->speaking);
    calls(s, "pay", "{}");
    stops(s, STOP_CALLS);
    UNTIL(waits(s));
}

void finishes(struct stage *s, enum tool_outcome o)
{
    struct tool_job *j = s->job;
    s->job = NULL;
    for (int i = 0; i < 8; i++)
        if (s->open[i] == j) s->open[i] = NULL;
    j->finish(j, &(struct tool_result){ .outcome = o, .text = STR("ok") });
}

void finish_all(struct stage *s)
{
    for (int i = 0; i < 8; i++)
        if ((s->job = s->open[i])) finishes(s, TOOL_DONE);
    UNTIL(!hub_jobs(s->hub));
}

/* --- a turn and its pieces ------------------------------------------------------------------- */

void works(struct stage *s, const char *tool, const char *input)
{
    say(s, "do it");
    UNTIL(s->speaking);
    calls(s, tool, input);
    stops(s, STOP_CALLS);
    UNTIL(s->job);
}

void ends(struct stage *s)
{
    UNTIL(s->speaking);
    stops(s, STOP_END);
    UNTIL(idle(s));
}

void turn_with(struct stage *s, const char *tool, const char *input)
{
    works(s, tool, input);
    finishes(s, TOOL_DONE);
    UNTIL(s->speaking);
    says(s, "Done.");
    ends(s);
}

struct said does(struct stage *s, enum command_kind kind)
{
    struct said x;
    return sent(s, command(kind, &x), &x);
}

struct str gate_of(struct stage *s)
{
    const struct run *r = thread_fold(the_thread(s))->run;
    for (size_t i = 0; i < r->call_count; i++)
        if (call_gate(r->calls[i])) return call_gate(r->calls[i])->id;
    return STR_NONE;
}

struct said decides(struct stage *s, struct str id, bool yes)
{
    struct said     x;
    struct command *c = command(CMD_DECIDE, &x);
    c->id = arena_dup(&c->arena, id);
    c->decide.confirmed = yes;
    return sent(s, c, &x);
}
