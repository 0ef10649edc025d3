/* trim.c -- see trim.h. */
#include "run/trim.h"

#include "base/clock.h"
#include "base/jsonw.h"
#include "run/effect.h"
#include "run/engine.h"
#include "store/links.h"

const char *const trim_names[STORE_TRIM_KINDS] = { "tools", "files", "reasoning", "words" };

/* Who was asked and who decided stands in none of these. */
static const enum fact_kind loses[] = { FACT_MESSAGE,  FACT_ACTION, FACT_STEP,     FACT_SUMMARY,
                                        FACT_FINISHED, FACT_RESULT, FACT_LATE,     FACT_PROPOSED,
                                        FACT_BROUGHT,  FACT_FORKED, FACT_RESPONSE, FACT_LABELLED,
                                        FACT_ENDED };

bool trim_may(struct str kind)
{
    for (size_t i = 0; i < sizeof loses / sizeof *loses; i++)
        if (str_is(kind, fact_name(loses[i]))) return true;
    return false;
}

/* --- one fact --------------------------------------------------------------------------------- */

/* True: it is another now. */
static bool put(struct str *s, struct str mark)
{
    if (!s->len || str_eq(*s, mark)) return false;
    *s = mark;
    return true;
}

static bool cut(struct str *words)
{
    return put(words, STR(TRIM_MARK));
}

static bool drop(struct str *s)
{
    bool there = s->ptr != NULL;
    *s = STR_NONE;
    return there;
}

/* Somebody may still have to say how it turned out, and must see what it was. */
static bool is_needed(const struct fold *f, struct str call)
{
    const struct call *c = fold_call(f, call);
    return c && call_unsettled(c);
}

static unsigned kind_of_call(struct str tool)
{
    return call_replies(tool) ? TRIM_WORDS : TRIM_TOOLS;
}

static bool trim_call(const struct fold *f, struct part *p, unsigned kinds)
{
    if (!(kinds & kind_of_call(p->tool)) || is_needed(f, p->call)) return false;
    bool changed = put(&p->text, STR("{}"));
    changed |= drop(&p->opaque);
    changed |= cut(&p->problem);
    return cut(&p->intent) || changed;
}

/* Reasoning goes as a whole: without its signature no provider takes it back. */
static enum err trim_parts(struct arena *a, const struct fold *f, struct fact *x, unsigned kinds,
                           bool *changed)
{
    struct part *parts = arena_array(a, x->parts_count + 1, sizeof *parts);
    size_t       n = 0;
    if (!parts) return ERR_NOMEM;
    for (size_t i = 0; i < x->parts_count; i++) {
        struct part *p = &parts[n];
        *p = x->parts[i];
        if (p->type == STEP_CALL) *changed |= trim_call(f, p, kinds);
        if (p->type == STEP_TEXT && kinds & TRIM_WORDS) {
            *changed |= cut(&p->text);
            *changed |= drop(&p->opaque);
        }
        if (p->type == STEP_REASONING && kinds & TRIM_REASONING) *changed = true;
        else n++;
    }
    x->parts = parts;
    x->parts_count = n;
    return OK;
}

/* A JSON list whose items are objects: each is written again, by `one`. */
static enum err trim_list(struct arena *a, struct str *list, bool *changed,
                          enum err (*one)(struct arena *a, struct buf *out, const struct jv *v))
{
    struct jv   *items = NULL;
    struct buf   b;
    struct jsonw w;
    enum err     e = list->ptr ? json_parse(a, *list, &items, NULL) : OK;
    if (e || !items || !items->count) return e == ERR_NOMEM ? e : OK;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    JV_EACH (v, items) {
        struct buf item;
        buf_init(&item, 0);
        if (!e) e = one(a, &item, v);
        jw_raw(&w, buf_view(&item));
        if (item.err) b.err = item.err;
        buf_done(&item);
    }
    jw_end_arr(&w);
    struct str now = buf_into(&b, a);
    if (!e && !now.ptr) e = ERR_NOMEM;
    if (e) return e;
    *changed |= !str_eq(now, *list);
    *list = now;
    return OK;
}

