/* jwt_make.h -- what a token is made of, for tests that make their own: the letters of
 * base64url, an HS256 signature, a dot between. Apart from the code under test on purpose. */
#ifndef PARLEY_JWT_MAKE_H
#define PARLEY_JWT_MAKE_H

#include <openssl/evp.h>

#include "base/arena.h"

#define JWT_SECRET "0123456789abcdef0123456789abcdef"

static inline struct str jwt_encode(struct arena *a, struct str bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char    *out = arena_alloc(a, bytes.len * 2 + 4);
    size_t   n = 0;
    unsigned bits = 0, have = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (unsigned char)bytes.ptr[i];
        for (have += 8; have >= 6; have -= 6) out[n++] = letters[bits >> (have - 6) & 63];
        bits &= (1u << have) - 1;
    }
    if (have) out[n++] = letters[bits << (6 - have) & 63];
    return str_n(out, n);
}

static inline struct str jwt_hmac(struct arena *a, struct str input, const char *key)
{
    unsigned char *out = arena_alloc(a, 32);
    size_t         len;
    EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, strlen(key),
              (const unsigned char *)input.ptr, input.len, out, 32, &len);
    return str_n((char *)out, 32);
}

static inline struct str jwt_join(struct arena *a, struct str left, struct str right)
{
    return arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(left), STR_ARG(right));
}

#endif
