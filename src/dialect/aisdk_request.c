/* aisdk_request.c -- see aisdk_request.h. Table of situations: ai-sdk-ui-stream section 2. */
#include "dialect/aisdk_request.h"

#include "base/jsonw.h"

#define CONFIRMATION "adk_request_confirmation"

static bool refuse(struct refusal *why, int status, const char *code, const char *message)
{
    *why = (struct refusal){ status, code, message };
    return false;
}

/* --- the user's words ---------------------------------------------------------------------- */

static bool user_parts(struct command *c, const struct jv *m, struct ai_request *q,
                       struct refusal *why)
{
    struct buf       text, files;
    struct jsonw     w;
    size_t           n = 0;
    const struct jv *parts = jv_get(m, "parts"), *content = jv_get(m, "content");
    buf_init(&text, MESSAGE_TEXT_MAX);
    buf_init(&files, 0);
    jsonw_init(&w, &files);
    jw_arr(&w);
    if (jv_is(content, JSON_STRING)) buf_str(&text, content->str);
    JV_EACH (p, jv_is(parts, JSON_ARRAY) ? parts : jv_is(content, JSON_ARRAY) ? content : NULL) {
        if (str_is(jv_str_at(p, "type"), "text")) buf_str(&text, jv_str_at(p, "text"));
        if (str_is(jv_str_at(p, "type"), "file") && jv_str_at(p, "url").len) {
            jw_jv(&w, p);
            n++;
        }
    }
    jw_end_arr(&w);
    q->text = arena_dup(&c->arena, buf_view(&text));
    if (n) q->files = arena_dup(&c->arena, buf_view(&files));
    bool ok = !text.err && !files.err && q->text.ptr;
    buf_done(&text);
    buf_done(&files);
    return ok ? true : refuse(why, 413, "too_long", "This message is too long.");
}

/* --- answers in an assistant message ---------------------------------------------------------- */

static struct str tool_of(const struct jv *part)
{
    struct str type = jv_str_at(part, "type");
    if (str_is(type, "dynamic-tool")) return jv_str_at(part, "toolName");
    return str_starts(type, STR("tool-")) ? str_from(type, 5) : STR_NONE;
}

static void add_confirmation(const struct jv *p, struct ai_answer *x)
{
    const struct jv *original = jv_get(jv_get(p, "input"), "originalFunctionCall");
    struct str       state = jv_str_at(p, "state");
    x->id = jv_str_at(p, "toolCallId");
    x->kind = str_is(state, "output-available") || str_is(state, "output-error") ? AI_CONFIRM
                                                                                 : AI_RESERVED;
    /* beside an error it is none */
    if (str_is(state, "output-available")) x->answer = jv_get(p, "output");
    x->tool = jv_str_at(original, "name");
    x->input = jv_get(original, "args");
}

static bool add_tool_part(const struct jv *p, struct ai_answer *x)
{
    struct str state = jv_str_at(p, "state");
    x->tool = tool_of(p);
    x->input = jv_get(p, "input");
    if (str_is(state, "approval-responded")) {
        x->kind = AI_DECIDE;
        x->answer = jv_get(p, "approval");
        x->id = jv_str_at(x->answer, "id");
        return true;
    }
    x->kind = AI_RESULT;
    x->id = jv_str_at(p, "toolCallId");
    if (str_is(state, "output-available") && !jv_true(jv_get(p, "preliminary"))) {
        x->value = jv_get(p, "output") ? jv_get(p, "output")->raw : STR("null");
        return true;
    }
    if (!str_is(state, "output-error")) return false;
    x->error = jv_str_at(p, "errorText");
    if (!x->error.ptr) x->error = STR("It failed.");
    return true;
}

static bool add_answers(const struct jv *message, struct ai_request *q, struct refusal *why)
{
    JV_EACH (p, jv_get(message, "parts")) {
        struct ai_answer x = { 0 };
        if (!jv_is(p, JSON_OBJECT) || !tool_of(p).ptr) continue;
        bool is = true;
        if (str_is(tool_of(p), CONFIRMATION)) add_confirmation(p, &x);
        else is = add_tool_part(p, &x);
        if (!is || !x.id.len) continue;
        if (q->answer_count == AI_ANSWERS_MAX)
            return refuse(why, 413, "too_long", "This message carries too many answers.");
        q->answers[q->answer_count++] = x;
    }
    return true;
}

static bool is_assistant(const struct jv *m)
{
    return str_is(jv_str_at(m, "role"), "assistant");
}

