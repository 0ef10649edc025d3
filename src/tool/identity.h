/* identity.h -- on whose behalf a call runs, as the tool is told it: by the server, never by the
 * model, whose words it could otherwise be.
 *
 *   exec  PARLEY_PRINCIPAL, PARLEY_THREAD, PARLEY_RUN, PARLEY_CALL_ID, PARLEY_TOOL in its
 *         environment, and PARLEY_CLAIM_EMAIL for the claim "email"
 *   http  the same as headers: Parley-Principal ... Parley-Claim-Email. With a key to sign with,
 *         one token in their place: whoever can reach the endpoint could have sent the headers
 *   mcp   an object in `_meta` under "parley/identity", and the token beside it; as headers where
 *         the server's entry says "identity"
 *
 * The token is a JWT (RFC 7519), good for a minute: `iss`, `aud` the endpoint's host, `sub` the
 * principal, `jti` the call id, `thread`, `run`, `tool`, and the claims the tool asked for under
 * `claims`. The key's kind says how it is signed: a text HS256, a P-256 key ES256, an Ed25519 key
 * EdDSA. A call that is run again has the same jti: it is an idempotency key, not a nonce.
 *
 * Values are strangers' text: one with control characters, or longer than IDENTITY_VALUE_MAX, is
 * left out, never changed. In a header whatever is not visible ASCII is percent-encoded, and so is
 * '%'.
 */
#ifndef PARLEY_IDENTITY_H
#define PARLEY_IDENTITY_H

#include "base/jsonw.h"
#include "tool/tool.h"

#define IDENTITY_VALUE_MAX  1024 /* bytes of one claim as text */
#define IDENTITY_CLAIMS_MAX 16   /* of one tool */
#define IDENTITY_ITEMS_MAX  (5 + IDENTITY_CLAIMS_MAX)
#define IDENTITY_NAME_MAX   64 /* bytes of a claim's name */
#define IDENTITY_SECRET_MIN 32 /* of an HS256 key: the hash's own length (RFC 7518 3.2) */

/* One thing that is told. `name` as headers have it: "Call-Id", "Claim-Email". */
struct identity_item {
    char       name[sizeof "Claim-" + IDENTITY_NAME_MAX];
    struct str value; /* plain text; lives as long as the job */
};
size_t identity_items(const struct tool_job *j, struct identity_item out[IDENTITY_ITEMS_MAX]);

/* "Claim-Email", "Claim-Realm-Access" for "/realm_access": two claims of one tool must not have the
 * same. False: nothing of the name is left. */
bool       identity_label(struct str claim, char out[sizeof "Claim-" + IDENTITY_NAME_MAX]);
/* "PARLEY_CLAIM_EMAIL=ada@example.org", into the arena. ptr NULL: no memory. */
struct str identity_variable(struct arena *a, const struct identity_item *item);
/* "Parley-Claim-Email: ada@example.org" */
void       identity_header(struct buf *out, const struct identity_item *item);

/* How it is told over HTTP. */
struct identity_way;
struct identity_setup {
    struct str key; /* what it is signed with; STR_NONE: nothing is, the headers are plain */
    struct str issuer, audience, header; /* STR_NONE: "parley", the host, "Parley-Identity" */
    unsigned   seconds;                  /* how long a token is good; 0: 60 */
};
/* In the arena; identity_done gives the key back. On an error *why is a sentence about "sign". */
MUST_CHECK enum err identity_new(struct arena *a, const struct identity_setup *s,
                                 struct identity_way **out, const char **why);
void                identity_done(struct identity_way *k);
bool                identity_signs(const struct identity_way *k); /* false for NULL */
/* the name of the header with the token */
struct str          identity_token_header(const struct identity_way *k);
/* What of it a person's yes relies on, for tool_digest. */
void                identity_describe(const struct identity_way *k, struct jsonw *w);
/* The token for this call to `host`. ERR_NOMEM. */
MUST_CHECK enum err identity_token(const struct identity_way *k, const struct tool_job *j,
                                   struct str host, int64_t now_s, struct buf *out);
/* {"principal","thread","run","call_id","tool","claims":{}} */
void                identity_object(const struct tool_job *j, struct jsonw *w);

/* Has somebody one of the wanted roles? `has`: words with blanks between. True when none is
 * wanted. */
bool role_fits(const struct str *wanted, size_t count, struct str has);

#endif
