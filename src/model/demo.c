/* demo.c -- the scripted model: decides what to say, then streams it.
 *
 *   start():  last user message + what happened since  ->  a list of parts (words and calls)
 *   play():   plays the parts, a word or a fragment at a time, through the loop
 *
 * It has no memory of its own: everything is decided from the request, so the
 * same request always gets the same answer, also after a crash. The words are
 * in demo/script.c; which rule answers what is found by demo/plan.c; outcomes
 * are told by demo/tell.c.
 *
 * A run owns itself: it is freed when its handle is closed, after done(),
 * failed() or cancel(). A sink may cancel from inside any of its functions.
 */
#include "model/model.h"

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "model/demo/functions.h"
#include "model/demo/plan.h"
#include "model/demo/tell.h"

#define PARTS_MAX      24
#define WORDS_PER_TURN 64    /* with token_ms 0: fast, but the loop keeps turning */
#define FRAGMENTS      4     /* pieces a call's input comes in, about */
#define COUNT_MAX      20000 /* words that "say N words" may ask for */

struct demo {
    struct model base;
    struct loop *loop;
    unsigned     token_ms;
};

struct script_piece {
    struct str id, name, text;
    bool       is_call;
};

struct model_run {
    union {
        struct loop_timer timer; /* token_ms > 0 */
        uv_idle_t         idle;  /* token_ms 0: once per turn, and the loop does not sleep */
    } pace; /* (a timer of 0 ms that rearms itself never lets libuv 1.44 leave its turn) */
    struct model_sink  *sink;
    struct arena        arena;
    unsigned            token_ms;
    struct script_piece parts[PARTS_MAX];
    size_t              count;
    size_t              at, offset; /* playing: which part, how much of it is told */
    bool                opened;     /* the call at `at` is announced */
    bool                fails, over;
    int64_t             tokens_in, tokens_out;
    size_t              step; /* length of the request, for ids */
};

/* --- what is said --------------------------------------------------------------- */

static bool offered(const struct model_request *q, const char *tool)
{
    for (size_t i = 0; i < q->tool_count; i++)
        if (str_is(q->tools[i].name, tool)) return !q->no_calls;
    return false;
}

static void add_text(struct model_run *r, struct str text)
{
    if (!text.len || r->count == PARTS_MAX) return;
    r->parts[r->count++] = (struct script_piece){ .text = arena_dup(&r->arena, text) };
}

static void add_named_call(struct model_run *r, struct str tool, struct str input)
{
    if (r->count == PARTS_MAX) return;
    struct script_piece *p = &r->parts[r->count++];
    *p =
        (struct script_piece){ .is_call = true, .name = tool, .text = arena_dup(&r->arena, input) };
    p->id = arena_printf(&r->arena, "demo-%zu-%zu", r->step, r->count);
}

static void add_call(struct model_run *r, const char *tool, struct str input)
{
    add_named_call(r, str_c(tool), input);
}

static void add_suggestions(struct model_run *r, const struct model_request *q,
                            const char *const *suggest)
{
    struct buf   b;
    struct jsonw w;
    if (!suggest[0] || !offered(q, "suggest_replies")) return;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_key(&w, "replies");
    jw_arr(&w);
    for (int i = 0; i < SUGGEST_MAX && suggest[i]; i++) {
        jw_obj(&w);
        jw_kstrz(&w, "label", suggest[i]);
        jw_kstrz(&w, "value", suggest[i]);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    jw_end_obj(&w);
    if (!b.err) add_call(r, "suggest_replies", buf_view(&b));
    buf_done(&b);
}

static void add_planned_call(struct model_run *r, const struct plan *p, size_t i, struct str item)
{
    struct buf input;
    buf_init(&input, 0);
    plan_input(&input, p, i, item);
    if (!input.err) add_call(r, p->steps[i].rule->tool, buf_view(&input));
    buf_done(&input);
}

static void add_calls(struct model_run *r, const struct plan *p, size_t i)
{
    struct str item = STR_NONE;
    size_t     at = 0;
    if (!p->steps[i].rule->each) {
        add_planned_call(r, p, i, item);
        return;
    }
    while (plan_each(p, i, &at, &item)) add_planned_call(r, p, i, item);
}

static void say_count(struct model_run *r, const struct plan *p, size_t i)
{
    const struct slot *s = match_slot(&p->steps[i].match, STR("amount"));
    struct buf         b;
    uint64_t           n = 0;
    buf_init(&b, 0);
    slot_number(&b, s);
    if (!str_to_u64(buf_view(&b), &n) || n > COUNT_MAX) n = COUNT_MAX;
    buf_clear(&b);
    for (uint64_t k = 1; k <= n; k++)
        buf_printf(&b, k == 1 ? "word%llu" : " word%llu", (unsigned long long)k);
    if (n == 0) buf_lit(&b, "...");
    if (!b.err) add_text(r, buf_view(&b));
    buf_done(&b);
}

static void say_schema(struct model_run *r, const struct model_request *q,
                       const struct demo_rule *rule)
{
    add_text(r, str_c(rule->say));
    if (offered(q, "present")) add_call(r, "present", str_c(DEMO_SCHEMA_SHOWN));
    if (offered(q, "suggest_actions")) add_call(r, "suggest_actions", str_c(DEMO_SCHEMA_ACTIONS));
}

static void say_not_offered(struct model_run *r, const struct demo_rule *rule)
{
    struct str s = arena_printf(
        &r->arena, "I would use the tool \"%s\" for that, but it is not offered to me here.",
        rule->tool);
    if (s.ptr) add_text(r, s);
}

/* The sentence before the calls, once for clauses of one rule: not "Let me prepare that payment."
 * twice. */
static void say_before(struct model_run *r, const struct plan *p)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < p->count; i++) {
        const struct demo_rule *rule = p->steps[i].rule;
        /* they say it themselves */
        bool                    own = rule->act == DEMO_SCHEMA || rule->act == DEMO_KEEP;
        if (own || !rule->say || (i && p->steps[i - 1].rule == rule)) continue;
        if (b.len) buf_lit(&b, rule->act == DEMO_SAY ? "\n\n" : " ");
        buf_lit(&b, rule->say);
    }
    if (!b.err) add_text(r, buf_view(&b));
    buf_done(&b);
}

