/* oauth.h -- people's own accounts at an MCP server that wants one (OAuth 2.1, as MCP has it).
 *
 *     person ──> oauth_begin() ──> the authorization server's page ──> back with a code
 *     code ──> oauth_back() ──> its token endpoint ──> tokens, kept for (server, person)
 *     call ──> oauth_want() ──> a token that is good now: as kept, or refreshed
 *
 * Where the authorization server is, is found out when somebody connects (oauth_read.h says what is
 * believed of it): from the server's own 401, its metadata, the issuer's metadata. Who we are to it
 * is configured, or we register ourselves once. PKCE S256 and the `resource` parameter always.
 *
 * What must be remembered between the two steps (state, verifier, who, where the code is to be
 * exchanged) is sealed and is the caller's, who keeps it where only that browser has it
 * (door/mcp/connect.c). So a code goes to the token endpoint of the issuer it was asked of,
 * whatever a server says meanwhile, and comes back for the person and the server it was begun for,
 * or for nobody.
 *
 * Tokens are kept sealed (base/seal.h) under "mcp/SERVER/" and a hash of the person (whose name may
 * have anything in it), with the issuer, the endpoint and the client they came by, so that a
 * refresh token goes nowhere else; under "mcp/SERVER" is the client that was registered, and who
 * connected last, whose token lists the tools. At most one refresh of a token is under way; what
 * comes back is saved before it is used. Before refreshing, the row is read again, because another
 * node may have done it, and where there can be others it is claimed in the row for as long as it
 * takes: a refresh token that two use is taken for stolen by many authorization servers. Nobody
 * replaces a row that is not the one they read, so who disconnects or connects anew meanwhile is
 * not overruled; and where there can be others every want reads its row, so that who disconnected
 * at one node is at none. A refresh that is refused ends the connection: the person is asked again.
 *
 * Step-up: a server that wants more than a person allowed (403, insufficient_scope) is noted with
 * the row; then there is no token for them until they connected again, for what they had and what
 * was lacking. A server that wants what they allowed already is not believed.
 *
 * Nothing here logs or returns a token, code, verifier or secret but where it is asked for.
 */
#ifndef PARLEY_MCP_OAUTH_H
#define PARLEY_MCP_OAUTH_H

#include "base/seal.h"
#include "loop/curl.h"
#include "tool/vault.h"

struct oauth_setup { /* borrowed, outlives the oauth */
    struct loop           *loop;
    struct curl_pool      *pool;
    struct vault          *vault;
    const struct seal_key *key;
    struct str             server; /* its name in the configuration */
    struct str             url;    /* with a NUL behind it */
    /* configured; STR_NONE: not. An issuer that is configured is the only one believed. */
    struct str             client_id, client_secret, scopes, issuer;
    /* somebody's account is connected (again) */
    void (*connected)(void *ctx, struct str principal);
    /* what oauth_look was asked for is read: if somebody connected, that was told before */
    void (*looked)(void *ctx);
    void *ctx;
};

struct oauth;
struct oauth *oauth_new(const struct oauth_setup *s); /* NULL: no memory */
/* Everything under way ends (`done`s of all are called); then done. */
void          oauth_free(struct oauth *o, void (*done)(void *ctx), void *ctx);

/* What the server said with a 401 or 403: where its metadata is, which scope it wants. For the next
 * who connects. False: with insufficient_scope, where connecting again would change nothing.
 * principal STR_NONE: whose token lists the tools. */
bool oauth_challenged(struct oauth *o, struct str header, struct str principal);

/* --- a token for a call --------------------------------------------------------------------- */

struct oauth_want {       /* the caller's until done, or oauth_unwant */
    struct str principal; /* STR_NONE: whoever connected last */
    struct str stale;     /* one that the server refused: another is wanted; STR_NONE: none was */
    bool       lists;     /* private: nobody's call, so what calls lack does not matter */
    bool       lacks;     /* out, without a token: they are connected, and have to allow more */
    /* Once, later, on the loop. token STR_NONE: they are not connected, or (`why`) it cannot be
     * told at the moment. It and `principal` are valid during the call. */
    void (*done)(struct oauth_want *w, struct str token, const char *why);
    struct list node; /* private */
};
void oauth_want(struct oauth *o, struct oauth_want *w);
void oauth_unwant(struct oauth_want *w); /* twice is harmless */

/* --- connecting ------------------------------------------------------------------------------ */

struct oauth_begin { /* the caller's until done */
    struct str principal, redirect_uri;
    struct str to; /* carried to the way back */
    /* Once, perhaps at once. `url`: where the browser goes; `sealed`: what it brings back.
     * STR_NONE: `why`, a sentence's beginning without its end. */
    void (*done)(struct oauth_begin *b, struct str url, struct str sealed, const char *why);
    struct list node; /* private */
};
/* False: too many at once, or no memory. */
bool oauth_begin(struct oauth *o, struct oauth_begin *b);

struct oauth_back { /* the caller's until done */
    struct str principal, sealed;
    struct str state, code, issuer, error; /* as the browser brought them; STR_NONE: it did not */
    /* for done: it is the answer to what `sealed` began, which is good for one. Any site can lead a
     * browser here with another. */
    bool       spent;
    /* Once, perhaps at once. why NULL: connected, and saved. `to` is STR_NONE when it did not come
     * from us. */
    void (*done)(struct oauth_back *b, struct str to, const char *why);
};
/* False: no memory. */
bool oauth_back(struct oauth *o, struct oauth_back *b);

/* Has anybody connected at another node? False: no memory, or it is being stopped. */
MUST_CHECK bool oauth_look(struct oauth *o);

/* Forgets a person's tokens; what is under way with one goes on. */
void oauth_forget(struct oauth *o, struct str principal);

#endif
