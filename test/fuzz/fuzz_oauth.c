/* fuzz_oauth.c -- any bytes as what the parties of an OAuth sign-in say; the first one chooses which.
 *
 * Whatever comes: what is taken may be sent to. An address is https (or this machine, for a server on
 * this machine) without a user's name in it, an issuer is the one that was asked for, a token can
 * stand in a header, scopes are words. What is not taken has a sentence.
 * dictionary: json */
#include <stdlib.h>

#include "base/oauthform.h"
#include "tool/mcp/oauth_read.h"

#define URL    "https://mail.example/mcp"
#define ISSUER "https://id.example/t"

static void require(bool ok)
{
    if (!ok) abort();
}

static void check_address(struct str url, bool near)
{
    require(url.ptr && url.len <= OAUTH_URL_MAX && url.ptr[url.len] == 0 && url_is_safe(url));
    require(oauth_origin(url).ptr && (near || !url_is_loopback(url)));
    require(!memchr(oauth_origin(url).ptr, '@', oauth_origin(url).len));
}

static void check_words(struct str s, size_t max)
{
    require(s.len <= max);
    for (size_t i = 0; i < s.len; i++) require(s.ptr[i] >= 0x20 && s.ptr[i] < 0x7f);
}

static void challenge(struct arena *a, struct str text)
{
    struct oauth_challenge c;
    oauth_challenge_read(a, text, &c);
    require(c.metadata.len <= OAUTH_URL_MAX && c.scope.len <= OAUTH_SCOPE_MAX);
    require(c.error.len <= text.len);
}

static void places(struct arena *a, struct str url)
{
    for (unsigned n = 0; n < 4; n++) {
        struct str at = oauth_resource_place(a, url, n), as = oauth_server_place(a, url, n);
        require(!at.ptr || oauth_same_origin(at, url));
        require(!as.ptr || oauth_same_origin(as, url));
        require(n < 3 || (!at.ptr && !as.ptr));
    }
}

static void resource(struct arena *a, const struct jv *doc)
{
    struct oauth_resource r;
    const char           *why = oauth_resource_read(a, doc, STR(URL), &r);
    require(!why || why[0]);
    if (why) return;
    require(!r.issuer.ptr || oauth_origin(r.issuer).ptr);
    check_words(r.scopes, OAUTH_SCOPE_MAX);
    require(oauth_same_origin(jv_str_at(doc, "resource"), STR(URL)));
}

static void server(struct arena *a, const struct jv *doc, bool near)
{
    struct oauth_server s;
    const char         *why = oauth_server_read(a, doc, STR(ISSUER), near, &s);
    require(!why || why[0]);
    if (why) return;
    check_address(s.authorize, near);
    check_address(s.token, near);
    if (s.registration.ptr) check_address(s.registration, near);
    require(str_starts(s.issuer, STR(ISSUER)) && s.issuer.len <= sizeof ISSUER);
}

static void grant(struct arena *a, const struct jv *doc)
{
    struct oauth_grant  g;
    struct oauth_client c;
    const char         *why = oauth_grant_read(a, doc, &g);
    require(!why || why[0]);
    if (!why) {
        require(oauth_token_good(g.access) && (!g.refresh.ptr || oauth_token_good(g.refresh)));
        require(g.expires_s >= 0 && g.expires_s < INT64_MAX / 4000);
    }
    why = oauth_client_read(a, doc, &c);
    require(!why || why[0]);
    if (why) return;
    require(c.id.len > 0);
    check_words(c.id, OAUTH_CLIENT_MAX);
    check_words(c.secret, OAUTH_CLIENT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str   text = str_from(str_n((const char *)data, size), 1);
    struct arena a;
    struct jv   *doc;
    arena_init(&a, 0);
    switch (size ? data[0] % 6 : 0) {
    case 0: challenge(&a, text); break;
    case 1: places(&a, text); break;
    default:
        if (json_parse(&a, text, &doc, NULL) != OK) break;
        if (data[0] % 6 == 2) resource(&a, doc);
        else if (data[0] % 6 == 3) server(&a, doc, false);
        else if (data[0] % 6 == 4) server(&a, doc, true);
        else grant(&a, doc);
    }
    arena_done(&a);
    return 0;
}
