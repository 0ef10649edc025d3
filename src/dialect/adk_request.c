/* adk_request.c -- see adk_request.h. */
#include "dialect/adk_request.h"

#include "base/jsonw.h"

#define CONFIRMATION "adk_request_confirmation"
#define APART        "Answers and words do not go together; send the words afterwards."

static bool refuse(struct refusal *why, int status, const char *code, const char *message)
{
    *why = (struct refusal){ status, code, message };
    return false;
}

/* Their Python writes camel case and reads both; which of two that differ is meant, nobody can
 * say. */
static bool is_said_twice(const struct jv *v, struct refusal *why)
{
    static const char *const NAMES[][2] = {
        { "newMessage", "new_message" },     { "functionResponse", "function_response" },
        { "functionCall", "function_call" }, { "inlineData", "inline_data" },
        { "fileData", "file_data" },
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (jv_get(v, NAMES[i][0]) && jv_get(v, NAMES[i][1]))
            return !refuse(why, 422, "bad_field",
                           "A member stands here by both of its names; send one of them.");
    return false;
}

static const struct jv *given(const struct jv *v)
{
    return v && v->type != JSON_NULL ? v : NULL;
}

static const struct jv *member(const struct jv *v, const char *camel, const char *snake)
{
    const struct jv *found = jv_get(v, camel);
    return found ? found : jv_get(v, snake);
}

bool adk_streams(const struct jv *body)
{
    return jv_true(jv_get(body, "streaming"));
}

static bool text_of(const struct jv *v, const char *camel, const char *snake, struct str *out,
                    struct refusal *why)
{
    const struct jv *x = member(v, camel, snake);
    if (!jv_is(x, JSON_STRING) || !x->str.len)
        return refuse(why, 422, "bad_field",
                      "\"appName\", \"userId\" and \"sessionId\" must be texts.");
    *out = x->str;
    return true;
}

static bool add_answer(const struct jv *r, struct ai_request *q, struct refusal *why)
{
    const struct jv *response = jv_get(r, "response");
    struct ai_answer x = { .id = jv_str_at(r, "id"), .answer = response };
    if (!x.id.len || !response)
        return refuse(why, 422, "malformed_answer",
                      "A functionResponse has \"id\", \"name\" and \"response\".");
    if (q->answer_count == AI_ANSWERS_MAX)
        return refuse(why, 413, "too_long", "This message carries too many answers.");
    if (str_is(jv_str_at(r, "name"), CONFIRMATION)) x.kind = AI_CONFIRM;
    else {
        x.kind = AI_RESULT;
        x.value = response->raw;
    }
    q->answers[q->answer_count++] = x;
    return true;
}

static bool put_file(struct jsonw *w, const struct jv *part)
{
    const struct jv *data = member(part, "inlineData", "inline_data"),
                    *link = member(part, "fileData", "file_data");
    struct str type = jv_str(member(data ? data : link, "mimeType", "mime_type"));
    struct str uri = jv_str(member(link, "fileUri", "file_uri"));
    if (!data && !uri.len) return false;
    jw_obj(w);
    jw_kstrz(w, "type", "file");
    if (type.len) jw_kstr(w, "mediaType", type);
    if (data) {
        struct buf url;
        buf_init(&url, 0);
        buf_lit(&url, "data:");
        buf_str(&url, type.len ? type : STR("application/octet-stream"));
        buf_lit(&url, ";base64,");
        buf_str(&url, jv_str_at(data, "data"));
        jw_kbuf(w, "url", &url);
        buf_done(&url);
    } else jw_kstr(w, "url", uri);
    jw_end_obj(w);
    return true;
}

struct content {
    struct buf   text, files;
    struct jsonw w;
    bool         any_file;
};

static bool add_part(struct content *x, const struct jv *p, struct ai_request *q,
                     struct refusal *why)
{
    const struct jv *response = member(p, "functionResponse", "function_response"),
                    *text = jv_get(p, "text");
    if (is_said_twice(p, why)) return false;
    if (response && (jv_str(text).len || given(member(p, "inlineData", "inline_data")) ||
                     given(member(p, "fileData", "file_data"))))
        return refuse(why, 422, "bad_field", APART);
    if (response) return add_answer(response, q, why);
    if (str_is(jv_str_at(member(p, "functionCall", "function_call"), "name"), CONFIRMATION))
        return refuse(why, 403, "reserved_name", "Only the server asks for confirmations.");
    if (jv_is(text, JSON_STRING)) {
        if (x->text.len && text->str.len) buf_chr(&x->text, '\n');
        buf_str(&x->text, text->str);
        return true;
    }
    if (!put_file(&x->w, p))
        return refuse(why, 422, "bad_field",
                      "A part is \"text\", \"inlineData\", \"fileData\" or \"functionResponse\".");
    x->any_file = true;
    return true;
}

static bool end_parts(struct command *c, struct content *x, struct ai_request *q,
                      struct refusal *why)
{
    jw_end_arr(&x->w);
    q->text = arena_dup(&c->arena, buf_view(&x->text));
    q->files = x->any_file ? arena_dup(&c->arena, buf_view(&x->files)) : STR_NONE;
    if (x->text.err == ERR_FULL) return refuse(why, 413, "too_long", "This message is too long.");
    return !x->text.err && !x->files.err && !c->arena.failed
               ? true
               : refuse(why, 503, "out_of_memory",
                        "The server is out of memory; try again in a moment.");
}

static bool read_parts(struct command *c, const struct jv *list, struct ai_request *q,
                       struct refusal *why)
{
    struct content x = { 0 };
    bool           ok = true;
    buf_init(&x.text, MESSAGE_TEXT_MAX);
    buf_init(&x.files, 0);
    jsonw_init(&x.w, &x.files);
    jw_arr(&x.w);
    JV_EACH (p, list)
        if (ok) ok = add_part(&x, p, q, why);
    if (ok) ok = end_parts(c, &x, q, why);
    buf_done(&x.text);
    buf_done(&x.files);
    return ok;
}

bool adk_decode(struct command *c, const struct jv *body, struct ai_request *q, struct refusal *why)
{
    const struct jv *message = member(body, "newMessage", "new_message"),
                    *parts = jv_get(message, "parts");
    struct str user;
    *q = (struct ai_request){ 0 };
    if (is_said_twice(body, why) || !text_of(body, "appName", "app_name", &q->page, why) ||
        !text_of(body, "userId", "user_id", &user, why) ||
        !text_of(body, "sessionId", "session_id", &q->id, why) ||
        !request_text(c, body, "request_id", REQUEST_ID_MAX, &q->request_id, why))
        return false;
    if (!jv_is(parts, JSON_ARRAY))
        return refuse(why, 422, "bad_field", "\"newMessage\" must have a list of \"parts\".");
    if (!read_parts(c, parts, q, why)) return false;
    bool words = str_trim(q->text).len || q->files.len;
    if (q->answer_count && words) return refuse(why, 422, "bad_field", APART);
    if (!q->answer_count && !words)
        return refuse(why, 422, "malformed_message", "The message has neither words nor files.");
    q->kind = q->answer_count ? AI_ANSWERS : AI_MESSAGE;
    return true;
}
