/* tidy.c -- see tidy.h.
 *
 * Three passes over copies of the messages: each part for itself (clean_parts), the files from
 * the newest to the oldest (choose_files), then the messages in their order (put_message), where
 * calls meet their results.
 */
#include "model/tidy.h"

#include <stdio.h>

#include "base/id.h"
#include "base/jsonw.h"
#include "base/map.h"
#include "base/utf8.h"

#define TOOL_NAME_MAX   64   /* of a tool */
#define NOTE_NAME       80   /* characters of a file's name that are repeated */
#define FILE_TOKENS     1000 /* about what providers count a picture as */
#define BYTES_PER_TOKEN 4    /* of English; nobody knows it without the model's own table */

#define GO_ON     STR("(Please go on.)")
#define BEGINNING STR("(The conversation begins here.)")
#define NO_WORDS  STR("(This message has no words.)")

struct tidy {
    struct arena               *a;
    const struct taste         *t;
    const struct model_request *q;
    struct msg                 *in;   /* cleaned copies */
    struct msg                 *msgs; /* what is sent */
    size_t                      count;
    struct map                  ids; /* of calls, so far */
    unsigned                    calls;
    size_t                      last_question;
    size_t                      bytes, files;
};

/* --- texts ------------------------------------------------------------------------- */

static bool invisible(uint32_t c)
{
    return c <= ' ' || c == 0x7f || c == 0x85 || c == 0xa0 || c == 0xad || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) ||
           (c >= 0x205f && c <= 0x206f) || c == 0x3000 || c == 0xfeff;
}

bool tidy_blank(struct str s)
{
    uint32_t c;
    while (s.len) {
        unsigned n = utf8_decode(s, &c);
        if (!invisible(c)) return false;
        s = str_from(s, n);
    }
    return true;
}

/* Half a character pair, as our own JSON reader keeps it. */
static bool is_half(struct str s)
{
    return s.len >= 3 && (unsigned char)s.ptr[0] == 0xed && (unsigned char)s.ptr[1] >= 0xa0;
}

static bool is_sound(struct str s)
{
    if (!s.len) return true;
    if (memchr(s.ptr, 0, s.len)) return false;
    for (const char *p = s.ptr; (p = memchr(p, 0xed, (size_t)(s.ptr + s.len - p))); p++)
        if (is_half(str_n(p, (size_t)(s.ptr + s.len - p)))) return false;
    return true;
}

static struct str sound(struct arena *a, struct str s)
{
    if (is_sound(s)) return s;
    char *out = arena_alloc(a, 3 * s.len + 1), *to = out;
    if (!out) return STR_NONE;
    for (size_t i = 0; i < s.len;) {
        bool half = is_half(str_from(s, i));
        if (half || !s.ptr[i]) memcpy(to, "\xEF\xBF\xBD", 3), to += 3;
        else *to++ = s.ptr[i];
        i += half ? 3 : 1;
    }
    return str_n(out, (size_t)(to - out));
}

/* --- inputs ------------------------------------------------------------------------ */

bool tidy_sound(const struct jv *v)
{
    double n;
    if (!is_sound(v->key)) return false;
    if (v->type == JSON_STRING) return is_sound(v->str);
    if (v->type == JSON_NUMBER) return jv_f64(v, &n);
    JV_EACH (c, v)
        if (!tidy_sound(c)) return false;
    return true;
}

static void write_sound(struct jsonw *w, struct arena *a, const struct jv *v)
{
    double n;
    switch (v->type) {
    case JSON_STRING: jw_str(w, sound(a, v->str)); return;
    case JSON_NUMBER:
        if (jv_f64(v, &n)) jw_raw(w, v->raw);
        else
            jw_str(w,
                   v->raw); /* beyond what a double holds: many servers refuse the whole request */
        return;
    case JSON_OBJECT:
        jw_obj(w);
        JV_EACH (m, v) jw_key_str(w, sound(a, m->key)), write_sound(w, a, m);
        jw_end_obj(w);
        return;
    case JSON_ARRAY:
        jw_arr(w);
        JV_EACH (m, v) write_sound(w, a, m);
        jw_end_arr(w);
        return;
    case JSON_NULL:
    case JSON_BOOL: jw_raw(w, v->raw); return;
    }
}

/* The text if it is one JSON object that can be sent, else {}: a history may hold what a model once
 * spelled wrong. */
