/* jwt.c -- checking a token. Reading keys is jwt_keys.c; jwt.h says the rules.
 *
 * The signature is checked before any claim is believed; the header is read
 * before that only to find the key, and its `alg` is never trusted to choose how:
 * it must name what the configuration allows and what the key is.
 */
#include "auth/jwt_int.h"
#include "base/json.h"
#include "base/utf8.h"

/* --- base64url ------------------------------------------------------------------------ */

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

enum err jwt_base64url(struct arena *a, struct str text, struct str *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t   n = 0;

    if (text.len % 4 == 1) return ERR_SYNTAX;
    char *to = arena_alloc(a, text.len / 4 * 3 + 3);
    if (!to) return ERR_NOMEM;
    for (size_t i = 0; i < text.len; i++) {
        int v = sextet(text.ptr[i]);
        if (v < 0) return ERR_SYNTAX;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        to[n++] = (char)(bits >> have & 0xff);
    }
    /* RFC 4648 3.5: another spelling of the same bytes */
    if (bits & ((1u << have) - 1)) return ERR_SYNTAX;
    *out = str_n(to, n);
    return OK;
}

bool jwt_looks_like(struct str token)
{
    size_t dots = 0;

    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] == '.') dots++;
        else if (sextet(token.ptr[i]) < 0) return false;
    }
    return dots == 2;
}

/* --- the signature ---------------------------------------------------------------------- */

static unsigned alg_bit(struct str name)
{
    if (str_is(name, "HS256")) return ALG_HS256;
    if (str_is(name, "RS256")) return ALG_RS256;
    if (str_is(name, "ES256")) return ALG_ES256;
    return 0;
}

static bool hmac_fits(const struct jwt_key *key, struct str input, struct str sig)
{
    unsigned char want[32];
    size_t        len = 0;

    if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key->secret.ptr, key->secret.len,
                   (const unsigned char *)input.ptr, input.len, want, sizeof want, &len))
        return false;
    return len == sizeof want && str_eq_secret(sig, str_n((char *)want, len));
}

/* JWS has r and s side by side, 32 bytes each (RFC 7518 3.4); OpenSSL wants DER. */
static unsigned char *ecdsa_der(struct str sig, int *len)
{
    const unsigned char *p = (const unsigned char *)sig.ptr;
    unsigned char       *der = NULL;
    ECDSA_SIG           *pair = sig.len == 64 ? ECDSA_SIG_new() : NULL;

    if (!pair) return NULL;
    BIGNUM *r = BN_bin2bn(p, 32, NULL), *s = BN_bin2bn(p + 32, 32, NULL);
    if (r && s && ECDSA_SIG_set0(pair, r, s)) *len = i2d_ECDSA_SIG(pair, &der);
    else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(pair);
    return der;
}

static bool key_signs(const struct jwt_key *key, struct str input, const unsigned char *sig,
                      size_t len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new(); /* RSA: PKCS #1 v1.5, the default, is what RS256 means */
    bool        ok = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
              EVP_DigestVerify(ctx, sig, len, (const unsigned char *)input.ptr, input.len) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}

static bool signature_fits(const struct jwt_key *key, struct str input, struct str sig)
{
    switch (key->alg) {
    case ALG_HS256: return hmac_fits(key, input, sig);
    case ALG_RS256: return key_signs(key, input, (const unsigned char *)sig.ptr, sig.len);
    case ALG_ES256: break;
    }
    int            len = 0;
    unsigned char *der = ecdsa_der(sig, &len);
    bool           ok = der && len > 0 && key_signs(key, input, der, (size_t)len);
    OPENSSL_free(der);
    return ok;
}

/* A key answers for a token when it is of the token's kind and one of the two has no name, or both
 * the same. */
static bool key_answers(const struct jwt_key *key, unsigned alg, struct str kid)
{
    if ((unsigned)key->alg != alg) return false;
    return !kid.ptr || !key->kid.ptr || str_eq(kid, key->kid);
}

static enum jwt_verdict check_signature(const struct jwt_keys *k, unsigned alg, struct str kid,
                                        struct str input, struct str sig, const char **why)
{
    bool any = false;

    for (size_t i = 0; i < k->count; i++) {
        if (!key_answers(&k->list[i], alg, kid)) continue;
        if (signature_fits(&k->list[i], input, sig)) return JWT_GOOD;
        any = true;
    }
    *why = any ? "the signature does not fit" : "no key of that name and kind";
    return any ? JWT_BAD : JWT_NO_KEY;
}

/* --- the claims ----------------------------------------------------------------------------- */

static bool bad(const char **why, const char *what)
{
    *why = what;
    return false;
}

/* Absent is fine; anything but a number within reason is not. */
static bool read_time(const struct jv *claims, const char *name, double *out, bool *there)
{
    const struct jv *v = jv_get(claims, name);

    *there = v != NULL;
    if (!v) return true;
    return jv_f64(v, out) && *out >= 0 && *out < 1e15;
}

