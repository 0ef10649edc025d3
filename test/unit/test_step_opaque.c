/* test_step_opaque.c -- which part of the open step a provider's opaque JSON belongs to. */
#include "test.h"

#include "run/step.h"

TEST(every_thought_keeps_its_own_signature)
{
    struct open_step s = { 0 };
    step_begin(&s);
    CHECK(step_text(&s, STEP_REASONING, STR("Hm")) == OK &&
          step_opaque(&s, STR("{\"signature\":\"a\"}")) == OK);
    CHECK(step_text(&s, STEP_REASONING, STR("")) == OK &&
          step_opaque(&s, STR("{\"signature\":\"b\"}")) == OK);
    CHECK(step_text(&s, STEP_TEXT, STR("Hi")) == OK && step_text(&s, STEP_TEXT, STR("")) == OK);
    CHECK(step_text(&s, STEP_REASONING, STR("")) == OK &&
          step_opaque(&s, STR("{\"block\":1}")) == OK);
    REQUIRE(s.count == 4);
    CHECK_STR(s.parts[0].text, "Hm");
    CHECK_STR(s.parts[0].opaque, "{\"signature\":\"a\"}");
    CHECK_STR(s.parts[1].opaque, "{\"signature\":\"b\"}");
    CHECK(s.parts[1].text.len == 0 && s.parts[2].opaque.ptr == NULL);
    CHECK_STR(s.parts[2].text, "Hi");
    CHECK_STR(s.parts[3].opaque, "{\"block\":1}");
    step_clear(&s);
}

TEST(text_after_a_signature_is_another_part)
{
    struct open_step s = { 0 };
    step_begin(&s);
    CHECK(step_text(&s, STEP_TEXT, STR("signed")) == OK &&
          step_opaque(&s, STR("{\"at\":0}")) == OK);
    CHECK(step_text(&s, STEP_TEXT, STR("not")) == OK);
    REQUIRE(s.count == 2);
    CHECK_STR(s.parts[1].text, "not");
    CHECK(s.parts[0].complete && !s.parts[1].opaque.ptr);
    step_clear(&s);
}

TEST(a_call_goes_on_after_its_opaque_json)
{
    struct open_step s = { 0 };
    step_begin(&s);
    CHECK(step_call(&s, STR("call-1"), STR_NONE, STR("pay")) != NULL);
    CHECK(step_opaque(&s, STR("{\"thoughtSignature\":\"x\"}")) == OK &&
          step_text(&s, STEP_CALL, STR("{}")) == OK);
    REQUIRE(s.count == 1);
    CHECK(!s.parts[0].complete);
    CHECK_STR(s.parts[0].text, "{}");
    step_clear(&s);
}
