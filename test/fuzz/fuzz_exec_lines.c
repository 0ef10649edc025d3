/* fuzz_exec_lines.c -- what a program or an endpoint says, cut into pieces of the size the first
 * byte names: as JSON lines, and as server-sent events whose data are such lines. */
#include <stdlib.h>

#include "base/sse_in.h"
#include "tool/exec_out.h"
#include "tool/text.h"

static void progress(struct exec_out *o, const struct tool_progress *p)
{
    if (p->progress > 1 || (p->progress < 0 && p->progress != -1)) abort();
}

static void lines(struct str text, size_t step)
{
    struct exec_out o = { .progress = progress };
    struct buf      words;
    enum err        e = OK;

    exec_out_init(&o, 4096);
    for (; text.len && e == OK; text = str_from(text, step))
        e = exec_out_feed(&o, str_cut(text, step));
    if (e == OK) e = exec_out_eof(&o);
    buf_init(&words, 0);
    if (e == OK && o.end == EXEC_RESULT) text_of_value(&words, buf_view(&o.value));
    buf_done(&words);
    exec_out_done(&o);
}

static void on_event(struct sse_in *e, struct str name, struct str data)
{
    lines(data, 1 + data.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sse_in e;
    struct tail   tail;
    struct buf    note;
    enum err      err = OK;

    if (size < 1) return 0;
    struct str text = str_n((const char *)data + 1, size - 1);
    size_t     step = 1 + data[0] % 61;
    lines(text, step);
    sse_in_init(&e, 2048, on_event);
    tail_init(&tail, 256);
    for (struct str rest = text; rest.len && err == OK; rest = str_from(rest, step)) {
        tail_add(&tail, str_cut(rest, step));
        err = sse_in_feed(&e, str_cut(rest, step));
    }
    if (err == OK && sse_in_end(&e) != OK) abort();
    buf_init(&note, 0);
    tail_text(&tail, &note);
    if (note.len > 3 * 256 + 8) abort();
    buf_done(&note);
    tail_done(&tail);
    sse_in_done(&e);
    return 0;
}
