/* Bodies of the typed, tool-calling and REST doors: strict, with sentences. */
#include "dialect/request.h"
#include "test.h"

static struct command *fresh(void)
{
    struct command *c = command_new(CMD_MESSAGE);
    REQUIRE(c);
    return c;
}

static bool chat(struct command *c, const char *body, struct refusal *why)
{
    struct chat_request said;
    return request_chat(c, str_c(body), true, &said, why);
}

#define CHAT_REFUSED(body, st, co)                                                    \
    do {                                                                              \
        struct command *c_ = fresh();                                                 \
        struct refusal  w_ = { 0 };                                                   \
        CHECK(!chat(c_, body, &w_) && w_.status == (st) && strcmp(w_.code, co) == 0); \
        CHECK(w_.message &&w_.message[0]);                                            \
        command_free(c_);                                                             \
    } while (0)

TEST(a_message_may_be_a_text_or_the_last_user_message_of_a_list)
{
    static const char *const BODIES[] = {
        "{\"message\":\"hello\"}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"old\"},{\"role\":\"assistant\","
        "\"content\":\"x\"},{\"role\":\"user\",\"content\":\"hello\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hel\"},{"
        "\"type\":\"image\"},{\"type\":\"text\",\"text\":\"lo\"}]},{\"role\":\"assistant\"}]}",
        "{\"message\":\"hello\",\"messages\":null,\"action\":null,\"unknown\":{\"x\":1}}",
    };
    for (int i = 0; i < 4; i++) {
        struct command *c = fresh();
        struct refusal  why;
        CHECK(chat(c, BODIES[i], &why) && c->kind == CMD_MESSAGE);
        CHECK_STR(c->message.text, "hello");
        command_free(c);
    }
}

TEST(a_conversation_may_be_named_as_the_documents_clients_name_it)
{
    struct refusal      why;
    struct chat_request said;
    struct command     *c = fresh();
    CHECK(chat(c,
               "{\"message\":\"x\",\"conversation_id\":null,\"interaction_type\":\"text_input\","
               "\"context\":{}}",
               &why));
    CHECK(!c->log.thread.ptr && c->when_busy == BUSY_INTERRUPT);
    command_free(c);
    c = fresh();
    CHECK(request_chat(c,
                       STR("{\"message\":\"x\",\"conversation_id\":\"t_1\",\"when_busy\":\"queue\","
                           "\"context\":{\"current_page\":\"reports\"}}"),
                       false, &said, &why));
    CHECK_STR(c->log.thread, "t_1");
    CHECK_STR(said.page, "reports");
    CHECK(!c->page.ptr && c->when_busy == BUSY_QUEUE && !c->create);
    command_free(c);
    c = fresh();
    CHECK(chat(c,
               "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"sessionId\":\"7e6f0d52-"
               "0c1f-4b0e-9d3a-1f2e3d4c5b6a\"}",
               &why) &&
          c->create);
    CHECK_STR(c->log.thread, "7e6f0d52-0c1f-4b0e-9d3a-1f2e3d4c5b6a");
    command_free(c);
    c = fresh();
    /* not on this door */
    CHECK(request_chat(c, STR("{\"message\":\"x\",\"sessionId\":\"s\"}"), false, &said, &why) &&
          !c->log.thread.ptr);
    command_free(c);
    CHAT_REFUSED("{\"message\":\"x\",\"conversation_id\":7}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"x\",\"sessionId\":\"../x\"}", 422, "bad_id");
}

TEST(what_was_pressed_is_never_a_message)
{
    struct refusal  why;
    struct command *c = fresh();
    CHECK(chat(
        c,
        "{\"message\":\"Approve: Send "
        "it?\",\"interaction_type\":\"action_executed\",\"action_metadata\":{\"action_identifier\":"
        "\"approve\",\"action_data\":{\"confirmation_id\":\"confirmation-call-1\"}}}",
        &why));
    CHECK(c->kind == CMD_DECIDE && c->decide.confirmed);
    CHECK_STR(c->id, "confirmation-call-1");
    command_free(c);
    c = fresh();
    CHECK(chat(c,
               "{\"message\":\"Apply "
               "Changes\",\"interaction_type\":\"action_executed\",\"action_metadata\":{\"action_"
               "identifier\":\"apply_schema\",\"action_data\":{\"schema_id\":123}}}",
               &why));
    CHECK(c->kind == CMD_ACTION);
    CHECK_STR(c->action.data, "{\"schema_id\":123}");
    command_free(c);
    CHAT_REFUSED("{\"message\":\"Approve\",\"interaction_type\":\"action_executed\"}", 422,
                 "bad_field");
    CHAT_REFUSED("{\"message\":\"Approve\",\"interaction_type\":\"action_executed\",\"action_"
                 "metadata\":{\"action_identifier\":\"approve\"}}",
                 422, "malformed_answer");
}

TEST(chat_bodies_that_are_none_are_refused)
{
    CHAT_REFUSED("", 400, "bad_json");
    CHAT_REFUSED("{\"message\":\"x\"", 400, "bad_json");
    CHAT_REFUSED("null", 422, "bad_field");
    CHAT_REFUSED("{}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"\"}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\" \\n\\t \"}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":7}", 422, "bad_field");
    CHAT_REFUSED("{\"messages\":{}}", 422, "bad_field");
    CHAT_REFUSED("{\"messages\":[]}", 422, "bad_field");
    CHAT_REFUSED("{\"messages\":[7]}", 422, "bad_field");
    CHAT_REFUSED("{\"messages\":[{\"role\":\"user\",\"content\":7}]}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"x\",\"thread_id\":7}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"x\",\"page\":[]}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"x\",\"request_id\":\"\"}", 422, "bad_field");
    CHAT_REFUSED("{\"message\":\"x\",\"when_busy\":\"later\"}", 422, "bad_field");
    CHAT_REFUSED("{\"action\":\"approve\"}", 422, "bad_field");
    CHAT_REFUSED("{\"action\":{\"action\":\"\"}}", 422, "bad_field");
    CHAT_REFUSED("{\"action\":{\"action\":7}}", 422, "bad_field");
    CHAT_REFUSED("{\"action\":{\"action\":\"approve\"}}", 422, "malformed_answer");
    CHAT_REFUSED("{\"action\":{\"action\":\"deny\",\"data\":{\"confirmation_id\":7}}}", 422,
                 "malformed_answer");
    CHAT_REFUSED(
        "{\"action\":{\"action\":\"deny\",\"data\":{\"confirmation_id\":\"x\",\"reason\":7}}}", 422,
        "bad_field");
}

