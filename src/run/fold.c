/* fold.c -- see fold.h. No clock, no I/O: what is not in the facts is not known here. */
#include "run/fold.h"

#include "run/spend.h"
#include "tool/replytools.h"

void fold_init(struct fold *f)
{
    *f = (struct fold){ 0 };
    arena_init(&f->arena, 0);
    map_init(&f->by_call);
    map_init(&f->by_confirmation);
    map_init(&f->by_provider);
}

void fold_done(struct fold *f)
{
    mem_free(f->facts);
    mem_free(f->calls);
    mem_free(f->runs);
    mem_free(f->responses);
    mem_free(f->carried);
    map_done(&f->by_call);
    map_done(&f->by_confirmation);
    map_done(&f->by_provider);
    arena_done(&f->arena);
    *f = (struct fold){ 0 };
}

/* Room for one more pointer. */
static bool grow(void *array, size_t count, size_t *cap)
{
    void **at = *(void ***)array;
    if (count < *cap) return true;
    size_t want = *cap ? *cap * 2 : 8;
    at = mem_realloc(at, want * sizeof *at);
    if (!at) return false;
    *(void ***)array = at;
    *cap = want;
    return true;
}

struct call *fold_call(const struct fold *f, struct str id)
{
    return map_get(&f->by_call, id);
}

const struct fact *call_gate(const struct call *c)
{
    if (c->state == CALL_ASKED) return c->asked;
    return c->state == CALL_STARTED && !c->answered ? c->question : NULL;
}

static bool by(const struct fact *a, uint64_t seq)
{
    return a && a->seq <= seq;
}

const struct confirmation *call_open_at(const struct call *c, uint64_t seq)
{
    const struct confirmation *k = c->last;
    while (k && k->asked->seq > seq) k = k->before;
    return k && !by(k->verdict, seq) && !by(c->finished, seq) ? k : NULL;
}

bool call_took_effect(const struct call *c)
{
    if (!c->started) return false;
    if (c->settled) return c->settled->outcome == WORD_DONE;
    return !c->finished || c->finished->outcome == WORD_DONE ||
           c->finished->outcome == WORD_UNKNOWN;
}

bool call_is_copied(const struct call *c, struct str tool, const struct jv *args)
{
    return (!tool.ptr || str_eq(tool, c->tool)) && (!args || jv_equal(args, c->args));
}

bool call_replies(struct str tool)
{
    return reply_tool_of(tool) != REPLY_NONE;
}

static const struct confirmation *question_of(const struct fold *f, struct str id)
{
    return map_get(&f->by_confirmation, id);
}

const struct fact *fold_asked(const struct fold *f, struct str id)
{
    const struct confirmation *k = question_of(f, id);
    return k ? k->asked : NULL;
}

const struct fact *fold_verdict(const struct fold *f, struct str id)
{
    const struct confirmation *k = question_of(f, id);
    return k ? k->verdict : NULL;
}

struct call *fold_confirmation(const struct fold *f, struct str id)
{
    const struct confirmation *k = question_of(f, id);
    return k ? k->call : NULL;
}

struct run *fold_run(const struct fold *f, struct str id)
{
    for (size_t i = f->run_count; i-- > 0;)
        if (str_eq(f->runs[i]->id, id)) return f->runs[i];
    return NULL;
}

struct run *fold_run_at(const struct fold *f, uint64_t seq)
{
    for (size_t i = f->run_count; i-- > 0;)
        if (f->runs[i]->first->seq <= seq) return f->runs[i];
    return NULL;
}

struct call *fold_program_call(const struct fold *f)
{
    const struct fact *first = f->run_count ? f->runs[0]->first : NULL;
    return first && str_is(first->via, "mcp") && f->call_count ? f->calls[0] : NULL;
}

/* --- applying ------------------------------------------------------------------ */

/* A fact of our own, read from its stored form. Of a kind that only a newer version knows the
 * number is kept and the content ignored. */
