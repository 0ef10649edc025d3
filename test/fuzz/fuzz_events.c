/* fuzz_events.c -- no words can make an event of their own.
 *
 * The input is texts divided by bytes 0xff, put wherever people, models and tools may put words:
 * messages, answers, reasoning, inputs, tool names, intents, questions, results, errors,
 * suggestions. The log made of them is told in every dialect, to rooms of several sizes, and the
 * bytes are read as a browser reads an event stream (any of CR, LF and CRLF ends a line). Whatever
 * the words are:
 *   - each event the encoder began is one event there, and there are no others;
 *   - each is an id of ours and one line of JSON, or [DONE];
 *   - the words of a message that are UTF-8 arrive as they were.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialect/dialect.h"
#include "dialect/uimessages.h"
#include "run/engine.h"

static void require(bool ok)
{
    if (!ok) abort();
}

/* --- the log ---------------------------------------------------------------------------------- */

enum { TEXTS = 12 };

struct tale {
    struct thread thread;
    struct str    text[TEXTS];
    struct arena  arena;
};

static void add(struct tale *t, struct fact f)
{
    struct fold *fold = &t->thread.fold;
    f.seq = fold->count + 1;
    f.at_ms = (int64_t)f.seq;
    require(fold_add(fold, &f) == OK);
    t->thread.committed = fold->count;
}

/* JSON with the text in it, for what is kept as JSON. */
static struct str as_json(struct tale *t, const char *key, struct str text)
{
    struct jsonw w;
    struct buf   b;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    buf_lit(&b, "{\n\r\n\t");
    jw_kstr(&w, key, text);
    jw_key_str(&w, text.len && !str_is(text, key) ? text : STR("k")); /* and as a key */
    jw_arr(&w);
    jw_str(&w, text);
    jw_end_arr(&w);
    buf_lit(&b, "\n\n}");
    buf_lit(&b, "\r\n\n"); /* as people and some models write it */
    struct str s = arena_dup(&t->arena, buf_view(&b));
    buf_done(&b);
    return s;
}

static struct str none_if_empty(struct str s)
{
    return s.len ? s : STR("x");
}

