/* exec.c -- one call of a program, from its start to its result.
 *
 *   QUEUED ──its turn──▶ RUNNING ──timeout, output, cancel──▶ TERM ──2 s──▶ KILL ──▶ gone
 *      └──cancel──▶ DROPPED   └──result or end of stdout──▶ LINGER ──2 s──▶ TERM
 *
 * Whatever the way, the result of a program is told in one place: when the child is gone
 * (on_gone), from what it had said and why it ended. One whose turn never came has
 * certainly had no effect.
 */
#include "tool/process/exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/jsonw.h"
#include "tool/exec_out.h"
#include "tool/identity.h"
#include "tool/policy.h"
#include "tool/process/exec_int.h"
#include "tool/text.h"

#define GRACE_MS 2000 /* between asking and killing */
/* far above any log; a flood without end would keep the loop busy */
#define STDERR_MAX (16 * 1024 * 1024)

enum phase { QUEUED, DROPPED, RUNNING, LINGER, TERM, KILL };
enum reason { BY_ITSELF, CANCELLED, TIMEOUT, OUTPUT, ERRORS };

struct exec_job {
    struct child      child;
    struct list       node;  /* in the host's queue */
    struct buf        input; /* until it begins */
    struct tool_job  *job;
    struct exec_tool *tool;
    struct exec_out   out;
    struct tail       err;
    struct pace       pace;
    struct loop_timer clock;
    enum phase        phase;
    enum reason       reason;
    size_t            heard, heard_err; /* bytes of stdout, of stderr */
    unsigned          open;             /* handles to close before it can be freed */
};

/* --- the result --------------------------------------------------------------------- */

static void why_it_ended(struct exec_job *x, int status, struct buf *text)
{
    switch (x->reason) {
    case TIMEOUT:
        buf_printf(text, "It did not finish within %g s and was ended.",
                   x->job->tool->timeout_ms / 1000.0);
        return;
    case OUTPUT:
        buf_printf(text, "It wrote more than %zu bytes and was ended.", x->tool->output_max);
        return;
    case ERRORS:
        buf_printf(text, "It wrote more than %d bytes to stderr and was ended.", STDERR_MAX);
        return;
    case CANCELLED:
    case BY_ITSELF: break;
    }
    switch (x->child.over) {
    case CHILD_OVER_MEMORY: buf_lit(text, "It used more memory than it may and was ended."); return;
    case CHILD_OVER_WORK:
        buf_lit(text, "It kept more in its directory than it may and was ended.");
        return;
    case CHILD_WITHIN: break;
    }
    if (x->out.bad > 0) {
        buf_lit(text, "Its answer is not JSON lines: ");
        buf_str(text, buf_view(&x->out.complaint));
    } else buf_lit(text, "It ended without a result");
    if (status != 0) {
        buf_lit(text, " (");
        child_status_text(status, text);
        buf_chr(text, ')');
    }
    buf_chr(text, '.');
}

/* It said neither a result nor an error. */
static enum tool_outcome without_end(struct exec_job *x, int status, struct buf *text)
{
    if (x->reason == CANCELLED) return policy_stopped(status != CHILD_NOT_STARTED, text);
    if (status == CHILD_NOT_STARTED) {
        buf_lit(text, "It could not be started.");
        return TOOL_FAILED;
    }
    why_it_ended(x, status, text);
    buf_lit(text, " Whether it had an effect is not known.");
    return TOOL_UNKNOWN;
}

static enum tool_outcome say(struct exec_job *x, int status, struct buf *text)
{
    switch (x->out.end) {
    case EXEC_RESULT: text_of_value(text, buf_view(&x->out.value)); return TOOL_DONE;
    case EXEC_ERROR: buf_str(text, buf_view(&x->out.value)); return TOOL_FAILED;
    case EXEC_NO_END: break;
    }
    return without_end(x, status, text);
}

/* What the card shows beside the result: the end of stderr, and what was odd. */
static void note(struct exec_job *x, int status, struct buf *out)
{
    tail_text(&x->err, out);
    if (x->out.end == EXEC_NO_END) return;
    if (x->out.ends > 1)
        buf_lit(out, "\nIt said more than one result or error; the first result counts, else the "
                     "first error.");
    if (x->out.bad > 0)
        buf_printf(out, "\n%u of its lines could not be read; " STR_FMT, x->out.bad,
                   STR_ARG(buf_view(&x->out.complaint)));
    if (x->reason == BY_ITSELF && status > 0 && x->phase < TERM) {
        buf_lit(out, "\nAfter its result: ");
        child_status_text(status, out);
    }
}

