/* encode.c -- walks a thread for a dialect: facts, pieces of steps, the head. */
#include "base/utf8.h"
#include "dialect/dialect.h"

/* JSON text may grow sixfold when escaped. */
#define ESCAPE_GROWTH  6
#define EVENT_OVERHEAD 256
#define ROOM_ALL       SIZE_MAX

bool place_parse(struct str s, uint64_t *seq, uint64_t *units)
{
    struct str left;
    uint64_t   a, b = 0;
    if (!str_split(&s, '.', &left) || !str_to_u64(left, &a)) return false;
    if (s.ptr && s.len && !str_to_u64(s, &b)) return false;
    *seq = a;
    *units = b;
    return true;
}

/* --- events -------------------------------------------------------------------------- */

static void sse_begin(struct encoder *e, bool with_id)
{
    if (with_id && e->d != &dialect_aisdk) { /* that client never sends Last-Event-ID */
        buf_lit(e->out, "id: ");
        buf_u64(e->out, e->seq);
        buf_chr(e->out, '.');
        buf_u64(e->out, e->units);
        buf_chr(e->out, '\n');
    }
    buf_lit(e->out, "data: ");
}

static void sse_end(struct encoder *e)
{
    buf_lit(e->out, "\n\n");
}

static void sse_raw(struct encoder *e, struct str text)
{
    buf_lit(e->out, "data: ");
    buf_str(e->out, text);
    buf_lit(e->out, "\n\n");
}

static const struct framing SSE = { sse_begin, sse_end, sse_raw, NULL };

static const struct framing *framing(const struct encoder *e)
{
    return e->framing ? e->framing : &SSE;
}

bool event_silent(const struct encoder *e)
{
    return e->skip > 0 || e->quiet || !e->out;
}

static bool begin(struct encoder *e, struct jsonw *w, const char *type, bool with_id)
{
    framing(e)->begin(e, with_id);
    jsonw_init(w, e->out);
    jw_obj(w);
    if (type) jw_kstrz(w, "type", type);
    return true;
}

bool event_begin(struct encoder *e, struct jsonw *w, const char *type)
{
    e->units++;
    if (e->skip) {
        e->skip--;
        return false;
    }
    return e->out ? begin(e, w, type, true) : false;
}

bool event_begin_live(struct encoder *e, struct jsonw *w, const char *type)
{
    return event_silent(e) ? false : begin(e, w, type, false);
}

bool event_begin_at(struct encoder *e, struct jsonw *w, const char *type)
{
    return event_silent(e) ? false : begin(e, w, type, true);
}

void event_leave_out(struct encoder *e)
{
    e->units++;
    if (e->skip) e->skip--;
}

void event_end(struct encoder *e, struct jsonw *w)
{
    jw_end_obj(w);
    framing(e)->end(e);
}

void event_raw(struct encoder *e, struct str text)
{
    if (e->out) framing(e)->raw(e, text);
}

/* --- walking --------------------------------------------------------------------------- */

static void pass_bytes(struct encoder *e, const struct piece *p, size_t room)
{
    struct str bytes = p->bytes;
    if (e->skip) bytes = str_cut(bytes, e->skip);
    else if (e->out)
        bytes = str_cut(bytes, utf8_cut(bytes, room > EVENT_OVERHEAD * 2
                                                   ? (room - EVENT_OVERHEAD) / ESCAPE_GROWTH
                                                   : 32));
    bool last = p->last && bytes.len == p->bytes.len;
    if (event_silent(e)) {
        e->d->bytes(e, p->part, bytes, true);
        if (e->skip) e->skip -= bytes.len;
        e->units += bytes.len;
    } else e->units += e->d->bytes(e, p->part, bytes, last);
}

/* One unit without bytes: the beginning of the step, or of a part, or the end of one. */
static void pass_edge(struct encoder *e, const struct piece *p, const struct part *first)
{
    e->units++;
    e->quiet = e->skip > 0;
    if (e->skip) e->skip--;
    if (!p) e->d->step_begin(e, first);
    else if (p->what == PIECE_BEGIN) e->d->part_begin(e, p->part);
    else e->d->part_end(e, p->part);
    e->quiet = false;
}

void encode_part_end(struct encoder *e, const struct part *p)
{
    pass_edge(e, &(struct piece){ .what = PIECE_END, .part = p }, NULL);
}

static bool is_quiet(const struct fact *f)
{
    return f->kind == FACT_SETTLED || f->kind == FACT_RESULT || f->kind == FACT_CREATED ||
           f->kind == FACT_STOP || f->kind == FACT_CONTINUED;
}

/* What is spoken after `seq`: the next step, or the open one. */
static struct parts parts_after(const struct thread *t, uint64_t seq)
{
    const struct fold      *f = thread_fold(t);
    const struct open_step *s = thread_step(t);
    uint64_t                head = thread_committed(t);
    while (seq < head && is_quiet(f->facts[seq])) seq++;
    if (seq == head)
        return s->active ? (struct parts){ s->parts, s->count, true } : (struct parts){ 0 };
    const struct fact *next = f->facts[seq];
    return next->kind == FACT_STEP ? (struct parts){ next->parts, next->parts_count, false }
                                   : (struct parts){ 0 };
}

