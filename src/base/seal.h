/* seal.h -- small secrets that lie where others may read them: AES-256-GCM under one key.
 *
 * What is sealed is bound to a name (`of`): the same bytes under another name do not open, so a row
 * that was copied into another place is found out. Each sealing has its own random nonce. The
 * result is base64: nonce (12 bytes), ciphertext, tag (16 bytes).
 */
#ifndef PARLEY_SEAL_H
#define PARLEY_SEAL_H

#include "base/arena.h"
#include "base/buf.h"

#define SEAL_KEY 32

struct seal_key {
    unsigned char bytes[SEAL_KEY];
};

/* From 64 hex digits or the base64 of 32 bytes. False: it is neither. */
bool                seal_key_read(struct seal_key *k, struct str text);
/* ERR_NOMEM. */
MUST_CHECK enum err seal(const struct seal_key *k, struct str of, struct str plain,
                         struct buf *out);
/* The plain text in `a`, which the caller wipes. ERR_SYNTAX: not sealed with this key for this
 * name. */
MUST_CHECK enum err unseal(const struct seal_key *k, struct str of, struct str sealed,
                           struct arena *a, struct str *out);

#endif
