/* tls_peer.h -- certificates for tests, and the client's side of TLS on a plain socket.
 *
 * With PARLEY_TLS=1 in the environment every test of net_peer.h speaks TLS: the same requests, limits
 * and ends, by the other road.
 */
#ifndef PARLEY_TLS_PEER_H
#define PARLEY_TLS_PEER_H

#include <openssl/ssl.h>

#include "base/str.h"

/* A new certificate and its key for `name`, in files of the test's folder that begin with `file`;
 * valid for so many days from now (less than none: it is over). */
struct tls_files {
    char cert[200], key[200];
};
struct tls_files tls_files_make(const char *file, const char *name, int days);

SSL *tls_client(int fd); /* has not said anything yet */

#endif
