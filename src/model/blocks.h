/* blocks.h -- puts what a wire tells about several parts at once into the order
 * the sink wants: one part after another.
 *
 * A decoder opens parts, feeds them and closes them. The oldest open part speaks
 * to the sink directly; what younger ones bring is held back until the older are
 * closed. So parallel calls whose fragments interleave come out whole, and the
 * usual stream, one part at a time, is passed on without a copy.
 *
 * A call gets its call_end only when it was closed by its decoder and its input is one
 * whole JSON object by its brackets (empty counts as {}): half a call never has an end. Whether
 * the text inside is valid and fits the tool is the run's business.
 */
#ifndef PARLEY_BLOCKS_H
#define PARLEY_BLOCKS_H

#include "base/buf.h"
#include "base/list.h"
#include "model/model.h"

#define BLOCKS_INPUT_MAX (4u << 20) /* one call's input, and what is held back of one part */
#define BLOCKS_OPEN_MAX  256        /* parts open at once: more is not a model speaking */
#define BLOCKS_CALLS_MAX 256        /* calls in one answer */

enum block_kind {
    BLOCK_TEXT,
    BLOCK_REASONING,
    BLOCK_CALL,
    BLOCK_HIDDEN, /* nothing for people: only its opaque JSON is passed on */
};

/* Follows the brackets of a JSON text fed in pieces. */
struct shape {
    int  depth;
    bool begun, in_string, escaped, complete, broken;
};
void shape_feed(struct shape *s, struct str text);

struct block {
    struct list     node;
    enum block_kind kind;
    /* lossy: a hidden part we could not keep whole; dropped */
    bool            begun, closed, lossy;
    bool            cut; /* the answer ended before the part did */
    int64_t         key; /* the wire's index */
    size_t          len; /* bytes of text or input so far */
    struct shape    shape;
    struct buf      held;     /* not told yet */
    struct buf      opaque;   /* JSON to keep with the part; told when it closes */
    struct buf      id, name; /* of a call */
    bool            has_id;
};

struct blocks {
    struct model_sink *sink;
    struct list        open; /* oldest first; the first one speaks */
    unsigned           open_count;
    unsigned           calls; /* calls told so far */
    size_t             bytes; /* of all parts so far */
    /* something left towards the sink: this attempt cannot be repeated any more */
    bool               spoke;
    bool               dead; /* the sink must not be called any more */
    enum err           err;  /* sticky: ERR_NOMEM, ERR_FULL */
};

void blocks_init(struct blocks *p, struct model_sink *sink);
void blocks_done(struct blocks *p);

/* NULL: see err. A call's name may follow later (parts_name); without one it is never told. */
struct block *blocks_open(struct blocks *p, enum block_kind kind, int64_t key);
/* the youngest open part with this key, or NULL */
struct block *blocks_find(struct blocks *p, int64_t key);
struct block *blocks_last(struct blocks *p); /* the youngest open part, or NULL */
/* id STR_NONE: none given */
void          blocks_call(struct blocks *p, struct block *part, struct str id, struct str name);
void          blocks_delta(struct blocks *p, struct block *part, struct str text);
/* `part` may be gone afterwards */
void          blocks_close(struct blocks *p, struct block *part);
void          blocks_close_all(struct blocks *p);
/* The answer is over: tells what is still held back. A call that is open now never has an end. */
void          blocks_abandon(struct blocks *p);
/* Text or reasoning on wires that do not number them: goes on with the youngest part if it is of
 * that kind, else opens one. */
void          blocks_say(struct blocks *p, enum block_kind kind, struct str text);
/* Something new begins: closes text, reasoning, and the calls whose input is complete. */
void          blocks_settle(struct blocks *p);
/* a hidden part, begun and closed */
void          blocks_hidden(struct blocks *p, struct str opaque);
void          blocks_usage(struct blocks *p, int64_t input_tokens, int64_t output_tokens);

#endif
