/* text.h -- small things every runner needs: clean text, capped text, paced progress. */
#ifndef PARLEY_TOOL_TEXT_H
#define PARLEY_TOOL_TEXT_H

#include "base/buf.h"
#include "tool/tool.h"

/* Appends `s` as people may see it: bad UTF-8 becomes U+FFFD, control characters
 * other than newline and tab are left out. At most `max` bytes of `s`. */
void text_clean(struct buf *out, struct str s, size_t max);

/* The same for a stranger's words that a person decides by: in quotation marks, line breaks and
 * quotes inside them escaped, characters that cannot be seen shown as \u{202E}. */
void text_reveal(struct buf *out, struct str s, size_t max);

/* The last bytes of a stream: stderr, for the card (TAIL_MAX) or the log. */
#define TAIL_MAX (8 * 1024)
struct tail {
    struct buf buf;
    size_t     max;
    bool       cut;
};
void tail_init(struct tail *t, size_t max);
void tail_done(struct tail *t);
void tail_add(struct tail *t, struct str bytes);
/* cleaned, with a mark when it was cut */
void tail_text(const struct tail *t, struct buf *out);

/* At most ten progress reports a second reach the job; the last one is never lost,
 * only late. Close it before the job finishes (it is told what is pending). */
struct pace {
    struct loop_timer timer;
    struct tool_job  *job;
    uint64_t          next_ms; /* not before */
    bool              pending, closed;
    double            progress;
    struct buf        stage, message, data;
    bool              has_stage, has_message, has_data;
    void (*on_closed)(struct pace *p);
};
void pace_init(struct pace *p, struct loop *l, struct tool_job *job);
void pace_tell(struct pace *p, const struct tool_progress *news);
void pace_flush(struct pace *p); /* what is pending, now */
void pace_close(struct pace *p, void (*on_closed)(struct pace *p));

/* What runs a tool, for its digest (tool.h, `runner`): the configured object as canonical JSON,
 * with `base`, the folder its paths are seen from (STR_NONE: none). Of "env" and "headers" only the
 * names and what a value refers to ("env:KEY"): a new key is not another tool, and no secret is
 * kept. STR_NONE: no memory. */
struct str text_runner(struct arena *a, const struct jv *def, struct str base);

/* Appends a tool's answer as the model is told it: a JSON string as its text, other values as
 * JSON. */
void text_of_value(struct buf *out, struct str json);

#endif
