/* auth.h -- who is behind a token: bearer keys, JWTs, and the cookies they are exchanged for.
 *
 *     token ──> auth_token() ──> principal          a key's SHA-256, or a signed token
 *     cookie ──> sessions_look(auth_sessions())     an id that POST /v1/session gave out
 *
 * guard.c reads them from requests; nothing here knows of HTTP. Keys are compared by their digests,
 * all of them and each in constant time, so that neither their number nor their bytes can be told
 * from the time it takes.
 *
 * Keys of an identity provider come from a file (read once, at the start) or from its JWKS address:
 * fetched at the start, every hour, and when a token names a key that is not known, then at most
 * once a minute. Fetching never holds up the loop; meanwhile the old keys are good. See jwks.h.
 *
 * Names are one space: a key's principal "ada" and a token with the subject "ada" are the same
 * person.
 *
 * Ownership: the setup is borrowed and outlives the auth.
 */
#ifndef PARLEY_AUTH_H
#define PARLEY_AUTH_H

#include "auth/jwt.h"
#include "auth/oidc.h"
#include "auth/sessions.h"
#include "loop/loop.h"

struct auth_key {
    uint8_t    sha256[32]; /* of the bearer key */
    struct str principal;
    unsigned   roles;
    struct str words;       /* the same and further ones, with blanks between */
    struct str claims;      /* as principal.h has them */
    bool       shared;      /* by several people: see principal.h */
    struct str user_header; /* says for whom it asks; STR_NONE: nobody else */
    struct str user_secret; /* and in a token that is signed with this; STR_NONE: by a plain name */
};

struct auth_setup {
    struct auth_key  *keys;
    size_t            key_count;
    bool              jwt; /* the members up to `algorithms` are set */
    /* exactly one of the last two */
    struct str        issuer, audience, roles_claim, keys_file, jwks_url;
    unsigned          algorithms; /* of enum jwt_alg */
    unsigned          cookie_s;
    /* issuer STR_NONE: browsers do not sign in at a provider */
    struct oidc_setup oidc;
    /* further audiences, and the one whose tokens are good for /mcp alone */
    struct str       *audiences;
    size_t            audience_count;
    struct str        mcp_audience;
    /* what of a token is kept beside its subject and roles: claims by name or JSON pointer */
    const struct str *claims;
    size_t            claim_count;
};

/* bytes of one claim's value as JSON; a longer one is as good as none */
#define AUTH_CLAIM_MAX 1024

struct auth;

/* ERR_NOMEM; anything else: the keys file cannot be used, *why (in `a`) says why. */
MUST_CHECK enum err auth_new(struct loop *l, const struct auth_setup *s, struct arena *a,
                             struct auth **out, struct str *why);
/* `done` is called when nothing of it is on the loop any more: at once, or later. NULL is fine. */
void                auth_free(struct auth *a, void (*done)(void *ctx), void *ctx);

/* Somebody must prove who they are. False also for NULL. */
bool auth_on(const struct auth *a);

enum auth_verdict {
    AUTH_GOOD,
    AUTH_BAD,
    AUTH_LATER, /* the keys are being fetched; the same token may be good in a moment */
};
/* Whose token this is; the name is copied into `mem`. *why: a few words for the log, never a part
 * of the token. */
MUST_CHECK enum auth_verdict auth_token(struct auth *a, struct str token, struct arena *mem,
                                        struct principal *out, const char **why);

/* Whom somebody with a key asks for, as `value` of their user_header says: a name, or where the key
 * has a secret for it the subject of a token that is signed with that; p->until_s is then the
 * token's. STR_NONE: it is not to be believed, *why as above. */
struct str auth_user(const struct auth *a, struct arena *mem, struct principal *p, struct str value,
                     const char **why);

struct sessions *auth_sessions(struct auth *a);
/* Whose session outlived the start it was made in: does what they showed then (p->proof) still
 * count? A key must be in the configuration, and its roles are what that says now; a token must be
 * of the issuer that is believed now. Its texts are borrowed from the setup, or in `mem`. */
bool             auth_stands(const struct auth *a, struct arena *mem, struct principal *p);
/* "KIND " and a hash of what is a hash already; in `mem`. STR_NONE: no memory. */
struct str       auth_proof(struct arena *mem, const char *kind, const uint8_t sha256[32]);
struct oidc     *auth_oidc(struct auth *a); /* NULL: not configured */
/* A claim's list of roles, or words with blanks between; none of ours in it: a user. */
unsigned         auth_roles(const struct jv *claim);
/* All its words, ours and others, with blanks between; in `a`. */
struct str       auth_words(struct arena *a, const struct jv *claim);

struct buf;
/* Their claims: of `claims` those that are named and fit to be told; nothing when there is none. */
void auth_claims(struct buf *out, const struct str *names, size_t count, const struct jv *claims);
/* The same, in `mem`. STR_NONE: none, or mem->failed. */
struct str auth_claims_of(struct arena *mem, const struct str *names, size_t count,
                          const struct jv *all);

/* SHA-256 of a key in hex, as the configuration has it. False: out of memory. */
bool auth_key_digest(struct str key, char hex[65]);

#endif
