/* test_jwt.c -- tokens made here with OpenSSL, then bent in every way somebody might. */
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "auth/jwt.h"
#include "base/buf.h"
#include "base/json.h"
#include "jwt_make.h"
#include "test.h"

#define NOW 1800000000
#define CLAIMS            \
    "{\"iss\":\"https://" \
    "id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600,\"roles\":[\"user\",\"admin\"]}"
#define HS "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define RS "{\"alg\":\"RS256\",\"kid\":\"r1\"}"
#define ES "{\"alg\":\"ES256\",\"kid\":\"e1\"}"

static struct arena mem;
static EVP_PKEY    *rsa, *ec;

static void up(void)
{
    arena_done(&mem);
    arena_init(&mem, 0);
    if (!rsa) rsa = EVP_RSA_gen(2048);
    if (!ec) ec = EVP_EC_gen("P-256");
    REQUIRE(rsa && ec);
}

__attribute__((destructor)) static void down(void)
{
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
    arena_done(&mem);
}

/* --- making tokens ------------------------------------------------------------------------- */

static struct str sign_with(EVP_PKEY *key, struct str input)
{
    EVP_MD_CTX    *ctx = EVP_MD_CTX_new();
    unsigned char *sig = arena_alloc(&mem, 1024);
    size_t         len = 1024;
    REQUIRE(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1);
    REQUIRE(EVP_DigestSign(ctx, sig, &len, (const unsigned char *)input.ptr, input.len) == 1);
    EVP_MD_CTX_free(ctx);
    return str_n((char *)sig, len);
}

static struct str es_sign(struct str input)
{
    struct str           der = sign_with(ec, input);
    const unsigned char *p = (const unsigned char *)der.ptr;
    ECDSA_SIG           *s = d2i_ECDSA_SIG(NULL, &p, (long)der.len);
    unsigned char       *raw = arena_alloc(&mem, 64);
    BN_bn2binpad(ECDSA_SIG_get0_r(s), raw, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(s), raw + 32, 32);
    ECDSA_SIG_free(s);
    return str_n((char *)raw, 64);
}

static struct str input_of(const char *header, const char *claims)
{
    return jwt_join(&mem, jwt_encode(&mem, str_c(header)), jwt_encode(&mem, str_c(claims)));
}

static struct str joined(struct str input, struct str sig)
{
    return jwt_join(&mem, input, jwt_encode(&mem, sig));
}

static struct str hs(const char *header, const char *claims)
{
    struct str i = input_of(header, claims);
    return joined(i, jwt_hmac(&mem, i, JWT_SECRET));
}
static struct str rs(const char *header, const char *claims)
{
    struct str i = input_of(header, claims);
    return joined(i, sign_with(rsa, i));
}
static struct str es(const char *header, const char *claims)
{
    struct str i = input_of(header, claims);
    return joined(i, es_sign(i));
}

/* --- keys ------------------------------------------------------------------------------------- */

static struct str pem_of(EVP_PKEY *key, bool private)
{
    BIO  *out = BIO_new(BIO_s_mem());
    char *p;
    if (private) PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
    else PEM_write_bio_PUBKEY(out, key);
    long       n = BIO_get_mem_data(out, &p);
    struct str s = arena_dup(&mem, str_n(p, (size_t)n));
    BIO_free(out);
    return s;
}

static struct str number_of(EVP_PKEY *key, const char *name, int width)
{
    BIGNUM        *bn = NULL;
    unsigned char *out = arena_alloc(&mem, 1024);
    REQUIRE(EVP_PKEY_get_bn_param(key, name, &bn) == 1);
    int n = width ? BN_bn2binpad(bn, out, width) : BN_bn2bin(bn, out);
    BN_free(bn);
    return jwt_encode(&mem, str_n((char *)out, (size_t)n));
}