static struct str sound_object(struct arena *a, struct str text)
{
    struct jv   *v = NULL;
    struct buf   out;
    struct jsonw w;
    if (!text.len || json_parse(a, text, &v, NULL) != OK || v->type != JSON_OBJECT ||
        json_depth(text) > TIDY_DEPTH)
        return STR("{}");
    if (tidy_sound(v)) return text;
    buf_init(&out, 0);
    jsonw_init(&w, &out);
    write_sound(&w, a, v);
    struct str s = arena_dup(a, buf_view(&out));
    if (out.err) a->failed = true;
    buf_done(&out);
    return s;
}

/* --- files ------------------------------------------------------------------------- */

static bool is_one_of(struct str s, const char *const *list)
{
    while (*list && !str_eq_nocase(s, str_c(*list))) list++;
    return *list != NULL;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool tidy_base64(struct str s)
{
    size_t n = s.len;
    if (!n || n % 4) return false;
    while (n && n > s.len - 2 && s.ptr[n - 1] == '=') n--;
    for (size_t i = 0; i < n; i++)
        if (base64_digit(s.ptr[i]) < 0) return false;
    return true;
}

/* The first bytes of what it says. */
static size_t first_bytes(struct str base64, unsigned char out[12])
{
    size_t n = 0;
    for (size_t i = 0; i + 3 < base64.len && n < 12; i += 4) {
        int d[4];
        for (int k = 0; k < 4; k++) d[k] = base64_digit(base64.ptr[i + (size_t)k]);
        out[n++] = (unsigned char)(d[0] << 2 | (d[1] & 63) >> 4);
        if (d[2] >= 0) out[n++] = (unsigned char)(d[1] << 4 | d[2] >> 2);
        if (d[3] >= 0 && d[2] >= 0) out[n++] = (unsigned char)(d[2] << 6 | d[3]);
    }
    return n;
}

/* Of those that providers look into; NULL: none of them. */
static const char *type_of(struct str base64)
{
    static const struct {
        const char   *type;
        unsigned char mark[8];
        size_t        len;
    } table[] = {
        { "image/png", { 0x89, 'P', 'N', 'G' }, 4 },
        { "image/jpeg", { 0xff, 0xd8, 0xff }, 3 },
        { "image/gif", { 'G', 'I', 'F', '8' }, 4 },
        { "application/pdf", { '%', 'P', 'D', 'F', '-' }, 5 },
    };
    unsigned char b[12] = { 0 };
    size_t        n = first_bytes(base64, b);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n >= table[i].len && !memcmp(b, table[i].mark, table[i].len)) return table[i].type;
    return n == 12 && !memcmp(b, "RIFF", 4) && !memcmp(b + 8, "WEBP", 4) ? "image/webp" : NULL;
}

static bool is_seen_into(struct str type)
{
    static const char *const types[] = { "image/png",  "image/jpeg",      "image/gif",
                                         "image/webp", "application/pdf", NULL };
    return is_one_of(type, types);
}

static bool has_scheme(struct str url, const char *const *schemes)
{
    for (; *schemes; schemes++)
        if (str_eq_nocase(str_cut(url, strlen(*schemes)), str_c(*schemes))) return true;
    return false;
}

/* NULL: it can be sent. Else why not, as the end of a sentence. Puts the media type right. */
static const char *file_trouble(struct tidy *x, struct msg_part *p)
{
    const char *seen;
    if (!p->url.len && !p->text.len) return "its content is left out here";
    if (p->url.len) {
        if (!has_scheme(p->url, x->t->schemes)) return "its address cannot be reached from here";
        return is_one_of(p->media_type, x->t->files) ? NULL : "it cannot be shown to this model";
    }
    if (!tidy_base64(p->text)) return "its content is damaged";
    seen = type_of(p->text);
    if (is_seen_into(p->media_type) && !seen) return "its content is not of that type";
    if (seen) p->media_type = str_c(seen);
    if (!is_one_of(p->media_type, x->t->files)) return "it cannot be shown to this model";
    return p->text.len > x->t->file_max ? "it is too large for this model" : NULL;
}

/* One line, without what could pretend to be more than a name. */
static struct str plain_words(struct arena *a, struct str s, size_t chars)
{
    struct str cut = str_cut(s, utf8_take(s, chars));
    char      *out = arena_alloc(a, cut.len + 1);
    if (!out) return STR_NONE;
    for (size_t i = 0; i < cut.len; i++)
        out[i] =
            (unsigned char)cut.ptr[i] < ' ' || strchr("[]\"\x7f", cut.ptr[i]) ? '_' : cut.ptr[i];
    return sound(a, str_n(out, cut.len));
}

