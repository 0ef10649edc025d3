/* test_config_auth.c -- who may come in, who may say yes, which sites may embed the page. */
#include "config_help.h"

TEST(config_reads_keys_and_tokens)
{
    config_good(
        "{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
        "\",\"principal\":\"ada\",\"roles\":[\"user\",\"admin\"]}],"
        "\"jwt\":{\"issuer\":\"https://i\",\"audience\":\"parley\",\"jwks_url\":\"https://i/"
        "keys\"},\"cookie_seconds\":60}}");
    CHECK(c.auth.key_count == 1 && c.auth.keys[0].roles == (ROLE_USER | ROLE_ADMIN));
    CHECK(c.auth.jwt && c.auth.algorithms == (ALG_RS256 | ALG_ES256) && c.auth.cookie_s == 60);
    config_done(&c);
}

TEST(config_limits_each_principal_when_people_sign_in)
{
    config_good("{}");
    CHECK(!c.each.requests_per_minute && !c.each.runs && !c.each.tokens_per_day && !c.approvers);
    config_done(&c);
    config_good(
        "{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
        "\",\"principal\":\"ada\",\"roles\":[\"approver\"]}]},\"approvals\":{\"who\":\"approver\"}"
        "}");
    CHECK(c.each.requests_per_minute == 1200 && c.each.runs == 50 && !c.each.tokens_per_day &&
          c.approvers);
    config_done(&c);
    config_good(
        "{\"limits\":{\"per_principal\":{\"runs\":2,\"requests_per_minute\":0,\"tokens_per_day\":"
        "9000000000}},\"proxies\":[\"127.0.0.1\",\"::1\"],"
        "\"public_url\":\"http://[::1]:8000/chat\"}");
    CHECK(c.each.runs == 2 && !c.each.requests_per_minute && c.each.tokens_per_day == 9000000000 &&
          c.proxies.count == 2);
    config_done(&c);
    config_good("{\"listen\":\"0.0.0.0:1\",\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                "\",\"principal\":\"ada\"}]}}");
    CHECK(config_warns("\"hosts\" is empty"));
    config_done(&c);
}

TEST(config_knows_the_address_that_people_reach_it_by)
{
    config_good("{}");
    CHECK(!c.public_url.ptr);
    config_done(&c);
    config_good("{\"public_url\":\"https://chat.localhost/parley/\"}");
    CHECK_STR(c.public_url, "https://chat.localhost/parley");
    config_done(&c);
    CHECK(config_refused("{\"public_url\":\"chat.example.org\"}", 1, "must begin with http"));
}

TEST(config_refuses_approvers_that_are_not_there)
{
    CHECK(config_refused("{\"approvals\":{\"who\":\"approver\"}}", 1, "needs \"auth\""));
    CHECK(config_refused(
        "{\"approvals\":{\"who\":\"approver\"},\"auth\":{\"keys\":[{\"sha256\":\"" FOO
        "\",\"principal\":\"a\"}]}}",
        1, "nobody under \"auth\""));
    CHECK(config_refused("{\"approvals\":{\"who\":\"anybody\"}}", 1, "owner|approver"));
}

TEST(config_refuses_auth_that_is_no_auth)
{
    CHECK(config_refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\",\"principal\":\"a\\nb\"}]}}",
                         1, "control characters"));
    CHECK(config_refused("{\"proxies\":[\"10.0.0.0/8\"]}", 1, "an address such as"));
    CHECK(config_refused("{\"limits\":{\"per_principal\":{\"runs\":-1}}}", 1, "between 0"));
    CHECK(config_refused("{\"auth\":{}}", 1, "lets nobody in"));
    CHECK(config_refused("{\"auth\":{\n\"keys\":[]}}", 2, "lets nobody in"));
    CHECK(config_refused("{\"auth\":{\"cookie_seconds\":60}}", 1, "lets nobody in"));
    CHECK(config_refused("{\"auth\":{\"keys\":[{\"sha256\":\"abc\",\"principal\":\"a\"}]}}", 1,
                         "64 hex digits"));
    CHECK(config_refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO "\"}]}}", 1, "principal"));
    CHECK(config_refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                         "\",\"principal\":\"a\",\"roles\":[\"root\"]}]}}",
                         1, "user, approver, admin"));
    CHECK(config_refused("{\"auth\":{\"keys\":[{\"sha256\":\"" FOO
                         "\",\"principal\":\"a\"},{\"sha256\":\"" FOO "\",\"principal\":\"b\"}]}}",
                         1, "twice"));
    CHECK(config_refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"keys_file\":\"k\"}}}", 1,
                         "audience"));
    CHECK(config_refused("{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\"}}}", 1,
                         "keys_file"));
    CHECK(config_refused(
        "{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"keys_file\":\"k\","
        "\"algorithms\":[\"none\"]}}}",
        1, "\"none\" is not"));
    CHECK(config_refused(
        "{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"keys_file\":\"k\","
        "\"algorithms\":[\"HS256\",\"RS256\"]}}}",
        1, "cannot be mixed"));
    CHECK(config_refused(
        "{\"auth\":{\"jwt\":{\"issuer\":\"i\",\"audience\":\"a\",\"jwks_url\":\"http://i/k\"}}}", 1,
        "https://"));
    CHECK(config_refused("{\"origins\":[\"*\"]}", 1, "every web site"));
    CHECK(config_refused("{\"origins\":[\"https://example.org/\"]}", 1, "without a path"));
    CHECK(config_refused("{\"cors\":[\"example.org\"]}", 1, "must begin"));
    CHECK(config_refused("{\"hosts\":[\"http://a\"]}", 1, "host name alone"));
    CHECK(config_refused("{\"hosts\":[\"a:80\"]}", 1, "without a port"));
}

