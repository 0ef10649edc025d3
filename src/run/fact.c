/* fact.c -- facts to JSON and back, driven by the tables in fact.h. */
#include "run/fact.h"

#include "base/jsonw.h"

struct field {
    const char     *name;
    enum field_type type;
    size_t          at;
};
static const struct field FIELDS[] = {
#define X(t, n) { #n, FIELD_##t, offsetof(struct fact, n) },
    FACT_FIELDS(X)
#undef X
};
#define FIELD_COUNT (sizeof FIELDS / sizeof FIELDS[0])

static const char *const KINDS[] = {
#define X(k, n) n,
    FACT_KINDS(X)
#undef X
};
static const char *const WORDS[] = {
#define X(k, n) n,
    FACT_WORDS(X)
#undef X
};
static const char *const GATES[] = { "unjudged", "free", "ask", "client", "reply", "bad" };
static const char *const PARTS[] = { "text", "reasoning", "call" };

bool fact_is_note(enum fact_kind k)
{
    return k == FACT_BROUGHT || k == FACT_FORKED || k == FACT_RESPONSE || k == FACT_FORGOTTEN ||
           k == FACT_TOLD || k == FACT_TRIED || k == FACT_VOTED || k == FACT_ESCALATED ||
           k == FACT_REVOKED || k == FACT_CHECKED || k == FACT_CLAIMED || k == FACT_LABELLED ||
           k == FACT_NAMED || k == FACT_TRIMMED;
}

bool fact_restarts(const struct fact *f)
{
    return f->kind == FACT_RESUMED && !str_is(f->stop, RESUMED_WAITS);
}

const char *gate_name(enum gate g)
{
    return GATES[g];
}

const char *fact_name(enum fact_kind k)
{
    return KINDS[k];
}
const char *word_name(enum word w)
{
    return WORDS[w];
}

static bool word_of(struct str s, const char *const *names, size_t count, int *out)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(s, names[i])) {
            *out = (int)i;
            return true;
        }
    return false;
}

enum err fact_kind_of(struct str name, enum fact_kind *out)
{
    int k;
    if (!word_of(name, KINDS, FACT_KIND_COUNT, &k)) return ERR_NOT_FOUND;
    *out = (enum fact_kind)k;
    return OK;
}

/* --- writing --------------------------------------------------------------- */

static void write_part(struct jsonw *w, const struct part *p)
{
    jw_obj(w);
    jw_kstrz(w, "type", PARTS[p->type]);
    jw_kstr(w, "text", p->text);
    if (p->opaque.ptr) jw_kraw(w, "opaque", p->opaque);
    if (p->type != STEP_CALL && !p->complete) jw_kbool(w, "cut", true);
    if (p->type == STEP_CALL) {
        jw_kstr(w, "call", p->call);
        jw_kstr(w, "tool", p->tool);
        if (p->provider_id.len) jw_kstr(w, "provider_id", p->provider_id);
        jw_kstrz(w, "gate", GATES[p->gate]);
        jw_kbool(w, "complete", p->complete);
        if (p->client) jw_kbool(w, "client", true);
        if (p->declared) jw_kbool(w, "declared", true);
        if (p->shown) jw_kbool(w, "shown", true);
        if (p->problem.ptr) jw_kstr(w, "problem", p->problem);
        if (p->intent.ptr) jw_kstr(w, "intent", p->intent);
        jw_kint(w, "at_ms", p->at_ms);
    }
    jw_end_obj(w);
}

static void write_parts(struct jsonw *w, const struct fact *f)
{
    jw_key(w, "parts");
    jw_arr(w);
    for (size_t i = 0; i < f->parts_count; i++) write_part(w, &f->parts[i]);
    jw_end_arr(w);
}

static void write_field(struct jsonw *w, const struct fact *f, const struct field *d)
{
    const void *at = (const char *)f + d->at;
    switch (d->type) {
    case FIELD_STR:
        if (((const struct str *)at)->ptr) jw_kstr(w, d->name, *(const struct str *)at);
        return;
    case FIELD_RAW:
        if (((const struct str *)at)->ptr) jw_kraw(w, d->name, *(const struct str *)at);
        return;
    case FIELD_INT:
        if (*(const int64_t *)at) jw_kint(w, d->name, *(const int64_t *)at);
        return;
    case FIELD_BOOL:
        if (*(const bool *)at) jw_kbool(w, d->name, true);
        return;
    case FIELD_WORD:
        if (*(const enum word *)at) jw_kstrz(w, d->name, WORDS[*(const enum word *)at]);
        return;
    case FIELD_PARTS:
        if (f->parts_count) write_parts(w, f);
        return;
    }
    must(!"field type");
}

