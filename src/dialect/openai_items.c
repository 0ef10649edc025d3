/* openai_items.c -- the client's list: messages of Chat Completions, items of Responses. Whose side
 * each is on, where the tail begins, and what the tail says. */
#include "base/buf.h"
#include "base/jsonw.h"
#include "dialect/openai_int.h"
#include "dialect/request.h"

#define FILES_MAX 64

/* What the tail's messages bring beside words. */
struct files {
    struct buf   json;
    struct jsonw w;
    size_t       count;
};

static const char *at(struct oai_read *r, unsigned i, const char *member)
{
    struct str s = arena_printf(r->a, "%s[%u]%s%s", r->out->chat ? "messages" : "input", i,
                                member[0] ? "." : "", member);
    return s.ptr ? s.ptr : "input";
}

static bool bad(struct oai_read *r, unsigned i, const char *member, const char *code,
                const char *message)
{
    return oai_refuse(r, 400, code, at(r, i, member), message);
}

/* --- parts of a message ----------------------------------------------------------------------- */

static struct str media_of(struct str url, struct str name)
{
    ptrdiff_t end = str_find(url, STR(";"));
    if (str_starts(url, STR("data:")) && end > 5) return str_n(url.ptr + 5, (size_t)end - 5);
    if (str_ends(name, STR(".pdf"))) return STR("application/pdf");
    if (str_ends(name, STR(".txt")) || str_ends(name, STR(".md"))) return STR("text/plain");
    return STR("application/octet-stream");
}

static bool add_file(struct oai_read *r, unsigned i, struct files *f, struct str url,
                     struct str name, bool bare)
{
    bool data = str_starts(url, STR("data:"));
    if (!data && (!bare || str_find(url, STR(":")) >= 0))
        return bad(r, i, "content", "unsupported_value",
                   "Pictures and files are taken as data: addresses only; nothing is fetched.");
    if (++f->count > FILES_MAX)
        return bad(r, i, "content", "invalid_value", "These are too many files for one message.");
    struct str media = media_of(url, name);
    if (!data)
        url = arena_printf(r->a, "data:" STR_FMT ";base64," STR_FMT, STR_ARG(media), STR_ARG(url));
    jw_obj(&f->w);
    jw_kstr(&f->w, "mediaType", media);
    jw_kstr(&f->w, "url", url);
    if (name.len) jw_kstr(&f->w, "filename", name);
    jw_end_obj(&f->w);
    return true;
}

static bool read_picture(struct oai_read *r, unsigned i, const struct jv *v, struct files *f)
{
    const struct jv *image = jv_get(v, "image_url");
    struct str       url = jv_is(image, JSON_OBJECT) ? jv_str_at(image, "url") : jv_str(image);
    if (jv_str_at(v, "file_id").len || !url.len)
        return bad(r, i, "content", "unsupported_value",
                   "Pictures are taken as data: addresses; there is no store of files here.");
    return add_file(r, i, f, url, STR_NONE, false);
}

static bool read_file(struct oai_read *r, unsigned i, const struct jv *v, struct files *f)
{
    const struct jv *in = jv_is(jv_get(v, "file"), JSON_OBJECT) ? jv_get(v, "file") : v;
    struct str       data = jv_str_at(in, "file_data");
    if (!data.len) data = jv_str_at(in, "file_url");
    if (!data.len)
        return bad(r, i, "content", "unsupported_value",
                   "Files are taken as data: addresses; there is no store of files here.");
    return add_file(r, i, f, data, jv_str_at(in, "filename"), jv_str_at(in, "file_data").len > 0);
}

/* `files` NULL: history, whose files are left out. */
static bool read_part(struct oai_read *r, unsigned i, const struct jv *v, struct buf *text,
                      struct files *files)
{
    struct str type = jv_str_at(v, "type");
    if (str_is(type, "text") || str_is(type, "input_text") || str_is(type, "output_text")) {
        buf_str(text, jv_str_at(v, "text"));
        return true;
    }
    if (str_is(type, "refusal")) {
        buf_str(text, jv_str_at(v, "refusal"));
        return true;
    }
    if (!files) return true;
    if (str_is(type, "image_url") || str_is(type, "input_image"))
        return read_picture(r, i, v, files);
    if (str_is(type, "file") || str_is(type, "input_file")) return read_file(r, i, v, files);
    return bad(r, i, "content", "unsupported_value",
               "A message has text, pictures and files; this part is something else.");
}