static const struct jv *last_item(const struct jv *list)
{
    const struct jv *last = NULL;
    JV_EACH (m, list) last = m;
    return last;
}

static const struct jv *last_assistant(const struct jv *list)
{
    const struct jv *found = NULL;
    JV_EACH (m, list)
        if (is_assistant(m)) found = m;
    return found;
}

static const struct jv *by_id(const struct jv *list, struct str id)
{
    JV_EACH (m, list)
        if (id.len && str_eq(jv_str_at(m, "id"), id)) return m;
    return NULL;
}

static bool decode_continuation(const struct jv *message, struct ai_request *q, struct refusal *why)
{
    q->kind = AI_ANSWERS;
    q->message = message;
    if (!message)
        return refuse(why, 409, "nothing_to_continue", "There is nothing to continue here.");
    return add_answers(message, q, why);
}

static bool decode_message(struct command *c, const struct jv *list, const struct jv *last,
                           struct str message_id, struct ai_request *q, struct refusal *why)
{
    const struct jv *named = by_id(list, message_id);
    if (named && is_assistant(named)) return decode_continuation(named, q, why);
    if (is_assistant(last)) return decode_continuation(last, q, why);
    if (!user_parts(c, last, q, why)) return false;
    q->kind = AI_MESSAGE;
    q->message_id = jv_str_at(last, "id");
    if (named) q->replaces = message_id;
    if (str_trim(q->text).len || q->files.len) return true;
    /* Behind an answer an empty message means "go on". */
    const struct jv *answered = last_assistant(list);
    if (answered && !decode_continuation(answered, q, why)) return false;
    return q->answer_count
               ? true
               : refuse(why, 422, "malformed_message", "The message has neither words nor files.");
}

bool ai_decode(struct command *c, const struct jv *body, struct ai_request *q, struct refusal *why)
{
    const struct jv *list = jv_get(body, "messages"), *last;
    struct str       trigger = STR_NONE, message_id = STR_NONE;
    *q = (struct ai_request){ 0 };
    if (!request_text(c, body, "id", 4096, &q->id, why) ||
        !request_text(c, body, "trigger", 64, &trigger, why) ||
        !request_text(c, body, "messageId", 256, &message_id, why) ||
        !request_text(c, body, "page", 128, &q->page, why) ||
        !request_text(c, body, "after", 256, &q->after, why) ||
        !request_text(c, body, "request_id", REQUEST_ID_MAX, &q->request_id, why))
        return false;
    if (str_is(trigger, "regenerate-message")) {
        q->kind = AI_RETRY;
        q->of = message_id;
        return true;
    }
    if (!jv_is(list, JSON_ARRAY) || !(last = last_item(list)) || !jv_is(last, JSON_OBJECT))
        return refuse(why, 422, "bad_field",
                      "\"messages\" must be a list with at least one message.");
    return decode_message(c, list, last, message_id, q, why);
}

bool ai_said(struct command *c, const struct jv *said, struct ai_request *q, struct refusal *why)
{
    struct str text = jv_str_at(said, "text");
    *q = (struct ai_request){ .kind = AI_MESSAGE };
    if (!request_text(c, said, "page", 128, &q->page, why) ||
        !request_text(c, said, "after", 256, &q->after, why) ||
        !request_text(c, said, "request_id", REQUEST_ID_MAX, &q->request_id, why))
        return false;
    if (text.len > MESSAGE_TEXT_MAX)
        return refuse(why, 413, "too_long", "This message is too long.");
    if (!str_trim(text).len)
        return refuse(why, 422, "malformed_message", "The message has neither words nor files.");
    q->text = arena_dup(&c->arena, text);
    q->page = arena_dup(&c->arena, q->page);
    q->after = arena_dup(&c->arena, q->after);
    q->request_id = arena_dup(&c->arena, q->request_id);
    return c->arena.failed ? refuse(why, 503, "out_of_memory",
                                    "The server is out of memory; try again in a moment.")
                           : true;
}

/* --- in the light of the log ------------------------------------------------------------------ */

static bool no_such(struct refusal *why, bool call)
{
    return call ? refuse(why, 404, "unknown_call", "There is no such call in this conversation.")
                : refuse(why, 404, "unknown_confirmation",
                         "There is no such request in this conversation.");
}

