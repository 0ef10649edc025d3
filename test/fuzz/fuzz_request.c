/* fuzz_request.c -- any bytes as the body of the typed door, the tool-calling door, an action, an
 * answer to a question, and the result of a browser's tool.
 *
 * Whatever comes: a refusal has a status, a code and a sentence; a message has words; a yes was
 * made from the boolean true or from the action "approve"; what is kept within limits is.
 * dictionary: json */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialect/request.h"

static void require(bool ok)
{
    if (!ok) abort();
}

static void check_refusal(const struct refusal *why)
{
    require(why->status >= 400 && why->status < 500 && why->code && why->code[0] && why->message &&
            why->message[0]);
    require(utf8_valid(str_c(why->message)));
    for (const char *c = why->message; *c; c++) require((unsigned char)*c >= 0x20);
}

static void check_common(const struct command *c)
{
    require(c->request_id.len <= REQUEST_ID_MAX && (!c->request_id.ptr || c->request_id.len));
    require(c->log.thread.len <= 128 && c->page.len <= 128 && c->answer_id.len <= REQUEST_ID_MAX);
    require(c->kind != CMD_DECIDE || c->decide.reason.len <= 4096);
}

static void check_json(struct command *c, struct str value)
{
    struct jv *v;
    if (value.ptr) require(json_parse(&c->arena, value, &v, NULL) == OK);
}

static void chat(struct str body)
{
    struct refusal      why = { 0 };
    struct command     *c = command_new(CMD_FOLLOW);
    struct chat_request said;
    if (!request_chat(c, body, body.len % 2, &said, &why)) check_refusal(&why);
    else if (check_common(c), c->kind == CMD_FOLLOW || c->kind == CMD_MESSAGE)
        require(str_trim(c->message.text).len && c->message.text.len <= MESSAGE_TEXT_MAX);
    else if (c->kind == CMD_DECIDE) {
        require(c->id.ptr);
        check_json(c, c->decide.payload);
    } else if (c->kind == CMD_ACTION) {
        require(c->action.name.len > 0);
        check_json(c, c->action.data);
    } else require(c->kind == CMD_RETRY);
    command_free(c);
}

static void action(struct str body)
{
    struct refusal  why = { 0 };
    struct command *c = command_new(CMD_ACTION);
    if (!request_action(c, body, &why)) check_refusal(&why);
    else {
        check_common(c);
        if (c->kind == CMD_ACTION) check_json(c, c->action.data);
    }
    command_free(c);
}

static void answer(struct str body)
{
    struct refusal   why = { 0 };
    const struct jv *v;
    struct command  *c = command_new(CMD_DECIDE), *r = command_new(CMD_RESULT);
    if (!request_object(c, body, false, &v, &why)) check_refusal(&why);
    else {
        if (!request_answer(c, v, &why)) check_refusal(&why);
        else if (check_common(c), c->decide.confirmed) require(str_find(v->raw, STR("true")) >= 0);
        check_json(c, c->decide.payload);
        if (!request_result(r, v, &why)) check_refusal(&why);
        check_json(r, r->result.value);
    }
    command_free(c);
    command_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = str_n((const char *)data, size);
    chat(body);
    action(body);
    answer(body);
    return 0;
}
