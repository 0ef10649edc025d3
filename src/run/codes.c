/* codes.c -- see codes.h. */
#include "run/codes.h"

#include <openssl/evp.h>

#include "base/jsonw.h"
#include "run/engine.h"
#include "run/spelling.h"

/* --- which wait ------------------------------------------------------------------------------- */

/* A code that waits in one conversation; with the others of its owner in a list. */
struct code {
    struct code *next;
    struct str   thread;
    unsigned     number;
};

struct owner_codes {
    struct str   owner; /* the key; behind the struct */
    struct code *list;
};

static struct owner_codes *codes_of(struct hub *h, struct str owner)
{
    struct owner_codes *k = map_get(&h->codes, owner);
    if (k || !(k = mem_alloc(sizeof *k + owner.len + 1))) return k;
    memcpy(k + 1, owner.ptr, owner.len);
    k->owner = str_n((char *)(k + 1), owner.len);
    if (map_put(&h->codes, k->owner, k) == OK) return k;
    mem_free(k);
    return NULL;
}

static void add(struct hub *h, const struct thread *t, unsigned number)
{
    struct owner_codes *k = codes_of(h, t->owner);
    struct code        *x = k ? mem_alloc(sizeof *x + t->id.len + 1) : NULL;
    if (!x) return; /* as after a restart: it is known again when the log is read */
    memcpy(x + 1, t->id.ptr, t->id.len);
    *x = (struct code){ k->list, str_n((char *)(x + 1), t->id.len), number };
    k->list = x;
}