static bool read_content(struct oai_read *r, unsigned i, const struct jv *v, struct str *out,
                         struct files *files)
{
    struct buf b = { 0 };
    bool       ok = true;
    if (!v || v->type == JSON_NULL || v->type == JSON_STRING) {
        *out = v && v->type == JSON_STRING ? v->str : STR("");
        return true;
    }
    if (v->type != JSON_ARRAY)
        return bad(r, i, "content", "invalid_type", "It must be a text or a list of parts.");
    JV_EACH (part, v) ok = ok && read_part(r, i, part, &b, files);
    *out = arena_dup(r->a, buf_view(&b));
    if (b.err) r->a->failed = true;
    buf_done(&b);
    return ok;
}

/* --- whose side ------------------------------------------------------------------------------- */

static bool is_client_role(struct str role)
{
    return str_is(role, "user") || str_is(role, "system") || str_is(role, "developer");
}

static enum oai_kind kind_of(const struct oai_request *q, const struct jv *v)
{
    struct str type = jv_str_at(v, "type"), role = jv_str_at(v, "role");
    if (q->chat && str_is(role, "tool")) return OAI_OUTPUT;
    if (q->chat || !type.len || str_is(type, "message")) {
        if (str_is(role, "user")) return OAI_USER;
        if (is_client_role(role)) return OAI_SYSTEM;
        return OAI_ASSISTANT;
    }
    if (str_is(type, "function_call_output")) return OAI_OUTPUT;
    if (str_is(type, "mcp_approval_response") || str_is(type, "parley:approval_response"))
        return OAI_APPROVAL;
    return OAI_OTHER;
}

/* The answer to something that this server never makes: it follows a call, as outputs do. */
static bool is_foreign_output(const struct oai_item *x)
{
    return x->kind == OAI_OTHER && str_ends(x->type, STR("_output"));
}

static bool is_assistants(const struct oai_item *x)
{
    return x->kind == OAI_ASSISTANT || (x->kind == OAI_OTHER && !is_foreign_output(x));
}

/* --- items ------------------------------------------------------------------------------------ */

static void read_ids(const struct oai_request *q, const struct jv *v, struct oai_item *x)
{
    const struct jv *call = jv_at(jv_get(v, "tool_calls"), 0);
    if (q->chat)
        x->id = x->kind == OAI_OUTPUT ? jv_str_at(v, "tool_call_id") : jv_str_at(call, "id");
    else if (x->kind == OAI_OUTPUT) x->id = jv_str_at(v, "call_id");
    else if (x->kind == OAI_APPROVAL) x->id = jv_str_at(v, "approval_request_id");
    else x->id = jv_str_at(v, "id");
    if (x->kind == OAI_OTHER && !x->id.len) x->id = jv_str_at(v, "call_id");
}

static bool read_item(struct oai_read *r, const struct jv *v, unsigned i, struct oai_item *x)
{
    if (v->type != JSON_OBJECT) return bad(r, i, "", "invalid_type", "It must be an object.");
    *x = (struct oai_item){ .kind = kind_of(r->out, v), .type = jv_str_at(v, "type"), .index = i };
    x->reference = str_is(x->type, "item_reference");
    read_ids(r->out, v, x);
    if (str_is(x->type, "mcp_approval_request") || str_is(x->type, "parley:approval_request"))
        x->question = v;
    if (x->kind == OAI_OTHER && is_client_role(jv_str_at(v, "role")))
        return bad(r, i, "type", "unsupported_value", "What somebody says is a \"message\".");
    if (x->kind == OAI_ASSISTANT && !str_is(jv_str_at(v, "role"), "assistant"))
        return bad(r, i, "role", "invalid_value",
                   "A role is user, system, developer, assistant or (in a chat) tool.");
    if (x->kind == OAI_ASSISTANT || x->kind == OAI_SYSTEM || x->kind == OAI_USER)
        return read_content(r, i, jv_get(v, "content"), &x->text, NULL);
    return true;
}

