/* test_aisdk_runs.c -- thousands of made-up runs as AI SDK streams, held against a strict reader;
 * and their places, which mean the same in every view. */
#include "aisdk_help.h"

/* --- made-up runs ----------------------------------------------------------------------------- */

static uint32_t dice_state;
static unsigned dice(unsigned sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

struct world {
    struct tale t;
    char        run[16];
    unsigned    runs, calls, steps;
    char        ids[256][16];
};

/* By the call itself: its id points into a body and has no NUL. */
static void asks(struct world *w, const struct call *c)
{
    char id[64];
    snprintf(id, sizeof id, "confirmation-" STR_FMT, STR_ARG(c->id));
    tale_fact(&w->t, (struct fact){ .kind = FACT_ASKED,
                                    .call = c->id,
                                    .id = str_c(id),
                                    .ask = STR("May I?"),
                                    .risk = STR("high") });
}
/* In the middle of its work, as often as it likes. */
static void asks_more(struct world *w, const struct call *c)
{
    char id[64];
    snprintf(id, sizeof id, "confirmation-" STR_FMT "-%u", STR_ARG(c->id), c->gates + 1);
    tale_fact(&w->t, (struct fact){ .kind = FACT_ASKED,
                                    .call = c->id,
                                    .id = str_c(id),
                                    .ask = STR("Which one?"),
                                    .schema = STR("{\"type\":\"object\"}") });
}
static void decides(struct world *w, const struct call *c, enum word verdict)
{
    tale_fact(&w->t, (struct fact){ .kind = FACT_DECIDED,
                                    .call = c->id,
                                    .id = call_gate(c)->id,
                                    .outcome = verdict });
}
static void finishes(struct world *w, const struct call *c, enum word outcome)
{
    tale_fact(&w->t, (struct fact){ .kind = FACT_FINISHED,
                                    .call = c->id,
                                    .outcome = outcome,
                                    .text = STR("what came of it") });
}

static bool never(void *ctx, const struct call *c)
{
    (void)ctx;
    (void)c;
    return false;
}

static struct part a_part(struct world *w)
{
    static const enum gate GATES[] = { GATE_FREE,   GATE_ASK,   GATE_ASK,
                                       GATE_CLIENT, GATE_REPLY, GATE_BAD };
    if (dice(3) == 0) return words("Some words.");
    if (dice(6) == 0) return thought(dice(2) ? "Hm." : "");
    char *id = w->ids[w->calls];
    snprintf(id, sizeof w->ids[0], "call-%u", w->calls++);
    enum gate   g = GATES[dice(6)];
    struct part p = call(id, g == GATE_REPLY ? "suggest_replies" : "tool", "{}", g);
    if (g == GATE_ASK) p.client = dice(3) == 0;
    if (g == GATE_FREE || g == GATE_CLIENT) p.shown = dice(2);
    return p;
}

static void model_speaks(struct world *w)
{
    struct part parts[4];
    size_t      n = 0, calls = 0, want = w->steps++ > 3 ? 0 : 1 + dice(4);
    for (size_t i = 0; i < want; i++) {
        parts[n] = a_part(w);
        calls += parts[n++].type == STEP_CALL;
    }
    if (!n) parts[n++] = words("The end.");
    tale_fact(&w->t, (struct fact){ .kind = FACT_STEP,
                                    .run = str_c(w->run),
                                    .stop = str_c(calls ? "calls" : "end"),
                                    .provider = STR("demo"),
                                    .parts = parts,
                                    .parts_count = n });
}

static void a_message(struct world *w)
{
    snprintf(w->run, sizeof w->run, "run_%u", ++w->runs);
    w->steps = 0;
    tale_message(&w->t, w->run, "hello");
}

static void withdraw(struct world *w)
{
    struct run *r = tale_fold(&w->t)->run;
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state == CALL_ASKED) decides(w, r->calls[i], WORD_CANCELLED);
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state != CALL_FINISHED) finishes(w, r->calls[i], WORD_CANCELLED);
    tale_fact(&w->t, (struct fact){ .kind = FACT_ENDED,
                                    .run = str_c(w->run),
                                    .outcome = WORD_CANCELLED,
                                    .code = STR("superseded") });
}

static void stop(struct world *w)
{
    struct run *r = tale_fold(&w->t)->run;
    tale_fact(&w->t, (struct fact){ .kind = FACT_STOP, .run = str_c(w->run) });
    for (size_t i = 0; i < r->call_count; i++)
        if (r->calls[i]->state == CALL_ASKED) decides(w, r->calls[i], WORD_CANCELLED);
}

