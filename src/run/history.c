/* history.c -- see history.h. */
#include "run/history.h"

#include "base/jsonw.h"
#include "base/map.h"
#include "base/utf8.h"
#include "run/declared.h"
#include "run/spend.h"

/* --- which facts count ------------------------------------------------------ */

struct branches {
    struct arena       *a;
    const struct fact **v; /* that count, so far */
    size_t              n;
    struct version     *versions; /* NULL: nobody asks for them */
    size_t              version_count;
    /* by fact, the one that stood before it when it came, and room for what counted at some time;
     * NULL: no earlier version is ever gone on with */
    size_t             *before;
    const struct fact **then;
    enum err            err;
};
#define NO_FACT SIZE_MAX

/* What stands from `at` on is hidden; `question` begins its version, unless it is the first of it
 * anyway. */
static void hide(struct branches *b, struct str of, const struct fact *question, size_t at)
{
    size_t n = b->n - at, lead = question && b->v[at] != question;
    b->n = at;
    if (!b->versions || !n) return;
    const struct fact **facts = arena_array(b->a, n + lead, sizeof *facts);
    if (!facts) {
        b->err = ERR_NOMEM;
        return;
    }
    if (lead) facts[0] = question;
    memcpy(facts + lead, b->v + at, n * sizeof *facts);
    b->versions[b->version_count++] = (struct version){ of, facts, n + lead };
}

static void edit(struct branches *b, const struct fact *message)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i]->kind == FACT_MESSAGE && str_eq(b->v[i]->id, message->replaces))
            hide(b, message->id, NULL, i);
    for (size_t i = 0; i < b->version_count; i++)
        if (str_eq(b->versions[i].of, message->replaces)) b->versions[i].of = message->id;
}

static bool begins_run(const struct fact *x)
{
    return x->kind == FACT_MESSAGE || x->kind == FACT_RETRY || x->kind == FACT_ACTION;
}

/* A retry keeps the fact that began the old run, and what that run did up to its last effect. */
static void retry(struct branches *b, const struct fact *again)
{
    const struct fact *question = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const struct fact *x = b->v[i];
        size_t             keep = i + 1;
        if (x->kind == FACT_MESSAGE) question = x;
        if (!begins_run(x) || !str_eq(x->run, again->of)) continue;
        while (keep < b->n && b->v[keep]->seq <= (uint64_t)again->keep) keep++;
        if (question && keep < b->n) hide(b, question->id, question, keep > i + 1 ? keep : i);
        b->n = keep;
        b->v[i] = x;
        return;
    }
}

/* The last fact before the run that came next: then this one was the newest. */
static size_t end_of(const struct fold *f, struct str run, size_t limit)
{
    bool seen = false;
    for (size_t i = 0; i < limit; i++) {
        const struct fact *x = f->facts[i];
        if (!begins_run(x)) continue;
        if (seen) return i - 1;
        seen = str_eq(x->run, run);
    }
    return seen ? limit - 1 : NO_FACT;
}

/* What counted when facts[last] was the newest of it. */
static size_t counted_then(struct branches *b, const struct fold *f, size_t last)
{
    size_t n = 0;
    for (size_t i = last; i != NO_FACT; i = b->before[i]) n++;
    for (size_t i = last, k = n; i != NO_FACT; i = b->before[i]) b->then[--k] = f->facts[i];
    return n;
}

static const struct fact *question_at(const struct fact *const *v, size_t n, size_t at)
{
    if (at < n && v[at]->kind == FACT_MESSAGE) return v[at];
    while (at-- > 0)
        if (v[at]->kind == FACT_MESSAGE) return v[at];
    return NULL;
}

/* What is shown again is no version any more. */
static void unhide(struct branches *b, const struct fact *const *then, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->version_count; i++) {
        const struct version *x = &b->versions[i];
        size_t                k = n;
        while (k-- > 0 && then[k] != x->facts[x->count - 1]) {}
        if (k == SIZE_MAX) b->versions[kept++] = *x;
    }
    b->version_count = kept;
}

