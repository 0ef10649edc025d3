/* test_identity.c -- whose call it is, as a tool is told it; and what a yes relies on. */
#include <openssl/pem.h>

#include "auth/jwt.h"
#include "jwt_make.h"
#include "run/caller.h"
#include "test.h"
#include "tool/identity.h"
#include "tool/registry.h"

static const struct str CLAIMS[] = { { "email", 5 }, { "tenant", 6 }, { "/org/id", 7 } };

struct about {
    struct arena    arena;
    struct tool     tool;
    struct tool_job job;
};

/* A call of ada's, with these claims. */
static void about(struct about *x, const char *claims)
{
    struct jv *v;
    *x = (struct about){ .tool = { .name = STR("refund"),
                                   .terms = { .claims = CLAIMS, .claim_count = 3 } } };
    arena_init(&x->arena, 0);
    REQUIRE(json_parse(&x->arena, str_c(claims), &v, NULL) == OK);
    x->job = (struct tool_job){ .tool = &x->tool,
                                .call_id = STR("call-1"),
                                .thread = STR("t_1"),
                                .run = STR("run_1"),
                                .principal = STR("ada"),
                                .claims = v };
}

/* "Principal=ada Thread=t_1 ..." */
static struct str told(struct about *x)
{
    struct identity_item items[IDENTITY_ITEMS_MAX];
    struct buf           b;
    buf_init(&b, 0);
    size_t n = identity_items(&x->job, items);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s=" STR_FMT, i ? " " : "", items[i].name, STR_ARG(items[i].value));
    struct str s = arena_dup(&x->arena, buf_view(&b));
    buf_done(&b);
    return s;
}

TEST(a_tool_is_told_whose_call_it_is_and_the_claims_it_asked_for)
{
    struct about x;
    about(&x,
          "{\"email\":\"ada@example.org\",\"tenant\":7,\"/org/id\":[\"a\",\"b\"],\"phone\":\"1\"}");
    CHECK_STR(told(&x), "Principal=ada Thread=t_1 Run=run_1 Call-Id=call-1 Tool=refund "
                        "Claim-Email=ada@example.org Claim-Tenant=7 Claim-Org-Id=[\"a\",\"b\"]");
    arena_done(&x.arena);
}

TEST(a_claim_with_control_characters_or_without_end_is_not_told)
{
    static const char *const bad[] = { "{\"email\":\"a\\r\\nParley-Principal: root\"}",
                                       "{\"email\":\"a\\u0000b\"}",
                                       "{\"email\":\"\\u007f\"}",
                                       "{\"email\":\"\\u0085\"}",
                                       "{\"email\":\"\"}",
                                       "{\"email\":null}" };
    struct about             x;
    char                     long_one[IDENTITY_VALUE_MAX + 20];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        about(&x, bad[i]);
        CHECK_STR(told(&x), "Principal=ada Thread=t_1 Run=run_1 Call-Id=call-1 Tool=refund");
        arena_done(&x.arena);
    }
    snprintf(long_one, sizeof long_one, "{\"email\":\"%0*d\"}", IDENTITY_VALUE_MAX + 1, 7);
    about(&x, long_one);
    CHECK(str_find(told(&x), STR("Claim")) < 0);
    arena_done(&x.arena);
}

TEST(a_variable_is_in_capitals_and_a_header_is_ascii)
{
    struct identity_item item = { "Claim-Org-Id", STR("Zoë 100%") };
    struct arena         a;
    struct buf           b;
    arena_init(&a, 0);
    buf_init(&b, 0);
    CHECK_STR(identity_variable(&a, &item), "PARLEY_CLAIM_ORG_ID=Zoë 100%");
    identity_header(&b, &item);
    CHECK_STR(buf_view(&b), "Parley-Claim-Org-Id: Zo%C3%AB%20100%25");
    buf_done(&b);
    arena_done(&a);
}