/* "[file report.zip (application/zip) was attached; it cannot be shown to this model]" */
static void file_in_words(struct tidy *x, struct msg_part *p, const char *why)
{
    struct str name = plain_words(x->a, p->name, NOTE_NAME),
               type = plain_words(x->a, p->media_type, NOTE_NAME);
    *p = (struct msg_part){ .type = PART_TEXT,
                            .text = arena_printf(
                                x->a, "[file%s" STR_FMT "%s" STR_FMT "%s was attached; %s]",
                                name.len ? " " : "", STR_ARG(name), type.len ? " (" : "",
                                STR_ARG(type), type.len ? ")" : "", why) };
}

/* From the newest to the oldest, as long as they fit. */
static void choose_files(struct tidy *x)
{
    size_t room = x->t->files_max;
    for (size_t i = x->q->msg_count; i-- > 0;)
        for (size_t k = x->in[i].count; k-- > 0;) {
            struct msg_part *p = &x->in[i].parts[k];
            if (p->type != PART_FILE) continue;
            const char *why = file_trouble(x, p);
            if (!why && (x->files >= x->t->file_count || p->text.len > room))
                why = "it is not shown any more, to make room for newer ones";
            if (why) {
                file_in_words(x, p, why);
                continue;
            }
            room -= p->text.len;
            x->files++;
        }
}

/* --- each part for itself ----------------------------------------------------------- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* As tools are listed: the history may speak of one that is not there any more, or never was. */
static struct str good_name(struct arena *a, struct str name)
{
    bool good = name.len && name.len <= TOOL_NAME_MAX,
         lead = !name.len || (name.ptr[0] >= '0' && name.ptr[0] <= '9') || name.ptr[0] == '-';
    size_t n = 0;
    for (size_t i = 0; good && i < name.len; i++) good = name_char(name.ptr[i]);
    if (good && !lead) return name;
    char *out = arena_alloc(a, TOOL_NAME_MAX);
    if (!out) return STR_NONE;
    if (lead) out[n++] = '_';
    for (size_t i = 0; i < name.len && n < TOOL_NAME_MAX; i++)
        out[n++] = name_char(name.ptr[i]) ? name.ptr[i] : '_';
    return str_n(out, n);
}

/* A signature belongs to its text as it was. */
static struct msg_part clean_words(struct tidy *x, struct msg_part p)
{
    bool as_it_was = is_sound(p.text);
    p.text = sound(x->a, p.text);
    p.opaque = as_it_was && p.opaque.len ? x->t->opaque(x->a, &p) : STR_NONE;
    return p;
}

/* False: nothing of it is sent. */
static bool clean_part(struct tidy *x, struct msg_part p, struct msg_part *out)
{
    switch (p.type) {
    case PART_TEXT:
        p = clean_words(x, p);
        if (tidy_blank(p.text) && !p.opaque.len) return false;
        break;
    case PART_REASONING:
        p = clean_words(x, p);
        if (!p.opaque.len && !(x->t->bare_reasoning && !tidy_blank(p.text))) return false;
        break;
    case PART_CALL:
        p.name = good_name(x->a, p.name);
        p.input = sound_object(x->a, p.input);
        p.opaque = p.opaque.len ? x->t->opaque(x->a, &p) : STR_NONE;
        break;
    case PART_RESULT:
        p.name = good_name(x->a, p.name);
        p.text = tidy_blank(p.text) ? STR("(no output)") : sound(x->a, p.text);
        break;
    case PART_FILE: break;
    }
    *out = p;
    return true;
}

/* Only the assistant thinks and calls, only tools have results, and the assistant sends no
 * files. */
static bool has_place(enum msg_role role, enum msg_part_type type)
{
    switch (type) {
    case PART_TEXT: return true;
    case PART_REASONING:
    case PART_CALL: return role == MSG_ASSISTANT;
    case PART_RESULT: return role == MSG_TOOLS;
    case PART_FILE: return role != MSG_ASSISTANT;
    }
    return false;
}

static void clean_parts(struct tidy *x, const struct msg *m, struct msg *to)
{
    *to = *m;
    to->count = 0;
    to->parts = arena_array(x->a, m->count + 1, sizeof *to->parts);
    for (size_t i = 0; to->parts && i < m->count; i++)
        if (has_place(m->role, m->parts[i].type))
            to->count += clean_part(x, m->parts[i], &to->parts[to->count]);
}

/* --- the messages -------------------------------------------------------------------- */