/* With another text in the place of one of its members. */
static void copy_but(struct buf *out, const struct jv *v, const char *key, const char *text)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    JV_EACH (m, v) {
        jw_key_str(&w, m->key);
        if (str_is(m->key, key)) jw_strz(&w, text);
        else jw_jv(&w, m);
    }
    jw_end_obj(&w);
}

static enum err trim_file(struct arena *a, struct buf *out, const struct jv *v)
{
    (void)a;
    copy_but(out, v, "url", "");
    return out->err;
}

static enum err trim_brought(struct arena *a, struct buf *out, const struct jv *v)
{
    (void)a;
    copy_but(out, v, "text", TRIM_MARK);
    return out->err;
}

/* What another version of the conversation did (fold.carried). */
static enum err trim_carried(struct arena *a, struct buf *out, const struct jv *v)
{
    struct fact x = { 0 };
    enum err    e = fact_read(a, STR("finished"), v->raw, &x);
    if (e) return e;
    (void)cut(&x.text);
    (void)put(&x.data, STR("{}"));
    fact_write(out, &x);
    return out->err;
}

/* What a call with an "effect" came to stays, as its key does: that it was done must stay provable,
 * and a second call is given it. */
static bool is_proof(const struct call *c)
{
    return c->started && effect_named(c->started->effect);
}

static bool trim_outcome(const struct fold *f, struct fact *x, unsigned kinds)
{
    const struct call *c = fold_call(f, x->call);
    if (!c || !(kinds & kind_of_call(c->tool)) || call_unsettled(c) || is_proof(c)) return false;
    bool changed = cut(&x->text);
    changed |= drop(&x->value);
    changed |= drop(&x->payload);
    return drop(&x->note) || changed;
}

/* What an answer has beside its words. */
static bool trim_payload(struct fact *x)
{
    bool changed = drop(&x->custom);
    changed |= drop(&x->replies);
    return drop(&x->actions) || changed;
}

static bool trim_words(struct fact *x)
{
    bool changed = cut(&x->text);
    changed |= cut(&x->reason); /* an answer that did not fit: what was wrong with it */
    changed |= drop(&x->declared);
    return trim_payload(x) || changed;
}

static bool is_plain(const struct jv *item)
{
    struct str       type = jv_str_at(item, "type");
    const struct jv *content = jv_get(item, "content");
    if (type.len && !str_is(type, "message")) return false;
    JV_EACH (part, jv_is(content, JSON_ARRAY) ? content : NULL)
        if (!str_is(jv_str_at(part, "type"), "input_text")) return false;
    return true;
}

/* What a request said is in the facts that it began, too: here it is as it came, pictures and
 * outputs of the client's functions between the words. */
static bool input_goes(const struct jv *input, unsigned kinds)
{
    if (kinds & TRIM_WORDS) return true;
    JV_EACH (item, kinds & (TRIM_TOOLS | TRIM_FILES) ? input : NULL)
        if (!is_plain(item)) return true;
    return false;
}

static bool request_goes(const struct jv *member, unsigned kinds)
{
    static const char *const said[] = { "instructions", "metadata", "tools", "tool_choice" };
    if (str_is(member->key, "input")) return input_goes(member, kinds);
    for (size_t i = 0; kinds & TRIM_WORDS && i < sizeof said / sizeof *said; i++)
        if (str_is(member->key, said[i])) return true;
    return false;
}

/* Without what its request said (response.h, `data`); how it is told stays. */
static enum err trim_response(struct arena *a, struct fact *x, unsigned kinds, bool *changed)
{
    struct jv   *data = NULL;
    struct buf   b;
    struct jsonw w;
    bool         less = false;
    enum err     e = x->data.len ? json_parse(a, x->data, &data, NULL) : OK;
    if (e || !data) return e == ERR_NOMEM ? e : OK;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    JV_EACH (m, data) {
        if (request_goes(m, kinds)) {
            less = true;
            continue;
        }
        jw_key_str(&w, m->key);
        jw_jv(&w, m);
    }
    jw_end_obj(&w);
    struct str now = buf_into(&b, a);
    if (!now.ptr) return ERR_NOMEM;
    if (less) x->data = now;
    *changed |= less;
    return OK;
}

