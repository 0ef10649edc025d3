/* sign.c -- see sign.h. */
#include "audit/sign.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "auth/jwt.h"
#include "base/json.h"
#include "base/sha256.h"

#define RAW_LEN       32
#define SIGNATURE_LEN 64

/* --- keys ------------------------------------------------------------------------ */

static bool name_key(struct sign_key *k)
{
    uint8_t raw[RAW_LEN], hash[SHA256_LEN];
    size_t  len = sizeof raw;

    if (EVP_PKEY_get_raw_public_key(k->key, raw, &len) != 1 || len != RAW_LEN) return false;
    sha256_of(str_n((char *)raw, len), hash);
    sha256_hex(hash, SIGN_KID / 2, k->kid);
    return true;
}

/* What stands in one block of the text; NULL: nothing that can be used as a key. A key under a
 * password is none, because nobody is there to type it. */
static EVP_PKEY *key_of(const char *name, const uint8_t *data, long len, bool *private)
{
    *private = strcmp(name, PEM_STRING_PKCS8INF) == 0;
    if (*private) return d2i_AutoPrivateKey(NULL, &data, len);
    return strcmp(name, PEM_STRING_PUBLIC) == 0 ? d2i_PUBKEY(NULL, &data, len) : NULL;
}

/* The next block of the text. False: there is none, or none that is whole. */
static bool next_key(BIO *in, EVP_PKEY **key, bool *private)
{
    char    *name = NULL, *header = NULL;
    uint8_t *data = NULL;
    long     len = 0;

    if (PEM_read_bio(in, &name, &header, &data, &len) != 1) return false;
    *key = key_of(name, data, len, private);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, (size_t)len);
    return true;
}

static enum err add_key(struct sign_keys *k, EVP_PKEY *p, bool private, const char **why)
{
    *why = !p                          ? "one of its keys cannot be read"
           : k->count == SIGN_KEYS_MAX ? "it holds more than 16 keys"
                                       : "its key is not of the kind Ed25519";
    if (!p || k->count == SIGN_KEYS_MAX || !EVP_PKEY_is_a(p, "ED25519")) {
        EVP_PKEY_free(p);
        return ERR_TYPE;
    }
    k->list[k->count] = (struct sign_key){ .key = p, .private = private };
    return name_key(&k->list[k->count++]) ? OK : ERR_NOMEM;
}

/* Was all of it read? A key that is passed over would be a signature nobody looks at. */
static bool is_end(void)
{
    unsigned long e = ERR_peek_last_error();
    return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

enum err sign_keys_read(struct sign_keys *k, struct str pem, const char **why)
{
    BIO      *in = BIO_new_mem_buf(pem.ptr ? pem.ptr : "", (int)pem.len);
    size_t    before = k->count;
    enum err  e = in ? OK : ERR_NOMEM;
    EVP_PKEY *p;
    bool private;

    *why = "out of memory";
    ERR_clear_error();
    while (!e && next_key(in, &p, &private)) e = add_key(k, p, private, why);
    if (!e && !is_end()) {
        *why = "one of its keys cannot be read";
        e = ERR_SYNTAX;
    } else if (!e && k->count == before) {
        *why = "it holds no key in PEM form; make one with `openssl genpkey -algorithm ed25519`";
        e = ERR_SYNTAX;
    }
    while (e && k->count > before) EVP_PKEY_free(k->list[--k->count].key);
    BIO_free(in);
    ERR_clear_error();
    return e;
}

void sign_keys_done(struct sign_keys *k)
{
    for (size_t i = 0; i < k->count; i++) EVP_PKEY_free(k->list[i].key);
    *k = (struct sign_keys){ 0 };
}

/* --- lines ------------------------------------------------------------------------ */

static void base64url(struct buf *out, struct str s)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t *p = (const uint8_t *)s.ptr;

    for (size_t i = 0; i < s.len; i += 3) {
        unsigned n = (unsigned)(s.len - i < 3 ? s.len - i : 3);
        uint32_t v =
            (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);
        for (unsigned k = 0; k <= n; k++) buf_chr(out, letters[v >> (18 - 6 * k) & 63]);
    }
}

enum err sign_line(const struct sign_keys *k, struct str payload, struct buf *out)
{
    uint8_t     sig[SIGNATURE_LEN];
    size_t      len = sizeof sig, from = out->len;
    char        head[64];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    must(k->count && k->list[0].private);
    snprintf(head, sizeof head, "{\"alg\":\"EdDSA\",\"kid\":\"%s\"}", k->list[0].kid);
    base64url(out, str_c(head));
    buf_chr(out, '.');
    base64url(out, payload);
    bool good = ctx && !out->err &&
                EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->list[0].key) == 1 &&
                EVP_DigestSign(ctx, sig, &len, (uint8_t *)out->ptr + from, out->len - from) == 1;
    EVP_MD_CTX_free(ctx);
    if (!good) return ERR_NOMEM;
    buf_chr(out, '.');
    base64url(out, str_n((char *)sig, len));
    return out->err;
}

static const struct sign_key *find_key(const struct sign_keys *k, struct str kid)
{
    for (size_t i = 0; i < k->count; i++)
        if (str_is(kid, k->list[i].kid)) return &k->list[i];
    return NULL;
}

static bool is_signed(const struct sign_key *k, struct str text, struct str sig)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool        good = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, k->key) == 1 &&
                EVP_DigestVerify(ctx, (const uint8_t *)sig.ptr, sig.len, (const uint8_t *)text.ptr,
                                 text.len) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

enum err sign_check(const struct sign_keys *k, struct str line, struct arena *a,
                    struct str *payload)
{
    struct str             rest = line, head, body, sig;
    struct jv             *v;
    const struct sign_key *key;

    if (!str_split(&rest, '.', &head) || !str_split(&rest, '.', &body) || !rest.ptr ||
        jwt_base64url(a, head, &head) || jwt_base64url(a, body, payload) ||
        jwt_base64url(a, rest, &sig) || json_parse(a, head, &v, NULL))
        return a->failed ? ERR_NOMEM : ERR_SYNTAX;
    if (!str_is(jv_str_at(v, "alg"), "EdDSA")) return ERR_SYNTAX;
    key = find_key(k, jv_str_at(v, "kid"));
    if (!key) return ERR_NOT_FOUND;
    return is_signed(key, str_n(line.ptr, (size_t)(rest.ptr - 1 - line.ptr)), sig) ? OK
                                                                                   : ERR_DENIED;
}
