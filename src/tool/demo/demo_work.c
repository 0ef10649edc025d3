/* demo_work.c -- runs one demo tool: compute, tell the stages, finish; see work.h. */
#include "tool/demo/demo_work.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

void demo_stage(struct demo_work *w, const char *stage, double progress, const char *fmt, ...)
{
    char    text[300];
    va_list ap;
    must(w->stage_count < STAGES_MAX);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct str message = str_c(text);
    message.len = utf8_prefix(message, NULL); /* a long one may be cut inside a character */
    w->stages[w->stage_count++] =
        (struct demo_stage){ stage, progress, arena_dup(&w->arena, message) };
}

void demo_fail(struct demo_work *w, const char *why)
{
    w->outcome = TOOL_FAILED;
    buf_clear(&w->text);
    buf_clear(&w->value);
    buf_lit(&w->text, why);
}

static void closed(struct loop_timer *t)
{
    struct demo_work *w = LIST_ITEM(t, struct demo_work, timer);
    buf_done(&w->text);
    buf_done(&w->value);
    arena_done(&w->arena);
    mem_free(w);
}

static void finish(struct demo_work *w)
{
    struct tool_result r = { .outcome = w->outcome, .text = buf_view(&w->text) };
    if (w->value.len) r.value = buf_view(&w->value);
    if (w->stop) {
        r = (struct tool_result){ .outcome = TOOL_CANCELLED,
                                  .text = STR("Cancelled before it was finished.") };
    } else if (w->text.err || w->value.err || w->arena.failed) {
        r = (struct tool_result){ .outcome = TOOL_FAILED,
                                  .text = STR("There was not enough memory to do this.") };
    }
    loop_timer_close(&w->timer, closed); /* w lives until that is done */
    w->job->finish(w->job, &r);
}

static void tell_stage(struct demo_work *w)
{
    const struct demo_stage *s = &w->stages[w->told++];
    struct tool_progress     p = { str_c(s->stage), s->message, s->progress, STR_NONE };
    loop_timer_set(&w->timer, w->all->stage_ms);
    w->job->progress(w->job, &p);
}

static void tick(struct loop_timer *t)
{
    struct demo_work *w = LIST_ITEM(t, struct demo_work, timer);
    struct demo_ctx  *ctx = w->job->tool->ctx;
    if (!w->stop && !w->computed) {
        w->computed = true;
        ctx->fn(w);
    }
    if (w->stop || w->arena.failed || w->told == w->stage_count) finish(w);
    else tell_stage(w);
}

static enum err start(struct tool *t, struct tool_job *job)
{
    struct demo_ctx  *ctx = t->ctx;
    struct demo_work *w = mem_alloc(sizeof *w);
    if (!w) return ERR_NOMEM;
    w->job = job;
    w->all = ctx->all;
    arena_init(&w->arena, 0);
    buf_init(&w->text, 0);
    buf_init(&w->value, 0);
    job->runner = w;
    loop_timer_init(w->all->loop, &w->timer, tick);
    loop_timer_set(&w->timer, 0);
    return OK;
}

static void cancel(struct tool_job *job)
{
    struct demo_work *w = job->runner;
    w->stop = true;
    loop_timer_set(&w->timer, 0);
}

void demo_tool_free(struct tool *t)
{
    struct demo_ctx   *ctx = t->ctx;
    struct demo_tools *all = ctx->all;
    if (--all->users) return;
    library_free(all->library);
    applied_free(all->applied);
    uv_mutex_destroy(&all->ledger_lock);
}

const struct tool_ops demo_ops = { start, cancel, NULL, demo_tool_free };
