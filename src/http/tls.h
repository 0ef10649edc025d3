/* tls.h -- TLS as a codec: records in, plain bytes out, and back.
 *
 * Like http1 and ws it does no I/O. Bytes from the socket go through tls_feed, bytes for the peer
 * through tls_write; what is to go onto the wire (records, the handshake's answers, alerts) is
 * appended to the buffer that tls_new was given, and its owner sends and empties that. So one
 * buffer serves all connections of a server, and the connection keeps its own rules about memory
 * and time.
 *
 * TLS 1.2 and newer, no renegotiation, no client certificates; a client that names protocols (ALPN)
 * must name h2 or http/1.1. Sessions are resumed by tickets, so nothing is remembered about a
 * client. While a connection is silent it owns no record buffers.
 *
 * A tls_pair is a certificate and its key. It is counted: connections made with one keep it while a
 * newer one takes its place (certs.h).
 */
#ifndef PARLEY_TLS_H
#define PARLEY_TLS_H

#include "base/buf.h"
#include "base/sha256.h"

struct tls_pair;
struct tls;

enum {
    TLS_RECORD_MAX = 16 * 1024, /* plain bytes of one record: what tls_feed wants room for */
    TLS_HELLO = 0x16,           /* the first byte of whoever speaks TLS */
    TLS_SOON_S = 21 * 24 * 3600 /* a certificate that ends within this is spoken about */
};

/* What is known of a pair, for people. */
struct tls_facts {
    char    why[300];          /* it cannot be used: a sentence without a full stop; else "" */
    bool    of_key;            /* the sentence is about the key's file */
    int64_t begins_s, ends_s;  /* when the certificate holds, Unix time */
    bool    key_shared;        /* others than its owner and group may read the key's file */
    uint8_t print[SHA256_LEN]; /* of the certificate */
};

/* Reads both files (PEM; the certificate first, then those that vouch for it). ERR_IO, ERR_SYNTAX,
 * ERR_CONFLICT (the key is another certificate's), ERR_NOMEM: facts->why says what to do. `out`
 * NULL: only looks. */
MUST_CHECK enum err tls_pair_read(const char *cert, const char *key, struct tls_facts *facts,
                                  struct tls_pair **out);
void                tls_pair_free(struct tls_pair *p); /* its connections go on */

/* NULL: no memory. `wire` outlives it. */
struct tls *tls_new(struct tls_pair *p, struct buf *wire);
void        tls_free(struct tls *t); /* NULL is fine */

enum tls_event {
    TLS_MORE, /* everything was used; the next bytes of the socket are wanted */
    TLS_DATA, /* plain bytes are there; ask again */
    TLS_END,  /* the peer said that nothing follows */
    TLS_FAIL, /* that is no TLS, or not ours; a farewell may stand in `wire` */
};
/* Takes from `in` what it needs; appends nothing, but writes at most `room` (TLS_RECORD_MAX) plain
 * bytes to `to`, and how many to *len. */
enum tls_event  tls_feed(struct tls *t, struct str *in, char *to, size_t room, size_t *len);
bool            tls_ready(const struct tls *t); /* the handshake is over: now one may write */
/* then: both agreed on HTTP/2 */
bool            tls_h2(const struct tls *t);
/* False: it is broken, or there is no memory. */
MUST_CHECK bool tls_write(struct tls *t, struct str bytes);
void            tls_bye(struct tls *t); /* tells the peer that nothing follows */
/* Why it failed, in OpenSSL's words; for the log. */
const char     *tls_why(const struct tls *t);

#endif
