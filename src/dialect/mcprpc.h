/* mcprpc.h -- one message of an MCP client, read and checked. Pure.
 *
 * Two eras come by one address. A message is modern when it says which version it speaks
 * (params._meta) or its header names 2026-07-28 or later; then each request carries everything that
 * must be known of its sender, and headers repeat it for those between us, so both must agree.
 * Legacy messages are about a session that somebody opened before; the door knows it.
 *
 * What is wrong is told as JSON-RPC wants it told: a code, a sentence, the HTTP status that belongs
 * to it, and the request's id as far as it could be read.
 */
#ifndef PARLEY_MCPRPC_H
#define PARLEY_MCPRPC_H

#include "base/jsonw.h"

#define MCP_NEWEST_LEGACY "2025-11-25"
#define MCP_OLDEST_LEGACY "2025-06-18"
#define MCP_MODERN        "2026-07-28"
/* names of members that are the protocol's own */
#define MCP_META(name) "io.modelcontextprotocol/" name

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_INVALID = -32600,
    RPC_NO_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_HEADERS = -32020,
    RPC_CAPABILITY = -32021,
    RPC_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTICE, RPC_ANSWER };

/* What the sender says it can do. It chooses the form of answers, never rights. */
struct mcp_abilities {
    bool tasks, form, url;
};

struct mcprpc {
    enum rpc_kind        kind;
    bool                 modern;
    struct str           id; /* as written; STR_NONE: a notice */
    struct str           method;
    const struct jv     *params, *meta; /* NULL: none */
    const struct jv     *result;        /* of an answer; NULL: it is an error */
    struct mcp_abilities can;           /* modern */
    struct str           client;        /* "name version", modern; STR_NONE: it does not say */
};

/* The headers that repeat what the body says; STR_NONE: absent. */
struct mcprpc_heads {
    struct str version, method, name;
};

struct mcprpc_fault {
    int           status;
    enum rpc_code code;
    const char   *message;
    struct str    data; /* JSON; STR_NONE: none */
};

/* Everything lies in `body` and the arena. False: *why says what to answer; m->id is set when the
 * request's could be read. `methods`: those of the modern era, ended by NULL. */
MUST_CHECK bool      mcprpc_read(struct arena *a, struct str body, const struct mcprpc_heads *heads,
                                 const char *const *methods, struct mcprpc *m, struct mcprpc_fault *why);
/* Of an object "capabilities" of either era. */
struct mcp_abilities mcprpc_abilities(const struct jv *capabilities);
/* "name version" of a clientInfo: clean, on one line, at most 80 bytes; STR_NONE: it has none. */
struct str           mcprpc_client(struct arena *a, const struct jv *info);

/* {"jsonrpc":"2.0","id":ID,"result": -- the caller writes the value and jw_end_obj. STR_NONE:
 * null */
void mcprpc_result(struct jsonw *w, struct str id);
void mcprpc_error(struct jsonw *w, struct str id, const struct mcprpc_fault *why);
/* {"jsonrpc":"2.0","method":METHOD,"params":{ -- two jw_end_obj are the caller's. */
void mcprpc_notice(struct jsonw *w, const char *method);

#endif
