/* request.c -- see request.h. */
#include "dialect/request.h"

#include "base/buf.h"
#include "base/id.h"

static bool refuse(struct refusal *why, int status, const char *code, const char *message)
{
    *why = (struct refusal){ status, code, message };
    return false;
}

/* 422 with the field's name. */
static bool bad_field(struct command *c, struct refusal *why, const char *key, const char *rule)
{
    struct str s = arena_printf(&c->arena, "\"%s\" %s", key, rule);
    return refuse(why, 422, "bad_field", s.ptr ? s.ptr : rule);
}

bool request_object(struct command *c, struct str body, bool optional, const struct jv **out,
                    struct refusal *why)
{
    struct json_error e;
    struct jv        *v;
    struct str text = optional && !str_trim(body).len ? STR("{}") : arena_dup(&c->arena, body);
    if (!text.ptr)
        return refuse(why, 503, "out_of_memory",
                      "The server is out of memory; try again in a moment.");
    enum err err = json_parse(&c->arena, text, &v, &e);
    if (err == ERR_NOMEM)
        return refuse(why, 503, "out_of_memory",
                      "The server is out of memory; try again in a moment.");
    if (err) return refuse(why, 400, "bad_json", json_complaint(&c->arena, "The body", &e).ptr);
    if (v->type != JSON_OBJECT)
        return refuse(why, 422, "bad_field", "The body must be a JSON object.");
    *out = v;
    return true;
}

bool request_text(struct command *c, const struct jv *obj, const char *key, size_t max,
                  struct str *out, struct refusal *why)
{
    const struct jv *v = jv_get(obj, key);
    char             rule[64];
    if (!v || v->type == JSON_NULL) return true;
    if (v->type != JSON_STRING) return bad_field(c, why, key, "must be a string.");
    snprintf(rule, sizeof rule, "must not be longer than %zu bytes.", max);
    if (v->str.len > max) return bad_field(c, why, key, rule);
    *out = v->str;
    return true;
}

/* --- messages ----------------------------------------------------------------------------- */

/* String content, or a list of {"type":"text","text":...}. */
static bool message_content(struct command *c, const struct jv *v, struct str *out,
                            struct refusal *why)
{
    struct buf b;
    if (jv_is(v, JSON_STRING)) {
        *out = v->str;
        return true;
    }
    if (!jv_is(v, JSON_ARRAY))
        return bad_field(c, why, "messages",
                         "must have \"content\" that is a string or a list of text parts.");
    buf_init(&b, MESSAGE_TEXT_MAX);
    JV_EACH (part, v)
        if (str_is(jv_str_at(part, "type"), "text")) buf_str(&b, jv_str_at(part, "text"));
    *out = arena_dup(&c->arena, buf_view(&b));
    enum err e = b.err;
    buf_done(&b);
    return e == OK ? true : bad_field(c, why, "messages", "has a message that is too long.");
}

static bool last_user_message(struct command *c, const struct jv *list, struct refusal *why)
{
    const struct jv *last = NULL;
    if (!jv_is(list, JSON_ARRAY)) return bad_field(c, why, "messages", "must be a list.");
    JV_EACH (m, list) {
        if (!jv_is(m, JSON_OBJECT))
            return bad_field(c, why, "messages", "must be a list of objects.");
        if (str_is(jv_str_at(m, "role"), "user")) last = m;
    }
    if (!last) return bad_field(c, why, "messages", "has no message of the user.");
    return message_content(c, jv_get(last, "content"), &c->message.text, why);
}

static bool chat_text(struct command *c, const struct jv *v, struct refusal *why)
{
    const struct jv *messages = jv_get(v, "messages");
    struct str      *text = &c->message.text;
    if (!request_text(c, v, "message", MESSAGE_TEXT_MAX, text, why)) return false;
    if (!text->ptr && messages && messages->type != JSON_NULL &&
        !last_user_message(c, messages, why))
        return false;
    if (!text->ptr) return bad_field(c, why, "message", "is missing: send the user's text.");
    if (text->len > MESSAGE_TEXT_MAX) return bad_field(c, why, "message", "is too long.");
    if (!str_trim(*text).len) return bad_field(c, why, "message", "is empty.");
    return true;
}

static bool busy_word(struct command *c, const struct jv *v, struct refusal *why)
{
    struct str word = STR_NONE;
    if (!request_text(c, v, "when_busy", 16, &word, why)) return false;
    if (!word.ptr) return true;
    if (str_is(word, "queue")) c->when_busy = BUSY_QUEUE;
    else if (str_is(word, "interrupt")) c->when_busy = BUSY_INTERRUPT;
    else return bad_field(c, why, "when_busy", "must be \"queue\" or \"interrupt\".");
    return true;
}

static bool common(struct command *c, const struct jv *v, struct refusal *why)
{
    if (!request_text(c, v, "request_id", REQUEST_ID_MAX, &c->request_id, why)) return false;
    if (c->request_id.ptr && !c->request_id.len)
        return bad_field(c, why, "request_id", "must not be empty.");
    return busy_word(c, v, why);
}

