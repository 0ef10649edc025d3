/* exec_out.c -- JSON lines of a subprocess. */
#include "tool/exec_out.h"

#include "base/json.h"
#include "base/jsonw.h"
#include "tool/text.h"

#define EXCERPT_MAX 80

void exec_out_init(struct exec_out *o, size_t max)
{
    o->checks = false;
    o->end = EXEC_NO_END;
    o->lines = o->bad = o->ends = 0;
    buf_init(&o->value, max);
    buf_init(&o->complaint, 1024);
    buf_init(&o->line, max);
    arena_init(&o->arena, 0);
}

void exec_out_done(struct exec_out *o)
{
    buf_done(&o->value);
    buf_done(&o->complaint);
    buf_done(&o->line);
    arena_done(&o->arena);
}

static void complain(struct exec_out *o, struct str line, const char *why)
{
    if (o->bad++ > 0) return;
    buf_printf(&o->complaint, "line %u %s: ", o->lines, why);
    text_clean(&o->complaint, line, EXCERPT_MAX);
    if (line.len > EXCERPT_MAX) buf_lit(&o->complaint, "…");
}

static void take_result(struct exec_out *o, const struct jv *v)
{
    o->ends++;
    if (o->end == EXEC_RESULT) return;
    o->end = EXEC_RESULT;
    buf_clear(&o->value);
    buf_str(&o->value, v->raw);
}

static void take_error(struct exec_out *o, const struct jv *v)
{
    o->ends++;
    if (o->end != EXEC_NO_END) return;
    o->end = EXEC_ERROR;
    buf_clear(&o->value);
    if (v->type == JSON_STRING) text_clean(&o->value, v->str, v->str.len);
    else buf_str(&o->value, v->raw);
}

/* A check's word settles a payment: of two that differ, neither may. */
static void take_answer(struct exec_out *o, const struct jv *v)
{
    take_result(o, v);
    if (o->ends == 1) return;
    o->end = EXEC_ERROR;
    buf_clear(&o->value);
    buf_lit(&o->value, "It said more than one answer.");
}

static bool take_progress(struct exec_out *o, const struct jv *v)
{
    const struct jv     *data = jv_get(v, "data"), *part = jv_get(v, "progress");
    struct tool_progress p = { jv_str_at(v, "stage"), jv_str_at(v, "message"), -1,
                               data ? data->raw : STR_NONE };

    if (part && (!jv_f64(part, &p.progress) || p.progress < 0)) p.progress = -1;
    if (p.progress > 1) p.progress = 1;
    if (!part && !p.stage.ptr && !p.message.ptr && !data) return false;
    o->progress(o, &p);
    return true;
}

static enum err take_line(struct exec_out *o, struct str line)
{
    struct jv       *v;
    const struct jv *end;
    enum err         e;

    line = str_trim(line);
    o->lines++;
    if (line.len == 0) return OK;
    arena_reset(&o->arena);
    e = json_parse(&o->arena, line, &v, NULL);
    if (e == ERR_NOMEM) return e;
    if (e != OK) complain(o, line, "is not JSON");
    else if (v->type != JSON_OBJECT) complain(o, line, "is not a JSON object");
    else if (o->checks && (jv_get(v, "happened") || jv_get(v, "unknown"))) take_answer(o, v);
    else if (!o->checks && (end = jv_get(v, "result"))) take_result(o, end);
    else if ((end = jv_get(v, "error"))) take_error(o, end);
    else if (!take_progress(o, v)) complain(o, line, "says neither progress nor result nor error");
    return o->value.err;
}

enum err exec_out_feed(struct exec_out *o, struct str bytes)
{
    const char *nl;
    enum err    e;

    while ((nl = memchr(bytes.ptr, '\n', bytes.len))) {
        size_t n = (size_t)(nl - bytes.ptr);
        if (o->line.len == 0) e = take_line(o, str_n(bytes.ptr, n)); /* a whole line: no copy */
        else {
            buf_add(&o->line, bytes.ptr, n);
            e = o->line.err ? o->line.err : take_line(o, buf_view(&o->line));
            buf_clear(&o->line);
        }
        if (e != OK) return e;
        bytes = str_from(bytes, n + 1);
    }
    buf_str(&o->line, bytes);
    return o->line.err;
}

enum err exec_out_eof(struct exec_out *o)
{
    enum err e = OK;
    if (o->line.err) return o->line.err;
    if (o->line.len > 0) e = take_line(o, buf_view(&o->line));
    buf_clear(&o->line);
    return e;
}
