/* proof.c -- knowing the cluster's key without saying it. See link.h. */
#include <openssl/evp.h>

#include "base/buf.h"
#include "node/link.h"

void link_proof(const struct secret *key, const char *role, struct str dialler, struct str acceptor,
                struct str nonce_a, struct str nonce_d, char out[LINK_PROOF_LEN + 1])
{
    unsigned char mac[LINK_PROOF_LEN / 2];
    size_t        len = 0;
    struct buf    text;

    buf_init(&text, 0);
    buf_printf(&text, "parley node %s\n" STR_FMT "\n" STR_FMT "\n" STR_FMT "\n" STR_FMT "\n", role,
               STR_ARG(dialler), STR_ARG(acceptor), STR_ARG(nonce_a), STR_ARG(nonce_d));
    /* without memory there is no proof, and what is compared with it differs */
    if (text.err || !EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key->ptr, key->len,
                               (const unsigned char *)text.ptr, text.len, mac, sizeof mac, &len))
        len = 0;
    buf_done(&text);
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(out + 2 * i, 3, "%02x", len == sizeof mac ? mac[i] : 0);
    if (len != sizeof mac) out[0] = '-'; /* fits nothing */
}
