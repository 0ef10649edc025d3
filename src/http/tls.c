/* tls.c -- see tls.h.
 *
 * OpenSSL reads and writes through a BIO of ours: reading takes from what tls_feed was given and
 * says "later" when that is used up; writing appends to the owner's buffer and never waits. So an
 * SSL_write is always whole, and only reading ever has to go on another time.
 */
#include "http/tls.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/arena.h"
#include "base/file.h"

/* Of TLS 1.2; all of them keep yesterday's words secret when the key is lost. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls_pair {
    SSL_CTX *ctx;
};

struct tls {
    SSL        *ssl;
    struct str *in;
    struct buf *wire;
};

/* --- the pair -------------------------------------------------------------------------- */

static enum err bad(struct tls_facts *f, enum err e, const char *file, const char *what)
{
    snprintf(f->why, sizeof f->why, "%s%s %s", file, e == ERR_IO ? ":" : "", what);
    return e;
}

/* Nobody is there to be asked; without this OpenSSL would ask the terminal. */
static int no_passphrase(char *to, int size, int writing, void *ctx)
{
    (void)to;
    (void)size;
    (void)writing;
    *(bool *)ctx = true;
    return -1;
}

static enum err open_file(const char *path, BIO **out, struct tls_facts *f)
{
    const char *why;
    int         fd = file_open(path, O_RDONLY, &why);

    if (fd < 0) return bad(f, ERR_IO, path, why);
    if ((*out = BIO_new_fd(fd, BIO_CLOSE))) return OK;
    close(fd);
    return bad(f, ERR_NOMEM, path, "cannot be read: out of memory");
}

static int64_t unix_time(const ASN1_TIME *t)
{
    struct tm tm;
    return ASN1_TIME_to_tm(t, &tm) ? (int64_t)timegm(&tm) : 0;
}

static enum err read_key(const char *path, X509 *cert, EVP_PKEY **out, struct tls_facts *f)
{
    struct stat st;
    BIO        *file;
    bool        asked = false;

    f->of_key = true;
    enum err e = open_file(path, &file, f);
    if (e) return e;
    f->key_shared = stat(path, &st) == 0 && (st.st_mode & (S_IROTH | S_IWOTH));
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, no_passphrase, &asked);
    BIO_free(file);
    if (!key)
        return bad(f, ERR_SYNTAX, path,
                   asked ? "has a passphrase, which nobody is there to type: write the key without "
                           "one, for the server's eyes alone"
                         : "is no private key in PEM form");
    if (!X509_check_private_key(cert, key)) {
        EVP_PKEY_free(key);
        return bad(f, ERR_CONFLICT, path, "is the key of another certificate");
    }
    f->of_key = false;
    *out = key;
    return OK;
}

static enum err read_cert(const char *path, X509 **out, struct tls_facts *f)
{
    BIO *file;

    enum err e = open_file(path, &file, f);
    if (e) return e;
    X509 *cert = PEM_read_bio_X509(file, NULL, NULL, NULL);
    BIO_free(file);
    if (!cert) return bad(f, ERR_SYNTAX, path, "is no certificate in PEM form");
    f->begins_s = unix_time(X509_get0_notBefore(cert));
    f->ends_s = unix_time(X509_get0_notAfter(cert));
    unsigned len = sizeof f->print;
    if (!X509_digest(cert, EVP_sha256(), f->print, &len)) memset(f->print, 0, sizeof f->print);
    *out = cert;
    return OK;
}

