/* tls_peer.c -- see tls_peer.h. */
#include "tls_peer.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include "test.h"

static X509 *make_cert(EVP_PKEY *key, const char *name, int days)
{
    X509      *x = X509_new();
    X509_NAME *who = X509_get_subject_name(x);

    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -400L * 86400);
    X509_gmtime_adj(X509_getm_notAfter(x), days * 86400L);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(who, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, who);
    REQUIRE(X509_sign(x, key, EVP_sha256()) > 0);
    return x;
}

struct tls_files tls_files_make(const char *file, const char *name, int days)
{
    struct tls_files f;
    EVP_PKEY        *key = EVP_EC_gen("P-256");
    X509            *x = make_cert(key, name, days);
    FILE            *to;

    snprintf(f.cert, sizeof f.cert, "%s/%s.crt", test_dir(), file);
    snprintf(f.key, sizeof f.key, "%s/%s.key", test_dir(), file);
    REQUIRE((to = fopen(f.cert, "w")) && PEM_write_X509(to, x) && fclose(to) == 0);
    REQUIRE((to = fopen(f.key, "w")) && PEM_write_PrivateKey(to, key, NULL, NULL, 0, NULL, NULL) &&
            fclose(to) == 0);
    REQUIRE(chmod(f.key, 0600) == 0);
    X509_free(x);
    EVP_PKEY_free(key);
    return f;
}

SSL *tls_client(int fd)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL     *ssl = SSL_new(ctx);

    SSL_CTX_free(ctx); /* it holds it */
    SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
    return ssl;
}