/* `message` goes on from an earlier answer: that one's conversation counts, and what stands in its
 * place now is a version of it. */
static void go_back(struct branches *b, const struct fold *f, size_t i, const struct fact *message)
{
    const struct fact **then = b->then;
    size_t              last = end_of(f, message->of, i), n, same = 0;
    if (last == NO_FACT) return;
    n = counted_then(b, f, last);
    while (same < n && same < b->n && then[same] == b->v[same]) same++;
    const struct fact *now = question_at(b->v, b->n, same);
    const struct fact *again = same < n ? question_at(then, n, same) : message;
    if (now && again && same < b->n) {
        unhide(b, then, n);
        for (size_t k = 0; k < b->version_count; k++)
            if (same < n && str_eq(b->versions[k].of, now->id)) b->versions[k].of = again->id;
        hide(b, again->id, now, same);
    }
    memcpy(b->v, then, n * sizeof *then);
    b->n = n;
}

static size_t index_of(const struct fold *f, const struct fact *x, size_t limit)
{
    while (limit-- > 0)
        if (f->facts[limit] == x) return limit;
    return NO_FACT;
}

static enum err walk(struct branches *b, const struct fold *f)
{
    if (!(b->v = arena_array(b->a, f->count + 1, sizeof *b->v))) return ERR_NOMEM;
    if (f->returned && (!(b->before = arena_array(b->a, f->count + 1, sizeof *b->before)) ||
                        !(b->then = arena_array(b->a, f->count + 1, sizeof *b->then))))
        return ERR_NOMEM;
    for (size_t i = 0; i < f->count && !b->err; i++) {
        const struct fact *x = f->facts[i];
        if (x->kind == FACT_MESSAGE && x->of.len) go_back(b, f, i, x);
        if (x->kind == FACT_MESSAGE && x->replaces.len) edit(b, x);
        if (x->kind == FACT_RETRY && !x->from_end) retry(b, x);
        if (b->before) b->before[i] = b->n ? index_of(f, b->v[b->n - 1], i) : NO_FACT;
        b->v[b->n++] = x;
    }
    return b->err;
}

enum err history_visible(struct arena *a, const struct fold *f, const struct fact ***out,
                         size_t *count)
{
    struct branches b = { .a = a };
    enum err        e = walk(&b, f);
    *out = b.v;
    *count = b.n;
    return e;
}

enum err history_versions(struct arena *a, const struct fold *f, const struct version **out,
                          size_t *count)
{
    struct branches b = { .a = a, .versions = arena_array(a, f->count + 1, sizeof *b.versions) };
    enum err        e = b.versions ? walk(&b, f) : ERR_NOMEM;
    *out = b.versions;
    *count = b.version_count;
    return e;
}

/* --- messages ----------------------------------------------------------------- */

/* How carefully something is told; each includes those before it. A service answered a run with "I
 * do not take this", and which part of it was meant is not known: so what that run brought is told
 * more plainly from then on, and after several such runs in a row everything that came before. A
 * thread stays usable, whatever is in it. */
enum care {
    CARE_NONE,
    CARE_PLAIN, /* files by name only, results cut short, nothing opaque */
    CARE_WORDS, /* calls and results in words too */
};
#define PLAIN_TEXT_MAX 4000

struct build {
    struct arena               *a;
    const struct fold          *f;
    struct str                  provider;
    size_t                      text_max;
    const struct history_names *names;
    struct msg                 *msgs;
    size_t                      count;
    struct map                  refused; /* runs */
    enum care                  *cares;   /* by fact; NULL: nothing was ever refused */
    enum care                   care;    /* of the fact being told */
    struct effect              *effects; /* that the visible facts do not show */
    size_t                      effect_count;
    const struct fact          *summary; /* the one that is told; NULL: none */
    const struct jv            *open;    /* runs that it does not stand for */
    bool                        words;   /* everything in words: for a summary */
    const struct history_range *range;   /* of the one that is to be made */
    const struct jv            *left_open;
};