static void tell_run(struct tale *t, unsigned how)
{
    struct str *x = t->text, input = as_json(t, "in", x[4]);
    struct part parts[] = {
        { .type = STEP_REASONING, .text = x[1], .complete = true },
        { .type = STEP_TEXT, .text = x[2], .complete = true },
        { .type = STEP_CALL,
          .call = STR("call-1"),
          .tool = none_if_empty(x[3]),
          .text = input,
          .gate = GATE_ASK,
          .complete = true,
          .intent = x[5] },
        { .type = STEP_CALL,
          .call = STR("call-2"),
          .tool = none_if_empty(x[3]),
          .text = how & 1 ? x[4] : input,
          .gate = GATE_FREE,
          .complete = true,
          .intent = x[5],
          .shown = true },
        { .type = STEP_CALL,
          .call = STR("call-3"),
          .tool = STR("where"),
          .text = STR("{}"),
          .gate = GATE_CLIENT,
          .client = true,
          .complete = true,
          .intent = x[5] },
        { .type = STEP_CALL,
          .call = STR("call-4"),
          .tool = x[3],
          .text = x[4],
          .gate = GATE_BAD,
          .problem = x[6],
          .complete = true },
    };
    struct part last[] = { { .type = STEP_TEXT, .text = x[10], .complete = true } };
    add(t, (struct fact){ .kind = FACT_MESSAGE,
                          .run = STR("run_1"),
                          .id = STR("m_1"),
                          .text = none_if_empty(x[0]) });
    add(t, (struct fact){ .kind = FACT_STEP,
                          .run = STR("run_1"),
                          .stop = STR("calls"),
                          .parts = parts,
                          .parts_count = 6 });
    add(t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-2"), .text = x[7] });
    add(t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-3"), .client = true });
    add(t,
        (struct fact){
            .kind = FACT_FINISHED, .call = STR("call-4"), .outcome = WORD_FAILED, .text = x[6] });
    add(t, (struct fact){ .kind = FACT_ASKED,
                          .call = STR("call-1"),
                          .id = STR("confirmation-call-1"),
                          .ask = x[7],
                          .risk = STR("high") });
    add(t, (struct fact){ .kind = FACT_FINISHED,
                          .call = STR("call-2"),
                          .outcome = how & 2 ? WORD_FAILED : WORD_DONE,
                          .text = x[8],
                          .value = how & 4 ? as_json(t, "out", x[8]) : STR_NONE,
                          .note = x[9] });
    add(t, (struct fact){
               .kind = FACT_FINISHED, .call = STR("call-3"), .outcome = WORD_DONE, .text = x[8] });
    add(t, (struct fact){ .kind = FACT_DECIDED,
                          .call = STR("call-1"),
                          .id = STR("confirmation-call-1"),
                          .outcome = how & 8 ? WORD_DENIED : WORD_APPROVED,
                          .reason = x[9],
                          .by = x[9] });
    if (how & 8)
        add(t, (struct fact){ .kind = FACT_FINISHED,
                              .call = STR("call-1"),
                              .outcome = WORD_DENIED,
                              .text = x[9] });
    else {
        add(t, (struct fact){ .kind = FACT_STARTED, .call = STR("call-1") });
        add(t,
            (struct fact){
                .kind = FACT_FINISHED, .call = STR("call-1"), .outcome = WORD_DONE, .text = x[8] });
    }
    add(t, (struct fact){ .kind = FACT_STEP,
                          .run = STR("run_1"),
                          .stop = STR("end"),
                          .parts = last,
                          .parts_count = 1 });
    add(t, (struct fact){ .kind = FACT_ENDED,
                          .run = STR("run_1"),
                          .outcome = how & 16 ? WORD_ERROR : WORD_COMPLETE,
                          .code = STR("model_error"),
                          .text = x[11],
                          .custom = as_json(t, "type", x[11]) });
}

static void tale_init(struct tale *t, struct str rest)
{
    *t = (struct tale){ 0 };
    arena_init(&t->arena, 0);
    fold_init(&t->thread.fold);
    t->thread.id = STR("t_1");
    t->thread.owner = STR("ann");
    t->thread.loaded = true;
    for (size_t i = 0; i < TEXTS; i++)
        if (!str_split(&rest, (char)0xff, &t->text[i])) t->text[i] = i ? t->text[i - 1] : STR("x");
}

static void tale_done(struct tale *t)
{
    fold_done(&t->thread.fold);
    arena_done(&t->arena);
}

/* --- reading as a browser does ---------------------------------------------------------------- */

struct heard {
    size_t     events;
    struct buf words;
};
/* for one event; kept, because making one costs more than all the rest */
static struct arena scratch;

static void hear(struct heard *h, struct str data)
{
    struct jv *v;
    h->events++;
    if (str_is(data, "[DONE]")) return;
    arena_reset(&scratch);
    require(utf8_valid(data) && json_parse(&scratch, data, &v, NULL) == OK &&
            v->type == JSON_OBJECT);
    const struct jv *delta = jv_get(jv_at(jv_get(v, "choices"), 0), "delta");
    struct str       type = jv_str_at(v, "type");
    if (str_is(type, "text_delta")) buf_str(&h->words, jv_str_at(v, "text"));
    else if (str_is(type, "text-delta") || str_is(type, "TEXT_MESSAGE_CONTENT"))
        buf_str(&h->words, jv_str_at(v, "delta"));
    else if (jv_true(jv_get(v, "partial")))
        buf_str(&h->words, jv_str_at(jv_at(jv_get(jv_get(v, "content"), "parts"), 0), "text"));
    else if (delta) buf_str(&h->words, jv_str_at(delta, "content"));
}

static bool is_place(struct str s)
{
    uint64_t a, b;
    return place_parse(s, &a, &b);
}

static void read_wire(struct heard *h, struct str wire)
{
    struct str data = STR_NONE;
    while (wire.len) {
        size_t n = 0;
        while (n < wire.len && wire.ptr[n] != '\r' && wire.ptr[n] != '\n') n++;
        /* we end lines with LF, and nothing else may */
        require(n < wire.len && wire.ptr[n] == '\n');
        struct str line = str_cut(wire, n);
        wire = str_from(wire, n + 1);
        if (str_starts(line, STR("id: "))) require(is_place(str_from(line, 4)));
        else if (str_starts(line, STR("data: "))) {
            require(!data.ptr);
            data = str_from(line, 6);
        } else {
            require(!line.len && data.ptr);
            hear(h, data);
            data = STR_NONE;
        }
    }
    require(!data.ptr);
}

/* --- telling ---------------------------------------------------------------------------------- */

static size_t begun;
static void   count_begin(struct encoder *e, bool with_id)
{
    begun++;
    if (with_id)
        buf_printf(e->out, "id: %llu.%llu\n", (unsigned long long)e->seq,
                   (unsigned long long)e->units);
    buf_lit(e->out, "data: ");
}
static void count_end(struct encoder *e)
{
    buf_lit(e->out, "\n\n");
}
static void count_raw(struct encoder *e, struct str text)
{
    count_begin(e, false);
    buf_str(e->out, text);
    count_end(e);
}
static const struct carrier COUNTED = { .begin = count_begin, .end = count_end, .raw = count_raw };

static void tell(struct tale *t, const struct dialect *d, const struct carrier *by,
                 struct stream_start s, size_t room, struct heard *h)
{
    struct buf     wire;
    struct encoder e;
    enum encoded   r = ENCODED_ITEM;
    buf_init(&wire, 0);
    begun = 0;
    encoder_start(&e, d, by, NULL, &t->thread, &s);
    for (int guard = 0; guard < 100000 && (r == ENCODED_ITEM || r == ENCODED_CUT); guard++)
        r = encode_into(&e, &t->thread, &wire, room);
    require(r == ENCODED_NOTHING || r == ENCODED_END);
    read_wire(h, buf_view(&wire));
    if (by == &COUNTED) require(h->events == begun);
    buf_done(&wire);
}

/* The words of the step, as far as a dialect leaves them alone. */
static bool plain(struct str s)
{
    return utf8_valid(s) && s.len && str_find(s, STR("[[")) < 0 && s.ptr[0] != '\n' &&
           s.ptr[s.len - 1] != '\n';
}

static void dialect(struct tale *t, const struct dialect *d, bool native, unsigned how)
{
    struct heard          h = { 0 };
    bool                  run = how & 1;
    static struct carrier small; /* takes any room */
    small = carrier_sse;
    small.need = 0;
    tell(t, d, how & 4 ? &COUNTED : &small,
         (struct stream_start){ .mode = run ? STREAM_RUN : STREAM_THREAD,
                                .run = run ? STR("run_1") : STR_NONE,
                                .reasoning = how & 2,
                                .quiet_gates = true,
                                .native = native },
         how & 2 ? 600 : 65536, &h);
    require(h.events > 0);
    if (!run && plain(t->text[2])) require(str_find(buf_view(&h.words), t->text[2]) >= 0);
    if (!run && plain(t->text[10])) require(str_find(buf_view(&h.words), t->text[10]) >= 0);
    buf_done(&h.words);
}

static void messages(struct tale *t)
{
    for (int form = 0; form < 2; form++) {
        struct jsonw w;
        struct buf   b;
        struct jv   *v;
        buf_init(&b, 0);
        jsonw_init(&w, &b);
        require(uimessages_write(&w, &t->thread, form ? FORM_ADK : FORM_NATIVE,
                                 &(struct uipage){ 0 }) == OK);
        require(json_parse(&t->arena, arena_dup(&t->arena, buf_view(&b)), &v, NULL) == OK);
        buf_done(&b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tale t;
    if (!size) return 0;
    /* long texts say nothing new, and each is told byte by byte to the small room */
    if (size > 800) size = 800;
    tale_init(&t, str_from(str_n((const char *)data, size), 1));
    tell_run(&t, data[0]);
    unsigned how = data[0] >> 5;
    dialect(&t, &dialect_typed, false, how);
    dialect(&t, &dialect_toolcalls, false, how);
    dialect(&t, &dialect_aisdk, false, how);
    dialect(&t, &dialect_aisdk, true, how);
    dialect(&t, &dialect_agui, true, how);
    dialect(&t, &dialect_adk, false, how);
    messages(&t);
    tale_done(&t);
    return 0;
}
