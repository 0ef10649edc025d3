/* openai_error.c -- refusals as OpenAI's clients read them: message, type, param and code, always
 * all four. What repeating would not mend says so, because these clients repeat by themselves. */
#include "base/id.h"
#include "door/openai.h"

static const char *type_of(int status)
{
    if (status == 401) return "authentication_error";
    if (status == 403) return "permission_error";
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

/* What the rest of the house calls by other names. */
static struct str code_of(struct str code)
{
    static const char *const NAMES[][2] = {
        { "unauthorized", "invalid_api_key" },          { "too_large", "body_too_large" },
        { "unknown_thread", "conversation_not_found" }, { "not_found", "unknown_url" },
        { "unknown_page", "model_not_found" },          { "bad_field", "invalid_value" },
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(code, NAMES[i][0])) return str_c(NAMES[i][1]);
    return code;
}

static void put_error(struct buf *out, int status, struct str code, struct str message,
                      struct str param)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstr(&w, "message", message);
    jw_kstrz(&w, "type", type_of(status));
    jw_key(&w, "param");
    jw_str_or_null(&w, param.len ? param : STR_NONE);
    jw_kstr(&w, "code", code_of(code));
    jw_end_obj(&w);
    jw_end_obj(&w);
}

/* For the client's own log, and for who asks about it. */
void openai_name(struct request *q)
{
    if (q->named) return;
    q->named = true;
    conn_header(q->conn, "x-request-id", id_new(q->arena, "req_"));
}

const char *openai_error_body(struct request *q, struct buf *out, int status, const char *code,
                              const char *message)
{
    openai_name(q);
    put_error(out, status, str_c(code), str_c(message), STR_NONE);
    return "application/json";
}

void openai_error(struct conn *c, int status, struct str code, struct str message, struct str param)
{
    struct buf b = { 0 };
    if (status == 409 || status == 500 || status == 502)
        conn_header(c, "x-should-retry", STR("false"));
    if (status == 503) conn_header(c, "Retry-After", STR("1"));
    put_error(&b, status, code, message, param);
    json_reply(c, status, &b);
}

void openai_no_memory(struct conn *c)
{
    openai_error(c, 503, STR("out_of_memory"), STR("The server is out of memory."), STR_NONE);
}

void openai_refuse(struct request *q, int status, const char *code, const char *message)
{
    openai_error(q->conn, status, str_c(code), str_c(message), STR_NONE);
}