static struct msg *add_msg(struct tidy *x, enum msg_role role, size_t parts)
{
    struct msg *m = &x->msgs[x->count];
    *m = (struct msg){ .role = role, .parts = arena_array(x->a, parts + 1, sizeof *m->parts) };
    if (!m->parts) return NULL;
    x->count++;
    return m;
}

static void add_words(struct tidy *x, struct str text)
{
    struct msg *m = add_msg(x, MSG_USER, 1);
    if (m) m->parts[m->count++] = (struct msg_part){ .type = PART_TEXT, .text = text };
}

/* Before a message of the assistant. */
static void put_between(struct tidy *x)
{
    if (!x->count) add_words(x, BEGINNING);
    else if (x->msgs[x->count - 1].role == MSG_ASSISTANT) add_words(x, GO_ON);
}

static bool is_good_id(const struct tidy *x, struct str id)
{
    return id_valid(id, x->t->id_max) && !map_get(&x->ids, id);
}

/* The call's own id, or one that is the same with every request of this conversation. */
static struct str call_id(struct tidy *x, struct str id)
{
    x->calls++;
    for (unsigned n = x->calls; !is_good_id(x, id) && !x->a->failed; n += 1000)
        id = arena_printf(x->a, "call_%u", n);
    if (map_put(&x->ids, id, x) != OK) x->a->failed = true;
    return id;
}

static struct msg_part *result_of(struct msg *results, struct str id)
{
    for (size_t i = 0; results && i < results->count; i++)
        if (results->parts[i].type == PART_RESULT && str_eq(results->parts[i].id, id))
            return &results->parts[i];
    return NULL;
}

static struct str in_words(struct tidy *x, const struct msg_part *call,
                           const struct msg_part *result)
{
    return arena_printf(x->a, "(The tool " STR_FMT " was called%s" STR_FMT ". It %s: " STR_FMT ")",
                        STR_ARG(result->name), call ? " with " : "",
                        STR_ARG(call ? call->input : STR("")),
                        result->is_error ? "failed" : "answered", STR_ARG(result->text));
}

/* Pairs a call with its result, which is taken out of `results`. */
static struct msg_part take_result(struct msg *results, const struct msg_part *call)
{
    struct msg_part *found = result_of(results, call->id);
    struct msg_part  r = { .type = PART_RESULT,
                           .id = call->id,
                           .name = call->name,
                           .text = STR("Nothing is known about its outcome."),
                           .is_error = true };
    if (!found) return r;
    r = *found;
    r.name = call->name;
    /* the others keep their order */
    memmove(found, found + 1, (size_t)(results->parts + --results->count - found) * sizeof *found);
    return r;
}

static size_t count_calls(const struct msg *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->count; i++) n += m->parts[i].type == PART_CALL;
    return n;
}

static bool are_foreign(const struct msg *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->parts[i].type == PART_CALL && m->parts[i].foreign) return true;
    return false;
}

static bool must_be_words(const struct tidy *x, const struct msg *m, size_t at)
{
    return m->words || (x->t->calls_need_tools && !x->q->tool_count) ||
           (x->t->calls_need_origin && at > x->last_question && are_foreign(m));
}

/* What is left of results when their calls have taken theirs: nothing, in a conversation that is
 * whole. */
static void put_leftovers(struct tidy *x, struct msg *results)
{
    if (!results || !results->count) return;
    struct msg *m = add_msg(x, MSG_USER, results->count);
    for (size_t i = 0; m && i < results->count; i++) {
        struct msg_part *p = &results->parts[i];
        m->parts[m->count++] =
            p->type == PART_RESULT
                ? (struct msg_part){ .type = PART_TEXT, .text = in_words(x, NULL, p) }
                : *p;
    }
}

static void put_calls_in_words(struct tidy *x, const struct msg *m, struct msg *results)
{
    struct msg *told = add_msg(x, MSG_USER, m->count);
    for (size_t i = 0; told && i < m->count; i++) {
        if (m->parts[i].type != PART_CALL) continue;
        struct msg_part r = take_result(results, &m->parts[i]);
        told->parts[told->count++] =
            (struct msg_part){ .type = PART_TEXT, .text = in_words(x, &m->parts[i], &r) };
    }
}

static void put_results(struct tidy *x, struct msg *said, struct msg *results)
{
    struct msg *told = add_msg(x, MSG_TOOLS, said->count);
    for (size_t i = 0; told && i < said->count; i++) {
        struct msg_part *call = &said->parts[i];
        if (call->type != PART_CALL) continue;
        struct msg_part *r = &told->parts[told->count++];
        *r = take_result(results, call);
        r->id = call->id = call_id(x, call->id);
    }
}