static struct str jwks(void)
{
    struct str n = number_of(rsa, "n", 0), e = number_of(rsa, "e", 0), x = number_of(ec, "qx", 32),
               y = number_of(ec, "qy", 32);
    return arena_printf(
        &mem,
        "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r1\",\"use\":\"sig\",\"n\":\"" STR_FMT
        "\",\"e\":\"" STR_FMT "\"},"
        "{\"kty\":\"OKP\",\"kid\":\"o1\",\"crv\":\"Ed25519\",\"x\":\"AA\"},"
        "{\"kty\":\"EC\",\"kid\":\"e1\",\"crv\":\"P-256\",\"alg\":\"ES256\",\"x\":\"" STR_FMT
        "\",\"y\":\"" STR_FMT "\"}]}",
        STR_ARG(n), STR_ARG(e), STR_ARG(x), STR_ARG(y));
}

static struct jwt_keys keys_of(struct str text, unsigned algs)
{
    struct jwt_keys k = { 0 };
    const char     *why = "";
    REQUIRE(jwt_keys_read(&k, text, algs, &why) == OK);
    return k;
}

static bool keys_refused(struct str text, unsigned algs, const char *because)
{
    struct jwt_keys k = { 0 };
    const char     *why = "";
    enum err        e = jwt_keys_read(&k, text, algs, &why);
    if (e == OK) jwt_keys_done(&k);
    if (!strstr(why, because)) printf("    said: %s\n", why);
    return e != OK && k.count == 0 && strstr(why, because);
}

/* --- asking ----------------------------------------------------------------------------------- */

static const char       *why;
static struct jwt_claims got;

static enum jwt_verdict ask(const struct jwt_keys *k, unsigned algs, struct str token, int64_t now)
{
    struct jwt_rules r = { algs, STR("https://id"), STR("parley"), STR("roles") };
    got = (struct jwt_claims){ 0 };
    return jwt_check(k, &r, token, now, &mem, &got, &why);
}

static enum jwt_verdict ask_hs(struct str token)
{
    struct jwt_keys  k = keys_of(STR(JWT_SECRET "\n"), ALG_HS256);
    enum jwt_verdict v = ask(&k, ALG_HS256, token, NOW);
    jwt_keys_done(&k);
    return v;
}

static enum jwt_verdict ask_jwks(struct str token)
{
    struct jwt_keys  k = keys_of(jwks(), ALG_RS256 | ALG_ES256);
    enum jwt_verdict v = ask(&k, ALG_RS256 | ALG_ES256, token, NOW);
    jwt_keys_done(&k);
    return v;
}

TEST(jwt_tokens_of_all_three_algorithms_are_taken)
{
    up();
    CHECK(ask_hs(hs(HS, CLAIMS)) == JWT_GOOD);
    CHECK_STR(got.subject, "ada");
    CHECK(got.expires_s == 1800000600 && got.roles && got.roles->count == 2);
    CHECK(ask_jwks(rs(RS, CLAIMS)) == JWT_GOOD);
    CHECK(ask_jwks(es(ES, CLAIMS)) == JWT_GOOD);
    CHECK(ask_jwks(rs("{\"alg\":\"RS256\"}", CLAIMS)) == JWT_GOOD);
}

TEST(jwt_keys_come_from_pem_and_from_a_single_jwk)
{
    up();
    struct jwt_keys k = keys_of(pem_of(rsa, false), ALG_RS256);
    CHECK(ask(&k, ALG_RS256, rs(RS, CLAIMS), NOW) == JWT_GOOD);
    jwt_keys_done(&k);
    struct str both = arena_printf(&mem, STR_FMT STR_FMT, STR_ARG(pem_of(rsa, false)),
                                   STR_ARG(pem_of(ec, false)));
    k = keys_of(both, ALG_RS256 | ALG_ES256);
    CHECK(k.count == 2 && ask(&k, ALG_RS256 | ALG_ES256, es(ES, CLAIMS), NOW) == JWT_GOOD);
    jwt_keys_done(&k);
    struct str secret = jwt_encode(&mem, STR(JWT_SECRET));
    k = keys_of(arena_printf(&mem, "{\"kty\":\"oct\",\"k\":\"" STR_FMT "\"}", STR_ARG(secret)),
                ALG_HS256);
    CHECK(ask(&k, ALG_HS256, hs(HS, CLAIMS), NOW) == JWT_GOOD);
    jwt_keys_done(&k);
}

