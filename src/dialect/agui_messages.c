/* agui_messages.c -- a thread as AG-UI messages: MESSAGES_SNAPSHOT.
 *
 * The snapshot takes the place of the client's whole list: what is not in it, the client drops. So
 * what the log knows comes from the log, with the ids that the stream gave it, and what only the
 * application knows (its system message, its own assistant's words) is put back where it stood.
 * Reasoning and activity are left out altogether: the client then keeps its own.
 */
#include "dialect/agui.h"
#include "run/history.h"

/* --- what we made ----------------------------------------------------------------------------- */

enum err agui_ids_init(struct agui_ids *k, const struct fold *f)
{
    enum err e = OK;
    *k = (struct agui_ids){ .f = f };
    map_init(&k->messages);
    map_init(&k->runs);
    for (size_t i = 0; f && i < f->count && !e; i++) {
        const struct fact *x = f->facts[i];
        if (x->kind == FACT_MESSAGE && x->id.len)
            e = map_put(&k->messages, x->id, (void *)(uintptr_t)x);
    }
    for (size_t i = 0; f && i < f->run_count && !e; i++)
        e = map_put(&k->runs, f->runs[i]->id, f->runs[i]);
    return e;
}

void agui_ids_done(struct agui_ids *k)
{
    map_done(&k->messages);
    map_done(&k->runs);
}

/* "msg-RUN-N": of a run in this thread? */
static bool is_step_id(const struct agui_ids *k, struct str rest)
{
    size_t   dash = rest.len;
    uint64_t n;
    while (dash && rest.ptr[dash - 1] != '-') dash--;
    return dash > 1 && str_to_u64(str_from(rest, dash), &n) &&
           map_get(&k->runs, str_cut(rest, dash - 1));
}

bool agui_knows(const struct agui_ids *k, struct str id)
{
    if (!id.len || !k->f) return false;
    if (str_starts(id, STR("msg-")) && is_step_id(k, str_from(id, 4))) return true;
    if (str_starts(id, STR("think-")) && is_step_id(k, str_from(id, 6))) return true;
    if ((str_starts(id, STR("res-")) || str_starts(id, STR("act-"))) &&
        fold_call(k->f, str_from(id, 4)))
        return true;
    return map_get(&k->messages, id) != NULL;
}

/* --- what only they know ---------------------------------------------------------------------- */

/* Of the client's list; those behind the same message of ours are linked, in their order. */
struct theirs {
    const struct jv *message;
    struct theirs   *next;
};

struct snapshot {
    struct jsonw      *w;
    const struct fold *f;
    uint64_t           seq;
    struct arena       arena;
    struct agui_ids    known;
    struct map         ours;  /* ids in the snapshot; the value is which of them, from 1 */
    size_t             count; /* of ours so far */
    bool               written;
    struct theirs    **behind, **last; /* by count; behind[0]: before all of ours */
    struct run        *run;            /* whose steps are being counted */
    unsigned           step;
};

static void put_theirs(struct snapshot *s)
{
    if (!s->written) return;
    for (const struct theirs *x = s->behind[s->count]; x; x = x->next) jw_jv(s->w, x->message);
}

/* The first round counts and remembers, the second writes. True: write it. */
static bool begin_message(struct snapshot *s, struct str id, const char *role)
{
    s->count++;
    if (!s->written) {
        struct str own = arena_dup(&s->arena, id);
        if (own.ptr && map_put(&s->ours, own, (void *)(uintptr_t)s->count) != OK)
            s->arena.failed = true;
        return false;
    }
    jw_obj(s->w);
    jw_kstr(s->w, "id", id);
    jw_kstrz(s->w, "role", role);
    return true;
}

static void end_message(struct snapshot *s)
{
    jw_end_obj(s->w);
    put_theirs(s);
}

/* --- from the log ----------------------------------------------------------------------------- */

static const char *kind_of(struct str type)
{
    return str_starts(type, STR("image/"))   ? "image"
           : str_starts(type, STR("audio/")) ? "audio"
           : str_starts(type, STR("video/")) ? "video"
                                             : "document";
}

