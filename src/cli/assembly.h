/* assembly.h -- what the configuration describes, made real: models, tools and pages.
 * Built once at start and used by `serve`, `models` and `tools` alike.
 *
 * Everything lives until assembly_free, which needs the loop to turn until `done`.
 */
#ifndef PARLEY_ASSEMBLY_H
#define PARLEY_ASSEMBLY_H

#include "audit/sign.h"
#include "config/config.h"
#include "loop/curl.h"
#include "model/provider.h"
#include "model/upstream.h"
#include "run/hub.h"
#include "run/people.h"
#include "tool/mcp/mcp.h"
#include "tool/process/child.h"
#include "tool/process/exec.h"

struct assembly_model {
    const struct config_model *config;
    struct model_config        remote; /* provider other than "demo" */
    struct model              *model;
};

struct assembly {
    const struct config   *config;
    struct arena           arena;
    struct loop           *loop;
    struct upstream       *upstream;
    struct assembly_model *models;
    size_t                 model_count;
    struct model         **lists;
    size_t                 list_count; /* fallback lists */
    struct registry        registry;
    struct children       *children;
    struct exec_host       exec;
    struct sandbox_caps    caps; /* of a trial, which has no children */
    struct curl_pool       pool;
    struct vault          *vault; /* where MCP servers keep people's tokens; NULL: nowhere */
    struct mcp           **mcp;
    size_t                 mcp_count;
    struct identity_way  **identities; /* of the tools, then the servers, that sign or say more */
    size_t                 identity_count;
    struct hub_page       *pages;
    size_t                 page_count;
    struct hub_action     *actions;
    size_t                 action_count;
    bool                   trial;    /* nothing is started */
    bool                   programs; /* some are started, or would be */
    /* while it is being taken apart */
    unsigned               closing;
    void (*done)(void *ctx);
    void *done_ctx;
};

/* False: what cannot be used is noted in `e`, all of it, with its place in the file. Then
 * assembly_free is still to be called. */
MUST_CHECK bool assembly_models(struct assembly *k, const struct config *c, struct loop *l,
                                struct config_error *e);
MUST_CHECK bool assembly_tools(struct assembly *k, struct config_error *e);
MUST_CHECK bool assembly_pages(struct assembly *k);
/* Who may come in; the auth is the caller's, and `a` outlives it. */
MUST_CHECK bool assembly_auth(const struct config *c, struct loop *l, struct arena *a,
                              struct auth **out, struct config_error *e);
/* Who has a key has the roles of all their keys, also while they are away. False: no memory. */
MUST_CHECK bool assembly_know(struct people *p, const struct auth_key *key, struct arena *a);
/* The key that signs, if there is to be one; the keys are the caller's. */
MUST_CHECK bool assembly_audit(const struct config *c, struct sign_keys *out,
                               struct config_error *e);
/* Reads all of the above, the start token and where the store is to be, as a start would; starts
 * nothing (no process, no request) and writes nothing. `check` and `serve` ask it alike, so that
 * one refuses what the other does. False: noted in `e`. `lacks`, unless NULL: what
 * assembly_isolation says of this machine. */
MUST_CHECK bool assembly_try(const struct config *c, struct config_error *e, struct buf *lacks);
/* A line for each program of an MCP server, and its directory, that is not there now: no reason not
 * to start. */
void            assembly_absent(const struct config *c, FILE *out);
void            assembly_free(struct assembly *k, void (*done)(void *ctx), void *ctx);
/* Which isolations exec tools lack here, one sentence per line; empty when none is missing or
 * needed. */
void            assembly_isolation(const struct assembly *k, struct buf *out);

#endif
