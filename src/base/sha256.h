/* sha256.h -- SHA-256, in pieces, without memory of its own: it cannot fail.
 *
 *     struct sha256 h;
 *     sha256_begin(&h);
 *     sha256_add(&h, text.ptr, text.len);
 *     sha256_end(&h, out);
 *
 * sha256_text and sha256_int add a length, or a number, as eight bytes, the most significant first:
 * what is added so cannot move from one member to the next. */
#ifndef PARLEY_SHA256_H
#define PARLEY_SHA256_H

#include "base/str.h"

#define SHA256_LEN 32
#define SHA256_HEX 64

struct sha256 { /* libcrypto's, whose type is deprecated and whose size is fixed */
    uint64_t opaque[16];
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t len);
void sha256_int(struct sha256 *h, uint64_t v);
void sha256_text(struct sha256 *h, struct str t); /* STR_NONE is "" */
void sha256_end(struct sha256 *h, uint8_t out[SHA256_LEN]);

void sha256_of(struct str t, uint8_t out[SHA256_LEN]);
/* The same in hex, with a NUL behind it: for a name within a key, where what it has in it would be
 * taken for the key's own. */
void sha256_name(struct str t, char out[SHA256_HEX + 1]);
/* Lower case, with a NUL behind it; `len` bytes. */
void sha256_hex(const uint8_t *bytes, size_t len, char *out);

#endif