static enum err trim(struct arena *a, const struct fold *f, struct fact *x, unsigned kinds,
                     bool *changed)
{
    bool     words = kinds & TRIM_WORDS, tools = kinds & TRIM_TOOLS;
    enum err e = x->parts_count ? trim_parts(a, f, x, kinds, changed) : OK;
    switch (x->kind) {
    case FACT_MESSAGE:
        if (!e && kinds & TRIM_FILES) e = trim_list(a, &x->files, changed, trim_file);
        if (words) *changed |= trim_words(x);
        return e;
    case FACT_RESPONSE:
        if (words) *changed |= trim_words(x);
        return trim_response(a, x, kinds, changed);
    case FACT_STEP:
    case FACT_SUMMARY:
        if (words) *changed |= trim_words(x);
        return e;
    case FACT_ENDED: /* its text is the server's own */
        if (words) *changed |= trim_payload(x);
        return e;
    case FACT_LABELLED:
        if (words) *changed |= put(&x->data, STR("{}"));
        return e;
    case FACT_ACTION: /* of a program's call it says how that is known, not what it was given */
        if (tools && !str_is(x->via, "mcp")) *changed |= drop(&x->data);
        return e;
    case FACT_PROPOSED:
        if (tools) *changed |= drop(&x->data);
        return e;
    case FACT_FINISHED:
    case FACT_RESULT:
    case FACT_LATE: *changed |= trim_outcome(f, x, kinds); return e;
    case FACT_BROUGHT: return e || !words ? e : trim_list(a, &x->data, changed, trim_brought);
    case FACT_FORKED: return e || !tools ? e : trim_list(a, &x->data, changed, trim_carried);
    default: return e;
    }
}

enum err trim_body(struct arena *a, const struct fold *f, const struct fact *x, unsigned kinds,
                   struct str *out)
{
    struct fact copy = *x;
    bool        changed = false;
    struct buf  b;
    *out = STR_NONE;
    if (!trim_may(str_c(fact_name(x->kind)))) return OK;
    enum err e = trim(a, f, &copy, kinds, &changed);
    if (e || !changed) return e;
    buf_init(&b, 0);
    fact_write(&b, &copy);
    *out = buf_into(&b, a);
    return out->ptr ? OK : ERR_NOMEM;
}

/* --- a thread --------------------------------------------------------------------------------- */

static void put_digest(struct jsonw *w, struct log_name log, const struct store_fact *f)
{
    uint8_t digest[CHAIN_LEN];
    char    hex[SHA256_HEX + 1];
    chain_digest(log, f, digest);
    sha256_hex(digest, CHAIN_LEN, hex);
    jw_strz(w, hex);
}

/* [[seq, digest of what stands there now, digest of what stood there], ...] */
static struct str list_digests(struct thread *t, struct log_name log, const struct store_trim *out)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = 0; i < out->count; i++) {
        struct store_fact was = out->facts[i];
        was.body = t->fold.facts[was.seq - 1]->body;
        jw_arr(&w);
        jw_int(&w, (int64_t)was.seq);
        put_digest(&w, log, &out->facts[i]);
        put_digest(&w, log, &was);
        jw_end_arr(&w);
    }
    jw_end_arr(&w);
    return buf_into(&b, &t->batch);
}

static struct str list_kinds(struct arena *a, unsigned kinds)
{
    struct str s = STR("");
    for (int i = 0; i < STORE_TRIM_KINDS; i++)
        if (kinds & 1u << i)
            s = arena_printf(a, STR_FMT "%s%s", STR_ARG(s), s.len ? " " : "", trim_names[i]);
    return s;
}

