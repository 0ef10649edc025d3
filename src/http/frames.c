/* frames.c -- see frames.h. */
#include "http/frames.h"

#define FRAME_HEAD 10 /* the longest frame header */

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
        if (!grown) {
            scratch.err = ERR_NOMEM;
            return;
        }
        ends = grown;
        cap = want;
    }
    ends[count++] = scratch.len;
}

void frames_drop(void)
{
    while (count && ends[count - 1] > scratch.len) count--;
}

size_t frames_count(void)
{
    return count;
}

/* Sends `item` from where it was cut; false: the room is used up. */
static bool send_from(struct source *s, struct buf *out, size_t end, struct frames_cut *cut,
                      const char *item, const size_t *to, size_t n)
{
    size_t begin = 0;
    for (size_t i = 0; i < n; begin = to[i++]) {
        if (to[i] <= cut->sent) continue;
        size_t from = cut->sent > begin ? cut->sent : begin, left = to[i] - from;
        bool   whole = from == begin;
        if (end - out->len <= FRAME_HEAD) return false;
        size_t room = end - out->len - FRAME_HEAD;
        if (whole && left <= room) ws_frame_text(out, str_n(item + from, left));
        else ws_frame_part(s, out, str_n(item + from, left < room ? left : room), left <= room);
        cut->sent = from + (left < room ? left : room);
        if (left > room) return false;
    }
    cut->sent = 0;
    return true;
}

bool frames_send(struct source *s, struct buf *out, size_t end, struct frames_cut *cut)
{
    if (cut->sent && cut->whole != scratch.len) return false;
    cut->whole = scratch.len;
    return send_from(s, out, end, cut, scratch.ptr, ends, count);
}

bool frames_keep(struct frames_cut *cut, int then)
{
    cut->held = held_take(buf_view(&scratch), ends, count, then);
    return cut->held != NULL;
}

size_t frames_held(const struct frames_cut *cut)
{
    return cut->held->count;
}

bool frames_go_on(struct source *s, struct buf *out, size_t end, struct frames_cut *cut, int *then)
{
    *then = cut->held->then;
    if (!send_from(s, out, end, cut, cut->held->bytes.ptr, cut->held->ends, cut->held->count))
        return false;
    frames_forget(cut);
    return true;
}

void frames_forget(struct frames_cut *cut)
{
    held_free(cut->held);
    cut->held = NULL;
}
