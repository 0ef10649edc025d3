/* toolrun.h -- runs a tool on a real loop and waits for its result. */
#ifndef PARLEY_TEST_TOOLRUN_H
#define PARLEY_TEST_TOOLRUN_H

#include "base/clock.h"
#include "loop/curl.h"
#include "tool/process/child.h"
#include "tool/process/exec.h"
#include "tool/registry.h"

struct toolrun {
    struct loop      loop;
    struct registry  reg;
    struct children *children;
    struct exec_host exec;
    struct curl_pool pool;
    bool             has_pool;
};

/* One execution and what came of it. */
struct ran {
    struct tool_job   job;
    struct arena      arena;
    bool              over;
    enum tool_outcome outcome;
    struct str        text, value, note, resume; /* in the arena */
    unsigned          progress, asked;
    double            last_progress;
    struct str        last_message, question, schema;
    uint64_t          ms; /* how long it took */
    uint64_t          began_ms;
    void (*on_ask)(struct ran *r);
    void (*on_progress)(struct ran *r);
};

struct toolrun *toolrun_new(void); /* with the keeper running */
void            toolrun_free(struct toolrun *t);
/* What a machine that others use may take longer than a test says; a hang is longer. */
#define TOOLRUN_PATIENCE 10
/* The loop turns until *until is true; when it does not come within that many times ms it goes
 * on. */
void toolrun_wait(struct toolrun *t, const bool *until, unsigned ms);
void toolrun_turn(struct toolrun *t, unsigned ms);
/* The loop turns while `cond` holds, for a minute at most: the test looks at what came. */
#define toolrun_while(t, cond)                                                           \
    do {                                                                                 \
        for (uint64_t end_ = clock_mono_ms() + 60000; (cond) && clock_mono_ms() < end_;) \
            toolrun_turn((t), 5);                                                        \
    } while (0)
/* An exec tool from its JSON; timeout in ms. */
struct tool *toolrun_exec(struct toolrun *t, const char *exec_json, unsigned timeout_ms);
/* A sandboxed shell script with these extra members of "exec" ("" or ",\"network\":true"). */
struct tool *toolrun_sh(struct toolrun *t, const char *script, const char *more,
                        unsigned timeout_ms);
/* everything but the start */
void         ran_prepare(struct ran *r, struct tool *tool, const char *input);
void         ran_start(struct toolrun *t, struct ran *r, struct tool *tool, const char *input);
/* accepted, {} */
void         ran_start_with(struct toolrun *t, struct ran *r, struct tool *tool, const char *input,
                            struct str resume);
void         ran_wait(struct toolrun *t, struct ran *r, unsigned ms);
void         ran_done(struct ran *r);
/* Starts it and waits for its end. */
void         ran_run(struct toolrun *t, struct ran *r, struct tool *tool, const char *input);
bool         str_has(struct str s, const char *part);
/* Processes whose command line contains `mark`; and descriptors of this process. */
unsigned     processes_with(const char *mark);
unsigned     open_descriptors(void);

#endif