/* with which message it is told */
struct effect {
    const struct call *call;
    const struct fact *told;
};

static bool was_refused(const struct fact *x)
{
    return x->kind == FACT_ENDED && x->outcome == WORD_ERROR &&
           (str_is(x->code, "model_refused") || str_is(x->code, "model_context"));
}

/* The refused runs, and for every fact what those behind it ask for. Also refusals that a retry
 * hides count. */
static enum err read_refusals(struct build *b)
{
    unsigned row = 0;
    for (size_t i = 0; i < b->f->count; i++) {
        const struct fact *x = b->f->facts[i];
        if (x->kind == FACT_ENDED && x->outcome == WORD_COMPLETE) row = 0;
        if (!was_refused(x)) continue;
        if (!b->cares && !(b->cares = arena_array(b->a, b->f->count + 1, sizeof *b->cares)))
            return ERR_NOMEM;
        if (map_put(&b->refused, x->run, b)) return ERR_NOMEM;
        b->cares[i] = ++row > 2 ? CARE_WORDS : row > 1 ? CARE_PLAIN : CARE_NONE;
    }
    for (size_t i = b->f->count; b->cares && i-- > 0;)
        if (b->cares[i] < b->cares[i + 1]) b->cares[i] = b->cares[i + 1];
    return OK;
}

static enum care care_for(const struct build *b, const struct fact *x)
{
    if (!b->cares) return CARE_NONE;
    enum care c = b->cares[x->seq - 1];
    return c < CARE_PLAIN && map_get(&b->refused, x->run) ? CARE_PLAIN : c;
}

static struct msg *add_msg(struct build *b, enum msg_role role, size_t parts)
{
    struct msg *m = &b->msgs[b->count];
    *m = (struct msg){ .role = role, .words = b->words || b->care >= CARE_WORDS };
    m->parts = arena_array(b->a, parts ? parts : 1, sizeof *m->parts);
    return m->parts ? m : NULL;
}

static struct str capped(struct build *b, struct str s)
{
    bool   plain = b->words || b->care;
    size_t max = plain && b->text_max > PLAIN_TEXT_MAX ? PLAIN_TEXT_MAX : b->text_max;
    if (s.len <= max) return s;
    size_t keep = utf8_cut(s, max);
    return arena_printf(b->a, STR_FMT "\n[cut: %zu of %zu bytes shown]", STR_ARG(str_cut(s, keep)),
                        keep, s.len);
}

static struct str result_text(struct build *b, const struct call *c)
{
    if (!c->finished) return STR("Not decided; the user continued.");
    if (c->finished->outcome == WORD_UNKNOWN && c->settled)
        return capped(
            b, arena_printf(b->a,
                            "The outcome was unknown at first. %s: it %s.%s" STR_FMT "%s" STR_FMT,
                            str_is(c->settled->via, "check") ? "The tool's own check found out"
                                                             : "The person checked",
                            c->settled->outcome == WORD_DONE ? "did happen" : "did not happen",
                            c->settled->note.len ? " " : "", STR_ARG(c->settled->note),
                            c->settled->value.len ? " Result: " : "", STR_ARG(c->settled->value)));
    if (c->finished->outcome == WORD_UNKNOWN && c->late)
        return capped(b, arena_printf(b->a,
                                      "The outcome was unknown at first. The tool's own report "
                                      "came later (%s): " STR_FMT,
                                      word_name(c->late->outcome), STR_ARG(c->late->text)));
    return capped(b, c->finished->text);
}

static bool is_error(const struct call *c)
{
    if (!c->finished) return true;
    if (c->settled) return c->settled->outcome != WORD_DONE;
    return !call_succeeded(c);
}

/* Was it made by the provider that is asked now, and may it be shown as it came? */
static bool is_own(const struct build *b, const struct fact *step)
{
    return !b->care && !b->words && str_eq(step->provider, b->provider);
}

static struct str call_id(const struct build *b, const struct fact *step, const struct call *c)
{
    return c->provider_id.len && str_eq(step->provider, b->provider) ? c->provider_id : c->id;
}