TEST(jwt_weak_private_and_useless_keys_are_refused)
{
    up();
    CHECK(keys_refused(STR("short"), ALG_HS256, "at least 32 bytes"));
    CHECK(keys_refused(STR("no key at all, but long enough to be a secret"), ALG_RS256,
                       "no key in it"));
    CHECK(keys_refused(pem_of(rsa, true), ALG_RS256, "private key"));
    CHECK(keys_refused(pem_of(rsa, false), ALG_ES256, "no key in it"));
    /* never a public key as a secret */
    CHECK(keys_refused(pem_of(rsa, false), ALG_HS256, "no key in it"));
    CHECK(keys_refused(STR("{\"keys\":["), ALG_RS256, "JSON"));
    CHECK(keys_refused(STR("{\"keys\":[]}"), ALG_RS256, "no key in it"));
    CHECK(keys_refused(STR("{\"kty\":\"oct\",\"k\":\"AAAA\"}"), ALG_HS256, "at least 32 bytes"));
    CHECK(keys_refused(STR("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}"),
                       ALG_ES256, "no key in it"));
    CHECK(keys_refused(STR("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}"), ALG_RS256, ""));
    CHECK(keys_refused(STR("{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"d\":\"AQAB\"}"),
                       ALG_RS256, "private"));
    EVP_PKEY *small = EVP_RSA_gen(1024);
    CHECK(keys_refused(pem_of(small, false), ALG_RS256, "2048"));
    EVP_PKEY_free(small);
    EVP_PKEY *other = EVP_EC_gen("P-384");
    CHECK(keys_refused(pem_of(other, false), ALG_ES256, "P-256"));
    EVP_PKEY_free(other);
}

TEST(jwt_none_and_unlisted_algorithms_are_refused)
{
    up();
    struct str bare = input_of("{\"alg\":\"none\"}", CLAIMS);
    CHECK(ask_hs(arena_printf(&mem, STR_FMT ".", STR_ARG(bare))) == JWT_BAD);
    CHECK(ask_hs(joined(bare, jwt_hmac(&mem, bare, JWT_SECRET))) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":\"hs256\"}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":\"HS512\"}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":null}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":\"HS256\",\"kid\":1}", CLAIMS)) == JWT_BAD);
    CHECK(ask_hs(hs("{\"alg\":\"none\",\"alg\":\"HS256\"}", CLAIMS)) == JWT_BAD);
}

/* The public key, which everybody has, taken as an HMAC secret. */
TEST(jwt_a_public_key_is_never_a_secret)
{
    up();
    struct jwt_keys k = keys_of(pem_of(rsa, false), ALG_RS256);
    struct str      i = input_of(HS, CLAIMS),
               forged = joined(i, jwt_hmac(&mem, i, pem_of(rsa, false).ptr));
    CHECK(ask(&k, ALG_RS256, forged, NOW) == JWT_BAD);
    /* even if both were allowed */
    CHECK(ask(&k, ALG_RS256 | ALG_HS256, forged, NOW) != JWT_GOOD);
    jwt_keys_done(&k);
    /* And ES256 said of a token that RSA signed. */
    struct str j = input_of("{\"alg\":\"ES256\",\"kid\":\"r1\"}", CLAIMS);
    CHECK(ask_jwks(joined(j, sign_with(rsa, j))) != JWT_GOOD);
}

