/* oidc.h -- signing in at an identity provider: OpenID Connect's code flow with PKCE.
 *
 *     browser ──> oidc_address() ──> the provider's page ──> back with a code
 *     code ──> oidc_exchange() ──> the provider's token endpoint ──> id token ──> principal
 *
 * What the provider's addresses are is read from its discovery document, at the start and every
 * hour, as its keys are (jwks.h); until that is there nobody can sign in this way. Its `issuer`
 * must be the configured one, and its addresses https (or loopback): whoever could change them on
 * their way could be anybody. The id token is checked as any other (jwt.h), for our client, and
 * must carry the nonce that this sign-in began with.
 *
 * Nothing is kept here between the two steps: state, nonce and verifier are the caller's, who keeps
 * them where only that browser has them (door/login.c).
 */
#ifndef PARLEY_OIDC_H
#define PARLEY_OIDC_H

#include "auth/principal.h"
#include "base/arena.h"
#include "loop/loop.h"

#define OIDC_LETTERS 43 /* of state, nonce and verifier: 256 bits */

struct oidc_setup { /* borrowed, outlives the oidc */
    struct str        issuer, client_id;
    struct str        client_secret; /* STR_NONE: a public client, PKCE alone */
    struct str        scope, roles_claim;
    struct str        name; /* what the page calls the provider; STR_NONE */
    /* of the id token, as auth_setup has them */
    const struct str *claims;
    size_t            claim_count;
};

struct oidc;
struct oidc *oidc_new(struct loop *l, const struct oidc_setup *s); /* NULL: no memory */
/* Ends what is under way; `done` when the memory is gone, at once for NULL. */
void         oidc_free(struct oidc *o, void (*done)(void *ctx), void *ctx);

/* What a sign-in there rests on, as principal.h has it; in `a`. STR_NONE: no memory. */
struct str oidc_proof(const struct oidc *o, struct arena *a);

/* Three random words of OIDC_LETTERS. The browser's; the provider is told the first two, and the
 * digest of the third. */
struct oidc_attempt {
    struct str state, nonce, verifier;
};
/* Where the browser goes to sign in, in `a`. STR_NONE: the provider has not told its addresses yet,
 * or no memory. */
struct str oidc_address(const struct oidc *o, struct arena *a, const struct oidc_attempt *t,
                        struct str redirect_uri);

/* One code for a principal. The struct is the caller's and must live until `done`, which is called
 * once, later, on the loop: also when the server ends meanwhile. */
struct oidc_exchange {
    struct str          code, redirect_uri;
    struct oidc_attempt attempt;
    /* p NULL: refused; `why` is for the log. The name lives in `arena` */
    void (*done)(struct oidc_exchange *x, const struct principal *p, const char *why);
    struct arena *arena;
};
/* False: the provider has not told its addresses yet, or no memory; `done` is not called then. */
bool oidc_exchange(struct oidc *o, struct oidc_exchange *x);

#endif