static void add_file(struct build *b, struct msg *m, const struct jv *v)
{
    struct msg_part *p = &m->parts[m->count];
    struct str       url = jv_str_at(v, "url");
    *p = (struct msg_part){ .type = PART_FILE,
                            .name = jv_str_at(v, "filename"),
                            .media_type = jv_str_at(v, "mediaType"),
                            .url = url };
    ptrdiff_t comma = str_find(url, STR(";base64,"));
    if (str_starts(url, STR("data:")) && comma > 0) {
        if (!p->media_type.len) p->media_type = str_n(url.ptr + 5, (size_t)comma - 5);
        p->text = str_from(url, (size_t)comma + 8);
        p->url = STR_NONE;
    }
    if (b->care || b->words) p->text = p->url = STR_NONE; /* it is named, not sent */
    m->count++;
}

/* --- summaries -------------------------------------------------------------------------------- */

/* Facts are only ever hidden, so it is the same beginning when there are as many of them. */
static bool still_counts(const struct fact *s, const struct fact *const *v, size_t n)
{
    size_t count = 0;
    while (count < n && v[count]->seq <= (uint64_t)s->upto) count++;
    return count == (size_t)s->covers;
}

static enum err find_summary(struct build *b, const struct fact *const *v, size_t n)
{
    struct jv *open = NULL;
    for (size_t i = b->f->count; i-- > 0 && !b->summary;)
        if (b->f->facts[i]->kind == FACT_SUMMARY && still_counts(b->f->facts[i], v, n))
            b->summary = b->f->facts[i];
    if (b->summary && b->summary->data.len &&
        json_parse(b->a, b->summary->data, &open, NULL) == ERR_NOMEM)
        return ERR_NOMEM;
    b->open = open;
    return OK;
}

static bool is_covered(const struct build *b, const struct fact *x)
{
    return b->summary && x->seq <= (uint64_t)b->summary->upto && !jv_lists(b->open, x->run);
}

static void add_effects(struct build *b, struct msg *m, const struct fact *x);

static enum err add_summary(struct build *b)
{
    struct msg *m = b->summary ? add_msg(b, MSG_USER, 2) : NULL;
    if (!m) return b->summary ? ERR_NOMEM : OK;
    m->parts[m->count++] = (struct msg_part){
        .type = PART_TEXT,
        .text = arena_printf(b->a, "(The beginning of this conversation, summarised:)\n" STR_FMT,
                             STR_ARG(b->summary->text)),
    };
    add_effects(b, m, b->summary);
    b->count++;
    return OK;
}

static bool begins_turn(const struct fact *x)
{
    return x->kind == FACT_MESSAGE || x->kind == FACT_ACTION;
}

/* Nobody knows how it turned out, and somebody may still say. */
static bool is_unsettled(const struct call *c)
{
    return c->finished && c->finished->outcome == WORD_UNKNOWN && !c->settled && !c->late;
}

/* The runs up to `upto` of which something is open, as a JSON list. */
static struct str open_runs(struct arena *a, const struct fold *f, uint64_t upto)
{
    struct buf        b;
    struct jsonw      w;
    const struct run *last = NULL;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < f->call_count && f->calls[i]->step_seq <= upto; i++) {
        if (!is_unsettled(f->calls[i]) || f->calls[i]->run == last) continue;
        last = f->calls[i]->run;
        jw_str(&w, last->id);
    }
    jw_end_arr(&w);
    if (b.err) a->failed = true;
    struct str s = last ? arena_dup(a, buf_view(&b)) : STR_NONE;
    buf_done(&b);
    return s;
}

/* The place in v where the newest `keep` turns begin; 0: there are no more than these. */
static size_t newest_turns(const struct fact *const *v, size_t n, unsigned keep)
{
    for (size_t i = n; i-- > 0;)
        if (begins_turn(v[i]) && --keep == 0) return i;
    return 0;
}