/* --- actions ---------------------------------------------------------------------------------- */

const struct jv *request_given(const struct jv *v, const char *key)
{
    const struct jv *m = jv_get(v, key);
    return m && m->type != JSON_NULL ? m : NULL;
}

/* What goes with a yes or no, in whichever form that comes: what was left unread would be a yes to
 * something else than was meant. */
static bool read_terms(struct command *c, const struct jv *v, struct refusal *why)
{
    if (request_given(v, "payload")) c->decide.payload = request_given(v, "payload")->raw;
    c->decide.grant = request_given(v, "grant");
    c->decide.input = request_given(v, "input");
    return request_text(c, v, "reason", 4096, &c->decide.reason, why) &&
           request_text(c, v, "answer_id", REQUEST_ID_MAX, &c->answer_id, why);
}

const struct jv *request_copied(struct arena *a, const struct jv *args)
{
    struct jv *v;
    if (!args || args->type == JSON_NULL) return NULL;
    if (args->type != JSON_STRING) return args;
    struct str text = str_trim(args->str).len ? args->str : STR("{}");
    return json_parse(a, text, &v, NULL) == OK ? v : args;
}

static const char *const ANSWER_WORDS[] = { "confirmed", "approved", "approve" };

static bool says_otherwise(const struct jv *v, bool yes)
{
    for (size_t i = 0; i < sizeof ANSWER_WORDS / sizeof *ANSWER_WORDS; i++) {
        const struct jv *said = request_given(v, ANSWER_WORDS[i]);
        if (said && jv_true(said) != yes) return true;
    }
    return false;
}

bool request_contradicts(const struct jv *v, bool yes)
{
    return says_otherwise(v, yes) || jv_get(v, "response"); /* an answer within the answer */
}

bool request_has_answer(const struct jv *v)
{
    for (size_t i = 0; i < sizeof ANSWER_WORDS / sizeof *ANSWER_WORDS; i++)
        if (request_given(v, ANSWER_WORDS[i])) return true;
    return request_given(v, "response") != NULL;
}

/* A button's name says yes or no, and so may what stands around it. */
static bool agrees(const struct command *c, const struct jv *around, struct refusal *why)
{
    if (c->kind != CMD_DECIDE || !says_otherwise(around, c->decide.confirmed)) return true;
    return refuse(why, 422, "contradiction", COMMAND_CONTRADICTION);
}

static bool decide_action(struct command *c, const struct jv *data, bool confirmed,
                          struct refusal *why)
{
    c->kind = CMD_DECIDE;
    c->decide.confirmed = confirmed;
    c->id = jv_str_at(data, "confirmation_id");
    if (!c->id.len)
        return refuse(why, 422, "malformed_answer",
                      "\"data\" must hold the \"confirmation_id\" that is answered.");
    return agrees(c, data, why) && read_terms(c, data, why);
}

static bool fill_action(struct command *c, const struct jv *name, const struct jv *data,
                        struct refusal *why)
{
    if (!jv_is(name, JSON_STRING) || !name->str.len || name->str.len > 128)
        return bad_field(c, why, "action", "must name the action.");
    if (str_is(name->str, "approve")) return decide_action(c, data, true, why);
    if (str_is(name->str, "deny")) return decide_action(c, data, false, why);
    if (str_is(name->str, "retry")) {
        c->kind = CMD_RETRY;
        c->retry.of = jv_str_at(data, "run_id");
        return true;
    }
    c->kind = CMD_ACTION;
    c->action.name = name->str;
    if (data && data->type != JSON_NULL) c->action.data = data->raw;
    return true;
}

bool request_action(struct command *c, struct str body, struct refusal *why)
{
    const struct jv *v;
    return request_object(c, body, false, &v, why) && common(c, v, why) &&
           fill_action(c, jv_get(v, "action"), jv_get(v, "data"), why) && agrees(c, v, why);
}

/* A client that names its conversation in its own way stops by leaving and goes on with the next
 * message: a refusal would be the last thing its person hears. */
static void may_interrupt(struct command *c)
{
    if (c->when_busy == BUSY_REFUSE) c->when_busy = BUSY_INTERRUPT;
}

static bool chat_conversation(struct command *c, const struct jv *v, struct refusal *why)
{
    struct str id = STR_NONE;
    if (!jv_get(v, "conversation_id")) return true;
    if (!request_text(c, v, "conversation_id", 128, &id, why)) return false;
    if (!c->log.thread.ptr && id.len) c->log.thread = id;
    may_interrupt(c);
    return true;
}

/* The client's own name for the conversation, which is made when it is new. */
static bool chat_session(struct command *c, const struct jv *v, struct refusal *why)
{
    struct str id = STR_NONE;
    if (!request_text(c, v, "sessionId", 128, &id, why)) return false;
    if (c->log.thread.ptr || !id.len) return true;
    if (!id_valid(id, 128))
        return refuse(why, 422, "bad_id",
                      "\"sessionId\" may have letters, digits, - and _, and at most 128 of them.");
    c->log.thread = id;
    c->create = true;
    may_interrupt(c);
    return true;
}

