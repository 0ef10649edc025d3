/* test_config_budget.c -- what is said about budgets that cannot be meant: once each, at their own
 * line. */
#include "config_help.h"

/* A budget with this role, which stands at the third line. */
static const char *with_role(const char *who, const char *role)
{
    static char text[2000];
    snprintf(text, sizeof text,
             "{\"budgets\":[{\n\"for\":\"%s\",\"tokens\":{\"hard\":9},\n\"role\":%s}]}", who, role);
    return text;
}

TEST(config_a_budget_takes_a_role_by_its_name)
{
    config_good(with_role("role", "\"sales\""));
    CHECK(c.budget_count == 1 && str_is(c.budgets[0].role, "sales"));
    CHECK(c.role_names.count == 1 && str_is(c.role_names.list[0], "sales"));
    config_done(&c);
}

TEST(config_a_role_of_a_budget_that_is_no_name_is_refused_at_its_line)
{
    char        full[400];
    const char *name = "a role's name has 1 to 64 letters, digits and signs, and no blanks";

    snprintf(full, sizeof full, "\"%0300d\"", 7);
    CHECK(config_refused(with_role("role", "\"\""), 3, name));
    CHECK(config_refused(with_role("role", "\"two words\""), 3, name));
    CHECK(config_refused(with_role("principal", "\"\\u00e4\""), 3, name));
    CHECK(config_refused(with_role("role", full), 3, name));
}

TEST(config_a_role_of_a_budget_that_is_no_text_is_refused_once)
{
    static const char *const others[] = { "7", "true", "null", "[\"sales\"]", "{\"a\":1}" };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(config_refused(with_role("role", others[i]), 3, "\"budgets[0].role\" must be text"));
}

TEST(config_a_budget_for_a_role_says_which)
{
    const char *none = "{\"budgets\":[\n{\"for\":\"role\",\"tokens\":{\"hard\":9}}]}";

    CHECK(config_refused(none, 2, "a budget for a role needs \"role\""));
    CHECK(config_refused(with_role("thread", "\"sales\""), 3, "\"role\" goes with \"for\""));
}

TEST(config_budgets_name_no_more_roles_than_everything_else)
{
    struct buf b;

    buf_init(&b, 0);
    buf_lit(&b, "{\"pages\":{\"p\":{\"roles\":[");
    for (int i = 0; i < 64; i++) buf_printf(&b, "%s\"r%d\"", i ? "," : "", i);
    buf_lit(&b, "]}},\n\"budgets\":[\n{\"for\":\"role\",\"role\":\"r0\",\"tokens\":{\"hard\":9}},\n"
                "{\"for\":\"role\",\"role\":\"more\",\"tokens\":{\"hard\":9}}]}");
    buf_chr(&b, '\0');
    CHECK(config_refused(b.ptr, 4, "more than 64 roles"));
    buf_done(&b);
}
