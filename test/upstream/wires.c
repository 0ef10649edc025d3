/* wires.c -- requests read and checked, answers spelled, for three wires. */
#include "wires.h"

#include <stdio.h>

#include "base/jsonw.h"

/* --- reading ------------------------------------------------------------------------ */

static const struct jv *messages(enum wire w, const struct jv *body)
{
    return jv_get(body, w == W_GEMINI ? "contents" : "messages");
}

static void add_text(struct buf *out, const struct jv *v)
{
    if (jv_is(v, JSON_STRING)) buf_str(out, v->str);
}

/* Text and results of one message, whatever its form. */
static void read_message(enum wire w, const struct jv *m, struct buf *text, struct buf *results,
                         bool *has_results)
{
    const struct jv *content = jv_get(m, w == W_GEMINI ? "parts" : "content");
    if (w == W_OPENAI && str_is(jv_str_at(m, "role"), "tool")) {
        *has_results = true;
        add_text(results, content);
        return;
    }
    if (jv_is(content, JSON_STRING)) add_text(text, content);
    if (!jv_is(content, JSON_ARRAY)) return;
    JV_EACH (part, content) {
        const struct jv *response = jv_get(part, "functionResponse");
        add_text(text, jv_get(part, "text"));
        if (str_is(jv_str_at(part, "type"), "tool_result")) {
            *has_results = true;
            add_text(results, jv_get(part, "content"));
        } else if (response) {
            *has_results = true;
            buf_str(results,
                    jv_get(response, "response") ? jv_get(response, "response")->raw : STR(""));
        }
    }
}

static bool may_call(enum wire w, const struct jv *body)
{
    const struct jv *choice = jv_get(body, "tool_choice");
    if (w == W_GEMINI) choice = jv_get(jv_get(body, "toolConfig"), "functionCallingConfig");
    struct str word =
        w == W_OPENAI ? jv_str(choice) : jv_str_at(choice, w == W_GEMINI ? "mode" : "type");
    return jv_get(body, "tools") && !str_eq_nocase(word, STR("none"));
}

void wire_asked(enum wire w, const struct jv *body, struct arena *a, struct asked *out)
{
    struct buf text, results, question;
    buf_init(&text, 0);
    buf_init(&results, 0);
    buf_init(&question, 0);
    *out = (struct asked){ 0 };
    JV_EACH (m, messages(w, body)) {
        /* one message per result there */
        bool tool = w == W_OPENAI && str_is(jv_str_at(m, "role"), "tool");
        if (!tool || !out->has_results)
            buf_clear(&text), buf_clear(&results), out->has_results = false;
        read_message(w, m, &text, &results, &out->has_results);
        if (!str_is(jv_str_at(m, "role"), "user") || !text.len) continue;
        buf_clear(&question);
        buf_str(&question, buf_view(&text));
    }
    if (text.len) out->has_results = false; /* results that a new question follows are history */
    out->may_call = may_call(w, body);
    out->question = arena_dup(a, buf_view(&question));
    buf_done(&question);
    out->text = arena_dup(a, buf_view(&text));
    out->results = arena_dup(a, buf_view(&results));
    buf_done(&text);
    buf_done(&results);
}

/* --- checking: each call answered by exactly one result, in the next message(s) --- */

#define IDS_MAX 64
struct ids {
    struct str id[IDS_MAX];
    bool       answered[IDS_MAX];
    size_t     count, open;
};

static void ask(struct ids *ids, struct str id)
{
    if (ids->count == IDS_MAX) return;
    ids->id[ids->count] = id;
    ids->answered[ids->count++] = false;
    ids->open++;
}

static bool answer(struct ids *ids, struct str id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->answered[i] || !str_eq(ids->id[i], id)) continue;
        ids->answered[i] = true;
        ids->open--;
        return true;
    }
    return false;
}

static bool is_blank(struct str s)
{
    return !str_trim(s).len;
}

static bool is_name(struct str s)
{
    bool good = s.len && s.len <= 64 && s.ptr[0] != '-' && !(s.ptr[0] >= '0' && s.ptr[0] <= '9');
    for (size_t i = 0; good && i < s.len; i++)
        good =
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", s.ptr[i]) &&
            s.ptr[i];
    return good;
}

