/* mcp_help.h -- one MCP server that misbehaves, its tools, and the loop they live on.
 *
 *     fake_begin("pages", "");
 *     fake_state_has("ready");
 *     fake_gives(TOOL_DONE, "ok");
 *     fake_end();
 */
#ifndef PARLEY_MCP_HELP_H
#define PARLEY_MCP_HELP_H

#include "test.h"
#include "tool/mcp/mcp_int.h"
#include "toolrun.h"

extern struct toolrun *T; /* one at a time */
extern struct mcp     *M; /* the server, "s" */
extern bool            fake_stopped;

/* The entry of a configuration is read, and its server started and waited for. */
bool         fake_open(const char *entry);
/* fake_mcp.py in one of its modes; `more` are further members of its entry. */
void         fake_begin(const char *mode, const char *more);
void         fake_end(void);
void         fake_on_stopped(struct mcp *m); /* sets fake_stopped */
void         fake_state_has(const char *part);
struct tool *fake_tool(const char *name);
/* A call of s__go ends like this. */
void         fake_gives(enum tool_outcome outcome, const char *text);
/* for on_ask */
void         ran_say_yes(struct ran *r);

/* How a sentence about a call ends whose fate nobody knows. */
#define NOT_KNOWN " Whether it had an effect is not known."

#endif