TEST(approve_and_deny_are_answers_any_other_action_is_an_action)
{
    struct command *c = fresh();
    struct refusal  why;
    CHECK(chat(c,
               "{\"action\":{\"action\":\"approve\",\"data\":{\"confirmation_id\":\"confirmation-"
               "1\",\"payload\":{\"days\":3}}}}",
               &why));
    CHECK(c->kind == CMD_DECIDE && c->decide.confirmed);
    CHECK_STR(c->decide.payload, "{\"days\":3}");
    command_free(c);
    c = fresh();
    CHECK(request_action(c,
                         STR("{\"action\":\"deny\",\"data\":{\"confirmation_id\":\"confirmation-"
                             "1\",\"reason\":\"no\",\"answer_id\":\"a\"}}"),
                         &why));
    CHECK(c->kind == CMD_DECIDE && !c->decide.confirmed);
    CHECK_STR(c->decide.reason, "no");
    CHECK_STR(c->answer_id, "a");
    command_free(c);
    c = fresh();
    CHECK(request_action(
              c,
              STR("{\"action\":\"apply_schema\",\"data\":{\"schema_id\":1},\"request_id\":\"r\"}"),
              &why) &&
          c->kind == CMD_ACTION);
    CHECK_STR(c->action.data, "{\"schema_id\":1}");
    command_free(c);
}

static bool answer(struct command *c, const char *body, struct refusal *why)
{
    const struct jv *v;
    struct jv       *tree;
    REQUIRE(json_parse(&c->arena, arena_dup(&c->arena, str_c(body)), &tree, NULL) == OK);
    v = tree;
    return request_answer(c, v, why);
}

TEST(every_accepted_spelling_of_an_answer)
{
    static const struct {
        const char *body;
        bool        yes;
    } GOOD[] = {
        { "{\"confirmed\":true}", true },
        { "{\"confirmed\":false,\"reason\":\"too much\"}", false },
        { "{\"approved\":true}", true },
        { "{\"approved\":false}", false },
        { "{\"confirmed\":true,\"approved\":true}", true },
        { "{\"confirmed\":true,\"payload\":null,\"reason\":null}", true },
        { "{\"response\":\"{\\\"confirmed\\\":true}\"}", true },
        { "{\"response\":\"{\\\"confirmed\\\":false}\"}", false },
    };
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        struct command *c = fresh();
        struct refusal  why;
        CHECK(answer(c, GOOD[i].body, &why) && c->decide.confirmed == GOOD[i].yes);
        command_free(c);
    }
}

TEST(nothing_else_is_an_answer)
{
    static const char *const BAD[] = {
        "true",
        "[true]",
        "\"true\"",
        "{}",
        "{\"confirmed\":\"true\"}",
        "{\"confirmed\":1}",
        "{\"confirmed\":null}",
        "{\"confirmed\":[true]}",
        "{\"confirmed\":true,\"approved\":false}",
        "{\"confirmed\":true,\"approved\":1}",
        "{\"response\":\"true\"}",
        "{\"response\":\"{\"}",
        "{\"response\":{\"confirmed\":true}}",
        "{\"response\":\"{\\\"confirmed\\\":1}\"}",
        "{\"response\":\"{\\\"confirmed\\\":true}\",\"x\":1}",
        "null",
        "7",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct command *c = fresh();
        struct refusal  why = { 0 };
        CHECK(!answer(c, BAD[i], &why) && why.status == 422 &&
              strcmp(why.code, "malformed_answer") == 0);
        command_free(c);
    }
}

TEST(a_result_is_any_value_or_an_error_with_words)
{
    static const struct {
        const char *body, *value, *error;
    } CASES[] = {
        { "{\"result\":{\"a\":1}}", "{\"a\":1}", NULL },
        { "{\"result\":null}", "null", NULL },
        { "{\"error\":\"no\"}", NULL, "no" },
        { "{\"result\":1,\"error\":null}", "1", NULL },
    };
    for (size_t i = 0; i < 4; i++) {
        struct command  *c = fresh();
        struct refusal   why;
        const struct jv *v;
        CHECK(request_object(c, str_c(CASES[i].body), false, &v, &why) &&
              request_result(c, v, &why));
        if (CASES[i].value) CHECK_STR(c->result.value, CASES[i].value);
        if (CASES[i].error) CHECK_STR(c->result.error, CASES[i].error);
        command_free(c);
    }
    struct command  *c = fresh();
    struct refusal   why;
    const struct jv *v;
    CHECK(request_object(c, STR("{}"), true, &v, &why) && !request_result(c, v, &why) &&
          why.status == 422);
    CHECK(request_object(c, STR("  "), true, &v, &why) && v->count == 0);
    CHECK(!request_object(c, STR("  "), false, &v, &why));
    CHECK(request_object(c, STR("{\"error\":7}"), false, &v, &why) && !request_result(c, v, &why));
    command_free(c);
}
