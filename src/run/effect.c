/* effect.c -- see effect.h. */
#include "run/effect.h"

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/jsame.h"
#include "run/engine.h"
#include "run/taking.h"
#include "tool/policy.h"

#define KEY_MAX    400      /* bytes; a longer one is told by its digest */
#define RESULT_MAX 65536    /* bytes of a result that a second call is shown */
#define WORDS      "words:" /* behind the owner: a key that no tool names */

/* --- the key ---------------------------------------------------------------------------------- */

/* The next piece of a template: literal text, or a {name}. */
static bool next_piece(struct str *rest, struct str *piece, bool *name)
{
    size_t i = 0;
    if (!rest->len) return false;
    *name = rest->ptr[0] == '{';
    if (*name)
        while (i < rest->len && rest->ptr[i] != '}') i++;
    else
        while (i < rest->len && rest->ptr[i] != '{') i++;
    *piece = *name ? str_n(rest->ptr + 1, i - 1) : str_cut(*rest, i);
    *rest = str_from(*rest, *name && i < rest->len ? i + 1 : i);
    return true;
}

const char *effect_template_fault(struct str tmpl)
{
    struct str piece;
    bool       name, any = false;
    if (tmpl.len > KEY_MAX) return "\"effect\" is too long";
    for (size_t i = 0, open = 0; i < tmpl.len; i++) {
        if ((tmpl.ptr[i] == '{' && open++) || (tmpl.ptr[i] == '}' && !open--))
            return "\"effect\" has a brace without its partner";
        if (i + 1 == tmpl.len && open) return "\"effect\" has a brace without its partner";
    }
    while (next_piece(&tmpl, &piece, &name)) {
        any |= name;
        if (name && !piece.len) return "\"effect\" has {} without a name in it";
    }
    return any ? NULL
               : "\"effect\" needs a {member} of the arguments: without one every call of "
                 "the tool would be the same effect";
}

/* "a.b" is the pointer "/a/b". */
static bool member(const struct jv *args, struct str name, const struct jv **out)
{
    struct buf pointer;
    buf_init(&pointer, 1024);
    buf_chr(&pointer, '/');
    for (size_t i = 0; i < name.len; i++) buf_chr(&pointer, name.ptr[i] == '.' ? '/' : name.ptr[i]);
    bool ok = !pointer.err && policy_find(args, buf_view(&pointer), out) && *out;
    buf_done(&pointer);
    return ok;
}

/* So that two values never read like one: what is not plain stands as %XX. */
static void put_plain(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '@' || c == ' ' || c >= 0x80;
        if (plain) buf_chr(out, (char)c);
        else buf_printf(out, "%%%02X", c);
    }
}

/* False: nothing is left of it. */
static bool put_text(struct buf *out, struct str s)
{
    struct buf text;
    buf_init(&text, 0);
    same_text(&text, s);
    put_plain(out, buf_view(&text));
    if (text.err) out->err = ERR_NOMEM;
    bool any = text.len > 0;
    buf_done(&text);
    return any;
}

