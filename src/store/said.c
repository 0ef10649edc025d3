/* said.c -- see said.h. */
#include "store/said.h"

#include "base/json.h"
#include "base/utf8.h"
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

static bool in_text(struct arena *a, struct str text, struct str words, struct str *line)
{
    ptrdiff_t at = text.len ? words_at(text, words) : -1;
    if (at >= 0) *line = line_of(a, text, (size_t)at);
    return at >= 0;
}

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

static bool in_parts(struct json *r, struct arena *a, struct str words, struct str *line)
{
    bool found = false;
    json_array(r);
    while (json_item(r)) {
        struct str text = part_text(r);
        if (!found) found = in_text(a, text, words, line);
    }
    return found;
}

bool said_find(struct arena *a, struct str kind, struct str body, struct str words,
               struct str *line)
{
    bool         step = str_is(kind, "step"), found = false;
    struct arena scratch;
    struct json  r;
    struct str   key;

    arena_init(&scratch, 0);
    json_init(&r, body, &scratch);
    json_object(&r);
    while (!found && json_key(&r, &key)) {
        if (!step && str_is(key, "text")) {
            found = in_text(a, json_string(&r), words, line);
            break;
        }
        if (step && str_is(key, "parts")) found = in_parts(&r, a, words, line);
        else json_skip(&r);
    }
    if (json_end(&r) != OK) found = found && line->ptr; /* cut, or damaged: as far as it went */
    arena_done(&scratch);
    return found;
}
