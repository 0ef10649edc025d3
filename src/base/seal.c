/* seal.c -- see seal.h. */
#include "base/seal.h"

#include <limits.h>
#include <openssl/evp.h>

#include "base/id.h"
#include "base/secret.h"

#define NONCE 12
#define TAG   16

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool read_hex(struct seal_key *k, struct str text)
{
    if (text.len != 2 * SEAL_KEY) return false;
    for (size_t i = 0; i < SEAL_KEY; i++) {
        int high = hex_digit(text.ptr[2 * i]), low = hex_digit(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        k->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Bytes of padded base64 into `out`, which has room for 3 of each 4 letters; -1: it is none. */
static long decode(struct str text, unsigned char *out)
{
    long padding = 0;
    if (!text.len || text.len % 4 || text.len > INT_MAX) return -1;
    while (padding < 2 && text.ptr[text.len - 1 - (size_t)padding] == '=') padding++;
    /* it would skip blanks at both ends */
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ') return -1;
    int n = EVP_DecodeBlock(out, (const unsigned char *)text.ptr, (int)text.len);
    return n < 0 ? -1 : n - padding;
}

bool seal_key_read(struct seal_key *k, struct str text)
{
    unsigned char bytes[SEAL_KEY + 2];
    if (read_hex(k, text)) return true;
    if (text.len != 44 || decode(text, bytes) != SEAL_KEY) return false;
    memcpy(k->bytes, bytes, SEAL_KEY);
    secret_wipe(bytes, sizeof bytes);
    return true;
}

static bool encrypt(EVP_CIPHER_CTX *x, const struct seal_key *k, struct str of, struct str plain,
                    unsigned char *out)
{
    unsigned char *text = out + NONCE;
    int            n;
    id_bytes(out, NONCE);
    return EVP_EncryptInit_ex(x, EVP_aes_256_gcm(), NULL, k->bytes, out) == 1 &&
           EVP_EncryptUpdate(x, NULL, &n, (const unsigned char *)of.ptr, (int)of.len) == 1 &&
           EVP_EncryptUpdate(x, text, &n, (const unsigned char *)plain.ptr, (int)plain.len) == 1 &&
           EVP_EncryptFinal_ex(x, text + plain.len, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_GET_TAG, TAG, text + plain.len) == 1;
}

enum err seal(const struct seal_key *k, struct str of, struct str plain, struct buf *out)
{
    size_t          len = NONCE + plain.len + TAG;
    EVP_CIPHER_CTX *x = plain.len < INT_MAX / 2 ? EVP_CIPHER_CTX_new() : NULL;
    unsigned char  *bytes = x ? mem_alloc(len) : NULL;
    char           *room = bytes ? buf_room(out, 4 * (len / 3 + 1) + 1) : NULL;
    bool            ok = room && encrypt(x, k, of, plain, bytes);

    if (ok) buf_grew(out, (size_t)EVP_EncodeBlock((unsigned char *)room, bytes, (int)len));
    mem_free(bytes);
    EVP_CIPHER_CTX_free(x);
    return ok ? OK : ERR_NOMEM;
}

static bool decrypt(EVP_CIPHER_CTX *x, const struct seal_key *k, struct str of, unsigned char *in,
                    size_t len, unsigned char *out)
{
    int n;
    return EVP_DecryptInit_ex(x, EVP_aes_256_gcm(), NULL, k->bytes, in) == 1 &&
           EVP_DecryptUpdate(x, NULL, &n, (const unsigned char *)of.ptr, (int)of.len) == 1 &&
           EVP_DecryptUpdate(x, out, &n, in + NONCE, (int)len) == 1 &&
           EVP_CIPHER_CTX_ctrl(x, EVP_CTRL_GCM_SET_TAG, TAG, in + NONCE + len) == 1 &&
           EVP_DecryptFinal_ex(x, out + n, &n) == 1;
}

enum err unseal(const struct seal_key *k, struct str of, struct str sealed, struct arena *a,
                struct str *out)
{
    unsigned char  *bytes = arena_alloc(a, sealed.len + 1), *plain = arena_alloc(a, sealed.len + 1);
    EVP_CIPHER_CTX *x = bytes && plain ? EVP_CIPHER_CTX_new() : NULL;
    long            n = x ? decode(sealed, bytes) : 0;
    bool ok = n >= NONCE + TAG && decrypt(x, k, of, bytes, (size_t)n - NONCE - TAG, plain);

    EVP_CIPHER_CTX_free(x);
    if (!x) return ERR_NOMEM;
    if (!ok) return ERR_SYNTAX;
    plain[n - NONCE - TAG] = 0;
    *out = str_n((char *)plain, (size_t)n - NONCE - TAG);
    return OK;
}