static bool put_value(struct buf *out, const struct jv *v)
{
    char    text[DECIMAL_TEXT];
    int64_t units;
    switch (v->type) {
    case JSON_STRING: return put_text(out, v->str);
    case JSON_NUMBER:
        if (decimal_of(v, &units) != OK) return false;
        decimal_write(units, text);
        buf_lit(out, text);
        return true;
    case JSON_BOOL: buf_lit(out, v->boolean ? "true" : "false"); return true;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    return false;
}

/* A long key is as good by its digest; what people read of it is its beginning. */
static bool shorten(struct buf *key)
{
    unsigned char hash[32];
    if (key->len <= KEY_MAX) return true;
    if (EVP_Digest(key->ptr, key->len, hash, NULL, EVP_sha256(), NULL) != 1) return false;
    key->len = KEY_MAX / 2;
    buf_chr(key, '~');
    for (size_t i = 0; i < sizeof hash; i++) buf_printf(key, "%02x", hash[i]);
    return true;
}

enum err effect_key(struct arena *a, const struct tool *tool, struct str owner,
                    const struct jv *args, struct str *out)
{
    struct str       rest = tool->effect, piece;
    const struct jv *v;
    struct buf       key;
    bool             name, ok = true;
    buf_init(&key, 0);
    buf_lit(&key, tool->effect_own ? EFFECT_OWN : "effect:");
    if (tool->effect_own) {
        put_plain(&key, owner);
        buf_chr(&key, '/');
    }
    while (ok && next_piece(&rest, &piece, &name)) {
        if (name) ok = member(args, piece, &v) && put_value(&key, v);
        else buf_str(&key, piece);
    }
    if (ok && !shorten(&key)) key.err = ERR_NOMEM;
    enum err e = key.err ? ERR_NOMEM : ok ? OK : ERR_TYPE;
    if (!e && !(*out = arena_dup(a, buf_view(&key))).ptr) e = ERR_NOMEM;
    buf_done(&key);
    return e;
}

bool effect_named(struct str key)
{
    if (!str_starts(key, STR(EFFECT_OWN))) return key.len > 0;
    struct str rest = str_from(key, sizeof EFFECT_OWN - 1), owner;
    return !str_split(&rest, '/', &owner) || !str_starts(rest, STR(WORDS));
}

/* --- the same words twice --------------------------------------------------------------------- */

/* How much of it counts as done already, or about to be: not what certainly did nothing. */
static bool is_spent(const struct call *c)
{
    return call_took_effect(c) || !c->finished || c->finished->outcome == WORD_DUPLICATE;
}

/* The how-manieth such call of its run it is. */
static size_t place_of(const struct fold *f, const struct call *c)
{
    size_t n = 0;
    for (size_t i = c->run->calls_from; i < f->call_count && f->calls[i] != c; i++) {
        const struct call *x = f->calls[i];
        n += x->run == c->run && x->state != CALL_REFUSED && is_spent(x) &&
             str_eq(x->tool, c->tool) && jv_same(x->args, c->args);
    }
    return n;
}

/* The request of words that began the run; NULL: it came by a door where messages have names. */
static const struct fact *words_of(const struct fold *f, const struct run *r)
{
    for (size_t i = 0; i < f->response_count; i++)
        if (str_eq(f->responses[i]->run, r->id))
            return f->responses[i]->chain.len ? f->responses[i] : NULL;
    return NULL;
}

static bool digest_of(const struct jv *args, unsigned char hash[32])
{
    struct buf   text;
    struct jsonw w;
    buf_init(&text, 0);
    jsonw_init(&w, &text);
    jw_same(&w, args);
    bool ok = !text.err && EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) == 1;
    buf_done(&text);
    return ok;
}

static enum err words_key(struct thread *t, const struct call *c, struct str *out)
{
    const struct fact *said = words_of(&t->fold, c->run);
    unsigned char      hash[32];
    struct buf         key;
    if (!said) return OK;
    if (!digest_of(c->args, hash)) return ERR_NOMEM;
    buf_init(&key, 0);
    buf_lit(&key, EFFECT_OWN);
    put_plain(&key, t->owner);
    buf_printf(&key, "/" WORDS STR_FMT ":" STR_FMT ":" STR_FMT ":%zu:", STR_ARG(said->chain),
               STR_ARG(said->note), STR_ARG(c->tool), place_of(&t->fold, c));
    for (size_t i = 0; i < sizeof hash; i++) buf_printf(&key, "%02x", hash[i]);
    if (!shorten(&key)) key.err = ERR_NOMEM;
    *out = key.err ? STR_NONE : arena_dup(&t->batch, buf_view(&key));
    buf_done(&key);
    return out->ptr ? OK : ERR_NOMEM;
}

/* --- what stands under it ------------------------------------------------------------------- */

/* {"owner","thread","tool","call","by","at_ms","text"?,"value"?} */
static struct str body(struct thread *t, const struct call *c, const struct fact *outcome)
{
    struct buf   b;
    struct jsonw w;
    struct str   by = c->decided && c->decided->by.len ? c->decided->by : t->owner;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "owner", t->owner);
    jw_kstr(&w, "thread", t->id);
    jw_kstr(&w, "tool", c->tool);
    jw_kstr(&w, "call", c->id);
    jw_kstr(&w, "by", by);
    jw_kint(&w, "at_ms", c->started ? c->started->at_ms : clock_wall_ms());
    if (outcome && outcome->text.ptr && outcome->text.len <= RESULT_MAX)
        jw_kstr(&w, "text", outcome->text);
    if (outcome && outcome->value.ptr && outcome->value.len <= RESULT_MAX)
        jw_kraw(&w, "value", outcome->value);
    jw_end_obj(&w);
    return buf_into(&b, &t->batch);
}

/* A person said yes to this very call. */
static bool was_asked(const struct call *c)
{
    return c->decided && c->decided->outcome == WORD_APPROVED && !c->decided->grant.len;
}

const struct store_stock *effect_in_way(const struct thread *t, const struct call *c)
{
    const struct store_stock *taken = taking_found(t, c->id, "effect");
    const struct tool        *tool = taken ? call_tool(t, c) : NULL;
    return tool && !tool->effect.len && was_asked(c) ? NULL : taken;
}