static enum err keep(struct fold *f, struct str kind, struct str body, struct fact *out)
{
    struct str copy = arena_dup(&f->arena, body);
    if (!copy.ptr) return ERR_NOMEM;
    enum err e = fact_read(&f->arena, kind, copy, out);
    if (e == ERR_NOT_FOUND) out->kind = FACT_CREATED;
    out->body = copy;
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err begin_run(struct fold *f, const struct fact *a)
{
    struct run *r = arena_new(&f->arena, struct run);
    if (!r || !grow(&f->runs, f->run_count, &f->run_cap)) return ERR_NOMEM;
    r->id = a->run;
    r->first = a;
    r->page = a->page;
    r->phase = RUN_THINKING;
    r->calls_from = f->call_count;
    f->runs[f->run_count++] = r;
    f->run = r;
    return OK;
}

/* Whatever the log says: what is no object was never judged to be one, and nothing runs on it. */
static void distrust(struct call *c)
{
    if (c->gate == GATE_BAD || c->gate == GATE_REPLY) {
        if (!c->problem.ptr) c->problem = STR("The call could not be run.");
    } else if (c->gate == GATE_UNJUDGED || !jv_is(c->args, JSON_OBJECT)) {
        c->gate = GATE_BAD;
        c->problem = STR("The call was not complete; it was not run.");
    }
}

static struct call *add_call(struct fold *f, struct run *r, const struct fact *a,
                             const struct part *p)
{
    struct call *c = arena_new(&f->arena, struct call);
    struct jv   *args = NULL;
    if (!c || !grow(&f->calls, f->call_count, &f->call_cap)) return NULL;
    enum err e = json_parse(&f->arena, p->text, &args, NULL);
    if (e == ERR_NOMEM) return NULL; /* once it is loaded there may be room */
    if (e) args = NULL;
    *c = (struct call){ .id = p->call,
                        .provider_id = p->provider_id,
                        .tool = p->tool,
                        .input = p->text,
                        .args = args,
                        .client = p->client,
                        .declared = p->declared,
                        .gate = p->gate,
                        .problem = p->problem,
                        .intent = p->intent,
                        .run = r,
                        .step_seq = a->seq };
    distrust(c);
    /* said twice, it names neither: ours does */
    if (map_get(&f->by_provider, c->provider_id)) c->provider_id = STR_NONE;
    else if (c->provider_id.len && map_put(&f->by_provider, c->provider_id, c) != OK) return NULL;
    if (map_put(&f->by_call, c->id, c) != OK) return NULL;
    f->calls[f->call_count++] = c;
    return c;
}

static bool is_cut(struct str stop)
{
    return str_is(stop, "cancelled") || str_is(stop, "error");
}

static enum err open_calls(struct fold *f, struct run *r, const struct fact *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->parts_count; i++) n += a->parts[i].type == STEP_CALL;
    r->calls = arena_array(&f->arena, n ? n : 1, sizeof *r->calls);
    r->call_count = 0;
    if (!r->calls) return ERR_NOMEM;
    for (size_t i = 0; i < a->parts_count; i++) {
        if (a->parts[i].type != STEP_CALL) continue;
        struct call *c = add_call(f, r, a, &a->parts[i]);
        if (!c) return ERR_NOMEM;
        r->calls[r->call_count++] = c;
    }
    return OK;
}

/* A model says what it likes: a sum that has no room stays at the most there is. */
static void add_count(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum)) *sum = INT64_MAX;
}

/* The step is over: what its words had to go through is not held against the next. */
static void forget_marks(struct run *r)
{
    r->resumes = 0;
    r->marked = NULL;
}

/* Put down, or in line behind others, it is not the step that ends the process. */
static void apply_resumed(struct run *r, const struct fact *a)
{
    bool parked = str_is(a->stop, RESUMED_PARKED) || str_is(a->stop, RESUMED_WAITS);
    if (!parked) r->resumes++;
    else if (r->marked) r->resumes--;
    r->marked = parked ? NULL : a;
}

static enum err apply_step(struct fold *f, struct run *r, const struct fact *a)
{
    add_count(&r->input_tokens, a->input_tokens);
    add_count(&r->output_tokens, a->output_tokens);
    r->last_stop = a->stop;
    forget_marks(r);
    if (is_cut(a->stop)) return OK; /* the run ends with the next fact */
    enum err e = open_calls(f, r, a);
    if (e) return e;
    bool other = false;
    for (size_t i = 0; i < r->call_count; i++) other |= r->calls[i]->gate != GATE_REPLY;
    r->replied = r->call_count > 0 && !other;
    /* The closing answer and a refusal are the last ones, whatever they ask for. */
    r->no_more_calls = r->call_count == 0 || str_is(a->stop, "limit") || str_is(a->stop, "refusal");
    if (a->custom.ptr) r->custom = a->custom;
    if (a->reason.len) { /* the answer does not fit: once more */
        r->repairs++;
        r->no_more_calls = false;
    }
    /* the server's own question is no step of the model's */
    if (other && !str_is(a->provider, SPEND_PROVIDER)) r->iterations++;
    r->phase = RUN_CALLS;
    return OK;
}

