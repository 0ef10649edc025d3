/* text.c -- clean text, capped text, paced progress. */
#include "tool/text.h"

#include "base/clock.h"
#include "base/glyph.h"
#include "base/jsonw.h"
#include "base/utf8.h"

#define PACE_MS 100

void text_clean(struct buf *out, struct str s, size_t max)
{
    s = str_cut(s, max);
    while (s.len > 0) {
        uint32_t cp;
        unsigned n = utf8_decode(s, &cp);
        bool     bad = (cp == 0xFFFD && n == 1) || (cp >= 0xD800 && cp <= 0xDFFF);
        bool     control = (cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7F && cp < 0xA0);
        if (bad) buf_lit(out, "\xEF\xBF\xBD");
        else if (!control) buf_add(out, s.ptr, n);
        s = str_from(s, n);
    }
}

void text_reveal(struct buf *out, struct str s, size_t max)
{
    glyph_show(out, str_cut(s, utf8_cut(s, max)), GLYPH_QUOTED);
}

/* --- tail ---------------------------------------------------------------------- */

void tail_init(struct tail *t, size_t max)
{
    buf_init(&t->buf, 4 * max);
    t->max = max;
    t->cut = false;
}

void tail_done(struct tail *t)
{
    buf_done(&t->buf);
}

void tail_add(struct tail *t, struct str bytes)
{
    if (bytes.len > t->max) {
        bytes = str_from(bytes, bytes.len - t->max);
        t->cut = true;
    }
    buf_str(&t->buf, bytes);
    if (t->buf.len > 2 * t->max) {
        buf_eat(&t->buf, t->buf.len - t->max);
        t->cut = true;
    }
}

void tail_text(const struct tail *t, struct buf *out)
{
    struct str s = buf_view(&t->buf);
    bool       cut = t->cut || s.len > t->max;

    if (s.len > t->max) s = str_from(s, s.len - t->max);
    while (cut && s.len > 0 && ((unsigned char)*s.ptr & 0xC0) == 0x80) s = str_from(s, 1);
    if (cut) buf_lit(out, "…");
    text_clean(out, str_trim(s), t->max);
}

/* --- pace ------------------------------------------------------------------------ */

static void pace_fired(struct loop_timer *t)
{
    pace_flush(LIST_ITEM(t, struct pace, timer));
}

void pace_init(struct pace *p, struct loop *l, struct tool_job *job)
{
    *p = (struct pace){ .job = job };
    loop_timer_init(l, &p->timer, pace_fired);
    buf_init(&p->stage, 256);
    buf_init(&p->message, 4096);
    buf_init(&p->data, 64 * 1024);
}

static bool keep(struct buf *b, struct str s)
{
    buf_clear(b);
    buf_str(b, s);
    return s.ptr && b->err == OK; /* too long to be progress: left out */
}

void pace_flush(struct pace *p)
{
    struct tool_progress news = {
        .stage = p->has_stage ? buf_view(&p->stage) : STR_NONE,
        .message = p->has_message ? buf_view(&p->message) : STR_NONE,
        .data = p->has_data ? buf_view(&p->data) : STR_NONE,
        .progress = p->progress,
    };
    if (!p->pending || p->closed) return;
    p->pending = false;
    loop_timer_stop(&p->timer);
    p->next_ms = clock_mono_ms() + PACE_MS;
    p->job->progress(p->job, &news);
}

void pace_tell(struct pace *p, const struct tool_progress *news)
{
    uint64_t now = clock_mono_ms();

    if (p->closed) return;
    p->has_stage = keep(&p->stage, news->stage);
    p->has_message = keep(&p->message, news->message);
    p->has_data = keep(&p->data, news->data);
    p->progress = news->progress;
    if (now >= p->next_ms) {
        p->pending = true;
        pace_flush(p);
    } else if (!p->pending) {
        p->pending = true;
        loop_timer_set(&p->timer, p->next_ms - now);
    }
}

static void pace_timer_closed(struct loop_timer *t)
{
    struct pace *p = LIST_ITEM(t, struct pace, timer);
    buf_done(&p->stage);
    buf_done(&p->message);
    buf_done(&p->data);
    if (p->on_closed) p->on_closed(p);
}

void pace_close(struct pace *p, void (*on_closed)(struct pace *p))
{
    p->closed = true;
    p->on_closed = on_closed;
    loop_timer_close(&p->timer, pace_timer_closed);
}

/* --- values ------------------------------------------------------------------------- */

/* Where "env:NAME" stands in a configured value; -1: nowhere. */
static ptrdiff_t reference(struct str value)
{
    ptrdiff_t at = str_starts(value, STR("env:")) ? 0 : str_find(value, STR(" env:"));
    return at > 0 ? at + 1 : at;
}

static void write_references(struct jsonw *w, const struct jv *values)
{
    jw_obj(w);
    JV_EACH (v, values) {
        ptrdiff_t at = reference(jv_str(v));
        jw_key_str(w, v->key);
        jw_str_or_null(w, at < 0 ? STR_NONE : str_from(jv_str(v), (size_t)at));
    }
    jw_end_obj(w);
}

static void write_runner(struct buf *out, const struct jv *def, struct str base)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_arr(&w);
    jw_str_or_null(&w, base);
    jw_obj(&w);
    JV_EACH (v, def) {
        jw_key_str(&w, v->key);
        if (v->type == JSON_OBJECT && (str_is(v->key, "env") || str_is(v->key, "headers")))
            write_references(&w, v);
        else jw_jv(&w, v);
    }
    jw_end_obj(&w);
    jw_end_arr(&w);
}

struct str text_runner(struct arena *a, const struct jv *def, struct str base)
{
    struct buf   text, canonical;
    struct jsonw w;
    struct arena scratch;
    struct jv   *v;
    struct str   out = STR_NONE;

    arena_init(&scratch, 0);
    buf_init(&text, 0);
    buf_init(&canonical, 0);
    jsonw_init(&w, &canonical);
    write_runner(&text, def, base);
    if (!text.err && json_parse_own(&scratch, buf_view(&text), &v) == OK) {
        jw_canonical(&w, v);
        if (!canonical.err) out = arena_dup(a, buf_view(&canonical));
    }
    buf_done(&canonical);
    buf_done(&text);
    arena_done(&scratch);
    return out;
}

void text_of_value(struct buf *out, struct str json)
{
    struct arena a;
    struct jv   *v;

    arena_init(&a, 0);
    if (json_parse(&a, json, &v, NULL) == OK && v->type == JSON_STRING)
        text_clean(out, v->str, v->str.len);
    else buf_str(out, json);
    arena_done(&a);
}
