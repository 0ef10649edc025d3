/* sign.h -- lines that only the holder of a key can have made: Ed25519, as JWS in its compact form
 * (RFC 7515 with "alg":"EdDSA", RFC 8037). Any JOSE library reads them; so does
 * examples/audit-verify with what Node brings along.
 *
 *     openssl genpkey -algorithm ed25519 -out audit.key         the key of the server
 *     openssl pkey -in audit.key -pubout -out audit.pub         what everybody may have
 *
 * A key is named by the first 16 hex digits of the SHA-256 of its 32 public bytes ("kid"), so that
 * lines from before a change of the key find theirs. Pure but for memory.
 */
#ifndef PARLEY_SIGN_H
#define PARLEY_SIGN_H

#include "base/arena.h"
#include "base/buf.h"

#define SIGN_KID      16
#define SIGN_KEYS_MAX 16

struct sign_keys { /* zeroed: none */
    struct sign_key {
        struct evp_pkey_st *key;
        char                kid[SIGN_KID + 1];
        bool private;
    } list[SIGN_KEYS_MAX];
    size_t count;
};

/* Adds every key of a PEM text, private or public; all must be Ed25519. On an error *why is a
 * sentence and nothing was added. */
MUST_CHECK enum err sign_keys_read(struct sign_keys *k, struct str pem, const char **why);
void                sign_keys_done(struct sign_keys *k);

/* By the first key, which must be private. ERR_NOMEM. */
MUST_CHECK enum err sign_line(const struct sign_keys *k, struct str payload, struct buf *out);
/* The payload of a line that one of the keys has signed. ERR_SYNTAX: no such line. ERR_NOT_FOUND:
 * by none of these keys. ERR_DENIED: not what was signed. *payload (in `a`) is given with the last
 * two as well: it says what is wrong, and proves nothing. */
MUST_CHECK enum err sign_check(const struct sign_keys *k, struct str line, struct arena *a,
                               struct str *payload);

#endif