void fact_write(struct buf *out, const struct fact *f)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    for (size_t i = 0; i < FIELD_COUNT; i++) write_field(&w, f, &FIELDS[i]);
    jw_end_obj(&w);
}

/* --- reading --------------------------------------------------------------- */

static enum err read_part(const struct jv *v, struct part *p)
{
    int word;
    if (!jv_is(v, JSON_OBJECT) || !word_of(jv_str_at(v, "type"), PARTS, 3, &word)) return ERR_TYPE;
    p->type = (enum part_type)word;
    p->text = jv_str_at(v, "text");
    p->complete = !jv_true(jv_get(v, "cut"));
    if (jv_get(v, "opaque")) p->opaque = jv_get(v, "opaque")->raw;
    if (p->type != STEP_CALL) return OK;
    if (!word_of(jv_str_at(v, "gate"), GATES, GATE_COUNT, &word)) return ERR_TYPE;
    p->gate = (enum gate)word;
    p->complete = jv_true(jv_get(v, "complete"));
    p->client = jv_true(jv_get(v, "client"));
    p->declared = jv_true(jv_get(v, "declared"));
    p->shown = jv_true(jv_get(v, "shown"));
    p->call = jv_str_at(v, "call");
    p->tool = jv_str_at(v, "tool");
    p->provider_id = jv_str_at(v, "provider_id");
    p->problem = jv_str_at(v, "problem");
    p->intent = jv_str_at(v, "intent");
    p->at_ms = jv_int_at(v, "at_ms", 0);
    return p->call.ptr && p->tool.ptr ? OK : ERR_TYPE;
}

static enum err read_parts(struct arena *a, const struct jv *v, struct fact *f)
{
    if (!jv_is(v, JSON_ARRAY)) return ERR_TYPE;
    f->parts = arena_array(a, v->count ? v->count : 1, sizeof *f->parts);
    if (!f->parts) return ERR_NOMEM;
    JV_EACH (item, v) {
        enum err e = read_part(item, &f->parts[f->parts_count++]);
        if (e) return e;
    }
    return OK;
}

static enum err read_field(struct arena *a, const struct jv *v, struct fact *f,
                           const struct field *d)
{
    void *at = (char *)f + d->at;
    int   word;
    switch (d->type) {
    case FIELD_STR: *(struct str *)at = jv_str(v); return jv_is(v, JSON_STRING) ? OK : ERR_TYPE;
    case FIELD_RAW: *(struct str *)at = v->raw; return OK;
    case FIELD_INT: return jv_int(v, at) ? OK : ERR_TYPE;
    case FIELD_BOOL: *(bool *)at = jv_true(v); return OK;
    case FIELD_WORD:
        if (!word_of(jv_str(v), WORDS, WORD_COUNT, &word)) return ERR_TYPE;
        *(enum word *)at = (enum word)word;
        return OK;
    case FIELD_PARTS: return read_parts(a, v, f);
    }
    return ERR_TYPE;
}

/* Members stand in the order of the table, as fact_write() put them, so the one looked for is not
 * far behind the last (*at). NULL: no field of ours. */
static const struct field *field_named(struct str name, size_t *at)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *x = &FIELDS[(*at + i) % FIELD_COUNT];
        if (!str_is(name, x->name)) continue;
        *at += i + 1;
        return x;
    }
    return NULL;
}

enum err fact_read(struct arena *a, struct str kind, struct str body, struct fact *f)
{
    struct jv  *root;
    struct fact g = { .seq = f->seq, .at_ms = f->at_ms };
    enum err    e = fact_kind_of(kind, &g.kind);
    if (e) return e;
    if ((e = json_parse_own(a, body, &root))) return e;
    size_t at = 0;
    JV_EACH (v, root) {
        const struct field *x = field_named(v->key, &at);
        if (x && (e = read_field(a, v, &g, x))) return e;
    }
    *f = g;
    return OK;
}
