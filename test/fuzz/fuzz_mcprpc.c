/* fuzz_mcprpc.c -- any bytes as a message of an MCP client; the first ones choose its headers.
 *
 * Whatever comes: a fault has a code, a status and a sentence; a request has an id that is JSON and a
 * method; a modern one that passes said which version it speaks and what it can do, its headers
 * agree, and its method is one of ours. What is answered is valid JSON on one line.
 * dictionary: json */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialect/mcprpc.h"

static const char *const METHODS[] = { "tools/call", "tools/list", "tasks/get", NULL };

static void require(bool ok)
{
    if (!ok) abort();
}

static void check_line(const struct buf *b)
{
    struct arena a;
    struct jv   *v;
    arena_init(&a, 0);
    require(!b->err && json_parse(&a, buf_view(b), &v, NULL) == OK && v->type == JSON_OBJECT);
    require(!memchr(b->ptr, '\n', b->len));
    arena_done(&a);
}

static void check_fault(const struct mcprpc *m, const struct mcprpc_fault *why)
{
    struct buf   b;
    struct jsonw w;
    require(why->status >= 400 && why->status < 600 && why->code < 0 && why->message[0]);
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    mcprpc_error(&w, m->id, why);
    check_line(&b);
    buf_done(&b);
}

static void check_message(const struct mcprpc *m, const struct mcprpc_heads *heads)
{
    struct buf   b;
    struct jsonw w;
    require(m->kind == RPC_ANSWER || m->method.len);
    require(m->kind == RPC_NOTICE || m->id.len);
    require(m->client.len <= 80 && utf8_valid(m->client));
    if (m->modern && m->kind == RPC_REQUEST) {
        require(str_is(heads->version, MCP_MODERN) && str_eq(heads->method, m->method));
        require(jv_is(jv_get(m->meta, MCP_META("clientCapabilities")), JSON_OBJECT));
    }
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    mcprpc_result(&w, m->id);
    jw_null(&w);
    jw_end_obj(&w);
    check_line(&b);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcprpc_fault why = { 0 };
    struct mcprpc       m;
    struct arena        a;
    struct str          body = str_n((const char *)data, size), name = STR_NONE;
    struct mcprpc_heads heads = { 0 };
    /* a byte chooses, then comes a name up to a line's end */
    unsigned            choice = size ? data[0] : 0;
    body = str_from(body, 1);
    if (choice & 1) heads.version = STR(MCP_MODERN);
    if (choice & 6) heads.method = str_c(METHODS[(choice >> 1 & 3) - 1]);
    if ((choice & 8) && str_split(&body, '\n', &name)) heads.name = name;
    arena_init(&a, 0);
    if (mcprpc_read(&a, body, &heads, METHODS, &m, &why)) check_message(&m, &heads);
    else check_fault(&m, &why);
    arena_done(&a);
    return 0;
}
