/* routes.c -- every door, in one table, and who may come in there: principal.h has the roles, app.h
 * the rest. Nothing said: a user. The page itself is for everybody, it has no secrets; so are the
 * two that a load balancer asks. Metrics tell of everybody, so they are the administrator's.
 *
 * A door that tells runs as events names its dialect here; nothing else in the house knows which
 * dialects there are (scripts/layers looks). */
#include "dialect/dialect.h"
#include "door/app.h"

static const struct door TYPED = { &dialect_typed, .via = "typed" };
static const struct door TOOLCALLS = { &dialect_toolcalls, .via = "toolcalls", .sessions = true };
static const struct door CHAT = { &dialect_aisdk, .via = "chat", .native = true,
                                  .plain_errors = true };
static const struct door STREAM = { &dialect_aisdk, .via = "chat", .plain_errors = true };
static const struct door CHAT_WS = { &dialect_aisdk, .via = "ws", .native = true,
                                     .plain_errors = true };
static const struct door RESPONSES = { &dialect_responses, .via = "responses", .enter = openai_name,
                                       .refuse = openai_refuse, .error = openai_error_body };
static const struct door COMPLETIONS = {
    &dialect_completions, .via = "responses",      .chat = true,
    .enter = openai_name, .refuse = openai_refuse, .error = openai_error_body
};
static const struct door OPENAI = {
    .via = "responses", .enter = openai_name, .refuse = openai_refuse, .error = openai_error_body
};
static const struct door MCP = {
    .via = "mcp", .refuse = mcp_refuse, .error = mcp_error_body, .challenge = mcp_challenge
};
static const struct door LIVE = { &dialect_aisdk, .via = "live" };
static const struct door AGUI = { &dialect_agui, .via = "ag-ui" };
static const struct door ADK = { &dialect_adk, .via = "adk" };

/* who may be asked: it depends on the question which of them is */
#define DECIDERS (ROLE_USER | ROLE_APPROVER | ROLE_NAMED)

