/* demo.h -- the built-in demo tools: real work, small enough to read. */
#ifndef PARLEY_TOOL_DEMO_H
#define PARLEY_TOOL_DEMO_H

#include "tool/registry.h"

/* Adds search_articles, get_weather, process_payment, change_bgm, get_location,
 * generate_artifact, generate_image, browser.search, apply_schema. `ledger`: path of the payment ledger. */
MUST_CHECK enum err demo_tools_add(struct registry *r, struct loop *l, struct str ledger);
/* Adds the reply tools suggest_replies, suggest_actions, present (always there). They have no ops: run/ answers them. */
MUST_CHECK enum err reply_tools_add(struct registry *r);

#endif