/* Only the holder of the key can have said so: whoever can write the store could say the rest. */
static enum err sign(struct thread *t, struct log_name log, int64_t at_ms, struct fact *f)
{
    const struct vouch *v = &t->hub->setup.vouch;
    char                name[CHAIN_NAME + 1];
    struct buf          claim;
    if (!v->sign) return OK;
    chain_name(log, t->fold.facts[0]->at_ms, name);
    buf_init(&claim, 0);
    vouch_trim_claim(&claim, name, at_ms, f->note, f->data);
    f->jws = vouch_sign(v, &t->batch, &claim);
    return f->jws.ptr ? OK : ERR_NOMEM;
}

static enum err write_note(struct thread *t, unsigned kinds, struct store_trim *out)
{
    struct log_name log = { t->owner, t->id };
    int64_t         now = clock_wall_ms();
    struct fact     f = { .kind = FACT_TRIMMED,
                          .by = t->editor->by,
                          .via = t->editor->via,
                          .note = list_kinds(&t->batch, kinds),
                          .data = list_digests(t, log, out),
                          .from = (int64_t)out->facts[0].seq,
                          .upto = (int64_t)out->facts[out->count - 1].seq };
    struct buf      b;
    enum err        e = f.data.ptr && f.note.ptr ? sign(t, log, now, &f) : ERR_NOMEM;
    if (e) return e;
    buf_init(&b, 0);
    fact_write(&b, &f);
    out->note = (struct store_fact){ .at_ms = now,
                                     .kind = str_c(fact_name(f.kind)),
                                     .body = buf_into(&b, &t->batch) };
    return out->note.body.ptr ? OK : ERR_NOMEM;
}

/* The facts as they will be; those that change are in `changes`, too. */
static enum err fold_trimmed(struct thread *t, unsigned kinds, struct fold *now,
                             struct store_fact *changes, size_t *count)
{
    for (size_t i = 0; i < t->fold.count; i++) {
        const struct fact *x = t->fold.facts[i];
        struct store_fact  row = { x->seq, x->at_ms, str_c(fact_name(x->kind)), STR_NONE };
        enum err           e = trim_body(&t->batch, &t->fold, x, kinds, &row.body);
        if (!e && row.body.ptr) changes[(*count)++] = row;
        if (!e)
            e = fold_apply(now, &(struct stored_fact){ row.seq, row.at_ms, row.kind,
                                                       row.body.ptr ? row.body : x->body });
        if (e) return e;
    }
    return OK;
}

/* The rows of the approvals list say what the facts say. They are made as always, for once of a
 * fold that is not there yet. */
static enum err list_approvals(struct thread *t, struct fold *now, struct store_trim *out)
{
    struct fold was = t->fold;
    enum err    e = approval_room(t, 2 * now->call_count + 1);
    t->fold = *now;
    for (size_t i = 0; i < t->fold.call_count && !e; i++)
        if (t->fold.calls[i]->step_seq >= t->fold.copied) e = approval_row(t, t->fold.calls[i]);
    *now = t->fold;
    t->fold = was;
    for (size_t i = 0; i < t->approval_count; i++) { /* that fold goes before they are stored */
        struct store_approval *row = &t->approvals[i];
        row->id = arena_dup(&t->batch, row->id);
        row->call = arena_dup(&t->batch, row->call);
        row->tool = arena_dup(&t->batch, row->tool);
    }
    out->approvals = t->approvals;
    out->approval_count = t->approval_count;
    t->approvals = NULL;
    t->approval_count = 0;
    return t->batch.failed ? ERR_NOMEM : e;
}

enum err trim_thread(struct thread *t, unsigned kinds, struct store_trim *out)
{
    struct store_fact *changes = arena_array(&t->batch, t->fold.count + 1, sizeof *changes);
    struct fold        now;
    *out = (struct store_trim){ .expected = t->fold.count, .facts = changes, .kinds = kinds };
    if (!changes) return ERR_NOMEM;
    fold_init(&now);
    enum err e = fold_trimmed(t, kinds, &now, changes, &out->count);
    if (!e && out->count) e = list_approvals(t, &now, out);
    if (!e && out->count) e = write_note(t, kinds, out);
    fold_done(&now);
    if (kinds & TRIM_WORDS && t->title.len && !str_is(t->title, TRIM_MARK))
        out->title = STR(TRIM_MARK);
    return e;
}
