/* routes.c -- every door, in one table. */
#include "net/app.h"

const struct route app_routes[] = {
    { "POST", "/v1/chat/stream", door_typed },
    { "POST", "/functions/v1/chat", door_toolcalls },
    { "GET", "/v1/threads", rest_threads },
    { "POST", "/v1/threads", rest_thread_new },
    { "GET", "/v1/threads/{}", rest_thread },
    { "PATCH", "/v1/threads/{}", rest_thread_edit },
    { "DELETE", "/v1/threads/{}", rest_thread_delete },
    { "GET", "/v1/threads/{}/events", door_events },
    { "POST", "/v1/threads/{}/stop", rest_stop },
    { "POST", "/v1/threads/{}/actions", rest_action },
    { "POST", "/v1/threads/{}/results/{}", rest_result },
    { "POST", "/v1/threads/{}/results/{}/claim", rest_claim },
    { "GET", "/v1/approvals", rest_approvals },
    { "GET", "/v1/approvals/{}", rest_approval },
    { "POST", "/v1/approvals/{}", rest_decide },
    { "POST", "/v1/approvals/{}/settle", rest_settle },
    { "GET", "/v1/tools", ops_tools },
    { "GET", "/healthz", ops_health },
    { "GET", "/readyz", ops_ready },
    { "GET", "/metrics", ops_metrics },
    { "GET", "/", web_page },
    { "GET", "/*", web_page },
    { NULL, NULL, NULL },
};