const struct route app_routes[] = {
    { "POST", "/v1/chat/stream", door_sse, 0, &TYPED },
    { "POST", "/functions/v1/chat", door_sse, 0, &TOOLCALLS },
    { "POST", "/api/chat", door_chat, 0, &CHAT },
    { "GET", "/api/chat/ws", door_chat_ws, 0, &CHAT_WS },
    { "GET", "/api/chat/{}/stream", door_chat_resume, 0, &CHAT },
    { "POST", "/stream", door_chat, 0, &STREAM },
    { "GET", "/stream/{}/stream", door_chat_resume, 0, &STREAM },
    { "GET", "/live", door_live, ROLE_USER | SAYS_LATER, &LIVE },
    { "POST", "/ag-ui", door_agui, 0, &AGUI },
    { "POST", "/ag-ui/agent/{*}/run", door_agui, 0, &AGUI },
    { "POST", "/ag-ui/agent/{*}/connect", door_agui_connect, 0, &AGUI },
    { "POST", "/ag-ui/agent/{*}/stop/{}", door_agui_stop },
    { "GET", "/ag-ui/info", door_agui_info },
    { "GET", "/ag-ui/capabilities", door_agui_capabilities },
    { "POST", "/run_sse", door_adk_stream, 0, &ADK },
    { "POST", "/run", door_adk_run, 0, &ADK },
    { "GET", "/list-apps", door_adk_apps },
    { "GET", "/apps/{*}/users/{*}/sessions", door_adk_sessions },
    { "POST", "/apps/{*}/users/{*}/sessions", door_adk_session_new, 0, &ADK },
    { "GET", "/apps/{*}/users/{*}/sessions/{}", door_adk_session, 0, &ADK },
    { "POST", "/apps/{*}/users/{*}/sessions/{}", door_adk_session_new, 0, &ADK },
    { "DELETE", "/apps/{*}/users/{*}/sessions/{}", door_adk_session_delete },
    { "POST", "/v1/responses", door_openai, 0, &RESPONSES },
    { "GET", "/v1/responses/{}", openai_response, 0, &RESPONSES },
    { "DELETE", "/v1/responses/{}", openai_delete, 0, &OPENAI },
    { "POST", "/v1/responses/compact", openai_nothing, 0, &OPENAI },
    { "POST", "/v1/responses/{}/cancel", openai_cancel, 0, &OPENAI },
    { "GET", "/v1/responses/{}/input_items", openai_input, 0, &OPENAI },
    { "POST", "/v1/chat/completions", door_openai, 0, &COMPLETIONS },
    { "POST", "/v1/conversations", openai_conversation_new, 0, &OPENAI },
    { "GET", "/v1/conversations/{}", openai_conversation, 0, &OPENAI },
    { "POST", "/v1/conversations/{}", openai_conversation_label, 0, &OPENAI },
    { "DELETE", "/v1/conversations/{}", openai_conversation_delete, 0, &OPENAI },
    { "GET", "/v1/models", openai_models, 0, &OPENAI },
    { "GET", "/v1/models/*", openai_model, 0, &OPENAI },
    { "GET", "/v1/models/{*}", openai_model, 0, &OPENAI }, /* "parley%2Fbank", as clients send it */
    { "GET", "/v1/threads", rest_threads, ROLE_USER | ROLE_ADMIN },
    { "POST", "/v1/threads", rest_thread_new },
    { "GET", "/v1/threads/{}", rest_thread },
    { "PATCH", "/v1/threads/{}", rest_thread_edit },
    { "DELETE", "/v1/threads/{}", rest_thread_delete },
    { "POST", "/v1/threads/{}/share", share_make, ANSWERS },
    { "GET", "/v1/threads/{}/share", share_show },
    { "DELETE", "/v1/threads/{}/share", share_take_back, ANSWERS },
    { "GET", "/v1/shared/{}", share_read, EVERYBODY },
    { "GET", "/v1/threads/{}/trace", why_trace, ROLE_USER | ROLE_ADMIN },
    { "GET", "/v1/threads/{}/events", door_events, 0, &TYPED },
    { "POST", "/v1/threads/{}/stop", rest_stop },
    { "POST", "/v1/threads/{}/actions", rest_action },
    { "POST", "/v1/threads/{}/results/{}", rest_result, ANSWERS },
    { "POST", "/v1/threads/{}/results/{}/claim", rest_claim, ANSWERS },
    { "GET", "/v1/approvals", rest_approvals, ROLE_ANY },
    { "GET", "/v1/approvals/events", door_inbox, ROLE_ANY },
    { "GET", "/v1/approvals/{}", rest_approval, ROLE_ANY },
    { "GET", "/v1/approvals/{}/context", rest_context, DECIDERS },
    { "POST", "/v1/approvals/{}", rest_decide, DECIDERS | ANSWERS },
    { "POST", "/v1/approvals/{}/settle", rest_settle, DECIDERS | ANSWERS },
    { "DELETE", "/v1/approvals/{}/vote", rest_unvote, DECIDERS | ANSWERS },
    { "POST", "/v1/approvals/{}/links", rest_links, DECIDERS | ANSWERS },
    { "GET", "/v1/grants", rest_grants, ROLE_ANY },
    { "DELETE", "/v1/grants/{}", rest_grant_revoke, ROLE_ANY | ANSWERS },
    { "POST", "/v1/people/{*}/erase", people_erase, ROLE_ADMIN | ANSWERS },
    { "POST", "/v1/session", session_begin, EVERYBODY },
    { "GET", "/v1/session", session_show, ROLE_ANY },
    { "DELETE", "/v1/session", session_end, EVERYBODY },
    { "GET", "/v1/login", login_begin, EVERYBODY },
    { "GET", "/v1/login/callback", login_back, EVERYBODY },
    { "GET", "/v1/tools", ops_tools, ROLE_ANY },
    { "POST", "/v1/tools/{}/accept", ops_accept, ROLE_ADMIN | ANSWERS },
    { "GET", "/v1/page", web_told, EVERYBODY },
    { "GET", "/healthz", ops_health, EVERYBODY | ROUTE_VITAL },
    { "GET", "/readyz", ops_ready, EVERYBODY | ROUTE_VITAL },
    { "GET", "/metrics", ops_metrics, ROLE_ADMIN },
    { "GET", "/v1/usage", rest_usage, ROLE_ANY },
    { "GET", "/node", ops_node, EVERYBODY },
    { "POST", "/mcp", mcp_post, ROLE_USER | ROLE_AGENT | KEYS_ONLY, &MCP },
    { "GET", "/mcp", mcp_get, ROLE_USER | ROLE_AGENT | KEYS_ONLY, &MCP },
    { "DELETE", "/mcp", mcp_delete, ROLE_USER | ROLE_AGENT | KEYS_ONLY, &MCP },
    { "GET", "/v1/mcp/{}/connect", connect_begin, ANSWERS },
    { "DELETE", "/v1/mcp/{}/connect", connect_end, ANSWERS },
    { "GET", "/v1/mcp/{}/callback", connect_hop, EVERYBODY },
    { "GET", "/v1/mcp/{}/back", connect_back, ANSWERS },
    { "GET", "/.well-known/oauth-protected-resource", mcp_metadata, EVERYBODY },
    { "GET", "/.well-known/oauth-protected-resource/mcp", mcp_metadata, EVERYBODY },
    { "GET", "/", web_page, EVERYBODY },
    { "GET", "/t/{}", web_page, EVERYBODY },
    { "GET", "/inbox", web_page, EVERYBODY },
    { "GET", "/admin", web_page, EVERYBODY },
    { "GET", "/s/{}", web_page, EVERYBODY },
    { "GET", "/approvals/{}", web_page, EVERYBODY },
    { "GET", "/a/{}", link_page, EVERYBODY },
    { "POST", "/a/{}", link_decide, EVERYBODY },
    { "GET", "/logo", web_logo, EVERYBODY },
    { "GET", "/manifest.webmanifest", web_manifest, EVERYBODY },
    { "GET", "/*", web_file, EVERYBODY },
    { "*", "/*", web_nothing },
    { NULL },
};