static void one_closed(struct exec_job *x)
{
    if (--x->open > 0) return;
    exec_out_done(&x->out);
    tail_done(&x->err);
    buf_done(&x->input);
    mem_free(x);
}

static void clock_closed(struct loop_timer *t)
{
    one_closed(LIST_ITEM(t, struct exec_job, clock));
}
static void pace_closed(struct pace *p)
{
    one_closed(LIST_ITEM(p, struct exec_job, pace));
}

static void tell(struct exec_job *x, const struct tool_result *r)
{
    x->job->runner = NULL;
    x->job->finish(x->job, r);
    x->open = 2;
    loop_timer_close(&x->clock, clock_closed);
    pace_close(&x->pace, pace_closed);
}

static void next_turn(struct exec_host *h);

static void on_gone(struct child *c, int status)
{
    struct exec_job   *x = LIST_ITEM(c, struct exec_job, child);
    struct exec_host  *h = x->tool->host;
    struct tool_result r = { .outcome = TOOL_FAILED };
    struct buf         text, notes;

    buf_init(&text, 0);
    buf_init(&notes, 0);
    pace_flush(&x->pace);
    r.outcome = say(x, status, &text);
    note(x, status, &notes);
    r.text = text.err ? STR("There was not enough memory for its answer.") : buf_view(&text);
    r.value = x->out.end == EXEC_RESULT ? buf_view(&x->out.value) : STR_NONE;
    r.note = notes.len && !notes.err ? str_trim(buf_view(&notes)) : STR_NONE;
    h->running--;
    tell(x, &r);
    buf_done(&text);
    buf_done(&notes);
    next_turn(h);
}

/* It never began. */
static void give_up(struct exec_job *x, enum tool_outcome outcome, struct str text)
{
    tell(x, &(struct tool_result){ .outcome = outcome, .text = text });
}

/* --- ending ---------------------------------------------------------------------------- */

static void stop(struct exec_job *x, enum reason why)
{
    if (x->phase >= TERM) return;
    x->phase = TERM;
    x->reason = why;
    child_term(&x->child);
    loop_timer_set(&x->clock, GRACE_MS);
}

static void on_clock(struct loop_timer *t)
{
    struct exec_job *x = LIST_ITEM(t, struct exec_job, clock);
    switch (x->phase) {
    case QUEUED: return;
    case DROPPED: give_up(x, TOOL_CANCELLED, STR("It was cancelled before it began.")); return;
    case RUNNING: stop(x, TIMEOUT); return;
    case LINGER: stop(x, BY_ITSELF); return;
    case TERM:
        x->phase = KILL;
        child_kill(&x->child);
        return;
    case KILL: return;
    }
}

/* It has said all it had to say, or closed its mouth: it may go now. */
static void linger(struct exec_job *x)
{
    if (x->phase != RUNNING) return;
    x->phase = LINGER;
    loop_timer_set(&x->clock, GRACE_MS);
}

/* --- what it says --------------------------------------------------------------------- */

static void too_much(struct exec_job *x, enum reason what)
{
    stop(x, what);
    x->phase = KILL; /* a flood is not waited for */
    child_mute(&x->child);
    child_kill(&x->child);
}

static void on_out(struct child *c, struct str bytes)
{
    struct exec_job *x = LIST_ITEM(c, struct exec_job, child);
    enum err         e;

    /* it was too much */
    if (x->phase == KILL && x->reason != CANCELLED && x->reason != TIMEOUT) return;
    x->heard += bytes.len;
    if (x->heard > x->tool->output_max) {
        too_much(x, OUTPUT);
        return;
    }
    e = bytes.len ? exec_out_feed(&x->out, bytes) : exec_out_eof(&x->out);
    if (e != OK) too_much(x, OUTPUT);
    else if (bytes.len == 0 || x->out.end != EXEC_NO_END) linger(x);
}

static void on_err(struct child *c, struct str bytes)
{
    struct exec_job *x = LIST_ITEM(c, struct exec_job, child);

    tail_add(&x->err, bytes);
    x->heard_err += bytes.len;
    if (bytes.len > 0 && x->heard_err > STDERR_MAX && x->phase != KILL) too_much(x, ERRORS);
}

