/* responses.c -- the events of OpenAI's Responses, for one response: created, in_progress, its
 * items as they come, and how it ended. Every event and its members: docs/doors.md. Only types that
 * stock clients know.
 *
 * sequence_number is a place, not a count: bytes of words, and one for each other event. So deltas
 * that were merged leave every number meaning the same byte, live, in a replay and after a restart.
 * Resuming after a number is telling the response from its beginning and dropping what the client
 * has (`after`), down to the byte.
 *
 * Items of calls come from facts, so what is fetched later has the same ones at the same indices
 * (responseitems.c walks the same way). Words that were lost in a crash leave a gap in the numbers
 * that is wider than any step, and the response is told as the log has it.
 */
#include "base/id.h"
#include "base/utf8.h"
#include "dialect/dialect.h"
#include "dialect/responseitems.h"

#define LOST (UINT64_C(1) << 32) /* longer than what a model says in one step */

struct rs {
    uint64_t base;  /* number = base + units */
    uint64_t after; /* the client has the events with lower numbers */
    unsigned index; /* of the next item */
    char     id[ID_LEN];
    bool     begun;      /* the response's fact was passed */
    bool     summary;    /* reasoning was asked for */
    bool     words;      /* questions are told in words */
    bool     items;      /* and as items */
    bool     extension;  /* of our own kind */
    bool     thinking;   /* the reasoning part at the place was added: it has words */
    bool     restarting; /* the stream ends, the response does not */
    bool     inside;     /* `after` lies inside a character */
};

static struct rs *rs(const struct encoder *e)
{
    _Static_assert(sizeof(struct rs) <= DIALECT_MEMORY, "the memory of a dialect");
    return encoder_memory(e);
}