static void add_usage(struct fold *f, const struct fact *a)
{
    add_count(&f->tokens, a->input_tokens);
    add_count(&f->tokens, a->output_tokens);
    add_count(&f->cost, a->cost);
}

static void apply_summary(struct run *r, const struct fact *a)
{
    add_count(&r->input_tokens, a->input_tokens);
    add_count(&r->output_tokens, a->output_tokens);
    forget_marks(r);
    r->summaries++;
}

/* A reply tool's input fills the final payload. */
static void apply_reply(struct run *r, const struct call *c)
{
    const struct jv *v;
    enum reply_tool  which = reply_tool_of(c->tool);
    if (which == REPLY_REPLIES && (v = jv_get(c->args, "replies"))) r->replies = v->raw;
    if (which == REPLY_ACTIONS && (v = jv_get(c->args, "actions"))) r->actions = v->raw;
    if (which == REPLY_PRESENT && c->args) r->custom = c->args->raw;
}

static void apply_finished(struct call *c, const struct fact *a)
{
    c->finished = a;
    c->state = CALL_FINISHED;
    if (c->gate == GATE_REPLY && a->outcome == WORD_DONE) apply_reply(c->run, c);
}

static enum err apply_asked(struct fold *f, struct call *c, const struct fact *a)
{
    struct confirmation *k = arena_new(&f->arena, struct confirmation);
    if (!k || map_put(&f->by_confirmation, a->id, k) != OK) return ERR_NOMEM;
    *k = (struct confirmation){ .call = c, .asked = a, .before = c->last };
    c->last = k;
    c->gates++;
    if (c->state == CALL_STARTED) {
        c->question = a;
        c->answered = NULL;
        return OK;
    }
    c->asked = a;
    c->state = CALL_ASKED;
    return OK;
}

/* A gate has a code there, for as long as it waits. */
static void apply_told(struct fold *f, struct call *c, const struct fact *a)
{
    struct confirmation *k = map_get(&f->by_confirmation, a->id);
    if (k && !k->told) k->told = a;
    if (c->asked && str_eq(c->asked->id, a->id)) c->told = a;
}

static void apply_decided(struct fold *f, struct call *c, const struct fact *a)
{
    struct confirmation *k = map_get(&f->by_confirmation, a->id);
    if (k) k->verdict = a;
    if (call_questioned(c, a->id)) {
        c->answered = a;
        return;
    }
    c->decided = a;
    c->state = a->outcome == WORD_APPROVED ? CALL_GRANTED : CALL_REFUSED;
}

/* A server action is a step the person made: one call, no words. */
static enum err apply_action(struct fold *f, const struct fact *a)
{
    enum err e = begin_run(f, a);
    if (e) return e;
    if (!a->parts_count) return OK;
    if ((e = open_calls(f, f->run, a))) return e;
    f->run->phase = RUN_CALLS;
    /* a program wants the outcome, and no model's words about it */
    f->run->no_more_calls = fold_program_call(f) != NULL;
    return OK;
}

static enum err apply_call_fact(struct fold *f, const struct fact *a)
{
    struct call *c = fold_call(f, a->call);
    if (!c) return OK; /* a call we do not know: from a newer version; kept in the log */
    switch (a->kind) {
    case FACT_ASKED: return apply_asked(f, c, a);
    case FACT_DECIDED: apply_decided(f, c, a); break;
    case FACT_RESULT: c->early = a; break;
    case FACT_STARTED:
        c->started = a;
        c->state = CALL_STARTED;
        break;
    case FACT_CLAIMED: c->claimed = a; break;
    case FACT_CONTINUED: c->continued = a; break;
    case FACT_FINISHED:
        apply_finished(c, a);
        f->unsettled += call_unsettled(c);
        break;
    case FACT_SETTLED:
        f->unsettled -= call_unsettled(c);
        c->settled = a;
        break;
    case FACT_CHECKED:
        c->checked = a;
        c->checks += a->outcome == WORD_NONE;
        break;
    case FACT_LATE: c->late = a; break;
    case FACT_ESCALATED: c->escalated = a; break;
    case FACT_VOTED: break; /* counted from the facts when somebody answers: rules.h */
    case FACT_TOLD: apply_told(f, c, a); break;
    case FACT_HANDED: c->handed = a; break;
    case FACT_NAMED: break;
    default: must(!"call fact");
    }
    return OK;
}

