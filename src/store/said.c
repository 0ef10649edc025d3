/* said.c -- see said.h. */
#include "store/said.h"

#include "base/json.h"
#include "base/list.h"
#include "base/utf8.h"
#include "store/sum.h"
#include "store/words.h"

enum { BEFORE_BYTES = 60, AFTER_CHARS = 120 };

/* From a little before `at`, not in the middle of a character. */
static size_t line_from(struct str text, size_t at)
{
    size_t from = at > BEFORE_BYTES ? at - BEFORE_BYTES : 0;
    while (from < at && ((unsigned char)text.ptr[from] & 0xC0) == 0x80) from++;
    return from;
}

static struct str line_of(struct arena *a, struct str text, size_t at)
{
    size_t     from = line_from(text, at);
    struct str rest = str_from(text, at);
    struct str cut = str_n(text.ptr + from, at - from + utf8_take(rest, AFTER_CHARS));
    bool       ends = cut.ptr + cut.len == text.ptr + text.len;
    struct str line = arena_printf(a, "%s" STR_FMT "%s", from ? "\u2026" : "", STR_ARG(cut),
                                   ends ? "" : "\u2026");
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.ptr[i] < ' ') ((char *)line.ptr)[i] = ' ';
    return line;
}

/* --- the words of a fact ------------------------------------------------------------------- */

struct visit { /* `take` is told each text */
    void (*take)(struct visit *v, struct str text);
};

/* One part of a step: its words, if it is of those that are said aloud. */
static struct str part_text(struct json *r)
{
    struct str key, type = STR_NONE, text = STR_NONE;
    json_object(r);
    while (json_key(r, &key)) {
        if (str_is(key, "type")) type = json_string(r);
        else if (str_is(key, "text")) text = json_string(r);
        else json_skip(r);
    }
    return str_is(type, "text") ? text : STR_NONE;
}

static void each_part(struct json *r, struct visit *v)
{
    json_array(r);
    while (json_item(r)) {
        struct str text = part_text(r);
        if (text.len) v->take(v, text);
    }
}

/* A body that was cut ends in the middle of a text, most times: it gets an end there, before
 * whatever was cut in two (a character, an escape). */
static struct str mended(struct arena *a, struct str body)
{
    enum { ESCAPE = 6 }; /* \u1234 */
    size_t end, at, first;

    if (body.len < SAID_BODY_MAX) return body;
    end = at = utf8_cut(body, SAID_BODY_MAX - 1);
    while (at > end - ESCAPE && body.ptr[at - 1] != '\\') at--;
    for (first = at; first && body.ptr[first - 1] == '\\';) first--;
    if ((at - first) % 2) end = at - 1; /* else each is the second one's escape */
    return arena_printf(a, STR_FMT "\"", STR_ARG(str_n(body.ptr, end)));
}

static void each_text(struct str kind, struct str body, struct visit *v)
{
    bool         step = str_is(kind, "step");
    struct arena scratch;
    struct json  r;
    struct str   key, text;

    arena_init(&scratch, 0);
    json_init(&r, mended(&scratch, body), &scratch);
    json_object(&r);
    while (json_key(&r, &key)) {
        if (!step && str_is(key, "text")) {
            if ((text = json_string(&r)).len) v->take(v, text);
            break;
        }
        if (step && str_is(key, "parts")) {
            each_part(&r, v);
            break;
        }
        json_skip(&r);
    }
    enum err e = json_end(&r);
    (void)e; /* cut, or damaged: as far as it went */
    arena_done(&scratch);
}

/* --- looking for some of them -------------------------------------------------------------- */

struct look {
    struct visit  v;
    struct arena *a;
    struct str    words, *line;
    bool          found;
};

static void look_at(struct visit *v, struct str text)
{
    struct look *l = LIST_ITEM(v, struct look, v);
    ptrdiff_t    at = l->found ? -1 : words_at(text, l->words);

    if (at < 0) return;
    l->found = true;
    *l->line = line_of(l->a, text, (size_t)at);
}

bool said_find(struct arena *a, struct str kind, struct str body, struct str words,
               struct str *line)
{
    struct look l = { .v.take = look_at, .a = a, .words = words, .line = line };

    each_text(kind, body, &l.v);
    return l.found && line->ptr;
}

/* --- for an index --------------------------------------------------------------------------- */

struct keep {
    struct visit v;
    struct buf  *out;
};

static void keep_text(struct visit *v, struct str text)
{
    struct buf *out = LIST_ITEM(v, struct keep, v)->out;

    buf_chr(out, '\n');
    words_lower(out, text);
}

void said_words(struct buf *out, struct str kind, struct str body)
{
    each_text(kind, body, &(struct keep){ .v.take = keep_text, .out = out }.v);
}

void said_owner(struct buf *out, struct str owner)
{
    enum { FIRST = 0xF0000, BITS = 15 }; /* of a plane that nobody's letters are in */
    struct sum s = SUM_BEGIN;
    uint64_t   n;
    char       c[4];

    sum_text(&s, owner);
    n = sum_end(&s);
    for (int i = 0; i < SAID_GRAM; i++, n >>= BITS)
        buf_add(out, c, utf8_encode(FIRST + (uint32_t)(n & ((1 << BITS) - 1)), c));
}

bool said_gram(struct str *text, struct str *gram)
{
    gram->ptr = text->ptr;
    gram->len = utf8_take(*text, SAID_GRAM);
    if (utf8_count(*gram) < SAID_GRAM) return false;
    *text = str_from(*text, utf8_take(*gram, 1));
    return true;
}

unsigned said_number(struct str gram)
{
    uint32_t h = 2166136261u; /* FNV-1a: nearly nothing, and the same on every machine */

    for (size_t i = 0; i < gram.len; i++) h = (h ^ (uint8_t)gram.ptr[i]) * 16777619u;
    return (h ^ h >> 16) & 0xffff;
}