TEST(jwt_a_changed_token_does_not_fit_its_signature)
{
    up();
    struct str
        t = hs(HS, CLAIMS),
        other = input_of(
            HS, "{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"eve\",\"exp\":1800000600}");
    struct str i = input_of(HS, CLAIMS);
    CHECK(ask_hs(joined(other, jwt_hmac(&mem, i, JWT_SECRET))) == JWT_BAD);
    CHECK(ask_hs(joined(i, jwt_hmac(&mem, i, JWT_SECRET "x"))) == JWT_BAD);
    CHECK(ask_hs(joined(i, STR(""))) == JWT_BAD);
    CHECK(ask_hs(joined(i, str_cut(jwt_hmac(&mem, i, JWT_SECRET), 31))) == JWT_BAD);
    /* every truncation */
    for (size_t n = 0; n < t.len; n++) CHECK(ask_hs(str_cut(t, n)) == JWT_BAD);
    struct str e = es(ES, CLAIMS), ei = input_of(ES, CLAIMS);
    CHECK(ask_jwks(e) == JWT_GOOD);
    CHECK(ask_jwks(
              joined(ei, str_n("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                               64))) == JWT_BAD);
    CHECK(ask_jwks(joined(ei, sign_with(ec, ei))) == JWT_BAD); /* DER, not the form of JWS */
}

TEST(jwt_every_bit_of_a_token_counts)
{
    up();
    struct str t = hs(HS, CLAIMS);
    char      *copy = (char *)(uintptr_t)arena_dup(&mem, t).ptr;
    for (size_t i = 0; i < t.len; i++) {
        char was = copy[i];
        copy[i] = was == 'A' ? 'B' : 'A';
        CHECK(ask_hs(str_n(copy, t.len)) != JWT_GOOD);
        copy[i] = was;
    }
    CHECK(ask_hs(str_n(copy, t.len)) == JWT_GOOD);
}

TEST(jwt_base64url_has_one_spelling)
{
    up();
    struct str out;
    CHECK(jwt_base64url(&mem, STR("aGk"), &out) == OK && str_is(out, "hi"));
    CHECK(jwt_base64url(&mem, STR(""), &out) == OK && out.len == 0);
    CHECK(jwt_base64url(&mem, STR("-_8"), &out) == OK && out.len == 2 &&
          (unsigned char)out.ptr[0] == 0xfb);
    CHECK(jwt_base64url(&mem, STR("aGl"), &out) == ERR_SYNTAX); /* stray bits */
    CHECK(jwt_base64url(&mem, STR("aGk="), &out) == ERR_SYNTAX);
    CHECK(jwt_base64url(&mem, STR("aGk\n"), &out) == ERR_SYNTAX);
    CHECK(jwt_base64url(&mem, STR("+/8"), &out) == ERR_SYNTAX);
    CHECK(jwt_base64url(&mem, STR("a"), &out) == ERR_SYNTAX);
    struct str t = hs(HS, CLAIMS);
    CHECK(ask_hs(arena_printf(&mem, STR_FMT "=", STR_ARG(t))) == JWT_BAD);
    CHECK(ask_hs(arena_printf(&mem, " " STR_FMT, STR_ARG(t))) == JWT_BAD);
    CHECK(ask_hs(arena_printf(&mem, STR_FMT ".x", STR_ARG(t))) == JWT_BAD);
    CHECK(ask_hs(STR("..")) == JWT_BAD && ask_hs(STR("")) == JWT_BAD);
}

static enum jwt_verdict ask_claims(const char *claims)
{
    return ask_hs(hs(HS, claims));
}

TEST(jwt_the_claims_must_be_ours_and_in_time)
{
    up();
    CHECK(
        ask_claims(
            "{\"iss\":\"https://other\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600}") ==
            JWT_BAD &&
        strstr(why, "issuer"));
    CHECK(ask_claims("{\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600}") == JWT_BAD);
    CHECK(ask_claims(
              "{\"iss\":\"https://id\",\"aud\":\"other\",\"sub\":\"ada\",\"exp\":1800000600}") ==
              JWT_BAD &&
          strstr(why, "audience"));
    CHECK(ask_claims("{\"iss\":\"https://id\",\"sub\":\"ada\",\"exp\":1800000600}") == JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://"
                     "id\",\"aud\":[\"x\",\"parley\"],\"sub\":\"ada\",\"exp\":1800000600}") ==
          JWT_GOOD);
    CHECK(ask_claims(
              "{\"iss\":\"https://id\",\"aud\":[\"x\",1],\"sub\":\"ada\",\"exp\":1800000600}") ==
          JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"ada\"}") == JWT_BAD &&
          strstr(why, "never expires"));
    /* within the leeway */
    CHECK(ask_claims(
              "{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1799999971}") ==
          JWT_GOOD);
    CHECK(ask_claims(
              "{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1799999970}") ==
              JWT_BAD &&
          strstr(why, "expired"));
    CHECK(
        ask_claims(
            "{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":\"1800000600\"}") ==
        JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1e400}") ==
          JWT_BAD);
    CHECK(ask_claims(
              "{\"iss\":\"https://"
              "id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600.5,\"nbf\":1800000030}") ==
          JWT_GOOD);
    CHECK(ask_claims(
              "{\"iss\":\"https://"
              "id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600,\"nbf\":1800000031}") ==
          JWT_BAD);
    CHECK(ask_claims(
              "{\"iss\":\"https://"
              "id\",\"aud\":\"parley\",\"sub\":\"ada\",\"exp\":1800000600,\"iat\":1800000031}") ==
          JWT_BAD);
}

TEST(jwt_the_subject_must_be_a_name)
{
    up();
    CHECK(ask_claims("{\"iss\":\"https://id\",\"aud\":\"parley\",\"exp\":1800000600}") == JWT_BAD);
    CHECK(
        ask_claims("{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"\",\"exp\":1800000600}") ==
        JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":7,\"exp\":1800000600}") ==
          JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://"
                     "id\",\"aud\":\"parley\",\"sub\":\"a\\u0000b\",\"exp\":1800000600}") ==
          JWT_BAD);
    CHECK(ask_claims("{\"iss\":\"https://"
                     "id\",\"aud\":\"parley\",\"sub\":\"a\\ud800\",\"exp\":1800000600}") ==
          JWT_BAD);
    CHECK(ask_claims(
              "{\"iss\":\"https://id\",\"aud\":\"parley\",\"sub\":\"a\\nb\",\"exp\":1800000600}") ==
          JWT_BAD);
    CHECK(ask_claims("[]") == JWT_BAD && ask_claims("{\"sub\":\"a\",\"sub\":\"b\"}") == JWT_BAD &&
          ask_claims("nonsense") == JWT_BAD);
    char long_name[400];
    snprintf(long_name, sizeof long_name,
             "{\"iss\":\"https://id\",\"aud\":\"parley\",\"exp\":1800000600,\"sub\":\"%0129d\"}",
             1);
    CHECK(ask_claims(long_name) == JWT_BAD);
}

