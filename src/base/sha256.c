/* sha256.c -- see sha256.h.
 *
 * The old calls of libcrypto, because the new ones allocate: a hash that may fail for want of
 * memory would have to be told to everybody who appends. They use the processor's own instructions
 * like the new ones. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <openssl/sha.h>

#include "base/err.h"

_Static_assert(sizeof(SHA256_CTX) <= sizeof(struct sha256), "room for libcrypto's");

static SHA256_CTX *of(struct sha256 *h)
{
    return (SHA256_CTX *)(void *)h;
}

void sha256_begin(struct sha256 *h)
{
    must(SHA256_Init(of(h)) == 1);
}

void sha256_add(struct sha256 *h, const void *p, size_t len)
{
    if (len) must(SHA256_Update(of(h), p, len) == 1);
}

void sha256_int(struct sha256 *h, uint64_t v)
{
    uint8_t b[8];
    for (int i = 0; i < 8; i++) b[i] = (uint8_t)(v >> (56 - 8 * i));
    sha256_add(h, b, sizeof b);
}

void sha256_text(struct sha256 *h, struct str t)
{
    sha256_int(h, t.len);
    sha256_add(h, t.ptr, t.len);
}

void sha256_end(struct sha256 *h, uint8_t out[SHA256_LEN])
{
    must(SHA256_Final(out, of(h)) == 1);
}

void sha256_of(struct str t, uint8_t out[SHA256_LEN])
{
    struct sha256 h;
    sha256_begin(&h);
    sha256_add(&h, t.ptr, t.len);
    sha256_end(&h, out);
}

void sha256_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = 0;
}

void sha256_name(struct str t, char out[SHA256_HEX + 1])
{
    uint8_t hash[SHA256_LEN];
    sha256_of(t, hash);
    sha256_hex(hash, sizeof hash, out);
}