bool place_fits(const struct thread *t, uint64_t seq, uint64_t units)
{
    if (seq > thread_committed(t)) return false;
    if (!units) return true;
    struct piece p = parts_at(parts_after(t, seq), units - 1);
    /* The rest of a character would be told as a broken one. */
    return p.what != PIECE_BYTES || p.bytes.ptr == p.part->text.ptr ||
           ((unsigned char)p.bytes.ptr[0] & 0xc0) != 0x80;
}

/* One piece of a step; false when there is none at this place (yet). */
static bool pass_piece(struct encoder *e, struct parts parts, size_t room)
{
    uint64_t before = e->units;
    if (e->units == 0) {
        if (parts.open && !parts.count) return false;
        pass_edge(e, NULL, parts.count ? &parts.at[0] : NULL);
        return true;
    }
    struct piece p = parts_at(parts, e->units - 1);
    if (p.what == PIECE_NONE) return false;
    if (p.what == PIECE_BYTES) pass_bytes(e, &p, room);
    else pass_edge(e, &p, NULL);
    return e->units != before;
}

/* Does the place lie in words that no fact closed? They were lost in a crash. A step that is tried
 * again says so by `resumed`; where it was given up, its run's end follows, and what lies beyond
 * the events of that end lies in them. */
static bool in_lost_words(struct encoder e, const struct thread *t, const struct fact *f)
{
    if (f->kind == FACT_RESUMED) return e.units || e.skip;
    if (f->kind != FACT_ENDED) return false;
    if (e.units || !e.skip) return e.units > 0;
    e.out = NULL;
    e.d->fact(&e, t, f);
    return e.skip > 0;
}

/* True: the place was moved back, and what is told next begins there. */
static bool take_back(struct encoder *e, const struct thread *t)
{
    e->skip = e->units = 0;
    e->weave = e->weave_before;
    e->d->reset(e, t);
    bool rewound = e->rewound;
    e->rewound = false;
    return rewound;
}

static void pass_fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    if (in_lost_words(*e, t, f) && take_back(e, t)) return;
    if (f->kind != FACT_RESUMED) e->d->fact(e, t, f);
    e->seq = f->seq;
    if (is_quiet(f)) return; /* may stand in the middle of a step */
    e->units = 0;
    e->skip = 0; /* a place lies in one fact; what is left of it must not eat the next */
    e->weave_before = e->weave;
}

static bool is_other_run(const struct encoder *e, const struct fact *f)
{
    return e->mode == STREAM_RUN && e->run.ptr && f->run.ptr && !str_eq(f->run, e->run) &&
           (f->kind == FACT_MESSAGE || f->kind == FACT_ACTION || f->kind == FACT_RETRY);
}

/* The next committed fact, or a piece of it. */
static void pass_next(struct encoder *e, const struct thread *t, size_t room)
{
    const struct fact *f = thread_fold(t)->facts[e->seq];
    if (is_other_run(e, f)) {
        e->ended = true;
        return;
    }
    if (f->kind == FACT_STEP &&
        pass_piece(e, (struct parts){ f->parts, f->parts_count, false }, room))
        return;
    pass_fact(e, t, f);
}

/* The run whose beginning a silent replay starts from: the stream's own, or the one the place lies
 * in. */
static const struct run *replayed_run(const struct encoder *e, const struct fold *f, uint64_t seq)
{
    return e->mode == STREAM_RUN && e->run.ptr ? fold_run(f, e->run) : fold_run_at(f, seq);
}

void encoder_seek(struct encoder *e, const struct thread *t, uint64_t seq, uint64_t units)
{
    const struct run *r = replayed_run(e, thread_fold(t), seq + (units ? 1 : 0));
    uint64_t          head = thread_committed(t);
    e->out = NULL;
    e->horizon = head;
    e->seq = r && r->first->seq <= seq ? r->first->seq - 1 : seq;
    if (e->seq > head) e->seq = head;
    while (e->seq < seq && e->seq < head && !e->ended) pass_next(e, t, ROOM_ALL);
    e->skip = units;
    e->ended = false;
}

static enum encoded at_head(struct encoder *e, const struct thread *t, size_t room)
{
    const struct open_step *s = thread_step(t);
    if (s->active && pass_piece(e, (struct parts){ s->parts, s->count, true }, room))
        return ENCODED_ITEM;
    size_t before = e->out->len;
    e->d->head(e, t);
    /* What is no fact cannot be encoded a second time: a report that does not fit is left out. */
    if (e->out->len > room && !e->ended) {
        buf_truncate(e->out, before);
        if (framing(e)->left_out) framing(e)->left_out(e);
    }
    return e->ended || e->out->len != before ? ENCODED_ITEM : ENCODED_NOTHING;
}

static enum encoded finish_stream(struct encoder *e)
{
    e->d->close(e);
    return ENCODED_END;
}

enum encoded encode_next(struct encoder *e, const struct thread *t, struct buf *out, size_t room)
{
    enum encoded r = ENCODED_ITEM;
    e->out = out;
    if (!e->again) e->horizon = thread_committed(t);
    if (!e->opened) {
        e->opened = true;
        e->d->open(e, t);
    }
    if (e->ended) r = finish_stream(e);
    else if (e->seq < e->horizon) pass_next(e, t, room);
    else r = at_head(e, t, room);
    if (r != ENCODED_END && e->ended) r = finish_stream(e);
    e->out = NULL;
    return r;
}

void encode_restart(struct encoder *e, struct buf *out)
{
    e->out = out;
    e->skip = 0;
    e->d->restart(e);
    e->d->close(e);
    e->out = NULL;
}
