/* step.c -- see step.h. The bytes of all parts lie in one buffer; when it moves,
 * the parts are pointed at the new place, which happens a logarithmic number of times. */
#include "run/step.h"

void step_begin(struct open_step *s)
{
    step_clear(s);
    arena_init(&s->arena, 0);
    buf_init(&s->bytes, 0);
    s->active = true;
}

void step_clear(struct open_step *s)
{
    if (s->active) {
        arena_done(&s->arena);
        buf_done(&s->bytes);
        mem_free(s->parts);
    }
    *s = (struct open_step){ .no = s->no + 1 };
}

struct part *step_last(struct open_step *s)
{
    return s->count ? &s->parts[s->count - 1] : NULL;
}

static struct part *open_part(struct open_step *s)
{
    struct part *p = step_last(s);
    return p && !p->complete && !p->judging ? p : NULL;
}

void step_close_part(struct open_step *s)
{
    struct part *p = open_part(s);
    if (p) p->complete = true;
}

/* The model went on to something else: of a call that means it was never said to its end. */
static void leave_part(struct open_step *s)
{
    struct part *p = open_part(s);
    if (p && p->type == STEP_CALL) {
        p->gate = GATE_BAD;
        p->problem = STR("The call was cut off before its end; it was not run.");
    }
    step_close_part(s);
}

struct part *step_part(struct open_step *s, enum part_type type)
{
    leave_part(s);
    if (s->count == s->cap) {
        size_t       cap = s->cap ? s->cap * 2 : 1; /* most steps are one text */
        struct part *grown = mem_realloc(s->parts, cap * sizeof *grown);
        if (!grown) return NULL;
        s->parts = grown;
        s->cap = cap;
    }
    struct part *p = &s->parts[s->count++];
    *p = (struct part){ .type = type, .text = { buf_view(&s->bytes).ptr + s->bytes.len, 0 } };
    return p;
}

static void point_parts(struct open_step *s)
{
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->parts[i].text.ptr = s->bytes.ptr + at;
        at += s->parts[i].text.len;
    }
}

enum err step_text(struct open_step *s, enum part_type type, struct str delta)
{
    struct part *p = open_part(s);
    if (delta.len == 0 && type != STEP_REASONING) return OK;
    if (!p || p->type != type) p = step_part(s, type);
    if (!p) return ERR_NOMEM;
    if (delta.len == 0) return OK; /* a thought of which only the opaque JSON will come */
    const char *before = s->bytes.ptr;
    buf_str(&s->bytes, delta);
    if (s->bytes.err) return s->bytes.err;
    p->text.len += delta.len;
    if (s->bytes.ptr != before) point_parts(s);
    return OK;
}

enum err step_opaque(struct open_step *s, struct str json)
{
    struct part *p = step_last(s);
    if (!p || p->complete) p = step_part(s, STEP_REASONING);
    if (!p) return ERR_NOMEM;
    p->opaque = arena_dup(&s->arena, json);
    if (!p->opaque.ptr) return ERR_NOMEM;
    /* one for each part: a signature must not move to other text */
    if (p->type != STEP_CALL) p->complete = true;
    return OK;
}

struct part *step_call(struct open_step *s, struct str call, struct str provider_id,
                       struct str tool)
{
    struct part *p = step_part(s, STEP_CALL);
    if (!p) return NULL;
    p->call = arena_dup(&s->arena, call);
    p->provider_id = arena_dup(&s->arena, provider_id);
    p->tool = arena_dup(&s->arena, tool);
    return p->call.ptr && p->tool.ptr ? p : NULL;
}

/* --- places ------------------------------------------------------------------ */

static bool is_complete(struct parts p, size_t i)
{
    return !p.open || p.at[i].complete || (i + 1 < p.count && !p.at[i].judging);
}
/* What was said behind a call that is not judged yet is told after the verdict, in its order. */
static bool is_barrier(struct parts p, size_t i)
{
    return p.open && p.at[i].judging;
}

uint64_t parts_len(struct parts p)
{
    uint64_t len = 0;
    for (size_t i = 0; i < p.count; i++) {
        len += 1 + p.at[i].text.len + (is_complete(p, i) ? 1 : 0);
        if (is_barrier(p, i)) break;
    }
    return len;
}

struct piece parts_at(struct parts p, uint64_t offset)
{
    for (size_t i = 0; i < p.count; i++) {
        const struct part *q = &p.at[i];
        bool               complete = is_complete(p, i);
        uint64_t           len = 1 + q->text.len + (complete ? 1 : 0);
        if (offset >= len) {
            if (is_barrier(p, i)) break;
            offset -= len;
            continue;
        }
        struct piece r = { .part = q, .index = i };
        if (offset == 0) r.what = PIECE_BEGIN;
        else if (offset - 1 < q->text.len) {
            r.what = PIECE_BYTES;
            r.bytes = str_from(q->text, offset - 1);
            r.last = complete;
        } else r.what = PIECE_END;
        return r;
    }
    return (struct piece){ .what = PIECE_NONE };
}