/* What a fact adds to what is to be read. */
static size_t weight(const struct fact *x)
{
    return x->body.len > 2 * PLAIN_TEXT_MAX ? 2 * PLAIN_TEXT_MAX : x->body.len;
}

enum err history_range(struct arena *a, const struct fold *f, unsigned keep, size_t max,
                       struct history_range *out)
{
    struct build        b = { .a = a, .f = f };
    const struct fact **v;
    size_t              n, end = 0, bytes = 0;
    enum err            e = history_visible(a, f, &v, &n);
    *out = (struct history_range){ 0 };
    if (!e) e = find_summary(&b, v, n);
    if (e) return e;
    size_t limit = newest_turns(v, n, keep ? keep : 1), from = 0;
    while (b.summary && from < n && v[from]->seq <= (uint64_t)b.summary->upto) from++;
    for (size_t i = from; i < limit; i++) {
        bytes += weight(v[i]);
        if (i + 1 != limit && !begins_turn(v[i + 1])) continue;
        if (end && bytes > max) break;
        end = i + 1;
        out->bytes = bytes;
    }
    if (!end) return OK;
    out->from = v[0]->seq;
    out->upto = v[end - 1]->seq;
    out->covers = end;
    out->open = open_runs(a, f, out->upto);
    return a->failed ? ERR_NOMEM : OK;
}

/* The message that took its place: the first visible one after it; else the last, which is being
 * answered anew. */
static const struct fact *place_of(const struct call *c, const struct fact *const *v, size_t n)
{
    const struct fact *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (c->run && v[i]->seq == c->step_seq) return NULL; /* it is visible itself */
        if (v[i]->kind != FACT_MESSAGE) continue;
        if (!last || last->seq < c->step_seq) last = v[i];
    }
    return last;
}

static void read_effect(struct build *b, const struct call *c, const struct fact *const *v,
                        size_t n)
{
    if (!call_took_effect(c) || b->names->idempotent(b->names->ctx, c->tool)) return;
    const struct fact *told = place_of(c, v, n);
    if (told && is_covered(b, told)) told = b->summary;
    if (told) b->effects[b->effect_count++] = (struct effect){ c, told };
}

static enum err read_effects(struct build *b, const struct fact *const *v, size_t n)
{
    const struct fold *f = b->f;
    size_t             max = f->call_count + f->carried_count + 1;
    if (!f->branched && !f->carried_count) return OK;
    if (!(b->effects = arena_array(b->a, max, sizeof *b->effects))) return ERR_NOMEM;
    for (size_t i = 0; i < f->carried_count; i++) read_effect(b, f->carried[i], v, n);
    for (size_t i = 0; f->branched && i < f->call_count; i++) read_effect(b, f->calls[i], v, n);
    return OK;
}

#define EFFECT_TEXT_MAX 500

/* What a version that was replaced did stays done: without this the model would do it again. */
static void add_effects(struct build *b, struct msg *m, const struct fact *x)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < b->effect_count; i++) {
        const struct call *c = b->effects[i].call;
        if (b->effects[i].told != x) continue;
        if (!text.len)
            buf_lit(&text,
                    "(A version of this conversation that was replaced has already run these "
                    "tools. What they did stays done; do not do it again unless asked to:");
        struct str said = c->finished ? c->finished->text : STR("still running");
        buf_printf(&text, "\n" STR_FMT " " STR_FMT " -> %s: " STR_FMT, STR_ARG(c->tool),
                   STR_ARG(str_cut(c->input, utf8_cut(c->input, EFFECT_TEXT_MAX))),
                   c->finished ? word_name(c->finished->outcome) : "started",
                   STR_ARG(str_cut(said, utf8_cut(said, EFFECT_TEXT_MAX))));
    }
    if (text.len) {
        buf_chr(&text, ')');
        m->parts[m->count++] = (struct msg_part){ .type = PART_TEXT,
                                                  .text = arena_dup(b->a, buf_view(&text)),
                                                  .aside = true };
    }
    if (text.err) b->a->failed = true;
    buf_done(&text);
}