static bool is_base64(struct str s)
{
    if (!s.len || s.len % 4) return false;
    while (s.len && s.ptr[s.len - 1] == '=') s.len--;
    for (size_t i = 0; i < s.len; i++)
        if (!s.ptr[i] ||
            !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", s.ptr[i]))
            return false;
    return true;
}

static bool is_picture(struct str type, bool gif)
{
    return str_is(type, "image/png") || str_is(type, "image/jpeg") || str_is(type, "image/webp") ||
           (gif && str_is(type, "image/gif"));
}

/* All services: characters that are none. */
static const char *check_text(const struct jv *v)
{
    for (size_t i = 0; v->type == JSON_STRING && i + 1 < v->str.len; i++)
        if (((unsigned char)v->str.ptr[i] == 0xed && (unsigned char)v->str.ptr[i + 1] >= 0xa0) ||
            !v->str.ptr[i])
            return "the text is not valid Unicode";
    JV_EACH (c, v) {
        const char *no = check_text(c);
        if (no) return no;
    }
    return NULL;
}

static const char *check_image(const struct jv *source)
{
    bool bytes = str_is(jv_str_at(source, "type"), "base64");
    if (!bytes)
        return str_starts(jv_str_at(source, "url"), STR("https://"))
                   ? NULL
                   : "image.source.url: Only HTTPS URLs are supported.";
    if (!is_picture(jv_str_at(source, "media_type"), true))
        return "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
               "'image/gif' or 'image/webp'";
    return is_base64(jv_str_at(source, "data")) ? NULL : "image.source.base64: invalid base64 data";
}

static const char *check_anthropic_block(const struct jv *b)
{
    struct str type = jv_str_at(b, "type");
    if (str_is(type, "text") && is_blank(jv_str_at(b, "text")))
        return "messages: text content blocks must contain non-whitespace text";
    if (str_is(type, "thinking") &&
        (!jv_str_at(b, "signature").len || !jv_is(jv_get(b, "thinking"), JSON_STRING)))
        return "messages: thinking.signature: field required";
    if (str_is(type, "redacted_thinking") && !jv_str_at(b, "data").len)
        return "messages: redacted_thinking.data: Input should be a valid string";
    if (str_is(type, "tool_use") &&
        (!is_name(jv_str_at(b, "name")) || !jv_is(jv_get(b, "input"), JSON_OBJECT)))
        return "messages: tool_use.name: String should match pattern, input a dictionary";
    return str_is(type, "image") ? check_image(jv_get(b, "source")) : NULL;
}

/* --- the tools' schemas --- */

static bool has_choice(const struct jv *schema)
{
    return jv_get(schema, "anyOf") || jv_get(schema, "oneOf") || jv_get(schema, "allOf") ||
           jv_get(schema, "$ref") || jv_get(schema, "enum") || jv_get(schema, "not");
}

static const char *check_keywords(const struct jv *schema)
{
    static const char *const known[] = { "type",        "title",
                                         "description", "format",
                                         "enum",        "items",
                                         "prefixItems", "minItems",
                                         "maxItems",    "minimum",
                                         "maximum",     "anyOf",
                                         "oneOf",       "additionalProperties",
                                         "properties",  "required",
                                         NULL };
    if (!jv_is(schema, JSON_OBJECT)) return NULL;
    JV_EACH (m, schema) {
        const char *const *k = known;
        while (*k && !str_is(m->key, *k)) k++;
        if (!*k) return "Unknown name in parameters_json_schema: Cannot find field.";
        if (str_is(m->key, "properties"))
            JV_EACH (p, m)
                if (check_keywords(p)) return check_keywords(p);
        if (str_is(m->key, "items") && check_keywords(m)) return check_keywords(m);
    }
    const struct jv *required = jv_get(schema, "required");
    if (required)
        JV_EACH (r, required)
            if (!jv_get_str(jv_get(schema, "properties"), r->str))
                return "required: property is not defined";
    return NULL;
}

static const char *check_tool(enum wire w, const struct jv *tool)
{
    const struct jv *f = w == W_OPENAI ? jv_get(tool, "function") : tool;
    const struct jv *schema = jv_get(f, w == W_ANTHROPIC ? "input_schema"
                                        : w == W_OPENAI  ? "parameters"
                                                         : "parametersJsonSchema");
    if (!is_name(jv_str_at(f, "name")))
        return "tools: Invalid function name. Must start with a letter or an underscore.";
    if (w == W_OPENAI && jv_str_at(f, "description").len > 1024)
        return "tools: description: string too long. Expected a string with maximum length 1024";
    if (!schema && w == W_GEMINI) return NULL;
    if (!str_is(jv_str_at(schema, "type"), "object"))
        return "tools: schema must be of 'type: \"object\"'";
    if (has_choice(schema))
        return "tools: schema does not support oneOf, allOf, or anyOf at the top level";
    if (w == W_OPENAI && !jv_is(jv_get(schema, "properties"), JSON_OBJECT))
        return "tools: object schema missing properties";
    return w == W_GEMINI ? check_keywords(schema) : NULL;
}

static const char *check_tools(enum wire w, const struct jv *body)
{
    const struct jv *tools = jv_get(body, "tools");
    if (w == W_GEMINI) tools = jv_get(jv_at(tools, 0), "functionDeclarations");
    JV_EACH (t, tools) {
        const char *no = check_tool(w, t);
        if (no) return no;
    }
    return NULL;
}

static const char *check_anthropic(const struct jv *body)
{
    struct str last = STR_NONE;
    struct ids ids = { 0 };
    bool       first = true;
    if (jv_int_at(body, "max_tokens", 0) < 1) return "max_tokens: field required";
    if (jv_get(body, "temperature")) return "temperature: not supported";
    JV_EACH (m, messages(W_ANTHROPIC, body)) {
        bool assistant = str_is(jv_str_at(m, "role"), "assistant"), other = false;
        last = jv_str_at(m, "role");
        if (first && assistant) return "messages: first message must use the user role";
        first = false;
        if (assistant && ids.open)
            return "messages: tool_use ids were found without tool_result blocks immediately after";
        if (assistant) ids = (struct ids){ 0 };
        const struct jv *content = jv_get(m, "content");
        if (!content || (content->type == JSON_ARRAY && !content->count))
            return "messages: content must not be empty";
        if (content->type == JSON_ARRAY)
            JV_EACH (b, content) {
                struct str  type = jv_str_at(b, "type");
                const char *no = check_anthropic_block(b);
                if (no) return no;
                if (assistant && !b->next && str_is(type, "thinking"))
                    return "messages: The final block in an assistant message cannot be "
                           "`thinking`.";
                if (str_is(type, "tool_use") && !jv_get(body, "tools"))
                    return "Requests which have `tool_use` or `tool_result` blocks in messages "
                           "must define tools.";
                for (size_t i = 0; str_is(type, "tool_use") && i < ids.count; i++)
                    if (str_eq(ids.id[i], jv_str_at(b, "id")))
                        return "messages: `tool_use` ids must be unique";
                if (str_is(type, "tool_use")) ask(&ids, jv_str_at(b, "id"));
                if (!str_is(type, "tool_result")) other = true;
                else if (other) return "messages: tool_result blocks must come first";
                else if (!answer(&ids, jv_str_at(b, "tool_use_id")))
                    return "messages: unexpected tool_use_id in tool_result";
            }
        if (!assistant && ids.open)
            return "messages: tool_use ids were found without tool_result blocks immediately after";
    }
    return str_is(last, "assistant") ? "This model does not support assistant message prefill."
                                     : NULL;
}

static const char *check_openai_part(const struct jv *p)
{
    struct str url = jv_str_at(jv_get(p, "image_url"), "url");
    if (!jv_get(p, "image_url")) return NULL;
    if (str_starts(url, STR("http"))) return NULL;
    ptrdiff_t comma = str_find(url, STR(";base64,"));
    if (!str_starts(url, STR("data:")) || comma < 0)
        return "Invalid 'image_url': Expected a valid URL";
    if (!is_picture(str_n(url.ptr + 5, (size_t)comma - 5), true))
        return "Invalid MIME type. Only image types are supported.";
    return is_base64(str_from(url, (size_t)comma + 8)) ? NULL : "Invalid base64 image_url.";
}

static const char *check_openai(const struct jv *body)
{
    struct ids       ids = { 0 };
    const struct jv *tools = jv_get(body, "tools");
    if (tools && !tools->count) return "tools: [] is too short";
    JV_EACH (m, messages(W_OPENAI, body)) {
        struct str       role = jv_str_at(m, "role");
        const struct jv *calls = jv_get(m, "tool_calls");
        if (str_is(role, "tool")) {
            if (!answer(&ids, jv_str_at(m, "tool_call_id")))
                return "messages with role 'tool' must be a response to a preceding message with "
                       "'tool_calls'";
            continue;
        }
        if (ids.open)
            return "An assistant message with 'tool_calls' must be followed by tool messages "
                   "responding to each 'tool_call_id'";
        ids = (struct ids){ 0 };
        if (!calls && !jv_is(jv_get(m, "content"), JSON_STRING) &&
            !jv_is(jv_get(m, "content"), JSON_ARRAY))
            return "messages: content is required";
        if (jv_is(jv_get(m, "content"), JSON_ARRAY))
            JV_EACH (p, jv_get(m, "content")) {
                const char *no = check_openai_part(p);
                if (no) return no;
            }
        JV_EACH (c, calls) {
            if (!jv_is(jv_get(jv_get(c, "function"), "arguments"), JSON_STRING))
                return "tool_calls: arguments must be a string";
            if (!is_name(jv_str_at(jv_get(c, "function"), "name")))
                return "tool_calls: name does not match pattern";
            if (jv_str_at(c, "id").len > 40)
                return "tool_calls: id: string too long. Expected a string with maximum length 40";
            ask(&ids, jv_str_at(c, "id"));
        }
    }
    return ids.open ? "An assistant message with 'tool_calls' must be followed by tool messages"
                    : NULL;
}

static const char *check_gemini_part(const struct jv *p)
{
    const struct jv *data = jv_get(p, "inlineData"), *file = jv_get(p, "fileData"),
                    *signature = jv_get(p, "thoughtSignature"), *call = jv_get(p, "functionCall");
    struct str type = jv_str_at(data ? data : file, "mimeType");
    if (jv_get(p, "text") && !jv_is(jv_get(p, "text"), JSON_STRING))
        return "Invalid value at 'contents.parts.text' (TYPE_STRING)";
    if ((data || file) && str_starts(type, STR("image/")) && !is_picture(type, false))
        return "Unsupported MIME type";
    if ((data || file) && !str_starts(type, STR("image/")) && !str_starts(type, STR("text/")) &&
        !str_is(type, "application/pdf"))
        return "Unsupported MIME type";
    if (data && !is_base64(jv_str_at(data, "data")))
        return "Invalid value at 'contents.parts.inline_data.data' (TYPE_BYTES), Base64 decoding "
               "failed";
    if (file && !str_starts(jv_str_at(file, "fileUri"), STR("https://")))
        return "Invalid or unsupported file uri";
    if (signature && !is_base64(jv_str(signature)))
        return "Invalid value at 'contents.parts.thought_signature' (TYPE_BYTES), Base64 decoding "
               "failed";
    if (call && (!is_name(jv_str_at(call, "name")) || !jv_is(jv_get(call, "args"), JSON_OBJECT)))
        return "Invalid function name";
    return NULL;
}

/* The newer models: in the turn that is going on every step's first call is signed. */
static const char *check_signatures(const struct jv *body)
{
    const struct jv *from = NULL;
    JV_EACH (m, messages(W_GEMINI, body)) {
        bool question = !str_is(jv_str_at(m, "role"), "model");
        JV_EACH (p, jv_get(m, "parts"))
            if (jv_get(p, "functionResponse")) question = false;
        if (question) from = m;
    }
    for (const struct jv *m = from; m; m = m->next)
        JV_EACH (p, jv_get(m, "parts")) {
            if (!jv_get(p, "functionCall")) continue;
            if (!jv_get(p, "thoughtSignature"))
                return "Function call is missing a thought_signature in functionCall parts.";
            break;
        }
    return NULL;
}

static const char *check_gemini(const struct jv *body)
{
    const char *no;
    size_t      open = 0;
    struct str  names[IDS_MAX], ids[IDS_MAX];
    JV_EACH (m, messages(W_GEMINI, body)) {
        bool   model = str_is(jv_str_at(m, "role"), "model");
        size_t calls = 0, results = 0;
        if (!jv_get(m, "parts") || !jv_get(m, "parts")->count)
            return "contents: parts must not be empty";
        JV_EACH (p, jv_get(m, "parts")) {
            const struct jv *call = jv_get(p, "functionCall"),
                            *response = jv_get(p, "functionResponse");
            if ((no = check_gemini_part(p))) return no;
            if (call && calls < IDS_MAX)
                names[calls] = jv_str_at(call, "name"), ids[calls++] = jv_str_at(call, "id");
            if (!response) continue;
            if (results < open && (!str_eq(names[results], jv_str_at(response, "name")) ||
                                   !str_eq(ids[results], jv_str_at(response, "id"))))
                return "the function response parts are not in the order of the function call "
                       "parts";
            if (!jv_is(jv_get(response, "response"), JSON_OBJECT))
                return "functionResponse.response must be an object";
            results++;
        }
        if (!model && results != open)
            return "Please ensure that the number of function response parts is equal to the "
                   "number of function call parts of the function call turn.";
        if (model) open = calls;
        else if (results) open = 0;
    }
    return open ? "function calls were not answered" : check_signatures(body);
}

const char *wire_refuses(enum wire w, const struct jv *body)
{
    const struct jv *list = messages(w, body);
    if (!jv_is(list, JSON_ARRAY) || !list->count)
        return "messages: at least one message is required";
    if (check_text(list)) return check_text(list);
    if (check_tools(w, body)) return check_tools(w, body);
    switch (w) {
    case W_ANTHROPIC: return check_anthropic(body);
    case W_OPENAI: return check_openai(body);
    case W_GEMINI: return check_gemini(body);
    }
    return NULL;
}

void wire_error(struct buf *out, enum wire w, int status, const char *type, const char *message,
                const char *extra)
{
    switch (w) {
    case W_ANTHROPIC:
        buf_printf(out,
                   "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"%s},\"request_"
                   "id\":\"req_1\"}",
                   type, message, extra);
        return;
    case W_OPENAI:
        buf_printf(
            out,
            "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"param\":null,\"code\":\"%s\"%s}}",
            message, type, type, extra);
        return;
    case W_GEMINI:
        buf_printf(out, "{\"error\":{\"code\":%d,\"message\":\"%s\",\"status\":\"%s\"%s}}", status,
                   message, type, extra);
        return;
    }
}

