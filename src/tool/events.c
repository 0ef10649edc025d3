/* events.c -- server-sent events from bytes. The WHATWG rules, bounded. */
#include "tool/events.h"

#define NAME_MAX_LEN 256
#define ID_MAX_LEN   4096
#define RETRY_MAX_MS 3600000

void events_init(struct events *e, size_t event_max, void (*event)(struct events *, struct str, struct str))
{
    *e = (struct events){ .event = event, .retry_ms = -1 };
    buf_init(&e->line, event_max);
    buf_init(&e->data, event_max);
    buf_init(&e->name, NAME_MAX_LEN);
    buf_init(&e->id, ID_MAX_LEN);
    buf_init(&e->last_id, ID_MAX_LEN);
}

void events_done(struct events *e)
{
    buf_done(&e->line);
    buf_done(&e->data);
    buf_done(&e->name);
    buf_done(&e->id);
    buf_done(&e->last_id);
}

static void dispatch(struct events *e)
{
    if (e->id_seen && e->id.err == OK) {
        buf_clear(&e->last_id);
        buf_str(&e->last_id, buf_view(&e->id));
        e->has_id = e->id.len > 0;
    }
    if (e->has_data && e->data.err == OK) e->event(e, buf_view(&e->name), buf_view(&e->data));
    buf_clear(&e->data);
    buf_clear(&e->name);
    buf_clear(&e->id);
    e->has_data = e->id_seen = false;
}

static void take_retry(struct events *e, struct str value)
{
    uint64_t ms;
    if (str_to_u64(value, &ms)) e->retry_ms = ms > RETRY_MAX_MS ? RETRY_MAX_MS : (long)ms;
}

static void field(struct events *e, struct str name, struct str value)
{
    if (str_is(name, "data")) {
        if (e->has_data) buf_chr(&e->data, '\n');
        buf_str(&e->data, value);
        e->has_data = true;
    } else if (str_is(name, "event")) {
        buf_clear(&e->name);
        buf_str(&e->name, value);
    } else if (str_is(name, "id")) {
        if (memchr(value.ptr, 0, value.len)) return;
        buf_clear(&e->id);
        buf_str(&e->id, value);
        e->id_seen = true;
    } else if (str_is(name, "retry")) take_retry(e, value);
}

static enum err take_line(struct events *e, struct str line)
{
    const char *colon;

    if (!e->started && str_starts(line, STR("\xEF\xBB\xBF"))) line = str_from(line, 3);
    e->started = true;
    if (line.len == 0) dispatch(e);
    else if (!(colon = memchr(line.ptr, ':', line.len))) field(e, line, STR(""));
    else if (colon > line.ptr) {
        struct str name = str_n(line.ptr, (size_t)(colon - line.ptr)), value = str_from(line, name.len + 1);
        if (value.len && value.ptr[0] == ' ') value = str_from(value, 1);
        field(e, name, value);
    }
    return e->data.err;
}

static size_t line_end(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '\n' || s.ptr[i] == '\r') return i;
    return s.len;
}

enum err events_feed(struct events *e, struct str bytes)
{
    enum err err = OK;

    while (bytes.len > 0 && err == OK) {
        size_t n;
        if (e->skip_lf) {
            e->skip_lf = false;
            if (bytes.ptr[0] == '\n') {
                bytes = str_from(bytes, 1);
                continue;
            }
        }
        n = line_end(bytes);
        buf_add(&e->line, bytes.ptr, n);
        if (e->line.err) return e->line.err;
        if (n == bytes.len) return OK;
        e->skip_lf = bytes.ptr[n] == '\r';
        err = take_line(e, buf_view(&e->line));
        buf_clear(&e->line);
        bytes = str_from(bytes, n + 1);
    }
    return err;
}

enum err events_end(struct events *e)
{
    enum err err = e->line.len ? take_line(e, buf_view(&e->line)) : OK;
    buf_clear(&e->line);
    if (err == OK) dispatch(e);
    return err;
}
