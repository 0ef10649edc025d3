/* certs.h -- the certificate that a server shows, read anew when its files change.
 *
 * Whoever renews a certificate (certbot, a script, an administrator) puts new files in the place of
 * the old ones and need tell nobody: they are looked at every CERTS_LOOK_MS (off the loop), and
 * when either changed, both are read a moment later, so that a pair that is being replaced is seen
 * whole. A pair that cannot be used leaves the one before in its place and is logged once.
 * Connections that stand go on with what they were made with.
 */
#ifndef PARLEY_CERTS_H
#define PARLEY_CERTS_H

#include "base/arena.h"
#include "http/tls.h"
#include "loop/loop.h"

#define CERTS_LOOK_MS  2000
#define CERTS_PAUSE_MS 300

struct certs;

/* Reads the pair and begins to watch. Errors as tls_pair_read's, `facts` says why. */
MUST_CHECK enum err certs_new(struct loop *l, const char *cert, const char *key,
                              struct tls_facts *facts, struct certs **out);
struct tls_pair    *certs_pair(const struct certs *c); /* until the next turn */
/* Reads both files now, whether they changed or not. */
void                certs_read(struct certs *c);
/* NULL is fine; `done` is called in any case. */
void                certs_free(struct certs *c, void (*done)(void *ctx), void *ctx);

#endif
