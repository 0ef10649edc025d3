/* blocks.c -- one part after another, however the wire tells them. */
#include "model/blocks.h"

#include "base/arena.h"

void shape_feed(struct shape *s, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (s->in_string) {
            if (s->escaped) s->escaped = false;
            else if (c == '\\') s->escaped = true;
            else if (c == '"') s->in_string = false;
            continue;
        }
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
        if (s->complete || (!s->begun && c != '{')) {
            s->broken = true;
            return;
        }
        s->begun = true;
        if (c == '"') s->in_string = true;
        else if (c == '{' || c == '[') s->depth++;
        else if (c == '}' || c == ']') s->complete = --s->depth == 0;
    }
}

void blocks_init(struct blocks *p, struct model_sink *sink)
{
    *p = (struct blocks){ .sink = sink };
    list_init(&p->open);
}

static void drop(struct blocks *p, struct block *part)
{
    list_remove(&part->node);
    p->open_count--;
    buf_done(&part->held);
    buf_done(&part->opaque);
    buf_done(&part->id);
    buf_done(&part->name);
    mem_free(part);
}

void blocks_done(struct blocks *p)
{
    if (!p->open.next) return;
    LIST_EACH (n, &p->open) drop(p, LIST_ITEM(n, struct block, node));
}

static struct block *front(struct blocks *p)
{
    return list_empty(&p->open) ? NULL : LIST_ITEM(p->open.next, struct block, node);
}

struct block *blocks_last(struct blocks *p)
{
    return list_empty(&p->open) ? NULL : LIST_ITEM(p->open.prev, struct block, node);
}

struct block *blocks_find(struct blocks *p, int64_t key)
{
    struct block *found = NULL;
    LIST_EACH (n, &p->open) {
        struct block *part = LIST_ITEM(n, struct block, node);
        if (part->key == key && !part->closed) found = part;
    }
    return found;
}

/* --- telling the sink --------------------------------------------------------------- */

/* A text or reasoning part begins with its first delta (which may be empty when
 * it only carries opaque JSON), a call with its name. */
static void begin_call(struct blocks *p, struct block *part)
{
    if (part->begun || !part->name.len || p->dead) return;
    if (p->calls == BLOCKS_CALLS_MAX) {
        if (!p->err) p->err = ERR_FULL;
        return;
    }
    part->begun = p->spoke = true;
    p->calls++;
    p->sink->call(p->sink, part->has_id ? buf_view(&part->id) : STR_NONE, buf_view(&part->name));
}

static void tell(struct blocks *p, struct block *part, struct str text)
{
    if (p->dead) return;
    switch (part->kind) {
    case BLOCK_TEXT:
        part->begun = p->spoke = true;
        p->sink->text(p->sink, text);
        return;
    case BLOCK_REASONING:
        part->begun = p->spoke = true;
        p->sink->reasoning(p->sink, text);
        return;
    case BLOCK_CALL: p->sink->input(p->sink, text); return;
    case BLOCK_HIDDEN: return;
    }
}

static bool can_tell(const struct block *part)
{
    return part->kind == BLOCK_CALL ? part->begun : part->kind != BLOCK_HIDDEN;
}

static void tell_opaque(struct blocks *p, struct block *part)
{
    if (!part->opaque.len || part->lossy || p->dead) return;
    if (part->opaque.err) {
        p->err = part->opaque.err;
        return;
    }
    if (part->kind == BLOCK_HIDDEN || (part->kind == BLOCK_REASONING && !part->begun)) {
        p->spoke = true;
        /* a part of its own: not one that happens to be open */
        p->sink->reasoning(p->sink, STR(""));
    } else if (!part->begun) {
        tell(p, part, STR(""));
    }
    if (!p->dead) p->sink->opaque(p->sink, buf_view(&part->opaque));
}

static void tell_end(struct blocks *p, struct block *part)
{
    if (part->kind == BLOCK_CALL && !part->begun) return; /* never got a name */
    bool whole = part->kind == BLOCK_CALL && !part->cut && !part->shape.broken;
    if (whole && !part->shape.begun) { /* nothing, or blanks only */
        tell(p, part, STR("{}"));
        part->shape.complete = true;
    }
    tell_opaque(p, part);
    if (whole && part->shape.complete && !p->dead) p->sink->call_end(p->sink);
}

