/* sse_in.c -- server-sent events from bytes.
 *
 * `view` points into the bytes of the present read; whatever is still needed
 * when the read ends moves to `data` (finished lines) or `line` (the rest).
 */
#include "base/sse_in.h"

#define KEEP 1024 /* of a buffer between events; larger ones are given back */
/* of an id; a longer one is as good as none, since it could not be sent back */
#define ID_MAX       4096
#define RETRY_MAX_MS 3600000

void sse_in_init(struct sse_in *s, size_t event_max,
                 void (*event)(struct sse_in *, struct str, struct str))
{
    *s = (struct sse_in){ .event = event, .retry_ms = -1 };
    buf_init(&s->line, event_max + 8); /* + "data: " */
    buf_init(&s->data, event_max);
    buf_init(&s->id, ID_MAX);
    buf_init(&s->last_id, ID_MAX + 1); /* its user may add a NUL */
}

void sse_in_done(struct sse_in *s)
{
    buf_done(&s->line);
    buf_done(&s->data);
    buf_done(&s->id);
    buf_done(&s->last_id);
}

void sse_in_stop(struct sse_in *s)
{
    s->stopped = true;
}

static void forget_event(struct sse_in *s)
{
    s->has_data = s->has_id = false;
    s->name_len = 0;
    s->view = STR_NONE;
    buf_clear(&s->data);
    buf_shrink(&s->data, KEEP);
}

/* Only a whole event moves the place to go on from. */
static void keep_id(struct sse_in *s)
{
    if (!s->has_id || s->id.err) return;
    buf_clear(&s->last_id);
    buf_str(&s->last_id, buf_view(&s->id));
    if (s->last_id.err) buf_clear(&s->last_id);
}

static void dispatch(struct sse_in *s)
{
    keep_id(s);
    if (s->has_data)
        s->event(s, str_n(s->name, s->name_len), s->view.ptr ? s->view : buf_view(&s->data));
    forget_event(s);
}

static void keep_view(struct sse_in *s)
{
    if (!s->view.ptr) return;
    buf_str(&s->data, s->view);
    s->view = STR_NONE;
}

/* `stays`: the text lies in the present read and need not be copied yet. */
static void add_data(struct sse_in *s, struct str text, bool stays)
{
    if (!s->has_data && stays && text.len) {
        s->view = text;
    } else {
        keep_view(s);
        if (s->has_data) buf_chr(&s->data, '\n');
        buf_str(&s->data, text);
    }
    s->has_data = true;
}

static void set_name(struct sse_in *s, struct str name)
{
    name = str_cut(name, sizeof s->name);
    if (name.len) memcpy(s->name, name.ptr, name.len);
    s->name_len = (uint8_t)name.len;
}

static void set_id(struct sse_in *s, struct str id)
{
    if (id.len && memchr(id.ptr, 0, id.len)) return;
    buf_clear(&s->id);
    buf_str(&s->id, id);
    s->has_id = true;
}

static void set_retry(struct sse_in *s, struct str value)
{
    uint64_t ms;
    if (str_to_u64(value, &ms)) s->retry_ms = ms > RETRY_MAX_MS ? RETRY_MAX_MS : (int)ms;
}

static void take_line(struct sse_in *s, struct str line, bool stays)
{
    if (line.len == 0) {
        dispatch(s);
        return;
    }
    const char *colon = memchr(line.ptr, ':', line.len);
    size_t      at = colon ? (size_t)(colon - line.ptr) : line.len;
    struct str  field = str_cut(line, at), value = str_from(line, at + 1);
    if (value.len && value.ptr[0] == ' ') value = str_from(value, 1);

    if (str_is(field, "data")) add_data(s, value, stays);
    else if (str_is(field, "event")) set_name(s, value);
    else if (str_is(field, "id")) set_id(s, value);
    else if (str_is(field, "retry")) set_retry(s, value);
    else if (s->error_field && str_is(field, "error")) {
        set_name(s, field);
        add_data(s, value, stays);
    }
}

/* The rest of a line that began in an earlier read. */
static void take_rest(struct sse_in *s, struct str rest)
{
    buf_str(&s->line, rest);
    if (!s->line.err) take_line(s, buf_view(&s->line), false);
    if (s->line.err) s->data.err = s->line.err;
    buf_clear(&s->line);
    buf_shrink(&s->line, KEEP);
}

void sse_in_again(struct sse_in *s)
{
    forget_event(s);
    buf_clear(&s->line);
    s->bom = 0;
    s->after_cr = s->stopped = false;
}

/* First of LF and CR; NULL: the line goes on in the next read. */
static const char *line_end(struct str s)
{
    const char *lf = memchr(s.ptr, '\n', s.len);
    const char *cr = memchr(s.ptr, '\r', lf ? (size_t)(lf - s.ptr) : s.len);
    return cr ? cr : lf;
}

/* The byte order mark may come one byte per read. */
static struct str skip_bom(struct sse_in *s, struct str bytes)
{
    static const char bom[] = "\xEF\xBB\xBF";
    while (s->bom < 3 && bytes.len) {
        if (bytes.ptr[0] != bom[s->bom]) {
            buf_add(&s->line, bom, s->bom); /* it only began like one */
            s->bom = 3;
            break;
        }
        s->bom++;
        bytes = str_from(bytes, 1);
    }
    return bytes;
}

enum err sse_in_feed(struct sse_in *s, struct str bytes)
{
    if (s->bom < 3) bytes = skip_bom(s, bytes);
    while (bytes.len && !s->stopped && !s->data.err) {
        if (s->after_cr && bytes.ptr[0] == '\n') bytes = str_from(bytes, 1);
        s->after_cr = false;
        if (!bytes.len) break;
        const char *end = line_end(bytes);
        if (!end) {
            buf_str(&s->line, bytes);
            if (s->line.err) s->data.err = s->line.err;
            break;
        }
        struct str line = str_n(bytes.ptr, (size_t)(end - bytes.ptr));
        s->after_cr = *end == '\r';
        if (s->line.len) take_rest(s, line);
        else take_line(s, line, true);
        bytes = str_from(bytes, line.len + 1);
    }
    if (s->stopped) return OK;
    keep_view(s);
    if (s->data.err) s->stopped = true;
    return s->data.err;
}

enum err sse_in_end(struct sse_in *s)
{
    if (s->stopped) return s->data.err;
    if (s->line.len) take_rest(s, STR(""));
    if (!s->stopped && !s->data.err) dispatch(s);
    return s->data.err;
}