static enum err add_user(struct build *b, const struct fact *x)
{
    struct jv *files = NULL;
    if (x->files.ptr && json_parse(b->a, x->files, &files, NULL) != OK) files = NULL;
    struct str  context = declared_context(b->a, x->declared);
    struct msg *m = add_msg(b, MSG_USER, 4 + (files ? files->count : 0));
    if (!m) return ERR_NOMEM;
    JV_EACH (v, files) add_file(b, m, v);
    if (context.len)
        m->parts[m->count++] =
            (struct msg_part){ .type = PART_TEXT, .text = context, .aside = true };
    if (x->text.len || !m->count)
        m->parts[m->count++] = (struct msg_part){ .type = PART_TEXT, .text = x->text };
    add_effects(b, m, x);
    if (b->care)
        m->parts[m->count++] =
            (struct msg_part){ .type = PART_TEXT,
                               .text = STR("(This turn was refused as a whole; what of it was "
                                           "meant is not known. Its files are only named here.)") };
    b->count++;
    return OK;
}

static void add_call_part(struct build *b, struct msg *m, const struct fact *x,
                          const struct part *p)
{
    const struct call *c = fold_call(b->f, p->call);
    if (!c) return;
    m->parts[m->count++] = (struct msg_part){
        .type = PART_CALL,
        .id = call_id(b, x, c),
        .name = b->names->wire(b->names->ctx, c->tool),
        .input = jv_is(c->args, JSON_OBJECT) ? c->input : STR("{}"),
        .opaque = is_own(b, x) ? p->opaque : STR_NONE,
        .foreign = !is_own(b, x),
    };
}

static void add_part(struct build *b, struct msg *m, const struct fact *x, const struct part *p)
{
    bool own = is_own(b, x);
    switch (p->type) {
    case STEP_TEXT:
        if (p->text.len)
            m->parts[m->count++] = (struct msg_part){ .type = PART_TEXT,
                                                      .text = p->text,
                                                      .opaque = own ? p->opaque : STR_NONE };
        return;
    case STEP_REASONING:
        if (own)
            m->parts[m->count++] =
                (struct msg_part){ .type = PART_REASONING, .text = p->text, .opaque = p->opaque };
        return;
    case STEP_CALL: add_call_part(b, m, x, p); return;
    }
}

static enum err add_results(struct build *b, const struct fact *x)
{
    struct msg *m = add_msg(b, MSG_TOOLS, x->parts_count);
    if (!m) return ERR_NOMEM;
    for (size_t i = 0; i < x->parts_count; i++) {
        const struct call *c =
            x->parts[i].type == STEP_CALL ? fold_call(b->f, x->parts[i].call) : NULL;
        if (!c) continue;
        m->parts[m->count++] = (struct msg_part){
            .type = PART_RESULT,
            .id = call_id(b, x, c),
            .name = b->names->wire(b->names->ctx, c->tool),
            .text = result_text(b, c),
            .is_error = is_error(c),
        };
    }
    if (m->count) b->count++;
    return OK;
}

/* An answer that did not have the form it should have: what is wrong with it. */
static enum err add_repair(struct build *b, const struct fact *x)
{
    struct msg *m = add_msg(b, MSG_USER, 1);
    if (!m) return ERR_NOMEM;
    m->parts[m->count++] = (struct msg_part){
        .type = PART_TEXT,
        .text = arena_printf(b->a,
                             "(That answer does not fit the schema: " STR_FMT " Answer again, with "
                             "nothing but JSON that fits it.)",
                             STR_ARG(x->reason)),
    };
    b->count++;
    return OK;
}

/* A step cut by an error is not told; one that was stopped is, without its calls. */
static enum err add_step(struct build *b, const struct fact *x)
{
    if (str_is(x->stop, "error") || str_is(x->provider, SPEND_PROVIDER)) return OK;
    struct msg *m = add_msg(b, MSG_ASSISTANT, x->parts_count);
    if (!m) return ERR_NOMEM;
    for (size_t i = 0; i < x->parts_count; i++) add_part(b, m, x, &x->parts[i]);
    if (m->count) b->count++;
    return x->reason.len ? add_repair(b, x) : add_results(b, x);
}

