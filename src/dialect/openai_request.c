/* openai_request.c -- see openai_request.h. What the two shapes share; their items are read in
 * openai_items.c. */
#include "dialect/openai_request.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "dialect/openai_int.h"

bool oai_refuse(struct oai_read *r, int status, const char *code, const char *param,
                const char *message)
{
    struct str p = param ? arena_dup(r->a, str_c(param)) : STR_NONE;
    *r->why = (struct oai_refusal){ status, code, message, p };
    return false;
}

static bool bad_type(struct oai_read *r, const char *key, const char *want)
{
    struct str m = arena_printf(r->a, "\"%s\" must be %s.", key, want);
    return oai_refuse(r, 400, "invalid_type", key, m.ptr ? m.ptr : want);
}

static const struct jv *given(const struct jv *body, const char *key)
{
    const struct jv *v = jv_get(body, key);
    return v && v->type != JSON_NULL ? v : NULL;
}

/* --- simple members --------------------------------------------------------------------------- */

static bool read_bool(struct oai_read *r, const struct jv *body, const char *key, bool *out)
{
    const struct jv *v = given(body, key);
    if (!v) return true;
    if (v->type != JSON_BOOL) return bad_type(r, key, "true or false");
    *out = v->boolean;
    return true;
}

static bool read_str(struct oai_read *r, const struct jv *body, const char *key, struct str *out)
{
    const struct jv *v = given(body, key);
    if (!v) return true;
    if (v->type != JSON_STRING) return bad_type(r, key, "a string");
    *out = v->str;
    return true;
}

static bool check_number(struct oai_read *r, const struct jv *body, const char *key)
{
    const struct jv *v = given(body, key);
    return !v || v->type == JSON_NUMBER || bad_type(r, key, "a number");
}

static bool read_max(struct oai_read *r, const struct jv *body, const char *key)
{
    const struct jv *v = given(body, key);
    int64_t          n;
    if (!v) return true;
    if (!jv_int(v, &n)) return bad_type(r, key, "a whole number");
    if (n < 1) return oai_refuse(r, 400, "invalid_value", key, "It must be at least 1.");
    r->out->max_tokens = n;
    return true;
}

/* --- what is refused because it would be ignored ---------------------------------------------- */

static bool unsupported(struct oai_read *r, const char *key)
{
    struct str m = arena_printf(r->a, "\"%s\" is not supported here; leave it out.", key);
    return oai_refuse(r, 400, "unsupported_parameter", key, m.ptr ? m.ptr : key);
}

static bool is_empty(const struct jv *v)
{
    return (v->type == JSON_ARRAY && !v->count) || (v->type == JSON_BOOL && !v->boolean);
}

static bool check_format(struct oai_read *r, const struct jv *format, const char *param)
{
    struct str type = jv_str_at(format, "type");
    if (!format || format->type == JSON_NULL || !type.len || str_is(type, "text")) return true;
    return oai_refuse(r, 400, "unsupported_value", param,
                      "Only text is written here; leave the format out.");
}

static bool check_unsupported(struct oai_read *r, const struct jv *body)
{
    static const char *const NEVER[] = { "stop",          "logprobs", "prompt",        "functions",
                                         "function_call", "audio",    "max_tool_calls" };
    int64_t                  n;
    const struct jv         *v;
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++)
        if ((v = given(body, NEVER[i])) && !is_empty(v)) return unsupported(r, NEVER[i]);
    if ((v = given(body, "n")) && (!jv_int(v, &n) || n != 1))
        return oai_refuse(r, 400, "unsupported_value", "n", "One answer is given to each request.");
    if ((v = given(body, "top_logprobs")) && (!jv_int(v, &n) || n != 0))
        return unsupported(r, "top_logprobs");
    JV_EACH (m, given(body, "modalities"))
        if (!str_is(jv_str(m), "text"))
            return oai_refuse(r, 400, "unsupported_value", "modalities", "Only text is written.");
    if (!check_format(r, given(body, "response_format"), "response_format") ||
        !check_format(r, given(given(body, "text"), "format"), "text.format"))
        return false;
    v = given(body, "parallel_tool_calls");
    if (v && v->type != JSON_BOOL) return bad_type(r, "parallel_tool_calls", "true or false");
    return check_number(r, body, "temperature") && check_number(r, body, "top_p");
}

static bool check_metadata(struct oai_read *r, const struct jv *v)
{
    if (v->type != JSON_OBJECT) return bad_type(r, "metadata", "an object");
    if (v->count > OAI_META_MAX)
        return oai_refuse(r, 400, "invalid_value", "metadata", "At most 16 members are kept.");
    JV_EACH (m, v) {
        if (m->type != JSON_STRING) return bad_type(r, "metadata", "an object of texts");
        if (utf8_count(m->key) > OAI_META_KEY || utf8_count(m->str) > OAI_META_VALUE)
            return oai_refuse(r, 400, "invalid_value", "metadata",
                              "A name may have 64 characters, a value 512.");
    }
    return true;
}

