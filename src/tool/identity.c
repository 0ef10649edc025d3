/* identity.c -- see identity.h. */
#include "tool/identity.h"

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/utf8.h"

#define SECONDS     60
#define ES256_BYTES 64 /* r and s side by side, RFC 7518 3.4 */

enum signing { SIGN_NOTHING, SIGN_HS256, SIGN_ES256, SIGN_EDDSA };
static const char *const ALGORITHMS[] = { "", "HS256", "ES256", "EdDSA" };

struct identity_way {
    enum signing signing;
    EVP_PKEY    *key;    /* ES256, EdDSA */
    struct str   secret; /* HS256; the configuration's memory, which wipes it */
    struct str   issuer, audience, header;
    unsigned     seconds;
};

/* --- what is told ----------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool identity_label(struct str claim, char out[sizeof "Claim-" + IDENTITY_NAME_MAX])
{
    size_t n = (size_t)sprintf(out, "Claim");
    bool   begins = true;
    for (size_t i = 0; i < claim.len && i < IDENTITY_NAME_MAX; i++) {
        char c = claim.ptr[i];
        if (is_word(c)) {
            if (begins) out[n++] = '-';
            out[n++] = begins && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        }
        begins = !is_word(c);
    }
    out[n] = 0;
    return n > sizeof "Claim-" - 1;
}

/* As text: what is no text stands as JSON. STR_NONE: it is not told. */
static struct str claim_text(const struct jv *v)
{
    struct str s = !v || v->type == JSON_NULL ? STR_NONE : v->type == JSON_STRING ? v->str : v->raw;
    return utf8_is_name(s, IDENTITY_VALUE_MAX) ? s : STR_NONE;
}

static void add(struct identity_item *out, size_t *n, const char *name, struct str value)
{
    if (!utf8_is_name(value, IDENTITY_VALUE_MAX)) return;
    snprintf(out[*n].name, sizeof out[*n].name, "%s", name);
    out[(*n)++].value = value;
}

size_t identity_items(const struct tool_job *j, struct identity_item out[IDENTITY_ITEMS_MAX])
{
    const struct tool_terms *t = &j->tool->terms;
    size_t                   n = 0;
    char                     label[sizeof out->name];
    add(out, &n, "Principal", j->principal);
    add(out, &n, "Thread", j->thread);
    add(out, &n, "Run", j->run);
    add(out, &n, "Call-Id", j->call_id);
    add(out, &n, "Tool", j->tool->name);
    for (size_t i = 0; i < t->claim_count && n < IDENTITY_ITEMS_MAX; i++)
        if (identity_label(t->claims[i], label))
            add(out, &n, label, claim_text(jv_get_str(j->claims, t->claims[i])));
    return n;
}

struct str identity_variable(struct arena *a, const struct identity_item *item)
{
    struct str s = arena_printf(a, "PARLEY_%s=" STR_FMT, item->name, STR_ARG(item->value));
    char      *at = (char *)(uintptr_t)s.ptr;
    for (; at && *at != '='; at++) {
        if (*at == '-') *at = '_';
        else if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    }
    return s;
}

void identity_header(struct buf *out, const struct identity_item *item)
{
    buf_printf(out, "Parley-%s: ", item->name);
    for (size_t i = 0; i < item->value.len; i++) {
        unsigned char c = (unsigned char)item->value.ptr[i];
        if (c > ' ' && c < 0x7f && c != '%') buf_chr(out, (char)c);
        else buf_printf(out, "%%%02X", c);
    }
}

static void write_claims(const struct tool_job *j, struct jsonw *w)
{
    const struct tool_terms *t = &j->tool->terms;
    jw_key(w, "claims");
    jw_obj(w);
    for (size_t i = 0; i < t->claim_count; i++) {
        const struct jv *v = jv_get_str(j->claims, t->claims[i]);
        if (!claim_text(v).ptr) continue;
        jw_key_str(w, t->claims[i]);
        jw_jv(w, v);
    }
    jw_end_obj(w);
}

void identity_object(const struct tool_job *j, struct jsonw *w)
{
    jw_obj(w);
    jw_kstr(w, "principal", j->principal);
    jw_kstr(w, "thread", j->thread);
    jw_key(w, "run");
    jw_str_or_null(w, j->run);
    jw_kstr(w, "call_id", j->call_id);
    jw_kstr(w, "tool", j->tool->name);
    write_claims(j, w);
    jw_end_obj(w);
}

/* --- the key ---------------------------------------------------------------------------------- */

static enum err read_pem(struct identity_way *k, struct str pem, const char **why)
{
    BIO *in = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    char group[40] = "";
    k->key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, (char *)(uintptr_t) "") : NULL;
    BIO_free(in);
    *why = "it is no private key that could be read; a key with a password cannot be used";
    if (!k->key) return ERR_SYNTAX;
    *why = "this kind of key cannot be used: take one of the curve P-256 (ES256), or Ed25519";
    if (EVP_PKEY_is_a(k->key, "ED25519")) k->signing = SIGN_EDDSA;
    else if (EVP_PKEY_is_a(k->key, "EC") &&
             EVP_PKEY_get_group_name(k->key, group, sizeof group, NULL) &&
             strcmp(group, "prime256v1") == 0)
        k->signing = SIGN_ES256;
    else return ERR_TYPE;
    return OK;
}

static enum err read_key(struct identity_way *k, struct str key, const char **why)
{
    if (!key.ptr) return OK;
    if (str_find(key, STR("-----BEGIN")) >= 0) return read_pem(k, key, why);
    *why = "a secret must have at least 32 bytes; a private key is a PEM text";
    if (key.len < IDENTITY_SECRET_MIN) return ERR_RANGE;
    k->signing = SIGN_HS256;
    k->secret = key;
    return OK;
}

