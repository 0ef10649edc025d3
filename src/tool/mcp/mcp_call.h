/* mcp_call.h -- private to mcp_call.c and mcp_account.c: one call under way. */
#ifndef PARLEY_MCP_CALL_H
#define PARLEY_MCP_CALL_H

#include "tool/mcp/mcp_int.h"

#define ROUNDS_MAX 10 /* questions of one call, of a kind */

struct mcp_call {
    struct list         node; /* in m->calls while the server is there */
    struct mcp         *m;
    struct mcp_tool    *tool;
    struct tool_job    *job;
    struct mcp_request *q; /* NULL: none under way */
    struct pace         pace;
    struct loop_dirty   dirty;
    uint64_t            until_ms; /* total cap */
    struct list         questions;
    size_t              question_count;
    unsigned            rounds;        /* how often it has asked for input (modern) */
    struct buf          responses;     /* inputResponses, a JSON object */
    struct buf          request_state; /* as JSON string, raw */
    struct buf          resume;        /* what is carried over a question */
    bool                ended;
    bool                left; /* the server has had this call, in an earlier round */
    struct buf          note; /* for the card */
    enum tool_outcome   outcome;
    struct mcp_said     said;
    /* with "oauth" */
    struct oauth_want   want;
    bool                waits;   /* for its line to be opened */
    bool                renewed; /* a token was refused for it */
    bool                unbegun; /* with TOOL_ASKS: tool.h */
    unsigned            asked;   /* how often its person was asked to connect */
    struct arena        memory;  /* what it goes on with after that */
    struct str          inner;   /* `resume` before it; STR_NONE: none */
    bool                accepted;
    struct str          content;
};

/* Notes the outcome; the job is told at the end of the turn. The first one stands. */
void mcp_call_end(struct mcp_call *c, enum tool_outcome outcome);
void mcp_call_end_with(struct mcp_call *c, enum tool_outcome outcome, const char *sentence,
                       struct str more);
/* It did not leave, this time. */
void mcp_call_unsent(struct mcp_call *c, const char *sentence, struct str more);
/* Its line is there: sends it, or goes on with an answer. */
void mcp_call_begin(struct mcp_call *c);

/* Asks for its person's token, then begins. `stale`: one that was refused. */
void mcp_account_want(struct mcp_call *c, struct str stale);
/* True: the answer was about the token, and the call goes another way. The server says by it that
 * it did not begin. */
bool mcp_account_lacks(struct mcp_call *c, const struct mcp_reply *r);

#endif
