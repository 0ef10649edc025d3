/* record.c -- see record.h. */
#include "run/record.h"

#include "base/clock.h"
#include "run/approval.h"

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

/* How it is told: with words, and whose names. */
struct telling {
    struct jsonw *w;
    bool          words;
    struct str    only;
};

static void begin(struct jsonw *w, const char *key, const struct fact *f)
{
    jw_key(w, key);
    jw_obj(w);
    if (f->outcome) jw_kstrz(w, "outcome", word_name(f->outcome));
    time_at(w, "at", f->at_ms);
}

static void by_at(const struct telling *k, const struct fact *f)
{
    if (!k->only.ptr || str_eq(k->only, f->by)) text_at(k->w, "by", f->by);
}

static void write_asked(const struct telling *k, const struct fact *f)
{
    begin(k->w, "asked", f);
    text_at(k->w, "id", f->id);
    text_at(k->w, "digest", f->digest);
    text_at(k->w, "definition", f->note);
    if (k->words) text_at(k->w, "shown", f->ask);
    text_at(k->w, "risk", f->risk);
    if (f->who.len) jw_kraw(k->w, "rule", f->who);
    time_at(k->w, "expires_at", f->expires_ms);
    jw_end_obj(k->w);
}

/* The yeses beside the one that decided. */
static size_t votes_of(const struct fold *f, const struct call *c, const struct fact **out)
{
    size_t n = c->asked ? approval_votes(f, c->asked, out) : 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!c->decided || !str_eq(out[i]->by, c->decided->by)) out[kept++] = out[i];
    return kept;
}

static void write_votes(const struct telling *k, const struct fold *f, const struct call *c)
{
    const struct fact *votes[VOTES_MAX];
    size_t             n = votes_of(f, c, votes);

    if (!n) return;
    jw_key(k->w, "votes");
    jw_arr(k->w);
    for (size_t i = 0; i < n; i++) {
        jw_obj(k->w);
        by_at(k, votes[i]);
        time_at(k->w, "at", votes[i]->at_ms);
        text_at(k->w, "roles", votes[i]->roles);
        text_at(k->w, "via", votes[i]->via);
        jw_end_obj(k->w);
    }
    jw_end_arr(k->w);
}

static void write_decided(const struct telling *k, const struct fact *f)
{
    begin(k->w, "decided", f);
    by_at(k, f);
    text_at(k->w, "roles", f->roles);
    text_at(k->w, "via", f->via);
    text_at(k->w, "grant", f->grant);
    text_at(k->w, "definition", f->note);
    if (f->who.len) jw_kraw(k->w, "rule", f->who);
    if (k->words) text_at(k->w, "reason", f->reason);
    jw_end_obj(k->w);
}

static void write_finished(struct jsonw *w, const struct fact *f)
{
    begin(w, "finished", f);
    if (f->ms) jw_kint(w, "ms", f->ms);
    jw_end_obj(w);
}

static void write_settled(const struct telling *k, const struct fact *f)
{
    begin(k->w, "settled", f);
    by_at(k, f);
    if (k->words) text_at(k->w, "note", f->note);
    jw_end_obj(k->w);
}

/* Of the arguments, where no question has it: a decision without one keeps it, and else it follows
 * from the input while that is there. */
static void write_digest(struct jsonw *w, const struct call *c)
{
    struct str   digest = c->decided ? c->decided->digest : STR_NONE;
    struct arena a;

    if (c->asked) return;
    arena_init(&a, 0);
    if (!digest.len && c->args && !(digest = approval_digest(&a, c)).ptr) w->out->err = ERR_NOMEM;
    text_at(w, "digest", digest);
    arena_done(&a);
}

bool record_has(const struct call *c)
{
    return c->gates || c->started;
}

void record_call(struct jsonw *w, const struct fold *f, const struct call *c, bool words,
                 struct str only)
{
    struct telling k = { w, words, only };

    jw_kstr(w, "call", c->id);
    jw_kstr(w, "tool", c->tool);
    if (words) jw_kstr(w, "input", c->input);
    write_digest(w, c);
    if (c->asked) write_asked(&k, c->asked);
    write_votes(&k, f, c);
    if (c->decided) write_decided(&k, c->decided);
    if (c->started) time_at(w, "started_at", c->started->at_ms);
    if (c->started) text_at(w, "grant", c->started->grant);
    if (c->finished) write_finished(w, c->finished);
    if (c->settled) write_settled(&k, c->settled);
}

bool record_is_by(const struct fold *f, const struct call *c, struct str who)
{
    const struct fact *votes[VOTES_MAX];
    size_t             n = votes_of(f, c, votes);

    for (size_t i = 0; i < n; i++)
        if (str_eq(votes[i]->by, who)) return true;
    return (c->decided && str_eq(c->decided->by, who)) ||
           (c->settled && str_eq(c->settled->by, who));
}

struct str record_stub(struct arena *a, const struct fold *f, struct str by, struct str via)
{
    struct buf   b;
    struct jsonw w;

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
        record_call(&w, f, f->calls[i], false, STR_NONE);
        jw_end_obj(&w);
    }
    jw_end_arr(&w);
    jw_end_obj(&w);
    return buf_into(&b, a);
}

/* `other` in place of the name; STR_NONE: of the names only this one. */
struct naming {
    struct str name, other;
};

static void copy(struct jsonw *w, const struct jv *v, const struct naming *n);

static void copy_members(struct jsonw *w, const struct jv *v, const struct naming *n)
{
    bool object = jv_is(v, JSON_OBJECT);

    JV_EACH (m, v) {
        bool by = object && str_is(m->key, "by"), theirs = by && str_eq(jv_str(m), n->name);
        if (by && !theirs && !n->other.ptr) continue;
        if (object) jw_key_str(w, m->key);
        if (theirs && n->other.ptr) jw_str(w, n->other);
        else copy(w, m, n);
    }
}

static void copy(struct jsonw *w, const struct jv *v, const struct naming *n)
{
    bool object = jv_is(v, JSON_OBJECT);

    if (!object && !jv_is(v, JSON_ARRAY)) {
        jw_jv(w, v);
        return;
    }
    if (object) jw_obj(w);
    else jw_arr(w);
    copy_members(w, v, n);
    if (object) jw_end_obj(w);
    else jw_end_arr(w);
}

void record_theirs(struct jsonw *w, const struct jv *call, struct str name)
{
    copy_members(w, call, &(struct naming){ name, STR_NONE });
}

struct str record_erased(struct arena *a, struct str body, struct str name, struct str other,
                         int64_t created_ms)
{
    struct jv   *v = NULL;
    struct buf   b;
    struct jsonw w;

    if (json_parse(a, body, &v, NULL) == ERR_NOMEM) return STR_NONE;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    if (jv_is(v, JSON_OBJECT)) copy_members(&w, v, &(struct naming){ name, other });
    else jw_kbool(&w, "unread", true);
    if (!jv_get(v, "created_ms")) jw_kint(&w, "created_ms", created_ms);
    jw_end_obj(&w);
    return buf_into(&b, a);
}

struct str record_member(struct arena *a, const char *key, struct str text)
{
    struct buf b;

    buf_init(&b, 0);
    buf_printf(&b, "\"%s\":\"", key);
    jw_escape(&b, text);
    buf_chr(&b, '"');
    return buf_into(&b, a);
}
