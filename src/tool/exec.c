/* exec.c -- one call of a program, from its start to its result.
 *
 *   RUNNING ──timeout, output, cancel──▶ TERM ──2 s──▶ KILL ──▶ gone
 *      └──result or end of stdout──▶ LINGER ──2 s──▶ TERM
 *
 * Whatever the way, the result is told in one place: when the child is gone
 * (on_gone), from what it had said and why it ended.
 */
#include "tool/exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/jsonw.h"
#include "tool/exec_int.h"
#include "tool/exec_out.h"
#include "tool/policy.h"
#include "tool/text.h"

#define GRACE_MS 2000            /* between asking and killing */

enum phase { RUNNING, LINGER, TERM, KILL };
enum reason { BY_ITSELF, CANCELLED, TIMEOUT, OUTPUT };

struct exec_job {
    struct child      child;
    struct tool_job  *job;
    struct exec_tool *tool;
    struct exec_out   out;
    struct tail       err;
    struct pace       pace;
    struct loop_timer clock;
    enum phase        phase;
    enum reason       reason;
    size_t            heard;     /* bytes of stdout */
    unsigned          open;      /* handles to close before it can be freed */
};

/* --- the result --------------------------------------------------------------------- */

static void why_it_ended(struct exec_job *x, int status, struct buf *text)
{
    switch (x->reason) {
    case TIMEOUT: buf_printf(text, "It did not finish within %g s and was ended.", x->job->tool->timeout_ms / 1000.0); return;
    case OUTPUT:  buf_printf(text, "It wrote more than %zu bytes and was ended.", x->tool->output_max); return;
    case CANCELLED:
    case BY_ITSELF: break;
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
    if (x->reason == CANCELLED) return policy_stopped(x->job->tool, status != CHILD_NOT_STARTED, text);
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
    case EXEC_RESULT:
        text_of_value(text, buf_view(&x->out.value));
        return TOOL_DONE;
    case EXEC_ERROR:
        buf_str(text, buf_view(&x->out.value));
        return TOOL_FAILED;
    case EXEC_NO_END: break;
    }
    return without_end(x, status, text);
}

/* What the card shows beside the result: the end of stderr, and what was odd. */
static void note(struct exec_job *x, int status, struct buf *out)
{
    tail_text(&x->err, out);
    if (x->out.end == EXEC_NO_END) return;
    if (x->out.ends > 1) buf_lit(out, "\nIt said more than one result or error; the first result counts, else the first error.");
    if (x->out.bad > 0) buf_printf(out, "\n%u of its lines could not be read; " STR_FMT, x->out.bad,
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
    mem_free(x);
}

static void clock_closed(struct loop_timer *t) { one_closed(LIST_ITEM(t, struct exec_job, clock)); }
static void pace_closed(struct pace *p) { one_closed(LIST_ITEM(p, struct exec_job, pace)); }

static void on_gone(struct child *c, int status)
{
    struct exec_job   *x = LIST_ITEM(c, struct exec_job, child);
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
    x->job->runner = NULL;
    x->job->finish(x->job, &r);
    buf_done(&text);
    buf_done(&notes);
    x->open = 2;
    loop_timer_close(&x->clock, clock_closed);
    pace_close(&x->pace, pace_closed);
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
    case RUNNING: stop(x, TIMEOUT); return;
    case LINGER:  stop(x, BY_ITSELF); return;
    case TERM:
        x->phase = KILL;
        child_kill(&x->child);
        return;
    case KILL:    return;
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

static void too_much(struct exec_job *x)
{
    stop(x, OUTPUT);
    x->phase = KILL;                     /* a flood is not waited for */
    child_mute(&x->child);
    child_kill(&x->child);
}

static void on_out(struct child *c, struct str bytes)
{
    struct exec_job *x = LIST_ITEM(c, struct exec_job, child);
    enum err         e;

    if (x->reason == OUTPUT) return;
    x->heard += bytes.len;
    if (x->heard > x->tool->output_max) {
        too_much(x);
        return;
    }
    e = bytes.len ? exec_out_feed(&x->out, bytes) : exec_out_eof(&x->out);
    if (e != OK) too_much(x);
    else if (bytes.len == 0 || x->out.end != EXEC_NO_END) linger(x);
}

static void on_err(struct child *c, struct str bytes) { tail_add(&LIST_ITEM(c, struct exec_job, child)->err, bytes); }

static void on_progress(struct exec_out *o, const struct tool_progress *p)
{
    pace_tell(&LIST_ITEM(o, struct exec_job, out)->pace, p);
}

/* --- starting ---------------------------------------------------------------------------- */

static enum err start_child(struct exec_job *x)
{
    struct exec_tool *t = x->tool;
    const char       *envp[EXEC_ENV_MAX + 3];
    char              call[sizeof "PARLEY_CALL_ID=" + 256], name[sizeof "PARLEY_TOOL=" + 256];
    size_t            n = 0;
    struct child_spec spec = {
        .program = t->program, .argv = t->argv, .envp = envp, .cwd = t->cwd,
        .sandbox = true, .network = t->network, .read = t->read, .limits = t->limits,
    };

    snprintf(call, sizeof call, "PARLEY_CALL_ID=" STR_FMT, STR_ARG(str_cut(x->job->call_id, 255)));
    snprintf(name, sizeof name, "PARLEY_TOOL=" STR_FMT, STR_ARG(str_cut(x->job->tool->name, 255)));
    envp[n++] = call;
    envp[n++] = name;
    for (size_t i = 0; t->envp[i]; i++) envp[n++] = t->envp[i];
    envp[n] = NULL;
    x->child.on_out = on_out;
    x->child.on_err = on_err;
    x->child.on_exit = on_gone;
    return child_start(t->children, &x->child, &spec);
}

/* The arguments on one line, whatever the model's spelling: `read line` in a shell is a whole reader then. */
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
    struct exec_job  *x = mem_alloc(sizeof *x);
    struct buf        input;
    enum err          e;

    if (!x) return ERR_NOMEM;
    x->job = job;
    x->tool = tool;
    if ((e = make_input(&input, job)) != OK || (e = start_child(x)) != OK) {
        buf_done(&input);
        mem_free(x);
        return e;
    }
    job->runner = x;
    exec_out_init(&x->out, tool->output_max);
    x->out.progress = on_progress;
    tail_init(&x->err, TAIL_MAX);
    pace_init(&x->pace, tool->loop, job);
    loop_timer_init(tool->loop, &x->clock, on_clock);
    loop_timer_set(&x->clock, t->timeout_ms);
    child_write(&x->child, buf_view(&input));
    child_close_in(&x->child);
    buf_done(&input);
    return OK;
}

static void cancel(struct tool_job *job)
{
    struct exec_job *x = job->runner;
    if (x) stop(x, CANCELLED);
}

const struct tool_ops exec_ops = { .start = start, .cancel = cancel };