static void start(struct encoder *e, const struct stream_start *s)
{
    rs(e)->after = s->after;
    rs(e)->items = true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint64_t number(const struct encoder *e)
{
    return rs(e)->base + e->units;
}

static bool had(const struct encoder *e)
{
    return number(e) < rs(e)->after;
}

/* One of several events of a unit, before its last: it has a number of its own and no place. */
static bool extra(struct encoder *e, struct jsonw *w, const char *type)
{
    rs(e)->base++;
    if (had(e) || !event_begin_live(e, w, type)) return false;
    jw_kint(w, "sequence_number", (int64_t)number(e));
    return true;
}

/* Words: their number is the place of their last byte, however they were cut. */
static bool delta(struct encoder *e, struct jsonw *w, const char *type)
{
    if (had(e) || !event_begin_at(e, w, type)) return false;
    jw_kint(w, "sequence_number", (int64_t)number(e));
    return true;
}

/* The last event of a unit that the encoder counted. */
static bool last(struct encoder *e, struct jsonw *w, const char *type)
{
    rs(e)->base++;
    return delta(e, w, type);
}

/* An event of a fact. Notes may stand in the middle of a step, whose units they must not count. */
static bool of_fact(struct encoder *e, struct jsonw *w, const char *type, const struct fact *f)
{
    if (fact_is_aside(f)) return extra(e, w, type);
    if (number(e) + 1 < rs(e)->after) {
        event_leave_out(e);
        return false;
    }
    if (!event_begin(e, w, type)) return false;
    jw_kint(w, "sequence_number", (int64_t)number(e));
    return true;
}

/* --- words ------------------------------------------------------------------------------------ */

static struct str id_of(const struct encoder *e, const char *prefix, char room[ITEM_ID_MAX])
{
    return item_id(room, prefix, str_n(rs(e)->id, ID_LEN), rs(e)->index);
}

static struct response_item words_item(const struct encoder *e, const struct part *p)
{
    return (struct response_item){ .kind = p->type == STEP_TEXT ? ITEM_MESSAGE : ITEM_REASONING,
                                   .index = rs(e)->index,
                                   .text = p->text,
                                   .complete = p->complete };
}

static void put_item(struct encoder *e, struct jsonw *w, const struct response_item *x, bool open)
{
    struct response_data d = { 0 };
    jw_kint(w, "output_index", x->index);
    jw_key(w, "item");
    item_write(w, str_n(rs(e)->id, ID_LEN), x, &d, e->horizon, open);
    event_end(e, w);
}

static void where(struct encoder *e, struct jsonw *w, bool text)
{
    char room[ITEM_ID_MAX];
    jw_kstr(w, "item_id", id_of(e, text ? "msg" : "rs", room));
    jw_kint(w, "output_index", rs(e)->index);
    jw_kint(w, text ? "content_index" : "summary_index", 0);
}

static void put_part(struct jsonw *w, bool text, struct str words)
{
    jw_key(w, "part");
    jw_obj(w);
    jw_kstrz(w, "type", text ? "output_text" : "summary_text");
    jw_kstr(w, "text", words);
    if (text) {
        jw_kraw(w, "annotations", STR("[]"));
        jw_kraw(w, "logprobs", STR("[]"));
    }
    jw_end_obj(w);
}

typedef bool (*begin_event)(struct encoder *e, struct jsonw *w, const char *type);

static void add_words(struct encoder *e, const struct part *p, begin_event final)
{
    struct response_item x = words_item(e, p);
    bool                 text = p->type == STEP_TEXT;
    struct jsonw         w;
    if (extra(e, &w, "response.output_item.added")) put_item(e, &w, &x, true);
    if (final(e, &w,
              text ? "response.content_part.added" : "response.reasoning_summary_part.added")) {
        where(e, &w, text);
        put_part(&w, text, STR(""));
        event_end(e, &w);
    }
}

static void put_delta(struct encoder *e, struct jsonw *w, bool text, struct str words)
{
    where(e, w, text);
    jw_kstr(w, "delta", words);
    if (text) jw_kraw(w, "logprobs", STR("[]"));
    event_end(e, w);
}

static void end_words(struct encoder *e, const struct part *p, begin_event final)
{
    struct response_item x = words_item(e, p);
    bool                 text = p->type == STEP_TEXT;
    struct jsonw         w;
    if (extra(e, &w, text ? "response.output_text.done" : "response.reasoning_summary_text.done")) {
        where(e, &w, text);
        jw_kstr(&w, "text", p->text);
        if (text) jw_kraw(&w, "logprobs", STR("[]"));
        event_end(e, &w);
    }
    if (extra(e, &w,
              text ? "response.content_part.done" : "response.reasoning_summary_part.done")) {
        where(e, &w, text);
        put_part(&w, text, p->text);
        event_end(e, &w);
    }
    if (final(e, &w, "response.output_item.done")) put_item(e, &w, &x, false);
    rs(e)->index++;
}

static void begin_step(struct encoder *e, const struct part *first)
{
    (void)e;
    (void)first;
}

/* Reasoning is often nothing but a provider's signature: its item is added by its first words. Only
 * a client that was told of it has the place behind its beginning. */
static void part_begin(struct encoder *e, const struct part *p)
{
    rs(e)->thinking = false;
    if (p->type == STEP_TEXT) add_words(e, p, last);
}

static size_t bytes(struct encoder *e, const struct part *p, struct str b, bool end)
{
    struct jsonw w;
    (void)end;
    if (p->type == STEP_CALL || (p->type == STEP_REASONING && !rs(e)->summary)) return b.len;
    if (p->type == STEP_REASONING && !rs(e)->thinking && b.len) {
        rs(e)->thinking = true;
        add_words(e, p, extra);
    }
    struct str rest = b;
    uint64_t   has = rs(e)->after > number(e) + 1 ? rs(e)->after - 1 - number(e) : 0;
    if (has) rest = str_from(b, has < b.len ? (size_t)has : b.len);
    if (rest.len && has) rs(e)->inside = utf8_cut(b, (size_t)has) != has;
    e->units += b.len;
    if (rest.len && delta(e, &w,
                          p->type == STEP_TEXT ? "response.output_text.delta"
                                               : "response.reasoning_summary_text.delta"))
        put_delta(e, &w, p->type == STEP_TEXT, rest);
    e->units -= b.len;
    return b.len;
}

static void part_end(struct encoder *e, const struct part *p)
{
    if (p->type == STEP_TEXT || (p->type == STEP_REASONING && rs(e)->thinking))
        end_words(e, p, last);
    rs(e)->thinking = false;
}

/* --- items of facts --------------------------------------------------------------------------- */

struct told {
    struct encoder             *e;
    const struct fact          *f, *response;
    const struct response_data *d;
    unsigned                    found; /* index + 1 of the item looked for */
    const struct call          *call;
};

static void fact_item(const struct told *k, const struct response_item *x, const char *type,
                      bool open)
{
    struct jsonw w;
    if (!of_fact(k->e, &w, type, k->f)) return;
    jw_kint(&w, "output_index", x->index);
    jw_key(&w, "item");
    item_write(&w, k->response ? k->response->id : str_n(rs(k->e)->id, ID_LEN), x, k->d, k->f->seq,
               open);
    event_end(k->e, &w);
}

static void call_event(const struct told *k, const struct response_item *x, const char *type,
                       const char *member, struct str value)
{
    struct jsonw w;
    char         room[ITEM_ID_MAX];
    if (!of_fact(k->e, &w, type, k->f)) return;
    jw_kstr(&w, "item_id",
            item_id(room, x->kind == ITEM_FUNCTION ? "fc" : "mcp", str_n(rs(k->e)->id, ID_LEN),
                    x->index));
    jw_kint(&w, "output_index", x->index);
    if (member) jw_kstr(&w, member, value);
    if (member && x->kind == ITEM_FUNCTION && strcmp(member, "arguments") == 0)
        jw_kstr(&w, "name", x->call->tool);
    event_end(k->e, &w);
}

/* Announced with its arguments at once: they are whole, and judged. */
static void add_call(const struct told *k, const struct response_item *x)
{
    bool function = x->kind == ITEM_FUNCTION;
    fact_item(k, x, "response.output_item.added", true);
    if (rs(k->e)->extension && !function) return;
    if (!function) call_event(k, x, "response.mcp_call.in_progress", NULL, STR_NONE);
    call_event(k, x,
               function ? "response.function_call_arguments.delta"
                        : "response.mcp_call_arguments.delta",
               "delta", x->call->input);
    call_event(k, x,
               function ? "response.function_call_arguments.done"
                        : "response.mcp_call_arguments.done",
               "arguments", x->call->input);
    if (function) fact_item(k, x, "response.output_item.done", false);
}

static void end_call(const struct told *k, const struct response_item *x)
{
    bool done = x->call->finished->outcome == WORD_DONE;
    if (!rs(k->e)->extension)
        call_event(k, x, done ? "response.mcp_call.completed" : "response.mcp_call.failed", NULL,
                   STR_NONE);
    fact_item(k, x, "response.output_item.done", false);
}

static struct response_item next_item(const struct encoder *e, enum item_kind kind,
                                      const struct call *c)
{
    return (struct response_item){ .kind = kind, .index = rs(e)->index, .call = c };
}

static void told_question(struct told *k, const struct call *c)
{
    struct response_item x = next_item(k->e, ITEM_QUESTION, c);
    x.asked = k->f;
    if (!rs(k->e)->items || (asked_by_tool(k->f) && !rs(k->e)->extension)) return;
    fact_item(k, &x, "response.output_item.added", false);
    fact_item(k, &x, "response.output_item.done", false);
    rs(k->e)->index++;
}

static void told_started(struct told *k, const struct call *c)
{
    struct response_item x = next_item(k->e, c->client ? ITEM_FUNCTION : ITEM_CALL, c);
    add_call(k, &x);
    rs(k->e)->index++;
}

static bool is_item_of(void *ctx, const struct response_item *x)
{
    struct told *k = ctx;
    if (x->kind == ITEM_CALL && x->call == k->call) k->found = x->index + 1;
    return true;
}

static void told_finished(struct told *k, const struct fold *f, const struct call *c)
{
    struct response_item x = next_item(k->e, ITEM_CALL, c);
    if (c->gate == GATE_REPLY || call_gave_way(c) || (c->client && c->started)) return;
    if (!c->started || (k->response && response_ends_call(k->response, c))) {
        add_call(k, &x);
        end_call(k, &x);
        rs(k->e)->index++;
        return;
    }
    if (!k->response) return;
    k->call = c;
    response_items(f, k->response, k->d, k->f->seq, is_item_of, k);
    if (!k->found) return; /* another run's */
    x.index = k->found - 1;
    end_call(k, &x);
}

/* Words of the server: a message that comes at once. */
static void told_words(struct told *k, struct str text)
{
    struct encoder *e = k->e;
    struct part     p = { .type = STEP_TEXT, .text = text, .complete = true };
    struct jsonw    w;
    if (!text.len) return;
    add_words(e, &p, extra);
    if (extra(e, &w, "response.output_text.delta")) put_delta(e, &w, true, text);
    end_words(e, &p, extra);
}

/* What was decided elsewhere, in the meantime. */
static void told_elsewhere(struct told *k, const struct fold *f)
{
    JV_EACH (id, k->d->tell) {
        const struct call   *c = response_call(f, jv_str(id));
        struct response_item x = next_item(k->e, ITEM_CALL, c);
        if (!c) continue;
        add_call(k, &x);
        if (c->finished && c->finished->seq <= k->f->seq) end_call(k, &x);
        rs(k->e)->index++;
    }
}

/* --- the response ----------------------------------------------------------------------------- */

static void whole(struct encoder *e, const struct thread *t, const struct fact *response,
                  const char *type, const struct fact *f, uint64_t seq, bool empty)
{
    struct jsonw w;
    if (!of_fact(e, &w, type, f)) return;
    jw_key(&w, "response");
    response_write(&w, thread_fold(t), thread_id(t), response, seq, empty);
    event_end(e, &w);
}

static void begin(struct encoder *e, const struct thread *t, struct told *k)
{
    struct rs *m = rs(e);
    uint64_t   after = m->after;
    *m = (struct rs){ .after = after, .begun = true };
    m->base = 0 - e->units - 1; /* the first event has number 0 */
    memcpy(m->id, k->f->id.ptr + k->f->id.len - ID_LEN, ID_LEN);
    m->summary = k->d->summary;
    m->words = k->f->link.ptr != NULL;
    m->items = !str_is(k->d->form, "words");
    m->extension = str_is(k->d->form, "extension");
    whole(e, t, k->f, "response.created", k->f, k->f->seq, true);
    whole(e, t, k->f, "response.in_progress", k->f, k->f->seq, true);
    told_elsewhere(k, thread_fold(t));
    told_words(k, k->f->text);
}

/* A call whose tool asks is told as far as it came; how it ends is told by the response after. */
static bool leave_call(void *ctx, const struct response_item *x)
{
    struct told         *k = ctx;
    struct response_item item = *x;
    if (x->kind != ITEM_CALL || (x->call->finished && x->call->finished->seq <= k->f->seq))
        return true;
    item.left = true;
    fact_item(k, &item, "response.output_item.done", false);
    return true;
}

static void finish(struct told *k, const struct thread *t)
{
    struct encoder    *e = k->e;
    const struct fact *response = k->response, *f = k->f;
    response_items(thread_fold(t), response, k->d, f->seq, leave_call, k);
    const char *status = response_status(thread_fold(t), response, f->seq);
    const char *type = strcmp(status, "failed") == 0      ? "response.failed"
                       : strcmp(status, "completed") == 0 ? "response.completed"
                                                          : "response.incomplete";
    whole(e, t, response, type, f, f->seq, false);
    if (e->mode == STREAM_RUN && e->out && !event_silent(e)) e->ended = true;
}

static bool count_item(void *ctx, const struct response_item *x)
{
    unsigned *n = ctx;
    *n = x->index + 1;
    return true;
}

/* The words since the last fact are lost: the response as the log has it, then the step anew. */
static void tell_loss(struct encoder *e, const struct thread *t)
{
    const struct fact   *response = response_find(thread_fold(t), e->response);
    struct response_data d;
    struct arena         a;
    unsigned             n = 0;
    struct jsonw         w;
    if (!response) return;
    arena_init(&a, 0);
    response_data(&a, response, &d);
    response_items(thread_fold(t), response, &d, e->seq, count_item, &n);
    rs(e)->index = n;
    if (event_begin_live(e, &w, "response.in_progress")) {
        jw_kint(&w, "sequence_number", (int64_t)number(e));
        jw_key(&w, "response");
        response_write(&w, thread_fold(t), thread_id(t), response, e->seq, false);
        event_end(e, &w);
    }
    arena_done(&a);
}

/* Nobody knows how much was lost: what follows is numbered beyond anything it can have been. */
static void told_resumed(struct encoder *e, const struct thread *t)
{
    bool lost = rs(e)->after > number(e) + 1 && rs(e)->after < number(e) + LOST;
    rs(e)->base += LOST - 1;
    if (lost) {
        rs(e)->after = 0;
        tell_loss(e, t);
    }
    rs(e)->base++;
}

static void reset(struct encoder *e, const struct thread *t)
{
    rs(e)->base += LOST - 1;
    tell_loss(e, t);
    rs(e)->base -= LOST - 1; /* the fact that says so adds it for everybody */
}

static void tell_fact(struct encoder *e, const struct thread *t, struct told *k)
{
    const struct fold *fold = thread_fold(t);
    const struct fact *f = k->f;
    const struct call *c = f->call.ptr ? fold_call(fold, f->call) : NULL;
    switch (f->kind) {
    case FACT_RESPONSE:
        if (str_eq(f->id, e->response)) begin(e, t, k);
        return;
    case FACT_RESUMED: told_resumed(e, t); return;
    case FACT_TOLD:
        if (rs(e)->words) told_words(k, f->text);
        return;
    case FACT_ASKED:
        if (c) told_question(k, c);
        return;
    case FACT_STARTED:
        if (c && c->gate != GATE_REPLY) told_started(k, c);
        return;
    case FACT_FINISHED:
        if (c) told_finished(k, fold, c);
        return;
    case FACT_MESSAGE:
    case FACT_ACTION:
    case FACT_RETRY:
        if (!rs(e)->begun) rs(e)->base = rs(e)->index = 0;
        return;
    case FACT_STEP:
    case FACT_DECIDED:
    case FACT_ENDED:
    case FACT_PROPOSED:
    case FACT_SUMMARY:
    UNTOLD_FACTS:
        return;
    }
}

static void fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    const struct fact *response =
        e->response.len ? response_find(thread_fold(t), e->response) : NULL;
    struct response_data d = { 0 };
    struct arena         a;
    struct told          k = { e, f, response, &d, 0, NULL };
    arena_init(&a, 0);
    if (response && (f->kind == FACT_RESPONSE || f->kind == FACT_FINISHED || f->kind == FACT_ASKED))
        response_data(&a, response, &d);
    else if (rs(e)->extension) d.form = STR("extension");
    tell_fact(e, t, &k);
    bool over = response && f->seq >= response->seq
                    ? response_ends_at(thread_fold(t), response, f->seq)
                    : !response && f->kind == FACT_ENDED && e->mode == STREAM_RUN;
    if (over && response) {
        response_data(&a, response, &d);
        finish(&k, t);
    } else if (over && !event_silent(e)) e->ended = true;
    if (!fact_is_aside(f)) rs(e)->base += e->units; /* they begin anew with the next */
    arena_done(&a);
}