static void act(struct model_run *r, const struct model_request *q, const struct plan *p, size_t i)
{
    const struct demo_rule *rule = p->steps[i].rule;
    switch (rule->act) {
    case DEMO_SAY: return;
    case DEMO_CALL:
        if (offered(q, rule->tool)) add_calls(r, p, i);
        else say_not_offered(r, rule);
        return;
    case DEMO_COUNT: say_count(r, p, i); return;
    case DEMO_SCHEMA: say_schema(r, q, rule); return;
    case DEMO_FAIL: r->fails = true; return;
    case DEMO_KEEP: say_not_offered(r, rule); return; /* else keep_going() */
    }
}

/* The first answer to a message. */
static void begin(struct model_run *r, const struct model_request *q, const struct plan *p)
{
    bool calls = false;
    say_before(r, p);
    for (size_t i = 0; i < p->count; i++) {
        act(r, q, p, i);
        calls |= p->steps[i].rule->act == DEMO_CALL;
    }
    if (!calls && !r->fails) add_suggestions(r, q, p->steps[p->count - 1].rule->suggest);
}

/* A function of the client's. */
static void call_function(struct model_run *r, const struct model_tool *f, struct str message)
{
    struct buf input;
    buf_init(&input, 0);
    functions_input(&input, f, message);
    if (!input.err) add_named_call(r, arena_dup(&r->arena, f->name), buf_view(&input));
    else r->arena.failed = true;
    buf_done(&input);
}

/* Another city in every step, until somebody says that it is enough. */
static void keep_going(struct model_run *r, const struct demo_rule *rule, size_t done)
{
    size_t n = 0;
    while (DEMO_CITIES[n]) n++;
    const char *city = DEMO_CITIES[done % n];
    struct str  words = arena_printf(&r->arena, "%s%s.", rule->say, city);
    struct str  input = arena_printf(&r->arena, "{\"city\":\"%s\"}", city);
    if (!words.ptr || !input.ptr) return;
    add_text(r, words);
    add_call(r, rule->tool, input);
}

/* The closing answer: words only, whatever was planned. */
static void close_turn(struct model_run *r, struct buf *told, size_t done)
{
    if (told->len) buf_lit(told, "\n\n");
    if (done == 0)
        buf_lit(
            told,
            "I am not to use tools in this step, so I leave it at words. Ask me again to go on.");
    else
        buf_printf(
            told,
            "That makes %zu tool call%s, and a turn ends here: it may only take so many steps. "
            "Nothing is lost; say the word and I go on.",
            done, done == 1 ? "" : "s");
    if (!told->err) add_text(r, buf_view(told));
}

/* Outcomes are there: tell them, and say what could come next. */
static void conclude(struct model_run *r, const struct model_request *q, const struct buf *told,
                     const struct demo_outcome *last)
{
    if (!told->err) add_text(r, buf_view(told));
    add_suggestions(r, q, last->suggest);
}

/* --- deciding ---------------------------------------------------------------------- */