/* --- speaking --------------------------------------------------------------------------- */

static void event(struct speaker *s, const char *name, const char *json)
{
    if (s->w == W_ANTHROPIC) buf_printf(s->out, "event: %s\n", name);
    buf_printf(s->out, "data: %s\n\n", json);
}

static void quoted(struct buf *out, struct str text)
{
    struct jsonw w;
    jsonw_init(&w, out);
    jw_str(&w, text);
}

/* An event built around one quoted text: before + "text" + after. */
static void quoted_event(struct speaker *s, const char *name, const char *before, struct str text,
                         const char *after)
{
    struct buf b;
    buf_init(&b, 0);
    buf_lit(&b, before);
    quoted(&b, text);
    buf_lit(&b, after);
    buf_chr(&b, '\0');
    event(s, name, b.ptr);
    buf_done(&b);
}

static void block_start(struct speaker *s, const char *block)
{
    char before[400];
    snprintf(before, sizeof before,
             "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}", s->block,
             block);
    event(s, "content_block_start", before);
}

static void block_delta(struct speaker *s, const char *type, const char *key, struct str text)
{
    char before[160];
    snprintf(before, sizeof before,
             "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s\",\"%s\":",
             s->block, type, key);
    quoted_event(s, "content_block_delta", before, text, "}}");
}