/* What the person did by a button, in words, then the call it made. */
static enum err add_action(struct build *b, const struct fact *x)
{
    struct msg *m = add_msg(b, MSG_USER, 1);
    if (!m) return ERR_NOMEM;
    m->parts[m->count++] = (struct msg_part){
        .type = PART_TEXT,
        .text = arena_printf(b->a, "(The person pressed the button \"" STR_FMT "\".)",
                             STR_ARG(x->action)),
    };
    b->count++;
    return add_step(b, x);
}

/* What a client says was said before: words, and nothing that was done. */
static enum err add_brought(struct build *b, const struct fact *x)
{
    struct jv *list = NULL;
    if (json_parse(b->a, x->data, &list, NULL) != OK) return OK;
    JV_EACH (v, list) {
        bool        user = str_is(jv_str_at(v, "role"), "user");
        struct msg *m = add_msg(b, user ? MSG_USER : MSG_ASSISTANT, 1);
        if (!m) return ERR_NOMEM;
        m->parts[m->count++] = (struct msg_part){ .type = PART_TEXT, .text = jv_str_at(v, "text") };
        b->count++;
    }
    return OK;
}

static size_t brought_count(const struct fact *const *v, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; v[i]->kind == FACT_BROUGHT && k < v[i]->data.len; k++)
            count += v[i]->data.ptr[k] == '{';
    return count;
}

static enum err add_fact(struct build *b, const struct fact *x)
{
    b->care = care_for(b, x);
    if (x->kind == FACT_MESSAGE) return add_user(b, x);
    if (x->kind == FACT_ACTION) return add_action(b, x);
    if (x->kind == FACT_STEP) return add_step(b, x);
    if (x->kind == FACT_BROUGHT) return add_brought(b, x);
    return OK;
}

/* Messages of what counts, but for what `skip` says is not to be told. */
static enum err build(struct build *b, bool (*skip)(const struct build *b, const struct fact *x),
                      struct msg **out, size_t *count)
{
    const struct fact **v;
    size_t              n;
    enum err            e = history_visible(b->a, b->f, &v, &n);
    if (e) return e;
    if (!(b->msgs = arena_array(b->a, n * 4 + 3 + brought_count(v, n), sizeof *b->msgs)))
        return ERR_NOMEM;
    map_init(&b->refused);
    e = find_summary(b, v, n);
    if (!e && !b->words) e = read_refusals(b);
    if (!e) e = read_effects(b, v, n);
    if (!e) e = add_summary(b);
    for (size_t i = 0; i < n && !e; i++)
        if (!skip(b, v[i])) e = add_fact(b, v[i]);
    map_done(&b->refused);
    if (e || b->a->failed) return e ? e : ERR_NOMEM;
    *out = b->msgs;
    *count = b->count;
    return OK;
}

enum err history_build(struct arena *a, const struct fold *f, struct str provider, size_t text_max,
                       const struct history_names *names, struct msg **out, size_t *count)
{
    struct build b = { .a = a, .f = f, .provider = provider, .text_max = text_max, .names = names };
    return build(&b, is_covered, out, count);
}

/* Not of the range, or told as it is. */
static bool is_beside(const struct build *b, const struct fact *x)
{
    return is_covered(b, x) || x->seq > b->range->upto || jv_lists(b->left_open, x->run);
}

enum err history_part(struct arena *a, const struct fold *f, const struct history_range *r,
                      const struct history_names *names, struct msg **out, size_t *count)
{
    struct build b = {
        .a = a, .f = f, .text_max = PLAIN_TEXT_MAX, .names = names, .words = true, .range = r
    };
    struct jv *open = NULL;
    if (r->open.len && json_parse(a, r->open, &open, NULL) == ERR_NOMEM) return ERR_NOMEM;
    b.left_open = open;
    return build(&b, is_beside, out, count);
}
