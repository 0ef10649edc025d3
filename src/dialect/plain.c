/* plain.c -- see plain.h. */
#include "dialect/plain.h"

void plain_start(struct encoder *e, const struct stream_start *s)
{
    plain_of(e)->reasoning = s->reasoning;
}

void plain_continues(struct encoder *e)
{
    plain_of(e)->told_from = e->seq;
}

void plain_take_back(struct encoder *e)
{
    plain_of(e)->weave = plain_of(e)->weave_before;
}

static void begin_run(struct encoder *e, const struct fact *f)
{
    plain_of(e)->index = 0;
    plain_of(e)->weave = (struct marker_weave){ 0 };
    /* a server action's call */
    for (size_t i = 0; i < f->parts_count; i++) encode_part_end(e, &f->parts[i]);
}

static bool only_notes(const struct fold *f, uint64_t seq, uint64_t horizon)
{
    while (seq < horizon && fact_is_note(f->facts[seq]->kind)) seq++;
    return seq >= horizon;
}

/* Everything that is open waits for a person or a browser. A stream of one run
 * ends here, unless the answer is in the log already. */
static void at_gate(struct encoder *e, const struct thread *t, const struct fact *f,
                    const struct plain_words *say)
{
    const struct run *r = fold_run_at(thread_fold(t), f->seq);
    if (!r || !run_waited_at(thread_fold(t), r, f->seq)) return;
    bool past = !only_notes(thread_fold(t), f->seq, e->horizon) && plain_of(e)->gate_told != f->seq;
    if (e->mode == STREAM_RUN && past) { /* a unit all the same, so that places stay the same */
        event_leave_out(e);
        return;
    }
    bool silent = event_silent(e);
    say->waits(e, t, r, f->seq);
    if (e->mode != STREAM_RUN || silent) return;
    plain_of(e)->gate_told = f->seq;
    e->ended = true;
}

/* Tells the fact; true: it may be one at which the run waits. */
static bool tell(struct encoder *e, const struct thread *t, const struct fact *f,
                 const struct plain_words *say)
{
    const struct call *c = f->call.ptr ? fold_call(thread_fold(t), f->call) : NULL;
    if (c && call_is_inner(c)) return true;
    switch (f->kind) {
    case FACT_MESSAGE:
    case FACT_RETRY:
    case FACT_ACTION: begin_run(e, f); return false;
    case FACT_ASKED:
        if (c) say->asked(e, f, c);
        break;
    case FACT_STARTED:
        if (c) say->started(e, f, c);
        break;
    case FACT_FINISHED:
        if (c && c->gate != GATE_REPLY) say->finished(e, f, c);
        break;
    case FACT_ENDED:
        say->ended(e, t, f);
        if (e->mode == STREAM_RUN && !event_silent(e)) e->ended = true;
        return false;
    case FACT_RESUMED:
    case FACT_SUMMARY:
    case FACT_STEP:
    case FACT_DECIDED:
    case FACT_PROPOSED:
    case FACT_RESPONSE:
    case FACT_TOLD:
    UNTOLD_FACTS:
        return false;
    }
    return true;
}

void plain_fact(struct encoder *e, const struct thread *t, const struct fact *f,
                const struct plain_words *say)
{
    if (tell(e, t, f, say)) at_gate(e, t, f, say);
    if (!fact_is_aside(f)) plain_of(e)->weave_before = plain_of(e)->weave;
}

void plain_progress(struct encoder *e, const struct thread *t, const struct plain_words *say)
{
    const struct run *r = thread_fold(t)->run;
    if (!run_live(r) || e->progress_told == thread_progress_no(t)) return;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_STARTED && c->progress_no > e->progress_told) say->progress(e, c);
    }
    e->progress_told = thread_progress_no(t);
}