static void forget(struct thread *t)
{
    struct owner_codes *k = map_get(&t->hub->codes, t->owner);
    for (struct code **at = k ? &k->list : NULL; at && *at;) {
        struct code *x = *at;
        if (!str_eq(x->thread, t->id)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        mem_free(x);
    }
    if (!k || k->list) return;
    map_remove(&t->hub->codes, k->owner);
    mem_free(k);
}

void codes_note(struct thread *t)
{
    const struct run *r = t->fold.run;
    unsigned          number;
    if (t->hub->codes.count) forget(t);
    for (size_t i = 0; run_live(r) && i < r->call_count; i++) {
        const struct call *c = r->calls[i];
        if (c->state == CALL_ASKED && c->told && spelling_plain(c->told->code, &number))
            add(t->hub, t, number);
    }
}

void codes_done(struct hub *h)
{
    struct owner_codes *k;
    for (size_t i = 0; (k = map_each(&h->codes, &i));) {
        while (k->list) {
            struct code *x = k->list;
            k->list = x->next;
            mem_free(x);
        }
        mem_free(k);
    }
    map_done(&h->codes);
}

/* --- made unreadable -------------------------------------------------------------------------- */

struct blanks {
    struct arena *a;
    unsigned      count;
    bool          is_code[SPELLING_COUNT];
};

static void mark(struct blanks *b, unsigned number)
{
    if (!b->count++) memset(b->is_code, 0, sizeof b->is_code);
    b->is_code[number] = true;
}

static void mark_all(struct blanks *b, const struct thread *t)
{
    const struct owner_codes *k = map_get(&t->hub->codes, t->owner);
    unsigned                  number;
    for (size_t i = 0; i < t->fold.call_count; i++) {
        const struct call *c = t->fold.calls[i];
        for (const struct confirmation *x = c->last; x; x = x->before)
            if (x->told && spelling_plain(x->told->code, &number)) mark(b, number);
    }
    for (const struct code *x = k ? k->list : NULL; x; x = x->next) mark(b, x->number);
}

/* The next code at or behind `from`. */
static bool next_code(const struct blanks *b, struct str s, size_t from, struct spelled *out)
{
    for (; spelling_next(s, from, out); from = out->at + out->len)
        if (b->is_code[out->number]) return true;
    return false;
}

static bool has_code(const struct blanks *b, struct str s)
{
    struct spelled x;
    return next_code(b, s, 0, &x);
}

static void blank(struct blanks *b, struct str *text)
{
    struct buf     out = { 0 };
    struct spelled x;
    size_t         from = 0;
    if (!has_code(b, *text)) return;
    for (; next_code(b, *text, from, &x); from = x.at + x.len) {
        buf_str(&out, str_n(text->ptr + from, x.at - from));
        buf_lit(&out, SPELLING_BLANK);
    }
    buf_str(&out, str_from(*text, from));
    *text = arena_dup(b->a, buf_view(&out));
    if (out.err) b->a->failed = true;
    buf_done(&out);
}

/* What is seen and heard, not read. */
static bool is_media(struct str type)
{
    return str_starts(type, STR("image/")) || str_starts(type, STR("audio/")) ||
           str_starts(type, STR("video/")) || str_is(type, "application/pdf");
}

/* A file of words, as base64. What does not decode is no words. */
static void blank_file(struct blanks *b, struct msg_part *p)
{
    struct str text = p->text;
    if (is_media(p->media_type) || text.len % 4 || text.len > INT32_MAX) return;
    unsigned char *bytes = arena_alloc(b->a, text.len + 1);
    int n = bytes ? EVP_DecodeBlock(bytes, (const unsigned char *)text.ptr, (int)text.len) : -1;
    for (size_t i = text.len; n > 0 && i-- > 0 && text.ptr[i] == '=';) n--;
    struct str words = str_n((char *)bytes, n > 0 ? (size_t)n : 0), was = words;
    if (words.len) blank(b, &words);
    if (words.ptr == was.ptr || b->a->failed) return;
    unsigned char *coded = arena_alloc(b->a, words.len / 3 * 4 + 5);
    if (!coded) return;
    n = EVP_EncodeBlock(coded, (const unsigned char *)words.ptr, (int)words.len);
    p->text = str_n((char *)coded, (size_t)n);
}

static void write_blanked(struct blanks *b, struct jsonw *w, const struct jv *v);

static void write_members(struct blanks *b, struct jsonw *w, const struct jv *v)
{
    JV_EACH (x, v) {
        struct str name = x->key;
        blank(b, &name);
        if (v->type == JSON_OBJECT) jw_key_str(w, name);
        write_blanked(b, w, x);
    }
}

/* The same value, in which no text and no number has a code. */
static void write_blanked(struct blanks *b, struct jsonw *w, const struct jv *v)
{
    struct str text = v->str;
    switch (v->type) {
    case JSON_OBJECT:
        jw_obj(w);
        write_members(b, w, v);
        jw_end_obj(w);
        return;
    case JSON_ARRAY:
        jw_arr(w);
        write_members(b, w, v);
        jw_end_arr(w);
        return;
    case JSON_STRING:
        blank(b, &text);
        jw_str(w, text);
        return;
    default:
        if (has_code(b, v->raw)) jw_str(w, STR(SPELLING_BLANK));
        else jw_raw(w, v->raw);
    }
}

/* The input of a call that a person's button made, or another model. */
static void blank_input(struct blanks *b, struct msg_part *p)
{
    struct buf   out = { 0 };
    struct jsonw w;
    struct jv   *v;
    if (!has_code(b, p->input)) return;
    jsonw_init(&w, &out);
    if (json_parse(b->a, p->input, &v, NULL) == OK) write_blanked(b, &w, v);
    else buf_lit(&out, "{}");
    p->input = arena_dup(b->a, buf_view(&out));
    if (out.err) b->a->failed = true;
    buf_done(&out);
}

/* What the model said itself it knows, and its signatures are about those very bytes. */
static void blank_part(struct blanks *b, struct msg_part *p)
{
    if (p->opaque.ptr) return;
    switch (p->type) {
    case PART_CALL:
        if (p->foreign) blank_input(b, p);
        return;
    case PART_FILE:
        blank(b, &p->name);
        blank(b, &p->url);
        blank_file(b, p);
        blank(b, &p->media_type);
        return;
    default: blank(b, &p->text);
    }
}

/* A function with a code in its name or its schema cannot be told, and called, by another: it is
 * not offered. (No code is made that stands in what the run declares: notice.c.) */
static void blank_tools(struct blanks *b, struct model_request *q)
{
    struct model_tool *list = arena_array(b->a, q->tool_count + 1, sizeof *list);
    size_t             count = 0;
    bool               named = false;
    if (!list) return;
    for (size_t i = 0; i < q->tool_count; i++) {
        struct model_tool x = q->tools[i];
        if (x.declared && (has_code(b, x.name) || has_code(b, x.schema))) continue;
        if (x.declared) blank(b, &x.description);
        named |= str_eq(x.name, q->named);
        list[count++] = x;
    }
    q->tools = list;
    q->tool_count = count;
    if (!count || (q->choice == CHOICE_NAMED && !named)) q->choice = CHOICE_AUTO;
}

enum err codes_blank(const struct thread *t, struct arena *a, struct model_request *q)
{
    struct blanks b;
    b.a = a;
    b.count = 0; /* mark() clears the rest: mostly there is none */
    mark_all(&b, t);
    if (!b.count) return OK;
    blank(&b, &q->system);
    for (size_t i = 0; i < q->msg_count; i++)
        for (size_t k = 0; k < q->msgs[i].count; k++) blank_part(&b, &q->msgs[i].parts[k]);
    if (q->tool_count) blank_tools(&b, q);
    return a->failed ? ERR_NOMEM : OK;
}