TEST(config_a_site_that_embeds_is_named_as_browsers_name_it)
{
    static const struct {
        const char *origin, *why;
    } BAD[] = {
        { "*", "in \"page.embed\" would let every web site in; list the sites" },
        { "shop.example", "must begin with http:// or https://" },
        { "https://shop.example/", "without a path or '/'" },
        { "https://Shop.example", "lower case" },
        { "https://*.shop.example", "wildcards are not understood" },
        { "https://shop.example:443", "browsers leave it out" },
        { "http://shop.example:80", "browsers leave it out" },
        { "https://shop.example;script-src", "a character that no origin has" },
        { "https://shop.example'self'", "a character that no origin has" },
    };
    char text[400], many[8000] = "{" SIGNED_IN ",\"page\":{\"embed\":[\"https://a.example\"";

    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        snprintf(text, sizeof text, "{" SIGNED_IN ",\"page\":{\"embed\":[\"%s\"]}}", BAD[i].origin);
        CHECK(config_refused(text, 1, BAD[i].why));
    }
    for (int i = 0; i < 64; i++) strcat(many, ",\"https://b.example\"");
    CHECK(config_refused(strcat(many, "]}}"), 1, "lists 65 sites; 64 fit into a header"));
    CHECK(config_refused("{\"page\":{\"embed\":\"https://shop.example\"}}", 1, "list of text"));
    config_good("{" SIGNED_IN
                ",\"page\":{\"embed\":[\"https://shop.example\",\"http://localhost:5173\"]}}");
    CHECK(c.embed.count == 2 && c.cors.count == 0);
    config_done(&c);
    config_good("{\"page\":{\"embed\":[\"http://127.0.0.1:5173\"]}}");
    CHECK(c.embed.count == 1);
    config_done(&c);
}

TEST(config_refuses_a_public_name_while_nobody_has_to_say_who_they_are)
{
    CHECK(
        config_refused("{\n\"hosts\":[\"localhost\",\"chat.example.org\"]}", 2,
                       "\"chat.example.org\" in \"hosts\" is a name for people on other machines"));
    CHECK(config_refused("{\"hosts\":[\"notlocalhost\"]}", 1, "add \"auth\""));
    CHECK(config_refused("{\"hosts\":[\"[fd00::7]\"]}", 1, "add \"auth\""));
    CHECK(config_refused("{\"origins\":[\"https://app.example.org\"]}", 1,
                         "\"origins\" is a page of another machine"));
    CHECK(
        config_refused("{\"origins\":[\"http://localhost.example.org:3000\"]}", 1, "add \"auth\""));
    CHECK(config_refused("{\"cors\":[\"http://192.168.0.7:3000\"]}", 1,
                         "\"cors\" is a page of another machine"));
    CHECK(
        config_refused("{\"page\":{\"embed\":[\"https://shop.example\"]}}", 1,
                       "\"https://shop.example\" in \"page.embed\" is a page of another machine"));
    CHECK(
        config_refused("{\"proxies\":[\"10.0.0.7\"]}", 1, "another machine that passes people on"));
    CHECK(config_refused("{\"proxies\":[\"fd00::7\"]}", 1, "add \"auth\""));
    CHECK(config_refused("{\"public_url\":\"https://chat.example.org/parley\"}", 1,
                         "\"public_url\" is an address for people on other machines"));
    CHECK(config_refused("{\"public_url\":\"http://10.0.0.7:8000\"}", 1, "add \"auth\""));
    config_good("{\"hosts\":[\"app.localhost\",\"127.0.0.2\",\"[::1]\"],\"origins\":[\"http://"
                "[::1]:3000\",\"http://127.0.0.1:3000\"],"
                "\"cors\":[\"http://localhost:3000\",\"https://"
                "x.localhost\"],\"proxies\":[\"127.0.0.1\",\"::1\"]}");
    config_done(&c);
    config_good(
        "{\"hosts\":[\"chat.example.org\"],\"origins\":[\"https://"
        "app.example.org\"],\"cors\":[\"https://app.example.org\"],\"proxies\":[\"10.0.0.7\"],"
        "\"public_url\":\"https://chat.example.org\",\"auth\":{\"keys\":[{\"sha256\":\"" FOO
        "\",\"principal\":\"ada\"}]}}");
    config_done(&c);
}
