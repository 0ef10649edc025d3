/* mcpresult.h -- how a program's call is told to the MCP client that made it: its outcome, the
 * question it waits for, and itself as a task. Pure: the fold in, JSON out.
 *
 * Only what is committed may be told; whoever calls has looked (mcp_stage_of does).
 */
#ifndef PARLEY_MCPRESULT_H
#define PARLEY_MCPRESULT_H

#include "base/jsonw.h"
#include "run/fold.h"

/* What the answer depends on beside the call. */
struct mcp_shape {
    bool       modern;
    size_t     text_max; /* limits.tool_output */
    struct str base;     /* mcp.link */
    struct str thread;   /* the call's name for the client: "mcp_..." */
    struct str tool;     /* the tool's; only mcp_waiting needs it */
};

enum mcp_stage {
    MCP_STARTING, /* nothing to tell yet */
    MCP_ASKED,    /* a person is to say yes */
    MCP_RUNNING,
    MCP_QUESTION, /* the tool asks somebody in the middle of its work */
    MCP_OVER
};
/* As of what is committed. NULL: starting. */
enum mcp_stage mcp_stage_of(const struct call *c, uint64_t committed);

/* Was it asked about, is it over, and has nobody been given the outcome yet? */
bool mcp_is_unclaimed(const struct call *c);
/* Nobody knows whether it happened, and nobody has said. */
bool mcp_is_unknown(const struct call *c);

/* The result object of a call that is over, with isError and _meta. Two more members may be added
 * by the caller before it ends the object (jw_end_obj is the caller's). */
void mcp_outcome(struct jsonw *w, const struct call *c, const struct mcp_shape *s);
/* The same for one that waits: "Not decided yet: ...". `why`: instead of the first two words;
 * NULL: none. */
void mcp_waiting(struct jsonw *w, const struct call *c, const struct mcp_shape *s, const char *why);
/* An answer about no call at all: a sentence. */
void mcp_sentence(struct jsonw *w, struct str sentence, bool is_error, const struct mcp_shape *s);

/* "_meta" with who we are, for results that have nothing else to say there. */
void mcp_meta(struct jsonw *w);
/* Where a person decides it. */
void mcp_link(struct buf *out, const struct call *c, const struct mcp_shape *s);

enum mcp_ask { MCP_ASK_NOT, MCP_ASK_FORM, MCP_ASK_URL };
/* May all of the arguments be shown in a form? What is not shown cannot be approved. */
bool mcp_fits_form(const struct call *c);
/* The params of elicitation/create, as an object. `version`: of a legacy client; STR_NONE:
 * modern. */
void mcp_elicit(struct jsonw *w, const struct call *c, enum mcp_ask ask, struct str version,
                const struct mcp_shape *s);
/* The members of a task: taskId, status, statusMessage, times, ttlMs, pollIntervalMs; and with
 * `whole` what tasks/get adds: the result, or inputRequests when `ask` says how. */
void mcp_task(struct jsonw *w, const struct fold *f, uint64_t committed, enum mcp_ask ask,
              bool whole, const struct mcp_shape *s);
/* "inputRequests":{...}: what the client is to answer. */
void mcp_inputs(struct jsonw *w, const struct call *c, enum mcp_ask ask, const struct mcp_shape *s);

#endif