static void flush_held(struct blocks *p, struct block *part)
{
    if (!can_tell(part) || !part->held.len) return;
    tell(p, part, buf_view(&part->held));
    buf_done(&part->held);
}

/* The front has changed, or something about it: tells what can be told now. */
static void advance(struct blocks *p)
{
    struct block *part;
    while ((part = front(p)) != NULL && !p->dead) {
        if (part->kind == BLOCK_CALL) begin_call(p, part);
        flush_held(p, part);
        if (!part->closed) return;
        tell_end(p, part);
        drop(p, part);
    }
}

/* --- what decoders call ----------------------------------------------------------------- */

static void fail(struct blocks *p, enum err e)
{
    if (!p->err) p->err = e;
}

struct block *blocks_open(struct blocks *p, enum block_kind kind, int64_t key)
{
    struct block *part = p->open_count < BLOCKS_OPEN_MAX ? mem_alloc(sizeof *part) : NULL;
    if (!part) {
        fail(p, p->open_count < BLOCKS_OPEN_MAX ? ERR_NOMEM : ERR_FULL);
        return NULL;
    }
    part->kind = kind;
    part->key = key;
    buf_init(&part->held, BLOCKS_INPUT_MAX);
    buf_init(&part->opaque, 2 * BLOCKS_INPUT_MAX);
    buf_init(&part->id, 1024);
    buf_init(&part->name, 1024);
    list_add(&p->open, &part->node);
    p->open_count++;
    return part;
}

void blocks_call(struct blocks *p, struct block *part, struct str id, struct str name)
{
    if (id.len && !part->has_id) {
        buf_str(&part->id, id);
        part->has_id = true;
    }
    if (!part->name.len) buf_str(&part->name, name);
    if (part->id.err || part->name.err) fail(p, part->id.err ? part->id.err : part->name.err);
    else advance(p);
}

void blocks_delta(struct blocks *p, struct block *part, struct str text)
{
    if (!text.len || p->dead || p->err) return;
    part->len += text.len;
    p->bytes += text.len;
    if (part->kind == BLOCK_CALL) {
        shape_feed(&part->shape, text);
        if (part->len > BLOCKS_INPUT_MAX) {
            fail(p, ERR_FULL);
            return;
        }
    }
    if (part == front(p) && can_tell(part)) {
        tell(p, part, text);
        return;
    }
    buf_str(&part->held, text);
    if (part->held.err) fail(p, part->held.err);
}

void blocks_close(struct blocks *p, struct block *part)
{
    part->closed = true;
    if (part == front(p)) advance(p);
}

void blocks_close_all(struct blocks *p)
{
    LIST_EACH (n, &p->open) LIST_ITEM(n, struct block, node)->closed = true;
    advance(p);
}

void blocks_abandon(struct blocks *p)
{
    LIST_EACH (n, &p->open) {
        struct block *part = LIST_ITEM(n, struct block, node);
        if (!part->closed) part->cut = part->closed = true;
        if (part->cut && part->kind == BLOCK_HIDDEN) part->lossy = true;
    }
    advance(p);
}

void blocks_settle(struct blocks *p)
{
    LIST_EACH (n, &p->open) {
        struct block *part = LIST_ITEM(n, struct block, node);
        if (part->kind != BLOCK_CALL || part->shape.complete) part->closed = true;
    }
    advance(p);
}

void blocks_say(struct blocks *p, enum block_kind kind, struct str text)
{
    if (!text.len) return;
    struct block *part = blocks_last(p);
    if (!part || part->kind != kind || part->closed) {
        blocks_settle(p);
        part = blocks_open(p, kind, -1);
    }
    if (part) blocks_delta(p, part, text);
}

void blocks_hidden(struct blocks *p, struct str opaque)
{
    blocks_settle(p);
    struct block *part = blocks_open(p, BLOCK_HIDDEN, -1);
    if (!part) return;
    buf_str(&part->opaque, opaque);
    blocks_close(p, part);
}

void blocks_usage(struct blocks *p, int64_t input_tokens, int64_t output_tokens)
{
    if (!p->dead) p->sink->usage(p->sink, input_tokens, output_tokens);
}