/* A person's edit: a call of their own in the place of one that the model made. It belongs to the
 * same step, and is open as that one was. */
static enum err apply_proposed(struct fold *f, const struct fact *a)
{
    struct call *old = fold_call(f, a->of), *c, **calls;
    struct run  *r = old ? old->run : NULL;
    if (!old || a->parts_count != 1 || a->parts[0].type != STEP_CALL) return OK;
    if (!(c = add_call(f, r, a, &a->parts[0]))) return ERR_NOMEM;
    c->step_seq = old->step_seq;
    c->instead_of = old;
    c->proposed = a;
    old->replaced_by = c;
    if (r != f->run) return OK;
    if (!(calls = arena_array(&f->arena, r->call_count + 1, sizeof *calls))) return ERR_NOMEM;
    memcpy(calls, r->calls, r->call_count * sizeof *calls);
    calls[r->call_count++] = c;
    r->calls = calls;
    return OK;
}

static enum err apply_response(struct fold *f, const struct fact *a)
{
    if (!grow(&f->responses, f->response_count, &f->response_cap)) return ERR_NOMEM;
    f->responses[f->response_count++] = a;
    if (f->response_count == 1) f->quiet = a->quiet;
    return OK;
}

static enum err carry(struct fold *f, const struct fact *forked, struct str body)
{
    struct fact *x = arena_new(&f->arena, struct fact);
    struct call *c = arena_new(&f->arena, struct call);
    struct jv   *args;
    if (!x || !c || !grow(&f->carried, f->carried_count, &f->carried_cap)) return ERR_NOMEM;
    *x = (struct fact){ .seq = forked->seq, .at_ms = forked->at_ms };
    enum err e = fact_read(&f->arena, STR("finished"), body, x);
    if (!e) e = json_parse(&f->arena, x->data, &args, NULL);
    if (e) return e;
    *c = (struct call){ .id = x->call,
                        .tool = x->tool,
                        .input = x->data,
                        .args = args,
                        .step_seq = forked->seq,
                        .state = x->outcome ? CALL_FINISHED : CALL_STARTED,
                        .started = forked,
                        .finished = x->outcome ? x : NULL };
    f->carried[f->carried_count++] = c;
    return OK;
}

static enum err apply_forked(struct fold *f, const struct fact *a)
{
    struct jv *list = NULL;
    f->copied = a->seq;
    f->carried_more |= a->more;
    f->tokens = f->cost = 0; /* that was paid where it was said */
    enum err e = a->data.ptr ? json_parse(&f->arena, a->data, &list, NULL) : OK;
    JV_EACH (x, e ? NULL : list)
        if ((e = carry(f, a, x->raw))) return e;
    return e;
}

/* A wrong code counts against every question that waits. */
static void apply_tried(struct run *r)
{
    for (size_t i = 0; r && i < r->call_count; i++)
        if (r->calls[i]->state == CALL_ASKED) r->calls[i]->tries++;
}

static void apply_stop(struct run *r, const struct fact *a)
{
    if (!r) return;
    if (str_is(a->stop, "calls")) r->leaving = true;
    else r->stopping = true;
}

static void apply_trimmed(struct fold *f, const struct fact *a)
{
    uint64_t from = (uint64_t)a->from;
    if (!f->trimmed || from < f->trimmed) f->trimmed = from;
}

static void note_branch(struct fold *f, const struct fact *a)
{
    struct run *old = a->kind == FACT_RETRY ? fold_run(f, a->of) : NULL;
    if (old) old->retried = true;
    f->returned += a->kind == FACT_MESSAGE && a->of.len > 0;
    f->branched |= a->kind == FACT_RETRY || a->replaces.len > 0 || f->returned > 0;
}