bool oai_metadata(struct arena *a, const struct jv *v, struct str *out, struct oai_refusal *why)
{
    struct buf   b = { 0 };
    struct jsonw w;
    if (!v || v->type == JSON_NULL) return true;
    if (!check_metadata(&(struct oai_read){ .a = a, .why = why }, v)) return false;
    jsonw_init(&w, &b);
    jw_obj(&w);
    JV_EACH (m, v) {
        jw_key_str(&w, m->key);
        jw_str(&w, m->str);
    }
    jw_end_obj(&w);
    *out = buf_into(&b, a);
    if (!out->ptr) a->failed = true;
    return true;
}

static bool read_metadata(struct oai_read *r, const struct jv *body)
{
    return r->out->chat || oai_metadata(r->a, jv_get(body, "metadata"), &r->out->metadata, r->why);
}

static bool read_conversation(struct oai_read *r, const struct jv *body)
{
    const struct jv *v = given(body, "conversation");
    if (!v || r->out->chat) return true;
    struct str id = v->type == JSON_OBJECT ? jv_str_at(v, "id") : jv_str(v);
    if (!id.len) return bad_type(r, "conversation", "an id, or an object with one");
    r->out->conversation = id;
    if (r->out->previous.len)
        return oai_refuse(r, 400, "mutually_exclusive", "previous_response_id",
                          "Name the conversation or the response before, not both.");
    return true;
}

/* --- tools ------------------------------------------------------------------------------------ */

static bool read_function(struct oai_read *r, const struct jv *v, unsigned i)
{
    /* Chat Completions wrap it */
    const struct jv     *f = r->out->chat ? jv_get(v, "function") : v;
    struct oai_function *x = &r->out->functions[r->out->function_count];
    char                 param[48];
    snprintf(param, sizeof param, "tools[%u].%sname", i, r->out->chat ? "function." : "");
    x->name = jv_str_at(f, "name");
    x->description = jv_str_at(f, "description");
    x->strict = jv_true(jv_get(f, "strict"));
    if (!x->name.len)
        return oai_refuse(r, 400, "missing_required_parameter", param, "A function needs a name.");
    const struct jv *schema = given(f, "parameters");
    if (schema && schema->type != JSON_OBJECT) return bad_type(r, param, "described by an object");
    x->parameters = schema ? schema->raw : STR_NONE;
    r->out->function_count++;
    return true;
}

static bool read_only(struct oai_read *r, const struct jv *list)
{
    if (jv_is(list, JSON_OBJECT)) list = jv_get(list, "tool_names");
    if (!jv_is(list, JSON_ARRAY)) return true;
    size_t      at = r->out->only_count;
    struct str *all = arena_array(r->a, at + list->count + 1, sizeof *all);
    if (!all) return oai_refuse(r, 503, "out_of_memory", NULL, "The server is out of memory.");
    if (at) memcpy(all, r->out->only, at * sizeof *all);
    JV_EACH (v, list) {
        struct str name = v->type == JSON_STRING ? v->str : jv_str_at(v, "name");
        if (!name.len) name = jv_str_at(jv_get(v, "function"), "name");
        if (name.len) all[at++] = name;
    }
    r->out->only = all;
    r->out->only_count = at;
    return true;
}

/* It can only ask for more than the tools' own policy does. Lists of tools, whatever they say of
 * which, are taken as "always": a question too many is none too few. */
static bool read_approval(struct oai_read *r, const struct jv *v, const char *param)
{
    bool always = v && (v->type == JSON_OBJECT || str_is(jv_str(v), "always"));
    r->out->ask_always |= always;
    if (!v || always || str_is(jv_str(v), "never")) return true;
    return oai_refuse(r, 400, "unsupported_value", param,
                      "It is \"always\", \"never\" or an object.");
}

/* Our own tools, as OpenAI's shape names those of a server. */
static bool read_mcp(struct oai_read *r, const struct jv *v, unsigned i)
{
    char param[40];
    snprintf(param, sizeof param, "tools[%u].server_label", i);
    if (!str_is(jv_str_at(v, "server_label"), "parley"))
        return oai_refuse(r, 400, "unsupported_value", param,
                          "No request makes this server connect anywhere; its own tools are "
                          "\"parley\".");
    r->out->form = OAI_FORM_ITEMS;
    snprintf(param, sizeof param, "tools[%u].require_approval", i);
    return read_approval(r, given(v, "require_approval"), param) &&
           read_only(r, given(v, "allowed_tools"));
}

