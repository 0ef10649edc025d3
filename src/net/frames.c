/* frames.c -- see frames.h. */
#include "net/frames.h"

#define FRAME_HEAD 10           /* the longest frame header */

static struct buf scratch;
static size_t    *ends, count, cap;

struct buf *frames_begin(void)
{
    buf_clear(&scratch);
    count = 0;
    return &scratch;
}

void frames_mark(void)
{
    if (count == cap) {
        size_t  want = cap ? cap * 2 : 64;
        size_t *grown = mem_realloc(ends, want * sizeof *grown);
        if (!grown) { scratch.err = ERR_NOMEM; return; }
        ends = grown;
        cap = want;
    }
    ends[count++] = scratch.len;
}

void frames_drop(void)
{
    while (count && ends[count - 1] > scratch.len) count--;
}

size_t frames_count(void) { return count; }

bool frames_send(struct source *s, struct buf *out, size_t end, struct frames_cut *cut)
{
    size_t begin = 0;
    if (cut->sent && cut->whole != scratch.len) return false;
    cut->whole = scratch.len;
    for (size_t i = 0; i < count; begin = ends[i++]) {
        if (ends[i] <= cut->sent) continue;
        size_t from = cut->sent > begin ? cut->sent : begin, left = ends[i] - from;
        bool   whole = from == begin;
        if (end - out->len <= FRAME_HEAD) return false;
        size_t room = end - out->len - FRAME_HEAD;
        if (whole && left <= room) ws_frame_text(out, str_n(scratch.ptr + from, left));
        else ws_frame_part(s, out, str_n(scratch.ptr + from, left < room ? left : room), left <= room);
        cut->sent = from + (left < room ? left : room);
        if (left > room) return false;
    }
    cut->sent = 0;
    return true;
}