/* Something from outside: an answer, a result, an outcome, a person who has enough. */
static void happens(struct world *w)
{
    static const enum word OUTCOMES[] = { WORD_DONE, WORD_DONE, WORD_FAILED, WORD_UNKNOWN };
    static const enum word VERDICTS[] = { WORD_APPROVED, WORD_APPROVED, WORD_DENIED, WORD_EXPIRED };
    struct run            *r = tale_fold(&w->t)->run;
    unsigned               luck = dice(12);
    if (luck == 0 && run_waiting(r)) {
        withdraw(w);
        a_message(w);
        return;
    }
    if (luck == 1 && !r->stopping) {
        stop(w);
        return;
    }
    struct call *c = NULL;
    for (size_t i = 0, from = dice((unsigned)r->call_count); i < r->call_count && !c; i++) {
        struct call *x = r->calls[(from + i) % r->call_count];
        if (x->state == CALL_ASKED || x->state == CALL_STARTED) c = x;
    }
    if (!c) return;
    if (c->state == CALL_ASKED && c->client && !c->early && dice(3) == 0)
        tale_fact(&w->t, (struct fact){ .kind = FACT_RESULT,
                                        .call = c->id,
                                        .outcome = WORD_DONE,
                                        .value = STR("1") });
    else if (c->state == CALL_ASKED) decides(w, c, VERDICTS[dice(4)]);
    else if (!c->client && dice(3)) {
        if (call_gate(c)) decides(w, c, VERDICTS[dice(4)]);
        else asks_more(w, c);
    } else finishes(w, c, c->client ? WORD_DONE : OUTCOMES[dice(4)]);
}

static void start(struct world *w, struct call *c)
{
    tale_fact(&w->t, (struct fact){ .kind = FACT_STARTED, .call = c->id, .client = c->client });
    if (!c->client) c->job = w;
    else if (c->early) finishes(w, c, WORD_DONE);
}

/* The next thing that a server would append, or that happens to it. False: there is nothing
 * more. */
static bool goes_on(struct world *w)
{
    const struct fold *f = tale_fold(&w->t);
    struct next        n = fold_decide(f, never, NULL);
    switch (n.kind) {
    case NEXT_NOTHING:
        if (!run_live(f->run)) {
            if (w->runs > 2) return false;
            a_message(w);
        } else happens(w);
        return true;
    case NEXT_MODEL:
        if (dice(15) == 0)
            tale_fact(&w->t, (struct fact){ .kind = FACT_ENDED,
                                            .run = str_c(w->run),
                                            .outcome = WORD_ERROR,
                                            .text = STR("It broke.") });
        else model_speaks(w);
        return true;
    case NEXT_ASK: asks(w, n.call); return true;
    case NEXT_START: start(w, n.call); return true;
    case NEXT_FINISH: finishes(w, n.call, n.outcome); return true;
    case NEXT_END: tale_ended(&w->t, w->run, n.outcome); return true;
    case NEXT_CONTINUE:
    case NEXT_RERUN: break;
    }
    must(!"next");
    return false;
}

/* One browser that follows a run over POST: a stream, its end at a gate, and a new one with the
 * answer. */
struct browser {
    struct encoder   e;
    struct ai_reader r;
    bool             streaming, native;
    char             run[16];
};

static void check_reader(struct ai_reader *r, const char *who, uint32_t seed)
{
    if (!r->trouble[0]) return;
    char why[400];
    snprintf(why, sizeof why, "%s, seed %u: %.300s", who, seed, r->trouble);
    test_failed(__FILE__, __LINE__, why);
    longjmp(test_leave, 1);
}

static void stream_ended(struct browser *b, uint32_t seed)
{
    /* superseded: nothing more is said */
    bool withdrawn = !b->r.finished && !b->r.aborted && !b->r.failed;
    b->streaming = false;
    if (!withdrawn) ai_reader_end(&b->r);
    check_reader(&b->r, "stream", seed);
    if (!withdrawn && ai_reader_would_send(&b->r)) {
        char why[400];
        snprintf(why, sizeof why, "seed %u: the client would send for ever after: %.300s", seed,
                 b->r.types.ptr);
        test_failed(__FILE__, __LINE__, why);
        longjmp(test_leave, 1);
    }
}

static void browse(struct browser *b, struct world *w, uint64_t first_new, uint32_t seed)
{
    const struct run *r = tale_fold(&w->t)->run;
    struct buf        wire = { 0 };
    if (!b->streaming) {
        bool     same = str_is(r->id, b->run);
        uint64_t told = b->e.seq;
        if (!same && r->first->seq < first_new) return;
        if (same && run_waiting(r)) return;
        snprintf(b->run, sizeof b->run, "%s", w->run);
        struct stream_start s = aisdk_view(b->native, STREAM_RUN, b->run);
        s.continuation = true;
        b->e = aisdk_begin(&w->t, s, same ? told : r->first->seq - 1);
        ai_reader_stream(&b->r, same);
        b->streaming = true;
    }
    enum encoded end = aisdk_pull_all(&b->e, &w->t, &wire);
    ai_reader_take(&b->r, buf_view(&wire));
    buf_done(&wire);
    check_reader(&b->r, b->native ? "native" : "adk", seed);
    if (end == ENCODED_END) stream_ended(b, seed);
}