static void write_file(struct jsonw *w, const struct jv *v)
{
    struct str url = jv_str_at(v, "url"), type = jv_str_at(v, "mediaType");
    ptrdiff_t  comma = str_find(url, STR(";base64,"));
    bool       data = str_starts(url, STR("data:")) && comma > 0;
    jw_obj(w);
    jw_kstrz(w, "type", kind_of(type));
    jw_key(w, "source");
    jw_obj(w);
    jw_kstrz(w, "type", data ? "data" : "url");
    jw_kstr(w, "value", data ? str_from(url, (size_t)comma + 8) : url);
    if (type.len) jw_kstr(w, "mimeType", type);
    jw_end_obj(w);
    jw_end_obj(w);
}

static void write_user(struct snapshot *s, const struct fact *f)
{
    struct jv *files = NULL;
    if (!begin_message(s, f->id, "user")) return;
    if (!f->files.ptr || json_parse(&s->arena, f->files, &files, NULL) != OK || !files->count)
        jw_kstr(s->w, "content", f->text);
    else {
        jw_key(s->w, "content");
        jw_arr(s->w);
        JV_EACH (v, files) write_file(s->w, v);
        jw_obj(s->w);
        jw_kstrz(s->w, "type", "text");
        jw_kstr(s->w, "text", f->text);
        jw_end_obj(s->w);
        jw_end_arr(s->w);
    }
    end_message(s);
}

static const struct call *shown_call(const struct snapshot *s, const struct part *p)
{
    const struct call *c = p->type == STEP_CALL ? fold_call(s->f, p->call) : NULL;
    return c && !call_replies(c->tool) ? c : NULL;
}

static void write_text(struct snapshot *s, const struct fact *f)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < f->parts_count; i++) {
        if (f->parts[i].type != STEP_TEXT) continue;
        if (text.len) buf_lit(&text, "\n\n");
        buf_str(&text, f->parts[i].text);
    }
    if (text.len || text.err) jw_kbuf(s->w, "content", &text);
    buf_done(&text);
}

static void write_calls(struct snapshot *s, const struct fact *f)
{
    bool any = false;
    for (size_t i = 0; i < f->parts_count; i++) {
        const struct call *c = shown_call(s, &f->parts[i]);
        if (!c) continue;
        if (!any) jw_key(s->w, "toolCalls"), jw_arr(s->w);
        any = true;
        jw_obj(s->w);
        jw_kstr(s->w, "id", c->id);
        jw_kstrz(s->w, "type", "function");
        jw_key(s->w, "function");
        jw_obj(s->w);
        jw_kstr(s->w, "name", c->tool);
        jw_kstr(s->w, "arguments", c->input);
        jw_end_obj(s->w);
        jw_end_obj(s->w);
    }
    if (any) jw_end_arr(s->w);
}

static bool has_words(const struct snapshot *s, const struct fact *f)
{
    for (size_t i = 0; i < f->parts_count; i++)
        if ((f->parts[i].type == STEP_TEXT && f->parts[i].text.len) || shown_call(s, &f->parts[i]))
            return true;
    return false;
}

static void write_outcome(struct snapshot *s, const struct call *c)
{
    char id[AGUI_ID_MAX];
    if (!c->finished || c->finished->seq > s->seq ||
        !begin_message(s, agui_id(id, "res", c->id, 0), "tool"))
        return;
    jw_kstr(s->w, "toolCallId", c->id);
    agui_content(s->w, "content", c);
    if (c->finished->outcome != WORD_DONE && c->finished->outcome != WORD_DUPLICATE)
        jw_kstrz(s->w, "error", word_name(c->finished->outcome));
    end_message(s);
}

/* A step's words and calls, then the outcomes of its calls. */
static void write_step(struct snapshot *s, const struct fact *f)
{
    char id[AGUI_ID_MAX];
    if (has_words(s, f) && begin_message(s, agui_id(id, "msg", s->run->id, s->step), "assistant")) {
        write_text(s, f);
        write_calls(s, f);
        end_message(s);
    }
    for (size_t i = 0; i < f->parts_count; i++) {
        const struct call *c = shown_call(s, &f->parts[i]);
        if (c) write_outcome(s, c);
    }
}

