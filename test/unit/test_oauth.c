/* test_oauth.c -- what the parties of an OAuth sign-in say is believed only as far as it is theirs
 * to say; secrets are sealed. The whole way: test/live/accounts.test.mjs. */
#include "base/jsonw.h"
#include "base/oauthform.h"
#include "base/seal.h"
#include "test.h"
#include "tool/mcp/oauth_read.h"

#define URL "https://mail.example/mcp"

static struct arena A;

static const struct jv *json(const char *text)
{
    struct jv *v;
    REQUIRE(json_parse(&A, arena_dup(&A, str_c(text)), &v, NULL) == OK);
    return v;
}

/* --- sealing ---------------------------------------------------------------------------------- */

TEST(what_is_sealed_opens_with_its_key_and_under_its_name_only)
{
    struct seal_key k, other;
    struct buf      b, twice;
    struct str      out;

    arena_init(&A, 0);
    buf_init(&b, 0);
    buf_init(&twice, 0);
    REQUIRE(
        seal_key_read(&k, STR("00112233445566778899AABBccddeeff00112233445566778899aabbccddeeff")));
    REQUIRE(seal_key_read(&other, STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")));
    REQUIRE(seal(&k, STR("mcp/mail/ada"), STR("a token"), &b) == OK);
    REQUIRE(seal(&k, STR("mcp/mail/ada"), STR("a token"), &twice) == OK);
    CHECK(!str_eq(buf_view(&b), buf_view(&twice)));
    CHECK(str_find(buf_view(&b), STR("token")) < 0);
    REQUIRE(unseal(&k, STR("mcp/mail/ada"), buf_view(&b), &A, &out) == OK);
    CHECK_STR(out, "a token");
    CHECK(unseal(&k, STR("mcp/mail/bob"), buf_view(&b), &A, &out) == ERR_SYNTAX);
    CHECK(unseal(&other, STR("mcp/mail/ada"), buf_view(&b), &A, &out) == ERR_SYNTAX);
    for (size_t i = 0; i + 2 < b.len; i++) { /* the last letter has bits that mean nothing */
        b.ptr[i] ^= 1;
        CHECK(unseal(&k, STR("mcp/mail/ada"), buf_view(&b), &A, &out) == ERR_SYNTAX);
        CHECK(unseal(&k, STR("mcp/mail/ada"), str_cut(buf_view(&b), i), &A, &out) == ERR_SYNTAX);
        b.ptr[i] ^= 1;
    }
    buf_done(&b);
    buf_done(&twice);
    arena_done(&A);
}

TEST(a_key_is_thirty_two_bytes_in_hex_or_base64)
{
    static const char *const BAD[] = {
        "", "short", "zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
        " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    };
    struct seal_key k;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) CHECK(!seal_key_read(&k, str_c(BAD[i])));
}

TEST(nothing_is_sealed_too)
{
    struct seal_key k = { { 1 } };
    struct buf      b;
    struct str      out;
    arena_init(&A, 0);
    buf_init(&b, 0);
    REQUIRE(seal(&k, STR("x/y"), STR(""), &b) == OK);
    CHECK(unseal(&k, STR("x/y"), buf_view(&b), &A, &out) == OK && out.len == 0);
    buf_done(&b);
    arena_done(&A);
}

/* --- challenges ------------------------------------------------------------------------------- */

static void challenge(const char *header, const char *metadata, const char *scope,
                      const char *error)
{
    struct oauth_challenge c;
    oauth_challenge_read(&A, str_c(header), &c);
    CHECK(metadata ? str_is(c.metadata, metadata) : !c.metadata.ptr);
    CHECK(scope ? str_is(c.scope, scope) : !c.scope.ptr);
    CHECK(error ? str_is(c.error, error) : !c.error.ptr);
}

TEST(the_first_bearer_challenge_counts_and_nothing_else_of_the_header)
{
    arena_init(&A, 0);
    challenge("Bearer resource_metadata=\"https://a/b\", scope=\"x y\", error=\"invalid_token\"",
              "https://a/b", "x y", "invalid_token");
    challenge("bearer  scope = a , error=b", NULL, "a", "b");
    challenge("Basic realm=\"x, scope=no\", Bearer scope=\"a\\\"b\"", NULL, "a\"b", NULL);
    challenge("Bearer scope=a, Digest scope=b", NULL, "a", NULL);
    challenge("Bearer", NULL, NULL, NULL);
    challenge("Bearer scope=\"never ends", NULL, NULL, NULL);
    challenge("Basic scope=a", NULL, NULL, NULL);
    challenge("", NULL, NULL, NULL);
    challenge(",,,==\"", NULL, NULL, NULL);
    arena_done(&A);
}

/* --- addresses -------------------------------------------------------------------------------- */

TEST(scopes_are_words_and_only_new_ones_are_lacking)
{
    struct buf b;

    buf_init(&b, 0);
    CHECK(oauth_scope_lacks(STR_NONE, STR("read")));
    CHECK(oauth_scope_lacks(STR("reader"), STR("read")));
    CHECK(oauth_scope_lacks(STR("read"), STR("write read")));
    CHECK(!oauth_scope_lacks(STR("write read"), STR(" read  write ")));
    CHECK(!oauth_scope_lacks(STR("read"), STR_NONE));
    CHECK(!oauth_scope_lacks(STR("read"), STR("a\"b \x01 c\\d"))); /* no scopes at all */
    oauth_scope_add(&b, STR("read write"));
    oauth_scope_add(&b, STR("write  a\"b send read"));
    CHECK_STR(buf_view(&b), "read write send");
    for (unsigned i = 0; i < OAUTH_SCOPE_MAX; i++) {
        char word[12];
        snprintf(word, sizeof word, "s%u", i);
        oauth_scope_add(&b, str_c(word));
    }
    CHECK(b.len <= OAUTH_SCOPE_MAX);
    buf_done(&b);
}

TEST(an_origin_is_scheme_host_and_port)
{
    CHECK_STR(oauth_origin(STR("https://a.example:8443/x?y#z")), "https://a.example:8443");
    CHECK_STR(oauth_origin(STR("http://localhost")), "http://localhost");
    CHECK(!oauth_origin(STR("https://good.example@evil.example/")).ptr);
    CHECK(!oauth_origin(STR("https://good.example\\@evil.example/")).ptr);
    CHECK(!oauth_origin(STR("ftp://a/")).ptr && !oauth_origin(STR("https://")).ptr &&
          !oauth_origin(STR("javascript:alert(1)")).ptr && !oauth_origin(STR("")).ptr);
    CHECK(oauth_same_origin(STR("https://A.example/x"), STR("https://a.example/y")));
    CHECK(!oauth_same_origin(STR("https://a.example"), STR("http://a.example")));
    CHECK(!oauth_same_origin(STR("https://a.example"), STR("https://a.example.evil")));
    CHECK(!oauth_same_origin(STR("https://a.example"), STR("https://a.example:444")));
}

TEST(secrets_go_over_https_or_to_this_machine)
{
    CHECK(url_is_safe(STR("https://a.example/x")) && url_is_safe(STR("http://127.0.0.1:1/x")) &&
          url_is_safe(STR("http://[::1]/")));
    CHECK(!url_is_safe(STR("http://a.example/")) && !url_is_safe(STR("http://localhost.evil/")) &&
          !url_is_safe(STR("http://127.0.0.1.evil/")) && !url_is_safe(STR("https://a b/")) &&
          !url_is_safe(STR("javascript:1")) && !url_is_safe(STR("")));
}

static void places(struct str (*place)(struct arena *, struct str, unsigned), const char *url,
                   const char *const *want)
{
    unsigned n = 0;
    for (; want[n]; n++) CHECK_STR(place(&A, str_c(url), n), want[n]);
    CHECK(!place(&A, str_c(url), n).ptr);
}

TEST(metadata_is_looked_for_in_every_form_there_is)
{
    arena_init(&A, 0);
    places(oauth_resource_place, "https://a/mcp",
           (const char *const[]){ "https://a/.well-known/oauth-protected-resource/mcp",
                                  "https://a/.well-known/oauth-protected-resource", NULL });
    places(oauth_resource_place, "https://a/",
           (const char *const[]){ "https://a/.well-known/oauth-protected-resource", NULL });
    places(oauth_server_place, "https://a/t/",
           (const char *const[]){ "https://a/.well-known/oauth-authorization-server/t",
                                  "https://a/.well-known/openid-configuration/t",
                                  "https://a/t/.well-known/openid-configuration", NULL });
    places(oauth_server_place, "https://a",
           (const char *const[]){ "https://a/.well-known/oauth-authorization-server",
                                  "https://a/.well-known/openid-configuration", NULL });
    places(oauth_server_place, "file:///x", (const char *const[]){ NULL });
    char at_most[OAUTH_URL_MAX + 1]; /* what comes before the path makes it too long */
    memset(at_most, 'p', OAUTH_URL_MAX);
    memcpy(at_most, "https://a/", 10);
    at_most[OAUTH_URL_MAX] = 0;
    places(oauth_resource_place, at_most, (const char *const[]){ NULL });
    places(oauth_server_place, at_most, (const char *const[]){ NULL });
    arena_done(&A);
}

/* --- metadata --------------------------------------------------------------------------------- */

TEST(a_servers_metadata_is_about_its_own_address)
{
    struct oauth_resource r;
    arena_init(&A, 0);
    CHECK(!oauth_resource_read(
        &A,
        json("{\"resource\":\"" URL "\",\"authorization_servers\":[\"https://"
             "id.example\",\"https://b\"],\"scopes_supported\":[\"a\",7,\"b c\",\"d\"]}"),
        STR(URL), &r));
    CHECK_STR(r.issuer, "https://id.example");
    CHECK_STR(r.scopes, "a d");
    CHECK(!oauth_resource_read(&A, json("{\"resource\":\"https://mail.example\"}"), STR(URL), &r));
    CHECK(!r.issuer.ptr);
    CHECK(
        oauth_resource_read(&A, json("{\"resource\":\"https://mail.example/mc\"}"), STR(URL), &r));
    CHECK(oauth_resource_read(&A, json("{\"resource\":\"https://mail.example/mcp/x\"}"), STR(URL),
                              &r));
    CHECK(
        oauth_resource_read(&A, json("{\"resource\":\"https://evil.example/mcp\"}"), STR(URL), &r));
    CHECK(oauth_resource_read(&A, json("{}"), STR(URL), &r));
    CHECK(oauth_resource_read(&A, json("[]"), STR(URL), &r));
    CHECK(oauth_resource_read(
        &A, json("{\"resource\":\"" URL "\",\"authorization_servers\":[\"x\"]}"), STR(URL), &r));
    arena_done(&A);
}

#define SERVER(issuer, authorize, token, more)                           \
    "{\"issuer\":\"" issuer "\",\"authorization_endpoint\":\"" authorize \
    "\",\"token_endpoint\":\"" token "\"" more "}"
#define PKCE ",\"code_challenge_methods_supported\":[\"plain\",\"S256\"]"
#define ID   "https://id.example"

static const char *server(const char *text, bool near, struct oauth_server *s)
{
    return oauth_server_read(&A, json(text), STR(ID), near, s);
}

TEST(an_authorization_server_is_the_one_that_was_asked_for_and_https)
{
    struct oauth_server s;
    arena_init(&A, 0);
    CHECK(!server(SERVER(ID, ID "/a", ID "/t", PKCE ",\"registration_endpoint\":\"" ID "/r\""),
                  false, &s));
    CHECK_STR(s.registration, ID "/r");
    CHECK(!s.says_issuer && !s.offline && !s.secret_posted);
    CHECK(!server(SERVER(ID "/", ID "/a", ID "/t",
                         PKCE ",\"authorization_response_iss_parameter_supported\":true,"
                              "\"scopes_supported\":[\"offline_access\"],"
                              "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]"),
                  false, &s));
    CHECK(s.says_issuer && s.offline && s.secret_posted);
    CHECK(server(SERVER("https://evil.example", ID "/a", ID "/t", PKCE), false, &s));
    CHECK(server(SERVER(ID, "http://id.example/a", ID "/t", PKCE), false, &s));
    CHECK(server(SERVER(ID, ID "/a", "http://id.example/t", PKCE), false, &s));
    CHECK(server(SERVER(ID, ID "/a#x", ID "/t", PKCE), false, &s));
    CHECK(server(SERVER(ID, ID "/a", ID "/t", ""), false, &s));
    CHECK(server(SERVER(ID, ID "/a", ID "/t", PKCE ",\"registration_endpoint\":\"http://x/\""),
                 false, &s));
    /* what is on this machine is believed of a server on this machine only */
    CHECK(server(SERVER(ID, ID "/a", "http://127.0.0.1/t", PKCE), false, &s));
    CHECK(!server(SERVER(ID, ID "/a", "http://127.0.0.1/t", PKCE), true, &s));
    arena_done(&A);
}

/* --- answers ---------------------------------------------------------------------------------- */

static const char *grant(const char *text, struct oauth_grant *g)
{
    return oauth_grant_read(&A, json(text), g);
}

TEST(a_grant_has_a_token_that_a_header_can_hold)
{
    struct oauth_grant g;
    arena_init(&A, 0);
    CHECK(!grant("{\"access_token\":\"t\",\"token_type\":\"bearer\"}", &g));
    CHECK(g.expires_s == 0 && !g.refresh.ptr);
    CHECK(!grant(
        "{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"expires_in\":\"60\",\"refresh_token\":"
        "\"r\",\"scope\":\"a b\"}",
        &g));
    CHECK(g.expires_s == 60);
    CHECK_STR(g.refresh, "r");
    CHECK_STR(g.scope, "a b");
    CHECK(!grant("{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"expires_in\":1e300}", &g));
    CHECK(g.expires_s > 0 && g.expires_s < INT64_MAX / 4000);
    CHECK(!grant("{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"expires_in\":-5}", &g));
    CHECK(g.expires_s == 0);
    CHECK(grant("{\"access_token\":\"t\"}", &g));
    CHECK(grant("{\"access_token\":\"t\",\"token_type\":\"mac\"}", &g));
    CHECK(grant("{\"access_token\":\"a b\",\"token_type\":\"Bearer\"}", &g));
    CHECK(grant("{\"access_token\":\"a\\r\\nb\",\"token_type\":\"Bearer\"}", &g));
    CHECK(grant("{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"refresh_token\":\"\"}", &g));
    CHECK(grant("{\"error\":\"invalid_grant\"}", &g));
    CHECK(grant("7", &g));
    arena_done(&A);
}

TEST(a_registration_without_a_method_of_its_own_may_have_a_secret)
{
    struct oauth_client c;
    arena_init(&A, 0);
    CHECK(!oauth_client_read(&A, json("{\"client_id\":\"a\",\"client_secret\":\"s\"}"), &c));
    CHECK_STR(c.secret, "s");
    CHECK(!oauth_client_read(&A,
                             json("{\"client_id\":\"a\",\"client_secret\":\"s\",\"token_endpoint_"
                                  "auth_method\":\"none\"}"),
                             &c));
    CHECK(!c.secret.ptr);
    CHECK(oauth_client_read(&A, json("{}"), &c));
    CHECK(oauth_client_read(&A, json("{\"client_id\":\"a\\nb\"}"), &c));
    arena_done(&A);
}