static void live_through(uint32_t seed)
{
    struct world   w = { 0 };
    struct browser b[2] = { { .native = true }, { .native = false } };
    dice_state = seed * 2654435761u;
    tale_init(&w.t);
    a_message(&w);
    for (int guard = 0; guard < 300; guard++) {
        uint64_t first_new = tale_fold(&w.t)->count + 1;
        bool     more = goes_on(&w);
        while (more && dice(3) == 0) more = goes_on(&w); /* several facts in one commit */
        for (int i = 0; i < 2; i++) browse(&b[i], &w, guard ? first_new : 1, seed);
        if (!more) break;
    }
    ai_reader_done(&b[0].r);
    ai_reader_done(&b[1].r);
    tale_done(&w.t);
}

TEST(thousands_of_made_up_runs_give_only_streams_that_a_client_can_read_and_never_make_it_loop)
{
    for (uint32_t seed = 1; seed <= 1000; seed++) live_through(seed);
}

/* --- places ----------------------------------------------------------------------------------- */

static void note_begin(struct encoder *e, bool with_id)
{
    (void)with_id;
    buf_printf(e->out, "@%llu.%llu ", (unsigned long long)e->seq, (unsigned long long)e->units);
}
static void note_end(struct encoder *e)
{
    buf_chr(e->out, '\n');
}
static void note_raw(struct encoder *e, struct str text)
{
    (void)e;
    (void)text;
}
static const struct carrier NOTES = { .begin = note_begin, .end = note_end, .raw = note_raw };

static void notes(struct buf *out, struct world *w, bool native, bool quiet, uint64_t seq,
                  uint64_t units)
{
    struct encoder      e;
    struct stream_start s = aisdk_view(native, STREAM_THREAD, NULL);
    s.quiet_gates = quiet;
    s.seq = seq;
    s.units = units;
    encoder_start(&e, &dialect_aisdk, &NOTES, NULL, &w->t.thread, &s);
    aisdk_pull_all(&e, &w->t, out);
}

/* Takes up at every place of the notes; the rest must be the rest. A step that is opened in the
 * middle of a model's step may be opened twice: too much, not too little. */
static void resumes(struct world *w, bool native, struct str all, uint32_t seed)
{
    struct str rest = all, line;
    while (str_split(&rest, '\n', &line)) {
        uint64_t   seq, units;
        struct buf again = { 0 };
        struct str place = str_from(line, 1);
        if (!line.len || str_find(line, STR("\"preliminary\"")) >= 0) continue;
        REQUIRE(place_parse(str_cut(place, (size_t)str_find(place, STR(" "))), &seq, &units));
        notes(&again, w, native, false, seq, units);
        struct str got = buf_view(&again);
        if (str_starts(got, line) && str_find(line, STR("\"start-step\"")) >= 0)
            got = str_from(got, line.len + 1);
        if (!str_eq(got, rest.ptr ? rest : STR(""))) {
            char why[200];
            snprintf(why, sizeof why, "seed %u, %s: the rest after " STR_FMT, seed,
                     native ? "native" : "adk", STR_ARG(str_cut(line, 100)));
            test_failed(__FILE__, __LINE__, why);
            buf_done(&again);
            longjmp(test_leave, 1);
        }
        buf_done(&again);
    }
}

/* What a quiet view shows has the same places as the whole: it is the whole with lines left out
 * (and steps opened later). */
static void is_part_of(struct str some, struct str all, uint32_t seed)
{
    struct str line;
    while (str_split(&some, '\n', &line)) {
        if (!line.len || str_find(line, STR("\"start-step\"")) >= 0) continue;
        ptrdiff_t space = str_find(line, STR(" "));
        if (str_find(all, str_cut(line, (size_t)space + 1)) >= 0) continue;
        char why[160];
        snprintf(why, sizeof why, "seed %u: a place of its own: " STR_FMT, seed,
                 STR_ARG(str_cut(line, 100)));
        test_failed(__FILE__, __LINE__, why);
        longjmp(test_leave, 1);
    }
}

TEST(every_place_of_made_up_runs_can_be_taken_up_again_and_means_the_same_in_every_view)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct world w = { 0 };
        dice_state = seed * 2654435761u;
        tale_init(&w.t);
        a_message(&w);
        for (int guard = 0; guard < 300 && goes_on(&w); guard++) {}
        for (int form = 0; form < 2; form++) {
            struct buf all = { 0 }, quiet = { 0 };
            notes(&all, &w, form, false, 0, 0);
            notes(&quiet, &w, form, true, 0, 0);
            resumes(&w, form, buf_view(&all), seed);
            is_part_of(buf_view(&quiet), buf_view(&all), seed);
            buf_done(&all);
            buf_done(&quiet);
        }
        tale_done(&w.t);
    }
}
