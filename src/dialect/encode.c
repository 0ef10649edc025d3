/* encode.c -- walks a thread for a dialect: facts, pieces of steps, the head; and owns the cut.
 *
 * An item (one fact, one slice of a step, the news at the head) is encoded into one scratch buffer
 * and sent as far as the room goes. What is left of it is kept (held.h). Where there is no room to
 * keep it, the encoder goes back to where it stood and encodes the same item again in the next
 * call; for that the horizon stays where it was, so that facts which came meanwhile change nothing.
 * Loop thread only: there is one scratch.
 */
#include "base/utf8.h"
#include "dialect/dialect.h"
#include "dialect/held.h"

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

/* --- the item at hand ------------------------------------------------------------------------- */

static struct {
    struct buf bytes;
    size_t    *ends; /* where each text ends, for carriers that have texts */
    size_t     count, cap;
} item;

static void item_begin(void)
{
    buf_clear(&item.bytes);
    item.count = 0;
}

static void item_mark(void)
{
    if (item.count == item.cap) {
        size_t  want = item.cap ? item.cap * 2 : 64;
        size_t *grown = mem_realloc(item.ends, want * sizeof *grown);
        if (!grown) {
            item.bytes.err = ERR_NOMEM;
            return;
        }
        item.ends = grown;
        item.cap = want;
    }
    item.ends[item.count++] = item.bytes.len;
}

/* --- events ----------------------------------------------------------------------------------- */

