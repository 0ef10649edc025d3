/* test_mcprpc.c -- messages of MCP clients: what they are, and what is wrong with them. */
#include "dialect/mcprpc.h"
#include "test.h"

static const char *const METHODS[] = { "tools/call", "tools/list", "tasks/get", NULL };

#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"url\":{}}}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{" META "}}"
#define CALL                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"pay\"," META \
    "}}"

static struct arena arena;

/* 0: it is fine; else the code it is refused with. */
static int read(const char *body, struct mcprpc_heads heads, struct mcprpc *m)
{
    struct mcprpc_fault why = { 0 };
    arena_done(&arena);
    arena_init(&arena, 0);
    if (mcprpc_read(&arena, str_c(body), &heads, METHODS, m, &why)) return 0;
    CHECK(why.status == (why.code == RPC_NO_METHOD ? 404 : 400));
    return why.code;
}

static struct mcprpc_heads heads(const char *method, const char *name)
{
    return (struct mcprpc_heads){ STR("2026-07-28"), str_c(method), str_c(name) };
}

TEST(an_mcp_message_is_a_request_a_notice_or_an_answer)
{
    struct mcprpc m;
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", (struct mcprpc_heads){ 0 },
               &m) == 0);
    CHECK(m.kind == RPC_REQUEST && !m.modern);
    CHECK_STR(m.id, "\"a\"");
    CHECK(read("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", (struct mcprpc_heads){ 0 }, &m) == 0);
    CHECK(m.kind == RPC_NOTICE);
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", (struct mcprpc_heads){ 0 }, &m) ==
          0);
    CHECK(m.kind == RPC_ANSWER && m.result);
}

TEST(an_answer_that_is_also_an_error_is_no_yes)
{
    struct mcprpc m;
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"action\":\"accept\"},"
               "\"error\":{\"code\":-1,\"message\":\"no\"}}",
               (struct mcprpc_heads){ 0 }, &m) == 0);
    CHECK(m.kind == RPC_ANSWER && !m.result);
}

TEST(an_mcp_message_that_is_none_says_why_with_the_id_it_has)
{
    struct mcprpc m;
    CHECK(read("{", (struct mcprpc_heads){ 0 }, &m) == RPC_PARSE);
    CHECK(read("[]", (struct mcprpc_heads){ 0 }, &m) == RPC_INVALID);
    CHECK(read("{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"x\"}", (struct mcprpc_heads){ 0 }, &m) ==
          RPC_INVALID);
    CHECK_STR(m.id, "4");
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":4}", (struct mcprpc_heads){ 0 }, &m) == RPC_INVALID);
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", (struct mcprpc_heads){ 0 },
               &m) == RPC_INVALID);
}

TEST(a_modern_request_is_checked_against_its_headers)
{
    struct mcprpc m;
    CHECK(read(LIST, heads("tools/list", NULL), &m) == 0);
    CHECK(m.modern && m.can.url && !m.can.form && !m.can.tasks);
    CHECK(read(LIST, heads("tools/call", NULL), &m) == RPC_HEADERS);
    CHECK(read(LIST, (struct mcprpc_heads){ 0 }, &m) == RPC_HEADERS);
    CHECK(read(CALL, heads("tools/call", "pay"), &m) == 0);
    CHECK(read(CALL, heads("tools/call", "=?base64?cGF5?="), &m) == 0);
    CHECK(read(CALL, heads("tools/call", "=?base64?cGF6?="), &m) == RPC_HEADERS);
    CHECK(read(CALL, heads("tools/call", "=?base64?!!!!?="), &m) == RPC_HEADERS);
    CHECK(read(CALL, heads("tools/call", NULL), &m) == RPC_HEADERS);
}

TEST(a_modern_request_says_its_version_and_what_it_can_do)
{
    struct mcprpc       m;
    struct mcprpc_heads h = heads("tools/list", NULL);
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", h, &m) == RPC_PARAMS);
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nothing\",\"params\":{" META "}}",
               heads("nothing", NULL), &m) == RPC_NO_METHOD);
    h.version = STR("2027-01-01");
    CHECK(read("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
               "\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\","
               "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
               h, &m) == RPC_VERSION);
}

TEST(an_mcp_client_s_name_is_shown_without_what_cannot_be_seen)
{
    struct jv   *v;
    struct arena a;
    arena_init(&a, 0);
    REQUIRE(json_parse(&a, STR("{\"name\":\"a\\u202eb\\nc\",\"version\":\"1\"}"), &v, NULL) == OK);
    CHECK_STR(mcprpc_client(&a, v), "abc 1");
    CHECK(!mcprpc_client(&a, NULL).ptr);
    arena_done(&a);
}
