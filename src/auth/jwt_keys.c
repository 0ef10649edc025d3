/* jwt_keys.c -- reading keys: PEM, JWK and JWKS (RFC 7517), or a bare secret.
 *
 * Too weak is refused here, so that nothing later has to ask: RSA below 2048 bits,
 * curves other than P-256, secrets shorter than the hash (RFC 7518 3.2).
 */
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "auth/jwt_int.h"
#include "base/json.h"

#define KEYS_MAX     100 /* more in one set is not a key set */
#define RSA_BITS     2048
#define RSA_BITS_MAX 8192 /* checking one more takes too long on the loop */
#define SECRET_MIN   32

static void key_done(struct jwt_key *k)
{
    mem_free((char *)(uintptr_t)k->kid.ptr);
    EVP_PKEY_free(k->pkey);
    secret_done(&k->secret);
}

void jwt_keys_done(struct jwt_keys *k)
{
    for (size_t i = 0; i < k->count; i++) key_done(&k->list[i]);
    mem_free(k->list);
    *k = (struct jwt_keys){ 0 };
}

/* Takes what `key` owns, also when it fails. */
static enum err add(struct jwt_keys *k, struct jwt_key *key, struct str kid, const char **why)
{
    struct jwt_key *grown =
        k->count < KEYS_MAX ? mem_realloc(k->list, (k->count + 1) * sizeof *grown) : NULL;
    char *name = kid.ptr && grown ? mem_alloc(kid.len + 1) : NULL;

    if (grown) k->list = grown;
    if (!grown || (kid.ptr && !name)) {
        *why = k->count < KEYS_MAX ? "there is no memory for the keys"
                                   : "there are more than 100 keys in it";
        key_done(key);
        return k->count < KEYS_MAX ? ERR_NOMEM : ERR_FULL;
    }
    if (name) memcpy(name, kid.ptr, kid.len);
    key->kid = str_n(name, kid.len);
    k->list[k->count++] = *key;
    return OK;
}

/* What a public key can check, or 0 for a kind that is not ours; *why says what is wrong with one
 * that should be. */
static unsigned alg_of(EVP_PKEY *p, const char **why)
{
    char name[40] = "";

    if (EVP_PKEY_is_a(p, "RSA")) {
        int bits = EVP_PKEY_get_bits(p);
        if (bits >= RSA_BITS && bits <= RSA_BITS_MAX) return ALG_RS256;
        *why = "an RSA key must have 2048 to 8192 bits";
    } else if (EVP_PKEY_is_a(p, "EC")) {
        EVP_PKEY_get_utf8_string_param(p, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, NULL);
        if (strcmp(name, "prime256v1") == 0) return ALG_ES256;
        *why = "an EC key must be on the curve P-256";
    }
    return 0;
}

/* A public key of whatever source; takes it. Kinds that are not wanted are passed over. */
static enum err add_public(struct jwt_keys *k, EVP_PKEY *p, struct str kid, unsigned algorithms,
                           const char **why)
{
    const char *weak = NULL;
    unsigned    alg = alg_of(p, &weak);

    if (alg & algorithms)
        return add(k, &(struct jwt_key){ .alg = (enum jwt_alg)alg, .pkey = p }, kid, why);
    EVP_PKEY_free(p);
    if (weak) *why = weak;
    return OK;
}

static enum err add_secret(struct jwt_keys *k, struct str bytes, struct str kid, const char **why)
{
    struct jwt_key key = { .alg = ALG_HS256 };

    if (bytes.len < SECRET_MIN) {
        *why = "a secret for HS256 must have at least 32 bytes";
        return ERR_RANGE;
    }
    if (secret_set(&key.secret, bytes) != OK) {
        *why = "there is no memory for the keys";
        return ERR_NOMEM;
    }
    return add(k, &key, kid, why);
}

/* --- JWK ----------------------------------------------------------------------------------- */

static EVP_PKEY *build(const char *type, OSSL_PARAM_BLD *b)
{
    OSSL_PARAM   *params = OSSL_PARAM_BLD_to_param(b);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY     *p = NULL;

    if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &p, EVP_PKEY_PUBLIC_KEY, params) != 1)
        p = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return p;
}

static EVP_PKEY *rsa_from(struct str n, struct str e)
{
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    BIGNUM         *bn = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM         *be = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    EVP_PKEY       *p = NULL;

    if (b && bn && be && OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, bn) &&
        OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, be))
        p = build("RSA", b);
    BN_free(bn);
    BN_free(be);
    OSSL_PARAM_BLD_free(b);
    return p;
}

