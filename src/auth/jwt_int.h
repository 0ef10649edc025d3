/* jwt_int.h -- shared by jwt.c and jwt_keys.c, and by nobody else. */
#ifndef PARLEY_JWT_INT_H
#define PARLEY_JWT_INT_H

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "auth/jwt.h"
#include "base/secret.h"

struct jwt_key {
    enum jwt_alg  alg;    /* the one thing this key may check */
    struct str    kid;    /* owned; STR_NONE: it has no name */
    EVP_PKEY     *pkey;   /* RS256, ES256 */
    struct secret secret; /* HS256 */
};

#endif
