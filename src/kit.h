/* kit.h -- what the configuration describes, made real: models, tools and pages.
 * Built once at start and used by `serve`, `models` and `tools` alike.
 *
 * Everything lives until kit_free, which needs the loop to turn until `done`.
 */
#ifndef PARLEY_KIT_H
#define PARLEY_KIT_H

#include "config.h"
#include "loop/curl.h"
#include "model/provider.h"
#include "model/upstream.h"
#include "run/hub.h"
#include "tool/child.h"
#include "tool/mcp.h"

struct kit_model {
    const struct config_model *config;
    struct model_config        remote;      /* provider other than "demo" */
    struct model              *model;
};

struct kit {
    const struct config *config;
    struct arena         arena;
    struct loop         *loop;
    struct upstream     *upstream;
    struct kit_model    *models; size_t model_count;
    struct model       **lists;  size_t list_count;      /* fallback lists */
    struct registry      registry;
    struct children     *children;
    struct curl_pool     pool;
    struct mcp         **mcp;    size_t mcp_count;
    struct hub_page     *pages;  size_t page_count;
    struct hub_action   *actions; size_t action_count;
    /* while it is being taken apart */
    unsigned             closing;
    void               (*done)(void *ctx); void *done_ctx;
};

/* False: *why is a sentence for people. Then kit_free is still to be called. */
MUST_CHECK bool kit_models(struct kit *k, const struct config *c, struct loop *l, struct str *why);
MUST_CHECK bool kit_tools(struct kit *k, struct str *why);
MUST_CHECK bool kit_pages(struct kit *k);
void kit_free(struct kit *k, void (*done)(void *ctx), void *ctx);
/* Which isolations exec tools lack here, one sentence per line; empty when none is missing or needed. */
void kit_isolation(const struct kit *k, struct buf *out);

#endif