static void block_stop(struct speaker *s)
{
    char json[80];
    snprintf(json, sizeof json, "{\"type\":\"content_block_stop\",\"index\":%d}", s->block++);
    event(s, "content_block_stop", json);
}

#define CHUNK(delta)                                                                     \
    "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\"," \
    "\"choices\":[{\"index\":0,\"delta\":" delta
#define CHUNK_END ",\"finish_reason\":null}]}"
#define CANDIDATE "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":["
#define CANDIDATE_END                                                                      \
    "]},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":20,\"totalTokenCount\":20}," \
    "\"modelVersion\":\"m\",\"responseId\":\"r1\"}"

void speak_begin(struct speaker *s)
{
    if (s->w == W_ANTHROPIC)
        event(s, "message_start",
              "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\","
              "\"role\":\"assistant\",\"model\":\"m\","
              "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_"
              "tokens\":20,\"output_tokens\":1}}}");
    if (s->w == W_OPENAI)
        event(s, "", CHUNK("{\"role\":\"assistant\",\"content\":\"\"}") CHUNK_END);
}

static void say_delta(struct speaker *s, struct str text, bool thought)
{
    switch (s->w) {
    case W_ANTHROPIC:
        block_delta(s, thought ? "thinking_delta" : "text_delta", thought ? "thinking" : "text",
                    text);
        return;
    case W_OPENAI:
        quoted_event(s, "", thought ? CHUNK("{\"reasoning_content\":") : CHUNK("{\"content\":"),
                     text, "}" CHUNK_END);
        return;
    case W_GEMINI:
        quoted_event(s, "", CANDIDATE "{\"text\":", text,
                     thought ? ",\"thought\":true}" CANDIDATE_END : "}" CANDIDATE_END);
        return;
    }
}