static EVP_PKEY *p256_from(struct str x, struct str y)
{
    unsigned char   point[65] = { 4 }; /* uncompressed */
    OSSL_PARAM_BLD *b = x.len == 32 && y.len == 32 ? OSSL_PARAM_BLD_new() : NULL;
    EVP_PKEY       *p = NULL;

    if (!b) return NULL;
    memcpy(point + 1, x.ptr, 32);
    memcpy(point + 33, y.ptr, 32);
    if (OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
        OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
        p = build("EC", b);
    OSSL_PARAM_BLD_free(b);
    return p;
}

static struct str bytes_at(struct arena *a, const struct jv *jwk, const char *member)
{
    struct str text = jv_str_at(jwk, member), out = STR_NONE;

    if (!text.len || text.len > RSA_BITS_MAX / 4 || jwt_base64url(a, text, &out) != OK)
        return STR_NONE;
    return out;
}

static bool is_for_signatures(const struct jv *jwk)
{
    const struct jv *use = jv_get(jwk, "use");
    return !use || str_is(jv_str(use), "sig");
}

/* A name, when it says one, must be the kind's own: a key for RS512 is not for RS256. */
static bool says(const struct jv *jwk, const char *alg)
{
    const struct jv *v = jv_get(jwk, "alg");
    return !v || str_is(jv_str(v), alg);
}

static EVP_PKEY *public_from(struct arena *a, const struct jv *jwk, unsigned algorithms)
{
    struct str kty = jv_str_at(jwk, "kty");

    if (str_is(kty, "RSA") && (algorithms & ALG_RS256) && says(jwk, "RS256"))
        return rsa_from(bytes_at(a, jwk, "n"), bytes_at(a, jwk, "e"));
    if (str_is(kty, "EC") && (algorithms & ALG_ES256) && says(jwk, "ES256") &&
        str_is(jv_str_at(jwk, "crv"), "P-256"))
        return p256_from(bytes_at(a, jwk, "x"), bytes_at(a, jwk, "y"));
    return NULL;
}

static enum err add_jwk(struct jwt_keys *k, struct arena *a, const struct jv *jwk,
                        unsigned algorithms, const char **why)
{
    struct str kid = jv_str_at(jwk, "kid"), kty = jv_str_at(jwk, "kty");

    if (!jv_is(jwk, JSON_OBJECT) || !is_for_signatures(jwk)) return OK;
    if (jv_get(jwk, "d")) {
        *why = "there is a private key in it; only its public part belongs here";
        return ERR_DENIED;
    }
    if (str_is(kty, "oct")) {
        if (!(algorithms & ALG_HS256) || !says(jwk, "HS256")) return OK;
        struct str secret = bytes_at(a, jwk, "k");
        enum err   e = add_secret(k, secret, kid, why);
        secret_wipe((char *)(uintptr_t)secret.ptr, secret.len);
        return e;
    }
    EVP_PKEY *p = public_from(a, jwk, algorithms);
    ERR_clear_error();
    return p ? add_public(k, p, kid, algorithms, why) : OK;
}

static enum err read_json(struct jwt_keys *k, struct str text, unsigned algorithms,
                          const char **why)
{
    struct arena a;
    struct jv   *root;
    enum err     e;

    arena_init(&a, 0);
    if ((e = json_parse(&a, text, &root, NULL)) != OK) *why = "it is no valid JSON";
    else if (!jv_is(jv_get(root, "keys"), JSON_ARRAY)) e = add_jwk(k, &a, root, algorithms, why);
    else
        JV_EACH (v, jv_get(root, "keys"))
            if ((e = add_jwk(k, &a, v, algorithms, why)) != OK) break;
    if (!e && a.failed) e = ERR_NOMEM;
    arena_done(&a);
    return e;
}

/* --- PEM ------------------------------------------------------------------------------------ */

static EVP_PKEY *from_block(const char *name, const unsigned char *data, long len)
{
    const unsigned char *p = data;
    EVP_PKEY            *key = NULL;

    if (strcmp(name, PEM_STRING_PUBLIC) == 0) return d2i_PUBKEY(NULL, &p, len);
    if (strcmp(name, PEM_STRING_X509) != 0) return NULL;
    X509 *cert = d2i_X509(NULL, &p, len);
    if (cert) key = X509_get_pubkey(cert);
    X509_free(cert);
    return key;
}

static enum err add_block(struct jwt_keys *k, const char *name, const unsigned char *data, long len,
                          unsigned algorithms, const char **why)
{
    if (strstr(name, "PRIVATE")) {
        *why = "it is a private key; only the public key belongs here (openssl pkey -pubout)";
        return ERR_DENIED;
    }
    EVP_PKEY *p = from_block(name, data, len);
    return p ? add_public(k, p, STR_NONE, algorithms, why) : OK;
}

static enum err read_pem(struct jwt_keys *k, struct str text, unsigned algorithms, const char **why)
{
    BIO           *in = text.len < INT32_MAX ? BIO_new_mem_buf(text.ptr, (int)text.len) : NULL;
    char          *name, *header;
    unsigned char *data;
    long           len;
    enum err       e = in ? OK : ERR_NOMEM;

    while (!e && PEM_read_bio(in, &name, &header, &data, &len) == 1) {
        e = add_block(k, name, data, len, algorithms, why);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_clear_free(data, (size_t)len);
    }
    BIO_free(in);
    ERR_clear_error();
    return e;
}

/* --- any of them ------------------------------------------------------------------------------ */

static enum err read_any(struct jwt_keys *k, struct str text, unsigned algorithms, const char **why)
{
    struct str t = str_trim(text);

    if (t.len && (t.ptr[0] == '{' || t.ptr[0] == '[')) return read_json(k, t, algorithms, why);
    if (str_find(t, STR("-----BEGIN")) >= 0) return read_pem(k, t, algorithms, why);
    if (algorithms & ALG_HS256) return add_secret(k, t, STR_NONE, why);
    return OK;
}

enum err jwt_keys_read(struct jwt_keys *k, struct str text, unsigned algorithms, const char **why)
{
    struct jwt_keys found = { 0 };

    *why = "there is no key in it that fits the configured algorithms";
    enum err e = read_any(&found, text, algorithms, why);
    if (!e && found.count == 0) e = ERR_NOT_FOUND;
    if (e) jwt_keys_done(&found);
    else *k = found;
    return e;
}
