/* journal.c -- what was committed, told to operators: lines of the log, and what /metrics counts.
 *
 * After the commit, because a batch that fails is made again. Each line says of which conversation,
 * run, person and call it is, so that one story can be picked out of many; none has words of the
 * conversation, arguments or results in it. */
#include "base/log.h"
#include "run/caller.h"
#include "run/engine.h"
#include "run/otel.h"
#include "run/spans.h"

struct log_about thread_about(const struct thread *t, const struct call *c)
{
    const struct run *r = c ? c->run : t->fold.run;
    return (struct log_about){ .thread = t->id,
                               .run = r ? r->id : STR_NONE,
                               .principal = r ? caller_of(r, t->owner).principal : t->owner,
                               .call = c ? c->id : STR_NONE };
}

static void log_decided(const struct log_about *about, const struct call *c, const struct fact *f)
{
    const struct fact *asked =
        c->question && str_eq(c->question->id, f->id) ? c->question : c->asked;
    log_about(LOG_INFO, about, "approval.decided", "id", log_str(f->id), "tool", log_str(c->tool),
              "outcome", word_name(f->outcome), "by", log_str(f->by), "via", log_str(f->via),
              asked ? "waited_ms" : NULL, log_int(asked ? f->at_ms - asked->at_ms : 0), NULL);
}

/* A call that ran; what became of one that did not, its decision says. */
static void log_finished(const struct log_about *about, const struct call *c, const struct fact *f)
{
    enum log_level level = f->outcome == WORD_UNKNOWN ? LOG_WARN : LOG_INFO;
    if (!c->started) return;
    log_about(level, about, "tool.finished", "tool", log_str(c->tool), "outcome",
              word_name(f->outcome), "ms", log_int(f->ms), NULL);
}

static void log_call(const struct thread *t, const struct call *c, const struct fact *f)
{
    struct log_about about = thread_about(t, c);
    switch (f->kind) {
    case FACT_ASKED:
        log_about(LOG_INFO, &about, "approval.asked", "id", log_str(f->id), "tool",
                  log_str(c->tool), NULL);
        return;
    case FACT_VOTED:
        log_about(LOG_INFO, &about, "approval.voted", "id", log_str(f->id), "tool",
                  log_str(c->tool), "by", log_str(f->by), "via", log_str(f->via), NULL);
        return;
    case FACT_DECIDED: log_decided(&about, c, f); return;
    case FACT_STARTED:
        log_about(LOG_INFO, &about, "tool.started", "tool", log_str(c->tool), NULL);
        return;
    case FACT_FINISHED: log_finished(&about, c, f); return;
    case FACT_SETTLED:
        log_about(LOG_INFO, &about, "tool.settled", "tool", log_str(c->tool), "outcome",
                  word_name(f->outcome), "by", log_str(f->by), "via", log_str(f->via), NULL);
        return;
    default: return; /* of all others the log of facts is enough */
    }
}

static void log_ended(const struct thread *t, const struct fact *f)
{
    struct log_about about = thread_about(t, NULL);
    about.run = f->run;
    log_about(LOG_INFO, &about, "run.ended", "outcome", word_name(f->outcome), "input_tokens",
              log_int(f->input_tokens), "output_tokens", log_int(f->output_tokens),
              f->code.len ? "code" : NULL, log_str(f->code), NULL);
}

static void count_step(const struct thread *t, const struct fact *f)
{
    const struct model *m = t->said_by ? t->said_by : t->model_of;
    if (!m || str_is(f->provider, SPEND_PROVIDER)) return;
    metrics_tokens(m->name, f->input_tokens, f->output_tokens, f->cost);
}

static void count_call(const struct call *c, const struct fact *f)
{
    metrics_tool(c->tool, word_name(f->outcome));
    if (c->started) metrics_tool_seconds(c->tool, (double)f->ms / 1e3);
}

static void tell_spans(struct thread *t, const struct fact *ended)
{
    struct otel      *o = t->hub->setup.otel;
    const struct run *r = o ? fold_run(&t->fold, ended->run) : NULL;
    struct buf        b;
    if (!r) return;
    buf_init(&b, OTEL_BYTES_MAX);
    unsigned count = spans_write(&b, &t->fold, r, (struct log_name){ t->owner, t->id });
    otel_add(o, buf_view(&b), count);
    buf_done(&b);
}

static void tell(struct thread *t, const struct fact *f)
{
    const struct call *c = f->call.len ? fold_call(&t->fold, f->call) : NULL;
    if (f->kind == FACT_STEP || f->kind == FACT_SUMMARY) count_step(t, f);
    if (f->kind == FACT_ENDED) {
        metrics_run(word_name(f->outcome));
        log_ended(t, f);
        tell_spans(t, f);
    }
    if (!c || c->gate == GATE_REPLY) return;
    log_call(t, c, f);
    if (f->kind == FACT_FINISHED && call_tool(t, c)) count_call(c, f);
}

void journal_committed(struct thread *t)
{
    for (uint64_t s = t->batch_from; s <= t->committed; s++)
        if (s > t->fold.copied) tell(t, t->fold.facts[s - 1]);
    for (size_t i = 0; i < t->count_count; i++) {
        struct tool *tool = registry_find(t->hub->setup.registry, t->counts[i].tool);
        if (!tool) continue;
        tool->runs += t->counts[i].runs;
        tool->failed += t->counts[i].failed;
    }
}