static void say_words(struct speaker *s, struct str text, bool thought)
{
    while (text.len) {
        size_t n = 1;
        while (n < text.len && text.ptr[n] != ' ') n++;
        say_delta(s, str_cut(text, n), thought);
        text = str_from(text, n);
    }
}

void speak_text(struct speaker *s, struct str text)
{
    if (s->w == W_ANTHROPIC) block_start(s, "{\"type\":\"text\",\"text\":\"\"}");
    say_words(s, text, false);
    if (s->w == W_ANTHROPIC) block_stop(s);
}

void speak_thought(struct speaker *s, struct str text)
{
    if (s->w == W_ANTHROPIC)
        block_start(s, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}");
    say_words(s, text, true);
    if (s->w == W_ANTHROPIC) {
        block_delta(s, "signature_delta", "signature", STR("c2lnLWE="));
        block_stop(s);
    }
}

static void call_anthropic(struct speaker *s, struct str id, struct str name, struct str input,
                           size_t upto)
{
    char   block[300];
    size_t half = upto / 2;
    snprintf(block, sizeof block,
             "{\"type\":\"tool_use\",\"id\":\"" STR_FMT "\",\"name\":\"" STR_FMT "\",\"input\":{}}",
             STR_ARG(id), STR_ARG(name));
    block_start(s, block);
    block_delta(s, "input_json_delta", "partial_json", STR(""));
    block_delta(s, "input_json_delta", "partial_json", str_cut(input, half));
    block_delta(s, "input_json_delta", "partial_json", str_from(str_cut(input, upto), half));
    if (upto == input.len) block_stop(s);
}

