/* record.c -- see record.h. */
#include "run/record.h"

#include "base/clock.h"

static void time_at(struct jsonw *w, const char *key, int64_t ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    if (!ms) return;
    clock_rfc3339(ms, text);
    jw_kstrz(w, key, text);
}

static void text_at(struct jsonw *w, const char *key, struct str s)
{
    if (s.len) jw_kstr(w, key, s);
}

static void begin(struct jsonw *w, const char *key, const struct fact *f)
{
    jw_key(w, key);
    jw_obj(w);
    if (f->outcome) jw_kstrz(w, "outcome", word_name(f->outcome));
    time_at(w, "at", f->at_ms);
}

static void write_asked(struct jsonw *w, const struct fact *f, bool words)
{
    begin(w, "asked", f);
    text_at(w, "id", f->id);
    text_at(w, "digest", f->digest);
    text_at(w, "definition", f->note);
    if (words) text_at(w, "shown", f->ask);
    text_at(w, "risk", f->risk);
    time_at(w, "expires_at", f->expires_ms);
    jw_end_obj(w);
}

static void write_decided(struct jsonw *w, const struct fact *f, bool words)
{
    begin(w, "decided", f);
    text_at(w, "by", f->by);
    text_at(w, "via", f->via);
    if (words) text_at(w, "reason", f->reason);
    jw_end_obj(w);
}

static void write_finished(struct jsonw *w, const struct fact *f)
{
    begin(w, "finished", f);
    if (f->ms) jw_kint(w, "ms", f->ms);
    jw_end_obj(w);
}

static void write_settled(struct jsonw *w, const struct fact *f, bool words)
{
    begin(w, "settled", f);
    text_at(w, "by", f->by);
    if (words) text_at(w, "note", f->note);
    jw_end_obj(w);
}

bool record_has(const struct call *c)
{
    return c->gates || c->started;
}

void record_call(struct jsonw *w, const struct call *c, bool words)
{
    jw_kstr(w, "call", c->id);
    jw_kstr(w, "tool", c->tool);
    if (words) jw_kstr(w, "input", c->input);
    if (c->asked) write_asked(w, c->asked, words);
    if (c->decided) write_decided(w, c->decided, words);
    if (c->started) time_at(w, "started_at", c->started->at_ms);
    if (c->finished) write_finished(w, c->finished);
    if (c->settled) write_settled(w, c->settled, words);
}

struct str record_stub(struct arena *a, const struct fold *f, struct str by, struct str via)
{
    struct buf   b;
    struct jsonw w;
    struct str   out;

    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    text_at(&w, "by", by);
    text_at(&w, "via", via);
    if (!f->count) jw_kbool(&w, "unread", true);
    jw_key(&w, "calls");
    jw_arr(&w);
    for (size_t i = 0; i < f->call_count; i++) {
        if (!record_has(f->calls[i])) continue;
        jw_obj(&w);
        record_call(&w, f->calls[i], false);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    jw_end_obj(&w);
    out = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

static void copy_erased(struct jsonw *w, const struct jv *v, struct str name, struct str other)
{
    bool object = jv_is(v, JSON_OBJECT);

    if (!object && !jv_is(v, JSON_ARRAY)) {
        jw_jv(w, v);
        return;
    }
    if (object) jw_obj(w);
    else jw_arr(w);
    JV_EACH (m, v) {
        if (object) jw_key_str(w, m->key);
        if (object && str_is(m->key, "by") && str_eq(jv_str(m), name)) jw_str(w, other);
        else copy_erased(w, m, name, other);
    }
    if (object) jw_end_obj(w);
    else jw_end_arr(w);
}

struct str record_erased(struct arena *a, struct str body, struct str name, struct str other)
{
    struct jv   *v;
    struct buf   b;
    struct jsonw w;
    struct str   out;
    enum err     e = json_parse(a, body, &v, NULL);

    if (e) return e == ERR_NOMEM ? STR_NONE : STR("{\"unread\":true}");
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    copy_erased(&w, v, name, other);
    out = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return out;
}

struct str record_member(struct arena *a, const char *key, struct str text)
{
    struct buf b;
    struct str s;

    buf_init(&b, 0);
    buf_printf(&b, "\"%s\":\"", key);
    jw_escape(&b, text);
    buf_chr(&b, '"');
    s = b.err ? STR_NONE : arena_dup(a, buf_view(&b));
    buf_done(&b);
    return s;
}