/* RFC 7301: who names protocols and none of ours is told that there is none. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1"; /* the best first */
    unsigned char             *chosen = NULL;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, len, ours, sizeof ours - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *new_context(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx) return NULL;
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) && SSL_CTX_set_cipher_list(ctx, CIPHERS))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* As SSL_CTX_use_certificate_chain_file does, which would open the file itself. */
static bool use_chain(SSL_CTX *ctx, BIO *file)
{
    X509 *cert = PEM_read_bio_X509_AUX(file, NULL, NULL, NULL);
    bool  good = cert && SSL_CTX_use_certificate(ctx, cert) == 1;

    X509_free(cert);
    while (good && (cert = PEM_read_bio_X509(file, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            good = false;
        }
    unsigned long last = good ? ERR_peek_last_error() : 0;
    if (!good || ERR_GET_REASON(last) != PEM_R_NO_START_LINE) return false;
    ERR_clear_error(); /* the file ends here */
    return true;
}

static enum err make_pair(const char *cert, EVP_PKEY *key, struct tls_pair **out,
                          struct tls_facts *f)
{
    struct tls_pair *p = mem_alloc(sizeof *p);
    BIO             *file;

    if (!p || !(p->ctx = new_context())) {
        mem_free(p);
        return bad(f, ERR_NOMEM, cert, "cannot be used: out of memory");
    }
    enum err e = open_file(cert, &file, f);
    if (e) {
        tls_pair_free(p);
        return e;
    }
    bool good = use_chain(p->ctx, file) && SSL_CTX_use_PrivateKey(p->ctx, key) == 1;
    BIO_free(file);
    if (good) {
        *out = p;
        return OK;
    }
    const char *why = ERR_reason_error_string(ERR_peek_error());
    char        text[200];
    snprintf(text, sizeof text, "cannot be used: %s", why ? why : "OpenSSL does not say why");
    tls_pair_free(p);
    return bad(f, ERR_SYNTAX, cert, text);
}

enum err tls_pair_read(const char *cert, const char *key, struct tls_facts *f,
                       struct tls_pair **out)
{
    X509            *x = NULL;
    EVP_PKEY        *k = NULL;
    struct tls_pair *p = NULL;

    *f = (struct tls_facts){ 0 };
    ERR_clear_error();
    enum err e = read_cert(cert, &x, f);
    if (!e) e = read_key(key, x, &k, f);
    if (!e) e = make_pair(cert, k, &p, f);
    X509_free(x);
    EVP_PKEY_free(k);
    ERR_clear_error();
    if (e) return e;
    if (out) *out = p;
    else tls_pair_free(p);
    return OK;
}

void tls_pair_free(struct tls_pair *p)
{
    if (!p) return;
    SSL_CTX_free(p->ctx);
    mem_free(p);
}

/* --- the way to the wire ------------------------------------------------------------------ */

static int wire_read(BIO *b, char *to, size_t len, size_t *got)
{
    struct tls *t = BIO_get_data(b);
    size_t      n = t->in && t->in->len < len ? t->in->len : t->in ? len : 0;

    BIO_clear_retry_flags(b);
    if (!n) {
        BIO_set_retry_read(b);
        return 0;
    }
    memcpy(to, t->in->ptr, n);
    *t->in = str_from(*t->in, n);
    *got = n;
    return 1;
}

static int wire_write(BIO *b, const char *from, size_t len, size_t *put)
{
    struct tls *t = BIO_get_data(b);

    BIO_clear_retry_flags(b);
    buf_add(t->wire, from, len);
    if (t->wire->err) return 0;
    *put = len;
    return 1;
}

static long wire_ctrl(BIO *b, int what, long n, void *p)
{
    (void)b;
    (void)n;
    (void)p;
    return what == BIO_CTRL_FLUSH;
}

/* One for all; made at the first connection and kept. */
static BIO_METHOD *wire_method(void)
{
    static BIO_METHOD *m;

    if (m || !(m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "parley"))) return m;
    if (BIO_meth_set_read_ex(m, wire_read) && BIO_meth_set_write_ex(m, wire_write) &&
        BIO_meth_set_ctrl(m, wire_ctrl))
        return m;
    BIO_meth_free(m);
    return m = NULL;
}

struct tls *tls_new(struct tls_pair *p, struct buf *wire)
{
    struct tls *t = mem_alloc(sizeof *t);
    BIO_METHOD *m = wire_method();
    BIO        *b = t && m ? BIO_new(m) : NULL;

    if (!b || !(t->ssl = SSL_new(p->ctx))) {
        BIO_free(b);
        mem_free(t);
        return NULL;
    }
    t->wire = wire;
    BIO_set_data(b, t);
    BIO_set_init(b, 1);
    SSL_set_bio(t->ssl, b, b);
    SSL_set_accept_state(t->ssl);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t) return;
    SSL_free(t->ssl);
    mem_free(t);
}

/* --- bytes ------------------------------------------------------------------------------ */

enum tls_event tls_feed(struct tls *t, struct str *in, char *to, size_t room, size_t *len)
{
    ERR_clear_error();
    t->in = in;
    int good = SSL_read_ex(t->ssl, to, room, len);
    t->in = NULL;
    if (good) return TLS_DATA;
    switch (SSL_get_error(t->ssl, good)) {
    case SSL_ERROR_WANT_READ: return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN: return TLS_END;
    default: return TLS_FAIL;
    }
}

bool tls_ready(const struct tls *t)
{
    return SSL_is_init_finished(t->ssl);
}

bool tls_h2(const struct tls *t)
{
    const unsigned char *name;
    unsigned             len;

    SSL_get0_alpn_selected(t->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

bool tls_write(struct tls *t, struct str bytes)
{
    size_t put;

    ERR_clear_error();
    return !bytes.len || SSL_write_ex(t->ssl, bytes.ptr, bytes.len, &put) == 1;
}

void tls_bye(struct tls *t)
{
    ERR_clear_error();
    if (tls_ready(t)) SSL_shutdown(t->ssl);
}

const char *tls_why(const struct tls *t)
{
    const char *why = ERR_reason_error_string(ERR_peek_error());

    (void)t;
    return why ? why : "it is no TLS";
}
