/* stage.h -- a thread's mailbox, driven by hand: the model is a puppet, the tool too, the store is
 * real but in memory. For what must hold in orders of events that no clock can be made to
 * repeat. */
#ifndef PARLEY_TEST_STAGE_H
#define PARLEY_TEST_STAGE_H

#include "base/clock.h"
#include "run/engine.h"
#include "test.h"

struct model_run {
    struct model_sink *sink;
};

struct stage {
    struct loop      loop;
    struct arena     arena;
    struct store    *store;
    struct registry  registry;
    struct hub      *hub;
    struct hub_setup setup; /* may be changed before stage_hub */
    struct hub_page  page;
    struct model     model;
    struct model_run run; /* the model's newest call */
    bool             speaking, no_calls, in_line;
    unsigned         asked;   /* how often the model was called */
    struct tool_job *job;     /* the tool's newest job */
    struct tool_job *open[8]; /* all that were begun and have not ended */
    unsigned         begun;   /* how often a tool was */
    unsigned         cancels;
    bool             drained;
};
extern struct stage *on; /* one at a time */

/* tools: work (free), pay (asks), locate (in the browser) */
void         stage_up(struct stage *s);
void         stage_down(struct stage *s);
struct tool *stage_tool(struct stage *s, const char *name, enum tool_where where,
                        enum tool_confirm confirm);
/* a hub as stage->setup says, on the store that is there */
void         stage_hub(struct stage *s);
/* as if the process had died: another hub on the same store */
void         stage_restart(struct stage *s);

struct said {
    struct str run;
    int        status;
    char       code[32];
    bool       done, duplicate;
};
void            stage_cancel(struct tool_job *j);
/* fills the `struct said` that is its ctx */
void            heard(struct command *c, const struct receipt *a);
/* of ann, to her thread t_1 */
struct command *command(enum command_kind kind, struct said *x);
struct said     say(struct stage *s, const char *text);
/* submits and waits */
struct said     sent(struct stage *s, struct command *c, struct said *x);
struct thread  *the_thread(struct stage *s);
/* the log as words: "message step:end ended:complete" */
struct str      story(struct stage *s);
bool            idle(struct stage *s);
bool            waits(struct stage *s);
void            says(struct stage *s, const char *text);
void            calls(struct stage *s, const char *tool, const char *input);
void            stops(struct stage *s, enum model_stop how);
/* ann wants "pay", and it waits for her yes */
void            stage_gate(struct stage *s);
void            finishes(struct stage *s, enum tool_outcome o);
void            finish_all(struct stage *s);
/* what a turn is made of, for tests that are about something else: */
/* ann asks, the model calls this tool, and its job has begun */
void            works(struct stage *s, const char *tool, const char *input);
/* the model has its turn and says no more, and the conversation rests */
void            ends(struct stage *s);
/* both, and what the tool did in between */
void            turn_with(struct stage *s, const char *tool, const char *input);
/* a command that is nothing but its kind */
struct said     does(struct stage *s, enum command_kind kind);
/* the confirmation that the run waits for; none: it waits for none */
struct str      gate_of(struct stage *s);
struct said     decides(struct stage *s, struct str id, bool yes);

#define UNTIL(cond)                                                                  \
    do {                                                                             \
        uint64_t   end_ = clock_mono_ms() + 60000;                                   \
        uv_timer_t tick_;                                                            \
        uv_timer_init(&on->loop.uv, &tick_);                                         \
        uv_timer_start(&tick_, stage_tick, 5, 5);                                    \
        while (!(cond) && clock_mono_ms() < end_) uv_run(&on->loop.uv, UV_RUN_ONCE); \
        bool came_ = (cond);                                                         \
        uv_close((uv_handle_t *)&tick_, NULL);                                       \
        uv_run(&on->loop.uv, UV_RUN_NOWAIT);                                         \
        if (!came_) REQUIRE(cond);                                                   \
    } while (0)
void stage_tick(uv_timer_t *t);

#endif