static void sse_begin(struct encoder *e, bool with_id)
{
    if (with_id && e->d->ids) {
        buf_lit(e->out, "id: ");
        buf_u64(e->out, e->seq);
        buf_chr(e->out, '.');
        buf_u64(e->out, e->units);
        buf_chr(e->out, '\n');
    }
    if (e->d->named && e->type) {
        buf_lit(e->out, "event: ");
        buf_lit(e->out, e->type);
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

const struct carrier carrier_sse = {
    .need = 2048, .begin = sse_begin, .end = sse_end, .raw = sse_raw
};

static void list_begin(struct encoder *e, bool with_id)
{
    (void)with_id;
    if (e->events) buf_chr(e->out, ',');
}

static void list_end(struct encoder *e)
{
    (void)e;
}

static void list_raw(struct encoder *e, struct str text)
{
    (void)e;
    (void)text;
}

const struct carrier carrier_list = {
    .need = 2048, .begin = list_begin, .end = list_end, .raw = list_raw
};

bool event_silent(const struct encoder *e)
{
    return e->skip > 0 || e->quiet || !e->out;
}

/* A carrier may have left an event out. */
static void text_ends(struct encoder *e)
{
    if (e->carrier->put && item.bytes.len > (item.count ? item.ends[item.count - 1] : 0))
        item_mark();
    e->events++;
}

static bool begin(struct encoder *e, struct jsonw *w, const char *type, bool with_id)
{
    e->type = type;
    e->carrier->begin(e, with_id);
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
    e->carrier->end(e);
    text_ends(e);
}

void event_raw(struct encoder *e, struct str text)
{
    if (!e->out) return;
    e->carrier->raw(e, text);
    text_ends(e);
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

bool fact_is_aside(const struct fact *f)
{
    return f->kind == FACT_SETTLED || f->kind == FACT_LATE || f->kind == FACT_HANDED ||
           f->kind == FACT_RESULT || f->kind == FACT_CREATED || f->kind == FACT_STOP ||
           f->kind == FACT_CONTINUED || fact_is_note(f->kind);
}

/* What is spoken after `seq`: the next step, or the open one. */
static struct parts parts_after(const struct thread_view *v, uint64_t seq)
{
    while (seq < v->committed && fact_is_aside(v->fold->facts[seq])) seq++;
    if (seq == v->committed)
        return v->step->active ? (struct parts){ v->step->parts, v->step->count, true }
                               : (struct parts){ 0 };
    const struct fact *next = v->fold->facts[seq];
    return next->kind == FACT_STEP ? (struct parts){ next->parts, next->parts_count, false }
                                   : (struct parts){ 0 };
}

bool place_fits(const struct thread *t, uint64_t seq, uint64_t units)
{
    struct thread_view v = thread_look(t);
    if (seq > v.committed) return false;
    if (!units) return true;
    struct piece p = parts_at(parts_after(&v, seq), units - 1);
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
    e->d->reset(e, t);
    bool rewound = e->rewound;
    e->rewound = false;
    return rewound;
}

static void pass_fact(struct encoder *e, const struct thread *t, const struct fact *f)
{
    if (in_lost_words(*e, t, f) && take_back(e, t)) return;
    e->d->fact(e, t, f);
    e->seq = f->seq;
    if (fact_is_aside(f)) return; /* may stand in the middle of a step */
    e->units = 0;
    e->skip = 0; /* a place lies in one fact; what is left of it must not eat the next */
}

static bool is_other_run(const struct encoder *e, const struct fact *f)
{
    return e->mode == STREAM_RUN && e->run.ptr && f->run.ptr && !str_eq(f->run, e->run) &&
           (f->kind == FACT_MESSAGE || f->kind == FACT_ACTION || f->kind == FACT_RETRY);
}

/* The next committed fact, or a piece of it. */
static void pass_next(struct encoder *e, const struct thread_view *v, size_t room)
{
    const struct fact *f = v->fold->facts[e->seq];
    if (is_other_run(e, f)) {
        e->ended = true;
        return;
    }
    if (e->shown && !e->shown[e->seq]) {
        e->seq = f->seq;
        return;
    }
    if (f->kind == FACT_STEP &&
        pass_piece(e, (struct parts){ f->parts, f->parts_count, false }, room))
        return;
    pass_fact(e, v->thread, f);
}

/* The run whose beginning a silent replay starts from: the stream's own, or the one the place lies
 * in. */
static const struct run *replayed_run(const struct encoder *e, const struct fold *f, uint64_t seq)
{
    return e->mode == STREAM_RUN && e->run.ptr ? fold_run(f, e->run) : fold_run_at(f, seq);
}

/* Passes over everything from the beginning of the run up to the place. */
static void seek(struct encoder *e, const struct thread_view *v, uint64_t seq, uint64_t units)
{
    const struct run *r = replayed_run(e, v->fold, seq + (units ? 1 : 0));
    uint64_t          head = v->committed;
    e->horizon = head;
    e->seq = r && r->first->seq <= seq ? r->first->seq - 1 : seq;
    if (e->seq > head) e->seq = head;
    while (e->seq < seq && e->seq < head && !e->ended) pass_next(e, v, ROOM_ALL);
    e->skip = units;
    e->ended = false;
}

void encoder_start(struct encoder *e, const struct dialect *d, const struct carrier *carrier,
                   void *ctx, const struct thread *t, const struct stream_start *s)
{
    *e = (struct encoder){ .d = d,
                           .carrier = carrier,
                           .ctx = ctx,
                           .mode = s->mode,
                           .run = s->run,
                           .response = s->response,
                           .model = s->model,
                           .link = s->link,
                           .quiet_gates = s->quiet_gates || s->replay };
    if (d->start) d->start(e, s);
    struct thread_view v = thread_look(t);
    seek(e, &v, s->seq, s->units);
    e->opened = s->replay;
    if (s->continuation && d->continues) d->continues(e);
}

/* --- the next item ---------------------------------------------------------------------------- */

/* What is no fact cannot be encoded a second time: a report that does not fit is left out. */
static void leave_out(struct encoder *e, size_t len, size_t texts, uint64_t events)
{
    buf_truncate(&item.bytes, len);
    item.count = texts;
    e->events = events;
}

static enum encoded at_head(struct encoder *e, const struct thread_view *v, size_t room)
{
    const struct open_step *s = v->step;
    if (s->active && pass_piece(e, (struct parts){ s->parts, s->count, true }, room))
        return ENCODED_ITEM;
    size_t   before = item.bytes.len, texts = item.count;
    uint64_t events = e->events;
    e->d->head(e, v->thread);
    if (item.bytes.len > room && !e->ended) leave_out(e, before, texts, events);
    return e->ended || item.bytes.len != before ? ENCODED_ITEM : ENCODED_NOTHING;
}

/* Encodes the item at the place into the scratch. */
static enum encoded pass_item(struct encoder *e, const struct thread_view *v, size_t room)
{
    enum encoded r = ENCODED_ITEM;
    e->out = &item.bytes;
    if (!e->cut.again) e->horizon = v->committed;
    if (!e->opened) {
        e->opened = true;
        e->d->open(e, v->thread);
    }
    if (e->ended) r = ENCODED_END;
    else if (e->seq < e->horizon) pass_next(e, v, room);
    else r = at_head(e, v, room);
    if (e->ended) {
        e->d->close(e);
        r = ENCODED_END;
    }
    e->out = NULL;
    return r;
}

/* --- the cut ---------------------------------------------------------------------------------- */

bool encoder_is_cut(const struct encoder *e)
{
    return e->cut.sent > 0;
}

void encoder_done(struct encoder *e)
{
    held_free(e->cut.held);
    e->cut.held = NULL;
}

/* One text from where it was cut; false: the room is used up. */
static bool send_text(struct encoder *e, struct buf *out, size_t end, struct str text, size_t from)
{
    size_t used = out->len + e->carrier->head;
    if (end <= used) return false;
    struct str rest = str_from(text, from), piece = str_cut(rest, end - used);
    bool       last = piece.len == rest.len;
    if (e->carrier->put) e->carrier->put(e, out, piece, !from, last);
    else buf_str(out, piece);
    e->cut.sent += piece.len;
    return last;
}

/* An item from where it was cut; false: the room is used up. Without texts it is one string. */
static bool send_item(struct encoder *e, struct buf *out, size_t end, struct str bytes,
                      const size_t *ends, size_t count)
{
    size_t begin = 0;
    if (!e->carrier->put) {
        ends = &bytes.len;
        count = bytes.len > 0;
    }
    for (size_t i = 0; i < count; begin = ends[i++]) {
        if (ends[i] <= e->cut.sent) continue;
        size_t     from = e->cut.sent > begin ? e->cut.sent - begin : 0;
        struct str text = str_n(bytes.ptr + begin, ends[i] - begin);
        if (!send_text(e, out, end, text, from)) return false;
    }
    e->cut.sent = 0;
    return true;
}

/* Sends what pass_item() made as far as it goes. `before`: how things stood then; NULL: this item
 * cannot be encoded a second time. */
static enum encoded send_new(struct encoder *e, struct buf *out, size_t end, enum encoded r,
                             const struct encoder *before)
{
    if (item.bytes.err || (e->cut.sent && e->cut.whole != item.bytes.len)) return ENCODED_FAILED;
    e->cut.whole = item.bytes.len;
    if (send_item(e, out, end, buf_view(&item.bytes), item.ends, item.count)) {
        e->cut.again = false;
        return r;
    }
    e->cut.held = held_take(buf_view(&item.bytes), item.ends, item.count, (int)r);
    e->cut.again = !e->cut.held;
    if (e->cut.held) return ENCODED_CUT;
    if (!before) return ENCODED_FAILED;
    struct encoder now = *e;
    *e = *before;
    e->horizon = now.horizon;
    e->cut = now.cut;
    return ENCODED_CUT;
}

static enum encoded send_held(struct encoder *e, struct buf *out, size_t end)
{
    const struct held *h = e->cut.held;
    enum encoded       then = (enum encoded)h->then;
    if (!send_item(e, out, end, h->bytes, h->ends, h->count)) return ENCODED_CUT;
    encoder_done(e);
    return then;
}

enum encoded encode_into(struct encoder *e, const struct thread *t, struct buf *out, size_t room)
{
    size_t end = out->len + room;
    if (e->cut.held) return send_held(e, out, end);
    struct thread_view v = thread_look(t);
    if (v.away) return ENCODED_NOTHING;
    if (!e->cut.sent && room < e->carrier->need) return ENCODED_CUT;
    struct encoder before = *e;
    item_begin();
    enum encoded r = pass_item(e, &v, room > e->carrier->around ? room - e->carrier->around : 0);
    return send_new(e, out, end, r, &before);
}

const char *encoder_farewell(const struct encoder *e)
{
    return e->stuck
               ? "Nothing can be saved at the moment: the operator must bring the server's store "
                 "back. Then reconnect to continue."
               : "The server is restarting; reconnect to continue.";
}

const char *encoder_farewell_code(const struct encoder *e)
{
    return e->stuck ? "store_unavailable" : "restarting";
}

enum encoded encode_last(struct encoder *e, struct buf *out, size_t room, bool restart)
{
    must(!e->cut.sent);
    item_begin();
    e->out = &item.bytes;
    e->skip = 0;
    if (restart && e->carrier->restart) {
        e->carrier->restart(e);
        text_ends(e);
    } else {
        if (restart) e->d->restart(e);
        e->d->close(e);
    }
    e->out = NULL;
    return send_new(e, out, out->len + room, ENCODED_END, NULL);
}
