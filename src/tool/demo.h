/* demo.h -- the built-in demo tools: real work, small enough to read.
 *
 * One file per tool in tool/demo/. All but process_payment run on the loop thread
 * in microseconds; process_payment writes and syncs its ledger in libuv's thread pool.
 */
#ifndef PARLEY_TOOL_DEMO_H
#define PARLEY_TOOL_DEMO_H

#include "tool/registry.h"

/* Between two progress stages: long enough for a person to see them go by. */
#define DEMO_STAGE_MS 40

/* Adds search_articles, get_weather, process_payment, change_bgm, get_location,
 * generate_artifact, generate_image, browser.search, apply_schema. `ledger`: path of the payment
 * ledger (copied), made at the first payment. `stage_ms`: DEMO_STAGE_MS, or 0 where nobody watches
 * (demo.token_ms 0, tests). */
MUST_CHECK enum err demo_tools_add(struct registry *r, struct loop *l, struct str ledger,
                                   unsigned stage_ms);
/* Their names, in order; NULL: there are no more. */
const char         *demo_tool_name(size_t i);

#endif