TEST(jwt_a_token_of_an_unknown_key_says_so)
{
    up();
    CHECK(ask_jwks(rs("{\"alg\":\"RS256\",\"kid\":\"new\"}", CLAIMS)) == JWT_NO_KEY);
    /* of that name, but of another kind */
    CHECK(ask_jwks(rs("{\"alg\":\"RS256\",\"kid\":\"e1\"}", CLAIMS)) == JWT_NO_KEY);
    struct jwt_keys none = { 0 };
    CHECK(ask(&none, ALG_RS256, rs(RS, CLAIMS), NOW) == JWT_NO_KEY);
}

TEST(jwt_checking_survives_every_failed_allocation)
{
    up();
    struct str token = hs(HS, CLAIMS), keys = jwks();
    for (long n = 0; n < 40; n++) {
        struct jwt_keys   k = { 0 };
        const char       *w;
        struct arena      a;
        struct jwt_claims c;
        struct jwt_rules  r = { ALG_HS256, STR("https://id"), STR("parley"), STR("roles") };
        mem_fail_at(n);
        if (jwt_keys_read(&k, keys, ALG_RS256 | ALG_ES256, &w) == OK) jwt_keys_done(&k);
        if (jwt_keys_read(&k, STR(JWT_SECRET), ALG_HS256, &w) == OK) {
            arena_init(&a, 0);
            (void)!jwt_check(&k, &r, token, NOW, &a, &c, &w);
            arena_done(&a);
            jwt_keys_done(&k);
        }
        mem_fail_at(-1);
    }
}