TEST(the_longest_name_of_a_claim_has_room)
{
    char label[sizeof "Claim-" + IDENTITY_NAME_MAX], name[IDENTITY_NAME_MAX];
    memset(name, 'n', sizeof name);
    CHECK(identity_label(str_n(name, sizeof name), label));
    CHECK(strlen(label) == sizeof label - 1);
    for (size_t i = 1; i < sizeof name; i += 2) name[i] = '/';
    CHECK(identity_label(str_n(name, sizeof name), label));
    CHECK(!identity_label(STR("/./"), label));
    CHECK(identity_label(STR("https://id.example/tenant"), label));
    CHECK_STR(str_c(label), "Claim-Https-Id-Example-Tenant");
}

/* --- the token -------------------------------------------------------------------------------- */

static struct str pem_of(struct arena *a, EVP_PKEY *key, bool secret)
{
    BIO  *out = BIO_new(BIO_s_mem());
    char *text;
    if (secret) PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
    else PEM_write_bio_PUBKEY(out, key);
    long       n = BIO_get_mem_data(out, &text);
    struct str s = arena_dup(a, str_n(text, (size_t)n));
    BIO_free(out);
    return s;
}

static struct identity_way *way(struct arena *a, struct str key)
{
    struct identity_way *k = NULL;
    const char          *why;
    REQUIRE(identity_new(a, &(struct identity_setup){ .key = key }, &k, &why) == OK);
    CHECK(identity_signs(k));
    return k;
}

/* Checked by the code that lets people in. */
static void fits(struct about *x, struct identity_way *k, struct str key, unsigned algorithms)
{
    struct jwt_keys   keys = { 0 };
    struct jwt_rules  rules = { algorithms, STR("parley"), STR("pay.example"), STR("none") };
    struct jwt_claims c;
    struct buf        token;
    const char       *why = "";
    buf_init(&token, 0);
    REQUIRE(identity_token(k, &x->job, STR("pay.example"), 1000000, &token) == OK);
    REQUIRE(jwt_keys_read(&keys, key, algorithms, &why) == OK);
    enum jwt_verdict v = jwt_check(&keys, &rules, buf_view(&token), 1000030, &x->arena, &c, &why);
    REQUIRE(v == JWT_GOOD);
    CHECK_STR(c.subject, "ada");
    CHECK(c.expires_s == 1000060);
    CHECK_STR(jv_str_at(c.all, "jti"), "call-1");
    CHECK_STR(jv_str_at(c.all, "tool"), "refund");
    CHECK_STR(jv_str_at(jv_get(c.all, "claims"), "email"), "ada@example.org");
    CHECK(jv_get(c.all, "claims")->count == 1);
    CHECK(jwt_check(&keys, &rules, buf_view(&token), 1000200, &x->arena, &c, &why) == JWT_BAD);
    buf_done(&token);
    jwt_keys_done(&keys);
    identity_done(k);
}

TEST(a_token_says_whose_call_it_is_for_a_minute_and_one_host)
{
    struct about x;
    EVP_PKEY    *key = EVP_EC_gen("P-256");
    about(&x, "{\"email\":\"ada@example.org\",\"phone\":\"1\"}");
    fits(&x, way(&x.arena, STR(JWT_SECRET)), STR(JWT_SECRET), ALG_HS256);
    fits(&x, way(&x.arena, pem_of(&x.arena, key, true)), pem_of(&x.arena, key, false), ALG_ES256);
    EVP_PKEY_free(key);
    arena_done(&x.arena);
}

TEST(an_ed25519_key_signs_what_its_public_half_takes)
{
    struct about         x;
    struct buf           token;
    struct str           rest, sig;
    EVP_PKEY            *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    EVP_MD_CTX          *ctx = EVP_MD_CTX_new();
    struct identity_way *k;
    about(&x, "{}");
    buf_init(&token, 0);
    k = way(&x.arena, pem_of(&x.arena, key, true));
    REQUIRE(identity_token(k, &x.job, STR("h"), 1, &token) == OK);
    rest = buf_view(&token);
    size_t dot = rest.len;
    while (rest.ptr[dot - 1] != '.') dot--;
    REQUIRE(jwt_base64url(&x.arena, str_from(rest, dot), &sig) == OK);
    REQUIRE(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1);
    CHECK(EVP_DigestVerify(ctx, (const unsigned char *)sig.ptr, sig.len,
                           (const unsigned char *)rest.ptr, dot - 1) == 1);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    identity_done(k);
    buf_done(&token);
    arena_done(&x.arena);
}

