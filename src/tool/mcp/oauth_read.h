/* oauth_read.h -- what the parties of an OAuth sign-in say, read and judged. Pure.
 *
 *     401 of the MCP server      WWW-Authenticate: Bearer resource_metadata="…", scope="…"
 *     its metadata (RFC 9728)    which authorization server it believes
 *     that one's (RFC 8414)      where people agree, where codes are exchanged, where
 *                                clients register
 *     a registration (RFC 7591)  who we are to it
 *     a grant (RFC 6749 5.1)     access token, perhaps a refresh token
 *
 * All of it is a stranger's text, and most of it says where secrets are to be sent. So: the
 * metadata of an MCP server comes from that server's own origin and is about its own address; an
 * authorization server's is about the issuer it was asked for, which is https; what is on this
 * machine is believed only of a server that is on this machine itself. PKCE with S256 is a must.
 *
 * Texts are copied into the arena with a NUL behind them. A reader that returns a sentence has
 * found something wrong, and `out` is not to be used.
 */
#ifndef PARLEY_OAUTH_READ_H
#define PARLEY_OAUTH_READ_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

#define OAUTH_URL_MAX    2048
#define OAUTH_SCOPE_MAX  2048
#define OAUTH_TOKEN_MAX  (16 * 1024) /* bytes of one token: a header must hold it */
#define OAUTH_CLIENT_MAX 1024

struct oauth_challenge { /* STR_NONE: not said */
    struct str metadata, scope, error;
};
/* What the first Bearer challenge of a header says; anything else is passed over. */
void oauth_challenge_read(struct arena *a, struct str header, struct oauth_challenge *out);

/* Is there a word in `words` that `all` lacks? What is no scope (RFC 6749 3.3) is
 * passed over. */
bool oauth_scope_lacks(struct str all, struct str words);
/* Adds to `out` those it lacks, as long as all of them are no longer than OAUTH_SCOPE_MAX. */
void oauth_scope_add(struct buf *out, struct str words);

/* "https://host:port" of an address. STR_NONE: it is not http(s), or has a user's name in it. */
struct str oauth_origin(struct str url);
bool       oauth_same_origin(struct str a, struct str b);

/* The n-th place where an MCP server's metadata may be, and an authorization server's: the forms of
 * RFC 9728 and RFC 8414, then OpenID Connect's two. STR_NONE: there is no other, or no memory. */
struct str oauth_resource_place(struct arena *a, struct str url, unsigned n);
struct str oauth_server_place(struct arena *a, struct str issuer, unsigned n);

struct oauth_resource {
    struct str resource; /* what it calls itself: tokens are asked for in these very words */
    struct str issuer;   /* the first it names; STR_NONE: it names none */
    struct str scopes;   /* words with blanks between; STR_NONE: it says nothing of them */
};
/* `url`: the MCP server's, as it is configured. */
const char *oauth_resource_read(struct arena *a, const struct jv *doc, struct str url,
                                struct oauth_resource *out);

struct oauth_server {
    struct str issuer, authorize, token;
    struct str registration;  /* STR_NONE: clients cannot register themselves */
    bool       secret_posted; /* a client's secret is taken in the form only */
    bool       says_issuer;   /* its answers say who it is (RFC 9207) */
    bool       offline;       /* wants the scope offline_access for a refresh token */
};
/* `near`: the MCP server is on this machine, so this may be, too. */
const char *oauth_server_read(struct arena *a, const struct jv *doc, struct str issuer, bool near,
                              struct oauth_server *out);

struct oauth_client {
    struct str id, secret; /* secret STR_NONE: a public client */
};
const char *oauth_client_read(struct arena *a, const struct jv *doc, struct oauth_client *out);

struct oauth_grant {
    struct str access;
    struct str refresh;   /* STR_NONE: none was given */
    int64_t    expires_s; /* from now; 0: it was not said */
    struct str scope;     /* STR_NONE: as it was asked for */
};
const char *oauth_grant_read(struct arena *a, const struct jv *doc, struct oauth_grant *out);
/* May it stand in a header? Visible ASCII, not too long. */
bool        oauth_token_good(struct str token);

#endif