/* --- the tail --------------------------------------------------------------------------------- */

static bool read_output(struct oai_read *r, const struct jv *v, struct oai_item *x)
{
    const struct jv *out = jv_get(v, r->out->chat ? "content" : "output");
    if (!x->id.len)
        return bad(r, x->index, r->out->chat ? "tool_call_id" : "call_id",
                   "missing_required_parameter", "An output names the call that it belongs to.");
    if (!out)
        return bad(r, x->index, r->out->chat ? "content" : "output", "missing_required_parameter",
                   "There is no output.");
    if (out->type == JSON_STRING || out->type == JSON_ARRAY)
        return read_content(r, x->index, out, &x->text, NULL);
    x->text = out->raw;
    return true;
}

static struct str given(const struct jv *v, const char *key)
{
    const struct jv *m = jv_get(v, key);
    return m && m->type != JSON_NULL ? m->raw : STR_NONE;
}

/* A member that was left unread would make it a yes to something else than was meant. */
static bool read_approval(struct oai_read *r, const struct jv *v, struct oai_item *x)
{
    const struct jv *yes = jv_get(v, "approve");
    if (!x->id.len)
        return bad(r, x->index, "approval_request_id", "missing_required_parameter",
                   "An answer names the question that it belongs to.");
    if (!jv_is(yes, JSON_BOOL))
        return oai_refuse(r, 422, "malformed_answer", at(r, x->index, "approve"),
                          "\"approve\" must be true or false.");
    x->approve = yes->boolean;
    if (request_contradicts(v, x->approve))
        return oai_refuse(r, 422, "malformed_answer", at(r, x->index, "approve"),
                          "An answer is yes or no, not both.");
    x->grant = given(v, "grant");
    x->input = given(v, "input");
    x->reason = jv_str_at(v, "reason");
    if (x->reason.len > OAI_REASON_MAX)
        return bad(r, x->index, "reason", "invalid_value", "A reason may have 4096 bytes.");
    return true;
}

static void join(struct buf *out, struct str text)
{
    if (out->len && text.len) buf_lit(out, "\n\n");
    buf_str(out, text);
}

static bool read_tail_item(struct oai_read *r, const struct jv *v, struct oai_item *x,
                           struct buf *text, struct files *files)
{
    struct str words;
    switch (x->kind) {
    case OAI_USER:
        if (!read_content(r, x->index, jv_get(v, "content"), &words, files)) return false;
        join(text, words);
        r->out->has_message = true;
        return true;
    case OAI_OUTPUT: return read_output(r, v, x);
    case OAI_APPROVAL: return read_approval(r, v, x);
    case OAI_OTHER:
        return bad(r, x->index, "type", "unsupported_value",
                   "Outputs of functions are taken, and answers to questions; not this.");
    case OAI_SYSTEM:
    case OAI_ASSISTANT: break;
    }
    return true;
}

static bool read_tail(struct oai_read *r, const struct jv *list)
{
    struct oai_request *q = r->out;
    struct buf          text = { 0 };
    struct files        files = { 0 };
    bool                ok = true;
    unsigned            users = 0, others = 0;
    jsonw_init(&files.w, &files.json);
    jw_arr(&files.w);
    for (size_t i = q->tail; i < q->count && ok; i++) {
        ok = read_tail_item(r, jv_at(list, i), &q->items[i], &text, &files);
        users += q->items[i].kind == OAI_USER;
        others += q->items[i].kind == OAI_OUTPUT || q->items[i].kind == OAI_APPROVAL;
    }
    jw_end_arr(&files.w);
    q->text = arena_dup(r->a, buf_view(&text));
    if (files.count) q->files = arena_dup(r->a, buf_view(&files.json));
    q->only_text = users == 1 && !others && !files.count;
    if (text.err || files.json.err) r->a->failed = true;
    buf_done(&text);
    buf_done(&files.json);
    if (ok && !users && !others)
        return oai_refuse(
            r, 400, "missing_required_parameter", q->chat ? "messages" : "input",
            "There is nothing new to answer: the last thing said is the assistant's.");
    if (ok && q->text.len > OAI_TEXT_MAX)
        return oai_refuse(r, 400, "invalid_value", q->chat ? "messages" : "input",
                          "A message may have 1 MiB of text.");
    if (ok && users && !str_trim(q->text).len && !q->files.ptr && !others)
        return oai_refuse(r, 400, "invalid_value", q->chat ? "messages" : "input",
                          "The message is empty.");
    return ok;
}