static enum err apply(struct fold *f, const struct fact *a)
{
    struct run *r = f->run;
    switch (a->kind) {
    case FACT_CREATED: return OK;
    case FACT_MESSAGE:
    case FACT_RETRY: note_branch(f, a); return begin_run(f, a);
    case FACT_ACTION: return apply_action(f, a);
    case FACT_STEP: add_usage(f, a); return r ? apply_step(f, r, a) : OK;
    case FACT_SUMMARY:
        add_usage(f, a);
        if (r) apply_summary(r, a);
        return OK;
    case FACT_RESUMED:
        if (r) apply_resumed(r, a);
        return OK;
    case FACT_STOP: apply_stop(r, a); return OK;
    case FACT_RESPONSE: return apply_response(f, a);
    case FACT_TRIED: apply_tried(r); return OK;
    case FACT_FORKED: return apply_forked(f, a);
    case FACT_BROUGHT:
    case FACT_FORGOTTEN: return OK;
    case FACT_LABELLED: f->labelled = a; return OK;
    case FACT_ENDED:
        if (r) {
            r->phase = RUN_ENDED;
            r->ended = a;
        }
        return OK;
    case FACT_ASKED:
    case FACT_DECIDED:
    case FACT_RESULT:
    case FACT_STARTED:
    case FACT_CLAIMED:
    case FACT_CONTINUED:
    case FACT_FINISHED:
    case FACT_TOLD:
    case FACT_SETTLED:
    case FACT_LATE:
    case FACT_CHECKED:
    case FACT_ESCALATED:
    case FACT_HANDED:
    case FACT_NAMED:
    case FACT_VOTED: return apply_call_fact(f, a);
    case FACT_PROPOSED: return apply_proposed(f, a);
    case FACT_REVOKED: return OK;
    case FACT_TRIMMED: apply_trimmed(f, a); return OK;
    case FACT_KIND_COUNT: break;
    }
    must(!"fact kind");
    return ERR_TYPE;
}

enum err fold_apply(struct fold *f, const struct stored_fact *in)
{
    must(in->seq == f->count + 1);
    struct fact *a = arena_new(&f->arena, struct fact);
    if (!a || !grow(&f->facts, f->count, &f->cap)) return ERR_NOMEM;
    a->seq = in->seq;
    a->at_ms = in->at_ms;
    enum err e = keep(f, in->kind, in->body, a);
    if (e) return e;
    f->facts[f->count++] = a;
    return apply(f, a);
}

enum err fold_add(struct fold *f, const struct fact *in)
{
    static struct buf body; /* loop thread only; kept, so that a fact costs one copy */
    buf_clear(&body);
    fact_write(&body, in);
    if (body.err) return ERR_NOMEM;
    return fold_apply(f, &(struct stored_fact){ in->seq, in->at_ms, str_c(fact_name(in->kind)),
                                                buf_view(&body) });
}

/* --- looking --------------------------------------------------------------------- */

/* Open for a person or a browser, not for us. */
static bool waits_outside(const struct call *c)
{
    return call_pending(c) || (c->state == CALL_STARTED && c->client);
}

bool run_asks(const struct run *r)
{
    for (size_t i = 0; i < r->call_count; i++)
        if (call_pending(r->calls[i])) return true;
    return false;
}

bool run_waiting(const struct run *r)
{
    bool any = false;
    if (!run_live(r) || r->phase != RUN_CALLS || r->stopping) return false;
    for (size_t i = 0; i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_FINISHED || call_lives_on(c)) continue;
        if (!waits_outside(c)) return false;
        any = true;
    }
    return any;
}

bool run_waited_at(const struct fold *f, const struct run *r, uint64_t seq)
{
    bool any = false;
    if (by(r->ended, seq)) return false;
    for (size_t i = r->calls_from; i < f->call_count && f->calls[i]->run == r; i++) {
        const struct call *c = f->calls[i];
        if (c->step_seq > seq || by(c->finished, seq)) continue;
        if (c->proposed && c->proposed->seq > seq) continue;
        if (c->replaced_by && by(c->decided, seq))
            continue; /* it is the other that waits, or not */
        /* else its result is there */
        bool offered = c->client && by(c->started, seq) && !by(c->early, c->started->seq);
        if (!offered && !call_open_at(c, seq)) return false;
        any = true;
    }
    return any;
}

const char *fold_state(const struct fold *f)
{
    if (!run_live(f->run)) return "idle";
    return run_waiting(f->run) ? "waiting" : "running";
}

const char *fold_kept_state(const struct fold *f)
{
    const struct run *r = f->run;
    for (size_t i = 0; run_live(r) && i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_STARTED && call_pending(c) && !call_at_rest(c)) return "running";
    }
    return fold_state(f);
}

/* --- deciding ---------------------------------------------------------------------- */

