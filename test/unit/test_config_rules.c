/* test_config_rules.c -- approvals.rules that say nothing are refused, and the others are told in
 * words. */
#include <stdlib.h>

#include "config_help.h"

#define KEY(n, who, roles)                                                                  \
    "{\"sha256\":\"" n "c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"," \
    "\"principal\":\"" who "\",\"roles\":[" roles "]}"
#define PEOPLE                                                                                     \
    "\"auth\":{\"keys\":[" KEY("1", "ada", "\"user\"") "," KEY("2", "fay", "\"finance\"") "," KEY( \
        "3", "fin", "\"finance\"") "," KEY("4", "cleo", "\"cfo\"") "]},"
#define NAMES "{\"tool\":\"close\",\"from\":\"finance\"},{\"tool\":\"open\",\"from\":\"cfo\"}"

/* These rules stand at the third line; two others, which use the roles of everybody, before. */
static const char *rules(const char *list)
{
    static char text[4000];
    snprintf(text, sizeof text, "{" PEOPLE "\"approvals\":{\"rules\":[\n" NAMES ",\n%s]}}", list);
    return text;
}

static bool refused(const char *list, const char *part)
{
    bool yes = config_refused(rules(list), 3, part);
    if (!yes) printf("%s\n", list);
    return yes;
}

static bool warned(const char *list, const char *part)
{
    config_good(rules(list));
    return config_warns(part);
}

TEST(config_rules_that_never_count_are_refused)
{
    CHECK(refused("{\"tool\":\"*\",\"from\":\"owner\"},{\"tool\":\"pay\",\"from\":\"cfo\"}",
                  "rule 3 before it takes every call of \"pay\""));
    CHECK(refused("{\"tool\":\"pay_*\",\"from\":\"cfo\"},{\"tool\":\"pay_*_now\",\"from\":\"cfo\"}",
                  "rule 3 before it takes every call of \"pay_*_now\""));
    CHECK(refused("{\"tool\":\"close\",\"from\":\"cfo\",\"when\":{\"pointer\":\"/a\",\"op\":\">\","
                  "\"value\":1}}",
                  "rule 1 before it takes every call of \"close\""));
}

TEST(config_rules_that_may_count_are_not)
{
    config_good(rules("{\"tool\":\"pay_*\",\"from\":\"cfo\"},{\"tool\":\"pay*\",\"from\":\"cfo\"},"
                      "{\"tool\":\"*\",\"from\":\"owner\"}"));
    config_good(rules("{\"tool\":\"*\",\"when\":{\"pointer\":\"/a\",\"op\":\">\",\"value\":1},"
                      "\"from\":\"cfo\"},{\"tool\":\"*\",\"from\":\"owner\"}"));
    CHECK(!c.warnings.count);
}

TEST(config_rules_need_a_count_that_people_can_reach)
{
    CHECK(refused("{\"tool\":\"x\",\"from\":{\"role\":\"finance\",\"count\":0}}", "1"));
    CHECK(refused("{\"tool\":\"x\",\"from\":{\"role\":\"finance\",\"count\":-2}}", "1"));
    CHECK(refused("{\"tool\":\"x\",\"from\":{\"role\":\"finance\",\"count\":3}}",
                  "nothing could ever be approved"));
    CHECK(refused("{\"tool\":\"x\",\"from\":\"board\"}", "nothing could ever be approved"));
}

TEST(config_rules_whose_role_nobody_has_warn_where_others_can_decide)
{
    CHECK(warned("{\"tool\":\"x\",\"from\":\"board\",\"escalate\":[{\"after\":60,\"to\":\"cfo\"}]}",
                 "nothing is approved before the escalation"));
    CHECK(warned("{\"tool\":\"x\",\"from\":\"cfo\",\"escalate\":[{\"after\":60,\"to\":\"board\"}]}",
                 "it adds nobody"));
}

TEST(config_rules_warn_of_a_step_that_asks_whom_an_earlier_one_asks)
{
    CHECK(warned("{\"tool\":\"x\",\"from\":\"finance\",\"escalate\":[{\"after\":60,\"to\":"
                 "{\"role\":\"finance\",\"count\":1}}]}",
                 "it adds nobody"));
    config_good(rules("{\"tool\":\"x\",\"from\":{\"role\":\"finance\",\"count\":2},\"escalate\":["
                      "{\"after\":60,\"to\":\"finance\"}]}"));
    CHECK(!c.warnings.count);
    config_good(rules("{\"tool\":\"x\",\"from\":{\"role\":\"finance\",\"not_requester\":true},"
                      "\"escalate\":[{\"after\":60,\"to\":\"finance\"}]}"));
    CHECK(!c.warnings.count);
}

TEST(config_rules_with_tokens_may_name_any_role)
{
    const char *file = config_file("rules-secret", "a secret of the two of us, long enough\n");
    static char text[2000];
    snprintf(
        text, sizeof text,
        "{\"auth\":{\"jwt\":{\"issuer\":\"https://id\",\"audience\":\"p\",\"keys_file\":\"%s\","
        "\"algorithms\":[\"HS256\"]}},\"approvals\":{\"rules\":[{\"tool\":\"x\",\"from\":{"
        "\"role\":\"board\",\"count\":2}}]}}",
        file);
    config_good(text);
    CHECK(!c.warnings.count);
}

TEST(config_rules_have_no_step_that_never_comes)
{
    CHECK(
        refused("{\"tool\":\"x\",\"from\":\"finance\",\"expires\":600,\"escalate\":[{\"after\":600,"
                "\"to\":\"cfo\"}]}",
                "this step never comes"));
    CHECK(warned("{\"tool\":\"x\",\"from\":\"finance\",\"escalate\":[{\"after\":90000,\"to\":"
                 "\"cfo\"}]}",
                 "after a question that waits 86400"));
    config_good(rules("{\"tool\":\"x\",\"from\":\"finance\",\"expires\":0,\"escalate\":[{\"after\":"
                      "90000,\"to\":\"cfo\"}]}"));
    CHECK(!c.warnings.count);
}

TEST(config_rules_are_told_in_words)
{
    char  *text = NULL;
    size_t len = 0;
    FILE  *f = open_memstream(&text, &len);
    config_good(
        rules("{\"tool\":\"pay_*\",\"when\":{\"pointer\":\"/amount\",\"op\":\">\",\"value\":"
              "9},\"from\":{\"role\":\"finance\",\"count\":2,\"not_requester\":true},"
              "\"expires\":7200,\"escalate\":[{\"after\":1800,\"to\":\"cfo\"}]},"
              "{\"tool\":\"*\",\"from\":\"owner\"}"));
    config_explain(&c, f);
    fclose(f);
    struct str said = str_n(text, len);
    CHECK(str_find(said, STR("rules      1. close: 1 of finance (2 by key)\n")) >= 0);
    CHECK(
        str_find(said, STR("           3. pay_* when {\"pointer\":\"/amount\",\"op\":\">\",\"value"
                           "\":9}: 2 of finance, not who asked for it (2 by key); after 30 "
                           "minutes also 1 of cfo (1 by key); over after 2 hours\n")) >= 0);
    CHECK(str_find(said, STR("           4. *: whoever asked for it\n")) >= 0);
    free(text);
}
