/* http.h -- a tool that is an HTTP endpoint: arguments as a JSON body, the answer as JSON or as
 * events.
 *
 *     "http": {"url":"https://billing.example/pay", "method":"POST",
 *     "headers":{"Authorization":"Bearer env:PAY_KEY"},
 *              "allow":["10.0.0.0/8"], "response_max":1048576}
 *
 * Sent: the arguments, Content-Type application/json, Idempotency-Key with the
 * call id, Accept for both kinds of answer, whose call it is (identity.h). `headers` may hold
 * "env:NAME".
 * Answered: any 2xx is TOOL_DONE. application/json is the result as it stands; anything else is a
 * result in words (noted on the card unless it is text/plain). text/event-stream has the objects of
 * exec_out.h as its events, progress and then result or error, of which the first counts. 4xx is
 * TOOL_FAILED with its words, and so is what was never sent at all (name, connection, a refused
 * address). Everything else is TOOL_UNKNOWN: 3xx (never followed), 5xx, timeout, broken connection,
 * events without an end. Stopped by a person: policy_stopped(). Egress: egress.h.
 */
#ifndef PARLEY_HTTP_TOOL_H
#define PARLEY_HTTP_TOOL_H

#include "base/buf.h"
#include "loop/curl.h"
#include "tool/registry.h"

/* Reads the "http" object of a configured tool into t, as exec_tool_read. `pool` must outlive the
 * registry's use. */
MUST_CHECK enum err http_tool_read(struct registry *r, struct tool *t, const struct jv *http,
                                   struct curl_pool *pool, struct loop *l, struct buf *why);

/* A header line "Name: value" for libcurl, from a configured pair with "env:NAME"
 * resolved; NULL and a sentence in `why` when it is not one. Shared with mcp. */
const char *http_header_read(struct arena *a, struct str name, struct str value, struct buf *why);

/* `all` (NULL: none yet) with the headers that say whose call it is, or with the signed token in
 * their place (identity.h). NULL: no memory, and `all` is freed. Shared with mcp. */
struct curl_slist *http_identity(struct curl_slist *all, const struct tool_job *job,
                                 const struct identity_way *k, struct str host);

#endif
