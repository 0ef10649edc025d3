/* mcps.h -- the MCP server's face: our tools, and those of the servers behind us, for any MCP
 * client, at /mcp.
 *
 * Every call goes the way of a model's call: schema, policy, question, at most one start, the log.
 * One call is one thread of its own (`mcp_` + 22 letters), so that clients may call in parallel and
 * a question that waits holds up nothing. A response follows its thread as every stream does, and
 * says what is committed.
 *
 *     mcps.c          the address: who may come in, which era, which method
 *     mcps_session.c  what legacy clients open and refer to
 *     mcps_tools.c    tools/list
 *     mcps_call.c     tools/call: is it the same as before? else it begins
 *     mcps_wait.c     a response that follows its call, as a stream or as one answer
 *     mcps_answer.c   what comes back: decisions, cancelling, tasks
 *     mcps_listen.c   streams of notices
 *     mcps_own.c      list_approvals and review_approval
 *
 * What is in memory only (responses that wait) may go with the process: sessions are rows, the
 * calls are in the log, and the same request finds its call again.
 */
#ifndef PARLEY_MCPS_H
#define PARLEY_MCPS_H

#include "door/app.h"

struct mcps_setup { /* borrowed */
    bool        serve;
    bool        some_tools; /* only those in `tools` */
    struct strs tools;
    unsigned    wait_ms;
    unsigned    pending_max;
    size_t      text_max; /* limits.tool_output */
    struct str  link;     /* without a slash at its end */
    struct str  issuer;   /* auth.jwt's; STR_NONE: there is none */
};

struct mcps *mcps_new(struct app *a, struct loop *l,
                      const struct mcps_setup *s); /* NULL: no memory */
/* The server is gone, and with it every connection. `done`: nothing is on the loop any more. */
void         mcps_free(struct mcps *m, void (*done)(void *ctx), void *ctx);
/* Streams of notices get their last words; calls that wait say so. */
void         mcps_drain(struct mcps *m);

#endif