static struct next finish(struct call *c, enum word outcome, struct str text)
{
    return (struct next){ NEXT_FINISH, c, outcome, text };
}

static struct next stop_call(struct call *c, bool idempotent)
{
    if (c->state == CALL_STARTED && !c->client) {
        /* asked to stop; its outcome will come */
        if (c->job) return (struct next){ .kind = NEXT_NOTHING };
        if (idempotent && !call_takes(c))
            return finish(c, WORD_CANCELLED, STR("Stopped before it was through."));
        if (call_unbegun(c)) return finish(c, WORD_CANCELLED, STR("Stopped before it was run."));
        if (call_at_rest(c))
            return finish(
                c, WORD_UNKNOWN,
                STR("Stopped while it waited for an answer. It may or may not have happened."));
        return finish(c, WORD_UNKNOWN, STR("The server went away while this was running."));
    }
    if (c->state == CALL_STARTED && c->claimed)
        return finish(c, WORD_UNKNOWN,
                      STR("A browser had begun it when it was stopped. It may or may not have "
                          "happened."));
    return finish(c, WORD_CANCELLED, STR("Stopped before it was run."));
}

static struct next decide_call(struct call *c, bool (*idempotent)(void *, const struct call *),
                               void        *ctx)
{
    switch (c->state) {
    case CALL_PROPOSED:
        switch (c->gate) {
        case GATE_BAD: return finish(c, WORD_FAILED, c->problem);
        case GATE_REPLY: return finish(c, WORD_DONE, STR("Shown to the person."));
        case GATE_ASK: return (struct next){ .kind = NEXT_ASK, .call = c };
        case GATE_FREE:
        case GATE_CLIENT: return (struct next){ .kind = NEXT_START, .call = c };
        case GATE_UNJUDGED:
        case GATE_COUNT: break;
        }
        must(!"gate");
        break;
    case CALL_GRANTED: return (struct next){ .kind = NEXT_START, .call = c };
    /* whoever appends it says why */
    case CALL_REFUSED:
        if (call_lives_on(c) && c->replaced_by->state != CALL_FINISHED) break;
        return finish(c, c->decided->outcome, STR_NONE);
    case CALL_STARTED:
        if (c->job || c->client) break;
        if (call_at_rest(c))
            return (struct next){ .kind = c->answered ? NEXT_CONTINUE : NEXT_NOTHING, .call = c };
        if (idempotent(ctx, c)) return (struct next){ .kind = NEXT_RERUN, .call = c };
        return finish(
            c, WORD_UNKNOWN,
            STR("The server stopped while this was running. It may or may not have happened."));
    case CALL_ASKED:
    case CALL_FINISHED: break;
    }
    return (struct next){ .kind = NEXT_NOTHING };
}

struct next fold_decide(const struct fold *f, bool (*idempotent)(void *, const struct call *),
                        void              *ctx)
{
    const struct run *r = f->run;
    if (!run_live(r)) return (struct next){ .kind = NEXT_NOTHING };
    if (r->phase == RUN_THINKING)
        return r->stopping ? (struct next){ .kind = NEXT_END, .outcome = WORD_CANCELLED }
                           : (struct next){ .kind = NEXT_MODEL };

    /* What needs nobody's yes goes first; questions follow when the work is under way. */
    bool        open = false;
    struct next ask = { .kind = NEXT_NOTHING };
    for (size_t i = 0; i < r->call_count; i++) {
        struct call *c = r->calls[i];
        if (c->state == CALL_FINISHED) continue;
        open = true;
        struct next n =
            r->stopping ? stop_call(c, idempotent(ctx, c)) : decide_call(c, idempotent, ctx);
        if (n.kind == NEXT_ASK && ask.kind == NEXT_NOTHING) ask = n;
        else if (n.kind != NEXT_ASK && n.kind != NEXT_NOTHING) return n;
    }
    if (ask.kind == NEXT_ASK) return ask;
    if (open) return (struct next){ .kind = NEXT_NOTHING };
    if (r->stopping) return (struct next){ .kind = NEXT_END, .outcome = WORD_CANCELLED };
    if (r->no_more_calls || r->replied)
        return (struct next){ .kind = NEXT_END, .outcome = WORD_COMPLETE };
    if (r->leaving) return (struct next){ .kind = NEXT_END, .outcome = WORD_CANCELLED };
    return (struct next){ .kind = NEXT_MODEL };
}