/* --- the stream ------------------------------------------------------------------------------- */

static void open_stream(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

static void head(struct encoder *e, const struct thread *t)
{
    (void)e;
    (void)t;
}

/* There is no event for it that every client knows; the client comes back by its number. */
static void restart(struct encoder *e)
{
    rs(e)->restarting = true;
}

static void close_stream(struct encoder *e)
{
    if (!rs(e)->restarting) event_raw(e, STR("[DONE]"));
}

/* Told as far as the first event that comes after that number. */
bool response_number_fits(const struct thread *t, const struct fact *response, uint64_t after)
{
    struct encoder e;
    struct buf     b;
    enum encoded   r = ENCODED_ITEM;
    if (!after) return true;
    buf_init(&b, 0);
    encoder_start(&e, &dialect_responses, &carrier_sse, NULL, t,
                  &(struct stream_start){ .run = response->run,
                                          .seq = response->seq - 1,
                                          .replay = true,
                                          .response = response->id,
                                          .after = after });
    while (r == ENCODED_ITEM && !b.len) r = encode_into(&e, t, &b, SIZE_MAX / 2);
    encoder_done(&e);
    buf_done(&b);
    return !rs(&e)->inside;
}

const struct dialect dialect_responses = {
    .name = "responses",
    .named = true,
    .start = start,
    .open = open_stream,
    .step_begin = begin_step,
    .part_begin = part_begin,
    .bytes = bytes,
    .part_end = part_end,
    .fact = fact,
    .head = head,
    .reset = reset,
    .restart = restart,
    .close = close_stream,
};