static bool check_result(const struct fold *f, struct ai_answer *x, struct arena *a,
                         struct refusal *why)
{
    const struct call *c = fold_call(f, x->id);
    if (!c) return no_such(why, true);
    x->taken = c->client;
    x->over = x->shown = c->finished != NULL || c->early != NULL;
    if (c->client || c->finished) return true; /* else: the client's copy of what we told it */
    struct str s = arena_printf(
        a, "The server runs this tool itself; answer its confirmation " STR_FMT " instead.",
        STR_ARG(c->asked ? c->asked->id : STR("(it has none)")));
    return refuse(why, 403, "not_client_tool", s.ptr ? s.ptr : "The server runs this tool itself.");
}

static bool check_decision(const struct fold *f, struct ai_answer *x, struct refusal *why)
{
    const struct call *c = fold_confirmation(f, x->id);
    const struct fact *open = c ? call_gate(c) : NULL;
    if (!c) return no_such(why, false);
    x->taken = true;
    x->over = !open || !str_eq(open->id, x->id);
    return true;
}

static bool check_reserved(const struct fold *f, const struct ai_answer *x, struct refusal *why)
{
    if (fold_confirmation(f, x->id)) return true; /* our own question, not answered yet */
    return refuse(why, 403, "reserved_name", "Only the server asks for confirmations.");
}

static bool shows_offer(const struct jv *message, struct str call)
{
    JV_EACH (p, jv_get(message, "parts"))
        if (str_eq(jv_str_at(p, "toolCallId"), call) &&
            str_is(jv_str_at(p, "state"), "input-available"))
            return true;
    return false;
}

/* A decision whose call shows its outcome in the same message, or waits there for the browser. */
static void note_shown(const struct fold *f, struct ai_request *q)
{
    for (size_t i = 0; i < q->answer_count; i++) {
        const struct call *c =
            q->answers[i].kind == AI_RESULT ? NULL : fold_confirmation(f, q->answers[i].id);
        q->answers[i].offered =
            c && c->client && c->state == CALL_STARTED && shows_offer(q->message, c->id);
        for (size_t j = 0; c && j < q->answer_count; j++)
            if (q->answers[j].kind == AI_RESULT && str_eq(q->answers[j].id, c->id))
                q->answers[i].shown = true;
    }
}

/* Answers stay in the message for ever. What was answered before and shows its outcome is history
 * as long as another answer is new. */
static void drop_history(struct ai_request *q)
{
    bool fresh = false;
    for (size_t i = 0; i < q->answer_count; i++)
        fresh |= q->answers[i].taken && !q->answers[i].over;
    for (size_t i = 0; fresh && i < q->answer_count; i++)
        if (q->answers[i].over && q->answers[i].shown) q->answers[i].taken = false;
}

bool ai_check(const struct fold *f, struct ai_request *q, struct arena *a, struct refusal *why)
{
    size_t taken = 0;
    for (size_t i = 0; i < q->answer_count; i++) {
        struct ai_answer *x = &q->answers[i];
        bool              ok = x->kind == AI_RESULT     ? check_result(f, x, a, why)
                               : x->kind == AI_RESERVED ? check_reserved(f, x, why)
                                                        : check_decision(f, x, why);
        if (!ok) return false;
    }
    note_shown(f, q);
    drop_history(q);
    for (size_t i = 0; i < q->answer_count; i++) taken += q->answers[i].taken;
    return taken ? true
                 : refuse(why, 409, "nothing_to_continue", "There is nothing to continue here.");
}

bool ai_command(struct command *c, const struct ai_answer *x, struct refusal *why)
{
    c->id = arena_dup(&c->arena, x->id);
    if (x->kind == AI_RESULT) {
        c->kind = CMD_RESULT;
        c->result.value = arena_dup(&c->arena, x->value);
        c->result.error = arena_dup(&c->arena, x->error);
        return true;
    }
    c->kind = CMD_DECIDE;
    c->decide.echo_tool = x->tool.len ? arena_dup(&c->arena, x->tool) : STR_NONE;
    if (x->input) { /* a copy: the tree belongs to the request */
        struct jv *copy;
        struct str raw = arena_dup(&c->arena, x->input->raw);
        if (!raw.ptr || json_parse(&c->arena, raw, &copy, NULL) != OK)
            return refuse(why, 422, "malformed_answer", "The echoed input is not JSON.");
        c->decide.echo_args = copy;
    }
    struct str answer = arena_dup(&c->arena, x->answer ? x->answer->raw : STR("null"));
    struct jv *v;
    if (!answer.ptr || json_parse(&c->arena, answer, &v, NULL) != OK)
        return refuse(why, 422, "malformed_answer", "The answer is not JSON.");
    return request_answer(c, v, why);
}
