/* exec_out.h -- what a subprocess says on stdout, read line by line. Pure: no I/O, no clock.
 *
 * Each line is a JSON object. Progress: {"progress":0.5,"stage":"…","message":"…","data":…},
 * every member optional. The end: {"result":…} or {"error":"…"}. A result is
 * the last word: whatever is said before or after it, it happened, and nobody may be told
 * that it failed. An error counts when there is no result; of several the first.
 * A check (tool_job.checks) says {"happened":…} or {"unknown":true} instead of a result, whole; one
 * that says so twice has said nothing.
 * Lines that are neither are counted and remembered (the first of them), not fatal by
 * themselves. An unfinished last line is read like any other.
 */
#ifndef PARLEY_EXEC_OUT_H
#define PARLEY_EXEC_OUT_H

#include "base/buf.h"
#include "tool/tool.h"

enum exec_end { EXEC_NO_END, EXEC_RESULT, EXEC_ERROR };

struct exec_out {
    void (*progress)(struct exec_out *o, const struct tool_progress *p);
    bool          checks; /* set after exec_out_init */
    enum exec_end end;
    struct buf    value;      /* the result as JSON, or the error's words */
    unsigned      lines, bad; /* lines seen, lines that were not what they should be */
    unsigned      ends;       /* results and errors together: one, of a tool that is clear */
    struct buf    complaint;  /* about the first bad line: "line 3 is not JSON: …" */
    /* private */
    struct buf    line;
    struct arena  arena;
};

void                exec_out_init(struct exec_out *o, size_t max); /* max: of one line */
void                exec_out_done(struct exec_out *o);
/* ERR_FULL: a line longer than the limit; ERR_NOMEM. */
MUST_CHECK enum err exec_out_feed(struct exec_out *o, struct str bytes);
MUST_CHECK enum err exec_out_eof(struct exec_out *o);

#endif