TEST(a_key_that_cannot_sign_is_refused_in_words)
{
    struct arena         a;
    struct identity_way *k = NULL;
    const char          *why = "";
    EVP_PKEY            *rsa = EVP_RSA_gen(2048), *other = EVP_EC_gen("P-384");
    arena_init(&a, 0);
    struct str keys[] = { STR("short"), pem_of(&a, rsa, true), pem_of(&a, other, true),
                          pem_of(&a, rsa, false), STR("-----BEGIN PRIVATE KEY-----") };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        why = "";
        CHECK(identity_new(&a, &(struct identity_setup){ .key = keys[i] }, &k, &why) != OK);
        CHECK(strlen(why) > 20 && !k);
    }
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(other);
    arena_done(&a);
}

/* --- what a yes relies on --------------------------------------------------------------------- */

TEST(a_yes_is_for_these_roles_these_claims_and_this_way_of_telling)
{
    static const struct str roles[] = { { "support", 7 }, { "billing", 7 } };
    struct registry         r;
    struct identity_way    *k;
    char                    was[TOOL_DIGEST], now[TOOL_DIGEST];
    registry_init(&r);
    struct tool *t = registry_tool(&r, STR("refund"));
    REQUIRE(registry_add(&r, t) == OK && tool_digest(t, was) == OK);
#define CHANGED()                                                    \
    do {                                                             \
        REQUIRE(tool_digest(t, now) == OK && strcmp(was, now) != 0); \
        memcpy(was, now, sizeof was);                                \
    } while (0)
    t->terms.roles = roles;
    t->terms.role_count = 1;
    CHANGED();
    t->terms.role_count = 2;
    CHANGED();
    t->terms.claims = roles; /* the same words mean another thing here */
    t->terms.claim_count = 1;
    CHANGED();
    k = way(&r.arena, STR(JWT_SECRET));
    t->terms.identity = k;
    CHANGED();
    identity_done(k);
    registry_done(&r);
}

/* --- prompts and questions -------------------------------------------------------------------- */

static const struct caller ADA = { { "ada", 3 },
                                   { "user support", 12 },
                                   { "{\"email\":\"ada@example.org\",\"tenant\":7}", 38 },
                                   1700000000000 };

TEST(a_prompt_knows_who_asks_and_on_which_day)
{
    struct arena a;
    arena_init(&a, 0);
    CHECK_STR(
        caller_prompt(&a, &ADA, STR("{principal} <{claim.email}> of {claim.tenant}, {date}.")),
        "ada <ada@example.org> of 7, 2023-11-14.");
    CHECK_STR(caller_prompt(&a, &ADA, STR("{claim.phone} {other} { {} {principal")),
              "unknown {other} { {} {principal");
    CHECK_STR(caller_prompt(&a, &ADA, STR("{\"say\": {date}}")), "{\"say\": 2023-11-14}");
    CHECK(!caller_prompt(&a, &ADA, STR_NONE).ptr);
    arena_done(&a);
}

TEST(a_template_in_a_claim_stays_the_text_it_is)
{
    struct caller odd = ADA;
    struct arena  a;
    arena_init(&a, 0);
    odd.claims = STR("{\"email\":\"{principal}\"}");
    CHECK_STR(caller_prompt(&a, &odd, STR("<{claim.email}>")), "<{principal}>");
    arena_done(&a);
}

TEST(somebody_has_the_roles_that_the_log_says)
{
    static const struct str support[] = { { "support", 7 } }, boss[] = { { "boss", 4 } };
    struct caller           nobody = ADA;
    nobody.roles = STR_NONE;
    CHECK(caller_has(&ADA, support, 1) && !caller_has(&ADA, boss, 1));
    CHECK(!caller_has(&nobody, support, 1) && caller_has(&nobody, NULL, 0));
}
