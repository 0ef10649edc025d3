/* vouch.h -- what the server says under its signature, because whoever can write the store could
 * say it as well: that words went (trim.h), and what a conversation that was removed has left
 * (record.h).
 *
 * What is signed is a claim, a JSON text; the signature, a JWS of it, stands beside what it is
 * about:
 *
 *   {"type":"parley-trim","log","at","kinds","data":"<SHA-256 of the list of what went>"}
 *   {"type":"parley-removal","log","at","body":"<SHA-256 of the stub's body>","unsigned":seq?}
 *
 * `log` is chain_name of the log. The body of a stub has its signature as its last member, "jws",
 * and is signed without it. When somebody is erased from a stub (sweep.h) it is signed anew;
 * "unsigned" then says that what stood there, up to this seq, was signed by nobody: a server
 * vouches only for what it changed itself.
 *
 * Claims are shared with whoever reads them (audit/verify.h).
 */
#ifndef PARLEY_VOUCH_H
#define PARLEY_VOUCH_H

#include "base/arena.h"
#include "base/buf.h"

struct vouch { /* audit.key; zeroed: nobody signs */
    /* A JWS of `payload`, onto `out`. */
    enum err (*sign)(void *ctx, struct str payload, struct buf *out);
    /* OK: one of ours, and *payload, in `a`, is what it says. */
    enum err (*check)(void *ctx, struct str jws, struct arena *a, struct str *payload);
    void *ctx;
};

void vouch_trim_claim(struct buf *out, const char *log, int64_t at_ms, struct str kinds,
                      struct str data);
/* `from` 0: all of it is vouched for. */
void vouch_stub_claim(struct buf *out, const char *log, int64_t at_ms, struct str body,
                      uint64_t from);

/* The signature of a claim, which it ends; in `a`. STR_NONE: no memory, or nobody signs. */
struct str vouch_sign(const struct vouch *v, struct arena *a, struct buf *claim);
/* The body of a stub with its signature; as it is when nobody signs. In `a`; STR_NONE: no
 * memory. */
struct str vouch_stub(const struct vouch *v, struct arena *a, const char *log, int64_t at_ms,
                      struct str body, uint64_t from);
/* A stub's body without its signature, in `a`, and that; STR_NONE: it has none. ERR_NOMEM. */
MUST_CHECK enum err vouch_open(struct arena *a, struct str body, struct str *bare, struct str *jws);
/* From where on the body of a stub is vouched for: 0, or "unsigned" of its next claim. `bare` as
 * vouch_open gives it. ERR_NOMEM. */
MUST_CHECK enum err vouch_since(const struct vouch *v, struct arena *a, const char *log,
                                uint64_t seq, struct str body, struct str *bare, uint64_t *from);

#endif