static void write_fact(struct snapshot *s, const struct fact *f)
{
    struct run *r = fold_run_at(s->f, f->seq);
    if (r != s->run) s->step = 0;
    s->run = r;
    if (f->kind == FACT_MESSAGE) write_user(s, f);
    if (f->kind == FACT_STEP) s->step++;
    if (r && (f->kind == FACT_STEP || f->kind == FACT_ACTION)) write_step(s, f);
}

static void write_all(struct snapshot *s, const struct fact *const *v, size_t n)
{
    s->count = 0;
    s->run = NULL;
    put_theirs(s);
    for (size_t i = 0; i < n && v[i]->seq <= s->seq; i++) write_fact(s, v[i]);
}

/* --- both ------------------------------------------------------------------------------------- */

static bool is_theirs(const struct snapshot *s, const struct jv *m)
{
    char               id[AGUI_ID_MAX];
    struct str         role = jv_str_at(m, "role");
    const struct call *c =
        str_is(role, "tool") ? fold_call(s->f, jv_str_at(m, "toolCallId")) : NULL;
    if (!jv_is(m, JSON_OBJECT) || !jv_str_at(m, "id").len) return false;
    if (str_is(role, "reasoning") || str_is(role, "activity")) return false;
    /* what came of the server's own call the server says; and of the page's, what is listed under
     * our id */
    if (c && (!c->client || map_get(&s->ours, agui_id(id, "res", c->id, 0)))) return false;
    return !agui_knows(&s->known, jv_str_at(m, "id"));
}

static void keep(struct snapshot *s, const struct jv *m, size_t behind)
{
    struct theirs *x = arena_new(&s->arena, struct theirs);
    if (!x) return;
    x->message = m;
    if (s->last[behind]) s->last[behind]->next = x;
    else s->behind[behind] = x;
    s->last[behind] = x;
}

static enum err keep_theirs(struct snapshot *s, const struct jv *list)
{
    size_t behind = 0;
    s->behind = arena_array(&s->arena, s->count + 1, sizeof(struct theirs *));
    s->last = arena_array(&s->arena, s->count + 1, sizeof(struct theirs *));
    if (!s->behind || !s->last) return ERR_NOMEM;
    JV_EACH (m, list) {
        size_t at = (size_t)(uintptr_t)map_get(&s->ours, jv_str_at(m, "id"));
        if (at) behind = at;
        else if (is_theirs(s, m)) keep(s, m, behind);
    }
    return OK;
}

static void write_event(struct snapshot *s, struct buf *out, const struct fact *const *v, size_t n)
{
    s->written = true;
    buf_lit(out, "data: ");
    jsonw_init(s->w, out);
    jw_obj(s->w);
    jw_kstrz(s->w, "type", "MESSAGES_SNAPSHOT");
    jw_key(s->w, "messages");
    jw_arr(s->w);
    write_all(s, v, n);
    jw_end_arr(s->w);
    jw_end_obj(s->w);
    buf_lit(out, "\n\n");
}

enum err agui_snapshot(struct buf *out, const struct thread *t, uint64_t seq,
                       const struct jv *theirs)
{
    const struct fact **v;
    size_t              n;
    struct jsonw        w;
    struct snapshot     s = { .w = &w, .f = thread_fold(t), .seq = seq };
    arena_init(&s.arena, 0);
    map_init(&s.ours);
    enum err e = agui_ids_init(&s.known, s.f);
    if (!e) e = history_visible(&s.arena, s.f, &v, &n);
    if (!e) {
        write_all(&s, v, n);
        e = keep_theirs(&s, theirs);
    }
    if (!e) write_event(&s, out, v, n);
    if (!e && (s.arena.failed || out->err)) e = ERR_NOMEM;
    agui_ids_done(&s.known);
    map_done(&s.ours);
    arena_done(&s.arena);
    return e;
}