static bool chat_thread(struct command *c, const struct jv *v, bool sessions, struct refusal *why)
{
    return request_text(c, v, "thread_id", 128, &c->log.thread, why) &&
           chat_conversation(c, v, why) && (!sessions || chat_session(c, v, why));
}

/* {"action":{"action","data"}}, or what was pressed as the documents' client says it: that is never
 * a message, whatever else is said. */
static bool chat_wish(struct command *c, const struct jv *v, struct refusal *why)
{
    const struct jv *action = request_given(v, "action"), *pressed = jv_get(v, "action_metadata");
    if (str_is(jv_str_at(v, "interaction_type"), "action_executed")) {
        if (action)
            return bad_field(c, why, "action", "and \"action_metadata\" do not go together.");
        if (!jv_is(pressed, JSON_OBJECT) ||
            !jv_is(jv_get(pressed, "action_identifier"), JSON_STRING))
            return bad_field(c, why, "action_metadata",
                             "must be an object {\"action_identifier\",\"action_data\"}.");
        return fill_action(c, jv_get(pressed, "action_identifier"), jv_get(pressed, "action_data"),
                           why) &&
               agrees(c, pressed, why) && agrees(c, v, why);
    }
    if (!action) return chat_text(c, v, why);
    if (action->type != JSON_OBJECT)
        return bad_field(c, why, "action", "must be an object {\"action\",\"data\"}.");
    return fill_action(c, jv_get(action, "action"), jv_get(action, "data"), why) &&
           agrees(c, action, why) && agrees(c, v, why);
}

bool request_chat(struct command *c, struct str body, bool sessions, struct chat_request *out,
                  struct refusal *why)
{
    const struct jv *v;
    if (!request_object(c, body, false, &v, why) || !common(c, v, why) ||
        !chat_thread(c, v, sessions, why))
        return false;
    if (!request_text(c, v, "page", 128, &c->page, why)) return false;
    *out = (struct chat_request){ .reasoning = jv_true(jv_get(v, "reasoning")),
                                  .page = jv_str_at(jv_get(v, "context"), "current_page") };
    return chat_wish(c, v, why);
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool malformed(struct refusal *why)
{
    return refuse(
        why, 422, "malformed_answer",
        "An answer is {\"confirmed\":true} or {\"confirmed\":false}, nothing else counts.");
}

/* ADK wraps the answer as a JSON string under the single key "response". */
static const struct jv *unwrap(struct command *c, const struct jv *v)
{
    struct jv       *inner;
    const struct jv *r = jv_get(v, "response");
    if (!jv_is(v, JSON_OBJECT) || v->count != 1 || !jv_is(r, JSON_STRING)) return v;
    return json_parse(&c->arena, r->str, &inner, NULL) == OK ? inner : NULL;
}

enum plain request_plain(struct arena *a, struct str form, const struct jv *said)
{
    struct jv *schema = NULL;
    enum plain found = PLAIN_NOT;
    if (json_parse(a, form, &schema, NULL) != OK) schema = NULL;
    for (size_t i = 0; i < sizeof ANSWER_WORDS / sizeof *ANSWER_WORDS; i++) {
        const struct jv *v = jv_get(said, ANSWER_WORDS[i]);
        if (!v || jv_get(jv_get(schema, "properties"), ANSWER_WORDS[i])) continue;
        enum plain means = v->type != JSON_BOOL ? PLAIN_ODD : v->boolean ? PLAIN_YES : PLAIN_NO;
        found = found == PLAIN_NOT || found == means ? means : PLAIN_ODD;
    }
    return found;
}

bool request_answer(struct command *c, const struct jv *v, struct refusal *why)
{
    v = unwrap(c, v);
    const struct jv *a = jv_get(v, "confirmed"), *b = jv_get(v, "approved");
    if (!jv_is(v, JSON_OBJECT) || (!a && !b)) return malformed(why);
    if ((a && a->type != JSON_BOOL) || (b && b->type != JSON_BOOL)) return malformed(why);
    c->decide.confirmed = a ? a->boolean : b->boolean;
    if (request_contradicts(v, c->decide.confirmed)) return malformed(why);
    return read_terms(c, v, why);
}

bool request_result(struct command *c, const struct jv *v, struct refusal *why)
{
    const struct jv *result = jv_get(v, "result");
    if (!request_text(c, v, "error", 64 * 1024, &c->result.error, why)) return false;
    if (c->result.error.ptr ? request_given(v, "result") != NULL : !result)
        return refuse(why, 422, "bad_field",
                      "Send \"result\" with any JSON value, or \"error\" with a sentence.");
    if (c->result.error.ptr) return true;
    c->result.value = result->raw;
    return true;
}
