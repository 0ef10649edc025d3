/* openai_error.c -- refusals as OpenAI's clients read them: message, type, param and code, always all
 * four. What repeating would not mend says so, because these clients repeat by themselves. */
#include "door/openai.h"

static const char *type_of(int status)
{
    if (status == 401) return "authentication_error";
    if (status == 403) return "permission_error";
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

/* What the rest of the house calls by other names. */
static const char *code_of(const char *code)
{
    static const char *const NAMES[][2] = {
        { "unauthorized", "invalid_api_key" },          { "too_large", "body_too_large" },
        { "unknown_thread", "conversation_not_found" }, { "not_found", "unknown_url" },
        { "unknown_page", "model_not_found" },          { "bad_field", "invalid_value" },
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(code, NAMES[i][0]) == 0) return NAMES[i][1];
    return code;
}

static void put_error(struct buf *out, int status, const char *code, const char *message,
                      struct str param)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_obj(&w);
    jw_key(&w, "error");
    jw_obj(&w);
    jw_kstrz(&w, "message", message);
    jw_kstrz(&w, "type", type_of(status));
    jw_key(&w, "param");
    jw_str_or_null(&w, param.len ? param : STR_NONE);
    jw_kstrz(&w, "code", code_of(code));
    jw_end_obj(&w);
    jw_end_obj(&w);
}

bool openai_error_body(const struct request *q, struct buf *out, int status, const char *code,
                       const char *message)
{
    if (!q || !q->door || q->door->refuse != openai_refuse) return false;
    put_error(out, status, code, message, STR_NONE);
    return true;
}

void openai_error(struct conn *c, int status, const char *code, const char *message,
                  struct str param)
{
    struct buf b = { 0 };
    if (status == 409 || status == 500 || status == 502)
        conn_header(c, "x-should-retry", STR("false"));
    if (status == 503) conn_header(c, "Retry-After", STR("1"));
    put_error(&b, status, code, message, param);
    json_reply(c, status, &b);
}

void openai_refuse(struct request *q, int status, const char *code, const char *message)
{
    openai_error(q->conn, status, code, message, STR_NONE);
}