static bool read_system(struct oai_read *r)
{
    struct oai_request *q = r->out;
    struct buf          b = { 0 };
    buf_str(&b, q->instructions);
    for (size_t i = 0; i < q->count; i++)
        if (q->items[i].kind == OAI_SYSTEM) join(&b, q->items[i].text);
    q->system = b.len ? arena_dup(r->a, buf_view(&b)) : STR_NONE;
    size_t len = b.len;
    if (b.err) r->a->failed = true;
    buf_done(&b);
    if (len > OAI_SYSTEM_MAX)
        return oai_refuse(r, 400, "invalid_value", q->chat ? "messages" : "instructions",
                          "Instructions may have 256 kB together.");
    return true;
}

static struct str raw_tail(struct oai_read *r, const struct jv *list)
{
    struct buf   b = { 0 };
    struct jsonw w;
    jsonw_init(&w, &b);
    jw_arr(&w);
    for (size_t i = r->out->tail; i < r->out->count; i++) jw_raw(&w, jv_at(list, i)->raw);
    jw_end_arr(&w);
    struct str s = arena_dup(r->a, buf_view(&b));
    if (b.err) r->a->failed = true;
    buf_done(&b);
    return s;
}

/* "input" may be a text: one message. */
static const struct jv *as_list(struct oai_read *r, const struct jv *v)
{
    struct buf   b = { 0 };
    struct jsonw w;
    struct jv   *list = NULL;
    if (r->out->chat || !jv_is(v, JSON_STRING)) return v;
    jsonw_init(&w, &b);
    jw_arr(&w);
    jw_obj(&w);
    jw_kstrz(&w, "type", "message");
    jw_kstrz(&w, "role", "user");
    jw_kstr(&w, "content", v->str);
    jw_end_obj(&w);
    jw_end_arr(&w);
    struct str text = arena_dup(r->a, buf_view(&b));
    if (b.err || !text.ptr || json_parse(r->a, text, &list, NULL) != OK) r->a->failed = true;
    buf_done(&b);
    return list;
}

bool oai_read_items(struct oai_read *r, const struct jv *body)
{
    struct oai_request *q = r->out;
    const char         *key = q->chat ? "messages" : "input";
    const struct jv    *list = as_list(r, jv_get(body, key));
    if (r->a->failed) return oai_refuse(r, 503, "out_of_memory", NULL, "No memory for this now.");
    if (!list || list->type == JSON_NULL)
        return oai_refuse(r, 400, "missing_required_parameter", key, "There is nothing to answer.");
    if (list->type != JSON_ARRAY)
        return oai_refuse(r, 400, "invalid_type", key, "It must be a list.");
    if (list->count > OAI_ITEMS_MAX)
        return oai_refuse(r, 400, "invalid_value", key, "At most 2000 of them are read.");
    q->items = arena_array(r->a, list->count + 1, sizeof *q->items);
    if (!q->items) return oai_refuse(r, 503, "out_of_memory", NULL, "No memory for this now.");
    JV_EACH (v, list) {
        struct oai_item *x = &q->items[q->count];
        if (!read_item(r, v, (unsigned)q->count, x)) return false;
        q->count++;
        if (is_assistants(x)) q->tail = q->count;
    }
    return read_tail(r, list) && read_system(r) && ((q->input = raw_tail(r, list)), true);
}