static bool read_tool(struct oai_read *r, const struct jv *v, unsigned i)
{
    struct str type = jv_str_at(v, "type");
    char       param[40];
    snprintf(param, sizeof param, "tools[%u].type", i);
    if (str_is(type, "function")) return read_function(r, v, i);
    if (!r->out->chat && str_is(type, "mcp")) return read_mcp(r, v, i);
    if (!r->out->chat && str_is(type, "parley:approvals")) {
        r->out->form = OAI_FORM_EXTENSION;
        return true;
    }
    return oai_refuse(r, 400, "unsupported_value", param,
                      "Tools are functions that the client runs; the server's own need not be "
                      "listed.");
}

static bool read_tools(struct oai_read *r, const struct jv *body)
{
    const struct jv *v = given(body, "tools");
    unsigned         i = 0;
    r->out->has_tools = v != NULL;
    if (!v) return true;
    if (v->type != JSON_ARRAY) return bad_type(r, "tools", "a list");
    if (v->count > OAI_TOOLS_MAX)
        return oai_refuse(r, 400, "invalid_value", "tools", "At most 128 tools can be declared.");
    r->out->functions = arena_array(r->a, v->count + 1, sizeof *r->out->functions);
    if (!r->out->functions)
        return oai_refuse(r, 503, "out_of_memory", NULL, "The server is out of memory.");
    JV_EACH (t, v)
        if (!read_tool(r, t, i++)) return false;
    return true;
}

static bool is_declared(const struct oai_request *q, struct str name)
{
    for (size_t i = 0; i < q->function_count; i++)
        if (str_eq(q->functions[i].name, name)) return true;
    return false;
}

static bool choice_word(struct oai_read *r, struct str word)
{
    if (str_is(word, "auto")) r->out->choice = OAI_AUTO;
    else if (str_is(word, "none")) r->out->choice = OAI_NONE;
    else if (str_is(word, "required")) r->out->choice = OAI_REQUIRED;
    else
        return oai_refuse(r, 400, "invalid_value", "tool_choice",
                          "It is \"auto\", \"none\", \"required\" or a function.");
    return true;
}

static bool read_choice(struct oai_read *r, const struct jv *body)
{
    const struct jv *v = given(body, "tool_choice");
    if (!v) return true;
    r->out->choice_raw = v->raw;
    if (v->type == JSON_STRING) return choice_word(r, v->str);
    struct str type = jv_str_at(v, "type"), name = jv_str_at(v, "name");
    if (!name.len) name = jv_str_at(jv_get(v, "function"), "name");
    if (str_is(type, "allowed_tools")) {
        const struct jv *in = jv_get(v, "allowed_tools") ? jv_get(v, "allowed_tools") : v;
        struct str       mode = jv_str_at(in, "mode");
        if (mode.len && !choice_word(r, mode)) return false;
        return read_only(r, jv_get(in, "tools"));
    }
    if (!str_is(type, "function") || !is_declared(r->out, name))
        return oai_refuse(r, 400, "invalid_value", "tool_choice",
                          "It must name a function of \"tools\".");
    r->out->choice = OAI_NAMED;
    r->out->named = name;
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool read_options(struct oai_read *r, const struct jv *body)
{
    struct oai_request *q = r->out;
    if (!read_str(r, body, "model", &q->model) || !read_bool(r, body, "stream", &q->stream))
        return false;
    if (q->chat)
        return read_bool(r, given(body, "stream_options"), "include_usage", &q->usage) &&
               read_max(r, body, "max_tokens") && read_max(r, body, "max_completion_tokens");
    q->summary = given(given(body, "reasoning"), "summary") != NULL ||
                 given(given(body, "reasoning"), "generate_summary") != NULL;
    if (!read_bool(r, body, "store", &q->store) ||
        !read_bool(r, body, "background", &q->background) ||
        !read_str(r, body, "instructions", &q->instructions) ||
        !read_str(r, body, "previous_response_id", &q->previous) || !read_conversation(r, body) ||
        !read_max(r, body, "max_output_tokens"))
        return false;
    if (q->background && !q->store)
        return oai_refuse(r, 400, "unsupported_value", "background",
                          "What is not stored cannot be fetched later; leave \"store\" out.");
    return true;
}

bool oai_decode(struct arena *a, const struct jv *body, bool chat, struct oai_request *out,
                struct oai_refusal *why)
{
    struct oai_read r = { a, out, why };
    *out = (struct oai_request){ .chat = chat,
                                 .store = !chat,
                                 .form = chat ? OAI_FORM_WORDS : OAI_FORM_BOTH };
    if (!jv_is(body, JSON_OBJECT))
        return oai_refuse(&r, 400, "invalid_type", NULL, "The body must be a JSON object.");
    if (!read_options(&r, body) || !check_unsupported(&r, body) || !read_metadata(&r, body) ||
        !read_tools(&r, body) || !read_choice(&r, body) || !oai_read_items(&r, body))
        return false;
    if (a->failed)
        return oai_refuse(&r, 503, "out_of_memory", NULL,
                          "The server is out of memory; try again in a moment.");
    return true;
}