static void on_progress(struct exec_out *o, const struct tool_progress *p)
{
    pace_tell(&LIST_ITEM(o, struct exec_job, out)->pace, p);
}

/* --- starting ---------------------------------------------------------------------------- */

/* Whose call it is comes first, so that nothing configured stands before it. */
static enum err fill_env(struct exec_job *x, struct arena *a, const char **envp)
{
    struct identity_item items[IDENTITY_ITEMS_MAX];
    size_t               n = identity_items(x->job, items);
    for (size_t i = 0; i < n; i++)
        if (!(envp[i] = identity_variable(a, &items[i]).ptr)) return ERR_NOMEM;
    for (size_t i = 0; x->tool->envp[i]; i++) envp[n++] = x->tool->envp[i];
    envp[n] = NULL;
    return OK;
}

static enum err start_child(struct exec_job *x)
{
    struct exec_tool *t = x->tool;
    const char       *envp[EXEC_ENV_MAX + IDENTITY_ITEMS_MAX + 1];
    struct arena      a;
    struct child_spec spec = {
        .program = t->program,
        .argv = t->argv,
        .envp = envp,
        .cwd = t->cwd,
        .sandbox = true,
        .network = t->network,
        .read = t->read,
        .input = buf_view(&x->input),
        .limits = t->limits,
    };

    arena_init(&a, 0);
    enum err e = fill_env(x, &a, envp);
    x->child.on_out = on_out;
    x->child.on_err = on_err;
    x->child.on_exit = on_gone;
    if (!e) e = child_start(t->host->children, &x->child, &spec);
    arena_done(&a);
    return e;
}

/* Now its time counts. */
static void set_off(struct exec_job *x)
{
    x->phase = RUNNING;
    loop_timer_set(&x->clock, x->job->tool->timeout_ms);
    buf_clear(&x->input);
}

static enum err launch(struct exec_job *x)
{
    enum err e = start_child(x);
    if (e == OK) x->tool->host->running++;
    return e;
}

static bool has_room(const struct exec_host *h)
{
    return !h->at_once || h->running < h->at_once;
}

static void next_turn(struct exec_host *h)
{
    while (has_room(h) && !list_empty(&h->waiting)) {
        struct exec_job *x = LIST_ITEM(h->waiting.next, struct exec_job, node);
        list_remove(&x->node);
        if (launch(x) == OK) set_off(x);
        else give_up(x, TOOL_FAILED, STR("It could not be started."));
    }
}

/* The arguments on one line, whatever the model's spelling: `read line` in a shell is a whole
 * reader then. */
static enum err make_input(struct buf *b, const struct tool_job *job)
{
    struct jsonw w;

    buf_init(b, 0);
    jsonw_init(&w, b);
    jw_jv(&w, job->args);
    buf_chr(b, '\n');
    return b->err;
}

static enum err start(struct tool *t, struct tool_job *job)
{
    struct exec_tool *tool = t->ctx;
    struct exec_host *h = tool->host;
    bool              now = has_room(h) && list_empty(&h->waiting);
    struct exec_job  *x = mem_alloc(sizeof *x);
    enum err          e;

    if (!x) return ERR_NOMEM;
    x->job = job;
    x->tool = tool;
    if ((e = make_input(&x->input, job)) != OK || (now && (e = launch(x)) != OK)) {
        buf_done(&x->input);
        mem_free(x);
        return e;
    }
    job->runner = x;
    exec_out_init(&x->out, tool->output_max);
    x->out.progress = on_progress;
    x->out.checks = job->checks;
    tail_init(&x->err, TAIL_MAX);
    pace_init(&x->pace, h->loop, job);
    loop_timer_init(h->loop, &x->clock, on_clock);
    if (now) set_off(x);
    else list_add(&h->waiting, &x->node);
    return OK;
}

static void cancel(struct tool_job *job)
{
    struct exec_job *x = job->runner;

    if (!x || x->phase == DROPPED) return;
    if (x->phase != QUEUED) {
        stop(x, CANCELLED);
        return;
    }
    x->phase = DROPPED;
    list_remove(&x->node);
    loop_timer_set(&x->clock, 0); /* told from the loop, as any result */
}

const struct tool_ops exec_ops = { .start = start, .cancel = cancel };