/* Everything but the calls, when those are told in words. */
static struct msg *put_said(struct tidy *x, const struct msg *m, bool words)
{
    size_t           n = 0;
    struct msg_part *parts = arena_array(x->a, m->count + 1, sizeof *parts);
    for (size_t i = 0; parts && i < m->count; i++)
        if (!words || m->parts[i].type != PART_CALL) parts[n++] = m->parts[i];
    while (x->t->ends_in_words && n && parts[n - 1].type == PART_REASONING) n--;
    if (!n || !parts) return NULL;
    put_between(x);
    struct msg *said = add_msg(x, MSG_ASSISTANT, 0);
    if (said) said->parts = parts, said->count = n;
    return said;
}

static void put_assistant(struct tidy *x, const struct msg *m, size_t at, struct msg *results)
{
    bool        calls = count_calls(m) > 0, words = calls && must_be_words(x, m, at);
    struct msg *said = put_said(x, m, words);
    if (words) put_calls_in_words(x, m, results);
    else if (calls && said) put_results(x, said, results);
    put_leftovers(x, results);
}

static void put_user(struct tidy *x, const struct msg *m)
{
    if (!m->count) add_words(x, NO_WORDS);
    else x->msgs[x->count++] = *m;
}

static void put_messages(struct tidy *x)
{
    for (size_t i = 0; i < x->q->msg_count && !x->a->failed; i++) {
        struct msg *m = &x->in[i],
                   *next = i + 1 < x->q->msg_count && m[1].role == MSG_TOOLS ? m + 1 : NULL;
        switch (m->role) {
        case MSG_USER: put_user(x, m); break;
        case MSG_ASSISTANT:
            put_assistant(x, m, i, next);
            if (next) i++;
            break;
        case MSG_TOOLS: put_leftovers(x, m); break;
        }
    }
    if (x->count && x->msgs[x->count - 1].role == MSG_ASSISTANT) add_words(x, GO_ON);
}

/* --- the whole ------------------------------------------------------------------------- */

static void list_tools(struct tidy *x, struct model_request *out)
{
    size_t             n = x->q->tool_count < x->t->tools_max ? x->q->tool_count : x->t->tools_max;
    struct model_tool *tools = arena_array(x->a, n + 1, sizeof *tools);
    for (size_t i = 0; tools && i < n; i++) {
        tools[i] = x->q->tools[i];
        struct str d = tools[i].description;
        tools[i].name = good_name(x->a, tools[i].name);
        tools[i].description =
            tidy_blank(d) ? STR_NONE : sound(x->a, str_cut(d, utf8_take(d, x->t->description_max)));
        x->bytes += tools[i].name.len + tools[i].description.len + tools[i].schema.len;
    }
    out->tools = tools;
    out->tool_count = n;
}

static void weigh(struct tidy *x)
{
    for (size_t i = 0; i < x->count; i++)
        for (size_t k = 0; k < x->msgs[i].count; k++) {
            const struct msg_part *p = &x->msgs[i].parts[k];
            if (p->type != PART_FILE) x->bytes += p->text.len + p->input.len + p->name.len;
        }
}

bool tidy_request(struct arena *a, const struct taste *t, const struct model_request *q,
                  struct model_request *out, int64_t *tokens)
{
    struct tidy x = { .a = a, .t = t, .q = q };
    *out = *q;
    x.in = arena_array(a, q->msg_count + 1, sizeof *x.in);
    x.msgs = arena_array(a, 4 * q->msg_count + 2, sizeof *x.msgs);
    if (!x.in || !x.msgs) return false;
    map_init(&x.ids);
    for (size_t i = 0; i < q->msg_count; i++) {
        clean_parts(&x, &q->msgs[i], &x.in[i]);
        if (q->msgs[i].role == MSG_USER) x.last_question = i;
    }
    if (!a->failed) choose_files(&x);
    if (!a->failed) put_messages(&x);
    map_done(&x.ids);
    list_tools(&x, out);
    out->system = tidy_blank(q->system) ? STR_NONE : sound(a, q->system);
    out->msgs = x.msgs;
    out->msg_count = x.count;
    x.bytes += out->system.len;
    if (!a->failed) weigh(&x);
    *tokens = (int64_t)(x.bytes / BYTES_PER_TOKEN + x.files * FILE_TOKENS);
    return !a->failed;
}
