/* demo_work.h -- how a demo tool runs: it computes, shows its stages one by one, and
 * gives one result.
 *
 * A tool is one function (demo_fn) that reads w->job->args, adds stages, and
 * writes text and value. It runs in the first turn after start(); the stages are
 * then told stage_ms apart, and the result after the last. A cancelled job ends
 * with TOOL_CANCELLED in the next turn, whatever was computed.
 *
 * struct demo_tools is shared by all demo tools of a registry; the last tool that
 * is freed gives back what it holds.
 */
#ifndef PARLEY_DEMO_WORK_H
#define PARLEY_DEMO_WORK_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "tool/demo.h"

#define STAGES_MAX 3

struct library; /* library.c: the index of the articles */
struct applied; /* apply_schema.c: the schemas applied so far */

struct demo_tools {
    struct loop    *loop;
    struct str      ledger;      /* NUL behind it */
    uv_mutex_t      ledger_lock; /* one payment writes at a time */
    unsigned        stage_ms;
    unsigned        users;   /* tools that point here */
    struct library *library; /* made at the first search */
    struct applied *applied; /* newest first */
};

struct demo_stage {
    const char *stage;
    double      progress;
    struct str  message;
};

struct demo_work {
    struct tool_job   *job;
    struct demo_tools *all;
    struct loop_timer  timer;
    struct arena       arena;
    struct demo_stage  stages[STAGES_MAX];
    unsigned           stage_count, told;
    struct buf         text, value; /* the result */
    enum tool_outcome  outcome;     /* TOOL_DONE unless the tool says otherwise */
    bool               computed, stop;
};

typedef void demo_fn(struct demo_work *w);
struct demo_ctx {
    struct demo_tools *all;
    demo_fn           *fn;
}; /* tool->ctx */

void demo_stage(struct demo_work *w, const char *stage, double progress, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* TOOL_FAILED with this sentence */
void demo_fail(struct demo_work *w, const char *why);

extern const struct tool_ops demo_ops;                       /* runs ctx->fn as above */
void                         demo_tool_free(struct tool *t); /* ops->free of all demo tools */

demo_fn search_articles_run, get_weather_run, generate_artifact_run, generate_image_run,
    browser_search_run, apply_schema_run;
extern const struct tool_ops payment_ops;
void                         library_free(struct library *l);
void                         applied_free(struct applied *a);

#endif