enum err identity_new(struct arena *a, const struct identity_setup *s, struct identity_way **out,
                      const char **why)
{
    struct identity_way *k = arena_new(a, struct identity_way);
    *why = "out of memory";
    if (!k) return ERR_NOMEM;
    k->issuer = s->issuer.ptr ? s->issuer : STR("parley");
    k->audience = s->audience;
    k->header = s->header.ptr ? s->header : STR("Parley-Identity");
    k->seconds = s->seconds ? s->seconds : SECONDS;
    enum err e = read_key(k, s->key, why);
    if (e) identity_done(k);
    else *out = k;
    return e;
}

void identity_done(struct identity_way *k)
{
    if (!k) return;
    EVP_PKEY_free(k->key);
    k->key = NULL;
}

bool identity_signs(const struct identity_way *k)
{
    return k && k->signing != SIGN_NOTHING;
}

struct str identity_token_header(const struct identity_way *k)
{
    return k->header;
}

void identity_describe(const struct identity_way *k, struct jsonw *w)
{
    jw_obj(w);
    jw_kstrz(w, "alg", ALGORITHMS[k->signing]);
    jw_kstr(w, "iss", k->issuer);
    jw_key(w, "aud");
    jw_str_or_null(w, k->audience);
    jw_kstr(w, "header", k->header);
    jw_end_obj(w);
}

/* --- the token -------------------------------------------------------------------------------- */

/* base64url without padding (RFC 7515 2) */
static void encode(struct buf *out, const void *bytes, size_t len)
{
    size_t from = out->len;
    char  *room = buf_room(out, 4 * (len / 3 + 1) + 1);
    if (!room) return;
    buf_grew(out, (size_t)EVP_EncodeBlock((unsigned char *)room, bytes, (int)len));
    while (out->len > from && out->ptr[out->len - 1] == '=') out->len--;
    for (size_t i = from; i < out->len; i++) {
        if (out->ptr[i] == '+') out->ptr[i] = '-';
        if (out->ptr[i] == '/') out->ptr[i] = '_';
    }
}

static void write_head(const struct identity_way *k, struct buf *out)
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", ALGORITHMS[k->signing]);
    if (b.err) out->err = b.err;
    encode(out, b.ptr, b.len);
    buf_done(&b);
}

static void write_body(const struct identity_way *k, const struct tool_job *j, struct str host,
                       int64_t now_s, struct buf *out)
{
    struct buf   b;
    struct jsonw w;
    buf_init(&b, 0);
    jsonw_init(&w, &b);
    jw_obj(&w);
    jw_kstr(&w, "iss", k->issuer);
    jw_kstr(&w, "aud", k->audience.ptr ? k->audience : host);
    jw_kstr(&w, "sub", j->principal);
    jw_kstr(&w, "jti", j->call_id);
    jw_kint(&w, "iat", now_s);
    jw_kint(&w, "exp", now_s + k->seconds);
    jw_kstr(&w, "thread", j->thread);
    jw_key(&w, "run");
    jw_str_or_null(&w, j->run);
    jw_kstr(&w, "tool", j->tool->name);
    write_claims(j, &w);
    jw_end_obj(&w);
    if (b.err) out->err = b.err;
    encode(out, b.ptr, b.len);
    buf_done(&b);
}

/* OpenSSL makes DER of the pair; a JWS has the two numbers side by side. */
static bool flatten(const unsigned char *der, size_t len, unsigned char out[ES256_BYTES])
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool       ok = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, ES256_BYTES / 2) > 0 &&
              BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + ES256_BYTES / 2, ES256_BYTES / 2) > 0;
    ECDSA_SIG_free(pair);
    return ok;
}

static bool sign_by_key(const struct identity_way *k, struct str text,
                        unsigned char out[ES256_BYTES])
{
    unsigned char sig[256];
    size_t        len = sizeof sig;
    EVP_MD_CTX   *ctx = EVP_MD_CTX_new();
    const EVP_MD *md = k->signing == SIGN_ES256 ? EVP_sha256() : NULL; /* Ed25519 has its own */
    bool          ok = ctx && EVP_DigestSignInit(ctx, NULL, md, NULL, k->key) == 1 &&
              EVP_DigestSign(ctx, sig, &len, (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    if (!ok) return false;
    if (k->signing == SIGN_ES256) return flatten(sig, len, out);
    memcpy(out, sig, ES256_BYTES);
    return len == ES256_BYTES;
}

static bool sign(const struct identity_way *k, struct str text, unsigned char *out, size_t *len)
{
    *len = ES256_BYTES;
    if (k->signing != SIGN_HS256) return sign_by_key(k, text, out);
    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, k->secret.ptr, k->secret.len,
                     (const unsigned char *)text.ptr, text.len, out, ES256_BYTES, len) != NULL;
}

enum err identity_token(const struct identity_way *k, const struct tool_job *j, struct str host,
                        int64_t now_s, struct buf *out)
{
    unsigned char sig[ES256_BYTES];
    size_t        from = out->len, len;
    write_head(k, out);
    buf_chr(out, '.');
    write_body(k, j, host, now_s, out);
    if (out->err || !sign(k, str_from(buf_view(out), from), sig, &len)) return ERR_NOMEM;
    buf_chr(out, '.');
    encode(out, sig, len);
    return out->err;
}

/* --- who may ---------------------------------------------------------------------------------- */

bool role_fits(const struct str *wanted, size_t count, struct str has)
{
    struct str word;
    if (!count) return true;
    while (str_split(&has, ' ', &word))
        for (size_t i = 0; i < count; i++)
            if (str_eq(word, wanted[i])) return true;
    return false;
}