static size_t last_user(const struct model_request *q)
{
    size_t i = q->msg_count;
    while (i > 0 && q->msgs[i - 1].role != MSG_USER) i--;
    return i; /* one past it; 0: there is none */
}

static struct str text_of(struct arena *a, const struct msg *m)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < m->count; i++) {
        if (m->parts[i].type != PART_TEXT || m->parts[i].aside) continue;
        if (b.len) buf_chr(&b, '\n');
        buf_str(&b, m->parts[i].text);
    }
    struct str text = b.err ? STR("") : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return text;
}

/* Only reply tools have answered since: their errors are nothing to talk about for long. */
static bool anything_since(const struct model_request *q, size_t from)
{
    for (size_t i = from; i < q->msg_count; i++)
        if (q->msgs[i].role == MSG_TOOLS) return true;
    return false;
}

static void decide(struct model_run *r, const struct model_request *q, struct plan *p)
{
    const struct demo_outcome *last = NULL;
    struct buf                 told;
    size_t                     from = last_user(q);
    struct str message = from ? text_of(&r->arena, &q->msgs[from - 1]) : STR("hello");
    plan_make(p, message);
    buf_init(&told, 0);
    size_t                   done = tell_outcomes(&told, q, from, &last);
    const struct demo_rule  *rule = p->steps[0].rule;
    bool                     wants_calls = rule->act == DEMO_CALL || rule->act == DEMO_KEEP;
    const struct model_tool *own = done ? NULL : functions_pick(q, message);
    if (q->no_calls && (wants_calls || done)) close_turn(r, &told, done);
    else if (own && !anything_since(q, from)) call_function(r, own, message);
    else if (rule->act == DEMO_KEEP && offered(q, rule->tool)) keep_going(r, rule, done);
    else if (done) conclude(r, q, &told, last);
    else if (anything_since(q, from))
        add_text(r, STR("That is all for now. Ask me anything else."));
    else begin(r, q, p);
    buf_done(&told);
}

/* --- counting ------------------------------------------------------------------------- */

/* Of ASCII, which tools' schemas are and most of what is said: where words begin, many bytes at a
 * time. False: it is not ASCII. */
static bool count_words(struct str s, int64_t *n)
{
    unsigned      begins = s.len && s.ptr[0] > ' ';
    unsigned char all = s.len ? (unsigned char)s.ptr[0] : 0;
    for (size_t i = 1; i < s.len; i++) {
        all |= (unsigned char)s.ptr[i];
        begins += (s.ptr[i] > ' ') & (s.ptr[i - 1] <= ' ');
    }
    *n = begins;
    return all < 0x80;
}

/* About one token per word, and one per East Asian character. */
static int64_t count_tokens(struct str s)
{
    int64_t n;
    bool    in_word = false;
    if (count_words(s, &n)) return n;
    n = 0;
    for (size_t at = 0; at < s.len;) {
        uint32_t cp = (unsigned char)s.ptr[at];
        at += cp < 0x80 ? 1 : utf8_decode(str_from(s, at), &cp);
        bool asian = cp >= 0x2e80, blank = cp <= ' ';
        if (asian || (!blank && !in_word)) n++;
        in_word = !blank && !asian;
    }
    return n;
}

static void count_usage(struct model_run *r, const struct model_request *q)
{
    r->tokens_in = count_tokens(q->system);
    for (size_t i = 0; i < q->msg_count; i++)
        for (size_t k = 0; k < q->msgs[i].count; k++) {
            const struct msg_part *p = &q->msgs[i].parts[k];
            if (p->type != PART_FILE)
                r->tokens_in += count_tokens(p->text) + count_tokens(p->input);
        }
    for (size_t i = 0; i < q->tool_count; i++)
        r->tokens_in += count_tokens(q->tools[i].description) + count_tokens(q->tools[i].schema);
    for (size_t i = 0; i < r->count; i++) r->tokens_out += count_tokens(r->parts[i].text);
}

/* --- playing ---------------------------------------------------------------------------- */

static void run_free(struct model_run *r)
{
    arena_done(&r->arena);
    mem_free(r);
}

static void timer_closed(struct loop_timer *t)
{
    run_free(LIST_ITEM(t, struct model_run, pace.timer));
}
static void idle_closed(uv_handle_t *h)
{
    run_free(h->data);
}

static void leave(struct model_run *r)
{
    r->over = true;
    if (r->token_ms) loop_timer_close(&r->pace.timer, timer_closed);
    else uv_close((uv_handle_t *)&r->pace.idle, idle_closed);
}