static void call_openai(struct speaker *s, struct str id, struct str name, struct str input,
                        size_t upto)
{
    char   text[500];
    size_t half = upto / 2;
    snprintf(text, sizeof text,
             CHUNK("{\"tool_calls\":[{\"index\":%d,\"id\":\"" STR_FMT
                   "\",\"type\":\"function\",\"function\":{\"name\":\"" STR_FMT
                   "\",\"arguments\":\"\"}}]}") CHUNK_END,
             s->call, STR_ARG(id), STR_ARG(name));
    event(s, "", text);
    snprintf(text, sizeof text,
             CHUNK("{\"tool_calls\":[{\"index\":%d,\"function\":{\"arguments\":"), s->call++);
    quoted_event(s, "", text, str_cut(input, half), "}}]}" CHUNK_END);
    quoted_event(s, "", text, str_from(str_cut(input, upto), half), "}}]}" CHUNK_END);
}

/* Half a call can only be half an event on this wire, or arguments that stop coming. */
static void call_gemini(struct speaker *s, struct str id, struct str name, struct str input,
                        size_t upto)
{
    buf_printf(s->out,
               "data: " CANDIDATE "{\"functionCall\":{\"id\":\"" STR_FMT "\",\"name\":\"" STR_FMT
               "\",",
               STR_ARG(id), STR_ARG(name));
    if (upto == input.len) buf_printf(s->out, "\"args\":" STR_FMT "}", STR_ARG(input));
    else
        buf_lit(s->out, "\"partialArgs\":[{\"jsonPath\":\"$.recipient\",\"stringValue\":\"Al\","
                        "\"willContinue\":true}],\"willContinue\":true}");
    if (!s->signed_call) buf_lit(s->out, ",\"thoughtSignature\":\"c2lnLWc=\"");
    s->signed_call = true;
    buf_lit(s->out, "}" CANDIDATE_END "\n\n");
}

