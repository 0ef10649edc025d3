/* jwt.h -- signed tokens (RFC 7519 in the compact form of RFC 7515): is this one good, and whose is
 * it?
 *
 * Pure: text and a clock in, claims or a reason out. The rules are ours, not the token's:
 *   - the algorithm must be one of those configured, and the key must be of its kind: an RSA
 *     key never checks anything but RS256, a secret nothing but HS256. "none" is not an algorithm;
 *   - base64url is read strictly (RFC 4648 5: no padding, no blanks, no stray bits at the end),
 *     so a token has one spelling;
 *   - `exp` must be there; `nbf` and `iat` are kept when they are; `iss` and `aud` must be ours;
 *   - "crit" names extensions we do not know: refused.
 *
 * Keys are public keys or shared secrets only; a private key in their place is refused, because
 * it does not belong on this machine.
 *
 * Ownership: struct jwt_keys owns its keys until jwt_keys_done. Claims live in the caller's arena.
 */
#ifndef PARLEY_JWT_H
#define PARLEY_JWT_H

#include "base/arena.h"
#include "base/err.h"

enum jwt_alg { ALG_HS256 = 1, ALG_RS256 = 2, ALG_ES256 = 4 };

/* longer tokens are refused unread; they would fill half a request's head */
#define JWT_MAX      8192
#define JWT_LEEWAY_S 30  /* how far two clocks may be apart */
#define JWT_NAME_MAX 128 /* of a principal: it is part of the name of every log */

struct jwt_key;
struct jwt_keys {
    struct jwt_key *list;
    size_t          count;
};

/* Reads a PEM text (public keys, certificates), a JWK, a JWKS, or, when HS256 is among
 * `algorithms`, the secret itself. Keys of other kinds than `algorithms` are passed over; none left
 * is an error. On an error `k` is unchanged and *why is a sentence. `k` must be zeroed or done
 * before. */
MUST_CHECK enum err jwt_keys_read(struct jwt_keys *k, struct str text, unsigned algorithms,
                                  const char **why);
void                jwt_keys_done(struct jwt_keys *k);

struct jwt_rules {
    unsigned          algorithms; /* of enum jwt_alg */
    struct str        issuer, audience;
    /* the claim that lists roles: its name, or a JSON pointer ("/realm_access/roles") */
    struct str        roles;
    /* further audiences of ours; and the one of them that opens one door alone */
    const struct str *audiences;
    size_t            audience_count;
    struct str        narrow;
    /* iss and aud are not looked at: whoever has the key signs for nobody else */
    bool              sole;
};

struct jwt_claims {
    struct str       subject;
    int64_t          expires_s;
    const struct jv *roles;  /* a list, a text of words, or NULL */
    bool             narrow; /* rules.narrow is the only audience of ours that it has */
    struct str       nonce;  /* of an id token: which sign-in it is of; STR_NONE */
    const struct jv *all;    /* everything it says */
};

enum jwt_verdict {
    JWT_GOOD,
    JWT_BAD,
    /* nothing wrong with it so far, but no key of ours has its name: newer keys may */
    JWT_NO_KEY,
};

/* *why is a few words for the log; it tells nothing of the token itself. */
MUST_CHECK enum jwt_verdict jwt_check(const struct jwt_keys *k, const struct jwt_rules *r,
                                      struct str token, int64_t now_s, struct arena *a,
                                      struct jwt_claims *out, const char **why);

/* A claim by its name, or by a JSON pointer. NULL: it is not there. */
const struct jv *jwt_claim(const struct jv *claims, struct str where);

/* Two dots and nothing but the alphabet in between: what a bearer token must look like to be one of
 * these. */
bool jwt_looks_like(struct str token);

/* Strict base64url into the arena. ERR_SYNTAX, ERR_NOMEM. */
MUST_CHECK enum err jwt_base64url(struct arena *a, struct str text, struct str *out);

#endif
