/* mcp.h -- tools from Model Context Protocol servers, over stdio and streamable HTTP, of both eras
 * of the protocol.
 *
 *     "mcpServers": {
 *       "files": { "command": "npx", "args": ["-y", "some-server"],
 *                  "env": { "TOKEN": "env:FILES_TOKEN" }, "cwd": "." },
 *       "crm": { "url": "https://crm.example/mcp",
 *                "headers": { "Authorization": "Bearer env:CRM" } } }
 *
 * as other clients have it, and for us: "confirm" (a policy for all its tools, or an
 * object from tool name to policy), "trust_annotations" (true: a read-only hint may
 * lower the default), "oauth" (its people have accounts of their own there: oauth.h; {} or
 * {"client_id", "client_secret", "scopes", "issuer"}), "era" ("legacy" | "modern"; found out when
 * absent), "timeout" (seconds a call may be silent; 60), "edit" and "check" (objects from tool name
 * to what tools have under these names), "disabled". Members other clients have and we do not are
 * ignored.
 *
 * A struct mcp is one server. It opens the connection, finds out which era the
 * server speaks, lists its tools into the registry as `ALIAS__tool`, keeps the
 * list fresh, and starts the server again when it dies (after 1, 2, 4 ... 60 s). Tools of
 * a server that is away stay listed; calling one fails in words.
 *
 * A call whose fate is not known (the server died, fell silent, the stream broke)
 * is TOOL_UNKNOWN and never repeated from here.
 *
 * Elicitation: a legacy server asks while its call is under way (job->ask, ops->answer), and no
 * clock runs while a person thinks; a modern one ends its call with TOOL_ASKS and is called again
 * with the answers and what it gave us to carry, also after a restart. A legacy question is put to
 * a person only when it is certain which person's call it is for (mcp_call.c, call_for); otherwise
 * it is put to nobody and cancelled.
 *
 * With "oauth" each person has a connection of their own, with their own token (mcp_line.c), and
 * somebody's lists the tools. A call of somebody who has not connected their account ends with
 * TOOL_ASKS: the question has the address of ours at which they can, and is answered when they did
 * (MCP_CONNECT in its schema says for which server). A yes alone changes nothing: without a token
 * it is asked again. There is one tool of ours, `ALIAS__connect_account`, so that somebody can be
 * the first.
 *
 * Bounded for every server: answers under way, what it has not read, its stderr, its lists, how
 * often it is opened again.
 */
#ifndef PARLEY_MCP_H
#define PARLEY_MCP_H

#include "base/seal.h"
#include "loop/curl.h"
#include "tool/process/child.h"
#include "tool/registry.h"
#include "tool/vault.h"

struct mcp;
struct oauth;

struct mcp_check { /* of the tool of this name; "*": of all others */
    struct str               tool;
    const struct tool_check *check;
};

struct mcp_host { /* what it works with; must outlive it */
    struct loop      *loop;
    struct registry  *registry;
    struct children  *children;
    struct curl_pool *pool;
    /* optional: its tools or its state changed */
    void (*changed)(struct mcp *m, void *ctx);
    void                   *ctx;
    struct tool_terms       terms; /* of all its tools */
    /* for "oauth"; NULL: nothing can be kept here, so nobody can connect */
    struct vault           *vault;
    const struct seal_key  *seal;
    struct str              public_url; /* what links to us begin with; STR_NONE: they are paths */
    /* what a person may change in a call before saying yes: an object from tool name to pointers,
     * "*": all others; NULL: nothing */
    const struct jv        *edit;
    const struct mcp_check *checks;
    size_t                  check_count;
};

/* One entry of "mcpServers". `base` as in exec_tool_read. The tree must live as
 * long as the registry (policies point into it). A sentence in `why` on error. */
MUST_CHECK enum err mcp_read(struct mcp **out, const struct mcp_host *host, struct str alias,
                             const struct jv *entry, struct str base, struct buf *why);
void                mcp_start(struct mcp *m);
/* Ends it as the protocol wants (stdio: stdin closed, two seconds, SIGTERM ...).
 * Live calls end as unknown. on_closed: its memory is about to go. */
void                mcp_stop(struct mcp *m, void (*on_closed)(struct mcp *m));

struct str    mcp_alias(const struct mcp *m);
/* NULL: its people need no accounts there. */
struct oauth *mcp_oauth(const struct mcp *m);
/* The path at which somebody connects their account. */
void          mcp_connect_path(struct buf *out, struct str alias);
/* In the schema of a question that connecting answers: the server's name. No server can put it into
 * one of its own. */
#define MCP_CONNECT "x-parley-connect"

/* True when there is nothing to wait for: the tools are listed, or it could not be reached so
 * far. */
bool mcp_settled(const struct mcp *m);
bool mcp_ready(const struct mcp *m);
/* "ready (2025-11-25, 12 tools)", "waiting to start again: ...", "authorization needed: ..." */
void mcp_state_text(const struct mcp *m, struct buf *out);

#endif