void speak_call(struct speaker *s, struct str id, struct str name, struct str input, size_t upto)
{
    if (upto > input.len) upto = input.len;
    switch (s->w) {
    case W_ANTHROPIC: call_anthropic(s, id, name, input, upto); return;
    case W_OPENAI: call_openai(s, id, name, input, upto); return;
    case W_GEMINI: call_gemini(s, id, name, input, upto); return;
    }
}

void speak_end(struct speaker *s, enum stop stop)
{
    static const char *const words[3][4] = { { "end_turn", "tool_use", "max_tokens", "refusal" },
                                             { "stop", "tool_calls", "length", "content_filter" },
                                             { "STOP", "STOP", "MAX_TOKENS", "SAFETY" } };
    char                     json[400];
    switch (s->w) {
    case W_ANTHROPIC:
        snprintf(json, sizeof json,
                 "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":"
                 "null},\"usage\":{\"output_tokens\":12}}",
                 words[0][stop]);
        event(s, "message_delta", json);
        event(s, "message_stop", "{\"type\":\"message_stop\"}");
        return;
    case W_OPENAI:
        snprintf(json, sizeof json, CHUNK("{},\"finish_reason\":\"%s\"}]}"), words[1][stop]);
        event(s, "", json);
        event(s, "",
              "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
              "\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":12,\"total_"
              "tokens\":32}}");
        event(s, "", "[DONE]");
        return;
    case W_GEMINI:
        snprintf(json, sizeof json,
                 "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},"
                 "\"finishReason\":\"%s\",\"index\":0}],"
                 "\"usageMetadata\":{\"promptTokenCount\":20,\"candidatesTokenCount\":9,"
                 "\"thoughtsTokenCount\":3,\"totalTokenCount\":32}}",
                 words[2][stop]);
        event(s, "", json);
        return;
    }
}

void speak_error(struct speaker *s)
{
    struct buf b;
    buf_init(&b, 0);
    wire_error(&b, s->w, 503,
               s->w == W_ANTHROPIC ? "overloaded_error"
               : s->w == W_GEMINI  ? "UNAVAILABLE"
                                   : "server_error",
               "sk-secret overloaded", "");
    buf_chr(&b, '\0');
    event(s, "error", b.ptr);
    buf_done(&b);
}

void speak_token(struct speaker *s, unsigned n)
{
    char word[16];
    if (n == 0 && s->w == W_ANTHROPIC) block_start(s, "{\"type\":\"text\",\"text\":\"\"}");
    snprintf(word, sizeof word, "%06u ", n);
    say_delta(s, str_c(word), false);
}