static void finish(struct model_run *r)
{
    struct model_error broken = { "model_error",
                                  STR("The model broke off in the middle of its answer. This "
                                      "failure was simulated because you asked for one; "
                                      "trying again may help with real ones."),
                                  true };
    bool               calls = false;
    for (size_t i = 0; i < r->count; i++) calls |= r->parts[i].is_call;
    r->sink->usage(r->sink, r->tokens_in, r->tokens_out);
    if (r->over) return;
    leave(r);
    if (r->fails) r->sink->failed(r->sink, &broken);
    else r->sink->done(r->sink, calls ? STOP_CALLS : STOP_END);
}

/* A word with the blanks behind it; East Asian text goes three characters at a time. */
static size_t word_len(struct str s)
{
    size_t at = 0;
    int    asian = 0;
    bool   blank = false;
    while (at < s.len) {
        uint32_t cp;
        unsigned n = utf8_decode(str_from(s, at), &cp);
        if (blank && cp > ' ') break;
        if (cp >= 0x2e80 && asian++ == 3) break;
        blank = cp <= ' ';
        at += n;
    }
    return at;
}

static void next_part(struct model_run *r)
{
    r->at++;
    r->offset = 0;
    r->opened = false;
}

static void play_text(struct model_run *r, const struct script_piece *p)
{
    struct str rest = str_from(p->text, r->offset), word = str_cut(rest, word_len(rest));
    r->offset += word.len;
    if (r->offset >= p->text.len) next_part(r);
    r->sink->text(r->sink, word);
}

static void play_call(struct model_run *r, const struct script_piece *p)
{
    if (!r->opened) {
        r->opened = true;
        r->sink->call(r->sink, p->id, p->name);
        return;
    }
    struct str rest = str_from(p->text, r->offset);
    if (!rest.len) {
        next_part(r);
        r->sink->call_end(r->sink);
        return;
    }
    size_t     size = p->text.len / FRAGMENTS + 1;
    struct str piece =
        str_cut(rest, size >= rest.len ? rest.len : utf8_cut(rest, size < 4 ? 4 : size));
    r->offset += piece.len;
    r->sink->input(r->sink, piece);
}

static void play(struct model_run *r, int pieces)
{
    for (; pieces > 0 && !r->over; pieces--) {
        if (r->at == r->count) {
            finish(r);
            return;
        }
        const struct script_piece *p = &r->parts[r->at];
        if (p->is_call) play_call(r, p);
        else play_text(r, p);
    }
}

static void tick(struct loop_timer *t)
{
    struct model_run *r = LIST_ITEM(t, struct model_run, pace.timer);
    play(r, 1);
    if (!r->over) loop_timer_set(&r->pace.timer, r->token_ms);
}

static void turn(uv_idle_t *h)
{
    play(h->data, WORDS_PER_TURN);
}

static void set_pace(struct model_run *r, struct loop *l)
{
    if (r->token_ms) {
        loop_timer_init(l, &r->pace.timer, tick);
        loop_timer_set(&r->pace.timer, r->token_ms);
        return;
    }
    must(uv_idle_init(&l->uv, &r->pace.idle) == 0);
    r->pace.idle.data = r;
    must(uv_idle_start(&r->pace.idle, turn) == 0);
}

/* --- the model --------------------------------------------------------------------------- */

static struct model_run *demo_start(struct model *m, const struct model_request *q,
                                    struct model_sink *sink)
{
    struct demo      *d = LIST_ITEM(m, struct demo, base);
    struct plan      *p = mem_alloc(sizeof *p);
    struct model_run *r = mem_alloc(sizeof *r);
    if (!p || !r) goto undo;
    r->sink = sink;
    r->token_ms = d->token_ms;
    r->step = q->msg_count;
    arena_init(&r->arena, 0);
    decide(r, q, p);
    count_usage(r, q);
    if (r->arena.failed || !r->count) goto undo_arena;
    mem_free(p);
    set_pace(r, d->loop);
    return r;
undo_arena:
    arena_done(&r->arena);
undo:
    mem_free(p);
    mem_free(r);
    return NULL;
}

static void demo_cancel(struct model_run *r)
{
    if (!r->over) leave(r);
}

static void demo_free(struct model *m)
{
    mem_free(LIST_ITEM(m, struct demo, base));
}

struct model *model_demo_new(struct loop *l, unsigned token_ms)
{
    static const struct model_ops ops = { demo_start, demo_cancel, demo_free };
    struct demo                  *d = mem_alloc(sizeof *d);
    if (!d) return NULL;
    d->loop = l;
    d->token_ms = token_ms;
    d->base = (struct model){ &ops, STR("demo"), STR("demo"), STR("demo-script-1"),
                              .how = STR("[{\"name\":\"demo\",\"provider\":\"demo\"}]") };
    return &d->base;
}