static bool times_fit(const struct jv *claims, int64_t now_s, struct jwt_claims *out,
                      const char **why)
{
    double exp = 0, nbf = 0, iat = 0;
    bool   has_exp, has_nbf, has_iat;

    if (!read_time(claims, "exp", &exp, &has_exp) || !read_time(claims, "nbf", &nbf, &has_nbf) ||
        !read_time(claims, "iat", &iat, &has_iat))
        return bad(why, "a time is no number");
    if (!has_exp) return bad(why, "it never expires");
    if ((double)now_s >= exp + JWT_LEEWAY_S) return bad(why, "expired");
    if (has_nbf && (double)now_s < nbf - JWT_LEEWAY_S) return bad(why, "not valid yet");
    if (has_iat && (double)now_s < iat - JWT_LEEWAY_S) return bad(why, "issued in the future");
    out->expires_s = (int64_t)exp;
    return true;
}

static bool is_ours(struct str aud, const struct jwt_rules *r)
{
    if (aud.len && str_eq(aud, r->audience)) return true;
    for (size_t i = 0; i < r->audience_count; i++)
        if (aud.len && str_eq(aud, r->audiences[i])) return true;
    return false;
}

/* One text or a list of them; *narrow: none but the narrow one is ours. */
static bool audience_fits(const struct jv *aud, const struct jwt_rules *r, bool *narrow)
{
    bool             any = false, one = jv_is(aud, JSON_STRING);
    const struct jv *v = one ? aud : jv_is(aud, JSON_ARRAY) ? aud->child : NULL;
    *narrow = true;
    for (; v; v = one ? NULL : v->next) {
        if (v->type != JSON_STRING || !is_ours(v->str, r)) continue;
        any = true;
        if (!r->narrow.len || !str_eq(v->str, r->narrow)) *narrow = false;
    }
    return any;
}

/* A principal names logs, and stands in log lines: plain text of a sensible length. */
const struct jv *jwt_claim(const struct jv *claims, struct str where)
{
    if (!where.len) return NULL;
    return where.ptr[0] == '/' ? jv_pointer(claims, where) : jv_get_str(claims, where);
}

static bool claims_fit(const struct jv *claims, const struct jwt_rules *r, int64_t now_s,
                       struct jwt_claims *out, const char **why)
{
    if (!r->sole && !str_eq(jv_str_at(claims, "iss"), r->issuer)) return bad(why, "another issuer");
    if (!r->sole && !audience_fits(jv_get(claims, "aud"), r, &out->narrow))
        return bad(why, "for another audience");
    if (!times_fit(claims, now_s, out, why)) return false;
    out->subject = jv_str_at(claims, "sub");
    if (!utf8_is_name(out->subject, JWT_NAME_MAX)) return bad(why, "no usable subject");
    out->roles = jwt_claim(claims, r->roles);
    out->nonce = jv_str_at(claims, "nonce");
    out->all = claims;
    return true;
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool part(struct arena *a, struct str text, struct jv **out)
{
    struct str json;
    return jwt_base64url(a, text, &json) == OK && json_parse(a, json, out, NULL) == OK &&
           (*out)->type == JSON_OBJECT;
}

static bool header_fits(const struct jv *h, const struct jwt_rules *r, unsigned *alg,
                        struct str *kid, const char **why)
{
    const struct jv *v = jv_get(h, "kid");

    *alg = alg_bit(jv_str_at(h, "alg"));
    if (!(*alg & r->algorithms)) return bad(why, "the algorithm is not allowed");
    if (jv_get(h, "crit")) return bad(why, "it asks for extensions that are not known");
    if (v && v->type != JSON_STRING) return bad(why, "its key's name is no text");
    *kid = v ? v->str : STR_NONE;
    return true;
}

enum jwt_verdict jwt_check(const struct jwt_keys *k, const struct jwt_rules *r, struct str token,
                           int64_t now_s, struct arena *a, struct jwt_claims *out, const char **why)
{
    struct str        rest = token, head, body, sig_text, sig, kid;
    struct jv        *header, *claims;
    struct jwt_claims found = { 0 };
    unsigned          alg;

    *why = "not a token";
    if (token.len > JWT_MAX || !jwt_looks_like(token)) return JWT_BAD;
    str_split(&rest, '.', &head);
    str_split(&rest, '.', &body);
    sig_text = rest;
    if (!part(a, head, &header) || jwt_base64url(a, sig_text, &sig) != OK ||
        !header_fits(header, r, &alg, &kid, why))
        return JWT_BAD;
    enum jwt_verdict v =
        check_signature(k, alg, kid, str_cut(token, head.len + 1 + body.len), sig, why);
    if (v != JWT_GOOD) return v;
    *why = "its claims are no JSON object";
    if (!part(a, body, &claims) || !claims_fit(claims, r, now_s, &found, why)) return JWT_BAD;
    *out = found;
    return JWT_GOOD;
}