enum err effect_take(struct thread *t, const struct call *c, struct str *out)
{
    const struct tool *tool = call_tool(t, c);
    struct store_take  k = { .op = TAKE_MAKE, .kind = STR("effect"), .state = STR("running") };
    bool               named = tool && tool->effect.len;
    enum err           e = OK;
    *out = STR_NONE;
    if (!tool || (!named && (tool->idempotent || c->client))) return OK;
    if (named) e = effect_key(&t->batch, tool, t->owner, c->args, &k.key);
    else e = words_key(t, c, &k.key);
    if (e || !k.key.ptr || (!named && taking_refused(t, c->id, k.key))) return e;
    k.holder = c->id;
    k.body = body(t, c, NULL);
    k.with_log = !named;
    if (!named) k.until_ms = clock_wall_ms() + EFFECT_WORDS_MS;
    else if (tool->effect_days)
        k.until_ms = clock_wall_ms() + (int64_t)tool->effect_days * 86400 * 1000;
    if (!k.body.ptr) return ERR_NOMEM;
    *out = k.key;
    return thread_take(t, &k);
}

static enum err set(struct thread *t, const struct call *c, const char *state, struct str text)
{
    struct store_take k = { .op = TAKE_SET,
                            .key = c->started->effect,
                            .holder = c->id,
                            .state = str_c(state),
                            .body = text };
    return thread_take(t, &k);
}

enum err effect_follow(struct thread *t, const struct call *c, const struct fact *f)
{
    bool ends = f->kind == FACT_FINISHED || f->kind == FACT_SETTLED;
    if (!ends || !c->started || !c->started->effect.len) return OK;
    if (f->outcome == WORD_UNKNOWN) return set(t, c, "unknown", STR_NONE);
    if (f->outcome == WORD_DONE) {
        struct str text = body(t, c, f);
        return text.ptr ? set(t, c, "done", text) : ERR_NOMEM;
    }
    return thread_take(
        t, &(struct store_take){ .op = TAKE_DROP, .key = c->started->effect, .holder = c->id });
}

/* --- a second call ---------------------------------------------------------------------------- */

/* The first call, as the second one's card and model are told of it. `by`: its row, which knows the
 * call and the time also when whose it was is erased (sweep.h) and the body says nothing any
 * more. */
static void write_first(struct jsonw *w, const struct thread *t, const struct jv *first,
                        const struct store_stock *by)
{
    char time[CLOCK_RFC3339_LEN + 1];
    bool own = str_eq(jv_str_at(first, "owner"), t->owner);
    clock_rfc3339(jv_int_at(first, "at_ms", by->made_ms), time);
    jw_obj(w);
    jw_kstr(w, "call", by->holder);
    jw_kstrz(w, "at", time);
    jw_kstr(w, "by", jv_str_at(first, "by"));
    jw_key(w, "thread");
    jw_str_or_null(w, own ? jv_str_at(first, "thread") : STR_NONE);
    jw_end_obj(w);
}

static void write_duplicate(struct jsonw *w, const struct thread *t, const struct jv *first,
                            const struct store_stock *by)
{
    const struct jv *value = jv_get(first, "value");
    jw_obj(w);
    jw_kbool(w, "duplicate", true);
    jw_kstrz(w, "message", "This was done before and was not done again.");
    jw_key(w, "first");
    write_first(w, t, first, by);
    jw_key(w, "result");
    if (value) jw_raw(w, value->raw);
    else jw_str_or_null(w, jv_str_at(first, "text"));
    jw_end_obj(w);
}

static enum err finish_duplicate(struct thread *t, struct call *c, const struct jv *first,
                                 const struct store_stock *by)
{
    struct fact f = {
        .kind = FACT_FINISHED, .call = c->id, .outcome = WORD_DUPLICATE, .of = by->holder
    };
    struct buf   text, whom;
    struct jsonw w;
    buf_init(&text, 0);
    buf_init(&whom, 0);
    jsonw_init(&w, &text);
    write_duplicate(&w, t, first, by);
    jsonw_init(&w, &whom);
    write_first(&w, t, first, by);
    f.text = f.value = buf_view(&text);
    f.data = buf_view(&whom);
    enum err e = text.err || whom.err ? ERR_NOMEM : thread_add(t, &f);
    buf_done(&text);
    buf_done(&whom);
    return e;
}

enum err effect_taken(struct thread *t, struct call *c, const struct store_stock *by)
{
    bool        running = str_is(by->state, "running");
    struct jv  *first = NULL;
    struct fact f = { .kind = FACT_FINISHED, .call = c->id, .outcome = WORD_FAILED };
    if (str_is(by->state, "done") && json_parse_own(&t->batch, by->body, &first) == OK)
        return finish_duplicate(t, c, first, by);
    f.text = running ? STR("{\"error\":\"The same effect is being carried out by another call at "
                           "this moment; this one was not run. Do not try it again before that one "
                           "has ended.\",\"duplicate\":true}")
                     : STR("{\"error\":\"The same effect was begun by another call, and nobody "
                           "knows yet whether it happened; this one was not run. A person has to "
                           "settle the first one before it may be tried again.\",\"duplicate\":"
                           "true}");
    f.code = running ? STR("effect_running") : STR("effect_unknown");
    return thread_add(t, &f);
}
